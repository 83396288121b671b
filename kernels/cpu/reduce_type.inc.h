/* SPDX-License-Identifier: Apache-2.0
 * Reductions for one type: along contiguous elements, and down columns that lie side by side. */
#include "kernels/ref/functions/formula.inc.h"
#include "kernels/ref/lanes.inc.h"
#include "kernels/ref/products.inc.h"
#include "kernels/cpu/product.inc.h"
#include "kernels/cpu/extreme.inc.h"
#include "kernels/cpu/sum.inc.h"
#include "kernels/cpu/exp_sum.inc.h"

#include "kernels/cpu/reduce_groups.inc.h"

/* The lanes of `width` neighbouring sums: lane[l * width + c], and of their chunk sums above, where there are any. Of
 * few rows the lanes behind `lanes`, a power of two, stay at +0, which changes nothing that it is added to. */
typedef struct FN(columns) {
    T *lane, *upper;
    size_t width, lanes, count, chunks;
} FN(columns);

static void FN(columns_fold)(T *lane, size_t width, size_t lanes)
{
    for (size_t half = lanes / 2 * width; half >= width; half /= 2)
        RP_EACH(i, half) lane[i] += lane[i + (ptrdiff_t)half];
}

/* The chunk is full, or the last. */
static void FN(columns_close)(FN(columns) * s)
{
    T *up = s->upper + s->chunks % RP_LANES * s->width;

    if (s->chunks++ == 0)
        memset(s->upper, 0, RP_LANES * s->width * sizeof(T));
    FN(columns_fold)(s->lane, s->width, RP_LANES);
    RP_EACH(c, s->width) up[c] += s->lane[c];
    memset(s->lane, 0, RP_LANES * s->width * sizeof(T));
    s->count = 0;
}

/* What element c of a row adds to its sum: x, or (x - centre)^2. */
#define TERM(x) (centre ? ((x)-centre[c]) * ((x)-centre[c]) : (x))

/* Adds rows. Where there are many, a lane takes COLUMN_ROWS of them at a time, which are 64 apart: so many streams are
 * read side by side, and lanes are fetched from the second cache less often. */
RP_INLINE void FN(columns_push)(FN(columns) * s, const T *x, ptrdiff_t step, size_t rows, const T *centre)
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
                lane[c] = (((lane[c] + TERM(row[c])) + TERM(row[c + apart])) + TERM(row[c + 2 * apart])) +
                          TERM(row[c + 3 * apart]);
            }
        else
            RP_EACH(c, s->width) lane[c] += TERM(x[c]);
        x += (ptrdiff_t)done * step;
        rows -= done;
        s->count += done;
        if (s->count == RP_CHUNK)
            FN(columns_close)(s);
    }
}
#undef TERM

static FN(columns) FN(columns_begin)(void *memory, size_t width, size_t rows)
{
    size_t lanes = 1;

    while (lanes < rows && lanes < RP_LANES)
        lanes *= 2;
    memset(memory, 0, lanes * width * sizeof(T)); /* all bits 0 is +0 */
    return (FN(columns)){.lane = memory, .upper = (T *)memory + RP_LANES * width, .width = width, .lanes = lanes};
}

static const T *FN(columns_total)(FN(columns) * s)
{
    if (s->chunks > 0 && s->count > 0)
        FN(columns_close)(s);
    FN(columns_fold)(s->chunks > 0 ? s->upper : s->lane, s->width, s->lanes);
    return s->chunks > 0 ? s->upper : s->lane;
}

