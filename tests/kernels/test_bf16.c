/* SPDX-License-Identifier: Apache-2.0
 * bfloat16 (CONTRACT 2.5 and 4.4): every conversion rounds once, every operand of a product is widened exactly, and
 * gradients are binary32. The oracles compare distances; they share no code with the rounding. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "audit/archive/safetensors.h"
#include "determinism/bits.h"
#include "determinism/fpenv.h"
#include "determinism/philox.h"
#include "tests/kernels/kernel_call.h"
#include "rp/rp.h"
#include "tests/house/sanitized.h"

static const char *const *levels;
static size_t n_levels;

static void convert_at(const char *level, void *to, rp_dtype to_dtype, void *from, rp_dtype from_dtype, int n)
{
    const rp_view in = view_of(from, from_dtype, n, -1), out = view_of(to, to_dtype, n, -1);

    call_kernel(level, RP_K_cast, &out, 1, &in, 1, NULL);
}

/* At every level; all must give the same, as stored (which NaN it is shows nowhere). */
static void convert(void *to, rp_dtype to_dtype, void *from, rp_dtype from_dtype, int n)
{
    const size_t bytes = (size_t)n * rp_dtype_size(to_dtype);
    unsigned char *first = malloc(2 * bytes), *other = first + bytes;

    assert_non_null(first);
    for (size_t l = 0; l < n_levels; l++) {
        memset(to, 0xA5, bytes);
        convert_at(levels[l], to, to_dtype, from, from_dtype, n);
        rp_to_stored(l == 0 ? first : other, to, to_dtype, (size_t)n);
        if (l > 0 && memcmp(first, other, bytes) != 0)
            fail_msg("%s to %s: level %s has other bits than %s", rp_dtype_name(from_dtype), rp_dtype_name(to_dtype),
                     levels[l], levels[0]);
    }
    free(first);
}

static void every_bf16_widens_exactly_and_comes_back(void **state)
{
    enum { N = 1 << 16 };
    static uint16_t x[N], back[N];
    static float f[N];
    static double d[N];
    static uint8_t truth[N];
    static int32_t int_of_half[N], int_of_float[N];
    static int64_t long_of_half[N], long_of_float[N];

    (void)state;
    for (int i = 0; i < N; i++)
        x[i] = (uint16_t)i;
    convert(f, RP_F32, x, RP_BF16, N);
    convert(d, RP_F64, x, RP_BF16, N);
    convert(truth, RP_BOOL, x, RP_BF16, N);
    convert(int_of_half, RP_I32, x, RP_BF16, N);
    convert(int_of_float, RP_I32, f, RP_F32, N);
    convert(long_of_half, RP_I64, x, RP_BF16, N);
    convert(long_of_float, RP_I64, f, RP_F32, N);
    assert_memory_equal(int_of_half, int_of_float, sizeof int_of_half);
    assert_memory_equal(long_of_half, long_of_float, sizeof long_of_half);
    for (int i = 0; i < N; i++) {
        const bool nan = (i & 0x7FFF) > 0x7F80;

        assert_true(nan ? f[i] != f[i] && d[i] != d[i]
                        : rp_bits_f32(f[i]) == (uint32_t)i << 16 && d[i] == (double)f[i]);
        assert_int_equal(truth[i], (i & 0x7FFF) != 0);
        if (nan)
            x[i] = 0x7FC0;
    }
    convert(back, RP_BF16, f, RP_F32, N);
    assert_memory_equal(back, x, sizeof x);
    convert(back, RP_BF16, d, RP_F64, N);
    assert_memory_equal(back, x, sizeof x);
}

/* The neighbour of u below in magnitude is its upper half; which is nearer follows from the lower half. All of them at
 * the level that is chosen by itself, and a sample with all NaNs at the others. */
static void every_f32_goes_to_the_nearest_bf16(void **state)
{
    enum { N = 1 << 16 };
    static uint32_t bits[N];
    static uint16_t found[N];
    static float x[N];

    (void)state;
    for (uint32_t high = 0; high < 1u << 16; high++) {
        const bool nan_or_infinity = (high & 0x7F80) == 0x7F80;
        size_t wrong = 0;

        if (SANITIZED && high % 17 != 0 && high % 0x8000 != 0 && high % 0x8000 != 0x7F80) /* odd, even and the ends */
            continue;
        for (uint32_t low = 0; low < N; low++)
            bits[low] = high << 16 | low;
        memcpy(x, bits, sizeof x);
        if (nan_or_infinity || high % 64 == 0)
            convert(found, RP_BF16, x, RP_F32, N);
        else
            convert_at(NULL, found, RP_BF16, x, RP_F32, N);
        if (nan_or_infinity)
            for (uint32_t low = 0; low < N; low++)
                wrong += rp_canonical_bf16(found[low]) != ((high & 0x7F) != 0 || low != 0 ? 0x7FC0 : high);
        else
            for (uint32_t low = 0; low < N; low++)
                wrong += found[low] != high + (low > N / 2 || (low == N / 2 && high % 2 == 1));
        if (wrong != 0)
            fail_msg("%zu of the f32 that begin with %04x", wrong, high);
    }
}

