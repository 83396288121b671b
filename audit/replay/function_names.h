/* SPDX-License-Identifier: Apache-2.0
 * How the functions of a program are called: by their number in its text, which says where they stand, and by a digest,
 * which says what they are, whatever program they are in (audit/FORMAT.md 9). */
#ifndef AUDIT_REPLAY_FUNCTION_NAMES_H
#define AUDIT_REPLAY_FUNCTION_NAMES_H

#include "audit/digest/digest.h"
#include "core/program/function.h"

typedef struct rp_function_names {
    rp_functions known;
    char (*digest)[RP_DIGEST_HEX]; /* of each, in the order of the text */
} rp_function_names;

/* The program outlives the names. Errors: RP_ENOMEM. */
rp_status rp_function_names_of(rp_function_names *out, const rp_program *program, rp_error *err);
void rp_function_names_free(rp_function_names *names); /* one of zeros is fine */
/* The digest of one of its functions. */
const char *rp_function_digest(const rp_function_names *names, const rp_function *function);

#endif
