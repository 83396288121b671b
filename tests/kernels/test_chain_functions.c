/* SPDX-License-Identifier: Apache-2.0
 * Chains in which a function comes before arithmetic with a tensor in memory, large enough for the function's loop to
 * ask for that tensor: at every level, for rows that lie apart and for whole tensors the bits of the kernels alone.
 * And functions alone, over rows that lie apart or go past the caches: what one row leaves to the next has the
 * reference's bits. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/pool.h"
#include "determinism/philox.h"
#include "kernels/chain_plan.h"
#include "tests/house/sanitized.h"

/* ROWS x COLS are past the size from which chains ask ahead; rows of x have both halves, and an odd length. */
enum { ROWS = 1050, COLS = 257, WIDE = 2 * COLS, COUNT = ROWS * COLS };

_Static_assert(COUNT > 1 << 18, "large enough");

static float x[ROWS * WIDE], alone[COUNT], middle[COUNT], found[COUNT];

static rp_view rows(float *data, ptrdiff_t stride)
{
    return (rp_view){data, RP_F32, 2, {ROWS, COLS}, {stride, 1}};
}

/* Of whole tensors both are the first COUNT elements, and others. */
static rp_view half(bool apart, int which)
{
    return apart ? rows(x + which * COLS, WIDE) : rows(x + which * (COUNT / 2), COLS);
}

static void by_the_reference(rp_kernel_id function, bool apart)
{
    const rp_view own = half(apart, 1), t = rows(middle, COLS), y = rows(alone, COLS);
    const rp_view in[2] = {half(apart, 0), t};
    const rp_kernel_table *table;

    assert_int_equal(rp_kernel_table_get(&table, "ref", NULL), RP_OK);
    table->kernel[function]->run(&(rp_kernel_args){&own, 1, &t, 1, NULL}, 0, COUNT);
    table->kernel[RP_K_mul]->run(&(rp_kernel_args){in, 2, &y, 1, NULL}, 0, COUNT);
}

/* first * function(second), what the function makes in the scratch. */
static rp_chain chain_of(rp_kernel_id function, bool apart)
{
    rp_chain c = {.count = COUNT, .slots = 1, .size = sizeof(float), .n_steps = 2, .n_views = 5, .n_scratch = 2};

    c.step[0] = (rp_chain_step){function, 0, 1, 1, 1, NULL};
    c.step[1] = (rp_chain_step){RP_K_mul, 2, 2, 4, 1, NULL};
    c.view[0] = half(apart, 1);
    c.view[1] = c.view[3] = rows(NULL, COLS);
    c.view[2] = half(apart, 0);
    c.view[4] = rows(found, COLS);
    c.scratch[0].view = 1;
    c.scratch[1].view = 3;
    return c;
}

static void functions_that_ask_for_others_have_the_bits_of_the_kernels_alone(void **state)
{
    static const rp_kernel_id functions[] = {RP_K_sigmoid, RP_K_silu, RP_K_tanh, RP_K_exp, RP_K_relu};
    const char *const *level;
    const size_t levels = rp_kernel_levels(&level);
    rp_pool *pool;

    (void)state;
    assert_int_equal(rp_pool_new(&pool, 3, NULL, NULL), RP_OK);
    for (size_t i = 0; i < ROWS * WIDE; i++)
        x[i] = 12 * rp_uniform_f32(rp_random_u32(3, 1, 2, i)) - 6;
    for (size_t f = 0; f < 2 * (sizeof functions / sizeof *functions); f++) {
        by_the_reference(functions[f / 2], f % 2);
        for (size_t l = 0; l < 2 * levels; l++) {
            const rp_chain c = chain_of(functions[f / 2], f % 2);
            const rp_kernel_table *table;

            assert_int_equal(rp_kernel_table_get(&table, level[l / 2], NULL), RP_OK);
            memset(found, 0x7e, sizeof found);
            rp_chain_run(&c, table, l % 2 ? pool : NULL, 1);
            assert_memory_equal(found, alone, sizeof found);
        }
    }
    rp_pool_free(pool);
}

/* ---- rows whose uncertain lanes are computed together, kernels/cpu/functions/fast_map.inc.h ---- */

enum { MANY = 60, GAP = 3 }; /* rows of y lie GAP elements apart where they do */

