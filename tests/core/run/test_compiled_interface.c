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

/* ---- rp_compiled_call ---- */

enum { LONG = 64, WIDE = 256, AT_ONCE = 5, LEVELS = 4 };

static const rp_type large = {RP_F32, 2, {LONG, WIDE}};
static const char *const name_at_once[AT_ONCE] = {"made", "turned", "itself", "beside", "twice"};

/* Results that are made alone, are views, are the feed itself, have parts that are made where they go, and are one. */
static rp_program *build_large(void)
{
    rp_graph *graph;
    rp_program *program;
    rp_tensor x, made, part[2];
    rp_error err = {0};

    assert_int_equal(rp_graph_symbolic(&graph, &err), RP_OK);
    x = rp_graph_declare(graph, RP_INPUT_FEED, "x", &large);
    made = rp_mul(rp_tanh(x), rp_graph_declare(graph, RP_INPUT_STATE, "s", &large));
    part[0] = rp_exp(x);
    part[1] = rp_sub(made, x);
    rp_graph_update(graph, "s", x);
    rp_graph_result(graph, "made", made);
    rp_graph_result(graph, "turned", rp_transpose(made, NULL));
    rp_graph_result(graph, "itself", x);
    rp_graph_result(graph, "beside", rp_concat(part, 2, 0));
    rp_graph_result(graph, "twice", made);
    if (rp_graph_finish(graph, &program, &err) != RP_OK)
        fail_msg("%s", err.text);
    return program;
}

static rp_compiled *compile_large(rp_run **run, const char *level, const rp_program *program)
{
    const rp_run_options options = {.threads = 2, .level = level};
    rp_compiled *c;
    rp_error err = {0};

    if (rp_run_new(run, &options, &err) != RP_OK)
        return NULL; /* a level that this host lacks */
    assert_int_equal(rp_run_add_state(*run, "s", RP_F32, 2, large.shape, NULL, &err), RP_OK);
    if (rp_compile(&c, *run, program, &err) != RP_OK)
        fail_msg("%s", err.text);
    return c;
}

static size_t bytes_at_once(int i)
{
    return (i == 3 ? 2 : 1) * sizeof(float) * LONG * WIDE;
}

/* Some numbers; in some steps one that is no number with bits of its own. */
static void fill_large(float *x, int step)
{
    const uint32_t odd = 0xFFC12345;

    for (int i = 0; i < LONG * WIDE; i++)
        x[i] = (float)((i * 7 + step * 13) % 101) / 32 - 1.5f;
    if (step % 3 == 1)
        memcpy(x + WIDE + step, &odd, sizeof odd);
}

static void read_all(rp_compiled *c, const float *x, float *out[AT_ONCE])
{
    rp_error err = {0};

    assert_int_equal(rp_compiled_write(c, "x", x, bytes_at_once(0), &err), RP_OK);
    assert_int_equal(rp_compiled_step(c, &err), RP_OK);
    for (int i = 0; i < AT_ONCE; i++)
        assert_int_equal(rp_compiled_read(c, name_at_once[i], out[i], bytes_at_once(i), &err), RP_OK);
}

static void check_states(rp_run *one, rp_run *other, float *a, float *b)
{
    assert_int_equal(rp_run_get_state(one, "s", a, bytes_at_once(0), NULL), RP_OK);
    assert_int_equal(rp_run_get_state(other, "s", b, bytes_at_once(0), NULL), RP_OK);
    assert_memory_equal(a, b, bytes_at_once(0));
}

/* Memory at a place where kernels may use it, or (apart) one element on. */
static float *large_memory(int i, int apart)
{
    char *made = aligned_alloc(64, bytes_at_once(i) + 64);

    assert_non_null(made);
    return (float *)(void *)(made + 4 * apart);
}

