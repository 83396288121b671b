/* SPDX-License-Identifier: Apache-2.0
 * Verdicts that count are held against the run that they are about. Their numbers follow from the manifest and the
 * seed, so each is made again: whoever repeated less than a verdict says cannot hide it behind another of its numbers.
 */
#include "audit/trust/scopes.h"

#include <string.h>

#include "audit/statements/draw.h"
#include "audit/archive/periods.h"
#include "base/memory.h"
#include "rp/statement.h"

/* What the manifest says of a run's extent. */
typedef struct extent {
    const rp_archive *archive;
    uint64_t steps, segments, period; /* period: steps of a segment but the last */
    uint64_t members;                 /* that a full replay compares */
    uint64_t trials;
} extent;

static uint64_t begin_of(const extent *run, uint64_t segment)
{
    return segment * run->period;
}

static uint64_t end_of(const extent *run, uint64_t segment)
{
    return segment + 1 < run->segments ? (segment + 1) * run->period : run->steps;
}

/* False where the manifest does not describe a run of steps: then nobody can have replayed it. */
static rp_status measure(extent *out, bool *described, const rp_archive *archive, rp_error *err)
{
    const rp_json *run = rp_archive_manifest(archive)->run, *steps = rp_json_object_get(run, "steps"),
                  *training = rp_json_object_get(run, "training_steps");
    uint64_t end;
    rp_status status = rp_archive_checkpoint_period(archive, &out->period, err);

    *described = rp_json_is_integer(steps) && rp_json_integer_value(steps) > 0;
    if (status != RP_OK || !*described)
        return status;
    out->archive = archive;
    out->trials = (uint64_t)rp_json_integer_value(rp_json_object_get(rp_archive_manifest(archive)->run, "trials"));
    out->steps = (uint64_t)rp_json_integer_value(steps);
    out->segments = rp_archive_checkpoints(archive) + 1;
    out->period = out->period ? out->period : out->steps;
    out->members = 1 + rp_archive_manifest(archive)->members + rp_archive_manifest(archive)->n_withheld;
    end = rp_checkpoint_end(rp_archive_manifest(archive)->kind, out->steps,
                            1 + (uint64_t)rp_json_integer_value(training));
    if ((end - 1) / out->period + 1 != out->segments)
        return rp_fail(
            err, RP_EFORMAT, RP_CHECKPOINTS ": %llu of them in a run of %llu steps with one after every %llu",
            (unsigned long long)out->segments - 1, (unsigned long long)out->steps, (unsigned long long)out->period);
    return RP_OK;
}

/* What those segments are that the seed draws. */
static rp_status draw(rp_replay_scope *out, const extent *run, const rp_replay_scope *said, rp_error *err)
{
    size_t *drawn = rp_reallocarray(NULL, (size_t)said->segments, sizeof *drawn);
    rp_status status = drawn ? rp_draw_segments(drawn, (size_t)said->segments, (size_t)run->segments, said->seed,
                                                rp_archive_id(run->archive), err)
                             : rp_no_memory(err);

    for (uint64_t i = 0; i < said->segments && status == RP_OK; i++) {
        out->first = i ? out->first : begin_of(run, drawn[i]);
        out->last = end_of(run, drawn[i]) - 1;
        out->steps += end_of(run, drawn[i]) - begin_of(run, drawn[i]);
    }
    rp_free(drawn);
    return status;
}

/* A range begins where a segment does, and counts those that it reaches the end of. */
static void measure_range(rp_replay_scope *out, const extent *run, const rp_replay_scope *said)
{
    const uint64_t first = said->first / run->period;
    uint64_t end = (said->last + 1) / run->period;

    if (said->last + 1 == run->steps)
        end = run->segments;
    out->first = begin_of(run, first);
    out->segments = end > first ? end - first : 0;
}

