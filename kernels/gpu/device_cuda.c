/* SPDX-License-Identifier: Apache-2.0
 * A GPU as a device: opening it, streams and events. */
#include "kernels/gpu/device_cuda.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "determinism/fpenv.h"
#include "kernels/gpu/device_gpu.h"
#include "kernels/gpu/images.h"
#include "kernels/gpu/pinned/cublaslt.h"

/* The fault is read with the default stream, where there may be one: whoever has waited for that asks then. Another
 * stream's waiting thread leaves it alone: the mirror is one, and may be written when it is read. */
static rp_status cuda_synchronize(rp_device *device, rp_stream *stream, rp_error *err)
{
    rp_gpu_device *d = (rp_gpu_device *)device;
    rp_status status = rp_gpu_enter(d, err);

    if (status == RP_OK && stream == NULL && d->checked)
        status = rp_gpu_result(
            d, d->driver->cuMemcpyDtoHAsync_v2(d->fault_mirror, d->fault, sizeof *d->fault_mirror, d->main.handle),
            "cuMemcpyDtoHAsync", err);
    if (status == RP_OK)
        status = rp_gpu_result(d, d->driver->cuStreamSynchronize(rp_gpu_handle(d, stream)), "cuStreamSynchronize", err);
    return status;
}

/* ---- streams and events ---- */

static rp_status cuda_stream_new(rp_device *device, rp_stream **out, rp_error *err)
{
    rp_gpu_device *d = (rp_gpu_device *)device;
    rp_stream *stream = rp_calloc(1, sizeof *stream);
    rp_status status = stream != NULL ? rp_gpu_enter(d, err) : rp_no_memory(err);

    *out = NULL;
    if (status == RP_OK)
        status = rp_gpu_result(d, d->driver->cuStreamCreate(&stream->handle, RP_CU_STREAM_NON_BLOCKING),
                               "cuStreamCreate", err);
    if (status != RP_OK) {
        rp_free(stream);
        return status;
    }
    pthread_mutex_lock(&d->lock);
    stream->next = d->streams;
    d->streams = stream;
    pthread_mutex_unlock(&d->lock);
    *out = stream;
    return RP_OK;
}

static void cuda_stream_free(rp_device *device, rp_stream *stream)
{
    rp_gpu_device *d = (rp_gpu_device *)device;
    rp_stream **at = &d->streams;

    (void)rp_gpu_enter(d, NULL);
    pthread_mutex_lock(&d->lock);
    while (*at != stream)
        at = &(*at)->next;
    *at = stream->next;
    pthread_mutex_unlock(&d->lock);
    (void)d->driver->cuStreamSynchronize(stream->handle);
    (void)d->driver->cuStreamDestroy_v2(stream->handle);
    if (stream->workspace != NULL)
        (void)d->driver->cuMemFree_v2((uintptr_t)stream->workspace);
    rp_free(stream);
}

static rp_status cuda_event_new(rp_device *device, rp_event **out, rp_error *err)
{
    rp_gpu_device *d = (rp_gpu_device *)device;
    rp_event *event = rp_calloc(1, sizeof *event);
    rp_status status = event != NULL ? rp_gpu_enter(d, err) : rp_no_memory(err);

    if (status == RP_OK)
        status = rp_gpu_result(d, d->driver->cuEventCreate(&event->handle, RP_CU_EVENT_DISABLE_TIMING), "cuEventCreate",
                               err);
    if (status != RP_OK)
        rp_free(event);
    *out = status == RP_OK ? event : NULL;
    return status;
}

static void cuda_event_free(rp_device *device, rp_event *event)
{
    rp_gpu_device *d = (rp_gpu_device *)device;

    if (event == NULL)
        return;
    (void)rp_gpu_enter(d, NULL);
    (void)d->driver->cuEventDestroy_v2(event->handle);
    rp_free(event);
}

static rp_status cuda_event_record(rp_device *device, rp_event *event, rp_stream *stream, rp_error *err)
{
    rp_gpu_device *d = (rp_gpu_device *)device;
    rp_status status = rp_gpu_enter(d, err);

    return status != RP_OK ? status
                           : rp_gpu_result(d, d->driver->cuEventRecord(event->handle, rp_gpu_handle(d, stream)),
                                           "cuEventRecord", err);
}

static rp_status cuda_event_wait(rp_device *device, rp_event *event, rp_stream *stream, rp_error *err)
{
    rp_gpu_device *d = (rp_gpu_device *)device;
    rp_status status = rp_gpu_enter(d, err);

    return status != RP_OK ? status
                           : rp_gpu_result(d, d->driver->cuStreamWaitEvent(rp_gpu_handle(d, stream), event->handle, 0),
                                           "cuStreamWaitEvent", err);
}

/* ---- the device ---- */

/* One that has passed its test and was freed, for whoever opens the same next: to make a context and to load kernels
 * takes longer than many a run. It has neither memory nor a library; NULL: none. */
static _Atomic(rp_gpu_device *) idle;

