/* SPDX-License-Identifier: Apache-2.0
 * What is counted of a table's quality (CONTRACT 9.11), from what the profile has found already. */
#include "core/data/profile/quality.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "core/data/profile/private.h"
#include "core/stats/ranking.h"
#include "determinism/sum.h"

/* ---- figures of a column ---- */

size_t rp_quality_outliers(const double *sorted, size_t n)
{
    const double lower = rp_sorted_quantile(sorted, n, 0.25), upper = rp_sorted_quantile(sorted, n, 0.75);
    const double beyond = 1.5 * (upper - lower), least = lower - beyond, most = upper + beyond;
    size_t below = 0, above = n;

    while (below < n && sorted[below] < least)
        below++;
    while (above > below && sorted[above - 1] > most)
        above--;
    return below + (n - above);
}

double rp_quality_skew(const double *sorted, double *scratch, size_t n)
{
    const double count = (double)(int64_t)n, mean = rp_sum_f64(sorted, n, 1) / count;
    double second, third;

    for (size_t i = 0; i < n; i++)
        scratch[i] = (sorted[i] - mean) * (sorted[i] - mean);
    second = rp_sum_f64(scratch, n, 1) / count;
    for (size_t i = 0; i < n; i++)
        scratch[i] = scratch[i] * (sorted[i] - mean);
    third = rp_sum_f64(scratch, n, 1) / count;
    return n > 0 && sorted[0] < sorted[n - 1] ? third / (second * sqrt(second)) : (double)NAN;
}

/* ---- the whole ---- */

static int64_t integer(const rp_json *object, const char *key)
{
    return rp_json_integer_value(rp_json_object_get(object, key));
}

static bool is_text(const rp_json *object, const char *key, const char *text)
{
    const char *found = rp_json_string_value(rp_json_object_get(object, key));

    return found != NULL && strcmp(found, text) == 0;
}

/* The numbers of the columns that have a finding of the code. */
static rp_json *columns_with(builder *b, const rp_json *profile, const char *const *codes)
{
    rp_json *list = rp_json_array(), *finding;
    size_t i;

    rp_json_array_foreach (rp_json_object_get(profile, "findings"), i, finding)
        for (const char *const *code = codes; *code != NULL; code++)
            if (is_text(finding, "code", *code) && rp_json_object_get(finding, "column") != NULL)
                append(b, list, rp_json_integer(integer(finding, "column")));
    return list;
}

static int64_t spellings(const rp_json *profile)
{
    rp_json *finding;
    size_t i;
    int64_t n = 0;

    rp_json_array_foreach (rp_json_object_get(profile, "findings"), i, finding)
        if (is_text(finding, "code", "class_spellings")) /* all of them, of which ten are told */
            return integer(finding, "count");
        else
            n += is_text(finding, "code", "class_spelling");
    return n;
}

static int64_t sum_of(const rp_json *columns, const char *key)
{
    rp_json *column;
    size_t i;
    int64_t sum = 0;

    rp_json_array_foreach (columns, i, column)
        sum += integer(column, key);
    return sum;
}

static rp_json *dates(builder *b, const rp_json *columns)
{
    rp_json *list = rp_json_array(), *column;
    size_t i;

    rp_json_array_foreach (columns, i, column) {
        const rp_json *quantiles = rp_json_object_get(column, "quantiles");

        if (is_text(column, "kind", "date") && quantiles != NULL)
            append(b, list,
                   rp_json_pack("{s:I, s:s, s:s}", "column", (int64_t)i, "first",
                                rp_json_string_value(rp_json_array_get(quantiles, 0)), "last",
                                rp_json_string_value(rp_json_array_get(quantiles, RP_QUANTILES - 1))));
    }
    return list;
}

static const char *card_text(const rp_recipe *recipe, const char *key)
{
    for (int i = 0; i < RP_CARD_KEYS; i++)
        if (strcmp(rp_card_names[i], key) == 0)
            return recipe->card[i];
    return NULL;
}

/* What the profile says of a column, less its examples: no cell of a row stands in the member but a date's. */
static rp_json *column_json(builder *b, const rp_json *from, const rp_json *learnt)
{
    static const char *const keys[] = {"name", "kind", "missing", "distinct", "outliers", "skew"};
    builder one = {.object = rp_json_object()};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (rp_json_object_get(from, keys[i]) != NULL)
            put(&one, keys[i], rp_json_share(rp_json_object_get(from, keys[i])));
    if (rp_json_object_get(learnt, "unseen") != NULL)
        put(&one, "unseen", rp_json_integer(integer(learnt, "unseen")));
    b->failed |= one.failed;
    return one.object;
}

static rp_json *columns_json(builder *b, const rp_json *columns, const rp_json *learnt)
{
    rp_json *list = rp_json_array(), *column;
    size_t i;

    rp_json_array_foreach (columns, i, column)
        append(b, list, column_json(b, column, rp_json_array_get(learnt, i)));
    return list;
}

static int64_t columns_missing(const rp_json *columns)
{
    rp_json *column;
    size_t i;
    int64_t n = 0;

    rp_json_array_foreach (columns, i, column)
        n += integer(column, "missing") > 0;
    return n;
}

rp_status rp_quality(rp_json **out, const rp_cells *cells, const rp_json *profile, const rp_json *schema)
{
    static const char *const leaks[] = {"determines_target", NULL}, *const constants[] = {"constant", "empty", NULL},
                             *const ids[] = {"identifier", "near_unique", NULL};
    const rp_json *columns = rp_json_object_get(profile, "columns"), *learnt = rp_json_object_get(schema, "columns");
    const rp_table *table = cells->table;
    const rp_recipe *recipe = cells->recipe;
    const int64_t rows = (int64_t)table->rows, left_out = (int64_t)table->dropped[0],
                  no_target = (int64_t)table->dropped[1];
    builder b = {.object = rp_json_object()};

    put(&b, "accuracy",
        rp_json_pack("{s:o, s:I}", "leaks", columns_with(&b, profile, leaks), "outliers", sum_of(columns, "outliers")));
    put(&b, "availability",
        rp_json_pack("{s:I, s:I, s:I, s:I}", "left_out", left_out, "missing_target", no_target, "rows",
                     rows + left_out + no_target, "used", rows));
    if (table->hidden > 0)
        put(&b, "hidden_rows", rp_json_integer((int64_t)table->hidden));
    put(&b, "columns", columns_json(&b, columns, learnt));
    put(&b, "completeness",
        rp_json_pack("{s:I, s:I, s:I}", "cells", rows * (int64_t)table->cols, "columns", columns_missing(columns),
                     "missing", sum_of(columns, "missing")));
    put(&b, "consistency",
        rp_json_pack("{s:I, s:I}", "conflicts", integer(profile, "conflicts"), "spellings", spellings(profile)));
    put(&b, "timeliness",
        rp_json_pack("{s:o, s:s?}", "dates", dates(&b, columns), "period", card_text(recipe, "data_period")));
    put(&b, "traceability", rp_json_pack("{s:s?}", "source", card_text(recipe, "data_source")));
    put(&b, "uniqueness",
        rp_json_pack("{s:o, s:I, s:o}", "constants", columns_with(&b, profile, constants), "duplicates",
                     integer(profile, "duplicates"), "identifiers", columns_with(&b, profile, ids)));
    put(&b, "validity", rp_json_pack("{s:I}", "unseen", sum_of(learnt, "unseen")));
    *out = b.object;
    if (!b.failed)
        return RP_OK;
    rp_json_free(b.object);
    *out = NULL;
    return rp_no_memory(cells->err);
}
