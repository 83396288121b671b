/* SPDX-License-Identifier: Apache-2.0
 * The schema, read from JSON (untrusted: it may come from an archive). */
#include "core/data/treat/treat.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "determinism/decimal.h"

typedef struct schema_source {
    const char *where;
    rp_error *err;
} schema_source;

static rp_status fail_column(const schema_source *in, size_t i, const char *what)
{
    return rp_fail(in->err, RP_EFORMAT, "%s: columns[%zu]: %s", in->where, i, what);
}

/* A finite number in the one spelling the writer gives it. */
static bool read_real(const rp_json *object, const char *key, double *out)
{
    const char *text = rp_json_string_value(rp_json_object_get(object, key));
    char again[RP_DECIMAL_SIZE];

    if (text == NULL || !rp_parse_f64(out, text, strlen(text)) || *out - *out != 0)
        return false;
    rp_print_f64(again, *out);
    return strcmp(text, again) == 0;
}

/* A column that is added to the predictor is nothing else. */
static rp_status read_offset(const schema_source *in, const rp_json *json, size_t i, rp_schema_column *out)
{
    static const char *const others[] = {"deviation", "cap", "log", "missing", "indicator", "woe"};
    const char *word = rp_json_string_value(rp_json_object_get(json, "offset"));

    for (size_t k = 0; k < sizeof others / sizeof *others; k++)
        if (rp_json_object_get(json, others[k]) != NULL)
            return fail_column(in, i, "expected an offset as it is, without deviation and treatments");
    if (word == NULL || (strcmp(word, "log") != 0 && strcmp(word, "number") != 0))
        return fail_column(in, i, "expected offset as number or log");
    out->offset = word[0] == 'l' ? RP_OFFSET_LOG : RP_OFFSET_NUMBER;
    return RP_OK;
}

static rp_status read_numeric(const schema_source *in, const rp_json *json, size_t i, rp_schema_column *out)
{
    double deviation;

    out->width = 1;
    out->divisor = 1;
    if (!out->target && rp_json_object_get(json, "edges") != NULL)
        return RP_OK;
    if (!read_real(json, "mean", &out->mean))
        return fail_column(in, i, "expected a finite decimal as mean");
    out->standardize = rp_json_object_get(json, "deviation") != NULL;
    if (!out->target && rp_json_object_get(json, "offset") != NULL)
        return read_offset(in, json, i, out);
    if (!out->standardize)
        return RP_OK;
    if (!read_real(json, "deviation", &deviation) || deviation < 0)
        return fail_column(in, i, "expected a finite decimal of at least 0 as deviation");
    out->divisor = deviation == 0 ? 1 : deviation;
    return RP_OK;
}

static rp_status read_categories(const schema_source *in, const rp_json *json, size_t i, rp_schema_column *out)
{
    const rp_json *list = rp_json_object_get(json, "categories");
    size_t n = rp_json_array_size(list);

    if (!rp_json_is_array(list) || n > RP_CATEGORIES_MAX + 1)
        return fail_column(in, i, "expected a list of at most 4097 categories");
    out->null_category = n > 0 && rp_json_is_null(rp_json_array_get(list, n - 1));
    out->categories = n - out->null_category;
    out->width = n;
    out->category = rp_reallocarray(NULL, n, sizeof *out->category);
    if (out->category == NULL)
        return rp_no_memory(in->err);
    for (size_t k = 0; k < out->categories; k++) {
        out->category[k] = rp_json_string_value(rp_json_array_get(list, k));
        if (out->category[k] == NULL || (k > 0 && strcmp(out->category[k - 1], out->category[k]) >= 0))
            return fail_column(in, i, "expected categories as distinct strings in ascending byte order");
    }
    return RP_OK;
}

