/* SPDX-License-Identifier: Apache-2.0
 * The op table. A new operation is a row here, its name in ops.def, a contract clause, a reference kernel and a test
 * row. */
#include <string.h>

#include "core/program/grads.h"
#include "core/program/infer.h"

#define EACH RP_OP_ELEMENTWISE
#define MAPPED (EACH | RP_OP_BROADCAST | RP_OP_INPLACE)
#define MAP(name_, dtypes_, vjp_) \
    [RP_OP_##name_] = {#name_, RP_K_##name_, 1, 1, EACH | RP_OP_INPLACE, dtypes_, infer_map, NULL, vjp_, {{0}}}
#define MAP2(name_, dtypes_, vjp_) \
    [RP_OP_##name_] = {#name_, RP_K_##name_, 2, 1, MAPPED, dtypes_, infer_map, NULL, vjp_, {{0}}}
#define COMPARE(name_, dtypes_) \
    [RP_OP_##name_] = {#name_, RP_K_##name_, 2, 1, EACH | RP_OP_BROADCAST, dtypes_, infer_compare, NULL, NULL, {{0}}}
#define PAIR(name_, infer_, vjp_) \
    [RP_OP_##name_] = {#name_, RP_K_##name_, 2, 1, EACH | RP_OP_INPLACE, RP_D_FLOAT, infer_, NULL, vjp_, {{0}}}
#define VIEW(name_, infer_, alias_, vjp_, ...) \
    [RP_OP_##name_] = {#name_, RP_K_copy, 1, 1, 0, RP_D_ANY | RP_D_BF16, infer_, alias_, vjp_, {__VA_ARGS__}}
#define OP(name_, n_in_, n_out_, flags_, dtypes_, infer_, vjp_, ...) \
    [RP_OP_##name_] = {#name_, RP_K_##name_, n_in_, n_out_, flags_, dtypes_, infer_, NULL, vjp_, {__VA_ARGS__}}
#define INT(name_) \
    { \
        name_, RP_ATTR_INT \
    }
#define BOOL(name_) \
    { \
        name_, RP_ATTR_BOOL \
    }
#define REAL(name_) \
    { \
        name_, RP_ATTR_REAL \
    }
#define LIST(name_) \
    { \
        name_, RP_ATTR_LIST \
    }
#define DTYPE(name_) \
    { \
        name_, RP_ATTR_DTYPE \
    }
#define PLACEMENT LIST("stride"), LIST("padding"), LIST("dilation")

static const rp_op table[RP_OP_COUNT] = {
    MAP(neg, RP_D_NUMBER, vjp_neg),
    MAP(exp, RP_D_FLOAT, vjp_exp),
    MAP(log, RP_D_FLOAT, vjp_log),
    MAP(log1p, RP_D_FLOAT, vjp_log1p),
    MAP(sqrt, RP_D_FLOAT, vjp_sqrt),
    MAP(tanh, RP_D_FLOAT, vjp_tanh),
    MAP(sigmoid, RP_D_FLOAT, vjp_sigmoid),
    MAP(erf, RP_D_FLOAT, vjp_erf),
    MAP(relu, RP_D_FLOAT, vjp_relu),
    MAP(gelu, RP_D_FLOAT, vjp_gelu),
    MAP(abs, RP_D_NUMBER, vjp_abs),
    OP(pow_int, 1, 1, EACH | RP_OP_INPLACE, RP_D_FLOAT, infer_map, vjp_pow_int, INT("exponent")),
    OP(cast, 1, 1, EACH, RP_D_ANY | RP_D_BF16, infer_cast, vjp_cast, DTYPE("dtype")),
    MAP(logical_not, RP_D_BOOL, NULL),
    MAP2(add, RP_D_NUMBER, vjp_add),
    MAP2(sub, RP_D_NUMBER, vjp_sub),
    MAP2(mul, RP_D_NUMBER, vjp_mul),
    MAP2(div, RP_D_FLOAT, vjp_div),
    MAP2(maximum, RP_D_NUMBER, vjp_maximum),
    MAP2(minimum, RP_D_NUMBER, vjp_minimum),
    COMPARE(eq, RP_D_ANY),
    COMPARE(ne, RP_D_ANY),
    COMPARE(lt, RP_D_NUMBER),
    COMPARE(le, RP_D_NUMBER),
    COMPARE(gt, RP_D_NUMBER),
    COMPARE(ge, RP_D_NUMBER),
    MAP2(logical_and, RP_D_BOOL, NULL),
    MAP2(logical_or, RP_D_BOOL, NULL),
    OP(where, 3, 1, EACH | RP_OP_BROADCAST, RP_D_BOOL, infer_where, vjp_where, {0}),
    PAIR(relu_grad, infer_grad_pair, vjp_relu_grad),
    PAIR(gelu_grad, infer_grad_pair, vjp_gelu_grad),
    PAIR(tanh_grad, infer_grad_pair, vjp_tanh_grad),
    PAIR(sigmoid_grad, infer_grad_pair, vjp_sigmoid_grad),
    MAP2(bce_logits, RP_D_FLOAT, vjp_bce_logits),
    OP(dropout, 2, 1, EACH, RP_D_FLOAT, infer_dropout, vjp_dropout, REAL("rate"), INT("stream")),
    VIEW(reshape, infer_reshape, alias_reshape, vjp_reshape, LIST("shape")),
    VIEW(transpose, infer_transpose, alias_transpose, vjp_transpose, LIST("permutation")),
    VIEW(broadcast_to, infer_reshape, alias_broadcast, vjp_broadcast_to, LIST("shape")),
    VIEW(slice, infer_slice, alias_slice, vjp_slice, LIST("begin"), LIST("end")),
    OP(fill, 0, 1, 0, RP_D_ANY | RP_D_BF16, infer_constant, NULL, REAL("value"), LIST("shape"), DTYPE("dtype")),
    OP(iota, 0, 1, 0, RP_D_NUMBER, infer_iota, NULL, INT("n"), DTYPE("dtype")),
    OP(concat, RP_MANY, 1, 0, RP_D_ANY | RP_D_BF16, infer_concat, vjp_concat, INT("axis")),
    OP(pad, 1, 1, 0, RP_D_ANY | RP_D_BF16, infer_pad, vjp_pad, LIST("before"), LIST("after")),
    OP(gather, 2, 1, RP_OP_INDEXED, RP_D_ANY | RP_D_BF16, infer_gather, vjp_gather, INT("axis")),
    OP(scatter_add, 2, 1, RP_OP_INDEXED, RP_D_FLOAT, infer_scatter_add, vjp_scatter_add, INT("axis"), INT("size")),
    OP(one_hot, 1, 1, RP_OP_INDEXED, RP_D_INT, infer_one_hot, NULL, INT("depth"), DTYPE("dtype")),
    OP(sum, 1, 1, 0, RP_D_NUMBER, infer_reduce, vjp_sum, LIST("axes")),
    OP(mean, 1, 1, 0, RP_D_FLOAT, infer_reduce, vjp_mean, LIST("axes")),
    OP(max, 1, 1, 0, RP_D_NUMBER, infer_reduce, vjp_max, LIST("axes")),
    OP(argmax, 1, 1, 0, RP_D_NUMBER, infer_argmax, NULL, INT("axis")),
    OP(softmax, 1, 1, 0, RP_D_FLOAT, infer_rows, vjp_softmax, {0}),
    OP(softmax_grad, 2, 1, 0, RP_D_FLOAT, infer_grad_pair, vjp_softmax_grad, {0}),
    OP(log_softmax, 1, 1, 0, RP_D_FLOAT, infer_rows, vjp_log_softmax, {0}),
    OP(log_softmax_grad, 2, 1, 0, RP_D_FLOAT, infer_grad_pair, vjp_log_softmax_grad, {0}),
    OP(layer_norm, 3, 1, 0, RP_D_FLOAT, infer_layer_norm, vjp_layer_norm, REAL("eps")),
    OP(layer_norm_grad, 3, 1, 0, RP_D_FLOAT, infer_layer_norm_grad, vjp_layer_norm_grad, REAL("eps")),
    OP(cross_entropy, 2, 1, RP_OP_INDEXED, RP_D_FLOAT, infer_cross_entropy, vjp_cross_entropy, {0}),
    OP(cross_entropy_grad, 3, 1, RP_OP_INDEXED, RP_D_FLOAT, infer_cross_entropy_grad, vjp_cross_entropy_grad, {0}),
    OP(matmul, 2, 1, 0, RP_D_REAL, infer_matmul, vjp_matmul, {0}),
    OP(uniform, 1, 1, 0, RP_D_INT, infer_random, NULL, REAL("low"), REAL("high"), INT("stream"), LIST("shape"),
       DTYPE("dtype")),
    OP(normal, 1, 1, 0, RP_D_INT, infer_random, NULL, REAL("mean"), REAL("deviation"), INT("stream"), LIST("shape"),
       DTYPE("dtype")),
    OP(sgd, 4, 2, EACH | RP_OP_INPLACE, RP_D_FLOAT, infer_optimizer, NULL, REAL("momentum"), BOOL("nesterov"),
       REAL("weight_decay")),
    OP(adam, 7, 3, EACH | RP_OP_INPLACE, RP_D_FLOAT, infer_optimizer, NULL, REAL("beta1"), REAL("beta2"), REAL("eps"),
       REAL("weight_decay")),
    OP(adamw, 7, 3, EACH | RP_OP_INPLACE, RP_D_FLOAT, infer_optimizer, NULL, REAL("beta1"), REAL("beta2"), REAL("eps"),
       REAL("weight_decay")),
    OP(rmsprop, 5, 3, EACH | RP_OP_INPLACE, RP_D_FLOAT, infer_optimizer, NULL, REAL("alpha"), REAL("eps"),
       REAL("momentum"), REAL("weight_decay")),
    OP(conv2d, 2, 1, 0, RP_D_FLOAT, infer_conv2d, vjp_conv2d, PLACEMENT, INT("groups")),
    OP(conv2d_grad_input, 2, 1, 0, RP_D_FLOAT, infer_conv2d_grad_input, vjp_conv2d_grad_input, PLACEMENT, INT("groups"),
       LIST("size")),
    OP(conv2d_grad_weight, 2, 1, 0, RP_D_FLOAT, infer_conv2d_grad_weight, vjp_conv2d_grad_weight, PLACEMENT,
       INT("groups"), LIST("size")),
    OP(max_pool, 1, 1, 0, RP_D_FLOAT, infer_pool, vjp_max_pool, PLACEMENT, LIST("window")),
    OP(max_pool_grad, 2, 1, 0, RP_D_FLOAT, infer_max_pool_grad, vjp_max_pool_grad, PLACEMENT, LIST("window")),
    OP(avg_pool, 1, 1, 0, RP_D_FLOAT, infer_pool, vjp_avg_pool, PLACEMENT, LIST("window")),
    OP(avg_pool_grad, 1, 1, 0, RP_D_FLOAT, infer_avg_pool_grad, vjp_avg_pool_grad, PLACEMENT, LIST("window"),
       LIST("size")),
    OP(batch_norm, 5, 1, 0, RP_D_FLOAT, infer_batch_norm, vjp_batch_norm, REAL("eps")),
    OP(batch_norm_train, 3, 3, 0, RP_D_FLOAT, infer_batch_norm_train, vjp_batch_norm_train, REAL("eps")),
    OP(batch_norm_grad, 5, 3, 0, RP_D_FLOAT, infer_batch_norm_grad, vjp_batch_norm_grad, REAL("eps")),
    MAP(expm1, RP_D_FLOAT, vjp_expm1),
    MAP(exp2, RP_D_FLOAT, vjp_exp2),
    MAP(log2, RP_D_FLOAT, vjp_log2),
    MAP(log10, RP_D_FLOAT, vjp_log10),
    MAP(sin, RP_D_FLOAT, vjp_sin),
    MAP(cos, RP_D_FLOAT, vjp_cos),
    MAP(tan, RP_D_FLOAT, vjp_tan),
    MAP(sinh, RP_D_FLOAT, vjp_sinh),
    MAP(cosh, RP_D_FLOAT, vjp_cosh),
    MAP(asin, RP_D_FLOAT, vjp_asin),
    MAP(acos, RP_D_FLOAT, vjp_acos),
    MAP(atan, RP_D_FLOAT, vjp_atan),
    MAP(erfc, RP_D_FLOAT, vjp_erfc),
    MAP(rsqrt, RP_D_FLOAT, vjp_rsqrt),
    MAP(cbrt, RP_D_FLOAT, vjp_cbrt),
    MAP2(pow, RP_D_FLOAT, vjp_pow),
    MAP2(atan2, RP_D_FLOAT, vjp_atan2),
    MAP2(hypot, RP_D_FLOAT, vjp_hypot),
    OP(conv2d_winograd, 2, 1, 0, RP_D_FLOAT, infer_conv2d_winograd, vjp_conv2d, PLACEMENT, INT("groups")),
};

const rp_op *rp_op_get(rp_op_id id)
{
    return &table[id];
}

const rp_op *rp_op_find(const char *name)
{
    for (size_t i = 0; i < RP_OP_COUNT; i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}

rp_op_id rp_op_index(const rp_op *op)
{
    return (rp_op_id)(op - table);
}

size_t rp_op_index_input(const rp_op *op)
{
    switch (rp_op_index(op)) {
    case RP_OP_one_hot:
        return 0;
    case RP_OP_cross_entropy_grad:
        return 2;
    default:
        return 1;
    }
}

size_t rp_op_index_bound(const rp_op *op, const rp_attr *attr, const rp_type *in)
{
    switch (rp_op_index(op)) {
    case RP_OP_one_hot:
        return (size_t)attr[0].i;
    case RP_OP_scatter_add:
        return (size_t)attr[1].i;
    case RP_OP_gather:
        return in[0].shape[attr[0].i];
    case RP_OP_cross_entropy:
        return in[0].shape[1];
    default: /* cross_entropy_grad */
        return in[1].shape[1];
    }
}
