/* SPDX-License-Identifier: Apache-2.0
 * Runs that start from another archive: chains, what is taken over, what is computed from it, and that a wrong parent,
 * another parent's id and states that are not the parent's are seen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "audit/archive/archive.h"
#include "audit/drive/driver.h"
#include "audit/archive/safetensors.h"
#include "base/file.h"
#include "base/memory.h"
#include "rp/rp.h"

static rp_error err;
static char folder[] = "/tmp/rp-lineage-XXXXXX";

#define OK(call) need((call), #call)

static void need(rp_status status, const char *what)
{
    if (status != RP_OK)
        fail_msg("%s: %s", what, err.text);
}

static const char *path_of(const char *name)
{
    static char path[4][96];
    static int next;

    next = (next + 1) % 4;
    (void)snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
    return path[next];
}

static int setup(void **state)
{
    rp_buffer csv = {0};
    rp_status status;

    (void)state;
    if (!mkdtemp(folder))
        return -1;
    rp_buffer_text(&csv, "x,colour,y\n");
    for (int i = 0; i < 32; i++)
        rp_buffer_printf(&csv, "%s%d.%d,%s,%s\n", i % 7 ? "" : "-", i % 11, i % 5, i % 3 ? "red" : "blue",
                         (i % 11) * 2 + i % 3 > 11 ? "yes" : "no");
    status = rp_file_save(path_of("table.csv"), csv.data, csv.size, true, 0644, &err);
    rp_buffer_free(&csv);
    return status == RP_OK ? 0 : -1;
}

static int teardown(void **state)
{
    char command[160];

    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static rp_status try_run(const char *name, const char *optimizer, const char *hidden, const char *rest)
{
    char text[600];
    rp_job *job;
    rp_status status;

    (void)snprintf(
        text, sizeof text,
        "reprise: 1\nseed: 3\ndata: {csv: table.csv, target: y, folds: 4}\nmodel: {hidden: [%s], dropout: 0.25}\n"
        "train: {epochs: 2, batch: 7, optimizer: {%s}}\n%s\n",
        hidden, optimizer, rest);
    OK(rp_file_save(path_of("recipe.yaml"), text, strlen(text), true, 0644, &err));
    err.text[0] = '\0';
    status = rp_train_recipe(path_of("recipe.yaml"), path_of(name), NULL, true, NULL, &job, &err);
    rp_job_free(job);
    return status;
}

/* 1 + 2 * 4 + 2 = 11 steps, 8 updates. */
static rp_archive *run(const char *name, const char *rest)
{
    rp_archive *archive;

    need(try_run(name, "kind: adam", "12", rest), rest);
    OK(rp_archive_open(&archive, path_of(name), &err));
    return archive;
}

static void replays(const rp_archive *archive)
{
    const rp_replay_choice all = {.mode = RP_REPLAY_FULL, .parallel = 3};
    rp_job *job;

    OK(rp_replay(archive, &(rp_job_options){.threads = 2, .level = "ref"}, &job, &err));
    rp_job_free(job);
    OK(rp_replay(archive, &(rp_job_options){.threads = 1, .choice = &all}, &job, &err));
    rp_job_free(job);
}

static rp_json *recipe_of(const rp_archive *archive)
{
    rp_json *json;

    OK(rp_archive_read_json(archive, "run/recipe.json", &json, &err));
    return json;
}

static void records(const rp_archive *child, const rp_archive *parent, int updates)
{
    rp_json *recipe = recipe_of(child), *said = rp_json_object_get(recipe, "parent");

    assert_string_equal(rp_parent_id(child), rp_archive_id(parent));
    assert_string_equal(rp_json_string_value(rp_json_object_get(said, "archive")), rp_archive_id(parent));
    if (updates < 0)
        assert_null(rp_json_object_get(said, "updates"));
    else
        assert_int_equal(rp_json_integer_value(rp_json_object_get(said, "updates")), updates);
    rp_json_free(recipe);
}

