/* SPDX-License-Identifier: Apache-2.0
 * Whole jobs through the public API: train, verify, replay and predict on a small table; what replay says when a run
 * was forged although its hashes and manifest are consistent. */
#include "tests/audit/table_jobs.h"

#include "base/memory.h"
#include "core/run/run.h"
#include "kernels/kernel.h"

static void one_id_whatever_the_threads_and_level(void **state)
{
    const char *const *levels;
    size_t n = rp_kernel_levels(&levels);
    char first[RP_DIGEST_HEX], id[RP_DIGEST_HEX];
    rp_buffer a = {0}, b = {0};

    (void)state;
    train("a.yaml", "a.reprise", NULL, first);
    assert_int_equal(rp_file_read(in_folder("a.reprise"), 1 << 24, &a, NULL), RP_OK);
    for (size_t i = 0; i < n; i++)
        for (unsigned threads = 1; threads <= 7; threads += threads < 3 ? 1 : 4) {
            train("a.yaml", "b.reprise", &(rp_job_options){.threads = threads, .level = levels[i]}, id);
            assert_string_equal(id, first);
            assert_int_equal(rp_file_read(in_folder("b.reprise"), 1 << 24, &b, NULL), RP_OK);
            assert_int_equal(a.size, b.size);
            assert_memory_equal(a.data, b.data, a.size);
        }
    rp_buffer_free(&a);
    rp_buffer_free(&b);
}

static void replay_needs_the_archive_and_nothing_else(void **state)
{
    rp_error err = {0};
    rp_job *job = NULL;
    rp_archive *archive;

    (void)state;
    train("a.yaml", "alone.reprise", NULL, NULL);
    assert_int_equal(unlink(in_folder("table.csv")), 0);
    assert_int_equal(unlink(in_folder("a.yaml")), 0);
    archive = open_archive("alone.reprise");
    if (rp_replay(archive, &(rp_job_options){.threads = 3, .level = "ref"}, &job, &err) != RP_OK)
        fail_msg("%s", err.text);
    assert_string_equal(job->archive_id, rp_archive_id(archive));
    /* manifest, recipe, programs, journal, data x3, weights x2, outputs x2 */
    assert_true(job->members >= 12);
    rp_job_free(job);
    rp_archive_close(archive);
    write_table("table.csv");
    write_recipe("a.yaml", "", 3);
}

static void the_id_does_not_depend_on_where_the_table_lay(void **state)
{
    char first[RP_DIGEST_HEX], second[RP_DIGEST_HEX], text[256];
    rp_buffer yaml = {0};

    (void)state;
    train("a.yaml", "a.reprise", NULL, first);
    write_table("elsewhere.csv");
    (void)snprintf(text, sizeof text, "csv: %s", in_folder("elsewhere.csv"));
    assert_int_equal(rp_file_read(in_folder("a.yaml"), 4096, &yaml, NULL), RP_OK);
    rp_buffer_u8(&yaml, 0);
    {
        rp_buffer moved = {0};
        const char *at = strstr((char *)yaml.data, "csv: table.csv");

        rp_buffer_append(&moved, yaml.data, (size_t)(at - (char *)yaml.data));
        rp_buffer_text(&moved, text);
        rp_buffer_text(&moved, at + strlen("csv: table.csv"));
        rp_buffer_u8(&moved, 0);
        write_text("moved.yaml", (char *)moved.data);
        rp_buffer_free(&moved);
    }
    rp_buffer_free(&yaml);
    train("moved.yaml", "b.reprise", NULL, second);
    assert_string_equal(first, second);
}

