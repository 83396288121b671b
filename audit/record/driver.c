/* SPDX-License-Identifier: Apache-2.0
 * Recipe runs and API runs behind one interface. */
#include "audit/archive/withheld.h"
#include "audit/record/driver.h"

#include <string.h>

#include "audit/record/lineage.h"
#include "audit/record/recorder.h"
#include "audit/record/rolling.h"
#include "audit/archive/safetensors.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/node.h"
#include "determinism/bits.h"

struct rp_driver {
    rp_run_kind kind;
    bool lent;         /* recipe and csv are another driver's */
    rp_recipe *recipe; /* recipe runs */
    rp_buffer csv;     /* bytes from an archive; empty when borrowed */
    const void *csv_bytes;
    size_t csv_size;
    rp_trainer *trainer;
    rp_tape *tape; /* API runs */
    uint64_t state_period, checkpoint_period;
    rp_json *parent; /* of a run of the API: what its manifest says of one, checked */
    rp_named *start; /* of a recipe with a parent: the states to start from, memory owned */
    size_t n_start;
};

/* Named tensors whose memory is owned, and whose names are not. */
static void free_named(rp_named *named, size_t n)
{
    for (size_t i = 0; named && i < n; i++)
        rp_free((void *)named[i].data);
    rp_free(named);
}

void rp_driver_free(rp_driver *d)
{
    if (!d)
        return;
    rp_trainer_free(d->trainer);
    rp_tape_free(d->tape);
    rp_json_free(d->parent);
    if (!d->lent) {
        free_named(d->start, d->n_start);
        rp_recipe_free(d->recipe);
        rp_buffer_free(&d->csv);
    }
    rp_free(d);
}

rp_status rp_driver_from_recipe(rp_driver **out, rp_recipe *recipe, const void *csv, size_t size, const char *where,
                                const rp_run_options *options, rp_error *err)
{
    rp_driver *d = rp_calloc(1, sizeof *d);
    rp_status status;

    *out = NULL;
    if (!d) {
        rp_recipe_free(recipe);
        return rp_no_memory(err);
    }
    *d = (rp_driver){.kind = RP_RUN_RECIPE, .recipe = recipe, .csv_bytes = csv, .csv_size = size};
    /* Where the table lay on this host is circumstance; in the archive it is a member, whatever its name was. */
    if (rp_json_object_set_new(rp_json_object_get(recipe->json, "data"), "csv", rp_json_string(RP_TABLE_MEMBER)) != 0) {
        rp_driver_free(d);
        return rp_no_memory(err);
    }
    d->state_period = (uint64_t)recipe->record.state_period;
    d->checkpoint_period = (uint64_t)recipe->record.checkpoint_every;
    status = rp_trainer_new(&d->trainer, recipe, csv, size, where, options, err);
    if (status != RP_OK)
        rp_driver_free(d);
    else
        *out = d;
    return status;
}

const rp_recipe *rp_driver_recipe(const rp_driver *d)
{
    return d->recipe;
}

/* ---- starting from a parent ---- */

/* The run's states that are started from, in its order, filled from the file; whatever else the file has is an error,
 * but for moments that a run that retrains does not take. */
static rp_status pick_start(rp_driver *d, const rp_safetensors *file, rp_error *err)
{
    size_t n, count = rp_trainer_start_count(d->trainer), others = 0;
    const rp_device_tensor *state = rp_run_states(rp_trainer_run(d->trainer), &n);

    d->start = rp_calloc(count, sizeof *d->start);
    if (!d->start)
        return rp_no_memory(err);
    for (size_t i = 0; i < count; i++) {
        const rp_safetensor *t = rp_safetensors_find(file, state[i].name);
        void *host;

        if (!t)
            return rp_fail(err, RP_EDATA, "%.96s of this recipe's model is not among the states to start from",
                           state[i].name);
        host = rp_malloc(t->size ? t->size : 1);
        if (!host)
            return rp_no_memory(err);
        rp_to_host(host, t->data, t->dtype, t->size / rp_dtype_size(t->dtype));
        d->start[d->n_start++] =
            (rp_named){.name = state[i].name, .type = {.dtype = t->dtype, .rank = t->rank}, .data = host};
        memcpy(d->start[i].type.shape, t->shape, sizeof t->shape);
    }
    for (size_t i = 0; i < file->count; i++)
        others += !d->recipe->parent.retrain || strncmp(file->tensor[i].name, "optim.", 6) != 0;
    if (others != count)
        return rp_fail(err, RP_EDATA, "%zu states to start from, but this recipe's model has %zu", others, count);
    return rp_trainer_start_from(d->trainer, d->start, d->n_start, err);
}

