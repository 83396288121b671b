/* SPDX-License-Identifier: Apache-2.0
 * The pixels of a convolution for one type. The terms are taken a chunk at a time: the weight's part of it is packed
 * once, then blocks of pixels whose taps of the chunk are the same are packed and go through register tiles.
 *
 * Parameters, from kernels/type_f32.h or type_f64.h: T the type of the elements, FN(name) the name of its variant.
 * Before it: conv_tile.inc.h, for tiles and packing, and conv_turned_type.inc.h. Gives FN(run_pixels). */
#if !defined(T) || !defined(FN)
#error "a template: include one of kernels/type_f32.h and kernels/type_f64.h before it"
#endif

#include "kernels/cpu/conv/conv_pixels.h"
#include "kernels/level.h"

#define WIDTH (WIDEST / sizeof(T))
#define PANEL (2 * WIDTH)

typedef struct FN(work) {
    const plan *p;
    size_t begin, end;      /* pixels */
    size_t column, columns; /* of the weight that is packed */
    T *packed_a, *packed_b;
    size_t room_a, room_b; /* rows, columns */
    chunk chunk;
    bool packed; /* the weight's part of the chunk is */
    bool spread; /* all of the weight's columns are: packed_b has all terms of a panel, not a chunk's */
    tap_list list, other;
    layout terms;
    segment split[RP_CONV_CHUNK]; /* its only run, in parts */
    size_t rows, most;            /* now, and at which a block is computed */
    T *y[MOST_ROWS];
    const T *a[MOST_ROWS];
    bool fresh[MOST_ROWS];
    pixel_class class[MOST_CLASSES];
} FN(work);

static void FN(pack_rows)(const FN(work) * w, size_t row, size_t end)
{
    const ptrdiff_t step = w->p->a_step;

    for (size_t i = row; i < end; i++) {
        T *to = w->packed_a + i * ROW_STEP;

        for (size_t r = 0; r < w->terms.a_runs; r++) {
            const segment *run = &w->terms.a[r];
            const T *from = w->a[i] + run->a;

            if (step == 1)
                copy_few(to, from, run->n * sizeof *to);
            else
                for (size_t l = 0; l < run->n; l++)
                    to[l] = from[(ptrdiff_t)l * step];
            to += run->n;
        }
    }
}

static size_t FN(terms_of)(const plan *p)
{
    return p->conv->h.taps * p->conv->w.taps * p->depth;
}

/* Where the chunk's terms of the panel at column j lie, packed. */
static T *FN(panel_at)(const FN(work) * w, size_t j)
{
    return w->packed_b + (w->spread ? j * FN(terms_of)(w->p) + w->chunk.start * PANEL : j * RP_CONV_CHUNK);
}

/* One panel of the chunk: every tap, whether or not some pixels lack it. */
static void FN(pack_weight)(const FN(work) * w, size_t column, size_t columns, T *packed)
{
    const plan *p = w->p;
    const chunk *c = &w->chunk;

    for (size_t tap = c->tap; tap < c->tap_end; tap++) {
        const size_t first = tap * p->depth, begin = first > c->start ? first : c->start;
        const size_t end = first + p->depth < c->stop ? first + p->depth : c->stop;
        const T *from = (const T *)p->weight.data + (ptrdiff_t)(tap / p->conv->w.taps) * p->weight.stride[0] +
                        (ptrdiff_t)(tap % p->conv->w.taps) * p->weight.stride[1] +
                        (ptrdiff_t)(begin - first) * p->b_step + (ptrdiff_t)column * p->b_col;

        FN(pack_b)(packed, from, p->b_step, p->b_col, columns, end - begin);
        packed += (end - begin) * PANEL;
    }
}

#ifdef VEC_BYTES
/* A weight [k, c, r, s]: neither terms nor columns are neighbours but taps are, so that packing a chunk would read each
 * line again for every tap. All terms of a few columns are then packed at once, each line read once. */
