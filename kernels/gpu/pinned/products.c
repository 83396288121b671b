/* SPDX-License-Identifier: Apache-2.0
 * Matrix products by cuBLASLt. What is handed to it is a function of type and shape alone: operands that do not lie
 * densely, rows one behind the other, are copied so first, so no plan, view or alignment can choose another algorithm.
 * Its matrices are columns one behind the other, so y = a b is asked for as y' = b' a' of the same bytes. The result
 * goes through memory of the queue: a copy, which unlike the library stops at a wrong index, brings it to its place. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "kernels/gpu/device_gpu.h"
#include "kernels/gpu/pinned/cublaslt.h"

enum { PROPOSALS = 16, ALIGNED = 16, ROUND = 256, UNSUPPORTED = 15 /* the library's own */ };

static const struct kind {
    rp_dtype out;
    int from, to, compute;
} kinds[RP_PINNED_COMPUTES] = {
    [RP_PINNED_F32] = {RP_F32, RP_LT_R_32F, RP_LT_R_32F, RP_LT_32F_PEDANTIC},
    [RP_PINNED_F64] = {RP_F64, RP_LT_R_64F, RP_LT_R_64F, RP_LT_64F_PEDANTIC},
    [RP_PINNED_TF32] = {RP_F32, RP_LT_R_32F, RP_LT_R_32F, RP_LT_32F_FAST_TF32},
    [RP_PINNED_BF16] = {RP_F32, RP_LT_R_16BF, RP_LT_R_32F, RP_LT_32F},
};

/* ---- a product as the library is told of it ---- */

typedef struct call {
    rp_gpu_queue *queue;
    rp_cublaslt *library;
    rp_pinned *pinned;
    const struct kind *kind;
    rp_pinned_product shape;
    rp_lt_product product;
    rp_lt_layout b, a, y; /* of dense operands, in the library's order */
} call;

/* Ends the queue with an error of this product. */
static void refuse(call *c, rp_status status, const char *text)
{
    const rp_pinned_product *s = &c->shape;

    c->queue->status =
        rp_fail(c->queue->err, status, "profile pinned: product of %llu times m %llu, n %llu, k %llu: %s",
                (unsigned long long)s->batch, (unsigned long long)s->m, (unsigned long long)s->n,
                (unsigned long long)s->k, text);
}

/* What the library fails at, but for memory and what it does not support, breaks the device as the driver's errors do:
 * it has computed anything or nothing. */
static bool passed(call *c, int result, const char *what)
{
    rp_error why = {0};

    if (result == 0 || c->queue->status != RP_OK)
        return c->queue->status == RP_OK;
    refuse(c, rp_cublaslt_result(c->library, result, what, &why), why.text);
    if (c->queue->status == RP_EIO)
        rp_gpu_break(c->queue->device, &why);
    return false;
}

#define LT(c, name, ...) passed(c, (c)->library->name(__VA_ARGS__), #name)

static void make_layout(call *c, rp_lt_layout *out, int type, uint64_t rows, uint64_t cols)
{
    const int32_t batch = (int32_t)c->shape.batch;
    const int64_t stride = (int64_t)(rows * cols);

    (void)(LT(c, cublasLtMatrixLayoutCreate, out, type, rows, cols, (int64_t)rows) &&
           LT(c, cublasLtMatrixLayoutSetAttribute, *out, RP_LT_LAYOUT_BATCH, &batch, sizeof batch) &&
           LT(c, cublasLtMatrixLayoutSetAttribute, *out, RP_LT_LAYOUT_BATCH_STRIDE, &stride, sizeof stride));
}

static bool describe(call *c)
{
    const rp_pinned_product *s = &c->shape;

    if (LT(c, cublasLtMatmulDescCreate, &c->product, c->kind->compute, c->kind->to)) {
        make_layout(c, &c->b, c->kind->from, s->n, s->k);
        make_layout(c, &c->a, c->kind->from, s->k, s->m);
        make_layout(c, &c->y, c->kind->to, s->n, s->m);
    }
    return c->queue->status == RP_OK;
}

static void forget(call *c)
{
    const rp_lt_layout layout[] = {c->b, c->a, c->y};

    for (size_t i = 0; i < sizeof layout / sizeof *layout; i++)
        if (layout[i] != NULL)
            (void)c->library->cublasLtMatrixLayoutDestroy(layout[i]);
    if (c->product != NULL)
        (void)c->library->cublasLtMatmulDescDestroy(c->product);
}

/* ---- its algorithm ---- */

