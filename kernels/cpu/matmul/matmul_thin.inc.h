/* SPDX-License-Identifier: Apache-2.0
 * The matrix product for one type with at most THIN_ROWS rows, where b runs along its columns: nothing is used often
 * enough to be worth packing, so whole rows of b stream past sums that lie in the first cache, a few rows of b for
 * each time a sum is loaded and stored. The time is that of reading b once. One row past a b that may well be in a
 * cache (a recurrent network's, a small one's) has its sums in registers instead: half as much again from the third
 * cache, and half of memory's speed.
 *
 * Parameters, from kernels/type_f32.h or type_f64.h: T the type of the elements, FN(name) the name of its variant.
 * For levels with vectors. Before it: nothing. Gives FN(thin), FN(thin_bf16). */
#if !defined(T) || !defined(FN)
#error "a template: include one of kernels/type_f32.h and kernels/type_f64.h before it"
#endif

#include "determinism/bits.h"
#include "kernels/cpu/functions/inline_math.h"
#include "kernels/cpu/matmul/matmul_sizes.h"
#include "kernels/level.h"

#define WIDTH (VEC_BYTES / sizeof(T))

enum { FN(THIN_SUMS) = 16384 / sizeof(T), FN(THIN_STEPS) = 4 };
enum { FN(THIN_PANEL) = 8 /* vectors */, FN(THIN_CACHED) = 1 << 22 /* bytes of b */ };

