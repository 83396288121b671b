/* SPDX-License-Identifier: Apache-2.0
 * A body is executed on a tape up to the instruction that is asked for. A region on the way down is driven as by any
 * step (core/program/regions/region_run.h); its frames run here, so that the one that is asked for is entered in its
 * turn, with the bits that the frames before it have left. */
#include "audit/replay/look/walk.h"

#include <inttypes.h>

#include "base/memory.h"
#include "core/program/graph.h"
#include "core/program/regions/region_run.h"
#include "determinism/fpenv.h"

typedef struct walk {
    rp_device *device;
    const rp_place *place;
    size_t output;
    const rp_look_taker *to;
    bool reached;
} walk;

/* The frames of a region of the body at level - 1. */
typedef struct level {
    walk *w;
    size_t depth;            /* of the region: 0 in the program */
    rp_graph *tape;          /* of frames */
    const rp_function *held; /* whose values it holds */
    uint64_t executed;       /* frames that are whole iterations */
    uint64_t branch;         /* of a cond, which was taken */
} level;

static rp_status enter(walk *w, rp_graph *tape, const rp_instr *instr, size_t depth, rp_error *err);

/* A tape that executes programs of somebody else's. */
static rp_graph *tape_of(rp_device *device)
{
    rp_graph *tape = rp_graph_new(device);

    if (tape) {
        rp_program_free(tape->program);
        tape->program = NULL;
    }
    return tape;
}

static void tape_free(rp_graph *tape)
{
    if (tape)
        tape->program = NULL;
    rp_graph_free(tape);
}

static rp_status of_tape(const rp_graph *tape, rp_status status, rp_error *err)
{
    if (status != RP_OK && err)
        *err = tape->error;
    return status;
}

/* Instructions [0, end). */
static rp_status execute(rp_graph *tape, uint64_t end, rp_error *err)
{
    rp_status status = RP_OK;

    for (uint64_t k = 0; k < end && status == RP_OK; k++)
        status = of_tape(tape, rp_graph_execute(tape, &tape->program->instr[k]), err);
    return status;
}

static rp_status settle_tape(const rp_graph *tape, rp_error *err)
{
    return rp_execute_settle(tape->device, tape->program, NULL, err);
}

/* The body at this depth of the place, whose inputs have their views. */
static rp_status walk_body(walk *w, rp_graph *tape, size_t depth, rp_error *err)
{
    const rp_program *p = tape->program;
    const bool last = depth == w->place->depth;
    const rp_instr *instr = &p->instr[last ? w->place->instr : w->place->frame[depth].instr];
    rp_status status = execute(tape, (uint64_t)(instr - p->instr) + last, err);

    if (status == RP_OK)
        status = settle_tape(tape, err);
    if (status != RP_OK || !last)
        return status == RP_OK ? enter(w, tape, instr, depth, err) : status;
    w->reached = true;
    return w->to->take(w->to->self, w->device, &p->value[instr->out[w->output]], &tape->view[instr->out[w->output]],
                       err);
}

/* ---- frames ---- */

static rp_status give_parameters(level *l, const rp_function *f, const rp_view *param, rp_error *err)
{
    rp_status status;

    if (l->held != f)
        rp_graph_release_values(l->tape);
    l->held = f;
    l->tape->program = f->body;
    status = of_tape(l->tape, rp_graph_hold_views(l->tape), err);
    for (size_t i = 0; i < rp_function_params(f) && status == RP_OK; i++)
        l->tape->view[i] = param[i];
    return status;
}

static rp_status whole_frame(level *l, const rp_function *f, const rp_view *out, rp_error *err)
{
    rp_status status = execute(l->tape, f->body->n_instrs, err);

    for (size_t i = 0; i < rp_function_outs(f) && status == RP_OK; i++)
        status = rp_execute_copy(l->tape->device, &l->tape->view[f->body->output[i].value], &out[i], err);
    return status == RP_OK ? settle_tape(l->tape, err) : status;
}

/* Which frame it is. All but calls and conds have its index as their first parameter. */
static rp_status number_of(const level *l, const rp_region *r, size_t k, const rp_view *param, uint64_t *number,
                           rp_error *err)
{
    int64_t index = 0;
    rp_status status = RP_OK;

    if (r->kind == RP_COND)
        index = (int64_t)k;
    else if (r->kind != RP_CALL)
        status = rp_device_read(l->w->device, &index, param[0].data, sizeof index, NULL, err);
    *number = (uint64_t)index;
    return status;
}

