/* SPDX-License-Identifier: Apache-2.0
 * Random programs: a compiled one gives the bits of the eager tape at every level and number of threads, whatever its
 * memory held before. The tests name the levels themselves. */
#include "tests/core/run/plan_steps.h"
#include "tests/house/sanitized.h"
#include "tests/kernels/random_chain.h"

enum { RANDOM_PROGRAMS = SANITIZED ? 150 : 400, RANDOM_CHAINS = SANITIZED ? 90 : 240, LARGE_EVERY = 50, LEVELS = 8 };

typedef struct devices {
    rp_device *device[4 * LEVELS];
    char what[4 * LEVELS][40];
    size_t n;
} devices;

static const unsigned thread_counts[] = {1, 2, 3, 7};

static devices devices_new(void)
{
    devices d = {.n = 0};
    const char *const *levels;
    size_t n = rp_kernel_levels(&levels);

    assert_true(n <= LEVELS);
    for (size_t l = 0; l < n; l++)
        for (size_t t = 0; t < COUNT(thread_counts); t++) {
            assert_int_equal(rp_device_cpu_new(&d.device[d.n], levels[l], thread_counts[t], NULL), RP_OK);
            snprintf(d.what[d.n++], sizeof d.what[0], "%s, %u threads", levels[l], thread_counts[t]);
        }
    return d;
}

static void devices_free(devices *d)
{
    for (size_t i = 0; i < d->n; i++)
        rp_device_free(d->device[i]);
}

static void compiled_programs_give_the_bits_of_the_eager_tape(void **state)
{
    devices d = devices_new();
    size_t in_place = 0;

    (void)state;
    for (uint64_t seed = 0; seed < RANDOM_PROGRAMS; seed++) {
        bool large = seed % LARGE_EVERY == 0;
        rp_program *p = random_program_new(seed, large ? 80 : seed % 2 ? 5 : 4, large ? 80 : seed % 2 ? 5 : 6);
        tape expected;
        char what[80];

        assert_non_null(p);
        expected = tape_new(p, d.device[0]);
        for (size_t i = 0; i < d.n; i++)
            if (large || i % COUNT(thread_counts) == seed % COUNT(thread_counts)) {
                snprintf(what, sizeof what, "seed %d, %s", (int)seed, d.what[i]);
                assert_plan_is(p, &expected, d.device[i], what);
            }
        tape_free(&expected);
        for (size_t o = 0; o < p->n_outputs; o++) {
            const rp_instr *maker;
            int at;

            if (p->output[o].kind == RP_OUTPUT_STATE && made_by_kernel(p, p->output[o].value, &maker, &at))
                in_place += (size_t)at < maker->n_in && maker->op->flags & RP_OP_INPLACE &&
                            maker->in[at] == p->input[state_of(p, p->output[o].name)].value;
        }
        rp_program_free(p);
    }
    assert_true(in_place > RANDOM_PROGRAMS / 4); /* the programs do contain what could go wrong */
    devices_free(&d);
}

static void chains_give_the_bits_of_the_eager_tape(void **state)
{
    /* below, at and above the length from which there are chains; odd, empty, narrow, square */
    static const size_t shape[][2] = {{45, 46}, {2, 1024}, {47, 47}, {1, 2049}, {2053, 1}, {63, 65},
                                      {0, 5},   {1, 1},    {64, 96}, {99, 101}, {3, 6001}, {137, 137}};
    devices d = devices_new();
    size_t shorter = 0;

    (void)state;
    for (uint64_t seed = 0; seed < RANDOM_CHAINS; seed++) {
        const size_t *s = shape[seed % COUNT(shape)];
        rp_program *p = random_chain_new(seed, s[0], s[1]);
        store in = store_new(p);
        rp_plan *plan = plan_new(p, d.device[0], &in);
        tape expected = tape_new(p, d.device[0]);
        char what[80];

        shorter += rp_plan_launches(plan) + 3 < p->n_instrs;
        rp_plan_free(plan);
        store_free(&in);
        for (size_t i = 0; i < d.n; i++)
            if (i % COUNT(thread_counts) == seed / COUNT(shape) % COUNT(thread_counts)) {
                snprintf(what, sizeof what, "chain %d [%zu, %zu], %s", (int)seed, s[0], s[1], d.what[i]);
                assert_plan_is(p, &expected, d.device[i], what);
            }
        tape_free(&expected);
        rp_program_free(p);
    }
    assert_true(shorter > RANDOM_CHAINS / 4); /* there are chains */
    devices_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compiled_programs_give_the_bits_of_the_eager_tape),
        cmocka_unit_test(chains_give_the_bits_of_the_eager_tape),
    };

    rp_set_allocator(&poisoning);
    return cmocka_run_group_tests_name("plans of random programs", tests, NULL, NULL);
}
