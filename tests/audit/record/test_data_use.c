/* SPDX-License-Identifier: Apache-2.0
 * Data that had no part in a run of the C API: they are not in its archive, and an archive that has them all the same
 * does not replay. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "audit/record/recorder.h"
#include "rp/rp.h"
#include "tests/audit/archive/archive_sample.h"

static char folder[] = "/tmp/reprise-test-XXXXXX", path[128], other[128];
static rp_error err;

static int setup(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    (void)snprintf(path, sizeof path, "%s/run.reprise", folder);
    (void)snprintf(other, sizeof other, "%s/other.reprise", folder);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    (void)unlink(path);
    (void)unlink(other);
    return rmdir(folder);
}

/* Two steps whose "loss" is a constant of the program's author, or comes from the table "used". "bound" is not
 * touched at all. */
static void run(const char *to, bool with_table)
{
    const size_t shape[] = {4};
    const float rows[4] = {1, 2, 3, 4};
    rp_run_options options = {.threads = 1};
    rp_recorder *recorder;
    rp_run *made;

    assert_ok(rp_run_new(&made, &options, &err));
    assert_ok(rp_run_add_state(made, "w", RP_F32, 0, NULL, NULL, &err));
    assert_ok(rp_run_add_data(made, "bound", RP_F32, 1, shape, rows, &err));
    assert_ok(rp_run_add_data(made, "used", RP_F32, 1, shape, rows, &err));
    assert_ok(rp_recorder_new(&recorder, made, &err));
    for (int i = 0; i < 2; i++) {
        float falling = 1.0f / (float)(1 + i);
        rp_tensor loss;

        assert_ok(rp_step_begin(made, &err));
        loss = rp_feed(made, "falling", RP_F32, 0, NULL, &falling);
        if (with_table && i == 1)
            loss = rp_mul(loss, rp_sum(rp_data(made, "used"), NULL, 0, false));
        rp_result(made, "loss", rp_add(loss, rp_state(made, "w")));
        assert_ok(rp_step_end(made, &err));
    }
    assert_ok(rp_recorder_save(recorder, to, NULL, true, NULL, &err));
    rp_recorder_free(recorder);
    rp_run_free(made);
}

static void data_without_a_part_in_the_run_are_not_in_its_archive(void **state)
{
    rp_archive *archive;
    rp_buffer body = {0};
    rp_job *job;

    (void)state;
    run(path, false);
    assert_ok(rp_archive_open(&archive, path, &err));
    assert_null(rp_archive_find(archive, "data/tensors.safetensors"));
    assert_ok(rp_replay(archive, NULL, &job, &err));
    rp_job_free(job);
    rp_archive_close(archive);
    run(path, true);
    assert_ok(rp_archive_open(&archive, path, &err));
    assert_ok(rp_archive_read_member(archive, "data/tensors.safetensors", 1 << 20, &body, &err));
    rp_buffer_u8(&body, 0);
    assert_non_null(strstr((char *)body.data + 8, "\"used\""));
    assert_null(strstr((char *)body.data + 8, "\"bound\""));
    assert_ok(rp_replay(archive, NULL, &job, &err));
    rp_job_free(job);
    rp_archive_close(archive);
    rp_buffer_free(&body);
}

/* Every hash of it is right. */
static void an_archive_that_has_them_does_not_replay(void **state)
{
    rp_archive *from, *table, *archive;
    rp_archive_writer *writer;
    rp_buffer bytes = {0};
    rp_job *job;

    (void)state;
    run(path, true);
    assert_ok(rp_archive_open(&table, path, &err));
    run(other, false);
    assert_ok(rp_archive_open(&from, other, &err));
    assert_ok(rp_archive_writer_new(&writer, NULL, &err));
    for (size_t i = 1; i < rp_archive_member_count(from); i++)
        assert_ok(rp_archive_writer_take(writer, from, rp_archive_member(from, i), &err));
    assert_ok(rp_archive_writer_take(writer, table, rp_archive_find(table, "data/tensors.safetensors"), &err));
    assert_ok(rp_archive_writer_finish(writer, RP_RUN_API, rp_archive_manifest(from)->run, &err));
    assert_ok(rp_archive_writer_append(writer, &bytes, &err));
    assert_ok(rp_archive_open_memory(&archive, bytes.data, bytes.size, "forged", &err));
    assert_int_equal(rp_replay(archive, NULL, &job, &err), RP_EFORMAT);
    if (!strstr(err.text, "used: no program takes it in"))
        fail_msg("%s", err.text);
    rp_archive_close(archive);
    rp_archive_close(from);
    rp_archive_close(table);
    rp_archive_writer_free(writer);
    rp_buffer_free(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_without_a_part_in_the_run_are_not_in_its_archive),
        cmocka_unit_test(an_archive_that_has_them_does_not_replay),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
