/* SPDX-License-Identifier: Apache-2.0
 * The CPU device: work happens at once, items are cut over a thread pool when there is enough of it to pay for waking
 * the threads. All streams are the default stream, and an event has always happened. */
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "determinism/fpenv.h"
#include "kernels/device_ops.h"
#include "kernels/memory/host_memory.h"
#include "kernels/index_check.h"

typedef struct cpu_device {
    rp_device base;
    const rp_kernel_table *table;
    bool faulted; /* nothing is launched */
    rp_index_fault fault;
} cpu_device;

/* Elementary operations that a thread should have before it is worth waking. */
enum { WORK_A_THREAD = 30000, ALIGNMENT = 64 };

static void cpu_free(rp_device *device)
{
    rp_pool_free(device->pool);
    rp_free(device);
}

/* The allocator hooks promise malloc's alignment only, so the block keeps its start in front of the aligned part. What
 * of it fills large pages may lie in such: matrices are read past what the processor's table of small ones holds. Not
 * one byte more is asked for to that end, as what a run needs is told before. */
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
    rp_host_memory_prefer_large(block, bytes);
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

static size_t cpu_available(rp_device *device)
{
    (void)device;
    return rp_host_memory_available();
}

static rp_status cpu_pin(rp_device *device, void **out, size_t bytes, rp_error *err)
{
    (void)device;
    *out = rp_malloc(bytes > 0 ? bytes : 1);
    return *out != NULL ? RP_OK : rp_no_memory(err);
}

