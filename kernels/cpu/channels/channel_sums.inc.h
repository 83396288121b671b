/* SPDX-License-Identifier: Apache-2.0
 * Sums of channels over rows of neighbouring channels, for one type (CONTRACT 4.1): vectors lie across the channels,
 * each of which keeps its own 64 lanes. At most a chunk of chunks of rows. */

/* Channels at a time, of which a compiler knows NARROW; the lanes that are added to stay in the first cache. */
enum { FN(BLOCK) = 1024 / sizeof(T), FN(NARROW) = 256 / sizeof(T), FN(HELD_LANES) = (16 << 10) / sizeof(T) };

/* Rows of channels of x and, for a gradient, g: n of them, a step apart; the channels' mean and 1/deviation. */
typedef struct FN(channel_rows) {
    const T *x, *g;
    ptrdiff_t x_step, g_step;
    size_t n;
    const T *mean, *r;
} FN(channel_rows);

/* What is summed: an element of x, its squared distance from the mean, g z and, into a second sum, g. */
typedef enum FN(term) { FN(ELEMENT), FN(SQUARE), FN(SLOPE) } FN(term);

/* Adds the terms of one row to its lane. */
RP_INLINE void FN(join)(T *lane, T *second, const FN(channel_rows) * s, FN(term) term, size_t row, size_t width)
{
    const T *x = s->x + (ptrdiff_t)row * s->x_step;
    const T *g = term == FN(SLOPE) ? s->g + (ptrdiff_t)row * s->g_step : x;

    RP_EACH(j, width)
    {
        if (term == FN(ELEMENT)) {
            lane[j] += x[j];
        } else if (term == FN(SQUARE)) {
            const T d = x[j] - s->mean[j];

            lane[j] += d * d;
        } else {
            lane[j] += g[j] * ((x[j] - s->mean[j]) * s->r[j]);
            second[j] += g[j];
        }
    }
}

/* And those of four rows of one lane, in turn: the lane is read and written once. */
RP_INLINE void FN(join_four)(T *lane, T *second, const FN(channel_rows) * s, FN(term) term, size_t row, size_t width)
{
    const T *x = s->x + (ptrdiff_t)row * s->x_step;
    const T *g = term == FN(SLOPE) ? s->g + (ptrdiff_t)row * s->g_step : x;
    const ptrdiff_t dx = RP_LANES * s->x_step, dg = RP_LANES * s->g_step;

    RP_EACH(j, width)
    {
        T sum = lane[j], other = 0;

        if (term == FN(ELEMENT)) {
            sum = (((sum + x[j]) + x[j + dx]) + x[j + 2 * dx]) + x[j + 3 * dx];
        } else if (term == FN(SQUARE)) {
            const T m = s->mean[j], d0 = x[j] - m, d1 = x[j + dx] - m, d2 = x[j + 2 * dx] - m, d3 = x[j + 3 * dx] - m;

            sum = (((sum + d0 * d0) + d1 * d1) + d2 * d2) + d3 * d3;
        } else {
            const T m = s->mean[j], r = s->r[j], g0 = g[j], g1 = g[j + dg], g2 = g[j + 2 * dg], g3 = g[j + 3 * dg];

            other = (((second[j] + g0) + g1) + g2) + g3;
            sum = sum + g0 * ((x[j] - m) * r);
            sum = sum + g1 * ((x[j + dx] - m) * r);
            sum = sum + g2 * ((x[j + 2 * dx] - m) * r);
            sum = sum + g3 * ((x[j + 3 * dx] - m) * r);
        }
        lane[j] = sum;
        if (term == FN(SLOPE))
            second[j] = other;
    }
}

/* The fold by halves of the lanes that rows have joined; the others are +0 and change nothing. */
RP_INLINE void FN(fold_rows)(T *sum, T lane[][FN(BLOCK)], size_t used, size_t width)
{
    RP_NO_UNROLL for (size_t half = RP_LANES / 2; half > 0; half /= 2)
    {
        RP_NO_UNROLL for (size_t l = 0; l + half < used; l++) RP_EACH(j, width) lane[l][j] += lane[l + half][j];
        used = used < half ? used : half;
    }
    RP_EACH(j, width) sum[j] = used > 0 ? lane[0][j] : 0;
}

