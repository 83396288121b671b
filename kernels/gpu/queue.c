/* SPDX-License-Identifier: Apache-2.0
 * Launches: kernels by name, their modules, and the memory they work in. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "kernels/gpu/device_gpu.h"
#include "kernels/gpu/gpu.h"
#include "kernels/gpu/images.h"
#include "kernels/walk.h"

enum { NAME = 96, SHARED_FREE = 48 << 10 /* bytes that a block may have without asking */ };

/* Whether the file has the kernel. */
static bool has(const rp_gpu_image *image, const char *name)
{
    const size_t length = strlen(name);
    const char *line = image->kernels;

    if (line == NULL)
        return true;
    while (strncmp(line, name, length) != 0 || line[length] != '\n') {
        line = strchr(line, '\n');
        if (line == NULL)
            return false;
        line++;
    }
    return true;
}

/* The module of a file's kernels. A capture forbids loading; what it needs was launched before, unless an address that
 * has moved calls for another way. */
static rp_status load(rp_gpu_queue *queue, size_t i)
{
    rp_gpu_device *d = queue->device;
    rp_cu_module module = NULL;
    rp_status status;

    if (queue->stream->captured) /* launched one by one there may be */
        return rp_fail(queue->err, RP_ENOMEM,
                       "device %s: the kernels of %s are not loaded, and are not while launches are captured",
                       d->base.kind, rp_gpu_images[i].name);
    status =
        rp_gpu_result(d, d->driver->cuModuleLoadData(&module, rp_gpu_images[i].bytes), "cuModuleLoadData", queue->err);
    if (status != RP_OK)
        return rp_fail_at(queue->err, status, "kernels of %s", rp_gpu_images[i].name);
    d->module[i] = module;
    return RP_OK;
}

/* The module that has the kernel, loaded when the first of its kernels is asked for: to unpack all of them takes longer
 * than many a run. NULL: queue->status tells. */
static rp_cu_module module_of(rp_gpu_queue *queue, const char *name)
{
    size_t i = 0;

    while (i < RP_GPU_MODULES && rp_gpu_images[i].name != NULL && !has(&rp_gpu_images[i], name))
        i++;
    if (i == RP_GPU_MODULES || rp_gpu_images[i].name == NULL) {
        queue->status = rp_fail(queue->err, RP_EUNSUPPORTED, "kernel %s: no file of this build has it", name);
        return NULL;
    }
    if (queue->device->module[i] == NULL)
        queue->status = load(queue, i);
    return queue->device->module[i];
}

/* FNV-1a */
static size_t place_of(const char *name)
{
    uint32_t h = 2166136261u;

    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 16777619u;
    return h % RP_GPU_FUNCTIONS;
}

/* Where the name is, or belongs; the table is never full: it has several times as many places as there are kernels.
 * Names that were put together are copied: the caller's are gone by then. The lock is held, since another thread may
 * hash meanwhile. */
static size_t find_function_locked(rp_gpu_queue *queue, const char *name)
{
    rp_gpu_device *d = queue->device;
    size_t at = place_of(name);
    rp_cu_module module;
    int result;

    while (d->function[at].name != NULL && strcmp(d->function[at].name, name) != 0)
        at = (at + 1) % RP_GPU_FUNCTIONS;
    if (d->function[at].name != NULL)
        return at;
    module = module_of(queue, name);
    if (module == NULL)
        return at;
    result = d->driver->cuModuleGetFunction(&d->function[at].handle, module, name);
    if (result != RP_CU_SUCCESS) {
        queue->status = rp_gpu_result_of(d, result, "cuModuleGetFunction", name, queue->err);
        return at;
    }
    d->function[at].name = rp_strdup(name);
    if (d->function[at].name == NULL)
        queue->status = rp_no_memory(queue->err);
    return at;
}

static size_t find_function(rp_gpu_queue *queue, const char *name)
{
    size_t at;

    pthread_mutex_lock(&queue->device->lock);
    at = find_function_locked(queue, name);
    pthread_mutex_unlock(&queue->device->lock);
    return at;
}

/* It grows alone, so a thread that launches the same kernel beside keeps what it asked for. */
static void ask_shared(rp_gpu_queue *queue, size_t at, unsigned bytes)
{
    rp_gpu_device *d = queue->device;

    if (bytes <= SHARED_FREE)
        return;
    pthread_mutex_lock(&d->lock);
    if (bytes > d->function[at].shared) {
        queue->status = rp_gpu_result_of(
            d, d->driver->cuFuncSetAttribute(d->function[at].handle, RP_CU_FUNCTION_DYNAMIC_SHARED, (int)bytes),
            "cuFuncSetAttribute", d->function[at].name, queue->err);
        if (queue->status == RP_OK)
            d->function[at].shared = bytes;
    }
    pthread_mutex_unlock(&d->lock);
}

