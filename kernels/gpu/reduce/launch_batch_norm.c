/* SPDX-License-Identifier: Apache-2.0
 * Launches of batch norm: reductions over each channel, what follows of them a channel, then every element. */
#include <stdio.h>

#include "kernels/gpu/reduce/batch_norm_args.h"
#include "kernels/gpu/reduce/launch_axes.h"
#include "kernels/gpu/reduce/launch_reduce.h"
#include "kernels/gpu/launch_tuned.h"

enum { THREADS = 256, BYTES = 16 };

/* The workspace: four numbers a channel, then that of a reduction. */
typedef struct rooms {
    char *center, *scale, *first, *second, *rest;
} rooms;

static void run(rp_gpu_queue *queue, const char *what, rp_dtype dtype, rp_gpu_batch_norm *p, bool channels)
{
    const u64 count = channels ? p->channels : p->count, most = 32u * (u64)rp_gpu_multiprocessors(queue);
    const u64 wanted = (count + THREADS - 1) / THREADS;
    char name[48];

    if (count == 0)
        return;
    snprintf(name, sizeof name, "rp_gpu_batch_%s_%s", what, dtype == RP_F32 ? "f32" : "f64");
    rp_gpu_run(queue, name, (rp_gpu_grid){(u32)(channels || wanted < most ? wanted : most), 1, 1, THREADS, 0}, p,
               sizeof *p);
}

/* The elements of y, x and, if there is one, g. */
static bool set_elements(rp_gpu_batch_norm *p, const rp_view *y, const rp_view *x, const rp_view *g)
{
    const rp_view rows[3] = {rp_view_rows(y), rp_view_rows(x), rp_view_rows(g)};
    const rp_view *views[3] = {&rows[0], &rows[1], &rows[2]};
    i64 *strides[3] = {p->y_row, p->x_row, p->g_row};
    u32 count;

    if (!rp_gpu_axes_of(&p->rows, strides, views, 3, 0, false, &count) || rp_view_last(y) > INT32_MAX)
        return false;
    p->y = y->data, p->x = x->data, p->g = g->data;
    p->y_last = rp_view_last_stride(y), p->x_last = rp_view_last_stride(x), p->g_last = rp_view_last_stride(g);
    p->channels = (u32)rp_view_last(y);
    p->count = (u64)count * p->channels;
    p->n = count;
    return true;
}

static bool make_rooms(rp_gpu_queue *queue, rooms *r, const rp_gpu_batch_norm *p, rp_dtype dtype, size_t reduction)
{
    const size_t one = (p->channels * rp_dtype_size(dtype) + BYTES) / BYTES * BYTES;
    char *memory = rp_gpu_workspace(queue, 4 * one + reduction);

    *r = (rooms){memory, memory + one, memory + 2 * one, memory + 3 * one, memory + 4 * one};
    return memory != NULL;
}

static void vector_of(const void **at, i64 *step, const rp_view *view)
{
    *at = view->data;
    *step = view->stride[0];
}

static void result_of(void **at, i64 *step, const rp_view *view)
{
    *at = view->data;
    *step = view->stride[0];
}

static unsigned all_but_last(const rp_view *view)
{
    return (1u << (view->rank - 1)) - 1;
}

/* mean, then var about it, of x into the rooms first and second. */
static bool set_moments(rp_gpu_reduce *mean, rp_gpu_reduce *var, const rp_view *x)
{
    const unsigned mask = all_but_last(x);

    *mean = (rp_gpu_reduce){.finish = RP_GPU_FINISH_DIVIDE};
    *var = (rp_gpu_reduce){.finish = RP_GPU_FINISH_DIVIDE};
    if (!rp_gpu_reduce_set(mean, x, NULL, NULL, mask) || !rp_gpu_reduce_set(var, x, NULL, NULL, mask))
        return false;
    mean->divisor = var->divisor = (double)mean->all;
    return true;
}

bool rp_gpu_launch_batch_norm(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args)
{
    const bool train = kernel == RP_K_batch_norm_train;
    const rp_view *x = &args->in[0], *y = &args->out[0];
    rp_gpu_batch_norm p = {.eps = RP_AT(args->attr, batch_norm, eps).r};
    rp_gpu_reduce mean, var;
    rooms r;

    if (x->rank == 0 || !set_elements(&p, y, x, x) || (train && !set_moments(&mean, &var, x)))
        return false;
    if (p.channels == 0)
        return true;
    if (!make_rooms(queue, &r, &p, x->dtype, train ? rp_gpu_reduce_bytes(&mean, x->dtype, false) : 0))
        return true; /* queue->status tells */
    vector_of(&p.gamma, &p.gamma_step, &args->in[1]);
    vector_of(&p.beta, &p.beta_step, &args->in[2]);
    if (train) {
        mean.y = r.first;
        rp_gpu_reduce_run(queue, &mean, x->dtype, "sum", "sum", r.rest);
        var.y = r.second;
        var.center = r.first;
        rp_gpu_reduce_run(queue, &var, x->dtype, "square", "sum", r.rest);
        p.mean = r.first, p.mean_step = 1;
        p.var = r.second, p.var_step = 1;
        result_of(&p.mean_out, &p.mean_out_step, &args->out[1]);
        result_of(&p.var_out, &p.var_out_step, &args->out[2]);
    } else {
        vector_of(&p.mean, &p.mean_step, &args->in[3]);
        vector_of(&p.var, &p.var_step, &args->in[4]);
    }
    p.center = r.center;
    p.scale = r.scale;
    run(queue, "channels", x->dtype, &p, true);
    run(queue, "apply", x->dtype, &p, false);
    return true;
}

bool rp_gpu_launch_batch_norm_grad(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args)
{
    const rp_view *g = &args->in[0], *x = &args->in[1], *dx = &args->out[0];
    rp_gpu_batch_norm p = {.eps = RP_AT(args->attr, batch_norm_grad, eps).r};
    rp_gpu_reduce sum = {.finish = RP_GPU_FINISH_SUM}, moment = {.finish = RP_GPU_FINISH_SUM};
    rooms r;

    (void)kernel;
    if (x->rank == 0 || !set_elements(&p, dx, x, g) || !rp_gpu_reduce_set(&sum, g, NULL, NULL, all_but_last(g)) ||
        !rp_gpu_reduce_set(&moment, g, x, NULL, all_but_last(g)))
        return false;
    if (p.channels == 0)
        return true;
    if (!make_rooms(queue, &r, &p, x->dtype, rp_gpu_reduce_bytes(&moment, x->dtype, false)))
        return true; /* queue->status tells */
    vector_of(&p.gamma, &p.gamma_step, &args->in[2]);
    vector_of(&p.mean, &p.mean_step, &args->in[3]);
    vector_of(&p.var, &p.var_step, &args->in[4]);
    p.center = r.center;
    p.scale = r.scale;
    run(queue, "channels", x->dtype, &p, true);
    sum.y = r.first;
    rp_gpu_reduce_run(queue, &sum, x->dtype, "sum", "sum", r.rest);
    moment.y = r.second;
    moment.center = r.center;
    moment.scale = r.scale;
    rp_gpu_reduce_run(queue, &moment, x->dtype, "moment", "sum", r.rest);
    p.g_sum = r.first;
    p.gz_sum = r.second;
    result_of(&p.mean_out, &p.mean_out_step, &args->out[1]);
    result_of(&p.var_out, &p.var_out_step, &args->out[2]);
    run(queue, "sums", x->dtype, &p, true);
    run(queue, "grad", x->dtype, &p, false);
    return true;
}
