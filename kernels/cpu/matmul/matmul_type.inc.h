/* SPDX-License-Identifier: Apache-2.0
 * The matrix product for one type. Blocks of b, one chunk of k deep, are packed into the second cache; over them go
 * blocks of rows of a, and tiles of outputs that fill the registers, each running the contract's fma chain. The
 * blocking along k is the contract's own chunk.
 *
 * Parameters, from kernels/type_f32.h or type_f64.h: T the type of the elements, FN(name) the name of its variant.
 * For levels with vectors. Before it: nothing. Gives FN(block), and FN(block_onto), which adds to what y has. */
#if !defined(T) || !defined(FN)
#error "a template: include one of kernels/type_f32.h and kernels/type_f64.h before it"
#endif

#include "kernels/cpu/matmul/matmul_pack.inc.h"
#include "kernels/cpu/matmul/matmul_thin.inc.h"
#include "kernels/cpu/matmul/matmul_across.inc.h"

#define WIDTH (VEC_BYTES / sizeof(T))
#define PANEL (2 * WIDTH)
/* Of k, between which a row of y is fetched; and how many of them bring a line of what comes next. A processor that two
 * threads share, as those with AVX2 often are, has three instructions a turn for each: beside two fused ones every
 * other one counts, and more than needed of them made 0.80 to 0.85 of the speed. */
#define GROUP 2
#define LINE_STEPS (VEC_BYTES == 32 ? 2 : 1)

/* The operands of tiles that share a panel of b; steps in elements. */
typedef struct FN(strip) {
    const T *a, *b;
    /* What comes next is fetched into the second cache on the way, a line for each k: rows of a that are read in place;
     * or half of the next packed panel, so that the last two tiles bring it from the third cache; or, where b is read
     * in place, the same rows of the next product of a batch, or half of what lies behind a strip of it. */
    const T *ahead;
    ptrdiff_t a_row, a_col, b_step;
    bool lying; /* b is read in place by few tiles, and `ahead` goes along its rows, a panel of each */
    T *copy;    /* NULL, or where the panel of b is left in packed form */
    size_t k;
    T *y;
    ptrdiff_t y_row;
    bool first; /* this is the first chunk of k */
} FN(strip);

/* The panel of b is packed, or read in place in passing; it is packed on the way; or it lies, and what is read next is
 * fetched. */
typedef enum FN(panel_is) { FN(READY), FN(COPIED), FN(LYING) } FN(panel_is);

/* Where a tile is in its operands. */
typedef struct FN(cursor) {
    const T *a, *b, *ahead;
    T *packed;
} FN(cursor);

/* One k: sum += a column of a by a row of b. asks: for a line of what comes next. */
RP_INLINE void FN(tile_step)(size_t rows, size_t vecs, FN(panel_is) panel, FN(vec) sum[][2], FN(cursor) * c,
                             ptrdiff_t a_row, ptrdiff_t a_col, ptrdiff_t b_step, bool asks)
{
    const FN(vec) left = FN(vec_load)(c->b), right = vecs == 2 ? FN(vec_load)(c->b + WIDTH) : left;

    if (panel == FN(COPIED)) {
        /* The next panel, into the second cache: the last element of each vector, as rows that do not begin with a line
         * have a panel in three lines, of which this one has brought the first; a short panel in two. */
        if (LINE_STEPS == 1)
            __builtin_prefetch(c->b + PANEL + WIDTH - 1, 0, 2);
        __builtin_prefetch(c->b + 2 * PANEL - 1, 0, 2);
        FN(vec_store)(c->packed, left);
        FN(vec_store)(c->packed + WIDTH, right);
        c->packed += PANEL;
    } else if (panel == FN(LYING)) {
        __builtin_prefetch(c->ahead, 0, 2);
        __builtin_prefetch(c->ahead + PANEL - 1, 0, 2);
        c->ahead += b_step;
    } else if (asks) {
        __builtin_prefetch(c->ahead, 0, 2);
        c->ahead += LINE_STEPS * WIDTH;
    }
    RP_UNROLL
    for (size_t i = 0; i < rows; i++) {
        const FN(vec) x = FN(vec_all)(c->a[(ptrdiff_t)i * a_row]);

        sum[i][0] = FN(vec_fma)(x, left, sum[i][0]);
        if (vecs == 2)
            sum[i][1] = FN(vec_fma)(x, right, sum[i][1]);
    }
    c->a += a_col;
    c->b += b_step;
}

