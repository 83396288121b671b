/* SPDX-License-Identifier: Apache-2.0
 * Mistakes in calls of the public operations: each is one clear error, the first one stays, states keep their values.
 */
#include "tests/core/program/eager_step.h"

typedef void broken(rp_run *run, rp_tensor x, rp_tensor i); /* x f32[2,3], i i64[2] = {0, 9} */

static void b_add_shape(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)i;
    rp_add(x, put_f32(run, SHAPE(2), NULL));
}
static void b_add_dtype(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run;
    rp_add(x, i);
}
static void b_exp_dtype(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)x;
    rp_exp(i);
}
static void b_reshape(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_reshape(x, SHAPE(5));
}
static void b_reshape_huge(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_reshape(x, SHAPE(2, ((size_t)1 << 40) + 1));
}
static void b_rank(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_reshape(x, 9, (size_t[9]){0});
}
static void b_fill_null(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)x, (void)i;
    rp_fill(rp_step_graph(run), RP_F32, 2, NULL, 1);
}
static void b_reshape_null(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_reshape(x, 1, NULL);
}
static void b_stretch_null(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_broadcast_to(x, 3, NULL);
}
static void b_slice_null(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_slice(x, NULL, (size_t[]){1, 1});
}
static void b_pad_null(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_pad(x, (size_t[]){1, 1}, NULL);
}
static void b_axes_null(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_var(x, NULL, 1, 0, false);
}
static void b_uniform_null(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)x;
    rp_uniform(i, 0, RP_F32, 1, NULL, 0, 1);
}
static void b_gradients_null(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run;
    rp_gradients(rp_sum(x, NULL, 0, false), NULL, 1, &i);
}
static void b_gradients_nowhere(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_gradients(rp_sum(x, NULL, 0, false), &x, 1, NULL);
}
static void b_vjp_null(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run;
    rp_vjp(&x, NULL, 1, &x, 1, &i);
}
static void b_nothing_joined(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_add(x, rp_concat(NULL, 2, 0));
}
static void b_step_null(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_slice_step(x, (size_t[]){0, 0}, (size_t[]){1, 1}, NULL);
}
static void b_flip_null(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_flip(x, NULL, 1);
}
static void b_split_null(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_split(x, NULL, 2, 0, (rp_tensor[2]){{0}});
}
static void b_split_nowhere(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_split(x, (size_t[]){1, 1}, 2, 0, NULL);
}
static void b_unstack_nowhere(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_unstack(x, 0, NULL, 2);
}
static void b_chunk_nowhere(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_chunk(x, 2, 0, NULL);
}
static void b_tile_null(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_tile(x, NULL);
}
static void b_pad_with_null(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_pad_with(x, NULL, (size_t[]){1, 1}, RP_PAD_EDGE, 0);
}
static void b_tensordot_null(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_tensordot(x, x, (int[]){0}, NULL, 1);
}
static void b_meshgrid_nowhere(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)x;
    rp_meshgrid(&i, 1, NULL);
}
static void b_nothing_stacked(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_add(x, rp_stack(NULL, 2, 0));
}
static void b_nothing_summed(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_add(x, rp_einsum("ij,jk", NULL, 2));
}
static void b_extremes_nowhere(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run;
    rp_aminmax(x, NULL, 0, false, &i, NULL);
}
static void b_fft_nowhere(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run;
    rp_fft(x, rp_no_tensor(), false, NULL, &i);
}
static void b_nothing_clipped(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_mul(x, rp_clip_by_norm(NULL, 2, 1));
}
static rp_function *negative_of(rp_tensor x)
{
    rp_type type = {0};
    rp_graph *g = NULL;
    rp_function *f;

    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    assert_true(rp_shape_of(x, &type.dtype, &type.rank, type.shape));
    rp_function_return(g, rp_neg(rp_function_parameter(g, &type)));
    assert_int_equal(rp_function_finish(g, &f, NULL), RP_OK);
    return f;
}
static void b_call_nowhere(rp_run *run, rp_tensor x, rp_tensor i)
{
    rp_function *f = negative_of(x);

    (void)i;
    rp_call(rp_step_graph(run), f, &x, 1, NULL);
    rp_function_free(f);
}
static void b_map_nowhere(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)x, (void)i;
    rp_map(rp_step_graph(run), &(rp_map_options){.n_combine = 2}, NULL);
}
static void b_transpose(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_transpose(x, (int[]){0, 0});
}
static void b_transpose_out(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_transpose(x, (int[]){1, -2});
}
static void b_transpose_one(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)x;
    rp_transpose(i, NULL);
}
static void b_stretch(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_broadcast_to(x, SHAPE(2, 4));
}
static void b_stretch_huge(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_broadcast_to(x, SHAPE((size_t)1 << 40, 2, 3));
}
static void b_slice(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_slice(x, (size_t[]){0, 0}, (size_t[]){3, 1});
}
static void b_slice_huge(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_slice(x, (size_t[]){0, SIZE_MAX}, (size_t[]){1, 1});
}
static void b_pad_huge(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_pad(x, (size_t[]){0, SIZE_MAX / 2}, (size_t[]){0, SIZE_MAX / 2});
}
static void b_pad_far(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_pad(x, (size_t[]){0, (size_t)1 << 40}, (size_t[]){0, 1});
}
static void b_concat(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_concat((rp_tensor[]){x, rp_slice(x, (size_t[]){0, 1}, (size_t[]){2, 3})}, 2, 0);
}
static void b_concat_axis(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_concat(&x, 1, -3);
}
static void b_axis(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_sum(x, AXES(0, 2), false);
}
static void b_axis_twice(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_sum(x, AXES(1, -1), false);
}
static void b_axes_nine(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_mean(x, AXES(0, 1, 2, 3, 4, 5, 6, 7, 8), false);
}
static void b_argmax_axis(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_argmax(x, 5, false);
}
static void b_cumsum_axis(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_cumsum(x, -4, false);
}
static void b_max_empty(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)x, (void)i;
    rp_max(put_f32(run, SHAPE(2, 0), NULL), AXES(1), false);
}
static void b_argmax_empty(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)x, (void)i;
    rp_argmax(put_f32(run, SHAPE(2, 0), NULL), 1, false);
}
static void b_softmax_empty(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)x, (void)i;
    rp_softmax(put_f32(run, SHAPE(2, 0), NULL));
}
static void b_matmul(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_matmul(x, x);
}
static void b_gather(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run;
    rp_gather(x, i, 0);
}
static void b_gather_negative(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)i;
    rp_gather(x, put(run, RP_I32, 0, NULL, (int32_t[]){-1}), 0);
}
static void b_gather_index(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_gather(x, x, 0);
}
static void b_gather_axis(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run;
    rp_gather(x, i, 2);
}
static void b_gather_rank(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run;
    rp_gather(x, rp_reshape(i, SHAPE(2, 1, 1, 1, 1, 1, 1, 1)), 0);
}
static void b_scatter(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run;
    rp_scatter_add(x, i, 0, 9);
}
static void b_scatter_rank(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)x, (void)i;
    rp_scatter_add(put_f32(run, SHAPE(1, 1, 1, 1, 1, 1, 1, 1), NULL), put(run, RP_I64, 0, NULL, NULL), 0, 2);
}
static void b_one_hot(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)x;
    rp_one_hot(i, 9, RP_F32);
}
static void b_labels(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run;
    rp_cross_entropy(x, i);
}
static void b_layer_norm(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)i;
    rp_layer_norm(x, put_f32(run, SHAPE(2), NULL), put_f32(run, SHAPE(3), NULL), 0.1);
}
static void b_rms_norm(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)i;
    rp_rms_norm(x, put_f32(run, SHAPE(2), NULL), 0.1);
}
static void b_instance_norm(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)i;
    rp_instance_norm(x, put_f32(run, SHAPE(3), NULL), put_f32(run, SHAPE(2), NULL), 0.1);
}
static void b_dropout_rate(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run;
    rp_dropout(x, 1, i, 0);
}
static void b_dropout_rng(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_dropout(x, 0.5, x, 0);
}
static void b_stream(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)x;
    rp_uniform(i, -1, RP_F32, SHAPE(2), 0, 1);
}
static void b_fill_huge(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)x, (void)i;
    rp_fill(rp_step_graph(run), RP_F32, SHAPE((size_t)1 << 40, 2), 0);
}
static void b_fill_wrap(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)x, (void)i;
    rp_fill(rp_step_graph(run), RP_F32, SHAPE((size_t)1 << 32, (size_t)1 << 32), 0);
}
static void b_fill_wrap_empty(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)x, (void)i;
    rp_fill(rp_step_graph(run), RP_F32, SHAPE(0, SIZE_MAX), 0);
}
static void b_fill_dtype(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)x, (void)i;
    rp_fill(rp_step_graph(run), RP_DTYPE_COUNT, 0, NULL, 0);
}
static void b_outer_huge(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)x, (void)i;
    rp_tensor a = rp_broadcast_to(put_f32(run, SHAPE(1, 1), NULL), SHAPE((size_t)1 << 30, 1));

    rp_add(a, rp_transpose(a, NULL));
}
static void b_sgd(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_sgd(x, &x, x, x, 0, false, 0);
}
static void b_none_first(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_add((rp_tensor){0}, x);
}
static void b_none_second(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)run, (void)i;
    rp_add(x, (rp_tensor){0});
}
static void b_none_state(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)x, (void)i;
    rp_set_state(run, "w", rp_neg((rp_tensor){0}));
}
static void b_none_result(rp_run *run, rp_tensor x, rp_tensor i)
{
    (void)x, (void)i;
    rp_result(run, "r", (rp_tensor){0});
}

