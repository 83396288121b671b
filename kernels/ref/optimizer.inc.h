/* SPDX-License-Identifier: Apache-2.0
 * The optimizers of CONTRACT 8, for the level being compiled. */
#include "kernels/ref/functions/map.h"

#include "kernels/type_f32.h"
#include "kernels/ref/optimizer_type.inc.h"
#include "kernels/type_f64.h"
#include "kernels/ref/optimizer_type.inc.h"

static bool unit_steps(const rp_walk *walk)
{
    for (size_t v = 0; v < walk->n_views; v++)
        if (walk->step[v] != 1)
            return false;
    return true;
}

#define OPTIMIZER(name, n_elementwise) \
    static void name##_run(const rp_kernel_args *args, size_t begin, size_t end) \
    { \
        const bool f32 = args->out[0].dtype == RP_F32; \
        rp_walk walk; \
\
        rp_walk_args(&walk, args, n_elementwise, begin, end); \
        while (rp_walk_next(&walk)) \
            if (unit_steps(&walk) && f32) \
                name##_map_f32(&walk, args, true); \
            else if (unit_steps(&walk)) \
                name##_map_f64(&walk, args, true); \
            else if (f32) \
                name##_map_f32(&walk, args, false); \
            else \
                name##_map_f64(&walk, args, false); \
    } \
    RP_DEFINE_KERNEL(name, rp_items_elements, name##_run, rp_cost_function)

OPTIMIZER(sgd, 3);
OPTIMIZER(adam, 4);
OPTIMIZER(adamw, 4);
OPTIMIZER(rmsprop, 4);
OPTIMIZER(lion, 3);
OPTIMIZER(adagrad, 3);
