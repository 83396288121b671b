/* SPDX-License-Identifier: Apache-2.0
 * Errors of a step say where the caller stands: file, line and the call as it was written, the step, and how far it
 * came. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/program/graph.h"
#include "rp/image.h"
#include "rp/program.h"

static const size_t two_three[] = {2, 3}, two_four[] = {2, 4};
static const float zeros[8];
static rp_error err;

static rp_run *new_run(void)
{
    rp_run *run;

    assert_int_equal(rp_run_new(&run, &(rp_run_options){.threads = 1}, &err), RP_OK);
    assert_int_equal(rp_run_add_state(run, "w", RP_F32, 2, two_three, zeros, &err), RP_OK);
    assert_int_equal(rp_step_begin(run, &err), RP_OK);
    return run;
}

static void assert_placed(rp_run *run, rp_status status, int line, const char *call, const char *says)
{
    char place[256];

    (void)snprintf(place, sizeof place, "%s:%d: %s: ", __FILE__, line, call);
    assert_int_equal(rp_step_end(run, &err), status);
    if (strncmp(err.text, place, strlen(place)) != 0 || strstr(err.text, says) == NULL)
        fail_msg("\"%s\" does not begin with \"%s\" or not say \"%s\"", err.text, place, says);
    rp_run_free(run);
}

static void the_call_that_was_written_is_named(void **state)
{
    rp_run *run = new_run();
    rp_tensor w = rp_state(run, "w"), x = rp_feed(run, "x", RP_F32, 2, two_four, zeros), y;
    const int line = __LINE__ + 2;

    y = rp_linear(x, w, (rp_tensor){0});
    (void)state;
    (void)y;
    assert_placed(run, RP_ESHAPE, line, "rp_linear", "matmul");
}

/* Each statement of this is right; later calls do not take the blame. */
static void the_first_error_keeps_its_place(void **state)
{
    rp_run *run = new_run();
    rp_tensor w = rp_exp(rp_state(run, "w")), x = rp_feed(run, "x", RP_F32, 2, two_four, zeros);
    const int line = __LINE__ + 1;
    rp_tensor sum = rp_mul(w, rp_add(w, x));

    (void)state;
    rp_set_state(run, "w", rp_exp(sum));
    rp_result(run, "loss", sum);
    assert_placed(run, RP_ESHAPE, line, "rp_add", "(step 0, after 1 instructions)");
}

static void calls_without_a_tensor_are_placed(void **state)
{
    rp_run *run = new_run();
    int line = __LINE__ + 1;
    rp_set_state(run, "v", rp_state(run, "w"));

    (void)state;
    assert_placed(run, RP_EARG, line, "rp_set_state", "there is no state v");

    run = new_run();
    rp_tensor w = rp_state(run, "w"), grad;
    line = __LINE__ + 1;
    rp_gradients(w, &w, 1, &grad);
    assert_placed(run, RP_ESHAPE, line, "rp_gradients", "");

    run = new_run();
    line = __LINE__ + 1;
    (void)rp_feed(run, "w w", RP_F32, 2, two_three, zeros);
    assert_placed(run, RP_EARG, line, "rp_feed", "a name must be");
}

static void a_new_step_begins_without_the_old_error(void **state)
{
    rp_run *run = new_run();

    (void)state;
    (void)rp_state(run, "none");
    assert_int_equal(rp_step_end(run, &err), RP_EARG);
    assert_int_equal(rp_step_begin(run, &err), RP_OK);
    rp_set_state(run, "w", rp_neg(rp_state(run, "w")));
    assert_int_equal(rp_step_end(run, &err), RP_OK);
    assert_int_equal(rp_step_begin(run, &err), RP_OK);
    const int line = __LINE__ + 1;
    (void)rp_state(run, "none");
    assert_placed(run, RP_EARG, line, "rp_state", "(step 1, after 0 instructions)");
}

/* As a binding calls: by address, without notes. */
static void a_call_by_address_has_an_error_without_a_place(void **state)
{
    rp_tensor (*const add)(rp_tensor, rp_tensor) = rp_add;
    rp_run *run = new_run();
    rp_tensor x = rp_feed(run, "x", RP_F32, 2, two_four, zeros);

    (void)state;
    (void)add(rp_state(run, "w"), x);
    assert_int_equal(rp_step_end(run, &err), RP_ESHAPE);
    assert_int_equal(strncmp(err.text, "add: ", 5), 0);
    rp_run_free(run);
}

static void symbolic_graphs_place_their_errors_too(void **state)
{
    const rp_type type = {.dtype = RP_F32, .rank = 1, .shape = {3}};
    rp_graph *graph;
    rp_program *program;
    rp_tensor x, y;
    char place[256];

    (void)state;
    assert_int_equal(rp_graph_symbolic(&graph, &err), RP_OK);
    x = rp_graph_declare(graph, RP_INPUT_FEED, "x", &type);
    (void)snprintf(place, sizeof place, "%s:%d: rp_append: ", __FILE__, __LINE__ + 1);
    rp_append(graph, "no_such_operation", NULL, 0, &x, 1, &y, 1);
    assert_int_equal(rp_graph_finish(graph, &program, &err), RP_EARG);
    assert_memory_equal(err.text, place, strlen(place));
}

/* Marks of a loop's lines are kept and shared; lines that fall on each other's place have their own all the same. */
static void each_instruction_has_the_line_of_its_call(void **state)
{
    static const struct {
        const char *file;
        int line;
    } calls[] = {{"a.c", 5}, {"b.c", 5}, {"a.c", 5 + RP_MARKS_KEPT}, {"a.c", 5}, {"a.c", 6}, {"a.c", 5}, {"a.c", 5}};
    enum { CALLS = sizeof calls / sizeof *calls };
    rp_graph *g = rp_graph_new(NULL);
    rp_tensor x = rp_graph_input(g, RP_INPUT_FEED, "x", &(rp_type){RP_F32, 1, {3}}, NULL);
    rp_program *p;

    (void)state;
    for (size_t i = 0; i < CALLS; i++)
        x = rp_sited((rp_exp)(x), calls[i].file, calls[i].line, "rp_exp");
    rp_graph_set(g, RP_OUTPUT_RESULT, "x", x);
    p = rp_graph_take_program(g, NULL);
    assert_non_null(p);
    for (size_t i = 0; i < CALLS; i++) {
        assert_string_equal(rp_mark_file(p->instr[i].mark), calls[i].file);
        assert_int_equal(rp_mark_line(p->instr[i].mark), calls[i].line);
    }
    assert_ptr_equal(p->instr[5].mark, p->instr[6].mark);
    rp_program_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_call_that_was_written_is_named),
        cmocka_unit_test(the_first_error_keeps_its_place),
        cmocka_unit_test(calls_without_a_tensor_are_placed),
        cmocka_unit_test(a_new_step_begins_without_the_old_error),
        cmocka_unit_test(a_call_by_address_has_an_error_without_a_place),
        cmocka_unit_test(symbolic_graphs_place_their_errors_too),
        cmocka_unit_test(each_instruction_has_the_line_of_its_call),
    };

    return cmocka_run_group_tests_name("sites", tests, NULL, NULL);
}
