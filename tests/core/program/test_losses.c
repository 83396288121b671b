/* SPDX-License-Identifier: Apache-2.0
 * Losses, activations and the other calls that are written in operations: values and gradients beside PyTorch's in
 * binary64 (torch_facts.def), predicates and integers by hand, and two optimizers beside their formulas. */
#include <math.h>

#include "rp/composite.h"
#include "rp/loss.h"
#include "rp/optimizer.h"
#include "tests/core/program/eager_step.h"

enum { MOST = 16 };

/* ---- the operands of torch_facts.py ---- */

static rp_tensor operand_of(rp_run *run, size_t seed, size_t rows, size_t cols, double scale)
{
    double x[MOST];

    for (size_t k = 0; k < rows * cols; k++)
        x[k] = ((double)((29 * k * k + (37 + 5 * seed) * k + 11 * seed) % 64) / 32 - 0.97) * scale;
    return put(run, RP_F64, SHAPE(rows, cols), x);
}

static rp_tensor given(rp_run *run, size_t seed)
{
    return operand_of(run, seed, 4, 3, 1);
}

static rp_tensor wide(rp_run *run)
{
    return operand_of(run, 6, 4, 4, 4);
}

static rp_tensor counts(rp_run *run)
{
    double x[12];

    for (int k = 0; k < 12; k++)
        x[k] = k % 5;
    return put(run, RP_F64, SHAPE(4, 3), x);
}

static rp_tensor signs(rp_run *run)
{
    rp_tensor x = given(run, 5), zero = rp_scale(x, 0), above = rp_gt(x, zero);
    rp_tensor one = rp_add_scalar(zero, 1), less = rp_add_scalar(zero, -1);

    return rp_where(above, one, less);
}

static rp_tensor row_signs(rp_run *run)
{
    return put(run, RP_F64, SHAPE(4), (double[]){1, -1, -1, 1});
}

static rp_tensor labels(rp_run *run, int64_t second)
{
    return put(run, RP_I64, SHAPE(4), (int64_t[]){0, second, 1, 2});
}

static rp_tensor weight(rp_run *run)
{
    return put(run, RP_F64, SHAPE(3), (double[]){0.5, 2, 0.75});
}

static rp_tensor divisors(rp_run *run)
{
    return put(run, RP_F64, SHAPE(4), (double[]){0.7, -0.7, 1.3, -0.3});
}

/* ---- the calls: f of x, and of whatever else ---- */

#define B given(run, 2)
#define LAST (const int[]){1}, 1
#define OPTIONS(...) \
    &(rp_class_options) \
    { \
        __VA_ARGS__ \
    }
#define IGNORE .ignore = true, .ignore_index = -100

typedef struct fact {
    const char *name;
    rp_tensor (*call)(rp_run *run, rp_tensor x);
    double values[MOST + 1], gradient[MOST + 1];
} fact;

#define CALL(name, ...) \
    static rp_tensor call_##name(rp_run *run, rp_tensor x) \
    { \
        (void)run; \
        return __VA_ARGS__; \
    }
