/* SPDX-License-Identifier: Apache-2.0
 * Binding views and launching kernels. */
#include "core/program/execute.h"

#include <string.h>

/* in stretched to rank and shape, leaving the last `keep` axes as they are. */
static void stretch(rp_view *in, const rp_view *to, int keep)
{
    rp_view wide = *in;
    int lead = to->rank - in->rank;

    wide.rank = to->rank;
    for (int i = 0; i < to->rank; i++) {
        size_t length = i < lead ? 1 : in->shape[i - lead];
        bool kept = i >= to->rank - keep;

        wide.shape[i] = kept ? length : to->shape[i];
        wide.stride[i] = i < lead || (!kept && length != to->shape[i]) ? 0 : in->stride[i - lead];
    }
    *in = wide;
}

void rp_bind_operands(const rp_op *op, rp_view *in, size_t n_in, const rp_view *out)
{
    if (op->flags & RP_OP_BROADCAST)
        for (size_t i = 0; i < n_in; i++)
            stretch(&in[i], out, 0);
    else if (rp_op_index(op) == RP_OP_matmul)
        for (size_t i = 0; i < n_in; i++)
            stretch(&in[i], out, 2);
}

void rp_bind_copy(const rp_view *in, rp_view *out)
{
    rp_type shape = {.dtype = in->dtype, .rank = in->rank};

    memcpy(shape.shape, in->shape, sizeof shape.shape);
    *out = rp_view_of(&shape, out->data);
}

static size_t count_of(const rp_view *view)
{
    size_t count = 1;

    for (int i = 0; i < view->rank; i++)
        count *= view->shape[i];
    return count;
}

static int64_t index_at(const rp_view *view, size_t linear)
{
    ptrdiff_t offset = 0;

    for (int i = view->rank - 1; i >= 0; i--) {
        offset += (ptrdiff_t)(linear % view->shape[i]) * view->stride[i];
        linear /= view->shape[i];
    }
    return view->dtype == RP_I32 ? ((const int32_t *)view->data)[offset] : ((const int64_t *)view->data)[offset];
}

/* Kernels cannot fail, so indices are looked at before. On the CPU the data is at hand. */
static rp_status check_indices(const rp_op *op, const rp_attr *attr, const rp_view *in, size_t n_in, rp_error *err)
{
    const rp_view *index = &in[rp_op_index_input(op)];
    size_t count = count_of(index), bound;
    rp_type type[3];

    for (size_t i = 0; i < n_in && i < 3; i++) {
        type[i] = (rp_type){.dtype = in[i].dtype, .rank = in[i].rank};
        memcpy(type[i].shape, in[i].shape, sizeof type[i].shape);
    }
    bound = rp_op_index_bound(op, attr, type);
    for (size_t i = 0; i < count; i++) {
        int64_t v = index_at(index, i);

        if (v < 0 || (uint64_t)v >= bound)
            return rp_fail(err, RP_EDATA, "%s: index %lld at position %zu is out of range, expected 0 to %zu", op->name,
                           (long long)v, i, bound ? bound - 1 : 0);
    }
    return RP_OK;
}

rp_status rp_execute(rp_device *device, const rp_op *op, const rp_attr *attr, const rp_view *in, size_t n_in,
                     const rp_view *out, size_t n_out, rp_error *err)
{
    rp_kernel_args args = {in, n_in, out, n_out, attr};

    if (op->flags & RP_OP_INDEXED) {
        rp_status status = check_indices(op, attr, in, n_in, err);

        if (status != RP_OK)
            return status;
    }
    return rp_device_launch(device, op->kernel, &args, NULL, err);
}

rp_status rp_execute_copy(rp_device *device, const rp_view *in, const rp_view *out, rp_error *err)
{
    rp_kernel_args args = {in, 1, out, 1, NULL};

    return rp_device_launch(device, RP_K_copy, &args, NULL, err);
}
