/* SPDX-License-Identifier: Apache-2.0
 * Calls that are written in a few operations of rp/tensor.h: bounds, predicates, quotients, inverse hyperbolic
 * functions, activations, norms and questions of whole axes. CONTRACT 11.2 lists the instructions of each; compiled,
 * elementwise ones are one pass. Real operands unless something else is said; gradients are those of the instructions.
 */
#ifndef RP_COMPOSITE_H
#define RP_COMPOSITE_H

#include "rp/tensor.h"

/* ---- elementwise ---- */

/* low where x < low, high where x > high: of reals and integers. An infinite bound is left out. The gradient passes
 * where x is not beyond a bound (rp_hardtanh's does not at a bound itself). */
RP_API rp_tensor rp_clamp(rp_tensor x, double low, double high);
RP_API rp_tensor rp_isnan(rp_tensor x); /* bool, as the next two; of integers too, where all are finite */
RP_API rp_tensor rp_isinf(rp_tensor x);
RP_API rp_tensor rp_isfinite(rp_tensor x);
RP_API rp_tensor rp_reciprocal(rp_tensor x); /* 1 / x */
RP_API rp_tensor rp_square(rp_tensor x);
RP_API rp_tensor rp_bitwise_not(rp_tensor x); /* of integers */
/* The quotient rounded down, and toward 0: of reals the whole number beside the rounded a / b, of integers rp_div_floor
 * and rp_div_trunc. */
RP_API rp_tensor rp_floor_divide(rp_tensor a, rp_tensor b);
RP_API rp_tensor rp_trunc_divide(rp_tensor a, rp_tensor b);
RP_API rp_tensor rp_xlogy(rp_tensor x, rp_tensor y); /* x log(y), 0 where x is 0 and y at most 0 */
RP_API rp_tensor rp_asinh(rp_tensor x);
RP_API rp_tensor rp_acosh(rp_tensor x); /* NaN below 1 */
RP_API rp_tensor rp_atanh(rp_tensor x); /* NaN beyond 1 */

/* The discrete Fourier transform along the last axis, whose length has no prime factor above 256 (others: RP_ESHAPE):
 * re + i im of f32 or f64 to sums of x_j e^(-2 pi i j k / n), or with inverse e^(+..) over n, as CONTRACT 7.16 adds
 * them. im.graph NULL: 0; of a real x the first n / 2 + 1 say all. */
RP_API void rp_fft(rp_tensor re, rp_tensor im, bool inverse, rp_tensor *out_re, rp_tensor *out_im);

/* ---- activations ---- */

RP_API rp_tensor rp_relu6(rp_tensor x);                     /* x between 0 and 6 */
RP_API rp_tensor rp_hardsigmoid(rp_tensor x);               /* (x + 3) / 6 between 0 and 1 */
RP_API rp_tensor rp_hardswish(rp_tensor x);                 /* x hardsigmoid(x) */
RP_API rp_tensor rp_mish(rp_tensor x);                      /* x tanh(softplus(x)) */
RP_API rp_tensor rp_selu(rp_tensor x);                      /* Klambauer and others 2017 */
RP_API rp_tensor rp_celu(rp_tensor x, double alpha);        /* x, or alpha (e^(x / alpha) - 1) where x <= 0 */
RP_API rp_tensor rp_softsign(rp_tensor x);                  /* x / (1 + |x|) */
RP_API rp_tensor rp_logsigmoid(rp_tensor x);                /* log of the sigmoid, without cancellation */
RP_API rp_tensor rp_tanhshrink(rp_tensor x);                /* x - tanh(x) */
RP_API rp_tensor rp_softshrink(rp_tensor x, double lambda); /* x less what of it lies between -lambda and lambda */
RP_API rp_tensor rp_hardshrink(rp_tensor x, double lambda); /* x, or 0 where |x| <= lambda */
RP_API rp_tensor rp_threshold(rp_tensor x, double threshold, double value); /* x, or the value where x <= threshold */
RP_API rp_tensor rp_prelu(rp_tensor x, rp_tensor slope); /* x, or slope x where x <= 0; slope broadcasts */
RP_API rp_tensor rp_gelu_tanh(rp_tensor x);              /* the approximation of gelu by a tanh */
RP_API rp_tensor rp_glu(rp_tensor x, int axis); /* the first half of the axis times the sigmoid of the second */

/* ---- over axes, as the reductions of rp/tensor.h ---- */

