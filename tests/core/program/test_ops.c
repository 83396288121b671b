/* SPDX-License-Identifier: Apache-2.0
 * The public operations, eagerly: shapes and values worked out by hand, and views against copies. Mistakes:
 * test_op_mistakes.c. */
#include "tests/core/program/eager_step.h"
#include "tests/determinism/contract_text.h"

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
    assert_values(run, rp_one_hot(rows, 2, RP_I64), RP_I64, SHAPE(3, 2), (int64_t[]){0, 1, 1, 0, 0, 1});
    assert_values(run, rp_one_hot(rows, 2, RP_BOOL), RP_BOOL, SHAPE(3, 2), (unsigned char[]){0, 1, 1, 0, 0, 1});
    assert_values(run, rp_one_hot(rows, 2, RP_U8), RP_U8, SHAPE(3, 2), (unsigned char[]){0, 1, 1, 0, 0, 1});
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
    assert_f32(run,
               rp_rms_norm(put_f32(run, SHAPE(1, 4), (float[]){1, -1, 5, 3}),
                           put_f32(run, SHAPE(4), (float[]){1, 2, 1, 3}), 7),
               SHAPE(1, 4), (float[]){0.25f, -0.5f, 1.25f, 2.25f});
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
        cmocka_unit_test(random_numbers_are_those_of_seed_step_and_stream),
    };

    return cmocka_run_group_tests_name("ops", tests, NULL, NULL);
}
