/* SPDX-License-Identifier: Apache-2.0
 * The register tile of attention for one type: some rows of outputs by a panel of two vectors, each output a fused
 * chain (CONTRACT 4.4) that begins at +0 or goes on from memory.
 *
 * Parameters, from kernels/type_f32.h or type_f64.h: T the type of the elements, FN(name) the name of its variant.
 * Before it: nothing. Gives FN(products), FN(combine), FN(spread). */
#if !defined(T) || !defined(FN)
#error "a template: include one of kernels/type_f32.h and kernels/type_f64.h before it"
#endif

#include "kernels/cpu/attention/attention_vec.h"

#define WIDTH (VEC_BYTES / sizeof(T))
#define PANEL (2 * WIDTH)

/* y[r] (+)= sum over l of a(r, l) b[l]: a(r, l) is a[l * step + r] if unit, else a[r * step + l]; b and y have panels
 * every b_step and y_step elements. */
typedef struct FN(chains) {
    const T *a, *b;
    T *y;
    ptrdiff_t step, b_step, y_step;
    size_t k;
    bool narrow; /* of a panel only the first vector is wanted */
    bool onto;   /* the chains go on from y */
    bool scaled; /* and their ends are multiplied by scale */
    T scale;
    const T *over; /* of chains that divide b on the way: a panel of divisors, */
    T *quotients;  /* and where the quotients are left */
} FN(chains);

RP_INLINE void FN(chains_run)(size_t rows, size_t vecs, bool unit, bool divide, const FN(chains) * t)
{
    const T *a = t->a, *b = t->b;
    const ptrdiff_t step = t->step, b_step = t->b_step;
    T *y = t->y;
    T *quotients = t->quotients;
    FN(vec) sum[TILE_ROWS][2], over[2];

    over[0] = divide ? FN(vec_load)(t->over) : FN(vec_all)(1);
    over[1] = divide ? FN(vec_load)(t->over + WIDTH) : FN(vec_all)(1);
    RP_UNROLL
    for (size_t r = 0; r < rows; r++) {
        const T *at = y + (ptrdiff_t)r * t->y_step;

        sum[r][0] = t->onto ? FN(vec_load)(at) : FN(vec_all)(0);
        sum[r][1] = t->onto && vecs == 2 ? FN(vec_load)(at + WIDTH) : FN(vec_all)(0);
    }
    for (size_t l = t->k; l > 0; l--) {
        FN(vec) left = FN(vec_load)(b), right = vecs == 2 ? FN(vec_load)(b + WIDTH) : left;

        if (divide) { /* beside the fused operations it takes no time */
            left = left / over[0];
            FN(vec_store)(quotients, left);
            if (vecs == 2) {
                right = right / over[1];
                FN(vec_store)(quotients + WIDTH, right);
            }
            quotients += PANEL;
        }
        RP_UNROLL
        for (size_t r = 0; r < rows; r++) {
            const FN(vec) x = FN(vec_all)(a[unit ? (ptrdiff_t)r : (ptrdiff_t)r * step]);

            sum[r][0] = FN(vec_fma)(x, left, sum[r][0]);
            if (vecs == 2)
                sum[r][1] = FN(vec_fma)(x, right, sum[r][1]);
        }
        a += unit ? step : 1;
        b += b_step;
    }
    if (t->scaled) {
        const FN(vec) scale = FN(vec_all)(t->scale);

        RP_UNROLL
        for (size_t r = 0; r < rows; r++) {
            sum[r][0] = sum[r][0] * scale;
            sum[r][1] = sum[r][1] * scale;
        }
    }
    RP_UNROLL
    for (size_t r = 0; r < rows; r++) {
        T *at = y + (ptrdiff_t)r * t->y_step;

        FN(vec_store)(at, sum[r][0]);
        if (vecs == 2)
            FN(vec_store)(at + WIDTH, sum[r][1]);
    }
}

#define ROWS_CASE(n) \
    case n: \
        FN(chains_run)(n, vecs, unit, divide, t); \
        break;
RP_INLINE void FN(chains_of)(size_t rows, size_t vecs, bool unit, bool divide, const FN(chains) * t)
{
    switch (rows) {
        ROWS_CASE(1)
        ROWS_CASE(2)
        ROWS_CASE(3)
#if TILE_ROWS > 4
        ROWS_CASE(4)
        ROWS_CASE(5)
#endif
#if TILE_ROWS == 12
        ROWS_CASE(6)
        ROWS_CASE(7)
        ROWS_CASE(8)
        ROWS_CASE(9)
        ROWS_CASE(10)
        ROWS_CASE(11)
#endif
    default:
        FN(chains_run)(TILE_ROWS, vecs, unit, divide, t);
        break;
    }
}
#undef ROWS_CASE

