/* SPDX-License-Identifier: Apache-2.0
 * The matrix product for one type where the level has no fused multiply-add instruction: the exact software fma, inline
 * and branch-free, for a block of neighbouring outputs at a time, so that their chains overlap and vectorise.
 *
 * Parameters, from kernels/type_f32.h or type_f64.h: T the type of the elements, FN(name) the name of its variant.
 * Before it: nothing. Gives FN(rows). */
#if !defined(T) || !defined(FN)
#error "a template: include one of kernels/type_f32.h and kernels/type_f64.h before it"
#endif

#include "kernels/cpu/functions/inline_math.h"
#include "kernels/cpu/matmul/matmul_operand.h"
#include "kernels/cpu/matmul/matmul_plan.h"
#include "kernels/level.h"

enum { FN(BLOCK) = 32 };

/* y[0..columns) = or += the chains over k values of a, from element a on, and rows of b. b_col is 1, and half what b
 * is, for the compiler where they can be. */
RP_INLINE void FN(block)(const rp_matmul *p, T *y, ptrdiff_t a, ptrdiff_t b, ptrdiff_t b_col, bool half, size_t k,
                         size_t columns, bool first)
{
    T chain[FN(BLOCK)] = {0};

    for (size_t l = 0; l < k; l++, b += p->b_row) {
        const T x = FN(operand_at)(p->a, a + (ptrdiff_t)l * p->a_col, p->a_half);
        const void *row = FN(operand_from)(p->b, b, half);

        RP_EACH(j, columns) chain[j] = FN(rp_fma)(x, FN(operand_at)(row, (ptrdiff_t)j * b_col, half), chain[j]);
    }
    for (size_t j = 0; j < columns; j++) {
        T *at = y + (ptrdiff_t)j * p->y_col;

        *at = first ? chain[j] : *at + chain[j];
    }
}

static void FN(row)(const rp_matmul *p, size_t i, size_t column, size_t columns)
{
    T *y = (T *)p->y + (ptrdiff_t)i * p->y_row + (ptrdiff_t)column * p->y_col;
    size_t start = 0;

    do { /* once also for k = 0 */
        const size_t k = p->k - start < RP_MATMUL_CHUNK ? p->k - start : RP_MATMUL_CHUNK;
        const ptrdiff_t a = (ptrdiff_t)i * p->a_row + (ptrdiff_t)start * p->a_col;
        const ptrdiff_t b = (ptrdiff_t)start * p->b_row + (ptrdiff_t)column * p->b_col;

        if (p->b_col != 1 || columns != FN(BLOCK))
            FN(block)(p, y, a, b, p->b_col, p->b_half, k, columns, start == 0);
        else if (p->b_half)
            FN(block)(p, y, a, b, 1, true, k, FN(BLOCK), start == 0);
        else
            FN(block)(p, y, a, b, 1, false, k, FN(BLOCK), start == 0);
        start += RP_MATMUL_CHUNK;
    } while (start < p->k);
}

static void FN(rows)(const rp_matmul *p, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++)
        for (size_t column = 0; column < p->n; column += FN(BLOCK))
            FN(row)(p, i, column, p->n - column < FN(BLOCK) ? p->n - column : FN(BLOCK));
}
