/* SPDX-License-Identifier: Apache-2.0
 * Figures as JSON: which figures a task has, and under which keys. What they are is core/stats'. */
#include "core/train/figures.h"

#include <string.h>

#include "base/memory.h"
#include "core/stats/calibration.h"
#include "core/stats/discrimination.h"
#include "core/stats/residuals.h"
#include "determinism/bits.h"
#include "core/recipe/decimal_json.h"
#include "determinism/math.h"
#include "determinism/sum.h"

enum { CLASSES_RANKED = 64 }; /* the areas of more classes are not taken */

static rp_json *figure(double value)
{
    return value - value != 0 ? rp_json_null() : rp_json_decimal(value + 0.0); /* no -0 */
}

int rp_put_figure(rp_json *object, const char *key, double value)
{
    return rp_json_object_set_new(object, key, figure(value));
}

int rp_append_figure(rp_json *array, double value)
{
    return rp_json_array_append_new(array, figure(value));
}

int64_t rp_decide(const double *score, size_t outputs, bool classes)
{
    int64_t best = 0;

    if (classes && outputs == 1)
        return score[0] >= 0.5;
    for (size_t i = 1; i < outputs; i++)
        if (score[i] > score[best])
            best = (int64_t)i;
    return best;
}

static int put_count(rp_json *object, const char *key, uint64_t count)
{
    return rp_json_object_set_new(object, key, rp_json_integer((int64_t)count));
}

/* The member, added before it is filled; NULL when memory runs out. */
static rp_json *member(rp_json *object, const char *key, rp_json *value)
{
    return value && rp_json_object_set_new(object, key, value) == 0 ? rp_json_object_get(object, key) : NULL;
}

static rp_json *element(rp_json *array)
{
    rp_json *value = rp_json_object();

    return value && rp_json_array_append_new(array, value) == 0
               ? rp_json_array_get(array, rp_json_array_size(array) - 1)
               : NULL;
}

static bool read_real(const rp_json *json, double *out)
{
    const char *text = rp_json_string_value(json);

    return text && rp_parse_f64(out, text, strlen(text)) && *out - *out == 0;
}

rp_status rp_yardstick_read(rp_yardstick **out, const rp_json *reference, size_t classes, rp_error *err)
{
    const rp_json *list = rp_json_object_get(reference, "classes");
    rp_yardstick *y = rp_calloc(1, sizeof *y + classes * sizeof *y->class_rows);
    int64_t total = 0;
    bool right;

    *out = y;
    if (!y)
        return rp_no_memory(err);
    y->threshold = y->rate = y->above = rp_from_bits_f64(0x7FF8000000000000u);
    (void)read_real(rp_json_object_get(reference, "threshold"), &y->threshold);
    (void)read_real(rp_json_object_get(reference, "rate"), &y->rate);
    (void)read_real(rp_json_object_get(reference, "above_offset"), &y->above);
    right = classes ? rp_json_array_size(list) == classes : read_real(rp_json_object_get(reference, "mean"), &y->mean);
    for (size_t k = 0; k < classes && right; k++) {
        y->class_rows[k] = rp_json_integer_value(rp_json_array_get(list, k));
        right = y->class_rows[k] >= 0 && y->class_rows[k] <= (int64_t)1 << 31;
        total += y->class_rows[k];
    }
    if (right && (classes == 0 || total > 0))
        return RP_OK;
    rp_free(y);
    *out = NULL;
    return rp_fail(err, RP_EFORMAT, "the reference of the training rows: expected %s",
                   classes ? "rows of each class" : "a finite mean of the target");
}

/* ---- two classes ---- */

static int put_area(rp_json *out, const rp_discrimination *d)
{
    return rp_put_figure(out, "auc", d->auc) | rp_put_figure(out, "auc_error", d->error) |
           rp_put_figure(out, "auc_low", d->low) | rp_put_figure(out, "auc_high", d->high);
}

