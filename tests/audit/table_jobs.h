/* SPDX-License-Identifier: Apache-2.0
 * Jobs on a small table in a folder of their own, and archives of them in which bytes were changed. */
#ifndef TESTS_AUDIT_TABLE_JOBS_H
#define TESTS_AUDIT_TABLE_JOBS_H

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
#include "audit/archive/journal.h"
#include "base/file.h"
#include "rp/rp.h"

static char folder[] = "/tmp/rp-jobs-XXXXXX";
static char path_text[8][128];

/* A path in the test's folder; a few may be in use at once. */
static const char *in_folder(const char *name)
{
    static int next;
    char *out = path_text[next++ % 8];

    (void)snprintf(out, sizeof path_text[0], "%s/%s", folder, name);
    return out;
}

static void write_text(const char *name, const char *text)
{
    rp_error err;

    assert_int_equal(rp_file_save(in_folder(name), text, strlen(text), true, 0644, &err), RP_OK);
}

/* 60 rows: x informative, colour categorical, one value missing. */
static void write_table(const char *name)
{
    rp_buffer csv = {0};

    rp_buffer_text(&csv, "x,colour,y\n");
    for (int i = 0; i < 60; i++)
        rp_buffer_printf(&csv, "%s%d.%d,%s,%s\n", i % 7 ? "" : "-", i % 11, i % 5, i % 3 ? "red" : "blue",
                         (i % 11) * 2 + i % 3 > 11 ? "yes" : "no");
    rp_buffer_text(&csv, ",green,no\n");
    rp_buffer_u8(&csv, 0);
    write_text(name, (const char *)csv.data);
    rp_buffer_free(&csv);
}

static void write_recipe(const char *name, const char *extra_train, int seed)
{
    char text[600];

    (void)snprintf(text, sizeof text,
                   "reprise: 1\nseed: %d\ndata: {csv: table.csv, target: y, folds: 4, fold: 1}\n"
                   "model: {hidden: [5], activation: gelu, dropout: 0.2, layer_norm: true}\n"
                   "train: {epochs: 3, batch: 16, shards: 2, accumulate: 2, clip_norm: 0.5%s}\n",
                   seed, extra_train);
    write_text(name, text);
}

static int setup(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    write_table("table.csv");
    write_recipe("a.yaml", "", 3);
    return 0;
}

static int teardown(void **state)
{
    char command[160];

    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static void train(const char *recipe, const char *archive, const rp_job_options *options, char id[RP_DIGEST_HEX])
{
    rp_error err = {0};
    rp_job *job = NULL;
    rp_status status = rp_train_recipe(in_folder(recipe), in_folder(archive), NULL, true, options, &job, &err);

    if (status != RP_OK)
        fail_msg("%s", err.text);
    if (id)
        memcpy(id, job->archive_id, RP_DIGEST_HEX);
    rp_job_free(job);
}

static rp_archive *open_archive(const char *name)
{
    rp_archive *archive = NULL;
    rp_error err = {0};

    if (rp_archive_open(&archive, in_folder(name), &err) != RP_OK)
        fail_msg("%s", err.text);
    return archive;
}

/* Copies an archive member by member through the writer, with one member's bytes changed: hashes and manifest are
 * consistent, only the run is not true. */
static void forge(const char *from, const char *to, const char *member, size_t at, unsigned char flip)
{
    rp_archive *archive = open_archive(from);
    rp_archive_writer *writer = NULL;
    rp_file_writer *file = NULL;
    rp_buffer body = {0};

    assert_int_equal(rp_archive_writer_new(&writer, NULL, NULL), RP_OK);
    for (size_t i = 1; i < rp_archive_member_count(archive); i++) {
        const rp_member *m = rp_archive_member(archive, i);

        assert_int_equal(rp_archive_read_member(archive, m->name, SIZE_MAX / 2, &body, NULL), RP_OK);
        if (strcmp(m->name, member) == 0)
            body.data[at < body.size ? at : body.size - 1] ^= flip;
        assert_int_equal(rp_archive_writer_add(writer, m->name, body.data, body.size, NULL), RP_OK);
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

#endif
