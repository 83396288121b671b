/* SPDX-License-Identifier: Apache-2.0
 * Rows that are gathered only to be reduced, as an embedding bag's are: both instructions run piece by piece, so that
 * what is gathered stays in a near cache and is never there as a whole. The kernels are the ordinary ones; an element
 * of a reduction is made of its own elements alone, so any cut has the same bits. Sums and means of bags add the rows
 * where they lie (kernels/bags.h), if the device can. */
#ifndef CORE_PROGRAM_INDEXING_GATHERED_H
#define CORE_PROGRAM_INDEXING_GATHERED_H

#include "core/program/execute.h"

/* Whether `reduce` is one of the rows that `gather` makes, in a program of these types, and it pays. */
bool rp_gathered_fits(const rp_program *p, const rp_instr *gather, const rp_instr *reduce);
/* Bytes of memory that a piece takes. */
size_t rp_gathered_bytes(const rp_type *gathered);
/* Launches both, whose indices were looked at. in: the gather's operands; out: the reduction's result; piece: memory of
 * rp_gathered_bytes. Errors: the device's. */
rp_status rp_gathered_launch(rp_device *device, const rp_instr *gather, const rp_instr *reduce, const rp_type *gathered,
                             const rp_view *in, const rp_view *out, void *piece, rp_error *err);

#endif
