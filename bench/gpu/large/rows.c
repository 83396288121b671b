/* SPDX-License-Identifier: Apache-2.0
 * Kernels along rows and columns of large tensors, products, convolutions and pools. */
#include "cases.h"

void large_rows(void)
{
    const size_t n = half / 64 + 3;
    const rp_attr last[RP_MAX_ATTR] = {{.n = 1, .list = {1}}}, first[RP_MAX_ATTR] = {{.n = 1, .list = {0}}};
    const rp_attr along[RP_MAX_ATTR] = {{.i = 1}, {.i = 0}}, down[RP_MAX_ATTR] = {{.i = 0}, {.i = 1}};
    const rp_attr up[RP_MAX_ATTR] = {{.i = 0}}, eps[RP_MAX_ATTR] = {{.r = 1e-5}};
    const rp_view x = matrix(RP_F32, a, n, 64), y = matrix(RP_F32, o, n, 64);
    const rp_view wide = matrix(RP_F32, a, side, side), high = matrix(RP_F32, a, 67, full / 67);

    one("softmax f32, 2^31 in rows of 64", RP_K_softmax, x, y, NULL);
    one("softmax f32, 2^32 in rows of 2^16", RP_K_softmax, wide, matrix(RP_F32, o, side, side), NULL);
    large_run(&l, &(large_case){.name = "layer_norm f32, 2^31 in rows of 64",
                                .kernel = RP_K_layer_norm,
                                .in = {ALONG(x), WHOLE(flat(RP_F32, a + 7, 64)), WHOLE(flat(RP_F32, a + 99, 64))},
                                .n_in = 3,
                                .out = {ALONG(y)},
                                .n_out = 1,
                                .attr = eps});
    one("sum of rows f32, 2^31 in rows of 64", RP_K_sum, x, matrix(RP_F32, o, n, 1), last);
    one("sum of rows f32, 2^32 in rows of 2^16", RP_K_sum, wide, matrix(RP_F32, o, side, 1), last);
    one("argmax of rows f32, 2^32 in rows of 2^16", RP_K_argmax, wide, matrix(RP_I64, o, side, 1), along);
    one("cumsum f32, 2^31 along rows of 64", RP_K_cumsum, x, y, along);
    large_run(&l, &(large_case){.name = "sum of 67 rows f32, 2^32",
                                .kernel = RP_K_sum,
                                .axis = 1,
                                .in = {ALONG(high)},
                                .n_in = 1,
                                .out = {ALONG(matrix(RP_F32, o, 1, full / 67))},
                                .n_out = 1,
                                .attr = first});
    large_run(&l, &(large_case){.name = "max of 67 rows f32, 2^32",
                                .kernel = RP_K_argmax,
                                .axis = 1,
                                .in = {ALONG(high)},
                                .n_in = 1,
                                .out = {ALONG(matrix(RP_I64, o, 1, full / 67))},
                                .n_out = 1,
                                .attr = up});
    large_run(&l, &(large_case){.name = "cumsum f32, 2^32 along 67 rows, from the end",
                                .kernel = RP_K_cumsum,
                                .axis = 1,
                                .in = {ALONG(high)},
                                .n_in = 1,
                                .out = {ALONG(matrix(RP_F32, o, 67, full / 67))},
                                .n_out = 1,
                                .attr = down});
    large_run(&l, &(large_case){.name = "sort f32, 2^31 in rows of 64",
                                .kernel = RP_K_sort,
                                .in = {ALONG(x)},
                                .n_in = 1,
                                .out = {ALONG(matrix(RP_F32, third, n, 64)), ALONG(matrix(RP_I64, o, n, 64))},
                                .n_out = 2,
                                .attr = up});
}

static void product(const char *name, rp_view x, rp_view w, rp_view y, int axis)
{
    large_run(&l, &(large_case){.name = name,
                                .kernel = RP_K_matmul,
                                .axis = axis,
                                .in = {axis == 0 ? ALONG(x) : WHOLE(x), axis == 0 ? WHOLE(w) : ALONG(w)},
                                .n_in = 2,
                                .out = {ALONG(y)},
                                .n_out = 1});
}

