/* SPDX-License-Identifier: Apache-2.0
 * Images whose channels come first, as files and other libraries have them, for one type: a pixel's channels then lie a
 * plane apart, and each tap would gather them anew. The rows that the pixels meet are turned once into borrowed memory
 * instead, if that holds them: the same elements in the same logical places.
 *
 * Parameters, from kernels/type_f32.h or type_f64.h: T the type of the elements, FN(name) the name of its variant.
 * Before it: conv_tile.inc.h, for FN(turn_square). Gives FN(turned_size), FN(turn_image). */
#if !defined(T) || !defined(FN)
#error "a template: include one of kernels/type_f32.h and kernels/type_f64.h before it"
#endif

#include "kernels/cpu/conv/conv_pixels.h"

/* The rows of `from` that pixels [begin, end) meet: all of them where the range goes from image to image. */
static void FN(rows_of)(const plan *p, size_t begin, size_t end, size_t *first, size_t *last)
{
    const size_t plane = p->h.length * p->w.length;

    *first = 0;
    *last = p->from.shape[1];
    if (begin / plane == (end - 1) / plane)
        rows_met(p, begin % plane / p->w.length, (end - 1) % plane / p->w.length + 1, first, last);
}

#define WIDTH (WIDEST / sizeof(T))

/* A few pixels at a time: where a row is long each channel's walk over all of it would come upon other lines. */
static void FN(turn_row)(T *to, const T *from, const rp_view *v)
{
    const size_t channels = v->shape[3], width = v->shape[2];
    const ptrdiff_t pixel = v->stride[2], channel = v->stride[3];

    for (size_t i = 0, n; i < width; i += n) {
        size_t c = 0;

        n = width - i < WIDTH ? width - i : WIDTH;
#ifdef VEC_BYTES
        for (; n == WIDTH && pixel == 1 && c + WIDTH <= channels; c += WIDTH)
            FN(turn_square)
        (to + i * channels + c, (ptrdiff_t)channels, from + (ptrdiff_t)i + (ptrdiff_t)c * channel, channel);
#endif
        for (; c < channels; c++)
            for (size_t j = i; j < i + n; j++)
                to[j * channels + c] = from[(ptrdiff_t)j * pixel + (ptrdiff_t)c * channel];
    }
}

#undef WIDTH

/* How many elements are turned for pixels [begin, end); 0: none, as their channels lie in order, or as few taps of
 * these pixels read each: a part of a long row, or of two images, would have all of them turned. */
static size_t FN(turned_size)(const plan *p, size_t begin, size_t end)
{
    const rp_conv *conv = p->conv;
    const size_t taps = conv->h.taps * conv->w.taps, strides = (size_t)(conv->h.stride * conv->w.stride);
    const size_t plane = p->h.length * p->w.length;
    size_t first, last, size;

    if (p->a_step == 1 || p->depth < 2 || taps < 2 * strides || conv->groups > 1 || begin >= end || plane == 0)
        return 0;
    FN(rows_of)(p, begin, end, &first, &last);
    size = last <= first ? 0 : ((end - 1) / plane - begin / plane + 1) * (last - first) * p->from.shape[2] * p->depth;
    return size <= (end - begin) * p->depth * taps / (p->h.back ? strides : 1) / 2 ? size : 0;
}

/* NULL, or borrowed memory with what pixels [begin, end) meet, from which *made reads. */
static T *FN(turn_image)(const plan *p, size_t begin, size_t end, plan *made)
{
    const size_t size = FN(turned_size)(p, begin, end), line = p->from.shape[2] * p->depth;
    const size_t plane = p->h.length * p->w.length, image = size > 0 ? begin / plane : 0;
    T *memory = size > 0 && size <= RP_SCRATCH_BYTES / sizeof(T) ? rp_scratch_borrow() : NULL, *to = memory;
    size_t first, last;

    if (memory == NULL)
        return NULL;
    FN(rows_of)(p, begin, end, &first, &last);
    for (size_t i = image; i <= (end - 1) / plane; i++)
        for (size_t row = first; row < last; row++, to += line)
            FN(turn_row)
    (to, (const T *)p->from.data + (ptrdiff_t)i * p->from.stride[0] + (ptrdiff_t)row * p->from.stride[1], &p->from);
    *made = *p;
    made->a_step = 1;
    made->from.stride[3] = 1;
    made->from.stride[2] = (ptrdiff_t)p->depth;
    made->from.stride[1] = (ptrdiff_t)line;
    made->from.stride[0] = (ptrdiff_t)((last - first) * line);
    made->from.data = memory;
    made->from_at = -(ptrdiff_t)image * made->from.stride[0] - (ptrdiff_t)(first * line);
    return memory;
}
