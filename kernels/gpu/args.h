/* SPDX-License-Identifier: Apache-2.0
 * Parameters of kernels that take a kernel's arguments as they are: what both sides of a launch see. Plain data, passed
 * by value. */
#ifndef KERNELS_GPU_ARGS_H
#define KERNELS_GPU_ARGS_H

#include "kernels/gpu/gpu.h"
#include "kernels/kernel.h"

enum { RP_GPU_IN = 7, RP_GPU_OUT = 3, RP_GPU_MAP_VIEWS = 7, RP_GPU_EXTRAS = 3, RP_GPU_BLOCK = 256 };

/* Any kernel's arguments; items [begin, end) are computed, a thread each. */
typedef struct rp_gpu_args {
    rp_gpu_head head;
    u64 begin, end;
    u32 n_in, n_out;
    rp_view in[RP_GPU_IN], out[RP_GPU_OUT];
    rp_attr attr[RP_MAX_ATTR];
} rp_gpu_args;

/* What lies behind the fault word: the first wrong index, and while one is looked for the least element found. */
typedef struct rp_gpu_fault {
    u32 faulted, unused;
    u64 element, where, bound; /* element: all ones when there is none */
    i64 value;
} rp_gpu_fault;

/* An elementwise kernel's: elements [first, count) of one shape, its axes merged where all views allow it, and where
 * each view has them: outputs, then inputs. A thread takes elements as many apart as there are threads. */
typedef struct rp_gpu_map {
    rp_gpu_head head;
    u64 first, count;
    int rank; /* after merging, 1 to 8 */
    u32 wide; /* of kernels with indices: they are i64 */
    u64 shape[RP_MAX_RANK];
    void *at[RP_GPU_MAP_VIEWS];               /* element 0, */
    i64 bytes[RP_GPU_MAP_VIEWS][RP_MAX_RANK]; /* and from one to the next */
    const void *extra[RP_GPU_EXTRAS];         /* scalars, random state, index: the kernel's own */
    i64 own[RP_GPU_EXTRAS];
    rp_attr attr[RP_MAX_ATTR];
} rp_gpu_map;

#endif
