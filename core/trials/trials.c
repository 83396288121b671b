/* SPDX-License-Identifier: Apache-2.0
 * All trials of a recipe, one after the other: first what is judged, then the challengers of what was chosen; fold by
 * fold, so that a fold's rows are prepared once and one trial at a time has memory. */
#include "core/trials/trials.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "core/train/schedule.h"
#include "core/train/slices/run_slices.h"
#include "core/trials/trials_private.h"
#include "core/trials/vary.h"
#include "determinism/fpenv.h"

/* The trials under way. */
typedef struct work {
    const rp_recipe *recipe; /* with the chosen settings, once there are any */
    const rp_source_text *text;
    const rp_run_options *options;
    const rp_trials_watch *watch;
    rp_variant *variant; /* [variants]: those that are judged, the linear one, the seeds */
    size_t variants, judged, folds;
    uint64_t number;    /* of the next trial */
    rp_recipe *prepare; /* of this fold, and what it made of the table */
    rp_dataset *data;
    rp_kept_scores kept; /* of the variant whose scores are kept */
    rp_buffer *out_of_fold;
    rp_score_spread spread;
    bool partial; /* not all were wanted */
} work;

static bool all_folds(const rp_recipe *recipe)
{
    return recipe->data.fold == RP_ALL_FOLDS;
}

static bool searches(const rp_recipe *recipe)
{
    return recipe->search.n_over > 0;
}

/* ---- what there is to try ---- */

static size_t judged_variants(const rp_recipe *r)
{
    return searches(r) ? (size_t)r->search.trials : all_folds(r);
}

uint64_t rp_trials_count(const rp_recipe *r)
{
    const uint64_t folds = all_folds(r) ? (uint64_t)r->data.folds : 1;

    return folds * (judged_variants(r) + r->challengers.linear + (uint64_t)r->challengers.seeds);
}

static rp_json *seed_of(const rp_recipe *recipe, size_t i)
{
    const uint64_t seeds = (uint64_t)1 << 53;

    return rp_json_pack("{s:I}", "seed", (int64_t)((recipe->seed + i + 1) % seeds));
}

static rp_status fill_variant(work *w, size_t i, const char *kind, rp_json *set, rp_error *err)
{
    rp_variant *v = &w->variant[i];

    *v = (rp_variant){kind, set, rp_json_array(), rp_reallocarray(NULL, w->folds, sizeof(rp_trial_figures))};
    for (size_t f = 0; f < w->folds && v->fold; f++)
        v->fold[f] = rp_trial_figures_none();
    return v->set && v->trials && v->fold ? RP_OK : rp_no_memory(err);
}

static rp_status plan(work *w, rp_error *err)
{
    const rp_recipe *r = w->recipe;
    size_t i = 0;
    rp_status status = RP_OK;

    w->folds = all_folds(r) ? (size_t)r->data.folds : 1;
    w->judged = judged_variants(r);
    w->variants = w->judged + r->challengers.linear + (size_t)r->challengers.seeds;
    w->variant = rp_calloc(w->variants, sizeof *w->variant);
    if (!w->variant)
        return rp_no_memory(err);
    for (; i < w->judged && status == RP_OK; i++) {
        rp_json *set = searches(r) ? NULL : rp_json_object();

        if (searches(r))
            status = rp_search_draw(&set, r, (int64_t)i, err);
        if (status == RP_OK)
            status = fill_variant(w, i, searches(r) ? "search" : "recipe", set, err);
    }
    if (status == RP_OK && r->challengers.linear)
        status = fill_variant(w, i++, "linear", rp_json_pack("{s:b}", "linear", true), err);
    for (size_t k = 0; status == RP_OK && i < w->variants; k++, i++)
        status = fill_variant(w, i, "seed", seed_of(r, k), err);
    return status;
}

/* The recipe must come back when its own settings are put to a trial's: then no trial loses what another needs, and
 * from the chosen one's recipe all of them follow. */
static rp_status check_search(const work *w, rp_error *err)
{
    rp_json *own;
    rp_status status = rp_search_settings(&own, w->recipe, err);

    for (size_t i = 0; i < w->judged && status == RP_OK; i++) {
        rp_recipe *trial = NULL, *back = NULL;

        status = rp_recipe_vary(&trial, w->recipe, w->variant[i].set, RP_FOLD_AS_IS, true, err);
        if (status == RP_OK)
            status = rp_recipe_vary(&back, trial, own, RP_FOLD_AS_IS, true, err);
        if (status == RP_OK && !rp_json_equal(back->json, w->recipe->json))
            status = rp_fail(err, RP_EFORMAT, "its settings take other keys of the recipe with them");
        if (status == RP_EFORMAT)
            status = rp_fail_at(err, RP_EARG, "search: trial %zu", i + 1);
        rp_recipe_free(trial);
        rp_recipe_free(back);
    }
    rp_json_free(own);
    return status;
}

