/* SPDX-License-Identifier: Apache-2.0
 * Frames on the tape: a function's body is executed instruction by instruction. The memory of its values serves all
 * frames of the region, and then whatever the tape that the region stands on computes next. This is the reference that
 * plans are compared with. */
#include "base/memory.h"
#include "core/program/graph.h"
#include "core/program/regions/region_run.h"

/* One tape, which holds the values of one function at a time. */
typedef struct held_frames {
    rp_graph tape;
    const rp_function *function; /* whose values it holds */
} held_frames;

static rp_status execute_body(rp_graph *tape, const rp_function *f, const rp_view *param, const rp_view *out)
{
    rp_status status = rp_graph_hold_views(tape);

    for (size_t i = 0; i < rp_function_params(f) && status == RP_OK; i++)
        tape->view[i] = param[i];
    for (size_t k = 0; k < f->body->n_instrs && status == RP_OK; k++)
        status = rp_graph_execute(tape, &f->body->instr[k]);
    for (size_t i = 0; i < rp_function_outs(f) && status == RP_OK; i++)
        status = rp_execute_copy(tape->device, &tape->view[f->body->output[i].value], &out[i], &tape->error);
    return status;
}

static rp_status run_frame(void *self, const rp_region *region, size_t k, const rp_view *param, const rp_view *out,
                           rp_error *err)
{
    held_frames *held = self;
    const rp_function *f = region->function[k];
    rp_graph *tape = &held->tape;
    rp_status status, settled;

    if (held->function != f)
        rp_graph_release_values(tape);
    held->function = f;
    tape->program = f->body;
    status = execute_body(tape, f, param, out);
    settled = rp_execute_settle(tape->device, f->body, NULL, status == RP_OK ? err : NULL);
    if (status != RP_OK && err)
        *err = tape->error;
    return status == RP_OK ? settled : status;
}

/* Every frame has told what was wrong in it. */
static rp_status settle(void *self, rp_error *err)
{
    const held_frames *held = self;

    return rp_device_synchronize(held->tape.device, NULL, err);
}

rp_status rp_frames_eager(rp_graph *graph, const rp_instr *instr, const rp_view *in, const rp_view *out)
{
    held_frames held = {.tape = {.device = graph->device, .cache = graph->cache}};
    const rp_frames frames = {run_frame, settle, &held, graph->device, (size_t)(instr - graph->program->instr),
                              false,     0};
    /* what an index before the region did wrong is told before a frame can be blamed for it */
    rp_status status = rp_graph_settle(graph, &graph->error);
    rp_cached *scratch = NULL;

    if (status == RP_OK)
        status = rp_device_cache_take(graph->cache, &scratch, rp_region_scratch(instr->region), &graph->error);
    if (status == RP_OK)
        status = rp_region_run(&frames, instr->region, in, instr->n_in, out, scratch->memory, &graph->error);
    rp_graph_release_values(&held.tape);
    if (scratch)
        rp_device_cache_give(graph->cache, scratch);
    rp_free(held.tape.view);
    rp_free(held.tape.memory);
    return status;
}
