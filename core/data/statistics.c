/* SPDX-License-Identifier: Apache-2.0
 * What is learnt from the training rows (CONTRACT 9.5): means, deviations and categories, written down as the schema.
 * Encoding reads the schema, never this code's variables, so a schema from an archive gives the same features. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "core/recipe/recipe_names.h"
#include "core/data/treat/treat.h"
#include "core/recipe/decimal_json.h"

typedef struct fitter {
    const rp_cells *cells;
    const rp_target *target;
    const int64_t *train_row;
    size_t train_rows;
    double *value;     /* [train_rows] */
    const char **text; /* [the most words of a column] */
    bool *met;         /* the same */
    uint32_t *code;    /* [train_rows] */
    size_t offset;     /* the column that is one; SIZE_MAX: none */
    bool failed;       /* a JSON value could not be made */
} fitter;

static void put(fitter *fit, rp_json *object, const char *key, rp_json *value)
{
    if (rp_json_object_set_new(object, key, value) != 0)
        fit->failed = true;
}

static void append(fitter *fit, rp_json *array, rp_json *value)
{
    if (rp_json_array_append_new(array, value) != 0)
        fit->failed = true;
}

static void put_real(fitter *fit, rp_json *object, const char *key, double value)
{
    put(fit, object, key, rp_json_decimal(value));
}

/* The training rows' numbers that are not missing, to value. Returns how many. */
static size_t take_numbers(fitter *fit, size_t col)
{
    size_t n = 0;

    rp_table_numbers_of(fit->cells->table, col, fit->train_row, fit->train_rows, fit->value);
    for (size_t i = 0; i < fit->train_rows; i++)
        if (fit->value[i] == fit->value[i])
            fit->value[n++] = fit->value[i];
    return n;
}

/* The distinct texts of the training rows, to fit->text; *missing: whether a cell has none. Returns how many. */
static size_t take_texts(fitter *fit, size_t col, bool *missing)
{
    const rp_dictionary *words = &fit->cells->table->column[col].words;
    size_t n = 0;

    rp_table_codes_of(fit->cells->table, col, fit->train_row, fit->train_rows, fit->code);
    memset(fit->met, 0, words->count);
    for (size_t i = 0; i < fit->train_rows; i++)
        if (fit->code[i] == (uint32_t)RP_NO_CODE)
            *missing = true;
        else
            fit->met[fit->code[i]] = true;
    for (size_t i = 0; i < words->count; i++)
        if (fit->met[i])
            fit->text[n++] = words->word[i].at;
    return n;
}

