/* SPDX-License-Identifier: Apache-2.0
 * Images of other ranks and sizes: transposed convolution, volumes, rows and pools against loops over whole numbers,
 * whose sums are exact in any order; resizing against its clause, and against what PyTorch gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/run/run.h"
#include "determinism/bits.h"
#include "rp/rp.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const rp_tensor none;

static rp_run *step_new(void)
{
    rp_run *run = NULL;
    rp_error err = {0};

    if (rp_run_new(&run, &(rp_run_options){.threads = 1}, &err) != RP_OK)
        fail_msg("%s", err.text);
    assert_int_equal(rp_step_begin(run, NULL), RP_OK);
    return run;
}

static void step_over(rp_run *run)
{
    assert_int_equal(rp_step_end(run, NULL), RP_OK);
    rp_run_free(run);
}

static rp_tensor put(rp_run *run, int rank, const size_t *shape, const double *x)
{
    static unsigned n;
    char name[24];

    snprintf(name, sizeof name, "t%u", n++);
    return rp_feed(run, name, RP_F64, rank, shape, x);
}

/* Whole numbers from -4 to 4. */
static void whole(double *x, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (double)((i * 7 + seed * 5 + i / 3) % 9) - 4;
}

static void assert_values(rp_run *run, rp_tensor x, int rank, const size_t *shape, const double *expected)
{
    rp_type type = {.dtype = RP_F64, .rank = rank}, found = {0};
    static double values[4096];
    rp_error err = {0};
    size_t at;

    if (rank > 0)
        memcpy(type.shape, shape, (size_t)rank * sizeof *shape);
    if (!rp_shape_of(x, &found.dtype, &found.rank, found.shape)) {
        (void)rp_graph_status(rp_step_graph(run), &err);
        fail_msg("%s", err.text);
    }
    if (!rp_type_equal(&type, &found)) {
        char text[192];

        rp_type_text(&found, text, sizeof text);
        fail_msg("found %s", text);
    }
    assert_true(rp_type_bytes(&type) <= sizeof values);
    assert_int_equal(rp_read(run, x, values, rp_type_bytes(&type), NULL), RP_OK);
    at = rp_first_difference(values, expected, RP_F64, rp_type_count(&type));
    if (at < rp_type_count(&type))
        fail_msg("element %zu: expected %.17g, found %.17g", at, expected[at], values[at]);
}

static void assert_near(rp_run *run, rp_tensor x, size_t n, const double *expected)
{
    double found[8];

    assert_int_equal(rp_read(run, x, found, n * sizeof *found, NULL), RP_OK);
    for (size_t i = 0; i < n; i++)
        if (!(__builtin_fabs(found[i] - expected[i]) <= 1e-14 * (1 + __builtin_fabs(expected[i]))))
            fail_msg("element %zu: expected %.17g, found %.17g", i, expected[i], found[i]);
}

/* ---- volumes and transposes ---- */

typedef struct volume_case {
    size_t n, in[3], taps[3], c, k, groups; /* c and k of all groups */
    rp_placement3d place;
    size_t extra[3];
} volume_case;

static const volume_case cases[] = {
    {2, {4, 3, 5}, {2, 2, 3}, 2, 3, 1, {{0}, {0}, {0}}, {0}},
    {1, {5, 4, 4}, {3, 3, 2}, 4, 2, 2, {{2, 1, 2}, {1, 1, 0, 1, 0, 1}, {0}}, {1, 0, 1}},
    {1, {6, 5, 4}, {2, 2, 2}, 3, 3, 3, {{1, 2, 1}, {2, 0, 1, 0, 1, 2}, {2, 1, 3}}, {0, 1, 0}},
    {2, {3, 1, 4}, {3, 1, 1}, 1, 2, 1, {{3, 1, 1}, {2, 0, 0, 2, 0, 0}, {0}}, {2, 0, 0}},
};

static size_t or_one(size_t v)
{
    return v ? v : 1;
}

static size_t out_of(const volume_case *v, int d)
{
    return (v->in[d] + v->place.padding[d] + v->place.padding[d + 3] - or_one(v->place.dilation[d]) * (v->taps[d] - 1) -
            1) /
               or_one(v->place.stride[d]) +
           1;
}

