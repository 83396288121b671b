/* SPDX-License-Identifier: Apache-2.0
 * Training by recipe: logistic regression written out a second time here must give the same bits, for several numbers
 * of shards and micro-batches; threads and levels change nothing, and programs do not grow with their shards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "core/program/function.h"
#include "core/train/schedule.h"
#include "core/train/train.h"
#include "determinism/bits.h"
#include "determinism/math.h"
#include "determinism/philox.h"
#include "determinism/sum.h"
#include "tests/core/train/small_training.h"

/* ---- logistic regression a second time, from CONTRACT 3 to 8 and 12 ---- */

#define LOGISTIC \
    "reprise: 1\nseed: 5\ndata: {csv: d.csv, target: y, positive: \"yes\", standardize: false, train_on_all: true}\n" \
    "train: {epochs: 3, batch: %d, shards: %d, accumulate: %d%s, optimizer: {kind: sgd, lr: 0.25, momentum: 0.5, " \
    "weight_decay: 0.125%s}, schedule: {kind: step, step_every: 3, gamma: 0.5, warmup_steps: 2}}\n"

typedef struct logistic {
    float w[3], m[3]; /* two weights and the bias */
    float loss;
    float row[ROWS]; /* what each row counts */
    float bias_decay;
} logistic;

/* Gradients (3) and the loss of some rows, divided by the rows of the whole batch. */
static void part_gradient(const logistic *l, const rp_dataset *d, const int64_t *row, size_t n, size_t count,
                          float out[4])
{
    float element[ROWS], g[ROWS], share = 1.0f / (float)count;

    for (size_t i = 0; i < n; i++) {
        const float *x = d->train_x + 2 * row[i];
        float t = d->train_learnt[row[i]], z = rp_fma_f32(x[1], l->w[1], rp_fma_f32(x[0], l->w[0], 0.0f)) + l->w[2];

        element[i] = (((z > 0 ? z : 0) - z * t) + rp_log1p_f32(rp_exp_f32(-(z < 0 ? -z : z)))) * l->row[row[i]];
        g[i] = share * l->row[row[i]] * (rp_sigmoid_f32(z) - t);
    }
    for (size_t j = 0; j < 2; j++) {
        out[j] = 0;
        for (size_t i = 0; i < n; i++)
            out[j] = rp_fma_f32(d->train_x[2 * (size_t)row[i] + j], g[i], out[j]);
    }
    out[2] = rp_sum_f32(g, n, 1);
    out[3] = rp_sum_f32(element, n, 1) / (float)count;
}

/* Neighbours are added until one is left. */
static float tree(float *v, size_t n)
{
    while (n > 1) {
        for (size_t i = 0; i + 1 < n; i += 2)
            v[i / 2] = v[i] + v[i + 1];
        if (n % 2)
            v[n / 2] = v[n - 1];
        n = (n + 1) / 2;
    }
    return v[0];
}

static void logistic_step(logistic *l, const rp_dataset *d, const int64_t *row, size_t count, size_t shards,
                          size_t micro, float lr)
{
    float total[4] = {0};
    bool started = false;

    for (size_t a = 0; a < micro; a++) {
        float shard[16][4], column[16];
        size_t present = 0;

        for (size_t s = 0; s < shards; s++) {
            size_t part = a * shards + s, begin = part * count / (shards * micro),
                   end = (part + 1) * count / (shards * micro);

            if (begin < end)
                part_gradient(l, d, row + begin, end - begin, count, shard[present++]);
        }
        for (size_t j = 0; j < 4 && present; j++) {
            for (size_t s = 0; s < present; s++)
                column[s] = shard[s][j];
            total[j] = started ? total[j] + tree(column, present) : tree(column, present);
        }
        started = started || present;
    }
    for (size_t j = 0; j < 3; j++) {
        float g = total[j] + (j == 2 ? l->bias_decay : 0.125f) * l->w[j];

        l->m[j] = 0.5f * l->m[j] + g;
        l->w[j] = l->w[j] - lr * l->m[j];
    }
    l->loss = total[3];
}

/* Classes that weigh 3 and 1, brought to mean 1 over the rows. */
static void logistic_weights(logistic *l, const rp_dataset *d)
{
    double sum = 0; /* exact */

    for (size_t i = 0; i < ROWS; i++)
        sum += d->train_label[i] ? 3 : 1;
    for (size_t i = 0; i < ROWS; i++)
        l->row[i] = (float)((d->train_label[i] ? 3 : 1) / (sum / ROWS));
}

