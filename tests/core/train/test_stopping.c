/* SPDX-License-Identifier: Apache-2.0
 * Early stopping: where the rule ends a training, computed a second time, which weights stay, and that a stopped
 * training goes on from each of its steps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "core/train/train.h"
#include "determinism/bits.h"
#include "determinism/math.h"
#include "determinism/sum.h"
#include "tests/core/train/small_training.h"

#define STOPPING \
    "reprise: 1\nseed: 9\ndata: {csv: d.csv, target: y}\nmodel: {hidden: [8]}\n" \
    "train: {epochs: 60, batch: %d, %soptimizer: {lr: %s}, schedule: {kind: cosine}}\n"

enum { STOPPING_WEIGHTS = 8 * 2 + 8 + 8 + 1 };

static rp_recipe *stopping(int batch, int patience, const char *lr)
{
    char yaml[512], key[32] = "";

    if (patience)
        snprintf(key, sizeof key, "patience: %d, ", patience);
    snprintf(yaml, sizeof yaml, STOPPING, batch, key, lr);
    return recipe_of(yaml);
}

static void weights_of(const rp_trainer *t, float *out)
{
    static const char *const name[] = {"layer0.weight", "layer0.bias", "layer1.weight", "layer1.bias"};
    static const size_t size[] = {16, 8, 8, 1};

    for (size_t i = 0; i < COUNT(name); i++) {
        assert_int_equal(rp_run_get_state(rp_trainer_run(t), name[i], out, size[i] * sizeof *out, NULL), RP_OK);
        out += size[i];
    }
}

/* The validation loss under some weights, by the sum and the functions of the contract. */
static float valid_loss(const rp_dataset *d, const float *w)
{
    float loss[ROWS];

    for (size_t r = 0; r < d->valid_rows; r++) {
        const float *x = d->valid_x + 2 * r, t = d->valid_learnt[r];
        float z = 0;

        for (size_t j = 0; j < 8; j++) {
            float h = rp_fma_f32(x[1], w[8 + j], rp_fma_f32(x[0], w[j], 0.0f)) + w[16 + j];

            z = rp_fma_f32(h > 0 ? h : 0, w[24 + j], z);
        }
        z = z + w[32];
        loss[r] = ((z > 0 ? z : 0) - z * t) + rp_log1p_f32(rp_exp_f32(-(z < 0 ? -z : z)));
    }
    return rp_sum_f32(loss, d->valid_rows, 1) / (float)d->valid_rows;
}

/* A training without patience has the same steps: its epochs are judged here, and the other must end and hold what
 * this says. Returns the number of steps that train. */
static uint64_t assert_stops(int batch, int patience, const char *lr)
{
    rp_recipe *plain = stopping(batch, 0, lr), *recipe = stopping(batch, patience, lr);
    rp_trainer *a = trainer_of(plain, 1, NULL, 1), *b = trainer_of(recipe, 1, NULL, 2);
    const uint64_t each = rp_trainer_training_steps(a) / 60;
    float best[STOPPING_WEIGHTS], now[STOPPING_WEIGHTS], least = rp_from_bits_f32(0x7F800000u), loss;
    double *score;
    uint64_t epoch = 0, at = 0, training;

    assert_int_equal(rp_trainer_training_steps(b), rp_trainer_training_steps(a));
    step(a);
    weights_of(a, best);
    while (epoch < 60 && epoch - at < (uint64_t)patience) {
        for (uint64_t i = 0; i < each; i++)
            step(a);
        epoch++;
        weights_of(a, now);
        loss = valid_loss(rp_trainer_dataset(a), now);
        if (loss < least) {
            least = loss;
            at = epoch;
            memcpy(best, now, sizeof best);
        }
    }
    for (uint64_t i = 0; i <= epoch * each; i++)
        step(b);
    training = rp_trainer_training_steps(b);
    assert_int_equal(training, epoch * each);
    assert_int_equal(rp_trainer_epochs(b), epoch);
    assert_int_equal(rp_trainer_total(b), 1 + training + 1 + 2);
    weights_of(b, now);
    while (!rp_trainer_done(b))
        step(b);
    weights_of(b, now);
    assert_memory_equal(best, now, sizeof best);
    assert_int_equal(rp_trainer_scores(b, true, &loss, &score, NULL), RP_OK);
    assert_bits("the best loss", at, least, loss);
    rp_free(score);
    rp_trainer_free(a);
    rp_trainer_free(b);
    rp_recipe_free(plain);
    rp_recipe_free(recipe);
    return training;
}

