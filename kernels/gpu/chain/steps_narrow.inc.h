/* SPDX-License-Identifier: Apache-2.0
 * Every step of a chain whose values have at most 32 bits, from the rows of kernels/operations.def. The includer
 * defines what to make of one:
 *   STEP_light(name, value), STEP_function(name, value)   of the type in hand (FN, T), by the row's cost
 *   STEP_cast(from, to, value), STEP_where(value)         types as _f32
 *   STEP_dropout()                                        of the type in hand: it needs the element's number
 * value: the result as a register, over registers IN0, IN1, IN2 and attributes REAL(k), WHOLE. */
#include "kernels/type_f32.h"
#include "kernels/gpu/chain/steps_real.inc.h"

#include "kernels/type_i32.h"
#include "kernels/gpu/chain/steps_int.inc.h"

#include "kernels/type_bool.h"
#define COMPARE(name, types, ...) \
    STEP_BOOL_##types(name, rp_gpu_put_bool(FN(name)(rp_gpu_get_bool(IN0), rp_gpu_get_bool(IN1))))
#define STEP_BOOL_RP_D_COMPARED(...) STEP_light(__VA_ARGS__)
#define STEP_BOOL_RP_D_ORDERED(...)
#define LOGIC1(name, ...) STEP_light(name, rp_gpu_put_bool(FN(name)(rp_gpu_get_bool(IN0))))
#define LOGIC2(name, ...) STEP_light(name, rp_gpu_put_bool(FN(name)(rp_gpu_get_bool(IN0), rp_gpu_get_bool(IN1))))
#include "kernels/operations.def"
#undef STEP_BOOL_RP_D_COMPARED
#undef STEP_BOOL_RP_D_ORDERED

/* Of any type: bits are moved. */
STEP_where(rp_gpu_get_bool(IN0) ? (IN1) : (IN2))

#define CONVERT_NN(from, to) STEP_cast(from, to, rp_gpu_put##to(convert##from##to(rp_gpu_get##from(IN0))))
#define CONVERT_NW(from, to)
#define CONVERT_WN(from, to)
#define CONVERT_WW(from, to)
#include "kernels/gpu/chain/steps_cast.inc.h"

#include "kernels/type_end.h"
