/* SPDX-License-Identifier: Apache-2.0
 * The conformance vectors of several levels taken together, over any number of threads, say what each level says alone;
 * the cache of specimen values changes no value. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "determinism/fpenv.h"
#include "kernels/conformance/conformance.h"
#include "kernels/device.h"
#include "kernels/conformance/specimen_data.h"
#include "tests/house/sanitized.h"

static rp_error err;

static void levels_together_say_what_each_says_alone(void **state)
{
    static const unsigned threads[] = {1, 3};
    const char *const *name;
    size_t levels = rp_kernel_levels(&name), alone[RP_CONFORMANCE_LEVELS];

    (void)state;
    for (size_t i = 0; i < levels; i++) {
        if (THREADS_SANITIZED) /* which looks at several threads: these and one together take two thirds of its time */
            alone[i] = rp_conformance_vectors();
        else
            assert_int_equal(rp_conformance_run(name[i], &alone[i], &err), RP_OK);
        assert_true(alone[i] > 200);
    }
    for (size_t t = THREADS_SANITIZED; t < 2; t++) {
        rp_conformance result[RP_CONFORMANCE_LEVELS] = {{.level = "no such level"}};

        for (size_t i = 0; i < levels; i++)
            result[i + 1].level = name[i];
        assert_int_equal(rp_conformance_run_many(result, levels + 1, threads[t], &err), RP_OK);
        assert_int_equal(result[0].status, RP_EARG);
        for (size_t i = 0; i < levels; i++) {
            assert_int_equal(result[i + 1].status, RP_OK);
            assert_int_equal(result[i + 1].checked, alone[i]);
        }
    }
    assert_int_equal(rp_conformance_run_many(NULL, RP_CONFORMANCE_LEVELS + 1, 1, &err), RP_EARG);
    assert_int_equal(rp_conformance_run("no such level", &alone[0], &err), RP_EARG);
}

/* Shorter, longer, again; another seed and kind of data in between; more blocks than the cache keeps. */
static void cached_values_are_the_values(void **state)
{
    static const size_t counts[] = {5, 100, 17, 301, 301};
    rp_specimen_cache cache = {0};

    (void)state;
    for (uint64_t seed = 1; seed < 3; seed++)
        for (int data = 0; data < RP_DATA_COUNT; data++)
            for (int dtype = 0; dtype < RP_DTYPE_COUNT; dtype++)
                for (uint32_t stream = 0; stream < 10; stream++)
                    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
                        unsigned char found[301 * 8], expected[301 * 8];

                        rp_specimen_fill(&cache, found, (rp_dtype)dtype, counts[i], (rp_specimen_data)data, seed,
                                         stream);
                        rp_specimen_fill(NULL, expected, (rp_dtype)dtype, counts[i], (rp_specimen_data)data, seed,
                                         stream);
                        assert_memory_equal(found, expected, counts[i] * rp_dtype_size((rp_dtype)dtype));
                    }
    rp_specimen_cache_free(&cache);
}

static int enter(void **state)
{
    static rp_fpenv saved;

    (void)state;
    return rp_fpenv_enter(&saved, NULL, &err) == RP_OK ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_together_say_what_each_says_alone),
        cmocka_unit_test(cached_values_are_the_values),
    };

    return cmocka_run_group_tests(tests, enter, NULL);
}
