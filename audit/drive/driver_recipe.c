/* SPDX-License-Identifier: Apache-2.0
 * A recipe's run as a driver's source: the trainer, from a recipe and a table or from an archive. */
#include <stdio.h>

#include "audit/archive/withheld.h"
#include "audit/drive/driver_private.h"
#include "audit/drive/recipe_members.h"
#include "audit/record/lineage.h"
#include "base/json.h"
#include "base/memory.h"
#include "core/data/later/test_table.h"
#include "core/train/slices/run_slices.h"

static void forget(recipe_source *s)
{
    if (s->judged) {
        rp_json_free(s->judged->reference);
        rp_json_free(s->judged->metrics);
        rp_json_free(s->judged->coefficients);
        *s->judged = (judged){.metrics = NULL};
    }
}

static void free_source(void *source)
{
    recipe_source *s = source;

    if (!s)
        return;
    rp_trainer_free(s->trainer);
    forget(s);
    rp_free(s->judged);
    if (!s->lent) {
        rp_start_free(s->start);
        rp_recipe_free(s->recipe);
        rp_buffer_free(&s->csv);
        rp_buffer_free(&s->test);
        rp_trials_clear(&s->tried);
    }
    rp_free(s);
}

/* Rows that no step reads: whether they can be judged later is told before the first one. */
static rp_status check_test(const recipe_source *s, rp_error *err)
{
    const rp_source_text text = rp_recipe_source_text(s);
    const rp_table_bytes own = {text.bytes, text.size, text.where};
    const rp_table_bytes test =
        s->kept_test ? (rp_table_bytes){s->kept_test->text.bytes, s->kept_test->text.size, s->kept_test->text.where}
                     : (rp_table_bytes){s->test.data, s->test.size, RP_TEST_TABLE_MEMBER};

    return s->recipe->data.test_csv ? rp_test_table_check(rp_trainer_dataset(s->trainer), s->recipe, &own, &test, err)
                                    : RP_OK;
}

static rp_status make_trainer(recipe_source *s, const rp_run_options *options, rp_error *err)
{
    const rp_source_text text = rp_recipe_source_text(s);
    rp_status status;

    if (rp_recipe_forget_paths(s->recipe->json) != 0)
        return rp_no_memory(err);
    s->judged = rp_calloc(1, sizeof *s->judged);
    if (!s->judged)
        return rp_no_memory(err);
    status = rp_trainer_new(&s->trainer, s->recipe, &text, options, err);
    return status == RP_OK ? check_test(s, err) : status;
}

/* Where trials came before, they have looked. An archive's run was looked at when it was made: what has been changed in
 * it since is found where the figures are taken. */
static rp_status check_slices(const recipe_source *s, rp_error *err)
{
    const rp_source_text text = rp_recipe_source_text(s);

    return rp_recipe_tries(s->recipe) ? RP_OK : rp_run_slices_check(s->trainer, &text, err);
}

rp_status rp_driver_from_recipe(rp_driver **out, rp_recipe *recipe, const rp_kept_text *text, const rp_kept_text *test,
                                const rp_run_options *options, rp_error *err)
{
    recipe_source *s;
    void *source = NULL;
    rp_status status;

    *out = NULL;
    if (recipe->text.path) {
        status = rp_text_source_new(&source, recipe, text, options, err);
        return status == RP_OK ? rp_driver_make(out, &rp_text_source, source, err) : status;
    }
    s = rp_calloc(1, sizeof *s);
    if (!s) {
        rp_recipe_free(recipe);
        return rp_no_memory(err);
    }
    *s = (recipe_source){.recipe = recipe, .kept = text, .kept_test = test};
    status = make_trainer(s, options, err);
    if (status == RP_OK)
        status = check_slices(s, err);
    if (status == RP_OK)
        return rp_driver_make(out, &rp_recipe_source, s, err);
    free_source(s);
    return status;
}

const rp_dataset *rp_driver_dataset(const rp_driver *d)
{
    const recipe_source *s = rp_driver_recipe_source(d);

    return s ? rp_trainer_dataset(s->trainer) : NULL;
}

size_t rp_driver_least_block(const rp_driver *d)
{
    return d->ops->trainer ? rp_trainer_least_block(d->ops->trainer(d->source)) : SIZE_MAX;
}

void rp_driver_withhold(rp_driver *d)
{
    recipe_source *s = rp_driver_recipe_source(d);

    if (s) /* of a text nothing that stays quotes it */
        s->withheld = true;
}

void rp_driver_take_trials(rp_driver *d, rp_trials *trials)
{
    recipe_source *s = rp_driver_recipe_source(d);

    if (!s || !trials->json)
        return;
    rp_trials_clear(&s->tried);
    s->tried = *trials;
    *trials = (rp_trials){.json = NULL};
}

/* ---- starting from a parent ---- */

