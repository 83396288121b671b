/* SPDX-License-Identifier: Apache-2.0
 * rp_fft against the sum that defines it, against its stages written in other operations, bit by bit and with their
 * gradient, its inverse, its gradient (which is the transform the other way), and what it refuses. */
#include "tests/core/program/eager_step.h"

#include <math.h>

enum { LINES = 3, LONGEST = 64, WRITTEN = 2048, WIDEST = LINES * WRITTEN * 8 };

static void some(double *x, size_t n, double phase)
{
    for (size_t i = 0; i < n; i++)
        x[i] = sin(phase + 1.7 * (double)i) + 0.01 * (double)(i % 5);
}

static void read_both(rp_run *run, rp_tensor re, rp_tensor im, double *x, double *y, size_t bytes)
{
    rp_error err = {0};

    if (rp_read(run, re, x, bytes, &err) != RP_OK || rp_read(run, im, y, bytes, &err) != RP_OK)
        fail_msg("%s", err.text);
}

static void transforms_are_the_sums_and_come_back(void **state)
{
    static double x[LINES * LONGEST], y[LINES * LONGEST], re[LINES * LONGEST], im[LINES * LONGEST];

    (void)state;
    for (size_t n = 1; n <= LONGEST; n++) {
        const size_t bytes = LINES * n * sizeof *x;
        rp_run *run = step_new();
        rp_tensor a, b, c, d;

        some(x, LINES * n, 0.3);
        some(y, LINES * n, 2.1);
        a = put(run, RP_F64, SHAPE(LINES, n), x);
        b = put(run, RP_F64, SHAPE(LINES, n), y);
        rp_fft(a, b, false, &c, &d);
        read_both(run, c, d, re, im, bytes);
        for (size_t line = 0; line < LINES; line++)
            for (size_t k = 0; k < n; k++) {
                double want_re = 0, want_im = 0;

                for (size_t j = 0; j < n; j++) {
                    const double turn = -6.2831853071795862 * (double)(j * k % n) / (double)n;

                    want_re += x[line * n + j] * cos(turn) - y[line * n + j] * sin(turn);
                    want_im += x[line * n + j] * sin(turn) + y[line * n + j] * cos(turn);
                }
                assert_true(fabs(re[line * n + k] - want_re) < 1e-12 && fabs(im[line * n + k] - want_im) < 1e-12);
            }
        rp_fft(c, d, true, &a, &b);
        read_both(run, a, b, re, im, bytes);
        for (size_t i = 0; i < LINES * n; i++)
            assert_true(fabs(re[i] - x[i]) < 2e-14 && fabs(im[i] - y[i]) < 2e-14);
        rp_run_free(run);
    }
}

/* ---- the clause's stages in other operations ---- */

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
    const complex_pair w = turns(x.re.graph, rp_tensor_type(x.re)->dtype, m, inverse);
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

static complex_pair written(complex_pair x, size_t lines, size_t n, bool inverse)
{
    for (size_t m = n / 2, s = 1; m > 0; m /= 2, s *= 2)
        x = stage(x, lines, m, s, inverse);
    if (inverse) {
        x.re = rp_scale(x.re, 1 / (double)n);
        x.im = rp_scale(x.im, 1 / (double)n);
    }
    x.re = rp_reshape(x.re, 2, (size_t[]){lines, n});
    x.im = rp_reshape(x.im, 2, (size_t[]){lines, n});
    return x;
}

/* ---- the same of other lengths ---- */

enum { PRIME = 13, OTHERS = 1001 };

/* A stage of the clause: n = m r s elements of each line. */
typedef struct group {
    rp_run *run;
    size_t lines, n, r, m, s;
    bool inverse, transposed;
} group;

