/* SPDX-License-Identifier: Apache-2.0
 * Register tiles of convolution for one type: a few rows of outputs, a panel of columns wide, run the terms of a chunk.
 * Vectors lie across columns, so every output has a chain of its own, in order.
 *
 * Parameters, from kernels/type_f32.h or type_f64.h: T the type of the elements, FN(name) the name of its variant.
 * Before it: nothing. Gives FN(strip), FN(rows_lie), FN(tile_any), FN(tile_resume),
 * FN(turn_square), FN(pack_b). */
#if !defined(T) || !defined(FN)
#error "a template: include one of kernels/type_f32.h and kernels/type_f64.h before it"
#endif

#include "kernels/cpu/functions/inline_math.h"
#include "kernels/cpu/conv/conv_pixels.h"
#include "kernels/cpu/matmul/copy_few.h"
#include "kernels/cpu/matmul/matmul_zip.h"
#include "kernels/level.h"

#define WIDTH (WIDEST / sizeof(T))
#define PANEL (2 * WIDTH)

/* The operands of a tile. Run r takes n terms, from a + r.a and from row r.b of the panel b on. */
typedef struct FN(strip) {
    const T *a, *b;
    ptrdiff_t a_col, b_step; /* from term to term */
    const segment *run;
    size_t runs;
    T *const *y; /* the rows, at column `column` of each */
    ptrdiff_t column;
    const bool *fresh;    /* of a row: no chunk has joined it yet */
    T *copy;              /* NULL, or where the panel is left in packed form; of a single run */
    const T *ahead;       /* where the terms of a later tile lie: fetched into the second cache, a line a term */
    const T *const *rows; /* of a, where they are not packed */
    ptrdiff_t ahead_step,
        ahead_run;           /* from term to term; from the start of a run to that of the next, or 0: it goes on */
    bool lying;              /* the panel is the weight itself, whose lines are fetched as far ahead as `ahead` says */
    const segment *ahead_of; /* NULL, or where the runs start there: run r from `a` of its element r on */
} FN(strip);

/* The panel is packed; it is packed on the way, which hides the wait for memory behind the arithmetic; or it is read
 * where the weight lies, which is what few tiles that meet it are faster with. */
typedef enum FN(panel_is) { FN(READY), FN(COPIED), FN(LYING) } FN(panel_is);

#ifdef VEC_BYTES
/* Terms a turn, with few instructions beside the fused ones, and how many of them bring a line: as in products. */
#define GROUP (VEC_BYTES == 32 ? 2 : 1)
#define LINE_TERMS (VEC_BYTES == 32 ? 2 : 1)

/* Where a tile is in its operands. */
typedef struct FN(cursor) {
    const T *a, *b, *ahead;
    T *packed;
    ptrdiff_t ahead_step;
} FN(cursor);

/* One term. asks: for what comes next. */
RP_INLINE void FN(tile_term)(size_t rows, size_t vecs, FN(panel_is) panel, FN(vec) sum[][2], FN(cursor) * c,
                             ptrdiff_t a_row, ptrdiff_t a_col, ptrdiff_t b_step, bool asks)
{
    const FN(vec) low = FN(vec_load)(c->b), high = vecs == 2 ? FN(vec_load)(c->b + WIDTH) : low;

    if (panel == FN(COPIED)) {
        if (LINE_TERMS == 1)
            __builtin_prefetch(c->b + PANEL + WIDTH - 1, 0, 2); /* the next panel, into the second cache, */
        __builtin_prefetch(c->b + 2 * PANEL - 1, 0, 2);         /* by last elements: as in a matrix product */
        FN(vec_store)(c->packed, low);
        FN(vec_store)(c->packed + WIDTH, high);
        c->packed += PANEL;
    }
    RP_UNROLL
    for (size_t i = 0; i < rows; i++) {
        const FN(vec) x = FN(vec_all)(c->a[(ptrdiff_t)i * a_row]);

        sum[i][0] = FN(vec_fma)(x, low, sum[i][0]);
        if (vecs == 2)
            sum[i][1] = FN(vec_fma)(x, high, sum[i][1]);
    }
    if (asks) {
        __builtin_prefetch(c->ahead, 0, 2);
        if (panel == FN(LYING))
            __builtin_prefetch(c->ahead + PANEL - 1, 0, 2);
        c->ahead += c->ahead_step;
    }
    c->a += a_col;
    c->b += b_step;
}

