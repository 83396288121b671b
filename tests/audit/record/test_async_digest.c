/* SPDX-License-Identifier: Apache-2.0
 * Hashing states beside the next step: the archive is the same byte for byte, whatever the steps do with the states and
 * whenever the recorder is asked. The states are so large, and written so early in a step, that a writer who did not
 * wait would be seen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "audit/record/recorder.h"
#include "core/run/run.h"
#include "rp/rp.h"

enum { COUNT = 1 << 20, STEPS = 6 };

static char folder[] = "/tmp/reprise-beside-XXXXXX";
static rp_error err;

#define OK(call) \
    do { \
        if ((call) != RP_OK) \
            fail_msg("%s:%d: %s: %s", __FILE__, __LINE__, #call, err.text); \
    } while (0)

typedef struct recorded {
    rp_run *run;
    rp_recorder *recorder;
    rp_compiled *compiled; /* NULL: eager steps */
} recorded;

static rp_run *new_run(unsigned threads)
{
    const rp_run_options options = {.threads = threads};
    const size_t shape[] = {COUNT}, none[] = {1};
    float *w = malloc(COUNT * sizeof *w);
    rp_run *run;

    assert_non_null(w);
    for (size_t i = 0; i < COUNT; i++)
        w[i] = (float)(i % 1013);
    OK(rp_run_new(&run, &options, &err));
    OK(rp_run_add_state(run, "w", RP_F32, 1, shape, w, &err));
    OK(rp_run_add_state(run, "v", RP_F32, 1, shape, w, &err));
    OK(rp_run_add_state(run, "small", RP_F32, 1, none, w, &err));
    free(w);
    return run;
}

/* w is overwritten where it lies by the first instruction; v gets a value made elsewhere, copied at the end. Step 3
 * writes no state. */
static rp_status step_eagerly(rp_run *run, unsigned step)
{
    const size_t middle[] = {COUNT / 2}, end[] = {COUNT};
    rp_tensor w, v, halves[2];

    OK(rp_step_begin(run, &err));
    w = rp_state(run, "w");
    v = rp_state(run, "v");
    if (step == 3) {
        rp_result(run, "loss", rp_mean(w, NULL, 0, false));
        return rp_step_end(run, &err);
    }
    rp_set_state(run, "w", rp_add(w, w));
    halves[0] = rp_slice(v, middle, end);
    halves[1] = rp_slice(v, &(size_t){0}, middle);
    rp_set_state(run, "v", rp_concat(halves, 2, 0));
    return rp_step_end(run, &err);
}

static rp_status keep_program(void *self, const rp_step_event *event, rp_error *error)
{
    rp_program **kept = self;

    *kept = rp_program_copy(event->program);
    return *kept ? RP_OK : rp_fail(error, RP_ENOMEM, "out of memory");
}

static rp_program *program_of_a_step(void)
{
    rp_run *run = new_run(1);
    rp_program *program = NULL;

    OK(rp_run_observe(run, (rp_observer){keep_program, &program}, &err));
    OK(step_eagerly(run, 0));
    rp_run_free(run);
    return program;
}

static recorded begin(unsigned threads, unsigned beside, bool compiled)
{
    recorded r = {.run = new_run(threads)};

    OK(rp_recorder_new(&r.recorder, r.run, &err));
    rp_recorder_set_beside(r.recorder, beside);
    if (compiled)
        OK(rp_run_compile(&r.compiled, r.run, program_of_a_step(), &err));
    return r;
}

static void step(recorded *r, unsigned number)
{
    if (r->compiled)
        OK(rp_compiled_step(r->compiled, &err));
    else
        OK(step_eagerly(r->run, number));
}

static void finish(recorded *r)
{
    rp_compiled_free(r->compiled);
    rp_recorder_free(r->recorder);
    rp_run_free(r->run);
}

static void save(recorded *r, char id[RP_DIGEST_HEX])
{
    char path[64];

    (void)snprintf(path, sizeof path, "%s/%d", folder, (int)getpid());
    OK(rp_recorder_save(r->recorder, path, NULL, true, id, &err));
}

static void record(char id[RP_DIGEST_HEX], unsigned threads, unsigned beside, bool compiled)
{
    recorded r = begin(threads, beside, compiled);

    for (unsigned i = 0; i < STEPS; i++)
        step(&r, i);
    save(&r, id);
    finish(&r);
}

static void archive_is_the_same_with_and_without(void **state)
{
    (void)state;
    for (int compiled = 0; compiled < 2; compiled++) {
        char expected[RP_DIGEST_HEX], id[RP_DIGEST_HEX];

        record(expected, 1, 0, compiled);
        for (unsigned threads = 1; threads <= 3; threads++)
            for (unsigned beside = 1; beside <= 3; beside += 2) {
                record(id, threads, beside, compiled);
                assert_string_equal(id, expected);
            }
    }
}

static void recorder_may_be_asked_and_saved_at_every_step(void **state)
{
    recorded a = begin(1, 0, true), b = begin(1, 1, true);

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        char x[RP_DIGEST_HEX], y[RP_DIGEST_HEX];

        step(&a, i);
        step(&b, i);
        assert_int_equal(rp_recorder_steps(b.recorder), i + 1);
        save(&a, x);
        save(&b, y);
        assert_string_equal(x, y);
        if (i == 2)
            rp_recorder_set_beside(b.recorder, 2);
    }
    finish(&a);
    finish(&b);
}

static void recorder_may_be_freed_while_it_hashes(void **state)
{
    recorded r = begin(1, 1, true);

    (void)state;
    step(&r, 0);
    finish(&r);
}

/* In the child there is no thread: what was begun, and what comes, is hashed by the caller. */
static void child_of_a_fork_goes_on(void **state)
{
    char expected[RP_DIGEST_HEX], id[RP_DIGEST_HEX];
    recorded r = begin(1, 1, true);
    pid_t child;
    int status;

    (void)state;
    record(expected, 1, 0, true);
    step(&r, 0);
    child = fork();
    assert_true(child >= 0);
    for (unsigned i = 1; i < STEPS; i++)
        step(&r, i);
    save(&r, id);
    if (child == 0)
        _exit(strcmp(id, expected) != 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_string_equal(id, expected);
    finish(&r);
}

static int setup(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state)
{
    char command[96];

    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(archive_is_the_same_with_and_without),
        cmocka_unit_test(recorder_may_be_asked_and_saved_at_every_step),
        cmocka_unit_test(recorder_may_be_freed_while_it_hashes),
        cmocka_unit_test(child_of_a_fork_goes_on),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
