/* SPDX-License-Identifier: Apache-2.0
 * The recipe's vocabulary: tree to struct, with every default and every rule between keys (data: in recipe_data.c,
 * model: in recipe_model.c). Writing the struct as resolved JSON is recipe_write.c; reading that JSON back must give
 * the same JSON again, or it was not ours. */
#include "core/recipe/recipe.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "core/recipe/recipe_names.h"
#include "core/recipe/recipe_card.h"
#include "core/recipe/recipe_validation.h"
#include "core/recipe/recipe_read.h"
#include "core/recipe/recipe_trials.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const rp_range non_negative_range = {0, 1e6, false, false, "a number from 0 to 1e6"};
static const rp_range penalty_range = {0, 1e12, false, false, "a number from 0 to 1e12"};

static void read_loss(rp_node_reader *reader, const rp_node *train, rp_recipe *out)
{
    bool regression = out->train.regression;
    int loss;

    rp_node_read_choice(reader, train, "train.loss", &loss, RP_LOSS_AUTO, rp_loss_names, 4);
    if (regression && loss == RP_LOSS_AUTO)
        loss = RP_LOSS_MSE;
    if (reader->status == RP_OK && regression != (loss == RP_LOSS_MSE))
        rp_node_wrong(reader, rp_node_find(train, "loss"), "train.loss",
                      regression ? "auto or mse for a regression" : "auto, bce or cross_entropy for a classification",
                      regression ? NULL : "mse needs task: regression");
    out->train.loss = (rp_loss)loss;
}

/* What only training by gradients has. */
static const char *const gradient_keys[] = {"epochs",  "patience", "batch",     "drop_last", "shards",   "accumulate",
                                            "shuffle", "loss",     "clip_norm", "optimizer", "schedule", "precision"};

/* A model without layers is fitted exactly unless something is said that only training by gradients has. */
static void read_solver(rp_node_reader *reader, const rp_node *top, const rp_node *train, rp_recipe *out)
{
    static const char *const exact_keys[] = {"l1", "l2", "family"};
    const bool layers = out->model.n_hidden + out->model.n_conv > 0 || out->program.named;
    const rp_node *record = rp_node_find(top, "record"), *at = rp_node_find(train, "solver");
    bool gradient = layers || rp_node_find(top, "parent") != NULL || rp_node_find(top, "weights") != NULL ||
                    (record != NULL && record->kind == RP_NODE_MAPPING && rp_node_find(record, "checkpoint_every"));
    int solver;

    for (size_t i = 0; i < COUNT(gradient_keys); i++)
        gradient = gradient || rp_node_find(train, gradient_keys[i]) != NULL;
    for (size_t i = 0; i < COUNT(exact_keys) && !layers; i++)
        gradient = gradient && rp_node_find(train, exact_keys[i]) == NULL;
    rp_node_read_choice(reader, train, "train.solver", &solver, reader->json || gradient, rp_solver_names, 2);
    out->train.exact = solver == 0;
    if (reader->status != RP_OK || !out->train.exact)
        return;
    if (layers)
        rp_node_refuse(reader, at, "train.solver",
                       "exact is for models without layers: set train.solver: gradient, or leave out hidden "
                       "(of model and search)");
    if (rp_node_find(top, "weights") != NULL)
        rp_node_refuse(reader, rp_node_find(top, "weights"), "weights",
                       "what is fitted exactly starts from no weights; leave it out, or set train.solver: gradient");
    if (rp_node_find(top, "parent") != NULL)
        rp_node_refuse(reader, rp_node_find(top, "parent"), "parent",
                       "what is fitted exactly starts from no weights; leave it out, or set train.solver: gradient");
}

/* Counts have both: the family and the column of trials. */
static void read_family_of_counts(rp_node_reader *reader, const rp_node *data, const rp_recipe *out)
{
    const bool counts = out->train.family == RP_FAMILY_BINOMIAL;

    if (reader->status != RP_OK || data == NULL)
        return;
    if (counts && !out->data.denominator.given)
        rp_node_refuse(reader, data, "data.denominator",
                       "required with train.family: binomial: the column of trials, of which the target counts the "
                       "successes; a target of two classes needs no family");
    else
        (void)rp_node_applies(reader, data, "data.denominator", counts, "with train.family: binomial");
}

