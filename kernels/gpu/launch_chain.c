/* SPDX-License-Identifier: Apache-2.0
 * Chains on a GPU: piece by piece of the elements, so that what lies between two steps stays in the second-level cache;
 * each step is its ordinary kernel. */
#include <stdint.h>
#include <string.h>

#include "kernels/gpu/device_gpu.h"
#include "kernels/walk.h"

enum { SCRATCH = 16 << 20, GRAIN = 4096 };

static rp_kernel_args args_of(const rp_chain_step *step, const rp_view *view)
{
    return (rp_kernel_args){view + step->in, step->n_in, view + step->out, step->n_out, step->attr};
}

/* Elements [first, last): views that are in scratch have their element 0 where it would be. */
static void run_piece(rp_gpu_queue *queue, const rp_chain *chain, rp_view *view, uintptr_t scratch, size_t slot_bytes)
{
    const size_t first = queue->first;

    for (size_t i = 0; i < chain->n_scratch; i++) {
        rp_view *v = &view[chain->scratch[i].view];

        v->data = (void *)(scratch + chain->scratch[i].slot * slot_bytes - first * rp_dtype_size(v->dtype));
    }
    for (size_t k = 0; k < chain->n_steps && queue->status == RP_OK; k++) {
        const rp_kernel_args args = args_of(&chain->step[k], view);

        rp_gpu_compute(queue, chain->step[k].kernel, &args);
    }
    for (size_t i = 0; i < chain->n_scratch && queue->status == RP_OK; i++)
        if (chain->scratch[i].stream != NULL) {
            const rp_view *v = &view[chain->scratch[i].view];
            rp_view out = *v;
            const rp_kernel_args args = {v, 1, &out, 1, NULL};

            out.data = chain->scratch[i].stream;
            rp_gpu_compute(queue, RP_K_copy, &args); /* a kernel: unlike a copy it does nothing after a fault */
        }
}

rp_status rp_gpu_launch_chain(rp_device *device, const rp_chain *chain, rp_stream *stream, rp_error *err)
{
    rp_gpu_queue queue = rp_gpu_queue_of((rp_gpu_device *)device, stream, err);
    const size_t bytes = chain->slots * chain->size;
    size_t piece = bytes > 0 ? SCRATCH / bytes / GRAIN * GRAIN : chain->count;
    rp_view view[RP_CHAIN_VIEWS];
    uintptr_t scratch = 0;

    piece = piece < GRAIN ? GRAIN : piece;
    piece = piece > chain->count ? chain->count : piece;
    memcpy(view, chain->view, chain->n_views * sizeof *view);
    if (bytes > 0)
        scratch = (uintptr_t)rp_gpu_workspace(&queue, bytes * (piece + GRAIN));
    for (size_t first = 0; first < chain->count && queue.status == RP_OK; first += piece) {
        queue.first = first;
        queue.end = chain->count - first < piece ? chain->count : first + piece;
        run_piece(&queue, chain, view, scratch, chain->size * piece);
    }
    return rp_gpu_queue_end(&queue);
}
