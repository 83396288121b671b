/* SPDX-License-Identifier: Apache-2.0
 * Recipes: defaults, the round trip through resolved JSON, and one clear error for each mistake. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "core/recipe/recipe.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define TEXT "reprise: 1\ndata: {text: a.txt, length: 8}\nmodel: {gpt: {layers: 1, width: 8}}\ntrain: {steps: 1}\n"
#define LEAST "reprise: 1\ndata:\n  csv: a.csv\n  target: y\n"

static rp_recipe *parse(const char *text)
{
    rp_recipe *recipe = NULL;
    rp_error err = {0};

    if (rp_recipe_from_yaml(&recipe, text, strlen(text), "r.yaml", &err) != RP_OK)
        fail_msg("refused: %s", err.text);
    return recipe;
}

static void assert_refused(const char *text, size_t length, const char *const *fragments, size_t count)
{
    rp_recipe *recipe = (rp_recipe *)&recipe;
    rp_error err = {0};
    rp_status status = rp_recipe_from_yaml(&recipe, text, length, "r.yaml", &err);

    if (status != RP_EARG)
        fail_msg("expected RP_EARG, found %s (%s) for:\n%.200s", rp_status_name(status), err.text, text);
    assert_null(recipe);
    for (size_t i = 0; i < count; i++)
        if (fragments[i] != NULL && strstr(err.text, fragments[i]) == NULL)
            fail_msg("expected \"%s\" in the error, found \"%s\"", fragments[i], err.text);
}

static char *written(const rp_recipe *recipe)
{
    rp_buffer out = {0};
    char *text;

    assert_int_equal(rp_json_write(recipe->json, &out, NULL), RP_OK);
    text = rp_strndup((const char *)out.data, out.size);
    rp_buffer_free(&out);
    return text;
}

/* What computes, not what is computed: the resolved recipe is that of one without the key, and none may have it. */
static void check_memory(const char *least)
{
    static const struct {
        const char *text;
        uint64_t bytes; /* 0: refused */
    } memory[] = {{"512MiB", (uint64_t)512 << 20},
                  {"2GB", 2000000000},
                  {"1000000", 1000000},
                  {"3kB", 3000},
                  {"1TiB", (uint64_t)1 << 40},
                  {"0", 0},
                  {"-5", 0},
                  {"1.5GiB", 0},
                  {"12XB", 0},
                  {"MiB", 0},
                  {"9999999999GiB", 0},
                  {"[1]", 0}};
    const char *const expected[] = {"memory", "512MiB"};
    rp_recipe *plain = parse(least), *again = NULL;
    char *text = written(plain), *with, yaml[256];
    rp_error err = {0};
    rp_json *json;

    for (size_t i = 0; i < COUNT(memory); i++) {
        rp_recipe *recipe;

        snprintf(yaml, sizeof yaml, "%smemory: %s\n", least, memory[i].text);
        if (!memory[i].bytes) {
            assert_refused(yaml, strlen(yaml), expected, COUNT(expected));
            continue;
        }
        recipe = parse(yaml);
        assert_int_equal(recipe->memory, memory[i].bytes);
        with = written(recipe);
        assert_string_equal(with, text);
        rp_free(with);
        rp_recipe_free(recipe);
    }
    json = rp_json_share(plain->json);
    assert_int_equal(rp_json_object_set_new(json, "memory", rp_json_string("512MiB")), 0);
    assert_int_equal(rp_recipe_from_json(&again, json, "recipe.json", &err), RP_EFORMAT);
    rp_json_free(json);
    rp_free(text);
    rp_recipe_free(plain);
}

static void memory_is_no_part_of_the_resolved_recipe(void **state)
{
    (void)state;
    check_memory(LEAST);
    check_memory(TEXT);
}

static void the_profile_is_written_where_it_is_pinned(void **state)
{
    static const char pinned[] = "profile: pinned\n";
    static const struct {
        const char *more, *told;
    } refused[] = {
        {"", "pinned.compute: required"},
        {"pinned: {workspace: 4}\n", "pinned.compute: required"},
        {"pinned: {compute: f16}\n", "expected one of f32, f64, tf32, bf16"},
        {"pinned: {compute: f32, workspace: 0}\n", "pinned.workspace"},
        {"pinned: {compute: f32, workspace: 1073741825}\n", "pinned.workspace"},
        {"pinned: {compute: f32, algorithm: 1}\n", "unknown key"},
        {"pinned: [f32]\n", "a mapping"},
        {"pinned: {compute: f32}\nchallengers: {linear: true}\n", "is for one run"},
        {"pinned: {compute: f32}\nsearch: {over: {lr: [0.1, 0.2]}}\n", "is for one run"},
    };
    char text[512];
    rp_recipe *recipe = parse(LEAST "profile: portable\n"), *again;
    rp_error err;

    (void)state;
    assert_false(recipe->pinned);
    assert_null(rp_json_object_get(recipe->json, "profile"));
    rp_recipe_free(recipe);
    recipe = parse(LEAST "profile: pinned\npinned: {compute: tf32}\n");
    assert_string_equal(rp_json_string_value(rp_json_object_get(recipe->json, "profile")), "pinned");
    assert_int_equal(recipe->library.workspace, 33554432);
    assert_int_equal(rp_recipe_from_json(&again, recipe->json, "json", &err), RP_OK);
    assert_true(again->pinned);
    assert_int_equal(again->library.compute, recipe->library.compute);
    rp_recipe_free(again);
    assert_int_equal(rp_json_object_del(rp_json_object_get(recipe->json, "pinned"), "workspace"), 0);
    assert_int_equal(rp_recipe_from_json(&again, recipe->json, "json", &err), RP_EFORMAT);
    rp_recipe_free(recipe);
    for (size_t i = 0; i < COUNT(refused); i++) {
        (void)snprintf(text, sizeof text, LEAST "model: {hidden: [4]}\n%s%s", pinned, refused[i].more);
        assert_refused(text, strlen(text), &refused[i].told, 1);
    }
    assert_refused(LEAST "pinned: {compute: f32}\n", strlen(LEAST "pinned: {compute: f32}\n"),
                   (const char *[]){"applies only with profile: pinned"}, 1);
}

