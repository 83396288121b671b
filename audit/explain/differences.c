/* SPDX-License-Identifier: Apache-2.0
 * Whether somebody's predictions are the model's: two tables of them cell by cell, numbers by their value. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "core/data/text/csv.h"
#include "determinism/decimal.h"
#include "determinism/fpenv.h"
#include "rp/predict.h"

/* A CSV with a header: every cell's text. */
typedef struct sheet {
    const char *where;
    size_t cols, rows;
    rp_buffer text;          /* of the cells, each with a NUL, the header's first */
    rp_buffer offset, begin; /* uint64_t each: of the cells in text; of the rows in the source */
    const void *source;
} sheet;

static const char *cell(const sheet *s, size_t line, size_t col) /* line 0: the header */
{
    uint64_t at;

    memcpy(&at, s->offset.data + (line * s->cols + col) * sizeof at, sizeof at);
    return (const char *)s->text.data + at;
}

static size_t line_of(const sheet *s, size_t row)
{
    uint64_t at;

    memcpy(&at, s->begin.data + (row + 1) * sizeof at, sizeof at);
    return 1 + rp_csv_count(s->source, (size_t)at, '\n');
}

static void close_sheet(sheet *s)
{
    rp_buffer_free(&s->text);
    rp_buffer_free(&s->offset);
    rp_buffer_free(&s->begin);
}

static rp_status take_row(sheet *s, rp_csv *csv, char *text, rp_error *err)
{
    uint64_t at = csv->at;
    rp_status status = rp_csv_row(csv);

    if (status != RP_OK)
        return status;
    if (s->cols != 0 && csv->cells != s->cols)
        return rp_fail(err, RP_EDATA, "%s:%zu: expected %zu cells as in the header, found %zu", s->where,
                       rp_csv_line(csv, (size_t)at), s->cols, csv->cells);
    s->cols = csv->cells;
    rp_buffer_append(&s->begin, &at, sizeof at);
    for (size_t i = 0; i < csv->cells; i++) {
        at = s->text.size;
        rp_buffer_append(&s->offset, &at, sizeof at);
        rp_buffer_append(&s->text, text, rp_text_copy(text, &csv->cell[i]) + 1);
    }
    s->rows++;
    return s->text.failed || s->offset.failed || s->begin.failed ? rp_no_memory(err) : RP_OK;
}

static rp_status open_sheet(sheet *s, const void *bytes, size_t size, const char *where, rp_error *err)
{
    const rp_recipe commas = {.data = {.delimiter = ','}};
    char *text = rp_malloc(RP_CELL_MAX + 1);
    rp_csv csv = {.in = NULL};
    rp_status status = text ? rp_csv_open(&csv, bytes, size, &commas, where, err) : rp_no_memory(err);

    *s = (sheet){.where = where, .source = bytes};
    if (status == RP_OK && rp_csv_bad_text(&csv, csv.at, csv.end) != csv.end)
        status = rp_csv_fail_text(&csv, rp_csv_bad_text(&csv, csv.at, csv.end));
    while (status == RP_OK && csv.at < csv.end)
        status = take_row(s, &csv, text, err);
    if (status == RP_OK && s->rows == 0)
        status = rp_fail(err, RP_EDATA, "%s: expected a header line with the names of columns, found nothing", where);
    s->rows -= s->rows > 0;
    rp_csv_close(&csv);
    rp_free(text);
    return status;
}

static bool find(const sheet *s, const char *name, size_t *out)
{
    for (size_t i = 0; i < s->cols; i++)
        if (strcmp(cell(s, 0, i), name) == 0) {
            *out = i;
            return true;
        }
    return false;
}

static bool find_after(const sheet *s, const char *name, size_t first)
{
    for (size_t i = first; i < s->cols; i++)
        if (strcmp(cell(s, 0, i), name) == 0)
            return true;
    return false;
}

/* ---- which of their rows is which of ours ---- */

typedef struct keyed {
    const char *key;
    size_t row;
} keyed;

static int compare_keys(const void *a, const void *b)
{
    return strcmp(((const keyed *)a)->key, ((const keyed *)b)->key);
}

/* The ids of a row as one text that no other ids have: each with its length before it. */
static void put_key(rp_buffer *out, const sheet *s, size_t row, const size_t *id, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *text = cell(s, row + 1, id[i]);

        rp_buffer_printf(out, "%zu:", strlen(text));
        rp_buffer_text(out, text);
    }
    rp_buffer_u8(out, '\0');
}

