/* SPDX-License-Identifier: Apache-2.0
 * Convolution of groups with few outputs each, for one type: a vector has the outputs of several groups, and each
 * channel of a pixel goes to the lanes of its group when the pixel is packed. Forward and input gradient; all terms lie
 * in one chunk.
 *
 * Parameters, from kernels/type_f32.h or type_f64.h: T the type of the elements, FN(name) the name of its variant.
 * Before it: conv_lines_type.inc.h and conv_channels_type.inc.h. Gives FN(few_of_groups). */
#if !defined(T) || !defined(FN)
#error "a template: include one of kernels/type_f32.h and kernels/type_f64.h before it"
#endif

#include "kernels/cpu/functions/inline_math.h"
#include "kernels/cpu/conv/conv_pixels.h"
#include "kernels/level.h"

#define WIDTH (WIDEST / sizeof(T))

#ifdef VEC_BYTES
/* The weights of a vector of outputs, [taps][depth][lanes]. */
static void FN(group_weight)(const FN(channel_block) * b)
{
    const plan *p = b->p;
    const rp_view *w = &p->weight;
    const ptrdiff_t next = (ptrdiff_t)p->conv->k * w->stride[3]; /* group */
    T *to = b->weight;

    for (size_t t = 0; t < p->conv->h.taps * p->conv->w.taps; t++) {
        const T *tap = (const T *)w->data + (ptrdiff_t)(t / p->conv->w.taps) * w->stride[0] +
                       (ptrdiff_t)(t % p->conv->w.taps) * w->stride[1] + (ptrdiff_t)b->group * next;

        for (size_t c = 0; c < p->depth; c++, tap += p->b_step)
            for (size_t j = 0; j < WIDTH / p->columns; j++)
                for (size_t i = 0; i < p->columns; i++)
                    *to++ = tap[(ptrdiff_t)j * next + (ptrdiff_t)i * p->b_col];
    }
}

/* Pixels [begin, end) of groups with few outputs each, a vector of outputs of several groups at a time; false where
 * they must be computed otherwise. */
static bool FN(few_of_groups)(const plan *p, size_t begin, size_t end)
{
    const size_t taps = p->conv->h.taps * p->conv->w.taps, outs = p->columns, all = p->conv->groups * outs;
    const size_t lanes = p->depth * WIDTH;
    runs_of_taps rows, columns;
    FN(channel_block)
    b = {.p = p, .rows = &rows, .columns = &columns, .channels = WIDTH, .depth = p->depth};
    size_t band = p->h.length;

    if ((outs != 2 && outs != 4 && outs != 8) || WIDTH % outs != 0 || all < WIDTH || p->depth < 2 ||
        taps * p->depth > RP_CONV_CHUNK || p->a_step != 1 || p->y_col != 1)
        return false;
    while (band > 1 && packed_pixels(p, true, false, band) * lanes * sizeof(T) > CHANNEL_BYTES)
        band = (band + 1) / 2;
    if ((taps + packed_pixels(p, true, false, band)) * lanes * sizeof(T) > RP_SCRATCH_BYTES ||
        !list_runs(&p->h, &rows) || !list_runs(&p->w, &columns) || (b.weight = rp_scratch_borrow()) == NULL)
        return false;
    b.packed_from = b.weight + taps * lanes;
    b.from = FN(packed_view)(&p->from, b.packed_from, lanes);
    for (size_t at = 0; at < all; at += WIDTH) {
        const size_t start = FN(no_later)(at, WIDTH, all);

        b.group = start / outs;
        b.to = FN(from_channel)(&p->to, start);
        FN(group_weight)(&b);
        FN(block_bands)(&b, &p->from, &p->to, band, begin, end);
    }
    rp_scratch_return(b.weight);
    return true;
}
#else
static bool FN(few_of_groups)(const plan *p, size_t begin, size_t end)
{
    (void)p, (void)begin, (void)end;
    return false;
}
#endif

#undef WIDTH
