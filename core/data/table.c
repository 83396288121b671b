/* SPDX-License-Identifier: Apache-2.0
 * CSV bytes to columns (CONTRACT 9.1): the rows are cut into chunks, threads read them, and what they found is put
 * together in the order of the file. So which word is which number, and which error is told, is the file's alone. */
#include "core/data/table.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/text.h"
#include "core/data/chunk.h"
#include "core/data/text/encoding.h"
#include "determinism/fpenv.h"

enum { CHUNK = 1 << 20, CHUNK_LEAST = 1 << 16, CHUNKS_AT_A_TIME = 16 };

static const size_t cells_max = (size_t)1 << 31;

/* ---- the header ---- */

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static rp_status check_names(const rp_table *table, rp_error *err)
{
    const char **sorted = rp_reallocarray(NULL, table->cols, sizeof *sorted);
    rp_status status = RP_OK;
    char quoted[80];

    if (sorted == NULL)
        return rp_no_memory(err);
    memcpy(sorted, table->names, table->cols * sizeof *sorted);
    qsort(sorted, table->cols, sizeof *sorted, compare_texts);
    for (size_t i = 1; i < table->cols && status == RP_OK; i++)
        if (strcmp(sorted[i - 1], sorted[i]) == 0)
            status = rp_fail(err, RP_EDATA,
                             "%s:1: the header names \"%s\" twice; rename one column, or is "
                             "\"header: false\" missing in the recipe?",
                             table->where, rp_printable(quoted, sizeof quoted, sorted[i], strlen(sorted[i])));
    rp_free(sorted);
    return status;
}

static rp_status take_names(rp_table *table, rp_error *err)
{
    char *text = rp_malloc(RP_CELL_MAX + 1);

    table->names = rp_calloc(table->cols, sizeof *table->names);
    for (size_t i = 0; i < table->cols && text != NULL && table->names != NULL; i++)
        table->names[i] = rp_strings_copy(&table->arena, text, rp_text_copy(text, &table->csv.cell[i]));
    rp_free(text);
    for (size_t i = 0; i < table->cols; i++)
        if (table->names == NULL || table->names[i] == NULL)
            return rp_no_memory(err);
    return check_names(table, err);
}

static rp_status read_first_row(rp_table *table, bool header, rp_error *err)
{
    bool any = rp_csv_more(&table->csv);
    size_t begin = table->csv.at, bad;
    rp_status status;

    if (!any)
        return rp_fail(err, RP_EDATA, "%s: the file is empty; expected rows of cells", table->where);
    status = rp_csv_row(&table->csv);
    bad = status == RP_OK ? rp_csv_bad_text(&table->csv, begin, table->csv.at) : 0;
    if (status == RP_OK && bad < table->csv.at)
        status = rp_csv_fail_text(&table->csv, bad);
    if (status != RP_OK)
        return status;
    table->cols = table->csv.cells;
    table->own_cols = table->cols;
    table->column = rp_calloc(table->cols, sizeof *table->column);
    if (table->column == NULL)
        return rp_no_memory(err);
    for (size_t col = 0; col < table->cols; col++)
        table->column[col].source = col;
    if (!header) {
        table->csv.at = begin;
        return RP_OK;
    }
    status = take_names(table, err);
    if (status == RP_OK && !rp_csv_more(&table->csv))
        return rp_fail(err, RP_EDATA, "%s: only a header line, expected rows below it", table->where);
    return status;
}

rp_status rp_table_open(rp_table **out, const void *bytes, size_t size, const rp_recipe *recipe, const char *where,
                        rp_error *err)
{
    rp_table *table = rp_calloc(1, sizeof *table);
    rp_status status;

    *out = NULL;
    if (table == NULL)
        return rp_no_memory(err);
    table->where = where;
    status = RP_OK;
    if (recipe->data.reading.encoding != RP_ENC_UTF8) {
        status = rp_text_decode(&table->decoded, bytes, size, recipe->data.reading.encoding, where, err);
        bytes = table->decoded.size > 0 ? (const void *)table->decoded.data : "";
        size = table->decoded.size;
    }
    if (status == RP_OK)
        status = rp_csv_open(&table->csv, bytes, size, recipe, where, err);
    if (status == RP_OK)
        status = read_first_row(table, recipe->data.header, err);
    table->csv.err = NULL;
    if (status != RP_OK)
        rp_table_free(table);
    else
        *out = table;
    return status;
}