/* Row `at` of an axis of x, [lines, a, b, s], as [lines, the other one, s]. */
static rp_tensor row_of(rp_tensor x, const group *o, bool parted, size_t at)
{
    const size_t shape[4] = {o->lines, parted ? o->m : o->r, parted ? o->r : o->m, o->s};
    size_t begin[4] = {0, 0, 0, 0}, end[4] = {shape[0], shape[1], shape[2], shape[3]};

    begin[parted ? 2 : 1] = at;
    end[parted ? 2 : 1] = at + 1;
    return rp_reshape(rp_slice(rp_reshape(x, 4, shape), begin, end), 3, (size_t[]){o->lines, o->m, o->s});
}

/* Rows beside each other, as [lines, n]. */
static rp_tensor rows_beside(rp_tensor *rows, const group *o, bool parted)
{
    const size_t inner[4] = {o->lines, o->m, 1, o->s}, outer[4] = {o->lines, 1, o->m, o->s};

    for (size_t h = 0; h < o->r; h++)
        rows[h] = rp_reshape(rows[h], 4, parted ? inner : outer);
    return rp_reshape(rp_concat(rows, o->r, parted ? 2 : 1), 2, (size_t[]){o->lines, o->n});
}

/* Turns k of n, for so many numbers k, as [count, 1] of the type. */
static complex_pair turns_of(rp_run *run, rp_dtype dtype, const size_t *k, size_t count, size_t n, bool inverse)
{
    static double places[OTHERS], sign[OTHERS];
    complex_pair w;
    rp_tensor angle;

    for (size_t i = 0; i < count; i++) {
        places[i] = (double)(2 * k[i] > n ? n - k[i] : k[i]);
        sign[i] = inverse != (2 * k[i] > n) ? 1 : -1;
    }
    angle = rp_scale(put(run, RP_F64, SHAPE(count), places), two_pi / (double)n);
    w.re = rp_reshape(rp_cast(rp_cos(angle), dtype), 2, (size_t[]){count, 1});
    w.im = rp_mul(rp_sin(angle), put(run, RP_F64, SHAPE(count), sign));
    w.im = rp_reshape(rp_cast(w.im, dtype), 2, (size_t[]){count, 1});
    return w;
}

/* By turns p h s, back: the other way. */
static complex_pair by_turns(complex_pair x, const group *o, size_t h, bool back)
{
    size_t k[OTHERS];
    complex_pair w, made;

    for (size_t p = 0; p < o->m; p++)
        k[p] = p * h * o->s;
    w = turns_of(o->run, rp_tensor_type(x.re)->dtype, k, o->m, o->n, o->inverse);
    made.re = (back ? rp_add : rp_sub)(rp_mul(x.re, w.re), rp_mul(x.im, w.im));
    made.im = back ? rp_sub(rp_mul(x.im, w.re), rp_mul(x.re, w.im)) : rp_add(rp_mul(x.re, w.im), rp_mul(x.im, w.re));
    return made;
}

/* x[0] + (or, of differences, without it) w[h] x[1] + w[2h] x[2] + .. */
static rp_tensor weighted(rp_tensor first, const rp_tensor *x, size_t h, const group *o, bool of_im)
{
    rp_tensor sum = first;

    for (size_t j = 1; j <= o->r / 2; j++) {
        const size_t k = h * j % o->r * (o->n / o->r);
        const complex_pair w = turns_of(o->run, rp_tensor_type(x[1])->dtype, &k, 1, o->n, false);
        const rp_tensor product = rp_mul(x[j], of_im ? w.im : w.re);

        sum = sum.graph ? rp_add(sum, product) : product;
    }
    return sum;
}

