/* SPDX-License-Identifier: Apache-2.0
 * Eager steps of the public interface whose regions come again with other operands: bits and errors do not depend on
 * what came before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "rp/program.h"
#include "rp/rp.h"

enum { WIDTH = 4, TIMES = 5 };

static const rp_type number = {.dtype = RP_I64}, row = {.dtype = RP_F32, .rank = 1, .shape = {WIDTH}};

static rp_run *new_run(void)
{
    rp_run *run;

    assert_int_equal(rp_run_new(&run, &(rp_run_options){.threads = 1}, NULL), RP_OK);
    return run;
}

/* ---- a scan, and one that reads its history ---- */

/* h a + b */
static rp_function *new_forward(void)
{
    rp_function *f;
    rp_graph *g;
    rp_tensor h, a, b, product;

    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    rp_function_parameter(g, &number);
    h = rp_function_parameter(g, &row);
    a = rp_function_parameter(g, &row);
    b = rp_function_parameter(g, &row);
    product = rp_mul(h, a);
    rp_function_return(g, rp_add(product, b));
    assert_int_equal(rp_function_finish(g, &f, NULL), RP_OK);
    return f;
}

/* Begins as new_forward's does where a and b are one: sum + (h a + a) */
static rp_function *new_reader(void)
{
    rp_function *f;
    rp_graph *g;
    rp_tensor sum, h, a, product;

    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    rp_function_parameter(g, &number);
    sum = rp_function_parameter(g, &row);
    h = rp_function_parameter(g, &row);
    a = rp_function_parameter(g, &row);
    product = rp_mul(h, a);
    product = rp_add(product, a);
    rp_function_return(g, rp_add(sum, product));
    assert_int_equal(rp_function_finish(g, &f, NULL), RP_OK);
    return f;
}

static void scan_step(rp_run *run, const rp_function *forward, const rp_function *reader, bool apart, float *out)
{
    static const float start[WIDTH] = {1, 2, 3, 4}, a[WIDTH] = {0.5f, 0.25f, 0.125f, 1}, b[WIDTH] = {7, 8, 9, 10},
                       none[WIDTH] = {0};
    const size_t width = WIDTH;
    rp_tensor h, shared[2], other, zero, last, carried[2], sum;
    rp_graph *g;

    assert_int_equal(rp_step_begin(run, NULL), RP_OK);
    g = rp_step_graph(run);
    h = rp_feed(run, "h", RP_F32, 1, &width, start);
    shared[0] = rp_feed(run, "a", RP_F32, 1, &width, a);
    other = rp_feed(run, "b", RP_F32, 1, &width, b);
    zero = rp_feed(run, "zero", RP_F32, 1, &width, none);
    shared[1] = apart ? other : shared[0];
    rp_scan(g,
            &(rp_scan_options){
                .function = forward, .carried = &h, .n_carried = 1, .shared = shared, .n_shared = 2, .times = TIMES},
            &last);
    rp_scan(g,
            &(rp_scan_options){.function = forward,
                               .carried = &h,
                               .n_carried = 1,
                               .shared = shared,
                               .n_shared = 2,
                               .times = TIMES,
                               .history = true},
            carried);
    rp_scan(g,
            &(rp_scan_options){.function = reader,
                               .carried = &zero,
                               .n_carried = 1,
                               .sliced = &carried[1],
                               .n_sliced = 1,
                               .shared = shared,
                               .n_shared = 1,
                               .times = TIMES},
            &sum);
    rp_result(run, "sum", sum);
    rp_result(run, "last", last);
    assert_int_equal(rp_read(run, sum, out, WIDTH * sizeof *out, NULL), RP_OK);
    assert_int_equal(rp_step_end(run, NULL), RP_OK);
}

/* What a reader of a history takes from the scan is of other operands, once these are no longer one value. */
static void operands_that_were_one_value_part(void **state)
{
    rp_function *forward = new_forward(), *reader = new_reader();
    rp_run *run = new_run(), *fresh = new_run();
    float found[WIDTH], expected[WIDTH];

    (void)state;
    for (int i = 0; i < 3; i++)
        scan_step(run, forward, reader, false, found);
    scan_step(run, forward, reader, true, found);
    scan_step(fresh, forward, reader, true, expected);
    assert_memory_equal(found, expected, sizeof found);
    rp_run_free(run);
    rp_run_free(fresh);
    rp_function_free(forward);
    rp_function_free(reader);
}

/* ---- a call of a function of one operation ---- */

static void error_names_the_same_place_whenever_it_comes(void **state)
{
    const rp_type at = {.dtype = RP_I64, .rank = 1, .shape = {2}};
    const size_t width = WIDTH, two = 2;
    const float x[WIDTH] = {1, 2, 3, 4};
    rp_error err[4] = {{0}};
    rp_run *run = new_run();
    rp_function *f;
    rp_graph *g;
    rp_tensor table;

    (void)state;
    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    table = rp_function_parameter(g, &row);
    rp_function_return(g, rp_gather(table, rp_function_parameter(g, &at), 0));
    assert_int_equal(rp_function_finish(g, &f, NULL), RP_OK);
    for (int i = 0; i < 4; i++) {
        const bool wrong = i == 0 || i == 3;
        const int64_t index[2] = {1, wrong ? 9 : 2};
        rp_tensor in[2], out;

        assert_int_equal(rp_step_begin(run, NULL), RP_OK);
        in[0] = rp_feed(run, "table", RP_F32, 1, &width, x);
        in[1] = rp_feed(run, "index", RP_I64, 1, &two, index);
        in[0] = rp_neg(in[0]);
        in[0] = rp_neg(in[0]);
        rp_call(rp_step_graph(run), f, in, 2, &out);
        rp_result(run, "out", out);
        assert_int_equal(rp_step_end(run, &err[i]), wrong ? RP_EDATA : RP_OK);
    }
    assert_non_null(strstr(err[0].text, "(step 0"));
    assert_int_equal(strncmp(err[3].text, err[0].text, (size_t)(strstr(err[0].text, "(step 0") - err[0].text)), 0);
    rp_function_free(f);
    rp_run_free(run);
}