/* bool: some element is not 0, and all. As the greatest of none, an axis of length 0 is refused. */
RP_API rp_tensor rp_any(rp_tensor x, const int *axes, int n, bool keep);
RP_API rp_tensor rp_all(rp_tensor x, const int *axes, int n, bool keep);
RP_API rp_tensor rp_count_nonzero(rp_tensor x, const int *axes, int n, bool keep); /* i64 */
/* The root of rp_var. Where it is 0 it has no gradient; so have norms that are 0. */
RP_API rp_tensor rp_std(rp_tensor x, const int *axes, int n, int64_t correction, bool keep);
/* (sum |x|^p)^(1/p); p infinite: the greatest |x|, or the least; p 0: how many are not 0. A norm of 0, and a deviation
 * of 0, pass a gradient of 0. */
RP_API rp_tensor rp_norm(rp_tensor x, double p, const int *axes, int n, bool keep);
/* The two at once. */
RP_API void rp_aminmax(rp_tensor x, const int *axes, int n, bool keep, rp_tensor *least, rp_tensor *most);
/* The inner product along the axis over the norms, each at least eps. */
RP_API rp_tensor rp_cosine_similarity(rp_tensor a, rp_tensor b, int axis, double eps);

/* Calls say where they stand: see rp_site. Written by scripts/sites.py. */
#if !defined(RP_BUILDING) && !defined(RP_NO_SITES)
#define rp_clamp(...) RP_SITED(rp_clamp, __VA_ARGS__)
#define rp_isnan(...) RP_SITED(rp_isnan, __VA_ARGS__)
#define rp_isinf(...) RP_SITED(rp_isinf, __VA_ARGS__)
#define rp_isfinite(...) RP_SITED(rp_isfinite, __VA_ARGS__)
#define rp_reciprocal(...) RP_SITED(rp_reciprocal, __VA_ARGS__)
#define rp_square(...) RP_SITED(rp_square, __VA_ARGS__)
#define rp_bitwise_not(...) RP_SITED(rp_bitwise_not, __VA_ARGS__)
#define rp_floor_divide(...) RP_SITED(rp_floor_divide, __VA_ARGS__)
#define rp_trunc_divide(...) RP_SITED(rp_trunc_divide, __VA_ARGS__)
#define rp_xlogy(...) RP_SITED(rp_xlogy, __VA_ARGS__)
#define rp_asinh(...) RP_SITED(rp_asinh, __VA_ARGS__)
#define rp_acosh(...) RP_SITED(rp_acosh, __VA_ARGS__)
#define rp_atanh(...) RP_SITED(rp_atanh, __VA_ARGS__)
#define rp_fft(...) RP_SITE(rp_fft, __VA_ARGS__)
#define rp_relu6(...) RP_SITED(rp_relu6, __VA_ARGS__)
#define rp_hardsigmoid(...) RP_SITED(rp_hardsigmoid, __VA_ARGS__)
#define rp_hardswish(...) RP_SITED(rp_hardswish, __VA_ARGS__)
#define rp_mish(...) RP_SITED(rp_mish, __VA_ARGS__)
#define rp_selu(...) RP_SITED(rp_selu, __VA_ARGS__)
#define rp_celu(...) RP_SITED(rp_celu, __VA_ARGS__)
#define rp_softsign(...) RP_SITED(rp_softsign, __VA_ARGS__)
#define rp_logsigmoid(...) RP_SITED(rp_logsigmoid, __VA_ARGS__)
#define rp_tanhshrink(...) RP_SITED(rp_tanhshrink, __VA_ARGS__)
#define rp_softshrink(...) RP_SITED(rp_softshrink, __VA_ARGS__)
#define rp_hardshrink(...) RP_SITED(rp_hardshrink, __VA_ARGS__)
#define rp_threshold(...) RP_SITED(rp_threshold, __VA_ARGS__)
#define rp_prelu(...) RP_SITED(rp_prelu, __VA_ARGS__)
#define rp_gelu_tanh(...) RP_SITED(rp_gelu_tanh, __VA_ARGS__)
#define rp_glu(...) RP_SITED(rp_glu, __VA_ARGS__)
#define rp_any(...) RP_SITED(rp_any, __VA_ARGS__)
#define rp_all(...) RP_SITED(rp_all, __VA_ARGS__)
#define rp_count_nonzero(...) RP_SITED(rp_count_nonzero, __VA_ARGS__)
#define rp_std(...) RP_SITED(rp_std, __VA_ARGS__)
#define rp_norm(...) RP_SITED(rp_norm, __VA_ARGS__)
#define rp_aminmax(...) RP_SITE(rp_aminmax, __VA_ARGS__)
#define rp_cosine_similarity(...) RP_SITED(rp_cosine_similarity, __VA_ARGS__)
#endif

#endif
