/* SPDX-License-Identifier: Apache-2.0
 * Launches captured as a graph of the driver, so that a step of many small kernels costs one call. While a stream is
 * captured the driver refuses whatever works at once or waits: nothing of that happens between begin and end. */
#include "base/memory.h"
#include "kernels/gpu/device_gpu.h"

static rp_stream *stream_of(rp_gpu_device *d, rp_stream *stream)
{
    return stream != NULL ? stream : &d->main;
}

rp_status rp_gpu_sequence_begin(rp_device *device, rp_stream *stream, rp_error *err)
{
    rp_gpu_device *d = (rp_gpu_device *)device;
    rp_status status = rp_gpu_enter_alone(d, err);

    if (status != RP_OK)
        return status;
    status = rp_gpu_result(d, d->driver->cuStreamBeginCapture_v2(rp_gpu_handle(d, stream), RP_CU_CAPTURE_THREAD_LOCAL),
                           "cuStreamBeginCapture", err);
    if (status == RP_OK) { /* else an earlier check's fault is still to be read: nobody ends what has not begun */
        stream_of(d, stream)->captured = stream_of(d, stream)->repeats = true;
        d->checked_before = d->checked;
        d->checked = false;
    }
    rp_gpu_leave_alone(d);
    return status;
}

static rp_status instantiate(rp_gpu_device *d, rp_sequence **out, rp_cu_graph graph, rp_error *err)
{
    rp_sequence *sequence = rp_calloc(1, sizeof *sequence);
    rp_status status;

    if (sequence == NULL)
        return rp_no_memory(err);
    sequence->checks = d->checked;
    sequence->moves = d->moves;
    status = rp_gpu_result(d, d->driver->cuGraphInstantiateWithFlags(&sequence->exec, graph, 0),
                           "cuGraphInstantiateWithFlags", err);
    if (status != RP_OK)
        rp_free(sequence);
    else
        *out = sequence;
    return status;
}

/* The capture is ended whatever happened: a stream that is captured is of no other use. */
rp_status rp_gpu_sequence_end(rp_device *device, rp_sequence **out, rp_stream *stream, rp_error *err)
{
    rp_gpu_device *d = (rp_gpu_device *)device;
    rp_cu_graph graph = NULL;
    rp_status status =
        rp_gpu_result(d, d->driver->cuStreamEndCapture(rp_gpu_handle(d, stream), &graph), "cuStreamEndCapture", err);

    *out = NULL;
    stream_of(d, stream)->captured = false;
    if (status == RP_OK)
        status = instantiate(d, out, graph, err);
    d->checked = d->checked || d->checked_before;
    if (graph != NULL)
        (void)d->driver->cuGraphDestroy(graph);
    return status;
}

bool rp_gpu_sequence_current(const rp_device *device, const rp_sequence *sequence)
{
    return ((const rp_gpu_device *)device)->moves == sequence->moves;
}

rp_status rp_gpu_sequence_launch(rp_device *device, rp_sequence *sequence, rp_stream *stream, rp_error *err)
{
    rp_gpu_device *d = (rp_gpu_device *)device;
    rp_status status = rp_gpu_enter_alone(d, err);

    if (status != RP_OK)
        return status;
    d->checked = d->checked || sequence->checks;
    rp_gpu_busy(d);
    status = rp_gpu_result(d, d->driver->cuGraphLaunch(sequence->exec, rp_gpu_handle(d, stream)), "cuGraphLaunch", err);
    rp_gpu_leave_alone(d);
    return status;
}

void rp_gpu_sequence_free(rp_device *device, rp_sequence *sequence)
{
    rp_gpu_device *d = (rp_gpu_device *)device;

    (void)rp_gpu_enter(d, NULL);
    (void)rp_gpu_settle(d, NULL);
    (void)d->driver->cuGraphExecDestroy(sequence->exec);
    rp_free(sequence);
}
