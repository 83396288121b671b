/* SPDX-License-Identifier: Apache-2.0
 * Inside regions: one flipped bit in one frame is found in that frame, whatever the region, in the memory of a frame a
 * level, and frames that rows show to be equal are not executed again. */
#include "audit/replay/diff_walk.h"
#include "tests/audit/replay/wrong_device.h"

#include "tests/audit/replay/nested_regions.h" /* has an err */

/* ---- walking ---- */

static rp_program *walked_last; /* what was found points into it */

typedef struct walked {
    rp_diff_value value;
    size_t launches, peak;
    rp_price price;
} walked;

/* The program of the graph on data x with marks, on a device that is right and on one whose kernel is wrong. */
static walked walk_on(rp_graph *g, rp_kernel_id kernel, const float *x, size_t count, float *second)
{
    rp_program *program;
    rp_device *device[2];
    void *memory[2][2] = {{NULL, NULL}, {NULL, NULL}}, *input[2][2];
    walked w;

    OK(rp_graph_finish(g, &program, &err));
    wrong.kernel = kernel;
    OK(rp_device_cpu_new(&device[0], "ref", 1, &err));
    OK(wrong_open(&device[1], "ref", 1, &err));
    for (int i = 0; i < 2; i++) {
        OK(rp_device_allocate(device[i], &memory[i][0], count * sizeof *x, &err));
        OK(rp_device_allocate(device[i], &memory[i][1], sizeof *second, &err));
        OK(rp_device_upload(device[i], memory[i][0], x, count * sizeof *x, NULL, &err));
        OK(rp_device_upload(device[i], memory[i][1], second, sizeof *second, NULL, &err));
        memcpy(input[i], memory[i], sizeof input[i]);
    }
    wrong.peak = wrong.live;
    w.peak = wrong.live;
    OK(rp_diff_walk(&w.value, (rp_diff_side[]){{device[0], program, input[0]}, {device[1], program, input[1]}}, true,
                    &err));
    w.launches = wrong.launches;
    w.peak = wrong.peak - w.peak;
    w.price = rp_program_price(program);
    assert_int_equal(wrong.live, count * sizeof *x + sizeof *second);
    for (int i = 0; i < 2; i++) {
        rp_device_release(device[i], memory[i][0]);
        rp_device_release(device[i], memory[i][1]);
        rp_device_free(device[i]);
    }
    rp_program_free(walked_last);
    walked_last = program;
    return w;
}

static walked walk(rp_graph *g, rp_kernel_id kernel, const float *x, size_t count)
{
    float none = 0;

    return walk_on(g, kernel, x, count, &none);
}

static void at_frame(const walked *w, size_t level, rp_region_kind kind, uint64_t number, bool predicate)
{
    const rp_diff_frame *f = &w->value.frame[level];

    assert_true(w->value.found);
    assert_true(level < w->value.depth);
    if (f->kind != kind || f->number != number || f->predicate != predicate)
        fail_msg("level %zu: found region %d, frame %d, expected %d, %d", level, (int)f->kind, (int)f->number,
                 (int)kind, (int)number);
}

/* An element of what the innermost instruction made, one bit apart. */
static void at_value(const walked *w, size_t depth, const char *op, size_t element)
{
    const rp_program *body = w->value.body[0];

    assert_int_equal(w->value.depth, depth);
    assert_false(w->value.gathered);
    assert_string_equal(body->instr[body->maker[w->value.value]].op->name, op);
    assert_int_equal(w->value.element, element);
    assert_int_equal(w->value.bits[0][2] ^ w->value.bits[1][2], 0x10);
}

static rp_tensor data(rp_graph *g, rp_type type)
{
    return rp_graph_declare(g, RP_INPUT_DATA, "x", &type);
}

/* ---- scans ---- */