/* Replaces text in one member of a consistent archive; the rest is copied and hashed anew. */
static void forge_text(const char *from, const char *to, const char *member, const char *old, const char *new_text)
{
    rp_archive *archive = open_archive(from);
    rp_archive_writer *writer = NULL;
    rp_file_writer *file = NULL;
    rp_buffer body = {0};

    assert_int_equal(rp_archive_writer_new(&writer, NULL, NULL), RP_OK);
    for (size_t i = 1; i < rp_archive_member_count(archive); i++) {
        const rp_member *m = rp_archive_member(archive, i);
        rp_buffer changed = {0};

        assert_int_equal(rp_archive_read_member(archive, m->name, SIZE_MAX / 2, &body, NULL), RP_OK);
        if (strcmp(m->name, member) == 0) {
            const char *at;

            rp_buffer_u8(&body, 0);
            at = strstr((char *)body.data, old);
            assert_non_null(at);
            rp_buffer_append(&changed, body.data, (size_t)(at - (char *)body.data));
            rp_buffer_text(&changed, new_text);
            rp_buffer_text(&changed, at + strlen(old));
        } else {
            rp_buffer_append(&changed, body.data, body.size);
        }
        assert_int_equal(rp_archive_writer_add(writer, m->name, changed.data, changed.size, NULL), RP_OK);
        rp_buffer_free(&changed);
    }
    assert_int_equal(
        rp_archive_writer_finish(writer, rp_archive_manifest(archive)->kind, rp_archive_manifest(archive)->run, NULL),
        RP_OK);
    assert_int_equal(rp_file_create(&file, in_folder(to), true, 0644, NULL), RP_OK);
    assert_int_equal(rp_archive_writer_save(writer, file, NULL), RP_OK);
    assert_int_equal(rp_file_commit(file, NULL), RP_OK);
    rp_buffer_free(&body);
    rp_archive_writer_free(writer);
    rp_archive_close(archive);
}

static void expect_replay(const char *name, rp_status expected, const char *says)
{
    rp_archive *archive = open_archive(name);
    rp_error err = {0};
    rp_job *job = NULL;
    rp_status status = rp_replay(archive, NULL, &job, &err);

    if (status != expected || !strstr(err.text, says))
        fail_msg("found %s \"%s\", expected %s \"%s\"", rp_status_name(status), err.text, rp_status_name(expected),
                 says);
    assert_null(job);
    rp_archive_close(archive);
}

static void replay_finds_a_forged_journal_and_names_the_step(void **state)
{
    (void)state;
    train("a.yaml", "a.reprise", NULL, NULL);
    forge("a.reprise", "forged.reprise", "run/journal.bin", 5 * RP_RECORD_SIZE + 80, 1);
    expect_replay("forged.reprise", RP_EBITS, "step 5: digest of the state");
    forge("a.reprise", "forged.reprise", "run/journal.bin", 2 * RP_RECORD_SIZE + 112, 4);
    expect_replay("forged.reprise", RP_EBITS, "step 2: loss");
    forge("a.reprise", "forged.reprise", "run/journal.bin", 3 * RP_RECORD_SIZE + 16, 4);
    expect_replay("forged.reprise", RP_EBITS, "step 3: digest of the feeds");
    forge("a.reprise", "forged.reprise", "run/journal.bin", 8, 1);
    expect_replay("forged.reprise", RP_EBITS, "step 0: program");
}

static void replay_finds_forged_members_and_names_them(void **state)
{
    (void)state;
    train("a.yaml", "a.reprise", NULL, NULL);
    forge("a.reprise", "forged.reprise", "weights/final.safetensors", SIZE_MAX, 1);
    expect_replay("forged.reprise", RP_EBITS, "weights/final.safetensors");
    forge("a.reprise", "forged.reprise", "weights/init.safetensors", SIZE_MAX, 1);
    expect_replay("forged.reprise", RP_EBITS, "weights/init.safetensors");
    forge("a.reprise", "forged.reprise", "outputs/metrics.json", 60, 1);
    expect_replay("forged.reprise", RP_EBITS, "outputs/metrics.json");
    forge("a.reprise", "forged.reprise", "outputs/predictions.csv", SIZE_MAX, 1);
    expect_replay("forged.reprise", RP_EBITS, "outputs/predictions.csv");
    forge("a.reprise", "forged.reprise", "run/programs/0001.json", 40, 1);
    expect_replay("forged.reprise", RP_EBITS, "run/programs/0001.json");
    forge("a.reprise", "forged.reprise", "data/prepared.json", 20, 1);
    expect_replay("forged.reprise", RP_EBITS, "data/prepared.json");
}

static void replay_refuses_a_claimed_origin_of_the_table(void **state)
{
    (void)state;
    train("a.yaml", "a.reprise", NULL, NULL);
    forge_text("a.reprise", "forged.reprise", "run/recipe.json", "data/raw.csv", "/bank/audited.csv");
    expect_replay("forged.reprise", RP_EFORMAT, "run/recipe.json: data.csv: expected data/raw.csv");
}

