/* SPDX-License-Identifier: Apache-2.0
 * Elementwise kernels over integers. CONTRACT 3: arithmetic is modulo 2^32 or 2^64, read back as two's complement,
 * so it goes through the unsigned type and |minimum| is the minimum itself. */
#define NUM1(name, cost, formula, integers, ...) \
    static inline T FN(name)(T x) \
    { \
        return integers; \
    } \
    RP_MAP1(name, T)
#define NUM2(name, cost, formula, integers, ...) \
    static inline T FN(name)(T a, T b) \
    { \
        return integers; \
    } \
    RP_MAP2(name, T)
#include "kernels/operations.def"
