/* SPDX-License-Identifier: Apache-2.0
 * Fourier transforms of long lines against the reference, at every level: as matrices, side by side, from operands that
 * lie apart, cut anywhere, and beyond what a level takes itself. Short ones: test_kernels.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "determinism/bits.h"
#include "determinism/philox.h"
#include "kernels/cpu/matmul/matmul_scratch.h"
#include "kernels/fourier/factors.h"
#include "tests/house/sanitized.h"
#include "tests/kernels/kernel_call.h"

enum { LONGEST = SANITIZED ? 1 << 16 : 1 << 19, ELEMENTS = 2 * LONGEST, LAYOUTS = 8 };

/* Lines of at most 1,024 are 37, which every other element of memory holds too. */
_Static_assert(ELEMENTS >= 2 * 37 * 1024, "memory for the lines");
static double memory[6][ELEMENTS];

/* Numbers about 1, zeros of both signs among them, and a few that are far smaller. */
static void draw(void *x, rp_dtype dtype, uint32_t seed)
{
    for (size_t i = 0; i < ELEMENTS; i++) {
        const uint32_t word = rp_random_u32(seed, 0, 0, i);
        double value = ((double)word - 0x1p31) * 0x1p-30;

        if (word % 7 == 0)
            value = word % 2 ? 0.0 : -0.0;
        if (word % 11 == 0)
            value *= 1e-40;
        if (dtype == RP_F32)
            ((float *)x)[i] = (float)value;
        else
            ((double *)x)[i] = value;
    }
}

/* x and y: one line behind the other; side by side; every other element; y one number; pairs, with either first; the
 * same of the first line, whose second part all others have too. */
static void lay(rp_view in[2], int layout, size_t lines, size_t n)
{
    for (int i = 0; i < 2; i++) {
        if (layout == 1) {
            in[i].stride[0] = 1;
            in[i].stride[1] = (ptrdiff_t)lines;
        }
        if (layout == 2 || layout > 3) {
            in[i].stride[0] = (ptrdiff_t)(2 * n);
            in[i].stride[1] = 2;
        }
    }
    if (layout == 3)
        in[1].stride[0] = in[1].stride[1] = 0;
    if (layout > 3)
        in[layout % 2 == 0].data = (char *)in[layout % 2].data + rp_dtype_size(in[0].dtype);
    if (layout > 5)
        in[layout % 2 == 0].stride[0] = 0;
}

/* The items in `cuts` parts. */
static void transform(const char *level, const rp_view *out, const rp_view *in, const rp_attr *attr, size_t cuts)
{
    const rp_kernel_args args = {.in = in, .n_in = 2, .out = out, .n_out = 2, .attr = attr};
    const rp_kernel_table *table;
    size_t items;

    assert_int_equal(rp_kernel_table_get(&table, level, NULL), RP_OK);
    items = table->kernel[RP_K_fft]->items(&args);
    for (size_t i = 0; i < cuts; i++)
        table->kernel[RP_K_fft]->run(&args, items * i / cuts, items * (i + 1) / cuts);
}

static void same(const char *level, rp_dtype dtype, const void *found, const void *want, size_t count, size_t n,
                 int layout, int option)
{
    static double a[ELEMENTS], b[ELEMENTS];
    const size_t size = rp_dtype_size(dtype);

    rp_to_stored(a, found, dtype, count);
    rp_to_stored(b, want, dtype, count);
    for (size_t i = 0; i < count; i++)
        if (memcmp((char *)a + i * size, (char *)b + i * size, size) != 0)
            fail_msg("%s at %s, n %zu, layout %d, inverse %d, transposed %d: element %zu differs", rp_dtype_name(dtype),
                     level, n, layout, option % 2, option / 2, i);
}

/* Parts of pairs, one part behind the other. */
static void part(void *to, const void *pairs, size_t count, size_t size, bool exchanged)
{
    for (size_t i = 0; i < 2 * count; i++)
        memcpy((char *)to + ((i + exchanged) % 2 * count + i / 2) * size, (const char *)pairs + i * size, size);
}

/* The same results as pairs of real and imaginary part, or the other way round; memory[2] and [3] have what they are to
 * be. */
static void check_pairs(const char *level, rp_dtype dtype, const rp_view *in, const rp_attr *attr, size_t cuts,
                        int layout, int option, bool exchanged)
{
    static double parts[ELEMENTS];
    const size_t lines = in[0].shape[0], n = in[0].shape[1], count = lines * n, size = rp_dtype_size(dtype);
    rp_view found[2] = {view_of((char *)memory[4] + exchanged * size, dtype, (int)lines, (int)n, -1),
                        view_of((char *)memory[4] + !exchanged * size, dtype, (int)lines, (int)n, -1)};

    for (int i = 0; i < 2; i++) {
        found[i].stride[0] = (ptrdiff_t)(2 * n);
        found[i].stride[1] = 2;
    }
    memset(memory[4], 0xA5, 2 * count * size);
    transform(level, found, in, attr, cuts);
    part(parts, memory[4], count, size, exchanged);
    for (size_t i = 0; i < 2; i++)
        same(level, dtype, (char *)parts + i * count * size, memory[2 + i], count, n, layout, option);
}

