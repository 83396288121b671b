/* SPDX-License-Identifier: Apache-2.0
 * How a matrix product is cut into items: strips of columns, each of all rows, an item being one row of one strip. A
 * thread's contiguous range is then whole strips and at most two parts of strips: a two-dimensional partition that
 * follows from the shape alone. */
#ifndef KERNELS_CPU_MATMUL_MATMUL_PLAN_H
#define KERNELS_CPU_MATMUL_MATMUL_PLAN_H

#include "kernels/chain/epilogue.h"
#include "kernels/ref/matmul.h"

typedef struct rp_matmul_plan {
    rp_view in[2], out; /* batch axes that are rows of one larger product are merged into them; of y^T = b^T a^T where
                           that is what is computed */
    size_t batches, m, n, strips;
    size_t more; /* products that are added to the same y, but for the first: as in rp_matmul */
    ptrdiff_t a_on, b_on;
    const rp_epilogue *epilogue; /* NULL: none */
    size_t panel,
        panels; /* strips are whole panels: strip s is panels [panels * s / strips, panels * (s + 1) / strips) */
} rp_matmul_plan;

/* Columns come in panels; a strip has at most `widest` columns. */
void rp_matmul_plan_make(rp_matmul_plan *plan, const rp_kernel_args *args, size_t panel, size_t widest);
/* Of products that are added to what y has (kernels/onto.h). */
void rp_matmul_plan_make_onto(rp_matmul_plan *plan, const rp_kernel_args *args, size_t panel, size_t widest);
size_t rp_matmul_plan_items(const rp_matmul_plan *plan);

/* Rows [row, row_end) and columns [column, column_end) of one product. */
typedef void rp_matmul_block(const rp_matmul *product, const rp_epilogue *epilogue, size_t row, size_t row_end,
                             size_t column, size_t column_end);
void rp_matmul_plan_run(const rp_matmul_plan *plan, size_t begin, size_t end, rp_matmul_block *block);

#endif