/* y = or += the chains of rows x vecs vectors of outputs. beside: the rows of a lie beside one another, else ROW_STEP
 * apart with their terms in order. resume: y holds the chains so far, and they go on. tight: rows of the panel follow
 * one another, and what a tile fetches lies in lines, or is nothing. */
RP_INLINE void FN(tile)(size_t rows, size_t vecs, bool beside, FN(panel_is) panel, bool resume, bool tight,
                        const FN(strip) * s)
{
    const ptrdiff_t a_row = beside ? 1 : ROW_STEP, a_col = beside ? s->a_col : 1;
    const ptrdiff_t b_step = tight ? (ptrdiff_t)PANEL : s->b_step;
    const bool fetches = panel != FN(COPIED) && !resume;
    const T *ahead = s->ahead;
    T *packed = s->copy;
    FN(vec) sum[CONV_ROWS][2];

    RP_UNROLL
    for (size_t i = 0; i < rows; i++) {
        const T *y = s->y[i] + s->column;

        __builtin_prefetch(y, 1);
        if (vecs == 2)
            __builtin_prefetch(y + WIDTH, 1);
        sum[i][0] = resume ? FN(vec_load)(y) : FN(vec_all)(0);
        sum[i][1] = resume && vecs == 2 ? FN(vec_load)(y + WIDTH) : FN(vec_all)(0);
    }
    for (const segment *run = s->run, *end = run + s->runs; run < end; run++) {
        FN(cursor)
        c = {s->a + run->a, s->b + run->b * b_step, ahead, packed,
             tight ? (ptrdiff_t)(LINE_TERMS * WIDTH) : s->ahead_step};
        size_t left = run->n;

        if (s->ahead_of != NULL)
            c.ahead = s->ahead + s->ahead_of[run - s->run].a;
        else if (s->ahead_run != 0)
            c.ahead = s->ahead + (run - s->run) * s->ahead_run;
        for (; GROUP > 1 && left >= GROUP; left -= GROUP) {
            RP_UNROLL
            for (size_t l = 0; l < GROUP; l++)
                FN(tile_term)
            (rows, vecs, panel, sum, &c, a_row, a_col, b_step, fetches && (!tight || l % LINE_TERMS == 0));
        }
        for (; left > 0; left--)
            FN(tile_term)
        (rows, vecs, panel, sum, &c, a_row, a_col, b_step, fetches && (!tight || left % LINE_TERMS == 0));
        ahead = c.ahead;
        packed = c.packed;
    }
    RP_UNROLL
    for (size_t i = 0; i < rows; i++) {
        T *y = s->y[i] + s->column;
        const bool set = resume || s->fresh[i];

        FN(vec_store)(y, set ? sum[i][0] : FN(vec_add)(FN(vec_load)(y), sum[i][0]));
        if (vecs == 2)
            FN(vec_store)(y + WIDTH, set ? sum[i][1] : FN(vec_add)(FN(vec_load)(y + WIDTH), sum[i][1]));
    }
}

/* One term of rows that lie anywhere. */
RP_INLINE void FN(term_in_place)(size_t rows, size_t vecs, FN(vec) sum[][2], const T *const *a, const T *b, size_t l)
{
    const FN(vec) low = FN(vec_load)(b), high = vecs == 2 ? FN(vec_load)(b + WIDTH) : low;

    RP_UNROLL
    for (size_t i = 0; i < rows; i++) {
        const FN(vec) x = FN(vec_all)(a[i][l]);

        sum[i][0] = FN(vec_fma)(x, low, sum[i][0]);
        if (vecs == 2)
            sum[i][1] = FN(vec_fma)(x, high, sum[i][1]);
    }
}

/* The same for rows of a that lie anywhere: row i's terms of run r from rows[i] + r.a on. Half a line a term is fetched
 * from `ahead` on: enough for rows that meet a few terms each, and an address that costs no register or instruction
 * more. */
