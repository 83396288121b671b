/* SPDX-License-Identifier: Apache-2.0
 * Integer sums wrap, so they need no order. */
static T FN(maximum)(T a, T b)
{
    return a > b ? a : b;
}
static T FN(lowest)(void)
{
    return (T)((WIDE)1 << (sizeof(T) * 8 - 1));
}

static T FN(minimum)(T a, T b)
{
    return a < b ? a : b;
}
static T FN(highest)(void)
{
    return (T)(((WIDE)1 << (sizeof(T) * 8 - 1)) - 1);
}

static bool FN(better)(T x, T best)
{
    return x > best;
}
static bool FN(lower)(T x, T best)
{
    return x < best;
}

static void FN(sum_one)(void *out, elements *e)
{
    rp_walk *walk = from_first(e);
    WIDE total = 0;

    while (rp_walk_next(walk)) {
        const T *x = (const T *)walk->at[0];

        for (size_t i = 0; i < walk->run; i++)
            total += (WIDE)x[(ptrdiff_t)i * walk->step[0]];
    }
    *(T *)out = (T)total;
}

static void FN(prod_one)(void *out, elements *e)
{
    rp_walk *walk = from_first(e);
    WIDE total = 1;

    while (rp_walk_next(walk)) {
        const T *x = (const T *)walk->at[0];

        for (size_t i = 0; i < walk->run; i++)
            total *= (WIDE)x[(ptrdiff_t)i * walk->step[0]];
    }
    *(T *)out = (T)total;
}