static int ask(call *c, rp_lt_proposal proposal[PROPOSALS])
{
    const uint32_t reductions = RP_LT_REDUCTION_COMPUTE_TYPE, aligned = ALIGNED;
    const size_t most = (size_t)c->pinned->workspace;
    rp_lt_preference p = NULL;
    int count = 0;

    memset(proposal, 0, PROPOSALS * sizeof *proposal);
    if (!LT(c, cublasLtMatmulPreferenceCreate, &p))
        return 0;
    (void)(LT(c, cublasLtMatmulPreferenceSetAttribute, p, RP_LT_WORKSPACE_MOST, &most, sizeof most) &&
           LT(c, cublasLtMatmulPreferenceSetAttribute, p, RP_LT_REDUCTIONS, &reductions, sizeof reductions));
    for (int i = RP_LT_ALIGNMENT_A; i <= RP_LT_ALIGNMENT_D; i++)
        (void)LT(c, cublasLtMatmulPreferenceSetAttribute, p, i, &aligned, sizeof aligned);
    (void)LT(c, cublasLtMatmulAlgoGetHeuristic, c->library->handle, c->product, c->b, c->a, c->y, c->y, p, PROPOSALS,
             proposal, &count);
    (void)c->library->cublasLtMatmulPreferenceDestroy(p);
    if (c->queue->status == RP_OK && (count < 1 || count > PROPOSALS))
        (void)passed(c, UNSUPPORTED, "cublasLtMatmulAlgoGetHeuristic"); /* it has none: not supported */
    return c->queue->status == RP_OK ? count : 0;
}

/* An algorithm's name: what its attributes are. Its 64 bytes are the library's own affair, and on a chip two processes
 * had different ones for one algorithm. */
static bool name_algorithm(call *c, unsigned char out[RP_PINNED_ALGORITHM], const rp_lt_algorithm *algorithm)
{
    for (int i = 0; i < RP_PINNED_ATTRIBUTES; i++) {
        const size_t size = i < RP_PINNED_ATTRIBUTES - 2 ? sizeof(uint32_t) : sizeof(uint16_t);
        uint16_t half = 0;
        uint32_t value = 0;
        size_t written = 0;

        if (!LT(c, cublasLtMatmulAlgoConfigGetAttribute, algorithm, i,
                size == sizeof half ? (void *)&half : (void *)&value, size, &written))
            return false;
        value = size == sizeof half ? half : value;
        for (size_t b = 0; b < sizeof value; b++)
            out[sizeof value * (size_t)i + b] = (unsigned char)(value >> (24 - 8 * b));
    }
    return true;
}

/* The library's first proposal that may be used and whose workspace fits; of a run that is repeated, the one that it
 * used, as long as it is among them. What an archive says an algorithm is never reaches the library unless the library
 * has said the same. */
static const rp_lt_proposal *choose(call *c, const rp_lt_proposal *proposal, int count,
                                    unsigned char name[RP_PINNED_ALGORITHM])
{
    const rp_pinned_product *expected = NULL;

    if (c->pinned->closed) {
        expected = rp_pinned_find(c->pinned->expected, c->pinned->n_expected, &c->shape);
        if (expected == NULL) {
            refuse(c, RP_EBITS, "not among the recorded products of the run");
            return NULL;
        }
    }
    for (int i = 0; i < count; i++) {
        const rp_lt_proposal *p = &proposal[i];

        if (p->state != 0 || p->workspace > c->pinned->workspace)
            continue;
        if (!name_algorithm(c, name, &p->algorithm))
            return NULL;
        if (expected == NULL || memcmp(name, expected->algorithm, RP_PINNED_ALGORITHM) == 0)
            return p;
    }
    (void)passed(c, UNSUPPORTED,
                 expected ? "the recorded algorithm is none that this library proposes here" : "no algorithm");
    return NULL;
}

static void choose_algorithm(call *c)
{
    rp_lt_proposal proposal[PROPOSALS], checked = {.state = 0};
    const int count = ask(c, proposal);
    const rp_lt_proposal *chosen = c->queue->status == RP_OK ? choose(c, proposal, count, c->shape.algorithm) : NULL;

    if (chosen == NULL || !LT(c, cublasLtMatmulAlgoCheck, c->library->handle, c->product, c->b, c->a, c->y, c->y,
                              &chosen->algorithm, &checked))
        return;
    if (checked.workspace > c->pinned->workspace) {
        (void)passed(c, UNSUPPORTED, "its algorithm needs more than the workspace");
        return;
    }
    memcpy(c->shape.own, &chosen->algorithm, sizeof c->shape.own);
    c->queue->status = rp_pinned_add(c->pinned, &c->shape, c->queue->err);
}

/* ---- where its operands lie ---- */

static uint64_t elements(const rp_view *v)
{
    uint64_t n = 1;

    for (int i = 0; i < v->rank; i++)
        n *= v->shape[i];
    return n;
}