static const struct {
    broken *call;
    rp_status status;
    const char *fragment;
} mistakes[] = {
    {b_add_shape, RP_ESHAPE, "add: found f32[2,3] and f32[2]"},
    {b_add_dtype, RP_ESHAPE, "rp_cast"},
    {b_exp_dtype, RP_ESHAPE, "exp: not defined for i64[2]"},
    {b_reshape, RP_ESHAPE, "reshape: shape [5] does not hold the elements of f32[2,3], expected the same number"},
    {b_reshape_huge, RP_ESHAPE, "reshape: shape [2,1099511627777] is no shape for f32[2,3]"},
    {b_rank, RP_ESHAPE, "rank 9"},
    {b_fill_null, RP_EARG, "shape is NULL, expected an array of 2"},
    {b_reshape_null, RP_EARG, "shape is NULL, expected an array of 1"},
    {b_stretch_null, RP_EARG, "shape is NULL, expected an array of 3"},
    {b_slice_null, RP_EARG, "begin is NULL, expected an array of 2"},
    {b_pad_null, RP_EARG, "after is NULL, expected an array of 2"},
    {b_axes_null, RP_EARG, "axes is NULL, expected an array of 1"},
    {b_uniform_null, RP_EARG, "shape is NULL, expected an array of 1"},
    {b_gradients_null, RP_EARG, "wrt is NULL, expected an array of 1"},
    {b_gradients_nowhere, RP_EARG, "grad is NULL, expected an array of 1"},
    {b_vjp_null, RP_EARG, "seed is NULL, expected an array of 1"},
    {b_nothing_joined, RP_EARG, "operand 1 belongs to another graph or is no tensor"},
    {b_step_null, RP_EARG, "step is NULL, expected an array of 2"},
    {b_flip_null, RP_EARG, "axes is NULL, expected an array of 1"},
    {b_split_null, RP_EARG, "size is NULL, expected an array of 2"},
    {b_split_nowhere, RP_EARG, "out is NULL, expected an array of 2"},
    {b_unstack_nowhere, RP_EARG, "out is NULL, expected an array of 2"},
    {b_chunk_nowhere, RP_EARG, "out is NULL, expected an array of 2"},
    {b_tile_null, RP_EARG, "times is NULL, expected an array of 2"},
    {b_pad_with_null, RP_EARG, "before is NULL, expected an array of 2"},
    {b_tensordot_null, RP_EARG, "axes_b is NULL, expected an array of 1"},
    {b_meshgrid_nowhere, RP_EARG, "out is NULL, expected an array of 1"},
    {b_nothing_stacked, RP_EARG, "operand 1 belongs to another graph or is no tensor"},
    {b_nothing_summed, RP_EARG, "operand 1 belongs to another graph or is no tensor"},
    {b_extremes_nowhere, RP_EARG, "most is NULL, expected an array of 1"},
    {b_fft_nowhere, RP_EARG, "out_re is NULL, expected an array of 1"},
    {b_nothing_clipped, RP_EARG, "operand 1 belongs to another graph or is no tensor"},
    {b_call_nowhere, RP_EARG, "out is NULL, expected an array of 1"},
    {b_map_nowhere, RP_EARG, "map: the functions are NULL"},
    {b_transpose, RP_ESHAPE, "transpose: permutation [0,0] does not permute the axes of f32[2,3], expected each"},
    {b_transpose_out, RP_ESHAPE, "transpose: permutation [1,-2] does not permute the axes of f32[2,3]"},
    {b_transpose_one, RP_ESHAPE, "rank 2 or more"},
    {b_stretch, RP_ESHAPE, "broadcast_to: shape [2,4] is not what stretches from f32[2,3], expected on each axis"},
    {b_stretch_huge, RP_ESHAPE, "broadcast_to: shape [1099511627776,2,3] is no shape for f32[2,3]"},
    {b_slice, RP_ESHAPE, "slice: begin [0,0], end [3,1] do not lie in f32[2,3], expected 0 <= begin <= end"},
    {b_slice_huge, RP_ESHAPE, "slice: begin [0,-1], end [1,1] do not lie in f32[2,3]"},
    {b_pad_huge, RP_ESHAPE, "pad: before [0,9223372036854775807], after [0,9223372036854775807] do not pad f32[2,3]"},
    {b_pad_far, RP_ESHAPE, "pad: before [0,1099511627776], after [0,1] pad too far f32[2,3], expected a result of"},
    {b_concat, RP_ESHAPE, "concat: operand 1, f32[2,2], does not join operand 0, f32[2,3], at axis 0, expected types"},
    {b_concat_axis, RP_ESHAPE, "concat: axis -3 is not an axis of f32[2,3], expected 0 <= axis < 2"},
    {b_axis, RP_ESHAPE, "sum: axes [0,2]: axis 2 is out of range or repeated in f32[2,3], expected axes from -2 to 1"},
    {b_axis_twice, RP_ESHAPE, "sum: axes [1,-1]: axis -1 is out of range or repeated in f32[2,3]"},
    {b_axes_nine, RP_ESHAPE, "mean: axes [0,1,2,3,4,5,6,7,..]: axis 2 is out"},
    {b_argmax_axis, RP_ESHAPE, "argmax: axis 5 is not an axis of f32[2,3], expected 0 <= axis < 2"},
    {b_cumsum_axis, RP_ESHAPE, "cumsum: axis -4 is not an axis of f32[2,3]"},
    {b_max_empty, RP_ESHAPE, "max: axes [1] hold nothing in f32[2,0], expected at least one element"},
    {b_argmax_empty, RP_ESHAPE, "argmax: axis 1 has length 0 in f32[2,0], expected at least one element"},
    {b_softmax_empty, RP_ESHAPE, "at least one element"},
    {b_matmul, RP_ESHAPE, "[.., m, k]"},
    {b_gather, RP_EDATA, "gather: index 9 at position 1"},
    {b_gather_negative, RP_EDATA, "index -1 at position 0"},
    {b_gather_index, RP_ESHAPE, "gather: found f32[2,3] and f32[2,3], expected i32 or i64 indices"},
    {b_gather_axis, RP_ESHAPE, "gather: axis 2 is not an axis of f32[2,3]"},
    {b_gather_rank, RP_ESHAPE, "gather: found f32[2,3] and i64[2,1,1,1,1,1,1,1], expected a result of rank 8 or less"},
    {b_scatter, RP_EDATA, "scatter_add: index 9"},
    {b_scatter_rank, RP_ESHAPE, "scatter_add"},
    {b_one_hot, RP_EDATA, "one_hot: index 9"},
    {b_labels, RP_EDATA, "cross_entropy: index 9"},
    {b_layer_norm, RP_ESHAPE, "gamma and beta"},
    {b_rms_norm, RP_ESHAPE, "gamma as long as the last axis"},
    {b_instance_norm, RP_ESHAPE, "one value a channel"},
    {b_dropout_rate, RP_ESHAPE, "rate < 1"},
    {b_dropout_rng, RP_ESHAPE, "{seed, step}"},
    {b_stream, RP_ESHAPE, "stream"},
    {b_fill_huge, RP_ESHAPE, "2^40"},
    {b_fill_wrap, RP_ESHAPE, "2^40"},
    {b_fill_wrap_empty, RP_ESHAPE, "length"},
    {b_fill_dtype, RP_ESHAPE, "dtype 11"},
    {b_outer_huge, RP_ESHAPE, "2^40"},
    {b_sgd, RP_ESHAPE, "rank-0 rates"},
    {b_none_first, RP_EARG, "no tensor"},
    {b_none_second, RP_EARG, "no tensor"},
    {b_none_state, RP_EARG, "no tensor"},
    {b_none_result, RP_EARG, "no tensor"},
};

