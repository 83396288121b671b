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

/* What a comparison says of each lane: a bit, where the processor has registers of those, or the lane's bits. */
#if defined(__AVX512F__)
typedef __mmask16 mask;
#define COMPARE(name, how, code) \
    RP_INLINE mask name(vec a, vec b) \
    { \
        return _mm512_cmp_ps_mask((__m512)a, (__m512)b, code); \
    }
RP_INLINE vec choose(mask m, vec yes, vec no)
{
    return (vec)_mm512_mask_blend_ps(m, (__m512)no, (__m512)yes);
}
RP_INLINE mask of_bools(bytes x)
{
    return _mm_test_epi8_mask((__m128i)x, (__m128i)x);
}
RP_INLINE bytes to_bools(mask m)
{
    return (bytes)_mm_maskz_set1_epi8(m, 1);
}
#else
typedef bits mask;
#define COMPARE(name, how, code) \
    RP_INLINE mask name(vec a, vec b) \
    { \
        return (bits)(a how b); \
    }
RP_INLINE vec choose(mask m, vec yes, vec no)
{
    return (vec)((m & (bits)yes) | (~m & (bits)no));
}
RP_INLINE mask of_bools(bytes x)
{
    return __builtin_convertvector(x != 0, bits);
}
RP_INLINE bytes to_bools(mask m)
{
    return __builtin_convertvector(m, bytes) & 1;
}
#endif
COMPARE(equal, ==, _CMP_EQ_OQ)
COMPARE(unequal, !=, _CMP_NEQ_UQ)
COMPARE(less, <, _CMP_LT_OQ)
COMPARE(at_most, <=, _CMP_LE_OQ)
COMPARE(greater, >, _CMP_GT_OQ)
COMPARE(at_least, >=, _CMP_GE_OQ)

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

RP_INLINE vec all_of(float x)
{
    return x - (vec){0};
}
RP_INLINE vec choose_else(mask m, vec no, vec yes)
{
    return choose(m, yes, no);
}
RP_INLINE vec only(mask m, vec x)
{
    return choose(m, x, (vec){0});
}

