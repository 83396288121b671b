/* SPDX-License-Identifier: Apache-2.0
 * The Fourier transform of a line, for one type. Stages are made in place, so that what the clause has at (p, q) of
 * [m, s] lies at p and the bits of q in reverse: its sums are the same, and the results are put in order at an end.
 * Parameters: T and FN(name) of kernels/type_*.h. */

/* cos and -sin, for the inverse sin, of 2 pi p / 2m. */
static void FN(turn_by)(T *c, T *d, size_t p, size_t m, bool inverse)
{
    const double angle = (double)p * (6.2831853071795862 / (2 * (double)m));

    *c = (T)rp_cos_f64(angle);
    *d = inverse ? (T)rp_sin_f64(angle) : (T)-rp_sin_f64(angle);
}

/* p + q and the turned p - q. */
static void FN(part)(T *u, T *v, ptrdiff_t u_far, ptrdiff_t v_far, T c, T d)
{
    const T less_re = *u - u[u_far], less_im = *v - v[v_far];

    *u = *u + u[u_far];
    *v = *v + v[v_far];
    u[u_far] = less_re * c - less_im * d;
    v[v_far] = less_re * d + less_im * c;
}

/* The same the other way: of sum and difference, what reaches p and q. */
static void FN(join)(T *u, T *v, ptrdiff_t u_far, ptrdiff_t v_far, T c, T d)
{
    const T re = u[u_far] * c + v[v_far] * d, im = v[v_far] * c - u[u_far] * d;

    u[u_far] = *u - re;
    v[v_far] = *v - im;
    *u = *u + re;
    *v = *v + im;
}

static void FN(stage)(const fourier_line *l, size_t m)
{
    T *const u = (T *)l->u, *const v = (T *)l->v;

    for (size_t p = 0; p < m; p++) {
        T c, d;

        FN(turn_by)(&c, &d, p, m, l->inverse);
        for (size_t i = p; i < l->n; i += 2 * m) {
            const ptrdiff_t at = (ptrdiff_t)i, far = (ptrdiff_t)m;

            (l->transposed ? FN(join) : FN(part))(u + at * l->u_step, v + at * l->v_step, far * l->u_step,
                                                  far * l->v_step, c, d);
        }
    }
}

/* Exchanges each place with the one of its bits in reverse. */
static void FN(sort_places)(T *x, ptrdiff_t step, size_t n)
{
    for (size_t i = 0, j = 0; i < n; i++) {
        if (i < j) {
            const T kept = x[(ptrdiff_t)i * step];

            x[(ptrdiff_t)i * step] = x[(ptrdiff_t)j * step];
            x[(ptrdiff_t)j * step] = kept;
        }
        for (size_t bit = n / 2; bit > 0 && ((j ^= bit) & bit) == 0; bit /= 2)
            ; /* the next j is i + 1 with its bits in reverse: the carry goes down */
    }
}

static void FN(fourier)(const fourier_line *l)
{
    T *const u = (T *)l->u, *const v = (T *)l->v;
    const T *const x = (const T *)l->x, *const y = (const T *)l->y;
    const T share = (T)(1 / (double)l->n);
    const bool before = l->inverse && l->transposed, after = l->inverse && !l->transposed;

    for (ptrdiff_t i = 0; i < (ptrdiff_t)l->n; i++) {
        u[i * l->u_step] = before ? x[i * l->x_step] * share : x[i * l->x_step];
        v[i * l->v_step] = before ? y[i * l->y_step] * share : y[i * l->y_step];
    }
    if (l->transposed) {
        FN(sort_places)(u, l->u_step, l->n);
        FN(sort_places)(v, l->v_step, l->n);
        for (size_t m = 1; m < l->n; m *= 2)
            FN(stage)(l, m);
        for (ptrdiff_t i = 0; i < (ptrdiff_t)l->n && l->n > 1; i++) {
            u[i * l->u_step] += 0;
            v[i * l->v_step] += 0;
        }
        return;
    }
    for (size_t m = l->n / 2; m > 0; m /= 2)
        FN(stage)(l, m);
    FN(sort_places)(u, l->u_step, l->n);
    FN(sort_places)(v, l->v_step, l->n);
    for (ptrdiff_t i = 0; i < (ptrdiff_t)l->n && after; i++) {
        u[i * l->u_step] *= share;
        v[i * l->v_step] *= share;
    }
}
