/* SPDX-License-Identifier: Apache-2.0
 * The discrete Fourier transform of lengths that are powers of two, in a written order: stages of sums and differences
 * whose results come out in place of their frequency (Stockham's form of the fast transform), so nothing is sorted. */
#include "core/program/composed/composed.h"
#include "rp/composite.h"

static const double two_pi = 6.2831853071795862;

typedef struct complex_pair {
    rp_tensor re, im;
} complex_pair;

/* Half `half` of [lines, 2, m, s] as [lines, m, s]. */
static rp_tensor half_of(rp_tensor x, size_t half, const size_t *shape)
{
    const size_t begin[4] = {0, half, 0, 0}, end[4] = {shape[0], half + 1, shape[2], shape[3]};

    return rp_reshape(rp_slice(x, begin, end), 3, (size_t[]){shape[0], shape[2], shape[3]});
}

/* cos and sin of 2 pi p / (2 m), p = 0 .. m - 1, of binary64, as [m, 1] of the type. */
static complex_pair turns(rp_graph *g, rp_dtype dtype, size_t m, bool inverse)
{
    rp_tensor angle = rp_scale(rp_iota(g, RP_F64, m), two_pi / (2 * (double)m));
    complex_pair w;

    w.re = rp_reshape(rp_cast(rp_cos(angle), dtype), 2, (size_t[]){m, 1});
    w.im = rp_sin(angle);
    w.im = rp_reshape(rp_cast(inverse ? w.im : rp_neg(w.im), dtype), 2, (size_t[]){m, 1});
    return w;
}

/* [lines, m, s] twice to [lines, m, 2, s], as [lines, 2 m s]. */
static rp_tensor woven(rp_tensor sum, rp_tensor difference, const size_t *shape)
{
    rp_tensor parts[2];

    parts[0] = rp_reshape(sum, 4, (size_t[]){shape[0], shape[2], 1, shape[3]});
    parts[1] = rp_reshape(difference, 4, (size_t[]){shape[0], shape[2], 1, shape[3]});
    return rp_reshape(rp_concat(parts, 2, 2), 2, (size_t[]){shape[0], 2 * shape[2] * shape[3]});
}

/* Transforms of length 2 m, of which s lie side by side. */
static complex_pair stage(complex_pair x, size_t lines, size_t m, size_t s, bool inverse)
{
    const size_t shape[4] = {lines, 2, m, s};
    const complex_pair w = turns(x.re.graph, composed_dtype(x.re), m, inverse);
    rp_tensor re = rp_reshape(x.re, 4, shape), im = rp_reshape(x.im, 4, shape), sum, other;
    rp_tensor a = half_of(re, 0, shape), b = half_of(re, 1, shape), c = half_of(im, 0, shape),
              d = half_of(im, 1, shape);
    complex_pair less = {rp_sub(a, b), rp_no_tensor()}, turned;

    less.im = rp_sub(c, d);
    sum = rp_mul(less.re, w.re);
    other = rp_mul(less.im, w.im);
    turned.re = rp_sub(sum, other);
    sum = rp_mul(less.re, w.im);
    other = rp_mul(less.im, w.re);
    turned.im = rp_add(sum, other);
    x.re = woven(rp_add(a, b), turned.re, shape);
    x.im = woven(rp_add(c, d), turned.im, shape);
    return x;
}

static bool fits(rp_tensor re, rp_tensor im)
{
    const rp_type *type = rp_tensor_ok(re) ? rp_tensor_type(re) : NULL;
    const size_t n = type && type->rank > 0 ? type->shape[type->rank - 1] : 0;
    char found[2][192] = {"", "nothing"};

    if (!type || (im.graph && !rp_tensor_ok(im)))
        return false;
    if (composed_is_real(re) && n > 0 && (n & (n - 1)) == 0 &&
        (!im.graph || (im.graph == re.graph && rp_type_equal(type, rp_tensor_type(im)))))
        return true;
    rp_type_text(type, found[0], sizeof found[0]);
    if (im.graph)
        rp_type_text(rp_tensor_type(im), found[1], sizeof found[1]);
    rp_graph_fail(
        re.graph, RP_ESHAPE,
        "fft: found %s and %s, expected f32 or f64, both of one type, and a last axis whose length is a power "
        "of two",
        found[0], found[1]);
    return false;
}

void rp_fft(rp_tensor re, rp_tensor im, bool inverse, rp_tensor *out_re, rp_tensor *out_im)
{
    complex_pair x = {re, im};
    size_t n, lines;
    rp_type type;

    if (out_re)
        *out_re = rp_no_tensor();
    if (out_im)
        *out_im = rp_no_tensor();
    if (!rp_graph_given(re.graph, "out_re", out_re, 1) || !rp_graph_given(re.graph, "out_im", out_im, 1) ||
        !fits(re, im))
        return;
    type = *rp_tensor_type(re);
    n = type.shape[type.rank - 1];
    lines = rp_type_count(&type) / n;
    if (!im.graph)
        x.im = rp_fill(re.graph, type.dtype, type.rank, type.shape, 0);
    for (size_t m = n / 2, s = 1; m > 0; m /= 2, s *= 2)
        x = stage(x, lines, m, s, inverse);
    if (inverse) {
        x.re = rp_scale(x.re, 1 / (double)n);
        x.im = rp_scale(x.im, 1 / (double)n);
    }
    *out_re = rp_reshape(x.re, type.rank, type.shape);
    *out_im = rp_reshape(x.im, type.rank, type.shape);
}