static void odd_group(rp_tensor *re, rp_tensor *im, const group *o)
{
    const size_t half = o->r / 2;
    rp_tensor sum_re[PRIME], sum_im[PRIME], less_re[PRIME], less_im[PRIME], re0 = re[0], im0 = im[0];

    for (size_t j = 1; j <= half; j++) {
        sum_re[j] = rp_add(re[j], re[o->r - j]);
        sum_im[j] = rp_add(im[j], im[o->r - j]);
        less_re[j] = rp_sub(re[j], re[o->r - j]);
        less_im[j] = rp_sub(im[j], im[o->r - j]);
        re[0] = rp_add(re[0], sum_re[j]);
        im[0] = rp_add(im[0], sum_im[j]);
    }
    for (size_t h = 1; h <= half; h++) {
        const rp_tensor a = weighted(re0, sum_re, h, o, false), b = weighted(im0, sum_im, h, o, false);
        const rp_tensor p = weighted(rp_no_tensor(), less_re, h, o, true);
        const rp_tensor q = weighted(rp_no_tensor(), less_im, h, o, true);
        const size_t one = o->inverse != o->transposed ? o->r - h : h;

        re[one] = rp_sub(a, q);
        im[one] = rp_add(b, p);
        re[o->r - one] = rp_add(a, q);
        im[o->r - one] = rp_sub(b, p);
    }
}

static complex_pair other_stage(complex_pair x, const group *o)
{
    rp_tensor re[PRIME], im[PRIME];

    for (size_t j = 0; j < o->r; j++) {
        complex_pair row = {row_of(x.re, o, o->transposed, j), row_of(x.im, o, o->transposed, j)};

        if (o->transposed && j > 0)
            row = by_turns(row, o, j, true);
        re[j] = row.re;
        im[j] = row.im;
    }
    if (o->r == 2) {
        const complex_pair a = {re[0], im[0]}, b = {re[1], im[1]};

        re[0] = rp_add(a.re, b.re);
        im[0] = rp_add(a.im, b.im);
        re[1] = rp_sub(a.re, b.re);
        im[1] = rp_sub(a.im, b.im);
    } else
        odd_group(re, im, o);
    for (size_t h = 1; h < o->r && !o->transposed; h++) {
        const complex_pair row = by_turns((complex_pair){re[h], im[h]}, o, h, false);

        re[h] = row.re;
        im[h] = row.im;
    }
    x.re = rows_beside(re, o, !o->transposed);
    x.im = rows_beside(im, o, !o->transposed);
    return x;
}

static complex_pair other_written(rp_run *run, complex_pair x, size_t lines, size_t n, bool inverse, bool transposed)
{
    group o = {
        .run = run, .lines = lines, .n = n, .inverse = inverse, .transposed = transposed, .s = transposed ? n : 1};
    size_t primes[16], count = 0, left = n;

    for (size_t r = 2; left > 1; r++)
        for (; left % r == 0; left /= r)
            primes[count++] = r;
    if (inverse && transposed) {
        x.re = rp_scale(x.re, 1 / (double)n);
        x.im = rp_scale(x.im, 1 / (double)n);
    }
    for (size_t k = 0; k < count; k++) {
        o.r = primes[transposed ? count - 1 - k : k];
        o.s = transposed ? o.s / o.r : o.s;
        o.m = n / o.s / o.r;
        x = other_stage(x, &o);
        o.s = transposed ? o.s : o.s * o.r;
    }
    if (inverse && !transposed) {
        x.re = rp_scale(x.re, 1 / (double)n);
        x.im = rp_scale(x.im, 1 / (double)n);
    }
    if (transposed) {
        const rp_tensor zero = rp_fill(x.re.graph, rp_tensor_type(x.re)->dtype, 0, NULL, 0);

        x.re = rp_add(x.re, zero);
        x.im = rp_add(x.im, zero);
    }
    return x;
}

static void same(rp_run *run, rp_tensor found, rp_tensor want, rp_dtype dtype, size_t n, const char *what)
{
    static unsigned char a[WIDEST], b[WIDEST];
    const size_t size = rp_dtype_size(dtype), bytes = LINES * n * size;
    rp_error err = {0};

    if (rp_read(run, found, a, bytes, &err) != RP_OK || rp_read(run, want, b, bytes, &err) != RP_OK)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < bytes; i++)
        if (a[i] != b[i])
            fail_msg("%s %s of n %zu: element %zu differs", rp_dtype_name(dtype), what, n, i / size);
}

