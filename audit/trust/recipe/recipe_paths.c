/* SPDX-License-Identifier: Apache-2.0
 * One list, in the order of FORMAT 9.1; that it is the reader's, a test shows (tests/audit/trust). */
#include "audit/trust/recipe/recipe_paths.h"

#include <string.h>

#include "base/text.h"

const char *const rp_recipe_paths[] = {
    "reprise",
    "name",
    "seed",
    "predecessor",
    "weights",
    "profile",
    "data",
    "data.csv",
    "data.header",
    "data.delimiter",
    "data.target",
    "data.columns",
    "data.missing",
    "data.missing_numeric",
    "data.missing_categorical",
    "data.standardize",
    "data.train_on_all",
    "data.decimal",
    "data.thousands",
    "data.strip",
    "data.prefix",
    "data.suffix",
    "data.encoding",
    "data.comment",
    "data.skip_lines",
    "data.missing_target",
    "data.where",
    "data.positive",
    "data.weight",
    "data.offset",
    "data.exposure",
    "data.denominator",
    "data.standardize_target",
    "data.interactions",
    "data.split",
    "data.time",
    "data.group",
    "data.test",
    "data.test_csv",
    "data.folds",
    "data.fold",
    "data.stratify",
    "data.arrays",
    "data.images",
    "data.text",
    "data.length",
    "data.vocabulary",
    "data.vocabulary.bpe",
    "data.validation",
    "model",
    "model.hidden",
    "model.image",
    "model.conv",
    "model.activation",
    "model.layer_norm",
    "model.dropout",
    "model.program",
    "model.initial",
    "model.evaluate",
    "model.gpt",
    "model.gpt.layers",
    "model.gpt.width",
    "model.gpt.heads",
    "model.gpt.context",
    "model.gpt.dropout",
    "train",
    "train.solver",
    "train.task",
    "train.family",
    "train.l1",
    "train.l2",
    "train.class_weights",
    "train.epochs",
    "train.steps",
    "train.batch",
    "train.drop_last",
    "train.shards",
    "train.accumulate",
    "train.shuffle",
    "train.loss",
    "train.clip_norm",
    "train.precision",
    "train.patience",
    "train.optimizer",
    "train.optimizer.kind",
    "train.optimizer.lr",
    "train.optimizer.weight_decay",
    "train.optimizer.decay",
    "train.optimizer.momentum",
    "train.optimizer.nesterov",
    "train.optimizer.beta1",
    "train.optimizer.beta2",
    "train.optimizer.alpha",
    "train.optimizer.eps",
    "train.schedule",
    "train.schedule.kind",
    "train.schedule.warmup_steps",
    "train.schedule.step_every",
    "train.schedule.gamma",
    "train.schedule.min_lr",
    "record",
    "record.state_period",
    "record.checkpoint_every",
    "parent",
    "parent.archive",
    "parent.mode",
    "parent.updates",
    "parent.weights",
    "pinned",
    "pinned.compute",
    "pinned.workspace",
    "validation",
    "validation.by",
    "validation.groups",
    "validation.favourable",
    "validation.threshold",
    "search",
    "search.by",
    "search.kind",
    "search.trials",
    "search.over",
    "search.over.activation",
    "search.over.batch",
    "search.over.clip_norm",
    "search.over.dropout",
    "search.over.epochs",
    "search.over.hidden",
    "search.over.l1",
    "search.over.l2",
    "search.over.layer_norm",
    "search.over.lr",
    "search.over.momentum",
    "search.over.patience",
    "search.over.warmup_steps",
    "search.over.weight_decay",
    "challengers",
    "challengers.linear",
    "challengers.seeds",
    "card",
    "card.purpose",
    "card.owner",
    "card.tier",
    "card.version",
    "card.intended_use",
    "card.excluded_use",
    "card.data_source",
    "card.data_period",
    "card.limits",
    "card.assumptions",
    "card.oversight",
    "card.monitoring",
    "card.valid_until",
    "card.keep_until",
};
const size_t rp_recipe_path_count = sizeof rp_recipe_paths / sizeof *rp_recipe_paths;

static bool is_listed(const char *path, size_t length)
{
    for (size_t i = 0; i < rp_recipe_path_count; i++)
        if (strncmp(rp_recipe_paths[i], path, length) == 0 && rp_recipe_paths[i][length] == '\0')
            return true;
    return false;
}

static bool is_one_of(const char *word, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return false;
}

/* What numbers a search draws from has its bounds there; what is no number is a list. */
static bool is_bound(const char *path)
{
    static const char over[] = "search.over.";
    static const char *const bounds[] = {"high", "log", "low"}, *const lists[] = {"activation", "hidden", "layer_norm"};
    const char *key = path + sizeof over - 1, *last = strrchr(path, '.');

    if (strncmp(path, over, sizeof over - 1) != 0 || last <= key)
        return false;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (strncmp(key, lists[i], (size_t)(last - key)) == 0 && lists[i][last - key] == '\0')
            return false;
    return is_listed(path, (size_t)(last - path)) && is_one_of(last + 1, bounds, sizeof bounds / sizeof *bounds);
}

/* Classes are called anything. What a saved program is made of, no policy names. */
bool rp_recipe_path_known(const char *path)
{
    static const char weights[] = "train.class_weights.";

    if (strncmp(path, weights, sizeof weights - 1) == 0)
        return path[sizeof weights - 1] != '\0';
    return is_listed(path, strlen(path)) || is_bound(path);
}

/* A slip of letters; else a key whose section was left out, or is another. */
const char *rp_recipe_path_nearest(const char *path)
{
    const char *nearest = rp_nearest(path, rp_recipe_paths, rp_recipe_path_count), *dot = strrchr(path, '.');
    const char *key = dot != NULL ? dot + 1 : path;

    for (size_t i = 0; i < rp_recipe_path_count && nearest == NULL; i++) {
        const char *own = strrchr(rp_recipe_paths[i], '.');

        if (own != NULL && strcmp(own + 1, key) == 0)
            nearest = rp_recipe_paths[i];
    }
    return nearest;
}