static void each_mistake_is_one_clear_error_that_stays(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(mistakes); k++) {
        rp_run *run;
        rp_tensor x, i, later;
        rp_error err = {0}, again = {0};
        float kept[2];

        assert_int_equal(rp_run_new(&run, &(rp_run_options){.threads = 1}, NULL), RP_OK);
        assert_int_equal(rp_run_add_state(run, "w", RP_F32, SHAPE(2), (float[]){1, 2}, NULL), RP_OK);
        assert_int_equal(rp_step_begin(run, NULL), RP_OK);
        x = put_f32(run, SHAPE(2, 3), (float[]){1, 2, 3, 4, 5, 6});
        i = put(run, RP_I64, SHAPE(2), (int64_t[]){0, 9});
        rp_set_state(run, "w", rp_neg(rp_state(run, "w")));
        mistakes[k].call(run, x, i);
        if (rp_graph_status(rp_step_graph(run), &err) != mistakes[k].status || !strstr(err.text, mistakes[k].fragment))
            fail_msg("mistake %zu: expected %s with \"%s\", found %s: %s", k, rp_status_name(mistakes[k].status),
                     mistakes[k].fragment, rp_status_name(err.status), err.text);
        later = rp_add(x, x); /* does nothing; a second mistake does not replace the first */
        assert_null(later.graph);
        rp_matmul(i, i);
        assert_int_equal(rp_read(run, later, kept, sizeof kept, NULL), mistakes[k].status);
        assert_int_equal(rp_step_end(run, &again), mistakes[k].status);
        assert_memory_equal(again.text, err.text, strlen(err.text)); /* and then which step */
        assert_int_equal(rp_run_get_state(run, "w", kept, sizeof kept, NULL), RP_OK);
        assert_true(kept[0] == 1 && kept[1] == 2);
        rp_run_free(run);
    }
}

