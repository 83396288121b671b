/* SPDX-License-Identifier: Apache-2.0
 * The trainer of a recipe: its states and data. Programs are in core/train/train_programs.c, steps in
 * core/train/train_steps.c. */
#include "core/train/trainer.h"

#include "base/memory.h"
#include "core/train/evaluate.h"
#include "core/train/language/forward.h"
#include "core/train/language/language.h"
#include "core/train/schedule.h"
#include "determinism/fpenv.h"
#include "determinism/pinned.h"

void rp_trainer_free(rp_trainer *t)
{
    if (!t)
        return;
    rp_compiled_free(t->init);
    rp_compiled_free(t->full);
    rp_compiled_free(t->last);
    rp_compiled_free(t->keep);
    rp_compiled_free(t->eval_train);
    rp_compiled_free(t->eval_valid);
    if (!t->lent) /* before the run: features that it has not taken are its device's */
        rp_dataset_free(t->data);
    if (!t->text_lent)
        rp_corpus_free(t->text);
    rp_run_free(t->run);
    rp_free(t->order);
    rp_free(t);
}

/* The features lie where the run has them. */
static bool are_made(const rp_trainer *t)
{
    return !t->lent && t->data->device == rp_run_device(t->run);
}

/* Asked before they are there, since they are written as they come. */
static rp_status check_room(const rp_trainer *t, rp_error *err)
{
    const size_t rows = t->text ? 0 : t->data->train_rows + t->data->valid_rows;
    const size_t real = rp_dtype_size(t->model.dtype);
    size_t bytes = t->text ? 0 : rows * ((are_made(t) ? 0 : t->model.features * real) + sizeof(int64_t));

    for (size_t i = 0; i < t->model.n_parameters; i++) {
        size_t size = real * (size_t)(1 + rp_trainer_moments(t) + rp_trainer_keeps_best(t));

        for (int d = 0; d < t->model.parameter[i].rank; d++)
            size *= t->model.parameter[i].shape[d];
        bytes += size;
    }
    return rp_device_room(rp_run_device(t->run), bytes,
                          t->text ? "weights and moments take" : "weights, moments and table take", err);
}

static rp_status add_states(rp_trainer *t, rp_error *err)
{
    char name[RP_NAME_MAX];
    rp_status status = RP_OK;

    for (size_t i = 0; i < t->model.n_parameters && status == RP_OK; i++) {
        const rp_parameter *p = &t->model.parameter[i];

        status = rp_run_add_state(t->run, p->name, t->model.dtype, p->rank, p->shape, NULL, err);
    }
    for (int k = 0; k < rp_trainer_moments(t); k++)
        for (size_t i = 0; i < t->model.n_parameters && status == RP_OK; i++) {
            const rp_parameter *p = &t->model.parameter[i];

            status =
                rp_run_add_state(t->run, rp_trainer_moment_name(t, i, k, name), RP_F32, p->rank, p->shape, NULL, err);
        }
    return status == RP_OK && rp_trainer_keeps_best(t) ? rp_trainer_add_best(t, err) : status;
}

/* Host memory of a part: features, targets or labels, weights or NULL, all of the model's type. */
typedef struct part_data {
    size_t rows;
    void *x;
    bool *given; /* NULL: x is copied */
    const void *target, *weight;
    const int64_t *label;
} part_data;

static rp_status add_part(rp_trainer *t, const rp_part *name, const part_data *d, rp_error *err)
{
    const bool labels = t->model.loss == RP_LOSS_CROSS_ENTROPY;
    size_t shape[2] = {d->rows, t->model.features}, column[2] = {d->rows, 1};
    rp_status status = d->given ? rp_run_take_data(t->run, name->x, t->model.dtype, 2, shape, d->x, err)
                                : rp_run_add_data(t->run, name->x, t->model.dtype, 2, shape, d->x, err);

    if (status == RP_OK && d->given)
        *d->given = true;
    if (status == RP_OK && labels)
        status = rp_run_add_data(t->run, name->y, RP_I64, 1, shape, d->label, err);
    else if (status == RP_OK)
        status = rp_run_add_data(t->run, name->y, t->model.dtype, 2, column, d->target, err);
    if (status == RP_OK && d->weight)
        status = rp_run_add_data(t->run, name->w, t->model.dtype, labels ? 1 : 2, column, d->weight, err);
    return status;
}

