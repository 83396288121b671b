/* SPDX-License-Identifier: Apache-2.0
 * Bisecting two journals through their Merkle trees: the first record that differs, with one pair of digests a level;
 * and that of two archives no more is computed again than the steps from the last checkpoint on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "audit/archive/archive.h"
#include "audit/archive/journal.h"
#include "audit/digest/record_tree.h"
#include "base/file.h"
#include "base/memory.h"
#include "rp/rp.h"

enum { MOST = 300 };

static unsigned char left[MOST * RP_RECORD_SIZE], right[MOST * RP_RECORD_SIZE];

static int setup(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof left; i++)
        left[i] = (unsigned char)(i * 2654435761u >> 13);
    memcpy(right, left, sizeof left);
    return 0;
}

static size_t levels_of(size_t n)
{
    size_t levels = 0;

    while (((size_t)1 << levels) < n)
        levels++;
    return levels;
}

static void the_tree_has_the_root_that_the_manifest_records(void **state)
{
    (void)state;
    for (size_t n = 1; n <= MOST; n++) {
        rp_record_tree *tree;
        rp_digest root;

        assert_int_equal(rp_record_tree_new(&tree, left, RP_RECORD_SIZE, n, NULL), RP_OK);
        assert_int_equal(rp_merkle_records(&root, left, RP_RECORD_SIZE, n, NULL), RP_OK);
        assert_memory_equal(rp_record_tree_root(tree), &root, sizeof root);
        rp_record_tree_free(tree);
    }
}

static size_t bisect(size_t n, uint64_t *compared)
{
    rp_record_tree *a, *b;
    size_t at;

    *compared = 0;
    assert_int_equal(rp_record_tree_new(&a, left, RP_RECORD_SIZE, n, NULL), RP_OK);
    assert_int_equal(rp_record_tree_new(&b, right, RP_RECORD_SIZE, n, NULL), RP_OK);
    at = rp_record_tree_bisect(a, b, compared);
    rp_record_tree_free(a);
    rp_record_tree_free(b);
    return at;
}

static void equal_journals_take_one_comparison(void **state)
{
    uint64_t compared;

    (void)state;
    for (size_t n = 1; n <= 40; n++) {
        assert_int_equal(bisect(n, &compared), n);
        assert_int_equal(compared, 1);
    }
}

static void the_first_of_many_differences_is_found_in_log_n_comparisons(void **state)
{
    static const size_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 33, 64, 65, 100, 255, 256, 257, 300};
    uint64_t compared;

    (void)state;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (size_t first = 0; first<sizes[k]; first += sizes[k]> 40 ? 3 : 1) {
            for (size_t i = first; i < sizes[k]; i += 1 + first % 5)
                right[i * RP_RECORD_SIZE + i % RP_RECORD_SIZE] ^= 0x10;
            assert_int_equal(bisect(sizes[k], &compared), first);
            assert_true(compared <= 1 + levels_of(sizes[k]));
            memcpy(right, left, sizeof left);
        }
}

static void a_tree_of_nothing_is_refused(void **state)
{
    rp_record_tree *tree;
    rp_error err = {0};

    (void)state;
    assert_int_equal(rp_record_tree_new(&tree, left, RP_RECORD_SIZE, 0, &err), RP_EARG);
    assert_null(tree);
    assert_int_equal(rp_record_tree_new(&tree, left, RP_RECORD_SIZE, SIZE_MAX, &err), RP_EARG);
    rp_record_tree_free(NULL);
}

/* ---- archives ---- */

static char folder[] = "/tmp/rp-bisect-XXXXXX";
static rp_error err;

static void need(rp_status status, const char *what)
{
    if (status != RP_OK)
        fail_msg("%s: %s", what, err.text);
}

#define OK(call) need((call), #call)

static void path_of(char out[96], const char *name)
{
    (void)snprintf(out, 96, "%s/%s", folder, name);
}

/* 24 training rows in batches of 7, 4 epochs: 19 steps; the learning rate falls at training step `drop`, to gamma of
 * it. */
static rp_archive *run(const char *record, int drop, const char *gamma)
{
    char text[512], path[96], out[96];
    rp_archive *archive;
    rp_job *job;

    (void)snprintf(
        text, sizeof text,
        "reprise: 1\nseed: 3\ndata: {csv: table.csv, target: y, folds: 4}\nmodel: {hidden: [40], dropout: 0.25}\n"
        "train: {epochs: 4, batch: 7, schedule: {kind: step, step_every: %d, gamma: %s}}\nrecord: {%s}\n",
        drop, gamma, record);
    path_of(path, "recipe.yaml");
    path_of(out, "archive");
    OK(rp_file_save(path, text, strlen(text), true, 0644, &err));
    OK(rp_train_recipe(path, out, NULL, true, NULL, &job, &err));
    rp_job_free(job);
    OK(rp_archive_open(&archive, out, &err));
    return archive;
}

static int folder_setup(void **state)
{
    rp_buffer csv = {0};
    char path[96];
    rp_status status;

    (void)state;
    if (!mkdtemp(folder))
        return -1;
    path_of(path, "table.csv");
    rp_buffer_text(&csv, "x,colour,y\n");
    for (int i = 0; i < 32; i++)
        rp_buffer_printf(&csv, "%s%d.%d,%s,%s\n", i % 7 ? "" : "-", i % 11, i % 5, i % 3 ? "red" : "blue",
                         (i % 11) * 2 + i % 3 > 11 ? "yes" : "no");
    status = rp_file_save(path, csv.data, csv.size, true, 0644, &err);
    rp_buffer_free(&csv);
    return status == RP_OK ? 0 : -1;
}

