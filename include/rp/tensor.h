/* SPDX-License-Identifier: Apache-2.0
 * Tensors and operations.
 *
 * An rp_tensor is a small handle, passed by value, to a value of the graph it was made in; it needs no freeing and
 * lives until the step ends (rp/run.h) or the graph is freed. Every operation appends one instruction to the graph; in
 * a run's eager step it is executed at once. Errors are sticky: after a wrong shape the graph remembers the first
 * error, later operations do nothing, and rp_step_end (or rp_graph_status) reports it. So models read like formulas.
 *
 * C leaves the order in which a call's arguments are evaluated open: rp_add(rp_exp(a), rp_log(a)) may append exp first
 * or log first. Both programs compute the same bits, but they are two programs; name one operand first where an
 * archive's id must not depend on the compiler.
 *
 * Shapes broadcast as in NumPy: aligned at the right, length 1 stretches. Both operands have the same dtype; there is
 * no implicit conversion. Axes count from 0, negative ones from the end. Numeric definitions: determinism/CONTRACT.md.
 */
#ifndef RP_TENSOR_H
#define RP_TENSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "rp/dtype.h"

typedef struct rp_graph rp_graph;

typedef struct rp_tensor {
    rp_graph *graph; /* NULL: no tensor */
    uint32_t value;
    uint32_t epoch; /* which step made it: using it after that step is an error */
} rp_tensor;

/* The static description of a handle; false for an invalid one. shape has room for RP_MAX_RANK. */
RP_API bool rp_shape_of(rp_tensor x, rp_dtype *dtype, int *rank, size_t *shape);
/* The caller uses x no more in this step, so that an eager step may use its memory for other values: at once, or, where
 * gradients may pass through x, when the step's first rp_gradients has passed it. Nothing else changes: not a bit, not
 * the program, and a value that is read nevertheless, by a further rp_gradients or by the caller, is computed again.
 * What is a state's new value or a result stays. A symbolic graph, no tensor and a tensor of an earlier step are fine.
 */
RP_API void rp_tensor_release(rp_tensor x);
/* RP_OK, or the first error of the graph. */
RP_API rp_status rp_graph_status(const rp_graph *graph, rp_error *err);

/* Shows x whenever it is computed: in an eager step at once, in compiled ones when the step is complete, on stderr or
 * where the run's options say (rp/run.h): name, step, type, how many elements are what, range, mean, deviation, the
 * first elements. Nothing else changes: not a bit, not the program's text, no id. name, of which 95 bytes count in a
 * compiled step, is the caller's. A value inside a function is returned and printed outside. */
RP_API void rp_print(rp_tensor x, const char *name);

/* Where the caller stands. Each call that builds a program is followed by a note of its file, line and name, which goes
 * into the graph's error when that call was the first to fail: "model.c:12: rp_linear: matmul: ...". The macros at the
 * end of this header do it; the calls stay functions, whose addresses can be taken, and -DRP_NO_SITES leaves the notes
 * out. rp_sited returns x. */
RP_API void rp_site(const char *file, int line, const char *call);
RP_API rp_tensor rp_sited(rp_tensor x, const char *file, int line, const char *call);
#define RP_SITED(call, ...) rp_sited(call(__VA_ARGS__), __FILE__, __LINE__, #call)
#define RP_SITE(call, ...) (call(__VA_ARGS__), rp_site(__FILE__, __LINE__, #call))

/* Constants. */
RP_API rp_tensor rp_fill(rp_graph *g, rp_dtype dtype, int rank, const size_t *shape, double value);
RP_API rp_tensor rp_iota(rp_graph *g, rp_dtype dtype, size_t n); /* 0, 1, ... n-1 */