/* ---- one trial ---- */

static rp_status all_steps(const work *w, const rp_trial *trial, rp_trainer *t, uint64_t *failed, rp_error *err)
{
    rp_status status = RP_OK;

    *failed = 0;
    while (status == RP_OK && !rp_trainer_done(t)) {
        status = rp_trainer_step(t, err);
        if (status == RP_EDATA) { /* no number any more: that is what became of this trial */
            *failed = rp_run_steps(rp_trainer_run(t));
            return RP_OK;
        }
        if (status == RP_OK && w->watch->step)
            status = w->watch->step(w->watch->self, trial, t, err);
    }
    return status;
}

/* The trial's object, and its figures. */
static rp_status describe(rp_json **out, rp_trial_figures *figures, const rp_trial *trial, const rp_trainer *t,
                          uint64_t failed, rp_error *err)
{
    rp_json *json = rp_json_object(), *brief = NULL;
    rp_status status = json ? RP_OK : rp_no_memory(err);
    int wrong = 0;

    if (status == RP_OK && trial->fold != RP_ALL_FOLDS)
        wrong |= rp_json_object_set_new(json, "fold", rp_json_integer(trial->fold));
    if (status == RP_OK && failed)
        wrong |= rp_json_object_set_new(json, "failed", rp_json_integer((int64_t)failed));
    if (status == RP_OK && !failed)
        status = rp_trainer_brief(t, &brief, err);
    if (status == RP_OK && !failed) {
        *figures = rp_trial_figures_read(brief);
        wrong |= rp_json_object_set_new(json, "figures", brief);
        wrong |= rp_json_object_set_new(json, "steps", rp_json_integer((int64_t)rp_trainer_training_steps(t)));
    }
    if (status == RP_OK && wrong)
        status = rp_no_memory(err);
    if (status != RP_OK)
        rp_json_free(json);
    *out = status == RP_OK ? json : NULL;
    return status;
}

/* Scores that are told beside the figures. */
static rp_status take_scores(work *w, const rp_trial *trial, const rp_trainer *t, bool failed, bool keep, rp_error *err)
{
    const bool seed = strcmp(trial->kind, "seed") == 0;
    rp_status status = RP_OK;

    w->spread.broken = w->spread.broken || (seed && failed);
    if (seed && !failed)
        status = rp_score_spread_add(&w->spread, t, err);
    if (status == RP_OK && keep && !failed)
        status = rp_kept_add(&w->kept, t, trial->fold, err);
    if (status == RP_OK && keep && !failed && trial->fold == (int64_t)w->folds - 1)
        status = rp_kept_write(w->out_of_fold, &w->kept, t, err);
    return status;
}

/* The exact model needs its rows in another type; all others share the fold's. */
static rp_status open_trainer(work *w, rp_trainer **t, rp_recipe *recipe, bool linear, rp_error *err)
{
    const rp_trial_rows rows = {w->prepare, w->text, &w->data};

    return linear ? rp_trainer_new(t, recipe, w->text, w->options, err)
                  : rp_trainer_try(t, recipe, &rows, w->options, err);
}

static rp_status make_trial(work *w, rp_variant *v, const rp_trial *trial, size_t fold, bool keep, rp_error *err)
{
    const rp_trials_watch *watch = w->watch;
    rp_trial_figures figures = rp_trial_figures_none();
    rp_recipe *recipe = NULL;
    rp_trainer *t = NULL;
    rp_json *result = NULL;
    uint64_t failed = 0;
    rp_status status =
        rp_recipe_vary(&recipe, w->recipe, v->set, all_folds(w->recipe) ? (int64_t)fold : RP_FOLD_AS_IS, false, err);

    if (status == RP_OK)
        status = open_trainer(w, &t, recipe, strcmp(v->kind, "linear") == 0, err);
    if (status == RP_OK && w->recipe->search.n_over > 0 && w->recipe->search.by == RP_BY_AUC &&
        rp_trainer_dataset(t)->schema->classes != 2)
        status = rp_fail(err, RP_EARG, "key search.by: auc is of two classes, the target has %zu: use accuracy or loss",
                         rp_trainer_dataset(t)->schema->classes);
    if (status == RP_OK && watch->begin)
        status = watch->begin(watch->self, trial, t, err);
    if (status == RP_OK)
        status = all_steps(w, trial, t, &failed, err);
    if (status == RP_OK)
        status = take_scores(w, trial, t, failed != 0, keep, err);
    if (status == RP_OK && !trial->again)
        status = describe(&result, &figures, trial, t, failed, err);
    if (status == RP_OK && !trial->again && watch->end)
        status = watch->end(watch->self, trial, t, result, err);
    if (status == RP_OK && !trial->again) {
        v->fold[fold] = figures;
        if (rp_json_array_append(v->trials, result) != 0)
            status = rp_no_memory(err);
    }
    rp_json_free(result);
    rp_trainer_free(t);
    rp_recipe_free(recipe);
    return status;
}