/* start is taken. */
static rp_status give_start(recipe_source *s, rp_start *start, rp_error *err)
{
    rp_start_free(s->start);
    s->start = start;
    return rp_start_give(start, s->trainer, rp_recipe_starts_anew(s->recipe), err);
}

static rp_status start_from(recipe_source *s, const char *archive_id, uint64_t updates, rp_start *start, rp_error *err)
{
    rp_status status;

    status = give_start(s, start, err);
    return status == RP_OK ? rp_recipe_set_parent(s->recipe, archive_id, updates, err) : status;
}

rp_status rp_driver_start_with(rp_driver *d, const char *sha256, rp_start *start, rp_error *err)
{
    recipe_source *s = rp_driver_recipe_source(d);
    rp_status status = give_start(s, start, err);

    return status == RP_OK ? rp_recipe_set_weights(s->recipe, sha256, err) : status;
}

rp_status rp_driver_start_from(rp_driver *d, const char *archive_id, uint64_t updates, rp_start *start, rp_error *err)
{
    return start_from(rp_driver_recipe_source(d), archive_id, updates, start, err);
}

static rp_status start_from_archive(recipe_source *s, const rp_archive *archive, rp_error *err)
{
    const rp_json *said = rp_json_object_get(rp_archive_manifest(archive)->run, "parent");
    rp_start *start;
    rp_status status = rp_start_open(&start, archive, RP_START_MEMBER, err);

    if (status == RP_OK)
        rp_start_say_line(start, rp_json_share(rp_json_object_get(said, "pinned")));
    if (status == RP_OK)
        status = s->recipe->weights
                     ? give_start(s, start, err)
                     : start_from(s, s->recipe->parent.archive, (uint64_t)s->recipe->parent.updates, start, err);
    return status == RP_EDATA ? rp_fail_at(err, RP_EFORMAT, RP_START_MEMBER) : status;
}

/* ---- from an archive ---- */

/* How many steps a run with early stopping has, its states tell; until they are there the archive's word is taken. */
static rp_status expect_training(const recipe_source *s, const rp_archive *archive, rp_error *err)
{
    const rp_json *steps = rp_json_object_get(rp_archive_manifest(archive)->run, "training_steps");
    const int64_t n = rp_json_integer_value(steps);
    rp_status status = rp_trainer_expect_training(s->trainer, n > 0 ? (uint64_t)n : 0, err);

    return status == RP_OK ? RP_OK : rp_fail_at(err, RP_EFORMAT, RP_MANIFEST_NAME ": run");
}

static rp_status open_recipe(recipe_source *s, const rp_archive *archive, const rp_run_options *options, rp_error *err)
{
    rp_status status = rp_archive_recipe(&s->recipe, archive, err);

    s->withheld = rp_archive_withheld_count(archive) > 0;
    if (status == RP_OK && s->recipe->pinned != rp_archive_manifest(archive)->pinned)
        status = rp_fail(err, RP_EFORMAT, RP_RECIPE_MEMBER ": profile: %s, but the manifest's is %s",
                         s->recipe->pinned ? "pinned" : "portable", s->recipe->pinned ? "portable" : "pinned");
    if (status == RP_OK && !s->recipe->train.exact && s->recipe->train.epochs == RP_EPOCHS_BY_ROWS)
        status = rp_fail(err, RP_EFORMAT, RP_RECIPE_MEMBER ": train.epochs: expected a number, found auto");
    if (status == RP_OK && rp_recipe_tries(s->recipe))
        status = rp_archive_read_json(archive, RP_TRIALS_MEMBER, &s->tried.json, err);
    if (status == RP_OK && (!s->recipe->data.csv || strcmp(s->recipe->data.csv, RP_TABLE_MEMBER) != 0))
        status = rp_fail(err, RP_EFORMAT, RP_RECIPE_MEMBER ": data.csv: expected " RP_TABLE_MEMBER ", found %s",
                         s->recipe->data.csv ? "another path" : "none");
    if (status == RP_OK && s->recipe->data.test_csv && strcmp(s->recipe->data.test_csv, RP_TEST_TABLE_MEMBER) != 0)
        status = rp_fail(err, RP_EFORMAT,
                         RP_RECIPE_MEMBER ": data.test_csv: expected " RP_TEST_TABLE_MEMBER ", found another path");
    if (status == RP_OK)
        status = rp_archive_read_member(archive, RP_TABLE_MEMBER, SIZE_MAX / 2, &s->csv, err);
    if (status == RP_OK && s->recipe->data.test_csv)
        status = rp_archive_read_member(archive, RP_TEST_TABLE_MEMBER, SIZE_MAX / 2, &s->test, err);
    if (status == RP_OK)
        status = make_trainer(s, options, err);
    if (status == RP_OK)
        status = expect_training(s, archive, err);
    return status == RP_OK && rp_recipe_starts(s->recipe) ? start_from_archive(s, archive, err) : status;
}

