/* SPDX-License-Identifier: Apache-2.0
 * Runs: making them, their state and data, and these as inputs of graphs. */
#include <string.h>

#include "base/memory.h"
#include "base/handle.h"
#include "core/run/run_private.h"
#include "determinism/fpenv.h"
#include "core/run/profile/profile.h"
#include "kernels/device.h"

const char *rp_run_device_name(size_t i)
{
    return rp_device_name(i);
}

bool rp_run_device_known(const char *device)
{
    return device != NULL && rp_device_known(device);
}

static rp_status use_profile(rp_run *run, const rp_run_options *options, rp_error *err)
{
    const uint64_t workspace = options->pinned_workspace ? options->pinned_workspace : RP_PINNED_WORKSPACE;
    rp_pinned_compute compute;

    if (!rp_pinned_compute_of(&compute, options->pinned))
        return rp_fail(err, RP_EARG, "pinned: expected f32, f64, tf32 or bf16, found %.32s", options->pinned);
    if (workspace > RP_PINNED_WORKSPACE_MOST)
        return rp_fail(err, RP_EARG, "pinned_workspace: expected at most %d bytes, found %llu",
                       (int)RP_PINNED_WORKSPACE_MOST, (unsigned long long)workspace);
    return rp_device_use_pinned(run->device, compute, workspace, err);
}

rp_status rp_run_new(rp_run **out, const rp_run_options *options, rp_error *err)
{
    rp_run *run = rp_calloc(1, sizeof *run);
    rp_fpenv saved;
    rp_status status;

    *out = NULL;
    if (!run)
        return rp_no_memory(err);
    status = rp_fpenv_enter(&saved, &run->repaired, err);
    if (status == RP_OK) {
        rp_fpenv_leave(&saved);
        status = rp_device_open(&run->device, options ? options->device : NULL, options ? options->level : NULL,
                                options && options->threads ? options->threads : rp_processors(64), err);
    }
    if (status == RP_OK && options && options->pinned_workspace && !options->pinned)
        status = rp_fail(err, RP_EARG, "pinned_workspace: belongs to a run that is pinned, and pinned is NULL");
    if (status == RP_OK && options && options->pinned)
        status = use_profile(run, options, err);
    run->max_memory = options ? options->max_memory : 0;
    run->memory = options ? options->memory : 0;
    if (status == RP_OK) {
        run->arena.device = run->device;
        run->graph = rp_graph_new(run->device);
        if (!run->graph)
            status = rp_no_memory(err);
    }
    if (status == RP_OK) {
        run->graph->defers = true;
        run->graph->print_to =
            (rp_print_to){options ? options->print : NULL, options ? options->print_self : NULL, &run->steps};
        status = rp_eager_new(&run->eager, run->graph, run->max_memory ? 0 : RP_PLAN_STORED_MAX, err);
    }
    if (status != RP_OK)
        rp_run_free(run);
    else
        *out = run;
    return status;
}

void rp_run_free(rp_run *run)
{
    if (!run)
        return;
    rp_eager_free(run->eager);
    if (run->profile) /* it was not ended, and has nothing to tell */
        run->profile->run = NULL;
    rp_graph_free(run->graph);
    rp_slots_free(&run->states, run->device);
    rp_slots_free(&run->data, run->device);
    rp_slots_free(&run->feeds, run->device);
    rp_arena_release(&run->arena);
    rp_device_free(run->device);
    rp_free(run);
}

const char *rp_run_level(const rp_run *run)
{
    if (!run)
        return NULL;
    return rp_device_level(run->device);
}

unsigned rp_run_threads(const rp_run *run)
{
    if (!run)
        return 0;
    return rp_device_threads(run->device);
}

uint64_t rp_run_steps(const rp_run *run)
{
    if (!run)
        return 0;
    return run->steps;
}

static size_t slots_bytes(const rp_slots *s)
{
    size_t bytes = 0;

    for (size_t i = 0; i < s->n; i++)
        bytes += rp_type_bytes(&s->tensor[i].type);
    return bytes;
}

size_t rp_run_memory(const rp_run *run)
{
    return slots_bytes(&run->states) + slots_bytes(&run->data) + run->arena.bytes + run->own;
}

rp_device *rp_run_device(const rp_run *run)
{
    return run->device;
}

