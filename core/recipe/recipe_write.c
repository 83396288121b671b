/* SPDX-License-Identifier: Apache-2.0
 * A recipe as resolved JSON: every default written out, reals as strings of their shortest decimal, keys that do not
 * apply absent. These are the bytes an archive's identity rests on. */
#include "core/recipe/recipe_card.h"
#include "core/recipe/recipe_trials.h"
#include "core/recipe/recipe_names.h"
#include "core/recipe/decimal_json.h"
#include "determinism/pinned.h"

const char *const rp_activation_names[4] = {"relu", "gelu", "tanh", "sigmoid"};
const char *const rp_loss_names[6] = {"auto", "bce", "cross_entropy", "mse", "poisson", "gamma"};
const char *const rp_optimizer_names[6] = {"sgd", "adam", "adamw", "rmsprop", "lion", "adagrad"};
const char *const rp_schedule_names[3] = {"constant", "step", "cosine"};
const char *const rp_column_kind_names[RP_COLUMN_KINDS] = {"auto", "numeric", "categorical", "ignore", "date"};
const char *const rp_missing_rule_names[4] = {"error", "mean", "median", "category"};
const char *const rp_missing_categorical_names[2] = {"error", "category"};
const char *const rp_decay_names[2] = {"weights", "all"};
const char *const rp_precision_names[2] = {"f32", "mixed"};
const char *const rp_encoding_names[4] = {"utf-8", "latin-1", "windows-1252", "utf-16"};
const char *const rp_relation_names[7] = {"=", "!=", "<", "<=", ">", ">=", "present"};
const char *const rp_task_names[2] = {"classification", "regression"};
const char *const rp_solver_names[2] = {"exact", "gradient"};
const char *const rp_family_names[4] = {"gaussian", "poisson", "gamma", "binomial"};
const char *const rp_padding_names[2] = {"same", "valid"};
const char *const rp_pool_names[3] = {"none", "max", "avg"};
const char *const rp_algorithm_names[2] = {"direct", "winograd"};
const char *const rp_parent_mode_names[2] = {"continue", "retrain"};

typedef struct writer {
    rp_json *object;
    bool *failed;
} writer;

/* Takes value; NULL means that making it failed. */
static void put(writer w, const char *key, rp_json *value)
{
    if (rp_json_object_set_new(w.object, key, value) != 0)
        *w.failed = true;
}

static void put_real(writer w, const char *key, double value)
{
    put(w, key, rp_json_decimal(value));
}

static writer section(writer parent, const char *key)
{
    writer w = {rp_json_object(), parent.failed};

    put(parent, key, w.object);
    w.object = rp_json_object_get(parent.object, key); /* NULL when the parent could not take it: it is then freed */
    return w;
}

static rp_json *ref_json(const rp_column_ref *ref)
{
    return ref->name != NULL ? rp_json_string(ref->name) : rp_json_integer(ref->index);
}

static rp_json *reals_json(const double *value, size_t count, bool *failed)
{
    rp_json *list = rp_json_array();

    for (size_t i = 0; i < count; i++)
        if (rp_json_array_append_new(list, rp_json_decimal(value[i])) != 0)
            *failed = true;
    return list;
}

/* Only what is done to the column. */
static void write_treatment(writer w, const rp_treatment *t)
{
    if (t->missing == RP_MISSING_CONSTANT)
        put_real(w, "missing", t->constant);
    else if (t->missing != RP_MISSING_DEFAULT)
        put(w, "missing", rp_json_string(rp_missing_rule_names[t->missing]));
    if (t->indicator)
        put(w, "indicator", rp_json_boolean(true));
    if (t->capped)
        put(w, "cap", reals_json(t->cap, 2, w.failed));
    if (t->log)
        put(w, "log", rp_json_boolean(true));
    if (t->binning == RP_BINS_QUANTILE)
        put(w, "bins", rp_json_integer(t->bins));
    else if (t->binning == RP_BINS_EDGES)
        put(w, "bins", reals_json(t->edge, t->n_edges, w.failed));
    else if (t->binning == RP_BINS_MONOTONIC)
        put(w, "bins", rp_json_string("monotonic"));
    if (t->woe)
        put(w, "woe", rp_json_boolean(true));
    if (t->rare > 0)
        put_real(w, "rare", t->rare);
}

