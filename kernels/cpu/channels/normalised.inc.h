/* SPDX-License-Identifier: Apache-2.0
 * What norms over positions make of each of them, for one type: ((x - mean) r) gamma + beta, with what belongs to some
 * neighbouring channels in registers along a band of rows. Needs kernels/cpu/vec.h and kernels/level.h; gives
 * FN(normalised). */

/* What rows of `n` channels meet, and how far apart they are. */
typedef struct FN(scaling) {
    const T *mean, *r, *gamma, *beta;
    ptrdiff_t y_step, x_step;
    size_t n;
} FN(scaling);

#ifdef VEC_BYTES

/* Rows at a time, which stay in a cache near by from some channels to the next; vectors in registers, of the four. */
enum { FN(BAND) = 32, FN(ABREAST) = VEC_BYTES == 64 ? 4 : 2 };

RP_INLINE void FN(normalised_some)(const FN(scaling) * s, T *y, const T *x, size_t j, size_t vecs, size_t count)
{
    const size_t wide = VEC_BYTES / sizeof(T);
    FN(vec) mean[FN(ABREAST)], r[FN(ABREAST)], gamma[FN(ABREAST)], beta[FN(ABREAST)];

    RP_UNROLL
    for (size_t v = 0; v < vecs; v++) {
        mean[v] = FN(vec_load)(s->mean + j + v * wide);
        r[v] = FN(vec_load)(s->r + j + v * wide);
        gamma[v] = FN(vec_load)(s->gamma + j + v * wide);
        beta[v] = FN(vec_load)(s->beta + j + v * wide);
    }
    y += j, x += j;
    for (size_t i = 0; i < count; i++, y += s->y_step, x += s->x_step) {
        RP_UNROLL
        for (size_t v = 0; v < vecs; v++) {
            const FN(vec) value = FN(vec_load)(x + v * wide);

            FN(vec_store)(y + v * wide, ((value - mean[v]) * r[v]) * gamma[v] + beta[v]);
        }
    }
}

#endif

static void FN(normalised_rows)(const FN(scaling) * s, T *y, const T *x, size_t count)
{
    size_t j = 0;

#ifdef VEC_BYTES
    const size_t wide = VEC_BYTES / sizeof(T);

    for (; FN(ABREAST) > 2 && j + FN(ABREAST) * wide <= s->n; j += FN(ABREAST) * wide)
        FN(normalised_some)(s, y, x, j, FN(ABREAST), count);
    for (; j + 2 * wide <= s->n; j += 2 * wide)
        FN(normalised_some)(s, y, x, j, 2, count);
    for (; j + wide <= s->n; j += wide)
        FN(normalised_some)(s, y, x, j, 1, count);
    if (j == s->n)
        return;
#endif
    for (size_t i = 0; i < count; i++, y += s->y_step, x += s->x_step) {
        RP_EACH(k, s->n - j)
        {
            const size_t c = j + (size_t)k;

            y[c] = ((x[c] - s->mean[c]) * s->r[c]) * s->gamma[c] + s->beta[c];
        }
    }
}

static void FN(normalised)(const FN(scaling) * s, T *y, const T *x, size_t count)
{
#ifdef VEC_BYTES
    for (; count > FN(BAND); count -= FN(BAND), y += FN(BAND) * s->y_step, x += FN(BAND) * s->x_step)
        FN(normalised_rows)(s, y, x, FN(BAND));
#endif
    FN(normalised_rows)(s, y, x, count);
}
