/* SPDX-License-Identifier: Apache-2.0
 * Runs of many steps: a journal and an order of feeds that are longer than what memory holds of them, recorded, gone on
 * with, replayed, compared; and journals that change while they are read. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "audit/archive/journal.h"
#include "audit/record/feeds.h"
#include "rp/rp.h"

/* 2.3 MB of records and 1.2 MB of feeds: both leave memory. Not a whole number of windows. */
enum { STEPS = 18500, FIRST = 9001, FEEDS = 2 };
static rp_error err;
#define OK(call) \
    do { \
        if ((call) != RP_OK) \
            fail_msg("line %d: %s", __LINE__, err.text); \
    } while (0)

static void step(rp_run *run, uint64_t other)
{
    const float a = (float)(rp_run_steps(run) % 7), b = rp_run_steps(run) == other ? 1 : 0;
    rp_tensor w;

    OK(rp_step_begin(run, &err));
    w = rp_state(run, "w");
    w = rp_add(w, rp_feed(run, "a", RP_F32, 0, NULL, &a));
    rp_set_state(run, "w", rp_add(w, rp_feed(run, "b", RP_F32, 0, NULL, &b)));
    OK(rp_step_end(run, &err));
}

/* from: an archive to go on from, or NULL; other: the step in which a feed is another. */
static rp_archive *record(const char *path, uint64_t steps, const rp_archive *from, uint64_t other)
{
    const float zero = 0;
    rp_run *run;
    rp_recorder *recorder;
    rp_archive *archive;

    OK(rp_run_new(&run, &(rp_run_options){.threads = 1}, &err));
    OK(rp_run_add_state(run, "w", RP_F32, 0, NULL, &zero, &err));
    OK(rp_recorder_new(&recorder, run, &err));
    if (from)
        OK(rp_recorder_resume(recorder, from, &err));
    while (rp_run_steps(run) < steps)
        step(run, other);
    OK(rp_recorder_save(recorder, path, NULL, true, NULL, &err));
    rp_recorder_free(recorder);
    rp_run_free(run);
    OK(rp_archive_open(&archive, path, &err));
    return archive;
}

static void a_long_run_is_recorded_gone_on_with_and_replayed(void **state)
{
    const rp_replay_choice end = {.mode = RP_REPLAY_RANGE, .first = STEPS - 2, .last = STEPS - 1, .parallel = 1};
    const rp_job_options whole = {.threads = 1}, part = {.threads = 1, .choice = &end};
    rp_archive *begun = record("long-run-begun.reprise", FIRST, NULL, STEPS);
    rp_archive *on = record("long-run-on.reprise", STEPS, begun, STEPS);
    rp_archive *once = record("long-run-once.reprise", STEPS, NULL, STEPS);
    rp_job *job;

    (void)state;
    assert_string_equal(rp_archive_id(on), rp_archive_id(once));
    assert_int_equal(rp_archive_find(once, RP_FEED_ORDER_MEMBER)->size, (uint64_t)STEPS * FEEDS * RP_DIGEST_SIZE);
    OK(rp_replay(once, &whole, &job, &err));
    rp_job_free(job);
    OK(rp_replay(once, &part, &job, &err));
    rp_job_free(job);
    rp_archive_close(begun);
    rp_archive_close(on);
    rp_archive_close(once);
    (void)unlink("long-run-begun.reprise");
    (void)unlink("long-run-on.reprise");
}

/* The root over windows is that over records. */
static void windows_are_subtrees(void **state)
{
    rp_archive *archive;
    rp_windowed *journal;
    rp_buffer all = {0};
    rp_record record;
    rp_byte_source records;
    rp_digest root, expected;

    (void)state;
    OK(rp_archive_open(&archive, "long-run-once.reprise", &err));
    OK(rp_journal_open(&journal, archive, &err));
    assert_int_equal(rp_journal_records(journal), STEPS);
    OK(rp_archive_read_member(archive, RP_JOURNAL_MEMBER, SIZE_MAX / 2, &all, &err));
    for (uint64_t n = 0; n <= STEPS; n += n < 3 || n % 1024 == 1023 || n % 1024 == 0 ? 1 : 511) {
        records = rp_windowed_source(journal);
        records.size = n * RP_RECORD_SIZE;
        OK(rp_journal_root(&root, &records, &err));
        OK(rp_merkle_records(&expected, all.data, RP_RECORD_SIZE, (size_t)n, &err));
        assert_memory_equal(&root, &expected, sizeof root);
    }
    OK(rp_journal_record(journal, STEPS - 1, &record, &err));
    assert_int_equal(record.step, STEPS - 1);
    assert_int_equal(rp_journal_record(journal, STEPS, &record, &err), RP_EFORMAT);
    rp_buffer_free(&all);
    rp_windowed_free(journal);
    rp_archive_close(archive);
}

