/* SPDX-License-Identifier: Apache-2.0
 * A device that lacks kernels (holed.c): every kind of job that needs them is refused before its first step, with the
 * names of all that is missing, and leaves nothing behind; one that needs none of them is not. */
#include "tests/audit/record/small_job.h"

static int on_the_device(void **state)
{
    const int result = job_setup(state);

    job_options.device = "emulated";
    return result;
}

static rp_status work(const char *job, rp_error *err)
{
    for (size_t i = 0; i < SMALL_JOBS; i++)
        if (strcmp(small_jobs[i].name, job) == 0)
            return small_jobs[i].work(err);
    fail_msg("no job %s", job);
    return RP_EARG;
}

static void take_out(const char *holes)
{
    assert_int_equal(setenv("RP_HOLES", holes, 1), 0);
}

/* "" in place of a name: no more of them. */
static const struct {
    const char *job, *holes, *told[6];
} refused[] = {
    {"run", "uniform:f32,matmul:f32,gather:f32", {"program 0: uniform f32", "program 1: ", "gather f32", "matmul f32"}},
    {"run", "gelu:f32", {"program 1: gelu f32"}},
    {"run", "copy:f32", {"program 0: copy f32", "program 1: copy f32"}},
    {"resume", "sgd:f32,adam:f32,matmul:f32", {"program 1: ", "matmul f32"}},
    {"replay", "uniform:f32,matmul:f32", {"program 0: uniform f32", "program 1: ", "matmul f32"}},
    {"replay part", "uniform:f32,matmul:f32", {"program 0: uniform f32", "program 1: ", "matmul f32"}},
    {"lineage", "matmul:f32,gather:f32", {"matmul f32", "gather f32"}},
    {"predict", "matmul:f32,add:f32", {"program 0: ", "matmul f32", "add f32"}},
    {"eager run", "matmul:f32,mean:f32", {"matmul f32", "(step 0"}}, /* its program is known as it comes */
    {"replay eager", "mean:f32,tanh:f32", {"program 0: mean f32, tanh f32", "program 1: mean f32"}},
};

static void a_job_is_refused_with_the_names_of_all_that_is_missing(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const size_t entries = job_entries(job_folder);
        rp_error err = {0};
        rp_status status;

        take_out("");
        status = work(refused[i].job, &err);
        if (status != RP_OK)
            fail_msg("%s, with all kernels: %s", refused[i].job, err.text);
        (void)unlink(job_out);
        take_out(refused[i].holes);
        status = work(refused[i].job, &err);
        if (status != RP_EUNSUPPORTED || rp_exit_code(status) != 5 ||
            !strstr(err.text, "device emulated has no kernel"))
            fail_msg("%s without %s: %s \"%s\"", refused[i].job, refused[i].holes, rp_status_name(status), err.text);
        for (const char *const *told = refused[i].told; *told; told++)
            if (!strstr(err.text, *told))
                fail_msg("%s without %s: expected \"%s\", found \"%s\"", refused[i].job, refused[i].holes, *told,
                         err.text);
        assert_int_equal(job_entries(job_folder), entries);
        take_out("cumsum:f32,matmul:f64,argmin:i32"); /* what it does not need */
        status = work(refused[i].job, &err);
        if (status != RP_OK)
            fail_msg("%s: %s", refused[i].job, err.text);
        (void)unlink(job_out);
    }
    take_out("");
}

/* ---- the C API's compiled programs ---- */

/* w = op(w), whose operations are named. */
static rp_compiled *compile(rp_run *run, const char *const *op, size_t n)
{
    const rp_type type = {RP_F32, 1, {4}};
    rp_graph *graph;
    rp_program *program;
    rp_compiled *compiled;
    rp_tensor w;
    rp_error err;

    assert_int_equal(rp_graph_symbolic(&graph, &err), RP_OK);
    w = rp_graph_declare(graph, RP_INPUT_STATE, "w", &type);
    for (size_t i = 0; i < n; i++) {
        const rp_tensor x = w;

        rp_append(graph, op[i], NULL, 0, &x, 1, &w, 1);
    }
    rp_graph_update(graph, "w", w);
    if (rp_graph_finish(graph, &program, &err) != RP_OK)
        fail_msg("%s", err.text);
    assert_int_equal(rp_compile(&compiled, run, program, &err), RP_OK);
    rp_program_free(program);
    return compiled;
}

