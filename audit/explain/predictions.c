/* SPDX-License-Identifier: Apache-2.0
 * Predictions with ids before them, warnings and reasons behind them. */
#include <stdio.h>
#include <string.h>

#include "audit/explain/flags.h"
#include "audit/explain/points.h"
#include "audit/explain/reasons.h"
#include "base/handle.h"
#include "base/memory.h"
#include "base/text.h"
#include "core/train/train.h"

/* The lines' further cells, in the order of the rows. */
typedef struct beside {
    const rp_table *table;
    size_t id[RP_ID_COLUMNS_MAX], n_id; /* columns of the table */
    rp_csv reader;                      /* of the rows, from the next one on */
    char *text;                         /* [RP_CELL_MAX + 1] */
    const rp_flags *flags;              /* NULL: not wanted */
    rp_points *points;                  /* likewise */
    rp_reasons *reasons;                /* likewise */
    rp_prediction *out;
} beside;

static bool explains(const rp_predict_options *options)
{
    return options->reasons > 0 || options->contributions;
}

static bool is_ours(const rp_scoring *s, const char *name, const rp_predict_options *options)
{
    if (options->points && strcmp(name, "points") == 0)
        return true;
    if (explains(options) && rp_reasons_named(options, name))
        return true;
    if (strcmp(name, "row") == 0 || strcmp(name, "predicted") == 0 || (options->flags && strcmp(name, "warnings") == 0))
        return true;
    for (size_t i = 0; i < s->schema->classes; i++)
        if (strncmp(name, "p_", 2) == 0 && strcmp(name + 2, s->schema->class_name[i]) == 0)
            return true;
    return false;
}

static bool find_column(const rp_table *table, const char *name, size_t *out)
{
    if (!table->names) {
        int64_t index;

        if (!rp_parse_i64(&index, name, strlen(name)) || index < 0 || (uint64_t)index >= table->own_cols)
            return false;
        *out = (size_t)index;
        return true;
    }
    for (size_t i = 0; i < table->own_cols; i++)
        if (strcmp(table->names[i], name) == 0) {
            *out = i;
            return true;
        }
    return false;
}

static rp_status find_ids(beside *b, const rp_scoring *s, const rp_predict_options *options, const char *where,
                          rp_error *err)
{
    char quoted[RP_QUOTED_TEXT];

    if (options->n_id > RP_ID_COLUMNS_MAX)
        return rp_fail(err, RP_EARG, "predict: expected at most %d id columns, found %zu", RP_ID_COLUMNS_MAX,
                       options->n_id);
    for (size_t i = 0; i < options->n_id; i++) {
        if (!options->id || !options->id[i])
            return rp_fail(err, RP_EARG, "predict: id column %zu has no name: NULL", i);
        (void)rp_printable(quoted, sizeof quoted, options->id[i], strlen(options->id[i]));
        if (!find_column(b->table, options->id[i], &b->id[i]))
            return rp_fail(err, RP_EARG, "predict: %s has no column %s for an id; expected %s", where, quoted,
                           b->table->names ? "a name of its header" : "an index from 0, as it has no header");
        if (is_ours(s, options->id[i], options))
            return rp_fail(err, RP_EARG,
                           "predict: an id column cannot be named %s: predictions have a column of that name; "
                           "rename it in %s",
                           quoted, where);
        for (size_t k = 0; k < i; k++)
            if (b->id[k] == b->id[i])
                return rp_fail(err, RP_EARG, "predict: the id column %s is named twice", quoted);
    }
    b->n_id = options->n_id;
    return RP_OK;
}

static rp_status put_ids(beside *b, rp_buffer *out, int64_t row, rp_error *err)
{
    rp_status status;

    if (b->n_id == 0)
        return RP_OK;
    b->reader.err = err;
    status = RP_OK;
    if (row != RP_HEADER) {
        (void)rp_csv_more(&b->reader); /* over comments, to the next row */
        status = rp_csv_row(&b->reader);
    }
    for (size_t i = 0; i < b->n_id && status == RP_OK; i++) {
        if (row != RP_HEADER)
            (void)rp_text_copy(b->text, &b->reader.cell[b->id[i]]);
        else if (b->table->names)
            (void)snprintf(b->text, RP_CELL_MAX, "%s", b->table->names[b->id[i]]);
        else
            (void)snprintf(b->text, RP_CELL_MAX, "%zu", b->id[i]);
        rp_predictions_cell(out, b->text);
    }
    return status;
}

static rp_status put_flags(const beside *b, rp_buffer *out, int64_t row, rp_error *err)
{
    rp_buffer flags = {0};
    rp_status status;

    if (row == RP_HEADER) {
        rp_predictions_cell(out, "warnings");
        return RP_OK;
    }
    rp_flags_put(b->flags, (size_t)row, &flags);
    rp_buffer_u8(&flags, '\0');
    status = rp_buffer_status(&flags, err);
    if (status == RP_OK)
        rp_predictions_cell(out, (const char *)flags.data);
    rp_buffer_free(&flags);
    return status;
}

