/* SPDX-License-Identifier: Apache-2.0
 * An element of an axis resized, and of its gradient, for one type T; a part of resize.c. x and y: the first elements
 * of the lines, step: elements from one to the next along them. */
static void FN(resize_one)(void *to, const void *from, ptrdiff_t step, const resizing *r, int64_t o)
{
    const resize_taps t = resize_taps_of(r, o);
    const T *x = (const T *)from;
    T y = x[(ptrdiff_t)t.at[0] * step];

    if (r->mode != 0) {
        y = y * (T)t.weight[0];
        for (int k = 1; k < t.n; k++)
            y = y + x[(ptrdiff_t)t.at[k] * step] * (T)t.weight[k];
    }
    *(T *)to = y;
}

static void FN(resize_grad_one)(void *to, const void *from, ptrdiff_t step, const resizing *r, int64_t i)
{
    const T *g = (const T *)from;
    T sum = 0;
    int64_t begin, end;

    resize_reached(r, i, &begin, &end);
    for (int64_t o = begin; o < end; o++) {
        const resize_taps t = resize_taps_of(r, o);

        for (int k = 0; k < t.n; k++)
            if (t.at[k] == i)
                sum = sum + (r->mode == 0 ? g[(ptrdiff_t)o * step] : g[(ptrdiff_t)o * step] * (T)t.weight[k]);
    }
    *(T *)to = sum;
}
