/* SPDX-License-Identifier: Apache-2.0
 * The matrix product for one type with at most THIN_ROWS rows, where b runs along k: squares of b are transposed in
 * registers and go straight into the chains of WIDTH neighbouring outputs, which walk the whole of k. The time is
 * that of reading b once.
 *
 * Parameters, from kernels/type_f32.h or type_f64.h: T the type of the elements, FN(name) the name of its variant.
 * For levels with vectors. Before it: matmul_pack.inc.h, for transposing. Gives FN(across). */
#if !defined(T) || !defined(FN)
#error "a template: include one of kernels/type_f32.h and kernels/type_f64.h before it"
#endif

#include "kernels/cpu/functions/inline_math.h"
#include "kernels/cpu/matmul/matmul_sizes.h"
#include "kernels/level.h"

#define WIDTH (VEC_BYTES / sizeof(T))

enum { FN(ACROSS_AHEAD) = 1024 / sizeof(T) }; /* how far before its use a line is fetched, along k */

/* Chains over the first k of the `left` values that b still has; the last of them may be less than a square. a: rows of
 * T. ask: lines are fetched in the order of reading: behind the end of these rows lie the next ones. */
RP_INLINE void FN(across_chunk)(size_t rows, FN(vec) * chain, const T *a, ptrdiff_t a_row, ptrdiff_t a_col,
                                const void *b, bool half, bool ask, ptrdiff_t b_col, size_t k, size_t left)
{
    size_t l = 0;

    for (; l + WIDTH <= k; l += WIDTH) {
        const size_t on = l + FN(ACROSS_AHEAD);
        const ptrdiff_t ahead = on < left ? (ptrdiff_t)on : (ptrdiff_t)WIDTH * b_col + (ptrdiff_t)(on - left);
        FN(vec) square[WIDTH];

        RP_UNROLL
        for (size_t c = 0; c < WIDTH; c++) {
            square[c] = FN(operand_vec)(b, (ptrdiff_t)c * b_col + (ptrdiff_t)l, half);
            if (ask)
                __builtin_prefetch(FN(operand_from)(b, (ptrdiff_t)c * b_col + ahead, half), 0, 2);
        }
        FN(transpose_square)(square);
        RP_UNROLL
        for (size_t s = 0; s < WIDTH; s++) {
            RP_UNROLL
            for (size_t i = 0; i < rows; i++)
                chain[i] =
                    FN(vec_fma)(FN(vec_all)(a[(ptrdiff_t)i * a_row + (ptrdiff_t)(l + s) * a_col]), square[s], chain[i]);
        }
    }
    if (l < k) {
        T part[WIDTH][WIDTH];
        const void *rest = FN(operand_from)(b, (ptrdiff_t)l, half);

        if (half)
            FN(transpose_half)(part[0], WIDTH, rest, b_col, WIDTH, k - l);
        else
            FN(transpose)(part[0], WIDTH, rest, b_col, WIDTH, k - l);
        for (size_t s = 0; l < k; l++, s++) {
            RP_UNROLL
            for (size_t i = 0; i < rows; i++)
                chain[i] = FN(vec_fma)(FN(vec_all)(a[(ptrdiff_t)i * a_row + (ptrdiff_t)l * a_col]),
                                       FN(vec_load)(part[s]), chain[i]);
        }
    }
}

/* k values of each row of a from element `at` on, widened where they are bf16: `wide` has rows of RP_MATMUL_CHUNK. */
static const T *FN(across_a)(const rp_matmul *p, size_t rows, ptrdiff_t at, size_t k, T *wide)
{
    if (!p->a_half)
        return (const T *)p->a + at;
    for (size_t i = 0; i < rows; i++)
        for (size_t l = 0; l < k; l++)
            wide[i * RP_MATMUL_CHUNK + l] =
                FN(operand_at)(p->a, at + (ptrdiff_t)i * p->a_row + (ptrdiff_t)l * p->a_col, true);
    return wide;
}

