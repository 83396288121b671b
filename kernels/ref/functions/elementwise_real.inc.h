/* SPDX-License-Identifier: Apache-2.0
 * Loops of the elementwise kernels over reals: the formulas of formula.inc.h, applied. */
#include "kernels/ref/functions/formula.inc.h"

RP_MAP1(neg, T)
RP_MAP1(exp, T)
RP_MAP1(log, T)
RP_MAP1(log1p, T)
RP_MAP1(sqrt, T)
RP_MAP1(tanh, T)
RP_MAP1(sigmoid, T)
RP_MAP1(erf, T)
RP_MAP1(relu, T)
RP_MAP1(gelu, T)
RP_MAP1(abs, T)
RP_MAP1(expm1, T)
RP_MAP1(exp2, T)
RP_MAP1(log2, T)
RP_MAP1(log10, T)
RP_MAP1(sin, T)
RP_MAP1(cos, T)
RP_MAP1(tan, T)
RP_MAP1(sinh, T)
RP_MAP1(cosh, T)
RP_MAP1(asin, T)
RP_MAP1(acos, T)
RP_MAP1(atan, T)
RP_MAP1(erfc, T)
RP_MAP1(rsqrt, T)
RP_MAP1(cbrt, T)
RP_MAP2(add, T)
RP_MAP2(sub, T)
RP_MAP2(mul, T)
RP_MAP2(div, T)
RP_MAP2(maximum, T)
RP_MAP2(minimum, T)
RP_MAP2(relu_grad, T)
RP_MAP2(gelu_grad, T)
RP_MAP2(tanh_grad, T)
RP_MAP2(sigmoid_grad, T)
RP_MAP2(bce_logits, T)

static void FN(pow_int_map)(const rp_walk *walk, int64_t n)
{
    T *y = walk->at[0];
    const T *x = walk->at[1];

    RP_EACH(i, walk->run) y[i * walk->step[0]] = FN(rp_powi)(x[i * walk->step[1]], n);
}
