/* SPDX-License-Identifier: Apache-2.0
 * Reading a chunk: each cell is looked at once, as a word for a missing value, a number or a text, and goes to its
 * column. When the rows are done the columns are packed into one piece of memory. */
#include "core/data/chunk.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

/* A column on the way. */
typedef struct sink {
    rp_store store;
    const rp_column *date; /* of dates: the column; else NULL */
    const char *dated;     /* of a table's own column of dates: the cell whose moment this is; good: it is a date */
    rp_moment moment;
    bool good;
    bool known; /* in this chunk it is known whether the column is texts or numbers */
    bool texts;
    int places;     /* the most of any number; -1: not known */
    double *value;  /* [capacity] */
    float *floats;  /* [capacity], RP_STORE_TARGET */
    uint32_t *code; /* [capacity] */
    rp_tally sort[RP_SORTS];
    rp_dress dress;
    rp_dictionary words;
} sink;

struct rp_chunk_reader {
    const rp_table *table;
    const rp_recipe *recipe;
    const rp_filter *filter;
    size_t missing_length[64];
    sink *sink; /* [cols] */
    size_t capacity;
    int32_t *scratch; /* [capacity] */
    rp_csv csv;
    char *unescaped; /* [RP_CELL_MAX + 1] */
    rp_error error;
    bool memory; /* ran out of it */
};

/* ---- memory ---- */

rp_status rp_chunk_reader_new(rp_chunk_reader **out, const rp_table *table, const rp_recipe *recipe,
                              const rp_filter *filter, uint64_t seed, rp_error *err)
{
    rp_chunk_reader *r = rp_calloc(1, sizeof *r);
    rp_status status;

    *out = NULL;
    if (r == NULL)
        return rp_no_memory(err);
    r->table = table;
    r->recipe = recipe;
    r->filter = filter;
    for (size_t i = 0; i < recipe->data.n_missing; i++)
        r->missing_length[i] = strlen(recipe->data.missing[i]);
    r->sink = rp_calloc(table->cols, sizeof *r->sink);
    r->unescaped = rp_malloc(RP_CELL_MAX + 1);
    status = rp_csv_part(&r->csv, &table->csv, 0, 0, &r->error);
    if (status != RP_OK || r->sink == NULL || r->unescaped == NULL) {
        rp_chunk_reader_free(r);
        return rp_no_memory(err);
    }
    for (size_t col = 0; col < table->cols; col++) {
        r->sink[col].store = table->column[col].store;
        r->sink[col].words.seed = seed;
        r->sink[col].date = table->column[col].date != NULL ? &table->column[col] : NULL;
    }
    *out = r;
    return RP_OK;
}

static void free_cells(rp_chunk_reader *r)
{
    for (size_t col = 0; col < r->table->cols; col++) {
        rp_free(r->sink[col].value);
        rp_free(r->sink[col].floats);
        rp_free(r->sink[col].code);
        r->sink[col].value = NULL;
        r->sink[col].floats = NULL;
        r->sink[col].code = NULL;
    }
    rp_free(r->scratch);
    r->scratch = NULL;
}

void rp_chunk_reader_free(rp_chunk_reader *r)
{
    if (r == NULL)
        return;
    if (r->sink != NULL) {
        free_cells(r);
        for (size_t col = 0; col < r->table->cols; col++)
            rp_dictionary_free(&r->sink[col].words);
    }
    rp_csv_close(&r->csv);
    rp_free(r->sink);
    rp_free(r->unescaped);
    rp_free(r);
}