CALL(mse_sum, rp_mse_loss(x, B, RP_REDUCE_SUM))
CALL(l1_mean, rp_l1_loss(x, B, RP_REDUCE_MEAN))
CALL(huber, rp_huber_loss(x, B, 0.4, RP_REDUCE_MEAN))
CALL(smooth_l1, rp_smooth_l1_loss(x, B, 0.4, RP_REDUCE_MEAN))
CALL(bce, rp_bce_loss(x, rp_sigmoid(B), RP_REDUCE_MEAN))
CALL(bce_positive, rp_bce_with_logits_loss(x, rp_sigmoid(B), weight(run), RP_REDUCE_MEAN))
CALL(kl_batch, rp_kl_div_loss(rp_log_softmax(x), rp_softmax(B), false, RP_REDUCE_BATCH))
CALL(kl_log, rp_kl_div_loss(rp_log_softmax(x), rp_log_softmax(B), true, RP_REDUCE_SUM))
CALL(poisson_log, rp_poisson_nll_loss(x, counts(run), true, true, 0, RP_REDUCE_MEAN))
CALL(poisson, rp_poisson_nll_loss(x, counts(run), false, false, 1e-8, RP_REDUCE_MEAN))
CALL(gaussian, rp_gaussian_nll_loss(x, B, rp_square(given(run, 3)), false, 0.01, RP_REDUCE_MEAN))
CALL(gaussian_full, rp_gaussian_nll_loss(x, B, rp_square(given(run, 3)), true, 0.01, RP_REDUCE_NONE))
CALL(soft_margin, rp_soft_margin_loss(x, signs(run), RP_REDUCE_MEAN))
CALL(hinge_embedding, rp_hinge_embedding_loss(x, signs(run), 0.7, RP_REDUCE_MEAN))
CALL(margin_ranking, rp_margin_ranking_loss(x, B, signs(run), 0.3, RP_REDUCE_MEAN))
CALL(cosine_similarity, rp_cosine_similarity(x, B, 1, 1e-8))
CALL(cosine_embedding, rp_cosine_embedding_loss(x, B, row_signs(run), 0.1, RP_REDUCE_MEAN))
CALL(triplet, rp_triplet_margin_loss(x, B, given(run, 3), 0.5, RP_REDUCE_MEAN))
CALL(info_nce, rp_info_nce_loss(x, B, 0.5, RP_REDUCE_MEAN))
CALL(nll, rp_nll_loss(rp_log_softmax(x), labels(run, 2), OPTIONS(.weight = weight(run))))
CALL(entropy, rp_cross_entropy_loss(x, labels(run, 2), NULL))
CALL(entropy_weighted, rp_cross_entropy_loss(x, labels(run, 2), OPTIONS(.weight = weight(run))))
CALL(entropy_ignored, rp_cross_entropy_loss(x, labels(run, -100), OPTIONS(IGNORE)))
CALL(entropy_smooth, rp_cross_entropy_loss(x, labels(run, 2), OPTIONS(.smoothing = 0.1)))
CALL(entropy_all, rp_cross_entropy_loss(x, labels(run, -100), OPTIONS(IGNORE, .weight = weight(run), .smoothing = 0.1)))
CALL(entropy_rows,
     rp_cross_entropy_loss(x, labels(run, -100),
                           OPTIONS(IGNORE, .weight = weight(run), .smoothing = 0.1, .reduction = RP_REDUCE_NONE)))
CALL(clamp, rp_clamp(x, -0.3, 0.5))
CALL(xlogy, rp_xlogy(x, rp_sigmoid(given(run, 4))))
CALL(asinh, rp_asinh(x))
CALL(acosh, rp_acosh(x))
CALL(atanh, rp_atanh(rp_scale(x, 0.9)))
CALL(hardsigmoid, rp_hardsigmoid(x))
CALL(hardswish, rp_hardswish(x))
CALL(mish, rp_mish(x))
CALL(selu, rp_selu(x))
CALL(celu, rp_celu(x, 0.75))
CALL(softsign, rp_softsign(x))
CALL(logsigmoid, rp_logsigmoid(x))
CALL(tanhshrink, rp_tanhshrink(x))
CALL(softshrink, rp_softshrink(x, 0.6))
CALL(hardshrink, rp_hardshrink(x, 0.6))
CALL(threshold, rp_threshold(x, 0.2, -1.5))
CALL(prelu, rp_prelu(x, put(run, RP_F64, SHAPE(1), (double[]){0.25})))
CALL(gelu_tanh, rp_gelu_tanh(x))
CALL(glu, rp_glu(x, 1))
CALL(std, rp_std(x, LAST, 1, false))
CALL(norm_1, rp_norm(x, 1, LAST, false))
CALL(norm_3, rp_norm(x, 3, LAST, false))
CALL(norm_most, rp_norm(x, INFINITY, LAST, false))
CALL(prod, rp_prod(x, LAST, false))
CALL(cumprod, rp_cumprod(x, 1, false))
CALL(fmod, rp_fmod(x, divisors(run)))
CALL(remainder, rp_remainder(x, divisors(run)))