static bool FN(taps_lie_innermost)(const plan *p)
{
    const rp_view *v = &p->weight;
    const size_t taps = p->conv->h.taps * p->conv->w.taps, terms = FN(terms_of)(p);

    return p->conv->groups == 1 && taps > 1 && terms > 0 && terms <= B_BYTES / PANEL_BYTES && v->stride[1] == 1 &&
           v->stride[0] == (ptrdiff_t)p->conv->w.taps && v->stride[2] == (ptrdiff_t)taps &&
           v->stride[3] == (ptrdiff_t)(taps * p->conv->c);
}

/* Elements [first, first + n) of the columns of half a panel, whose terms lie side by side: element i is tap i mod taps
 * of term i div taps. */
static void FN(spread_columns)(const plan *p, const T *from, size_t first, size_t n, size_t columns, T *to)
{
    const size_t taps = p->conv->h.taps * p->conv->w.taps;
    T square[WIDTH * WIDTH];

    if (n == WIDTH && columns == WIDTH)
        FN(turn_square)(square, WIDTH, from + first, p->b_col);
    else
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < WIDTH; j++)
                square[i * WIDTH + j] = j < columns ? from[(ptrdiff_t)j * p->b_col + (ptrdiff_t)(first + i)] : 0;
    for (size_t i = 0, tap = first % taps, term = first / taps; i < n; i++, tap = tap + 1 < taps ? tap + 1 : 0) {
        FN(vec_store)(to + (tap * p->depth + term) * PANEL, FN(vec_load)(square + i * WIDTH));
        term += tap + 1 == taps;
    }
}

/* Taps [first, first + n) of one term, whose columns lie `taps` apart. whole: what lies behind them may be read. */
static void FN(spread_term)(const plan *p, const T *from, size_t first, size_t n, size_t columns, bool whole, T *to)
{
    const ptrdiff_t tap = (ptrdiff_t)(p->depth * PANEL);
    T square[WIDTH * WIDTH];

    if (whole && columns == WIDTH && n > 1)
        FN(turn_square)(square, WIDTH, from + first, p->b_col);
    else
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < WIDTH; j++)
                square[i * WIDTH + j] = j < columns ? from[(ptrdiff_t)j * p->b_col + (ptrdiff_t)(first + i)] : 0;
    for (size_t i = 0; i < n; i++)
        FN(vec_store)(to + (ptrdiff_t)(first + i) * tap, FN(vec_load)(square + i * WIDTH));
}

/* All terms of the columns, as they lie in memory, half a panel after the other. */
static void FN(pack_spread)(const FN(work) * w)
{
    const plan *p = w->p;
    const size_t taps = p->conv->h.taps * p->conv->w.taps, terms = FN(terms_of)(p);
    const size_t all = taps * p->conv->c * p->conv->k, padded = (w->columns + PANEL - 1) / PANEL * PANEL;
    const bool beside = p->b_step == (ptrdiff_t)taps;
    const size_t outer = beside ? 1 : p->depth, length = beside ? terms : taps;

    for (size_t term = 0; term < outer; term++)
        for (size_t j = 0; j < padded; j += WIDTH) {
            const size_t left = j < w->columns ? w->columns - j : 0, columns = left < WIDTH ? left : WIDTH;
            const ptrdiff_t at = (ptrdiff_t)term * p->b_step + (ptrdiff_t)(w->column + j) * p->b_col;
            const T *from = (const T *)p->weight.data + at;
            T *to = w->packed_b + j / PANEL * PANEL * terms + j % PANEL + term * PANEL;

            for (size_t first = 0; first < length; first += WIDTH) {
                const size_t n = length - first < WIDTH ? length - first : WIDTH;

                if (beside)
                    FN(spread_columns)(p, from, first, n, columns, to);
                else
                    FN(spread_term)
                (p, from, first, n, columns, (size_t)at + first + (WIDTH - 1) * taps + WIDTH <= all, to);
            }
        }
}
#else
static bool FN(taps_lie_innermost)(const plan *p)
{
    (void)p;
    return false;
}

static void FN(pack_spread)(const FN(work) * w)
{
    (void)w;
}
#endif

