/* SPDX-License-Identifier: Apache-2.0
 * Treatments as the schema has them: reading them back, and what they make of a cell (CONTRACT 9.6). */
#include "core/data/treat/treat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "core/stats/drift.h"
#include "determinism/decimal.h"
#include "determinism/math.h"
#include "determinism/sum.h"

static bool all_equal(const double *value, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (value[i] != value[0])
            return false;
    return true;
}

/* Population variance about the mean. Equal values keep their exact mean: n * x / n need not be x, and the rounding
 * error would otherwise be blown up to a deviation of its own. value is overwritten. */
void rp_moments(double *value, size_t n, double *mean, double *deviation)
{
    double count = (double)(int64_t)n;

    *mean = value[0];
    *deviation = 0;
    if (all_equal(value, n))
        return;
    *mean = rp_sum_f64(value, n, 1) / count;
    for (size_t i = 0; i < n; i++) {
        double d = value[i] - *mean;

        value[i] = d * d;
    }
    *deviation = sqrt(rp_sum_f64(value, n, 1) / count);
}

double rp_treat_number(const rp_schema_column *column, double value)
{
    if (column->capped)
        value = value < column->cap[0] ? column->cap[0] : value > column->cap[1] ? column->cap[1] : value;
    if (column->offset == RP_OFFSET_LOG)
        return rp_log_f64(value);
    if (column->log)
        value = value < 0 ? -rp_log1p_f64(-value) : rp_log1p_f64(value);
    return value;
}

size_t rp_group_of(const rp_schema_column *column, double number)
{
    if (number == number)
        return rp_bin_of(column->edge, column->edges, rp_treat_number(column, number));
    if (column->imputes)
        return rp_bin_of(column->edge, column->edges, column->missing);
    return column->missing_bin ? column->edges + 1 : SIZE_MAX;
}

/* In the format of the features: a product of two is rounded once. */
static bool multiply(rp_features x, size_t a, size_t b, size_t to)
{
    if (x.wide != NULL) {
        x.wide[to] = x.wide[a] * x.wide[b];
        return x.wide[to] - x.wide[to] == 0;
    }
    x.narrow[to] = x.narrow[a] * x.narrow[b];
    return x.narrow[to] - x.narrow[to] == 0;
}

bool rp_interact(const rp_schema *schema, rp_features x)
{
    size_t to = 0;
    bool finite = true;

    for (size_t i = 0; i < schema->n_columns; i++)
        to += schema->columns[i].target ? 0 : schema->columns[i].width;
    for (size_t k = 0; k < schema->n_pairs; k++) {
        const rp_schema_column *a = &schema->columns[schema->pair[k][0]], *b = &schema->columns[schema->pair[k][1]];

        for (size_t i = 0; i < a->width; i++)
            for (size_t j = 0; j < b->width; j++)
                finite = multiply(x, a->at + i, b->at + j, to++) && finite;
    }
    return finite;
}

/* ---- reading ---- */

static bool read_real(const rp_json *value, double *out)
{
    const char *text = rp_json_string_value(value);
    char again[RP_DECIMAL_SIZE];

    if (text == NULL || !rp_parse_f64(out, text, strlen(text)) || *out - *out != 0)
        return false;
    rp_print_f64(again, *out);
    return strcmp(text, again) == 0;
}

static rp_status read_reals(const rp_json *list, size_t most, double **out, size_t *count, const char **wrong,
                            const char *expected, rp_error *err)
{
    size_t n = rp_json_array_size(list);

    if (!rp_json_is_array(list) || n > most) {
        *wrong = expected;
        return RP_OK;
    }
    *out = rp_reallocarray(NULL, n, sizeof **out);
    if (*out == NULL)
        return rp_no_memory(err);
    *count = n;
    for (size_t i = 0; i < n; i++)
        if (!read_real(rp_json_array_get(list, i), &(*out)[i]))
            *wrong = expected;
    return RP_OK;
}

static rp_status read_bins(rp_schema_column *out, const rp_json *json, const char **wrong, rp_error *err)
{
    static const char expected[] = "expected edges as up to 99 ascending finite decimals";
    const rp_json *edges = rp_json_object_get(json, "edges"), *missing = rp_json_object_get(json, "missing_bin");
    rp_status status;

    if (edges == NULL)
        return RP_OK;
    out->binned = true;
    status = read_reals(edges, RP_BINS_MAX - 1, &out->edge, &out->edges, wrong, expected, err);
    for (size_t i = 1; status == RP_OK && *wrong == NULL && i < out->edges; i++)
        if (out->edge[i - 1] >= out->edge[i])
            *wrong = expected;
    if (!rp_json_is_boolean(missing) || (rp_json_is_true(missing) && out->imputes))
        *wrong = "expected missing_bin as true or false, and false where missing has a value";
    out->missing_bin = rp_json_is_true(missing);
    out->width = out->edges + 1 + out->missing_bin;
    return status;
}

