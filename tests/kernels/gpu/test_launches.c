/* SPDX-License-Identifier: Apache-2.0
 * Launches of tensors that no host can execute, with counts around 2^31, 2^32, 2^33 and up to the 2^40 elements that a
 * tensor may have: the driver (recording.h) is told of grids that cover all that is to be made, within what it takes.
 * Which of its ways a kernel goes is free. Chains and the hash: test_chain_launches.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/walk.h"
#include "tests/kernels/gpu/launch_check.h"
#include "tests/kernels/gpu/recorded_device.h"

static void launch(rp_kernel_id kernel, const rp_view *in, size_t n_in, const rp_view *out, size_t n_out,
                   const rp_attr *attr)
{
    static const rp_attr none[RP_MAX_ATTR];
    const rp_kernel_args args = {in, n_in, out, n_out, attr ? attr : none};
    launch_check check = {.args = &args};
    const rp_kernel_table *reference;
    const char *wrong;
    rp_status status;

    on_launch(launch_check_see, &check);
    status = rp_device_launch(device, kernel, &args, NULL, &err);
    on_launch(NULL, NULL);
    if (status != RP_OK)
        fail_msg("%s of %zu x %zu: %s", rp_kernel_name(kernel), out[0].shape[0], out[0].rank > 1 ? out[0].shape[1] : 1,
                 err.text);
    wrong = launch_check_end(&check);
    assert_int_equal(rp_kernel_table_get(&reference, "ref", &err), RP_OK);
    if (wrong == NULL && check.reference_items > 0 && check.reference_items != reference->kernel[kernel]->items(&args))
        wrong = "items of the reference are left";
    if (wrong != NULL)
        fail_msg("%s of %zu x %zu: %s", rp_kernel_name(kernel), out[0].shape[0], out[0].rank > 1 ? out[0].shape[1] : 1,
                 wrong);
}

static void check_indices(const rp_view *index)
{
    const rp_kernel_args args = {NULL, 0, index, 1, NULL};
    const rp_index_check indices = {.index = *index, .bound = 77};
    launch_check check = {.args = &args};
    const char *wrong;

    on_launch(launch_check_see, &check);
    assert_int_equal(rp_device_check(device, &indices, NULL, &err), RP_OK);
    on_launch(NULL, NULL);
    wrong = launch_check_end(&check);
    if (wrong != NULL)
        fail_msg("%s", wrong);
}

static void elementwise_kernels_and_moves(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNTS; i++) {
        const size_t n = counts[i], few = n > 128 * G ? n / 16 : n;
        const rp_view y = DENSE(RP_F32, n), x[2] = {DENSE(RP_F32, n), spread(y)};
        const rp_view rows = DENSE(RP_F32, few, 3), from = turned(DENSE(RP_F32, 3, few));
        const rp_view wide = DENSE(RP_F32, few / 2, 3, 2);
        const rp_view index = DENSE(RP_I32, few), table[2] = {DENSE(RP_F32, 77, 3), index};
        const rp_view one_hot = DENSE(RP_F32, few, 3), padded = DENSE(RP_F32, few + 2, 3);
        const rp_view parts[2] = {DENSE(RP_F32, few, 2), DENSE(RP_F32, few, 1)};
        const rp_view added[2] = {DENSE(RP_F32, few, 3), index}, sums = DENSE(RP_F32, 7, 3);
        const rp_view dropped[2] = {y, DENSE(RP_I64, 2)}, step[4] = {y, x[0], DENSE(RP_F32, n), DENSE(RP_F32, 1)};
        const rp_view state_of = DENSE(RP_I64, 2), long_table[2] = {DENSE(RP_F64, n), DENSE(RP_I64, 5)};
        rp_attr attr[RP_MAX_ATTR] = {{0}};

        launch(RP_K_add, x, 2, &y, 1, NULL);
        launch(RP_K_neg, &from, 1, &rows, 1, NULL);
        launch(RP_K_copy, &from, 1, &rows, 1, NULL);
        launch(RP_K_copy, &wide, 1, &wide, 1, NULL);
        if (n / 64 >= 16) {
            const rp_view tall = DENSE(RP_F32, n / 64, 64), flat = turned(DENSE(RP_F32, 64, n / 64));

            launch(RP_K_copy, &flat, 1, &tall, 1, NULL);
        }
        launch(RP_K_fill, NULL, 0, &y, 1, NULL);
        RP_AT(attr, iota, n).i = (int64_t)n;
        launch(RP_K_iota, NULL, 0, &(rp_view){y.data, RP_I64, 1, {n}, {1}}, 1, attr);
        memset(attr, 0, sizeof attr);
        launch(RP_K_gather, table, 2, &rows, 1, attr);
        launch(RP_K_gather, long_table, 2, &(rp_view){y.data, RP_F64, 1, {5}, {1}}, 1, attr);
        launch(RP_K_scatter_add, added, 2, &sums, 1, attr);
        launch(RP_K_one_hot, &index, 1, &one_hot, 1, attr);
        RP_AT(attr, pad, before).list[0] = 1;
        launch(RP_K_pad, &rows, 1, &padded, 1, attr);
        memset(attr, 0, sizeof attr);
        RP_AT(attr, concat, axis).i = 1;
        launch(RP_K_concat, parts, 2, &rows, 1, attr);
        memset(attr, 0, sizeof attr);
        launch(RP_K_uniform, &state_of, 1, &y, 1, attr);
        launch(RP_K_dropout, dropped, 2, &y, 1, attr);
        launch(RP_K_sgd, step, 4, step, 2, attr);
        check_indices(&index);
    }
}

static void reduce(rp_kernel_id kernel, const rp_view *x, int axis)
{
    rp_view y = *x;
    rp_attr attr[RP_MAX_ATTR] = {{0}};
    ptrdiff_t stride = 1;

    y.data = (void *)((uintptr_t)1 << 45);
    y.dtype = kernel == RP_K_argmax ? RP_I64 : x->dtype;
    y.shape[axis] = 1;
    for (int d = y.rank - 1; d >= 0; d--) {
        y.stride[d] = stride;
        stride *= (ptrdiff_t)y.shape[d];
    }
    if (kernel == RP_K_argmax)
        RP_AT(attr, argmax, axis).i = axis;
    else
        RP_AT(attr, sum, axes) = (rp_attr){.n = 1, .list = {axis}};
    launch(kernel, x, 1, &y, 1, attr);
}

static void reductions(void **state)
{
    static const rp_kernel_id kernels[] = {RP_K_sum, RP_K_argmax, RP_K_var, RP_K_logsumexp};
    static const size_t lengths[] = {1, 3, 8, 4096, 4097, 9000, 2 * G - 1, 2 * G, 8 * G};

    (void)state;
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        for (size_t i = 0; i < COUNTS; i++) {
            for (size_t j = 0; j < sizeof lengths / sizeof *lengths; j++) {
                if (counts[i] / 1024 * lengths[j] > G)
                    continue;
                const rp_view along = DENSE(RP_F32, counts[i], lengths[j]), across = turned(along);
                const rp_view beside = DENSE(RP_F64, lengths[j], counts[i]);

                reduce(kernels[k], &along, 1);
                reduce(kernels[k], &across, 0);
                reduce(kernels[k], &beside, 0);
                reduce(kernels[k], &beside, 1);
            }
        }
        reduce(kernels[k], &(const rp_view){(void *)((uintptr_t)1 << 46), RP_F32, 2, {G, 1024}, {0, 0}}, 1);
    }
}

static void sums_that_run_on(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNTS; i++)
        for (int axis = 0; axis < 2; axis++)
            for (int reverse = 0; reverse < 2; reverse++) {
                const size_t n = counts[i] > 128 * G ? counts[i] / 16 : counts[i];
                const rp_view x = DENSE(RP_F32, n, 5), y = DENSE(RP_F32, n, 5);
                rp_attr attr[RP_MAX_ATTR] = {{0}};

                RP_AT(attr, cumsum, axis).i = axis;
                RP_AT(attr, cumsum, reverse).i = reverse;
                launch(RP_K_cumsum, &x, 1, &y, 1, attr);
            }
}

static void rows_of_any_length(void **state)
{
    static const size_t lengths[] = {1, 2, 4096, 4097, 1 << 23, (1 << 23) + 1};

    (void)state;
    for (size_t i = 0; i < COUNTS; i++)
        for (size_t j = 0; j < sizeof lengths / sizeof *lengths; j++) {
            const size_t n = counts[i], m = lengths[j];

            if (n / 1024 * m > G)
                continue;
            const rp_view x = DENSE(RP_F32, n, m), y = DENSE(RP_F32, n, m), in[3] = {x, y, spread(x)};
            const rp_view v = DENSE(RP_F32, m), norm[3] = {x, v, v}, label = DENSE(RP_I32, n), loss = DENSE(RP_F32, n);
            const rp_view entropy[2] = {x, label}, back[3] = {loss, x, label}, norm_back[3] = {x, y, v};
            const rp_view part = DENSE(RP_F32, n > 4096 ? (n + 4095) / 4096 : 1, n < 64 ? n : 64, m);
            const rp_view lanes[3] = {y, part, part};

            launch(RP_K_softmax, in, 1, &y, 1, NULL);
            launch(RP_K_log_softmax_grad, in, 2, &y, 1, NULL);
            launch(RP_K_layer_norm, norm, 3, &y, 1, NULL);
            launch(RP_K_layer_norm_grad, norm_back, 3, &y, 1, NULL);
            launch(RP_K_layer_norm_backward, norm_back, 3, lanes, 3, NULL);
            launch(RP_K_rms_norm, norm, 2, &y, 1, NULL);
            launch(RP_K_rms_norm_grad, norm_back, 3, lanes, 2, NULL);
            launch(RP_K_cross_entropy, entropy, 2, &loss, 1, NULL);
            launch(RP_K_cross_entropy_grad, back, 3, &y, 1, NULL);
        }
}

static void batch_norm(void **state)
{
    static const size_t channels[] = {1, 3, 64, G, 2 * G - 1, 2 * G};

    (void)state;
    for (size_t i = 0; i < COUNTS; i++)
        for (size_t j = 0; j < sizeof channels / sizeof *channels; j++) {
            const size_t n = counts[i], c = channels[j];

            if (n / 1024 * c > G)
                continue;
            const rp_view x = DENSE(RP_F32, n, c), y = DENSE(RP_F32, n, c), v = DENSE(RP_F32, c);
            const rp_view in[5] = {x, v, v, v, v}, out[3] = {y, v, v}, back[5] = {x, y, v, v, v};

            launch(RP_K_batch_norm, in, 5, out, 1, NULL);
            launch(RP_K_batch_norm_train, in, 3, out, 3, NULL);
            launch(RP_K_batch_norm_grad, back, 5, out, 3, NULL);
        }
}

static void group_norm(void **state)
{
    static const size_t channels[] = {2, 6, 64, G, 2 * G - 2, 2 * G};

    (void)state;
    for (size_t i = 0; i < COUNTS; i++)
        for (size_t j = 0; j < sizeof channels / sizeof *channels; j++)
            for (size_t k = 0; k < 3; k++) { /* samples, positions or two groups are many */
                const size_t n = k == 0 ? counts[i] : 3, h = k == 0 ? 1 : counts[i], c = channels[j];
                const int64_t groups = k == 1 ? 2 : (int64_t)c;
                const rp_attr attr[RP_MAX_ATTR] = {{.r = 1e-5}, {.i = groups}};

                if (counts[i] / 1024 * c > G)
                    continue;
                const rp_view x = DENSE(RP_F32, n, h, c), v = DENSE(RP_F32, c), sums = DENSE(RP_F32, n, c);
                const rp_view number = DENSE(RP_F32, n, (size_t)groups);
                const rp_view in[3] = {x, v, v}, out[3] = {x, number, number};
                const rp_view back[5] = {x, x, v, number, number}, slopes[3] = {x, sums, sums};

                launch(RP_K_group_norm, in, 3, out, 3, attr);
                launch(RP_K_group_norm_grad, back, 5, slopes, 3, attr);
            }
}

