/* SPDX-License-Identifier: Apache-2.0
 * reprise inspect: what an archive holds, in short, or one member's bytes. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "cli/archive_files.h"
#include "cli/coefficients.h"
#include "cli/data/used_rows.h"
#include "cli/inside/step.h"
#include "cli/print.h"

typedef struct request {
    const char *archive, *member, *out;
    bool force, programs, coefficients;
    rp_inspect_step step;
} request;

#define ABOUT \
    "Shows the archive's id, versions, recipe, metrics and members. Every hash of the manifest is checked;\n" \
    "who signed is not: what signatures say of themselves is listed as unchecked, and `reprise verify` checks it.\n" \
    "Of programs and functions X is the number of instructions that are executed, W of operations on elements,\n" \
    "M of bytes of values; `reprise replay` has --max-work and --max-memory for W and M (docs/replay.md)."
#define ABOUT_STEP \
    "\nWith --step it lists the program of that step; with --op or --input too the run is computed to there, each\n" \
    "step compared with the journal, and the tensor shown: type, statistics, histogram, first elements, digest\n" \
    "(docs/inside.md). Exit 3 where the step has other bits here than recorded."
#define EXAMPLE "  reprise inspect loans.reprise --programs\n  reprise inspect loans.reprise --member run/recipe.json"
#define EXAMPLE_STEP "\n  reprise inspect loans.reprise --step 12\n  reprise inspect loans.reprise --step 12 --op 0/3/9"

static rp_status parse(rp_session *session, int argc, char **argv, request *r, rp_error *err)
{
    static const char *const names[] = {"ARCHIVE"};
    const rp_option options[] = {
        {0, "member", RP_OPTION_TEXT, "NAME", "write this member's bytes to stdout, or to the file of --out",
         &r->member, false},
        {'o', "out", RP_OPTION_TEXT, "FILE", "where --member goes", &r->out, false},
        {0, "force", RP_OPTION_FLAG, NULL, "replace FILE if it exists", &r->force, false},
        {0, "programs", RP_OPTION_FLAG, NULL, "also list what each program and its functions cost before they run",
         &r->programs, false},
        {0, "coefficients", RP_OPTION_FLAG, NULL, "also show an exact fit's table of coefficients", &r->coefficients,
         false},
        RP_OPTION_INSPECT_STEP(&r->step),
    };
    const rp_usage usage = {
        rp_program_computes ? "inspect ARCHIVE [--programs] [--coefficients]|--member NAME [-o FILE]|--step N [options]"
                            : "inspect ARCHIVE [--programs] [--coefficients]|--member NAME [-o FILE] [options]",
        rp_program_computes ? ABOUT ABOUT_STEP : ABOUT,
        rp_program_computes ? EXAMPLE EXAMPLE_STEP : EXAMPLE,
        names,
        1,
        options,
        RP_COUNT(options) - (rp_program_computes ? 0 : RP_INSPECT_STEP_OPTIONS)};
    rp_status status = rp_options_parse(session, &usage, argc, argv, &r->archive, err);

    if (status != RP_OK || session->helped)
        return status;
    if (!r->member && (r->out || (r->force && !r->step.npy)))
        return rp_fail(err, RP_EARG, "inspect: --%s belongs to --member NAME; see reprise inspect --help",
                       r->out ? "out" : "force");
    if (r->member && (r->programs || r->coefficients))
        return rp_fail(err, RP_EARG, "inspect: --member and --%s exclude each other; see reprise inspect --help",
                       r->programs ? "programs" : "coefficients");
    if (r->coefficients && session->json)
        return rp_fail(err, RP_EARG,
                       "inspect: --coefficients is a table for people; --member outputs/coefficients.json is JSON");
    if (r->member && !r->out && session->json)
        return rp_fail(err, RP_EARG,
                       "inspect: --member writes raw bytes to stdout, which --json needs: give -o FILE too");
    if (r->step.step && (r->member || r->programs || r->coefficients))
        return rp_fail(err, RP_EARG, "inspect: --step and --%s exclude each other; see reprise inspect --help",
                       r->member     ? "member"
                       : r->programs ? "programs"
                                     : "coefficients");
    return rp_inspect_step_resolve(&r->step, err);
}

static rp_status no_such_member(const request *r, const rp_archive *archive, rp_error *err)
{
    size_t n = rp_archive_member_count(archive);
    const char **names = rp_reallocarray(NULL, n, sizeof *names), *near;
    char word[RP_MEMBER_NAME];

    if (!names)
        return rp_no_memory(err);
    for (size_t i = 0; i < n; i++)
        names[i] = rp_archive_member(archive, i)->name;
    rp_printable(word, sizeof word, r->member, strlen(r->member));
    near = rp_nearest(word, names, n);
    rp_free(names);
    return rp_fail(err, RP_EARG, "%s: has no member %s%s%s%s; reprise inspect %s lists them", r->archive, word,
                   near ? ": did you mean " : "", near ? near : "", near ? "?" : "", r->archive);
}

static rp_status take_out(rp_session *session, const request *r, const rp_archive *archive, rp_error *err)
{
    const rp_member *member = rp_archive_find(archive, r->member);
    rp_buffer bytes = {0};
    rp_status status;

    if (!member)
        return no_such_member(r, archive, err);
    status = rp_file_keep(r->out, r->archive, "the archive", err);
    if (status == RP_OK)
        status = rp_member_load(archive, member, &bytes, err);
    if (status == RP_OK && !r->out) {
        session->out = bytes;
        return RP_OK;
    }
    if (status == RP_OK)
        status = rp_file_save(r->out, bytes.data, bytes.size, r->force, 0644, err);
    rp_buffer_free(&bytes);
    if (status == RP_OK && session->json) {
        rp_put_open(&session->out, NULL, '{');
        rp_put_integer(&session->out, "bytes", member->size);
        rp_put_text(&session->out, "member", member->name);
        rp_put_text(&session->out, "path", r->out);
        rp_put_close(&session->out, '}');
    } else if (status == RP_OK) {
        rp_put_line(session, "written", "%s: %s, %llu bytes", r->out, member->name, (unsigned long long)member->size);
    }
    return status;
}

/* The parsed members that say something about the whole. */
typedef struct summary {
    rp_json *manifest, *recipe, *metrics;
} summary;