rp_status rp_driver_start_from(rp_driver *d, const char *archive_id, uint64_t updates, const void *file, size_t size,
                               const char *where, rp_error *err)
{
    rp_safetensors *parsed = NULL;
    rp_status status = rp_safetensors_parse(&parsed, file, size, where, err);

    if (status == RP_OK)
        status = pick_start(d, parsed, err);
    if (status == RP_OK)
        status = rp_recipe_set_parent(d->recipe, archive_id, updates, err);
    rp_safetensors_free(parsed);
    return status;
}

static rp_status start_from_archive(rp_driver *d, const rp_archive *archive, rp_error *err)
{
    rp_buffer file = {0};
    rp_status status = rp_archive_read_member(archive, RP_START_MEMBER, SIZE_MAX / 2, &file, err);

    if (status == RP_OK)
        status = rp_driver_start_from(d, d->recipe->parent.archive, (uint64_t)d->recipe->parent.updates, file.data,
                                      file.size, RP_START_MEMBER, err);
    rp_buffer_free(&file);
    return status == RP_EDATA ? rp_fail_at(err, RP_EFORMAT, RP_START_MEMBER) : status;
}

/* weights/start.safetensors, and in the manifest whose states they are. */
static rp_status add_start(const rp_driver *d, rp_archive_writer *writer, rp_json *run, rp_error *err)
{
    const rp_recipe *recipe = d->recipe;
    rp_safetensor *tensor = rp_calloc(d->n_start, sizeof *tensor);
    rp_buffer file = {0};
    char hex[RP_DIGEST_HEX];
    rp_digest digest;
    rp_status status = tensor ? RP_OK : rp_no_memory(err);

    for (size_t i = 0; i < d->n_start && status == RP_OK; i++) {
        tensor[i] = (rp_safetensor){.name = d->start[i].name,
                                    .dtype = d->start[i].type.dtype,
                                    .rank = d->start[i].type.rank,
                                    .data = d->start[i].data};
        memcpy(tensor[i].shape, d->start[i].type.shape, sizeof tensor->shape);
    }
    if (status == RP_OK)
        status = rp_safetensors_write(&file, tensor, d->n_start, NULL, 0, err);
    if (status == RP_OK)
        status = rp_archive_writer_add(writer, RP_START_MEMBER, file.data, file.size, err);
    if (status == RP_OK)
        status = rp_named_tensors_digest(&digest, d->start, d->n_start, NULL, err);
    if (status == RP_OK) {
        rp_digest_hex(hex, &digest);
        if (rp_json_object_set_new(
                run, "parent", rp_json_pack("{s:s, s:s}", "archive_id", recipe->parent.archive, "states", hex)) != 0)
            status = rp_no_memory(err);
    }
    rp_buffer_free(&file);
    rp_free(tensor);
    return status;
}

static rp_status recipe_from_archive(rp_driver *d, const rp_archive *archive, const rp_run_options *options,
                                     rp_error *err)
{
    rp_json *json = NULL;
    rp_status status = rp_archive_read_json(archive, RP_RECIPE_MEMBER, &json, err);

    if (status == RP_OK)
        status = rp_recipe_from_json(&d->recipe, json, RP_RECIPE_MEMBER, err);
    rp_json_free(json);
    if (status == RP_OK && strcmp(d->recipe->data.csv, RP_TABLE_MEMBER) != 0)
        status = rp_fail(err, RP_EFORMAT, RP_RECIPE_MEMBER ": data.csv: expected data/raw.csv, found another path");
    if (status == RP_OK)
        status = rp_archive_read_member(archive, RP_TABLE_MEMBER, SIZE_MAX / 2, &d->csv, err);
    d->csv_bytes = d->csv.data;
    d->csv_size = d->csv.size;
    if (status == RP_OK)
        status = rp_trainer_new(&d->trainer, d->recipe, d->csv_bytes, d->csv_size, RP_TABLE_MEMBER, options, err);
    return status == RP_OK && d->recipe->parent.archive ? start_from_archive(d, archive, err) : status;
}