/* Cells for so many rows in each column. */
static bool make_room(rp_chunk_reader *r, size_t rows)
{
    if (rows <= r->capacity)
        return true;
    free_cells(r);
    r->capacity = 0;
    r->scratch = rp_reallocarray(NULL, rows, sizeof *r->scratch);
    if (r->scratch == NULL)
        return false;
    for (size_t col = 0; col < r->table->cols; col++) {
        sink *s = &r->sink[col];
        bool numbers = s->store != RP_STORE_NONE && s->store != RP_STORE_TEXTS;
        bool texts = s->store == RP_STORE_AUTO || s->store == RP_STORE_TEXTS;

        if (numbers && (s->value = rp_reallocarray(NULL, rows, sizeof *s->value)) == NULL)
            return false;
        if (texts && (s->code = rp_reallocarray(NULL, rows, sizeof *s->code)) == NULL)
            return false;
        if (s->store == RP_STORE_TARGET && (s->floats = rp_reallocarray(NULL, rows, sizeof *s->floats)) == NULL)
            return false;
    }
    r->capacity = rows;
    return true;
}

/* ---- cells ---- */

static void count(sink *s, rp_cell_sort sort, size_t row)
{
    if (s->sort[sort].count++ == 0)
        s->sort[sort].first = row;
}

static bool is_missing(const rp_chunk_reader *r, const char *text, size_t length)
{
    if (!r->recipe->data.missing_first[length > 0 ? (unsigned char)text[0] : 0])
        return false;
    for (size_t i = 0; i < r->recipe->data.n_missing; i++)
        if (r->missing_length[i] == length && memcmp(text, r->recipe->data.missing[i], length) == 0)
            return true;
    return false;
}

/* Likewise, by the recipe whose conditions leave rows out, which need not be the one that the table is read by. */
static bool is_missing_to(const rp_recipe *recipe, const char *text, size_t length)
{
    if (!recipe->data.missing_first[length > 0 ? (unsigned char)text[0] : 0])
        return false;
    for (size_t i = 0; i < recipe->data.n_missing; i++)
        if (strlen(recipe->data.missing[i]) == length && memcmp(text, recipe->data.missing[i], length) == 0)
            return true;
    return false;
}

static void take_text(rp_chunk_reader *r, sink *s, size_t row, const char *text, size_t length, bool own)
{
    rp_word word = {.at = text,
                    .hash = rp_dictionary_hash(&s->words, text, length),
                    .length = (uint32_t)length,
                    .first = (uint32_t)row,
                    .count = 1};

    if (!rp_dictionary_add(&s->words, &word, own, &s->code[row]))
        r->memory = true;
}

/* Two digits or more, and the first is 0. */
static bool leads_with_zero(const char *text, size_t length)
{
    if (length < 2 || text[0] != '0' || text[1] < '0' || text[1] > '9')
        return false;
    for (size_t i = 2; i < length; i++)
        if (text[i] < '0' || text[i] > '9')
            return false;
    return true;
}

static void note_number(sink *s, size_t row, const char *text, size_t length, rp_dress dress, int places)
{
    if (leads_with_zero(text, length))
        count(s, RP_SORT_ZEROS, row);
    if (dress.prefix + dress.suffix == 0)
        count(s, RP_SORT_BARE, row);
    if (dress.prefix + dress.suffix > 0) {
        if (s->sort[RP_SORT_DRESSED].count == 0)
            s->dress = dress;
        count(s, RP_SORT_DRESSED, row);
        if (dress.prefix != s->dress.prefix || dress.suffix != s->dress.suffix)
            count(s, RP_SORT_OTHERWISE, row);
    }
    s->places = places < 0 || s->places < 0 ? -1 : places > s->places ? places : s->places;
}

/* The column's cells before were missing. */
static void settle(sink *s, size_t row, bool texts)
{
    s->known = true;
    s->texts = texts;
    for (size_t i = 0; i < row; i++)
        if (texts)
            s->code[i] = (uint32_t)RP_NO_CODE;
        else
            s->value[i] = (double)NAN;
}

/* The cell of a row that is not kept. */
static void pass_over(sink *s, size_t row)
{
    if (s->floats != NULL)
        s->floats[row] = 0;
    if (s->known && s->texts)
        s->code[row] = (uint32_t)RP_NO_CODE;
    else if (s->known)
        s->value[row] = (double)NAN;
}

