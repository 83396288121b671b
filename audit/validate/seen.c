/* SPDX-License-Identifier: Apache-2.0
 * Judged rows beside those that trained the weights: the run's, and those of the runs that it started from. */
#include "audit/validate/seen.h"

#include <string.h>

#include "audit/archive/archive_private.h"
#include "base/memory.h"
#include "core/data/later/seen.h"

/* The numbers in the table of the rows that have an outcome. */
static rp_status rows_with_outcome(int64_t **out, size_t *n, const rp_judged *j, rp_error *err)
{
    *out = rp_reallocarray(NULL, j->rows + 1, sizeof **out);
    *n = 0;
    for (size_t i = 0; *out != NULL && i < j->rows; i++)
        if (j->known[i])
            (*out)[(*n)++] = j->row ? j->row[i] : (int64_t)i;
    return *out != NULL ? RP_OK : rp_no_memory(err);
}

/* Rows of one table that are looked for among those of a run's own. */
typedef struct search {
    const rp_judged *judged;
    const int64_t *row; /* NULL: the first n */
    size_t n;
    bool *trained, *other, *own; /* [n] */
    bool all_parts;              /* other: like one of any other part, whether the model was chosen by it or not */
} search;

static rp_status open_search(search *s, rp_error *err)
{
    s->trained = rp_calloc(s->n + 1, sizeof *s->trained);
    s->other = rp_calloc(s->n + 1, sizeof *s->other);
    s->own = rp_calloc(s->n + 1, sizeof *s->own);
    return s->trained && s->other && s->own ? RP_OK : rp_no_memory(err);
}

static void close_search(search *s)
{
    rp_free(s->trained);
    rp_free(s->other);
    rp_free(s->own);
}

/* A row that trained is one of these, whatever else it is. */
static rp_seen_rows count(const search *s)
{
    rp_seen_rows out = {0, 0, 0};

    for (size_t i = 0; i < s->n; i++) {
        out.trained += s->trained[i];
        out.other += s->other[i] && !s->trained[i];
        out.own += s->own[i] && !s->other[i] && !s->trained[i];
    }
    return out;
}

/* Whether the rows of the validation part said when to stop, or which settings to take: they know the model, which was
 * taken because it was good on them. Challengers are not taken, however good they are. */
static bool chose(const rp_recipe *recipe)
{
    return recipe->train.patience > 0 || recipe->search.n_over > 0;
}

/* An archive's table, and which of its rows trained: both by that archive's own recipe, since what a row is, and what
 * its cells say, another's may see otherwise. */
typedef struct trained_rows {
    rp_buffer csv;
    rp_rows *table; /* NULL: it is not at hand, or has other features */
    rp_dataset *dataset;
} trained_rows;

static void close_trained(trained_rows *t)
{
    rp_rows_free(t->table); /* borrows the dataset's schema */
    rp_dataset_free(t->dataset);
    rp_buffer_free(&t->csv);
}

/* recipe: the archive's. Its features must be those of the schema, by name, kind and order. To be closed also on
 * failure. */
static rp_status open_trained(trained_rows *out, const rp_scoring *scoring, const rp_archive *archive,
                              const rp_recipe *recipe, rp_error *err)
{
    const rp_schema *own;
    rp_status status;

    *out = (trained_rows){.table = NULL};
    if (rp_archive_find(archive, RP_TABLE_MEMBER) == NULL)
        return RP_OK;
    status = rp_archive_read_member(archive, RP_TABLE_MEMBER, SIZE_MAX / 2, &out->csv, err);
    if (status == RP_OK)
        status = rp_dataset_fit(&out->dataset, recipe, out->csv.data, out->csv.size, RP_TABLE_MEMBER,
                                &(rp_table_options){.pool = rp_scoring_pool(scoring)}, err);
    if (status != RP_OK)
        return status;
    own = out->dataset->schema;
    return rp_same_features(scoring->schema, own)
               ? rp_rows_open(&out->table, own, recipe, out->csv.data, out->csv.size, RP_TABLE_MEMBER, recipe, err)
               : RP_OK;
}