rp_status rp_archive_state_period(const rp_archive *archive, uint64_t *out, rp_error *err)
{
    const rp_json *run = rp_archive_manifest(archive)->run, *period = rp_json_object_get(run, "state_period");
    int64_t value = period ? rp_json_integer_value(period) : 1;

    if (period && (!rp_json_is_integer(period) || value < 2 || value > RP_ROLLING_PERIOD_MAX))
        return rp_fail(err, RP_EFORMAT, RP_MANIFEST_NAME ": run.state_period: expected an integer from 2 to %d",
                       RP_ROLLING_PERIOD_MAX);
    *out = (uint64_t)value;
    return RP_OK;
}

rp_status rp_archive_checkpoint_period(const rp_archive *archive, uint64_t *out, rp_error *err)
{
    const rp_json *run = rp_archive_manifest(archive)->run, *period = rp_json_object_get(run, "checkpoint_every");
    int64_t value = period ? rp_json_integer_value(period) : 0;

    if (period && (!rp_json_is_integer(period) || value < 1 || value > 1000000000))
        return rp_fail(err, RP_EFORMAT,
                       RP_MANIFEST_NAME ": run.checkpoint_every: expected an integer from 1 to 1000000000");
    *out = (uint64_t)value;
    return RP_OK;
}

/* The manifest says it only where there are checkpoints, the recipe always. */
static rp_status settle_periods(rp_driver *d, rp_error *err)
{
    const uint64_t said = d->checkpoint_period, meant = d->recipe ? (uint64_t)d->recipe->record.checkpoint_every : said;

    if (d->recipe && d->state_period != (uint64_t)d->recipe->record.state_period)
        return rp_fail(err, RP_EFORMAT, RP_MANIFEST_NAME ": run.state_period is %llu, but the recipe says %lld",
                       (unsigned long long)d->state_period, (long long)d->recipe->record.state_period);
    if (said && said != meant)
        return rp_fail(err, RP_EFORMAT, RP_MANIFEST_NAME ": run.checkpoint_every is %llu, but the recipe says %llu",
                       (unsigned long long)said, (unsigned long long)meant);
    d->checkpoint_period = meant;
    return RP_OK;
}

rp_status rp_driver_from_archive(rp_driver **out, const rp_archive *archive, const rp_run_options *options,
                                 rp_error *err)
{
    rp_driver *d = rp_calloc(1, sizeof *d);
    rp_status status;

    *out = NULL;
    if (!d)
        return rp_no_memory(err);
    d->kind = rp_archive_manifest(archive)->kind;
    status = rp_archive_inputs_present(archive, err);
    if (status == RP_OK)
        status = rp_archive_state_period(archive, &d->state_period, err);
    if (status == RP_OK)
        status = rp_archive_checkpoint_period(archive, &d->checkpoint_period, err);
    if (status == RP_OK)
        status = d->kind == RP_RUN_RECIPE ? recipe_from_archive(d, archive, options, err)
                                          : rp_tape_open(&d->tape, archive, options, err);
    if (status == RP_OK && d->tape)
        status = rp_api_parent_read(&d->parent, archive, rp_tape_run(d->tape), err);
    if (status == RP_OK)
        status = settle_periods(d, err);
    if (status != RP_OK)
        rp_driver_free(d);
    else
        *out = d;
    return status;
}