#define VALUES(...) \
    { \
        __VA_ARGS__, NAN \
    }
#define GRADIENT VALUES
#define FACT(name, values, gradient) {#name, call_##name, values, gradient},
static const fact facts[] = {
#include "tests/core/program/torch_facts.def"
};

/* By name, what x is; else the first operand of the facts. */
static rp_tensor operand_for(rp_run *run, const char *name, size_t n)
{
    if (strcmp(name, "xlogy") == 0)
        return counts(run);
    if (strcmp(name, "bce") == 0 || strcmp(name, "poisson") == 0)
        return rp_sigmoid(given(run, 4));
    if (strcmp(name, "acosh") == 0)
        return rp_add_scalar(rp_square(wide(run)), 1.25);
    return n == 16 ? wide(run) : given(run, 1);
}

static size_t length(const double *list)
{
    size_t n = 0;

    while (n < MOST && !isnan(list[n]))
        n++;
    return n;
}

/* The two sum in different orders. */
static void assert_close(rp_run *run, const char *name, const char *what, rp_tensor y, const double *expected)
{
    const size_t n = length(expected);
    double found[MOST];
    rp_error err = {0};

    if (rp_read(run, y, found, n * sizeof *found, &err) != RP_OK)
        fail_msg("%s: %s: %s", name, what, err.text);
    for (size_t i = 0; i < n; i++)
        if (!(fabs(found[i] - expected[i]) <= 1e-12 * (1 + fabs(expected[i]))))
            fail_msg("%s: %s %zu: expected %.17g, found %.17g", name, what, i, expected[i], found[i]);
}

static void calls_have_the_values_and_gradients_of_pytorch(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(facts); i++) {
        rp_run *run = step_new();
        rp_tensor x = operand_for(run, facts[i].name, length(facts[i].gradient)), y = facts[i].call(run, x), g;

        rp_gradients(rp_sum(y, NULL, 0, false), &x, 1, &g);
        assert_close(run, facts[i].name, "value", y, facts[i].values);
        assert_close(run, facts[i].name, "gradient", g, facts[i].gradient);
        rp_run_free(run);
    }
}

/* ---- by hand ---- */

static void predicates_know_infinities_and_nans(void **state)
{
    rp_run *run = step_new();
    rp_tensor x = put_f32(run, SHAPE(4), (float[]){INFINITY, NAN, -INFINITY, -3.4e38F});
    rp_tensor k = put(run, RP_I32, SHAPE(2), (int32_t[]){0, INT32_MIN});

    (void)state;
    assert_values(run, rp_isnan(x), RP_BOOL, SHAPE(4), (unsigned char[]){0, 1, 0, 0});
    assert_values(run, rp_isinf(x), RP_BOOL, SHAPE(4), (unsigned char[]){1, 0, 1, 0});
    assert_values(run, rp_isfinite(x), RP_BOOL, SHAPE(4), (unsigned char[]){0, 0, 0, 1});
    assert_values(run, rp_isfinite(k), RP_BOOL, SHAPE(2), (unsigned char[]){1, 1});
    assert_values(run, rp_isinf(k), RP_BOOL, SHAPE(2), (unsigned char[]){0, 0});
    rp_run_free(run);
}

static void lengths_of_zero_have_no_gradient(void **state)
{
    static const double powers[] = {2, 3, 1.5, 0.5, 1};

    (void)state;
    for (size_t i = 0; i <= COUNT(powers); i++) {
        rp_run *run = step_new();
        rp_tensor x = put_f32(run, SHAPE(2, 3), (float[]){0, 0, 0, 0, 0, 4}), y, g;

        y = i == COUNT(powers) ? rp_std(x, LAST, 0, false) : rp_norm(x, powers[i], LAST, false);
        rp_gradients(rp_sum(y, NULL, 0, false), &x, 1, &g);
        if (i == COUNT(powers)) { /* of the mean, 4/3, and the deviation, 4 sqrt(2)/3 */
            g = rp_slice(g, (size_t[]){0, 0}, (size_t[]){1, 3});
            assert_values(run, g, RP_F32, SHAPE(1, 3), (float[]){0, 0, 0});
            assert_values(run, rp_slice(y, (size_t[]){0}, (size_t[]){1}), RP_F32, SHAPE(1), (float[]){0});
        } else {
            assert_values(run, y, RP_F32, SHAPE(2), (float[]){0, 4});
            if (powers[i] == 2)
                assert_values(run, g, RP_F32, SHAPE(2, 3), (float[]){0, 0, 0, 0, 0, 1});
            g = rp_slice(g, (size_t[]){0, 0}, (size_t[]){1, 3});
            if (powers[i] != 1)
                assert_values(run, g, RP_F32, SHAPE(1, 3), (float[]){0, 0, 0});
        }
        rp_run_free(run);
    }
}

