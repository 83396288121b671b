/* SPDX-License-Identifier: Apache-2.0
 * Bags, which are summed where their rows lie: at every level, in every cut and for indices of both types the bits of
 * the rows gathered and then reduced by the reference. */
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
#include "kernels/bags.h"
#include "kernels/device.h"
#include "tests/kernels/kernel_call.h"

enum { ROWS = 37 };

typedef struct shape {
    int bags, length, inner;
} shape;

/* Lengths that have forms of their own, others, more than the lanes and more than a chunk; rows shorter and longer than
 * a strip. */
static const shape shapes[] = {{5, 1, 3},    {4, 2, 256},  {7, 3, 300},  {3, 4, 1030}, {6, 8, 64},    {9, 16, 1024},
                               {2, 16, 700}, {3, 17, 129}, {2, 32, 600}, {2, 64, 65},  {3, 130, 257}, {1, 8300, 5}};

typedef struct operands {
    void *table, *gathered, *expected, *found;
    int64_t *index;
    int32_t *narrow;
    size_t n;
} operands;

static void *room(size_t bytes)
{
    void *memory = calloc(bytes, 1);

    assert_non_null(memory);
    return memory;
}

static void fill(void *table, rp_dtype dtype, size_t n)
{
    static const float rare[] = {-0.0f, 0.0f, HUGE_VALF, -HUGE_VALF, NAN, 0x1p-149f, 0x1p100f};

    for (size_t i = 0; i < n; i++) {
        const uint32_t word = rp_random_u32(7, 1, 2, i);
        const float value = word % 97 == 0 ? rare[word / 97 % 7] : (word % 5 ? 1.0f : -64.0f) * rp_uniform_f32(word);

        if (dtype == RP_F32)
            ((float *)table)[i] = value;
        else
            ((double *)table)[i] = (double)value / 3;
    }
}

static operands make(const shape *s, rp_dtype dtype)
{
    const size_t size = rp_dtype_size(dtype), indices = (size_t)s->bags * (size_t)s->length;
    operands o = {.n = (size_t)s->bags * (size_t)s->inner};

    o.table = room(ROWS * (size_t)s->inner * size);
    o.gathered = room(indices * (size_t)s->inner * size);
    o.expected = room(o.n * size);
    o.found = room(o.n * size);
    o.index = room(indices * sizeof *o.index);
    o.narrow = room(indices * sizeof *o.narrow);
    fill(o.table, dtype, ROWS * (size_t)s->inner);
    for (size_t i = 0; i < indices; i++)
        o.narrow[i] = (int32_t)(o.index[i] = rp_random_u32(7, 1, 3, i) % ROWS);
    return o;
}

static void drop(operands *o)
{
    free(o->table);
    free(o->gathered);
    free(o->expected);
    free(o->found);
    free(o->index);
    free(o->narrow);
}

static void by_the_reference(const shape *s, rp_dtype dtype, bool mean, operands *o)
{
    const rp_view in[2] = {view_of(o->table, dtype, ROWS, s->inner, -1),
                           view_of(o->index, RP_I64, s->bags, s->length, -1)};
    const rp_view gathered = view_of(o->gathered, dtype, s->bags, s->length, s->inner, -1);
    const rp_view out = view_of(o->expected, dtype, s->bags, 1, s->inner, -1);
    rp_attr attr[RP_MAX_ATTR] = {{0}};

    call_kernel("ref", RP_K_gather, &gathered, 1, in, 2, attr);
    attr[0].n = 1;
    attr[0].list[0] = 1;
    call_kernel("ref", mean ? RP_K_mean : RP_K_sum, &out, 1, &gathered, 1, attr);
}

static void compare(const shape *s, rp_dtype dtype, bool mean, rp_device *device, operands *o)
{
    const size_t bytes = o->n * rp_dtype_size(dtype);

    for (int narrow = 0; narrow < 2; narrow++) {
        rp_bags bags = {
            view_of(o->table, dtype, ROWS, s->inner, -1),
            view_of(narrow ? (void *)o->narrow : o->index, narrow ? RP_I32 : RP_I64, s->bags, s->length, -1),
            view_of(o->found, dtype, s->bags, 1, s->inner, -1), mean};

        memset(o->found, 0x7e, bytes);
        if (!rp_device_launch_bags(device, &bags)) {
            assert_string_equal(rp_device_level(device), "ref");
            continue;
        }
        rp_to_stored(o->found, o->found, dtype, o->n);
        assert_memory_equal(o->found, o->expected, bytes);
    }
}

static void bags_have_the_bits_of_rows_gathered_and_reduced(void **state)
{
    static const unsigned threads[] = {1, 2, 3, 7};
    const char *const *level;
    const size_t levels = rp_kernel_levels(&level);

    (void)state;
    for (size_t i = 0; i < 4 * (sizeof shapes / sizeof *shapes); i++) {
        const shape *s = &shapes[i / 4];
        const rp_dtype dtype = i % 2 ? RP_F64 : RP_F32;
        const bool mean = i / 2 % 2;
        operands o = make(s, dtype);

        by_the_reference(s, dtype, mean, &o);
        rp_to_stored(o.expected, o.expected, dtype, o.n);
        for (size_t l = 0; l < levels * 4; l++) {
            rp_device *device;

            assert_int_equal(rp_device_cpu_new(&device, level[l / 4], threads[l % 4], NULL), RP_OK);
            compare(s, dtype, mean, device, &o);
            rp_device_free(device);
        }
        drop(&o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bags_have_the_bits_of_rows_gathered_and_reduced)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
