/* SPDX-License-Identifier: Apache-2.0
 * Launches of attention and its gradient (CONTRACT 7.13): matrix products, and between them a pass over the scores of
 * as many heads, or queries of one head, as a workspace holds. */
#include "kernels/gpu/attention/launch_attention.h"

#include <stdio.h>
#include <string.h>

#include "kernels/gpu/attention/attention_args.h"
#include "kernels/gpu/launch_tuned.h"
#include "kernels/gpu/matmul/launch_matmul.h"
#include "kernels/ref/matmul.h"

enum { WARPS = 8, WARP = 32, BYTES = 256, AXES = RP_GPU_ATTENTION_AXES };
/* Bytes of scores and their gradients: what the second-level cache holds a good part of; where the products of so few
 * heads would leave multiprocessors idle; and what the least block, 512 queries of a gradient, may take. */
#define ROOM ((size_t)64 << 20)
#define MORE_ROOM ((size_t)256 << 20)
#define MOST_ROOM ((size_t)1 << 30)

/* An attention and what it is cut into. Views are [lead.., rows, columns], the axes of heads written out so that groups
 * that share a key are an axis of their own. */
typedef struct work {
    rp_gpu_queue *queue;
    rp_dtype dtype;
    size_t size;
    bool grad;
    int axes;
    size_t lead[AXES], heads, m, n, d, e, pitch;
    rp_view g, q, k, v, out[3];
    rp_gpu_attention p;
    int axis;           /* a block has `chunk` places of this axis of heads, and all of those behind it, */
    size_t chunk, rows; /* and so many queries */
    char *memory;       /* NULL while it is only found out how much the products need */
    size_t bytes_s, bytes_parts, bytes_rest;
    bool refused;
} work;

typedef struct block {
    size_t head, chunk, heads, begin, rows;
} block;

static size_t aligned(size_t bytes)
{
    return (bytes + BYTES - 1) / BYTES * BYTES;
}

