/* SPDX-License-Identifier: Apache-2.0
 * Figures of trials: over folds, over seeds, and which variant is the best. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "core/train/figures.h"
#include "core/trials/trials_private.h"
#include "determinism/bits.h"
#include "determinism/decimal.h"
#include "determinism/sum.h"

static double none(void)
{
    return rp_from_bits_f64(0x7FF8000000000000u);
}

rp_trial_figures rp_trial_figures_none(void)
{
    rp_trial_figures out;

    for (size_t i = 0; i < RP_JUDGES; i++)
        out.value[i] = none();
    return out;
}

rp_trial_figures rp_trial_figures_read(const rp_json *figures)
{
    rp_trial_figures out = rp_trial_figures_none();

    for (size_t i = 0; i < RP_JUDGES; i++) {
        const char *text = rp_json_string_value(rp_json_object_get(figures, rp_judge_names[i]));

        if (text && !rp_parse_f64(&out.value[i], text, strlen(text)))
            out.value[i] = none();
    }
    return out;
}

rp_status rp_trial_spread(double *mean, double *deviation, const double *value, size_t n, rp_error *err)
{
    double *work = rp_reallocarray(NULL, n, sizeof *work);

    if (!work)
        return rp_no_memory(err);
    *mean = rp_sum_f64(value, n, 1) / (double)n;
    for (size_t i = 0; i < n; i++)
        work[i] = (value[i] - *mean) * (value[i] - *mean);
    *deviation = n > 1 ? sqrt(rp_sum_f64(work, n, 1) / (double)(n - 1)) : none();
    rp_free(work);
    return RP_OK;
}

/* Figure k of a variant over its folds. */
static rp_status over_folds(double *mean, double *deviation, const rp_variant *v, size_t folds, size_t k, rp_error *err)
{
    double *value = rp_reallocarray(NULL, folds, sizeof *value);
    rp_status status;

    if (!value)
        return rp_no_memory(err);
    for (size_t f = 0; f < folds; f++)
        value[f] = v->fold[f].value[k];
    status = rp_trial_spread(mean, deviation, value, folds, err);
    rp_free(value);
    return status;
}

static bool better(rp_judge by, double a, double b)
{
    const bool more = by == RP_BY_ACCURACY || by == RP_BY_AUC || by == RP_BY_R2;

    return a - a == 0 && (b != b || (more ? a > b : a < b));
}

rp_status rp_trials_judge(size_t *out, const rp_variant *variant, size_t n, size_t folds, rp_judge by, rp_error *err)
{
    double best = none();
    rp_status status = RP_OK;

    *out = n;
    for (size_t i = 0; i < n && status == RP_OK; i++) {
        double mean, deviation;

        status = over_folds(&mean, &deviation, &variant[i], folds, by, err);
        if (status == RP_OK && better(by, mean, best)) {
            best = mean;
            *out = i;
        }
    }
    return status;
}

/* Whether any trial has the figure: of another task's there is nothing to say. */
static bool has_figure(const rp_variant *variant, size_t n, size_t folds, size_t k)
{
    for (size_t i = 0; i < n; i++)
        for (size_t f = 0; f < folds; f++)
            if (variant[i].fold[f].value[k] == variant[i].fold[f].value[k])
                return true;
    return false;
}

rp_status rp_variant_json(rp_json **out, const rp_variant *v, size_t folds, rp_error *err)
{
    rp_json *json = rp_json_pack("{s:s, s:O, s:O, s:{}}", "kind", v->kind, "set", v->set, "trials", v->trials, "mean");
    rp_json *mean = rp_json_object_get(json, "mean"), *deviation = folds > 1 ? rp_json_object() : NULL;
    int failed = (folds > 1 && rp_json_object_set_new(json, "deviation", deviation) != 0) || json == NULL;
    rp_status status = RP_OK;

    *out = NULL;
    for (size_t k = 0; k < RP_JUDGES && !failed && status == RP_OK; k++) {
        double m, d;

        if (!has_figure(v, 1, folds, k))
            continue;
        status = over_folds(&m, &d, v, folds, k, err);
        failed |= rp_put_figure(mean, rp_judge_names[k], m);
        if (folds > 1)
            failed |= rp_put_figure(deviation, rp_judge_names[k], d);
    }
    if (status == RP_OK && failed)
        status = rp_no_memory(err);
    if (status != RP_OK)
        rp_json_free(json);
    else
        *out = json;
    return status;
}

/* Figure k of each seed, its mean over the folds. */
static rp_status one_figure(rp_json *out, const rp_variant *seed, size_t n, size_t folds, size_t k, rp_error *err)
{
    double *value = rp_reallocarray(NULL, n, sizeof *value), mean, deviation, least, most;
    rp_status status = value ? RP_OK : rp_no_memory(err);
    rp_json *json = NULL;
    int failed;

    for (size_t i = 0; i < n && status == RP_OK; i++)
        status = over_folds(&value[i], &deviation, &seed[i], folds, k, err);
    if (status == RP_OK)
        status = rp_trial_spread(&mean, &deviation, value, n, err);
    if (status != RP_OK) {
        rp_free(value);
        return status;
    }
    least = most = value[0];
    for (size_t i = 1; i < n; i++) { /* as any number with NaN: NaN stays */
        least = value[i] < least || value[i] != value[i] ? value[i] : least;
        most = value[i] > most || value[i] != value[i] ? value[i] : most;
    }
    rp_free(value);
    json = rp_json_object();
    failed = rp_put_figure(json, "deviation", deviation) | rp_put_figure(json, "maximum", most) |
             rp_put_figure(json, "mean", mean) | rp_put_figure(json, "minimum", least);
    failed |= rp_json_object_set_new(out, rp_judge_names[k], json);
    return failed ? rp_no_memory(err) : RP_OK;
}

rp_status rp_seeds_json(rp_json *spread, const rp_variant *seed, size_t n, size_t folds, rp_error *err)
{
    rp_json *figures = rp_json_object();
    rp_status status = rp_json_object_set_new(spread, "figures", figures) == 0 ? RP_OK : rp_no_memory(err);

    for (size_t k = 0; k < RP_JUDGES && status == RP_OK; k++)
        if (has_figure(seed, n, folds, k))
            status = one_figure(figures, seed, n, folds, k, err);
    return status;
}