static const char *part_name(rp_table *table, const char *name, rp_date_part part)
{
    const size_t length = strlen(name) + strlen(rp_date_part_names[part]) + 2;
    char *text = rp_malloc(length);
    const char *kept = NULL;

    if (text != NULL) {
        (void)snprintf(text, length, "%s.%s", name, rp_date_part_names[part]);
        kept = rp_strings_copy(&table->arena, text, length - 1);
    }
    rp_free(text);
    return kept;
}

rp_status rp_table_derive(rp_table *table, size_t col, const rp_date_rule *rule, rp_error *err)
{
    const size_t cols = table->cols + rule->n_parts;
    rp_column *column = rp_reallocarray(table->column, cols, sizeof *column);
    const char **names = NULL;

    if (column == NULL)
        return rp_no_memory(err);
    table->column = column;
    column[col].date = rule;
    column[col].part = RP_DATE_PARTS;
    if (cols > RP_COLUMNS_MAX)
        return rp_fail(err, RP_EDATA, "%s: more than %d columns with the parts of dates", table->where, RP_COLUMNS_MAX);
    if (table->names != NULL && (names = rp_reallocarray(table->names, cols, sizeof *names)) == NULL)
        return rp_no_memory(err);
    table->names = names;
    for (size_t i = 0; i < rule->n_parts; i++) {
        column[table->cols + i] = (rp_column){.date = rule, .part = rule->part[i], .source = col};
        if (names != NULL && (names[table->cols + i] = part_name(table, names[col], rule->part[i])) == NULL)
            return rp_no_memory(err);
    }
    table->cols = cols;
    return names != NULL ? check_names(table, err) : RP_OK;
}

static void free_column(rp_column *column)
{
    rp_dictionary_free(&column->words);
    rp_free(column->code);
}

void rp_table_free(rp_table *table)
{
    if (table == NULL)
        return;
    for (size_t i = 0; i < table->chunks; i++)
        rp_chunk_free(&table->chunk[i], table->cols);
    for (size_t col = 0; table->column != NULL && col < table->cols; col++)
        free_column(&table->column[col]);
    rp_csv_close(&table->csv);
    rp_buffer_free(&table->decoded);
    rp_strings_free(&table->arena);
    rp_free(table->chunk);
    rp_free(table->column);
    rp_free(table->names);
    rp_free(table);
}

/* ---- putting together ---- */

static void merge_tally(rp_tally *to, const rp_tally *from, size_t first_row)
{
    if (to->count == 0)
        to->first = first_row + from->first;
    to->count += from->count;
}

/* Before the dressed numbers are counted together. */
static void merge_dress(rp_column *to, const rp_harvest *from, size_t first_row)
{
    const rp_tally *dressed = &from->sort[RP_SORT_DRESSED];

    if (dressed->count == 0)
        return;
    if (to->sort[RP_SORT_DRESSED].count == 0)
        to->dress = from->dress;
    else if (to->dress.prefix != from->dress.prefix || to->dress.suffix != from->dress.suffix)
        merge_tally(&to->sort[RP_SORT_OTHERWISE], dressed, first_row);
}

static bool merge_words(rp_column *to, rp_harvest *from, uint32_t *code, size_t first_row)
{
    for (size_t i = 0; i < from->words; i++) {
        from->word[i].first += (uint32_t)first_row;
        if (!rp_dictionary_add(&to->words, &from->word[i], true, &code[i]))
            return false;
    }
    return true;
}

static bool merge_column(rp_column *to, rp_harvest *from, uint32_t *code, size_t first_row)
{
    merge_dress(to, from, first_row);
    for (int i = 0; i < RP_SORTS; i++)
        if (from->sort[i].count > 0)
            merge_tally(&to->sort[i], &from->sort[i], first_row);
    to->texts |= from->texts;
    return merge_words(to, from, code, first_row);
}