/* WIDTH neighbouring outputs of each row; a, b: the elements that they begin with. */
RP_INLINE void FN(across_group)(size_t rows, bool half, bool ask, const rp_matmul *p, ptrdiff_t a, ptrdiff_t b, T *y)
{
    const ptrdiff_t a_row = p->a_half ? RP_MATMUL_CHUNK : p->a_row, a_col = p->a_half ? 1 : p->a_col;
    T wide[THIN_ROWS * RP_MATMUL_CHUNK];
    FN(vec) sum[THIN_ROWS];
    size_t start = 0;

    do { /* once also for k = 0, which gives the empty chain +0 */
        const size_t k = p->k - start < RP_MATMUL_CHUNK ? p->k - start : RP_MATMUL_CHUNK;
        const T *rows_of_a = FN(across_a)(p, rows, a + (ptrdiff_t)start * p->a_col, k, wide);
        FN(vec) chain[THIN_ROWS];

        RP_UNROLL
        for (size_t i = 0; i < rows; i++)
            chain[i] = FN(vec_all)(0);
        FN(across_chunk)
        (rows, chain, rows_of_a, a_row, a_col, FN(operand_from)(p->b, b + (ptrdiff_t)start, half), half, ask, p->b_col,
         k, p->k - start);
        RP_UNROLL
        for (size_t i = 0; i < rows; i++)
            sum[i] = start == 0 ? chain[i] : FN(vec_add)(sum[i], chain[i]);
        start += RP_MATMUL_CHUNK;
    } while (start < p->k);
    for (size_t i = 0; i < rows; i++) {
        T *to = y + (ptrdiff_t)i * p->y_row, beside[WIDTH];

        FN(vec_store)(p->y_col == 1 ? to : beside, sum[i]);
        if (p->y_col != 1)
            for (size_t c = 0; c < WIDTH; c++)
                to[(ptrdiff_t)c * p->y_col] = beside[c];
    }
}

RP_INLINE void FN(across_rows)(size_t rows, bool half, bool ask, const rp_matmul *p, ptrdiff_t a, ptrdiff_t b, T *y)
{
    switch (rows) {
    case 1:
        FN(across_group)(1, half, ask, p, a, b, y);
        break;
    case 2:
        FN(across_group)(2, half, ask, p, a, b, y);
        break;
    case 3:
        FN(across_group)(3, half, ask, p, a, b, y);
        break;
    default:
        FN(across_group)(4, half, ask, p, a, b, y);
        break;
    }
}

/* One output. */
static void FN(across_one)(const rp_matmul *p, ptrdiff_t a, ptrdiff_t b, T *y)
{
    size_t start = 0;

    do {
        const size_t end = p->k - start < RP_MATMUL_CHUNK ? p->k : start + RP_MATMUL_CHUNK;
        T chain = 0;

        for (size_t l = start; l < end; l++)
            chain = FN(rp_fma)(FN(operand_at)(p->a, a + (ptrdiff_t)l * p->a_col, p->a_half),
                               FN(operand_at)(p->b, b + (ptrdiff_t)l, p->b_half), chain);
        *y = start == 0 ? chain : *y + chain;
        start += RP_MATMUL_CHUNK;
    } while (start < p->k);
}

/* Needs b_row == 1, and at most THIN_ROWS rows. */
static void FN(across)(const rp_matmul *p, size_t row, size_t row_end, size_t column, size_t column_end)
{
    const bool ask = !fetches_ahead(p->k * p->n * sizeof(T));
    const ptrdiff_t a = (ptrdiff_t)row * p->a_row;
    ptrdiff_t b = (ptrdiff_t)column * p->b_col;
    T *y = (T *)p->y + (ptrdiff_t)row * p->y_row + (ptrdiff_t)column * p->y_col;

    for (; column + WIDTH <= column_end; column += WIDTH) {
        if (p->b_half)
            FN(across_rows)(row_end - row, true, true, p, a, b, y);
        else if (ask)
            FN(across_rows)(row_end - row, false, true, p, a, b, y);
        else
            FN(across_rows)(row_end - row, false, false, p, a, b, y);
        b += (ptrdiff_t)WIDTH * p->b_col;
        y += (ptrdiff_t)WIDTH * p->y_col;
    }
    for (; column < column_end; column++, b += p->b_col, y += p->y_col)
        for (size_t i = 0; i < row_end - row; i++)
            FN(across_one)(p, a + (ptrdiff_t)i * p->a_row, b, y + (ptrdiff_t)i * p->y_row);
}

#undef WIDTH