static rp_status put(void *self, rp_buffer *out, int64_t row, bool at_end, rp_error *err)
{
    beside *b = self;
    rp_status status = RP_OK;

    if (!at_end)
        return put_ids(b, out, row, err);
    if (b->flags)
        status = put_flags(b, out, row, err);
    if (status == RP_OK && b->points && row == RP_HEADER)
        rp_predictions_cell(out, "points");
    else if (status == RP_OK && b->points)
        status = rp_points_put(b->points, (size_t)row, out, err);
    if (status == RP_OK && b->reasons && row == RP_HEADER)
        rp_reasons_header(b->reasons, out);
    else if (status == RP_OK && b->reasons)
        status = rp_reasons_put(b->reasons, (size_t)row, out, b->out, err);
    return status;
}

static rp_status write_rows(beside *b, const rp_scoring *s, rp_prediction *out, rp_error *err)
{
    const rp_predictions_beside cells = {put, b};
    rp_buffer text = {0};
    rp_status status = rp_table_rows(&b->reader, b->table, err);

    if (status == RP_OK && !(b->text = rp_malloc(RP_CELL_MAX + 1)))
        status = rp_no_memory(err);
    if (status == RP_OK)
        status = rp_predictions_write(&text,
                                      &(rp_predicted_rows){.model = &s->model,
                                                           .schema = s->schema,
                                                           .scores = s->scores,
                                                           .rows = rp_rows_count(s->rows),
                                                           .beside = &cells},
                                      err);
    rp_csv_close(&b->reader);
    rp_free(b->text);
    if (status != RP_OK) {
        rp_buffer_free(&text);
        return status;
    }
    out->rows = rp_rows_count(s->rows);
    out->hidden = rp_rows_table(s->rows)->hidden;
    out->length = text.size;
    out->text = (char *)text.data;
    return RP_OK;
}

/* Of an exact fit, whose rows are finite: a product or a power of theirs need not be. */
static rp_status check_scores(const rp_scoring *s, const char *where, rp_error *err)
{
    const size_t outputs = s->model.outputs, n = rp_rows_count(s->rows) * outputs;

    if (!s->recipe->train.exact)
        return RP_OK;
    for (size_t i = 0; i < n; i++)
        if (s->scores[i] - s->scores[i] != 0)
            return rp_fail(err, RP_EDATA,
                           "%s:%zu: the prediction is beyond binary64: is every number of this row in the units of the "
                           "training data%s?",
                           where, rp_table_line(rp_rows_table(s->rows), i / outputs),
                           s->recipe->data.offset.given ? ", its offset or exposure too" : "");
    return RP_OK;
}

static rp_status predict(rp_prediction *out, const rp_archive *archive, const rp_scoring *s, const char *where,
                         const rp_predict_options *options, const rp_job_options *job, rp_error *err)
{
    beside b = {.table = rp_rows_table(s->rows), .out = out};
    rp_flags flags = {.cell = NULL};
    rp_status status = find_ids(&b, s, options, where, err);

    if (status == RP_OK)
        status = rp_flags_find(&flags, archive, s, options->flags, out, err);
    b.flags = options->flags ? &flags : NULL;
    if (status == RP_OK && options->points)
        status = rp_points_new(&b.points, s, options, err);
    if (status == RP_OK && explains(options))
        status = rp_reasons_new(&b.reasons, archive, s, options, job, out, err);
    if (status == RP_OK)
        status = write_rows(&b, s, out, err);
    rp_points_free(b.points);
    rp_reasons_free(b.reasons);
    rp_flags_clear(&flags);
    return status;
}

rp_status rp_predict_rows(const rp_archive *archive, const void *csv, size_t size, const char *where,
                          const rp_predict_options *options, const rp_job_options *job, rp_prediction **out,
                          rp_error *err)
{
    static const rp_predict_options none = {.id = NULL};
    rp_prediction *p;
    rp_scoring *s = NULL;
    rp_status status;

    *out = NULL;
    if (!archive)
        return rp_no_handle(err, __func__, "archive");
    if (!where)
        where = "table";
    p = rp_calloc(1, sizeof *p);
    status = p ? rp_scoring_new(&s, archive, csv, size, where, false, NULL, job, err) : rp_no_memory(err);
    if (status == RP_OK)
        status = check_scores(s, where, err);
    if (status == RP_OK)
        status = predict(p, archive, s, where, options ? options : &none, job, err);
    rp_scoring_free(s);
    if (status != RP_OK)
        rp_prediction_free(p);
    else
        *out = p;
    return status;
}

void rp_prediction_free(rp_prediction *p)
{
    if (!p)
        return;
    rp_free(p->text);
    rp_free(p);
}
