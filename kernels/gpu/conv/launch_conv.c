/* SPDX-License-Identifier: Apache-2.0
 * Launches of convolution, its gradients and pooling with a thread for each element that is made. */
#include <stdio.h>
#include <string.h>

#include "kernels/gpu/conv/conv_args.h"
#include "kernels/gpu/conv/conv_tile_args.h"
#include "kernels/gpu/conv/launch_conv.h"
#include "kernels/gpu/launch_tuned.h"
#include "kernels/ref/conv/conv.h"

enum { THREADS = 256 };

static void strides_of(i64 to[4], const rp_view *view)
{
    for (int d = 0; d < 4; d++)
        to[d] = view->stride[d];
}

static bool axis_of(rp_gpu_conv_axis *to, const rp_conv_axis *axis)
{
    const i64 reach = (i64)axis->out * axis->stride + (i64)axis->taps * axis->dilation + axis->pad + (i64)axis->in;

    if (axis->in > INT32_MAX / 4 || axis->out > INT32_MAX / 4 || axis->taps > INT32_MAX / 4 || reach > INT32_MAX / 4 ||
        axis->stride > INT32_MAX / 4 || axis->dilation > INT32_MAX / 4 || axis->pad > INT32_MAX / 4)
        return false;
    *to = (rp_gpu_conv_axis){(int)axis->in,     (int)axis->out, (int)axis->taps,
                             (int)axis->stride, (int)axis->pad, (int)axis->dilation};
    return true;
}

bool rp_gpu_conv_set(rp_gpu_conv *p, const rp_conv *conv, const rp_view *made)
{
    if (conv->images > INT32_MAX || conv->groups * conv->c > INT32_MAX || conv->groups * conv->k > INT32_MAX ||
        !axis_of(&p->h, &conv->h) || !axis_of(&p->w, &conv->w) ||
        (u64)conv->h.taps * conv->w.taps * (conv->c + conv->k) > INT32_MAX ||
        (u64)conv->images * conv->h.out * conv->w.out > INT32_MAX)
        return false;
    p->x = conv->x->data;
    p->weight = conv->weight->data;
    p->y = conv->y->data;
    p->to = made->data;
    strides_of(p->x_stride, conv->x);
    strides_of(p->weight_stride, conv->weight);
    strides_of(p->y_stride, conv->y);
    p->images = (int)conv->images, p->groups = (int)conv->groups;
    p->c = (int)conv->c, p->k = (int)conv->k;
    p->count = rp_view_count(made);
    return true;
}

unsigned rp_gpu_conv_width(const rp_gpu_queue *queue, const rp_gpu_tiled_product *all, rp_gpu_tiling *tiling)
{
    static const rp_gpu_tile_speed wide = {RP_GPU_CONV_ROWS, 128, 2, 50, 65},
                                   narrow = {RP_GPU_CONV_ROWS, 64, 2, 40, 55};
    const rp_gpu_tiling of_wide = rp_gpu_tiling_of(queue, &wide, all, sizeof(float));
    const rp_gpu_tiling of_narrow = rp_gpu_tiling_of(queue, &narrow, all, sizeof(float));
    const bool is_wide = of_wide.cycles < of_narrow.cycles;

    *tiling = is_wide ? of_wide : of_narrow;
    return is_wide ? wide.columns : narrow.columns;
}

bool rp_gpu_conv_is_near(const rp_view *view)
{
    i64 reach = 0;

    for (int d = 0; d < view->rank; d++) {
        if (view->stride[d] < 0)
            return false;
        reach += (i64)view->shape[d] * view->stride[d];
    }
    return reach < INT32_MAX;
}

static void run(rp_gpu_queue *queue, rp_gpu_conv *p, const char *what, rp_dtype dtype)
{
    const u64 wanted = (p->count + THREADS - 1) / THREADS, most = 64u * (u64)rp_gpu_multiprocessors(queue);
    char name[48];

    if (p->count == 0)
        return;
    snprintf(name, sizeof name, "rp_gpu_%s_%s", what, dtype == RP_F32 ? "f32" : "f64");
    rp_gpu_run(queue, name, (rp_gpu_grid){(u32)(wanted < most ? wanted : most), 1, 1, THREADS, 0}, p, sizeof *p);
}

rp_conv rp_gpu_conv_of(rp_kernel_id kernel, const rp_kernel_args *args)
{
    return kernel == RP_K_conv2d_grad_input    ? rp_conv_grad_input(args)
           : kernel == RP_K_conv2d_grad_weight ? rp_conv_grad_weight(args)
                                               : rp_conv_forward(args);
}

bool rp_gpu_launch_conv_direct(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args)
{
    const rp_conv conv = rp_gpu_conv_of(kernel, args);
    rp_gpu_conv p = {0};

    if (!rp_gpu_conv_set(&p, &conv, &args->out[0]))
        return false;
    run(queue, &p,
        kernel == RP_K_conv2d_grad_input    ? "conv_direct_input"
        : kernel == RP_K_conv2d_grad_weight ? "conv_direct_weight"
                                            : "conv_direct",
        args->out[0].dtype);
    return true;
}

/* x and y by name, either of which may be the gradient; max_pool_grad has x beside dx. */
bool rp_gpu_launch_pool(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args)
{
    const bool grad = kernel == RP_K_max_pool_grad || kernel == RP_K_avg_pool_grad;
    const rp_view *x = grad ? &args->out[0] : &args->in[0], *y = grad ? &args->in[0] : &args->out[0];
    const int64_t *window = RP_AT(args->attr, max_pool, window).list;
    const rp_conv_axis h = rp_conv_axis_of(args->attr, 0, x->shape[1], y->shape[1], (size_t)window[0]);
    const rp_conv_axis w = rp_conv_axis_of(args->attr, 1, x->shape[2], y->shape[2], (size_t)window[1]);
    rp_gpu_conv p = {.x = x->data, .y = y->data, .to = args->out[0].data, .groups = 1};

    if (!axis_of(&p.h, &h) || !axis_of(&p.w, &w) || x->shape[0] > INT32_MAX || x->shape[3] > INT32_MAX)
        return false;
    if (kernel == RP_K_max_pool_grad) {
        p.x = args->in[1].data;
        strides_of(p.x_stride, &args->in[1]);
    } else {
        strides_of(p.x_stride, x);
    }
    strides_of(p.y_stride, y);
    strides_of(p.weight_stride, x); /* of dx, where that is made */
    p.images = (int)x->shape[0], p.c = (int)x->shape[3];
    p.count = rp_view_count(&args->out[0]);
    run(queue, &p, rp_kernel_name(kernel), args->out[0].dtype);
    return true;
}
