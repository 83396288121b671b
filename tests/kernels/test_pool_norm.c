/* SPDX-License-Identifier: Apache-2.0
 * Pooling (CONTRACT 4.5) and batch norm (7.8) against second implementations from the contract's text, their worked
 * examples, and gradients against finite differences. Levels and cuts of many channels and rows are compared here, of
 * other layouts in test_kernels.c. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "determinism/bits.h"
#include "determinism/fpenv.h"
#include "determinism/philox.h"
#include "determinism/sum.h"
#include "tests/kernels/kernel_call.h"
#include "kernels/walk.h"

static const char *const *levels;
static size_t n_levels;

typedef struct window {
    int h, w, taps[2], stride[2], pad[4], dilation[2];
} window;

static const window windows[] = {{6, 7, {3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}},
                                 {5, 8, {2, 2}, {1, 1}, {0, 0, 0, 0}, {1, 1}},
                                 {4, 9, {2, 3}, {1, 2}, {0, 2, 1, 2}, {1, 2}},
                                 {3, 3, {3, 3}, {1, 1}, {0, 0, 0, 0}, {1, 1}},
                                 {3, 4, {1, 1}, {1, 1}, {1, 0, 0, 1}, {1, 1}}};

enum { WINDOWS = sizeof windows / sizeof windows[0], IMAGES = 2, CHANNELS = 3, MOST = 1000 };

static int outputs(const window *p, int d)
{
    return ((d == 0 ? p->h : p->w) + p->pad[d] + p->pad[d + 2] - p->dilation[d] * (p->taps[d] - 1) - 1) / p->stride[d] +
           1;
}

static void set_attr(rp_attr *attr, const window *p)
{
    memset(attr, 0, RP_MAX_ATTR * sizeof *attr);
    for (int d = 0; d < 2; d++) {
        attr[0].list[d] = p->stride[d];
        attr[1].list[d] = p->pad[d];
        attr[1].list[d + 2] = p->pad[d + 2];
        attr[2].list[d] = p->dilation[d];
        attr[3].list[d] = p->taps[d];
    }
}

static void fill(float *x, size_t n, uint64_t seed)
{
    static const float rare[] = {0.0f, -0.0f, NAN, 0.25f, -HUGE_VALF};

    for (size_t i = 0; i < n; i++) {
        const uint32_t word = rp_random_u32(seed, 0, 0, i);

        x[i] = word % 3 == 0 ? rare[word / 64 % 5] : rp_uniform_f32(word) - 0.5f;
    }
}

/* The elements of a window in (r, s) order, as positions in x. */
static int elements(const window *p, int n, int oh, int ow, int c, size_t *at)
{
    int count = 0;

    for (int r = 0; r < p->taps[0]; r++)
        for (int s = 0; s < p->taps[1]; s++) {
            const int h = oh * p->stride[0] + r * p->dilation[0] - p->pad[0];
            const int w = ow * p->stride[1] + s * p->dilation[1] - p->pad[1];

            if (h >= 0 && h < p->h && w >= 0 && w < p->w)
                at[count++] =
                    (((size_t)n * (size_t)p->h + (size_t)h) * (size_t)p->w + (size_t)w) * CHANNELS + (size_t)c;
        }
    return count;
}

static void pool_by_text(const window *p, const float *x, const float *g, float *most, float *mean, float *most_grad,
                         float *mean_grad)
{
    size_t o = 0;

    for (int n = 0; n < IMAGES; n++)
        for (int oh = 0; oh < outputs(p, 0); oh++)
            for (int ow = 0; ow < outputs(p, 1); ow++)
                for (int c = 0; c < CHANNELS; c++, o++) {
                    size_t at[16], first = 0;
                    const int count = elements(p, n, oh, ow, c, at);
                    float best = -HUGE_VALF, sum = 0;

                    for (int i = 0; i < count; i++) {
                        const float v = x[at[i]];

                        sum = sum + v;
                        if (i == 0 || v > x[first] || (isnan(v) && !isnan(x[first])))
                            first = at[i];
                        if (isnan(v) || isnan(best))
                            best = NAN;
                        else if (v > best || (v == best && !signbit(v)))
                            best = v;
                    }
                    most[o] = best;
                    mean[o] = sum / (float)count;
                    if (count > 0)
                        most_grad[first] = most_grad[first] + g[o];
                    for (int i = 0; i < count; i++)
                        mean_grad[at[i]] = mean_grad[at[i]] + g[o] / (float)count;
                }
}

