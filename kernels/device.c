/* SPDX-License-Identifier: Apache-2.0
 * The device interface's callers' side, and the CPU device: work happens at once, items are cut over a thread pool
 * when there is enough of it to pay for waking the threads. */
#include "kernels/device.h"

#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "determinism/fpenv.h"

struct rp_device {
    const rp_device_ops *ops;
    const rp_kernel_table *table;
    rp_pool *pool; /* NULL with one thread */
    unsigned threads;
};

/* Elementary operations that a thread should have before it is worth waking. */
enum { WORK_A_THREAD = 30000, ALIGNMENT = 64 };

static void cpu_free(rp_device *device)
{
    rp_pool_free(device->pool);
    rp_free(device);
}

/* The allocator hooks promise malloc's alignment only, so the block keeps its start in front of the aligned part. */
static rp_status cpu_allocate(rp_device *device, void **out, size_t bytes, rp_error *err)
{
    char *block, *aligned;

    (void)device;
    *out = NULL;
    if (bytes > SIZE_MAX - ALIGNMENT - sizeof block)
        return rp_no_memory(err);
    block = rp_malloc(bytes + ALIGNMENT + sizeof block);
    if (block == NULL)
        return rp_no_memory(err);
    aligned = block + sizeof block;
    aligned += (ALIGNMENT - (uintptr_t)aligned % ALIGNMENT) % ALIGNMENT;
    memcpy(aligned - sizeof block, &block, sizeof block);
    *out = aligned;
    return RP_OK;
}

static void cpu_release(rp_device *device, void *memory)
{
    char *block;

    (void)device;
    memcpy(&block, (char *)memory - sizeof block, sizeof block);
    rp_free(block);
}

/* The CPU has the default stream only: all are the same. */
static rp_status cpu_stream_new(rp_device *device, rp_stream **out, rp_error *err)
{
    (void)device, (void)err;
    *out = NULL;
    return RP_OK;
}

static void cpu_stream_free(rp_device *device, rp_stream *stream)
{
    (void)device, (void)stream;
}

static rp_status cpu_copy(rp_device *device, void *to, const void *from, size_t bytes, rp_stream *stream, rp_error *err)
{
    (void)device, (void)stream, (void)err;
    if (bytes > 0)
        memcpy(to, from, bytes);
    return RP_OK;
}

typedef struct job {
    const rp_kernel *kernel;
    const rp_kernel_args *args;
} job;

static void run_job(void *arg, size_t begin, size_t end)
{
    const job *j = arg;

    j->kernel->run(j->args, begin, end);
}

static rp_status cpu_launch(rp_device *device, rp_kernel_id id, const rp_kernel_args *args, rp_stream *stream,
                            rp_error *err)
{
    job j = {device->table->kernel[id], args};
    const size_t items = j.kernel->items(args);
    size_t cost;

    (void)stream, (void)err;
    if (items == 0)
        return RP_OK;
    cost = device->pool != NULL ? j.kernel->cost(args) : 0;
    if (device->pool == NULL || items <= WORK_A_THREAD / (cost > 0 ? cost : 1))
        j.kernel->run(args, 0, items);
    else
        rp_pool_run(device->pool, items, 1 + WORK_A_THREAD / (cost > 0 ? cost : 1), run_job, &j);
    return RP_OK;
}

static rp_status cpu_launch_chain(rp_device *device, const rp_chain *chain, rp_stream *stream, rp_error *err)
{
    (void)stream, (void)err;
    rp_chain_run(chain, device->table, device->pool, WORK_A_THREAD);
    return RP_OK;
}

static rp_status cpu_synchronize(rp_device *device, rp_stream *stream, rp_error *err)
{
    (void)device, (void)stream, (void)err;
    return RP_OK;
}

static const rp_device_ops cpu_ops = {"cpu",          cpu_free,         cpu_allocate,   cpu_release,
                                      cpu_stream_new, cpu_stream_free,  cpu_copy,       cpu_copy,
                                      cpu_launch,     cpu_launch_chain, cpu_synchronize};

rp_status rp_device_cpu_new(rp_device **out, const char *level, unsigned threads, rp_error *err)
{
    const rp_kernel_table *table;
    rp_device *device;
    rp_status status;

    *out = NULL;
    if (threads == 0)
        return rp_fail(err, RP_EARG, "threads: expected at least 1, found 0");
    status = rp_kernel_table_get(&table, level, err);
    if (status != RP_OK)
        return status;
    device = rp_calloc(1, sizeof *device);
    if (device == NULL)
        return rp_no_memory(err);
    device->ops = &cpu_ops;
    device->table = table;
    device->threads = threads;
    if (threads > 1)
        status = rp_pool_new(&device->pool, threads, rp_fpenv_worker, err);
    if (status != RP_OK) {
        rp_free(device);
        return status;
    }
    *out = device;
    return RP_OK;
}

void rp_device_free(rp_device *device)
{
    if (device != NULL)
        device->ops->free(device);
}

rp_status rp_device_allocate(rp_device *device, void **out, size_t bytes, rp_error *err)
{
    return device->ops->allocate(device, out, bytes, err);
}

void rp_device_release(rp_device *device, void *memory)
{
    if (memory != NULL)
        device->ops->release(device, memory);
}

rp_status rp_device_upload(rp_device *device, void *to, const void *host, size_t bytes, rp_stream *stream,
                           rp_error *err)
{
    return device->ops->upload(device, to, host, bytes, stream, err);
}

rp_status rp_device_download(rp_device *device, void *host, const void *from, size_t bytes, rp_stream *stream,
                             rp_error *err)
{
    return device->ops->download(device, host, from, bytes, stream, err);
}

rp_status rp_device_launch(rp_device *device, rp_kernel_id kernel, const rp_kernel_args *args, rp_stream *stream,
                           rp_error *err)
{
    return device->ops->launch(device, kernel, args, stream, err);
}

rp_status rp_device_launch_chain(rp_device *device, const rp_chain *chain, rp_stream *stream, rp_error *err)
{
    return device->ops->launch_chain(device, chain, stream, err);
}

rp_status rp_device_synchronize(rp_device *device, rp_stream *stream, rp_error *err)
{
    return device->ops->synchronize(device, stream, err);
}

rp_status rp_stream_new(rp_device *device, rp_stream **out, rp_error *err)
{
    return device->ops->stream_new(device, out, err);
}

void rp_stream_free(rp_device *device, rp_stream *stream)
{
    if (stream != NULL)
        device->ops->stream_free(device, stream);
}

const char *rp_device_kind(const rp_device *device)
{
    return device->ops->kind;
}

const char *rp_device_level(const rp_device *device)
{
    return device->table->level;
}

unsigned rp_device_threads(const rp_device *device)
{
    return device->threads;
}

rp_pool *rp_device_pool(const rp_device *device)
{
    return device->pool;
}

const char *rp_kernel_name(rp_kernel_id kernel)
{
    static const char *const names[RP_K_COUNT] = {
#define X(name) [RP_K_##name] = #name,
#include "kernels/kernels.def"
#undef X
    };

    return (unsigned)kernel < RP_K_COUNT ? names[kernel] : NULL;
}
