/* SPDX-License-Identifier: Apache-2.0
 * rp_print shows values at step time, in eager and compiled steps alike, and changes neither a bit, nor a program's
 * text, nor an archive's id. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/run/look/summary.h"
#include "rp/rp.h"

enum { STEPS = 3, ROOM = 1 << 15 };

static rp_error err;
static char shown[ROOM];

#define OK(call) need((call), #call)

static void need(rp_status status, const char *what)
{
    if (status != RP_OK)
        fail_msg("%s: %s", what, err.text);
}

static void note(void *self, const char *text)
{
    assert_ptr_equal(self, shown);
    assert_true(strlen(shown) + strlen(text) < ROOM);
    strcat(shown, text);
}

static rp_run *run_new(void)
{
    const size_t shape[2] = {2, 3};
    const float w[6] = {1, -2, 3, -4, 5, -6}, zeros[6] = {0};
    rp_run *run;

    OK(rp_run_new(&run, &(rp_run_options){.threads = 1, .print = note, .print_self = shown}, &err));
    OK(rp_run_add_state(run, "w", RP_F32, 2, shape, w, &err));
    OK(rp_run_add_state(run, "v", RP_F32, 2, shape, zeros, &err));
    return run;
}

/* Products of everything that a plan treats apart: a value that only a chain has, a view, a state before and behind its
 * update, a result, what nobody needs, a value twice. */
static void model(rp_graph *g, rp_tensor w, rp_tensor v, bool print, rp_tensor out[3])
{
    rp_tensor half = rp_fill(g, RP_F32, 0, NULL, 0.5), inside, turned, unused, loss, moved;

    inside = rp_mul(w, half);
    turned = rp_transpose(w, (int[]){1, 0});
    loss = rp_sum(rp_relu(rp_add(inside, w)), (int[]){0, 1}, 2, false);
    unused = rp_exp(w);
    moved = rp_sub(w, rp_mul(inside, half));
    out[0] = loss;
    out[1] = moved;
    out[2] = rp_add(v, w);
    if (!print)
        return;
    rp_print(inside, "inside");
    rp_print(turned, "turned");
    rp_print(w, "before");
    rp_print(moved, "moved");
    rp_print(loss, "loss");
    rp_print(unused, "unused");
    rp_print(loss, "loss again");
}

static void eager_step(rp_run *run, bool print)
{
    rp_tensor out[3], w, v;

    OK(rp_step_begin(run, &err));
    w = rp_state(run, "w");
    v = rp_state(run, "v");
    model(rp_step_graph(run), w, v, print, out);
    rp_result(run, "loss", out[0]);
    rp_set_state(run, "w", out[1]);
    rp_set_state(run, "v", out[2]);
    OK(rp_step_end(run, &err));
}

static rp_program *program_of(bool print)
{
    const rp_type type = {.dtype = RP_F32, .rank = 2, .shape = {2, 3}};
    rp_program *program;
    rp_tensor out[3], w, v;
    rp_graph *g;

    OK(rp_graph_symbolic(&g, &err));
    w = rp_graph_declare(g, RP_INPUT_STATE, "w", &type);
    v = rp_graph_declare(g, RP_INPUT_STATE, "v", &type);
    model(g, w, v, print, out);
    rp_graph_result(g, "loss", out[0]);
    rp_graph_update(g, "w", out[1]);
    rp_graph_update(g, "v", out[2]);
    OK(rp_graph_finish(g, &program, &err));
    return program;
}

static void record(bool compiled, bool print, char id[RP_DIGEST_HEX])
{
    char path[] = "/tmp/reprise-print-XXXXXX";
    const int fd = mkstemp(path);
    rp_run *run = run_new();
    rp_compiled *c = NULL;
    rp_recorder *recorder;

    assert_true(fd >= 0);
    (void)close(fd);
    shown[0] = '\0';
    OK(rp_recorder_new(&recorder, run, &err));
    if (compiled) {
        rp_program *program = program_of(print);

        OK(rp_compile(&c, run, program, &err));
        rp_program_free(program);
    }
    for (int i = 0; i < STEPS; i++)
        if (compiled)
            OK(rp_compiled_step(c, &err));
        else
            eager_step(run, print);
    OK(rp_recorder_save(recorder, path, NULL, true, id, &err));
    (void)remove(path);
    rp_compiled_free(c);
    rp_recorder_free(recorder);
    rp_run_free(run);
}

static void has(const char *words)
{
    if (!strstr(shown, words))
        fail_msg("expected \"%s\" in:\n%s", words, shown);
}

static void printing_changes_no_id(void **state)
{
    (void)state;
    for (int compiled = 0; compiled < 2; compiled++) {
        char plain[RP_DIGEST_HEX], printed[RP_DIGEST_HEX];

        record(compiled, false, plain);
        assert_string_equal(shown, "");
        record(compiled, true, printed);
        assert_string_equal(plain, printed);
    }
}