static void wrong(const rp_archive *child, const rp_archive *parent, const char *says)
{
    assert_int_equal(rp_check_parent(child, parent, &err), RP_EHASH);
    if (!strstr(err.text, says))
        fail_msg("expected \"%s\" in \"%s\"", says, err.text);
}

static void reports(const rp_archive *child, const char *parent)
{
    char *html;
    size_t length;
    const char *at;

    OK(rp_report(child, NULL, NULL, &html, &length, &err));
    at = strstr(html, "Started from archive");
    assert_non_null(at);
    assert_non_null(strstr(at, parent));
    rp_text_free(html);
}

static void a_chain_of_three_is_checked_link_by_link(void **state)
{
    static const char *const record[] = {"", "record: {state_period: 3}", "record: {checkpoint_every: 4}"};

    (void)state;
    for (int i = 0; i < 3; i++) {
        char rest[160];
        rp_archive *a = run("a", record[i]), *b, *c;

        (void)snprintf(rest, sizeof rest, "parent: {archive: a}\n%s", record[i]);
        b = run("b", rest);
        (void)snprintf(rest, sizeof rest, "parent: {archive: b}\n%s", record[i]);
        c = run("c", rest);
        assert_null(rp_parent_id(a));
        reports(b, rp_archive_id(a));
        records(b, a, 8);
        records(c, b, 16);
        replays(b);
        replays(c);
        OK(rp_check_parent(b, a, &err));
        OK(rp_check_parent(c, b, &err));
        wrong(c, a, "parent: recorded archive id ");
        wrong(b, c, "parent: recorded archive id ");
        wrong(a, b, "the run has no parent");
        rp_archive_close(a);
        rp_archive_close(b);
        rp_archive_close(c);
    }
}

static rp_safetensors *tensors_of(const rp_archive *archive, const char *member, rp_buffer *bytes)
{
    rp_safetensors *file;

    OK(rp_archive_read_member(archive, member, 1 << 24, bytes, &err));
    OK(rp_safetensors_parse(&file, bytes->data, bytes->size, member, &err));
    return file;
}

/* What the child starts from is what the parent has there: parameters, and moments unless it retrains. */
static void the_states_are_the_parents(void **state)
{
    static const char *const how[] = {"weights: final, mode: retrain", "weights: 4, mode: retrain", "weights: 4",
                                      "weights: 10"};
    static const char *const from[] = {"weights/final.safetensors", "checkpoints/000000000004.safetensors",
                                       "checkpoints/000000000004.safetensors", "checkpoints/000000000010.safetensors"};
    static const int updates[] = {-1, -1, 3, 8};
    rp_archive *a = run("a", "record: {checkpoint_every: 2}");

    (void)state;
    for (int i = 0; i < 4; i++) {
        char rest[96];
        rp_archive *b;
        rp_buffer x = {0}, y = {0};
        rp_safetensors *start, *origin;

        (void)snprintf(rest, sizeof rest, "parent: {archive: a, %s}", how[i]);
        b = run("b", rest);
        records(b, a, updates[i]);
        replays(b);
        OK(rp_check_parent(b, a, &err));
        start = tensors_of(b, "weights/start.safetensors", &x);
        origin = tensors_of(a, from[i], &y);
        assert_int_equal(start->count, updates[i] < 0 ? 4 : 12);
        for (size_t k = 0; k < start->count; k++) {
            const rp_safetensor *t = &start->tensor[k], *u = rp_safetensors_find(origin, t->name);

            assert_non_null(u);
            assert_int_equal(t->size, u->size);
            assert_memory_equal(t->data, u->data, t->size);
        }
        rp_safetensors_free(start);
        rp_safetensors_free(origin);
        rp_buffer_free(&x);
        rp_buffer_free(&y);
        rp_archive_close(b);
    }
    rp_archive_close(a);
}

