/* SPDX-License-Identifier: Apache-2.0
 * Convolution of channels that do not mix, for one type: vectors lie across channels. Forward and input gradient; all
 * taps lie in one chunk, so a pixel's channel is one chain over the taps that exist. A block of channels at a time has
 * its weights packed, tap by tap, and so its pixels where their channels do not lie beside one another.
 *
 * Parameters, from kernels/type_f32.h or type_f64.h: T the type of the elements, FN(name) the name of its variant.
 * Before it: conv_tile.inc.h, for FN(turn_square). Gives FN(channels), FN(turn). */
#if !defined(T) || !defined(FN)
#error "a template: include one of kernels/type_f32.h and kernels/type_f64.h before it"
#endif

#include "kernels/cpu/functions/inline_math.h"
#include "kernels/cpu/conv/conv_pixels.h"
#include "kernels/level.h"

#define WIDTH (WIDEST / sizeof(T))

enum { FN(BLOCK) = BLOCK_VECTORS * WIDTH }; /* channels at a time */

/* Neighbouring pixels with the same taps. Steps are in elements; a and b point at the first tap's. */
typedef struct FN(line) {
    const T *a, *b;
    T *y;
    ptrdiff_t a_pixel, y_pixel;
    ptrdiff_t a_row, a_col, b_row, b_col; /* from tap to tap */
    size_t rows, columns, pixels, channels;
} FN(line);

/* n channels of one pixel. */
RP_INLINE void FN(line_part)(const FN(line) * l, size_t pixel, size_t channel, size_t n)
{
    T chain[WIDTH] = {0};
    const T *a = l->a + (ptrdiff_t)pixel * l->a_pixel + (ptrdiff_t)channel, *b = l->b + (ptrdiff_t)channel;
    T *y = l->y + (ptrdiff_t)pixel * l->y_pixel + (ptrdiff_t)channel;

    for (size_t r = 0; r < l->rows; r++)
        for (size_t s = 0; s < l->columns; s++) {
            const T *from = a + (ptrdiff_t)r * l->a_row + (ptrdiff_t)s * l->a_col;
            const T *weight = b + (ptrdiff_t)r * l->b_row + (ptrdiff_t)s * l->b_col;

            RP_EACH(j, n) chain[j] = FN(rp_fma)(from[j], weight[j], chain[j]);
        }
    RP_EACH(j, n) y[j] = chain[j];
}

#ifdef VEC_BYTES
/* The same with vectors: `pixels` times `vecs` vectors of channels. */
RP_INLINE void FN(line_vectors)(const FN(line) * l, size_t pixel, size_t pixels, size_t channel, size_t vecs)
{
    const T *a = l->a + (ptrdiff_t)pixel * l->a_pixel + (ptrdiff_t)channel, *b = l->b + (ptrdiff_t)channel;
    T *y = l->y + (ptrdiff_t)pixel * l->y_pixel + (ptrdiff_t)channel;
    FN(vec) chain[BLOCK_VECTORS];

    RP_UNROLL
    for (size_t i = 0; i < pixels * vecs; i++)
        chain[i] = FN(vec_all)(0);
    for (size_t r = 0; r < l->rows; r++) {
        const T *from = a + (ptrdiff_t)r * l->a_row, *weight = b + (ptrdiff_t)r * l->b_row;

        for (size_t s = 0; s < l->columns; s++, from += l->a_col, weight += l->b_col) {
            RP_UNROLL
            for (size_t v = 0; v < vecs; v++) {
                FN(vec) w = FN(vec_load)(weight + v * WIDTH);

                VEC_KEEP(w);
                RP_UNROLL
                for (size_t i = 0; i < pixels; i++)
                    chain[i * vecs + v] =
                        FN(vec_fma)(FN(vec_load)(from + (ptrdiff_t)i * l->a_pixel + v * WIDTH), w, chain[i * vecs + v]);
            }
        }
    }
    RP_UNROLL
    for (size_t i = 0; i < pixels * vecs; i++)
        FN(vec_store)(y + (ptrdiff_t)(i / vecs) * l->y_pixel + i % vecs * WIDTH, chain[i]);
}

/* The same for pixels whose `columns` taps overlap: what several of them read is loaded once. One vector of channels;
 * stride: between neighbouring pixels, in taps; back: taps go to the left. */
