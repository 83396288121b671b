/* SPDX-License-Identifier: Apache-2.0
 * Launches of convolution and its gradient by the input in tiles, and of all three as a matrix product where the one
 * tap meets every pixel. */
#include <stdio.h>

#include "kernels/gpu/conv/conv_tile_args.h"
#include "kernels/gpu/conv/launch_conv.h"
#include "kernels/gpu/launch_tuned.h"

enum { THREADS = 256, FEW_COLUMNS = 16, FEW_ROWS = 32, FEW_TERMS = 32, ROW_BYTES = 16, MOST_GROUPS = 65535 };

/* Pixels of an image as the rows of a matrix: those behind one another. */
static bool rows_of(rp_view *matrix, const rp_view *image)
{
    const ptrdiff_t pixel = image->stride[2];

    *matrix = (rp_view){.data = image->data,
                        .dtype = image->dtype,
                        .rank = 2,
                        .shape = {image->shape[0] * image->shape[1] * image->shape[2], image->shape[3]},
                        .stride = {pixel, image->stride[3]}};
    return (image->shape[1] == 1 || image->stride[1] == pixel * (ptrdiff_t)image->shape[2]) &&
           (image->shape[0] == 1 || image->stride[0] == pixel * (ptrdiff_t)(image->shape[1] * image->shape[2]));
}

static rp_view transposed(const rp_view *matrix)
{
    rp_view view = *matrix;

    view.shape[0] = matrix->shape[1], view.shape[1] = matrix->shape[0];
    view.stride[0] = matrix->stride[1], view.stride[1] = matrix->stride[0];
    return view;
}

static bool is_pointwise(const rp_conv *p)
{
    return p->groups == 1 && p->h.taps == 1 && p->w.taps == 1 && p->h.stride == 1 && p->w.stride == 1 &&
           p->h.pad == 0 && p->w.pad == 0 && p->h.in == p->h.out && p->w.in == p->w.out;
}

/* A convolution of one tap is the product of pixels and weight, and so are its gradients (CONTRACT 4.5). */
static bool launch_pointwise(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_conv *p)
{
    rp_view x, y,
        weight = {.data = p->weight->data,
                  .dtype = p->weight->dtype,
                  .rank = 2,
                  .shape = {p->c, p->k},
                  .stride = {p->weight->stride[2], p->weight->stride[3]}};
    rp_view in[2], out;

    if (!rows_of(&x, p->x) || !rows_of(&y, p->y))
        return false;
    if (kernel == RP_K_conv2d)
        in[0] = x, in[1] = weight, out = y;
    else if (kernel == RP_K_conv2d_grad_input)
        in[0] = y, in[1] = transposed(&weight), out = x;
    else
        in[0] = transposed(&x), in[1] = y, out = weight;
    return rp_gpu_launch_matmul(queue, RP_K_matmul, &(rp_kernel_args){in, 2, &out, 1, NULL});
}

static void set_tile(rp_gpu_conv_tile *t, const rp_gpu_conv *p, const rp_conv *conv, bool back)
{
    const rp_view *a = back ? conv->y : conv->x, *to = back ? conv->x : conv->y, *weight = conv->weight;

    *t = (rp_gpu_conv_tile){.a = a->data,
                            .weight = weight->data,
                            .to = to->data,
                            .tap_stride = {weight->stride[0], weight->stride[1]},
                            .h = p->h,
                            .w = p->w,
                            .back = back,
                            .high = back ? p->h.in : p->h.out,
                            .across = back ? p->w.in : p->w.out,
                            .images = p->images,
                            .together = p->images < RP_GPU_CONV_TOGETHER ? p->images : RP_GPU_CONV_TOGETHER,
                            .columns = back ? p->c : p->k,
                            .inner = back ? p->k : p->c,
                            .taps = p->h.taps * p->w.taps,
                            .a_inner = (int)a->stride[3],
                            .weight_inner = (int)weight->stride[back ? 3 : 2],
                            .weight_column = (int)weight->stride[back ? 2 : 3],
                            .weight_group = p->k * weight->stride[3]};
    t->rows = p->images * t->high * t->across;
    t->a_group = (i64)t->inner * a->stride[3];
    t->to_group = (i64)t->columns * to->stride[3];
    for (int d = 0; d < 4; d++) {
        if (d < 3)
            t->a_stride[d] = a->stride[d];
        t->to_stride[d] = to->stride[d];
    }
}

/* Weights of neighbouring columns are neighbours and begin at multiples of 16 bytes. */
static bool is_wide(const rp_gpu_conv_tile *t)
{
    return t->weight_column == 1 && t->columns % 4 == 0 && t->weight_inner % 4 == 0 && t->tap_stride[0] % 4 == 0 &&
           t->tap_stride[1] % 4 == 0 && t->weight_group % 4 == 0 && (uintptr_t)t->weight % ROW_BYTES == 0;
}

/* Channels of pixels that are neighbours, in whole stages of 16 bytes, and weights wide or so too. */
static bool is_even(const rp_gpu_conv_tile *t)
{
    const bool weights =
        is_wide(t) || (t->weight_inner == 1 && t->weight_column % 4 == 0 && t->tap_stride[0] % 4 == 0 &&
                       t->tap_stride[1] % 4 == 0 && t->weight_group % 4 == 0 && (uintptr_t)t->weight % ROW_BYTES == 0);

    return weights && t->inner % RP_GPU_CONV_EVEN_STEPS == 0 && t->a_inner == 1 && t->a_stride[0] % 4 == 0 &&
           t->a_stride[1] % 4 == 0 && t->a_stride[2] % 4 == 0 && (uintptr_t)t->a % ROW_BYTES == 0;
}

