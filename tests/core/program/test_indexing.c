/* SPDX-License-Identifier: Apache-2.0
 * Order, places along an axis and rearranging (rp/indexing.h), eagerly: values worked out by hand; and every operation
 * on operands whose steps are negative, against copies of them. */
#include "tests/core/program/eager_step.h"
#include "tests/core/program/op_samples.h"

static const float nan_f32 = __builtin_nanf(""), inf_f32 = __builtin_inff();

static rp_tensor put_i64(rp_run *run, int rank, const size_t *shape, const int64_t *x)
{
    return put(run, RP_I64, rank, shape, x);
}

static void assert_i64(rp_run *run, rp_tensor x, int rank, const size_t *shape, const int64_t *expected)
{
    assert_values(run, x, RP_I64, rank, shape, expected);
}

static rp_tensor six(rp_run *run)
{
    return put_f32(run, SHAPE(2, 3), (float[]){1, 2, 3, 4, 5, 6});
}

/* The lines of CONTRACT 4.8. */
static void order_is_that_of_the_text(void **state)
{
    rp_run *run = step_new();
    rp_tensor x = put_f32(run, SHAPE(6), (float[]){2, nan_f32, -0.0f, 0, 2, -inf_f32}), i, y;
    rp_tensor line = put_f32(run, SHAPE(4), (float[]){1, 2, 2, 4}),
              v = put_f32(run, SHAPE(3), (float[]){2, 0, nan_f32});

    (void)state;
    y = rp_sort(x, 0, false, &i);
    assert_f32(run, y, SHAPE(6), (float[]){-inf_f32, -0.0f, 0, 2, 2, nan_f32});
    assert_i64(run, i, SHAPE(6), (int64_t[]){5, 2, 3, 0, 4, 1});
    y = rp_sort(x, -1, true, &i);
    assert_f32(run, y, SHAPE(6), (float[]){nan_f32, 2, 2, -0.0f, 0, -inf_f32});
    assert_i64(run, i, SHAPE(6), (int64_t[]){1, 0, 4, 2, 3, 5});
    y = rp_topk(x, 2, 0, false, &i);
    assert_f32(run, y, SHAPE(2), (float[]){-inf_f32, -0.0f});
    assert_i64(run, i, SHAPE(2), (int64_t[]){5, 2});
    assert_i64(run, rp_argsort(x, 0, false), SHAPE(6), (int64_t[]){5, 2, 3, 0, 4, 1});
    assert_i64(run, rp_searchsorted(line, v, false), SHAPE(3), (int64_t[]){1, 0, 4});
    assert_i64(run, rp_searchsorted(line, v, true), SHAPE(3), (int64_t[]){3, 0, 4});
    /* another axis, no places wanted, integers, nothing */
    assert_f32(run, rp_sort(six(run), 0, true, NULL), SHAPE(2, 3), (float[]){4, 5, 6, 1, 2, 3});
    y = rp_topk(six(run), 1, 0, true, &i);
    assert_f32(run, y, SHAPE(1, 3), (float[]){4, 5, 6});
    assert_i64(run, i, SHAPE(1, 3), (int64_t[]){1, 1, 1});
    assert_i64(run, rp_sort(put_i64(run, SHAPE(3), (int64_t[]){INT64_MAX, INT64_MIN, 0}), 0, false, NULL), SHAPE(3),
               (int64_t[]){INT64_MIN, 0, INT64_MAX});
    assert_f32(run, rp_topk(six(run), 0, 1, true, NULL), SHAPE(2, 0), NULL);
    rp_run_free(run);
}

