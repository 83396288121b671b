/* SPDX-License-Identifier: Apache-2.0
 * The public operations, eagerly: shapes and values worked out by hand, views against copies, and errors that are clear
 * and stay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/run/run.h"
#include "determinism/bits.h"
#include "rp/rp.h"
#include "tests/determinism/contract_text.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define SHAPE(...) \
    (int)COUNT(((size_t[]){__VA_ARGS__})), (size_t[]) \
    { \
        __VA_ARGS__ \
    }
#define AXES(...) (int[]){__VA_ARGS__}, (int)COUNT(((int[]){__VA_ARGS__}))

/* ---- a step in progress ---- */

static rp_run *step_new(void)
{
    rp_run *run = NULL;
    rp_error err = {0};

    if (rp_run_new(&run, &(rp_run_options){.threads = 1}, &err) != RP_OK)
        fail_msg("%s", err.text);
    assert_int_equal(rp_step_begin(run, NULL), RP_OK);
    return run;
}

static rp_tensor put(rp_run *run, rp_dtype dtype, int rank, const size_t *shape, const void *bytes)
{
    static unsigned n;
    char name[24];

    snprintf(name, sizeof name, "t%u", n++);
    return rp_feed(run, name, dtype, rank, shape, bytes);
}

static rp_tensor put_f32(rp_run *run, int rank, const size_t *shape, const float *x)
{
    return put(run, RP_F32, rank, shape, x);
}

static void assert_shape(rp_tensor x, rp_dtype dtype, int rank, const size_t *shape)
{
    rp_type found = {0}, expected = {.dtype = dtype, .rank = rank};
    char a[192], b[192];
    rp_error err = {0};

    if (!rp_shape_of(x, &found.dtype, &found.rank, found.shape)) {
        if (x.graph)
            (void)rp_graph_status(x.graph, &err);
        fail_msg("no tensor: %s", err.text);
    }
    if (rank)
        memcpy(expected.shape, shape, (size_t)rank * sizeof *shape);
    rp_type_text(&found, a, sizeof a);
    rp_type_text(&expected, b, sizeof b);
    assert_string_equal(a, b);
}

static void assert_values(rp_run *run, rp_tensor x, rp_dtype dtype, int rank, const size_t *shape, const void *expected)
{
    rp_type type = {.dtype = dtype, .rank = rank};
    char found[512], a[64], b[64];
    size_t n, at;
    rp_error err = {0};

    assert_shape(x, dtype, rank, shape);
    if (rank)
        memcpy(type.shape, shape, (size_t)rank * sizeof *shape);
    n = rp_type_count(&type);
    assert_true(rp_type_bytes(&type) <= sizeof found);
    if (rp_read(run, x, found, rp_type_bytes(&type), &err) != RP_OK)
        fail_msg("%s", err.text);
    at = rp_first_difference(found, expected, dtype, n);
    if (at < n) {
        rp_describe_element(a, sizeof a, (const char *)expected + at * rp_dtype_size(dtype), dtype);
        rp_describe_element(b, sizeof b, found + at * rp_dtype_size(dtype), dtype);
        fail_msg("element %zu: expected %s, found %s", at, a, b);
    }
}

static void assert_f32(rp_run *run, rp_tensor x, int rank, const size_t *shape, const float *expected)
{
    assert_values(run, x, RP_F32, rank, shape, expected);
}

/* ---- values ---- */

static void operands_broadcast_from_the_right(void **state)
{
    rp_run *run = step_new();
    rp_tensor m = put_f32(run, SHAPE(2, 3), (float[]){1, 2, 3, 4, 5, 6}),
              row = put_f32(run, SHAPE(3), (float[]){10, 20, 30});
    rp_tensor column = put_f32(run, SHAPE(2, 1), (float[]){100, 200}), one = put_f32(run, 0, NULL, (float[]){-1});
    rp_tensor deep = put_f32(run, SHAPE(2, 1, 1), (float[]){0, 1});

    (void)state;
    assert_f32(run, rp_add(m, row), SHAPE(2, 3), (float[]){11, 22, 33, 14, 25, 36});
    assert_f32(run, rp_sub(row, m), SHAPE(2, 3), (float[]){9, 18, 27, 6, 15, 24});
    assert_f32(run, rp_add(column, row), SHAPE(2, 3), (float[]){110, 120, 130, 210, 220, 230});
    assert_f32(run, rp_mul(one, m), SHAPE(2, 3), (float[]){-1, -2, -3, -4, -5, -6});
    assert_f32(run, rp_add(deep, row), SHAPE(2, 1, 3), (float[]){10, 20, 30, 11, 21, 31});
    assert_values(run, rp_gt(m, put_f32(run, SHAPE(2, 1), (float[]){2, 5})), RP_BOOL, SHAPE(2, 3),
                  (unsigned char[]){0, 0, 1, 0, 0, 1});
    assert_f32(run, rp_where(rp_lt(m, row), one, column), SHAPE(2, 3), (float[]){-1, -1, -1, -1, -1, -1});
    assert_f32(run, rp_where(rp_gt(column, put_f32(run, SHAPE(1), (float[]){150})), row, one), SHAPE(2, 3),
               (float[]){-1, -1, -1, 10, 20, 30});
    rp_run_free(run);
}