/* y = or += the chains of rows x vecs vectors of outputs. unit: the rows of a lie beside one another, as if packed;
 * tight: and so do its columns, where they do, and the rows of b, so that no step is taken by an instruction of its
 * own. A panel that is packed on the way hides the wait for memory behind the arithmetic. Rows of y are fetched one by
 * one: all at once they would keep the operands waiting; and late, or the operands drive them out of the first cache
 * again. */
RP_INLINE void FN(tile)(size_t rows, size_t vecs, bool unit, bool tight, FN(panel_is) panel, const FN(strip) * s)
{
    const ptrdiff_t a_row = unit ? 1 : s->a_row, a_col = !unit ? 1 : tight ? (ptrdiff_t)rows : s->a_col;
    const ptrdiff_t b_step = tight ? (ptrdiff_t)PANEL : s->b_step;
    FN(cursor) c = {.a = s->a, .b = s->b, .ahead = s->ahead, .packed = s->copy};
    T *y = s->y, *next = y;
    size_t steps = s->k, left = rows;
    FN(vec) sum[TILE_ROWS][2];

    RP_UNROLL
    for (size_t i = 0; i < rows; i++)
        sum[i][0] = sum[i][1] = FN(vec_all)(0);
    for (; steps >= GROUP; steps -= GROUP) {
        RP_UNROLL
        for (size_t l = 0; l < GROUP; l++)
            FN(tile_step)(rows, vecs, panel, sum, &c, a_row, a_col, b_step, l % LINE_STEPS == 0);
        if (steps <= Y_AHEAD && left > 0) {
            __builtin_prefetch(next, 1);
            if (vecs == 2)
                __builtin_prefetch(next + WIDTH, 1);
            next += s->y_row;
            left--;
        }
    }
    for (; steps > 0; steps--)
        FN(tile_step)(rows, vecs, panel, sum, &c, a_row, a_col, b_step, LINE_STEPS == 1);
    RP_UNROLL
    for (size_t i = 0; i < rows; i++) {
        T *at = y + (ptrdiff_t)i * s->y_row;

        FN(vec_store)(at, s->first ? sum[i][0] : FN(vec_add)(FN(vec_load)(at), sum[i][0]));
        if (vecs == 2)
            FN(vec_store)(at + WIDTH, s->first ? sum[i][1] : FN(vec_add)(FN(vec_load)(at + WIDTH), sum[i][1]));
    }
}

/* A whole panel of y += the products of a column and a row, one pair after the other, so many elements on: y stays in
 * registers. */
RP_INLINE void FN(tile_outer)(size_t rows, const FN(strip) * s, size_t pairs, ptrdiff_t a_on, ptrdiff_t b_on)
{
    const T *a = s->a, *b = s->b;
    FN(vec) sum[TILE_ROWS][2];

    RP_UNROLL
    for (size_t i = 0; i < rows; i++) {
        sum[i][0] = FN(vec_load)(s->y + (ptrdiff_t)i * s->y_row);
        sum[i][1] = FN(vec_load)(s->y + (ptrdiff_t)i * s->y_row + WIDTH);
    }
    for (; pairs > 0; pairs--, a += a_on, b += b_on) {
        const FN(vec) zero = FN(vec_all)(0), left = FN(vec_load)(b), right = FN(vec_load)(b + WIDTH);

        RP_UNROLL
        for (size_t i = 0; i < rows; i++) {
            const FN(vec) x = FN(vec_all)(a[(ptrdiff_t)i * s->a_row]);

            sum[i][0] = FN(vec_add)(sum[i][0], FN(vec_fma)(x, left, zero));
            sum[i][1] = FN(vec_add)(sum[i][1], FN(vec_fma)(x, right, zero));
        }
    }
    RP_UNROLL
    for (size_t i = 0; i < rows; i++) {
        FN(vec_store)(s->y + (ptrdiff_t)i * s->y_row, sum[i][0]);
        FN(vec_store)(s->y + (ptrdiff_t)i * s->y_row + WIDTH, sum[i][1]);
    }
}

