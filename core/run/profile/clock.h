/* SPDX-License-Identifier: Apache-2.0
 * What a run tells its profile while steps are made; of no profile, NULL, nothing becomes. */
#ifndef CORE_RUN_PROFILE_CLOCK_H
#define CORE_RUN_PROFILE_CLOCK_H

#include "core/run/plan.h"
#include "rp/profile.h"

/* serial: of the compiled program; 0: an eager step. number: the run's of the step. */
void rp_profile_step_begins(rp_profile *profile, uint64_t serial, uint64_t number);
/* Who watches the plan of a compiled step; NULL: nobody. */
const rp_plan_watch *rp_profile_watch(const rp_profile *profile);
void rp_profile_step_ends(rp_profile *profile);
void rp_profile_recording_begins(rp_profile *profile);
void rp_profile_recording_ends(rp_profile *profile);

#endif
