/* SPDX-License-Identifier: Apache-2.0
 * What regions mean (CONTRACT 11.6), written once: frames in order, which rows each sees, where its outputs go. How one
 * frame is executed is the caller's: instruction by instruction (the eager tape) or by a plan. */
#ifndef CORE_PROGRAM_REGION_RUN_H
#define CORE_PROGRAM_REGION_RUN_H

#include "core/program/function.h"
#include "kernels/device.h"

typedef struct rp_frames {
    /* Executes function k of the region once. param: a view of each parameter; out: contiguous memory for each output,
     * which overlaps no parameter but one of `over`. */
    rp_status (*run)(void *self, const rp_region *region, size_t k, const rp_view *param, const rp_view *out,
                     rp_error *err);
    /* Waits for what was launched, before the host uses a value; an index that was out of range is then the error. */
    rp_status (*settle)(void *self, rp_error *err);
    void *self;
    rp_device *device;
    size_t number; /* of the region's instruction, for errors */
    bool told;     /* by the index, which is then in every frame's first parameter, whether the frame reads it or not */
    uint64_t over; /* of a scan's first carried values, a bit each: the frame may make it where it lies already */
} rp_frames;

/* The device memory that a region needs beside its operands, its values and what its frames need. */
size_t rp_region_scratch(const rp_region *region);
/* in: a view of each operand; out: contiguous memory for each value; scratch: as much as rp_region_scratch says,
 * aligned to 64 bytes. Nothing waits for the device but the reading of selectors and predicates. Errors: those of the
 * first frame that fails, in order; RP_EDATA for a selector out of range. */
rp_status rp_region_run(const rp_frames *frames, const rp_region *region, const rp_view *in, size_t n_in,
                        const rp_view *out, void *scratch, rp_error *err);

#endif
