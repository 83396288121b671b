/* SPDX-License-Identifier: Apache-2.0
 * The gradients of layer norm, RMS norm (CONTRACT 7.5, 7.10) and group norm (7.11) against the contract's text and its
 * worked examples, at every level; other layouts and cuts are compared in test_kernels.c. */
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

static const char *const *levels;
static size_t n_levels;

static void draw(float *x, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++)
        x[i] = rp_uniform_f32(rp_random_u32(seed, 0, 0, i)) - 0.375f;
}

static void assert_bits(const char *what, size_t i, float found, float want)
{
    if (rp_bits_f32(found) != rp_bits_f32(want))
        fail_msg("%s, element %zu: expected %08x, found %08x", what, i, rp_bits_f32(want), rp_bits_f32(found));
}

static void assert_words(const char *what, const float *found, const uint32_t *want, size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_bits(what, i, found[i], rp_from_bits_f32(want[i]));
}

static const rp_attr eps[RP_MAX_ATTR] = {{.r = 1e-5}, {.i = 1}};

static void the_contracts_examples_of_rows_hold(void **state)
{
    static const uint32_t dx_layer[4] = {0x3E448765, 0xBFD2FBA0, 0xBF49E54F, 0x400FAEAD};
    static const uint32_t q_layer[4] = {0x3E2CFCDD, 0x3FA4569F, 0x3EB5A31B, 0xBF722ECF};
    static const uint32_t y_rms[4] = {0x3F5E22CE, 0xBF5E22CE, 0x3F5E22CE, 0x3E5E22CE};
    static const uint32_t dx_rms[4] = {0x3D87E68D, 0xBFC69DA8, 0xBF2064D1, 0x3FD2603B};
    static const uint32_t q_rms[4] = {0x3EDE22CE, 0x3EDE22CE, 0x3EDE22CE, 0x3EDE22CE};
    float x[4] = {1, -0.5f, 2, 0.25f}, g[4] = {0.5f, -1, 0.25f, 2}, gamma[4] = {1, 2, 0.5f, 1}, y[4], q[4], p[4];
    const rp_view v_x = view_of(x, RP_F32, 1, 4, -1), v_g = view_of(g, RP_F32, 1, 4, -1);
    const rp_view v_gamma = view_of(gamma, RP_F32, 4, -1), back[3] = {v_g, v_x, v_gamma};
    const rp_view out[3] = {view_of(y, RP_F32, 1, 4, -1), view_of(q, RP_F32, 1, 1, 4, -1),
                            view_of(p, RP_F32, 1, 1, 4, -1)};

    (void)state;
    for (size_t l = 0; l < n_levels; l++) {
        call_kernel(levels[l], RP_K_layer_norm_backward, out, 3, back, 3, eps);
        assert_words("layer_norm_backward, dx", y, dx_layer, 4);
        assert_words("layer_norm_backward, q", q, q_layer, 4);
        assert_memory_equal(p, g, sizeof g);
        call_kernel(levels[l], RP_K_rms_norm, out, 1, &back[1], 2, eps);
        assert_words("rms_norm", y, y_rms, 4);
        call_kernel(levels[l], RP_K_rms_norm_grad, out, 2, back, 3, eps);
        assert_words("rms_norm_grad, dx", y, dx_rms, 4);
        assert_words("rms_norm_grad, q", q, q_rms, 4);
    }
}