static void take_missing(sink *s, size_t row, const char *text, size_t length)
{
    count(s, RP_SORT_MISSING, row);
    if (length == 4 && (memcmp(text, "None", 4) == 0 || memcmp(text, "NULL", 4) == 0 || memcmp(text, "null", 4) == 0))
        count(s, RP_SORT_WORD, row);
    pass_over(s, row);
}

static int64_t date_value(const rp_column *column, const rp_moment *moment)
{
    return column->part == RP_DATE_PARTS ? rp_date_seconds(moment)
                                         : rp_date_part_of(column->date, column->part, moment);
}

/* The moment in a cell, NULL where there is none: read once for the date and all its parts. at is where the cell stands
 * in the source, and so is of no other one. */
static const rp_moment *moment_of(rp_chunk_reader *r, const rp_column *column, const char *at, const char *text,
                                  size_t length)
{
    sink *own = &r->sink[column->source];

    if (own->dated != at) {
        own->good = rp_date_read(column->date->format, column->date->pivot, text, length, &own->moment);
        own->dated = at;
    }
    return own->good ? &own->moment : NULL;
}

/* A date, or a part of one: the number that it is, or the text of that number. */
static void take_date(rp_chunk_reader *r, sink *s, size_t row, const rp_moment *moment)
{
    const bool good = moment != NULL;
    const int64_t value = good ? date_value(s->date, moment) : 0;
    char digits[24];

    count(s, !good ? RP_SORT_NOT_FINITE : s->texts ? RP_SORT_TEXT : RP_SORT_NUMBER, row);
    if (!s->known)
        settle(s, row, false);
    if (!s->texts)
        s->value[row] = good ? (double)value : (double)NAN;
    else if (good)
        take_text(r, s, row, digits, (size_t)snprintf(digits, sizeof digits, "%" PRId64, value), true);
    else
        s->code[row] = (uint32_t)RP_NO_CODE;
}

static void take_number(rp_chunk_reader *r, sink *s, size_t row, const char *text, size_t length, bool own)
{
    const rp_reading *rules = &r->recipe->data.reading;
    rp_dress dress = {0, 0};
    double number;
    int places;
    rp_cell_class class = rp_cell_classify(rules, text, length, &number, &places, &dress);

    count(s, class == RP_CELL_NUMBER ? RP_SORT_NUMBER : class == RP_CELL_TEXT ? RP_SORT_TEXT : RP_SORT_NOT_FINITE, row);
    if (!s->known)
        settle(s, row, s->store == RP_STORE_AUTO && class != RP_CELL_NUMBER);
    if (s->texts) {
        take_text(r, s, row, text, length, own);
        return;
    }
    s->value[row] = class == RP_CELL_NUMBER ? number : (double)NAN;
    if (class == RP_CELL_NUMBER)
        note_number(s, row, text, length, dress, places);
    if (s->floats == NULL)
        return;
    s->floats[row] = 0;
    if (class != RP_CELL_NUMBER)
        return;
    (void)rp_number_f32(rules, text, length, &s->floats[row]);
    if (s->floats[row] - s->floats[row] != 0) { /* beyond binary32 alone */
        s->sort[RP_SORT_NUMBER].count--;
        count(s, RP_SORT_NOT_FINITE, row);
    }
}

static void take_cell(rp_chunk_reader *r, sink *s, size_t row, const rp_text *cell)
{
    const char *text = cell->at;
    size_t length = cell->length;

    if (cell->escaped) {
        length = rp_text_copy(r->unescaped, cell);
        text = r->unescaped;
    }
    if (is_missing(r, text, length)) {
        take_missing(s, row, text, length);
    } else if (s->date != NULL) {
        if (s->store != RP_STORE_NONE)
            take_date(r, s, row, moment_of(r, s->date, cell->at, text, length));
    } else if (s->store == RP_STORE_TEXTS) {
        count(s, RP_SORT_TEXT, row);
        take_text(r, s, row, text, length, cell->escaped);
    } else if (s->store != RP_STORE_NONE) {
        take_number(r, s, row, text, length, cell->escaped);
    }
}

