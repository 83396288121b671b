/* SPDX-License-Identifier: Apache-2.0
 * GPUs as devices (kernels/device.h), through the CUDA driver or one that emulates it. */
#ifndef KERNELS_GPU_DEVICE_CUDA_H
#define KERNELS_GPU_DEVICE_CUDA_H

#include "kernels/device.h"

/* kind: "cuda" or "emulated"; ordinal: which of the driver's devices. level and threads are for what runs on the host.
 * Errors: RP_EUNSUPPORTED when the build has no kernels for it or the host no driver or device. */
rp_status rp_device_cuda_new(rp_device **out, const char *kind, int ordinal, const char *level, unsigned threads,
                             rp_error *err);

#endif