static void compiled_programs_are_refused_together_at_the_first_step(void **state)
{
    static const char *const sound[] = {"neg"}, *const first[] = {"tanh", "neg", "exp", "tanh"},
                             *const second[] = {"sin"};
    const float initial[4] = {1, 2, 3, 4};
    const rp_run_options options = {.threads = 1, .device = "emulated"};
    rp_compiled *c[3];
    rp_error err;
    float w[4];
    rp_run *run;

    (void)state;
    take_out("tanh:f32,exp:f32,sin:f32");
    assert_int_equal(rp_run_new(&run, &options, &err), RP_OK);
    assert_int_equal(rp_run_add_state(run, "w", RP_F32, 1, (size_t[]){4}, initial, &err), RP_OK);
    c[0] = compile(run, sound, 1);
    c[1] = compile(run, first, 4);
    c[2] = compile(run, second, 1);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(rp_compiled_step(c[i], &err), RP_EUNSUPPORTED);
        assert_non_null(strstr(err.text, "program 1: tanh f32, exp f32; program 2: sin f32"));
    }
    assert_int_equal(rp_run_get_state(run, "w", w, sizeof w, &err), RP_OK);
    assert_memory_equal(w, initial, sizeof w); /* as it was */
    for (size_t i = 0; i < 3; i++)
        rp_compiled_free(c[i]);
    rp_run_free(run);
    take_out("sin:f32"); /* one that is compiled later does not stop those that ran */
    assert_int_equal(rp_run_new(&run, &options, &err), RP_OK);
    assert_int_equal(rp_run_add_state(run, "w", RP_F32, 1, (size_t[]){4}, initial, &err), RP_OK);
    c[0] = compile(run, sound, 1);
    assert_int_equal(rp_compiled_step(c[0], &err), RP_OK);
    c[1] = compile(run, second, 1);
    assert_int_equal(rp_compiled_step(c[1], &err), RP_EUNSUPPORTED);
    assert_int_equal(rp_compiled_step(c[0], &err), RP_OK);
    rp_compiled_free(c[0]);
    rp_compiled_free(c[1]);
    rp_run_free(run);
    take_out("");
}

/* More than an error's text holds is counted. */
static void what_has_no_room_is_counted(void **state)
{
    static const char *const ops[] = {"neg", "exp", "tanh", "sin", "cos", "abs", "sqrt", "log", "erf", "sinh", "relu"};
    enum { OPS = sizeof ops / sizeof *ops, PROGRAMS = 12 };
    const float initial[4] = {1, 2, 3, 4};
    const rp_run_options options = {.threads = 1, .device = "emulated"};
    rp_compiled *c[PROGRAMS];
    rp_error err;
    rp_run *run;

    (void)state;
    take_out("neg:f32,exp:f32,tanh:f32,sin:f32,cos:f32,abs:f32,sqrt:f32,log:f32,erf:f32,sinh:f32,relu:f32");
    assert_int_equal(rp_run_new(&run, &options, &err), RP_OK);
    assert_int_equal(rp_run_add_state(run, "w", RP_F32, 1, (size_t[]){4}, initial, &err), RP_OK);
    for (size_t i = 0; i < PROGRAMS; i++)
        c[i] = compile(run, ops, OPS);
    assert_int_equal(rp_compiled_step(c[0], &err), RP_EUNSUPPORTED);
    assert_non_null(strstr(err.text, " more: choose another device"));
    for (size_t i = 0; i < PROGRAMS; i++)
        rp_compiled_free(c[i]);
    rp_run_free(run);
    take_out("");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_is_refused_with_the_names_of_all_that_is_missing),
        cmocka_unit_test(compiled_programs_are_refused_together_at_the_first_step),
        cmocka_unit_test(what_has_no_room_is_counted),
    };

    return cmocka_run_group_tests(tests, on_the_device, job_teardown);
}
