/* SPDX-License-Identifier: Apache-2.0
 * Kernels of a device on tensors of more than 2^31 and 2^32 elements, where an index of 32 bits would come round: each
 * family of launches, windows of the results held bit for bit against this CPU's kernels (large_windows.c), or the
 * whole where that is a number or a row. Part of scripts/gpu-report.sh. Wants 62 GiB of the device and 32 of the host.
 *
 *   build/release/bench/large DEVICE [reduced]
 *
 * Prints a line a case, fields apart by tabs: "large", work, seconds, bytes a second, "B/s", "-", "equal", "DIFFERENT",
 * "FAILED" or, of one that was skipped, "-". Exit 1 when anything differs or failed. reduced: the same at counts for
 * which the emulated device takes seconds. */
#define _DEFAULT_SOURCE /* madvise */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "large_windows.h"
#include "audit/digest/digest.h"
#include "determinism/fpenv.h"
#include "kernels/limits.h"
#include "kernels/walk.h"

enum { SECONDS = 60 }; /* after which no case begins */

static large l;
static size_t half, full, more, side; /* 2^31, 2^32, a few beyond, 2^16 + 1; side squared is above 2^32 */
/* Elements: full and more than side squared; `flat` of half and more. All made on the device. */
static float *a, *o, *positive, *third;
static uint16_t *narrow; /* a as bf16 */
static bool *truth;      /* a > what is beside it */
static int64_t *rng;
static float *host; /* a */

static rp_view flat(rp_dtype dtype, const void *data, size_t count)
{
    return (rp_view){(void *)data, dtype, 1, {count}, {1}};
}

static rp_view tensor(rp_dtype dtype, const void *data, int rank, const size_t *shape)
{
    rp_view v = {(void *)data, dtype, rank, {0}, {0}};
    size_t count = 1;

    for (int d = rank - 1; d >= 0; count *= shape[d--]) {
        v.shape[d] = shape[d];
        v.stride[d] = (ptrdiff_t)count;
    }
    return v;
}

static rp_view matrix(rp_dtype dtype, const void *data, size_t rows, size_t cols)
{
    return tensor(dtype, data, 2, (const size_t[]){rows, cols});
}

static rp_view turned(rp_view v)
{
    const rp_view old = v;

    for (int d = 0; d < 2; d++) {
        v.shape[d] = old.shape[1 - d];
        v.stride[d] = old.stride[1 - d];
    }
    return v;
}

#define ALONG(v) ((large_operand){(v), 1, 0})
#define WHOLE(v) ((large_operand){(v), 0, 0})

static void one(const char *name, rp_kernel_id kernel, rp_view in, rp_view out, const rp_attr *attr)
{
    large_run(&l, &(large_case){.name = name,
                                .kernel = kernel,
                                .in = {ALONG(in)},
                                .n_in = 1,
                                .out = {ALONG(out)},
                                .n_out = 1,
                                .attr = attr});
}

static void two(const char *name, rp_kernel_id kernel, rp_view in, rp_view second, rp_view out)
{
    large_run(&l, &(large_case){.name = name,
                                .kernel = kernel,
                                .in = {ALONG(in), ALONG(second)},
                                .n_in = 2,
                                .out = {ALONG(out)},
                                .n_out = 1});
}

/* ---- inputs, each the result of a case ---- */

static void randoms(void)
{
    const rp_attr unit[RP_MAX_ATTR] = {{.r = -1}, {.r = 1}, {.i = 5}},
                  normal[RP_MAX_ATTR] = {{.r = 0}, {.r = 1}, {.i = 7}};
    const rp_attr rate[RP_MAX_ATTR] = {{.r = 0.25}, {.i = 9}};
    const rp_view state = flat(RP_I64, rng, 2);
    const size_t all = side * side + 2 * more;
    large_case c = {.name = "uniform f32, 2^32",
                    .kernel = RP_K_uniform,
                    .in = {WHOLE(state)},
                    .n_in = 1,
                    .out = {ALONG(flat(RP_F32, a, all))},
                    .n_out = 1,
                    .attr = unit,
                    .by_items = true};

    large_run(&l, &c);
    c.name = "normal f32, 2^32", c.kernel = RP_K_normal, c.attr = normal;
    c.out[0] = ALONG(flat(RP_F32, o, full + more));
    large_run(&l, &c);
    c = (large_case){.name = "dropout f32, 2^32",
                     .kernel = RP_K_dropout,
                     .in = {ALONG(flat(RP_F32, a, full + more)), WHOLE(state)},
                     .n_in = 2,
                     .out = {ALONG(flat(RP_F32, o, full + more))},
                     .n_out = 1,
                     .attr = rate,
                     .by_items = true};
    large_run(&l, &c);
}

