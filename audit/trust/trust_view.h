/* SPDX-License-Identifier: Apache-2.0
 * Whose signatures count while one archive is verified: keys that are trusted by themselves, their successors from the
 * time of the hand-over on, and keys of the archive's certificates, which count for a statement when their chain is
 * good at its time. */
#ifndef AUDIT_TRUST_TRUST_VIEW_H
#define AUDIT_TRUST_TRUST_VIEW_H

#include "audit/archive/archive.h"
#include "audit/sign/certificate.h"
#include "audit/sign/chain.h"
#include "audit/sign/dsse.h"
#include "audit/trust/trust.h"

enum { RP_CERTIFICATES_MAX = 256 };

/* What was found of a certificate under one set of roots. Each is judged once a second of time, however many statements
 * its key has signed: a stranger may have put in thousands. */
typedef struct rp_chain_memo {
    int64_t time; /* at which */
    bool certified, once_judged, once;
    rp_chain_verdict verdict;
    char why[RP_ERROR_TEXT]; /* not certified */
} rp_chain_memo;

typedef struct rp_trust_view {
    const rp_archive *archive;
    const rp_trust_store *store;    /* or NULL */
    const struct rp_policy *policy; /* or NULL */
    const rp_key **key;             /* those trusted by themselves, then their successors, then those of certificates */
    size_t keys, direct;
    rp_rotation *rotation; /* of the store, each by a key that is trusted or a successor */
    size_t rotations;
    rp_certificate *certificate;
    size_t certificates;
    rp_chain_memo *
        *memo; /* by certificate, and in it by the policy's group; the last one is for the verifier's roots */
} rp_trust_view;

enum { RP_MEMO_OWN = 64, RP_MEMOS }; /* RP_POLICY_GROUPS groups, and the verifier's own roots */

/* Judges a certificate of the view, or tells again what was found at that time. slot: the number of the group by whose
 * store rules were made, or RP_MEMO_OWN. *out is the view's until the next call for that certificate and slot. Errors:
 * RP_ENOMEM. */
rp_status rp_trust_judge(rp_chain_memo **out, const rp_trust_view *view, const rp_certificate *certificate, size_t slot,
                         const rp_chain_rules *rules, rp_error *err);

/* Reads every certificate in the archive; its form must be right whoever asks. Borrows all. Errors: RP_ESIGN names the
 * member. Close in any case. */
rp_status rp_trust_view_open(rp_trust_view *out, const rp_archive *archive, const rp_key *const *trusted,
                             size_t n_trusted, const rp_trust_store *store, const struct rp_policy *policy,
                             rp_error *err);
void rp_trust_view_close(rp_trust_view *view);

/* After a statement's signature was found right by one of view->key: *key becomes NULL where that does not count for
 * it: a certificate's that is not good, a successor's before or an older one's after the hand-over. What was found is
 * added to result. Errors: those of its timestamp; RP_ENOMEM. */
rp_status rp_trust_admit(const rp_trust_view *view, const rp_key **key, const char *member, rp_verification *result,
                         rp_error *err);
/* What the timestamp of a statement shows under the authorities of a store. */
typedef struct rp_trust_date {
    bool dated;   /* by one of them */
    int64_t time; /* then */
    char authority[RP_NAME_TEXT];
    char note[RP_ERROR_TEXT]; /* why not, or what an auditor should know */
} rp_trust_date;

/* A timestamp that is not by one of the authorities dates nothing; one that is malformed or about other bytes is an
 * error: RP_ESIGN. */
rp_status rp_trust_date_of(const rp_trust_view *view, const char *statement, const rp_trust_store *store,
                           rp_trust_date *out, rp_error *err);
/* When a statement is judged: when a timestamp by one of the verifier's own authorities says, else at the time given,
 * else now. */
rp_status rp_trust_when(const rp_trust_view *view, const char *statement, int64_t *time, bool *dated, rp_error *err);
/* The certificates in the archive of the key of that id, or NULL. */
const rp_certificate *rp_trust_certificate(const rp_trust_view *view, const char *key_id);
/* Whether a key is trusted by itself. */
bool rp_trust_is_direct(const rp_trust_view *view, const rp_key *key);
/* Why nobody who counts signed a member: its certificate was refused, or there is none. Returns RP_ESIGN. */
rp_status rp_trust_refusal(const rp_trust_view *view, const rp_verification *result, const char *member,
                           const char *key_id, rp_error *err);

#endif
