/* SPDX-License-Identifier: Apache-2.0
 * Passes that put other instructions in the place of some (core/run/rewrites): the bits of the eager tape, zeros of
 * both signs and NaNs among them, and that they find what they are for and leave alone what only looks like it. */
#include "tests/core/run/plan_steps.h"

enum { PIECES = 5, ROWS = 6, SEEDS = 120 };
/* What is not as the pass wants it. */
typedef enum fault { NO_FAULT, GAP, OVERLAP, READ_TWICE, OUTPUT, OTHER_OPERAND, FAULTS } fault;

static size_t draw(uint64_t seed, uint32_t i, size_t below)
{
    return rp_random_u32(21, (uint32_t)seed, 3, i) % below;
}

/* A piece of width columns: of both signs, -0, NaN. */
static rp_tensor piece(rp_graph *g, uint64_t seed, size_t i, size_t width, int axis)
{
    const size_t shape[2] = {axis ? ROWS : width, axis ? width : ROWS};
    char name[16];
    rp_tensor x;

    snprintf(name, sizeof name, "x%zu", i);
    x = rp_graph_input(g, RP_INPUT_FEED, name, &(rp_type){RP_F32, 2, {shape[0], shape[1]}}, NULL);
    if (draw(seed, (uint32_t)(40 + i), 3) == 0)
        return rp_log(x);      /* NaN below 0 */
    return rp_neg(rp_relu(x)); /* -0 and numbers below it */
}

static rp_tensor padded(rp_tensor x, size_t before, size_t after, int axis)
{
    return rp_pad(x, (size_t[]){axis ? 0 : before, axis ? before : 0}, (size_t[]){axis ? 0 : after, axis ? after : 0});
}

/* The pads of pieces that meet, added in an order and by a tree of the seed. */
static rp_program *sum_of_pads(uint64_t seed, fault wrong)
{
    const int axis = (int)draw(seed, 0, 2);
    const size_t n = 2 + draw(seed, 1, PIECES - 1);
    rp_graph *g = rp_graph_new(NULL);
    rp_tensor pad[PIECES], x;
    size_t width[PIECES], total = 0, at = 0, left = n;

    for (size_t i = 0; i < n; i++)
        total += width[i] = 1 + draw(seed, (uint32_t)(2 + i), 4);
    for (size_t i = 0; i < n; i++) {
        const size_t last = i + 1 == n, gap = last && wrong == GAP, over = last && wrong == OVERLAP;

        x = piece(g, seed, i, width[i] + over - (gap && width[i] > 1), axis);
        pad[i] = padded(x, at - over, total - at - width[i] + (gap && width[i] > 1), axis);
        at += width[i];
    }
    if (wrong == READ_TWICE)
        rp_graph_set(g, RP_OUTPUT_RESULT, "twice", rp_exp(pad[0]));
    if (wrong == OUTPUT)
        rp_graph_set(g, RP_OUTPUT_RESULT, "pad", pad[n - 1]);
    if (wrong == OTHER_OPERAND)
        pad[0] = rp_exp(pad[0]);
    for (uint32_t round = 10; left > 1; round++) {
        const size_t a = draw(seed, 2 * round, left), b = (a + 1 + draw(seed, 2 * round + 1, left - 1)) % left;

        x = rp_add(pad[a], pad[b]);
        pad[a < b ? a : b] = x;
        pad[a < b ? b : a] = pad[--left];
    }
    rp_graph_set(g, RP_OUTPUT_RESULT, "sum", rp_mul(pad[0], pad[0]));
    rp_graph_set(g, RP_OUTPUT_RESULT, "same", rp_reshape(pad[0], 1, (size_t[]){total * ROWS}));
    return rp_graph_take_program(g, NULL);
}

static size_t launches(const rp_program *p, rp_device *device, unsigned passes)
{
    const unsigned before = plan_passes;
    store s = store_new(p);
    rp_plan *plan;
    size_t n;

    plan_passes = passes;
    plan = plan_new(p, device, &s);
    n = rp_plan_launches(plan);
    plan_passes = before;
    rp_plan_free(plan);
    store_free(&s);
    return n;
}

static void sums_of_pads_have_the_bits_of_the_eager_tape(void **state)
{
    rp_device *device;
    char what[64];

    (void)state;
    assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        for (int wrong = 0; wrong < FAULTS; wrong++) {
            rp_program *p = sum_of_pads(seed, (fault)wrong);

            assert_non_null(p);
            snprintf(what, sizeof what, "seed %d, case %d", (int)seed, wrong);
            assert_plan_is_eager(p, device, device, what);
            plan_passes = rp_random_u32(seed, 4, 2, 0) & RP_PASSES;
            assert_plan_is_eager(p, device, device, what);
            plan_passes = RP_PASSES;
            rp_program_free(p);
        }
    rp_device_free(device);
}

/* n pads and n - 1 sums become a concat, a constant and a sum: fewer from three pads on. */
static void only_pads_that_meet_are_put_side_by_side(void **state)
{
    rp_device *device;
    size_t fewer = 0;

    (void)state;
    assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        for (int wrong = 0; wrong < FAULTS; wrong++) {
            rp_program *p = sum_of_pads(seed, (fault)wrong);
            const size_t with = launches(p, device, RP_PASSES),
                         without = launches(p, device, RP_PASSES & ~RP_PASS_PADS);

            if (wrong != NO_FAULT && wrong != GAP) /* a gap needs a piece that can do with less */
                assert_int_equal(with, without);
            fewer += wrong == NO_FAULT && with < without;
            rp_program_free(p);
        }
    assert_true(fewer > SEEDS / 2);
    rp_device_free(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_of_pads_have_the_bits_of_the_eager_tape),
        cmocka_unit_test(only_pads_that_meet_are_put_side_by_side),
    };

    rp_set_allocator(&poisoning);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