static void elementwise(void)
{
    const rp_attr to_bf16[RP_MAX_ATTR] = {{.i = RP_BF16}}, to_f32[RP_MAX_ATTR] = {{.i = RP_F32}};
    const rp_attr to_i64[RP_MAX_ATTR] = {{.i = RP_I64}};
    const size_t n = full + more, m = half + more;
    const rp_view x = flat(RP_F32, a, n), y = flat(RP_F32, o, n), beside = flat(RP_F32, a + more, n);

    one("cast f32 to bf16, 2^32", RP_K_cast, x, flat(RP_BF16, narrow, n), to_bf16);
    one("cast bf16 to f32, 2^32", RP_K_cast, flat(RP_BF16, narrow, n), y, to_f32);
    one("cast f32 to i64, 2^31 of 8 bytes", RP_K_cast, flat(RP_F32, a, m), flat(RP_I64, o, m), to_i64);
    two("gt f32, 2^32", RP_K_gt, x, beside, flat(RP_BOOL, truth, n));
    one("logical_not bool, 2^32", RP_K_logical_not, flat(RP_BOOL, truth, n), flat(RP_BOOL, o, n), NULL);
    one("abs f32, 2^31", RP_K_abs, flat(RP_F32, a, m), flat(RP_F32, positive, m), NULL);
    two("add f32, 2^31", RP_K_add, flat(RP_F32, a, m), flat(RP_F32, a + more, m), flat(RP_F32, o, m));
    two("add f32, 2^32", RP_K_add, x, beside, y);
    one("exp f32, 2^32", RP_K_exp, x, y, NULL);
    one("copy bf16, 2^32", RP_K_copy, flat(RP_BF16, narrow, n), flat(RP_BF16, o, n), NULL);
    two("add i64, 2^31 of 8 bytes", RP_K_add, flat(RP_I64, a, half), flat(RP_I64, a + 2 * (more / 2), half),
        flat(RP_I64, o, half));
    one("exp f64, 2^31 of 8 bytes", RP_K_exp, flat(RP_F64, a, m), flat(RP_F64, o, m), NULL);
    large_run(&l, &(large_case){.name = "where f32, 2^32",
                                .kernel = RP_K_where,
                                .in = {ALONG(flat(RP_BOOL, truth, n)), ALONG(x), ALONG(beside)},
                                .n_in = 3,
                                .out = {ALONG(y)},
                                .n_out = 1});
}

static void adamw(void)
{
    const rp_attr attr[RP_MAX_ATTR] = {{.r = 0.9}, {.r = 0.999}, {.r = 1e-8}, {.r = 0.01}};
    const size_t n = half + more;
    const rp_view rates[3] = {
        {a + 3, RP_F32, 0, {0}, {0}}, {positive + 5, RP_F32, 0, {0}, {0}}, {positive + 6, RP_F32, 0, {0}, {0}}};

    large_run(&l,
              &(large_case){
                  .name = "adamw f32, 2^31",
                  .kernel = RP_K_adamw,
                  .in = {ALONG(flat(RP_F32, a, n)), ALONG(flat(RP_F32, a + half, n)), ALONG(flat(RP_F32, positive, n)),
                         ALONG(flat(RP_F32, a + more, n)), WHOLE(rates[0]), WHOLE(rates[1]), WHOLE(rates[2])},
                  .n_in = 7,
                  .out = {ALONG(flat(RP_F32, o, n)), ALONG(flat(RP_F32, o + n, n)), ALONG(flat(RP_F32, third, n))},
                  .n_out = 3,
                  .attr = attr});
}

