/* SPDX-License-Identifier: Apache-2.0
 * Seen rows: a number of 64 bits a row, made of its features; the training rows' are sorted and searched. Rows that are
 * not equal have the same number in one of some 10^7 pairs of tables of 10^6 rows, and then one row more counts as
 * seen. */
#include "core/data/later/seen.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "core/data/later/reference.h"
#include "core/data/schema.h"
#include "determinism/bits.h"

/* The next column from `at` on that is a feature; as many as there are: none. */
static size_t next_feature(const rp_schema *schema, size_t at)
{
    while (at < schema->n_columns && schema->columns[at].kind == RP_COL_IGNORE)
        at++;
    return at;
}

static bool same_feature(const rp_schema_column *a, const rp_schema_column *b, bool same_place)
{
    return a->kind == b->kind &&
           (a->name && b->name ? strcmp(a->name, b->name) == 0 : a->name == b->name && same_place);
}

bool rp_same_features(const rp_schema *a, const rp_schema *b)
{
    size_t i = next_feature(a, 0), k = next_feature(b, 0);

    while (i < a->n_columns && k < b->n_columns && same_feature(&a->columns[i], &b->columns[k], i == k)) {
        i = next_feature(a, i + 1);
        k = next_feature(b, k + 1);
    }
    return i == a->n_columns && k == b->n_columns;
}

