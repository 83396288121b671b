/* SPDX-License-Identifier: Apache-2.0
 * Passes that put other instructions in the place of some (core/run/rewrites), or let one call make what two would
 * (core/run/gathered): the bits of the eager tape, zeros of both signs, infinities and NaNs among them, and
 * that they find what they are for and leave alone what only looks like it. */
#include "tests/core/run/plan_steps.h"
#include "tests/house/sanitized.h"

#include "core/run/plan_private.h" /* behind: its names are as short as theirs */

enum { FEW = 5, PIECES = 50, ROWS = 6, SEEDS = SANITIZED ? 40 : 120, SUMS = 12 };
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
    const size_t n = 2 + draw(seed, 1, (seed % 10 ? FEW : PIECES) - 1);
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
            tape expected;

            assert_non_null(p);
            expected = tape_new(p, device);
            snprintf(what, sizeof what, "seed %d, case %d", (int)seed, wrong);
            assert_plan_is(p, &expected, device, what);
            plan_passes = rp_random_u32(seed, 4, 2, 0) & RP_PASSES;
            assert_plan_is(p, &expected, device, what);
            plan_passes = RP_PASSES;
            tape_free(&expected);
            rp_program_free(p);
        }
    rp_device_free(device);
}

/* n pads and n - 1 sums become a concat, a constant and a sum: fewer from three pads on. */
static void only_pads_that_meet_are_put_side_by_side(void **state)
{
    rp_device *device;
    size_t fewer = 0, many = 0;

    (void)state;
    assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        for (int wrong = 0; wrong < FAULTS; wrong++) {
            rp_program *p = sum_of_pads(seed, (fault)wrong);
            const size_t with = launches(p, device, RP_PASSES),
                         without = launches(p, device, RP_PASSES & ~RP_PASS_PADS);

            many += wrong == NO_FAULT && with + 40 < without;
            if (wrong != NO_FAULT && wrong != GAP) /* a gap needs a piece that can do with less */
                assert_int_equal(with, without);
            fewer += wrong == NO_FAULT && with < without;
            rp_program_free(p);
        }
    assert_true(fewer > SEEDS / 2);
    assert_true(many > 0);
    rp_device_free(device);
}

/* ---- cross entropy and logsumexp of the same rows ---- */

typedef enum pair { BOTH, TWICE, OTHER_ROWS, OTHER_AXIS, ALL_AXES, SUM_FIRST, SUM_ALONE, PAIRS } pair;

/* Logits of the seed: numbers, in some seeds with rows that have infinities or NaN. */
static rp_tensor logits_of(rp_graph *g, uint64_t seed, rp_dtype dtype, size_t rows, size_t classes)
{
    rp_tensor x = rp_graph_input(g, RP_INPUT_FEED, "x", &(rp_type){dtype, 2, {rows, classes}}, NULL);

    if (draw(seed, 60, 3) == 0)
        return rp_scale(rp_scale(x, dtype == RP_F32 ? 1e38 : 1e308), 1e38); /* infinities of both signs */
    return draw(seed, 61, 2) ? rp_log(x) : x;                               /* NaN below 0, -inf at 0 */
}

static rp_program *smoothed(uint64_t seed, pair how)
{
    const size_t rows = 1 + draw(seed, 62, 9), classes = 1 + draw(seed, 63, 200);
    const rp_dtype dtype = draw(seed, 64, 3) ? RP_F32 : RP_F64;
    const bool keep = draw(seed, 65, 2), loses = draw(seed, 66, 2);
    rp_graph *g = rp_graph_new(NULL);
    rp_tensor x = logits_of(g, seed, dtype, rows, classes), of = how == OTHER_ROWS ? rp_neg(x) : x, sum = x, loss;
    rp_tensor labels = rp_scale(rp_cast(rp_iota(g, RP_I32, rows), RP_F32), (double)(classes - 1) / (double)rows);
    const int axes[2] = {how == OTHER_AXIS ? 0 : 1, 0};
    const int n = how == ALL_AXES ? 2 : 1;
    const rp_tensor in[2] = {x, rp_cast(labels, RP_I64)};

    if (how == SUM_FIRST)
        sum = rp_logsumexp(of, axes, n, keep);
    if (how != SUM_ALONE) {
        rp_emit(g, RP_OP_cross_entropy, NULL, in, 2, &loss);
        rp_graph_set(g, RP_OUTPUT_RESULT, "loss", loses ? rp_exp(loss) : loss);
    }
    if (how == TWICE) { /* each cross entropy has a logsumexp of its own where equal ones stay two */
        rp_emit(g, RP_OP_cross_entropy, NULL, (const rp_tensor[2]){x, rp_sub(in[1], in[1])}, 2, &loss);
        rp_graph_set(g, RP_OUTPUT_RESULT, "other", loss);
        rp_graph_set(g, RP_OUTPUT_RESULT, "first", rp_neg(rp_logsumexp(of, axes, n, !keep)));
    }
    if (how != SUM_FIRST)
        sum = rp_logsumexp(of, axes, n, keep);
    rp_graph_set(g, RP_OUTPUT_RESULT, "sum", draw(seed, 67, 2) ? rp_neg(sum) : sum);
    rp_graph_set(g, RP_OUTPUT_RESULT, "again", rp_sum(rp_exp(sum), NULL, 0, false)); /* it lives on */
    return rp_graph_take_program(g, NULL);
}

