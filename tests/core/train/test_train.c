/* SPDX-License-Identifier: Apache-2.0
 * Training by recipe: logistic regression written out a second time here must give the same bits, for several numbers
 * of shards and micro-batches; threads and levels change nothing; schedules and everything fed are pure functions of
 * the step; metrics and predictions say what the scores say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/memory.h"
#include "core/program/function.h"
#include "core/train/evaluate.h"
#include "core/train/schedule.h"
#include "core/train/train.h"
#include "determinism/bits.h"
#include "determinism/math.h"
#include "determinism/philox.h"
#include "determinism/sum.h"
#include "tests/determinism/contract_text.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { ROWS = 29 };

/* ---- a recipe and its table ---- */

static rp_recipe *recipe_of(const char *text)
{
    rp_recipe *recipe = NULL;
    rp_error err = {0};

    if (rp_recipe_from_yaml(&recipe, text, strlen(text), "r.yaml", &err) != RP_OK)
        fail_msg("%s", err.text);
    return recipe;
}

/* Two numeric columns exact in binary32 and a class that leans on them; kind 2: three classes, kind 0: a number. */
static void write_csv(char *out, size_t size, int kind)
{
    size_t used = (size_t)snprintf(out, size, "a,b,y\n");

    for (int i = 0; i < ROWS; i++) {
        int a = i * 7 % 13 - 6, b = i * 5 % 11 - 5, y = a + i % 3;

        used += (size_t)snprintf(out + used, size - used, "%d.5,%d.25,", a, b);
        if (kind == 0)
            used += (size_t)snprintf(out + used, size - used, "%d\n", y);
        else
            used += (size_t)snprintf(out + used, size - used, "%s\n",
                                     y > 1                 ? "yes"
                                     : kind == 2 && y < -2 ? "low"
                                                           : "no");
    }
}

static rp_trainer *trainer_of(rp_recipe *recipe, int kind, const char *level, unsigned threads)
{
    static char csv[4096]; /* borrowed only while the trainer is made */
    rp_trainer *t = NULL;
    rp_error err = {0};

    write_csv(csv, sizeof csv, kind);
    if (rp_trainer_new(&t, recipe, &(rp_source_text){csv, strlen(csv), "d.csv", NULL, NULL},
                       &(rp_run_options){.threads = threads, .level = level}, &err) != RP_OK)
        fail_msg("%s", err.text);
    return t;
}

static void step(rp_trainer *t)
{
    rp_error err = {0};

    if (rp_trainer_step(t, &err) != RP_OK)
        fail_msg("%s", err.text);
}

static void assert_bits(const char *what, uint64_t at, float expected, float found)
{
    if (rp_bits_f32(expected) != rp_bits_f32(found))
        fail_msg("%s at step %d: expected %a, found %a", what, (int)at, (double)expected, (double)found);
}

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

#define WIDE \
    "reprise: 1\nseed: 9\ndata: {csv: d.csv, target: y, folds: 3}\n" \
    "model: {hidden: [24, 8], activation: gelu, dropout: 0.25, layer_norm: true}\n" \
    "train: {epochs: 3, batch: 12, shards: 3, accumulate: 2, clip_norm: 0.5, optimizer: {kind: %s, lr: 0.05}, " \
    "schedule: {kind: cosine, warmup_steps: 3, min_lr: 0.001}}\n"

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

/* ---- what is fed ---- */

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

/* ---- reports ---- */

static const char *text_at(const rp_json *json, const char *part, const char *key)
{
    return rp_json_string_value(rp_json_object_get(rp_json_object_get(json, part), key));
}

static void metrics_and_predictions_say_what_the_scores_say(void **state)
{
    static const char *const yaml[] = {
        "reprise: 1\ndata: {csv: d, target: y, folds: 3}\nmodel: {hidden: [4]}\ntrain: {task: regression, batch: 8}\n",
        "reprise: 1\ndata: {csv: d, target: y, folds: 3, positive: \"yes\"}\ntrain: {batch: 8}\n",
        "reprise: 1\ndata: {csv: d, target: y, folds: 3}\nmodel: {hidden: [4]}\ntrain: {batch: 8}\n"};

    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        rp_recipe *recipe = recipe_of(yaml[kind]);
        rp_trainer *t = trainer_of(recipe, kind, NULL, 1);
        const rp_dataset *d = rp_trainer_dataset(t);
        rp_buffer text = {0};
        rp_json *json, *reference;
        float loss;
        double *score;
        size_t outputs, right = 0, lines = 0;

        while (!rp_trainer_done(t))
            step(t);
        assert_int_equal(rp_trainer_reference(t, &reference, NULL), RP_OK);
        assert_int_equal(rp_trainer_metrics(t, reference, &json, NULL), RP_OK);
        rp_json_free(reference);
        outputs = rp_trainer_model(t)->outputs;
        assert_int_equal(outputs, kind == 2 ? 3 : 1);
        assert_int_equal(rp_trainer_scores(t, true, &loss, &score, NULL), RP_OK);
        for (size_t i = 0; i < d->valid_rows && kind; i++) {
            int64_t best = 0;

            for (size_t k = 1; k < outputs; k++)
                best = score[i * outputs + k] > score[i * outputs + (size_t)best] ? (int64_t)k : best;
            right += (kind == 1 ? score[i] >= 0.5 : best) == d->valid_label[i];
        }
        assert_int_equal(rp_json_integer_value(rp_json_object_get(rp_json_object_get(json, "validation"), "rows")),
                         d->valid_rows);
        rp_free(score);
        if (kind) {
            const char *accuracy = text_at(json, "validation", "accuracy");

            assert_non_null(accuracy);
            assert_true(strtod(accuracy, NULL) == (double)right / (double)d->valid_rows);
            assert_int_equal(text_at(json, "validation", "auc") != NULL, kind == 1);
        } else {
            assert_non_null(text_at(json, "validation", "mse"));
            assert_true(strtod(text_at(json, "training", "mse"), NULL) > 0);
        }
        assert_int_equal(rp_trainer_predictions(t, &text, NULL, NULL), RP_OK);
        for (size_t i = 0; i < text.size; i++)
            lines += text.data[i] == '\n';
        assert_int_equal(lines, d->valid_rows + 1);
        assert_memory_equal(text.data, "row,truth,predicted", 19);
        rp_json_free(json);
        rp_buffer_free(&text);
        rp_trainer_free(t);
        rp_recipe_free(recipe);
    }
}

