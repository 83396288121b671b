/* SPDX-License-Identifier: Apache-2.0
 * One column as figures: its cells read once, its numbers sorted, equal cells grouped. Time grows as n log n whatever
 * the cells are: hashes only make it faster, and what they give away does not depend on them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "core/data/profile/private.h"
#include "determinism/bits.h"

const double rp_quantile_at[RP_QUANTILES] = {0, 0.05, 0.25, 0.5, 0.75, 0.95, 1};

rp_status rp_view_new(rp_column_view *view, size_t rows, rp_error *err)
{
    *view = (rp_column_view){
        .value = rp_reallocarray(NULL, rows, sizeof *view->value),
        .group = rp_reallocarray(NULL, rows, sizeof *view->group),
    };
    if (view->value && view->group)
        return RP_OK;
    rp_view_free(view);
    return rp_no_memory(err);
}

void rp_view_free(rp_column_view *view)
{
    rp_free(view->value);
    rp_free(view->group);
    rp_free(view->work);
    memset(view, 0, sizeof *view);
}

static void note(size_t *count, size_t *first, const rp_tally *cells)
{
    if (cells->count > 0 && (*count == 0 || cells->first < *first))
        *first = cells->first;
    *count += cells->count;
}

/* -0 is 0 */
static double plain(double x)
{
    return x == 0 ? 0 : x;
}

/* A column of numbers, as the table has it. */
static void read_numbers(rp_column_view *view, const rp_table *table)
{
    const rp_tally *sort = table->column[view->col].sort;

    note(&view->numbers, &view->first_number, &sort[RP_SORT_NUMBER]);
    note(&view->odd, &view->first_odd, &sort[RP_SORT_NOT_FINITE]);
    note(&view->odd, &view->first_odd, &sort[RP_SORT_TEXT]);
    rp_table_numbers(table, view->col, 0, table->rows, view->value);
    for (size_t row = 0; row < table->rows; row++)
        view->value[row] = plain(view->value[row]);
}

/* A column of texts, of which each is looked at once. */
static rp_status read_texts(rp_column_view *view, const rp_cells *cells)
{
    const rp_table *table = cells->table;
    const rp_dictionary *words = &table->column[view->col].words;
    double *number = rp_reallocarray(NULL, words->count, sizeof *number);

    if (!number)
        return rp_no_memory(cells->err);
    for (size_t i = 0; i < words->count; i++) {
        const rp_word *word = &words->word[i];
        const rp_tally tally = {word->count, word->first};
        rp_dress dress;
        int places;

        if (rp_cell_classify(&cells->recipe->data.reading, word->at, word->length, &number[i], &places, &dress) ==
            RP_CELL_NUMBER) {
            note(&view->numbers, &view->first_number, &tally);
        } else {
            number[i] = (double)NAN;
            note(&view->odd, &view->first_odd, &tally);
        }
    }
    rp_table_codes(table, view->col, 0, table->rows, view->group);
    for (size_t row = 0; row < table->rows; row++)
        view->value[row] = view->group[row] == (uint32_t)RP_NO_CODE ? (double)NAN : plain(number[view->group[row]]);
    view->distinct = words->count;
    rp_free(number);
    return RP_OK;
}

