/* SPDX-License-Identifier: Apache-2.0
 * Every kernel, element type, level, cut, memory layout and kind of data against the reference, bit for bit; and the
 * reference against itself where it must not matter how the data lies. Formulas are checked in test_kernel_values.c,
 * orders of summation in test_kernel_orders.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "determinism/bits.h"
#include "determinism/fpenv.h"
#include "kernels/conformance/conformance.h"
#include "kernels/conformance/specimen_data.h"
#include "tests/kernels/specimen_compare.h"
#include "tests/house/sanitized.h"

static const unsigned cuts[] = {1, 2, 3, 7};

static void assert_same_outputs(const outcome *want, const rp_specimen *got, const rp_specimen_plan *plan,
                                const char *level, const char *how)
{
    char text[512];

    if (!same_outputs(text, sizeof text, want, got, plan, level, how))
        fail_msg("%s", text);
}

/* What lies behind an input's last element belongs to its block, so that strays there would be read in peace. */
static void forbid_behind(const rp_view *view, const void *block, size_t count)
{
    char *end = (char *)view->data, *block_end = (char *)block + count * rp_dtype_size(view->dtype);
    ptrdiff_t last = 0;

    for (int d = 0; d < view->rank; d++) {
        if (view->shape[d] == 0)
            return;
        last += (ptrdiff_t)(view->shape[d] - 1) * view->stride[d];
    }
    end += (last + 1) * (ptrdiff_t)rp_dtype_size(view->dtype);
    RP_FORBID(end, (size_t)(block_end - end));
}

static void make(rp_specimen *s, const rp_specimen_plan *plan)
{
    assert_int_equal(rp_specimen_make(s, plan, NULL), RP_OK);
    for (size_t v = 0; v < s->args.n_in; v++)
        forbid_behind(&s->in[v], s->block[v], s->count[v]);
}

/* Calls check for every kernel and type over sizes, layouts and data; the option rotates so that all are met. Kernels
 * share the values of an option, which take longer to make than most kernels take. Where another build asks for all of
 * it every size is met in every layout once, and with it every kind of data. */
static void each_plan(const size_t (*shapes)[3], size_t n_shapes, int options, void (*check)(const rp_specimen_plan *))
{
    rp_specimen_cache values = {0};
    int option = 0;

    for (size_t i = 0; i < n_shapes * (size_t)(FEWER ? 1 : options); i++)
        for (int layout = 0; layout < RP_LAYOUT_COUNT; layout++, option++)
            for (int id = 0; id < RP_K_COUNT; id++)
                for (int dtype = 0; dtype < RP_DTYPE_COUNT; dtype++) {
                    const size_t *shape = shapes[i % n_shapes];
                    const rp_specimen_plan plan = {.kernel = (rp_kernel_id)id,
                                                   .dtype = (rp_dtype)dtype,
                                                   .shape = {shape[0], shape[1], shape[2]},
                                                   .option = option,
                                                   .layout = (rp_specimen_layout)layout,
                                                   .data = (rp_specimen_data)(option / 8 % RP_DATA_COUNT),
                                                   .seed = (uint64_t)(7 * option),
                                                   .cache = &values};

                    if (rp_specimen_fits(plan.kernel, plan.dtype))
                        check(&plan);
                }
    rp_specimen_cache_free(&values);
}

/* Every level that has a variant of its own, and the reference; the number of parts rotates. */
static void check_levels(const rp_specimen_plan *plan)
{
    const char *const *levels;
    const size_t n_levels = rp_kernel_levels(&levels);
    const rp_kernel_table *ref, *table;
    rp_specimen specimen;
    outcome want;

    make(&specimen, plan);
    assert_int_equal(rp_kernel_table_get(&ref, "ref", NULL), RP_OK);
    run_cut(ref->kernel[plan->kernel], &specimen.args, 1);
    want = take_outcome(&specimen);
    for (size_t l = 0; l < n_levels; l++) {
        const unsigned parts = cuts[((size_t)plan->option + l) % (sizeof cuts / sizeof cuts[0])];
        char how[32];

        assert_int_equal(rp_kernel_table_get(&table, levels[l], NULL), RP_OK);
        assert_non_null(table->kernel[plan->kernel]);
        if (table->kernel[plan->kernel] == ref->kernel[plan->kernel] && (l > 0 || parts == 1))
            continue; /* what `want` is already */
        erase(&specimen);
        run_cut(table->kernel[plan->kernel], &specimen.args, parts);
        snprintf(how, sizeof how, "%u parts", parts);
        assert_same_outputs(&want, &specimen, plan, levels[l], how);
    }
    drop_outcome(&want);
    rp_specimen_free(&specimen);
}

