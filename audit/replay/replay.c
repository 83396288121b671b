/* SPDX-License-Identifier: Apache-2.0
 * Replaying an archive: all of it, which makes the same archive again and compares it member by member; or a range of
 * steps or a sample of segments, which begin and end at recorded checkpoints (FORMAT.md 12). */
#include "audit/replay/replay.h"

#include <stdio.h>
#include <string.h>

#include "audit/record/job_options.h"
#include "audit/drive/run_archive.h"
#include "audit/drive/trials.h"
#include "audit/archive/journal.h"
#include "audit/archive/periods.h"
#include "audit/record/recorder.h"
#include "audit/replay/replay_part.h"
#include "audit/replay/sample.h"
#include "base/handle.h"
#include "base/clock.h"
#include "base/memory.h"

static void begin(const rp_job_options *options, const rp_archive *archive, const rp_driver *driver,
                  const rp_replay_scope *scope)
{
    rp_replay_begun *begun = options ? options->begun : NULL;
    const char *parent = rp_parent_id(archive);

    if (!begun)
        return;
    begun->scope = *scope;
    (void)snprintf(begun->level, sizeof begun->level, "%s", rp_run_level(rp_driver_run(driver)));
    if (!rp_device_shares_memory(rp_run_device(rp_driver_run(driver))))
        (void)snprintf(begun->device, sizeof begun->device, "%s",
                       rp_device_identity(rp_run_device(rp_driver_run(driver))));
    begun->threads = rp_run_threads(rp_driver_run(driver));
    (void)snprintf(begun->kind, sizeof begun->kind, "%s", rp_archive_kind(archive));
    (void)snprintf(begun->parent, sizeof begun->parent, "%s", parent ? parent : "");
}

/* ---- all of a run ---- */

static rp_status compare_member(const rp_member *expected, const rp_member *found, rp_error *err)
{
    char e[RP_DIGEST_HEX], f[RP_DIGEST_HEX];

    if (rp_digest_equal(&expected->digest, &found->digest))
        return RP_OK;
    rp_digest_hex(e, &expected->digest);
    rp_digest_hex(f, &found->digest);
    return rp_differs(err, -1, expected->name, "SHA-256", e, f);
}

static rp_status none_beside(const rp_archive *archive, const rp_archive_writer *writer, rp_error *err)
{
    for (size_t i = 0; i < rp_archive_writer_member_count(writer); i++)
        if (!rp_archive_find(archive, rp_archive_writer_member(writer, i)->name))
            return rp_differs(err, -1, rp_archive_writer_member(writer, i)->name, NULL, NULL, "present");
    return RP_OK;
}

/* Every member of the manifest must have been made again, with the same bytes, and no other. The manifest itself comes
 * last: it differs whenever a member does, and the member is what should be named. */
static rp_status compare_members(const rp_archive *archive, const rp_archive_writer *writer, size_t *compared,
                                 rp_error *err)
{
    size_t count = rp_archive_member_count(archive);
    rp_status status = RP_OK;

    *compared = 0;
    for (size_t i = 1; i <= count && status == RP_OK; i++) {
        const rp_member *expected = rp_archive_member(archive, i % count), *found;

        if (i == count)
            status = none_beside(archive, writer, err);
        if (status != RP_OK)
            return status;

        if (rp_member_rank_of(expected->name) == RP_RANK_SIGNATURE)
            continue;
        found = rp_archive_writer_find(writer, expected->name);
        if (!found)
            return rp_differs(err, -1, expected->name, NULL, "present", NULL);
        status = compare_member(expected, found, err);
        ++*compared;
    }
    return status;
}

static uint64_t trials_of(const rp_driver *driver)
{
    const rp_recipe *recipe = rp_driver_recipe(driver);

    return recipe ? rp_trials_count(recipe) : 0;
}

/* So many of the trials; drawn NULL: all of them, and then the driver takes what they came to. */
static rp_status repeat_trials(rp_driver *driver, const rp_archive *archive, const size_t *drawn, uint64_t count,
                               const rp_job_options *options, rp_error *err)
{
    rp_trials tried;
    rp_status status;

    if (count == 0)
        return RP_OK;
    status = rp_trials_repeat(&tried, archive, drawn, (size_t)count, options, err);
    if (status == RP_OK)
        rp_driver_take_trials(driver, &tried);
    rp_trials_clear(&tried);
    return status;
}

