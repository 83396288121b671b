/* SPDX-License-Identifier: Apache-2.0
 * The weight gradient of convolution for one type: rows are the input channels of a tap, terms the pixels of y. A chunk
 * of pixels of y is packed once for all taps.
 *
 * Parameters, from kernels/type_f32.h or type_f64.h: T the type of the elements, FN(name) the name of its variant.
 * Before it: conv_tile.inc.h, for tiles and packing. Gives FN(grad_weight), FN(taps), FN(find_runs), FN(weight_row). */
#if !defined(T) || !defined(FN)
#error "a template: include one of kernels/type_f32.h and kernels/type_f64.h before it"
#endif

#include "kernels/cpu/conv/conv_pixels.h"
#include "kernels/level.h"

#define WIDTH (WIDEST / sizeof(T))
#define PANEL (2 * WIDTH)

typedef struct FN(taps) {
    const rp_conv *conv;
    const T *x, *y; /* of one group */
    T *weight;
    size_t column, columns;
    T *packed_a, *packed_b;
    size_t room_a, room_b; /* rows, columns */
    size_t start, stop;    /* the chunk */
    size_t begin, end;     /* channels */
    bool packed;
    segment run[RP_CONV_CHUNK];
    size_t runs;
} FN(taps);

/* The panel at column j of the chunk's pixels of y, row of the image by row. */
static void FN(pack_pixels)(const FN(taps) * w, size_t j, size_t columns)
{
    const rp_view *y = w->conv->y;
    const size_t width = w->conv->w.out, height = w->conv->h.out;
    T *packed = w->packed_b + j * RP_CONV_CHUNK;

    for (size_t at = w->start, n; at < w->stop; at += n, packed += n * PANEL) {
        const size_t row = at / width, column = at % width;
        const T *from = w->y + (ptrdiff_t)(row / height) * y->stride[0] + (ptrdiff_t)(row % height) * y->stride[1] +
                        (ptrdiff_t)column * y->stride[2] + (ptrdiff_t)(w->column + j) * y->stride[3];

        n = w->stop - at < width - column ? w->stop - at : width - column;
        FN(pack_b)(packed, from, y->stride[2], y->stride[3], columns, n);
    }
}

/* The runs of pixels of the chunk for which the tap exists. */
static void FN(find_runs)(FN(taps) * w, size_t tap)
{
    const rp_conv *conv = w->conv;
    const rp_view *x = conv->x;
    const size_t r = tap / conv->w.taps, s = tap % conv->w.taps, width = conv->w.out, height = conv->h.out;
    const ptrdiff_t step = conv->w.stride * x->stride[2];
    size_t top, bottom, left, right;

    rp_conv_outputs(&conv->h, r, &top, &bottom);
    rp_conv_outputs(&conv->w, s, &left, &right);
    w->runs = 0;
    for (size_t row = w->start / width; row * width < w->stop; row++) {
        const size_t low = w->start > row * width + left ? w->start : row * width + left;
        const size_t high = w->stop < row * width + right ? w->stop : row * width + right;
        const int64_t h = (int64_t)(row % height) * conv->h.stride + (int64_t)r * conv->h.dilation - conv->h.pad;
        const int64_t v = (int64_t)(low - row * width) * conv->w.stride + (int64_t)s * conv->w.dilation - conv->w.pad;
        const ptrdiff_t a = (ptrdiff_t)(row / height) * x->stride[0] + h * x->stride[1] + v * x->stride[2];
        const ptrdiff_t b = (ptrdiff_t)(low - w->start);
        segment *next = &w->run[w->runs];

        if (row % height < top || row % height >= bottom || low >= high)
            continue;
        if (w->runs > 0 && next[-1].b + (ptrdiff_t)next[-1].n == b && next[-1].a + (ptrdiff_t)next[-1].n * step == a)
            next[-1].n += high - low;
        else
            w->run[w->runs++] = (segment){a, b, high - low};
    }
}

_Static_assert(CONV_ROWS <= 12, "the cases below");
#define ROWS_CASE(n) \
    case n: \
        for (size_t l = 0; l < count; l++, to += to_step, from += step) \
            memcpy(to, from, n * sizeof(T)); \
        break;

/* rows <= 12 elements from each of count pixels; of constant sizes, for speed. */
static void FN(gather_beside)(T *to, ptrdiff_t to_step, const T *from, ptrdiff_t step, size_t rows, size_t count)
{
    switch (rows) {
        ROWS_CASE(1)
        ROWS_CASE(2)
        ROWS_CASE(3)
        ROWS_CASE(4)
        ROWS_CASE(5)
        ROWS_CASE(6)
        ROWS_CASE(7)
        ROWS_CASE(8)
        ROWS_CASE(9)
        ROWS_CASE(10)
        ROWS_CASE(11)
        ROWS_CASE(12)
    }
}
#undef ROWS_CASE