static rp_status load_summary(const rp_archive *archive, summary *s, rp_error *err)
{
    rp_status status = rp_manifest_load_head(archive, &s->manifest, err);

    if (status == RP_OK)
        status = rp_member_load_json(archive, RP_RECIPE_MEMBER, &s->recipe, err);
    if (status == RP_OK)
        status = rp_member_load_json(archive, RP_METRICS_MEMBER, &s->metrics, err);
    return status;
}

static bool is_statement(const rp_member *member)
{
    return strncmp(member->name, RP_SIGNATURES, sizeof RP_SIGNATURES - 1) == 0;
}

static rp_status put_claims_json(rp_session *session, const rp_archive *archive, rp_error *err)
{
    rp_status status = RP_OK;

    rp_put_open(&session->out, "statements", '[');
    for (size_t i = 0; i < rp_archive_member_count(archive) && status == RP_OK; i++) {
        const rp_member *member = rp_archive_member(archive, i);
        rp_claim claim;

        status = rp_archive_claim(archive, member, &claim, err);
        if (status != RP_OK || !claim.kind)
            continue;
        rp_put_open(&session->out, NULL, '{');
        rp_put_bool(&session->out, "checked", false);
        rp_put_text(&session->out, "key_id", *claim.key_id ? claim.key_id : NULL);
        rp_put_text(&session->out, "kind", claim.kind);
        rp_put_text(&session->out, "member", member->name);
        rp_put_close(&session->out, '}');
    }
    rp_put_close(&session->out, ']');
    return status;
}

/* What each says of itself; whether it is so, verify tells. */
static rp_status put_claims(rp_session *session, const rp_archive *archive, rp_error *err)
{
    rp_status status = RP_OK;

    for (size_t i = 0; i < rp_archive_member_count(archive) && status == RP_OK; i++) {
        const rp_member *member = rp_archive_member(archive, i);
        rp_claim claim;

        status = rp_archive_claim(archive, member, &claim, err);
        if (status == RP_OK && claim.kind)
            rp_put_line(session, "unchecked", "%s%s%s: %s", claim.kind, *claim.key_id ? " by key " : "", claim.key_id,
                        member->name);
    }
    return status;
}

