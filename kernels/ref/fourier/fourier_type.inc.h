/* SPDX-License-Identifier: Apache-2.0
 * The Fourier transform of a line, for one type. Stages are made in place: elements come to where their group of each
 * stage is r places, s apart, and where results end in order. What the clause has at (p, h, q) of [m, r, s] lies at
 * (q + s h + s r p'), p' being p with its digits, in the radices of the stages to come, in reverse; what it has there
 * when stages go the other way at (p + m h + m r q'), q' being q with its digits in reverse.
 * Parameters: T and FN(name) of kernels/type_*.h. */

/* Turn k of n: cos and -sin, for the inverse sin, of 2 pi k / n. */
static void FN(turn_by)(T *c, T *d, size_t k, size_t n, bool inverse)
{
    const bool mirrored = k > n / 2;
    const double angle = (double)(mirrored ? n - k : k) * (6.2831853071795862 / (double)n);

    *c = (T)rp_cos_f64(angle);
    *d = inverse != mirrored ? (T)rp_sin_f64(angle) : (T)-rp_sin_f64(angle);
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

#if !defined(FOURIER_OF_TWOS)
/* What a stage of an odd prime needs: turns k n / r, never of the inverse, and turns p h s of one p. */
typedef struct FN(odd) {
    size_t r;
    bool back, transposed;
    T c[RP_FOURIER_PRIME], d[RP_FOURIER_PRIME], of_p[RP_FOURIER_PRIME], of_p_im[RP_FOURIER_PRIME];
} FN(odd);

/* A group of r elements. */
static void FN(part_odd)(T *u, T *v, ptrdiff_t u_far, ptrdiff_t v_far, const FN(odd) * o)
{
    const ptrdiff_t r = (ptrdiff_t)o->r, half = r / 2;
    T re[RP_FOURIER_PRIME], im[RP_FOURIER_PRIME];

    for (ptrdiff_t h = 1; h < r && o->transposed; h++) {
        const T e = u[h * u_far] * o->of_p[h] + v[h * v_far] * o->of_p_im[h];

        v[h * v_far] = v[h * v_far] * o->of_p[h] - u[h * u_far] * o->of_p_im[h];
        u[h * u_far] = e;
    }
    re[0] = *u;
    im[0] = *v;
    for (ptrdiff_t j = 1; j <= half; j++) {
        re[0] += u[j * u_far] + u[(r - j) * u_far];
        im[0] += v[j * v_far] + v[(r - j) * v_far];
    }
    for (ptrdiff_t h = 1; h <= half; h++) {
        T a = *u, b = *v, p = 0, q = 0;

        for (ptrdiff_t j = 1; j <= half; j++) {
            const T c = o->c[h * j % r], d = o->d[h * j % r];
            const T by_re = d * (u[j * u_far] - u[(r - j) * u_far]), by_im = d * (v[j * v_far] - v[(r - j) * v_far]);

            a = a + c * (u[j * u_far] + u[(r - j) * u_far]);
            b = b + c * (v[j * v_far] + v[(r - j) * v_far]);
            p = j == 1 ? by_re : p + by_re;
            q = j == 1 ? by_im : q + by_im;
        }
        re[o->back ? r - h : h] = a - q;
        im[o->back ? r - h : h] = b + p;
        re[o->back ? h : r - h] = a + q;
        im[o->back ? h : r - h] = b - p;
    }
    *u = re[0];
    *v = im[0];
    for (ptrdiff_t h = 1; h < r; h++) {
        u[h * u_far] = o->transposed ? re[h] : re[h] * o->of_p[h] - im[h] * o->of_p_im[h];
        v[h * v_far] = o->transposed ? im[h] : re[h] * o->of_p_im[h] + im[h] * o->of_p[h];
    }
}
#endif

/* Number i, its digits in the radices of f from number `first` on in reverse; back: of i that is such a number, i. */
static size_t FN(reversed)(size_t i, const rp_fourier_factors *f, int first, bool back)
{
    size_t found = 0, below = 1, left = 1;

    for (int k = first; k < f->count; k++)
        left *= f->radix[k];
    for (int k = first; k < f->count; k++) {
        left /= f->radix[k];
        found += back ? i / below % f->radix[k] * left : i / left % f->radix[k] * below;
        below *= f->radix[k];
    }
    return found;
}

/* Stage k, with s transforms between each other. */
static void FN(stage)(const fourier_line *l, const rp_fourier_factors *f, int k, size_t s)
{
    const size_t r = f->radix[k], m = l->n / r / s;
    const ptrdiff_t far = (ptrdiff_t)(l->transposed ? m : s);
    T *const u = (T *)l->u, *const v = (T *)l->v;
#if !defined(FOURIER_OF_TWOS)
    FN(odd) o = {.r = r, .back = l->inverse != l->transposed, .transposed = l->transposed};

    for (size_t h = 0; h < r && r > 2; h++)
        FN(turn_by)(&o.c[h], &o.d[h], h * (l->n / r), l->n, false);
#endif
    for (size_t i = 0; i < m; i++) {
        const size_t p = l->transposed ? i : FN(reversed)(i, f, k + 1, true);
        T c, d;

        FN(turn_by)(&c, &d, p * s, l->n, l->inverse);
#if !defined(FOURIER_OF_TWOS)
        for (size_t h = 1; h < r && r > 2; h++)
            FN(turn_by)(&o.of_p[h], &o.of_p_im[h], p * h * s, l->n, l->inverse);
#endif
        for (size_t j = 0; j < s; j++) {
            const ptrdiff_t at = (ptrdiff_t)(l->transposed ? i + j * m * r : j + i * s * r);
            T *const x = u + at * l->u_step, *const y = v + at * l->v_step;

#if !defined(FOURIER_OF_TWOS)
            if (r > 2)
                FN(part_odd)(x, y, far * l->u_step, far * l->v_step, &o);
            else
#endif
                if (l->transposed)
                FN(join)(x, y, far * l->u_step, far * l->v_step, c, d);
            else
                FN(part)(x, y, far * l->u_step, far * l->v_step, c, d);
        }
    }
}

static void FN(fourier)(const fourier_line *l)
{
    T *const u = (T *)l->u, *const v = (T *)l->v;
    const T *const x = (const T *)l->x, *const y = (const T *)l->y;
    const T share = (T)(1 / (double)l->n);
    const bool before = l->inverse && l->transposed, after = l->inverse && !l->transposed;
    rp_fourier_factors f;
    size_t s = l->transposed ? l->n : 1;

    (void)rp_fourier_factor(&f, l->n);
    for (ptrdiff_t i = 0; i < (ptrdiff_t)l->n; i++) {
        const ptrdiff_t at = (ptrdiff_t)FN(reversed)((size_t)i, &f, 0, l->transposed);

        u[at * l->u_step] = before ? x[i * l->x_step] * share : x[i * l->x_step];
        v[at * l->v_step] = before ? y[i * l->y_step] * share : y[i * l->y_step];
    }
    for (int k = 0; k < f.count && !l->transposed; s *= f.radix[k], k++)
        FN(stage)(l, &f, k, s);
    for (int k = f.count - 1; k >= 0 && l->transposed; k--) {
        s /= f.radix[k];
        FN(stage)(l, &f, k, s);
    }
    for (ptrdiff_t i = 0; i < (ptrdiff_t)l->n && l->n > 1 && (l->transposed || after); i++) {
        u[i * l->u_step] = after ? u[i * l->u_step] * share : u[i * l->u_step] + 0;
        v[i * l->v_step] = after ? v[i * l->v_step] * share : v[i * l->v_step] + 0;
    }
}