static float from[MANY * (512 + GAP)], to[MANY * (512 + GAP)], expected[MANY * (512 + GAP)];

/* Of every kind there is: easy ones, some uncertain at all, and those that no fast way takes. */
static void fill_from(size_t kind)
{
    static const float odd[] = {NAN, INFINITY, -INFINITY, -0.0f, 1e-42F, -100, 200};

    for (size_t i = 0; i < sizeof from / sizeof *from; i++) {
        const uint32_t u = rp_random_u32(4, 1, kind, i);

        from[i] = kind == 2 || (kind == 1 && u % 8 == 0) ? odd[u / 8 % (sizeof odd / sizeof *odd)]
                                                         : 24 * rp_uniform_f32(u) - 12;
    }
}

static void run_rows(const char *level, rp_kernel_id function, size_t columns, ptrdiff_t x_row, ptrdiff_t y_row,
                     float *of, float *y)
{
    const rp_view in = {of, RP_F32, 2, {MANY, columns}, {x_row, 1}}, out = {y, RP_F32, 2, {MANY, columns}, {y_row, 1}};
    const rp_kernel_table *table;

    assert_int_equal(rp_kernel_table_get(&table, level, NULL), RP_OK);
    table->kernel[function]->run(&(rp_kernel_args){&in, 1, &out, 1, NULL}, 0, MANY * columns / 2 + 5);
    table->kernel[function]->run(&(rp_kernel_args){&in, 1, &out, 1, NULL}, MANY * columns / 2 + 5, MANY * columns);
}

static void rows_have_the_bits_of_the_reference_wherever_the_next_one_lies(void **state)
{
    static const rp_kernel_id functions[] = {RP_K_sigmoid, RP_K_exp, RP_K_log, RP_K_erf, RP_K_sin, RP_K_silu};
    static const size_t columns[] = {512, 256, 100, 64, 48, 33}; /* whole vectors, whole turns of them, neither */
    const char *const *level;
    const size_t levels = rp_kernel_levels(&level);

    (void)state;
    for (size_t i = 0; i < 3 * 6 * 6 * 3; i++) {
        const size_t kind = i % 3, c = columns[i / 3 % 6], place = i / 108;
        const rp_kernel_id function = functions[i / 18 % 6];
        /* y in order, its rows apart, and y where x is */
        const ptrdiff_t x_row = (ptrdiff_t)(place == 1 ? c : c + GAP), y_row = (ptrdiff_t)(place == 0 ? c : c + GAP);
        float *const source = place == 2 ? to : from;

        for (size_t l = 0; l <= levels; l++) {
            fill_from(kind);
            memset(to, 0x7e, sizeof to);
            if (place == 2)
                for (size_t k = 0; k < MANY * c; k++)
                    to[k / c * (c + GAP) + k % c] = from[k];
            run_rows(l == 0 ? "ref" : level[l - 1], function, c, x_row, y_row, source, to);
            if (l == 0)
                memcpy(expected, to, sizeof to);
            assert_memory_equal(to, expected, sizeof to);
        }
    }
}

/* Rows that are the same, of an output that goes past the caches block by block: each block has to be whole before. */
static void rows_that_are_streamed_have_the_bits_of_the_reference(void **state)
{
    static const rp_kernel_id functions[] = {RP_K_sigmoid, RP_K_erf, RP_K_silu};
    enum { LONG = 4099, LINES = (33 << 20) / LONG / 4 + 1 };
    float *const y = malloc(sizeof(float) * LONG * LINES);
    const rp_view in = {from, RP_F32, 2, {LINES, LONG}, {0, 1}}, out = {y, RP_F32, 2, {LINES, LONG}, {LONG, 1}};
    const rp_view one = {from, RP_F32, 1, {LONG}, {1}}, wanted = {expected, RP_F32, 1, {LONG}, {1}};
    const char *const *level;
    const size_t levels = rp_kernel_levels(&level);
    const rp_kernel_table *table;

    (void)state;
    assert_non_null(y);
    for (size_t i = 0; i < 9; i++) {
        fill_from(i % 3);
        assert_int_equal(rp_kernel_table_get(&table, "ref", NULL), RP_OK);
        table->kernel[functions[i / 3]]->run(&(rp_kernel_args){&one, 1, &wanted, 1, NULL}, 0, LONG);
        for (size_t l = 0; l < levels; l++) {
            assert_int_equal(rp_kernel_table_get(&table, level[l], NULL), RP_OK);
            if (strcmp(level[l], "ref") == 0 || SANITIZED)
                continue;
            memset(y, 0x7e, sizeof(float) * LONG * LINES);
            table->kernel[functions[i / 3]]->run(&(rp_kernel_args){&in, 1, &out, 1, NULL}, 0, LONG * LINES);
            for (size_t row = 0; row < LINES; row++)
                assert_memory_equal(y + row * LONG, expected, sizeof(float) * LONG);
        }
    }
    free(y);
}

