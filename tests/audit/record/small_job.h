/* SPDX-License-Identifier: Apache-2.0
 * The smallest jobs that walk every path of the library, as functions, for tests that let something fail at every point
 * in turn (tests/house/sweep.h). */
#ifndef TESTS_AUDIT_RECORD_SMALL_JOB_H
#define TESTS_AUDIT_RECORD_SMALL_JOB_H

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "kernels/conformance/conformance.h"
#include "rp/rp.h"

static char job_folder[64];
static char job_recipe[96], job_signed[96], job_other[96], job_api[96], job_private[96], job_public[96], job_out[96],
    job_out_public[96], job_log_folder[96], job_parent[96], job_child_recipe[96];
static char job_rows[2048];
static rp_job_options job_options = {.threads = 1, .level = "ref"};
static bool job_real_conformance;

/* Signing makes sure that the kernels conform, which takes longer than all the rest of a small job. So the tests are
 * linked with --wrap=rp_conformance_run_many, and only the job that is about it has the real one. */
rp_status __real_rp_conformance_run_many(rp_conformance *result, size_t n, unsigned threads, rp_error *err);
rp_status __wrap_rp_conformance_run_many(rp_conformance *result, size_t n, unsigned threads, rp_error *err);
rp_status __wrap_rp_conformance_run_many(rp_conformance *result, size_t n, unsigned threads, rp_error *err)
{
    if (job_real_conformance)
        return __real_rp_conformance_run_many(result, n, threads, err);
    for (size_t i = 0; i < n; i++)
        result[i].checked = 1;
    return RP_OK;
}

/* The same of a device's kernels. */
rp_status __wrap_rp_conformance_device(rp_device *device, bool all, size_t *checked, rp_error *err);
rp_status __wrap_rp_conformance_device(rp_device *device, bool all, size_t *checked, rp_error *err)
{
    (void)device, (void)all, (void)err;
    *checked = rp_conformance_vectors();
    return RP_OK;
}

static void job_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* ---- the jobs ---- */

static rp_status job_train_as(const char *path, const char *key_path, rp_error *err)
{
    rp_key *key = NULL;
    rp_job *job = NULL;
    rp_status status = rp_key_load_private(&key, key_path, NULL, err);

    if (status == RP_OK)
        status = rp_train_recipe(job_recipe, path, key, false, &job_options, &job, err);
    rp_job_free(job);
    rp_key_free(key);
    return status;
}

static rp_status job_run(rp_error *err)
{
    return job_train_as(job_out, job_private, err);
}

/* The folder of resume points, as far as there is one. */
static void job_remove_points(void)
{
    char folder[110], path[400];
    const struct dirent *entry;
    DIR *directory;

    (void)snprintf(folder, sizeof folder, "%s.resume", job_out);
    directory = opendir(folder);
    while (directory && (entry = readdir(directory))) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        (void)unlink(path);
    }
    if (directory)
        (void)closedir(directory);
    (void)rmdir(folder);
}

/* Stops after two steps (self: not NULL) with resume points, and goes on. Points of a failed pass go too. */
static bool job_two_steps(void *self, const rp_progress *progress)
{
    return !*(bool *)self || progress->step != 2;
}

static rp_status job_resume(rp_error *err)
{
    bool stop = true;
    rp_job_options options = {.threads = 1,
                              .level = "ref",
                              .device = job_options.device,
                              .progress = job_two_steps,
                              .self = &stop,
                              .save_every = 1e-9};
    rp_job *job = NULL;
    rp_status status = rp_train_recipe(job_recipe, job_out, NULL, false, &options, &job, err);

    if (status == RP_ECANCELED) {
        stop = false;
        options.resume = true;
        status = rp_train_recipe(job_recipe, job_out, NULL, false, &options, &job, err);
    }
    rp_job_free(job);
    job_remove_points();
    return status;
}

