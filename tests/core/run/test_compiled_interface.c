/* SPDX-License-Identifier: Apache-2.0
 * Compiled steps through rp/program.h, as a binding uses them: an eager step of the same formulas has the same bits,
 * and what is missing, misnamed or of another size is told. Only public headers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rp/memory.h"
#include "rp/program.h"

enum { ROWS = 6, COLUMNS = 3, STEPS = 5 };

static rp_tensor loss_of(rp_tensor x, rp_tensor w, rp_tensor y)
{
    return rp_mse(rp_matmul(x, w), y);
}

static const rp_type x_type = {RP_F32, 2, {ROWS, COLUMNS}}, y_type = {RP_F32, 2, {ROWS, 1}},
                     w_type = {RP_F32, 2, {COLUMNS, 1}};

static rp_program *build(void)
{
    rp_graph *graph;
    rp_program *program;
    rp_tensor w, loss, grad;
    rp_error err = {0};

    assert_int_equal(rp_graph_symbolic(&graph, &err), RP_OK);
    w = rp_graph_declare(graph, RP_INPUT_STATE, "w", &w_type);
    loss = rp_graph_declare(graph, RP_INPUT_FEED, "x", &x_type);
    loss = loss_of(loss, w, rp_graph_declare(graph, RP_INPUT_DATA, "y", &y_type));
    rp_gradients(loss, &w, 1, &grad);
    rp_graph_update(graph, "w", rp_sub(w, rp_scale(grad, 0.25)));
    rp_graph_result(graph, "loss", loss);
    if (rp_graph_finish(graph, &program, &err) != RP_OK)
        fail_msg("%s", err.text);
    return program;
}

static rp_run *new_run(bool with_data)
{
    static const float y[ROWS] = {1, -1, 2, 0.5f, 3, 0};
    rp_run *run;
    rp_error err = {0};

    assert_int_equal(rp_run_new(&run, NULL, &err), RP_OK);
    assert_int_equal(rp_run_add_state(run, "w", RP_F32, 2, w_type.shape, NULL, &err), RP_OK);
    if (with_data)
        assert_int_equal(rp_run_add_data(run, "y", RP_F32, 2, y_type.shape, y, &err), RP_OK);
    return run;
}

static void fill(float x[ROWS * COLUMNS], int step)
{
    for (int i = 0; i < ROWS * COLUMNS; i++)
        x[i] = (float)((i * 7 + step * 3) % 11) / 8 - 0.5f;
}

static void compiled_steps_have_the_bits_of_eager_ones(void **state)
{
    rp_run *eager = new_run(true), *compiled = new_run(true);
    rp_program *program = build();
    rp_compiled *c;
    float x[ROWS * COLUMNS], loss[2], w[2][COLUMNS];
    rp_error err = {0};

    (void)state;
    assert_int_equal(rp_compile(&c, compiled, program, &err), RP_OK);
    rp_program_free(program); /* it was copied */
    assert_true(rp_compiled_memory(c) > 0);
    for (int step = 0; step < STEPS; step++) {
        rp_tensor p, l, grad;

        fill(x, step);
        assert_int_equal(rp_step_begin(eager, &err), RP_OK);
        p = rp_state(eager, "w");
        l = rp_feed(eager, "x", RP_F32, 2, x_type.shape, x);
        l = loss_of(l, p, rp_data(eager, "y"));
        rp_gradients(l, &p, 1, &grad);
        rp_set_state(eager, "w", rp_sub(p, rp_scale(grad, 0.25)));
        assert_int_equal(rp_read(eager, l, &loss[0], sizeof loss[0], &err), RP_OK);
        assert_int_equal(rp_step_end(eager, &err), RP_OK);

        assert_int_equal(rp_compiled_write(c, "x", x, sizeof x, &err), RP_OK);
        assert_int_equal(rp_compiled_step(c, &err), RP_OK);
        assert_int_equal(rp_compiled_read(c, "loss", &loss[1], sizeof loss[1], &err), RP_OK);
        assert_memory_equal(&loss[0], &loss[1], sizeof loss[0]);
    }
    assert_int_equal(rp_run_get_state(eager, "w", w[0], sizeof w[0], &err), RP_OK);
    assert_int_equal(rp_run_get_state(compiled, "w", w[1], sizeof w[1], &err), RP_OK);
    assert_memory_equal(w[0], w[1], sizeof w[0]);
    assert_true(w[0][0] != 0);
    assert_int_equal(rp_run_steps(compiled), STEPS);
    rp_compiled_free(c);
    rp_run_free(eager);
    rp_run_free(compiled);
}

