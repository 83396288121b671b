/* SPDX-License-Identifier: Apache-2.0
 * CONTRACT 4.7 for one type: each element is one chain of fma over the columns before it. */
static T *FN(element)(rp_matrix m, size_t i, size_t j)
{
    return (T *)m.at + (ptrdiff_t)i * m.row + (ptrdiff_t)j * m.col;
}

/* What is left of a[i, j] when the columns before j are taken out. */
static T FN(remainder)(rp_matrix a, rp_matrix l, size_t i, size_t j)
{
    T c = *FN(element)(a, i, j);

    for (size_t k = 0; k < j; k++)
        c = FN(rp_fma)(-*FN(element)(l, i, k), *FN(element)(l, j, k), c);
    return c;
}

/* An infinity where next to nothing is left of the diagonal: what is divided by it is zero. */
static T FN(pivot)(T left, T diagonal, T tolerance)
{
    if (left != left)
        return left;
    return left > tolerance * diagonal ? SQRT(left) : (T)__builtin_inf();
}

static void FN(cholesky)(const rp_kernel_args *args)
{
    const rp_matrix a = rp_matrix_of(&args->in[0]), l = rp_matrix_of(&args->out[0]);
    const T tolerance = (T)RP_AT(args->attr, cholesky, tolerance).r;
    const size_t n = args->out[0].shape[0];

    for (size_t j = 0; j < n; j++) {
        const T pivot = FN(pivot)(FN(remainder)(a, l, j, j), *FN(element)(a, j, j), tolerance);

        for (size_t i = 0; i < j; i++)
            *FN(element)(l, i, j) = 0;
        *FN(element)(l, j, j) = pivot;
        for (size_t i = j + 1; i < n; i++)
            *FN(element)(l, i, j) = FN(remainder)(a, l, i, j) / pivot;
    }
}

static void FN(solve)(const rp_kernel_args *args, size_t begin, size_t end)
{
    bool forward;
    const rp_matrix a = rp_triangle_of(args, &forward), b = rp_matrix_of(&args->in[1]);
    const rp_matrix x = rp_matrix_of(&args->out[0]);
    const size_t n = args->out[0].shape[0];

    for (size_t j = begin; j < end; j++)
        for (size_t s = 0; s < n; s++) {
            const size_t i = forward ? s : n - 1 - s;
            T c = *FN(element)(b, i, j);

            for (size_t t = 0; t < s; t++) {
                const size_t k = forward ? t : n - 1 - t;

                c = FN(rp_fma)(-*FN(element)(a, i, k), *FN(element)(x, k, j), c);
            }
            *FN(element)(x, i, j) = c / *FN(element)(a, i, i);
        }
}
