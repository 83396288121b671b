/* SPDX-License-Identifier: Apache-2.0
 * What a step of a training is fed is a pure function of its number: rates are those that the contract writes, the last
 * batch is short or dropped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/train/schedule.h"
#include "core/train/train.h"
#include "determinism/bits.h"
#include "determinism/math.h"
#include "determinism/philox.h"
#include "tests/core/train/small_training.h"
#include "tests/determinism/contract_text.h"

typedef struct fed {
    const rp_recipe *recipe;
    size_t rows, steps, seen;
    int64_t per_epoch, training;
    double norm;
} fed;

static const rp_device_tensor *named(const rp_device_tensor *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    return NULL;
}

/* Every feed of a step, from the step's number alone. */
static rp_status check_feeds(void *self, const rp_step_event *event, rp_error *err)
{
    fed *f = self;
    int64_t s = (int64_t)event->step, order[ROWS];
    const rp_device_tensor *rows = named(event->feed, event->n_feeds, "rows"),
                           *rng = named(event->feed, event->n_feeds, "rng");
    const rp_device_tensor *lr = named(event->feed, event->n_feeds, "lr"),
                           *norm = named(event->result, event->n_results, "grad_norm");

    (void)err;
    if (rng) {
        assert_int_equal(((const int64_t *)rng->memory)[0], f->recipe->seed);
        assert_int_equal(((const int64_t *)rng->memory)[1], s);
    }
    if (s == 0 || s > f->training) { /* initialisation and evaluations */
        assert_null(rows);
        assert_null(lr);
        assert_int_equal(rng != NULL, s == 0);
        return RP_OK;
    }
    rp_permutation(order, f->rows, f->recipe->seed, (uint64_t)((s - 1) / f->per_epoch), 0x53000000);
    assert_memory_equal(rows->memory, order + (s - 1) % f->per_epoch * f->recipe->train.batch,
                        rp_type_bytes(&rows->type));
    assert_bits("lr", event->step, (float)rp_learning_rate(f->recipe, s, f->training), *(const float *)lr->memory);
    assert_bits("c1", event->step, (float)(1.0 - rp_powi_f64(0.9, s)),
                *(const float *)named(event->feed, event->n_feeds, "c1")->memory);
    assert_bits("c2", event->step, (float)(1.0 - rp_powi_f64(0.999, s)),
                *(const float *)named(event->feed, event->n_feeds, "c2")->memory);
    f->norm += *(const float *)norm->memory > 0.5f;
    f->seen++;
    return RP_OK;
}

static void what_is_fed_is_a_pure_function_of_the_step(void **state)
{
    char yaml[1024];
    rp_recipe *recipe;
    rp_trainer *t;
    fed f;

    (void)state;
    snprintf(yaml, sizeof yaml, WIDE, "adamw");
    recipe = recipe_of(yaml);
    t = trainer_of(recipe, 1, NULL, 1);
    f = (fed){.recipe = recipe, .rows = rp_trainer_dataset(t)->train_rows};
    f.per_epoch = rp_steps_per_epoch(recipe, (int64_t)f.rows);
    f.training = 3 * f.per_epoch;
    assert_int_equal(f.per_epoch, (f.rows + 11) / 12);
    assert_int_equal(rp_trainer_total(t), f.training + 3); /* initialisation and two evaluations */
    assert_int_equal(rp_run_observe(rp_trainer_run(t), (rp_observer){check_feeds, &f}, NULL), RP_OK);
    while (!rp_trainer_done(t))
        step(t);
    assert_int_equal(f.seen, f.training);
    assert_true(f.norm > 0); /* clipping had something to do */
    rp_trainer_free(t);
    rp_recipe_free(recipe);
}

static rp_recipe *schedule_recipe(const char *schedule)
{
    char yaml[512];

    snprintf(yaml, sizeof yaml,
             "reprise: 1\ndata: {csv: a, target: y}\ntrain: {batch: 10, optimizer: {lr: 0.1}, schedule: {%s}}\n",
             schedule);
    return recipe_of(yaml);
}

static void rates_are_those_of_the_text(void)
{
    static const struct {
        const char *row, *schedule;
        int64_t step;
    } rates[] = {
        {"| any | 2 | ", "kind: constant, warmup_steps: 3", 2},
        {"| any | 2 | ", "kind: cosine, min_lr: 0.01, warmup_steps: 3", 2},
        {"| constant | 7 | ", "kind: constant, warmup_steps: 3", 7},
        {"| step, step_every 2, gamma 0.3 | 7 | ", "kind: step, step_every: 2, gamma: 0.3, warmup_steps: 3", 7},
        {"| cosine, min_lr 0.01 | 7 | ", "kind: cosine, min_lr: 0.01, warmup_steps: 3", 7}};
    char *text = contract_text();
    const char *corrections = contract_at(text, "### 12.5", "u = 0 and s = 7: ");
    uint64_t wide[2], narrow[2];

    for (size_t i = 0; i < COUNT(rates); i++) {
        rp_recipe *recipe = schedule_recipe(rates[i].schedule);
        const double rate = rp_learning_rate(recipe, rates[i].step, 10);
        const char *at = contract_at(text, "### 12.5", rates[i].row);

        contract_words(at, 1, 16, wide);
        contract_words(strstr(at, " | ") + 3, 1, 8, narrow);
        assert_int_equal(rp_bits_f64(rate), wide[0]);
        assert_int_equal(rp_bits_f32((float)rate), narrow[0]);
        rp_recipe_free(recipe);
    }
    contract_words(corrections, 1, 16, wide);
    contract_words(strstr(corrections, "` and `") + 6, 1, 16, wide + 1);
    contract_words(strstr(corrections, "fed as") + 6, 1, 8, narrow);
    contract_words(strstr(corrections, "` and `3b") + 6, 1, 8, narrow + 1);
    assert_int_equal(rp_bits_f64(rp_bias_correction(0.9, 7)), wide[0]);
    assert_int_equal(rp_bits_f64(rp_bias_correction(0.999, 7)), wide[1]);
    assert_int_equal(rp_bits_f32((float)rp_bias_correction(0.9, 7)), narrow[0]);
    assert_int_equal(rp_bits_f32((float)rp_bias_correction(0.999, 7)), narrow[1]);
    free(text);
}

