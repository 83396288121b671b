/* SPDX-License-Identifier: Apache-2.0
 * Loops of the elementary functions in binary32 over contiguous data: all of it the fast way of fast_f32.h, then the
 * lanes which that left uncertain exactly. FAST_MAP(name) defines name_fast_f32, a map for elementwise.inc.h. */
#ifndef KERNELS_CPU_FAST_MAP_INC_H
#define KERNELS_CPU_FAST_MAP_INC_H

#include "kernels/cpu/fast_f32.h"
#include "kernels/ref/map.h"

#ifdef FAST_LANES

enum { FAST_BLOCK = 1024 };

/* The uncertain lanes of a block: lane i is bit i, also of the words, as these targets are little-endian. */
typedef union fast_bitmap {
    fast_lanes vector[FAST_BLOCK / FAST_LANES];
    uint64_t word[FAST_BLOCK / 64];
} fast_bitmap;

/* The lanes that are certain, and a result that is right in these. */
typedef fast_mask fast_way(fast_f *y, fast_f x);
typedef void fast_exact(float *y); /* FAST_LANES elements in place */

/* The uncertain lanes of y hold their inputs. They are gathered, computed exactly side by side, and put back. */
static __attribute__((noinline)) void fast_mend(float *y, const fast_bitmap *uncertain, fast_exact *exact)
{
    float some[FAST_BLOCK + FAST_LANES];
    uint16_t where[FAST_BLOCK];
    size_t count = 0;

    for (size_t w = 0; w < FAST_BLOCK / 64; w++) {
        if (uncertain->word[w] == UINT64_MAX) {
            for (size_t i = 0; i < 64; i += FAST_LANES)
                exact(y + w * 64 + i);
            continue;
        }
        for (uint64_t lanes = uncertain->word[w]; lanes != 0; lanes &= lanes - 1) {
            where[count] = (uint16_t)(w * 64 + (size_t)__builtin_ctzll(lanes));
            some[count] = y[where[count]];
            count++;
        }
    }
    for (size_t i = 0; i < FAST_LANES; i++)
        some[count + i] = 0.5f; /* an easy input of every function */
    for (size_t i = 0; i < count; i += FAST_LANES)
        exact(some + i);
    for (size_t i = 0; i < count; i++)
        y[where[i]] = some[i];
}

/* No branch in the loop depends on the data: one that fails once in 30 vectors would throw away the work on those
 * behind it. An uncertain lane is stored as its input, as y may be x. */
RP_INLINE void fast_block(float *y, const float *x, fast_way *fast, fast_exact *exact)
{
    fast_bitmap uncertain;

    for (size_t v = 0; v < FAST_BLOCK / FAST_LANES; v++) {
        fast_f result, in = fast_load(x + v * FAST_LANES);
        fast_mask certain = fast(&result, in);

        uncertain.vector[v] = fast_others(certain);
        fast_store(y + v * FAST_LANES, fast_select(certain, result, in));
    }
    fast_mend(y, &uncertain, exact);
}

/* What is less than a block, vector by vector. */
RP_INLINE void fast_rest(float *y, const float *x, size_t n, fast_way *fast, fast_exact *exact)
{
    float part[FAST_LANES];
    fast_f result;

    for (size_t i = 0; i < n; i += FAST_LANES) {
        size_t lanes = n - i < FAST_LANES ? n - i : FAST_LANES;

        for (size_t j = 0; j < FAST_LANES; j++)
            part[j] = j < lanes ? x[i + j] : 0.5f;
        if (fast_others(fast(&result, fast_load(part))) != 0)
            exact(part);
        else
            fast_store(part, result);
        for (size_t j = 0; j < lanes; j++)
            y[i + j] = part[j];
    }
}

RP_INLINE void fast_run(float *y, const float *x, size_t n, fast_way *fast, fast_exact *exact)
{
    size_t i = 0;

    for (; n - i >= FAST_BLOCK; i += FAST_BLOCK)
        fast_block(y + i, x + i, fast, exact);
    fast_rest(y + i, x + i, n - i, fast, exact);
}

#define FAST_MAP(name)                                                              \
    RP_FLAT static void name##_exact(float *y)                                      \
    {                                                                               \
        RP_EACH(i, FAST_LANES) y[i] = rp_##name##_f32(y[i]);                        \
    }                                                                               \
                                                                                    \
    static void name##_fast_f32(const rp_walk *walk)                                \
    {                                                                               \
        if (walk->step[0] == 1 && walk->step[1] == 1)                               \
            fast_run(walk->at[0], walk->at[1], walk->run, fast_##name, name##_exact); \
        else                                                                        \
            name##_map_f32(walk);                                                   \
    }

#endif
#endif