static void runs_that_differ_late_are_told_by_the_step(void **state)
{
    static const uint64_t late[] = {0, 1024, STEPS - 1};

    (void)state;
    for (size_t i = 0; i < sizeof late / sizeof *late; i++) {
        rp_archive *a, *b = record("long-run-other.reprise", STEPS, NULL, late[i]);
        char *text, expected[64];
        bool same;

        OK(rp_archive_open(&a, "long-run-once.reprise", &err));
        OK(rp_diff(a, b, NULL, &same, &text, &err));
        (void)snprintf(expected, sizeof expected, "step      %llu is the first that differs",
                       (unsigned long long)late[i]);
        if (same || !strstr(text, expected))
            fail_msg("%s: %s", expected, text);
        rp_text_free(text);
        rp_archive_close(a);
        rp_archive_close(b);
    }
    (void)unlink("long-run-other.reprise");
}

/* Each window is hashed again when it comes. */
static void a_journal_that_changes_while_it_is_open_is_noticed(void **state)
{
    rp_archive *archive;
    rp_windowed *journal;
    rp_record record;
    unsigned char byte;
    int fd = open("long-run-once.reprise", O_RDWR);
    off_t at;

    (void)state;
    assert_true(fd >= 0);
    OK(rp_archive_open(&archive, "long-run-once.reprise", &err));
    OK(rp_journal_open(&journal, archive, &err));
    at = (off_t)(rp_archive_find(archive, RP_JOURNAL_MEMBER)->offset + 5000 * RP_RECORD_SIZE + 40);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    assert_int_equal(rp_journal_record(journal, 5000, &record, &err), RP_EHASH);
    OK(rp_journal_record(journal, 0, &record, &err));
    assert_int_equal(rp_journal_record(journal, 5001, &record, &err), RP_EHASH);
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    OK(rp_journal_record(journal, 5000, &record, &err));
    rp_windowed_free(journal);
    rp_archive_close(archive);
    (void)close(fd);
    (void)unlink("long-run-once.reprise");
}

/* What no reader would hold is refused by the step that has one feed too many. */
static void distinct_feeds_are_bounded(void **state)
{
    enum { MOST = 1 << 20 };
    float value = 0;
    rp_run *run;
    rp_feeds *feeds;
    rp_device_tensor tensor;
    rp_digest digest = {{0}};
    size_t n;

    (void)state;
    OK(rp_run_new(&run, &(rp_run_options){.threads = 1}, &err));
    OK(rp_run_add_state(run, "w", RP_F32, 0, NULL, &value, &err));
    tensor = rp_run_states(run, &n)[0];
    OK(rp_feeds_new(&feeds, &err));
    for (uint64_t i = 0; i <= MOST; i++) {
        rp_status status;

        memcpy(digest.bytes, &(uint64_t){i * 0x9E3779B97F4A7C15u}, sizeof i);
        status = rp_feeds_keep(feeds, &tensor, &digest, &err);
        if (status != (i < MOST ? RP_OK : RP_EUNSUPPORTED))
            fail_msg("feed %llu: %s", (unsigned long long)i, err.text);
    }
    assert_non_null(strstr(err.text, "more than 1048576 distinct feeds"));
    rp_feeds_free(feeds);
    rp_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_run_is_recorded_gone_on_with_and_replayed),
        cmocka_unit_test(windows_are_subtrees),
        cmocka_unit_test(runs_that_differ_late_are_told_by_the_step),
        cmocka_unit_test(a_journal_that_changes_while_it_is_open_is_noticed),
        cmocka_unit_test(distinct_feeds_are_bounded),
    };

    return cmocka_run_group_tests_name("long runs", tests, NULL, NULL);
}
