/* SPDX-License-Identifier: Apache-2.0
 * The further steps of a chain that has values of 64 bits; as steps_narrow.inc.h. */
#include "kernels/type_f64.h"
#include "kernels/gpu/chain/steps_real.inc.h"

#include "kernels/type_i64.h"
#include "kernels/gpu/chain/steps_int.inc.h"

#define CONVERT_NN(from, to)
#define CONVERT_NW(from, to) STEP_cast(from, to, rp_gpu_put##to(convert##from##to(rp_gpu_get##from(IN0))))
#define CONVERT_WN CONVERT_NW
#define CONVERT_WW CONVERT_NW
#include "kernels/gpu/chain/steps_cast.inc.h"

#include "kernels/type_end.h"