/* Bits in an order that is that of the numbers. */
static uint64_t key_of(double x)
{
    uint64_t bits = rp_bits_f64(x);

    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

/* Keys and the rows that they are of, twice: what is sorted, and room to sort it. */
typedef struct keyed {
    uint64_t *key[2]; /* [n] */
    uint32_t *row[2];
} keyed;

static bool keyed_new(keyed *k, size_t n)
{
    *k = (keyed){.key = {rp_reallocarray(NULL, n, 2 * sizeof **k->key)},
                 .row = {rp_reallocarray(NULL, n, 2 * sizeof **k->row)}};
    if (k->key[0] != NULL && k->row[0] != NULL) {
        k->key[1] = k->key[0] + n;
        k->row[1] = k->row[0] + n;
        return true;
    }
    rp_free(k->key[0]);
    rp_free(k->row[0]);
    return false;
}

/* Stable, by eleven bits at a time (eight where there are few keys); passes over bits that all have in common are left
 * out. Returns which of the two is sorted. */
static int sort_keys(keyed *k, size_t n)
{
    const int bits = n < 4096 ? 8 : 11;
    const uint64_t mask = ((uint64_t)1 << bits) - 1;
    int in = 0;

    for (int shift = 0; shift < 64; shift += bits) {
        size_t place[1 << 11], next = 0;
        const uint64_t *key = k->key[in];

        memset(place, 0, sizeof *place << bits);
        for (size_t i = 0; i < n; i++)
            place[key[i] >> shift & mask]++;
        if (place[key[0] >> shift & mask] == n)
            continue;
        for (size_t i = 0; i <= mask; i++) {
            const size_t count = place[i];

            place[i] = next;
            next += count;
        }
        for (size_t i = 0; i < n; i++) {
            const size_t to = place[key[i] >> shift & mask]++;

            k->key[!in][to] = key[i];
            k->row[!in][to] = k->row[in][i];
        }
        in = !in;
    }
    return in;
}

/* The sorted numbers stay where the keys were, and beside them room for whoever looks at the column. */
static rp_status group_numbers(rp_column_view *view, size_t rows, rp_error *err)
{
    size_t n = 0;
    const uint64_t *key;
    uint64_t before = 0;
    keyed k;
    int in;

    if (!keyed_new(&k, rows))
        return rp_no_memory(err);
    for (size_t row = 0; row < rows; row++)
        if (view->value[row] == view->value[row]) {
            k.key[0][n] = key_of(view->value[row]);
            k.row[0][n++] = (uint32_t)row;
        }
    in = sort_keys(&k, n);
    key = k.key[in];
    view->work = k.key[0];
    view->sorted = (double *)(void *)k.key[0];
    view->scratch = (size_t *)(void *)k.key[1];
    view->distinct = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t now = key[i];

        view->distinct += i == 0 || now != before;
        before = now;
        view->group[k.row[in][i]] = (uint32_t)(view->distinct - 1);
        view->sorted[i] = view->value[k.row[in][i]]; /* over the key, if it was there */
    }
    rp_free(k.row[0]);
    return RP_OK;
}

rp_status rp_view_read(rp_column_view *view, const rp_cells *cells, size_t col)
{
    const rp_table *table = cells->table;
    rp_status status = RP_OK;
    bool by_text;

    rp_free(view->work); /* of the column before */
    view->work = NULL;
    view->sorted = NULL;
    view->scratch = NULL;
    view->col = col;
    view->missing = view->numbers = view->odd = view->distinct = 0;
    note(&view->missing, &view->first_missing, &table->column[col].sort[RP_SORT_MISSING]);
    if (table->column[col].texts)
        status = read_texts(view, cells);
    else
        read_numbers(view, table);
    view->numeric = view->numbers > 0 && view->odd == 0;
    if (status == RP_OK && view->numbers > 0 && (view->numeric || !table->column[col].texts))
        status = group_numbers(view, table->rows, cells->err);
    if (status == RP_OK && view->work == NULL) {
        view->work = rp_reallocarray(NULL, table->rows, sizeof *view->scratch);
        view->scratch = view->work;
        status = view->work != NULL ? RP_OK : rp_no_memory(cells->err);
    }
    by_text = table->column[col].texts && !view->numeric;
    for (size_t row = 0; row < table->rows && status == RP_OK; row++)
        if (by_text ? view->group[row] == (uint32_t)RP_NO_CODE : view->value[row] != view->value[row])
            view->group[row] = (uint32_t)view->distinct;
    view->groups = view->distinct + (view->missing > 0);
    return status;
}

/* ---- equal rows ---- */

/* What a cell is to others of its column: a number's bits, or the number of its text. */
static uint64_t cell_key(const rp_table *table, size_t row, size_t col)
{
    uint32_t code;
    double x;

    if (table->column[col].texts) {
        rp_table_codes(table, col, row, 1, &code);
        return code;
    }
    rp_table_numbers(table, col, row, 1, &x);
    return rp_bits_f64(plain(x));
}

