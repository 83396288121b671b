/* SPDX-License-Identifier: Apache-2.0
 * reprise verify: an archive's structure, signatures and hashes, against keys the caller trusts. */
#include "cli/archive_files.h"
#include "cli/data/used_rows.h"
#include "cli/print.h"
#include "cli/second_reader.h"
#include "cli/signing/defaults.h"
#include "cli/signing/trust.h"

typedef struct request {
    const char *archive, *policy;
    rp_text_list trust, log_key, parents; /* its parent, that one's, and so on */
    rp_trust_request authorities;
    bool allow_unsigned;
} request;

static rp_status parse(rp_session *session, int argc, char **argv, request *r, rp_error *err)
{
    static const char *const names[] = {"ARCHIVE"};
    const rp_option options[] = {
        {0, "trust", RP_OPTION_LIST, "PUB.pem", "a public key whose signature counts (default: REPRISE_TRUST)",
         &r->trust, false},
        {0, "allow-unsigned", RP_OPTION_FLAG, NULL, "accept an archive without signature on its hashes alone",
         &r->allow_unsigned, false},
        {0, "log-key", RP_OPTION_LIST, "PUB.pem", "a log's public key: the archive must carry a proof by that log",
         &r->log_key, false},
        RP_OPTIONS_TRUST(&r->authorities),
        {0, "policy", RP_OPTION_TEXT, "POLICY.yaml", "what must be there, and whose keys count: docs/policy.md",
         &r->policy, false},
        RP_OPTION_PARENT_LINE(&r->parents),
    };
    const rp_usage usage = {
        "verify ARCHIVE --trust PUB.pem [--trust PUB.pem ...] [options]",
        "Checks that the archive was signed by a trusted key and that not a bit of it has changed since.\n"
        "It does not compute anything again: that is `reprise replay`. With --policy also that the archive carries the "
        "replays\n"
        "and approvals that the policy asks for; every clause that is not met is told, and the exit code is 4.\n"
        "reprise-verify is a program with this command, inspect and help, which computes nothing and needs little.",
        "  reprise verify loans.reprise --trust me.pub.pem\n"
        "  reprise verify loans.reprise --policy production.yaml",
        names,
        1,
        options,
        RP_COUNT(options)};
    rp_status status = rp_options_parse(session, &usage, argc, argv, &r->archive, err);

    if (status == RP_OK && !session->helped)
        status =
            rp_default_trust(session, &r->trust, r->authorities.ca.count == 0 && !r->allow_unsigned && !r->policy, err);
    if (status == RP_OK && !session->helped && r->trust.count + r->authorities.ca.count == 0 && !r->allow_unsigned &&
        !r->policy)
        return rp_fail(err, RP_EARG,
                       "verify: whose signature counts? give --trust PUB.pem with the signer's public key, --ca "
                       "ROOT.pem with the root of its certificate, --policy POLICY.yaml, or "
                       "--allow-unsigned to check an unsigned archive by its hashes alone");
    return status;
}

static const char *parent_of(const request *r)
{
    return r->parents.count ? r->parents.item[0] : NULL;
}

/* Whether somebody vouches for the archive: a verdict or an approval alone does not. */
static bool is_signed(const rp_verification *v)
{
    for (size_t i = 0; i < v->statements; i++)
        if (v->statement[i].kind == RP_STATEMENT_PROVENANCE || v->statement[i].kind == RP_STATEMENT_ENDORSEMENT)
            return true;
    return false;
}

static rp_status put_json(rp_session *session, const request *r, const rp_archive *archive, const rp_verification *v,
                          rp_error *err)
{
    rp_buffer *out = &session->out;
    rp_status status;

    rp_put_open(out, NULL, '{');
    rp_put_text(out, "archive_id", v->archive_id);
    rp_put_integer(out, "bytes", v->bytes);
    rp_put_certificates_json(out, v);
    rp_put_text(out, "kind", rp_archive_kind(archive));
    rp_put_integer(out, "members", v->members);
    rp_put_statements_json(out, "not_counted", v->other, v->others);
    rp_parent_put_json(session, archive, &(rp_lineage){.parent = parent_of(r)});
    rp_put_text(out, "path", r->archive);
    rp_put_text(out, "pinned_to", *v->pinned.run ? v->pinned.run : NULL);
    rp_put_policy_json(out, "policy", v->policy);
    rp_put_open(out, "proofs", '[');
    for (size_t i = 0; i < v->proofs; i++) {
        rp_put_open(out, NULL, '{');
        rp_put_integer(out, "index", v->proof[i].index);
        rp_put_text(out, "key_id", v->proof[i].key_id[0] ? v->proof[i].key_id : NULL);
        rp_put_integer(out, "log_size", v->proof[i].log_size);
        rp_put_text(out, "member", v->proof[i].member);
        rp_put_text(out, "origin", v->proof[i].origin);
        rp_put_close(out, '}');
    }
    rp_put_close(out, ']');
    status = rp_used_rows_put_json(session, archive, err);
    rp_put_bool(out, "signed", is_signed(v));
    rp_put_standings_json(out, v);
    rp_put_statements_json(out, "statements", v->statement, v->statements);
    rp_put_timestamps_json(out, v);
    rp_put_bool(out, "verified", !v->policy || v->policy->unmet == 0);
    rp_put_integer(out, "withheld", rp_archive_withheld_count(archive));
    rp_put_close(out, '}');
    return status;
}