/* CONTRACT 7.15's example; then corners the other way round, a middle and lengths, two images and two classes. */
static void boxes_that_a_better_one_covers_are_left_out(void **state)
{
    rp_run *run = step_new();
    rp_tensor boxes = put_f32(run, SHAPE(1, 3, 4), (float[]){0, 0, 1, 1, 0, 0.25f, 1, 1.25f, 2, 2, 3, 3});
    rp_tensor scores = put_f32(run, SHAPE(1, 1, 3), (float[]){0.5f, 0.75f, 0.5f}), middle, pair, classes;

    (void)state;
    assert_i64(run, rp_non_max_suppression(boxes, scores, 3, 0.5, 0, false), SHAPE(1, 1, 3), (int64_t[]){1, 2, -1});
    assert_i64(run, rp_non_max_suppression(boxes, scores, 3, 0.75, 0, false), SHAPE(1, 1, 3), (int64_t[]){1, 0, 2});
    assert_i64(run, rp_non_max_suppression(boxes, scores, 1, 0.75, 0, false), SHAPE(1, 1, 1), (int64_t[]){1});
    assert_i64(run, rp_non_max_suppression(boxes, scores, 3, 0.75, 0.5, false), SHAPE(1, 1, 3), (int64_t[]){1, -1, -1});
    assert_i64(run, rp_non_max_suppression(boxes, scores, 0, 0.5, 0, false), SHAPE(1, 1, 0), NULL);
    middle = put_f32(run, SHAPE(1, 3, 4), (float[]){0.5f, 0.5f, 1, 1, 0.5f, 0.75f, 1, 1, 2.5f, 2.5f, 1, 1});
    assert_i64(run, rp_non_max_suppression(middle, scores, 3, 0.5, -(double)inf_f32, true), SHAPE(1, 1, 3),
               (int64_t[]){1, 2, -1});
    /* 0.6 of both together is more than 0.59; a NaN score is not above anything; of equal scores the first */
    pair = put_f32(run, SHAPE(2, 3, 4),
                   (float[]){1, 1, 0, 0, 1, 1.25f, 0, 0.25f, 3, 3, 2, 2, 0, 0, 1, 1, 5, 5, 6, 6, 0, 0, 1, 1});
    classes = put_f32(run, SHAPE(2, 2, 3), (float[]){0.5f, 0.75f, 0.5f, nan_f32, 0.25f, 0.125f, 1, 1, 1, -1, -2, -1});
    assert_i64(run, rp_non_max_suppression(pair, classes, 2, 0.59, 0, false), SHAPE(2, 2, 2),
               (int64_t[]){1, 2, 1, 2, 0, 1, -1, -1});
    rp_run_free(run);
}

static void places_along_an_axis_are_taken_and_put(void **state)
{
    rp_run *run = step_new();
    rp_tensor x = six(run), i = put_i64(run, SHAPE(2, 2), (int64_t[]){2, 0, 1, 1}),
              down = put(run, RP_I32, SHAPE(1, 3), (int32_t[]){1, 0, 1});
    rp_tensor ones = put_f32(run, SHAPE(3), (float[]){1, 1, 1}), at = put_i64(run, SHAPE(4), (int64_t[]){2, 0, 2, 2}),
              s = put_f32(run, SHAPE(4), (float[]){0x1p24f, 5, 1, 1});

    (void)state;
    assert_f32(run, rp_take_along(x, i, 1), SHAPE(2, 2), (float[]){3, 1, 5, 5});
    assert_f32(run, rp_take_along(x, down, 0), SHAPE(1, 3), (float[]){4, 2, 6});
    assert_f32(run, rp_scatter_along(ones, at, s, 0, RP_SCATTER_SET), SHAPE(3), (float[]){5, 1, 1});
    assert_f32(run, rp_scatter_along(ones, at, s, 0, RP_SCATTER_ADD), SHAPE(3), (float[]){6, 1, 0x1p24f});
    assert_f32(run, rp_scatter_along(ones, at, s, 0, RP_SCATTER_MULTIPLY), SHAPE(3), (float[]){5, 1, 0x1p24f});
    assert_f32(run, rp_scatter_along(ones, at, s, 0, RP_SCATTER_MAX), SHAPE(3), (float[]){5, 1, 0x1p24f});
    assert_f32(run, rp_scatter_along(ones, at, s, 0, RP_SCATTER_MIN), SHAPE(3), (float[]){1, 1, 1});
    assert_f32(run, rp_scatter_along(x, i, put_f32(run, SHAPE(2, 2), (float[]){7, 8, 9, 10}), 1, RP_SCATTER_SET),
               SHAPE(2, 3), (float[]){8, 2, 7, 4, 10, 6});
    assert_f32(run,
               rp_index_put(x, put_i64(run, SHAPE(2), (int64_t[]){1, 1}),
                            put_f32(run, SHAPE(2, 3), (float[]){1, 2, 3, 4, 5, 6}), 0, RP_SCATTER_ADD),
               SHAPE(2, 3), (float[]){1, 2, 3, 9, 12, 15});
    assert_f32(run, rp_gather_nd(x, put_i64(run, SHAPE(2, 2), (int64_t[]){1, 2, 0, 1})), SHAPE(2), (float[]){6, 2});
    assert_f32(run, rp_gather_nd(x, put_i64(run, SHAPE(2, 1), (int64_t[]){1, 0})), SHAPE(2, 3),
               (float[]){4, 5, 6, 1, 2, 3});
    assert_f32(run,
               rp_scatter_nd(x, put_i64(run, SHAPE(2, 2), (int64_t[]){1, 2, 1, 2}),
                             put_f32(run, SHAPE(2), (float[]){7, 8}), RP_SCATTER_SET),
               SHAPE(2, 3), (float[]){1, 2, 3, 4, 5, 8});
    for (int k = 0; k < 70; k++) /* whenever the graph's table of values grows */
        assert_i64(run, rp_bincount(i, rp_no_tensor(), 4), SHAPE(4), (int64_t[]){1, 2, 1, 0});
    assert_f32(run, rp_bincount(at, s, 3), SHAPE(3), (float[]){5, 0, 0x1p24f});
    assert_i64(run, rp_histogram(put_f32(run, SHAPE(7), (float[]){0, 0.5f, 1, 2, -0.1f, 2.1f, nan_f32}), 2, 0, 2),
               SHAPE(2), (int64_t[]){2, 2});
    assert_f32(run, rp_embedding_bag(x, put_i64(run, SHAPE(1, 2), (int64_t[]){0, 1}), RP_BAG_SUM), SHAPE(1, 3),
               (float[]){5, 7, 9});
    assert_f32(run, rp_embedding_bag(x, put_i64(run, SHAPE(1, 2), (int64_t[]){0, 1}), RP_BAG_MEAN), SHAPE(1, 3),
               (float[]){2.5f, 3.5f, 4.5f});
    assert_f32(run, rp_embedding_bag(x, put_i64(run, SHAPE(1, 2), (int64_t[]){0, 1}), RP_BAG_MAX), SHAPE(1, 3),
               (float[]){4, 5, 6});
    rp_run_free(run);
}