static rp_status add_data(rp_trainer *t, rp_error *err)
{
    rp_dataset *d = t->data;
    const bool wide = t->model.dtype == RP_F64, made = are_made(t);
    void *train_x = wide ? (void *)d->train_wide : d->train_x, *valid_x = wide ? (void *)d->valid_wide : d->valid_x;
    const void *train = wide ? (void *)d->train_target : d->train_learnt;
    const void *valid = wide ? (void *)d->valid_target : d->valid_learnt;
    const void *train_w = wide ? (void *)d->train_wide_weight : d->train_weight,
               *valid_w = wide ? (void *)d->valid_wide_weight : d->valid_weight;
    const rp_part train_part = rp_trainer_part(d, false), valid_part = rp_trainer_part(d, true);
    rp_status status = add_part(
        t, &train_part,
        &(part_data){d->train_rows, train_x, made ? &d->train_given : NULL, train, train_w, d->train_label}, err);

    if (status == RP_OK && d->valid_rows)
        status = add_part(
            t, &valid_part,
            &(part_data){d->valid_rows, valid_x, made ? &d->valid_given : NULL, valid, valid_w, d->valid_label}, err);
    return status;
}

/* Where a trainer's data come from: a table, or another trainer that has prepared it. */
typedef struct origin {
    const rp_recipe *recipe;
    rp_dataset *lent;         /* NULL: the table */
    rp_corpus *lent_text;     /* NULL: the text, of a recipe on one */
    const rp_recipe *prepare; /* NULL: recipe */
    rp_recipe *settle;        /* recipe, where its epochs may be left to the table */
    rp_dataset **kept;        /* the caller's from then on; may be NULL */
    const rp_source_text *text;
} origin;

static rp_status settle(const rp_trainer *t, rp_recipe *recipe, rp_error *err)
{
    if (t->recipe->train.exact || t->recipe->train.epochs != RP_EPOCHS_BY_ROWS)
        return RP_OK;
    if (!recipe)
        return rp_fail(err, RP_EARG, "train.epochs: expected a number: the table is somebody else's");
    return rp_recipe_set_epochs(recipe, rp_epochs_by_rows(recipe, (int64_t)t->data->train_rows), err);
}

static rp_status prepare_text(rp_trainer *t, const origin *from, rp_error *err)
{
    rp_status status = RP_OK;

    t->text = from->lent_text;
    t->text_lent = t->text != NULL;
    if (!t->text)
        status = rp_corpus_prepare(&t->text, t->recipe, from->text->bytes, from->text->size, from->text->where, err);
    if (status == RP_OK)
        status = rp_language_model_init(&t->model, t->recipe, t->text->vocabulary->size, err);
    if (status != RP_OK)
        return status;
    t->order = rp_reallocarray(NULL, rp_corpus_per_epoch(t->text), sizeof *t->order);
    return t->order ? RP_OK : rp_no_memory(err);
}

static rp_status prepare(rp_trainer *t, const origin *from, rp_error *err)
{
    rp_status status = RP_OK;

    if (t->recipe->text.path)
        return prepare_text(t, from, err);

    t->data = t->lent = from->lent;
    if (!from->lent)
        status = rp_dataset_prepare(&t->data, from->prepare ? from->prepare : t->recipe, from->text->bytes,
                                    from->text->size, from->text->where,
                                    &(rp_table_options){.pool = rp_device_pool(rp_run_device(t->run)),
                                                        .device = from->kept ? NULL : rp_run_device(t->run),
                                                        .leave = from->text->leave,
                                                        .self = from->text->self},
                                    err);
    if (status == RP_OK)
        status = settle(t, from->settle, err);
    if (status == RP_OK && from->kept)
        t->lent = *from->kept = t->data;
    if (status == RP_OK)
        status = rp_model_init(&t->model, t->recipe, t->data->schema->features, t->data->schema->classes, err);
    if (status != RP_OK)
        return status;
    t->order = rp_malloc(t->data->train_rows * sizeof *t->order);
    return t->order ? RP_OK : rp_no_memory(err);
}

static rp_status fill_run(rp_trainer *t, rp_error *err)
{
    rp_status status = check_room(t, err);

    if (status == RP_OK)
        status = add_states(t, err);
    if (status == RP_OK && t->text)
        return rp_language_build(t, err);
    if (status == RP_OK)
        status = add_data(t, err);
    return status == RP_OK ? rp_trainer_build(t, err) : status;
}

