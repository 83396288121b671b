/* SPDX-License-Identifier: Apache-2.0
 * Scoring rows with what an archive holds: its recipe's model, its recorded preparation, its final weights. */
#include "audit/replay/scoring.h"

#include <string.h>

#include "audit/drive/arrays.h"
#include "audit/record/job_options.h"
#include "audit/record/states.h"
#include "audit/replay/replay.h"
#include "base/memory.h"
#include "core/train/evaluate.h"
#include "core/train/train.h"

void rp_scoring_free(rp_scoring *s)
{
    if (!s)
        return;
    rp_free(s->scores);
    rp_buffer_free(&s->written);
    rp_rows_free(s->rows);
    rp_run_free(s->run);
    rp_tensor_set_free(s->weights);
    rp_schema_free(s->schema);
    rp_recipe_free(s->recipe);
    rp_free(s);
}

rp_pool *rp_scoring_pool(const rp_scoring *s)
{
    return rp_device_pool(rp_run_device(s->run));
}

static rp_status load_model(rp_scoring *s, const rp_archive *archive, rp_error *err)
{
    rp_json *recipe = NULL, *schema = NULL;
    rp_status status = rp_archive_read_json(archive, RP_RECIPE_MEMBER, &recipe, err);

    if (status == RP_OK)
        status = rp_recipe_from_json(&s->recipe, recipe, RP_RECIPE_MEMBER, err);
    if (status == RP_OK)
        status = rp_archive_read_json(archive, RP_SCHEMA_MEMBER, &schema, err);
    if (status == RP_OK)
        status = rp_schema_from_json(&s->schema, schema, RP_SCHEMA_MEMBER, err);
    if (status == RP_OK)
        status = rp_model_init(&s->model, s->recipe, s->schema->features, s->schema->classes, err);
    rp_json_free(recipe);
    rp_json_free(schema);
    return status;
}

static rp_status load_weights(rp_scoring *s, const rp_archive *archive, rp_error *err)
{
    rp_set_values values = {.set = NULL};
    const rp_value_source from = rp_values_of(&values);
    rp_status status = rp_tensor_set_open(&s->weights, archive, RP_FINAL_MEMBER, err);

    for (size_t i = 0; status == RP_OK && i < s->model.n_parameters; i++) {
        const rp_parameter *p = &s->model.parameter[i];
        const rp_safetensor *t = rp_tensor_set_find(s->weights, p->name);

        if (!t || t->dtype != s->model.dtype || t->rank != p->rank ||
            memcmp(t->shape, p->shape, (size_t)p->rank * sizeof *p->shape) != 0)
            return rp_fail(err, RP_EFORMAT,
                           RP_FINAL_MEMBER ": %s is missing or has another shape than the recipe's model", p->name);
        status = rp_run_add_state(s->run, p->name, s->model.dtype, p->rank, p->shape, NULL, err);
    }
    values.set = s->weights;
    if (status == RP_OK)
        status = rp_run_restore(s->run, 0, &from, err);
    return status == RP_EDATA ? rp_fail_at(err, RP_EFORMAT, RP_FINAL_MEMBER) : status;
}

/* Features and activations are those of one block at a time. */
static rp_status score_blocks(rp_scoring *s, rp_scorer *scorer, void *x, rp_error *err)
{
    const size_t rows = rp_rows_count(s->rows);
    rp_status status = RP_OK;

    for (size_t first = 0; first < rows && status == RP_OK; first += RP_BLOCK_ROWS) {
        const size_t count = rows - first < RP_BLOCK_ROWS ? rows - first : RP_BLOCK_ROWS;

        status = rp_rows_encode(s->rows, first, count, x, err);
        if (status == RP_OK)
            status = rp_scorer_score(scorer, x, count, s->scores + first * s->model.outputs, err);
        if (status == RP_OK)
            rp_schema_give_back(s->schema, s->scores + first * s->model.outputs, count);
    }
    return status;
}

