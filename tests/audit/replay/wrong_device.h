/* SPDX-License-Identifier: Apache-2.0
 * A CPU device with one wrong kernel, as a chip might have it: where the first element that the kernel reads is MARK,
 * one bit of the last element that it makes is flipped, so that a number in its place is less by a tenth. It counts
 * what it launches and the memory that it gives out. */
#ifndef TESTS_AUDIT_REPLAY_WRONG_DEVICE_H
#define TESTS_AUDIT_REPLAY_WRONG_DEVICE_H

#include <stdlib.h>
#include <string.h>

#include "kernels/device_ops.h"

#define MARK 1234.5f

enum { BLOCKS = 4096 };

static struct {
    rp_kernel_id kernel;
    size_t launches; /* of it */
    size_t live, peak;
    struct {
        void *memory;
        size_t bytes;
    } block[BLOCKS];
} wrong;

static const rp_device_ops *right; /* the CPU's */

static rp_status wrong_launch(rp_device *device, rp_kernel_id kernel, const rp_kernel_args *args, rp_stream *stream,
                              rp_error *err)
{
    const bool counts = kernel == wrong.kernel && args->in[0].dtype == RP_F32;
    const rp_view *out = &args->out[0];
    float first = 0;
    size_t count = 1;
    rp_status status;

    if (counts)
        memcpy(&first, args->in[0].data, sizeof first); /* before: it may be computed in place */
    status = right->launch(device, kernel, args, stream, err);
    if (!counts)
        return status;
    wrong.launches++;
    for (int i = 0; i < out->rank; i++)
        count *= out->shape[i];
    if (first == MARK)
        ((unsigned char *)out->data)[(count - 1) * sizeof(float) + 2] ^= 0x10;
    return status;
}

static rp_status wrong_allocate(rp_device *device, void **out, size_t bytes, rp_error *err)
{
    rp_status status = right->allocate(device, out, bytes, err);
    size_t i = 0;

    while (i < BLOCKS && wrong.block[i].memory)
        i++;
    if (i == BLOCKS)
        abort();
    wrong.block[i].memory = *out;
    wrong.block[i].bytes = bytes;
    wrong.live += bytes;
    if (wrong.live > wrong.peak)
        wrong.peak = wrong.live;
    return status;
}

static void wrong_release(rp_device *device, void *memory)
{
    for (size_t i = 0; i < BLOCKS; i++)
        if (wrong.block[i].memory == memory) {
            wrong.live -= wrong.block[i].bytes;
            wrong.block[i].memory = NULL;
            break;
        }
    right->release(device, memory);
}

static inline rp_status wrong_open(rp_device **out, const char *level, unsigned threads, rp_error *err)
{
    static rp_device_ops ops;
    rp_status status = rp_device_cpu_new(out, level, threads, err);

    if (status != RP_OK)
        return status;
    right = (*out)->ops;
    ops = *right;
    ops.launch = wrong_launch;
    ops.allocate = wrong_allocate;
    ops.release = wrong_release;
    (*out)->ops = &ops;
    (*out)->kind = "wrong";
    wrong.launches = wrong.live = wrong.peak = 0;
    return RP_OK;
}

#endif