#define ROWS_CASE(n) \
    case n: \
        FN(tile_outer)(n, s, pairs, a_on, b_on); \
        break;

static void FN(tiles_outer)(size_t rows, const FN(strip) * s, size_t pairs, ptrdiff_t a_on, ptrdiff_t b_on)
{
    switch (rows) {
        RP_EACH_TILE(ROWS_CASE)
    default:
        FN(tile_outer)(TILE_ROWS, s, pairs, a_on, b_on);
        break;
    }
}
#undef ROWS_CASE

#define ROWS_CASE(n) \
    case n: \
        FN(tile)(n, vecs, unit, tight, panel, s); \
        break;

RP_INLINE void FN(tile_rows)(size_t rows, size_t vecs, bool unit, bool tight, FN(panel_is) panel, const FN(strip) * s)
{
    switch (rows) {
        RP_EACH_TILE(ROWS_CASE)
    default:
        FN(tile)(TILE_ROWS, vecs, unit, tight, panel, s);
        break;
    }
}
#undef ROWS_CASE

static void FN(tile_any)(size_t rows, size_t vecs, const FN(strip) * s)
{
    const bool unit = s->a_row == 1;
    const bool tight = VEC_BYTES == 32 && vecs == 2 && s->copy == NULL && !s->lying && s->b_step == (ptrdiff_t)PANEL;

    if (tight && unit && s->a_col == (ptrdiff_t)rows)
        FN(tile_rows)(rows, 2, true, true, FN(READY), s);
    else if (tight && !unit)
        FN(tile_rows)(rows, 2, false, true, FN(READY), s);
    else if (vecs == 1 && unit)
        FN(tile_rows)(rows, 1, true, false, FN(READY), s);
    else if (vecs == 1)
        FN(tile_rows)(rows, 1, false, false, FN(READY), s);
    else if (s->copy != NULL && unit)
        FN(tile_rows)(rows, 2, true, false, FN(COPIED), s);
    else if (s->copy != NULL)
        FN(tile_rows)(rows, 2, false, false, FN(COPIED), s);
    else if (s->lying && unit)
        FN(tile_rows)(rows, 2, true, false, FN(LYING), s);
    else if (s->lying)
        FN(tile_rows)(rows, 2, false, false, FN(LYING), s);
    else if (unit)
        FN(tile_rows)(rows, 2, true, false, FN(READY), s);
    else
        FN(tile_rows)(rows, 2, false, false, FN(READY), s);
}

/* Rows [row, row + rows) in tiles as equal as they can be: the first rows % tiles of them have one row more. */
typedef struct FN(part) {
    const rp_matmul *p;
    size_t row, tiles, base, extra;
    size_t start, k;      /* the chunk */
    size_t frame, frames; /* so many products of p from this one on, one behind the other in what is packed */
    T *packed_b, *packed_a;
    size_t room_b, room_a;     /* columns; elements */
    bool in_place;             /* rows of a are read where they lie */
    size_t column, column_end; /* of those that meet them */
    bool onto;                 /* the first chunk's chains are added to y too */
    const rp_epilogue *epilogue;
} FN(part);

static size_t FN(tile_start)(const FN(part) * w, size_t tile)
{
    return w->row + tile * w->base + (tile < w->extra ? tile : w->extra);
}

/* Whether the chains of the chunk are what goes into y, and not added to it. */
static bool FN(begins)(const FN(part) * w)
{
    return w->start == 0 && !w->onto;
}

