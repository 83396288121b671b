/* SPDX-License-Identifier: Apache-2.0
 * Maximum, minimum, their places and running sums for one type. */

/* What `choose` keeps of all elements, beginning with the value of none. */
#define CHOSEN(name, none, choose) \
    static void FN(name)(void *out, elements *e) \
    { \
        rp_walk *walk = from_first(e); \
        T best = FN(none)(); \
\
        while (rp_walk_next(walk)) { \
            const T *x = (const T *)walk->at[0]; \
\
            for (size_t i = 0; i < walk->run; i++) \
                best = FN(choose)(best, x[(ptrdiff_t)i * walk->step[0]]); \
        } \
        *(T *)out = best; \
    }

CHOSEN(max_one, lowest, maximum)
CHOSEN(min_one, highest, minimum)
#undef CHOSEN

/* The place of the first element that no other beats; a NaN beats every number, zeros are equal. */
#define PLACE_OF(name, beats) \
    static void FN(name)(void *out, elements *e) \
    { \
        rp_walk *walk = from_first(e); \
        int64_t found = 0; \
        T best = 0; \
\
        while (rp_walk_next(walk)) { \
            const T *x = (const T *)walk->at[0]; \
\
            for (size_t i = 0; i < walk->run; i++) { \
                const T value = x[(ptrdiff_t)i * walk->step[0]]; \
\
                if (walk->first + i == 0 || FN(beats)(value, best)) { \
                    best = value; \
                    found = (int64_t)(walk->first + i); \
                } \
            } \
        } \
        *(int64_t *)out = found; \
    }

PLACE_OF(argmax_one, better)
PLACE_OF(argmin_one, lower)
#undef PLACE_OF

/* n elements of a line, of which each result is the one before it and the element joined. */
#define LINE_OF(name, op) \
    static void FN(name)(void *out, ptrdiff_t step_out, const void *in, ptrdiff_t step_in, size_t n) \
    { \
        const T *x = (const T *)in; \
        T *y = (T *)out, so_far = n > 0 ? *x : 0; \
\
        for (size_t i = 0; i < n; i++) { \
            if (i > 0) \
                so_far = (T)((WIDE)so_far op(WIDE) x[(ptrdiff_t)i * step_in]); \
            y[(ptrdiff_t)i * step_out] = so_far; \
        } \
    }

LINE_OF(cumsum_line, +)
LINE_OF(cumprod_line, *)
#undef LINE_OF
