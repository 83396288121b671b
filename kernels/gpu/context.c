/* SPDX-License-Identifier: Apache-2.0
 * What every call on a GPU begins and ends with: its context, and what went wrong. Whatever fails after it was launched
 * breaks the device: what it holds is then unknown, so every later call tells the same error and nothing is computed
 * elsewhere in its place. */
#include "kernels/gpu/device_gpu.h"

rp_status rp_gpu_enter(rp_gpu_device *d, rp_error *err)
{
    if (atomic_load_explicit(&d->is_broken, memory_order_acquire))
        return rp_fail(err, d->broken.status, "%s", d->broken.text);
    return rp_gpu_result(d, d->driver->cuCtxSetCurrent(d->context), "cuCtxSetCurrent", err);
}

rp_status rp_gpu_enter_alone(rp_gpu_device *d, rp_error *err)
{
    rp_status status;

    if (atomic_exchange_explicit(&d->launching, true, memory_order_acquire))
        return rp_fail(err, RP_EARG,
                       "device %s: two threads launch at the same time: a run belongs to one thread at a time",
                       d->base.kind);
    status = rp_gpu_enter(d, err);
    if (status != RP_OK)
        rp_gpu_leave_alone(d);
    return status;
}

void rp_gpu_leave_alone(rp_gpu_device *d)
{
    atomic_store_explicit(&d->launching, false, memory_order_release);
}

void rp_gpu_break(rp_gpu_device *d, const rp_error *why)
{
    pthread_mutex_lock(&d->breaking);
    if (d->broken.status == RP_OK) {
        d->broken = *why;
        atomic_store_explicit(&d->is_broken, true, memory_order_release);
    }
    pthread_mutex_unlock(&d->breaking);
}

rp_status rp_gpu_result_of(rp_gpu_device *d, int result, const char *call, const char *kernel, rp_error *err)
{
    rp_error why;
    rp_status status = rp_driver_result(d->driver, result, call, &why);

    if (status == RP_OK)
        return RP_OK;
    if (kernel != NULL)
        (void)rp_fail_at(&why, status, "kernel %s", kernel);
    if (status != RP_ENOMEM)
        rp_gpu_break(d, &why);
    return rp_fail(err, status, "%s", why.text);
}

rp_status rp_gpu_result(rp_gpu_device *d, int result, const char *call, rp_error *err)
{
    return rp_gpu_result_of(d, result, call, NULL, err);
}

rp_cu_stream rp_gpu_handle(rp_gpu_device *d, rp_stream *stream)
{
    return stream != NULL ? stream->handle : d->main.handle;
}

void rp_gpu_busy(rp_gpu_device *d)
{
    pthread_mutex_lock(&d->lock);
    d->busy = true;
    pthread_mutex_unlock(&d->lock);
}

rp_status rp_gpu_settle(rp_gpu_device *d, rp_error *err)
{
    rp_status status = RP_OK;

    pthread_mutex_lock(&d->lock);
    if (d->busy)
        status = rp_gpu_result(d, d->driver->cuStreamSynchronize(d->main.handle), "cuStreamSynchronize", err);
    for (rp_stream *s = d->streams; d->busy && s != NULL && status == RP_OK; s = s->next)
        status = rp_gpu_result(d, d->driver->cuStreamSynchronize(s->handle), "cuStreamSynchronize", err);
    d->busy = d->busy && status != RP_OK;
    pthread_mutex_unlock(&d->lock);
    return status;
}
