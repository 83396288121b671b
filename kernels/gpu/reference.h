/* SPDX-License-Identifier: Apache-2.0
 * What makes device code of a file of kernels/ref: its definitions of kernels become kernels whose threads take an item
 * each, named rp_gpu_ref_NAME for launch_reference.c. */
#ifndef KERNELS_GPU_REFERENCE_H
#define KERNELS_GPU_REFERENCE_H

#include "kernels/gpu/contract.h"
#include "kernels/gpu/args.h"

#undef RP_DEFINE_KERNEL
#define RP_DEFINE_KERNEL(name, items, run, cost) \
    RP_GPU_KERNEL(64, 1) rp_gpu_ref_##name(const RP_GPU_PARAMETER rp_gpu_args p) \
    { \
        const rp_kernel_args args = {p.in, p.n_in, p.out, p.n_out, p.attr}; \
        const u64 item = p.begin + (u64)RP_GPU_BLOCK_X * RP_GPU_THREADS + RP_GPU_THREAD; \
\
        RP_GPU_BEGIN(p); \
        if (item < p.end) \
            run(&args, item, item + 1); \
    } \
    typedef int rp_gpu_ref_##name##_semicolon

#endif