static size_t back_of(const volume_case *v, int d)
{
    return (v->in[d] - 1) * or_one(v->place.stride[d]) + or_one(v->place.dilation[d]) * (v->taps[d] - 1) + 1 -
           v->place.padding[d] - v->place.padding[d + 3] + v->extra[d];
}

/* Every tap of every window that lies in the volume `large`: small (+)= large w, or, transposed, large += small w. */
static void slide(const volume_case *v, const size_t large[3], const size_t small[3], double *big, double *little,
                  const double *w, size_t c, size_t k, bool transposed)
{
    const size_t cg = c / v->groups, kg = k / v->groups;
    size_t o[3], t[3];
    ptrdiff_t i[3];

    for (size_t n = 0; n < v->n; n++)
        for (size_t at = 0; at < small[0] * small[1] * small[2]; at++)
            for (size_t tap = 0; tap < v->taps[0] * v->taps[1] * v->taps[2]; tap++) {
                bool inside = true;

                o[2] = at % small[2], o[1] = at / small[2] % small[1], o[0] = at / small[2] / small[1];
                t[2] = tap % v->taps[2], t[1] = tap / v->taps[2] % v->taps[1], t[0] = tap / v->taps[2] / v->taps[1];
                for (int d = 0; d < 3; d++) {
                    i[d] = (ptrdiff_t)(o[d] * or_one(v->place.stride[d]) + t[d] * or_one(v->place.dilation[d])) -
                           (ptrdiff_t)v->place.padding[d];
                    inside = inside && i[d] >= 0 && i[d] < (ptrdiff_t)large[d];
                }
                for (size_t kk = 0; kk < k && inside; kk++)
                    for (size_t cc = 0; cc < cg; cc++) {
                        const size_t pixel =
                            ((n * large[0] + (size_t)i[0]) * large[1] + (size_t)i[1]) * large[2] + (size_t)i[2];
                        double *x = &big[pixel * c + kk / kg * cg + cc];
                        double *y = &little[(n * small[0] * small[1] * small[2] + at) * k + kk];
                        const double weight = w[(tap * cg + cc) * k + kk];

                        if (transposed)
                            *x += *y * weight;
                        else
                            *y += *x * weight;
                    }
            }
}

static void volumes_are_convolved_as_by_loops_over_all_taps(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const volume_case *v = &cases[i];
        const size_t out[3] = {out_of(v, 0), out_of(v, 1), out_of(v, 2)};
        const size_t x_shape[5] = {v->n, v->in[0], v->in[1], v->in[2], v->c};
        const size_t w_shape[5] = {v->taps[0], v->taps[1], v->taps[2], v->c / v->groups, v->k};
        double x[1024], w[1024], y[2048] = {0};
        rp_run *run = step_new();

        whole(x, COUNT(x), 1);
        whole(w, COUNT(w), 2);
        slide(v, v->in, out, x, y, w, v->c, v->k, false);
        assert_values(run, rp_conv3d(put(run, 5, x_shape, x), put(run, 5, w_shape, w), none, v->groups, &v->place), 5,
                      (size_t[]){v->n, out[0], out[1], out[2], v->k}, y);
        step_over(run);
    }
}

/* x has k channels here, the result c: the convolution goes from c to k. */
static void transposed_convolution_goes_the_way_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const volume_case *v = &cases[i];
        const size_t out[3] = {back_of(v, 0), back_of(v, 1), back_of(v, 2)};
        const size_t x_shape[5] = {v->n, v->in[0], v->in[1], v->in[2], v->k};
        const size_t w_shape[5] = {v->taps[0], v->taps[1], v->taps[2], v->c / v->groups, v->k};
        double x[1024], w[1024], y[4096] = {0};
        rp_run *run = step_new();
        rp_tensor weight, made;

        whole(x, COUNT(x), 3);
        whole(w, COUNT(w), 4);
        slide(v, out, v->in, y, x, w, v->c, v->k, true);
        weight = put(run, 5, w_shape, w);
        made = rp_conv3d_transpose(put(run, 5, x_shape, x), weight, none, v->groups, &v->place, v->extra);
        assert_values(run, made, 5, (size_t[]){v->n, out[0], out[1], out[2], v->c}, y);
        step_over(run);
    }
}

