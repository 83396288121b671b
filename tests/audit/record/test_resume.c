/* SPDX-License-Identifier: Apache-2.0
 * Runs that stop and go on: after any step, from points torn or rotten in any place, with another recipe or other data,
 * and with the archive already under its name. Whatever happens, the archive is the one of a run that was never
 * stopped, or there is none. Kills are tests/cli/kill_resume.sh, failing calls test_io_failures.c. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "audit/archive/archive.h"
#include "audit/record/resume.h"
#include "base/file.h"
#include "rp/rp.h"

static rp_error err;
static char folder[] = "/dev/shm/rp-resume-XXXXXX"; /* in memory where that can be had: fsync is no concern here */
static rp_buffer right;                             /* the archive of a run that was never stopped */

#define OK(call) need((call), #call)

static void need(rp_status status, const char *what)
{
    if (status != RP_OK)
        fail_msg("%s: %s", what, err.text);
}

static char *path_of(const char *name)
{
    static char path[8][96];
    static int next;

    next = (next + 1) % 8;
    (void)snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
    return path[next];
}

static void put_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void remove_all(const char *what)
{
    char command[200];

    (void)snprintf(command, sizeof command, "rm -rf %s%s", folder, what);
    assert_int_equal(system(command), 0);
}

/* 24 training and 8 validation rows in batches of 7: 1 + 2 * 4 + 2 = 11 steps. */
enum { STEPS = 11 };

static void write_recipe(const char *name, int seed, const char *csv)
{
    char text[400];

    (void)snprintf(text, sizeof text,
                   "reprise: 1\nseed: %d\ndata: {csv: %s, target: y, folds: 4}\nmodel: {hidden: [6], dropout: 0.25}\n"
                   "train: {epochs: 2, batch: 7}\nrecord: {checkpoint_every: 2}\n",
                   seed, csv);
    put_file(path_of(name), text);
}

static bool stop_at(void *self, const rp_progress *progress)
{
    return progress->step != *(const uint64_t *)self;
}

/* Stops after `stop` steps (0: never); a point at every chance, or only when stopped. */
static rp_status train(const char *recipe, uint64_t stop, bool resume, bool force, bool often, rp_job *what)
{
    rp_job_options options = {
        .threads = 1, .progress = stop_at, .self = &stop, .save_every = often ? 1e-9 : 1e6, .resume = resume};
    rp_job *job;
    rp_status status = rp_train_recipe(path_of(recipe), path_of("out.reprise"), NULL, force, &options, &job, &err);

    if (what && job) {
        *what = *job;
        what->metrics = NULL;
    }
    rp_job_free(job);
    return status;
}

static bool exists(const char *name)
{
    return access(path_of(name), F_OK) == 0;
}

static void clean(void)
{
    remove_all("/out.reprise*");
}

static void archive_is_right(void)
{
    rp_buffer found = {0};

    OK(rp_file_read(path_of("out.reprise"), 1 << 24, &found, &err));
    assert_int_equal(found.size, right.size);
    assert_memory_equal(found.data, right.data, right.size);
    rp_buffer_free(&found);
    assert_false(exists("out.reprise.resume"));
    clean();
}

static void stopped_after_any_step_it_goes_on_to_the_same_bytes(void **state)
{
    (void)state;
    for (int often = 0; often <= 1; often++)
        for (uint64_t stop = 1; stop < STEPS; stop++) {
            rp_job job;

            assert_int_equal(train("recipe.yaml", stop, false, false, often, NULL), RP_ECANCELED);
            assert_non_null(strstr(err.text, "--resume"));
            assert_false(exists("out.reprise"));
            OK(train("recipe.yaml", 0, true, false, often, &job));
            assert_int_equal(job.resumed_at, stop);
            assert_int_equal(job.resumes, 1);
            assert_string_equal(job.save_note, "");
            archive_is_right();
        }
}