static bool is_to_wide(const rp_gpu_conv_tile *t)
{
    return t->to_stride[3] == 1 && t->columns % 4 == 0 && t->to_stride[0] % 4 == 0 && t->to_stride[1] % 4 == 0 &&
           t->to_stride[2] % 4 == 0 && t->to_group % 4 == 0 && t->to_chunk % 4 == 0 &&
           (uintptr_t)t->to % ROW_BYTES == 0;
}

/* Results of chunks apart: as those of a tensor that lies densely, [chunks, groups, images, high, across, columns]. */
static bool set_apart(rp_gpu_queue *queue, rp_gpu_conv_tile *t, size_t groups, size_t chunks)
{
    t->to = rp_gpu_workspace(queue, chunks * groups * (size_t)t->rows * (size_t)t->columns * sizeof(float));
    t->to_stride[3] = 1;
    t->to_stride[2] = t->columns;
    t->to_stride[1] = t->across * t->to_stride[2];
    t->to_stride[0] = t->high * t->to_stride[1];
    t->to_group = t->images * t->to_stride[0];
    t->to_chunk = (i64)groups * t->to_group;
    t->apart = 1;
    return t->to != NULL;
}

static void join(rp_gpu_queue *queue, const rp_gpu_conv_tile *made, const rp_gpu_conv_tile *parts, size_t groups,
                 size_t chunks)
{
    rp_gpu_matmul_join p = {.parts = parts->to,
                            .y = made->to,
                            .y_row = made->to_stride[2],
                            .y_col = made->to_stride[3],
                            .part = parts->to_chunk,
                            .y_batch = {0, 0, 0, made->to_group, made->to_stride[0], made->to_stride[1]},
                            .batch = {1, 1, 1, (uint32_t)groups, (uint32_t)made->images, (uint32_t)made->high},
                            .m = (uint32_t)made->across,
                            .n = (uint32_t)made->columns,
                            .chunks = (uint32_t)chunks};

    rp_gpu_matmul_add(queue, RP_F32, &p);
}

/* The tile, and whether chunks go to blocks of their own, as a model finds it fastest. */
static void run(rp_gpu_queue *queue, rp_gpu_conv_tile *t, size_t groups)
{
    static const rp_gpu_tile_speed even_speed = {RP_GPU_CONV_ROWS, 64, 3, 46, 55};
    const rp_gpu_tiled_product all = {(size_t)t->rows, (size_t)t->columns, (size_t)t->taps * (size_t)t->inner, groups};
    const rp_gpu_conv_tile made = *t;
    const bool even = is_even(t);
    rp_gpu_tiling tiling;
    unsigned width = even_speed.columns, threads = RP_GPU_CONV_EVEN_THREADS;
    unsigned words =
        RP_GPU_CONV_EVEN_STAGES * RP_GPU_CONV_EVEN_STEPS * (RP_GPU_CONV_ROWS + 4 + width + 4) + RP_GPU_CONV_ROWS;
    char name[48];

    if (even) {
        tiling = rp_gpu_tiling_of(queue, &even_speed, &all, sizeof(float));
    } else {
        width = rp_gpu_conv_width(queue, &all, &tiling);
        threads = THREADS;
        words = RP_GPU_CONV_STAGES * RP_GPU_CONV_STEPS * (RP_GPU_CONV_ROWS + 4 + width + 4);
    }
    if (tiling.chunks > 1 && !set_apart(queue, t, groups, tiling.chunks))
        return; /* queue->status tells */
    t->to_wide = is_to_wide(t);
    snprintf(name, sizeof name, "rp_gpu_conv_tile_%u_%c", width,
             even ? (is_wide(t) ? 'e' : 'k') : (is_wide(t) ? 'w' : 's'));
    rp_gpu_run(queue, name,
               (rp_gpu_grid){(u32)(tiling.tiles / groups), (u32)groups, (u32)tiling.chunks, threads,
                             4 * (words + (unsigned)t->taps * (RP_GPU_CONV_ROWS + 4 + 1))},
               t, sizeof *t);
    if (tiling.chunks > 1)
        join(queue, &made, t, groups, tiling.chunks);
}

bool rp_gpu_launch_conv_tile(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args)
{
    const bool back = kernel == RP_K_conv2d_grad_input;
    const rp_conv conv = rp_gpu_conv_of(kernel, args);
    rp_gpu_conv p = {0};
    rp_gpu_conv_tile t;

    if (is_pointwise(&conv) && launch_pointwise(queue, kernel, &conv))
        return true;
    if (kernel == RP_K_conv2d_grad_weight)
        return rp_gpu_launch_conv_weight(queue, kernel, args);
    if (args->out[0].dtype != RP_F32 || !rp_gpu_conv_set(&p, &conv, &args->out[0]) || !rp_gpu_conv_is_near(conv.x) ||
        !rp_gpu_conv_is_near(conv.y) || !rp_gpu_conv_is_near(conv.weight))
        return false;
    set_tile(&t, &p, &conv, back);
    if (t.columns <= FEW_COLUMNS || t.rows < FEW_ROWS || t.taps > RP_GPU_CONV_TAPS || t.taps * t.inner < FEW_TERMS ||
        p.groups > MOST_GROUPS)
        return false;
    run(queue, &t, (size_t)p.groups);
    return true;
}
