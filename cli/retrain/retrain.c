/* SPDX-License-Identifier: Apache-2.0
 * reprise retrain: a parent's recipe and columns on new rows, and both models on the same rows. */
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "cli/archive_files.h"
#include "cli/data/input.h"
#include "cli/limits.h"
#include "cli/progress.h"
#include "cli/retrain/comparison.h"
#include "cli/run.h"
#include "cli/signing/defaults.h"
#include "cli/signing/key_files.h"
#include "cli/validate/statement.h"
#include "rp/retraining.h"
#include "rp/validation.h"

typedef struct request {
    rp_run_request run; /* out is the child's archive, written or there already */
    rp_retraining what;
    const char *child, *rows, *part, *threshold, *statement, *check, *withheld;
    rp_text_list trust, parents; /* what the parent started from, and that one's own */
    rp_text_list parent_withheld;
    rp_limits limits;
    bool attach;
} request;

static const size_t csv_limit = (size_t)4 << 30, statement_limit = (size_t)1 << 20;

/* ---- the command line ---- */

static rp_status look_at_child(rp_session *session, request *r, rp_error *err)
{
    rp_run_request *run = &r->run;
    rp_status status;

    if (run->out || r->what.csv || r->what.warm_start || run->cert || run->withhold || run->resume || run->save_every)
        return rp_fail(err, RP_EARG, "retrain: --child trains nothing: leave out the options of a training");
    run->out = r->child;
    status = rp_default_key(session, &run->key, r->statement || r->attach, err);
    if (status != RP_OK)
        return status;
    if (run->passphrase && !run->key)
        return rp_fail(err, RP_EARG, "retrain: --passphrase-file belongs to a key: give --key FILE too");
    if (run->key && !r->statement && !r->attach)
        return rp_fail(err, RP_EARG,
                       "retrain: --key signs the statement that --statement FILE writes or --attach adds: give one of "
                       "them too");
    return rp_device_option("retrain", run->device, err);
}

/* The statement takes the place of nothing that it is made of. */
static rp_status keep_inputs(const request *r, rp_error *err)
{
    rp_status status = rp_file_keep(r->statement, r->what.parent, "the parent", err);

    for (size_t i = 0; i < r->parents.count && status == RP_OK; i++)
        status = rp_file_keep(r->statement, r->parents.item[i], "--parent", err);
    if (status == RP_OK)
        status = rp_file_keep(r->statement, r->what.csv, "--csv", err);
    if (status == RP_OK)
        status = rp_file_keep(r->statement, r->child, "--child", err);
    return status == RP_OK ? rp_file_keep(r->statement, r->rows, "--rows", err) : status;
}

/* Either a training or an archive that is there already. */
static rp_status look(rp_session *session, request *r, const char *synopsis, rp_error *err)
{
    rp_status status = rp_default_trust(session, &r->trust, true, err);

    if (status != RP_OK)
        return status;
    if (!r->child && !(r->what.csv && r->run.out))
        return rp_fail(err, RP_EARG,
                       "retrain: expected --csv FILE and --out FILE, new rows to train on, or --child FILE, an archive "
                       "that was trained already; see reprise retrain --help");
    if (r->check && (!r->child || r->statement || r->attach || r->part || r->threshold || r->run.key))
        return rp_fail(err, RP_EARG,
                       "retrain: --check makes a statement again as it was asked for: it takes --child, and --rows "
                       "where it is about others");
    if (r->rows && r->part)
        return rp_fail(err, RP_EARG, "retrain: --part is of the child's own rows: leave out --rows");
    if (r->withheld && !r->child)
        return rp_fail(err, RP_EARG, "retrain: --withheld is of a child that is there: give --child");
    status =
        r->child ? look_at_child(session, r, err) : rp_run_request_check(session, &r->run, "retrain", synopsis, err);
    if (status == RP_OK && r->attach && !r->run.key)
        status = rp_fail(err, RP_EARG, "retrain: --attach adds a signed statement: give --key KEY.pem too");
    if (status == RP_OK)
        status = keep_inputs(r, err);
    if (status == RP_OK && r->statement && !r->run.force && rp_file_exists(r->statement))
        status = rp_fail(err, RP_EEXIST, "%s: already exists: choose another name, or give --force to replace it",
                         r->statement);
    return status;
}