/* The segments of a run lie between its checkpoints. */
static rp_replay_scope full_scope(const rp_driver *driver, const rp_archive *archive)
{
    const uint64_t steps = rp_driver_total(driver);
    rp_replay_scope scope = {
        .mode = RP_REPLAY_FULL, .last = steps ? steps - 1 : 0, .steps = steps, .steps_total = steps};

    scope.segments = scope.segments_total = rp_archive_checkpoints(archive) + 1;
    scope.trials = scope.trials_total = trials_of(driver);
    return scope;
}

/* The parts of a replay of all under way. */
typedef struct work {
    const rp_job_options *options;
    rp_driver *driver;
    rp_recorder *recorder;
    rp_archive_writer *writer;
} work;

static rp_status prepare(work *w, const rp_archive *archive, rp_error *err)
{
    const rp_run_options run = rp_job_run_options(w->options);
    rp_status status = rp_driver_from_archive(&w->driver, archive, &run, err);

    if (status == RP_OK)
        status = rp_archive_writer_digests(&w->writer, err);
    if (status == RP_OK)
        status =
            rp_recorder_attach(&w->recorder, rp_driver_run(w->driver), rp_driver_kind(w->driver) == RP_RUN_API, err);
    if (status == RP_OK)
        status = rp_recorder_set_state_period(w->recorder, rp_driver_state_period(w->driver), err);
    if (status == RP_OK)
        status = rp_recorder_checkpoints_into(w->recorder, rp_driver_checkpoint_period(w->driver),
                                              rp_driver_checkpoint_end(w->driver), w->writer, err);
    if (status == RP_OK && rp_archive_salt(archive))
        status = rp_archive_writer_withhold(w->writer, rp_archive_salt(archive), err);
    if (status == RP_OK && rp_archive_salt(archive))
        status = rp_recorder_set_salt(w->recorder, rp_archive_salt(archive), err);
    return status == RP_OK ? rp_recorder_expect(w->recorder, archive, err) : status;
}

static rp_status all_steps(work *w, rp_error *err)
{
    const uint64_t total = rp_driver_total(w->driver);
    rp_status status = rp_driver_add_init(w->driver, w->writer, err);

    for (uint64_t i = 0; i < total && status == RP_OK; i++) {
        status = rp_driver_step(w->driver, err);
        if (status == RP_OK && i == 0)
            status = rp_driver_add_init(w->driver, w->writer, err);
        if (status == RP_OK && w->options && w->options->progress &&
            !w->options->progress(w->options->self,
                                  &(rp_progress){.step = i + 1, .steps = total, .loss = rp_driver_loss(w->driver)}))
            status = rp_fail(err, RP_ECANCELED, "interrupted at step %llu of %llu", (unsigned long long)i + 1,
                             (unsigned long long)total);
    }
    return status;
}

static rp_status replay_all(const rp_archive *archive, const rp_job_options *options, rp_job **out, rp_error *err)
{
    work w = {.options = options};
    rp_replay_scope scope = {.mode = RP_REPLAY_FULL};
    size_t compared = 0;
    rp_status status = prepare(&w, archive, err);

    if (status == RP_OK)
        status = rp_replay_afford_all(w.driver, archive, options, err);
    if (status == RP_OK) {
        scope = full_scope(w.driver, archive);
        begin(options, archive, w.driver, &scope);
        status = repeat_trials(w.driver, archive, NULL, scope.trials, options, err);
    }
    if (status == RP_OK && options && options->opened)
        options->opened(options->self, rp_driver_run(w.driver));
    if (status == RP_OK)
        status = all_steps(&w, err);
    if (status == RP_OK)
        status = rp_replay_final_state(w.driver, w.recorder, archive, err);
    if (status == RP_OK)
        status = rp_compose_archive(w.driver, w.recorder, w.writer, err);
    if (status == RP_OK)
        status = compare_members(archive, w.writer, &compared, err);
    if (status == RP_OK)
        status = rp_withheld_compare(archive, w.writer, &compared, err);
    if (status == RP_OK)
        status = rp_compose_job(out, w.driver, err);
    if (status == RP_OK) {
        (*out)->members = compared;
        (*out)->scope = scope;
        (*out)->steps = scope.steps;
        (*out)->recording_seconds = (double)rp_recorder_nanoseconds(w.recorder) * 1e-9;
    }
    rp_recorder_free(w.recorder);
    rp_driver_free(w.driver);
    rp_archive_writer_free(w.writer);
    return status;
}

