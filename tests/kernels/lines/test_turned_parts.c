/* SPDX-License-Identifier: Apache-2.0
 * Concats of what lies turned in memory, at every level against the reference: parts along each axis, whole tiles and
 * less, cut anywhere, and nothing beside the parts is written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/kernels/kernel_call.h"

enum { ROWS = 150, COLS = 131, PLANES = 2, FRAME = 64, BYTES = 8 * 2 * PLANES * ROWS * COLS + 2 * FRAME };

static _Alignas(64) unsigned char memory[2][BYTES], want[BYTES], found[BYTES];

/* [PLANES, ROWS, COLS] whose rows lie one element apart. */
static rp_view turned(void *data, rp_dtype dtype, int rows)
{
    rp_view view = view_of(data, dtype, PLANES, COLS, rows, -1);

    view.shape[1] = (size_t)rows;
    view.shape[2] = COLS;
    view.stride[1] = 1;
    view.stride[2] = rows;
    return view;
}

static void join(unsigned char *to, const char *level, const rp_view *in, size_t n_in, int axis, size_t cuts)
{
    rp_attr attr[RP_MAX_ATTR] = {{0}};
    const int factor = (int)n_in;
    const rp_view out =
        view_of(to + FRAME, in->dtype, axis == 0 ? factor * PLANES : PLANES,
                axis == 1 ? (int)in[0].shape[1] + (n_in > 1 ? (int)in[1].shape[1] : 0) : (int)in->shape[1],
                axis == 2 ? factor * COLS : COLS, -1);
    const rp_kernel_args args = {.in = in, .n_in = n_in, .out = &out, .n_out = 1, .attr = attr};
    const rp_kernel_table *table;
    size_t items;

    memset(to, 0x5A, BYTES);
    RP_AT(attr, concat, axis).i = axis;
    assert_int_equal(rp_kernel_table_get(&table, level, NULL), RP_OK);
    items = table->kernel[RP_K_concat]->items(&args);
    for (size_t i = 0; i < cuts; i++)
        table->kernel[RP_K_concat]->run(&args, items * i / cuts, items * (i + 1) / cuts);
}

static void turned_parts_have_the_bits_of_the_reference(void **state)
{
    static const rp_dtype dtypes[] = {RP_F32, RP_F64, RP_BF16, RP_BOOL};
    const char *const *levels;
    const size_t n_levels = rp_kernel_levels(&levels);

    (void)state;
    for (size_t i = 0; i < BYTES; i++) {
        memory[0][i] = (unsigned char)(i * 2654435761u >> 13 & 1);
        memory[1][i] = (unsigned char)(i * 2246822519u >> 11 & 1);
    }
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        for (int axis = 0; axis < 3; axis++)
            for (size_t n_in = 1; n_in < 3; n_in++)
                for (size_t l = 1; l < n_levels; l++)
                    for (size_t cuts = 1; cuts < 8; cuts += 2) {
                        const rp_view in[2] = {turned(memory[0], dtypes[d], ROWS),
                                               turned(memory[1], dtypes[d], axis == 1 ? ROWS - 70 : ROWS)};

                        join(want, "ref", in, n_in, axis, 1);
                        join(found, levels[l], in, n_in, axis, cuts);
                        if (memcmp(found, want, BYTES) != 0)
                            fail_msg("%s at %s: axis %d, %zu parts, %zu cuts", rp_dtype_name(dtypes[d]), levels[l],
                                     axis, n_in, cuts);
                    }
}

/* Two columns beside each other, as the parts of complex numbers: in order, apart, one number, and one of them where it
 * goes already. */
static void columns_side_by_side_have_the_bits_of_the_reference(void **state)
{
    static const rp_dtype dtypes[] = {RP_F32, RP_F64, RP_BF16, RP_BOOL};
    static const ptrdiff_t steps[][2] = {{1, 1}, {3, 1}, {2, 2}, {0, 1}, {1, 0}};
    enum { COUNT = 997 };
    const char *const *levels;
    const size_t n_levels = rp_kernel_levels(&levels);
    rp_attr attr[RP_MAX_ATTR] = {{0}};
    const rp_kernel_table *table;

    (void)state;
    RP_AT(attr, concat, axis).i = 1;
    for (size_t i = 0; i < 2 * BYTES; i++)
        memory[i / BYTES][i % BYTES] = (unsigned char)(i * 2654435761u >> 13);
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        for (size_t l = 1; l < n_levels; l++)
            for (size_t cuts = 1; cuts < 9; cuts++)
                for (size_t s = 0; s < 6; s++) {
                    const rp_view out = view_of(found + FRAME, dtypes[d], COUNT, 2, -1);
                    const size_t lies = s == 5 ? cuts % 2 : 2, items = (size_t)2 * COUNT;
                    rp_view in[2];

                    for (size_t i = 0; i < 2; i++) {
                        in[i] = view_of(memory[i] + 8, dtypes[d], COUNT, 1, -1);
                        in[i].stride[0] = s < 5 ? steps[s][i] : 1;
                    }
                    assert_int_equal(rp_kernel_table_get(&table, "ref", NULL), RP_OK);
                    memset(found, 0x5A, BYTES);
                    table->kernel[RP_K_concat]->run(
                        &(rp_kernel_args){.in = in, .n_in = 2, .out = &out, .n_out = 1, .attr = attr}, 0, items);
                    memcpy(want, found, BYTES);
                    if (lies == 2)
                        memset(found, 0x5A, BYTES);
                    else {
                        in[lies].data = found + FRAME + lies * rp_dtype_size(dtypes[d]);
                        in[lies].stride[0] = 2;
                    }
                    assert_int_equal(rp_kernel_table_get(&table, levels[l], NULL), RP_OK);
                    for (size_t i = 0; i < cuts; i++)
                        table->kernel[RP_K_concat]->run(
                            &(rp_kernel_args){.in = in, .n_in = 2, .out = &out, .n_out = 1, .attr = attr},
                            items * i / cuts, items * (i + 1) / cuts);
                    if (memcmp(found, want, BYTES) != 0)
                        fail_msg("%s at %s: steps %zu, %zu cuts", rp_dtype_name(dtypes[d]), levels[l], s, cuts);
                }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(turned_parts_have_the_bits_of_the_reference),
        cmocka_unit_test(columns_side_by_side_have_the_bits_of_the_reference),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
