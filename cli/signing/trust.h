/* SPDX-License-Identifier: Apache-2.0
 * The options that say whom to trust beyond public keys, and how what they gave is shown. */
#ifndef CLI_SIGNING_TRUST_H
#define CLI_SIGNING_TRUST_H

#include "cli/options.h"
#include "rp/trust.h"

typedef struct rp_trust_request {
    rp_text_list ca, tsa, crl, rotation;
    const char *at;
    bool require_crl, tsa_rsa;
} rp_trust_request;

#define RP_OPTIONS_TRUST(r) \
    {0, \
     "ca", \
     RP_OPTION_LIST, \
     "ROOT.pem", \
     "an authority's root: keys with its certificates in the archive count too", \
     &(r)->ca, \
     false}, \
        {0, \
         "tsa", \
         RP_OPTION_LIST, \
         "ROOT.pem", \
         "a timestamp authority's root: the run's signature must be dated by one", \
         &(r)->tsa, \
         false}, \
        {0,    "tsa-rsa", RP_OPTION_FLAG, NULL, "accept timestamps by RSA of at least 3072 bits too", &(r)->tsa_rsa, \
         false}, \
        {0, "crl", RP_OPTION_LIST, "CRL.pem", "a revocation list of an authority", &(r)->crl, false}, \
        {0, \
         "require-crl", \
         RP_OPTION_FLAG, \
         NULL, \
         "refuse certificates that no revocation list covers", \
         &(r)->require_crl, \
         false}, \
        {0, \
         "rotation", \
         RP_OPTION_LIST, \
         "FILE", \
         "a hand-over by a trusted key to its successor (reprise keygen --rotate)", \
         &(r)->rotation, \
         false}, \
    { \
        0, "at", RP_OPTION_TEXT, "TIME", "judge undated signatures as of 2026-11-21T15:04:05Z (UTC) instead of now", \
            &(r)->at, false \
    }

/* *out stays NULL when no option asked for a store. Errors: RP_EARG, RP_EIO. */
rp_status rp_trust_request_load(rp_trust_store **out, const rp_trust_request *request, rp_error *err);

/* Timestamps, and certificates by which keys count or do not. */
void rp_put_trust(rp_session *session, const rp_verification *verified);
void rp_put_certificates_json(rp_buffer *out, const rp_verification *verified);
/* How statements stand to the clauses of a policy. */
void rp_put_standings_json(rp_buffer *out, const rp_verification *verified);
void rp_put_timestamps_json(rp_buffer *out, const rp_verification *verified);

#endif
