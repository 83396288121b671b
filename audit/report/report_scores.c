/* SPDX-License-Identifier: Apache-2.0
 * The scores of single rows, out of outputs/predictions.csv (audit/FORMAT.md 9.3), for plots that metrics have no
 * points for. Untrusted: whatever is not in that form is an error with its line. */
#include <string.h>

#include "audit/report/report.h"
#include "base/memory.h"
#include "determinism/decimal.h"

/* Beyond it there are no plots: a report of a gigabyte of scores would take several of memory. */
static const size_t scores_limit = (size_t)256 << 20;
enum { CELLS_MAX = 3 + RP_CLASSES_MAX };

typedef struct reader {
    const char *text;
    size_t at, size, line;
    rp_buffer cell;
    rp_error *err;
} reader;

static rp_status wrong(const reader *in, const char *expected)
{
    return rp_fail(in->err, RP_EFORMAT, RP_PREDICTIONS_MEMBER ":%zu: expected %s", in->line, expected);
}

/* The next cell as a C string, *last when its line ends there. */
static rp_status next_cell(reader *in, bool *last)
{
    const bool quoted = in->at < in->size && in->text[in->at] == '"';

    in->cell.size = 0;
    in->at += quoted;
    for (;; in->at++) {
        char c = in->at < in->size ? in->text[in->at] : '\0';

        if (c == '\0')
            return wrong(in, "a cell that ends");
        if (quoted && c == '"') {
            if (in->at + 1 < in->size && in->text[in->at + 1] == '"')
                in->at++;
            else
                break;
        } else if (!quoted && (c == ',' || c == '\n')) {
            break;
        }
        rp_buffer_u8(&in->cell, (uint8_t)c);
    }
    in->at += quoted;
    if (in->at >= in->size || (in->text[in->at] != ',' && in->text[in->at] != '\n'))
        return wrong(in, "a comma or the line's end behind a cell");
    *last = in->text[in->at++] == '\n';
    in->line += *last;
    rp_buffer_u8(&in->cell, 0);
    return rp_buffer_status(&in->cell, in->err);
}

static rp_status skip_header(reader *in, size_t *cells)
{
    static const char *const name[] = {"row", "truth", "predicted"};
    bool last = false;
    rp_status status = RP_OK;

    for (*cells = 0; !last && status == RP_OK; (*cells)++) {
        status = next_cell(in, &last);
        if (status == RP_OK && *cells < 3 && strcmp((const char *)in->cell.data, name[*cells]) != 0)
            return wrong(in, "the header row,truth,predicted");
    }
    if (status == RP_OK && (*cells < 3 || *cells > CELLS_MAX))
        return wrong(in, "a row's number, its truth, its prediction and a score for each class");
    return status;
}

static size_t class_of(const rp_json *classes, const char *name)
{
    size_t n = rp_json_array_size(classes), k = 0;

    while (k < n) {
        const char *text = rp_json_string_value(rp_json_array_get(classes, k));

        if (text && strcmp(text, name) == 0)
            break;
        k++;
    }
    return k;
}

static rp_status number_of(const reader *in, double *x)
{
    const char *text = (const char *)in->cell.data;

    if (!rp_parse_f64(x, text, strlen(text)) || *x - *x != 0)
        return wrong(in, "a finite number");
    return RP_OK;
}

/* A row: of a regression its target and score; else whether it is of the class scored, and that class's score. */
static rp_status read_row(reader *in, const rp_json *classes, size_t cells, rp_report_scores *out)
{
    const size_t n = rp_json_array_size(classes), row = out->rows;
    size_t truth = 0, scored = 0;
    bool last = false;
    rp_status status = RP_OK;

    out->score[row] = 0;
    for (size_t i = 0; i < cells && status == RP_OK; i++) {
        status = next_cell(in, &last);
        if (status == RP_OK && last != (i + 1 == cells))
            return wrong(in, "as many cells as the header has");
        if (status != RP_OK || i == 0)
            continue;
        if (n == 0) {
            status = number_of(in, i == 1 ? &out->truth[row] : &out->score[row]);
        } else if (i == 1) {
            truth = class_of(classes, (const char *)in->cell.data);
        } else if (i == 2) {
            size_t predicted = class_of(classes, (const char *)in->cell.data);

            scored = n == 2 ? 1 : predicted;
            out->positive[row] = truth == scored && truth < n;
            status = truth < n && predicted < n ? RP_OK : wrong(in, "names of classes");
        } else if (i - 3 == scored || cells == 4) {
            status = number_of(in, &out->score[row]);
        }
    }
    out->rows += status == RP_OK;
    return status;
}

static rp_status read_rows(reader *in, const rp_json *classes, rp_report_scores *out)
{
    const size_t n = rp_json_array_size(classes);
    size_t cells, lines = 0;
    rp_status status = skip_header(in, &cells);

    if (status == RP_OK && cells != (n == 0 ? 3 : 3 + n) && !(n == 2 && cells == 4))
        return wrong(in, "as many scores as there are classes");
    for (size_t i = in->at; i < in->size; i++)
        lines += in->text[i] == '\n';
    out->score = rp_reallocarray(NULL, lines + 1, sizeof *out->score);
    out->truth = rp_reallocarray(NULL, lines + 1, sizeof *out->truth);
    out->positive = rp_reallocarray(NULL, lines + 1, sizeof *out->positive);
    if (status == RP_OK && (!out->score || !out->truth || !out->positive))
        status = rp_no_memory(in->err);
    while (status == RP_OK && in->at < in->size)
        status = read_row(in, classes, cells, out);
    return status;
}

rp_status rp_report_read_scores(rp_report_view *r, rp_error *err)
{
    const rp_member *member = rp_archive_find(r->archive, RP_PREDICTIONS_MEMBER);
    const rp_json *classes = rp_json_object_get(r->metrics, "classes");
    rp_buffer bytes = {0};
    reader in = {.line = 1, .err = err};
    rp_status status;

    if (!member || !r->metrics)
        return RP_OK;
    status = rp_archive_read_member(r->archive, member->name, scores_limit, &bytes, err);
    in.text = (const char *)bytes.data;
    in.size = bytes.size;
    if (status == RP_OK)
        status = read_rows(&in, classes, &r->scores);
    if (status != RP_OK)
        rp_report_scores_clear(&r->scores);
    rp_buffer_free(&in.cell);
    rp_buffer_free(&bytes);
    return status;
}

void rp_report_scores_clear(rp_report_scores *scores)
{
    rp_free(scores->score);
    rp_free(scores->truth);
    rp_free(scores->positive);
    memset(scores, 0, sizeof *scores);
}
