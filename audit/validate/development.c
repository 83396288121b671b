/* SPDX-License-Identifier: Apache-2.0
 * The area under the ROC curve of the rows that the run itself was judged by, beside that of later ones (CONTRACT
 * 14.8): those of its validation part; with all folds each row by the trial that did not train on it; else, and so
 * named, those of its training part. */
#include <string.h>

#include "audit/archive/archive_private.h"
#include "audit/validate/judged.h"
#include "base/memory.h"
#include "core/data/text/csv.h"
#include "core/stats/discrimination.h"
#include "core/stats/distributions.h"
#include "determinism/decimal.h"

typedef struct area {
    const char *part; /* NULL: there is none */
    double auc, error;
} area;

static bool real_at(const rp_json *discrimination, const char *key, double *out)
{
    const char *text = rp_json_string_value(rp_json_object_get(discrimination, key));

    return text && rp_parse_f64(out, text, strlen(text)) && *out - *out == 0;
}

static bool area_at(const rp_json *figures, area *out)
{
    const rp_json *d = rp_json_object_get(figures, "discrimination");

    return real_at(d, "auc", &out->auc) && real_at(d, "auc_error", &out->error);
}

/* ---- out of fold ---- */

enum { TRUTH = 2, CELLS = 5, CELLS_OF_BOTH = 6 }; /* row, fold, truth, predicted, the scores of one class or of both */

typedef struct scored {
    const char *positive; /* the class of index 1 */
    double *score;        /* [rows] */
    bool *is_positive;    /* [rows] */
    size_t rows;
} scored;

static rp_status take_row(scored *s, const rp_csv *csv, size_t cells, char *text, rp_error *err)
{
    size_t length;

    if (csv->cells != cells)
        return rp_fail(err, RP_EFORMAT, "%s: expected %zu cells in a row, found %zu", csv->where, cells, csv->cells);
    (void)rp_text_copy(text, &csv->cell[TRUTH]);
    s->is_positive[s->rows] = strcmp(text, s->positive) == 0;
    length = rp_text_copy(text, &csv->cell[cells - 1]);
    if (!rp_parse_f64(&s->score[s->rows], text, length))
        return rp_fail(err, RP_EFORMAT, "%s: expected a score in row %zu", csv->where, s->rows);
    s->rows++;
    return RP_OK;
}

static rp_status read_rows(scored *s, const rp_buffer *bytes, rp_error *err)
{
    const rp_recipe commas = {.data = {.delimiter = ','}};
    char *text = rp_malloc(RP_CELL_MAX + 1);
    rp_csv csv = {.in = NULL};
    size_t lines = rp_csv_count(bytes->data, bytes->size, '\n'), cells = 0;
    rp_status status = rp_csv_open(&csv, bytes->data, bytes->size, &commas, RP_OUT_OF_FOLD_MEMBER, err);

    s->score = rp_reallocarray(NULL, lines + 1, sizeof *s->score);
    s->is_positive = rp_reallocarray(NULL, lines + 1, sizeof *s->is_positive);
    if (status == RP_OK && (!text || !s->score || !s->is_positive))
        status = rp_no_memory(err);
    if (status == RP_OK && csv.at < csv.end && (status = rp_csv_row(&csv)) == RP_OK && (cells = csv.cells) != CELLS &&
        cells != CELLS_OF_BOTH)
        status =
            rp_fail(err, RP_EFORMAT, RP_OUT_OF_FOLD_MEMBER ": expected the columns of two classes, found %zu", cells);
    while (status == RP_OK && csv.at < csv.end)
        if ((status = rp_csv_row(&csv)) == RP_OK)
            status = take_row(s, &csv, cells, text, err);
    rp_csv_close(&csv);
    rp_free(text);
    return status;
}

static rp_status out_of_fold(area *out, const rp_archive *archive, const rp_schema *schema, rp_error *err)
{
    scored s = {.positive = schema->class_name[1]};
    rp_buffer bytes = {0};
    rp_ranking *ranking = NULL;
    rp_discrimination d;
    rp_status status = rp_archive_read_member(archive, RP_OUT_OF_FOLD_MEMBER, SIZE_MAX / 2, &bytes, err);

    if (status == RP_OK)
        status = read_rows(&s, &bytes, err);
    if (status == RP_OK)
        status = rp_ranking_new(&ranking, s.score, s.is_positive, s.rows, err);
    if (status == RP_OK) {
        rp_discriminate(&d, ranking);
        if (d.auc - d.auc == 0 && d.error - d.error == 0)
            *out = (area){"folds", d.auc, d.error};
    }
    rp_ranking_free(ranking);
    rp_free(s.score);
    rp_free(s.is_positive);
    rp_buffer_free(&bytes);
    return status == RP_EDATA ? rp_fail_at(err, RP_EFORMAT, RP_OUT_OF_FOLD_MEMBER) : status;
}

/* What trained the model flatters it, and stands for nothing else where there is something else. */
static rp_status run_area(area *out, const rp_judged *j, const rp_archive *archive, rp_error *err)
{
    const rp_json *validation = rp_json_object_get(j->metrics, "validation");
    const rp_json *training = rp_json_object_get(j->metrics, "training");

    *out = (area){.part = NULL};
    if (j->scoring->schema->classes != 2)
        return RP_OK;
    if (validation) {
        out->part = area_at(rp_json_object_get(validation, "figures"), out) ? "validation" : NULL;
        return RP_OK;
    }
    if (j->scoring->recipe->data.fold == RP_ALL_FOLDS)
        return rp_archive_find(archive, RP_OUT_OF_FOLD_MEMBER) ? out_of_fold(out, archive, j->scoring->schema, err)
                                                               : RP_OK;
    out->part = area_at(rp_json_object_get(training, "figures"), out) ? "training" : NULL;
    return RP_OK;
}

rp_status rp_judged_development(rp_json **out, const rp_judged *j, const rp_archive *archive, const rp_json *figures,
                                rp_error *err)
{
    area was, now;
    rp_status status = run_area(&was, j, archive, err);
    double statistic;

    *out = NULL;
    if (status != RP_OK)
        return status;
    if (!was.part || !area_at(figures, &now) || now.error == 0) {
        *out = rp_json_null();
        return RP_OK;
    }
    statistic = (was.auc - now.auc) / now.error;
    *out = rp_json_object();
    if ((rp_put_figure(*out, "auc", was.auc) | rp_put_figure(*out, "auc_error", was.error) |
         rp_put_figure(*out, "statistic", statistic) | rp_put_figure(*out, "p", rp_normal_upper(statistic)) |
         rp_json_object_set_new(*out, "part", rp_json_string(was.part))) == 0)
        return RP_OK;
    rp_json_free(*out);
    *out = NULL;
    return rp_no_memory(err);
}
