/* SPDX-License-Identifier: Apache-2.0
 * f16, i8, u8, i16 and u32 (CONTRACT 2.5, 3.1 and 3.4): every conversion rounds once, wraps or saturates as written, at
 * every level; they are moved, chosen among, fed, read and saved as they are; u32 computes modulo 2^32; bits are read
 * as other types. The oracles work on wide integers and on distances; they share no code with the conversions. */
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
#include "rp/rp.h"
#include "tests/house/sanitized.h"
#include "tests/kernels/kernel_call.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const char *const *levels;
static size_t n_levels;

/* At every level, close and two elements apart; all must give the same as stored. */
static void convert(void *to, rp_dtype to_dtype, void *from, rp_dtype from_dtype, size_t n)
{
    const size_t out = rp_dtype_size(to_dtype), in = rp_dtype_size(from_dtype);
    unsigned char *apart = calloc(2 * n, in), *found = malloc(2 * n * out), *first = malloc(n * out);

    assert_true(apart && found && first);
    for (size_t i = 0; i < n; i++)
        memcpy(apart + 2 * i * in, (const char *)from + i * in, in);
    for (size_t l = 0; l < n_levels; l++)
        for (int step = 1; step <= 2; step++) {
            rp_view x = view_of(step == 1 ? from : (void *)apart, from_dtype, (int)n, -1);
            rp_view y = view_of(found, to_dtype, (int)n, -1);

            x.stride[0] = y.stride[0] = step;
            memset(found, 0xA5, 2 * n * out);
            call_kernel(levels[l], RP_K_cast, &y, 1, &x, 1, NULL);
            for (size_t i = 0; i < n; i++)
                rp_to_stored((char *)to + i * out, found + i * (size_t)step * out, to_dtype, 1);
            if (l == 0 && step == 1)
                memcpy(first, to, n * out);
            else if (memcmp(first, to, n * out) != 0)
                fail_msg("%s to %s: level %s, step %d has other bits", rp_dtype_name(from_dtype),
                         rp_dtype_name(to_dtype), levels[l], step);
        }
    free(apart);
    free(found);
    free(first);
}

/* ---- binary16 ---- */

static double value_of_f16(uint16_t x)
{
    const int exponent = x >> 10 & 31, fraction = x & 1023;
    const double magnitude = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);

    return x >> 15 ? -magnitude : magnitude;
}

static void every_f16_widens_exactly_and_comes_back(void **state)
{
    enum { N = 1 << 16 };
    static uint16_t x[N], back[N];
    static float f[N];
    static double d[N];
    static uint8_t truth[N];

    (void)state;
    for (int i = 0; i < N; i++)
        x[i] = (uint16_t)i;
    convert(f, RP_F32, x, RP_F16, N);
    convert(d, RP_F64, x, RP_F16, N);
    convert(truth, RP_BOOL, x, RP_F16, N);
    for (int i = 0; i < N; i++) {
        const bool infinite = (i & 0x7FFF) == 0x7C00, nan = (i & 0x7FFF) > 0x7C00;
        const double want = infinite ? (i >> 15 ? -INFINITY : INFINITY) : value_of_f16((uint16_t)i);

        assert_true(nan ? f[i] != f[i] && d[i] != d[i]
                        : rp_bits_f64(d[i]) == rp_bits_f64(want) && rp_bits_f32(f[i]) == rp_bits_f32((float)want));
        assert_int_equal(truth[i], (i & 0x7FFF) != 0);
        x[i] = nan ? 0x7E00 : x[i];
    }
    convert(back, RP_F16, f, RP_F32, N);
    assert_memory_equal(back, x, sizeof x);
    convert(back, RP_F16, d, RP_F64, N);
    assert_memory_equal(back, x, sizeof x);
}