/* The view with its elements one behind the other at `at`. */
static rp_view dense_at(const rp_view *v, void *at)
{
    rp_view dense = *v;
    ptrdiff_t stride = 1;

    for (int i = v->rank - 1; i >= 0; i--) {
        dense.stride[i] = stride;
        stride *= (ptrdiff_t)v->shape[i];
    }
    dense.data = at;
    return dense;
}

static bool lies_dense(const rp_view *v)
{
    const rp_view dense = dense_at(v, v->data);

    for (int i = 0; i < v->rank; i++)
        if (v->shape[i] > 1 && v->stride[i] != dense.stride[i])
            return false;
    return (uintptr_t)v->data % ALIGNED == 0;
}

static uint64_t room(const rp_view *v)
{
    return (elements(v) * rp_dtype_size(v->dtype) + ROUND - 1) / ROUND * ROUND;
}

static void copy(call *c, const rp_view *to, const rp_view *from)
{
    const rp_kernel_args args = {.in = from, .n_in = 1, .out = to, .n_out = 1};

    (void)rp_gpu_launch_copy(c->queue, RP_K_copy, &args);
}

/* An operand where it is, or a dense copy of it at *free. */
static const void *operand(call *c, const rp_view *v, char **free)
{
    rp_view dense;

    if (lies_dense(v))
        return v->data;
    dense = dense_at(v, *free);
    copy(c, &dense, v);
    *free += room(v);
    return dense.data;
}

/* Every layout is the one that the algorithm was chosen and checked with: a matrix that a whole batch shares is copied
 * for each of it too. */
static void multiply(call *c, const rp_view *a, const rp_view *b, const rp_view *y)
{
    static const double zero = 0, one = 1;
    static const float zero_f32 = 0, one_f32 = 1;
    const bool wide = c->kind->to == RP_LT_R_64F;
    const void *alpha = wide ? (const void *)&one : &one_f32, *beta = wide ? (const void *)&zero : &zero_f32;
    const uint64_t own = (c->pinned->workspace + ROUND - 1) / ROUND * ROUND;
    char *memory =
        rp_gpu_workspace(c->queue, own + room(y) + (lies_dense(a) ? 0 : room(a)) + (lies_dense(b) ? 0 : room(b)));
    char *free = memory + own + room(y);
    const void *at, *bt;
    rp_lt_algorithm algorithm;
    rp_view made;

    if (memory == NULL)
        return;
    made = dense_at(y, memory + own);
    at = operand(c, a, &free);
    bt = operand(c, b, &free);
    memcpy(&algorithm, c->shape.own, sizeof algorithm);
    if (c->queue->status == RP_OK &&
        LT(c, cublasLtMatmul, c->library->handle, c->product, alpha, bt, c->b, at, c->a, beta, made.data, c->y,
           made.data, c->y, &algorithm, memory, (size_t)c->pinned->workspace,
           rp_gpu_handle(c->queue->device, c->queue->stream)))
        copy(c, y, &made);
}

static void compute(call *c, const rp_kernel_args *args)
{
    const rp_pinned_product *known = rp_pinned_find(c->pinned->product, c->pinned->products, &c->shape);

    if (known != NULL)
        c->shape = *known;
    if (describe(c) && known == NULL)
        choose_algorithm(c);
    if (c->queue->status == RP_OK)
        multiply(c, &args->in[0], &args->in[1], &args->out[0]);
    forget(c);
}

bool rp_gpu_launch_pinned(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args)
{
    const rp_view *a = &args->in[0], *b = &args->in[1], *y = &args->out[0];
    const int r = y->rank - 2;
    rp_pinned *pinned = queue->device->base.pinned;
    call c = {.queue = queue, .library = queue->device->cublaslt, .pinned = pinned};

    (void)kernel;
    if (pinned == NULL)
        return false;
    c.kind = &kinds[pinned->compute];
    if (a->dtype != rp_pinned_operands(pinned->compute) || b->dtype != a->dtype || y->dtype != c.kind->out)
        return false;
    c.shape = (rp_pinned_product){.batch = 1, .m = y->shape[r], .n = y->shape[r + 1], .k = a->shape[a->rank - 1]};
    for (int i = 0; i < r; i++)
        c.shape.batch *= y->shape[i];
    if (c.shape.batch == 0 || c.shape.m == 0 || c.shape.n == 0 || c.shape.k == 0)
        return false; /* nothing to multiply: zeros, or no elements */
    if (c.shape.batch > INT32_MAX || c.shape.m > INT32_MAX || c.shape.n > INT32_MAX || c.shape.k > INT32_MAX)
        (void)passed(&c, UNSUPPORTED, "at most 2^31 - 1 of each");
    else
        compute(&c, args);
    return true;
}