static void inverse_hyperbolic_functions_reach_the_ends(void **state)
{
    rp_run *run = step_new();
    rp_tensor x = put_f32(run, SHAPE(5), (float[]){3e38F, -3e38F, INFINITY, NAN, 0x1p28F}), g;

    (void)state; /* log(6e38), log(2^29) */
    assert_values(run, rp_asinh(x), RP_F32, SHAPE(5), (float[]){89.28999F, -89.28999F, INFINITY, NAN, 20.101269F});
    rp_gradients(rp_sum(rp_asinh(x), NULL, 0, false), &x, 1, &g);
    assert_values(run, rp_slice(g, (size_t[]){2}, (size_t[]){3}), RP_F32, SHAPE(1), (float[]){0});
    x = put_f32(run, SHAPE(4), (float[]){3e38F, INFINITY, 1, 0.5F});
    assert_values(run, rp_acosh(x), RP_F32, SHAPE(4), (float[]){89.28999F, INFINITY, 0, NAN});
    rp_run_free(run);
}

static void losses_of_integers_are_refused(void **state)
{
    rp_run *run = step_new();
    rp_tensor k = put(run, RP_I32, SHAPE(2), (int32_t[]){0, 3});
    rp_error err = {0};

    (void)state;
    assert_int_equal(rp_read(run, rp_huber_loss(k, k, 0.5, RP_REDUCE_SUM), &(int32_t){0}, 4, &err), RP_ESHAPE);
    assert_non_null(strstr(err.text, "expected f32 or f64"));
    rp_run_free(run);
}

static void whole_axes_are_asked(void **state)
{
    rp_run *run = step_new();
    rp_tensor x = put(run, RP_I32, SHAPE(2, 3), (int32_t[]){0, 7, -1, 0, 0, 0}), least, most;

    (void)state;
    assert_values(run, rp_any(x, AXES(1), false), RP_BOOL, SHAPE(2), (unsigned char[]){1, 0});
    assert_values(run, rp_all(x, AXES(0), true), RP_BOOL, SHAPE(1, 3), (unsigned char[]){0, 0, 0});
    assert_values(run, rp_count_nonzero(x, AXES(1), false), RP_I64, SHAPE(2), (int64_t[]){2, 0});
    rp_aminmax(x, AXES(1), false, &least, &most);
    assert_values(run, least, RP_I32, SHAPE(2), (int32_t[]){-1, 0});
    assert_values(run, most, RP_I32, SHAPE(2), (int32_t[]){7, 0});
    rp_run_free(run);
}