/* Where no step depends on its number, going on from the middle leads where the run itself went. */
static void going_on_is_what_the_parent_would_have_done(void **state)
{
    rp_buffer x = {0}, y = {0};
    rp_archive *whole, *half, *rest;

    (void)state;
    /* every batch is all rows in order, no dropout, a constant rate: step s is a function of states and updates alone
     */
    static const char text[] =
        "reprise: 1\ndata: {csv: table.csv, target: y, train_on_all: true}\nmodel: {hidden: [9]}\n"
        "train: {epochs: %d, batch: 32, shuffle: false, optimizer: {kind: adamw}}\n%s\n";
    const int epochs[] = {12, 5, 7};
    const char *const more[] = {"", "", "parent: {archive: half}"};
    const char *const name[] = {"whole", "half", "rest"};
    rp_archive **const out[] = {&whole, &half, &rest};

    for (int i = 0; i < 3; i++) {
        char recipe[400];
        rp_job *job;

        (void)snprintf(recipe, sizeof recipe, text, epochs[i], more[i]);
        OK(rp_file_save(path_of("recipe.yaml"), recipe, strlen(recipe), true, 0644, &err));
        OK(rp_train_recipe(path_of("recipe.yaml"), path_of(name[i]), NULL, true, NULL, &job, &err));
        rp_job_free(job);
        OK(rp_archive_open(out[i], path_of(name[i]), &err));
    }
    records(rest, half, 5);
    OK(rp_archive_read_member(whole, "weights/final.safetensors", 1 << 20, &x, &err));
    OK(rp_archive_read_member(rest, "weights/final.safetensors", 1 << 20, &y, &err));
    assert_int_equal(x.size, y.size);
    assert_memory_equal(x.data, y.data, x.size);
    rp_buffer_free(&x);
    rp_buffer_free(&y);
    rp_archive_close(whole);
    rp_archive_close(half);
    rp_archive_close(rest);
}

/* Where the parent lay is circumstance, and no part of the child's identity. */
static void the_path_leaves_no_trace(void **state)
{
    rp_archive *a = run("a", ""), *b = run("b", "parent: {archive: a}"), *c;
    char command[400], rest[200];

    (void)state;
    (void)snprintf(command, sizeof command, "mkdir -p %s/other && cp %s/a %s/other/renamed", folder, folder, folder);
    assert_int_equal(system(command), 0);
    (void)snprintf(rest, sizeof rest, "parent: {archive: %s/other/renamed}", folder);
    c = run("c", rest);
    assert_string_equal(rp_archive_id(b), rp_archive_id(c));
    rp_archive_close(a);
    rp_archive_close(b);
    rp_archive_close(c);
}

static void refuses(const char *optimizer, const char *hidden, const char *rest, rp_status status, const char *says)
{
    if (try_run("refused", optimizer, hidden, rest) != status || !strstr(err.text, says))
        fail_msg("%s: expected %s \"%s\", found \"%s\"", rest, rp_status_name(status), says, err.text);
    assert_int_equal(access(path_of("refused"), F_OK), -1);
}

static void what_does_not_fit_is_refused_before_training(void **state)
{
    rp_archive *a = run("a", "record: {checkpoint_every: 4}");

    (void)state;
    refuses("kind: adam", "13", "parent: {archive: a}", RP_EDATA, "layer0.weight f32[3,13] of this recipe's model");
    refuses("kind: adam", "12, 5", "parent: {archive: a, mode: retrain}", RP_EDATA,
            "layer2.weight of this recipe's model");
    refuses("kind: sgd", "12", "parent: {archive: a, weights: 4}", RP_EDATA, "12 states to start from, but");
    refuses("kind: adam", "12", "parent: {archive: a, weights: 5}", RP_EARG,
            "the parent has no checkpoint after 5 steps");
    refuses("kind: adam", "12", "parent: {archive: none}", RP_EIO, "none");
    refuses("kind: adam", "12", "parent: {archive: table.csv}", RP_EFORMAT, "table.csv");
    refuses("kind: adam", "12", "parent: {weights: final}", RP_EARG, "key parent.archive: required");
    refuses("kind: adam", "12", "parent: {archive: a, weights: 0}", RP_EARG,
            "key parent.weights: expected final, or the number");
    refuses("kind: adam", "12", "parent: {archive: a, mode: go}", RP_EARG, "key parent.mode");
    refuses("kind: adam", "12", "parent: {archive: a, updates: 3}", RP_EARG, "unknown key");
    rp_archive_close(a);
}

