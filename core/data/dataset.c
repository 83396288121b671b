/* SPDX-License-Identifier: Apache-2.0
 * Preparation from end to end: table, column kinds, target, split, fit, encode (CONTRACT 9). */
#include "core/data/dataset.h"

#include <string.h>

#include "base/memory.h"
#include "core/data/profile/profile.h"
#include "core/data/profile/quality.h"
#include "core/data/later/reference.h"
#include "core/data/learnt.h"
#include "core/data/treat/treat.h"
#include "kernels/device.h"

/* What preparation holds on the way; all of it is freed at its end but what moved into the dataset. */
typedef struct preparation {
    rp_cells cells;
    rp_table_options options;
    rp_table *table;
    rp_column_kind *kind;           /* [cols] */
    const rp_treatment **treatment; /* [cols]; of columns that have none, NULL */
    size_t *source;                 /* [cols]: the identity, schema columns being table columns here */
    unsigned char *part;            /* [rows] */
    size_t target_col;
    rp_target target;
} preparation;

static rp_status allocate(preparation *prep)
{
    size_t cols = prep->table->cols;

    prep->kind = rp_calloc(cols, sizeof *prep->kind);
    prep->treatment = rp_calloc(cols, sizeof(const rp_treatment *));
    prep->source = rp_calloc(cols, sizeof *prep->source);
    if (prep->kind == NULL || prep->treatment == NULL || prep->source == NULL)
        return rp_no_memory(prep->cells.err);
    for (size_t col = 0; col < cols; col++)
        prep->source[col] = col;
    return RP_OK;
}

/* The table's columns, as the recipe declares them and then as they are. */
static rp_status load(preparation *prep, const void *csv, size_t size)
{
    const rp_recipe *recipe = prep->cells.recipe;
    rp_table_options options = prep->options;
    rp_filter *filter = NULL;
    rp_store *store = NULL;
    rp_status status = rp_table_open(&prep->table, csv, size, recipe, prep->cells.where, prep->cells.err);

    prep->cells.table = prep->table;
    if (status == RP_OK)
        status = rp_dates_declare(&prep->cells, prep->table);
    if (status == RP_OK)
        status = allocate(prep);
    if (status == RP_OK)
        status = rp_columns_declare(&prep->cells, prep->kind, &prep->target_col);
    prep->cells.treatment = prep->treatment;
    if (status == RP_OK)
        status = rp_treatments_find(prep->treatment, &prep->cells);
    if (status == RP_OK)
        status = rp_filter_resolve(&filter, &prep->cells, prep->target_col);
    if (status == RP_OK)
        store = rp_calloc(prep->table->cols, sizeof *store);
    if (status == RP_OK && store == NULL)
        status = rp_no_memory(prep->cells.err);
    if (status == RP_OK) {
        rp_columns_store(recipe, prep->kind, prep->table->cols, prep->target_col, store);
        status = rp_columns_store_roles(&prep->cells, store);
        options.filter = filter;
    }
    if (status == RP_OK)
        status = rp_table_load(prep->table, store, recipe, &options, prep->cells.err);
    rp_free(store);
    rp_filter_free(filter);
    if (status == RP_OK)
        status = rp_filter_tell(&prep->cells);
    return status == RP_OK ? rp_columns_settle(&prep->cells, prep->kind) : status;
}

static void release(preparation *prep)
{
    rp_target_clear(&prep->target);
    rp_free(prep->kind);
    rp_free(prep->treatment);
    rp_free(prep->source);
    rp_free(prep->part);
    rp_table_free(prep->table);
}

static rp_status split_rows(preparation *prep, rp_dataset *out)
{
    size_t rows = prep->table->rows;
    rp_status status;

    prep->part = rp_calloc(rows, 1);
    out->train_row = rp_calloc(rows, sizeof *out->train_row);
    out->valid_row = rp_calloc(rows, sizeof *out->valid_row);
    out->test_row = rp_calloc(rows, sizeof *out->test_row);
    if (prep->part == NULL || out->train_row == NULL || out->valid_row == NULL || out->test_row == NULL)
        return rp_no_memory(prep->cells.err);
    status = rp_split_rows(&prep->cells, &prep->target, prep->part);
    for (size_t row = 0; row < rows && status == RP_OK; row++) {
        if (prep->part[row] == RP_TRAINS)
            out->train_row[out->train_rows++] = (int64_t)row;
        else if (prep->part[row] == RP_VALIDATES)
            out->valid_row[out->valid_rows++] = (int64_t)row;
        else
            out->test_row[out->test_rows++] = (int64_t)row;
    }
    if (status == RP_OK && out->test_rows > 0 && prep->cells.recipe->data.test_csv != NULL)
        status =
            rp_fail(prep->cells.err, RP_EARG,
                    "%s: key data.test_csv: the column of data.split has test rows too, %zu: there is one test part",
                    prep->cells.where, out->test_rows);
    if (status == RP_OK && out->train_rows == 0)
        status = rp_fail(prep->cells.err, RP_EDATA, "%s: no row is left to train on", prep->cells.where);
    if (status == RP_OK && out->valid_rows == 0 && prep->cells.recipe->train.patience > 0)
        status = rp_fail(prep->cells.err, RP_EDATA, "%s: key train.patience: no row validates", prep->cells.where);
    return status;
}