/* Strides of 2^25 and more, as of four rows, are the reference kernel's. */
void large_products(void)
{
    const size_t wide = side / 8 + 1, high = half / wide + 5, long_k = half / 128 + 5, columns = half / 256 + 5;

    product("product f32 to 2^31, k of 8", matrix(RP_F32, a, high, 8), matrix(RP_F32, a + more, 8, wide),
            matrix(RP_F32, o, high, wide), 0);
    product("product bf16 to 2^32, k of 8", matrix(RP_BF16, narrow, 2 * high, 8), matrix(RP_BF16, narrow, 8, wide),
            matrix(RP_F32, o, 2 * high, wide), 0);
    product("product f32 of 256 rows to 2^31, k of 8", matrix(RP_F32, a, 256, 8), matrix(RP_F32, a, 8, columns),
            matrix(RP_F32, o, 256, columns), 1);
    product("product f32 of 2^31 turned, k of 256", turned(matrix(RP_F32, a, 256, columns)),
            matrix(RP_F32, a + more, 256, 24), matrix(RP_F32, o, columns, 24), 0);
    product("product f32 by 2^31, k of 256", matrix(RP_F32, a + more, 24, 256), matrix(RP_F32, a, 256, columns),
            matrix(RP_F32, o, 24, columns), 1);
    product("product f32 by 2^31 turned, k of 256", matrix(RP_F32, a + more, 8, 256),
            turned(matrix(RP_F32, a, columns, 256)), matrix(RP_F32, o, 8, columns), 1);
    product("product f32 of 128 rows of k, 2^31", matrix(RP_F32, a, 128, long_k), matrix(RP_F32, a + more, long_k, 2),
            matrix(RP_F32, o, 128, 2), 0);
}

/* 3 x 3, padded or not, steps of one. */
static const rp_attr padded[RP_MAX_ATTR] = {
    {.n = 2, .list = {1, 1}}, {.n = 4, .list = {1, 1, 1, 1}}, {.n = 2, .list = {1, 1}}, {.i = 1}};
static const rp_attr along[RP_MAX_ATTR] = {/* 1 x 3 */
                                           {.n = 2, .list = {1, 1}},
                                           {.n = 4, .list = {0, 1, 0, 1}},
                                           {.n = 2, .list = {1, 1}},
                                           {.i = 1}};
static const rp_attr bare[RP_MAX_ATTR] = {
    {.n = 2, .list = {1, 1}}, {.n = 4, .list = {0, 0, 0, 0}}, {.n = 2, .list = {1, 1}}, {.i = 1}};
static const rp_attr pool2[RP_MAX_ATTR] = {
    {.n = 2, .list = {2, 2}}, {.n = 4, .list = {0, 0, 0, 0}}, {.n = 2, .list = {1, 1}}, {.n = 2, .list = {2, 2}}};

/* 32 channels to 32, as the tiled products take them: as long as offsets of elements are below 2^31, and beyond. */
void large_convolutions(void)
{
    static const char *const name[3] = {"conv2d f32, images of 16 x 16 x 32 up to 2^31",
                                        "conv2d f32, 2^31 in images of 16 x 16 x 32",
                                        "conv2d_grad_input f32, 2^31 in images of 16 x 16 x 32"};
    const rp_view taps = tensor(RP_F32, a + more, 4, (const size_t[]){1, 3, 32, 32});

    for (int i = 0; i < 3; i++) {
        const size_t n = i == 0 ? half / 8192 - 3 : half / 8192 + 3;
        const rp_view x = tensor(RP_F32, a, 4, (const size_t[]){n, 16, 16, 32});
        const rp_view y = tensor(RP_F32, o, 4, (const size_t[]){n, 16, 16, 32});

        large_run(&l, &(large_case){.name = name[i],
                                    .kernel = i < 2 ? RP_K_conv2d : RP_K_conv2d_grad_input,
                                    .in = {ALONG(x), WHOLE(taps)},
                                    .n_in = 2,
                                    .out = {ALONG(y)},
                                    .n_out = 1,
                                    .attr = along});
    }
}

