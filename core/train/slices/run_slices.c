/* SPDX-License-Identifier: Apache-2.0
 * A run's own figures by slice and by group, as its recipe asks, and how far training and validation are apart. */
#include "core/train/slices/run_slices.h"

#include "base/memory.h"
#include "core/train/evaluate.h"
#include "core/train/slices/partition.h"
#include "core/train/trainer.h"
#include "determinism/bits.h"
#include "determinism/decimal.h"

#include <string.h>

static rp_slice_names names_of(const rp_recipe *recipe)
{
    return (rp_slice_names){.by = (const char *const *)recipe->validation.by.text,
                            .groups = (const char *const *)recipe->validation.groups.text,
                            .n_by = recipe->validation.by.count,
                            .n_groups = recipe->validation.groups.count,
                            .favourable = recipe->validation.favourable,
                            .threshold = recipe->validation.has_threshold ? recipe->validation.threshold
                                                                          : rp_from_bits_f64(0x7FF8000000000000u)};
}

/* The columns that the recipe names, and nothing else of the table. */
static rp_status open_columns(rp_written **out, rp_slice_plan *plan, const rp_slice_names *names,
                              const rp_schema *schema, const rp_recipe *recipe, const rp_source_text *table,
                              rp_pool *pool, rp_error *err)
{
    rp_status status = rp_written_open(out, schema, recipe, table->bytes, table->size, table->where, err);

    if (status == RP_OK)
        status = rp_slices_want(plan, *out, names, err);
    return status == RP_OK ? rp_written_load(*out, pool, err) : status;
}

static rp_status try_parts(const rp_written *texts, const rp_slice_names *names, const rp_slice_plan *plan,
                           const rp_dataset *data, rp_error *err)
{
    const int64_t *row = data->valid_rows ? data->valid_row : data->train_row;
    const size_t rows = data->valid_rows ? data->valid_rows : data->train_rows;
    rp_status status = RP_OK;

    for (size_t i = 0; i < names->n_by + names->n_groups && status == RP_OK; i++) {
        const bool group = i >= names->n_by;
        const size_t k = group ? i - names->n_by : i;
        const rp_slice_place *at = group ? &plan->groups[k] : &plan->by[k];
        rp_partition parts;

        status = rp_partition_make(&parts, texts, group ? names->groups[k] : names->by[k], at->col, at->parts, row,
                                   rows, err);
        if (status == RP_OK)
            rp_partition_clear(&parts);
    }
    return status;
}

rp_status rp_slices_of_recipe_check(const rp_recipe *recipe, const rp_dataset *data, const rp_source_text *table,
                                    rp_pool *pool, rp_error *err)
{
    const rp_slice_names names = names_of(recipe);
    rp_slice_plan plan;
    rp_written *texts = NULL;
    int64_t favourable;
    rp_status status;

    if (!recipe->validation.given)
        return RP_OK;
    status = rp_slices_look(&favourable, data->schema, &names, err);
    if (status == RP_OK)
        status = open_columns(&texts, &plan, &names, data->schema, recipe, table, pool, err);
    if (status == RP_OK)
        status = try_parts(texts, &names, &plan, data, err);
    rp_written_free(texts);
    return status == RP_EARG ? rp_fail_at(err, status, "%s: key validation", table->where) : status;
}

static rp_pool *pool_of(const rp_trainer *t)
{
    return rp_device_pool(rp_run_device(t->run));
}

rp_status rp_run_slices_check(const rp_trainer *t, const rp_source_text *table, rp_error *err)
{
    return rp_slices_of_recipe_check(t->recipe, t->data, table, pool_of(t), err);
}

/* ---- what is put into metrics.json ---- */

static bool real_at(const rp_json *part, const char *key, double *out)
{
    const char *text = rp_json_string_value(rp_json_object_get(part, key));

    return text && rp_parse_printed_f64(out, text, strlen(text));
}

/* What validation has less than training: with figures that are good when they are high, and above 0, the model knows
 * its own rows better than others. */
static int put_gap(rp_json *metrics)
{
    static const char *const keys[] = {"accuracy", "auc", "loss", "mae", "mse", "r2"};
    const rp_json *training = rp_json_object_get(metrics, "training");
    const rp_json *validation = rp_json_object_get(metrics, "validation");
    rp_json *gap = rp_json_object();
    double t, v;
    int failed = rp_json_object_set_new(metrics, "gap", gap);

    for (size_t i = 0; i < sizeof keys / sizeof *keys && !failed; i++)
        if (real_at(training, keys[i], &t) && real_at(validation, keys[i], &v))
            failed |= rp_put_figure(gap, keys[i], t - v);
    return failed;
}

/* Youden's threshold is not chosen again: it is the training part's. */
static rp_status put_given(rp_json *part, const rp_slice_rows *rows, double threshold, rp_error *err)
{
    const rp_figure_options options = {.fitted = rows->fitted, .threshold = threshold};
    rp_json *figures;
    rp_status status = rp_slice_figures(&figures, rows, NULL, 0, &options, err);

    return status == RP_OK && rp_json_object_set_new(part, "figures", figures) != 0 ? rp_no_memory(err) : status;
}

static rp_status put_parts(rp_json *part, const rp_trainer *t, rp_slice_rows *rows, const rp_source_text *table,
                           rp_error *err)
{
    const rp_recipe *recipe = t->recipe;
    const rp_slice_names names = names_of(recipe);
    rp_slice_plan plan;
    rp_written *texts = NULL;
    float loss;
    double *score = NULL;
    rp_status status = rp_trainer_scores(t, t->data->valid_rows > 0, &loss, &score, err);

    rows->score = score;
    if (status == RP_OK && recipe->validation.has_threshold)
        status = put_given(part, rows, names.threshold, err);
    if (status == RP_OK)
        status = open_columns(&texts, &plan, &names, rows->schema, recipe, table, pool_of(t), err);
    if (status == RP_OK)
        status = rp_slices_put(part, &plan, &names, rows, texts, err);
    rp_written_free(texts);
    rp_free(score);
    return status;
}

rp_status rp_run_slices_put(rp_json *metrics, const rp_trainer *t, const rp_json *reference,
                            const rp_source_text *table, rp_error *err)
{
    const rp_dataset *d = t->data;
    const bool held = d->valid_rows > 0;
    rp_yardstick *yardstick = NULL;
    double *offset = NULL;
    rp_slice_rows rows = {.schema = d->schema,
                          .row = held ? d->valid_row : d->train_row,
                          .rows = held ? d->valid_rows : d->train_rows,
                          .outputs = t->model.outputs,
                          .label = held ? d->valid_label : d->train_label,
                          .value = held ? d->valid_target : d->train_target,
                          .fitted = !held};
    rp_status status;

    if (!t->recipe->validation.given)
        return RP_OK;
    status = rp_yardstick_read(&yardstick, reference, d->schema->classes, err);
    if (status == RP_OK)
        status = rp_dataset_offsets(&offset, d, held, err);
    rows.yardstick = yardstick;
    rows.offset = offset;
    if (status == RP_OK)
        status = put_parts(rp_json_object_get(metrics, held ? "validation" : "training"), t, &rows, table, err);
    rp_free(yardstick);
    rp_free(offset);
    if (status == RP_EARG)
        return rp_fail_at(err, RP_EFORMAT, "%s: key validation", table->where);
    return status == RP_OK && held && put_gap(metrics) != 0 ? rp_no_memory(err) : status;
}