/* Elementwise, one operand (CONTRACT 3, 5, 7). */
RP_API rp_tensor rp_neg(rp_tensor x);
RP_API rp_tensor rp_exp(rp_tensor x);
RP_API rp_tensor rp_log(rp_tensor x);
RP_API rp_tensor rp_log1p(rp_tensor x);
RP_API rp_tensor rp_sqrt(rp_tensor x);
RP_API rp_tensor rp_tanh(rp_tensor x);
RP_API rp_tensor rp_sigmoid(rp_tensor x);
RP_API rp_tensor rp_erf(rp_tensor x);
RP_API rp_tensor rp_relu(rp_tensor x);
RP_API rp_tensor rp_gelu(rp_tensor x); /* x/2 (1 + erf(x/sqrt 2)) */
RP_API rp_tensor rp_abs(rp_tensor x);  /* the gradient at 0 is 0 */
RP_API rp_tensor rp_pow_int(rp_tensor x, int64_t exponent);
RP_API rp_tensor rp_expm1(rp_tensor x); /* e^x - 1 */
RP_API rp_tensor rp_exp2(rp_tensor x);
RP_API rp_tensor rp_log2(rp_tensor x);
RP_API rp_tensor rp_log10(rp_tensor x);
RP_API rp_tensor rp_sin(rp_tensor x); /* radians */
RP_API rp_tensor rp_cos(rp_tensor x);
RP_API rp_tensor rp_tan(rp_tensor x);
RP_API rp_tensor rp_sinh(rp_tensor x);
RP_API rp_tensor rp_cosh(rp_tensor x);
RP_API rp_tensor rp_asin(rp_tensor x); /* NaN outside -1 .. 1, acos too */
RP_API rp_tensor rp_acos(rp_tensor x);
RP_API rp_tensor rp_atan(rp_tensor x);
RP_API rp_tensor rp_erfc(rp_tensor x);    /* 1 - erf(x) */
RP_API rp_tensor rp_erf_inv(rp_tensor x); /* erf of it is x; beyond -1 .. 1 NaN */
RP_API rp_tensor rp_rsqrt(rp_tensor x);   /* 1 / sqrt(x) */
RP_API rp_tensor rp_cbrt(rp_tensor x);    /* cube root, of negative numbers too */
RP_API rp_tensor rp_silu(rp_tensor x);    /* x sigmoid(x) */
/* log(1 + exp(beta x)) / beta, and x itself where beta x is over the threshold. */
RP_API rp_tensor rp_softplus(rp_tensor x, double beta, double threshold);
RP_API rp_tensor rp_leaky_relu(rp_tensor x, double negative_slope);        /* x, times the slope where x <= 0 */
RP_API rp_tensor rp_elu(rp_tensor x, double alpha);                        /* x, or alpha (e^x - 1) where x <= 0 */
RP_API rp_tensor rp_hardtanh(rp_tensor x, double min_val, double max_val); /* x between the two values */
RP_API rp_tensor rp_sign(rp_tensor x);                                     /* -1, 1, or a zero as it is */
RP_API rp_tensor rp_floor(rp_tensor x);
RP_API rp_tensor rp_ceil(rp_tensor x);
RP_API rp_tensor rp_round(rp_tensor x); /* to the nearest whole number, of two the even one */
RP_API rp_tensor rp_trunc(rp_tensor x); /* toward 0 */
RP_API rp_tensor rp_cast(rp_tensor x, rp_dtype dtype);
/* The bits of x, as stored, read as another type of the same width, bool excepted. No gradient passes. */
RP_API rp_tensor rp_bitcast(rp_tensor x, rp_dtype dtype);
RP_API rp_tensor rp_logical_not(rp_tensor x);

