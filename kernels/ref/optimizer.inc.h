/* SPDX-License-Identifier: Apache-2.0
 * The optimizers of CONTRACT 8, for the level being compiled. */
#include "kernels/ref/functions/map.h"
#include "kernels/ref/optimizer_maps.h"

#include "kernels/type_f32.h"
#include "kernels/ref/optimizer_type.inc.h"
#include "kernels/type_f64.h"
#include "kernels/ref/optimizer_type.inc.h"

#ifndef optimizer_items
#define optimizer_items walk_optimizer
#endif

#define OPTIMIZER_MAPS(name, type) \
    static void name##_even_##type(const rp_walk *walk, const rp_kernel_args *args) \
    { \
        name##_map_##type(walk, args, true); \
    } \
    static void name##_uneven_##type(const rp_walk *walk, const rp_kernel_args *args) \
    { \
        name##_map_##type(walk, args, false); \
    }

#define OPTIMIZER(name, n_elementwise) \
    OPTIMIZER_MAPS(name, f32) \
    OPTIMIZER_MAPS(name, f64) \
    static void name##_run(const rp_kernel_args *args, size_t begin, size_t end) \
    { \
        const optimizer_maps f32 = {name##_even_f32, name##_uneven_f32}, f64 = {name##_even_f64, name##_uneven_f64}; \
\
        optimizer_items(args, n_elementwise, begin, end, args->out[0].dtype == RP_F32 ? f32 : f64); \
    } \
    RP_DEFINE_KERNEL(name, rp_items_elements, name##_run, rp_cost_function)

OPTIMIZER(sgd, 3);
OPTIMIZER(adam, 4);
OPTIMIZER(adamw, 4);
OPTIMIZER(rmsprop, 4);
OPTIMIZER(lion, 3);
OPTIMIZER(adagrad, 3);
