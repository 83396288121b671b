/* SPDX-License-Identifier: Apache-2.0
 * Operands of a matrix product as its kernels read them: numbers of the product's type, or bf16 (`half`), widened to
 * binary32 on the way into a register, which is exact. For constants of `half` the other way leaves no trace. */
#ifndef KERNELS_CPU_MATMUL_MATMUL_OPERAND_H
#define KERNELS_CPU_MATMUL_MATMUL_OPERAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "determinism/bits.h"
#include "kernels/cpu/vec.h"

#ifdef VEC_BYTES

typedef uint16_t operand_half __attribute__((vector_size(VEC_BYTES / 2), aligned(2), may_alias));
typedef uint32_t operand_bits __attribute__((vector_size(VEC_BYTES)));

/* Elements i, i + 1, .. of an operand, as many as a vector has. */
static inline vec_f32 operand_vec_f32(const void *operand, ptrdiff_t i, bool half)
{
    if (!half)
        return vec_load_f32((const float *)operand + i);
    return (vec_f32)(__builtin_convertvector(*(const operand_half *)(const void *)((const uint16_t *)operand + i),
                                             operand_bits)
                     << 16);
}
static inline vec_f64 operand_vec_f64(const void *operand, ptrdiff_t i, bool half)
{
    (void)half;
    return vec_load_f64((const double *)operand + i);
}

#endif

static inline float operand_at_f32(const void *operand, ptrdiff_t i, bool half)
{
    return half ? rp_f32_of_bf16(((const uint16_t *)operand)[i]) : ((const float *)operand)[i];
}
static inline double operand_at_f64(const void *operand, ptrdiff_t i, bool half)
{
    (void)half;
    return ((const double *)operand)[i];
}

/* The operand from element i on. */
static inline const void *operand_from_f32(const void *operand, ptrdiff_t i, bool half)
{
    return half ? (const void *)((const uint16_t *)operand + i) : (const float *)operand + i;
}
static inline const void *operand_from_f64(const void *operand, ptrdiff_t i, bool half)
{
    (void)half;
    return (const double *)operand + i;
}

#endif
