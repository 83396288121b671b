/* SPDX-License-Identifier: Apache-2.0
 * Neighbouring pixels with the same taps where channels do not mix, or in small groups, for one type: tiles of a few
 * pixels and vectors of channels, each with a chain of its own over the taps.
 *
 * Parameters, from kernels/type_f32.h or type_f64.h: T the type of the elements, FN(name) the name of its variant.
 * Before it: conv_tile.inc.h, for FN(turn_square). Gives FN(line), FN(line_run), FN(no_later), FN(turn). */
#if !defined(T) || !defined(FN)
#error "a template: include one of kernels/type_f32.h and kernels/type_f64.h before it"
#endif

#include "kernels/cpu/functions/inline_math.h"
#include "kernels/cpu/conv/conv_pixels.h"
#include "kernels/level.h"

#define WIDTH (WIDEST / sizeof(T))

/* Neighbouring pixels with the same taps. Steps are in elements; a and b point at the first tap's. */
typedef struct FN(line) {
    const T *a, *b;
    T *y;
    ptrdiff_t a_pixel, y_pixel;
    ptrdiff_t a_row, a_col, b_row, b_col; /* from tap to tap */
    size_t rows, columns, pixels, channels, depth;
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

/* The same for `depth` terms a tap, one after another in vectors of their own: channels of groups, packed. */
RP_INLINE void FN(deep_pixels)(const FN(line) * l, size_t pixel, size_t pixels)
{
    const T *a = l->a + (ptrdiff_t)pixel * l->a_pixel;
    FN(vec) chain[BLOCK_VECTORS];

    RP_UNROLL
    for (size_t i = 0; i < pixels; i++)
        chain[i] = FN(vec_all)(0);
    for (size_t r = 0; r < l->rows; r++)
        for (size_t s = 0; s < l->columns; s++) {
            const T *from = a + (ptrdiff_t)r * l->a_row + (ptrdiff_t)s * l->a_col;
            const T *weight = l->b + (ptrdiff_t)r * l->b_row + (ptrdiff_t)s * l->b_col;

            for (size_t c = 0; c < l->depth; c++, from += WIDTH, weight += WIDTH) {
                FN(vec) w = FN(vec_load)(weight);

                VEC_KEEP(w);
                RP_UNROLL
                for (size_t i = 0; i < pixels; i++)
                    chain[i] = FN(vec_fma)(FN(vec_load)(from + (ptrdiff_t)i * l->a_pixel), w, chain[i]);
            }
        }
    RP_UNROLL
    for (size_t i = 0; i < pixels; i++)
        FN(vec_store)(l->y + (ptrdiff_t)(pixel + i) * l->y_pixel, chain[i]);
}

static void FN(line_deep)(const FN(line) * l)
{
    size_t pixel = 0;

    for (; l->pixels >= 8 && pixel + 4 < l->pixels; pixel += 8)
        FN(deep_pixels)(l, FN(no_later)(pixel, 8, l->pixels), 8);
    for (; l->pixels >= 4 && pixel + 2 < l->pixels; pixel += 4)
        FN(deep_pixels)(l, FN(no_later)(pixel, 4, l->pixels), 4);
    for (; l->pixels >= 2 && pixel < l->pixels; pixel += 2)
        FN(deep_pixels)(l, FN(no_later)(pixel, 2, l->pixels), 2);
    if (pixel < l->pixels)
        FN(deep_pixels)(l, pixel, 1);
}
#endif

static void FN(line_run)(const FN(line) * l)
{
#ifdef VEC_BYTES
    if (l->depth > 1) {
        FN(line_deep)(l);
        return;
    }
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

#undef WIDTH