/* Rows that a new axis repeats, with an axis of length 1 between, whose stride says nothing: not rows at one step. */
static void repeated_rows_are_those_that_they_repeat(void **state)
{
    enum { N = 2 * 3 * 4 };
    static const rp_kernel_id kernels[] = {RP_K_layer_norm, RP_K_rms_norm};
    float x[12 + 12], copy[N], gamma[4] = {1, 2, 0.5f, 1}, beta[4] = {0, 1, -1, 2}, y[N], want[N];
    const rp_view v_gamma = view_of(gamma, RP_F32, 4, -1), v_beta = view_of(beta, RP_F32, 4, -1);
    rp_view repeated = view_of(x, RP_F32, 2, 1, 3, 4, -1), out = view_of(y, RP_F32, 2, 1, 3, 4, -1), apart, wanted;

    (void)state;
    draw(x, 24, 3); /* what lies behind is not to be read */
    memcpy(copy, x, sizeof x / 2);
    memcpy(copy + 12, x, sizeof x / 2);
    repeated.stride[0] = repeated.stride[1] = 0;
    apart = view_of(copy, RP_F32, 2, 1, 3, 4, -1);
    wanted = view_of(want, RP_F32, 2, 1, 3, 4, -1);
    for (size_t l = 0; l < n_levels; l++)
        for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
            const rp_view in[3] = {repeated, v_gamma, v_beta}, plain[3] = {apart, v_gamma, v_beta};
            const size_t n = kernels[k] == RP_K_layer_norm ? 3 : 2;

            call_kernel(levels[l], kernels[k], &out, 1, in, n, eps);
            call_kernel(levels[l], kernels[k], &wanted, 1, plain, n, eps);
            for (size_t i = 0; i < N; i++)
                assert_bits("norm of repeated rows", i, y[i], want[i]);
        }
}

static void the_contracts_example_of_group_norm_holds(void **state)
{
    static const uint32_t y[6] = {0x3EACFCDD, 0xBFC8AD3E, 0x3FB5A31B, 0x3D5D1310, 0x3F300000, 0x3F5B0000};
    static const uint32_t dx[8] = {0xBE9FDFF1, 0xC01F52A4, 0xBF6EDD29, 0x406F05EC,
                                   0x3F0610C5, 0x3EACFCDE, 0x3F400000, 0x3F800000};
    float x[4] = {1, -0.5f, 2, 0.25f}, g[4] = {0.5f, -1, 0.25f, 2}, gamma[2] = {1, 2}, beta[2] = {0, 1}, found[14];
    const rp_view v_x = view_of(x, RP_F32, 1, 2, 2, -1), v_g = view_of(g, RP_F32, 1, 2, 2, -1);
    const rp_view v_gamma = view_of(gamma, RP_F32, 2, -1), v_beta = view_of(beta, RP_F32, 2, -1);
    const rp_view out[3] = {view_of(found, RP_F32, 1, 2, 2, -1), view_of(found + 4, RP_F32, 1, 1, -1),
                            view_of(found + 5, RP_F32, 1, 1, -1)};
    const rp_view grad[3] = {view_of(found + 6, RP_F32, 1, 2, 2, -1), view_of(found + 10, RP_F32, 1, 2, -1),
                             view_of(found + 12, RP_F32, 1, 2, -1)};

    (void)state;
    for (size_t l = 0; l < n_levels; l++) {
        call_kernel(levels[l], RP_K_group_norm, out, 3, (rp_view[]){v_x, v_gamma, v_beta}, 3, eps);
        call_kernel(levels[l], RP_K_group_norm_grad, grad, 3, (rp_view[]){v_g, v_x, v_gamma, out[1], out[2]}, 5, eps);
        assert_words("group_norm: y, mean, var", found, y, 6);
        assert_words("group_norm_grad: dx, q, p", found + 6, dx, 8);
    }
}

/* More rows than a chunk of 4.1 has. What the lanes fold to is the sum over the rows, by the library's own summation.
 */