/* A tile whose columns are fewer than its vectors, or have a stride in y, is computed beside y and copied. */
static void FN(tile_aside)(const FN(part) * w, size_t row, size_t rows, size_t column, size_t columns, FN(strip) * s)
{
    const ptrdiff_t y_row = w->p->y_row, y_col = w->p->y_col;
    T *y = (T *)w->p->y + (ptrdiff_t)row * y_row + (ptrdiff_t)column * y_col;
    T aside[TILE_ROWS * PANEL];

    for (size_t i = 0; i < rows; i++)
        __builtin_prefetch(y + (ptrdiff_t)i * y_row, 1);
    s->y = aside;
    s->y_row = PANEL;
    s->first = true;
    FN(tile_any)(rows, columns > WIDTH ? 2 : 1, s);
    for (size_t i = 0; i < rows; i++, y += y_row)
        if (y_col == 1 && FN(begins)(w))
            copy_few(y, aside + i * PANEL, columns * sizeof(T));
        else
            for (size_t j = 0; j < columns; j++) {
                T *at = y + (ptrdiff_t)j * y_col;

                *at = FN(begins)(w) ? aside[i * PANEL + j] : *at + aside[i * PANEL + j];
            }
}

/* How the panels of b come to the tiles. */
typedef enum FN(supply) {
    FN(IN_PLACE), /* they are read where they lie */
    FN(FETCHED),  /* the same, and the first two tiles fetch them */
    FN(FUSED),    /* the first tile packs them on its way */
    FN(APART)     /* they are packed first */
} FN(supply);

/* Whether the rows of one tile wait for b, whose rows lie pages apart and are more than the second cache holds. What
 * packs a panel fetches the next one as well, which no processor does by itself; of few rows the packing costs as much
 * as it saves, but where the panel's lines are cut by its edges and each would be waited for twice. */
static bool FN(waits_for_b)(const FN(part) * w)
{
    const size_t row = (size_t)(w->p->b_row < 0 ? -w->p->b_row : w->p->b_row);

    return w->frames == 1 && w->k > 1 && row >= 4096 / sizeof(T) && row * w->k > FAR_B / sizeof(T) &&
           (w->base >= PACKING_ROWS || row % (64 / sizeof(T)) != 0);
}

/* Whether so few rows meet b that packing it costs more than it saves. Its rows a page's length apart would push each
 * other out of the caches, and vectors that two lines share would be waited for by each tile. */
static bool FN(meets_few)(const FN(part) * w)
{
    const rp_matmul *p = w->p;
    const size_t row = (size_t)p->b_row * sizeof(T);

    return w->tiles > 1 && w->tiles * w->base + w->extra <= LYING_ROWS && w->frames == 1 && w->k > 1 && p->b_row > 0 &&
           row % 4096 != 0 && row % 64 == 0 && (uintptr_t)p->b % 64 == 0;
}

static FN(supply) FN(supply_of)(const FN(part) * w, size_t columns)
{
    const ptrdiff_t b_row = w->p->b_row;

    if (w->p->b_col != 1 || (columns != PANEL && columns != WIDTH) || w->p->b_half)
        return FN(APART);
    if ((w->tiles == 1 && !FN(waits_for_b)(w)) || b_row == (ptrdiff_t)columns)
        return FN(IN_PLACE);
    if (w->k == 1 && w->frames > 1)
        return FN(APART); /* for tiles that keep y in registers */
    /* a few tiles over a matrix that the first cache holds */
    if (w->tiles <= 4 && b_row > 0 && (size_t)b_row * w->k * w->frames <= 16384 / sizeof(T))
        return FN(IN_PLACE);
    if (columns != PANEL) /* half a panel is not packed on the way */
        return FN(APART);
    return FN(meets_few)(w) ? FN(FETCHED) : FN(FUSED);
}

