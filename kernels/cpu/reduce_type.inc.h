/* SPDX-License-Identifier: Apache-2.0
 * Sums and maxima for one type: along contiguous elements, and down columns that lie side by side. */
#include "kernels/ref/formula.inc.h"
#include "kernels/ref/lanes.inc.h"
#include "kernels/cpu/max.inc.h"
#include "kernels/cpu/sum.inc.h"

enum { FN(COLUMNS) = COLUMN_BYTES / sizeof(T) };

/* The lanes of up to COLUMNS neighbouring sums. Levels as in lanes.inc.h. */
typedef struct FN(columns) {
    T lane[LANES_LEVELS][RP_LANES][FN(COLUMNS)];
    size_t count[LANES_LEVELS], width;
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
            for (size_t c = 0; c < FN(COLUMNS); c++)
                s->lane[level][l][c] += s->lane[level][l + width][c];
    return s->lane[level][0];
}

/* lane[c] += x[c]: the whole width straight, as that is almost all of the work. */
RP_INLINE void FN(columns_add)(T *lane, const T *x, size_t width)
{
    if (width == FN(COLUMNS))
        for (size_t c = 0; c < FN(COLUMNS); c++)
            lane[c] += x[c];
    else
        for (size_t c = 0; c < width; c++)
            lane[c] += x[c];
}

static void FN(columns_push)(FN(columns) *s, int level, const T *x)
{
    T sums[FN(COLUMNS)];

    for (;; level++) {
        if (level == s->levels)
            FN(columns_clear)(s, s->levels++);
        FN(columns_add)(s->lane[level][s->count[level] % RP_LANES], x, s->width);
        if (++s->count[level] < RP_CHUNK)
            return;
        memcpy(sums, FN(columns_fold)(s, level), sizeof sums);
        FN(columns_clear)(s, level);
        x = sums;
    }
}

/* Sums `width` <= COLUMNS neighbouring columns; walk gives the rows' offsets in the first of them. */
static void FN(sum_columns)(T *sums, size_t width, rp_walk walk)
{
    FN(columns) s;

    s.levels = 1;
    s.width = width;
    FN(columns_clear)(&s, 0);
    while (rp_walk_next(&walk))
        for (size_t i = 0; i < walk.run; i++)
            FN(columns_push)(&s, 0, (const T *)walk.at[0] + (ptrdiff_t)i * walk.step[0]);
    for (int level = 0; level < s.levels - 1; level++)
        if (s.count[level] > 0)
            FN(columns_push)(&s, level + 1, FN(columns_fold)(&s, level));
    memcpy(sums, FN(columns_fold)(&s, s.levels - 1), width * sizeof *sums);
}

static void FN(max_columns)(T *most, size_t width, rp_walk walk)
{
    for (size_t c = 0; c < width; c++)
        most[c] = (T)-__builtin_inf();
    while (rp_walk_next(&walk))
        for (size_t i = 0; i < walk.run; i++) {
            const T *x = (const T *)walk.at[0] + (ptrdiff_t)i * walk.step[0];

            for (size_t c = 0; c < width; c++)
                most[c] = FN(maximum)(most[c], x[c]);
        }
}

/* The first element that is the maximum: where there is a NaN the first NaN. Zeros are equal. */
static int64_t FN(argmax_contiguous)(const T *x, size_t n)
{
    const T most = FN(max_contiguous)(x, n);
    const bool strange = most != most;
    size_t at = 0;

    for (; at + FN(MAX_PARTS) <= n; at += FN(MAX_PARTS)) {
        BITS found = 0;

        for (size_t l = 0; l < FN(MAX_PARTS); l++)
            found |= (strange ? x[at + l] != x[at + l] : x[at + l] == most) ? (BITS)-1 : 0;
        if (found != 0)
            break;
    }
    while (strange ? x[at] == x[at] : x[at] != most)
        at++;
    return (int64_t)at;
}

static void FN(reduce_row)(reduction how, void *y, ptrdiff_t at, const T *x, size_t n)
{
    if (how == ARGMAX)
        ((int64_t *)y)[at] = FN(argmax_contiguous)(x, n);
    else if (how == MAX)
        ((T *)y)[at] = FN(max_contiguous)(x, n);
    else
        ((T *)y)[at] = how == SUM ? FN(sum_contiguous)(x, n) : FN(sum_contiguous)(x, n) / (T)n;
}

/* Computes a run of outputs if one of the forms fits. */
static bool FN(reduce_run)(const rp_walk *kept, rp_walk inner, reduction how)
{
    const T divisor = how == MEAN ? (T)inner.left : (T)1;
    T *y = kept->at[0], *x = kept->at[1], part[FN(COLUMNS)];

    if (inner.rank == 1 && inner.step[0] == 1) {
        for (size_t i = 0; i < kept->run; i++)
            FN(reduce_row)(how, y, (ptrdiff_t)i * kept->step[0], x + (ptrdiff_t)i * kept->step[1], inner.left);
        return true;
    }
    if (kept->step[1] != 1 || how == ARGMAX)
        return false;
    for (size_t i = 0; i < kept->run; i += FN(COLUMNS)) {
        const size_t width = kept->run - i < FN(COLUMNS) ? kept->run - i : FN(COLUMNS);

        inner.next[0] = (char *)(x + i);
        (how == MAX ? FN(max_columns) : FN(sum_columns))(part, width, inner);
        for (size_t c = 0; c < width; c++)
            y[(ptrdiff_t)(i + c) * kept->step[0]] = part[c] / divisor; /* by 1 changes nothing */
    }
    return true;
}