static void assert_same(const char *what, int shape, const float *want, const float *found, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (rp_bits_f32(rp_canonical_f32(want[i])) != rp_bits_f32(rp_canonical_f32(found[i])))
            fail_msg("%s, window %d, element %zu: expected %a, found %a", what, shape, i, (double)want[i],
                     (double)found[i]);
}

static void pooling_and_its_gradients_follow_the_contracts_text(void **state)
{
    (void)state;
    for (int n = 0; n < WINDOWS; n++) {
        const window *p = &windows[n];
        const int oh = outputs(p, 0), ow = outputs(p, 1);
        const size_t inputs = (size_t)(IMAGES * p->h * p->w * CHANNELS), outs = (size_t)(IMAGES * oh * ow * CHANNELS);
        static float x[MOST], g[MOST], most[MOST], mean[MOST], most_grad[MOST], mean_grad[MOST], y[MOST], dx[MOST];
        rp_view in[2] = {view_of(g, RP_F32, IMAGES, oh, ow, CHANNELS, -1),
                         view_of(x, RP_F32, IMAGES, p->h, p->w, CHANNELS, -1)};
        rp_view to_y = view_of(y, RP_F32, IMAGES, oh, ow, CHANNELS, -1);
        rp_view to_x = view_of(dx, RP_F32, IMAGES, p->h, p->w, CHANNELS, -1);
        rp_attr attr[RP_MAX_ATTR];

        assert_true(inputs <= MOST && outs <= MOST);
        set_attr(attr, p);
        fill(x, inputs, 1);
        fill(g, outs, 2);
        memset(most_grad, 0, sizeof most_grad);
        memset(mean_grad, 0, sizeof mean_grad);
        pool_by_text(p, x, g, most, mean, most_grad, mean_grad);
        for (size_t l = 0; l < n_levels; l++) {
            call_kernel(levels[l], RP_K_max_pool, &to_y, 1, &in[1], 1, attr);
            assert_same("max_pool", n, most, y, outs);
            call_kernel(levels[l], RP_K_avg_pool, &to_y, 1, &in[1], 1, attr);
            assert_same("avg_pool", n, mean, y, outs);
            call_kernel(levels[l], RP_K_max_pool_grad, &to_x, 1, in, 2, attr);
            assert_same("max_pool_grad", n, most_grad, dx, inputs);
            call_kernel(levels[l], RP_K_avg_pool_grad, &to_x, 1, in, 1, attr);
            assert_same("avg_pool_grad", n, mean_grad, dx, inputs);
        }
    }
}

static void the_contracts_pooling_examples_hold(void **state)
{
    static const window three = {1, 3, {1, 3}, {1, 1}, {0, 0, 0, 0}, {1, 1}};
    float zeros[3] = {-1.0f, -0.0f, 0.0f}, nans[3] = {1, NAN, NAN}, big[3] = {0x1p24f, 1, 1}, g = 5, y, dx[3];
    const rp_view in[2] = {view_of(&g, RP_F32, 1, 1, 1, 1, -1), view_of(zeros, RP_F32, 1, 1, 3, 1, -1)};
    const rp_view in_nan[2] = {in[0], view_of(nans, RP_F32, 1, 1, 3, 1, -1)},
                  in_big = view_of(big, RP_F32, 1, 1, 3, 1, -1);
    const rp_view to_y = view_of(&y, RP_F32, 1, 1, 1, 1, -1), to_x = view_of(dx, RP_F32, 1, 1, 3, 1, -1);
    rp_attr attr[RP_MAX_ATTR];

    (void)state;
    set_attr(attr, &three);
    for (size_t l = 0; l < n_levels; l++) {
        call_kernel(levels[l], RP_K_max_pool, &to_y, 1, &in[1], 1, attr);
        assert_int_equal(rp_bits_f32(y), 0);
        call_kernel(levels[l], RP_K_max_pool_grad, &to_x, 1, in, 2, attr);
        assert_true(dx[0] == 0 && dx[1] == 5 && dx[2] == 0);
        call_kernel(levels[l], RP_K_max_pool_grad, &to_x, 1, in_nan, 2, attr);
        assert_true(dx[0] == 0 && dx[1] == 5 && dx[2] == 0);
        call_kernel(levels[l], RP_K_avg_pool, &to_y, 1, &in_big, 1, attr);
        assert_int_equal(rp_bits_f32(y), 0x4AAAAAAB);
    }
}