/* ---- rows ---- */

static bool compare(rp_relation is, double number, double other)
{
    switch (is) {
    case RP_IS_EQUAL:
        return number == other;
    case RP_IS_OTHER:
        return number != other;
    case RP_IS_LESS:
        return number < other;
    case RP_IS_AT_MOST:
        return number <= other;
    case RP_IS_MORE:
        return number > other;
    default:
        return number >= other;
    }
}

/* Of dates, and of their parts; what they are compared with is of their sort (core/data/filter.c). */
static rp_status check_date(rp_chunk_reader *r, const rp_row_rule *c, const rp_column *column, size_t length,
                            bool *holds)
{
    rp_moment moment;
    char quoted[64];

    if (!rp_date_read(column->date->format, column->date->pivot, r->unescaped, length, &moment))
        return rp_fail(r->csv.err, RP_EDATA, "%s:%zu: key data.where: expected a date of format %s, found \"%s\"",
                       r->csv.where, rp_csv_line(&r->csv, r->csv.at - 1), column->date->format,
                       rp_printable(quoted, sizeof quoted, r->unescaped, length));
    *holds = compare(c->is, (double)date_value(column, &moment),
                     column->part == RP_DATE_PARTS ? (double)c->seconds : c->number);
    return RP_OK;
}

/* A missing cell meets no condition. Text that should be ordered is an error: nobody can say what was meant. */
static rp_status check_condition(rp_chunk_reader *r, const rp_row_rule *c, const rp_column *column, bool *holds)
{
    const rp_recipe *recipe = r->filter->recipe;
    size_t length = rp_text_copy(r->unescaped, &r->csv.cell[column->source]);
    rp_dress dress;
    double number;
    char quoted[64];
    int places;

    *holds = !is_missing_to(recipe, r->unescaped, length);
    if (!*holds || c->is == RP_IS_PRESENT)
        return RP_OK;
    if (column->date != NULL)
        return check_date(r, c, column, length, holds);
    if (c->numeric &&
        rp_cell_classify(&recipe->data.reading, r->unescaped, length, &number, &places, &dress) == RP_CELL_NUMBER) {
        *holds = compare(c->is, number, c->number);
        return RP_OK;
    }
    if (c->is != RP_IS_EQUAL && c->is != RP_IS_OTHER)
        return rp_fail(r->csv.err, RP_EDATA, "%s:%zu: key data.where: expected a number to compare, found \"%s\"%s",
                       r->csv.where, rp_csv_line(&r->csv, r->csv.at - 1),
                       rp_printable(quoted, sizeof quoted, r->unescaped, length),
                       c->dated ? "; dates are compared in a column with data.columns: {..: {kind: date}}" : "");
    *holds = (strcmp(r->unescaped, c->value) == 0) == (c->is == RP_IS_EQUAL);
    return RP_OK;
}

/* Whether it is a number of them other than 0, or no number, of which the target's error tells. */
static bool has_trials(rp_chunk_reader *r, const rp_text *cell)
{
    const rp_recipe *recipe = r->filter->recipe;
    const size_t length = rp_text_copy(r->unescaped, cell);
    rp_dress dress;
    double number = 1;
    int places;

    if (is_missing_to(recipe, r->unescaped, length))
        return false;
    return rp_cell_classify(&recipe->data.reading, r->unescaped, length, &number, &places, &dress) != RP_CELL_NUMBER ||
           number != 0;
}

