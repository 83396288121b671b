/* SPDX-License-Identifier: Apache-2.0
 * Operations on images: values worked out by hand, a small network against finite differences, and every attribute that
 * a kernel could not take, as a program from an archive would bring it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/run/run.h"
#include "determinism/bits.h"
#include "rp/rp.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define SHAPE(...) \
    (int)COUNT(((size_t[]){__VA_ARGS__})), (size_t[]) \
    { \
        __VA_ARGS__ \
    }

static const rp_tensor none;

static rp_run *step_new(void)
{
    rp_run *run = NULL;
    rp_error err = {0};

    if (rp_run_new(&run, &(rp_run_options){.threads = 1}, &err) != RP_OK)
        fail_msg("%s", err.text);
    assert_int_equal(rp_step_begin(run, NULL), RP_OK);
    return run;
}

static rp_tensor put(rp_run *run, int rank, const size_t *shape, const double *x)
{
    static unsigned n;
    char name[24];

    snprintf(name, sizeof name, "t%u", n++);
    return rp_feed(run, name, RP_F64, rank, shape, x);
}

static void assert_image(rp_run *run, rp_tensor x, int rank, const size_t *shape, const double *expected)
{
    rp_type type = {.dtype = RP_F64, .rank = rank}, found = {0};
    double values[64];
    rp_error err = {0};
    size_t at;

    memcpy(type.shape, shape, (size_t)rank * sizeof *shape);
    if (!rp_shape_of(x, &found.dtype, &found.rank, found.shape)) {
        (void)rp_graph_status(rp_step_graph(run), &err);
        fail_msg("%s", err.text);
    }
    if (!rp_type_equal(&type, &found)) {
        char text[192];

        rp_type_text(&found, text, sizeof text);
        fail_msg("found %s", text);
    }
    assert_true(rp_type_bytes(&type) <= sizeof values);
    assert_int_equal(rp_read(run, x, values, rp_type_bytes(&type), NULL), RP_OK);
    at = rp_first_difference(values, expected, RP_F64, rp_type_count(&type));
    if (at < rp_type_count(&type))
        fail_msg("element %zu: expected %g, found %g", at, expected[at], values[at]);
}

/* ---- values ---- */

static void convolutions_compute_their_formulas(void **state)
{
    rp_run *run = step_new();
    rp_tensor x = put(run, SHAPE(1, 3, 3, 1), (double[]){1, 2, 3, 4, 5, 6, 7, 8, 9});
    rp_tensor w = put(run, SHAPE(2, 2, 1, 1), (double[]){1, 0, 0, -1}), half = put(run, SHAPE(1), (double[]){0.5});
    rp_tensor pair = put(run, SHAPE(1, 1, 2, 2), (double[]){1, 2, 3, 4});
    rp_tensor each = put(run, SHAPE(1, 2, 1, 2), (double[]){1, 10, 100, 1000});
    rp_tensor pulse = put(run, SHAPE(1, 3, 3, 1), (double[]){0, 0, 0, 0, 1, 0, 0, 0, 0});
    rp_tensor taps = put(run, SHAPE(3, 3, 1, 1), (double[]){1, 2, 3, 4, 5, 6, 7, 8, 9});
    rp_tensor nobody = put(run, SHAPE(0, 3, 3, 1), NULL), grad[2], y;

    (void)state;
    assert_image(run, rp_conv2d(x, w, none, 1, NULL), SHAPE(1, 2, 2, 1), (double[]){-4, -4, -4, -4});
    assert_image(run, rp_conv2d(x, w, half, 1, &(rp_placement){0}), SHAPE(1, 2, 2, 1),
                 (double[]){-3.5, -3.5, -3.5, -3.5});
    assert_image(run, rp_conv2d(x, w, none, 1, &(rp_placement){.stride = {2, 2}, .padding = {0, 0, 1, 1}}),
                 SHAPE(1, 2, 2, 1), (double[]){-4, 3, 7, 9});
    assert_image(run, rp_conv2d(x, w, none, 1, &(rp_placement){.dilation = {2, 2}}), SHAPE(1, 1, 1, 1), (double[]){-8});
    assert_image(
        run, rp_conv2d(x, w, none, 1, &(rp_placement){.dilation = {1, 2}, .stride = {1, 5}, .padding = {1, 0, 0, 0}}),
        SHAPE(1, 3, 1, 1), (double[]){-3, 1 - 6, 4 - 9});
    y = rp_conv2d_winograd(pulse, taps, half, &(rp_placement){.padding = {1, 1, 1, 1}});
    y = rp_cast(y, RP_F32); /* away with the rounding errors of minimal filtering */
    assert_image(run, rp_cast(y, RP_F64), SHAPE(1, 3, 3, 1), (double[]){9.5, 8.5, 7.5, 6.5, 5.5, 4.5, 3.5, 2.5, 1.5});
    assert_image(run, rp_conv2d(pair, each, none, 2, NULL), SHAPE(1, 1, 1, 2), (double[]){301, 4020});
    y = rp_sum(rp_conv2d(nobody, w, half, 1, NULL), NULL, 0, false);
    rp_gradients(y, (rp_tensor[]){w, nobody}, 2, grad);
    assert_image(run, grad[0], SHAPE(2, 2, 1, 1), (double[4]){0});
    assert_int_equal(rp_step_end(run, NULL), RP_OK);
    rp_run_free(run);
}