static void every_level_and_cut_has_the_bits_of_the_reference(void **state)
{
    static const size_t shapes[][3] = {{1, 1, 1},  {0, 3, 5},  {3, 0, 5},   {2, 3, 0},   {5, 7, 11}, {3, 2, 64},
                                       {2, 1, 63}, {2, 2, 65}, {13, 17, 2}, {1, 3, 130}, {4, 1, 33}, {2, 31, 16}};

    (void)state;
    each_plan(shapes, sizeof shapes / sizeof shapes[0], 3, check_levels);
}

/* Kernels whose results run over an axis. To products and attention the first axis is so many of them, each like the
 * last: a few are enough, as thousands took a third of this program's time. */
static void check_long(const rp_specimen_plan *plan)
{
    const rp_kernel_id id = plan->kernel;
    rp_specimen_plan p = *plan;

    if (p.shape[0] > 1000 && (id == RP_K_matmul || id == RP_K_attention || id == RP_K_attention_grad))
        p.shape[0] = 67;
    if (rp_kernel_flags(id) & RP_OP_ALONG)
        check_levels(&p);
}

static void long_rows_and_columns_have_the_bits_of_the_reference(void **state)
{
    static const size_t shapes[][3] = {{2, 3, 513},  {1, 2, 1100},  {2, 1, 4096}, {1, 1, 4097},
                                       {1, 1, 9001}, {4099, 1, 18}, {3, 1400, 2}, {2, 3, 2101}};

    (void)state;
    each_plan(shapes, sizeof shapes / sizeof shapes[0], 3, check_long);
}

/* Kernels that change how they write when an output is larger than the caches. The reference is slow where it calls a
 * function for each element, so those functions are left to the smaller shapes: they share their loops with the rest.
 */
static void check_large(const rp_specimen_plan *plan)
{
    static const rp_kernel_id ids[] = {
        RP_K_cast,    RP_K_add,     RP_K_dropout,      RP_K_copy,       RP_K_fill,
        RP_K_concat,  RP_K_pad,     RP_K_gather,       RP_K_one_hot,    RP_K_iota,
        RP_K_uniform, RP_K_softmax, RP_K_softmax_grad, RP_K_layer_norm, RP_K_cross_entropy_grad};

    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++)
        if (plan->kernel == ids[i] && plan->dtype == RP_F32 &&
            (plan->layout == RP_LAYOUT_UNALIGNED || (plan->layout == RP_LAYOUT_GAPS && !SANITIZED)))
            check_levels(plan);
}

/* 33 MiB of binary32, in rows that end inside a cache line. */
static void outputs_larger_than_the_caches_have_the_bits_of_the_reference(void **state)
{
    static const size_t shapes[][3] = {{3, 1303, 2213}};

    (void)state;
    each_plan(shapes, 1, 1, check_large);
}

/* Elements of the input are wider than, narrower than and as wide as those of the output, and rows are shorter and
 * longer than the blocks which are streamed. At every level, in two parts. */