static rp_status check_training_classes(const preparation *prep, const rp_dataset *out)
{
    const int64_t *label = prep->target.label;

    for (size_t i = 1; label != NULL && i < out->train_rows; i++)
        if (label[out->train_row[i]] != label[out->train_row[0]])
            return RP_OK;
    if (label == NULL)
        return RP_OK;
    return rp_fail(prep->cells.err, RP_EDATA,
                   "%s: expected two classes or more in the %zu training rows, found one; use "
                   "data.stratify: true or another fold",
                   prep->cells.where, out->train_rows);
}

static rp_status fit(preparation *prep, rp_dataset *out)
{
    rp_json *json = NULL;
    rp_status status = rp_schema_fit(&json, &prep->cells, prep->kind, prep->target_col, &prep->target, out->train_row,
                                     out->train_rows, out->valid_rows);

    if (status != RP_OK)
        return status;
    status = rp_schema_from_json(&out->schema, json, prep->cells.where, prep->cells.err);
    rp_json_free(json);
    /* our own schema can break only a limit on what the data made of it */
    if (status == RP_EFORMAT)
        return rp_fail_at(prep->cells.err, RP_EDATA, "encoding the columns");
    return status == RP_OK ? rp_learnt_tell(&prep->cells, out->schema, prep->source, out->train_row, out->train_rows)
                           : status;
}

/* Where labels and targets of a part go. */
typedef struct outcomes {
    int64_t **label;
    double **target;
    float **learnt;
} outcomes;

static double target_of(const rp_target *target, size_t row)
{
    if (target->wide != NULL)
        return target->wide[row];
    return target->value != NULL ? (double)target->value[row] : (double)target->label[row];
}

/* Labels for classes, targets where one output is trained; a network learns them in binary32. */
static rp_status take_outcomes(const preparation *prep, const rp_schema *schema, const int64_t *row, size_t rows,
                               const outcomes *out)
{
    const rp_target *target = &prep->target;
    const bool one = target->classes <= 2, learnt = one && !prep->cells.recipe->train.exact;

    if ((target->label != NULL && (*out->label = rp_calloc(rows, sizeof **out->label)) == NULL) ||
        (one && (*out->target = rp_calloc(rows, sizeof **out->target)) == NULL) ||
        (learnt && (*out->learnt = rp_calloc(rows, sizeof **out->learnt)) == NULL))
        return rp_no_memory(prep->cells.err);
    for (size_t i = 0; i < rows; i++) {
        if (target->label != NULL)
            (*out->label)[i] = target->label[row[i]];
        if (one)
            (*out->target)[i] = target_of(target, (size_t)row[i]);
        if (learnt)
            (*out->learnt)[i] = (float)(*out->target)[i];
    }
    if (learnt)
        rp_schema_scale_target(schema, *out->learnt, rows);
    return RP_OK;
}

static rp_status take_trials(const preparation *prep, rp_dataset *out)
{
    const double *trials = prep->target.trials;

    if (trials == NULL)
        return RP_OK;
    out->train_trials = rp_calloc(out->train_rows, sizeof *out->train_trials);
    for (size_t i = 0; out->train_trials != NULL && i < out->train_rows; i++)
        out->train_trials[i] = trials[out->train_row[i]];
    return out->train_trials != NULL ? RP_OK : rp_no_memory(prep->cells.err);
}

static rp_status encode(preparation *prep, rp_dataset *out)
{
    const outcomes train = {&out->train_label, &out->train_target, &out->train_learnt};
    const outcomes valid = {&out->valid_label, &out->valid_target, &out->valid_learnt};
    rp_status status = rp_dataset_encode(out, &prep->cells, prep->table, prep->source, &prep->options);

    if (status == RP_OK)
        status = take_outcomes(prep, out->schema, out->train_row, out->train_rows, &train);
    if (status == RP_OK)
        status = take_outcomes(prep, out->schema, out->valid_row, out->valid_rows, &valid);
    return status == RP_OK ? take_trials(prep, out) : status;
}

/* A batch cannot have more rows than there are: it is then all of them, and that is said. */
static rp_status profile(const preparation *prep, rp_dataset *out)
{
    rp_status status = rp_profile_table(&out->profile, &prep->cells, prep->kind, prep->target_col);

    if (status == RP_OK && (size_t)prep->cells.recipe->train.batch > out->train_rows)
        status = rp_profile_add(out->profile, &prep->cells,
                                &(rp_finding){"batch", true, SIZE_MAX, SIZE_MAX, out->train_rows, NULL, NULL});
    return status;
}

/* Rows are told by their numbers in the file. */
static void number_rows(const rp_table *table, rp_dataset *out)
{
    if (table->dropped[0] + table->dropped[1] == 0)
        return;
    for (size_t i = 0; i < out->train_rows; i++)
        out->train_row[i] = (int64_t)rp_table_number(table, (size_t)out->train_row[i]);
    for (size_t i = 0; i < out->valid_rows; i++)
        out->valid_row[i] = (int64_t)rp_table_number(table, (size_t)out->valid_row[i]);
    for (size_t i = 0; i < out->test_rows; i++)
        out->test_row[i] = (int64_t)rp_table_number(table, (size_t)out->test_row[i]);
}

