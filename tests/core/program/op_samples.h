/* SPDX-License-Identifier: Apache-2.0
 * Instances of every row of the op table, with operand values that keep away from ties, poles and kinks: what the tests
 * of gradients and of programs walk. Elementwise rows bring theirs; any other without an instance here fails both. */
#ifndef TESTS_CORE_PROGRAM_OP_SAMPLES_H
#define TESTS_CORE_PROGRAM_OP_SAMPLES_H

#include "core/program/infer.h"
#include "determinism/philox.h"

typedef struct op_sample {
    rp_op_id op;
    int n_in;
    rp_type in[7];
    rp_attr attr[RP_MAX_ATTR];
} op_sample;

#define D(rank_, ...) \
    { \
        RP_F64, rank_, \
        { \
            __VA_ARGS__ \
        } \
    }
#define S \
    { \
        RP_F64, 0, \
        { \
            0 \
        } \
    }
#define I32(rank_, ...) \
    { \
        RP_I32, rank_, \
        { \
            __VA_ARGS__ \
        } \
    }
#define I64(rank_, ...) \
    { \
        RP_I64, rank_, \
        { \
            __VA_ARGS__ \
        } \
    }
#define B(rank_, ...) \
    { \
        RP_BOOL, rank_, \
        { \
            __VA_ARGS__ \
        } \
    }
#define RNG \
    { \
        RP_I64, 1, \
        { \
            2 \
        } \
    }
#define LIST(n_, ...) \
    { \
        .n = n_, .list = { __VA_ARGS__ } \
    }

