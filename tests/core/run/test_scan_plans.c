/* SPDX-License-Identifier: Apache-2.0
 * What plans make of scans and their gradients: equal ones are executed once, and what a gradient would compute again
 * is stored as far as it may be. Bits are those of the tape, memory is what the plan says. */
#include "tests/core/run/region_examples.h"

enum { TIMES = 23, ROWS = 3 };

/* ---- memory ---- */

static size_t held, most;
static size_t allowed = SIZE_MAX; /* allocations until one fails */
static size_t largest = SIZE_MAX; /* bytes of the largest that does not */

static void *counted(void *self, size_t bytes)
{
    size_t *block = malloc(bytes + 2 * sizeof *block);

    (void)self;
    assert_non_null(block);
    if (bytes > largest || (allowed != SIZE_MAX && allowed-- == 0)) {
        free(block);
        return NULL;
    }
    *block = bytes;
    held += bytes;
    most = held > most ? held : most;
    return block + 2;
}

static void uncounted(void *self, void *memory)
{
    size_t *block = memory;

    (void)self;
    if (!memory)
        return;
    block -= 2;
    held -= *block;
    free(block);
}

static void *recounted(void *self, void *memory, size_t bytes)
{
    void *bigger = counted(self, bytes);

    if (!bigger)
        return NULL;
    if (memory)
        memcpy(bigger, memory, ((size_t *)memory)[-2] < bytes ? ((size_t *)memory)[-2] : bytes);
    uncounted(self, memory);
    return bigger;
}

static const rp_allocator counting = {counted, recounted, uncounted, NULL};

/* ---- an LSTM without its name ---- */

/* h, c <- h, c, a row of x; the row of y is h, which depends on the index too. */
static rp_function *cell(void)
{
    const rp_type index = {.dtype = RP_I64}, row = f32_type(ROWS, COLS), weight = f32_type(COLS, COLS);
    rp_tensor h, c, x, w, i, z;
    rp_graph *g;
    rp_function *f;

    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    i = rp_function_parameter(g, &index);
    h = rp_function_parameter(g, &row);
    c = rp_function_parameter(g, &row);
    x = rp_function_parameter(g, &row);
    w = rp_function_parameter(g, &weight);
    z = rp_matmul(h, w);
    z = rp_sigmoid(rp_add(z, x));
    i = rp_scale(rp_cast(i, RP_F32), 0.0625);
    c = rp_mul(z, rp_add(c, i));
    h = rp_mul(rp_tanh(c), z);
    rp_function_return(g, h);
    rp_function_return(g, c);
    rp_function_return(g, h);
    assert_int_equal(rp_function_finish(g, &f, NULL), RP_OK);
    return f;
}

/* The sum of squares of a row of layers on a matrix of its own, and what of it can be made again. */
static rp_tensor layers_beside(rp_graph *g, rp_tensor *x)
{
    enum { WIDE = 64, LAYERS = 6 };
    const rp_type type = f32_type(WIDE, WIDE);
    rp_tensor y = *x = rp_graph_declare(g, RP_INPUT_DATA, "v", &type);

    for (int i = 0; i < LAYERS; i++)
        y = rp_tanh(rp_matmul(y, *x));
    return rp_sum(rp_mul(y, y), NULL, 0, false);
}

/* The gradients of the sum of all squares, and of the sum of their squares too. */
static rp_program *gradient_beside(uint64_t times, bool reverse, int order, bool layers)
{
    const rp_type rows = {.dtype = RP_F32, .rank = 3, .shape = {times, ROWS, COLS}};
    const rp_type row = f32_type(ROWS, COLS), weight = f32_type(COLS, COLS);
    rp_function *f = cell();
    const size_t n = layers ? 5 : 4;
    rp_tensor in[5], out[3], y, grad[5];
    char name[16];
    rp_graph *g;
    rp_program *p;
    rp_error err = {0};

    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    in[0] = rp_graph_declare(g, RP_INPUT_FEED, "h", &row);
    in[1] = rp_graph_declare(g, RP_INPUT_FEED, "c", &row);
    in[2] = rp_graph_declare(g, RP_INPUT_FEED, "x", &rows);
    in[3] = rp_graph_declare(g, RP_INPUT_DATA, "w", &weight);
    rp_scan(g,
            &(rp_scan_options){.function = f,
                               .carried = in,
                               .n_carried = 2,
                               .sliced = in + 2,
                               .n_sliced = 1,
                               .shared = in + 3,
                               .n_shared = 1,
                               .times = times,
                               .reverse = reverse},
            out);
    y = rp_sum(rp_mul(out[2], out[2]), NULL, 0, false);
    if (layers)
        y = rp_add(y, layers_beside(g, &in[4]));
    rp_graph_result(g, "c", out[1]);
    for (int o = 0; o < order; o++) {
        rp_gradients(y, in, n, grad);
        for (size_t i = 0; i < n; i++) {
            snprintf(name, sizeof name, "g%d.%zu", o, i);
            rp_graph_result(g, name, grad[i]);
        }
        y = rp_sum(rp_mul(grad[3], grad[3]), NULL, 0, false);
    }
    if (rp_graph_finish(g, &p, &err) != RP_OK)
        fail_msg("%s", err.text);
    rp_function_free(f);
    return p;
}