/* The chunk's terms of the weight where they lie at one step; else NULL. */
static const T *FN(weight_in_place)(const FN(work) * w)
{
    const plan *p = w->p;
    const ptrdiff_t tap = (ptrdiff_t)p->depth * p->b_step;

    if (p->b_col != 1 || p->y_col != 1 || p->weight.stride[1] != tap ||
        p->weight.stride[0] != (ptrdiff_t)p->conv->w.taps * tap)
        return NULL;
    return (const T *)p->weight.data + (ptrdiff_t)w->chunk.start * p->b_step + (ptrdiff_t)w->column;
}

/* The first tiles fetch the next panel of a weight that is to be packed by turning it, whose columns lie in order:
 * columns of a chunk's length each for a part of the terms, shorter ones as they follow one another. */
static void FN(fetch_weight)(FN(work) * w, size_t j, size_t tile, FN(strip) * s)
{
    const plan *p = w->p;
    const bool last = j + PANEL >= w->columns, whole = p->depth >= RP_CONV_CHUNK;
    const size_t part = RP_CONV_CHUNK / WIDTH, row = PANEL * p->depth;
    const size_t piece = whole ? 0 : tile * RP_CONV_CHUNK * WIDTH, term = last ? w->chunk.stop : w->chunk.start;
    const size_t tap = term / p->depth + piece / row;

    if (tap >= p->conv->h.taps * p->conv->w.taps || (whole && tile * WIDTH >= PANEL))
        return;
    s->ahead = (const T *)p->weight.data + (ptrdiff_t)(tap / p->conv->w.taps) * p->weight.stride[0] +
               (ptrdiff_t)(tap % p->conv->w.taps) * p->weight.stride[1] + (ptrdiff_t)(term % p->depth + piece % row) +
               (ptrdiff_t)(last ? w->column : w->column + j + PANEL) * p->b_col;
    s->ahead_step = WIDTH;
    if (!whole || w->terms.b_runs != 1)
        return;
    s->ahead += (ptrdiff_t)(tile * WIDTH) * p->b_col;
    s->ahead_run = p->b_col;
    s->run = w->split;
    s->runs = 0;
    for (size_t at = 0; at < w->terms.n; at += part) {
        const size_t left = w->terms.n - at;

        w->split[s->runs++] = (segment){(ptrdiff_t)at, w->terms.b[0].b + (ptrdiff_t)at, left < part ? left : part};
    }
}

/* What a tile fetches for later, a line a term: the weight, or the images as they go on behind the block's last pixel.
 */
static void FN(look_ahead)(FN(work) * w, size_t j, size_t tile, FN(strip) * s)
{
    s->ahead = s->a;
    if (!w->packed && w->p->b_step == 1)
        FN(fetch_weight)(w, j, tile, s);
    else if (j == 0) {
        s->ahead = w->a[w->rows - 1] + w->terms.a[w->terms.a_runs - 1].a + (ptrdiff_t)(tile * RP_CONV_CHUNK * WIDTH);
        s->ahead_step = WIDTH;
    }
}

/* Whether packing the rows would cost more than it saves: few columns meet them, and they do not drive each other out
 * of the first cache. Tiles that read in place fetch no weight ahead, which counts where large panels are packed by
 * turning. */
static bool FN(rows_in_place)(const FN(work) * w)
{
    const plan *p = w->p;
    const bool apart = (ptrdiff_t)p->w.move * p->from.stride[2] % (ptrdiff_t)(4096 / sizeof(T)) != 0;
    const size_t most = !apart ? IN_PLACE_PANELS : p->b_step == 1 ? TURNED_PANELS : APART_PANELS;

    return TILES_IN_PLACE && p->a_step == 1 && p->y_col == 1 && w->columns <= most * PANEL;
}

/* Whether so few pixels meet the weight that packing it costs more than it saves: few tiles read each panel, the first
 * from far away, the others from the second cache. There rows a page's length apart push each other out, and vectors
 * that two lines share are waited for by each tile. */