static int put_discrimination(rp_json *figures, const rp_ranking *r, bool brief)
{
    rp_json *out = member(figures, "discrimination", rp_json_object()), *cap;
    rp_discrimination d;
    int failed = !out;

    rp_discriminate(&d, r);
    failed |= put_area(out, &d);
    failed |= rp_put_figure(out, "gini", d.gini) | rp_put_figure(out, "somers_d", d.somers_d);
    failed |= rp_put_figure(out, "kendall_tau", d.kendall_tau);
    failed |= rp_put_figure(out, "ks", d.ks) | rp_put_figure(out, "ks_score", d.ks_score);
    if (brief || failed)
        return failed;
    cap = member(out, "cap", rp_json_array());
    for (int k = 0; k < RP_CAP_POINTS; k++) {
        rp_json *point = element(cap);

        failed |= rp_put_figure(point, "captured", d.captured[k]) | rp_put_figure(point, "lift", d.lift[k]);
        failed |= put_count(point, "tenths", (uint64_t)k + 1);
    }
    return failed;
}

static int put_band(rp_json *out, const rp_band *b)
{
    int failed = put_count(out, "rows", b->rows) | put_count(out, "positives", b->positives);

    failed |= rp_put_figure(out, "lowest", b->lowest) | rp_put_figure(out, "highest", b->highest);
    failed |= rp_put_figure(out, "mean_score", b->mean) | rp_put_figure(out, "rate", b->rate);
    failed |= rp_put_figure(out, "rate_low", b->low) | rp_put_figure(out, "rate_high", b->high);
    return failed | rp_put_figure(out, "jeffreys_p", b->p);
}

static int put_test(rp_json *figures, const char *key, double statistic, double p)
{
    rp_json *out = member(figures, key, rp_json_object());

    return rp_put_figure(out, "statistic", statistic) | rp_put_figure(out, "p", p);
}

static int put_calibration(rp_json *figures, const rp_ranking *r, double rate, const rp_figure_options *options)
{
    rp_json *out = member(figures, "calibration", rp_json_object()), *bands;
    const double trivial = rp_trivial_brier(r, rate);
    rp_calibration c;
    int failed = !out;

    rp_calibrate(&c, r, options->fitted);
    failed |= put_band(out, &c.all) | rp_put_figure(out, "brier", c.brier);
    failed |= rp_put_figure(out, "brier_skill", 1 - c.brier / trivial) | rp_put_figure(out, "log_loss", c.log_loss);
    failed |= rp_put_figure(out, "error", c.error);
    failed |= put_test(out, "hosmer_lemeshow", c.hosmer_lemeshow, c.hosmer_lemeshow_p);
    failed |= put_count(rp_json_object_get(out, "hosmer_lemeshow"), "freedom", c.freedom);
    failed |= put_test(out, "spiegelhalter", c.spiegelhalter, c.spiegelhalter_p);
    if (options->brief || failed)
        return failed;
    bands = member(out, "bands", rp_json_array());
    for (size_t i = 0; i < c.bands; i++)
        failed |= put_band(element(bands), &c.band[i]);
    return failed;
}

static int put_confusion(rp_json *list, const char *rule, const rp_ranking *r, double threshold)
{
    rp_json *out = element(list);
    rp_confusion c;
    int failed;

    rp_confuse(&c, r, threshold);
    failed = rp_json_object_set_new(out, "rule", rp_json_string(rule)) | rp_put_figure(out, "threshold", threshold);
    failed |= put_count(out, "true_positives", c.true_positives) | put_count(out, "false_positives", c.false_positives);
    failed |= put_count(out, "true_negatives", c.true_negatives) | put_count(out, "false_negatives", c.false_negatives);
    failed |= rp_put_figure(out, "accuracy", c.accuracy) | rp_put_figure(out, "accuracy_low", c.accuracy_low);
    failed |= rp_put_figure(out, "accuracy_high", c.accuracy_high) | rp_put_figure(out, "precision", c.precision);
    failed |= rp_put_figure(out, "recall", c.recall) | rp_put_figure(out, "specificity", c.specificity);
    failed |= rp_put_figure(out, "f1", c.f1) | rp_put_figure(out, "balanced_accuracy", c.balanced_accuracy);
    return failed | rp_put_figure(out, "mcc", c.mcc);
}

