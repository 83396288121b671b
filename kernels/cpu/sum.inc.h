/* SPDX-License-Identifier: Apache-2.0
 * CONTRACT 4 over contiguous data for one type: whole rows of 64 lanes at a time, so a compiler keeps the lanes in
 * vectors. Needs ref/lanes.inc.h for the levels above a chunk. */

/* The fold of the contract, in line. */
static inline T FN(fold)(T lane[RP_LANES])
{
    for (size_t l = 0; l < 32; l++)
        lane[l] += lane[l + 32];
    for (size_t l = 0; l < 16; l++)
        lane[l] += lane[l + 16];
    for (size_t l = 0; l < 8; l++)
        lane[l] += lane[l + 8];
    for (size_t l = 0; l < 4; l++)
        lane[l] += lane[l + 4];
    for (size_t l = 0; l < 2; l++)
        lane[l] += lane[l + 2];
    return lane[0] + lane[1];
}

/* The sum of N elements, HALF of them the greatest power of two below: lanes behind them are +0, and change nothing
 * that they are added to. Of numbers that the compiler knows they never leave the registers. */
#define SHORT_SUM(N, HALF) \
    case N: { \
        T lane[HALF]; \
\
        for (size_t l = 0; l < (HALF); l++) \
            lane[l] = (T)0 + x[l]; \
        for (size_t l = (HALF); l < (N); l++) \
            lane[l - (HALF)] += (T)0 + x[l]; \
        for (size_t half = (HALF) / 2; half > 0; half /= 2) \
            for (size_t l = 0; l < half; l++) \
                lane[l] += lane[l + half]; \
        return lane[0]; \
    }
/* n < 16 */
static inline T FN(sum_short)(const T *x, size_t n)
{
    switch (n) {
        SHORT_SUM(1, 1)
        SHORT_SUM(2, 1)
        SHORT_SUM(3, 2)
        SHORT_SUM(4, 2)
        SHORT_SUM(5, 4)
        SHORT_SUM(6, 4)
        SHORT_SUM(7, 4)
        SHORT_SUM(8, 4)
        SHORT_SUM(9, 8)
        SHORT_SUM(10, 8)
        SHORT_SUM(11, 8)
        SHORT_SUM(12, 8)
        SHORT_SUM(13, 8)
        SHORT_SUM(14, 8)
        SHORT_SUM(15, 8)
    }
    return 0; /* of none */
}
#undef SHORT_SUM

/* n <= RP_CHUNK */
static T FN(sum_chunk)(const T *x, size_t n)
{
    T lane[RP_LANES] = {0};
    size_t i = 0;

    if (n < 16)
        return FN(sum_short)(x, n);
    for (; i + RP_LANES <= n; i += RP_LANES)
        for (size_t l = 0; l < RP_LANES; l++)
            lane[l] += x[i + l];
    if (i == n) /* nothing asks for a lane by a number: they are still in registers */
        return FN(fold)(lane);
    for (size_t l = 0; i + l < n; l++)
        lane[l] += x[i + l];
    return FN(fold)(lane);
}

RP_APART T FN(sum_of_chunks)(const T *x, size_t n)
{
    FN(lanes) lanes;

    FN(lanes_begin)(&lanes);
    for (size_t i = 0; i < n; i += RP_CHUNK)
        FN(lanes_push)(&lanes, 1, FN(sum_chunk)(x + i, n - i < RP_CHUNK ? n - i : RP_CHUNK));
    return FN(lanes_total)(&lanes);
}

static T FN(sum_contiguous)(const T *x, size_t n)
{
    return n <= RP_CHUNK ? FN(sum_chunk)(x, n) : FN(sum_of_chunks)(x, n);
}

/* A sum of terms made of rows x, y, z with constants c, d, of at most RP_CHUNK elements. All have these parameters,
 * whether their terms use them or not. */
typedef T FN(chunk)(const T *x, const T *y, const T *z, size_t n, T c, T d);

RP_APART T FN(sum_of_more)(FN(chunk) * chunk, const T *x, const T *y, const T *z, size_t n, T c, T d)
{
    FN(lanes) lanes;

    FN(lanes_begin)(&lanes);
    for (size_t i = 0; i < n; i += RP_CHUNK)
        FN(lanes_push)(&lanes, 1, chunk(x + i, y + i, z + i, n - i < RP_CHUNK ? n - i : RP_CHUNK, c, d));
    return FN(lanes_total)(&lanes);
}

static inline T FN(sum_chunks)(FN(chunk) * chunk, const T *x, const T *y, const T *z, size_t n, T c, T d)
{
    return n <= RP_CHUNK ? chunk(x, y, z, n, c, d) : FN(sum_of_more)(chunk, x, y, z, n, c, d);
}

/* of (x - c)^2 */
static T FN(square_sum_chunk)(const T *x, const T *y, const T *z, size_t n, T c, T d)
{
    T lane[RP_LANES] = {0};
    size_t i = 0;

    (void)y, (void)z, (void)d;
    for (; i + RP_LANES <= n; i += RP_LANES)
        for (size_t l = 0; l < RP_LANES; l++)
            lane[l] += (x[i + l] - c) * (x[i + l] - c);
    if (i == n)
        return FN(fold)(lane);
    for (size_t l = 0; i + l < n; l++)
        lane[l] += (x[i + l] - c) * (x[i + l] - c);
    return FN(fold)(lane);
}

static T FN(square_sum)(const T *x, size_t n, T c)
{
    return FN(sum_chunks)(FN(square_sum_chunk), x, x, x, n, c, 0);
}