static rp_status merge(rp_table *table, rp_table_chunk *chunk, rp_error *err)
{
    if (chunk->status != RP_OK) {
        if (chunk->error == NULL)
            return rp_no_memory(err);
        if (err != NULL)
            *err = *chunk->error;
        return chunk->status;
    }
    chunk->first_row = table->rows;
    table->rows += chunk->rows;
    table->dropped[0] += chunk->dropped[0];
    table->dropped[1] += chunk->dropped[1];
    if (table->rows > cells_max / table->cols)
        return rp_fail(err, RP_EDATA, "%s: more than 2^31 cells", table->where);
    for (size_t col = 0; col < table->cols; col++) {
        rp_harvest *harvest = &chunk->harvest[col];

        if (!merge_column(&table->column[col], harvest, chunk->stretch[col].code, chunk->first_row))
            return rp_no_memory(err);
        rp_free(harvest->word);
        harvest->word = NULL;
        rp_strings_free(&harvest->arena);
    }
    rp_free(chunk->harvest);
    chunk->harvest = NULL;
    return RP_OK;
}

/* ---- reading ---- */

typedef struct loading {
    rp_chunk_reader *reader[CHUNKS_AT_A_TIME];
    atomic_bool busy[CHUNKS_AT_A_TIME];
    size_t readers;
    rp_table_chunk *chunk;
} loading;

/* Of the readers one that no other range has: no more ranges are worked on at a time than there are readers. */
static size_t take_reader(loading *l)
{
    for (size_t k = 0;; k = k + 1 < l->readers ? k + 1 : 0)
        if (!atomic_exchange(&l->busy[k], true))
            return k;
}

static void read_chunks(void *arg, size_t begin, size_t end)
{
    loading *l = arg;
    const size_t k = take_reader(l);

    for (size_t i = begin; i < end; i++) {
        rp_chunk_read(l->reader[k], &l->chunk[i]);
        if (l->chunk[i].status != RP_OK)
            break; /* the chunks behind are not looked at */
    }
    atomic_store(&l->busy[k], false);
}

/* Nobody who makes a table shall know it. What it decides is not seen. */
static uint64_t draw_seed(void)
{
    struct timespec now = {0, 0};
    FILE *source = fopen("/dev/urandom", "rb");
    uint64_t seed = 0;

    if (source != NULL) {
        (void)setvbuf(source, NULL, _IONBF, 0);
        if (fread(&seed, sizeof seed, 1, source) == 1) {
            (void)fclose(source);
            return seed;
        }
        (void)fclose(source);
    }
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return ((uint64_t)now.tv_sec * 1000000007u + (uint64_t)now.tv_nsec) ^ (uint64_t)(uintptr_t)&now;
}

static rp_status cut(rp_table *table, size_t target, rp_error *err)
{
    size_t most = (table->csv.end - table->csv.at) / target + 2,
           *border = rp_reallocarray(NULL, most + 1, sizeof *border);
    size_t line = 1 + rp_csv_count(table->csv.in, table->csv.at, '\n');

    if (border == NULL)
        return rp_no_memory(err);
    table->chunks = rp_csv_cut(&table->csv, target, border, most);
    table->chunk = rp_calloc(table->chunks, sizeof *table->chunk);
    for (size_t i = 0; i < table->chunks && table->chunk != NULL; i++)
        table->chunk[i] = (rp_table_chunk){.begin = border[i], .end = border[i + 1]};
    rp_free(border);
    if (table->chunk == NULL) {
        table->chunks = 0;
        return rp_no_memory(err);
    }
    table->chunk[0].first_line = line;
    return RP_OK;
}

static void leave(const rp_table *table, const rp_table_options *options, size_t done)
{
    if (options->leave != NULL)
        options->leave(options->self, done, table->csv.end);
}