/* Always the class that most training rows have, the positive one of two equal. */
static double trivial_accuracy(const rp_ranking *r, const int64_t *trained)
{
    const uint64_t right = trained[1] >= trained[0] ? r->positives : r->negatives;

    return (double)(int64_t)right / (double)(int64_t)(r->positives + r->negatives);
}

static int put_two_classes(rp_json *out, const rp_ranking *r, const rp_yardstick *y, const rp_figure_options *options)
{
    const double rate = (double)y->class_rows[1] / (double)(y->class_rows[0] + y->class_rows[1]);
    rp_json *thresholds, *trivial = member(out, "trivial", rp_json_object());
    int failed = put_count(out, "positives", r->positives);

    failed |= put_discrimination(out, r, options->brief) | put_calibration(out, r, rate, options);
    failed |= rp_put_figure(trivial, "rate", rate) | rp_put_figure(trivial, "brier", rp_trivial_brier(r, rate));
    failed |= rp_put_figure(trivial, "log_loss", rp_trivial_log_loss(r, rate));
    failed |= rp_put_figure(trivial, "accuracy", trivial_accuracy(r, y->class_rows));
    thresholds = member(out, "thresholds", rp_json_array());
    failed |= !thresholds || put_confusion(thresholds, "half", r, 0.5);
    if (!failed && y->threshold == y->threshold)
        failed |= put_confusion(thresholds, "youden_training", r, y->threshold);
    if (!failed && options->threshold == options->threshold)
        failed |= put_confusion(thresholds, "given", r, options->threshold);
    return failed;
}

/* The score of class k, and whether a row is of it; of one probability that of class 1. */
typedef struct view {
    double *score;
    bool *positive;
} view;

static rp_status rank_class(rp_ranking **out, const rp_scored_rows *s, view *v, size_t k, rp_error *err)
{
    const bool one = s->outputs == 1; /* the scores as they lie */

    for (size_t i = 0; i < s->rows; i++) {
        if (!one)
            v->score[i] = s->score[i * s->outputs + k];
        v->positive[i] = s->label[i] == (int64_t)k;
    }
    return rp_ranking_new(out, one ? s->score : v->score, v->positive, s->rows, err);
}

static rp_status two_classes(rp_json *out, const rp_scored_rows *s, const rp_yardstick *y, view *v,
                             const rp_figure_options *options, rp_error *err)
{
    rp_ranking *r;
    rp_status status = rank_class(&r, s, v, 1, err);

    if (status == RP_OK && put_two_classes(out, r, y, options) != 0)
        status = rp_no_memory(err);
    rp_ranking_free(r);
    return status;
}

/* ---- more classes ---- */

typedef struct class_counts {
    int64_t rows, predicted, right;
} class_counts;

static int put_class(rp_json *list, const class_counts *n, const rp_ranking *r, double *auc)
{
    rp_json *out = element(list);
    rp_discrimination d;
    int failed = put_count(out, "rows", (uint64_t)n->rows) | put_count(out, "predicted", (uint64_t)n->predicted);

    failed |= rp_put_figure(out, "precision", (double)n->right / (double)n->predicted);
    failed |= rp_put_figure(out, "recall", (double)n->right / (double)n->rows);
    if (!r)
        return failed;
    rp_discriminate(&d, r);
    *auc = d.auc;
    return failed | put_area(out, &d);
}

static class_counts *count_classes(const rp_scored_rows *s)
{
    class_counts *counts = rp_calloc(s->classes, sizeof *counts);

    for (size_t i = 0; i < s->rows && counts; i++) {
        const int64_t predicted = rp_decide(s->score + i * s->outputs, s->outputs, true);

        counts[predicted].predicted++;
        counts[s->label[i]].rows++;
        counts[predicted].right += predicted == s->label[i];
    }
    return counts;
}

