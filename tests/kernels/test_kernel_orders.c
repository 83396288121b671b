/* SPDX-License-Identifier: Apache-2.0
 * The orders of CONTRACT 4.1 and 4.4, checked against tiny second implementations written from the contract's text, on
 * data where other orders give other bits. */
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

static void fill(float *x, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++)
        x[i] = rp_uniform_f32(rp_random_u32(seed, 0, 0, i)) * (i % 3 == 0 ? 1000.0f : 1.0f);
}

/* CONTRACT 4.1, from the text: chunks of 4096, element i of a chunk to lane i mod 64, lanes folded by halves, and the
 * chunk sums summed by the same rule until one is left. */
static float contract_sum(const float *x, size_t n)
{
    size_t chunks = (n + 4095) / 4096;
    float *sums, total;

    if (n == 0)
        return 0;
    sums = malloc(chunks * sizeof *sums);
    assert_non_null(sums);
    for (size_t c = 0; c < chunks; c++) {
        float lane[64] = {0};

        for (size_t i = c * 4096; i < n && i < (c + 1) * 4096; i++)
            lane[i % 64] = lane[i % 64] + x[i];
        for (int half = 32; half >= 1; half /= 2)
            for (int l = 0; l < half; l++)
                lane[l] = lane[l] + lane[l + half];
        sums[c] = lane[0];
    }
    total = chunks == 1 ? sums[0] : contract_sum(sums, chunks);
    free(sums);
    return total;
}

static float kernel_sum(const char *level, float *x, size_t n)
{
    const rp_attr attr[RP_MAX_ATTR] = {{.n = 1, .list = {0}}};
    rp_view in = view_of(x, RP_F32, (int)n, -1);
    float y = -1;
    rp_view out = view_of(&y, RP_F32, 1, -1);

    call_kernel(level, RP_K_sum, &out, 1, &in, 1, attr);
    return y;
}

static void sum_has_the_contracts_bits_for_every_length_and_offset(void **state)
{
    enum { MOST = 13000 };
    float *x = malloc((MOST + 16) * sizeof *x);

    (void)state;
    assert_non_null(x);
    fill(x, MOST + 16, 7);
    for (size_t n = 0; n < MOST; n += n < 260 ? 1 : n > 4090 && n < 4110 ? 1 : 997 - (n > 3200 && n < 4090) * 900)
        for (size_t offset = 0; offset < (n < 260 ? 4 : 2); offset++) {
            const float want = contract_sum(x + offset, n);

            assert_int_equal(rp_bits_f32(rp_sum_f32(x + offset, n, 1)), rp_bits_f32(want));
            for (size_t l = 0; l < n_levels; l++) {
                const float found = kernel_sum(levels[l], x + offset, n);

                if (rp_bits_f32(found) != rp_bits_f32(want))
                    fail_msg("sum, level %s, n %zu, offset %zu: expected %a, found %a", levels[l], n, offset,
                             (double)want, (double)found);
            }
        }
    free(x);
}

/* Three plausible other orders each give other bits on some of a few inputs, so the test above can tell. */
static void sums_in_other_orders_have_other_bits(void **state)
{
    enum { N = 10000, SEEDS = 8 };
    static float x[N];
    int differ[3] = {0};

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        float left_to_right = 0, lanes32[32] = {0}, one_chunk[64] = {0}, want;

        fill(x, N, seed);
        want = contract_sum(x, N);
        for (size_t i = 0; i < N; i++) {
            left_to_right += x[i];
            lanes32[i % 32] += x[i];
            one_chunk[i % 64] += x[i];
        }
        for (int half = 32; half >= 1; half /= 2)
            for (int l = 0; l < half; l++) {
                one_chunk[l] += one_chunk[l + half];
                if (half <= 16)
                    lanes32[l] += lanes32[l + half];
            }
        differ[0] += left_to_right != want;
        differ[1] += lanes32[0] != want;
        differ[2] += one_chunk[0] != want;
    }
    assert_true(differ[0] > 0 && differ[1] > 0 && differ[2] > 0);
}

