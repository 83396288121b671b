/* SPDX-License-Identifier: Apache-2.0
 * A table's text while a run is made of it: what was read stays, whatever becomes of the user's file and of memory; and
 * what was made of it is in memory once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "audit/drive/kept_text.h"
#include "base/memory.h"

enum { LENGTH = 3 * 65536 + 11, ROWS = 9000 }; /* several blocks of reading; several chunks of rows */
static char folder[] = "/tmp/test_kept_text_XXXXXX", path[64], archive[64];
static rp_error err;
#define OK(call) assert_int_equal((call), RP_OK)

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    (void)snprintf(path, sizeof path, "%s/t.csv", folder);
    (void)snprintf(archive, sizeof archive, "%s/a.reprise", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    (void)unlink(path);
    return rmdir(folder); /* fails when anything was left beside the archive */
}

static char *some_bytes(size_t n)
{
    char *bytes = malloc(n);

    assert_non_null(bytes);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (char)(i * 2654435761u >> 13);
    return bytes;
}

static void a_text_is_what_was_read_whatever_becomes_of_its_file(void **state)
{
    char *bytes = some_bytes(LENGTH);
    rp_kept_text text = {.where = NULL};
    rp_archive_writer *writer;
    rp_buffer body = {0};
    rp_digest digest;

    (void)state;
    OK(rp_file_save(path, bytes, LENGTH, true, 0600, &err));
    OK(rp_kept_text_read(&text, "data/raw.csv", path, NULL, archive, NULL, &err));
    OK(rp_file_save(path, "other", 5, true, 0600, &err));
    OK(truncate(path, 1));
    assert_int_equal(text.text.size, LENGTH);
    assert_memory_equal(text.text.bytes, bytes, LENGTH);
    text.text.leave(text.text.self, LENGTH, LENGTH);
    assert_memory_equal(text.text.bytes, bytes, LENGTH);
    OK(rp_sha256(&digest, bytes, LENGTH, &err));
    assert_true(rp_digest_equal(&digest, rp_kept_text_digest(&text)));

    OK(rp_archive_writer_new(&writer, folder, &err));
    OK(rp_archive_writer_add(writer, RP_RECIPE_MEMBER, "{}", 2, &err));
    OK(rp_kept_text_add(&text, writer, &err));
    OK(rp_archive_writer_read(writer, rp_archive_writer_find(writer, RP_TABLE_MEMBER), &body, &err));
    assert_int_equal(body.size, LENGTH);
    assert_memory_equal(body.data, bytes, LENGTH);
    rp_buffer_free(&body);
    rp_archive_writer_free(writer);
    rp_kept_text_clear(&text);
    free(bytes);
}

typedef struct heard {
    uint64_t bytes, all;
} heard;

static void hear(void *self, uint64_t bytes, uint64_t all)
{
    *(heard *)self = (heard){bytes, all};
}

static void an_empty_text_and_one_in_memory_are_kept_too(void **state)
{
    heard h = {0, 0};
    rp_kept_text text = {.where = NULL};

    (void)state;
    OK(rp_file_save(path, "", 0, true, 0600, &err));
    OK(rp_kept_text_read(&text, "data/raw.csv", path, NULL, archive, NULL, &err));
    assert_int_equal(text.text.size, 0);
    text.text.leave(text.text.self, 0, 0);
    rp_kept_text_clear(&text);

    OK(rp_file_save(path, "a,y\n", 4, true, 0600, &err));
    OK(rp_kept_text_read(&text, "data/raw.csv", path, NULL, NULL, &(rp_job_options){.reading = hear, .self = &h},
                         &err));
    assert_int_equal(text.text.size, 4);
    assert_memory_equal(text.text.bytes, "a,y\n", 4);
    assert_int_equal(h.bytes, 4);
    assert_int_equal(h.all, 0);
    text.text.leave(text.text.self, 3, 4);
    assert_int_equal(h.bytes, 3);
    assert_int_equal(h.all, 4);
    rp_kept_text_clear(&text);
    assert_int_equal(rp_kept_text_read(&text, "data/raw.csv", folder, NULL, archive, NULL, &err), RP_EIO);
    rp_kept_text_clear(&text);
}

/* ---- what is made of it ---- */

static char *table_of_rows(void)
{
    char *csv = malloc(24 * ROWS);
    size_t used = 0;

    assert_non_null(csv);
    used += (size_t)sprintf(csv, "a,b,y\n");
    for (int i = 0; i < ROWS; i++)
        used += (size_t)sprintf(csv + used, "%d.%03d,%s,%s\n", i % 97, i * 7 % 1000, i % 3 ? "u" : "v",
                                i * 31 % 101 < 50 ? "no" : "yes");
    return csv;
}

typedef struct counted {
    size_t left, done, size;
} counted;

static void count(void *self, size_t done, size_t size)
{
    counted *c = self;

    assert_true(done >= c->done && done <= size);
    *c = (counted){c->left + 1, done, size};
}

/* solver: exact has them in binary64, gradient in binary32. */
static void features_are_in_memory_once(const char *solver)
{
    char *csv = table_of_rows(), yaml[128];
    counted c = {0};
    const rp_source_text text = {csv, strlen(csv), "t.csv", count, &c};
    rp_recipe *recipe;
    rp_trainer *t, *clone;
    size_t n;

    (void)snprintf(yaml, sizeof yaml, "reprise: 1\ndata: {csv: t.csv, target: y}\ntrain: {solver: %s}\n", solver);
    OK(rp_recipe_from_yaml(&recipe, yaml, strlen(yaml), "t.yaml", &err));
    OK(rp_trainer_new(&t, recipe, &text, &(rp_run_options){.threads = 2}, &err));
    assert_true(c.left >= 1);
    assert_int_equal(c.done, strlen(csv));
    assert_int_equal(c.size, strlen(csv));
    memset(csv, 'x', strlen(csv)); /* what was left is not read again */
    {
        const rp_dataset *d = rp_trainer_dataset(t);
        const rp_device_tensor *data = rp_run_data(rp_trainer_run(t), &n), *copied;
        const void *train = d->train_wide ? (void *)d->train_wide : d->train_x,
                   *valid = d->valid_wide ? (void *)d->valid_wide : d->valid_x;

        assert_int_equal(n, 4);
        assert_string_equal(data[0].name, "train_x");
        assert_string_equal(data[2].name, "valid_x");
        assert_ptr_equal(data[0].memory, train);
        assert_ptr_equal(data[2].memory, valid);
        OK(rp_trainer_clone(&clone, t, &(rp_run_options){.threads = 1}, &err)); /* has its own */
        copied = rp_run_data(rp_trainer_run(clone), &n);
        assert_ptr_not_equal(copied[0].memory, train);
        assert_memory_equal(copied[0].memory, train, rp_type_bytes(&copied[0].type));
        assert_memory_equal(copied[2].memory, valid, rp_type_bytes(&copied[2].type));
    }
    rp_trainer_free(clone);
    rp_trainer_free(t);
    rp_recipe_free(recipe);
    free(csv);
}

static void features_of_an_exact_fit_are_in_memory_once(void **state)
{
    (void)state;
    features_are_in_memory_once("exact");
}

static void features_of_a_network_are_in_memory_once(void **state)
{
    (void)state;
    features_are_in_memory_once("gradient");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_is_what_was_read_whatever_becomes_of_its_file),
        cmocka_unit_test(an_empty_text_and_one_in_memory_are_kept_too),
        cmocka_unit_test(features_of_an_exact_fit_are_in_memory_once),
        cmocka_unit_test(features_of_a_network_are_in_memory_once),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