static rp_status parse(rp_session *session, int argc, char **argv, request *r, rp_error *err)
{
    static const char *const names[] = {"PARENT"};
    const rp_option options[] = {
        {0, "csv", RP_OPTION_TEXT, "FILE", "the new rows, with the columns of the parent's table", &r->what.csv, false},
        {'o', "out", RP_OPTION_TEXT, "FILE", "the child's archive to write", &r->run.out, false},
        {0, "child", RP_OPTION_TEXT, "FILE", "instead: only hold this archive against the parent", &r->child, false},
        {0, "warm-start", RP_OPTION_FLAG, NULL, "start from the parent's weights (default: afresh, as it did)",
         &r->what.warm_start, false},
        {0, "rows", RP_OPTION_TEXT, "FILE", "judge both on these rows with outcomes (default: --part validation)",
         &r->rows, false},
        {0, "part", RP_OPTION_TEXT, "PART", "judge both on the child's own rows: validation or test", &r->part, false},
        {0, "threshold", RP_OPTION_TEXT, "P", "decisions, and one more confusion, at this score", &r->threshold, false},
        {0, "statement", RP_OPTION_TEXT, "FILE", "write the comparison here: canonical JSON", &r->statement, false},
        {0, "attach", RP_OPTION_FLAG, NULL, "add the comparison to the child, signed and dated now", &r->attach, false},
        {0, "check", RP_OPTION_TEXT, "FILE", "make this comparison again and compare every byte", &r->check, false},
        {0, "trust", RP_OPTION_LIST, "PUB.pem",
         "verify the parent's signature first, that of --child, and that of --check FILE (default: REPRISE_TRUST)",
         &r->trust, false},
        {0, "parent", RP_OPTION_LIST, "ARCHIVE",
         "PARENT started from this archive: count rows that trained it too; then its own parent's", &r->parents, false},
        RP_OPTION_WITHHELD(&r->withheld),
        {0, "parent-withheld", RP_OPTION_LIST, "DIR",
         "the same of PARENT, also to train again; repeated, of each --parent that left something out, in their order",
         &r->parent_withheld, false},
        RP_OPTION_LIMITS(&r->limits),
        RP_RUN_OPTIONS(&r->run),
    };
    const rp_usage usage = {
        "retrain PARENT --csv NEW.csv -o CHILD.reprise|--child CHILD.reprise [options]",
        "Trains the parent's recipe again on new rows: its columns, their kinds and its classes are kept, all that\n"
        "is learnt from rows is learnt from the new ones. Categories that are new or gone are listed; a column or\n"
        "a class that is gone, and a number that became text, are errors. The child names the parent as its\n"
        "predecessor. Then both are judged on the same rows: figures of both, who is better, scores that move,\n"
        "decisions that change, and the drift between both trainings.",
        "  reprise retrain loans.reprise --csv loans-2026.csv -o loans-2026.reprise --key me.pem --attach",
        names,
        1,
        options,
        RP_COUNT(options)};
    rp_status status = rp_options_parse(session, &usage, argc, argv, &r->what.parent, err);

    return status == RP_OK && !session->helped ? look(session, r, usage.synopsis, err) : status;
}

/* ---- both archives ---- */

typedef struct work {
    rp_run_done done;
    rp_trust trust;
    rp_archive *parent, *child, **before; /* before: the line behind the parent */
    size_t n_before;
    rp_verification *verified[2];
    rp_key *key; /* of a comparison alone; else that of the training */
    rp_buffer rows, check;
    char *statement;
    size_t length;
    rp_json *json, *changes;
    char member[RP_MEMBER_NAME];
    bool compared;
} work;

static void release(work *w)
{
    rp_run_done_clear(&w->done);
    rp_trust_free(&w->trust);
    rp_parents_close(w->before, w->n_before);
    rp_archive_close(w->parent);
    rp_archive_close(w->child);
    rp_verification_free(w->verified[0]);
    rp_verification_free(w->verified[1]);
    rp_key_free(w->key);
    rp_buffer_free(&w->rows);
    rp_buffer_free(&w->check);
    rp_text_free(w->statement);
    rp_json_free(w->json);
    rp_json_free(w->changes);
}

/* The parent's columns are what the child is made by, and what two tables are compared by. */
static rp_status need_columns(const work *w, const request *r, rp_error *err)
{
    if (rp_archive_withheld_count(w->parent) == 0 || rp_archive_find(w->parent, RP_SCHEMA_MEMBER) ||
        strcmp(rp_archive_kind(w->parent), "recipe") != 0)
        return RP_OK;
    return rp_fail(err, RP_EARG,
                   "%s: data/schema.json: the parent's columns were left out of its archive: give --parent-withheld "
                   "DIR, the folder that --withhold wrote then",
                   r->what.parent);
}