/* Neither their sum, nor their distance, nor a square of them is a number. */
static void figures_of_the_greatest_numbers_are_finite(void **state)
{
    static const double x[] = {1.5e308, -1.5e308, 1.5e308, -1.5e308}, y[] = {3e200, 1e200};
    rp_summary s;

    (void)state;
    rp_summary_of(&s, &(rp_type){.dtype = RP_F64, .rank = 1, .shape = {4}}, x);
    assert_true(fabs(s.mean) < 1e293 && fabs(s.deviation / 1.5e308 - 1) < 1e-12);
    rp_summary_of(&s, &(rp_type){.dtype = RP_F64, .rank = 1, .shape = {2}}, y);
    assert_true(fabs(s.mean / 2e200 - 1) < 1e-12 && fabs(s.deviation / 1e200 - 1) < 1e-12);
}

static void programs_have_the_same_text(void **state)
{
    rp_program *plain = program_of(false), *printed = program_of(true);
    char text[2][8192];
    size_t size[2];

    (void)state;
    OK(rp_program_text(plain, text[0], sizeof text[0], &size[0], &err));
    OK(rp_program_text(printed, text[1], sizeof text[1], &size[1], &err));
    assert_int_equal(size[0], size[1]);
    assert_true(size[0] < sizeof text[0]);
    assert_memory_equal(text[0], text[1], size[0]);
    rp_program_free(plain);
    rp_program_free(printed);
}

static void every_value_is_shown_at_its_step(void **state)
{
    char eager[ROOM], id[RP_DIGEST_HEX];

    (void)state;
    record(false, true, id);
    has("inside, step 0: f32[2,3]\n"
        "  elements  6: 0 NaN, 0 infinite, 0 zero\n"
        "  range     -3 to 2.5, mean -0.25, deviation 1.93111\n"
        "  first     0x3f000000 (0.5)\n");
    has("turned, step 0: f32[3,2]\n");
    has("  first     0x3f800000 (1)\n            0xc0800000 (-4)\n"); /* turned: the second row follows */
    has("before, step 0: f32[2,3]\n  elements  6: 0 NaN, 0 infinite, 0 zero\n  range     -6 to 5,");
    has("moved, step 0: f32[2,3]\n  elements  6: 0 NaN, 0 infinite, 0 zero\n  range     -4.5 to 3.75,");
    has("before, step 1: f32[2,3]\n  elements  6: 0 NaN, 0 infinite, 0 zero\n  range     -4.5 to 3.75,");
    has("loss, step 0: f32[]\n  elements  1: 0 NaN, 0 infinite, 0 zero\n  range     13.5 to 13.5,");
    has("unused, step 2: f32[2,3]\n");
    has("loss again, step 2: f32[]\n");
    memcpy(eager, shown, sizeof eager);
    record(true, true, id);
    assert_string_equal(eager, shown);
}

/* An optimizer's update waits in an eager step: who prints it has it made. */
static void an_update_that_waits_is_shown(void **state)
{
    (void)state;
    char plain[2][64] = {{0}};

    for (int print = 0; print < 2; print++) {
        rp_run *run = run_new();
        rp_tensor w, v, g, lr, next;

        shown[0] = '\0';
        OK(rp_step_begin(run, &err));
        w = rp_state(run, "w");
        v = rp_state(run, "v");
        g = rp_mul(w, w);
        lr = rp_fill(rp_step_graph(run), RP_F32, 0, NULL, 0.25);
        next = rp_sgd(w, &v, g, lr, 0.9, false, 0);
        if (print)
            rp_print(next, "next");
        rp_set_state(run, "w", next);
        rp_set_state(run, "v", v);
        OK(rp_step_end(run, &err));
        OK(rp_run_get_state(run, "w", plain[print], 24, &err));
        rp_run_free(run);
    }
    has("next, step 0: f32[2,3]\n");
    assert_memory_equal(plain[0], plain[1], sizeof plain[0]);
}

static void inside_a_function_is_told(void **state)
{
    const rp_type type = {.dtype = RP_F32};
    rp_function *f;
    rp_graph *g;
    rp_tensor x;

    (void)state;
    OK(rp_graph_symbolic(&g, &err));
    x = rp_exp(rp_function_parameter(g, &type));
    rp_print(x, "x");
    rp_function_return(g, x);
    assert_int_equal(rp_function_finish(g, &f, &err), RP_ESHAPE);
    assert_non_null(strstr(err.text, "rp_print of x inside it: return the value"));
    rp_print((rp_tensor){0}, "nothing"); /* as of every call: no tensor is nobody's */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(printing_changes_no_id),        cmocka_unit_test(figures_of_the_greatest_numbers_are_finite),
        cmocka_unit_test(programs_have_the_same_text),   cmocka_unit_test(every_value_is_shown_at_its_step),
        cmocka_unit_test(an_update_that_waits_is_shown), cmocka_unit_test(inside_a_function_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