static void as_many_as_there_are_are_found(void **state)
{
    rp_run *run = step_new();
    rp_tensor x = six(run), mask = rp_gt(x, rp_fill(x.graph, RP_F32, 0, NULL, 3)), y, inverse, counts;
    int64_t n = 0;

    (void)state;
    assert_int_equal(rp_read(run, rp_count_true(mask), &n, sizeof n, NULL), RP_OK);
    assert_int_equal(n, 3);
    assert_i64(run, rp_nonzero(mask, 3), SHAPE(3, 2), (int64_t[]){1, 0, 1, 1, 1, 2});
    assert_f32(run, rp_masked_select(x, mask, 3), SHAPE(3), (float[]){4, 5, 6});
    assert_i64(run, rp_nonzero(rp_lt(x, x), 0), SHAPE(0, 2), NULL);
    x = put_f32(run, SHAPE(2, 3), (float[]){2, 1, 2, 3, 1, 2});
    assert_i64(run, rp_count_unique(x), 0, NULL, (int64_t[]){3});
    y = rp_unique(x, 3, &inverse, &counts);
    assert_f32(run, y, SHAPE(3), (float[]){1, 2, 3});
    assert_i64(run, inverse, SHAPE(2, 3), (int64_t[]){1, 0, 1, 2, 0, 1});
    assert_i64(run, counts, SHAPE(3), (int64_t[]){2, 3, 1});
    y = rp_unique(put_f32(run, SHAPE(0), NULL), 0, &inverse, &counts);
    assert_f32(run, y, SHAPE(0), NULL);
    assert_i64(run, counts, SHAPE(0), NULL);
    rp_run_free(run);
}

/* The number is the program's: another one is an error of the step, which says how far apart the two are. */
static void another_number_than_told_is_an_error(void **state)
{
    static const size_t wrong[] = {2, 4, 0, 7};

    (void)state;
    for (size_t k = 0; k < 3 * COUNT(wrong); k++) {
        rp_run *run = step_new();
        rp_tensor x = six(run), mask = rp_gt(x, rp_fill(x.graph, RP_F32, 0, NULL, 3));
        rp_error err = {0};

        if (k % 3 == 0)
            (void)rp_nonzero(mask, wrong[k / 3]);
        else if (k % 3 == 1)
            (void)rp_masked_select(x, mask, wrong[k / 3]);
        else
            (void)rp_unique(rp_cast(mask, RP_F32), wrong[k / 3] == 2 ? 3 : wrong[k / 3], NULL, NULL);
        assert_int_equal(rp_step_end(run, &err), RP_EDATA);
        assert_non_null(strstr(err.text, "out of range"));
        rp_run_free(run);
    }
}