RP_APART void FN(chains_along)(size_t rows, const FN(chains) * t)
{
    if (t->narrow)
        FN(chains_of)(rows, 1, false, false, t);
    else
        FN(chains_of)(rows, 2, false, false, t);
}
RP_APART void FN(chains_across)(size_t rows, const FN(chains) * t)
{
    if (t->narrow)
        FN(chains_of)(rows, 1, true, false, t);
    else
        FN(chains_of)(rows, 2, true, false, t);
}
RP_APART void FN(chains_divided)(size_t rows, const FN(chains) * t)
{
    if (t->narrow)
        FN(chains_of)(rows, 1, true, true, t);
    else
        FN(chains_of)(rows, 2, true, true, t);
}

/* Calls run for `count` rows in tiles as equal as they can be. */
RP_INLINE void FN(chains_all)(size_t count, ptrdiff_t a_step, FN(chains) t,
                              void (*run)(size_t rows, const FN(chains) * t))
{
    const size_t tiles = (count + TILE_ROWS - 1) / TILE_ROWS;

    for (size_t tile = 0, row = 0, rows; tile < tiles; tile++, row += rows) {
        rows = count / tiles + (tile < count % tiles ? 1 : 0);
        run(rows, &t);
        t.a += (ptrdiff_t)rows * a_step;
        t.y += (ptrdiff_t)rows * t.y_step;
    }
}

/* to[j] = scale times the products of rows j of a matrix with PANEL columns, or the first half of them, that are
 * packed: of keys with queries. */
static void FN(products)(T *to, const T *rows, ptrdiff_t row, size_t count, const T *packed, size_t width, T scale,
                         bool narrow)
{
    T part[KEYS * PANEL];
    size_t at = 0;

    do { /* once also for a width of 0: the empty chain is +0 */
        const size_t k = width - at < RP_MATMUL_CHUNK ? width - at : RP_MATMUL_CHUNK;
        const FN(chains) t = {.a = rows + at,
                              .b = packed + at * PANEL,
                              .y = at == 0 ? to : part,
                              .step = row,
                              .b_step = PANEL,
                              .y_step = PANEL,
                              .k = k,
                              .narrow = narrow,
                              .scaled = width <= RP_MATMUL_CHUNK && scale != 1,
                              .scale = scale};

        FN(chains_all)(count, row, t, FN(chains_along));
        for (size_t i = 0; at > 0 && i < count * PANEL; i++)
            to[i] = at + k < width ? to[i] + part[i] : (to[i] + part[i]) * scale;
        at += k;
    } while (at < width);
}

/* chain[c] (+)= the sum over `count` rows of weights by column c of as many rows of a matrix, c < columns. With `over`
 * the weights are divided by it on the way, and left in `quotients`. */
static void FN(combine)(T *chain, bool onto, const T *weights, const T *over, T *quotients, size_t count, const T *rows,
                        ptrdiff_t row, size_t columns, bool narrow)
{
    const size_t tiles = (columns + TILE_ROWS - 1) / TILE_ROWS, first = tiles > 0 ? (columns + tiles - 1) / tiles : 0;
    FN(chains)
    t = {.a = rows,
         .b = weights,
         .y = chain,
         .step = row,
         .b_step = PANEL,
         .y_step = PANEL,
         .k = count,
         .narrow = narrow,
         .onto = onto,
         .over = over,
         .quotients = quotients};

    if (over && columns > 0) {
        FN(chains_divided)(first, &t);
        t.a += first;
        t.b = quotients;
        t.y += first * PANEL;
        columns -= first;
    }
    FN(chains_all)(columns, 1, t, FN(chains_across));
}

/* chain[j] += the sum over `queries` of weight (j, i) by row i of a matrix of `width` columns, whole panels. */
static void FN(spread)(T *chain, size_t count, const T *weights, const T *rows, size_t width, size_t queries)
{
    for (size_t c = 0; c < width; c += PANEL) {
        const FN(chains) t = {.a = weights,
                              .b = rows + c,
                              .y = chain + c,
                              .step = PANEL,
                              .b_step = (ptrdiff_t)width,
                              .y_step = (ptrdiff_t)width,
                              .k = queries,
                              .onto = true};

        FN(chains_all)(count, PANEL, t, FN(chains_along));
    }
}

#undef PANEL
#undef WIDTH