static size_t fewer(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- the operands ---- */

/* A view with as many axes as q has: those that it lacks, and of a mask those of length 1, have no stride. */
static rp_view stretched(const rp_view *view, int rank)
{
    const int lacks = rank - view->rank;
    rp_view y = {.data = view->data, .dtype = view->dtype, .rank = rank};

    for (int axis = 0; axis < rank; axis++) {
        y.shape[axis] = axis < lacks ? 1 : view->shape[axis - lacks];
        y.stride[axis] = axis < lacks || view->shape[axis - lacks] == 1 ? 0 : view->stride[axis - lacks];
    }
    return y;
}

/* Adds an axis of heads of that length. */
static void lead_axis(rp_view *y, int axis, size_t length, ptrdiff_t stride)
{
    y->shape[axis] = length;
    y->stride[axis] = stride;
}

/* The view by the axes of w. Each of its matrices along the last axis of heads serves one head, `shared` or all. */
static rp_view by_lead(work *w, const rp_view *view, const rp_view *q, size_t shared)
{
    const int r = q->rank - 2, last = w->axes - 1;
    rp_view y = {.data = view->data, .dtype = view->dtype, .rank = w->axes + 2};

    for (int axis = 0; axis < r; axis++)
        lead_axis(&y, axis, q->shape[axis], view->stride[axis]);
    if (r == 0)
        lead_axis(&y, 0, 1, 0);
    if (shared > 1) {
        const ptrdiff_t stride = view->stride[r - 1];
        const bool own = view->shape[r - 1] == q->shape[r - 1], one = view->shape[r - 1] == 1;

        w->refused = w->refused || (!own && !one && view->shape[r - 1] != q->shape[r - 1] / shared);
        lead_axis(&y, last - 1, q->shape[r - 1] / shared, one ? 0 : own ? stride * (ptrdiff_t)shared : stride);
        lead_axis(&y, last, shared, own && !one ? stride : 0);
    } else if (r > 0 && view->shape[r - 1] != 1) {
        w->refused = w->refused || view->shape[r - 1] != q->shape[r - 1];
    }
    for (int axis = 0; axis < 2; axis++)
        lead_axis(&y, w->axes + axis, view->shape[r + axis], view->stride[r + axis]);
    return y;
}

static void mask_of(work *w, const rp_view *view, const rp_view *q, size_t shared)
{
    const rp_view whole = stretched(view, q->rank), mask = by_lead(w, &whole, q, shared);

    w->p.mask = mask.data;
    w->p.chosen = mask.dtype == RP_BOOL;
    w->p.mask_row = mask.stride[w->axes];
    w->p.mask_col = mask.stride[w->axes + 1];
    for (int axis = 0; axis < w->axes; axis++)
        w->p.mask_lead[AXES - w->axes + axis] = mask.stride[axis];
}

static void rng_of(rp_gpu_attention *p, const rp_view *rng)
{
    p->rng = rng->data;
    p->rng_step = rng->stride[0];
    p->rng_offset = rng->shape[0] > 2;
}

/* The heads of q, `shared` in a row of which use the same keys. */
static void heads_of(work *w, const rp_view *q, size_t shared)
{
    const int r = q->rank - 2;

    w->axes = r == 0 ? 1 : r + (shared > 1);
    w->refused = w->axes > AXES;
    if (w->refused)
        return;
    w->lead[0] = 1;
    for (int axis = 0; axis < r; axis++)
        w->lead[axis] = q->shape[axis];
    if (shared > 1) {
        w->lead[r - 1] = q->shape[r - 1] / shared;
        w->lead[r] = shared;
    }
    w->heads = 1;
    for (int axis = 0; axis < w->axes; axis++)
        w->heads *= w->lead[axis];
    for (int axis = 0; axis < AXES; axis++)
        w->p.lead[axis] = axis < AXES - w->axes ? 1 : w->lead[axis - (AXES - w->axes)];
}

/* false: shapes that are not taken. */
static bool work_of(work *w, rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args)
{
    const bool grad = kernel == RP_K_attention_grad;
    const rp_view *q = &args->in[grad], *k = q + 1, *v = q + 2;
    const int r = q->rank - 2;
    const size_t shared = r > 0 && k->shape[r - 1] > 0 ? q->shape[r - 1] / k->shape[r - 1] : 1;

    *w = (work){.queue = queue, .dtype = q->dtype, .size = rp_dtype_size(q->dtype), .grad = grad};
    w->m = q->shape[r], w->n = k->shape[r], w->d = q->shape[r + 1], w->e = v->shape[r + 1];
    w->pitch = (w->n + 3) / 4 * 4; /* rows of 16 bytes */
    heads_of(w, q, shared);
    if (w->refused || !rp_gpu_matmul_takes(w->d, w->pitch))
        return false;
    w->q = by_lead(w, q, q, shared);
    w->k = by_lead(w, k, q, shared);
    w->v = by_lead(w, v, q, shared);
    if (grad)
        w->g = by_lead(w, &args->in[0], q, shared);
    for (size_t i = 0; i < args->n_out; i++)
        w->out[i] = by_lead(w, &args->out[i], q, shared);
    for (const rp_view *in = v + 1; in < args->in + args->n_in; in++)
        if (in->dtype == RP_I64)
            rng_of(&w->p, in);
        else
            mask_of(w, in, q, shared);
    w->p.m = w->m, w->p.n = w->n, w->p.pitch = w->pitch;
    w->p.scale = RP_AT(args->attr, attention, scale).r;
    w->p.causal = RP_AT(args->attr, attention, causal).i != 0;
    w->p.window = (u64)RP_AT(args->attr, attention, window).i;
    w->p.rate = RP_AT(args->attr, attention, rate).r;
    w->p.stream = (u64)RP_AT(args->attr, attention, stream).i;
    w->p.block = w->n > RP_GPU_ATTENTION_CHUNK;
    return !w->refused && w->n <= (size_t)RP_GPU_ATTENTION_CHUNK * RP_GPU_ATTENTION_CHUNKS;
}

/* ---- blocks ---- */

/* How many queries at once of a head that does not fit whole. Chunks of 512 queries of the gradients of keys and values
 * are apart, and added then. */
static size_t queries_at_once(const work *w, size_t room)
{
    const size_t a_query = w->pitch * w->size, wider = w->d > w->e ? w->d : w->e;
    const size_t a_chunk = 2 * RP_MATMUL_CHUNK * a_query + w->n * wider * w->size;
    size_t at_once;

    if (!w->grad)
        return fewer(w->m, room < a_query ? 1 : room / a_query);
    at_once = (room < a_chunk ? 1 : room / a_chunk) * RP_MATMUL_CHUNK;
    return fewer(w->m, at_once);
}

static size_t bytes_of_head(const work *w)
{
    return (w->grad ? 2 : 1) * w->m * w->pitch * w->size;
}

/* So that the products of 64 columns are four tiles of 32 x 64 a multiprocessor. */
static size_t room_of(const work *w)
{
    const size_t tiles = 4 * (size_t)rp_gpu_multiprocessors(w->queue), of_head = (w->m + 31) / 32;
    const size_t wanted = bytes_of_head(w) * (of_head == 0 ? 1 : (tiles + of_head - 1) / of_head);

    return wanted < ROOM ? ROOM : fewer(wanted, MORE_ROOM);
}

/* A length cut into as few parts of at most so much as there have to be, of one size as far as that goes. */
static size_t even(size_t length, size_t most)
{
    const size_t parts = (length + most - 1) / most;

    return (length + parts - 1) / parts;
}

/* Cuts the work so that scores, and their gradients, lie in so many bytes. */
static void cut(work *w, size_t room)
{
    const size_t a_head = bytes_of_head(w), at_once = a_head == 0 ? w->heads : room / a_head;
    size_t inner = 1;

    w->axis = w->axes - 1;
    w->chunk = 1;
    w->rows = w->m;
    if (at_once == 0) {
        w->rows = queries_at_once(w, room);
    } else {
        for (; w->axis > 0 && inner * w->lead[w->axis] <= at_once; w->axis--)
            inner *= w->lead[w->axis];
        w->chunk = even(w->lead[w->axis], at_once / inner);
    }
    w->bytes_s = aligned(w->chunk * inner * w->rows * w->pitch * w->size);
    if (w->grad && w->rows < w->m)
        w->bytes_parts = aligned(w->rows / RP_MATMUL_CHUNK * w->n * (w->d > w->e ? w->d : w->e) * w->size);
}

/* The part of a view that is a block's. */
static rp_view part(const work *w, const rp_view *view, const block *b)
{
    rp_view y = {.dtype = view->dtype, .rank = w->axes - w->axis + 2};
    ptrdiff_t at = 0;
    size_t rest = b->head;

    for (int axis = w->axes - 1; axis >= 0; axis--) {
        at += (ptrdiff_t)(rest % w->lead[axis]) * view->stride[axis];
        rest /= w->lead[axis];
    }
    y.data = rp_view_at(view, at);
    for (int axis = 0; axis < y.rank; axis++) {
        y.shape[axis] = view->shape[w->axis + axis];
        y.stride[axis] = view->stride[w->axis + axis];
    }
    y.shape[0] = b->chunk;
    return y;
}

static rp_view rows_of(rp_view view, size_t begin, size_t rows)
{
    view.data = rp_view_at(&view, (ptrdiff_t)begin * view.stride[view.rank - 2]);
    view.shape[view.rank - 2] = rows;
    return view;
}

static rp_view turned(rp_view view)
{
    const int r = view.rank - 2;
    const size_t rows = view.shape[r];
    const ptrdiff_t stride = view.stride[r];

    view.shape[r] = view.shape[r + 1], view.stride[r] = view.stride[r + 1];
    view.shape[r + 1] = rows, view.stride[r + 1] = stride;
    return view;
}

/* The scores of a block, or what else lies so. */
static rp_view scores_of(const work *w, const block *b, char *data)
{
    rp_view y = {.data = data, .dtype = w->dtype, .rank = w->axes - w->axis + 2};
    ptrdiff_t next = (ptrdiff_t)(b->rows * w->pitch);

    for (int axis = y.rank - 3; axis >= 0; axis--) {
        y.shape[axis] = axis == 0 ? b->chunk : w->lead[w->axis + axis];
        y.stride[axis] = next;
        next *= (ptrdiff_t)y.shape[axis];
    }
    y.shape[y.rank - 2] = b->rows, y.stride[y.rank - 2] = (ptrdiff_t)w->pitch;
    y.shape[y.rank - 1] = w->n, y.stride[y.rank - 1] = 1;
    return y;
}

/* Where the workspace begins: while there is none, an address that is aligned as it will be. */
static char *base_of(const work *w)
{
    return w->memory != NULL ? w->memory : (char *)(uintptr_t)BYTES;
}

/* ---- launches ---- */

static void multiply(work *w, rp_view a, rp_view b, rp_view y)
{
    const rp_view in[2] = {a, b};
    const rp_kernel_args args = {in, 2, &y, 1, NULL};
    size_t bytes = 0;

    if (w->memory != NULL) {
        rp_gpu_matmul_here(w->queue, &args, w->memory + (w->grad ? 2 : 1) * w->bytes_s + w->bytes_parts);
        return;
    }
    w->refused = w->refused || !rp_gpu_matmul_needs(w->queue, &args, &bytes);
    w->bytes_rest = bytes > w->bytes_rest ? bytes : w->bytes_rest;
}

static void run(work *w, const char *name, rp_gpu_grid grid, void *params, size_t size)
{
    char whole[48];

    if (w->memory == NULL)
        return;
    snprintf(whole, sizeof whole, "rp_gpu_attention_%s_%s", name, w->dtype == RP_F32 ? "f32" : "f64");
    grid.threads = WARPS * WARP;
    rp_gpu_run(w->queue, whole, grid, params, size);
}

/* A pass over the rows of scores of a block. */
static void pass(work *w, const block *b, const char *name)
{
    const size_t count = b->heads * b->rows;

    w->p.s = base_of(w);
    w->p.d = w->grad ? base_of(w) + w->bytes_s : NULL;
    w->p.first = b->head, w->p.begin = b->begin;
    w->p.rows = (u32)b->rows, w->p.count = (u32)count;
    if (count > 0)
        run(w, name, (rp_gpu_grid){.x = (uint32_t)(w->p.block ? count : (count + WARPS - 1) / WARPS)}, &w->p,
            sizeof w->p);
}

/* y + the products of 512 queries at a time, left to right: y = transpose(scores) x of a head that is not whole. */
static void add_chunks(work *w, const block *b, rp_view scores, rp_view x, rp_view y)
{
    const size_t chunks = b->rows / RP_MATMUL_CHUNK, rest = b->rows % RP_MATMUL_CHUNK, columns = x.shape[2];
    const size_t whole = chunks * RP_MATMUL_CHUNK;
    rp_view parts = {.data = base_of(w) + 2 * w->bytes_s,
                     .dtype = w->dtype,
                     .rank = 3,
                     .shape = {1, w->n, columns},
                     .stride = {(ptrdiff_t)(w->n * columns), (ptrdiff_t)columns, 1}};
    rp_view a = scores, c = x;
    rp_gpu_attention_join p = {.parts = parts.data,
                               .y = y.data,
                               .y_row = y.stride[1],
                               .y_col = y.stride[2],
                               .count = w->n * columns,
                               .columns = columns,
                               .chunks = (u32)(chunks + (rest > 0)),
                               .onto = b->begin > 0};
    const size_t wanted = (p.count + WARPS * WARP - 1) / (WARPS * WARP), most = 32 * rp_gpu_multiprocessors(w->queue);

    a.shape[0] = c.shape[0] = parts.shape[0] = chunks;
    a.shape[1] = c.shape[1] = RP_MATMUL_CHUNK;
    a.stride[0] = a.stride[1] * RP_MATMUL_CHUNK, c.stride[0] = c.stride[1] * RP_MATMUL_CHUNK;
    multiply(w, turned(a), c, parts);
    if (rest > 0) {
        parts.shape[0] = 1;
        parts.data = rp_view_at(&parts, (ptrdiff_t)(chunks * w->n * columns));
        scores.shape[0] = x.shape[0] = 1;
        multiply(w, turned(rows_of(scores, whole, rest)), rows_of(x, whole, rest), parts);
    }
    if (p.count > 0)
        run(w, "join", (rp_gpu_grid){.x = (uint32_t)fewer(wanted, most)}, &p, sizeof p);
}

/* Of transpose(scores) x what the block's queries add. */
static void by_keys(work *w, const block *b, rp_view scores, rp_view x, rp_view y)
{
    if (b->rows == w->m)
        multiply(w, turned(scores), x, y);
    else
        add_chunks(w, b, scores, x, y);
}

static void run_block(work *w, const block *b)
{
    const rp_view s = scores_of(w, b, base_of(w)), d = scores_of(w, b, base_of(w) + w->bytes_s);
    const rp_view q = rows_of(part(w, &w->q, b), b->begin, b->rows), k = part(w, &w->k, b), v = part(w, &w->v, b);
    const rp_view out = rows_of(part(w, &w->out[0], b), b->begin, b->rows);

    multiply(w, q, turned(k), s);
    pass(w, b, "weights");
    if (!w->grad) {
        multiply(w, s, v, out);
    } else {
        const rp_view g = rows_of(part(w, &w->g, b), b->begin, b->rows);

        multiply(w, g, turned(v), d);
        pass(w, b, "slopes");
        multiply(w, d, k, out);
        by_keys(w, b, d, q, part(w, &w->out[1], b));
        by_keys(w, b, s, g, part(w, &w->out[2], b));
    }
}

static void run_all(work *w)
{
    size_t inner = 1;
    block b = {0};

    for (int axis = w->axis + 1; axis < w->axes; axis++)
        inner *= w->lead[axis];
    for (; b.head < w->heads; b.head += b.heads) {
        b.chunk = fewer(w->chunk, w->lead[w->axis] - b.head / inner % w->lead[w->axis]);
        b.heads = b.chunk * inner;
        b.begin = 0;
        do { /* once also without queries: then nothing is added to the gradients of keys and values */
            b.rows = fewer(w->rows, w->m - b.begin);
            run_block(w, &b);
            b.begin += b.rows;
        } while (b.begin < w->m && !w->refused && w->queue->status == RP_OK);
    }
}

bool rp_gpu_attention_within(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args, size_t room)
{
    work w;

    if (!work_of(&w, queue, kernel, args))
        return false;
    if (w.heads == 0)
        return true;
    cut(&w, room > 0 ? room : room_of(&w));
    if ((w.grad ? 2 : 1) * w.bytes_s > MOST_ROOM)
        return false;
    run_all(&w);
    if (w.refused)
        return false;
    w.memory = rp_gpu_workspace(queue, (w.grad ? 2 : 1) * w.bytes_s + w.bytes_parts + w.bytes_rest + BYTES);
    if (w.memory != NULL) /* else queue->status tells */
        run_all(&w);
    return true;
}

bool rp_gpu_launch_attention(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args)
{
    return rp_gpu_attention_within(queue, kernel, args, 0);
}