static rp_status read_column(const schema_source *in, const rp_json *json, size_t i, rp_schema_column *out)
{
    const rp_json *name = rp_json_object_get(json, "name");
    const char *kind = rp_json_string_value(rp_json_object_get(json, "kind")), *wrong = NULL;
    rp_status status;

    if (!rp_json_is_string(name) && !rp_json_is_null(name))
        return fail_column(in, i, "expected a string or null as name");
    out->name = rp_json_string_value(name);
    if (kind == NULL)
        return fail_column(in, i, "expected a string as kind");
    out->kind = RP_COL_IGNORE;
    out->target = strcmp(kind, "target") == 0;
    out->date = strcmp(kind, "date") == 0;
    if (out->target && rp_json_object_get(json, "mean") != NULL)
        return read_numeric(in, json, i, out);
    if (out->target || out->date || strcmp(kind, "ignore") == 0)
        return RP_OK;
    if (strcmp(kind, "numeric") == 0)
        out->kind = RP_COL_NUMERIC;
    else if (strcmp(kind, "categorical") == 0)
        out->kind = RP_COL_CATEGORICAL;
    else
        return fail_column(in, i, "expected kind numeric, categorical, date, ignore or target");
    status = out->kind == RP_COL_NUMERIC ? read_numeric(in, json, i, out) : read_categories(in, json, i, out);
    if (status == RP_OK)
        status = rp_treatment_read(out, json, &wrong, in->err);
    return status == RP_OK && wrong != NULL ? fail_column(in, i, wrong) : status;
}

/* "part": [column, "year"]: behind the columns of the table, of a date among those. */
static rp_status read_part(const schema_source *in, const rp_json *json, size_t i, rp_schema *out)
{
    const rp_json *pair = rp_json_object_get(json, "part"), *at = rp_json_array_get(pair, 0);
    const char *name = rp_json_string_value(rp_json_array_get(pair, 1));
    rp_schema_column *column = &out->columns[i];
    int part = 0;

    if (pair == NULL)
        return i > 0 && out->columns[i - 1].derived ? fail_column(in, i, "expected part, as of the column before")
                                                    : RP_OK;
    while (name != NULL && part < RP_DATE_PARTS && strcmp(name, rp_date_part_names[part]) != 0)
        part++;
    if (rp_json_array_size(pair) != 2 || name == NULL || part == RP_DATE_PARTS || !rp_json_is_integer(at) ||
        rp_json_integer_value(at) < 0 || rp_json_integer_value(at) >= (int64_t)i ||
        !out->columns[rp_json_integer_value(at)].date || column->date || column->target)
        return fail_column(in, i, "expected as part the number of a column of dates and what of it");
    column->derived = true;
    column->part = (rp_date_part)part;
    column->source = (size_t)rp_json_integer_value(at);
    return RP_OK;
}

size_t rp_schema_own(const rp_schema *schema)
{
    size_t n = schema->n_columns;

    while (n > 0 && schema->columns[n - 1].derived)
        n--;
    return n;
}

static rp_status read_columns(const schema_source *in, const rp_json *list, rp_schema *out)
{
    size_t targets = 0, offsets = 0, n = rp_json_array_size(list);

    if (!rp_json_is_array(list) || n == 0 || n > 4096)
        return rp_fail(in->err, RP_EFORMAT, "%s: expected columns as a list of 1 to 4096", in->where);
    out->columns = rp_calloc(n, sizeof *out->columns);
    if (out->columns == NULL)
        return rp_no_memory(in->err);
    out->n_columns = n;
    for (size_t i = 0; i < n; i++) {
        rp_schema_column *column = &out->columns[i];
        rp_status status = read_column(in, rp_json_array_get(list, i), i, column);

        if (status == RP_OK)
            status = read_part(in, rp_json_array_get(list, i), i, out);
        if (status != RP_OK)
            return status;
        if ((column->name == NULL) != (out->columns[0].name == NULL))
            return fail_column(in, i, "expected names for all columns or for none");
        targets += column->target;
        offsets += column->offset != RP_OFFSET_NONE;
        column->at = out->features;
        out->features += column->target ? 0 : column->width;
    }
    if (offsets > 1)
        return rp_fail(in->err, RP_EFORMAT, "%s: expected one offset at most, found %zu", in->where, offsets);
    if (targets != 1)
        return rp_fail(in->err, RP_EFORMAT, "%s: expected one target column, found %zu", in->where, targets);
    return RP_OK;
}

