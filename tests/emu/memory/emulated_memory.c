/* SPDX-License-Identifier: Apache-2.0
 * A training step that a device has no room for is refused when it is compiled, before its first step, with the plan's
 * own figure: what rp_program_memory told without the device's memory. Nothing of the states is lost by it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rp/program.h"
#include "rp/rp.h"

enum { LAYERS = 6, WIDTH = 512, ROWS = 2048, DEVICE_MIB = 20 };

#define OK(call) \
    do { \
        rp_error err = {0}; \
        if ((call) != RP_OK) \
            fail_msg("%s: %s", #call, err.text); \
    } while (0)

static const char *const weight[LAYERS] = {"w0", "w1", "w2", "w3", "w4", "w5"};
static const rp_type square = {.dtype = RP_F32, .rank = 2, .shape = {WIDTH, WIDTH}};

static rp_program *training(void)
{
    const rp_type rows = {.dtype = RP_F32, .rank = 2, .shape = {ROWS, WIDTH}};
    rp_tensor w[LAYERS], grad[LAYERS], x, loss;
    rp_program *program;
    rp_graph *g;

    OK(rp_graph_symbolic(&g, &err));
    x = rp_graph_declare(g, RP_INPUT_FEED, "x", &rows);
    for (int l = 0; l < LAYERS; l++) {
        w[l] = rp_graph_declare(g, RP_INPUT_STATE, weight[l], &square);
        x = rp_tanh(rp_matmul(x, w[l]));
    }
    loss = rp_mean(rp_mul(x, x), NULL, 0, false);
    rp_gradients(loss, w, LAYERS, grad);
    for (int l = 0; l < LAYERS; l++)
        rp_graph_update(g, weight[l], rp_sub(w[l], grad[l]));
    OK(rp_graph_finish(g, &program, &err));
    return program;
}

static void a_plan_without_room_is_told_before_the_step(void **state)
{
    const rp_run_options options = {.threads = 1, .device = "emulated"};
    float *value = malloc(sizeof *value * WIDTH * WIDTH), *after = malloc(sizeof *after * WIDTH * WIDTH);
    rp_program *program = training();
    rp_compiled *step = NULL;
    rp_memory_needed needed;
    rp_error refused = {0};
    char figure[96];
    rp_run *run;

    (void)state;
    OK(rp_program_memory(program, &options, &needed, &err));
    assert_true(needed.states < (uint64_t)DEVICE_MIB << 20); /* there is room for the model */
    assert_true(needed.values > (uint64_t)DEVICE_MIB << 20); /* and none for its step */
    for (size_t i = 0; i < (size_t)WIDTH * WIDTH; i++)
        value[i] = (float)(i % 97) / 97;
    OK(rp_run_new(&run, &options, &err));
    for (int l = 0; l < LAYERS; l++)
        OK(rp_run_add_state(run, weight[l], RP_F32, 2, (size_t[]){WIDTH, WIDTH}, value, &err));
    assert_int_equal(rp_compile(&step, run, program, &refused), RP_ENOMEM);
    assert_null(step);
    (void)snprintf(figure, sizeof figure, "a step's values, feeds and results take %.0f MiB",
                   (double)(needed.values + needed.own) / (1 << 20));
    if (!strstr(refused.text, figure))
        fail_msg("expected \"%s\" in: %s", figure, refused.text);
    for (int l = 0; l < LAYERS; l++) {
        memset(after, 0, sizeof *after * WIDTH * WIDTH);
        OK(rp_run_get_state(run, weight[l], after, sizeof *after * WIDTH * WIDTH, &err));
        assert_memory_equal(after, value, sizeof *value * WIDTH * WIDTH);
    }
    rp_run_free(run);
    rp_program_free(program);
    free(value);
    free(after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_plan_without_room_is_told_before_the_step)};
    char bytes[32];

    (void)snprintf(bytes, sizeof bytes, "%d", DEVICE_MIB << 20);
    (void)setenv("RP_EMULATED_MEMORY", bytes, 1); /* which the driver reads once */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
