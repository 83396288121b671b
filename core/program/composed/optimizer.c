/* SPDX-License-Identifier: Apache-2.0
 * Optimizer steps that are made of whole tensors: norms, and matrix products. */
#include "rp/optimizer.h"

#include "core/program/composed/composed.h"
#include "rp/composite.h"

#define C composed_constant

/* keep a + rest b */
static rp_tensor blend(rp_tensor a, double keep, rp_tensor b, double rest)
{
    rp_tensor first = rp_scale(a, keep);

    return rp_add(first, rp_scale(b, rest));
}

rp_tensor rp_lamb(rp_tensor p, rp_tensor *m, rp_tensor *v, rp_tensor g, rp_tensor lr, rp_tensor c1, rp_tensor c2,
                  const rp_lamb_options *options)
{
    static const rp_lamb_options usual = {.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-6};
    const rp_lamb_options *o = options ? options : &usual;
    rp_tensor first, second, step, own, length, zero, above, ratio;

    if (!rp_moments_given("lamb", p, m, v))
        return rp_no_tensor();
    *m = blend(*m, o->beta1, g, 1 - o->beta1);
    *v = blend(*v, o->beta2, rp_square(g), 1 - o->beta2);
    first = rp_div(*m, c1);
    second = rp_sqrt(rp_div(*v, c2));
    step = rp_div(first, rp_add_scalar(second, o->eps));
    if (o->weight_decay != 0)
        step = rp_add(step, rp_scale(p, o->weight_decay));
    own = rp_norm(p, 2, NULL, 0, false);
    length = rp_norm(step, 2, NULL, 0, false);
    zero = C(p, 0);
    above = rp_gt(own, zero);
    above = rp_logical_and(above, rp_gt(length, zero));
    ratio = rp_div(own, length);
    ratio = rp_where(above, ratio, C(p, 1));
    return rp_sub(p, rp_mul(rp_mul(lr, ratio), step));
}

/* Five times x = a x + (b A + c A A) x, A = x x', of a matrix that is not taller than wide, in length at most 1: its
 * singular values go near 1. */
static rp_tensor orthogonal(rp_tensor x)
{
    enum { TIMES = 5 };

    rp_tensor length = rp_norm(x, 2, NULL, 0, false);

    x = rp_div(x, rp_maximum(length, C(x, 1e-7)));
    for (int i = 0; i < TIMES; i++) {
        rp_tensor square = rp_matmul(x, rp_transpose(x, NULL)), more = rp_scale(rp_matmul(square, square), 2.0315);

        more = rp_matmul(rp_add(rp_scale(square, -4.7750), more), x);
        x = rp_add(rp_scale(x, 3.4445), more);
    }
    return x;
}

static double over(size_t a, size_t b)
{
    return a > b && b > 0 ? (double)a / (double)b : 1;
}

rp_tensor composed_muon(rp_tensor p, rp_tensor *m, rp_tensor g, rp_tensor lr, double momentum, bool nesterov,
                        double weight_decay, bool turned)
{
    const rp_type *type = rp_tensor_ok(p) ? rp_tensor_type(p) : NULL;
    rp_tensor d;
    bool tall;
    double size;

    if (type == NULL || !rp_moments_given("muon", p, m, m))
        return rp_no_tensor();
    if (type->rank != 2) {
        rp_graph_fail(p.graph, RP_ESHAPE, "muon: a parameter of rank %d, expected a matrix", type->rank);
        return rp_no_tensor();
    }
    tall = type->shape[0] > type->shape[1];
    size = over(type->shape[turned ? 1 : 0], type->shape[turned ? 0 : 1]);
    *m = blend(*m, momentum, g, 1 - momentum);
    d = nesterov ? blend(*m, momentum, g, 1 - momentum) : *m;
    d = orthogonal(tall ? rp_transpose(d, NULL) : d);
    if (tall)
        d = rp_transpose(d, NULL);
    d = rp_mul(d, rp_mul(lr, rp_sqrt(C(p, size))));
    if (weight_decay != 0)
        p = rp_mul(p, rp_add_scalar(rp_neg(rp_scale(lr, weight_decay)), 1));
    return rp_sub(p, d);
}

rp_tensor rp_muon(rp_tensor p, rp_tensor *m, rp_tensor g, rp_tensor lr, double momentum, bool nesterov,
                  double weight_decay)
{
    return composed_muon(p, m, g, lr, momentum, nesterov, weight_decay, false);
}