/* So few rows that each is a lane of its own, a power of two of them: lanes are folded in registers. */
#define LANE(i) ((T)0 + x[(i)*step])
#define FOLD4(i, n) ((LANE(i) + LANE(i + 2 * (n))) + (LANE(i + (n)) + LANE(i + 3 * (n))))
#define FOLD8(i, n) (FOLD4(i, 2 * (n)) + FOLD4(i + (n), 2 * (n)))
#define FOLD16(i, n) (FOLD8(i, 2 * (n)) + FOLD8(i + (n), 2 * (n)))
#define FOLD32(i, n) (FOLD16(i, 2 * (n)) + FOLD16(i + (n), 2 * (n)))
#define FEW(rows) \
    case rows: \
        RP_EACH(c, width) \
        { \
            const T *x = first + c; \
\
            sum[c] = FOLD##rows(0, 1); \
        } \
        return true;
static bool FN(sum_few)(T *restrict sum, size_t width, const T *restrict first, ptrdiff_t step, size_t rows)
{
    switch (rows) {
        FEW(4)
        FEW(8)
        FEW(16)
        FEW(32)
    }
    return false;
}
#undef LANE
#undef FOLD4
#undef FOLD8
#undef FOLD16
#undef FOLD32
#undef FEW

/* Sums `width` neighbouring columns; walk gives the rows' offsets in the first of them. memory has the lanes twice. */
static const T *FN(sum_columns)(void *memory, size_t width, rp_walk walk)
{
    FN(columns) s;

    if (walk.rank == 1 && FN(sum_few)(memory, width, (const T *)(const void *)walk.next[0], walk.step[0], walk.left))
        return memory;
    s = FN(columns_begin)(memory, width, walk.left);
    while (rp_walk_next(&walk))
        FN(columns_push)(&s, walk.at[0], walk.step[0], walk.run, NULL);
    return FN(columns_total)(&s);
}

/* The same of (x - centre)^2, centre of each column. */
static const T *FN(square_columns)(void *memory, size_t width, rp_walk walk, const T *centre)
{
    FN(columns) s = FN(columns_begin)(memory, width, walk.left);

    while (rp_walk_next(&walk))
        FN(columns_push)(&s, walk.at[0], walk.step[0], walk.run, centre);
    return FN(columns_total)(&s);
}

/* The same of e^(x - centre). */
static const T *FN(exp_columns)(void *memory, size_t width, rp_walk walk, const T *centre)
{
    FN(columns) s = FN(columns_begin)(memory, width, walk.left);
    T from[COLUMN_STRIP / sizeof(T)], e[COLUMN_STRIP / sizeof(T)];

    while (rp_walk_next(&walk))
        for (size_t i = 0; i < walk.run; i++) {
            const T *x = (const T *)walk.at[0] + (ptrdiff_t)i * walk.step[0];

            RP_EACH(c, width) from[c] = x[c] - centre[c];
            for (size_t at = 0; at < width; at += EXP_PIECE)
                FN(exp_piece)(e + at, from + at, 0, width - at < EXP_PIECE ? width - at : EXP_PIECE);
            FN(columns_push)(&s, e, 0, 1, NULL);
        }
    return FN(columns_total)(&s);
}

/* As extreme_contiguous: seen has bit 0 for the zero that wins and bit 1 for a NaN. */
RP_INLINE const T *FN(extreme_columns)(void *memory, size_t width, rp_walk walk, bool least)
{
    const T none = least ? (T)__builtin_inf() : (T)-__builtin_inf(), zero = least ? (T)-0.0 : (T)0.0;
    const BITS winner = FN(rp_bits)(zero);
    T *most = memory;
    BITS *seen = (BITS *)memory + width;

    for (size_t c = 0; c < width; c++)
        most[c] = none, seen[c] = 0;
    while (rp_walk_next(&walk))
        for (size_t i = 0; i < walk.run; i++) {
            const T *x = (const T *)walk.at[0] + (ptrdiff_t)i * walk.step[0];

            RP_EACH(c, width)
            {
                const T value = x[c];

                most[c] = (least ? value < most[c] : value > most[c]) ? value : most[c];
                seen[c] |= (value != value ? 2u : 0u) | (FN(rp_bits)(value) == winner ? 1u : 0u);
            }
        }
    for (size_t c = 0; c < width; c++)
        most[c] = seen[c] >= 2 ? (T)__builtin_nan("") : most[c] == 0 ? (seen[c] != 0 ? zero : -zero) : most[c];
    return most;
}

