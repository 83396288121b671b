/* SPDX-License-Identifier: Apache-2.0
 * Operands of a concat that are made where they go (core/run/places): the bits of the eager tape under any choice of
 * passes, at every level and number of threads; no more memory than without; a pad's rows are made once. */
#include "rp/rp.h"
#include "tests/core/run/plan_steps.h"
#include "tests/house/sanitized.h"
#include "tests/kernels/random_concats.h"

enum { PROGRAMS = SANITIZED ? 120 : 600, MEASURED = SANITIZED ? 120 : 3000 };

static const size_t columns[] = {1, 3, 16, 40};
static const unsigned cuts[] = {1, 2, 3, 7};
enum { CUTS = COUNT(cuts), LEVELS = 8 };

static rp_device *device_new(const char *level, unsigned threads)
{
    rp_device *device;

    assert_int_equal(rp_device_cpu_new(&device, level, threads, NULL), RP_OK);
    return device;
}

static size_t bytes_of(const rp_program *p, rp_device *device, unsigned passes)
{
    store s = store_new(p);
    rp_plan *plan;
    size_t n;

    plan_passes = passes;
    plan = plan_new(p, device, &s);
    plan_passes = RP_PASSES;
    n = rp_plan_own_bytes(plan) + rp_plan_arena_bytes(plan);
    rp_plan_free(plan);
    store_free(&s);
    return n;
}

/* Every level with every number of threads; how many levels there are. */
static size_t devices_new(rp_device *device[LEVELS][CUTS])
{
    const char *const *levels;
    const size_t n = rp_kernel_levels(&levels);

    assert_true(n <= LEVELS);
    for (size_t l = 0; l < n; l++)
        for (size_t c = 0; c < CUTS; c++)
            device[l][c] = device_new(levels[l], cuts[c]);
    return n;
}

static void devices_free(rp_device *device[LEVELS][CUTS], size_t n)
{
    for (size_t l = 0; l < n; l++)
        for (size_t c = 0; c < CUTS; c++)
            rp_device_free(device[l][c]);
}

static void concats_have_the_bits_of_the_eager_tape(void **state)
{
    const char *const *levels;
    rp_device *device[LEVELS][CUTS];
    const size_t n = devices_new(device);
    char what[80];

    (void)state;
    (void)rp_kernel_levels(&levels);
    for (uint64_t seed = 0; seed < PROGRAMS; seed++) {
        rp_program *p = random_concats_new(seed, 1 + seed % 7, columns[seed / 7 % COUNT(columns)]);
        tape expected;

        assert_non_null(p);
        expected = tape_new(p, device[0][0]);
        for (size_t c = 0; c < CUTS; c++) {
            if (SANITIZED && c != seed / n % CUTS)
                continue; /* one number of threads by turns */
            for (unsigned i = 0; i < 3; i++) {
                plan_passes = i == 0   ? RP_PASSES
                              : i == 1 ? RP_PASS_INSIDE | RP_PASS_INPLACE | RP_PASS_REUSE
                                       : rp_random_u32(seed, cuts[c], 2, i) & RP_PASSES;
                snprintf(what, sizeof what, "seed %d, %s, %u threads, passes %u", (int)seed, levels[seed % n], cuts[c],
                         plan_passes);
                assert_plan_is(p, &expected, device[seed % n][c], what);
            }
        }
        plan_passes = RP_PASSES;
        tape_free(&expected);
        rp_program_free(p);
    }
    devices_free(device, n);
}

static void plans_of_concats_need_no_more_than_without(void **state)
{
    rp_device *device = device_new(NULL, 1);
    size_t less = 0;

    (void)state;
    for (uint64_t seed = 0; seed < MEASURED; seed++) {
        rp_program *p = random_concats_new(seed, 64, columns[seed % COUNT(columns)]);
        const size_t with = bytes_of(p, device, RP_PASSES), without = bytes_of(p, device, RP_PASSES & ~RP_PASS_INSIDE);

        if (with > without)
            fail_msg("seed %d: %zu bytes, without %zu", (int)seed, with, without);
        less += with < without;
        rp_program_free(p);
    }
    assert_true(less > MEASURED / 4); /* it finds something */
    rp_device_free(device);
}