static void every_default_is_written_out(void **state)
{
    rp_recipe *recipe = parse(LEAST "train: {solver: gradient}\n");
    char *text = written(recipe);

    (void)state;
    assert_string_equal(
        text,
        "{\"data\":{\"columns\":[],\"csv\":\"a.csv\",\"delimiter\":\",\",\"fold\":0,\"folds\":5,\"header\":true,"
        "\"missing\":[\"\",\"#N/A\",\"#N/A N/A\",\"#NA\",\"-1.#IND\",\"-1.#QNAN\",\"-NaN\",\"-nan\",\"1.#IND\","
        "\"1.#QNAN\",\"<NA>\",\"N/A\",\"NA\",\"NULL\",\"NaN\",\"None\",\"n/a\",\"nan\",\"null\",\"?\"],"
        "\"missing_categorical\":\"category\",\"missing_numeric\":\"mean\","
        "\"positive\":null,\"standardize\":true,\"stratify\":true,\"target\":\"y\",\"train_on_all\":false},"
        "\"model\":{\"hidden\":[]},\"name\":\"\",\"reprise\":1,\"seed\":0,\"train\":{\"accumulate\":1,\"batch\":32,"
        "\"clip_norm\":\"0\",\"drop_last\":false,\"epochs\":\"auto\",\"loss\":\"auto\",\"optimizer\":{"
        "\"beta1\":\"0.9\",\"beta2\":\"0.999\",\"decay\":\"weights\",\"eps\":\"1e-8\",\"kind\":\"adamw\","
        "\"lr\":\"0.003\","
        "\"weight_decay\":\"0.01\"},"
        "\"schedule\":{\"kind\":\"cosine\",\"min_lr\":\"0\",\"warmup_steps\":0},\"shards\":1,\"shuffle\":true,"
        "\"task\":\"classification\"}}");
    rp_free(text);
    rp_recipe_free(recipe);
}

/* What a recipe with epochs had before there was a rule for those without, it keeps. */
static void with_epochs_the_rate_is_constant(void **state)
{
    rp_recipe *recipe = parse(LEAST "train: {solver: gradient, epochs: 10}\n");
    rp_recipe *others = parse(LEAST "train: {epochs: auto, optimizer: {kind: sgd}, schedule: {kind: constant}}\n");

    (void)state;
    assert_int_equal(recipe->train.epochs, 10);
    assert_true(recipe->train.optimizer.lr == 0.001 && recipe->train.schedule.kind == RP_SCHED_CONSTANT);
    assert_int_equal(others->train.epochs, RP_EPOCHS_BY_ROWS);
    assert_true(others->train.optimizer.lr == 0.001 && others->train.schedule.kind == RP_SCHED_CONSTANT);
    rp_recipe_free(recipe);
    rp_recipe_free(others);
}

static const char full[] =
    "# a comment\nreprise: 1\nname: \"every key\"\nseed: 9007199254740991\n"
    "data: {csv: x/y.csv, header: true, delimiter: ';', target: 3, positive: 2, columns: {b: categorical, 0: ignore,"
    " \"7\": numeric, 12: auto}, missing: ['', 'null', -1], missing_numeric: error, missing_categorical: error,"
    " decimal: ',', thousands: ., strip: true, prefix: [$, EUR], suffix: '%',"
    " encoding: latin-1, comment: '#', skip_lines: 2, missing_target: drop, where: [{column: 3, is: '>=', value: 1.5},"
    " {column: k, value: a}, {column: k, is: present}], standardize: false, folds: 7, fold: 6, stratify: false,"
    " weight: w}\n"
    "model: {hidden: [64, 32], activation: gelu, dropout: 0.25, layer_norm: true}\n"
    "train: {epochs: 3, batch: 48, drop_last: true, shards: 4, accumulate: 3, shuffle: false, loss: cross_entropy,"
    " task: classification, clip_norm: 1.5, class_weights: {b: 0.5, 2: 4},"
    " optimizer: {kind: rmsprop, lr: 1e-2, weight_decay: 1e-4, decay: all, momentum: 0.9, alpha: 0.95, eps: 1e-6},"
    " schedule: {kind: step, warmup_steps: 10, step_every: 100, gamma: 0.5}}\n";