void large_images(void)
{
    const size_t n = half / 1024 + 3, h = side / 2 + 1, w = side - 1;
    const rp_view many = tensor(RP_F32, a, 4, (const size_t[]){n, 16, 16, 4});
    const rp_view made = tensor(RP_F32, o, 4, (const size_t[]){n, 16, 16, 4});
    const rp_view taps = tensor(RP_F32, a + more, 4, (const size_t[]){3, 3, 4, 4});
    const rp_view large_one = tensor(RP_F32, a, 4, (const size_t[]){1, h, w, 2});
    const rp_view wide_taps = tensor(RP_F32, a + more, 4, (const size_t[]){3, 3, 2, 2});

    large_run(&l, &(large_case){.name = "conv2d f32, 2^31 in images of 16 x 16 x 4",
                                .kernel = RP_K_conv2d,
                                .in = {ALONG(many), WHOLE(taps)},
                                .n_in = 2,
                                .out = {ALONG(made)},
                                .n_out = 1,
                                .attr = padded});
    large_run(&l, &(large_case){.name = "conv2d_grad_input f32, 2^31 in images of 16 x 16 x 4",
                                .kernel = RP_K_conv2d_grad_input,
                                .in = {ALONG(many), WHOLE(taps)},
                                .n_in = 2,
                                .out = {ALONG(made)},
                                .n_out = 1,
                                .attr = padded});
    large_run(&l, &(large_case){.name = "conv2d f32, one image of 2^32",
                                .kernel = RP_K_conv2d,
                                .axis = 1,
                                .in = {{large_one, 1, 2}, WHOLE(wide_taps)},
                                .n_in = 2,
                                .out = {ALONG(tensor(RP_F32, o, 4, (const size_t[]){1, h - 2, w - 2, 2}))},
                                .n_out = 1,
                                .attr = bare});
    one("max_pool f32, 2^31 in images of 16 x 16 x 4", RP_K_max_pool, many,
        tensor(RP_F32, o, 4, (const size_t[]){n, 8, 8, 4}), pool2);
    large_run(&l, &(large_case){.name = "avg_pool f32, one image of 2^32",
                                .kernel = RP_K_avg_pool,
                                .axis = 1,
                                .in = {{large_one, 2, 0}},
                                .n_in = 1,
                                .out = {ALONG(tensor(RP_F32, o, 4, (const size_t[]){1, h / 2, w / 2, 2}))},
                                .n_out = 1,
                                .attr = pool2});
    large_run(&l, &(large_case){.name = "max_pool_grad f32, 2^31 in images of 16 x 16 x 4",
                                .kernel = RP_K_max_pool_grad,
                                .in = {ALONG(tensor(RP_F32, a + 9, 4, (const size_t[]){n, 8, 8, 4})), ALONG(many)},
                                .n_in = 2,
                                .out = {ALONG(made)},
                                .n_out = 1,
                                .attr = pool2});
}

/* ---- sums whose whole operand this CPU reads too; of more than 2^31 - 1 elements to one result the device would have
 * a single thread, the reference's ---- */

static void whole(const char *name, rp_kernel_id kernel, rp_view in, rp_view out, const rp_attr *attr)
{
    large_run_whole(&l,
                    &(large_case){.name = name,
                                  .kernel = kernel,
                                  .in = {ALONG(in)},
                                  .n_in = 1,
                                  .out = {ALONG(out)},
                                  .n_out = 1,
                                  .attr = attr},
                    a, host);
}

void large_wholes(void)
{
    const rp_attr first[RP_MAX_ATTR] = {{.n = 1, .list = {0}}}, zero[RP_MAX_ATTR] = {{.i = 0}};
    const rp_view square = matrix(RP_F32, a, side, side), row = matrix(RP_F32, o, 1, side);
    const size_t most = half - 1, n = half / 8192 - 3;
    const rp_view x = tensor(RP_F32, a, 4, (const size_t[]){n, 16, 16, 32});
    const rp_view g = tensor(RP_F32, a + half, 4, (const size_t[]){n, 16, 16, 32});

    whole("sum of columns f32, 2^32", RP_K_sum, square, row, first);
    whole("sum of all f32, 2^31 - 1", RP_K_sum, flat(RP_F32, a, most), flat(RP_F32, o, 1), first);
    whole("sum of all f64, 2^31 - 1 of 8 bytes", RP_K_sum, flat(RP_F64, a, most), flat(RP_F64, o, 1), first);
    whole("max of all f32, 2^31 - 1, from 2^31 on", RP_K_max, flat(RP_F32, a + half, most), flat(RP_F32, o, 1), first);
    whole("argmax of all i64, 2^31 - 1 of 8 bytes", RP_K_argmax, flat(RP_I64, a, most), flat(RP_I64, o, 1), zero);
    large_run_whole(&l,
                    &(large_case){.name = "conv2d_grad_weight f32, images up to 2^31",
                                  .kernel = RP_K_conv2d_grad_weight,
                                  .in = {ALONG(x), ALONG(g)},
                                  .n_in = 2,
                                  .out = {ALONG(tensor(RP_F32, o, 4, (const size_t[]){1, 3, 32, 32}))},
                                  .n_out = 1,
                                  .attr = along},
                    a, host);
}