static void training_ends_behind_the_best_epoch_and_keeps_its_weights(void **state)
{
    uint64_t early, whole;

    (void)state;
    early = assert_stops(32, 2, "0.3");
    assert_true(early < 60); /* an epoch is one step */
    early = assert_stops(10, 3, "0.1");
    assert_true(early < 60 * 3);
    whole = assert_stops(5, 60, "0.01");
    assert_int_equal(whole, 60 * 5);
}

/* What a trainer is given to go on: all states of another, read at that time. */
typedef struct copied_state {
    char name[RP_NAME_MAX];
    unsigned char bytes[256];
} copied_state;

typedef struct copied {
    copied_state state[24];
    size_t n;
} copied;

static void copy_states(const rp_trainer *t, copied *out)
{
    const rp_device_tensor *state = rp_run_states(rp_trainer_run(t), &out->n);

    assert_true(out->n <= COUNT(out->state));
    for (size_t i = 0; i < out->n; i++) {
        assert_true(rp_type_bytes(&state[i].type) <= sizeof out->state[i].bytes);
        snprintf(out->state[i].name, RP_NAME_MAX, "%s", state[i].name);
        assert_int_equal(rp_device_tensor_read(&state[i], out->state[i].bytes, NULL), RP_OK);
    }
}

static rp_status give_states(void *self, rp_run *run, rp_error *err)
{
    const copied *c = self;
    size_t n;
    const rp_device_tensor *state = rp_run_states(run, &n);
    rp_status status = n == c->n ? RP_OK : RP_EDATA;

    for (size_t i = 0; i < n && status == RP_OK; i++)
        status =
            rp_run_put(run, c->state[i].name, &state[i].type, 0, c->state[i].bytes, rp_type_count(&state[i].type), err);
    return status;
}

/* Nothing but the states says where training ends, so it can go on from every step, those behind its end too. */
static void a_stopped_training_goes_on_from_each_of_its_steps(void **state)
{
    rp_recipe *recipe = stopping(10, 3, "0.1");
    rp_trainer *t = trainer_of(recipe, 1, NULL, 1);
    copied *at = calloc(300, sizeof *at);
    float expected[STOPPING_WEIGHTS], found[STOPPING_WEIGHTS];
    uint64_t total = 0;

    (void)state;
    assert_non_null(at);
    for (; !rp_trainer_done(t); total++) {
        assert_true(total < 300);
        copy_states(t, &at[total]);
        step(t);
    }
    weights_of(t, expected);
    for (uint64_t i = 0; i < total; i++) {
        rp_trainer *u = trainer_of(recipe, 1, NULL, 1);
        const rp_value_source from = {give_states, &at[i]};
        rp_error err = {0};

        if (rp_trainer_restore(u, i, &from, &err) != RP_OK)
            fail_msg("step %d: %s", (int)i, err.text);
        assert_int_equal(rp_run_steps(rp_trainer_run(u)), i);
        while (!rp_trainer_done(u))
            step(u);
        assert_int_equal(rp_trainer_total(u), total);
        weights_of(u, found);
        assert_memory_equal(expected, found, sizeof expected);
        rp_trainer_free(u);
    }
    free(at);
    rp_trainer_free(t);
    rp_recipe_free(recipe);
}

/* An archive that says another end than the rule's is refused at the first step that shows it. */
static void an_end_that_the_rule_does_not_give_is_refused(void **state)
{
    rp_recipe *recipe = stopping(10, 3, "0.1");
    rp_trainer *t = trainer_of(recipe, 1, NULL, 1);
    uint64_t end, each = rp_trainer_training_steps(t) / 60;

    (void)state;
    while (!rp_trainer_done(t))
        step(t);
    end = rp_trainer_training_steps(t);
    rp_trainer_free(t);
    for (int k = -1; k <= 1; k++) {
        const uint64_t said = k < 0 ? end - each : k > 0 ? end + each : end;
        rp_error err = {0};
        rp_status status = RP_OK;

        t = trainer_of(recipe, 1, NULL, 1);
        assert_int_equal(rp_trainer_expect_training(t, said + 1, &err), RP_EFORMAT);
        assert_int_equal(rp_trainer_expect_training(t, said, &err), RP_OK);
        while (status == RP_OK && !rp_trainer_done(t))
            status = rp_trainer_step(t, &err);
        assert_int_equal(status, k ? RP_EBITS : RP_OK);
        assert_int_equal(rp_run_steps(rp_trainer_run(t)), k < 0 ? said + 1 : k > 0 ? end + 1 : rp_trainer_total(t));
        rp_trainer_free(t);
    }
    rp_recipe_free(recipe);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_ends_behind_the_best_epoch_and_keeps_its_weights),
        cmocka_unit_test(a_stopped_training_goes_on_from_each_of_its_steps),
        cmocka_unit_test(an_end_that_the_rule_does_not_give_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