static void cpu_unpin(rp_device *device, void *host)
{
    (void)device;
    rp_free(host);
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

static void launch(rp_device *device, const rp_kernel *kernel, const rp_kernel_args *args)
{
    const cpu_device *self = (const cpu_device *)device;
    job j = {kernel, args};
    const size_t items = j.kernel->items(args);
    size_t cost;

    if (items == 0 || self->faulted)
        return;
    cost = device->pool != NULL ? j.kernel->cost(args) : 0;
    if (device->pool == NULL || items <= WORK_A_THREAD / (cost > 0 ? cost : 1))
        j.kernel->run(args, 0, items);
    else
        rp_pool_run(device->pool, items, 1 + WORK_A_THREAD / (cost > 0 ? cost : 1), run_job, &j);
}

static rp_status cpu_launch(rp_device *device, rp_kernel_id id, const rp_kernel_args *args, rp_stream *stream,
                            rp_error *err)
{
    (void)stream, (void)err;
    launch(device, ((const cpu_device *)device)->table->kernel[id], args);
    return RP_OK;
}

static bool cpu_has_onto(const rp_device *device)
{
    return rp_onto_of(((const cpu_device *)device)->table) != NULL;
}

static void cpu_launch_onto(rp_device *device, const rp_kernel_args *args)
{
    launch(device, rp_onto_of(((const cpu_device *)device)->table), args);
}

static rp_status cpu_launch_chain(rp_device *device, const rp_chain *chain, rp_stream *stream, rp_error *err)
{
    const cpu_device *self = (const cpu_device *)device;

    (void)stream, (void)err;
    if (!self->faulted)
        rp_chain_run(chain, self->table, device->pool, WORK_A_THREAD);
    return RP_OK;
}

static bool cpu_has_epilogue(const rp_device *device, rp_kernel_id kernel)
{
    return rp_epilogue_of(((const cpu_device *)device)->table, kernel) != NULL;
}

static void cpu_launch_epilogue(rp_device *device, rp_kernel_id kernel, const rp_kernel_args *args,
                                const rp_chain *chain)
{
    const cpu_device *self = (const cpu_device *)device;

    if (!self->faulted)
        rp_chain_run_behind(chain, kernel, args, self->table, device->pool, WORK_A_THREAD);
}

static void cpu_launch_rows(rp_device *device, const rp_rows_call *call)
{
    const cpu_device *self = (const cpu_device *)device;

    if (!self->faulted)
        rp_rows_run_call(call, self->table, device->pool, WORK_A_THREAD);
}

static void cpu_launch_prologue(rp_device *device, const rp_prologue_call *call)
{
    const cpu_device *self = (const cpu_device *)device;

    if (!self->faulted)
        rp_prologue_run(call, self->table, device->pool, WORK_A_THREAD);
}

typedef struct bags_job {
    rp_bags_run *run;
    const rp_bags *bags;
} bags_job;

static void run_bags(void *arg, size_t begin, size_t end)
{
    const bags_job *j = arg;

    j->run(j->bags, begin, end);
}

static bool cpu_launch_bags(rp_device *device, const rp_bags *bags)
{
    const cpu_device *self = (const cpu_device *)device;
    const size_t n = bags->index.shape[0], cost = n > 0 ? rp_view_count(&bags->out) / n * bags->index.shape[1] : 0;
    bags_job j = {rp_bags_of(self->table), bags};

    if (j.run == NULL)
        return false;
    if (self->faulted)
        return true;
    if (device->pool == NULL)
        run_bags(&j, 0, n);
    else
        rp_pool_run(device->pool, n, 1 + WORK_A_THREAD / (cost > 0 ? cost : 1), run_bags, &j);
    return true;
}

static bool cpu_has_dots(const rp_device *device)
{
    return rp_dots_of(((const cpu_device *)device)->table) != NULL;
}

typedef struct dots_job {
    rp_dots_run *run;
    const rp_dots *dots;
} dots_job;

static void run_dots(void *arg, size_t begin, size_t end)
{
    const dots_job *j = arg;

    j->run(j->dots, begin, end);
}

static void cpu_launch_dots(rp_device *device, const rp_dots *dots)
{
    const cpu_device *self = (const cpu_device *)device;
    dots_job j = {rp_dots_of(self->table), dots};

    if (self->faulted)
        return;
    if (device->pool == NULL)
        run_dots(&j, 0, dots->rows);
    else
        rp_pool_run(device->pool, dots->rows, 1 + WORK_A_THREAD / dots->length, run_dots, &j);
}

/* ---- indices ---- */

typedef struct check_job {
    const rp_index_check *check;
    atomic_size_t first; /* the least element found to be wrong */
} check_job;

static void run_check(void *arg, size_t begin, size_t end)
{
    check_job *j = arg;
    const size_t found = rp_index_check_range(j->check, begin, end);
    size_t least = atomic_load(&j->first);

    while (found < end && found < least && !atomic_compare_exchange_weak(&j->first, &least, found))
        continue;
}

static rp_status cpu_check(rp_device *device, const rp_index_check *check, rp_stream *stream, rp_error *err)
{
    cpu_device *self = (cpu_device *)device;
    const size_t count = rp_view_count(&check->index);
    check_job j = {check, count};

    (void)stream, (void)err;
    if (self->faulted)
        return RP_OK;
    if (device->pool == NULL || count <= WORK_A_THREAD)
        run_check(&j, 0, count);
    else
        rp_pool_run(device->pool, count, WORK_A_THREAD, run_check, &j);
    if (j.first == count)
        return RP_OK;
    self->faulted = true;
    self->fault = (rp_index_fault){check->where, j.first, rp_index_check_value(&check->index, j.first), check->bound};
    return RP_OK;
}

static bool cpu_fault(rp_device *device, rp_index_fault *out)
{
    cpu_device *self = (cpu_device *)device;
    const bool faulted = self->faulted;

    if (faulted)
        *out = self->fault;
    self->faulted = false;
    return faulted;
}

/* ---- streams: there is one, and it has always been waited for ---- */

static rp_status cpu_synchronize(rp_device *device, rp_stream *stream, rp_error *err)
{
    (void)device, (void)stream, (void)err;
    return RP_OK;
}

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

static rp_status cpu_event_new(rp_device *device, rp_event **out, rp_error *err)
{
    (void)device, (void)err;
    *out = NULL;
    return RP_OK;
}

static void cpu_event_free(rp_device *device, rp_event *event)
{
    (void)device, (void)event;
}

static rp_status cpu_event(rp_device *device, rp_event *event, rp_stream *stream, rp_error *err)
{
    (void)device, (void)event, (void)stream, (void)err;
    return RP_OK;
}

static const rp_device_ops cpu_ops = {
    .free = cpu_free,
    .allocate = cpu_allocate,
    .release = cpu_release,
    .available = cpu_available,
    .pin = cpu_pin,
    .unpin = cpu_unpin,
    .upload = cpu_copy,
    .download = cpu_copy,
    .copy = cpu_copy,
    .launch = cpu_launch,
    .launch_chain = cpu_launch_chain,
    .launch_bags = cpu_launch_bags,
    .has_dots = cpu_has_dots,
    .launch_dots = cpu_launch_dots,
    .has_onto = cpu_has_onto,
    .launch_onto = cpu_launch_onto,
    .has_epilogue = cpu_has_epilogue,
    .launch_epilogue = cpu_launch_epilogue,
    .launch_rows = cpu_launch_rows,
    .has_prologue = cpu_has_onto, /* products are added chunk by chunk */
    .launch_prologue = cpu_launch_prologue,
    .check = cpu_check,
    .fault = cpu_fault,
    .synchronize = cpu_synchronize,
    .stream_new = cpu_stream_new,
    .stream_free = cpu_stream_free,
    .event_new = cpu_event_new,
    .event_free = cpu_event_free,
    .event_record = cpu_event,
    .event_wait = cpu_event,
};

rp_status rp_device_cpu_new(rp_device **out, const char *level, unsigned threads, rp_error *err)
{
    const rp_kernel_table *table;
    cpu_device *self;
    rp_status status;

    *out = NULL;
    if (threads == 0)
        return rp_fail(err, RP_EARG, "threads: expected at least 1, found 0");
    status = rp_kernel_table_get(&table, level, err);
    if (status != RP_OK)
        return status;
    self = rp_calloc(1, sizeof *self);
    if (self == NULL)
        return rp_no_memory(err);
    self->table = table;
    self->base =
        (rp_device){.ops = &cpu_ops, .kind = "cpu", .level = table->level, .threads = threads, .shares_memory = true};
    (void)snprintf(self->base.identity, sizeof self->base.identity, "cpu-%s", table->level);
    if (threads > 1)
        status = rp_pool_new(&self->base.pool, threads, rp_fpenv_worker, err);
    if (status != RP_OK) {
        rp_free(self);
        return status;
    }
    *out = &self->base;
    return RP_OK;
}