static rp_program *gradient_of_scan(uint64_t times, bool reverse, int order)
{
    return gradient_beside(times, reverse, order, false);
}

/* ---- tests ---- */

static size_t bytes_of(const rp_program *p, rp_device *device, unsigned passes, size_t stored, size_t *launches)
{
    store s = store_new(p);
    rp_plan *plan;
    size_t bytes;

    plan_passes = passes;
    plan_stored = stored;
    plan = plan_new(p, device, &s);
    bytes = rp_plan_own_bytes(plan) + rp_plan_arena_bytes(plan);
    *launches = rp_plan_launches(plan);
    rp_plan_free(plan);
    store_free(&s);
    plan_passes = RP_PASSES;
    plan_stored = RP_PLAN_STORED_MAX;
    return bytes;
}

/* Stored are what the rest of the gradient reads: z, c, tanh(c) and c with the index; the history is there already. */
static void equal_scans_are_one_and_gradients_store(void **state)
{
    const unsigned passes = RP_PASSES & ~(unsigned)RP_PASS_SUMS; /* which make further scans */
    const size_t row = ROWS * COLS * sizeof(float);
    rp_program *p = gradient_of_scan(TIMES, false, 1);
    size_t apart, one, stored, launches[3];
    rp_device *device;

    (void)state;
    assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
    apart = bytes_of(p, device, passes & ~(unsigned)RP_PASS_SCANS, 0, &launches[0]);
    one = bytes_of(p, device, passes, 0, &launches[1]);
    stored = bytes_of(p, device, passes, RP_PLAN_STORED_MAX, &launches[2]);
    assert_int_equal(launches[1], launches[0] - 1);
    assert_int_equal(launches[2], launches[1]);
    assert_true(one <= apart);
    assert_in_range(stored - one, 2 * TIMES * row, 6 * TIMES * row);
    assert_int_equal(bytes_of(p, device, passes, 2 * TIMES * row, &launches[0]), one); /* not enough for all */
    rp_program_free(p);
    rp_device_free(device);
}

/* Whatever is stored: the bits of the tape, and while it runs no memory but the plan's and small change of the host. */
static void what_is_stored_shows_in_no_bit_and_in_the_figure(void **state)
{
    static const uint64_t times[] = {1, 2, 7, TIMES};
    rp_device *device;

    (void)state;
    rp_set_allocator(&counting);
    assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
    for (size_t t = 0; t < COUNT(times); t++)
        for (int order = 1; order < 3; order++)
            for (size_t stored = 0; stored < 1 << 20; stored = stored ? 4 * stored : 64) {
                rp_program *p = gradient_of_scan(times[t], t % 2, order);
                store s = store_new(p);
                record expected = eager_step(p, device, &s), found;
                rp_plan *plan;
                size_t before, figure;
                char what[64];

                snprintf(what, sizeof what, "%d steps, order %d, %zu stored", (int)times[t], order, stored);
                plan_stored = stored;
                before = held;
                plan = plan_new(p, device, &s);
                figure = rp_plan_own_bytes(plan) + rp_plan_arena_bytes(plan);
                assert_true(held - before >= figure);
                found = plan_step(p, plan, &s);
                assert_same(p, &expected, &found, what);
                before = most = held;
                assert_int_equal(rp_plan_run(plan, NULL), RP_OK);
                assert_int_equal(held, before);
                if (most - before > 16384)
                    fail_msg("%s: %zu bytes beside the plan's %zu", what, most - before, figure);
                rp_plan_free(plan);
                record_free(&expected);
                store_free(&s);
                rp_program_free(p);
            }
    rp_device_free(device);
    plan_stored = RP_PLAN_STORED_MAX;
}

/* Each allocation of planning and running fails in turn: it is an error, or is made good, and nothing is left behind.
 */
static void every_allocation_may_fail(void **state)
{
    rp_device *device;

    (void)state;
    rp_set_allocator(&counting);
    assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
    for (uint64_t every = 0; every < 8; every += 7) {
        rp_program *p = gradient_of_scan(TIMES, false, 1);
        store s = store_new(p);
        void *memory[4] = {NULL, NULL, NULL, s.memory[3]};
        size_t failures = 0;
        bool whole = false;

        for (size_t n = 0; !whole; n++) {
            const size_t before = held;
            rp_plan *plan;
            rp_status status;

            allowed = n;
            status =
                rp_plan_new_with(&plan, p, device, memory,
                                 &(rp_plan_options){.passes = RP_PASSES, .stored = SIZE_MAX, .every = every}, NULL);
            if (status == RP_OK)
                status = rp_plan_run(plan, NULL);
            whole = allowed != SIZE_MAX && allowed > 0 && status == RP_OK;
            allowed = SIZE_MAX;
            assert_true(status == RP_OK || status == RP_ENOMEM);
            failures += !whole;
            rp_plan_free(plan);
            assert_int_equal(held, before);
        }
        assert_true(failures > 100);
        store_free(&s);
        rp_program_free(p);
    }
    rp_device_free(device);
}

