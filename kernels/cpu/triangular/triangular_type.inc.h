/* SPDX-License-Identifier: Apache-2.0
 * CONTRACT 4.7 for one type. An element's chain is in ascending order of columns, and so is the order here: column k of
 * L is taken from all elements behind it before column k + 1 is. The remainders stand in L's own memory until their
 * turn; PANEL columns go together, so that a row is brought to the processor once for all of them. */

/* Rows below are remainders; the upper triangle becomes zero. */
static void FN(copy_lower)(const rp_view *from, T *l, ptrdiff_t row, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const T *a = (const T *)from->data + (ptrdiff_t)i * from->stride[0];

        for (size_t j = 0; j < n; j++)
            l[(ptrdiff_t)i * row + (ptrdiff_t)j] = j <= i ? a[(ptrdiff_t)j * from->stride[1]] : 0;
    }
}

/* Rows i of the panel's columns [first, last), whose earlier columns are taken out already. */
static void FN(factor_panel)(T *l, ptrdiff_t row, const T *diagonal, ptrdiff_t step, size_t first, size_t last,
                             size_t n, T tolerance)
{
    for (size_t j = first; j < last; j++) {
        T *const pivot = &l[(ptrdiff_t)j * row + (ptrdiff_t)j];
        const T left = *pivot;

        if (left == left)
            *pivot = left > tolerance * diagonal[(ptrdiff_t)j * step] ? SQRT(left) : (T)__builtin_inf();
        for (size_t i = j + 1; i < n; i++) {
            T *const line = &l[(ptrdiff_t)i * row], below = line[j] / *pivot;

            line[j] = below;
            for (size_t k = j + 1; k < last && k <= i; k++)
                line[k] = FN(rp_fma)(-below, l[(ptrdiff_t)k * row + (ptrdiff_t)j], line[k]);
        }
    }
}

/* Takes the panel's columns out of what is behind them: line[c] -= sum of line[k] * L[c, k], k ascending. across holds
 * the panel's columns as rows, for a strip of columns c. */
static void FN(take_out)(T *l, ptrdiff_t row, size_t first, size_t last, size_t n)
{
    T across[PANEL][STRIP];

    for (size_t strip = last; strip < n; strip += STRIP) {
        const size_t stop = n - strip < STRIP ? n : strip + STRIP;

        for (size_t c = strip; c < stop; c++)
            for (size_t k = first; k < last; k++)
                across[k - first][c - strip] = l[(ptrdiff_t)c * row + (ptrdiff_t)k];
        for (size_t i = strip; i < n; i++) {
            T *const line = &l[(ptrdiff_t)i * row];
            const size_t width = (i < stop ? i + 1 : stop) - strip;

            for (size_t k = first; k < last; k++) {
                const T factor = -line[k], *const column = across[k - first];
                T *const to = line + strip;

                RP_EACH(c, width) to[c] = FN(rp_fma)(factor, column[c], to[c]);
            }
        }
    }
}

static void FN(cholesky)(const rp_kernel_args *args)
{
    const rp_view *a = &args->in[0], *out = &args->out[0];
    const T tolerance = (T)RP_AT(args->attr, cholesky, tolerance).r;
    const size_t n = out->shape[0];
    T *const l = out->data;

    FN(copy_lower)(a, l, out->stride[0], n);
    for (size_t first = 0; first < n; first += PANEL) {
        const size_t last = n - first < PANEL ? n : first + PANEL;

        FN(factor_panel)(l, out->stride[0], a->data, a->stride[0] + a->stride[1], first, last, n, tolerance);
        FN(take_out)(l, out->stride[0], first, last, n);
    }
}

/* `width` columns from `column` on. */
static void FN(solve_strip)(const rp_kernel_args *args, size_t column, size_t width)
{
    bool forward;
    const rp_matrix a = rp_triangle_of(args, &forward), b = rp_matrix_of(&args->in[1]);
    const rp_view *x = &args->out[0];
    const size_t n = x->shape[0];
    T *const out = (T *)x->data + column;

    for (size_t s = 0; s < n; s++) {
        const size_t i = forward ? s : n - 1 - s;
        const T *const line = (const T *)a.at + (ptrdiff_t)i * a.row;
        const T *const from = (const T *)b.at + (ptrdiff_t)i * b.row + (ptrdiff_t)column * b.col;
        T *const to = out + (ptrdiff_t)i * x->stride[0], pivot = line[(ptrdiff_t)i * a.col];

        for (size_t c = 0; c < width; c++)
            to[c] = from[(ptrdiff_t)c * b.col];
        for (size_t t = 0; t < s; t++) {
            const size_t k = forward ? t : n - 1 - t;
            const T factor = -line[(ptrdiff_t)k * a.col], *const known = out + (ptrdiff_t)k * x->stride[0];

            RP_EACH(c, width) to[c] = FN(rp_fma)(factor, known[c], to[c]);
        }
        RP_EACH(c, width) to[c] = to[c] / pivot;
    }
}

static void FN(solve)(const rp_kernel_args *args, size_t begin, size_t end)
{
    for (size_t column = begin; column < end; column += STRIP)
        FN(solve_strip)(args, column, end - column < STRIP ? end - column : STRIP);
}