static rp_status job_api_step(rp_run *run, float x, rp_error *err)
{
    size_t shape[] = {2, 2};
    float batch[4] = {x, -1.0f, 0.5f, 2.0f}, mean = 0;
    rp_status status = rp_step_begin(run, err);
    rp_tensor w, hidden, m, grad;

    if (status != RP_OK)
        return status;
    w = rp_state(run, "w");
    hidden = rp_matmul(rp_feed(run, "x", RP_F32, 2, shape, batch), w);
    m = rp_mean(hidden, NULL, 0, false);
    status = rp_read(run, m, &mean, sizeof mean, err);
    m = status == RP_OK && mean > 0 ? rp_mean(rp_tanh(hidden), NULL, 0, false) : m;
    rp_gradients(m, &w, 1, &grad);
    rp_set_state(run, "w", rp_sub(w, grad));
    rp_result(run, "loss", m);
    return rp_step_end(run, err);
}

/* Two steps from the start, or one more behind those of the archive at `from`. */
static rp_status job_api_steps(rp_run *run, rp_recorder *recorder, const char *from, rp_error *err)
{
    rp_archive *archive = NULL;
    rp_status status = from ? rp_archive_open(&archive, from, err) : RP_OK;

    if (status == RP_OK && from)
        status = rp_recorder_resume(recorder, archive, err);
    if (status == RP_OK)
        status = job_api_step(run, 1.0f, err);
    if (status == RP_OK && !from)
        status = job_api_step(run, -9.0f, err);
    rp_archive_close(archive);
    return status;
}

static rp_status job_api_as(const char *path, const char *from, rp_error *err)
{
    rp_run_options options = {.threads = 1, .level = "ref", .device = job_options.device};
    size_t shape[] = {2, 2};
    float initial[4] = {1, 2, 3, -1};
    rp_key *key = NULL;
    rp_run *run = NULL;
    rp_recorder *recorder = NULL;
    rp_status status = rp_key_load_private(&key, job_private, NULL, err);

    if (status == RP_OK)
        status = rp_run_new(&run, &options, err);
    if (status == RP_OK)
        status = rp_run_add_state(run, "w", RP_F32, 2, shape, initial, err);
    if (status == RP_OK)
        status = rp_recorder_new(&recorder, run, err);
    if (status == RP_OK)
        status = job_api_steps(run, recorder, from, err);
    if (status == RP_OK)
        status = rp_recorder_save(recorder, path, key, false, NULL, err);
    rp_recorder_free(recorder);
    rp_run_free(run);
    rp_key_free(key);
    return status;
}

static rp_status job_eager(rp_error *err)
{
    return job_api_as(job_out, NULL, err);
}

static rp_status job_eager_resume(rp_error *err)
{
    return job_api_as(job_out, job_api, err);
}

static rp_status job_verify(rp_error *err)
{
    rp_key *key = NULL;
    rp_verification *result = NULL;
    rp_archive *archive = NULL;
    rp_status status = rp_key_load_public(&key, job_public, err);
    const rp_key *const trusted[] = {key};

    if (status == RP_OK)
        status = rp_verify(job_signed, trusted, 1, NULL, &result, &archive, err);
    rp_archive_close(archive);
    rp_verification_free(result);
    rp_key_free(key);
    return status;
}

/* A policy whose clauses ask for certificates and timestamps, met. */
static rp_status job_policy(rp_error *err)
{
    rp_policy *policy = NULL;
    rp_verification *result = NULL;
    rp_verify_options options = {.tell_unmet = true};
    rp_status status = rp_policy_load(&policy, RP_SOURCE_DIR "/tests/fuzz/corpus/policy/good-certified.yaml", err);

    options.policy = policy;
    if (status == RP_OK)
        status =
            rp_verify(RP_SOURCE_DIR "/tests/fuzz/corpus/x509/certified.reprise", NULL, 0, &options, &result, NULL, err);
    if (status == RP_OK && result->policy->unmet != 0)
        status = rp_fail(err, RP_ESIGN, "a met policy is unmet");
    rp_verification_free(result);
    rp_policy_free(policy);
    return status;
}