/* What belonged to whoever had the device. */
static void strip(rp_gpu_device *d)
{
    rp_cublaslt_close(d->cublaslt);
    rp_gpu_memory_drop(d);
    if (d->main.workspace != NULL)
        (void)d->driver->cuMemFree_v2((uintptr_t)d->main.workspace);
    rp_pinned_free(d->base.pinned);
    rp_pool_free(d->base.pool);
    d->cublaslt = NULL;
    d->base.pinned = NULL;
    d->base.pool = NULL;
    d->main = (rp_stream){.handle = d->main.handle};
}

static void close_context(rp_gpu_device *d)
{
    (void)d->driver->cuCtxSetCurrent(d->context);
    (void)rp_gpu_settle(d, NULL);
    strip(d);
    rp_gpu_memory_reclaim(d);
    rp_gpu_stages_free(d);
    for (size_t i = 0; i < RP_GPU_MODULES; i++)
        if (d->module[i] != NULL)
            (void)d->driver->cuModuleUnload(d->module[i]);
    if (d->fault != 0)
        (void)d->driver->cuMemFree_v2(d->fault);
    if (d->fault_mirror != NULL)
        (void)d->driver->cuMemFreeHost(d->fault_mirror);
    if (d->main.handle != NULL)
        (void)d->driver->cuStreamDestroy_v2(d->main.handle);
    (void)d->driver->cuDevicePrimaryCtxRelease_v2(d->device);
}

static void close_device(rp_gpu_device *d)
{
    if (d == NULL)
        return;
    if (d->context != NULL)
        close_context(d);
    for (size_t i = 0; i < RP_GPU_FUNCTIONS; i++)
        rp_free(d->function[i].name);
    rp_driver_close(d->driver);
    pthread_mutex_destroy(&d->lock);
    pthread_mutex_destroy(&d->breaking);
    rp_free(d);
}

static bool has_memory_out(const rp_gpu_device *d)
{
    for (size_t i = 0; i < RP_GPU_GIVEN; i++)
        if (d->given[i] != NULL)
            return true;
    return false;
}

/* Whether it is as good as one that was opened and tested just now: whatever went wrong meanwhile has broken it. What
 * somebody has not released goes with the context, as it did before contexts were kept. */
static bool may_idle(rp_gpu_device *d)
{
    if (d->base.conforming == 0 || d->streams != NULL || has_memory_out(d) || rp_gpu_enter(d, NULL) != RP_OK ||
        rp_gpu_settle(d, NULL) != RP_OK)
        return false;
    strip(d);
    return rp_gpu_clear_fault(d, NULL) == RP_OK;
}

static void cuda_free(rp_device *device)
{
    rp_gpu_device *d = (rp_gpu_device *)device;

    close_device(may_idle(d) ? atomic_exchange(&idle, d) : d);
}

/* The idle one, if it is that, and its context lives: others in this process may have reset it, or lost the chip. */
static rp_gpu_device *take_idle(const char *kind, int ordinal)
{
    rp_gpu_device *d = atomic_exchange(&idle, NULL);

    if (d == NULL)
        return NULL;
    if (strcmp(d->driver->kind, kind) != 0 || d->ordinal != ordinal) {
        close_device(atomic_exchange(&idle, d));
        return NULL;
    }
    if (rp_gpu_enter(d, NULL) == RP_OK && rp_gpu_clear_fault(d, NULL) == RP_OK && rp_gpu_settle(d, NULL) == RP_OK)
        return d;
    close_device(d);
    return NULL;
}

static const rp_device_ops cuda_ops = {
    .free = cuda_free,
    .allocate = rp_gpu_allocate,
    .release = rp_gpu_release,
    .available = rp_gpu_available,
    .pin = rp_gpu_pin,
    .unpin = rp_gpu_unpin,
    .upload = rp_gpu_upload,
    .download = rp_gpu_download,
    .download_many = rp_gpu_download_many,
    .copy = rp_gpu_copy,
    .has = rp_gpu_has,
    .launch = rp_gpu_launch,
    .launch_chain = rp_gpu_launch_chain,
    .check = rp_gpu_check,
    .fault = rp_gpu_faulted,
    .synchronize = cuda_synchronize,
    .stream_new = cuda_stream_new,
    .stream_free = cuda_stream_free,
    .event_new = cuda_event_new,
    .event_free = cuda_event_free,
    .event_record = cuda_event_record,
    .event_wait = cuda_event_wait,
    .hash = rp_gpu_hash,
    .sequence_begin = rp_gpu_sequence_begin,
    .sequence_end = rp_gpu_sequence_end,
    .sequence_current = rp_gpu_sequence_current,
    .sequence_launch = rp_gpu_sequence_launch,
    .sequence_free = rp_gpu_sequence_free,
    .use_pinned = rp_gpu_use_pinned,
};

static rp_status attribute(rp_gpu_device *d, int *value, int which, rp_error *err)
{
    return rp_gpu_result(d, d->driver->cuDeviceGetAttribute(value, which, d->device), "cuDeviceGetAttribute", err);
}

