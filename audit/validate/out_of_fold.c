/* SPDX-License-Identifier: Apache-2.0
 * Reading outputs/out_of_fold.csv: a stranger wrote it, so rows ascend, folds and scores are numbers, and every line
 * has the cells of the model. */
#include "audit/validate/out_of_fold.h"

#include <string.h>

#include "audit/archive/archive_private.h"
#include "base/memory.h"
#include "base/text.h"
#include "core/data/text/csv.h"
#include "determinism/decimal.h"

enum { ROW, FOLD, TRUTH, PREDICTED, SCORES }; /* a regression's score is what it predicts */

typedef struct reader {
    rp_out_of_fold *out;
    const rp_schema *schema;
    rp_csv csv;
    char *text; /* [RP_CELL_MAX + 1] */
    size_t cells;
    bool wide;
} reader;

void rp_out_of_fold_clear(rp_out_of_fold *scores)
{
    rp_free(scores->row);
    rp_free(scores->fold);
    rp_free(scores->score);
    rp_free(scores->last);
    *scores = (rp_out_of_fold){.rows = 0};
}

static bool take_integer(reader *r, size_t cell, int64_t *out)
{
    const size_t length = rp_text_copy(r->text, &r->csv.cell[cell]);

    return rp_parse_i64(out, r->text, length) && *out >= 0;
}

/* The shortest decimal of a binary32 number is that number only when it is read as one. */
static bool take_score(reader *r, size_t cell, double *out)
{
    const size_t length = rp_text_copy(r->text, &r->csv.cell[cell]);
    float narrow = 0;
    const bool number = r->wide ? rp_parse_f64(out, r->text, length) : rp_parse_f32(&narrow, r->text, length);

    if (!r->wide)
        *out = narrow;
    return number && *out - *out == 0 && (r->schema->classes == 0 || (*out >= 0 && *out <= 1));
}

static bool take_cells(reader *r)
{
    rp_out_of_fold *out = r->out;
    const size_t i = out->rows;
    bool fine = r->csv.cells == r->cells && take_integer(r, ROW, &out->row[i]) && take_integer(r, FOLD, &out->fold[i]);

    if (!fine || (i && out->row[i] <= out->row[i - 1]))
        return false;
    for (size_t k = 0; k < out->outputs && fine; k++)
        fine = take_score(r, r->schema->classes ? SCORES + k : PREDICTED, &out->score[i * out->outputs + k]);
    (void)rp_text_copy(r->text, &r->csv.cell[TRUTH]);
    out->last[i] = r->schema->classes && strcmp(r->text, r->schema->class_name[r->schema->classes - 1]) == 0;
    return fine;
}

static rp_status read_header(reader *r, rp_error *err)
{
    rp_status status;

    if (r->csv.at == r->csv.end)
        return rp_fail(err, RP_EFORMAT, RP_OUT_OF_FOLD_MEMBER ": expected a header, found nothing");
    status = rp_csv_row(&r->csv);
    if (status == RP_OK && r->csv.cells != r->cells)
        status =
            rp_fail(err, RP_EFORMAT, RP_OUT_OF_FOLD_MEMBER ": expected %zu columns, found %zu", r->cells, r->csv.cells);
    return status;
}

/* A line of scores has a byte in every cell but truth and predicted, and one behind every cell: what is held for these
 * lines is a few times the member, however many line feeds a stranger puts into it. */
static rp_status make_room(reader *r, size_t *lines, rp_error *err)
{
    rp_out_of_fold *out = r->out;

    *lines = (r->csv.end - r->csv.at) / (2 * r->cells - 2) + 1;
    out->row = rp_reallocarray(NULL, *lines, sizeof *out->row);
    out->fold = rp_reallocarray(NULL, *lines, sizeof *out->fold);
    out->score = rp_reallocarray(NULL, *lines, out->outputs * sizeof *out->score);
    out->last = rp_calloc(*lines, sizeof *out->last);
    return out->row && out->fold && out->score && out->last ? RP_OK : rp_no_memory(err);
}

static rp_status read_rows(reader *r, rp_error *err)
{
    size_t lines = 0;
    rp_status status = make_room(r, &lines, err);

    while (status == RP_OK && r->csv.at < r->csv.end && r->out->rows < lines) {
        if ((status = rp_csv_row(&r->csv)) == RP_OK && !take_cells(r))
            status = rp_fail(err, RP_EFORMAT,
                             RP_OUT_OF_FOLD_MEMBER
                             ": line of scores %zu: expected row, fold, truth, predicted and %zu scores from "
                             "0 to 1, rows ascending",
                             r->out->rows + 1, r->schema->classes ? r->out->outputs : 0);
        r->out->rows += status == RP_OK;
    }
    if (status == RP_OK && r->csv.at < r->csv.end)
        status =
            rp_fail(err, RP_EFORMAT, RP_OUT_OF_FOLD_MEMBER ": expected at most %zu lines of scores, found more", lines);
    return status;
}

rp_status rp_out_of_fold_read(rp_out_of_fold *out, const rp_archive *archive, const rp_schema *schema, size_t outputs,
                              bool wide, rp_error *err)
{
    const rp_recipe commas = {.data = {.delimiter = ','}};
    reader r = {.out = out,
                .schema = schema,
                .text = rp_malloc(RP_CELL_MAX + 1),
                .cells = schema->classes ? SCORES + outputs : SCORES,
                .wide = wide};
    rp_buffer bytes = {0};
    rp_status status = rp_archive_read_member(archive, RP_OUT_OF_FOLD_MEMBER, SIZE_MAX / 2, &bytes, err);

    *out = (rp_out_of_fold){.outputs = outputs};
    if (status == RP_OK)
        status = rp_csv_open(&r.csv, bytes.data, bytes.size, &commas, RP_OUT_OF_FOLD_MEMBER, err);
    if (status == RP_OK && !r.text)
        status = rp_no_memory(err);
    if (status == RP_OK)
        status = read_header(&r, err);
    if (status == RP_OK)
        status = read_rows(&r, err);
    rp_csv_close(&r.csv);
    rp_free(r.text);
    rp_buffer_free(&bytes);
    return status == RP_EDATA ? rp_fail_at(err, RP_EFORMAT, RP_OUT_OF_FOLD_MEMBER) : status;
}

rp_status rp_out_of_fold_whole(const rp_out_of_fold *kept, const rp_recipe *recipe, size_t trained, rp_error *err)
{
    const size_t folds = (size_t)recipe->data.folds;
    size_t *count = rp_calloc(folds + 1, sizeof *count), there = 0, least = SIZE_MAX, most = 0;
    bool fine = true;

    if (!count)
        return rp_no_memory(err);
    for (size_t i = 0; i < kept->rows && fine; i++) {
        fine = (uint64_t)kept->fold[i] < folds;
        count[fine ? (size_t)kept->fold[i] : 0]++;
    }
    for (size_t f = 0; f < folds; f++) {
        there += count[f] > 0;
        least = count[f] > 0 && count[f] < least ? count[f] : least;
        most = count[f] > most ? count[f] : most;
    }
    rp_free(count);
    fine = fine && (there < folds || kept->rows == trained);
    return fine && (recipe->data.group.given || there == 0 || most - least <= 1)
               ? RP_OK
               : rp_fail(err, RP_EFORMAT,
                         RP_OUT_OF_FOLD_MEMBER ": expected all rows of a fold or none, of %zu rows in %zu folds; found "
                                               "%zu lines of %zu folds, of %zu to %zu each",
                         trained, folds, kept->rows, there, least, most);
}
