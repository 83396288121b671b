/* SPDX-License-Identifier: Apache-2.0
 * reprise sign and reprise approve: a further person's statement about a finished archive. */
#include <string.h>

#include "base/text.h"
#include "cli/archive_files.h"
#include "cli/signing/defaults.h"
#include "cli/signing/key_files.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "cli/second_reader.h"

typedef struct request {
    const char *archive, *key, *passphrase, *cert, *role, *decision, *reason;
    rp_text_list trust;
    bool allow_unsigned;
} request;

static rp_status parse_sign(rp_session *session, int argc, char **argv, request *r, rp_error *err)
{
    static const char *const names[] = {"ARCHIVE"};
    const rp_option options[] = {
        {0, "key", RP_OPTION_TEXT, "KEY.pem", "your private key (default: REPRISE_KEY)", &r->key, false},
        {0, "passphrase-file", RP_OPTION_TEXT, "FILE", "first line: the passphrase of KEY.pem", &r->passphrase, false},
        {0, "cert", RP_OPTION_TEXT, "CHAIN.pem", "the key's certificate, then its issuers': goes into the archive",
         &r->cert, false},
        {0, "trust", RP_OPTION_LIST, "PUB.pem",
         "verify the signature that is there with this public key first (default: REPRISE_TRUST)", &r->trust, false},
    };
    const rp_usage usage = {
        "sign ARCHIVE --key KEY.pem [--trust PUB.pem ...]",
        "Adds your endorsement: you vouch for the archive as it is, whoever made it. An archive that nobody has signed "
        "is then\n"
        "a signed one; how and where it was made stays unsaid, as that can be stated only while it is being made\n"
        "(reprise run --key). Every hash is checked first, with --trust also the signature that is there.",
        "  reprise sign loans.reprise --key me.pem\n"
        "  reprise sign loans.reprise --key second.pem --trust me.pub.pem",
        names,
        1,
        options,
        RP_COUNT(options)};

    rp_status status = rp_options_parse(session, &usage, argc, argv, &r->archive, err);

    if (status == RP_OK && !session->helped)
        status = rp_default_trust(session, &r->trust, true, err);
    return status == RP_OK && !session->helped ? rp_signer(session, &r->key, "sign", err) : status;
}

static rp_status parse_approve(rp_session *session, int argc, char **argv, request *r, rp_error *err)
{
    static const char *const names[] = {"ARCHIVE"};
    const rp_option options[] = {
        {0, "role", RP_OPTION_TEXT, "ROLE", "in which role you decide, e.g. model-risk", &r->role, true},
        {0, "decision", RP_OPTION_TEXT, "DECISION", "approve, reject or abstain", &r->decision, true},
        {0, "reason", RP_OPTION_TEXT, "TEXT", "why, in one line", &r->reason, true},
        {0, "key", RP_OPTION_TEXT, "KEY.pem", "your private key (default: REPRISE_KEY)", &r->key, false},
        {0, "passphrase-file", RP_OPTION_TEXT, "FILE", "first line: the passphrase of KEY.pem", &r->passphrase, false},
        {0, "cert", RP_OPTION_TEXT, "CHAIN.pem", "the key's certificate, then its issuers': goes into the archive",
         &r->cert, false},
        {0, "trust", RP_OPTION_LIST, "PUB.pem",
         "a public key whose signature on the archive counts (default: REPRISE_TRUST)", &r->trust, false},
        {0, "allow-unsigned", RP_OPTION_FLAG, NULL, "decide about an archive that nobody vouches for",
         &r->allow_unsigned, false},
    };
    const rp_usage usage = {
        "approve ARCHIVE --role ROLE --decision DECISION --reason TEXT --key KEY.pem --trust PUB.pem",
        "Verifies the archive, then adds your signed decision about it. A decision cannot be taken back, only followed "
        "by\n"
        "another. What decisions an archive needs, a policy says: reprise verify --policy.",
        "  reprise approve loans.reprise --role model-risk --decision approve --reason 'validated 2026-11' \\\n"
        "      --key risk.pem --trust me.pub.pem",
        names,
        1,
        options,
        RP_COUNT(options)};
    rp_status status = rp_options_parse(session, &usage, argc, argv, &r->archive, err);

    if (status == RP_OK && !session->helped)
        status = rp_signer(session, &r->key, "approve", err);
    if (status == RP_OK && !session->helped)
        status = rp_default_trust(session, &r->trust, !r->allow_unsigned, err);
    if (status == RP_OK && !session->helped && r->trust.count == 0 && !r->allow_unsigned)
        return rp_fail(err, RP_EARG,
                       "approve: whose archive is it? give --trust PUB.pem with its signer's public key, so that it "
                       "is verified first, or --allow-unsigned");
    return status;
}

