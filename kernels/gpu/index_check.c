/* SPDX-License-Identifier: Apache-2.0
 * Indices below a bound, on a GPU: one kernel finds the least element that is wrong, another notes it in the fault
 * word, which every kernel reads before it does anything (RP_GPU_BEGIN). The host reads it where it waits. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/gpu/device_gpu.h"

rp_status rp_gpu_clear_fault(rp_gpu_device *d, rp_error *err)
{
    const rp_cu_pointer element = d->fault + offsetof(rp_gpu_fault, element);
    rp_status status = rp_gpu_result(
        d, d->driver->cuMemsetD8Async(d->fault, 0, sizeof *d->fault_mirror, d->main.handle), "cuMemsetD8Async", err);

    memset(d->fault_mirror, 0, sizeof *d->fault_mirror);
    d->checked = false;
    if (status == RP_OK)
        status =
            rp_gpu_result(d, d->driver->cuMemsetD8Async(element, 0xFF, sizeof d->fault_mirror->element, d->main.handle),
                          "cuMemsetD8Async", err);
    return status == RP_OK
               ? rp_gpu_result(d, d->driver->cuStreamSynchronize(d->main.handle), "cuStreamSynchronize", err)
               : status;
}

rp_status rp_gpu_check(rp_device *device, const rp_index_check *check, rp_stream *stream, rp_error *err)
{
    rp_gpu_device *d = (rp_gpu_device *)device;
    rp_gpu_queue queue = rp_gpu_queue_of(d, stream, err);
    const rp_view *const index = &check->index;
    rp_gpu_map map;

    rp_gpu_map_of(&map, &index, 1, NULL, RP_K_copy);
    if (map.count == 0 || queue.status != RP_OK)
        return rp_gpu_queue_end(&queue);
    map.wide = index->dtype == RP_I64;
    map.extra[0] = (void *)(uintptr_t)d->fault;
    map.own[0] = (i64)check->bound;
    map.own[1] = (i64)check->where;
    d->checked = true;
    rp_gpu_run_map(&queue, "rp_gpu_index_find", &map);
    rp_gpu_run(&queue, "rp_gpu_index_note", (rp_gpu_grid){.threads = 32}, &map, sizeof map);
    return rp_gpu_queue_end(&queue);
}

bool rp_gpu_faulted(rp_device *device, rp_index_fault *out)
{
    rp_gpu_device *d = (rp_gpu_device *)device;
    const rp_gpu_fault *found = d->fault_mirror;

    if (found->faulted == 0)
        return false;
    *out = (rp_index_fault){(size_t)found->where, found->element, found->value, found->bound};
    if (rp_gpu_enter(d, NULL) == RP_OK)
        (void)rp_gpu_clear_fault(d, NULL); /* what fails breaks the device */
    return true;
}