static void elementwise_operations_compute_their_formulas(void **state)
{
    rp_run *run = step_new();
    rp_tensor x = put_f32(run, SHAPE(4), (float[]){-2, -0.5f, 0, 3}),
              y = put_f32(run, SHAPE(4), (float[]){4, 0.25f, 1, 9});
    rp_tensor i = put(run, RP_I32, SHAPE(3), (int32_t[]){INT32_MAX, INT32_MIN, -7});
    rp_tensor p = put(run, RP_BOOL, SHAPE(2), (unsigned char[]){0, 1}),
              q = put(run, RP_BOOL, SHAPE(2), (unsigned char[]){1, 1});
    rp_tensor one = put(run, RP_I32, 0, NULL, (int32_t[]){1});

    (void)state;
    assert_f32(run, rp_neg(x), SHAPE(4), (float[]){2, 0.5f, -0.0f, -3});
    assert_f32(run, rp_abs(x), SHAPE(4), (float[]){2, 0.5f, 0, 3});
    assert_f32(run, rp_relu(x), SHAPE(4), (float[]){0, 0, 0, 3});
    assert_f32(run, rp_sqrt(y), SHAPE(4), (float[]){2, 0.5f, 1, 3});
    assert_f32(run, rp_pow_int(x, 3), SHAPE(4), (float[]){-8, -0.125f, 0, 27});
    assert_f32(run, rp_pow_int(y, -1), SHAPE(4), (float[]){0.25f, 4, 1, 1.0f / 9});
    assert_f32(run, rp_div(x, y), SHAPE(4), (float[]){-0.5f, -2, 0, 3.0f / 9});
    assert_f32(run, rp_maximum(x, rp_scale(y, 0.5)), SHAPE(4), (float[]){2, 0.125f, 0.5f, 4.5f});
    assert_f32(run, rp_minimum(x, y), SHAPE(4), (float[]){-2, -0.5f, 0, 3});
    assert_f32(run, rp_add_scalar(x, 0.1), SHAPE(4), (float[]){-2 + 0.1f, -0.5f + 0.1f, 0.1f, 3 + 0.1f});
    assert_f32(run, rp_exp(put_f32(run, SHAPE(1), (float[]){0})), SHAPE(1), (float[]){1});
    assert_f32(run, rp_sigmoid(put_f32(run, SHAPE(1), (float[]){0})), SHAPE(1), (float[]){0.5f});
    assert_f32(run, rp_gelu(put_f32(run, SHAPE(1), (float[]){0})), SHAPE(1), (float[]){0});
    assert_f32(run, rp_tanh(rp_log(rp_erf(put_f32(run, SHAPE(1), (float[]){9})))), SHAPE(1), (float[]){0});
    assert_f32(run, rp_log1p(put_f32(run, SHAPE(1), (float[]){0})), SHAPE(1), (float[]){0});
    assert_values(run, rp_add(i, one), RP_I32, SHAPE(3), (int32_t[]){INT32_MIN, INT32_MIN + 1, -6});
    assert_values(run, rp_abs(i), RP_I32, SHAPE(3), (int32_t[]){INT32_MAX, INT32_MIN, 7});
    assert_values(run, rp_logical_and(p, q), RP_BOOL, SHAPE(2), (unsigned char[]){0, 1});
    assert_values(run, rp_logical_or(p, q), RP_BOOL, SHAPE(2), (unsigned char[]){1, 1});
    assert_values(run, rp_logical_not(p), RP_BOOL, SHAPE(2), (unsigned char[]){1, 0});
    assert_values(run, rp_eq(p, q), RP_BOOL, SHAPE(2), (unsigned char[]){0, 1});
    assert_values(run, rp_ne(p, q), RP_BOOL, SHAPE(2), (unsigned char[]){1, 0});
    assert_values(run, rp_ge(x, x), RP_BOOL, SHAPE(4), (unsigned char[]){1, 1, 1, 1});
    assert_values(run, rp_le(x, y), RP_BOOL, SHAPE(4), (unsigned char[]){1, 1, 1, 1});
    assert_values(run, rp_cast(x, RP_I64), RP_I64, SHAPE(4), (int64_t[]){-2, 0, 0, 3});
    assert_values(run, rp_cast(x, RP_BOOL), RP_BOOL, SHAPE(4), (unsigned char[]){1, 1, 0, 1});
    rp_run_free(run);
}

/* fill converts from binary64 as cast does, to every type, and the same again when its program is read back. */
static void further_functions_are_the_operations_of_their_names(void **state)
{
    static const struct {
        rp_tensor (*call)(rp_tensor x);
        const char *name;
    } c[] = {
        {rp_expm1, "expm1"}, {rp_exp2, "exp2"}, {rp_log2, "log2"}, {rp_log10, "log10"}, {rp_sin, "sin"},
        {rp_cos, "cos"},     {rp_tan, "tan"},   {rp_sinh, "sinh"}, {rp_cosh, "cosh"},   {rp_asin, "asin"},
        {rp_acos, "acos"},   {rp_atan, "atan"}, {rp_erfc, "erfc"}, {rp_rsqrt, "rsqrt"}, {rp_cbrt, "cbrt"},
    };
    rp_run *run = step_new();
    rp_tensor x = put_f32(run, SHAPE(2), (float[]){0.25f, 0.5f});

    (void)state;
    for (size_t k = 0; k < COUNT(c); k++) {
        const rp_program *p;

        assert_shape(c[k].call(x), RP_F32, SHAPE(2));
        p = rp_step_graph(run)->program;
        assert_string_equal(p->instr[p->n_instrs - 1].op->name, c[k].name);
    }
    assert_f32(run, rp_rsqrt(put_f32(run, SHAPE(2), (float[]){4, 0})), SHAPE(2), (float[]){0.5f, 1 / 0.0f});
    assert_f32(run, rp_cbrt(put_f32(run, SHAPE(2), (float[]){-27, 8})), SHAPE(2), (float[]){-3, 2});
    assert_f32(run, rp_exp2(put_f32(run, SHAPE(2), (float[]){-1, 3})), SHAPE(2), (float[]){0.5f, 8});
    rp_run_free(run);
}