/* In the weights, whose place is known by the archive. */
static bool spoil_parent(void *self, const rp_progress *progress)
{
    const rp_archive *parent = self;
    const rp_member *member = rp_archive_find(parent, "weights/final.safetensors");
    FILE *file = progress->step == 3 ? fopen(path_of("a"), "r+b") : NULL;

    if (file) {
        assert_int_equal(fseek(file, (long)(member->offset + member->size - 1), SEEK_SET), 0);
        assert_int_equal(fputc('x', file), 'x');
        assert_int_equal(fclose(file), 0);
    }
    return true;
}

/* States to start from are read when they are wanted, so a parent must stay as it is until the child is whole. */
static void a_parent_that_changes_under_its_child_is_seen(void **state)
{
    rp_archive *a = run("a", "");
    const rp_job_options options = {.progress = spoil_parent, .self = a};
    rp_job *job;

    (void)state;
    rp_archive_close(run("b", "parent: {archive: a, mode: retrain}")); /* and writes recipe.yaml */
    assert_int_equal(rp_train_recipe(path_of("recipe.yaml"), path_of("spoiled"), NULL, true, &options, &job, &err),
                     RP_EHASH);
    assert_non_null(strstr(err.text, "the states that the run started from have changed since it began"));
    assert_int_not_equal(access(path_of("spoiled"), F_OK), 0);
    rp_archive_close(a);
}

/* ---- forgeries, every hash of which is right ---- */

/* The child with the parent's id replaced in recipe and manifest, or one member's last byte flipped. */
static rp_archive *forge(const rp_archive *child, const char *new_id, bool in_recipe, bool in_manifest,
                         const char *member)
{
    rp_archive_writer *writer;
    rp_archive *archive;
    rp_buffer body = {0};
    rp_json *run = rp_json_deep_copy(rp_archive_manifest(child)->run);

    OK(rp_archive_writer_new(&writer, folder, &err));
    for (size_t i = 1; i < rp_archive_member_count(child); i++) {
        const rp_member *m = rp_archive_member(child, i);

        OK(rp_archive_read_member(child, m->name, SIZE_MAX / 2, &body, &err));
        if (in_recipe && strcmp(m->name, "run/recipe.json") == 0) {
            rp_buffer_u8(&body, 0);
            memcpy(strstr((char *)body.data, rp_parent_id(child)), new_id, 64);
            body.size--;
        }
        if (member && strcmp(m->name, member) == 0)
            body.data[body.size - 1] ^= 1;
        OK(rp_archive_writer_add(writer, m->name, body.data, body.size, &err));
    }
    if (in_manifest)
        assert_int_equal(
            rp_json_object_set_new(rp_json_object_get(run, "parent"), "archive_id", rp_json_string(new_id)), 0);
    OK(rp_archive_writer_finish(writer, RP_RUN_RECIPE, run, &err));
    body.size = 0;
    OK(rp_archive_writer_append(writer, &body, &err));
    OK(rp_file_save(path_of("forged"), body.data, body.size, true, 0644, &err));
    rp_archive_writer_free(writer);
    rp_buffer_free(&body);
    rp_json_free(run);
    OK(rp_archive_open(&archive, path_of("forged"), &err));
    return archive;
}

static void does_not_replay(const rp_archive *archive, const char *says)
{
    rp_job *job;

    assert_int_equal(rp_replay(archive, NULL, &job, &err), RP_EBITS);
    if (!strstr(err.text, says))
        fail_msg("expected \"%s\" in \"%s\"", says, err.text);
}

