/* SPDX-License-Identifier: Apache-2.0
 * Gradient rules of the op table (CONTRACT 11 lists them as formulas). */
#ifndef CORE_PROGRAM_GRADS_H
#define CORE_PROGRAM_GRADS_H

#include "core/program/op.h"

#define MAP1(name, ...) rp_vjp_fn vjp_##name;
#define MAP1P MAP1
#define MAP1Q MAP1
#define NUM1 MAP1
#define MAP2 MAP1
#define NUM2 MAP1
#define PAIR2 MAP1
#define DECLARE_RULE(name) rp_vjp_fn vjp_##name;
#define DECLARE_NONE(name)
#define OP(name, level, n_in, n_out, flags, types, kernel_types, specimen, infer, gradient) DECLARE_##gradient(name)
#define VIEW(name, infer, view, flags, gradient) DECLARE_##gradient(name)
#include "kernels/operations.def"
#undef DECLARE_RULE
#undef DECLARE_NONE

/* What the rules of several files share. One instruction, whose outputs but the first are dropped. */
rp_tensor grad_emit(rp_op_id id, const rp_attr *attr, const rp_tensor *in, size_t n);
rp_tensor grad_constant(rp_tensor x, double c); /* rank 0, of x's dtype */
/* g, of the broadcast shape, summed back to x's shape: "back" of CONTRACT 11.4. */
rp_tensor grad_back(rp_tensor g, rp_tensor x);
/* For rules whose closed second derivative would be long: the operation has been written again in elementary ones, from
 * instruction `first` on, with one value for each output of a; the expansion is differentiated. */
void grad_through(const rp_vjp_args *a, size_t first, const rp_tensor *expansion, size_t n_out);

/* The type of the gradient of a tensor of this type: f32 for bf16, else the same. */
rp_dtype rp_gradient_dtype(rp_dtype dtype);

#endif
