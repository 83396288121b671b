/* SPDX-License-Identifier: Apache-2.0
 * Moving elements of one type. */
static inline T FN(same)(T x)
{
    return x;
}

RP_MAP1(same, T)

static void FN(set)(const rp_walk *walk, T value)
{
    T *y = (T *)walk->at[0];

    RP_EACH(i, walk->run) y[i * walk->step[0]] = value;
}
