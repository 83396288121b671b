/* SPDX-License-Identifier: Apache-2.0
 * The training rows prepared again from the archive's own table, the population of a cut-off chosen among them, and the
 * means of its features. */
#include "audit/explain/background.h"

#include <string.h>

#include "audit/replay/replay.h"
#include "base/memory.h"
#include "core/stats/ranking.h"
#include "core/train/evaluate.h"
#include "determinism/decimal.h"
#include "determinism/fpenv.h"
#include "determinism/sum.h"

/* What all steps share. */
typedef struct training {
    const rp_scoring *scoring;
    const rp_margin *margin;
    const rp_job_options *options;
    rp_dataset *data;
    double *score; /* [train_rows] */
    bool *chosen;  /* [train_rows]; NULL: all */
} training;

static rp_status prepare(training *t, const rp_archive *archive, rp_error *err)
{
    rp_buffer csv = {0};
    rp_status status;

    if (!rp_archive_find(archive, RP_TABLE_MEMBER))
        return rp_fail(err, RP_EUNSUPPORTED,
                       "predict: reasons are relative to training rows, and this archive left " RP_TABLE_MEMBER
                       " out: give what was left out with --withheld DIR");
    status = rp_archive_read_member(archive, RP_TABLE_MEMBER, SIZE_MAX / 2, &csv, err);
    if (status == RP_OK)
        status = rp_dataset_prepare(&t->data, t->scoring->recipe, csv.data, csv.size, RP_TABLE_MEMBER,
                                    &(rp_table_options){.pool = rp_scoring_pool(t->scoring)}, err);
    rp_buffer_free(&csv);
    if (status == RP_OK && t->data->schema->features != t->scoring->model.features)
        status = rp_fail(err, RP_EFORMAT, RP_TABLE_MEMBER " prepared by the recipe has %zu features, the model %zu",
                         t->data->schema->features, t->scoring->model.features);
    return status;
}

/* ---- the population of a cut-off ---- */

static rp_status afford(const training *t, rp_scorer *scorer, rp_error *err)
{
    const size_t rows = t->data->train_rows, most = rows < RP_BLOCK_ROWS ? rows : RP_BLOCK_ROWS;
    rp_budget budget = {.work = 0};
    rp_price price;
    rp_status status = rp_scorer_price(scorer, most, &price, err);

    return status == RP_OK ? rp_budget_add(&budget, &price, (rows + most - 1) / most, t->options,
                                           "scores of the training rows", err)
                           : status;
}

static rp_status score_blocks(training *t, rp_scorer *scorer, double *scores, rp_error *err)
{
    const rp_model *m = &t->scoring->model;
    rp_status status = RP_OK;

    for (size_t first = 0; first < t->data->train_rows && status == RP_OK; first += RP_BLOCK_ROWS) {
        const size_t left = t->data->train_rows - first, count = left < RP_BLOCK_ROWS ? left : RP_BLOCK_ROWS;
        const void *x = m->dtype == RP_F64 ? (const void *)(t->data->train_wide + first * m->features)
                                           : t->data->train_x + first * m->features;

        status = rp_scorer_score(scorer, x, count, scores, err);
        if (status != RP_OK)
            return status;
        rp_schema_give_back(t->scoring->schema, scores, count * m->outputs);
        for (size_t i = 0; i < count; i++)
            t->score[first + i] = rp_margin_score(t->margin, t->scoring, scores + i * m->outputs);
    }
    return status;
}

static rp_status score_all(training *t, rp_error *err)
{
    double *scores = rp_reallocarray(NULL, RP_BLOCK_ROWS, t->scoring->model.outputs * sizeof *scores);
    rp_scorer *scorer = NULL;
    rp_status status = scores ? rp_scorer_new(&scorer, &t->scoring->model, t->scoring->run, err) : rp_no_memory(err);

    if (status == RP_OK)
        status = afford(t, scorer, err);
    if (status == RP_OK)
        status = score_blocks(t, scorer, scores, err);
    rp_scorer_free(scorer);
    rp_free(scores);
    return status;
}

