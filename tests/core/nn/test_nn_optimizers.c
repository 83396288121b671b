/* SPDX-License-Identifier: Apache-2.0
 * Optimizers, groups with one of their own, and schedules of rp/nn.h beside PyTorch's: parameters after some steps, and
 * rates, as torch_values.py has written them down. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/nn/nn.h"
#include "determinism/bits.h"
#include "tests/core/nn/models.h"
#include "tests/core/nn/torch_numbers.h"

enum { STEPS = 6, PARTS = 4, VALUES_MAX = 24, ROWS = 3 };

typedef struct torch_steps {
    const char *name;
    torch_part part[PARTS];
} torch_steps;

#include "tests/core/nn/torch_steps.h"

static const rp_nn_schedule exponential = {.curve = RP_NN_EXPONENTIAL, .gamma = 0.5};
static const rp_nn_schedule cycle = {.curve = RP_NN_ONE_CYCLE, .warmup = 4, .total = 10, .start = 0.025, .low = 0.01};
static const rp_nn_schedule restarts = {.curve = RP_NN_RESTARTS, .every = 3, .low = 0.01};

static rp_tensor two(rp_nn *nn, const rp_tensor *batch, void *self)
{
    rp_tensor y = rp_tanh(rp_nn_linear(nn, "a", batch[0], 6));

    (void)self;
    y = rp_nn_linear(nn, "b", y, 2);
    return rp_mean(rp_mul(y, y), NULL, 0, false);
}

typedef struct subject {
    const char *name;
    rp_nn_optimizer optimizer;
    struct {
        const char *pattern;
        rp_nn_optimizer optimizer;
    } own[2];
    bool biases_in_a_group; /* rate 0.02, decay 0.1 */
} subject;

static void subjects(subject out[8])
{
    memset(out, 0, 8 * sizeof *out);
    out[0] = (subject){.name = "sgd", .optimizer = rp_nn_sgd(0.1, 0.9)};
    out[0].optimizer.nesterov = true;
    out[0].optimizer.weight_decay = 0.01;
    out[1] = (subject){.name = "adam", .optimizer = rp_nn_adam(0.05)};
    out[2] = (subject){.name = "adamw", .optimizer = rp_nn_adamw(0.05)};
    out[3] = (subject){.name = "rmsprop", .optimizer = rp_nn_rmsprop(0.02)};
    out[3].optimizer.momentum = 0.5;
    out[4] = (subject){.name = "adagrad", .optimizer = rp_nn_adagrad(0.1)};
    out[5] = (subject){.name = "groups", .optimizer = rp_nn_adamw(0.05), .biases_in_a_group = true};
    out[5].optimizer.schedule = exponential;
    out[6] = (subject){.name = "muon", .optimizer = rp_nn_muon(0.1), .own = {{"*.bias", rp_nn_adamw(0.05)}}};
    out[6].optimizer.schedule = cycle;
    out[6].own[0].optimizer.beta1 = 0.8;
    out[6].own[0].optimizer.beta2 = 0.9;
    out[6].own[0].optimizer.schedule = restarts;
    out[7] = (subject){.name = "muon_plain",
                       .optimizer = rp_nn_muon(0.1),
                       .own = {{"b.weight", rp_nn_sgd(0.1, 0)}, {"*.bias", rp_nn_adagrad(0.1)}}};
    out[7].optimizer.momentum = 0.8;
    out[7].optimizer.nesterov = false;
    out[7].optimizer.weight_decay = 0;
}

static rp_nn *model_new(const subject *s, bool eager)
{
    float x[ROWS * 4];
    rp_nn *nn = NULL;

    torch_numbers("x", x, ROWS * 4);
    OK(rp_nn_new(&nn,
                 &(rp_nn_options){.model = two,
                                  .optimizer = s->optimizer,
                                  .batches = {.batch = ROWS, .in_order = true},
                                  .eager = eager,
                                  .run = {.threads = 1}},
                 ERR));
    OK(rp_nn_array(nn, "x", RP_F32, 2, (size_t[]){ROWS, 4}, x, ERR));
    if (s->biases_in_a_group)
        OK(rp_nn_add_group(nn, "*.bias", 0.02, 0.1, ERR));
    for (int i = 0; i < 2 && s->own[i].pattern; i++)
        OK(rp_nn_add_optimizer(nn, s->own[i].pattern, &s->own[i].optimizer, ERR));
    OK(rp_nn_build(nn, ERR));
    return nn;
}

static void give_numbers(rp_nn *nn)
{
    rp_nn_parameter_info info;

    for (size_t i = 0; rp_nn_parameter_at(nn, i, &info); i++) {
        const size_t count = info.rank == 2 ? info.shape[0] * info.shape[1] : info.shape[0];
        float there[VALUES_MAX], here[VALUES_MAX];

        torch_numbers(info.name, there, count);
        rp_nn_from_torch(nn, i, here, there);
        OK(rp_nn_write(nn, info.name, here, count * sizeof *here, ERR));
    }
}