static void fill_converts_like_cast(void **state)
{
    static const double value[] = {2.9, -2.9, 0.5, 0, 3e9, -3e9, 1e30, -1e30, 0.0 / 0.0, 0x1p63, -0x1p63};
    rp_run *run = step_new();
    rp_graph *g = rp_step_graph(run);

    (void)state;
    for (size_t i = 0; i < COUNT(value); i++)
        for (int dtype = 0; dtype < RP_DTYPE_COUNT; dtype++) {
            rp_tensor x = put(run, RP_F64, 0, NULL, &value[i]);
            char bytes[8];

            assert_int_equal(rp_read(run, rp_cast(x, (rp_dtype)dtype), bytes, rp_dtype_size((rp_dtype)dtype), NULL),
                             RP_OK);
            assert_values(run, rp_fill(g, (rp_dtype)dtype, 0, NULL, value[i]), (rp_dtype)dtype, 0, NULL, bytes);
        }
    assert_values(run, rp_iota(g, RP_I32, 4), RP_I32, SHAPE(4), (int32_t[]){0, 1, 2, 3});
    assert_f32(run, rp_iota(g, RP_F32, 0), SHAPE(0), (float[]){0});
    rp_run_free(run);
}

static void data_moves_where_its_indices_say(void **state)
{
    rp_run *run = step_new();
    rp_tensor x = put_f32(run, SHAPE(2, 3), (float[]){1, 2, 3, 4, 5, 6}), v = put_f32(run, SHAPE(2), (float[]){7, 8});
    rp_tensor index = put(run, RP_I64, SHAPE(2, 2), (int64_t[]){2, 0, 0, 1}),
              rows = put(run, RP_I32, SHAPE(3), (int32_t[]){1, 0, 1});

    (void)state;
    assert_f32(run, rp_reshape(x, SHAPE(3, 2)), SHAPE(3, 2), (float[]){1, 2, 3, 4, 5, 6});
    assert_f32(run, rp_transpose(x, NULL), SHAPE(3, 2), (float[]){1, 4, 2, 5, 3, 6});
    assert_f32(run, rp_transpose(rp_reshape(x, SHAPE(1, 2, 3)), (int[]){2, 0, 1}), SHAPE(3, 1, 2),
               (float[]){1, 4, 2, 5, 3, 6});
    assert_f32(run, rp_broadcast_to(v, SHAPE(2, 2)), SHAPE(2, 2), (float[]){7, 8, 7, 8});
    assert_f32(run, rp_slice(x, (size_t[]){0, 1}, (size_t[]){2, 3}), SHAPE(2, 2), (float[]){2, 3, 5, 6});
    assert_f32(run, rp_pad(v, (size_t[]){1}, (size_t[]){2}), SHAPE(5), (float[]){0, 7, 8, 0, 0});
    assert_f32(run, rp_concat((rp_tensor[]){v, v, v}, 3, 0), SHAPE(6), (float[]){7, 8, 7, 8, 7, 8});
    assert_f32(run, rp_concat((rp_tensor[]){x, rp_reshape(v, SHAPE(2, 1))}, 2, -1), SHAPE(2, 4),
               (float[]){1, 2, 3, 7, 4, 5, 6, 8});
    assert_f32(run, rp_gather(x, index, -1), SHAPE(2, 2, 2), (float[]){3, 1, 1, 2, 6, 4, 4, 5});
    assert_f32(run, rp_embedding(x, rows), SHAPE(3, 3), (float[]){4, 5, 6, 1, 2, 3, 4, 5, 6});
    assert_f32(run, rp_scatter_add(rp_embedding(x, rows), rows, 0, 3), SHAPE(3, 3),
               (float[]){1, 2, 3, 8, 10, 12, 0, 0, 0});
    /* a negative axis counts from the end of the result, which has one axis fewer than g here */
    assert_f32(run, rp_scatter_add(rp_gather(x, index, 1), index, -1, 4), SHAPE(2, 4),
               (float[]){2, 2, 3, 0, 8, 5, 6, 0});
    assert_f32(run, rp_one_hot(rows, 2, RP_F32), SHAPE(3, 2), (float[]){0, 1, 1, 0, 0, 1});
    rp_run_free(run);
}

static void scatter_add_has_the_bits_of_the_text(void **state)
{
    rp_run *run = step_new();
    rp_tensor g = put_f32(run, SHAPE(4), (float[]){0x1p24f, 5, 1, 1});
    rp_tensor index = put(run, RP_I64, SHAPE(4), (int64_t[]){2, 0, 2, 2});
    char *text = contract_text();
    uint64_t word[4];
    float expected[4];

    (void)state;
    contract_words(contract_at(text, "### 7.7", "g = (2^24, 5, 1, 1): "), 3, 8, word);
    for (int i = 0; i < 3; i++)
        expected[i] = rp_from_bits_f32((uint32_t)word[i]);
    assert_f32(run, rp_scatter_add(g, index, 0, 3), SHAPE(3), expected);
    g = put_f32(run, SHAPE(2, 2, 2), (float[]){1, 2, 3, 4, 5, 6, 7, 8});
    index = put(run, RP_I64, SHAPE(2, 2), (int64_t[]){1, 0, 1, 1});
    contract_words(contract_at(text, "### 7.7", "output [2, 2] is "), 4, 8, word);
    for (int i = 0; i < 4; i++)
        expected[i] = rp_from_bits_f32((uint32_t)word[i]);
    assert_f32(run, rp_scatter_add(g, index, 1, 2), SHAPE(2, 2), expected);
    free(text);
    rp_run_free(run);
}