/* Calls with a second output. */
static size_t made_together(const rp_program *p, rp_device *device)
{
    store s = store_new(p);
    rp_plan *plan = plan_new(p, device, &s);
    size_t n = 0;

    for (size_t i = 0; i < plan->n_calls; i++)
        n += plan->call[i].n_out == 2;
    rp_plan_free(plan);
    store_free(&s);
    return n;
}

static void logsumexp_comes_with_the_cross_entropy_of_its_rows(void **state)
{
    const char *const *levels;
    const size_t n = rp_kernel_levels(&levels);
    char what[80];

    (void)state;
    for (size_t l = 0; l < n; l++) {
        rp_device *device;

        assert_int_equal(rp_device_cpu_new(&device, levels[l], 1 + (unsigned)l % 3, NULL), RP_OK);
        for (uint64_t seed = 0; seed < SEEDS; seed++)
            for (int how = 0; how < PAIRS; how++) {
                rp_program *p = smoothed(seed, (pair)how);
                tape expected;

                assert_non_null(p);
                expected = tape_new(p, device);
                snprintf(what, sizeof what, "seed %d, case %d, %s", (int)seed, how, levels[l]);
                assert_plan_is(p, &expected, device, what);
                assert_int_equal(made_together(p, device), how == BOTH || how == TWICE);
                plan_passes = rp_random_u32(seed, 5, 2, 0) & RP_PASSES;
                assert_plan_is(p, &expected, device, what);
                plan_passes = RP_PASSES;
                tape_free(&expected);
                rp_program_free(p);
            }
        rp_device_free(device);
    }
}

/* ---- products that are only read turned ---- */

typedef enum turn { LEFT, RIGHT, BATCHES, SHARED, READ_BOTH_WAYS, OPERAND_READ, LATE, OTHER_AXES, TURNS } turn;

static rp_tensor exchanged(rp_tensor x)
{
    return rp_transpose(x, NULL);
}

static rp_tensor reals(rp_graph *g, const char *name, rp_dtype dtype, size_t batch, size_t rows, size_t columns)
{
    const rp_type matrices = {dtype, 3, {batch, rows, columns}}, matrix = {dtype, 2, {rows, columns}};

    return rp_graph_input(g, RP_INPUT_FEED, name, batch ? &matrices : &matrix, NULL);
}

/* transpose(x' g), or of g x', of matrices or of batches of them, one of which may be shared, and what only looks like
 * it; k of some seeds is more than one chunk. */
static rp_program *turned_product(uint64_t seed, turn how)
{
    const size_t k = draw(seed, 81, 4) ? 1 + draw(seed, 82, 9) : 600, m = 2 + draw(seed, 83, 40),
                 n = 2 + draw(seed, 84, 40), several = 2 + draw(seed, 80, 3);
    const size_t x_batch = how == BATCHES || how == SHARED || how == OTHER_AXES ? several : 0;
    const rp_dtype dtype = draw(seed, 85, 3) ? RP_F32 : RP_F64;
    rp_graph *graph = rp_graph_new(NULL);
    rp_tensor x = reals(graph, "x", dtype, x_batch, how == RIGHT ? m : k, how == RIGHT ? k : m);
    rp_tensor g = reals(graph, "g", dtype, how == BATCHES ? several : 0, how == RIGHT ? n : k, how == RIGHT ? k : n), y;

    x = draw(seed, 86, 3) ? rp_neg(x) : rp_log(x); /* NaN below 0 */
    g = rp_neg(rp_relu(g));                        /* -0 and numbers below it */
    y = exchanged(how == RIGHT ? g : x);
    if (how == LATE)
        g = rp_exp(g);
    if (how == OPERAND_READ)
        rp_graph_set(graph, RP_OUTPUT_RESULT, "operand", rp_exp(y));
    y = how == RIGHT ? rp_matmul(x, y) : rp_matmul(y, g);
    if (how == READ_BOTH_WAYS)
        rp_graph_set(graph, RP_OUTPUT_RESULT, "product", rp_exp(y));
    y = how == OTHER_AXES ? rp_transpose(y, (int[]){1, 0, 2}) : exchanged(y);
    rp_graph_set(graph, RP_OUTPUT_RESULT, "turned", y);
    rp_graph_set(graph, RP_OUTPUT_RESULT, "more", rp_add(rp_abs(y), y));
    return rp_graph_take_program(graph, NULL);
}