static void every_key_reaches_the_struct(void **state)
{
    rp_recipe *r = parse(full);

    (void)state;
    assert_string_equal(r->name, "every key");
    assert_true(r->seed == 9007199254740991u);
    assert_true(r->data.delimiter == ';' && r->data.target.name == NULL && r->data.target.index == 3);
    assert_string_equal(r->data.positive, "2");
    assert_string_equal(r->data.weight.name, "w");
    assert_int_equal(r->train.n_class_weights, 2);
    assert_string_equal(r->train.class_weight[0].name, "2");
    assert_true(r->train.class_weight[0].weight == 4 && r->train.class_weight[1].weight == 0.5);
    assert_true(r->train.optimizer.decay_all && !r->train.balanced);
    assert_int_equal(r->data.n_columns, 4);
    assert_true(r->data.columns[0].column.index == 0 && r->data.columns[0].kind == RP_COL_IGNORE);
    assert_true(r->data.columns[1].column.index == 12 && r->data.columns[1].kind == RP_COL_AUTO);
    assert_string_equal(r->data.columns[2].column.name, "7");
    assert_string_equal(r->data.columns[3].column.name, "b");
    assert_int_equal(r->data.n_missing, 3);
    assert_string_equal(r->data.missing[1], "null");
    assert_string_equal(r->data.missing[2], "-1");
    assert_true(r->data.missing_numeric == RP_MISSING_ERROR && r->data.missing_categorical == RP_MISSING_ERROR);
    assert_true(r->data.reading.decimal == ',' && r->data.reading.strip && r->data.reading.dressed);
    assert_string_equal(r->data.reading.thousands, ".");
    assert_true(r->data.reading.encoding == RP_ENC_LATIN1 && r->data.reading.comment == '#');
    assert_true(r->data.reading.skip_lines == 2 && r->data.reading.drop_missing_target);
    assert_int_equal(r->data.reading.n_where, 3);
    assert_true(r->data.reading.where[0].is == RP_IS_AT_LEAST && r->data.reading.where[0].number == 1.5);
    assert_true(r->data.reading.where[1].is == RP_IS_EQUAL && !r->data.reading.where[1].numeric);
    assert_true(r->data.reading.where[2].is == RP_IS_PRESENT && r->data.reading.where[2].value == NULL);
    assert_int_equal(r->data.reading.prefix.count, 2);
    assert_string_equal(r->data.reading.prefix.text[1], "EUR");
    assert_string_equal(r->data.reading.suffix.text[0], "%");
    assert_true(!r->data.standardize && r->data.folds == 7 && r->data.fold == 6 && !r->data.stratify);
    assert_true(r->model.n_hidden == 2 && r->model.hidden[0] == 64 && r->model.hidden[1] == 32);
    assert_true(r->model.activation == RP_ACT_GELU && r->model.dropout == 0.25 && r->model.layer_norm);
    assert_true(r->train.epochs == 3 && r->train.batch == 48 && r->train.drop_last && r->train.shards == 4);
    assert_true(r->train.accumulate == 3 && !r->train.shuffle && r->train.loss == RP_LOSS_CROSS_ENTROPY);
    assert_true(r->train.clip_norm == 1.5 && r->train.optimizer.kind == RP_OPT_RMSPROP);
    assert_true(r->train.optimizer.lr == 0.01 && r->train.optimizer.weight_decay == 1e-4);
    assert_true(r->train.optimizer.momentum == 0.9 && r->train.optimizer.alpha == 0.95);
    assert_true(r->train.optimizer.eps == 1e-6 && r->train.schedule.kind == RP_SCHED_STEP);
    assert_true(r->train.schedule.warmup_steps == 10 && r->train.schedule.step_every == 100);
    assert_true(r->train.schedule.gamma == 0.5);
    rp_recipe_free(r);
}

#define CONV "model: {image: [8, 6, 4], conv: "

static void convolution_layers_reach_the_struct(void **state)
{
    rp_recipe *r =
        parse(LEAST CONV "[{filters: 16}, {filters: 32, kernel: [1, 5], stride: 2, dilation: [3, 1], groups: 4,"
                         " padding: valid, pool: avg, pool_size: [2, 1]}], activation: tanh}\n");
    const rp_conv_layer *a = &r->model.conv[0], *b = &r->model.conv[1];

    (void)state;
    assert_true(r->model.n_conv == 2 && r->model.n_hidden == 0 && r->model.activation == RP_ACT_TANH);
    assert_true(r->model.image[0] == 8 && r->model.image[1] == 6 && r->model.image[2] == 4);
    assert_true(a->filters == 16 && a->kernel[0] == 3 && a->kernel[1] == 3 && a->stride[0] == 1 && a->stride[1] == 1);
    assert_true(a->dilation[0] == 1 && a->groups == 1 && a->padding == RP_PADDING_SAME && a->pool == RP_POOL_NONE);
    assert_true(b->filters == 32 && b->kernel[0] == 1 && b->kernel[1] == 5 && b->stride[0] == 2 && b->stride[1] == 2);
    assert_true(b->dilation[0] == 3 && b->dilation[1] == 1 && b->groups == 4 && b->padding == RP_PADDING_VALID);
    assert_true(b->pool == RP_POOL_AVG && b->pool_size[0] == 2 && b->pool_size[1] == 1);
    rp_recipe_free(r);
}