static void lanes_fold_to_the_sums_over_the_rows(void **state)
{
    enum { ROWS = 4096 + 77, N = 19, CHUNKS = 2 };
    float *x = malloc(4 * ROWS * N * sizeof *x), *g = x + ROWS * N, *dx = x + 2 * ROWS * N, *terms = x + 3 * ROWS * N;
    float gamma[N], part[64], chunk[CHUNKS], d[N];
    static float lanes[2][CHUNKS][64][N];
    const rp_view out[3] = {view_of(dx, RP_F32, ROWS, N, -1), view_of(lanes[0], RP_F32, CHUNKS, 64, N, -1),
                            view_of(lanes[1], RP_F32, CHUNKS, 64, N, -1)};
    const rp_view in[3] = {view_of(g, RP_F32, ROWS, N, -1), view_of(x, RP_F32, ROWS, N, -1),
                           view_of(gamma, RP_F32, N, -1)};

    (void)state;
    assert_non_null(x);
    draw(x, 2 * ROWS * N, 3);
    draw(gamma, N, 4);
    for (size_t l = 0; l < n_levels; l++)
        for (int rms = 0; rms < 2; rms++) {
            memset(lanes, 0xA5, sizeof lanes);
            call_kernel(levels[l], rms ? RP_K_rms_norm_grad : RP_K_layer_norm_backward, out, rms ? 2 : 3, in, 3, eps);
            for (size_t i = 0; i < ROWS; i++) {
                const float *row = x + i * N, mean = rms ? 0 : rp_sum_f32(row, N, 1) / N;
                float r;

                for (size_t c = 0; c < N; c++)
                    d[c] = (row[c] - mean) * (row[c] - mean);
                r = 1 / sqrtf(rp_sum_f32(d, N, 1) / N + 1e-5f);
                for (size_t c = 0; c < N; c++)
                    terms[i * N + c] = g[i * N + c] * ((row[c] - mean) * r);
            }
            for (int sum = 0; sum < 2 - rms; sum++)
                for (size_t c = 0; c < N; c++) {
                    for (size_t k = 0; k < CHUNKS; k++) {
                        for (size_t i = 0; i < 64; i++)
                            part[i] = lanes[sum][k][i][c];
                        chunk[k] = rp_sum_f32(part, 64, 1);
                    }
                    assert_bits(sum ? "sum of g" : "sum of g z", c, rp_sum_f32(chunk, CHUNKS, 1),
                                rp_sum_f32((sum ? g : terms) + c, ROWS, N));
                }
        }
    free(x);
}

enum { SAMPLES = 2, POSITIONS = 4096 + 130, WIDTH = 5, GROUPS = 2, CHANNELS = GROUPS * WIDTH };

/* A sum over a group: of its channels' sums over the positions. */
static float group_sum(const float *x, size_t group)
{
    float sum[WIDTH];

    for (size_t c = 0; c < WIDTH; c++)
        sum[c] = rp_sum_f32(x + group * WIDTH + c, POSITIONS, CHANNELS);
    return rp_sum_f32(sum, WIDTH, 1);
}

/* What group k of a sample has, from the text alone: mean, var, then q, p, a and b. */
typedef struct group_values {
    float mean, var, r, q[WIDTH], p[WIDTH], a, b;
} group_values;

static group_values values_of(const float *x, const float *g, const float *gamma, size_t k)
{
    static float work[POSITIONS * CHANNELS];
    const float n = (float)POSITIONS * WIDTH;
    float a[WIDTH], b[WIDTH];
    group_values v = {.mean = group_sum(x, k) / n};

    for (size_t i = 0; i < POSITIONS * CHANNELS; i++)
        work[i] = (x[i] - v.mean) * (x[i] - v.mean);
    v.var = group_sum(work, k) / n;
    v.r = 1 / sqrtf(v.var + 1e-5f);
    for (size_t i = 0; i < POSITIONS * CHANNELS; i++)
        work[i] = g[i] * ((x[i] - v.mean) * v.r);
    for (size_t c = 0; c < WIDTH; c++) {
        v.q[c] = rp_sum_f32(work + k * WIDTH + c, POSITIONS, CHANNELS);
        v.p[c] = rp_sum_f32(g + k * WIDTH + c, POSITIONS, CHANNELS);
        a[c] = gamma[k * WIDTH + c] * v.p[c];
        b[c] = gamma[k * WIDTH + c] * v.q[c];
    }
    v.a = rp_sum_f32(a, WIDTH, 1) / n;
    v.b = rp_sum_f32(b, WIDTH, 1) / n;
    return v;
}

