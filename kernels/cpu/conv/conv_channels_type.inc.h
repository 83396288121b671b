/* SPDX-License-Identifier: Apache-2.0
 * Convolution of channels that do not mix, for one type: vectors lie across channels. Forward and input gradient; all
 * taps lie in one chunk, so a pixel's channel is one chain over the taps that exist.
 *
 * Parameters, from kernels/type_f32.h or type_f64.h: T the type of the elements, FN(name) the name of its variant.
 * Before it: nothing. Gives FN(channels). */
#if !defined(T) || !defined(FN)
#error "a template: include one of kernels/type_f32.h and kernels/type_f64.h before it"
#endif

#include "kernels/cpu/functions/inline_math.h"
#include "kernels/cpu/conv/conv_pixels.h"
#include "kernels/level.h"

#define WIDTH (WIDEST / sizeof(T))

enum { FN(LANES) = 128 / sizeof(T) };

/* Neighbouring pixels with the same taps. Steps are in elements; a and b point at the first tap's. */
typedef struct FN(line) {
    const T *a, *b;
    T *y;
    ptrdiff_t a_pixel, y_pixel;
    ptrdiff_t a_row, a_col, b_row, b_col; /* from tap to tap */
    size_t rows, columns;
} FN(line);

/* n channels of `pixels` pixels. */
RP_INLINE void FN(line_part)(const FN(line) * l, size_t pixel, size_t pixels, size_t channel, size_t n)
{
    T chain[BESIDE_PIXELS][FN(LANES)] = {{0}};
    const T *a = l->a + (ptrdiff_t)pixel * l->a_pixel + (ptrdiff_t)channel, *b = l->b + (ptrdiff_t)channel;
    T *y = l->y + (ptrdiff_t)pixel * l->y_pixel + (ptrdiff_t)channel;

    for (size_t r = 0; r < l->rows; r++)
        for (size_t s = 0; s < l->columns; s++) {
            const T *from = a + (ptrdiff_t)r * l->a_row + (ptrdiff_t)s * l->a_col;
            const T *weight = b + (ptrdiff_t)r * l->b_row + (ptrdiff_t)s * l->b_col;

            RP_UNROLL
            for (size_t i = 0; i < pixels; i++)
                RP_EACH(j, n) chain[i][j] = FN(rp_fma)(from[(ptrdiff_t)i * l->a_pixel + j], weight[j], chain[i][j]);
        }
    RP_UNROLL
    for (size_t i = 0; i < pixels; i++)
        RP_EACH(j, n) y[(ptrdiff_t)i * l->y_pixel + j] = chain[i][j];
}

#ifdef VEC_BYTES
/* The same with vectors: `pixels` times two vectors of channels. */
RP_INLINE void FN(line_vectors)(const FN(line) * l, size_t pixel, size_t pixels, size_t channel, size_t vecs)
{
    const T *a = l->a + (ptrdiff_t)pixel * l->a_pixel + (ptrdiff_t)channel, *b = l->b + (ptrdiff_t)channel;
    T *y = l->y + (ptrdiff_t)pixel * l->y_pixel + (ptrdiff_t)channel;
    FN(vec) chain[BESIDE_PIXELS][2];

    RP_UNROLL
    for (size_t i = 0; i < pixels; i++)
        chain[i][0] = chain[i][1] = FN(vec_all)(0);
    for (size_t r = 0; r < l->rows; r++) {
        const T *from = a + (ptrdiff_t)r * l->a_row, *weight = b + (ptrdiff_t)r * l->b_row;

        for (size_t s = 0; s < l->columns; s++, from += l->a_col, weight += l->b_col) {
            const FN(vec) low = FN(vec_load)(weight), high = vecs == 2 ? FN(vec_load)(weight + WIDTH) : low;

            RP_UNROLL
            for (size_t i = 0; i < pixels; i++) {
                const T *at = from + (ptrdiff_t)i * l->a_pixel;

                chain[i][0] = FN(vec_fma)(FN(vec_load)(at), low, chain[i][0]);
                if (vecs == 2)
                    chain[i][1] = FN(vec_fma)(FN(vec_load)(at + WIDTH), high, chain[i][1]);
            }
        }
    }
    RP_UNROLL
    for (size_t i = 0; i < pixels; i++) {
        FN(vec_store)(y + (ptrdiff_t)i * l->y_pixel, chain[i][0]);
        if (vecs == 2)
            FN(vec_store)(y + (ptrdiff_t)i * l->y_pixel + WIDTH, chain[i][1]);
    }
}
#endif

#ifdef VEC_BYTES
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
        FN(vec) x[(SHARED_PIXELS - 1) * 2 + 3];

        RP_UNROLL
        for (size_t j = 0; j < (SHARED_PIXELS - 1) * stride + columns; j++) {
            x[j] = FN(vec_load)(from + (ptrdiff_t)j * step);
            VEC_KEEP(x[j]);
        }
        RP_UNROLL
        for (size_t s = 0; s < columns; s++) {
            const FN(vec) weight = FN(vec_load)(at + (ptrdiff_t)s * l->b_col);

            RP_UNROLL
            for (size_t i = 0; i < SHARED_PIXELS; i++)
                chain[i] = FN(vec_fma)(x[i * stride + (back ? columns - 1 - s : s)], weight, chain[i]);
        }
    }
    RP_UNROLL
    for (size_t i = 0; i < SHARED_PIXELS; i++)
        FN(vec_store)(y + (ptrdiff_t)i * l->y_pixel, chain[i]);
}