/* The key is written for winograd only, so that resolved recipes without it keep their bytes. */
static void an_algorithm_is_chosen_for_layers_that_fit(void **state)
{
    static const char *const wrong[] = {"kernel: 5", "kernel: [3, 1]", "stride: 2", "dilation: [1, 2]", "groups: 4"};
    rp_recipe *r = parse(LEAST CONV "[{filters: 4, algorithm: winograd}, {filters: 4}]}\n");
    rp_recipe *same = parse(LEAST CONV "[{filters: 4, algorithm: direct}, {filters: 4}]}\n");
    char *text = written(r), *plain = written(same);

    (void)state;
    assert_true(r->model.conv[0].winograd && !r->model.conv[1].winograd && !same->model.conv[0].winograd);
    assert_non_null(strstr(text, "winograd"));
    assert_null(strstr(plain, "algorithm"));
    for (size_t i = 0; i < COUNT(wrong); i++) {
        rp_recipe *refused = NULL;
        rp_error err = {0};
        char yaml[512];
        int n = snprintf(yaml, sizeof yaml, LEAST CONV "[{filters: 4, algorithm: winograd, %s}]}\n", wrong[i]);

        assert_int_equal(rp_recipe_from_yaml(&refused, yaml, (size_t)n, "r.yaml", &err), RP_EARG);
        assert_non_null(strstr(err.text, "model.conv.algorithm"));
    }
    rp_free(text);
    rp_free(plain);
    rp_recipe_free(r);
    rp_recipe_free(same);
}

static const char *const accepted[] = {
    LEAST,
    full,
    LEAST CONV "[{filters: 3, pool: max}, {filters: 3, groups: 3}]}\n",
    LEAST CONV "[{filters: 3, algorithm: winograd}, {filters: 3, algorithm: direct}]}\n",
    LEAST "train: {task: regression}\n",
    LEAST "  train_on_all: true\n",
    LEAST "train: {optimizer: {kind: sgd, momentum: 0.9, nesterov: true}, schedule: {kind: cosine, min_lr: 1e-5}}\n",
    LEAST "train: {optimizer: {kind: lion, weight_decay: 0.1, beta2: 0.98}}\n",
    LEAST "train: {optimizer: {kind: adagrad, eps: 1e-9}}\n",
    LEAST "  delimiter: \"\\t\"\n  columns:\nmodel:\ntrain:\n",
    "\xEF\xBB\xBF" LEAST "name: \"caf\xC3\xA9\"\n",
};

static void resolved_json_gives_the_same_recipe_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(accepted); i++) {
        rp_recipe *first = parse(accepted[i]), *second = NULL;
        char *text = written(first), *again;
        rp_error err = {0};

        if (rp_recipe_from_json(&second, first->json, "run/recipe.json", &err) != RP_OK)
            fail_msg("recipe %zu refused: %s", i, err.text);
        again = written(second);
        assert_string_equal(text, again);
        rp_free(text);
        rp_free(again);
        rp_recipe_free(first);
        rp_recipe_free(second);
    }
}

static void writing_of_the_yaml_does_not_change_the_recipe(void **state)
{
    rp_recipe *a = parse("reprise: 1\ndata: {csv: a.csv, target: y, columns: {b: numeric, 2: ignore}}\n"
                         "train: {clip_norm: 1.50, optimizer: {lr: 0.0010}}\n");
    rp_recipe *b = parse("train:\n  optimizer:\n    lr: 1e-3\n  clip_norm: 15e-1\ndata:\n  target: 'y'\n  columns:\n"
                         "    2: ignore\n    b: numeric\n  csv: \"a.csv\"\nreprise: 1\n");
    char *x = written(a), *y = written(b);

    (void)state;
    assert_string_equal(x, y);
    rp_free(x);
    rp_free(y);
    rp_recipe_free(a);
    rp_recipe_free(b);
}

/* A recipe that says nothing of it resolves as it always did. */
static void precision_is_written_where_it_is_mixed(void **state)
{
    rp_recipe *none = parse(LEAST "train: {solver: gradient}\n"), *wide = parse(LEAST "train: {precision: f32}\n");
    rp_recipe *mixed = parse(LEAST "train: {precision: mixed}\n");
    char *a = written(none), *b = written(wide), *c = written(mixed);
    const char *const told[] = {"train.precision", "mixed"};

    (void)state;
    assert_string_equal(a, b);
    assert_true(!wide->train.mixed && mixed->train.mixed && strstr(c, "\"precision\":\"mixed\"") != NULL);
    assert_refused(LEAST "train: {precision: bf16}\n", strlen(LEAST "train: {precision: bf16}\n"), told, 2);
    rp_free(a);
    rp_free(b);
    rp_free(c);
    rp_recipe_free(none);
    rp_recipe_free(wide);
    rp_recipe_free(mixed);
}