/* A tile's rows of x from channel `row` on, those of a pixel together. `packed` gets the runs as they lie then. */
static void FN(pack_beside)(const FN(taps) * w, size_t row, size_t rows, ptrdiff_t a_col, T *to, segment *packed)
{
    const rp_view *x = w->conv->x;
    const ptrdiff_t step = w->conv->w.stride * x->stride[2], channel = x->stride[3];
    ptrdiff_t at = 0;

    for (size_t r = 0; r < w->runs; r++) {
        const T *from = w->x + w->run[r].a + (ptrdiff_t)row * channel;
        const size_t n = w->run[r].n;

        packed[r] = (segment){at, w->run[r].b, n};
        if (channel == 1)
            FN(gather_beside)(to + at, a_col, from, step, rows, n);
        else
            for (size_t l = 0; l < n; l++)
                for (size_t i = 0; i < rows; i++)
                    to[at + (ptrdiff_t)l * a_col + (ptrdiff_t)i] = from[(ptrdiff_t)l * step + (ptrdiff_t)i * channel];
        at += (ptrdiff_t)n * a_col;
    }
}

/* The chunk's pixels of y where they lie at one step and this tap has them all; else NULL. */
static const T *FN(pixels_in_place)(const FN(taps) * w)
{
    const rp_view *y = w->conv->y;
    const size_t width = w->conv->w.out, row = w->start / width, height = w->conv->h.out;

    if (w->packed || y->stride[3] != 1 || w->conv->weight->stride[3] != 1 || w->runs != 1 ||
        w->run[0].n != w->stop - w->start || y->stride[1] != (ptrdiff_t)width * y->stride[2] ||
        y->stride[0] != (ptrdiff_t)height * y->stride[1])
        return NULL;
    return w->y + (ptrdiff_t)(row * width + w->start % width) * y->stride[2] + (ptrdiff_t)w->column;
}

/* A tile fetches the part'th line of each pixel that the next block of rows needs: of this chunk, or, for the one tap
 * of a 1 x 1 convolution, of the next one. */
static void FN(fetch_pixels)(const FN(taps) * w, size_t row, size_t rows, size_t part, FN(strip) * s)
{
    const rp_conv *conv = w->conv;
    const ptrdiff_t step = conv->w.stride * conv->x->stride[2];
    const bool last = row + rows >= w->end, single = conv->h.taps * conv->w.taps == 1 && conv->w.stride == 1;
    const size_t line = 64 / sizeof(T), first = last ? w->begin : row + rows;
    const size_t left = w->end - first, count = left < w->room_a ? left : w->room_a;

    if ((last && !single) || conv->x->stride[3] != 1 || part > count / line)
        return;
    s->ahead = w->x + first + part * line + (last ? (ptrdiff_t)(w->stop - w->start) * step : 0);
    s->ahead_step = step;
    s->ahead_of = w->run;
}

/* Channels [row, row + rows) of a tap. */
static void FN(tap_block)(FN(taps) * w, size_t row, size_t rows, T *const *y, const bool *fresh)
{
    const rp_view *x = w->conv->x;
    const size_t tiles = (rows + CONV_ROWS - 1) / CONV_ROWS, highest = (rows + tiles - 1) / tiles;
    const bool in_place = x->stride[3] == 1 && w->columns <= IN_PLACE_PANELS * PANEL;
    const T *pixels = FN(pixels_in_place)(w);
    segment run[RP_CONV_CHUNK];
    size_t part = 0;

    for (size_t tile = 0; tile < tiles && !in_place; tile++) {
        const size_t first = rows * tile / tiles, count = rows * (tile + 1) / tiles - first;

        FN(pack_beside)(w, row + first, count, (ptrdiff_t)highest, w->packed_a + tile * highest * RP_CONV_CHUNK, run);
    }
    for (size_t j = 0; j < w->columns; j += PANEL) {
        const size_t columns = w->columns - j < PANEL ? w->columns - j : PANEL;

        const bool fuse = pixels != NULL && columns == PANEL;

        if (!w->packed && !fuse)
            FN(pack_pixels)(w, j, columns);
        for (size_t tile = 0; tile < tiles; tile++) {
            const size_t first = rows * tile / tiles, count = rows * (tile + 1) / tiles - first;
            FN(strip)
            s = {.a = in_place ? w->x + row + first : w->packed_a + tile * highest * RP_CONV_CHUNK,
                 .a_col = in_place ? w->conv->w.stride * x->stride[2] : (ptrdiff_t)highest,
                 .b = w->packed_b + j * RP_CONV_CHUNK,
                 .b_step = PANEL,
                 .run = in_place ? w->run : run,
                 .runs = w->runs,
                 .y = y + first,
                 .column = (ptrdiff_t)(w->column + j) * w->conv->weight->stride[3],
                 .fresh = fresh + first};

            s.ahead = s.a;
            if (fuse && tile == 0) {
                s.b = pixels + j;
                s.b_step = w->conv->y->stride[2];
                s.copy = w->packed_b + j * RP_CONV_CHUNK;
            } else
                FN(fetch_pixels)(w, row, rows, part++, &s);
            FN(tile_any)(FN(BESIDE), count, columns, w->conv->weight->stride[3], &s);
        }
    }
    w->packed = true;
}