static walked walk_scan(bool reverse, bool history, bool stacked, const float *x)
{
    rp_graph *g = begin();
    rp_function *f = step_function(stacked);
    rp_tensor sliced = data(g, rows(2, TIMES, 0)), carried = rp_fill(g, RP_F32, 1, (size_t[]){WIDTH}, 0), out[3];

    rp_scan(g,
            &(rp_scan_options){.function = f,
                               .carried = &carried,
                               .n_carried = 1,
                               .sliced = &sliced,
                               .n_sliced = 1,
                               .times = TIMES,
                               .reverse = reverse,
                               .history = history},
            out);
    rp_graph_result(g, "y", out[0]);
    rp_function_free(f);
    return walk(g, RP_K_cumsum, x, TIMES * WIDTH);
}

static void scans_are_walked_in_the_order_of_execution(void **state)
{
    (void)state;
    for (int form = 0; form < 8; form++) {
        const bool reverse = form & 1, history = form & 2, stacked = form & 4;
        float *x = unmarked();
        walked w;

        x[12 * WIDTH] = x[37 * WIDTH] = MARK;
        w = walk_scan(reverse, history, stacked, x);
        at_frame(&w, 0, RP_SCAN, reverse ? 37 : 12, false);
        at_value(&w, 1, "cumsum", WIDTH - 1);
        /* the whole scan, then one frame, or all up to it */
        assert_int_equal(w.launches, TIMES + (history ? 1 : 13));
    }
}

static void first_and_last_iterations_are_found(void **state)
{
    (void)state;
    for (int form = 0; form < 8; form++)
        for (int last = 0; last < 2; last++) {
            float *x = unmarked();
            walked w;

            x[last ? (TIMES - 1) * WIDTH : 0] = MARK;
            w = walk_scan(form & 1, form & 2, form & 4, x);
            at_frame(&w, 0, RP_SCAN, last ? TIMES - 1 : 0, false);
            at_value(&w, 1, "cumsum", WIDTH - 1);
        }
}

static void nothing_is_found_where_nothing_differs(void **state)
{
    walked w = walk_scan(false, false, true, unmarked());

    (void)state;
    assert_false(w.value.found);
    assert_int_equal(w.launches, TIMES); /* a region whose values are equal is not entered */
}

/* The marked number is an index, so nothing is as long as the loop is. */
static walked walk_long(uint64_t times)
{
    rp_graph *g = begin(), *body = begin();
    rp_tensor carried = rp_fill(g, RP_F32, 1, (size_t[]){WIDTH}, 0), index, c, sum;
    rp_function *f;
    float unused[WIDTH] = {0};

    (void)data(g, rows(1, 0, 0));
    index = parameter(body, index_type);
    c = parameter(body, rows(1, 0, 0));
    index = rp_add_scalar(rp_cast(index, RP_F32), MARK - 37);
    sum = rp_cumsum(rp_broadcast_to(index, 1, (size_t[]){WIDTH}), 0, false);
    rp_function_return(body, rp_add(c, sum));
    f = function(body);
    rp_scan(g, &(rp_scan_options){.function = f, .carried = &carried, .n_carried = 1, .times = times}, &carried);
    rp_graph_result(g, "y", carried);
    rp_function_free(f);
    return walk(g, RP_K_cumsum, unused, WIDTH);
}

static void memory_does_not_grow_with_the_number_of_iterations(void **state)
{
    const walked few = walk_long(40), many = walk_long(4000);

    (void)state;
    at_frame(&few, 0, RP_SCAN, 37, false);
    at_frame(&many, 0, RP_SCAN, 37, false);
    assert_int_equal(few.peak, many.peak);
    assert_in_range(many.peak, 1, many.price.memory);
}

/* ---- maps ---- */

static walked walk_map(const rp_combine *combine, uint64_t first, const float *x)
{
    rp_graph *g = begin();
    rp_tensor out[2];

    map_of_scans(g, data(g, rows(3, SHARDS, TIMES)), combine, first, out);
    rp_graph_result(g, "sum", out[0]);
    rp_graph_result(g, "rows", out[1]);
    return walk(g, RP_K_cumsum, x, SHARDS * TIMES * WIDTH);
}

