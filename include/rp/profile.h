/* SPDX-License-Identifier: Apache-2.0
 * Where the time of a run's steps goes: every operation with its time, bytes and arithmetic beside what this host can
 * do at most (docs/inside.md). Watching changes no bit of what the run computes or of what is recorded of it. */
#ifndef RP_PROFILE_H
#define RP_PROFILE_H

#include "rp/run.h"

typedef struct rp_profile rp_profile;

typedef struct rp_profile_options {
    bool trace;     /* keep when each operation began, for rp_profile_trace: at most 2^20 of them, 24 bytes each */
    bool no_limits; /* do not measure what this host can do (half a second and 128 MiB when the profile ends) */
} rp_profile_options;

/* From now on, between two steps, until rp_profile_end the run's steps are timed: compiled ones call by call, eager
 * ones instruction by instruction, each alone on the device. A run has one profile at a time. options may be NULL.
 * Errors: RP_EARG, RP_ENOMEM. */
RP_API rp_status rp_run_profile(rp_profile **out, rp_run *run, const rp_profile_options *options, rp_error *err);
/* Between two steps, before the run is freed. The profile can be told from then on. A second end does nothing. */
RP_API rp_status rp_profile_end(rp_profile *profile, rp_error *err);
RP_API void rp_profile_free(rp_profile *profile); /* ends it where that was not done; NULL is fine */

/* What was found, when it has ended, each freed with rp_text_free (rp/audit.h). */
/* Lines for people: at most `rows` operations and as many instructions, those that took longest first; 0: all. */
RP_API rp_status rp_profile_text(const rp_profile *profile, size_t rows, char **text, rp_error *err);
/* A JSON object: docs/json.md, "reprise profile". Seconds and shares are numbers. */
RP_API rp_status rp_profile_json(const rp_profile *profile, char **json, rp_error *err);
/* A trace for chrome://tracing and Perfetto: complete events ("X") in microseconds, named threads. Errors further:
 * RP_EARG: none was kept. */
RP_API rp_status rp_profile_trace(const rp_profile *profile, char **json, rp_error *err);

#endif