RP_INLINE void FN(line_shared)(const FN(line) * l, size_t pixel, size_t columns, size_t stride, bool back,
                               size_t channel)
{
    const T *a = l->a + (ptrdiff_t)pixel * l->a_pixel + (ptrdiff_t)channel, *b = l->b + (ptrdiff_t)channel;
    T *y = l->y + (ptrdiff_t)pixel * l->y_pixel + (ptrdiff_t)channel;
    const ptrdiff_t step = back ? -l->a_col : l->a_col;
    FN(vec) chain[SHARED_PIXELS];

    RP_UNROLL
    for (size_t i = 0; i < SHARED_PIXELS; i++)
        chain[i] = FN(vec_all)(0);
    for (size_t r = 0; r < l->rows; r++) {
        const T *from = a + (ptrdiff_t)r * l->a_row - (back ? (ptrdiff_t)(columns - 1) * step : 0);
        const T *at = b + (ptrdiff_t)r * l->b_row;
        FN(vec) x[(SHARED_PIXELS - 1) * 2 + 7];

        RP_UNROLL
        for (size_t j = 0; j < (SHARED_PIXELS - 1) * stride + columns; j++) {
            x[j] = FN(vec_load)(from + (ptrdiff_t)j * step);
            VEC_KEEP(x[j]);
        }
        RP_UNROLL
        for (size_t s = 0; s < columns; s++) {
            FN(vec) weight = FN(vec_load)(at + (ptrdiff_t)s * l->b_col);

            VEC_KEEP(weight);
            RP_UNROLL
            for (size_t i = 0; i < SHARED_PIXELS; i++)
                chain[i] = FN(vec_fma)(x[i * stride + (back ? columns - 1 - s : s)], weight, chain[i]);
        }
    }
    RP_UNROLL
    for (size_t i = 0; i < SHARED_PIXELS; i++)
        FN(vec_store)(y + (ptrdiff_t)i * l->y_pixel, chain[i]);
}

/* The last vector of channels and the last pixels of a line begin earlier rather than that there were fewer of them:
 * what is computed twice is the same twice. */
static size_t FN(no_later)(size_t at, size_t n, size_t all)
{
    return at + n <= all ? at : all - n;
}

#define SHARED(columns, stride, back) \
    for (size_t c = 0; c < l->channels; c += WIDTH) \
        FN(line_shared)(l, pixel, columns, stride, back, FN(no_later)(c, WIDTH, l->channels));

/* SHARED_PIXELS of a line with taps that overlap. False where they do not. */
static bool FN(line_overlap)(const FN(line) * l, size_t pixel)
{
    if (l->columns == 3 && l->a_pixel == 2 * l->a_col)
        SHARED(3, 2, false)
    else if (l->a_pixel == l->a_col)
        switch (l->columns) {
        case 3:
            SHARED(3, 1, false) break;
        case 5:
            SHARED(5, 1, false) break;
        case 7:
            SHARED(7, 1, false) break;
        default:
            return false;
        }
    else if (l->a_pixel == -l->a_col)
        switch (l->columns) {
        case 3:
            SHARED(3, 1, true) break;
        case 5:
            SHARED(5, 1, true) break;
        case 7:
            SHARED(7, 1, true) break;
        default:
            return false;
        }
    else
        return false;
    return true;
}
#undef SHARED

/* All channels of `pixels` pixels, `vecs` vectors at a time. */
RP_INLINE void FN(line_pixels)(const FN(line) * l, size_t pixel, size_t pixels, size_t vecs)
{
    size_t channel = 0;

    for (; channel + vecs * WIDTH <= l->channels; channel += vecs * WIDTH)
        FN(line_vectors)(l, pixel, pixels, channel, vecs);
    if (vecs > 2 && channel + 4 * WIDTH <= l->channels) {
        FN(line_vectors)(l, pixel, pixels, channel, 4);
        channel += 4 * WIDTH;
    }
    if (vecs > 2 && channel + 2 * WIDTH <= l->channels) {
        FN(line_vectors)(l, pixel, pixels, channel, 2);
        channel += 2 * WIDTH;
    }
    for (; channel < l->channels; channel += WIDTH)
        FN(line_vectors)(l, pixel, pixels, FN(no_later)(channel, WIDTH, l->channels), 1);
}

