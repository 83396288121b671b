/* SPDX-License-Identifier: Apache-2.0
 * Values of the reference kernels worked out by hand or by a second writing of the contract's formulas: zeros, NaN,
 * infinities, casts, ties, composites, gradients, optimizers. */
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "determinism/bits.h"
#include "determinism/fpenv.h"
#include "determinism/math.h"
#include "determinism/philox.h"
#include "determinism/sum.h"
#include "tests/kernels/kernel_call.h"
#include "kernels/device.h"

#define COUNT(a) (sizeof(a) / sizeof(a)[0])
#define NAN32 rp_from_bits_f32(0x7FC00000u)
#define INF32 rp_from_bits_f32(0x7F800000u)

static void assert_bits(const char *what, size_t i, float found, float want)
{
    if (rp_bits_f32(rp_canonical_f32(found)) != rp_bits_f32(rp_canonical_f32(want)))
        fail_msg("%s, case %zu: expected %a, found %a", what, i, (double)want, (double)found);
}

static float unary(rp_kernel_id id, float x)
{
    float y = -99;
    rp_view in = view_of(&x, RP_F32, -1), out = view_of(&y, RP_F32, -1);

    call_kernel("ref", id, &out, 1, &in, 1, NULL);
    return y;
}

static float binary(rp_kernel_id id, float a, float b)
{
    float y = -99;
    rp_view in[2] = {view_of(&a, RP_F32, -1), view_of(&b, RP_F32, -1)}, out = view_of(&y, RP_F32, -1);

    call_kernel("ref", id, &out, 1, in, 2, NULL);
    return y;
}

static void maximum_and_minimum_order_zeros_and_keep_nan(void **state)
{
    const struct {
        float a, b, most, least;
    } cases[] = {{1, 2, 2, 1},
                 {0.0f, -0.0f, 0.0f, -0.0f},
                 {-0.0f, 0.0f, 0.0f, -0.0f},
                 {-0.0f, -0.0f, -0.0f, -0.0f},
                 {NAN32, 1, NAN32, NAN32},
                 {1, NAN32, NAN32, NAN32},
                 {INF32, NAN32, NAN32, NAN32},
                 {-INF32, 3, 3, -INF32}};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_bits("maximum", i, binary(RP_K_maximum, cases[i].a, cases[i].b), cases[i].most);
        assert_bits("minimum", i, binary(RP_K_minimum, cases[i].a, cases[i].b), cases[i].least);
    }
}

static void relu_drops_minus_zero_and_keeps_nan(void **state)
{
    (void)state;
    assert_bits("relu", 0, unary(RP_K_relu, -0.0f), 0.0f);
    assert_bits("relu", 1, unary(RP_K_relu, -3.0f), 0.0f);
    assert_bits("relu", 2, unary(RP_K_relu, 0x1p-149f), 0x1p-149f);
    assert_bits("relu", 3, unary(RP_K_relu, NAN32), NAN32);
    assert_bits("relu_grad", 0, binary(RP_K_relu_grad, 5, 0.0f), 0.0f);
    assert_bits("relu_grad", 1, binary(RP_K_relu_grad, -5, 2), -5);
    assert_bits("relu_grad", 2, binary(RP_K_relu_grad, 5, -2), 0.0f);
    assert_bits("relu_grad", 3, binary(RP_K_relu_grad, 5, NAN32), NAN32);
}

static void signs_and_roots_follow_ieee(void **state)
{
    (void)state;
    assert_bits("neg", 0, unary(RP_K_neg, 0.0f), -0.0f);
    assert_bits("abs", 0, unary(RP_K_abs, -0.0f), 0.0f);
    assert_bits("sqrt", 0, unary(RP_K_sqrt, -0.0f), -0.0f);
    assert_bits("sqrt", 1, unary(RP_K_sqrt, 2.0f), rp_from_bits_f32(0x3FB504F3u));
    assert_bits("sqrt", 2, unary(RP_K_sqrt, -1.0f), NAN32);
    assert_bits("div", 0, binary(RP_K_div, -1, 0), -INF32);
    assert_bits("div", 1, binary(RP_K_div, 0, 0), NAN32);
    assert_bits("add keeps subnormals", 0, binary(RP_K_add, 0x1p-149f, 0x1p-149f), 0x1p-148f);
    assert_bits("mul is not contracted", 0, binary(RP_K_mul, 0x1.000002p0f, 0x1.000002p0f), 0x1.000004p0f);
}