static void a_run_of_no_steps_is_not_replayed(void **state)
{
    rp_archive_writer *writer = NULL;
    rp_file_writer *file = NULL;
    rp_json *run = rp_json_pack("{s:i}", "steps", 0);

    (void)state;
    assert_int_equal(rp_archive_writer_new(&writer, NULL, NULL), RP_OK);
    assert_int_equal(rp_archive_writer_add(writer, "run/journal.bin", "", 0, NULL), RP_OK);
    assert_int_equal(rp_archive_writer_finish(writer, RP_RUN_API, run, NULL), RP_OK);
    assert_int_equal(rp_file_create(&file, in_folder("empty.reprise"), true, 0644, NULL), RP_OK);
    assert_int_equal(rp_archive_writer_save(writer, file, NULL), RP_OK);
    assert_int_equal(rp_file_commit(file, NULL), RP_OK);
    rp_archive_writer_free(writer);
    rp_json_free(run);
    expect_replay("empty.reprise", RP_EFORMAT, "run/journal.bin: no step is recorded");
}

/* Every step is another program with memory of its own; replay holds only some of them at once. A bool byte of 2 is
 * true in the run as in the archive. */
static void runs_of_many_programs_and_odd_bools_replay(void **state)
{
    rp_run *run = NULL;
    rp_recorder *recorder = NULL;
    rp_error err = {0};
    rp_job *job = NULL;
    rp_archive *archive;
    static float x[80];

    (void)state;
    for (int i = 0; i < 80; i++)
        x[i] = (float)i;
    assert_int_equal(rp_run_new(&run, NULL, &err), RP_OK);
    assert_int_equal(rp_run_add_state(run, "s", RP_F32, 0, NULL, NULL, &err), RP_OK);
    assert_int_equal(rp_run_add_state(run, "__metadata__", RP_F32, 0, NULL, NULL, &err), RP_EARG);
    assert_int_equal(rp_recorder_new(&recorder, run, &err), RP_OK);
    assert_int_equal(rp_run_add_state(run, "late", RP_F32, 0, NULL, NULL, &err), RP_EARG);
    for (size_t n = 1; n <= 40; n++) {
        const unsigned char odd[3] = {0, 1, 2};
        rp_tensor total, flags;

        assert_int_equal(rp_step_begin(run, &err), RP_OK);
        total = rp_sum(rp_feed(run, "x", RP_F32, 1, (size_t[]){2 * n}, x), NULL, 0, false);
        flags = rp_feed(run, "flags", RP_BOOL, 1, (size_t[]){3}, odd);
        rp_result(run, "not", rp_logical_not(flags));
        rp_result(run, "flags", flags);
        rp_set_state(run, "s", rp_add(rp_state(run, "s"), total));
        assert_int_equal(rp_step_end(run, &err), RP_OK);
    }
    if (rp_recorder_save(recorder, in_folder("many.reprise"), NULL, true, NULL, &err) != RP_OK)
        fail_msg("%s", err.text);
    rp_recorder_free(recorder);
    rp_run_free(run);
    archive = open_archive("many.reprise");
    if (rp_replay(archive, NULL, &job, &err) != RP_OK)
        fail_msg("%s", err.text);
    assert_int_equal(job->steps, 40);
    assert_string_equal(rp_archive_kind(archive), "api");
    rp_job_free(job);
    rp_archive_close(archive);
}

static rp_status refuse_second_step(void *self, const rp_step_event *event, rp_error *err)
{
    (void)self;
    return event->step == 1 ? rp_fail(err, RP_EIO, "no room for the record") : RP_OK;
}

static void a_run_whose_observer_failed_is_given_up(void **state)
{
    rp_run *run = NULL;
    rp_error err = {0};
    const float one = 1;

    (void)state;
    assert_int_equal(rp_run_new(&run, NULL, &err), RP_OK);
    assert_int_equal(rp_run_observe(run, (rp_observer){refuse_second_step, run}, &err), RP_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rp_step_begin(run, &err), RP_OK);
        rp_result(run, "y", rp_neg(rp_feed(run, "x", RP_F32, 0, NULL, &one)));
        assert_int_equal(rp_step_end(run, &err), i == 0 ? RP_OK : RP_EIO);
    }
    assert_int_equal(rp_step_begin(run, &err), RP_EARG);
    assert_non_null(strstr(err.text, "given up"));
    rp_run_free(run);
}

