/* SPDX-License-Identifier: Apache-2.0
 * Builds the inputs, attributes and outputs of every kernel for a plan. */
#include "kernels/conformance/specimen.h"

#include <string.h>

#include "base/memory.h"
#include "determinism/sum.h"
#include "kernels/conformance/specimen_data.h"
#include "kernels/fourier/factors.h"
#include "kernels/walk.h"

enum { PATTERN = 0xA5 };

/* Strides of a layout and the elements its block needs. */
static size_t lay_out(rp_view *view, rp_specimen_layout layout, bool odd)
{
    ptrdiff_t step = layout == RP_LAYOUT_STRIDED ? 2 : 1;
    size_t reach = 0;

    for (int i = 0; i < view->rank; i++) {
        const int d = layout == RP_LAYOUT_STRIDED ? i : view->rank - 1 - i;
        const bool still = layout == RP_LAYOUT_BROADCAST && (d == 0 || (odd && d == view->rank - 1));

        view->stride[d] = still ? 0 : step;
        if (!still)
            step *= (ptrdiff_t)(view->shape[d] > 0 ? view->shape[d] : 1);
        if (layout == RP_LAYOUT_GAPS && d == view->rank - 1)
            step += 3;
        if (view->shape[d] > 0)
            reach += (view->shape[d] - 1) * (size_t)view->stride[d];
    }
    return reach + 4; /* the first element, one in front and two behind */
}

/* Memory of block n. */
static void *block_of(rp_specimen_memory *memory, size_t n, size_t bytes)
{
    if (memory == NULL)
        return rp_malloc(bytes);
    if (memory->room[n] < bytes) {
        rp_free(memory->block[n]);
        memory->block[n] = rp_malloc(bytes);
        memory->room[n] = memory->block[n] != NULL ? bytes : 0;
    }
    return memory->block[n];
}

static rp_view *add_view(rp_specimen *s, bool out, rp_dtype dtype, int rank, const size_t *shape,
                         rp_specimen_layout layout)
{
    rp_view *view = out ? &s->out[s->args.n_out++] : &s->in[s->args.n_in++];
    const size_t n = s->n_blocks++;

    *view = (rp_view){.dtype = dtype, .rank = rank};
    for (int d = 0; d < rank; d++)
        view->shape[d] = shape[d];
    if (out && layout == RP_LAYOUT_BROADCAST)
        layout = RP_LAYOUT_PLAIN;
    s->count[n] = lay_out(view, layout, n % 2 == 1);
    s->block[n] = block_of(s->memory, n, s->count[n] * rp_dtype_size(dtype));
    if (s->block[n] == NULL) {
        s->failed = true;
        return view;
    }
    view->data = (char *)s->block[n] + (layout == RP_LAYOUT_PLAIN ? 0 : rp_dtype_size(dtype));
    if (out)
        memset(s->block[n], PATTERN, s->count[n] * rp_dtype_size(dtype));
    return view;
}

static void add_out(rp_specimen *s, const rp_specimen_plan *plan, rp_dtype dtype, int rank, const size_t *shape)
{
    add_view(s, true, dtype, rank, shape, plan->layout);
}

static void add_in(rp_specimen *s, const rp_specimen_plan *plan, rp_dtype dtype, int rank, const size_t *shape)
{
    const size_t n = s->n_blocks;

    add_view(s, false, dtype, rank, shape, plan->layout);
    if (!s->failed)
        rp_specimen_fill(plan->cache, s->block[n], dtype, s->count[n], plan->data, plan->seed, (uint32_t)n);
}

static void add_indices(rp_specimen *s, const rp_specimen_plan *plan, int rank, const size_t *shape, size_t limit)
{
    const rp_dtype dtype = plan->option % 2 == 0 ? RP_I64 : RP_I32;
    const size_t n = s->n_blocks;

    add_view(s, false, dtype, rank, shape, plan->layout);
    if (!s->failed)
        rp_specimen_fill_indices(s->block[n], dtype, s->count[n], limit, plan->seed, (uint32_t)n);
}