static rp_status read_steps(rp_schema_column *out, const rp_json *json, const char **wrong)
{
    const rp_json *cap = rp_json_object_get(json, "cap"), *missing = rp_json_object_get(json, "missing");

    out->capped = cap != NULL;
    out->imputes = missing != NULL;
    if (cap != NULL && (rp_json_array_size(cap) != 2 || !read_real(rp_json_array_get(cap, 0), &out->cap[0]) ||
                        !read_real(rp_json_array_get(cap, 1), &out->cap[1]) || out->cap[0] > out->cap[1]))
        *wrong = "expected cap as two finite decimals, the first at most the second";
    if (missing != NULL && !read_real(missing, &out->missing))
        *wrong = "expected a finite decimal as missing";
    out->log = rp_json_is_true(rp_json_object_get(json, "log"));
    out->indicator = rp_json_is_true(rp_json_object_get(json, "indicator"));
    return RP_OK;
}

rp_status rp_treatment_read(rp_schema_column *out, const rp_json *json, const char **wrong, rp_error *err)
{
    const rp_json *woe = rp_json_object_get(json, "woe");
    size_t n = 0;
    rp_status status = RP_OK;

    *wrong = NULL;
    if (out->kind == RP_COL_NUMERIC) {
        status = read_steps(out, json, wrong);
        if (status == RP_OK)
            status = read_bins(out, json, wrong, err);
    } else {
        out->other = rp_json_is_true(rp_json_object_get(json, "other"));
        out->width += out->other;
    }
    if (status == RP_OK && woe != NULL && *wrong == NULL) {
        status = read_reals(woe, out->width, &out->woe, &n, wrong, "expected woe as a finite decimal a group", err);
        if (status == RP_OK && (n != out->width || (out->kind == RP_COL_NUMERIC && !out->binned)))
            *wrong = "expected woe as a finite decimal a group";
        out->width = 1;
    }
    out->width += out->indicator;
    return status;
}

rp_status rp_interactions_read(rp_schema *out, const rp_json *list, const char *where, rp_error *err)
{
    size_t n = rp_json_array_size(list);

    if (list == NULL)
        return RP_OK;
    if (!rp_json_is_array(list) || n < 1 || n > 1024)
        return rp_fail(err, RP_EFORMAT, "%s: expected interactions as a list of 1 to 1024 pairs", where);
    out->pair = rp_reallocarray(NULL, n, sizeof *out->pair);
    if (out->pair == NULL)
        return rp_no_memory(err);
    out->n_pairs = n;
    for (size_t i = 0; i < n; i++) {
        const rp_json *pair = rp_json_array_get(list, i);

        for (size_t k = 0; k < 2; k++) {
            const rp_json *at = rp_json_array_get(pair, k);
            int64_t col = rp_json_integer_value(at);

            if (!rp_json_is_integer(at) || rp_json_array_size(pair) != 2 || col < 0 || (size_t)col >= out->n_columns ||
                out->columns[col].kind == RP_COL_IGNORE || out->columns[col].offset != RP_OFFSET_NONE)
                return rp_fail(err, RP_EFORMAT, "%s: interactions[%zu]: expected two columns that have features", where,
                               i);
            out->pair[i][k] = (size_t)col;
        }
        out->features += out->columns[out->pair[i][0]].width * out->columns[out->pair[i][1]].width;
        if (out->features > RP_FEATURES_MAX)
            break;
    }
    return RP_OK;
}

/* ---- which column has which ---- */

rp_status rp_interactions_fit(rp_json *schema, const rp_cells *cells, const rp_column_kind *kind, size_t target)
{
    const rp_recipe *recipe = cells->recipe;
    rp_json *list = recipe->data.n_interactions > 0 ? rp_json_array() : NULL;
    size_t offset;
    rp_status status = rp_offset_find(cells, &offset);
    bool failed = false;

    for (size_t i = 0; i < recipe->data.n_interactions && status == RP_OK; i++) {
        size_t col[2] = {0};

        for (int k = 0; k < 2 && status == RP_OK; k++) {
            char label[RP_LABEL_SIZE];

            status = rp_column_find(cells, &recipe->data.interaction[i].column[k], "data.interactions", &col[k]);
            if (status == RP_OK && col[k] == offset)
                status = rp_fail(cells->err, RP_EARG,
                                 "%s: key data.interactions: %s is added to the predictor and has no coefficient",
                                 cells->where, rp_column_label(label, sizeof label, cells->table, col[k]));
            if (status == RP_OK && (col[k] == target || kind[col[k]] == RP_COL_IGNORE))
                status = rp_fail(cells->err, RP_EARG, "%s: key data.interactions: %s is %s and has no features",
                                 cells->where, rp_column_label(label, sizeof label, cells->table, col[k]),
                                 col[k] == target ? "the target" : "ignored");
        }
        if (status == RP_OK &&
            rp_json_array_append_new(list, rp_json_pack("[I, I]", (int64_t)col[0], (int64_t)col[1])) != 0)
            failed = true;
    }
    if (status == RP_OK && recipe->data.n_interactions > 0)
        failed |= rp_json_object_set(schema, "interactions", list) != 0;
    rp_json_free(list);
    return status == RP_OK && failed ? rp_no_memory(cells->err) : status;
}