static void integers_wrap(void **state)
{
    int32_t a = INT32_MIN, b = -1, y;
    rp_view in[2] = {view_of(&a, RP_I32, -1), view_of(&b, RP_I32, -1)}, out = view_of(&y, RP_I32, -1);

    (void)state;
    call_kernel("ref", RP_K_add, &out, 1, in, 2, NULL);
    assert_int_equal(y, INT32_MAX);
    call_kernel("ref", RP_K_mul, &out, 1, in, 2, NULL);
    assert_int_equal(y, INT32_MIN);
    call_kernel("ref", RP_K_neg, &out, 1, in, 1, NULL);
    assert_int_equal(y, INT32_MIN);
    call_kernel("ref", RP_K_abs, &out, 1, in, 1, NULL);
    assert_int_equal(y, INT32_MIN);
}

static void comparisons_with_nan_are_false_but_not_equal(void **state)
{
    static const rp_kernel_id ids[] = {RP_K_eq, RP_K_ne, RP_K_lt, RP_K_le, RP_K_gt, RP_K_ge};
    static const uint8_t with_nan[] = {0, 1, 0, 0, 0, 0}, zeros[] = {1, 0, 0, 1, 0, 1}, less[] = {0, 1, 1, 1, 0, 0};
    float a[3] = {NAN32, 0.0f, 1}, b[3] = {1, -0.0f, 2};
    rp_view in[2] = {view_of(a, RP_F32, 3, -1), view_of(b, RP_F32, 3, -1)};
    uint8_t y[3];
    rp_view out = view_of(y, RP_BOOL, 3, -1);

    (void)state;
    for (size_t i = 0; i < COUNT(ids); i++) {
        call_kernel("ref", ids[i], &out, 1, in, 2, NULL);
        assert_int_equal(y[0], with_nan[i]);
        assert_int_equal(y[1], zeros[i]);
        assert_int_equal(y[2], less[i]);
    }
}

static void casts_truncate_saturate_and_wrap(void **state)
{
    float x[] = {1.9f, -1.9f, NAN32, 0x1p31f, -0x1p31f, 3e9f, -3e9f, 0x1p63f, -INF32, 0x1.fffffep30f};
    const int32_t narrow[] = {1, -1, 0, INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN, 2147483520};
    const int64_t wide[] = {1,          -1,          0,         2147483648, -2147483648,
                            3000000000, -3000000000, INT64_MAX, INT64_MIN,  2147483520};
    int64_t integers[] = {16777217, 16777219, INT64_MAX, (int64_t)0x1234567880000000, -1};
    const float rounded[] = {16777216.0f, 16777220.0f, 0x1p63f, 0x1.234568p60f, -1};
    int32_t y32[10];
    int64_t y64[10];
    float real[5];
    uint8_t truth[10];
    rp_view in = view_of(x, RP_F32, 10, -1), ints = view_of(integers, RP_I64, 5, -1);
    rp_view to32 = view_of(y32, RP_I32, 10, -1), to64 = view_of(y64, RP_I64, 10, -1);
    rp_view to_real = view_of(real, RP_F32, 5, -1), to_bool = view_of(truth, RP_BOOL, 10, -1);

    (void)state;
    call_kernel("ref", RP_K_cast, &to32, 1, &in, 1, NULL);
    call_kernel("ref", RP_K_cast, &to64, 1, &in, 1, NULL);
    call_kernel("ref", RP_K_cast, &to_bool, 1, &in, 1, NULL);
    for (size_t i = 0; i < 10; i++) {
        assert_int_equal(y32[i], narrow[i]);
        assert_true(y64[i] == wide[i]);
        assert_int_equal(truth[i], 1);
    }
    call_kernel("ref", RP_K_cast, &to_real, 1, &ints, 1, NULL);
    for (size_t i = 0; i < 5; i++)
        assert_bits("i64 to f32", i, real[i], rounded[i]);
    to32.shape[0] = 5;
    call_kernel("ref", RP_K_cast, &to32, 1, &ints, 1, NULL);
    assert_int_equal(y32[2], -1);
    assert_int_equal(y32[3], INT32_MIN);
}

