/* SPDX-License-Identifier: Apache-2.0
 * A recurrent network in training on the emulated device: the states that the processor leaves, the first time, when
 * the scan is captured and when it is repeated; and how often the host has a part in it: launches, uploads, copies. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/program/graph.h"
#include "core/run/run.h"
#include "determinism/philox.h"
#include "kernels/device.h"
#include "rp/program.h"

enum { TIMES = 7, ROWS = 33, COLS = 64, STATES = 2, STEPS = 3, MOST = TIMES * ROWS * 4 * COLS };

#define OK(call) \
    do { \
        rp_error err = {0}; \
        if ((call) != RP_OK) \
            fail_msg("%s: %s", #call, err.text); \
    } while (0)

static unsigned long (*calls)(const char *call);

static int find_driver(void **state)
{
    void *driver = dlopen(getenv("RP_EMULATED_LIBRARY"), RTLD_NOW | RTLD_LOCAL);

    (void)state;
    if (driver)
        *(void **)&calls = dlsym(driver, "rp_emulated_calls");
    return !driver || !calls;
}

/* ---- the network ---- */

static rp_tensor gate(rp_tensor z, size_t k)
{
    return rp_slice(z, (size_t[]){0, k * COLS}, (size_t[]){ROWS, (k + 1) * COLS});
}

/* The cell of an LSTM; told: what it adds to z is the index of the step. */
static rp_function *cell(bool told)
{
    const rp_type index = {.dtype = RP_I64}, row = {.dtype = RP_F32, .rank = 2, .shape = {ROWS, COLS}};
    const rp_type wide = {.dtype = RP_F32, .rank = 2, .shape = {ROWS, 4 * COLS}};
    const rp_type weight = {.dtype = RP_F32, .rank = 2, .shape = {COLS, 4 * COLS}};
    rp_tensor i, h, c, z, u, in, kept;
    rp_function *f;
    rp_graph *g;

    OK(rp_graph_symbolic(&g, &err));
    i = rp_function_parameter(g, &index);
    h = rp_function_parameter(g, &row);
    c = rp_function_parameter(g, &row);
    z = rp_function_parameter(g, &wide);
    u = rp_function_parameter(g, &weight);
    z = rp_add(z, rp_matmul(h, u));
    if (told)
        z = rp_add(z, rp_scale(rp_cast(i, RP_F32), 0.0625));
    in = rp_mul(rp_sigmoid(gate(z, 0)), rp_tanh(gate(z, 2)));
    kept = rp_mul(rp_sigmoid(gate(z, 1)), c);
    c = rp_add(kept, in);
    h = rp_mul(rp_sigmoid(gate(z, 3)), rp_tanh(c));
    rp_function_return(g, h);
    rp_function_return(g, c);
    rp_function_return(g, h);
    OK(rp_function_finish(g, &f, &err));
    return f;
}

static const struct {
    const char *name;
    int rank;
    size_t shape[3];
} state[STATES] = {{"x", 3, {TIMES, ROWS, 4 * COLS}}, {"u", 2, {COLS, 4 * COLS}}};

/* What comes from x is a state here too, so that its gradient is looked at. */
static rp_program *network(bool told, bool reverse)
{
    rp_function *f = cell(told);
    rp_tensor zero, out[3], in[STATES], grad[STATES], loss;
    rp_program *p;
    rp_graph *g;

    OK(rp_graph_symbolic(&g, &err));
    for (size_t i = 0; i < STATES; i++) {
        rp_type type = {.dtype = RP_F32, .rank = state[i].rank};

        memcpy(type.shape, state[i].shape, sizeof state[i].shape);
        in[i] = rp_graph_declare(g, RP_INPUT_STATE, state[i].name, &type);
    }
    zero = rp_fill(g, RP_F32, 2, (size_t[]){ROWS, COLS}, 0);
    rp_scan(g,
            &(rp_scan_options){.function = f,
                               .carried = (rp_tensor[]){zero, zero},
                               .n_carried = 2,
                               .sliced = &in[0],
                               .n_sliced = 1,
                               .shared = &in[1],
                               .n_shared = 1,
                               .times = TIMES,
                               .reverse = reverse},
            out);
    rp_function_free(f);
    loss = rp_add(rp_sum(rp_mul(out[2], out[2]), NULL, 0, false), rp_sum(out[1], NULL, 0, false));
    rp_gradients(loss, in, STATES, grad);
    for (size_t i = 0; i < STATES; i++)
        rp_graph_set(g, RP_OUTPUT_STATE, state[i].name, rp_sub(in[i], rp_scale(grad[i], 0.03125)));
    rp_graph_result(g, "loss", loss);
    OK(rp_graph_finish(g, &p, &err));
    return p;
}