/* The tenth of the passing rows that is nearest to the cut-off, at least 30 of them, and all that tie with its last. */
static rp_status choose(training *t, double cutoff, double *last, rp_error *err)
{
    const bool low = !t->scoring->schema->classes && !t->margin->favourable;
    const size_t rows = t->data->train_rows;
    double *passing = rp_reallocarray(NULL, rows, sizeof *passing);
    char text[RP_DECIMAL_SIZE];
    size_t n = 0, k;

    if (!passing)
        return rp_no_memory(err);
    for (size_t i = 0; i < rows; i++)
        if (rp_margin_passes(t->margin, t->scoring, t->score[i], cutoff))
            passing[n++] = t->score[i];
    (void)rp_print_f64(text, cutoff);
    if (n == 0) {
        rp_free(passing);
        return rp_fail(err, RP_EDATA, "predict: no training row reaches the cut-off %s: choose another (--cutoff)",
                       text);
    }
    rp_sort_f64(passing, n);
    k = (n + 9) / 10 < RP_CUTOFF_ROWS ? RP_CUTOFF_ROWS : (n + 9) / 10;
    k = k < n ? k : n;
    *last = low ? passing[n - k] : passing[k - 1];
    for (size_t i = 0; i < rows; i++)
        t->chosen[i] = rp_margin_passes(t->margin, t->scoring, t->score[i], cutoff) &&
                       (low ? t->score[i] >= *last : t->score[i] <= *last);
    rp_free(passing);
    return RP_OK;
}

static rp_status find_population(training *t, double cutoff, double *last, rp_error *err)
{
    rp_status status;

    t->score = rp_reallocarray(NULL, t->data->train_rows, sizeof *t->score);
    t->chosen = rp_calloc(t->data->train_rows, sizeof *t->chosen);
    status = t->score && t->chosen ? score_all(t, err) : rp_no_memory(err);
    return status == RP_OK ? choose(t, cutoff, last, err) : status;
}

/* ---- means ---- */

static rp_status find_means(rp_background *out, const training *t, rp_error *err)
{
    const size_t features = t->scoring->model.features, rows = t->data->train_rows;
    double *value = rp_reallocarray(NULL, rows, sizeof *value);

    out->mean = rp_reallocarray(NULL, features, sizeof *out->mean);
    for (size_t j = 0; j < features && value && out->mean; j++) {
        size_t n = 0;

        for (size_t i = 0; i < rows; i++)
            if (!t->chosen || t->chosen[i])
                value[n++] = t->data->train_wide ? t->data->train_wide[i * features + j]
                                                 : (double)t->data->train_x[i * features + j];
        out->mean[j] = rp_sum_f64(value, n, 1) / (double)n;
        out->rows = n;
    }
    rp_free(value);
    return value && out->mean ? RP_OK : rp_no_memory(err);
}

rp_status rp_background_new(rp_background *out, const rp_archive *archive, const rp_scoring *scoring,
                            const rp_margin *margin, const double *cutoff, const rp_job_options *options, rp_error *err)
{
    training t = {.scoring = scoring, .margin = margin, .options = options};
    rp_fpenv saved;
    rp_status status = rp_fpenv_enter(&saved, NULL, err);

    *out = (rp_background){.rows = 0};
    if (status != RP_OK)
        return status;
    status = prepare(&t, archive, err);
    if (status == RP_OK && cutoff)
        status = find_population(&t, *cutoff, &out->highest, err);
    if (status == RP_OK)
        status = find_means(out, &t, err);
    rp_dataset_free(t.data);
    rp_free(t.score);
    rp_free(t.chosen);
    rp_fpenv_leave(&saved);
    if (status != RP_OK)
        rp_background_clear(out);
    return status;
}

void rp_background_clear(rp_background *b)
{
    rp_free(b->mean);
    b->mean = NULL;
}