/* ---- moves ---- */

static void moves(void)
{
    const size_t rows = full / 64 + 7, cols = 64, tall = side / 64 + 3;
    const rp_view x = matrix(RP_F32, a, rows, cols), y = matrix(RP_F32, o, rows, cols);
    const rp_attr axis1[RP_MAX_ATTR] = {{.i = 1}}, axis0[RP_MAX_ATTR] = {{.i = 0}};
    const rp_attr pads[RP_MAX_ATTR] = {{.n = 2, .list = {0, 1}}, {.n = 2, .list = {0, 2}}};
    rp_view row = matrix(RP_F32, a + 11, 1, cols), col = matrix(RP_F32, a + 5, rows, 1);

    one("copy of a transposed f32, 2^32", RP_K_copy, turned(matrix(RP_F32, a, cols, rows)), y, NULL);
    one("copy to a transposed bf16, 2^32", RP_K_copy, matrix(RP_BF16, narrow, rows, cols),
        turned(matrix(RP_BF16, o, cols, rows)), NULL);
    one("copy of a transposed f32, 2^32 in long rows", RP_K_copy, turned(matrix(RP_F32, a, tall, full / tall)),
        matrix(RP_F32, o, full / tall, tall), NULL);
    {
        rp_view part = large_slice(&x, 1, 17, 33);

        one("copy of a slice f32, 2^32 in all", RP_K_copy, part, matrix(RP_F32, o, rows, 33), NULL);
        part = large_slice(&x, 0, half / cols + 3, rows / 2 - 8);
        one("copy of what lies beyond 2^31, f32", RP_K_copy, part, matrix(RP_F32, o, rows / 2 - 8, cols), NULL);
    }
    row.shape[0] = rows, row.stride[0] = 0;
    col.shape[1] = cols, col.stride[1] = 0;
    two("add of a row that is broadcast, f32, 2^32", RP_K_add, x, row, y);
    two("mul by a column that is broadcast, f32, 2^32", RP_K_mul, x, col, y);
    large_run(&l, &(large_case){.name = "concat of columns f32, 2^32",
                                .kernel = RP_K_concat,
                                .in = {ALONG(matrix(RP_F32, a, rows, 23)), ALONG(matrix(RP_F32, a + half, rows, 31)),
                                       ALONG(matrix(RP_F32, a + 9, rows, 10))},
                                .n_in = 3,
                                .out = {ALONG(y)},
                                .n_out = 1,
                                .attr = axis1});
    one("pad f32, 2^32", RP_K_pad, matrix(RP_F32, a, rows, cols - 3), y, pads);
    large_run(&l,
              &(large_case){.name = "concat of rows i64, 2^31 of 8 bytes",
                            .kernel = RP_K_concat,
                            .axis = 1,
                            .in = {ALONG(matrix(RP_I64, a, 17, half / 32)), ALONG(matrix(RP_I64, a, 15, half / 32))},
                            .n_in = 2,
                            .out = {ALONG(matrix(RP_I64, o, 32, half / 32))},
                            .n_out = 1,
                            .attr = axis0});
}

/* `index` becomes n places below limit, as i64 or i32, of uniform numbers. */
static bool make_index(const char *name, void *index, rp_dtype dtype, size_t n, size_t limit)
{
    const rp_attr range[RP_MAX_ATTR] = {{.r = 0}, {.r = (double)limit - 1}, {.i = 21}};
    const rp_attr cast[RP_MAX_ATTR] = {{.i = dtype}};
    const rp_view state = flat(RP_I64, rng, 2), drawn = flat(RP_F32, o, n), out = flat(dtype, index, n);
    const rp_kernel_args draw = {&state, 1, &drawn, 1, range}, to = {&drawn, 1, &out, 1, cast};
    rp_status status = rp_device_launch(l.device, RP_K_uniform, &draw, NULL, &l.err);

    if (status == RP_OK)
        status = rp_device_launch(l.device, RP_K_cast, &to, NULL, &l.err);
    if (status != RP_OK)
        large_failed(&l, name, status);
    return status == RP_OK;
}

