/* SPDX-License-Identifier: Apache-2.0
 * reprise profile: where the time of a run's steps goes, of a recipe's run that is made for it or an archive's replay.
 */
#include <string.h>

#include "base/file.h"
#include "cli/limits.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "cli/signing/defaults.h"
#include "cli/signing/key_files.h"

enum { STEPS = 100, SKIPPED = 2, ROWS = 20, MOST = 1 << 30 };

typedef struct request {
    const char *path, *steps, *skip, *rows, *trace, *level, *device, *withheld;
    size_t n_steps, n_skip, n_rows;
    rp_text_list trust;
    unsigned threads;
    bool force;
    rp_limits limits;
} request;

static rp_status numbers(request *r, rp_error *err)
{
    rp_status status;

    r->n_steps = STEPS;
    r->n_skip = SKIPPED;
    r->n_rows = ROWS;
    status = rp_number_option(&r->n_steps, r->steps, "profile", "--steps", 0, MOST, err);
    if (status == RP_OK)
        status = rp_number_option(&r->n_skip, r->skip, "profile", "--skip", 0, MOST, err);
    return status == RP_OK ? rp_number_option(&r->n_rows, r->rows, "profile", "--rows", 0, MOST, err) : status;
}

static rp_status parse(rp_session *session, int argc, char **argv, request *r, rp_error *err)
{
    static const char *const names[] = {"RECIPE|ARCHIVE"};
    const rp_option options[] = {
        {0, "steps", RP_OPTION_TEXT, "N", "time N steps (default: 100; 0: all)", &r->steps, false},
        {0, "skip", RP_OPTION_TEXT, "N", "make N steps before the clock begins (default: 2)", &r->skip, false},
        {0, "rows", RP_OPTION_TEXT, "N", "show the N longest of each table (default: 20; 0: all)", &r->rows, false},
        {0, "trace", RP_OPTION_TEXT, "FILE.json", "write a trace for chrome://tracing and Perfetto", &r->trace, false},
        {0, "force", RP_OPTION_FLAG, NULL, "replace FILE.json if it exists", &r->force, false},
        {0, "trust", RP_OPTION_LIST, "PUB.pem",
         "of an archive: verify the signature with this public key first (default: REPRISE_TRUST)", &r->trust, false},
        RP_OPTION_WITHHELD(&r->withheld),
        RP_OPTION_LIMITS(&r->limits),
        RP_OPTION_THREADS(&r->threads),
        RP_OPTION_ISA(&r->level),
        RP_OPTION_DEVICE(&r->device),
    };
    const rp_usage usage = {
        "profile RECIPE.yaml|ARCHIVE [options]",
        "Makes steps of a recipe's run, recorded as `reprise run` records them but without a file, or replays an\n"
        "archive's, and tells of every operation time, bytes and arithmetic beside what this host can do at most,\n"
        "measured in the same minute; what is no operation has rows of its own, so all rows together are the wall\n"
        "time (docs/inside.md). No bit changes by it. Of an archive every step is compared: exit 3 where one differs.",
        "  reprise profile loans.yaml --threads 1 --trace trace.json\n  reprise profile loans.reprise --steps 0 --json",
        names,
        1,
        options,
        RP_COUNT(options)};
    rp_status status = rp_options_parse(session, &usage, argc, argv, &r->path, err);

    if (status != RP_OK || session->helped)
        return status;
    status = numbers(r, err);
    if (status == RP_OK)
        status = rp_device_option("profile", r->device, err);
    if (status == RP_OK && r->trace)
        status = rp_file_keep(r->trace, r->path, "what is profiled", err);
    if (status == RP_OK && r->trace && !r->force && rp_file_exists(r->trace))
        status =
            rp_fail(err, RP_EEXIST, "%s: already exists: choose another name, or give --force to replace it", r->trace);
    return status;
}