static rp_status check_part(const extent *run, const rp_verified_statement *one, rp_error *err)
{
    const rp_replay_scope *said = &one->verdict->scope;
    rp_replay_scope found = {.segments = said->segments, .last = said->last};
    rp_status status = RP_OK;

    if (said->mode == RP_REPLAY_FULL)
        return RP_OK;
    if (said->mode == RP_REPLAY_SAMPLE) {
        status = draw(&found, run, said, err);
    } else {
        found.steps = said->steps;
        measure_range(&found, run, said);
    }
    if (status != RP_OK || (found.steps == said->steps && found.first == said->first && found.last == said->last &&
                            found.segments == said->segments))
        return status;
    return rp_fail(
        err, RP_ESIGN,
        "%s: contradicts itself: %llu segments with %llu of the steps %llu to %llu, but what it names of this "
        "run are %llu segments with %llu of the steps %llu to %llu",
        one->member, (unsigned long long)said->segments, (unsigned long long)said->steps,
        (unsigned long long)said->first, (unsigned long long)said->last, (unsigned long long)found.segments,
        (unsigned long long)found.steps, (unsigned long long)found.first, (unsigned long long)found.last);
}

/* All of a run is all of its members; of a part of it no more than there are. */
static rp_status check_members(const extent *run, const rp_verified_statement *one, rp_error *err)
{
    const rp_verdict *v = one->verdict;
    const bool all = v->identical && v->scope.mode == RP_REPLAY_FULL;

    if (all ? v->members == run->members : v->members <= run->members)
        return RP_OK;
    return rp_fail(err, RP_ESIGN, "%s: contradicts itself: %llu members compared%s, this archive has %llu", one->member,
                   (unsigned long long)v->members, all ? " in a replay of all" : "", (unsigned long long)run->members);
}

/* What run it was, and what it started from. */
static rp_status check_run(const extent *run, const rp_verified_statement *one, rp_error *err)
{
    const rp_verdict *v = one->verdict;
    const char *kind = rp_archive_kind(run->archive), *parent = rp_parent_id(run->archive);

    if (strcmp(v->kind, kind) != 0)
        return rp_fail(err, RP_ESIGN, "%s: is about a run of kind %s, this one is of kind %s", one->member, v->kind,
                       kind);
    if (strcmp(v->parent, parent ? parent : "") == 0)
        return RP_OK;
    return rp_fail(err, RP_ESIGN, "%s: is about a run that started from %s, this one from %s", one->member,
                   *v->parent ? v->parent : "no other", parent ? parent : "no other");
}

static rp_status check(const extent *run, const rp_verified_statement *one, rp_error *err)
{
    const rp_replay_scope *said = &one->verdict->scope;
    rp_status status;

    if (said->segments_total != run->segments)
        return rp_fail(err, RP_ESIGN, "%s: is about a run of %llu segments, this one has %llu", one->member,
                       (unsigned long long)said->segments_total, (unsigned long long)run->segments);
    if (said->steps_total != run->steps)
        return rp_fail(err, RP_ESIGN, "%s: is about a run of %llu steps, this one has %llu", one->member,
                       (unsigned long long)said->steps_total, (unsigned long long)run->steps);
    if (said->trials_total != run->trials)
        return rp_fail(err, RP_ESIGN, "%s: is about a run with %llu trials, this one has %llu", one->member,
                       (unsigned long long)said->trials_total, (unsigned long long)run->trials);
    status = check_run(run, one, err);
    if (status == RP_OK)
        status = check_part(run, one, err);
    return status == RP_OK ? check_members(run, one, err) : status;
}

rp_status rp_scopes_check(const rp_archive *archive, const rp_verification *result, rp_error *err)
{
    extent run = {0};
    bool described = true, measured = false;
    rp_status status = RP_OK;

    for (size_t i = 0; i < result->statements && described && status == RP_OK; i++) {
        if (result->statement[i].verdict == NULL)
            continue;
        if (!measured)
            status = measure(&run, &described, archive, err);
        measured = true;
        if (status == RP_OK && described)
            status = check(&run, &result->statement[i], err);
        if (status == RP_OK && !described)
            status = rp_fail(err, RP_ESIGN, "%s: is about a run, but " RP_MANIFEST_NAME " has no steps",
                             result->statement[i].member);
    }
    return status;
}