static rp_status read_all(rp_table *table, loading *l, const rp_table_options *options, rp_error *err)
{
    rp_status status = RP_OK;

    for (size_t i = 0; i < table->chunks && status == RP_OK; i += CHUNKS_AT_A_TIME) {
        size_t n = table->chunks - i < CHUNKS_AT_A_TIME ? table->chunks - i : CHUNKS_AT_A_TIME;

        l->chunk = table->chunk + i;
        rp_pool_run(options->pool, n, 1, read_chunks, l);
        leave(table, options, table->chunk[i + n - 1].end);
        for (size_t k = i; k < i + n && status == RP_OK; k++) {
            if (k > 0) {
                table->chunk[k].first_line = table->chunk[k - 1].first_line + table->chunk[k - 1].lines;
                table->chunk[k].first_number = table->chunk[k - 1].first_number + table->chunk[k - 1].numbers;
            }
            status = merge(table, &table->chunk[k], err);
        }
    }
    return status;
}

/* ---- columns of numbers and texts ---- */

static bool is_mixed(const rp_column *column)
{
    const rp_tally *sort = column->sort;

    return column->store == RP_STORE_AUTO && sort[RP_SORT_NUMBER].count > 0 &&
           sort[RP_SORT_TEXT].count + sort[RP_SORT_NOT_FINITE].count > 0;
}

static bool take_code(rp_column *column, const rp_recipe *recipe, const char *text, size_t length, size_t row)
{
    rp_word word = {.at = text, .length = (uint32_t)length, .first = (uint32_t)row, .count = 1};

    column->code[row] = (uint32_t)RP_NO_CODE;
    if (rp_text_missing(recipe, text))
        return true;
    word.hash = rp_dictionary_hash(&column->words, text, length);
    return rp_dictionary_add(&column->words, &word, true, &column->code[row]);
}

/* Some chunks took the column's cells as numbers: it is read again as texts. */
static rp_status read_mixed(rp_table *table, const rp_recipe *recipe, size_t col, rp_error *err)
{
    rp_column *column = &table->column[col];
    const uint64_t seed = column->words.seed;
    char *text = rp_malloc(RP_CELL_MAX + 1);
    rp_csv csv;
    rp_status status = rp_table_rows(&csv, table, err);

    rp_dictionary_free(&column->words);
    column->words.seed = seed;
    column->texts = true;
    column->code = rp_reallocarray(NULL, table->rows, sizeof *column->code);
    if (status == RP_OK && (text == NULL || column->code == NULL))
        status = rp_no_memory(err);
    for (size_t row = 0, at = 0; row < table->rows && status == RP_OK; at++) {
        (void)rp_csv_more(&csv);
        status = rp_csv_row(&csv);
        if (at < rp_table_number(table, row))
            continue;
        if (status == RP_OK && !take_code(column, recipe, text, rp_text_copy(text, &csv.cell[col]), row))
            status = rp_no_memory(err);
        row++;
    }
    rp_csv_close(&csv);
    rp_free(text);
    return status;
}

rp_status rp_table_load(rp_table *table, const rp_store *store, const rp_recipe *recipe,
                        const rp_table_options *options, rp_error *err)
{
    const size_t size = table->csv.end - table->csv.at, threads = options->pool ? rp_pool_threads(options->pool) : 1;
    size_t target = options->chunk != 0 ? options->chunk : size / (4 * threads);
    const uint64_t seed = draw_seed();
    loading l = {.readers = threads < CHUNKS_AT_A_TIME ? threads : CHUNKS_AT_A_TIME};
    rp_fpenv saved;
    rp_status status = rp_fpenv_enter(&saved, NULL, err);

    if (status != RP_OK)
        return status;
    if (options->chunk == 0)
        target = target < CHUNK_LEAST ? CHUNK_LEAST : target > CHUNK ? CHUNK : target;
    for (size_t col = 0; col < table->cols; col++) {
        const bool date = table->column[col].date != NULL && store[col] == RP_STORE_AUTO;

        table->column[col].store = date ? RP_STORE_NUMBERS : store[col];
        table->column[col].texts = store[col] == RP_STORE_TEXTS;
        table->column[col].words.seed = seed;
    }
    status = cut(table, target, err);
    for (size_t i = 0; i < l.readers && status == RP_OK; i++)
        status = rp_chunk_reader_new(&l.reader[i], table, recipe, options->filter, seed, err);
    if (status == RP_OK)
        status = read_all(table, &l, options, err);
    for (size_t i = 0; i < l.readers; i++)
        rp_chunk_reader_free(l.reader[i]);
    for (size_t col = 0; col < table->cols && status == RP_OK; col++)
        if (is_mixed(&table->column[col]))
            status = read_mixed(table, recipe, col, err);
    if (status == RP_OK && (table->csv.comment != 0 || recipe->data.reading.skip_lines > 0))
        status = rp_csv_hidden(&table->hidden, &table->csv, recipe->data.reading.skip_lines, table->own_cols, err);
    leave(table, options, table->csv.end);
    if (status == RP_OK && table->rows == 0)
        status = rp_fail(err, RP_EDATA,
                         "%s: expected rows, found none that is kept: data.where leaves out %zu, data.missing_target: "
                         "drop %zu",
                         table->where, table->dropped[0], table->dropped[1]);
    rp_fpenv_leave(&saved);
    return status;
}