/* Marks those that the training rows of an archive have. recipe: that archive's. *held: its table is there, and of the
 * same features. own_parts: it is the run itself, whose other parts are marked too. */
static rp_status mark_trained(bool *held, search *s, const rp_archive *archive, const rp_recipe *recipe, bool own_parts,
                              rp_error *err)
{
    const rp_scoring *scoring = s->judged->scoring;
    trained_rows own;
    rp_status status = open_trained(&own, scoring, archive, recipe, err);

    *held = own.table != NULL;
    if (status == RP_OK && *held) {
        const rp_dataset *d = own.dataset;
        const rp_read_rows judged = {scoring->schema, scoring->rows}, trained = {d->schema, own.table};
        const rp_own_rows list[] = {{d->train_row, d->train_rows, s->trained},
                                    {d->valid_row, s->all_parts || chose(recipe) ? d->valid_rows : 0, s->other},
                                    {d->test_row, s->all_parts ? d->test_rows : 0, s->other},
                                    {d->valid_row, own_parts ? d->valid_rows : 0, s->own},
                                    {d->test_row, own_parts ? d->test_rows : 0, s->own}};

        status = rp_rows_like(&judged, s->row, s->n, &trained, list, sizeof list / sizeof *list, err);
    }
    close_trained(&own);
    return status;
}

/* The rows of data.test_csv are all of another part. *held: its table is there, or there is none. */
static rp_status mark_test_table(bool *held, search *s, bool *mark, const rp_archive *archive, rp_error *err)
{
    const rp_scoring *scoring = s->judged->scoring;
    const char *member = rp_judged_test_member(archive);
    rp_buffer csv = {0};
    rp_rows *rows = NULL;
    int64_t *all = NULL;
    rp_status status;

    *held = strcmp(member, RP_TABLE_MEMBER) == 0 || rp_archive_find(archive, member) != NULL;
    if (!*held || strcmp(member, RP_TABLE_MEMBER) == 0)
        return RP_OK;
    status = rp_archive_read_member(archive, member, SIZE_MAX / 2, &csv, err);
    if (status == RP_OK)
        status = rp_rows_open(&rows, scoring->schema, scoring->recipe, csv.data, csv.size, member, NULL, err);
    if (status == RP_OK && (all = rp_reallocarray(NULL, rp_rows_count(rows) + 1, sizeof *all)) == NULL)
        status = rp_no_memory(err);
    for (size_t i = 0; status == RP_OK && i < rp_rows_count(rows); i++)
        all[i] = (int64_t)i;
    if (status == RP_OK)
        status = rp_rows_like(&(rp_read_rows){scoring->schema, scoring->rows}, s->row, s->n,
                              &(rp_read_rows){scoring->schema, rows}, &(rp_own_rows){all, rp_rows_count(rows), mark}, 1,
                              err);
    rp_free(all);
    rp_rows_free(rows);
    rp_buffer_free(&csv);
    return status;
}

/* Rows that a trial left out, which others of the trial's rows equal: no run of another archive is behind a trial. All
 * folds together chose the settings of a search. */
static rp_status count_out_of_fold(rp_seen_rows *out, const rp_archive *archive, const rp_judged *j, rp_error *err)
{
    trained_rows own;
    rp_tally seen;
    rp_status status = open_trained(&own, j->scoring, archive, j->scoring->recipe, err);

    *out = (rp_seen_rows){-1, -1, -1};
    if (status == RP_OK && own.table != NULL) {
        status = rp_rows_seen_apart(&seen, j->scoring->schema, own.table,
                                    &(rp_folded_rows){j->row, j->fold, j->known, j->rows}, own.dataset->train_row,
                                    own.dataset->train_rows, err);
        if (status == RP_OK)
            *out = (rp_seen_rows){(int64_t)seen.count,
                                  chose(j->scoring->recipe) ? (int64_t)(j->outcomes - seen.count) : 0, 0};
    }
    close_trained(&own);
    return status;
}