rp_status rp_driver_clone(rp_driver **out, const rp_driver *from, const rp_archive *archive,
                          const rp_run_options *options, rp_error *err)
{
    rp_driver *d;
    rp_status status;

    if (!from->trainer)
        return rp_driver_from_archive(out, archive, options, err);
    *out = NULL;
    d = rp_calloc(1, sizeof *d);
    if (!d)
        return rp_no_memory(err);
    *d = *from;
    d->lent = true;
    d->trainer = NULL;
    status = rp_trainer_clone(&d->trainer, from->trainer, options, err);
    if (status != RP_OK)
        rp_driver_free(d);
    else
        *out = d;
    return status;
}

rp_run *rp_driver_run(const rp_driver *d)
{
    return d->trainer ? rp_trainer_run(d->trainer) : rp_tape_run(d->tape);
}

rp_run_kind rp_driver_kind(const rp_driver *d)
{
    return d->kind;
}

uint64_t rp_driver_state_period(const rp_driver *d)
{
    return d->state_period;
}

uint64_t rp_driver_checkpoint_period(const rp_driver *d)
{
    return d->checkpoint_period;
}

uint64_t rp_driver_total(const rp_driver *d)
{
    return d->trainer ? rp_trainer_total(d->trainer) : rp_tape_total(d->tape);
}

rp_status rp_driver_check_feeds(const rp_driver *d, rp_error *err)
{
    return d->tape ? rp_tape_check_feeds(d->tape, err) : RP_OK;
}

rp_status rp_driver_step(rp_driver *d, rp_error *err)
{
    return d->trainer ? rp_trainer_step(d->trainer, err) : rp_tape_step(d->tape, err);
}

/* The tensors of a checkpoint in host order: bytes of named[i] are named[i].data's, to be freed. */
static rp_status host_tensors(const rp_safetensors *file, rp_named *named, rp_error *err)
{
    for (size_t i = 0; i < file->count; i++) {
        const rp_safetensor *t = &file->tensor[i];
        void *host = rp_malloc(t->size ? t->size : 1);

        if (!host)
            return rp_no_memory(err);
        rp_to_host(host, t->data, t->dtype, t->size / rp_dtype_size(t->dtype));
        named[i] = (rp_named){.name = t->name, .type = {.dtype = t->dtype, .rank = t->rank}, .data = host};
        memcpy(named[i].type.shape, t->shape, sizeof t->shape);
    }
    return RP_OK;
}

rp_status rp_driver_restore(rp_driver *d, uint64_t step, const void *bytes, size_t size, const char *where,
                            rp_error *err)
{
    rp_safetensors *file = NULL;
    rp_named *named = NULL;
    rp_status status = rp_safetensors_parse(&file, bytes, size, where, err);

    if (status == RP_OK) {
        named = rp_calloc(file->count ? file->count : 1, sizeof *named);
        status = named ? host_tensors(file, named, err) : rp_no_memory(err);
    }
    if (status == RP_OK) {
        status = (d->trainer ? rp_trainer_restore(d->trainer, step, named, file->count, err)
                             : rp_tape_restore(d->tape, step, named, file->count, err));
        if (status == RP_EDATA || status == RP_EARG)
            status = rp_fail_at(err, RP_EFORMAT, "%s", where);
    }
    for (size_t i = 0; named && i < file->count; i++)
        rp_free((void *)named[i].data);
    rp_free(named);
    rp_safetensors_free(file);
    return status;
}

/* Every state of the run: zeros, but for those in the file. */
static rp_status with_zeros(const rp_run *run, const rp_safetensors *file, rp_named *state, rp_error *err)
{
    size_t n;
    const rp_device_tensor *slot = rp_run_states(run, &n);

    for (size_t i = 0; i < n; i++) {
        const size_t bytes = rp_type_bytes(&slot[i].type);
        const rp_safetensor *t = rp_safetensors_find(file, slot[i].name);
        void *host = rp_calloc(bytes ? bytes : 1, 1);

        if (!host)
            return rp_no_memory(err);
        state[i] = (rp_named){slot[i].name, slot[i].type, host};
        if (!t && strncmp(slot[i].name, "optim.", 6) != 0)
            return rp_fail(err, RP_EFORMAT, "%.96s is missing", slot[i].name);
        if (t && (t->size != bytes || t->dtype != slot[i].type.dtype))
            return rp_fail(err, RP_EFORMAT, "%.96s has another shape or dtype", slot[i].name);
        if (t)
            rp_to_host(host, t->data, t->dtype, t->size / rp_dtype_size(t->dtype));
    }
    return RP_OK;
}

