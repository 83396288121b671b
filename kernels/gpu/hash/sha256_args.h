/* SPDX-License-Identifier: Apache-2.0
 * Parameters of the hash: what both sides of a launch see. Plain data, passed by value. */
#ifndef KERNELS_GPU_HASH_SHA256_ARGS_H
#define KERNELS_GPU_HASH_SHA256_ARGS_H

#include "kernels/gpu/gpu.h"

enum { RP_GPU_HASH_BLOCK = 32, RP_GPU_DIGEST = 32 }; /* threads: few, so that few messages have many multiprocessors */

/* A row of the table, 16 bytes: an rp_device_message (kernels/device.h) with the address as a number. */
typedef struct rp_gpu_message {
    u64 bytes;
    u32 size;
    int16_t prefix;
    uint16_t dtype;
} rp_gpu_message;

typedef struct rp_gpu_sha256_args {
    rp_gpu_head head;              /* not looked at: see the kernel */
    const rp_gpu_message *message; /* aligned to 16 bytes, as digest is */
    unsigned char *digest;
    u64 count;
} rp_gpu_sha256_args;

#endif