/* Calls other than products that read a matrix down its columns. */
static size_t read_out_of_order(const rp_program *p, rp_device *device, unsigned passes)
{
    store s = store_new(p);
    rp_plan *plan;
    size_t n = 0;

    plan_passes = passes;
    plan = plan_new(p, device, &s);
    plan_passes = RP_PASSES;
    for (size_t i = 0; i < plan->n_calls; i++)
        n += plan->call[i].n_in == 1 && !plan->call[i].chain && !rp_view_contiguous(&plan->call[i].in[0]);
    rp_plan_free(plan);
    store_free(&s);
    return n;
}

static void products_are_made_as_they_are_read(void **state)
{
    rp_device *device;
    char what[64];

    (void)state;
    assert_int_equal(rp_device_cpu_new(&device, NULL, 2, NULL), RP_OK);
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        for (int how = 0; how < TURNS; how++) {
            rp_program *p = turned_product(seed, (turn)how);
            size_t with, without;
            tape expected;

            assert_non_null(p);
            expected = tape_new(p, device);
            snprintf(what, sizeof what, "seed %d, case %d", (int)seed, how);
            assert_plan_is(p, &expected, device, what);
            plan_passes = rp_random_u32(seed, 6, 2, 0) & RP_PASSES;
            assert_plan_is(p, &expected, device, what);
            plan_passes = RP_PASSES;
            tape_free(&expected);
            with = read_out_of_order(p, device, RP_PASSES);
            without = read_out_of_order(p, device, RP_PASSES & ~(unsigned)RP_PASS_TURNED);
            if (without == 0 || (with == 0) != (how < READ_BOTH_WAYS))
                fail_msg("%s: %zu calls read down columns, %zu without the pass", what, with, without);
            rp_program_free(p);
        }
    rp_device_free(device);
}

/* ---- rows gathered for one reduction ---- */

/* 1.2 MB of rows, by pieces of 256 KiB; both axes behind the first, or one, are reduced. */
static rp_program *gathered_and_reduced(rp_op_id id, bool all)
{
    enum { ROWS_OF_TABLE = 50, BAGS = 40, LENGTH = 9, WIDTH = 850 };
    rp_graph *g = rp_graph_new(NULL);
    rp_attr attr[RP_MAX_ATTR] = {{.n = all ? 2 : 1, .list = {1, 2}}};
    rp_tensor table = rp_graph_input(g, RP_INPUT_FEED, "table", &(rp_type){RP_F32, 2, {ROWS_OF_TABLE, WIDTH}}, NULL), y;
    rp_tensor at = rp_graph_input(g, RP_INPUT_FEED, "at", &(rp_type){RP_I64, 2, {BAGS, LENGTH}}, NULL);
    rp_tensor taken = rp_gather(table, at, 0);

    rp_emit(g, id, attr, &taken, 1, &y);
    rp_graph_set(g, RP_OUTPUT_RESULT, "y", y);
    return rp_graph_take_program(g, NULL);
}

static size_t gathers(const rp_program *p, rp_device *device)
{
    store s = store_new(p);
    rp_plan *plan = plan_new(p, device, &s);
    size_t n = 0;

    for (size_t i = 0; i < plan->n_calls; i++)
        n += plan->call[i].gather != NULL;
    rp_plan_free(plan);
    store_free(&s);
    return n;
}

static void every_reduction_takes_gathered_rows_piece_by_piece(void **state)
{
    rp_device *device;
    size_t reductions = 0;

    (void)state;
    assert_int_equal(rp_device_cpu_new(&device, NULL, 2, NULL), RP_OK);
    for (rp_op_id id = 0; id < RP_OP_COUNT; id++) {
        if (!(rp_op_get(id)->flags & RP_OP_REDUCES))
            continue;
        reductions++;
        for (int all = 0; all < 2; all++) {
            rp_program *p = gathered_and_reduced(id, all);

            assert_non_null(p);
            assert_int_equal(gathers(p, device), 1);
            assert_plan_is_eager(p, device, device, rp_op_get(id)->name);
            rp_program_free(p);
        }
    }
    assert_int_equal(reductions, 7);
    rp_device_free(device);
}

/* ---- products for one sum ---- */

typedef enum factors {
    DOT,
    SQUARE,
    OF_ALL,
    KEPT, /* the sums' axes stay, of length 1 */
    PRODUCT_READ_TWICE,
    PRODUCT_OUTPUT,
    FIRST_AXIS,
    TURNED, /* an operand that does not lie in order */
    SPREAD, /* one that is broadcast */
    IN_CHAIN,
    SMALL,
    PRODUCTS
} factors;

