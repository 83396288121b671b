/* SPDX-License-Identifier: Apache-2.0
 * The floating-point environment of CONTRACT 2: round to nearest even, subnormals kept (no FTZ, no DAZ), no traps.
 * Another library can have switched FTZ on for the whole process (any object linked with -ffast-math does), so it is
 * set and checked at every entry and in every worker thread. */
#ifndef DETERMINISM_FPENV_H
#define DETERMINISM_FPENV_H

#include <stdbool.h>
#include <stdint.h>

#include "rp/error.h"

typedef struct rp_fpenv {
    uint64_t control; /* MXCSR on x86, FPCR on aarch64, fegetround() elsewhere */
} rp_fpenv;

/* Saves the caller's environment, sets the contract's, then proves it with arithmetic (a subnormal product, halfway
 * cases). *repaired (may be NULL) tells whether it had to be changed. Errors: RP_EFPENV when the proof fails. */
rp_status rp_fpenv_enter(rp_fpenv *saved, bool *repaired, rp_error *err);
void rp_fpenv_leave(const rp_fpenv *saved);
/* For rp_pool_new: sets and proves the environment of the calling thread. */
rp_status rp_fpenv_worker(rp_error *err);
/* One line for doctor: e.g. "MXCSR 0x1f80: nearest even, subnormals kept, traps masked". size >= 128. */
void rp_fpenv_describe(char *out, size_t size);

#endif