#define MAP_SAMPLES(name, p, q) \
    {RP_OP_##name, 1, {D(2, 3, 2)}, {p, q}}, {RP_OP_##name, 1, {S}, {p, q}}, \
    { \
        RP_OP_##name, 1, {D(3, 2, 1, 4)}, \
        { \
            p, q \
        } \
    }
/* equal shapes; a stretched row, column, scalar; higher rank on either side; both stretched at once; empty */
#define PAIR_SAMPLES(name) \
    {RP_OP_##name, 2, {D(2, 3, 2), D(2, 3, 2)}, {{0}}}, {RP_OP_##name, 2, {D(2, 2, 3), D(1, 3)}, {{0}}}, \
        {RP_OP_##name, 2, {D(2, 1, 3), D(3, 2, 2, 3)}, {{0}}}, {RP_OP_##name, 2, {D(2, 3, 1), D(2, 1, 4)}, {{0}}}, \
        {RP_OP_##name, 2, {S, D(2, 2, 2)}, {{0}}}, {RP_OP_##name, 2, {D(3, 2, 1, 1), D(1, 1)}, {{0}}}, \
    { \
        RP_OP_##name, 2, {D(2, 2, 0), D(2, 2, 1)}, \
        { \
            { \
                0 \
            } \
        } \
    }
#define SAME_SAMPLES(name) \
    {RP_OP_##name, 2, {D(2, 3, 4), D(2, 3, 4)}, {{0}}}, {RP_OP_##name, 2, {D(1, 5), D(1, 5)}, {{0}}}, \
        {RP_OP_##name, 2, {D(3, 2, 2, 3), D(3, 2, 2, 3)}, {{0}}}, \
    { \
        RP_OP_##name, 2, {D(2, 3, 1), D(2, 3, 1)}, \
        { \
            { \
                0 \
            } \
        } \
    }
#define ROW_SAMPLES(name) \
    {RP_OP_##name, 1, {D(2, 3, 4)}, {{0}}}, {RP_OP_##name, 1, {D(1, 5)}, {{0}}}, \
    { \
        RP_OP_##name, 1, {D(3, 2, 2, 1)}, \
        { \
            { \
                0 \
            } \
        } \
    }
#define REDUCE_SAMPLES(name) \
    {RP_OP_##name, 1, {D(2, 3, 4)}, {LIST(1, 1)}}, {RP_OP_##name, 1, {D(2, 3, 4)}, {LIST(1, 0)}}, \
        {RP_OP_##name, 1, {D(3, 2, 3, 2)}, {LIST(2, 0, 2)}}, {RP_OP_##name, 1, {D(3, 2, 3, 2)}, {LIST(3, 0, 1, 2)}}, \
        {RP_OP_##name, 1, {S}, {LIST(0, 0)}}, \
    { \
        RP_OP_##name, 1, {D(1, 3)}, \
        { \
            LIST(0, 0) \
        } \
    }
/* stride, padding, dilation: height before width, top before left */
#define PLACE(sh, sw, t, l, b, r, dh, dw) LIST(2, sh, sw), LIST(4, t, l, b, r), LIST(2, dh, dw)
#define POOL_SAMPLES(name) \
    {RP_OP_##name, 1, {D(4, 1, 4, 4, 2)}, {PLACE(2, 2, 0, 0, 0, 0, 1, 1), LIST(2, 2, 2)}}, \
        {RP_OP_##name, 1, {D(4, 2, 4, 3, 1)}, {PLACE(1, 2, 1, 0, 1, 1, 1, 1), LIST(2, 3, 2)}}, \
        {RP_OP_##name, 1, {D(4, 1, 3, 5, 2)}, {PLACE(2, 1, 1, 0, 1, 1, 2, 3), LIST(2, 2, 2)}}, \
    { \
        RP_OP_##name, 1, {D(4, 1, 3, 3, 2)}, \
        { \
            PLACE(1, 1, 0, 0, 0, 0, 1, 1), LIST(2, 3, 3) \
        } \
    }
#define COMPARE_SAMPLES(name) \
    { \
        RP_OP_##name, 2, {D(2, 2, 3), D(1, 3)}, \
        { \
            { \
                0 \
            } \
        } \
    }
#define LOGIC_SAMPLES(name) \
    { \
        RP_OP_##name, 2, {B(2, 2, 3), B(1, 3)}, \
        { \
            { \
                0 \
            } \
        } \
    }

#define INT_SAMPLES(name) \
    { \
        RP_OP_##name, 2, {I64(2, 2, 3), I64(1, 3)}, \
        { \
            { \
                0 \
            } \
        } \
    }

static const op_sample op_samples[] = {
#define MAP1(name, ...) MAP_SAMPLES(name, {.r = 0}, {.r = 0}),
#define MAP1P(name, cost, way, domain, p, p0, ...) MAP_SAMPLES(name, {.r = p0}, {.r = 0}),
#define MAP1Q(name, cost, way, domain, p, p0, q, q0, ...) MAP_SAMPLES(name, {.r = p0}, {.r = q0}),
#define NUM1 MAP1
#define MAP2(name, ...) PAIR_SAMPLES(name),
#define NUM2 MAP2
#define PAIR2(name, ...) SAME_SAMPLES(name),
#define COMPARE(name, ...) COMPARE_SAMPLES(name),
#define LOGIC1(name, ...) {RP_OP_##name, 1, {B(1, 3)}, {{0}}},
#define LOGIC2(name, ...) LOGIC_SAMPLES(name),
#define INT2(name, ...) INT_SAMPLES(name),
#include "kernels/operations.def"
    {RP_OP_pow_int, 1, {D(2, 3, 2)}, {{.i = 3}}},
    {RP_OP_pow_int, 1, {D(1, 4)}, {{.i = 2}}},
    {RP_OP_pow_int, 1, {D(1, 4)}, {{.i = 1}}},
    {RP_OP_pow_int, 1, {D(1, 4)}, {{.i = 0}}},
    {RP_OP_pow_int, 1, {D(2, 1, 3)}, {{.i = -2}}},
    {RP_OP_pow_int, 1, {S}, {{.i = -1}}},
    /* to the same type: rounding to another would hide a finite difference (test_gradients looks at those apart) */
    {RP_OP_cast, 1, {D(2, 3, 2)}, {{.i = RP_F64}}},
    {RP_OP_bitcast, 1, {D(2, 3, 2)}, {{.i = RP_I64}}},
    {RP_OP_bitcast, 1, {I32(1, 3)}, {{.i = RP_U32}}},
    {RP_OP_where, 3, {B(2, 2, 3), D(2, 2, 3), D(2, 2, 3)}, {{0}}},
    {RP_OP_where, 3, {B(2, 2, 3), D(1, 3), D(2, 2, 1)}, {{0}}},
    {RP_OP_where, 3, {B(1, 4), D(2, 3, 1), S}, {{0}}},
    {RP_OP_where, 3, {{RP_BOOL, 0, {0}}, D(1, 3), D(2, 2, 1)}, {{0}}},
    {RP_OP_dropout, 2, {D(2, 4, 3), RNG}, {{.r = 0.4}, {.i = 7}}},
    {RP_OP_dropout, 2, {S, RNG}, {{.r = 0}, {.i = 0}}},
    {RP_OP_reshape, 1, {D(2, 3, 4)}, {LIST(3, 2, 1, 6)}},
    {RP_OP_reshape, 1, {D(2, 1, 1)}, {LIST(0, 0)}},
    {RP_OP_reshape, 1, {S}, {LIST(2, 1, 1)}},
    {RP_OP_transpose, 1, {D(2, 3, 2)}, {LIST(2, 1, 0)}},
    {RP_OP_transpose, 1, {D(3, 2, 3, 2)}, {LIST(3, 2, 0, 1)}},
    {RP_OP_transpose, 1, {S}, {LIST(0, 0)}},
    {RP_OP_broadcast_to, 1, {D(1, 3)}, {LIST(2, 2, 3)}},
    {RP_OP_broadcast_to, 1, {D(2, 2, 1)}, {LIST(3, 3, 2, 2)}},
    {RP_OP_broadcast_to, 1, {S}, {LIST(2, 2, 2)}},
    {RP_OP_stop_gradient, 1, {D(2, 2, 3)}, {{0}}},
    {RP_OP_slice, 1, {D(2, 4, 3)}, {LIST(2, 1, 0), LIST(2, 3, 2)}},
    {RP_OP_slice, 1, {D(1, 5)}, {LIST(1, 2), LIST(1, 2)}},
    {RP_OP_slice, 1, {D(3, 2, 2, 2)}, {LIST(3, 0, 1, 0), LIST(3, 2, 2, 2)}},
    {RP_OP_fill, 0, {S}, {{.r = -0.25}, LIST(2, 2, 3), {.i = RP_F64}}},
    {RP_OP_fill, 0, {S}, {{.r = -3.75}, LIST(1, 2), {.i = RP_I64}}},
    {RP_OP_fill, 0, {S}, {{.r = 1}, LIST(0, 0), {.i = RP_BOOL}}},
    {RP_OP_iota, 0, {S}, {{.i = 5}, {.i = RP_I32}}},
    {RP_OP_concat, 3, {D(2, 2, 1), D(2, 2, 3), D(2, 2, 2)}, {{.i = 1}}},
    {RP_OP_concat, 1, {D(1, 3)}, {{.i = 0}}},
    {RP_OP_concat, 2, {D(3, 2, 2, 2), D(3, 1, 2, 2)}, {{.i = 0}}},
    {RP_OP_pad, 1, {D(2, 2, 3)}, {LIST(2, 1, 0), LIST(2, 0, 2)}},
    {RP_OP_pad, 1, {D(1, 4)}, {LIST(1, 2), LIST(1, 1)}},
    {RP_OP_pad, 1, {S}, {LIST(0, 0), LIST(0, 0)}},
    {RP_OP_gather, 2, {D(2, 4, 3), I64(2, 2, 3)}, {{.i = 0}}},
    {RP_OP_gather, 2, {D(3, 2, 3, 2), I32(1, 5)}, {{.i = 1}}},
    {RP_OP_gather, 2, {D(2, 2, 3), {RP_I64, 0, {0}}}, {{.i = 1}}},
    {RP_OP_scatter_add, 2, {D(2, 6, 2), I64(1, 6)}, {{.i = 0}, {.i = 4}}},
    {RP_OP_scatter_add, 2, {D(3, 2, 2, 3), I32(2, 2, 3)}, {{.i = 1}, {.i = 3}}},
    {RP_OP_scatter_add, 2, {D(1, 2), {RP_I64, 0, {0}}}, {{.i = 1}, {.i = 3}}},
    {RP_OP_one_hot, 1, {I64(1, 4)}, {{.i = 3}, {.i = RP_F64}}},
    {RP_OP_slice_step, 1, {D(2, 4, 5)}, {LIST(2, 3, 1), LIST(2, 2, 2), LIST(2, -2, 3)}},
    {RP_OP_slice_step, 1, {D(3, 2, 3, 2)}, {LIST(3, 0, 2, 1), LIST(3, 2, 3, 1), LIST(3, 1, -1, 9)}},
    {RP_OP_slice_step, 1, {D(1, 5)}, {LIST(1, 7), LIST(1, 0), LIST(1, -1)}},
    {RP_OP_slice_step, 1, {S}, {LIST(0, 0), LIST(0, 0), LIST(0, 0)}},
    {RP_OP_take_along, 2, {D(2, 4, 3), I64(2, 2, 3)}, {{.i = 0}}},
    {RP_OP_take_along, 2, {D(3, 2, 3, 2), I32(3, 2, 5, 2)}, {{.i = 1}}},
    {RP_OP_take_along, 2, {D(1, 3), I32(1, 0)}, {{.i = 0}}},
    {RP_OP_scatter_along, 3, {D(2, 3, 3), I64(2, 4, 3), D(2, 4, 3)}, {{.i = 0}, {.i = 0}}},
    {RP_OP_scatter_along, 3, {D(2, 2, 4), I32(2, 2, 3), D(2, 2, 3)}, {{.i = 1}, {.i = 1}}},
    {RP_OP_scatter_along, 3, {D(1, 3), I32(1, 5), D(1, 5)}, {{.i = 0}, {.i = 2}}},
    {RP_OP_scatter_along, 3, {D(3, 2, 3, 2), I64(3, 2, 5, 2), D(3, 2, 5, 2)}, {{.i = 1}, {.i = 3}}},
    {RP_OP_scatter_along, 3, {D(2, 2, 3), I64(2, 2, 4), D(2, 2, 4)}, {{.i = 1}, {.i = 4}}},
    {RP_OP_sort, 1, {D(2, 3, 4)}, {{.i = 0}}},
    {RP_OP_sort, 1, {D(1, 7)}, {{.i = 1}}},
    {RP_OP_topk, 1, {D(2, 3, 4)}, {{.i = 2}, {.i = 1}}},
    {RP_OP_topk, 1, {D(3, 2, 1, 5)}, {{.i = 3}, {.i = 0}}},
    {RP_OP_searchsorted, 2, {D(2, 2, 4), D(2, 2, 3)}, {{.i = 1}}},
    {RP_OP_searchsorted, 2, {D(1, 4), S}, {{.i = 0}}},
    {RP_OP_non_max, 3, {D(3, 1, 4, 4), D(3, 1, 2, 4), I64(3, 1, 2, 4)}, {{.i = 3}, {.r = 0.5}, {.r = 0}, {.i = 0}}},
    REDUCE_SAMPLES(sum),
    REDUCE_SAMPLES(mean),
    REDUCE_SAMPLES(max),
    {RP_OP_argmax, 1, {D(2, 3, 4)}, {{.i = 1}}},
    REDUCE_SAMPLES(min),
    {RP_OP_argmin, 1, {D(2, 3, 4)}, {{.i = 0}}},
    {RP_OP_fft, 2, {D(2, 3, 4), D(2, 3, 4)}, {{.i = 0}, {.i = 0}}},
    {RP_OP_fft, 2, {D(3, 2, 1, 8), D(3, 2, 1, 8)}, {{.i = 1}, {.i = 0}}},
    {RP_OP_fft, 2, {D(2, 2, 4), D(2, 2, 4)}, {{.i = 1}, {.i = 1}}},
    {RP_OP_fft, 2, {D(1, 2), D(1, 2)}, {{.i = 0}, {.i = 1}}},
    {RP_OP_cumsum, 1, {D(2, 3, 4)}, {{.i = 1}, {.i = 0}}},
    {RP_OP_cumsum, 1, {D(3, 2, 3, 2)}, {{.i = 0}, {.i = 1}}},
    {RP_OP_cumsum, 1, {D(1, 5)}, {{.i = 0}, {.i = 1}}},
    REDUCE_SAMPLES(prod),
    {RP_OP_cumprod, 1, {D(2, 3, 4)}, {{.i = 1}, {.i = 0}}},
    {RP_OP_cumprod, 1, {D(3, 2, 3, 2)}, {{.i = 0}, {.i = 1}}},
    {RP_OP_var, 1, {D(2, 3, 4)}, {LIST(1, 1), {.i = 1}}},
    {RP_OP_var, 1, {D(3, 2, 3, 2)}, {LIST(2, 0, 2), {.i = 2}}},
    {RP_OP_var, 1, {D(2, 3, 4)}, {LIST(2, 0, 1), {.i = 0}}},
    {RP_OP_var, 1, {D(1, 3)}, {LIST(0, 0), {.i = 0}}},
    REDUCE_SAMPLES(logsumexp),
    ROW_SAMPLES(softmax),
    SAME_SAMPLES(softmax_grad),
    ROW_SAMPLES(log_softmax),
    SAME_SAMPLES(log_softmax_grad),
    {RP_OP_layer_norm, 3, {D(2, 2, 5), D(1, 5), D(1, 5)}, {{.r = 0.1}}},
    {RP_OP_layer_norm, 3, {D(1, 4), D(1, 4), D(1, 4)}, {{.r = 0.1}}},
    {RP_OP_layer_norm, 3, {D(3, 2, 2, 3), D(1, 3), D(1, 3)}, {{.r = 0.01}}},
    {RP_OP_layer_norm, 3, {D(2, 3, 1), D(1, 1), D(1, 1)}, {{.r = 0.5}}},
    {RP_OP_layer_norm_grad, 3, {D(2, 2, 5), D(2, 2, 5), D(1, 5)}, {{.r = 0.1}}},
    {RP_OP_layer_norm_grad, 3, {D(1, 4), D(1, 4), D(1, 4)}, {{.r = 0.1}}},
    {RP_OP_layer_norm_grad, 3, {D(3, 2, 1, 3), D(3, 2, 1, 3), D(1, 3)}, {{.r = 0.01}}},
    {RP_OP_layer_norm_grad, 3, {D(2, 3, 1), D(2, 3, 1), D(1, 1)}, {{.r = 0.5}}},
    {RP_OP_layer_norm_backward, 3, {D(2, 2, 5), D(2, 2, 5), D(1, 5)}, {{.r = 0.1}}},
    {RP_OP_layer_norm_backward, 3, {D(1, 4), D(1, 4), D(1, 4)}, {{.r = 0.1}}},
    {RP_OP_layer_norm_backward, 3, {D(3, 2, 1, 3), D(3, 2, 1, 3), D(1, 3)}, {{.r = 0.01}}},
    {RP_OP_layer_norm_backward, 3, {D(2, 3, 1), D(2, 3, 1), D(1, 1)}, {{.r = 0.5}}},
    {RP_OP_rms_norm, 2, {D(2, 2, 5), D(1, 5)}, {{.r = 0.1}}},
    {RP_OP_rms_norm, 2, {D(1, 4), D(1, 4)}, {{.r = 0}}},
    {RP_OP_rms_norm, 2, {D(3, 2, 2, 3), D(1, 3)}, {{.r = 0.01}}},
    {RP_OP_rms_norm_grad, 3, {D(2, 2, 5), D(2, 2, 5), D(1, 5)}, {{.r = 0.1}}},
    {RP_OP_rms_norm_grad, 3, {D(1, 4), D(1, 4), D(1, 4)}, {{.r = 0.1}}},
    {RP_OP_rms_norm_grad, 3, {D(3, 2, 1, 3), D(3, 2, 1, 3), D(1, 3)}, {{.r = 0.01}}},
    {RP_OP_cross_entropy, 2, {D(2, 3, 4), I64(1, 3)}, {{0}}},
    {RP_OP_cross_entropy, 2, {D(2, 1, 2), I32(1, 1)}, {{0}}},
    {RP_OP_cross_entropy, 2, {D(2, 2, 1), I32(1, 2)}, {{0}}},
    {RP_OP_cross_entropy_grad, 3, {D(1, 3), D(2, 3, 4), I64(1, 3)}, {{0}}},
    {RP_OP_cross_entropy_grad, 3, {D(1, 1), D(2, 1, 3), I32(1, 1)}, {{0}}},
    {RP_OP_matmul, 2, {D(2, 2, 3), D(2, 3, 4)}, {{0}}},
    {RP_OP_matmul, 2, {D(2, 1, 1), D(2, 1, 1)}, {{0}}},
    {RP_OP_matmul, 2, {D(3, 2, 2, 3), D(2, 3, 2)}, {{0}}},
    {RP_OP_matmul, 2, {D(2, 2, 3), D(3, 2, 3, 1)}, {{0}}},
    {RP_OP_matmul, 2, {D(4, 2, 1, 2, 3), D(3, 2, 3, 2)}, {{0}}},
    {RP_OP_matmul, 2, {D(2, 2, 0), D(2, 0, 3)}, {{0}}},
/* plain; causal, with a divisor of the heads; a mask of bool and a window; an added mask, stretched, and dropout */
#define ATTENDING(scale, causal, window, rate, stream) \
    { \
        {.r = scale}, {.i = causal}, {.i = window}, {.r = rate}, \
        { \
            .i = stream \
        } \
    }
    {RP_OP_attention, 3, {D(2, 3, 2), D(2, 4, 2), D(2, 4, 3)}, ATTENDING(0.5, 0, 0, 0, 0)},
    {RP_OP_attention, 3, {D(3, 4, 3, 2), D(3, 2, 3, 2), D(3, 2, 3, 1)}, ATTENDING(0.7, 1, 0, 0, 0)},
    {RP_OP_attention, 4, {D(2, 4, 2), D(2, 4, 2), D(2, 4, 2), B(2, 4, 4)}, ATTENDING(-0.5, 0, 2, 0, 0)},
    {RP_OP_attention,
     5,
     {D(4, 1, 2, 2, 2), D(4, 1, 2, 3, 2), D(4, 1, 2, 3, 2), D(2, 1, 3), RNG},
     ATTENDING(0.5, 1, 2, 0.25, 3)},
    {RP_OP_attention_grad, 4, {D(2, 3, 3), D(2, 3, 2), D(2, 4, 2), D(2, 4, 3)}, ATTENDING(0.5, 0, 0, 0, 0)},
    {RP_OP_attention_grad, 4, {D(3, 2, 2, 1), D(3, 2, 2, 2), D(3, 1, 3, 2), D(3, 1, 3, 1)}, ATTENDING(0.7, 1, 0, 0, 0)},
    {RP_OP_attention_grad,
     6,
     {D(2, 3, 2), D(2, 3, 2), D(2, 3, 2), D(2, 3, 2), D(2, 3, 1), RNG},
     ATTENDING(0.5, 0, 2, 0.25, 1)},
#undef ATTENDING
    {RP_OP_cholesky, 1, {D(2, 3, 3)}, {{.r = 0.25}}},
    {RP_OP_triangular_solve, 2, {D(2, 3, 3), D(2, 3, 2)}, {{.i = 1}, {.i = 0}}},
    {RP_OP_uniform, 1, {RNG}, {{.r = -1}, {.r = 0.1}, {.i = 4294967295}, LIST(2, 2, 2), {.i = RP_F32}}},
    {RP_OP_normal, 1, {RNG}, {{.r = 0}, {.r = 2}, {.i = 3}, LIST(1, 3), {.i = RP_F64}}},
    {RP_OP_sgd, 4, {D(1, 3), D(1, 3), D(1, 3), S}, {{.r = 0.9}, {.i = 1}, {.r = 0.01}}},
    {RP_OP_adam, 7, {D(1, 3), D(1, 3), D(1, 3), D(1, 3), S, S, S}, {{.r = 0.9}, {.r = 0.999}, {.r = 1e-8}, {.r = 0.1}}},
    {RP_OP_adamw,
     7,
     {D(1, 3), D(1, 3), D(1, 3), D(1, 3), S, S, S},
     {{.r = 0.9}, {.r = 0.999}, {.r = 1e-8}, {.r = 0.1}}},
    {RP_OP_rmsprop, 5, {D(1, 3), D(1, 3), D(1, 3), D(1, 3), S}, {{.r = 0.99}, {.r = 1e-8}, {.r = 0.9}, {.r = 0}}},
    {RP_OP_lion, 4, {D(1, 3), D(1, 3), D(1, 3), S}, {{.r = 0.9}, {.r = 0.99}, {.r = 0.01}}},
    {RP_OP_adagrad, 4, {D(1, 3), D(1, 3), D(1, 3), S}, {{.r = 1e-10}, {.r = 0.01}}},
    /* plain; strided and padded unevenly with a remainder; dilated groups; a row; depthwise; one tap; no image */
    {RP_OP_conv2d, 2, {D(4, 1, 3, 3, 2), D(4, 2, 2, 2, 3)}, {PLACE(1, 1, 0, 0, 0, 0, 1, 1), {.i = 1}}},
    {RP_OP_conv2d, 2, {D(4, 2, 4, 3, 1), D(4, 3, 2, 1, 2)}, {PLACE(2, 3, 1, 0, 2, 1, 1, 1), {.i = 1}}},
    {RP_OP_conv2d, 2, {D(4, 1, 3, 4, 4), D(4, 2, 2, 2, 2)}, {PLACE(1, 2, 1, 1, 0, 2, 2, 3), {.i = 2}}},
    {RP_OP_conv2d, 2, {D(4, 2, 1, 5, 2), D(4, 1, 3, 2, 2)}, {PLACE(1, 1, 0, 1, 0, 1, 1, 1), {.i = 1}}},
    {RP_OP_conv2d, 2, {D(4, 1, 3, 3, 3), D(4, 2, 2, 1, 3)}, {PLACE(1, 1, 0, 0, 1, 1, 1, 1), {.i = 3}}},
    {RP_OP_conv2d, 2, {D(4, 2, 2, 2, 3), D(4, 1, 1, 3, 2)}, {PLACE(1, 1, 0, 0, 0, 0, 1, 1), {.i = 1}}},
    {RP_OP_conv2d, 2, {D(4, 0, 2, 2, 1), D(4, 1, 2, 1, 2)}, {PLACE(1, 1, 0, 0, 0, 0, 1, 1), {.i = 1}}},
    {RP_OP_conv2d_grad_input,
     2,
     {D(4, 1, 2, 2, 3), D(4, 2, 2, 2, 3)},
     {PLACE(1, 1, 0, 0, 0, 0, 1, 1), {.i = 1}, LIST(2, 3, 3)}},
    {RP_OP_conv2d_grad_input,
     2,
     {D(4, 2, 3, 1, 2), D(4, 3, 2, 1, 2)},
     {PLACE(2, 3, 1, 0, 2, 1, 1, 1), {.i = 1}, LIST(2, 4, 3)}},
    {RP_OP_conv2d_grad_input,
     2,
     {D(4, 1, 2, 2, 2), D(4, 2, 2, 2, 2)},
     {PLACE(1, 2, 1, 1, 0, 2, 2, 3), {.i = 2}, LIST(2, 3, 4)}},
    {RP_OP_conv2d_grad_weight,
     2,
     {D(4, 1, 3, 3, 2), D(4, 1, 2, 2, 3)},
     {PLACE(1, 1, 0, 0, 0, 0, 1, 1), {.i = 1}, LIST(2, 2, 2)}},
    {RP_OP_conv2d_grad_weight,
     2,
     {D(4, 2, 4, 3, 1), D(4, 2, 3, 1, 2)},
     {PLACE(2, 3, 1, 0, 2, 1, 1, 1), {.i = 1}, LIST(2, 3, 2)}},
    {RP_OP_conv2d_grad_weight,
     2,
     {D(4, 1, 3, 4, 4), D(4, 1, 2, 2, 2)},
     {PLACE(1, 2, 1, 1, 0, 2, 2, 3), {.i = 2}, LIST(2, 2, 2)}},
    {RP_OP_conv2d_grad_weight,
     2,
     {D(4, 1, 2, 2, 2), D(4, 1, 2, 2, 2)},
     {PLACE(1, 1, 0, 0, 0, 0, 1, 1), {.i = 1}, LIST(2, 1, 1)}},
    POOL_SAMPLES(max_pool),
    POOL_SAMPLES(avg_pool),
    {RP_OP_max_pool_grad, 2, {D(4, 1, 2, 2, 2), D(4, 1, 4, 4, 2)}, {PLACE(2, 2, 0, 0, 0, 0, 1, 1), LIST(2, 2, 2)}},
    {RP_OP_max_pool_grad, 2, {D(4, 2, 4, 2, 1), D(4, 2, 4, 3, 1)}, {PLACE(1, 2, 1, 0, 1, 1, 1, 1), LIST(2, 3, 2)}},
    {RP_OP_max_pool_grad, 2, {D(4, 1, 2, 3, 2), D(4, 1, 3, 5, 2)}, {PLACE(2, 1, 1, 0, 1, 1, 2, 3), LIST(2, 2, 2)}},
    {RP_OP_max_pool_grad, 2, {D(4, 1, 2, 2, 1), D(4, 1, 2, 2, 1)}, {PLACE(1, 1, 0, 0, 0, 0, 1, 1), LIST(2, 1, 1)}},
    {RP_OP_avg_pool_grad, 1, {D(4, 1, 2, 2, 2)}, {PLACE(2, 2, 0, 0, 0, 0, 1, 1), LIST(2, 2, 2), LIST(2, 4, 4)}},
    {RP_OP_avg_pool_grad, 1, {D(4, 2, 4, 2, 1)}, {PLACE(1, 2, 1, 0, 1, 1, 1, 1), LIST(2, 3, 2), LIST(2, 4, 3)}},
    {RP_OP_avg_pool_grad, 1, {D(4, 1, 2, 3, 2)}, {PLACE(2, 1, 1, 0, 1, 1, 2, 3), LIST(2, 2, 2), LIST(2, 3, 5)}},
    {RP_OP_batch_norm, 5, {D(2, 3, 2), D(1, 2), D(1, 2), D(1, 2), D(1, 2)}, {{.r = 0.1}}},
    {RP_OP_batch_norm, 5, {D(4, 2, 2, 1, 3), D(1, 3), D(1, 3), D(1, 3), D(1, 3)}, {{.r = 0.01}}},
    {RP_OP_batch_norm, 5, {D(1, 3), D(1, 3), D(1, 3), D(1, 3), D(1, 3)}, {{.r = 0.1}}},
    {RP_OP_batch_norm, 5, {D(2, 3, 1), D(1, 1), D(1, 1), D(1, 1), D(1, 1)}, {{.r = 0}}},
    {RP_OP_batch_norm_train, 3, {D(2, 4, 2), D(1, 2), D(1, 2)}, {{.r = 0.1}}},
    {RP_OP_batch_norm_train, 3, {D(4, 2, 2, 2, 3), D(1, 3), D(1, 3)}, {{.r = 0.01}}},
    {RP_OP_batch_norm_train, 3, {D(1, 2), D(1, 2), D(1, 2)}, {{.r = 0.1}}},
    {RP_OP_batch_norm_grad, 5, {D(2, 4, 2), D(2, 4, 2), D(1, 2), D(1, 2), D(1, 2)}, {{.r = 0.1}}},
    {RP_OP_batch_norm_grad, 5, {D(4, 2, 1, 2, 3), D(4, 2, 1, 2, 3), D(1, 3), D(1, 3), D(1, 3)}, {{.r = 0.01}}},
    {RP_OP_batch_norm_grad, 5, {D(1, 2), D(1, 2), D(1, 2), D(1, 2), D(1, 2)}, {{.r = 0.1}}},
#define RESIZE(axis, size, mode, coordinates, rounding) \
    { \
        {.i = axis}, {.i = size}, {.i = mode}, {.i = coordinates}, \
        { \
            .i = rounding \
        } \
    }
    {RP_OP_resize, 1, {D(3, 2, 3, 2)}, RESIZE(1, 5, 0, 0, 2)},
    {RP_OP_resize, 1, {D(3, 2, 3, 2)}, RESIZE(0, 5, 1, 0, 0)},
    {RP_OP_resize, 1, {D(2, 3, 5)}, RESIZE(1, 3, 2, 0, 0)},
    {RP_OP_resize, 1, {D(3, 1, 4, 4)}, RESIZE(1, 7, 2, 1, 0)},
    {RP_OP_resize, 1, {D(1, 6)}, RESIZE(0, 4, 1, 2, 0)},
    {RP_OP_resize, 1, {D(2, 2, 3)}, RESIZE(1, 1, 1, 1, 0)},
    {RP_OP_resize_grad, 1, {D(3, 2, 5, 2)}, RESIZE(1, 3, 0, 2, 0)},
    {RP_OP_resize_grad, 1, {D(3, 2, 5, 4)}, RESIZE(1, 3, 1, 0, 0)},
    {RP_OP_resize_grad, 1, {D(2, 3, 3)}, RESIZE(1, 5, 2, 1, 0)},
#undef RESIZE
    {RP_OP_group_norm, 3, {D(3, 2, 3, 4), D(1, 4), D(1, 4)}, {{.r = 0.1}, {.i = 2}}},
    {RP_OP_group_norm, 3, {D(4, 2, 2, 2, 3), D(1, 3), D(1, 3)}, {{.r = 0.01}, {.i = 3}}},
    {RP_OP_group_norm, 3, {D(2, 2, 4), D(1, 4), D(1, 4)}, {{.r = 0.1}, {.i = 1}}},
    {RP_OP_group_norm_grad, 5, {D(3, 2, 3, 4), D(3, 2, 3, 4), D(1, 4), D(2, 2, 2), D(2, 2, 2)}, {{.r = 0.1}, {.i = 2}}},
    {RP_OP_group_norm_grad,
     5,
     {D(4, 2, 1, 2, 3), D(4, 2, 1, 2, 3), D(1, 3), D(2, 2, 3), D(2, 2, 3)},
     {{.r = 0.1}, {.i = 3}}},
    {RP_OP_group_norm_grad, 5, {D(2, 2, 4), D(2, 2, 4), D(1, 4), D(2, 2, 1), D(2, 2, 1)}, {{.r = 0.1}, {.i = 1}}},
    {RP_OP_conv2d_winograd, 2, {D(4, 1, 3, 3, 2), D(4, 3, 3, 2, 3)}, {PLACE(1, 1, 1, 1, 1, 1, 1, 1), {.i = 1}}},
    {RP_OP_conv2d_winograd, 2, {D(4, 2, 5, 4, 1), D(4, 3, 3, 1, 2)}, {PLACE(1, 1, 2, 0, 1, 2, 1, 1), {.i = 1}}},
};

#undef D
#undef S
#undef I32
#undef I64
#undef B
#undef RNG
#undef LIST

enum { OP_SAMPLES = sizeof op_samples / sizeof *op_samples };

static inline bool op_has_sample(rp_op_id op)
{
    for (size_t i = 0; i < OP_SAMPLES; i++)
        if (op_samples[i].op == op)
            return true;
    return false;
}

/* Where an elementwise row wants its samples. */
typedef enum sample_domain {
    DOMAIN_ANY,
    DOMAIN_POSITIVE,
    DOMAIN_HALF,
    DOMAIN_ABOVE,
    DOMAIN_BASE,
    DOMAIN_BETWEEN
} sample_domain;
static const sample_domain sample_domains[RP_OP_COUNT] = {
#define MAP1(name, cost, way, domain, ...) [RP_OP_##name] = DOMAIN_##domain,
#define MAP1P MAP1
#define MAP1Q MAP1
#define MAP2 MAP1
#include "kernels/operations.def"
};

/* Element k of real operand `input`: all magnitudes of a sample differ by at least 0.01, lie in [0.3, 1.7], and take
 * both signs where the operation lets them (half of that for arcs and the tangent). */
static inline double sample_real(const op_sample *s, size_t input, size_t k)
{
    static int64_t order[140]; /* a fixed permutation: position -> grid point */
    size_t at = k;

    if (order[0] == order[1])
        rp_permutation(order, 140, 1, 0, 0);
    for (size_t i = 0; i < input; i++)
        if (s->in[i].dtype == RP_F64)
            at += rp_type_count(&s->in[i]);

    double value = 0.3 + 0.01 * (double)order[at % 140];
    sample_domain domain = sample_domains[s->op];
    bool narrow = domain == DOMAIN_HALF;
    bool positive = domain == DOMAIN_POSITIVE || (domain == DOMAIN_BASE && input == 0) ||
                    (s->op == RP_OP_batch_norm && input == 4) || (s->op == RP_OP_batch_norm_grad && input == 4) ||
                    (s->op == RP_OP_group_norm_grad && input == 4) ||
                    rp_op_get(s->op)->infer == infer_optimizer; /* second moments and corrections are */

    if (narrow)
        value /= 2;
    if (domain == DOMAIN_BETWEEN)
        value += 0.005;
    if (positive || rp_random_u32(2, 0, 0, at) & 1)
        return value;
    return domain == DOMAIN_ABOVE ? -value / 2 : -value;
}

/* Fills operand `input`: reals as above, indices in range, conditions of both kinds, and {5, 3} for a generator. */
static inline void sample_fill(const op_sample *s, size_t input, void *data)
{
    const rp_op *op = rp_op_get(s->op);
    const rp_type *type = &s->in[input];
    size_t bound = op->flags & RP_OP_INDEXED ? rp_op_index_bound(op, s->attr, s->in) : 0;

    for (size_t i = 0; i < rp_type_count(type); i++) {
        int64_t integer = bound ? (int64_t)((5 * i + 1) % bound) : i ? 3 : 5;

        if (type->dtype == RP_F64)
            ((double *)data)[i] = sample_real(s, input, i);
        else if (type->dtype == RP_I64)
            ((int64_t *)data)[i] = integer;
        else if (type->dtype == RP_I32)
            ((int32_t *)data)[i] = (int32_t)integer;
        else
            ((unsigned char *)data)[i] = i % 3 != 0;
    }
}

#endif
