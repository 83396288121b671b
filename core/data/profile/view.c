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

/* A weighted mean, since the difference of two finite numbers may not be finite. */
double rp_quantile(const double *sorted, size_t n, double at)
{
    double place = (double)(int64_t)(n - 1) * at, part;
    size_t low = (size_t)place;

    part = place - (double)(int64_t)low;
    if (low + 1 >= n || part == 0 || sorted[low] == sorted[low + 1])
        return sorted[low];
    return sorted[low] * (1 - part) + sorted[low + 1] * part;
}

rp_status rp_view_new(rp_column_view *view, size_t rows, rp_error *err)
{
    *view = (rp_column_view){
        .value = rp_reallocarray(NULL, rows, sizeof *view->value),
        .sorted = rp_reallocarray(NULL, rows, sizeof *view->sorted),
        .text = rp_reallocarray(NULL, rows, sizeof *view->text),
        .group = rp_reallocarray(NULL, rows, sizeof *view->group),
        .scratch = rp_reallocarray(NULL, rows, sizeof *view->scratch),
    };
    if (view->value && view->sorted && view->text && view->group && view->scratch)
        return RP_OK;
    rp_view_free(view);
    return rp_no_memory(err);
}

void rp_view_free(rp_column_view *view)
{
    rp_free(view->value);
    rp_free(view->sorted);
    rp_free(view->text);
    rp_free(view->group);
    rp_free(view->scratch);
    memset(view, 0, sizeof *view);
}

static void read_cells(rp_column_view *view, const rp_cells *cells)
{
    const rp_table *table = cells->table;

    view->missing = view->numbers = view->odd = 0;
    for (size_t row = 0; row < table->rows; row++) {
        const char *text = table->cell[row * table->cols + view->col];
        double number = 0;

        view->value[row] = NAN;
        view->text[row] = NULL;
        if (rp_cell_missing(cells->recipe, text)) {
            view->missing++;
            continue;
        }
        view->text[row] = text;
        if (rp_cell_classify(&cells->recipe->data.reading, text, &number, NULL) == RP_CELL_NUMBER) {
            view->value[row] = number == 0 ? 0 : number; /* -0 is 0 */
            if (view->numbers++ == 0)
                view->first_number = row;
        } else if (view->odd++ == 0) {
            view->first_odd = row;
        }
    }
    view->numeric = view->numbers > 0 && view->odd == 0;
}

