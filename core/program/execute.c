/* SPDX-License-Identifier: Apache-2.0
 * Binding views and launching kernels. */
#include "core/program/execute.h"

#include <stdio.h>
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
    else if (op->flags & RP_OP_BATCHED)
        for (size_t i = 0; i < n_in; i++)
            stretch(&in[i], out, 2);
}

void rp_bind_copy(const rp_view *in, rp_view *out)
{
    rp_type shape = {.dtype = in->dtype, .rank = in->rank};

    memcpy(shape.shape, in->shape, sizeof shape.shape);
    *out = rp_view_of(&shape, out->data);
}

/* Kernels cannot fail: the device looks at the indices before. */
rp_status rp_execute_check(rp_device *device, const rp_op *op, const rp_kernel_args *args, size_t where, rp_error *err)
{
    rp_index_check check = {.index = args->in[op->indices.operand], .where = where};
    rp_type type[3] = {{0}};

    for (size_t i = 0; i < args->n_in && i < 3; i++) {
        type[i] = (rp_type){.dtype = args->in[i].dtype, .rank = args->in[i].rank};
        memcpy(type[i].shape, args->in[i].shape, sizeof type[i].shape);
    }
    check.bound = rp_op_index_bound(op, args->attr, type);
    return rp_device_check(device, &check, NULL, err);
}

rp_dtype rp_kernel_dtype(const rp_dtype *in, rp_dtype out)
{
    const bool out_is_real = (1u << out & RP_D_REAL) != 0;

    if (in == NULL || *in == RP_BOOL)
        return out;
    return !(1u << *in & RP_D_REAL) && out_is_real ? out : *in;
}

rp_status rp_execute(rp_device *device, const rp_op *op, const rp_kernel_args *args, size_t where, rp_error *err)
{
    const rp_dtype dtype = rp_kernel_dtype(args->n_in > 0 ? &args->in[0].dtype : NULL, args->out[0].dtype);
    rp_status status = RP_OK;

    if (!rp_device_has(device, op->kernel, dtype)) /* of what nobody could look at before: an eager step's */
        return rp_fail(err, RP_EUNSUPPORTED, "device %s has no kernel for %s %s: choose another device, such as cpu",
                       rp_device_kind(device), op->name, rp_dtype_name(dtype));
    status = op->flags & RP_OP_INDEXED ? rp_execute_check(device, op, args, where, err) : RP_OK;

    return status == RP_OK ? rp_device_launch(device, op->kernel, args, NULL, err) : status;
}

rp_status rp_execute_copy(rp_device *device, const rp_view *in, const rp_view *out, rp_error *err)
{
    rp_kernel_args args = {in, 1, out, 1, NULL};

    return rp_device_launch(device, RP_K_copy, &args, NULL, err);
}

rp_status rp_execute_fault(const rp_program *program, const uint32_t *number, const rp_index_fault *fault,
                           rp_error *err)
{
    const rp_instr *instr = &program->instr[fault->where];
    char line[264] = "";

    if (instr->mark)
        (void)snprintf(line, sizeof line, " (%.240s:%d)", rp_mark_file(instr->mark), rp_mark_line(instr->mark));
    return rp_fail(err, RP_EDATA,
                   "instruction %zu, %s: index %lld at position %llu is out of range, expected 0 to %llu%s",
                   number ? (size_t)number[fault->where] : fault->where, instr->op->name, (long long)fault->value,
                   (unsigned long long)fault->element, (unsigned long long)(fault->bound ? fault->bound - 1 : 0), line);
}

rp_status rp_execute_settle(rp_device *device, const rp_program *program, const uint32_t *number, rp_error *err)
{
    rp_status status = rp_device_synchronize(device, NULL, err);
    rp_index_fault fault;

    if (!rp_device_fault(device, &fault) || status != RP_OK)
        return status;
    return rp_execute_fault(program, number, &fault, err);
}
