/* SPDX-License-Identifier: Apache-2.0
 * A GPU's memory: blocks that are kept for the next that wants as much, pinned memory of the host, and copies. */
#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "kernels/gpu/device_gpu.h"

enum { GRAIN = 512 };
static const size_t kept_most = (size_t)256 << 20; /* bytes */

/* Addresses are multiples of at least 256. */
static rp_gpu_block **given_at(rp_gpu_device *d, rp_cu_pointer memory)
{
    return &d->given[(memory >> 8) * 0x9E3779B97F4A7C15u >> 54];
}

static rp_gpu_block *take_kept(rp_gpu_device *d, size_t bytes)
{
    for (rp_gpu_block **at = &d->kept; *at != NULL; at = &(*at)->next)
        if ((*at)->bytes == bytes) {
            rp_gpu_block *block = *at;

            *at = block->next;
            d->kept_bytes -= bytes;
            return block;
        }
    return NULL;
}

/* Back to the driver with what is kept. */
void rp_gpu_memory_drop(rp_gpu_device *d)
{
    while (d->kept != NULL) {
        rp_gpu_block *block = d->kept;

        d->kept = block->next;
        (void)d->driver->cuMemFree_v2(block->memory);
        rp_free(block);
    }
    d->kept_bytes = 0;
}

/* What nobody released, when the device goes. */
void rp_gpu_memory_reclaim(rp_gpu_device *d)
{
    for (size_t i = 0; i < RP_GPU_GIVEN; i++)
        while (d->given[i] != NULL) {
            rp_gpu_block *block = d->given[i];

            d->given[i] = block->next;
            (void)d->driver->cuMemFree_v2(block->memory);
            rp_free(block);
        }
}

/* What is kept makes room where there is none. */
int rp_gpu_memory_new(rp_gpu_device *d, rp_cu_pointer *out, size_t bytes)
{
    int result = d->driver->cuMemAlloc_v2(out, bytes);

    if (result != RP_CU_OUT_OF_MEMORY)
        return result;
    pthread_mutex_lock(&d->lock);
    if (d->kept != NULL) {
        rp_gpu_memory_drop(d);
        result = d->driver->cuMemAlloc_v2(out, bytes);
    }
    pthread_mutex_unlock(&d->lock);
    return result;
}

rp_status rp_gpu_memory_result(rp_gpu_device *d, int result, size_t bytes, rp_error *err)
{
    const double mib = 1 << 20;
    rp_status status = rp_gpu_result(d, result, "cuMemAlloc", err);
    size_t available, total;
    rp_error said;

    if (status != RP_ENOMEM || err == NULL || d->driver->cuMemGetInfo_v2(&available, &total) != RP_CU_SUCCESS)
        return status;
    said = *err;
    return rp_fail(err, status,
                   "%s: %.3f MiB were asked for, and of the device's %.0f MiB %.3f are free: a smaller batch takes "
                   "less, as does a smaller model",
                   said.text, (double)bytes / mib, (double)total / mib, (double)available / mib);
}

static rp_status new_block(rp_gpu_device *d, rp_gpu_block **out, size_t bytes, rp_error *err)
{
    rp_gpu_block *block = rp_calloc(1, sizeof *block);
    rp_status status;

    *out = NULL;
    if (block == NULL)
        return rp_no_memory(err);
    block->bytes = bytes;
    status = rp_gpu_memory_result(d, rp_gpu_memory_new(d, &block->memory, bytes), bytes, err);
    if (status != RP_OK)
        rp_free(block);
    else
        *out = block;
    return status;
}

rp_status rp_gpu_allocate(rp_device *device, void **out, size_t bytes, rp_error *err)
{
    rp_gpu_device *d = (rp_gpu_device *)device;
    rp_gpu_block *block = NULL;
    rp_status status = rp_gpu_enter(d, err);

    *out = NULL;
    if (status == RP_OK && bytes > SIZE_MAX - GRAIN)
        status = rp_no_memory(err);
    if (status != RP_OK)
        return status;
    bytes = bytes == 0 ? GRAIN : (bytes + GRAIN - 1) / GRAIN * GRAIN;
    pthread_mutex_lock(&d->lock);
    block = take_kept(d, bytes);
    pthread_mutex_unlock(&d->lock);
    if (block == NULL)
        status = new_block(d, &block, bytes, err);
    if (status != RP_OK)
        return status;
    pthread_mutex_lock(&d->lock);
    block->next = *given_at(d, block->memory);
    *given_at(d, block->memory) = block;
    pthread_mutex_unlock(&d->lock);
    *out = (void *)(uintptr_t)block->memory;
    return RP_OK;
}

void rp_gpu_release(rp_device *device, void *memory)
{
    rp_gpu_device *d = (rp_gpu_device *)device;
    const bool usable = rp_gpu_enter(d, NULL) == RP_OK && rp_gpu_settle(d, NULL) == RP_OK;
    rp_gpu_block *block, **at = given_at(d, (uintptr_t)memory);

    pthread_mutex_lock(&d->lock);
    while ((*at)->memory != (uintptr_t)memory)
        at = &(*at)->next;
    block = *at;
    *at = block->next;
    if (usable && d->kept_bytes + block->bytes <= kept_most) {
        block->next = d->kept;
        d->kept = block;
        d->kept_bytes += block->bytes;
        block = NULL;
    }
    pthread_mutex_unlock(&d->lock);
    if (block != NULL) {
        (void)d->driver->cuMemFree_v2(block->memory);
        rp_free(block);
    }
}