/* Operand number k, zeros of both signs in it. */
static rp_tensor numbers(rp_run *run, rp_dtype dtype, size_t n, int k)
{
    static double wide[LINES * WRITTEN];
    static float narrow[LINES * WRITTEN];

    some(wide, LINES * n, 0.3 + k);
    for (size_t i = 0; i < LINES * n; i++) {
        if (i % 5 == (size_t)k)
            wide[i] = i % 2 ? 0.0 : -0.0;
        narrow[i] = (float)wide[i];
    }
    return put(run, dtype, SHAPE(LINES, n), dtype == RP_F32 ? (void *)narrow : (void *)wide);
}

static void transforms_have_the_bits_of_their_written_stages(void **state)
{
    (void)state;
    for (int option = 0; option < 4; option++)
        for (size_t n = 2; n <= WRITTEN; n *= 2) {
            const rp_dtype dtype = option / 2 ? RP_F64 : RP_F32;
            rp_run *run = step_new();
            rp_tensor in[2], out[2], seed[2], found[2], want[2];
            complex_pair x;

            for (int i = 0; i < 2; i++) {
                in[i] = numbers(run, dtype, n, i);
                seed[i] = numbers(run, dtype, n, 2 + i);
            }
            rp_fft(in[0], in[1], option % 2 != 0, &out[0], &out[1]);
            rp_vjp(out, seed, 2, in, 2, found);
            x = written((complex_pair){in[0], in[1]}, LINES, n, option % 2 != 0);
            same(run, out[0], x.re, dtype, n, "re");
            same(run, out[1], x.im, dtype, n, "im");
            rp_vjp((rp_tensor[]){x.re, x.im}, seed, 2, in, 2, want);
            same(run, found[0], want[0], dtype, n, "gradient of re");
            same(run, found[1], want[1], dtype, n, "gradient of im");
            rp_run_free(run);
        }
}

static void other_lengths_have_the_bits_of_their_written_stages(void **state)
{
    static const size_t lengths[] = {3, 5, 6, 7, 9, 12, 13, 30, 35, 60, 121, 210, 243, 400, 770, OTHERS};

    (void)state;
    for (int option = 0; option < 4; option++)
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            const size_t n = lengths[i];
            const rp_dtype dtype = option / 2 ? RP_F64 : RP_F32;
            rp_run *run = step_new();
            rp_tensor in[2], out[2], seed[2], found[2];
            complex_pair x;

            for (int k = 0; k < 2; k++) {
                in[k] = numbers(run, dtype, n, k);
                seed[k] = numbers(run, dtype, n, 2 + k);
            }
            rp_fft(in[0], in[1], option % 2 != 0, &out[0], &out[1]);
            rp_vjp(out, seed, 2, in, 2, found);
            x = other_written(run, (complex_pair){in[0], in[1]}, LINES, n, option % 2 != 0, false);
            same(run, out[0], x.re, dtype, n, "re");
            same(run, out[1], x.im, dtype, n, "im");
            x = other_written(run, (complex_pair){seed[0], seed[1]}, LINES, n, option % 2 != 0, true);
            same(run, found[0], x.re, dtype, n, "gradient of re");
            same(run, found[1], x.im, dtype, n, "gradient of im");
            rp_run_free(run);
        }
}

