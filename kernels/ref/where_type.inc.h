/* SPDX-License-Identifier: Apache-2.0
 * Selection for one type: bits are carried, so elements of one size may be one type. */
static void FN(where_map)(const rp_walk *walk)
{
    T *y = (T *)walk->at[0];
    const uint8_t *c = (const uint8_t *)walk->at[1];
    const T *a = (const T *)walk->at[2], *b = (const T *)walk->at[3];
    const ptrdiff_t *s = walk->step;

#ifdef RP_WHERE_SCALARS /* what the level brings for them */
    RP_WHERE_SCALARS(y, c, a, b)
#endif
    if (s[0] == 1 && s[1] == 1 && s[2] == 1 && s[3] == 1)
        RP_EACH(i, walk->run) y[i] = c[i] ? a[i] : b[i];
    else
        RP_EACH(i, walk->run) y[i * s[0]] = c[i * s[1]] ? a[i * s[2]] : b[i * s[3]];
}
