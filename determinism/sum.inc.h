/* SPDX-License-Identifier: Apache-2.0
 * The summation of CONTRACT 4 for one type. The includer defines REAL, FOLD_INLINE (of
 * determinism/fold.inc.h), FOLD (public), SUM (public), LEAF and NODE. */

REAL FOLD(REAL lane[RP_LANES])
{
    return FOLD_INLINE(lane);
}

/* One chunk: n <= RP_CHUNK elements. Whole rows of lanes first, so that a compiler keeps the lanes in vectors. */
static REAL LEAF(const REAL *x, size_t n, ptrdiff_t stride)
{
    REAL lane[RP_LANES] = {0};
    size_t i = 0;

    if (stride == 1)
        for (; i + RP_LANES <= n; i += RP_LANES)
            for (size_t l = 0; l < RP_LANES; l++)
                lane[l] += x[i + l];
    for (; i < n; i++)
        lane[i % RP_LANES] += x[(ptrdiff_t)i * stride];
    return FOLD(lane);
}

/* A node adds at most RP_CHUNK parts of span elements each (the last may be shorter): element j of its own sum is part
 * j. Cutting from the top gives the parts that summing chunk sums from the bottom gives, and needs no memory. */
static REAL NODE(const REAL *x, size_t n, ptrdiff_t stride, size_t span)
{
    REAL lane[RP_LANES] = {0};

    if (span == 1)
        return LEAF(x, n, stride);
    for (size_t part = 0; part * span < n; part++) {
        size_t left = n - part * span;

        lane[part % RP_LANES] +=
            NODE(x + (ptrdiff_t)(part * span) * stride, left < span ? left : span, stride, span / RP_CHUNK);
    }
    return FOLD(lane);
}

REAL SUM(const REAL *x, size_t n, ptrdiff_t stride)
{
    size_t span = 1;

    if (n == 0)
        return 0;
    while ((n - 1) / RP_CHUNK >= span)
        span *= RP_CHUNK;
    return NODE(x, n, stride, span);
}