static void add_rng(rp_specimen *s, const rp_specimen_plan *plan)
{
    const size_t two[1] = {2};
    rp_view *view = add_view(s, false, RP_I64, 1, two, RP_LAYOUT_PLAIN);

    if (s->failed)
        return;
    ((int64_t *)view->data)[0] = (int64_t)(plan->seed * 0x9E3779B97F4A7C15u);
    ((int64_t *)view->data)[1] = plan->option + ((int64_t)1 << 33);
}

static void add_scalar(rp_specimen *s, rp_dtype dtype, double value)
{
    rp_view *view = add_view(s, false, dtype, 0, NULL, RP_LAYOUT_PLAIN);

    if (s->failed)
        return;
    if (dtype == RP_F32)
        *(float *)view->data = (float)value;
    else
        *(double *)view->data = value;
}

/* The second moments of optimizers are never negative. */
static void make_positive(rp_specimen *s, size_t n)
{
    for (size_t i = 0; i < s->count[n] && !s->failed; i++)
        if (s->in[n].dtype == RP_F32)
            ((float *)s->block[n])[i] = __builtin_fabsf(((float *)s->block[n])[i]);
        else
            ((double *)s->block[n])[i] = __builtin_fabs(((double *)s->block[n])[i]);
}

typedef void build(rp_specimen *s, const rp_specimen_plan *plan);

static void build_unary(rp_specimen *s, const rp_specimen_plan *plan)
{
    add_in(s, plan, plan->dtype, 3, plan->shape);
    add_out(s, plan, plan->dtype, 3, plan->shape);
}

static void build_pow_int(rp_specimen *s, const rp_specimen_plan *plan)
{
    static const int64_t exponents[] = {2, 3, -1, 0, 7, -3, 1, 10, -10, 1000003};

    RP_AT(s->attr, pow_int, exponent).i = exponents[plan->option % 10];
    build_unary(s, plan);
}

static void build_cast(rp_specimen *s, const rp_specimen_plan *plan)
{
    /* the types that the first golden rows knew, then those that bf16's did; more, or all */
    const int known = plan->dtype < RP_BF16 ? RP_BF16 : plan->dtype == RP_BF16 ? RP_F16 : RP_DTYPE_COUNT;
    const int from = known == RP_DTYPE_COUNT         ? (3 * plan->option + (int)plan->dtype) % known
                     : plan->option / known % 3 == 2 ? RP_F16 + plan->option % (RP_DTYPE_COUNT - RP_F16)
                                                     : plan->option % known;

    add_in(s, plan, (rp_dtype)from, 3, plan->shape);
    add_out(s, plan, plan->dtype, 3, plan->shape);
}

/* To the types of its width in turn. */
static void build_bitcast(rp_specimen *s, const rp_specimen_plan *plan)
{
    static const rp_dtype alike[][3] = {
        {RP_I8, RP_U8, RP_I8}, {RP_I16, RP_F16, RP_BF16}, {RP_I32, RP_U32, RP_F32}, {RP_I64, RP_F64, RP_I64}};
    const size_t size = rp_dtype_size(plan->dtype);
    const rp_dtype to = alike[size == 8 ? 3 : size / 2][plan->option % 3];

    RP_AT(s->attr, bitcast, dtype).i = to;
    add_in(s, plan, plan->dtype, 3, plan->shape);
    add_out(s, plan, to, 3, plan->shape);
}

static void build_binary(rp_specimen *s, const rp_specimen_plan *plan)
{
    add_in(s, plan, plan->dtype, 3, plan->shape);
    add_in(s, plan, plan->dtype, 3, plan->shape);
    add_out(s, plan, plan->dtype, 3, plan->shape);
}

static void build_compare(rp_specimen *s, const rp_specimen_plan *plan)
{
    add_in(s, plan, plan->dtype, 3, plan->shape);
    add_in(s, plan, plan->dtype, 3, plan->shape);
    add_out(s, plan, RP_BOOL, 3, plan->shape);
}

