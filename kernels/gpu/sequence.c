/* SPDX-License-Identifier: Apache-2.0
 * Launches captured as a graph of the driver, so that a step of many small kernels costs one call. */
#include "base/memory.h"
#include "kernels/gpu/device_gpu.h"

rp_status rp_gpu_sequence_begin(rp_device *device, rp_stream *stream, rp_error *err)
{
    rp_gpu_device *d = (rp_gpu_device *)device;
    rp_status status = rp_gpu_enter(d, err);

    if (status == RP_OK)
        status =
            rp_gpu_result(d, d->driver->cuStreamBeginCapture_v2(rp_gpu_handle(d, stream), RP_CU_CAPTURE_THREAD_LOCAL),
                          "cuStreamBeginCapture", err);
    if (status != RP_OK) /* an earlier check's fault is still to be read: nobody ends what has not begun */
        return status;
    d->checked_before = d->checked;
    d->checked = false;
    return RP_OK;
}

rp_status rp_gpu_sequence_end(rp_device *device, rp_sequence **out, rp_stream *stream, rp_error *err)
{
    rp_gpu_device *d = (rp_gpu_device *)device;
    rp_sequence *sequence = rp_calloc(1, sizeof *sequence);
    rp_cu_graph graph = NULL;
    /* ended whatever happened: a stream that is captured is of no other use */
    rp_status status =
        rp_gpu_result(d, d->driver->cuStreamEndCapture(rp_gpu_handle(d, stream), &graph), "cuStreamEndCapture", err);

    *out = NULL;
    if (status == RP_OK && sequence == NULL)
        status = rp_no_memory(err);
    if (status == RP_OK) {
        sequence->checks = d->checked;
        sequence->moves = d->moves;
        status = rp_gpu_result(d, d->driver->cuGraphInstantiateWithFlags(&sequence->exec, graph, 0),
                               "cuGraphInstantiateWithFlags", err);
    }
    d->checked = d->checked || d->checked_before;
    if (graph != NULL)
        (void)d->driver->cuGraphDestroy(graph);
    if (status != RP_OK)
        rp_free(sequence);
    else
        *out = sequence;
    return status;
}

bool rp_gpu_sequence_current(const rp_device *device, const rp_sequence *sequence)
{
    return ((const rp_gpu_device *)device)->moves == sequence->moves;
}

rp_status rp_gpu_sequence_launch(rp_device *device, rp_sequence *sequence, rp_stream *stream, rp_error *err)
{
    rp_gpu_device *d = (rp_gpu_device *)device;
    rp_status status = rp_gpu_enter(d, err);

    if (status != RP_OK)
        return status;
    d->checked = d->checked || sequence->checks;
    rp_gpu_busy(d);
    return rp_gpu_result(d, d->driver->cuGraphLaunch(sequence->exec, rp_gpu_handle(d, stream)), "cuGraphLaunch", err);
}

void rp_gpu_sequence_free(rp_device *device, rp_sequence *sequence)
{
    rp_gpu_device *d = (rp_gpu_device *)device;

    (void)rp_gpu_enter(d, NULL);
    (void)rp_gpu_settle(d, NULL);
    (void)d->driver->cuGraphExecDestroy(sequence->exec);
    rp_free(sequence);
}