/* SHARED_PIXELS of a line with three taps in a row, the whole vectors of n channels. False where taps do not overlap
 * so. */
static bool FN(line_overlap)(const FN(line) * l, size_t pixel, size_t n)
{
    if (l->columns != 3 || (l->a_pixel != l->a_col && l->a_pixel != 2 * l->a_col && l->a_pixel != -l->a_col))
        return false;
    for (size_t channel = 0; channel + WIDTH <= n; channel += WIDTH)
        if (l->a_pixel == l->a_col)
            FN(line_shared)(l, pixel, 3, 1, false, channel);
        else if (l->a_pixel == -l->a_col)
            FN(line_shared)(l, pixel, 3, 1, true, channel);
        else
            FN(line_shared)(l, pixel, 3, 2, false, channel);
    return true;
}
#endif

/* `pixels` of the line from `pixel` on, channels [channel, n). */
RP_INLINE void FN(line_pixels)(const FN(line) * l, size_t pixel, size_t pixels, size_t channel, size_t n)
{

#ifdef VEC_BYTES
    for (; channel + 2 * WIDTH <= n; channel += 2 * WIDTH)
        FN(line_vectors)(l, pixel, pixels, channel, 2);
    for (; channel + WIDTH <= n; channel += WIDTH)
        FN(line_vectors)(l, pixel, pixels, channel, 1);
#else
    for (; channel + FN(LANES) <= n; channel += FN(LANES))
        FN(line_part)(l, pixel, pixels, channel, FN(LANES));
#endif
    for (size_t few; channel < n; channel += few) {
        few = n - channel < FN(LANES) ? n - channel : FN(LANES);
        FN(line_part)(l, pixel, pixels, channel, few);
    }
}

/* Pixels [first, last) of the class's row i of one image. */
static void FN(class_line)(const plan *p, const pixel_class *k, size_t image, size_t i, size_t first, size_t last)
{
    const rp_view *to = &p->to, *from = &p->from, *weight = &p->weight;
    const size_t row = k->h.start + i * p->h.step, tap = k->h.taps.first * p->conv->w.taps + k->w.taps.first;
    const ptrdiff_t h = (ptrdiff_t)(i * p->h.move), v = (ptrdiff_t)(first * p->w.move);
    const ptrdiff_t origin = k->h.taps.count > 0 && k->w.taps.count > 0 ? tap_offset(p, k, tap) : 0;
    FN(line)
    l = {.a = (const T *)from->data +
              ((ptrdiff_t)image * from->stride[0] + h * from->stride[1] + v * from->stride[2] + origin),
         .b = (const T *)weight->data + (ptrdiff_t)k->h.taps.first * weight->stride[0] +
              (ptrdiff_t)k->w.taps.first * weight->stride[1],
         .y = (T *)to->data + (ptrdiff_t)image * to->stride[0] + (ptrdiff_t)row * to->stride[1] +
              (ptrdiff_t)(k->w.start + first * p->w.step) * to->stride[2],
         .a_pixel = (ptrdiff_t)p->w.move * from->stride[2],
         .y_pixel = (ptrdiff_t)p->w.step * to->stride[2],
         .a_row = k->h.taps.move * from->stride[1],
         .a_col = k->w.taps.move * from->stride[2],
         .b_row = (ptrdiff_t)k->h.taps.step * weight->stride[0],
         .b_col = (ptrdiff_t)k->w.taps.step * weight->stride[1],
         .rows = k->h.taps.count,
         .columns = k->w.taps.count};
    const size_t channels = p->conv->groups;
    size_t pixel = 0;

#ifdef VEC_BYTES
    for (; pixel + SHARED_PIXELS <= last - first && FN(line_overlap)(&l, pixel, channels); pixel += SHARED_PIXELS)
        for (size_t j = 0; channels % WIDTH != 0 && j < SHARED_PIXELS; j++)
            FN(line_pixels)(&l, pixel + j, 1, channels / WIDTH * WIDTH, channels);
#endif
    for (; pixel + BESIDE_PIXELS <= last - first; pixel += BESIDE_PIXELS)
        FN(line_pixels)(&l, pixel, BESIDE_PIXELS, 0, channels);
    for (; pixel < last - first; pixel++)
        FN(line_pixels)(&l, pixel, 1, 0, channels);
}

static void FN(channels)(const plan *p, size_t begin, size_t end)
{
    const size_t plane = p->h.length * p->w.length;
    pixel_class k = {.n = 0};

    while (next_class(&p->h, &p->w, &k.h, &k.w))
        for (size_t image = begin / plane; image * plane < end; image++)
            for (size_t i = 0; i < k.h.count; i++) {
                const size_t item = image * plane + (k.h.start + i * p->h.step) * p->w.length + k.w.start;
                const size_t step = p->w.step, past = begin > item ? (begin - item + step - 1) / step : 0;
                const size_t stop = end > item ? (end - item + step - 1) / step : 0;
                const size_t last = stop < k.w.count ? stop : k.w.count;

                if (past < last)
                    FN(class_line)(p, &k, image, i, past, last);
            }
}

#undef WIDTH
