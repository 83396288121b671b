/* SPDX-License-Identifier: Apache-2.0
 * Runs of the C API whose states and feeds are more than one part of a set holds (FORMAT.md 7.1): recorded, replayed,
 * whole and in part, gone on with, compared and reported on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "audit/archive/tensor_parts.h"
#include "audit/record/recorder_private.h"
#include "rp/rp.h"

enum { STATES = RP_PART_TENSORS + 5, STEPS = 5, FEEDS = 50 };
static rp_error err;
#define OK(call) \
    do { \
        if ((call) != RP_OK) \
            fail_msg("line %d: %s", __LINE__, err.text); \
    } while (0)

static void remove_file(const char *path)
{
    (void)unlink(path);
}

/* ---- many states ---- */

static void add_states(rp_run *run, float first)
{
    for (size_t i = 0; i < STATES; i++) {
        const float value = first + (float)i;
        char name[16];

        (void)snprintf(name, sizeof name, "s%05zu", (i * 7919) % STATES); /* not in the order of the names */
        OK(rp_run_add_state(run, name, RP_F32, 0, NULL, &value, &err));
    }
}

static void step(rp_run *run)
{
    rp_tensor a, b, sum;

    OK(rp_step_begin(run, &err));
    a = rp_state(run, "s00001");
    b = rp_state(run, "s04096");
    sum = rp_add(a, b);
    rp_set_state(run, "s04096", sum);
    OK(rp_step_end(run, &err));
}

static rp_run *begin(rp_recorder **recorder, float first)
{
    const rp_run_options options = {.threads = 1};
    rp_run *run;

    OK(rp_run_new(&run, &options, &err));
    add_states(run, first);
    OK(rp_recorder_new(recorder, run, &err));
    OK(rp_recorder_set_checkpoint_period(*recorder, 2, &err));
    return run;
}

static rp_archive *record(const char *path, float first, int steps, const rp_archive *from)
{
    rp_recorder *recorder;
    rp_run *run = begin(&recorder, first);
    rp_archive *archive;

    if (from)
        OK(rp_recorder_resume(recorder, from, &err));
    for (int i = (int)rp_run_steps(run); i < steps; i++)
        step(run);
    OK(rp_recorder_save(recorder, path, NULL, true, NULL, &err));
    rp_recorder_free(recorder);
    rp_run_free(run);
    OK(rp_archive_open(&archive, path, &err));
    return archive;
}

static void replays(const rp_archive *archive, const rp_replay_choice *choice, size_t members, size_t segments)
{
    const rp_job_options options = {.threads = 1, .choice = choice};
    rp_job *job;

    OK(rp_replay(archive, &options, &job, &err));
    assert_int_equal(job->members, members);
    assert_int_equal(job->scope.segments_total, segments);
    rp_job_free(job);
}

static void sets_of_many_states_are_recorded_and_replayed_in_parts(void **state)
{
    static const char *const there[] = {
        "weights/init-00001-of-00002.safetensors", "weights/final-00002-of-00002.safetensors",
        "checkpoints/000000000002-00001-of-00002.safetensors", "checkpoints/000000000004-00002-of-00002.safetensors"};
    rp_archive *archive = record("parts.reprise", 1, STEPS, NULL);
    char *text;
    size_t length;

    (void)state;
    for (size_t i = 0; i < sizeof there / sizeof *there; i++)
        assert_non_null(rp_archive_find(archive, there[i]));
    assert_null(rp_archive_find(archive, RP_INIT_MEMBER));
    /* program, journal, feeds and their order, three sets of two parts besides those of two checkpoints, the manifest
     */
    replays(archive, NULL, rp_archive_member_count(archive), 3);
    replays(archive, &(rp_replay_choice){.mode = RP_REPLAY_RANGE, .first = 2, .last = 4, .parallel = 2}, 2, 3);
    OK(rp_report(archive, NULL, NULL, &text, &length, &err));
    assert_non_null(strstr(text, "All 4101"));
    rp_text_free(text);
    rp_archive_close(archive);
    remove_file("parts.reprise");
}

static void a_run_in_parts_goes_on_from_its_archive(void **state)
{
    rp_archive *whole = record("whole.reprise", 1, STEPS, NULL), *some = record("some.reprise", 1, 3, NULL), *on;
    rp_archive *other = record("other.reprise", 2, 3, NULL);
    rp_recorder *recorder;
    rp_run *run = begin(&recorder, 1);

    (void)state;
    assert_int_equal(rp_recorder_resume(recorder, other, &err), RP_EARG);
    assert_non_null(strstr(err.text, "its first states are others"));
    rp_recorder_free(recorder);
    rp_run_free(run);
    on = record("on.reprise", 1, STEPS, some);
    assert_string_equal(rp_archive_id(on), rp_archive_id(whole));
    rp_archive_close(on);
    rp_archive_close(other);
    rp_archive_close(some);
    rp_archive_close(whole);
    remove_file("whole.reprise");
    remove_file("some.reprise");
    remove_file("other.reprise");
    remove_file("on.reprise");
}