static void views_and_copies_rearrange(void **state)
{
    rp_run *run = step_new();
    rp_tensor x = six(run), v = put_f32(run, SHAPE(5), (float[]){0, 1, 2, 3, 4}), out[3];

    (void)state;
    assert_f32(run, rp_slice_step(v, (size_t[]){4}, (size_t[]){3}, (int64_t[]){-2}), SHAPE(3), (float[]){4, 2, 0});
    assert_f32(run, rp_slice_step(x, (size_t[]){1, 0}, (size_t[]){2, 2}, (int64_t[]){-1, 2}), SHAPE(2, 2),
               (float[]){4, 6, 1, 3});
    assert_f32(run, rp_flip(x, AXES(1)), SHAPE(2, 3), (float[]){3, 2, 1, 6, 5, 4});
    assert_f32(run, rp_flip(x, AXES(0, -1)), SHAPE(2, 3), (float[]){6, 5, 4, 3, 2, 1});
    assert_f32(run, rp_roll(v, 2, 0), SHAPE(5), (float[]){3, 4, 0, 1, 2});
    assert_f32(run, rp_roll(v, -6, 0), SHAPE(5), (float[]){1, 2, 3, 4, 0});
    assert_f32(run, rp_stack((rp_tensor[]){x, x}, 2, 1), SHAPE(2, 2, 3), (float[]){1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6});
    rp_unstack(x, 1, out, 3);
    assert_f32(run, out[1], SHAPE(2), (float[]){2, 5});
    rp_split(v, (size_t[]){2, 0, 3}, 3, 0, out);
    assert_f32(run, out[2], SHAPE(3), (float[]){2, 3, 4});
    rp_chunk(v, 3, 0, out);
    assert_f32(run, out[1], SHAPE(2), (float[]){2, 3});
    assert_f32(run, out[2], SHAPE(1), (float[]){4});
    assert_f32(run, rp_tile(x, (size_t[]){2, 2}), SHAPE(4, 6),
               (float[]){1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6, 1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6});
    assert_f32(run, rp_repeat_interleave(x, 2, 1), SHAPE(2, 6), (float[]){1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6});
    assert_f32(run, rp_tril(x, 0), SHAPE(2, 3), (float[]){1, 0, 0, 4, 5, 0});
    assert_f32(run, rp_triu(x, 1), SHAPE(2, 3), (float[]){0, 2, 3, 0, 0, 6});
    assert_f32(run, rp_diagonal(x, 0), SHAPE(2), (float[]){1, 5});
    assert_f32(run, rp_diagonal(x, 1), SHAPE(2), (float[]){2, 6});
    assert_f32(run, rp_diagonal(x, -1), SHAPE(1), (float[]){4});
    assert_f32(run, rp_diagonal(x, 5), SHAPE(0), NULL);
    rp_meshgrid((rp_tensor[]){out[1], v}, 2, out);
    assert_f32(run, out[0], SHAPE(2, 5), (float[]){2, 2, 2, 2, 2, 3, 3, 3, 3, 3});
    assert_f32(run, out[1], SHAPE(2, 5), (float[]){0, 1, 2, 3, 4, 0, 1, 2, 3, 4});
    rp_run_free(run);
}

static void padding_comes_from_where_it_says(void **state)
{
    static const size_t two[] = {2}, one[] = {1}, zero[] = {0, 0}, right[] = {0, 1};
    rp_run *run = step_new();
    rp_tensor v = put_f32(run, SHAPE(3), (float[]){1, 2, 3});

    (void)state;
    assert_f32(run, rp_pad_with(v, two, one, RP_PAD_CONSTANT, 7), SHAPE(6), (float[]){7, 7, 1, 2, 3, 7});
    assert_f32(run, rp_pad_with(v, two, one, RP_PAD_REFLECT, 0), SHAPE(6), (float[]){3, 2, 1, 2, 3, 2});
    assert_f32(run, rp_pad_with(v, two, one, RP_PAD_EDGE, 0), SHAPE(6), (float[]){1, 1, 1, 2, 3, 3});
    assert_f32(run, rp_pad_with(v, two, one, RP_PAD_CIRCULAR, 0), SHAPE(6), (float[]){2, 3, 1, 2, 3, 1});
    assert_f32(run, rp_pad_with(six(run), zero, right, RP_PAD_REFLECT, 0), SHAPE(2, 4),
               (float[]){1, 2, 3, 2, 4, 5, 6, 5});
    rp_run_free(run);
}

