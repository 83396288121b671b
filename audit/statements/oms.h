/* SPDX-License-Identifier: Apache-2.0
 * The bundle of OpenSSF Model Signing v1.0 (FORMAT.md 5.1): a second signature over the same members in a form that a
 * public verifier, which knows nothing of Reprise, checks on the extracted archive. Its one subject's digest binds
 * neither names nor sizes, so it is never an archive's identity. */
#ifndef AUDIT_STATEMENTS_OMS_H
#define AUDIT_STATEMENTS_OMS_H

#include "audit/sign/dsse.h"
#include "audit/archive/manifest.h"

#define RP_OMS_MEDIA_TYPE "application/vnd.dev.sigstore.bundle.v0.3+json"
#define RP_OMS_TYPE "https://model_signing/signature/v1.0"

/* Above what a full archive needs: 65,536 members of 209 bytes each, in base64. */
enum { RP_OMS_LIMIT = RP_ENVELOPE_LIMIT };

/* Appends the bundle over the members outside signatures/; the others in member are passed over. Errors: RP_EARG for a
 * key that is not ECDSA (the format has no other bare keys) or is public. */
rp_status rp_oms_write(rp_buffer *out, const rp_key *key, const char *archive_id, const rp_member *member,
                       size_t members, rp_error *err);
/* A bundle as it was found, and what it should be about; borrowed. where names it in errors. */
typedef struct rp_oms_bundle {
    const void *bytes;
    size_t size;
    const char *where;
} rp_oms_bundle;

typedef struct rp_oms_subject {
    const char *archive_id;
    const rp_member *member;
    size_t members;
} rp_oms_subject;

/* The bundle must be, but for the signature, the one that rp_oms_write gives for these members: stricter than the
 * public verifier, which also accepts others. *key: which of the trusted signed. Errors: RP_ESIGN. */
rp_status rp_oms_check(const rp_key **key, const rp_oms_bundle *bundle, const rp_oms_subject *about,
                       const rp_key *const *trusted, size_t n_trusted, rp_error *err);

/* The same, but *key is NULL where another than the trusted signed: all but the signature was checked then. key_id: the
 * signer's in any case. */
rp_status rp_oms_read(const rp_key **key, char key_id[RP_DIGEST_HEX], const rp_oms_bundle *bundle,
                      const rp_oms_subject *about, const rp_key *const *trusted, size_t n_trusted, rp_error *err);
/* Appends what a bundle about these members signs. */
rp_status rp_oms_payload(rp_buffer *out, const char *archive_id, const rp_member *member, size_t members,
                         rp_error *err);

#endif
