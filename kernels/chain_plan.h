/* SPDX-License-Identifier: Apache-2.0
 * What chain.c works out about a chain before it runs: simpler views, and which steps run together in registers. */
#ifndef KERNELS_CHAIN_PLAN_H
#define KERNELS_CHAIN_PLAN_H

#include "kernels/chain.h"
#include "kernels/cpu/spread.h"
#include "kernels/fused.h"
#include "kernels/walk.h"

/* A step in registers, with views for addresses: of what the register gets first, of the other operand, and of what is
 * stored; RP_CHAIN_VIEWS: none.
 * past: NULL, or element 0 of the memory to which a run's last step stores at once, as no step of the chain wants it.
 */
typedef struct rp_chain_part {
    unsigned code;
    unsigned char mask, a, b;
    bool is_mask; /* what it makes */
    float attr[2];
    size_t load, x, store;
    float *past;
} rp_chain_part;

enum { RP_CHAIN_SPREADS = 4 };

typedef struct rp_chain_plan {
    const rp_chain *chain;
    rp_spread spread[RP_CHAIN_SPREADS];    /* operands that are written out, block by block */
    size_t n_spreads, spread_size;         /* bytes of an element of the widest */
    signed char spread_of[RP_CHAIN_VIEWS]; /* of each view: which it is; -1: none */
    rp_view view[RP_CHAIN_VIEWS];          /* the chain's, as vectors where that is the same */
    size_t slot[RP_CHAIN_VIEWS];           /* of the scratch, that the view is in; RP_CHAIN_SLOTS: none */
    size_t compact[RP_CHAIN_SLOTS];        /* where all steps run in registers: what is stored of each slot */
    size_t n_compact;
    size_t end[RP_CHAIN_STEPS];       /* steps [k, end[k]) run together, in registers if they are several: */
    size_t begin[RP_CHAIN_STEPS + 1]; /* parts [begin[k], begin[end[k]]) */
    rp_chain_part part[RP_FUSED_STEPS];
    size_t with[RP_CHAIN_STEPS];    /* of each step: the later one whose result it makes too; RP_CHAIN_STEPS: none */
    bool made_with[RP_CHAIN_STEPS]; /* by an earlier one */
} rp_chain_plan;

void rp_chain_plan_make(rp_chain_plan *plan, const rp_chain *chain, bool fuse);
/* The steps from k for elements from `first`; element 0 of view[v] is, or would be, at its data. */
void rp_chain_fused(rp_fused *fused, const rp_chain_plan *plan, const rp_view *view, size_t k, size_t first);
/* Whether the steps in registers store output `view` past the caches: whole multiples of RP_FUSED_ELEMENTS of it. */
bool rp_chain_past(const rp_chain_plan *plan, size_t view);
bool rp_chain_whole(const rp_view *view, size_t count);

#endif