static void logistic_begin(logistic *l, bool weighted, bool decay_all, const rp_dataset *d)
{
    double bound = 1.0 / __builtin_sqrt(2.0);

    *l = (logistic){.loss = 0, .bias_decay = decay_all ? 0.125f : 0};
    for (size_t i = 0; i < ROWS; i++)
        l->row[i] = 1;
    if (weighted)
        logistic_weights(l, d);
    for (size_t j = 0; j < 3; j++) /* the bias is parameter 1, so stream 1 */
        l->w[j] =
            (float)(-bound + (bound - -bound) * (double)rp_uniform_f32(rp_random_u32(5, 0, j == 2, j == 2 ? 0 : j)));
}

static void assert_logistic(const logistic *l, const rp_trainer *t, uint64_t at)
{
    static const char *const name[] = {"layer0.weight", "layer0.bias", "optim.m.layer0.weight", "optim.m.layer0.bias"};
    float found[6];

    for (size_t i = 0; i < 4; i++)
        assert_int_equal(
            rp_run_get_state(rp_trainer_run(t), name[i], found + (i / 2 * 3 + i % 2 * 2), i % 2 ? 4 : 8, NULL), RP_OK);
    for (size_t j = 0; j < 3; j++) {
        assert_bits("weight", at, l->w[j], found[j]);
        assert_bits("momentum", at, l->m[j], found[3 + j]);
    }
    if (at > 0)
        assert_bits("loss", at, l->loss, rp_trainer_loss(t));
}

/* The rate of step s: warm-up over two steps, then halved every three. */
static float logistic_rate(int64_t s)
{
    double lr = 0.25;

    if (s <= 2)
        return (float)(lr * ((double)s / 2));
    for (int64_t k = (s - 3) / 3; k > 0; k--)
        lr *= 0.5; /* exact */
    return (float)lr;
}

static void logistic_regression_gives_the_bits_of_its_second_implementation(void **state)
{
    static const int shape[][3] = {{8, 1, 1},  {8, 2, 1},  {8, 1, 2},  {8, 2, 2},
                                   {12, 3, 1}, {12, 3, 2}, {15, 5, 3}, {28, 7, 1}};

    (void)state;
    for (size_t k = 0; k < 4 * COUNT(shape); k++) {
        const int *parts = shape[k / 4];
        const bool weighted = k & 1, decay_all = k & 2;
        char yaml[1024];
        rp_recipe *recipe;
        rp_trainer *t;
        logistic l;
        int64_t order[ROWS], batch = parts[0], steps = (ROWS + batch - 1) / batch;

        snprintf(yaml, sizeof yaml, LOGISTIC, parts[0], parts[1], parts[2],
                 weighted ? ", class_weights: {\"yes\": 3}" : "", decay_all ? ", decay: all" : "");
        recipe = recipe_of(yaml);
        t = trainer_of(recipe, 1, NULL, 1);
        assert_int_equal(rp_trainer_training_steps(t), 3 * steps);
        assert_int_equal(rp_trainer_total(t), 3 * steps + 2);
        logistic_begin(&l, weighted, decay_all, rp_trainer_dataset(t));
        step(t);
        assert_logistic(&l, t, 0);
        for (int64_t s = 1; s <= 3 * steps; s++) {
            int64_t at = (s - 1) % steps * batch, left = ROWS - at;

            rp_permutation(order, ROWS, 5, (uint64_t)((s - 1) / steps), 0x53000000);
            logistic_step(&l, rp_trainer_dataset(t), order + at, (size_t)(left < batch ? left : batch),
                          (size_t)parts[1], (size_t)parts[2], logistic_rate(s));
            step(t);
            assert_logistic(&l, t, (uint64_t)s);
        }
        step(t);
        assert_true(rp_trainer_done(t));
        {
            float loss, expected[4];
            double *score;
            int64_t all[ROWS];

            assert_int_equal(rp_trainer_scores(t, false, &loss, &score, NULL), RP_OK);
            for (int64_t i = 0; i < ROWS; i++)
                all[i] = i;
            part_gradient(&l, rp_trainer_dataset(t), all, ROWS, ROWS, expected);
            assert_bits("evaluation loss", rp_trainer_total(t), expected[3], loss);
            for (size_t i = 0; i < ROWS; i++) {
                const float *x = rp_trainer_dataset(t)->train_x + 2 * i;

                assert_bits("score", i,
                            rp_sigmoid_f32(rp_fma_f32(x[1], l.w[1], rp_fma_f32(x[0], l.w[0], 0.0f)) + l.w[2]),
                            (float)score[i]);
            }
            rp_free(score);
        }
        rp_trainer_free(t);
        rp_recipe_free(recipe);
    }
}

