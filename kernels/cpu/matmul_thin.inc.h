/* SPDX-License-Identifier: Apache-2.0
 * The matrix product for one type with at most THIN_ROWS rows: nothing is used often enough to be worth packing, so
 * rows of b stream past sums that lie in the first cache, four rows of b for each time a sum is loaded and stored. */
enum { FN(THIN_WIDTH) = 4096 / sizeof(T) };

/* sum[i][j] goes `steps` (1 or 4) links further in its chain. */
RP_INLINE void FN(thin_steps)(size_t rows, size_t steps, T (*sum)[FN(THIN_WIDTH)], const T *a, ptrdiff_t a_row,
                              ptrdiff_t a_col, const T *b, ptrdiff_t b_row, size_t columns)
{
    FN(vec) x[THIN_ROWS][4];
    size_t j = 0;

    RP_UNROLL
    for (size_t i = 0; i < rows; i++) {
        RP_UNROLL
        for (size_t s = 0; s < steps; s++)
            x[i][s] = FN(vec_all)(a[(ptrdiff_t)i * a_row + (ptrdiff_t)s * a_col]);
    }
    for (; j + WIDTH <= columns; j += WIDTH) {
        FN(vec) value[4];

        RP_UNROLL
        for (size_t s = 0; s < steps; s++)
            value[s] = FN(vec_load)(b + (ptrdiff_t)s * b_row + j);
        RP_UNROLL
        for (size_t i = 0; i < rows; i++) {
            FN(vec) chain = FN(vec_load)(sum[i] + j);

            RP_UNROLL
            for (size_t s = 0; s < steps; s++)
                chain = FN(vec_fma)(x[i][s], value[s], chain);
            FN(vec_store)(sum[i] + j, chain);
        }
    }
    for (; j < columns; j++)
        for (size_t i = 0; i < rows; i++)
            for (size_t s = 0; s < steps; s++)
                sum[i][j] = FN(rp_fma)(a[(ptrdiff_t)i * a_row + (ptrdiff_t)s * a_col], b[(ptrdiff_t)s * b_row + j],
                                       sum[i][j]);
}

RP_INLINE void FN(thin_chunk)(size_t rows, T (*sum)[FN(THIN_WIDTH)], const T *a, ptrdiff_t a_row, ptrdiff_t a_col,
                              const T *b, ptrdiff_t b_row, size_t k, size_t columns)
{
    size_t l = 0;

    memset(sum, 0, rows * sizeof *sum);
    for (; l + 4 <= k; l += 4)
        FN(thin_steps)(rows, 4, sum, a + (ptrdiff_t)l * a_col, a_row, a_col, b + (ptrdiff_t)l * b_row, b_row, columns);
    for (; l < k; l++)
        FN(thin_steps)(rows, 1, sum, a + (ptrdiff_t)l * a_col, a_row, a_col, b + (ptrdiff_t)l * b_row, b_row, columns);
}

