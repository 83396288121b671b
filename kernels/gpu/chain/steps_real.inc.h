/* SPDX-License-Identifier: Apache-2.0
 * The steps of a chain on reals, for the type of the kernels/type_*.h included before (steps_narrow.inc.h). Functions
 * of two operands that are so long as to have files of their own for processors (OWN) are none: one of them would take
 * half as many registers again as all others together. */
#define ON1 FN(rp_gpu_get)(IN0)
#define ON2 FN(rp_gpu_get)(IN0), FN(rp_gpu_get)(IN1)
#define MAP1(name, cost, ...) STEP_##cost(name, FN(rp_gpu_put)(FN(name)(ON1)))
#define MAP1P(name, cost, ...) STEP_##cost(name, FN(rp_gpu_put)(FN(name)(ON1, REAL(0))))
#define MAP1Q(name, cost, ...) STEP_##cost(name, FN(rp_gpu_put)(FN(name)(ON1, REAL(0), REAL(1))))
#define MAP2(name, cost, way, ...) STEP_OF_##way(cost, name)
#define NUM1 MAP1
#define NUM2(name, cost, ...) STEP_OF_LOOP(cost, name)
#define PAIR2 MAP2
#define STEP_OF_LOOP(cost, name) STEP_##cost(name, FN(rp_gpu_put)(FN(name)(ON2)))
#define STEP_OF_BLOCK STEP_OF_LOOP
#define STEP_OF_OWN(cost, name)
#define COMPARE(name, ...) STEP_light(name, rp_gpu_put_bool(FN(name)(ON2)))
#include "kernels/operations.def"

STEP_function(pow_int, FN(rp_gpu_put)(FN(pow_int)(ON1, WHOLE))) STEP_dropout()
#undef ON1
#undef ON2
#undef STEP_OF_LOOP
#undef STEP_OF_BLOCK
#undef STEP_OF_OWN
