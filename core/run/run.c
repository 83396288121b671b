/* SPDX-License-Identifier: Apache-2.0
 * Runs: state and data slots, eager steps, and telling observers. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "core/run/run_private.h"
#include "determinism/bits.h"
#include "determinism/fpenv.h"

static void slots_clear(rp_slots *s, rp_device *device)
{
    for (size_t i = 0; i < s->n; i++) {
        rp_device_release(device, (void *)s->named[i].data);
        rp_free((char *)s->named[i].name);
    }
    s->n = 0;
}

const rp_named *rp_slot_find(const rp_slots *s, const char *name)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->named[i].name, name) == 0)
            return &s->named[i];
    return NULL;
}

static rp_status type_of(rp_type *type, rp_dtype dtype, int rank, const size_t *shape, rp_error *err)
{
    size_t bytes = rp_dtype_size(dtype);

    *type = (rp_type){.dtype = dtype, .rank = rank};
    if (bytes == 0 || rank < 0 || rank > RP_MAX_RANK)
        return rp_fail(err, RP_EARG, "expected a dtype of rp/dtype.h and a rank of 0 to %d", RP_MAX_RANK);
    for (int i = 0; i < rank; i++) {
        if (shape[i] && bytes > ((size_t)1 << 42) / shape[i])
            return rp_fail(err, RP_EARG, "a tensor of more than 2^42 bytes");
        type->shape[i] = shape[i];
        bytes *= shape[i] ? shape[i] : 1;
    }
    return RP_OK;
}

/* CONTRACT 2: what comes in and what is read out has canonical NaNs and bools of 0 or 1, as the archive has them. */
static void canonicalise(void *bytes, const rp_type *type)
{
    size_t count = rp_type_count(type);

    if (type->dtype == RP_F32)
        for (size_t i = 0; i < count; i++)
            ((float *)bytes)[i] = rp_canonical_f32(((float *)bytes)[i]);
    else if (type->dtype == RP_F64)
        for (size_t i = 0; i < count; i++)
            ((double *)bytes)[i] = rp_canonical_f64(((double *)bytes)[i]);
    else if (type->dtype == RP_BF16)
        for (size_t i = 0; i < count; i++)
            ((uint16_t *)bytes)[i] = rp_canonical_bf16(((uint16_t *)bytes)[i]);
    else if (type->dtype == RP_BOOL)
        for (size_t i = 0; i < count; i++)
            ((unsigned char *)bytes)[i] = ((unsigned char *)bytes)[i] != 0;
}

