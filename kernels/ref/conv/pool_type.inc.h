/* SPDX-License-Identifier: Apache-2.0
 * Pooling for one type, forward beside gradient: a window's existing elements in (r, s) order. */
#include "kernels/ref/functions/formula.inc.h"

static T *FN(pixel)(const rp_view *view, size_t n, ptrdiff_t h, ptrdiff_t w, size_t c)
{
    return (T *)view->data + (ptrdiff_t)n * view->stride[0] + h * view->stride[1] + w * view->stride[2] +
           (ptrdiff_t)c * view->stride[3];
}

static void FN(max_pool)(const pool *p, size_t n, size_t oh, size_t ow)
{
    const rp_taps r = rp_conv_taps(&p->h, oh), s = rp_conv_taps(&p->w, ow);

    for (size_t c = 0; c < p->x->shape[3]; c++) {
        T most = (T)-__builtin_inf();

        for (size_t i = 0; i < r.count; i++)
            for (size_t j = 0; j < s.count; j++)
                most = FN(maximum)(most,
                                   *FN(pixel)(p->x, n, r.at + (ptrdiff_t)i * r.move, s.at + (ptrdiff_t)j * s.move, c));
        *FN(pixel)(p->y, n, (ptrdiff_t)oh, (ptrdiff_t)ow, c) = most;
    }
}

/* The window's first greatest element, by the order of argmax; false when it has none. */
static bool FN(winner)(const rp_view *x, const rp_taps *r, const rp_taps *s, size_t n, size_t c, ptrdiff_t *h,
                       ptrdiff_t *w)
{
    const T *best = NULL;

    for (size_t i = 0; i < r->count; i++)
        for (size_t j = 0; j < s->count; j++) {
            const ptrdiff_t row = r->at + (ptrdiff_t)i * r->move, column = s->at + (ptrdiff_t)j * s->move;
            const T *at = FN(pixel)(x, n, row, column, c);

            if (best == NULL || *at > *best || (*at != *at && *best == *best)) {
                best = at;
                *h = row;
                *w = column;
            }
        }
    return best != NULL;
}

static void FN(clear_plane)(const rp_view *dx, size_t n, size_t c)
{
    for (size_t h = 0; h < dx->shape[1]; h++)
        for (size_t w = 0; w < dx->shape[2]; w++)
            *FN(pixel)(dx, n, (ptrdiff_t)h, (ptrdiff_t)w, c) = 0;
}

/* dx from +0: each output in ascending (oh, ow) adds its g to its window's winner. */
static void FN(max_pool_grad)(const pool *p, const rp_view *x, size_t n, size_t c)
{
    FN(clear_plane)(p->x, n, c);
    for (size_t oh = 0; oh < p->h.out; oh++)
        for (size_t ow = 0; ow < p->w.out; ow++) {
            const rp_taps r = rp_conv_taps(&p->h, oh), s = rp_conv_taps(&p->w, ow);
            ptrdiff_t h = 0, w = 0;

            if (FN(winner)(x, &r, &s, n, c, &h, &w))
                *FN(pixel)(p->x, n, h, w, c) += *FN(pixel)(p->y, n, (ptrdiff_t)oh, (ptrdiff_t)ow, c);
        }
}

/* The sum from +0, left to right, divided by the number of elements that exist. */
static void FN(avg_pool)(const pool *p, size_t n, size_t oh, size_t ow)
{
    const rp_taps r = rp_conv_taps(&p->h, oh), s = rp_conv_taps(&p->w, ow);

    for (size_t c = 0; c < p->x->shape[3]; c++) {
        T sum = 0;

        for (size_t i = 0; i < r.count; i++)
            for (size_t j = 0; j < s.count; j++)
                sum += *FN(pixel)(p->x, n, r.at + (ptrdiff_t)i * r.move, s.at + (ptrdiff_t)j * s.move, c);
        *FN(pixel)(p->y, n, (ptrdiff_t)oh, (ptrdiff_t)ow, c) = sum / (T)(r.count * s.count);
    }
}

/* dx from +0: each output in ascending (oh, ow) adds g / count to every element of its window. */
static void FN(avg_pool_grad)(const pool *p, const rp_view *x, size_t n, size_t c)
{
    (void)x;
    FN(clear_plane)(p->x, n, c);
    for (size_t oh = 0; oh < p->h.out; oh++)
        for (size_t ow = 0; ow < p->w.out; ow++) {
            const rp_taps r = rp_conv_taps(&p->h, oh), s = rp_conv_taps(&p->w, ow);
            const T g = *FN(pixel)(p->y, n, (ptrdiff_t)oh, (ptrdiff_t)ow, c) / (T)(r.count * s.count);

            for (size_t i = 0; i < r.count; i++)
                for (size_t j = 0; j < s.count; j++)
                    *FN(pixel)(p->x, n, r.at + (ptrdiff_t)i * r.move, s.at + (ptrdiff_t)j * s.move, c) += g;
        }
}
