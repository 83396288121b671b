/* SPDX-License-Identifier: Apache-2.0
 * Kernels of kernels.cu, as PTX, on the emulated device: right ones give the host's bits in each of the three orders;
 * each planted fault (plant.py) gives others, or is stopped, in one of them at least. */
#include "tests/emu/calls.h"

#include <math.h>
#include <stdio.h>

enum { ORDERS = 3, ROWS = 35, COLS = 37, DEEP = 77, N = 300 };

struct add_parameters {
    rp_cu_pointer a, b, y;
    uint64_t n;
};

struct product_parameters {
    rp_cu_pointer a, b, y;
    uint32_t m, n, k;
};

static float a[ROWS * DEEP], b[DEEP * COLS], expected[ROWS * COLS], found[ROWS * COLS];

static float number(uint64_t *seed)
{
    const uint32_t u = (uint32_t)next_random(seed);

    switch (u % 8) {
    case 0: /* products of these are below the smallest number: the sum becomes -0 */
        return ldexpf(u & 64 ? -1.0f : 1.0f, -80 - (int)(u >> 20 & 15));
    case 1:
        return 0.0f;
    default:
        return ((float)(u >> 8) - 0x1p23f) * 0x1p-20f;
    }
}

static void fill(uint64_t seed)
{
    for (size_t i = 0; i < sizeof a / sizeof *a; i++)
        a[i] = number(&seed);
    for (size_t i = 0; i < sizeof b / sizeof *b; i++)
        b[i] = number(&seed);
    for (size_t l = 0; l < DEEP; l++) /* a row and a column that make zeros of sign */
        a[5 * DEEP + l] = -0x1p-100f, b[l * COLS + 7] = 0x1p-100f;
}

/* ---- the elementwise two ---- */

static int run_add(const char *name, int order, const float *start, float *y, size_t n)
{
    rp_cu_stream s;
    struct add_parameters p;
    int result;

    rp_emulated_order(order);
    open_device(0);
    s = new_stream();
    p = (struct add_parameters){on_device(a, n * 4, s), on_device(b, n * 4, s), on_device(start, n * 4, s), n};
    result = launch(name, (unsigned)(n + 127) / 128, 1, 128, &p, s);
    if (result == 0)
        result = cuStreamSynchronize(s);
    if (result == 0)
        result = cuMemcpyDtoHAsync_v2(y, p.y, n * 4, s);
    close_device(0);
    return result;
}

static void elementwise_kernels_have_the_hosts_bits_in_every_order(void **state)
{
    float y[N], sum[N], scaled[N];

    (void)state;
    fill(1);
    for (size_t i = 0; i < N; i++) {
        const float product = a[i] * b[i]; /* two roundings: this file is compiled without contraction */

        sum[i] = a[i] + b[i];
        scaled[i] = product + expected[i];
    }
    for (int order = 0; order < ORDERS; order++) {
        ok(run_add("emu_add", order, expected, y, N));
        assert_memory_equal(y, sum, sizeof sum);
        ok(run_add("emu_scale", order, expected, y, N));
        assert_memory_equal(y, scaled, sizeof scaled);
    }
}

static void a_bound_that_is_missing_is_an_access_beyond_the_memory(void **state)
{
    float y[N];

    (void)state;
    for (int order = 0; order < ORDERS; order++) {
        assert_int_equal(run_add("emu_add_without_bound", order, expected, y, N), RP_CU_ILLEGAL_ADDRESS);
        assert_true(strlen(rp_emulated_trouble()) > 0);
        ok(run_add("emu_add_without_bound", order, expected, y, 256)); /* whole blocks need none */
    }
}

static void contraction_shows(void **state)
{
    float right[N], y[N];

    (void)state;
    fill(2);
    for (int order = 0; order < ORDERS; order++) {
        ok(run_add("emu_scale", order, b, right, N));
        ok(run_add("emu_scale_contracted", order, b, y, N));
        assert_memory_not_equal(right, y, sizeof y);
    }
}

/* ---- the product ---- */