typedef struct mistake {
    const char *yaml;
    const char *fragments[4]; /* what the error must say */
} mistake;

static const mistake mistakes[] = {
    {"", {"empty"}},
    {"# only a comment\n", {"empty"}},
    {"just text\n", {"r.yaml:1", "recipe"}},
    {"data: {csv: a, target: y}\n", {"reprise", "required"}},
    {"reprise: 2\ndata: {csv: a, target: y}\n", {"r.yaml:1", "reprise", "\"2\"", "version 1"}},
    {"reprise: 1\ndata: {target: y}\n", {"data.csv", "required"}},
    {"reprise: 1\ndata: {csv: a}\n", {"data.target", "required"}},
    {LEAST "sede: 3\n", {"r.yaml:5", "sede", "did you mean \"seed\""}},
    {LEAST "train:\n  epocs: 3\n", {"r.yaml:6", "train.epocs", "did you mean \"epochs\""}},
    {LEAST "train: {optimizer: {learning_rate: 1}}\n", {"train.optimizer.learning_rate", "unknown key"}},
    {LEAST "train: {optimizer: {kind: adamx}}\n", {"train.optimizer.kind", "adamw", "\"adamx\"", "did you mean"}},
    {LEAST "train: {epochs: ten}\n", {"r.yaml:5", "train.epochs", "integer from 1", "\"ten\""}},
    {LEAST "train: {epochs: \"10\"}\n", {"train.epochs", "integer"}},
    {LEAST "train: {epochs: 0}\n", {"train.epochs", "from 1", "\"0\""}},
    {LEAST "train: {epochs: -1}\n", {"train.epochs", "\"-1\""}},
    {LEAST "train: {epochs: 1.5}\n", {"train.epochs", "\"1.5\""}},
    {LEAST "train: {epochs: 99999999999999999999999999}\n", {"train.epochs", "999"}},
    {LEAST "train: {epochs: [1]}\n", {"train.epochs", "a list"}},
    {LEAST "train: {epochs: }\n", {"train.epochs", "nothing"}},
    {LEAST "train: [1]\n", {"key train", "a mapping", "a list"}},
    {LEAST "train: {batch: 0}\n", {"train.batch", "\"0\""}},
    {LEAST "train: {batch: 10, shards: 4}\n", {"r.yaml:5", "train.batch", "multiple", "10"}},
    {LEAST "train: {shuffle: yes}\n", {"train.shuffle", "true or false", "\"yes\""}},
    {LEAST "train: {optimizer: {lr: 0}}\n", {"train.optimizer.lr", "above 0"}},
    {LEAST "train: {optimizer: {lr: -1}}\n", {"train.optimizer.lr"}},
    {LEAST "train: {optimizer: {lr: 1e999}}\n", {"train.optimizer.lr", "1e999"}},
    {LEAST "train: {optimizer: {lr: .nan}}\n", {"train.optimizer.lr", ".nan"}},
    {LEAST "train: {optimizer: {lr: \"0.1\"}}\n", {"train.optimizer.lr"}},
    {LEAST "train: {optimizer: {beta1: 1}}\n", {"train.optimizer.beta1", "below 1"}},
    {LEAST "train: {optimizer: {weight_decay: 0, decay: all}}\n", {"train.optimizer.decay", "above 0"}},
    {LEAST "train: {optimizer: {decay: biases}}\n", {"train.optimizer.decay", "weights", "\"biases\""}},
    {LEAST "train: {epochs: 10, patience: 11}\n", {"train.patience", "1 to 10", "\"11\""}},
    {LEAST "train: {epochs: 10, patience: 0}\n", {"train.patience", "\"0\""}},
    {"reprise: 1\ndata: {csv: a, target: y, train_on_all: true}\ntrain: {patience: 3}\n",
     {"train.patience", "validation part"}},
    {LEAST "train: {solver: exact, patience: 1}\n", {"train.patience", "solver: gradient"}},
    {"reprise: 1\ndata: {csv: a, target: y, split: s, folds: 3}\n", {"data.folds", "split"}},
    {"reprise: 1\ndata: {csv: a, target: y, time: t, fold: 1}\n", {"data.fold", "time"}},
    {"reprise: 1\ndata: {csv: a, target: y, time: t, group: g}\n", {"data.group", "time"}},
    {"reprise: 1\ndata: {csv: a, target: y, group: g, stratify: true}\n", {"data.stratify", "group"}},
    {"reprise: 1\ndata: {csv: a, target: y, test: 0.95}\n", {"data.test", "0.9"}},
    {"reprise: 1\ndata: {csv: a, header: false, target: 0, time: t}\n", {"data.time", "index"}},
    {LEAST "train: {solver: gradient, class_weights: equal}\n", {"train.class_weights", "balanced", "\"equal\""}},
    {LEAST "train: {solver: gradient, class_weights: {}}\n", {"train.class_weights", "balanced"}},
    {LEAST "train: {solver: gradient, class_weights: {a: 0}}\n", {"train.class_weights", "above 0"}},
    {LEAST "train: {task: regression, solver: gradient, class_weights: balanced}\n",
     {"train.class_weights", "classification"}},
    {"reprise: 1\ndata: {csv: a, header: false, target: 0, weight: w}\n", {"data.weight", "index"}},
    {LEAST "train: {optimizer: {momentum: 0.9}}\n", {"train.optimizer.momentum", "sgd"}},
    {LEAST "train: {optimizer: {kind: sgd, nesterov: true}}\n", {"nesterov", "momentum"}},
    {LEAST "train: {schedule: {kind: step}}\n", {"step_every", "required"}},
    {LEAST "train: {schedule: {gamma: 0.5}}\n", {"schedule.gamma", "step"}},
    {LEAST "train: {schedule: {kind: cosine, min_lr: 1}}\n", {"min_lr", "lr"}},
    {LEAST "train: {loss: mse}\n", {"train.loss", "regression"}},
    {LEAST "train: {task: regression, loss: bce}\n", {"train.loss", "mse"}},
    {LEAST "  positive: a\ntrain: {task: regression}\n", {"data.positive", "classification"}},
    {LEAST "model: {hidden: 64}\n", {"model.hidden", "[64, 32]"}},
    {LEAST "model: {hidden: [64, -3]}\n", {"model.hidden", "\"-3\""}},
    {LEAST "model: {hidden: [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}\n", {"model.hidden", "16"}},
    {LEAST "model: {dropout: 0.5}\n", {"model.dropout", "hidden"}},
    {LEAST "model: {hidden: [4], dropout: 1}\n", {"model.dropout", "0.99"}},
    {LEAST "model: {image: [8, 8, 1]}\n", {"model.conv", "1 to 16"}},
    {LEAST "model: {conv: [{filters: 4}]}\n", {"model.image", "required"}},
    {LEAST "model: {image: 8, conv: [{filters: 4}]}\n", {"model.image", "[28, 28, 1]"}},
    {LEAST "model: {image: [8, 0, 1], conv: [{filters: 4}]}\n", {"model.image", "from 1"}},
    {LEAST CONV "[]}\n", {"model.conv", "1 to 16"}},
    {LEAST CONV "[3]}\n", {"model.conv", "a mapping"}},
    {LEAST CONV "[{kernel: 3}]}\n", {"model.conv.filters", "required"}},
    {LEAST CONV "[{filters: 4, kernal: 3}]}\n", {"kernal", "\"kernel\""}},
    {LEAST CONV "[{filters: 4, kernel: [3, 3, 3]}]}\n", {"model.conv.kernel", "[height, width]"}},
    {LEAST CONV "[{filters: 4, stride: 0}]}\n", {"model.conv.stride", "from 1"}},
    {LEAST CONV "[{filters: 4, padding: full}]}\n", {"model.conv.padding", "same, valid"}},
    {LEAST CONV "[{filters: 4, pool_size: 2}]}\n", {"model.conv.pool_size", "pool: max"}},
    {LEAST CONV "[{filters: 4}], dropout: 0.5}\n", {"model.dropout", "hidden layers"}},
    {LEAST "seed: -1\n", {"key seed", "\"-1\""}},
    {LEAST "seed: 9007199254740992\n", {"key seed"}},
    {LEAST "  folds: 1\n", {"data.folds", "from 2"}},
    {LEAST "  folds: 3\n  fold: 3\n", {"data.fold:", "to 2"}},
    {LEAST "  fold: 1\n  train_on_all: true\n", {"data.fold:", "train_on_all"}},
    {LEAST "  columns: {a: number}\n", {"r.yaml:5", "data.columns", "numeric"}},
    {LEAST "  columns: [a]\n", {"data.columns", "a list"}},
    {LEAST "  header: false\n", {"data.target", "index"}},
    {"reprise: 1\ndata: {csv: a, target: 0, header: false, columns: {a: numeric}}\n", {"data.columns", "indices"}},
    {"reprise: 1\ndata: {csv: a, target: -1}\n", {"data.target", "index"}},
    {"reprise: 1\ndata: {csv: a, target: [y]}\n", {"data.target", "a list"}},
    {LEAST "  delimiter: a\n", {"data.delimiter", "\"a\""}},
    {LEAST "  missing: NA\n", {"data.missing", "a list of at most 64"}},
    {LEAST "  missing: [~]\n", {"data.missing", "quote"}},
    {LEAST "  decimal: ;\n", {"data.decimal", "one of ., ,", "\";\""}},
    {LEAST "  thousands: .\n", {"data.thousands", "no decimal sign", "\".\""}},
    {LEAST "  thousands: x\n", {"data.thousands", "groups of three", "\"x\""}},
    {LEAST "  strip: 1\n", {"data.strip", "true or false"}},
    {LEAST "  prefix: ['']\n", {"data.prefix", "1 to 16 bytes"}},
    {LEAST "  prefix: [a1]\n", {"data.prefix", "without digits", "\"a1\""}},
    {LEAST "  suffix: [' %']\n", {"data.suffix", "spaces around"}},
    {LEAST "  suffix: ['%', '%']\n", {"data.suffix", "twice"}},
    {LEAST "  encoding: utf8\n", {"data.encoding", "did you mean \"utf-8\""}},
    {LEAST "  comment: a\n", {"data.comment", "one of #", "\"a\""}},
    {LEAST "  skip_lines: -1\n", {"data.skip_lines", "0"}},
    {LEAST "  missing_target: keep\n", {"data.missing_target", "error, drop"}},
    {LEAST "  where: {a: 1}\n", {"data.where", "list of at most 64"}},
    {LEAST "  where: [{is: '='}]\n", {"data.where", "{column, is, value}"}},
    {LEAST "  where: [{column: a}]\n", {"data.where.value", "required"}},
    {LEAST "  where: [{column: a, is: '<', value: b}]\n", {"data.where.value", "a number", "\"b\""}},
    {LEAST "  where: [{column: a, is: present, value: b}]\n", {"data.where.value", "applies"}},
    {LEAST "  where: [{column: a, is: like, value: b}]\n", {"data.where.is", "present"}},
    {LEAST "  suffix: {a: b}\n", {"data.suffix", "a list of at most 16", "a mapping"}},
    {"reprise: 1\nreprise: 1\n", {"r.yaml:2", "\"reprise\"", "twice", "line 1"}},
    {"reprise: &a 1\n", {"anchor"}},
    {"reprise: *a\n", {"alias"}},
    {"reprise: !!int 1\n", {"tag"}},
    {"[a]: 1\n", {"expected a key"}},
    {LEAST "---\nreprise: 1\n", {"second YAML document"}},
    {"reprise: 1\n\tdata: 2\n", {"r.yaml:2", "YAML"}},
    {"reprise: [1\n", {"r.yaml:", "YAML"}},
    {"reprise: \"\\0\"\n", {"NUL"}},
    {"reprise: 1\nname: \xFF\xFE\n", {"r.yaml:2", "UTF-8"}},
    {"a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: 1}}}}}}}}}}}}}}}}}\n", {"nesting"}},
};