static void stopped_after_every_step_it_goes_on_ten_times(void **state)
{
    rp_job job;

    (void)state;
    for (uint64_t stop = 1; stop < STEPS; stop++)
        assert_int_equal(train("recipe.yaml", stop, true, false, false, NULL), RP_ECANCELED);
    OK(train("recipe.yaml", 0, true, false, false, &job));
    assert_int_equal(job.resumes, STEPS - 1);
    archive_is_right();
}

static void points_change_no_byte_and_are_gone_in_the_end(void **state)
{
    rp_job job;

    (void)state;
    OK(train("recipe.yaml", 0, false, false, true, &job));
    assert_int_equal(job.saved_points, STEPS - 1);
    archive_is_right();
    OK(train("recipe.yaml", 0, true, false, false, &job)); /* nothing to resume from: from the start */
    assert_int_equal(job.resumes, 0);
    archive_is_right();
}

static void without_an_interval_nothing_is_left(void **state)
{
    uint64_t stop = 5;
    rp_job_options options = {.progress = stop_at, .self = &stop};
    rp_job *job;

    (void)state;
    assert_int_equal(rp_train_recipe(path_of("recipe.yaml"), path_of("out.reprise"), NULL, false, &options, &job, &err),
                     RP_ECANCELED);
    assert_null(job);
    assert_false(exists("out.reprise.resume"));
}

static void what_an_interrupted_run_left_is_not_passed_over(void **state)
{
    (void)state;
    assert_int_equal(train("recipe.yaml", 5, false, false, false, NULL), RP_ECANCELED);
    assert_int_equal(train("recipe.yaml", 0, false, false, false, NULL), RP_EEXIST);
    assert_non_null(strstr(err.text, "after step 5: add --resume to go on with it, or --force"));
    assert_true(exists("out.reprise.resume"));
    {
        rp_job job;

        OK(train("recipe.yaml", 0, false, true, false, &job));
        assert_int_equal(job.resumes, 0);
    }
    archive_is_right();
}

static void points_of_another_recipe_or_other_data_are_refused(void **state)
{
    (void)state;
    assert_int_equal(train("recipe.yaml", 5, false, false, false, NULL), RP_ECANCELED);
    assert_int_equal(train("seed.yaml", 0, true, false, false, NULL), RP_EARG);
    assert_non_null(strstr(err.text, "another recipe"));
    assert_int_equal(train("data.yaml", 0, true, false, false, NULL), RP_EARG);
    assert_non_null(strstr(err.text, "other data"));
    OK(train("moved.yaml", 0, true, false, false, NULL)); /* the same bytes under another name */
    archive_is_right();
}

