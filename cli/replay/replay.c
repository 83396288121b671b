/* SPDX-License-Identifier: Apache-2.0
 * reprise replay: computes an archive's run again from the archive alone and compares every recorded bit. */
#include "base/json.h"
#include "cli/data/used_rows.h"
#include "cli/signing/attest.h"
#include "cli/limits.h"
#include "cli/replay/replay_options.h"
#include "cli/signing/defaults.h"
#include "cli/signing/key_files.h"
#include "cli/print.h"
#include "cli/progress.h"

#include <string.h>

typedef struct request {
    const char *archive, *level, *device, *withheld, *memory;
    rp_text_list trust, parents;
    rp_lineage lineage;
    unsigned threads;
    bool nonconforming;
    rp_attestation attest;
    rp_choice choice;
    rp_limits limits;
} request;

static rp_status parse(rp_session *session, int argc, char **argv, request *r, rp_error *err)
{
    static const char *const names[] = {"ARCHIVE"};
    const rp_option options[] = {
        {0, "trust", RP_OPTION_LIST, "PUB.pem",
         "verify the signature with this public key first (default: REPRISE_TRUST)", &r->trust, false},
        RP_OPTION_WITHHELD(&r->withheld),
        RP_OPTION_THREADS(&r->threads),
        RP_OPTION_ISA(&r->level),
        RP_OPTION_DEVICE(&r->device),
        RP_OPTION_MEMORY(&r->memory),
        RP_OPTION_NONCONFORMING(&r->nonconforming),
        RP_OPTION_PARENTS(&r->parents),
        RP_OPTION_CHOICE(&r->choice),
        RP_OPTION_LIMITS(&r->limits),
        RP_OPTION_ATTEST(&r->attest),
    };
    const rp_usage usage = {
        "replay ARCHIVE [--trust PUB.pem] [options]",
        "Computes the whole run again, data preparation included, from the archive and nothing else, and\n"
        "compares every step and every member. Of a C API run, initial state,\n"
        "data and feeds are taken as given. Exit 3 and the first difference where bits differ. With --attest the\n"
        "verdict, whichever it is, is signed and added to the archive. Where a run started from another's weights,\n"
        "--parent gives its archive, which is replayed too (repeat it for the parent's own parent). A run with\n"
        "checkpoints can be replayed in part: --steps takes a range, --sample draws segments by a seed that nobody\n"
        "could know before (docs/replay.md).",
        "  reprise replay loans.reprise --threads 3 --isa ref\n"
        "  reprise replay loans.reprise --sample 5% --parallel 4\n"
        "  reprise replay loans.reprise --trust me.pub.pem --attest --key validator.pem",
        names,
        1,
        options,
        RP_COUNT(options)};

    rp_status status = rp_options_parse(session, &usage, argc, argv, &r->archive, err);

    if (status == RP_OK)
        status = rp_device_option("replay", r->device, err);
    if (status == RP_OK && !session->helped)
        status = rp_default_trust(session, &r->trust, true, err);
    if (status == RP_OK && !session->helped)
        status = rp_default_key(session, &r->attest.key_path, r->attest.wanted, err);
    return status == RP_OK && !session->helped ? rp_choice_resolve(&r->choice, err) : status;
}

static rp_status put_json(rp_session *session, const request *r, const rp_archive *archive,
                          const rp_verification *verified, const rp_job *job, const rp_json *metrics, rp_error *err)
{
    rp_buffer *out = &session->out;
    rp_status status;

    rp_put_open(out, NULL, '{');
    rp_put_text(out, "archive_id", rp_archive_id(archive));
    rp_put_text(out, "attested", r->attest.key ? r->attest.member : NULL);
    rp_put_text(out, "device", *job->device ? job->device : NULL);
    rp_put_bool(out, "identical", true);
    rp_put_text(out, "kind", rp_archive_kind(archive));
    rp_put_text(out, "level", job->level);
    rp_put_integer(out, "members", job->members);
    if (metrics)
        rp_put_metrics(out, "metrics", metrics);
    else
        rp_put_json(out, "metrics", NULL);
    rp_parent_put_json(session, archive, &r->lineage);
    rp_put_text(out, "path", r->archive);
    rp_put_text(out, "pinned_to", *job->pinned_to ? job->pinned_to : NULL);
    status = rp_used_rows_put_json(session, archive, err);
    if (status == RP_OK)
        status = rp_choice_put_json(session, job, err);
    rp_put_seconds(out, "seconds", job->seconds);
    rp_put_integer(out, "steps", job->steps);
    rp_put_integer(out, "threads", job->threads);
    rp_put_bool(out, "verified", verified != NULL);
    rp_put_close(out, '}');
    return status;
}