/* ---- what is taken back ---- */

/* A call whose instruction stays, and which had a wrong index, is not forgotten with what failed after it. */
static void a_wrong_index_is_not_taken_back_with_later_calls(void **state)
{
    const size_t width = WIDTH, two = 2;
    const float x[WIDTH] = {1, 2, 3, 4};
    const int64_t index[2] = {1, 9};
    rp_run *run = new_run();
    rp_tensor table, rows;
    rp_error err = {0};
    rp_graph *g;
    size_t length;

    (void)state;
    assert_int_equal(rp_step_begin(run, NULL), RP_OK);
    g = rp_step_graph(run);
    table = rp_feed(run, "table", RP_F32, 1, &width, x);
    rows = rp_feed(run, "rows", RP_I64, 1, &two, index);
    (void)rp_gather(table, rows, 0);
    length = rp_graph_length(g);
    (void)rp_add(table, rows); /* two types */
    assert_int_equal(rp_graph_retract(g, length, &err), RP_EARG);
    assert_non_null(strstr(err.text, "stays, and has failed"));
    assert_int_equal(rp_graph_retract(g, 0, &err), RP_OK); /* but with itself */
    assert_int_equal(rp_step_end(run, NULL), RP_OK);
    rp_run_free(run);
}

/* An update that waits, and that was asked for behind the wrong index, is computed once that is taken back. */
static void what_waited_is_computed_after_all(void **state)
{
    const size_t width = WIDTH, two = 2;
    const float x[WIDTH] = {1, 2, 3, 4}, twice[WIDTH] = {2, 4, 6, 8};
    const int64_t index[2] = {1, 9};
    rp_run *run = new_run();
    rp_tensor table, rows, waits;
    float found[WIDTH];
    rp_error err = {0};
    rp_graph *g;
    size_t length;

    (void)state;
    assert_int_equal(rp_run_add_state(run, "w", RP_F32, 1, &width, x, NULL), RP_OK);
    assert_int_equal(rp_step_begin(run, NULL), RP_OK);
    g = rp_step_graph(run);
    waits = rp_scale(rp_state(run, "w"), 2);
    table = rp_feed(run, "table", RP_F32, 1, &width, x);
    rows = rp_feed(run, "rows", RP_I64, 1, &two, index);
    length = rp_graph_length(g);
    (void)rp_gather(table, rows, 0);
    (void)rp_add(waits, table);
    assert_int_equal(rp_graph_status(g, NULL), RP_EDATA);
    assert_int_equal(rp_graph_retract(g, length, &err), RP_OK);
    assert_int_equal(rp_read(run, waits, found, sizeof found, &err), RP_OK);
    assert_memory_equal(found, twice, sizeof found);
    rp_set_state(run, "w", waits);
    assert_int_equal(rp_step_end(run, NULL), RP_OK);
    rp_run_free(run);
}

/* A scan with its history that is taken back is none: what takes its place is no scan at all. */
static void a_scan_that_is_taken_back_is_forgotten(void **state)
{
    rp_function *forward = new_forward();
    rp_run *run = new_run();
    const size_t width = WIDTH;
    static const float x[WIDTH] = {1, 2, 3, 4};

    (void)state;
    for (int step = 0; step < 4; step++) {
        rp_tensor h, shared[2], last, grad[2], y;
        rp_error err = {0};
        size_t length;
        rp_graph *g;

        assert_int_equal(rp_step_begin(run, NULL), RP_OK);
        g = rp_step_graph(run);
        h = rp_feed(run, "h", RP_F32, 1, &width, x);
        shared[0] = rp_feed(run, "a", RP_F32, 1, &width, x);
        shared[1] = rp_feed(run, "b", RP_F32, 1, &width, x);
        y = rp_feed(run, "apart", RP_F32, 1, &width, x);
        rp_scan(
            g,
            &(rp_scan_options){
                .function = forward, .carried = &h, .n_carried = 1, .shared = shared, .n_shared = 2, .times = TIMES},
            &last);
        last = rp_sum(last, NULL, 0, false);
        length = rp_graph_length(g);
        rp_gradients(last, (const rp_tensor[]){h, y}, 2, grad); /* there is none by y */
        assert_int_not_equal(rp_graph_status(g, NULL), RP_OK);
        assert_int_equal(rp_graph_retract(g, length, &err), RP_OK);
        for (int i = 0; i < step; i++)
            y = rp_scale(y, 1.5);
        rp_scan(
            g,
            &(rp_scan_options){
                .function = forward, .carried = &y, .n_carried = 1, .shared = shared, .n_shared = 2, .times = TIMES},
            &last);
        rp_result(run, "last", last);
        assert_int_equal(rp_step_end(run, NULL), RP_OK);
    }
    rp_run_free(run);
    rp_function_free(forward);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operands_that_were_one_value_part),
        cmocka_unit_test(error_names_the_same_place_whenever_it_comes),
        cmocka_unit_test(a_wrong_index_is_not_taken_back_with_later_calls),
        cmocka_unit_test(what_waited_is_computed_after_all),
        cmocka_unit_test(a_scan_that_is_taken_back_is_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