static rp_status put_json(rp_session *session, const request *r, const rp_archive *archive, const summary *s,
                          rp_error *err)
{
    rp_buffer *out = &session->out;
    rp_status status = RP_OK;

    rp_put_open(out, NULL, '{');
    rp_put_text(out, "archive_id", rp_archive_id(archive));
    rp_put_json(out, "contract", rp_json_object_get(s->manifest, "contract"));
    rp_put_json(out, "format", rp_json_object_get(s->manifest, "format"));
    rp_put_json(out, "kind", rp_json_object_get(s->manifest, "kind"));
    rp_put_open(out, "members", '[');
    for (size_t i = 0; i < rp_archive_member_count(archive); i++) {
        const rp_member *member = rp_archive_member(archive, i);
        char hex[RP_DIGEST_HEX];

        rp_digest_hex(hex, &member->digest);
        rp_put_open(out, NULL, '{');
        rp_put_text(out, "name", member->name);
        rp_put_text(out, "sha256", hex);
        rp_put_integer(out, "size", member->size);
        rp_put_close(out, '}');
    }
    rp_put_close(out, ']');
    if (s->metrics)
        rp_put_metrics(out, "metrics", s->metrics);
    else
        rp_put_json(out, "metrics", NULL);
    rp_put_json(out, "profile", rp_json_object_get(s->manifest, "profile"));
    if (r->programs)
        status = rp_programs_put(session, archive, err);
    rp_put_json(out, "recipe", s->recipe);
    if (status == RP_OK)
        status = rp_used_rows_put_json(session, archive, err);
    rp_put_json(out, "run", rp_json_object_get(s->manifest, "run"));
    if (status == RP_OK)
        status = put_claims_json(session, archive, err);
    rp_put_open(out, "withheld", '[');
    for (size_t i = 0; i < rp_archive_withheld_count(archive); i++)
        rp_put_text(out, NULL, rp_archive_withheld(archive, i));
    rp_put_close(out, ']');
    rp_put_close(out, '}');
    return status;
}

static rp_status put_coefficients(rp_session *session, const request *r, const rp_archive *archive, rp_error *err)
{
    static const char member[] = RP_COEFFICIENTS_MEMBER;
    rp_json *table = NULL;
    rp_status status = rp_member_load_json(archive, member, &table, err);

    for (size_t i = 0; !table && i < rp_archive_withheld_count(archive) && status == RP_OK; i++)
        if (strcmp(rp_archive_withheld(archive, i), member) == 0)
            return rp_fail(err, RP_EARG,
                           "%s: %s was left out of this archive, into the folder that its maker named by --withhold; "
                           "reprise report --withheld DIR shows it",
                           r->archive, member);
    if (status == RP_OK && !table)
        return rp_fail(err, RP_EARG, "%s: has no %s, which only exact fits have", r->archive, member);
    if (status == RP_OK) {
        rp_buffer_u8(&session->out, '\n');
        rp_put_coefficients(&session->out, table, SIZE_MAX);
        rp_put_fit_figures(&session->out, table);
    }
    rp_json_free(table);
    return status;
}

/* What a run is pinned to, of those whose products were a library's. */
static void put_pinned(rp_session *session, const rp_json *pinned)
{
    const rp_json *chip = rp_json_object_get(pinned, "chip"), *library = rp_json_object_get(pinned, "library");

    if (!pinned)
        return;
    rp_put_line(session, "pinned", "%s products by %s %lld on %s (%lld multiprocessors): replayed there alone",
                rp_json_string_value(rp_json_object_get(pinned, "compute")),
                rp_json_string_value(rp_json_object_get(library, "name")),
                (long long)rp_json_integer_value(rp_json_object_get(library, "version")),
                rp_json_string_value(rp_json_object_get(chip, "name")),
                (long long)rp_json_integer_value(rp_json_object_get(chip, "multiprocessors")));
}

static void put_parent(rp_session *session, const rp_archive *archive)
{
    rp_pinned_to to;

    if (!rp_parent_id(archive))
        return;
    rp_archive_pinned_to(archive, &to);
    rp_put_line(session, "parent", "%.64s, not checked here: reprise verify --parent", rp_parent_id(archive));
    if (*to.line)
        rp_put_line(session, "pinned", "what it started from is, to %s (archive %s)", to.line, to.line_id);
    else
        rp_put_line(session, "profile",
                    "that of its parent is unknown from this archive alone, which names none pinned");
}

