/* SPDX-License-Identifier: Apache-2.0
 * Executing one instruction on a device: operand views are broadcast, a look at indices and the kernel launched. The
 * eager tape and the compiled plan both end here, which is why they have the same bits. */
#ifndef CORE_PROGRAM_EXECUTE_H
#define CORE_PROGRAM_EXECUTE_H

#include "core/program/program.h"
#include "kernels/device.h"

/* Turns operand views into what the operation's kernel expects (broadcast by strides). in is changed in place. */
void rp_bind_operands(const rp_op *op, rp_view *in, size_t n_in, const rp_view *out);
/* A view operation that could not alias: the views for a copy kernel that fills out (contiguous) from in. */
void rp_bind_copy(const rp_view *in, rp_view *out);
/* The type by which kernels of an operation are told apart: that of the first operand, unless it is an index, a random
 * state or a choice. Without operands in is NULL. */
rp_dtype rp_kernel_dtype(const rp_dtype *in, rp_dtype out);
/* A look at the indices of an RP_OP_INDEXED operation's bound views. */
rp_status rp_execute_check(rp_device *device, const rp_op *op, const rp_kernel_args *args, size_t where, rp_error *err);
/* Launches the kernel on bound views, after a look at its indices. where: the instruction's number in its program.
 * Errors: RP_EUNSUPPORTED where the device has no such kernel. */
rp_status rp_execute(rp_device *device, const rp_op *op, const rp_kernel_args *args, size_t where, rp_error *err);
rp_status rp_execute_copy(rp_device *device, const rp_view *in, const rp_view *out, rp_error *err);
/* The error of an index that was out of range, RP_EDATA; fault->where is the instruction's place in the program.
 * number: what an error calls each instruction; NULL: its place. */
rp_status rp_execute_fault(const rp_program *program, const uint32_t *number, const rp_index_fault *fault,
                           rp_error *err);
/* Waits for what was launched, all of it instructions of the program. Errors: the device's; that of the first index
 * that was out of range: nothing that was launched after it was executed. */
rp_status rp_execute_settle(rp_device *device, const rp_program *program, const uint32_t *number, rp_error *err);

#endif
