/* SPDX-License-Identifier: Apache-2.0
 * Launches of kernels whose item is a row along the last axis. A warp takes a row of up to one chunk of 4096, a block a
 * longer one. */
#include <stdio.h>
#include <string.h>

#include "kernels/gpu/reduce/launch_axes.h"
#include "kernels/gpu/launch_tuned.h"
#include "kernels/gpu/reduce/rows_args.h"

enum { WARPS = RP_GPU_ROW_WARPS, WARP = 32 };

/* How a kernel's operands lie: r, a row; s, one element a row; v, one row for all. */
static const char *operands_of(rp_kernel_id kernel)
{
    switch (kernel) {
    case RP_K_softmax:
    case RP_K_log_softmax:
        return "rr";
    case RP_K_softmax_grad:
    case RP_K_log_softmax_grad:
        return "rrr";
    case RP_K_cross_entropy:
        return "srs";
    case RP_K_cross_entropy_grad:
        return "rsrs";
    case RP_K_layer_norm:
        return "rrvv";
    case RP_K_layer_norm_grad:
    case RP_K_layer_norm_backward:
    case RP_K_rms_norm_grad:
        return "rrrv";
    case RP_K_rms_norm:
        return "rrv";
    default:
        return NULL;
    }
}

/* The views without their last axis where they have rows, and the steps along it. */
static bool lay_out(rp_gpu_rows *p, const rp_kernel_args *args, const char *operands)
{
    rp_view rows[RP_GPU_ROW_VIEWS];
    const rp_view *views[RP_GPU_ROW_VIEWS], *longest = NULL;
    i64 *strides[RP_GPU_ROW_VIEWS];
    size_t n = 0;

    for (int v = 0; operands[v] != '\0'; v++) {
        const rp_view *view = v == 0 ? &args->out[0] : &args->in[v - 1];

        p->at[v] = view->data;
        if (operands[v] != 's' && view->rank == 0)
            return false;
        p->step[v] = operands[v] == 's' ? 0 : rp_view_last_stride(view);
        if (operands[v] == 'r')
            longest = view;
        if (operands[v] == 'v')
            continue;
        rows[v] = operands[v] == 'r' ? rp_view_rows(view) : *view;
        views[n] = &rows[v];
        strides[n++] = p->row[v];
    }
    if (longest == NULL || rp_view_last(longest) > (size_t)RP_GPU_ROW_CHUNKS * RP_GPU_CHUNK)
        return false;
    p->n = (u32)rp_view_last(longest);
    p->block = p->n > RP_GPU_CHUNK;
    return rp_gpu_axes_of(&p->rows, strides, views, n, 0, false, &p->count);
}

/* The views that a kernel reads as rows, which its caches hold. */
static u32 cached(const char *operands)
{
    u32 n = 0;

    for (int v = 1; operands[v] != '\0'; v++)
        n += operands[v] == 'r';
    return n;
}

/* Blocks of as many warps as have their rows in the caches; small ones leave room for others beside them. */
static void run(rp_gpu_queue *queue, rp_gpu_rows *p, rp_kernel_id kernel, rp_dtype dtype)
{
    const u32 size = (u32)rp_dtype_size(dtype), chunks = (p->n + RP_GPU_CHUNK - 1) / RP_GPU_CHUNK;
    u32 warps = WARPS, cache;
    char name[48];

    p->piece = p->block ? RP_GPU_ROW_PIECE : p->n;
    p->sums = !p->block ? 0 : chunks < WARPS ? WARPS : chunks;
    cache = cached(operands_of(kernel)) * p->piece * size;
    while (warps > 1 && warps * cache > RP_GPU_ROW_CACHE)
        warps /= 2;
    snprintf(name, sizeof name, "rp_gpu_%s_%s", rp_kernel_name(kernel), dtype == RP_F32 ? "f32" : "f64");
    rp_gpu_run(queue, name,
               (rp_gpu_grid){p->block ? p->count : rp_gpu_blocks(p->count, warps), 1, 1, warps * WARP,
                             p->sums * size + warps * cache},
               p, sizeof *p);
}

bool rp_gpu_launch_rows(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args)
{
    const char *operands = operands_of(kernel);
    rp_gpu_rows p = {0};

    if (operands == NULL || !lay_out(&p, args, operands))
        return false;
    if (kernel == RP_K_layer_norm || kernel == RP_K_layer_norm_grad || kernel == RP_K_rms_norm)
        p.eps = RP_AT(args->attr, layer_norm, eps).r;
    if (kernel == RP_K_cross_entropy || kernel == RP_K_cross_entropy_grad)
        p.label_i32 = args->in[kernel == RP_K_cross_entropy ? 1 : 2].dtype == RP_I32;
    if (p.count > 0)
        run(queue, &p, kernel, args->out[0].dtype);
    return true;
}

static void lanes_of(void **at, i64 *step, const rp_view *lanes)
{
    *at = lanes->data;
    for (int d = 0; d < 3; d++)
        step[d] = lanes->stride[d];
}

/* dx by rows, which leave their moments, then the lanes by columns. */
bool rp_gpu_launch_norm_lanes(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args)
{
    const bool rms = kernel == RP_K_rms_norm_grad;
    const rp_dtype dtype = args->out[0].dtype;
    const u64 most = 32u * (u64)rp_gpu_multiprocessors(queue);
    rp_gpu_rows p = {.eps = RP_AT(args->attr, layer_norm_backward, eps).r};
    rp_gpu_norm_lanes l = {.g = args->in[0].data, .x = args->in[1].data};
    u64 blocks;

    if (!lay_out(&p, args, operands_of(kernel)))
        return false;
    if (p.count == 0)
        return true;
    p.scale = rp_gpu_workspace(queue, 2 * (size_t)p.count * rp_dtype_size(dtype));
    if (p.scale == NULL)
        return true; /* queue->status tells */
    p.center = rms ? NULL : (char *)p.scale + (size_t)p.count * rp_dtype_size(dtype);
    run(queue, &p, rms ? kernel : RP_K_layer_norm_grad, dtype);
    l.center = p.center, l.scale = p.scale;
    lanes_of(&l.q, l.q_step, &args->out[1]);
    if (!rms)
        lanes_of(&l.p, l.p_step, &args->out[2]);
    memcpy(l.g_row, p.row[1], sizeof l.g_row);
    memcpy(l.x_row, p.row[2], sizeof l.x_row);
    l.g_last = p.step[1], l.x_last = p.step[2];
    l.rows = p.rows;
    l.all = p.count, l.n = p.n, l.lanes = (u32)args->out[1].shape[1];
    l.count = (u64)args->out[1].shape[0] * l.lanes * l.n;
    blocks = (l.count + WARPS * WARP - 1) / (WARPS * WARP);
    if (blocks > 0)
        rp_gpu_run(queue, dtype == RP_F32 ? "rp_gpu_norm_lanes_f32" : "rp_gpu_norm_lanes_f64",
                   (rp_gpu_grid){(u32)(blocks < most ? blocks : most), 1, 1, WARPS * WARP, 0}, &l, sizeof l);
    return true;
}
