/* SPDX-License-Identifier: Apache-2.0
 * The order in which a plan executes instructions: as in the program, except that elementwise ones over one large shape
 * are brought together into chains (kernels/chain.h) where nothing in between needs them. Values are assigned once, so
 * every order in which operands come before their readers gives the same bits. */
#ifndef CORE_RUN_FUSE_H
#define CORE_RUN_FUSE_H

#include "core/program/program.h"

typedef struct rp_order {
    uint32_t *instr; /* by position; instructions that only make a view are left out */
    uint32_t *first; /* the first position of the chain that a position is in; the position itself outside chains */
    size_t n;
} rp_order;

/* root[v]: the value whose memory v is in; view[v]: v's strides. Errors: RP_ENOMEM. */
rp_status rp_order_new(rp_order *out, const rp_program *program, const uint32_t *root, const rp_view *view,
                       rp_error *err);
void rp_order_free(rp_order *order);
/* The position after the chain that begins at `first`. */
size_t rp_order_end(const rp_order *order, size_t first);
/* Whether a view has its elements in the places of a contiguous tensor of this type. */
bool rp_view_is_whole(const rp_view *view, const rp_type *type);

#endif