/* ---- many ---- */

static rp_status begin_fold(work *w, size_t fold, rp_error *err)
{
    rp_json *none = rp_json_object();
    rp_status status = none ? rp_recipe_vary(&w->prepare, w->recipe, none,
                                             all_folds(w->recipe) ? (int64_t)fold : RP_FOLD_AS_IS, false, err)
                            : rp_no_memory(err);

    rp_json_free(none);
    return status;
}

static void end_fold(work *w)
{
    rp_dataset_free(w->data);
    rp_recipe_free(w->prepare);
    w->data = NULL;
    w->prepare = NULL;
}

/* Variants first .. end - 1 on every fold; kept: the one whose scores are wanted; again: they are not trials. */
static rp_status phase(work *w, size_t first, size_t end, size_t kept, bool again, rp_error *err)
{
    const rp_trials_watch *watch = w->watch;
    const uint64_t of = rp_trials_count(w->recipe);
    rp_status status = RP_OK;

    for (size_t f = 0; f < w->folds && status == RP_OK && first < end; f++) {
        status = begin_fold(w, f, err);
        for (size_t i = first; i < end && status == RP_OK; i++) {
            rp_variant *v = &w->variant[i];
            const rp_trial trial = {.number = again ? f * w->judged + i : w->number++,
                                    .of = of,
                                    .variant = i,
                                    .place = f,
                                    .kind = v->kind,
                                    .set = v->set,
                                    .fold = all_folds(w->recipe) ? (int64_t)f : RP_ALL_FOLDS,
                                    .again = again};

            if (watch->wanted && !watch->wanted(watch->self, trial.number))
                w->partial = true;
            else
                status = make_trial(w, v, &trial, f, i == kept, err);
            if (status != RP_OK && status != RP_EBITS && status != RP_ECANCELED)
                (void)rp_fail_at(err, status, "trial %llu (%s)", (unsigned long long)trial.number + 1, v->kind);
        }
        if (status == RP_OK)
            status = rp_score_spread_fold(&w->spread, err);
        end_fold(w);
    }
    return status;
}

static rp_status choose(work *w, rp_trials *out, size_t *chosen, rp_error *err)
{
    rp_status status = rp_trials_judge(chosen, w->variant, w->judged, w->folds, w->recipe->search.by, err);

    if (status == RP_OK && *chosen == w->judged)
        return rp_fail(err, RP_EDATA, "search: no trial of %zu ended with a finite %s; try smaller learning rates",
                       w->judged, rp_judge_names[w->recipe->search.by]);
    if (status == RP_OK)
        status = rp_recipe_vary(&out->chosen, w->recipe, w->variant[*chosen].set, RP_FOLD_AS_IS, true, err);
    if (status == RP_OK)
        w->recipe = out->chosen;
    return status;
}

static rp_status put_variants(rp_json *json, const work *w, rp_error *err)
{
    rp_json *list = rp_json_array();
    rp_status status = rp_json_object_set_new(json, "variants", list) == 0 ? RP_OK : rp_no_memory(err);

    for (size_t i = 0; i < w->variants && status == RP_OK; i++) {
        rp_json *variant;

        status = rp_variant_json(&variant, &w->variant[i], w->folds, err);
        if (status == RP_OK && rp_json_array_append_new(list, variant) != 0)
            status = rp_no_memory(err);
    }
    return status;
}

/* The object of outputs/trials.json. */
static rp_status put_together(rp_json **out, work *w, size_t chosen, rp_error *err)
{
    const size_t seeds = (size_t)w->recipe->challengers.seeds;
    rp_json *json = rp_json_pack("{s:I}", "number", (int64_t)w->number), *spread = NULL;
    int failed = json == NULL;
    rp_status status = RP_OK;

    if (!failed && all_folds(w->recipe))
        failed |= rp_json_object_set_new(json, "folds", rp_json_integer((int64_t)w->folds));
    if (!failed && searches(w->recipe)) {
        failed |= rp_json_object_set_new(json, "by", rp_json_string(rp_judge_names[w->recipe->search.by]));
        failed |= rp_json_object_set_new(json, "chosen", rp_json_integer((int64_t)chosen));
    }
    if (!failed && seeds) {
        spread = rp_json_object();
        failed |= rp_json_object_set_new(json, "spread", spread);
    }
    status = failed ? rp_no_memory(err) : put_variants(json, w, err);
    if (status == RP_OK && seeds)
        status = rp_seeds_json(spread, &w->variant[w->variants - seeds], seeds, w->folds, err);
    if (status == RP_OK && seeds)
        status = rp_score_spread_json(spread, &w->spread, err);
    if (status != RP_OK)
        rp_json_free(json);
    else
        *out = json;
    return status;
}