/* The same first states but one: the parent's, all but one, and a difference that is found from a shared checkpoint. */
static void parents_and_differences_are_found_in_parts(void **state)
{
    rp_archive *a = record("a.reprise", 1, STEPS, NULL), *b = record("b.reprise", 2, STEPS, NULL);
    rp_recorder *recorder;
    rp_run *run = begin(&recorder, 1);
    rp_archive *child;
    bool same;
    char *text;

    (void)state;
    OK(rp_recorder_set_parent(recorder, "a.reprise", 2, &err));
    step(run);
    OK(rp_recorder_save(recorder, "child.reprise", NULL, true, NULL, &err));
    rp_recorder_free(recorder);
    rp_run_free(run);
    OK(rp_archive_open(&child, "child.reprise", &err));
    OK(rp_check_parent(child, a, &err));
    assert_int_equal(rp_check_parent(child, b, &err), RP_EHASH);
    OK(rp_diff(a, b, NULL, &same, &text, &err));
    assert_false(same);
    assert_non_null(strstr(text, "member    weights/init-00001-of-00002.safetensors differs"));
    rp_text_free(text);
    rp_archive_close(child);
    rp_archive_close(a);
    rp_archive_close(b);
    remove_file("a.reprise");
    remove_file("b.reprise");
    remove_file("child.reprise");
}

/* ---- many feeds ---- */

static void feed_step(rp_run *run, int number)
{
    rp_tensor sum, fed, next;

    OK(rp_step_begin(run, &err));
    sum = rp_state(run, "sum");
    for (int i = 0; i < FEEDS; i++) {
        const float value = (float)(number * FEEDS + i);
        char name[8];

        (void)snprintf(name, sizeof name, "f%d", i);
        fed = rp_feed(run, name, RP_F32, 0, NULL, &value);
        next = rp_add(sum, fed);
        sum = next;
    }
    rp_set_state(run, "sum", sum);
    OK(rp_step_end(run, &err));
}

static void feeds_lie_in_parts_and_replay_from_there(void **state)
{
    enum { FED = RP_PART_TENSORS / FEEDS + 2 };
    const rp_run_options options = {.threads = 1};
    const float zero = 0;
    rp_run *run;
    rp_recorder *recorder;
    rp_archive *archive;

    (void)state;
    OK(rp_run_new(&run, &options, &err));
    OK(rp_run_add_state(run, "sum", RP_F32, 0, NULL, &zero, &err));
    OK(rp_recorder_new(&recorder, run, &err));
    for (int i = 0; i < FED; i++)
        feed_step(run, i);
    feed_step(run, 0); /* kept already */
    OK(rp_recorder_save(recorder, "feeds.reprise", NULL, true, NULL, &err));
    rp_recorder_free(recorder);
    rp_run_free(run);
    OK(rp_archive_open(&archive, "feeds.reprise", &err));
    assert_non_null(rp_archive_find(archive, "data/feeds-00002-of-00002.safetensors"));
    assert_int_equal(rp_archive_find(archive, RP_FEED_ORDER_MEMBER)->size, (FED + 1) * FEEDS * RP_DIGEST_SIZE);
    replays(archive, NULL, rp_archive_member_count(archive), 1);
    rp_archive_close(archive);
    remove_file("feeds.reprise");
}

/* ---- how many checkpoints fit ---- */

/* Each is two members, so half as many fit as of states in one. */
static void more_checkpoints_than_fit_are_refused_before_the_first_step(void **state)
{
    rp_recorder *recorder;
    rp_run *run = begin(&recorder, 0);

    (void)state;
    assert_int_equal(rp_recorder_checkpoints_into(recorder, 10, 300000, recorder->store, &err), RP_EARG);
    if (!strstr(err.text, "29999 in 300000 steps, each of 2 members") || !strstr(err.text, "at most 25685 fit") ||
        !strstr(err.text, "every 12 steps or more"))
        fail_msg("%s", err.text);
    assert_int_equal(recorder->checkpoint_period, 2); /* as it was */
    OK(rp_recorder_checkpoints_into(recorder, 12, 300000, recorder->store, &err));
    recorder->checkpoints_max = 1;
    OK(rp_recorder_set_checkpoint_period(recorder, 1, &err));
    recorder->checkpoints_max = 1; /* a run of the API ends when it likes */
    step(run);
    OK(rp_step_begin(run, &err));
    assert_int_equal(rp_step_end(run, &err), RP_EARG);
    assert_non_null(strstr(err.text, "2 in 3 steps, each of 2 members"));
    rp_recorder_free(recorder);
    rp_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_checkpoints_than_fit_are_refused_before_the_first_step),
        cmocka_unit_test(sets_of_many_states_are_recorded_and_replayed_in_parts),
        cmocka_unit_test(a_run_in_parts_goes_on_from_its_archive),
        cmocka_unit_test(parents_and_differences_are_found_in_parts),
        cmocka_unit_test(feeds_lie_in_parts_and_replay_from_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