static int folder_teardown(void **state)
{
    char command[128];

    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static void differ(const rp_archive *a, const rp_archive *b, uint64_t step, uint64_t recomputed)
{
    char says[64];
    rp_comparison *found;

    OK(rp_compare(a, b, NULL, &found, &err));
    assert_false(found->same);
    (void)snprintf(says, sizeof says, "step      %d is the first that differs", (int)step);
    if (!strstr(found->text, says) || !strstr(found->text, "input feed lr"))
        fail_msg("expected \"%s\" and the feed lr in:\n%s", says, found->text);
    assert_int_equal(found->steps_recomputed, recomputed);
    assert_in_range(found->digests_compared, 2, 1 + 5); /* 19 records: five levels below the root */
    rp_comparison_free(found);
}

static void only_the_steps_from_the_last_checkpoint_are_computed_again(void **state)
{
    (void)state;
    for (int drop = 1; drop <= 15; drop++) {
        const uint64_t step = (uint64_t)drop + 1; /* training steps are counted from 1, and the drop comes after it */
        rp_archive *a = run("checkpoint_every: 4", drop, "0.5"), *b = run("checkpoint_every: 4", drop, "0.25");

        differ(a, b, step, 2 * (step % 4 + 1));
        rp_archive_close(b);
        /* each from its own nearest one */
        b = run("", drop, "0.25");
        differ(a, b, step, step % 4 + 1 + step + 1);
        rp_archive_close(a);
        rp_archive_close(b);
    }
}

/* With rolling digests both are computed side by side, from the last checkpoint that they share, and then the step
 * itself. */
static void rolling_runs_begin_at_the_last_checkpoint_that_is_common(void **state)
{
    (void)state;
    for (int drop = 2; drop <= 15; drop += 3) {
        const uint64_t step = (uint64_t)drop + 1;
        rp_archive *a = run("checkpoint_every: 4, state_period: 5", drop, "0.5");
        rp_archive *b = run("checkpoint_every: 2, state_period: 5", drop, "0.25");

        differ(a, b, step, 4 * (step % 4 + 1));
        rp_archive_close(a);
        rp_archive_close(b);
    }
}

/* The journal does not vouch for a checkpoint that was changed: its run is then computed from the start. */
static void a_checkpoint_that_the_journal_does_not_vouch_for_is_not_used(void **state)
{
    rp_archive *a = run("checkpoint_every: 4", 9, "0.5"), *b = run("checkpoint_every: 4", 9, "0.25"), *forged;
    rp_archive_writer *writer;
    rp_buffer body = {0}, file = {0};

    (void)state;
    OK(rp_archive_writer_new(&writer, folder, &err));
    for (size_t i = 1; i < rp_archive_member_count(b); i++) {
        const rp_member *m = rp_archive_member(b, i);

        OK(rp_archive_read_member(b, m->name, SIZE_MAX / 2, &body, &err));
        if (strcmp(m->name, "checkpoints/000000000008.safetensors") == 0)
            body.data[body.size - 1] ^= 0x40;
        OK(rp_archive_writer_add(writer, m->name, body.data, body.size, &err));
    }
    OK(rp_archive_writer_finish(writer, RP_RUN_RECIPE, rp_archive_manifest(b)->run, &err));
    OK(rp_archive_writer_append(writer, &file, &err));
    OK(rp_archive_open_memory(&forged, file.data, file.size, "forged", &err));
    differ(a, forged, 10, 10 % 4 + 1 + 10 + 1);
    rp_archive_close(forged);
    rp_archive_writer_free(writer);
    rp_archive_close(a);
    rp_archive_close(b);
    rp_buffer_free(&file);
    rp_buffer_free(&body);
}

static int both_setup(void **state)
{
    return setup(state) == 0 ? folder_setup(state) : -1;
}

/* Reserved bytes are zero, and a loss is of a type that a loss has. */
static void a_record_has_one_form(void **state)
{
    static const struct {
        int32_t dtype;
        bool good;
    } types[] = {{RP_LOSS_NONE, true}, {RP_F32, true},   {RP_F64, true}, {RP_I32, false},
                 {RP_I64, false},      {RP_BF16, false}, {-2, false},    {1000, false}};
    unsigned char bytes[RP_RECORD_SIZE], again[RP_RECORD_SIZE];
    rp_record record, read;

    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        record = (rp_record){
            .step = UINT64_C(0x123456789A), .program = 7, .loss = UINT64_C(0x3F800000), .loss_dtype = types[i].dtype};
        memset(&record.states, 0xAB, sizeof record.states);
        rp_record_write(bytes, &record);
        assert_int_equal(rp_record_read(&read, bytes), types[i].good);
        rp_record_write(again, &read);
        assert_memory_equal(again, bytes, sizeof bytes);
    }
    record.loss_dtype = RP_F32;
    rp_record_write(bytes, &record);
    for (size_t bit = 0; bit < 64; bit++) {
        bytes[120 + bit / 8] ^= (unsigned char)(1u << bit % 8);
        assert_false(rp_record_read(&read, bytes));
        bytes[120 + bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    assert_true(rp_record_read(&read, bytes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_has_one_form),
        cmocka_unit_test(the_tree_has_the_root_that_the_manifest_records),
        cmocka_unit_test(equal_journals_take_one_comparison),
        cmocka_unit_test(the_first_of_many_differences_is_found_in_log_n_comparisons),
        cmocka_unit_test(a_tree_of_nothing_is_refused),
        cmocka_unit_test(only_the_steps_from_the_last_checkpoint_are_computed_again),
        cmocka_unit_test(rolling_runs_begin_at_the_last_checkpoint_that_is_common),
        cmocka_unit_test(a_checkpoint_that_the_journal_does_not_vouch_for_is_not_used),
    };

    return cmocka_run_group_tests(tests, both_setup, folder_teardown);
}
