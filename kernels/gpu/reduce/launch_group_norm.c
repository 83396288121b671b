/* SPDX-License-Identifier: Apache-2.0
 * Launches of group norm: reductions over each channel of a sample, what follows of them a group, then every element.
 */
#include <stdio.h>

#include "kernels/gpu/reduce/group_norm_args.h"
#include "kernels/gpu/reduce/launch_axes.h"
#include "kernels/gpu/reduce/launch_reduce.h"
#include "kernels/gpu/launch_tuned.h"

enum { THREADS = 256, WARPS = THREADS / 32, BYTES = 16 };

/* The workspace: six numbers a channel of a sample, then that of a reduction. */
typedef struct rooms {
    char *center, *scale, *first, *second, *a, *b, *rest;
} rooms;

static void run(rp_gpu_queue *queue, const char *what, rp_dtype dtype, rp_gpu_grid grid, void *p, size_t size)
{
    char name[48];

    snprintf(name, sizeof name, "rp_gpu_group_%s_%s", what, dtype == RP_F32 ? "f32" : "f64");
    rp_gpu_run(queue, name, grid, p, size);
}

/* The first `count` numbers. */
static void run_numbers(rp_gpu_queue *queue, rp_dtype dtype, rp_gpu_group_numbers *p, u32 count)
{
    run(queue, "numbers", dtype, (rp_gpu_grid){rp_gpu_blocks(p->items, WARPS), count, 1, THREADS, 0}, p, sizeof *p);
}

static void run_elements(rp_gpu_queue *queue, const char *what, rp_dtype dtype, rp_gpu_group_norm *p)
{
    const u32 most = 32u * (u32)rp_gpu_multiprocessors(queue), wanted = rp_gpu_blocks(p->items, THREADS);

    run(queue, what, dtype, (rp_gpu_grid){wanted < most ? wanted : most, 1, 1, THREADS, 0}, p, sizeof *p);
}

/* Whether 16 bytes of neighbouring channels lie so everywhere. */
static bool lie_wide(const rp_gpu_axes *rows, const void *data, i64 last, const i64 *row, i64 element)
{
    bool wide = (uintptr_t)data % BYTES == 0 && last == 1;

    for (u32 d = 0; row != NULL && d < rows->rank; d++)
        wide = wide && (rows->shape[d] == 1 || row[d] * element % BYTES == 0);
    return wide;
}

static bool set_wide(const rp_gpu_group_norm *p, i64 element)
{
    return p->channels * element % BYTES == 0 && lie_wide(&p->rows, p->x, p->x_last, p->x_row, element) &&
           lie_wide(&p->rows, p->y, p->y_last, p->y_row, element) &&
           lie_wide(&p->rows, p->g, p->g_last, p->g_row, element) &&
           lie_wide(&p->rows, p->gamma, p->gamma_step, NULL, element) &&
           lie_wide(&p->rows, p->beta, p->beta_step, NULL, element);
}

/* The elements of y, x, and g and beta or, where there is none, x and gamma again. Groups of nothing, whose numbers are
 * NaN, are for the reference. */
static bool set_elements(rp_gpu_group_norm *p, const rp_view *y, const rp_view *x, const rp_view *g,
                         const rp_view *gamma, const rp_view *beta)
{
    const rp_view rows[3] = {rp_view_rows(y), rp_view_rows(x), rp_view_rows(g)};
    const rp_view *views[3] = {&rows[0], &rows[1], &rows[2]};
    i64 *strides[3] = {p->y_row, p->x_row, p->g_row};
    u32 count;
    u64 items;

    if (!rp_gpu_axes_of(&p->rows, strides, views, 3, 0, false, &count) || rp_view_last(y) > INT32_MAX)
        return false;
    p->y = y->data, p->x = x->data, p->g = g->data;
    p->y_last = rp_view_last_stride(y), p->x_last = rp_view_last_stride(x), p->g_last = rp_view_last_stride(g);
    p->gamma = gamma->data, p->gamma_step = gamma->stride[0];
    p->beta = beta->data, p->beta_step = beta->stride[0];
    p->channels = (u32)rp_view_last(y);
    if (count == 0 || p->channels == 0)
        return false;
    p->positions = count / (u32)x->shape[0];
    p->wide = set_wide(p, (i64)rp_dtype_size(x->dtype));
    items = (u64)count * p->channels / (p->wide ? BYTES / rp_dtype_size(x->dtype) : 1);
    p->items = (u32)items;
    return items <= INT32_MAX;
}

static bool set_groups(rp_gpu_group_numbers *p, const rp_gpu_group_norm *elements, const rp_view *x, i64 groups)
{
    p->groups = (u32)groups;
    p->width = elements->channels / p->groups;
    p->items = (u32)x->shape[0] * p->groups;
    p->n = (double)elements->positions * p->width;
    return p->width <= RP_GPU_CHUNK * RP_GPU_CHUNK;
}

static bool make_rooms(rp_gpu_queue *queue, rooms *r, u32 outputs, rp_dtype dtype, size_t reduction)
{
    const size_t one = (outputs * rp_dtype_size(dtype) + BYTES) / BYTES * BYTES;
    char *memory = rp_gpu_workspace(queue, 6 * one + reduction);

    *r = (rooms){memory,           memory + one,     memory + 2 * one, memory + 3 * one,
                 memory + 4 * one, memory + 5 * one, memory + 6 * one};
    return memory != NULL;
}