static rp_status open_line(work *w, request *r, rp_error *err)
{
    size_t given = 0;
    rp_status status = rp_archive_open_trusted(&w->parent, &w->verified[0], r->what.parent, &r->trust, err);

    if (status == RP_OK)
        status = rp_line_disclose(w->parent, &r->parent_withheld, &given, err);
    if (given > 0)
        r->what.withheld = r->parent_withheld.item[0];
    if (status == RP_OK)
        status = rp_parents_open(&w->before, &w->n_before, w->parent, &r->parents, err);
    for (size_t i = 0; i < w->n_before && status == RP_OK; i++)
        status = rp_line_disclose(w->before[i], &r->parent_withheld, &given, err);
    if (status == RP_OK)
        status = rp_line_disclosed(&r->parent_withheld, given, err);
    return status == RP_OK ? need_columns(w, r, err) : status;
}

/* What can be wrong is found before anything is trained. */
static rp_status load(work *w, request *r, rp_error *err)
{
    rp_status status = open_line(w, r, err);

    if (status == RP_OK)
        status = rp_trust_load(&w->trust, &r->trust, err);
    if (status == RP_OK && r->child && r->run.key)
        status = rp_signing_key_load(&w->key, r->run.key, r->run.passphrase, err);
    if (status == RP_OK && r->rows)
        status = rp_input_read(r->rows, csv_limit, &w->rows, err);
    if (status == RP_OK && r->check)
        status = rp_file_read(r->check, statement_limit, &w->check, err);
    return status;
}

static rp_status train_again(const void *self, const rp_key *key, const rp_job_options *options, rp_job **job,
                             rp_error *err)
{
    const request *r = self;

    return rp_retrain(&r->what, r->run.out, key, r->run.force, options, job, err);
}

/* Of a child that leaves its data out: how many categories came and went, not which. */
static rp_status forget_categories(work *w, rp_error *err)
{
    static const char *const sides[] = {"gone", "new"};
    rp_json *copy = rp_json_deep_copy(w->changes), *column;
    int failed = copy == NULL;
    size_t i;

    rp_json_array_foreach (rp_json_object_get(copy, "categories"), i, column)
        for (size_t k = 0; k < 2; k++)
            failed |= rp_json_object_set_new(rp_json_object_get(column, sides[k]), "first", rp_json_array());
    if (failed) {
        rp_json_free(copy);
        return rp_no_memory(err);
    }
    rp_json_free(w->changes);
    w->changes = copy;
    return RP_OK;
}

static rp_status open_child(work *w, const request *r, rp_error *err)
{
    const char *folder = r->child ? r->withheld : r->run.withhold;
    char *text = NULL;
    rp_status status = r->child ? rp_archive_open_trusted(&w->child, &w->verified[1], r->child, &r->trust, err)
                                : rp_archive_open_confirmed(&w->child, r->run.out, err);

    if (status == RP_OK && folder)
        status = rp_archive_disclose(w->child, folder, err);
    if (status == RP_OK)
        status = rp_retraining_changes(w->parent, w->child, &text, err);
    if (status == RP_OK)
        status = rp_json_parse(&w->changes, text, strlen(text), true, "changes", err);
    rp_text_free(text);
    return status == RP_OK && r->run.withhold ? forget_categories(w, err) : status;
}

static const void *bytes_of(const char *path, const rp_buffer *buffer)
{
    return !path ? NULL : buffer->data ? (const void *)buffer->data : "";
}

/* Of a recipe that keeps no rows a training stands without a comparison. */
static bool keeps_rows(const work *w)
{
    rp_json *recipe = NULL;
    bool keeps = true;

    if (rp_member_load_json(w->child, RP_RECIPE_MEMBER, &recipe, NULL) == RP_OK)
        keeps = !rp_json_is_true(rp_json_object_get(rp_json_object_get(recipe, "data"), "train_on_all"));
    rp_json_free(recipe);
    return keeps;
}

static rp_status compare(work *w, const request *r, rp_error *err)
{
    rp_job_options job = {.threads = r->run.threads, .level = r->run.level, .device = r->run.device};
    const void *rows = bytes_of(r->rows, &w->rows);
    const rp_retraining_options options = {
        .csv = rows, .size = w->rows.size, .where = rp_input_name(r->rows), .part = r->part, .threshold = r->threshold};
    rp_status status = rp_limits_resolve(&r->limits, "retrain", &job, err);

    job.parents = (const rp_archive *const *)w->before;
    job.n_parents = w->n_before;
    if (status != RP_OK)
        return status;
    if (!r->child && !rows && !r->part && !r->statement && !r->attach && !keeps_rows(w))
        return RP_OK;
    w->compared = true;
    if (!r->check)
        return rp_retraining_compare(w->parent, w->child, &options, &job, &w->statement, &w->length, err);
    status = rp_validation_open(bytes_of(r->check, &w->check), w->check.size, r->check,
                                (const rp_key *const *)w->trust.key, w->trust.count, &w->statement, &w->length, err);
    return status == RP_OK ? rp_retraining_check(w->parent, w->child, rows, w->rows.size, rp_input_name(r->rows),
                                                 w->statement, w->length, &job, err)
                           : status;
}

