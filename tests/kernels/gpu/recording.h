/* SPDX-License-Identifier: Apache-2.0
 * A driver that executes nothing: it gives out addresses as if it had memory without end, and shows each launch to the
 * test. For counts that no host executes, and for threads: it has no fibers, which the thread sanitizer does not
 * follow. */
#ifndef TESTS_KERNELS_GPU_RECORDING_H
#define TESTS_KERNELS_GPU_RECORDING_H

typedef struct rp_recorded {
    const char *name; /* of the kernel */
    unsigned blocks[3], threads, shared;
    const void *parameters;
} rp_recorded;

/* Called for each launch, by the thread that launches. */
typedef void rp_recording_launch(void *context, const rp_recorded *launch);
/* Exported by the driver; NULL: nobody looks. Before any other thread uses it. */
void rp_recording_on_launch(rp_recording_launch *launch, void *context);

#endif