#define HALF_LINE 32 /* bytes */
RP_INLINE void FN(tile_in_place)(size_t rows, size_t vecs, const FN(strip) * s)
{
    FN(vec) sum[CONV_ROWS][2];

    RP_UNROLL
    for (size_t i = 0; i < rows; i++) {
        __builtin_prefetch(s->y[i] + s->column, 1);
        if (vecs == 2)
            __builtin_prefetch(s->y[i] + s->column + WIDTH, 1);
        sum[i][0] = sum[i][1] = FN(vec_all)(0);
    }
    for (const segment *run = s->run, *end = run + s->runs; run < end; run++) {
        const T *a[CONV_ROWS], *b = s->b + run->b * (ptrdiff_t)PANEL;
        const uintptr_t ahead = (uintptr_t)s->ahead + (size_t)run->b * HALF_LINE;
        const size_t n = run->n;
        size_t l = 0;

        RP_UNROLL
        for (size_t i = 0; i < rows; i++)
            a[i] = s->rows[i] + run->a;
        for (; GROUP > 1 && l + GROUP <= n; l += GROUP, b += GROUP * PANEL) {
            RP_UNROLL
            for (size_t g = 0; g < GROUP; g++)
                FN(term_in_place)(rows, vecs, sum, a, b + g * PANEL, l + g);
            __builtin_prefetch((const void *)(ahead + l * HALF_LINE), 0, 2);
        }
        for (; l < n; l++, b += PANEL) {
            FN(term_in_place)(rows, vecs, sum, a, b, l);
            __builtin_prefetch((const void *)(ahead + l * HALF_LINE), 0, 2);
        }
    }
    RP_UNROLL
    for (size_t i = 0; i < rows; i++) {
        T *y = s->y[i] + s->column;

        FN(vec_store)(y, s->fresh[i] ? sum[i][0] : FN(vec_add)(FN(vec_load)(y), sum[i][0]));
        if (vecs == 2)
            FN(vec_store)(y + WIDTH, s->fresh[i] ? sum[i][1] : FN(vec_add)(FN(vec_load)(y + WIDTH), sum[i][1]));
    }
}
#undef HALF_LINE
#undef LINE_TERMS
#undef GROUP
#else
/* Without a fused instruction: the exact software fma, a panel of neighbouring chains at a time. */
RP_INLINE void FN(tile)(size_t rows, size_t vecs, bool beside, FN(panel_is) panel, bool resume, bool tight,
                        const FN(strip) * s)
{
    const size_t columns = vecs * WIDTH;

    (void)tight;
    for (size_t i = 0; i < rows; i++) {
        T *y = s->y[i] + s->column, chain[PANEL];

        for (size_t j = 0; j < columns; j++)
            chain[j] = resume ? y[j] : 0;
        for (size_t r = 0; r < s->runs; r++) {
            const T *a = s->a + s->run[r].a + (ptrdiff_t)i * (beside ? 1 : ROW_STEP),
                    *b = s->b + s->run[r].b * s->b_step;

            for (size_t l = 0; panel == FN(COPIED) && i == 0 && l < s->run[r].n; l++)
                memcpy(s->copy + l * PANEL, b + (ptrdiff_t)l * s->b_step, PANEL * sizeof(T));
            for (size_t l = 0; l < s->run[r].n; l++, a += beside ? s->a_col : 1, b += s->b_step)
                RP_EACH(j, columns) chain[j] = FN(rp_fma)(*a, b[j], chain[j]);
        }
        for (size_t j = 0; j < columns; j++)
            y[j] = resume || s->fresh[i] ? chain[j] : y[j] + chain[j];
    }
}
#endif

/* A function for every number of rows, so that none is wasted on padding. */
#ifdef VEC_BYTES
#if CONV_ROWS > 6
#define ROWS_CASES \
    ROWS_CASE(1) \
    ROWS_CASE(2) \
    ROWS_CASE(3) \
    ROWS_CASE(4) \
    ROWS_CASE(5) \
    ROWS_CASE(6) \
    ROWS_CASE(7) \
    ROWS_CASE(8) \
    ROWS_CASE(9) \
    ROWS_CASE(10) \
    ROWS_CASE(11)