/* Adds a slot with its own memory, filled from bytes or zeros. */
static rp_status slot_add(rp_slots *s, rp_device *device, const char *name, const rp_type *type, const void *bytes,
                          rp_error *err)
{
    size_t size = rp_type_bytes(type);
    rp_named slot = {.type = *type};
    void *memory = NULL;
    rp_status status;

    if (!rp_name_valid(name))
        return rp_fail(err, RP_EARG, "a name must be 1 to %d of [A-Za-z0-9._-]", RP_NAME_MAX - 1);
    if (rp_slot_find(s, name))
        return rp_fail(err, RP_EARG, "%s is given twice", name);
    if (s->n == s->capacity) {
        size_t wanted = s->capacity ? 2 * s->capacity : 8;
        rp_named *bigger = rp_reallocarray(s->named, wanted, sizeof *bigger);

        if (!bigger)
            return rp_no_memory(err);
        s->named = bigger;
        s->capacity = wanted;
    }
    slot.name = rp_strdup(name);
    if (!slot.name)
        return rp_no_memory(err);
    status = rp_device_allocate(device, &memory, size ? size : 1, err);
    if (status == RP_OK) {
        void *settled = rp_calloc(size ? size : 1, 1);

        if (settled && bytes && size)
            memcpy(settled, bytes, size);
        if (settled)
            canonicalise(settled, type);
        status = settled ? rp_device_upload(device, memory, settled, size, NULL, err) : rp_no_memory(err);
        if (status == RP_OK)
            status = rp_device_synchronize(device, NULL, err);
        rp_free(settled);
    }
    if (status != RP_OK) {
        if (memory)
            rp_device_release(device, memory);
        rp_free((char *)slot.name);
        return status;
    }
    slot.data = memory;
    s->named[s->n++] = slot;
    return RP_OK;
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
    if (status == RP_OK) {
        run->graph = rp_graph_new(run->device);
        if (!run->graph)
            status = rp_no_memory(err);
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
    rp_graph_free(run->graph);
    slots_clear(&run->states, run->device);
    slots_clear(&run->data, run->device);
    slots_clear(&run->feeds, run->device);
    rp_free(run->states.named);
    rp_free(run->data.named);
    rp_free(run->feeds.named);
    rp_device_free(run->device);
    rp_free(run);
}

const char *rp_run_level(const rp_run *run)
{
    return rp_device_level(run->device);
}

unsigned rp_run_threads(const rp_run *run)
{
    return rp_device_threads(run->device);
}

uint64_t rp_run_steps(const rp_run *run)
{
    return run->steps;
}

rp_device *rp_run_device(const rp_run *run)
{
    return run->device;
}

bool rp_run_fpenv_repaired(const rp_run *run)
{
    return run->repaired;
}

const rp_named *rp_run_states(const rp_run *run, size_t *n)
{
    *n = run->states.n;
    return run->states.named;
}

const rp_named *rp_run_data(const rp_run *run, size_t *n)
{
    *n = run->data.n;
    return run->data.named;
}

rp_status rp_run_observe(rp_run *run, rp_observer observer, rp_error *err)
{
    return rp_run_observe_beside(run, observer, NULL, err);
}

rp_status rp_run_observe_beside(rp_run *run, rp_observer observer, rp_settle *settle, rp_error *err)
{
    if (run->n_observers == OBSERVERS_MAX)
        return rp_fail(err, RP_EARG, "a run has at most %d observers", OBSERVERS_MAX);
    run->settle[run->n_observers] = settle;
    run->observer[run->n_observers++] = observer;
    return RP_OK;
}

void rp_run_unobserve(rp_run *run, const void *self)
{
    size_t kept = 0;

    for (size_t i = 0; i < run->n_observers; i++)
        if (run->observer[i].self != self) {
            run->settle[kept] = run->settle[i];
            run->observer[kept++] = run->observer[i];
        }
    run->n_observers = kept;
}

static rp_status add(rp_run *run, rp_slots *s, const char *name, rp_dtype dtype, int rank, const size_t *shape,
                     const void *bytes, rp_error *err)
{
    rp_type type;
    rp_status status = type_of(&type, dtype, rank, shape, err);

    if (status == RP_OK && (run->in_step || run->steps || run->n_observers))
        return rp_fail(err, RP_EARG, "%.96s: state and data are added before the first step, and before recording",
                       name);
    if (status == RP_OK && strcmp(name, "__metadata__") == 0) /* a word of the safetensors format */
        return rp_fail(err, RP_EARG, "the name __metadata__ is reserved");
    return status == RP_OK ? slot_add(s, run->device, name, &type, bytes, err) : status;
}

rp_status rp_run_add_state(rp_run *run, const char *name, rp_dtype dtype, int rank, const size_t *shape,
                           const void *initial, rp_error *err)
{
    return add(run, &run->states, name, dtype, rank, shape, initial, err);
}

rp_status rp_run_add_data(rp_run *run, const char *name, rp_dtype dtype, int rank, const size_t *shape,
                          const void *bytes, rp_error *err)
{
    return add(run, &run->data, name, dtype, rank, shape, bytes, err);
}

rp_status rp_run_get_state(const rp_run *run, const char *name, void *bytes, size_t size, rp_error *err)
{
    const rp_named *slot = rp_slot_find(&run->states, name);
    rp_status status;

    if (!slot)
        return rp_fail(err, RP_EARG, "there is no state %.96s", name);
    if (run->in_step)
        return rp_fail(err, RP_EARG, "%.96s: a step is in progress", name);
    if (size != rp_type_bytes(&slot->type))
        return rp_fail(err, RP_EARG, "%.96s: expected room for exactly %zu bytes, found %zu", name,
                       rp_type_bytes(&slot->type), size);
    status = rp_device_read(run->device, bytes, slot->data, size, NULL, err);
    if (status == RP_OK)
        canonicalise(bytes, &slot->type);
    return status;
}

static rp_status restore_slot(rp_run *run, const rp_named *slot, const rp_named *from, rp_error *err)
{
    size_t size = rp_type_bytes(&slot->type);
    void *settled;
    rp_status status;

    if (!rp_type_equal(&slot->type, &from->type))
        return rp_fail(err, RP_EDATA, "state %.96s has another shape or dtype", slot->name);
    settled = rp_malloc(size ? size : 1);
    if (!settled)
        return rp_no_memory(err);
    if (size)
        memcpy(settled, from->data, size);
    canonicalise(settled, &slot->type);
    status = rp_device_upload(run->device, (void *)slot->data, settled, size, NULL, err);
    if (status == RP_OK)
        status = rp_device_synchronize(run->device, NULL, err);
    rp_free(settled);
    return status;
}

rp_status rp_run_restore(rp_run *run, uint64_t steps, const rp_named *state, size_t n, rp_error *err)
{
    rp_status status = RP_OK;

    if (run->in_step)
        return rp_fail(err, RP_EARG, "a step is in progress");
    if (n != run->states.n)
        return rp_fail(err, RP_EDATA, "expected %zu states, found %zu", run->states.n, n);
    status = rp_run_settle(run, err); /* someone may still be reading the old ones */
    for (size_t i = 0; i < n && status == RP_OK; i++) {
        const rp_named *from = NULL, *slot = &run->states.named[i];

        for (size_t k = 0; k < n && !from; k++)
            from = strcmp(state[(i + k) % n].name, slot->name) == 0 ? &state[(i + k) % n] : NULL;
        status =
            from ? restore_slot(run, slot, from, err) : rp_fail(err, RP_EDATA, "state %.96s is missing", slot->name);
    }
    if (status == RP_OK)
        run->steps = steps;
    return status;
}

void rp_run_set_quiet(rp_run *run, bool quiet)
{
    run->quiet = quiet;
}

/* ---- graphs of a run ---- */

static rp_tensor slot_input(rp_graph *graph, const rp_slots *s, rp_input_kind kind, const char *name)
{
    const rp_named *slot;
    rp_tensor known;

    if (graph->status != RP_OK)
        return rp_no_tensor();
    known = rp_graph_known(graph, kind, name);
    if (known.graph)
        return known;
    slot = rp_slot_find(s, name);
    if (!slot) {
        rp_graph_fail(graph, RP_EARG, "there is no %s %.96s", kind == RP_INPUT_STATE ? "state" : "data", name);
        return rp_no_tensor();
    }
    return rp_graph_input(graph, kind, name, &slot->type, (void *)slot->data);
}

rp_tensor rp_graph_state(rp_graph *graph, const rp_run *run, const char *name)
{
    return slot_input(graph, &run->states, RP_INPUT_STATE, name);
}

rp_tensor rp_graph_data(rp_graph *graph, const rp_run *run, const char *name)
{
    return slot_input(graph, &run->data, RP_INPUT_DATA, name);
}

/* ---- eager steps ---- */

rp_status rp_run_given_up(rp_error *err)
{
    return rp_fail(err, RP_EARG, "the run was given up: an observer (the recorder) failed at an earlier step");
}

rp_status rp_step_begin(rp_run *run, rp_error *err)
{
    if (run->in_step)
        return rp_fail(err, RP_EARG, "a step is already in progress: call rp_step_end first");
    if (run->given_up)
        return rp_run_given_up(err);
    slots_clear(&run->feeds, run->device);
    rp_graph_reset(run->graph);
    run->in_step = true;
    run->reads = 0;
    return RP_OK;
}

rp_graph *rp_step_graph(rp_run *run)
{
    return run->graph;
}

static bool stepping(rp_run *run)
{
    if (!run->in_step)
        rp_graph_fail(run->graph, RP_EARG, "no step is in progress: call rp_step_begin first");
    return run->in_step;
}

rp_tensor rp_state(rp_run *run, const char *name)
{
    return stepping(run) ? rp_graph_state(run->graph, run, name) : rp_no_tensor();
}

rp_tensor rp_data(rp_run *run, const char *name)
{
    return stepping(run) ? rp_graph_data(run->graph, run, name) : rp_no_tensor();
}

rp_tensor rp_feed(rp_run *run, const char *name, rp_dtype dtype, int rank, const size_t *shape, const void *bytes)
{
    rp_graph *graph = run->graph;
    rp_type type;

    if (!stepping(run) || graph->status != RP_OK)
        return rp_no_tensor();
    graph->status = type_of(&type, dtype, rank, shape, &graph->error);
    if (graph->status == RP_OK)
        graph->status = slot_add(&run->feeds, run->device, name, &type, bytes, &graph->error);
    if (graph->status != RP_OK)
        return rp_no_tensor();
    return rp_graph_input(graph, RP_INPUT_FEED, name, &type, (void *)run->feeds.named[run->feeds.n - 1].data);
}

void rp_set_state(rp_run *run, const char *name, rp_tensor value)
{
    const rp_named *slot = rp_slot_find(&run->states, name);

    if (!stepping(run) || run->graph->status != RP_OK)
        return;
    if (!slot)
        rp_graph_fail(run->graph, RP_EARG, "there is no state %.96s", name);
    else if (rp_tensor_ok(value) && !rp_type_equal(rp_tensor_type(value), &slot->type))
        rp_graph_fail(run->graph, RP_ESHAPE, "state %.96s: the new value has another shape or dtype", name);
    /* the program must know the old value to be complete on its own */
    (void)rp_state(run, name);
    rp_graph_set(run->graph, RP_OUTPUT_STATE, name, value);
}

void rp_result(rp_run *run, const char *name, rp_tensor value)
{
    if (!stepping(run))
        return;
    if (strncmp(name, "read.", 5) == 0)
        rp_graph_fail(run->graph, RP_EARG, "result %.96s: names that begin with \"read.\" are those of rp_read", name);
    rp_graph_set(run->graph, RP_OUTPUT_RESULT, name, value);
}

rp_status rp_read(rp_run *run, rp_tensor x, void *bytes, size_t size, rp_error *err)
{
    rp_graph *graph = run->graph;
    char name[32];
    rp_tensor own;
    rp_status status;

    if (!stepping(run))
        return rp_graph_status(graph, err);
    own = x.graph == graph ? rp_graph_own(x) : x;
    (void)snprintf(name, sizeof name, "read.%u", run->reads++);
    rp_graph_output(graph, RP_OUTPUT_RESULT, name, own);
    if (graph->status == RP_OK && size != rp_type_bytes(rp_tensor_type(own)))
        rp_graph_fail(graph, RP_EARG, "rp_read: expected room for exactly %zu bytes, found %zu",
                      rp_type_bytes(rp_tensor_type(own)), size);
    if (rp_graph_status(graph, err) != RP_OK)
        return graph->status;
    status = rp_device_read(run->device, bytes, graph->view[own.value].data, size, NULL, err);
    if (status == RP_OK)
        canonicalise(bytes, rp_tensor_type(own));
    return status;
}

/* ---- observers ---- */

rp_status rp_run_tell(rp_run *run, const rp_program *p, uint64_t compiled, rp_memory_at *at, const void *arg,
                      rp_error *err)
{
    rp_named *named;
    rp_step_event event = {
        .step = run->steps, .program = p, .compiled = compiled, .state = run->states.named, .n_states = run->states.n};
    rp_status status = RP_OK;
    size_t n = 0;

    if (run->n_observers == 0 || run->quiet)
        return RP_OK;
    named = rp_malloc((p->n_inputs + p->n_outputs) * sizeof *named);
    if (!named)
        return rp_no_memory(err);
    event.feed = named;
    for (size_t i = 0; i < p->n_inputs; i++)
        if (p->input[i].kind == RP_INPUT_FEED)
            named[n++] = (rp_named){p->input[i].name, p->value[p->input[i].value], at(arg, i, false)};
    event.n_feeds = n;
    event.result = named + n;
    for (size_t i = 0; i < p->n_outputs; i++)
        if (p->output[i].kind == RP_OUTPUT_RESULT)
            named[n++] = (rp_named){p->output[i].name, p->value[p->output[i].value], at(arg, i, true)};
    event.n_results = n - event.n_feeds;
    for (size_t i = 0; i < run->n_observers && status == RP_OK; i++)
        status = run->observer[i].step(run->observer[i].self, &event, err);
    run->given_up = status != RP_OK;
    rp_free(named);
    return status;
}

rp_status rp_run_settle(void *self, rp_error *err)
{
    rp_run *run = self;
    rp_status status = RP_OK;

    for (size_t i = 0; i < run->n_observers && status == RP_OK; i++)
        if (run->settle[i])
            status = run->settle[i](run->observer[i].self, err);
    run->given_up = run->given_up || status != RP_OK;
    return status;
}

static const void *eager_memory(const void *arg, size_t index, bool output)
{
    const rp_graph *graph = arg;
    const rp_program *p = graph->program;

    return graph->view[output ? p->output[index].value : p->input[index].value].data;
}

/* All new values exist by now, so the order of copying does not matter. */
static rp_status commit_states(rp_run *run, rp_error *err)
{
    const rp_graph *graph = run->graph;
    const rp_program *p = graph->program;
    rp_status status = rp_run_settle(run, err);

    for (size_t i = 0; i < p->n_outputs && status == RP_OK; i++)
        if (p->output[i].kind == RP_OUTPUT_STATE) {
            const rp_named *slot = rp_slot_find(&run->states, p->output[i].name);
            rp_view to = rp_view_of(&slot->type, (void *)slot->data);

            status = rp_execute_copy(run->device, &graph->view[p->output[i].value], &to, err);
        }
    return status == RP_OK ? rp_execute_settle(run->device, p, err) : status;
}

rp_status rp_step_end(rp_run *run, rp_error *err)
{
    rp_status status;

    if (!run->in_step)
        return rp_fail(err, RP_EARG, "no step is in progress: call rp_step_begin first");
    run->in_step = false;
    status = rp_graph_status(run->graph, err);
    if (status == RP_OK)
        status = commit_states(run, err);
    if (status == RP_OK)
        status = rp_run_tell(run, run->graph->program, 0, eager_memory, run->graph, err);
    if (status == RP_OK)
        run->steps++;
    run->graph->epoch++; /* tensors live until their step ends */
    return status;
}
