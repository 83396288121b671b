/* SPDX-License-Identifier: Apache-2.0
 * Trust stores from the command line, and timestamps as results. */
#include "cli/signing/trust.h"

#include "cli/print.h"

#include <string.h>

static rp_status add_all(rp_trust_store *store, rp_trust_kind kind, const rp_text_list *paths, rp_error *err)
{
    rp_status status = RP_OK;

    for (size_t i = 0; i < paths->count && status == RP_OK; i++)
        status = rp_trust_store_add(store, kind, paths->item[i], err);
    return status;
}

rp_status rp_trust_request_load(rp_trust_store **out, const rp_trust_request *r, rp_error *err)
{
    int64_t seconds;
    rp_status status;

    *out = NULL;
    if (r->ca.count + r->tsa.count + r->crl.count + r->rotation.count == 0 && !r->at && !r->require_crl && !r->tsa_rsa)
        return RP_OK;
    status = rp_trust_store_new(out, err);
    if (status == RP_OK)
        status = add_all(*out, RP_TRUST_CA, &r->ca, err);
    if (status == RP_OK)
        status = add_all(*out, RP_TRUST_TSA, &r->tsa, err);
    if (status == RP_OK)
        status = add_all(*out, RP_TRUST_CRL, &r->crl, err);
    for (size_t i = 0; i < r->rotation.count && status == RP_OK; i++)
        status = rp_trust_store_add_rotation(*out, r->rotation.item[i], err);
    if (status == RP_OK && r->at && (status = rp_trust_time(&seconds, r->at, err)) == RP_OK)
        rp_trust_store_set_time(*out, seconds);
    if (status == RP_OK && r->require_crl)
        rp_trust_store_require_crl(*out);
    if (status == RP_OK && r->tsa_rsa)
        rp_trust_store_allow_rsa_timestamps(*out);
    if (status != RP_OK) {
        rp_trust_store_free(*out);
        *out = NULL;
    }
    return status;
}

static const char *const when[] = {"when it was dated", "the time given", "now"};

static void put_certificates(rp_session *session, const rp_verification *v)
{
    for (size_t i = 0; i < v->certificates; i++) {
        const rp_verified_certificate *one = &v->certificate[i];

        if (one->rotation)
            rp_put_line(session, one->accepted ? "succession" : "refused", "%s at %s (%s), for %s%s%s", one->subject,
                        one->time, when[one->at], one->statement, one->note ? ": " : "", one->note ? one->note : "");
        else if (one->accepted)
            rp_put_line(session, "certificate", "%s under %s, good at %s (%s), for %s%s%s%s", one->subject, one->anchor,
                        one->time, when[one->at], one->statement, one->note ? "; " : "", one->note ? one->note : "",
                        one->revocation_checked ? "" : "; revocation not checked: no list for it was given");
        else
            rp_put_line(session, "refused", "certificate of %s at %s (%s), for %s: %s", one->subject, one->time,
                        when[one->at], one->statement, one->note);
    }
}

void rp_put_certificates_json(rp_buffer *out, const rp_verification *v)
{
    static const char *const at[] = {"timestamp", "given", "now"};

    rp_put_open(out, "certificates", '[');
    for (size_t i = 0; i < v->certificates; i++) {
        const rp_verified_certificate *one = &v->certificate[i];

        rp_put_open(out, NULL, '{');
        rp_put_bool(out, "accepted", one->accepted);
        rp_put_text(out, "anchor", one->anchor);
        rp_put_text(out, "judged_at", one->time);
        rp_put_text(out, "judged_by", at[one->at]);
        rp_put_text(out, "key_id", one->key_id);
        rp_put_text(out, "note", one->note);
        rp_put_bool(out, "revocation_checked", one->revocation_checked);
        rp_put_bool(out, "rotation", one->rotation);
        rp_put_text(out, "statement", one->statement);
        rp_put_text(out, "subject", one->subject);
        rp_put_close(out, '}');
    }
    rp_put_close(out, ']');
}

/* A clause of the policy may know the authority that the verifier did not name. */
static const rp_verified_standing *dated_for_policy(const rp_verification *v, const char *statement)
{
    for (size_t i = 0; i < v->standings; i++)
        if (v->standing[i].dated && strcmp(v->standing[i].statement, statement) == 0)
            return &v->standing[i];
    return NULL;
}

void rp_put_trust(rp_session *session, const rp_verification *v)
{
    put_certificates(session, v);
    for (size_t i = 0; i < v->timestamps; i++) {
        const rp_verified_timestamp *one = &v->timestamp[i];
        const rp_verified_standing *clause = dated_for_policy(v, one->statement);

        if (one->anchor)
            rp_put_line(session, "dated", "%s, %s by %s under %s%s%s", one->time, one->statement, one->authority,
                        one->anchor, one->note ? "; " : "", one->note ? one->note : "");
        else if (clause)
            rp_put_line(session, "dated", "%s, %s by %s, an authority of the policy's", one->time, one->statement,
                        clause->authority);
        else
            rp_put_line(session, "unchecked", "%s says that it is of %s, which shows nothing: %s", one->member,
                        one->time, one->note);
    }
}

void rp_put_timestamps_json(rp_buffer *out, const rp_verification *v)
{
    rp_put_open(out, "timestamps", '[');
    for (size_t i = 0; i < v->timestamps; i++) {
        const rp_verified_timestamp *one = &v->timestamp[i];

        rp_put_open(out, NULL, '{');
        rp_put_text(out, "anchor", one->anchor);
        rp_put_text(out, "authority", one->authority);
        rp_put_text(out, "member", one->member);
        rp_put_text(out, "note", one->note);
        rp_put_text(out, "statement", one->statement);
        rp_put_text(out, "time", one->time);
        rp_put_bool(out, "trusted", one->anchor != NULL);
        rp_put_close(out, '}');
    }
    rp_put_close(out, ']');
}

void rp_put_standings_json(rp_buffer *out, const rp_verification *v)
{
    rp_put_open(out, "standings", '[');
    for (size_t i = 0; i < v->standings; i++) {
        const rp_verified_standing *one = &v->standing[i];

        rp_put_open(out, NULL, '{');
        rp_put_text(out, "authority", one->authority);
        rp_put_text(out, "certificate_note", one->certificate_note);
        rp_put_bool(out, "certified", one->certified);
        rp_put_text(out, "clause", one->clause);
        rp_put_bool(out, "dated", one->dated);
        rp_put_text(out, "key_id", one->key_id);
        rp_put_text(out, "statement", one->statement);
        rp_put_text(out, "subject", one->subject);
        rp_put_text(out, "time", one->dated ? one->time : NULL);
        rp_put_text(out, "timestamp_note", one->timestamp_note);
        rp_put_close(out, '}');
    }
    rp_put_close(out, ']');
}
