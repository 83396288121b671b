/* SPDX-License-Identifier: Apache-2.0
 * pow, atan2 and hypot for one instruction set. In binary32 pow and atan2 go by blocks: a loop that vectorises tries
 * all elements and notes which are in doubt, some in 10^7 of them; those are decided one by one. */
#include <string.h>

#include "determinism/math_bivariate_f32_inline.h"
#include "determinism/math_bivariate_inline.h"
#include "kernels/ref/functions/map.h"

enum { BLOCK = 1024 };

typedef float try_f32(float a, float b, uint32_t *doubt);
typedef float decide_f32(float a, float b, float tried);

/* n elements of x, contiguous: where they lie, or brought together. */
static const float *gathered(float *room, const float *x, ptrdiff_t step, ptrdiff_t n)
{
    if (step == 1)
        return x;
    for (ptrdiff_t i = 0; i < n; i++)
        room[i] = x[i * step];
    return room;
}

/* The results wait in y until their inputs, which may lie where they go, are no longer needed. */
RP_INLINE void map_block(float *to, ptrdiff_t step, const float *a, const float *b, ptrdiff_t n, try_f32 *try,
                         decide_f32 *decide)
{
    float y[BLOCK];
    uint32_t doubt[BLOCK], any = 0;

    RP_EACH(i, n) y[i] = try(a[i], b[i], &doubt[i]);
    for (ptrdiff_t i = 0; i < n; i++)
        any |= doubt[i];
    for (ptrdiff_t i = 0; any != 0 && i < n; i++)
        if (doubt[i] != 0)
            y[i] = decide(a[i], b[i], y[i]);
    if (step == 1)
        memcpy(to, y, (size_t)n * sizeof *y);
    else
        for (ptrdiff_t i = 0; i < n; i++)
            to[i * step] = y[i];
}

RP_INLINE void map_tried(const rp_walk *walk, try_f32 *try, decide_f32 *decide)
{
    const ptrdiff_t run = (ptrdiff_t)walk->run;
    const float *a = walk->at[1], *b = walk->at[2];
    float *y = walk->at[0], room_a[BLOCK], room_b[BLOCK];

    for (ptrdiff_t at = 0; at < run; at += BLOCK) {
        const ptrdiff_t n = run - at < BLOCK ? run - at : BLOCK;
        const float *from_a = gathered(room_a, a + at * walk->step[1], walk->step[1], n);
        const float *from_b = gathered(room_b, b + at * walk->step[2], walk->step[2], n);

        map_block(y + at * walk->step[0], walk->step[0], from_a, from_b, n, try, decide);
    }
}

static float decide_pow(float x, float y, float tried)
{
    (void)tried;
    return rp_pow_f32_decide(x, y);
}

static void pow_map_f32(const rp_walk *walk)
{
    map_tried(walk, rp_pow_f32_try, decide_pow);
}

static void atan2_map_f32(const rp_walk *walk)
{
    map_tried(walk, rp_atan2_f32_try, rp_atan2_f32_decide);
}

#include "kernels/type_f32.h"
static inline float hypot_f32(float x, float y)
{
    return rp_hypot_f32_inline(x, y);
}
RP_MAP2(hypot, T)

#include "kernels/type_f64.h"
static inline double atan2_f64(double y, double x)
{
    return rp_atan2_f64_inline(y, x);
}
static inline double hypot_f64(double x, double y)
{
    return rp_hypot_f64_inline(x, y);
}
RP_MAP2(atan2, T)
RP_MAP2(hypot, T)

/* A loop of its own over what cannot overlap: otherwise GCC turns selections into branches around loads. */
static void pow_block_f64(double *restrict y, const double *restrict a, const double *restrict b, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++)
        y[i] = rp_pow_f64_inline(a[i], b[i]);
}

static void pow_map_f64(const rp_walk *walk)
{
    const double *a = walk->at[1], *b = walk->at[2];
    double *y = walk->at[0], from_a[BLOCK], from_b[BLOCK], to[BLOCK];

    for (size_t at = 0; at < walk->run; at += BLOCK) {
        const ptrdiff_t n = (ptrdiff_t)(walk->run - at < BLOCK ? walk->run - at : BLOCK);

        for (ptrdiff_t i = 0; i < n; i++) {
            from_a[i] = a[((ptrdiff_t)at + i) * walk->step[1]];
            from_b[i] = b[((ptrdiff_t)at + i) * walk->step[2]];
        }
        pow_block_f64(to, from_a, from_b, n);
        for (ptrdiff_t i = 0; i < n; i++)
            y[((ptrdiff_t)at + i) * walk->step[0]] = to[i];
    }
}

RP_ELEMENTWISE(pow, 2, 0, function, RP_REALS(pow));
RP_ELEMENTWISE(atan2, 2, 0, function, RP_REALS(atan2));
RP_ELEMENTWISE(hypot, 2, 0, function, RP_REALS(hypot));
