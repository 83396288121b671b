/* SPDX-License-Identifier: Apache-2.0
 * Executing one instruction on a device: operand views are broadcast, indices checked, the kernel launched. The eager
 * tape and the compiled plan both end here, which is why they have the same bits. */
#ifndef CORE_PROGRAM_EXECUTE_H
#define CORE_PROGRAM_EXECUTE_H

#include "core/program/program.h"
#include "kernels/device.h"

/* Turns operand views into what the operation's kernel expects (broadcast by strides). in is changed in place. */
void rp_bind_operands(const rp_op *op, rp_view *in, size_t n_in, const rp_view *out);
/* A view operation that could not alias: the views for a copy kernel that fills out (contiguous) from in. */
void rp_bind_copy(const rp_view *in, rp_view *out);
/* Runs the kernel on bound views. Errors: RP_EDATA when an index is out of range (out is then untouched). */
rp_status rp_execute(rp_device *device, const rp_op *op, const rp_attr *attr, const rp_view *in, size_t n_in,
                     const rp_view *out, size_t n_out, rp_error *err);
rp_status rp_execute_copy(rp_device *device, const rp_view *in, const rp_view *out, rp_error *err);

#endif