static void reals_are_rounded_and_divided_exactly(void **state)
{
    rp_run *run = step_new();
    rp_tensor x = put_f32(run, SHAPE(6), (float[]){-0.5F, 0.5F, 1.5F, -2.5F, 8388609.0F, -0.0F});
    rp_tensor a = put_f32(run, SHAPE(5), (float[]){-7, 7, 3e38F, 1e-45F, 5});
    rp_tensor b = put_f32(run, SHAPE(5), (float[]){3, -3, 1e-45F, INFINITY, 0});

    (void)state;
    assert_values(run, rp_floor(x), RP_F32, SHAPE(6), (float[]){-1, 0, 1, -3, 8388609.0F, -0.0F});
    assert_values(run, rp_ceil(x), RP_F32, SHAPE(6), (float[]){-0.0F, 1, 2, -2, 8388609.0F, -0.0F});
    assert_values(run, rp_round(x), RP_F32, SHAPE(6), (float[]){-0.0F, 0, 2, -2, 8388609.0F, -0.0F});
    assert_values(run, rp_trunc(x), RP_F32, SHAPE(6), (float[]){-0.0F, 0, 1, -2, 8388609.0F, -0.0F});
    assert_values(run, rp_sign(x), RP_F32, SHAPE(6), (float[]){-1, 1, 1, -1, 1, -0.0F});
    assert_values(run, rp_fmod(a, b), RP_F32, SHAPE(5), (float[]){-1, 1, 0, 1e-45F, NAN});
    assert_values(run, rp_remainder(a, b), RP_F32, SHAPE(5), (float[]){2, -2, 0, 1e-45F, NAN});
    assert_values(run, rp_reciprocal(x), RP_F32, SHAPE(6),
                  (float[]){-2, 2, 1 / 1.5F, 1 / -2.5F, 1 / 8388609.0F, -INFINITY});
    rp_run_free(run);
}

static void integers_divide_and_shift_by_the_rules(void **state)
{
    rp_run *run = step_new();
    rp_tensor a = put(run, RP_I32, SHAPE(6), (int32_t[]){-7, 7, INT32_MIN, 5, -5, -8});
    rp_tensor b = put(run, RP_I32, SHAPE(6), (int32_t[]){2, -2, -1, 0, 33, 1});

    (void)state;
    assert_values(run, rp_div_trunc(a, b), RP_I32, SHAPE(6), (int32_t[]){-3, -3, INT32_MIN, 0, 0, -8});
    assert_values(run, rp_div_floor(a, b), RP_I32, SHAPE(6), (int32_t[]){-4, -4, INT32_MIN, 0, -1, -8});
    assert_values(run, rp_fmod(a, b), RP_I32, SHAPE(6), (int32_t[]){-1, 1, 0, 5, -5, 0});
    assert_values(run, rp_remainder(a, b), RP_I32, SHAPE(6), (int32_t[]){1, -1, 0, 5, 28, 0});
    assert_values(run, rp_shift_left(a, b), RP_I32, SHAPE(6), (int32_t[]){-28, 0, 0, 5, 0, -16});
    assert_values(run, rp_shift_right(a, b), RP_I32, SHAPE(6), (int32_t[]){-2, 0, -1, 5, -1, -4});
    assert_values(run, rp_bitwise_and(a, b), RP_I32, SHAPE(6), (int32_t[]){0, 6, INT32_MIN, 0, 33, 0});
    assert_values(run, rp_bitwise_or(a, b), RP_I32, SHAPE(6), (int32_t[]){-5, -1, -1, 5, -5, -7});
    assert_values(run, rp_bitwise_xor(a, b), RP_I32, SHAPE(6), (int32_t[]){-5, -7, INT32_MAX, 5, -38, -7});
    assert_values(run, rp_bitwise_not(a), RP_I32, SHAPE(6), (int32_t[]){6, -8, INT32_MAX, -6, 4, 7});
    assert_values(run, rp_floor_divide(a, b), RP_I32, SHAPE(6), (int32_t[]){-4, -4, INT32_MIN, 0, -1, -8});
    assert_values(run, rp_clamp(a, -6, INFINITY), RP_I32, SHAPE(6), (int32_t[]){-6, 7, -6, 5, -5, -6});
    rp_run_free(run);
}

/* ---- where a formula's parts have no slope ---- */

static void assert_gradient(rp_run *run, rp_tensor y, rp_tensor x, const double *expected)
{
    rp_tensor g;

    rp_gradients(rp_sum(y, NULL, 0, false), &x, 1, &g);
    assert_close(run, "end points", "gradient", g, expected);
}