/* Halfway between neighbours, and as little beside it as binary64 allows: through binary32 the latter would be lost. */
static void f64_is_rounded_once(void **state)
{
    (void)state;
    for (uint32_t u = 0; u < 0x7F80; u++) {
        const double low = (double)rp_f32_of_bf16((uint16_t)u);
        const double high = u == 0x7F7F ? 0x1p128 : (double)rp_f32_of_bf16((uint16_t)(u + 1)), half = (low + high) / 2;
        double x[6] = {half, nextafter(half, 0), nextafter(half, INFINITY)};
        const uint16_t even = (uint16_t)(u + u % 2), sign = 0x8000;
        const uint16_t want[6] = {even,        (uint16_t)u,        (uint16_t)(u + 1),
                                  even | sign, (uint16_t)u | sign, (uint16_t)(u + 1) | sign};
        uint16_t found[6];

        for (int i = 0; i < 3; i++)
            x[3 + i] = -x[i];
        convert(found, RP_BF16, x, RP_F64, 6);
        assert_memory_equal(found, want, sizeof want);
    }
}

static void integers_are_rounded_once(void **state)
{
    int64_t x[] = {0,
                   1,
                   -1,
                   255,
                   256,
                   257,
                   258,
                   259,
                   -259,
                   INT64_MAX,
                   INT64_MIN,
                   (257ll << 40) + 1,
                   257ll << 40,
                   (257ll << 40) - 1,
                   (259ll << 40) - 1,
                   259ll << 40};
    const uint16_t want[] = {0,      0x3F80, 0xBF80, 0x437F, 0x4380, 0x4380, 0x4381, 0x4382,
                             0xC382, 0x5F00, 0xDF00, 0x5781, 0x5780, 0x5780, 0x5781, 0x5782};
    uint16_t found[sizeof want / sizeof want[0]];

    (void)state;
    convert(found, RP_BF16, x, RP_I64, (int)(sizeof want / sizeof want[0]));
    assert_memory_equal(found, want, sizeof want);
}

/* Every width of the significand and every shift of it, as i32 and as i64. */
static void i32_is_rounded_as_i64_is(void **state)
{
    enum { N = 1 << 16 };
    static int32_t narrow[N];
    static int64_t wide[N];
    static uint16_t found[N], want[N];

    (void)state;
    for (int i = 0; i < N; i++) {
        narrow[i] = (int32_t)(rp_random_u32(3, 0, 0, (uint64_t)i) >> i % 32 << i / 32 % 16);
        wide[i] = narrow[i];
    }
    convert(found, RP_BF16, narrow, RP_I32, N);
    convert(want, RP_BF16, wide, RP_I64, N);
    assert_memory_equal(found, want, sizeof found);
}

/* Two planes whose axes change places: whole tiles and what is left of them, from anywhere to anywhere. */
static void a_transposed_copy_moves_every_element(void **state)
{
    static const size_t sizes[][2] = {{32, 64}, {64, 32}, {100, 150}, {150, 100}, {7, 200}, {200, 7}, {2900, 2900}};

    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        const size_t rows = sizes[s][0], cols = sizes[s][1], count = 2 * rows * cols; /* the last is streamed */
        uint16_t *x = malloc(count * 2), *y = malloc(count * 2);
        const rp_view out = view_of(y, RP_BF16, 2, (int)rows, (int)cols, -1);
        rp_view in = view_of(x, RP_BF16, 2, (int)rows, (int)cols, -1);

        assert_true(x != NULL && y != NULL);
        in.stride[1] = 1;
        in.stride[2] = (ptrdiff_t)rows;
        for (size_t i = 0; i < count; i++)
            x[i] = (uint16_t)(i * 40503u >> 3);
        for (size_t l = 0; l < n_levels; l++) {
            const rp_kernel_args args = {&in, 1, &out, 1, NULL};
            const rp_kernel_table *table;

            memset(y, 0xA5, count * 2);
            assert_int_equal(rp_kernel_table_get(&table, levels[l], NULL), RP_OK);
            table->kernel[RP_K_copy]->run(&args, 0, count / 3);
            table->kernel[RP_K_copy]->run(&args, count / 3, count);
            for (size_t i = 0; i < count; i++)
                if (y[i] != x[i / (rows * cols) * rows * cols + i % cols * rows + i / cols % rows])
                    fail_msg("level %s, %zu x %zu: element %zu", levels[l], rows, cols, i);
        }
        free(x);
        free(y);
    }
}

