/* SPDX-License-Identifier: Apache-2.0
 * Chains on a GPU: one launch where one kernel takes all steps. Else as many steps at a time as a kernel takes, and the
 * ordinary kernels for single ones, piece by piece of the elements, so that what lies between stays in the second-level
 * cache. */
#include <stdint.h>
#include <string.h>

#include "kernels/gpu/chain/plan.h"
#include "kernels/gpu/device_gpu.h"

enum { SCRATCH = 16 << 20, GRAIN = 4096, BLOCKS_A_MULTIPROCESSOR = 32, LEAST_THREADS = 64, FEW = 512, FEWEST = 128 };

/* The wide kernel knows every step. Of few elements (FEW a multiprocessor) it is the faster for all: what is long goes
 * one element of a thread after the other, and it has two of them where the narrow one has eight. An H200 took 14 us
 * for the gates of an LSTM of 16 sequences, eight functions one behind the other. Of still fewer (FEWEST), where a
 * multiprocessor has no more than a warp for each of its schedulers, a thread has one element, if 32 bits hold it. */
static void run_program(rp_gpu_queue *queue, rp_gpu_chain_kernel kernel, rp_gpu_chain *program, unsigned way)
{
    static const char *const names[] = {"rp_gpu_chain_run_narrow", "rp_gpu_chain_run_wide", "rp_gpu_chain_run_single"};
    const u64 multiprocessors = rp_gpu_multiprocessors(queue), most = multiprocessors * BLOCKS_A_MULTIPROCESSOR;
    const u64 count = queue->end - queue->first;
    const bool few = way == 0 ? count <= FEW * multiprocessors : way == 1 + RP_GPU_CHAIN_WIDE;
    const bool fewest = way == 0 ? count <= FEWEST * multiprocessors : way == RP_GPU_CHAIN_WAYS;
    const bool single = kernel == RP_GPU_CHAIN_NARROW && fewest;
    const bool wide = !single && (kernel == RP_GPU_CHAIN_WIDE || few);
    const unsigned each = single ? RP_GPU_SINGLE : wide ? RP_GPU_WIDE : RP_GPU_NARROW;
    rp_gpu_grid grid = {.threads = RP_GPU_BLOCK};
    u64 blocks;

    while (grid.threads > LEAST_THREADS && count < 2 * multiprocessors * grid.threads * each)
        grid.threads /= 2; /* so that few elements keep all multiprocessors busy */
    blocks = (count + grid.threads * each - 1) / (grid.threads * each);
    grid.x = (uint32_t)(blocks < most ? blocks : most);
    grid.shared = (unsigned)(program->n_kept * grid.threads * each * (wide ? sizeof(u64) : sizeof(u32)));
    program->first = queue->first;
    program->count = queue->end;
    rp_gpu_run(queue, names[single ? 2 : wide], grid, program, sizeof *program);
}

static void run_step(rp_gpu_queue *queue, const rp_gpu_chain_plan *plan, size_t k)
{
    const rp_chain_step *step = &plan->chain->step[k];
    const rp_kernel_args args = {plan->view + step->in, step->n_in, plan->view + step->out, step->n_out, step->attr};

    rp_gpu_compute(queue, step->kernel, &args);
}

/* What a step of its own makes in scratch, and what another launch reads there, gets a place that is nobody else's, the
 * number of which is returned. A slot that values take by turns would do for steps one after the other only: in a
 * program a thread may store a value while another has yet to read the one before, and of another size of elements
 * these are not the same bytes. */
static size_t places_of(const rp_gpu_chain_plan *plan, uint8_t *place)
{
    size_t n = 0;

    for (size_t k = 0, end; k < plan->chain->n_steps; k = end) {
        rp_gpu_chain program;
        const bool alone = rp_gpu_chain_program(&program, plan, k, &end) == RP_GPU_CHAIN_NONE;

        for (size_t i = k; i < end; i++) {
            const rp_chain_step *step = &plan->chain->step[i];

            for (size_t v = step->out; v < step->out + step->n_out; v++)
                if (plan->slot[v] != RP_GPU_NO_SLOT && (alone || end - k == 1 || plan->last[v] >= end))
                    place[v] = (uint8_t)n++;
        }
    }
    return n;
}

/* Elements [queue->first, queue->end): views that are in scratch have their element 0 where it would be. */
static void run_piece(rp_gpu_queue *queue, rp_gpu_chain_plan *plan, const uint8_t *place, uintptr_t scratch,
                      size_t place_bytes)
{
    for (size_t v = 0; v < plan->chain->n_views; v++) {
        const size_t output = plan->made[v] != RP_GPU_MADE_BEFORE ? plan->made[v] : v;

        if (plan->slot[v] != RP_GPU_NO_SLOT)
            plan->view[v].data =
                (void *)(scratch + place[output] * place_bytes - queue->first * rp_dtype_size(plan->view[v].dtype));
    }
    for (size_t k = 0, end; k < plan->chain->n_steps && queue->status == RP_OK; k = end) {
        rp_gpu_chain program;
        const rp_gpu_chain_kernel kernel = rp_gpu_chain_program(&program, plan, k, &end);

        if (kernel == RP_GPU_CHAIN_NONE || end - k == 1)
            run_step(queue, plan, k);
        else
            run_program(queue, kernel, &program, plan->chain->way);
    }
}

static void run_pieces(rp_gpu_queue *queue, rp_gpu_chain_plan *plan)
{
    const rp_chain *chain = plan->chain;
    uint8_t place[RP_CHAIN_VIEWS] = {0};
    const size_t bytes = places_of(plan, place) * chain->size;
    size_t piece = bytes > 0 ? SCRATCH / bytes / GRAIN * GRAIN : chain->count;
    uintptr_t scratch = 0;

    piece = piece < GRAIN ? GRAIN : piece;
    piece = piece > chain->count ? chain->count : piece;
    if (bytes > 0)
        scratch = (uintptr_t)rp_gpu_workspace(queue, bytes * (piece + GRAIN));
    for (size_t first = 0; first < chain->count && queue->status == RP_OK; first += piece) {
        queue->first = first;
        queue->end = chain->count - first < piece ? chain->count : first + piece;
        run_piece(queue, plan, place, scratch, chain->size * piece);
    }
}

rp_status rp_gpu_launch_chain(rp_device *device, const rp_chain *chain, rp_stream *stream, rp_error *err)
{
    rp_gpu_queue queue = rp_gpu_queue_of((rp_gpu_device *)device, stream, err);
    rp_gpu_chain_plan plan;
    rp_gpu_chain program;
    rp_gpu_chain_kernel kernel;
    size_t end;

    if (queue.status != RP_OK || chain->count == 0 || chain->n_steps == 0)
        return rp_gpu_queue_end(&queue);
    rp_gpu_chain_plan_make(&plan, chain);
    kernel = rp_gpu_chain_program(&program, &plan, 0, &end);
    if (kernel == RP_GPU_CHAIN_NONE || end < chain->n_steps) {
        run_pieces(&queue, &plan);
    } else {
        queue.end = chain->count;
        run_program(&queue, kernel, &program, chain->way);
    }
    return rp_gpu_queue_end(&queue);
}