static void reductions_take_any_axes(void **state)
{
    rp_run *run = step_new();
    rp_tensor x = put_f32(run, SHAPE(2, 3), (float[]){1, 7, 3, 4, 5, 6});
    rp_tensor c = rp_reshape(rp_iota(x.graph, RP_F32, 8), SHAPE(2, 2, 2));

    (void)state;
    assert_f32(run, rp_sum(x, NULL, 0, false), 0, NULL, (float[]){26});
    assert_f32(run, rp_sum(x, NULL, 0, true), SHAPE(1, 1), (float[]){26});
    assert_f32(run, rp_sum(x, AXES(0), false), SHAPE(3), (float[]){5, 12, 9});
    assert_f32(run, rp_mean(x, AXES(-1), true), SHAPE(2, 1), (float[]){11.0f / 3, 5});
    assert_f32(run, rp_max(x, AXES(1), false), SHAPE(2), (float[]){7, 6});
    assert_f32(run, rp_sum(c, AXES(2, 0), false), SHAPE(2), (float[]){10, 18});
    assert_f32(run, rp_sum(c, AXES(1, -1), true), SHAPE(2, 1, 1), (float[]){6, 22});
    assert_values(run, rp_argmax(x, 1, false), RP_I64, SHAPE(2), (int64_t[]){1, 2});
    assert_values(run, rp_argmax(x, -2, true), RP_I64, SHAPE(1, 3), (int64_t[]){1, 0, 1});
    assert_values(run, rp_sum(put(run, RP_I64, SHAPE(2), (int64_t[]){INT64_MAX, 2}), NULL, 0, false), RP_I64, 0, NULL,
                  (int64_t[]){INT64_MIN + 1});
    rp_run_free(run);
}

static void layers_and_losses_compute_their_formulas(void **state)
{
    rp_run *run = step_new();
    rp_tensor x = put_f32(run, SHAPE(2, 2), (float[]){1, 2, 3, 4}),
              w = put_f32(run, SHAPE(2, 3), (float[]){1, 0, 2, 0, 1, -1});
    rp_tensor b = put_f32(run, SHAPE(3), (float[]){10, 20, 30}),
              flat = put_f32(run, SHAPE(2, 2), (float[]){5, 5, 0, 0});
    rp_tensor batch = put_f32(run, SHAPE(2, 1, 2), (float[]){1, 1, 2, -1});
    rp_tensor label = put(run, RP_I32, SHAPE(2), (int32_t[]){1, 0});
    float ln2;

    (void)state;
    assert_f32(run, rp_matmul(x, w), SHAPE(2, 3), (float[]){1, 2, 0, 3, 4, 2});
    assert_f32(run, rp_linear(x, w, b), SHAPE(2, 3), (float[]){11, 22, 30, 13, 24, 32});
    assert_f32(run, rp_linear(x, w, (rp_tensor){0}), SHAPE(2, 3), (float[]){1, 2, 0, 3, 4, 2});
    assert_f32(run, rp_matmul(rp_transpose(w, NULL), x), SHAPE(3, 2), (float[]){1, 2, 3, 4, -1, 0});
    assert_f32(run, rp_matmul(batch, x), SHAPE(2, 1, 2), (float[]){4, 6, -1, 0});
    assert_f32(run, rp_softmax(flat), SHAPE(2, 2), (float[]){0.5f, 0.5f, 0.5f, 0.5f});
    assert_int_equal(rp_read(run, rp_log(put_f32(run, 0, NULL, (float[]){2})), &ln2, sizeof ln2, NULL), RP_OK);
    assert_f32(run, rp_log_softmax(flat), SHAPE(2, 2), (float[]){-ln2, -ln2, -ln2, -ln2});
    assert_f32(run, rp_cross_entropy(flat, label), 0, NULL, &ln2);
    assert_f32(run, rp_bce_with_logits(rp_scale(flat, 0), flat), 0, NULL, &ln2);
    assert_f32(run, rp_mse(x, flat), 0, NULL, (float[]){(16 + 9 + 9 + 16) / 4.0f});
    assert_f32(run,
               rp_layer_norm(put_f32(run, SHAPE(1, 2), (float[]){1, 3}), put_f32(run, SHAPE(2), (float[]){1, 2}),
                             put_f32(run, SHAPE(2), (float[]){0, 0.5f}), 0),
               SHAPE(1, 2), (float[]){-1, 2.5f});
    rp_run_free(run);
}

static void optimizers_and_clipping_compute_their_formulas(void **state)
{
    rp_run *run = step_new();
    rp_tensor p = put_f32(run, SHAPE(1), (float[]){1}), m = put_f32(run, SHAPE(1), (float[]){0});
    rp_tensor lr = put_f32(run, 0, NULL, (float[]){0.125f}), grad[2];
    float norm = 5, factor = 2.0f / (5.0f + 1e-6f), a = 3 * factor, b = -4 * factor;

    (void)state;
    /* CONTRACT 8.1's worked example */
    p = rp_sgd(p, &m, put_f32(run, SHAPE(1), (float[]){0.5f}), lr, 0.5, false, 0.25);
    assert_f32(run, p, SHAPE(1), (float[]){0.90625f});
    assert_f32(run, m, SHAPE(1), (float[]){0.75f});
    p = rp_sgd(p, &m, put_f32(run, SHAPE(1), (float[]){-0.25f}), lr, 0.5, false, 0.25);
    assert_f32(run, p, SHAPE(1), (float[]){0.8623046875f});
    assert_f32(run, m, SHAPE(1), (float[]){0.3515625f});
    grad[0] = put_f32(run, SHAPE(1), (float[]){3});
    grad[1] = put_f32(run, SHAPE(2), (float[]){0, -4});
    assert_f32(run, rp_clip_by_norm(grad, 2, 2), 0, NULL, &norm);
    assert_f32(run, grad[0], SHAPE(1), &a);
    assert_f32(run, grad[1], SHAPE(2), (float[]){0, b});
    assert_f32(run, rp_clip_by_norm(grad, 2, 1e9), 0, NULL, (float[]){__builtin_sqrtf(a * a + b * b)});
    rp_run_free(run);
}