static void transpose(rp_view *v)
{
    v->stride[0] = 1;
    v->stride[1] = (ptrdiff_t)v->shape[0];
}

/* On every level, against the binary32 product of the widened operands by the reference. */
static void a_product_has_the_bits_of_the_widened_operands(void **state)
{
    static const int sizes[][3] = {{1, 700, 390},  {3, 40, 64},  {2, 1030, 1100}, {13, 1030, 33},
                                   {70, 513, 130}, {100, 61, 1}, {30, 0, 17},     {4, 0, 17},
                                   {25, 512, 32},  {200, 70, 3}, {90, 512, 4}};

    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (unsigned layout = 0; layout < 4; layout++) {
            const int m = sizes[s][0], k = sizes[s][1], n = sizes[s][2];
            const size_t count[2] = {(size_t)m * (size_t)k, (size_t)k * (size_t)n};
            uint16_t *half[2];
            float *wide[2], *want = calloc((size_t)m * (size_t)n, 4), *found = calloc((size_t)m * (size_t)n, 4);
            rp_view in[2], out = view_of(want, RP_F32, m, n, -1);

            for (int i = 0; i < 2; i++) {
                half[i] = malloc(count[i] * 2 + 1);
                wide[i] = malloc(count[i] * 4 + 1);
                assert_non_null(half[i]);
                assert_non_null(wide[i]);
                for (size_t e = 0; e < count[i]; e++) {
                    half[i][e] = rp_bf16_of_f32(rp_uniform_f32(rp_random_u32(7, 0, (uint32_t)i, e)) - 0.5f);
                    wide[i][e] = rp_f32_of_bf16(half[i][e]);
                }
            }
            for (unsigned halves = 0; halves < 4; halves++) { /* bit i: operand i is bf16 */
                in[0] = view_of(halves & 1 ? (void *)half[0] : wide[0], halves & 1 ? RP_BF16 : RP_F32, m, k, -1);
                in[1] = view_of(halves & 2 ? (void *)half[1] : wide[1], halves & 2 ? RP_BF16 : RP_F32, k, n, -1);
                if (layout & 1)
                    transpose(&in[0]);
                if (layout & 2)
                    transpose(&in[1]);
                out.data = want;
                if (halves == 0)
                    call_kernel("ref", RP_K_matmul, &out, 1, in, 2, NULL);
                out.data = found;
                for (size_t l = 0; l < n_levels && halves; l++) {
                    memset(found, 0xA5, (size_t)m * (size_t)n * 4);
                    call_kernel(levels[l], RP_K_matmul, &out, 1, in, 2, NULL);
                    if (memcmp(found, want, (size_t)m * (size_t)n * 4) != 0)
                        fail_msg("level %s, m %d k %d n %d, layout %u, bf16 %u", levels[l], m, k, n, layout, halves);
                }
            }
            for (int i = 0; i < 2; i++) {
                free(half[i]);
                free(wide[i]);
            }
            free(want);
            free(found);
        }
}

static void a_file_of_weights_reads_back_with_one_nan(void **state)
{
    const uint16_t x[4] = {0x3F80, 0xFFC1, 0x8000, 0x0001};
    static const unsigned char stored[8] = {0x80, 0x3F, 0xC0, 0x7F, 0x00, 0x80, 0x01, 0x00};
    const rp_safetensor tensor = {.name = "w", .dtype = RP_BF16, .rank = 2, .shape = {2, 2}, .data = x};
    rp_buffer out = {0};
    rp_safetensors *file;
    rp_error err = {0};

    (void)state;
    assert_int_equal(rp_safetensors_write(&out, &tensor, 1, NULL, 0, &err), RP_OK);
    assert_memory_equal(out.data + out.size - 8, stored, 8);
    assert_int_equal(rp_safetensors_parse(&file, out.data, out.size, "x", &err), RP_OK);
    assert_int_equal(file->tensor[0].dtype, RP_BF16);
    rp_safetensors_free(file);
    rp_buffer_free(&out);
}