static void argmax_takes_the_first_and_nan_is_greatest(void **state)
{
    float x[5][4] = {{1, 3, 3, 2},
                     {-0.0f, 0.0f, -1, -2},
                     {1, NAN32, INF32, NAN32},
                     {-INF32, -INF32, -INF32, -INF32},
                     {-3, -2, -1, -1}};
    const int64_t want[] = {1, 0, 1, 0, 2};
    const rp_attr attr[RP_MAX_ATTR] = {{.i = 1, .n = 1, .list = {1}}};
    rp_view in = view_of(x, RP_F32, 5, 4, -1);
    int64_t y[5];
    float most[5];
    rp_view out = view_of(y, RP_I64, 5, 1, -1), maximum = view_of(most, RP_F32, 5, 1, -1);

    (void)state;
    call_kernel("ref", RP_K_argmax, &out, 1, &in, 1, attr);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(y[i], want[i]);
    call_kernel("ref", RP_K_max, &maximum, 1, &in, 1, attr);
    assert_bits("max", 0, most[0], 3);
    assert_bits("max", 1, most[1], 0.0f);
    assert_bits("max", 2, most[2], NAN32);
    assert_bits("max", 3, most[3], -INF32);
}

static void moving_kernels_put_elements_where_they_belong(void **state)
{
    int32_t x[2][3] = {{1, 2, 3}, {4, 5, 6}}, y[24];
    int64_t index[2] = {2, 0};
    const int32_t padded[] = {0, 0, 0, 0, 0, 1, 2, 3, 0, 4, 5, 6}, joined[] = {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6};
    const int32_t taken[] = {3, 1, 6, 4}, hot[] = {0, 0, 1, 1, 0, 0};
    rp_attr attr[RP_MAX_ATTR] = {{.i = 1, .n = 2, .list = {1, 1}}, {.n = 2, .list = {0, 0}}};
    rp_view in[2] = {view_of(x, RP_I32, 2, 3, -1), view_of(x, RP_I32, 2, 3, -1)};
    rp_view out = view_of(y, RP_I32, 3, 4, -1);

    (void)state;
    call_kernel("ref", RP_K_pad, &out, 1, in, 1, attr);
    assert_memory_equal(y, padded, sizeof padded);
    out = view_of(y, RP_I32, 2, 6, -1);
    call_kernel("ref", RP_K_concat, &out, 1, in, 2, attr);
    assert_memory_equal(y, joined, sizeof joined);
    in[1] = view_of(index, RP_I64, 2, -1);
    out = view_of(y, RP_I32, 2, 2, -1);
    call_kernel("ref", RP_K_gather, &out, 1, in, 2, attr);
    assert_memory_equal(y, taken, sizeof taken);
    out = view_of(y, RP_I32, 2, 3, -1);
    call_kernel("ref", RP_K_one_hot, &out, 1, &in[1], 1, NULL);
    assert_memory_equal(y, hot, sizeof hot);
}

/* Rows of the composites, written again from CONTRACT 7 with rp_sum_f32 in place of the kernels' own lanes. */
enum { N = 70 };
static float g[N], x[N], gamma_[N], beta_[N], y[N], work[N];

static void fill_rows(void)
{
    for (size_t i = 0; i < N; i++) {
        g[i] = rp_uniform_f32(rp_random_u32(1, 0, 0, i)) - 0.5f;
        x[i] = rp_uniform_f32(rp_random_u32(2, 0, 0, i)) * 6 - 3;
        gamma_[i] = rp_uniform_f32(rp_random_u32(3, 0, 0, i)) + 0.5f;
        beta_[i] = rp_uniform_f32(rp_random_u32(4, 0, 0, i));
    }
}

static void row_kernel(rp_kernel_id id, float *a, float *b, float *c, size_t n_in)
{
    const bool vectors = id == RP_K_layer_norm || id == RP_K_layer_norm_grad;
    const rp_attr attr[RP_MAX_ATTR] = {{.r = 0.125}};
    rp_view in[3] = {view_of(a, RP_F32, 1, N, -1), view_of(b, RP_F32, 1, N, -1), view_of(c, RP_F32, N, -1)};
    rp_view out = view_of(y, RP_F32, 1, N, -1);

    if (vectors && id == RP_K_layer_norm)
        in[1] = view_of(b, RP_F32, N, -1);
    call_kernel("ref", id, &out, 1, in, n_in, attr);
}