static void write_date(writer w, const rp_date_rule *date)
{
    char since[RP_MOMENT_SIZE];
    rp_json *parts = date->format != NULL ? rp_json_array() : NULL;

    if (date->format == NULL)
        return;
    put(w, "format", rp_json_string(date->format));
    if (rp_date_format_short(date->format))
        put(w, "pivot", rp_json_integer(date->pivot));
    for (size_t i = 0; i < date->n_parts; i++)
        if (rp_json_array_append_new(parts, rp_json_string(rp_date_part_names[date->part[i]])) != 0)
            *w.failed = true;
    put(w, "parts", parts);
    put(w, "since", rp_json_string(rp_date_print(since, date->since * 86400)));
}

static rp_json *rules_json(const rp_recipe *recipe, bool *failed)
{
    rp_json *list = rp_json_array();

    for (size_t i = 0; i < recipe->data.n_columns; i++) {
        const rp_column_rule *rule = &recipe->data.columns[i];
        writer w = {rp_json_object(), failed};

        put(w, "column", ref_json(&rule->column));
        put(w, "kind", rp_json_string(rp_column_kind_names[rule->kind]));
        write_date(w, &rule->date);
        write_treatment(w, &rule->treatment);
        if (rp_json_array_append_new(list, w.object) != 0)
            *failed = true;
    }
    return list;
}

static rp_json *pairs_json(const rp_recipe *recipe, bool *failed)
{
    rp_json *list = rp_json_array();

    for (size_t i = 0; i < recipe->data.n_interactions; i++) {
        const rp_column_ref *column = recipe->data.interaction[i].column;
        rp_json *pair = rp_json_array();

        if (rp_json_array_append_new(pair, ref_json(&column[0])) != 0 ||
            rp_json_array_append_new(pair, ref_json(&column[1])) != 0)
            *failed = true;
        if (rp_json_array_append_new(list, pair) != 0)
            *failed = true;
    }
    return list;
}

static rp_json *texts_json(char *const *text, size_t count, bool *failed)
{
    rp_json *list = rp_json_array();

    for (size_t i = 0; i < count; i++)
        if (rp_json_array_append_new(list, rp_json_string(text[i])) != 0)
            *failed = true;
    return list;
}

static rp_json *where_json(const rp_reading *r, bool *failed)
{
    rp_json *list = rp_json_array();

    for (size_t i = 0; i < r->n_where; i++) {
        writer w = {rp_json_object(), failed};

        put(w, "column", ref_json(&r->where[i].column));
        put(w, "is", rp_json_string(rp_relation_names[r->where[i].is]));
        if (r->where[i].value != NULL)
            put(w, "value", rp_json_string(r->where[i].value));
        if (rp_json_array_append_new(list, w.object) != 0)
            *failed = true;
    }
    return list;
}

/* Only what differs from the default, so that recipes from before these keys keep their bytes. */
static void write_reading(writer w, const rp_reading *r)
{
    const char decimal[2] = {r->decimal, '\0'}, comment[2] = {r->comment, '\0'};

    if (r->encoding != RP_ENC_UTF8)
        put(w, "encoding", rp_json_string(rp_encoding_names[r->encoding]));
    if (r->comment != 0)
        put(w, "comment", rp_json_string(comment));
    if (r->skip_lines != 0)
        put(w, "skip_lines", rp_json_integer(r->skip_lines));
    if (r->drop_missing_target)
        put(w, "missing_target", rp_json_string("drop"));
    if (r->n_where > 0)
        put(w, "where", where_json(r, w.failed));

    if (r->decimal != '.')
        put(w, "decimal", rp_json_string(decimal));
    if (r->thousands != NULL)
        put(w, "thousands", rp_json_string(r->thousands));
    if (r->strip)
        put(w, "strip", rp_json_boolean(true));
    if (r->prefix.count > 0)
        put(w, "prefix", texts_json(r->prefix.text, r->prefix.count, w.failed));
    if (r->suffix.count > 0)
        put(w, "suffix", texts_json(r->suffix.text, r->suffix.count, w.failed));
}

/* The keys of group, time, split and test only where they are given. */
static void write_split(writer w, const rp_recipe *recipe)
{
    if (recipe->data.split.given) {
        put(w, "split", ref_json(&recipe->data.split));
        return;
    }
    if (recipe->data.test > 0)
        put_real(w, "test", recipe->data.test);
    put(w, "folds", rp_json_integer(recipe->data.folds));
    if (recipe->data.time.given) {
        put(w, "time", ref_json(&recipe->data.time));
        return;
    }
    put(w, "fold", recipe->data.fold == RP_ALL_FOLDS ? rp_json_string("all") : rp_json_integer(recipe->data.fold));
    if (recipe->data.group.given)
        put(w, "group", ref_json(&recipe->data.group));
    else if (!recipe->train.regression)
        put(w, "stratify", rp_json_boolean(recipe->data.stratify));
}