RP_INLINE bool same_bits(float a, float b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

/* A NaN wins; equal numbers differ in the sign of a zero only, where +0 is the greater. */
RP_INLINE vec both_maximum(vec a, vec b)
{
    const vec most = choose((mask)(greater(a, b) | unequal(a, a)), a, b);

    return choose(equal(a, b), (vec)((bits)most & (bits)a), most);
}

RP_INLINE vec both_minimum(vec a, vec b)
{
    const vec least = choose((mask)(less(a, b) | unequal(a, a)), a, b);

    return choose(equal(a, b), (vec)((bits)least | (bits)a), least);
}

/* The derivatives: of the gradient that arrives, and the input or the output. */
RP_INLINE vec both_relu_grad(vec a, vec b)
{
    return choose(greater(b, all_of(0)), a, only(unequal(b, b), b));
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
    return choose(at_most(x, all_of(0)), all_of(0), x);
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
    return choose(greater(x, all_of(0)), x, x * slope);
}
RP_INLINE vec one_hardtanh(vec x, float least, float most)
{
    return choose(less(x, all_of(least)), all_of(least), choose(greater(x, all_of(most)), all_of(most), x));
}
RP_INLINE vec one_sign(vec x)
{
    const vec one = (vec)(((bits)x & INT32_MIN) | (bits)all_of(1));

    return choose((mask)(greater(x, all_of(0)) | less(x, all_of(0))), one, x);
}

/* Whole numbers, as ref/functions/formula.inc.h has them. */
RP_INLINE vec signed_as(vec magnitude, vec x)
{
    return (vec)((bits)magnitude ^ ((bits)x & INT32_MIN));
}
RP_INLINE vec one_round(vec x)
{
    const vec a = one_abs(x), near = (a + 0x1p23f) - 0x1p23f;

    return signed_as(choose(less(a, all_of(0x1p23f)), near, a), x);
}
RP_INLINE vec one_floor(vec x)
{
    const vec near = one_round(x), below = near - only(greater(near, x), all_of(1));

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

/* An address that the compiler does not know to be one of a few that grow together: it would keep all their sums with
 * places of registers, or work them out before it knows the step. */
#define APART(address) __asm__("" : "+r"(address))

RP_INLINE const char *operand(const rp_fused_step *s, size_t byte)
{
    const char *x = (const char *)s->x + byte;

    APART(x);
    return x;
}

RP_INLINE mask *mask_at(mask (*masks)[REGISTERS], size_t number)
{
    APART(number);
    return masks[number];
}

/* What a case needs is looked up there: a step that needs none of it waits for none. */
#define VALUE(value) \
    RP_UNROLL for (int r = 0; r < REGISTERS; r++) y[r] = value; \
    break;
#define WITH_X(value) \
    x = operand(s, i * sizeof(float)); \
    VALUE(value)
#define MASK(value) \
    RP_UNROLL for (int r = 0; r < REGISTERS; r++) m[r] = value; \
    break;
#define X ((const at_any *)x)[r]
#define SCALAR all_of(*(const float *)s->x)
#define BOTH(op, f) \
    case 4 * (op): \
        WITH_X(f(y[r], X)) \
    case 4 * (op) + RP_FUSED_SECOND: \
        WITH_X(f(X, y[r])) \
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
        VALUE(choose(how(c, y[r]), c, y[r])) \
    } \
    VALUE(f(__VA_ARGS__))
#define EXTREME(op, f, how, loser) \
    case 4 * (op): \
        WITH_X(f(y[r], X)) \
    case 4 * (op) + RP_FUSED_SECOND: \
        WITH_X(f(X, y[r])) \
    case 4 * (op) + RP_FUSED_SCALAR: \
        BOUND(f, how, loser, y[r], c) \
    case 4 * (op) + RP_FUSED_SCALAR + RP_FUSED_SECOND: \
        BOUND(f, how, loser, c, y[r])
#define SIDE(op, f, choice) \
    case 4 * (op): \
        m = mask_at(masks, s->mask); \
        WITH_X(choice(m[r], f(y[r], X), y[r])) \
    case 4 * (op) + RP_FUSED_SECOND: \
        m = mask_at(masks, s->mask); \
        WITH_X(choice(m[r], f(X, y[r]), y[r])) \
    case 4 * (op) + RP_FUSED_SCALAR: \
        m = mask_at(masks, s->mask); \
        c = SCALAR; \
        VALUE(choice(m[r], f(y[r], c), y[r])) \
    case 4 * (op) + RP_FUSED_SCALAR + RP_FUSED_SECOND: \
        m = mask_at(masks, s->mask); \
        c = SCALAR; \
        VALUE(choice(m[r], f(c, y[r]), y[r]))
#define COMPARED(op, how) \
    case 4 * (op): \
        m = mask_at(masks, s->mask); \
        x = operand(s, i * sizeof(float)); \
        MASK(how(y[r], X)) \
    case 4 * (op) + RP_FUSED_SCALAR: \
        m = mask_at(masks, s->mask); \
        c = SCALAR; \
        MASK(how(y[r], c))
#define ONE(op, ...) \
    case 4 * (op): \
        VALUE(__VA_ARGS__)
#define MASKS(op, value) \
    case 4 * (op): \
        m = mask_at(masks, s->mask); \
        a = mask_at(masks, s->a); \
        b = mask_at(masks, s->b); \
        MASK(value)

/* Changes y or a mask, of elements from i on. */
RP_INLINE void step(const rp_fused_step *s, size_t i, vec *restrict y, mask (*masks)[REGISTERS])
{
    const mask *a, *b;
    const char *x;
    mask *m;
    vec c;

    switch (s->code) {
        BOTH(RP_FUSED_ADD, both_add)
        BOTH(RP_FUSED_SUB, both_sub)
        BOTH(RP_FUSED_MUL, both_mul)
        BOTH(RP_FUSED_DIV, both_div)
        EXTREME(RP_FUSED_MAXIMUM, both_maximum, at_least, -0.0f)
        EXTREME(RP_FUSED_MINIMUM, both_minimum, at_most, 0.0f)
        BOTH(RP_FUSED_RELU_GRAD, both_relu_grad)
        BOTH(RP_FUSED_TANH_GRAD, both_tanh_grad)
        BOTH(RP_FUSED_SIGMOID_GRAD, both_sigmoid_grad)
    case 4 * RP_FUSED_SELECT:
        m = mask_at(masks, s->mask);
        WITH_X(choose(m[r], y[r], X))
    case 4 * RP_FUSED_SELECT + RP_FUSED_SECOND:
        m = mask_at(masks, s->mask);
        WITH_X(choose(m[r], X, y[r]))
    case 4 * RP_FUSED_SELECT + RP_FUSED_SCALAR:
        m = mask_at(masks, s->mask);
        c = SCALAR;
        VALUE(choose(m[r], y[r], c))
    case 4 * RP_FUSED_SELECT + RP_FUSED_SCALAR + RP_FUSED_SECOND:
        m = mask_at(masks, s->mask);
        c = SCALAR;
        VALUE(choose(m[r], c, y[r]))
        SIDE(RP_FUSED_IF_ADD, both_add, choose)
        SIDE(RP_FUSED_IF_MUL, both_mul, choose)
        SIDE(RP_FUSED_ELSE_ADD, both_add, choose_else)
        SIDE(RP_FUSED_ELSE_MUL, both_mul, choose_else)
    case 4 * RP_FUSED_IF_SQUARE:
        m = mask_at(masks, s->mask);
        VALUE(choose(m[r], y[r] * y[r], y[r]))
    case 4 * RP_FUSED_ELSE_SQUARE:
        m = mask_at(masks, s->mask);
        VALUE(choose(m[r], y[r], y[r] * y[r]))
    case 4 * RP_FUSED_LOAD + RP_FUSED_SCALAR:
        c = SCALAR;
        VALUE(c)
        COMPARED(RP_FUSED_EQ, equal)
        COMPARED(RP_FUSED_NE, unequal)
        COMPARED(RP_FUSED_LT, less)
        COMPARED(RP_FUSED_LE, at_most)
        COMPARED(RP_FUSED_GT, greater)
        COMPARED(RP_FUSED_GE, at_least)
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
    case 4 * RP_FUSED_OF_MASK:
        m = mask_at(masks, s->mask);
        VALUE(only(m[r], all_of(1)))
    case 4 * RP_FUSED_MASK_LOAD:
        m = mask_at(masks, s->mask);
        x = operand(s, i);
        MASK(of_bools(((const bytes_at_any *)x)[r]))
        MASKS(RP_FUSED_MASK_NOT, (mask)~a[r])
        MASKS(RP_FUSED_MASK_AND, a[r] & b[r])
        MASKS(RP_FUSED_MASK_OR, a[r] | b[r])
        MASKS(RP_FUSED_MASK_XOR, a[r] ^ b[r])
    }
}

static void store_mask(char *to, const mask *m)
{
    bytes_at_any *bools = (bytes_at_any *)(void *)to;

    RP_UNROLL for (int r = 0; r < REGISTERS; r++) bools[r] = to_bools(m[r]);
}

/* So many elements ahead: as far as memory takes to answer. All of a block at once would wait for one another. */
enum { AHEAD = 512, LINE = 64 };

RP_INLINE void fetch(const rp_fused *fused, size_t i)
{
    for (size_t s = 0; s < fused->n_streams; s++) {
        const size_t size = fused->stream[s].size;
        const uintptr_t from = (uintptr_t)fused->stream[s].x + (i + AHEAD) * size; /* beyond the end none is fetched */

        for (size_t byte = 0; byte < PART * size; byte += LINE)
            __builtin_prefetch((const void *)(from + byte), 0, 3);
    }
}

extern rp_fused_run RP_LEVEL_NAME(rp_fused_run, RP_LEVEL);
void RP_LEVEL_NAME(rp_fused_run, RP_LEVEL)(const rp_fused *fused, size_t begin, size_t end)
{
    mask masks[RP_FUSED_MASKS][REGISTERS];
    vec y[REGISTERS] = {{0}}; /* a run may begin with masks */

    for (size_t i = begin; i < end; i += PART) {
        fetch(fused, i);
        for (const rp_fused_step *s = fused->step; s < fused->step + fused->n; s++) {
            const char *from = s->load;
            char *to = s->store;

            if (from != NULL) {
                from += i * sizeof(float);
                APART(from);
                RP_UNROLL for (int r = 0; r < REGISTERS; r++) y[r] = ((const at_any *)(const void *)from)[r];
            }
            step(s, i, y, masks);
            if (to == NULL)
                continue;
            to += s->stores_mask ? i : i * sizeof(float);
            APART(to);
            if (s->stores_mask)
                store_mask(to, masks[s->mask]);
            else if (s->past)
                RP_UNROLL for (int r = 0; r < REGISTERS; r++) PAST((float *)(void *)to + r * LANES, y[r]);
            else
                RP_UNROLL for (int r = 0; r < REGISTERS; r++)((at_any *)(void *)to)[r] = y[r];
        }
    }
}
