/* SPDX-License-Identifier: Apache-2.0
 * The elementwise arithmetic kernels of CONTRACT 3 and 7, for the level being compiled. */
#include "determinism/math.h"
#include "kernels/ref/functions/map.h"

#include "kernels/type_f32.h"
#include "kernels/ref/functions/elementwise_real.inc.h"
#include "kernels/type_f64.h"
#include "kernels/ref/functions/elementwise_real.inc.h"
#include "kernels/type_i32.h"
#include "kernels/ref/functions/elementwise_int.inc.h"
#include "kernels/type_i64.h"
#include "kernels/ref/functions/elementwise_int.inc.h"

/* A level may bring faster maps for these. */
#ifdef RP_FAST_MAPS
RP_FAST_MAPS
#include RP_FAST_FORMULAS
#else
#define RP_FAST_REALS RP_REALS
#endif

RP_ELEMENTWISE(neg, 1, 0, light, RP_NUMBERS(neg));
RP_ELEMENTWISE(exp, 1, 0, function, RP_FAST_REALS(exp));
RP_ELEMENTWISE(log, 1, 0, function, RP_FAST_REALS(log));
RP_ELEMENTWISE(log1p, 1, 0, function, RP_FAST_REALS(log1p));
RP_ELEMENTWISE(sqrt, 1, 0, light, RP_REALS(sqrt));
RP_ELEMENTWISE(tanh, 1, 0, function, RP_FAST_REALS(tanh));
RP_ELEMENTWISE(sigmoid, 1, 0, function, RP_FAST_REALS(sigmoid));
RP_ELEMENTWISE(erf, 1, 0, function, RP_FAST_REALS(erf));
RP_ELEMENTWISE(relu, 1, 0, light, RP_REALS(relu));
RP_ELEMENTWISE(gelu, 1, 0, function, RP_FAST_REALS(gelu));
RP_ELEMENTWISE(abs, 1, 0, light, RP_NUMBERS(abs));
RP_ELEMENTWISE(expm1, 1, 0, function, RP_FAST_REALS(expm1));
RP_ELEMENTWISE(exp2, 1, 0, function, RP_FAST_REALS(exp2));
RP_ELEMENTWISE(log2, 1, 0, function, RP_FAST_REALS(log2));
RP_ELEMENTWISE(log10, 1, 0, function, RP_FAST_REALS(log10));
RP_ELEMENTWISE(sin, 1, 0, function, RP_FAST_REALS(sin));
RP_ELEMENTWISE(cos, 1, 0, function, RP_FAST_REALS(cos));
RP_ELEMENTWISE(tan, 1, 0, function, RP_FAST_REALS(tan));
RP_ELEMENTWISE(sinh, 1, 0, function, RP_REALS(sinh));
RP_ELEMENTWISE(cosh, 1, 0, function, RP_REALS(cosh));
RP_ELEMENTWISE(asin, 1, 0, function, RP_REALS(asin));
RP_ELEMENTWISE(acos, 1, 0, function, RP_REALS(acos));
RP_ELEMENTWISE(atan, 1, 0, function, RP_REALS(atan));
RP_ELEMENTWISE(erfc, 1, 0, function, RP_REALS(erfc));
RP_ELEMENTWISE(rsqrt, 1, 0, function, RP_REALS(rsqrt));
RP_ELEMENTWISE(cbrt, 1, 0, function, RP_REALS(cbrt));
RP_ELEMENTWISE(add, 2, 0, light, RP_NUMBERS(add));
RP_ELEMENTWISE(sub, 2, 0, light, RP_NUMBERS(sub));
RP_ELEMENTWISE(mul, 2, 0, light, RP_NUMBERS(mul));
RP_ELEMENTWISE(div, 2, 0, light, RP_REALS(div));
RP_ELEMENTWISE(maximum, 2, 0, light, RP_NUMBERS(maximum));
RP_ELEMENTWISE(minimum, 2, 0, light, RP_NUMBERS(minimum));
RP_ELEMENTWISE(relu_grad, 2, 0, light, RP_REALS(relu_grad));
RP_ELEMENTWISE(gelu_grad, 2, 0, function, RP_FAST_REALS(gelu_grad));
RP_ELEMENTWISE(tanh_grad, 2, 0, light, RP_REALS(tanh_grad));
RP_ELEMENTWISE(sigmoid_grad, 2, 0, light, RP_REALS(sigmoid_grad));
RP_ELEMENTWISE(bce_logits, 2, 0, function, RP_FAST_REALS(bce_logits));

static void pow_int_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    rp_walk walk;

    rp_walk_args(&walk, args, 1, begin, end);
    while (rp_walk_next(&walk))
        if (args->in[0].dtype == RP_F32)
            pow_int_map_f32(&walk, args->attr[0].i);
        else
            pow_int_map_f64(&walk, args->attr[0].i);
}

RP_DEFINE_KERNEL(pow_int, rp_items_elements, pow_int_run, rp_cost_function);