static void call_at(const char *level, int apart)
{
    rp_program *program = build_large();
    rp_run *run[2] = {NULL};
    rp_compiled *c[2] = {compile_large(&run[0], level, program), compile_large(&run[1], level, program)};
    float *x = large_memory(0, apart), *kept = large_memory(0, 0), *out[2][AT_ONCE];
    rp_lent result[AT_ONCE];
    rp_error err = {0};

    for (int i = 0; i < AT_ONCE; i++) {
        out[0][i] = large_memory(i, 0);
        out[1][i] = large_memory(i, apart);
        result[i] = (rp_lent){name_at_once[i], out[1][i], bytes_at_once(i)};
    }
    for (int step = 0; step < 6 && c[0]; step++) {
        const rp_lent feed = {"x", x, bytes_at_once(0)};

        fill_large(x, step);
        memcpy(kept, x, feed.size);
        read_all(c[0], x, out[0]);
        if (step == 4)
            read_all(c[1], x, out[1]); /* both ways in turn */
        else if (rp_compiled_call(c[1], (rp_lent[]){feed, feed}, 1 + (step == 3), result, AT_ONCE, &err) != RP_OK)
            fail_msg("%s", err.text);
        assert_memory_equal(kept, x, feed.size);
        memset(x, 0xFF, feed.size); /* what was lent is not looked at again */
        for (int i = 0; i < AT_ONCE; i++)
            assert_memory_equal(out[0][i], out[1][i], bytes_at_once(i));
        check_states(run[0], run[1], out[0][0], out[1][0]);
    }
    for (int i = 0; i < AT_ONCE; i++) {
        free(out[0][i]);
        free(out[1][i] - apart);
    }
    free(x - apart);
    free(kept);
    for (int i = 0; i < 2; i++) {
        rp_compiled_free(c[i]);
        rp_run_free(run[i]);
    }
    rp_program_free(program);
}

static void a_call_has_the_bits_of_writing_stepping_and_reading(void **state)
{
    static const char *const level[LEVELS] = {"ref", "sse2", "avx2", "avx512"};

    (void)state;
    for (int i = 0; i < LEVELS; i++)
        for (int apart = 0; apart < 2; apart++)
            call_at(level[i], apart);
}

/* Neither the feed nor the result of a call stays with the program: older ones in their place would be silent. */
static void what_a_call_was_lent_is_gone_after_it(void **state)
{
    rp_program *program = build_large();
    rp_run *run;
    rp_compiled *c = compile_large(&run, NULL, program);
    float *x = large_memory(0, 0), *made = large_memory(3, 0);
    const rp_lent feed = {"x", x, bytes_at_once(0)}, result = {"beside", made, bytes_at_once(3)};
    rp_error err = {0};

    (void)state;
    fill_large(x, 0);
    assert_int_equal(rp_compiled_call(NULL, &feed, 1, &result, 1, &err), RP_EARG);
    assert_int_equal(rp_compiled_call(c, &(rp_lent){"z", x, 4}, 1, &result, 1, &err), RP_EARG);
    assert_string_equal(err.text, "the program has no feed z");
    assert_int_equal(rp_compiled_call(c, &feed, 1, &(rp_lent){"z", made, 4}, 1, &err), RP_EARG);
    assert_int_equal(rp_compiled_call(c, &feed, 1, &result, 1, &err), RP_OK);
    assert_int_equal(rp_compiled_read(c, "beside", made, bytes_at_once(3), &err), RP_EARG);
    assert_string_equal(err.text, "result beside of the last step is where rp_compiled_call was told to make it");
    assert_int_equal(rp_compiled_read(c, "itself", made, bytes_at_once(2), &err), RP_OK);
    /* nor after a step, or a call, that was not made */
    assert_int_equal(rp_compiled_call(c, &(rp_lent){"z", x, 4}, 1, &result, 1, &err), RP_EARG);
    assert_int_equal(rp_compiled_read(c, "beside", made, bytes_at_once(3), &err), RP_EARG);
    assert_int_equal(rp_compiled_call(c, NULL, 0, &result, 1, &err), RP_EARG);
    assert_int_equal(rp_compiled_read(c, "beside", made, bytes_at_once(3), &err), RP_EARG);
    assert_int_equal(rp_compiled_write(c, "x", x, bytes_at_once(0), &err), RP_OK);
    assert_int_equal(rp_compiled_step(c, &err), RP_OK);
    assert_int_equal(rp_compiled_read(c, "beside", made, bytes_at_once(3), &err), RP_OK);
    free(x);
    free(made);
    rp_compiled_free(c);
    rp_run_free(run);
    rp_program_free(program);
}