rp_status rp_table_read(rp_table **out, const void *bytes, size_t size, const rp_recipe *recipe, const rp_store *store,
                        const char *where, rp_error *err)
{
    rp_status status = rp_table_open(out, bytes, size, recipe, where, err);
    rp_store *all = NULL;

    if (status != RP_OK)
        return status;
    if (store == NULL)
        all = rp_calloc((*out)->cols, sizeof *all);
    for (size_t col = 0; all != NULL && col < (*out)->cols; col++)
        all[col] = RP_STORE_AUTO;
    if (store == NULL && all == NULL)
        status = rp_no_memory(err);
    else
        status = rp_table_load(*out, store != NULL ? store : all, recipe, &(rp_table_options){.pool = NULL}, err);
    rp_free(all);
    if (status == RP_OK)
        return RP_OK;
    rp_table_free(*out);
    *out = NULL;
    return status;
}

/* ---- columns ---- */

static size_t find_chunk(const rp_table *table, size_t row)
{
    size_t low = 0, high = table->chunks;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (table->chunk[middle].first_row <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

size_t rp_table_number(const rp_table *table, size_t row)
{
    const rp_table_chunk *chunk = &table->chunk[find_chunk(table, row)];
    size_t at = row - chunk->first_row;

    return chunk->first_number + (chunk->number != NULL ? chunk->number[at] : at);
}

/* The next stretch of a column: n of its rows, from `from` on. */
typedef struct walk {
    const rp_table *table;
    size_t col, row, left, at; /* at: the chunk */
    const rp_stretch *stretch;
    size_t from, n;
} walk;

static bool next(walk *w)
{
    const rp_table_chunk *chunk = &w->table->chunk[w->at];

    w->row += w->n;
    w->left -= w->n;
    if (w->left == 0)
        return false;
    while (w->row >= chunk->first_row + chunk->rows) /* of some nothing is kept */
        chunk = &w->table->chunk[++w->at];
    w->stretch = &chunk->stretch[w->col];
    w->from = w->row - chunk->first_row;
    w->n = chunk->rows - w->from < w->left ? chunk->rows - w->from : w->left;
    return true;
}

static walk walk_rows(const rp_table *table, size_t col, size_t first, size_t n)
{
    return (walk){.table = table, .col = col, .row = first, .left = n, .at = find_chunk(table, first)};
}

void rp_table_numbers(const rp_table *table, size_t col, size_t first, size_t n, double *out)
{
    for (walk w = walk_rows(table, col, first, n); next(&w); out += w.n)
        rp_unpack_numbers(out, w.stretch, w.from, w.n);
}

void rp_table_codes(const rp_table *table, size_t col, size_t first, size_t n, uint32_t *out)
{
    if (table->column[col].code != NULL) {
        memcpy(out, table->column[col].code + first, n * sizeof *out);
        return;
    }
    for (walk w = walk_rows(table, col, first, n); next(&w); out += w.n)
        rp_unpack_codes(out, w.stretch, w.from, w.n);
}

void rp_table_floats(const rp_table *table, size_t col, size_t first, size_t n, float *out)
{
    for (walk w = walk_rows(table, col, first, n); next(&w); out += w.n)
        memcpy(out, w.stretch->floats + w.from, w.n * sizeof *out);
}

/* How many of row[0..n) are below end. */
static size_t rows_below(const int64_t *row, size_t n, size_t end)
{
    size_t count = 0;

    while (count < n && (size_t)row[count] < end)
        count++;
    return count;
}

void rp_table_numbers_of(const rp_table *table, size_t col, const int64_t *row, size_t n, double *out)
{
    double block[RP_BLOCK];

    for (size_t first = 0; n > 0; first += RP_BLOCK) {
        size_t rows = table->rows - first < RP_BLOCK ? table->rows - first : RP_BLOCK;
        size_t count = rows_below(row, n, first + rows);

        if (count > 0)
            rp_table_numbers(table, col, first, rows, block);
        for (size_t i = 0; i < count; i++)
            out[i] = block[(size_t)row[i] - first];
        row += count;
        out += count;
        n -= count;
    }
}

void rp_table_codes_of(const rp_table *table, size_t col, const int64_t *row, size_t n, uint32_t *out)
{
    uint32_t block[RP_BLOCK];

    for (size_t first = 0; n > 0; first += RP_BLOCK) {
        size_t rows = table->rows - first < RP_BLOCK ? table->rows - first : RP_BLOCK;
        size_t count = rows_below(row, n, first + rows);

        if (count > 0)
            rp_table_codes(table, col, first, rows, block);
        for (size_t i = 0; i < count; i++)
            out[i] = block[(size_t)row[i] - first];
        row += count;
        out += count;
        n -= count;
    }
}

void rp_table_release(rp_table *table, size_t row)
{
    for (size_t i = 0; i < table->chunks; i++) {
        rp_table_chunk *chunk = &table->chunk[i];

        if (chunk->first_row + chunk->rows > row)
            return;
        rp_free(chunk->stretch);
        chunk->stretch = NULL;
    }
}

/* ---- for messages ---- */

rp_status rp_table_rows(rp_csv *out, const rp_table *table, rp_error *err)
{
    return rp_csv_part(out, &table->csv, table->csv.at, table->csv.end, err);
}

/* Reads the row again: csv->cell has its cells, and where it begins is returned. */
static size_t read_again(const rp_table *table, size_t row, rp_csv *csv)
{
    const rp_table_chunk *chunk = &table->chunk[find_chunk(table, row)];
    size_t begin = chunk->begin;

    if (rp_csv_part(csv, &table->csv, chunk->begin, chunk->end, NULL) != RP_OK)
        return SIZE_MAX;
    for (size_t i = chunk->first_number, number = rp_table_number(table, row); i <= number; i++) {
        (void)rp_csv_more(csv);
        begin = csv->at;
        if (rp_csv_row(csv) != RP_OK)
            return SIZE_MAX;
    }
    return begin;
}

size_t rp_table_line(const rp_table *table, size_t row)
{
    const rp_table_chunk *chunk = &table->chunk[find_chunk(table, row)];
    rp_csv csv;
    size_t begin = read_again(table, row, &csv);
    size_t line =
        begin == SIZE_MAX ? 0 : chunk->first_line + rp_csv_count(csv.in + chunk->begin, begin - chunk->begin, '\n');

    rp_csv_close(&csv);
    return line;
}

char *rp_table_text(const rp_table *table, size_t row, size_t col, char *out, size_t size)
{
    char *text = rp_malloc(RP_CELL_MAX + 1);
    size_t length = 0;
    rp_csv csv;

    if (read_again(table, row, &csv) != SIZE_MAX && text != NULL)
        length = rp_text_copy(text, &csv.cell[table->column[col].source]);
    length = length < size ? length : size - 1;
    memcpy(out, text != NULL ? text : "", length);
    out[length] = '\0';
    rp_csv_close(&csv);
    rp_free(text);
    return out;
}