static void trainings_that_cannot_be_are_refused(void **state)
{
    rp_recipe *recipe = recipe_of("reprise: 1\ndata: {csv: d, target: y, folds: 3}\n"
                                  "train: {task: regression, batch: 8, optimizer: {kind: sgd, lr: 1e6}}\n");
    rp_trainer *t = trainer_of(recipe, 0, NULL, 1);
    rp_error err = {0};
    rp_status status = RP_OK;

    (void)state;
    while (!rp_trainer_done(t) && status == RP_OK)
        status = rp_trainer_step(t, &err);
    assert_int_equal(status, RP_EDATA);
    assert_non_null(strstr(err.text, "no longer finite"));
    rp_trainer_free(t);
    rp_recipe_free(recipe);
}

/* One step an epoch, over every training row, as if the recipe had said their number. */
static void a_batch_beyond_the_rows_is_all_of_them(void **state)
{
    static const char form[] = "reprise: 1\ndata: {csv: d, target: y, folds: 3}\n"
                               "train: {task: regression, epochs: 4, batch: %zu}\n";
    float loss[2];

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        static size_t rows = 1 << 20; /* then the training rows */
        char yaml[128];
        rp_recipe *recipe;
        rp_trainer *t;
        rp_error err = {0};

        (void)snprintf(yaml, sizeof yaml, form, rows);
        recipe = recipe_of(yaml);
        t = trainer_of(recipe, 0, NULL, 1);
        rows = rp_trainer_dataset(t)->train_rows;
        assert_int_equal(rp_trainer_training_steps(t), 4);
        while (rp_run_steps(rp_trainer_run(t)) < 5)
            assert_int_equal(rp_trainer_step(t, &err), RP_OK);
        loss[k] = rp_trainer_loss(t);
        rp_trainer_free(t);
        rp_recipe_free(recipe);
    }
    assert_memory_equal(&loss[0], &loss[1], sizeof *loss);
}

/* The weights of a finished training, in a run of their own, give the same scores. */
static void predicting_repeats_the_evaluation(void **state)
{
    char yaml[1024];
    rp_recipe *recipe;
    rp_trainer *t;
    rp_run *run;
    const rp_device_tensor *states;
    size_t n;
    float loss;
    double scores[ROWS], *evaluated;
    rp_scorer *scorer;

    (void)state;
    snprintf(yaml, sizeof yaml, WIDE, "adam");
    recipe = recipe_of(yaml);
    t = trainer_of(recipe, 1, NULL, 1);
    while (!rp_trainer_done(t))
        step(t);
    assert_int_equal(rp_run_new(&run, NULL, NULL), RP_OK);
    states = rp_run_states(rp_trainer_run(t), &n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(rp_run_add_state(run, states[i].name, states[i].type.dtype, states[i].type.rank,
                                          states[i].type.shape, states[i].memory, NULL),
                         RP_OK);
    assert_int_equal(rp_scorer_new(&scorer, rp_trainer_model(t), run, NULL), RP_OK);
    assert_int_equal(
        rp_scorer_score(scorer, rp_trainer_dataset(t)->valid_x, rp_trainer_dataset(t)->valid_rows, scores, NULL),
        RP_OK);
    rp_scorer_free(scorer);
    assert_int_equal(rp_trainer_scores(t, true, &loss, &evaluated, NULL), RP_OK);
    assert_memory_equal(scores, evaluated, rp_trainer_dataset(t)->valid_rows * sizeof *scores);
    rp_free(evaluated);
    rp_run_free(run);
    rp_trainer_free(t);
    rp_recipe_free(recipe);
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

/* ---- early stopping ---- */

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
        cmocka_unit_test(logistic_regression_gives_the_bits_of_its_second_implementation),
        cmocka_unit_test(threads_and_levels_change_no_bit_of_a_training),
        cmocka_unit_test(convolution_layers_have_the_same_bits_everywhere),
        cmocka_unit_test(images_that_do_not_fit_are_refused),
        cmocka_unit_test(what_is_fed_is_a_pure_function_of_the_step),
        cmocka_unit_test(schedules_have_their_written_values),
        cmocka_unit_test(the_last_batch_is_short_or_dropped),
        cmocka_unit_test(metrics_and_predictions_say_what_the_scores_say),
        cmocka_unit_test(trainings_that_cannot_be_are_refused),
        cmocka_unit_test(a_batch_beyond_the_rows_is_all_of_them),
        cmocka_unit_test(predicting_repeats_the_evaluation),
        cmocka_unit_test(programs_do_not_grow_with_their_shards),
        cmocka_unit_test(training_ends_behind_the_best_epoch_and_keeps_its_weights),
        cmocka_unit_test(a_stopped_training_goes_on_from_each_of_its_steps),
        cmocka_unit_test(an_end_that_the_rule_does_not_give_is_refused),
    };

    return cmocka_run_group_tests_name("training", tests, NULL, NULL);
}