static void read_exact(rp_node_reader *reader, const rp_node *top, const rp_node *train, rp_recipe *out)
{
    const bool regression = out->train.regression;
    const rp_node *data = rp_node_find(top, "data");
    char path[64];
    int family = 0;

    for (size_t i = 0; i < COUNT(gradient_keys); i++) {
        (void)snprintf(path, sizeof path, "train.%s", gradient_keys[i]);
        (void)rp_node_applies(reader, train, path, false, "with train.solver: gradient");
    }
    if (reader->status == RP_OK && data != NULL)
        (void)rp_node_applies(reader, data, "data.standardize_target", false, "with train.solver: gradient");
    rp_recipe_read_class_weights(reader, train, out);
    out->data.standardize_target = false;
    if (rp_node_applies(reader, train, "train.family", regression, "to regressions"))
        rp_node_read_choice(reader, train, "train.family", &family, RP_FAMILY_GAUSSIAN, rp_family_names, 4);
    out->train.family = (rp_family)family;
    if (reader->status == RP_OK && data != NULL)
        (void)rp_node_applies(
            reader, data, "data.exposure", family == RP_FAMILY_POISSON || family == RP_FAMILY_GAMMA,
            "to families with a logarithmic link, poisson and gamma; name its logarithm as data.offset");
    read_family_of_counts(reader, data, out);
    rp_recipe_real(reader, train, "train.l1", &out->train.l1, 0, &penalty_range);
    rp_recipe_real(reader, train, "train.l2", &out->train.l2, 1, &penalty_range);
    out->train.loss = regression ? RP_LOSS_MSE : RP_LOSS_AUTO;
}

/* A number, or "auto". */
static void read_epochs(rp_node_reader *reader, const rp_node *train, rp_recipe *out)
{
    const rp_node *node = rp_node_at(reader, train, "train.epochs");
    int64_t epochs;

    out->train.epochs = RP_EPOCHS_BY_ROWS;
    if (node == NULL || (node->kind == RP_NODE_SCALAR && strcmp(node->text, "auto") == 0))
        return;
    if (rp_node_int(node, &epochs))
        rp_node_read_int(reader, train, "train.epochs", &out->train.epochs, 1, 1, 1000000);
    else
        rp_node_wrong(reader, node, "train.epochs", "an integer from 1 to 1000000, or auto", NULL);
}

/* What is added to the predictor is not learnt, so that only a model that is its predictor has it. */
static void read_no_offset(rp_node_reader *reader, const rp_node *data)
{
    if (reader->status != RP_OK || data == NULL)
        return;
    (void)rp_node_applies(reader, data, "data.offset", false, "with train.solver: exact, a model without layers");
    (void)rp_node_applies(reader, data, "data.exposure", false, "with train.solver: exact, a model without layers");
    (void)rp_node_applies(reader, data, "data.denominator", false, "with train.family: binomial, of an exact fit");
}

static void read_train(rp_node_reader *reader, const rp_node *top, const rp_node *train, rp_recipe *out)
{
    static const char *const keys[] = {"epochs", "batch", "drop_last", "shards",        "accumulate", "shuffle",
                                       "loss",   "task",  "clip_norm", "optimizer",     "schedule",   "solver",
                                       "family", "l1",    "l2",        "class_weights", "patience",   "precision"};
    int64_t parts;
    int choice;

    if (train == NULL)
        return;
    rp_recipe_check_keys(reader, train, "train", keys, COUNT(keys));
    read_solver(reader, top, train, out);
    if (out->train.exact) {
        read_exact(reader, top, train, out);
        return;
    }
    read_no_offset(reader, rp_node_find(top, "data"));
    (void)rp_node_applies(reader, train, "train.family", false, "with train.solver: exact");
    (void)rp_node_applies(reader, train, "train.l1", false, "with train.solver: exact");
    (void)rp_node_applies(reader, train, "train.l2", false, "with train.solver: exact");
    read_epochs(reader, train, out);
    if (rp_node_applies(reader, train, "train.patience", !out->data.train_on_all && out->data.fold != RP_ALL_FOLDS,
                        "with a validation part") &&
        rp_node_at(reader, train, "train.patience") != NULL)
        rp_node_read_int(reader, train, "train.patience", &out->train.patience, 1, 1,
                         out->train.epochs == RP_EPOCHS_BY_ROWS ? RP_EPOCHS_LEAST : out->train.epochs);
    rp_node_read_int(reader, train, "train.batch", &out->train.batch, 32, 1, 1 << 30);
    rp_node_read_bool(reader, train, "train.drop_last", &out->train.drop_last, false);
    rp_node_read_int(reader, train, "train.shards", &out->train.shards, 1, 1, 4096);
    rp_node_read_int(reader, train, "train.accumulate", &out->train.accumulate, 1, 1, 4096);
    parts = out->train.shards * out->train.accumulate;
    if (out->train.batch % parts != 0)
        rp_node_refuse(reader, rp_node_find(train, "batch"), "train.batch",
                       "expected a multiple of shards * accumulate = %lld, found %lld", (long long)parts,
                       (long long)out->train.batch);
    rp_node_read_bool(reader, train, "train.shuffle", &out->train.shuffle, true);
    read_loss(reader, train, out);
    rp_recipe_real(reader, train, "train.clip_norm", &out->train.clip_norm, 0, &non_negative_range);
    choice = 0;
    if (rp_node_applies(reader, train, "train.precision", !out->program.named,
                        "to models that are no saved programs: those say themselves what is bf16"))
        rp_node_read_choice(reader, train, "train.precision", &choice, 0, rp_precision_names, 2);
    out->train.mixed = choice == 1;
    rp_recipe_read_class_weights(reader, train, out);
    rp_recipe_read_optimizer(reader, train, out);
    rp_recipe_read_schedule(reader, train, out);
}