/* Whether the row that was read is kept. */
static rp_status check_row(rp_chunk_reader *r, rp_table_chunk *chunk, bool *keep_it)
{
    const rp_filter *f = r->filter;
    rp_status status = RP_OK;

    *keep_it = true;
    for (size_t i = 0; i < f->n && *keep_it && status == RP_OK; i++)
        status = check_condition(r, &f->where[i], &f->table->column[f->col[i]], keep_it);
    chunk->dropped[0] += !*keep_it;
    if (status != RP_OK || !*keep_it || f->target == SIZE_MAX)
        return status;
    *keep_it = !is_missing_to(f->recipe, r->unescaped,
                              rp_text_copy(r->unescaped, &r->csv.cell[f->table->column[f->target].source])) &&
               (f->trials == SIZE_MAX || has_trials(r, &r->csv.cell[f->table->column[f->trials].source]));
    chunk->dropped[1] += !*keep_it;
    return RP_OK;
}

static rp_status read_row(rp_chunk_reader *r, size_t bad)
{
    rp_csv *csv = &r->csv;
    size_t begin = csv->at;
    rp_status status = rp_csv_row(csv);

    if (status != RP_OK)
        return status;
    if (bad < csv->at)
        return rp_csv_fail_text(csv, bad);
    if (csv->cells != r->table->own_cols)
        return rp_fail(csv->err, RP_EDATA,
                       "%s:%zu: expected %zu cells as in the first line, found %zu; check delimiters and quotes%s",
                       csv->where, rp_csv_line(csv, begin), r->table->own_cols, csv->cells,
                       csv->cells > r->table->own_cols ? ", or data.skip_lines where lines stand before the table"
                                                       : "");
    return RP_OK;
}

static void take_row(rp_chunk_reader *r, size_t row, bool look)
{
    const size_t own = r->table->own_cols;

    for (size_t col = 0; col < r->table->cols; col++)
        if (look)
            take_cell(r, &r->sink[col], row, &r->csv.cell[col < own ? col : r->table->column[col].source]);
        else
            pass_over(&r->sink[col], row);
}

static rp_status read_rows(rp_chunk_reader *r, rp_table_chunk *chunk)
{
    const size_t bad = rp_csv_bad_text(&r->csv, chunk->begin, chunk->end);

    while (rp_csv_more(&r->csv)) {
        rp_status status = read_row(r, bad);
        bool keep_it = true;

        if (status == RP_OK && r->filter != NULL)
            status = check_row(r, chunk, &keep_it);
        if (status != RP_OK)
            return status;
        if (keep_it || r->filter->blank) {
            if (chunk->number != NULL)
                chunk->number[chunk->rows] = (uint32_t)chunk->numbers;
            take_row(r, chunk->rows, keep_it);
            chunk->rows++;
        }
        chunk->numbers++;
    }
    return r->memory ? rp_no_memory(r->csv.err) : RP_OK;
}

/* ---- keeping ---- */

static rp_form choose(rp_chunk_reader *r, const sink *s, size_t rows)
{
    if (!s->known)
        return RP_FORM_EMPTY;
    if (s->texts)
        return rp_pack_codes_form(s->words.count);
    return rp_pack_choose(s->value, rows, s->places, r->scratch);
}

static size_t align(size_t bytes)
{
    return (bytes + 7) & ~(size_t)7;
}

static size_t stretch_bytes(const sink *s, rp_form form, size_t rows)
{
    return align(rp_form_bytes(form) * rows) + (s->floats != NULL ? align(sizeof(float) * rows) : 0) +
           align(sizeof(uint32_t) * s->words.count);
}

static unsigned char *keep_column(rp_chunk_reader *r, sink *s, rp_stretch *to, size_t rows, unsigned char *at)
{
    const rp_form form = (rp_form)to->form;

    to->cells = at;
    to->places = s->places > 0 && form < RP_FORM_F64 ? (unsigned char)s->places : 0;
    if (s->texts) {
        rp_pack_codes(at, form, s->code, rows);
    } else if (form != RP_FORM_EMPTY) {
        if (form != RP_FORM_F64) /* the scratch has another column's by now */
            (void)rp_pack_choose(s->value, rows, s->places, r->scratch);
        rp_pack_numbers(at, form, s->value, r->scratch, rows);
    }
    at += align(rp_form_bytes(form) * rows);
    if (s->floats != NULL) {
        memcpy(at, s->floats, sizeof(float) * rows);
        to->floats = (const float *)(const void *)at;
        at += align(sizeof(float) * rows);
    }
    to->code = (uint32_t *)(void *)at;
    return at + align(sizeof(uint32_t) * s->words.count);
}