static void one_flipped_bit_in_iteration_37_of_shard_3_is_found(void **state)
{
    static const rp_combine combine[][2] = {{RP_COMBINE_TREE, RP_COMBINE_TREE},
                                            {RP_COMBINE_STACK, RP_COMBINE_CONCAT},
                                            {RP_COMBINE_TREE, RP_COMBINE_CONCAT},
                                            {RP_COMBINE_STACK, RP_COMBINE_STACK}};

    (void)state;
    for (size_t i = 0; i < sizeof combine / sizeof *combine; i++)
        for (uint64_t first = 0; first < 8; first += 7) {
            float *x = unmarked();
            walked w;

            /* shard 1 has no row, so shard 3 is row 2 */
            x[(2 * TIMES + 37) * WIDTH] = x[(4 * TIMES + 2) * WIDTH] = MARK;
            w = walk_map(combine[i], first, x);
            at_frame(&w, 0, RP_MAP, first + 3, false);
            at_frame(&w, 1, RP_SCAN, 37, false);
            at_value(&w, 2, "cumsum", WIDTH - 1);
            /* of the map all scans; of the shards the one that rows show, or those up to it; of its scan 38 steps */
            assert_int_equal(w.launches, (SHARDS + (combine[i][0] == RP_COMBINE_TREE ? 3 : 1)) * TIMES + 38);
            assert_in_range(w.peak, 1, w.price.memory);
        }
}

/* The sums over shards are wrong, their summands are not. */
static void what_is_put_together_wrongly_is_the_regions_own(void **state)
{
    static const rp_combine combine[] = {RP_COMBINE_TREE};
    const uint64_t cuts[] = {0, 1, 2, 3};
    rp_graph *g = begin(), *body = begin();
    const rp_function *f;
    float *x = unmarked();
    rp_tensor sliced, out;
    walked w;

    (void)state;
    (void)parameter(body, index_type);
    rp_function_return(body, rp_neg(parameter(body, rows(2, 1, 0))));
    f = function(body);
    sliced = data(g, rows(2, 3, 0));
    rp_map(g,
           &(rp_map_options){.function = &f,
                             .n_function = 1,
                             .sliced = &sliced,
                             .n_sliced = 1,
                             .cuts = cuts,
                             .n_cuts = 4,
                             .combine = combine,
                             .n_combine = 1},
           &out);
    rp_graph_result(g, "sum", out);
    rp_function_free((rp_function *)f);
    x[0] = -MARK;
    w = walk(g, RP_K_add, x, 3 * WIDTH);
    assert_true(w.value.found);
    assert_int_equal(w.value.depth, 0);
    assert_true(w.value.gathered);
    assert_int_equal(w.value.element, WIDTH - 1);
}

/* ---- cond, while, call ---- */

/* (row) -> cumsum(row) or its negative; cumsum is instruction 0 of one, 1 of the other. */
static rp_function *branch_function(bool negative)
{
    rp_graph *g = begin();
    rp_tensor row = parameter(g, rows(1, 0, 0));

    if (negative)
        rp_function_return(g, rp_neg(row));
    rp_function_return(g, rp_cumsum(row, 0, false));
    if (!negative)
        rp_function_return(g, rp_neg(row));
    return function(g);
}

static void the_branch_that_was_taken_is_entered(void **state)
{
    (void)state;
    for (int taken = 0; taken < 2; taken++) {
        rp_graph *g = begin();
        const rp_function *f[2] = {branch_function(false), branch_function(true)};
        float *x = unmarked(), which = (float)taken;
        rp_tensor row = data(g, rows(1, 0, 0)), selector, out[2];
        walked w;

        selector = rp_graph_declare(g, RP_INPUT_FEED, "which", &(rp_type){.dtype = RP_F32});
        rp_cond(g, taken ? rp_cast(selector, RP_I64) : rp_cast(selector, RP_BOOL), f, 2, &row, 1, out);
        rp_graph_result(g, "y", out[0]);
        rp_function_free((rp_function *)f[0]);
        rp_function_free((rp_function *)f[1]);
        x[0] = MARK;
        w = walk_on(g, RP_K_cumsum, x, WIDTH, &which);
        at_frame(&w, 0, RP_COND, (uint64_t)taken, false);
        at_value(&w, 1, "cumsum", WIDTH - 1);
    }
}

