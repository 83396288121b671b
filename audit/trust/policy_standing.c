/* SPDX-License-Identifier: Apache-2.0
 * Judging statements for the clauses of a policy. Each clause's authorities are asked apart: a root that may certify
 * validators says nothing about builders, and a timestamp counts for those clauses alone that name its authority. What
 * the verifier itself gave (rp_verify_options.trust) adds revocation lists and the time, and trusts nobody more. */
#include "audit/trust/policy_standing.h"

#include <openssl/err.h>
#include <string.h>

#include "base/memory.h"

static bool certifies(const rp_policy *policy, const rp_clause *clause)
{
    return policy->group[clause->group].kind == RP_GROUP_CERTIFIED;
}

static rp_status keep_text(char **out, const char *text, rp_error *err)
{
    if (*text == '\0')
        return RP_OK;
    *out = rp_strdup(text);
    return *out != NULL ? RP_OK : rp_no_memory(err);
}

/* A group's store with the verifier's revocation lists beside its own: one more can only refuse more. Free out->crls.
 */
static rp_status gather(rp_trust_store *out, const rp_trust_store *group, const rp_trust_store *given, rp_error *err)
{
    *out = *group;
    out->crls = sk_X509_CRL_dup(group->crls);
    for (int i = 0; out->crls != NULL && given != NULL && i < sk_X509_CRL_num(given->crls); i++) {
        if (sk_X509_CRL_push(out->crls, sk_X509_CRL_value(given->crls, i)) > 0)
            continue;
        sk_X509_CRL_free(out->crls);
        out->crls = NULL;
    }
    out->require_crl = group->require_crl || (given != NULL && given->require_crl);
    return out->crls != NULL ? RP_OK : rp_no_memory(err);
}

/* ---- the subject ---- */

static bool has_text(const X509_NAME *name, const rp_subject_rule *rule)
{
    bool found = false;

    ERR_set_mark();
    for (int at = X509_NAME_get_index_by_NID(name, rule->nid, -1); at >= 0 && !found;
         at = X509_NAME_get_index_by_NID(name, rule->nid, at)) {
        unsigned char *text = NULL;
        int length = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at)));

        found = length >= 0 && (size_t)length == strlen(rule->text) && memcmp(text, rule->text, (size_t)length) == 0;
        OPENSSL_free(text);
    }
    ERR_pop_to_mark();
    return found;
}

/* The attribute that is not as the group asks; NULL when all are. */
static const char *subject_lacks(const rp_group *group, const X509_NAME *name)
{
    for (size_t i = 0; i < group->rules; i++) {
        bool found = false;

        for (size_t j = 0; j < group->rules && !found; j++)
            found = group->rule[j].nid == group->rule[i].nid && has_text(name, &group->rule[j]);
        if (!found)
            return group->rule[i].attribute;
    }
    return NULL;
}

/* ---- one statement for one clause ---- */

/* Whether it was good when it began: of somebody who says no that is enough. */
static rp_status judge_once(rp_chain_memo *memo, const rp_certificate *certificate, rp_chain_rules rules, rp_error *err)
{
    X509 *leaf = sk_X509_value(certificate->chain, 0);
    rp_chain_verdict once;
    rp_status judged;

    memo->once_judged = true;
    rules.crls = NULL;
    rules.require_crl = false;
    if (X509_get0_notBefore(leaf) == NULL || !rp_moment_of_asn1(&rules.time, X509_get0_notBefore(leaf)))
        return RP_OK;
    judged = rp_chain_judge(&once, leaf, &rules, NULL);
    memo->once = judged == RP_OK;
    return judged == RP_ENOMEM ? rp_no_memory(err) : RP_OK;
}

static rp_status judge_chain(rp_verified_standing *out, const rp_trust_view *view, const rp_group *group,
                             const rp_certificate *certificate, int64_t time, rp_error *err)
{
    rp_trust_store store;
    rp_chain_memo *memo;
    rp_status status = gather(&store, group->store, view->store, err);
    rp_chain_rules rules = {.anchors = store.ca,
                            .untrusted = certificate->chain,
                            .crls = store.crls,
                            .time = time,
                            .require_crl = store.require_crl};

    if (status != RP_OK)
        return status;
    status = rp_trust_judge(&memo, view, certificate, (size_t)(group - view->policy->group), &rules, err);
    if (status == RP_OK && !memo->certified && !memo->once_judged)
        status = judge_once(memo, certificate, rules, err);
    sk_X509_CRL_free(store.crls);
    if (status != RP_OK)
        return status;
    out->certified = memo->certified;
    out->was_certified = memo->certified || memo->once;
    if (!memo->certified || *memo->verdict.note != '\0' || memo->verdict.revocation_checked)
        return keep_text(&out->certificate_note, memo->certified ? memo->verdict.note : memo->why, err);
    return keep_text(&out->certificate_note, "revocation not checked", err);
}