/* Channels of more elements than a chunk of 4.1, gathered and summed by the library's own summation. */
static void batch_norm_follows_the_contracts_text(void **state)
{
    enum { ROWS = 5000, WIDE = 37, N = ROWS * WIDE };
    float *x = malloc(4 * N * sizeof *x), *g = x + N, *y = x + 2 * N, *dx = x + 3 * N,
          *d = malloc(3 * ROWS * sizeof *d);
    float gamma[WIDE], beta[WIDE], mean[WIDE], var[WIDE], dgamma[WIDE], dbeta[WIDE];
    const rp_attr attr[RP_MAX_ATTR] = {{.r = 1e-5}};
    const rp_view v_x = view_of(x, RP_F32, 50, 100, WIDE, -1), v_g = view_of(g, RP_F32, 50, 100, WIDE, -1);
    const rp_view v_gamma = view_of(gamma, RP_F32, WIDE, -1), v_beta = view_of(beta, RP_F32, WIDE, -1);
    const rp_view v_mean = view_of(mean, RP_F32, WIDE, -1), v_var = view_of(var, RP_F32, WIDE, -1);
    const rp_view out[3] = {view_of(y, RP_F32, 50, 100, WIDE, -1), v_mean, v_var};
    const rp_view grad[3] = {view_of(dx, RP_F32, 50, 100, WIDE, -1), view_of(dgamma, RP_F32, WIDE, -1),
                             view_of(dbeta, RP_F32, WIDE, -1)};

    (void)state;
    assert_true(x != NULL && d != NULL);
    for (size_t i = 0; i < 2 * N; i++)
        x[i] = rp_uniform_f32(rp_random_u32(9, 0, 0, i)) - 0.25f;
    for (size_t c = 0; c < WIDE; c++) {
        gamma[c] = 0.5f + (float)c;
        beta[c] = (float)c / 7;
    }
    for (size_t l = 0; l < n_levels; l++) {
        call_kernel(levels[l], RP_K_batch_norm_train, out, 3, (rp_view[]){v_x, v_gamma, v_beta}, 3, attr);
        call_kernel(levels[l], RP_K_batch_norm_grad, grad, 3, (rp_view[]){v_g, v_x, v_gamma, v_mean, v_var}, 5, attr);
        for (size_t c = 0; c < WIDE; c++) {
            const float want_mean = rp_sum_f32(x + c, ROWS, WIDE) / (float)ROWS;
            float want_var, r, a, b;

            for (size_t i = 0; i < ROWS; i++)
                d[i] = (x[i * WIDE + c] - want_mean) * (x[i * WIDE + c] - want_mean);
            want_var = rp_sum_f32(d, ROWS, 1) / (float)ROWS;
            r = 1 / sqrtf(want_var + 1e-5f);
            for (size_t i = 0; i < ROWS; i++) {
                d[i] = (x[i * WIDE + c] - want_mean) * r;
                d[ROWS + i] = g[i * WIDE + c] * d[i];
            }
            a = rp_sum_f32(g + c, ROWS, WIDE);
            b = rp_sum_f32(d + ROWS, ROWS, 1);
            assert_true(mean[c] == want_mean && var[c] == want_var && dgamma[c] == b && dbeta[c] == a);
            for (size_t i = 0; i < ROWS; i++) {
                const float want_y = d[i] * gamma[c] + beta[c];
                const float want_dx = ((g[i * WIDE + c] - a / ROWS) - d[i] * (b / ROWS)) * (gamma[c] * r);

                assert_int_equal(rp_bits_f32(y[i * WIDE + c]), rp_bits_f32(want_y));
                assert_int_equal(rp_bits_f32(dx[i * WIDE + c]), rp_bits_f32(want_dx));
            }
        }
        memcpy(dx, y, N * sizeof *y);
        call_kernel(levels[l], RP_K_batch_norm, out, 1, (rp_view[]){v_x, v_gamma, v_beta, v_mean, v_var}, 5, attr);
        assert_memory_equal(dx, y, N * sizeof *y); /* with the batch's own statistics both are one */
    }
    free(x);
    free(d);
}