static void products_over_named_axes(void **state)
{
    rp_run *run = step_new();
    rp_tensor x = six(run), v = put_f32(run, SHAPE(3), (float[]){1, 10, 100}), t = rp_transpose(x, NULL), two, square;

    (void)state;
    two = rp_stack((rp_tensor[]){x, x}, 2, 0);
    square = put_f32(run, SHAPE(2, 2), (float[]){1, 2, 3, 4});
    assert_f32(run, rp_einsum("ij,j->i", (rp_tensor[]){x, v}, 2), SHAPE(2), (float[]){321, 654});
    assert_f32(run, rp_einsum("ij,jk", (rp_tensor[]){x, t}, 2), SHAPE(2, 2), (float[]){14, 32, 32, 77});
    assert_f32(run, rp_einsum("ij , jk -> ki", (rp_tensor[]){square, x}, 2), SHAPE(3, 2),
               (float[]){9, 19, 12, 26, 15, 33});
    assert_f32(run, rp_einsum("bij,bjk->bik", (rp_tensor[]){two, rp_stack((rp_tensor[]){t, t}, 2, 0)}, 2),
               SHAPE(2, 2, 2), (float[]){14, 32, 32, 77, 14, 32, 32, 77});
    assert_f32(run, rp_einsum("ii", &square, 1), 0, NULL, (float[]){5});
    assert_f32(run, rp_einsum("ii->i", &square, 1), SHAPE(2), (float[]){1, 4});
    assert_f32(run, rp_einsum("ij->ji", &x, 1), SHAPE(3, 2), (float[]){1, 4, 2, 5, 3, 6});
    assert_f32(run, rp_einsum("ij->", &x, 1), 0, NULL, (float[]){21});
    assert_f32(run, rp_einsum("i,j->ij", (rp_tensor[]){v, v}, 2), SHAPE(3, 3),
               (float[]){1, 10, 100, 10, 100, 1000, 100, 1000, 10000});
    assert_f32(run, rp_einsum("ij,ij,j->i", (rp_tensor[]){x, x, v}, 3), SHAPE(2), (float[]){941, 3866});
    assert_f32(run, rp_einsum("bij,kj->ibk", (rp_tensor[]){two, x}, 2), SHAPE(2, 2, 2),
               (float[]){14, 32, 14, 32, 32, 77, 32, 77});
    assert_f32(run, rp_tensordot(two, x, (int[]){1, 2}, (int[]){0, 1}, 2), SHAPE(2), (float[]){91, 91});
    assert_f32(run, rp_tensordot(v, square, NULL, NULL, 0), SHAPE(3, 2, 2),
               (float[]){1, 2, 3, 4, 10, 20, 30, 40, 100, 200, 300, 400});
    rp_run_free(run);
}

/* ---- mistakes ---- */

typedef void broken(rp_run *run, rp_tensor x, rp_tensor i); /* x f32[2,3], i i64[2,1] = {0, 9} */

#define MISTAKE(name, ...) \
    static void name(rp_run *run, rp_tensor x, rp_tensor i) \
    { \
        (void)run, (void)i; \
        __VA_ARGS__; \
    }
MISTAKE(m_sort_axis, rp_sort(x, 2, false, NULL))
MISTAKE(m_sort_scalar,
        rp_emit(x.graph, RP_OP_sort, NULL, (rp_tensor[]){rp_sum(x, NULL, 0, false)}, 1, (rp_tensor[3]){0}))
MISTAKE(m_topk, rp_topk(x, 4, 1, true, NULL))
MISTAKE(m_take_shape, rp_take_along(x, rp_transpose(i, NULL), 1))
MISTAKE(m_take_index, rp_take_along(x, i, 1))
MISTAKE(m_take_dtype, rp_take_along(x, x, 1))
MISTAKE(m_scatter_mode, rp_scatter_along(x, i, rp_slice(x, (size_t[]){0, 0}, (size_t[]){2, 1}), 1, (rp_scatter)9))
MISTAKE(m_scatter_source, rp_scatter_along(x, i, x, 1, RP_SCATTER_SET))
MISTAKE(m_scatter_bool, rp_tensor m = rp_gt(x, x);
        rp_scatter_along(m, i, rp_slice(m, (size_t[]){0, 0}, (size_t[]){2, 1}), 1, RP_SCATTER_MAX))
