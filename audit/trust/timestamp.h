/* SPDX-License-Identifier: Apache-2.0
 * Timestamps beside statements (RFC 3161, FORMAT.md 5.5): the authority's response as it came. Requesting and attaching
 * are public (rp/trust.h). */
#ifndef AUDIT_TRUST_TIMESTAMP_H
#define AUDIT_TRUST_TIMESTAMP_H

#include <openssl/ts.h>

#include "audit/trust/trust.h"

enum { RP_TIMESTAMP_LIMIT = 1 << 16 };

typedef struct rp_timestamp {
    TS_RESP *response;
    X509 *signer; /* the certificate in the token whose key signed it; of response, as are both below */
    STACK_OF(X509) * certificates;
    const TS_TST_INFO *info;
    int64_t time;
} rp_timestamp;

/* All that can be checked without trust: strict DER, granted, SHA-2 alone, one signature by the certificate that the
 * token holds and names. Whose that is, is not looked into. Errors: RP_ESIGN, RP_ENOMEM. Clear in any case. */
rp_status rp_timestamp_parse(rp_timestamp *out, const void *bytes, size_t size, const char *where, rp_error *err);
void rp_timestamp_clear(rp_timestamp *timestamp);
/* Whether it dates exactly these bytes. */
rp_status rp_timestamp_covers(const rp_timestamp *timestamp, const void *bytes, size_t size, const char *where,
                              rp_error *err);
/* Whether the authority is one of the store's; as of the timestamp's own time. Errors: RP_ESIGN says why not. */
rp_status rp_timestamp_judge(rp_chain_verdict *out, const rp_timestamp *timestamp, const rp_trust_store *store,
                             rp_error *err);

#endif