static void sum_of_a_third_level_of_chunks_has_the_contracts_bits(void **state)
{
    enum { N = 4096 * 4096 + 4096 * 3 + 5 };
    float *x = malloc(N * sizeof *x);
    float want;

    (void)state;
    assert_non_null(x);
    for (size_t i = 0; i < N; i++)
        x[i] = (float)(i % 1013) * 0x1.23456p-3f;
    want = contract_sum(x, N);
    for (size_t l = 0; l < n_levels; l++)
        assert_int_equal(rp_bits_f32(kernel_sum(levels[l], x, N)), rp_bits_f32(want));
    free(x);
}

static void sum_over_several_axes_is_row_major(void **state)
{
    enum { A = 7, B = 5, C = 130 };
    static float x[A][B][C];
    const rp_attr attr[RP_MAX_ATTR] = {{.n = 2, .list = {0, 2}}};
    rp_view in = view_of(x, RP_F32, A, B, C, -1);
    float y[B], gathered[A * C];
    rp_view out = view_of(y, RP_F32, 1, B, 1, -1);

    (void)state;
    fill(&x[0][0][0], A * B * C, 11);
    for (size_t l = 0; l < n_levels; l++) {
        call_kernel(levels[l], RP_K_sum, &out, 1, &in, 1, attr);
        for (size_t b = 0; b < B; b++) {
            for (size_t a = 0; a < A; a++)
                memcpy(gathered + a * C, x[a][b], sizeof x[a][b]);
            assert_int_equal(rp_bits_f32(y[b]), rp_bits_f32(contract_sum(gathered, A * C)));
        }
    }
}

static void mean_is_the_sum_divided_by_the_count(void **state)
{
    static float x[301];
    const rp_attr attr[RP_MAX_ATTR] = {{.n = 1, .list = {0}}};
    rp_view in = view_of(x, RP_F32, 301, -1);
    float y;
    rp_view out = view_of(&y, RP_F32, 1, -1);

    (void)state;
    fill(x, 301, 3);
    call_kernel("ref", RP_K_mean, &out, 1, &in, 1, attr);
    assert_int_equal(rp_bits_f32(y), rp_bits_f32(contract_sum(x, 301) / 301.0f));
    in.shape[0] = 0;
    call_kernel("ref", RP_K_mean, &out, 1, &in, 1, attr);
    assert_true(y != y);
}

/* CONTRACT 4.4, from the text. `chunk` is 512 in the contract. */
static float contract_dot(const float *a, const float *b, size_t b_row, size_t k, size_t chunk)
{
    float total = 0;

    for (size_t start = 0; start < k; start += chunk) {
        float chain = 0;

        for (size_t i = start; i < k && i < start + chunk; i++)
            chain = fmaf(a[i], b[i * b_row], chain);
        total = start == 0 ? chain : total + chain;
    }
    return total;
}

static void matmul_runs_chains_of_512_added_left_to_right(void **state)
{
    static const size_t lengths[] = {0, 1, 2, 511, 512, 513, 1024, 1025, 1537, 2100};
    enum { M = 14, N = 37, K = 2100 };
    static float a[M * K], b[K * N], y[M * N];
    bool other_chunk = false, plain_chain = false;

    (void)state;
    fill(a, M * K, 21);
    fill(b, K * N, 22);
    for (size_t c = 0; c < sizeof lengths / sizeof lengths[0]; c++)
        for (size_t l = 0; l < n_levels; l++) {
            const size_t k = lengths[c];
            rp_view in[2] = {view_of(a, RP_F32, M, (int)k, -1), view_of(b, RP_F32, (int)k, N, -1)};
            rp_view out = view_of(y, RP_F32, M, N, -1);

            call_kernel(levels[l], RP_K_matmul, &out, 1, in, 2, NULL);
            for (size_t i = 0; i < M; i++)
                for (size_t j = 0; j < N; j++) {
                    const float want = contract_dot(a + i * k, b + j, N, k, 512);

                    if (rp_bits_f32(want) != rp_bits_f32(y[i * N + j]))
                        fail_msg("matmul, level %s, k %zu, element [%zu, %zu]: expected %a, found %a", levels[l], k, i,
                                 j, (double)want, (double)y[i * N + j]);
                    other_chunk |= want != contract_dot(a + i * k, b + j, N, k, 256);
                    plain_chain |= want != contract_dot(a + i * k, b + j, N, k, k + 1);
                }
        }
    assert_true(other_chunk && plain_chain); /* the data tells the orders apart */
}

