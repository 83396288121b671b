/* SPDX-License-Identifier: Apache-2.0
 * Kernels that a run's device does not have, of all its programs together: told before any of them is executed, since
 * half of a run is none. */
#ifndef CORE_RUN_LACKS_LACKS_H
#define CORE_RUN_LACKS_LACKS_H

#include "core/program/program.h"
#include "kernels/device.h"

typedef struct rp_lacks {
    size_t programs; /* looked at; the first is 0 */
    size_t untold;   /* of which the text has no room */
    char text[768];  /* "program 0: sum f32, max f32; program 2: sum f32"; "": it has all */
} rp_lacks;

/* Looks at the next program, and the functions that it executes. Errors: RP_ENOMEM. */
rp_status rp_lacks_look(rp_lacks *lacks, const rp_device *device, const rp_program *program, rp_error *err);
/* Errors: RP_EUNSUPPORTED with all that was found. */
rp_status rp_lacks_refuse(const rp_lacks *lacks, const rp_device *device, rp_error *err);

/* Sets *found where the program, or a function that it executes, has a matrix product that the library of a pinned
 * device computes; nothing in the portable profile. Errors: RP_ENOMEM. */
rp_status rp_products_look(bool *found, const rp_device *device, const rp_program *program, rp_error *err);

#endif
