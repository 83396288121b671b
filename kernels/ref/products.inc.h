/* SPDX-License-Identifier: Apache-2.0
 * Products in the order of CONTRACT 4.1, as a stream: lanes.inc.h with a multiplication for each addition, and lanes
 * that begin at 1. */
typedef struct FN(products) {
    T lane[RP_SUM_LEVELS][RP_LANES]; /* those that an element has joined: 1 times x is x */
    size_t count[RP_SUM_LEVELS];
    int levels; /* that have begun */
} FN(products);

static inline void FN(products_begin)(FN(products) * s)
{
    s->levels = 1;
    s->count[0] = 0;
}

RP_KERNEL_APART static inline T FN(products_fold)(FN(products) * s, int level)
{
    T *lane = s->lane[level];
    size_t used = s->count[level] < RP_LANES ? s->count[level] : RP_LANES;

    if (used == 0)
        return 1;
    for (size_t width = RP_LANES / 2; width > 0; width /= 2) {
        for (size_t l = 0; l + width < used; l++)
            lane[l] *= lane[l + width];
        used = used < width ? used : width;
    }
    return lane[0];
}

/* x joins `level`; a chunk that is full folds and joins the level above. */
RP_KERNEL_APART static inline void FN(products_push)(FN(products) * s, int level, T x)
{
    for (;; level++) {
        T *lane;

        if (level == s->levels)
            s->count[s->levels++] = 0;
        lane = &s->lane[level][s->count[level] % RP_LANES];
        *lane = s->count[level] < RP_LANES ? x : *lane * x;
        if (++s->count[level] < RP_CHUNK)
            return;
        x = FN(products_fold)(s, level);
        s->count[level] = 0;
    }
}

RP_KERNEL_APART static inline T FN(products_total)(FN(products) * s)
{
    for (int level = 0; level < s->levels - 1; level++)
        if (s->count[level] > 0)
            FN(products_push)(s, level + 1, FN(products_fold)(s, level));
    return FN(products_fold)(s, s->levels - 1);
}