#else
#define ROWS_CASES \
    ROWS_CASE(1) \
    ROWS_CASE(2) \
    ROWS_CASE(3) \
    ROWS_CASE(4) \
    ROWS_CASE(5)
#endif

#define ROWS_CASE(n) \
    case n: \
        FN(tile)(n, vecs, beside, panel, resume, tight, s); \
        break;
RP_INLINE void FN(tile_rows)(size_t rows, size_t vecs, bool beside, FN(panel_is) panel, bool resume, bool tight,
                             const FN(strip) * s)
{
    switch (rows) {
        ROWS_CASES
    default:
        FN(tile)(CONV_ROWS, vecs, beside, panel, resume, tight, s);
        break;
    }
}
#undef ROWS_CASE

#define ROWS_CASE(n) \
    case n: \
        FN(tile_in_place)(n, vecs, s); \
        break;
RP_INLINE void FN(tile_lying)(size_t rows, size_t vecs, const FN(strip) * s)
{
    switch (rows) {
        ROWS_CASES
    default:
        FN(tile_in_place)(CONV_ROWS, vecs, s);
        break;
    }
}

static void FN(tile_rows_in_place)(size_t rows, size_t vecs, const FN(strip) * s)
{
    if (vecs == 1)
        FN(tile_lying)(rows, 1, s);
    else
        FN(tile_lying)(rows, 2, s);
}
#undef ROWS_CASE
#undef ROWS_CASES
#else
static void FN(tile_rows_in_place)(size_t rows, size_t vecs, const FN(strip) * s)
{
    (void)rows, (void)vecs, (void)s;
}

RP_INLINE void FN(tile_rows)(size_t rows, size_t vecs, bool beside, FN(panel_is) panel, bool resume, bool tight,
                             const FN(strip) * s)
{
    FN(tile)(rows, vecs, beside, panel, resume, tight, s);
}
#endif

/* vecs is 1 or 2. */
static void FN(tile_apart)(size_t rows, size_t vecs, const FN(strip) * s)
{
    if (vecs == 1)
        FN(tile_rows)(rows, 1, false, FN(READY), false, false, s);
    else if (s->copy != NULL)
        FN(tile_rows)(rows, 2, false, FN(COPIED), false, false, s);
    else if (s->lying)
        FN(tile_rows)(rows, 2, false, FN(LYING), false, false, s);
    else if (WIDEST == 32 && s->b_step == (ptrdiff_t)PANEL && (s->ahead_step == 0 || s->ahead_step == (ptrdiff_t)WIDTH))
        FN(tile_rows)(rows, 2, false, FN(READY), false, true, s);
    else
        FN(tile_rows)(rows, 2, false, FN(READY), false, false, s);
}

static void FN(tile_beside)(size_t rows, size_t vecs, const FN(strip) * s)
{
    if (vecs == 1)
        FN(tile_rows)(rows, 1, true, FN(READY), false, false, s);
    else if (s->copy != NULL)
        FN(tile_rows)(rows, 2, true, FN(COPIED), false, false, s);
    else
        FN(tile_rows)(rows, 2, true, FN(READY), false, false, s);
}

static void FN(tile_resume)(size_t rows, size_t vecs, const FN(strip) * s)
{
    if (vecs == 1)
        FN(tile_rows)(rows, 1, true, FN(READY), true, false, s);
    else
        FN(tile_rows)(rows, 2, true, FN(READY), true, false, s);
}

/* How the rows of a lie. */
typedef enum FN(rows_lie) { FN(BESIDE), FN(PACKED), FN(ANYWHERE) } FN(rows_lie);

static void FN(tile_of)(FN(rows_lie) lie, size_t rows, size_t vecs, const FN(strip) * s)
{
    if (lie == FN(ANYWHERE))
        FN(tile_rows_in_place)(rows, vecs, s);
    else
        (lie == FN(BESIDE) ? FN(tile_beside) : FN(tile_apart))(rows, vecs, s);
}

