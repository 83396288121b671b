/* SPDX-License-Identifier: Apache-2.0
 * What is tried before the run: search: over keys of the recipe, on a grid or drawn, and challengers:, a linear model
 * and further seeds. Here only the form of values is known: each trial's own recipe is read like any other
 * (core/trials/vary.c), so that what a key may be is said in one place. */
#include "core/recipe/recipe_trials.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "core/recipe/decimal_json.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { TEXT_LIMIT = 32, WIDTH_LIMIT = 65536 };

const rp_search_key rp_search_keys[RP_SEARCH_KEYS] = {
    {"activation", "model", NULL, RP_SEARCH_TEXT},
    {"batch", "train", NULL, RP_SEARCH_INT},
    {"clip_norm", "train", NULL, RP_SEARCH_REAL},
    {"dropout", "model", NULL, RP_SEARCH_REAL},
    {"epochs", "train", NULL, RP_SEARCH_INT},
    {"hidden", "model", NULL, RP_SEARCH_WIDTHS},
    {"l1", "train", NULL, RP_SEARCH_REAL},
    {"l2", "train", NULL, RP_SEARCH_REAL},
    {"layer_norm", "model", NULL, RP_SEARCH_BOOL},
    {"lr", "train", "optimizer", RP_SEARCH_REAL},
    {"momentum", "train", "optimizer", RP_SEARCH_REAL},
    {"patience", "train", NULL, RP_SEARCH_INT},
    {"warmup_steps", "train", "schedule", RP_SEARCH_INT},
    {"weight_decay", "train", "optimizer", RP_SEARCH_REAL},
};
const char *const rp_judge_names[RP_JUDGES] = {"loss", "accuracy", "auc", "mse", "mae", "r2"};
static const char *const kind_names[] = {"grid", "random"};

static bool read_real(const rp_node_reader *reader, const rp_node *node, double *out)
{
    return node->kind == RP_NODE_SCALAR && node->plain != reader->json &&
           rp_parse_f64(out, node->text, strlen(node->text)) && *out >= 0 && *out <= 1e12;
}

static rp_json *real_json(double value)
{
    return rp_json_decimal(value == 0 ? 0 : value);
}

static rp_json *widths_json(const rp_node *node)
{
    rp_json *list = node->count >= 1 && node->count <= RP_MAX_HIDDEN ? rp_json_array() : NULL;

    for (size_t i = 0; i < node->count && list != NULL; i++) {
        int64_t width;

        if (!rp_node_int(&node->child[i], &width) || width < 1 || width > WIDTH_LIMIT ||
            rp_json_array_append_new(list, rp_json_integer(width)) != 0) {
            rp_json_free(list);
            list = NULL;
        }
    }
    return list;
}

/* The value as the resolved recipe has it; NULL: none of this type, or no memory. */
static rp_json *value_json(const rp_node_reader *reader, const rp_node *node, rp_search_type type)
{
    const bool scalar = node->kind == RP_NODE_SCALAR;
    int64_t integer;
    double real;

    switch (type) {
    case RP_SEARCH_REAL:
        return read_real(reader, node, &real) ? real_json(real) : NULL;
    case RP_SEARCH_INT:
        return rp_node_int(node, &integer) && integer >= 0 && integer <= 1 << 30 ? rp_json_integer(integer) : NULL;
    case RP_SEARCH_BOOL:
        if (!scalar || !node->plain || (strcmp(node->text, "true") != 0 && strcmp(node->text, "false") != 0))
            return NULL;
        return rp_json_boolean(node->text[0] == 't');
    case RP_SEARCH_WIDTHS:
        return node->kind == RP_NODE_LIST ? widths_json(node) : NULL;
    default:
        return scalar && !rp_node_is_null(node) && strlen(node->text) <= TEXT_LIMIT ? rp_json_string(node->text) : NULL;
    }
}

static const char *values_text(rp_search_type type)
{
    static const char *const text[] = {"a list of numbers from 0", "a list of integers from 0", "a list of words",
                                       "a list of true and false",
                                       "a list of lists of 1 to 16 layer widths, e.g. [[32], [64, 32]]"};

    return text[type];
}