static void build_where(rp_specimen *s, const rp_specimen_plan *plan)
{
    add_in(s, plan, RP_BOOL, 3, plan->shape);
    build_binary(s, plan);
}

static void build_dropout(rp_specimen *s, const rp_specimen_plan *plan)
{
    add_in(s, plan, plan->dtype, 3, plan->shape);
    add_rng(s, plan);
    s->attr[0].r = 0.25 * (plan->option % 4);
    s->attr[1].i = plan->option;
    add_out(s, plan, plan->dtype, 3, plan->shape);
}

static void build_fill(rp_specimen *s, const rp_specimen_plan *plan)
{
    s->attr[0].r = 1.0 / 3.0;
    s->attr[0].i = -7 * plan->option;
    add_out(s, plan, plan->dtype, 3, plan->shape);
}

/* Three inputs of different length along one axis. */
static void build_concat(rp_specimen *s, const rp_specimen_plan *plan)
{
    const int axis = plan->option % 3;
    size_t shape[3] = {plan->shape[0], plan->shape[1], plan->shape[2]};

    s->attr[0].i = axis;
    for (size_t extra = 0; extra < 3; extra++) {
        shape[axis] = plan->shape[axis] + extra;
        add_in(s, plan, plan->dtype, 3, shape);
    }
    shape[axis] = 3 * plan->shape[axis] + 3;
    add_out(s, plan, plan->dtype, 3, shape);
}

static void build_pad(rp_specimen *s, const rp_specimen_plan *plan)
{
    size_t shape[3];

    s->attr[0].n = s->attr[1].n = 3;
    for (int d = 0; d < 3; d++) {
        s->attr[0].list[d] = (plan->option + d) % 3;
        s->attr[1].list[d] = (plan->option + 2 * d) % 4;
        shape[d] = plan->shape[d] + (size_t)s->attr[0].list[d] + (size_t)s->attr[1].list[d];
    }
    add_in(s, plan, plan->dtype, 3, plan->shape);
    add_out(s, plan, plan->dtype, 3, shape);
}

/* The index of a gather along `axis`, of rank 1 or 2, and the shape of what is taken; returns the index's rank. */
static int taken_shape(const rp_specimen_plan *plan, int axis, size_t index[2], size_t taken[4])
{
    const int rank = 1 + plan->option / 3 % 2;
    int n = 0;

    index[0] = plan->shape[axis] > 0 ? 5 : 0;
    index[1] = 3;
    for (int d = 0; d < axis; d++)
        taken[n++] = plan->shape[d];
    for (int d = 0; d < rank; d++)
        taken[n++] = index[d];
    for (int d = axis + 1; d < 3; d++)
        taken[n++] = plan->shape[d];
    return rank;
}

static void build_gather(rp_specimen *s, const rp_specimen_plan *plan)
{
    const int axis = plan->option % 3;
    size_t index[2], taken[4];
    const int rank = taken_shape(plan, axis, index, taken);

    s->attr[0].i = axis;
    add_in(s, plan, plan->dtype, 3, plan->shape);
    add_indices(s, plan, rank, index, plan->shape[axis]);
    add_out(s, plan, plan->dtype, 2 + rank, taken);
}

static void build_scatter(rp_specimen *s, const rp_specimen_plan *plan)
{
    const int axis = plan->option % 3;
    size_t index[2], taken[4];
    const int rank = taken_shape(plan, axis, index, taken);

    s->attr[0].i = axis;
    add_in(s, plan, plan->dtype, 2 + rank, taken);
    add_indices(s, plan, rank, index, plan->shape[axis]);
    add_out(s, plan, plan->dtype, 3, plan->shape);
}

static void build_one_hot(rp_specimen *s, const rp_specimen_plan *plan)
{
    add_indices(s, plan, 2, plan->shape, plan->shape[2] + 1); /* one past the depth gives zeros */
    add_out(s, plan, plan->dtype, 3, plan->shape);
}