static void what_does_not_fit_is_told(void **state)
{
    rp_run *run = new_run(false);
    rp_program *program = build();
    rp_compiled *c = (rp_compiled *)&run;
    float x[ROWS * COLUMNS], loss, y[ROWS] = {0};
    rp_error err = {0};

    (void)state;
    fill(x, 0);
    assert_int_equal(rp_compile(&c, run, program, &err), RP_EARG);
    assert_null(c);
    assert_string_equal(err.text, "the run has no data y, which the program takes as f32[6,1]");
    assert_int_equal(rp_run_add_data(run, "y", RP_F32, 1, (size_t[]){ROWS}, y, &err), RP_OK);
    assert_int_equal(rp_compile(&c, run, program, &err), RP_EARG);
    assert_string_equal(err.text, "data y is f32[6] in the run, and f32[6,1] in the program");
    rp_run_free(run);

    run = new_run(true);
    assert_int_equal(rp_compile(&c, run, program, &err), RP_OK);
    assert_int_equal(rp_compiled_step(c, &err), RP_EARG);
    assert_string_equal(err.text, "feed x was never written: rp_compiled_write");
    assert_int_equal(rp_compiled_read(c, "loss", &loss, sizeof loss, &err), RP_EARG);
    assert_string_equal(err.text, "result loss: no step was made yet");
    assert_int_equal(rp_compiled_write(c, "z", x, sizeof x, &err), RP_EARG);
    assert_string_equal(err.text, "the program has no feed z");
    assert_int_equal(rp_compiled_write(c, "x", x, sizeof x - 4, &err), RP_EARG);
    assert_string_equal(err.text, "feed x is f32[6,3]: expected exactly 72 bytes, found 68");
    assert_int_equal(rp_compiled_step(c, &err), RP_EARG); /* a write that was refused is none */
    assert_int_equal(rp_run_steps(run), 0);
    assert_int_equal(rp_compiled_write(c, "x", x, sizeof x, &err), RP_OK);
    assert_int_equal(rp_compiled_step(c, &err), RP_OK);
    assert_int_equal(rp_compiled_step(c, &err), RP_OK); /* a feed keeps its value */
    assert_int_equal(rp_compiled_read(c, "loss", &loss, 8, &err), RP_EARG);
    assert_int_equal(rp_compiled_read(c, "w", &loss, sizeof loss, &err), RP_EARG);
    assert_int_equal(rp_compiled_read(c, "loss", &loss, sizeof loss, &err), RP_OK);
    rp_compiled_free(c);
    rp_compiled_free(NULL);
    rp_run_free(run);
    rp_program_free(program);
}

/* A step whose wrong index is met when states have their new values already leaves no run that goes on from a mixture.
 */
static void after_a_failed_step_the_states_are_the_old_ones_or_the_run_is_given_up(void **state)
{
    const rp_type index_type = {RP_I64, 1, {1}};
    bool mixed = false;

    (void)state;
    for (int late = 0; late < 2; late++) {
        rp_run *run = new_run(true);
        rp_graph *graph;
        rp_program *program;
        rp_compiled *c;
        rp_tensor w, y, index;
        float before[COLUMNS], after[COLUMNS];
        rp_error err = {0};

        assert_int_equal(rp_graph_symbolic(&graph, &err), RP_OK);
        w = rp_graph_declare(graph, RP_INPUT_STATE, "w", &w_type);
        y = rp_graph_declare(graph, RP_INPUT_DATA, "y", &y_type);
        index = rp_graph_declare(graph, RP_INPUT_FEED, "i", &index_type);
        if (late)
            rp_graph_update(graph, "w", rp_add_scalar(w, 1));
        rp_graph_result(graph, "picked", rp_gather(y, index, 0));
        if (!late)
            rp_graph_update(graph, "w", rp_add_scalar(w, 1));
        assert_int_equal(rp_graph_finish(graph, &program, &err), RP_OK);
        assert_int_equal(rp_compile(&c, run, program, &err), RP_OK);
        assert_int_equal(rp_compiled_write(c, "i", &(int64_t){1}, 8, &err), RP_OK);
        assert_int_equal(rp_compiled_step(c, &err), RP_OK);
        assert_int_equal(rp_run_get_state(run, "w", before, sizeof before, &err), RP_OK);
        assert_int_equal(rp_compiled_write(c, "i", &(int64_t){ROWS}, 8, &err), RP_OK);
        assert_int_equal(rp_compiled_step(c, &err), RP_EDATA);
        assert_int_equal(rp_run_get_state(run, "w", after, sizeof after, &err), RP_OK);
        assert_int_equal(rp_compiled_write(c, "i", &(int64_t){0}, 8, &err), RP_OK);
        if (memcmp(before, after, sizeof before) == 0) {
            assert_int_equal(rp_compiled_step(c, &err), RP_OK);
        } else {
            mixed = true;
            assert_int_equal(rp_compiled_step(c, &err), RP_EARG);
            assert_non_null(strstr(err.text, "given up"));
            assert_int_equal(rp_step_begin(run, &err), RP_EARG);
        }
        rp_compiled_free(c);
        rp_program_free(program);
        rp_run_free(run);
    }
    assert_true(mixed); /* else this test looks at nothing */
}

