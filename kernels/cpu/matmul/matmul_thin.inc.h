/* SPDX-License-Identifier: Apache-2.0
 * The matrix product for one type with at most THIN_ROWS rows, where b runs along its columns: nothing is used often
 * enough to be worth packing, so whole rows of b stream past sums that lie in the first cache, a few rows of b for
 * each time a sum is loaded and stored. The time is that of reading b once. One row past a b that may well be in a
 * cache (a recurrent network's, a small one's) has its sums in registers instead: half as much again from the third
 * cache, and half of memory's speed. An Intel processor fetches ahead along b by itself: there whole rows are the
 * faster from the third cache on, and nothing is asked for (fetches_ahead). With AVX2 long rows of b are read whole for
 * one row, six at a time: where they lie a page apart, that leaves the sums room in a set of the first cache.
 *
 * Parameters, from kernels/type_f32.h or type_f64.h: T the type of the elements, FN(name) the name of its variant.
 * For levels with vectors. Before it: nothing. Gives FN(thin). */
#if !defined(T) || !defined(FN)
#error "a template: include one of kernels/type_f32.h and kernels/type_f64.h before it"
#endif

#include "kernels/cpu/functions/inline_math.h"
#include "kernels/cpu/matmul/matmul_operand.h"
#include "kernels/cpu/matmul/matmul_sizes.h"
#include "kernels/level.h"

#define WIDTH (VEC_BYTES / sizeof(T))

enum { FN(THIN_SUMS) = 16384 / sizeof(T), FN(THIN_STEPS) = 4, FN(THIN_MOST) = 6 /* of one row's */ };
enum { FN(THIN_LONG) = VEC_BYTES == 32 ? 3072 : 1 << 30 /* bytes of a row of b that is read whole */ };
enum { FN(THIN_HEADS) = 8 /* lines that the next rows of b begin with */ };
/* Panels of one row's sums. Rows of b that are far apart, in a matrix that the second cache does not hold, come faster
 * the more of each is read at once, and where rows ahead are asked for: a processor's own fetching ahead stops at each
 * page. Rows that lie close together, and what the second cache holds, need no asking. */
enum { FN(THIN_WIDE) = VEC_BYTES == 32 ? 12 : 16 /* vectors: as many as registers hold */, FN(THIN_PANEL) = 8 };
enum { FN(THIN_NARROW) = 4, FN(THIN_AHEAD) = VEC_BYTES == 32 ? 2 : 4 /* rows */ };
enum { FN(THIN_CLOSE) = 1024 /* bytes of a row of b */, FN(THIN_CACHED) = 1 << 22 /* bytes of b */ };
enum { FN(THIN_LINE) = VEC_BYTES == 32 ? 2 : 1 /* vectors of a line of b that are asked for together */ };
enum { FN(THIN_FAR) = VEC_BYTES == 64 ? 1 << 20 : 1 << 19 /* bytes of b */ };
enum { FN(THIN_SECOND) = 1 << 20 /* bytes of b: its second cache's, where the processor fetches ahead */ };

/* Where a chunk of the operands begins: element a of a's, element b of b's; half: what b is, for the compiler. */
typedef struct FN(thin_at) {
    const rp_matmul *p;
    ptrdiff_t a, b;
} FN(thin_at);

/* What is asked for while rows of b are read: nothing, all of the next ones, or what these begin with, from which on a
 * processor fetches ahead by itself. */
enum { FN(ASK_NOTHING), FN(ASK_ALL), FN(ASK_HEADS) };

