/* SPDX-License-Identifier: Apache-2.0
 * The statement of a retraining (audit/FORMAT.md 15.5): a function of parent, child, rows and options alone. */
#include <stdlib.h>
#include <string.h>

#include "audit/replay/retrain.h"
#include "audit/retrain/changes.h"
#include "audit/retrain/two_models.h"
#include "audit/validate/drift.h"
#include "audit/validate/seen.h"
#include "audit/validate/statement_text.h"
#include "base/handle.h"
#include "base/memory.h"
#include "determinism/decimal.h"
#include "determinism/fpenv.h"
#include "rp/retraining.h"

typedef struct comparison {
    const rp_archive *parent, *child;
    const rp_retraining_options *options;
    const rp_job_options *job;
    rp_buffer own;        /* the child's table; no bytes: it is not at hand */
    rp_buffer tested;     /* the child's test part where that is a table of its own */
    rp_source_text given; /* rows that are not of the child's table, of a file or tested; no bytes: there are none */
    rp_recipe *recipe;    /* the child's; NULL without its table */
    rp_dataset *split;    /* of that */
    int64_t *row;         /* the rows of all its parts, ascending */
    size_t rows;
    rp_judged *was, *is;       /* of all the rows that were given, or of the child's table */
    rp_judged *trained;        /* the child's table under the parent, where `was` is of other rows */
    rp_judged_part old, fresh; /* the rows that are judged */
    double threshold;
} comparison;

static void clear(comparison *c)
{
    rp_judged_part_close(&c->old);
    rp_judged_part_close(&c->fresh);
    rp_judged_free(c->was);
    rp_judged_free(c->is);
    rp_judged_free(c->trained);
    rp_dataset_free(c->split);
    rp_recipe_free(c->recipe);
    rp_free(c->row);
    rp_buffer_free(&c->own);
    rp_buffer_free(&c->tested);
}

/* ---- rows ---- */

static rp_status read_options(comparison *c, rp_error *err)
{
    const rp_retraining_options *o = c->options;
    const char *part = o->part;

    if (rp_judged_threshold(&c->threshold, o->threshold, err) != RP_OK)
        return RP_EARG;
    if (part && o->csv)
        return rp_fail(err, RP_EARG, "part: is of the child's own rows: give no others");
    if (part && strcmp(part, "test") != 0 && strcmp(part, "validation") != 0)
        return rp_fail(err, RP_EARG, "part: expected validation or test, found \"%.40s\"", part);
    return RP_OK;
}

