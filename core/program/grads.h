/* SPDX-License-Identifier: Apache-2.0
 * Gradient rules of the op table (CONTRACT 11 lists them as formulas). */
#ifndef CORE_PROGRAM_GRADS_H
#define CORE_PROGRAM_GRADS_H

#include "core/program/op.h"

rp_vjp_fn vjp_neg, vjp_exp, vjp_log, vjp_log1p, vjp_sqrt, vjp_tanh, vjp_sigmoid, vjp_erf, vjp_relu, vjp_gelu, vjp_abs,
    vjp_pow_int, vjp_cast, vjp_add, vjp_sub, vjp_mul, vjp_div, vjp_maximum, vjp_minimum, vjp_where, vjp_relu_grad,
    vjp_gelu_grad, vjp_tanh_grad, vjp_sigmoid_grad, vjp_bce_logits, vjp_dropout, vjp_reshape, vjp_transpose,
    vjp_broadcast_to, vjp_slice, vjp_concat, vjp_pad, vjp_gather, vjp_scatter_add, vjp_sum, vjp_mean, vjp_max,
    vjp_softmax, vjp_softmax_grad, vjp_log_softmax, vjp_log_softmax_grad, vjp_layer_norm, vjp_layer_norm_grad,
    vjp_cross_entropy, vjp_cross_entropy_grad, vjp_matmul, vjp_expm1, vjp_exp2, vjp_log2, vjp_log10, vjp_sin, vjp_cos,
    vjp_tan, vjp_sinh, vjp_cosh, vjp_asin, vjp_acos, vjp_atan, vjp_erfc, vjp_rsqrt, vjp_cbrt, vjp_conv2d,
    vjp_conv2d_grad_input, vjp_conv2d_grad_weight, vjp_max_pool, vjp_max_pool_grad, vjp_avg_pool, vjp_avg_pool_grad,
    vjp_batch_norm, vjp_batch_norm_train, vjp_batch_norm_grad, vjp_pow, vjp_atan2, vjp_hypot;

/* What the rules of several files share. One instruction, whose outputs but the first are dropped. */
rp_tensor grad_emit(rp_op_id id, const rp_attr *attr, const rp_tensor *in, size_t n);
/* g, of the broadcast shape, summed back to x's shape: "back" of CONTRACT 11.4. */
rp_tensor grad_back(rp_tensor g, rp_tensor x);
/* For rules whose closed second derivative would be long: the operation has been written again in elementary ones, from
 * instruction `first` on, with one value for each output of a; the expansion is differentiated. */
void grad_through(const rp_vjp_args *a, size_t first, const rp_tensor *expansion, size_t n_out);

/* The type of the gradient of a tensor of this type: f32 for bf16, else the same. */
rp_dtype rp_gradient_dtype(rp_dtype dtype);

#endif
