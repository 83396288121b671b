/* SPDX-License-Identifier: Apache-2.0
 * Rolling state digests (FORMAT.md 10): each step commits to every period-th leaf of the states and to all that is
 * small, so that each leaf is committed to once in every period steps at a fraction of the cost of hashing the whole
 * state. */
#ifndef AUDIT_RECORD_ROLLING_H
#define AUDIT_RECORD_ROLLING_H

#include "audit/archive/periods.h"
#include "audit/record/staging.h"
#include "core/run/run.h"

enum {
    RP_ROLLING_LEAF = 4096,  /* bytes of a leaf */
    RP_ROLLING_SMALL = 1024, /* a state of at most so many bytes is in every digest */
    RP_ROLLING_PERIOD_MAX = RP_STATE_PERIOD_MAX
};

typedef struct rp_rolling rp_rolling;

/* For states of these names and types, in this order. Errors: RP_EARG when period is not 2 to 65536 or a name does not
 * fit; RP_ENOMEM. */
rp_status rp_rolling_new(rp_rolling **out, const rp_device_tensor *state, size_t n, uint64_t period, rp_error *err);
void rp_rolling_free(rp_rolling *rolling);
uint64_t rp_rolling_period(const rp_rolling *rolling);
/* The digest after a step. state: as given to rp_rolling_new, with present memory, which is read through the staging,
 * if it is not NULL. */
rp_status rp_rolling_digest(rp_digest *out, rp_rolling *rolling, const rp_device_tensor *state, uint64_t step,
                            rp_pool *pool, rp_staging *staging, rp_error *err);

#endif