static void images_and_rows_are_transposed_as_volumes_of_one_slice(void **state)
{
    static const volume_case flat = {
        2, {1, 4, 5}, {1, 3, 2}, 2, 3, 1, {{1, 2, 3}, {0, 1, 0, 0, 0, 1}, {1, 1, 2}}, {0, 1, 2}};
    static const volume_case row = {1, {1, 1, 6}, {1, 1, 3}, 2, 2, 2, {{1, 1, 2}, {0, 0, 1, 0, 0, 1}, {0}}, {0, 0, 1}};
    double x[512], w[512], y[2048] = {0}, z[2048] = {0}, one[1] = {100};
    rp_run *run = step_new();
    rp_tensor bias = put(run, 1, (size_t[]){1}, one);

    (void)state;
    whole(x, COUNT(x), 5);
    whole(w, COUNT(w), 6);
    slide(&flat, (size_t[]){1, back_of(&flat, 1), back_of(&flat, 2)}, flat.in, y, x, w, 2, 3, true);
    for (size_t i = 0; i < COUNT(y); i++)
        y[i] += 100;
    assert_values(run,
                  rp_conv2d_transpose(put(run, 4, (size_t[]){2, 4, 5, 3}, x), put(run, 4, (size_t[]){3, 2, 2, 3}, w),
                                      bias, 1, &(rp_placement){{2, 3}, {1, 0, 0, 1}, {1, 2}}, (size_t[]){1, 2}),
                  4, (size_t[]){2, back_of(&flat, 1), back_of(&flat, 2), 2}, y);
    slide(&row, (size_t[]){1, 1, back_of(&row, 2)}, row.in, z, x, w, 2, 2, true);
    assert_values(run,
                  rp_conv1d_transpose(put(run, 3, (size_t[]){1, 6, 2}, x), put(run, 3, (size_t[]){3, 1, 2}, w), none, 2,
                                      &(rp_placement){.stride = {0, 2}, .padding = {0, 1, 0, 1}}, 1),
                  3, (size_t[]){1, back_of(&row, 2), 2}, z);
    step_over(run);
}

static void pools_of_rows_volumes_and_given_sizes(void **state)
{
    double x[64], line[6] = {3, 1, 4, 1, 5, 9};
    rp_run *run = step_new();
    rp_tensor row = put(run, 3, (size_t[]){1, 6, 1}, line), cube, image;

    (void)state;
    for (int i = 0; i < 64; i++)
        x[i] = i;
    cube = put(run, 5, (size_t[]){1, 4, 4, 4, 1}, x);
    image = put(run, 4, (size_t[]){1, 5, 3, 1}, x);
    assert_values(run, rp_max_pool1d(row, 2, NULL), 3, (size_t[]){1, 3, 1}, (double[]){3, 4, 9});
    assert_values(run, rp_avg_pool1d(row, 3, &(rp_placement){.stride = {0, 2}, .padding = {0, 1, 0, 0}}), 3,
                  (size_t[]){1, 3, 1}, (double[]){2, 2, 5});
    assert_values(run, rp_max_pool3d(cube, (size_t[]){2, 2, 2}, NULL), 5, (size_t[]){1, 2, 2, 2, 1},
                  (double[]){21, 23, 29, 31, 53, 55, 61, 63});
    assert_values(run, rp_avg_pool3d(cube, (size_t[]){2, 2, 2}, NULL), 5, (size_t[]){1, 2, 2, 2, 1},
                  (double[]){10.5, 12.5, 18.5, 20.5, 42.5, 44.5, 50.5, 52.5});
    assert_values(run, rp_max_pool3d(cube, (size_t[]){3, 1, 4}, &(rp_placement3d){{2, 3, 1}, {1, 0, 0, 0, 0, 0}, {0}}),
                  5, (size_t[]){1, 2, 2, 1, 1}, (double[]){19, 31, 51, 63});
    assert_values(run, rp_adaptive_avg_pool2d(image, 2, 2), 4, (size_t[]){1, 2, 2, 1}, (double[]){3.5, 4.5, 9.5, 10.5});
    assert_values(run, rp_adaptive_max_pool2d(image, 5, 1), 4, (size_t[]){1, 5, 1, 1}, (double[]){2, 5, 8, 11, 14});
    step_over(run);
}