static void a_row_is_an_image_of_height_one(void **state)
{
    rp_run *run = step_new();
    rp_tensor x = put(run, SHAPE(1, 4, 1), (double[]){1, 2, 3, 4}), w = put(run, SHAPE(2, 1, 1), (double[]){1, 2});
    rp_tensor ten = put(run, SHAPE(1), (double[]){10});

    (void)state;
    assert_image(run, rp_conv1d(x, w, none, 1, NULL), SHAPE(1, 3, 1), (double[]){5, 8, 11});
    assert_image(run, rp_conv1d(x, w, ten, 1, &(rp_placement){.stride = {0, 2}, .padding = {0, 1, 0, 0}}),
                 SHAPE(1, 2, 1), (double[]){12, 18});
    assert_image(run, rp_conv1d(x, w, none, 1, &(rp_placement){.dilation = {0, 3}}), SHAPE(1, 1, 1), (double[]){9});
    assert_int_equal(rp_step_end(run, NULL), RP_OK);
    rp_run_free(run);
}

static void pooling_and_batch_norm_compute_their_formulas(void **state)
{
    static const rp_placement padded = {.stride = {2, 2}, .padding = {1, 1, 1, 1}};
    rp_run *run = step_new();
    rp_tensor x = put(run, SHAPE(1, 4, 4, 1), (double[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
    rp_tensor v = put(run, SHAPE(2, 1), (double[]){1, 3}), one = put(run, SHAPE(1), (double[]){1});
    rp_tensor two = put(run, SHAPE(1), (double[]){2}), four = put(run, SHAPE(1), (double[]){4}), mean, var;

    (void)state;
    assert_image(run, rp_max_pool2d(x, 2, 2, NULL), SHAPE(1, 2, 2, 1), (double[]){5, 7, 13, 15});
    assert_image(run, rp_avg_pool2d(x, 2, 2, NULL), SHAPE(1, 2, 2, 1), (double[]){2.5, 4.5, 10.5, 12.5});
    assert_image(run, rp_max_pool2d(x, 3, 3, &padded), SHAPE(1, 2, 2, 1), (double[]){5, 7, 13, 15});
    assert_image(run, rp_avg_pool2d(x, 3, 3, &padded), SHAPE(1, 2, 2, 1), (double[]){2.5, 4, 8.5, 10});
    assert_image(run, rp_max_pool2d(x, 1, 4, NULL), SHAPE(1, 4, 1, 1), (double[]){3, 7, 11, 15});
    assert_image(run, rp_max_pool2d(x, 4, 1, NULL), SHAPE(1, 1, 4, 1), (double[]){12, 13, 14, 15});
    assert_image(run, rp_batch_norm_train(v, two, one, 0, &mean, &var), SHAPE(2, 1), (double[]){-1, 3});
    assert_image(run, mean, SHAPE(1), (double[]){2});
    assert_image(run, var, SHAPE(1), (double[]){1});
    assert_image(run, rp_batch_norm_train(v, two, one, 0, NULL, NULL), SHAPE(2, 1), (double[]){-1, 3});
    assert_image(run, rp_batch_norm(v, two, one, one, four, 0), SHAPE(2, 1), (double[]){1, 3});
    /* each sample alone is its mean, so that only beta is left; two channels in one group are a pair about theirs */
    assert_image(run, rp_group_norm(v, two, one, 1, 1), SHAPE(2, 1), (double[]){1, 1});
    assert_image(run, rp_instance_norm(rp_reshape(v, SHAPE(1, 2, 1)), two, one, 0), SHAPE(1, 2, 1), (double[]){-1, 3});
    assert_image(run,
                 rp_group_norm(rp_reshape(v, SHAPE(1, 2)), put(run, SHAPE(2), (double[]){2, 4}),
                               put(run, SHAPE(2), (double[]){1, 0}), 1, 0),
                 SHAPE(1, 2), (double[]){-1, 4});
    assert_int_equal(rp_step_end(run, NULL), RP_OK);
    rp_run_free(run);
}

/* ---- gradients ---- */

/* max_pool_grad is linear in g: the gradient that arrives, h, is read where the unit g of an output lands. With ties, a
 * NaN, infinities and padding. */
static void the_gradient_of_max_pool_grad_reads_the_winners(void **state)
{
    static const double inf = __builtin_inf(), nan = __builtin_nan("");
    static const int64_t padding[] = {1, 1, 0, 1};
    const double x[] = {-inf, -inf, 3, -inf, 0, -0.0, nan, nan, -1, 0, 2, 2, -inf, -inf, -inf, 2};
    rp_attr attr[RP_MAX_ATTR] = {
        {.n = 2, .list = {1, 2}}, {.n = 4}, {.n = 2, .list = {1, 1}}, {.n = 2, .list = {2, 2}}};
    rp_run *run = step_new();
    rp_tensor image = put(run, SHAPE(1, 4, 4, 1), x), g, h, dx, grad;
    double arriving[16], found[12], unit[12], landed[16];

    (void)state;
    memcpy(attr[1].list, padding, sizeof padding);
    for (int i = 0; i < 16; i++)
        arriving[i] = i + 1;
    h = put(run, SHAPE(1, 4, 4, 1), arriving);
    g = put(run, SHAPE(1, 4, 3, 1), (double[12]){0});
    rp_emit(g.graph, RP_OP_max_pool_grad, attr, (rp_tensor[]){g, image}, 2, &dx);
    rp_vjp(&dx, &h, 1, &g, 1, &grad);
    assert_int_equal(rp_read(run, grad, found, sizeof found, NULL), RP_OK);
    for (int o = 0; o < 12; o++) {
        double expected = 0;

        memset(unit, 0, sizeof unit);
        unit[o] = 1;
        g = put(run, SHAPE(1, 4, 3, 1), unit);
        rp_emit(g.graph, RP_OP_max_pool_grad, attr, (rp_tensor[]){g, image}, 2, &dx);
        assert_int_equal(rp_read(run, dx, landed, sizeof landed, NULL), RP_OK);
        for (int i = 0; i < 16; i++)
            expected += landed[i] * arriving[i];
        if (found[o] != expected)
            fail_msg("output %d: expected h[%g], found h[%g]", o, expected - 1, found[o] - 1);
    }
    rp_run_free(run);
}

/* Every rule twice, over a batch of none. */
static void a_batch_of_none_has_gradients(void **state)
{
    rp_run *run = step_new();
    rp_tensor x = put(run, SHAPE(0, 4, 4, 2), NULL), w = put(run, SHAPE(2, 2, 2, 2), (double[16]){0});
    rp_tensor two = put(run, SHAPE(2), (double[]){1, 1}), mean = two, var = two, y, grad[2], again[2];

    (void)state;
    y = rp_conv2d(x, w, two, 1, NULL);
    y = rp_batch_norm(y, two, two, mean, var, 1);
    y = rp_max_pool2d(y, 2, 2, &(rp_placement){.padding = {1, 0, 0, 0}});
    y = rp_avg_pool2d(y, 1, 1, NULL);
    y = rp_mul(y, y);
    y = rp_sum(y, NULL, 0, false);
    rp_gradients(y, (rp_tensor[]){x, w}, 2, grad);
    assert_image(run, grad[0], SHAPE(0, 4, 4, 2), NULL);
    assert_image(run, grad[1], SHAPE(2, 2, 2, 2), (double[16]){0});
    rp_vjp(grad, (rp_tensor[]){x, w}, 2, (rp_tensor[]){x, w}, 2, again);
    assert_image(run, again[0], SHAPE(0, 4, 4, 2), NULL);
    assert_image(run, again[1], SHAPE(2, 2, 2, 2), (double[16]){0});
    assert_int_equal(rp_step_end(run, NULL), RP_OK);
    rp_run_free(run);
}

/* Of several outputs any one may be all that a loss uses. */
static void each_output_of_batch_norm_has_a_gradient_alone(void **state)
{
    rp_run *run = step_new();
    rp_tensor x = put(run, SHAPE(2, 1), (double[]){1, 3}), one = put(run, SHAPE(1), (double[]){1});
    rp_tensor g = put(run, SHAPE(2, 1), (double[]){5, 7}), three = put(run, SHAPE(1), (double[]){3});
    rp_tensor mean, var, grad[3], out[RP_MAX_OUT];

    (void)state;
    (void)rp_batch_norm_train(x, one, one, 0, &mean, &var);
    rp_vjp_or_zeros(&mean, &three, 1, (rp_tensor[]){x, one}, 2, grad);
    assert_image(run, grad[0], SHAPE(2, 1), (double[]){1.5, 1.5});
    assert_image(run, grad[1], SHAPE(1), (double[]){0});
    rp_vjp_or_zeros(&var, &three, 1, (rp_tensor[]){x, mean}, 2, grad);
    assert_image(run, grad[0], SHAPE(2, 1), (double[]){-3, 3});
    assert_image(run, grad[1], SHAPE(1), (double[]){0}); /* an output of the same instruction, not an operand */
    rp_vjp((rp_tensor[]){var, mean}, (rp_tensor[]){three, three}, 2, &x, 1, grad);
    assert_image(run, grad[0], SHAPE(2, 1), (double[]){-1.5, 4.5});
    rp_emit(x.graph, RP_OP_batch_norm_grad, (rp_attr[RP_MAX_ATTR]){{.r = 0}}, (rp_tensor[]){g, x, one, mean, var}, 5,
            out);
    assert_image(run, out[1], SHAPE(1), (double[]){2});
    assert_image(run, out[2], SHAPE(1), (double[]){12});
    rp_vjp(&out[2], &three, 1, &g, 1, grad);
    assert_image(run, grad[0], SHAPE(2, 1), (double[]){3, 3});
    rp_vjp(&out[1], &three, 1, (rp_tensor[]){g, x, var}, 3, grad);
    assert_image(run, grad[0], SHAPE(2, 1), (double[]){-3, 3});
    assert_int_equal(rp_step_end(run, NULL), RP_OK);
    rp_run_free(run);
}

/* A convolution, batch norm, a pool, a row convolution, an average: its loss and the squared norm of the loss's
 * gradient by the image, which takes every rule once more. */
enum { PIXELS = 2 * 6 * 5 };

static double penalty(const double *parameters, double *gradient)
{
    rp_run *run = step_new();
    double pixels[PIXELS], value;
    rp_tensor p[4], grad[4], x, y, mean, var, slope;
    rp_error err = {0};
    size_t at = 0;

    for (int i = 0; i < PIXELS; i++)
        pixels[i] = (i * 37 % 61) / 61.0 - 0.4;
    x = put(run, SHAPE(2, 6, 5, 1), pixels);
    p[0] = put(run, SHAPE(3, 2, 1, 4), parameters);
    p[1] = put(run, SHAPE(4), parameters + 24);
    p[2] = put(run, SHAPE(4), parameters + 28);
    p[3] = put(run, SHAPE(2, 4, 1), parameters + 32);
    y = rp_conv2d(x, p[0], p[2], 1, &(rp_placement){.padding = {1, 0, 1, 1}});
    y = rp_tanh(rp_batch_norm_train(y, p[1], p[2], 0.1, &mean, &var));
    y = rp_max_pool2d(y, 2, 3, &(rp_placement){.stride = {2, 2}, .padding = {0, 1, 0, 1}});
    y = rp_avg_pool2d(y, 3, 1, NULL);
    y = rp_conv1d(rp_reshape(y, SHAPE(2, 3, 4)), p[3], none, 1, NULL);
    y = rp_sum(rp_mul(y, y), NULL, 0, false);
    slope = rp_sum(rp_mul(mean, var), NULL, 0, false);
    y = rp_add(y, slope);
    rp_gradients(y, &x, 1, &slope);
    y = rp_add(rp_sum(rp_mul(slope, slope), NULL, 0, false), y);
    if (rp_read(run, y, &value, sizeof value, &err) != RP_OK)
        fail_msg("%s", err.text);
    if (gradient) {
        rp_gradients(y, p, 4, grad);
        for (int i = 0; i < 4; i++) {
            static const size_t sizes[] = {24, 4, 4, 8};

            if (rp_read(run, grad[i], gradient + at, sizes[i] * sizeof *gradient, &err) != RP_OK)
                fail_msg("%s", err.text);
            at += sizes[i];
        }
    }
    rp_run_free(run);
    return value;
}

static void a_network_with_a_gradient_penalty_agrees_with_finite_differences(void **state)
{
    enum { N = 40 };
    double parameters[N], gradient[N];

    (void)state;
    for (int i = 0; i < N; i++)
        parameters[i] = 0.3 + (i * 23 % 41) / 41.0;
    (void)penalty(parameters, gradient);
    for (int i = 0; i < N; i++) {
        const double h = 0x1p-17, keep = parameters[i];
        double quotient;

        parameters[i] = keep + h;
        quotient = penalty(parameters, NULL);
        parameters[i] = keep - h;
        quotient = (quotient - penalty(parameters, NULL)) / (2 * h);
        parameters[i] = keep;
        if (!(__builtin_fabs(gradient[i] - quotient) <= 1e-6 * (1 + __builtin_fabs(quotient))))
            fail_msg("parameter %d: found %.12g, difference quotient %.12g", i, gradient[i], quotient);
    }
}

/* ---- refusals ---- */

#define CONV(stride, padding, dilation, groups) \
    "{\"dilation\":" dilation ",\"groups\":" groups ",\"padding\":" padding ",\"stride\":" stride "}"
#define CONV_SIZE(stride, groups, size) \
    "{\"dilation\":[1,1],\"groups\":" groups ",\"padding\":[0,0,0,0],\"size\":" size ",\"stride\":" stride "}"
#define POOL(stride, padding, dilation, window) \
    "{\"dilation\":" dilation ",\"padding\":" padding ",\"stride\":" stride ",\"window\":" window "}"
#define POOL_SIZE(size, window) \
    "{\"dilation\":[1,1],\"padding\":[0,0,0,0],\"size\":" size ",\"stride\":[2,2],\"window\":" window "}"
#define NO_PAD "[0,0,0,0]"
#define ONE "[1,1]"
#define X "[2,5,5,4]"
#define W "[3,3,4,6]"
#define HUGE_LENGTH "1099511627776" /* 2^40 */

static const struct {
    const char *op, *attributes;
    int n_in;
    const char *shape[5];
    const char *fragment; /* NULL: fine */
} programs[] = {
    {"conv2d", CONV(ONE, NO_PAD, ONE, "1"), 2, {X, W}, NULL},
    {"conv2d", CONV("[1048576,1048576]", NO_PAD, ONE, "1"), 2, {X, W}, NULL},
    {"conv2d", CONV(ONE, "[7,7,7,7]", ONE, "1"), 2, {X, W}, NULL},
    {"conv2d", CONV(ONE, NO_PAD, ONE, "2"), 2, {X, "[3,3,2,6]"}, NULL},
    {"conv2d", CONV(ONE, NO_PAD, ONE, "1"), 2, {"[0,5,5,4]", W}, NULL},
    {"conv2d", CONV("[0,1]", NO_PAD, ONE, "1"), 2, {X, W}, "stride: expected 2 integers from 1"},
    {"conv2d", CONV("[1,-1]", NO_PAD, ONE, "1"), 2, {X, W}, "stride"},
    {"conv2d", CONV("[1]", NO_PAD, ONE, "1"), 2, {X, W}, "stride"},
    {"conv2d", CONV("[1,1,1]", NO_PAD, ONE, "1"), 2, {X, W}, "stride"},
    {"conv2d", CONV("[]", NO_PAD, ONE, "1"), 2, {X, W}, "stride"},
    {"conv2d", CONV("[1048577,1]", NO_PAD, ONE, "1"), 2, {X, W}, "stride"},
    {"conv2d", CONV("[1,9007199254740991]", NO_PAD, ONE, "1"), 2, {X, W}, "stride"},
    {"conv2d", CONV(ONE, "[0,0,0,-1]", ONE, "1"), 2, {X, W}, "padding: expected 4 integers from 0"},
    {"conv2d", CONV(ONE, "[0,0]", ONE, "1"), 2, {X, W}, "padding"},
    {"conv2d", CONV(ONE, "[1048577,0,0,0]", ONE, "1"), 2, {X, W}, "padding"},
    {"conv2d", CONV(ONE, NO_PAD, "[1,0]", "1"), 2, {X, W}, "dilation"},
    {"conv2d", CONV(ONE, NO_PAD, "[1048577,1]", "1"), 2, {X, W}, "dilation"},
    {"conv2d", CONV(ONE, NO_PAD, "[3,1]", "1"), 2, {X, W}, "window of 7 over a height of 5"},
    {"conv2d", CONV(ONE, "[0,0,0,1]", "[1,3]", "1"), 2, {X, W}, "window of 7 over a width of 6"},
    {"conv2d", CONV(ONE, NO_PAD, "[1048576,1]", "1"), 2, {X, W}, "window of 2097153"},
    {"conv2d", CONV(ONE, NO_PAD, ONE, "0"), 2, {X, W}, "groups"},
    {"conv2d", CONV(ONE, NO_PAD, ONE, "-1"), 2, {X, W}, "groups"},
    {"conv2d", CONV(ONE, NO_PAD, ONE, "\"9223372036854775807\""), 2, {X, W}, "groups"},
    {"conv2d", CONV(ONE, NO_PAD, ONE, "4"), 2, {X, "[3,3,1,6]"}, "groups"},
    {"conv2d", CONV(ONE, NO_PAD, ONE, "3"), 2, {X, "[3,3,1,6]"}, "groups"},
    {"conv2d", CONV(ONE, NO_PAD, ONE, "1"), 2, {X, "[3,3,3,6]"}, "channels in the weight"},
    {"conv2d", CONV(ONE, NO_PAD, ONE, "1"), 2, {X, "[3,3,4]"}, "[r, s, c / groups, k]"},
    {"conv2d", CONV(ONE, NO_PAD, ONE, "1"), 2, {"[5,5,4]", W}, "[n, h, w, c]"},
    {"conv2d", CONV(ONE, NO_PAD, ONE, "1"), 2, {X, "[0,3,4,6]"}, "length 0"},
    {"conv2d", CONV(ONE, NO_PAD, ONE, "1"), 2, {X, "[3,3,4,0]"}, "length 0"},
    {"conv2d", CONV(ONE, NO_PAD, ONE, "1"), 2, {"[2,5,5,0]", "[3,3,0,6]"}, "length 0"},
    {"conv2d", CONV(ONE, "[3,3,3,3]", ONE, "1"), 2, {"[2,0,5,4]", W}, "length 0"},
    {"conv2d", CONV(ONE, NO_PAD, ONE, "1"), 2, {"[1048576,1,1,1]", "[1,1,1,2097152]"}, "2^40"},
    {"conv2d", CONV(ONE, "[1048576,1048576,0,0]", ONE, "1"), 2, {X, W}, "2^40"},
    {"conv2d_grad_input", CONV_SIZE("[2,2]", "1", "[5,5]"), 2, {"[2,2,2,6]", W}, NULL},
    {"conv2d_grad_input", CONV_SIZE("[2,2]", "1", "[6,6]"), 2, {"[2,2,2,6]", W}, NULL},
    {"conv2d_grad_input", CONV_SIZE("[2,2]", "1", "[7,5]"), 2, {"[2,2,2,6]", W}, "found a gradient"},
    {"conv2d_grad_input", CONV_SIZE("[2,2]", "1", "[2,5]"), 2, {"[2,2,2,6]", W}, "window of 3"},
    {"conv2d_grad_input", CONV_SIZE("[2,2]", "1", "[5,0]"), 2, {"[2,2,2,6]", W}, "size"},
    {"conv2d_grad_input", CONV_SIZE("[2,2]", "1", "[5,-5]"), 2, {"[2,2,2,6]", W}, "size"},
    {"conv2d_grad_input", CONV_SIZE("[2,2]", "1", "[5]"), 2, {"[2,2,2,6]", W}, "size"},
    {"conv2d_grad_input", CONV_SIZE("[2,2]", "1", "[" HUGE_LENGTH "," HUGE_LENGTH "]"), 2, {"[2,2,2,6]", W}, "2^40"},
    {"conv2d_grad_input", CONV_SIZE("[2,2]", "1", "[5,5]"), 2, {"[2,2,2,5]", W}, "found a gradient"},
    {"conv2d_grad_input", CONV_SIZE("[2,2]", "4", "[5,5]"), 2, {"[2,2,2,6]", W}, "groups"},
    {"conv2d_grad_input", CONV_SIZE("[2,2]", "0", "[5,5]"), 2, {"[2,2,2,6]", W}, "groups"},
    {"conv2d_grad_input", CONV_SIZE("[2,2]", "\"9223372036854775807\"", "[5,5]"), 2, {"[2,2,2,6]", W}, "groups"},
    {"conv2d_grad_input", CONV_SIZE("[2,2]", "1", "[5,5]"), 2, {"[2,2,6]", W}, "[n, oh, ow, k]"},
    {"conv2d_grad_weight", CONV_SIZE("[2,2]", "1", "[3,3]"), 2, {X, "[2,2,2,6]"}, NULL},
    {"conv2d_grad_weight", CONV_SIZE("[2,2]", "1", "[5,3]"), 2, {X, "[2,2,2,6]"}, "found a gradient"},
    {"conv2d_grad_weight", CONV_SIZE("[2,2]", "1", "[6,3]"), 2, {X, "[2,2,2,6]"}, "window of 6"},
    {"conv2d_grad_weight", CONV_SIZE("[2,2]", "1", "[0,3]"), 2, {X, "[2,2,2,6]"}, "size"},
    {"conv2d_grad_weight", CONV_SIZE("[2,2]", "1", "[" HUGE_LENGTH ",3]"), 2, {X, "[2,2,2,6]"}, "2^40"},
    {"conv2d_grad_weight", CONV_SIZE("[2,2]", "1", "[3,3]"), 2, {X, "[1,2,2,6]"}, "found a gradient"},
    {"conv2d_grad_weight", CONV_SIZE("[2,2]", "3", "[3,3]"), 2, {X, "[2,2,2,6]"}, "groups"},
    {"conv2d_grad_weight", CONV_SIZE("[2,2]", "4", "[3,3]"), 2, {X, "[2,2,2,6]"}, "groups"},
    {"conv2d_grad_weight", CONV_SIZE("[2,2]", "-1", "[3,3]"), 2, {X, "[2,2,2,6]"}, "groups"},
    {"max_pool", POOL("[2,2]", NO_PAD, ONE, "[2,2]"), 1, {X}, NULL},
    {"max_pool", POOL("[2,2]", "[1,2,1,2]", ONE, "[2,3]"), 1, {X}, NULL},
    {"max_pool", POOL("[2,2]", "[2,0,0,0]", ONE, "[2,3]"), 1, {X}, "less padding"},
    {"max_pool", POOL("[2,2]", "[0,0,0,3]", ONE, "[2,3]"), 1, {X}, "less padding"},
    {"max_pool", POOL("[2,2]", "[2,0,0,0]", "[2,1]", "[2,3]"), 1, {X}, NULL},
    {"max_pool", POOL("[2,2]", NO_PAD, ONE, "[0,2]"), 1, {X}, "window: expected 2"},
    {"max_pool", POOL("[2,2]", NO_PAD, ONE, "[2]"), 1, {X}, "window"},
    {"max_pool", POOL("[2,2]", NO_PAD, ONE, "[1048577,1]"), 1, {X}, "window"},
    {"max_pool", POOL("[2,2]", NO_PAD, ONE, "[6,1]"), 1, {X}, "window of 6"},
    {"max_pool", POOL("[2,0]", NO_PAD, ONE, "[2,2]"), 1, {X}, "stride"},
    {"max_pool", POOL("[2,2]", "[0,0,-1,0]", ONE, "[2,2]"), 1, {X}, "padding"},
    {"max_pool", POOL("[2,2]", NO_PAD, "[0,1]", "[2,2]"), 1, {X}, "dilation"},
    {"max_pool", POOL("[2,2]", NO_PAD, ONE, "[2,2]"), 1, {"[5,5,4]"}, "[n, h, w, c]"},
    {"max_pool", POOL("[2,2]", NO_PAD, ONE, "[1,1]"), 1, {"[2,5,5,0]"}, "length 0"},
    {"avg_pool", POOL("[2,2]", "[1,1,1,1]", ONE, "[1,2]"), 1, {X}, "less padding"},
    {"avg_pool", POOL("[1,1]", "[1048575,1048575,1048575,1048575]", ONE, "[1048576,1048576]"), 1, {X}, "2^40"},
    {"max_pool_grad", POOL("[2,2]", NO_PAD, ONE, "[2,2]"), 2, {"[2,2,2,4]", X}, NULL},
    {"max_pool_grad", POOL("[2,2]", NO_PAD, ONE, "[2,2]"), 2, {"[2,2,3,4]", X}, "found a gradient"},
    {"max_pool_grad", POOL("[2,2]", NO_PAD, ONE, "[2,2]"), 2, {"[2,2,2,4]", "[2,5,5]"}, "[n, h, w, c]"},
    {"avg_pool_grad", POOL_SIZE("[5,4]", "[2,2]"), 1, {"[2,2,2,4]"}, NULL},
    {"avg_pool_grad", POOL_SIZE("[6,4]", "[2,2]"), 1, {"[2,2,2,4]"}, "found a gradient"},
    {"avg_pool_grad", POOL_SIZE("[0,4]", "[2,2]"), 1, {"[2,2,2,4]"}, "size"},
    {"avg_pool_grad", POOL_SIZE("[" HUGE_LENGTH "," HUGE_LENGTH "]", "[2,2]"), 1, {"[2,2,2,4]"}, "2^40"},
    {"avg_pool_grad", POOL_SIZE("[5,4]", "[2,2]"), 1, {"[2,2,4]"}, "[n, oh, ow, c]"},
    {"resize", "{\"axis\":1,\"coordinates\":0,\"mode\":2,\"rounding\":0,\"size\":7}", 1, {X}, NULL},
    {"resize", "{\"axis\":4,\"coordinates\":0,\"mode\":1,\"rounding\":0,\"size\":7}", 1, {X}, "axis 4"},
    {"resize", "{\"axis\":-1,\"coordinates\":0,\"mode\":1,\"rounding\":0,\"size\":7}", 1, {X}, "axis -1"},
    {"resize", "{\"axis\":1,\"coordinates\":3,\"mode\":1,\"rounding\":0,\"size\":7}", 1, {X}, "coordinates 3"},
    {"resize", "{\"axis\":1,\"coordinates\":0,\"mode\":3,\"rounding\":0,\"size\":7}", 1, {X}, "mode 3"},
    {"resize", "{\"axis\":1,\"coordinates\":0,\"mode\":0,\"rounding\":4,\"size\":7}", 1, {X}, "rounding 4"},
    {"resize", "{\"axis\":1,\"coordinates\":-1,\"mode\":0,\"rounding\":0,\"size\":7}", 1, {X}, "coordinates -1"},
    {"resize", "{\"axis\":1,\"coordinates\":0,\"mode\":1,\"rounding\":0,\"size\":0}", 1, {X}, "a size of 0"},
    {"resize",
     "{\"axis\":1,\"coordinates\":0,\"mode\":1,\"rounding\":0,\"size\":2147483648}",
     1,
     {X},
     "a size of 2147483648"},
    {"resize", "{\"axis\":1,\"coordinates\":0,\"mode\":1,\"rounding\":0,\"size\":7}", 1, {"[2,0,5,4]"}, "length 0"},
    {"resize",
     "{\"axis\":0,\"coordinates\":0,\"mode\":1,\"rounding\":0,\"size\":7}",
     1,
     {"[4294967296]"},
     "a length of 4294967296"},
    {"resize",
     "{\"axis\":1,\"coordinates\":0,\"mode\":1,\"rounding\":0,\"size\":2147483647}",
     1,
     {"[1048576,5]"},
     "2^40"},
    {"resize_grad", "{\"axis\":1,\"coordinates\":0,\"mode\":2,\"rounding\":0,\"size\":5}", 1, {X}, NULL},
    {"resize_grad", "{\"axis\":1,\"coordinates\":0,\"mode\":2,\"rounding\":0,\"size\":0}", 1, {X}, "a size of 0"},
    {"batch_norm", "{\"eps\":\"0.1\"}", 5, {X, "[4]", "[4]", "[4]", "[4]"}, NULL},
    {"batch_norm", "{\"eps\":\"0.1\"}", 5, {X, "[4]", "[4]", "[4]", "[5]"}, "one value a channel"},
    {"batch_norm", "{\"eps\":\"0.1\"}", 5, {X, "[1,4]", "[4]", "[4]", "[4]"}, "one value a channel"},
    {"batch_norm", "{\"eps\":\"-0.1\"}", 5, {X, "[4]", "[4]", "[4]", "[4]"}, "eps"},
    {"batch_norm", "{\"eps\":\"nan\"}", 5, {X, "[4]", "[4]", "[4]", "[4]"}, "eps"},
    {"batch_norm", "{\"eps\":\"0.1\"}", 5, {"[]", "[1]", "[1]", "[1]", "[1]"}, "rank 1 or more"},
    {"batch_norm_train", "{\"eps\":\"0\"}", 3, {"[0,4]", "[4]", "[4]"}, NULL},
    {"batch_norm_train", "{\"eps\":\"0\"}", 3, {"[4,0]", "[0]", "[0]"}, "at least one channel"},
    {"batch_norm_train", "{\"eps\":\"inf\"}", 3, {X, "[4]", "[4]"}, "eps"},
    {"batch_norm_grad", "{\"eps\":\"0\"}", 5, {X, X, "[4]", "[4]", "[4]"}, NULL},
    {"batch_norm_grad", "{\"eps\":\"0\"}", 5, {"[2,5,4]", X, "[4]", "[4]", "[4]"}, "a gradient like x"},
    {"batch_norm_grad", "{\"eps\":\"0\"}", 5, {X, X, "[4]", "[4]", "[]"}, "one value a channel"},
    {"batch_norm_grad", "{\"eps\":\"-1\"}", 5, {X, X, "[4]", "[4]", "[4]"}, "eps"},
#define GROUPS(eps, groups) "{\"eps\":\"" eps "\",\"groups\":" groups "}"
    {"group_norm", GROUPS("0", "2"), 3, {X, "[4]", "[4]"}, NULL},
    {"group_norm", GROUPS("0", "4"), 3, {"[0,4]", "[4]", "[4]"}, NULL},
    {"group_norm", GROUPS("0", "3"), 3, {X, "[4]", "[4]"}, "found groups 3, expected a divisor of the 4 channels"},
    {"group_norm", GROUPS("0", "0"), 3, {X, "[4]", "[4]"}, "found groups 0"},
    {"group_norm", GROUPS("0", "-2"), 3, {X, "[4]", "[4]"}, "found groups -2"},
    {"group_norm", GROUPS("0", "8"), 3, {X, "[4]", "[4]"}, "found groups 8"},
    {"group_norm", GROUPS("-1", "2"), 3, {X, "[4]", "[4]"}, "eps"},
    {"group_norm", GROUPS("0", "1"), 3, {"[4]", "[4]", "[4]"}, "[n, .., c]"},
    {"group_norm", GROUPS("0", "1"), 3, {"[2,0]", "[0]", "[0]"}, "one channel"},
    {"group_norm", GROUPS("0", "1"), 3, {"[2,0,4]", "[4]", "[4]"}, "one position"},
    {"group_norm", GROUPS("0", "2"), 3, {X, "[4]", "[5]"}, "one value a channel"},
    {"group_norm_grad", GROUPS("0", "2"), 5, {"[3,5,4]", "[3,5,4]", "[4]", "[3,2]", "[3,2]"}, NULL},
    {"group_norm_grad", GROUPS("0", "2"), 5, {"[3,6,4]", "[3,5,4]", "[4]", "[3,2]", "[3,2]"}, "a gradient like x"},
    {"group_norm_grad", GROUPS("0", "2"), 5, {"[3,5,4]", "[3,5,4]", "[3]", "[3,2]", "[3,2]"}, "one value a channel"},
    {"group_norm_grad", GROUPS("0", "2"), 5, {"[3,5,4]", "[3,5,4]", "[4]", "[3,4]", "[3,2]"}, "a mean and a var"},
    {"group_norm_grad", GROUPS("0", "2"), 5, {"[3,5,4]", "[3,5,4]", "[4]", "[3,2]", "[6]"}, "a mean and a var"},
#undef GROUPS
};

/* {"contract":1,"inputs":[..],"instructions":[[op,attributes,[0..],[n..]]],"outputs":[]}; dtype: of the last operand */
static size_t program_text(char *text, size_t size, size_t k, const char *dtype)
{
    const rp_op *op = rp_op_find(programs[k].op);
    int n = programs[k].n_in;
    size_t used = (size_t)snprintf(text, size, "{\"contract\":1,\"inputs\":[");

    assert_non_null(op);
    for (int i = 0; i < n; i++)
        used += (size_t)snprintf(text + used, size - used, "%s[%d,\"feed\",\"x%d\",\"%s\",%s]", i ? "," : "", i, i,
                                 i + 1 < n ? "f32" : dtype, programs[k].shape[i]);
    used += (size_t)snprintf(text + used, size - used, "],\"instructions\":[[\"%s\",%s,[", op->name,
                             programs[k].attributes);
    for (int i = 0; i < n; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%d", i ? "," : "", i);
    used += (size_t)snprintf(text + used, size - used, "],[");
    for (int i = 0; i < op->n_out; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%d", i ? "," : "", n + i);
    return used + (size_t)snprintf(text + used, size - used, "]]],\"outputs\":[]}");
}

static void every_attribute_is_checked_before_a_kernel_sees_it(void **state)
{
    char text[1024];

    (void)state;
    for (size_t k = 0; k < COUNT(programs); k++) {
        size_t size = program_text(text, sizeof text, k, "f32");
        const char *fragment = programs[k].fragment;
        rp_program *p;
        rp_error err = {0};
        rp_status status = rp_program_parse(&p, text, size, "p.json", &err);

        if (status != (fragment ? RP_EFORMAT : RP_OK) || (fragment && !strstr(err.text, fragment)))
            fail_msg("%s: expected \"%s\", found %s", text, fragment ? fragment : "no error", err.text);
        rp_program_free(p);
        if (fragment)
            continue;
        /* what is fine is not when an operand is of another type */
        size = program_text(text, sizeof text, k, programs[k].n_in > 1 ? "f64" : "i32");
        assert_int_equal(rp_program_parse(&p, text, size, "p.json", &err), RP_EFORMAT);
        assert_null(p);
    }
}

static void wrong_calls_are_refused(void **state)
{
    const size_t most = SIZE_MAX;

    (void)state;
    for (int k = 0; k < 9; k++) {
        static const char *const fragments[] = {"[n, w, c]", "height",    "height",
                                                "stride",    "padding",   "window",
                                                "groups",    "no tensor", "one value a channel"};
        rp_run *run = step_new();
        rp_tensor x = put(run, SHAPE(1, 3, 3, 1), (double[9]){0}), w = put(run, SHAPE(2, 2, 1, 1), (double[4]){0});
        rp_tensor row = put(run, SHAPE(1, 3, 1), (double[3]){0}), taps = put(run, SHAPE(2, 1, 1), (double[2]){0}),
                  y = x;
        rp_error err = {0};

        switch (k) {
        case 0:
            y = rp_conv1d(x, w, none, 1, NULL);
            break;
        case 1:
            y = rp_conv1d(row, taps, none, 1, &(rp_placement){.stride = {1, 1}});
            break;
        case 2:
            y = rp_conv1d(row, taps, none, 1, &(rp_placement){.padding = {0, 0, 1, 0}});
            break;
        case 3:
            y = rp_conv2d(x, w, none, 1, &(rp_placement){.stride = {most, 1}});
            break;
        case 4:
            y = rp_max_pool2d(x, 2, 2, &(rp_placement){.padding = {0, most, 0, 0}});
            break;
        case 5:
            y = rp_avg_pool2d(x, 0, 2, &(rp_placement){.stride = {1, 1}});
            break;
        case 6:
            y = rp_conv2d(x, w, none, most, NULL);
            break;
        case 7:
            y = rp_conv2d(none, w, none, 1, NULL);
            break;
        default:
            y = rp_batch_norm_train(x, w, w, 0, NULL, NULL);
        }
        assert_null(y.graph);
        assert_true(rp_step_end(run, &err) != RP_OK);
        if (!strstr(err.text, fragments[k]))
            fail_msg("call %d: expected \"%s\", found \"%s\"", k, fragments[k], err.text);
        rp_run_free(run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_compute_their_formulas),
        cmocka_unit_test(a_row_is_an_image_of_height_one),
        cmocka_unit_test(pooling_and_batch_norm_compute_their_formulas),
        cmocka_unit_test(the_gradient_of_max_pool_grad_reads_the_winners),
        cmocka_unit_test(a_batch_of_none_has_gradients),
        cmocka_unit_test(each_output_of_batch_norm_has_a_gradient_alone),
        cmocka_unit_test(a_network_with_a_gradient_penalty_agrees_with_finite_differences),
        cmocka_unit_test(every_attribute_is_checked_before_a_kernel_sees_it),
        cmocka_unit_test(wrong_calls_are_refused),
    };

    return cmocka_run_group_tests_name("image operations", tests, NULL, NULL);
}