void rp_gpu_run(rp_gpu_queue *queue, const char *name, rp_gpu_grid grid, void *parameter, size_t size)
{
    rp_gpu_device *d = queue->device;
    rp_gpu_head *head = parameter;
    void *parameters[] = {parameter};
    size_t at;

    (void)size;
    if (queue->status != RP_OK)
        return;
    at = find_function(queue, name);
    if (queue->status == RP_OK)
        ask_shared(queue, at, grid.shared);
    if (queue->status != RP_OK)
        return;
    head->fault = (const u32 *)(uintptr_t)d->fault;
    queue->status = rp_gpu_result_of(
        d,
        d->driver->cuLaunchKernel(d->function[at].handle, grid.x ? grid.x : 1, grid.y ? grid.y : 1, grid.z ? grid.z : 1,
                                  grid.threads, 1, 1, grid.shared, queue->stream->handle, parameters, NULL),
        "cuLaunchKernel", name, queue->err);
}

void *rp_gpu_workspace(rp_gpu_queue *queue, size_t bytes)
{
    rp_gpu_device *d = queue->device;
    rp_stream *stream = queue->stream;
    size_t room = bytes + bytes / 4; /* the next that wants a little more finds it */
    rp_cu_pointer memory = 0;
    int result;

    if (queue->status != RP_OK)
        return NULL;
    if (bytes <= stream->workspace_bytes)
        return stream->workspace;
    if (stream->captured) { /* launched one by one there may be */
        queue->status =
            rp_fail(queue->err, RP_ENOMEM,
                    "device %s: a sequence of launches needs a workspace of %zu bytes, and has %zu: none is "
                    "made while it is captured",
                    d->base.kind, bytes, stream->workspace_bytes);
        return NULL;
    }
    if (stream->workspace != NULL) { /* what works in it is waited for */
        queue->status =
            rp_gpu_result(d, d->driver->cuStreamSynchronize(stream->handle), "cuStreamSynchronize", queue->err);
        if (queue->status == RP_OK)
            queue->status =
                rp_gpu_result(d, d->driver->cuMemFree_v2((uintptr_t)stream->workspace), "cuMemFree", queue->err);
        stream->workspace = NULL;
        stream->workspace_bytes = 0;
        d->moves += stream->repeats;
    }
    if (queue->status != RP_OK)
        return NULL;
    result = rp_gpu_memory_new(d, &memory, room);
    if (result == RP_CU_OUT_OF_MEMORY) {
        room = bytes;
        result = rp_gpu_memory_new(d, &memory, room);
    }
    queue->status = rp_gpu_memory_result(d, result, room, queue->err);
    if (queue->status != RP_OK)
        return NULL;
    stream->workspace = (void *)(uintptr_t)memory;
    stream->workspace_bytes = room;
    return stream->workspace;
}

unsigned rp_gpu_multiprocessors(const rp_gpu_queue *queue)
{
    return queue->device->multiprocessors > 0 ? (unsigned)queue->device->multiprocessors : 1;
}

size_t rp_gpu_shared_memory(const rp_gpu_queue *queue)
{
    return (size_t)queue->device->shared_memory;
}

rp_gpu_queue rp_gpu_queue_of(rp_gpu_device *d, rp_stream *stream, rp_error *err)
{
    rp_gpu_queue queue = {d, stream != NULL ? stream : &d->main, rp_gpu_enter_alone(d, err), err, 0, 0, false};

    queue.alone = queue.status == RP_OK;
    if (queue.alone)
        rp_gpu_busy(d);
    return queue;
}

rp_gpu_queue rp_gpu_queue_beside(rp_gpu_device *d, rp_stream *stream, rp_error *err)
{
    rp_gpu_queue queue = {d, stream, rp_gpu_enter(d, err), err, 0, 0, false};

    if (queue.status == RP_OK)
        rp_gpu_busy(d);
    return queue;
}

rp_status rp_gpu_queue_end(rp_gpu_queue *queue)
{
    if (queue->alone)
        rp_gpu_leave_alone(queue->device);
    queue->alone = false;
    return queue->status;
}