static void group_norm_follows_the_contracts_text(void **state)
{
    enum { ONE = POSITIONS * CHANNELS, N = SAMPLES * ONE };
    const rp_attr attr[RP_MAX_ATTR] = {{.r = 1e-5}, {.i = GROUPS}};
    float *x = malloc(4 * N * sizeof *x), *g = x + N, *y = x + 2 * N, *dx = x + 3 * N, gamma[CHANNELS], beta[CHANNELS];
    float mean[SAMPLES * GROUPS], var[SAMPLES * GROUPS], q[SAMPLES * CHANNELS], p[SAMPLES * CHANNELS];
    const rp_view v_x = view_of(x, RP_F32, SAMPLES, POSITIONS, CHANNELS, -1);
    const rp_view v_g = view_of(g, RP_F32, SAMPLES, POSITIONS, CHANNELS, -1);
    const rp_view v_gamma = view_of(gamma, RP_F32, CHANNELS, -1), v_beta = view_of(beta, RP_F32, CHANNELS, -1);
    const rp_view out[3] = {view_of(y, RP_F32, SAMPLES, POSITIONS, CHANNELS, -1),
                            view_of(mean, RP_F32, SAMPLES, GROUPS, -1), view_of(var, RP_F32, SAMPLES, GROUPS, -1)};
    const rp_view grad[3] = {view_of(dx, RP_F32, SAMPLES, POSITIONS, CHANNELS, -1),
                             view_of(q, RP_F32, SAMPLES, CHANNELS, -1), view_of(p, RP_F32, SAMPLES, CHANNELS, -1)};

    (void)state;
    assert_non_null(x);
    draw(x, 2 * N, 5);
    draw(gamma, CHANNELS, 6);
    draw(beta, CHANNELS, 7);
    for (size_t l = 0; l < n_levels; l++) {
        call_kernel(levels[l], RP_K_group_norm, out, 3, (rp_view[]){v_x, v_gamma, v_beta}, 3, attr);
        call_kernel(levels[l], RP_K_group_norm_grad, grad, 3, (rp_view[]){v_g, v_x, v_gamma, out[1], out[2]}, 5, attr);
        for (size_t s = 0; s < SAMPLES; s++)
            for (size_t k = 0; k < GROUPS; k++) {
                const group_values v = values_of(x + s * ONE, g + s * ONE, gamma, k);

                assert_bits("mean", s * GROUPS + k, mean[s * GROUPS + k], v.mean);
                assert_bits("var", s * GROUPS + k, var[s * GROUPS + k], v.var);
                for (size_t j = 0; j < WIDTH; j++) {
                    const size_t c = k * WIDTH + j;

                    assert_bits("q", s * CHANNELS + c, q[s * CHANNELS + c], v.q[j]);
                    assert_bits("p", s * CHANNELS + c, p[s * CHANNELS + c], v.p[j]);
                    for (size_t i = s * ONE + c; i < (s + 1) * ONE; i += CHANNELS) {
                        const float z = (x[i] - v.mean) * v.r, product = z * gamma[c];

                        assert_bits("y", i, y[i], product + beta[c]);
                        assert_bits("dx", i, dx[i], ((g[i] * gamma[c] - v.a) - z * v.b) * v.r);
                    }
                }
            }
    }
    free(x);
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
        cmocka_unit_test(the_contracts_examples_of_rows_hold),
        cmocka_unit_test(repeated_rows_are_those_that_they_repeat),
        cmocka_unit_test(the_contracts_example_of_group_norm_holds),
        cmocka_unit_test(lanes_fold_to_the_sums_over_the_rows),
        cmocka_unit_test(group_norm_follows_the_contracts_text),
    };

    return cmocka_run_group_tests(tests, enter, NULL);
}