static rp_status fit_numeric(fitter *fit, size_t col, rp_json *out)
{
    char label[RP_LABEL_SIZE];
    double mean, deviation;
    size_t n;

    n = take_numbers(fit, col);
    rp_column_label(label, sizeof label, fit->cells->table, col);
    if (n == 0)
        return rp_fail(fit->cells->err, RP_EDATA,
                       "%s: %s: expected a number in the training rows, found only missing "
                       "values; set data.columns: ignore for it",
                       fit->cells->where, label);
    rp_moments(fit->value, n, &mean, &deviation);
    if (mean - mean != 0 || deviation - deviation != 0)
        return rp_fail(fit->cells->err, RP_EDATA,
                       "%s: %s: the numbers are too large to average in binary64; rescale them", fit->cells->where,
                       label);
    put_real(fit, out, "mean", mean);
    if (col == fit->offset)
        put(fit, out, "offset", rp_json_string(fit->cells->recipe->data.exposure ? "log" : "number"));
    else if (fit->cells->recipe->data.standardize)
        put_real(fit, out, "deviation", deviation);
    return RP_OK;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static rp_status fit_categories(fitter *fit, size_t col, rp_json *out)
{
    rp_json *list = rp_json_array();
    char label[RP_LABEL_SIZE];
    bool missing = false;
    size_t n = take_texts(fit, col, &missing);

    put(fit, out, "categories", list);
    if (n > RP_CATEGORIES_MAX)
        return rp_fail(fit->cells->err, RP_EDATA,
                       "%s: %s: expected at most %d categories, found %zu; an identifier? "
                       "set data.columns: ignore or numeric for it",
                       fit->cells->where, rp_column_label(label, sizeof label, fit->cells->table, col),
                       RP_CATEGORIES_MAX, n);
    qsort(fit->text, n, sizeof *fit->text, compare_texts);
    for (size_t i = 0; i < n && !fit->failed; i++)
        append(fit, list, rp_json_string(fit->text[i]));
    if (missing && !fit->failed)
        append(fit, list, rp_json_null());
    return RP_OK;
}

/* Of the values as binary32, which is what is learnt from. */
static rp_status fit_target(fitter *fit, rp_json *out)
{
    double mean, deviation;

    for (size_t i = 0; i < fit->train_rows; i++)
        fit->value[i] = (double)fit->target->value[fit->train_row[i]];
    rp_moments(fit->value, fit->train_rows, &mean, &deviation);
    put_real(fit, out, "mean", mean);
    put_real(fit, out, "deviation", deviation);
    return RP_OK;
}

static rp_status fit_column(fitter *fit, size_t col, rp_column_kind kind, bool target, rp_json *columns)
{
    static const rp_treatment plain = {.missing = RP_MISSING_DEFAULT};
    const rp_treatment *treatment = fit->cells->treatment != NULL ? fit->cells->treatment[col] : NULL;
    const rp_table *table = fit->cells->table;
    rp_json *out = rp_json_object();

    append(fit, columns, out);
    if (fit->failed)
        return rp_no_memory(fit->cells->err);
    put(fit, out, "name", table->names != NULL ? rp_json_string(table->names[col]) : rp_json_null());
    put(fit, out, "kind", rp_json_string(target ? "target" : rp_column_kind_names[kind]));
    if (table->column[col].date != NULL && table->column[col].part < RP_DATE_PARTS)
        put(fit, out, "part",
            rp_json_pack("[I, s]", (int64_t)table->column[col].source, rp_date_part_names[table->column[col].part]));
    if (target)
        return fit->cells->recipe->data.standardize_target ? fit_target(fit, out) : RP_OK;
    if (col == fit->offset)
        return fit_numeric(fit, col, out);
    if (treatment == NULL && kind == RP_COL_NUMERIC && fit->cells->recipe->data.missing_numeric == RP_MISSING_MEDIAN)
        treatment = &plain;
    if (treatment != NULL && kind != RP_COL_IGNORE && kind != RP_COL_DATE)
        return rp_treat_fit(out, &(rp_learning){fit->cells, fit->target, fit->train_row, fit->train_rows, fit->value},
                            col, kind, treatment);
    if (kind == RP_COL_NUMERIC)
        return fit_numeric(fit, col, out);
    if (kind != RP_COL_CATEGORICAL)
        return RP_OK;
    put(fit, out, "unseen", rp_json_integer(0));
    return fit_categories(fit, col, out);
}

static rp_json *write_classes(fitter *fit, const rp_target *target)
{
    rp_json *list = target->classes > 0 ? rp_json_array() : rp_json_null();

    for (size_t i = 0; i < target->classes; i++)
        append(fit, list, rp_json_string(target->class_name[i]));
    return list;
}

static rp_json *write_split(fitter *fit, size_t valid_rows)
{
    const rp_recipe *recipe = fit->cells->recipe;
    rp_json *split = rp_json_object();

    put(fit, split, "train_on_all", rp_json_boolean(recipe->data.train_on_all));
    put(fit, split, "rows", rp_json_integer((int64_t)fit->cells->table->rows));
    put(fit, split, "train_rows", rp_json_integer((int64_t)fit->train_rows));
    put(fit, split, "valid_rows", rp_json_integer((int64_t)valid_rows));
    if (fit->cells->table->rows > fit->train_rows + valid_rows)
        put(fit, split, "test_rows",
            rp_json_integer((int64_t)(fit->cells->table->rows - fit->train_rows - valid_rows)));
    if (recipe->data.reading.n_where > 0)
        put(fit, split, "left_out", rp_json_integer((int64_t)fit->cells->table->dropped[0]));
    if (recipe->data.reading.drop_missing_target)
        put(fit, split, "missing_target", rp_json_integer((int64_t)fit->cells->table->dropped[1]));
    if (recipe->data.train_on_all || recipe->data.split.given)
        return split;
    put(fit, split, "folds", rp_json_integer(recipe->data.folds));
    if (recipe->data.time.given)
        return split;
    put(fit, split, "fold",
        recipe->data.fold == RP_ALL_FOLDS ? rp_json_string("all") : rp_json_integer(recipe->data.fold));
    if (!recipe->train.regression && !recipe->data.group.given)
        put(fit, split, "stratify", rp_json_boolean(recipe->data.stratify));
    return split;
}

static rp_status fit_columns(fitter *fit, const rp_column_kind *kind, size_t target_col, rp_json *columns)
{
    rp_status status = RP_OK;

    for (size_t col = 0; col < fit->cells->table->cols && status == RP_OK; col++)
        status = fit_column(fit, col, kind[col], col == target_col, columns);
    return status;
}

rp_status rp_schema_fit(rp_json **out, const rp_cells *cells, const rp_column_kind *kind, size_t target_col,
                        const rp_target *target, const int64_t *train_row, size_t train_rows, size_t valid_rows)
{
    fitter fit = {.cells = cells, .target = target, .train_row = train_row, .train_rows = train_rows};
    rp_json *schema = rp_json_object(), *columns;
    rp_status status = RP_OK;
    size_t words = 1;

    status = rp_offset_find(cells, &fit.offset);
    fit.value = rp_reallocarray(NULL, train_rows, sizeof *fit.value);
    for (size_t col = 0; col < cells->table->cols; col++)
        words = cells->table->column[col].words.count > words ? cells->table->column[col].words.count : words;
    fit.text = rp_reallocarray(NULL, words, sizeof *fit.text);
    fit.met = rp_reallocarray(NULL, words, sizeof *fit.met);
    fit.code = rp_reallocarray(NULL, train_rows, sizeof *fit.code);
    put(&fit, schema, "classes", write_classes(&fit, target));
    put(&fit, schema, "split", write_split(&fit, valid_rows));
    put(&fit, schema, "columns", rp_json_array());
    columns = rp_json_object_get(schema, "columns");
    if (status == RP_OK && fit.offset != SIZE_MAX && target->classes > 2)
        status = rp_fail(cells->err, RP_EARG,
                         "%s: key %s: the target has %zu classes, and a column is added to the "
                         "predictor of one output; leave it out",
                         cells->where, rp_recipe_offset_key(cells->recipe), target->classes);
    if (fit.value == NULL || fit.text == NULL || fit.met == NULL || fit.code == NULL || columns == NULL)
        status = rp_no_memory(cells->err);
    if (status == RP_OK)
        status = fit_columns(&fit, kind, target_col, columns);
    if (status == RP_OK)
        status = rp_interactions_fit(schema, cells, kind, target_col);
    if (status == RP_OK && fit.failed)
        status = rp_no_memory(cells->err);
    rp_free(fit.value);
    rp_free(fit.text);
    rp_free(fit.met);
    rp_free(fit.code);
    if (status != RP_OK) {
        rp_json_free(schema);
        return status;
    }
    *out = schema;
    return RP_OK;
}