static rp_status run(work *w, rp_trials *out, rp_error *err)
{
    size_t chosen = 0;
    rp_status status = plan(w, err);

    if (status == RP_OK && searches(w->recipe))
        status = check_search(w, err);
    if (status == RP_OK)
        status = phase(w, 0, w->judged, searches(w->recipe) ? w->judged : 0, false, err);
    if (status == RP_OK && searches(w->recipe) && !w->partial)
        status = choose(w, out, &chosen, err);
    if (status == RP_OK && searches(w->recipe) && all_folds(w->recipe) && !w->partial)
        status = phase(w, chosen, chosen + 1, chosen, true, err);
    if (status == RP_OK)
        status = phase(w, w->judged, w->variants, w->variants, false, err);
    return status == RP_OK && !w->partial ? put_together(&out->json, w, chosen, err) : status;
}

rp_status rp_trials_run(rp_trials *out, const rp_recipe *recipe, const rp_source_text *text,
                        const rp_run_options *options, const rp_trials_watch *watch, rp_error *err)
{
    work w = {.recipe = recipe, .text = text, .options = options, .watch = watch, .out_of_fold = &out->out_of_fold};
    rp_fpenv saved; /* what is drawn, and figures of figures, are bits of the archive */
    rp_status status;

    *out = (rp_trials){.json = NULL};
    if ((status = rp_fpenv_enter(&saved, NULL, err)) != RP_OK)
        return status;
    status = run(&w, out, err);
    rp_fpenv_leave(&saved);
    end_fold(&w);
    for (size_t i = 0; i < w.variants && w.variant; i++) {
        rp_json_free(w.variant[i].set);
        rp_json_free(w.variant[i].trials);
        rp_free(w.variant[i].fold);
    }
    rp_free(w.variant);
    rp_kept_clear(&w.kept);
    rp_score_spread_clear(&w.spread);
    if (status != RP_OK)
        rp_trials_clear(out);
    return status;
}

void rp_trials_clear(rp_trials *trials)
{
    rp_json_free(trials->json);
    rp_buffer_free(&trials->out_of_fold);
    rp_recipe_free(trials->chosen);
    *trials = (rp_trials){.json = NULL};
}

rp_status rp_trials_settle(rp_recipe *recipe, const rp_source_text *text, const rp_run_options *options, rp_error *err)
{
    const bool by_rows = !recipe->train.exact && recipe->train.epochs == RP_EPOCHS_BY_ROWS;
    rp_dataset *data = NULL;
    rp_run *run;
    rp_pool *pool;
    rp_status status;

    if (!by_rows && !recipe->validation.given)
        return RP_OK;
    status = rp_run_new(&run, options, err); /* for its threads */
    if (status != RP_OK)
        return status;
    pool = rp_device_pool(rp_run_device(run));
    status =
        rp_dataset_prepare(&data, recipe, text->bytes, text->size, text->where, &(rp_table_options){.pool = pool}, err);
    if (status == RP_OK)
        status = rp_slices_of_recipe_check(recipe, data, text, pool, err);
    if (status == RP_OK && by_rows)
        status = rp_recipe_set_epochs(recipe, rp_epochs_by_rows(recipe, (int64_t)data->train_rows), err);
    rp_dataset_free(data);
    rp_run_free(run);
    return status;
}

/* ---- the summary ---- */

static rp_json *without(const rp_json *object, const char *left_out)
{
    rp_json *out = rp_json_object(), *value;
    const char *key;
    int failed = out == NULL;

    rp_json_object_foreach (object, key, value)
        if (!failed && strcmp(key, left_out) != 0)
            failed |= rp_json_object_set(out, key, value);
    if (!failed)
        return out;
    rp_json_free(out);
    return NULL;
}

rp_status rp_trials_summary(rp_json **out, const rp_json *json, rp_error *err)
{
    rp_json *summary = without(json, "variants"), *list = rp_json_array(), *variant;
    int failed = rp_json_object_set_new(summary, "variants", list) != 0;
    size_t i;

    *out = NULL;
    rp_json_array_foreach (rp_json_object_get(json, "variants"), i, variant)
        if (!failed)
            failed |= rp_json_array_append_new(list, without(variant, "trials"));
    if (failed) {
        rp_json_free(summary);
        return rp_no_memory(err);
    }
    *out = summary;
    return RP_OK;
}