static rp_status open_source(void **out, const rp_archive *archive, const rp_run_options *options, rp_error *err)
{
    recipe_source *s = rp_calloc(1, sizeof *s);
    rp_status status = s ? open_recipe(s, archive, options, err) : rp_no_memory(err);

    *out = s;
    if (status != RP_OK) {
        free_source(s);
        *out = NULL;
    }
    return status;
}

static rp_status clone_source(void **out, const void *from, const rp_run_options *options, rp_error *err)
{
    const recipe_source *lender = from;
    recipe_source *s = rp_calloc(1, sizeof *s);
    rp_status status;

    *out = NULL;
    if (!s)
        return rp_no_memory(err);
    *s = *lender;
    s->lent = true;
    s->trainer = NULL;
    s->n_priced = 0;
    s->judged = rp_calloc(1, sizeof *s->judged);
    status = s->judged ? rp_trainer_clone(&s->trainer, lender->trainer, options, err) : rp_no_memory(err);
    if (status != RP_OK)
        free_source(s);
    else
        *out = s;
    return status;
}

/* ---- running ---- */

static rp_trainer *trainer_of(const void *source)
{
    return ((const recipe_source *)source)->trainer;
}

static const rp_recipe *recipe_of(const void *source)
{
    return ((const recipe_source *)source)->recipe;
}

static rp_run *run_of(const void *source)
{
    return rp_trainer_run(((const recipe_source *)source)->trainer);
}

static uint64_t total(const void *source)
{
    return rp_trainer_total(((const recipe_source *)source)->trainer);
}

static rp_status step(void *source, rp_error *err)
{
    forget(source);
    return rp_trainer_step(((recipe_source *)source)->trainer, err);
}

/* It is the recipe that decides what is computed, whatever the archive has as programs. */
static rp_status price_of(void *source, uint64_t step, rp_price *price, char member[RP_MEMBER_NAME], rp_error *err)
{
    recipe_source *s = source;
    const rp_program *program = rp_trainer_program(s->trainer, step);
    size_t i = 0;

    (void)err;
    while (i < s->n_priced && s->priced[i].program != program)
        i++;
    if (i == s->n_priced) {
        s->priced[i].program = program;
        s->priced[s->n_priced++].price = rp_program_price(program);
    }
    *price = s->priced[i].price;
    (void)snprintf(member, RP_MEMBER_NAME, RP_RECIPE_MEMBER);
    return RP_OK;
}

static float loss(const void *source)
{
    return rp_trainer_loss(((const recipe_source *)source)->trainer);
}

static void periods(const void *source, uint64_t *state, uint64_t *checkpoint)
{
    const recipe_source *s = source;

    *state = (uint64_t)s->recipe->record.state_period;
    *checkpoint = (uint64_t)s->recipe->record.checkpoint_every;
}

static rp_status restore(void *source, uint64_t to, const rp_value_source *from, rp_error *err)
{
    forget(source);
    return rp_trainer_restore(((recipe_source *)source)->trainer, to, from, err);
}

/* ---- what is told ---- */

rp_status rp_driver_table(const rp_driver *d, char **out, rp_error *err)
{
    const recipe_source *s = rp_driver_recipe_source(d);
    rp_buffer text = {0};
    rp_status status = RP_OK;

    *out = NULL;
    if (s)
        status = rp_recipe_tell_table(s, &text, err);
    else
        rp_buffer_text(&text, "{}");
    return rp_buffer_finish(&text, status, out, err);
}

rp_status rp_driver_coefficients(const rp_driver *d, char **out, rp_error *err)
{
    const recipe_source *s = rp_driver_recipe_source(d);
    rp_buffer text = {0};
    rp_status status = s ? rp_recipe_judge(s, true, err) : RP_OK;

    *out = NULL;
    if (status != RP_OK || !s || !s->judged->coefficients)
        return status;
    status = rp_json_write(s->judged->coefficients, &text, err);
    return rp_buffer_finish(&text, status, out, err);
}

/* Replay compares every member with one that it makes from the recipe and the table. */
static rp_status check_inputs(const void *source, rp_error *err)
{
    (void)source;
    (void)err;
    return RP_OK;
}

const rp_source_ops rp_recipe_source = {
    .kind = RP_RUN_RECIPE,
    .open = open_source,
    .clone = clone_source,
    .free = free_source,
    .run = run_of,
    .trainer = trainer_of,
    .recipe = recipe_of,
    .total = total,
    .step = step,
    .price = price_of,
    .restore = restore,
    .loss = loss,
    .periods = periods,
    .add_init = rp_recipe_add_init,
    .add_known = rp_recipe_add_known,
    .add_members = rp_recipe_add_members,
    .metrics = rp_recipe_metrics,
    .check_inputs = check_inputs,
};
