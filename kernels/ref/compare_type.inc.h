/* SPDX-License-Identifier: Apache-2.0
 * Comparisons for one type. With a NaN every comparison but != is false; zeros are equal. */
#define COMPARE(name, types, formula) \
    static inline uint8_t FN(name)(T a, T b) \
    { \
        return formula; \
    } \
    RP_MAP2(name, uint8_t)
#include "kernels/operations.def"