/* Their mean area, each class against the others; classes that have no area are left out. */
static rp_status put_classes(rp_json *out, const rp_scored_rows *s, view *v, rp_error *err)
{
    rp_json *list = member(out, "by_class", rp_json_array());
    class_counts *counts = count_classes(s);
    rp_status status = list && counts ? RP_OK : rp_no_memory(err);
    double sum = 0;
    int64_t ranked = 0;

    for (size_t k = 0; k < s->classes && status == RP_OK; k++) {
        rp_ranking *r = NULL;
        double auc = rp_from_bits_f64(0x7FF8000000000000u);

        if (s->classes <= CLASSES_RANKED)
            status = rank_class(&r, s, v, k, err);
        if (status == RP_OK && put_class(list, &counts[k], r, &auc) != 0)
            status = rp_no_memory(err);
        rp_ranking_free(r);
        if (auc == auc) {
            sum = sum + auc;
            ranked++;
        }
    }
    rp_free(counts);
    if (status == RP_OK && rp_put_figure(out, "macro_auc", sum / (double)ranked) != 0)
        status = rp_no_memory(err);
    return status;
}

/* Mean of -log of what each row's class was given, and of what the training shares give it. */
static int put_losses(rp_json *out, rp_json *trivial, const rp_scored_rows *s, const rp_yardstick *y, double *work)
{
    const double n = (double)(int64_t)s->rows;
    int64_t total = 0, right = 0, guessed = 0, most = 0;
    int failed = 0;

    for (size_t k = 0; k < s->classes; k++) {
        total += y->class_rows[k];
        most = y->class_rows[k] > y->class_rows[most] ? (int64_t)k : most;
    }
    for (size_t i = 0; i < s->rows; i++) {
        work[i] = -rp_log_f64(rp_clip_probability(s->score[i * s->outputs + (size_t)s->label[i]]));
        right += rp_decide(s->score + i * s->outputs, s->outputs, true) == s->label[i];
        guessed += s->label[i] == most;
    }
    failed |= rp_put_figure(out, "accuracy", (double)right / n);
    failed |= rp_put_figure(out, "log_loss", rp_sum_f64(work, s->rows, 1) / n);
    for (size_t i = 0; i < s->rows; i++)
        work[i] = -rp_log_f64(rp_clip_probability((double)y->class_rows[s->label[i]] / (double)total));
    failed |= rp_put_figure(trivial, "accuracy", (double)guessed / n);
    return failed | rp_put_figure(trivial, "log_loss", rp_sum_f64(work, s->rows, 1) / n);
}

static rp_status more_classes(rp_json *out, const rp_scored_rows *s, const rp_yardstick *y, view *v, rp_error *err)
{
    rp_json *trivial = member(out, "trivial", rp_json_object());

    for (size_t i = 0; i < s->rows * s->outputs; i++)
        if (s->score[i] - s->score[i] != 0)
            return rp_fail(err, RP_EDATA, "scores of row %zu: expected finite numbers, found none", i / s->outputs);
    if (!trivial || put_losses(out, trivial, s, y, v->score) != 0)
        return rp_no_memory(err);
    return put_classes(out, s, v, err);
}

/* ---- a quantity ---- */

