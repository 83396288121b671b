/* SPDX-License-Identifier: Apache-2.0
 * A device over the recording driver (recording.h), and tensors of it that nobody has memory for. */
#ifndef TESTS_KERNELS_GPU_RECORDED_DEVICE_H
#define TESTS_KERNELS_GPU_RECORDED_DEVICE_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/device.h"
#include "kernels/gpu/images.h"
#include "tests/kernels/gpu/recording.h"

#define G ((size_t)1 << 30)

/* In place of the library's, which a build without nvcc does not have. */
const rp_gpu_image rp_gpu_images[] = {{"recording", (const unsigned char *)"image", NULL}, {0}};

static void (*on_launch)(rp_recording_launch *launch, void *context);
static rp_device *device;
static rp_error err;

static inline int open_device(void **state)
{
    void *driver;

    (void)state;
    if (setenv("RP_EMULATED_LIBRARY", RECORDING_DRIVER, 1) != 0)
        return -1;
    driver = dlopen(RECORDING_DRIVER, RTLD_NOW | RTLD_LOCAL);
    if (driver == NULL)
        return -1;
    *(void **)&on_launch = dlsym(driver, "rp_recording_on_launch");
    return on_launch == NULL || rp_device_open(&device, "emulated", "ref", 1, &err) != RP_OK;
}

static inline int close_device(void **state)
{
    (void)state;
    rp_device_free(device);
    return 0;
}

/* A tensor whose elements lie densely, somewhere. */
static inline rp_view dense(rp_dtype dtype, int rank, const size_t *shape)
{
    static uintptr_t next;
    rp_view v = {.dtype = dtype, .rank = rank};
    ptrdiff_t stride = 1;

    for (int d = rank - 1; d >= 0; d--) {
        v.shape[d] = shape[d];
        v.stride[d] = stride;
        stride *= (ptrdiff_t)shape[d];
    }
    v.data = (void *)(((next++ % 8 + 2) << 44) + 4096);
    return v;
}

#define DENSE(dtype, ...) \
    dense(dtype, (int)(sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t)), (const size_t[]){__VA_ARGS__})

/* One element, as often as a shape wants it. */
static inline rp_view spread(rp_view v)
{
    memset(v.stride, 0, sizeof v.stride);
    return v;
}

static inline rp_view turned(rp_view v)
{
    const size_t length = v.shape[v.rank - 1];
    const ptrdiff_t stride = v.stride[v.rank - 1];

    v.shape[v.rank - 1] = v.shape[v.rank - 2], v.stride[v.rank - 1] = v.stride[v.rank - 2];
    v.shape[v.rank - 2] = length, v.stride[v.rank - 2] = stride;
    return v;
}

static const size_t counts[] = {G / 2 - 1, G - 1, 2 * G - 257, 2 * G - 1, 2 * G,     2 * G + 1,
                                4 * G - 1, 4 * G, 4 * G + 1,   8 * G - 1, 8 * G + 5, 1024 * G};
enum { COUNTS = sizeof counts / sizeof *counts };

#endif
