/* SPDX-License-Identifier: Apache-2.0
 * Pooling for one type: the steps of ref/pool_type.inc.h for a block of neighbouring channels at a time. */
#include "kernels/ref/functions/formula.inc.h"

static T *FN(pixel)(const rp_view *view, size_t n, ptrdiff_t h, ptrdiff_t w, size_t c)
{
    return (T *)view->data + (ptrdiff_t)n * view->stride[0] + h * view->stride[1] + w * view->stride[2] + (ptrdiff_t)c;
}

/* `count` <= CHANNELS channels of one window: the greatest, or the mean. */
RP_INLINE void FN(pool_block)(const pool *p, const rp_taps *r, const rp_taps *s, size_t n, size_t c, size_t count, T *y,
                              bool mean)
{
    T result[CHANNELS];

    RP_EACH(k, count) result[k] = mean ? (T)0 : (T)-__builtin_inf();
    for (size_t i = 0; i < r->count; i++)
        for (size_t j = 0; j < s->count; j++) {
            const T *x = FN(pixel)(p->x, n, r->at + (ptrdiff_t)i * r->move, s->at + (ptrdiff_t)j * s->move, c);

            RP_EACH(k, count) result[k] = mean ? result[k] + x[k] : FN(maximum)(result[k], x[k]);
        }
    RP_EACH(k, count) y[k] = mean ? result[k] / (T)(r->count * s->count) : result[k];
}

RP_INLINE void FN(pool_pixel)(const pool *p, const rp_taps *r, size_t n, size_t oh, size_t ow, bool mean)
{
    const size_t channels = p->x->shape[3];
    const rp_taps s = column_taps(p, ow);
    T *y = FN(pixel)(p->y, n, (ptrdiff_t)oh, (ptrdiff_t)ow, 0);
    size_t c = 0;

    for (; c + CHANNELS <= channels; c += CHANNELS)
        FN(pool_block)(p, r, &s, n, c, CHANNELS, y + c, mean);
    if (c < channels)
        FN(pool_block)(p, r, &s, n, c, channels - c, y + c, mean);
}

static void FN(max_pool)(const pool *p, const rp_taps *r, size_t n, size_t oh, size_t ow)
{
    FN(pool_pixel)(p, r, n, oh, ow, false);
}

static void FN(avg_pool)(const pool *p, const rp_taps *r, size_t n, size_t oh, size_t ow)
{
    FN(pool_pixel)(p, r, n, oh, ow, true);
}

/* Adds g to the window's first greatest element in each channel: its position in the window is kept as a T, which is
 * exact and as wide as the elements. */
RP_INLINE void FN(add_to_winners)(const pool *p, const rp_view *x, const rp_taps *r, const rp_taps *s, size_t n,
                                  size_t c, size_t count, const T *g)
{
    T best[CHANNELS], winner[CHANNELS];

    for (size_t i = 0; i < r->count; i++)
        for (size_t j = 0; j < s->count; j++) {
            const T *at = FN(pixel)(x, n, r->at + (ptrdiff_t)i * r->move, s->at + (ptrdiff_t)j * s->move, c);
            const T number = (T)(i * s->count + j);

            if (i + j == 0) {
                memcpy(best, at, count * sizeof(T));
                memset(winner, 0, sizeof winner); /* all bits 0 is +0 */
                continue;
            }
            RP_EACH(k, count)
            {
                const bool wins = (at[k] > best[k]) | ((at[k] != at[k]) & (best[k] == best[k]));

                winner[k] = wins ? number : winner[k];
                best[k] = wins ? at[k] : best[k];
            }
        }
    for (size_t i = 0; i < r->count; i++)
        for (size_t j = 0; j < s->count; j++) {
            T *dx = FN(pixel)(p->x, n, r->at + (ptrdiff_t)i * r->move, s->at + (ptrdiff_t)j * s->move, c);
            const T number = (T)(i * s->count + j);

            RP_EACH(k, count) dx[k] = winner[k] == number ? dx[k] + g[k] : dx[k];
        }
}

RP_INLINE void FN(add_mean)(const pool *p, const rp_taps *r, const rp_taps *s, size_t n, size_t c, size_t count,
                            const T *g)
{
    const T elements = (T)(r->count * s->count);
    T part[CHANNELS];

    RP_EACH(k, count) part[k] = g[k] / elements;
    for (size_t i = 0; i < r->count; i++)
        for (size_t j = 0; j < s->count; j++) {
            T *dx = FN(pixel)(p->x, n, r->at + (ptrdiff_t)i * r->move, s->at + (ptrdiff_t)j * s->move, c);

            RP_EACH(k, count) dx[k] += part[k];
        }
}

/* The gradients of outputs [ow, ow + n) of a row, whose channels are no neighbours, are made so. */
static void FN(turn_gradients)(const pool *p, size_t image, size_t oh, size_t ow, size_t n, size_t c, size_t count,
                               T *to)
{
    const T *from = FN(pixel)(p->y, image, (ptrdiff_t)oh, (ptrdiff_t)ow, 0) + (ptrdiff_t)c * p->y->stride[3];

    for (size_t k = 0; k < count; k++, from += p->y->stride[3])
        for (size_t i = 0; i < n; i++)
            to[i * CHANNELS + k] = from[(ptrdiff_t)i * p->y->stride[2]];
}

/* Channels [c, c_end), at most CHANNELS, of one image: dx from +0, outputs in ascending order. */
RP_INLINE void FN(plane)(const pool *p, const rp_view *x, size_t n, size_t c, size_t count)
{
    T turned[TURNED_COLUMNS * CHANNELS];

    for (size_t h = 0; h < p->h.in; h++)
        for (size_t w = 0; w < p->w.in; w++)
            memset(FN(pixel)(p->x, n, (ptrdiff_t)h, (ptrdiff_t)w, c), 0, count * sizeof(T));
    for (size_t oh = 0; oh < p->h.out; oh++) {
        const rp_taps r = rp_conv_taps(&p->h, oh);

        for (size_t ow = 0; ow < p->w.out; ow++) {
            const rp_taps s = column_taps(p, ow);
            const size_t at = ow % TURNED_COLUMNS, left = p->w.out - ow;
            const T *g = turned + at * CHANNELS;

            if (p->y->stride[3] == 1)
                g = FN(pixel)(p->y, n, (ptrdiff_t)oh, (ptrdiff_t)ow, c);
            else if (at == 0)
                FN(turn_gradients)
            (p, n, oh, ow, left < TURNED_COLUMNS ? left : TURNED_COLUMNS, c, count, turned);
            if (x != NULL)
                FN(add_to_winners)(p, x, &r, &s, n, c, count, g);
            else
                FN(add_mean)(p, &r, &s, n, c, count, g);
        }
    }
}

static void FN(max_pool_grad)(const pool *p, const rp_view *x, size_t n, size_t c, size_t c_end)
{
    if (c_end - c == CHANNELS)
        FN(plane)(p, x, n, c, CHANNELS);
    else
        FN(plane)(p, x, n, c, c_end - c);
}

static void FN(avg_pool_grad)(const pool *p, const rp_view *x, size_t n, size_t c, size_t c_end)
{
    (void)x;
    if (c_end - c == CHANNELS)
        FN(plane)(p, NULL, n, c, CHANNELS);
    else
        FN(plane)(p, NULL, n, c, c_end - c);
}
