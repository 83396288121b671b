/* SPDX-License-Identifier: Apache-2.0
 * Whether what a run will write has room where it is to lie, asked before the first step: a training of hours must not
 * end on a full disk that was foreseeable. */
#ifndef AUDIT_DRIVE_SPACE_H
#define AUDIT_DRIVE_SPACE_H

#include <stdint.h>

#include "rp/error.h"

/* That the file system of path's folder has room, for this user, for an archive of at least `size` bytes: twice that,
 * as its members are kept there until they are copied into it. size is a lower bound, so that who is refused could not
 * have succeeded. Where the system does not say what is free, nothing is refused. Errors: RP_EIO, with path, both
 * figures and what to do. */
rp_status rp_space_check(const char *path, uint64_t size, rp_error *err);

#endif
