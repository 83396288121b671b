/* SPDX-License-Identifier: Apache-2.0
 * Frames on the tape: a function's body is executed instruction by instruction, its values live as long as the frame.
 * This is the reference that plans are compared with. */
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

static rp_status run_frame(void *self, const rp_region *region, size_t k, const rp_view *param, const rp_view *out,
                           rp_error *err)
{
    const rp_function *f = region->function[k];
    rp_graph tape = {.program = f->body, .device = self, .cache = {.device = self}};
    rp_status status = execute_body(&tape, f, param, out);
    rp_status settled = rp_execute_settle(self, f->body, status == RP_OK ? err : NULL);

    if (status != RP_OK && err)
        *err = tape.error;
    rp_graph_release_values(&tape);
    rp_device_cache_release(&tape.cache);
    rp_free(tape.view);
    rp_free(tape.memory);
    return status == RP_OK ? settled : status;
}

rp_status rp_frames_eager(rp_device *device, const rp_program *program, const rp_instr *instr, const rp_view *in,
                          const rp_view *out, rp_error *err)
{
    const rp_frames frames = {run_frame, device, device};
    /* what an index before the region did wrong is told before a frame can be blamed for it */
    rp_status status = rp_execute_settle(device, program, err);

    return status == RP_OK ? rp_region_run(&frames, instr->region, in, instr->n_in, out, err) : status;
}