static int by_number(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* The rows of all parts: others are left out by the child's recipe, and their cells may be anything. */
static rp_status list_rows(comparison *c, rp_error *err)
{
    const rp_dataset *d = c->split;
    const struct {
        const int64_t *row;
        size_t rows;
    } part[] = {{d->train_row, d->train_rows}, {d->valid_row, d->valid_rows}, {d->test_row, d->test_rows}};

    c->row = rp_reallocarray(NULL, d->train_rows + d->valid_rows + d->test_rows + 1, sizeof *c->row);
    if (!c->row)
        return rp_no_memory(err);
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        for (size_t k = 0; k < part[i].rows; k++)
            c->row[c->rows++] = part[i].row[k];
    qsort(c->row, c->rows, sizeof *c->row, by_number);
    return RP_OK;
}

/* The child's own table, which is judged, and whose training rows are held against the parent's. */
static rp_status read_own(comparison *c, rp_error *err)
{
    rp_json *json = NULL;
    rp_status status;

    if (!rp_archive_find(c->child, RP_TABLE_MEMBER))
        return c->given.bytes ? RP_OK
                              : rp_fail(err, RP_EUNSUPPORTED,
                                        RP_TABLE_MEMBER ": is not in the child: its rows were withheld: give the "
                                                        "folder, or other rows with outcomes");
    status = rp_archive_read_member(c->child, RP_TABLE_MEMBER, SIZE_MAX / 2, &c->own, err);
    if (status == RP_OK)
        status = rp_archive_read_json(c->child, RP_RECIPE_MEMBER, &json, err);
    if (status == RP_OK)
        status = rp_recipe_from_json(&c->recipe, json, RP_RECIPE_MEMBER, err);
    if (status == RP_OK)
        status = rp_dataset_split(&c->split, c->recipe, c->own.data, c->own.size, RP_TABLE_MEMBER,
                                  &(rp_table_options){.pool = NULL}, err);
    if (status == RP_OK)
        status = list_rows(c, err);
    rp_json_free(json);
    return status;
}

/* Rows of a file, of whoever asks or of the child's recipe (data.test_csv). */
static rp_status read_given(comparison *c, rp_error *err)
{
    const rp_retraining_options *o = c->options;
    const char *member = rp_judged_test_member(c->child);
    rp_status status;

    c->given = (rp_source_text){.bytes = o->csv, .size = o->size, .where = o->where ? o->where : "table"};
    if (o->csv || !o->part || strcmp(o->part, "test") != 0 || strcmp(member, RP_TABLE_MEMBER) == 0)
        return RP_OK;
    if (!rp_archive_find(c->child, member))
        return rp_fail(err, RP_EUNSUPPORTED,
                       "%s: is not in the child: its rows were withheld: give the folder, or other rows with outcomes",
                       member);
    status = rp_archive_read_member(c->child, member, SIZE_MAX / 2, &c->tested, err);
    c->given = (rp_source_text){.bytes = c->tested.data, .size = c->tested.size, .where = member};
    return status;
}

static rp_status judge(rp_judged **out, const comparison *c, const rp_archive *archive, bool own, rp_error *err)
{
    const rp_judged_table its = {.csv = c->own.data,
                                 .size = c->own.size,
                                 .where = RP_TABLE_MEMBER,
                                 .of = RP_JUDGED_TABLE,
                                 .row = c->row,
                                 .rows = c->rows,
                                 .filter = c->recipe};
    const rp_judged_table given = {
        .csv = c->given.bytes, .size = c->given.size, .where = c->given.where, .of = RP_JUDGED_GIVEN};

    return rp_judged_new(out, archive, own ? &its : &given, c->job, NULL, NULL, err);
}

static bool has_offset(const rp_judged *j, size_t row)
{
    return !j->offset || j->offset[row] - j->offset[row] == 0;
}

/* Both read the same outcomes from the same rows; else nothing here would mean anything. */
static rp_status same_task(const comparison *c, rp_error *err)
{
    const rp_judged *a = c->was, *b = c->is;
    const rp_schema *was = a->scoring->schema, *is = b->scoring->schema;

    if (was->classes != is->classes || a->scoring->model.outputs != b->scoring->model.outputs)
        return rp_fail(err, RP_EDATA, "parent and child cannot be compared: one predicts %zu classes, the other %zu",
                       was->classes, is->classes);
    for (size_t i = 0; i < was->classes; i++)
        if (strcmp(was->class_name[i], is->class_name[i]) != 0)
            return rp_fail(err, RP_EDATA,
                           "parent and child cannot be compared: class %zu of the one is none of the "
                           "other's, or in another place",
                           i);
    if (a->rows != b->rows)
        return rp_fail(err, RP_EDATA,
                       "parent and child cannot be compared: by the parent's recipe the table has %zu "
                       "rows, by the child's %zu",
                       a->rows, b->rows);
    for (size_t i = 0; i < a->rows; i++)
        if (a->known[i] != b->known[i] || (a->known[i] && a->label && a->label[i] != b->label[i]) ||
            (a->known[i] && a->value && a->value[i] != b->value[i]))
            return rp_fail(err, RP_EDATA,
                           "parent and child cannot be compared: of row %zu they read other outcomes: "
                           "their targets are not the same column",
                           i);
        else if (a->known[i] && (!has_offset(a, i) || !has_offset(b, i)))
            return rp_fail(
                err, RP_EDATA,
                "parent and child cannot be compared: row %zu has no offset or exposure that the %s can take", i,
                has_offset(a, i) ? "child" : "parent");
    return RP_OK;
}

/* The rows asked for: all that were given, or a part of the child's. */
static rp_status take_part(comparison *c, rp_error *err)
{
    const bool test = c->options->part && strcmp(c->options->part, "test") == 0;
    const int64_t *row = c->split ? (test ? c->split->test_row : c->split->valid_row) : NULL;
    size_t rows = c->split ? (test ? c->split->test_rows : c->split->valid_rows) : 0;
    int64_t *all = NULL;
    rp_status status = RP_OK;

    if (c->given.bytes) {
        rows = c->is->rows;
        row = all = rp_reallocarray(NULL, rows + 1, sizeof *all);
        if (!all)
            return rp_no_memory(err);
        for (size_t i = 0; i < rows; i++)
            all[i] = (int64_t)i;
    } else if (rows == 0) {
        return rp_fail(
            err, RP_EARG,
            "the child's recipe keeps no rows to %s: give others, with outcomes, that neither was trained on",
            test ? "test on (data.test)" : "validate on (data.train_on_all)");
    }
    status = rp_judged_part_open(&c->old, c->was, row, rows, err);
    if (status == RP_OK)
        status = rp_judged_part_open(&c->fresh, c->is, row, rows, err);
    rp_free(all);
    if (status == RP_OK && c->fresh.judged.outcomes == 0)
        status = rp_fail(err, RP_EDATA, "expected rows with an outcome, found none");
    return status;
}

/* The child may take cells that its parent's recipe refuses: nothing tells how far these rows are from the parent's. */
static rp_status judge_trained(comparison *c, rp_error *err)
{
    rp_error ignored = {0};
    const rp_status status = judge(&c->trained, c, c->parent, true, &ignored);

    if (status == RP_OK || status == RP_EDATA)
        return RP_OK;
    return rp_fail(err, status, "%s", ignored.text);
}

static rp_status load(comparison *c, rp_error *err)
{
    rp_status status = read_options(c, err);

    if (status == RP_OK)
        status = read_given(c, err);
    if (status == RP_OK)
        status = read_own(c, err);
    if (status == RP_OK)
        status = judge(&c->was, c, c->parent, !c->given.bytes, err);
    if (status == RP_OK)
        status = judge(&c->is, c, c->child, !c->given.bytes, err);
    if (status == RP_OK)
        status = same_task(c, err);
    if (status == RP_OK && c->given.bytes && c->split)
        status = judge_trained(c, err);
    return status == RP_OK ? take_part(c, err) : status;
}

/* ---- what is said ---- */

/* Keys of the child's recipe that are not what the parent's becomes on its table; null where that cannot be said. What
 * a model is called, and what its card says, is free. */
static rp_status recipe_keys(rp_json **out, const comparison *c, rp_error *err)
{
    static const char *const free_keys[] = {"card", "name"};
    const rp_source_text text = {c->own.data, c->own.size, RP_TABLE_MEMBER, NULL, NULL};
    rp_recipe *made = NULL;
    rp_json *said = NULL, *value, *all;
    const char *key;
    rp_status status = rp_archive_read_json(c->child, RP_RECIPE_MEMBER, &said, err);
    int failed = 0;

    *out = rp_json_null();
    if (status == RP_OK && c->split) {
        const bool warm = rp_json_object_get(said, "parent") && !c->was->scoring->recipe->train.exact;
        const rp_status tried = rp_retrain_recipe(&made, c->parent, warm, &text, err);

        status = tried == RP_ENOMEM ? tried : RP_OK; /* what the parent's recipe cannot be run on has no such keys */
    }
    if (status == RP_OK && made) {
        *out = rp_json_array();
        all = rp_json_deep_copy(made->json); /* keys of both, in order */
        rp_json_object_foreach (said, key, value)
            failed |= rp_json_object_set(all, key, value);
        rp_json_object_foreach (all, key, value) {
            const rp_json *now = rp_json_object_get(said, key), *expected = rp_json_object_get(made->json, key);

            (void)value;
            if (strcmp(key, free_keys[0]) != 0 && strcmp(key, free_keys[1]) != 0 &&
                (!now || !expected || !rp_json_equal(now, expected)))
                failed |= rp_json_array_append_new(*out, rp_json_string(key));
        }
        rp_json_free(all);
        if (failed || !*out)
            status = rp_no_memory(err);
    }
    rp_recipe_free(made);
    rp_json_free(said);
    if (status == RP_OK)
        return RP_OK;
    rp_json_free(*out);
    *out = NULL;
    return status;
}

static rp_status put_predecessor(rp_json *out, const comparison *c, rp_error *err)
{
    const char *named = c->is->scoring->recipe->predecessor;
    rp_json *keys = NULL;
    rp_status status = recipe_keys(&keys, c, err);

    if (status != RP_OK)
        return status;
    return rp_json_object_set_new(out, "predecessor",
                                  rp_json_pack("{s:s, s:b, s:o}", "archive_id", rp_archive_id(c->parent), "named",
                                               named && strcmp(named, rp_archive_id(c->parent)) == 0, "recipe_differs",
                                               keys)) != 0
               ? rp_no_memory(err)
               : RP_OK;
}

static rp_status put_data(rp_json *out, const comparison *c, rp_error *err)
{
    const rp_judged *j = &c->fresh.judged;
    rp_json *data = c->given.bytes ? rp_text_digest(c->given.bytes, c->given.size, err)
                                   : rp_text_digest(c->own.data, c->own.size, err);
    const size_t n = c->job ? c->job->n_parents : 0;
    const rp_archive **line = rp_reallocarray(NULL, n + 1, sizeof(const rp_archive *));
    rp_seen_rows seen, by_parent;
    rp_status status = line ? RP_OK : rp_no_memory(err);
    int failed;

    for (size_t i = 0; i <= n && line; i++) /* those that the child may have started from: the parent's own behind it */
        line[i] = i == 0 ? c->parent : c->job->parents[i - 1];
    if (status == RP_OK)
        status = rp_seen_count(&seen, c->child, j, line, n + 1, err);
    if (status == RP_OK)
        status = rp_seen_count(&by_parent, c->parent, &c->old.judged, line + 1, n, err);
    rp_free(line);
    if (status != RP_OK) {
        rp_json_free(data);
        return status;
    }
    failed = rp_json_object_set_new(data, "rows", rp_json_integer((int64_t)j->rows)) |
             rp_json_object_set_new(data, "without_outcome", rp_json_integer((int64_t)(j->rows - j->outcomes))) |
             rp_json_object_set_new(data, "unfiltered", rp_json_boolean(j->unfiltered)) |
             rp_seen_put_count(data, &seen) |
             rp_json_object_set_new(data, "seen_by_parent",
                                    by_parent.trained < 0 ? rp_json_null() : rp_json_integer(by_parent.trained)) |
             rp_json_object_set_new(out, "data", data);
    return failed ? rp_no_memory(err) : RP_OK;
}

static rp_json *options_json(const comparison *c)
{
    const rp_retraining_options *o = c->options;
    char threshold[RP_DECIMAL_SIZE];

    if (o->threshold)
        (void)rp_print_f64(threshold, c->threshold);
    return rp_json_pack("{s:s?, s:s?}", "part",
                        o->csv    ? NULL
                        : o->part ? o->part
                                  : "validation",
                        "threshold", o->threshold ? threshold : NULL);
}

static rp_status put_figures(rp_json *out, const comparison *c, rp_error *err)
{
    rp_json *parent = NULL, *child = NULL;
    rp_status status = rp_judged_figures(&parent, &c->old.judged, c->threshold, err);

    if (status == RP_OK)
        status = rp_judged_figures(&child, &c->fresh.judged, c->threshold, err);
    if (status == RP_OK &&
        rp_json_object_set_new(out, "figures", rp_json_pack("{s:O, s:O}", "child", child, "parent", parent)) != 0)
        status = rp_no_memory(err);
    rp_json_free(parent);
    rp_json_free(child);
    return status;
}

/* The child's training rows held against the parent's, by the parent's frozen edges and scores. */
static rp_status put_drift(rp_json *out, const comparison *c, rp_error *err)
{
    const rp_judged *table = c->trained ? c->trained : c->was;
    rp_judged_part rows = {.row = NULL};
    rp_training t = {.scoring = NULL};
    rp_json *scores = NULL, *columns = NULL;
    rp_status status;

    if (!c->split || (c->given.bytes && !c->trained))
        return rp_json_object_set(out, "drift", rp_json_null()) != 0 ? rp_no_memory(err) : RP_OK;
    status = rp_judged_part_open(&rows, table, c->split->train_row, c->split->train_rows, err);
    if (status == RP_OK)
        status = rp_training_open(&t, c->parent, &rows.judged, c->job, err);
    if (status == RP_OK)
        status = rp_drift_of_scores(&scores, &rows.judged, &t, err);
    if (status == RP_OK)
        status = rp_drift_of_columns(&columns, &rows.judged, &t, err);
    if (status == RP_OK && rp_json_object_set_new(out, "drift",
                                                  rp_json_pack("{s:O, s:b, s:O}", "columns", columns, "samples",
                                                               t.scoring != NULL, "scores", scores)) != 0)
        status = rp_no_memory(err);
    rp_json_free(scores);
    rp_json_free(columns);
    rp_training_close(&t);
    rp_judged_part_close(&rows);
    return status;
}

static rp_status put_models(rp_json *out, const comparison *c, rp_error *err)
{
    static const struct {
        const char *key;
        rp_status (*make)(rp_json **out, const rp_two_models *m, rp_error *err);
    } made[] = {{"decisions", rp_two_models_decisions},
                {"difference", rp_two_models_difference},
                {"scores", rp_two_models_scores}};
    const rp_two_models m = {&c->old.judged, &c->fresh.judged, c->threshold};
    rp_status status = RP_OK;

    for (size_t i = 0; i < sizeof made / sizeof *made && status == RP_OK; i++) {
        rp_json *one = NULL;

        status = made[i].make(&one, &m, err);
        if (status == RP_OK && rp_json_object_set_new(out, made[i].key, one) != 0)
            status = rp_no_memory(err);
    }
    return status;
}

static rp_status put_changes(rp_json *out, const comparison *c, rp_error *err)
{
    rp_json *changes = NULL;
    rp_status status = rp_changes_of(&changes, c->parent, c->child, err);

    return status == RP_OK && rp_json_object_set_new(out, "changes", changes) != 0 ? rp_no_memory(err) : status;
}

static rp_status fill(rp_json *out, const comparison *c, rp_error *err)
{
    static rp_status (*const put[])(rp_json * out, const comparison *c, rp_error *err) = {
        put_predecessor, put_data, put_changes, put_figures, put_models, put_drift};
    rp_status status = RP_OK;

    if (rp_json_object_set_new(out, "contract", rp_json_integer(1)) != 0 ||
        rp_json_object_set_new(out, "classes", rp_judged_classes(c->is)) != 0 ||
        rp_json_object_set_new(out, "options", options_json(c)) != 0)
        return rp_no_memory(err);
    for (size_t i = 0; i < sizeof put / sizeof *put && status == RP_OK; i++)
        status = put[i](out, c, err);
    return status;
}

rp_status rp_retraining_compare(const rp_archive *parent, const rp_archive *child, const rp_retraining_options *options,
                                const rp_job_options *job, char **statement, size_t *length, rp_error *err)
{
    static const rp_retraining_options none = {.csv = NULL};
    comparison c = {.parent = parent, .child = child, .options = options ? options : &none, .job = job};
    rp_json *predicate = NULL;
    rp_fpenv saved;
    rp_status status;

    *statement = NULL;
    *length = 0;
    if (!parent || !child)
        return rp_no_handle(err, __func__, parent ? "child" : "parent");
    status = load(&c, err);
    if (status == RP_OK && !(predicate = rp_json_object()))
        status = rp_no_memory(err);
    if (status == RP_OK && (status = rp_fpenv_enter(&saved, NULL, err)) == RP_OK) {
        status = fill(predicate, &c, err);
        rp_fpenv_leave(&saved);
    }
    clear(&c);
    if (status == RP_OK)
        return rp_validation_text(statement, length, rp_archive_id(child), RP_RETRAINING_TYPE, predicate,
                                  "the models have too many classes, columns, or categories in them, for one statement",
                                  err);
    rp_json_free(predicate);
    return status;
}