/* A line of at least a vector of channels. */
static void FN(line_whole)(const FN(line) * l)
{
    size_t pixel = 0;

    for (; l->pixels >= SHARED_PIXELS && pixel + SHARED_PIXELS / 2 < l->pixels; pixel += SHARED_PIXELS)
        if (!FN(line_overlap)(l, FN(no_later)(pixel, SHARED_PIXELS, l->pixels)))
            break;
    for (; l->pixels >= 4 && pixel + 2 < l->pixels; pixel += 4)
        FN(line_pixels)(l, FN(no_later)(pixel, 4, l->pixels), 4, 2);
    for (; l->pixels >= 2 && pixel < l->pixels; pixel += 2)
        FN(line_pixels)(l, FN(no_later)(pixel, 2, l->pixels), 2, 4);
    if (pixel < l->pixels)
        FN(line_pixels)(l, pixel, 1, 8);
}
#endif

static void FN(line_run)(const FN(line) * l)
{
#ifdef VEC_BYTES
    if (l->channels >= WIDTH) {
        FN(line_whole)(l);
        return;
    }
#endif
    for (size_t pixel = 0; pixel < l->pixels; pixel++) {
        size_t channel = 0;

        for (; channel + WIDTH <= l->channels; channel += WIDTH)
            FN(line_part)(l, pixel, channel, WIDTH);
        if (channel < l->channels)
            FN(line_part)(l, pixel, channel, l->channels - channel);
    }
}

/* to[j, i] = from[i, j]: i of [rows] lie beside one another in `to`, j of [columns] in `from`. */
static void FN(turn)(T *to, ptrdiff_t to_step, const T *from, ptrdiff_t from_step, ptrdiff_t from_column, size_t rows,
                     size_t columns)
{
    size_t done = 0;

    if (from_step == 1) {
        for (size_t j = 0; j < columns; j++)
            memcpy(to + (ptrdiff_t)j * to_step, from + (ptrdiff_t)j * from_column, rows * sizeof(T));
        return;
    }
#ifdef VEC_BYTES
    if (from_column == 1 && rows >= WIDTH)
        for (; done + WIDTH <= columns; done += WIDTH)
            for (size_t i = 0; i < rows; i += WIDTH) {
                const size_t at = FN(no_later)(i, WIDTH, rows);

                FN(turn_square)
                (to + (ptrdiff_t)done * to_step + at, to_step, from + (ptrdiff_t)at * from_step + done, from_step);
            }
#endif
    for (size_t j = done; j < columns; j++)
        for (size_t i = 0; i < rows; i++)
            to[(ptrdiff_t)j * to_step + (ptrdiff_t)i] = from[(ptrdiff_t)i * from_step + (ptrdiff_t)j * from_column];
}

/* A block of channels. Its weights are packed, [taps][channels]; `from` and `to` have data at the first of them, and
 * what of them is packed holds some rows of one image. */
typedef struct FN(channel_block) {
    const plan *p;
    const runs_of_taps *rows, *columns;
    T *weight, *packed_from, *packed_to; /* NULL: they lie as they should */
    rp_view from, to;
    ptrdiff_t from_base, to_base; /* where their data lies in the image, in elements */
    size_t channels;
} FN(channel_block);

static void FN(block_weight)(const FN(channel_block) * b, size_t channel)
{
    const rp_view *w = &b->p->weight;
    const size_t taps = b->p->conv->w.taps;
    const T *from = (const T *)w->data + (ptrdiff_t)channel * w->stride[3];
    const ptrdiff_t n = (ptrdiff_t)b->channels;

    if (w->stride[3] == 1)
        for (size_t t = 0; t < b->p->conv->h.taps * taps; t++)
            memcpy(b->weight + (ptrdiff_t)t * n,
                   from + (ptrdiff_t)(t / taps) * w->stride[0] + (ptrdiff_t)(t % taps) * w->stride[1],
                   b->channels * sizeof(T));
    else
        for (size_t r = 0; r < b->p->conv->h.taps; r++)
            FN(turn)
    (b->weight + (ptrdiff_t)(r * taps) * n, n, from + (ptrdiff_t)r * w->stride[0], w->stride[3], w->stride[1],
     b->channels, taps);
}