static void pixels_become_channels_and_channels_pixels(void **state)
{
    double x[16], shuffled[16] = {0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15};
    rp_run *run = step_new();
    rp_tensor image, y;

    (void)state;
    for (int i = 0; i < 16; i++)
        x[i] = i;
    image = put(run, 4, (size_t[]){1, 2, 2, 4}, x);
    y = rp_pixel_shuffle(image, 2);
    assert_values(run, y, 4, (size_t[]){1, 4, 4, 1}, shuffled);
    assert_values(run, rp_pixel_unshuffle(y, 2), 4, (size_t[]){1, 2, 2, 4}, x);
    step_over(run);
}

/* ---- resizing ---- */

/* torch 2.15 on CPU, binary64: interpolate(x, size=(1, 7), mode, align_corners) of x = 1, -2, 4, 0.5 in [1, 1, 1, 4].
 */
static void resizing_agrees_with_pytorch(void **state)
{
    static const struct {
        rp_resizing how;
        double expected[7];
    } known[] = {
        {{RP_RESIZE_NEAREST, RP_RESIZE_ASYMMETRIC, RP_RESIZE_DOWN}, {1, 1, -2, -2, 4, 4, 0.5}},
        {{RP_RESIZE_NEAREST, RP_RESIZE_HALF_PIXELS, RP_RESIZE_HALF_UP}, {1, 1, -2, 4, 4, 0.5, 0.5}},
        {{RP_RESIZE_LINEAR, RP_RESIZE_CORNERS, RP_RESIZE_DOWN}, {1, -0.5, -2, 1, 4, 2.25, 0.5}},
    };
    double x[4] = {1, -2, 4, 0.5};
    rp_run *run = step_new();
    rp_tensor line = put(run, 1, (size_t[]){4}, x);

    (void)state;
    for (size_t i = 0; i < COUNT(known); i++)
        assert_values(run, rp_resize(line, 0, 7, &known[i].how), 1, (size_t[]){7}, known[i].expected);
    assert_near(run, rp_resize(line, 0, 7, &(rp_resizing){.mode = RP_RESIZE_CUBIC}), 7,
                (double[]){1.2976494169096204, -0.39121720116618186, -2.105502915451896, 1.046875, 4.076895043731779,
                           2.0615889212828, 0.15274234693877597});
    assert_values(run, rp_resize(line, 0, 8, &(rp_resizing){.mode = RP_RESIZE_LINEAR}), 1, (size_t[]){8},
                  (double[]){1, 0.25, -1.25, -0.5, 2.5, 3.125, 1.375, 0.5});
    assert_values(run, rp_resize(line, 0, 2, &(rp_resizing){.mode = RP_RESIZE_LINEAR}), 1, (size_t[]){2},
                  (double[]){-0.5, 2.25});
    step_over(run);
}

