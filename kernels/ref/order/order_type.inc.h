/* SPDX-License-Identifier: Apache-2.0
 * The order of CONTRACT 2.4 for one type, and what is made of it in a line: the first k in order, and places in a line
 * that is in order. IS_NAN(x) is the includer's: of integers none is one. */

/* Whether a comes before b where neither's place counts: a NaN is above every number, zeros are equal. */
static inline bool FN(below)(T a, T b)
{
    return a < b || (IS_NAN(b) && !IS_NAN(a));
}

/* Whether element a of place i comes before b of place j. */
static inline bool FN(precedes)(T a, int64_t i, T b, int64_t j, bool descending)
{
    if (FN(below)(a, b))
        return !descending;
    if (FN(below)(b, a))
        return descending;
    return i < j;
}

/* Lets element `at` of the heap sink below those that it precedes: the root is the last of all in order. */
static void FN(sink)(const order_line *l, size_t at, size_t count)
{
    T *y = (T *)l->y;
    const T value = y[(ptrdiff_t)at * l->y_step];
    const int64_t place = l->place[(ptrdiff_t)at * l->place_step];

    for (;;) {
        size_t child = 2 * at + 1;
        const ptrdiff_t sy = l->y_step, sp = l->place_step;

        if (child >= count)
            break;
        if (child + 1 < count &&
            FN(precedes)(y[(ptrdiff_t)child * sy], l->place[(ptrdiff_t)child * sp], y[(ptrdiff_t)(child + 1) * sy],
                         l->place[(ptrdiff_t)(child + 1) * sp], l->descending))
            child++;
        if (!FN(precedes)(value, place, y[(ptrdiff_t)child * sy], l->place[(ptrdiff_t)child * sp], l->descending))
            break;
        y[(ptrdiff_t)at * sy] = y[(ptrdiff_t)child * sy];
        l->place[(ptrdiff_t)at * sp] = l->place[(ptrdiff_t)child * sp];
        at = child;
    }
    y[(ptrdiff_t)at * l->y_step] = value;
    l->place[(ptrdiff_t)at * l->place_step] = place;
}

/* The first k of n in order. In the line's own memory: a heap of the first k so far, which is then taken apart. Places
 * differ, so the order is of no two elements open, and every way to it gives the same. */
static void FN(order)(const order_line *l)
{
    const T *x = (const T *)l->x;
    T *y = (T *)l->y;

    for (size_t i = 0; i < l->k; i++) {
        y[(ptrdiff_t)i * l->y_step] = x[(ptrdiff_t)i * l->x_step];
        l->place[(ptrdiff_t)i * l->place_step] = (int64_t)i;
    }
    for (size_t i = l->k / 2; i > 0; i--)
        FN(sink)(l, i - 1, l->k);
    for (size_t i = l->k; i < l->n && l->k > 0; i++) {
        const T value = x[(ptrdiff_t)i * l->x_step];

        if (!FN(precedes)(value, (int64_t)i, y[0], l->place[0], l->descending))
            continue;
        y[0] = value;
        l->place[0] = (int64_t)i;
        FN(sink)(l, 0, l->k);
    }
    for (size_t last = l->k; last > 1; last--) {
        const ptrdiff_t at = (ptrdiff_t)(last - 1);
        const T value = y[0];
        const int64_t place = l->place[0];

        y[0] = y[at * l->y_step];
        l->place[0] = l->place[at * l->place_step];
        y[at * l->y_step] = value;
        l->place[at * l->place_step] = place;
        FN(sink)(l, 0, last - 1);
    }
}

/* How many of n elements in ascending order come before value; `right`: and those equal to it. */
static size_t FN(place_in)(const void *sorted, ptrdiff_t step, size_t n, const void *at, bool right)
{
    const T *s = (const T *)sorted, value = *(const T *)at;
    size_t low = 0;

    while (n > 0) {
        const size_t half = n / 2;
        const T middle = s[(ptrdiff_t)(low + half) * step];

        if (right ? !FN(below)(value, middle) : FN(below)(middle, value)) {
            low += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return low;
}