/* A chunk sum can be -0 (a tiny negative product rounds to it), and a first chunk is kept as it is. */
static void a_matmul_of_one_tiny_negative_product_is_minus_zero(void **state)
{
    float a[1] = {-0x1p-100f}, b[1] = {0x1p-100f}, y = 1;
    rp_view in[2] = {view_of(a, RP_F32, 1, 1, -1), view_of(b, RP_F32, 1, 1, -1)}, out = view_of(&y, RP_F32, 1, 1, -1);

    (void)state;
    for (size_t l = 0; l < n_levels; l++) {
        call_kernel(levels[l], RP_K_matmul, &out, 1, in, 2, NULL);
        assert_int_equal(rp_bits_f32(y), 0x80000000u);
    }
}

static void a_row_of_matmul_does_not_depend_on_the_others(void **state)
{
    enum { M = 29, N = 50, K = 700 };
    static float a[M * K], b[K * N], all[M * N], one[N];

    (void)state;
    fill(a, M * K, 31);
    fill(b, K * N, 32);
    for (size_t l = 0; l < n_levels; l++) {
        rp_view in[2] = {view_of(a, RP_F32, M, K, -1), view_of(b, RP_F32, K, N, -1)};
        rp_view out = view_of(all, RP_F32, M, N, -1), row = view_of(one, RP_F32, 1, N, -1);

        call_kernel(levels[l], RP_K_matmul, &out, 1, in, 2, NULL);
        for (size_t i = 0; i < M; i++) {
            in[0] = view_of(a + i * K, RP_F32, 1, K, -1);
            call_kernel(levels[l], RP_K_matmul, &row, 1, in, 2, NULL);
            assert_memory_equal(one, all + i * N, sizeof one);
        }
    }
}

static void scatter_adds_in_ascending_source_order(void **state)
{
    float g[4] = {0x1p24f, 1, 1, -0x1p24f}, y[2] = {9, 9};
    int64_t index[4] = {1, 1, 1, 1};
    const rp_attr attr[RP_MAX_ATTR] = {{.i = 0}};
    rp_view in[2] = {view_of(g, RP_F32, 4, -1), view_of(index, RP_I64, 4, -1)}, out = view_of(y, RP_F32, 2, -1);

    (void)state;
    call_kernel("ref", RP_K_scatter_add, &out, 1, in, 2, attr);
    assert_true(y[0] == 0 && y[1] == 0); /* each 1 is lost beside 2^24; any other order keeps one */
    memcpy(g, (float[4]){1, 1, 0x1p24f, -0x1p24f}, sizeof g);
    call_kernel("ref", RP_K_scatter_add, &out, 1, in, 2, attr);
    assert_true(y[1] == 2);
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
        cmocka_unit_test(sum_has_the_contracts_bits_for_every_length_and_offset),
        cmocka_unit_test(sums_in_other_orders_have_other_bits),
        cmocka_unit_test(sum_of_a_third_level_of_chunks_has_the_contracts_bits),
        cmocka_unit_test(sum_over_several_axes_is_row_major),
        cmocka_unit_test(mean_is_the_sum_divided_by_the_count),
        cmocka_unit_test(matmul_runs_chains_of_512_added_left_to_right),
        cmocka_unit_test(a_matmul_of_one_tiny_negative_product_is_minus_zero),
        cmocka_unit_test(a_row_of_matmul_does_not_depend_on_the_others),
        cmocka_unit_test(scatter_adds_in_ascending_source_order),
    };

    return cmocka_run_group_tests(tests, enter, NULL);
}
