/* SPDX-License-Identifier: Apache-2.0
 * Sums for one type: along contiguous elements, and down columns that lie side by side. */
#include "kernels/ref/lanes.inc.h"
#include "kernels/cpu/sum.inc.h"

/* The lanes of COLUMNS neighbouring sums. Levels as in lanes.inc.h. */
typedef struct FN(columns) {
    T lane[LANES_LEVELS][RP_LANES][COLUMNS];
    size_t count[LANES_LEVELS];
    int levels;
} FN(columns);

static void FN(columns_clear)(FN(columns) *s, int level)
{
    memset(s->lane[level], 0, sizeof s->lane[level]); /* all bits 0 is +0 */
    s->count[level] = 0;
}

static const T *FN(columns_fold)(FN(columns) *s, int level)
{
    for (size_t width = RP_LANES / 2; width > 0; width /= 2)
        for (size_t l = 0; l < width; l++)
            for (size_t c = 0; c < COLUMNS; c++)
                s->lane[level][l][c] += s->lane[level][l + width][c];
    return s->lane[level][0];
}

static void FN(columns_push)(FN(columns) *s, int level, const T *x)
{
    T sums[COLUMNS];

    for (;; level++) {
        T *lane;

        if (level == s->levels)
            FN(columns_clear)(s, s->levels++);
        lane = s->lane[level][s->count[level] % RP_LANES];
        for (size_t c = 0; c < COLUMNS; c++)
            lane[c] += x[c];
        if (++s->count[level] < RP_CHUNK)
            return;
        memcpy(sums, FN(columns_fold)(s, level), sizeof sums);
        FN(columns_clear)(s, level);
        x = sums;
    }
}

/* Sums COLUMNS neighbouring columns; walk gives the rows' offsets in the first of them. */
static void FN(sum_columns)(T *sums, rp_walk walk)
{
    FN(columns) s;

    s.levels = 1;
    FN(columns_clear)(&s, 0);
    while (rp_walk_next(&walk))
        for (size_t i = 0; i < walk.run; i++)
            FN(columns_push)(&s, 0, (const T *)walk.at[0] + (ptrdiff_t)i * walk.step[0]);
    for (int level = 0; level < s.levels - 1; level++)
        if (s.count[level] > 0)
            FN(columns_push)(&s, level + 1, FN(columns_fold)(&s, level));
    memcpy(sums, FN(columns_fold)(&s, s.levels - 1), COLUMNS * sizeof *sums);
}

/* Computes the first outputs of a run by a form that fits and returns how many; 0 when none does. */
static size_t FN(reduce_run)(const rp_walk *kept, rp_walk inner, bool mean)
{
    const T divisor = (T)inner.left;
    T *y = kept->at[0];
    T *x = kept->at[1];
    size_t i = 0;

    if (inner.rank == 1 && inner.step[0] == 1) {
        for (; i < kept->run; i++) {
            const T sum = FN(sum_contiguous)(x + (ptrdiff_t)i * kept->step[1], inner.left);

            y[(ptrdiff_t)i * kept->step[0]] = mean ? sum / divisor : sum;
        }
        return i;
    }
    if (kept->step[1] != 1)
        return 0;
    for (; i + COLUMNS <= kept->run; i += COLUMNS) {
        T sums[COLUMNS];

        inner.next[0] = (char *)(x + i);
        FN(sum_columns)(sums, inner);
        for (size_t c = 0; c < COLUMNS; c++)
            y[(ptrdiff_t)(i + c) * kept->step[0]] = mean ? sums[c] / divisor : sums[c];
    }
    return i;
}
