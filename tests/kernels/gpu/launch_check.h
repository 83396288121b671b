/* SPDX-License-Identifier: Apache-2.0
 * Whether launches, as a driver is told of them, cover what a kernel has to make: the arithmetic of the kernels' own
 * texts, in numbers that cannot overflow. */
#ifndef TESTS_KERNELS_GPU_LAUNCH_CHECK_H
#define TESTS_KERNELS_GPU_LAUNCH_CHECK_H

#include "kernels/kernel.h"
#include "tests/kernels/gpu/recording.h"

/* What one kernel's launches have covered so far. */
typedef struct launch_check {
    const rp_kernel_args *args; /* of the kernel that is launched */
    uint64_t launches;
    uint64_t reference_items, products, chunks; /* those before are covered: items of a reference kernel, products of a
                                                   batch, chunks of a convolution's gradient */
    uint64_t products_wanted, chunks_wanted;
    uint64_t pieces; /* elements of a long sum that the launches before have read */
    char wrong[256]; /* "": nothing so far */
    char name[96];   /* of the last kernel */
} launch_check;

/* A rp_recording_launch. */
void launch_check_see(void *check, const rp_recorded *launch);
/* When all is launched: what is wrong, or NULL. */
const char *launch_check_end(launch_check *check);

#endif
