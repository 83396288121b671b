/* SPDX-License-Identifier: Apache-2.0
 * Launches of reductions: the first level reads the operand, each further one the values that chunks gave, until one is
 * left of each output. */
#include "kernels/gpu/reduce/launch_reduce.h"

#include <stdio.h>
#include <string.h>

#include "kernels/gpu/reduce/launch_axes.h"
#include "kernels/gpu/launch_tuned.h"

enum { THREADS = 256, FEW_THREADS = 64, ALONG = 16, PLACES_ALONG = 32, BYTES = 16, PIECE = 1 << 30 };
enum { SUMS_ACROSS = 4, PLACES_ACROSS = 16 }; /* outputs beside each other that are worth it */

bool rp_gpu_reduce_set(rp_gpu_reduce *r, const rp_view *x, const rp_view *other, const rp_view *y, unsigned mask)
{
    const rp_view *views[3] = {x};
    i64 *kept[3] = {r->x_kept}, *reduced[2] = {r->x_reduced, r->other_reduced};
    size_t n = 1;

    if (other != NULL) {
        views[n] = other;
        kept[n++] = r->other_kept;
    }
    if (!rp_gpu_long_axes_of(&r->reduced, reduced, views, n, mask, true, &r->all))
        return false;
    r->n = (u32)r->all;
    if (y != NULL) {
        views[n] = y;
        kept[n++] = r->y_kept;
    }
    if (!rp_gpu_axes_of(&r->kept, kept, views, n, mask, false, &r->outputs))
        return false;
    if (y == NULL) { /* [outputs] */
        i64 next = 1;

        for (int d = (int)r->kept.rank - 1; d >= 0; next *= r->kept.shape[d--])
            r->y_kept[d] = next;
    }
    r->x = x->data;
    r->other = other != NULL ? other->data : NULL;
    r->y = y != NULL ? y->data : NULL;
    if (r->all > INT32_MAX && (r->outputs != 1 || r->reduced.rank != 1 || r->all > (u64)INT32_MAX * RP_GPU_CHUNK))
        return false;
    r->chunks = r->all == 0 ? 1 : rp_gpu_blocks(r->all, RP_GPU_CHUNK);
    return (u64)r->outputs * r->chunks <= UINT32_MAX && /* kernels count these */
           (u64)r->outputs * r->chunks * ALONG <= (u64)INT32_MAX * FEW_THREADS;
}

static size_t level_bytes(u64 values, rp_dtype dtype, bool places)
{
    const size_t one = rp_dtype_size(dtype) + (places ? sizeof(i64) : 0);

    return (values * one + 2 * BYTES) / BYTES * BYTES;
}

size_t rp_gpu_reduce_bytes(const rp_gpu_reduce *r, rp_dtype dtype, bool places)
{
    size_t bytes = 0;

    for (u32 chunks = r->chunks; chunks > 1; chunks = rp_gpu_blocks(chunks, RP_GPU_CHUNK))
        bytes += level_bytes((u64)r->outputs * chunks, dtype, places);
    return bytes;
}

static const char *suffix(rp_dtype dtype)
{
    return dtype == RP_F32 ? "f32" : dtype == RP_F64 ? "f64" : dtype == RP_I32 ? "i32" : "i64";
}

/* Outputs beside each other in memory whose elements are not. */
static bool goes_across(const rp_gpu_reduce *r, u32 least)
{
    const u32 d = r->kept.rank - 1, e = r->reduced.rank - 1;

    return r->outputs >= least && r->kept.shape[d] >= least && r->x_kept[d] == 1 && r->x_reduced[e] != 1;
}

/* Threads of a column: one where a thread can ask for all of it at once; few columns in a block where blocks of more
 * would leave the chip idle. */
static u32 rows_across(const rp_gpu_reduce *r, u32 element, u64 multiprocessors)
{
    const u64 blocks = (u64)r->chunks * rp_gpu_blocks(r->outputs, RP_GPU_ACROSS / (RP_GPU_LANES / 4));

    if (r->reduced.rank > 1)
        return RP_GPU_LANES;
    if (r->n <= RP_GPU_HELD_BYTES / element)
        return 1;
    return blocks < 2 * multiprocessors ? RP_GPU_LANES : RP_GPU_LANES / 4;
}