/* A tile of each of the products. */
static void FN(frames)(const FN(part) * w, size_t row, size_t rows, size_t column, size_t columns, bool b_lies,
                       FN(strip) * s)
{
    const bool aside = columns % WIDTH != 0 || w->p->y_col != 1;
    const ptrdiff_t a_on = w->in_place ? w->p->a_on : (ptrdiff_t)(rows * w->k);
    const ptrdiff_t b_on = b_lies ? w->p->b_on : (ptrdiff_t)(PANEL * w->k);

    if (w->k == 1 && !aside && columns == PANEL && !s->copy && !s->first) {
        FN(tiles_outer)(rows, s, w->frames, a_on, b_on);
        return;
    }
    for (size_t left = w->frames;;) {
        if (aside)
            FN(tile_aside)(w, row, rows, column, columns, s);
        else
            FN(tile_any)(rows, columns > WIDTH ? 2 : 1, s);
        if (--left == 0)
            break;
        s->a += a_on;
        s->b += b_on;
        s->copy = s->copy ? s->copy + PANEL * w->k : NULL;
    }
}

/* What a tile fetches of a panel b that lies: the first one rows shortly before they are met, the second the next panel
 * or the first one of the next chunk, which little waits for then. NULL: nothing. */
static const T *FN(lying_ahead)(const FN(part) * w, size_t tile, size_t column, const T *b)
{
    const bool more = w->start + RP_MATMUL_CHUNK < w->p->k;

    if (tile == 0)
        return w->k > LINES_AHEAD ? b + LINES_AHEAD * w->p->b_row : NULL;
    if (tile == 1 && column + 2 * PANEL <= w->column_end)
        return b + PANEL;
    return tile == 1 && more ? b - (column - w->column) + RP_MATMUL_CHUNK * w->p->b_row : NULL;
}

/* Tiles [tile, tile_end) of one panel. */
static void FN(panel)(const FN(part) * w, size_t tile, size_t tile_end, size_t column, size_t columns, T *packed)
{
    const rp_matmul *p = w->p;
    const FN(supply) supply = FN(supply_of)(w, columns);
    const ptrdiff_t from_b =
        (ptrdiff_t)w->frame * p->b_on + (ptrdiff_t)w->start * p->b_row + (ptrdiff_t)column * p->b_col;
    const T *b = p->b_half ? NULL : (const T *)p->b + from_b, *packed_a = w->packed_a; /* bf16 is packed first */
    const bool aside = columns % WIDTH != 0 || p->y_col != 1;
    const bool lies = supply == FN(IN_PLACE) || supply == FN(FETCHED);
    bool fuse = supply == FN(FUSED) && tile == 0 && !aside;

    for (size_t f = 0; f < w->frames && tile == 0 && !fuse && !lies; f++)
        FN(pack_from)
    (packed + f * PANEL * w->k, PANEL, p->b, p->b_half, from_b + (ptrdiff_t)f * p->b_on, p->b_col, p->b_row, columns,
     w->k);
    for (; tile < tile_end; tile++, fuse = false) {
        const size_t row = FN(tile_start)(w, tile), rows = FN(tile_start)(w, tile + 1) - row;
        const bool as_it_lies = fuse || lies;
        const T *fetched = supply == FN(FETCHED) ? FN(lying_ahead)(w, tile, column, b) : NULL;
        const T *a = p->a_half ? NULL
                               : (const T *)p->a + (ptrdiff_t)w->frame * p->a_on + (ptrdiff_t)row * p->a_row +
                                     (ptrdiff_t)w->start * p->a_col;
        const T *next_panel = packed + PANEL * RP_MATMUL_CHUNK + (tile_end - tile) % 2 * WIDTH * w->k;
        /* two or three tiles over one strip in one piece: the rows behind it, half of them by each */
        const bool strip = supply == FN(IN_PLACE) && w->tiles > 1 && w->tiles <= 3 && p->b_row == (ptrdiff_t)PANEL;
        const T *ahead = fetched                              ? fetched
                         : strip                              ? b + PANEL * w->k + (tile_end - tile) % 2 * WIDTH * w->k
                         : w->in_place && column == w->column ? a + (ptrdiff_t)rows * p->a_row
                         : lies                               ? a + (ptrdiff_t)p->m * p->a_row
                                                              : next_panel;
        FN(strip)
        s = {.a = w->in_place ? a : packed_a,
             .b = as_it_lies ? b : packed,
             .ahead = ahead,
             .a_row = w->in_place ? p->a_row : 1,
             .a_col = w->in_place ? p->a_col : (ptrdiff_t)rows,
             .b_step = as_it_lies ? p->b_row : (ptrdiff_t)PANEL,
             .lying = fetched != NULL,
             .copy = fuse ? packed : NULL,
             .k = w->k,
             .y = (T *)p->y + (ptrdiff_t)row * p->y_row + (ptrdiff_t)column,
             .y_row = p->y_row,
             .first = FN(begins)(w)};

        FN(frames)(w, row, rows, column, columns, as_it_lies, &s);
        packed_a += w->frames * rows * w->k;
    }
}

