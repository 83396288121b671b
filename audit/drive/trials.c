/* SPDX-License-Identifier: Apache-2.0
 * Trials of a run and of a replay: digests, progress, cost, and the comparison trial by trial. */
#include "audit/drive/trials.h"

#include <stdio.h>
#include <string.h>

#include "audit/drive/budget.h"
#include "audit/record/job_options.h"
#include "audit/record/lineage.h"
#include "audit/record/recorder.h"
#include "base/memory.h"

/* Who looks on at the trials. */
typedef struct onlooker {
    const rp_job_options *options; /* or NULL */
    const rp_json *recorded;       /* outputs/trials.json of the archive; NULL: a run */
    const size_t *drawn;           /* NULL: all */
    size_t n_drawn;
    rp_budget budget;
} onlooker;

static bool wanted(void *self, uint64_t number)
{
    const onlooker *on = self;

    for (size_t i = 0; i < on->n_drawn; i++)
        if (on->drawn[i] == number)
            return true;
    return on->drawn == NULL;
}

/* Counted from 1, as progress does. */
static const char *name_of(char out[160], const rp_trial *trial)
{
    rp_buffer set = {0};
    int at = snprintf(out, 160, "trial %llu (%s", (unsigned long long)trial->number + 1, trial->kind);

    if (rp_json_object_size(trial->set) && rp_json_write(trial->set, &set, NULL) == RP_OK)
        at += snprintf(out + at, 160 - (size_t)at, " %.*s", set.size < 90 ? (int)set.size : 90, (const char *)set.data);
    if (trial->fold >= 0)
        at += snprintf(out + at, 160 - (size_t)at, ", fold %lld", (long long)trial->fold);
    (void)snprintf(out + at, 160 - (size_t)at, ")");
    rp_buffer_free(&set);
    return out;
}

static rp_status afford(onlooker *on, const rp_trial *trial, const rp_program *program, uint64_t times, rp_error *err)
{
    const rp_price price = rp_program_price(program);
    char what[200], name[160];

    (void)snprintf(what, sizeof what, "%s: %llu %s", name_of(name, trial), (unsigned long long)times,
                   times == 1 ? "step" : "steps");
    return rp_budget_add(&on->budget, &price, times, on->options, what, err);
}

/* What it costs is asked before its first step, where an archive says what to compute. The last step of an epoch may
 * have a program of its own: both are counted for all. A recipe may name more steps than anybody could count. */
static rp_status begin(void *self, const rp_trial *trial, const rp_trainer *t, rp_error *err)
{
    onlooker *on = self;
    const uint64_t total = rp_trainer_total(t), training = rp_trainer_training_steps(t);
    const rp_program *first = rp_trainer_program(t, 1), *last = rp_trainer_program(t, training);
    rp_status status = RP_OK;

    if (!on->recorded)
        return RP_OK;
    status = afford(on, trial, first, training, err);
    if (status == RP_OK && last != first)
        status = afford(on, trial, last, training, err);
    for (uint64_t i = training + 1; i < total && status == RP_OK; i++)
        status = afford(on, trial, rp_trainer_program(t, i), 1, err);
    return status == RP_OK ? afford(on, trial, rp_trainer_program(t, 0), 1, err) : status;
}

static rp_status step(void *self, const rp_trial *trial, const rp_trainer *t, rp_error *err)
{
    const onlooker *on = self;
    const rp_job_options *options = on->options;
    const rp_progress now = {.step = rp_run_steps(rp_trainer_run(t)),
                             .steps = rp_trainer_total(t),
                             .loss = rp_trainer_loss(t),
                             .trial = trial->number + 1,
                             .trials = trial->of};

    if (options && options->progress && !options->progress(options->self, &now))
        return rp_fail(err, RP_ECANCELED, "interrupted in trial %llu of %llu", (unsigned long long)now.trial,
                       (unsigned long long)now.trials);
    return RP_OK;
}

/* Names the first thing that differs. */
static rp_status differ(const rp_trial *trial, const rp_json *recorded, const rp_json *made, rp_error *err)
{
    static const char *const keys[] = {"fold", "failed", "steps", "figures", "states"};
    char name[160], value[200];

    (void)name_of(name, trial);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const rp_json *r = rp_json_object_get(recorded, keys[i]), *m = rp_json_object_get(made, keys[i]);

        if ((!r && !m) || rp_json_equal(r, m))
            continue;
        (void)snprintf(value, sizeof value, "%s: %s", name, keys[i]);
        return rp_json_differs(err, RP_TRIALS_MEMBER, value, r, m);
    }
    return rp_fail(err, RP_EBITS, RP_TRIALS_MEMBER ": %s: has keys that the replay does not make", name);
}

