/* SPDX-License-Identifier: Apache-2.0
 * Panels of a matrix that is a state are made once and kept from answer to answer, until somebody writes to a state:
 * after each way of writing an answer has the bits of a run that makes them anew each time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/program/function.h"
#include "core/run/run.h"

enum { K = 128, WIDE = 512, TIMES = 40, BYTES = K * WIDE * sizeof(float) };

/* A run that keeps them, and one with a budget, which does not; weights for both. */
typedef struct both {
    rp_run *run[2];
    rp_compiled *answer[2], *update[2];
    float u[K * WIDE], last[K];
} both;

/* h <- tanh(a part of h u) */
static rp_function *cell(void)
{
    rp_tensor h, u;
    rp_function *f;
    rp_graph *g;

    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    (void)rp_function_parameter(g, &(rp_type){.dtype = RP_I64});
    h = rp_function_parameter(g, &(rp_type){RP_F32, 2, {1, K}});
    u = rp_function_parameter(g, &(rp_type){RP_F32, 2, {K, WIDE}});
    h = rp_tanh(rp_slice(rp_matmul(h, u), (size_t[]){0, WIDE - K}, (size_t[]){1, WIDE}));
    rp_function_return(g, h);
    assert_int_equal(rp_function_finish(g, &f, NULL), RP_OK);
    return f;
}

static rp_tensor state(rp_graph *g)
{
    return rp_graph_declare(g, RP_INPUT_STATE, "u", &(rp_type){RP_F32, 2, {K, WIDE}});
}

static rp_program *answers(void)
{
    rp_function *f = cell();
    rp_tensor h, u, out;
    rp_graph *g;
    rp_program *p;

    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    h = rp_fill(g, RP_F32, 2, (size_t[]){1, K}, 0.5);
    u = state(g);
    rp_scan(
        g,
        &(rp_scan_options){.function = f, .carried = &h, .n_carried = 1, .shared = &u, .n_shared = 1, .times = TIMES},
        &out);
    rp_function_free(f);
    rp_graph_result(g, "h", out);
    assert_int_equal(rp_graph_finish(g, &p, NULL), RP_OK);
    return p;
}

static rp_program *updates(void)
{
    rp_tensor u;
    rp_graph *g;
    rp_program *p;

    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    u = state(g);
    rp_graph_update(g, "u", rp_mul(u, rp_fill(g, RP_F32, 0, NULL, 0.75)));
    assert_int_equal(rp_graph_finish(g, &p, NULL), RP_OK);
    return p;
}

static void begin(both *b)
{
    rp_program *answer = answers(), *update = updates();
    const rp_run_options options[2] = {{.threads = 1}, {.threads = 1, .memory = (uint64_t)1 << 30}};

    for (size_t i = 0; i < K * WIDE; i++)
        b->u[i] = (float)((int)(i * 7 % 23) - 11) * 0.03f;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rp_run_new(&b->run[i], &options[i], NULL), RP_OK);
        assert_int_equal(rp_run_add_state(b->run[i], "u", RP_F32, 2, (size_t[]){K, WIDE}, b->u, NULL), RP_OK);
        assert_int_equal(rp_compile(&b->answer[i], b->run[i], answer, NULL), RP_OK);
        assert_int_equal(rp_compile(&b->update[i], b->run[i], update, NULL), RP_OK);
    }
    rp_program_free(answer);
    rp_program_free(update);
}

static void end(both *b)
{
    for (int i = 0; i < 2; i++) {
        rp_compiled_free(b->answer[i]);
        rp_compiled_free(b->update[i]);
        rp_run_free(b->run[i]);
    }
}

/* Both answer alike, and, if the state was written to, not as before. */
static void assert_answers(both *b, bool other, const char *what)
{
    float h[2][K];

    for (int i = 0; i < 2; i++) {
        assert_int_equal(rp_compiled_step(b->answer[i], NULL), RP_OK);
        assert_int_equal(rp_compiled_read(b->answer[i], "h", h[i], sizeof h[i], NULL), RP_OK);
    }
    if (memcmp(h[0], h[1], sizeof *h) != 0 || (memcmp(h[0], b->last, sizeof *h) == 0) == other)
        fail_msg("%s: an answer of other weights", what);
    memcpy(b->last, h[0], sizeof *h);
}

static rp_status give(void *self, rp_run *run, rp_error *err)
{
    return rp_run_put(run, "u", &(rp_type){RP_F32, 2, {K, WIDE}}, 0, ((both *)self)->u, (size_t)K * WIDE, err);
}

static void answers_see_every_write_to_a_state(void **unused)
{
    static both b;
    rp_error err;

    (void)unused;
    begin(&b);
    assert_answers(&b, true, "first");
    assert_answers(&b, false, "again");
    for (int i = 0; i < 2; i++)
        assert_int_equal(rp_compiled_step(b.update[i], &err), RP_OK);
    assert_answers(&b, true, "after a compiled step");
    assert_answers(&b, false, "again after a compiled step");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rp_step_begin(b.run[i], &err), RP_OK);
        rp_set_state(b.run[i], "u", rp_tanh(rp_state(b.run[i], "u")));
        assert_int_equal(rp_step_end(b.run[i], &err), RP_OK);
    }
    assert_answers(&b, true, "after an eager step");
    assert_answers(&b, false, "again after an eager step");
    for (int i = 0; i < 2; i++)
        assert_int_equal(rp_run_restore(b.run[i], 0, &(rp_value_source){give, &b}, &err), RP_OK);
    assert_answers(&b, true, "after values were given");
    end(&b);
}

static void panels_are_told_as_the_programs_own_memory(void **unused)
{
    rp_program *p = answers();
    rp_memory_needed needed[2];
    static both b;

    (void)unused;
    begin(&b);
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            rp_program_memory(p, &(rp_run_options){.threads = 1, .memory = (uint64_t)i << 30}, &needed[i], NULL),
            RP_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(needed[i].own, rp_compiled_own_bytes(b.answer[i]));
    assert_int_equal(needed[0].own - needed[1].own, BYTES);
    assert_int_equal(needed[0].total, needed[1].total);
    rp_program_free(p);
    end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_see_every_write_to_a_state),
        cmocka_unit_test(panels_are_told_as_the_programs_own_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
