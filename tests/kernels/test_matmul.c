/* SPDX-License-Identifier: Apache-2.0
 * The ways a matrix product can take: packed, in place, thin, transposed, merged batches, without a borrowed block.
 * Each has the bits of the reference at every level and for every cut of the items. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "determinism/fpenv.h"
#include "determinism/philox.h"
#include "tests/kernels/kernel_call.h"
#include "kernels/cpu/matmul/matmul_plan.h"
#include "kernels/cpu/matmul/matmul_scratch.h"
#include "kernels/walk.h"
#include "tests/house/sanitized.h"

static const char *const *levels;
static size_t n_levels;

typedef struct problem {
    size_t batch, m, k, n;
    bool ta, tb, ty, same_b; /* a, b, y lie transposed; b is the same for all batches */
} problem;

/* A matrix or a batch of them on new memory, filled with values of every size and a few zeros of both signs. */
static rp_view filled(rp_dtype dtype, size_t batch, size_t rows, size_t columns, bool transposed, uint64_t seed)
{
    const size_t count = batch * rows * columns;
    rp_view v = {.dtype = dtype, .rank = 3, .shape = {batch, rows, columns}};

    v.stride[0] = (ptrdiff_t)(rows * columns);
    v.stride[1] = transposed ? 1 : (ptrdiff_t)columns;
    v.stride[2] = transposed ? (ptrdiff_t)rows : 1;
    v.data = malloc(count * rp_dtype_size(dtype) + 1);
    assert_non_null(v.data);
    for (size_t i = 0; i < count; i++) {
        const uint32_t word = rp_random_u32(seed, 0, 0, i);
        const float x = (rp_uniform_f32(word) - 0.5f) * (word % 7 == 0 ? 1e4f : 1.0f) * (word % 31 == 0 ? -0.0f : 1.0f);

        if (dtype == RP_F32)
            ((float *)v.data)[i] = x;
        else
            ((double *)v.data)[i] = (double)x / 3;
    }
    return v;
}

static void run_cut(const rp_kernel *kernel, const rp_kernel_args *args, size_t parts)
{
    const size_t items = kernel->items(args);

    for (size_t i = parts; i-- > 0;)
        kernel->run(args, items * i / parts, items * (i + 1) / parts);
}

static void check(const problem *p, rp_dtype dtype)
{
    static const rp_attr none[RP_MAX_ATTR];
    static const size_t cuts[] = {1, 2, 3, 7};
    static size_t turn;
    const size_t bytes = p->batch * p->m * p->n * rp_dtype_size(dtype);
    rp_view in[2] = {filled(dtype, p->batch, p->m, p->k, p->ta, 1),
                     filled(dtype, p->same_b ? 1 : p->batch, p->k, p->n, p->tb, 2)};
    rp_view out = filled(dtype, p->batch, p->m, p->n, p->ty, 3);
    const rp_kernel_args args = {in, 2, &out, 1, none};
    const rp_kernel_table *table;
    void *want = malloc(bytes + 1);

    assert_non_null(want);
    in[1].shape[0] = p->batch;
    if (p->same_b)
        in[1].stride[0] = 0;
    call_kernel("ref", RP_K_matmul, &out, 1, in, 2, NULL);
    memcpy(want, out.data, bytes);
    turn++;
    for (size_t l = 1; l < n_levels; l++)
        for (size_t c = 0; c < sizeof cuts / sizeof cuts[0]; c++) {
            if (FEWER && c != (l + turn + turn / 4) % 4) /* one cut, by turns, as in test_conv.c */
                continue;
            assert_int_equal(rp_kernel_table_get(&table, levels[l], NULL), RP_OK);
            memset(out.data, 0xA5, bytes);
            run_cut(table->kernel[RP_K_matmul], &args, cuts[c]);
            if (memcmp(want, out.data, bytes) != 0)
                fail_msg("matmul %s, level %s, %zu parts, batch %zu m %zu k %zu n %zu, transposed %d %d %d, same b %d",
                         rp_dtype_name(dtype), levels[l], cuts[c], p->batch, p->m, p->k, p->n, p->ta, p->tb, p->ty,
                         p->same_b);
        }
    free(want);
    free(in[0].data);
    free(in[1].data);
    free(out.data);
}

static const size_t sizes[][4] = {
    {1, 1, 700, 1100}, {1, 3, 519, 70},   {1, 4, 64, 2100},   {1, 2, 17, 33},    {1, 900, 530, 1},   {1, 130, 1030, 4},
    {1, 70, 600, 96},  {1, 13, 40, 64},   {1, 100, 61, 47},   {1, 25, 513, 33},  {3, 5, 20, 64},     {2, 40, 70, 130},
    {1, 220, 15, 40},  {1, 5, 530, 95},   {1, 33, 16, 1090},  {1, 64, 1, 64},    {1, 30, 0, 70},     {4, 7, 514, 2},
    {1, 1, 18, 8300},  {1, 3, 515, 3000}, {1, 2, 1041, 37},   {1, 215, 515, 36}, {1, 60, 1024, 70},  {1, 32, 600, 140},
    {1, 24, 530, 160}, {1, 96, 540, 80},  {1, 97, 520, 80},   {1, 9, 70, 75},    {2, 17, 33, 101},   {3, 1, 600, 256},
    {1, 9, 260, 1101}, {1, 6, 530, 1029}, {1, 20, 300, 1101}, {1, 1, 530, 403},  {1, 1, 1030, 1301}, {1, 1, 523, 1003},
    {2, 1, 10, 800},
};

