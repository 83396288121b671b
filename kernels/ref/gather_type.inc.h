/* SPDX-License-Identifier: Apache-2.0
 * Adding and marking for one type. */
static void FN(accumulate)(const rp_walk *walk)
{
    T *y = walk->at[0];
    const T *x = walk->at[1];

    RP_EACH(i, walk->run)
    y[i * walk->step[0]] = (T)((WIDE)y[i * walk->step[0]] + (WIDE)x[i * walk->step[1]]);
}

static void FN(mark)(T *row, ptrdiff_t stride, size_t depth, int64_t label)
{
    for (size_t i = 0; i < depth; i++)
        row[(ptrdiff_t)i * stride] = (T)((int64_t)i == label);
}