static void replay_notices_changed_raw_data(void **state)
{
    (void)state;
    train("a.yaml", "a.reprise", NULL, NULL);
    /* row 1's x, "-0.0": another number */
    forge("a.reprise", "forged.reprise", "data/raw.csv", 12, 2);
    expect_replay("forged.reprise", RP_EBITS, "");
}

/* The validation rows, scored again from the raw CSV, get the very probabilities that the run recorded. */
static void predict_repeats_the_recorded_predictions(void **state)
{
    rp_error err = {0};
    rp_archive *archive;
    rp_buffer raw = {0}, recorded = {0};
    char *text = NULL, *line, *save = NULL;
    size_t length, compared = 0;

    (void)state;
    train("a.yaml", "a.reprise", NULL, NULL);
    archive = open_archive("a.reprise");
    assert_int_equal(rp_archive_read_member(archive, "data/raw.csv", 1 << 20, &raw, NULL), RP_OK);
    assert_int_equal(rp_archive_read_member(archive, "outputs/predictions.csv", 1 << 20, &recorded, NULL), RP_OK);
    if (rp_predict(archive, raw.data, raw.size, "raw.csv", NULL, &text, &length, &err) != RP_OK)
        fail_msg("%s", err.text);
    rp_buffer_u8(&recorded, 0);
    assert_memory_equal(text, "row,predicted,p_yes\n", 20);
    for (line = strtok_r((char *)recorded.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        char row[16], truth[16], rest[64], wanted[128];
        char *whole;

        if (sscanf(line, "%15[0-9],%15[a-z],%63s", row, truth, rest) != 3)
            continue;
        (void)snprintf(wanted, sizeof wanted, "\n%s,%s\n", row, rest);
        whole = rp_strndup(text, length);
        assert_non_null(strstr(whole, wanted));
        rp_free(whole);
        compared++;
    }
    assert_int_equal(compared, 15);
    rp_text_free(text);
    rp_buffer_free(&raw);
    rp_buffer_free(&recorded);
    rp_archive_close(archive);
}

static bool stop_at_three(void *self, const rp_progress *progress)
{
    (void)self;
    return progress->step < 3;
}

static void a_canceled_run_leaves_nothing(void **state)
{
    rp_error err = {0};
    rp_job *job = NULL;

    (void)state;
    assert_int_equal(rp_train_recipe(in_folder("a.yaml"), in_folder("canceled.reprise"), NULL, false,
                                     &(rp_job_options){.progress = stop_at_three}, &job, &err),
                     RP_ECANCELED);
    assert_null(job);
    assert_false(rp_file_exists(in_folder("canceled.reprise")));
}

static void an_existing_output_is_kept_without_force(void **state)
{
    rp_error err = {0};
    rp_job *job = NULL;
    rp_buffer kept = {0};

    (void)state;
    write_text("precious.reprise", "precious");
    assert_int_equal(rp_train_recipe(in_folder("a.yaml"), in_folder("precious.reprise"), NULL, false, NULL, &job, &err),
                     RP_EEXIST);
    assert_int_equal(rp_file_read(in_folder("precious.reprise"), 100, &kept, NULL), RP_OK);
    assert_int_equal(kept.size, 8);
    rp_buffer_free(&kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_id_whatever_the_threads_and_level),
        cmocka_unit_test(the_id_does_not_depend_on_where_the_table_lay),
        cmocka_unit_test(replay_needs_the_archive_and_nothing_else),
        cmocka_unit_test(replay_finds_a_forged_journal_and_names_the_step),
        cmocka_unit_test(replay_finds_forged_members_and_names_them),
        cmocka_unit_test(replay_refuses_a_claimed_origin_of_the_table),
        cmocka_unit_test(a_run_of_no_steps_is_not_replayed),
        cmocka_unit_test(runs_of_many_programs_and_odd_bools_replay),
        cmocka_unit_test(a_run_whose_observer_failed_is_given_up),
        cmocka_unit_test(replay_notices_changed_raw_data),
        cmocka_unit_test(predict_repeats_the_recorded_predictions),
        cmocka_unit_test(a_canceled_run_leaves_nothing),
        cmocka_unit_test(an_existing_output_is_kept_without_force),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