static void every_path_has_the_bits_of_the_reference_whatever_the_layout(void **state)
{
    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (unsigned layout = 0; layout < 8; layout++) {
            const size_t *z = sizes[s];
            const problem p = {z[0], z[1], z[2], z[3], layout & 1, layout >> 1 & 1, layout >> 2 & 1, false};

            check(&p, (s + layout) % 3 == 0 ? RP_F64 : RP_F32);
        }
}

static void batches_with_one_b_have_the_bits_of_separate_products(void **state)
{
    (void)state;
    for (unsigned layout = 0; layout < 4; layout++) {
        const problem p = {6, 21, 90, 75, layout & 1, layout >> 1 & 1, false, true};

        check(&p, RP_F32);
        check(&p, RP_F64);
    }
}

static void a_product_without_a_borrowed_block_has_the_same_bits(void **state)
{
    const problem p = {1, 50, 1100, 100, false, false, false, false}, q = {1, 50, 700, 100, true, true, false, false};
    void *blocks[RP_SCRATCH_BLOCKS];

    (void)state;
    for (size_t i = 0; i < RP_SCRATCH_BLOCKS; i++) {
        blocks[i] = rp_scratch_borrow();
        assert_non_null(blocks[i]);
    }
    assert_null(rp_scratch_borrow());
    check(&p, RP_F32);
    check(&p, RP_F64);
    check(&q, RP_F32);
    for (size_t i = 0; i < RP_SCRATCH_BLOCKS; i++)
        rp_scratch_return(blocks[i]);
    blocks[0] = rp_scratch_borrow();
    assert_non_null(blocks[0]);
    rp_scratch_return(blocks[0]);
    rp_scratch_return(NULL);
}

/* ---- the order of a row's panels ---- */

enum { PANELS = 5, WIDE = 64, PANEL = 32 };
static unsigned seen[PANELS * WIDE / PANEL], order[PANELS * WIDE / PANEL], turns;
static const float *panels_at;

/* Counts the panels that a block has, and when. */
static void count_block(const rp_matmul *product, const rp_epilogue *epilogue, size_t row, size_t row_end,
                        size_t column, size_t column_end)
{
    const size_t batch = (size_t)((const float *)product->b - panels_at) / WIDE;

    assert_null(epilogue);
    assert_int_equal(row, 0);
    assert_int_equal(row_end, 1);
    turns++;
    for (size_t c = column; c < column_end; c += PANEL) {
        seen[(batch * WIDE + c) / PANEL]++;
        order[(batch * WIDE + c) / PANEL] = turns;
    }
}

/* One row by PANELS matrices of one row, as from `b` on: items [begin, end); whether the last came first. */
static bool runs_back(const float *b, size_t begin, size_t end)
{
    static const rp_attr none[RP_MAX_ATTR];
    static float a, y[PANELS * WIDE];
    rp_view in[2] = {{.dtype = RP_F32, .rank = 3, .shape = {PANELS, 1, 1}, .data = &a},
                     {.dtype = RP_F32, .rank = 3, .shape = {PANELS, 1, WIDE}, .stride = {WIDE, WIDE, 1}}};
    rp_view out = {.dtype = RP_F32, .rank = 3, .shape = {PANELS, 1, WIDE}, .stride = {WIDE, WIDE, 1}, .data = y};
    const rp_kernel_args args = {in, 2, &out, 1, none};
    rp_matmul_plan plan;

    in[1].data = (void *)(uintptr_t)b;
    panels_at = b;
    turns = 0;
    memset(seen, 0, sizeof seen);
    rp_matmul_plan_make(&plan, &args, PANEL, 1024);
    assert_int_equal(rp_matmul_plan_items(&plan), PANELS * WIDE / PANEL);
    rp_matmul_plan_run(&plan, begin, end, count_block);
    for (size_t i = 0; i < PANELS * WIDE / PANEL; i++)
        assert_int_equal(seen[i], i >= begin && i < end);
    return end > begin && order[begin] > order[end - 1];
}

static void a_row_that_meets_the_same_matrices_again_begins_where_it_ended(void **state)
{
    static const float b[2][PANELS * WIDE];
    const size_t items = PANELS * WIDE / PANEL;

    (void)state;
    assert_false(runs_back(b[0], 0, items));
    for (size_t again = 0; again < 3; again++) {
        assert_true(runs_back(b[0], 0, items));
        assert_false(runs_back(b[0], 0, items));
    }
    assert_false(runs_back(b[1], 0, items)); /* others are begun at their first */
    assert_false(runs_back(b[0], 0, items));
    for (size_t begin = 0; begin < items; begin++) /* any cut, both ways: each panel once */
        for (size_t end = begin; end <= items; end++)
            for (size_t way = 0; way < 2; way++)
                (void)runs_back(b[0], begin, end);
}

static int enter(void **state)
{
    static rp_fpenv saved;

    (void)state;
    n_levels = rp_kernel_levels(&levels);
    return rp_fpenv_enter(&saved, NULL, NULL) == RP_OK ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_path_has_the_bits_of_the_reference_whatever_the_layout),
        cmocka_unit_test(batches_with_one_b_have_the_bits_of_separate_products),
        cmocka_unit_test(a_product_without_a_borrowed_block_has_the_same_bits),
        cmocka_unit_test(a_row_that_meets_the_same_matrices_again_begins_where_it_ended),
    };

    return cmocka_run_group_tests(tests, enter, NULL);
}
