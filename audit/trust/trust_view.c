/* SPDX-License-Identifier: Apache-2.0
 * Keys that count by hand-overs and certificates. Both are judged at the time that a trusted timestamp of the statement
 * says; without one, at the time the verifier gave, else now: what has expired since signing counts only where the date
 * is proven. */
#include "audit/trust/trust_view.h"

#include <openssl/err.h>
#include <stdio.h>
#include <string.h>

#include "audit/archive/archive_private.h"
#include "audit/trust/policy.h"
#include "audit/trust/timestamp.h"
#include "base/memory.h"

/* ---- opening ---- */

static rp_status read_certificate(rp_trust_view *view, const rp_member *member, rp_error *err)
{
    rp_certificate *grown = rp_reallocarray(view->certificate, view->certificates + 1, sizeof *grown);
    char name[RP_MEMBER_NAME];
    rp_buffer text = {0};
    rp_status status;

    if (grown == NULL)
        return rp_no_memory(err);
    view->certificate = grown;
    grown += view->certificates;
    status = rp_archive_member_body(view->archive, member, &text, err);
    if (status == RP_OK) {
        view->certificates++;
        status = rp_certificate_parse(grown, text.data, text.size, true, member->name, RP_ESIGN, err);
    }
    rp_buffer_free(&text);
    if (status != RP_OK)
        return status;
    rp_certificate_member(name, rp_key_id(grown->key));
    return strcmp(name, member->name) == 0
               ? RP_OK
               : rp_fail(err, RP_ESIGN, "%s: certificates of another key, whose name here is %s", member->name, name);
}

/* A successor's own successor is one from when both hand-overs say. */
static void not_before_its_giver(rp_trust_view *view, rp_rotation *added)
{
    for (size_t i = 0; i < view->rotations; i++)
        if (strcmp(rp_key_id(view->rotation[i].successor), added->old_id) == 0 && view->rotation[i].from > added->from)
            added->from = view->rotation[i].from;
}

/* In whatever order they were given: again as long as one more is by a key that is trusted by then. */
static rp_status follow_rotations(rp_trust_view *view, rp_error *err)
{
    size_t count = view->store != NULL ? view->store->rotations : 0;
    bool followed[RP_ROTATIONS_MAX] = {false}, more = true;
    rp_status status = RP_OK;

    while (more && status == RP_OK) {
        more = false;
        for (size_t i = 0; i < count && status == RP_OK; i++) {
            rp_rotation *next = &view->rotation[view->rotations];
            const rp_key *by = NULL;

            if (followed[i])
                continue;
            status = rp_rotation_read(next, &by, view->store->rotation[i].text.data, view->store->rotation[i].text.size,
                                      view->store->rotation[i].where, view->key, view->keys, err);
            if (status != RP_OK || by == NULL) {
                rp_rotation_clear(next);
                continue;
            }
            not_before_its_giver(view, next);
            view->key[view->keys++] = next->successor;
            view->rotations++;
            followed[i] = more = true;
        }
    }
    for (size_t i = 0; i < count && status == RP_OK; i++)
        if (!followed[i])
            status =
                rp_fail(err, RP_ESIGN, "%s: handed over by a key that is not trusted", view->store->rotation[i].where);
    return status;
}

static bool has_authorities(const rp_trust_store *store)
{
    return store != NULL && sk_X509_num(store->ca) > 0;
}

static rp_status gather_keys(rp_trust_view *view, const rp_key *const *trusted, size_t n_trusted, rp_error *err)
{
    bool authorities = has_authorities(view->store) || (view->policy != NULL && rp_policy_certifies(view->policy));
    size_t rotations = view->store != NULL ? view->store->rotations : 0;
    rp_status status;

    view->key = rp_reallocarray(NULL, n_trusted + rotations + view->certificates, sizeof *view->key);
    view->rotation = rp_calloc(rotations, sizeof *view->rotation);
    if (view->key == NULL || view->rotation == NULL)
        return rp_no_memory(err);
    for (size_t i = 0; i < n_trusted; i++)
        view->key[view->keys++] = trusted[i];
    view->direct = n_trusted;
    status = follow_rotations(view, err);
    if (status != RP_OK)
        return status;
    for (size_t i = 0; i < view->certificates && authorities; i++)
        view->key[view->keys++] = view->certificate[i].key;
    return RP_OK;
}

