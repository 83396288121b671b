/* SPDX-License-Identifier: Apache-2.0
 * Rows of a resized axis for one type T; a part of resize.c. Sums have the order of kernels/ref/conv/resize_type.inc.h,
 * and blocks of them lie in registers. */
RP_INLINE void FN(weigh)(T *y, const T *x, ptrdiff_t row, const resize_taps *t, int taps, size_t n)
{
    const T *a = x + t->at[0] * row, *b = x + t->at[taps > 1] * row;
    const T *c = x + t->at[taps > 2 ? 2 : 0] * row, *d = x + t->at[taps > 2 ? 3 : 0] * row;
    const T u = (T)t->weight[0], v = (T)t->weight[1];
    const T w = taps > 2 ? (T)t->weight[2] : 0, z = taps > 2 ? (T)t->weight[3] : 0;

    if (taps == 2)
        RP_EACH(j, n) y[j] = a[j] * u + b[j] * v;
    else
        RP_EACH(j, n) y[j] = ((a[j] * u + b[j] * v) + c[j] * w) + d[j] * z;
}

static void FN(resize_row)(void *to, const void *from, ptrdiff_t row, const resize_taps *t, size_t n)
{
    const T *x = (const T *)from;

    if (t->n == 1)
        memcpy(to, x + t->at[0] * row, n * sizeof(T));
    else if (t->n == 2)
        FN(weigh)((T *)to, x, row, t, 2, n);
    else
        FN(weigh)((T *)to, x, row, t, 4, n);
}

RP_INLINE void FN(add_block)(T *y, const T *g, ptrdiff_t row, const share *s, size_t count, size_t n)
{
    T sum[BLOCK];

    RP_EACH(j, n) sum[j] = y[j];
    for (size_t e = 0; e < count; e++) {
        const T *from = g + s[e].at * row;
        const T weight = (T)s[e].weight;

        RP_EACH(j, n) sum[j] = sum[j] + from[j] * weight;
    }
    RP_EACH(j, n) y[j] = sum[j];
}

/* Adds shares of rows of g to a row of the gradient. A weight of 1 leaves what it multiplies. */
static void FN(add_shares)(void *to, const void *from, ptrdiff_t row, const share *s, size_t count, size_t n)
{
    T *y = (T *)to;
    const T *g = (const T *)from;
    size_t j = 0;

    for (; j + BLOCK <= n; j += BLOCK)
        FN(add_block)(y + j, g + j, row, s, count, BLOCK);
    if (j < n)
        FN(add_block)(y + j, g + j, row, s, count, n - j);
}
