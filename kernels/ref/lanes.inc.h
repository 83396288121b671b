/* SPDX-License-Identifier: Apache-2.0
 * CONTRACT 4 as a stream: elements arrive one at a time in order; level 0 sums chunks of elements, level 1 chunks of
 * those sums, and so on, at most RP_SUM_LEVELS. */
typedef struct FN(lanes) {
    T lane[RP_SUM_LEVELS][RP_LANES]; /* those that an element has joined */
    size_t count[RP_SUM_LEVELS];
    int levels; /* that have begun */
} FN(lanes);

static inline void FN(lanes_begin)(FN(lanes) * s)
{
    s->levels = 1;
    s->count[0] = 0;
}

/* The fold by halves. A lane that nothing joined is +0, and adding +0 changes no lane: none is -0, for all began at
 * +0. So what few elements cost is that of few additions. */
RP_KERNEL_APART static inline T FN(lanes_fold)(FN(lanes) * s, int level)
{
    T *lane = s->lane[level];
    size_t used = s->count[level];

    if (used == 0)
        return 0;
    if (used >= RP_LANES)
        return FN(rp_fold_lanes)(lane);
    for (size_t width = RP_LANES / 2; width > 0; width /= 2) {
        for (size_t l = 0; l + width < used; l++)
            lane[l] += lane[l + width];
        used = used < width ? used : width;
    }
    return lane[0];
}

/* Adds x to `level`; a chunk that is full folds and joins the level above. */
RP_KERNEL_APART static inline void FN(lanes_push)(FN(lanes) * s, int level, T x)
{
    for (;; level++) {
        T *lane;

        if (level == s->levels)
            s->count[s->levels++] = 0;
        lane = &s->lane[level][s->count[level] % RP_LANES];
        *lane = (s->count[level] < RP_LANES ? (T)0 : *lane) + x;
        if (++s->count[level] < RP_CHUNK)
            return;
        x = FN(lanes_fold)(s, level);
        s->count[level] = 0;
    }
}

static inline void FN(lanes_add)(FN(lanes) * s, T x)
{
    FN(lanes_push)(s, 0, x);
}

/* The sum. An unfinished chunk is a chunk too; a lone chunk sum at the top is not changed by one more fold. */
RP_KERNEL_APART static inline T FN(lanes_total)(FN(lanes) * s)
{
    for (int level = 0; level < s->levels - 1; level++)
        if (s->count[level] > 0)
            FN(lanes_push)(s, level + 1, FN(lanes_fold)(s, level));
    return FN(lanes_fold)(s, s->levels - 1);
}
