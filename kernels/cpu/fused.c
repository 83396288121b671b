/* SPDX-License-Identifier: Apache-2.0
 * Fused steps in binary32 for one instruction set: a value of 128 elements goes through all steps in vector registers.
 * The formulas are those of ref/formula.inc.h. */
#include "kernels/fused.h"

#include <stdint.h>
#include <string.h>

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
typedef int8_t bytes __attribute__((vector_size(LANES))); /* bool */
typedef bytes bytes_at_any __attribute__((aligned(1), may_alias));

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

RP_INLINE vec choose(bits mask, vec yes, vec no)
{
    return (vec)((mask & (bits)yes) | (~mask & (bits)no));
}

RP_INLINE bool same_bits(float a, float b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

/* A NaN wins; equal numbers differ in the sign of a zero only, where +0 is the greater. */
RP_INLINE vec both_maximum(vec a, vec b)
{
    const vec greater = choose((bits)(a > b) | (bits)(a != a), a, b);

    return (vec)((bits)greater & ((bits)a | ~(bits)(a == b)));
}

RP_INLINE vec both_minimum(vec a, vec b)
{
    const vec less = choose((bits)(a < b) | (bits)(a != a), a, b);

    return (vec)((bits)less | ((bits)a & (bits)(a == b)));
}

/* The derivatives: of the gradient that arrives, and the input or the output. */
RP_INLINE vec both_relu_grad(vec a, vec b)
{
    return choose((bits)(b > 0), a, (vec)((bits)b & (bits)(b != b)));
}
RP_INLINE vec both_tanh_grad(vec a, vec b)
{
    return a * (1.0f - b * b);
}
RP_INLINE vec both_sigmoid_grad(vec a, vec b)
{
    return a * (b * (1.0f - b));
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
RP_INLINE vec one_leaky_relu(vec x, float slope)
{
    return choose((bits)(x > 0), x, x * slope);
}
RP_INLINE vec one_hardtanh(vec x, float least, float most)
{
    return choose((bits)(x < least), least - (vec){0}, choose((bits)(x > most), most - (vec){0}, x));
}
RP_INLINE vec one_sign(vec x)
{
    const bits one = (bits)((vec){0} + 1.0f) & ((bits)(x > 0) | (bits)(x < 0));

    return (vec)(one | ((bits)x & (INT32_MIN | ~((bits)(x > 0) | (bits)(x < 0)))));
}

/* Whole numbers, as ref/functions/formula.inc.h has them. */
RP_INLINE vec signed_as(vec magnitude, vec x)
{
    return (vec)((bits)magnitude ^ ((bits)x & INT32_MIN));
}
RP_INLINE vec one_round(vec x)
{
    const vec a = one_abs(x), near = (a + 0x1p23f) - 0x1p23f;

    return signed_as(choose((bits)(a < 0x1p23f), near, a), x);
}
RP_INLINE vec one_floor(vec x)
{
    const vec near = one_round(x), below = near - (vec)((bits)((vec){0} + 1.0f) & (bits)(near > x));

    return signed_as(one_abs(below), x);
}
RP_INLINE vec one_ceil(vec x)
{
    return one_neg(one_floor(one_neg(x)));
}
RP_INLINE vec one_trunc(vec x)
{
    return signed_as(one_floor(one_abs(x)), x);
}

#define VALUE(value) \
    RP_UNROLL for (int r = 0; r < REGISTERS; r++) y[r] = value; \
    break;
#define MASK(value) \
    RP_UNROLL for (int r = 0; r < REGISTERS; r++) m[r] = value; \
    break;
#define X ((const at_any *)at)[r]
#define SCALAR (*(const float *)s->x - (vec){0})
#define BOTH(op, f) \
    case 4 * (op): \
        VALUE(f(y[r], X)) \
    case 4 * (op) + RP_FUSED_SECOND: \
        VALUE(f(X, y[r])) \
    case 4 * (op) + RP_FUSED_SCALAR: \
        c = SCALAR; \
        VALUE(f(y[r], c)) \
    case 4 * (op) + RP_FUSED_SCALAR + RP_FUSED_SECOND: \
        c = SCALAR; \
        VALUE(f(c, y[r]))
/* A bound that is a number, and not the zero that loses to the other one, is the result wherever the comparison says.
 */
#define BOUND(f, how, loser, ...) \
    c = SCALAR; \
    if (*(const float *)s->x == *(const float *)s->x && !same_bits(*(const float *)s->x, loser)) { \
        VALUE(choose((bits)(c how y[r]), c, y[r])) \
    } \
    VALUE(f(__VA_ARGS__))
#define EXTREME(op, f, how, loser) \
    case 4 * (op): \
        VALUE(f(y[r], X)) \
    case 4 * (op) + RP_FUSED_SECOND: \
        VALUE(f(X, y[r])) \
    case 4 * (op) + RP_FUSED_SCALAR: \
        BOUND(f, how, loser, y[r], c) \
    case 4 * (op) + RP_FUSED_SCALAR + RP_FUSED_SECOND: \
        BOUND(f, how, loser, c, y[r])
#define COMPARED(op, how) \
    case 4 * (op): \
        MASK((bits)(y[r] how X)) \
    case 4 * (op) + RP_FUSED_SCALAR: \
        c = SCALAR; \
        MASK((bits)(y[r] how c))
#define ONE(op, ...) \
    case 4 * (op): \
        VALUE(__VA_ARGS__)
#define MASKS(op, value) \
    case 4 * (op): \
        MASK(value)

/* Changes y or m. */
RP_INLINE void step(const rp_fused_step *s, const void *at, vec *restrict y, bits *m, const bits *a, const bits *b)
{
    vec c;

    switch (s->code) {
        BOTH(RP_FUSED_ADD, both_add)
        BOTH(RP_FUSED_SUB, both_sub)
        BOTH(RP_FUSED_MUL, both_mul)
        BOTH(RP_FUSED_DIV, both_div)
        EXTREME(RP_FUSED_MAXIMUM, both_maximum, >=, -0.0f)
        EXTREME(RP_FUSED_MINIMUM, both_minimum, <=, 0.0f)
        BOTH(RP_FUSED_RELU_GRAD, both_relu_grad)
        BOTH(RP_FUSED_TANH_GRAD, both_tanh_grad)
        BOTH(RP_FUSED_SIGMOID_GRAD, both_sigmoid_grad)
    case 4 * RP_FUSED_SELECT:
        VALUE(choose(m[r], y[r], X))
    case 4 * RP_FUSED_SELECT + RP_FUSED_SECOND:
        VALUE(choose(m[r], X, y[r]))
    case 4 * RP_FUSED_SELECT + RP_FUSED_SCALAR:
        c = SCALAR;
        VALUE(choose(m[r], y[r], c))
    case 4 * RP_FUSED_SELECT + RP_FUSED_SCALAR + RP_FUSED_SECOND:
        c = SCALAR;
        VALUE(choose(m[r], c, y[r]))
    case 4 * RP_FUSED_LOAD:
        VALUE(X)
    case 4 * RP_FUSED_LOAD + RP_FUSED_SCALAR:
        c = SCALAR;
        VALUE(c)
        COMPARED(RP_FUSED_EQ, ==)
        COMPARED(RP_FUSED_NE, !=)
        COMPARED(RP_FUSED_LT, <)
        COMPARED(RP_FUSED_LE, <=)
        COMPARED(RP_FUSED_GT, >)
        COMPARED(RP_FUSED_GE, >=)
        ONE(RP_FUSED_SQUARE, y[r] * y[r])
        ONE(RP_FUSED_RELU, one_relu(y[r]))
        ONE(RP_FUSED_ABS, one_abs(y[r]))
        ONE(RP_FUSED_NEG, one_neg(y[r]))
        ONE(RP_FUSED_SIGN, one_sign(y[r]))
        ONE(RP_FUSED_FLOOR, one_floor(y[r]))
        ONE(RP_FUSED_CEIL, one_ceil(y[r]))
        ONE(RP_FUSED_ROUND, one_round(y[r]))
        ONE(RP_FUSED_TRUNC, one_trunc(y[r]))
        ONE(RP_FUSED_LEAKY_RELU, one_leaky_relu(y[r], s->attr[0]))
        ONE(RP_FUSED_HARDTANH, one_hardtanh(y[r], s->attr[0], s->attr[1]))
        ONE(RP_FUSED_OF_MASK, (vec)((bits)((vec){0} + 1.0f) & m[r]))
        MASKS(RP_FUSED_MASK_LOAD, __builtin_convertvector(((const bytes_at_any *)at)[r] != 0, bits))
        MASKS(RP_FUSED_MASK_NOT, ~a[r])
        MASKS(RP_FUSED_MASK_AND, a[r] & b[r])
        MASKS(RP_FUSED_MASK_OR, a[r] | b[r])
        MASKS(RP_FUSED_MASK_XOR, a[r] ^ b[r])
    }
}

static void store_mask(char *to, const bits *m)
{
    bytes_at_any *bools = (bytes_at_any *)(void *)to;

    RP_UNROLL for (int r = 0; r < REGISTERS; r++) bools[r] = __builtin_convertvector(m[r], bytes) & 1;
}

/* An address that the compiler does not know to be one of a few that grow together: it would keep all their sums with
 * places of registers, for every step. */
#define APART(address) __asm__("" : "+r"(address))

extern rp_fused_run RP_LEVEL_NAME(rp_fused_run, RP_LEVEL);
void RP_LEVEL_NAME(rp_fused_run, RP_LEVEL)(const rp_fused *fused, size_t begin, size_t end)
{
    bits mask[RP_FUSED_MASKS][REGISTERS];
    vec y[REGISTERS] = {{0}}; /* a run may begin with masks */

    for (size_t i = begin; i < end; i += PART)
        for (const rp_fused_step *s = fused->step; s < fused->step + fused->n; s++) {
            const char *at = s->x; /* NULL: none is read */
            char *to = s->store;

            if (at != NULL)
                at += s->code == 4 * RP_FUSED_MASK_LOAD ? i : i * sizeof(float);
            APART(at);
            step(s, at, y, mask[s->mask], mask[s->a], mask[s->b]);
            if (to == NULL)
                continue;
            to += s->stores_mask ? i : i * sizeof(float);
            APART(to);
            if (s->stores_mask)
                store_mask(to, mask[s->mask]);
            else if (s->past)
                RP_UNROLL for (int r = 0; r < REGISTERS; r++) PAST((float *)(void *)to + r * LANES, y[r]);
            else
                RP_UNROLL for (int r = 0; r < REGISTERS; r++)((at_any *)(void *)to)[r] = y[r];
        }
}