MISTAKE(m_nd, rp_gather_nd(x, put_i64(run, SHAPE(1, 2), (int64_t[]){0, 4})))
MISTAKE(m_nd_rank, rp_gather_nd(x, put_i64(run, SHAPE(1, 3), (int64_t[]){0, 0, 0})))
MISTAKE(m_sorted, rp_searchsorted(x, rp_transpose(x, NULL), false))
MISTAKE(m_step, rp_slice_step(x, (size_t[]){0, 2}, (size_t[]){1, 3}, (int64_t[]){1, -2}))
MISTAKE(m_step_none, rp_slice_step(x, (size_t[]){0, 2}, (size_t[]){1, 1}, (int64_t[]){1, 0}))
MISTAKE(m_split, rp_tensor out[2]; rp_split(x, (size_t[]){1, 1}, 2, 1, out))
MISTAKE(m_pad, rp_pad_with(x, (size_t[]){0, 3}, (size_t[]){0, 0}, RP_PAD_REFLECT, 0))
MISTAKE(m_einsum_text, rp_einsum("ij,jk->iq", (rp_tensor[]){x, x}, 2))
MISTAKE(m_einsum_length, rp_einsum("ij,jk->ik", (rp_tensor[]){x, x}, 2))
MISTAKE(m_einsum_rank, rp_einsum("ijk->i", &x, 1))
MISTAKE(m_dot, rp_tensordot(x, x, (int[]){0}, (int[]){1}, 1))
MISTAKE(m_mask, rp_nonzero(x, 1))
MISTAKE(m_boxes, rp_non_max_suppression(x, x, 1, 0.5, 0, false))
MISTAKE(m_scores, rp_non_max_suppression(rp_fill(x.graph, RP_F32, 3, (size_t[]){1, 2, 4}, 0), x, 1, 0.5, 0, false))
MISTAKE(m_kept, rp_tensor b = rp_fill(x.graph, RP_F32, 3, (size_t[]){1, 3, 4}, 0);
        rp_non_max_suppression(b, rp_reshape(x, 3, (size_t[]){1, 2, 3}), SIZE_MAX, 0.5, 0, false))
MISTAKE(m_overlap, rp_tensor b = rp_fill(x.graph, RP_F32, 3, (size_t[]){1, 3, 4}, 0);
        rp_non_max_suppression(b, rp_reshape(x, 3, (size_t[]){1, 2, 3}), 1, -1, 0, false))
MISTAKE(m_order,
        rp_tensor in[3] = {rp_fill(x.graph, RP_F32, 3, (size_t[]){1, 1, 4}, 0),
                           rp_fill(x.graph, RP_F32, 3, (size_t[]){1, 2, 1}, 0), rp_reshape(i, 3, (size_t[]){1, 2, 1})};
        rp_emit(x.graph, RP_OP_non_max, (rp_attr[RP_MAX_ATTR]){{.i = 1}, {.r = 0.5}}, in, 3, (rp_tensor[3]){0}))
MISTAKE(m_bits, rp_bitcast(x, RP_I64))
MISTAKE(m_bits_bool, rp_bitcast(rp_cast(x, RP_U8), RP_BOOL))