static const T *FN(max_columns)(void *memory, size_t width, rp_walk walk)
{
    return FN(extreme_columns)(memory, width, walk, false);
}

static const T *FN(min_columns)(void *memory, size_t width, rp_walk walk)
{
    return FN(extreme_columns)(memory, width, walk, true);
}

/* The row of each column's first element that no other beats; a NaN beats every number. */
RP_INLINE const BITS *FN(place_columns)(void *memory, size_t width, rp_walk walk, bool least)
{
    T *best = memory;
    BITS *at = (BITS *)memory + width;

    while (rp_walk_next(&walk))
        for (size_t i = 0; i < walk.run; i++) {
            const T *x = (const T *)walk.at[0] + (ptrdiff_t)i * walk.step[0];
            const BITS row = (BITS)(walk.first + i);

            if (row == 0) {
                memcpy(best, x, width * sizeof(T));
                memset(at, 0, width * sizeof *at);
                continue;
            }
            RP_EACH(c, width)
            {
                const T value = x[c];
                const bool beats = least ? value < best[c] : value > best[c];
                const bool take = beats | ((value != value) & (best[c] == best[c]));

                at[c] = take ? row : at[c];
                best[c] = take ? value : best[c];
            }
        }
    return at;
}

static const BITS *FN(argmax_columns)(void *memory, size_t width, rp_walk walk)
{
    return FN(place_columns)(memory, width, walk, false);
}

static const BITS *FN(argmin_columns)(void *memory, size_t width, rp_walk walk)
{
    return FN(place_columns)(memory, width, walk, true);
}

/* The first element that is `most`, the maximum or minimum: where that is a NaN the first NaN. Zeros are equal. */
static int64_t FN(place_contiguous)(const T *x, size_t n, T most)
{
    const bool strange = most != most;
    size_t at = 0;

    for (; at + FN(EXTREME_PARTS) <= n; at += FN(EXTREME_PARTS)) {
        BITS found = 0;

        for (size_t l = 0; l < FN(EXTREME_PARTS); l++)
            found |= (strange ? x[at + l] != x[at + l] : x[at + l] == most) ? (BITS)-1 : 0;
        if (found != 0)
            break;
    }
    while (strange ? x[at] == x[at] : x[at] != most)
        at++;
    return (int64_t)at;
}

/* What logsumexp takes its elements from: the maximum, or 0 where that is not finite. */
static T FN(from_maximum)(T most)
{
    return most - most == 0 ? most : (T)0;
}

/* next: elements to the row that is read after this one; 0: none is. */
static T FN(reduce_row)(const reduction *r, const T *x, size_t n, ptrdiff_t next)
{
    T from;

    switch (r->how) {
    case SUM:
        return FN(sum_contiguous)(x, n);
    case PROD:
        return FN(product_contiguous)(x, n);
    case MEAN:
        return FN(sum_contiguous)(x, n) / (T)n;
    case VAR:
        return FN(square_sum)(x, n, FN(sum_contiguous)(x, n) / (T)n) / (T)r->divisor;
    case LOGSUMEXP:
        from = FN(from_maximum)(FN(max_contiguous)(x, n, next));
        return from + FN(rp_log)(FN(exp_sum)(x, n, from));
    case MIN:
    case ARGMIN:
        return FN(min_contiguous)(x, n, next);
    default:
        return FN(max_contiguous)(x, n, next);
    }
}

