/* SPDX-License-Identifier: Apache-2.0
 * Fourier transforms on a GPU. Of powers of two operands are copied to where the results go and transformed there in
 * place, a launch a stage while its pairs lie too far apart for shared memory, and places are put in order at an end.
 * Of other lengths a launch is a stage, from the results to memory beside them or back. */
#include <stdio.h>

#include "kernels/fourier/factors.h"
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

/* Dense lines in two parts. */
typedef struct parts {
    rp_view re, im;
} parts;

/* Those of the shape of u in memory from `at` on. */
static parts parts_at(const rp_view *u, char *at, u64 count)
{
    parts made = {*u, *u};
    ptrdiff_t step = 1;

    for (int d = u->rank - 1; d >= 0; d--) {
        made.re.stride[d] = made.im.stride[d] = step;
        step *= (ptrdiff_t)u->shape[d];
    }
    made.re.data = at;
    made.im.data = at + count * rp_dtype_size(u->dtype);
    return made;
}

static void run_ends(rp_gpu_queue *queue, rp_dtype dtype, const parts *of, bool adds, rp_gpu_fourier *p)
{
    p->u = of->re.data;
    p->v = of->im.data;
    p->adds = adds;
    run_each(queue, "ends", dtype, p->lines * p->n, p);
}

/* Stages in the clause's layout; the last one ends in `last`. */
static void run_stages(rp_gpu_queue *queue, const rp_kernel_args *args, const parts *last, const parts *beside,
                       rp_gpu_fourier *p)
{
    const rp_dtype dtype = last->re.dtype;
    const parts *from, *to;
    rp_fourier_factors f;

    (void)rp_fourier_factor(&f, p->n);
    from = f.count % 2 == 0 ? last : beside;
    to = f.count % 2 == 0 ? beside : last;
    copy(queue, &from->re, &args->in[0]);
    copy(queue, &from->im, &args->in[1]);
    if (p->inverse && p->transposed)
        run_ends(queue, dtype, from, false, p);
    p->s = p->transposed ? p->n : 1;
    for (int k = 0; k < f.count; k++) {
        const parts *kept = from;

        p->r = f.radix[p->transposed ? f.count - 1 - k : k];
        if (p->transposed)
            p->s /= p->r;
        p->m = p->n / p->s / p->r;
        p->x = from->re.data;
        p->y = from->im.data;
        p->u = to->re.data;
        p->v = to->im.data;
        run_each(queue, "stage", dtype, p->lines * p->m * p->s * ((p->r + 1) / 2), p);
        if (!p->transposed)
            p->s *= p->r;
        from = to;
        to = kept;
    }
    if (p->transposed || p->inverse)
        run_ends(queue, dtype, last, p->transposed, p);
}

/* A length that is no power of two. */
static bool launch_other(rp_gpu_queue *queue, const rp_kernel_args *args, rp_gpu_fourier *p)
{
    const rp_view *u = &args->out[0], *v = &args->out[1];
    const bool apart = !dense(u) || !dense(v);
    const u64 count = p->lines * p->n, size = rp_dtype_size(u->dtype), inverse = p->inverse;
    parts last = {*u, *v}, beside;
    char *memory = rp_gpu_workspace(queue, (2 * p->n + (apart ? 4 : 2) * count) * size);

    if (memory == NULL)
        return true;
    p->c = memory;
    p->d = memory + p->n * size;
    p->turns = p->n;
    p->inverse = 0;
    run_each(queue, "turns", u->dtype, p->n, p);
    p->inverse = (u32)inverse;
    beside = parts_at(u, memory + 2 * p->n * size, count);
    if (apart)
        last = parts_at(u, memory + (2 * p->n + 2 * count) * size, count);
    run_stages(queue, args, &last, &beside, p);
    if (apart) {
        copy(queue, u, &last.re);
        copy(queue, v, &last.im);
    }
    return true;
}

bool rp_gpu_launch_fourier(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args)
{
    const rp_view *u = &args->out[0], *v = &args->out[1], rows = rp_view_rows(u);
    const rp_dtype dtype = u->dtype;
    rp_gpu_fourier p = {.u = u->data, .v = v->data, .lines = rp_view_count(&rows), .n = rp_view_last(u)};

    (void)kernel;
    p.inverse = RP_AT(args->attr, fft, inverse).i != 0;
    p.transposed = RP_AT(args->attr, fft, transposed).i != 0;
    if ((p.n & (p.n - 1)) != 0)
        return p.lines == 0 || launch_other(queue, args, &p);
    p.near = p.n < RP_GPU_FOURIER_NEAR ? p.n : RP_GPU_FOURIER_NEAR;
    p.turns = p.n / 2;
    if (!dense(u) || !dense(v) || p.n < 2 || p.lines * (p.n / p.near) >= (u64)1 << 31)
        return false;
    if (p.lines == 0)
        return true;
    while (p.n >> p.bits > 1)
        p.bits++;
    p.c = rp_gpu_workspace(queue, p.n * rp_dtype_size(dtype));
    if (p.c == NULL)
        return true;
    p.d = (char *)p.c + p.n / 2 * rp_dtype_size(dtype);
    run_each(queue, "turns", dtype, p.turns, &p);
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