/* Elementwise, two operands, broadcasting. Comparisons give bool. */
RP_API rp_tensor rp_add(rp_tensor a, rp_tensor b);
RP_API rp_tensor rp_sub(rp_tensor a, rp_tensor b);
RP_API rp_tensor rp_mul(rp_tensor a, rp_tensor b);
RP_API rp_tensor rp_div(rp_tensor a, rp_tensor b);
RP_API rp_tensor rp_maximum(rp_tensor a, rp_tensor b);
RP_API rp_tensor rp_minimum(rp_tensor a, rp_tensor b);
RP_API rp_tensor rp_eq(rp_tensor a, rp_tensor b);
RP_API rp_tensor rp_ne(rp_tensor a, rp_tensor b);
RP_API rp_tensor rp_lt(rp_tensor a, rp_tensor b);
RP_API rp_tensor rp_le(rp_tensor a, rp_tensor b);
RP_API rp_tensor rp_gt(rp_tensor a, rp_tensor b);
RP_API rp_tensor rp_ge(rp_tensor a, rp_tensor b);
RP_API rp_tensor rp_logical_and(rp_tensor a, rp_tensor b);
RP_API rp_tensor rp_logical_or(rp_tensor a, rp_tensor b);
RP_API rp_tensor rp_logical_xor(rp_tensor a, rp_tensor b);
RP_API rp_tensor rp_pow(rp_tensor x, rp_tensor y);   /* x^y, CONTRACT 5.15; the gradient by y is a NaN below x = 0 */
RP_API rp_tensor rp_atan2(rp_tensor y, rp_tensor x); /* the angle of (x, y), between -pi and pi */
RP_API rp_tensor rp_hypot(rp_tensor x, rp_tensor y); /* sqrt(x^2 + y^2) without overflow on the way */
RP_API rp_tensor rp_bce_logits(rp_tensor logits, rp_tensor target); /* rp_bce_with_logits before its mean */
/* What is left of a when whole multiples of b are taken off, with the sign of a, and with that of b; of reals exact. */
RP_API rp_tensor rp_fmod(rp_tensor a, rp_tensor b);
RP_API rp_tensor rp_remainder(rp_tensor a, rp_tensor b);
/* Of integers: the quotient rounded toward 0, and down. By 0 it is 0 (and what is left a); the least number by -1 is
 * itself. */
RP_API rp_tensor rp_div_trunc(rp_tensor a, rp_tensor b);
RP_API rp_tensor rp_div_floor(rp_tensor a, rp_tensor b);
RP_API rp_tensor rp_bitwise_and(rp_tensor a, rp_tensor b);
RP_API rp_tensor rp_bitwise_or(rp_tensor a, rp_tensor b);
RP_API rp_tensor rp_bitwise_xor(rp_tensor a, rp_tensor b);
/* By b bits; to the right the sign comes in. A count that is not from 0 to the type's bits less 1 shifts all out. */
RP_API rp_tensor rp_shift_left(rp_tensor a, rp_tensor b);
RP_API rp_tensor rp_shift_right(rp_tensor a, rp_tensor b);
RP_API rp_tensor rp_where(rp_tensor condition, rp_tensor a, rp_tensor b);
/* With a constant of x's dtype: x + c, x * c. */
RP_API rp_tensor rp_add_scalar(rp_tensor x, double c);
RP_API rp_tensor rp_scale(rp_tensor x, double c);

/* Moving data. */
RP_API rp_tensor rp_reshape(rp_tensor x, int rank, const size_t *shape); /* row-major order is kept */
RP_API rp_tensor rp_transpose(rp_tensor x, const int *permutation); /* rank entries; NULL reverses the last two axes */
RP_API rp_tensor rp_broadcast_to(rp_tensor x, int rank, const size_t *shape);
RP_API rp_tensor rp_slice(rp_tensor x, const size_t *begin, const size_t *end);  /* rank entries each */
RP_API rp_tensor rp_pad(rp_tensor x, const size_t *before, const size_t *after); /* zeros */
RP_API rp_tensor rp_concat(const rp_tensor *x, size_t n, int axis);
/* out[.., index.., ..] = x[.., index[..], ..]; an index out of range is an error of the step. */
RP_API rp_tensor rp_gather(rp_tensor x, rp_tensor index, int axis);
/* The gradient of gather: g's entries added into zeros of length size, in ascending order of their position. */
RP_API rp_tensor rp_scatter_add(rp_tensor g, rp_tensor index, int axis, size_t size);
RP_API rp_tensor rp_embedding(rp_tensor table, rp_tensor index); /* gather along axis 0 */
/* 1 where a new last axis of length depth counts the index, else 0, of any dtype: f32 or f64, or f32 and a cast. */
RP_API rp_tensor rp_one_hot(rp_tensor index, size_t depth, rp_dtype dtype);

