/* SPDX-License-Identifier: Apache-2.0
 * The steps of a chain on integers, for the type of the kernels/type_*.h included before (steps_narrow.inc.h). */
#define ON1 FN(rp_gpu_get)(IN0)
#define ON2 FN(rp_gpu_get)(IN0), FN(rp_gpu_get)(IN1)
#define NUM1(name, ...) STEP_light(name, FN(rp_gpu_put)(FN(name)(ON1)))
#define NUM2(name, ...) STEP_light(name, FN(rp_gpu_put)(FN(name)(ON2)))
#define INT2 NUM2
#define COMPARE(name, ...) STEP_light(name, rp_gpu_put_bool(FN(name)(ON2)))
#include "kernels/operations.def"
#undef ON1
#undef ON2