static const rp_key *key_of(const work *w)
{
    return w->key ? w->key : w->done.key;
}

static rp_status save(work *w, const request *r, rp_error *err)
{
    const rp_key *key = key_of(w);
    char *text = NULL;
    size_t length = 0;
    rp_status status = RP_OK;

    if (r->statement && key)
        status = rp_validation_sign(w->statement, w->length, key, &text, &length, err);
    if (status == RP_OK && r->statement)
        status = key ? rp_file_save(r->statement, text, length, r->run.force, 0644, err)
                     : rp_file_save(r->statement, w->statement, w->length, r->run.force, 0644, err);
    rp_text_free(text);
    if (status != RP_OK || !r->attach)
        return status;
    rp_signals_hold(true);
    status = rp_validation_attach(r->run.out, rp_archive_id(w->child), w->statement, w->length, key, w->member, err);
    rp_signals_hold(false);
    return status;
}

/* ---- results ---- */

static void put_json(rp_session *session, const request *r, const work *w)
{
    rp_buffer *out = &session->out;

    rp_put_open(out, NULL, '{');
    rp_put_json(out, "changes", w->changes);
    rp_put_bool(out, "checked", r->check != NULL);
    rp_put_text(out, "key_id", key_of(w) ? rp_key_id(key_of(w)) : NULL);
    rp_put_text(out, "member", *w->member ? w->member : NULL);
    rp_put_text(out, "path", r->statement);
    if (r->child) {
        rp_put_json(out, "run", NULL);
    } else {
        rp_put_open(out, "run", '{');
        rp_run_put_json(session, &r->run, &w->done);
        rp_put_close(out, '}');
    }
    rp_put_json(out, "statement", w->json);
    rp_put_bool(out, "verified", w->verified[0] != NULL);
    rp_put_close(out, '}');
}

static void put_lines(rp_session *session, const request *r, const work *w)
{
    if (r->child)
        rp_put_line(session, "child", "%s", rp_archive_id(w->child));
    else
        rp_run_put_lines(session, &r->run, &w->done);
    rp_put_retraining_changes(session, w->changes);
    if (!w->compared) {
        rp_put_line(session, "judged on", "nothing: the recipe keeps no rows: give others with --child and --rows");
        return;
    }
    rp_put_retraining(session, rp_json_object_get(w->json, "predicate"));
    if (r->check || r->statement || r->attach)
        rp_buffer_text(&session->out, "\n");
    if (r->check)
        rp_put_verdict(session, true, "checked", "%s: made again from both archives, every byte the same", r->check);
    if (r->statement)
        rp_put_line(session, "written", "%s%s", r->statement, key_of(w) ? "" : ", unsigned: no --key was given");
    if (r->attach)
        rp_put_line(session, "attached", "%s in %s", w->member, r->run.out);
    if (key_of(w) && r->child)
        rp_put_line(session, "signed", "by key %s", rp_key_id(key_of(w)));
    for (size_t i = 0; i < 2; i++)
        if (w->verified[i]) {
            rp_put_line(session, i == 0 ? "parent" : "child", "%s", "what keys that are trusted say of it:");
            rp_put_signers(session, w->verified[i]);
        }
}

rp_status rp_command_retrain(rp_session *session, int argc, char **argv, rp_error *err)
{
    request r = {.child = NULL};
    work w = {.parent = NULL};
    rp_status status = parse(session, argc, argv, &r, err);

    if (status != RP_OK || session->helped)
        return status;
    status = load(&w, &r, err);
    if (status == RP_OK && !r.child)
        status = rp_run_train(&w.done, session, &r.run, "retrain", train_again, &r, err);
    if (status == RP_OK)
        status = open_child(&w, &r, err);
    if (status == RP_OK)
        status = compare(&w, &r, err);
    if (status == RP_OK && w.compared)
        status = save(&w, &r, err);
    if (status == RP_OK && w.compared)
        status = rp_json_parse(&w.json, w.statement, w.length, true, "the statement", err);
    if (status == RP_OK)
        (session->json ? put_json : put_lines)(session, &r, &w);
    release(&w);
    return status;
}