static void build_iota(rp_specimen *s, const rp_specimen_plan *plan)
{
    const size_t length[1] = {plan->shape[0] * plan->shape[1] * plan->shape[2]};

    add_out(s, plan, plan->dtype, 1, length);
}

static void build_reduce(rp_specimen *s, const rp_specimen_plan *plan)
{
    static const struct {
        int n;
        int64_t list[3];
    } axes[] = {{1, {2}}, {1, {0}}, {2, {0, 1}}, {2, {0, 2}}, {1, {1}}, {3, {0, 1, 2}}, {2, {1, 2}}, {0, {0}}};
    const int pick = plan->option % 8;
    size_t shape[3] = {plan->shape[0], plan->shape[1], plan->shape[2]};

    s->attr[0].n = axes[pick].n;
    s->attr[1].i = plan->option % 3; /* the correction of var */
    for (int i = 0; i < axes[pick].n; i++) {
        s->attr[0].list[i] = axes[pick].list[i];
        shape[axes[pick].list[i]] = 1;
    }
    add_in(s, plan, plan->dtype, 3, plan->shape);
    add_out(s, plan, plan->dtype, 3, shape);
}

static void build_argmax(rp_specimen *s, const rp_specimen_plan *plan)
{
    size_t shape[3] = {plan->shape[0], plan->shape[1], plan->shape[2]};

    s->attr[0].i = plan->option % 3;
    shape[plan->option % 3] = 1;
    add_in(s, plan, plan->dtype, 3, plan->shape);
    add_out(s, plan, RP_I64, 3, shape);
}

static void build_cumsum(rp_specimen *s, const rp_specimen_plan *plan)
{
    RP_AT(s->attr, cumsum, axis).i = plan->option % 3;
    RP_AT(s->attr, cumsum, reverse).i = plan->option / 3 % 2;
    build_unary(s, plan);
}

static void build_layer_norm(rp_specimen *s, const rp_specimen_plan *plan)
{
    const size_t rows = plan->shape[0] * plan->shape[1];
    const size_t lanes[3] = {rows > RP_CHUNK ? (rows + RP_CHUNK - 1) / RP_CHUNK : 1, rows < RP_LANES ? rows : RP_LANES,
                             plan->shape[2]};
    const bool backward = plan->kernel == RP_K_layer_norm_backward, rms = plan->kernel == RP_K_rms_norm;

    s->attr[0].r = 1e-5;
    add_in(s, plan, plan->dtype, 3, plan->shape);
    if (plan->kernel == RP_K_layer_norm || rms)
        add_in(s, plan, plan->dtype, 1, &plan->shape[2]);
    else
        add_in(s, plan, plan->dtype, 3, plan->shape);
    if (!rms)
        add_in(s, plan, plan->dtype, 1, &plan->shape[2]);
    add_out(s, plan, plan->dtype, 3, plan->shape);
    for (int i = 0; i < (backward ? 2 : plan->kernel == RP_K_rms_norm_grad ? 1 : 0); i++)
        add_out(s, plan, plan->dtype, 3, lanes);
}

/* A label needs at least one class. */
static void build_cross_entropy(rp_specimen *s, const rp_specimen_plan *plan)
{
    const bool grad = plan->kernel == RP_K_cross_entropy_grad;
    const size_t shape[3] = {plan->shape[0], plan->shape[1], plan->shape[2] > 0 ? plan->shape[2] : 1};

    if (grad)
        add_in(s, plan, plan->dtype, 2, shape);
    add_in(s, plan, plan->dtype, 3, shape);
    add_indices(s, plan, 2, shape, shape[2]);
    add_out(s, plan, plan->dtype, grad ? 3 : 2, shape);
}