static rp_status put_lines(rp_session *session, const request *r, const rp_archive *archive, const rp_verification *v,
                           rp_error *err)
{
    bool met = !v->policy || v->policy->unmet == 0;
    rp_status status;

    rp_put_verdict(session, met, met ? "verified" : "not met",
                   met ? "%s"
                       : "%s: every byte is as it was signed, but the policy asks "
                         "for more",
                   r->archive);
    rp_put_line(session, "archive", "%s", v->archive_id);
    rp_parent_put_line(session, archive, &(rp_lineage){.parent = parent_of(r)});
    rp_kind_put_line(session, archive);
    rp_pinned_put_line(session, v->pinned.run);
    rp_put_line(session, "contents", "%zu members, %llu bytes, every hash right", v->members,
                (unsigned long long)v->bytes);
    if (rp_archive_withheld_count(archive) > 0)
        rp_put_line(session, "left out", "%zu members, bound by salted digests", rp_archive_withheld_count(archive));
    status = rp_used_rows_put_line(session, archive, false, err);
    rp_put_signers(session, v);
    for (size_t i = 0; i < v->proofs; i++) {
        const rp_verified_proof *one = &v->proof[i];
        const char *id = one->key_id;

        rp_put_line(session, *id ? "logged" : "unchecked", "entry %llu of %llu in %s, %s%s",
                    (unsigned long long)one->index, (unsigned long long)one->log_size, one->origin,
                    *id ? "signed by key "
                        : "says a proof whose signer is "
                          "not known here: give --log-key",
                    id);
    }
    rp_put_trust(session, v);
    rp_put_policy_lines(session, v->policy);
    if (!is_signed(v) && !v->policy)
        rp_put_line(session, "unsigned", "accepted by --allow-unsigned: nobody vouches for this archive");
    return status;
}

rp_status rp_command_verify(rp_session *session, int argc, char **argv, rp_error *err)
{
    request r = {0};
    rp_trust trust = {.count = 0}, logs = {.count = 0};
    rp_verification *result = NULL, *parent = NULL;
    rp_archive *archive = NULL;
    rp_trust_store *store = NULL;
    rp_policy *policy = NULL;
    rp_verify_options options;
    rp_status status = parse(session, argc, argv, &r, err);

    if (status != RP_OK || session->helped)
        return status;
    status = rp_trust_load(&trust, &r.trust, err);
    if (status == RP_OK)
        status = rp_trust_load(&logs, &r.log_key, err);
    if (status == RP_OK)
        status = rp_trust_request_load(&store, &r.authorities, err);
    if (status == RP_OK && r.policy)
        status = rp_policy_load(&policy, r.policy, err);
    options = (rp_verify_options){.allow_unsigned = r.allow_unsigned,
                                  .log_key = (const rp_key *const *)logs.key,
                                  .log_keys = logs.count,
                                  .trust = store,
                                  .policy = policy,
                                  .tell_unmet = true};
    if (status == RP_OK)
        status = rp_parents_verify(&parent, &r.parents, &trust, &options, err);
    options.parent = parent;
    if (status == RP_OK)
        status = rp_verify(r.archive, (const rp_key *const *)trust.key, trust.count, &options, &result, &archive, err);
    if (status == RP_OK)
        status = rp_second_reader(&archive, r.archive, err);
    if (status == RP_OK)
        status = rp_parent_check(archive, parent_of(&r), err);
    if (status == RP_OK)
        status = (session->json ? put_json : put_lines)(session, &r, archive, result, err);
    if (status == RP_OK)
        rp_policy_verdict(session, r.archive, result->policy);
    rp_policy_free(policy);
    rp_verification_free(parent);
    rp_verification_free(result);
    rp_archive_close(archive);
    rp_trust_free(&trust);
    rp_trust_free(&logs);
    rp_trust_store_free(store);
    return status;
}