/* x is fed, y what a pad makes of it. later: the rows that the pad's second concat reads are an output too. */
static size_t pad_bytes(rp_device *device, bool later)
{
    rp_graph *g = rp_graph_new(NULL);
    rp_tensor x = rp_graph_input(g, RP_INPUT_FEED, "x", &(rp_type){RP_F32, 2, {64, 64}}, NULL), rows, y;
    rp_program *p;
    size_t bytes;

    rows = rp_pad_with(x, (size_t[]){0, 2}, (size_t[]){0, 2}, RP_PAD_REFLECT, 0);
    y = rp_pad_with(rows, (size_t[]){2, 0}, (size_t[]){2, 0}, RP_PAD_REFLECT, 0);
    rp_graph_set(g, RP_OUTPUT_RESULT, "y", y);
    if (later)
        rp_graph_set(g, RP_OUTPUT_RESULT, "rows", rows);
    p = rp_graph_take_program(g, NULL);
    assert_non_null(p);
    assert_plan_is_eager(p, device, device, "pad");
    bytes = bytes_of(p, device, RP_PASSES);
    rp_program_free(p);
    return bytes;
}

static void rows_of_a_pad_are_made_where_they_go(void **state)
{
    const size_t x = 64 * 64 * 4, rows = 64 * 68 * 4, y = 68 * 68 * 4;
    rp_device *device = device_new(NULL, 1);

    (void)state;
    assert_int_equal(pad_bytes(device, false), x + y);
    assert_int_equal(pad_bytes(device, true), x + rows + y);
    rp_device_free(device);
}

/* A transform of complex numbers, which lie as pairs; exchanged: of exchanged parts, as one that goes back is written.
 * Who else reads its real part: nobody, an output, or an operation before the pairs are put together. */
enum others { NOBODY, OUTPUT, SOONER };
static rp_program *transform_of(size_t lines, size_t n, bool inverse, bool exchanged, enum others others)
{
    rp_graph *g = rp_graph_new(NULL);
    const size_t shape[] = {lines, n}, one[] = {lines, n, 1};
    rp_tensor x = rp_graph_input(g, RP_INPUT_FEED, "x", &(rp_type){RP_F32, 3, {lines, n, 2}}, NULL), in[2], out[2];
    rp_program *p;

    for (int i = 0; i < 2; i++) {
        const size_t begin[] = {0, 0, (size_t)i}, end[] = {lines, n, (size_t)i + 1};

        in[i] = rp_reshape(rp_slice(x, begin, end), 2, shape);
    }
    rp_fft(in[exchanged], in[!exchanged], inverse, &out[exchanged], &out[!exchanged]);
    if (others == OUTPUT)
        rp_graph_set(g, RP_OUTPUT_RESULT, "re", out[0]);
    else if (others == SOONER)
        rp_graph_set(g, RP_OUTPUT_RESULT, "sum", rp_sum(out[0], (int[]){1}, 1, false));
    for (int i = 0; i < 2; i++)
        out[i] = rp_reshape(out[i], 3, one);
    rp_graph_set(g, RP_OUTPUT_RESULT, "y", rp_concat(out, 2, 2));
    p = rp_graph_take_program(g, NULL);
    assert_non_null(p);
    return p;
}

/* One transform at every level and number of threads; of these one by turns where a case costs more. */
static void check_transform(const rp_program *p, rp_device *device[LEVELS][CUTS], size_t n_levels, size_t turn,
                            bool fits, const char *what)
{
    tape expected = tape_new(p, device[0][0]);

    for (size_t l = 0; l < n_levels; l++)
        for (size_t c = 0; c < CUTS; c++) {
            if (SANITIZED && c != (turn + l) % CUTS)
                continue;
            assert_plan_is(p, &expected, device[l][c], what);
            if ((bytes_of(p, device[l][c], RP_PASSES) < bytes_of(p, device[l][c], RP_PASSES & ~RP_PASS_INSIDE)) != fits)
                fail_msg("%s: pairs %d expected", what, fits);
        }
    tape_free(&expected);
}

static void parts_of_transforms_are_made_as_pairs(void **state)
{
    static const size_t lengths[] = {2, 7, 24, 64, 100, 128, 400, 1000, 1024, 4096, 4100};
    rp_device *device[LEVELS][CUTS];
    const size_t n_levels = devices_new(device);
    char what[80];

    (void)state;
    for (size_t i = 0; i < COUNT(lengths); i++)
        for (int how = 0; how < 6; how++) {
            const size_t n = lengths[i], lines = how < 2 || how > 3 ? 37 : 3;
            rp_program *p = transform_of(lines, n, how % 2, how == 4, how == 1 ? OUTPUT : how == 5 ? SOONER : NOBODY);

            snprintf(what, sizeof what, "%zu lines of %zu, %d", lines, n, how);
            check_transform(p, device, n_levels, i + (size_t)how, n <= 4096 && (how == 0 || how == 4), what);
            rp_program_free(p);
        }
    devices_free(device, n_levels);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(concats_have_the_bits_of_the_eager_tape),
        cmocka_unit_test(plans_of_concats_need_no_more_than_without),
        cmocka_unit_test(parts_of_transforms_are_made_as_pairs),
        cmocka_unit_test(rows_of_a_pad_are_made_where_they_go),
    };

    rp_set_allocator(&poisoning);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