static void check(rp_dtype dtype, size_t lines, size_t n, int layout, int option)
{
    rp_view in[2] = {view_of(memory[0], dtype, (int)lines, (int)n, -1),
                     view_of(memory[1], dtype, (int)lines, (int)n, -1)};
    const rp_view want[2] = {view_of(memory[2], dtype, (int)lines, (int)n, -1),
                             view_of(memory[3], dtype, (int)lines, (int)n, -1)};
    const rp_view found[2] = {view_of(memory[4], dtype, (int)lines, (int)n, -1),
                              view_of(memory[5], dtype, (int)lines, (int)n, -1)};
    const size_t bytes = lines * n * rp_dtype_size(dtype);
    rp_attr attr[RP_MAX_ATTR] = {{0}};
    const char *const *levels;
    const size_t n_levels = rp_kernel_levels(&levels);

    RP_AT(attr, fft, inverse).i = option % 2;
    RP_AT(attr, fft, transposed).i = option / 2;
    lay(in, layout, lines, n);
    transform("ref", want, in, attr, 1);
    for (size_t l = 1; l < n_levels; l++) {
        memset(memory[4], 0xA5, bytes);
        memset(memory[5], 0xA5, bytes);
        transform(levels[l], found, in, attr, lines > 3 ? 3 : 1);
        for (int i = 0; i < 2; i++)
            same(levels[l], dtype, memory[4 + i], memory[2 + i], lines * n, n, layout, option);
        if (n <= 5000) /* and some that are not made so; either order at each level of lines that are woven */
            check_pairs(levels[l], dtype, in, attr, lines > 3 ? 3 : 1, layout, option,
                        (n + l + (size_t)layout / 2) % 2 == 0);
    }
}

static void long_lines_have_the_bits_of_the_reference(void **state)
{
    (void)state;
    for (int dtype = RP_F32; dtype <= RP_F64; dtype++) {
        draw(memory[0], (rp_dtype)dtype, 3);
        draw(memory[1], (rp_dtype)dtype, 4);
        for (size_t n = 2; n <= LONGEST; n *= 2)
            for (int layout = 0; layout < LAYOUTS; layout++)
                for (int option = 0; option < 4; option++)
                    if (n <= 1 << 14 || (layout + option) % 4 == 0)
                        check((rp_dtype)dtype,
                              n <= 1 << 10                      ? 37
                              : n <= LONGEST / 2 && layout != 2 ? 2
                                                                : 1,
                              n, layout, option);
    }
}

/* Whether fft takes lines of so many elements. */
static bool taken(size_t n)
{
    rp_fourier_factors factors;

    return rp_fourier_factor(&factors, n);
}

/* Every length up to 400, and longer ones: woven, as matrices whose columns fill no vectors, of primes that have no
 * stage of their own, of one great prime, and too long for what lies between the halves of stages. */
static void other_lengths_have_the_bits_of_the_reference(void **state)
{
    static const size_t lengths[] = {
        480,     500,  625,      720,   768,   945,       1000,      1001,      1155,      1200,  1920,
        2187,    2310, 3000,     3765,  3840,  3888,      4095,      4800,      6561,      10000, 13 * 251,
        17 * 19, 211,  37 * 256, 15015, 44100, 251 * 251, 65536 * 3, 45 * 4096, 3 * 59049,
    };

    (void)state;
    for (int dtype = RP_F32; dtype <= RP_F64; dtype++) {
        draw(memory[0], (rp_dtype)dtype, 7);
        draw(memory[1], (rp_dtype)dtype, 8);
        for (size_t n = 3; n <= 400; n++) /* of the longer ones two options of four, by turns */
            for (int option = 0; option < 4 && taken(n) && (!SANITIZED || n % 3 == 0 || n < 40); option++)
                if (n <= 64 || (n / 2 + (size_t)option) % (SANITIZED ? 4 : 2) == 0)
                    check((rp_dtype)dtype, n % 3 == 0 ? 21 : 5, n, (int)(n / 3 + (size_t)option) % LAYOUTS, option);
        for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
            for (int option = 0; option < 4 && taken(lengths[k]) && lengths[k] <= LONGEST / 2; option++)
                for (int layout = 0; layout < LAYOUTS; layout++)
                    if ((layout + option) % (lengths[k] <= 4096 && !SANITIZED ? 2 : 4) == (int)(k % 2))
                        check((rp_dtype)dtype, lengths[k] <= 1024 ? 19 : 2, lengths[k], layout, option);
    }
}

/* More lengths than are kept at once, each of them twice in turn. */
static void bits_do_not_depend_on_lengths_in_between(void **state)
{
    (void)state;
    draw(memory[0], RP_F32, 9);
    draw(memory[1], RP_F32, 10);
    for (int again = 0; again < 2; again++)
        for (size_t n = 1000; n < 1200; n++)
            if (taken(n))
                check(RP_F32, 2, n, 0, 0);
}

/* With all blocks lent there is no place for stages between each other. */
static void bits_do_not_depend_on_scratch_memory(void **state)
{
    void *lent[RP_SCRATCH_BLOCKS];

    (void)state;
    draw(memory[0], RP_F32, 5);
    draw(memory[1], RP_F32, 6);
    for (int i = 0; i < RP_SCRATCH_BLOCKS; i++)
        lent[i] = rp_scratch_borrow();
    check(RP_F32, 3, 512, 0, 1);
    check(RP_F32, 3, 400, 0, 1);
    for (int i = 0; i < RP_SCRATCH_BLOCKS; i++)
        rp_scratch_return(lent[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_lines_have_the_bits_of_the_reference),
        cmocka_unit_test(other_lengths_have_the_bits_of_the_reference),
        cmocka_unit_test(bits_do_not_depend_on_lengths_in_between),
        cmocka_unit_test(bits_do_not_depend_on_scratch_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