static int run_product(const char *name, int order)
{
    rp_cu_stream s;
    struct product_parameters p = {.m = ROWS, .n = COLS, .k = DEEP};
    int result;

    rp_emulated_order(order);
    open_device(0);
    s = new_stream();
    p.a = on_device(a, sizeof a, s);
    p.b = on_device(b, sizeof b, s);
    p.y = on_device(NULL, sizeof found, s);
    result = launch(name, (COLS + 15) / 16, (ROWS + 15) / 16, 256, &p, s);
    if (result == 0)
        result = cuStreamSynchronize(s);
    if (result == 0)
        result = cuMemcpyDtoHAsync_v2(found, p.y, sizeof found, s);
    close_device(0);
    return result;
}

static void expect_product(void)
{
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < COLS; j++) {
            float sum = 0;

            for (size_t l = 0; l < DEEP; l++)
                sum = fmaf(a[i * DEEP + l], b[l * COLS + j], sum);
            expected[i * COLS + j] = sum;
        }
}

static void a_tiled_product_has_the_hosts_bits_in_every_order(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 4; seed++) {
        fill(seed);
        expect_product();
        for (int order = 0; order < ORDERS; order++) {
            ok(run_product("emu_product", order));
            assert_memory_equal(found, expected, sizeof found);
        }
    }
}

/* In how many orders the fault shows, by other bits or by an error. */
static int orders_that_show(const char *name)
{
    int shown = 0;

    fill(1);
    expect_product();
    for (int order = 0; order < ORDERS; order++)
        shown += run_product(name, order) != 0 || memcmp(found, expected, sizeof found) != 0;
    return shown;
}

static void each_fault_planted_in_the_product_shows(void **state)
{
    static const char *const fault[] = {"emu_product_without_first_barrier", "emu_product_without_second_barrier",
                                        "emu_product_without_wait",          "emu_product_waiting_for_one_too_few",
                                        "emu_product_over_padding",          "emu_product_without_edge",
                                        "emu_product_without_commit"};

    (void)state;
    for (size_t i = 0; i < sizeof fault / sizeof *fault; i++) {
        const int shown = orders_that_show(fault[i]);

        print_message("%s: shown in %d of %d orders\n", fault[i], shown, ORDERS);
        assert_true(shown > 0);
    }
    assert_int_equal(orders_that_show("emu_product"), 0);
}

/* ---- warps ---- */

static void lanes_of_a_warp_see_each_others_values(void **state)
{
    enum { BLOCKS = 3, WARPS = 3 * BLOCKS };
    float x[32 * WARPS], y[WARPS];
    uint32_t votes[WARPS];
    uint64_t seed = 7;

    (void)state;
    for (size_t i = 0; i < 32 * WARPS; i++)
        x[i] = number(&seed);
    for (int order = 0; order < ORDERS; order++) {
        rp_cu_stream s;
        struct {
            rp_cu_pointer x, y, votes;
        } p;

        rp_emulated_order(order);
        open_device(0);
        s = new_stream();
        p.x = on_device(x, sizeof x, s);
        p.y = on_device(NULL, sizeof y, s);
        p.votes = on_device(NULL, sizeof votes, s);
        ok(launch("emu_fold", BLOCKS, 1, 96, &p, s));
        ok(cuMemcpyDtoHAsync_v2(y, p.y, sizeof y, s));
        ok(cuMemcpyDtoHAsync_v2(votes, p.votes, sizeof votes, s));
        close_device(0);
        for (size_t w = 0; w < WARPS; w++) {
            float v[32];
            uint32_t negative = 0;

            memcpy(v, x + 32 * w, sizeof v);
            for (size_t i = 0; i < 32; i++)
                negative |= (uint32_t)(v[i] < 0) << i;
            for (size_t half = 16; half > 0; half /= 2)
                for (size_t i = 0; i < half; i++)
                    v[i] = v[i] + v[i + half];
            assert_memory_equal(&y[w], v, sizeof *v);
            assert_int_equal(votes[w], negative);
        }
    }
}

/* ---- arithmetic ---- */