/* Before anything is executed: a recipe of a few bytes may have layers of many. */
static rp_status afford(const rp_scoring *s, rp_scorer *scorer, const rp_job_options *options, rp_error *err)
{
    const size_t rows = rp_rows_count(s->rows), blocks = rows / RP_BLOCK_ROWS, rest = rows % RP_BLOCK_ROWS;
    rp_budget budget = {.work = 0};
    rp_price price;
    rp_status status = RP_OK;

    if (blocks) {
        status = rp_scorer_price(scorer, RP_BLOCK_ROWS, &price, err);
        if (status == RP_OK)
            status = rp_budget_add(&budget, &price, blocks, options, "predictions in blocks of rows", err);
    }
    if (rest && status == RP_OK) {
        status = rp_scorer_price(scorer, rest, &price, err);
        if (status == RP_OK)
            status = rp_budget_add(&budget, &price, 1, options, "predictions of the last rows", err);
    }
    return status;
}

static rp_status score(rp_scoring *s, const rp_job_options *options, rp_error *err)
{
    void *x = rp_reallocarray(NULL, RP_BLOCK_ROWS, s->model.features * rp_dtype_size(s->model.dtype));
    rp_scorer *scorer = NULL;
    rp_status status = rp_scorer_new(&scorer, &s->model, s->run, err);

    if (status == RP_OK)
        status = afford(s, scorer, options, err);
    s->scores = rp_reallocarray(NULL, rp_rows_count(s->rows), s->model.outputs * sizeof *s->scores);
    if (status == RP_OK)
        status = x && s->scores ? score_blocks(s, scorer, x, err) : rp_no_memory(err);
    rp_scorer_free(scorer);
    rp_free(x);
    return status;
}

rp_status rp_scoring_open(rp_scoring **out, const rp_archive *archive, const rp_job_options *options, rp_error *err)
{
    rp_run_options run = rp_job_run_options(options);
    rp_scoring *s;
    rp_status status;

    *out = NULL;
    if (rp_archive_manifest(archive)->kind == RP_RUN_TEXT)
        return rp_fail(err, RP_EUNSUPPORTED,
                       "this archive is a run on a text, which has no rows: reprise continue goes on with a "
                       "text");
    if (rp_archive_manifest(archive)->kind != RP_RUN_RECIPE)
        return rp_fail(err, RP_EUNSUPPORTED,
                       "predict: this archive is a run of the C API: only recipes say how to "
                       "prepare a CSV");
    s = rp_calloc(1, sizeof *s);
    if (!s)
        return rp_no_memory(err);
    status = load_model(s, archive, err);
    if (status == RP_OK)
        status = rp_run_new(&s->run, &run, err);
    if (status == RP_OK)
        status = load_weights(s, archive, err);
    if (status != RP_OK)
        rp_scoring_free(s);
    else
        *out = s;
    return status;
}

/* What an archive holds is a table, whatever it was written from. */
static rp_status take_rows(rp_scoring *s, const void *csv, size_t size, const char *where, bool own, rp_error *err)
{
    const rp_status status = own ? RP_OK : rp_arrays_rows(&s->written, s->recipe, csv, size, where, err);

    s->csv = s->written.size ? s->written.data : csv;
    s->size = s->written.size ? s->written.size : size;
    return status;
}

rp_status rp_scoring_new(rp_scoring **out, const rp_archive *archive, const void *csv, size_t size, const char *where,
                         bool own, const rp_recipe *filter, const rp_job_options *options, rp_error *err)
{
    rp_scoring *s;
    rp_status status = rp_scoring_open(&s, archive, options, err);

    *out = NULL;
    if (status == RP_OK)
        status = take_rows(s, csv, size, where, own, err);
    if (status == RP_OK)
        status = rp_rows_open(&s->rows, s->schema, s->recipe, s->csv, s->size, where,
                              own && !filter ? s->recipe : filter, err);
    if (status == RP_OK)
        status = score(s, options, err);
    if (status != RP_OK)
        rp_scoring_free(s);
    else
        *out = s;
    return status;
}