static rp_program *sums_of_products(uint64_t seed, factors how)
{
    const size_t rows = how == SMALL ? 3 : 5 + draw(seed, 70, 30),
                 length = how == SMALL ? 20 : 500 + draw(seed, 71, 200);
    const rp_dtype dtype = draw(seed, 72, 3) ? RP_F32 : RP_F64;
    const int axes[2] = {how == FIRST_AXIS ? 0 : 1, 0};
    rp_graph *g = rp_graph_new(NULL);
    rp_tensor x, line, y, z, product;

    /* made in another shape, so in no chain with the product */
    x = rp_reshape(logits_of(g, seed, dtype, 1, rows * length), 2, (const size_t[]){rows, length});
    line = rp_graph_input(g, RP_INPUT_STATE, "y", &(rp_type){dtype, 1, {rows * length}}, NULL);
    y = rp_reshape(line, 2, (const size_t[]){rows, length});
    if (how == TURNED)
        y = rp_transpose(rp_graph_input(g, RP_INPUT_FEED, "t", &(rp_type){dtype, 2, {length, rows}}, NULL), NULL);
    if (how == SPREAD)
        y = rp_graph_input(g, RP_INPUT_FEED, "t", &(rp_type){dtype, 1, {length}}, NULL);
    product = rp_mul(x, how == SQUARE ? x : y);
    if (how == IN_CHAIN)
        product = rp_mul(product, y);
    if (how == PRODUCT_READ_TWICE)
        rp_graph_set(g, RP_OUTPUT_RESULT, "other", rp_max(product, axes, 1, false));
    if (how == PRODUCT_OUTPUT)
        rp_graph_set(g, RP_OUTPUT_RESULT, "other", product);
    if (draw(seed, 75, 2)) { /* takes memory between the product and its sum */
        z = rp_graph_input(g, RP_INPUT_FEED, "z", &(rp_type){dtype, 2, {rows, length}}, NULL);
        rp_graph_set(g, RP_OUTPUT_RESULT, "least", rp_min(rp_cumsum(rp_neg(z), 1, false), axes, 1, false));
    }
    if (draw(seed, 74, 2)) /* in place, but not before the sum */
        rp_graph_set(g, RP_OUTPUT_STATE, "y", rp_scale(line, 0.5));
    product = rp_sum(product, axes, how == OF_ALL ? 2 : 1, how == KEPT);
    rp_graph_set(g, RP_OUTPUT_RESULT, "sum", draw(seed, 73, 2) ? rp_sqrt(product) : product);
    return rp_graph_take_program(g, NULL);
}

static size_t sums_with_products(const rp_program *p, rp_device *device)
{
    store s = store_new(p);
    rp_plan *plan = plan_new(p, device, &s);
    size_t n = 0;

    for (size_t i = 0; i < plan->n_calls; i++)
        n += plan->call[i].dots;
    rp_plan_free(plan);
    store_free(&s);
    return n;
}

static void products_of_one_sum_are_made_by_it(void **state)
{
    const char *const *levels;
    const size_t n = rp_kernel_levels(&levels);
    char what[80];

    (void)state;
    for (size_t l = 0; l < n; l++) {
        rp_device *device;

        assert_int_equal(rp_device_cpu_new(&device, levels[l], 1 + (unsigned)l % 3, NULL), RP_OK);
        for (uint64_t seed = 0; seed < SUMS; seed++)
            for (int how = 0; how < PRODUCTS; how++) {
                rp_program *p = sums_of_products(seed, (factors)how);
                tape expected;

                assert_non_null(p);
                expected = tape_new(p, device);
                snprintf(what, sizeof what, "seed %d, case %d, %s", (int)seed, how, levels[l]);
                assert_plan_is(p, &expected, device, what);
                assert_int_equal(sums_with_products(p, device), l > 0 && how <= KEPT);
                plan_passes = rp_random_u32(seed, 6, 2, 0) & RP_PASSES;
                assert_plan_is(p, &expected, device, what);
                plan_passes = RP_PASSES;
                tape_free(&expected);
                rp_program_free(p);
            }
        rp_device_free(device);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_made_as_they_are_read),
        cmocka_unit_test(logsumexp_comes_with_the_cross_entropy_of_its_rows),
        cmocka_unit_test(products_of_one_sum_are_made_by_it),
        cmocka_unit_test(every_reduction_takes_gathered_rows_piece_by_piece),
        cmocka_unit_test(sums_of_pads_have_the_bits_of_the_eager_tape),
        cmocka_unit_test(only_pads_that_meet_are_put_side_by_side),
    };

    rp_set_allocator(&poisoning);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
