/* SPDX-License-Identifier: Apache-2.0
 * Allocations of the library, and of the JSON library on its behalf, fail in turn on each whole job, from every chain
 * of callers that allocates: out of memory is said, nothing leaks, nothing is left on disk. Allocations of OpenSSL,
 * libarchive and libyaml themselves: test_allocations_process.c. With the argument "all" every allocation fails, not
 * some of each chain. */
#include "tests/house/failing_allocations.h"
#include "tests/kernels/far_device.h"

static bool all_of_them;

/* What it does shows only when the power goes, and it would take most of the time here. */
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
    (void)fd;
    return 0;
}

static int setup(void **state)
{
    rp_set_allocator(&failing_allocator);
    return job_setup(state);
}

static int teardown(void **state)
{
    int result = job_teardown(state);

    rp_set_allocator(NULL);
    return result;
}

/* What doctor does, for one level, so that a failed vector is an error. */
static rp_status job_conformance(rp_error *err)
{
    return rp_conformance_run(NULL, NULL, err);
}

static void every_failed_allocation_of_every_job_is_an_error_and_leaks_nothing(void **state)
{
    const sweep all = {arm, disarm, counted, live, out_of_memory, 0, false, !all_of_them, false, false};

    (void)state;
    assert_int_equal(blocks, 0);
    for (size_t i = 0; i < SMALL_JOBS; i++)
        (void)sweep_job(&all, &small_jobs[i]);
    assert_int_equal(blocks, 0);
}

/* There the device's own memory, launches, copies, streams and windows may fail too. */
static void failed_allocations_on_a_far_device_are_errors_and_leak_nothing(void **state)
{
    static const char *const names[] = {"run",  "eager run",   "replay",       "predict", "replay eager",
                                        "diff", "replay part", "eager resume", "lineage"};
    const sweep all = {arm, disarm, counted, live, out_of_memory, 0, false, !all_of_them, false, false};

    (void)state;
    stacks_forget(); /* another device: the same paths with other memory to free */
    far_device_register();
    job_options.device = "far";
    for (size_t i = 0; i < SMALL_JOBS; i++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            if (strcmp(small_jobs[i].name, names[k]) == 0)
                (void)sweep_job(&all, &small_jobs[i]);
    job_options.device = NULL;
    assert_int_equal(blocks, 0);
    assert_int_equal(far_device_blocks(), 0);
    assert_int_equal(far_device_faults(), 0);
}

/* Thousands of kernel calls that allocate alike: a few points are enough. */
static void failed_allocations_of_the_conformance_vectors_are_errors_and_leak_nothing(void **state)
{
    const sweep few = {arm, disarm, counted, live, out_of_memory, 20, false, false, false, false};
    const small_job conformance = {"conformance", job_conformance, false};

    (void)state;
    job_real_conformance = true; /* some linkers wrap a function's calls in its own file too */
    (void)sweep_job(&few, &conformance);
    job_real_conformance = false;
}

/* The sweep would notice. */
static void the_block_count_sees_a_leak(void **state)
{
    rp_error err;
    long before = blocks;
    char *text = NULL;
    bool healthy;

    (void)state;
    assert_int_equal(rp_doctor(NULL, &text, &healthy, &err), RP_OK);
    assert_int_equal(blocks, before + 1);
    rp_text_free(text);
    assert_int_equal(blocks, before);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_failed_allocation_of_every_job_is_an_error_and_leaks_nothing),
        cmocka_unit_test(failed_allocations_on_a_far_device_are_errors_and_leak_nothing),
        cmocka_unit_test(failed_allocations_of_the_conformance_vectors_are_errors_and_leak_nothing),
        cmocka_unit_test(the_block_count_sees_a_leak),
    };

    all_of_them = argc > 1 && strcmp(argv[1], "all") == 0;
    return cmocka_run_group_tests(tests, setup, teardown);
}