/* list [rows] in the order of keys, which lie in text. */
static rp_status sort_keys(keyed **list, rp_buffer *text, const sheet *s, const size_t *id, size_t n, rp_error *err)
{
    size_t at = 0;

    *list = rp_reallocarray(NULL, s->rows + 1, sizeof **list);
    for (size_t row = 0; row < s->rows; row++)
        put_key(text, s, row, id, n);
    if (!*list || text->failed)
        return rp_no_memory(err);
    for (size_t row = 0; row < s->rows; row++) {
        (*list)[row] = (keyed){(const char *)text->data + at, row};
        at += strlen((*list)[row].key) + 1;
    }
    if (s->rows)
        qsort(*list, s->rows, sizeof **list, compare_keys);
    for (size_t i = 1; i < s->rows; i++)
        if (compare_keys(&(*list)[i - 1], &(*list)[i]) == 0) {
            size_t a = (*list)[i - 1].row, b = (*list)[i].row;

            return rp_fail(err, RP_EDATA,
                           "%s: lines %zu and %zu have the same ids; name columns that tell the rows apart", s->where,
                           line_of(s, a < b ? a : b), line_of(s, a < b ? b : a));
        }
    return RP_OK;
}

static rp_status find_ids(const sheet *s, const char *const *id, size_t n, size_t *out, rp_error *err)
{
    char quoted[RP_QUOTED_TEXT];

    for (size_t i = 0; i < n; i++)
        if (!find(s, id[i], &out[i]))
            return rp_fail(err, RP_EDATA, "%s:1: expected a column %s to match rows by, found none", s->where,
                           rp_printable(quoted, sizeof quoted, id[i], strlen(id[i])));
    return RP_OK;
}

/* partner [ours->rows]: their row, or SIZE_MAX. */
static rp_status match_by_id(size_t *partner, const sheet *ours, const sheet *theirs, const char *const *id, size_t n,
                             rp_error *err)
{
    size_t own[RP_ID_COLUMNS_MAX], other[RP_ID_COLUMNS_MAX];
    keyed *mine = NULL, *list = NULL;
    rp_buffer my_text = {0}, text = {0};
    rp_status status = find_ids(ours, id, n, own, err);

    if (status == RP_OK)
        status = find_ids(theirs, id, n, other, err);
    if (status == RP_OK)
        status = sort_keys(&mine, &my_text, ours, own, n, err);
    if (status == RP_OK)
        status = sort_keys(&list, &text, theirs, other, n, err);
    for (size_t i = 0; i < ours->rows && status == RP_OK; i++) {
        const keyed *found = theirs->rows ? bsearch(&mine[i], list, theirs->rows, sizeof *list, compare_keys) : NULL;

        partner[mine[i].row] = found ? found->row : SIZE_MAX;
    }
    rp_free(mine);
    rp_free(list);
    rp_buffer_free(&my_text);
    rp_buffer_free(&text);
    return status;
}

static rp_status match_by_order(size_t *partner, const sheet *ours, const sheet *theirs, rp_error *err)
{
    size_t col;
    bool numbered = find(theirs, "row", &col);

    for (size_t i = 0; i < theirs->rows && numbered; i++) {
        const char *text = cell(theirs, i + 1, col);
        int64_t number;

        if (!rp_parse_i64(&number, text, strlen(text)) || number != (int64_t)i)
            return rp_fail(err, RP_EDATA,
                           "%s:%zu: expected row %zu, as rows are matched by their order; give --id with columns "
                           "that both tables have",
                           theirs->where, line_of(theirs, i), i);
    }
    for (size_t i = 0; i < ours->rows; i++)
        partner[i] = i < theirs->rows ? i : SIZE_MAX;
    return RP_OK;
}

/* ---- cells ---- */

typedef struct pair {
    size_t ours, theirs; /* columns */
    bool number;
} pair;

typedef struct comparison {
    const sheet *ours, *theirs;
    const char *const *id;
    size_t n_id;
    pair *pair; /* [ours->cols], of which there are */
    size_t pairs;
    double tolerance, largest; /* largest: -1 before there is any */
    rp_prediction_diff *out;
} comparison;