/* Pixels [first, last) of a run of columns in row i of a run of rows. */
static void FN(class_line)(const FN(channel_block) * b, size_t image, const same_taps *h, size_t i, const same_taps *w,
                           size_t first, size_t last)
{
    const plan *p = b->p;
    const size_t row = h->start + i * p->h.step, taps = p->conv->w.taps, n = b->channels;
    const bool any = h->taps.count > 0 && w->taps.count > 0;
    const ptrdiff_t down = any ? h->taps.at + (ptrdiff_t)(i * p->h.move) : 0;
    const ptrdiff_t across = any ? w->taps.at + (ptrdiff_t)(first * p->w.move) : 0;
    const FN(line)
        l = {.a = (const T *)b->from.data + ((ptrdiff_t)image * b->from.stride[0] + down * b->from.stride[1] +
                                             across * b->from.stride[2] - (any ? b->from_base : 0)),
             .b = b->weight + (any ? (h->taps.first * taps + w->taps.first) * n : 0),
             .y = (T *)b->to.data + ((ptrdiff_t)image * b->to.stride[0] + (ptrdiff_t)row * b->to.stride[1] +
                                     (ptrdiff_t)(w->start + first * p->w.step) * b->to.stride[2] - b->to_base),
             .a_pixel = (ptrdiff_t)p->w.move * b->from.stride[2],
             .y_pixel = (ptrdiff_t)p->w.step * b->to.stride[2],
             .a_row = h->taps.move * b->from.stride[1],
             .a_col = w->taps.move * b->from.stride[2],
             .b_row = (ptrdiff_t)(h->taps.step * taps * n),
             .b_col = (ptrdiff_t)(w->taps.step * n),
             .rows = any ? h->taps.count : 0,
             .columns = any ? w->taps.count : 0,
             .pixels = last - first,
             .channels = n};

    FN(line_run)(&l);
}

/* Items [begin, end) of one image. */
static void FN(block_items)(const FN(channel_block) * b, size_t image, size_t begin, size_t end)
{
    const size_t plane = b->p->h.length * b->p->w.length, step = b->p->w.step;

    for (const same_taps *h = b->rows->run; h < b->rows->run + b->rows->n; h++)
        for (size_t i = 0; i < h->count; i++) {
            const size_t line = image * plane + (h->start + i * b->p->h.step) * b->p->w.length;

            if (line >= end || line + b->p->w.length <= begin)
                continue;
            for (const same_taps *w = b->columns->run; w < b->columns->run + b->columns->n; w++) {
                const size_t item = line + w->start;
                const size_t first = begin > item ? (begin - item + step - 1) / step : 0;
                const size_t stop = end > item ? (end - item + step - 1) / step : 0;
                const size_t last = stop < w->count ? stop : w->count;

                if (first < last)
                    FN(class_line)(b, image, h, i, w, first, last);
            }
        }
}

/* Rows [low, high) of an image of `from`, packed. */
static void FN(block_rows)(FN(channel_block) * b, const rp_view *from, size_t image, size_t low, size_t high)
{
    const T *at = (const T *)from->data + (ptrdiff_t)image * from->stride[0] + (ptrdiff_t)low * from->stride[1];
    const size_t width = from->shape[2], n = b->channels;
    const bool flat = from->stride[1] == (ptrdiff_t)width * from->stride[2];
    const size_t length = flat ? (high - low) * width : width;

    b->from_base = (ptrdiff_t)low * b->from.stride[1];
    for (size_t i = 0; i < high - low; i += length / width, at += from->stride[1])
        FN(turn)
    (b->packed_from + i * width * n, (ptrdiff_t)n, at, from->stride[3], from->stride[2], n, length);
}

/* Items [begin, end) of an image go from where they are packed, from row `low` on, to where they belong. */
static void FN(unpack_items)(const FN(channel_block) * b, const rp_view *to, size_t image, size_t low, size_t begin,
                             size_t end)
{
    const size_t width = to->shape[2], n = b->channels;

    for (size_t at = begin, count; at < end; at += count) {
        const size_t row = at / width, column = at % width;
        const T *from = b->packed_to + (at - low * width) * n;
        T *y = (T *)to->data + (ptrdiff_t)image * to->stride[0] + (ptrdiff_t)row * to->stride[1] +
               (ptrdiff_t)column * to->stride[2];

        count =
            to->stride[1] == (ptrdiff_t)width * to->stride[2] || end - at < width - column ? end - at : width - column;
        if (to->stride[2] == 1)
            FN(turn)(y, to->stride[3], from, (ptrdiff_t)n, 1, count, n);
        else
            for (size_t j = 0; j < count * n; j++)
                y[(ptrdiff_t)(j / n) * to->stride[2] + (ptrdiff_t)(j % n) * to->stride[3]] = from[j];
    }
}