static rp_status job_replay_of(const char *path, rp_error *err)
{
    rp_archive *archive = NULL;
    rp_job *job = NULL;
    rp_status status = rp_archive_open(&archive, path, err);

    if (status == RP_OK)
        status = rp_replay(archive, &job_options, &job, err);
    rp_job_free(job);
    rp_archive_close(archive);
    return status;
}

static rp_status job_replay(rp_error *err)
{
    return job_replay_of(job_signed, err);
}

static rp_status job_replay_eager(rp_error *err)
{
    return job_replay_of(job_api, err);
}

static rp_status job_predict(rp_error *err)
{
    rp_archive *archive = NULL;
    char *text = NULL;
    size_t length;
    rp_status status = rp_archive_open(&archive, job_signed, err);

    if (status == RP_OK)
        status = rp_predict(archive, job_rows, strlen(job_rows), "rows", &job_options, &text, &length, err);
    rp_text_free(text);
    rp_archive_close(archive);
    return status;
}

static rp_status job_report(rp_error *err)
{
    rp_archive *archive = NULL;
    char *text = NULL;
    size_t length;
    rp_status status = rp_archive_open(&archive, job_signed, err);

    if (status == RP_OK)
        status = rp_report(archive, NULL, NULL, &text, &length, err);
    rp_text_free(text);
    rp_archive_close(archive);
    return status;
}

static rp_status job_diff(rp_error *err)
{
    rp_archive *a = NULL, *b = NULL;
    char *text = NULL;
    bool same = true;
    rp_status status = rp_archive_open(&a, job_signed, err);

    if (status == RP_OK)
        status = rp_archive_open(&b, job_other, err);
    if (status == RP_OK)
        status = rp_diff(a, b, &job_options, &same, &text, err);
    if (status == RP_OK)
        assert_false(same);
    rp_text_free(text);
    rp_archive_close(b);
    rp_archive_close(a);
    return status;
}

static rp_status job_keys(rp_error *err)
{
    rp_key *key = NULL;
    rp_status status = rp_key_generate(&key, err);

    if (status == RP_OK)
        status = rp_key_save_private(key, job_out, NULL, false, err);
    if (status == RP_OK)
        status = rp_key_save_public(key, job_out_public, false, err);
    if (status != RP_OK)
        (void)unlink(job_out); /* two files, two promises: the caller pairs them */
    rp_key_free(key);
    return status;
}

static rp_status job_doctor(rp_error *err)
{
    char *text = NULL;
    bool healthy = false;
    rp_status status = rp_doctor(NULL, &text, &healthy, err);

    rp_text_free(text);
    return status;
}

static rp_status job_log_in(const rp_key *key, const rp_archive *archive, rp_error *err)
{
    char member[RP_MEMBER_NAME];
    char *proof = NULL;
    rp_run_log *log = NULL;
    rp_log_inclusion found;
    uint64_t index;
    rp_status status = rp_log_init(job_log_folder, "example.com/log", key, err);

    if (status == RP_OK)
        status = rp_log_add(job_log_folder, archive, key, &index, NULL, err);
    if (status == RP_OK)
        status = rp_log_open(&log, job_log_folder, &key, 1, err);
    if (status == RP_OK)
        status = rp_log_prove(log, index, &proof, err);
    if (status == RP_OK)
        status = rp_log_check(&found, proof, strlen(proof), "proof", rp_archive_id(archive), &key, 1, err);
    if (status == RP_OK)
        status = rp_log_member(member, found.head.origin, err);
    if (status == RP_OK)
        status = rp_archive_add_statement(job_other, member, proof, strlen(proof), true, err);
    rp_text_free(proof);
    rp_log_close(log);
    return status;
}