/* sum[i * width + j] goes `steps` links further in its chain. ask: for the rows that come next. */
RP_INLINE void FN(thin_steps)(const FN(thin_at) * at, bool half, int ask, size_t rows, size_t steps, size_t l, T *sum,
                              size_t width, size_t columns)
{
    const size_t line = 2 * WIDTH, heads = ask == FN(ASK_HEADS) ? FN(THIN_HEADS) * line : 0;
    const rp_matmul *p = at->p;
    const ptrdiff_t b_row = p->b_row;
    const void *b = FN(operand_from)(p->b, at->b + (ptrdiff_t)l * b_row, half);
    T one[THIN_ROWS][FN(THIN_MOST)];
    FN(vec) x[THIN_ROWS][FN(THIN_MOST)];
    size_t j = 0;

    RP_UNROLL
    for (size_t i = 0; i < rows; i++) {
        RP_UNROLL
        for (size_t s = 0; s < steps; s++) {
            one[i][s] =
                FN(operand_at)(p->a, at->a + (ptrdiff_t)i * p->a_row + (ptrdiff_t)(l + s) * p->a_col, p->a_half);
            x[i][s] = FN(vec_all)(one[i][s]);
        }
    }
    for (; heads > 0 && j + line <= columns; j += line) { /* of one row */
        FN(vec) chain[2] = {FN(vec_load)(sum + j), FN(vec_load)(sum + j + WIDTH)};

        if (j + heads >= columns) {
            RP_UNROLL
            for (size_t s = 0; s < steps; s++)
                __builtin_prefetch(
                    FN(operand_from)(b, (ptrdiff_t)(s + steps) * b_row + (ptrdiff_t)(j + heads - columns), half), 0, 3);
        }
        RP_UNROLL
        for (size_t s = 0; s < steps; s++) {
            const ptrdiff_t at_j = (ptrdiff_t)s * b_row + (ptrdiff_t)j;

            chain[0] = FN(vec_fma)(x[0][s], FN(operand_vec)(b, at_j, half), chain[0]);
            chain[1] = FN(vec_fma)(x[0][s], FN(operand_vec)(b, at_j + (ptrdiff_t)WIDTH, half), chain[1]);
        }
        FN(vec_store)(sum + j, chain[0]);
        FN(vec_store)(sum + j + WIDTH, chain[1]);
    }
    for (; j + WIDTH <= columns; j += WIDTH) {
        FN(vec) value[FN(THIN_MOST)];

        RP_UNROLL
        for (size_t s = 0; s < steps; s++) {
            value[s] = FN(operand_vec)(b, (ptrdiff_t)s * b_row + (ptrdiff_t)j, half);
            /* a prefetcher in the processor stops at each page, and rows may be a page apart */
            if (ask == FN(ASK_ALL))
                __builtin_prefetch(FN(operand_from)(b, (ptrdiff_t)(s + FN(THIN_STEPS)) * b_row + (ptrdiff_t)j, half), 0,
                                   3);
        }
        RP_UNROLL
        for (size_t i = 0; i < rows; i++) {
            FN(vec) chain = FN(vec_load)(sum + i * width + j);

            RP_UNROLL
            for (size_t s = 0; s < steps; s++)
                chain = FN(vec_fma)(x[i][s], value[s], chain);
            FN(vec_store)(sum + i * width + j, chain);
        }
    }
    for (; j < columns; j++)
        for (size_t i = 0; i < rows; i++)
            for (size_t s = 0; s < steps; s++)
                sum[i * width + j] = FN(rp_fma)(one[i][s], FN(operand_at)(b, (ptrdiff_t)s * b_row + (ptrdiff_t)j, half),
                                                sum[i * width + j]);
}

RP_INLINE void FN(thin_chunk)(const FN(thin_at) * at, bool half, int ask, size_t rows, T *sum, size_t width, size_t k,
                              size_t columns)
{
    size_t l = 0;

    for (size_t i = 0; i < rows; i++)
        memset(sum + i * width, 0, columns * sizeof *sum);
    for (; ask == FN(ASK_HEADS) && l + FN(THIN_MOST) <= k; l += FN(THIN_MOST))
        FN(thin_steps)(at, half, ask, rows, FN(THIN_MOST), l, sum, width, columns);
    for (; l + FN(THIN_STEPS) <= k; l += FN(THIN_STEPS))
        FN(thin_steps)(at, half, ask, rows, FN(THIN_STEPS), l, sum, width, columns);
    for (; l < k; l++)
        FN(thin_steps)(at, half, ask, rows, 1, l, sum, width, columns);
}

