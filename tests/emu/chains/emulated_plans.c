/* SPDX-License-Identifier: Apache-2.0
 * Compiled steps of random elementwise programs, whose plans are chains for the most part, and of concats, whose
 * operands are made where they go: the emulated device leaves the results and states that the processor leaves, in each
 * of the three orders, the first time and when the steps are repeated as a graph of the driver. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <dlfcn.h>

#include <cmocka.h>

#include "base/memory.h"
#include "core/run/run.h"
#include "determinism/bits.h"
#include "tests/emu/emulated.h"
#include "tests/house/sanitized.h"
#include "tests/kernels/random_concats.h"

/* Of chains, the one of seed 57 has so many operands and steps that the wide kernel runs it. */
enum {
    CHAINS_FIRST = SANITIZED ? 40 : 0,
    PROGRAMS = SANITIZED ? 20 : 90,
    STEPS = 3,
    MOST_BYTES = 8 * RANDOM_VALUE_MAX
};

#define OK(call) \
    do { \
        rp_error err = {0}; \
        if ((call) != RP_OK) \
            fail_msg("%s: %s", #call, err.text); \
    } while (0)

static unsigned char bytes[MOST_BYTES], stored[2][MOST_BYTES];

static void fill(const rp_type *type, uint32_t value, size_t step)
{
    for (size_t i = 0; i < rp_type_count(type); i++)
        if (type->dtype == RP_F32)
            ((float *)(void *)bytes)[i] = rp_uniform_f32(rp_random_u32(3, step, value, i)) * 2 - 0.75f;
        else /* the random state */
            ((int64_t *)(void *)bytes)[i] = (int64_t)(step + i);
}

typedef struct compiled_run {
    rp_run *run;
    rp_compiled *compiled;
} compiled_run;

static compiled_run run_of(const char *device, rp_program *p)
{
    const rp_run_options options = {.threads = 1, .device = device};
    compiled_run r;

    OK(rp_run_new(&r.run, &options, &err));
    for (size_t i = 0; i < p->n_inputs; i++) {
        const rp_input *in = &p->input[i];
        const rp_type *type = &p->value[in->value];

        fill(type, in->value, 0);
        if (in->kind == RP_INPUT_STATE)
            OK(rp_run_add_state(r.run, in->name, type->dtype, type->rank, type->shape, bytes, &err));
        else if (in->kind == RP_INPUT_DATA)
            OK(rp_run_add_data(r.run, in->name, type->dtype, type->rank, type->shape, bytes, &err));
    }
    OK(rp_run_compile(&r.compiled, r.run, p, &err));
    return r;
}

static void step(const compiled_run *r, size_t number)
{
    const rp_program *p = rp_compiled_program(r->compiled);

    for (size_t i = 0; i < p->n_inputs; i++) {
        rp_device_tensor feed;

        if (p->input[i].kind != RP_INPUT_FEED)
            continue;
        fill(&p->value[p->input[i].value], p->input[i].value, number);
        assert_true(rp_compiled_feed(r->compiled, p->input[i].name, &feed));
        OK(rp_device_tensor_write(&feed, bytes, &err));
    }
    OK(rp_compiled_step(r->compiled, &err));
}

/* Output o after a step, as it is stored. */
static void output_of(const compiled_run *r, size_t o, unsigned char *out)
{
    const rp_output *output = &rp_compiled_program(r->compiled)->output[o];
    const rp_type *type = &rp_compiled_program(r->compiled)->value[output->value];
    rp_device_tensor result;

    if (output->kind == RP_OUTPUT_STATE) {
        OK(rp_run_get_state(r->run, output->name, bytes, rp_type_bytes(type), &err));
    } else {
        assert_true(rp_compiled_result(r->compiled, output->name, &result));
        OK(rp_device_tensor_read(&result, bytes, &err));
    }
    rp_to_stored(out, bytes, type->dtype, rp_type_count(type));
}

static void compare(const compiled_run *a, const compiled_run *b, uint64_t seed, size_t number)
{
    const rp_program *p = rp_compiled_program(a->compiled);

    for (size_t o = 0; o < p->n_outputs; o++) {
        const rp_type *type = &p->value[p->output[o].value];

        output_of(a, o, stored[0]);
        output_of(b, o, stored[1]);
        if (memcmp(stored[0], stored[1], rp_type_bytes(type)) != 0)
            fail_msg("seed %llu, step %zu: output %s differs", (unsigned long long)seed, number, p->output[o].name);
    }
}

static void *symbol(const char *name)
{
    void *library = dlopen(getenv("RP_EMULATED_LIBRARY"), RTLD_NOW | RTLD_NOLOAD), *found;

    assert_non_null(library);
    found = dlsym(library, name);
    assert_non_null(found);
    (void)dlclose(library); /* it stays */
    return found;
}

/* Steps of the same program here and there. */
static void leave_the_same(rp_program *of_here, rp_program *of_there, uint64_t seed)
{
    compiled_run here, there;
    char order[2] = {(char)('0' + seed / 6 % 3), 0};

    (void)setenv("RP_EMULATED_ORDER", order, 1);
    here = run_of("cpu", of_here);
    there = run_of("emulated", of_there);
    for (size_t number = 0; number < STEPS; number++) {
        step(&here, number);
        step(&there, number);
        compare(&here, &there, seed, number);
    }
    rp_compiled_free(here.compiled);
    rp_compiled_free(there.compiled);
    rp_run_free(here.run);
    rp_run_free(there.run);
}

static void plans_of_concats_leave_what_the_processor_leaves(void **state)
{
    static const size_t columns[] = {1, 5, 16, 48}; /* rows that lie where a device may write them, and others */

    (void)state;
    for (uint64_t seed = 0; seed < PROGRAMS; seed++)
        leave_the_same(random_concats_new(seed, 1 + seed % 7, columns[seed % 4]),
                       random_concats_new(seed, 1 + seed % 7, columns[seed % 4]), seed);
}

static void plans_of_chains_leave_what_the_processor_leaves(void **state)
{
    static const size_t shape[][2] = {{47, 47}, {1, 2049}, {2053, 1}, {63, 65}, {64, 96}, {99, 101}};
    static const char *const names[] = {"rp_gpu_chain_run_narrow", "rp_gpu_chain_run_wide"};
    unsigned long (*calls)(const char *);

    (void)state;
    for (uint64_t seed = CHAINS_FIRST; seed < CHAINS_FIRST + PROGRAMS; seed++) {
        const size_t *s = shape[seed % (sizeof shape / sizeof *shape)];

        leave_the_same(random_chain_new(seed, s[0], s[1]), random_chain_new(seed, s[0], s[1]), seed);
    }
    *(void **)&calls = symbol("rp_emulated_calls");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        print_message("%s: %lu launches\n", names[i], calls(names[i]));
        assert_true(calls(names[i]) > (i == 0 ? 4 * PROGRAMS : 0));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_of_concats_leave_what_the_processor_leaves),
        cmocka_unit_test(plans_of_chains_leave_what_the_processor_leaves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