static bool FN(meets_few)(const FN(work) * w, size_t tiles)
{
    const ptrdiff_t step = w->p->b_step * (ptrdiff_t)sizeof(T);

    return w->end - w->begin <= FEW_PIXELS && (tiles == 1 || (step % 4096 != 0 && step % 64 == 0));
}

/* A tile of the panel at column j that reads it where it lies. */
static void FN(read_lying)(FN(work) * w, const T *weight, size_t j, size_t tile, FN(strip) * s)
{
    s->b = weight + j;
    s->b_step = w->p->b_step;
    s->lying = tile < 2;
    s->ahead = s->a;
    if (!s->lying)
        return;
    s->ahead_step = s->b_step;
    if (tile == 0) /* little waits for memory where lines are asked for shortly before they are met */
        s->ahead = s->b + (s->run->b + LINES_AHEAD) * s->b_step;
    else
        s->ahead = (j + PANEL < w->columns ? s->b + PANEL : weight + (ptrdiff_t)RP_CONV_CHUNK * s->b_step) +
                   s->run->b * s->b_step;
}

/* Computes the block of rows. The first panel's tiles come upon their rows just packed, and a panel's first tile packs
 * the panel if it can. */
static void FN(flush)(FN(work) * w)
{
    const size_t tiles = (w->rows + CONV_ROWS - 1) / CONV_ROWS;
    const T *weight = w->packed || w->rows == 0 ? NULL : FN(weight_in_place)(w);
    const bool lies = weight != NULL && FN(meets_few)(w, tiles);
    const bool fuses = weight != NULL && !lies && w->terms.n == w->chunk.stop - w->chunk.start;
    const bool in_place = !lies && FN(rows_in_place)(w);

    for (size_t j = 0; j < w->columns && tiles > 0; j += PANEL) {
        const size_t columns = w->columns - j < PANEL ? w->columns - j : PANEL;
        const bool whole = columns == PANEL;
        T *panel = FN(panel_at)(w, j);

        if (!w->packed && !(whole && (lies || fuses)))
            FN(pack_weight)(w, w->column + j, columns, panel);
        for (size_t tile = 0; tile < tiles; tile++) {
            const size_t row = w->rows * tile / tiles, end = w->rows * (tile + 1) / tiles;
            FN(strip)
            s = {.a = w->packed_a + row * ROW_STEP,
                 .b = panel,
                 .b_step = PANEL,
                 .run = w->terms.b,
                 .runs = w->terms.b_runs,
                 .y = w->y + row,
                 .fresh = w->fresh + row,
                 .column = (ptrdiff_t)(w->column + j) * w->p->y_col};

            if (fuses && whole && tile == 0) {
                s.b = weight + j;
                s.b_step = w->p->b_step;
                s.copy = panel;
            }
            if (in_place && !s.copy) {
                s.rows = w->a + row;
                /* the next pixels, where this one's last taps lie: an image's row that no tap before has read */
                s.ahead = w->a[end - 1] + w->terms.both[w->terms.runs - 1].a;
                s.run = w->terms.both;
                s.runs = w->terms.runs;
                FN(tile_any)(FN(ANYWHERE), end - row, columns, 1, &s);
                continue;
            }
            if (j == 0) /* in place: the first tile's, which packs every panel */
                FN(pack_rows)(w, row, end);
            if (lies && whole)
                FN(read_lying)(w, weight, j, tile, &s);
            else
                FN(look_ahead)(w, j, tile, &s);
            FN(tile_any)(FN(PACKED), end - row, columns, w->p->y_col, &s);
        }
    }
    w->packed = w->packed || (tiles > 0 && !lies);
    w->rows = 0;
}

/* Adds one pixel; without a tap it is +0. */
static void FN(add_pixel)(FN(work) * w, T *y, const T *a, bool fresh)
{
    if (w->list.n == 0) {
        for (size_t j = 0; j < w->columns; j++)
            y[(ptrdiff_t)(w->column + j) * w->p->y_col] = 0;
        return;
    }
    w->y[w->rows] = y;
    w->a[w->rows] = a;
    w->fresh[w->rows++] = fresh;
    if (w->rows == w->most)
        FN(flush)(w);
}