static void build_matmul(rp_specimen *s, const rp_specimen_plan *plan)
{
    static const size_t columns[] = {1, 33, 7, 64, 16, 70, 3, 100};
    const size_t m = plan->shape[1], k = plan->shape[2], n = columns[plan->option % 8];
    const size_t a[3] = {plan->shape[0], m, k}, b[3] = {plan->shape[0], k, n}, y[3] = {plan->shape[0], m, n};

    add_in(s, plan, plan->dtype, 3, a);
    add_in(s, plan, plan->dtype, 3, b);
    add_out(s, plan, plan->dtype == RP_BF16 ? RP_F32 : plan->dtype, 3, y);
}

/* Options walk through causal, windows, masks of both kinds and grouped heads; every fifth drops weights. */
static void build_attention(rp_specimen *s, const rp_specimen_plan *plan)
{
    static const size_t columns[] = {8, 33, 1, 64, 16, 5};
    const bool grad = plan->kernel == RP_K_attention_grad;
    const int option = plan->option;
    const size_t n = plan->shape[2] > 0 ? plan->shape[2] : 1, m = plan->shape[1], d = columns[option % 6];
    const size_t heads = plan->shape[0], e = columns[(option + 1) % 6], shared = option % 4 == 3 ? 1 : heads;
    const size_t q[3] = {heads, m, d}, k[3] = {shared, n, d}, v[3] = {shared, n, e}, y[3] = {heads, m, e};
    const size_t mask[3] = {heads, option % 3 == 1 ? 1 : m, n}, dk[3] = {heads, n, d}, dv[3] = {heads, n, e};

    RP_AT(s->attr, attention, scale).r = 0.25;
    RP_AT(s->attr, attention, causal).i = option % 2;
    RP_AT(s->attr, attention, window).i = option % 5 == 2 ? 7 : 0;
    if (grad)
        add_in(s, plan, plan->dtype, 3, y);
    add_in(s, plan, plan->dtype, 3, q);
    add_in(s, plan, plan->dtype, 3, k);
    add_in(s, plan, plan->dtype, 3, v);
    if (option % 3 > 0)
        add_in(s, plan, option % 3 == 1 ? plan->dtype : RP_BOOL, 3, mask);
    if (option % 5 == 4) {
        RP_AT(s->attr, attention, rate).r = 0.25;
        RP_AT(s->attr, attention, stream).i = option;
        add_rng(s, plan);
    }
    add_out(s, plan, plan->dtype, 3, grad ? q : y);
    if (grad) {
        add_out(s, plan, plan->dtype, 3, dk);
        add_out(s, plan, plan->dtype, 3, dv);
    }
}

/* Of normal data a matrix that has a factor, with a diagonal above the sums of its rows; of every third one element of
 * it stays, as a column that is left out. */
static void raise_diagonal(rp_specimen *s, const rp_specimen_plan *plan, size_t n)
{
    const rp_view *a = &s->in[0];

    if (s->failed || plan->data != RP_DATA_NORMAL)
        return;
    for (size_t i = 0; i < n; i++) {
        const ptrdiff_t at = (ptrdiff_t)i * (a->stride[0] + a->stride[1]);

        if (plan->option % 3 == 1 && i == n / 2)
            continue;
        if (a->dtype == RP_F32)
            ((float *)a->data)[at] = 3 * (float)n + (float)i;
        else
            ((double *)a->data)[at] = 3 * (double)n + (double)i;
    }
}

enum { FACTOR_LARGEST = 150 }; /* a factor takes the cube of it */

static void build_cholesky(rp_specimen *s, const rp_specimen_plan *plan)
{
    const size_t n = plan->shape[2] < FACTOR_LARGEST ? plan->shape[2] : FACTOR_LARGEST, square[2] = {n, n};

    RP_AT(s->attr, cholesky, tolerance).r = plan->option % 2 ? 1e-4 : 0;
    add_in(s, plan, plan->dtype, 2, square);
    raise_diagonal(s, plan, n);
    add_out(s, plan, plan->dtype, 2, square);
}

