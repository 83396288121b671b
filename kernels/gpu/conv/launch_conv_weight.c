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

/* Chunks first .. first + here - 1, and what they add to those before. */
static void run(rp_gpu_queue *queue, const char *name, unsigned width, rp_gpu_conv_weight *w, const rp_view *weight)
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

    rp_gpu_run(queue, name,
               (rp_gpu_grid){blocks(rows, RP_GPU_WEIGHT_ROWS) * blocks((u64)w->k, width), (u32)w->groups, w->here,
                             RP_GPU_WEIGHT_THREADS(width), 4 * (unsigned)RP_GPU_WEIGHT_SHARED(width, w->uneven)},
               w, sizeof *w);
    rp_gpu_matmul_add(queue, RP_F32, &p);
}

bool rp_gpu_launch_conv_weight(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args)
{
    const rp_conv conv = rp_gpu_conv_of(kernel, args);
    rp_gpu_conv p = {0};
    rp_gpu_conv_weight w;
    rp_gpu_tiling tiling;
    u64 size, at_once;
    u32 width;
    char name[48];

    if (kernel != RP_K_conv2d_grad_weight || args->out[0].dtype != RP_F32 ||
        !rp_gpu_conv_set(&p, &conv, &args->out[0]) || !rp_gpu_conv_is_near(conv.x) || !rp_gpu_conv_is_near(conv.y) ||
        !set(&w, &p, &conv))
        return false;
    size = (u64)w.taps * (u64)w.c * (u64)w.groups * (u64)w.k;
    at_once = ROOM / sizeof(float) / size;
    at_once = at_once < 1 ? 1 : at_once < w.chunks ? at_once : w.chunks;
    at_once = at_once < MOST_BLOCKS ? at_once : MOST_BLOCKS;
    w.parts = rp_gpu_workspace(queue, at_once * size * sizeof(float));
    if (w.parts == NULL)
        return true; /* queue->status tells */
    /* each block has a chunk at most */
    width = rp_gpu_conv_width(queue,
                              &(rp_gpu_tiled_product){(size_t)w.taps * (size_t)w.c, (size_t)w.k,
                                                      w.pixels < RP_GPU_CONV_CHUNK ? w.pixels : RP_GPU_CONV_CHUNK,
                                                      (size_t)w.groups * (size_t)at_once},
                              &tiling);
    snprintf(name, sizeof name, "rp_gpu_conv_weight_%u_%c", width,
             lies_wide(w.x, w.x_stride, w.c) && lies_wide(w.g, w.g_stride, w.k) ? 'w' : 's');
    for (w.first = 0; w.first < w.chunks; w.first += w.here) {
        w.here = w.chunks - w.first < at_once ? w.chunks - w.first : (u32)at_once;
        run(queue, name, width, &w, conv.weight);
    }
    return true;
}