static rp_status prepare(preparation *prep, rp_dataset *out, const void *csv, size_t size)
{
    rp_json *quality = NULL;
    rp_status status = load(prep, csv, size);

    if (status == RP_OK)
        status = rp_target_read(&prep->cells, prep->target_col, &prep->target);
    if (status == RP_OK)
        status = split_rows(prep, out);
    if (status == RP_OK)
        status = check_training_classes(prep, out);
    if (status == RP_OK)
        status = profile(prep, out);
    if (status == RP_OK)
        status = fit(prep, out);
    if (status == RP_OK)
        status = rp_reference_columns(&out->reference, &prep->cells, out->schema, prep->source, out->train_row,
                                      out->train_rows);
    if (status == RP_OK)
        status = rp_weights_read(&prep->cells, &prep->target, out);
    if (status == RP_OK)
        status = rp_profile_add_warnings(out->profile, &out->warnings, prep->cells.err);
    if (status == RP_OK)
        status = encode(prep, out); /* the table's cells are gone then */
    if (status == RP_OK)
        status = rp_quality(&quality, &prep->cells, out->profile, out->schema->json);
    if (status == RP_OK && rp_json_object_set_new(out->profile, "quality", quality) != 0)
        status = rp_no_memory(prep->cells.err);
    if (status == RP_OK)
        number_rows(prep->table, out);
    return status;
}

rp_status rp_dataset_prepare(rp_dataset **out, const rp_recipe *recipe, const void *csv, size_t size, const char *where,
                             const rp_table_options *options, rp_error *err)
{
    preparation prep = {.cells = {.recipe = recipe, .where = where, .err = err, .pool = options->pool},
                        .options = *options};
    rp_dataset *dataset = rp_calloc(1, sizeof *dataset);
    rp_status status;

    *out = NULL;
    if (dataset == NULL)
        return rp_no_memory(err);
    prep.cells.warnings = &dataset->warnings;
    status = prepare(&prep, dataset, csv, size);
    release(&prep);
    if (status != RP_OK) {
        rp_dataset_free(dataset);
        return status;
    }
    *out = dataset;
    return RP_OK;
}

rp_status rp_dataset_tell(rp_json *profile, const rp_cells *loaded, const rp_schema *schema)
{
    rp_warnings seen = {0};
    rp_dataset *d = rp_calloc(1, sizeof *d);
    preparation prep = {.cells = *loaded, .table = (rp_table *)loaded->table};
    rp_status status = d != NULL ? allocate(&prep) : rp_no_memory(loaded->err);

    prep.cells.warnings = &seen;
    if (status == RP_OK)
        status = rp_columns_declare(&prep.cells, prep.kind, &prep.target_col);
    if (status == RP_OK)
        status = rp_filter_tell(&prep.cells);
    if (status == RP_OK)
        status = rp_columns_settle(&prep.cells, prep.kind);
    if (status == RP_OK)
        status = rp_target_read(&prep.cells, prep.target_col, &prep.target);
    if (status == RP_OK)
        status = split_rows(&prep, d);
    if (status == RP_OK)
        status = rp_learnt_tell(&prep.cells, schema, prep.source, d->train_row, d->train_rows);
    if (status == RP_OK)
        status = rp_weights_read(&prep.cells, &prep.target, d);
    if (status == RP_OK)
        status = rp_profile_add_warnings(profile, &seen, loaded->err);
    prep.table = NULL; /* the caller's */
    release(&prep);
    rp_warnings_clear(&seen);
    rp_dataset_free(d);
    return status;
}

static void free_features(const rp_dataset *d, void *narrow, void *wide, bool given)
{
    void *x = wide != NULL ? wide : narrow;

    if (given)
        return;
    if (d->device != NULL)
        rp_device_release(d->device, x);
    else
        rp_free(x);
}

void rp_dataset_free(rp_dataset *dataset)
{
    if (dataset == NULL)
        return;
    rp_schema_free(dataset->schema);
    rp_warnings_clear(&dataset->warnings);
    rp_json_free(dataset->profile);
    rp_json_free(dataset->reference);
    free_features(dataset, dataset->train_x, dataset->train_wide, dataset->train_given);
    free_features(dataset, dataset->valid_x, dataset->valid_wide, dataset->valid_given);
    rp_free(dataset->train_label);
    rp_free(dataset->valid_label);
    rp_free(dataset->train_target);
    rp_free(dataset->valid_target);
    rp_free(dataset->train_learnt);
    rp_free(dataset->valid_learnt);
    rp_free(dataset->train_weight);
    rp_free(dataset->valid_weight);
    rp_free(dataset->train_wide_weight);
    rp_free(dataset->train_trials);
    rp_free(dataset->valid_wide_weight);
    rp_free(dataset->train_row);
    rp_free(dataset->valid_row);
    rp_free(dataset->test_row);
    rp_free(dataset);
}