static void takes(void)
{
    const size_t rows = half / 64 + 3, table_rows = side < 1000 ? side : 1000;
    const rp_attr first[RP_MAX_ATTR] = {{.i = 0}, {.i = 0}}, scatter[RP_MAX_ATTR] = {{.i = 1}, {.i = 64}};
    const char *const table = "gather of 2^31 f32 from a table", *const add = "scatter_add of columns to 2^31 f32";

    if (large_begins(&l, table) && make_index(table, third, RP_I32, rows, table_rows))
        large_run(&l, &(large_case){.name = table,
                                    .kernel = RP_K_gather,
                                    .in = {WHOLE(matrix(RP_F32, a, table_rows, 64)), ALONG(flat(RP_I32, third, rows))},
                                    .n_in = 2,
                                    .out = {ALONG(matrix(RP_F32, o, rows, 64))},
                                    .n_out = 1,
                                    .attr = first});
    if (large_begins(&l, add) && make_index(add, third, RP_I64, 32, 64))
        large_run(&l, &(large_case){.name = add,
                                    .kernel = RP_K_scatter_add,
                                    .in = {ALONG(matrix(RP_F32, a, rows, 32)), WHOLE(flat(RP_I64, third, 32))},
                                    .n_in = 2,
                                    .out = {ALONG(matrix(RP_F32, o, rows, 64))},
                                    .n_out = 1,
                                    .attr = scatter});
}

/* Rows of a table of 2^32 elements, the last ones too: each compared with the table's own. */
static rp_status gather_far(size_t cols, size_t rows, bool *same, double *seconds)
{
    enum { PICKS = 97 };
    const rp_attr axis[RP_MAX_ATTR] = {{.i = 0}};
    const rp_view table = matrix(RP_F32, a, rows, cols), out = matrix(RP_F32, o, PICKS, cols);
    rp_view in[2] = {table, flat(RP_I64, third, PICKS)};
    const rp_kernel_args args = {in, 2, &out, 1, axis};
    const size_t bytes = cols * sizeof(float);
    char *found = malloc(2 * bytes);
    int64_t index[PICKS];
    rp_status status = found != NULL ? RP_OK : rp_fail(&l.err, RP_ENOMEM, "no memory for a row");

    for (size_t i = 0; i < PICKS; i++)
        index[i] = (int64_t)(i < 40 ? rows - 1 - i : i < 60 ? rows / 2 - 10 + (i - 40) : rows / PICKS * i);
    if (status == RP_OK)
        status = rp_device_upload(l.device, third, index, sizeof index, NULL, &l.err);
    if (status == RP_OK)
        status = large_poison(&l, o, PICKS * bytes);
    *seconds = rp_seconds_now();
    if (status == RP_OK)
        status = rp_device_launch(l.device, RP_K_gather, &args, NULL, &l.err);
    if (status == RP_OK)
        status = rp_device_synchronize(l.device, NULL, &l.err);
    *seconds = rp_seconds_now() - *seconds;
    for (size_t i = 0; i < PICKS && status == RP_OK && *same; i++) {
        status = rp_device_read(l.device, found, o + i * cols, bytes, NULL, &l.err);
        if (status == RP_OK)
            status = rp_device_read(l.device, found + bytes, a + (size_t)index[i] * cols, bytes, NULL, &l.err);
        *same = memcmp(found, found + bytes, bytes) == 0;
    }
    free(found);
    return status;
}