static rp_status read_classes(const schema_source *in, const rp_json *list, rp_schema *out)
{
    size_t n = rp_json_array_size(list);

    if (rp_json_is_null(list))
        return RP_OK;
    if (!rp_json_is_array(list) || n < 2 || n > RP_CLASSES_MAX)
        return rp_fail(in->err, RP_EFORMAT, "%s: expected classes as null or a list of 2 to %d", in->where,
                       RP_CLASSES_MAX);
    out->class_name = rp_reallocarray(NULL, n, sizeof *out->class_name);
    if (out->class_name == NULL)
        return rp_no_memory(in->err);
    out->classes = n;
    for (size_t i = 0; i < n; i++) {
        out->class_name[i] = rp_json_string_value(rp_json_array_get(list, i));
        if (out->class_name[i] == NULL)
            return rp_fail(in->err, RP_EFORMAT, "%s: classes[%zu]: expected a string", in->where, i);
        for (size_t k = 0; k < i; k++)
            if (strcmp(out->class_name[k], out->class_name[i]) == 0)
                return rp_fail(in->err, RP_EFORMAT, "%s: classes[%zu]: the same as classes[%zu]", in->where, i, k);
    }
    return RP_OK;
}

rp_status rp_schema_from_json(rp_schema **out, rp_json *json, const char *where, rp_error *err)
{
    schema_source in = {where, err};
    rp_schema *schema = rp_calloc(1, sizeof *schema);
    rp_status status;

    *out = NULL;
    if (schema == NULL)
        return rp_no_memory(err);
    schema->json = rp_json_share(json);
    status = read_classes(&in, rp_json_object_get(json, "classes"), schema);
    if (status == RP_OK)
        status = read_columns(&in, rp_json_object_get(json, "columns"), schema);
    if (status == RP_OK)
        status = rp_interactions_read(schema, rp_json_object_get(json, "interactions"), where, err);
    if (status == RP_OK && (schema->features == 0 || schema->features > RP_FEATURES_MAX))
        status = rp_fail(err, RP_EFORMAT, "%s: expected 1 to %d features, found %zu", where, RP_FEATURES_MAX,
                         schema->features);
    if (status != RP_OK) {
        rp_schema_free(schema);
        return status;
    }
    *out = schema;
    return RP_OK;
}

const char *rp_schema_classes(char out[RP_CLASSES_SIZE], const rp_schema *schema)
{
    size_t at = 0;

    out[0] = '\0';
    for (size_t k = 0; k < schema->classes && k < 5; k++) {
        char quoted[32];
        const char *between = k == 0 ? "" : k + 1 == schema->classes ? " or " : ", ";

        at +=
            (size_t)snprintf(out + at, RP_CLASSES_SIZE - at, "%s\"%s\"", between,
                             rp_printable(quoted, sizeof quoted, schema->class_name[k], strlen(schema->class_name[k])));
    }
    if (schema->classes > 5)
        (void)snprintf(out + at, RP_CLASSES_SIZE - at, " or another of %zu", schema->classes);
    return out;
}

void rp_schema_free(rp_schema *schema)
{
    if (schema == NULL)
        return;
    for (size_t i = 0; i < schema->n_columns; i++) {
        rp_free(schema->columns[i].category);
        rp_free(schema->columns[i].edge);
        rp_free(schema->columns[i].woe);
    }
    rp_free(schema->pair);
    rp_free(schema->columns);
    rp_free(schema->class_name);
    rp_json_free(schema->json);
    rp_free(schema);
}

static const rp_schema_column *standardized_target(const rp_schema *schema)
{
    for (size_t i = 0; i < schema->n_columns; i++)
        if (schema->columns[i].target)
            return schema->columns[i].standardize ? &schema->columns[i] : NULL;
    return NULL;
}

void rp_schema_scale_target(const rp_schema *schema, float *value, size_t n)
{
    const rp_schema_column *target = standardized_target(schema);

    for (size_t i = 0; target != NULL && i < n; i++)
        value[i] = (float)(((double)value[i] - target->mean) / target->divisor);
}

void rp_schema_give_back(const rp_schema *schema, double *score, size_t n)
{
    const rp_schema_column *target = standardized_target(schema);

    for (size_t i = 0; target != NULL && i < n; i++) {
        const double scaled = score[i] * target->divisor;

        score[i] = (double)(float)(scaled + target->mean);
    }
}