static void softmax_and_cross_entropy_follow_the_contract(void **state)
{
    float m, s, log_s, d, loss, upstream = 0.75f;
    int32_t label = 11;
    rp_view in[3] = {view_of(x, RP_F32, 1, N, -1), view_of(&label, RP_I32, 1, -1)}, out = view_of(&loss, RP_F32, 1, -1);

    (void)state;
    fill_rows();
    m = x[0];
    for (size_t i = 1; i < N; i++)
        m = x[i] > m ? x[i] : m;
    for (size_t i = 0; i < N; i++)
        work[i] = rp_exp_f32(x[i] - m);
    s = rp_sum_f32(work, N, 1);
    log_s = rp_log_f32(s);

    row_kernel(RP_K_softmax, x, NULL, NULL, 1);
    for (size_t i = 0; i < N; i++)
        assert_bits("softmax", i, y[i], work[i] / s);
    row_kernel(RP_K_log_softmax, x, NULL, NULL, 1);
    for (size_t i = 0; i < N; i++)
        assert_bits("log_softmax", i, y[i], (x[i] - m) - log_s);
    call_kernel("ref", RP_K_cross_entropy, &out, 1, in, 2, NULL);
    assert_bits("cross_entropy", 0, loss, log_s - (x[11] - m));

    in[2] = in[1];
    in[1] = in[0];
    in[0] = view_of(&upstream, RP_F32, 1, -1);
    out = view_of(y, RP_F32, 1, N, -1);
    call_kernel("ref", RP_K_cross_entropy_grad, &out, 1, in, 3, NULL);
    for (size_t i = 0; i < N; i++)
        assert_bits("cross_entropy_grad", i, y[i], upstream * (i == 11 ? work[i] / s - 1 : work[i] / s));

    for (size_t i = 0; i < N; i++)
        work[i] = g[i] * beta_[i];
    d = rp_sum_f32(work, N, 1);
    row_kernel(RP_K_softmax_grad, g, beta_, NULL, 2);
    for (size_t i = 0; i < N; i++)
        assert_bits("softmax_grad", i, y[i], (g[i] - d) * beta_[i]);
    d = rp_sum_f32(g, N, 1);
    row_kernel(RP_K_log_softmax_grad, g, beta_, NULL, 2);
    for (size_t i = 0; i < N; i++)
        assert_bits("log_softmax_grad", i, y[i], g[i] - rp_exp_f32(beta_[i]) * d);
}

static void a_nan_makes_its_row_nan(void **state)
{
    (void)state;
    fill_rows();
    x[33] = NAN32;
    row_kernel(RP_K_softmax, x, NULL, NULL, 1);
    for (size_t i = 0; i < N; i++)
        assert_true(y[i] != y[i]);
}

static void layer_norm_follows_the_contract(void **state)
{
    float mean, r, a, b, h[N], z[N];

    (void)state;
    fill_rows();
    mean = rp_sum_f32(x, N, 1) / (float)N;
    for (size_t i = 0; i < N; i++)
        work[i] = (x[i] - mean) * (x[i] - mean);
    r = 1.0f / sqrtf(rp_sum_f32(work, N, 1) / (float)N + 0.125f);
    row_kernel(RP_K_layer_norm, x, gamma_, beta_, 3);
    for (size_t i = 0; i < N; i++) {
        float product = ((x[i] - mean) * r) * gamma_[i];

        assert_bits("layer_norm", i, y[i], product + beta_[i]);
    }
    for (size_t i = 0; i < N; i++) {
        h[i] = g[i] * gamma_[i];
        z[i] = (x[i] - mean) * r;
        work[i] = h[i] * z[i];
    }
    a = rp_sum_f32(h, N, 1) / (float)N;
    b = rp_sum_f32(work, N, 1) / (float)N;
    row_kernel(RP_K_layer_norm_grad, g, x, gamma_, 3);
    for (size_t i = 0; i < N; i++)
        assert_bits("layer_norm_grad", i, y[i], ((h[i] - a) - z[i] * b) * r);
}