/* ---- a part of it ---- */

/* The manifest's words on the journal must be the journal's, since records are what a part is compared with. */
static rp_status check_journal(const rp_archive *archive, uint64_t total, rp_error *err)
{
    const rp_json *run = rp_archive_manifest(archive)->run;
    const char *recorded = rp_json_string_value(rp_json_object_get(run, "journal_root"));
    rp_windowed *journal;
    char found[RP_DIGEST_HEX];
    rp_digest root;
    rp_status status = rp_journal_open(&journal, archive, err);

    if (status == RP_OK && (rp_journal_records(journal) != total ||
                            rp_json_integer_value(rp_json_object_get(run, "steps")) != (int64_t)total))
        status = rp_fail(err, RP_EBITS, RP_JOURNAL_MEMBER ": %llu records, manifest %lld, but the run has %llu steps",
                         (unsigned long long)rp_journal_records(journal),
                         (long long)rp_json_integer_value(rp_json_object_get(run, "steps")), (unsigned long long)total);
    if (status == RP_OK) {
        const rp_byte_source records = rp_windowed_source(journal);

        status = rp_journal_root(&root, &records, err);
    }
    rp_windowed_free(journal);
    if (status != RP_OK)
        return status;
    rp_digest_hex(found, &root);
    if (!recorded || strcmp(recorded, found) != 0)
        return rp_differs(err, -1, RP_MANIFEST_NAME, "run.journal_root", recorded ? recorded : "nothing", found);
    return RP_OK;
}

static rp_status choose_range(rp_part *part, const rp_replay_choice *choice, rp_error *err)
{
    const rp_segments *s = &part->segments;
    const bool all = choice->mode == RP_REPLAY_FULL;
    const uint64_t first = all ? 0 : choice->first, last = all ? s->total - 1 : choice->last;

    if (first > last || last >= s->total)
        return rp_fail(err, RP_EARG, "steps %llu to %llu: the run has the steps 0 to %llu", (unsigned long long)first,
                       (unsigned long long)last, (unsigned long long)s->total - 1);
    part->end = last + 1;
    for (size_t i = 0; i < s->count; i++)
        if (rp_segment_end(s, i) > first && rp_segment_begin(s, i) <= last)
            part->chosen[part->n_chosen++] = i;
    return RP_OK;
}

static rp_status choose_sample(rp_part *part, const rp_replay_choice *choice, rp_error *err)
{
    if (choice->share < 1 || choice->share > 1000000)
        return rp_fail(err, RP_EARG, "a sample is more than 0 and at most all of a run: %u millionths", choice->share);
    part->end = part->segments.total;
    part->n_chosen = rp_sample_count(part->segments.count, choice->share);
    return rp_sample_draw(part->chosen, part->n_chosen, part->segments.count, choice->seed,
                          rp_archive_id(part->archive), err);
}

/* Which segments, how many steps that is, and what may be said of it. */
static rp_status choose(rp_part *part, const rp_replay_choice *choice, rp_replay_scope *scope, rp_error *err)
{
    const rp_segments *s = &part->segments;
    rp_status status;

    part->chosen = rp_reallocarray(NULL, s->count, sizeof *part->chosen);
    if (!part->chosen)
        return rp_no_memory(err);
    part->parallel = choice->parallel ? choice->parallel : 1;
    status = (choice->mode == RP_REPLAY_SAMPLE ? choose_sample : choose_range)(part, choice, err);
    if (status != RP_OK)
        return status;
    *scope = (rp_replay_scope){.mode = choice->mode == RP_REPLAY_SAMPLE ? RP_REPLAY_SAMPLE : RP_REPLAY_RANGE,
                               .steps_total = s->total,
                               .segments_total = s->count};
    for (size_t i = 0; i < part->n_chosen; i++) {
        const uint64_t from = rp_segment_begin(s, part->chosen[i]), whole = rp_segment_end(s, part->chosen[i]);
        const uint64_t to = whole < part->end ? whole : part->end;

        scope->first = i ? scope->first : from;
        scope->last = to - 1;
        scope->steps += to - from;
        scope->segments += to == whole;
    }
    part->steps = scope->steps;
    if (scope->mode == RP_REPLAY_SAMPLE)
        (void)snprintf(scope->seed, sizeof scope->seed, "%s", choice->seed);
    return RP_OK;
}