rp_status rp_trust_view_open(rp_trust_view *out, const rp_archive *archive, const rp_key *const *trusted,
                             size_t n_trusted, const rp_trust_store *store, const rp_policy *policy, rp_error *err)
{
    rp_status status = RP_OK;

    *out = (rp_trust_view){.archive = archive, .store = store, .policy = policy};
    for (size_t i = 0; i < archive->members && status == RP_OK; i++) {
        if (!rp_certificate_member_valid(archive->member[i].name))
            continue;
        status = out->certificates < RP_CERTIFICATES_MAX
                     ? read_certificate(out, &archive->member[i], err)
                     : rp_fail(err, RP_ESIGN, "%s: more than %d keys have certificates here", archive->member[i].name,
                               (int)RP_CERTIFICATES_MAX);
    }
    if (status == RP_OK && (out->memo = rp_calloc(out->certificates * RP_MEMOS + 1, sizeof(rp_chain_memo *))) == NULL)
        status = rp_no_memory(err);
    return status == RP_OK ? gather_keys(out, trusted, n_trusted, err) : status;
}

void rp_trust_view_close(rp_trust_view *view)
{
    for (size_t i = 0; view->memo != NULL && i < view->certificates * RP_MEMOS; i++)
        rp_free(view->memo[i]);
    rp_free(view->memo);
    for (size_t i = 0; i < view->certificates; i++)
        rp_certificate_clear(&view->certificate[i]);
    for (size_t i = 0; i < view->rotations; i++)
        rp_rotation_clear(&view->rotation[i]);
    rp_free(view->rotation);
    rp_free(view->certificate);
    rp_free(view->key);
    memset(view, 0, sizeof *view);
}

bool rp_trust_is_direct(const rp_trust_view *view, const rp_key *key)
{
    for (size_t i = 0; i < view->direct; i++)
        if (view->key[i] == key)
            return true;
    return false;
}

/* ---- when ---- */

static rp_status read_date(const rp_trust_view *view, const rp_member *statement, const rp_member *member,
                           const rp_trust_store *store, rp_trust_date *out, rp_error *err)
{
    rp_buffer response = {0}, body = {0};
    rp_timestamp timestamp = {.time = 0};
    rp_chain_verdict verdict;
    rp_error why = {.text = ""};
    rp_status status = rp_archive_member_body(view->archive, member, &response, err), judged;

    if (status == RP_OK)
        status = rp_archive_member_body(view->archive, statement, &body, err);
    if (status == RP_OK)
        status = rp_timestamp_parse(&timestamp, response.data, response.size, member->name, err);
    if (status == RP_OK)
        status = rp_timestamp_covers(&timestamp, body.data, body.size, member->name, err);
    if (status == RP_OK) {
        judged = rp_timestamp_judge(&verdict, &timestamp, store, &why);
        if (judged == RP_ENOMEM)
            status = rp_no_memory(err);
        out->dated = judged == RP_OK;
        out->time = timestamp.time;
        (void)rp_x509_name(out->authority, X509_get_subject_name(timestamp.signer));
        (void)snprintf(out->note, sizeof out->note, "%s", judged == RP_OK ? verdict.note : why.text);
    }
    rp_timestamp_clear(&timestamp);
    rp_buffer_free(&response);
    rp_buffer_free(&body);
    return status;
}

rp_status rp_trust_date_of(const rp_trust_view *view, const char *statement, const rp_trust_store *store,
                           rp_trust_date *out, rp_error *err)
{
    char name[RP_MEMBER_NAME];
    const rp_member *member = NULL;

    memset(out, 0, sizeof *out);
    if (rp_timestamp_member(name, statement, NULL) == RP_OK)
        member = rp_archive_find(view->archive, name);
    if (member != NULL && sk_X509_num(store->tsa) > 0)
        return read_date(view, rp_archive_find(view->archive, statement), member, store, out, err);
    strcpy(out->note, member != NULL ? "no timestamp authority was given" : "no timestamp");
    return RP_OK;
}

rp_status rp_trust_when(const rp_trust_view *view, const char *statement, int64_t *time, bool *dated, rp_error *err)
{
    rp_trust_date date = {.dated = false};
    rp_status status = view->store != NULL ? rp_trust_date_of(view, statement, view->store, &date, err) : RP_OK;

    *dated = date.dated;
    *time = date.dated ? date.time : rp_trust_now(view->store);
    return status;
}

/* ---- who ---- */

_Static_assert((int)RP_MEMO_OWN == (int)RP_POLICY_GROUPS, "a place for each group");