static void activations_follow_the_contract(void **state)
{
    const float root_half = rp_from_bits_f32(0x3F3504F3u), density = rp_from_bits_f32(0x3ECC422Au);

    (void)state;
    fill_rows();
    for (size_t i = 0; i < N; i++) {
        const float e = rp_erf_f32(x[i] * root_half), cdf = 0.5f * (1.0f + e);
        const float p = rp_exp_f32(-0.5f * (x[i] * x[i])) * density, t = beta_[i];
        const float linear = (x[i] > 0 ? x[i] : 0) - x[i] * t;

        assert_bits("gelu", i, unary(RP_K_gelu, x[i]), (0.5f * x[i]) * (1.0f + e));
        assert_bits("gelu_grad", i, binary(RP_K_gelu_grad, g[i], x[i]), g[i] * (cdf + x[i] * p));
        assert_bits("tanh_grad", i, binary(RP_K_tanh_grad, g[i], t), g[i] * (1.0f - t * t));
        assert_bits("sigmoid_grad", i, binary(RP_K_sigmoid_grad, g[i], t), g[i] * (t * (1.0f - t)));
        assert_bits("bce_logits", i, binary(RP_K_bce_logits, x[i], t), linear + rp_log1p_f32(rp_exp_f32(-fabsf(x[i]))));
    }
    assert_bits("bce_logits", N, binary(RP_K_bce_logits, 0, 1), rp_from_bits_f32(0x3F317218u)); /* log 2 */
}

static void dropout_scales_what_its_draws_keep(void **state)
{
    int64_t rng[2] = {99, 5};
    const rp_attr attr[RP_MAX_ATTR] = {{.r = 0.3}, {.i = 4}};
    rp_view in[2] = {view_of(x, RP_F32, N, -1), view_of(rng, RP_I64, 2, -1)}, out = view_of(y, RP_F32, N, -1);
    const float scale = (float)(1.0 / (1.0 - 0.3));
    size_t kept = 0;

    (void)state;
    fill_rows();
    call_kernel("ref", RP_K_dropout, &out, 1, in, 2, attr);
    for (size_t i = 0; i < N; i++) {
        const bool keep = (double)rp_uniform_f32(rp_random_u32(99, 5, 4, i)) >= 0.3;

        kept += keep;
        assert_bits("dropout", i, y[i], keep ? x[i] * scale : 0.0f);
    }
    assert_true(kept > 30 && kept < 66);
}

static void random_fills_follow_the_contract(void **state)
{
    int64_t rng[2] = {99, 5};
    const rp_attr attr[RP_MAX_ATTR] = {{.r = -0.3}, {.r = 1.7}, {.i = 4}};
    double wide[9];
    rp_view in = view_of(rng, RP_I64, 2, -1), out = view_of(y, RP_F32, 9, -1), out64 = view_of(wide, RP_F64, 9, -1);

    (void)state;
    call_kernel("ref", RP_K_uniform, &out, 1, &in, 1, attr);
    call_kernel("ref", RP_K_uniform, &out64, 1, &in, 1, attr);
    for (size_t i = 0; i < 9; i++) {
        const double u = (double)rp_uniform_f32(rp_random_u32(99, 5, 4, i));
        const double u64 = rp_uniform_f64(rp_random_u32(99, 5, 4, 2 * i), rp_random_u32(99, 5, 4, 2 * i + 1));

        assert_bits("uniform", i, y[i], (float)(-0.3 + (1.7 - -0.3) * u));
        assert_true(wide[i] == -0.3 + (1.7 - -0.3) * u64);
    }
    call_kernel("ref", RP_K_normal, &out, 1, &in, 1, attr);
    for (size_t i = 0; i < 9; i++)
        assert_bits("normal", i, y[i], (float)(-0.3 + 1.7 * rp_normal_f64(rp_random_block(99, 5, 4, i))));
}

