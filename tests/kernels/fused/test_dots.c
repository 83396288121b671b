/* SPDX-License-Identifier: Apache-2.0
 * Dots, whose products are stored nowhere: at every level, in every cut, for rows anywhere in memory and for squares
 * the bits of the products rounded and then summed by the reference. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "determinism/bits.h"
#include "determinism/philox.h"
#include "determinism/sum.h"
#include "kernels/device.h"
#include "kernels/dots.h"
#include "tests/kernels/kernel_call.h"

typedef struct shape {
    int rows, length;
} shape;

/* Less than the lanes, as many, more, a chunk of 4.1 and more than that. */
static const shape shapes[] = {{1, 1},   {9, 3},        {5, 63},           {7, 64},
                               {3, 130}, {2, RP_CHUNK}, {1, RP_CHUNK + 1}, {2, 3 * RP_CHUNK + 77}};

typedef struct operands {
    char *x, *y, *product, *expected, *found;
    size_t n, rows;
} operands;

static char *room(size_t bytes)
{
    char *memory = calloc(bytes, 1);

    assert_non_null(memory);
    return memory;
}

/* In some rows of every kind of number, in others such that what is rounded decides. */
static void fill(char *x, rp_dtype dtype, size_t n, uint32_t seed)
{
    static const float rare[] = {-0.0f, 0.0f, HUGE_VALF, -HUGE_VALF, NAN, 0x1p-149f, 0x1p100f};

    for (size_t i = 0; i < n; i++) {
        const uint32_t word = rp_random_u32(7, seed, 2, i);
        const float value =
            word % 997 == 0 ? rare[word / 997 % 7] : (word % 5 ? 1.0f : -64.0f) * rp_uniform_f32(word >> 3);

        if (dtype == RP_F32)
            ((float *)(void *)x)[i] = value;
        else
            ((double *)(void *)x)[i] = (double)value / 3;
    }
}

/* One element behind the beginning of a block, so that no row of vectors lies as they like it. */
static operands make(const shape *s, rp_dtype dtype)
{
    const size_t size = rp_dtype_size(dtype), n = (size_t)s->rows * (size_t)s->length;
    operands o = {.n = n, .rows = (size_t)s->rows};

    o.x = room((n + 1) * size);
    o.y = room((n + 1) * size);
    o.product = room(n * size);
    o.expected = room(o.rows * size);
    o.found = room(o.rows * size);
    fill(o.x, dtype, n + 1, 1);
    fill(o.y, dtype, n + 1, 2);
    return o;
}

static void drop(operands *o)
{
    free(o->x);
    free(o->y);
    free(o->product);
    free(o->expected);
    free(o->found);
}

static void by_the_reference(const shape *s, rp_dtype dtype, const char *x, const char *y, operands *o)
{
    const rp_view in[2] = {view_of((void *)(uintptr_t)x, dtype, s->rows, s->length, -1),
                           view_of((void *)(uintptr_t)y, dtype, s->rows, s->length, -1)};
    const rp_view product = view_of(o->product, dtype, s->rows, s->length, -1);
    const rp_view out = view_of(o->expected, dtype, s->rows, 1, -1);
    rp_attr attr[RP_MAX_ATTR] = {{0}};

    call_kernel("ref", RP_K_mul, &product, 1, in, 2, attr);
    attr[0].n = 1;
    attr[0].list[0] = 1;
    call_kernel("ref", RP_K_sum, &out, 1, &product, 1, attr);
    rp_to_stored(o->expected, o->expected, dtype, o->rows);
}

static void compare(const shape *s, rp_dtype dtype, const char *x, const char *y, operands *o)
{
    static const unsigned threads[] = {1, 2, 3, 7};
    const char *const *level;
    const size_t levels = rp_kernel_levels(&level), bytes = o->rows * rp_dtype_size(dtype);
    const rp_dots dots = {x, y, o->found, dtype, o->rows, (size_t)s->length};

    by_the_reference(s, dtype, x, y, o);
    for (size_t l = 0; l < levels * 4; l++) {
        rp_device *device;

        assert_int_equal(rp_device_cpu_new(&device, level[l / 4], threads[l % 4], NULL), RP_OK);
        memset(o->found, 0x7e, bytes);
        assert_int_equal(rp_device_has_dots(device), l / 4 > 0); /* the reference has none */
        assert_int_equal(rp_device_launch_dots(device, &dots), l / 4 > 0);
        rp_to_stored(o->found, o->found, dtype, o->rows);
        if (l / 4 > 0)
            assert_memory_equal(o->found, o->expected, bytes);
        rp_device_free(device);
    }
}

static void dots_have_the_bits_of_products_that_are_summed(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * (sizeof shapes / sizeof *shapes); i++) {
        const rp_dtype dtype = i % 2 ? RP_F64 : RP_F32;
        const size_t size = rp_dtype_size(dtype);
        operands o = make(&shapes[i / 2], dtype);

        compare(&shapes[i / 2], dtype, o.x, o.y, &o);
        compare(&shapes[i / 2], dtype, o.x + size, o.x + size, &o);
        compare(&shapes[i / 2], dtype, o.x + size, o.y, &o);
        drop(&o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(dots_have_the_bits_of_products_that_are_summed)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
