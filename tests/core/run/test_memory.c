/* SPDX-License-Identifier: Apache-2.0
 * Memory is told before a step needs it: a device that has as much left as the test says, programs and trainings that
 * want more, and the sum that a run holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/run/free_pieces.h"
#include "core/train/train.h"
#include "kernels/device_ops.h"
#include "kernels/memory/host_memory.h"

static const size_t mib = 1 << 20;
static size_t left;
static rp_device_ops poor_ops;

static size_t poor_left(rp_device *device)
{
    (void)device;
    return left;
}

/* The CPU, but for what it says of its memory. */
static rp_status poor_open(rp_device **out, const char *level, unsigned threads, rp_error *err)
{
    rp_status status = rp_device_cpu_new(out, level, threads, err);

    if (status != RP_OK)
        return status;
    poor_ops = *(*out)->ops;
    poor_ops.available = poor_left;
    (*out)->ops = &poor_ops;
    (*out)->kind = "poor";
    return RP_OK;
}

static int begin(void **state)
{
    (void)state;
    return rp_device_register("poor", poor_open, NULL) == RP_OK ? 0 : 1;
}

static rp_run *poor_run(void)
{
    rp_run *run;

    assert_int_equal(rp_run_new(&run, &(rp_run_options){.threads = 1, .device = "poor"}, NULL), RP_OK);
    return run;
}

/* result y = x + x of so many MiB, fed: so much again. */
static rp_status compile(rp_compiled **out, rp_run *run, size_t size, rp_error *err)
{
    rp_graph *g = rp_graph_new(NULL);
    rp_tensor x = rp_graph_input(g, RP_INPUT_FEED, "x",
                                 &(rp_type){.dtype = RP_F32, .rank = 1, .shape = {size * mib / sizeof(float)}}, NULL);

    rp_graph_set(g, RP_OUTPUT_RESULT, "y", rp_add(x, x));
    return rp_run_compile(out, run, rp_graph_take_program(g, NULL), err);
}

/* 100 MiB and 100 MiB again: what nobody has touched yet is not counted by the device, and so by the run. */
static void programs_that_want_more_than_there_is_are_refused(void **state)
{
    rp_run *run = poor_run();
    rp_compiled *first, *second = (rp_compiled *)&first;
    rp_device_tensor feed;
    rp_error err = {0};

    (void)state;
    left = 199 * mib;
    assert_int_equal(compile(&second, run, 100, &err), RP_ENOMEM);
    assert_null(second);
    assert_string_equal(err.text, "memory of the compiled program: out of memory: a step's values, feeds and results "
                                  "take 200 MiB, and device poor has 199 MiB left");
    assert_int_equal(rp_run_memory(run), 0);
    left = 250 * mib;
    assert_int_equal(compile(&first, run, 100, &err), RP_OK);
    assert_int_equal(rp_run_memory(run), 200 * mib);
    assert_int_equal(compile(&second, run, 30, &err), RP_ENOMEM);
    assert_non_null(strstr(err.text, "take 260 MiB"));
    assert_true(rp_compiled_feed(first, "x", &feed));
    assert_int_equal(rp_compiled_step(first, &err), RP_OK);
    assert_int_equal(compile(&second, run, 30, &err), RP_OK); /* 250 are left beside what was touched */
    assert_int_equal(rp_run_memory(run), 260 * mib);
    rp_compiled_free(second);
    rp_compiled_free(first);
    assert_int_equal(rp_run_memory(run), 0);
    rp_run_free(run);
}

/* What a program had that never ran is there for the next one. */
static void programs_that_were_freed_are_not_counted(void **state)
{
    rp_run *run = poor_run();
    rp_compiled *first, *c;
    rp_device_tensor feed;
    rp_error err = {0};

    (void)state;
    left = 250 * mib;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(compile(&c, run, 100, &err), RP_OK);
        rp_compiled_free(c);
    }
    assert_int_equal(compile(&first, run, 1, &err), RP_OK);
    assert_true(rp_compiled_feed(first, "x", &feed));
    assert_int_equal(rp_compiled_step(first, &err), RP_OK);
    assert_int_equal(compile(&c, run, 100, &err), RP_OK);
    rp_compiled_free(first); /* the step has touched what it had: what c has is counted as before */
    assert_int_equal(compile(&first, run, 26, &err), RP_ENOMEM);
    assert_non_null(strstr(err.text, "take 252 MiB"));
    rp_compiled_free(c);
    rp_run_free(run);
}

/* 8 rows of 1 feature on 65,536 units, a second layer of 1,000: 250 MiB of weights, and twice that of moments. */
static void trainings_that_want_more_are_refused_before_their_weights_are_there(void **state)
{
    static const char yaml[] = "reprise: 1\ndata: {csv: d, target: y, train_on_all: true}\n"
                               "model: {hidden: [65536, 1000]}\ntrain: {batch: 8}\n";
    static const char csv[] = "a,y\n1,u\n2,v\n3,u\n4,v\n5,u\n6,v\n7,u\n8,v\n";
    rp_recipe *recipe;
    rp_trainer *t = (rp_trainer *)&recipe;
    rp_error err = {0};

    (void)state;
    assert_int_equal(rp_recipe_from_yaml(&recipe, yaml, strlen(yaml), "r.yaml", &err), RP_OK);
    left = 700 * mib;
    assert_int_equal(rp_trainer_new(&t, recipe, &(rp_source_text){csv, strlen(csv), "d.csv", NULL, NULL},
                                    &(rp_run_options){.threads = 1, .device = "poor"}, &err),
                     RP_ENOMEM);
    assert_null(t);
    assert_string_equal(err.text, "out of memory: weights, moments and table take 752 MiB, and device poor has 700 MiB "
                                  "left");
    rp_recipe_free(recipe);
}