static void gathers(void)
{
    static const char *const name[2] = {"gather of rows beyond 2^32 f32", "gather of long rows beyond 2^32 f32"};
    const size_t cols[2] = {64, side - 1};

    for (int i = 0; i < 2; i++) {
        const size_t rows = (full + more) / cols[i];
        double seconds = 0;
        bool same = true;
        rp_status status;

        if (!large_begins(&l, name[i]))
            continue;
        status = gather_far(cols[i], rows, &same, &seconds);
        if (status == RP_OK)
            large_print(&l, name[i], seconds, 2.0 * 97 * (double)cols[i] * sizeof(float), same);
        else
            large_failed(&l, name[i], status);
    }
}

/* ---- rows, products, images ---- */

static void rows(void)
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
static void products(void)
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
static void convolutions(void)
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

static void images(void)
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

/* ---- chains ---- */

enum { STEPS = 3 };

/* last = tanh(x y) + x, by two pieces of scratch. */
static rp_chain chain_of(rp_view x, rp_view y, rp_view last)
{
    rp_chain c = {.count = rp_view_count(&x), .slots = 2, .size = sizeof(float), .n_steps = STEPS, .n_views = 8};

    c.step[0] = (rp_chain_step){RP_K_mul, 0, 2, 2, 1, NULL};
    c.step[1] = (rp_chain_step){RP_K_tanh, 3, 1, 4, 1, NULL};
    c.step[2] = (rp_chain_step){RP_K_add, 5, 2, 7, 1, NULL};
    c.view[0] = c.view[6] = x;
    c.view[1] = y;
    c.view[2] = c.view[3] = c.view[4] = c.view[5] = c.view[7] = last;
    c.scratch[0] = (rp_chain_scratch){2, 0, NULL};
    c.scratch[1] = (rp_chain_scratch){3, 0, NULL};
    c.scratch[2] = (rp_chain_scratch){4, 1, NULL};
    c.scratch[3] = (rp_chain_scratch){5, 1, NULL};
    c.n_scratch = 4;
    return c;
}

static rp_status same_chain_window(rp_view x, rp_view y, rp_view last, size_t first, size_t count, bool *same)
{
    const rp_view part[3] = {large_slice(&x, 0, first, count), large_slice(&y, 0, first, count),
                             large_slice(&last, 0, first, count)};
    rp_view here[3] = {{0}}, made;
    rp_status status = RP_OK;
    rp_chain c;

    for (int v = 0; v < 3 && status == RP_OK; v++)
        status = large_fetch(&l, &here[v], &part[v]);
    made = here[2];
    made.data = calloc(count, sizeof(float));
    if (status == RP_OK && made.data == NULL)
        status = rp_fail(&l.err, RP_ENOMEM, "no memory for a window");
    if (status == RP_OK) {
        c = chain_of(here[0], here[1], made);
        status = rp_device_launch_chain(l.cpu, &c, NULL, &l.err);
    }
    if (status == RP_OK)
        *same = *same && memcmp(made.data, here[2].data, count * sizeof(float)) == 0;
    for (int v = 0; v < 3; v++)
        free(here[v].data);
    free(made.data);
    return status;
}

static void chain(void)
{
    const char *const name = "chain of mul, tanh and add f32, 2^32";
    const size_t n = full + more;
    const rp_view x = flat(RP_F32, a, n), y = flat(RP_F32, a + more, n), last = flat(RP_F32, o, n);
    const large_case windows = {.in = {ALONG(x)}, .n_in = 1, .out = {ALONG(last)}, .n_out = 1};
    size_t place[LARGE_PLACES], places = large_places(&l, place, &windows);
    const rp_chain c = chain_of(x, y, last);
    bool same = true;
    double begin;
    rp_status status;

    if (!large_begins(&l, name))
        return;
    status = large_poison(&l, o, n * sizeof(float));
    begin = rp_seconds_now();
    if (status == RP_OK)
        status = rp_device_launch_chain(l.device, &c, NULL, &l.err);
    if (status == RP_OK)
        status = rp_device_synchronize(l.device, NULL, &l.err);
    begin = rp_seconds_now() - begin;
    for (size_t i = 0; i < places && status == RP_OK; i++) {
        const size_t from = place[i] > 2048 ? place[i] - 2048 : 0, to = place[i] + 2048 < n ? place[i] + 2048 : n;

        status = same_chain_window(x, y, last, from, to - from, &same);
    }
    if (status == RP_OK)
        large_print(&l, name, begin, 3.0 * (double)n * sizeof(float), same);
    else
        large_failed(&l, name, status);
}

