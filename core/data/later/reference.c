/* SPDX-License-Identifier: Apache-2.0
 * References of columns: made from the training rows, and read back from an archive. */
#include "core/data/later/reference.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "core/stats/drift.h"
#include "core/stats/ranking.h"
#include "core/recipe/decimal_json.h"

/* ---- making ---- */

static int append_real(rp_json *array, double value)
{
    return rp_json_array_append_new(array, rp_json_decimal(value));
}

rp_json *rp_counts_json(const uint64_t *count, size_t n)
{
    rp_json *list = rp_json_array();

    for (size_t i = 0; i < n && list; i++)
        if (rp_json_array_append_new(list, rp_json_integer((int64_t)count[i])) != 0) {
            rp_json_free(list);
            return NULL;
        }
    return list;
}

rp_json *rp_reference_numbers(double *x, size_t n)
{
    double edge[RP_REFERENCE_EDGES], least = 0, greatest = 0;
    uint64_t count[RP_REFERENCE_EDGES + 1] = {0};
    rp_json *out = rp_json_object(), *edges = rp_json_array();
    size_t n_edges;
    int failed = 0;

    for (size_t i = 0; i < n; i++)
        x[i] = x[i] + 0.0; /* one zero */
    rp_sort_f64(x, n);
    if (n) {
        least = x[0];
        greatest = x[n - 1];
    }
    n_edges = rp_reference_edges(edge, x, n);
    for (size_t i = 0; i < n; i++)
        count[rp_bin_of(edge, n_edges, x[i])]++;
    for (size_t i = 0; i < n_edges; i++)
        failed |= append_real(edges, edge[i]);
    failed |= rp_json_object_set_new(out, "edges", edges);
    failed |= rp_json_object_set_new(out, "counts", rp_counts_json(count, n_edges + 1));
    failed |= rp_json_object_set_new(out, "minimum", n ? rp_json_decimal(least) : rp_json_null());
    failed |= rp_json_object_set_new(out, "maximum", n ? rp_json_decimal(greatest) : rp_json_null());
    if (failed) {
        rp_json_free(out);
        return NULL;
    }
    return out;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

size_t rp_category_find(const rp_schema_column *column, const char *text)
{
    const char **found = column->categories ? bsearch(&text, column->category, column->categories,
                                                      sizeof *column->category, compare_texts)
                                            : NULL;

    return found ? (size_t)(found - column->category) : column->categories;
}

/* What a column is learnt into: numbers, or counts of categories. */
typedef struct learner {
    double *value;   /* [rows] */
    uint32_t *code;  /* [rows] */
    size_t *met;     /* [the most words of a column]: cells of each */
    uint64_t *count; /* [RP_CATEGORIES_MAX + 1] */
} learner;

/* The numbers that are not missing, to l->value. Returns how many. */
static size_t learn_numbers(const rp_cells *cells, size_t source, const int64_t *row, size_t rows, const learner *l)
{
    size_t n = 0;

    rp_table_numbers_of(cells->table, source, row, rows, l->value);
    for (size_t i = 0; i < rows; i++)
        if (l->value[i] == l->value[i])
            l->value[n++] = l->value[i];
    return n;
}

/* Counts the cells of each category, and of none that was learnt. Returns how many are not missing. */
static size_t learn_categories(const rp_cells *cells, const rp_schema_column *column, size_t source, const int64_t *row,
                               size_t rows, const learner *l)
{
    const rp_dictionary *words = &cells->table->column[source].words;
    size_t n = 0;

    memset(l->count, 0, (RP_CATEGORIES_MAX + 1) * sizeof *l->count);
    memset(l->met, 0, words->count * sizeof *l->met);
    rp_table_codes_of(cells->table, source, row, rows, l->code);
    for (size_t i = 0; i < rows; i++)
        if (l->code[i] != (uint32_t)RP_NO_CODE)
            l->met[l->code[i]]++;
    for (size_t i = 0; i < words->count; i++) {
        l->count[rp_category_find(column, words->word[i].at)] += l->met[i];
        n += l->met[i];
    }
    return n;
}

static rp_status learn(rp_json **out, const rp_cells *cells, const rp_schema_column *column, size_t source,
                       const int64_t *row, size_t rows, const learner *l)
{
    const bool numeric = column->kind == RP_COL_NUMERIC;
    const size_t n =
        numeric ? learn_numbers(cells, source, row, rows, l) : learn_categories(cells, column, source, row, rows, l);

    *out = numeric ? rp_reference_numbers(l->value, n) : rp_json_object();
    if (!*out ||
        (!numeric && rp_json_object_set_new(*out, "counts", rp_counts_json(l->count, column->categories + 1)) != 0) ||
        rp_json_object_set_new(*out, "missing", rp_json_integer((int64_t)(rows - n))) != 0)
        return rp_no_memory(cells->err);
    return RP_OK;
}

static size_t most_words(const rp_table *table)
{
    size_t most = 1;

    for (size_t col = 0; col < table->cols; col++)
        most = table->column[col].words.count > most ? table->column[col].words.count : most;
    return most;
}

/* Columns are learnt by threads, each into its place. */
typedef struct learning {
    const rp_cells *cells;
    const rp_schema *schema;
    const size_t *source;
    const int64_t *row;
    size_t rows;
    rp_json **out; /* [columns]: NULL where one is ignored, or memory ran out */
} learning;

static rp_json *learn_column(const learning *of, size_t i, const learner *l)
{
    rp_json *json = NULL;

    if (learn(&json, of->cells, &of->schema->columns[i], of->source[i], of->row, of->rows, l) == RP_OK &&
        rp_json_object_set_new(json, "column", rp_json_integer((int64_t)i)) == 0)
        return json;
    rp_json_free(json);
    return NULL;
}

static void learn_columns(void *arg, size_t begin, size_t end)
{
    const learning *of = arg;
    const learner l = {rp_reallocarray(NULL, of->rows + 1, sizeof *l.value),
                       rp_reallocarray(NULL, of->rows + 1, sizeof *l.code),
                       rp_reallocarray(NULL, most_words(of->cells->table), sizeof *l.met),
                       rp_reallocarray(NULL, RP_CATEGORIES_MAX + 1, sizeof *l.count)};

    for (size_t i = begin; i < end && l.value && l.code && l.met && l.count; i++)
        if (of->schema->columns[i].kind != RP_COL_IGNORE)
            of->out[i] = learn_column(of, i, &l);
    rp_free(l.value);
    rp_free(l.code);
    rp_free(l.met);
    rp_free(l.count);
}

rp_status rp_reference_columns(rp_json **out, const rp_cells *cells, const rp_schema *schema, const size_t *source,
                               const int64_t *row, size_t rows)
{
    learning of = {cells, schema, source, row, rows, rp_calloc(schema->n_columns, sizeof *of.out)};
    rp_json *list = rp_json_array();
    bool whole = list && of.out;

    if (whole)
        rp_pool_run(cells->pool, schema->n_columns, 1, learn_columns, &of);
    for (size_t i = 0; of.out && i < schema->n_columns; i++) {
        if (schema->columns[i].kind == RP_COL_IGNORE)
            continue;
        whole = whole && of.out[i] && rp_json_array_append(list, of.out[i]) == 0;
        rp_json_free(of.out[i]);
    }
    rp_free(of.out);
    *out = list;
    if (whole)
        return RP_OK;
    rp_json_free(list);
    *out = NULL;
    return rp_no_memory(cells->err);
}

/* ---- reading ---- */

static rp_status fail(const char *where, const char *what, rp_error *err)
{
    return rp_fail(err, RP_EFORMAT, "%s: expected %s", where, what);
}

static bool read_real(const rp_json *json, double *out)
{
    const char *text = rp_json_string_value(json);

    return text && rp_parse_f64(out, text, strlen(text)) && *out - *out == 0;
}

static rp_status read_counts(rp_reference_column *out, const rp_json *list, size_t wanted, size_t extra,
                             const char *where, rp_error *err)
{
    if (rp_json_array_size(list) != wanted)
        return fail(where, "as many counts as there are bins", err);
    out->bins = wanted + extra;
    out->count = rp_calloc(out->bins + 1, sizeof *out->count);
    if (!out->count)
        return rp_no_memory(err);
    for (size_t i = 0; i < wanted; i++) {
        const rp_json *count = rp_json_array_get(list, i);

        if (!rp_json_is_integer(count) || rp_json_integer_value(count) < 0 ||
            rp_json_integer_value(count) > (int64_t)1 << 31)
            return fail(where, "counts of 0 to 2^31", err);
        out->count[i] = (uint64_t)rp_json_integer_value(count);
    }
    return RP_OK;
}

static rp_status read_edges(rp_reference_column *out, const rp_json *json, const char *where, rp_error *err)
{
    const rp_json *list = rp_json_object_get(json, "edges");
    const size_t n = rp_json_array_size(list);

    if (!rp_json_is_array(list) || n > RP_REFERENCE_EDGES)
        return fail(where, "at most 27 edges", err);
    out->edge = rp_calloc(n + 1, sizeof *out->edge);
    if (!out->edge)
        return rp_no_memory(err);
    out->edges = n;
    for (size_t i = 0; i < n; i++)
        if (!read_real(rp_json_array_get(list, i), &out->edge[i]) || (i > 0 && out->edge[i] <= out->edge[i - 1]))
            return fail(where, "edges as finite decimals, ascending", err);
    if (rp_json_is_null(rp_json_object_get(json, "minimum"))) {
        out->minimum = 1; /* of no numbers: everything is outside */
        out->maximum = 0;
        return RP_OK;
    }
    if (!read_real(rp_json_object_get(json, "minimum"), &out->minimum) ||
        !read_real(rp_json_object_get(json, "maximum"), &out->maximum))
        return fail(where, "minimum and maximum as finite decimals, or null", err);
    return RP_OK;
}

rp_status rp_reference_read_numbers(rp_reference_column *out, const rp_json *json, const char *where, rp_error *err)
{
    rp_status status;

    *out = (rp_reference_column){.column = 0};
    status = read_edges(out, json, where, err);
    return status == RP_OK ? read_counts(out, rp_json_object_get(json, "counts"), out->edges + 1, 0, where, err)
                           : status;
}

rp_status rp_reference_read(rp_reference_column *out, const rp_json *json, const rp_schema *schema, const char *where,
                            rp_error *err)
{
    const rp_json *column = rp_json_object_get(json, "column"), *missing = rp_json_object_get(json, "missing");
    const int64_t i = rp_json_integer_value(column);
    rp_status status = RP_OK;

    *out = (rp_reference_column){.column = (size_t)i};
    if (!rp_json_is_integer(column) || i < 0 || (size_t)i >= schema->n_columns ||
        schema->columns[i].kind == RP_COL_IGNORE)
        return fail(where, "column: the number of a feature's column in the schema", err);
    if (!rp_json_is_integer(missing) || rp_json_integer_value(missing) < 0 ||
        rp_json_integer_value(missing) > (int64_t)1 << 31)
        return fail(where, "missing: a count of 0 to 2^31", err);
    if (schema->columns[i].kind == RP_COL_NUMERIC) {
        status = read_edges(out, json, where, err);
        if (status == RP_OK)
            status = read_counts(out, rp_json_object_get(json, "counts"), out->edges + 1, 1, where, err);
    } else {
        status = read_counts(out, rp_json_object_get(json, "counts"), schema->columns[i].categories + 1, 1, where, err);
    }
    if (status == RP_OK)
        out->count[out->bins - 1] = (uint64_t)rp_json_integer_value(missing);
    return status;
}

void rp_reference_clear(rp_reference_column *column)
{
    rp_free(column->count);
    rp_free(column->edge);
    *column = (rp_reference_column){.column = 0};
}