static void the_contracts_batch_norm_example_holds(void **state)
{
    static const uint32_t want[12] = {0x3FD67E6E, 0xBFC8AD3E, 0x4075A31B, 0x3D5D1310, 0x3F300000, 0x3F5B0000,
                                      0xBCB5FA35, 0xC020AA70, 0xBF887E52, 0x4066558E, 0x3F5C8F34, 0x3FE00000};
    float x[4] = {1, -0.5f, 2, 0.25f}, g[4] = {0.5f, -1, 0.25f, 2}, gamma = 2, beta = 1, found[12];
    const rp_attr attr[RP_MAX_ATTR] = {{.r = 1e-5}};
    const rp_view v_x = view_of(x, RP_F32, 4, 1, -1), v_g = view_of(g, RP_F32, 4, 1, -1);
    const rp_view v_gamma = view_of(&gamma, RP_F32, 1, -1), v_beta = view_of(&beta, RP_F32, 1, -1);
    const rp_view out[3] = {view_of(found, RP_F32, 4, 1, -1), view_of(found + 4, RP_F32, 1, -1),
                            view_of(found + 5, RP_F32, 1, -1)};
    const rp_view grad[3] = {view_of(found + 6, RP_F32, 4, 1, -1), view_of(found + 10, RP_F32, 1, -1),
                             view_of(found + 11, RP_F32, 1, -1)};

    (void)state;
    for (size_t l = 0; l < n_levels; l++) {
        call_kernel(levels[l], RP_K_batch_norm_train, out, 3, (rp_view[]){v_x, v_gamma, v_beta}, 3, attr);
        call_kernel(levels[l], RP_K_batch_norm_grad, grad, 3, (rp_view[]){v_g, v_x, v_gamma, out[1], out[2]}, 5, attr);
        for (size_t i = 0; i < 12; i++)
            if (rp_bits_f32(found[i]) != want[i])
                fail_msg("value %zu: expected %08x, found %08x", i, want[i], rp_bits_f32(found[i]));
    }
}

/* Slopes of f(x) = sum of out 0 times g, by central differences in binary64. */
static void check_slopes(rp_kernel_id id, const rp_kernel_args *args, size_t operand, const double *g, size_t n_g,
                         const double *gradient, double tolerance)
{
    const rp_view *in = args->in;
    double *v = in[operand].data;
    const double *y = args->out[0].data;
    size_t n = 1;

    for (int d = 0; d < in[operand].rank; d++)
        n *= in[operand].shape[d];
    for (size_t i = 0; i < n; i++) {
        const double at = v[i], step = 0x1p-14;
        double slope = 0;

        for (int side = -1; side <= 1; side += 2) {
            v[i] = at + side * step;
            call_kernel("ref", id, args->out, args->n_out, in, args->n_in, args->attr);
            for (size_t j = 0; j < n_g; j++)
                slope += side * y[j] * g[j] / (2 * step);
        }
        v[i] = at;
        if (!(fabs(slope - gradient[i]) < tolerance))
            fail_msg("kernel %d, operand %zu, element %zu: slope %g, gradient %g", id, operand, i, slope, gradient[i]);
    }
}