/* Halfway between neighbours, and as little beside it as the source allows, of both signs. */
static void reals_are_rounded_once_to_f16(void **state)
{
    enum { N = 6 * 0x7C00 };
    static double d[N];
    static float f[N];
    static uint16_t want[N], found[N];

    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        for (uint32_t u = 0; u < 0x7C00; u++) {
            const double low = value_of_f16((uint16_t)u), high = u == 0x7BFF ? 65536 : value_of_f16((uint16_t)(u + 1));
            const double half = (low + high) / 2;
            const double at[3] = {half, wide ? nextafter(half, 0) : (double)nextafterf((float)half, 0),
                                  wide ? nextafter(half, INFINITY) : (double)nextafterf((float)half, INFINITY)};
            const uint16_t to[3] = {(uint16_t)(u + u % 2), (uint16_t)u, (uint16_t)(u + 1)};

            for (int i = 0; i < 6; i++) {
                d[6 * u + (uint32_t)i] = i < 3 ? at[i] : -at[i - 3];
                f[6 * u + (uint32_t)i] = (float)d[6 * u + (uint32_t)i];
                want[6 * u + (uint32_t)i] = (uint16_t)(to[i % 3] | (i < 3 ? 0 : 0x8000));
            }
        }
        convert(found, RP_F16, wide ? (void *)d : (void *)f, wide ? RP_F64 : RP_F32, N);
        assert_memory_equal(found, want, sizeof want);
    }
}

static void ends_and_integers_go_to_f16_as_the_contract_says(void **state)
{
    double d[] = {0x1p-25, 0x1.000001p-25, -0x1p-26, 65504, 65519.99999,
                  65520,   1e300,          -1e300,   NAN,   1 + 0x1p-11 + 0x1p-52};
    const uint16_t of_d[] = {0, 1, 0x8000, 0x7BFF, 0x7BFF, 0x7C00, 0x7C00, 0xFC00, 0x7E00, 0x3C01};
    int64_t i[] = {0, -1, 2048, 2049, 2050, 2051, -2051, 65519, 65520, INT64_MAX, INT64_MIN, (1ll << 53) + 1};
    const uint16_t of_i[] = {0, 0xBC00, 0x6800, 0x6800, 0x6801, 0x6802, 0xE802, 0x7BFF, 0x7C00, 0x7C00, 0xFC00, 0x7C00};
    uint16_t found[16], half[] = {0x3F80, 0x0001, 0x7F80, 0xC77F, 0x4780, 0x3380, 0x3381};
    const uint16_t of_half[] = {0x3C00, 0, 0x7C00, 0xFBF8, 0x7C00, 0x0001, 0x0001};

    (void)state;
    convert(found, RP_F16, d, RP_F64, COUNT(d));
    assert_memory_equal(found, of_d, sizeof of_d);
    convert(found, RP_F16, i, RP_I64, COUNT(i));
    assert_memory_equal(found, of_i, sizeof of_i);
    convert(found, RP_F16, half, RP_BF16, COUNT(half));
    assert_memory_equal(found, of_half, sizeof of_half);
}

/* ---- integers ---- */

static const rp_dtype whole[] = {RP_I8, RP_U8, RP_I16, RP_I32, RP_U32, RP_I64};

static bool is_unsigned(rp_dtype dtype)
{
    return dtype == RP_U8 || dtype == RP_U32;
}

static __int128 least_of(rp_dtype dtype)
{
    return is_unsigned(dtype) ? 0 : -((__int128)1 << (8 * rp_dtype_size(dtype) - 1));
}

static __int128 most_of(rp_dtype dtype)
{
    return ((__int128)1 << (8 * rp_dtype_size(dtype) - !is_unsigned(dtype))) - 1;
}

static void put(void *at, rp_dtype dtype, __int128 value)
{
    const uint64_t bits = (uint64_t)value;

    memcpy(at, &bits, rp_dtype_size(dtype)); /* tests run on little-endian hosts, or are emulated ones */
}

static __int128 get(const void *at, rp_dtype dtype)
{
    const size_t bits = 8 * rp_dtype_size(dtype);
    uint64_t u = 0;

    memcpy(&u, at, rp_dtype_size(dtype));
    return is_unsigned(dtype) || u >> (bits - 1) == 0 ? (__int128)u : (__int128)u - ((__int128)1 << bits);
}

/* Every value of 8 and 16 bits, and those about the powers of two of both signs. */
static size_t sources(unsigned char *x, rp_dtype dtype)
{
    const size_t size = rp_dtype_size(dtype);
    size_t n = 0;

    if (size <= 2)
        for (; n < (size_t)1 << (8 * size); n++)
            put(x + n * size, dtype, (__int128)n);
    else
        for (size_t bit = 0; bit < 8 * size; bit++)
            for (int d = -2; d <= 2; d++) {
                put(x + n++ * size, dtype, ((__int128)1 << bit) + d);
                put(x + n++ * size, dtype, -((__int128)1 << bit) + d);
            }
    return n;
}