static void matrix_products(void **state)
{
    static const size_t sizes[][4] = {/* batch, m, k, n */
                                      {1, 2 * G, 1, 2},          {1, 2, 1, 2 * G},     {1, G - 1, 4, 3},
                                      {1, 3, 4, G - 1},          {1, G, 300, 1},       {1, 1, 1024 * G / 8, 2},
                                      {1, 5, G - 1, 7},          {1, 5, 33554432, 7},  {1, 1 << 20, 64, 1 << 18},
                                      {1, 1 << 17, 64, 1 << 20}, {65535, 3, 5, 7},     {65536, 3, 5, 7},
                                      {2 * G - 1, 1, 2, 3},      {2 * G, 1, 2, 3},     {1 << 20, 100, 700, 100},
                                      {1 << 16, 300, 64, 520},   {1, 64, 33553921, 64}};
    static const rp_dtype types[] = {RP_F32, RP_F64, RP_BF16};

    (void)state;
    for (size_t t = 0; t < 3; t++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (int ways = 0; ways < 4; ways++) {
                const size_t b = sizes[i][0], m = sizes[i][1], k = sizes[i][2], n = sizes[i][3];
                const rp_view y = DENSE(types[t] == RP_BF16 ? RP_F32 : types[t], b, m, n);
                const rp_view in[2] = {ways & 1 ? turned(DENSE(types[t], b, k, m)) : DENSE(types[t], b, m, k),
                                       ways & 2 ? turned(DENSE(types[t], b, n, k)) : DENSE(types[t], b, k, n)};

                launch(RP_K_matmul, in, 2, &y, 1, NULL);
            }
}

static void attention(void **state)
{
    static const size_t sizes[][4] = {/* heads, m, n, d */
                                      {1 << 20, 64, 64, 4},   {2 * G, 1, 1, 1},        {1, 2 * G, 1, 1},
                                      {3, 1 << 20, 8192, 64}, {64, 1 << 14, 77, 5},    {1, 4, (1 << 25) - 4, 1},
                                      {1, 4, 2 * G, 1},       {1, 1, 1 << 20, 1 << 19}};
    static const rp_dtype types[] = {RP_F32, RP_F64};

    (void)state;
    for (size_t t = 0; t < 2; t++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            const size_t h = sizes[i][0], m = sizes[i][1], n = sizes[i][2], d = sizes[i][3];
            const rp_view q = DENSE(types[t], h, m, d), k = DENSE(types[t], h, n, d);
            const rp_view in[4] = {q, q, k, k}, out[3] = {q, k, k};

            launch(RP_K_attention, in + 1, 3, &q, 1, NULL);
            launch(RP_K_attention_grad, in, 4, out, 3, NULL);
        }
}

/* Of one padding on each side, stride 1. */
static void convolve_groups(size_t images, size_t side, size_t c, size_t k, size_t taps, bool one_gradient,
                            size_t groups)
{
    const rp_view x = DENSE(RP_F32, images, side, side, groups * c), y = DENSE(RP_F32, images, side, side, groups * k);
    const rp_view weight = DENSE(RP_F32, taps, taps, c, groups * k), g = one_gradient ? spread(y) : y;
    const rp_view forward[2] = {x, weight}, back[2] = {g, weight}, of_weight[2] = {x, g};
    const int64_t pad = (int64_t)taps / 2;
    rp_attr attr[RP_MAX_ATTR] = {{0}};

    RP_AT(attr, conv2d, stride) = RP_AT(attr, conv2d, dilation) = (rp_attr){.n = 2, .list = {1, 1}};
    RP_AT(attr, conv2d, padding) = (rp_attr){.n = 4, .list = {pad, pad, pad, pad}};
    RP_AT(attr, conv2d, groups).i = (int64_t)groups;
    launch(RP_K_conv2d, forward, 2, &y, 1, attr);
    launch(RP_K_conv2d_grad_input, back, 2, &x, 1, attr);
    launch(RP_K_conv2d_grad_weight, of_weight, 2, &weight, 1, attr);
    if (taps == 3 && groups == 1)
        launch(RP_K_conv2d_winograd, forward, 2, &y, 1, attr);
}

static void convolve(size_t images, size_t side, size_t c, size_t k, size_t taps, bool one_gradient)
{
    convolve_groups(images, side, c, k, taps, one_gradient, 1);
}

static void convolutions(void **state)
{
    (void)state;
    for (int one = 0; one < 2; one++) {
        convolve(7, 64, 32, 64, 3, one);
        convolve(2047, 128, 8, 63, 3, one); /* just below 2^31 values of y */
        convolve(2048, 128, 8, 64, 3, one);
        convolve(8192, 256, 4, 32, 3, one);
        convolve((1 << 15) - 1, 256, 1, 20, 1, one); /* 2^31 pixels */
        convolve(1 << 15, 256, 1, 20, 3, one);
        convolve(1, 1 << 15, 2, 40, 5, one);
        convolve(1, 4, (size_t)1 << 26, 4, 3, one); /* channels as far apart as no product takes them */
        convolve(1, 4, (size_t)1 << 24, 4, 3, one);
        convolve(1, 4, 4, (size_t)1 << 26, 3, one);
        convolve(3, 8, 2 * G, 1, 1, one);
        convolve(1 << 20, 8, 17, 17, 3, one);
        convolve(1, 64, 1 << 14, 1 << 14, 3, one);
        convolve_groups(1, 8, 17, 17, 3, one, 65535);
        convolve_groups(1, 8, 17, 17, 3, one, 65536);
        convolve_groups(1 << 12, 64, 1, 1, 3, one, 1 << 10);
    }
}

static void pooling(void **state)
{
    static const size_t images[] = {1 << 17, (1 << 21) - 1, 1 << 21, 1 << 25};

    (void)state;
    for (size_t i = 0; i < sizeof images / sizeof *images; i++) {
        const rp_view x = DENSE(RP_F32, images[i], 32, 32, 4), y = DENSE(RP_F32, images[i], 16, 16, 4),
                      back[2] = {y, x};
        rp_attr attr[RP_MAX_ATTR] = {{0}};

        RP_AT(attr, max_pool, stride) = RP_AT(attr, max_pool, window) = (rp_attr){.n = 2, .list = {2, 2}};
        RP_AT(attr, max_pool, padding).n = 4;
        RP_AT(attr, max_pool, dilation) = (rp_attr){.n = 2, .list = {1, 1}};
        launch(RP_K_max_pool, &x, 1, &y, 1, attr);
        launch(RP_K_avg_pool, &x, 1, &y, 1, attr);
        launch(RP_K_max_pool_grad, back, 2, &x, 1, attr);
        launch(RP_K_avg_pool_grad, back, 1, &x, 1, attr);
    }
}

static void references(void **state)
{
    static const size_t batches[] = {2 * G, 8 * G, 64 * G - 1, 64 * G, 64 * G + 1, 200 * G};

    (void)state;
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        const rp_view a = DENSE(RP_F32, batches[i], 2, 2), y = DENSE(RP_F32, batches[i], 2, 2);

        launch(RP_K_cholesky, &a, 1, &y, 1, NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elementwise_kernels_and_moves),
        cmocka_unit_test(reductions),
        cmocka_unit_test(sums_that_run_on),
        cmocka_unit_test(rows_of_any_length),
        cmocka_unit_test(batch_norm),
        cmocka_unit_test(group_norm),
        cmocka_unit_test(matrix_products),
        cmocka_unit_test(attention),
        cmocka_unit_test(convolutions),
        cmocka_unit_test(pooling),
        cmocka_unit_test(references),
    };

    return cmocka_run_group_tests(tests, open_device, close_device);
}
