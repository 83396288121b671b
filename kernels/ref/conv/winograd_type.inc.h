/* SPDX-License-Identifier: Apache-2.0
 * CONTRACT 4.6 for one type: transforms of a tile's inputs and of a filter, 36 chains over the channels, the transform
 * of their results. A transform goes down the columns first, then along the rows. Values lie `step` apart. */
static void FN(turn_input)(T *to, size_t to_step, const T *d, size_t step)
{
    const T d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step], d4 = d[4 * step], d5 = d[5 * step];
    const T p = FN(rp_fma)((T)-2.25, d2, d4), q = FN(rp_fma)((T)-2.25, d1, d3);
    const T t = FN(rp_fma)((T)-0.390625, d2, d4), e = FN(rp_fma)((T)-0.390625, d1, d3);

    to[0] = FN(rp_fma)((T)0.87890625, d0, FN(rp_fma)((T)-2.640625, d2, d4));
    to[to_step] = FN(rp_fma)((T)0.625, q, p);
    to[2 * to_step] = FN(rp_fma)((T)-0.625, q, p);
    to[3 * to_step] = FN(rp_fma)((T)1.5, e, t);
    to[4 * to_step] = FN(rp_fma)((T)-1.5, e, t);
    to[5 * to_step] = FN(rp_fma)((T)0.87890625, d1, FN(rp_fma)((T)-2.640625, d3, d5));
}

static void FN(turn_weight)(T *to, size_t to_step, const T *g, size_t step)
{
    const T g0 = g[0], g1 = g[step], g2 = g[2 * step];
    const T s = FN(rp_fma)((T)0.390625, g2, g0), t = FN(rp_fma)((T)2.25, g2, g0);

    to[0] = RP_WINOGRAD_ZERO(T) * g0;
    to[to_step] = RP_WINOGRAD_NEAR(T) * FN(rp_fma)((T)0.625, g1, s);
    to[2 * to_step] = RP_WINOGRAD_NEAR(T) * FN(rp_fma)((T)-0.625, g1, s);
    to[3 * to_step] = RP_WINOGRAD_FAR(T) * FN(rp_fma)((T)1.5, g1, t);
    to[4 * to_step] = RP_WINOGRAD_FAR(T) * FN(rp_fma)((T)-1.5, g1, t);
    to[5 * to_step] = g2;
}

static void FN(turn_output)(T *to, size_t to_step, const T *m, size_t step)
{
    const T m0 = m[0], m1 = m[step], m2 = m[2 * step], m3 = m[3 * step], m4 = m[4 * step], m5 = m[5 * step];
    const T s = m1 + m2, e = m1 - m2, p = m3 + m4, q = m3 - m4;

    to[0] = (m0 + s) + p;
    to[to_step] = FN(rp_fma)((T)1.5, q, (T)0.625 * e);
    to[2 * to_step] = FN(rp_fma)((T)2.25, p, (T)0.390625 * s);
    to[3 * to_step] = FN(rp_fma)((T)3.375, q, (T)0.244140625 * e) + m5;
}

static T *FN(element)(const rp_view *view, size_t i, size_t j, size_t k, size_t l)
{
    return (T *)view->data + (ptrdiff_t)i * view->stride[0] + (ptrdiff_t)j * view->stride[1] +
           (ptrdiff_t)k * view->stride[2] + (ptrdiff_t)l * view->stride[3];
}

/* v = the transformed inputs of channel c for the outputs from (h, w) on; +0 outside the image. */
static void FN(input_points)(const rp_conv *p, T v[IN][IN], size_t n, size_t h, size_t w, size_t c)
{
    T d[IN][IN], half[IN][IN];

    for (size_t i = 0; i < IN; i++)
        for (size_t j = 0; j < IN; j++) {
            const int64_t y = (int64_t)(h + i) - p->h.pad, x = (int64_t)(w + j) - p->w.pad;
            const bool inside = y >= 0 && y < (int64_t)p->h.in && x >= 0 && x < (int64_t)p->w.in;

            d[i][j] = inside ? *FN(element)(p->x, n, (size_t)y, (size_t)x, c) : 0;
        }
    for (size_t j = 0; j < IN; j++)
        FN(turn_input)(&half[0][j], IN, &d[0][j], IN);
    for (size_t i = 0; i < IN; i++)
        FN(turn_input)(v[i], 1, half[i], 1);
}