/* Items [begin, end) of the block, `band` rows at a time where something is packed. */
static void FN(block_bands)(FN(channel_block) * b, const rp_view *from, const rp_view *to, size_t band, size_t begin,
                            size_t end)
{
    const size_t width = b->p->w.length, plane = b->p->h.length * width;

    for (size_t image = begin / plane; image * plane < end; image++) {
        const size_t start = image * plane, first = begin > start ? begin - start : 0;
        const size_t last = end - start < plane ? end - start : plane;

        if (b->packed_from == NULL && b->packed_to == NULL) {
            FN(block_items)(b, image, start + first, start + last);
            continue;
        }
        for (size_t row = first / width; row * width < last; row += band) {
            const size_t at = first > row * width ? first : row * width;
            const size_t stop = last < (row + band) * width ? last : (row + band) * width;
            const size_t past = (stop + width - 1) / width;
            size_t low, high;

            rows_met(b->p, row, past, &low, &high);
            if (b->packed_from != NULL && low < high)
                FN(block_rows)(b, from, image, low, high);
            b->to_base = b->packed_to != NULL ? (ptrdiff_t)row * b->to.stride[1] : 0;
            FN(block_items)(b, image, start + at, start + stop);
            if (b->packed_to != NULL)
                FN(unpack_items)(b, to, image, row, at, stop);
        }
    }
}

/* [rows, columns, channels] packed at `data`, of any one image. */
static rp_view FN(packed_view)(const rp_view *v, T *data, size_t channels)
{
    rp_view packed = *v;

    packed.data = data;
    packed.stride[0] = 0;
    packed.stride[1] = (ptrdiff_t)(v->shape[2] * channels);
    packed.stride[2] = (ptrdiff_t)channels;
    packed.stride[3] = 1;
    return packed;
}

static rp_view FN(from_channel)(const rp_view *v, size_t channel)
{
    rp_view part = *v;

    part.data = (T *)v->data + (ptrdiff_t)channel * v->stride[3];
    return part;
}

/* Pixels [begin, end); false where they must be computed otherwise. */
static bool FN(channels)(const plan *p, size_t begin, size_t end)
{
    const size_t all = p->conv->groups, taps = p->conv->h.taps * p->conv->w.taps;
    const size_t block = taps > MANY_TAPS ? FN(BLOCK) / 2 : FN(BLOCK); /* weights stay in the first cache */
    const size_t most = all < block ? all : block, weights = taps * most * sizeof(T);
    const bool pack_from = p->from.stride[3] != 1 && all > 1, pack_to = p->to.stride[3] != 1 && all > 1;
    runs_of_taps rows, columns;
    FN(channel_block) b = {.p = p, .rows = &rows, .columns = &columns};
    size_t band = p->h.length, room;
    T *scratch;

    while (band > 1 && packed_pixels(p, pack_from, pack_to, band) * most * sizeof(T) > CHANNEL_BYTES)
        band = (band + 1) / 2;
    room = packed_pixels(p, pack_from, pack_to, band) * most * sizeof(T);
    if (weights + room > RP_SCRATCH_BYTES || !list_runs(&p->h, &rows) || !list_runs(&p->w, &columns) ||
        (scratch = rp_scratch_borrow()) == NULL)
        return false;
    b.weight = scratch;
    b.packed_from = pack_from ? scratch + taps * most : NULL;
    b.packed_to = pack_to ? scratch + taps * most + (pack_from ? packed_pixels(p, true, false, band) * most : 0) : NULL;
    for (size_t channel = 0, n; channel < all; channel += n) {
        n = all - channel < most ? all - channel : most;
        if (n < WIDTH && channel > 0) { /* a whole vector that begins earlier: the same is computed twice */
            channel = all - WIDTH;
            n = WIDTH;
        }
        const rp_view from = FN(from_channel)(&p->from, channel), to = FN(from_channel)(&p->to, channel);

        b.channels = n;
        b.from = pack_from ? FN(packed_view)(&from, b.packed_from, n) : from;
        b.to = pack_to ? FN(packed_view)(&to, b.packed_to, n) : to;
        FN(block_weight)(&b, channel);
        FN(block_bands)(&b, &from, &to, band, begin, end);
    }
    rp_scratch_return(scratch);
    return true;
}

#undef WIDTH
