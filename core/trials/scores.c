/* SPDX-License-Identifier: Apache-2.0
 * Scores of trials: those out of fold as a table, and how far the seeds' differ row by row. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "core/stats/ranking.h"
#include "core/train/figures.h"
#include "core/trials/trials_private.h"
#include "determinism/sum.h"

/* ---- out of fold ---- */

/* Room for n more elements. */
static bool grow(void **array, size_t have, size_t n, size_t size)
{
    void *more = rp_reallocarray(*array, have + n, size);

    if (more)
        *array = more;
    return more != NULL;
}

rp_status rp_kept_add(rp_kept_scores *kept, const rp_trainer *t, int64_t fold, rp_error *err)
{
    const rp_dataset *d = rp_trainer_dataset(t);
    const size_t outputs = rp_trainer_model(t)->outputs, n = d->valid_rows, have = kept->rows;
    float loss;
    double *score;
    rp_status status = rp_trainer_scores(t, true, &loss, &score, err);
    bool room;

    if (status != RP_OK)
        return status;
    room = grow((void **)&kept->score, have * outputs, n * outputs, sizeof *score) &&
           grow((void **)&kept->row, have, n, sizeof *kept->row) &&
           grow((void **)&kept->fold, have, n, sizeof *kept->fold) &&
           (d->valid_label ? grow((void **)&kept->label, have, n, sizeof *kept->label)
                           : grow((void **)&kept->target, have, n, sizeof *kept->target));
    if (room) {
        kept->outputs = outputs;
        kept->rows += n;
        memcpy(kept->score + have * outputs, score, n * outputs * sizeof *score);
        memcpy(kept->row + have, d->valid_row, n * sizeof *kept->row);
        if (d->valid_label)
            memcpy(kept->label + have, d->valid_label, n * sizeof *kept->label);
        else
            memcpy(kept->target + have, d->valid_target, n * sizeof *kept->target);
        for (size_t i = 0; i < n; i++)
            kept->fold[have + i] = fold;
    }
    rp_free(score);
    return room ? RP_OK : rp_no_memory(err);
}

typedef struct place {
    int64_t row;
    size_t at;
} place;

static int compare_places(const void *a, const void *b)
{
    const place *x = a, *y = b;

    return (x->row > y->row) - (x->row < y->row);
}

/* The same in the order of rows. */
static rp_status ordered(rp_kept_scores *out, const rp_kept_scores *kept, rp_error *err)
{
    place *order = rp_reallocarray(NULL, kept->rows, sizeof *order);
    bool room = order != NULL && grow((void **)&out->score, 0, kept->rows * kept->outputs, sizeof *out->score) &&
                grow((void **)&out->row, 0, kept->rows, sizeof *out->row) &&
                grow((void **)&out->fold, 0, kept->rows, sizeof *out->fold) &&
                (kept->label ? grow((void **)&out->label, 0, kept->rows, sizeof *out->label)
                             : grow((void **)&out->target, 0, kept->rows, sizeof *out->target));

    for (size_t i = 0; i < kept->rows && room; i++)
        order[i] = (place){kept->row[i], i};
    if (room)
        qsort(order, kept->rows, sizeof *order, compare_places);
    for (size_t i = 0; i < kept->rows && room; i++) {
        const size_t at = order[i].at;

        memcpy(out->score + i * kept->outputs, kept->score + at * kept->outputs, kept->outputs * sizeof *out->score);
        out->row[i] = kept->row[at];
        out->fold[i] = kept->fold[at];
        if (kept->label)
            out->label[i] = kept->label[at];
        else
            out->target[i] = kept->target[at];
    }
    out->rows = kept->rows;
    out->outputs = kept->outputs;
    rp_free(order);
    return room ? RP_OK : rp_no_memory(err);
}

/* The column behind the row's number. */
static rp_status put_fold(void *self, rp_buffer *out, int64_t row, bool at_end, rp_error *err)
{
    const rp_kept_scores *kept = self;

    (void)err;
    if (at_end)
        return RP_OK;
    if (row == RP_HEADER)
        rp_predictions_cell(out, "fold");
    else
        rp_buffer_printf(out, ",%lld", (long long)kept->fold[row]);
    return RP_OK;
}

rp_status rp_kept_write(rp_buffer *out, const rp_kept_scores *kept, const rp_trainer *t, rp_error *err)
{
    rp_kept_scores rows = {0};
    rp_status status = ordered(&rows, kept, err);
    const rp_predictions_beside beside = {put_fold, &rows};

    if (status == RP_OK)
        status =
            rp_predictions_write(out,
                                 &(rp_predicted_rows){rp_trainer_model(t), rp_trainer_dataset(t)->schema, rows.score,
                                                      rows.rows, rows.row, rows.label, rows.target, &beside},
                                 err);
    rp_kept_clear(&rows);
    return status;
}