/* The logarithm that is -100 passes nothing, the other one its slope. */
static void cross_entropy_of_certainties_has_a_gradient(void **state)
{
    static const double values[] = {0, 0, 100, 100, 0.69314718055994531, NAN}, gradient[] = {1, -1, 0, 0, -2, NAN};
    rp_run *run = step_new();
    rp_tensor p = put(run, RP_F64, SHAPE(5), (double[]){0, 1, 0, 1, 0.5});
    rp_tensor t = put(run, RP_F64, SHAPE(5), (double[]){0, 1, 1, 0, 1}), y = rp_bce_loss(p, t, RP_REDUCE_NONE);

    (void)state;
    assert_close(run, "bce", "value", y, values);
    assert_gradient(run, y, p, gradient);
    rp_run_free(run);
}

/* At 0, and far out, where a part of the formula overflows. */
static void activations_have_their_slope_at_zero_and_far_out(void **state)
{
    static const double ones[] = {1, 1, NAN}, celu[] = {1, 1, 1, 0, NAN}, far[] = {1, 1, 1e-200, 1e-200, NAN};
    rp_run *run = step_new();
    rp_tensor zero = put(run, RP_F64, SHAPE(2), (double[]){0, -0.0});
    rp_tensor wide_x = put(run, RP_F64, SHAPE(4), (double[]){0, -0.0, 1e5, -1e5});
    rp_tensor big = put(run, RP_F64, SHAPE(4), (double[]){0, -0.0, 1e200, -1e200});

    (void)state;
    assert_gradient(run, rp_asinh(zero), zero, ones);
    assert_gradient(run, rp_atanh(zero), zero, ones);
    assert_gradient(run, rp_celu(wide_x, 0.75), wide_x, celu);
    assert_gradient(run, rp_asinh(big), big, far);
    rp_run_free(run);
}

/* A length below eps counts as eps, and passes nothing. */
static void cosine_similarity_of_zero_vectors_has_a_gradient(void **state)
{
    static const double values[] = {0, 0, 1, NAN}, by_a[] = {0.6e8, 0.8e8, 0, 0, 0, 0, NAN};
    rp_run *run = step_new();
    rp_tensor a = put(run, RP_F64, SHAPE(3, 2), (double[]){0, 0, 0, 0, 3, 4});
    rp_tensor b = put(run, RP_F64, SHAPE(3, 2), (double[]){3, 4, 0, 0, 6, 8}), y = rp_cosine_similarity(a, b, 1, 1e-8);

    (void)state;
    assert_close(run, "cosine", "value", y, values);
    assert_gradient(run, y, a, by_a);
    rp_run_free(run);
}

/* ---- optimizers ---- */

/* One step of LAMB from m = v = 0: the direction is that of sign(g), its length the parameter's. */
static void lamb_steps_by_the_length_of_the_parameter(void **state)
{
    rp_run *run = step_new();
    rp_tensor p = put(run, RP_F64, SHAPE(2), (double[]){3, 4}), g = put(run, RP_F64, SHAPE(2), (double[]){0.5, -2});
    rp_tensor m = put(run, RP_F64, SHAPE(2), (double[]){0, 0}), v = m, lr = put(run, RP_F64, 0, NULL, (double[]){0.1});
    rp_tensor c1 = put(run, RP_F64, 0, NULL, (double[]){0.1}), c2 = put(run, RP_F64, 0, NULL, (double[]){0.01});
    double found[2];

    (void)state;
    p = rp_lamb(p, &m, &v, g, lr, c1, c2, &(rp_lamb_options){.beta1 = 0.9, .beta2 = 0.99});
    assert_int_equal(rp_read(run, p, found, sizeof found, NULL), RP_OK);
    assert_true(fabs(found[0] - (3 - 0.1 * 5 / sqrt(2))) < 1e-12);
    assert_true(fabs(found[1] - (4 + 0.1 * 5 / sqrt(2))) < 1e-12);
    rp_run_free(run);
}