static void read_values(rp_node_reader *reader, const rp_node *node, const char *path, rp_search_axis *out)
{
    if (node->count == 0 || node->count > RP_SEARCH_VALUES) {
        rp_node_refuse(reader, node, path, "expected 1 to %d values, found %zu", RP_SEARCH_VALUES, node->count);
        return;
    }
    out->value = rp_json_array();
    for (size_t i = 0; i < node->count && reader->status == RP_OK; i++) {
        rp_json *value = value_json(reader, &node->child[i], out->key->type);

        for (size_t k = 0; value != NULL && k < rp_json_array_size(out->value); k++)
            if (rp_json_equal(value, rp_json_array_get(out->value, k)))
                rp_node_refuse(reader, &node->child[i], path, "a value again: equal trials would count as several");
        if (value == NULL)
            rp_node_wrong(reader, &node->child[i], path, values_text(out->key->type), NULL);
        else if (out->value == NULL || rp_json_array_append_new(out->value, value) != 0)
            reader->status = rp_no_memory(reader->err);
    }
}

static void read_end(rp_node_reader *reader, const rp_node *map, const char *end, const char *path, rp_search_type type,
                     double *out)
{
    const rp_node *node = rp_node_find(map, end);
    int64_t integer = 0;

    if (reader->status != RP_OK)
        return;
    if (node == NULL)
        rp_node_refuse(reader, map, path, "an interval has both, low and high: %s is missing", end);
    else if (type == RP_SEARCH_INT ? !rp_node_int(node, &integer) || integer < 0 || integer > 1 << 30
                                   : !read_real(reader, node, out))
        rp_node_wrong(reader, node, path, type == RP_SEARCH_INT ? "an integer from 0" : "a number from 0", NULL);
    else if (type == RP_SEARCH_INT)
        *out = (double)integer;
}

static void read_interval(rp_node_reader *reader, const rp_node *node, const char *path, bool random,
                          rp_search_axis *out)
{
    static const char *const keys[] = {"low", "high", "log"};
    const rp_search_type type = out->key->type;

    if (!random || (type != RP_SEARCH_REAL && type != RP_SEARCH_INT)) {
        rp_node_refuse(reader, node, path, "an interval is for numbers with search.kind: random; expected %s",
                       values_text(type));
        return;
    }
    rp_recipe_check_keys(reader, node, path, keys, COUNT(keys));
    read_end(reader, node, "low", path, type, &out->low);
    read_end(reader, node, "high", path, type, &out->high);
    rp_node_read_bool(reader, node, "search.over.log", &out->log, false);
    if (reader->status == RP_OK && !(out->low < out->high && (!out->log || out->low > 0)))
        rp_node_refuse(reader, node, path, "expected low below high%s", out->log ? ", and above 0 with log" : "");
}

const rp_search_key *rp_search_key_find(const char *name)
{
    for (size_t i = 0; i < RP_SEARCH_KEYS; i++)
        if (strcmp(rp_search_keys[i].name, name) == 0)
            return &rp_search_keys[i];
    return NULL;
}

static int compare_axes(const void *a, const void *b)
{
    return strcmp(((const rp_search_axis *)a)->key->name, ((const rp_search_axis *)b)->key->name);
}

static void read_over(rp_node_reader *reader, const rp_node *over, rp_recipe *out)
{
    const char *names[RP_SEARCH_KEYS];
    char path[96];

    for (size_t i = 0; i < RP_SEARCH_KEYS; i++)
        names[i] = rp_search_keys[i].name;
    rp_recipe_check_keys(reader, over, "search.over", names, RP_SEARCH_KEYS);
    if (reader->status != RP_OK)
        return;
    out->search.over = rp_calloc(over->count, sizeof *out->search.over);
    if (out->search.over == NULL) {
        reader->status = rp_no_memory(reader->err);
        return;
    }
    out->search.n_over = over->count;
    for (size_t i = 0; i < over->count && reader->status == RP_OK; i++) {
        const rp_node *node = &over->child[i];
        rp_search_axis *axis = &out->search.over[i];

        axis->key = rp_search_key_find(node->key);
        (void)snprintf(path, sizeof path, "search.over.%s", axis->key->name);
        if (node->kind == RP_NODE_MAPPING)
            read_interval(reader, node, path, out->search.random, axis);
        else if (node->kind == RP_NODE_LIST)
            read_values(reader, node, path, axis);
        else
            rp_node_wrong(reader, node, path, values_text(axis->key->type), NULL);
    }
    if (reader->status == RP_OK)
        qsort(out->search.over, out->search.n_over, sizeof *out->search.over, compare_axes);
}