static void hand_over(sink *s, rp_harvest *out)
{
    memcpy(out->sort, s->sort, sizeof out->sort);
    out->dress = s->dress;
    out->texts = s->texts;
    if (s->words.count == 0)
        return;
    out->word = s->words.word;
    out->words = s->words.count;
    out->arena = s->words.arena;
    rp_dictionary_reset(&s->words);
}

static rp_status keep(rp_chunk_reader *r, rp_table_chunk *chunk)
{
    const size_t cols = r->table->cols, rows = chunk->rows;
    size_t bytes = cols * sizeof *chunk->stretch;
    unsigned char *form = rp_malloc(cols), *at;
    bool made;

    if (form == NULL)
        return rp_no_memory(&r->error);
    for (size_t col = 0; col < cols; col++) {
        form[col] = (unsigned char)choose(r, &r->sink[col], rows);
        bytes += stretch_bytes(&r->sink[col], (rp_form)form[col], rows);
    }
    chunk->stretch = rp_calloc(1, bytes);
    chunk->harvest = rp_calloc(cols, sizeof *chunk->harvest);
    made = chunk->stretch != NULL && chunk->harvest != NULL;
    at = made ? (unsigned char *)chunk->stretch + cols * sizeof *chunk->stretch : NULL;
    for (size_t col = 0; col < cols && made; col++) {
        chunk->stretch[col].form = form[col];
        at = keep_column(r, &r->sink[col], &chunk->stretch[col], rows, at);
        hand_over(&r->sink[col], &chunk->harvest[col]);
    }
    rp_free(form);
    return made ? RP_OK : rp_no_memory(&r->error);
}

/* ---- a chunk ---- */

static void begin(rp_chunk_reader *r, const rp_table_chunk *chunk)
{
    r->csv.at = chunk->begin;
    r->csv.end = chunk->end;
    for (size_t col = 0; col < r->table->cols; col++) {
        sink *s = &r->sink[col];

        s->known = s->store == RP_STORE_TEXTS;
        s->texts = s->known;
        s->places = 0;
        s->dress = (rp_dress){0, 0};
        memset(s->sort, 0, sizeof s->sort);
    }
}

void rp_chunk_read(rp_chunk_reader *r, rp_table_chunk *chunk)
{
    chunk->lines = rp_csv_count(r->csv.in + chunk->begin, chunk->end - chunk->begin, '\n');
    begin(r, chunk);
    chunk->status = make_room(r, chunk->lines + 1) ? RP_OK : rp_no_memory(&r->error);
    if (r->filter != NULL && chunk->status == RP_OK) {
        chunk->number = rp_reallocarray(NULL, chunk->lines + 1, sizeof *chunk->number);
        chunk->status = chunk->number != NULL ? RP_OK : rp_no_memory(&r->error);
    }
    if (chunk->status == RP_OK)
        chunk->status = read_rows(r, chunk);
    if (chunk->status == RP_OK)
        chunk->status = keep(r, chunk);
    if (chunk->status == RP_OK)
        return;
    chunk->error = rp_malloc(sizeof *chunk->error);
    if (chunk->error != NULL)
        *chunk->error = r->error;
}

void rp_chunk_free(rp_table_chunk *chunk, size_t cols)
{
    for (size_t col = 0; chunk->harvest != NULL && col < cols; col++) {
        rp_free(chunk->harvest[col].word);
        rp_strings_free(&chunk->harvest[col].arena);
    }
    rp_free(chunk->harvest);
    rp_free(chunk->stretch);
    rp_free(chunk->number);
    rp_free(chunk->error);
    *chunk = (rp_table_chunk){.begin = chunk->begin};
}