/* Without options a step has the usual ones. */
static void optimizers_have_usual_numbers(void **state)
{
    static const rp_adam_options adam = {.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8};
    static const rp_lamb_options lamb = {.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-6};
    rp_run *run = step_new();
    rp_tensor p = put(run, RP_F64, SHAPE(2), (double[]){3, 4}), g = put(run, RP_F64, SHAPE(2), (double[]){5e-8, -2});
    rp_tensor zero = put(run, RP_F64, SHAPE(2), (double[]){0, 0}), one = put(run, RP_F64, 0, NULL, (double[]){1});
    rp_tensor m[4] = {zero, zero, zero, zero}, v[4] = {zero, zero, zero, zero}, stepped[4];
    double found[4][2];

    (void)state;
    stepped[0] = rp_adam(p, &m[0], &v[0], g, one, one, one, NULL);
    stepped[1] = rp_adam(p, &m[1], &v[1], g, one, one, one, &adam);
    stepped[2] = rp_lamb(p, &m[2], &v[2], g, one, one, one, NULL);
    stepped[3] = rp_lamb(p, &m[3], &v[3], g, one, one, one, &lamb);
    for (int i = 0; i < 4; i++)
        assert_int_equal(rp_read(run, stepped[i], found[i], sizeof found[i], NULL), RP_OK);
    assert_memory_equal(found[0], found[1], sizeof found[0]);
    assert_memory_equal(found[2], found[3], sizeof found[2]);
    assert_true(found[0][0] != found[2][0]);
    rp_run_free(run);
}

/* The step has singular values near 1 whatever those of the gradient are: here its rows are orthogonal, of lengths 8
 * and 0.5, and stay so. A tall matrix steps as its transpose does, times sqrt(rows / columns). */
static void muon_steps_are_nearly_orthogonal(void **state)
{
    static const double wide_g[6] = {8, 0, 0, 0, 0.3, 0.4}, tall_g[6] = {8, 0, 0, 0.3, 0, 0.4};
    double wide_step[6], tall_step[6];
    rp_run *run = step_new();
    rp_tensor lr = put(run, RP_F64, 0, NULL, (double[]){-1}), m, p;

    (void)state;
    m = rp_scale(put(run, RP_F64, SHAPE(2, 3), wide_g), 0);
    p = rp_muon(m, &m, put(run, RP_F64, SHAPE(2, 3), wide_g), lr, 0.95, true, 0);
    assert_int_equal(rp_read(run, p, wide_step, sizeof wide_step, NULL), RP_OK);
    m = rp_scale(put(run, RP_F64, SHAPE(3, 2), tall_g), 0);
    p = rp_muon(m, &m, put(run, RP_F64, SHAPE(3, 2), tall_g), lr, 0.95, true, 0);
    assert_int_equal(rp_read(run, p, tall_step, sizeof tall_step, NULL), RP_OK);
    for (int row = 0; row < 2; row++) {
        const double *x = wide_step + 3 * row, size = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);

        if (!(size > 0.6 && size < 1.3))
            fail_msg("row %d of the step has length %g, expected about 1", row, size);
        for (int k = 0; k < 3; k++)
            assert_true(fabs(tall_step[2 * k + row] - sqrt(1.5) * x[k]) < 1e-12);
    }
    assert_true(fabs(wide_step[4] / wide_step[5] - 0.75) < 1e-12);
    rp_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_have_the_values_and_gradients_of_pytorch),
        cmocka_unit_test(predicates_know_infinities_and_nans),
        cmocka_unit_test(lengths_of_zero_have_no_gradient),
        cmocka_unit_test(inverse_hyperbolic_functions_reach_the_ends),
        cmocka_unit_test(losses_of_integers_are_refused),
        cmocka_unit_test(whole_axes_are_asked),
        cmocka_unit_test(reals_are_rounded_and_divided_exactly),
        cmocka_unit_test(integers_divide_and_shift_by_the_rules),
        cmocka_unit_test(cross_entropy_of_certainties_has_a_gradient),
        cmocka_unit_test(activations_have_their_slope_at_zero_and_far_out),
        cmocka_unit_test(cosine_similarity_of_zero_vectors_has_a_gradient),
        cmocka_unit_test(lamb_steps_by_the_length_of_the_parameter),
        cmocka_unit_test(optimizers_have_usual_numbers),
        cmocka_unit_test(muon_steps_are_nearly_orthogonal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