static const struct {
    broken *call;
    rp_status status;
    const char *fragment;
} mistakes[] = {
    {m_sort_axis, RP_ESHAPE, "sort: axis 2 is not an axis of f32[2,3], expected -2 to 1"},
    {m_sort_scalar, RP_ESHAPE, "sort: found f32[], expected rank 1 or more"},
    {m_topk, RP_ESHAPE, "topk: found k 4 for f32[2,3], expected 0 to the length of the last axis"},
    {m_take_shape, RP_ESHAPE, "take_along: found f32[2,3] and i64[1,2], expected i32 or i64 indices with the first's"},
    {m_take_index, RP_EDATA, "take_along: index 9 at position 1 is out of range, expected 0 to 2"},
    {m_take_dtype, RP_ESHAPE, "take_along: found f32[2,3] and f32[2,3], expected i32 or i64"},
    {m_scatter_mode, RP_ESHAPE, "scatter_along: found mode 9, expected 0 (set), 1 (add)"},
    {m_scatter_source, RP_ESHAPE, "scatter_along: found i64[2,1] and f32[2,3], expected a source of the index's shape"},
    {m_scatter_bool, RP_ESHAPE, "scatter_along: found bool[2,3], expected numbers, or mode 0"},
    {m_nd, RP_EDATA, "gather: index 4 at position 0 is out of range, expected 0 to 2"},
    {m_nd_rank, RP_ESHAPE, "gather_nd: found f32[2,3] and places i64[1,3], expected [.., r]"},
    {m_sorted, RP_ESHAPE, "searchsorted: found f32[2,3] and f32[3,2], expected one dtype"},
    {m_step, RP_ESHAPE, "slice_step: begin [0,2], size [1,3], step [1,-2] do not lie in f32[2,3]"},
    {m_step_none, RP_ESHAPE, "slice_step: begin [0,2], size [1,1], step [1,0] do not lie"},
    {m_split, RP_ESHAPE, "split: the sizes do not add up to 3, the length of axis 1"},
    {m_pad, RP_ESHAPE, "pad_with: found 3 elements at axis 1 of length 3, expected below the length"},
    {m_einsum_text, RP_EARG, "einsum: \"ij,jk->iq\": axes of one letter have different lengths"},
    {m_einsum_length, RP_EARG, "axes of one letter have different lengths"},
    {m_einsum_rank, RP_EARG, "an operand has another rank than letters"},
    {m_dot, RP_ESHAPE, "tensordot: axes 0 and 1 are not of one length"},
    {m_mask, RP_ESHAPE, "nonzero: found a mask of f32, expected bool"},
    {m_boxes, RP_ESHAPE, "non_max: found f32[2,3], expected boxes [n, m, 4]"},
    {m_scores, RP_ESHAPE,
     "non_max: found f32[1,2,4] and f32[2,3], expected boxes [n, m, 4] and scores [n, classes, m]"},
    {m_kept, RP_ESHAPE, "non_max: found k -1, expected how many boxes of a class are kept at most"},
    {m_overlap, RP_ESHAPE, "a finite overlap of 0 or more"},
    {m_order, RP_EDATA, "non_max: index 9 at position 1 is out of range, expected 0 to 0"},
    {m_bits, RP_ESHAPE, "bitcast: found f32[2,3] to i64, expected a type of as many bytes an element"},
    {m_bits_bool, RP_ESHAPE, "bitcast: found u8[2,3] to bool"},
};

static void each_mistake_is_one_clear_error(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(mistakes); k++) {
        rp_run *run = step_new();
        rp_error err = {0};

        mistakes[k].call(run, six(run), put_i64(run, SHAPE(2, 1), (int64_t[]){0, 9}));
        if (rp_step_end(run, &err) != mistakes[k].status || !strstr(err.text, mistakes[k].fragment))
            fail_msg("mistake %zu: expected %s with \"%s\", found %s: %s", k, rp_status_name(mistakes[k].status),
                     mistakes[k].fragment, rp_status_name(err.status), err.text);
        rp_run_free(run);
    }
}

/* ---- operands whose steps are negative ---- */

static size_t fill_turned(const op_sample *s, int i, const unsigned char *plain, unsigned char *turned)
{
    const size_t n = rp_type_count(&s->in[i]), size = rp_dtype_size(s->in[i].dtype);

    for (size_t k = 0; k < n; k++)
        memcpy(turned + k * size, plain + (n - 1 - k) * size, size);
    return n * size;
}

/* Operand i as it is, or turned round in memory and turned back by a view along every axis. */
static rp_tensor operand(rp_run *run, const op_sample *s, int i, bool view)
{
    static unsigned char plain[1 << 12], turned[1 << 12];
    int axes[RP_MAX_RANK];
    rp_tensor x;

    sample_fill(s, (size_t)i, plain);
    (void)fill_turned(s, i, plain, turned);
    for (int d = 0; d < s->in[i].rank; d++)
        axes[d] = d;
    x = put(run, s->in[i].dtype, s->in[i].rank, s->in[i].shape, view ? turned : plain);
    return view ? rp_flip(x, axes, s->in[i].rank) : x;
}

