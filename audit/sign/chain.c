/* SPDX-License-Identifier: Apache-2.0
 * Chains by OpenSSL's strict path validation with our own list of algorithms. Revocation is judged here and not by
 * X509_V_FLAG_CRL_CHECK, because that calls revoked what was revoked at any time, and a list not yet valid that is
 * newer than the time in question; here the newer list is the better one, and the date of the revocation decides. */
#include "audit/sign/chain.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

enum { STRENGTH = 3 }; /* OpenSSL's level of 128 bits: P-256, SHA-256, RSA of 3072 */

static rp_status refuse(const X509 *certificate, const char *what, rp_error *err)
{
    char name[RP_NAME_TEXT];

    return rp_fail(err, RP_ESIGN, "certificate of %s: %s", rp_x509_name(name, X509_get_subject_name(certificate)),
                   what);
}

/* ---- the path ---- */

static X509_STORE *store_of(const rp_chain_rules *rules)
{
    X509_STORE *store = X509_STORE_new();
    bool done = store != NULL;

    for (int i = 0; done && i < sk_X509_num(rules->anchors); i++)
        done = X509_STORE_add_cert(store, sk_X509_value(rules->anchors, i)) == 1;
    if (done)
        return store;
    X509_STORE_free(store);
    return NULL;
}

static rp_status path_failed(X509_STORE_CTX *context, X509 *leaf, rp_error *err)
{
    int error = X509_STORE_CTX_get_error(context);
    X509 *at = X509_STORE_CTX_get_current_cert(context);

    if (error == X509_V_ERR_OUT_OF_MEM || rp_openssl_no_memory())
        return rp_no_memory(err);
    return refuse(at != NULL ? at : leaf, X509_verify_cert_error_string(error), err);
}

/* *chain is the caller's. */
static rp_status find_path(STACK_OF(X509) * *chain, X509 *leaf, const rp_chain_rules *rules, rp_error *err)
{
    X509_STORE *store = store_of(rules);
    X509_STORE_CTX *context = X509_STORE_CTX_new();
    rp_status status = RP_OK;

    *chain = NULL;
    if (store == NULL || context == NULL || X509_STORE_CTX_init(context, store, leaf, rules->untrusted) != 1 ||
        (rules->timestamps && X509_STORE_CTX_set_purpose(context, X509_PURPOSE_TIMESTAMP_SIGN) != 1)) {
        status = rp_no_memory(err);
    } else {
        X509_VERIFY_PARAM *param = X509_STORE_CTX_get0_param(context);

        X509_VERIFY_PARAM_set_time(param, (time_t)rules->time);
        X509_VERIFY_PARAM_set_auth_level(param, STRENGTH);
        X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_X509_STRICT | X509_V_FLAG_CHECK_SS_SIGNATURE);
        if (X509_verify_cert(context) != 1)
            status = path_failed(context, leaf, err);
        else if ((*chain = X509_STORE_CTX_get1_chain(context)) == NULL)
            status = rp_no_memory(err);
    }
    X509_STORE_CTX_free(context);
    X509_STORE_free(store);
    return status;
}

static rp_status check_strength(const STACK_OF(X509) * chain, const rp_chain_rules *rules, rp_error *err)
{
    for (int i = 0; i < sk_X509_num(chain); i++) {
        X509 *one = sk_X509_value(chain, i);
        const char *fault = rp_x509_key_fault(one, rules->rsa, i == 0 && !rules->timestamps);

        if (fault == NULL)
            fault = rp_x509_signature_fault(X509_get_signature_nid(one), rules->rsa);
        if (fault != NULL)
            return refuse(one, fault, err);
    }
    return RP_OK;
}

typedef enum purpose { PURPOSE_ANY, PURPOSE_FITS, PURPOSE_OTHER, PURPOSE_BROKEN } purpose;

/* What the extended key usage, if there is one, says of signing documents, or of dating them. */
static purpose purpose_of(X509 *certificate, bool timestamps)
{
    int critical;
    EXTENDED_KEY_USAGE *list = X509_get_ext_d2i(certificate, NID_ext_key_usage, &critical, NULL);
    purpose found = PURPOSE_OTHER;

    if (list == NULL)
        return critical == -1 ? PURPOSE_ANY : PURPOSE_BROKEN;
    for (int i = 0; i < sk_ASN1_OBJECT_num(list); i++) {
        const ASN1_OBJECT *one = sk_ASN1_OBJECT_value(list, i);
        const int nid = OBJ_obj2nid(one);
        char text[40] = "";

        (void)OBJ_obj2txt(text, sizeof text, one, 1);
        if (timestamps ? nid == NID_time_stamp
                       : nid == NID_code_sign || strcmp(text, "1.3.6.1.5.5.7.3.36") == 0) /* RFC 9336 */
            found = PURPOSE_FITS;
        else if (nid == NID_anyExtendedKeyUsage && found != PURPOSE_FITS)
            found = PURPOSE_ANY;
    }
    sk_ASN1_OBJECT_pop_free(list, ASN1_OBJECT_free);
    return found;
}

