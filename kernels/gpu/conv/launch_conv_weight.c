/* SPDX-License-Identifier: Apache-2.0
 * Launches of convolution's gradient by the weight: as many chunks of pixels at once as their results have room for. */
#include <stdio.h>

#include "kernels/gpu/conv/conv_weight_args.h"
#include "kernels/gpu/conv/launch_conv.h"
#include "kernels/gpu/launch_tuned.h"

enum { WARP = 32, FEW_COLUMNS = 16, FEW_ROWS = 16, BYTES = 16, MOST_BLOCKS = 65535, ROOM = 64 << 20 };

static u32 blocks(u64 count, u32 of)
{
    return (u32)((count + of - 1) / of);
}

/* Whether every output meets an input in every tap. */
static bool has_gaps(const rp_gpu_conv_axis *axis)
{
    return axis->pad > 0 || (axis->out - 1) * axis->stride + (axis->taps - 1) * axis->dilation - axis->pad >= axis->in;
}

/* Whether a place where a window begins, outside of x too, is a number of 31 bits. */
static bool begins_near(const rp_gpu_conv_weight *w, const rp_gpu_conv_axis *h, const rp_gpu_conv_axis *v, int images)
{
    const i64 down = (i64)h->out * h->stride + h->pad, along = (i64)v->out * v->stride + v->pad;

    return images * w->x_stride[0] + down * w->x_stride[1] + along * w->x_stride[2] < INT32_MAX;
}

static bool set(rp_gpu_conv_weight *w, const rp_gpu_conv *p, const rp_conv *conv)
{
    *w = (rp_gpu_conv_weight){.x = conv->x->data,
                              .g = conv->y->data,
                              .h = p->h,
                              .w = p->w,
                              .taps = p->h.taps * p->w.taps,
                              .groups = p->groups,
                              .c = p->c,
                              .k = p->k,
                              .pixels = (u32)p->images * (u32)p->h.out * (u32)p->w.out,
                              .uneven = p->c % WARP != 0 && (has_gaps(&p->h) || has_gaps(&p->w))};
    for (int d = 0; d < 4; d++) {
        w->x_stride[d] = conv->x->stride[d];
        w->g_stride[d] = conv->y->stride[d];
    }
    w->chunks = blocks(w->pixels, RP_GPU_CONV_CHUNK);
    return w->pixels > 0 && p->k > FEW_COLUMNS && (u64)w->taps * (u64)p->c > FEW_ROWS && p->groups <= MOST_BLOCKS &&
           (u64)w->chunks * (u64)w->taps < INT32_MAX && begins_near(w, &p->h, &p->w, p->images);
}

static bool lies_wide(const float *data, const i64 stride[4], int channels)
{
    return stride[3] == 1 && channels % 4 == 0 && stride[0] % 4 == 0 && stride[1] % 4 == 0 && stride[2] % 4 == 0 &&
           (uintptr_t)data % BYTES == 0;
}

/* A kernel's name behind rp_gpu_conv_weight_, its columns, threads and bytes of shared memory. */
typedef struct weight_tile {
    const char *name;
    unsigned columns, threads, shared;
} weight_tile;

/* Chunks first .. first + here - 1, and what they add to those before. */
static void run(rp_gpu_queue *queue, const weight_tile *tile, rp_gpu_conv_weight *w, const rp_view *weight)
{
    const u64 rows = (u64)w->taps * (u64)w->c;
    rp_gpu_matmul_join p = {.parts = w->parts,
                            .y = weight->data,
                            .y_row = weight->stride[2],
                            .y_col = weight->stride[3],
                            .part = (i64)rows * w->groups * w->k,
                            .y_batch = {0, 0, 0, w->k * weight->stride[3], weight->stride[0], weight->stride[1]},
                            .batch = {1, 1, 1, (u32)w->groups, (u32)w->h.taps, (u32)w->w.taps},
                            .m = (u32)w->c,
                            .n = (u32)w->k,
                            .chunks = w->here,
                            .more = w->first > 0};
    char name[48];

    snprintf(name, sizeof name, "rp_gpu_conv_weight_%s", tile->name);
    rp_gpu_run(queue, name,
               (rp_gpu_grid){blocks(rows, RP_GPU_WEIGHT_ROWS) * blocks((u64)w->k, tile->columns), (u32)w->groups,
                             w->here, tile->threads, tile->shared},
               w, sizeof *w);
    rp_gpu_matmul_add(queue, RP_F32, &p);
}