typedef struct training {
    rp_run *run;
    rp_compiled *compiled;
} training;

static training training_of(const char *device, bool told, bool reverse)
{
    static float x[MOST];
    const rp_run_options options = {.threads = 1, .device = device};
    training t;

    OK(rp_run_new(&t.run, &options, &err));
    for (size_t i = 0; i < STATES; i++) {
        for (uint64_t k = 0; k < MOST; k++)
            x[k] = rp_uniform_f32(rp_random_u32(5, 0, (uint32_t)i, k)) - 0.5f;
        OK(rp_run_add_state(t.run, state[i].name, RP_F32, state[i].rank, state[i].shape, x, &err));
    }
    OK(rp_run_compile(&t.compiled, t.run, network(told, reverse), &err));
    return t;
}

static void training_free(training *t)
{
    rp_compiled_free(t->compiled);
    rp_run_free(t->run);
}

static void compare(const training *a, const training *b, size_t step)
{
    static float x[2][MOST];

    for (size_t i = 0; i < STATES; i++) {
        const size_t count = state[i].shape[0] * state[i].shape[1] * (state[i].rank == 3 ? state[i].shape[2] : 1);

        OK(rp_run_get_state(a->run, state[i].name, x[0], count * sizeof(float), &err));
        OK(rp_run_get_state(b->run, state[i].name, x[1], count * sizeof(float), &err));
        if (memcmp(x[0], x[1], count * sizeof(float)) != 0)
            fail_msg("step %zu: %s differs", step, state[i].name);
    }
}

/* ---- tests ---- */

typedef struct counts {
    unsigned long launches, graphs, uploads, copies, fills;
} counts;

static counts now(void)
{
    static const char *const copies[] = {"rp_gpu_copy_16_bytes", "rp_gpu_copy_i64", "rp_gpu_copy_i32",
                                         "rp_gpu_transpose_32"};
    counts n = {calls("cuLaunchKernel"), calls("cuGraphLaunch"), calls("cuMemcpyHtoDAsync_v2"), 0,
                calls("rp_gpu_fill_f32")};

    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++)
        n.copies += calls(copies[i]);
    return n;
}

static counts between(const counts *before, const counts *after)
{
    return (counts){after->launches - before->launches, after->graphs - before->graphs,
                    after->uploads - before->uploads, after->copies - before->copies, after->fills - before->fills};
}

/* What the first step asks of the driver, and the one after that which was captured, when all leave the same states. */
static void steps(bool told, bool reverse, counts *first, counts *last)
{
    training here = training_of("cpu", told, reverse), there = training_of("emulated", told, reverse);

    for (size_t step = 0; step < STEPS; step++) {
        counts before, after;

        OK(rp_compiled_step(here.compiled, &err));
        before = now();
        OK(rp_compiled_step(there.compiled, &err));
        after = now();
        compare(&here, &there, step);
        *(step == 0 ? first : last) = between(&before, &after);
    }
    training_free(&here);
    training_free(&there);
}

static void frames_that_are_the_same_calls_every_time_are_repeated(void **unused)
{
    (void)unused;
    for (int reverse = 0; reverse < 2; reverse++) {
        counts first, n;

        steps(false, reverse, &first, &n);
        assert_true(n.graphs > 0);
        assert_in_range(n.launches, 0, 2); /* between two states that are written, too few for a sequence */
        assert_int_equal(n.uploads, 0);
    }
}

