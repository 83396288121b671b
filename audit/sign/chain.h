/* SPDX-License-Identifier: Apache-2.0
 * Whether a certificate leads to a trusted root at a given time, by keys and signatures that are strong enough, and
 * whether what is known of revocations allows it (RFC 5280). */
#ifndef AUDIT_SIGN_CHAIN_H
#define AUDIT_SIGN_CHAIN_H

#include "audit/sign/utc_time.h"
#include "audit/sign/x509.h"

typedef struct rp_chain_rules {
    STACK_OF(X509) * anchors, *untrusted; /* borrowed, as all here; untrusted may be NULL */
    STACK_OF(X509_CRL) * crls;
    int64_t time;    /* validity and revocation are judged at this second */
    bool timestamps; /* for a timestamp authority, else for a signer of statements */
    bool rsa;
    bool require_crl;
} rp_chain_rules;

typedef struct rp_chain_verdict {
    char subject[RP_NAME_TEXT], anchor[RP_NAME_TEXT];
    char note[RP_NAME_TEXT + 160]; /* what an auditor should know, e.g. "revoked on ... afterwards"; may be empty */
    bool revocation_checked;       /* of every certificate below the anchor */
} rp_chain_verdict;

/* Errors: RP_ESIGN says why not; RP_ENOMEM. */
rp_status rp_chain_judge(rp_chain_verdict *out, X509 *leaf, const rp_chain_rules *rules, rp_error *err);

#endif
