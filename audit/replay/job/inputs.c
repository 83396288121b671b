/* SPDX-License-Identifier: Apache-2.0
 * What a recipe's job reads: the recipe, or a parent's, its table or text, and what of them must not be withheld in
 * vain. */
#include "audit/drive/arrays.h"
#include "audit/drive/recipe_files.h"
#include "audit/record/lineage.h"
#include "audit/replay/job/recipe_job.h"
#include "audit/replay/retrain.h"
#include "base/memory.h"

/* In memory: a writer lends from one other alone, which has the table. */
static rp_status read_test(const rp_recipe *recipe, work *w, const recipe_job *job, rp_error *err)
{
    char *path = rp_recipe_table_path(job->recipe, recipe, recipe->data.test_csv);
    rp_status status = path ? rp_kept_text_read(&w->test, RP_TEST_TABLE_MEMBER, path, NULL, NULL, job->options, err)
                            : rp_no_memory(err);

    rp_free(path);
    return status;
}

/* The archive takes the place of nothing that it is made of. */
static rp_status keep_inputs(const recipe_job *job, const rp_recipe *recipe, const char *table, rp_error *err)
{
    rp_status status;

    if (!job->again)
        return rp_recipe_keep(job->archive, job->recipe, recipe, table, err);
    status = rp_file_keep(job->archive, table, "the table", err);
    return status == RP_OK ? rp_file_keep(job->archive, job->again->parent, "the parent", err) : status;
}

/* Of a recipe's table, whatever it is written from. */
typedef struct recipe_table {
    rp_recipe *recipe; /* NULL: of a retraining, whose parent says what rows may be written from */
    const rp_archive *parent;
    const recipe_job *job;
    const char *path;
} recipe_table;

/* New rows of a parent that was trained on arrays. */
static rp_status stream_rows(const recipe_table *t, const rp_recipe *recipe, rp_file_taker take, void *taker,
                             rp_error *err)
{
    rp_buffer bytes = {0}, written = {0};
    rp_status status = rp_table_stream(t->job->options, t->path, rp_buffer_take, &bytes, err);

    if (status == RP_OK)
        status = rp_arrays_rows(&written, recipe, bytes.data, bytes.size, t->path, err);
    if (status == RP_OK && written.size)
        status = take(taker, written.data, written.size, err);
    else if (status == RP_OK && bytes.size)
        status = take(taker, bytes.data, bytes.size, err);
    rp_buffer_free(&bytes);
    rp_buffer_free(&written);
    return status;
}

static rp_status stream_again(const recipe_table *t, rp_file_taker take, void *taker, rp_error *err)
{
    rp_recipe *recipe;
    rp_status status;

    /* what is no recipe's archive is refused when its recipe is asked for, with the words for that */
    (void)rp_archive_recipe(&recipe, t->parent, NULL);
    status = recipe && recipe->arrays.known ? stream_rows(t, recipe, take, taker, err)
                                            : rp_table_stream(t->job->options, t->path, take, taker, err);
    rp_recipe_free(recipe);
    return status;
}

static rp_status stream_table(void *self, rp_file_taker take, void *taker, rp_error *err)
{
    const recipe_table *t = self;

    if (!t->recipe)
        return stream_again(t, take, taker, err);
    return rp_recipe_stream(t->recipe, t->job->recipe, t->path, t->job->options, take, taker, err);
}

enum { GUESSED = 64 };

/* Digests of what evaluations gave of a block of windows stay in the archive, with the weights that gave it. */
static rp_status check_guessed(const rp_recipe *recipe, const rp_job_options *options, rp_error *err)
{
    const int64_t tokens = recipe->text.path ? recipe->train.batch * recipe->text.length : GUESSED;

    return !options || !options->withhold || tokens >= GUESSED
               ? RP_OK
               : rp_fail(err, RP_EARG,
                         "--withhold: a block of train.batch windows of data.length tokens has %lld, which whoever has "
                         "the archive can guess: expected at least %d",
                         (long long)tokens, (int)GUESSED);
}

rp_status rp_job_read_inputs(rp_recipe **recipe, work *w, const recipe_job *job, rp_error *err)
{
    const bool record = !(job->options && job->options->no_record);
    const rp_retraining *again = job->again;
    char *path = NULL;
    rp_status status =
        again ? rp_archive_open(&w->parent, again->parent, err) : rp_recipe_load(job->recipe, recipe, &path, err);

    if (status == RP_OK && again && again->withheld)
        status = rp_archive_disclose(w->parent, again->withheld, err);
    if (status == RP_OK && !again)
        status = check_guessed(*recipe, job->options, err);
    if (status == RP_OK && record)
        status = keep_inputs(job, *recipe, again ? again->csv : path, err);
    if (status == RP_OK) {
        recipe_table table = {again ? NULL : *recipe, w->parent, job, again ? again->csv : path};
        const rp_text_origin from = {stream_table, &table};

        status = rp_kept_text_read(&w->text, !again && (*recipe)->text.path ? RP_TEXT_MEMBER : RP_TABLE_MEMBER,
                                   table.path, &from, record ? job->archive : NULL, job->options, err);
    }
    rp_free(path);
    if (status == RP_OK && !again && (*recipe)->data.test_csv)
        status = read_test(*recipe, w, job, err);
    return status == RP_OK && again ? rp_retrain_recipe(recipe, w->parent, again->warm_start, &w->text.text, err)
                                    : status;
}

/* A part's last block has what is left of it, and of a short text no batch is whole. */
rp_status rp_job_check_last_block(const rp_driver *driver, const rp_job_options *options, rp_error *err)
{
    const size_t tokens = rp_driver_least_block(driver);

    return !options || !options->withhold || tokens >= GUESSED
               ? RP_OK
               : rp_fail(err, RP_EARG,
                         "--withhold: the last block of a part that is evaluated has %zu tokens, which whoever has the "
                         "archive can guess: choose data.length, train.batch or data.validation so that it has %d",
                         tokens, (int)GUESSED);
}