static void check_streamed_rows(rp_dtype from, rp_dtype to, size_t columns)
{
    enum { GAP = 5, LEAST = 33 << 20 };
    const size_t rows = LEAST / rp_dtype_size(to) / columns + 1, count = rows * columns;
    const size_t read = rows * (columns + GAP) * rp_dtype_size(from), written = count * rp_dtype_size(to);
    unsigned char *const x = rp_malloc(read), *const y = rp_malloc(written), *const want = rp_malloc(written);
    const rp_view in = {x, from, 2, {rows, columns}, {(ptrdiff_t)(columns + GAP), 1}};
    const rp_view out = {y, to, 2, {rows, columns}, {(ptrdiff_t)columns, 1}};
    const rp_kernel_args args = {&in, 1, &out, 1, NULL};
    const char *const *levels;
    const size_t n_levels = rp_kernel_levels(&levels);

    assert_true(x != NULL && y != NULL && want != NULL);
    for (size_t i = 0; i < read; i++) /* of binary32 too, none of which is a NaN */
        x[i] = (unsigned char)(i * 2654435761u >> 13 & 0x3f);
    for (size_t l = 0; l <= n_levels; l++) {
        const rp_kernel_table *table;

        assert_int_equal(rp_kernel_table_get(&table, l == 0 ? "ref" : levels[l - 1], NULL), RP_OK);
        memset(y, 0x7e, written);
        table->kernel[RP_K_cast]->run(&args, 0, count / 2 + 7);
        table->kernel[RP_K_cast]->run(&args, count / 2 + 7, count);
        if (l == 0)
            memcpy(want, y, written);
        if (memcmp(want, y, written) != 0)
            fail_msg("%s: other bits of %zu columns, type %d to %d", levels[l - 1], columns, (int)from, (int)to);
    }
    rp_free(x);
    rp_free(y);
    rp_free(want);
}

static void streamed_rows_of_every_size_of_element_have_the_bits_of_the_reference(void **state)
{
    static const rp_dtype types[][2] = {{RP_U8, RP_F64}, {RP_I16, RP_F32}, {RP_F32, RP_BF16}, {RP_I16, RP_U8}};

    (void)state;
    for (size_t i = 0; i < (SANITIZED ? 1 : sizeof types / sizeof *types); i++) {
        check_streamed_rows(types[i][0], types[i][1], 40);
        check_streamed_rows(types[i][0], types[i][1], 9001);
    }
}

/* Element `position` of a view by definition, without the library's walking. */
static void *element(const rp_view *view, size_t position)
{
    ptrdiff_t offset = 0;

    for (int d = view->rank - 1; d >= 0; d--) {
        offset += (ptrdiff_t)(position % view->shape[d]) * view->stride[d];
        position /= view->shape[d];
    }
    return (char *)view->data + offset * (ptrdiff_t)rp_dtype_size(view->dtype);
}

static size_t elements(const rp_view *view)
{
    size_t n = 1;

    for (int d = 0; d < view->rank; d++)
        n *= view->shape[d];
    return n;
}

/* The reference on plain copies of the inputs and on the views as they lie. */
static void check_layout(const rp_specimen_plan *plan)
{
    rp_specimen_plan plain_plan = *plan;
    const rp_kernel_table *table;
    rp_specimen laid, plain;
    char text[300];

    plain_plan.layout = RP_LAYOUT_PLAIN;
    make(&laid, plan);
    make(&plain, &plain_plan);
    for (size_t v = 0; v < laid.args.n_in; v++)
        for (size_t i = 0; i < elements(&laid.in[v]); i++)
            memcpy(element(&plain.in[v], i), element(&laid.in[v], i), rp_dtype_size(laid.in[v].dtype));
    assert_int_equal(rp_kernel_table_get(&table, "ref", NULL), RP_OK);
    run_cut(table->kernel[plan->kernel], &laid.args, 1);
    run_cut(table->kernel[plan->kernel], &plain.args, 1);
    for (size_t v = 0; v < laid.args.n_out; v++)
        for (size_t i = 0; i < elements(&laid.out[v]); i++) {
            const size_t size = rp_dtype_size(laid.out[v].dtype);
            unsigned char a[8], b[8];

            rp_to_stored(a, element(&laid.out[v], i), laid.out[v].dtype, 1);
            rp_to_stored(b, element(&plain.out[v], i), laid.out[v].dtype, 1);
            if (memcmp(a, b, size) != 0) {
                describe_plan(text, sizeof text, plan, "ref", "against plain copies");
                fail_msg("%s: output %zu, element %zu differs", text, v, i);
            }
        }
    rp_specimen_free(&laid);
    rp_specimen_free(&plain);
}