enum { VALUES = 4096, OPERATIONS = 18 };

static uint64_t word_f32(float x)
{
    uint32_t u;

    x = x != x ? nanf("") : x;
    memcpy(&u, &x, sizeof u);
    return x != x ? 0x7FFFFFFFu : u; /* the device's own NaN */
}

static uint64_t word_f64(double x)
{
    uint64_t u;

    memcpy(&u, &x, sizeof u);
    return x != x ? UINT64_C(0xFFF8000000000000) : u;
}

static int64_t to_s64(double x, int bits)
{
    const double end = ldexp(1, bits - 1);

    return x != x ? 0 : x >= end ? (int64_t)((UINT64_C(1) << (bits - 1)) - 1) : x < -end ? -(int64_t)end : (int64_t)x;
}

static void expect_arithmetic(double p, double q, uint64_t *y)
{
    const float x = (float)p, z = (float)q;
    int64_t i;

    memcpy(&i, &p, sizeof i);
    y[0] = word_f32(x + z);
    y[1] = word_f32(x - z);
    y[2] = word_f32(x * z);
    y[3] = word_f32(x / z);
    y[4] = word_f32(sqrtf(x));
    y[5] = word_f32(fmaf(x, z, x));
    y[6] = word_f64(p + q);
    y[7] = word_f64(p * q);
    y[8] = word_f64(p / q);
    y[9] = word_f64(sqrt(p));
    y[10] = word_f64(fma(p, q, p));
    y[11] = word_f32(x);
    y[12] = (uint64_t)(x != x ? 0 : x >= 0x1p31f ? INT32_MAX : x < -0x1p31f ? INT32_MIN : (int64_t)x);
    y[13] = (uint64_t)(p < -0x1p63 ? INT64_MIN : to_s64(p, 64));
    y[14] = p != p || p <= 0 ? 0 : p >= 0x1p64 ? UINT64_MAX : (uint64_t)p;
    y[15] = word_f32((float)i);
    y[16] = word_f32((float)(uint64_t)i);
    y[17] = word_f64((double)i);
}

static void each_real_instruction_rounds_as_it_says(void **state)
{
    static double p[VALUES], q[VALUES];
    static uint64_t y[OPERATIONS * VALUES];
    uint64_t seed = 3;
    rp_cu_stream s;
    struct {
        rp_cu_pointer a, b, y;
        uint32_t n;
    } given = {.n = VALUES};

    (void)state;
    for (size_t i = 0; i < VALUES; i++) {
        const uint64_t u = next_random(&seed) ^ next_random(&seed) << 32, v = next_random(&seed);

        memcpy(&p[i], &u, sizeof u); /* any bits; then such as binary32 and integers have room for, and some ends */
        q[i] = i % 3 == 0 ? p[i] * 1.5 : ldexp((double)(int64_t)(v % 20000) - 1e4, (int)(v >> 20 & 63) - 40);
        if (i % 3 == 1)
            p[i] = ldexp((double)(int64_t)u, (int)(v >> 8 & 255) - 190);
        if (i % 64 == 2)
            p[i] = (double[]){0.0, -0.0, INFINITY, -INFINITY, 0x1p63, -0x1p63, 0x1p31, 0x1p-149}[i / 64 % 8];
    }
    open_device(0);
    s = new_stream();
    given.a = on_device(p, sizeof p, s);
    given.b = on_device(q, sizeof q, s);
    given.y = on_device(NULL, sizeof y, s);
    ok(launch("emu_arithmetic", VALUES / 64, 1, 64, &given, s));
    ok(cuMemcpyDtoHAsync_v2(y, given.y, sizeof y, s));
    close_device(0);
    for (size_t i = 0; i < VALUES; i++) {
        uint64_t right[OPERATIONS];

        expect_arithmetic(p[i], q[i], right);
        for (size_t o = 0; o < OPERATIONS; o++)
            if (y[o * VALUES + i] != right[o])
                fail_msg("operation %zu of %a and %a: %016llx, expected %016llx", o, p[i], q[i],
                         (unsigned long long)y[o * VALUES + i], (unsigned long long)right[o]);
    }
}

