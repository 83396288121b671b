/* SPDX-License-Identifier: Apache-2.0
 * pow, atan2 and hypot, reference level: CONTRACT 5.1 in binary32, 5.15 to 5.17 in binary64. */
#include "determinism/math.h"
#include "kernels/ref/functions/map.h"

#include "kernels/type_f32.h"
#include "kernels/ref/functions/bivariate_type.inc.h"
#include "kernels/type_f64.h"
#include "kernels/ref/functions/bivariate_type.inc.h"

RP_ELEMENTWISE(pow, 2, 0, function, RP_REALS(pow));
RP_ELEMENTWISE(atan2, 2, 0, function, RP_REALS(atan2));
RP_ELEMENTWISE(hypot, 2, 0, function, RP_REALS(hypot));