RP_INLINE void FN(thin_rows)(const FN(thin_at) * at, bool half, int ask, size_t rows, T *sum, size_t width, size_t k,
                             size_t columns)
{
    switch (rows) {
    case 1:
        FN(thin_chunk)(at, half, ask, 1, sum, width, k, columns);
        break;
    case 2:
        FN(thin_chunk)(at, half, ask, 2, sum, width, k, columns);
        break;
    case 3:
        FN(thin_chunk)(at, half, ask, 3, sum, width, k, columns);
        break;
    default:
        FN(thin_chunk)(at, half, ask, 4, sum, width, k, columns);
        break;
    }
}

/* One chunk of k: y = or += its chains. */
static void FN(thin_part)(const rp_matmul *p, size_t row, size_t rows, size_t column, size_t columns, size_t start,
                          size_t k)
{
    const FN(thin_at) at = {.p = p,
                            .a = (ptrdiff_t)row * p->a_row + (ptrdiff_t)start * p->a_col,
                            .b = (ptrdiff_t)start * p->b_row + (ptrdiff_t)column};
    T *y = (T *)p->y + (ptrdiff_t)row * p->y_row + (ptrdiff_t)column * p->y_col;
    T sum[FN(THIN_SUMS)];
    const size_t width = FN(THIN_SUMS) / rows;

    if (p->b_half)
        FN(thin_rows)(&at, true, FN(ASK_ALL), rows, sum, width, k, columns);
    else if (VEC_BYTES == 32 && rows == 1)
        FN(thin_chunk)(&at, false, FN(ASK_HEADS), 1, sum, width, k, columns);
    else if (fetches_ahead(p->k * p->n * sizeof(T)))
        FN(thin_rows)(&at, false, FN(ASK_NOTHING), rows, sum, width, k, columns);
    else
        FN(thin_rows)(&at, false, FN(ASK_ALL), rows, sum, width, k, columns);
    for (size_t i = 0; i < rows; i++) {
        T *to = y + (ptrdiff_t)i * p->y_row;
        const T *from = sum + i * width;

        if (p->y_col != 1) {
            for (size_t j = 0; j < columns; j++, to += p->y_col)
                *to = start == 0 ? from[j] : *to + from[j];
        } else if (start == 0) {
            memcpy(to, from, columns * sizeof *to);
        } else {
            RP_INDEPENDENT
            for (size_t j = 0; j < columns; j++)
                to[j] += from[j];
        }
    }
}

/* A panel of columns of one row's chunk; b begins where the panel does. What a is, is asked outside of the loop: asked
 * inside, 1 KiB of b came from the third cache in 1.13 of the time. */
RP_INLINE void FN(thin_panel)(const rp_matmul *p, ptrdiff_t a, bool a_half, const void *b, bool half, bool ask,
                              size_t vecs, size_t k, T *sum)
{
    FN(vec) chain[FN(THIN_WIDE)];

    RP_UNROLL
    for (size_t v = 0; v < vecs; v++)
        chain[v] = FN(vec_all)(0);
    for (size_t l = 0; l < k; l++) {
        const FN(vec) x = FN(vec_all)(FN(operand_at)(p->a, a + (ptrdiff_t)l * p->a_col, a_half));
        const ptrdiff_t row = (ptrdiff_t)l * p->b_row, ahead = row + FN(THIN_AHEAD) * p->b_row;

        RP_UNROLL
        for (size_t v = 0; v < vecs; v++) {
            chain[v] = FN(vec_fma)(x, FN(operand_vec)(b, row + (ptrdiff_t)(v * WIDTH), half), chain[v]);
            if (ask && (v % FN(THIN_LINE) == 0 || v + 1 == vecs)) /* a line once */
                __builtin_prefetch(FN(operand_from)(b, ahead + (ptrdiff_t)(v * WIDTH), half), 0, 3);
        }
    }
    RP_UNROLL
    for (size_t v = 0; v < vecs; v++)
        FN(vec_store)(sum + v * WIDTH, chain[v]);
}

