/* SPDX-License-Identifier: Apache-2.0
 * Products of contiguous elements in the order of CONTRACT 4.1 for one type: whole rows of 64 lanes at a time. Needs
 * ref/products.inc.h for the levels above a chunk. */

/* n <= RP_CHUNK */
static T FN(product_chunk)(const T *x, size_t n)
{
    T lane[RP_LANES];
    size_t i = 0;

    for (size_t l = 0; l < RP_LANES; l++)
        lane[l] = 1;
    for (; i + RP_LANES <= n; i += RP_LANES)
        for (size_t l = 0; l < RP_LANES; l++)
            lane[l] *= x[i + l];
    for (size_t l = 0; i + l < n; l++)
        lane[l] *= x[i + l];
    for (size_t width = RP_LANES / 2; width > 0; width /= 2)
        for (size_t l = 0; l < width; l++)
            lane[l] *= lane[l + width];
    return lane[0];
}

static T FN(product_contiguous)(const T *x, size_t n)
{
    FN(products) products;

    if (n <= RP_CHUNK)
        return FN(product_chunk)(x, n);
    FN(products_begin)(&products);
    for (size_t i = 0; i < n; i += RP_CHUNK)
        FN(products_push)(&products, 1, FN(product_chunk)(x + i, n - i < RP_CHUNK ? n - i : RP_CHUNK));
    return FN(products_total)(&products);
}