/* ---- errors that tell where and how much ---- */

enum { MOST = 1 << 30 };

static void *modest(void *self, size_t bytes)
{
    (void)self;
    return bytes > MOST ? NULL : malloc(bytes);
}

static void *modest_again(void *self, void *block, size_t bytes)
{
    (void)self;
    return bytes > MOST ? NULL : realloc(block, bytes);
}

static void give(void *self, void *block)
{
    (void)self;
    free(block);
}

static void memory_that_is_not_there_is_told_in_bytes(void **state)
{
    static const rp_allocator allocator = {modest, modest_again, give, NULL};
    static const char text[] =
        "{\"contract\":1,\"inputs\":[[0,\"feed\",\"x\",\"f32\",[68719476736]]],\"instructions\":[[\"neg\","
        "{},[0],[1]]],\"outputs\":[[\"result\",\"y\",1]]}";
    rp_program *program;
    rp_compiled *compiled;
    rp_run *run;
    rp_error err = {0};

    (void)state;
    rp_set_allocator(&allocator);
    assert_int_equal(rp_run_new(&run, NULL, NULL), RP_OK);
    assert_int_equal(rp_program_read(&program, text, strlen(text), NULL, NULL), RP_OK);
    assert_int_equal(rp_compile(&compiled, run, program, &err), RP_ENOMEM);
    assert_null(compiled);
    /* 2^36 elements of feed and result each */
    if (!strstr(err.text, "memory of the compiled program: out of memory: ") || !strstr(err.text, " 524288 MiB"))
        fail_msg("%s", err.text);
    rp_program_free(program);
    rp_run_free(run);
    rp_set_allocator(NULL);
}

/* The cond is the second instruction of a function, which a scan executes. */
static void a_wrong_selector_tells_its_step(void **state)
{
    static const char text[] =
        "{\"contract\":1,\"functions\":[{\"instructions\":[[\"neg\",{},[0],[1]]],\"outputs\":[1],\"parameters\":["
        "[\"f32\",[]]]},{\"instructions\":[[\"neg\",{},[1],[3]],[\"cond\",{\"functions\":[0,0]},[2,3],[4]]],"
        "\"outputs\":[4],\"parameters\":[[\"i64\",[]],[\"f32\",[]],[\"i64\",[]]]}],\"inputs\":[[0,\"feed\",\"s\","
        "\"i64\",[]],[1,\"feed\",\"x\",\"f32\",[]]],\"instructions\":[[\"scan\",{\"carried\":1,\"function\":1,"
        "\"history\":false,\"reverse\":false,\"sliced\":0,\"times\":2},[1,0],[2]]],\"outputs\":[[\"result\",\"y\",2]]}";
    const int64_t selectors[2] = {1, 7};
    const float x = 1;
    rp_program *program;
    rp_compiled *compiled;
    rp_run *run;
    rp_error err = {0};

    (void)state;
    assert_int_equal(rp_run_new(&run, NULL, NULL), RP_OK);
    assert_int_equal(rp_program_read(&program, text, strlen(text), NULL, NULL), RP_OK);
    assert_int_equal(rp_compile(&compiled, run, program, &err), RP_OK);
    assert_int_equal(rp_compiled_write(compiled, "x", &x, sizeof x, NULL), RP_OK);
    for (int k = 0; k < 2; k++) {
        assert_int_equal(rp_compiled_write(compiled, "s", &selectors[k], sizeof *selectors, NULL), RP_OK);
        assert_int_equal(rp_compiled_step(compiled, &err), k ? RP_EDATA : RP_OK);
    }
    if (!strstr(err.text, "instruction 1, cond: selector 7 is out of range, expected 0 to 1") ||
        !strstr(err.text, "(step 1)"))
        fail_msg("%s", err.text);
    rp_compiled_free(compiled);
    rp_program_free(program);
    rp_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_that_is_not_there_is_told_in_bytes),
        cmocka_unit_test(a_wrong_selector_tells_its_step),
        cmocka_unit_test(compiled_steps_have_the_bits_of_eager_ones),
        cmocka_unit_test(what_does_not_fit_is_told),
        cmocka_unit_test(after_a_failed_step_the_states_are_the_old_ones_or_the_run_is_given_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