static void write_data(writer top, const rp_recipe *recipe)
{
    writer w = section(top, "data");
    const char delimiter[2] = {recipe->data.delimiter, '\0'};

    put(w, "csv", rp_json_string(recipe->data.csv));
    if (recipe->data.test_csv != NULL)
        put(w, "test_csv", rp_json_string(recipe->data.test_csv));
    put(w, "header", rp_json_boolean(recipe->data.header));
    put(w, "delimiter", rp_json_string(delimiter));
    put(w, "target", ref_json(&recipe->data.target));
    if (recipe->data.weight.given)
        put(w, "weight", ref_json(&recipe->data.weight));
    if (recipe->data.offset.given)
        put(w, recipe->data.exposure ? "exposure" : "offset", ref_json(&recipe->data.offset));
    if (recipe->data.denominator.given)
        put(w, "denominator", ref_json(&recipe->data.denominator));
    if (!recipe->train.regression)
        put(w, "positive", recipe->data.positive != NULL ? rp_json_string(recipe->data.positive) : rp_json_null());
    put(w, "columns", rules_json(recipe, w.failed));
    if (recipe->data.n_interactions > 0)
        put(w, "interactions", pairs_json(recipe, w.failed));
    write_reading(w, &recipe->data.reading);
    put(w, "missing", texts_json(recipe->data.missing, recipe->data.n_missing, w.failed));
    put(w, "missing_numeric", rp_json_string(rp_missing_rule_names[recipe->data.missing_numeric]));
    put(w, "missing_categorical", rp_json_string(rp_missing_rule_names[recipe->data.missing_categorical]));
    put(w, "standardize", rp_json_boolean(recipe->data.standardize));
    if (recipe->train.regression && !recipe->train.exact)
        put(w, "standardize_target", rp_json_boolean(recipe->data.standardize_target));
    put(w, "train_on_all", rp_json_boolean(recipe->data.train_on_all));
    if (recipe->data.train_on_all)
        return;
    write_split(w, recipe);
}

static rp_json *integers_json(const int64_t *value, size_t count, bool *failed)
{
    rp_json *list = rp_json_array();

    for (size_t i = 0; i < count; i++)
        if (rp_json_array_append_new(list, rp_json_integer(value[i])) != 0)
            *failed = true;
    return list;
}

static rp_json *conv_json(const rp_recipe *recipe, bool *failed)
{
    rp_json *list = rp_json_array();

    for (size_t i = 0; i < recipe->model.n_conv; i++) {
        const rp_conv_layer *layer = &recipe->model.conv[i];
        writer w = {rp_json_object(), failed};

        put(w, "filters", rp_json_integer(layer->filters));
        put(w, "kernel", integers_json(layer->kernel, 2, failed));
        put(w, "stride", integers_json(layer->stride, 2, failed));
        put(w, "dilation", integers_json(layer->dilation, 2, failed));
        put(w, "groups", rp_json_integer(layer->groups));
        put(w, "padding", rp_json_string(rp_padding_names[layer->padding]));
        put(w, "pool", rp_json_string(rp_pool_names[layer->pool]));
        if (layer->pool != RP_POOL_NONE)
            put(w, "pool_size", integers_json(layer->pool_size, 2, failed));
        if (layer->winograd) /* else absent, as in recipes from before there was a choice */
            put(w, "algorithm", rp_json_string(rp_algorithm_names[1]));
        if (rp_json_array_append_new(list, w.object) != 0)
            *failed = true;
    }
    return list;
}

static void write_model(writer top, const rp_recipe *recipe)
{
    writer w = section(top, "model");

    if (recipe->program.named)
        return; /* the programs are put to it when they have been read */
    if (recipe->model.n_conv > 0) {
        put(w, "image", integers_json(recipe->model.image, 3, w.failed));
        put(w, "conv", conv_json(recipe, w.failed));
    }
    put(w, "hidden", integers_json(recipe->model.hidden, recipe->model.n_hidden, w.failed));
    if (recipe->model.n_conv + recipe->model.n_hidden == 0)
        return;
    put(w, "activation", rp_json_string(rp_activation_names[recipe->model.activation]));
    if (recipe->model.n_hidden > 0)
        put_real(w, "dropout", recipe->model.dropout);
    put(w, "layer_norm", rp_json_boolean(recipe->model.layer_norm));
}