/* One element through an optimizer: in p, s1, (s2), g, scalars; out p, s1, (s2). */
static void optimize(rp_kernel_id id, float *p, float *s1, float *s2, float grad, const float *scalars,
                     const rp_attr *attr)
{
    rp_view in[7], out[3];
    float held[3] = {scalars[0], scalars[1], scalars[2]};
    size_t n = 0, states = id == RP_K_sgd ? 2 : 3;

    in[n++] = view_of(p, RP_F32, 1, -1);
    in[n++] = view_of(s1, RP_F32, 1, -1);
    if (s2 != NULL)
        in[n++] = view_of(s2, RP_F32, 1, -1);
    for (size_t i = 0; i < states; i++)
        out[i] = in[i];
    in[n++] = view_of(&grad, RP_F32, 1, -1);
    for (size_t i = 0; i < (id == RP_K_adam || id == RP_K_adamw ? 3u : 1u); i++)
        in[n++] = view_of(&held[i], RP_F32, -1);
    call_kernel("ref", id, out, states, in, n, attr);
}

/* Two steps from (p 1, zero state) with gradients 0.5 and -0.25 in exactly representable numbers, worked by hand. */
static void sgd_takes_the_steps_worked_by_hand(void **state)
{
    const rp_attr plain[RP_MAX_ATTR] = {{.r = 0}, {.i = 0}, {.r = 0}};
    const rp_attr heavy[RP_MAX_ATTR] = {{.r = 0.5}, {.i = 0}, {.r = 0.25}};
    const rp_attr nesterov[RP_MAX_ATTR] = {{.r = 0.5}, {.i = 1}, {.r = 0}};
    const float lr[3] = {0.125f};
    float p = 1, m = 0;

    (void)state;
    optimize(RP_K_sgd, &p, &m, NULL, 0.5f, lr, plain);
    assert_bits("sgd p", 0, p, 0.9375f);
    assert_bits("sgd m", 0, m, 0);
    p = 1;
    optimize(RP_K_sgd, &p, &m, NULL, 0.5f, lr, heavy); /* g = 0.75, m = 0.75 */
    assert_bits("sgd p", 1, p, 0.90625f);
    optimize(RP_K_sgd, &p, &m, NULL, -0.25f, lr, heavy); /* g = -0.0234375, m = 0.3515625 */
    assert_bits("sgd m", 2, m, 0.3515625f);
    assert_bits("sgd p", 2, p, 0.8623046875f);
    p = 1, m = 0.5f;
    optimize(RP_K_sgd, &p, &m, NULL, 0.5f, lr, nesterov); /* m = 0.75, d = 0.5 + 0.375 */
    assert_bits("sgd p", 3, p, 0.890625f);
}

static void adam_and_rmsprop_follow_the_contract(void **state)
{
    const double decays[] = {0, 0.01};
    const float lr = 0.001f, c1 = (float)(1 - 0.9), c2 = (float)(1 - 0.999);
    const float scalars[3] = {lr, c1, c2};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        const bool decoupled = i / 2 == 1;
        const float decay = (float)decays[i % 2], grad = 0.3f, p0 = 0.7f, m0 = 0.01f, v0 = 0.02f;
        const rp_attr attr[RP_MAX_ATTR] = {{.r = 0.9}, {.r = 0.999}, {.r = 1e-8}, {.r = decays[i % 2]}};
        const float shrunk = decoupled && decay != 0 ? p0 * (1.0f - lr * decay) : p0;
        const float full = !decoupled && decay != 0 ? grad + decay * p0 : grad;
        const float m1 = 0.9f * m0 + (float)(1.0 - 0.9) * full;
        const float v1 = (float)0.999 * v0 + ((float)(1.0 - 0.999) * full) * full;
        const float root = sqrtf(v1) / sqrtf(c2), step = lr / c1;
        float p = p0, m = m0, v = v0;

        optimize(decoupled ? RP_K_adamw : RP_K_adam, &p, &m, &v, grad, scalars, attr);
        assert_bits("adam m", i, m, m1);
        assert_bits("adam v", i, v, v1);
        assert_bits("adam p", i, p, shrunk - step * (m1 / (root + 1e-8f)));
    }
    for (size_t i = 0; i < 2; i++) {
        const double mu = i == 0 ? 0 : 0.9;
        const rp_attr attr[RP_MAX_ATTR] = {{.r = 0.99}, {.r = 1e-8}, {.r = mu}, {.r = 0.01}};
        const float full = 0.3f + 0.01f * 0.7f, v1 = 0.99f * 0.02f + ((float)(1.0 - 0.99) * full) * full;
        const float d = full / (sqrtf(v1) + 1e-8f), m1 = i == 0 ? 0.01f : 0.9f * 0.01f + d;
        float p = 0.7f, m = 0.01f, v = 0.02f;

        optimize(RP_K_rmsprop, &p, &v, &m, 0.3f, scalars, attr);
        assert_bits("rmsprop v", i, v, v1);
        assert_bits("rmsprop m", i, m, m1);
        assert_bits("rmsprop p", i, p, 0.7f - lr * (i == 0 ? d : m1));
    }
}