static void integers_keep_their_low_bits(void **state)
{
    static unsigned char x[8 << 16], y[8 << 16];

    (void)state;
    for (size_t a = 0; a < COUNT(whole); a++) {
        const size_t n = sources(x, whole[a]);

        for (size_t b = 0; b < COUNT(whole); b++) {
            const size_t from = rp_dtype_size(whole[a]), to = rp_dtype_size(whole[b]);

            convert(y, whole[b], x, whole[a], n);
            for (size_t i = 0; i < n; i++) {
                unsigned char want[8];

                put(want, whole[b], get(x + i * from, whole[a]));
                if (memcmp(want, y + i * to, to) != 0)
                    fail_msg("%s %lld to %s", rp_dtype_name(whole[a]), (long long)get(x + i * from, whole[a]),
                             rp_dtype_name(whole[b]));
            }
        }
    }
}

static void integers_go_to_reals_rounded_once(void **state)
{
    static unsigned char x[8 << 16];
    static float f[1 << 16];
    static double d[1 << 16];
    static uint8_t truth[1 << 16];

    (void)state;
    for (size_t a = 0; a < COUNT(whole); a++) {
        const size_t n = sources(x, whole[a]), size = rp_dtype_size(whole[a]);

        convert(f, RP_F32, x, whole[a], n);
        convert(d, RP_F64, x, whole[a], n);
        convert(truth, RP_BOOL, x, whole[a], n);
        for (size_t i = 0; i < n; i++) {
            const __int128 v = get(x + i * size, whole[a]);

            assert_true(f[i] == (float)v && d[i] == (double)v && truth[i] == (v != 0));
        }
    }
}

/* About the ends of every type, halves, infinities and NaN. */
static void reals_saturate_to_integers(void **state)
{
    static double d[4096];
    static float f[4096];
    static unsigned char y[8 * 4096];
    size_t n = 0;

    (void)state;
    d[n++] = NAN, d[n++] = INFINITY, d[n++] = -INFINITY, d[n++] = 0.0, d[n++] = -0.0, d[n++] = 0.99, d[n++] = -0.99;
    for (int bit = 0; bit < 66; bit++)
        for (int k = -3; k <= 3; k++) {
            d[n++] = ldexp(1, bit) + k * 0.5;
            d[n++] = -ldexp(1, bit) + k * 0.5;
        }
    for (size_t i = 0; i < n; i++)
        f[i] = (float)d[i];
    for (int wide = 0; wide < 2; wide++)
        for (size_t b = 0; b < COUNT(whole); b++) {
            convert(y, whole[b], wide ? (void *)d : (void *)f, wide ? RP_F64 : RP_F32, n);
            for (size_t i = 0; i < n; i++) {
                const double x = wide ? d[i] : (double)f[i];
                const __int128 least = least_of(whole[b]), most = most_of(whole[b]);
                const __int128 want = x != x ? 0 : x >= (double)most ? most : x <= (double)least ? least : (__int128)x;

                if (get(y + i * rp_dtype_size(whole[b]), whole[b]) != want)
                    fail_msg("%s %g to %s", wide ? "f64" : "f32", x, rp_dtype_name(whole[b]));
            }
        }
}

/* ---- programs ---- */

static rp_run *step_new(void)
{
    rp_run *run = NULL;
    rp_error err = {0};

    if (rp_run_new(&run, &(rp_run_options){.threads = 1}, &err) != RP_OK || rp_step_begin(run, &err) != RP_OK)
        fail_msg("%s", err.text);
    return run;
}

static void assert_reads(rp_run *run, rp_tensor y, const void *want, size_t bytes)
{
    unsigned char found[256];
    rp_error err = {0};

    if (rp_read(run, y, found, bytes, &err) != RP_OK)
        fail_msg("%s", err.text);
    assert_memory_equal(found, want, bytes);
}