/* ---- digests and copies ---- */

static rp_status same_digests(size_t leaf, size_t count, rp_device_message *message, unsigned char *digest,
                              double *seconds, bool *same)
{
    unsigned char *bytes = malloc(leaf + 1);
    rp_digest expected;
    rp_status status = bytes != NULL ? RP_OK : rp_fail(&l.err, RP_ENOMEM, "no memory for a leaf");

    for (size_t i = 0; i < count; i++)
        message[i] = (rp_device_message){(char *)a + i * leaf, (uint32_t)leaf, 0, RP_F32};
    *seconds = rp_seconds_now();
    if (status == RP_OK)
        status = rp_device_hash(l.device, digest, message, count, NULL, &l.err);
    if (status == RP_OK)
        status = rp_device_synchronize(l.device, NULL, &l.err);
    *seconds = rp_seconds_now() - *seconds;
    for (size_t i = 0; i < count && status == RP_OK; i += 1 + (i % (count / 16) == 0 ? 0 : count / 16 - 2)) {
        bytes[0] = 0;
        status = rp_device_read(l.device, bytes + 1, (char *)a + i * leaf, leaf, NULL, &l.err);
        if (status == RP_OK)
            status = rp_sha256(&expected, bytes, leaf + 1, &l.err);
        *same = *same && memcmp(&expected, digest + i * 32, 32) == 0;
    }
    free(bytes);
    return status;
}

/* Leaves of all of a, those compared in pairs about each sixteenth. */
static void digests(void)
{
    const char *const name = "SHA-256 of 16 GiB in leaves";
    const size_t leaf = full * sizeof(float) / 16384 < 1024 ? 1024 : full * sizeof(float) / 16384;
    const size_t count = full * sizeof(float) / leaf;
    rp_device_message *message = calloc(count, sizeof *message);
    unsigned char *digest = calloc(count, 32);
    double seconds = 0;
    bool same = true;
    rp_status status = RP_OK;

    if (!large_begins(&l, name))
        goto end;
    if (message == NULL || digest == NULL)
        status = rp_fail(&l.err, RP_ENOMEM, "no memory for %zu digests", count);
    if (status == RP_OK)
        status = same_digests(leaf, count, message, digest, &seconds, &same);
    if (status == RP_OK)
        large_print(&l, name, seconds, (double)leaf * (double)count, same);
    else
        large_failed(&l, name, status);
end:
    free(message);
    free(digest);
}

typedef rp_status copying(void *there, void *here, size_t bytes);

static rp_status read_all(void *there, void *here, size_t bytes)
{
    return rp_device_read(l.device, here, there, bytes, NULL, &l.err);
}

static rp_status download(void *there, void *here, size_t bytes)
{
    return rp_device_download(l.device, here, there, bytes, NULL, &l.err);
}

static rp_status upload(void *there, void *here, size_t bytes)
{
    return rp_device_upload(l.device, there, here, bytes, NULL, &l.err);
}

static rp_status copy_there(void *there, void *here, size_t bytes)
{
    (void)here;
    return rp_device_copy(l.device, there, a, bytes, NULL, &l.err);
}

static bool transfer(const char *name, copying *copy, void *there, void *here, const void *expected, size_t bytes)
{
    double begin;
    bool same = true;
    rp_status status;

    if (!large_begins(&l, name))
        return false;
    status = copy == read_all || copy == download ? RP_OK : large_poison(&l, there, bytes);
    begin = rp_seconds_now();
    if (status == RP_OK)
        status = copy(there, here, bytes);
    if (status == RP_OK)
        status = rp_device_synchronize(l.device, NULL, &l.err);
    begin = rp_seconds_now() - begin;
    if (status == RP_OK)
        status = large_same_bytes(&l, there, expected, NULL, bytes, &same);
    if (status == RP_OK && copy == download)
        same = same && memcmp(here, expected, bytes) == 0;
    if (status == RP_OK)
        large_print(&l, name, begin, (double)bytes, same);
    else
        large_failed(&l, name, status);
    return status == RP_OK;
}