size_t rp_gpu_available(rp_device *device)
{
    rp_gpu_device *d = (rp_gpu_device *)device;
    size_t available = 0, total, kept;

    if (rp_gpu_enter(d, NULL) != RP_OK || d->driver->cuMemGetInfo_v2(&available, &total) != RP_CU_SUCCESS)
        return SIZE_MAX;
    pthread_mutex_lock(&d->lock);
    kept = d->kept_bytes;
    pthread_mutex_unlock(&d->lock);
    return available + kept;
}

rp_status rp_gpu_pin(rp_device *device, void **out, size_t bytes, rp_error *err)
{
    rp_gpu_device *d = (rp_gpu_device *)device;
    rp_status status = rp_gpu_enter(d, err);

    *out = NULL;
    return status != RP_OK
               ? status
               : rp_gpu_result(d, d->driver->cuMemHostAlloc(out, bytes > 0 ? bytes : 1, RP_CU_HOST_PORTABLE),
                               "cuMemHostAlloc", err);
}

void rp_gpu_unpin(rp_device *device, void *host)
{
    rp_gpu_device *d = (rp_gpu_device *)device;

    (void)rp_gpu_enter(d, NULL);
    (void)rp_gpu_settle(d, NULL);
    (void)d->driver->cuMemFreeHost(host);
}

/* ---- copies: one is put on its stream and said to be there in one step, or who waits meanwhile would miss it ---- */

/* A stage whose copy has happened; made when it is first wanted. The lock is held. */
static rp_status next_stage(rp_gpu_device *d, rp_gpu_stage **out, rp_error *err)
{
    rp_gpu_stage *stage = &d->stage[d->next_stage++ % RP_GPU_STAGES];
    rp_status status = RP_OK;

    *out = stage;
    if (stage->host == NULL)
        status = rp_gpu_result(d, d->driver->cuMemHostAlloc((void **)&stage->host, RP_GPU_STAGE, RP_CU_HOST_PORTABLE),
                               "cuMemHostAlloc", err);
    if (status == RP_OK && stage->copied == NULL)
        status = rp_gpu_result(d, d->driver->cuEventCreate(&stage->copied, RP_CU_EVENT_DISABLE_TIMING), "cuEventCreate",
                               err);
    if (status == RP_OK && stage->used)
        status = rp_gpu_result(d, d->driver->cuEventSynchronize(stage->copied), "cuEventSynchronize", err);
    return status;
}

static rp_status upload_part(rp_gpu_device *d, uintptr_t to, const char *from, size_t bytes, rp_cu_stream stream,
                             rp_error *err)
{
    rp_gpu_stage *stage;
    rp_status status = next_stage(d, &stage, err);

    if (status != RP_OK)
        return status;
    memcpy(stage->host, from, bytes);
    status =
        rp_gpu_result(d, d->driver->cuMemcpyHtoDAsync_v2(to, stage->host, bytes, stream), "cuMemcpyHtoDAsync", err);
    if (status == RP_OK)
        status = rp_gpu_result(d, d->driver->cuEventRecord(stage->copied, stream), "cuEventRecord", err);
    stage->used = status == RP_OK;
    return status;
}

rp_status rp_gpu_upload(rp_device *device, void *to, const void *host, size_t bytes, rp_stream *stream, rp_error *err)
{
    rp_gpu_device *d = (rp_gpu_device *)device;
    rp_status status = rp_gpu_enter(d, err);

    for (size_t at = 0; at < bytes && status == RP_OK; at += RP_GPU_STAGE) {
        const size_t part = bytes - at < RP_GPU_STAGE ? bytes - at : RP_GPU_STAGE;

        pthread_mutex_lock(&d->lock);
        d->busy = true;
        status = upload_part(d, (uintptr_t)to + at, (const char *)host + at, part, rp_gpu_handle(d, stream), err);
        pthread_mutex_unlock(&d->lock);
    }
    return status;
}

rp_status rp_gpu_download(rp_device *device, void *host, const void *from, size_t bytes, rp_stream *stream,
                          rp_error *err)
{
    rp_gpu_device *d = (rp_gpu_device *)device;
    rp_status status = rp_gpu_enter(d, err);

    if (status != RP_OK || bytes == 0)
        return status;
    pthread_mutex_lock(&d->lock);
    d->busy = true;
    status = rp_gpu_result(d, d->driver->cuMemcpyDtoHAsync_v2(host, (uintptr_t)from, bytes, rp_gpu_handle(d, stream)),
                           "cuMemcpyDtoHAsync", err);
    pthread_mutex_unlock(&d->lock);
    return status;
}

rp_status rp_gpu_copy(rp_device *device, void *to, const void *from, size_t bytes, rp_stream *stream, rp_error *err)
{
    rp_gpu_device *d = (rp_gpu_device *)device;
    rp_status status = rp_gpu_enter(d, err);

    if (status != RP_OK || bytes == 0)
        return status;
    pthread_mutex_lock(&d->lock);
    d->busy = true;
    status = rp_gpu_result(
        d, d->driver->cuMemcpyDtoDAsync_v2((uintptr_t)to, (uintptr_t)from, bytes, rp_gpu_handle(d, stream)),
        "cuMemcpyDtoDAsync", err);
    pthread_mutex_unlock(&d->lock);
    return status;
}

void rp_gpu_stages_free(rp_gpu_device *d)
{
    for (size_t i = 0; i < RP_GPU_STAGES; i++) {
        if (d->stage[i].copied != NULL)
            (void)d->driver->cuEventDestroy_v2(d->stage[i].copied);
        if (d->stage[i].host != NULL)
            (void)d->driver->cuMemFreeHost(d->stage[i].host);
    }
}
