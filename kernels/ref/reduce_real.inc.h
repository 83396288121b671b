/* SPDX-License-Identifier: Apache-2.0
 * Sum and mean of reals: the lanes of CONTRACT 4.1 over the reduced elements in row-major order. */
#include "kernels/ref/functions/formula.inc.h"
#include "kernels/ref/lanes.inc.h"
#include "kernels/ref/products.inc.h"

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

static T FN(sum_over)(elements *e)
{
    rp_walk *walk = from_first(e);
    FN(lanes) lanes;

    FN(lanes_begin)(&lanes);
    while (rp_walk_next(walk)) {
        const T *x = (const T *)walk->at[0];

        for (size_t i = 0; i < walk->run; i++)
            FN(lanes_add)(&lanes, x[(ptrdiff_t)i * walk->step[0]]);
    }
    return FN(lanes_total)(&lanes);
}

static void FN(sum_one)(void *out, elements *e)
{
    *(T *)out = FN(sum_over)(e);
}

static void FN(prod_one)(void *out, elements *e)
{
    rp_walk *walk = from_first(e);
    FN(products) products;

    FN(products_begin)(&products);
    while (rp_walk_next(walk)) {
        const T *x = (const T *)walk->at[0];

        for (size_t i = 0; i < walk->run; i++)
            FN(products_push)(&products, 0, x[(ptrdiff_t)i * walk->step[0]]);
    }
    *(T *)out = FN(products_total)(&products);
}

/* The sum divided by the count, which is rounded to T first. */
static void FN(mean_one)(void *out, elements *e)
{
    *(T *)out = FN(sum_over)(e) / (T)e->count;
}

/* The sum of (x - mean)^2 over the count less the correction, but not less than 0. */
static void FN(var_one)(void *out, elements *e)
{
    const T mean = FN(sum_over)(e) / (T)e->count;
    const int64_t n = (int64_t)e->count, correction = RP_AT(e->walk.attr, var, correction).i;
    rp_walk *walk = from_first(e);
    FN(lanes) lanes;

    FN(lanes_begin)(&lanes);
    while (rp_walk_next(walk)) {
        const T *x = (const T *)walk->at[0];

        for (size_t i = 0; i < walk->run; i++) {
            const T d = x[(ptrdiff_t)i * walk->step[0]] - mean;

            FN(lanes_add)(&lanes, d * d);
        }
    }
    *(T *)out = FN(lanes_total)(&lanes) / (T)(n > correction ? n - correction : 0);
}

/* log of the sum of exp(x), x taken from the maximum where that is finite. */
static void FN(logsumexp_one)(void *out, elements *e)
{
    T most = FN(lowest)(), from;
    rp_walk *walk = from_first(e);
    FN(lanes) lanes;

    while (rp_walk_next(walk)) {
        const T *x = (const T *)walk->at[0];

        for (size_t i = 0; i < walk->run; i++)
            most = FN(maximum)(most, x[(ptrdiff_t)i * walk->step[0]]);
    }
    from = most - most == 0 ? most : (T)0;
    walk = from_first(e);
    FN(lanes_begin)(&lanes);
    while (rp_walk_next(walk)) {
        const T *x = (const T *)walk->at[0];

        for (size_t i = 0; i < walk->run; i++)
            FN(lanes_add)(&lanes, FN(rp_exp)(x[(ptrdiff_t)i * walk->step[0]] - from));
    }
    *(T *)out = from + FN(rp_log)(FN(lanes_total)(&lanes));
}
