/* SPDX-License-Identifier: Apache-2.0
 * Gradient rules of the further elementary functions: the instructions of CONTRACT 11.4. As in grads.c, no argument
 * list has two calls that append. */
#include "core/program/grads.h"

#define X (a->in[0])
#define Y (a->out[0])
#define G (a->grad_out[0])

#define LN2 0.6931471805599453
#define LN10 2.302585092994046

void vjp_expm1(const rp_vjp_args *a)
{
    a->grad_in[0] = rp_mul(G, rp_add_scalar(Y, 1));
}
void vjp_exp2(const rp_vjp_args *a)
{
    a->grad_in[0] = rp_mul(G, rp_scale(Y, LN2));
}
void vjp_log2(const rp_vjp_args *a)
{
    a->grad_in[0] = rp_div(G, rp_scale(X, LN2));
}
void vjp_log10(const rp_vjp_args *a)
{
    a->grad_in[0] = rp_div(G, rp_scale(X, LN10));
}
void vjp_sin(const rp_vjp_args *a)
{
    a->grad_in[0] = rp_mul(G, rp_cos(X));
}
void vjp_cos(const rp_vjp_args *a)
{
    a->grad_in[0] = rp_mul(G, rp_neg(rp_sin(X)));
}
void vjp_tan(const rp_vjp_args *a)
{
    a->grad_in[0] = rp_mul(G, rp_add_scalar(rp_mul(Y, Y), 1));
}
void vjp_sinh(const rp_vjp_args *a)
{
    a->grad_in[0] = rp_mul(G, rp_cosh(X));
}
void vjp_cosh(const rp_vjp_args *a)
{
    a->grad_in[0] = rp_mul(G, rp_sinh(X));
}
void vjp_atan(const rp_vjp_args *a)
{
    a->grad_in[0] = rp_div(G, rp_add_scalar(rp_mul(X, X), 1));
}
void vjp_cbrt(const rp_vjp_args *a)
{
    a->grad_in[0] = rp_div(G, rp_scale(rp_mul(Y, Y), 3));
}

/* 1 / sqrt(1 - x^2): the product (1 - x)(1 + x) does not cancel near +-1 as the difference would */
static rp_tensor arc_slope(rp_tensor x)
{
    rp_tensor below = rp_add_scalar(rp_neg(x), 1), above = rp_add_scalar(x, 1);

    return rp_rsqrt(rp_mul(below, above));
}

void vjp_asin(const rp_vjp_args *a)
{
    a->grad_in[0] = rp_mul(G, arc_slope(X));
}
void vjp_acos(const rp_vjp_args *a)
{
    a->grad_in[0] = rp_mul(G, rp_neg(arc_slope(X)));
}

/* -y / 2x */
void vjp_rsqrt(const rp_vjp_args *a)
{
    a->grad_in[0] = rp_mul(G, rp_div(rp_scale(Y, -0.5), X));
}

/* -2/sqrt(pi) exp(-x^2) */
void vjp_erfc(const rp_vjp_args *a)
{
    a->grad_in[0] = rp_mul(G, rp_scale(rp_exp(rp_neg(rp_mul(X, X))), -1.1283791670955126));
}
