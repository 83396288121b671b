/* SPDX-License-Identifier: Apache-2.0
 * reprise finding: what somebody found wrong about a model, or that it was settled, as a signed statement. */
#include <string.h>

#include "base/text.h"
#include "cli/archive_files.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "cli/signing/defaults.h"
#include "cli/signing/key_files.h"

typedef struct request {
    const char *archive, *key, *passphrase, *cert, *id, *severity, *text, *owner, *due;
    rp_text_list trust;
    bool close;
} request;

static rp_status parse(rp_session *session, int argc, char **argv, request *r, rp_error *err)
{
    static const char *const names[] = {"ARCHIVE"};
    const rp_option options[] = {
        {0, "id", RP_OPTION_TEXT, "ID", "what the finding is called, e.g. MRM-2026-17", &r->id, true},
        {0, "severity", RP_OPTION_TEXT, "SEVERITY", "low, medium, high or critical", &r->severity, true},
        {0, "text", RP_OPTION_TEXT, "TEXT", "what was found, or how it was settled, in one line", &r->text, true},
        {0, "owner", RP_OPTION_TEXT, "WHO", "who has to settle it", &r->owner, true},
        {0, "due", RP_OPTION_TEXT, "TIME", "until when, as 2027-03-31T00:00:00Z", &r->due, false},
        {0, "close", RP_OPTION_FLAG, NULL, "the finding of this id is settled: only who opened it closes it", &r->close,
         false},
        {0, "key", RP_OPTION_TEXT, "KEY.pem", "your private key (default: REPRISE_KEY)", &r->key, false},
        {0, "passphrase-file", RP_OPTION_TEXT, "FILE", "first line: the passphrase of KEY.pem", &r->passphrase, false},
        {0, "cert", RP_OPTION_TEXT, "CHAIN.pem", "the key's certificate, then its issuers': goes into the archive",
         &r->cert, false},
        {0, "trust", RP_OPTION_LIST, "PUB.pem",
         "verify the signature that is there with this public key first (default: REPRISE_TRUST)", &r->trust, false},
    };
    const rp_usage usage = {
        "finding ARCHIVE --id ID --severity SEVERITY --text TEXT --owner WHO --key KEY.pem [options]",
        "Adds your signed finding about the model to its archive, or says that it is settled (--close). It stands\n"
        "until the same key closes it under the same id. What may be open, a policy says: findings.",
        "  reprise finding loans.reprise --id MRM-17 --severity high --text 'no out-of-time test' --owner credit \\\n"
        "      --due 2027-03-31T00:00:00Z --key validator.pem --trust me.pub.pem",
        names,
        1,
        options,
        RP_COUNT(options)};

    rp_status status = rp_options_parse(session, &usage, argc, argv, &r->archive, err);

    if (status == RP_OK && !session->helped)
        status = rp_default_trust(session, &r->trust, true, err);
    return status == RP_OK && !session->helped ? rp_signer(session, &r->key, "finding", err) : status;
}

static rp_status copy(char *out, size_t size, const char *text, const char *option, rp_error *err)
{
    if (strlen(text) >= size)
        return rp_fail(err, RP_EARG, "finding: --%s is %zu bytes long, at most %zu are allowed", option, strlen(text),
                       size - 1);
    strcpy(out, text);
    return RP_OK;
}

static rp_status read_finding(rp_stated_finding *out, const request *r, rp_error *err)
{
    char shown[40];
    rp_status status;

    memset(out, 0, sizeof *out);
    out->closed = r->close;
    status = copy(out->id, sizeof out->id, r->id, "id", err);
    if (status == RP_OK)
        status = copy(out->owner, sizeof out->owner, r->owner, "owner", err);
    if (status == RP_OK)
        status = copy(out->text, sizeof out->text, r->text, "text", err);
    if (status == RP_OK && r->due)
        status = copy(out->due, sizeof out->due, r->due, "due", err);
    for (int s = RP_SEVERITY_LOW; status == RP_OK && s <= RP_SEVERITY_CRITICAL; s++)
        if (strcmp(r->severity, rp_severity_name((rp_severity)s)) == 0) {
            out->severity = (rp_severity)s;
            return RP_OK;
        }
    return status != RP_OK
               ? status
               : rp_fail(err, RP_EARG, "finding: --severity: expected low, medium, high or critical, found %s",
                         rp_printable(shown, sizeof shown, r->severity, strlen(r->severity)));
}

static void put_result(rp_session *session, const request *r, const rp_archive *archive, const rp_key *key,
                       const char *member)
{
    rp_buffer *out = &session->out;

    if (session->json) {
        rp_put_open(out, NULL, '{');
        rp_put_text(out, "archive_id", rp_archive_id(archive));
        rp_put_text(out, "key_id", rp_key_id(key));
        rp_put_text(out, "member", member);
        rp_put_text(out, "path", r->archive);
        rp_put_close(out, '}');
        return;
    }
    rp_put_line(session, r->close ? "closed" : "finding", "%s in %s by key %s (%s)", r->id, r->archive, rp_key_id(key),
                rp_key_type(key));
    rp_put_line(session, "archive", "%s", rp_archive_id(archive));
    rp_put_line(session, "member", "%s", member);
}

rp_status rp_command_finding(rp_session *session, int argc, char **argv, rp_error *err)
{
    request r = {0};
    rp_stated_finding finding;
    rp_key *key = NULL;
    rp_archive *archive = NULL;
    rp_verification *verified = NULL;
    char member[RP_MEMBER_NAME];
    rp_status status = parse(session, argc, argv, &r, err);

    if (status != RP_OK || session->helped)
        return status;
    status = read_finding(&finding, &r, err);
    if (status == RP_OK)
        status = rp_signing_key_load(&key, r.key, r.passphrase, err);
    if (status == RP_OK && r.cert)
        status = rp_key_load_certificates(key, r.cert, err);
    if (status == RP_OK)
        status = rp_archive_open_trusted(&archive, &verified, r.archive, &r.trust, err);
    rp_signals_hold(true);
    if (status == RP_OK)
        status = rp_archive_add_finding(r.archive, rp_archive_id(archive), &finding, key, member, err);
    rp_signals_hold(false);
    if (status == RP_OK)
        put_result(session, &r, archive, key, member);
    rp_verification_free(verified);
    rp_archive_close(archive);
    rp_key_free(key);
    return status;
}
