/* SPDX-License-Identifier: Apache-2.0
 * CONTRACT 4 as a stream: elements arrive one at a time in order; level 0 sums chunks of elements, level 1 chunks of
 * those sums, and so on. 2^64 elements need six levels of 4096. */
#ifndef KERNELS_REF_LANES_LEVELS
#define KERNELS_REF_LANES_LEVELS
enum { LANES_LEVELS = 6 };
#endif

typedef struct FN(lanes) {
    T lane[LANES_LEVELS][RP_LANES];
    size_t count[LANES_LEVELS];
    int levels; /* that have begun */
} FN(lanes);

static inline void FN(lanes_clear)(FN(lanes) * s, int level)
{
    for (int l = 0; l < RP_LANES; l++)
        s->lane[level][l] = 0;
    s->count[level] = 0;
}

static inline void FN(lanes_begin)(FN(lanes) * s)
{
    s->levels = 1;
    FN(lanes_clear)(s, 0);
}

/* Adds x to `level`; a chunk that is full folds and joins the level above. */
static inline void FN(lanes_push)(FN(lanes) * s, int level, T x)
{
    for (;; level++) {
        if (level == s->levels)
            FN(lanes_clear)(s, s->levels++);
        s->lane[level][s->count[level] % RP_LANES] += x;
        if (++s->count[level] < RP_CHUNK)
            return;
        x = FN(rp_fold_lanes)(s->lane[level]);
        FN(lanes_clear)(s, level);
    }
}

static inline void FN(lanes_add)(FN(lanes) * s, T x)
{
    FN(lanes_push)(s, 0, x);
}

/* The sum. An unfinished chunk is a chunk too; a lone chunk sum at the top is not changed by one more fold. */
static inline T FN(lanes_total)(FN(lanes) * s)
{
    for (int level = 0; level < s->levels - 1; level++)
        if (s->count[level] > 0)
            FN(lanes_push)(s, level + 1, FN(rp_fold_lanes)(s->lane[level]));
    return FN(rp_fold_lanes)(s->lane[s->levels - 1]);
}
