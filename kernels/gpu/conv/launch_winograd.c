/* SPDX-License-Identifier: Apache-2.0
 * Launches of convolution by minimal filtering: transforms, 36 matrix products, the transform back; so many tiles at
 * once as the workspace has room for. */
#include <stdio.h>

#include "kernels/gpu/conv/winograd_args.h"
#include "kernels/gpu/launch_tuned.h"
#include "kernels/gpu/matmul/launch_matmul.h"
#include "kernels/ref/conv/winograd.h"

enum { THREADS = 256, BYTES = 256, POINTS = RP_WINOGRAD_POINTS };
#define ROOM ((u64)192 << 20)

static void run(rp_gpu_queue *queue, const char *what, rp_dtype dtype, rp_gpu_winograd *p, u64 count)
{
    char name[48];

    snprintf(name, sizeof name, "rp_gpu_winograd_%s_%s", what, dtype == RP_F32 ? "f32" : "f64");
    rp_gpu_run(queue, name, (rp_gpu_grid){(u32)((count + THREADS - 1) / THREADS), 1, 1, THREADS, 0}, p, sizeof *p);
}

static rp_view points_of(void *data, rp_dtype dtype, size_t rows, size_t columns, size_t pitch)
{
    return (rp_view){.data = data,
                     .dtype = dtype,
                     .rank = 3,
                     .shape = {POINTS, rows, columns},
                     .stride = {(ptrdiff_t)(rows * pitch), (ptrdiff_t)pitch, 1}};
}

static size_t aligned(u64 bytes)
{
    return (size_t)((bytes + BYTES - 1) / BYTES * BYTES);
}

/* The transforms and products of p's tiles; `rest` is the products' own memory. Columns up to the pitch are multiplied
 * too, whatever they hold, and not read. */
static void run_tiles(rp_gpu_queue *queue, rp_gpu_winograd *p, rp_dtype dtype, void *rest)
{
    const rp_view in[2] = {points_of(p->v, dtype, p->tiles, p->channels, p->channels),
                           points_of(p->u, dtype, p->channels, p->pitch, p->pitch)};
    const rp_view out = points_of(p->m, dtype, p->tiles, p->pitch, p->pitch);

    if (p->channels > 0) /* of none the kernel would divide by their number */
        run(queue, "input", dtype, p, (u64)p->tiles * p->channels);
    rp_gpu_matmul_here(queue, &(rp_kernel_args){in, 2, &out, 1, NULL}, rest);
    run(queue, "output", dtype, p, (u64)p->tiles * p->filters);
}

bool rp_gpu_launch_winograd(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args)
{
    const rp_conv conv = rp_conv_forward(args);
    const rp_dtype dtype = args->out[0].dtype;
    const size_t size = rp_dtype_size(dtype);
    const u64 all = (u64)conv.images * rp_winograd_tiles(&conv.h) * rp_winograd_tiles(&conv.w);
    rp_gpu_winograd p = {.x = args->in[0],
                         .weight = args->in[1],
                         .y = args->out[0],
                         .pad_h = (u64)conv.h.pad,
                         .pad_w = (u64)conv.w.pad,
                         .across = (u32)rp_winograd_tiles(&conv.w),
                         .down = (u32)rp_winograd_tiles(&conv.h),
                         .channels = (u32)conv.c,
                         .filters = (u32)conv.k,
                         .pitch = (u32)((conv.k + 3) / 4 * 4)};
    u64 at_once, bytes_v, bytes_u, bytes_m;
    size_t rest;
    char *memory;

    (void)kernel;
    if (conv.c > INT32_MAX / 4 || conv.k > INT32_MAX / 4 || all > INT32_MAX / 4)
        return false;
    if (all == 0 || conv.k == 0)
        return true;
    at_once = ROOM / (POINTS * size * (conv.c + p.pitch));
    at_once = at_once < 64 ? 64 : at_once;
    at_once = at_once < all ? at_once : all;
    p.tiles = (u32)at_once;
    bytes_v = aligned((u64)POINTS * at_once * conv.c * size);
    bytes_u = aligned((u64)POINTS * conv.c * p.pitch * size);
    bytes_m = aligned((u64)POINTS * at_once * p.pitch * size);
    if ((u64)at_once * (conv.c + p.pitch) > INT32_MAX / 2 || (u64)conv.c * p.pitch > INT32_MAX / 2 ||
        !rp_gpu_matmul_takes(conv.c, p.pitch))
        return false;
    rest = rp_gpu_matmul_most(at_once, conv.c, p.pitch, POINTS, size);
    memory = rp_gpu_workspace(queue, bytes_v + bytes_u + bytes_m + rest);
    if (memory == NULL)
        return true; /* queue->status tells */
    p.v = memory;
    p.u = memory + bytes_v;
    p.m = memory + bytes_v + bytes_u;
    if (conv.c > 0)
        run(queue, "weight", dtype, &p, (u64)conv.c * conv.k);
    for (u64 first = 0; first < all; first += at_once) {
        p.first = (u32)first;
        p.tiles = (u32)(all - first < at_once ? all - first : at_once);
        run_tiles(queue, &p, dtype, memory + bytes_v + bytes_u + bytes_m);
    }
    return true;
}
