/* SPDX-License-Identifier: Apache-2.0
 * What a trust store holds (rp/trust.h), and how verification asks it. */
#ifndef AUDIT_TRUST_TRUST_H
#define AUDIT_TRUST_TRUST_H

#include "audit/sign/chain.h"
#include "audit/sign/rotation.h"
#include "rp/trust.h"

struct rp_trust_store {
    STACK_OF(X509) * ca, *tsa;
    STACK_OF(X509_CRL) * crls;
    struct {
        rp_buffer text;
        char *where;
    } rotation[RP_ROTATIONS_MAX];
    size_t rotations;
    int64_t time; /* where time_given */
    bool time_given, require_crl, rsa_timestamps;
};

/* When to judge what no timestamp dates: the given time, else now. store may be NULL. */
int64_t rp_trust_now(const rp_trust_store *store);

/* Checks every timestamp of the archive against the statement it dates, and with authorities in the store against
 * those; adds them to result. store may be NULL. Errors name the member. */
rp_status rp_trust_timestamps(const rp_trust_store *store, const rp_archive *archive, rp_verification *result,
                              rp_error *err);

#endif