/* ---- silu and sigmoid of one operand, kernels/chain/shared.h ---- */

enum {
    BOTH = 2 * RP_CHAIN_BLOCK + 77,
    BETWEEN = 3 /* nothing, a reader of the operand, one of the later result's place */
};
enum { NO_PLACE, SILU_ON_X, SIGMOID_ON_X, PLACES };

static double operand[BOTH], silu_of[BOTH], sigmoid_of[BOTH], place[3][BOTH], beside[BOTH];

typedef struct pair {
    rp_dtype dtype;
    size_t count, on_x, between;
    bool sigmoid_first, scratch; /* x is made in the scratch, as a product with 1 */
} pair;

static rp_view line(const pair *p, void *data, ptrdiff_t stride)
{
    return (rp_view){data, p->dtype, 1, {p->count}, {stride}};
}

static void fill_pair(const pair *p)
{
    static const float odd[] = {NAN,  INFINITY, -INFINITY, -0.0F, 0,  1e-42F, -1e-42F,
                                -104, -103.9F,  -88.7F,    17.4F, 89, 3e38F};
    const rp_view in = line(p, operand, 1), silu = line(p, silu_of, 1), sigmoid = line(p, sigmoid_of, 1);
    const rp_kernel_table *table;

    for (size_t i = 0; i < p->count; i++) {
        const uint32_t u = rp_random_u32(5, 1, p->count, i);
        const float value = u % 5 == 0 ? odd[u / 5 % (sizeof odd / sizeof *odd)] : 40 * rp_uniform_f32(u) - 20;

        if (p->dtype == RP_F32)
            ((float *)operand)[i] = value;
        else
            operand[i] = value;
    }
    assert_int_equal(rp_kernel_table_get(&table, "ref", NULL), RP_OK);
    table->kernel[RP_K_silu]->run(&(rp_kernel_args){&in, 1, &silu, 1, NULL}, 0, p->count);
    table->kernel[RP_K_sigmoid]->run(&(rp_kernel_args){&in, 1, &sigmoid, 1, NULL}, 0, p->count);
}

static size_t view_at(rp_chain *c, rp_view view, bool scratch)
{
    if (scratch)
        c->scratch[c->n_scratch++].view = c->n_views;
    c->view[c->n_views] = view;
    return c->n_views++;
}

static void step_of(rp_chain *c, rp_kernel_id kernel, size_t in, size_t n_in, size_t out)
{
    c->step[c->n_steps++] = (rp_chain_step){.kernel = kernel, .in = in, .n_in = n_in, .out = out, .n_out = 1};
}

/* place[0] is x's, [1] the first result's and [2] the later one's, where these are not x's. */
static rp_chain chain_of_pair(const pair *p)
{
    rp_chain c = {.count = p->count, .slots = 1, .size = rp_dtype_size(p->dtype)};
    const bool silu_on_x = p->on_x == SILU_ON_X, sigmoid_on_x = p->on_x == SIGMOID_ON_X;
    void *const later = !p->scratch && (p->sigmoid_first ? silu_on_x : sigmoid_on_x) ? place[0] : place[2];
    static float one32 = 1;
    static double one64 = 1;
    size_t in;

    if (p->scratch) {
        in = view_at(&c, line(p, place[0], 1), false);
        (void)view_at(&c, line(p, p->dtype == RP_F32 ? (void *)&one32 : (void *)&one64, 0), false);
        step_of(&c, RP_K_mul, in, 2, view_at(&c, line(p, NULL, 1), true));
    }
    in = view_at(&c, line(p, p->scratch ? NULL : place[0], 1), p->scratch);
    step_of(&c, p->sigmoid_first ? RP_K_sigmoid : RP_K_silu, in, 1, view_at(&c, line(p, place[1], 1), false));
    if (p->between > 0) {
        const bool of_x = p->between == 1;

        in = view_at(&c, line(p, of_x && p->scratch ? NULL : of_x ? place[0] : later, 1), of_x && p->scratch);
        step_of(&c, RP_K_neg, in, 1, view_at(&c, line(p, beside, 1), false));
    }
    in = view_at(&c, line(p, p->scratch ? NULL : place[0], 1), p->scratch);
    step_of(&c, p->sigmoid_first ? RP_K_silu : RP_K_sigmoid, in, 1, view_at(&c, line(p, later, 1), false));
    return c;
}