static void negative_steps_have_the_bits_of_copies(void **state)
{
    rp_run *run = step_new();
    size_t checked = 0;

    (void)state;
    for (size_t k = 0; k < OP_SAMPLES; k++) {
        const op_sample *s = &op_samples[k];
        rp_tensor in[7], want[RP_MAX_OUT], found[RP_MAX_OUT];

        for (int i = 0; i < s->n_in; i++)
            in[i] = operand(run, s, i, false);
        rp_emit(rp_step_graph(run), s->op, s->attr, in, (size_t)s->n_in, want);
        for (int i = 0; i < s->n_in; i++)
            in[i] = operand(run, s, i, true);
        rp_emit(rp_step_graph(run), s->op, s->attr, in, (size_t)s->n_in, found);
        for (int o = 0; o < rp_op_get(s->op)->n_out && s->n_in > 0; o++) {
            unsigned char a[1 << 12], b[1 << 12];
            rp_error err = {0};
            const size_t bytes = rp_type_bytes(rp_tensor_type(want[o]));

            if (rp_read(run, want[o], a, bytes, &err) != RP_OK || rp_read(run, found[o], b, bytes, &err) != RP_OK)
                fail_msg("%s: %s", rp_op_get(s->op)->name, err.text);
            if (memcmp(a, b, bytes) != 0)
                fail_msg("%s, sample %zu: result %d has other bits", rp_op_get(s->op)->name, k, o);
            checked++;
        }
    }
    assert_true(checked > 200);
    rp_run_free(run);
}

/* Rows from a table as it lies and from one of wider rows, a slice; each bag so large that its rows are not gathered as
 * a whole. Outside of a call the gather is made, and then reduced. */
static void large_bags_have_the_bits_of_rows_gathered_and_reduced(void **state)
{
    enum { ROWS = 300, WIDTH = 1030, BAGS = 40, LENGTH = 9, KEPT = 900 };
    rp_run *run = step_new();
    float *x = malloc(ROWS * WIDTH * sizeof *x), *found = malloc(BAGS * WIDTH * sizeof *found);
    float *expected = malloc(BAGS * WIDTH * sizeof *expected);
    int64_t index[BAGS * LENGTH];
    rp_tensor table[2], at;

    (void)state;
    assert_true(x && found && expected);
    for (size_t i = 0; i < ROWS * WIDTH; i++)
        x[i] = (float)((int)(i * 7919 % 20011) - 10005) * 0.0137f;
    for (size_t i = 0; i < BAGS * LENGTH; i++)
        index[i] = (int64_t)(i * 104729 % ROWS);
    table[0] = put_f32(run, SHAPE(ROWS, WIDTH), x);
    table[1] = rp_slice(table[0], (size_t[]){0, 17}, (size_t[]){ROWS, 17 + KEPT});
    at = put_i64(run, SHAPE(BAGS, LENGTH), index);
    for (int i = 0; i < 2; i++)
        for (int how = RP_BAG_SUM; how <= RP_BAG_MAX; how++) {
            const size_t bytes = BAGS * (size_t)(i ? KEPT : WIDTH) * sizeof *found;
            rp_tensor taken = rp_gather(table[i], at, 0), by_hand;

            by_hand = how == RP_BAG_SUM    ? rp_sum(taken, (int[]){1}, 1, false)
                      : how == RP_BAG_MEAN ? rp_mean(taken, (int[]){1}, 1, false)
                                           : rp_max(taken, (int[]){1}, 1, false);
            assert_int_equal(rp_read(run, by_hand, expected, bytes, NULL), RP_OK);
            assert_int_equal(rp_read(run, rp_embedding_bag(table[i], at, (rp_bag)how), found, bytes, NULL), RP_OK);
            assert_memory_equal(found, expected, bytes);
        }
    rp_run_free(run);
    free(x);
    free(found);
    free(expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_is_that_of_the_text),
        cmocka_unit_test(boxes_that_a_better_one_covers_are_left_out),
        cmocka_unit_test(places_along_an_axis_are_taken_and_put),
        cmocka_unit_test(as_many_as_there_are_are_found),
        cmocka_unit_test(another_number_than_told_is_an_error),
        cmocka_unit_test(views_and_copies_rearrange),
        cmocka_unit_test(padding_comes_from_where_it_says),
        cmocka_unit_test(products_over_named_axes),
        cmocka_unit_test(large_bags_have_the_bits_of_rows_gathered_and_reduced),
        cmocka_unit_test(each_mistake_is_one_clear_error),
        cmocka_unit_test(negative_steps_have_the_bits_of_copies),
    };

    return cmocka_run_group_tests_name("indexing", tests, NULL, NULL);
}