/* Reductions over n axes (n = 0: all); keep: leave reduced axes with length 1. */
RP_API rp_tensor rp_sum(rp_tensor x, const int *axes, int n, bool keep);
RP_API rp_tensor rp_mean(rp_tensor x, const int *axes, int n, bool keep);
RP_API rp_tensor rp_max(rp_tensor x, const int *axes, int n, bool keep);
RP_API rp_tensor rp_argmax(rp_tensor x, int axis, bool keep); /* i64; the first maximum */
RP_API rp_tensor rp_min(rp_tensor x, const int *axes, int n, bool keep);
RP_API rp_tensor rp_prod(rp_tensor x, const int *axes, int n, bool keep); /* has gradients where elements are 0 */
RP_API rp_tensor rp_argmin(rp_tensor x, int axis, bool keep);             /* i64; the first minimum */
/* Running sums along an axis, each the one before it plus an element; reverse: from the end. x's type, of integers too.
 */
RP_API rp_tensor rp_cumsum(rp_tensor x, int axis, bool reverse);
RP_API rp_tensor rp_cumprod(rp_tensor x, int axis, bool reverse); /* running products */
/* Squared deviations from the mean, added, over n - correction: of n elements, 1 for a sample's variance, 0 for all's.
 */
RP_API rp_tensor rp_var(rp_tensor x, const int *axes, int n, int64_t correction, bool keep);
RP_API rp_tensor rp_logsumexp(rp_tensor x, const int *axes, int n, bool keep); /* log(sum(exp(x))), without overflow */

/* Along the last axis. */
RP_API rp_tensor rp_softmax(rp_tensor x);
RP_API rp_tensor rp_log_softmax(rp_tensor x);
RP_API rp_tensor rp_layer_norm(rp_tensor x, rp_tensor gamma, rp_tensor beta, double eps);
RP_API rp_tensor rp_rms_norm(rp_tensor x, rp_tensor gamma, double eps); /* x / sqrt(mean(x^2) + eps) * gamma */

/* [.., m, k] x [.., k, n] -> [.., m, n]; leading axes broadcast. Transpose operands with rp_transpose: it costs
 * nothing. */
RP_API rp_tensor rp_matmul(rp_tensor a, rp_tensor b);
/* softmax(scale q k' + mask) v without the square of scores in memory: q [.., h, m, d], k [.., h / groups, n, d],
 * v [.., h / groups, n, e] -> [.., h, m, e]; each head of k and v serves as many heads of q in a row. options: NULL for
 * none. Its bits are those of the same written with rp_matmul, rp_scale, rp_softmax and rp_matmul (CONTRACT 7.13). */
typedef struct rp_attention_options {
    double scale;   /* 0: 1 / sqrt(d) */
    bool causal;    /* query i sees keys 0 to i */
    size_t window;  /* query i sees keys within window - 1 places of it; 0: all */
    rp_tensor mask; /* stretches to [.., h, m, n]: bool, where it may be seen, or of q's dtype, added */
    double rate;    /* dropout of the weights, by rng and stream as rp_dropout has them */
    rp_tensor rng;
    int64_t stream;
} rp_attention_options;
RP_API rp_tensor rp_attention(rp_tensor q, rp_tensor k, rp_tensor v, const rp_attention_options *options);
/* The lower factor l of a symmetric a [n, n], l l' = a, of which only the lower triangle is read (CONTRACT 4.7). A
 * column of which no more than tolerance (0 <= tolerance < 1) times its diagonal is left, when those before it are
 * taken out, is left out: its diagonal is +inf, what is below it 0, and what a system gives for it 0. No gradient
 * passes. */
RP_API rp_tensor rp_cholesky(rp_tensor a, double tolerance);
/* x [n, m] of a x = b, or of a' x = b: a [n, n] is the triangle below or above the diagonal, with it; what lies on the
 * other side is not read. No gradient passes. */
RP_API rp_tensor rp_triangular_solve(rp_tensor a, rp_tensor b, bool upper, bool transposed);
/* x [.., in] w [in, out] b [out] (b.graph NULL: none). */
RP_API rp_tensor rp_linear(rp_tensor x, rp_tensor w, rp_tensor b);

