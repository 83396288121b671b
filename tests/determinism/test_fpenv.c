/* SPDX-License-Identifier: Apache-2.0
 * The guard of the floating-point environment: a host that comes with flush-to-zero, directed rounding or traps is
 * repaired, told so, and given back as it was; also in worker threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>

#include "base/pool.h"
#include "determinism/bits.h"
#include "determinism/fpenv.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define HAVE_FLUSH 1
static uint64_t get_control(void)
{
    return _mm_getcsr() & 0xFFC0;
}
static void set_control(uint64_t v)
{
    _mm_setcsr((unsigned)v);
}
enum { CLEAN = 0x1F80, FLUSH = 0x8040, UPWARD = 0x4000, TRAP_DIVIDE = 0x0200 };
static uint64_t dirty(unsigned bits)
{
    return bits == TRAP_DIVIDE ? CLEAN & ~TRAP_DIVIDE : CLEAN | bits;
}
#elif defined(__aarch64__)
#define HAVE_FLUSH 1
static uint64_t get_control(void)
{
    uint64_t v;

    __asm__ volatile("mrs %0, fpcr" : "=r"(v) : : "memory");
    return v;
}
static void set_control(uint64_t v)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(v) : "memory");
}
enum { CLEAN = 0, FLUSH = 1 << 24, UPWARD = 1 << 22, TRAP_DIVIDE = 0 };
static uint64_t dirty(unsigned bits)
{
    return bits;
}
#else
#include <fenv.h>
#define HAVE_FLUSH 0
static uint64_t get_control(void)
{
    return (uint64_t)fegetround();
}
static void set_control(uint64_t v)
{
    fesetround((int)v);
}
enum { CLEAN = FE_TONEAREST, FLUSH = FE_UPWARD, UPWARD = FE_UPWARD, TRAP_DIVIDE = FE_TONEAREST };
static uint64_t dirty(unsigned bits)
{
    return bits;
}
#endif

/* volatile: the product and sum must be made at run time, in the environment of that moment. */
static int subnormal_product_survives(void)
{
    volatile float a = 0x1p-126f, b = 0.5f;
    volatile float product = a * b;

    return rp_bits_f32(product) == 0x00400000;
}

static int halfway_goes_to_even(void)
{
    volatile double one = 1, half = 0x1p-53;
    volatile double sum = one + half;

    return rp_bits_f64(sum) == 0x3FF0000000000000;
}

static int restore(void **state)
{
    (void)state;
    set_control(CLEAN);
    return 0;
}

static void a_clean_environment_is_not_repaired(void **state)
{
    rp_fpenv saved;
    rp_error err;
    bool repaired = true;

    (void)state;
    assert_int_equal(rp_fpenv_enter(&saved, &repaired, &err), RP_OK);
    assert_false(repaired);
    rp_fpenv_leave(&saved);
    assert_true(get_control() == CLEAN);
    assert_int_equal(rp_fpenv_enter(&saved, NULL, NULL), RP_OK);
}

static void flush_to_zero_is_repaired_visibly_and_given_back(void **state)
{
    rp_fpenv saved;
    rp_error err;
    bool repaired = false;
    int broken_before, whole_inside, broken_after;
    uint64_t after;

    (void)state;
    set_control(dirty(FLUSH));
    broken_before = !subnormal_product_survives() || !HAVE_FLUSH;
    assert_int_equal(rp_fpenv_enter(&saved, &repaired, &err), RP_OK);
    whole_inside = subnormal_product_survives();
    rp_fpenv_leave(&saved);
    broken_after = !subnormal_product_survives() || !HAVE_FLUSH;
    after = get_control();
    set_control(CLEAN);
    assert_true(broken_before); /* else this test tests nothing */
    assert_true(repaired);
    assert_true(whole_inside);
    assert_true(broken_after);
    assert_true(after == dirty(FLUSH));
}