static void forged_parents_are_seen(void **state)
{
    rp_archive *a = run("a", "record: {checkpoint_every: 4}"), *other = run("another", ""),
               *b = run("b", "parent: {archive: a}"), *forged;

    (void)state;
    /* the id alone, in one place: replay sees it without any parent */
    forged = forge(b, rp_archive_id(other), true, false, NULL);
    wrong(forged, a, "run.parent is ");
    does_not_replay(forged, "manifest.json");
    rp_archive_close(forged);
    forged = forge(b, rp_archive_id(other), false, true, NULL);
    wrong(forged, other, "run.parent is ");
    does_not_replay(forged, "manifest.json");
    rp_archive_close(forged);
    /* in both: neither archive is then its parent. (Another run with the same last states is one with the same
     * weights.) */
    forged = forge(b, rp_archive_id(b), true, true, NULL);
    wrong(forged, a, "parent: recorded archive id ");
    wrong(forged, b, "run/recipe.json: parent.updates is 8");
    rp_archive_close(forged);
    /* a name that is no id: in the recipe alone, as no manifest may say it */
    forged = forge(b, "../../../../../../../../../../../../../../../../../../etc/passwd", true, false, NULL);
    {
        rp_job *job;

        assert_int_equal(rp_replay(forged, NULL, &job, &err), RP_EFORMAT);
        assert_non_null(strstr(err.text, "key parent.archive: expected an archive id of 64 hex digits"));
        assert_int_equal(rp_check_parent(forged, a, &err), RP_EFORMAT);
    }
    rp_archive_close(forged);
    /* states that are not the parent's: the manifest's digest of them, the first step's record, the parent's journal */
    forged = forge(b, NULL, false, false, "weights/start.safetensors");
    wrong(forged, a, "weights/start.safetensors: digest of the states: manifest ");
    does_not_replay(forged, "step 0: digest of the feeds");
    rp_archive_close(forged);
    rp_archive_close(a);
    rp_archive_close(b);
    rp_archive_close(other);
}

/* A child that honestly ran from states that somebody made, and says that they are the parent's. */
static void states_that_somebody_made_are_not_the_parents(void **state)
{
    rp_archive *a = run("a", "record: {checkpoint_every: 4}"), *b = run("b", "parent: {archive: a}"), *forged, *c;
    rp_archive_writer *writer;
    rp_buffer body = {0};
    const char *const changed[] = {"weights/final.safetensors", "checkpoints/000000000004.safetensors"};
    const char *const rest[] = {"parent: {archive: made, mode: retrain}", "parent: {archive: made, weights: 4}"};

    (void)state;
    for (int k = 0; k < 2; k++) {
        /* an archive made for the purpose, whose weights were changed */
        OK(rp_archive_writer_new(&writer, folder, &err));
        for (size_t i = 1; i < rp_archive_member_count(a); i++) {
            const rp_member *m = rp_archive_member(a, i);

            OK(rp_archive_read_member(a, m->name, SIZE_MAX / 2, &body, &err));
            if (strcmp(m->name, changed[k]) == 0)
                body.data[body.size - 1] ^= 1;
            OK(rp_archive_writer_add(writer, m->name, body.data, body.size, &err));
        }
        OK(rp_archive_writer_finish(writer, RP_RUN_RECIPE, rp_archive_manifest(a)->run, &err));
        body.size = 0;
        OK(rp_archive_writer_append(writer, &body, &err));
        OK(rp_file_save(path_of("made"), body.data, body.size, true, 0644, &err));
        rp_archive_writer_free(writer);
        c = run("c", rest[k]);
        replays(c); /* on its own it is a true run */
        forged = forge(c, rp_archive_id(a), true, true, NULL);
        wrong(forged, a, "has other bytes than in ");
        rp_archive_close(forged);
        rp_archive_close(c);
    }
    rp_buffer_free(&body);
    rp_archive_close(a);
    rp_archive_close(b);
}