/* `width` neighbouring columns; walk as for sum_columns. */
static void FN(reduce_columns)(const reduction *r, void *memory, size_t width, rp_walk walk, T *y, ptrdiff_t step)
{
    T centre[COLUMN_STRIP / sizeof(T)];
    const T n = (T)walk.left, divisor = r->how == MEAN ? n : r->how == VAR ? (T)r->divisor : (T)1;
    const T *part = r->how == MIN                          ? FN(min_columns)(memory, width, walk)
                    : r->how == MAX || r->how == LOGSUMEXP ? FN(max_columns)(memory, width, walk)
                                                           : FN(sum_columns)(memory, width, walk);

    if (r->how == VAR) {
        RP_EACH(c, width) centre[c] = part[c] / n;
        part = FN(square_columns)(memory, width, walk, centre);
    } else if (r->how == LOGSUMEXP) {
        RP_EACH(c, width) centre[c] = FN(from_maximum)(part[c]);
        part = FN(exp_columns)(memory, width, walk, centre);
        for (size_t c = 0; c < width; c++)
            y[(ptrdiff_t)c * step] = centre[c] + FN(rp_log)(part[c]);
        return;
    }
    for (size_t c = 0; c < width; c++)
        y[(ptrdiff_t)c * step] = part[c] / divisor; /* by 1 changes nothing */
}

/* Computes a run of outputs if one of the forms fits. memory has 2 * 64 strips of columns of `strip` bytes. */
static bool FN(reduce_run)(const rp_walk *kept, rp_walk inner, const reduction *r, void *memory, size_t strip)
{
    const bool place = r->how == ARGMAX || r->how == ARGMIN;
    const ptrdiff_t step = kept->step[0];
    T *y = kept->at[0], *x = kept->at[1];
    int64_t *at = kept->at[0];
    size_t width;

    if (inner.rank == 1 && inner.step[0] == 1) {
        for (size_t i = 0; i < kept->run; i++) {
            const ptrdiff_t next = i + 1 < kept->run ? kept->step[1] : 0;
            const T *row = x + (ptrdiff_t)i * kept->step[1], value = FN(reduce_row)(r, row, inner.left, next);

            if (place)
                at[(ptrdiff_t)i * step] = FN(place_contiguous)(row, inner.left, value);
            else
                y[(ptrdiff_t)i * step] = value;
        }
        return true;
    }
    if ((r->how == SUM || r->how == MEAN) && FN(groups_fit)(kept, &inner, strip)) {
        FN(reduce_groups)(kept, &inner, r->how == MEAN ? (T)inner.left : (T)1, memory);
        return true;
    }
    if (r->how == PROD || kept->step[1] != 1 || inner.left > (size_t)RP_CHUNK * RP_CHUNK)
        return false;
    for (size_t i = 0; i < kept->run; i += width) {
        width = kept->run - i < strip / sizeof(T) ? kept->run - i : strip / sizeof(T);
        inner.next[0] = (char *)(x + i);
        if (place) {
            const BITS *row = (r->how == ARGMAX ? FN(argmax_columns) : FN(argmin_columns))(memory, width, inner);

            for (size_t c = 0; c < width; c++)
                at[(ptrdiff_t)(i + c) * step] = (int64_t)row[c];
        } else
            FN(reduce_columns)(r, memory, width, inner, y + (ptrdiff_t)i * step, step);
    }
    return true;
}

/* of x y */
static T FN(product_sum_chunk)(const T *x, const T *y, const T *z, size_t n, T c, T d)
{
    T lane[RP_LANES] = {0};
    size_t i = 0;

    (void)z, (void)c, (void)d;
    for (; i + RP_LANES <= n; i += RP_LANES)
        for (size_t l = 0; l < RP_LANES; l++)
            lane[l] += x[i + l] * y[i + l];
    if (i == n)
        return FN(fold)(lane);
    for (size_t l = 0; i + l < n; l++)
        lane[l] += x[i + l] * y[i + l];
    return FN(fold)(lane);
}

static T FN(product_sum)(const T *x, const T *y, size_t n)
{
    return FN(sum_chunks)(FN(product_sum_chunk), x, y, x, n, 0, 0);
}