/* A chain of views, and the same chain with a copy after each link. */
static rp_tensor chain(rp_tensor x, bool copy)
{
#define LINK(call) (x = (call), x = copy ? rp_concat(&x, 1, 0) : x)
    LINK(rp_reshape(x, SHAPE(4, 6)));
    LINK(rp_slice(x, (size_t[]){1, 2}, (size_t[]){4, 6}));
    LINK(rp_transpose(x, NULL));
    LINK(rp_reshape(x, SHAPE(2, 2, 3)));
    LINK(rp_transpose(x, ((int[]){2, 0, 1})));
    LINK(rp_slice(x, ((size_t[]){1, 0, 1}), ((size_t[]){3, 2, 2})));
    LINK(rp_broadcast_to(x, SHAPE(2, 2, 2, 3)));
    LINK(rp_transpose(x, ((int[]){3, 0, 2, 1})));
    LINK(rp_reshape(x, SHAPE(6, 4)));
#undef LINK
    return x;
}

static void views_of_views_hold_the_values_of_copies(void **state)
{
    rp_run *run = step_new();
    rp_tensor x = rp_iota(rp_step_graph(run), RP_F32, 24), view = chain(x, false);
    float copied[24];

    (void)state;
    assert_int_equal(rp_read(run, chain(x, true), copied, sizeof copied, NULL), RP_OK);
    assert_f32(run, view, SHAPE(6, 4), copied);
    /* computing on a view, and reducing it, see the same elements */
    assert_f32(run, rp_neg(rp_neg(view)), SHAPE(6, 4), copied);
    assert_f32(run, rp_sub(rp_sum(view, AXES(0), false), rp_sum(chain(x, true), AXES(0), false)), SHAPE(4),
               (float[]){0, 0, 0, 0});
    rp_run_free(run);
}

static void empty_tensors_are_tensors(void **state)
{
    rp_run *run = step_new();
    rp_tensor e = put_f32(run, SHAPE(0, 3), NULL), x = put_f32(run, SHAPE(2, 3), (float[]){1, 2, 3, 4, 5, 6});
    rp_tensor none = put(run, RP_I64, SHAPE(0), NULL), grad;

    (void)state;
    assert_shape(rp_neg(e), RP_F32, SHAPE(0, 3));
    assert_shape(rp_add(e, put_f32(run, SHAPE(1, 3), (float[]){1, 2, 3})), RP_F32, SHAPE(0, 3));
    assert_shape(rp_transpose(e, NULL), RP_F32, SHAPE(3, 0));
    assert_shape(rp_reshape(e, SHAPE(5, 0, 2)), RP_F32, SHAPE(5, 0, 2));
    assert_f32(run, rp_concat((rp_tensor[]){e, x, e}, 3, 0), SHAPE(2, 3), (float[]){1, 2, 3, 4, 5, 6});
    assert_f32(run, rp_sum(e, NULL, 0, false), 0, NULL, (float[]){0});
    assert_f32(run, rp_sum(e, AXES(0), false), SHAPE(3), (float[]){0, 0, 0});
    assert_shape(rp_gather(x, none, 0), RP_F32, SHAPE(0, 3));
    assert_f32(run, rp_scatter_add(e, none, 0, 2), SHAPE(2, 3), (float[]){0, 0, 0, 0, 0, 0});
    assert_f32(run, rp_matmul(rp_transpose(e, NULL), e), SHAPE(3, 3), (float[9]){0});
    assert_shape(rp_softmax(e), RP_F32, SHAPE(0, 3));
    assert_shape(rp_slice(x, (size_t[]){1, 3}, (size_t[]){2, 3}), RP_F32, SHAPE(1, 0));
    assert_f32(run, rp_pad(rp_slice(x, (size_t[]){0, 3}, (size_t[]){1, 3}), (size_t[]){0, 1}, (size_t[]){0, 1}),
               SHAPE(1, 2), (float[]){0, 0});
    assert_shape(rp_max(e, AXES(1), false), RP_F32, SHAPE(0));
    rp_gradients(rp_sum(rp_mul(e, e), NULL, 0, false), &e, 1, &grad);
    assert_shape(grad, RP_F32, SHAPE(0, 3));
    assert_int_equal(rp_step_end(run, NULL), RP_OK);
    rp_run_free(run);
}

static void rank_eight_is_the_most(void **state)
{
    rp_run *run = step_new();
    float v[256];
    rp_tensor x = rp_reshape(rp_iota(rp_step_graph(run), RP_F32, 256), SHAPE(2, 2, 2, 2, 2, 2, 2, 2)), y;

    (void)state;
    y = rp_transpose(x, (int[]){7, 6, 5, 4, 3, 2, 1, 0});
    assert_int_equal(rp_read(run, rp_add(x, y), v, sizeof v, NULL), RP_OK);
    for (unsigned i = 0; i < 256; i++) {
        unsigned mirrored = 0;

        for (unsigned bit = 0; bit < 8; bit++)
            mirrored |= (i >> bit & 1) << (7 - bit);
        assert_true(v[i] == (float)(i + mirrored));
    }
    assert_f32(run, rp_sum(y, AXES(0, 2, 3, 4, 5, 6, 7), false), SHAPE(2), (float[]){16192, 16448});
    rp_run_free(run);
}

/* ---- errors ---- */

typedef void broken(rp_run *run, rp_tensor x, rp_tensor i); /* x f32[2,3], i i64[2] = {0, 9} */