static rp_status put_lines(rp_session *session, const request *r, const rp_archive *archive, const summary *s,
                           rp_error *err)
{
    const char *name = rp_json_string_value(rp_json_object_get(s->recipe, "name"));
    size_t n = rp_archive_member_count(archive), statements = 0;
    const rp_json *run = rp_json_object_get(s->manifest, "run");
    long long period = (long long)rp_json_integer_value(rp_json_object_get(run, "state_period"));
    long long every = (long long)rp_json_integer_value(rp_json_object_get(run, "checkpoint_every"));
    char made[RP_DOOR_TEXT];
    const bool door = rp_door_text(archive, made);
    rp_status status;

    rp_put_line(session, "archive", "%s", rp_archive_id(archive));
    rp_put_line(session, "versions", "format %lld, contract %lld, profile %s",
                (long long)rp_json_integer_value(rp_json_object_get(s->manifest, "format")),
                (long long)rp_json_integer_value(rp_json_object_get(s->manifest, "contract")),
                rp_json_string_value(rp_json_object_get(s->manifest, "profile")));
    put_pinned(session, rp_json_object_get(run, "pinned"));
    rp_put_line(session, "run", "%s%s%s%s, %lld steps",
                !s->recipe                                                          ? made
                : rp_json_object_get(rp_json_object_get(s->recipe, "data"), "text") ? "recipe on a text"
                                                                                    : "recipe",
                door ? " by its own word" : "", name && *name ? ": " : "", name ? name : "",
                (long long)rp_json_integer_value(rp_json_object_get(rp_json_object_get(s->manifest, "run"), "steps")));
    if (period > 1)
        rp_put_line(session, "journal", "rolling state digests: each part of the state once in %lld steps", period);
    if (every > 0)
        rp_put_line(session, "states", "all of them kept after every %lld steps, as checkpoints/", every);
    put_parent(session, archive);
    status = rp_used_rows_put_line(session, archive, false, err);
    if (s->metrics)
        rp_put_metric_lines(session, s->metrics);
    for (size_t i = 0; i < n; i++)
        statements += is_statement(rp_archive_member(archive, i));
    if (statements)
        rp_put_line(session, "signatures", "%zu, not checked here: reprise verify", statements);
    else
        rp_put_line(session, "signatures", "none");
    if (status == RP_OK)
        status = put_claims(session, archive, err);
    rp_buffer_u8(&session->out, '\n');
    for (size_t i = 0; i < n; i++)
        rp_buffer_printf(&session->out, "%12llu  %s\n", (unsigned long long)rp_archive_member(archive, i)->size,
                         rp_archive_member(archive, i)->name);
    for (size_t i = 0; i < rp_archive_withheld_count(archive); i++)
        rp_buffer_printf(&session->out, "%12s  %s\n", "left out", rp_archive_withheld(archive, i));
    if (status == RP_OK && r->programs) {
        rp_buffer_u8(&session->out, '\n');
        status = rp_programs_put(session, archive, err);
    }
    return status == RP_OK && r->coefficients ? put_coefficients(session, r, archive, err) : status;
}

rp_status rp_command_inspect(rp_session *session, int argc, char **argv, rp_error *err)
{
    request r = {0};
    rp_archive *archive = NULL;
    summary s = {0};
    rp_status status = parse(session, argc, argv, &r, err);

    if (status != RP_OK || session->helped)
        return status;
    status = rp_archive_open_confirmed(&archive, r.archive, err);
    if (status == RP_OK && r.member)
        status = take_out(session, &r, archive, err);
    else if (status == RP_OK && r.step.step)
        status = rp_inspect_step_put(session, &r.step, archive, r.archive, r.force, err);
    else if (status == RP_OK)
        status = load_summary(archive, &s, err);
    if (status == RP_OK && !r.member && !r.step.step)
        status = (session->json ? put_json : put_lines)(session, &r, archive, &s, err);
    rp_json_free(s.manifest);
    rp_json_free(s.recipe);
    rp_json_free(s.metrics);
    rp_archive_close(archive);
    return status;
}