/* In binary32, as CONTRACT 7.12 has them. */
static void resizing_has_the_bits_of_its_clause(void **state)
{
    static const struct {
        rp_resizing how;
        uint32_t bits[6];
    } known[] = {
        {{RP_RESIZE_NEAREST, RP_RESIZE_HALF_PIXELS, RP_RESIZE_HALF_DOWN},
         {0x3f800000, 0x3f800000, 0xbf000000, 0x40000000, 0x40000000, 0x3e800000}},
        {{RP_RESIZE_LINEAR, RP_RESIZE_HALF_PIXELS, RP_RESIZE_DOWN},
         {0x3f800000, 0x3e800000, 0xbdaaaaa8, 0x3fcaaaaa, 0x3f900000, 0x3e800000}},
        {{RP_RESIZE_CUBIC, RP_RESIZE_HALF_PIXELS, RP_RESIZE_DOWN},
         {0x3f90aaab, 0x3c800000, 0xbe76d095, 0x3fe22f68, 0x3fae0000, 0x3dc8e38e}},
    };
    static const uint32_t back[4] = {0x3f400000, 0x3fbaaaaa, 0x3d2aaab0, 0x40200000};
    const float x[4] = {1, -0.5f, 2, 0.25f}, g[6] = {1, -0.5f, 2, 0.25f, -1, 3};
    uint32_t found[6];
    rp_run *run = step_new();
    rp_tensor line = rp_feed(run, "x", RP_F32, 1, (size_t[]){4}, x), grad;
    rp_tensor arrives = rp_feed(run, "g", RP_F32, 1, (size_t[]){6}, g), y;

    (void)state;
    for (size_t i = 0; i < COUNT(known); i++) {
        assert_int_equal(rp_read(run, rp_resize(line, 0, 6, &known[i].how), found, sizeof found, NULL), RP_OK);
        assert_memory_equal(found, known[i].bits, sizeof found);
    }
    y = rp_sum(rp_mul(rp_resize(line, 0, 6, &known[1].how), arrives), NULL, 0, false);
    rp_gradients(y, &line, 1, &grad);
    assert_int_equal(rp_read(run, grad, found, sizeof back, NULL), RP_OK);
    assert_memory_equal(found, back, sizeof back);
    step_over(run);
}

static void cubic_weights_sum_to_one_and_keep_a_line(void **state)
{
    double x[9], y[17];
    rp_run *run = step_new();
    rp_tensor line;

    (void)state;
    for (int i = 0; i < 9; i++)
        x[i] = 2 * i + 1;
    for (int i = 0; i < 17; i++)
        y[i] = i + 1;
    line = put(run, 1, (size_t[]){9}, x);
    line = rp_resize(line, 0, 17, &(rp_resizing){RP_RESIZE_CUBIC, RP_RESIZE_CORNERS, RP_RESIZE_DOWN});
    line = rp_slice(line, (size_t[]){2}, (size_t[]){15}); /* beyond, the ends are repeated */
    assert_values(run, line, 1, (size_t[]){13}, y + 2);
    step_over(run);
}

/* What is linear, and its gradient: the sum of g resize(x) is the sum of x resize_grad(g), over whole numbers. */
static void the_gradient_is_the_adjoint(void **state)
{
    (void)state;
    for (int mode = 0; mode < 2; mode++)
        for (int coordinates = 0; coordinates < 3; coordinates++) {
            const rp_resizing how = {(rp_resize_mode)mode, (rp_resize_coordinates)coordinates, RP_RESIZE_HALF_DOWN};
            double x[3 * 5 * 4], g[3 * 8 * 4];
            rp_run *run = step_new();
            rp_tensor a, b, y, left, right, grad;

            whole(x, COUNT(x), 7);
            whole(g, COUNT(g), 8);
            a = put(run, 3, (size_t[]){3, 5, 4}, x);
            b = put(run, 3, (size_t[]){3, 8, 4}, g);
            y = rp_resize(a, 1, 8, &how);
            left = rp_sum(rp_mul(y, b), NULL, 0, false);
            rp_gradients(left, &a, 1, &grad);
            right = rp_sum(rp_mul(grad, a), NULL, 0, false);
            left = rp_sub(left, right);
            left = rp_lt(rp_abs(left), rp_fill(left.graph, RP_F64, 0, NULL, 1e-12));
            assert_values(run, rp_cast(left, RP_F64), 0, NULL, (double[]){1});
            step_over(run);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(volumes_are_convolved_as_by_loops_over_all_taps),
        cmocka_unit_test(transposed_convolution_goes_the_way_back),
        cmocka_unit_test(images_and_rows_are_transposed_as_volumes_of_one_slice),
        cmocka_unit_test(pools_of_rows_volumes_and_given_sizes),
        cmocka_unit_test(pixels_become_channels_and_channels_pixels),
        cmocka_unit_test(resizing_agrees_with_pytorch),
        cmocka_unit_test(resizing_has_the_bits_of_its_clause),
        cmocka_unit_test(cubic_weights_sum_to_one_and_keep_a_line),
        cmocka_unit_test(the_gradient_is_the_adjoint),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
