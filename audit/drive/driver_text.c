/* SPDX-License-Identifier: Apache-2.0
 * A run of a recipe on a text as a driver's source: the trainer, and the members that such a run has. */
#include <stdio.h>
#include <string.h>

#include "audit/drive/driver_private.h"
#include "audit/record/lineage.h"
#include "audit/record/recorder.h"
#include "base/memory.h"
#include "determinism/fpenv.h"

typedef struct text_source {
    bool lent; /* recipe and text are another source's */
    rp_recipe *recipe;
    rp_buffer text;           /* bytes from an archive; empty when they are kept by others */
    const rp_kept_text *kept; /* NULL: text */
    rp_trainer *trainer;
    struct {
        const rp_program *program;
        rp_price price;
    } priced[3]; /* the trainer's programs, once asked for */
    size_t n_priced;
} text_source;

static void free_source(void *source)
{
    text_source *s = source;

    if (!s)
        return;
    rp_trainer_free(s->trainer);
    if (!s->lent) {
        rp_recipe_free(s->recipe);
        rp_buffer_free(&s->text);
    }
    rp_free(s);
}

static rp_status make_trainer(text_source *s, const rp_run_options *options, rp_error *err)
{
    const rp_source_text text =
        s->kept ? s->kept->text : (rp_source_text){s->text.data, s->text.size, RP_TEXT_MEMBER, NULL, NULL};

    if (rp_recipe_forget_paths(s->recipe->json) != 0)
        return rp_no_memory(err);
    return rp_trainer_new(&s->trainer, s->recipe, &text, options, err);
}

rp_status rp_text_source_new(void **out, rp_recipe *recipe, const rp_kept_text *text, const rp_run_options *options,
                             rp_error *err)
{
    text_source *s = rp_calloc(1, sizeof *s);
    rp_status status;

    *out = NULL;
    if (!s) {
        rp_recipe_free(recipe);
        return rp_no_memory(err);
    }
    *s = (text_source){.recipe = recipe, .kept = text};
    status = make_trainer(s, options, err);
    if (status == RP_OK)
        *out = s;
    else
        free_source(s);
    return status;
}

/* ---- from an archive ---- */

static rp_status open_recipe(text_source *s, const rp_archive *archive, const rp_run_options *options, rp_error *err)
{
    rp_status status = rp_archive_recipe(&s->recipe, archive, err);

    if (status == RP_OK && (!s->recipe->text.path || strcmp(s->recipe->text.path, RP_TEXT_MEMBER) != 0))
        status = rp_fail(err, RP_EFORMAT, RP_RECIPE_MEMBER ": data.text: expected " RP_TEXT_MEMBER);
    if (status == RP_OK)
        status = rp_archive_read_member(archive, RP_TEXT_MEMBER, SIZE_MAX / 2, &s->text, err);
    return status == RP_OK ? make_trainer(s, options, err) : status;
}

static rp_status open_source(void **out, const rp_archive *archive, const rp_run_options *options, rp_error *err)
{
    text_source *s = rp_calloc(1, sizeof *s);
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
    const text_source *lender = from;
    text_source *s = rp_calloc(1, sizeof *s);
    rp_status status;

    *out = NULL;
    if (!s)
        return rp_no_memory(err);
    *s = (text_source){.lent = true, .recipe = lender->recipe};
    status = rp_trainer_clone(&s->trainer, lender->trainer, options, err);
    if (status != RP_OK)
        free_source(s);
    else
        *out = s;
    return status;
}

/* ---- running ---- */

static rp_trainer *trainer_of(const void *source)
{
    return ((const text_source *)source)->trainer;
}

static const rp_recipe *recipe_of(const void *source)
{
    return ((const text_source *)source)->recipe;
}

static rp_run *run_of(const void *source)
{
    return rp_trainer_run(trainer_of(source));
}

static uint64_t total(const void *source)
{
    return rp_trainer_total(trainer_of(source));
}

static rp_status step(void *source, rp_error *err)
{
    return rp_trainer_step(trainer_of(source), err);
}