static int compare_rows(const rp_cells *cells, const bool *use, size_t a, size_t b)
{
    for (size_t col = 0; col < cells->table->cols; col++) {
        uint64_t x = use[col] ? cell_key(cells->table, a, col) : 0, y = use[col] ? cell_key(cells->table, b, col) : 0;

        if (x != y)
            return x < y ? -1 : 1;
    }
    return 0;
}

/* What qsort's comparison cannot be handed. */
static void sift(uint32_t *heap, size_t at, size_t n, const rp_cells *cells, const bool *use)
{
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        uint32_t swap;
        int order;

        if (child + 1 < n) {
            order = compare_rows(cells, use, heap[child], heap[child + 1]);
            child += order < 0 || (order == 0 && heap[child] < heap[child + 1]);
        }
        order = compare_rows(cells, use, heap[at], heap[child]);
        if (order > 0 || (order == 0 && heap[at] > heap[child]))
            return;
        swap = heap[at];
        heap[at] = heap[child];
        heap[child] = swap;
    }
}

/* Rows of one hash that are not all equal, by their cells, then their place. */
static void sort_rows(uint32_t *row, size_t n, const rp_cells *cells, const bool *use)
{
    for (size_t i = n / 2; i-- > 0;)
        sift(row, i, n, cells, use);
    for (size_t end = n; end-- > 1;) {
        uint32_t swap = row[0];

        row[0] = row[end];
        row[end] = swap;
        sift(row, 0, end, cells, use);
    }
}

static void name_first(uint32_t *first, uint32_t *row, size_t n, const rp_cells *cells, const bool *use)
{
    bool equal = true;

    for (size_t i = 1; i < n && equal; i++)
        equal = compare_rows(cells, use, row[0], row[i]) == 0;
    if (!equal)
        sort_rows(row, n, cells, use);
    for (size_t i = 0, head = 0; i < n; i++) {
        if (!equal && compare_rows(cells, use, row[head], row[i]) != 0)
            head = i;
        first[row[i]] = row[head];
    }
}

static uint64_t mix(uint64_t hash, uint64_t key)
{
    hash = (hash ^ key) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 29;
}

/* A column at a time over rows first .. first + n - 1. */
static void hash_rows(uint64_t *out, const rp_cells *cells, const bool *use, size_t first, size_t n)
{
    const rp_table *table = cells->table;
    double number[RP_BLOCK];
    uint32_t code[RP_BLOCK];

    for (size_t i = 0; i < n; i++)
        out[i] = UINT64_C(0xCBF29CE484222325);
    for (size_t col = 0; col < table->cols; col++) {
        if (!use[col])
            continue;
        if (table->column[col].texts)
            rp_table_codes(table, col, first, n, code);
        else
            rp_table_numbers(table, col, first, n, number);
        for (size_t i = 0; i < n; i++)
            out[i] = mix(out[i], table->column[col].texts ? code[i] : rp_bits_f64(plain(number[i])));
    }
}

rp_status rp_equal_rows(uint32_t *first, const rp_cells *cells, const bool *use)
{
    size_t rows = cells->table->rows;
    const uint64_t *key;
    keyed k;
    int in;

    if (!keyed_new(&k, rows))
        return rp_no_memory(cells->err);
    for (size_t row = 0; row < rows; row += RP_BLOCK)
        hash_rows(k.key[0] + row, cells, use, row, rows - row < RP_BLOCK ? rows - row : RP_BLOCK);
    for (size_t row = 0; row < rows; row++)
        k.row[0][row] = (uint32_t)row;
    in = sort_keys(&k, rows);
    key = k.key[in];
    for (size_t i = 0, end; i < rows; i = end) {
        for (end = i + 1; end < rows && key[end] == key[i]; end++)
            continue;
        name_first(first, k.row[in] + i, end - i, cells, use);
    }
    rp_free(k.key[0]);
    rp_free(k.row[0]);
    return RP_OK;
}
