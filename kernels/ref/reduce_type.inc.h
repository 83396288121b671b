/* SPDX-License-Identifier: Apache-2.0
 * Maximum, minimum, their places and running sums for one type. */

/* What `choose` keeps of all elements, beginning with the value of none. */
#define CHOSEN(name, none, choose) \
    static void FN(name)(void *out, const rp_walk *start) \
    { \
        rp_walk walk = *start; \
        T best = FN(none)(); \
\
        while (rp_walk_next(&walk)) { \
            const T *x = walk.at[0]; \
\
            for (size_t i = 0; i < walk.run; i++) \
                best = FN(choose)(best, x[(ptrdiff_t)i * walk.step[0]]); \
        } \
        *(T *)out = best; \
    }

CHOSEN(max_one, lowest, maximum)
CHOSEN(min_one, highest, minimum)
#undef CHOSEN

/* The first of the greatest; a NaN is greater than every number, zeros are equal. */
static int64_t FN(argmax_over)(rp_walk walk)
{
    T best = 0;
    int64_t found = 0;

    while (rp_walk_next(&walk)) {
        const T *x = walk.at[0];

        for (size_t i = 0; i < walk.run; i++) {
            const T value = x[(ptrdiff_t)i * walk.step[0]];

            if (walk.first + i == 0 || FN(better)(value, best)) {
                best = value;
                found = (int64_t)(walk.first + i);
            }
        }
    }
    return found;
}

static void FN(argmax_one)(void *out, const rp_walk *walk)
{
    *(int64_t *)out = FN(argmax_over)(*walk);
}