/* Where b runs along k: squares of it are transposed in registers and go straight into the chains. */
RP_INLINE void FN(thin_across)(size_t rows, T (*sum)[FN(THIN_WIDTH)], const T *a, ptrdiff_t a_row, ptrdiff_t a_col,
                               const T *b, ptrdiff_t b_col, size_t k, size_t columns)
{
    size_t j = 0;

    for (; j + WIDTH <= columns; j += WIDTH, b += (ptrdiff_t)WIDTH * b_col) {
        FN(vec) chain[THIN_ROWS];
        size_t l = 0;

        RP_UNROLL
        for (size_t i = 0; i < rows; i++)
            chain[i] = FN(vec_all)(0);
        for (; l + WIDTH <= k; l += WIDTH) {
            FN(vec) square[WIDTH];

            RP_UNROLL
            for (size_t c = 0; c < WIDTH; c++) {
                square[c] = FN(vec_load)(b + (ptrdiff_t)c * b_col + l);
                __builtin_prefetch(b + (ptrdiff_t)c * b_col + l + 8 * WIDTH, 0, 2);
            }
            FN(transpose_square)(square);
            RP_UNROLL
            for (size_t s = 0; s < WIDTH; s++) {
                RP_UNROLL
                for (size_t i = 0; i < rows; i++)
                    chain[i] = FN(vec_fma)(FN(vec_all)(a[(ptrdiff_t)i * a_row + (ptrdiff_t)(l + s) * a_col]),
                                           square[s], chain[i]);
            }
        }
        RP_UNROLL
        for (size_t i = 0; i < rows; i++)
            FN(vec_store)(sum[i] + j, chain[i]);
        for (; l < k; l++)
            for (size_t i = 0; i < rows; i++)
                for (size_t c = 0; c < WIDTH; c++)
                    sum[i][j + c] = FN(rp_fma)(a[(ptrdiff_t)i * a_row + (ptrdiff_t)l * a_col],
                                               b[(ptrdiff_t)c * b_col + (ptrdiff_t)l], sum[i][j + c]);
    }
    for (; j < columns; j++, b += b_col)
        for (size_t i = 0; i < rows; i++) {
            T chain = 0;

            for (size_t l = 0; l < k; l++)
                chain = FN(rp_fma)(a[(ptrdiff_t)i * a_row + (ptrdiff_t)l * a_col], b[l], chain);
            sum[i][j] = chain;
        }
}

RP_INLINE void FN(thin_any)(size_t rows, T (*sum)[FN(THIN_WIDTH)], const T *a, const T *b, const rp_matmul *p, size_t k,
                            size_t columns)
{
    if (p->b_col == 1)
        FN(thin_chunk)(rows, sum, a, p->a_row, p->a_col, b, p->b_row, k, columns);
    else
        FN(thin_across)(rows, sum, a, p->a_row, p->a_col, b, p->b_col, k, columns);
}

/* One chunk of k: y = or += its chains. */
static void FN(thin_part)(const rp_matmul *p, size_t row, size_t rows, size_t column, size_t columns, size_t start,
                          size_t k)
{
    const T *a = (const T *)p->a + (ptrdiff_t)row * p->a_row + (ptrdiff_t)start * p->a_col;
    const T *b = (const T *)p->b + (ptrdiff_t)start * p->b_row + (ptrdiff_t)column * p->b_col;
    T *y = (T *)p->y + (ptrdiff_t)row * p->y_row + (ptrdiff_t)column * p->y_col;
    T sum[THIN_ROWS][FN(THIN_WIDTH)];

    switch (rows) {
    case 1: FN(thin_any)(1, sum, a, b, p, k, columns); break;
    case 2: FN(thin_any)(2, sum, a, b, p, k, columns); break;
    case 3: FN(thin_any)(3, sum, a, b, p, k, columns); break;
    default: FN(thin_any)(4, sum, a, b, p, k, columns); break;
    }
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) {
            T *at = y + (ptrdiff_t)i * p->y_row + (ptrdiff_t)j * p->y_col;

            *at = start == 0 ? sum[i][j] : *at + sum[i][j];
        }
}

/* Needs b_col == 1 or b_row == 1, and at most THIN_ROWS rows. */
static void FN(thin)(const rp_matmul *p, size_t row, size_t row_end, size_t column, size_t column_end)
{
    for (; column < column_end; column += FN(THIN_WIDTH)) {
        const size_t columns = column_end - column < FN(THIN_WIDTH) ? column_end - column : FN(THIN_WIDTH);
        size_t start = 0;

        do { /* once also for k = 0, which gives the empty chain +0 */
            const size_t k = p->k - start < RP_MATMUL_CHUNK ? p->k - start : RP_MATMUL_CHUNK;

            FN(thin_part)(p, row, row_end - row, column, columns, start, k);
            start += RP_MATMUL_CHUNK;
        } while (start < p->k);
    }
}