/* Memory of the host in pages as large as it has, since there are gigabytes of it. */
static void *host_memory(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (memory == MAP_FAILED)
        return NULL;
    (void)madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
}

static void copies(void)
{
    const size_t bytes = side * side * sizeof(float), some = 2 * half + 4 * more;
    void *second;

    host = host_memory(bytes);
    second = host_memory(some);
    if (host == NULL || second == NULL) {
        fprintf(stderr, "large: no memory of the host for 20 GiB: copies and sums of all are skipped\n");
        return;
    }
    if (!transfer("read of 16 GiB", read_all, a, host, host, bytes)) {
        (void)munmap(host, bytes);
        host = NULL;
        return;
    }
    (void)transfer("download of 4 GiB", download, a, second, host, some);
    (void)transfer("upload of 8 GiB", upload, o, host, host, 2 * some);
    (void)transfer("copy on the device, 16 GiB", copy_there, o, NULL, host, bytes);
    (void)munmap(second, some);
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

static void wholes(void)
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

/* ---- all of it ---- */

static bool take(void *memory, size_t bytes)
{
    return rp_device_allocate(l.device, (void **)memory, bytes, &l.err) == RP_OK;
}

static bool take_all(void)
{
    const int64_t state[2] = {(int64_t)0x9E3779B97F4A7C15, ((int64_t)1 << 33) + 5};
    const size_t all = side * side + 4 * more, some = half + 8 * more;

    return take(&a, all * 4) && take(&o, all * 4) && take(&positive, some * 4) && take(&third, some * 4) &&
           take(&narrow, all * 2) && take(&truth, all) && take(&rng, sizeof state) &&
           rp_device_upload(l.device, rng, state, sizeof state, NULL, &l.err) == RP_OK;
}

static bool open_all(const char *name, bool reduced)
{
    static rp_fpenv saved;
    const int bits = reduced ? 8 : 16;

    half = (size_t)1 << (2 * bits - 1), full = 2 * half;
    side = ((size_t)1 << bits) + 1, more = reduced ? 99 : 4099;
    l.half = half;
    l.ends = rp_seconds_now() + SECONDS;
    if (rp_fpenv_enter(&saved, NULL, &l.err) != RP_OK || rp_device_open(&l.device, name, NULL, 1, &l.err) != RP_OK ||
        rp_device_cpu_new(&l.cpu, NULL, reduced ? 2 : 16, &l.err) != RP_OK ||
        rp_kernel_table_get(&l.table, NULL, &l.err) != RP_OK)
        return false;
    fprintf(stderr, "large: %s, beside %s\n", rp_device_identity(l.device), rp_device_identity(l.cpu));
    return true;
}

int main(int argc, char **argv)
{
    const bool reduced = argc > 2 && strcmp(argv[2], "reduced") == 0;

    if (argc < 2 || (argc > 2 && !reduced)) {
        fprintf(stderr, "usage: large DEVICE [reduced]\n");
        return 2;
    }
    if (!open_all(argv[1], reduced)) {
        fprintf(stderr, "large: %s: %s\n", argv[1], l.err.text);
        return 2;
    }
    if (!take_all()) {
        printf("%s\n", l.err.text);
        return 77; /* skipped, as parts of scripts/gpu-report.sh are */
    }
    randoms();
    elementwise();
    adamw();
    chain();
    moves();
    takes();
    gathers();
    rows();
    products();
    convolutions();
    images();
    digests();
    copies();
    if (host != NULL)
        wholes();
    for (void **memory = (void *[]){a, o, positive, third, narrow, truth, rng, NULL}; *memory != NULL; memory++)
        rp_device_release(l.device, *memory);
    rp_device_free(l.device);
    rp_device_free(l.cpu);
    return l.different || l.lost;
}