/* "cuda-sm90 NVIDIA H100 80GB HBM3 driver 13.0": the level, the chip, the CUDA that the driver serves. */
static rp_status identify(rp_gpu_device *d, rp_error *err)
{
    char chip[64] = "";
    int major = 0, minor = 0;
    rp_status status = attribute(d, &major, RP_CU_DEVICE_CAPABILITY_MAJOR, err);

    if (status == RP_OK)
        status = attribute(d, &minor, RP_CU_DEVICE_CAPABILITY_MINOR, err);
    if (status == RP_OK)
        status = attribute(d, &d->multiprocessors, RP_CU_DEVICE_MULTIPROCESSORS, err);
    if (status == RP_OK)
        status = attribute(d, &d->shared_memory, RP_CU_DEVICE_SHARED_MEMORY, err);
    if (status == RP_OK)
        status = rp_gpu_result(d, d->driver->cuDeviceGetName(chip, sizeof chip, d->device), "cuDeviceGetName", err);
    if (status == RP_OK && major < 8)
        return rp_fail(err, RP_EUNSUPPORTED,
                       "device %s: expected a chip of compute capability 8.0 or more, found %d.%d (%s)",
                       d->driver->kind, major, minor, chip);
    chip[sizeof chip - 1] = '\0';
    (void)snprintf(d->base.identity, sizeof d->base.identity, "%s-sm%d%d %s driver %d.%d", d->driver->kind, major,
                   minor, chip, d->driver->version / 1000, d->driver->version % 1000 / 10);
    return status;
}

static rp_status open_context(rp_gpu_device *d, int ordinal, rp_error *err)
{
    int count = 0;
    rp_status status = rp_gpu_result(d, d->driver->cuDeviceGetCount(&count), "cuDeviceGetCount", err);

    if (status == RP_OK && ordinal >= count)
        return rp_fail(err, RP_EUNSUPPORTED, "device %s:%d: the driver has devices 0 to %d", d->driver->kind, ordinal,
                       count - 1);
    if (status == RP_OK)
        status = rp_gpu_result(d, d->driver->cuDeviceGet(&d->device, ordinal), "cuDeviceGet", err);
    if (status == RP_OK)
        status = identify(d, err);
    if (status == RP_OK)
        status = rp_gpu_result(d, d->driver->cuDevicePrimaryCtxRetain(&d->context, d->device),
                               "cuDevicePrimaryCtxRetain", err);
    return status == RP_OK ? rp_gpu_enter(d, err) : status;
}

/* The default stream and the fault word. */
static rp_status equip(rp_gpu_device *d, rp_error *err)
{
    rp_status status =
        rp_gpu_result(d, d->driver->cuStreamCreate(&d->main.handle, RP_CU_STREAM_NON_BLOCKING), "cuStreamCreate", err);

    if (status == RP_OK)
        status = rp_gpu_result(
            d, d->driver->cuMemHostAlloc((void **)&d->fault_mirror, sizeof *d->fault_mirror, RP_CU_HOST_PORTABLE),
            "cuMemHostAlloc", err);
    if (status == RP_OK)
        status = rp_gpu_result(d, d->driver->cuMemAlloc_v2(&d->fault, sizeof *d->fault_mirror), "cuMemAlloc", err);
    if (status != RP_OK)
        return status;
    return rp_gpu_clear_fault(d, err);
}

static rp_status open_device(rp_gpu_device *d, const char *kind, int ordinal, rp_error *err)
{
    rp_status status;

    d->base = (rp_device){.ops = &cuda_ops};
    d->ordinal = ordinal;
    pthread_mutex_init(&d->lock, NULL);
    pthread_mutex_init(&d->breaking, NULL);
    status = rp_driver_open(&d->driver, kind, err);
    if (status == RP_OK) {
        d->base.kind = d->driver->kind;
        status = open_context(d, ordinal, err);
    }
    return status == RP_OK ? equip(d, err) : status;
}

rp_status rp_device_cuda_new(rp_device **out, const char *kind, int ordinal, const char *level, unsigned threads,
                             rp_error *err)
{
    const rp_kernel_table *table;
    rp_gpu_device *d;
    rp_status status;

    *out = NULL;
    if (threads == 0)
        return rp_fail(err, RP_EARG, "threads: expected at least 1, found 0");
    if (rp_gpu_images[0].name == NULL)
        return rp_fail(err, RP_EUNSUPPORTED, "device %s: this build has no kernels for GPUs (RP_CUDA=OFF)", kind);
    status = rp_kernel_table_get(&table, level, err);
    if (status != RP_OK)
        return status;
    d = take_idle(kind, ordinal);
    if (d == NULL) {
        d = rp_calloc(1, sizeof *d);
        if (d == NULL)
            return rp_no_memory(err);
        status = open_device(d, kind, ordinal, err);
    }
    d->base.level = table->level;
    d->base.threads = threads;
    if (status == RP_OK && threads > 1)
        status = rp_pool_new(&d->base.pool, threads, rp_fpenv_worker, err);
    if (status != RP_OK)
        close_device(d);
    else
        *out = &d->base;
    return status;
}