static void put_result(rp_session *session, const char *label, const char *path, const rp_archive *archive,
                       const rp_key *key, const char *member)
{
    const char *id = rp_archive_id(archive);
    rp_buffer *out = &session->out;

    if (session->json) {
        rp_put_open(out, NULL, '{');
        rp_put_text(out, "archive_id", id);
        rp_put_text(out, "key_id", rp_key_id(key));
        rp_put_text(out, "member", member);
        rp_put_text(out, "path", path);
        rp_put_close(out, '}');
        return;
    }
    rp_kind_put_line(session, archive);
    rp_put_line(session, label, "%s by key %s (%s)", path, rp_key_id(key), rp_key_type(key));
    rp_put_line(session, "archive", "%s", id);
    rp_put_line(session, "member", "%s", member);
}

rp_status rp_command_sign(rp_session *session, int argc, char **argv, rp_error *err)
{
    request r = {0};
    rp_key *key = NULL;
    rp_archive *archive = NULL;
    rp_verification *verified = NULL;
    char member[RP_MEMBER_NAME];
    rp_status status = parse_sign(session, argc, argv, &r, err);

    if (status != RP_OK || session->helped)
        return status;
    status = rp_signing_key_load(&key, r.key, r.passphrase, err);
    if (status == RP_OK && r.cert)
        status = rp_key_load_certificates(key, r.cert, err);
    if (status == RP_OK)
        status = rp_archive_open_trusted(&archive, &verified, r.archive, &r.trust, err);
    rp_signals_hold(true);
    if (status == RP_OK)
        status = rp_archive_endorse(r.archive, rp_archive_id(archive), key, member, err);
    rp_signals_hold(false);
    if (status == RP_OK)
        put_result(session, "endorsed", r.archive, archive, key, member);
    rp_verification_free(verified);
    rp_archive_close(archive);
    rp_key_free(key);
    return status;
}

/* Before any key or archive is read. */
static rp_status read_approval(rp_approval *out, const request *r, rp_error *err)
{
    const char *names[] = {rp_decision_name(RP_APPROVE), rp_decision_name(RP_REJECT), rp_decision_name(RP_ABSTAIN)};
    char shown[40];

    memset(out, 0, sizeof *out);
    if (strlen(r->role) >= sizeof out->role)
        return rp_fail(err, RP_EARG, "approve: --role is %zu bytes long, at most %zu are allowed", strlen(r->role),
                       sizeof out->role - 1);
    if (strlen(r->reason) >= sizeof out->reason)
        return rp_fail(err, RP_EARG, "approve: --reason is %zu bytes long, at most %zu are allowed", strlen(r->reason),
                       sizeof out->reason - 1);
    strcpy(out->role, r->role);
    strcpy(out->reason, r->reason);
    for (size_t i = 0; i < RP_COUNT(names); i++) {
        if (strcmp(r->decision, names[i]) == 0) {
            out->decision = (rp_decision)i;
            return RP_OK;
        }
    }
    return rp_fail(err, RP_EARG, "approve: --decision: expected approve, reject or abstain, found %s",
                   rp_printable(shown, sizeof shown, r->decision, strlen(r->decision)));
}

static rp_status open_verified(rp_archive **archive, const request *r, rp_error *err)
{
    const rp_verify_options options = {.allow_unsigned = r->allow_unsigned};
    rp_trust trust = {.count = 0};
    rp_status status = rp_trust_load(&trust, &r->trust, err);

    *archive = NULL;
    if (status == RP_OK)
        status = rp_verify(r->archive, (const rp_key *const *)trust.key, trust.count, &options, NULL, archive, err);
    if (status == RP_OK)
        status = rp_second_reader(archive, r->archive, err);
    rp_trust_free(&trust);
    return status;
}

rp_status rp_command_approve(rp_session *session, int argc, char **argv, rp_error *err)
{
    static const char *const done[] = {"approved", "rejected", "abstained"};
    request r = {0};
    rp_approval approval;
    rp_key *key = NULL;
    rp_archive *archive = NULL;
    char member[RP_MEMBER_NAME];
    rp_status status = parse_approve(session, argc, argv, &r, err);

    if (status != RP_OK || session->helped)
        return status;
    status = read_approval(&approval, &r, err);
    if (status == RP_OK)
        status = rp_signing_key_load(&key, r.key, r.passphrase, err);
    if (status == RP_OK && r.cert)
        status = rp_key_load_certificates(key, r.cert, err);
    if (status == RP_OK)
        status = open_verified(&archive, &r, err);
    rp_signals_hold(true);
    if (status == RP_OK)
        status = rp_archive_approve(r.archive, rp_archive_id(archive), &approval, key, member, err);
    rp_signals_hold(false);
    if (status == RP_OK)
        put_result(session, done[approval.decision], r.archive, archive, key, member);
    rp_archive_close(archive);
    rp_key_free(key);
    return status;
}
