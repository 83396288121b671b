/* SPDX-License-Identifier: Apache-2.0
 * The Merkle tree over records of a journal, or over the roots of its windows, kept whole, so that two journals are
 * bisected. */
#ifndef AUDIT_DIGEST_RECORD_TREE_H
#define AUDIT_DIGEST_RECORD_TREE_H

#include "audit/digest/digest.h"

typedef struct rp_record_tree rp_record_tree;

/* The tree of FORMAT.md 3 over count records (at least 1); records are borrowed during the call only. */
rp_status rp_record_tree_new(rp_record_tree **out, const void *records, size_t record_size, size_t count,
                             rp_error *err);
/* The tree over count digests (at least 1), which are copied. */
rp_status rp_record_tree_over(rp_record_tree **out, const rp_digest *leaf, size_t count, rp_error *err);
void rp_record_tree_free(rp_record_tree *tree);
const rp_digest *rp_record_tree_root(const rp_record_tree *tree);
/* The first record that differs between two trees of equally many; their number when none does. *compared grows by the
 * pairs of digests compared: the roots, then at most one pair a level. */
size_t rp_record_tree_bisect(const rp_record_tree *a, const rp_record_tree *b, uint64_t *compared);

#endif
