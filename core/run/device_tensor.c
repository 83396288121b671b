/* SPDX-License-Identifier: Apache-2.0
 * Reading and writing tensors on a device. */
#include "core/run/device_tensor.h"

#include "base/memory.h"

rp_status rp_device_tensor_read(const rp_device_tensor *t, void *host, rp_error *err)
{
    return rp_device_read(t->device, host, t->memory, rp_type_bytes(&t->type), NULL, err);
}

rp_status rp_device_tensor_write(const rp_device_tensor *t, const void *host, rp_error *err)
{
    return rp_device_upload(t->device, t->memory, host, rp_type_bytes(&t->type), NULL, err);
}

rp_status rp_host_tensors_map(rp_host_tensors *out, const rp_device_tensor *tensor, size_t n, rp_error *err)
{
    rp_status status = RP_OK;

    *out = (rp_host_tensors){.device = n ? tensor[0].device : NULL};
    out->named = rp_calloc(n ? n : 1, sizeof *out->named);
    out->mapping = rp_calloc(n ? n : 1, sizeof *out->mapping);
    if (!out->named || !out->mapping)
        status = rp_no_memory(err);
    for (size_t i = 0; i < n && status == RP_OK; i++) {
        const rp_device_tensor *t = &tensor[i];

        status = rp_device_map(t->device, &out->mapping[i], t->memory, rp_type_bytes(&t->type), err);
        out->named[i] = (rp_named){t->name, t->type, out->mapping[i].bytes};
        out->n += status == RP_OK;
    }
    if (status != RP_OK)
        rp_host_tensors_unmap(out);
    return status;
}

void rp_host_tensors_unmap(rp_host_tensors *tensors)
{
    for (size_t i = 0; i < tensors->n; i++)
        rp_device_unmap(tensors->device, &tensors->mapping[i]);
    rp_free(tensors->mapping);
    rp_free(tensors->named);
    *tensors = (rp_host_tensors){.n = 0};
}
