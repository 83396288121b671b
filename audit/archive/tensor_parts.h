/* SPDX-License-Identifier: Apache-2.0
 * Writing a set of named tensors as one safetensors member or several parts (FORMAT.md 7.1), in memory that does not
 * depend on the tensors' sizes. Where it is cut follows from names, types and shapes alone. */
#ifndef AUDIT_ARCHIVE_TENSOR_PARTS_H
#define AUDIT_ARCHIVE_TENSOR_PARTS_H

#include "audit/archive/archive.h"
#include "audit/archive/safetensors.h"

enum { RP_PART_BYTES = 1 << 28, RP_PART_TENSORS = 1 << 12 };

/* set: the name of its one member, as RP_FINAL_MEMBER. Tensors come in any order; from as for rp_safetensors_stream.
 * Errors: RP_EARG (double name, more than RP_PARTS_MAX parts), RP_ESHAPE, RP_EIO, RP_ENOMEM. */
rp_status rp_tensor_parts_add(rp_archive_writer *writer, const char *set, const rp_tensor_source *from,
                              const rp_safetensor *tensor, size_t count, rp_error *err);

/* How many members that makes. */
rp_status rp_tensor_parts_count(size_t *parts, const rp_safetensor *tensor, size_t count, rp_error *err);

#endif