static void directed_rounding_is_repaired_visibly_and_given_back(void **state)
{
    rp_fpenv saved;
    rp_error err;
    bool repaired = false;
    int wrong_before, right_inside, wrong_after;

    (void)state;
    set_control(dirty(UPWARD));
    wrong_before = !halfway_goes_to_even();
    assert_int_equal(rp_fpenv_enter(&saved, &repaired, &err), RP_OK);
    right_inside = halfway_goes_to_even();
    rp_fpenv_leave(&saved);
    wrong_after = !halfway_goes_to_even();
    set_control(CLEAN);
    assert_true(wrong_before);
    assert_true(repaired);
    assert_true(right_inside);
    assert_true(wrong_after);
}

/* Without the repair the division would end the process by SIGFPE. */
static void traps_are_masked(void **state)
{
    rp_fpenv saved;
    volatile float one = 1, zero = 0;
    volatile float quotient;

    (void)state;
    set_control(dirty(TRAP_DIVIDE));
    assert_int_equal(rp_fpenv_enter(&saved, NULL, NULL), RP_OK);
    quotient = one / zero;
    set_control(CLEAN);
    assert_int_equal(rp_bits_f32(quotient), 0x7F800000);
}

static void *worker(void *arg)
{
    int *result = arg;
    rp_error err;

    set_control(dirty(FLUSH) | dirty(UPWARD));
    result[0] = rp_fpenv_worker(&err) == RP_OK;
    result[1] = subnormal_product_survives();
    result[2] = halfway_goes_to_even();
    return NULL;
}

static void a_worker_thread_is_brought_under_the_contract(void **state)
{
    pthread_t thread;
    int result[3] = {0};

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, worker, result), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(result[0] && result[1] && result[2]);
}

enum { ITEMS = 64 };

static void check_items(void *arg, size_t begin, size_t end)
{
    unsigned char *good = arg;

    for (size_t i = begin; i < end; i++)
        good[i] = subnormal_product_survives() && halfway_goes_to_even();
}

/* Threads inherit the environment of the thread that makes them, so a pool made under FTZ would flush. */
static void a_pool_made_under_flush_to_zero_keeps_subnormals(void **state)
{
    rp_fpenv saved;
    rp_pool *pool = NULL;
    rp_error err;
    unsigned char good[ITEMS] = {0};
    rp_status made;

    (void)state;
    set_control(dirty(FLUSH));
    made = rp_pool_new(&pool, 3, rp_fpenv_worker, &err);
    assert_int_equal(rp_fpenv_enter(&saved, NULL, &err), RP_OK);
    rp_pool_run(pool, ITEMS, 1, check_items, good);
    rp_pool_free(pool);
    set_control(CLEAN);
    assert_int_equal(made, RP_OK);
    for (int i = 0; i < ITEMS; i++)
        assert_true(good[i]);
}

static void the_description_tells_clean_from_flushed(void **state)
{
    char clean[128], flushed[128];

    (void)state;
    rp_fpenv_describe(clean, sizeof clean);
    set_control(dirty(FLUSH));
    rp_fpenv_describe(flushed, sizeof flushed);
    set_control(CLEAN);
    assert_non_null(strstr(clean, "nearest even"));
    assert_null(strstr(clean, "NOT"));
    assert_string_not_equal(clean, flushed);
#if defined(__x86_64__)
    assert_string_equal(clean, "MXCSR 0x1f80: nearest even, subnormals kept, traps masked");
    assert_string_equal(flushed, "MXCSR 0x9fc0: nearest even, subnormals FLUSHED, traps masked");
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_clean_environment_is_not_repaired, restore, restore),
        cmocka_unit_test_setup_teardown(flush_to_zero_is_repaired_visibly_and_given_back, restore, restore),
        cmocka_unit_test_setup_teardown(directed_rounding_is_repaired_visibly_and_given_back, restore, restore),
        cmocka_unit_test_setup_teardown(traps_are_masked, restore, restore),
        cmocka_unit_test_setup_teardown(a_worker_thread_is_brought_under_the_contract, restore, restore),
        cmocka_unit_test_setup_teardown(a_pool_made_under_flush_to_zero_keeps_subnormals, restore, restore),
        cmocka_unit_test_setup_teardown(the_description_tells_clean_from_flushed, restore, restore),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