/* A range, then a sample, of a run with a checkpoint. */
static rp_status job_replay_part(rp_error *err)
{
    const rp_replay_choice choices[] = {{.mode = RP_REPLAY_RANGE, .first = 2, .last = 2},
                                        {.mode = RP_REPLAY_SAMPLE, .share = 1, .seed = "seed"}};
    rp_archive *archive = NULL;
    rp_status status = rp_archive_open(&archive, job_parent, err);

    for (int i = 0; i < 2 && status == RP_OK; i++) {
        rp_job_options options = job_options;
        rp_job *job = NULL;

        options.choice = &choices[i];
        status = rp_replay(archive, &options, &job, err);
        rp_job_free(job);
    }
    rp_archive_close(archive);
    return status;
}

/* A run that goes on from the last states of another, and its check against it. */
static rp_status job_lineage(rp_error *err)
{
    rp_archive *parent = NULL, *child = NULL;
    rp_job *job = NULL;
    rp_status status = rp_train_recipe(job_child_recipe, job_out, NULL, false, &job_options, &job, err);

    if (status == RP_OK)
        status = rp_archive_open(&parent, job_parent, err);
    if (status == RP_OK)
        status = rp_archive_open(&child, job_out, err);
    if (status == RP_OK)
        status = rp_check_parent(child, parent, err);
    if (status != RP_OK)
        (void)unlink(job_out); /* the run may have succeeded */
    rp_job_free(job);
    rp_archive_close(parent);
    rp_archive_close(child);
    return status;
}

/* The log goes again; a temporary in it would keep its folder. */
static rp_status job_log(rp_error *err)
{
    char path[120];
    rp_key *key = NULL;
    rp_archive *archive = NULL;
    rp_status status = rp_key_load_private(&key, job_private, NULL, err);

    if (status == RP_OK)
        status = rp_archive_open(&archive, job_other, err);
    if (status == RP_OK)
        status = job_log_in(key, archive, err);
    (void)snprintf(path, sizeof path, "%s/entries", job_log_folder);
    (void)unlink(path);
    (void)snprintf(path, sizeof path, "%s/checkpoint", job_log_folder);
    (void)unlink(path);
    (void)rmdir(job_log_folder);
    rp_archive_close(archive);
    rp_key_free(key);
    return status;
}

/* A run that leaves its data out, and its replay. The folder goes again. */
static rp_status job_withheld(rp_error *err)
{
    static const char *const made[] = {"salt",
                                       "recipe",
                                       "data/prepared.json",
                                       "data/quality.json",
                                       "data/raw.csv",
                                       "data/schema.json",
                                       "outputs/predictions.csv",
                                       "data",
                                       "outputs",
                                       ""};
    char folder[110], path[160];
    rp_job_options options = job_options;
    rp_archive *archive = NULL;
    rp_job *job = NULL;
    bool whole;
    rp_status status;

    (void)snprintf(folder, sizeof folder, "%s/home", job_folder);
    options.withhold = folder;
    status = rp_train_recipe(job_recipe, job_out, NULL, false, &options, &job, err);
    rp_job_free(job);
    job = NULL;
    whole = status == RP_OK;
    if (status == RP_OK)
        status = rp_archive_open(&archive, job_out, err);
    if (status == RP_OK)
        status = rp_archive_disclose(archive, folder, err);
    if (status == RP_OK)
        status = rp_replay(archive, &job_options, &job, err);
    rp_job_free(job);
    rp_archive_close(archive);
    if (whole) /* what failed came after it */
        (void)unlink(job_out);
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, made[i]);
        if (unlink(path) != 0)
            (void)rmdir(path);
    }
    return status;
}

static rp_status job_state_on(const char *path, const rp_key *key, const char *id, rp_error *err)
{
    const rp_replay_outcome outcome = {
        .begun = {{.mode = RP_REPLAY_FULL, .last = 1, .steps = 2, .steps_total = 2, .segments = 1, .segments_total = 1},
                  "ref",
                  "",
                  1,
                  "api",
                  ""},
        .members = 8};
    const rp_approval approval = {.role = "risk", .decision = RP_APPROVE, .reason = "r"};
    rp_status status = rp_archive_attest(path, id, &outcome, key, NULL, err);

    if (status == RP_OK)
        status = rp_archive_approve(path, id, &approval, key, NULL, err);
    return status == RP_OK ? rp_archive_endorse(path, id, key, NULL, err) : status;
}

