/* SPDX-License-Identifier: Apache-2.0
 * Natural numbers of bounded size, little-endian words, for decimal.c alone: no allocation, so no failure. The caller
 * keeps every value below 32 * NATURAL_WORDS bits. */
#ifndef DETERMINISM_NATURAL_H
#define DETERMINISM_NATURAL_H

#include <stdint.h>
#include <string.h>

/* The largest number of decimal.c: 5^(DIGITS + 1 - POINT_MIN) under a long subnormal input, 2627 bits, and a few bits
 * of shift. */
enum { NATURAL_WORDS = 96 };

typedef struct natural {
    int used; /* words, the last of them not zero; 0 for zero */
    uint32_t word[NATURAL_WORDS];
} natural;

static inline void natural_set(natural *n, uint64_t value)
{
    n->word[0] = (uint32_t)value;
    n->word[1] = (uint32_t)(value >> 32);
    n->used = n->word[1] ? 2 : n->word[0] ? 1 : 0;
}

/* n = n * factor + term */
static inline void natural_scale(natural *n, uint32_t factor, uint32_t term)
{
    uint64_t carry = term;

    for (int i = 0; i < n->used; i++) {
        carry += (uint64_t)n->word[i] * factor;
        n->word[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry)
        n->word[n->used++] = (uint32_t)carry;
}

static inline void natural_scale_pow5(natural *n, int power)
{
    for (; power >= 13; power -= 13)
        natural_scale(n, 1220703125u, 0);
    for (; power > 0; power--)
        natural_scale(n, 5, 0);
}

static inline void natural_shift(natural *n, int bits)
{
    int words = bits / 32, rest = bits % 32;

    if (n->used == 0)
        return;
    if (rest)
        natural_scale(n, (uint32_t)1 << rest, 0);
    if (words == 0)
        return;
    memmove(n->word + words, n->word, (size_t)n->used * sizeof *n->word);
    memset(n->word, 0, (size_t)words * sizeof *n->word);
    n->used += words;
}

static inline int natural_bits(const natural *n)
{
    return n->used == 0 ? 0 : 32 * n->used - __builtin_clz(n->word[n->used - 1]);
}

static inline int natural_compare(const natural *a, const natural *b)
{
    if (a->used != b->used)
        return a->used < b->used ? -1 : 1;
    for (int i = a->used; i-- > 0;)
        if (a->word[i] != b->word[i])
            return a->word[i] < b->word[i] ? -1 : 1;
    return 0;
}

/* a -= b, where a >= b */
static inline void natural_subtract(natural *a, const natural *b)
{
    uint64_t borrow = 0;

    for (int i = 0; i < a->used; i++) {
        uint64_t take = (i < b->used ? b->word[i] : 0) + borrow;

        borrow = a->word[i] < take;
        a->word[i] -= (uint32_t)take;
    }
    while (a->used > 0 && a->word[a->used - 1] == 0)
        a->used--;
}

/* compares a + b with c */
static inline int natural_compare_sum(const natural *a, const natural *b, const natural *c)
{
    natural sum = *a;
    uint64_t carry = 0;

    for (int i = 0; i < sum.used || i < b->used || carry; i++) {
        carry += (uint64_t)(i < sum.used ? sum.word[i] : 0) + (i < b->used ? b->word[i] : 0);
        sum.word[i] = (uint32_t)carry;
        carry >>= 32;
        if (i >= sum.used)
            sum.used = i + 1;
    }
    return natural_compare(&sum, c);
}

#endif