/* Bits in an order that is that of the numbers. */
static uint64_t key_of(double x)
{
    uint64_t bits = rp_bits_f64(x);

    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

typedef struct keyed {
    uint64_t key;
    size_t row;
} keyed;

/* Stable, by eight bits at a time; passes over a byte that all have in common are left out. out is scratch. */
static keyed *sort_keys(keyed *in, keyed *out, size_t n)
{
    for (int shift = 0; shift < 64; shift += 8) {
        size_t count[257] = {0};
        keyed *swap = in;

        for (size_t i = 0; i < n; i++)
            count[(in[i].key >> shift & 255) + 1]++;
        if (count[(in[0].key >> shift & 255) + 1] == n)
            continue;
        for (int i = 0; i < 256; i++)
            count[i + 1] += count[i];
        for (size_t i = 0; i < n; i++)
            out[count[in[i].key >> shift & 255]++] = in[i];
        in = out;
        out = swap;
    }
    return in;
}

static rp_status group_numbers(rp_column_view *view, size_t rows, rp_error *err)
{
    keyed *pair = rp_reallocarray(NULL, view->numbers, 2 * sizeof *pair), *sorted;
    size_t n = 0;

    if (!pair)
        return rp_no_memory(err);
    view->distinct = 0;
    for (size_t row = 0; row < rows; row++)
        if (view->text[row])
            pair[n++] = (keyed){key_of(view->value[row]), row};
    sorted = sort_keys(pair, pair + n, n);
    for (size_t i = 0; i < n; i++) {
        view->sorted[i] = view->value[sorted[i].row];
        view->distinct += i == 0 || sorted[i].key != sorted[i - 1].key;
        view->group[sorted[i].row] = (uint32_t)(view->distinct - 1);
    }
    rp_free(pair);
    return RP_OK;
}

static uint64_t mix(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001B3u;
    return hash ^ hash >> 29;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(**(const char *const *const *)a, **(const char *const *const *)b);
}

/* Where hashes are no help: whoever made the table chose the cells. */
static rp_status group_by_sorting(rp_column_view *view, size_t rows, rp_error *err)
{
    const char *const **at = rp_reallocarray(NULL, rows, sizeof *at);
    size_t n = 0;

    if (!at)
        return rp_no_memory(err);
    for (size_t row = 0; row < rows; row++)
        if (view->text[row])
            at[n++] = &view->text[row];
    qsort(at, n, sizeof *at, compare_texts);
    view->distinct = 0;
    for (size_t i = 0; i < n; i++) {
        view->distinct += i == 0 || strcmp(*at[i], *at[i - 1]) != 0;
        view->group[at[i] - view->text] = (uint32_t)(view->distinct - 1);
    }
    rp_free(at);
    return RP_OK;
}

/* An open table of first rows; false where it would take longer than sorting. */
static bool group_by_hashing(rp_column_view *view, size_t rows, size_t *slot, size_t slots)
{
    size_t patience = 16 * rows + 1024;

    memset(slot, 0xFF, slots * sizeof *slot);
    view->distinct = 0;
    for (size_t row = 0; row < rows; row++) {
        size_t at;

        if (!view->text[row])
            continue;
        at = (size_t)mix(0xCBF29CE484222325u, view->text[row]) & (slots - 1);
        while (slot[at] != SIZE_MAX && strcmp(view->text[slot[at]], view->text[row]) != 0) {
            if (patience-- == 0)
                return false;
            at = (at + 1) & (slots - 1);
        }
        if (slot[at] == SIZE_MAX) {
            slot[at] = row;
            view->group[row] = (uint32_t)view->distinct++;
        } else {
            view->group[row] = view->group[slot[at]];
        }
    }
    return true;
}

static rp_status group_texts(rp_column_view *view, size_t rows, rp_error *err)
{
    size_t slots = 64, *slot;
    bool done;

    while (slots < 2 * rows)
        slots *= 2;
    slot = rp_reallocarray(NULL, slots, sizeof *slot);
    if (!slot)
        return rp_no_memory(err);
    done = group_by_hashing(view, rows, slot, slots);
    rp_free(slot);
    return done ? RP_OK : group_by_sorting(view, rows, err);
}

rp_status rp_view_read(rp_column_view *view, const rp_cells *cells, size_t col)
{
    size_t rows = cells->table->rows;
    rp_status status;

    view->col = col;
    read_cells(view, cells);
    status = view->numeric ? group_numbers(view, rows, cells->err) : group_texts(view, rows, cells->err);
    for (size_t row = 0; row < rows && view->missing > 0; row++)
        if (!view->text[row])
            view->group[row] = (uint32_t)view->distinct;
    view->groups = view->distinct + (view->missing > 0);
    return status;
}

/* ---- equal rows ---- */

static const char *cell_text(const rp_cells *cells, size_t row, size_t col)
{
    const char *text = cells->table->cell[row * cells->table->cols + col];

    return rp_cell_missing(cells->recipe, text) ? NULL : text;
}

static int compare_rows(const rp_cells *cells, const bool *use, size_t a, size_t b)
{
    for (size_t col = 0; col < cells->table->cols; col++) {
        const char *x = use[col] ? cell_text(cells, a, col) : NULL, *y = use[col] ? cell_text(cells, b, col) : NULL;
        int order = x && y ? strcmp(x, y) : (x != NULL) - (y != NULL);

        if (order != 0)
            return order;
    }
    return 0;
}

/* What qsort's comparison cannot be handed. */
static void sift(keyed *heap, size_t at, size_t n, const rp_cells *cells, const bool *use)
{
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        keyed swap;
        int order;

        if (child + 1 < n) {
            order = compare_rows(cells, use, heap[child].row, heap[child + 1].row);
            child += order < 0 || (order == 0 && heap[child].row < heap[child + 1].row);
        }
        order = compare_rows(cells, use, heap[at].row, heap[child].row);
        if (order > 0 || (order == 0 && heap[at].row > heap[child].row))
            return;
        swap = heap[at];
        heap[at] = heap[child];
        heap[child] = swap;
    }
}

/* Rows of one hash that are not all equal, by their cells, then their place. */
static void sort_rows(keyed *row, size_t n, const rp_cells *cells, const bool *use)
{
    for (size_t i = n / 2; i-- > 0;)
        sift(row, i, n, cells, use);
    for (size_t end = n; end-- > 1;) {
        keyed swap = row[0];

        row[0] = row[end];
        row[end] = swap;
        sift(row, 0, end, cells, use);
    }
}

static void name_first(size_t *first, keyed *row, size_t n, const rp_cells *cells, const bool *use)
{
    bool equal = true;

    for (size_t i = 1; i < n && equal; i++)
        equal = compare_rows(cells, use, row[0].row, row[i].row) == 0;
    if (!equal)
        sort_rows(row, n, cells, use);
    for (size_t i = 0, head = 0; i < n; i++) {
        if (!equal && compare_rows(cells, use, row[head].row, row[i].row) != 0)
            head = i;
        first[row[i].row] = row[head].row;
    }
}

static uint64_t hash_row(const rp_cells *cells, const bool *use, size_t row)
{
    uint64_t hash = 0xCBF29CE484222325u;

    for (size_t col = 0; col < cells->table->cols; col++) {
        const char *text = use[col] ? cell_text(cells, row, col) : NULL;

        hash = text ? mix(hash + 1, text) : hash * 3;
    }
    return hash;
}

rp_status rp_equal_rows(size_t *first, const rp_cells *cells, const bool *use)
{
    size_t rows = cells->table->rows;
    keyed *pair = rp_reallocarray(NULL, rows, 2 * sizeof *pair), *sorted;

    if (!pair)
        return rp_no_memory(cells->err);
    for (size_t row = 0; row < rows; row++)
        pair[row] = (keyed){hash_row(cells, use, row), row};
    sorted = sort_keys(pair, pair + rows, rows);
    for (size_t i = 0, end; i < rows; i = end) {
        for (end = i + 1; end < rows && sorted[end].key == sorted[i].key; end++)
            continue;
        name_first(first, sorted + i, end - i, cells, use);
    }
    rp_free(pair);
    return RP_OK;
}