static bool is_id(const comparison *c, const char *name)
{
    for (size_t i = 0; i < c->n_id; i++)
        if (strcmp(c->id[i], name) == 0)
            return true;
    return false;
}

/* One more name of a list that has room for the first few. */
static void list_name(char list[RP_NAME_LIST], const char *name)
{
    const size_t used = strlen(list);
    char quoted[RP_QUOTED_TEXT];

    (void)rp_printable(quoted, sizeof quoted, name, strlen(name));
    if (used + strlen(quoted) + 8 < RP_NAME_LIST)
        (void)snprintf(list + used, RP_NAME_LIST - used, "%s%s", used ? ", " : "", quoted);
    else if (used > 3 && strcmp(list + used - 3, "...") != 0)
        (void)snprintf(list + used, RP_NAME_LIST - used, ", ...");
}

/* Whatever stands in theirs and has no counterpart in ours is told: nobody shall think that it was looked at. */
static void list_others(const comparison *c)
{
    for (size_t i = 0; i < c->theirs->cols; i++) {
        const char *name = cell(c->theirs, 0, i);
        bool compared = strcmp(name, "row") == 0 || is_id(c, name);

        for (size_t k = 0; k < c->pairs && !compared; k++)
            compared = c->pair[k].theirs == i;
        if (!compared) {
            c->out->passed_over++;
            list_name(c->out->passed_over_names, name);
        }
    }
}

/* Ours are: row, ids, predicted, probabilities of a classification; then warnings, points and reasons, as asked for. */
static rp_status choose_columns(comparison *c, rp_error *err)
{
    size_t first = 0, scores;
    char quoted[RP_QUOTED_TEXT];

    (void)find(c->ours, "predicted", &first);
    for (scores = first + 1; scores < c->ours->cols && strncmp(cell(c->ours, 0, scores), "p_", 2) == 0; scores++)
        ;
    for (size_t i = first; i < c->ours->cols; i++) {
        const char *name = cell(c->ours, 0, i);
        const bool text = i == first
                              ? scores > first + 1
                              : i >= scores && (strcmp(name, "warnings") == 0 || strncmp(name, "reason_", 7) == 0);
        size_t theirs;

        if (!find(c->theirs, name, &theirs)) {
            c->out->lacking++;
            list_name(c->out->lacking_names, name);
            continue;
        }
        if (find_after(c->theirs, name, theirs + 1))
            return rp_fail(err, RP_EDATA, "%s:1: two columns %s: which one is to be compared?", c->theirs->where,
                           rp_printable(quoted, sizeof quoted, name, strlen(name)));
        c->pair[c->pairs++] = (pair){i, theirs, !text};
    }
    list_others(c);
    if (c->pairs)
        return RP_OK;
    return rp_fail(err, RP_EDATA,
                   "%s:1: no column to compare; expected names as predictions have them: predicted, or p_ and a class",
                   c->theirs->where);
}

static void quote(char out[RP_QUOTED_TEXT], const char *text)
{
    (void)rp_printable(out, RP_QUOTED_TEXT, text, strlen(text));
}

/* Whether a number is written as a binary32's shortest decimal: then no more of it than that is known. */
static bool is_narrow(const char *text, float value)
{
    char shortest[RP_DECIMAL_SIZE];

    (void)rp_print_f32(shortest, value);
    return strcmp(shortest, text) == 0;
}

static bool same_number(comparison *c, size_t k, size_t row, const char *own, const char *other)
{
    double ours, value, distance;
    float narrow, rounded;
    bool short_text;

    if (!rp_parse_f64(&ours, own, strlen(own)) || !rp_parse_f32(&narrow, own, strlen(own)) ||
        !rp_parse_f64(&value, other, strlen(other)) || !rp_parse_f32(&rounded, other, strlen(other)))
        return strcmp(own, other) == 0;
    short_text = is_narrow(own, narrow);
    ours = short_text ? (double)narrow : ours;
    distance = value < ours ? ours - value : value - ours;
    if (rounded == narrow && (short_text || c->tolerance == 0))
        distance = 0;
    if (distance > c->largest && distance > 0) {
        c->largest = distance;
        c->out->largest_row = row;
        quote(c->out->largest_column, cell(c->ours, 0, c->pair[k].ours));
    }
    return c->tolerance > 0 ? distance <= c->tolerance : rounded == narrow;
}