/* Six elements, through every operation that moves; what comes out are bytes of those that went in. */
static void elements_are_moved_as_they_are(void **state)
{
    static const rp_dtype types[] = {RP_F16, RP_I8, RP_U8, RP_I16, RP_U32, RP_BF16};
    static const uint32_t bits[6] = {0x81828384, 0x00000001, 0x7B7A7978, 0xFFFFFFFF, 0x12345678, 0x80008001};
    static const int order[][6] = {{0, 3, 1, 4, 2, 5}, {3, 4, 5, 0, 1, 2}, {0, 4, 2, 3, 1, 5}, {2, 0, 2, 5, 3, 5}};
    const uint8_t mask[6] = {1, 0, 1, 1, 0, 1};
    const int64_t rows[2] = {1, 0}, places[6] = {2, 0, 2, 2, 0, 2};

    (void)state;
    for (size_t t = 0; t < COUNT(types); t++) {
        const size_t size = rp_dtype_size(types[t]);
        rp_run *run = step_new();
        unsigned char x[24], other[24], want[4][24], raw[24];
        rp_tensor a, b, c, turned, taken, chosen, along;

        for (size_t i = 0; i < 6; i++) {
            memcpy(raw + i * size, &bits[i], size);
            memcpy(raw + i * size,
                   &(uint32_t){types[t] == RP_F16 || types[t] == RP_BF16 ? 0x3C01u * (uint32_t)i : bits[i]}, size);
        }
        rp_to_stored(x, raw, types[t], 6);
        for (size_t i = 0; i < 6; i++)
            memcpy(other + i * size, x + (5 - i) * size, size);
        a = rp_feed(run, "a", types[t], 2, (size_t[]){2, 3}, x);
        b = rp_feed(run, "b", types[t], 2, (size_t[]){2, 3}, other);
        c = rp_feed(run, "c", RP_BOOL, 2, (size_t[]){2, 3}, mask);
        turned = rp_transpose(a, NULL);
        taken = rp_gather(a, rp_feed(run, "rows", RP_I64, 1, (size_t[]){2}, rows), 0);
        along = rp_take_along(a, rp_feed(run, "places", RP_I64, 2, (size_t[]){2, 3}, places), 1);
        chosen = rp_where(c, a, b);
        for (size_t k = 0; k < 4; k++)
            for (size_t i = 0; i < 6; i++)
                memcpy(want[k] + i * size, x + (size_t)order[k][i] * size, size);
        assert_reads(run, turned, want[0], 6 * size);
        assert_reads(run, taken, want[1], 6 * size);
        assert_reads(run, chosen, want[2], 6 * size);
        assert_reads(run, along, want[3], 6 * size);
        {
            const rp_tensor parts[2] = {rp_slice(a, (size_t[]){0, 0}, (size_t[]){1, 3}),
                                        rp_slice(a, (size_t[]){1, 0}, (size_t[]){2, 3})};

            assert_reads(run, rp_concat(parts, 2, 0), x, 6 * size);
        }
        rp_run_free(run);
    }
}

/* Threefry-2x32, 20 rounds (Salmon et al., 2011), by u32 operations; words of its authors' known answers. */
static void threefry_in_u32_has_its_known_answers(void **state)
{
    static const int by[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    static const uint32_t known[3][6] = {{0, 0, 0, 0, 0x6b200159, 0x99ba4efe},
                                         {~0u, ~0u, ~0u, ~0u, 0x1cb996fc, 0xbb002be7},
                                         {0x13198a2e, 0x03707344, 0x243f6a88, 0x85a308d3, 0xc4923a9c, 0x483df7a0}};
    uint32_t key[3][3], c0[3], c1[3], want[2][3];
    rp_run *run = step_new();
    rp_graph *g = rp_step_graph(run);
    rp_tensor k[3], x[2];

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        key[0][i] = known[i][0], key[1][i] = known[i][1], key[2][i] = known[i][0] ^ known[i][1] ^ 0x1BD11BDAu;
        c0[i] = known[i][2], c1[i] = known[i][3], want[0][i] = known[i][4], want[1][i] = known[i][5];
    }
    for (int i = 0; i < 3; i++) {
        char name[16];

        snprintf(name, sizeof name, "k%d", i);
        k[i] = rp_feed(run, name, RP_U32, 1, (size_t[]){3}, key[i]);
    }
    x[0] = rp_add(rp_feed(run, "c0", RP_U32, 1, (size_t[]){3}, c0), k[0]);
    x[1] = rp_add(rp_feed(run, "c1", RP_U32, 1, (size_t[]){3}, c1), k[1]);
    for (int group = 0; group < 5; group++) {
        for (int r = 0; r < 4; r++) {
            const rp_tensor left = rp_fill(g, RP_U32, 0, NULL, by[group % 2][r]);
            const rp_tensor right = rp_fill(g, RP_U32, 0, NULL, 32 - by[group % 2][r]);
            rp_tensor high, low;

            x[0] = rp_add(x[0], x[1]);
            high = rp_shift_left(x[1], left);
            low = rp_shift_right(x[1], right);
            x[1] = rp_bitwise_xor(rp_bitwise_or(high, low), x[0]);
        }
        x[0] = rp_add(x[0], k[(group + 1) % 3]);
        x[1] = rp_add(x[1], k[(group + 2) % 3]);
        x[1] = rp_add(x[1], rp_fill(g, RP_U32, 0, NULL, group + 1));
    }
    assert_reads(run, x[0], want[0], sizeof want[0]);
    assert_reads(run, x[1], want[1], sizeof want[1]);
    rp_run_free(run);
}

