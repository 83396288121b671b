/* SPDX-License-Identifier: Apache-2.0
 * Pieces of a normal fill and of dropout for one type. */
static void FN(normal)(void *out, const void *x, uint64_t first, size_t n, const draw *d)
{
    double z[PIECE];
    T *y = out;

    (void)x;
    normals(z, first, n, d);
    RP_EACH(i, n) y[i] = (T)(d->a + d->b * z[i]);
}

static void FN(dropout)(void *out, const void *in, uint64_t first, size_t n, const draw *d)
{
    _Alignas(64) uint32_t buffer[PIECE + 4 * PHILOX_WIDE + 4];
    const uint32_t *word = philox_words(&d->source, first, n, buffer), kept = d->kept;
    const T *x = in, scale = (T)d->a;
    T *y = out;

    for (size_t i = 0; i < n; i += 64 / sizeof(T)) /* of the next piece: Philox leaves memory idle long enough */
        __builtin_prefetch(x + n + i, 0, 2);
    RP_EACH(i, n)
    {
        const T scaled = x[i] * scale;

        y[i] = word[i] >> 8 >= kept ? scaled : (T)0;
    }
}