static void memory_layout_does_not_change_bits(void **state)
{
    static const size_t shapes[][3] = {{1, 1, 1},  {5, 7, 11},  {1, 4, 3},  {4, 1, 9},
                                       {3, 2, 64}, {2, 31, 16}, {1, 1, 130}};

    (void)state;
    each_plan(shapes, sizeof shapes / sizeof shapes[0], 3, check_layout);
}

/* Output i in the place of input i. */
static void check_in_place(const rp_specimen_plan *plan)
{
    const char *const *levels;
    const size_t n_levels = rp_kernel_levels(&levels);

    if (!(rp_kernel_flags(plan->kernel) & RP_OP_INPLACE) || plan->layout == RP_LAYOUT_BROADCAST)
        return;
    for (size_t l = 0; l < n_levels; l++) {
        const rp_kernel_table *table;
        rp_specimen apart, within;
        char text[300];

        make(&apart, plan);
        make(&within, plan);
        assert_int_equal(rp_kernel_table_get(&table, levels[l], NULL), RP_OK);
        run_cut(table->kernel[plan->kernel], &apart.args, 1);
        for (size_t v = 0; v < within.args.n_out; v++)
            within.out[v] = within.in[v];
        run_cut(table->kernel[plan->kernel], &within.args, 3);
        for (size_t v = 0; v < apart.args.n_out; v++)
            for (size_t i = 0; i < elements(&apart.out[v]); i++) {
                unsigned char a[8], b[8];

                rp_to_stored(a, element(&apart.out[v], i), apart.out[v].dtype, 1);
                rp_to_stored(b, element(&within.out[v], i), apart.out[v].dtype, 1);
                if (memcmp(a, b, rp_dtype_size(apart.out[v].dtype)) != 0) {
                    describe_plan(text, sizeof text, plan, levels[l], "in place");
                    fail_msg("%s: output %zu, element %zu differs", text, v, i);
                }
            }
        rp_specimen_free(&apart);
        rp_specimen_free(&within);
    }
}

static void elementwise_kernels_may_run_in_place(void **state)
{
    static const size_t shapes[][3] = {{5, 7, 11}, {2, 1, 67}};

    (void)state;
    each_plan(shapes, sizeof shapes / sizeof shapes[0], 2, check_in_place);
}

static rp_device *device; /* of the test below, whose callback takes a plan only */

static void check_device(const rp_specimen_plan *plan)
{
    const rp_kernel_table *table;
    rp_specimen specimen;
    outcome want;
    char how[32];

    make(&specimen, plan);
    assert_int_equal(rp_kernel_table_get(&table, "ref", NULL), RP_OK);
    run_cut(table->kernel[plan->kernel], &specimen.args, 1);
    want = take_outcome(&specimen);
    erase(&specimen);
    assert_int_equal(rp_device_launch(device, plan->kernel, &specimen.args, NULL, NULL), RP_OK);
    assert_int_equal(rp_device_synchronize(device, NULL, NULL), RP_OK);
    snprintf(how, sizeof how, "%u threads", rp_device_threads(device));
    assert_same_outputs(&want, &specimen, plan, rp_device_level(device), how);
    drop_outcome(&want);
    rp_specimen_free(&specimen);
}

static void threads_do_not_change_bits(void **state)
{
    static const size_t shapes[][3] = {{3, 47, 257}, {2, 90, 64}};
    const char *const *levels;
    const size_t n_levels = rp_kernel_levels(&levels);

    (void)state;
    for (size_t c = 0; c < sizeof cuts / sizeof cuts[0]; c++) {
        const size_t n = c % 2 == 0 ? 0 : n_levels - 1;

        if (SANITIZED && c % 3 == 0) /* 2 and 3 threads, the best level and the reference */
            continue;
        assert_int_equal(rp_device_cpu_new(&device, levels[n], cuts[c], NULL), RP_OK);
        assert_string_equal(rp_device_level(device), levels[n]);
        each_plan(&shapes[c % 2], 1, 1, check_device);
        rp_device_free(device);
    }
}