static void parameters_are_near(rp_nn *nn, const torch_steps *expected)
{
    rp_nn_parameter_info info;
    size_t n = 0;

    for (; rp_nn_parameter_at(nn, n, &info); n++) {
        const size_t count = info.rank == 2 ? info.shape[0] * info.shape[1] : info.shape[0];
        float here[VALUES_MAX], there[VALUES_MAX];
        double wide[VALUES_MAX];

        OK(rp_nn_read(nn, info.name, here, count * sizeof *here, ERR));
        rp_nn_to_torch(nn, n, there, here);
        for (size_t i = 0; i < count; i++)
            wide[i] = (double)there[i];
        torch_near(expected->name, info.name, expected->part, PARTS, wide, count, 1e-5);
    }
    assert_int_equal(n, PARTS);
}

static void steps_end_where_torchs_do(void **state)
{
    subject all[8];

    (void)state;
    subjects(all);
    assert_int_equal(sizeof torch_optimizers / sizeof *torch_optimizers, 8);
    for (size_t i = 0; i < 8; i++)
        for (int eager = 0; eager < 2; eager++) {
            rp_nn *nn = model_new(&all[i], eager != 0);

            assert_string_equal(torch_optimizers[i].name, all[i].name);
            give_numbers(nn);
            for (int step = 0; step < STEPS; step++)
                OK(rp_nn_train_step(nn, NULL, ERR));
            parameters_are_near(nn, &torch_optimizers[i]);
            rp_nn_free(nn);
        }
}

static void rates_are_torchs(void **state)
{
    const rp_nn_schedule schedule[] = {exponential, cycle, restarts};

    (void)state;
    for (size_t i = 0; i < 3; i++)
        for (size_t t = 1; t <= 12; t++) { /* PyTorch's cycle refuses a step behind its end: it stays there */
            const double expected = i == 1 && t > 10 ? 0.01 : torch_rates[i][t - 1];

            if (!(fabs(rp_nn_rate(&schedule[i], 0.1, t) - expected) < 1e-15))
                fail_msg("schedule %zu, step %zu: expected %.17g, found %.17g", i, t, expected,
                         rp_nn_rate(&schedule[i], 0.1, t));
        }
}

/* CONTRACT 16.3 */
static void rates_are_the_contracts(void **state)
{
    const rp_nn_schedule shared = {.warmup = 3, .total = 10, .every = 3, .gamma = 0.3, .low = 0.01};
    const struct {
        rp_nn_curve curve;
        uint64_t t, bits;
    } row[] = {{RP_NN_EXPONENTIAL, 7, 0x3f661e4f765fd8ae},
               {RP_NN_RESTARTS, 8, 0x3fb3d70a3d70a3d7},
               {RP_NN_INVERSE_ROOT, 7, 0x3fb0c2569a96f755},
               {RP_NN_ONE_CYCLE, 7, 0x3fa7087a667f9755},
               {RP_NN_ONE_CYCLE, 2, 0x3faa9fbe76c8b43a}};

    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        rp_nn_schedule s = shared;

        s.curve = row[i].curve;
        if (rp_bits_f64(rp_nn_rate(&s, 0.1, row[i].t)) != row[i].bits)
            fail_msg("row %zu: expected %016llx, found %016llx", i, (unsigned long long)row[i].bits,
                     (unsigned long long)rp_bits_f64(rp_nn_rate(&s, 0.1, row[i].t)));
    }
    assert_true(rp_nn_rate(&(rp_nn_schedule){.curve = RP_NN_ONE_CYCLE, .warmup = 1, .total = 2}, 0.1, 1) == 0.1);
    assert_true(rp_nn_rate(&(rp_nn_schedule){.curve = RP_NN_ONE_CYCLE, .total = 2}, 0.1, 2) == 0);
}

static void what_has_no_rows_and_columns_is_not_muons(void **state)
{
    const subject s = {.optimizer = rp_nn_muon(0.1)};
    const rp_nn_optimizer clipped = {.rule = RP_NN_SGD, .lr = 0.1, .clip_norm = 1};
    const rp_nn_optimizer endless = {.rule = RP_NN_SGD, .lr = 0.1, .schedule = {.curve = RP_NN_ONE_CYCLE}};
    rp_error err = {0};
    rp_nn *nn = model_new(&s, false);

    (void)state;
    assert_int_equal(rp_nn_train_step(nn, NULL, &err), RP_ESHAPE);
    assert_non_null(strstr(err.text, "a.bias: Muon is for matrices, found f32[6]: give it another optimizer"));
    rp_nn_free(nn);
    for (int i = 0; i < 2; i++) {
        OK(rp_nn_new(&nn, &(rp_nn_options){.model = two}, ERR));
        assert_int_equal(rp_nn_add_optimizer(nn, "*", i ? &endless : &clipped, &err), RP_EARG);
        assert_non_null(strstr(err.text, i ? "the schedule ends after 0 steps" : "clipping is of all gradients"));
        rp_nn_free(nn);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_end_where_torchs_do),
        cmocka_unit_test(rates_are_torchs),
        cmocka_unit_test(rates_are_the_contracts),
        cmocka_unit_test(what_has_no_rows_and_columns_is_not_muons),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
