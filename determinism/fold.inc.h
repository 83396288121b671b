/* SPDX-License-Identifier: Apache-2.0
 * The fold by halves of CONTRACT 4.1 for one type. The includer defines REAL and FOLD_INLINE. */
static inline REAL FOLD_INLINE(REAL lane[RP_LANES])
{
    for (int width = RP_LANES / 2; width > 0; width /= 2)
        for (int l = 0; l < width; l++)
            lane[l] += lane[l + width];
    return lane[0];
}