/* sum[i * width + j] goes `steps` (1 or THIN_STEPS) links further in its chain. */
RP_INLINE void FN(thin_steps)(size_t rows, size_t steps, T *sum, size_t width, const T *a, ptrdiff_t a_row,
                              ptrdiff_t a_col, const T *b, ptrdiff_t b_row, size_t columns)
{
    FN(vec) x[THIN_ROWS][FN(THIN_STEPS)];
    size_t j = 0;

    RP_UNROLL
    for (size_t i = 0; i < rows; i++) {
        RP_UNROLL
        for (size_t s = 0; s < steps; s++)
            x[i][s] = FN(vec_all)(a[(ptrdiff_t)i * a_row + (ptrdiff_t)s * a_col]);
    }
    for (; j + WIDTH <= columns; j += WIDTH) {
        FN(vec) value[FN(THIN_STEPS)];

        RP_UNROLL
        for (size_t s = 0; s < steps; s++) {
            value[s] = FN(vec_load)(b + (ptrdiff_t)s * b_row + j);
            /* a prefetcher in the processor stops at each page, and rows may be a page apart */
            __builtin_prefetch(b + (ptrdiff_t)(s + FN(THIN_STEPS)) * b_row + j, 0, 2);
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
                sum[i * width + j] = FN(rp_fma)(a[(ptrdiff_t)i * a_row + (ptrdiff_t)s * a_col],
                                                b[(ptrdiff_t)s * b_row + j], sum[i * width + j]);
}

RP_INLINE void FN(thin_chunk)(size_t rows, T *sum, size_t width, const T *a, ptrdiff_t a_row, ptrdiff_t a_col,
                              const T *b, ptrdiff_t b_row, size_t k, size_t columns)
{
    size_t l = 0;

    for (size_t i = 0; i < rows; i++)
        memset(sum + i * width, 0, columns * sizeof *sum);
    for (; l + FN(THIN_STEPS) <= k; l += FN(THIN_STEPS))
        FN(thin_steps)
    (rows, FN(THIN_STEPS), sum, width, a + (ptrdiff_t)l * a_col, a_row, a_col, b + (ptrdiff_t)l * b_row, b_row,
     columns);
    for (; l < k; l++)
        FN(thin_steps)
    (rows, 1, sum, width, a + (ptrdiff_t)l * a_col, a_row, a_col, b + (ptrdiff_t)l * b_row, b_row, columns);
}

/* One chunk of k: y = or += its chains. */
static void FN(thin_part)(const rp_matmul *p, size_t row, size_t rows, size_t column, size_t columns, size_t start,
                          size_t k)
{
    const T *a = (const T *)p->a + (ptrdiff_t)row * p->a_row + (ptrdiff_t)start * p->a_col;
    const T *b = (const T *)p->b + (ptrdiff_t)start * p->b_row + (ptrdiff_t)column;
    T *y = (T *)p->y + (ptrdiff_t)row * p->y_row + (ptrdiff_t)column * p->y_col;
    T sum[FN(THIN_SUMS)];
    const size_t width = FN(THIN_SUMS) / rows;

    switch (rows) {
    case 1:
        FN(thin_chunk)(1, sum, width, a, p->a_row, p->a_col, b, p->b_row, k, columns);
        break;
    case 2:
        FN(thin_chunk)(2, sum, width, a, p->a_row, p->a_col, b, p->b_row, k, columns);
        break;
    case 3:
        FN(thin_chunk)(3, sum, width, a, p->a_row, p->a_col, b, p->b_row, k, columns);
        break;
    default:
        FN(thin_chunk)(4, sum, width, a, p->a_row, p->a_col, b, p->b_row, k, columns);
        break;
    }
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) {
            T *at = y + (ptrdiff_t)i * p->y_row + (ptrdiff_t)j * p->y_col;

            *at = start == 0 ? sum[i * width + j] : *at + sum[i * width + j];
        }
}

/* One row of a chunk of k, a panel of columns at a time; the columns that are left over: as any. */
static void FN(thin_panels)(const rp_matmul *p, size_t row, size_t column, size_t columns, size_t start, size_t k)
{
    const T *a = (const T *)p->a + (ptrdiff_t)row * p->a_row + (ptrdiff_t)start * p->a_col;
    const T *b = (const T *)p->b + (ptrdiff_t)start * p->b_row + (ptrdiff_t)column;
    T *y = (T *)p->y + (ptrdiff_t)row * p->y_row + (ptrdiff_t)column * p->y_col;
    size_t j = 0;

    for (; j + FN(THIN_PANEL) * WIDTH <= columns; j += FN(THIN_PANEL) * WIDTH) {
        FN(vec) chain[FN(THIN_PANEL)];
        T sum[FN(THIN_PANEL) * WIDTH];

        RP_UNROLL
        for (size_t v = 0; v < FN(THIN_PANEL); v++)
            chain[v] = FN(vec_all)(0);
        for (size_t l = 0; l < k; l++) {
            const FN(vec) x = FN(vec_all)(a[(ptrdiff_t)l * p->a_col]);

            RP_UNROLL
            for (size_t v = 0; v < FN(THIN_PANEL); v++)
                chain[v] = FN(vec_fma)(x, FN(vec_load)(b + (ptrdiff_t)l * p->b_row + j + v * WIDTH), chain[v]);
        }
        RP_UNROLL
        for (size_t v = 0; v < FN(THIN_PANEL); v++)
            FN(vec_store)(sum + v * WIDTH, chain[v]);
        for (size_t i = 0; i < FN(THIN_PANEL) * WIDTH; i++) {
            T *at = y + (ptrdiff_t)(j + i) * p->y_col;

            *at = start == 0 ? sum[i] : *at + sum[i];
        }
    }
    if (j < columns)
        FN(thin_part)(p, row, 1, column + j, columns - j, start, k);
}

/* Needs b_col == 1, and at most THIN_ROWS rows. */
static void FN(thin)(const rp_matmul *p, size_t row, size_t row_end, size_t column, size_t column_end)
{
    const size_t width = FN(THIN_SUMS) / (row_end - row);
    const bool panels = row_end - row == 1 && p->k * p->n <= FN(THIN_CACHED) / sizeof(T);

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

/* The same for bf16 operands with b_col == 1: a few rows of b at a time are widened beside, in the first cache. */
static void FN(thin_part_bf16)(const rp_matmul *p, size_t row, size_t rows, size_t column, size_t columns, size_t start,
                               size_t k)
{
    enum { COLUMNS = 4096 / sizeof(T) };
    const uint16_t *a = (const uint16_t *)p->a + (ptrdiff_t)row * p->a_row + (ptrdiff_t)start * p->a_col;
    const uint16_t *b = (const uint16_t *)p->b + (ptrdiff_t)start * p->b_row + (ptrdiff_t)column;
    T sum[THIN_ROWS * COLUMNS] = {0}, wide_b[FN(THIN_STEPS)][COLUMNS], wide_a[THIN_ROWS][FN(THIN_STEPS)];

    for (size_t l = 0; l < k; l += FN(THIN_STEPS)) {
        const size_t steps = k - l < FN(THIN_STEPS) ? k - l : FN(THIN_STEPS);

        for (size_t s = 0; s < steps; s++) {
            const uint16_t *from = b + (ptrdiff_t)(l + s) * p->b_row;

            for (size_t j = 0; j < columns; j += 64 / sizeof *from)
                __builtin_prefetch(from + (ptrdiff_t)FN(THIN_STEPS) * p->b_row + j, 0, 2);
            RP_EACH(j, columns) wide_b[s][j] = rp_f32_of_bf16(from[j]);
            for (size_t i = 0; i < rows; i++)
                wide_a[i][s] = rp_f32_of_bf16(a[(ptrdiff_t)i * p->a_row + (ptrdiff_t)(l + s) * p->a_col]);
        }
        for (size_t i = 0; i < rows; i++)
            if (steps == FN(THIN_STEPS))
                FN(thin_steps)
        (1, FN(THIN_STEPS), sum + i * COLUMNS, COLUMNS, wide_a[i], 0, 1, wide_b[0], COLUMNS, columns);
        else for (size_t s = 0; s < steps; s++)
            FN(thin_steps)(1, 1, sum + i * COLUMNS, COLUMNS, &wide_a[i][s], 0, 1, wide_b[s], COLUMNS, columns);
    }
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) {
            T *at = (T *)p->y + (ptrdiff_t)(row + i) * p->y_row + (ptrdiff_t)(column + j) * p->y_col;

            *at = start == 0 ? sum[i * COLUMNS + j] : *at + sum[i * COLUMNS + j];
        }
}

static void FN(thin_bf16)(const rp_matmul *p, size_t row, size_t row_end, size_t column, size_t column_end)
{
    const size_t width = 4096 / sizeof(T);

    for (; column < column_end; column += width)
        for (size_t start = 0; start == 0 || start < p->k; start += RP_MATMUL_CHUNK)
            FN(thin_part_bf16)
    (p, row, row_end - row, column, column_end - column < width ? column_end - column : width, start,
     p->k - start < RP_MATMUL_CHUNK ? p->k - start : RP_MATMUL_CHUNK);
}

#undef WIDTH