/* Of the last `left` columns before `end`, those that whole panels fill; how many they leave. */
RP_INLINE size_t FN(thin_along)(const rp_matmul *p, size_t row, size_t end, size_t left, size_t vecs, bool ask,
                                size_t start, size_t k)
{
    const ptrdiff_t a = (ptrdiff_t)row * p->a_row + (ptrdiff_t)start * p->a_col;
    T sum[FN(THIN_WIDE) * WIDTH];

    for (; left >= vecs * WIDTH; left -= vecs * WIDTH) {
        const ptrdiff_t column = (ptrdiff_t)(end - left), b = (ptrdiff_t)start * p->b_row + column;
        T *y = (T *)p->y + (ptrdiff_t)row * p->y_row + column * p->y_col;
        const bool there = start == 0 && p->y_col == 1;

        if (p->b_half)
            FN(thin_panel)(p, a, p->a_half, FN(operand_from)(p->b, b, true), true, ask, vecs, k, there ? y : sum);
        else if (p->a_half)
            FN(thin_panel)(p, a, true, FN(operand_from)(p->b, b, false), false, ask, vecs, k, there ? y : sum);
        else
            FN(thin_panel)(p, a, false, FN(operand_from)(p->b, b, false), false, ask, vecs, k, there ? y : sum);
        for (size_t i = 0; i < vecs * WIDTH && !there; i++, y += p->y_col)
            *y = start == 0 ? sum[i] : *y + sum[i];
    }
    return left;
}

/* One row of a chunk of k by panels, the last few columns as any. */
static void FN(thin_panels)(const rp_matmul *p, size_t row, size_t column, size_t columns, size_t start, size_t k)
{
    const size_t end = column + columns;
    size_t left = columns;

    if (p->b_row <= (ptrdiff_t)(FN(THIN_CLOSE) / sizeof(T)))
        left = FN(thin_along)(p, row, end, left, FN(THIN_WIDE), false, start, k);
    else if (p->k * p->n >= FN(THIN_FAR) / sizeof(T) && fetches_ahead(p->k * p->n * sizeof(T)))
        left = FN(thin_along)(p, row, end, left, FN(THIN_WIDE), false, start, k);
    else if (p->k * p->n >= FN(THIN_FAR) / sizeof(T))
        left = FN(thin_along)(p, row, end, left, FN(THIN_WIDE), true, start, k);
    left = FN(thin_along)(p, row, end, left, FN(THIN_PANEL), false, start, k);
    left = FN(thin_along)(p, row, end, left, FN(THIN_NARROW), false, start, k);
    if (left)
        FN(thin_part)(p, row, 1, end - left, left, start, k);
}

/* Needs b_col == 1, and at most THIN_ROWS rows. */
static void FN(thin)(const rp_matmul *p, size_t row, size_t row_end, size_t column, size_t column_end)
{
    const size_t width = FN(THIN_SUMS) / (row_end - row);
    const size_t cached = fetches_ahead(p->k * p->n * sizeof(T)) ? FN(THIN_SECOND) : FN(THIN_CACHED);
    const bool whole = !p->b_half && column_end - column >= FN(THIN_LONG) / sizeof(T);
    const bool panels = row_end - row == 1 && !whole && p->k * p->n <= cached / sizeof(T);

    for (; column < column_end; column += width) {
        const size_t columns = column_end - column < width ? column_end - column : width;
        size_t start = 0;

        do { /* once also for k = 0, which gives the empty chain +0 */
            const size_t k = p->k - start < RP_MATMUL_CHUNK ? p->k - start : RP_MATMUL_CHUNK;

            if (panels)
                FN(thin_panels)(p, row, column, columns, start, k);
            else
                FN(thin_part)(p, row, row_end - row, column, columns, start, k);
            start += RP_MATMUL_CHUNK;
        } while (start < p->k);
    }
}

#undef WIDTH