rp_status rp_trust_judge(rp_chain_memo **out, const rp_trust_view *view, const rp_certificate *certificate, size_t slot,
                         const rp_chain_rules *rules, rp_error *err)
{
    rp_chain_memo **memo = &view->memo[(size_t)(certificate - view->certificate) * RP_MEMOS + slot];
    rp_error why = {.text = ""};
    rp_status judged;

    *out = *memo;
    if (*memo != NULL && (*memo)->time == rules->time)
        return RP_OK;
    if (*memo == NULL && (*memo = rp_calloc(1, sizeof **memo)) == NULL)
        return rp_no_memory(err);
    judged = rp_chain_judge(&(*memo)->verdict, sk_X509_value(certificate->chain, 0), rules, &why);
    if (judged == RP_ENOMEM) {
        rp_free(*memo);
        *memo = NULL;
        return rp_no_memory(err);
    }
    (*memo)->time = rules->time;
    (*memo)->certified = judged == RP_OK;
    (void)snprintf((*memo)->why, sizeof(*memo)->why, "%s", judged == RP_OK ? "" : why.text);
    *out = *memo;
    return RP_OK;
}

static rp_status fill(rp_verified_certificate *out, const rp_chain_memo *memo, X509 *leaf, rp_error *err)
{
    char name[RP_NAME_TEXT];
    const rp_chain_verdict *verdict = &memo->verdict;
    const char *note = !memo->certified ? memo->why : *verdict->note ? verdict->note : NULL;

    out->accepted = memo->certified;
    out->revocation_checked = memo->certified && verdict->revocation_checked;
    out->subject = rp_strdup(rp_x509_name(name, X509_get_subject_name(leaf)));
    if (out->subject == NULL || (note != NULL && (out->note = rp_strdup(note)) == NULL) ||
        (out->accepted && (out->anchor = rp_strdup(verdict->anchor)) == NULL))
        return rp_no_memory(err);
    return RP_OK;
}

/* A new entry of result, with the time at which its statement is judged. */
static rp_status begin(rp_verified_certificate **out, const rp_trust_view *view, const rp_key *key, const char *member,
                       int64_t *time, rp_verification *result, rp_error *err)
{
    rp_verified_certificate *grown = rp_reallocarray(result->certificate, result->certificates + 1, sizeof *grown);
    bool dated = false;
    rp_status status;

    if (grown == NULL)
        return rp_no_memory(err);
    result->certificate = grown;
    *out = grown += result->certificates++;
    memset(grown, 0, sizeof *grown);
    memcpy(grown->statement, member, strlen(member) + 1);
    memcpy(grown->key_id, rp_key_id(key), RP_DIGEST_HEX);
    status = rp_trust_when(view, member, time, &dated, err);
    grown->at = dated ? RP_AT_TIMESTAMP : view->store->time_given ? RP_AT_GIVEN_TIME : RP_AT_NOW;
    (void)rp_moment_text(grown->time, *time);
    return status;
}

static rp_status judge(const rp_trust_view *view, const rp_certificate *certificate, const char *member,
                       rp_verification *result, bool *accepted, rp_error *err)
{
    rp_verified_certificate *entry;
    rp_chain_memo *memo;
    rp_chain_rules rules = {.anchors = view->store->ca,
                            .untrusted = certificate->chain,
                            .crls = view->store->crls,
                            .require_crl = view->store->require_crl};
    rp_status status = begin(&entry, view, certificate->key, member, &rules.time, result, err);

    if (status == RP_OK)
        status = rp_trust_judge(&memo, view, certificate, RP_MEMO_OWN, &rules, err);
    if (status != RP_OK)
        return status;
    *accepted = *accepted || memo->certified;
    return fill(entry, memo, sk_X509_value(certificate->chain, 0), err);
}

static rp_status tell_key(char **out, const char *before, const char *key_id, const char *after, rp_error *err)
{
    rp_buffer text = {0};

    rp_buffer_printf(&text, "%s%.16s...%s", before, key_id, after);
    return rp_buffer_finish(&text, RP_OK, out, err);
}

static rp_status tell_when(char **out, const char *before, const char *when, const char *after, rp_error *err)
{
    rp_buffer text = {0};

    rp_buffer_printf(&text, "%s%s%s", before, when, after);
    return rp_buffer_finish(&text, RP_OK, out, err);
}