static int enter(void **state)
{
    static rp_fpenv saved;

    (void)state;
    return rp_fpenv_enter(&saved, NULL, NULL) == RP_OK ? 0 : -1;
}

/* Where the fast way of wide levels adds terms that nearly cancel, or has only the first: every input there, at every
 * level, against the reference. sin and tan just beyond pi/32, where the table's sine is up to twice the result;
 * logarithms beside 1. */
static void functions_where_terms_cancel_are_those_of_the_reference(void **state)
{
    enum { PART = 1 << 14 };
    static const struct {
        rp_kernel_id id;
        const char *name;
        uint32_t begin, end;
    } ranges[] = {{RP_K_sin, "sin", 0x3DC90000, 0x3DE60000},
                  {RP_K_cos, "cos", 0x3FBC0000, 0x3FBE0000},
                  {RP_K_tan, "tan", 0x3DC90000, 0x3DE60000},
                  {RP_K_log2, "log2", 0x3F7C0000, 0x3F860000},
                  {RP_K_log10, "log10", 0x3F7C0000, 0x3F860000}};
    static float from[PART], want[PART], found[PART];
    rp_view in = view_of(from, RP_F32, (int)PART, -1), expected = view_of(want, RP_F32, (int)PART, -1);
    rp_view out = view_of(found, RP_F32, (int)PART, -1);
    const char *const *level;
    size_t levels = rp_kernel_levels(&level);

    (void)state;
    for (size_t f = 0; f < COUNT(ranges); f++)
        for (uint32_t at = ranges[f].begin; at < ranges[f].end; at += PART) {
            for (uint32_t i = 0; i < PART; i++)
                from[i] = rp_from_bits_f32(at + i);
            call_kernel("ref", ranges[f].id, &expected, 1, &in, 1, NULL);
            for (size_t l = 1; l < levels; l++) {
                call_kernel(level[l], ranges[f].id, &out, 1, &in, 1, NULL);
                for (size_t i = 0; i < PART; i++)
                    if (rp_bits_f32(found[i]) != rp_bits_f32(want[i]))
                        fail_msg("%s, %s of %a: expected %a, found %a", level[l], ranges[f].name, (double)from[i],
                                 (double)want[i], (double)found[i]);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_where_terms_cancel_are_those_of_the_reference),
        cmocka_unit_test(maximum_and_minimum_order_zeros_and_keep_nan),
        cmocka_unit_test(relu_drops_minus_zero_and_keeps_nan),
        cmocka_unit_test(signs_and_roots_follow_ieee),
        cmocka_unit_test(integers_wrap),
        cmocka_unit_test(comparisons_with_nan_are_false_but_not_equal),
        cmocka_unit_test(casts_truncate_saturate_and_wrap),
        cmocka_unit_test(argmax_takes_the_first_and_nan_is_greatest),
        cmocka_unit_test(moving_kernels_put_elements_where_they_belong),
        cmocka_unit_test(softmax_and_cross_entropy_follow_the_contract),
        cmocka_unit_test(a_nan_makes_its_row_nan),
        cmocka_unit_test(layer_norm_follows_the_contract),
        cmocka_unit_test(activations_follow_the_contract),
        cmocka_unit_test(dropout_scales_what_its_draws_keep),
        cmocka_unit_test(random_fills_follow_the_contract),
        cmocka_unit_test(sgd_takes_the_steps_worked_by_hand),
        cmocka_unit_test(adam_and_rmsprop_follow_the_contract),
    };

    return cmocka_run_group_tests(tests, enter, NULL);
}