static void b_add_shape(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)i;
    rp_add(x, put_f32(run, SHAPE(2), NULL));
}
static void b_add_dtype(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run;
    rp_add(x, i);
}
static void b_exp_dtype(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)x;
    rp_exp(i);
}
static void b_reshape(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_reshape(x, SHAPE(5));
}
static void b_reshape_huge(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_reshape(x, SHAPE(2, ((size_t)1 << 40) + 1));
}
static void b_rank(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_reshape(x, 9, (size_t[9]){0});
}
static void b_transpose(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_transpose(x, (int[]){0, 0});
}
static void b_transpose_out(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_transpose(x, (int[]){1, -2});
}
static void b_transpose_one(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)x;
    rp_transpose(i, NULL);
}
static void b_stretch(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_broadcast_to(x, SHAPE(2, 4));
}
static void b_stretch_huge(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_broadcast_to(x, SHAPE((size_t)1 << 40, 2, 3));
}
static void b_slice(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_slice(x, (size_t[]){0, 0}, (size_t[]){3, 1});
}
static void b_slice_huge(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_slice(x, (size_t[]){0, SIZE_MAX}, (size_t[]){1, 1});
}
static void b_pad_huge(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_pad(x, (size_t[]){0, SIZE_MAX / 2}, (size_t[]){0, SIZE_MAX / 2});
}
static void b_pad_far(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_pad(x, (size_t[]){0, (size_t)1 << 40}, (size_t[]){0, 1});
}
static void b_concat(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_concat((rp_tensor[]){x, rp_slice(x, (size_t[]){0, 1}, (size_t[]){2, 3})}, 2, 0);
}
static void b_concat_axis(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_concat(&x, 1, -3);
}
static void b_axis(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_sum(x, AXES(0, 2), false);
}
static void b_axis_twice(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_sum(x, AXES(1, -1), false);
}
static void b_axes_nine(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_mean(x, AXES(0, 1, 2, 3, 4, 5, 6, 7, 8), false);
}
static void b_argmax_axis(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_argmax(x, 5, false);
}
static void b_cumsum_axis(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_cumsum(x, -4, false);
}
static void b_max_empty(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)x, (void)i;
    rp_max(put_f32(run, SHAPE(2, 0), NULL), AXES(1), false);
}
static void b_argmax_empty(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)x, (void)i;
    rp_argmax(put_f32(run, SHAPE(2, 0), NULL), 1, false);
}
static void b_softmax_empty(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)x, (void)i;
    rp_softmax(put_f32(run, SHAPE(2, 0), NULL));
}
static void b_matmul(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_matmul(x, x);
}
static void b_gather(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run;
    rp_gather(x, i, 0);
}
static void b_gather_negative(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)i;
    rp_gather(x, put(run, RP_I32, 0, NULL, (int32_t[]){-1}), 0);
}
static void b_gather_index(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_gather(x, x, 0);
}
static void b_gather_axis(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run;
    rp_gather(x, i, 2);
}
static void b_gather_rank(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run;
    rp_gather(x, rp_reshape(i, SHAPE(2, 1, 1, 1, 1, 1, 1, 1)), 0);
}
static void b_scatter(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run;
    rp_scatter_add(x, i, 0, 9);
}
static void b_scatter_rank(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)x, (void)i;
    rp_scatter_add(put_f32(run, SHAPE(1, 1, 1, 1, 1, 1, 1, 1), NULL), put(run, RP_I64, 0, NULL, NULL), 0, 2);
}
static void b_one_hot(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)x;
    rp_one_hot(i, 9, RP_F32);
}
static void b_labels(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run;
    rp_cross_entropy(x, i);
}
static void b_layer_norm(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)i;
    rp_layer_norm(x, put_f32(run, SHAPE(2), NULL), put_f32(run, SHAPE(3), NULL), 0.1);
}
static void b_dropout_rate(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run;
    rp_dropout(x, 1, i, 0);
}
static void b_dropout_rng(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_dropout(x, 0.5, x, 0);
}
static void b_stream(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)x;
    rp_uniform(i, -1, RP_F32, SHAPE(2), 0, 1);
}
static void b_fill_huge(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)x, (void)i;
    rp_fill(rp_step_graph(run), RP_F32, SHAPE((size_t)1 << 40, 2), 0);
}
static void b_fill_wrap(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)x, (void)i;
    rp_fill(rp_step_graph(run), RP_F32, SHAPE((size_t)1 << 32, (size_t)1 << 32), 0);
}
static void b_fill_wrap_empty(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)x, (void)i;
    rp_fill(rp_step_graph(run), RP_F32, SHAPE(0, SIZE_MAX), 0);
}
static void b_fill_dtype(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)x, (void)i;
    rp_fill(rp_step_graph(run), (rp_dtype)7, 0, NULL, 0);
}
static void b_outer_huge(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)x, (void)i;
    rp_tensor a = rp_broadcast_to(put_f32(run, SHAPE(1, 1), NULL), SHAPE((size_t)1 << 30, 1));

    rp_add(a, rp_transpose(a, NULL));
}
static void b_sgd(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_sgd(x, &x, x, x, 0, false, 0);
}
static void b_none_first(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_add((rp_tensor){0}, x);
}
static void b_none_second(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_add(x, (rp_tensor){0});
}
static void b_none_state(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)x, (void)i;
    rp_set_state(run, "w", rp_neg((rp_tensor){0}));
}
static void b_none_result(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)x, (void)i;
    rp_result(run, "r", (rp_tensor){0});
}