/* Rows [begin, begin + n), n <= RP_CHUNK, of at most BLOCK channels. */
RP_INLINE void FN(sum_rows)(T *sum, T *second, const FN(channel_rows) * s, FN(term) term, size_t begin, size_t n,
                            size_t width)
{
    const size_t used = n < RP_LANES ? n : RP_LANES, together = FN(HELD_LANES) / (width * (term == FN(SLOPE) ? 2 : 1));
    T lane[RP_LANES][FN(BLOCK)], other[RP_LANES][FN(BLOCK)];

    for (size_t l = 0; l < used; l++) {
        RP_EACH(j, width) lane[l][j] = 0;
        if (term == FN(SLOPE))
            RP_EACH(j, width) other[l][j] = 0;
    }
    for (size_t first = 0; first < used; first += together) {
        const size_t end = used - first < together ? used : first + together;
        size_t i = 0;

        for (; i + 4 * RP_LANES <= n; i += 4 * RP_LANES)
            for (size_t l = first; l < end; l++)
                FN(join_four)(lane[l], other[l], s, term, begin + i + l, width);
        for (; i < n; i += RP_LANES)
            for (size_t l = first; l < end && i + l < n; l++)
                FN(join)(lane[l], other[l], s, term, begin + i + l, width);
    }
    FN(fold_rows)(sum, lane, used, width);
    if (term == FN(SLOPE))
        FN(fold_rows)(second, other, used, width);
}

/* Over all rows, at most a chunk of chunks: the chunk sums are rows of the next level. The squares go backwards where
 * each chunk has a lane of its own: what the sum before them read last is still in a cache. */
RP_INLINE void FN(sum_all)(T *sum, T *second, const FN(channel_rows) * s, FN(term) term, size_t width)
{
    const size_t chunks = (s->n + RP_CHUNK - 1) / RP_CHUNK, used = chunks < RP_LANES ? chunks : RP_LANES;
    T lane[RP_LANES][FN(BLOCK)], other[RP_LANES][FN(BLOCK)];

    if (chunks <= 1) {
        FN(sum_rows)(sum, second, s, term, 0, s->n, width);
        return;
    }
    for (size_t l = 0; l < used; l++)
        RP_EACH(j, width) lane[l][j] = other[l][j] = 0;
    for (size_t i = 0; i < chunks; i++) {
        const size_t k = term == FN(SQUARE) && chunks <= RP_LANES ? chunks - 1 - i : i;
        const size_t begin = k * RP_CHUNK, n = s->n - begin < RP_CHUNK ? s->n - begin : RP_CHUNK;

        FN(sum_rows)(sum, second, s, term, begin, n, width);
        RP_EACH(j, width) lane[k % RP_LANES][j] += sum[j];
        if (term == FN(SLOPE))
            RP_EACH(j, width) other[k % RP_LANES][j] += second[j];
    }
    FN(fold_rows)(sum, lane, used, width);
    if (term == FN(SLOPE))
        FN(fold_rows)(second, other, used, width);
}

/* The sums over all rows of at most BLOCK channels; second: of g, for SLOPE alone. */
static void FN(channel_sums)(T *sum, T *second, const FN(channel_rows) * s, FN(term) term, size_t width)
{
#define SUMS(what) \
    if (width == FN(NARROW)) \
        FN(sum_all)(sum, second, s, what, FN(NARROW)); \
    else \
        FN(sum_all)(sum, second, s, what, width)
    if (term == FN(ELEMENT))
        SUMS(FN(ELEMENT));
    else if (term == FN(SQUARE))
        SUMS(FN(SQUARE));
    else
        SUMS(FN(SLOPE));
#undef SUMS
}