/* CONTRACT 7.16's example, on an axis behind two others. */
static void the_example_has_the_bits_of_the_contract(void **state)
{
    rp_run *run = step_new();
    rp_tensor x = put_f32(run, SHAPE(1, 1, 4), (float[]){1, 2, 3, 4}), y, re, im, grad[2];

    (void)state;
    rp_fft(x, rp_no_tensor(), false, &re, &im);
    assert_f32(run, re, SHAPE(1, 1, 4), (float[]){10, -2, -2, -2});
    assert_f32(run, im, SHAPE(1, 1, 4), (float[]){0, 2, 0, -2});
    y = put_f32(run, SHAPE(1, 1, 4), (float[]){0, 0, 0, 0});
    rp_fft(x, y, false, &re, &im);
    rp_vjp((rp_tensor[]){re, im}, (rp_tensor[]){x, y}, 2, (rp_tensor[]){x, y}, 2, grad);
    assert_f32(run, grad[0], SHAPE(1, 1, 4), (float[]){10, -2, -2, -2});
    assert_f32(run, grad[1], SHAPE(1, 1, 4), (float[]){0, -2, 0, 2});
    x = put_f32(run, SHAPE(6), (float[]){1, 2, 4, 8, 16, 32});
    rp_fft(x, rp_no_tensor(), false, &re, &im);
    assert_f32(run, re, SHAPE(6), (float[]){63, 0, -18, -21, -18, -0x1p-20f});
    assert_f32(run, im, SHAPE(6), (float[]){0, 0x1.22fc0ap5f, 0x1.f2d4a4p3f, 0, -0x1.f2d4a4p3f, -0x1.22fc0ap5f});
    rp_run_free(run);
}

/* Of sum(g re + h im) by x and y: the sums with the other sign, of g + i h. */
static void gradients_are_the_transform_the_other_way(void **state)
{
    enum { N = 60 };
    double x[N], g[N], h[N], dx[N], dy[N], want_x[N], want_y[N];
    rp_run *run = step_new();
    rp_tensor wrt[2], out[2], seed[2], grad[2], back[2];

    (void)state;
    some(x, N, 0.4);
    some(g, N, 1.1);
    some(h, N, 2.9);
    wrt[0] = put(run, RP_F64, SHAPE(N), x);
    wrt[1] = put(run, RP_F64, SHAPE(N), g);
    rp_fft(wrt[0], wrt[1], false, &out[0], &out[1]);
    seed[0] = put(run, RP_F64, SHAPE(N), g);
    seed[1] = put(run, RP_F64, SHAPE(N), h);
    rp_vjp(out, seed, 2, wrt, 2, grad);
    read_both(run, grad[0], grad[1], dx, dy, sizeof dx);
    rp_fft(seed[0], seed[1], true, &back[0], &back[1]);
    read_both(run, back[0], back[1], want_x, want_y, sizeof dx);
    for (int i = 0; i < N; i++)
        assert_true(fabs(dx[i] - N * want_x[i]) < 1e-12 && fabs(dy[i] - N * want_y[i]) < 1e-12);
    rp_run_free(run);
}

/* The longest of them in a graph that computes nothing: a step would fill 16 GiB. */
static void other_lengths_and_types_are_refused(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        rp_run *run = i == 4 ? NULL : step_new();
        rp_graph *g = run ? rp_step_graph(run) : rp_graph_new(NULL);
        const size_t shape[2] = {2, i == 0 ? 514 : i == 1 ? 0 : i == 4 ? 2147483647 : 4};
        rp_tensor x = rp_fill(g, i == 2 ? RP_I32 : RP_F32, 2, shape, 1), re, im;
        rp_error err = {0};

        rp_fft(x, i == 3 ? rp_fill(g, RP_F64, 2, shape, 1) : rp_no_tensor(), false, &re, &im);
        assert_int_equal(rp_graph_status(g, &err), RP_ESHAPE);
        if (!strstr(err.text, i == 2 ? "fft: not defined for i32" : "fft: found "))
            fail_msg("%s", err.text);
        assert_true(re.graph == NULL && im.graph == NULL);
        if (run)
            (void)rp_step_end(run, NULL);
        else
            rp_graph_free(g);
        rp_run_free(run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transforms_are_the_sums_and_come_back),
        cmocka_unit_test(transforms_have_the_bits_of_their_written_stages),
        cmocka_unit_test(other_lengths_have_the_bits_of_their_written_stages),
        cmocka_unit_test(the_example_has_the_bits_of_the_contract),
        cmocka_unit_test(gradients_are_the_transform_the_other_way),
        cmocka_unit_test(other_lengths_and_types_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