static void u32_computes_modulo_its_range(void **state)
{
    const uint32_t a[6] = {3, 65537, 4294967295u, 4294967289u, 4294967295u, 7};
    const uint32_t b[6] = {5, 65537, 10, 2, 32, 0};
    rp_run *run = step_new();
    rp_tensor x = rp_feed(run, "a", RP_U32, 1, (size_t[]){6}, a), y = rp_feed(run, "b", RP_U32, 1, (size_t[]){6}, b);

    (void)state;
    assert_reads(run, rp_sub(x, y), (uint32_t[]){4294967294u, 0, 4294967285u, 4294967287u, 4294967263u, 7}, 24);
    assert_reads(run, rp_mul(x, y), (uint32_t[]){15, 131073, 4294967286u, 4294967282u, 4294967264u, 0}, 24);
    assert_reads(run, rp_floor_divide(x, y), (uint32_t[]){0, 1, 429496729, 2147483644, 134217727, 0}, 24);
    assert_reads(run, rp_remainder(x, y), (uint32_t[]){3, 0, 5, 1, 31, 7}, 24);
    assert_reads(run, rp_maximum(x, y), (uint32_t[]){5, 65537, 4294967295u, 4294967289u, 4294967295u, 7}, 24);
    assert_reads(run, rp_shift_right(x, y), (uint32_t[]){0, 0, 4194303, 1073741822, 0, 7}, 24);
    assert_reads(run, rp_shift_left(x, y), (uint32_t[]){96, 0, 4294966272u, 4294967268u, 0, 7}, 24);
    assert_reads(run, rp_gt(x, y), (uint8_t[]){0, 0, 1, 1, 1, 1}, 6);
    assert_reads(run, rp_iota(rp_step_graph(run), RP_U32, 3), (uint32_t[]){0, 1, 2}, 12);
    rp_run_free(run);
}

static void bits_are_read_as_other_types(void **state)
{
    const float f[4] = {1, -3, rp_from_bits_f32(0xFFC12345), -0.0f};
    const double d[2] = {2.5, rp_from_bits_f64(0x7FF0000000000001)};
    rp_run *run = step_new();
    rp_tensor x = rp_feed(run, "f", RP_F32, 1, (size_t[]){4}, f), w = rp_feed(run, "d", RP_F64, 1, (size_t[]){2}, d),
              half;

    (void)state;
    assert_reads(run, rp_bitcast(x, RP_I32), (int32_t[]){1065353216, -1069547520, 2143289344, INT32_MIN}, 16);
    assert_reads(run, rp_bitcast(x, RP_U32), (uint32_t[]){1065353216, 3225419776u, 2143289344, 2147483648u}, 16);
    assert_reads(run, rp_bitcast(rp_bitcast(x, RP_U32), RP_F32),
                 (uint32_t[]){0x3F800000, 0xC0400000, 0x7FC00000, 0x80000000}, 16);
    assert_reads(run, rp_bitcast(w, RP_I64), (int64_t[]){0x4004000000000000, 0x7FF8000000000000}, 16);
    half = rp_cast(rp_feed(run, "h", RP_F32, 1, (size_t[]){2}, (float[]){0.1f, NAN}), RP_F16);
    assert_reads(run, rp_bitcast(half, RP_I16), (int16_t[]){11878, 0x7E00}, 4);
    assert_reads(run, rp_bitcast(rp_gt(x, rp_neg(x)), RP_U8), (uint8_t[]){1, 0, 0, 0}, 4);
    assert_reads(run, rp_bitcast(rp_cast(rp_feed(run, "u", RP_I32, 0, NULL, &(int32_t){200}), RP_U8), RP_I8),
                 (int8_t[]){-56}, 1);
    rp_run_free(run);
}