/* ---- what a kernel may not do ---- */

static int run_bad(const char *name, unsigned threads, size_t offset)
{
    rp_cu_stream s;
    rp_cu_pointer x;
    int result;

    open_device(0);
    s = new_stream();
    x = on_device(NULL, 4096, s) + offset;
    {
        rp_cu_pointer both[2] = {x, x + 1024};
        void *given[] = {&both[0], &both[1]};
        rp_cu_function f;

        ok(cuModuleGetFunction(&f, module, name));
        ok(cuLaunchKernel(f, 1, 1, 1, threads, 1, 1, 0, s, given, NULL));
    }
    result = cuStreamSynchronize(s);
    if (result != 0) /* and so does every call from now on, until the context is gone */
        assert_int_equal(cuMemGetInfo_v2(&(size_t){0}, &(size_t){0}), result);
    close_device(0);
    return result;
}

static void wrong_barriers_and_accesses_end_a_kernel(void **state)
{
    (void)state;
    for (int order = 0; order < ORDERS; order++) {
        rp_emulated_order(order);
        assert_int_equal(run_bad("emu_leave_early", 64, 0), RP_CU_LAUNCH_FAILED);
        assert_non_null(strstr(rp_emulated_trouble(), "barrier"));
        assert_int_equal(run_bad("emu_two_barriers", 64, 0), RP_CU_LAUNCH_FAILED);
        assert_non_null(strstr(rp_emulated_trouble(), "different barriers"));
        ok(run_bad("emu_wide", 32, 0));
        assert_int_equal(run_bad("emu_wide", 32, 8), 716);
        assert_non_null(strstr(rp_emulated_trouble(), "aligned"));
        assert_int_equal(run_bad("emu_wide", 32, 4096), RP_CU_ILLEGAL_ADDRESS);
    }
}

static void integers_are_counted_without_an_order(void **state)
{
    enum { COUNT = 1000 };
    uint32_t x[COUNT], sum = 0, got_sum;
    uint64_t least = UINT64_MAX, got_least, seed = 11, start[2] = {UINT64_MAX, 0};

    (void)state;
    for (uint32_t i = 0; i < COUNT; i++) {
        x[i] = (uint32_t)next_random(&seed) % 500;
        sum += x[i];
        least = ((uint64_t)x[i] << 32 | i) < least ? (uint64_t)x[i] << 32 | i : least;
    }
    for (int order = 0; order < ORDERS; order++) {
        rp_cu_stream s;
        rp_cu_pointer p, words, second;
        uint32_t n = COUNT;
        rp_cu_function f;
        void *given[] = {&p, &words, &second, &n};

        rp_emulated_order(order);
        open_device(0);
        s = new_stream();
        p = on_device(x, sizeof x, s);
        words = on_device(start, sizeof start, s);
        second = words + 8;
        ok(cuModuleGetFunction(&f, module, "emu_count"));
        ok(cuLaunchKernel(f, (COUNT + 63) / 64, 1, 1, 64, 1, 1, 0, s, given, NULL));
        ok(cuMemcpyDtoHAsync_v2(&got_least, words, 8, s));
        ok(cuMemcpyDtoHAsync_v2(&got_sum, second, 4, s));
        close_device(0);
        assert_int_equal(got_sum, sum);
        assert_true(got_least == least);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elementwise_kernels_have_the_hosts_bits_in_every_order),
        cmocka_unit_test(a_bound_that_is_missing_is_an_access_beyond_the_memory),
        cmocka_unit_test(contraction_shows),
        cmocka_unit_test(a_tiled_product_has_the_hosts_bits_in_every_order),
        cmocka_unit_test(each_fault_planted_in_the_product_shows),
        cmocka_unit_test(lanes_of_a_warp_see_each_others_values),
        cmocka_unit_test(each_real_instruction_rounds_as_it_says),
        cmocka_unit_test(wrong_barriers_and_accesses_end_a_kernel),
        cmocka_unit_test(integers_are_counted_without_an_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