static rp_status job_check_policy(const char *path, const rp_key *key, rp_error *err)
{
    char text[400];
    rp_policy *policy = NULL;
    rp_verify_options options = {.tell_unmet = false};
    rp_status status;

    (void)snprintf(text, sizeof text,
                   "policy: 1\ngroups:\n  a: [%s]\n  b: [key.pub.pem]\nbuilder: {of: a}\n"
                   "replay: {at_least: 0.2, by: b}\napprovals: {of: b}\n",
                   rp_key_id(key));
    status = rp_policy_from_text(&policy, text, strlen(text), "policy", job_folder, err);
    options.policy = policy;
    if (status == RP_OK)
        status = rp_verify(path, NULL, 0, &options, NULL, NULL, err);
    rp_policy_free(policy);
    return status;
}

static rp_status job_copy(const char *to, const char *from, rp_error *err)
{
    rp_buffer bytes = {0};
    rp_status status = rp_file_read(from, 1 << 24, &bytes, err);

    if (status == RP_OK)
        status = rp_file_save(to, bytes.data, bytes.size, false, 0644, err);
    rp_buffer_free(&bytes);
    return status;
}

/* On a copy. However far it came, the copy is a whole archive: adding is all or nothing. */
static rp_status job_statements(rp_error *err)
{
    rp_key *key = NULL;
    rp_archive *archive = NULL;
    rp_status status = rp_key_load_private(&key, job_private, NULL, err);

    if (status == RP_OK)
        status = job_copy(job_out, job_api, err);
    if (status == RP_OK)
        status = rp_archive_open(&archive, job_out, err);
    if (status == RP_OK)
        status = job_state_on(job_out, key, rp_archive_id(archive), err);
    rp_archive_close(archive);
    if (status == RP_OK)
        status = job_check_policy(job_out, key, err);
    if (status != RP_OK && rp_file_exists(job_out)) {
        assert_int_equal(rp_archive_open(&archive, job_out, NULL), RP_OK);
        rp_archive_close(archive);
        (void)unlink(job_out);
    }
    rp_key_free(key);
    return status;
}

#include "tests/audit/trust/trust_jobs.h"

typedef struct small_job {
    const char *name;
    rp_status (*work)(rp_error *err);
    bool judges; /* certificates */
} small_job;

static const small_job small_jobs[] = {
    {"run", job_run, false},
    {"eager run", job_eager, false},
    {"verify", job_verify, false},
    {"policy", job_policy, true},
    {"replay", job_replay, false},
    {"predict", job_predict, false},
    {"replay eager", job_replay_eager, false},
    {"diff", job_diff, false},
    {"keys", job_keys, false},
    {"doctor", job_doctor, false},
    {"report", job_report, false},
    {"log", job_log, false},
    {"statements", job_statements, false},
    {"withheld", job_withheld, false},
    {"resume", job_resume, false},
    {"replay part", job_replay_part, false},
    {"lineage", job_lineage, false},
    {"eager resume", job_eager_resume, false},
    {"certify", job_certify, true},
    {"certified", job_certified, true},
    {"revoked", job_revoked, true},
    {"hand-over", job_hand_over, true},
};
enum { SMALL_JOBS = sizeof small_jobs / sizeof small_jobs[0], TRUST_JOBS = 4 /* the last ones */ };

/* ---- the folder ---- */

static void job_recipe_write(int seed)
{
    char text[400];

    (void)snprintf(text, sizeof text,
                   "reprise: 1\nseed: %d\ndata: {csv: table.csv, target: y, folds: 2, fold: 1}\n"
                   "model: {hidden: [2], activation: gelu, dropout: 0.2}\n"
                   "train: {epochs: 1, batch: 8, clip_norm: 0.5}\n",
                   seed);
    job_text(job_recipe, text);
}

