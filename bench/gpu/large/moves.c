/* SPDX-License-Identifier: Apache-2.0
 * Kernels that move elements of large tensors: copies, concats, pads, and what indices name. */
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "kernels/limits.h"

void large_moves(void)
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

void large_takes(void)
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

void large_gathers(void)
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