/* How many trials a search has: the product of its lists, or as many as are drawn. */
static void count_trials(rp_node_reader *reader, const rp_node *map, rp_recipe *out)
{
    if (out->search.random)
        return;
    out->search.trials = 1;
    for (size_t i = 0; i < out->search.n_over && out->search.trials <= RP_TRIALS_MAX; i++)
        out->search.trials *= (int64_t)rp_json_array_size(out->search.over[i].value);
    if (out->search.trials > RP_TRIALS_MAX)
        rp_node_refuse(reader, map, "search.over", "this grid has more than %d trials; use kind: random",
                       RP_TRIALS_MAX);
}

static void read_judge(rp_node_reader *reader, const rp_node *map, rp_recipe *out)
{
    int by;

    rp_node_read_choice(reader, map, "search.by", &by, RP_BY_LOSS, rp_judge_names, RP_JUDGES);
    out->search.by = (rp_judge)by;
    if (reader->status == RP_OK && by != RP_BY_LOSS && out->train.regression != (by >= RP_BY_MSE))
        rp_node_wrong(reader, rp_node_find(map, "by"), "search.by",
                      out->train.regression ? "loss, mse, mae or r2 for a regression"
                                            : "loss, accuracy or auc for a classification",
                      NULL);
}

static void read_search(rp_node_reader *reader, const rp_node *top, rp_recipe *out)
{
    static const char *const keys[] = {"over", "kind", "trials", "by"};
    const rp_node *map, *over;
    int kind;

    if (reader->status != RP_OK || rp_node_find(top, "search") == NULL)
        return;
    map = rp_node_section(reader, top, "search");
    if (map == NULL)
        return;
    rp_recipe_check_keys(reader, map, "search", keys, COUNT(keys));
    rp_node_read_choice(reader, map, "search.kind", &kind, 0, kind_names, 2);
    out->search.random = kind == 1;
    if (rp_node_applies(reader, map, "search.trials", out->search.random, "with kind: random")) {
        if (rp_node_find(map, "trials") == NULL)
            rp_node_refuse(reader, map, "search.trials", "required with kind: random: how many trials to draw");
        rp_node_read_int(reader, map, "search.trials", &out->search.trials, 1, 1, RP_TRIALS_MAX);
    }
    read_judge(reader, map, out);
    over = rp_node_section(reader, map, "search.over");
    if (reader->status == RP_OK && (over == NULL || over->count == 0))
        rp_node_refuse(reader, map, "search.over", "required: keys and the values to try, e.g. {lr: [0.001, 0.01]}");
    if (reader->status == RP_OK)
        read_over(reader, over, out);
    if (reader->status == RP_OK)
        count_trials(reader, map, out);
}

static void read_challengers(rp_node_reader *reader, const rp_node *top, rp_recipe *out)
{
    static const char *const keys[] = {"linear", "seeds"};
    const rp_node *map;

    if (reader->status != RP_OK || rp_node_find(top, "challengers") == NULL)
        return;
    map = rp_node_section(reader, top, "challengers");
    if (map == NULL)
        return;
    rp_recipe_check_keys(reader, map, "challengers", keys, COUNT(keys));
    rp_node_read_bool(reader, map, "challengers.linear", &out->challengers.linear, false);
    rp_node_read_int(reader, map, "challengers.seeds", &out->challengers.seeds, 0, 0, RP_SEEDS_MAX);
    if (reader->status != RP_OK)
        return;
    if (out->challengers.seeds == 1)
        rp_node_refuse(reader, map, "challengers.seeds", "expected 2 to %d: one seed has no spread", RP_SEEDS_MAX);
    else if (!out->challengers.linear && out->challengers.seeds == 0)
        rp_node_refuse(reader, map, "challengers", "names none: give linear: true or seeds, or leave it out");
    else if (out->train.exact && out->challengers.linear)
        rp_node_refuse(reader, map, "challengers.linear", "the recipe's own model is the exact linear one");
    else if (out->train.exact && out->challengers.seeds > 0)
        rp_node_refuse(reader, map, "challengers.seeds", "an exact fit draws nothing: every seed gives the same model");
}

