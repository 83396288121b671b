/* SPDX-License-Identifier: Apache-2.0
 * Shape rules and view rules of the op table. */
#ifndef CORE_PROGRAM_INFER_H
#define CORE_PROGRAM_INFER_H

#include "core/program/op.h"

rp_infer_fn infer_map, infer_compare, infer_where, infer_cast, infer_grad_pair, infer_dropout, infer_reshape,
    infer_transpose, infer_slice, infer_constant, infer_iota, infer_concat, infer_pad, infer_gather, infer_scatter_add,
    infer_one_hot, infer_reduce, infer_argmax, infer_rows, infer_layer_norm, infer_layer_norm_grad, infer_cross_entropy,
    infer_cross_entropy_grad, infer_matmul, infer_random, infer_optimizer, infer_conv2d, infer_conv2d_winograd,
    infer_conv2d_grad_input, infer_conv2d_grad_weight, infer_pool, infer_max_pool_grad, infer_avg_pool_grad,
    infer_batch_norm, infer_batch_norm_train, infer_batch_norm_grad;
rp_alias_fn alias_reshape, alias_transpose, alias_broadcast, alias_slice;

#endif
