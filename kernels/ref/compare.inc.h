/* SPDX-License-Identifier: Apache-2.0
 * Comparisons, logic on bool and selection (CONTRACT 3), for the level being compiled. */
#include "kernels/ref/functions/map.h"

#include "kernels/type_f32.h"
#include "kernels/ref/compare_type.inc.h"
#include "kernels/type_f64.h"
#include "kernels/ref/compare_type.inc.h"
#include "kernels/type_i32.h"
#include "kernels/ref/compare_type.inc.h"
#include "kernels/type_i64.h"
#include "kernels/ref/compare_type.inc.h"
#include "kernels/type_bool.h"
#include "kernels/ref/compare_type.inc.h"

/* A byte other than 0 counts as true, so that a stray value cannot spread. */
static inline uint8_t logical_not_bool(uint8_t a)
{
    return !a;
}
static inline uint8_t logical_and_bool(uint8_t a, uint8_t b)
{
    return (a != 0) & (b != 0);
}
static inline uint8_t logical_or_bool(uint8_t a, uint8_t b)
{
    return (a != 0) | (b != 0);
}

RP_MAP1(logical_not, uint8_t)
RP_MAP2(logical_and, uint8_t)
RP_MAP2(logical_or, uint8_t)

RP_ELEMENTWISE(logical_not, 1, 0, light, [RP_BOOL] = logical_not_map_bool);
RP_ELEMENTWISE(logical_and, 2, 0, light, [RP_BOOL] = logical_and_map_bool);
RP_ELEMENTWISE(logical_or, 2, 0, light, [RP_BOOL] = logical_or_map_bool);
RP_ELEMENTWISE(eq, 2, 0, light, RP_ALL(eq));
RP_ELEMENTWISE(ne, 2, 0, light, RP_ALL(ne));
RP_ELEMENTWISE(lt, 2, 0, light, RP_ALL(lt));
RP_ELEMENTWISE(le, 2, 0, light, RP_ALL(le));
RP_ELEMENTWISE(gt, 2, 0, light, RP_ALL(gt));
RP_ELEMENTWISE(ge, 2, 0, light, RP_ALL(ge));
RP_ELEMENTWISE(where, 3, 1, light, RP_ALL(where));