static void run_level(rp_gpu_queue *queue, rp_gpu_reduce *r, rp_dtype dtype, const char *name, bool places)
{
    const bool across = goes_across(r, places ? PLACES_ACROSS : SUMS_ACROSS);
    const u64 values = (u64)r->outputs * r->chunks;
    const u32 team = places ? PLACES_ALONG : ALONG, element = (u32)rp_dtype_size(dtype);
    rp_gpu_grid grid = {0, 1, 1, THREADS, 0};
    char kernel[48];

    r->wide = r->reduced.rank == 1 && r->x_reduced[0] == 1 && (uintptr_t)r->x % BYTES == 0;
    for (u32 d = 0; d < r->kept.rank; d++)
        r->wide = r->wide && (r->kept.shape[d] == 1 || r->x_kept[d] * element % BYTES == 0);
    if (across && places) {
        grid.x = r->chunks * rp_gpu_blocks(r->outputs, THREADS);
    } else if (across) {
        r->rows = rows_across(r, element, rp_gpu_multiprocessors(queue));
        grid.threads = RP_GPU_ACROSS;
        grid.x = r->chunks * rp_gpu_blocks(r->outputs, RP_GPU_ACROSS / r->rows);
    } else { /* few values: small blocks, so that more multiprocessors have one */
        grid.threads = values * team / THREADS < 2 * rp_gpu_multiprocessors(queue) ? FEW_THREADS : THREADS;
        grid.x = rp_gpu_blocks(values * team, grid.threads);
    }
    snprintf(kernel, sizeof kernel, "rp_gpu_%s_%s_%s", across ? "across" : "along", name, suffix(dtype));
    rp_gpu_run(queue, kernel, grid, r, sizeof *r);
}

/* The first level of one output whose elements are more than 31 bits count: in pieces of whole chunks. */
static void run_pieces(rp_gpu_queue *queue, const rp_gpu_reduce *r, rp_dtype dtype, const char *name)
{
    const i64 element = (i64)rp_dtype_size(dtype);

    for (u64 done = 0; done < r->all; done += PIECE) {
        rp_gpu_reduce piece = *r;

        piece.n = piece.reduced.shape[0] = r->all - done < PIECE ? (u32)(r->all - done) : PIECE;
        piece.chunks = rp_gpu_blocks(piece.n, RP_GPU_CHUNK);
        piece.x = (const char *)r->x + (i64)done * r->x_reduced[0] * element;
        if (r->other != NULL)
            piece.other = (const char *)r->other + (i64)done * r->other_reduced[0] * element;
        piece.y = (char *)r->y + (i64)(done / RP_GPU_CHUNK) * element;
        run_level(queue, &piece, dtype, name, false);
    }
}

/* The next level's operand is what this one's chunks gave: [outputs, chunks]. */
static void rise(rp_gpu_reduce *r)
{
    const u32 n = r->chunks;

    r->x = r->y;
    r->places = r->y_places;
    r->all = r->n = n;
    r->chunks = rp_gpu_blocks(n, RP_GPU_CHUNK);
    r->reduced.rank = 1;
    r->reduced.shape[0] = n;
    r->x_reduced[0] = 1;
    for (int d = (int)r->kept.rank - 1; d >= 0; d--)
        r->x_kept[d] = d == (int)r->kept.rank - 1 ? n : r->x_kept[d + 1] * r->kept.shape[d + 1];
}

void rp_gpu_reduce_run(rp_gpu_queue *queue, const rp_gpu_reduce *reduce, rp_dtype dtype, const char *first,
                       const char *next, void *workspace)
{
    const bool places = strncmp(first, "arg", 3) == 0;
    rp_gpu_reduce r = *reduce;
    const char *name = first;
    char *memory = workspace;

    while (r.chunks > 1) {
        const u64 values = (u64)r.outputs * r.chunks;

        r.last = 0;
        r.y_places = places ? (i64 *)(void *)memory : NULL;
        r.y = memory + (places ? values * sizeof(i64) : 0);
        memory += level_bytes(values, dtype, places);
        if (r.all > INT32_MAX)
            run_pieces(queue, &r, dtype, name);
        else
            run_level(queue, &r, dtype, name, places);
        rise(&r);
        name = next;
    }
    r.last = 1;
    r.y = reduce->y;
    run_level(queue, &r, dtype, name, places);
}

static unsigned mask_of(const rp_attr *axes)
{
    unsigned mask = 0;

    for (int i = 0; i < axes->n; i++)
        mask |= 1u << axes->list[i];
    return mask;
}