/* 8 training rows in batches of 4: steps 0 to 4, a checkpoint after 3; and the recipe of a child. */
static rp_status job_parent_make(rp_error *err)
{
    static const char text[] =
        "reprise: 1\ndata: {csv: table.csv, target: y, folds: 2}\ntrain: {epochs: 1, batch: 4}\n";
    char recipe[300];
    rp_job *job = NULL;
    rp_status status;

    (void)snprintf(recipe, sizeof recipe, "%sparent: {archive: parent.reprise}\n", text);
    job_text(job_child_recipe, recipe);
    (void)snprintf(recipe, sizeof recipe, "%srecord: {checkpoint_every: 3}\n", text);
    job_text(job_recipe, recipe);
    status = rp_train_recipe(job_recipe, job_parent, NULL, false, &job_options, &job, err);
    rp_job_free(job);
    return status;
}

static int job_setup(void **state)
{
    char path[96];
    rp_error err;
    rp_key *key;

    (void)state;
    /* in memory where there is such a place: jobs are done thousands of times, and the disk would take most of the time
     */
    strcpy(job_folder, access("/dev/shm", W_OK) == 0 ? "/dev/shm/rp-small-XXXXXX" : "/tmp/rp-small-XXXXXX");
    if (!mkdtemp(job_folder) || setenv("TMPDIR", job_folder, 1) != 0)
        return -1;
#define JOB_PATH(to, name) (void)snprintf(to, sizeof to, "%s/%s", job_folder, name)
    JOB_PATH(path, "table.csv");
    JOB_PATH(job_recipe, "recipe.yaml");
    JOB_PATH(job_signed, "signed.reprise");
    JOB_PATH(job_other, "other.reprise");
    JOB_PATH(job_api, "api.reprise");
    JOB_PATH(job_private, "key.pem");
    JOB_PATH(job_public, "key.pub.pem");
    JOB_PATH(job_out, "out.file");
    JOB_PATH(job_out_public, "out.public");
    JOB_PATH(job_log_folder, "log");
    JOB_PATH(job_parent, "parent.reprise");
    JOB_PATH(job_child_recipe, "child.yaml");
#undef JOB_PATH
    strcpy(job_rows, "x,colour,y\n");
    for (int i = 0; i < 16; i++)
        (void)snprintf(job_rows + strlen(job_rows), 64, "%d.%d,%s,%s\n", i % 7, i % 5, i % 3 ? "red" : "blue",
                       i % 7 + i % 3 > 4 ? "yes" : "no");
    strcat(job_rows, ",green,no\n");
    job_text(path, job_rows);
    if (rp_key_generate(&key, &err) != RP_OK || rp_key_save_private(key, job_private, NULL, false, &err) != RP_OK ||
        rp_key_save_public(key, job_public, false, &err) != RP_OK)
        return -1;
    rp_key_free(key);
    if (job_parent_make(&err) != RP_OK)
        return -1;
    job_recipe_write(4);
    if (job_train_as(job_other, job_private, &err) != RP_OK)
        return -1;
    job_recipe_write(3);
    if (job_train_as(job_signed, job_private, &err) != RP_OK || job_api_as(job_api, NULL, &err) != RP_OK ||
        trust_setup(&err) != RP_OK) {
        print_error("%s\n", err.text);
        return -1;
    }
    return 0;
}

static int job_teardown(void **state)
{
    char command[96];

    (void)state;
    trust_teardown();
    (void)snprintf(command, sizeof command, "rm -rf %s", job_folder);
    return system(command);
}

static inline size_t job_entries(const char *folder)
{
    DIR *directory = opendir(folder);
    size_t n = 0;

    assert_non_null(directory);
    while (readdir(directory))
        n++;
    assert_int_equal(closedir(directory), 0);
    return n;
}

#endif
