/* SPDX-License-Identifier: Apache-2.0
 * Random fills and dropout for one type. Element i is its row-major position, whatever the strides. */
static void FN(uniform_map)(const rp_walk *walk, const draw *d)
{
    T *y = (T *)walk->at[0];

    for (size_t i = 0; i < walk->run; i++)
        y[(ptrdiff_t)i * walk->step[0]] = (T)(d->a + (d->b - d->a) * (double)FN(unit)(d, walk->first + i));
}

static void FN(normal_map)(const rp_walk *walk, const draw *d)
{
    T *y = (T *)walk->at[0];

    for (size_t i = 0; i < walk->run; i++) {
        const double z = rp_normal_f64(rp_random_block(d->seed, d->step, d->stream, walk->first + i));

        y[(ptrdiff_t)i * walk->step[0]] = (T)(d->a + d->b * z);
    }
}

/* Kept elements are scaled by 1 / (1 - rate), formed in binary64 and rounded to T; dropped ones are +0, NaN or not. */
static void FN(dropout_map)(const rp_walk *walk, const draw *d)
{
    T *y = (T *)walk->at[0];
    const T *x = (const T *)walk->at[1];
    const T scale = (T)(1.0 / (1.0 - d->a));

    for (size_t i = 0; i < walk->run; i++) {
        const double u = (double)unit_f32(d, walk->first + i);

        y[(ptrdiff_t)i * walk->step[0]] = u >= d->a ? x[(ptrdiff_t)i * walk->step[1]] * scale : (T)0;
    }
}