/* The recipe says the profile: what is recorded of a run follows from it alone. */
static rp_run_options options_of(const rp_recipe *recipe, const rp_run_options *options)
{
    rp_run_options own = options ? *options : (rp_run_options){.threads = 0};

    own.pinned = recipe->pinned ? rp_pinned_compute_names()[recipe->library.compute] : NULL;
    own.pinned_workspace = recipe->pinned ? (uint64_t)recipe->library.workspace : 0;
    return own;
}

static rp_status new_trainer(rp_trainer **out, const origin *from, const rp_run_options *options, rp_error *err)
{
    rp_trainer *t = rp_calloc(1, sizeof *t);
    const rp_run_options own = options_of(from->recipe, options);
    rp_fpenv saved;
    rp_status status;

    *out = NULL;
    if (!t)
        return rp_no_memory(err);
    t->recipe = from->recipe;
    t->epoch = -1;
    status = rp_fpenv_enter(&saved, NULL, err);
    if (status != RP_OK) {
        rp_free(t);
        return status;
    }
    status = rp_run_new(&t->run, &own, err); /* its threads prepare the data as well */
    if (status == RP_OK)
        status = prepare(t, from, err);
    if (status == RP_OK)
        status = fill_run(t, err);
    if (status == RP_OK && own.pinned && !rp_run_multiplies_pinned(t->run))
        status = rp_fail(err, RP_EARG,
                         "pinned.compute: %s: no matrix product of this run is of that kind%s, so the library would "
                         "compute nothing of it: choose another, or leave out profile and pinned, which gives the same "
                         "bits and a run that anybody can repeat",
                         own.pinned, t->recipe->train.exact ? " (those of an exact fit are f64)" : "");
    rp_fpenv_leave(&saved);
    if (status != RP_OK)
        rp_trainer_free(t);
    else
        *out = t;
    return status;
}

rp_status rp_trainer_new(rp_trainer **out, rp_recipe *recipe, const rp_source_text *text, const rp_run_options *options,
                         rp_error *err)
{
    return new_trainer(out, &(origin){.recipe = recipe, .settle = recipe, .text = text}, options, err);
}

rp_status rp_trainer_try(rp_trainer **out, const rp_recipe *recipe, const rp_trial_rows *rows,
                         const rp_run_options *options, rp_error *err)
{
    const origin from = {
        .recipe = recipe, .lent = *rows->data, .prepare = rows->prepare, .kept = rows->data, .text = rows->text};

    return new_trainer(out, &from, options, err);
}

rp_status rp_trainer_clone(rp_trainer **out, const rp_trainer *from, const rp_run_options *options, rp_error *err)
{
    rp_status status =
        new_trainer(out, &(origin){.recipe = from->recipe, .lent = from->data, .lent_text = from->text}, options, err);

    if (status != RP_OK)
        return status;
    (*out)->start = from->start;
    (*out)->training = from->training;
    (*out)->expected = from->expected;
    return RP_OK;
}

rp_run *rp_trainer_run(const rp_trainer *t)
{
    return t->run;
}

const rp_dataset *rp_trainer_dataset(const rp_trainer *t)
{
    return t->data;
}

const rp_corpus *rp_trainer_text(const rp_trainer *t)
{
    return t->text;
}

const rp_model *rp_trainer_model(const rp_trainer *t)
{
    return &t->model;
}

uint64_t rp_trainer_total(const rp_trainer *t)
{
    return rp_trainer_evaluates_from(t) +
           (t->text ? rp_language_evaluations(t) : 1 + (uint64_t)(t->data->valid_rows > 0));
}

uint64_t rp_trainer_evaluates_from(const rp_trainer *t)
{
    return 1 + t->training + rp_trainer_keeps_best(t);
}

uint64_t rp_trainer_epochs(const rp_trainer *t)
{
    return t->training / (uint64_t)t->per_epoch;
}

uint64_t rp_trainer_training_steps(const rp_trainer *t)
{
    return t->training;
}

bool rp_trainer_done(const rp_trainer *t)
{
    return rp_run_steps(t->run) == rp_trainer_total(t);
}

float rp_trainer_loss(const rp_trainer *t)
{
    return t->loss;
}