/* Losses. Means are over all elements (mse, bce) or rows (cross entropy). A target stretches to the prediction's shape,
 * else RP_ESHAPE; labels: i32 or i64 [rows]. More of them: rp/loss.h. */
RP_API rp_tensor rp_mse(rp_tensor prediction, rp_tensor target);
RP_API rp_tensor rp_bce_with_logits(rp_tensor logits, rp_tensor target);
RP_API rp_tensor rp_cross_entropy(rp_tensor logits, rp_tensor labels);

/* Randomness: rng is an i64 [2] tensor {seed, step}, or [3] with an offset that is added to the stream; stream tells
 * draws of one step apart (CONTRACT 6). */
RP_API rp_tensor rp_dropout(rp_tensor x, double rate, rp_tensor rng, int64_t stream);
RP_API rp_tensor rp_uniform(rp_tensor rng, int64_t stream, rp_dtype dtype, int rank, const size_t *shape, double low,
                            double high);
RP_API rp_tensor rp_normal(rp_tensor rng, int64_t stream, rp_dtype dtype, int rank, const size_t *shape, double mean,
                           double deviation);

/* Gradients of the scalar y (one element, f32 or f64) with respect to n tensors: appends gradient instructions, so the
 * gradients are tensors like any others and can be differentiated again. A tensor that y does not depend on, or only
 * through what no gradient passes (rp_stop_gradient), is RP_EARG: an absent gradient of CONTRACT 11.3, step 4. */
RP_API void rp_gradients(rp_tensor y, const rp_tensor *wrt, size_t n, rp_tensor *grad);
/* sum over i of seed[i] . d y[i] / d wrt[j]: seeds have the shapes of the y. */
RP_API void rp_vjp(const rp_tensor *y, const rp_tensor *seed, size_t n_y, const rp_tensor *wrt, size_t n,
                   rp_tensor *grad);
/* The same, with zeros where the gradient is absent; where none is, the same instructions. */
RP_API void rp_gradients_or_zeros(rp_tensor y, const rp_tensor *wrt, size_t n, rp_tensor *grad);
RP_API void rp_vjp_or_zeros(const rp_tensor *y, const rp_tensor *seed, size_t n_y, const rp_tensor *wrt, size_t n,
                            rp_tensor *grad);

/* Mixed precision (CONTRACT 11.8): the same gradients, but what they read of the forward pass waits for them as bf16:
 * half the memory of activations. Arithmetic, sums and gradients are binary32; values below y change no bit. */
RP_API void rp_gradients_mixed(rp_tensor y, const rp_tensor *wrt, size_t n, rp_tensor *grad);
RP_API void rp_gradients_mixed_or_zeros(rp_tensor y, const rp_tensor *wrt, size_t n, rp_tensor *grad);

/* x itself, which no gradient passes: a detached value. */
RP_API rp_tensor rp_stop_gradient(rp_tensor x);

/* Optimizer steps (CONTRACT 8): return the new parameter and replace the moments, which are there also where the
 * numbers leave them unused (RP_EARG for NULL). lr, c1 = 1 - beta1^t and
 * c2 = 1 - beta2^t are rank-0 tensors of the parameter's dtype. */
RP_API rp_tensor rp_sgd(rp_tensor p, rp_tensor *m, rp_tensor g, rp_tensor lr, double momentum, bool nesterov,
                        double weight_decay);
/* Each is what it says: a beta of 0 is 0. */
typedef struct rp_adam_options {
    double beta1, beta2, eps, weight_decay;
    bool decoupled; /* the decay is of the parameter, not of the gradient: AdamW */
} rp_adam_options;
/* options NULL: 0.9, 0.999, 1e-8 and no decay. */
RP_API rp_tensor rp_adam(rp_tensor p, rp_tensor *m, rp_tensor *v, rp_tensor g, rp_tensor lr, rp_tensor c1, rp_tensor c2,
                         const rp_adam_options *options);
RP_API rp_tensor rp_rmsprop(rp_tensor p, rp_tensor *v, rp_tensor *m, rp_tensor g, rp_tensor lr, double alpha,
                            double eps, double momentum, double weight_decay);