static void gradients_agree_with_finite_differences(void **state)
{
    enum { N = 2 * 6 * 7 * 3, OUT = 2 * 3 * 4 * 3 };
    static double x[N], g[N], y[N], dx[N], gamma[3] = {1, 2, -3}, beta[3] = {0, 1, 2}, mean[3], var[3], dgamma[3],
                                           dbeta[3];
    const rp_view v_x = view_of(x, RP_F64, 2, 6, 7, 3, -1), v_dx = view_of(dx, RP_F64, 2, 6, 7, 3, -1);
    const rp_view v_g = view_of(g, RP_F64, 2, 6, 7, 3, -1), g_small = view_of(g, RP_F64, 2, 3, 4, 3, -1);
    const rp_view y_small = view_of(y, RP_F64, 2, 3, 4, 3, -1), v_gamma = view_of(gamma, RP_F64, 3, -1);
    const rp_view v_beta = view_of(beta, RP_F64, 3, -1);
    const rp_view out[3] = {view_of(y, RP_F64, 2, 6, 7, 3, -1), view_of(mean, RP_F64, 3, -1),
                            view_of(var, RP_F64, 3, -1)};
    const rp_view grad[3] = {v_dx, view_of(dgamma, RP_F64, 3, -1), view_of(dbeta, RP_F64, 3, -1)};
    const rp_view norm[3] = {v_x, v_gamma, v_beta}, norm_grad[5] = {v_g, v_x, v_gamma, out[1], out[2]};
    const rp_attr eps[RP_MAX_ATTR] = {{.r = 1e-3}};
    rp_attr attr[RP_MAX_ATTR];
    const rp_kernel_args pool = {&v_x, 1, &y_small, 1, attr}, train = {norm, 3, out, 3, eps};

    (void)state;
    for (size_t i = 0; i < N; i++) {
        x[i] = (double)(i * 37 % N) / N; /* all different, further apart than the step */
        g[i] = (double)rp_uniform_f32(rp_random_u32(5, 0, 1, i)) - 0.5;
    }
    set_attr(attr, &windows[0]);
    call_kernel("ref", RP_K_max_pool_grad, &v_dx, 1, (rp_view[]){g_small, v_x}, 2, attr);
    check_slopes(RP_K_max_pool, &pool, 0, g, OUT, dx, 1e-9);
    call_kernel("ref", RP_K_avg_pool_grad, &v_dx, 1, &g_small, 1, attr);
    check_slopes(RP_K_avg_pool, &pool, 0, g, OUT, dx, 1e-9);
    call_kernel("ref", RP_K_batch_norm_train, out, 3, norm, 3, eps);
    call_kernel("ref", RP_K_batch_norm_grad, grad, 3, norm_grad, 5, eps);
    check_slopes(RP_K_batch_norm_train, &train, 0, g, N, dx, 1e-6);
    check_slopes(RP_K_batch_norm_train, &train, 1, g, N, dgamma, 1e-6);
    check_slopes(RP_K_batch_norm_train, &train, 2, g, N, dbeta, 1e-6);
}

/* The outputs of a kernel at every level, cut over 1, 2, 3 and 7 threads, against the reference. */
static void compare_levels(rp_kernel_id id, const rp_kernel_args *args)
{
    static const size_t cuts[] = {1, 2, 3, 7};
    unsigned char *want[3], *found[3];
    const rp_kernel_table *table;
    size_t count[3];

    for (size_t o = 0; o < args->n_out; o++) {
        count[o] = rp_view_count(&args->out[o]);
        want[o] = malloc(count[o] * 8);
        found[o] = malloc(count[o] * 8);
        assert_true(want[o] != NULL && found[o] != NULL);
    }
    call_kernel("ref", id, args->out, args->n_out, args->in, args->n_in, args->attr);
    for (size_t o = 0; o < args->n_out; o++)
        rp_to_stored(want[o], args->out[o].data, args->out[o].dtype, count[o]);
    for (size_t l = 1; l < n_levels; l++)
        for (size_t c = 0; c < 4; c++) {
            size_t items;

            assert_int_equal(rp_kernel_table_get(&table, levels[l], NULL), RP_OK);
            items = table->kernel[id]->items(args);
            for (size_t o = 0; o < args->n_out; o++)
                memset(args->out[o].data, 0xA5, count[o] * rp_dtype_size(args->out[o].dtype));
            for (size_t i = cuts[c]; i-- > 0;)
                table->kernel[id]->run(args, items * i / cuts[c], items * (i + 1) / cuts[c]);
            for (size_t o = 0; o < args->n_out; o++) {
                rp_to_stored(found[o], args->out[o].data, args->out[o].dtype, count[o]);
                if (memcmp(want[o], found[o], count[o] * rp_dtype_size(args->out[o].dtype)) != 0)
                    fail_msg("kernel %d, level %s, %zu parts, output %zu differs from element %zu on", (int)id,
                             levels[l], cuts[c], o,
                             rp_first_difference(want[o], found[o], args->out[o].dtype, count[o]));
            }
        }
    for (size_t o = 0; o < args->n_out; o++) {
        free(want[o]);
        free(found[o]);
    }
}