/* loss = sum(x w'), w' = bf16(w): dw is x^T 1 in binary32, through the cast as it is. */
static void gradients_of_bf16_weights_are_binary32(void **state)
{
    const float x[4] = {1, 2, 3, 1.00390625f}, w[4] = {1.001f, -2, 0.5f, 3};
    float want_y[4], found_y[4], found[4], found_half[4];
    rp_run *run = NULL;
    rp_tensor tx, tw, half, y, wrt[2], grad[2];
    rp_error err = {0};

    (void)state;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            float sum = 0;

            for (int l = 0; l < 2; l++)
                sum = fmaf(rp_f32_of_bf16(rp_bf16_of_f32(x[2 * i + l])), rp_f32_of_bf16(rp_bf16_of_f32(w[2 * l + j])),
                           sum);
            want_y[2 * i + j] = sum;
        }
    assert_int_equal(rp_run_new(&run, &(rp_run_options){.threads = 1}, &err), RP_OK);
    assert_int_equal(rp_step_begin(run, NULL), RP_OK);
    tx = rp_feed(run, "x", RP_F32, 2, (size_t[]){2, 2}, x);
    tw = rp_feed(run, "w", RP_F32, 2, (size_t[]){2, 2}, w);
    half = rp_cast(tw, RP_BF16);
    y = rp_matmul(rp_cast(tx, RP_BF16), half);
    wrt[0] = tw;
    wrt[1] = half;
    rp_gradients(rp_sum(y, (int[]){0, 1}, 2, false), wrt, 2, grad);
    if (rp_read(run, y, found_y, sizeof found_y, &err) != RP_OK ||
        rp_read(run, grad[0], found, sizeof found, &err) != RP_OK ||
        rp_read(run, grad[1], found_half, sizeof found_half, &err) != RP_OK)
        fail_msg("%s", err.text);
    assert_memory_equal(found_y, want_y, sizeof want_y);
    assert_memory_equal(found, ((float[]){4, 4, 3, 3}),
                        sizeof found); /* 1.00390625 is halfway to 1.0078125, even is 1 */
    assert_memory_equal(found_half, found, sizeof found);
    rp_run_free(run);
}

static int enter(void **state)
{
    static rp_fpenv saved;

    (void)state;
    n_levels = rp_kernel_levels(&levels);
    return rp_fpenv_enter(&saved, NULL, NULL) == RP_OK ? 0 : -1;
}

/* Storage only: what would compute in bf16, or write elements of another size, is refused when the program is built. */
static void operations_that_do_not_take_bf16_refuse_it(void **state)
{
    const size_t n = 3;

    (void)state;
    for (int i = 0; i < 4; i++) {
        rp_run *run = NULL;
        rp_tensor x;

        assert_int_equal(rp_run_new(&run, NULL, NULL), RP_OK);
        assert_int_equal(rp_step_begin(run, NULL), RP_OK);
        x = rp_fill(rp_step_graph(run), RP_BF16, 1, &n, 1);
        assert_int_equal(rp_graph_status(rp_step_graph(run), NULL), RP_OK);
        (void)(i == 0   ? rp_iota(rp_step_graph(run), RP_BF16, n)
               : i == 1 ? rp_exp(x)
               : i == 2 ? rp_sum(x, NULL, 0, false)
                        : rp_eq(x, x));
        assert_int_equal(rp_graph_status(rp_step_graph(run), NULL), RP_ESHAPE);
        (void)rp_step_end(run, NULL);
        rp_run_free(run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_bf16_widens_exactly_and_comes_back),
        cmocka_unit_test(every_f32_goes_to_the_nearest_bf16),
        cmocka_unit_test(f64_is_rounded_once),
        cmocka_unit_test(integers_are_rounded_once),
        cmocka_unit_test(i32_is_rounded_as_i64_is),
        cmocka_unit_test(a_transposed_copy_moves_every_element),
        cmocka_unit_test(a_product_has_the_bits_of_the_widened_operands),
        cmocka_unit_test(a_file_of_weights_reads_back_with_one_nan),
        cmocka_unit_test(gradients_of_bf16_weights_are_binary32),
        cmocka_unit_test(operations_that_do_not_take_bf16_refuse_it),
    };

    return cmocka_run_group_tests(tests, enter, NULL);
}