/* A certificate made for signing, not one for a web server that happens to have the right key. */
static rp_status check_signer(X509 *leaf, rp_error *err)
{
    uint32_t usage = X509_get_key_usage(leaf);
    purpose found;

    if (X509_check_ca(leaf) != 0)
        return refuse(leaf, "is an authority's, which signs certificates, not runs", err);
    if (usage == UINT32_MAX || (usage & KU_DIGITAL_SIGNATURE) == 0)
        return refuse(leaf, "its key usage is not digitalSignature", err);
    found = purpose_of(leaf, false);
    if (found == PURPOSE_BROKEN)
        return refuse(leaf, "a broken extended key usage", err);
    if (found == PURPOSE_FITS || (found == PURPOSE_ANY && X509_get_ext_by_NID(leaf, NID_ext_key_usage, -1) < 0))
        return RP_OK;
    return refuse(leaf, "its extended key usage is neither codeSigning nor documentSigning", err);
}

/* An authority in between that is limited to other purposes, say to web servers, certifies nobody for this one: RFC
 * 5280 leaves it open, and whoever limits an authority means what it certifies. */
static rp_status check_between(const STACK_OF(X509) * chain, const rp_chain_rules *rules, rp_error *err)
{
    for (int i = 1; i + 1 < sk_X509_num(chain); i++) {
        purpose found = purpose_of(sk_X509_value(chain, i), rules->timestamps);

        if (found == PURPOSE_BROKEN)
            return refuse(sk_X509_value(chain, i), "a broken extended key usage", err);
        if (found == PURPOSE_OTHER)
            return refuse(sk_X509_value(chain, i),
                          rules->timestamps ? "an authority whose extended key usage leaves out timeStamping"
                                            : "an authority whose extended key usage leaves out codeSigning "
                                              "and documentSigning",
                          err);
    }
    return RP_OK;
}

/* ---- revocation ---- */

typedef enum list_use { ANOTHERS, UNUSABLE, USABLE } list_use;

/* Whether a list can say anything about a certificate of this issuer at this time. A list older than that cannot know,
 * and one issued after the certificate's end may have dropped it (RFC 5280 3.3). */
static list_use use_of(X509_CRL *list, X509 *one, X509 *issuer, const rp_chain_rules *rules, const char **why)
{
    int64_t from, until, end;

    if (X509_NAME_cmp(X509_CRL_get_issuer(list), X509_get_issuer_name(one)) != 0)
        return ANOTHERS;
    *why = "a revocation list by a signature other than ECDSA with SHA-2";
    if (rp_x509_signature_fault(X509_CRL_get_signature_nid(list), rules->rsa) != NULL)
        return UNUSABLE;
    *why = "a revocation list of its issuer's name with a wrong signature";
    if (X509_CRL_verify(list, X509_get0_pubkey(issuer)) != 1)
        return UNUSABLE;
    *why = "its issuer may not sign revocation lists";
    if (X509_get_key_usage(issuer) == UINT32_MAX || (X509_get_key_usage(issuer) & KU_CRL_SIGN) == 0)
        return UNUSABLE;
    *why = "a revocation list with a critical extension: a part of a list, or another's";
    if (X509_CRL_get_ext_by_critical(list, 1, -1) >= 0)
        return UNUSABLE;
    *why = "a revocation list without its times";
    if (!rp_moment_of_asn1(&from, X509_CRL_get0_lastUpdate(list)) ||
        !rp_moment_of_asn1(&until, X509_CRL_get0_nextUpdate(list)) || !rp_moment_of_asn1(&end, X509_get0_notAfter(one)))
        return UNUSABLE;
    *why = "the revocation list is stale: its next update was due before the time in question";
    if (until < rules->time)
        return UNUSABLE;
    *why = "the revocation list was issued after the certificate's end and may have dropped it: give one from before";
    return from > end ? UNUSABLE : USABLE;
}

/* The date from which on the key is not to be trusted: the earlier of revocation and the invalidity that it names. -1:
 * no date at all. */
static int64_t revoked_from(X509_REVOKED *entry)
{
    ASN1_GENERALIZEDTIME *invalid = X509_REVOKED_get_ext_d2i(entry, NID_invalidity_date, NULL, NULL);
    int64_t date = -1, earlier;

    if (!rp_moment_of_asn1(&date, X509_REVOKED_get0_revocationDate(entry)) ||
        X509_REVOKED_get_ext_by_critical(entry, 1, -1) >= 0)
        date = -1;
    if (invalid != NULL && rp_moment_of_asn1(&earlier, invalid) && earlier < date)
        date = earlier;
    ASN1_GENERALIZEDTIME_free(invalid);
    return date;
}