/* A tile that does not fill its vectors, or has a stride in y, is computed beside y and copied. */
static void FN(tile_aside)(FN(rows_lie) lie, size_t rows, size_t columns, ptrdiff_t y_col, const FN(strip) * s)
{
    static const bool fresh[CONV_ROWS] = {[0 ... CONV_ROWS - 1] = true};
    T chain[CONV_ROWS][PANEL], *y[CONV_ROWS];
    FN(strip) aside = *s;

    for (size_t i = 0; i < rows; i++)
        y[i] = chain[i];
    aside.y = y;
    aside.column = 0;
    aside.fresh = fresh;
    FN(tile_of)(lie, rows, columns > WIDTH ? 2 : 1, &aside);
    for (size_t i = 0; i < rows; i++) {
        T *to = s->y[i] + s->column;

        if (y_col == 1 && s->fresh[i])
            copy_few(to, chain[i], columns * sizeof *to);
        else if (y_col == 1)
            RP_EACH(j, columns) to[j] = to[j] + chain[i][j];
        else
            for (size_t j = 0; j < columns; j++, to += y_col)
                *to = s->fresh[i] ? chain[i][j] : *to + chain[i][j];
    }
}

/* A tile of `columns` outputs a row. */
static void FN(tile_any)(FN(rows_lie) lie, size_t rows, size_t columns, ptrdiff_t y_col, const FN(strip) * s)
{
    if (columns % WIDTH != 0 || y_col != 1)
        FN(tile_aside)(lie, rows, columns, y_col, s);
    else
        FN(tile_of)(lie, rows, columns / WIDTH, s);
}

#ifdef VEC_BYTES
/* to[j, i] = from[i, j] of a square of vectors: zipping the halves log2(WIDTH) times transposes. */
RP_INLINE void FN(turn_square)(T *to, ptrdiff_t to_step, const T *from, ptrdiff_t from_step)
{
    FN(vec) v[WIDTH], w[WIDTH];

    RP_UNROLL
    for (size_t i = 0; i < WIDTH; i++) {
        v[i] = FN(vec_load)(from + (ptrdiff_t)i * from_step);
        __builtin_prefetch(from + (ptrdiff_t)i * from_step + 8 * WIDTH, 0, 2);
    }
    RP_UNROLL
    for (size_t stage = 1; stage < WIDTH; stage *= 2) {
        RP_UNROLL
        for (size_t j = 0; j < WIDTH / 2; j++) {
            w[2 * j] = FN(vec_zip_low)(v[j], v[j + WIDTH / 2]);
            w[2 * j + 1] = FN(vec_zip_high)(v[j], v[j + WIDTH / 2]);
        }
        RP_UNROLL
        for (size_t j = 0; j < WIDTH; j++)
            v[j] = w[j];
    }
    RP_UNROLL
    for (size_t j = 0; j < WIDTH; j++)
        FN(vec_store)(to + (ptrdiff_t)j * to_step, v[j]);
}

/* PANEL columns that each lie in order. Returns how many terms it took. */
static size_t FN(turn_b)(T *packed, const T *from, ptrdiff_t b_col, size_t n)
{
    size_t done = 0;

    for (; done + WIDTH <= n; done += WIDTH)
        for (size_t half = 0; half < PANEL; half += WIDTH)
            FN(turn_square)(packed + done * PANEL + half, PANEL, from + (ptrdiff_t)half * b_col + done, b_col);
    return done;
}
#endif

/* n terms of `columns` <= PANEL columns; the missing columns are zeros: outputs nobody stores. */
static void FN(pack_b)(T *packed, const T *from, ptrdiff_t b_step, ptrdiff_t b_col, size_t columns, size_t n)
{
    size_t l = 0;

#ifdef VEC_BYTES
    if (b_step == 1 && columns == PANEL)
        l = FN(turn_b)(packed, from, b_col, n);
#endif
    packed += l * PANEL;
    from += (ptrdiff_t)l * b_step;
    for (; l < n; l++, from += b_step, packed += PANEL)
        if (b_col == 1 && columns == PANEL)
            memcpy(packed, from, PANEL * sizeof *packed); /* of a constant size: a few vectors */
        else
            for (size_t j = 0; j < PANEL; j++)
                packed[j] = j < columns ? from[(ptrdiff_t)j * b_col] : 0;
}

#undef PANEL
#undef WIDTH