/* ---- runs of the C API ---- */

static const float weights[2][2] = {{0.5f, -1.0f}, {2.0f, 0.25f}};

/* w goes on from what is given, h is this run's own. parent: may be NULL. */
static rp_status api_run(const char *name, const float *w, const char *parent, uint64_t checkpoint, int steps)
{
    const size_t shape[] = {2, 2};
    const float batch[4] = {1.0f, -1.0f, 0.5f, 2.0f}, head[4] = {0};
    rp_run *run = NULL;
    rp_recorder *recorder = NULL;
    rp_status status = rp_run_new(&run, NULL, &err);

    if (status == RP_OK)
        status = rp_run_add_state(run, "w", RP_F32, 2, shape, w, &err);
    if (status == RP_OK)
        status = rp_run_add_state(run, "h", RP_F32, 2, shape, head, &err);
    if (status == RP_OK)
        status = rp_recorder_new(&recorder, run, &err);
    if (status == RP_OK)
        status = rp_recorder_set_checkpoint_period(recorder, 1, &err);
    if (status == RP_OK && parent)
        status = rp_recorder_set_parent(recorder, path_of(parent), checkpoint, &err);
    for (int i = 0; i < steps && status == RP_OK; i++) {
        rp_tensor x, m, grad;
        rp_tensor state;

        OK(rp_step_begin(run, &err));
        x = rp_feed(run, "x", RP_F32, 2, shape, batch);
        state = rp_state(run, "w");
        m = rp_mean(rp_matmul(x, state), NULL, 0, false);
        rp_gradients(m, &state, 1, &grad);
        rp_set_state(run, "w", rp_sub(state, grad));
        rp_set_state(run, "h", x);
        rp_result(run, "loss", m);
        status = rp_step_end(run, &err);
    }
    if (status == RP_OK && parent && rp_recorder_set_parent(recorder, path_of(parent), checkpoint, &err) != RP_EARG)
        fail_msg("a parent was named after the first step");
    if (status == RP_OK)
        status = rp_recorder_save(recorder, path_of(name), NULL, true, NULL, &err);
    rp_recorder_free(recorder);
    rp_run_free(run);
    return status;
}

static void states_of(float out[4], const char *archive, const char *member)
{
    rp_archive *from;
    rp_safetensors *file;
    rp_buffer bytes = {0};

    OK(rp_archive_open(&from, path_of(archive), &err));
    OK(rp_archive_read_member(from, member, SIZE_MAX / 2, &bytes, &err));
    OK(rp_safetensors_parse(&file, bytes.data, bytes.size, member, &err));
    memcpy(out, rp_safetensors_find(file, "w")->data, 4 * sizeof *out);
    rp_safetensors_free(file);
    rp_buffer_free(&bytes);
    rp_archive_close(from);
}

/* A copy of an archive under a manifest that says something else of its parent. */
static rp_archive *with_parent(const rp_archive *from, rp_json *parent)
{
    rp_archive_writer *writer;
    rp_archive *made;
    rp_buffer body = {0};
    rp_json *run = rp_json_deep_copy(rp_archive_manifest(from)->run);

    OK(rp_archive_writer_new(&writer, folder, &err));
    for (size_t i = 1; i < rp_archive_member_count(from); i++) {
        const rp_member *m = rp_archive_member(from, i);

        OK(rp_archive_read_member(from, m->name, SIZE_MAX / 2, &body, &err));
        OK(rp_archive_writer_add(writer, m->name, body.data, body.size, &err));
    }
    assert_int_equal(rp_json_object_set_new(run, "parent", parent), 0);
    OK(rp_archive_writer_finish(writer, RP_RUN_API, run, &err));
    body.size = 0;
    OK(rp_archive_writer_append(writer, &body, &err));
    OK(rp_file_save(path_of("forged"), body.data, body.size, true, 0644, &err));
    OK(rp_archive_open(&made, path_of("forged"), &err));
    rp_archive_writer_free(writer);
    rp_buffer_free(&body);
    rp_json_free(run);
    return made;
}

