/* SPDX-License-Identifier: Apache-2.0
 * Fused steps in binary32 for one instruction set: a value of 128 elements goes through all steps in vector registers.
 * The formulas are those of ref/formula.inc.h. */
#include "kernels/fused.h"

#include <stdint.h>

#include "kernels/level.h"

#if defined(__AVX512F__)
#include <immintrin.h>
enum { WIDTH = 64 };
#define PAST(to, v) _mm512_stream_ps(to, v)
#elif defined(__AVX2__)
#include <immintrin.h>
enum { WIDTH = 32 };
#define PAST(to, v) _mm256_stream_ps(to, v)
#elif defined(__SSE2__)
#include <emmintrin.h>
enum { WIDTH = 16 };
#define PAST(to, v) _mm_stream_ps(to, v)
#else
enum { WIDTH = 16 };
#define PAST(to, v) (*(at_any *)(void *)(to) = (v))
#endif

/* 8 registers of 16, or 16 of 32, hold the value; on narrow levels a block has several such parts. */
enum { REGISTERS = WIDTH == 64 ? 16 : 8, LANES = WIDTH / sizeof(float), PART = REGISTERS * LANES };

typedef float vec __attribute__((vector_size(WIDTH)));
typedef int32_t bits __attribute__((vector_size(WIDTH)));
typedef vec at_any __attribute__((aligned(4), may_alias));

_Static_assert(RP_FUSED_ELEMENTS % PART == 0, "whole parts");

RP_INLINE vec both_add(vec a, vec b)
{
    return a + b;
}
RP_INLINE vec both_sub(vec a, vec b)
{
    return a - b;
}
RP_INLINE vec both_mul(vec a, vec b)
{
    return a * b;
}
RP_INLINE vec both_div(vec a, vec b)
{
    return a / b;
}

RP_INLINE vec select(bits mask, vec yes, vec no)
{
    return (vec)((mask & (bits)yes) | (~mask & (bits)no));
}

/* A NaN wins; equal numbers differ in the sign of a zero only, where +0 is the greater. */
RP_INLINE vec both_maximum(vec a, vec b)
{
    const vec greater = select((bits)(a > b) | (bits)(a != a), a, b);

    return (vec)((bits)greater & ((bits)a | ~(bits)(a == b)));
}

RP_INLINE vec both_minimum(vec a, vec b)
{
    const vec less = select((bits)(a < b) | (bits)(a != a), a, b);

    return (vec)((bits)less | ((bits)a & (bits)(a == b)));
}

/* A NaN stays; -0 becomes +0. */
RP_INLINE vec one_relu(vec x)
{
    return (vec)((bits)x & ~(bits)(x <= 0));
}
RP_INLINE vec one_abs(vec x)
{
    return (vec)((bits)x & INT32_MAX);
}
RP_INLINE vec one_neg(vec x)
{
    return (vec)((bits)x ^ INT32_MIN);
}

#define VALUE(value) \
    RP_UNROLL for (int r = 0; r < REGISTERS; r++) y[r] = value; \
    break;
#define X ((const at_any *)(const void *)(s->x + i))[r]
#define BOTH(op, f) \
    case 4 * (op): \
        VALUE(f(y[r], X)) \
    case 4 * (op) + RP_FUSED_SECOND: \
        VALUE(f(X, y[r])) \
    case 4 * (op) + RP_FUSED_SCALAR: \
        c = *s->x - (vec){0}; \
        VALUE(f(y[r], c)) \
    case 4 * (op) + RP_FUSED_SCALAR + RP_FUSED_SECOND: \
        c = *s->x - (vec){0}; \
        VALUE(f(c, y[r]))

extern rp_fused_run RP_LEVEL_NAME(rp_fused_run, RP_LEVEL);
void RP_LEVEL_NAME(rp_fused_run, RP_LEVEL)(const rp_fused *fused, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i += PART) {
        vec y[REGISTERS], c;

        RP_UNROLL for (int r = 0; r < REGISTERS; r++) y[r] = ((const at_any *)(const void *)(fused->first + i))[r];
        for (const rp_fused_step *s = fused->step; s < fused->step + fused->n; s++) {
            switch (s->code) {
                BOTH(RP_FUSED_ADD, both_add)
                BOTH(RP_FUSED_SUB, both_sub)
                BOTH(RP_FUSED_MUL, both_mul)
                BOTH(RP_FUSED_DIV, both_div)
                BOTH(RP_FUSED_MAXIMUM, both_maximum)
                BOTH(RP_FUSED_MINIMUM, both_minimum)
            case 4 * RP_FUSED_RELU:
                VALUE(one_relu(y[r]))
            case 4 * RP_FUSED_ABS:
                VALUE(one_abs(y[r]))
            case 4 * RP_FUSED_NEG:
                VALUE(one_neg(y[r]))
            }
            if (s->past) {
                RP_UNROLL for (int r = 0; r < REGISTERS; r++) PAST(s->store + i + r * LANES, y[r]);
            } else if (s->store != NULL) {
                at_any *to = (at_any *)(void *)(s->store + i);

                RP_UNROLL for (int r = 0; r < REGISTERS; r++) to[r] = y[r];
            }
        }
    }
}