static void read_record(rp_node_reader *reader, const rp_node *top, rp_recipe *out)
{
    static const char *const keys[] = {"state_period", "checkpoint_every"};
    const rp_node *record = rp_node_section(reader, top, "record");

    if (record == NULL)
        return;
    rp_recipe_check_keys(reader, record, "record", keys, COUNT(keys));
    rp_node_read_int(reader, record, "record.state_period", &out->record.state_period, 1, 1, 65536);
    rp_node_read_int(reader, record, "record.checkpoint_every", &out->record.checkpoint_every, 0, 0, 1000000000);
}

rp_status rp_recipe_set_programs(rp_recipe *recipe, rp_json *const *text, const char *where, rp_error *err)
{
    rp_json *model = rp_json_object_get(recipe->json, "model");
    rp_status status = rp_model_program_new(&recipe->program.of, text, recipe->text.path != NULL, where, err);

    if (status == RP_OK && recipe->challengers.seeds > 0 && !recipe->program.of->initial_random)
        status = rp_fail(err, RP_EFORMAT,
                         "%s: key challengers.seeds: model.initial has no feed rng, so every seed begins with the same "
                         "parameters",
                         where);
    for (size_t i = 0; i < RP_ROLES && status == RP_OK; i++)
        if (text[i] && rp_json_object_set(model, rp_role_names[i], text[i]) != 0)
            status = rp_no_memory(err);
    return status;
}

/* A resolved recipe has the programs themselves, which are no nodes. */
static rp_status take_programs(rp_recipe *recipe, const rp_json *json, const char *where, rp_error *err)
{
    const rp_json *model = rp_json_object_get(json, "model");
    rp_json *text[RP_ROLES];

    for (size_t i = 0; i < RP_ROLES; i++)
        text[i] = rp_json_object_get(model, rp_role_names[i]);
    return text[RP_ROLE_FORWARD] ? rp_recipe_set_programs(recipe, text, where, err) : RP_OK;
}

/* Likewise what arrays were. */
static rp_status take_arrays(rp_recipe *recipe, const rp_json *json, const char *where, rp_error *err)
{
    rp_json *data = rp_json_object_get(json, "data"), *arrays = rp_json_object_get(data, "arrays"),
            *images = rp_json_object_get(data, "images");

    if (arrays && images)
        return rp_fail(err, RP_EFORMAT, "%s: key data.images: there is data.arrays already", where);
    if (images)
        return rp_recipe_set_images(recipe, images, where, err);
    return arrays ? rp_recipe_set_arrays(recipe, arrays, where, err) : RP_OK;
}