static void FN(pack_rows)(const FN(part) * w, size_t tile, size_t tile_end)
{
    const rp_matmul *p = w->p;
    T *to = w->packed_a;

    for (; tile < tile_end; tile++) {
        const size_t row = FN(tile_start)(w, tile), rows = FN(tile_start)(w, tile + 1) - row;

        for (size_t f = 0; f < w->frames; f++, to += rows * w->k)
            FN(pack_from)
        (to, rows, p->a, p->a_half,
         (ptrdiff_t)(w->frame + f) * p->a_on + (ptrdiff_t)row * p->a_row + (ptrdiff_t)w->start * p->a_col, p->a_row,
         p->a_col, rows, w->k);
    }
}

/* Whether rows of a that meet so many columns are read in place: packing them would cost more than it saves. Of more
 * than a few panels only rows that do not drive each other out of the first cache. */
static bool FN(reads_in_place)(const FN(part) * w, size_t columns)
{
    const bool apart = w->p->a_row % (ptrdiff_t)(4096 / sizeof(T)) != 0;

    if (w->p->a_half)
        return false;
    if (w->p->a_row == 1)
        return columns <= PANEL;
    return w->p->a_col == 1 && columns <= (apart ? (size_t)APART_PANELS : (size_t)IN_PLACE_PANELS) * PANEL;
}

/* Rows and columns of y are what they will be. A y whose columns lie apart is the transposed of what the epilogue
 * knows. */
static void FN(finished)(const rp_matmul *p, const rp_epilogue *e, size_t row, size_t row_end, size_t column,
                         size_t column_end)
{
    const T *y = (const T *)p->y + (ptrdiff_t)row * p->y_row + (ptrdiff_t)column * p->y_col;
    const size_t first = (size_t)(y - (const T *)e->y);

    if (p->y_col == 1)
        e->run(e->self, first, row_end - row, (size_t)p->y_row, column_end - column);
    else
        e->run(e->self, first, column_end - column, (size_t)p->y_col, row_end - row);
}

/* So many tiles meet all columns before the next are packed: as many as there is room for, and, where something is done
 * with what they make, as are still in the second cache then. */
static size_t FN(tiles_at_once)(const FN(part) * w, size_t columns)
{
    const size_t room = w->room_a / (TILE_ROWS * (w->k > 0 ? w->frames * w->k : 1));
    const size_t warm = EPILOGUE_BYTES / (TILE_ROWS * columns * sizeof(T));

    if (!w->epilogue || warm >= room)
        return room;
    return warm > LEAST_TILES ? warm : LEAST_TILES < room ? LEAST_TILES : room;
}

/* One chunk of k for at most room_b columns. Where one block of rows is all, a panel of b is used up before the next
 * one is packed, in the same place. */
static void FN(chunk)(FN(part) * w, size_t column, size_t columns)
{
    const size_t room = FN(tiles_at_once)(w, columns);
    const size_t next = w->tiles > room ? RP_MATMUL_CHUNK : 0;

    w->in_place = FN(reads_in_place)(w, columns);
    w->column = column;
    w->column_end = column + columns;
    for (size_t tile = 0; tile < w->tiles; tile += room) {
        const size_t tile_end = w->tiles - tile < room ? w->tiles : tile + room;

        if (!w->in_place)
            FN(pack_rows)(w, tile, tile_end);
        for (size_t j = 0; j < columns; j += PANEL)
            FN(panel)(w, tile, tile_end, column + j, columns - j < PANEL ? columns - j : PANEL, w->packed_b + j * next);
        if (w->epilogue && w->start + w->k >= w->p->k)
            FN(finished)
        (w->p, w->epilogue, FN(tile_start)(w, tile), FN(tile_start)(w, tile_end), column, column + columns);
    }
}