/* Little is not asked for; the host has something, and a device that does not know has all. */
static void be_fed(rp_run *run, rp_graph *g, const char *name, const rp_type *type)
{
    assert_int_equal(rp_run_add_state(run, name, type->dtype, type->rank, type->shape, NULL, NULL), RP_OK);
    rp_graph_set(g, RP_OUTPUT_STATE, name, rp_graph_input(g, RP_INPUT_FEED, name, type, NULL));
    (void)rp_graph_state(g, run, name);
}

/* Weights of a parent are written where the states are; one state without axes makes no difference. */
static void states_that_are_fed_lie_in_the_states(void **state)
{
    static const float w[4] = {1, 2, 3, 4};
    const float s = 5;
    float found[4], one;
    rp_run *run;
    rp_graph *g = rp_graph_new(NULL);
    rp_compiled *compiled;

    (void)state;
    assert_int_equal(rp_run_new(&run, &(rp_run_options){.threads = 1}, NULL), RP_OK);
    be_fed(run, g, "w", &(rp_type){.dtype = RP_F32, .rank = 1, .shape = {4}});
    be_fed(run, g, "s", &(rp_type){.dtype = RP_F32});
    assert_int_equal(rp_run_compile_start(&compiled, run, g, NULL), RP_OK);
    assert_int_equal(rp_compiled_own_bytes(compiled), 0);
    assert_int_equal(rp_compiled_write(compiled, "w", w, sizeof w, NULL), RP_OK);
    assert_int_equal(rp_compiled_write(compiled, "s", &s, sizeof s, NULL), RP_OK);
    assert_int_equal(rp_compiled_step(compiled, NULL), RP_OK);
    assert_int_equal(rp_run_get_state(run, "w", found, sizeof found, NULL), RP_OK);
    assert_int_equal(rp_run_get_state(run, "s", &one, sizeof one, NULL), RP_OK);
    assert_memory_equal(found, w, sizeof w);
    assert_true(one == s);
    rp_compiled_free(compiled);
    rp_run_free(run);
}

static void what_is_left_is_known(void **state)
{
    rp_device *device;
    const size_t host = rp_host_memory_available();

    (void)state;
    assert_true(host > 16 * mib);
    assert_true(host == SIZE_MAX || host < (size_t)1 << 50);
    assert_int_equal(rp_device_open(&device, "poor", NULL, 1, NULL), RP_OK);
    left = 0;
    assert_int_equal(rp_device_room(device, 16 * mib, "it takes", NULL), RP_OK);
    assert_int_equal(rp_device_room(device, 16 * mib + 1, "it takes", NULL), RP_ENOMEM);
    poor_ops.available = NULL;
    assert_int_equal(rp_device_room(device, SIZE_MAX, "it takes", NULL), RP_OK);
    rp_device_free(device);
}

/* 2^21 feeds of 2^40 binary64 each would be 0 bytes of memory. */
static void feeds_and_results_add_up_or_are_too_many(void **state)
{
    size_t sum = 0, added = 0;

    (void)state;
    assert_true(rp_free_pieces_add(&sum, 1) && sum == RP_FREE_PIECES_ALIGN);
    assert_true(rp_free_pieces_add(&sum, RP_FREE_PIECES_ALIGN) && sum == (size_t)2 * RP_FREE_PIECES_ALIGN);
    while (rp_free_pieces_add(&sum, (size_t)1 << 43))
        assert_true(++added < (size_t)1 << 19);
    assert_int_equal(added, ((size_t)1 << 19) - 1);
    assert_int_equal(sum, (added << 43) + (size_t)2 * RP_FREE_PIECES_ALIGN);
    assert_false(rp_free_pieces_add(&sum, SIZE_MAX));
    assert_false(rp_free_pieces_add(&sum, rp_free_pieces_most - sum));
    assert_true(rp_free_pieces_add(&sum, (rp_free_pieces_most - sum) / RP_FREE_PIECES_ALIGN * RP_FREE_PIECES_ALIGN));
    assert_false(rp_free_pieces_add(&sum, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_that_want_more_than_there_is_are_refused),
        cmocka_unit_test(programs_that_were_freed_are_not_counted),
        cmocka_unit_test(trainings_that_want_more_are_refused_before_their_weights_are_there),
        cmocka_unit_test(states_that_are_fed_lie_in_the_states),
        cmocka_unit_test(what_is_left_is_known),
        cmocka_unit_test(feeds_and_results_add_up_or_are_too_many),
    };

    return cmocka_run_group_tests(tests, begin, NULL);
}