/* Whether an authority goes on to be believed for what it did before: not when its key may be in other hands, since who
 * has it can make certificates or timestamps of any date (RFC 3161 4, number 1). */
static bool retired_in_order(X509_REVOKED *entry)
{
    ASN1_ENUMERATED *reason = X509_REVOKED_get_ext_d2i(entry, NID_crl_reason, NULL, NULL);
    long value = reason != NULL ? ASN1_ENUMERATED_get(reason) : CRL_REASON_KEY_COMPROMISE;

    ASN1_ENUMERATED_free(reason);
    return value == CRL_REASON_UNSPECIFIED || value == CRL_REASON_AFFILIATION_CHANGED ||
           value == CRL_REASON_SUPERSEDED || value == CRL_REASON_CESSATION_OF_OPERATION;
}

static rp_status judge_entry(rp_chain_verdict *out, X509_REVOKED *entry, X509 *one, bool authority,
                             const rp_chain_rules *rules, rp_error *err)
{
    int64_t date = revoked_from(entry);
    char on[RP_MOMENT_TEXT], at[RP_MOMENT_TEXT], name[RP_NAME_TEXT], text[160];

    (void)rp_moment_text(on, date);
    (void)rp_moment_text(at, rules->time);
    if (date <= rules->time) {
        (void)snprintf(text, sizeof text, "revoked on %s, and it is judged at %s", on, at);
        return refuse(one, text, err);
    }
    if (authority && !retired_in_order(entry)) {
        (void)snprintf(text, sizeof text, "revoked on %s for a reason that leaves nothing of before to be believed",
                       on);
        return refuse(one, text, err);
    }
    (void)snprintf(out->note, sizeof out->note, "certificate of %s revoked on %s, after this",
                   rp_x509_name(name, X509_get_subject_name(one)), on);
    return RP_OK;
}

/* *checked: some list says something about it. */
static rp_status check_one(rp_chain_verdict *out, X509 *one, X509 *issuer, bool authority, const rp_chain_rules *rules,
                           bool *checked, rp_error *err)
{
    const char *why = "no revocation list of its issuer was given", *found = NULL;
    rp_status status = RP_OK;

    *checked = false;
    for (int i = 0; i < sk_X509_CRL_num(rules->crls) && status == RP_OK; i++) {
        X509_CRL *list = sk_X509_CRL_value(rules->crls, i);
        list_use use = use_of(list, one, issuer, rules, &why);
        X509_REVOKED *entry = NULL;

        if (use == UNUSABLE)
            found = why;
        if (use != USABLE)
            continue;
        *checked = true;
        if (X509_CRL_get0_by_cert(list, &entry, one) != 0 && entry != NULL)
            status = judge_entry(out, entry, one, authority, rules, err);
    }
    if (status == RP_OK && rp_openssl_no_memory())
        return rp_no_memory(err);
    /* who gives a list of this issuer wants it to count */
    if (status == RP_OK && !*checked && (found != NULL || rules->require_crl))
        status = refuse(one, found != NULL ? found : "no revocation list of its issuer was given", err);
    return status;
}

static rp_status check_revocation(rp_chain_verdict *out, const STACK_OF(X509) * chain, const rp_chain_rules *rules,
                                  rp_error *err)
{
    rp_status status = RP_OK;

    out->revocation_checked = true;
    for (int i = 0; i + 1 < sk_X509_num(chain) && status == RP_OK; i++) {
        bool checked;

        status = check_one(out, sk_X509_value(chain, i), sk_X509_value(chain, i + 1), rules->timestamps || i > 0, rules,
                           &checked, err);
        out->revocation_checked = out->revocation_checked && checked;
    }
    return status;
}

rp_status rp_chain_judge(rp_chain_verdict *out, X509 *leaf, const rp_chain_rules *rules, rp_error *err)
{
    STACK_OF(X509) * chain;
    rp_status status;

    memset(out, 0, sizeof *out);
    ERR_clear_error(); /* not a mark: a failed allocation of long ago, still in the queue, would be taken for one of now
                        */
    status = find_path(&chain, leaf, rules, err);
    if (status == RP_OK)
        status = check_strength(chain, rules, err);
    if (status == RP_OK)
        status = check_between(chain, rules, err);
    if (status == RP_OK && !rules->timestamps)
        status = check_signer(leaf, err);
    if (status == RP_OK)
        status = check_revocation(out, chain, rules, err);
    if (status == RP_OK) {
        (void)rp_x509_name(out->subject, X509_get_subject_name(leaf));
        (void)rp_x509_name(out->anchor, X509_get_subject_name(sk_X509_value(chain, sk_X509_num(chain) - 1)));
    }
    ERR_clear_error();
    sk_X509_pop_free(chain, X509_free);
    return status;
}