static rp_status run_frame(void *self, const rp_region *r, size_t k, const rp_view *param, const rp_view *out,
                           rp_error *err)
{
    level *l = self;
    const rp_place_frame *wanted = &l->w->place->frame[l->depth];
    const rp_function *f = r->function[k];
    const bool predicate = r->kind == RP_WHILE && k == 1;
    uint64_t number;
    rp_status status = number_of(l, r, k, param, &number, err);
    const bool here = number == wanted->number && predicate == (wanted->mark == 'p');

    l->executed += !predicate;
    l->branch = r->kind == RP_COND ? k : 0;
    if (status != RP_OK || (!here && (r->kind == RP_MAP || r->kind == RP_COND))) /* others do not read what it makes */
        return status;
    status = give_parameters(l, f, param, err);
    if (status == RP_OK)
        status = here ? walk_body(l->w, l->tape, l->depth + 1, err) : whole_frame(l, f, out, err);
    /* there is nothing more to be done, and an error is how the frames behind it are not executed */
    return status == RP_OK && here ? RP_ECANCELED : status;
}

static rp_status settle(void *self, rp_error *err)
{
    const level *l = self;

    return rp_device_synchronize(l->w->device, NULL, err);
}

/* ---- regions ---- */

static rp_status not_executed(const level *l, const rp_instr *instr, rp_error *err)
{
    const rp_place_frame *f = &l->w->place->frame[l->depth];

    if (instr->region->kind == RP_COND)
        return rp_fail(err, RP_EARG, "instruction %" PRIu64 ", cond: branch %" PRIu64 " was not taken, %" PRIu64 " was",
                       f->instr, f->number, l->branch);
    return rp_fail(err, RP_EARG,
                   "instruction %" PRIu64 ", %s: iteration %" PRIu64 " was not executed: it ended after %" PRIu64,
                   f->instr, instr->op->name, f->number, l->executed);
}

/* Memory for the region's values and scratch; n + 1 pieces, freed by the caller also on failure. */
static rp_status hold_values(void **memory, rp_view *out, const walk *w, const rp_program *p, const rp_instr *instr,
                             rp_error *err)
{
    rp_status status = RP_OK;

    for (int i = 0; i <= instr->n_out && status == RP_OK; i++) {
        const rp_type *type = i < instr->n_out ? &p->value[instr->out[i]] : NULL;
        const size_t bytes = type ? rp_type_bytes(type) : rp_region_scratch(instr->region);

        status = rp_device_allocate(w->device, &memory[i], bytes ? bytes : 1, err);
        if (type && status == RP_OK)
            out[i] = rp_view_of(type, memory[i]);
    }
    return status;
}

static rp_status drive(level *l, rp_graph *tape, const rp_instr *instr, rp_view *view, void **memory, rp_error *err)
{
    const rp_frames frames = {.run = run_frame,
                              .settle = settle,
                              .self = l,
                              .device = l->w->device,
                              .number = (size_t)(instr - tape->program->instr),
                              .told = true};
    rp_view *out = view + instr->n_in;
    rp_status status = hold_values(memory, out, l->w, tape->program, instr, err);

    for (size_t i = 0; i < instr->n_in; i++)
        view[i] = tape->view[instr->in[i]];
    if (status == RP_OK)
        status = rp_region_run(&frames, instr->region, view, instr->n_in, out, memory[instr->n_out], err);
    if (status == RP_ECANCELED && l->w->reached)
        return RP_OK;
    return status == RP_OK ? not_executed(l, instr, err) : status;
}

static rp_status enter(walk *w, rp_graph *tape, const rp_instr *instr, size_t depth, rp_error *err)
{
    level l = {.w = w, .depth = depth, .tape = tape_of(w->device)};
    rp_view *view = rp_reallocarray(NULL, instr->n_in + (size_t)instr->n_out, sizeof *view);
    void **memory = rp_calloc((size_t)instr->n_out + 1, sizeof *memory);
    rp_status status = l.tape && view && memory ? drive(&l, tape, instr, view, memory, err) : rp_no_memory(err);

    for (int i = 0; memory && i <= instr->n_out; i++)
        rp_device_release(w->device, memory[i]);
    rp_free(memory);
    rp_free(view);
    tape_free(l.tape);
    return status;
}

rp_status rp_look_walk(rp_device *device, rp_program *program, void *const *input, const rp_place *place, size_t output,
                       const rp_look_taker *to, rp_error *err)
{
    walk w = {.device = device, .place = place, .output = output, .to = to};
    rp_graph *tape = tape_of(device);
    rp_fpenv saved;
    rp_status status = tape ? rp_fpenv_enter(&saved, NULL, err) : rp_no_memory(err);

    if (status != RP_OK) {
        tape_free(tape);
        return status;
    }
    tape->program = program;
    status = of_tape(tape, rp_graph_hold_views(tape), err);
    for (size_t i = 0; i < program->n_inputs && status == RP_OK; i++)
        tape->view[program->input[i].value] = rp_view_of(&program->value[program->input[i].value], input[i]);
    if (status == RP_OK)
        status = walk_body(&w, tape, 0, err);
    tape_free(tape);
    rp_fpenv_leave(&saved);
    return status;
}