static rp_status compare(const onlooker *on, const rp_trial *trial, const rp_json *made, rp_error *err)
{
    const rp_json *variants = rp_json_object_get(on->recorded, "variants");
    const rp_json *variant = rp_json_array_get(variants, trial->variant);
    const rp_json *result = rp_json_array_get(rp_json_object_get(variant, "trials"), trial->place);
    const char *kind = rp_json_string_value(rp_json_object_get(variant, "kind"));
    char name[160];

    if (!kind || strcmp(kind, trial->kind) != 0 || !rp_json_equal(rp_json_object_get(variant, "set"), trial->set))
        return rp_fail(err, RP_EBITS, RP_TRIALS_MEMBER ": variant %zu is another one than the recipe's %s",
                       trial->variant, name_of(name, trial));
    return result && rp_json_equal(result, made) ? RP_OK : differ(trial, result, made, err);
}

static rp_status end(void *self, const rp_trial *trial, const rp_trainer *t, rp_json *result, rp_error *err)
{
    onlooker *on = self;
    size_t n;
    const rp_run *run = rp_trainer_run(t);
    const rp_device_tensor *states = rp_run_states(run, &n);
    char hex[RP_DIGEST_HEX];
    rp_digest digest;
    rp_status status = RP_OK;

    if (!rp_json_object_get(result, "failed")) {
        status = rp_device_tensors_digest(&digest, states, n, rp_device_pool(rp_run_device(run)), err);
        if (status != RP_OK)
            return status;
        rp_digest_hex(hex, &digest);
        if (rp_json_object_set_new(result, "states", rp_json_string(hex)) != 0)
            return rp_no_memory(err);
    }
    return on->recorded ? compare(on, trial, result, err) : RP_OK;
}

/* Trials have the run's memory, which their own recipes do not say. */
static rp_run_options run_options(const rp_recipe *recipe, const rp_job_options *options)
{
    rp_run_options run = rp_job_run_options(options);

    run.memory = run.memory ? run.memory : recipe->memory;
    return run;
}

static rp_status make(rp_trials *out, const rp_recipe *recipe, const rp_source_text *table, onlooker *on, rp_error *err)
{
    const rp_run_options options = run_options(recipe, on->options);
    const rp_trials_watch watch = {wanted, begin, step, end, on};

    *out = (rp_trials){.json = NULL};
    return rp_recipe_tries(recipe) ? rp_trials_run(out, recipe, table, &options, &watch, err) : RP_OK;
}

rp_status rp_trials_make(rp_trials *out, rp_recipe *recipe, const rp_source_text *table, const rp_job_options *options,
                         rp_error *err)
{
    const rp_run_options run = run_options(recipe, options);
    onlooker on = {.options = options};
    rp_status status = RP_OK;

    *out = (rp_trials){.json = NULL};
    if (rp_recipe_tries(recipe))
        status = rp_trials_settle(recipe, table, &run, err);
    return status == RP_OK ? make(out, recipe, table, &on, err) : status;
}

/* ---- again ---- */

/* The search must choose what the recipe has. */
static rp_status check_choice(const rp_trials *made, const rp_recipe *recipe, rp_error *err)
{
    if (!made->chosen || rp_json_equal(made->chosen->json, recipe->json))
        return RP_OK;
    return rp_fail(err, RP_EBITS,
                   RP_RECIPE_MEMBER ": its settings are not those that its search chooses: variant %lld, "
                                    "counted from 1, of " RP_TRIALS_MEMBER,
                   (long long)rp_json_integer_value(rp_json_object_get(made->json, "chosen")) + 1);
}

rp_status rp_trials_repeat(rp_trials *out, const rp_archive *archive, const size_t *drawn, size_t count,
                           const rp_job_options *options, rp_error *err)
{
    rp_recipe *recipe = NULL;
    rp_json *recorded = NULL;
    rp_buffer csv = {0};
    onlooker on = {.options = options, .drawn = drawn, .n_drawn = drawn ? count : 0};
    rp_status status = rp_archive_recipe(&recipe, archive, err);

    *out = (rp_trials){.json = NULL};
    if (status == RP_OK && rp_recipe_tries(recipe)) {
        status = rp_archive_read_json(archive, RP_TRIALS_MEMBER, &recorded, err);
        if (status == RP_OK)
            status = rp_archive_read_member(archive, RP_TABLE_MEMBER, SIZE_MAX / 2, &csv, err);
        on.recorded = recorded;
        if (status == RP_OK)
            status = make(out, recipe, &(rp_source_text){csv.data, csv.size, RP_TABLE_MEMBER, NULL, NULL}, &on, err);
        if (status == RP_OK)
            status = check_choice(out, recipe, err);
    }
    rp_buffer_free(&csv);
    rp_json_free(recorded);
    rp_recipe_free(recipe);
    if (status != RP_OK)
        rp_trials_clear(out);
    return status;
}
