/* SPDX-License-Identifier: Apache-2.0
 * What a training leaves beside its weights: metrics and predictions say what the scores say, predicting repeats the
 * evaluation; trainings that cannot be are refused. */
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
#include "core/train/evaluate.h"
#include "core/train/train.h"
#include "determinism/bits.h"
#include "tests/core/train/small_training.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metrics_and_predictions_say_what_the_scores_say),
        cmocka_unit_test(trainings_that_cannot_be_are_refused),
        cmocka_unit_test(a_batch_beyond_the_rows_is_all_of_them),
        cmocka_unit_test(predicting_repeats_the_evaluation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