/* The class's pixels of one row of one image. */
static void FN(add_row)(FN(work) * w, const pixel_class *k, size_t image, size_t i, bool fresh, ptrdiff_t origin)
{
    const plan *p = w->p;
    const size_t row = k->h.start + i * k->h.step, item = (image * p->h.length + row) * p->w.length;
    const ptrdiff_t move = (ptrdiff_t)p->w.move * p->from.stride[2];
    T *y = (T *)p->to.data + (ptrdiff_t)image * p->to.stride[0] + (ptrdiff_t)row * p->to.stride[1];
    const ptrdiff_t from =
        p->from_at + (ptrdiff_t)image * p->from.stride[0] + (ptrdiff_t)(i * p->h.move) * p->from.stride[1] + origin;

    if (item >= w->end || item + p->w.length <= w->begin)
        return;
    for (size_t j = 0; j < k->w.count; j++) {
        const size_t column = k->w.start + j * k->w.step;

        if (item + column >= w->begin && item + column < w->end)
            FN(add_pixel)
        (w, y + (ptrdiff_t)column * p->to.stride[2],
         w->list.n > 0 ? (const T *)p->from.data + (from + (ptrdiff_t)j * move) : NULL, fresh);
    }
}

static void FN(add_class)(FN(work) * w, const pixel_class *k)
{
    const size_t plane = w->p->h.length * w->p->w.length;
    const bool fresh = is_fresh(w->p, &w->chunk, k);
    const ptrdiff_t origin = w->list.n > 0 ? tap_offset(w->p, k, w->list.tap[0]) : 0;

    for (size_t image = w->begin / plane; image * plane < w->end; image++)
        for (size_t i = 0; i < k->h.count; i++)
            FN(add_row)(w, k, image, i, fresh, origin);
}

/* Whether the chunk's taps are the same for two classes; the first one's are listed. */
static bool FN(alike)(FN(work) * w, const pixel_class *a, const pixel_class *b)
{
    if (a->n != b->n || a->first != b->first || a->last != b->last)
        return false;
    list_taps(w->p, &w->chunk, b, &w->other);
    return lists_equal(&w->list, &w->other);
}

/* All pixels that have this chunk's taps as class k has them, in blocks about as large as one another. */
static void FN(run_alike)(FN(work) * w, const pixel_class *k, pixel_class *class, size_t n)
{
    const size_t plane = w->p->h.length * w->p->w.length;
    size_t total = 0, blocks;

    list_taps(w->p, &w->chunk, k, &w->list);
    if (w->list.n > 0)
        lay_out(w->p, &w->chunk, k, &w->list, &w->terms);
    for (pixel_class *c = class; c < class + n; c++) {
        c->now = !c->done && FN(alike)(w, k, c);
        total += c->now ? c->h.count * c->w.count : 0;
    }
    total *= (w->end - w->begin + plane - 1) / plane; /* about */
    blocks = (total + w->room_a - 1) / w->room_a;
    w->most = ((total + blocks - 1) / blocks + CONV_ROWS - 1) / CONV_ROWS * CONV_ROWS;
    w->most = w->most < w->room_a ? w->most : w->room_a;
    for (pixel_class *c = class; c < class + n; c++) {
        if (c->now)
            FN(add_class)(w, c);
        c->done = c->done || c->now;
    }
    FN(flush)(w);
}

