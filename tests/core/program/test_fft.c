/* SPDX-License-Identifier: Apache-2.0
 * rp_fft against the sum that defines it, its inverse, its gradient (which is the transform the other way), and what it
 * refuses. */
#include "tests/core/program/eager_step.h"

#include <math.h>

enum { LINES = 3, LONGEST = 64 };

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
    for (size_t n = 1; n <= LONGEST; n *= 2) {
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
            assert_true(fabs(re[i] - x[i]) < 1e-14 && fabs(im[i] - y[i]) < 1e-14);
        rp_run_free(run);
    }
}

/* CONTRACT 11.2's example, on an axis behind two others. */
static void the_example_has_the_bits_of_the_contract(void **state)
{
    rp_run *run = step_new();
    rp_tensor x = put_f32(run, SHAPE(1, 1, 4), (float[]){1, 2, 3, 4}), re, im;

    (void)state;
    rp_fft(x, rp_no_tensor(), false, &re, &im);
    assert_f32(run, re, SHAPE(1, 1, 4), (float[]){10, -2, -2, -2});
    assert_f32(run, im, SHAPE(1, 1, 4), (float[]){0, 2, 0, -2});
    rp_run_free(run);
}

/* Of sum(g re + h im) by x and y: the sums with the other sign, of g + i h. */
static void gradients_are_the_transform_the_other_way(void **state)
{
    enum { N = 16 };
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

static void other_lengths_and_types_are_refused(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        rp_run *run = step_new();
        rp_graph *g = rp_step_graph(run);
        const size_t shape[2] = {2, i == 0 ? 6 : i == 1 ? 0 : 4};
        rp_tensor x = rp_fill(g, i == 2 ? RP_I32 : RP_F32, 2, shape, 1), re, im;
        rp_error err = {0};

        rp_fft(x, i == 3 ? rp_fill(g, RP_F64, 2, shape, 1) : rp_no_tensor(), false, &re, &im);
        assert_int_equal(rp_graph_status(g, &err), RP_ESHAPE);
        assert_non_null(strstr(err.text, "fft: found "));
        assert_true(re.graph == NULL && im.graph == NULL);
        (void)rp_step_end(run, NULL);
        rp_run_free(run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transforms_are_the_sums_and_come_back),
        cmocka_unit_test(the_example_has_the_bits_of_the_contract),
        cmocka_unit_test(gradients_are_the_transform_the_other_way),
        cmocka_unit_test(other_lengths_and_types_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