/* Where the stored values find no room, the gradient computes them again. */
static void what_has_no_room_is_computed_again(void **state)
{
    rp_program *p = gradient_of_scan(TIMES, false, 1);
    size_t one, stored, launches;
    rp_device *device;

    (void)state;
    rp_set_allocator(&counting);
    assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
    one = bytes_of(p, device, RP_PASSES, 0, &launches);
    stored = bytes_of(p, device, RP_PASSES, RP_PLAN_STORED_MAX, &launches);
    assert_true(stored > one + 1024);
    largest = one + 512;
    assert_int_equal(bytes_of(p, device, RP_PASSES, RP_PLAN_STORED_MAX, &launches), one);
    largest = SIZE_MAX;
    rp_program_free(p);
    rp_device_free(device);
}

/* k rows are kept of every history: one bit pattern, whatever k is and whatever a segment stores. */
static void every_k_th_row_of_history_gives_the_same_bits(void **state)
{
    static const uint64_t rows[] = {1, 2, 5, 7, TIMES - 1, TIMES, TIMES + 1};
    rp_device *device;

    (void)state;
    assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
    for (size_t k = 0; k < COUNT(rows); k++)
        for (int i = 0; i < 8; i++) {
            rp_program *p = gradient_of_scan(TIMES, i % 2, 1 + i / 4);
            store s = store_new(p);
            record expected = eager_step(p, device, &s), found;
            rp_plan *plan;
            char what[64];

            snprintf(what, sizeof what, "every %d, case %d", (int)rows[k], i);
            plan_every = rows[k];
            plan_stored = i / 2 % 2 ? RP_PLAN_STORED_MAX : 0;
            plan = plan_new(p, device, &s);
            found = plan_step(p, plan, &s);
            assert_same(p, &expected, &found, what);
            rp_plan_free(plan);
            record_free(&expected);
            store_free(&s);
            rp_program_free(p);
        }
    plan_every = 0;
    plan_stored = RP_PLAN_STORED_MAX;
    rp_device_free(device);
}

/* Of a history of n rows n / k are kept, and what one segment of k rows holds. */
static void every_k_th_row_takes_the_memory_of_a_segment(void **state)
{
    enum { LONG = 1024, K = 32 };
    const size_t row = ROWS * COLS * sizeof(float);
    rp_program *p = gradient_of_scan(LONG, false, 1);
    size_t all, some, launches;
    rp_device *device;

    (void)state;
    assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
    all = bytes_of(p, device, RP_PASSES, 0, &launches);
    plan_every = K;
    some = bytes_of(p, device, RP_PASSES, RP_PLAN_STORED_MAX, &launches);
    plan_every = 0;
    print_message("history of %d rows: %zu bytes, every %d: %zu\n", LONG, all, K, some);
    assert_true(all - some >= (2 * LONG - 2 * LONG / K - 10 * K) * row);
    rp_program_free(p);
    rp_device_free(device);
}

/* A plan in which values are made again is written from one whose scans store already, which leaves the same to bodies.
 */
static void values_made_again_leave_no_more_to_store(void **state)
{
    rp_program *p = gradient_beside(TIMES, false, 1, true);
    store s = store_new(p);
    void *memory[] = {NULL, NULL, NULL, s.memory[3], s.memory[4]};
    rp_plan_options options = {.passes = RP_PASSES, .stored = RP_PLAN_STORED_MAX};
    rp_device *device;
    rp_plan *whole;
    size_t again = 0;

    (void)state;
    assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
    assert_int_equal(rp_plan_new_with(&whole, p, device, memory, &options, NULL), RP_OK);
    assert_true(rp_plan_unstored(whole) < RP_PLAN_STORED_MAX);
    for (size_t percent = 95; percent > 50; percent -= 5) {
        rp_plan *plan;

        options.memory = (rp_plan_own_bytes(whole) + rp_plan_arena_bytes(whole)) * percent / 100;
        if (rp_plan_new_with(&plan, p, device, memory, &options, NULL) != RP_OK)
            continue;
        if (rp_plan_again(plan) > 0 && rp_plan_unstored(plan) > 0) { /* else nothing may be stored at all */
            assert_int_equal(rp_plan_unstored(plan), rp_plan_unstored(whole));
            again++;
        }
        rp_plan_free(plan);
    }
    assert_true(again > 0);
    rp_plan_free(whole);
    store_free(&s);
    rp_program_free(p);
    rp_device_free(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_scans_are_one_and_gradients_store),
        cmocka_unit_test(what_is_stored_shows_in_no_bit_and_in_the_figure),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(what_has_no_room_is_computed_again),
        cmocka_unit_test(every_k_th_row_of_history_gives_the_same_bits),
        cmocka_unit_test(every_k_th_row_takes_the_memory_of_a_segment),
        cmocka_unit_test(values_made_again_leave_no_more_to_store),
    };

    return cmocka_run_group_tests_name("plans of scans", tests, NULL, NULL);
}
