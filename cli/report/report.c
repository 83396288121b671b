/* SPDX-License-Identifier: Apache-2.0
 * reprise report: an archive as one HTML page for people who decide. */
#include <string.h>

#include "base/file.h"
#include "cli/signing/defaults.h"
#include "cli/signing/key_files.h"
#include "cli/print.h"

typedef struct request {
    const char *archive, *out, *withheld, *policy, *dossier;
    rp_text_list trust, parents;
    bool force;
} request;

static rp_status parse(rp_session *session, int argc, char **argv, request *r, rp_error *err)
{
    static const char *const names[] = {"ARCHIVE"};
    const rp_option options[] = {
        {'o', "out", RP_OPTION_TEXT, "FILE", "the HTML file to write", &r->out, true},
        {0, "trust", RP_OPTION_LIST, "PUB.pem",
         "verify the signature with this public key first (default: REPRISE_TRUST)", &r->trust, false},
        RP_OPTION_WITHHELD(&r->withheld),
        RP_OPTION_PARENT_LINE(&r->parents),
        {0, "policy", RP_OPTION_TEXT, "POLICY.yaml", "hold the archive against this policy and report every clause",
         &r->policy, false},
        {0, "dossier", RP_OPTION_TEXT, "ORDER", "tell the evidence in the order of annex-iv, art31 or sr26-2",
         &r->dossier, false},
        {0, "force", RP_OPTION_FLAG, NULL, "replace FILE if it exists", &r->force, false},
    };
    const rp_usage usage = {
        "report ARCHIVE -o REPORT.html [--trust PUB.pem ...] [options]",
        "Writes one HTML page: what model for what use, how good, stable and fair, verified, replayed and "
        "decided by whom;\n"
        "then figures, plots, data, model, training, statements and digests.\n"
        "It needs no network and no scripts, and prints on A4. The same archive, keys and policy give the same bytes.\n"
        "Where the policy is not met the page is written, says so first, and the exit code is 4.",
        "  reprise report loans.reprise -o loans.html --trust me.pub.pem",
        names,
        1,
        options,
        RP_COUNT(options)};

    rp_status status = rp_options_parse(session, &usage, argc, argv, &r->archive, err);

    return status == RP_OK && !session->helped ? rp_default_trust(session, &r->trust, !r->policy, err) : status;
}

static void put_result(rp_session *session, const request *r, const rp_archive *archive,
                       const rp_verification *verified, size_t length)
{
    rp_buffer *out = &session->out;

    if (session->json) {
        rp_put_open(out, NULL, '{');
        rp_put_text(out, "archive_id", rp_archive_id(archive));
        rp_put_integer(out, "bytes", length);
        rp_put_text(out, "path", r->out);
        rp_put_policy_json(out, "policy", verified ? verified->policy : NULL);
        rp_put_bool(out, "verified", verified != NULL && (!verified->policy || verified->policy->unmet == 0));
        rp_put_close(out, '}');
        return;
    }
    rp_put_line(session, "archive", "%s", rp_archive_id(archive));
    rp_put_line(session, "written", "%s: %zu bytes", r->out, length);
    if (verified) {
        rp_put_signers(session, verified);
        rp_put_policy_lines(session, verified->policy);
    } else
        rp_put_line(session, "signature", "not checked: give --trust PUB.pem");
}

static rp_status choose_dossier(rp_dossier *out, const char *name, rp_error *err)
{
    static const char *const names[] = {"", "annex-iv", "art31", "sr26-2"};

    *out = RP_DOSSIER_NONE;
    for (size_t i = 1; name && i < RP_COUNT(names); i++)
        if (strcmp(name, names[i]) == 0)
            *out = (rp_dossier)i;
    return name && *out == RP_DOSSIER_NONE
               ? rp_fail(err, RP_EARG, "report: --dossier %s: expected annex-iv, art31 or sr26-2", name)
               : RP_OK;
}

/* The report's bytes; the parent is only told of when it is the one. */
static rp_status make(const request *r, const rp_archive *archive, const rp_verification *verified, char **html,
                      size_t *length, rp_error *err)
{
    rp_archive *parent = NULL;
    rp_report_options options = {0};
    rp_status status = choose_dossier(&options.dossier, r->dossier, err);

    if (status == RP_OK && r->parents.count)
        status = rp_archive_open_confirmed(&parent, r->parents.item[0], err);
    if (status == RP_OK && parent)
        status = rp_check_parent(archive, parent, err);
    options.parent = parent;
    if (status == RP_OK)
        status = rp_report(archive, verified, &options, html, length, err);
    rp_archive_close(parent);
    return status;
}

static rp_status report(rp_session *session, const request *r, rp_error *err)
{
    rp_archive *archive = NULL;
    rp_verification *verified = NULL;
    char *html = NULL;
    size_t length = 0;
    rp_status status;

    if (!r->force && rp_file_exists(r->out))
        return rp_fail(err, RP_EEXIST, "%s: already exists: choose another name, or give --force to replace it",
                       r->out);
    status = rp_file_keep(r->out, r->archive, "the archive", err);
    for (size_t i = 0; i < r->parents.count && status == RP_OK; i++)
        status = rp_file_keep(r->out, r->parents.item[i], "--parent", err);
    if (status == RP_OK)
        status = rp_file_keep(r->out, r->policy, "--policy", err);
    if (status != RP_OK)
        return status;
    status = r->policy ? rp_archive_open_policy(&archive, &verified, r->archive, &r->trust, r->policy, &r->parents, err)
                       : rp_archive_open_trusted(&archive, &verified, r->archive, &r->trust, err);
    if (status == RP_OK && r->withheld)
        status = rp_archive_disclose(archive, r->withheld, err);
    if (status == RP_OK)
        status = make(r, archive, verified, &html, &length, err);
    if (status == RP_OK)
        status = rp_file_save(r->out, html, length, r->force, 0644, err);
    if (status == RP_OK)
        put_result(session, r, archive, verified, length);
    if (status == RP_OK && verified)
        rp_policy_verdict(session, r->archive, verified->policy);
    rp_text_free(html);
    rp_verification_free(verified);
    rp_archive_close(archive);
    return status;
}

rp_status rp_command_report(rp_session *session, int argc, char **argv, rp_error *err)
{
    request r = {0};
    rp_status status = parse(session, argc, argv, &r, err);

    return status == RP_OK && !session->helped ? report(session, &r, err) : status;
}
