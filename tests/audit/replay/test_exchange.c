/* SPDX-License-Identifier: Apache-2.0
 * A program whose states exchange their values and take views, recorded and replayed: the same bits, those that the
 * contract's 11.1 gives by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "rp/rp.h"

static rp_error err;

#define OK(call) need((call), #call)

static void need(rp_status status, const char *what)
{
    if (status != RP_OK)
        fail_msg("%s: %s", what, err.text);
}

/* a, b, c, d = b, a, turned d, a feed; the results are what a and c were, c turned. */
#define MATRIX "\"f32\",[2,2]]"
#define TURN "[\"transpose\",{\"permutation\":[1,0]},"
static const char text[] =
    "{\"contract\":1,\"inputs\":[[0,\"state\",\"a\"," MATRIX ",[1,\"state\",\"b\"," MATRIX ",[2,\"state\",\"c\"," MATRIX
    ",[3,\"state\",\"d\"," MATRIX ",[4,\"feed\",\"x\"," MATRIX "],\"instructions\":[" TURN "[3],[5]]," TURN
    "[2],[6]]],\"outputs\":[[\"state\",\"a\",1],[\"state\",\"b\",0],[\"state\",\"c\",5],[\"state\",\"d\",4],"
    "[\"result\",\"was\",0],[\"result\",\"turned\",6]]}";

static void turn(float to[4], const float from[4])
{
    const float turned[4] = {from[0], from[2], from[1], from[3]};

    memcpy(to, turned, sizeof turned);
}

static void exchanged_states_are_replayed(void **state)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    float held[4][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}, {13, 14, 15, 16}}, found[4], turned[4], x[4];
    char path[] = "/tmp/rp-exchange-XXXXXX";
    const int file = mkstemp(path);
    const size_t shape[] = {2, 2};
    rp_recorder *recorder;
    rp_compiled *compiled;
    rp_program *program;
    rp_archive *archive;
    rp_run *run;
    rp_job *job;

    (void)state;
    assert_true(file >= 0);
    close(file);
    OK(rp_run_new(&run, &(rp_run_options){.threads = 1}, &err));
    for (int s = 0; s < 4; s++)
        OK(rp_run_add_state(run, names[s], RP_F32, 2, shape, held[s], &err));
    OK(rp_recorder_new(&recorder, run, &err));
    OK(rp_program_read(&program, text, strlen(text), NULL, &err));
    OK(rp_compile(&compiled, run, program, &err));
    for (int step = 0; step < 5; step++) {
        float was[4], next[4];

        for (int i = 0; i < 4; i++)
            x[i] = (float)(100 * step + i);
        OK(rp_compiled_write(compiled, "x", x, sizeof x, &err));
        OK(rp_compiled_step(compiled, &err));
        memcpy(was, held[0], sizeof was);
        OK(rp_compiled_read(compiled, "was", found, sizeof found, &err));
        assert_memory_equal(found, was, sizeof was);
        turn(turned, held[2]);
        OK(rp_compiled_read(compiled, "turned", found, sizeof found, &err));
        assert_memory_equal(found, turned, sizeof turned);
        memcpy(held[0], held[1], sizeof was);
        memcpy(held[1], was, sizeof was);
        turn(next, held[3]);
        memcpy(held[2], next, sizeof next);
        memcpy(held[3], x, sizeof x);
        for (int s = 0; s < 4; s++) {
            OK(rp_run_get_state(run, names[s], found, sizeof found, &err));
            assert_memory_equal(found, held[s], sizeof found);
        }
    }
    OK(rp_recorder_save(recorder, path, NULL, true, NULL, &err));
    OK(rp_archive_open(&archive, path, &err));
    OK(rp_replay(archive, &(rp_job_options){.threads = 1}, &job, &err));
    rp_job_free(job);
    rp_archive_close(archive);
    rp_compiled_free(compiled);
    rp_program_free(program);
    rp_recorder_free(recorder);
    rp_run_free(run);
    (void)remove(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(exchanged_states_are_replayed)};

    return cmocka_run_group_tests_name("exchanged states", tests, NULL, NULL);
}
