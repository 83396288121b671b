/* SPDX-License-Identifier: Apache-2.0
 * Named tensors: in host memory, and where a run has them, in the memory of its device. The host reads and writes the
 * latter by the calls here, and by nothing else: on another device than the CPU their addresses mean nothing to it. */
#ifndef CORE_RUN_DEVICE_TENSOR_H
#define CORE_RUN_DEVICE_TENSOR_H

#include "core/program/program.h"
#include "kernels/device.h"

/* In host memory, contiguous. */
typedef struct rp_named {
    const char *name;
    rp_type type;
    const void *data;
} rp_named;

/* In a device's memory, contiguous. */
typedef struct rp_device_tensor {
    const char *name;
    rp_type type;
    rp_device *device;
    void *memory;
} rp_device_tensor;

/* Copies all its bytes, and waits for them. */
rp_status rp_device_tensor_read(const rp_device_tensor *tensor, void *host, rp_error *err);
/* host may be changed when this returns. */
rp_status rp_device_tensor_write(const rp_device_tensor *tensor, const void *host, rp_error *err);

/* Tensors for the host to read: where it shares the device's memory, that memory itself; else copies. */
typedef struct rp_host_tensors {
    rp_named *named; /* in the order given; names are borrowed */
    size_t n;
    rp_mapping *mapping;
    rp_device *device;
} rp_host_tensors;

rp_status rp_host_tensors_map(rp_host_tensors *out, const rp_device_tensor *tensor, size_t n, rp_error *err);
void rp_host_tensors_unmap(rp_host_tensors *tensors); /* one of zeros, or of a failed map, is fine */

#endif