static void given_of(rp_gpu_group_number *number, const rp_view *given)
{
    number->given = given->data;
    number->given_step[0] = given->stride[0], number->given_step[1] = given->stride[1];
}

static void out_of(void **out, i64 *step, const rp_view *view)
{
    *out = view->data;
    step[0] = view->stride[0], step[1] = view->stride[1];
}

/* All axes but samples and channels. */
static unsigned positions_of(const rp_view *view)
{
    return (1u << (view->rank - 1)) - 2;
}

/* mean and r of each group, from sums of the channels. */
static void run_moments(rp_gpu_queue *queue, const rp_kernel_args *args, rp_gpu_group_numbers *p, const rooms *r,
                        rp_gpu_reduce *sum)
{
    const rp_dtype dtype = args->in[0].dtype;

    sum->y = r->first;
    rp_gpu_reduce_run(queue, sum, dtype, "sum", "sum", r->rest);
    p->number[0] = (rp_gpu_group_number){.sums = r->first, .spread = r->center};
    out_of(&p->number[0].out, p->number[0].out_step, &args->out[1]);
    run_numbers(queue, dtype, p, 1);
    sum->center = r->center;
    rp_gpu_reduce_run(queue, sum, dtype, "square", "sum", r->rest);
    p->number[0].spread = r->scale;
    p->number[0].inverse = 1;
    out_of(&p->number[0].out, p->number[0].out_step, &args->out[2]);
    run_numbers(queue, dtype, p, 1);
}

bool rp_gpu_launch_group_norm(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args)
{
    const rp_view *x = &args->in[0];
    rp_gpu_group_norm p = {.items = 0};
    rp_gpu_group_numbers numbers = {.eps = RP_AT(args->attr, group_norm, eps).r};
    rp_gpu_reduce sum = {.finish = RP_GPU_FINISH_SUM};
    rooms r;

    (void)kernel;
    if (!set_elements(&p, &args->out[0], x, x, &args->in[1], &args->in[2]) ||
        !set_groups(&numbers, &p, x, RP_AT(args->attr, group_norm, groups).i) ||
        !rp_gpu_reduce_set(&sum, x, NULL, NULL, positions_of(x)))
        return false;
    if (!make_rooms(queue, &r, sum.outputs, x->dtype, rp_gpu_reduce_bytes(&sum, x->dtype, false)))
        return true; /* queue->status tells */
    run_moments(queue, args, &numbers, &r, &sum);
    p.center = r.center;
    p.scale = r.scale;
    run_elements(queue, "apply", x->dtype, &p);
    return true;
}

/* The sums of g and of g z of each channel, and of them a and b of each group. */
static void run_slopes(rp_gpu_queue *queue, const rp_kernel_args *args, rp_gpu_group_numbers *p, const rooms *r,
                       rp_gpu_reduce *sum, rp_gpu_reduce *moment)
{
    const rp_dtype dtype = args->in[0].dtype;

    sum->y = r->first;
    rp_gpu_reduce_run(queue, sum, dtype, "sum", "sum", r->rest);
    moment->y = r->second;
    moment->center = r->center;
    moment->scale = r->scale;
    rp_gpu_reduce_run(queue, moment, dtype, "moment", "sum", r->rest);
    p->number[0] = (rp_gpu_group_number){.sums = r->first, .spread = r->a};
    p->number[1] = (rp_gpu_group_number){.sums = r->second, .spread = r->b};
    out_of(&p->number[0].sums_out, p->number[0].sums_out_step, &args->out[2]);
    out_of(&p->number[1].sums_out, p->number[1].sums_out_step, &args->out[1]);
    p->gamma = args->in[2].data;
    p->gamma_step = args->in[2].stride[0];
    run_numbers(queue, dtype, p, 2);
}

bool rp_gpu_launch_group_norm_grad(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args)
{
    const rp_view *g = &args->in[0], *x = &args->in[1], *gamma = &args->in[2];
    rp_gpu_group_norm p = {.items = 0};
    rp_gpu_group_numbers numbers = {.eps = RP_AT(args->attr, group_norm_grad, eps).r};
    rp_gpu_reduce sum = {.finish = RP_GPU_FINISH_SUM}, moment = {.finish = RP_GPU_FINISH_SUM};
    rooms r;

    (void)kernel;
    if (!set_elements(&p, &args->out[0], x, g, gamma, gamma) ||
        !set_groups(&numbers, &p, x, RP_AT(args->attr, group_norm_grad, groups).i) ||
        !rp_gpu_reduce_set(&sum, g, NULL, NULL, positions_of(g)) ||
        !rp_gpu_reduce_set(&moment, g, x, NULL, positions_of(g)))
        return false;
    if (!make_rooms(queue, &r, moment.outputs, x->dtype, rp_gpu_reduce_bytes(&moment, x->dtype, false)))
        return true; /* queue->status tells */
    given_of(&numbers.number[0], &args->in[3]);
    given_of(&numbers.number[1], &args->in[4]);
    numbers.number[0].spread = r.center;
    numbers.number[1].spread = r.scale;
    numbers.number[1].inverse = 1;
    run_numbers(queue, x->dtype, &numbers, 2);
    run_slopes(queue, args, &numbers, &r, &sum, &moment);
    p.center = r.center, p.scale = r.scale;
    p.a = r.a, p.b = r.b;
    run_elements(queue, "grad", x->dtype, &p);
    return true;
}
