/* SPDX-License-Identifier: Apache-2.0
 * Sums and maxima for one type: along contiguous elements, and down columns that lie side by side. */
#include "kernels/ref/functions/formula.inc.h"
#include "kernels/ref/lanes.inc.h"
#include "kernels/cpu/max.inc.h"
#include "kernels/cpu/sum.inc.h"

/* The lanes of `width` neighbouring sums: lane[l * width + c], and of their chunk sums above. */
typedef struct FN(columns) {
    T *lane, *upper;
    size_t width, count, chunks;
} FN(columns);

static void FN(columns_fold)(T *lane, size_t width)
{
    for (size_t half = RP_LANES / 2 * width; half >= width; half /= 2)
        RP_EACH(i, half) lane[i] += lane[i + (ptrdiff_t)half];
}

/* The chunk is full, or the last. */
static void FN(columns_close)(FN(columns) * s)
{
    T *up = s->upper + s->chunks++ % RP_LANES * s->width;

    FN(columns_fold)(s->lane, s->width);
    RP_EACH(c, s->width) up[c] += s->lane[c];
    memset(s->lane, 0, RP_LANES * s->width * sizeof(T));
    s->count = 0;
}

/* Adds rows. Where there are many, a lane takes COLUMN_ROWS of them at a time, which are 64 apart: so many streams are
 * read side by side, and lanes are fetched from the second cache less often. */
static void FN(columns_push)(FN(columns) * s, const T *x, ptrdiff_t step, size_t rows)
{
    enum { MANY = COLUMN_ROWS * RP_LANES };
    const ptrdiff_t apart = RP_LANES * step;

    while (rows > 0) {
        const bool many = s->count % RP_LANES == 0 && rows >= MANY && s->count + MANY <= RP_CHUNK;
        const size_t done = many ? MANY : 1;
        T *lane = s->lane + s->count % RP_LANES * s->width;

        if (many)
            for (ptrdiff_t l = 0; l < RP_LANES; l++, lane += s->width) {
                const T *row = x + l * step;

                RP_EACH(c, s->width)
                lane[c] = (((lane[c] + row[c]) + row[c + apart]) + row[c + 2 * apart]) + row[c + 3 * apart];
            }
        else
            RP_EACH(c, s->width) lane[c] += x[c];
        x += (ptrdiff_t)done * step;
        rows -= done;
        s->count += done;
        if (s->count == RP_CHUNK)
            FN(columns_close)(s);
    }
}

/* Sums `width` neighbouring columns; walk gives the rows' offsets in the first of them. memory has the lanes twice. */
static const T *FN(sum_columns)(void *memory, size_t width, rp_walk walk)
{
    FN(columns) s = {.lane = memory, .upper = (T *)memory + RP_LANES * width, .width = width};

    memset(memory, 0, 2 * RP_LANES * width * sizeof(T)); /* all bits 0 is +0 */
    while (rp_walk_next(&walk))
        FN(columns_push)(&s, walk.at[0], walk.step[0], walk.run);
    if (s.chunks > 0 && s.count > 0)
        FN(columns_close)(&s);
    FN(columns_fold)(s.chunks > 0 ? s.upper : s.lane, width);
    return s.chunks > 0 ? s.upper : s.lane;
}

/* As max_contiguous: seen has bit 0 for a +0 and bit 1 for a NaN. */
static const T *FN(max_columns)(void *memory, size_t width, rp_walk walk)
{
    T *most = memory;
    BITS *seen = (BITS *)memory + width;

    for (size_t c = 0; c < width; c++)
        most[c] = (T)-__builtin_inf(), seen[c] = 0;
    while (rp_walk_next(&walk))
        for (size_t i = 0; i < walk.run; i++) {
            const T *x = (const T *)walk.at[0] + (ptrdiff_t)i * walk.step[0];

            RP_EACH(c, width)
            {
                const T value = x[c];

                most[c] = value > most[c] ? value : most[c];
                seen[c] |= (value != value ? 2u : 0u) | (FN(rp_bits)(value) == 0 ? 1u : 0u);
            }
        }
    for (size_t c = 0; c < width; c++)
        most[c] = seen[c] >= 2 ? (T)__builtin_nan("") : most[c] == 0 ? (T)(seen[c] != 0 ? 0.0 : -0.0) : most[c];
    return most;
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

/* Computes a run of outputs if one of the forms fits. memory has 2 * 64 strips of columns of `strip` bytes. */
static bool FN(reduce_run)(const rp_walk *kept, rp_walk inner, reduction how, void *memory, size_t strip)
{
    const T divisor = how == MEAN ? (T)inner.left : (T)1;
    T *y = kept->at[0], *x = kept->at[1];
    size_t width;

    if (inner.rank == 1 && inner.step[0] == 1) {
        for (size_t i = 0; i < kept->run; i++)
            FN(reduce_row)(how, y, (ptrdiff_t)i * kept->step[0], x + (ptrdiff_t)i * kept->step[1], inner.left);
        return true;
    }
    if (kept->step[1] != 1 || how == ARGMAX || inner.left > (size_t)RP_CHUNK * RP_CHUNK)
        return false;
    for (size_t i = 0; i < kept->run; i += width) {
        const T *part;

        width = kept->run - i < strip / sizeof(T) ? kept->run - i : strip / sizeof(T);
        inner.next[0] = (char *)(x + i);
        part = (how == MAX ? FN(max_columns) : FN(sum_columns))(memory, width, inner);
        for (size_t c = 0; c < width; c++)
            y[(ptrdiff_t)(i + c) * kept->step[0]] = part[c] / divisor; /* by 1 changes nothing */
    }
    return true;
}
