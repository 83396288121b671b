/* SPDX-License-Identifier: Apache-2.0
 * Regions of eager steps. What a step executes is mostly what the step before did, so a region that comes again is
 * executed by a plan of its functions, and a scan whose gradient followed it keeps what that reads. The same kernels on
 * the same values: no bit, and no error, depends on it. */
#ifndef CORE_RUN_EAGER_H
#define CORE_RUN_EAGER_H

#include "core/program/graph.h"

typedef struct rp_eager rp_eager;

/* Executes the graph's regions from now on; stored: bytes that a scan may keep for its gradient. Errors: RP_ENOMEM. */
rp_status rp_eager_new(rp_eager **out, rp_graph *graph, size_t stored, rp_error *err);
/* Before the graph is. NULL is fine. */
void rp_eager_free(rp_eager *eager);
/* Between two steps: what was kept for gradients goes. */
void rp_eager_turn(rp_eager *eager);
/* Regions that were executed by plans, and of these the gradients that read what their scan had kept. */
typedef struct rp_eager_counts {
    size_t planned, kept;
} rp_eager_counts;
rp_eager_counts rp_eager_count(const rp_eager *eager);

#endif