/* Of a sample the same share of the trials is drawn by the same seed; of all steps, in whatever pieces, all are made;
 * of a range none. */
static rp_status part_of_trials(rp_driver *driver, const rp_part *part, const rp_replay_scope *scope, rp_error *err)
{
    size_t *drawn = NULL;
    rp_status status = RP_OK;

    if (scope->mode == RP_REPLAY_SAMPLE && scope->trials > 0) {
        drawn = rp_reallocarray(NULL, (size_t)scope->trials, sizeof *drawn);
        status = drawn ? rp_sample_draw(drawn, (size_t)scope->trials, (size_t)scope->trials_total, scope->seed,
                                        rp_archive_id(part->archive), err)
                       : rp_no_memory(err);
    }
    if (status == RP_OK)
        status = repeat_trials(driver, part->archive, drawn, scope->trials, part->options, err);
    rp_free(drawn);
    return status;
}

/* What the driver makes whichever steps were replayed: preparation, metrics and predictions among it. */
static rp_status compare_made(const rp_part *part, rp_driver *driver, size_t *compared, rp_error *err)
{
    const bool ended =
        part->chosen[part->n_chosen - 1] + 1 == part->segments.count && part->end == part->segments.total;
    rp_archive_writer *writer = NULL;
    rp_json *run = rp_json_object();
    rp_status status = run ? rp_archive_writer_digests(&writer, err) : rp_no_memory(err);

    *compared = 0;
    if (status == RP_OK)
        status = rp_driver_add_members(driver, writer, run, err);
    for (size_t i = 0; status == RP_OK && i < rp_archive_writer_member_count(writer); i++) {
        const rp_member *made = rp_archive_writer_member(writer, i),
                        *expected = rp_archive_find(part->archive, made->name);
        rp_member_part piece;
        const bool final = (rp_member_part_of(&piece, made->name), strcmp(piece.set, RP_FINAL_MEMBER) == 0);

        /* compared where the last step was made, by whichever worker; this driver's run may stand elsewhere */
        if (final) {
            *compared += ended;
            continue;
        }
        status = expected ? compare_member(expected, made, err)
                 : rp_archive_salt(part->archive) && rp_member_is_input(made->name)
                     ? rp_withheld_compare_member(part->archive, made, err)
                     : rp_differs(err, -1, made->name, NULL, NULL, "present");
        ++*compared;
    }
    if (status == RP_OK)
        status = rp_replay_compare_rest(part->archive, driver, writer, run, err);
    rp_archive_writer_free(writer);
    rp_json_free(run);
    return status;
}

/* The chosen steps, and of a recipe the evaluations, which are made again whatever was chosen. */
static rp_status afford(const rp_part *part, rp_driver *driver, rp_error *err)
{
    const uint64_t total = part->segments.total;
    rp_budget budget = {0};
    rp_status status = RP_OK;

    for (size_t i = 0; i < part->n_chosen && status == RP_OK; i++) {
        const uint64_t whole = rp_segment_end(&part->segments, part->chosen[i]);

        status = rp_replay_afford(&budget, driver, rp_segment_begin(&part->segments, part->chosen[i]),
                                  whole < part->end ? whole : part->end, part->options, err);
    }
    if (status == RP_OK && rp_driver_recipe(driver))
        status = rp_replay_afford(&budget, driver, rp_driver_evaluates_from(driver), total, part->options, err);
    return status;
}