/* The tile that a model finds the fastest for products of which each block has a chunk at most. */
static weight_tile tile_of(const rp_gpu_queue *queue, const rp_gpu_conv_weight *w, u64 at_once)
{
    static const weight_tile even[] = {
        {"128_e", 128, RP_GPU_WEIGHT_EVEN_THREADS, 4 * RP_GPU_WEIGHT_EVEN_SHARED(128, 8, 4)},
        {"64_e", 64, RP_GPU_WEIGHT_EVEN_THREADS, 4 * RP_GPU_WEIGHT_EVEN_SHARED(64, 16, 2)}};
    static const rp_gpu_tile_speed speed[] = {{RP_GPU_WEIGHT_ROWS, 128, 2, 60, 70},
                                              {RP_GPU_WEIGHT_ROWS, 64, 3, 46, 64}};
    const bool wide = lies_wide(w->x, w->x_stride, w->c) && lies_wide(w->g, w->g_stride, w->k);
    const rp_gpu_tiled_product all = {(size_t)w->taps * (size_t)w->c, (size_t)w->k,
                                      w->pixels < RP_GPU_CONV_CHUNK ? w->pixels : RP_GPU_CONV_CHUNK,
                                      (size_t)w->groups * (size_t)at_once};
    rp_gpu_tiling tiling, narrow;

    if (wide && w->c % WARP == 0) {
        tiling = rp_gpu_tiling_of(queue, &speed[0], &all, sizeof(float));
        narrow = rp_gpu_tiling_of(queue, &speed[1], &all, sizeof(float));
        return even[narrow.cycles < tiling.cycles];
    }
    const unsigned width = rp_gpu_conv_width(queue, &all, &tiling);

    return (weight_tile){wide ? (width == 128 ? "128_w" : "64_w") : (width == 128 ? "128_s" : "64_s"), width,
                         RP_GPU_WEIGHT_THREADS(width), 4 * (unsigned)RP_GPU_WEIGHT_SHARED(width, w->uneven)};
}

bool rp_gpu_launch_conv_weight(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args)
{
    const rp_conv conv = rp_gpu_conv_of(kernel, args);
    rp_gpu_conv p = {0};
    rp_gpu_conv_weight w;
    u64 size, at_once;
    weight_tile tile;

    if (kernel != RP_K_conv2d_grad_weight || args->out[0].dtype != RP_F32 ||
        !rp_gpu_conv_set(&p, &conv, &args->out[0]) || !rp_gpu_conv_is_near(conv.x) || !rp_gpu_conv_is_near(conv.y) ||
        !set(&w, &p, &conv))
        return false;
    size = (u64)w.taps * (u64)w.c * (u64)w.groups * (u64)w.k;
    at_once = ROOM / sizeof(float) / size;
    at_once = at_once < 1 ? 1 : at_once < w.chunks ? at_once : w.chunks;
    at_once = at_once < MOST_BLOCKS ? at_once : MOST_BLOCKS;
    tile = tile_of(queue, &w, at_once);
    w.parts = rp_gpu_workspace(queue, at_once * size * sizeof(float));
    if (w.parts == NULL)
        return true; /* queue->status tells */
    for (w.first = 0; w.first < w.chunks; w.first += w.here) {
        w.here = w.chunks - w.first < at_once ? w.chunks - w.first : (u32)at_once;
        run(queue, &tile, &w, conv.weight);
    }
    return true;
}
