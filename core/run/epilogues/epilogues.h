/* SPDX-License-Identifier: Apache-2.0
 * What those ask of a chain who have another call run it. */
#ifndef CORE_RUN_EPILOGUES_H
#define CORE_RUN_EPILOGUES_H

#include "core/run/plan_private.h"

/* The instructions at positions [first, end). */
typedef struct rp_plan_group {
    size_t first, end;
} rp_plan_group;

/* Whether the instructions are a chain of large values, and no other call's. */
bool rp_plan_may_follow(const rp_plan *plan, rp_plan_group g);
/* Whether the instruction at position k is no part of another call. */
bool rp_plan_is_alone(const rp_plan *plan, size_t k);
bool rp_plan_makes(const rp_plan *plan, rp_plan_group g, uint32_t root);
bool rp_plan_reads(const rp_plan *plan, rp_plan_group g, uint32_t root);
/* Whether the chain reads no element of the value but that which it makes. */
bool rp_plan_reads_own(const rp_plan *plan, rp_plan_group g, uint32_t value);

#endif