static rp_status replay_part(const rp_archive *archive, const rp_job_options *options, rp_job **out, rp_error *err)
{
    const rp_run_options run = rp_job_run_options(options);
    rp_part part = {.archive = archive, .options = options};
    rp_replay_scope scope = {.mode = RP_REPLAY_RANGE};
    rp_driver *driver = NULL;
    uint64_t nanoseconds = 0;
    size_t compared = 0;
    rp_status status = rp_driver_from_archive(&driver, archive, &run, err);

    if (status == RP_OK)
        status =
            rp_segments_of(&part.segments, archive, rp_driver_total(driver), rp_driver_checkpoint_end(driver), err);
    if (status == RP_OK)
        status = choose(&part, options->choice, &scope, err);
    if (status == RP_OK) {
        scope.trials_total = trials_of(driver);
        if (options->choice->mode == RP_REPLAY_FULL)
            scope.trials = scope.trials_total;
        else if (scope.mode == RP_REPLAY_SAMPLE)
            scope.trials = rp_sample_count((size_t)scope.trials_total, options->choice->share);
        begin(options, archive, driver, &scope);
        status = check_journal(archive, rp_driver_total(driver), err);
    }
    if (status == RP_OK)
        status = afford(&part, driver, err);
    if (status == RP_OK)
        status = part_of_trials(driver, &part, &scope, err);
    if (status == RP_OK && options->opened)
        options->opened(options->self, rp_driver_run(driver));
    if (status == RP_OK)
        status = rp_part_replay(&part, driver, &nanoseconds, err);
    if (status == RP_OK)
        status = compare_made(&part, driver, &compared, err);
    if (status == RP_OK)
        status = rp_compose_job(out, driver, err);
    if (status == RP_OK) {
        (*out)->members = compared;
        (*out)->scope = scope;
        (*out)->steps = scope.steps;
        (*out)->recording_seconds = (double)nanoseconds * 1e-9;
    }
    rp_free(part.chosen);
    rp_driver_free(driver);
    return status;
}

rp_status rp_replay(const rp_archive *archive, const rp_job_options *options, rp_job **out, rp_error *err)
{
    if (!archive) {
        *out = NULL;
        return rp_no_handle(err, __func__, "archive");
    }

    const rp_replay_choice *choice = options ? options->choice : NULL;
    const bool part = choice && (choice->mode != RP_REPLAY_FULL || choice->parallel > 1);
    const double start = rp_clock();
    rp_job_options each = options ? *options : (rp_job_options){.threads = 0};
    rp_status status;

    *out = NULL;
    if (each.max_memory && choice && choice->parallel > 1) /* so many programs run at a time */
        each.max_memory = each.max_memory < choice->parallel ? 1 : each.max_memory / choice->parallel;
    status = (part ? replay_part : replay_all)(archive, options ? &each : NULL, out, err);
    if (status == RP_OK) {
        memcpy((*out)->archive_id, rp_archive_id(archive), RP_DIGEST_HEX);
        (*out)->seconds = rp_clock() - start;
    }
    return status;
}

rp_status rp_replay_last_states(rp_driver **out, const rp_archive *archive, const rp_run_options *options,
                                rp_error *err)
{
    const rp_job_options job = {.threads = options ? options->threads : 0,
                                .level = options ? options->level : NULL,
                                .device = options ? options->device : NULL};
    size_t last = 0;
    rp_part part = {.archive = archive, .options = &job, .chosen = &last, .n_chosen = 1, .parallel = 1};
    rp_driver *driver = NULL;
    uint64_t nanoseconds;
    rp_status status = rp_driver_from_archive(&driver, archive, options, err);

    if (status == RP_OK)
        status = check_journal(archive, rp_driver_total(driver), err);
    if (status == RP_OK)
        status =
            rp_segments_of(&part.segments, archive, rp_driver_total(driver), rp_driver_checkpoint_end(driver), err);
    if (status == RP_OK) {
        last = part.segments.count - 1;
        part.end = part.segments.total;
        status = rp_part_replay(&part, driver, &nanoseconds, err);
    }
    *out = driver;
    if (status != RP_OK) {
        rp_driver_free(driver);
        *out = NULL;
    }
    return status;
}