/* Axes as a program's text may have them. */
static void appended_axes_are_ascending(void **state)
{
    rp_run *run = step_new();
    rp_tensor x = put_f32(run, SHAPE(2, 3), (float[]){1, 2, 3, 4, 5, 6}), out;
    rp_error err = {0};

    (void)state;
    rp_emit(x.graph, RP_OP_max, (rp_attr[RP_MAX_ATTR]){{.n = 2, .list = {1, 0}}}, &x, 1, &out);
    assert_int_equal(rp_graph_status(rp_step_graph(run), &err), RP_ESHAPE);
    if (!strstr(err.text, "max: axes [1,0] are not axes of f32[2,3], expected ascending axes"))
        fail_msg("%s", err.text);
    rp_run_free(run);
}

static void tensors_of_another_run_or_step_are_refused(void **state)
{
    rp_run *a = step_new(), *b = step_new();
    rp_tensor x = put_f32(a, SHAPE(1), (float[]){1}), y = put_f32(b, SHAPE(1), (float[]){2});
    rp_error err = {0};
    size_t before = rp_step_graph(b)->program->n_instrs;

    (void)state;
    rp_add(x, y);
    assert_int_equal(rp_step_end(a, &err), RP_EARG);
    assert_non_null(strstr(err.text, "another graph"));
    assert_int_equal(rp_step_begin(a, NULL), RP_OK);
    rp_result(a, "r", y);
    assert_int_equal(rp_step_end(a, &err), RP_EARG);
    assert_non_null(strstr(err.text, "another graph"));
    assert_int_equal(rp_step_begin(a, NULL), RP_OK);
    assert_int_equal(rp_read(a, y, (float[1]){0}, 4, &err), RP_EARG);
    assert_int_equal(rp_step_end(a, NULL), RP_EARG);
    /* the other run took no harm */
    assert_int_equal(rp_step_graph(b)->program->n_instrs, before);
    assert_int_equal(rp_step_end(b, NULL), RP_OK);

    rp_neg(y); /* after its step */
    assert_int_equal(rp_graph_status(rp_step_graph(b), &err), RP_EARG);
    assert_int_equal(rp_step_begin(b, NULL), RP_OK);
    assert_false(rp_shape_of(y, &(rp_dtype){0}, &(int){0}, (size_t[RP_MAX_RANK]){0}));
    assert_int_equal(rp_step_end(b, &err), RP_EARG);
    assert_non_null(strstr(err.text, "earlier step"));
    rp_run_free(a);
    rp_run_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_mistake_is_one_clear_error_that_stays),
        cmocka_unit_test(appended_axes_are_ascending),
        cmocka_unit_test(tensors_of_another_run_or_step_are_refused),
    };

    return cmocka_run_group_tests_name("op mistakes", tests, NULL, NULL);
}