bool rp_run_fpenv_repaired(const rp_run *run)
{
    return run->repaired;
}

const rp_device_tensor *rp_run_states(const rp_run *run, size_t *n)
{
    *n = run->states.n;
    return run->states.tensor;
}

const rp_device_tensor *rp_run_data(const rp_run *run, size_t *n)
{
    *n = run->data.n;
    return run->data.tensor;
}

static rp_status check_new(rp_type *type, const rp_run *run, const char *name, rp_dtype dtype, int rank,
                           const size_t *shape, rp_error *err)
{
    rp_status status = rp_type_make(type, dtype, rank, shape, err);

    if (status == RP_OK && (run->in_step || run->steps || run->n_observers))
        return rp_fail(err, RP_EARG, "%.96s: state and data are added before the first step, and before recording",
                       name);
    if (status == RP_OK && strcmp(name, "__metadata__") == 0) /* a word of the safetensors format */
        return rp_fail(err, RP_EARG, "the name __metadata__ is reserved");
    return status;
}

static rp_status add(rp_run *run, rp_slots *s, const char *name, rp_dtype dtype, int rank, const size_t *shape,
                     const void *bytes, rp_error *err)
{
    rp_type type;
    rp_status status = check_new(&type, run, name, dtype, rank, shape, err);

    return status == RP_OK ? rp_slots_add(s, run->device, name, &type, bytes, err) : status;
}

rp_status rp_run_add_state(rp_run *run, const char *name, rp_dtype dtype, int rank, const size_t *shape,
                           const void *initial, rp_error *err)
{
    if (!run)
        return rp_no_handle(err, __func__, "run");
    return add(run, &run->states, name, dtype, rank, shape, initial, err);
}

rp_status rp_run_add_data(rp_run *run, const char *name, rp_dtype dtype, int rank, const size_t *shape,
                          const void *bytes, rp_error *err)
{
    if (!run)
        return rp_no_handle(err, __func__, "run");
    return add(run, &run->data, name, dtype, rank, shape, bytes, err);
}

rp_status rp_run_take_data(rp_run *run, const char *name, rp_dtype dtype, int rank, const size_t *shape, void *memory,
                           rp_error *err)
{
    rp_type type;
    rp_status status = check_new(&type, run, name, dtype, rank, shape, err);

    return status == RP_OK ? rp_slots_take(&run->data, run->device, name, &type, memory, err) : status;
}

rp_status rp_run_get_state(const rp_run *run, const char *name, void *bytes, size_t size, rp_error *err)
{
    if (!run)
        return rp_no_handle(err, __func__, "run");

    const rp_device_tensor *slot = rp_slots_find(&run->states, name);

    if (!slot)
        return rp_fail(err, RP_EARG, "there is no state %.96s", name);
    if (run->in_step)
        return rp_fail(err, RP_EARG, "%.96s: a step is in progress", name);
    if (size != rp_type_bytes(&slot->type))
        return rp_fail(err, RP_EARG, "%.96s: expected room for exactly %zu bytes, found %zu", name,
                       rp_type_bytes(&slot->type), size);
    return rp_slot_read(slot, bytes, err);
}

/* ---- graphs of a run ---- */

static rp_tensor slot_input(rp_graph *graph, const rp_slots *s, rp_input_kind kind, const char *name)
{
    const rp_device_tensor *slot;
    rp_tensor known;

    if (!graph || graph->status != RP_OK) /* none: of a tensor that is none */
        return rp_no_tensor();
    known = rp_graph_known(graph, kind, name);
    if (known.graph)
        return known;
    slot = rp_slots_find(s, name);
    if (!slot) {
        rp_graph_fail(graph, RP_EARG, "there is no %s %.96s", kind == RP_INPUT_STATE ? "state" : "data", name);
        return rp_no_tensor();
    }
    return rp_graph_input(graph, kind, name, &slot->type, slot->memory);
}

rp_tensor rp_graph_state(rp_graph *graph, const rp_run *run, const char *name)
{
    return slot_input(graph, &run->states, RP_INPUT_STATE, name);
}

rp_tensor rp_graph_data(rp_graph *graph, const rp_run *run, const char *name)
{
    return slot_input(graph, &run->data, RP_INPUT_DATA, name);
}
