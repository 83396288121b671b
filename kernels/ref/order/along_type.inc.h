/* SPDX-License-Identifier: Apache-2.0
 * Taking along an axis for elements of one type, and scattering: element i of n has its index at at[i], and what that
 * counts from is i steps from the first. A line of the axis has no steps there, neighbouring lines have them. IS_NAN(x)
 * and the choice of equal elements are the includer's, and NO_MOVES, where another type of the size moves the elements.
 */

#ifndef NO_MOVES
static void FN(take)(T *to, ptrdiff_t to_step, const T *from, ptrdiff_t from_step, const along_index *at, size_t n)
{
    for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++)
        to[i * to_step] = from[i * from_step + index_along(at, i) * at->axis_stride];
}

static void FN(copy)(T *to, ptrdiff_t to_step, const T *from, ptrdiff_t from_step, size_t n)
{
    for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++)
        to[i * to_step] = from[i * from_step];
}
#endif

#ifdef WIDE /* a number */
/* 2.4; of two zeros that with the sign, as EQUAL_MOST and EQUAL_LEAST have it. Which of two is the greater nobody can
 * foresee, so it is looked up. */
static inline T FN(most_of)(T a, T b)
{
    const T both[2] = {b, a};

    return a == b ? EQUAL_MOST(a, b) : both[(a > b) | IS_NAN(a)];
}

static inline T FN(least_of)(T a, T b)
{
    const T both[2] = {b, a};

    return a == b ? EQUAL_LEAST(a, b) : both[(a < b) | IS_NAN(a)];
}
#endif

#define SCATTER(name, combined) \
    static void FN(name)(T * to, ptrdiff_t to_step, const T *from, ptrdiff_t from_step, const along_index *at, \
                         size_t n) \
    { \
        for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++) { \
            T *y = to + i * to_step + index_along(at, i) * at->axis_stride; \
            const T a = *y, x = from[i * from_step]; \
\
            (void)a; \
            *y = combined; \
        } \
    }
SCATTER(scatter_set, x)
#ifdef WIDE /* a number */
SCATTER(scatter_sum, (T)((WIDE)a + (WIDE)x))
SCATTER(scatter_product, (T)((WIDE)a *(WIDE)x))
SCATTER(scatter_most, FN(most_of)(a, x))
SCATTER(scatter_least, FN(least_of)(a, x))
#endif
#undef SCATTER