static const struct {
    broken *call;
    rp_status status;
    const char *fragment;
} mistakes[] = {
    {b_add_shape, RP_ESHAPE, "add: found f32[2,3] and f32[2]"},
    {b_add_dtype, RP_ESHAPE, "rp_cast"},
    {b_exp_dtype, RP_ESHAPE, "exp: not defined for i64[2]"},
    {b_reshape, RP_ESHAPE, "reshape: shape [5] does not hold the elements of f32[2,3], expected the same number"},
    {b_reshape_huge, RP_ESHAPE, "reshape: shape [2,1099511627777] is no shape for f32[2,3]"},
    {b_rank, RP_ESHAPE, "rank 9"},
    {b_transpose, RP_ESHAPE, "transpose: permutation [0,0] does not permute the axes of f32[2,3], expected each"},
    {b_transpose_out, RP_ESHAPE, "transpose: permutation [1,-2] does not permute the axes of f32[2,3]"},
    {b_transpose_one, RP_ESHAPE, "rank 2 or more"},
    {b_stretch, RP_ESHAPE, "broadcast_to: shape [2,4] is not what stretches from f32[2,3], expected on each axis"},
    {b_stretch_huge, RP_ESHAPE, "broadcast_to: shape [1099511627776,2,3] is no shape for f32[2,3]"},
    {b_slice, RP_ESHAPE, "slice: begin [0,0], end [3,1] do not lie in f32[2,3], expected 0 <= begin <= end"},
    {b_slice_huge, RP_ESHAPE, "slice: begin [0,-1], end [1,1] do not lie in f32[2,3]"},
    {b_pad_huge, RP_ESHAPE, "pad: before [0,9223372036854775807], after [0,9223372036854775807] do not pad f32[2,3]"},
    {b_pad_far, RP_ESHAPE, "pad: before [0,1099511627776], after [0,1] pad too far f32[2,3], expected a result of"},
    {b_concat, RP_ESHAPE, "concat: operand 1, f32[2,2], does not join operand 0, f32[2,3], at axis 0, expected types"},
    {b_concat_axis, RP_ESHAPE, "concat: axis -3 is not an axis of f32[2,3], expected 0 <= axis < 2"},
    {b_axis, RP_ESHAPE, "sum: axes [0,2]: axis 2 is out of range or repeated in f32[2,3], expected axes from -2 to 1"},
    {b_axis_twice, RP_ESHAPE, "sum: axes [1,-1]: axis -1 is out of range or repeated in f32[2,3]"},
    {b_axes_nine, RP_ESHAPE, "mean: axes [0,1,2,3,4,5,6,7,..]: axis 2 is out"},
    {b_argmax_axis, RP_ESHAPE, "argmax: axis 5 is not an axis of f32[2,3], expected 0 <= axis < 2"},
    {b_cumsum_axis, RP_ESHAPE, "cumsum: axis -4 is not an axis of f32[2,3]"},
    {b_max_empty, RP_ESHAPE, "max: axes [1] hold nothing in f32[2,0], expected at least one element"},
    {b_argmax_empty, RP_ESHAPE, "argmax: axis 1 has length 0 in f32[2,0], expected at least one element"},
    {b_softmax_empty, RP_ESHAPE, "at least one element"},
    {b_matmul, RP_ESHAPE, "[.., m, k]"},
    {b_gather, RP_EDATA, "gather: index 9 at position 1"},
    {b_gather_negative, RP_EDATA, "index -1 at position 0"},
    {b_gather_index, RP_ESHAPE, "gather: found f32[2,3] and f32[2,3], expected i32 or i64 indices"},
    {b_gather_axis, RP_ESHAPE, "gather: axis 2 is not an axis of f32[2,3]"},
    {b_gather_rank, RP_ESHAPE, "gather: found f32[2,3] and i64[2,1,1,1,1,1,1,1], expected a result of rank 8 or less"},
    {b_scatter, RP_EDATA, "scatter_add: index 9"},
    {b_scatter_rank, RP_ESHAPE, "scatter_add"},
    {b_one_hot, RP_EDATA, "one_hot: index 9"},
    {b_labels, RP_EDATA, "cross_entropy: index 9"},
    {b_layer_norm, RP_ESHAPE, "gamma and beta"},
    {b_dropout_rate, RP_ESHAPE, "rate < 1"},
    {b_dropout_rng, RP_ESHAPE, "{seed, step}"},
    {b_stream, RP_ESHAPE, "stream"},
    {b_fill_huge, RP_ESHAPE, "2^40"},
    {b_fill_wrap, RP_ESHAPE, "2^40"},
    {b_fill_wrap_empty, RP_ESHAPE, "length"},
    {b_fill_dtype, RP_ESHAPE, "dtype 7"},
    {b_outer_huge, RP_ESHAPE, "2^40"},
    {b_sgd, RP_ESHAPE, "rank-0 rates"},
    {b_none_first, RP_EARG, "no tensor"},
    {b_none_second, RP_EARG, "no tensor"},
    {b_none_state, RP_EARG, "no tensor"},
    {b_none_result, RP_EARG, "no tensor"},
};

