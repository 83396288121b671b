/* SPDX-License-Identifier: Apache-2.0
 * Sums over two axes with a kept one between them, for one type: of an image's pixels and of the channels of each
 * group, as norms over groups take them. An output's elements are short pieces, `each` elements of every row; the
 * pieces of neighbouring outputs lie side by side, so whole rows are added to lanes that are laid out as the rows are.
 * Needs reduce_type.inc.h's includes. */

/* lane[r * width + g * each + c] is lane r * each + c of output g. */
static void FN(groups_fold)(T *lane, size_t groups, size_t each, size_t rows)
{
    const size_t width = groups * each;

    for (size_t half = rows / 2 * width; half >= width; half /= 2)
        RP_EACH(i, half) lane[i] += lane[i + (ptrdiff_t)half];
    for (size_t half = each / 2; half > 0; half /= 2)
        for (size_t g = 0; g < groups; g++)
            for (size_t c = 0; c < half; c++)
                lane[g * each + c] += lane[g * each + c + half];
}

/* Adds rows [0, n) to the lanes, row p to the lanes p mod `rows`. */
static void FN(groups_push)(T *lane, const T *x, ptrdiff_t step, size_t n, size_t width, size_t rows)
{
    for (size_t p = 0; p < n; p += rows)
        for (size_t r = 0; r < rows && p + r < n; r++) {
            const T *row = x + (ptrdiff_t)(p + r) * step;
            T *to = lane + r * width;

            RP_EACH(i, width) to[i] += row[i];
        }
}

/* Whether the elements of neighbouring outputs lie as above. kept: a run of outputs, then of their first elements. */
static bool FN(groups_fit)(const rp_walk *kept, const rp_walk *inner, size_t strip)
{
    const size_t each = inner->rank == 2 ? inner->shape[1] : 0;

    return each > 1 && each <= RP_LANES / 2 && RP_LANES % each == 0 && inner->bytes[0][1] == (ptrdiff_t)sizeof(T) &&
           kept->step[1] == (ptrdiff_t)each && kept->run * each <= strip / sizeof(T) &&
           inner->left <= (size_t)RP_CHUNK * RP_CHUNK;
}

/* memory has the lanes twice. */
static void FN(reduce_groups)(const rp_walk *kept, const rp_walk *inner, T divisor, void *memory)
{
    const size_t groups = kept->run, each = inner->shape[1], width = groups * each, rows = RP_LANES / each;
    const size_t most = RP_CHUNK / each, n = inner->shape[0];
    const ptrdiff_t step = inner->bytes[0][0] / (ptrdiff_t)sizeof(T);
    T *lane = memory, *upper = lane + RP_LANES * groups, *y = kept->at[0], *total = n > most ? upper : lane;

    memset(upper, 0, RP_LANES * groups * sizeof(T));
    for (size_t p = 0, done, chunk = 0; p < n; p += done, chunk++) {
        done = n - p < most ? n - p : most;
        memset(lane, 0, RP_LANES * groups * sizeof(T));
        FN(groups_push)(lane, (const T *)kept->at[1] + (ptrdiff_t)p * step, step, done, width, rows);
        FN(groups_fold)(lane, groups, each, rows);
        for (size_t g = 0; g < groups; g++) {
            if (n > most)
                upper[chunk % RP_LANES * groups + g] += lane[g * each];
            else
                y[(ptrdiff_t)g * kept->step[0]] = lane[g * each] / divisor;
        }
    }
    if (total == lane)
        return;
    FN(groups_fold)(upper, groups, 1, RP_LANES);
    for (size_t g = 0; g < groups; g++)
        y[(ptrdiff_t)g * kept->step[0]] = upper[g] / divisor;
}