static void differ(comparison *c, size_t row, size_t k, const char *own, const char *other, size_t partner)
{
    rp_prediction_diff *d = c->out;

    if (!d->first_is_a_cell) {
        d->first_is_a_cell = d->any = true;
        d->row = row;
        d->line = line_of(c->theirs, partner); /* counted in the file: once */
        quote(d->column, cell(c->ours, 0, c->pair[k].ours));
        quote(d->expected, own);
        quote(d->found, other);
    }
    d->differing++;
}

static void compare_row(comparison *c, size_t row, size_t partner)
{
    const uint64_t before = c->out->differing;

    for (size_t k = 0; k < c->pairs; k++) {
        const char *own = cell(c->ours, row + 1, c->pair[k].ours);
        const char *other = cell(c->theirs, partner + 1, c->pair[k].theirs);

        c->out->cells++;
        if (!(c->pair[k].number ? same_number(c, k, row, own, other) : strcmp(own, other) == 0))
            differ(c, row, k, own, other, partner);
    }
    c->out->rows_differing += c->out->differing > before;
}

static rp_status compare(comparison *c, rp_error *err)
{
    size_t *partner = rp_reallocarray(NULL, c->ours->rows + 1, sizeof *partner);
    rp_status status;
    char largest[RP_DECIMAL_SIZE];

    c->pair = rp_reallocarray(NULL, c->ours->cols, sizeof *c->pair);
    status = partner && c->pair ? choose_columns(c, err) : rp_no_memory(err);
    if (status == RP_OK)
        status = c->n_id ? match_by_id(partner, c->ours, c->theirs, c->id, c->n_id, err)
                         : match_by_order(partner, c->ours, c->theirs, err);
    for (size_t i = 0; i < c->ours->rows && status == RP_OK; i++)
        if (partner[i] != SIZE_MAX) {
            compare_row(c, i, partner[i]);
            c->out->rows_found++;
        }
    rp_free(partner);
    rp_free(c->pair);
    if (status != RP_OK)
        return status;
    c->out->rows = c->ours->rows;
    c->out->columns = c->pairs;
    if (c->n_id == 0)
        c->out->rows_found = c->theirs->rows;
    else
        c->out->rows_passed_over = c->theirs->rows - c->out->rows_found;
    c->out->any = c->out->any || c->out->rows != c->out->rows_found;
    if (c->largest >= 0) {
        (void)rp_print_f64(largest, c->largest);
        quote(c->out->largest, largest);
    }
    return RP_OK;
}

rp_status rp_predictions_compare(const char *ours, size_t length, const void *theirs, size_t size, const char *where,
                                 const rp_compare_options *options, rp_prediction_diff *out, rp_error *err)
{
    static const rp_compare_options none = {.n_id = 0};
    const rp_compare_options *o = options ? options : &none;
    const char *tolerance = o->tolerance;
    sheet own = {.where = NULL}, other = {.where = NULL};
    comparison c = {.ours = &own, .theirs = &other, .id = o->id, .n_id = o->n_id, .largest = -1, .out = out};
    rp_fpenv saved;
    rp_status status = rp_fpenv_enter(&saved, NULL, err);

    *out = (rp_prediction_diff){.rows = 0};
    if (status != RP_OK)
        return status;
    if (tolerance && (!rp_parse_f64(&c.tolerance, tolerance, strlen(tolerance)) ||
                      !(c.tolerance >= 0 && c.tolerance - c.tolerance == 0)))
        status =
            rp_fail(err, RP_EARG, "predict: the tolerance: expected a decimal of at least 0, found %.40s", tolerance);
    if (status == RP_OK && o->n_id > RP_ID_COLUMNS_MAX)
        status =
            rp_fail(err, RP_EARG, "predict: expected at most %d id columns, found %zu", RP_ID_COLUMNS_MAX, o->n_id);
    for (size_t i = 0; status == RP_OK && i < o->n_id; i++)
        if (!o->id || !o->id[i])
            status = rp_fail(err, RP_EARG, "predict: id column %zu has no name: NULL", i);
    if (status == RP_OK)
        status = open_sheet(&own, ours, length, "predictions", err);
    if (status == RP_OK)
        status = open_sheet(&other, theirs, size, where ? where : "table", err);
    if (status == RP_OK)
        status = compare(&c, err);
    close_sheet(&own);
    close_sheet(&other);
    rp_fpenv_leave(&saved);
    return status;
}