static void write_optimizer(writer train, const rp_recipe *recipe)
{
    writer w = section(train, "optimizer");
    rp_optimizer_kind kind = recipe->train.optimizer.kind;

    put(w, "kind", rp_json_string(rp_optimizer_names[kind]));
    put_real(w, "lr", recipe->train.optimizer.lr);
    put_real(w, "weight_decay", recipe->train.optimizer.weight_decay);
    if (recipe->train.optimizer.weight_decay > 0 && !recipe->train.optimizer.decay_all)
        put(w, "decay", rp_json_string(rp_decay_names[0]));
    if (kind == RP_OPT_SGD || kind == RP_OPT_RMSPROP)
        put_real(w, "momentum", recipe->train.optimizer.momentum);
    if (kind == RP_OPT_SGD)
        put(w, "nesterov", rp_json_boolean(recipe->train.optimizer.nesterov));
    else if (kind != RP_OPT_LION)
        put_real(w, "eps", recipe->train.optimizer.eps);
    if (kind == RP_OPT_ADAM || kind == RP_OPT_ADAMW || kind == RP_OPT_LION) {
        put_real(w, "beta1", recipe->train.optimizer.beta1);
        put_real(w, "beta2", recipe->train.optimizer.beta2);
    }
    if (kind == RP_OPT_RMSPROP)
        put_real(w, "alpha", recipe->train.optimizer.alpha);
}

static void write_schedule(writer train, const rp_recipe *recipe)
{
    writer w = section(train, "schedule");

    put(w, "kind", rp_json_string(rp_schedule_names[recipe->train.schedule.kind]));
    put(w, "warmup_steps", rp_json_integer(recipe->train.schedule.warmup_steps));
    if (recipe->train.schedule.kind == RP_SCHED_STEP) {
        put(w, "step_every", rp_json_integer(recipe->train.schedule.step_every));
        put_real(w, "gamma", recipe->train.schedule.gamma);
    }
    if (recipe->train.schedule.kind == RP_SCHED_COSINE)
        put_real(w, "min_lr", recipe->train.schedule.min_lr);
}

static void write_class_weights(writer train, const rp_recipe *recipe)
{
    writer w;

    if (recipe->train.balanced)
        put(train, "class_weights", rp_json_string("balanced"));
    if (recipe->train.n_class_weights == 0)
        return;
    w = section(train, "class_weights");
    for (size_t i = 0; i < recipe->train.n_class_weights; i++)
        put_real(w, recipe->train.class_weight[i].name, recipe->train.class_weight[i].weight);
}

static void write_train(writer top, const rp_recipe *recipe)
{
    writer w = section(top, "train");

    if (recipe->train.exact) {
        put(w, "solver", rp_json_string(rp_solver_names[0]));
        put(w, "task", rp_json_string(rp_task_names[recipe->train.regression]));
        if (recipe->train.regression)
            put(w, "family", rp_json_string(rp_family_names[recipe->train.family]));
        put_real(w, "l1", recipe->train.l1);
        put_real(w, "l2", recipe->train.l2);
        write_class_weights(w, recipe);
        return;
    }
    put(w, "epochs",
        recipe->train.epochs == RP_EPOCHS_BY_ROWS ? rp_json_string("auto") : rp_json_integer(recipe->train.epochs));
    if (recipe->train.patience > 0)
        put(w, "patience", rp_json_integer(recipe->train.patience));
    put(w, "batch", rp_json_integer(recipe->train.batch));
    put(w, "drop_last", rp_json_boolean(recipe->train.drop_last));
    put(w, "shards", rp_json_integer(recipe->train.shards));
    put(w, "accumulate", rp_json_integer(recipe->train.accumulate));
    put(w, "shuffle", rp_json_boolean(recipe->train.shuffle));
    put(w, "loss", rp_json_string(rp_loss_names[recipe->train.loss]));
    put(w, "task", rp_json_string(rp_task_names[recipe->train.regression]));
    put_real(w, "clip_norm", recipe->train.clip_norm);
    if (recipe->train.mixed)
        put(w, "precision", rp_json_string(rp_precision_names[1]));
    write_class_weights(w, recipe);
    write_optimizer(w, recipe);
    write_schedule(w, recipe);
}

static void write_gpt(writer model, const rp_recipe *recipe)
{
    writer gpt = section(model, "gpt");

    put(gpt, "layers", rp_json_integer(recipe->gpt.layers));
    put(gpt, "width", rp_json_integer(recipe->gpt.width));
    put(gpt, "heads", rp_json_integer(recipe->gpt.heads));
    put(gpt, "context", rp_json_integer(recipe->gpt.context));
    put_real(gpt, "dropout", recipe->gpt.dropout);
}

