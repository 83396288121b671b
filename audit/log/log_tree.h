/* SPDX-License-Identifier: Apache-2.0
 * The Merkle tree of RFC 6962 over leaf digests: roots, inclusion and consistency proofs, and their verification by the
 * independent algorithms of RFC 9162 (2.1.3.2 and 2.1.4.2). */
#ifndef AUDIT_LOG_LOG_TREE_H
#define AUDIT_LOG_LOG_TREE_H

#include "audit/digest/digest.h"

enum { RP_LOG_PATH_MAX = 64 }; /* no tree of fewer than 2^63 leaves has a longer proof */

/* leaf[i] = SHA-256(00 || entry i), each entry the 32 bytes of a digest. leaf may be entry. */
rp_status rp_log_leaves(rp_digest *leaf, const rp_digest *entry, size_t count, rp_error *err);
/* No leaves: SHA-256 of nothing. */
rp_status rp_log_root(rp_digest *out, const rp_digest *leaf, size_t count, rp_error *err);
/* path[RP_LOG_PATH_MAX], from the leaf's sibling up. index < count. */
rp_status rp_log_path(rp_digest *path, size_t *length, const rp_digest *leaf, size_t count, size_t index,
                      rp_error *err);
/* Between the first old leaves and all of them; old <= count. Empty where old is 0 or count. */
rp_status rp_log_growth(rp_digest *path, size_t *length, const rp_digest *leaf, size_t count, size_t old,
                        rp_error *err);

/* *right tells whether the proof holds; the status is about hashing only. */
rp_status rp_log_path_check(bool *right, const rp_digest *path, size_t length, uint64_t index, uint64_t size,
                            const rp_digest *leaf, const rp_digest *root, rp_error *err);
rp_status rp_log_growth_check(bool *right, const rp_digest *path, size_t length, uint64_t old_size, uint64_t size,
                              const rp_digest *old_root, const rp_digest *root, rp_error *err);

#endif