#define CARDED "reprise: 1\ndata: {csv: a.csv, target: t}\ncard:\n"

static void cards_are_read_and_resolved(void **state)
{
    static const struct {
        const char *card, *says;
    } flaw[] = {
        {"  {}\n", "card: says nothing"},
        {"  - owner\n", "card: expected a mapping"},
        {"  ownr: x\n", "did you mean \"owner\""},
        {"  valid_until: soon\n", "card.valid_until: expected a day"},
        {"  valid_until: 2027-02-29\n", "card.valid_until: expected a day"},
        {"  keep_until: 2027-13-01\n", "card.keep_until: expected a day"},
        {"  owner: [a]\n", "card.owner"},
        {"  owner: \"a\\u200Bb\"\n", "card.owner: has characters that cannot be seen"},
        {"  limits: \"a\\tb\"\n", "card.limits: has characters that cannot be seen"},
    };
    rp_recipe *recipe, *again, *without;
    rp_error err;

    (void)state;
    recipe = parse(CARDED "  owner: credit\n  valid_until: 2028-02-29\n  limits: |\n    a\n    b\n");
    assert_string_equal(rp_json_string_value(rp_json_object_get(rp_json_object_get(recipe->json, "card"), "owner")),
                        "credit");
    assert_int_equal(rp_json_object_size(rp_json_object_get(recipe->json, "card")), 3);
    assert_int_equal(rp_recipe_from_json(&again, recipe->json, "run/recipe.json", &err), RP_OK);
    assert_true(rp_json_equal(again->json, recipe->json));
    rp_recipe_free(again);
    rp_recipe_free(recipe);
    without = parse("reprise: 1\ndata: {csv: a.csv, target: t}\n");
    assert_null(rp_json_object_get(without->json, "card")); /* and so its bytes are what they were */
    rp_recipe_free(without);
    for (size_t i = 0; i < sizeof flaw / sizeof *flaw; i++) {
        char text[256];

        (void)snprintf(text, sizeof text, CARDED "%s", flaw[i].card);
        if (rp_recipe_from_yaml(&recipe, text, strlen(text), "r.yaml", &err) != RP_EARG ||
            !strstr(err.text, flaw[i].says))
            fail_msg("flaw %zu: %s", i, err.text);
    }
}