static const rp_archive *named(const char *id, const rp_archive *const *parents, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(rp_archive_id(parents[i]), id) == 0)
            return parents[i];
    return NULL;
}

/* A parent has features of its own: where they are not the child's, whose parameters come from it by their places, or
 * no run of a recipe is behind it, nobody can tell which rows it has seen. */
static rp_status mark_parent(bool *held, search *s, const rp_archive *parent, rp_error *err)
{
    rp_json *json = NULL;
    rp_recipe *recipe = NULL;
    rp_error ignored = {0};
    rp_status status;

    *held = false;
    if (!rp_archive_find(parent, RP_RECIPE_MEMBER))
        return RP_OK;
    status = rp_archive_read_json(parent, RP_RECIPE_MEMBER, &json, &ignored);
    if (status == RP_OK)
        status = rp_recipe_from_json(&recipe, json, RP_RECIPE_MEMBER, &ignored);
    if (status == RP_OK)
        status = mark_trained(held, s, parent, recipe, false, &ignored);
    rp_recipe_free(recipe);
    rp_json_free(json);
    if (status == RP_ENOMEM)
        return rp_no_memory(err);
    *held = *held && status == RP_OK;
    return RP_OK;
}

/* The run, and from it back to one that started from nothing. *own: its other parts are known. */
static rp_status mark_all(bool *known, bool *own, search *s, const rp_archive *archive,
                          const rp_archive *const *parents, size_t n, rp_error *err)
{
    rp_status status = mark_trained(known, s, archive, s->judged->scoring->recipe, true, err);

    if (status == RP_OK && *known)
        status = mark_test_table(own, s, s->own, archive, err);
    while (status == RP_OK && *known && rp_parent_id(archive)) {
        archive = named(rp_parent_id(archive), parents, n);
        *known = archive != NULL;
        if (*known)
            status = mark_parent(known, s, archive, err);
    }
    return status;
}

rp_status rp_seen_count(rp_seen_rows *out, const rp_archive *archive, const rp_judged *judged,
                        const rp_archive *const *parents, size_t n, rp_error *err)
{
    search s = {.judged = judged};
    int64_t *chosen = NULL;
    bool known = false, own = false;
    rp_status status;

    if (judged->fold != NULL)
        return count_out_of_fold(out, archive, judged, err);
    *out = (rp_seen_rows){-1, -1, -1};
    status = rows_with_outcome(&chosen, &s.n, judged, err);
    s.row = chosen;
    if (status == RP_OK)
        status = open_search(&s, err);
    if (status == RP_OK)
        status = mark_all(&known, &own, &s, archive, parents, n, err);
    if (status == RP_OK && known)
        *out = count(&s);
    if (!own)
        out->own = -1;
    close_search(&s);
    rp_free(chosen);
    return status;
}

rp_status rp_seen_own(rp_seen_rows *out, const rp_archive *archive, const rp_judged *judged, rp_error *err)
{
    search s = {.judged = judged, .row = judged->row, .n = judged->rows, .all_parts = true};
    bool known = false;
    rp_status status = open_search(&s, err);

    *out = (rp_seen_rows){-1, -1, -1};
    if (status == RP_OK)
        status = mark_trained(&known, &s, archive, judged->scoring->recipe, false, err);
    if (status == RP_OK && known)
        status = mark_test_table(&known, &s, s.other, archive, err);
    if (status == RP_OK && known)
        *out = count(&s);
    close_search(&s);
    return status;
}

static rp_json *count_json(int64_t count)
{
    return count < 0 ? rp_json_null() : rp_json_integer(count);
}

int rp_seen_put(rp_json *data, const rp_seen_rows *seen, const char *other)
{
    return rp_json_object_set_new(data, "seen", count_json(seen->trained)) |
           rp_json_object_set_new(data, other, count_json(seen->other));
}

int rp_seen_put_count(rp_json *data, const rp_seen_rows *seen)
{
    return rp_seen_put(data, seen, "chose") | rp_json_object_set_new(data, "own", count_json(seen->own));
}