/* Sums, products and extremes. */
bool rp_gpu_launch_reduce(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args)
{
    const bool places = kernel == RP_K_argmax || kernel == RP_K_argmin;
    const unsigned mask = places ? 1u << RP_AT(args->attr, argmax, axis).i : mask_of(&RP_AT(args->attr, sum, axes));
    const rp_dtype dtype = args->in[0].dtype;
    const char *name = kernel == RP_K_max      ? "max"
                       : kernel == RP_K_min    ? "min"
                       : kernel == RP_K_argmax ? "argmax"
                       : kernel == RP_K_argmin ? "argmin"
                       : kernel == RP_K_prod   ? "prod"
                                               : "sum";
    rp_gpu_reduce r = {.finish = RP_GPU_FINISH_SUM};
    size_t bytes;
    void *memory = NULL;

    if (!rp_gpu_reduce_set(&r, &args->in[0], NULL, &args->out[0], mask) || (places && r.all > INT32_MAX))
        return false;
    if (r.outputs == 0)
        return true;
    if (kernel == RP_K_mean) {
        r.finish = RP_GPU_FINISH_DIVIDE;
        r.divisor = (double)r.all;
    }
    bytes = rp_gpu_reduce_bytes(&r, dtype, places);
    if (bytes > 0 && (memory = rp_gpu_workspace(queue, bytes)) == NULL)
        return true; /* queue->status tells */
    rp_gpu_reduce_run(queue, &r, dtype, name, name, memory);
    return true;
}

/* var and logsumexp: a first reduction to [outputs], the mean or the maximum, from which the second's terms are taken.
 */
bool rp_gpu_launch_reduce_twice(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args)
{
    const bool var = kernel == RP_K_var;
    const unsigned mask = mask_of(&RP_AT(args->attr, var, axes));
    const rp_dtype dtype = args->in[0].dtype;
    rp_gpu_reduce first = {.finish = var ? RP_GPU_FINISH_DIVIDE : RP_GPU_FINISH_SUM};
    rp_gpu_reduce second = {.finish = var ? RP_GPU_FINISH_DIVIDE : RP_GPU_FINISH_LOG};
    size_t bytes, center;
    char *memory;

    if (!rp_gpu_reduce_set(&first, &args->in[0], NULL, NULL, mask) ||
        !rp_gpu_reduce_set(&second, &args->in[0], NULL, &args->out[0], mask))
        return false;
    if (first.outputs == 0)
        return true;
    bytes = rp_gpu_reduce_bytes(&first, dtype, false);
    center = (first.outputs * rp_dtype_size(dtype) + BYTES) / BYTES * BYTES;
    memory = rp_gpu_workspace(queue, bytes + center);
    if (memory == NULL)
        return true;
    first.y = memory;
    first.divisor = (double)first.all;
    rp_gpu_reduce_run(queue, &first, dtype, var ? "sum" : "max", var ? "sum" : "max", memory + center);
    second.center = memory;
    if (var) {
        const i64 correction = RP_AT(args->attr, var, correction).i;

        second.divisor = (i64)second.all > correction ? (double)((i64)second.all - correction) : 0;
    }
    rp_gpu_reduce_run(queue, &second, dtype, var ? "square" : "exp", "sum", memory + center);
    return true;
}

/* Lines along the axis, from either end. */
bool rp_gpu_launch_cumsum(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args)
{
    enum { LINES = 128 }; /* of a block */
    const rp_view *x = &args->in[0], *y = &args->out[0];
    const i64 axis = RP_AT(args->attr, cumsum, axis).i;
    const bool reverse = RP_AT(args->attr, cumsum, reverse).i != 0;
    rp_gpu_reduce p = {.x = x->data, .y = y->data};
    const rp_view *views[2] = {x, y};
    i64 *kept[2] = {p.x_kept, p.other_kept};
    char name[32];

    if (x->shape[axis] > INT32_MAX || !rp_gpu_axes_of(&p.kept, kept, views, 2, 1u << axis, false, &p.outputs))
        return false;
    p.n = (u32)x->shape[axis];
    if (p.n == 0 || p.outputs == 0)
        return true;
    p.x_reduced[0] = x->stride[axis];
    p.other_reduced[0] = y->stride[axis];
    if (reverse) {
        p.x = rp_view_at(x, (ptrdiff_t)(p.n - 1) * x->stride[axis]);
        p.y = rp_view_at(y, (ptrdiff_t)(p.n - 1) * y->stride[axis]);
        p.x_reduced[0] = -p.x_reduced[0];
        p.other_reduced[0] = -p.other_reduced[0];
    }
    p.wide = x->stride[axis] == 1 || y->stride[axis] == 1;
    snprintf(name, sizeof name, "rp_gpu_%s_%s", rp_kernel_name(kernel), suffix(x->dtype));
    rp_gpu_run(queue, name, (rp_gpu_grid){rp_gpu_blocks(p.outputs, LINES), 1, 1, LINES, 0}, &p, sizeof p);
    return true;
}
