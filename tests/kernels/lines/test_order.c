/* SPDX-License-Identifier: Apache-2.0
 * Lines that the levels of the processor divide before they order them, against the reference: longer than their
 * scratch, with all kinds of keys, and the first few or nearly all of them; and scattering
 * into long columns. Short ones: test_kernels.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "determinism/bits.h"
#include "determinism/philox.h"
#include "tests/house/sanitized.h"
#include "tests/kernels/kernel_call.h"

enum { LINE = SANITIZED ? 40000 : 300001, KINDS = 6 };

/* All bits; few values; all equal; nearly all in one part of the range, far ones beside them; special values of reals;
 * descending already. */
static uint64_t word_of(int kind, size_t i)
{
    const uint64_t word = (uint64_t)rp_random_u32(7, 0, 0, 2 * i) << 32 | rp_random_u32(7, 0, 0, 2 * i + 1);

    switch (kind) {
    case 0:
        return word;
    case 1:
        return word % 5 * 0x0010000100000000u;
    case 2:
        return 0x3FF0000040000000u;
    case 3:
        return i % 1000 == 7 ? word : 0x3FF0000000000000u + (word & 0xFFFFF) * 0x100000001u;
    case 4:
        return word % 3 == 0   ? 0
               : word % 3 == 1 ? 0x8000000080000000u
                               : 0x7FF8000000000000u | word % 2 << 63 | 0x7FC00000u;
    default:
        return (LINE - i) * 0x100000001u;
    }
}

static void *line_of(rp_dtype dtype, int kind)
{
    const size_t size = rp_dtype_size(dtype);
    unsigned char *x = malloc(LINE * size);

    assert_non_null(x);
    for (size_t i = 0; i < LINE; i++) {
        const uint64_t wide = word_of(kind, i);
        const uint32_t narrow = (uint32_t)(wide >> (kind == 0 ? 13 : 0));

        if (size == 8)
            memcpy(x + i * size, &wide, size);
        else
            memcpy(x + i * size, &narrow, size);
    }
    return x;
}

static void order_with(const char *level, rp_kernel_id id, rp_dtype dtype, void *x, size_t k, bool descending, void *y,
                       int64_t *place)
{
    const rp_view in = view_of(x, dtype, LINE, -1);
    const rp_view out[2] = {view_of(y, dtype, (int)k, -1), view_of(place, RP_I64, (int)k, -1)};
    rp_attr attr[RP_MAX_ATTR] = {{0}};

    if (id == RP_K_sort) {
        RP_AT(attr, sort, descending).i = descending;
    } else {
        RP_AT(attr, topk, k).i = (int64_t)k;
        RP_AT(attr, topk, largest).i = descending;
    }
    call_kernel(level, id, out, 2, &in, 1, attr);
}

static void check(rp_kernel_id id, rp_dtype dtype, void *x, int kind, size_t k, bool descending)
{
    const size_t size = rp_dtype_size(dtype);
    unsigned char *want = malloc(k * size), *found = malloc(k * size), *a = malloc(k * size), *b = malloc(k * size);
    int64_t *place = malloc(k * sizeof *place), *at = malloc(k * sizeof *at);
    const char *const *levels;
    const size_t n = rp_kernel_levels(&levels);

    assert_true(want && found && a && b && place && at);
    order_with("ref", id, dtype, x, k, descending, want, place);
    rp_to_stored(a, want, dtype, k);
    for (size_t l = 1; l < n; l++) {
        memset(found, 0xA5, k * size);
        memset(at, 0xA5, k * sizeof *at);
        order_with(levels[l], id, dtype, x, k, descending, found, at);
        rp_to_stored(b, found, dtype, k);
        for (size_t i = 0; i < k; i++)
            if (place[i] != at[i] || memcmp(a + i * size, b + i * size, size) != 0)
                fail_msg("%s %s at %s, kind %d, k %zu, descending %d: element %zu has place %lld, expected %lld",
                         rp_kernel_name(id), rp_dtype_name(dtype), levels[l], kind, k, descending, i, (long long)at[i],
                         (long long)place[i]);
    }
    free(want), free(found), free(a), free(b), free(place), free(at);
}

static void long_lines_have_the_order_of_the_reference(void **state)
{
    (void)state;
    for (int dtype = RP_F32; dtype <= RP_I64; dtype++)
        for (int kind = 0; kind < KINDS; kind++) {
            void *x = line_of((rp_dtype)dtype, kind);

            check(RP_K_sort, (rp_dtype)dtype, x, kind, LINE, (kind + dtype) % 2 != 0);
            check(RP_K_topk, (rp_dtype)dtype, x, kind, LINE / 2, (kind + dtype) % 2 == 0);
            check(RP_K_topk, (rp_dtype)dtype, x, kind, 5000, kind % 2 != 0); /* not kept as a heap */
            check(RP_K_topk, (rp_dtype)dtype, x, kind, 33, kind % 2 == 0);
            free(x);
        }
}

/* Lines side by side that are too long for a tile of them. */
static void long_columns_have_the_sums_of_the_reference(void **state)
{
    enum { LENGTH = 20000, COLUMNS = 3, SOURCES = 30000 };
    static double x[LENGTH * COLUMNS], source[SOURCES * COLUMNS], want[LENGTH * COLUMNS], found[LENGTH * COLUMNS];
    static int32_t index[SOURCES * COLUMNS];
    const rp_view in[3] = {view_of(x, RP_F64, LENGTH, COLUMNS, -1), view_of(index, RP_I32, SOURCES, COLUMNS, -1),
                           view_of(source, RP_F64, SOURCES, COLUMNS, -1)};
    const rp_view y = view_of(want, RP_F64, LENGTH, COLUMNS, -1), z = view_of(found, RP_F64, LENGTH, COLUMNS, -1);
    rp_attr attr[RP_MAX_ATTR] = {{0}};
    const char *const *levels;
    const size_t n = rp_kernel_levels(&levels);

    (void)state;
    for (size_t i = 0; i < LENGTH * COLUMNS; i++)
        x[i] = (double)rp_random_u32(8, 0, 0, i) * 0x1p-20;
    for (size_t i = 0; i < SOURCES * COLUMNS; i++) {
        source[i] = (double)rp_random_u32(9, 0, 0, i) * 0x1p-31;
        index[i] = (int32_t)(rp_random_u32(10, 0, 0, i) % LENGTH);
    }
    RP_AT(attr, scatter_along, mode).i = 1;
    call_kernel("ref", RP_K_scatter_along, &y, 1, in, 3, attr);
    for (size_t l = 1; l < n; l++) {
        memset(found, 0xA5, sizeof found);
        call_kernel(levels[l], RP_K_scatter_along, &z, 1, in, 3, attr);
        assert_memory_equal(want, found, sizeof want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_lines_have_the_order_of_the_reference),
        cmocka_unit_test(long_columns_have_the_sums_of_the_reference),
    };

    return cmocka_run_group_tests_name("order", tests, NULL, NULL);
}