static T *FN(weight_row)(const FN(taps) * w, size_t tap, size_t row)
{
    const rp_view *weight = w->conv->weight;

    return w->weight + (ptrdiff_t)(tap / w->conv->w.taps) * weight->stride[0] +
           (ptrdiff_t)(tap % w->conv->w.taps) * weight->stride[1] + (ptrdiff_t)row * weight->stride[2];
}

/* Channels [row, end) of a tap that has a term in the first chunk that is run for it. */
static void FN(tap_chunk)(FN(taps) * w, size_t tap, size_t row, size_t end)
{
    size_t top, bottom, left, right, first;

    rp_conv_outputs(&w->conv->h, tap / w->conv->w.taps, &top, &bottom);
    rp_conv_outputs(&w->conv->w, tap % w->conv->w.taps, &left, &right);
    if (top >= bottom || left >= right || w->conv->images == 0) { /* no term at all: +0 */
        for (; row < end && w->start == 0; row++)
            for (size_t j = 0; j < w->columns; j++)
                FN(weight_row)(w, tap, row)[(ptrdiff_t)(w->column + j) * w->conv->weight->stride[3]] = 0;
        return;
    }
    first = top * w->conv->w.out + left;
    w->begin = row;
    w->end = end;
    FN(find_runs)(w, tap);
    for (size_t rows; row < end && w->runs > 0; row += rows) {
        bool fresh[MOST_ROWS];
        T *y[MOST_ROWS];

        rows = end - row < w->room_a ? end - row : w->room_a;
        for (size_t i = 0; i < rows; i++) {
            y[i] = FN(weight_row)(w, tap, row + i);
            fresh[i] = first >= w->start && first < w->stop;
        }
        FN(tap_block)(w, row, rows, y, fresh);
    }
}

/* Rows [begin, end) of the weight, tap by tap, in one group. */
static void FN(tap_rows)(FN(taps) * w, size_t begin, size_t end)
{
    const rp_conv *conv = w->conv;
    const size_t pixels = conv->images * conv->h.out * conv->w.out;

    for (w->column = 0; w->column < conv->k; w->column += w->columns) {
        w->columns = conv->k - w->column < w->room_b ? conv->k - w->column : w->room_b;
        w->start = 0;
        do { /* once also without pixels */
            w->stop = pixels - w->start < RP_CONV_CHUNK ? pixels : w->start + RP_CONV_CHUNK;
            w->packed = false;
            for (size_t row = begin, count; row < end; row += count) {
                const size_t at = row % conv->c;

                count = conv->c - at < end - row ? conv->c - at : end - row;
                FN(tap_chunk)(w, row / conv->c, at, at + count);
            }
            w->start = w->stop;
        } while (w->start < pixels);
    }
}

static void FN(grad_weight)(const rp_conv *conv, size_t begin, size_t end)
{
    T *memory = rp_scratch_borrow();
    _Alignas(64) T a[2 * CONV_ROWS * ROW_STEP], b[RP_CONV_CHUNK * PANEL]; /* for when all scratch memory is lent */
    FN(taps) w;

    w.conv = conv;
    w.packed_b = memory != NULL ? memory : b;
    w.packed_a = memory != NULL ? memory + B_BYTES / sizeof(T) : a;
    w.room_b = memory != NULL ? room_for_columns(sizeof(T)) : PANEL;
    w.room_a = memory != NULL ? room_for_rows(sizeof(T)) : 2 * CONV_ROWS;
    for (size_t g = 0; g < conv->groups; g++) {
        w.x = (const T *)conv->x->data + (ptrdiff_t)(g * conv->c) * conv->x->stride[3];
        w.y = (const T *)conv->y->data + (ptrdiff_t)(g * conv->k) * conv->y->stride[3];
        w.weight = (T *)conv->weight->data + (ptrdiff_t)(g * conv->k) * conv->weight->stride[3];
        FN(tap_rows)(&w, begin, end);
    }
    rp_scratch_return(memory);
}

#undef PANEL
#undef WIDTH