static void build_triangular_solve(rp_specimen *s, const rp_specimen_plan *plan)
{
    const size_t n = plan->shape[2] < FACTOR_LARGEST ? plan->shape[2] : FACTOR_LARGEST, square[2] = {n, n};
    const size_t system[2] = {n, plan->option % 4 == 3 ? 1 : plan->shape[0] * plan->shape[1]};

    RP_AT(s->attr, triangular_solve, transposed).i = plan->option % 2;
    RP_AT(s->attr, triangular_solve, upper).i = plan->option / 2 % 2;
    add_in(s, plan, plan->dtype, 2, square);
    raise_diagonal(s, plan, n);
    add_in(s, plan, plan->dtype, 2, system);
    add_out(s, plan, plan->dtype, 2, system);
}

#include "kernels/conformance/specimen_order.inc.h"

#include "kernels/conformance/specimen_image.inc.h"

static void build_random(rp_specimen *s, const rp_specimen_plan *plan)
{
    add_rng(s, plan);
    s->attr[0].r = -0.3;
    s->attr[1].r = 1.7;
    s->attr[2].i = plan->option;
    add_out(s, plan, plan->dtype, 3, plan->shape);
}

static void build_sgd(rp_specimen *s, const rp_specimen_plan *plan)
{
    s->attr[0].r = plan->option % 2 ? 0.9 : 0;
    s->attr[1].i = plan->option % 4 == 3;
    s->attr[2].r = plan->option / 4 % 2 ? 0.01 : 0;
    for (int i = 0; i < 3; i++)
        add_in(s, plan, plan->dtype, 3, plan->shape);
    add_scalar(s, plan->dtype, 0.1);
    for (int i = 0; i < 2; i++)
        add_out(s, plan, plan->dtype, 3, plan->shape);
}

static void build_adam(rp_specimen *s, const rp_specimen_plan *plan)
{
    s->attr[0].r = 0.9;
    s->attr[1].r = 0.999;
    s->attr[2].r = 1e-8;
    s->attr[3].r = plan->option % 2 ? 0.01 : 0;
    for (int i = 0; i < 4; i++)
        add_in(s, plan, plan->dtype, 3, plan->shape);
    make_positive(s, 2);
    add_scalar(s, plan->dtype, 0.001);
    add_scalar(s, plan->dtype, 1 - 0.9 * 0.9);
    add_scalar(s, plan->dtype, 1 - 0.999 * 0.999);
    for (int i = 0; i < 3; i++)
        add_out(s, plan, plan->dtype, 3, plan->shape);
}

static void build_rmsprop(rp_specimen *s, const rp_specimen_plan *plan)
{
    s->attr[0].r = 0.99;
    s->attr[1].r = 1e-8;
    s->attr[2].r = plan->option % 2 ? 0.9 : 0;
    s->attr[3].r = plan->option / 2 % 2 ? 0.01 : 0;
    for (int i = 0; i < 4; i++)
        add_in(s, plan, plan->dtype, 3, plan->shape);
    make_positive(s, 1);
    add_scalar(s, plan->dtype, 0.01);
    for (int i = 0; i < 3; i++)
        add_out(s, plan, plan->dtype, 3, plan->shape);
}

static void build_lion(rp_specimen *s, const rp_specimen_plan *plan)
{
    RP_AT(s->attr, lion, beta1).r = 0.9;
    RP_AT(s->attr, lion, beta2).r = 0.99;
    RP_AT(s->attr, lion, weight_decay).r = plan->option % 2 ? 0.01 : 0;
    for (int i = 0; i < 3; i++)
        add_in(s, plan, plan->dtype, 3, plan->shape);
    add_scalar(s, plan->dtype, 0.001);
    for (int i = 0; i < 2; i++)
        add_out(s, plan, plan->dtype, 3, plan->shape);
}