rp_status rp_driver_restore_final(rp_driver *d, const rp_archive *archive, rp_error *err)
{
    static const char member[] = RP_FINAL_MEMBER;
    rp_buffer bytes = {0};
    rp_safetensors *file = NULL;
    rp_named *state = NULL;
    size_t n;
    rp_status status = rp_archive_read_member(archive, member, SIZE_MAX / 2, &bytes, err);

    (void)rp_run_states(rp_driver_run(d), &n);
    if (status == RP_OK)
        status = rp_safetensors_parse(&file, bytes.data, bytes.size, member, err);
    if (status == RP_OK) {
        state = rp_calloc(n, sizeof *state);
        status = state ? with_zeros(rp_driver_run(d), file, state, err) : rp_no_memory(err);
        status = status == RP_EFORMAT ? rp_fail_at(err, status, "%s", member) : status;
    }
    if (status == RP_OK)
        status = rp_trainer_restore(d->trainer, rp_trainer_training_steps(d->trainer) + 1, state, n, err);
    for (size_t i = 0; state && i < n; i++)
        rp_free((void *)state[i].data);
    rp_free(state);
    rp_safetensors_free(file);
    rp_buffer_free(&bytes);
    return status;
}

float rp_driver_loss(const rp_driver *d)
{
    return d->trainer ? rp_trainer_loss(d->trainer) : 0;
}

rp_status rp_driver_add_init(rp_driver *d, rp_archive_writer *writer, rp_error *err)
{
    return d->trainer ? rp_recorder_add_states(writer, RP_INIT_MEMBER, rp_driver_run(d), false, err) : RP_OK;
}

/* What the readers of a member take; the others have no readers that parse them. */
static rp_status check_readable(const char *member, const rp_buffer *text, rp_error *err)
{
    static const struct {
        const char *member;
        size_t memory;
    } limits[] = {
        {RP_RECIPE_MEMBER, RP_JSON_MEMORY},
        {RP_SCHEMA_MEMBER, RP_JSON_MEMORY},
        {RP_METRICS_MEMBER, RP_JSON_METRICS_MEMORY},
    };

    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        if (strcmp(member, limits[i].member) != 0)
            continue;
        if (text->size > rp_member_kind_of(member)->held)
            return rp_fail(err, RP_EARG, "%s: would take %zu bytes, archives have room for %zu", member, text->size,
                           (size_t)rp_member_kind_of(member)->held);
        if (rp_json_memory(text->data, text->size) > limits[i].memory)
            return rp_fail(err, RP_EARG,
                           "%s: its values would take more than the %zu MiB of memory that readers give them", member,
                           limits[i].memory >> 20);
    }
    return RP_OK;
}

static rp_status add_json(rp_archive_writer *writer, const char *member, const rp_json *json, rp_error *err)
{
    rp_buffer text = {0};
    rp_status status = rp_json_write(json, &text, err);

    if (status == RP_OK)
        status = check_readable(member, &text, err);
    if (status == RP_OK)
        status = rp_archive_writer_add(writer, member, text.data, text.size, err);
    rp_buffer_free(&text);
    return status;
}

