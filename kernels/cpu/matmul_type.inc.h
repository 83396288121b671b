/* SPDX-License-Identifier: Apache-2.0
 * The matrix product for one type: panels of b as wide as a tile, packed a chunk of k at a time on the stack (kernels
 * cannot fail, so they do not allocate), and tiles of outputs that each run the contract's fma chain. */
#define WIDTH (VEC_BYTES / sizeof(T))
#define PANEL (2 * WIDTH)

/* One chunk of `rows` rows: y = or += the chains over k values of a and the panel b (rows of b_step elements). */
RP_INLINE void FN(tile)(size_t rows, T *y, ptrdiff_t y_row, const T *a, ptrdiff_t a_row, ptrdiff_t a_col, const T *b,
                        ptrdiff_t b_step, size_t k, bool first)
{
    FN(vec) sum[TILE_ROWS][2];

    RP_UNROLL
    for (size_t i = 0; i < rows; i++)
        sum[i][0] = sum[i][1] = FN(vec_all)(0);
    for (size_t step = 0; step < k; step++) {
        const FN(vec) left = FN(vec_load)(b), right = FN(vec_load)(b + WIDTH);

        RP_UNROLL
        for (size_t i = 0; i < rows; i++) {
            const FN(vec) x = FN(vec_all)(a[(ptrdiff_t)i * a_row]);

            sum[i][0] = FN(vec_fma)(x, left, sum[i][0]);
            sum[i][1] = FN(vec_fma)(x, right, sum[i][1]);
        }
        a += a_col;
        b += b_step;
    }
    RP_UNROLL
    for (size_t i = 0; i < rows; i++) {
        T *at = y + (ptrdiff_t)i * y_row;

        FN(vec_store)(at, first ? sum[i][0] : FN(vec_add)(FN(vec_load)(at), sum[i][0]));
        FN(vec_store)(at + WIDTH, first ? sum[i][1] : FN(vec_add)(FN(vec_load)(at + WIDTH), sum[i][1]));
    }
}

/* Rows of one chunk and panel: full tiles, then quarter tiles, then single rows. */
static void FN(panel)(size_t rows, T *y, ptrdiff_t y_row, const T *a, ptrdiff_t a_row, ptrdiff_t a_col, const T *b,
                      ptrdiff_t b_step, size_t k, bool first)
{
    size_t i = 0;

    for (; i + TILE_ROWS <= rows; i += TILE_ROWS)
        FN(tile)(TILE_ROWS, y + (ptrdiff_t)i * y_row, y_row, a + (ptrdiff_t)i * a_row, a_row, a_col, b, b_step, k,
                 first);
    for (; i + 4 <= rows; i += 4)
        FN(tile)(4, y + (ptrdiff_t)i * y_row, y_row, a + (ptrdiff_t)i * a_row, a_row, a_col, b, b_step, k, first);
    for (; i < rows; i++)
        FN(tile)(1, y + (ptrdiff_t)i * y_row, y_row, a + (ptrdiff_t)i * a_row, a_row, a_col, b, b_step, k, first);
}

/* Copies k rows of `columns` values of b, the missing columns as zeros: they are outputs nobody stores. */
static void FN(pack)(T *packed, const T *b, ptrdiff_t b_row, ptrdiff_t b_col, size_t k, size_t columns)
{
    for (size_t i = 0; i < k; i++, b += b_row, packed += PANEL) {
        if (b_col == 1 && columns == PANEL)
            memcpy(packed, b, PANEL * sizeof *packed);
        else
            for (size_t j = 0; j < PANEL; j++)
                packed[j] = j < columns ? b[(ptrdiff_t)j * b_col] : 0;
    }
}

/* A panel narrower than a tile, or with a stride in y, is computed beside y and its columns are copied. */
static void FN(panel_aside)(const rp_matmul *p, size_t begin, size_t rows, size_t column, size_t columns, const T *a,
                            const T *b, size_t k, bool first)
{
    T aside[TILE_ROWS * PANEL];

    for (size_t done = 0; done < rows; done += TILE_ROWS) {
        const size_t count = rows - done < TILE_ROWS ? rows - done : TILE_ROWS;
        T *y = (T *)p->y + (ptrdiff_t)(begin + done) * p->y_row + (ptrdiff_t)column * p->y_col;

        FN(panel)(count, aside, PANEL, a + (ptrdiff_t)done * p->a_row, p->a_row, p->a_col, b, PANEL, k, true);
        for (size_t i = 0; i < count; i++)
            for (size_t j = 0; j < columns; j++) {
                T *at = y + (ptrdiff_t)i * p->y_row + (ptrdiff_t)j * p->y_col;

                *at = first ? aside[i * PANEL + j] : *at + aside[i * PANEL + j];
            }
    }
}

static void FN(rows)(const rp_matmul *p, size_t begin, size_t end)
{
    T packed[RP_MATMUL_CHUNK * PANEL];

    for (size_t column = 0; column < p->n; column += PANEL) {
        const size_t columns = p->n - column < PANEL ? p->n - column : PANEL;
        const bool whole = columns == PANEL && p->y_col == 1;
        T *y = (T *)p->y + (ptrdiff_t)begin * p->y_row + (ptrdiff_t)column * p->y_col;
        size_t start = 0;

        do { /* once also for k = 0, which gives the empty chain +0 */
            const size_t k = p->k - start < RP_MATMUL_CHUNK ? p->k - start : RP_MATMUL_CHUNK;
            const T *a = (const T *)p->a + (ptrdiff_t)begin * p->a_row + (ptrdiff_t)start * p->a_col;
            const T *b = (const T *)p->b + (ptrdiff_t)start * p->b_row + (ptrdiff_t)column * p->b_col;
            const bool in_place = p->b_col == 1 && whole && end - begin <= TILE_ROWS;

            if (!in_place)
                FN(pack)(packed, b, p->b_row, p->b_col, k, columns);
            if (whole)
                FN(panel)(end - begin, y, p->y_row, a, p->a_row, p->a_col, in_place ? b : packed,
                          in_place ? p->b_row : (ptrdiff_t)PANEL, k, start == 0);
            else
                FN(panel_aside)(p, begin, end - begin, column, columns, a, packed, k, start == 0);
            start += RP_MATMUL_CHUNK;
        } while (start < p->k);
    }
}

#undef WIDTH
#undef PANEL