/* Whether the first of the two changes x before the other reads it: no chain that a plan makes. */
static bool spoils(const pair *p)
{
    return !p->scratch && p->on_x == (p->sigmoid_first ? SIGMOID_ON_X : SILU_ON_X);
}

static void assert_same(const pair *p, const char *level, const void *given, const void *wanted, const char *what)
{
    for (size_t i = 0; i < p->count; i++) {
        const double a = p->dtype == RP_F32 ? (double)((const float *)given)[i] : ((const double *)given)[i];
        const double b = p->dtype == RP_F32 ? (double)((const float *)wanted)[i] : ((const double *)wanted)[i];

        if (memcmp(&a, &b, sizeof a) != 0 && !(isnan(a) && isnan(b))) /* all NaNs are one, CONTRACT 2.3 */
            fail_msg(
                "%s at %s, count %zu, on x %zu, between %zu, sigmoid first %d, scratch %d: element %zu: %a, found %a",
                what, level, p->count, p->on_x, p->between, p->sigmoid_first, p->scratch, i, b, a);
    }
}

static void check_pair(const pair *p, const char *level, rp_pool *pool)
{
    const size_t bytes = p->count * rp_dtype_size(p->dtype), first = p->scratch;
    const rp_kernel_table *table;
    rp_chain c = chain_of_pair(p);
    const size_t later = c.n_steps - 1;
    const bool on_x = c.view[c.step[later].out].data == place[0];
    const bool together = p->between == 0 || (p->between == 1 && !on_x);
    rp_chain_plan plan;

    assert_int_equal(rp_kernel_table_get(&table, level, NULL), RP_OK);
    memcpy(place[0], operand, bytes);
    memset(place[1], 0x7e, bytes);
    memset(place[2], 0x7e, bytes);
    rp_chain_plan_make(&plan, &c, table->fused != NULL);
    assert_int_equal(plan.with[first], together ? later : RP_CHAIN_STEPS);
    rp_chain_run(&c, table, pool, 1);
    assert_same(p, level, c.view[c.step[p->sigmoid_first ? later : first].out].data, silu_of, "silu");
    assert_same(p, level, c.view[c.step[p->sigmoid_first ? first : later].out].data, sigmoid_of, "sigmoid");
}

/* As a gradient asks for them: the sigmoid is computed once, wherever both go and in either order, unless what stands
 * between them has to do with the later one's place. */
static void silu_and_sigmoid_of_one_operand_have_their_own_bits(void **state)
{
    static const size_t counts[] = {1, 64, 1000, BOTH};
    const char *const *level;
    const size_t levels = rp_kernel_levels(&level);
    rp_pool *pool;

    (void)state;
    assert_int_equal(rp_pool_new(&pool, 3, NULL, NULL), RP_OK);
    for (size_t i = 0; i < 2 * 4 * PLACES * BETWEEN * 4; i++) {
        const pair p = {
            i % 2 ? RP_F32 : RP_F64,      counts[i / 2 % 4],        i / 8 % PLACES, i / 8 / PLACES % BETWEEN,
            i / 8 / PLACES / BETWEEN % 2, i / 16 / PLACES / BETWEEN};

        if (spoils(&p))
            continue;
        fill_pair(&p);
        for (size_t l = 0; l < 2 * levels; l++)
            check_pair(&p, level[l / 2], l % 2 ? pool : NULL);
    }
    rp_pool_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_that_ask_for_others_have_the_bits_of_the_kernels_alone),
        cmocka_unit_test(rows_have_the_bits_of_the_reference_wherever_the_next_one_lies),
        cmocka_unit_test(rows_that_are_streamed_have_the_bits_of_the_reference),
        cmocka_unit_test(silu_and_sigmoid_of_one_operand_have_their_own_bits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