static void check_trials(rp_node_reader *reader, const rp_node *top, const rp_recipe *out)
{
    const bool others = out->search.n_over > 0 || out->challengers.linear || out->challengers.seeds > 0;
    const int64_t folds = out->data.fold == RP_ALL_FOLDS ? out->data.folds : 1;
    const int64_t variants =
        (out->search.n_over > 0 ? out->search.trials : 1) + out->challengers.linear + out->challengers.seeds;

    if (reader->status != RP_OK || !rp_recipe_tries(out))
        return;
    if (others && out->data.train_on_all)
        rp_node_refuse(reader, top, out->search.n_over > 0 ? "search" : "challengers",
                       "needs rows to be judged on: a validation part, or data.fold: all");
    else if (out->weights != NULL)
        rp_node_refuse(reader, top, "weights",
                       "weights that are given stand for one run alone: leave out search, challengers and data.fold: "
                       "all, or the weights");
    else if (out->parent.archive != NULL)
        rp_node_refuse(reader, top, "parent",
                       "trials start from fresh weights; leave out search, challengers and "
                       "data.fold: all, or the parent");
    else if (variants * folds > RP_TRIALS_MAX)
        rp_node_refuse(reader, top, out->search.n_over > 0 ? "search" : "challengers",
                       "this makes %lld trials, expected at most %d", (long long)(variants * folds), RP_TRIALS_MAX);
}

void rp_recipe_read_trials(rp_node_reader *reader, const rp_node *top, rp_recipe *out)
{
    read_search(reader, top, out);
    read_challengers(reader, top, out);
    check_trials(reader, top, out);
}

static rp_json *axis_json(const rp_search_axis *axis)
{
    const bool integer = axis->key->type == RP_SEARCH_INT;

    if (axis->value != NULL)
        return rp_json_share(axis->value);
    return rp_json_pack("{s:o, s:b, s:o}", "high",
                        integer ? rp_json_integer((int64_t)axis->high) : real_json(axis->high), "log", axis->log, "low",
                        integer ? rp_json_integer((int64_t)axis->low) : real_json(axis->low));
}

int rp_recipe_write_trials(rp_json *top, const rp_recipe *recipe)
{
    rp_json *over = rp_json_object();
    int failed = over == NULL ? -1 : 0;

    if (!failed && (recipe->challengers.linear || recipe->challengers.seeds > 0))
        failed |= rp_json_object_set_new(
            top, "challengers",
            rp_json_pack("{s:b, s:I}", "linear", recipe->challengers.linear, "seeds", recipe->challengers.seeds));
    for (size_t i = 0; i < recipe->search.n_over && !failed; i++)
        failed |= rp_json_object_set_new(over, recipe->search.over[i].key->name, axis_json(&recipe->search.over[i]));
    if (!failed && recipe->search.n_over > 0) {
        rp_json *search = rp_json_pack("{s:s, s:s, s:O}", "by", rp_judge_names[recipe->search.by], "kind",
                                       kind_names[recipe->search.random], "over", over);

        if (recipe->search.random)
            failed |= rp_json_object_set_new(search, "trials", rp_json_integer(recipe->search.trials));
        failed |= rp_json_object_set_new(top, "search", search);
    }
    rp_json_free(over);
    return failed;
}

void rp_recipe_free_trials(rp_recipe *recipe)
{
    for (size_t i = 0; i < recipe->search.n_over; i++)
        rp_json_free(recipe->search.over[i].value);
    rp_free(recipe->search.over);
}
