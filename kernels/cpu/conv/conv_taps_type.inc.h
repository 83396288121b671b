/* SPDX-License-Identifier: Apache-2.0
 * The weight gradient of few input channels for one type: one tap alone would not fill a tile, so the rows of all taps
 * along s are computed together, row s * c + channel. At the edges of the image only some of them have a term; the
 * chains of a chunk therefore rest in memory between runs of pixels that have the same taps.
 *
 * Parameters, from kernels/type_f32.h or type_f64.h: T the type of the elements, FN(name) the name of its variant.
 * Before it: conv_tile.inc.h, for FN(strip) and FN(tile_resume). Gives FN(taps_together). */
#if !defined(T) || !defined(FN)
#error "a template: include one of kernels/type_f32.h and kernels/type_f64.h before it"
#endif

#include "kernels/cpu/conv/conv_pixels.h"
#include "kernels/level.h"

#define WIDTH (WIDEST / sizeof(T))
#define PANEL (2 * WIDTH)

typedef struct FN(tap_row) {
    const tap_line *beside;
    const T *x, *y;              /* from this tap row's first channel and panel on */
    size_t rows, chunk, columns; /* of a panel that is not full, pixels are packed */
    T packed[PACKED_PIXELS * PANEL];
    T chain[MOST_BESIDE][PANEL], *at[MOST_BESIDE], *out[MOST_BESIDE];
    bool touched[MOST_BESIDE], begun[MOST_BESIDE]; /* has a term in this chunk; has had a chunk */
} FN(tap_row);

/* +0 where nothing was yet. */
static void FN(wake)(T *const *at, bool *awake, size_t n, size_t columns)
{
    for (size_t i = 0; i < n; i++) {
        if (!awake[i])
            memset(at[i], 0, columns * sizeof(T)); /* all bits 0 is +0 */
        awake[i] = true;
    }
}

/* The end of a chunk: chains that had a term join their totals. */
static void FN(settle)(FN(tap_row) * p)
{
    for (size_t i = 0; i < p->rows; i++) {
        if (!p->touched[i])
            continue;
        for (size_t j = 0; j < p->columns; j++)
            p->out[i][j] = p->begun[i] ? p->out[i][j] + p->chain[i][j] : p->chain[i][j];
        p->begun[i] = true;
        p->touched[i] = false;
    }
}

/* The rows in tiles as equal as they can be. */
static void FN(resume_rows)(size_t rows, size_t columns, const FN(strip) * s)
{
    const size_t tiles = (rows + CONV_ROWS - 1) / CONV_ROWS;

    for (size_t tile = 0; tile < tiles; tile++) {
        const size_t row = rows * tile / tiles;
        FN(strip) part = *s;

        part.a += row;
        part.y += row;
        FN(tile_resume)(rows * (tile + 1) / tiles - row, columns > WIDTH ? 2 : 1, &part);
    }
}

/* The columns of n pixels of y; what is beside them was cleared: outputs nobody stores. */
static void FN(pack_columns)(FN(tap_row) * p, const T *y, ptrdiff_t step, size_t n)
{
    T *to = p->packed;

    for (size_t i = 0; i < n; i++, y += step, to += PANEL)
        for (size_t j = 0; j < p->columns; j++)
            to[j] = y[j];
}

/* The pixels of one run in one row of y, which starts at term `index`; x and y are that row's. */
static void FN(run_terms)(FN(tap_row) * p, const same_taps *run, size_t index, const T *x, const T *y)
{
    const tap_line *b = p->beside;
    const size_t low = run->taps.first * b->c, high = low + run->taps.count * b->c;
    const size_t from = low > b->begin ? low : b->begin, to = high < b->end ? high : b->end;
    const bool packs = p->columns < PANEL;

    for (size_t done = 0; from < to && done < run->count;) {
        const size_t at = index + run->start + done, room = RP_CONV_CHUNK - at % RP_CONV_CHUNK;
        const size_t most = packs && room > PACKED_PIXELS ? PACKED_PIXELS : room;
        const segment terms = {.n = run->count - done < most ? run->count - done : most};
        const T *pixels = y + (ptrdiff_t)(run->start + done) * b->y_step;
        const T *a = x + (run->taps.at * b->x_step + (ptrdiff_t)done * b->x_move) + (ptrdiff_t)(from - low);

        if (at / RP_CONV_CHUNK != p->chunk)
            FN(settle)(p);
        p->chunk = at / RP_CONV_CHUNK;
        FN(wake)(p->at + (from - b->begin), p->touched + (from - b->begin), to - from, PANEL);
        if (packs)
            FN(pack_columns)(p, pixels, b->y_step, terms.n);
        FN(resume_rows)
        (to - from, p->columns,
         &(FN(strip)){.a = a,
                      .a_col = b->x_move,
                      .b = packs ? p->packed : pixels,
                      .b_step = packs ? (ptrdiff_t)PANEL : b->y_step,
                      .run = &terms,
                      .runs = 1,
                      .y = p->at + (from - b->begin)});
        done += terms.n;
    }
}

static void FN(tap_row_panel)(FN(tap_row) * p, const rp_conv *conv, size_t r)
{
    const rp_view *x = conv->x, *y = conv->y;
    size_t top, bottom;

    rp_conv_outputs(&conv->h, r, &top, &bottom);
    p->chunk = 0;
    memset(p->touched, 0, sizeof p->touched);
    memset(p->begun, 0, sizeof p->begun);
    for (size_t n = 0; n < conv->images; n++)
        for (size_t oh = top; oh < bottom; oh++) {
            const int64_t h = (int64_t)oh * conv->h.stride + (int64_t)r * conv->h.dilation - conv->h.pad;
            const T *x_row = p->x + (ptrdiff_t)n * x->stride[0] + h * x->stride[1];
            const T *y_row = p->y + (ptrdiff_t)n * y->stride[0] + (ptrdiff_t)oh * y->stride[1];

            for (size_t i = 0; i < p->beside->runs; i++)
                FN(run_terms)(p, &p->beside->run[i], (n * conv->h.out + oh) * conv->w.out, x_row, y_row);
        }
    FN(settle)(p);
    FN(wake)(p->out, p->begun, p->rows, p->columns); /* rows without any term */
}

/* Rows [begin, end) of the taps (r, *). */
static void FN(taps_together)(const rp_conv *conv, const tap_line *b, size_t r)
{
    const rp_view *w = conv->weight;
    FN(tap_row) p;

    p.beside = b;
    p.x = conv->x->data;
    p.rows = b->end - b->begin;
    for (size_t column = 0; column < conv->k; column += PANEL) {
        p.y = (const T *)conv->y->data + column;
        p.columns = conv->k - column < PANEL ? conv->k - column : PANEL;
        if (p.columns < PANEL)
            memset(p.packed, 0, sizeof p.packed);
        for (size_t i = 0; i < p.rows; i++) {
            const size_t row = b->begin + i;

            p.at[i] = p.chain[i];
            p.out[i] = (T *)w->data + (ptrdiff_t)r * w->stride[0] + (ptrdiff_t)(row / conv->c) * w->stride[1] +
                       (ptrdiff_t)(row % conv->c) * w->stride[2] + (ptrdiff_t)column;
        }
        FN(tap_row_panel)(&p, conv, r);
    }
}

#undef PANEL
#undef WIDTH