static void put_bytes(const char *name, const unsigned char *bytes, size_t size)
{
    FILE *file = fopen(path_of(name), "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void a_damaged_point_is_passed_over_for_the_one_before(void **state)
{
    rp_buffer point = {0};
    rp_job job;

    (void)state;
    clean();
    assert_int_equal(train("recipe.yaml", 5, false, false, true, NULL), RP_ECANCELED);
    OK(rp_file_read(path_of("out.reprise.resume/point-000000000005"), 1 << 24, &point, &err));
    clean();
    for (size_t at = 0; at < point.size; at += at < 600 ? 37 : point.size / 23) {
        assert_int_equal(train("recipe.yaml", 5, false, false, true, NULL), RP_ECANCELED);
        if (at % 2) { /* another byte */
            point.data[at] ^= 0x10;
            put_bytes("out.reprise.resume/point-000000000005", point.data, point.size);
            point.data[at] ^= 0x10;
        } else { /* cut here */
            put_bytes("out.reprise.resume/point-000000000005", point.data, at);
        }
        OK(train("recipe.yaml", 0, true, false, false, &job));
        assert_int_equal(job.resumed_at, 4);
        assert_non_null(strstr(job.save_note, "point-000000000005: damaged"));
        archive_is_right();
    }
    rp_buffer_append(&point, "x", 1);
    assert_int_equal(train("recipe.yaml", 5, false, false, true, NULL), RP_ECANCELED);
    put_bytes("out.reprise.resume/point-000000000005", point.data, point.size);
    OK(train("recipe.yaml", 0, true, false, false, &job));
    assert_int_equal(job.resumed_at, 4);
    archive_is_right();
    rp_buffer_free(&point);
}

static void change_hex(rp_buffer *file, size_t end, const rp_digest *from, const rp_digest *to)
{
    char hex[RP_DIGEST_HEX];
    unsigned char *at = NULL;

    rp_digest_hex(hex, from);
    for (size_t i = 48; i + 64 <= end && !at; i++)
        at = memcmp(file->data + i, hex, 64) == 0 ? file->data + i : NULL;
    assert_non_null(at);
    rp_digest_hex(hex, to);
    memcpy(at, hex, 64);
}

/* With all digests of the file right, as somebody would make it who wants other states. */
static void forge_states(const char *name)
{
    rp_buffer file = {0};
    rp_digest was, is;
    uint64_t size;
    size_t at;
    rp_json *header;

    OK(rp_file_read(path_of(name), 1 << 24, &file, &err));
    OK(rp_json_parse(&header, file.data + 48, (size_t)rp_load_u64(file.data + 8), true, "header", &err));
    size = (uint64_t)rp_json_integer_value(rp_json_object_get(rp_json_object_get(header, "states"), "size"));
    at = file.size - (size_t)size;
    OK(rp_sha256(&was, file.data + at, (size_t)size, &err));
    file.data[file.size - 1] ^= 1;
    OK(rp_sha256(&is, file.data + at, (size_t)size, &err));
    change_hex(&file, at, &was, &is);
    OK(rp_sha256(&is, file.data + 48, (size_t)rp_load_u64(file.data + 8), &err));
    memcpy(file.data + 16, is.bytes, sizeof is.bytes);
    OK(rp_file_save(path_of(name), file.data, file.size, true, 0600, &err));
    rp_buffer_free(&file);
    rp_json_free(header);
}

/* What follows from a point is signed, so nobody else may have made it. */
static void points_that_another_may_have_made_are_refused(void **state)
{
    (void)state;
    clean();
    assert_int_equal(train("recipe.yaml", 5, false, false, true, NULL), RP_ECANCELED);
    for (int k = 0; k < 2; k++) {
        assert_int_equal(chmod(path_of("out.reprise.resume"), k ? 0720 : 0702), 0);
        assert_int_equal(train("recipe.yaml", 0, true, false, false, NULL), RP_EIO);
        assert_non_null(strstr(err.text, "others may write there"));
    }
    assert_int_equal(chmod(path_of("out.reprise.resume"), 0700), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(path_of("out.reprise.resume"), 65534, 65534), 0);
        assert_int_equal(train("recipe.yaml", 0, true, false, false, NULL), RP_EIO);
        assert_non_null(strstr(err.text, "belongs to another user"));
        assert_int_equal(chown(path_of("out.reprise.resume"), 0, 0), 0);
    }
    forge_states("out.reprise.resume/point-000000000005");
    assert_int_equal(train("recipe.yaml", 0, true, false, false, NULL), RP_EHASH);
    assert_non_null(strstr(err.text, "are not those of its journal's last record"));
    assert_false(exists("out.reprise"));
    clean();
}

/* As many as a run may have checkpoints, and more than an archive may hold members. */
static void a_point_of_very_many_members_is_read_again_or_not_written(void **state)
{
    enum { MANY = 50001, TOO_MANY = RP_MEMBER_LIMIT + 1 };
    static rp_growing records;
    static const unsigned char zeros[2 * 128];
    static const rp_resume_identity identity = {.recipe = {{1}}, .data = {{2}}};
    const float one = 1;
    rp_run *run;
    rp_bytes program = {"{}", 2};
    rp_resume_point point = {.step = 2, .program = &program, .programs = 1};
    rp_resume_point again;

    (void)state;
    OK(rp_growing_append(&records, zeros, sizeof zeros, &err));
    point.journal = rp_growing_source(&records);
    OK(rp_run_new(&run, NULL, &err));
    OK(rp_run_add_state(run, "w", RP_F32, 0, NULL, &one, &err));
    point.state = rp_run_states(run, &point.n_states);
    point.member = calloc(TOO_MANY, sizeof *point.member);
    assert_non_null(point.member);
    for (size_t i = 0; i < TOO_MANY; i++) {
        (void)snprintf(point.member[i].name, sizeof point.member[i].name, "checkpoints/%012zu.safetensors", i + 1);
        memset(point.member[i].digest.bytes, (int)(i % 251), RP_DIGEST_SIZE);
        point.member[i].size = i;
    }
    point.members = MANY;
    OK(rp_resume_point_write(&point, &identity, path_of("many"), &err));
    OK(rp_resume_point_read(&again, &identity, path_of("many"), &err));
    assert_int_equal(again.members, MANY);
    assert_memory_equal(again.member, point.member, MANY * sizeof *point.member);
    rp_resume_point_free(&again);
    point.members = TOO_MANY;
    assert_int_equal(rp_resume_point_write(&point, &identity, path_of("too-many"), &err), RP_EUNSUPPORTED);
    assert_non_null(strstr(err.text, "could not be read again"));
    assert_false(exists("too-many"));
    free(point.member);
    rp_growing_free(&records);
    rp_run_free(run);
    remove_all("/many");
}

/* The spool holds the first weights and the checkpoints after 2 and 4 steps: what lies behind step 4 is of no use to a
 * point, what lies before it no point can do without. */
static void a_damaged_spool_is_seen(void **state)
{
    rp_buffer spool = {0};
    unsigned char *more;

    (void)state;
    assert_int_equal(train("recipe.yaml", 5, false, false, true, NULL), RP_ECANCELED);
    OK(rp_file_read(path_of("out.reprise.resume/spool"), 1 << 24, &spool, &err));
    more = calloc(1, spool.size + 100);
    assert_non_null(more);
    memcpy(more, spool.data, spool.size);
    put_bytes("out.reprise.resume/spool", more, spool.size + 100);
    OK(train("recipe.yaml", 0, true, false, false, NULL));
    archive_is_right();
    for (int how = 0; how < 3; how++) {
        assert_int_equal(train("recipe.yaml", 5, false, false, true, NULL), RP_ECANCELED);
        spool.data[spool.size / 2] ^= 1;
        if (how < 2)
            put_bytes("out.reprise.resume/spool", spool.data, how == 0 ? spool.size : spool.size - 1);
        else
            assert_int_equal(unlink(path_of("out.reprise.resume/spool")), 0);
        spool.data[spool.size / 2] ^= 1;
        assert_int_equal(train("recipe.yaml", 0, true, false, false, NULL), RP_EHASH);
        assert_non_null(strstr(err.text, "no resume point is whole"));
        assert_false(exists("out.reprise"));
        assert_true(exists("out.reprise.resume"));
        OK(train("recipe.yaml", 0, false, true, false, NULL));
        archive_is_right();
    }
    free(more);
    rp_buffer_free(&spool);
}

/* What a kill leaves between the archive's taking its name and the end of the points. */
static void an_archive_that_has_its_name_already_is_found_to_be_this_one(void **state)
{
    (void)state;
    assert_int_equal(train("recipe.yaml", 5, false, false, false, NULL), RP_ECANCELED);
    put_bytes("out.reprise", right.data, right.size);
    assert_int_equal(train("recipe.yaml", 0, false, false, false, NULL), RP_EEXIST);
    OK(train("recipe.yaml", 0, true, false, false, NULL));
    archive_is_right();
    /* and another file is not replaced; the points stay */
    assert_int_equal(train("recipe.yaml", 5, false, false, false, NULL), RP_ECANCELED);
    put_file(path_of("out.reprise"), "mine");
    assert_int_equal(train("recipe.yaml", 0, true, false, false, NULL), RP_EEXIST);
    assert_true(exists("out.reprise.resume"));
    OK(train("recipe.yaml", 0, true, true, false, NULL));
    archive_is_right();
}

/* The id of an archive does not depend on who signed it: what is there is not taken for what should have been saved. */
static void an_archive_of_the_same_id_that_is_signed_otherwise_is_not_this_one(void **state)
{
    uint64_t stop = 5;
    rp_job_options options = {.threads = 1, .progress = stop_at, .self = &stop, .save_every = 1e6};
    rp_key *key[2];
    rp_job *job;

    (void)state;
    OK(rp_key_generate(&key[0], &err));
    OK(rp_key_generate(&key[1], &err));
    assert_int_equal(train("recipe.yaml", 5, false, false, false, NULL), RP_ECANCELED);
    put_bytes("out.reprise", right.data, right.size);
    stop = 0;
    options.resume = true;
    for (int i = 0; i < 4;
         i++) { /* unsigned, but a key is given; signed by it; by another; signed, and no key is given */
        const bool found = i == 1;
        const rp_status expected = found ? RP_OK : RP_EEXIST;

        if (i == 1) {
            OK(rp_train_recipe(path_of("recipe.yaml"), path_of("out.reprise"), key[0], true, &options, &job, &err));
            rp_job_free(job);
        }
        if (i > 0) {
            rp_buffer signed_one = {0};

            OK(rp_file_read(path_of("out.reprise"), 1 << 24, &signed_one, &err));
            clean();
            stop = 5;
            assert_int_equal(train("recipe.yaml", 5, false, false, false, NULL), RP_ECANCELED);
            stop = 0;
            put_bytes("out.reprise", signed_one.data, signed_one.size);
            rp_buffer_free(&signed_one);
        }
        assert_int_equal(rp_train_recipe(path_of("recipe.yaml"), path_of("out.reprise"), i == 3 ? NULL : key[i == 2],
                                         false, &options, &job, &err),
                         expected);
        rp_job_free(job);
        if (!found)
            assert_non_null(strstr(err.text, i == 3 ? "it is signed" : "not by this key"));
        assert_int_equal(exists("out.reprise.resume"), !found);
    }
    clean();
    rp_key_free(key[0]);
    rp_key_free(key[1]);
}

/* A folder without a point, or with half of one, is nobody's run. */
static void what_was_never_a_point_is_nothing(void **state)
{
    (void)state;
    assert_int_equal(mkdir(path_of("out.reprise.resume"), 0700), 0);
    put_file(path_of("out.reprise.resume/spool"), "rest");
    put_file(path_of("out.reprise.resume/point-000000000003.tmp-abcdef"), "rest");
    OK(train("recipe.yaml", 0, false, false, true, NULL));
    archive_is_right();
}

static void one_process_at_a_time(void **state)
{
    int status = 0;
    pid_t other;

    (void)state;
    assert_int_equal(train("recipe.yaml", 5, false, false, false, NULL), RP_ECANCELED);
    other = fork();
    assert_int_not_equal(other, -1);
    if (other ==
        0) { /* holds the folder as a run does, until it is killed; a group, for flock has a child that waits */
        (void)setpgid(0, 0);
        (void)execlp("flock", "flock", path_of("out.reprise.resume"), "-c", "exec sleep 30", (char *)NULL);
        _exit(127);
    }
    (void)nanosleep(&(struct timespec){0, 300000000}, NULL);
    if (train("recipe.yaml", 0, true, false, false, NULL) != RP_EIO || !strstr(err.text, "another process")) {
        (void)waitpid(other, &status, WNOHANG);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
            print_message("skipped: there is no flock(1)\n");
        else
            fail_msg("%s", err.text);
    }
    (void)kill(-other, SIGKILL);
    (void)waitpid(other, &status, 0);
    clean();
}

/* The signature says how often; the archive does not. */
static void provenance_tells_of_the_interruption(void **state)
{
    uint64_t stop = 4;
    rp_job_options options = {.progress = stop_at, .self = &stop, .save_every = 1e6};
    rp_archive *archive;
    rp_buffer text = {0};
    rp_key *key;
    rp_job *job;

    (void)state;
    OK(rp_key_generate(&key, &err));
    assert_int_equal(rp_train_recipe(path_of("recipe.yaml"), path_of("out.reprise"), key, false, &options, &job, &err),
                     RP_ECANCELED);
    stop = 0;
    options.resume = true;
    OK(rp_train_recipe(path_of("recipe.yaml"), path_of("out.reprise"), key, false, &options, &job, &err));
    rp_job_free(job);
    OK(rp_archive_open(&archive, path_of("out.reprise"), &err));
    OK(rp_archive_read_member(archive, "signatures/run.dsse.json", 1 << 20, &text, &err));
    rp_archive_close(archive);
    {
        const char *payload = strstr((const char *)text.data, "\"payload\":\"");
        char command[200];

        assert_non_null(payload);
        put_bytes("envelope.json", text.data, text.size);
        (void)snprintf(command, sizeof command,
                       "sed 's/.*\"payload\":\"//; s/\".*//' %s/envelope.json | base64 -d | grep -q '\"resumes\":1'",
                       folder);
        assert_int_equal(system(command), 0);
    }
    rp_buffer_free(&text);
    rp_key_free(key);
    clean();
}

static int setup(void **state)
{
    char rows[2048] = "x,colour,y\n", other[2200];
    rp_job *job;

    (void)state;
    if (!mkdtemp(folder)) {
        strcpy(folder, "/tmp/rp-resume-XXXXXX");
        if (!mkdtemp(folder))
            return -1;
    }
    for (int i = 0; i < 32; i++)
        (void)snprintf(rows + strlen(rows), 32, "%d.5,%s,%s\n", i * 7 % 11, i % 3 ? "red" : "blue",
                       i * 7 % 11 > 4 ? "yes" : "no");
    put_file(path_of("table.csv"), rows);
    put_file(path_of("copy.csv"), rows);
    (void)snprintf(other, sizeof other, "%s9.25,red,yes\n", rows);
    put_file(path_of("other.csv"), other);
    write_recipe("recipe.yaml", 3, "table.csv");
    write_recipe("moved.yaml", 3, "copy.csv");
    write_recipe("seed.yaml", 4, "table.csv");
    write_recipe("data.yaml", 3, "other.csv");
    OK(rp_train_recipe(path_of("recipe.yaml"), path_of("right.reprise"), NULL, true, NULL, &job, &err));
    assert_int_equal(job->steps, STEPS);
    rp_job_free(job);
    OK(rp_file_read(path_of("right.reprise"), 1 << 24, &right, &err));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rp_buffer_free(&right);
    remove_all("");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stopped_after_any_step_it_goes_on_to_the_same_bytes),
        cmocka_unit_test(stopped_after_every_step_it_goes_on_ten_times),
        cmocka_unit_test(points_change_no_byte_and_are_gone_in_the_end),
        cmocka_unit_test(without_an_interval_nothing_is_left),
        cmocka_unit_test(what_an_interrupted_run_left_is_not_passed_over),
        cmocka_unit_test(points_of_another_recipe_or_other_data_are_refused),
        cmocka_unit_test(a_damaged_point_is_passed_over_for_the_one_before),
        cmocka_unit_test(points_that_another_may_have_made_are_refused),
        cmocka_unit_test(a_point_of_very_many_members_is_read_again_or_not_written),
        cmocka_unit_test(a_damaged_spool_is_seen),
        cmocka_unit_test(an_archive_that_has_its_name_already_is_found_to_be_this_one),
        cmocka_unit_test(an_archive_of_the_same_id_that_is_signed_otherwise_is_not_this_one),
        cmocka_unit_test(what_was_never_a_point_is_nothing),
        cmocka_unit_test(one_process_at_a_time),
        cmocka_unit_test(provenance_tells_of_the_interruption),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