static bool is_recipe(const char *path)
{
    static const char *const suffixes[] = {".yaml", ".yml", ".json"};
    const size_t length = strlen(path);

    for (size_t i = 0; i < RP_COUNT(suffixes); i++)
        if (length >= strlen(suffixes[i]) && strcmp(path + length - strlen(suffixes[i]), suffixes[i]) == 0)
            return true;
    return false;
}

static rp_status of_recipe(const request *r, const rp_profile_options *profile, const rp_job_options *options,
                           rp_profile **out, rp_error *err)
{
    if (r->withheld || r->trust.count)
        return rp_fail(err, RP_EARG, "profile: --%s belongs to an archive; %s is a recipe",
                       r->withheld ? "withheld" : "trust", r->path);
    return rp_profile_recipe(r->path, r->n_skip, r->n_steps, profile, options, out, err);
}

static rp_status of_archive(rp_session *session, request *r, const rp_profile_options *profile,
                            const rp_job_options *options, char id[RP_DIGEST_HEX], rp_profile **out, rp_error *err)
{
    rp_archive *archive = NULL;
    rp_verification *verified = NULL;
    rp_status status = rp_default_trust(session, &r->trust, true, err);

    if (status == RP_OK)
        status = rp_archive_open_trusted(&archive, &verified, r->path, &r->trust, err);
    if (status == RP_OK && r->withheld)
        status = rp_archive_disclose(archive, r->withheld, err);
    if (status == RP_OK)
        status = rp_profile_archive(archive, r->n_skip, r->n_steps, profile, options, out, err);
    if (status != RP_OK)
        (void)rp_fail_at(err, status, "%s", r->path);
    else
        memcpy(id, rp_archive_id(archive), RP_DIGEST_HEX);
    rp_verification_free(verified);
    rp_archive_close(archive);
    return status;
}

static rp_status save_trace(const request *r, const rp_profile *profile, rp_error *err)
{
    char *text;
    rp_status status = rp_profile_trace(profile, &text, err);

    if (status == RP_OK)
        status = rp_file_save(r->trace, text, strlen(text), r->force, 0644, err);
    rp_text_free(text);
    return status;
}

static rp_status put(rp_session *session, const request *r, const char *id, const rp_profile *profile, rp_error *err)
{
    rp_buffer *out = &session->out;
    char *text = NULL;
    rp_status status = r->trace ? save_trace(r, profile, err) : RP_OK;

    if (status == RP_OK)
        status = session->json ? rp_profile_json(profile, &text, err) : rp_profile_text(profile, r->n_rows, &text, err);
    if (status == RP_OK && session->json) {
        rp_put_open(out, NULL, '{');
        rp_put_text(out, "archive_id", *id ? id : NULL);
        rp_put_text(out, "path", r->path);
        rp_put_raw(out, "profile", text);
        rp_put_text(out, "trace", r->trace);
        rp_put_close(out, '}');
    } else if (status == RP_OK) {
        rp_put_plain(out, text); /* names come from the archive */
        if (r->trace)
            rp_put_line(session, "written", "%s", r->trace);
    }
    rp_text_free(text);
    return status;
}

rp_status rp_command_profile(rp_session *session, int argc, char **argv, rp_error *err)
{
    request r = {0};
    rp_profile *profile = NULL;
    char id[RP_DIGEST_HEX] = "";
    rp_meter meter;
    rp_status status = parse(session, argc, argv, &r, err);
    rp_job_options options = {
        .threads = r.threads, .level = r.level, .device = r.device, .progress = rp_meter_update, .self = &meter};
    const rp_profile_options what = {.trace = r.trace != NULL};

    if (status != RP_OK || session->helped)
        return status;
    status = rp_limits_resolve(&r.limits, "profile", &options, err);
    if (status != RP_OK)
        return status;
    rp_meter_begin(&meter, "timing");
    status = is_recipe(r.path) ? of_recipe(&r, &what, &options, &profile, err)
                               : of_archive(session, &r, &what, &options, id, &profile, err);
    rp_meter_end(&meter);
    if (status == RP_OK)
        status = put(session, &r, id, profile, err);
    rp_profile_free(profile);
    return status;
}
