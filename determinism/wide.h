/* SPDX-License-Identifier: Apache-2.0
 * Unsigned fixed-point numbers below 2^32 with 288 bits behind the point, for the few results that binary64 cannot
 * decide. Slow and plain: 32-bit limbs, the least first. Sums and products by integers are exact; quotients, products
 * and shifts drop what lies below the last place, at most one unit of it. */
#ifndef DETERMINISM_WIDE_H
#define DETERMINISM_WIDE_H

#include <stdint.h>

enum { RP_WIDE_LIMBS = 10, RP_WIDE_POINT = 288 };

typedef struct rp_wide {
    uint32_t limb[RP_WIDE_LIMBS];
} rp_wide;

static inline rp_wide rp_wide_of(uint32_t whole)
{
    rp_wide wide = {{0}};

    wide.limb[RP_WIDE_LIMBS - 1] = whole;
    return wide;
}

static inline int rp_wide_compare(const rp_wide *a, const rp_wide *b)
{
    for (int i = RP_WIDE_LIMBS - 1; i >= 0; i--)
        if (a->limb[i] != b->limb[i])
            return a->limb[i] < b->limb[i] ? -1 : 1;
    return 0;
}

static inline void rp_wide_add(rp_wide *a, const rp_wide *b)
{
    uint64_t carry = 0;

    for (int i = 0; i < RP_WIDE_LIMBS; i++) {
        carry += (uint64_t)a->limb[i] + b->limb[i];
        a->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

/* a >= b */
static inline void rp_wide_sub(rp_wide *a, const rp_wide *b)
{
    uint64_t borrow = 0;

    for (int i = 0; i < RP_WIDE_LIMBS; i++) {
        uint64_t d = (uint64_t)a->limb[i] - b->limb[i] - borrow;

        a->limb[i] = (uint32_t)d;
        borrow = d >> 63;
    }
}

static inline void rp_wide_times(rp_wide *a, uint32_t by)
{
    uint64_t carry = 0;

    for (int i = 0; i < RP_WIDE_LIMBS; i++) {
        carry += (uint64_t)a->limb[i] * by;
        a->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

static inline void rp_wide_over(rp_wide *a, uint32_t by)
{
    uint64_t rest = 0;

    for (int i = RP_WIDE_LIMBS - 1; i >= 0; i--) {
        rest = rest << 32 | a->limb[i];
        a->limb[i] = (uint32_t)(rest / by);
        rest %= by;
    }
}

/* times 2^by, by negative or not */
static inline void rp_wide_shift(rp_wide *a, int by)
{
    rp_wide from = *a;
    int limbs = by >= 0 ? by / 32 : -((31 - by) / 32), bits = by - 32 * limbs;

    for (int i = 0; i < RP_WIDE_LIMBS; i++) {
        int j = i - limbs;
        uint32_t here = j >= 0 && j < RP_WIDE_LIMBS ? from.limb[j] : 0;
        uint32_t below = j >= 1 && j <= RP_WIDE_LIMBS ? from.limb[j - 1] : 0;

        a->limb[i] = bits == 0 ? here : here << bits | below >> (32 - bits);
    }
}

static inline rp_wide rp_wide_product(const rp_wide *a, const rp_wide *b)
{
    uint32_t all[2 * RP_WIDE_LIMBS] = {0};
    rp_wide product;

    for (int i = 0; i < RP_WIDE_LIMBS; i++) {
        uint64_t carry = 0;

        for (int j = 0; j < RP_WIDE_LIMBS; j++) {
            carry += (uint64_t)a->limb[i] * b->limb[j] + all[i + j];
            all[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
        all[i + RP_WIDE_LIMBS] = (uint32_t)carry;
    }
    for (int i = 0; i < RP_WIDE_LIMBS; i++)
        product.limb[i] = all[i + RP_WIDE_LIMBS - 1];
    return product;
}

static inline int rp_wide_is_zero(const rp_wide *a)
{
    uint32_t any = 0;

    for (int i = 0; i < RP_WIDE_LIMBS; i++)
        any |= a->limb[i];
    return any == 0;
}

/* 53 bits rounded to odd: the last is set if any bit is dropped. Rounding that once more to binary32 is then a single
 * rounding, as 53 exceeds 24 by more than two. */
static inline double rp_wide_to_odd(const rp_wide *a)
{
    int top = 32 * RP_WIDE_LIMBS - 1;
    uint64_t m = 0, dropped = 0;

    while (top > 0 && !(a->limb[top / 32] >> top % 32 & 1))
        top--;
    for (int i = top; i >= 0; i--) {
        uint64_t bit = a->limb[i / 32] >> i % 32 & 1;

        if (top - i < 53)
            m = m << 1 | bit;
        else
            dropped |= bit;
    }
    top = top < 52 ? 52 : top;
    return (double)(m | dropped) * rp_pow2_f64((double)(top - 52 - RP_WIDE_POINT));
}

#endif