static void FN(run_chunk)(FN(work) * w)
{
    const chunk *c = &w->chunk;
    const size_t width = w->p->conv->w.taps;
    side rows = w->p->h, columns = w->p->w;
    same_taps h = {0}, v = {0};
    bool more = true;

    if (c->number > 0) { /* pixels without a term are for the first chunk */
        rows = side_with(&rows, c->tap / width, (c->tap_end - 1) / width + 1);
        if (c->tap / width == (c->tap_end - 1) / width)
            columns = side_with(&columns, c->tap % width, (c->tap_end - 1) % width + 1);
    }
    w->packed = w->spread;
    while (more) {
        size_t n = 0;

        while (n < MOST_CLASSES && (more = next_class(&rows, &columns, &h, &v))) {
            pixel_class *k = &w->class[n++];

            *k = (pixel_class){.h = h, .w = v};
            list_taps(w->p, &w->chunk, k, &w->list);
            k->n = w->list.n;
            k->first = k->n > 0 ? w->list.tap[0] : 0;
            k->last = k->n > 0 ? w->list.tap[k->n - 1] : 0;
            /* no term here; that there is none at all is for the first chunk to say */
            k->done = k->n == 0 && !(w->chunk.number == 0 && has_no_term(w->p, k));
        }
        for (pixel_class *next = w->class; next != NULL;) {
            next = NULL;
            for (size_t i = 0; i < n; i++) /* the one with most taps first: it may have all, and pack the weight */
                if (!w->class[i].done && (next == NULL || w->class[i].n > next->n))
                    next = &w->class[i];
            if (next != NULL)
                FN(run_alike)(w, next, w->class, n);
        }
    }
}

/* Pixels [begin, end) and columns [column, column_end), a number of pixels at a time whose outputs stay in the cache
 * from chunk to chunk. */
static void FN(run_blocks)(FN(work) * w, size_t begin, size_t end, size_t column, size_t column_end)
{
    const size_t terms = FN(terms_of)(w->p);

    for (; column < column_end; column += w->columns) {
        const size_t left = column_end - column;
        size_t most;

        w->column = column;
        w->columns = left < w->room_b ? left : w->room_b;
        if (w->spread)
            FN(pack_spread)(w);
        most = terms <= RP_CONV_CHUNK ? end - begin : 2 * MOST_ROWS + ((size_t)1 << 20) / (sizeof(T) * w->columns);
        for (w->begin = begin; w->begin < end; w->begin = w->end) {
            w->end = end - w->begin < most ? end : w->begin + most;
            w->chunk = chunk_of(w->p, 0); /* also where there are no terms */
            FN(run_chunk)(w);
            while (w->chunk.stop < terms) {
                w->chunk = chunk_of(w->p, w->chunk.number + 1);
                FN(run_chunk)(w);
            }
        }
    }
}

static void FN(run_lying)(const plan *p, size_t begin, size_t end, size_t column, size_t column_end)
{
    T *memory = rp_scratch_borrow();
    _Alignas(64) T a[2 * CONV_ROWS * ROW_STEP], b[RP_CONV_CHUNK * PANEL]; /* for when all scratch memory is lent */
    FN(work) w; /* large: not cleared, for small calls' sake */

    w.p = p;
    w.rows = 0;
    w.packed_b = memory != NULL ? memory : b;
    w.packed_a = memory != NULL ? memory + B_BYTES / sizeof(T) : a;
    w.room_b = memory != NULL ? room_for_columns(sizeof(T)) : PANEL;
    w.room_a = memory != NULL ? room_for_rows(sizeof(T)) : 2 * CONV_ROWS;
    w.spread = memory != NULL && FN(taps_lie_innermost)(p);
    if (w.spread)
        w.room_b = B_BYTES / (FN(terms_of)(p) * PANEL_BYTES) * PANEL;
    FN(run_blocks)(&w, begin, end, column, column_end);
    rp_scratch_return(memory);
}

/* Images with their channels first are turned as many rows at a time as a borrowed block holds. */
static void FN(run_pixels)(const plan *p, size_t begin, size_t end, size_t column, size_t column_end)
{
    plan turned;
    T *image;

    if (FN(turned_size)(p, begin, end) > RP_SCRATCH_BYTES / sizeof(T) && end - begin > p->w.length) {
        const size_t middle = begin + (end - begin) / 2;

        FN(run_pixels)(p, begin, middle, column, column_end);
        FN(run_pixels)(p, middle, end, column, column_end);
        return;
    }
    image = FN(turn_image)(p, begin, end, &turned);
    FN(run_lying)(image != NULL ? &turned : p, begin, end, column, column_end);
    rp_scratch_return(image);
}

#undef PANEL
#undef WIDTH