static bool is_digest(const char *text)
{
    return strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

/* YAML: the path of an archive. Resolved: its id, and for a run that goes on the updates its states have seen. */
static void read_parent(rp_node_reader *reader, const rp_node *top, rp_recipe *out)
{
    static const char *const keys[] = {"archive", "weights", "mode", "updates"};
    const int64_t limit = (int64_t)1 << 53;
    const rp_node *map, *weights;
    int mode;

    if (reader->status != RP_OK || rp_node_find(top, "parent") == NULL)
        return;
    map = rp_node_section(reader, top, "parent");
    if (map == NULL)
        return;
    rp_recipe_check_keys(reader, map, "parent", keys, reader->json ? 4 : 3);
    if (reader->status == RP_OK && rp_node_find(map, "archive") == NULL)
        rp_node_refuse(reader, map, "parent.archive", "required: the archive whose weights the run starts from");
    rp_node_read_text(reader, map, "parent.archive", &out->parent.archive, NULL, 4095);
    if (reader->status == RP_OK && reader->json && !(out->parent.archive && is_digest(out->parent.archive)))
        rp_node_refuse(reader, map, "parent.archive", "expected an archive id of 64 hex digits");
    if (reader->status == RP_OK && out->parent.archive == NULL)
        rp_node_refuse(reader, map, "parent.archive", "expected the path of an archive");
    rp_node_read_choice(reader, map, "parent.mode", &mode, 0, rp_parent_mode_names, 2);
    out->parent.retrain = mode == 1;
    weights = reader->status == RP_OK ? rp_node_find(map, "weights") : NULL;
    if (weights != NULL && !(weights->kind == RP_NODE_SCALAR && strcmp(weights->text, "final") == 0) &&
        !(rp_node_int(weights, &out->parent.checkpoint) && out->parent.checkpoint > 0 &&
          out->parent.checkpoint < limit))
        rp_node_wrong(reader, weights, "parent.weights", "final, or the number of steps of a checkpoint", NULL);
    if (reader->json && rp_node_applies(reader, map, "parent.updates", !out->parent.retrain, "to mode continue"))
        rp_node_read_int(reader, map, "parent.updates", &out->parent.updates, 0, 0, limit);
}

/* An id, not a path: whatever lies there may be another archive tomorrow. */
static void read_predecessor(rp_node_reader *reader, const rp_node *top, rp_recipe *out)
{
    if (reader->status != RP_OK || rp_node_find(top, "predecessor") == NULL)
        return;
    rp_node_read_text(reader, top, "predecessor", &out->predecessor, NULL, RP_RECIPE_TEXT);
    if (reader->status == RP_OK && !(out->predecessor && is_digest(out->predecessor)))
        rp_node_refuse(reader, rp_node_find(top, "predecessor"), "predecessor",
                       "expected an archive id of 64 hex digits, as reprise verify says it");
}

/* A file that stands nowhere but in the archive afterwards: its digest says which one it was. */
static void read_weights(rp_node_reader *reader, const rp_node *top, rp_recipe *out)
{
    const rp_node *node = reader->status == RP_OK ? rp_node_find(top, "weights") : NULL;

    if (node == NULL)
        return;
    rp_node_read_text(reader, top, "weights", &out->weights, NULL, 4095);
    if (reader->status == RP_OK && out->weights == NULL)
        rp_node_refuse(reader, node, "weights", "expected the path of a .safetensors file, relative to the recipe");
    else if (reader->status == RP_OK && reader->json && !is_digest(out->weights))
        rp_node_refuse(reader, node, "weights", "expected a SHA-256 of 64 hex digits");
    else if (reader->status == RP_OK && out->parent.archive != NULL)
        rp_node_refuse(reader, node, "weights", "the run starts from its parent's weights: keep one of the two");
}

static void read_memory(rp_node_reader *reader, const rp_node *top, rp_recipe *out)
{
    const rp_node *node = reader->status == RP_OK ? rp_node_find(top, "memory") : NULL;

    if (node && !(node->kind == RP_NODE_SCALAR && rp_parse_bytes(&out->memory, node->text)))
        rp_node_wrong(reader, node, "memory", RP_BYTES_WORDS, NULL);
}

rp_status rp_recipe_set_parent(rp_recipe *recipe, const char *archive_id, uint64_t updates, rp_error *err)
{
    char *id = rp_strdup(archive_id);
    rp_json *parent = rp_json_object_get(recipe->json, "parent");

    if (id == NULL)
        return rp_no_memory(err);
    rp_free(recipe->parent.archive);
    recipe->parent.archive = id;
    recipe->parent.updates = recipe->parent.retrain ? 0 : (int64_t)updates;
    if (rp_json_object_set_new(parent, "archive", rp_json_string(id)) != 0 ||
        (!recipe->parent.retrain &&
         rp_json_object_set_new(parent, "updates", rp_json_integer((int64_t)recipe->parent.updates)) != 0))
        return rp_no_memory(err);
    return RP_OK;
}

rp_status rp_recipe_set_weights(rp_recipe *recipe, const char *sha256, rp_error *err)
{
    char *text = rp_strdup(sha256);

    if (text == NULL || rp_json_object_set_new(recipe->json, "weights", rp_json_string(sha256)) != 0) {
        rp_free(text);
        return rp_no_memory(err);
    }
    rp_free(recipe->weights);
    recipe->weights = text;
    return RP_OK;
}

rp_status rp_recipe_set_epochs(rp_recipe *recipe, int64_t epochs, rp_error *err)
{
    rp_json *train = rp_json_object_get(recipe->json, "train");

    recipe->train.epochs = epochs;
    return rp_json_object_set_new(train, "epochs", rp_json_integer(epochs)) != 0 ? rp_no_memory(err) : RP_OK;
}

/* What other sections depend on comes first, so that an error names the key that does not fit, not a consequence. */
static const rp_node *read_task(rp_node_reader *reader, const rp_node *top, rp_recipe *out)
{
    const rp_node *train = rp_node_section(reader, top, "train");
    int task = 0;

    if (train != NULL)
        rp_node_read_choice(reader, train, "train.task", &task, 0, rp_task_names, 2);
    out->train.regression = task == 1;
    return train;
}

static void read_version(rp_node_reader *reader, const rp_node *top, rp_recipe *out)
{
    const rp_node *version = rp_node_find(top, "reprise");

    if (version == NULL) {
        rp_node_refuse(reader, top, "reprise", "required: the recipe version; write \"reprise: 1\"");
        return;
    }
    if (!rp_node_int(version, &out->reprise) || out->reprise < 1)
        rp_node_wrong(reader, version, "reprise", "the recipe version 1", NULL);
    else if (out->reprise > 1) {
        rp_node_wrong(reader, version, "reprise", "the recipe version 1", "a newer reprise may read it");
        if (reader->json && reader->err != NULL)
            reader->err->status = RP_EUNSUPPORTED;
        if (reader->json)
            reader->status = RP_EUNSUPPORTED;
    }
}

static void read_recipe(rp_node_reader *reader, const rp_node *top, rp_recipe *out)
{
    static const char *const keys[] = {"reprise",     "name",       "seed",        "data",   "model",   "train",
                                       "record",      "parent",     "card",        "search", "profile", "pinned",
                                       "challengers", "validation", "predecessor", "memory", "weights"};
    const rp_node *train;
    int64_t seed;

    if (top->kind != RP_NODE_MAPPING) {
        rp_node_wrong(reader, top, "reprise", "a recipe (\"key: value\" lines, first \"reprise: 1\")", NULL);
        return;
    }
    read_version(reader, top, out);
    rp_recipe_check_keys(reader, top, "", keys, COUNT(keys));
    rp_node_read_text(reader, top, "name", &out->name, "", RP_RECIPE_TEXT);
    rp_node_read_int(reader, top, "seed", &seed, 0, 0, ((int64_t)1 << 53) - 1);
    out->seed = (uint64_t)seed;
    if (rp_recipe_is_text(top)) {
        rp_recipe_read_text(reader, top, out);
        read_record(reader, top, out);
        rp_recipe_read_card(reader, top, out);
        read_memory(reader, top, out);
        return;
    }
    train = read_task(reader, top, out);
    rp_recipe_read_data(reader, top, out);
    rp_recipe_read_model(reader, top, out);
    read_train(reader, top, train, out);
    read_record(reader, top, out);
    read_parent(reader, top, out);
    read_weights(reader, top, out);
    read_predecessor(reader, top, out);
    rp_recipe_read_card(reader, top, out);
    rp_recipe_read_trials(reader, top, out);
    rp_recipe_read_validation(reader, top, out);
    rp_recipe_read_profile(reader, top, out);
    read_memory(reader, top, out);
}

static rp_status resolve(rp_recipe **out, rp_node_reader *reader, const rp_node *top)
{
    rp_recipe *recipe = rp_calloc(1, sizeof *recipe);

    if (recipe == NULL)
        return rp_no_memory(reader->err);
    read_recipe(reader, top, recipe);
    if (reader->status == RP_OK) {
        recipe->json = rp_recipe_write(recipe);
        if (recipe->json == NULL)
            reader->status = rp_no_memory(reader->err);
    }
    if (reader->status != RP_OK)
        rp_recipe_free(recipe);
    else
        *out = recipe;
    return reader->status;
}

rp_status rp_recipe_from_yaml(rp_recipe **out, const char *text, size_t length, const char *where, rp_error *err)
{
    rp_node_reader reader = {where, false, RP_OK, err};
    rp_node top;
    rp_status status;

    *out = NULL;
    status = rp_node_from_yaml(&top, text, length, where, err);
    if (status == RP_OK)
        status = resolve(out, &reader, &top);
    rp_node_clear(&top);
    return status;
}

rp_status rp_recipe_from_json(rp_recipe **out, const rp_json *json, const char *where, rp_error *err)
{
    rp_node_reader reader = {where, true, RP_OK, err};
    rp_node top;
    rp_status status;

    *out = NULL;
    status = rp_node_from_json(&top, json, where, err);
    if (status == RP_OK)
        status = resolve(out, &reader, &top);
    rp_node_clear(&top);
    if (status == RP_OK) {
        status = take_programs(*out, json, where, err);
        if (status == RP_OK)
            status = take_arrays(*out, json, where, err);
        if (status != RP_OK) {
            rp_recipe_free(*out);
            *out = NULL;
        }
    }
    if (status == RP_OK && !rp_json_equal((*out)->json, json)) {
        rp_recipe_free(*out);
        *out = NULL;
        return rp_fail(err, RP_EFORMAT,
                       "%s: not a resolved recipe: a default is not written out or a value is not in "
                       "its canonical form",
                       where);
    }
    if (status == RP_OK)
        (*out)->resolved = true;
    return status;
}

static void free_texts(rp_texts *texts)
{
    for (size_t i = 0; i < texts->count; i++)
        rp_free(texts->text[i]);
    rp_free(texts->text);
}

void rp_recipe_free(rp_recipe *recipe)
{
    if (recipe == NULL)
        return;
    for (size_t i = 0; i < recipe->data.n_columns; i++) {
        rp_free(recipe->data.columns[i].column.name);
        rp_free(recipe->data.columns[i].treatment.edge);
        rp_free(recipe->data.columns[i].date.format);
    }
    for (size_t i = 0; i < recipe->data.n_interactions; i++)
        for (int k = 0; k < 2; k++)
            rp_free(recipe->data.interaction[i].column[k].name);
    rp_free(recipe->data.interaction);
    for (size_t i = 0; i < recipe->data.n_missing; i++)
        rp_free(recipe->data.missing[i]);
    rp_free(recipe->data.columns);
    rp_free(recipe->data.missing);
    rp_free(recipe->data.target.name);
    rp_free(recipe->data.weight.name);
    rp_free(recipe->data.offset.name);
    rp_free(recipe->data.denominator.name);
    rp_free(recipe->data.group.name);
    rp_free(recipe->data.time.name);
    rp_free(recipe->data.split.name);
    rp_free(recipe->data.positive);
    for (size_t i = 0; i < recipe->train.n_class_weights; i++)
        rp_free(recipe->train.class_weight[i].name);
    rp_free(recipe->train.class_weight);
    rp_free(recipe->data.reading.thousands);
    free_texts(&recipe->data.reading.prefix);
    free_texts(&recipe->data.reading.suffix);
    for (size_t i = 0; i < recipe->data.reading.n_where; i++) {
        rp_free(recipe->data.reading.where[i].column.name);
        rp_free(recipe->data.reading.where[i].value);
    }
    rp_free(recipe->data.reading.where);
    rp_free(recipe->data.csv);
    rp_free(recipe->data.test_csv);
    rp_free(recipe->text.path);
    rp_free(recipe->arrays.path);
    rp_free(recipe->images.path);
    rp_free(recipe->images.labels);
    rp_free(recipe->arrays.features);
    rp_free(recipe->arrays.target);
    for (size_t i = 0; i < RP_ROLES; i++)
        rp_free(recipe->program.path[i]);
    rp_model_program_free(recipe->program.of);
    free_texts(&recipe->validation.by);
    free_texts(&recipe->validation.groups);
    rp_free(recipe->validation.favourable);
    for (size_t i = 0; i < RP_CARD_KEYS; i++)
        rp_free(recipe->card[i]);
    rp_recipe_free_trials(recipe);
    rp_free(recipe->parent.archive);
    rp_free(recipe->predecessor);
    rp_free(recipe->weights);
    rp_free(recipe->name);
    rp_json_free(recipe->json);
    rp_free(recipe);
}