static void schedules_have_their_written_values(void **state)
{
    static const struct {
        const char *schedule;
        int64_t t, total;
        double expected;
    } c[] = {
        {"kind: constant", 1, 10, 0.1},
        {"kind: constant", 10, 10, 0.1},
        {"kind: constant, warmup_steps: 4", 1, 10, 0.1 * 0.25},
        {"kind: constant, warmup_steps: 4", 3, 10, 0.1 * 0.75},
        {"kind: constant, warmup_steps: 4", 4, 10, 0.1},
        {"kind: constant, warmup_steps: 3", 1, 10, 0.1 * (1.0 / 3.0)},
        {"kind: step, step_every: 3, gamma: 0.5", 3, 10, 0.1},
        {"kind: step, step_every: 3, gamma: 0.5", 4, 10, 0.1 * 0.5},
        {"kind: step, step_every: 3, gamma: 0.3", 10, 10, 0.1 * ((0.3 * 0.3) * 0.3)},
        {"kind: step, step_every: 3, gamma: 0.5, warmup_steps: 2", 5, 10, 0.1},
        {"kind: step, step_every: 3, gamma: 0.5, warmup_steps: 2", 6, 10, 0.1 * 0.5},
        {"kind: cosine", 1, 10, 0.0 + 0.5 * (0.1 - 0.0) * (1.0 + 1.0)},
        {"kind: cosine", 6, 10, 0.0 + 0.5 * (0.1 - 0.0) * (1.0 + 0.0)},
        {"kind: cosine, min_lr: 0.02", 1, 10, 0.02 + 0.5 * (0.1 - 0.02) * 2.0},
        {"kind: cosine, min_lr: 0.02", 6, 10, 0.02 + 0.5 * (0.1 - 0.02)},
        {"kind: cosine, min_lr: 0.02, warmup_steps: 4", 8, 10,
         /* half of six: cospi is +0 */ 0.02 + 0.5 * (0.1 - 0.02) * 1.0},
        {"kind: cosine, warmup_steps: 10", 10, 10, 0.1},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(c); i++) {
        rp_recipe *recipe = schedule_recipe(c[i].schedule);
        double found = rp_learning_rate(recipe, c[i].t, c[i].total), expected = c[i].expected;

        if (memcmp(&found, &expected, sizeof found) != 0)
            fail_msg("{%s} at %d: expected %a, found %a", c[i].schedule, (int)c[i].t, expected, found);
        rp_recipe_free(recipe);
    }
    rates_are_those_of_the_text();
    assert_true(rp_bias_correction(0.9, 1) == 1.0 - 0.9);
    assert_true(rp_bias_correction(0.9, 3) == 1.0 - (0.9 * 0.9) * 0.9);
    assert_true(rp_bias_correction(0.999, 4) == 1.0 - (0.999 * 0.999) * (0.999 * 0.999));
}

static void the_last_batch_is_short_or_dropped(void **state)
{
    static const struct {
        const char *extra;
        uint64_t steps;
    } c[] = {{"batch: 10", 6}, {"batch: 10, drop_last: true", 4}, {"batch: 29", 2}, {"batch: 1", 58}};

    (void)state;
    for (size_t i = 0; i < COUNT(c); i++) {
        char yaml[512];
        rp_recipe *recipe;
        rp_trainer *t;

        snprintf(yaml, sizeof yaml,
                 "reprise: 1\ndata: {csv: d, target: y, train_on_all: true}\ntrain: {epochs: 2, %s}\n", c[i].extra);
        recipe = recipe_of(yaml);
        t = trainer_of(recipe, 1, NULL, 1);
        assert_int_equal(rp_trainer_training_steps(t), c[i].steps);
        while (!rp_trainer_done(t))
            step(t);
        assert_int_equal(rp_trainer_step(t, NULL), RP_EARG); /* complete */
        rp_trainer_free(t);
        rp_recipe_free(recipe);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_fed_is_a_pure_function_of_the_step),
        cmocka_unit_test(schedules_have_their_written_values),
        cmocka_unit_test(the_last_batch_is_short_or_dropped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