static rp_status judge_certificate(rp_verified_standing *out, const rp_trust_view *view, const rp_group *group,
                                   int64_t time, rp_error *err)
{
    const rp_certificate *certificate = rp_trust_certificate(view, out->key_id);
    char name[RP_NAME_TEXT], text[96] = "its subject has not the ";
    const char *lacks;
    X509_NAME *subject;
    rp_status status;

    if (certificate == NULL)
        return group->kind == RP_GROUP_CERTIFIED
                   ? keep_text(&out->certificate_note, "has no certificate in the archive", err)
                   : RP_OK;
    subject = X509_get_subject_name(sk_X509_value(certificate->chain, 0));
    status = keep_text(&out->subject, rp_x509_name(name, subject), err);
    if (status != RP_OK || group->kind != RP_GROUP_CERTIFIED)
        return status;
    lacks = subject_lacks(group, subject);
    if (lacks == NULL)
        return judge_chain(out, view, group, certificate, time, err);
    strcat(strcat(text, lacks), " that the group asks for");
    return keep_text(&out->certificate_note, text, err);
}

static rp_status judge_date(rp_verified_standing *out, const rp_trust_view *view, const rp_group *group, rp_error *err)
{
    rp_trust_store store;
    rp_trust_date date;
    rp_status status = gather(&store, group->store, view->store, err);

    if (status != RP_OK)
        return status;
    status = rp_trust_date_of(view, out->statement, &store, &date, err);
    sk_X509_CRL_free(store.crls);
    if (status != RP_OK)
        return status;
    out->dated = date.dated;
    if (date.dated) {
        out->seconds = date.time;
        (void)rp_moment_text(out->time, date.time);
    }
    status = keep_text(&out->authority, date.dated ? date.authority : "", err);
    return status == RP_OK ? keep_text(&out->timestamp_note, date.note, err) : status;
}

/* An expired certificate counts for what the clause's own authority has dated before. */
static rp_status judge(rp_verified_standing *out, const rp_trust_view *view, const rp_clause *clause, rp_error *err)
{
    const rp_policy *policy = view->policy;
    int64_t time;
    bool dated;
    rp_status status = clause->dated ? judge_date(out, view, &policy->group[clause->authorities], err) : RP_OK;

    if (status == RP_OK)
        status = rp_trust_when(view, out->statement, &time, &dated, err);
    return status == RP_OK
               ? judge_certificate(out, view, &policy->group[clause->group], out->dated ? out->seconds : time, err)
               : status;
}

/* ---- all clauses ---- */

static rp_status add(const rp_trust_view *view, const rp_clause *clause, const rp_key *signer, const char *member,
                     bool handed, rp_verification *result, rp_error *err)
{
    rp_verified_standing *grown = rp_reallocarray(result->standing, result->standings + 1, sizeof *grown);

    if (grown == NULL)
        return rp_no_memory(err);
    result->standing = grown;
    grown += result->standings++;
    memset(grown, 0, sizeof *grown);
    memcpy(grown->clause, clause->name, sizeof grown->clause);
    memcpy(grown->statement, member, strlen(member) + 1);
    memcpy(grown->key_id, rp_key_id(signer), RP_DIGEST_HEX);
    return handed ? keep_text(&grown->certificate_note, "its hand-over says that it does not sign at that time", err)
                  : judge(grown, view, clause, err);
}

/* Whoever has handed over signs no more, and who is to succeed signs not yet, whatever their certificates say. */
static bool handed_over(const rp_verification *result, const char *member)
{
    for (size_t i = 0; i < result->certificates; i++)
        if (result->certificate[i].rotation && !result->certificate[i].accepted &&
            strcmp(result->certificate[i].statement, member) == 0)
            return true;
    return false;
}

rp_status rp_policy_stand(const rp_trust_view *view, rp_statement_kind kind, const rp_key *signer, const char *member,
                          rp_verification *result, bool *taken, rp_error *err)
{
    const rp_policy *policy = view->policy;
    bool handed = handed_over(result, member);
    rp_status status = RP_OK;

    *taken = false;
    if (policy == NULL || signer == NULL)
        return RP_OK;
    for (size_t i = 0; i < policy->clauses && status == RP_OK; i++) {
        const rp_clause *clause = &policy->clause[i];
        /* who made the run may be asked for its name by others' clauses: independent */
        bool name = clause->kind == RP_CLAUSE_BUILDER && rp_policy_certifies(policy);

        if (!rp_clause_about(clause, kind) || !(clause->dated || certifies(policy, clause) || name))
            continue;
        status = add(view, clause, signer, member, handed, result, err);
        *taken = *taken || (status == RP_OK && result->standing[result->standings - 1].certified);
    }
    return status;
}

void rp_verified_standing_clear(rp_verified_standing *standing)
{
    rp_free(standing->subject);
    rp_free(standing->certificate_note);
    rp_free(standing->authority);
    rp_free(standing->timestamp_note);
    memset(standing, 0, sizeof *standing);
}
