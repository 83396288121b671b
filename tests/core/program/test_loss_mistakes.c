/* SPDX-License-Identifier: Apache-2.0
 * Calls written in operations at their edges: targets of another shape, numbers out of range, NaNs, infinities, and
 * gradients where a root has no slope. */
#include <math.h>

#include "rp/composite.h"
#include "rp/loss.h"
#include "rp/optimizer.h"
#include "tests/core/program/eager_step.h"

/* What the call is refused with; a new step, since the first error stays. */
#define REFUSED(status, words, ...) \
    do { \
        rp_run *run = step_new(); \
        rp_tensor column = put_f32(run, SHAPE(3, 1), (float[]){1, 2, 3}), row = put_f32(run, SHAPE(3), (float[3]){0}); \
        rp_error err = {0}; \
\
        (void)column; \
        (void)row; \
        (void)(__VA_ARGS__); \
        if (rp_graph_status(rp_step_graph(run), &err) != (status) || !strstr(err.text, words)) \
            fail_msg("%s: expected \"%s\", found \"%s\"", #__VA_ARGS__, words, err.text); \
        rp_run_free(run); \
    } while (0)

/* Of n predictions in a column and n targets in a row everyone would be held against everyone. */
static void a_target_of_another_shape_is_refused(void **state)
{
    const rp_tensor none = {0};

    (void)state;
    REFUSED(RP_ESHAPE, "mse: found a target of f32[3] beside f32[3,1]", rp_mse(column, row));
    REFUSED(RP_ESHAPE, "mse: found a target of f32[3,1] beside f32[3]", rp_mse(row, column));
    REFUSED(RP_ESHAPE, "bce_with_logits: ", rp_bce_with_logits(column, row));
    REFUSED(RP_ESHAPE, "mse_loss: ", rp_mse_loss(column, row, RP_REDUCE_MEAN));
    REFUSED(RP_ESHAPE, "l1_loss: ", rp_l1_loss(column, row, RP_REDUCE_MEAN));
    REFUSED(RP_ESHAPE, "huber_loss: ", rp_huber_loss(column, row, 1, RP_REDUCE_MEAN));
    REFUSED(RP_ESHAPE, "smooth_l1_loss: ", rp_smooth_l1_loss(row, column, 1, RP_REDUCE_MEAN));
    REFUSED(RP_ESHAPE, "bce_loss: ", rp_bce_loss(column, row, RP_REDUCE_MEAN));
    REFUSED(RP_ESHAPE, "a target of", rp_bce_with_logits_loss(column, row, none, RP_REDUCE_MEAN));
    REFUSED(RP_ESHAPE, "a weight of", rp_bce_with_logits_loss(row, row, column, RP_REDUCE_MEAN));
    REFUSED(RP_ESHAPE, "kl_div_loss: ", rp_kl_div_loss(column, row, false, RP_REDUCE_MEAN));
    REFUSED(RP_ESHAPE, "poisson_nll_loss: ", rp_poisson_nll_loss(column, row, true, false, 0, RP_REDUCE_MEAN));
    REFUSED(RP_ESHAPE, "a target of", rp_gaussian_nll_loss(column, row, column, false, 1e-6, RP_REDUCE_MEAN));
    REFUSED(RP_ESHAPE, "a variance of", rp_gaussian_nll_loss(column, column, row, false, 1e-6, RP_REDUCE_MEAN));
    REFUSED(RP_ESHAPE, "hinge_loss: ", rp_hinge_loss(column, row, RP_REDUCE_MEAN));
    REFUSED(RP_ESHAPE, "soft_margin_loss: ", rp_soft_margin_loss(column, row, RP_REDUCE_MEAN));
    REFUSED(RP_ESHAPE, "hinge_embedding_loss: ", rp_hinge_embedding_loss(column, row, 1, RP_REDUCE_MEAN));
    REFUSED(RP_ESHAPE, "found b of", rp_margin_ranking_loss(column, row, row, 1, RP_REDUCE_MEAN));
    REFUSED(RP_ESHAPE, "found a label of", rp_margin_ranking_loss(row, row, column, 1, RP_REDUCE_MEAN));
    REFUSED(RP_ESHAPE, "found a label of", rp_cosine_embedding_loss(column, column, column, 0, RP_REDUCE_MEAN));
}

static void what_stretches_to_the_prediction_is_a_target(void **state)
{
    rp_run *run = step_new();
    rp_tensor x = put_f32(run, SHAPE(2, 2), (float[]){1, 2, 3, 4}), row = put_f32(run, SHAPE(2), (float[]){1, 2});

    (void)state;
    assert_f32(run, rp_mse(x, row), 0, NULL, (float[]){2});
    assert_f32(run, rp_l1_loss(x, rp_fill(rp_step_graph(run), RP_F32, 0, NULL, 1), RP_REDUCE_NONE), SHAPE(2, 2),
               (float[]){0, 1, 2, 3});
    rp_run_free(run);
}

static void numbers_out_of_range_are_refused(void **state)
{
    (void)state;
    REFUSED(RP_EARG, "a delta of 0, expected more than 0", rp_huber_loss(row, row, 0, RP_REDUCE_MEAN));
    REFUSED(RP_EARG, "a delta of nan", rp_huber_loss(row, row, NAN, RP_REDUCE_MEAN));
    REFUSED(RP_EARG, "a delta of 1e+39, expected more than 0, and finite",
            rp_huber_loss(row, row, 1e39, RP_REDUCE_MEAN));
    REFUSED(RP_EARG, "a beta of inf", rp_smooth_l1_loss(row, row, (double)INFINITY, RP_REDUCE_MEAN));
    REFUSED(RP_EARG, "a beta of -1", rp_smooth_l1_loss(row, row, -1, RP_REDUCE_MEAN));
    REFUSED(RP_EARG, "a temperature of 0", rp_info_nce_loss(column, column, 0, RP_REDUCE_MEAN));
    REFUSED(RP_EARG, "a reduction of 7", rp_mse_loss(row, row, (rp_reduction)7));
}

static void classes_have_a_weight_each(void **state)
{
    (void)state;
    REFUSED(RP_ESHAPE, "found weights f32[3] beside f32[3,1]",
            rp_cross_entropy_loss(column, rp_cast(row, RP_I32), &(rp_class_options){.weight = row}));
    REFUSED(RP_ESHAPE, "found weights f32[3,1]",
            rp_nll_loss(column, rp_cast(row, RP_I32), &(rp_class_options){.weight = column}));
    REFUSED(RP_EARG, "found smoothing 0.1, expected 0",
            rp_nll_loss(column, rp_cast(row, RP_I32), &(rp_class_options){.smoothing = 0.1}));
}

static void a_nan_stays_one_and_infinities_have_an_asinh(void **state)
{
    rp_run *run = step_new();
    rp_tensor x = put_f32(run, SHAPE(5), (float[]){NAN, INFINITY, -INFINITY, -0.25F, -0.0F});

    (void)state;
    assert_f32(run, rp_hardshrink(x, 0.5), SHAPE(5), (float[]){NAN, INFINITY, -INFINITY, 0, 0});
    assert_f32(run, rp_threshold(x, 0.5, 7), SHAPE(5), (float[]){NAN, INFINITY, 7, 7, 7});
    x = rp_asinh(rp_slice(x, (size_t[]){0}, (size_t[]){3}));
    assert_f32(run, x, SHAPE(3), (float[]){NAN, INFINITY, -INFINITY});
    rp_run_free(run);
}

/* Rows of zeros, or of equal elements, beside one that is none. */
static void a_length_of_nothing_has_no_slope(void **state)
{
    static const double power[] = {2, 3, 1.5};
    float found[4];

    (void)state;
    for (size_t i = 0; i <= COUNT(power); i++) {
        rp_run *run = step_new();
        rp_tensor x = put_f32(run, SHAPE(2, 2), (float[]){0, 0, 3, 4}), y, g;

        y = i < COUNT(power) ? rp_norm(x, power[i], AXES(1), false) : rp_std(x, AXES(1), 1, false);
        rp_gradients(rp_sum(y, NULL, 0, false), &x, 1, &g);
        assert_int_equal(rp_read(run, g, found, sizeof found, NULL), RP_OK);
        assert_true(found[0] == 0 && found[1] == 0);
        assert_true(fabsf(found[2]) > 0.4F && fabsf(found[3]) > 0.4F);
        assert_int_equal(rp_read(run, y, found, 2 * sizeof *found, NULL), RP_OK);
        assert_true(found[0] == 0 && found[1] > 0.5F);
        x = rp_norm(put_f32(run, SHAPE(2), (float[]){NAN, 0}), 2, AXES(0), false);
        assert_f32(run, x, 0, NULL, (float[]){NAN});
        rp_run_free(run);
    }
}

static void a_step_without_a_moment_is_refused(void **state)
{
    (void)state;
    REFUSED(RP_EARG, "sgd: a moment is NULL", rp_sgd(row, NULL, row, row, 0, false, 0));
    REFUSED(RP_EARG,
            "adam: ", rp_adam(row, &row, NULL, row, row, row, row, &(rp_adam_options){0.9, 0.999, 1e-8, 0, false}));
    REFUSED(RP_EARG, "rmsprop: ", rp_rmsprop(row, &row, NULL, row, row, 0.99, 1e-8, 0, 0));
    REFUSED(RP_EARG, "lion: ", rp_lion(row, NULL, row, row, 0.9, 0.99, 0));
    REFUSED(RP_EARG, "adagrad: ", rp_adagrad(row, NULL, row, row, 1e-10, 0));
    REFUSED(RP_EARG, "lamb: ", rp_lamb(row, NULL, &row, row, row, row, row, NULL));
    REFUSED(RP_EARG, "muon: ", rp_muon(column, NULL, column, row, 0.95, true, 0));
}

static void a_transposed_convolution_has_fewer_extra_rows_than_its_stride(void **state)
{
    const size_t extra[] = {0, 2};
    const rp_placement place = {.stride = {1, 2}, .dilation = {1, 3}};

    (void)state;
    REFUSED(RP_ESHAPE, "conv2d_transpose: found 2 extra columns, expected fewer than the stride, 2",
            rp_conv2d_transpose(rp_reshape(row, 4, (size_t[]){1, 1, 3, 1}), rp_reshape(row, 4, (size_t[]){1, 3, 1, 1}),
                                (rp_tensor){0}, 1, &place, extra));
}

static void an_equation_with_an_ellipsis_is_refused_as_one(void **state)
{
    (void)state;
    REFUSED(RP_EARG, "there is no ellipsis", rp_einsum("...i,i->i", (rp_tensor[]){column, row}, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_target_of_another_shape_is_refused),
        cmocka_unit_test(what_stretches_to_the_prediction_is_a_target),
        cmocka_unit_test(numbers_out_of_range_are_refused),
        cmocka_unit_test(classes_have_a_weight_each),
        cmocka_unit_test(a_nan_stays_one_and_infinities_have_an_asinh),
        cmocka_unit_test(a_length_of_nothing_has_no_slope),
        cmocka_unit_test(a_step_without_a_moment_is_refused),
        cmocka_unit_test(a_transposed_convolution_has_fewer_extra_rows_than_its_stride),
        cmocka_unit_test(an_equation_with_an_ellipsis_is_refused_as_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
