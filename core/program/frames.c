/* SPDX-License-Identifier: Apache-2.0
 * Frames on the tape: a function's body is executed instruction by instruction. The memory of its values serves all
 * frames of the region. This is the reference that plans are compared with. */
#include "base/memory.h"
#include "core/program/graph.h"
#include "core/program/regions/region_run.h"

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

/* A tape for each function of the region. */
typedef struct tapes {
    rp_device *device;
    rp_graph *tape;
    size_t last; /* the only one that has memory: M counts the largest, not all */
} tapes;

static rp_status run_frame(void *self, const rp_region *region, size_t k, const rp_view *param, const rp_view *out,
                           rp_error *err)
{
    tapes *t = self;
    const rp_function *f = region->function[k];
    rp_graph *tape = &t->tape[k];
    rp_status status, settled;

    if (t->last != k) {
        rp_graph_release_values(&t->tape[t->last]);
        rp_device_cache_release(&t->tape[t->last].cache);
    }
    t->last = k;
    tape->program = f->body;
    tape->device = tape->cache.device = t->device;
    status = execute_body(tape, f, param, out);
    settled = rp_execute_settle(t->device, f->body, NULL, status == RP_OK ? err : NULL);
    if (status != RP_OK && err)
        *err = tape->error;
    return status == RP_OK ? settled : status;
}

rp_status rp_frames_eager(rp_device *device, const rp_program *program, const rp_instr *instr, const rp_view *in,
                          const rp_view *out, rp_error *err)
{
    tapes t = {device, rp_calloc(instr->region->n_functions, sizeof *t.tape), 0};
    const rp_frames frames = {run_frame, &t, device};
    /* what an index before the region did wrong is told before a frame can be blamed for it */
    rp_status status = t.tape ? rp_execute_settle(device, program, NULL, err) : rp_no_memory(err);

    if (status == RP_OK)
        status = rp_region_run(&frames, instr->region, in, instr->n_in, out, err);
    for (size_t k = 0; t.tape && k < instr->region->n_functions; k++) {
        rp_graph_release_values(&t.tape[k]);
        rp_device_cache_release(&t.tape[k].cache);
        rp_free(t.tape[k].view);
        rp_free(t.tape[k].memory);
    }
    rp_free(t.tape);
    return status;
}
