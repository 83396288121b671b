/* SPDX-License-Identifier: Apache-2.0
 * Convolution of channels that do not mix, for one type: vectors lie across channels. Forward and input gradient; all
 * taps lie in one chunk, so a pixel's channel is one chain over the taps that exist. A block of channels at a time has
 * its weights packed, tap by tap, and so its pixels where their channels do not lie beside one another.
 *
 * Parameters, from kernels/type_f32.h or type_f64.h: T the type of the elements, FN(name) the name of its variant.
 * Before it: conv_lines_type.inc.h. Gives FN(channels), FN(channel_block), FN(block_bands). */
#if !defined(T) || !defined(FN)
#error "a template: include one of kernels/type_f32.h and kernels/type_f64.h before it"
#endif

#include "kernels/cpu/functions/inline_math.h"
#include "kernels/cpu/conv/conv_pixels.h"
#include "kernels/level.h"

#define WIDTH (WIDEST / sizeof(T))

enum { FN(BLOCK) = BLOCK_VECTORS * WIDTH }; /* channels at a time */

/* A block of channels. Its weights are packed, [taps][channels]; `from` and `to` have data at the first of them, and
 * what of them is packed holds some rows of one image. */
typedef struct FN(channel_block) {
    const plan *p;
    const runs_of_taps *rows, *columns;
    T *weight, *packed_from, *packed_to; /* NULL: they lie as they should */
    rp_view from, to;
    ptrdiff_t from_base, to_base; /* where their data lies in the image, in elements */
    size_t channels;
    size_t depth, group; /* terms a tap; of groups that mix: the first of the block */
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
    const size_t row = h->start + i * p->h.step, taps = p->conv->w.taps, n = b->channels * b->depth;
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
             .channels = b->channels,
             .depth = b->depth};

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

#ifdef VEC_BYTES
/* Pixels whose channels each go to the lanes of all outputs of their group, [pixels][depth][lanes]. */
RP_INLINE void FN(spread_pixels)(const FN(channel_block) * b, size_t columns, T *to, const T *from, ptrdiff_t step,
                                 size_t pixels)
{
    for (size_t i = 0; i < pixels; i++, from += step)
        for (size_t c = 0; c < b->depth; c++, to += WIDTH)
            for (size_t j = 0; j < WIDTH / columns; j++) {
                const T x = from[j * b->depth + c];

                RP_EACH(l, columns) to[(ptrdiff_t)(j * columns) + l] = x;
            }
}

static void FN(spread_row)(const FN(channel_block) * b, T *to, const T *from, ptrdiff_t step, size_t pixels)
{
    from += b->group * b->depth;
    switch (b->p->columns) {
    case 2:
        FN(spread_pixels)(b, 2, to, from, step, pixels);
        break;
    case 4:
        FN(spread_pixels)(b, 4, to, from, step, pixels);
        break;
    default:
        FN(spread_pixels)(b, 8, to, from, step, pixels);
        break;
    }
}
#endif

/* Rows [low, high) of an image of `from`, packed. */
static void FN(block_rows)(FN(channel_block) * b, const rp_view *from, size_t image, size_t low, size_t high)
{
    const T *at = (const T *)from->data + (ptrdiff_t)image * from->stride[0] + (ptrdiff_t)low * from->stride[1];
    const size_t width = from->shape[2], n = b->channels;
    const bool flat = from->stride[1] == (ptrdiff_t)width * from->stride[2];
    const size_t length = flat ? (high - low) * width : width;

    b->from_base = (ptrdiff_t)low * b->from.stride[1];
#ifdef VEC_BYTES
    if (b->depth > 1) {
        for (size_t i = low; i < high; i++, at += from->stride[1])
            FN(spread_row)(b, b->packed_from + (i - low) * width * n * b->depth, at, from->stride[2], width);
        return;
    }
#endif
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
    FN(channel_block) b = {.p = p, .rows = &rows, .columns = &columns, .depth = 1};
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
