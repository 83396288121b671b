/* SPDX-License-Identifier: Apache-2.0
 * The sum of exponentials of contiguous reals for one type, by CONTRACT 4. Needs sum.inc.h and functions/fast_rows.h.
 */
/* of exp(x - m) */
static T FN(exp_sum_chunk)(const T *x, const T *y, const T *z, size_t n, T m, T d)
{
    T lane[RP_LANES] = {0}, e[EXP_PIECE];

    (void)y, (void)z, (void)d;
    for (size_t at = 0, count; at < n; at += count) {
        size_t i = 0;

        count = n - at < EXP_PIECE ? n - at : EXP_PIECE;
        FN(exp_piece)(e, x + at, m, count);
        for (; i + RP_LANES <= count; i += RP_LANES)
            for (size_t l = 0; l < RP_LANES; l++)
                lane[l] += e[i + l];
        for (size_t l = 0; i < count; l++, i++)
            lane[l] += e[i];
    }
    return FN(fold)(lane);
}

static T FN(exp_sum)(const T *x, size_t n, T m)
{
    return FN(sum_chunks)(FN(exp_sum_chunk), x, x, x, n, m, 0);
}
