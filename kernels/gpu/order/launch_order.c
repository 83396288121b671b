/* SPDX-License-Identifier: Apache-2.0
 * Lines in order on a GPU: stretches that fit shared memory are ordered in one launch, then merged, a launch a distance
 * while elements lie too far apart for that. The first k of a line are copied from a line in order. */
#include <stdio.h>
#include <string.h>

#include "kernels/gpu/launch_tuned.h"
#include "kernels/gpu/order/order_args.h"
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

static void run(rp_gpu_queue *queue, const char *which, rp_dtype dtype, u64 blocks, rp_gpu_sort *p)
{
    const rp_gpu_grid grid = {.x = (uint32_t)blocks, .threads = RP_GPU_SORT_THREADS};
    char name[NAME];

    (void)snprintf(name, sizeof name, "rp_gpu_sort_%s_%s", which, rp_dtype_name(dtype));
    rp_gpu_run(queue, name, grid, p, sizeof *p);
}

/* The halves of blocks of that width, or, with `turned`, each with the other turned round. */
static void run_far(rp_gpu_queue *queue, rp_dtype dtype, rp_gpu_sort *p, u64 width, bool turned)
{
    u64 blocks;

    p->width = width;
    p->turned = turned;
    p->pairs = (p->n + width - 1) / width * (width / 2);
    blocks = (p->lines * p->pairs + RP_GPU_SORT_THREADS - 1) / RP_GPU_SORT_THREADS;
    run(queue, "far", dtype, blocks < BLOCKS_MOST ? blocks : BLOCKS_MOST, p);
}

/* y holds the lines of x, dense as place is. */
static void order(rp_gpu_queue *queue, rp_dtype dtype, rp_gpu_sort *p)
{
    p->fresh = 1;
    run(queue, "near", dtype, p->lines * p->parts, p);
    p->fresh = 0;
    for (u64 width = 2 * RP_GPU_SORT_NEAR; width / 2 < p->n; width *= 2) {
        run_far(queue, dtype, p, width, true);
        for (u64 part = width / 2; part > RP_GPU_SORT_NEAR; part /= 2)
            run_far(queue, dtype, p, part, false);
        run(queue, "near", dtype, p->lines * p->parts, p);
    }
}

static bool set(rp_gpu_sort *p, const rp_view *x, bool descending)
{
    const rp_view rows = rp_view_rows(x);

    memset(p, 0, sizeof *p);
    p->n = rp_view_last(x);
    p->lines = rp_view_count(&rows);
    p->parts = (p->n + RP_GPU_SORT_NEAR - 1) / RP_GPU_SORT_NEAR;
    p->descending = descending;
    return p->lines * p->parts < (u64)1 << 31;
}

static void copy(rp_gpu_queue *queue, const rp_view *to, const rp_view *from)
{
    const rp_kernel_args args = {from, 1, to, 1, NULL};

    (void)rp_gpu_launch_copy(queue, RP_K_copy, &args);
}

/* The view of x's shape over dense memory. */
static rp_view over(void *memory, rp_dtype dtype, const rp_view *x)
{
    rp_view view = *x;
    ptrdiff_t step = 1;

    view.data = memory;
    view.dtype = dtype;
    for (int d = view.rank - 1; d >= 0; d--) {
        view.stride[d] = step;
        step *= (ptrdiff_t)view.shape[d];
    }
    return view;
}

bool rp_gpu_launch_sort(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args)
{
    rp_gpu_sort p;

    (void)kernel;
    if (!dense(&args->out[0]) || !dense(&args->out[1]) ||
        !set(&p, &args->in[0], RP_AT(args->attr, sort, descending).i != 0))
        return false;
    if (p.n == 0 || p.lines == 0)
        return true;
    copy(queue, &args->out[0], &args->in[0]);
    p.y = args->out[0].data;
    p.place = args->out[1].data;
    order(queue, args->in[0].dtype, &p);
    return true;
}

/* The lines in order in a workspace, of which the first k are copied. */
bool rp_gpu_launch_topk(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args)
{
    const rp_view *x = &args->in[0];
    const size_t size = rp_dtype_size(x->dtype), count = rp_view_count(x);
    rp_view y, place;
    char *memory;
    rp_gpu_sort p;

    (void)kernel;
    if (!set(&p, x, RP_AT(args->attr, topk, largest).i != 0))
        return false;
    if (rp_view_count(&args->out[0]) == 0)
        return true;
    memory = rp_gpu_workspace(queue, count * (size + sizeof(i64)));
    if (memory == NULL)
        return true; /* the queue says why */
    place = over(memory, RP_I64, x);
    y = over(memory + count * sizeof(i64), x->dtype, x);
    copy(queue, &y, x);
    p.y = y.data;
    p.place = place.data;
    order(queue, x->dtype, &p);
    y.shape[y.rank - 1] = place.shape[y.rank - 1] = rp_view_last(&args->out[0]);
    copy(queue, &args->out[0], &y);
    copy(queue, &args->out[1], &place);
    return true;
}