static void each_mistake_is_one_clear_error_that_stays(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(mistakes); k++) {
        rp_run *run;
        rp_tensor x, i, later;
        rp_error err = {0}, again = {0};
        float kept[2];

        assert_int_equal(rp_run_new(&run, &(rp_run_options){.threads = 1}, NULL), RP_OK);
        assert_int_equal(rp_run_add_state(run, "w", RP_F32, SHAPE(2), (float[]){1, 2}, NULL), RP_OK);
        assert_int_equal(rp_step_begin(run, NULL), RP_OK);
        x = put_f32(run, SHAPE(2, 3), (float[]){1, 2, 3, 4, 5, 6});
        i = put(run, RP_I64, SHAPE(2), (int64_t[]){0, 9});
        rp_set_state(run, "w", rp_neg(rp_state(run, "w")));
        mistakes[k].call(run, x, i);
        if (rp_graph_status(rp_step_graph(run), &err) != mistakes[k].status || !strstr(err.text, mistakes[k].fragment))
            fail_msg("mistake %zu: expected %s with \"%s\", found %s: %s", k, rp_status_name(mistakes[k].status),
                     mistakes[k].fragment, rp_status_name(err.status), err.text);
        later = rp_add(x, x); /* does nothing; a second mistake does not replace the first */
        assert_null(later.graph);
        rp_matmul(i, i);
        assert_int_equal(rp_read(run, later, kept, sizeof kept, NULL), mistakes[k].status);
        assert_int_equal(rp_step_end(run, &again), mistakes[k].status);
        assert_memory_equal(again.text, err.text, strlen(err.text)); /* and then which step */
        assert_int_equal(rp_run_get_state(run, "w", kept, sizeof kept, NULL), RP_OK);
        assert_true(kept[0] == 1 && kept[1] == 2);
        rp_run_free(run);
    }
}

/* Axes as a program's text may have them. */
static void appended_axes_are_ascending(void **state)
{
    rp_run *run = step_new();
    rp_tensor x = put_f32(run, SHAPE(2, 3), (float[]){1, 2, 3, 4, 5, 6}), out;
    rp_error err = {0};

    (void)state;
    rp_emit(x.graph, RP_OP_max, (rp_attr[RP_MAX_ATTR]){{.n = 2, .list = {1, 0}}}, &x, 1, &out);
    assert_int_equal(rp_graph_status(rp_step_graph(run), &err), RP_ESHAPE);
    if (!strstr(err.text, "max: axes [1,0] are not axes of f32[2,3], expected ascending axes"))
        fail_msg("%s", err.text);
    rp_run_free(run);
}

static void tensors_of_another_run_or_step_are_refused(void **state)
{
    rp_run *a = step_new(), *b = step_new();
    rp_tensor x = put_f32(a, SHAPE(1), (float[]){1}), y = put_f32(b, SHAPE(1), (float[]){2});
    rp_error err = {0};
    size_t before = rp_step_graph(b)->program->n_instrs;

    (void)state;
    rp_add(x, y);
    assert_int_equal(rp_step_end(a, &err), RP_EARG);
    assert_non_null(strstr(err.text, "another graph"));
    assert_int_equal(rp_step_begin(a, NULL), RP_OK);
    rp_result(a, "r", y);
    assert_int_equal(rp_step_end(a, &err), RP_EARG);
    assert_non_null(strstr(err.text, "another graph"));
    assert_int_equal(rp_step_begin(a, NULL), RP_OK);
    assert_int_equal(rp_read(a, y, (float[1]){0}, 4, &err), RP_EARG);
    assert_int_equal(rp_step_end(a, NULL), RP_EARG);
    /* the other run took no harm */
    assert_int_equal(rp_step_graph(b)->program->n_instrs, before);
    assert_int_equal(rp_step_end(b, NULL), RP_OK);

    rp_neg(y); /* after its step */
    assert_int_equal(rp_graph_status(rp_step_graph(b), &err), RP_EARG);
    assert_int_equal(rp_step_begin(b, NULL), RP_OK);
    assert_false(rp_shape_of(y, &(rp_dtype){0}, &(int){0}, (size_t[RP_MAX_RANK]){0}));
    assert_int_equal(rp_step_end(b, &err), RP_EARG);
    assert_non_null(strstr(err.text, "earlier step"));
    rp_run_free(a);
    rp_run_free(b);
}

static void random_numbers_are_those_of_seed_step_and_stream(void **state)
{
    rp_run *run = step_new();
    rp_tensor rng = put(run, RP_I64, SHAPE(2), (int64_t[]){42, 3});
    float u[4];

    (void)state;
    /* CONTRACT 6.3 and 7.6: words of (42, 3, 1) */
    assert_int_equal(rp_read(run, rp_uniform(rng, 1, RP_F32, SHAPE(4), 0, 1), u, sizeof u, NULL), RP_OK);
    assert_int_equal(rp_bits_f32(u[0]), 0x3F383A90);
    assert_f32(run, rp_dropout(rp_fill(rng.graph, RP_F32, SHAPE(8), 1), 0.5, rng, 1), SHAPE(8),
               (float[]){2, 0, 2, 0, 0, 0, 2, 2});
    assert_shape(rp_normal(rng, 1, RP_F64, SHAPE(2, 2), 0, 1), RP_F64, SHAPE(2, 2));
    rp_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operands_broadcast_from_the_right),
        cmocka_unit_test(elementwise_operations_compute_their_formulas),
        cmocka_unit_test(further_functions_are_the_operations_of_their_names),
        cmocka_unit_test(fill_converts_like_cast),
        cmocka_unit_test(data_moves_where_its_indices_say),
        cmocka_unit_test(scatter_add_has_the_bits_of_the_text),
        cmocka_unit_test(reductions_take_any_axes),
        cmocka_unit_test(layers_and_losses_compute_their_formulas),
        cmocka_unit_test(optimizers_and_clipping_compute_their_formulas),
        cmocka_unit_test(views_of_views_hold_the_values_of_copies),
        cmocka_unit_test(empty_tensors_are_tensors),
        cmocka_unit_test(rank_eight_is_the_most),
        cmocka_unit_test(each_mistake_is_one_clear_error_that_stays),
        cmocka_unit_test(appended_axes_are_ascending),
        cmocka_unit_test(tensors_of_another_run_or_step_are_refused),
        cmocka_unit_test(random_numbers_are_those_of_seed_step_and_stream),
    };

    return cmocka_run_group_tests_name("ops", tests, NULL, NULL);
}
