/* SPDX-License-Identifier: Apache-2.0
 * The keys that a policy may name are those that the reader of recipes writes: recipes that have all of them between
 * them, each way about. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "audit/trust/recipe/recipe_paths.h"
#include "core/recipe/recipe.h"

enum { PATHS = 256, PATH = 128 };

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define TABLE "csv: a.csv, target: y"

static const char *const recipes[] = {
    "reprise: 1\n"
    "name: a\n"
    "data: {" TABLE ", positive: b, columns: {x: numeric}, weight: w, delimiter: ';', decimal: ',', thousands: '.',\n"
    "  strip: true, prefix: ['$'], suffix: ['%'], encoding: latin-1, comment: '#', skip_lines: 1,\n"
    "  missing_target: drop, where: [{column: z, is: present}], interactions: [[x, q]], test: 0.2, folds: 5}\n"
    "train: {solver: exact, task: classification, class_weights: {a: 1, b: 2}}\n"
    "validation: {by: [x], groups: [q], favourable: a, threshold: 0.3}\n"
    "predecessor: " ID "\n"
    "search: {by: auc, over: {l1: [0, 1], l2: [0, 1]}}\n"
    "card: {purpose: a, owner: a, tier: a, version: a, intended_use: a, excluded_use: a, data_source: a,\n"
    "  data_period: a, limits: a, assumptions: a, oversight: a, monitoring: a, valid_until: 2027-12-31,\n"
    "  keep_until: 2037-12-31}\n",
    "reprise: 1\n"
    "data: {" TABLE ", time: t}\n"
    "model: {hidden: [4], dropout: 0.1}\n"
    "train: {epochs: 9, patience: 3, optimizer: {kind: sgd, momentum: 0.9, nesterov: true, weight_decay: 0.1,\n"
    "  decay: weights}, schedule: {kind: step, warmup_steps: 2, step_every: 5, gamma: 0.5}, task: classification}\n"
    "record: {state_period: 2}\n"
    "search: {kind: random, trials: 3, over: {activation: [relu, tanh], batch: [16, 32], clip_norm: [0, 1],\n"
    "  dropout: [0, 0.1], epochs: [8, 9], hidden: [[4], [5]], layer_norm: [true, false],\n"
    "  lr: {low: 0.001, high: 0.1, log: true}, momentum: [0.8, 0.9], patience: [2, 3], warmup_steps: [1, 2],\n"
    "  weight_decay: [0.1, 0.2]}}\n"
    "challengers: {linear: true, seeds: 2}\n",
    "reprise: 1\n"
    "data: {" TABLE ", test_csv: b.csv, group: g}\n"
    "model: {image: [8, 8, 1], conv: [{filters: 2, kernel: 3}], hidden: []}\n"
    "train: {epochs: 2, precision: mixed, optimizer: {kind: adam}, schedule: {kind: cosine}, task: classification}\n"
    "record: {checkpoint_every: 5}\n"
    "parent: {archive: p.reprise}\n",
    "reprise: 1\ndata: {" TABLE ", exposure: e}\ntrain: {task: regression, solver: exact, family: poisson}\n",
    "reprise: 1\ndata: {" TABLE ", offset: e}\ntrain: {task: regression, solver: exact}\n",
    "reprise: 1\ndata: {" TABLE ", denominator: n}\ntrain: {task: regression, solver: exact, family: binomial}\n",
    ("reprise: 1\ndata: {" TABLE ", split: s}\nmodel: {hidden: [2]}\n"
     "train: {task: regression, optimizer: {kind: rmsprop}}\nprofile: pinned\npinned: {compute: f32}\n"),
    "reprise: 1\ndata: {" TABLE ", fold: 1}\nmodel: {hidden: [2]}\ntrain: {task: classification}\nweights: w\n",
    ("reprise: 1\ndata: {text: t.txt, vocabulary: {bpe: 300}}\n"
     "model: {gpt: {layers: 1, width: 8, heads: 2, dropout: 0.1}}\ntrain: {steps: 3}\n"),
    "reprise: 1\ndata: {text: t.txt}\nmodel: {gpt: {layers: 1, width: 8}}\ntrain: {epochs: 2}\n",
};

static bool met[PATHS];

static void meet(const char *path)
{
    if (!rp_recipe_path_known(path))
        fail_msg("a resolved recipe has %s, which no policy may name", path);
    for (size_t i = 0; i < rp_recipe_path_count; i++)
        met[i] = met[i] || strcmp(rp_recipe_paths[i], path) == 0;
}

static void walk(const rp_json *object, const char *at)
{
    const char *key;
    rp_json *value;

    rp_json_object_foreach (object, key, value) {
        char path[PATH];

        assert_true(snprintf(path, sizeof path, "%s%s%s", at, *at ? "." : "", key) < PATH);
        meet(path);
        if (rp_json_is_object(value))
            walk(value, path);
    }
}

static void policies_name_the_keys_that_recipes_have(void **state)
{
    (void)state;
    assert_in_range(rp_recipe_path_count, 1, PATHS);
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        rp_recipe *recipe;
        rp_error err = {0};

        if (rp_recipe_from_yaml(&recipe, recipes[i], strlen(recipes[i]), "r.yaml", &err) != RP_OK)
            fail_msg("recipe %zu: %s", i, err.text);
        walk(recipe->json, "");
        rp_recipe_free(recipe);
    }
    meet("model.program"); /* whose resolved form has the programs themselves (FORMAT 9.1) */
    meet("model.initial");
    meet("model.evaluate");
    meet("data.arrays"); /* which has what the files were */
    meet("data.images");
    for (size_t i = 0; i < rp_recipe_path_count; i++)
        if (!met[i])
            fail_msg("no recipe here has %s: is it a key of the resolved form?", rp_recipe_paths[i]);
}

static void keys_that_no_recipe_has_are_told_from_those_that_one_has(void **state)
{
    static const char *const none[] = {"",
                                       "date.where",
                                       "data.",
                                       "seed.x",
                                       "search.over.",
                                       "search.over.lr.mid",
                                       "search.l",
                                       "train.class_weights.",
                                       "search.over.ephocs",
                                       "search.over.low",
                                       "search.over.high",
                                       "search.over.log",
                                       "search.over.hidden.low",
                                       "search.over.layer_norm.log",
                                       "search.over.activation.high",
                                       "search.over..low"};

    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (rp_recipe_path_known(none[i]))
            fail_msg("\"%s\" is said to be a key", none[i]);
    assert_true(rp_recipe_path_known("train.class_weights.yes"));
    assert_true(rp_recipe_path_known("search.over.lr.high"));
    assert_true(rp_recipe_path_known("search.over.l1.log"));
    assert_string_equal(rp_recipe_path_nearest("data.wehre"), "data.where");
    assert_string_equal(rp_recipe_path_nearest("lr"), "train.optimizer.lr");
    assert_null(rp_recipe_path_nearest("zz"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(policies_name_the_keys_that_recipes_have),
        cmocka_unit_test(keys_that_no_recipe_has_are_told_from_those_that_one_has),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