/* ---- circumstance ---- */

/* All states after every step, the losses, and the scores. */
static rp_buffer history(rp_recipe *recipe, int kind, const char *level, unsigned threads)
{
    rp_trainer *t = trainer_of(recipe, kind, level, threads);
    rp_buffer out = {0};
    float loss;
    double *score;

    while (!rp_trainer_done(t)) {
        size_t n;
        const rp_device_tensor *states;
        float last;

        step(t);
        states = rp_run_states(rp_trainer_run(t), &n);
        for (size_t i = 0; i < n; i++)
            rp_buffer_append(&out, states[i].memory, rp_type_bytes(&states[i].type));
        last = rp_trainer_loss(t);
        rp_buffer_append(&out, &last, sizeof last);
    }
    for (int part = 0; part < 2; part++) {
        assert_int_equal(rp_trainer_scores(t, part == 1, &loss, &score, NULL), RP_OK);
        rp_buffer_append(&out, &loss, sizeof loss);
        rp_buffer_append(&out, score, rp_trainer_model(t)->outputs * sizeof *score);
        rp_free(score);
    }
    assert_int_equal(rp_buffer_status(&out, NULL), RP_OK);
    rp_trainer_free(t);
    return out;
}

/* The same training at every level, with several numbers of threads. */
static void assert_same_everywhere(const char *yaml, const char *what, int kind)
{
    static const unsigned threads[] = {1, 2, 3, 7};
    const char *const *levels;
    size_t n_levels = rp_kernel_levels(&levels);
    rp_recipe *recipe = recipe_of(yaml);
    rp_buffer expected = history(recipe, kind, "ref", 1);

    for (size_t l = 0; l < n_levels; l++)
        for (size_t k = 0; k < COUNT(threads); k++) {
            rp_buffer found = history(recipe, kind, levels[l], threads[k]);

            if (found.size != expected.size || memcmp(found.data, expected.data, found.size) != 0)
                fail_msg("%s at level %s with %u threads differs", what, levels[l], threads[k]);
            rp_buffer_free(&found);
        }
    rp_buffer_free(&expected);
    rp_recipe_free(recipe);
}

static void threads_and_levels_change_no_bit_of_a_training(void **state)
{
    static const char *const optimizers[] = {"sgd", "adam", "adamw", "rmsprop", "lion", "adagrad"};

    (void)state;
    for (size_t o = 0; o < COUNT(optimizers); o++) {
        char yaml[1024];

        snprintf(yaml, sizeof yaml, WIDE, optimizers[o]);
        assert_same_everywhere(yaml, optimizers[o], 1 + (int)o % 2);
    }
}

#define IMAGE "reprise: 1\nseed: 3\ndata: {csv: d.csv, target: y, folds: 3}\nmodel: {image: [1, 2, 1], conv: ["

static void convolution_layers_have_the_same_bits_everywhere(void **state)
{
    (void)state;
    assert_same_everywhere(IMAGE
                           "{filters: 6, kernel: [1, 2]}, {filters: 4, kernel: [3, 1], groups: 2, pool: max, "
                           "pool_size: [1, 2]}], hidden: [5], layer_norm: true, dropout: 0.25, activation: gelu}\n"
                           "train: {epochs: 2, batch: 6, shards: 2}\n",
                           "convolutions", 2);
    assert_same_everywhere(IMAGE "{filters: 3, kernel: 1, pool: avg, pool_size: [1, 2], padding: valid}]}\n"
                                 "train: {epochs: 2, batch: 7}\n",
                           "convolution and average", 1);
    assert_same_everywhere(IMAGE "{filters: 6, algorithm: winograd}, {filters: 9, algorithm: winograd}], hidden: [5]}\n"
                                 "train: {epochs: 2, batch: 6, shards: 2}\n",
                           "minimal filtering", 2);
}

