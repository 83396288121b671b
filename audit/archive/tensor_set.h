/* SPDX-License-Identifier: Apache-2.0
 * Reading a set of named tensors (FORMAT.md 7.1) that lies in one member of an archive, in several parts, or in a part
 * of a file. Headers are held, tensors never: they come window by window. */
#ifndef AUDIT_ARCHIVE_TENSOR_SET_H
#define AUDIT_ARCHIVE_TENSOR_SET_H

#include "audit/archive/archive.h"
#include "audit/archive/safetensors.h"

typedef struct rp_tensor_set rp_tensor_set;

/* Whether the archive has the set, whole or in parts. set: the name of its one member, as RP_FINAL_MEMBER. */
bool rp_tensor_set_present(const rp_archive *archive, const char *set);
/* Whether both archives have the set in members of the same names and bytes. */
bool rp_tensor_set_equal(const rp_archive *a, const rp_archive *b, const char *set);
/* archive is borrowed. Errors: RP_EFORMAT: it is missing, parts are, or names do not ascend from part to part;
 * RP_EDATA, RP_EUNSUPPORTED: as rp_safetensors_parse; RP_EARG: it was left out of the archive. */
rp_status rp_tensor_set_open(rp_tensor_set **out, const rp_archive *archive, const char *set, rp_error *err);
/* One safetensors file at offset of fd, borrowed; digest: of its size bytes. */
rp_status rp_tensor_set_open_file(rp_tensor_set **out, int fd, uint64_t offset, uint64_t size, const rp_digest *digest,
                                  const char *where, rp_error *err);
void rp_tensor_set_free(rp_tensor_set *set);

/* By name, ascending bytes; data is NULL. */
size_t rp_tensor_set_count(const rp_tensor_set *set);
const rp_safetensor *rp_tensor_set_at(const rp_tensor_set *set, size_t index);
const rp_safetensor *rp_tensor_set_find(const rp_tensor_set *set, const char *name); /* NULL when absent */

/* Stored bytes of a tensor of the set, not hashed again. */
rp_status rp_tensor_set_read(const rp_tensor_set *set, const rp_safetensor *tensor, size_t at, void *stored,
                             size_t size, rp_error *err);
/* All elements, in host form. */
rp_status rp_tensor_set_read_host(const rp_tensor_set *set, const rp_safetensor *tensor, void *host, rp_error *err);

/* Who takes elements `first` to first + count - 1 of a tensor, in host form; of each tensor ascending, at least once.
 */
typedef struct rp_element_sink {
    rp_status (*put)(void *self, const rp_safetensor *tensor, size_t first, const void *host, size_t count,
                     rp_error *err);
    void *self;
} rp_element_sink;
/* Every tensor once, in the order in which they lie. The members are hashed again on the way: RP_EHASH at the end of
 * one that changed since the archive was opened; what came of it by then is not to be used. */
rp_status rp_tensor_set_stream(const rp_tensor_set *set, const rp_element_sink *to, rp_error *err);

/* The digest of a list of tensors of the set (all: list NULL), as the journal has that of states. */
rp_status rp_tensor_set_digest(rp_digest *out, const rp_tensor_set *set, const rp_safetensor *const *list, size_t count,
                               rp_error *err);
/* Whether tensors of two sets have one type and the same bytes. */
rp_status rp_tensor_set_same(bool *same, const rp_tensor_set *a, const rp_safetensor *x, const rp_tensor_set *b,
                             const rp_safetensor *y, rp_error *err);

#endif