static void a_result_may_be_asked_for_twice(void **state)
{
    rp_program *program = build_large();
    rp_run *run;
    rp_compiled *c = compile_large(&run, NULL, program);
    float *x = large_memory(0, 0), *made[3], *first = large_memory(3, 1);
    const size_t bytes = bytes_at_once(3);
    rp_error err = {0};

    (void)state;
    for (int i = 0; i < 3; i++)
        made[i] = large_memory(3, 0);
    fill_large(x, 1); /* with a NaN of other bits */
    read_all(c, x, (float *[]){made[1], made[1], made[1], made[0], made[1]});
    if (rp_compiled_call(c, &(rp_lent){"x", x, bytes_at_once(0)}, 1,
                         (rp_lent[]){{"beside", first, bytes}, {"beside", made[1], bytes}, {"beside", made[2], bytes}},
                         3, &err) != RP_OK)
        fail_msg("%s", err.text);
    assert_memory_equal(first, made[1], bytes);
    assert_memory_equal(made[1], made[2], bytes);
    for (int i = 0; i < 3; i++)
        free(made[i]);
    free(first - 1);
    free(x);
    rp_compiled_free(c);
    rp_run_free(run);
    rp_program_free(program);
}

static void a_feed_that_was_lent_is_written_anew(void **state)
{
    rp_graph *graph;
    rp_program *program;
    rp_run *run;
    rp_compiled *c;
    float *x = large_memory(0, 0), *made = large_memory(0, 0);
    const rp_lent feed = {"x", x, bytes_at_once(0)}, result = {"y", made, bytes_at_once(0)};
    rp_error err = {0};

    (void)state;
    fill_large(x, 0);
    assert_int_equal(rp_graph_symbolic(&graph, &err), RP_OK);
    rp_graph_result(graph, "y", rp_tanh(rp_graph_declare(graph, RP_INPUT_FEED, "x", &large)));
    assert_int_equal(rp_graph_finish(graph, &program, &err), RP_OK);
    assert_int_equal(rp_run_new(&run, NULL, &err), RP_OK);
    assert_int_equal(rp_compile(&c, run, program, &err), RP_OK);
    assert_int_equal(rp_compiled_write(c, "x", x, feed.size, &err), RP_OK);
    assert_int_equal(rp_compiled_step(c, &err), RP_OK);
    assert_int_equal(rp_compiled_call(c, &feed, 1, &result, 1, &err), RP_OK);
    assert_int_equal(rp_compiled_step(c, &err), RP_EARG);
    assert_string_equal(err.text, "feed x was never written: rp_compiled_write");
    assert_int_equal(rp_compiled_read(c, "y", made, feed.size, &err), RP_EARG);
    free(x);
    free(made);
    rp_compiled_free(c);
    rp_run_free(run);
    rp_program_free(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_that_is_not_there_is_told_in_bytes),
        cmocka_unit_test(a_wrong_selector_tells_its_step),
        cmocka_unit_test(compiled_steps_have_the_bits_of_eager_ones),
        cmocka_unit_test(what_does_not_fit_is_told),
        cmocka_unit_test(a_call_has_the_bits_of_writing_stepping_and_reading),
        cmocka_unit_test(what_a_call_was_lent_is_gone_after_it),
        cmocka_unit_test(a_result_may_be_asked_for_twice),
        cmocka_unit_test(a_feed_that_was_lent_is_written_anew),
        cmocka_unit_test(after_a_failed_step_the_states_are_the_old_ones_or_the_run_is_given_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
