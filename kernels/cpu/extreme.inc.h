/* SPDX-License-Identifier: Apache-2.0
 * The maximum and the minimum of contiguous reals (CONTRACT 2.4) for one type. They do not depend on the order, so many
 * partial ones are kept; NaNs and zeros, where the machine's comparison knows less than the contract, are looked at
 * apart. BITS is the unsigned type of T's size. */
enum { FN(EXTREME_PARTS) = 64 };

/* Memory is asked for this far ahead: the processor's own fetching goes by the addresses of instructions, and in some
 * builds that took 1.1 of the time. */
#define EXTREME_AHEAD 4096
#define EXTREME_LINE 64

/* Whether a lies further out than b: below it, or above. */
#define FURTHER(a, b) (least ? (a) < (b) : (a) > (b))

/* best[l] = the further one of it and best[l + by] */
#define HALVE(by) \
    for (size_t l = 0; l < (by); l++) \
        best[l] = FURTHER(best[l + (by)], best[l]) ? best[l + (by)] : best[l];

/* Which zero wins where all that is further out is none: +0 is the greatest, -0 the least. */
static inline T FN(extreme_zero)(const T *x, size_t n, bool least)
{
    const T wins = least ? (T)-0.0 : (T)0.0;
    BITS found = 0;

    for (size_t i = 0; i < n; i++)
        found |= FN(rp_bits)(x[i]) == FN(rp_bits)(wins) ? 1 : 0;
    return found != 0 ? wins : -wins;
}

/* What of a row of n elements is asked for when byte `at` is read, as a distance: in the row, or where the next one
 * begins, `next` elements from this one (0: there is none), or as many rows further as are read until then. */
static inline ptrdiff_t FN(extreme_ahead)(size_t at, size_t n, ptrdiff_t next)
{
    const ptrdiff_t row = (ptrdiff_t)(n * sizeof(T)), step = next * (ptrdiff_t)sizeof(T);

    if (row < EXTREME_AHEAD)
        return EXTREME_AHEAD / row * step;
    if ((ptrdiff_t)at + EXTREME_AHEAD < row)
        return EXTREME_AHEAD;
    return next == 0 ? 0 : step - row + EXTREME_AHEAD;
}

RP_INLINE T FN(extreme_contiguous)(const T *x, size_t n, ptrdiff_t next, bool least)
{
    const T none = least ? (T)__builtin_inf() : (T)-__builtin_inf();
    T best[FN(EXTREME_PARTS)], most = none;
    BITS strange[FN(EXTREME_PARTS)] = {0}, any = 0;
    size_t at = 0;

    if (n >= FN(EXTREME_PARTS)) {
        for (size_t l = 0; l < FN(EXTREME_PARTS); l++)
            best[l] = most;
        for (; at + FN(EXTREME_PARTS) <= n; at += FN(EXTREME_PARTS)) {
            const uintptr_t ask = (uintptr_t)(x + at) + (uintptr_t)FN(extreme_ahead)(at * sizeof(T), n, next);

            for (size_t b = 0; b < FN(EXTREME_PARTS) * sizeof(T); b += EXTREME_LINE)
                __builtin_prefetch((const void *)(ask + b));
            for (size_t l = 0; l < FN(EXTREME_PARTS); l++) {
                const T value = x[at + l];

                best[l] = FURTHER(value, best[l]) ? value : best[l];
                strange[l] |= value != value ? (BITS)-1 : 0;
            }
        }
        for (size_t l = 0; l < FN(EXTREME_PARTS); l++)
            any |= strange[l];
        HALVE(32)
        HALVE(16)
        HALVE(8)
        HALVE(4)
        HALVE(2)
        most = FURTHER(best[1], best[0]) ? best[1] : best[0];
    }
    for (size_t i = at; i < n; i++) {
        most = FURTHER(x[i], most) ? x[i] : most;
        any |= x[i] != x[i];
    }
    if (any != 0)
        return (T)__builtin_nan("");
    return most == 0 ? FN(extreme_zero)(x, n, least) : most;
}
#undef EXTREME_LINE
#undef EXTREME_AHEAD
#undef HALVE
#undef FURTHER

static inline T FN(max_contiguous)(const T *x, size_t n, ptrdiff_t next)
{
    return FN(extreme_contiguous)(x, n, next, false);
}

static inline T FN(min_contiguous)(const T *x, size_t n, ptrdiff_t next)
{
    return FN(extreme_contiguous)(x, n, next, true);
}