static void calls_in_calls_are_entered(void **state)
{
    rp_graph *g = begin(), *outer = begin();
    rp_function *inner = branch_function(true), *f;
    rp_tensor row = parameter(outer, rows(1, 0, 0)), out[2];
    float *x = unmarked();
    walked w;

    (void)state;
    rp_call(outer, inner, &row, 1, out);
    rp_function_return(outer, rp_add(out[0], out[1]));
    f = function(outer);
    row = data(g, rows(1, 0, 0));
    rp_call(g, f, &row, 1, out);
    rp_graph_result(g, "y", out[0]);
    rp_function_free(inner);
    rp_function_free(f);
    x[0] = MARK;
    w = walk(g, RP_K_cumsum, x, WIDTH);
    at_frame(&w, 0, RP_CALL, 0, false);
    at_frame(&w, 1, RP_CALL, 0, false);
    at_value(&w, 2, "cumsum", WIDTH - 1);
}

/* Carried doubles from a 32th of the mark on, which it is in iteration 5; the right predicate then ends the loop. */
static walked walk_while(bool in_predicate)
{
    rp_graph *g = begin(), *body = begin(), *predicate = begin();
    rp_function *f, *p;
    rp_tensor carried, out[2];
    float x[WIDTH] = {MARK / 32, 0, 0};

    (void)parameter(body, index_type);
    carried = parameter(body, rows(1, 0, 0));
    carried = in_predicate ? carried : rp_cumsum(carried, 0, false);
    rp_function_return(body, rp_mul(carried, rp_fill(body, RP_F32, 1, (size_t[]){WIDTH}, 2)));
    f = function(body);
    (void)parameter(predicate, index_type);
    carried = parameter(predicate, rows(1, 0, 0));
    carried = in_predicate ? rp_cumsum(carried, 0, false) : carried;
    carried = rp_min(carried, NULL, 0, false);
    rp_function_return(predicate, rp_lt(carried, rp_fill(predicate, RP_F32, 0, NULL, in_predicate ? MARK : 1e30)));
    p = function(predicate);
    carried = data(g, rows(1, 0, 0));
    rp_while(g, &(rp_while_options){.body = f, .predicate = p, .carried = &carried, .n_carried = 1, .limit = 8}, out);
    rp_graph_result(g, "count", out[0]);
    rp_graph_result(g, "y", out[1]);
    rp_function_free(f);
    rp_function_free(p);
    return walk(g, RP_K_cumsum, x, WIDTH);
}

static void loops_are_walked_predicate_first(void **state)
{
    walked w = walk_while(true);

    (void)state;
    at_frame(&w, 0, RP_WHILE, 5, true);
    at_value(&w, 1, "cumsum", WIDTH - 1);
}

static void bodies_of_loops_are_entered(void **state)
{
    walked w = walk_while(false);

    (void)state;
    at_frame(&w, 0, RP_WHILE, 5, false);
    at_value(&w, 1, "cumsum", WIDTH - 1);
}

static int teardown(void **state)
{
    (void)state;
    rp_program_free(walked_last);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scans_are_walked_in_the_order_of_execution),
        cmocka_unit_test(first_and_last_iterations_are_found),
        cmocka_unit_test(nothing_is_found_where_nothing_differs),
        cmocka_unit_test(memory_does_not_grow_with_the_number_of_iterations),
        cmocka_unit_test(one_flipped_bit_in_iteration_37_of_shard_3_is_found),
        cmocka_unit_test(what_is_put_together_wrongly_is_the_regions_own),
        cmocka_unit_test(the_branch_that_was_taken_is_entered),
        cmocka_unit_test(calls_in_calls_are_entered),
        cmocka_unit_test(loops_are_walked_predicate_first),
        cmocka_unit_test(bodies_of_loops_are_entered),
    };

    return cmocka_run_group_tests(tests, NULL, teardown);
}