static void build_adagrad(rp_specimen *s, const rp_specimen_plan *plan)
{
    RP_AT(s->attr, adagrad, eps).r = 1e-10;
    RP_AT(s->attr, adagrad, weight_decay).r = plan->option % 2 ? 0.01 : 0;
    for (int i = 0; i < 3; i++)
        add_in(s, plan, plan->dtype, 3, plan->shape);
    make_positive(s, 1);
    add_scalar(s, plan->dtype, 0.01);
    for (int i = 0; i < 2; i++)
        add_out(s, plan, plan->dtype, 3, plan->shape);
}

static const struct {
    build *build;
    unsigned dtypes;
    double p, q; /* real attributes of a MAP1P or MAP1Q */
} kinds[RP_K_COUNT] = {
#define MAP1(name, ...) [RP_K_##name] = {build_unary, RP_D_FLOAT, 0, 0},
#define MAP1P(name, cost, way, domain, p, p0, ...) [RP_K_##name] = {build_unary, RP_D_FLOAT, p0, 0},
#define MAP1Q(name, cost, way, domain, p, p0, q, q0, ...) [RP_K_##name] = {build_unary, RP_D_FLOAT, p0, q0},
#define NUM1(name, ...) [RP_K_##name] = {build_unary, RP_D_NUMBER, 0, 0},
#define LOGIC1(name, ...) [RP_K_##name] = {build_unary, RP_D_BOOL, 0, 0},
#define MAP2(name, ...) [RP_K_##name] = {build_binary, RP_D_FLOAT, 0, 0},
#define PAIR2 MAP2
#define NUM2(name, ...) [RP_K_##name] = {build_binary, RP_D_ORDERED, 0, 0},
#define INT2(name, ...) [RP_K_##name] = {build_binary, RP_D_BITS, 0, 0},
#define LOGIC2(name, ...) [RP_K_##name] = {build_binary, RP_D_BOOL, 0, 0},
#define COMPARE(name, types, ...) [RP_K_##name] = {build_compare, types, 0, 0},
#define OP(name, level, n_in, n_out, flags, types, dtypes, how, ...) [RP_K_##name] = {build_##how, dtypes, 0, 0},
#define KERNEL(name, level, dtypes, how) [RP_K_##name] = {build_##how, dtypes, 0, 0},
#include "kernels/operations.def"
};

bool rp_specimen_fits(rp_kernel_id kernel, rp_dtype dtype)
{
    return (kinds[kernel].dtypes >> dtype & 1) != 0;
}

rp_status rp_specimen_make(rp_specimen *specimen, const rp_specimen_plan *plan, rp_error *err)
{
    memset(specimen, 0, sizeof *specimen);
    specimen->memory = plan->memory;
    specimen->args = (rp_kernel_args){.in = specimen->in, .out = specimen->out, .attr = specimen->attr};
    specimen->attr[0].r = kinds[plan->kernel].p;
    specimen->attr[1].r = kinds[plan->kernel].q;
    kinds[plan->kernel].build(specimen, plan);
    if (!specimen->failed)
        return RP_OK;
    rp_specimen_free(specimen);
    return rp_no_memory(err);
}

void rp_specimen_reset(rp_specimen *specimen)
{
    for (size_t i = 0; i < specimen->args.n_out; i++) {
        const size_t n = specimen->args.n_in + i;

        memset(specimen->block[n], PATTERN, specimen->count[n] * rp_dtype_size(specimen->out[i].dtype));
    }
}

void rp_specimen_free(rp_specimen *specimen)
{
    for (size_t n = 0; n < specimen->n_blocks && specimen->memory == NULL; n++)
        rp_free(specimen->block[n]);
    specimen->n_blocks = 0;
}

void rp_specimen_memory_free(rp_specimen_memory *memory)
{
    for (size_t n = 0; n < RP_SPECIMEN_VIEWS; n++)
        rp_free(memory->block[n]);
    *memory = (rp_specimen_memory){0};
}

void *rp_specimen_output(const rp_specimen *specimen, size_t i, size_t *count)
{
    *count = specimen->count[specimen->args.n_in + i];
    return specimen->block[specimen->args.n_in + i];
}