void rp_kept_clear(rp_kept_scores *kept)
{
    rp_free(kept->score);
    rp_free(kept->row);
    rp_free(kept->fold);
    rp_free(kept->label);
    rp_free(kept->target);
    *kept = (rp_kept_scores){0};
}

/* ---- over seeds ---- */

static rp_status begin_fold(rp_score_spread *s, const rp_trainer *t, rp_error *err)
{
    const rp_dataset *d = rp_trainer_dataset(t);

    s->rows = d->valid_rows;
    s->outputs = rp_trainer_model(t)->outputs;
    s->cells = s->rows * s->outputs;
    s->mean = rp_calloc(s->cells, sizeof *s->mean);
    s->square = rp_calloc(s->cells, sizeof *s->square);
    s->classes = d->schema->classes > 0;
    s->decided = s->classes ? rp_calloc(s->rows, sizeof *s->decided) : NULL;
    return s->mean && s->square && (s->decided || !s->classes) ? RP_OK : rp_no_memory(err);
}

static void decide_rows(rp_score_spread *s, const rp_trainer *t, const double *score)
{
    const bool binary = rp_trainer_model(t)->loss == RP_LOSS_BCE;

    for (size_t i = 0; i < s->rows && s->decided; i++) {
        const int64_t one = rp_decide(score + i * s->outputs, s->outputs, binary);

        s->decided[i] = s->seeds == 1 || s->decided[i] == one ? one : -1;
    }
}

rp_status rp_score_spread_add(rp_score_spread *s, const rp_trainer *t, rp_error *err)
{
    float loss;
    double *score = NULL;
    rp_status status = s->mean ? RP_OK : begin_fold(s, t, err);

    if (status == RP_OK)
        status = rp_trainer_scores(t, true, &loss, &score, err);
    if (status != RP_OK)
        return status;
    s->seeds++;
    for (size_t i = 0; i < s->cells; i++) {
        const double from = score[i] - s->mean[i];

        s->mean[i] += from / (double)s->seeds;
        s->square[i] += from * (score[i] - s->mean[i]);
    }
    decide_rows(s, t, score);
    rp_free(score);
    return RP_OK;
}

rp_status rp_score_spread_fold(rp_score_spread *s, rp_error *err)
{
    if (!s->mean)
        return RP_OK;
    if (!grow((void **)&s->deviation, s->found, s->cells, sizeof *s->deviation))
        return rp_no_memory(err);
    for (size_t i = 0; i < s->cells; i++)
        s->deviation[s->found++] = sqrt(s->square[i] / (double)(s->seeds - 1));
    for (size_t i = 0; i < s->rows && s->decided; i++)
        s->differ += s->decided[i] < 0;
    s->all_rows += s->rows;
    rp_free(s->mean);
    rp_free(s->square);
    rp_free(s->decided);
    s->mean = s->square = NULL;
    s->decided = NULL;
    s->seeds = 0;
    return RP_OK;
}

/* The ascending deviations; element floor(q (n - 1)) is quantile q. */
static int put_deviations(rp_json *json, const double *sorted, size_t n)
{
    return rp_put_figure(json, "maximum", sorted[n - 1]) |
           rp_put_figure(json, "mean", rp_sum_f64(sorted, n, 1) / (double)n) |
           rp_put_figure(json, "median", sorted[(n - 1) / 2]) |
           rp_put_figure(json, "q95", sorted[(size_t)(0.95 * (double)(n - 1))]);
}

rp_status rp_score_spread_json(rp_json *out, rp_score_spread *s, rp_error *err)
{
    rp_json *json = s->found && !s->broken ? rp_json_object() : rp_json_null();
    int failed = json == NULL;

    if (s->found && !s->broken && !failed) {
        rp_sort_f64(s->deviation, s->found);
        failed |= put_deviations(json, s->deviation, s->found);
        failed |= rp_json_object_set_new(json, "rows", rp_json_integer((int64_t)s->all_rows));
        if (s->classes)
            failed |= rp_json_object_set_new(json, "decided_otherwise", rp_json_integer((int64_t)s->differ));
    }
    failed |= rp_json_object_set_new(out, "scores", json);
    return failed ? rp_no_memory(err) : RP_OK;
}

void rp_score_spread_clear(rp_score_spread *s)
{
    rp_free(s->mean);
    rp_free(s->square);
    rp_free(s->decided);
    rp_free(s->deviation);
    *s = (rp_score_spread){0};
}