/* m: a momentum; its sign gives the step (Chen and others 2023). The decay is decoupled. */
RP_API rp_tensor rp_lion(rp_tensor p, rp_tensor *m, rp_tensor g, rp_tensor lr, double beta1, double beta2,
                         double weight_decay);
/* s: the sum of all squared gradients so far. */
RP_API rp_tensor rp_adagrad(rp_tensor p, rp_tensor *s, rp_tensor g, rp_tensor lr, double eps, double weight_decay);
/* Scales n gradients so that their joint Euclidean norm is at most limit; returns the norm before. */
RP_API rp_tensor rp_clip_by_norm(rp_tensor *grad, size_t n, double limit);

/* Calls say where they stand: see rp_site. Written by scripts/sites.py. */
#if !defined(RP_BUILDING) && !defined(RP_NO_SITES)
#define rp_print(...) RP_SITE(rp_print, __VA_ARGS__)
#define rp_fill(...) RP_SITED(rp_fill, __VA_ARGS__)
#define rp_iota(...) RP_SITED(rp_iota, __VA_ARGS__)
#define rp_neg(...) RP_SITED(rp_neg, __VA_ARGS__)
#define rp_exp(...) RP_SITED(rp_exp, __VA_ARGS__)
#define rp_log(...) RP_SITED(rp_log, __VA_ARGS__)
#define rp_log1p(...) RP_SITED(rp_log1p, __VA_ARGS__)
#define rp_sqrt(...) RP_SITED(rp_sqrt, __VA_ARGS__)
#define rp_tanh(...) RP_SITED(rp_tanh, __VA_ARGS__)
#define rp_sigmoid(...) RP_SITED(rp_sigmoid, __VA_ARGS__)
#define rp_erf(...) RP_SITED(rp_erf, __VA_ARGS__)
#define rp_relu(...) RP_SITED(rp_relu, __VA_ARGS__)
#define rp_gelu(...) RP_SITED(rp_gelu, __VA_ARGS__)
#define rp_abs(...) RP_SITED(rp_abs, __VA_ARGS__)
#define rp_pow_int(...) RP_SITED(rp_pow_int, __VA_ARGS__)
#define rp_expm1(...) RP_SITED(rp_expm1, __VA_ARGS__)
#define rp_exp2(...) RP_SITED(rp_exp2, __VA_ARGS__)
#define rp_log2(...) RP_SITED(rp_log2, __VA_ARGS__)
#define rp_log10(...) RP_SITED(rp_log10, __VA_ARGS__)
#define rp_sin(...) RP_SITED(rp_sin, __VA_ARGS__)
#define rp_cos(...) RP_SITED(rp_cos, __VA_ARGS__)
#define rp_tan(...) RP_SITED(rp_tan, __VA_ARGS__)
#define rp_sinh(...) RP_SITED(rp_sinh, __VA_ARGS__)
#define rp_cosh(...) RP_SITED(rp_cosh, __VA_ARGS__)
#define rp_asin(...) RP_SITED(rp_asin, __VA_ARGS__)
#define rp_acos(...) RP_SITED(rp_acos, __VA_ARGS__)
#define rp_atan(...) RP_SITED(rp_atan, __VA_ARGS__)
#define rp_erfc(...) RP_SITED(rp_erfc, __VA_ARGS__)
#define rp_erf_inv(...) RP_SITED(rp_erf_inv, __VA_ARGS__)
#define rp_rsqrt(...) RP_SITED(rp_rsqrt, __VA_ARGS__)
#define rp_cbrt(...) RP_SITED(rp_cbrt, __VA_ARGS__)
#define rp_silu(...) RP_SITED(rp_silu, __VA_ARGS__)
#define rp_softplus(...) RP_SITED(rp_softplus, __VA_ARGS__)
#define rp_leaky_relu(...) RP_SITED(rp_leaky_relu, __VA_ARGS__)
#define rp_elu(...) RP_SITED(rp_elu, __VA_ARGS__)
#define rp_hardtanh(...) RP_SITED(rp_hardtanh, __VA_ARGS__)
#define rp_sign(...) RP_SITED(rp_sign, __VA_ARGS__)
#define rp_floor(...) RP_SITED(rp_floor, __VA_ARGS__)
#define rp_ceil(...) RP_SITED(rp_ceil, __VA_ARGS__)
#define rp_round(...) RP_SITED(rp_round, __VA_ARGS__)
#define rp_trunc(...) RP_SITED(rp_trunc, __VA_ARGS__)
#define rp_cast(...) RP_SITED(rp_cast, __VA_ARGS__)
#define rp_bitcast(...) RP_SITED(rp_bitcast, __VA_ARGS__)
#define rp_logical_not(...) RP_SITED(rp_logical_not, __VA_ARGS__)
#define rp_add(...) RP_SITED(rp_add, __VA_ARGS__)
#define rp_sub(...) RP_SITED(rp_sub, __VA_ARGS__)
#define rp_mul(...) RP_SITED(rp_mul, __VA_ARGS__)
#define rp_div(...) RP_SITED(rp_div, __VA_ARGS__)
#define rp_maximum(...) RP_SITED(rp_maximum, __VA_ARGS__)
#define rp_minimum(...) RP_SITED(rp_minimum, __VA_ARGS__)
#define rp_eq(...) RP_SITED(rp_eq, __VA_ARGS__)
#define rp_ne(...) RP_SITED(rp_ne, __VA_ARGS__)
#define rp_lt(...) RP_SITED(rp_lt, __VA_ARGS__)
#define rp_le(...) RP_SITED(rp_le, __VA_ARGS__)
#define rp_gt(...) RP_SITED(rp_gt, __VA_ARGS__)
#define rp_ge(...) RP_SITED(rp_ge, __VA_ARGS__)
#define rp_logical_and(...) RP_SITED(rp_logical_and, __VA_ARGS__)
#define rp_logical_or(...) RP_SITED(rp_logical_or, __VA_ARGS__)
#define rp_logical_xor(...) RP_SITED(rp_logical_xor, __VA_ARGS__)
#define rp_pow(...) RP_SITED(rp_pow, __VA_ARGS__)
#define rp_atan2(...) RP_SITED(rp_atan2, __VA_ARGS__)
#define rp_hypot(...) RP_SITED(rp_hypot, __VA_ARGS__)
#define rp_bce_logits(...) RP_SITED(rp_bce_logits, __VA_ARGS__)
#define rp_fmod(...) RP_SITED(rp_fmod, __VA_ARGS__)
#define rp_remainder(...) RP_SITED(rp_remainder, __VA_ARGS__)
#define rp_div_trunc(...) RP_SITED(rp_div_trunc, __VA_ARGS__)
#define rp_div_floor(...) RP_SITED(rp_div_floor, __VA_ARGS__)
#define rp_bitwise_and(...) RP_SITED(rp_bitwise_and, __VA_ARGS__)
#define rp_bitwise_or(...) RP_SITED(rp_bitwise_or, __VA_ARGS__)
#define rp_bitwise_xor(...) RP_SITED(rp_bitwise_xor, __VA_ARGS__)
#define rp_shift_left(...) RP_SITED(rp_shift_left, __VA_ARGS__)
#define rp_shift_right(...) RP_SITED(rp_shift_right, __VA_ARGS__)
#define rp_where(...) RP_SITED(rp_where, __VA_ARGS__)
#define rp_add_scalar(...) RP_SITED(rp_add_scalar, __VA_ARGS__)
#define rp_scale(...) RP_SITED(rp_scale, __VA_ARGS__)
#define rp_reshape(...) RP_SITED(rp_reshape, __VA_ARGS__)
#define rp_transpose(...) RP_SITED(rp_transpose, __VA_ARGS__)
#define rp_broadcast_to(...) RP_SITED(rp_broadcast_to, __VA_ARGS__)
#define rp_slice(...) RP_SITED(rp_slice, __VA_ARGS__)
#define rp_pad(...) RP_SITED(rp_pad, __VA_ARGS__)
#define rp_concat(...) RP_SITED(rp_concat, __VA_ARGS__)
#define rp_gather(...) RP_SITED(rp_gather, __VA_ARGS__)
#define rp_scatter_add(...) RP_SITED(rp_scatter_add, __VA_ARGS__)
#define rp_embedding(...) RP_SITED(rp_embedding, __VA_ARGS__)
#define rp_one_hot(...) RP_SITED(rp_one_hot, __VA_ARGS__)
#define rp_sum(...) RP_SITED(rp_sum, __VA_ARGS__)
#define rp_mean(...) RP_SITED(rp_mean, __VA_ARGS__)
#define rp_max(...) RP_SITED(rp_max, __VA_ARGS__)
#define rp_argmax(...) RP_SITED(rp_argmax, __VA_ARGS__)
#define rp_min(...) RP_SITED(rp_min, __VA_ARGS__)
#define rp_prod(...) RP_SITED(rp_prod, __VA_ARGS__)
#define rp_argmin(...) RP_SITED(rp_argmin, __VA_ARGS__)
#define rp_cumsum(...) RP_SITED(rp_cumsum, __VA_ARGS__)
#define rp_cumprod(...) RP_SITED(rp_cumprod, __VA_ARGS__)
#define rp_var(...) RP_SITED(rp_var, __VA_ARGS__)
#define rp_logsumexp(...) RP_SITED(rp_logsumexp, __VA_ARGS__)
#define rp_softmax(...) RP_SITED(rp_softmax, __VA_ARGS__)
#define rp_log_softmax(...) RP_SITED(rp_log_softmax, __VA_ARGS__)
#define rp_layer_norm(...) RP_SITED(rp_layer_norm, __VA_ARGS__)
#define rp_rms_norm(...) RP_SITED(rp_rms_norm, __VA_ARGS__)
#define rp_matmul(...) RP_SITED(rp_matmul, __VA_ARGS__)
#define rp_attention(...) RP_SITED(rp_attention, __VA_ARGS__)
#define rp_cholesky(...) RP_SITED(rp_cholesky, __VA_ARGS__)
#define rp_triangular_solve(...) RP_SITED(rp_triangular_solve, __VA_ARGS__)
#define rp_linear(...) RP_SITED(rp_linear, __VA_ARGS__)
#define rp_mse(...) RP_SITED(rp_mse, __VA_ARGS__)
#define rp_bce_with_logits(...) RP_SITED(rp_bce_with_logits, __VA_ARGS__)
#define rp_cross_entropy(...) RP_SITED(rp_cross_entropy, __VA_ARGS__)
#define rp_dropout(...) RP_SITED(rp_dropout, __VA_ARGS__)
#define rp_uniform(...) RP_SITED(rp_uniform, __VA_ARGS__)
#define rp_normal(...) RP_SITED(rp_normal, __VA_ARGS__)
#define rp_gradients(...) RP_SITE(rp_gradients, __VA_ARGS__)
#define rp_vjp(...) RP_SITE(rp_vjp, __VA_ARGS__)
#define rp_gradients_or_zeros(...) RP_SITE(rp_gradients_or_zeros, __VA_ARGS__)
#define rp_vjp_or_zeros(...) RP_SITE(rp_vjp_or_zeros, __VA_ARGS__)
#define rp_gradients_mixed(...) RP_SITE(rp_gradients_mixed, __VA_ARGS__)
#define rp_gradients_mixed_or_zeros(...) RP_SITE(rp_gradients_mixed_or_zeros, __VA_ARGS__)
#define rp_stop_gradient(...) RP_SITED(rp_stop_gradient, __VA_ARGS__)
#define rp_sgd(...) RP_SITED(rp_sgd, __VA_ARGS__)
#define rp_adam(...) RP_SITED(rp_adam, __VA_ARGS__)
#define rp_rmsprop(...) RP_SITED(rp_rmsprop, __VA_ARGS__)
#define rp_lion(...) RP_SITED(rp_lion, __VA_ARGS__)
#define rp_adagrad(...) RP_SITED(rp_adagrad, __VA_ARGS__)
#define rp_clip_by_norm(...) RP_SITED(rp_clip_by_norm, __VA_ARGS__)
#endif

#endif
