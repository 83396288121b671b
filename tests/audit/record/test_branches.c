/* SPDX-License-Identifier: Apache-2.0
 * A run of the eager API whose branch depends on the data: its archive holds both programs and replays; an archive that
 * claims the other branch, or other inputs, is refused although its hashes and manifest are consistent. */
#include "tests/audit/record/small_job.h"

#include "audit/archive/archive.h"
#include "audit/archive/journal.h"
#include "base/file.h"

static rp_archive *open_archive(const char *path)
{
    rp_archive *archive = NULL;
    rp_error err = {0};

    if (rp_archive_open(&archive, path, &err) != RP_OK)
        fail_msg("%s", err.text);
    return archive;
}

/* job_out becomes the eager archive with one byte of one member changed, hashes and manifest made to fit. */
static void forge(const char *member, size_t at, unsigned char flip)
{
    rp_archive *archive = open_archive(job_api);
    rp_archive_writer *writer = NULL;
    rp_file_writer *file = NULL;
    rp_buffer body = {0};

    assert_int_equal(rp_archive_writer_new(&writer, NULL, NULL), RP_OK);
    for (size_t i = 1; i < rp_archive_member_count(archive); i++) {
        const rp_member *m = rp_archive_member(archive, i);

        if (strncmp(m->name, "signatures/", 11) == 0)
            continue;
        assert_int_equal(rp_archive_read_member(archive, m->name, SIZE_MAX / 2, &body, NULL), RP_OK);
        if (strcmp(m->name, member) == 0)
            body.data[at < body.size ? at : body.size - 1] ^= flip;
        assert_int_equal(rp_archive_writer_add(writer, m->name, body.data, body.size, NULL), RP_OK);
    }
    assert_int_equal(
        rp_archive_writer_finish(writer, rp_archive_manifest(archive)->kind, rp_archive_manifest(archive)->run, NULL),
        RP_OK);
    assert_int_equal(rp_file_create(&file, job_out, true, 0644, NULL), RP_OK);
    assert_int_equal(rp_archive_writer_save(writer, file, NULL), RP_OK);
    assert_int_equal(rp_file_commit(file, NULL), RP_OK);
    rp_buffer_free(&body);
    rp_archive_writer_free(writer);
    rp_archive_close(archive);
}

static void expect_refused(rp_status expected, const char *says)
{
    rp_error err = {0};
    rp_status status = job_replay_of(job_out, &err);

    if (status != expected || !strstr(err.text, says))
        fail_msg("found %s \"%s\", expected %s \"%s\"", rp_status_name(status), err.text, rp_status_name(expected),
                 says);
    assert_int_equal(unlink(job_out), 0);
}

static void both_branches_are_programs_of_the_archive_and_replay(void **state)
{
    rp_archive *archive = open_archive(job_api);
    rp_error err = {0};

    (void)state;
    assert_non_null(rp_archive_find(archive, "run/programs/0000.json"));
    assert_non_null(rp_archive_find(archive, "run/programs/0001.json"));
    assert_null(rp_archive_find(archive, "run/programs/0002.json"));
    rp_archive_close(archive);
    for (job_options.threads = 1; job_options.threads <= 3; job_options.threads++)
        if (job_replay_of(job_api, &err) != RP_OK)
            fail_msg("%s", err.text);
    job_options.threads = 1;
}

static void the_other_branch_is_refused_at_its_step(void **state)
{
    (void)state;
    for (size_t step = 0; step < 2; step++) {
        char says[32];

        (void)snprintf(says, sizeof says, "step %zu: ", step);
        forge("run/journal.bin", step * RP_RECORD_SIZE + 8, 1);
        expect_refused(RP_EBITS, says);
    }
}

static void another_input_is_refused(void **state)
{
    (void)state;
    forge("data/feeds.safetensors", SIZE_MAX, 1);
    expect_refused(RP_EBITS, "");
}

static void another_initial_state_is_refused(void **state)
{
    (void)state;
    forge("weights/init.safetensors", SIZE_MAX, 1);
    expect_refused(RP_EBITS, "");
}

static void a_loss_that_was_not_computed_is_refused(void **state)
{
    (void)state;
    forge("run/journal.bin", RP_RECORD_SIZE + 112, 1);
    expect_refused(RP_EBITS, "step 1: loss");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_branches_are_programs_of_the_archive_and_replay),
        cmocka_unit_test(the_other_branch_is_refused_at_its_step),
        cmocka_unit_test(another_input_is_refused),
        cmocka_unit_test(another_initial_state_is_refused),
        cmocka_unit_test(a_loss_that_was_not_computed_is_refused),
    };

    return cmocka_run_group_tests(tests, job_setup, job_teardown);
}