static void every_level_reproduces_the_golden_vectors(void **state)
{
    const char *const *levels;
    const size_t n_levels = rp_kernel_levels(&levels);
    size_t pairs = 0;

    (void)state;
    for (int id = 0; id < RP_K_COUNT; id++)
        for (int dtype = 0; dtype < RP_DTYPE_COUNT; dtype++)
            pairs += rp_specimen_fits((rp_kernel_id)id, (rp_dtype)dtype);
    for (size_t l = 0; l < n_levels; l++) {
        rp_error err = {0};
        size_t checked;

        if (rp_conformance_run(levels[l], &checked, &err) != RP_OK)
            fail_msg("%s", err.text);
        assert_int_equal(checked, pairs); /* a kernel without a golden is seen too */
    }
}

static void a_level_is_named_or_refused(void **state)
{
    const char *const *levels;
    const size_t n_levels = rp_kernel_levels(&levels);
    const rp_kernel_table *table;
    const char *before = getenv("RP_ISA");
    char *kept = before != NULL ? rp_strdup(before) : NULL;
    rp_error err;

    (void)state;
    assert_string_equal(levels[0], "ref");
    unsetenv("RP_ISA");
    assert_int_equal(rp_kernel_table_get(&table, NULL, &err), RP_OK);
    assert_string_equal(table->level, levels[n_levels - 1]);
    setenv("RP_ISA", "ref", 1);
    assert_int_equal(rp_kernel_table_get(&table, "", &err), RP_OK);
    assert_string_equal(table->level, "ref");
    setenv("RP_ISA", "mmx", 1);
    assert_int_equal(rp_kernel_table_get(&table, NULL, &err), RP_EARG);
    assert_null(table);
    assert_non_null(strstr(err.text, "RP_ISA"));
#if defined(__x86_64__)
    assert_int_equal(rp_kernel_table_get(&table, "neon", &err), RP_EUNSUPPORTED);
#else
    assert_int_equal(rp_kernel_table_get(&table, "avx2", &err), RP_EUNSUPPORTED);
#endif
    assert_int_equal(rp_device_cpu_new(&device, "ref", 0, &err), RP_EARG);
    unsetenv("RP_ISA");
    if (kept != NULL)
        setenv("RP_ISA", kept, 1);
    rp_free(kept);
}

static void device_memory_is_aligned_and_copies_both_ways(void **state)
{
    const char text[] = "some bytes";
    char back[sizeof text];
    void *memory;

    (void)state;
    assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
    for (size_t bytes = 0; bytes < 300; bytes += 37) {
        assert_int_equal(rp_device_allocate(device, &memory, bytes, NULL), RP_OK);
        assert_int_equal((uintptr_t)memory % 64, 0);
        memset(memory, 1, bytes);
        rp_device_release(device, memory);
    }
    assert_int_equal(rp_device_allocate(device, &memory, SIZE_MAX - 8, NULL), RP_ENOMEM);
    assert_null(memory);
    assert_int_equal(rp_device_allocate(device, &memory, sizeof text, NULL), RP_OK);
    assert_int_equal(rp_device_upload(device, memory, text, sizeof text, NULL, NULL), RP_OK);
    assert_int_equal(rp_device_download(device, back, memory, sizeof text, NULL, NULL), RP_OK);
    assert_memory_equal(text, back, sizeof text);
    rp_device_release(device, memory);
    rp_device_release(device, NULL);
    rp_device_free(device);
    rp_device_free(NULL);
}

static int enter(void **state)
{
    static rp_fpenv saved;

    (void)state;
    return rp_fpenv_enter(&saved, NULL, NULL) == RP_OK ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_level_and_cut_has_the_bits_of_the_reference),
        cmocka_unit_test(long_rows_and_columns_have_the_bits_of_the_reference),
        cmocka_unit_test(outputs_larger_than_the_caches_have_the_bits_of_the_reference),
        cmocka_unit_test(streamed_rows_of_every_size_of_element_have_the_bits_of_the_reference),
        cmocka_unit_test(memory_layout_does_not_change_bits),
        cmocka_unit_test(elementwise_kernels_may_run_in_place),
        cmocka_unit_test(threads_do_not_change_bits),
        cmocka_unit_test(every_level_reproduces_the_golden_vectors),
        cmocka_unit_test(a_level_is_named_or_refused),
        cmocka_unit_test(device_memory_is_aligned_and_copies_both_ways),
    };

    return cmocka_run_group_tests(tests, enter, NULL);
}