/* A plain view of its own memory, with rare values. */
static rp_view filled(rp_dtype dtype, int n, int h, int w, int c, uint64_t seed)
{
    const size_t count = (size_t)(n * h * w * c);
    float *values = malloc(count * sizeof(float));
    void *data = malloc(count * 8);

    assert_true(values != NULL && data != NULL);
    fill(values, count, seed);
    for (size_t i = 0; i < count; i++)
        if (dtype == RP_F32)
            ((float *)data)[i] = values[i];
        else
            ((double *)data)[i] = (double)values[i];
    free(values);
    return view_of(data, dtype, n, h, w, c, -1);
}

static void pooling_many_channels_has_the_bits_of_the_reference(void **state)
{
    static const rp_kernel_id ids[] = {RP_K_max_pool, RP_K_avg_pool, RP_K_max_pool_grad, RP_K_avg_pool_grad};
    enum { WIDE = 150 };

    (void)state;
    for (int w = 0; w < WINDOWS; w++)
        for (int form = 0; form < 8; form++) {
            const window *p = &windows[w];
            const rp_dtype dtype = form % 2 == 0 ? RP_F32 : RP_F64;
            rp_view x = filled(dtype, IMAGES, p->h, p->w, WIDE, 1),
                    y = filled(dtype, IMAGES, outputs(p, 0), outputs(p, 1), WIDE, 2);
            rp_view same = filled(dtype, IMAGES, p->h, p->w, WIDE, 3), in[2] = {form < 4 ? x : y, same};
            rp_attr attr[RP_MAX_ATTR];

            set_attr(attr, p);
            compare_levels(ids[form / 2], &(rp_kernel_args){in, form / 2 == 2 ? 2 : 1, form < 4 ? &y : &x, 1, attr});
            free(x.data);
            free(y.data);
            free(same.data);
        }
}

/* As the gradient of a flattened image lies: 37 outputs to a row are more than are turned at a time. Channels of one
 * and of several blocks. */
static void gradients_in_planes_have_the_bits_of_the_reference(void **state)
{
    static const rp_kernel_id ids[] = {RP_K_max_pool_grad, RP_K_avg_pool_grad};
    static const window wide[] = {{4, 75, {2, 2}, {2, 2}, {0, 0, 0, 0}, {1, 1}},
                                  {3, 37, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}}};

    (void)state;
    for (int form = 0; form < 80; form++) {
        static const int sizes[] = {70, 6, 1, 2, 3, 7, 12, 20, 31, 64};
        const window *p = &wide[form / 40];
        const int h = outputs(p, 0), w = outputs(p, 1), channels = sizes[form / 4 % 10];
        const rp_dtype dtype = form % 2 == 0 ? RP_F32 : RP_F64;
        rp_view dx = filled(dtype, IMAGES, p->h, p->w, channels, 1), x = filled(dtype, IMAGES, p->h, p->w, channels, 2);
        rp_view g = filled(dtype, IMAGES, h, w, channels, 3), y = filled(dtype, IMAGES, h, w, channels, 4);
        rp_attr attr[RP_MAX_ATTR];

        g.stride[1] = w;
        g.stride[2] = 1;
        g.stride[3] = (ptrdiff_t)h * w;
        set_attr(attr, p);
        compare_levels(ids[form / 2 % 2],
                       &(rp_kernel_args){(rp_view[]){g, x}, form / 2 % 2 == 0 ? 2 : 1, &dx, 1, attr});
        compare_levels(form / 2 % 2 == 0 ? RP_K_max_pool : RP_K_avg_pool, &(rp_kernel_args){&x, 1, &y, 1, attr});
        free(dx.data);
        free(x.data);
        free(g.data);
        free(y.data);
    }
}