/* data/prepared.json: what preparation made of the raw data, as digests: replay prepares again and compares. */
static rp_status add_prepared(const rp_driver *d, rp_archive_writer *writer, rp_error *err)
{
    size_t n;
    const rp_device_tensor *data = rp_run_data(rp_driver_run(d), &n);
    rp_json *json = rp_json_object();
    rp_status status = json ? RP_OK : rp_no_memory(err);

    for (size_t i = 0; i < n && status == RP_OK; i++) {
        char hex[RP_DIGEST_HEX];
        rp_digest digest;
        rp_json *shape = rp_json_array();
        int failed = shape == NULL;

        status = rp_device_tensor_digests(&digest, &data[i], 1, NULL, err);
        rp_digest_hex(hex, &digest);
        for (int k = 0; k < data[i].type.rank; k++)
            failed |= rp_json_array_append_new(shape, rp_json_integer((int64_t)data[i].type.shape[k]));
        failed |= rp_json_object_set_new(
            json, data[i].name,
            rp_json_pack("{s:s,s:s,s:O}", "digest", hex, "dtype", rp_dtype_name(data[i].type.dtype), "shape", shape));
        rp_json_free(shape);
        if (status == RP_OK && failed)
            status = rp_no_memory(err);
    }
    if (status == RP_OK)
        status = add_json(writer, RP_PREPARED_MEMBER, json, err);
    rp_json_free(json);
    return status;
}

rp_status rp_driver_add_known(const rp_driver *d, rp_archive_writer *writer, bool data, rp_error *err)
{
    rp_status status = add_json(writer, RP_RECIPE_MEMBER, d->recipe->json, err);

    if (status == RP_OK)
        status = add_json(writer, RP_SCHEMA_MEMBER, rp_trainer_dataset(d->trainer)->schema->json, err);
    if (status == RP_OK && data)
        status = rp_archive_writer_add(writer, RP_TABLE_MEMBER, d->csv_bytes, d->csv_size, err);
    return status == RP_OK && data ? add_prepared(d, writer, err) : status;
}

static rp_status add_recipe_members(rp_driver *d, rp_archive_writer *writer, rp_json *run, rp_error *err)
{
    rp_buffer predictions = {0};
    rp_json *metrics = NULL;
    rp_status status = rp_driver_add_known(d, writer, true, err);

    if (status == RP_OK)
        status = rp_recorder_add_states(writer, RP_FINAL_MEMBER, rp_driver_run(d), false, err);
    if (status == RP_OK)
        status = rp_trainer_metrics(d->trainer, &metrics, err);
    if (status == RP_OK)
        status = add_json(writer, RP_METRICS_MEMBER, metrics, err);
    if (status == RP_OK)
        status = rp_trainer_predictions(d->trainer, &predictions, err);
    if (status == RP_OK)
        status = rp_archive_writer_add(writer, RP_PREDICTIONS_MEMBER, predictions.data, predictions.size, err);
    if (status == RP_OK && rp_json_object_set_new(run, "training_steps",
                                                  rp_json_integer((int64_t)rp_trainer_training_steps(d->trainer))) != 0)
        status = rp_no_memory(err);
    if (status == RP_OK && d->recipe->parent.archive)
        status = add_start(d, writer, run, err);
    rp_json_free(metrics);
    rp_buffer_free(&predictions);
    return status;
}

rp_status rp_driver_add_members(rp_driver *d, rp_archive_writer *writer, rp_json *run, rp_error *err)
{
    rp_status status;

    if (d->trainer)
        return add_recipe_members(d, writer, run, err);
    status = rp_add_data_tensors(writer, rp_driver_run(d), err);
    if (status == RP_OK)
        status = rp_recorder_add_states(writer, RP_FINAL_MEMBER, rp_driver_run(d), true, err);
    if (status == RP_OK && d->parent && rp_json_object_set(run, "parent", d->parent) != 0)
        status = rp_no_memory(err);
    return status;
}

rp_status rp_driver_metrics(const rp_driver *d, char **out, rp_error *err)
{
    rp_json *json = NULL;
    rp_buffer text = {0};
    rp_status status = RP_OK;

    *out = NULL;
    if (d->trainer) {
        status = rp_trainer_metrics(d->trainer, &json, err);
        if (status == RP_OK)
            status = rp_json_write(json, &text, err);
        rp_json_free(json);
    } else {
        rp_buffer_text(&text, "{}");
    }
    if (status == RP_OK) {
        rp_buffer_u8(&text, 0);
        status = rp_buffer_status(&text, err);
    }
    if (status != RP_OK)
        rp_buffer_free(&text);
    else
        *out = (char *)text.data;
    return status;
}
