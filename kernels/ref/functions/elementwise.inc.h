/* SPDX-License-Identifier: Apache-2.0
 * The elementwise arithmetic kernels of CONTRACT 3, 5 and 7, for the level being compiled: one for each row of
 * kernels/operations.def, and pow_int. */
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
#include "kernels/type_u32.h"
#include "kernels/ref/functions/elementwise_unsigned.inc.h"

/* A level may bring faster maps in binary32, name_fast_f32, and leave out the rows that have a file of their own. */
#ifdef RP_FAST_FORMULAS
#include RP_FAST_FORMULAS
#define MAPS_FAST(name) [RP_F32] = name##_fast_f32, [RP_F64] = name##_map_f64
#define NUMBERS_FAST(name) MAPS_FAST(name), RP_BITS(name)
#else
#define MAPS_FAST RP_REALS
#define NUMBERS_FAST(name) RP_REALS(name), RP_BITS(name)
#endif
#define KERNEL_LOOP(name, n_in, cost) RP_ELEMENTWISE(name, n_in, 0, cost, RP_REALS(name));
#define KERNEL_FAST(name, n_in, cost) RP_ELEMENTWISE(name, n_in, 0, cost, MAPS_FAST(name));
#define KERNEL_BLOCK KERNEL_FAST
#define KERNEL_VIA(f, before) KERNEL_FAST
#define KERNEL_VIA2(f, g, before) KERNEL_FAST
#ifdef RP_OWN_FILES
#define KERNEL_OWN(name, n_in, cost)
#else
#define KERNEL_OWN KERNEL_LOOP
#endif

#define MAP1(name, cost, way, ...) KERNEL_##way(name, 1, cost)
#define MAP1P MAP1
#define MAP1Q MAP1
#define MAP2(name, cost, way, ...) KERNEL_##way(name, 2, cost)
#define PAIR2 MAP2
#define NUM1(name, cost, ...) RP_ELEMENTWISE(name, 1, 0, cost, RP_NUMBERS(name));
#define NUM2(name, cost, ...) RP_ELEMENTWISE(name, 2, 0, cost, RP_REALS(name), RP_BITS(name));
#define NUM2_BLOCK(name, cost, ...) RP_ELEMENTWISE(name, 2, 0, cost, NUMBERS_FAST(name));
#define INT2(name, ...) RP_ELEMENTWISE(name, 2, 0, light, RP_BITS(name));
#include "kernels/operations.def"

RP_ELEMENTWISE(pow_int, 1, 0, function, RP_REALS(pow_int));
