/* SPDX-License-Identifier: Apache-2.0
 * Gradient rules of the elementwise rows of kernels/operations.def: the instructions of CONTRACT 11.4. As in grads.c,
 * no argument list has two calls that append. */
#include "core/program/grads.h"

#define X (a->in[0])
#define A (a->in[0])
#define B (a->in[1])
#define Y (a->out[0])
#define G (a->grad_out[0])

#define LN2 0.6931471805599453
#define LN10 2.302585092994046

static rp_tensor pair(rp_op_id id, rp_tensor g, rp_tensor other)
{
    return grad_emit(id, NULL, (rp_tensor[]){g, other}, 2);
}

/* 1 / sqrt(1 - x^2): the product (1 - x)(1 + x) does not cancel near +-1 as the difference would */
static rp_tensor arc_slope(rp_tensor x)
{
    rp_tensor below = rp_add_scalar(rp_neg(x), 1), above = rp_add_scalar(x, 1);

    return rp_rsqrt(rp_mul(below, above));
}

/* y x^(y - 1), and 0 where y is, as x^0 is 1 everywhere. */
static rp_tensor slope_of_base(rp_tensor x, rp_tensor y)
{
    rp_tensor power = rp_pow(x, rp_add_scalar(y, -1)), slope = rp_mul(y, power), zero = grad_constant(y, 0);
    rp_tensor flat = rp_eq(y, zero);

    return rp_where(flat, zero, slope);
}

/* p log(x), p = x^y, and 0 where x is 0 and y is not negative: p is 0 or 1 there and log(x) infinite. */
static rp_tensor slope_of_exponent(rp_tensor x, rp_tensor y, rp_tensor p)
{
    rp_tensor slope = rp_mul(p, rp_log(x)), zero = grad_constant(y, 0), at_zero = rp_eq(x, zero);
    rp_tensor flat = rp_logical_and(at_zero, rp_ge(y, zero));

    return rp_where(flat, zero, slope);
}

/* A divisor that is 1 where it would be 0. */
static rp_tensor not_zero(rp_tensor x)
{
    rp_tensor zero = rp_eq(x, grad_constant(x, 0));

    return rp_where(zero, grad_constant(x, 1), x);
}

/* An attribute of the operation. */
#define P(op, name) (RP_AT(a->attr, op, name).r)

/* Where x is over or under a constant. */
#define OVER(x, c) rp_gt(x, grad_constant(x, c))
#define UNDER(x, c) rp_lt(x, grad_constant(x, c))

#define GIVE(gradient) a->grad_in[0] = gradient
/* Its derivative is 0 where there is one: nothing passes. */
#define FLAT (void)a
#define GIVE2(of_a, of_b) \
    if (a->need[0]) \
        a->grad_in[0] = grad_back(of_a, A); \
    if (a->need[1]) \
    a->grad_in[1] = grad_back(of_b, B)

/* All to the operand that was chosen: the first where `first`. */
static void choose(const rp_vjp_args *a, rp_tensor first)
{
    rp_tensor zero = grad_constant(G, 0);

    GIVE2(rp_where(first, G, zero), rp_where(first, zero, G));
}

#define RULE(name, ...) \
    void vjp_##name(const rp_vjp_args *a) \
    { \
        __VA_ARGS__; \
    }
#define MAP1(name, cost, way, domain, formula, ...) RULE(name, __VA_ARGS__)
#define MAP1P(name, cost, way, domain, p, p0, formula, ...) RULE(name, __VA_ARGS__)
#define MAP1Q(name, cost, way, domain, p, p0, q, q0, formula, ...) RULE(name, __VA_ARGS__)
#define NUM1(name, cost, formula, integers, ...) RULE(name, __VA_ARGS__)
#define MAP2 MAP1
#define NUM2 NUM1
#include "kernels/operations.def"