/* The index of each frame is brought by the host, once for the scan and once for its gradient. */
static void frames_that_read_their_index_are_launched(void **unused)
{
    (void)unused;
    for (int reverse = 0; reverse < 2; reverse++) {
        counts first, n;

        steps(true, reverse, &first, &n);
        assert_true(n.launches > TIMES);
        assert_in_range(n.uploads, TIMES, 2 * TIMES);
    }
}

/* Rows, histories and what gates' gradients are added to lie where they are made and read: copies are of what is
 * carried into the scan and out of it. */
static void frames_copy_nothing_and_make_no_constant_again(void **unused)
{
    (void)unused;
    for (int reverse = 0; reverse < 2; reverse++) {
        counts first, last;

        steps(false, reverse, &first, &last);
        assert_in_range(first.copies, 0, TIMES - 1);
        assert_in_range(first.fills, 0, TIMES - 1);
    }
}

static void concat(rp_device *device, const rp_view *in, size_t n, rp_view *out, unsigned long launches)
{
    const rp_attr attr[RP_MAX_ATTR] = {{.i = 1}};
    const unsigned long before = calls("cuLaunchKernel");

    OK(rp_device_launch(device, RP_K_concat, &(rp_kernel_args){in, n, out, 1, attr}, NULL, &err));
    assert_int_equal(calls("cuLaunchKernel") - before, launches);
}

/* Pieces [4, 8] of a tensor of 16 of them, at places[..], side by side in as few launches as there are rows of places
 * one distance apart. */
static void pieces_at_one_distance_are_one_copy(void **unused)
{
    enum { PIECE = 4 * 8, PIECES = 16 };
    static const struct {
        size_t n, place[5];
        unsigned long launches;
    } way[] = {{4, {0, 1, 2, 3}, 1},    {4, {9, 6, 3, 0}, 1},    {4, {0, 1, 3, 4}, 2},
               {5, {5, 5, 5, 5, 5}, 1}, {5, {0, 7, 1, 8, 2}, 3}, {1, {4}, 1}};
    static float x[PIECES * PIECE], y[5 * PIECE];
    rp_view in[5], out = {.dtype = RP_F32, .rank = 2, .shape = {4}, .stride = {0, 1}};
    rp_device *device;
    char *memory;

    (void)unused;
    for (size_t i = 0; i < PIECES * PIECE; i++)
        x[i] = (float)i;
    OK(rp_device_open(&device, "emulated", NULL, 1, &err));
    OK(rp_device_allocate(device, (void **)&memory, sizeof x, &err));
    OK(rp_device_allocate(device, &out.data, sizeof y, &err));
    OK(rp_device_upload(device, memory, x, sizeof x, NULL, &err));
    for (size_t w = 0; w < sizeof way / sizeof *way; w++) {
        for (size_t i = 0; i < way[w].n; i++)
            in[i] = (rp_view){.data = memory + way[w].place[i] * PIECE * sizeof *x,
                              .dtype = RP_F32,
                              .rank = 2,
                              .shape = {4, 8},
                              .stride = {8, 1}};
        out.shape[1] = 8 * way[w].n;
        out.stride[0] = (ptrdiff_t)out.shape[1];
        concat(device, in, way[w].n, &out, way[w].launches);
        OK(rp_device_read(device, y, out.data, way[w].n * PIECE * sizeof *y, NULL, &err));
        for (size_t row = 0; row < 4; row++)
            for (size_t i = 0; i < way[w].n; i++)
                assert_memory_equal(&y[row * out.shape[1] + 8 * i], &x[way[w].place[i] * PIECE + 8 * row],
                                    8 * sizeof *x);
    }
    rp_device_release(device, memory);
    rp_device_release(device, out.data);
    rp_device_free(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(frames_that_are_the_same_calls_every_time_are_repeated),
                                       cmocka_unit_test(frames_that_read_their_index_are_launched),
                                       cmocka_unit_test(frames_copy_nothing_and_make_no_constant_again),
                                       cmocka_unit_test(pieces_at_one_distance_are_one_copy)};

    return cmocka_run_group_tests(tests, find_driver, NULL);
}
