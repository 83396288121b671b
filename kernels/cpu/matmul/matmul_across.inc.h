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

/* Chains over the first k of the `left` values that b still has; the last of them may be less than a square. Lines are
 * fetched in the order of reading: behind the end of these rows lie the next ones. */
RP_INLINE void FN(across_chunk)(size_t rows, FN(vec) * chain, const T *a, ptrdiff_t a_row, ptrdiff_t a_col, const T *b,
                                ptrdiff_t b_col, size_t k, size_t left)
{
    size_t l = 0;

    for (; l + WIDTH <= k; l += WIDTH) {
        const size_t on = l + FN(ACROSS_AHEAD);
        const T *ahead = on < left ? b + on : b + (ptrdiff_t)WIDTH * b_col + (ptrdiff_t)(on - left);
        FN(vec) square[WIDTH];

        RP_UNROLL
        for (size_t c = 0; c < WIDTH; c++) {
            square[c] = FN(vec_load)(b + (ptrdiff_t)c * b_col + l);
            __builtin_prefetch(ahead + (ptrdiff_t)c * b_col, 0, 2);
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

        FN(transpose)(part[0], WIDTH, b + l, b_col, WIDTH, k - l);
        for (size_t s = 0; l < k; l++, s++) {
            RP_UNROLL
            for (size_t i = 0; i < rows; i++)
                chain[i] = FN(vec_fma)(FN(vec_all)(a[(ptrdiff_t)i * a_row + (ptrdiff_t)l * a_col]),
                                       FN(vec_load)(part[s]), chain[i]);
        }
    }
}

/* WIDTH neighbouring outputs of each row. */
RP_INLINE void FN(across_group)(size_t rows, const rp_matmul *p, const T *a, const T *b, T *y)
{
    FN(vec) sum[THIN_ROWS];
    size_t start = 0;

    do { /* once also for k = 0, which gives the empty chain +0 */
        const size_t k = p->k - start < RP_MATMUL_CHUNK ? p->k - start : RP_MATMUL_CHUNK;
        FN(vec) chain[THIN_ROWS];

        RP_UNROLL
        for (size_t i = 0; i < rows; i++)
            chain[i] = FN(vec_all)(0);
        FN(across_chunk)
        (rows, chain, a + (ptrdiff_t)start * p->a_col, p->a_row, p->a_col, b + start, p->b_col, k, p->k - start);
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

/* One output. */
static void FN(across_one)(const rp_matmul *p, const T *a, const T *b, T *y)
{
    size_t start = 0;

    do {
        const size_t end = p->k - start < RP_MATMUL_CHUNK ? p->k : start + RP_MATMUL_CHUNK;
        T chain = 0;

        for (size_t l = start; l < end; l++)
            chain = FN(rp_fma)(a[(ptrdiff_t)l * p->a_col], b[l], chain);
        *y = start == 0 ? chain : *y + chain;
        start += RP_MATMUL_CHUNK;
    } while (start < p->k);
}

/* Needs b_row == 1, and at most THIN_ROWS rows. */
static void FN(across)(const rp_matmul *p, size_t row, size_t row_end, size_t column, size_t column_end)
{
    const T *a = (const T *)p->a + (ptrdiff_t)row * p->a_row, *b = (const T *)p->b + (ptrdiff_t)column * p->b_col;
    T *y = (T *)p->y + (ptrdiff_t)row * p->y_row + (ptrdiff_t)column * p->y_col;

    for (; column + WIDTH <= column_end; column += WIDTH) {
        switch (row_end - row) {
        case 1:
            FN(across_group)(1, p, a, b, y);
            break;
        case 2:
            FN(across_group)(2, p, a, b, y);
            break;
        case 3:
            FN(across_group)(3, p, a, b, y);
            break;
        default:
            FN(across_group)(4, p, a, b, y);
            break;
        }
        b += (ptrdiff_t)WIDTH * p->b_col;
        y += (ptrdiff_t)WIDTH * p->y_col;
    }
    for (; column < column_end; column++, b += p->b_col, y += p->y_col)
        for (size_t i = 0; i < row_end - row; i++)
            FN(across_one)(p, a + (ptrdiff_t)i * p->a_row, b, y + (ptrdiff_t)i * p->y_row);
}

#undef WIDTH