/* The finaliser of SplitMix64 (Steele, Lea and Flood 2014). */
static uint64_t mix(uint64_t z)
{
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static uint64_t of_text(const char *text)
{
    uint64_t h = 0xCBF29CE484222325u;

    for (; text && *text; text++)
        h = (h ^ (unsigned char)*text) * 0x100000001B3u;
    return text ? h : 1;
}

static uint64_t of_number(double x)
{
    return x == x ? rp_bits_f64(x + 0.0) : 1;
}

static rp_status number_rows(uint64_t *number, const rp_read_rows *of, rp_error *err)
{
    const rp_rows *rows = of->rows;
    const rp_schema *schema = of->schema;
    const size_t n = rp_rows_count(rows);
    double *value = rp_reallocarray(NULL, n + 1, sizeof *value);
    size_t *category = rp_reallocarray(NULL, n + 1, sizeof *category);
    const char **text = rp_reallocarray(NULL, n + 1, sizeof *text);
    rp_status status = value && category && text ? RP_OK : rp_no_memory(err);

    memset(number, 0, n * sizeof *number);
    for (size_t c = 0; c < schema->n_columns && status == RP_OK; c++) {
        const bool numeric = schema->columns[c].kind == RP_COL_NUMERIC;

        if (schema->columns[c].kind == RP_COL_IGNORE)
            continue;
        rp_rows_features(rows, c, value, category, text);
        for (size_t i = 0; i < n; i++)
            number[i] = mix((number[i] ^ (numeric ? of_number(value[i]) : of_text(text[i]))) + 0x9E3779B97F4A7C15u);
    }
    rp_free(value);
    rp_free(category);
    rp_free(text);
    return status;
}

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Numbers of rows come from one reading of a table, and the rows from another: a stranger's recipes may differ in what
 * a row is. */
static rp_status check_places(const int64_t *row, size_t n, const rp_rows *rows, rp_error *err)
{
    const size_t count = rp_rows_count(rows);

    if (!row && n > count)
        return rp_fail(err, RP_EDATA, "%zu rows of a table are looked for, it has %zu", n, count);
    for (size_t i = 0; i < n && row; i++)
        if (row[i] < 0 || (uint64_t)row[i] >= count)
            return rp_fail(err, RP_EDATA, "row %lld of a table is looked for, it has %zu rows: its readings differ",
                           (long long)row[i], count);
    return RP_OK;
}

/* all, found: a number for each row of own, and of those that are looked for. */
static rp_status mark_like(const rp_own_rows *list, const uint64_t *all, const uint64_t *found, const int64_t *row,
                           size_t n, rp_error *err)
{
    uint64_t *mine = rp_reallocarray(NULL, list->rows + 1, sizeof *mine);

    if (!mine)
        return rp_no_memory(err);
    for (size_t i = 0; i < list->rows; i++)
        mine[i] = all[list->row[i]];
    qsort(mine, list->rows, sizeof *mine, compare);
    for (size_t i = 0; i < n; i++)
        if (bsearch(&found[row ? (size_t)row[i] : i], mine, list->rows, sizeof *mine, compare))
            list->mark[i] = true;
    rp_free(mine);
    return RP_OK;
}

rp_status rp_rows_like(const rp_read_rows *of, const int64_t *row, size_t n, const rp_read_rows *own,
                       const rp_own_rows *list, size_t lists, rp_error *err)
{
    uint64_t *all = rp_reallocarray(NULL, rp_rows_count(own->rows) + 1, sizeof *all);
    uint64_t *found = rp_reallocarray(NULL, rp_rows_count(of->rows) + 1, sizeof *found);
    rp_status status = all && found ? check_places(row, n, of->rows, err) : rp_no_memory(err);

    for (size_t i = 0; i < lists && status == RP_OK; i++)
        status = check_places(list[i].row, list[i].rows, own->rows, err);
    if (status == RP_OK)
        status = number_rows(all, own, err);
    if (status == RP_OK)
        status = number_rows(found, of, err);
    for (size_t i = 0; i < lists && status == RP_OK; i++)
        status = mark_like(&list[i], all, found, row, n, err);
    rp_free(all);
    rp_free(found);
    return status;
}

rp_status rp_rows_seen(rp_tally *out, const rp_schema *schema, const rp_rows *rows, const rp_rows *own,
                       const int64_t *trained, size_t m, rp_error *err)
{
    const size_t n = rp_rows_count(rows);
    const rp_own_rows list = {trained, m, rp_calloc(n + 1, sizeof(bool))};
    const rp_read_rows all = {schema, rows}, known = {schema, own};
    rp_status status = list.mark ? rp_rows_like(&all, NULL, n, &known, &list, 1, err) : rp_no_memory(err);

    *out = (rp_tally){.count = 0};
    for (size_t i = 0; i < n && status == RP_OK; i++)
        if (list.mark[i] && out->count++ == 0)
            out->first = i;
    rp_free(list.mark);
    return status;
}

/* ---- out of fold ---- */

typedef struct folded {
    uint64_t number;
    int64_t fold; /* -1: in none of those asked about */
} folded;

static int compare_folded(const void *a, const void *b)
{
    const folded *x = a, *y = b;

    return x->number != y->number ? (x->number > y->number) - (x->number < y->number)
                                  : (x->fold > y->fold) - (x->fold < y->fold);
}

/* The first of the sorted that is not below it; m: all are. */
static size_t place_of(const folded *sorted, size_t m, folded what)
{
    size_t low = 0, high = m;

    while (low < high) {
        const size_t at = low + (high - low) / 2;

        if (compare_folded(&sorted[at], &what) < 0)
            low = at + 1;
        else
            high = at;
    }
    return low;
}

/* Among equal rows folds ascend: either end is of another fold, or all are of this one. */
static bool is_elsewhere(const folded *sorted, size_t m, folded what)
{
    const size_t first = place_of(sorted, m, (folded){what.number, INT64_MIN});
    const size_t after = place_of(sorted, m, (folded){what.number, INT64_MAX});

    return first < after && (sorted[first].fold != what.fold || sorted[after - 1].fold != what.fold);
}

rp_status rp_rows_seen_apart(rp_tally *out, const rp_schema *schema, const rp_rows *own, const rp_folded_rows *rows,
                             const int64_t *trained, size_t m, rp_error *err)
{
    uint64_t *all = rp_reallocarray(NULL, rp_rows_count(own) + 1, sizeof *all);
    folded *mine = rp_reallocarray(NULL, m + 1, sizeof *mine);
    rp_status status = all && mine ? check_places(trained, m, own, err) : rp_no_memory(err);
    size_t at = 0;

    *out = (rp_tally){.count = 0};
    if (status == RP_OK)
        status = check_places(rows->row, rows->n, own, err);
    if (status == RP_OK)
        status = number_rows(all, &(rp_read_rows){schema, own}, err);
    for (size_t i = 0; i < m && status == RP_OK; i++) {
        while (at < rows->n && rows->row[at] < trained[i])
            at++;
        mine[i] = (folded){all[trained[i]], at < rows->n && rows->row[at] == trained[i] ? rows->fold[at] : -1};
    }
    if (status == RP_OK)
        qsort(mine, m, sizeof *mine, compare_folded);
    for (size_t i = 0; i < rows->n && status == RP_OK; i++)
        if (rows->counted[i] && is_elsewhere(mine, m, (folded){all[rows->row[i]], rows->fold[i]}) && out->count++ == 0)
            out->first = (size_t)rows->row[i];
    rp_free(all);
    rp_free(mine);
    return status;
}