#define SMALL "train: {batch: 4}\n"

static void images_that_do_not_fit_are_refused(void **state)
{
    static const char *const wrong[][2] = {
        {"reprise: 1\ndata: {csv: d, target: y, folds: 3}\nmodel: {image: [2, 2, 1], conv: [{filters: 2}]}\n" SMALL,
         "2 x 2 x 1 are 4 values, but the data has 2 features"},
        {IMAGE "{filters: 2, kernel: [1, 3], padding: valid}]}\n" SMALL, "layer 0: a kernel spanning 3"},
        {IMAGE "{filters: 2, pool: max}]}\n" SMALL, "layer 0: a pool of 2 does not fit the height of 1"},
        {IMAGE "{filters: 2}, {filters: 3, groups: 2}]}\n" SMALL, "layer 1: groups 2 must divide"},
        {IMAGE "{filters: 65536}, {filters: 65536}]}\n" SMALL, "at most 2^31"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(wrong); i++) {
        rp_recipe *recipe = recipe_of(wrong[i][0]);
        rp_trainer *t = NULL;
        char csv[4096];
        rp_error err = {0};

        write_csv(csv, sizeof csv, 1);
        assert_int_equal(
            rp_trainer_new(&t, recipe, &(rp_source_text){csv, strlen(csv), "d.csv", NULL, NULL}, NULL, &err), RP_EARG);
        if (!strstr(err.text, wrong[i][1]))
            fail_msg("expected \"%s\" in: %s", wrong[i][1], err.text);
        assert_null(t);
        rp_recipe_free(recipe);
    }
}

/* ---- the size of a program ---- */

static rp_status count_instructions(void *self, const rp_step_event *event, rp_error *err)
{
    rp_functions functions;
    size_t *n = self;

    assert_int_equal(rp_functions_of(&functions, event->program, err), RP_OK);
    *n = event->program->n_instrs;
    for (size_t i = 0; i < functions.n; i++)
        *n += functions.function[i]->body->n_instrs;
    rp_functions_free(&functions);
    return RP_OK;
}

/* Instructions of the program and of its functions, at a training step on 512 rows. */
static size_t instructions_of(const char *shards)
{
    char yaml[400], csv[512 * 16 + 16], *end = csv + sprintf(csv, "a,b,y\n");
    rp_trainer *t = NULL;
    rp_recipe *recipe;
    rp_error err = {0};
    size_t n = 0;

    snprintf(yaml, sizeof yaml,
             "reprise: 1\nseed: 5\ndata: {csv: d.csv, target: y, positive: \"yes\", train_on_all: true}\n"
             "model: {hidden: [4, 3], dropout: 0.25}\n"
             "train: {epochs: 1, batch: 512, shards: %s, optimizer: {kind: adam, lr: 0.25}}\n",
             shards);
    for (int i = 0; i < 512; i++)
        end += sprintf(end, "%d,%d.5,%s\n", i % 7, i % 5, i % 3 ? "yes" : "no");
    recipe = recipe_of(yaml);
    if (rp_trainer_new(&t, recipe, &(rp_source_text){csv, strlen(csv), "d.csv", NULL, NULL},
                       &(rp_run_options){.threads = 2}, &err) != RP_OK)
        fail_msg("%s", err.text);
    assert_int_equal(rp_run_observe(rp_trainer_run(t), (rp_observer){count_instructions, &n}, NULL), RP_OK);
    step(t);
    step(t);
    rp_trainer_free(t);
    rp_recipe_free(recipe);
    return n;
}

static void programs_do_not_grow_with_their_shards(void **state)
{
    const size_t few = instructions_of("4"), many = instructions_of("512");

    (void)state;
    assert_true(many <= few);
    assert_true(many <= 150);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logistic_regression_gives_the_bits_of_its_second_implementation),
        cmocka_unit_test(threads_and_levels_change_no_bit_of_a_training),
        cmocka_unit_test(convolution_layers_have_the_same_bits_everywhere),
        cmocka_unit_test(images_that_do_not_fit_are_refused),
        cmocka_unit_test(programs_do_not_grow_with_their_shards),
    };

    return cmocka_run_group_tests_name("training", tests, NULL, NULL);
}