static void each_mistake_gets_one_clear_error(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(mistakes); i++)
        assert_refused(mistakes[i].yaml, strlen(mistakes[i].yaml), mistakes[i].fragments, 4);
}

/* Text of length bytes made of one repeated piece behind a start. */
static void assert_repeated_refused(const char *start, const char *piece, size_t length)
{
    char *text = malloc(length);
    size_t at = strlen(start), n = strlen(piece);

    assert_non_null(text);
    memcpy(text, start, at);
    for (size_t i = at; i < length; i++)
        text[i] = piece[(i - at) % n];
    assert_refused(text, length, NULL, 0);
    free(text);
}

static void hostile_sizes_are_refused_within_bounds(void **state)
{
    (void)state;
    assert_repeated_refused("", "[", 100000);
    assert_repeated_refused("", "{", 100000);
    assert_repeated_refused("a: [", "1,", 100000);
    assert_repeated_refused("", "- ", 100000);
    assert_repeated_refused("a: ", "9", (1 << 20) - 1);
    assert_repeated_refused("a: 1\n", "#", (1 << 20) + 1);
    assert_repeated_refused("name: \"", "x", 5000);
}

static void json_that_is_not_a_resolved_recipe_is_refused(void **state)
{
    static const char *const keys[] = {"seed", "name", "model", "train", "data", "reprise"};
    rp_recipe *recipe = parse(full), *out;
    rp_json *odd;
    rp_error err;

    (void)state;
    for (size_t i = 0; i < COUNT(keys); i++) {
        odd = rp_json_deep_copy(recipe->json);
        rp_json_object_del(odd, keys[i]);
        assert_int_equal(rp_recipe_from_json(&out, odd, "recipe.json", &err), RP_EFORMAT);
        assert_null(out);
        rp_json_free(odd);
    }
    odd = rp_json_deep_copy(recipe->json);
    rp_json_object_set_new(rp_json_object_get(odd, "train"), "clip_norm", rp_json_string("1.50"));
    assert_int_equal(rp_recipe_from_json(&out, odd, "recipe.json", &err), RP_EFORMAT);
    rp_json_object_set_new(rp_json_object_get(odd, "train"), "clip_norm", rp_json_integer(1));
    assert_int_equal(rp_recipe_from_json(&out, odd, "recipe.json", &err), RP_EFORMAT);
    rp_json_object_set_new(odd, "reprise", rp_json_integer(2));
    assert_int_equal(rp_recipe_from_json(&out, odd, "recipe.json", &err), RP_EUNSUPPORTED);
    assert_int_equal(err.status, RP_EUNSUPPORTED);
    rp_json_free(odd);
    odd = rp_json_array();
    assert_int_equal(rp_recipe_from_json(&out, odd, "recipe.json", &err), RP_EFORMAT);
    rp_json_free(odd);
    rp_recipe_free(recipe);
}