/* Windows of 2 x 2 side by side, of few channels and of more than a vector's: rows that end with a part of a block,
 * pixels in no window, images that are columns of wider ones, gradients that lie in planes, rows too long to turn. */
static void pools_of_pairs_have_the_bits_of_the_reference(void **state)
{
    static const int widths[] = {2, 3, 9, 34, 71}, more[] = {24, 33, 70, 130};

    (void)state;
    for (int form = 0; form < 5 * 24 * 5; form++) {
        const int size = form / 5 % 24, channels = size < 20 ? size + 1 : more[size - 20];
        const window p = {form % 3 + 2, widths[form / 5 / 24], {2, 2}, {2, 2}, {0, 0, 0, 0}, {1, 1}};
        const int h = outputs(&p, 0), w = outputs(&p, 1), beside = form % 5 == 1;
        rp_view x = filled(RP_F32, IMAGES, p.h, p.w + beside, channels, 1),
                y = filled(RP_F32, IMAGES, h, w, channels, 2);
        rp_view dx = filled(RP_F32, IMAGES, p.h, p.w, channels, 3), g = filled(RP_F32, IMAGES, h, w, channels, 4);
        rp_attr attr[RP_MAX_ATTR];

        x.shape[2] = (size_t)p.w;
        if (form % 5 == 2) {
            g.stride[1] = w;
            g.stride[2] = 1;
            g.stride[3] = (ptrdiff_t)h * w;
        }
        if (form % 5 == 4) /* one value for all channels */
            g.stride[3] = 0;
        if (form % 5 == 3 && channels > 1) { /* the last is left out: rows have gaps */
            x.shape[3] = g.shape[3] = (size_t)channels - 1;
            y = view_of(y.data, RP_F32, IMAGES, h, w, channels - 1, -1);
            dx = view_of(dx.data, RP_F32, IMAGES, p.h, p.w, channels - 1, -1);
        }
        set_attr(attr, &p);
        compare_levels(RP_K_max_pool, &(rp_kernel_args){&x, 1, &y, 1, attr});
        compare_levels(RP_K_avg_pool, &(rp_kernel_args){&x, 1, &y, 1, attr});
        compare_levels(RP_K_max_pool_grad, &(rp_kernel_args){(rp_view[]){g, x}, 2, &dx, 1, attr});
        compare_levels(RP_K_avg_pool_grad, &(rp_kernel_args){&g, 1, &dx, 1, attr});
        free(x.data);
        free(y.data);
        free(dx.data);
        free(g.data);
    }
}

/* Results that are a part of a wider image: what lies between their rows, or between their pixels, stays. */
static void pools_of_pairs_write_their_view_alone(void **state)
{
    static const rp_kernel_id ids[] = {RP_K_max_pool, RP_K_avg_pool, RP_K_max_pool_grad, RP_K_avg_pool_grad};

    (void)state;
    for (int form = 0; form < 20 * 2 * 4; form++) {
        const int channels = form / 8 + 2, narrow = form / 4 % 2, back = form % 4 / 2;
        const window p = {5, 13, {2, 2}, {2, 2}, {0, 0, 0, 0}, {1, 1}};
        rp_view x = filled(RP_F32, IMAGES, 5, 13, channels - narrow, 1);
        rp_view g = filled(RP_F32, IMAGES, 2, 6, channels - narrow, 2);
        rp_view want =
            back ? filled(RP_F32, IMAGES, 5, 13 + 1, channels, 3) : filled(RP_F32, IMAGES, 2, 6 + 1, channels, 3);
        rp_attr attr[RP_MAX_ATTR];

        set_attr(attr, &p);
        for (size_t l = 0; l < n_levels; l++) {
            rp_view found =
                back ? filled(RP_F32, IMAGES, 5, 13 + 1, channels, 3) : filled(RP_F32, IMAGES, 2, 6 + 1, channels, 3);
            const rp_view in[2] = {back ? g : x, x};
            rp_view out = l == 0 ? want : found;
            const size_t whole = rp_view_count(&found);

            out.shape[2]--;
            out.shape[3] -= (size_t)narrow;
            call_kernel(levels[l], ids[form % 4], &out, 1, in, form % 4 == 2 ? 2 : 1, attr);
            if (l > 0)
                assert_same(levels[l], form, want.data, found.data, whole);
            free(found.data);
        }
        free(x.data);
        free(g.data);
        free(want.data);
    }
}