static void write_text(writer top, const rp_recipe *recipe)
{
    writer data = section(top, "data"), model = section(top, "model"), train;

    put(data, "text", rp_json_string(recipe->text.path));
    put(data, "vocabulary",
        recipe->text.tokens == RP_RECIPE_BYTES ? rp_json_string("bytes")
                                               : rp_json_pack("{s:i}", "bpe", (int)recipe->text.tokens));
    put(data, "length", rp_json_integer(recipe->text.length));
    put_real(data, "validation", recipe->text.validation);
    if (!recipe->program.named)
        write_gpt(model, recipe);
    train = section(top, "train");
    if (recipe->train.steps > 0)
        put(train, "steps", rp_json_integer(recipe->train.steps));
    else
        put(train, "epochs", rp_json_integer(recipe->train.epochs));
    put(train, "batch", rp_json_integer(recipe->train.batch));
    put(train, "shards", rp_json_integer(recipe->train.shards));
    put(train, "accumulate", rp_json_integer(recipe->train.accumulate));
    put(train, "shuffle", rp_json_boolean(recipe->train.shuffle));
    put_real(train, "clip_norm", recipe->train.clip_norm);
    write_optimizer(train, recipe);
    write_schedule(train, recipe);
}

/* Only what differs from the default, so that a recipe that says nothing of it resolves as it always did. */
static void write_record(writer top, const rp_recipe *recipe)
{
    writer w;

    if (recipe->record.state_period == 1 && recipe->record.checkpoint_every == 0)
        return;
    w = section(top, "record");
    if (recipe->record.state_period != 1)
        put(w, "state_period", rp_json_integer(recipe->record.state_period));
    if (recipe->record.checkpoint_every != 0)
        put(w, "checkpoint_every", rp_json_integer(recipe->record.checkpoint_every));
}

static void write_parent(writer top, const rp_recipe *recipe)
{
    writer w;

    if (recipe->parent.archive == NULL)
        return;
    w = section(top, "parent");
    put(w, "archive", rp_json_string(recipe->parent.archive));
    put(w, "mode", rp_json_string(rp_parent_mode_names[recipe->parent.retrain]));
    if (!recipe->parent.retrain)
        put(w, "updates", rp_json_integer(recipe->parent.updates));
    put(w, "weights", recipe->parent.checkpoint ? rp_json_integer(recipe->parent.checkpoint) : rp_json_string("final"));
}

static void write_validation(writer top, const rp_recipe *recipe)
{
    const char *favourable = recipe->validation.favourable;
    writer w;

    if (!recipe->validation.given)
        return;
    w = section(top, "validation");
    put(w, "by", texts_json(recipe->validation.by.text, recipe->validation.by.count, w.failed));
    put(w, "groups", texts_json(recipe->validation.groups.text, recipe->validation.groups.count, w.failed));
    put(w, "favourable", favourable ? rp_json_string(favourable) : rp_json_null());
    if (recipe->validation.has_threshold)
        put_real(w, "threshold", recipe->validation.threshold);
    else
        put(w, "threshold", rp_json_null());
}

static void write_profile(writer top, const rp_recipe *recipe)
{
    writer w;

    if (!recipe->pinned)
        return;
    put(top, "profile", rp_json_string("pinned"));
    w = section(top, "pinned");
    put(w, "compute", rp_json_string(rp_pinned_compute_names()[recipe->library.compute]));
    put(w, "workspace", rp_json_integer(recipe->library.workspace));
}

rp_json *rp_recipe_write(const rp_recipe *recipe)
{
    bool failed = false;
    writer top = {rp_json_object(), &failed};

    put(top, "reprise", rp_json_integer(recipe->reprise));
    put(top, "name", rp_json_string(recipe->name));
    put(top, "seed", rp_json_integer((int64_t)recipe->seed));
    if (recipe->text.path != NULL) {
        write_text(top, recipe);
    } else {
        write_data(top, recipe);
        write_model(top, recipe);
        write_train(top, recipe);
    }
    write_record(top, recipe);
    write_parent(top, recipe);
    if (recipe->weights != NULL)
        put(top, "weights", rp_json_string(recipe->weights));
    if (recipe->predecessor != NULL)
        put(top, "predecessor", rp_json_string(recipe->predecessor));
    write_validation(top, recipe);
    write_profile(top, recipe);
    failed = failed || top.object == NULL || rp_recipe_write_card(top.object, recipe) != 0 ||
             rp_recipe_write_trials(top.object, recipe) != 0;
    if (failed || top.object == NULL) {
        rp_json_free(top.object);
        return NULL;
    }
    return top.object;
}