static void FN(packed)(FN(part) * w, size_t column, size_t column_end)
{
    /* products whose chains are short, as many as a chunk has room for */
    const size_t k = w->p->k, fit = k > 0 && k < RP_MATMUL_CHUNK ? RP_MATMUL_CHUNK / k : 1;

    for (; column < column_end; column += w->room_b) {
        const size_t columns = column_end - column < w->room_b ? column_end - column : w->room_b;

        for (w->frame = 0; w->frame <= w->p->more; w->frame += w->frames) {
            const size_t left = w->p->more + 1 - w->frame;

            w->frames = left < fit ? left : fit;
            w->start = 0;
            do { /* once also for k = 0, which gives the empty chain +0 */
                w->k = w->p->k - w->start < RP_MATMUL_CHUNK ? w->p->k - w->start : RP_MATMUL_CHUNK;
                FN(chunk)(w, column, columns);
                w->start += RP_MATMUL_CHUNK;
            } while (w->start < w->p->k);
        }
    }
}

/* Without a borrowed block: one panel and one tile at a time. */
static void FN(packed_on_stack)(FN(part) * w, size_t column, size_t column_end)
{
    _Alignas(64) T b[RP_MATMUL_CHUNK * PANEL];
    _Alignas(64) T a[RP_MATMUL_CHUNK * TILE_ROWS + WIDTH];

    w->packed_b = b;
    w->packed_a = a;
    w->room_b = PANEL;
    w->room_a = RP_MATMUL_CHUNK * TILE_ROWS;
    FN(packed)(w, column, column_end);
}

/* Whether the kernels of few rows take the product. */
static bool FN(is_thin)(const rp_matmul *p, size_t rows)
{
    return rows <= THIN_ROWS && (p->b_col == 1 || p->b_row == 1);
}

static void FN(block_of)(const rp_matmul *p, const rp_epilogue *epilogue, size_t row, size_t row_end, size_t column,
                         size_t column_end, bool onto)
{
    const size_t rows = row_end - row, tiles = (rows + TILE_ROWS - 1) / TILE_ROWS;
    FN(part)
    w = {.p = p,
         .row = row,
         .tiles = tiles,
         .base = rows / tiles,
         .extra = rows % tiles,
         .onto = onto,
         .epilogue = epilogue};
    T *block;

    if (!onto && FN(is_thin)(p, rows)) {
        (p->b_col == 1 ? FN(thin) : FN(across))(p, row, row_end, column, column_end);
        if (epilogue)
            FN(finished)(p, epilogue, row, row_end, column, column_end);
        return;
    }
    if (rows > THIN_ROWS && (column_end - column) * p->k * (1 + p->more) >= LARGE_B / sizeof(T))
        rp_scratch_prefer_huge();
    block = rp_scratch_borrow();
    if (block == NULL) {
        FN(packed_on_stack)(&w, column, column_end);
        return;
    }
    w.packed_b = block;
    w.packed_a = block + B_BYTES / sizeof(T);
    w.room_b = B_BYTES / (RP_MATMUL_CHUNK * sizeof(T)) / PANEL * PANEL;
    w.room_a = A_BYTES / sizeof(T) - WIDTH;
    FN(packed)(&w, column, column_end);
    rp_scratch_return(block);
}

static void FN(block)(const rp_matmul *p, const rp_epilogue *epilogue, size_t row, size_t row_end, size_t column,
                      size_t column_end)
{
    FN(block_of)(p, epilogue, row, row_end, column, column_end, false);
}

static void FN(block_onto)(const rp_matmul *p, const rp_epilogue *epilogue, size_t row, size_t row_end, size_t column,
                           size_t column_end)
{
    FN(block_of)(p, epilogue, row, row_end, column, column_end, true);
}

#undef LINE_STEPS
#undef GROUP
#undef PANEL
#undef WIDTH