static rp_status price_of(void *source, uint64_t step, rp_price *price, char member[RP_MEMBER_NAME], rp_error *err)
{
    text_source *s = source;
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

static rp_status restore(void *source, uint64_t to, const rp_value_source *from, rp_error *err)
{
    return rp_trainer_restore(trainer_of(source), to, from, err);
}

static float loss(const void *source)
{
    return rp_trainer_loss(trainer_of(source));
}

static void periods(const void *source, uint64_t *state, uint64_t *checkpoint)
{
    const rp_recipe *recipe = recipe_of(source);

    *state = (uint64_t)recipe->record.state_period;
    *checkpoint = (uint64_t)recipe->record.checkpoint_every;
}

/* ---- members ---- */

/* Step 0 makes the first weights. */
static rp_status add_init(const void *source, rp_archive_writer *writer, rp_error *err)
{
    return rp_run_steps(run_of(source)) == 1 ? rp_states_add(writer, RP_INIT_MEMBER, run_of(source), false, err)
                                             : RP_OK;
}

/* json is taken. */
static rp_status add_json(rp_archive_writer *writer, const char *member, rp_json *json, rp_error *err)
{
    rp_buffer text = {0};
    rp_status status = json ? rp_json_write(json, &text, err) : rp_no_memory(err);

    if (status == RP_OK && text.size > rp_member_kind_of(member)->held)
        status = rp_fail(err, RP_EARG, "%s: would take %zu bytes, archives have room for %zu", member, text.size,
                         (size_t)rp_member_kind_of(member)->held);
    if (status == RP_OK)
        status = rp_archive_writer_add(writer, member, text.data, text.size, err);
    rp_buffer_free(&text);
    rp_json_free(json);
    return status;
}

/* Sizes, and the digest of the tokens as 16-bit integers, low byte first. */
static rp_json *part_json(const rp_corpus_part *part, rp_error *err)
{
    char hex[RP_DIGEST_HEX];
    rp_buffer bytes = {0};
    rp_digest digest;
    rp_status status;

    for (size_t i = 0; i < part->n; i++)
        rp_buffer_u16(&bytes, part->token[i]);
    status = rp_buffer_status(&bytes, err);
    if (status == RP_OK)
        status = rp_sha256(&digest, bytes.data, bytes.size, err);
    rp_buffer_free(&bytes);
    if (status != RP_OK)
        return NULL;
    rp_digest_hex(hex, &digest);
    return rp_json_pack("{s:I, s:s, s:I}", "bytes", (int64_t)part->bytes, "digest", hex, "tokens", (int64_t)part->n);
}

static rp_status add_prepared(const text_source *s, rp_archive_writer *writer, rp_error *err)
{
    const rp_corpus *text = rp_trainer_text(s->trainer);
    rp_json *json = rp_json_object();
    int failed = json == NULL;

    failed = failed || rp_json_object_set_new(json, "training", part_json(&text->train, err)) != 0;
    if (!failed && text->valid.n)
        failed = rp_json_object_set_new(json, "validation", part_json(&text->valid, err)) != 0;
    if (!failed)
        return add_json(writer, RP_PREPARED_MEMBER, json, err);
    rp_json_free(json);
    return rp_no_memory(err);
}

static rp_status add_known(const void *source, rp_archive_writer *writer, bool data, rp_error *err)
{
    const text_source *s = source;
    rp_json *vocabulary = NULL;
    rp_status status = add_json(writer, RP_RECIPE_MEMBER, rp_json_share(s->recipe->json), err);

    if (status == RP_OK)
        status = rp_vocabulary_write(&vocabulary, rp_trainer_text(s->trainer)->vocabulary, err);
    if (status == RP_OK)
        status = add_json(writer, RP_VOCABULARY_MEMBER, vocabulary, err);
    if (status == RP_OK && data)
        status = s->kept ? rp_kept_text_add(s->kept, writer, err)
                         : rp_archive_writer_add(writer, RP_TEXT_MEMBER, s->text.data, s->text.size, err);
    return status == RP_OK && data ? add_prepared(s, writer, err) : status;
}

/* In the contract's environment, the caller's being what it may. */
static rp_status metrics(const void *source, rp_json **out, rp_error *err)
{
    rp_fpenv saved;
    rp_status status = rp_fpenv_enter(&saved, NULL, err);

    *out = NULL;
    if (status != RP_OK)
        return status;
    status = rp_trainer_language_metrics(trainer_of(source), out, err);
    rp_fpenv_leave(&saved);
    return status;
}

static rp_status add_members(const void *source, rp_archive_writer *writer, rp_json *run, rp_error *err)
{
    const text_source *s = source;
    rp_json *figures = NULL;
    rp_status status = add_known(s, writer, true, err);

    if (status == RP_OK)
        status = rp_states_add(writer, RP_FINAL_MEMBER, run_of(s), false, err);
    if (status == RP_OK)
        status = metrics(s, &figures, err);
    if (status == RP_OK)
        status = add_json(writer, RP_METRICS_MEMBER, figures, err);
    if (status == RP_OK && rp_json_object_set_new(run, "training_steps",
                                                  rp_json_integer((int64_t)rp_trainer_training_steps(s->trainer))) != 0)
        status = rp_no_memory(err);
    return status;
}

/* Replay compares every member with one that it makes from the recipe and the text. */
static rp_status check_inputs(const void *source, rp_error *err)
{
    (void)source;
    (void)err;
    return RP_OK;
}

const rp_source_ops rp_text_source = {
    .kind = RP_RUN_TEXT,
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
    .add_init = add_init,
    .add_known = add_known,
    .add_members = add_members,
    .metrics = metrics,
    .check_inputs = check_inputs,
};