static rp_status put_lines(rp_session *session, const request *r, const rp_archive *archive,
                           const rp_verification *verified, const rp_job *job, const rp_json *metrics, rp_error *err)
{
    char seconds[RP_NUMBER_TEXT];
    rp_status status;

    if (job->scope.mode == RP_REPLAY_FULL)
        rp_put_verdict(session, true, "identical", "%s: %llu steps and %zu members, every bit", r->archive,
                       (unsigned long long)job->steps, job->members);
    else
        rp_put_verdict(session, true, "identical", "%s: %llu of %llu steps and %zu members, every bit", r->archive,
                       (unsigned long long)job->steps, (unsigned long long)job->scope.steps_total, job->members);
    status = rp_choice_put_lines(session, job, err);
    rp_put_line(session, "archive", "%s", rp_archive_id(archive));
    rp_parent_put_line(session, archive, &r->lineage);
    rp_kind_put_line(session, archive);
    rp_pinned_put_line(session, job->pinned_to);
    if (status == RP_OK)
        status = rp_used_rows_put_line(session, archive, job->scope.mode == RP_REPLAY_FULL, err);
    rp_put_metric_lines(session, metrics);
    rp_put_line(session, "time", "%s s on %u %s, kernels %s", rp_fixed(seconds, job->seconds, 2), job->threads,
                job->threads == 1 ? "thread" : "threads", *job->device ? job->device : job->level);
    if (verified)
        rp_put_signers(session, verified);
    else
        rp_put_line(session, "signature", "not checked: give --trust PUB.pem");
    if (r->attest.key)
        rp_put_line(session, "attested", "%s", r->attest.member);
    return status;
}

rp_status rp_command_replay(rp_session *session, int argc, char **argv, rp_error *err)
{
    request r = {0};
    rp_archive *archive = NULL;
    rp_verification *verified = NULL;
    rp_job *job = NULL;
    rp_json *metrics = NULL;
    rp_meter meter;
    rp_status status = parse(session, argc, argv, &r, err);
    rp_job_options options = {.threads = r.threads,
                              .level = r.level,
                              .device = r.device,
                              .progress = rp_meter_update,
                              .self = &meter,
                              .begun = &r.attest.outcome.begun,
                              .choice = &r.choice.choice};

    if (status != RP_OK || session->helped)
        return status;
    status = rp_limits_resolve(&r.limits, "replay", &options, err);
    if (status == RP_OK)
        status = rp_memory_option(&options.memory, r.memory, "replay", err);
    if (status == RP_OK)
        status = rp_attestation_begin(&r.attest, r.archive, err);
    if (status == RP_OK)
        status = rp_archive_open_trusted(&archive, &verified, r.archive, &r.trust, err);
    if (status == RP_OK && r.withheld)
        status = rp_archive_disclose(archive, r.withheld, err);
    if (status == RP_OK)
        status = rp_conforming_option("replay", r.level, r.device, r.nonconforming, err);
    if (status == RP_OK && r.parents.count) {
        rp_meter_begin(&meter, "replaying the parent");
        status = rp_lineage_replay(&r.lineage, archive, &r.parents, &options, err);
        rp_meter_end(&meter);
    }
    r.attest.outcome.parent_checked = r.lineage.whole;
    if (status == RP_OK) {
        rp_meter_begin(&meter, "replaying");
        status = rp_replay(archive, &options, &job, err);
        rp_meter_end(&meter);
        if (status == RP_EUNSUPPORTED)
            (void)rp_replay_host(archive, r.device, &session->host, NULL); /* the error says it without the table too */
        status = rp_attestation_end(&r.attest, r.archive, archive, job, status, err);
        if (status != RP_OK)
            (void)rp_fail_at(err, status, "%s", r.archive);
    }
    if (status == RP_OK)
        metrics = rp_metrics_of(job);
    if (status == RP_OK)
        status = (session->json ? put_json : put_lines)(session, &r, archive, verified, job, metrics, err);
    rp_json_free(metrics);
    rp_attestation_free(&r.attest);
    rp_job_free(job);
    rp_verification_free(verified);
    rp_archive_close(archive);
    return status;
}