static void examples_are_accepted(void **state)
{
    static const char *const names[] = {"loans", "german_credit", "german_credit_logistic", "digits"};

    (void)state;
    for (size_t i = 0; i < COUNT(names); i++) {
        char path[512];
        rp_buffer text = {0};
        rp_recipe *recipe = NULL;
        rp_error err = {0};

        snprintf(path, sizeof path, "%s/examples/%s.yaml", RP_SOURCE_DIR, names[i]);
        assert_int_equal(rp_file_read(path, 1 << 20, &text, &err), RP_OK);
        if (rp_recipe_from_yaml(&recipe, (const char *)text.data, text.size, path, &err) != RP_OK)
            fail_msg("%s", err.text);
        rp_buffer_free(&text);
        rp_recipe_free(recipe);
    }
}

/* Fails allocation number `left`; libyaml's own memory is not among them. */
static size_t left;

static void *counted_allocate(void *self, size_t bytes)
{
    (void)self;
    return left == 0 ? NULL : (left--, malloc(bytes));
}

static void *counted_resize(void *self, void *block, size_t bytes)
{
    (void)self;
    return left == 0 ? NULL : (left--, realloc(block, bytes));
}

static void counted_release(void *self, void *block)
{
    (void)self;
    free(block);
}

static void every_failed_allocation_is_reported(void **state)
{
    static const rp_allocator counted = {counted_allocate, counted_resize, counted_release, NULL};
    rp_recipe *recipe = NULL;
    rp_status status = RP_ENOMEM;
    size_t n;

    (void)state;
    rp_set_allocator(&counted);
    for (n = 0; n < 5000 && status == RP_ENOMEM; n++) {
        left = n;
        status = rp_recipe_from_yaml(&recipe, full, strlen(full), "r.yaml", NULL);
        assert_true(status == RP_OK || recipe == NULL);
    }
    assert_int_equal(status, RP_OK);
    assert_true(n > 50);
    rp_recipe_free(recipe);
    rp_set_allocator(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_default_is_written_out),
        cmocka_unit_test(the_profile_is_written_where_it_is_pinned),
        cmocka_unit_test(with_epochs_the_rate_is_constant),
        cmocka_unit_test(every_key_reaches_the_struct),
        cmocka_unit_test(cards_are_read_and_resolved),
        cmocka_unit_test(convolution_layers_reach_the_struct),
        cmocka_unit_test(an_algorithm_is_chosen_for_layers_that_fit),
        cmocka_unit_test(resolved_json_gives_the_same_recipe_back),
        cmocka_unit_test(writing_of_the_yaml_does_not_change_the_recipe),
        cmocka_unit_test(precision_is_written_where_it_is_mixed),
        cmocka_unit_test(each_mistake_gets_one_clear_error),
        cmocka_unit_test(hostile_sizes_are_refused_within_bounds),
        cmocka_unit_test(json_that_is_not_a_resolved_recipe_is_refused),
        cmocka_unit_test(memory_is_no_part_of_the_resolved_recipe),
        cmocka_unit_test(examples_are_accepted),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
