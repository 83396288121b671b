/* SPDX-License-Identifier: Apache-2.0
 * Fourier transforms on a GPU: operands are copied to where the results go and transformed there in place, a launch a
 * stage while its pairs lie too far apart for shared memory, and places are put in order at an end. */
#include <stdio.h>

#include "kernels/gpu/fourier/fourier_args.h"
#include "kernels/gpu/launch_tuned.h"
#include "kernels/walk.h"

enum { NAME = 64, BLOCKS_MOST = 65535 };

static bool dense(const rp_view *view)
{
    ptrdiff_t step = 1;

    for (int d = view->rank - 1; d >= 0; d--) {
        if (view->shape[d] != 1 && view->stride[d] != step)
            return false;
        step *= (ptrdiff_t)view->shape[d];
    }
    return true;
}

static void run(rp_gpu_queue *queue, const char *which, rp_dtype dtype, u64 blocks, rp_gpu_fourier *p)
{
    const rp_gpu_grid grid = {.x = (uint32_t)blocks, .threads = RP_GPU_FOURIER_THREADS};
    char name[NAME];

    (void)snprintf(name, sizeof name, "rp_gpu_fourier_%s_%s", which, rp_dtype_name(dtype));
    rp_gpu_run(queue, name, grid, p, sizeof *p);
}

/* A thread for each of `items`, or for several. */
static void run_each(rp_gpu_queue *queue, const char *which, rp_dtype dtype, u64 items, rp_gpu_fourier *p)
{
    const u64 blocks = (items + RP_GPU_FOURIER_THREADS - 1) / RP_GPU_FOURIER_THREADS;

    run(queue, which, dtype, blocks < BLOCKS_MOST ? blocks : BLOCKS_MOST, p);
}

static void run_far(rp_gpu_queue *queue, rp_dtype dtype, u64 m, rp_gpu_fourier *p)
{
    p->m = m;
    run_each(queue, "far", dtype, p->lines * (p->n / 2), p);
}

static void copy(rp_gpu_queue *queue, const rp_view *to, const rp_view *from)
{
    const rp_kernel_args args = {from, 1, to, 1, NULL};

    (void)rp_gpu_launch_copy(queue, RP_K_copy, &args);
}

bool rp_gpu_launch_fourier(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args)
{
    const rp_view *u = &args->out[0], *v = &args->out[1], rows = rp_view_rows(u);
    const rp_dtype dtype = u->dtype;
    rp_gpu_fourier p = {.u = u->data, .v = v->data, .lines = rp_view_count(&rows), .n = rp_view_last(u)};

    (void)kernel;
    p.near = p.n < RP_GPU_FOURIER_NEAR ? p.n : RP_GPU_FOURIER_NEAR;
    if (!dense(u) || !dense(v) || p.n < 2 || p.lines * (p.n / p.near) >= (u64)1 << 31)
        return false;
    if (p.lines == 0)
        return true;
    while (p.n >> p.bits > 1)
        p.bits++;
    p.inverse = RP_AT(args->attr, fft, inverse).i != 0;
    p.transposed = RP_AT(args->attr, fft, transposed).i != 0;
    p.c = rp_gpu_workspace(queue, p.n * rp_dtype_size(dtype));
    if (p.c == NULL)
        return true;
    p.d = (char *)p.c + p.n / 2 * rp_dtype_size(dtype);
    run_each(queue, "turns", dtype, p.n / 2, &p);
    copy(queue, u, &args->in[0]);
    copy(queue, v, &args->in[1]);
    if (p.transposed)
        run_each(queue, "places", dtype, p.lines * p.n, &p);
    for (u64 m = p.n / 2; m >= p.near && !p.transposed; m /= 2)
        run_far(queue, dtype, m, &p);
    run(queue, "near", dtype, p.lines * (p.n / p.near), &p);
    for (u64 m = p.near; m < p.n && p.transposed; m *= 2)
        run_far(queue, dtype, m, &p);
    if (!p.transposed)
        run_each(queue, "places", dtype, p.lines * p.n, &p);
    return true;
}