/* The successor counts from the hand-over on. */
static rp_status judge_successor(const rp_trust_view *view, const rp_rotation *by, const char *member,
                                 rp_verification *result, bool *accepted, rp_error *err)
{
    rp_verified_certificate *entry;
    char from[RP_MOMENT_TEXT];
    int64_t time;
    rp_status status = begin(&entry, view, by->successor, member, &time, result, err);

    if (status != RP_OK)
        return status;
    entry->rotation = true;
    entry->accepted = *accepted = *accepted || time >= by->from;
    memcpy(entry->predecessor, by->old_id, RP_DIGEST_HEX);
    (void)rp_moment_text(from, by->from);
    status = tell_key(&entry->subject, "successor of key ", by->old_id, "", err);
    if (status == RP_OK && entry->accepted)
        status = tell_key(&entry->anchor, "key ", by->old_id, "", err);
    if (status == RP_OK && !entry->accepted)
        status = tell_when(&entry->note, "only from ", from, " on", err);
    return status;
}

/* Whoever has handed over signs no more. Without a date from before nobody can tell when it signed; that is said, and
 * counts: anyone can have an old statement dated anew, so a late date says no more than none. It is the verifier's own
 * time that ends it. */
static rp_status judge_retired(const rp_trust_view *view, const rp_rotation *by, const rp_key *old, const char *member,
                               rp_verification *result, bool *accepted, rp_error *err)
{
    rp_verified_certificate *entry;
    char from[RP_MOMENT_TEXT];
    int64_t time;
    rp_status status = begin(&entry, view, old, member, &time, result, err);

    if (status != RP_OK)
        return status;
    entry->rotation = true;
    *accepted = *accepted && (time < by->from || entry->at != RP_AT_GIVEN_TIME);
    entry->accepted = *accepted;
    (void)rp_moment_text(from, by->from);
    status = tell_key(&entry->subject, "key ", rp_key_id(old), ", which has handed over,", err);
    if (status == RP_OK && *accepted)
        status = tell_key(&entry->anchor, "key ", rp_key_id(old), "", err);
    if (status == RP_OK && !*accepted)
        status = tell_when(&entry->note, "handed over on ", from, ": it signs no more", err);
    else if (status == RP_OK && time >= by->from)
        status =
            tell_when(&entry->note, "handed over on ", from, ", and nothing shows that this was signed before", err);
    return status;
}

rp_status rp_trust_admit(const rp_trust_view *view, const rp_key **key, const char *member, rp_verification *result,
                         rp_error *err)
{
    bool accepted;
    rp_status status = RP_OK;

    if (*key == NULL)
        return RP_OK;
    accepted = rp_trust_is_direct(view, *key);
    /* by their ids, as the same key may have been given in several ways: any of them makes it count, a hand-over ends
     * it */
    for (size_t i = 0; i < view->rotations && status == RP_OK; i++)
        if (strcmp(rp_key_id(view->rotation[i].successor), rp_key_id(*key)) == 0)
            status = judge_successor(view, &view->rotation[i], member, result, &accepted, err);
    for (size_t i = 0; i < view->certificates && has_authorities(view->store) && status == RP_OK; i++)
        if (strcmp(rp_key_id(view->certificate[i].key), rp_key_id(*key)) == 0)
            status = judge(view, &view->certificate[i], member, result, &accepted, err);
    for (size_t i = 0; i < view->rotations && status == RP_OK && accepted; i++)
        if (strcmp(view->rotation[i].old_id, rp_key_id(*key)) == 0)
            status = judge_retired(view, &view->rotation[i], *key, member, result, &accepted, err);
    if (!accepted)
        *key = NULL;
    return status;
}

const rp_certificate *rp_trust_certificate(const rp_trust_view *view, const char *key_id)
{
    for (size_t i = 0; i < view->certificates; i++)
        if (strcmp(rp_key_id(view->certificate[i].key), key_id) == 0)
            return &view->certificate[i];
    return NULL;
}

rp_status rp_trust_refusal(const rp_trust_view *view, const rp_verification *result, const char *member,
                           const char *key_id, rp_error *err)
{
    for (size_t i = 0; i < result->certificates; i++) {
        const rp_verified_certificate *one = &result->certificate[i];

        if (!one->accepted && strcmp(one->statement, member) == 0)
            return one->rotation
                       ? rp_fail(err, RP_ESIGN, "%s: signed by key %.16s..., at %s not a key that counts: %s %s",
                                 member, key_id, one->time, one->subject, one->note)
                       : rp_fail(err, RP_ESIGN,
                                 "%s: signed by key %.16s..., whose certificate is not accepted at %s: %s", member,
                                 key_id, one->time, one->note);
    }
    return rp_signer_unknown(member, key_id, view->direct, err);
}