static void what_they_do_not_take_is_refused(void **state)
{
    static const rp_dtype types[] = {RP_F16, RP_I8, RP_U8, RP_I16, RP_U32};
    const size_t n = 3;

    (void)state;
    for (size_t t = 0; t < COUNT(types); t++)
        for (int i = 0; i < 7; i++) {
            rp_run *run = step_new();
            rp_tensor x = rp_fill(rp_step_graph(run), types[t], 1, &n, 1);
            const bool fine = types[t] == RP_U32 && i < 2;

            (void)(i == 0   ? rp_add(x, x)
                   : i == 1 ? rp_eq(x, x)
                   : i == 2 ? rp_exp(x)
                   : i == 3 ? rp_sum(x, NULL, 0, false)
                   : i == 4 ? rp_matmul(rp_reshape(x, 2, (size_t[]){3, 1}), rp_reshape(x, 2, (size_t[]){1, 3}))
                   : i == 5 ? rp_bitcast(x, rp_dtype_size(types[t]) == 1 ? RP_BOOL : RP_F64)
                            : rp_neg(x));
            assert_int_equal(rp_graph_status(rp_step_graph(run), NULL), fine ? RP_OK : RP_ESHAPE);
            (void)rp_step_end(run, NULL);
            rp_run_free(run);
        }
}

/* sum(x h), h = f16(w): dw is x, in binary32, and of h itself too. */
static void gradients_of_f16_are_binary32(void **state)
{
    const float x[3] = {1, -2, 0.5f}, w[3] = {1.001f, 70000, 3};
    rp_run *run = step_new();
    rp_tensor tx = rp_feed(run, "x", RP_F32, 1, (size_t[]){3}, x), tw = rp_feed(run, "w", RP_F32, 1, (size_t[]){3}, w);
    rp_tensor half = rp_cast(tw, RP_F16), wrt[2] = {tw, half}, grad[2];

    (void)state;
    rp_gradients(rp_sum(rp_mul(tx, rp_cast(half, RP_F32)), NULL, 0, false), wrt, 2, grad);
    assert_reads(run, half, (uint16_t[]){0x3C01, 0x7C00, 0x4200}, 6);
    assert_reads(run, grad[0], x, sizeof x);
    assert_reads(run, grad[1], x, sizeof x);
    rp_run_free(run);
}

static void files_hold_them_with_one_nan(void **state)
{
    static const unsigned char x[8] = {0x80, 0xFE, 0x01, 0xFC, 0x00, 0x80, 0xFF, 0x7F};
    static const unsigned char as_f16[8] = {0x00, 0x7E, 0x00, 0x7E, 0x00, 0x80, 0x00, 0x7E};
    static const rp_dtype types[] = {RP_F16, RP_I8, RP_U8, RP_I16, RP_U32};

    (void)state;
    for (size_t t = 0; t < COUNT(types); t++) {
        const rp_safetensor tensor = {
            .name = "w", .dtype = types[t], .rank = 1, .shape = {8 / rp_dtype_size(types[t])}, .data = x};
        rp_buffer out = {0};
        rp_safetensors *file;
        rp_error err = {0};

        assert_int_equal(rp_safetensors_write(&out, &tensor, 1, NULL, 0, &err), RP_OK);
        assert_memory_equal(out.data + out.size - 8, types[t] == RP_F16 ? as_f16 : x, 8);
        assert_int_equal(rp_safetensors_parse(&file, out.data, out.size, "x", &err), RP_OK);
        assert_int_equal(file->tensor[0].dtype, types[t]);
        rp_safetensors_free(file);
        rp_buffer_free(&out);
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
        cmocka_unit_test(every_f16_widens_exactly_and_comes_back),
        cmocka_unit_test(reals_are_rounded_once_to_f16),
        cmocka_unit_test(ends_and_integers_go_to_f16_as_the_contract_says),
        cmocka_unit_test(integers_keep_their_low_bits),
        cmocka_unit_test(integers_go_to_reals_rounded_once),
        cmocka_unit_test(reals_saturate_to_integers),
        cmocka_unit_test(elements_are_moved_as_they_are),
        cmocka_unit_test(threefry_in_u32_has_its_known_answers),
        cmocka_unit_test(u32_computes_modulo_its_range),
        cmocka_unit_test(bits_are_read_as_other_types),
        cmocka_unit_test(what_they_do_not_take_is_refused),
        cmocka_unit_test(gradients_of_f16_are_binary32),
        cmocka_unit_test(files_hold_them_with_one_nan),
    };

    return cmocka_run_group_tests(tests, enter, NULL);
}