static int put_errors(rp_json *out, const rp_errors *e, const rp_yardstick *y, bool beside)
{
    rp_json *residuals = member(out, "residual_quantiles", rp_json_array()), *other;
    int failed = rp_put_figure(out, "rmse", e->rmse) | rp_put_figure(out, "mae", e->mae);

    failed |= rp_put_figure(out, "r2", e->r2) | rp_put_figure(out, "bias", e->bias);
    failed |= rp_put_figure(out, "skill", e->skill) | rp_put_figure(out, "mean", e->mean);
    failed |= rp_put_figure(out, "mean_prediction", e->predicted_mean);
    for (int k = 0; k < RP_RESIDUAL_QUANTILES; k++)
        failed |= rp_append_figure(residuals, e->residual[k]);
    other = member(out, "trivial", rp_json_object());
    failed |= !beside              ? rp_put_figure(other, "prediction", y->mean)
              : y->rate == y->rate ? rp_put_figure(other, "rate", y->rate)
                                   : rp_put_figure(other, "above_offset", y->above);
    failed |= rp_put_figure(other, "rmse", e->trivial_rmse);
    return failed | rp_put_figure(other, "mae", e->trivial_mae) | rp_put_figure(other, "r2", e->trivial_r2);
}

double rp_trivial_beside(const rp_yardstick *y, double offset)
{
    return y->rate == y->rate ? y->rate * rp_exp_f64(offset) : y->above + offset;
}

/* What the model expected beside what came, and how far off the family says that it was. each: what the trivial model
 * gives each row. */
static rp_status put_family(rp_json *out, const rp_scored_rows *s, const rp_errors *e, const double *each,
                            rp_family family, rp_error *err)
{
    const bool gamma = family == RP_FAMILY_GAMMA;
    double deviance, trivial;
    rp_status status = rp_mean_deviance(&deviance, s->score, s->target, s->rows, gamma, err);

    if (status == RP_OK)
        status = rp_mean_deviance(&trivial, each, s->target, s->rows, gamma, err);
    if (status != RP_OK)
        return status;
    return (rp_put_figure(out, "actual_expected", e->mean / e->predicted_mean) |
            rp_put_figure(out, "mean_deviance", deviance) |
            rp_put_figure(rp_json_object_get(out, "trivial"), "mean_deviance", trivial)) != 0
               ? rp_no_memory(err)
               : RP_OK;
}

static rp_status quantity(rp_json *out, const rp_scored_rows *s, const rp_yardstick *y, rp_family family, rp_error *err)
{
    const bool beside = s->offset && (y->rate == y->rate || y->above == y->above);
    double *each = rp_reallocarray(NULL, s->rows + 1, sizeof *each);
    rp_errors e;
    rp_status status = each ? RP_OK : rp_no_memory(err);

    for (size_t i = 0; i < s->rows && status == RP_OK; i++) {
        if (s->score[i] - s->score[i] != 0)
            status = rp_fail(err, RP_EDATA, "prediction of row %zu: expected a finite number, found none", i);
        each[i] = beside ? rp_trivial_beside(y, s->offset[i]) : y->mean;
    }
    if (status == RP_OK)
        status = rp_errors_of(&e, s->score, s->target, s->rows, y->mean, beside ? each : NULL, err);
    if (status == RP_OK && put_errors(out, &e, y, beside) != 0)
        status = rp_no_memory(err);
    if (status == RP_OK && (family == RP_FAMILY_POISSON || family == RP_FAMILY_GAMMA))
        status = put_family(out, s, &e, each, family, err);
    rp_free(each);
    return status;
}

rp_status rp_figures(rp_json **out, const rp_scored_rows *s, const rp_yardstick *y, const rp_figure_options *options,
                     rp_error *err)
{
    view v = {rp_reallocarray(NULL, s->rows + 1, sizeof *v.score),
              rp_reallocarray(NULL, s->rows + 1, sizeof *v.positive)};
    rp_json *json = rp_json_object();
    rp_status status =
        v.score && v.positive && json && put_count(json, "rows", s->rows) == 0 ? RP_OK : rp_no_memory(err);

    if (status == RP_OK && s->classes == 0)
        status = quantity(json, s, y, options->family, err);
    else if (status == RP_OK && s->classes == 2)
        status = two_classes(json, s, y, &v, options, err);
    else if (status == RP_OK)
        status = more_classes(json, s, y, &v, err);
    rp_free(v.score);
    rp_free(v.positive);
    if (status != RP_OK) {
        rp_json_free(json);
        json = NULL;
    }
    *out = json;
    return status;
}
