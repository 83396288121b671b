/* SPDX-License-Identifier: Apache-2.0
 * The matrix product for one type where the level has no fused multiply-add instruction: the exact software fma, inline
 * and branch-free, for a block of neighbouring outputs at a time, so that their chains overlap and vectorise.
 *
 * Parameters: T the type of the arithmetic, FN(name) the name of the variant, from kernels/type_*.h; SOURCE what an
 * operand is stored as, OF(x) the value of one. The last two end here. Before it: nothing. Gives FN(rows). */
#if !defined(T) || !defined(FN) || !defined(SOURCE) || !defined(OF)
#error "a template: include one of kernels/type_*.h before it, and define SOURCE and OF where that does not"
#endif

#include "kernels/cpu/functions/inline_math.h"
#include "kernels/cpu/matmul/matmul_plan.h"
#include "kernels/level.h"

enum { FN(BLOCK) = 32 };

/* y[0..columns) = or += the chains over k values of a and rows of b. b_col is 1 for the compiler where it can be. */
RP_INLINE void FN(block)(T *y, ptrdiff_t y_col, const SOURCE *a, ptrdiff_t a_col, const SOURCE *b, ptrdiff_t b_row,
                         ptrdiff_t b_col, size_t k, size_t columns, bool first)
{
    T chain[FN(BLOCK)] = {0};

    for (size_t l = 0; l < k; l++, b += b_row) {
        const T x = OF(a[(ptrdiff_t)l * a_col]);

        RP_EACH(j, columns) chain[j] = FN(rp_fma)(x, OF(b[j * b_col]), chain[j]);
    }
    for (size_t j = 0; j < columns; j++) {
        T *at = y + (ptrdiff_t)j * y_col;

        *at = first ? chain[j] : *at + chain[j];
    }
}

static void FN(row)(const rp_matmul *p, size_t i, size_t column, size_t columns)
{
    T *y = (T *)p->y + (ptrdiff_t)i * p->y_row + (ptrdiff_t)column * p->y_col;
    size_t start = 0;

    do { /* once also for k = 0 */
        const size_t k = p->k - start < RP_MATMUL_CHUNK ? p->k - start : RP_MATMUL_CHUNK;
        const SOURCE *a = (const SOURCE *)p->a + (ptrdiff_t)i * p->a_row + (ptrdiff_t)start * p->a_col;
        const SOURCE *b = (const SOURCE *)p->b + (ptrdiff_t)start * p->b_row + (ptrdiff_t)column * p->b_col;

        if (p->b_col == 1 && columns == FN(BLOCK))
            FN(block)(y, p->y_col, a, p->a_col, b, p->b_row, 1, k, FN(BLOCK), start == 0);
        else
            FN(block)(y, p->y_col, a, p->a_col, b, p->b_row, p->b_col, k, columns, start == 0);
        start += RP_MATMUL_CHUNK;
    } while (start < p->k);
}

static void FN(rows)(const rp_matmul *p, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++)
        for (size_t column = 0; column < p->n; column += FN(BLOCK))
            FN(row)(p, i, column, p->n - column < FN(BLOCK) ? p->n - column : FN(BLOCK));
}

#undef SOURCE
#undef OF
