/* SPDX-License-Identifier: Apache-2.0
 * Comparisons, logic on bool and selection (CONTRACT 3), for the level being compiled. */
#include "kernels/ref/functions/map.h"

#include "kernels/type_f32.h"
#include "kernels/ref/compare_type.inc.h"
#include "kernels/ref/where_type.inc.h"
#include "kernels/type_f64.h"
#include "kernels/ref/compare_type.inc.h"
#include "kernels/ref/where_type.inc.h"
#include "kernels/type_i32.h"
#include "kernels/ref/compare_type.inc.h"
#include "kernels/ref/where_type.inc.h"
#include "kernels/type_i64.h"
#include "kernels/ref/compare_type.inc.h"
#include "kernels/ref/where_type.inc.h"
#include "kernels/type_u32.h"
#include "kernels/ref/compare_type.inc.h"
#include "kernels/type_bf16.h"
#include "kernels/ref/where_type.inc.h"
#include "kernels/type_bool.h"
#include "kernels/ref/compare_type.inc.h"
#include "kernels/ref/where_type.inc.h"

#define LOGIC1(name, formula) \
    static inline uint8_t name##_bool(uint8_t a) \
    { \
        return formula; \
    } \
    RP_MAP1(name, uint8_t) \
    RP_ELEMENTWISE(name, 1, 0, light, [RP_BOOL] = name##_map_bool);
#define LOGIC2(name, formula) \
    static inline uint8_t name##_bool(uint8_t a, uint8_t b) \
    { \
        return formula; \
    } \
    RP_MAP2(name, uint8_t) \
    RP_ELEMENTWISE(name, 2, 0, light, [RP_BOOL] = name##_map_bool);
#define COMPARE(name, types, formula) RP_ELEMENTWISE(name, 2, 0, light, RP_ALL(name), [RP_U32] = name##_map_u32);
#include "kernels/operations.def"
RP_ELEMENTWISE(where, 3, 1, light, RP_MOVED(where));