static void a_run_of_the_api_names_its_parent(void **state)
{
    static const char final[] = "weights/final.safetensors", checkpoint[] = "checkpoints/000000000001.safetensors";
    float w[4];
    rp_archive *a, *b, *forged;
    const rp_json *said;

    (void)state;
    OK(api_run("api-a", &weights[0][0], NULL, 0, 3));
    OK(rp_archive_open(&a, path_of("api-a"), &err));
    assert_null(rp_parent_id(a));
    for (int k = 0; k < 2; k++) {
        states_of(w, "api-a", k ? checkpoint : final);
        OK(api_run("api-b", w, "api-a", (uint64_t)k, 2));
        OK(rp_archive_open(&b, path_of("api-b"), &err));
        said = rp_json_object_get(rp_archive_manifest(b)->run, "parent");
        assert_string_equal(rp_parent_id(b), rp_archive_id(a));
        assert_int_equal(rp_json_array_size(rp_json_object_get(said, "tensors")), 1); /* w; h is new */
        replays(b);
        OK(rp_check_parent(b, a, &err));
        wrong(b, b, "parent: recorded archive id ");
        wrong(a, b, "the run names no parent");
        rp_archive_close(b);
    }
    /* what is not the parent's cannot be said to be */
    assert_int_equal(api_run("api-c", &weights[0][0], "api-a", 0, 1), RP_EARG);
    assert_non_null(strstr(err.text, "none of the run's first states is the parent's"));
    assert_int_equal(api_run("api-c", w, "api-a", 3, 1), RP_EARG);
    assert_non_null(strstr(err.text, "no checkpoint after 3 steps"));
    assert_int_equal(api_run("api-c", w, "nothing", 0, 1), RP_EIO);

    OK(rp_archive_open(&b, path_of("api-b"), &err));
    said = rp_json_object_get(rp_archive_manifest(b)->run, "parent");
    for (int k = 0; k < 6; k++) {
        static const char *const key[] = {"states", "archive_id", "tensors", "tensors", "weights", "more"};
        static const char *const replay[] = {"digest of the states that it names",
                                             NULL,
                                             "is none of the first states",
                                             "expected exactly",
                                             NULL,
                                             "expected exactly"};
        rp_json *changed = rp_json_deep_copy(said), *value = k < 2    ? rp_json_string(rp_archive_id(b))
                                                             : k == 2 ? rp_json_pack("[s]", "v")
                                                             : k == 3 ? rp_json_array()
                                                                      : rp_json_string("final");
        rp_job *job = NULL;

        assert_int_equal(rp_json_object_set_new(changed, key[k], value), 0);
        forged = with_parent(b, changed);
        if (replay[k]) {
            assert_int_not_equal(rp_replay(forged, NULL, &job, &err), RP_OK);
            if (!strstr(err.text, replay[k]))
                fail_msg("%d: %s", k, err.text);
        }
        assert_int_not_equal(rp_check_parent(forged, a, &err), RP_OK);
        rp_archive_close(forged);
    }
    rp_archive_close(a);
    rp_archive_close(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_of_three_is_checked_link_by_link),
        cmocka_unit_test(the_states_are_the_parents),
        cmocka_unit_test(going_on_is_what_the_parent_would_have_done),
        cmocka_unit_test(the_path_leaves_no_trace),
        cmocka_unit_test(what_does_not_fit_is_refused_before_training),
        cmocka_unit_test(a_parent_that_changes_under_its_child_is_seen),
        cmocka_unit_test(forged_parents_are_seen),
        cmocka_unit_test(states_that_somebody_made_are_not_the_parents),
        cmocka_unit_test(a_run_of_the_api_names_its_parent),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