static void norm_of_many_rows_has_the_bits_of_the_reference(void **state)
{
    enum { WIDE = 70, SIDE = 65 }; /* 65 x 65 rows are more than a chunk */

    (void)state;
    for (int form = 0; form < 8; form++) {
        const rp_dtype dtype = form % 2 == 0 ? RP_F32 : RP_F64;
        const int side = form % 4 < 2 ? SIDE : 7;
        rp_view image[3], row[6];
        rp_attr attr[RP_MAX_ATTR] = {{.r = 1e-5}};

        for (int i = 0; i < 3; i++) {
            image[i] = filled(dtype, 1, side, side, WIDE, (uint64_t)i);
            for (size_t j = 0; j < rp_view_count(&image[i]); j++) /* finite, or every sum is a NaN */
                if (dtype == RP_F32)
                    ((float *)image[i].data)[j] = rp_uniform_f32(rp_random_u32(7, 0, (uint32_t)i, j)) - 0.4f;
                else
                    ((double *)image[i].data)[j] = (double)rp_uniform_f32(rp_random_u32(7, 0, (uint32_t)i, j)) - 0.4;
        }
        for (int i = 0; i < 6; i++) {
            row[i] = view_of(filled(dtype, 1, 1, 1, WIDE, 9).data, dtype, WIDE, -1);
            for (size_t j = 0; j < WIDE; j++)
                if (dtype == RP_F32)
                    ((float *)row[i].data)[j] = rp_uniform_f32(rp_random_u32(8, 0, (uint32_t)i, j));
                else
                    ((double *)row[i].data)[j] = (double)rp_uniform_f32(rp_random_u32(8, 0, (uint32_t)i, j));
        }
        for (int i = 0; i < 2 && form >= 4; i++) { /* operands in planes: their channels lie apart */
            image[i].stride[1] = side;
            image[i].stride[2] = 1;
            image[i].stride[3] = (ptrdiff_t)side * side;
        }
        compare_levels(RP_K_batch_norm,
                       &(rp_kernel_args){(rp_view[]){image[0], row[0], row[1], row[2], row[3]}, 5, &image[2], 1, attr});
        compare_levels(RP_K_batch_norm_train, &(rp_kernel_args){(rp_view[]){image[0], row[0], row[1]}, 3,
                                                                (rp_view[]){image[2], row[4], row[5]}, 3, attr});
        compare_levels(RP_K_batch_norm_grad, &(rp_kernel_args){(rp_view[]){image[0], image[1], row[0], row[1], row[2]},
                                                               5, (rp_view[]){image[2], row[4], row[5]}, 3, attr});
        for (int i = 0; i < 3; i++)
            free(image[i].data);
        for (int i = 0; i < 6; i++)
            free(row[i].data);
    }
}

static int enter(void **state)
{
    static rp_fpenv saved;

    (void)state;
    n_levels = rp_kernel_levels(&levels);
    return rp_fpenv_enter(&saved, NULL, NULL) == RP_OK ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pooling_and_its_gradients_follow_the_contracts_text),
        cmocka_unit_test(the_contracts_pooling_examples_hold),
        cmocka_unit_test(batch_norm_follows_the_contracts_text),
        cmocka_unit_test(the_contracts_batch_norm_example_holds),
        cmocka_unit_test(gradients_agree_with_finite_differences),
        cmocka_unit_test(pooling_many_channels_has_the_bits_of_the_reference),
        cmocka_unit_test(gradients_in_planes_have_the_bits_of_the_reference),
        cmocka_unit_test(pools_of_pairs_have_the_bits_of_the_reference),
        cmocka_unit_test(pools_of_pairs_write_their_view_alone),
        cmocka_unit_test(norm_of_many_rows_has_the_bits_of_the_reference),
    };

    return cmocka_run_group_tests(tests, enter, NULL);
}
