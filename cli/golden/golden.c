/* SPDX-License-Identifier: Apache-2.0
 * reprise golden: the command line of recording and checking a folder of goldens. */
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "cli/golden/golden.h"
#include "cli/options.h"

typedef struct request {
    const char *operand[2]; /* record or check; the folder */
    const char *reason, *junit;
    rp_job_options job;
    bool force, record, nonconforming;
} request;

static rp_status check_request(request *r, rp_error *err)
{
    static const char *const actions[] = {"record", "check"};
    const char *action = r->operand[0], *near = rp_nearest(action, actions, 2);
    char word[40];

    r->record = strcmp(action, "record") == 0;
    if (!r->record && strcmp(action, "check") != 0)
        return rp_fail(err, RP_EARG, "golden: expected record or check, found %s%s%s%s; see reprise golden --help",
                       rp_printable(word, sizeof word, action, strlen(action)), near ? ": did you mean " : "",
                       near ? near : "", near ? "?" : "");
    if (r->record && r->junit)
        return rp_fail(err, RP_EARG, "golden record: --junit belongs to golden check");
    if (!r->record && (r->force || r->reason))
        return rp_fail(err, RP_EARG, "golden check: --%s belongs to golden record", r->force ? "force" : "reason");
    if (r->force && (!r->reason || !*r->reason))
        return rp_fail(err, RP_EARG, "golden record: --force changes goldens: say why with --reason TEXT");
    return RP_OK;
}

static rp_status parse(rp_session *session, int argc, char **argv, request *r, rp_error *err)
{
    static const char *const names[] = {"record or check", "DIR"};
    const rp_option options[] = {
        {0, "junit", RP_OPTION_TEXT, "FILE", "check: also write the verdicts as JUnit XML (replaces FILE)", &r->junit,
         false},
        {0, "force", RP_OPTION_FLAG, NULL, "record: replace goldens that differ; needs --reason", &r->force, false},
        {0, "reason", RP_OPTION_TEXT, "TEXT", "record: why; kept in golden.json", &r->reason, false},
        RP_OPTION_THREADS(&r->job.threads),
        RP_OPTION_ISA(&r->job.level),
        RP_OPTION_DEVICE(&r->job.device),
        RP_OPTION_NONCONFORMING(&r->nonconforming),
    };
    const rp_usage usage = {
        "golden record DIR [--force --reason TEXT] | golden check DIR [--junit FILE]",
        "record runs every recipe of DIR (*.yaml) and writes its archive beside it, and golden.json with ids and\n"
        "hashes of all archives of DIR, those without a recipe included. check runs and replays all of them and\n"
        "compares every byte: exit 3 and the first differing step where one differs.",
        "  reprise golden record golden/runs\n  reprise golden check golden/runs --junit golden.xml",
        names,
        2,
        options,
        RP_COUNT(options)};
    rp_status status = rp_options_parse(session, &usage, argc, argv, r->operand, err);

    if (status == RP_OK)
        status = rp_device_option("golden", r->job.device, err);
    return status == RP_OK && !session->helped ? check_request(r, err) : status;
}

/* The file of a check that ended before its first golden, or in the middle. What cannot be written is then no further
 * error: there is one already. */
static void report_refusal(const request *r, const rp_error *err)
{
    rp_buffer xml = {0};

    rp_golden_junit_refusal(r->operand[1], err, &xml);
    if (!xml.failed)
        (void)rp_file_save(r->junit, xml.data, xml.size, true, 0644, NULL);
    rp_buffer_free(&xml);
}

static rp_status execute(rp_session *session, const request *r, rp_error *err)
{
    rp_golden_set set;
    rp_status status = rp_golden_set_load(&set, r->operand[1], err);

    if (status != RP_OK)
        return status;
    if (!r->record)
        status = rp_conforming_option("golden check", r->job.level, r->job.device, r->nonconforming, err);
    if (status == RP_OK && r->record)
        status = rp_golden_record(session, &set, &r->job, r->force, r->reason, err);
    else if (status == RP_OK)
        status = rp_golden_check(session, &set, &r->job, r->junit, err);
    rp_golden_set_free(&set);
    return status;
}

rp_status rp_command_golden(rp_session *session, int argc, char **argv, rp_error *err)
{
    request r = {0};
    rp_status status = parse(session, argc, argv, &r, err);

    if (status != RP_OK || session->helped)
        return status;
    status = execute(session, &r, err);
    if (status != RP_OK && r.junit)
        report_refusal(&r, err);
    return status;
}
