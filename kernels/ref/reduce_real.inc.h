/* SPDX-License-Identifier: Apache-2.0
 * Sum and mean of reals: the lanes of CONTRACT 4.1 over the reduced elements in row-major order. */
#include "kernels/ref/functions/formula.inc.h"
#include "kernels/ref/lanes.inc.h"

static T FN(lowest)(void)
{
    return (T)-__builtin_inf();
}

static T FN(highest)(void)
{
    return (T)__builtin_inf();
}

/* Whether x takes the place of the maximum, or minimum, so far. */
static bool FN(better)(T x, T best)
{
    return x > best || (x != x && best == best);
}
static bool FN(lower)(T x, T best)
{
    return x < best || (x != x && best == best);
}

static T FN(sum_over)(rp_walk walk)
{
    FN(lanes) lanes;

    FN(lanes_begin)(&lanes);
    while (rp_walk_next(&walk)) {
        const T *x = walk.at[0];

        for (size_t i = 0; i < walk.run; i++)
            FN(lanes_add)(&lanes, x[(ptrdiff_t)i * walk.step[0]]);
    }
    return FN(lanes_total)(&lanes);
}

static void FN(sum_one)(void *out, const rp_walk *walk)
{
    *(T *)out = FN(sum_over)(*walk);
}

/* The sum divided by the count, which is rounded to T first. */
static void FN(mean_one)(void *out, const rp_walk *walk)
{
    *(T *)out = FN(sum_over)(*walk) / (T)walk->left;
}

/* Of one element, which is its mean: what the lanes below give, without them. */
static T FN(var_of_one)(rp_walk walk, int64_t correction)
{
    T d = 0;

    if (rp_walk_next(&walk))
        d = *(const T *)walk.at[0] - *(const T *)walk.at[0];
    return d * d / (T)(correction < 1 ? 1 - correction : 0);
}

/* The sum of (x - mean)^2 over the count less the correction, but not less than 0. */
static void FN(var_one)(void *out, const rp_walk *start)
{
    if (start->left == 1) {
        *(T *)out = FN(var_of_one)(*start, RP_AT(start->attr, var, correction).i);
        return;
    }

    const T mean = FN(sum_over)(*start) / (T)start->left;
    const int64_t n = (int64_t)start->left, correction = RP_AT(start->attr, var, correction).i;
    rp_walk walk = *start;
    FN(lanes) lanes;

    FN(lanes_begin)(&lanes);
    while (rp_walk_next(&walk)) {
        const T *x = walk.at[0];

        for (size_t i = 0; i < walk.run; i++) {
            const T d = x[(ptrdiff_t)i * walk.step[0]] - mean;

            FN(lanes_add)(&lanes, d * d);
        }
    }
    *(T *)out = FN(lanes_total)(&lanes) / (T)(n > correction ? n - correction : 0);
}

/* log of the sum of exp(x), x taken from the maximum where that is finite. */
static void FN(logsumexp_one)(void *out, const rp_walk *start)
{
    T most = FN(lowest)(), from;
    rp_walk walk = *start;
    FN(lanes) lanes;

    while (rp_walk_next(&walk)) {
        const T *x = walk.at[0];

        for (size_t i = 0; i < walk.run; i++)
            most = FN(maximum)(most, x[(ptrdiff_t)i * walk.step[0]]);
    }
    from = most - most == 0 ? most : (T)0;
    walk = *start;
    FN(lanes_begin)(&lanes);
    while (rp_walk_next(&walk)) {
        const T *x = walk.at[0];

        for (size_t i = 0; i < walk.run; i++)
            FN(lanes_add)(&lanes, FN(rp_exp)(x[(ptrdiff_t)i * walk.step[0]] - from));
    }
    *(T *)out = from + FN(rp_log)(FN(lanes_total)(&lanes));
}