/* u = the transformed weight of channel c and filter k. */
static void FN(weight_points)(const rp_conv *p, T u[IN][IN], size_t c, size_t k)
{
    T g[3][3], half[IN][3];

    for (size_t r = 0; r < 3; r++)
        for (size_t s = 0; s < 3; s++)
            g[r][s] = *FN(element)(p->weight, r, s, c, k);
    for (size_t s = 0; s < 3; s++)
        FN(turn_weight)(&half[0][s], 3, &g[0][s], 3);
    for (size_t i = 0; i < IN; i++)
        FN(turn_weight)(u[i], 1, half[i], 1);
}

/* m[f] = for filters k + f the 36 sums over channels of v u, by CONTRACT 4.4; of no channels +0. */
static void FN(sum_points)(const rp_conv *p, T m[RP_WINOGRAD_FILTERS][IN][IN], size_t n, size_t h, size_t w, size_t k,
                           size_t filters)
{
    for (size_t start = 0; start == 0 || start < p->c; start += RP_CONV_CHUNK) {
        const size_t stop = p->c - start < RP_CONV_CHUNK ? p->c : start + RP_CONV_CHUNK;
        T chain[RP_WINOGRAD_FILTERS][IN][IN] = {{{0}}}, v[IN][IN], u[IN][IN];

        for (size_t c = start; c < stop; c++) {
            FN(input_points)(p, v, n, h, w, c);
            for (size_t f = 0; f < filters; f++) {
                FN(weight_points)(p, u, c, k + f);
                for (size_t i = 0; i < IN; i++)
                    for (size_t j = 0; j < IN; j++)
                        chain[f][i][j] = FN(rp_fma)(v[i][j], u[i][j], chain[f][i][j]);
            }
        }
        for (size_t f = 0; f < filters; f++)
            for (size_t i = 0; i < IN; i++)
                for (size_t j = 0; j < IN; j++)
                    m[f][i][j] = start == 0 ? chain[f][i][j] : m[f][i][j] + chain[f][i][j];
    }
}

/* The outputs of filter k, of its 36 sums, for the tile from (h, w) on. */
static void FN(store_tile)(const rp_conv *p, T m[IN][IN], size_t n, size_t h, size_t w, size_t k)
{
    T half[OUT][IN], y[OUT][OUT];

    for (size_t j = 0; j < IN; j++)
        FN(turn_output)(&half[0][j], IN, &m[0][j], IN);
    for (size_t i = 0; i < OUT; i++)
        FN(turn_output)(y[i], 1, half[i], 1);
    for (size_t i = 0; i < OUT && h + i < p->h.out; i++)
        for (size_t j = 0; j < OUT && w + j < p->w.out; j++)
            *FN(element)(p->y, n, h + i, w + j, k) = y[i][j];
}

RP_KERNEL_FN void FN(rp_winograd_tiles)(const rp_conv *p, size_t tile, size_t tile_end, size_t filter,
                                        size_t filter_end)
{
    const size_t across = rp_winograd_tiles(&p->w), down = rp_winograd_tiles(&p->h);

    for (; tile < tile_end; tile++) {
        const size_t n = tile / across / down, h = tile / across % down * OUT, w = tile % across * OUT;

        for (size_t k = filter; k < filter_end; k += RP_WINOGRAD_FILTERS) {
            const size_t filters = filter_end - k < RP_WINOGRAD_FILTERS ? filter_end - k : RP_WINOGRAD_FILTERS;
            T m[RP_WINOGRAD_FILTERS][IN][IN];

            FN(sum_points)(p, m, n, h, w, k, filters);
            for (size_t f = 0; f < filters; f++)
                FN(store_tile)(p, m[f], n, h, w, k + f);
        }
    }
}
