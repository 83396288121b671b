/* SPDX-License-Identifier: Apache-2.0
 * A chain on the CPU, ready to run: what kernels/chain.c works out once, and threads then only read. */
#ifndef KERNELS_CHAIN_JOB_H
#define KERNELS_CHAIN_JOB_H

#include "kernels/chain_plan.h"

enum { RP_CHAIN_SOON = 2 /* operands that a step asks for, of others */ };

/* A tensor that is read from memory in order. */
typedef struct rp_chain_ahead {
    const char *data;
    size_t size; /* of an element */
} rp_chain_ahead;

typedef struct rp_chain_job {
    const rp_chain *chain;
    rp_chain_plan plan;
    const rp_kernel_table *table;
    size_t block; /* elements */
    size_t wide;  /* of a block of which all steps run in registers: fewer pieces of scratch, so more; 0: none does */
    rp_chain_ahead ahead[RP_CHAIN_VIEWS];
    bool streams; /* an output goes past the caches */
    size_t n_ahead;
    size_t soon[RP_CHAIN_STEPS][RP_CHAIN_SOON], n_soon[RP_CHAIN_STEPS]; /* views that a step asks for */
} rp_chain_job;

void rp_chain_job_make(rp_chain_job *job, const rp_chain *chain, const rp_kernel_table *table);
/* `rows` rows of `columns` elements, `step` elements apart, from element `first` on, of which the value that has no
 * memory, if the chain reads or makes one, is at `loose`, a row every `pitch` elements. */
void rp_chain_job_run_loose(const rp_chain_job *job, size_t first, size_t rows, size_t step, size_t columns,
                            void *loose, size_t pitch);
/* `rows` rows of `columns` elements, `step` elements apart, from element `first` on. */
void rp_chain_job_run(const rp_chain_job *job, size_t first, size_t rows, size_t step, size_t columns);

#endif
