/* SPDX-License-Identifier: Apache-2.0
 * The table of a scorecard as a statement: the points of every cell that a column may have. */
#include <string.h>

#include "audit/explain/card.h"
#include "audit/validate/statement_text.h"
#include "base/handle.h"
#include "base/memory.h"
#include "core/data/treat/treat.h"
#include "core/train/figures.h"
#include "core/recipe/decimal_json.h"
#include "determinism/fpenv.h"
#include "rp/explain.h"
#include "rp/validation.h"

typedef struct table {
    const rp_card *card;
    double *x; /* [features]: of one cell */
    int64_t lowest, highest;
    bool numbers; /* some column's points have no bounds */
    bool beyond;  /* some cell's are too many to be points */
} table;

/* The points of what x holds in the column. */
static int put_points(table *t, rp_json *part, const rp_schema_column *c, int64_t *low, int64_t *high)
{
    const double exact = rp_card_exact(t->card, rp_card_column(t->card, c, t->x));
    const bool fits = rp_card_fits(exact);
    const int64_t points = fits ? rp_card_round(exact) : 0;

    t->beyond = t->beyond || !fits;
    *low = points < *low ? points : *low;
    *high = points > *high ? points : *high;
    return rp_json_object_set_new(part, "points", rp_json_integer(points)) | rp_put_figure(part, "exact", exact);
}

/* Features of a cell of that group (SIZE_MAX: of none), which is missing or not. */
static void set_group(table *t, const rp_schema_column *c, size_t group, bool missing)
{
    const bool narrow = t->card->scoring->model.dtype == RP_F32;

    for (size_t j = c->at; j < c->at + c->width; j++)
        t->x[j] = 0;
    if (group != SIZE_MAX && c->woe)
        t->x[c->at] = narrow ? (double)(float)c->woe[group] : c->woe[group];
    else if (group != SIZE_MAX)
        t->x[c->at + group] = 1;
    if (missing && c->indicator)
        t->x[c->at + c->width - 1] = 1;
}

static int add_part(table *t, rp_json *parts, rp_json *part, const rp_schema_column *c, int64_t *low, int64_t *high)
{
    int failed = part ? put_points(t, part, c, low, high) : -1;

    if (failed) {
        rp_json_free(part);
        return -1;
    }
    return rp_json_array_append_new(parts, part);
}

static rp_json *edge_json(const rp_schema_column *c, size_t i)
{
    return i < c->edges ? rp_json_decimal(c->edge[i]) : rp_json_null();
}

static int add_bins(table *t, rp_json *parts, const rp_schema_column *c, int64_t *low, int64_t *high)
{
    int failed = 0;

    for (size_t g = 0; g <= c->edges && !failed; g++) {
        set_group(t, c, g, false);
        failed = add_part(t, parts,
                          rp_json_pack("{s:o, s:o}", "from", edge_json(c, g ? g - 1 : c->edges), "to", edge_json(c, g)),
                          c, low, high);
    }
    set_group(t, c, rp_group_of(c, 0.0 / 0.0), true);
    return failed || add_part(t, parts, rp_json_pack("{s:o}", "missing", rp_json_boolean(true)), c, low, high);
}

static int add_categories(table *t, rp_json *parts, const rp_schema_column *c, int64_t *low, int64_t *high)
{
    int failed = 0;

    for (size_t g = 0; g < c->categories && !failed; g++) {
        set_group(t, c, g, false);
        failed = add_part(t, parts, rp_json_pack("{s:s}", "category", c->category[g]), c, low, high);
    }
    set_group(t, c, c->null_category ? c->categories : SIZE_MAX, true);
    failed = failed || add_part(t, parts, rp_json_pack("{s:o}", "missing", rp_json_boolean(true)), c, low, high);
    set_group(t, c, c->other ? c->categories + c->null_category : SIZE_MAX, false);
    return failed || add_part(t, parts, rp_json_pack("{s:o}", "unknown", rp_json_boolean(true)), c, low, high);
}

static rp_json *cap_json(const rp_schema_column *c)
{
    char low[RP_DECIMAL_SIZE], high[RP_DECIMAL_SIZE];

    (void)rp_print_f64(low, c->cap[0]);
    (void)rp_print_f64(high, c->cap[1]);
    return rp_json_pack("[s, s]", low, high);
}

/* A number without bins: what a unit of its feature is worth, and a missing cell, which an offset may not have. */
static int add_number(table *t, rp_json *out, rp_json *parts, const rp_schema_column *c, int64_t *low, int64_t *high)
{
    const bool narrow = t->card->scoring->model.dtype == RP_F32;
    double value = c->imputes ? c->missing : c->mean;
    int failed = rp_put_figure(out, "weight", t->card->margin.weight[c->at]);

    failed |= rp_put_figure(out, "mean", c->standardize ? c->mean : 0);
    failed |= rp_put_figure(out, "divisor", c->standardize ? c->divisor : 1);
    failed |= rp_json_object_set_new(out, "log", rp_json_boolean(c->log));
    failed |= rp_json_object_set_new(out, "cap", c->capped ? cap_json(c) : rp_json_null());
    if (c->standardize)
        value = (value - c->mean) / c->divisor;
    t->numbers = true;
    t->x[c->at] = narrow ? (double)(float)value : value;
    if (c->indicator)
        t->x[c->at + 1] = 1;
    if (c->offset != RP_OFFSET_NONE)
        return failed;
    return failed || add_part(t, parts, rp_json_pack("{s:o}", "missing", rp_json_boolean(true)), c, low, high);
}

static rp_json *column_json(table *t, size_t place)
{
    const rp_schema_column *c = &t->card->scoring->schema->columns[place];
    const char *kind = c->kind == RP_COL_CATEGORICAL ? "categories" : c->binned ? "bins" : "number";
    rp_json *out =
        rp_json_pack("{s:o, s:s, s:[]}", "column", c->name ? rp_json_string(c->name) : rp_json_integer((int64_t)place),
                     "kind", kind, "parts");
    rp_json *parts = rp_json_object_get(out, "parts");
    int64_t low = INT64_MAX, high = INT64_MIN;
    int failed = !out;

    if (!failed)
        failed = c->kind == RP_COL_CATEGORICAL ? add_categories(t, parts, c, &low, &high)
                 : c->binned                   ? add_bins(t, parts, c, &low, &high)
                                               : add_number(t, out, parts, c, &low, &high);
    if (low <= high) { /* an offset's number has no part */
        t->lowest += low;
        t->highest += high;
    }
    if (!failed)
        return out;
    rp_json_free(out);
    return NULL;
}

static int put_bound(rp_json *out, const char *key, const table *t, int64_t value)
{
    return rp_json_object_set_new(out, key, t->numbers ? rp_json_null() : rp_json_integer(value));
}

/* The predicate of FORMAT 15.3; NULL when memory runs out. */
static rp_json *card_json(table *t, const char *favourable)
{
    const rp_card *card = t->card;
    const rp_schema *schema = card->scoring->schema;
    rp_json *out = rp_json_pack("{s:[], s:i}", "columns", "contract", 1), *base = rp_json_object();
    int failed = rp_json_object_set_new(out, "base", base);

    t->lowest = t->highest = rp_card_round(rp_card_base(card));
    failed |= rp_json_object_set_new(base, "points", rp_json_integer(t->lowest));
    failed |= rp_put_figure(base, "exact", rp_card_base(card));
    for (size_t c = 0; c < schema->n_columns && !failed; c++)
        if (schema->columns[c].kind != RP_COL_IGNORE)
            failed |= rp_json_array_append_new(rp_json_object_get(out, "columns"), column_json(t, c));
    failed |= rp_json_object_set_new(out, "favourable", rp_json_string(schema->class_name[card->margin.favourable]));
    failed |= rp_json_object_set_new(out, "asked", favourable ? rp_json_string(favourable) : rp_json_null());
    failed |= rp_put_figure(out, "points", card->points) | rp_put_figure(out, "odds", card->odds);
    failed |= rp_put_figure(out, "double", card->twice) | rp_put_figure(out, "factor", card->factor);
    failed |= rp_put_figure(out, "offset", card->offset);
    failed |= put_bound(out, "lowest", t, t->lowest) | put_bound(out, "highest", t, t->highest);
    if (!failed)
        return out;
    rp_json_free(out);
    return NULL;
}

rp_status rp_scorecard(const rp_archive *archive, const rp_scorecard_options *options, const rp_job_options *job,
                       char **statement, size_t *length, rp_error *err)
{
    static const rp_scorecard_options none = {.scale = NULL};
    const rp_scorecard_options *o = options ? options : &none;
    rp_scoring *s = NULL;
    rp_card card = {.scoring = NULL};
    table t = {.card = &card};
    rp_json *predicate = NULL;
    rp_fpenv saved;
    rp_status status;

    *statement = NULL;
    *length = 0;
    if (!archive)
        return rp_no_handle(err, __func__, "archive");
    status = rp_scoring_open(&s, archive, job, err);
    if (status == RP_OK)
        status = rp_card_new(&card, s, o->scale, o->favourable, err);
    if (status == RP_OK && !(t.x = rp_calloc(s->model.features, sizeof *t.x)))
        status = rp_no_memory(err);
    if (status == RP_OK && (status = rp_fpenv_enter(&saved, NULL, err)) == RP_OK) {
        predicate = card_json(&t, o->favourable);
        rp_fpenv_leave(&saved);
        status = predicate ? RP_OK : rp_no_memory(err);
    }
    if (status == RP_OK && t.beyond) {
        rp_json_free(predicate);
        status = rp_fail(err, RP_EUNSUPPORTED,
                         "scorecard: a missing cell counts as a number so far out that it has no points; change its "
                         "data.columns: {..: {missing: ..}}");
    }
    rp_free(t.x);
    rp_card_clear(&card);
    rp_scoring_free(s);
    return status == RP_OK
               ? rp_validation_text(statement, length, rp_archive_id(archive), RP_SCORECARD_TYPE, predicate,
                                    "train a model with fewer categories or bins (data.columns: {..: {rare: ..}})", err)
               : status;
}

/* ---- again ---- */

static rp_status make_again(char **made, size_t *length, const rp_archive *archive, const rp_json *said,
                            const rp_job_options *job, rp_error *err)
{
    static const char *const keys[] = {"points", "odds", "double"};
    rp_buffer scale = {0};
    rp_status status = RP_OK;

    for (size_t i = 0; i < 3; i++) {
        const char *text = rp_json_string_value(rp_json_object_get(said, keys[i]));

        rp_buffer_text(&scale, i ? ":" : "");
        rp_buffer_text(&scale, text ? text : "");
    }
    rp_buffer_u8(&scale, 0);
    status = rp_buffer_status(&scale, err);
    if (status == RP_OK)
        status =
            rp_scorecard(archive,
                         &(rp_scorecard_options){.scale = (const char *)scale.data,
                                                 .favourable = rp_json_string_value(rp_json_object_get(said, "asked"))},
                         job, made, length, err);
    rp_buffer_free(&scale);
    return status;
}

rp_status rp_scorecard_check(const rp_archive *archive, const char *statement, size_t length, const rp_job_options *job,
                             rp_error *err)
{
    const char *type, *id;
    rp_json *json = NULL;
    char *made = NULL;
    size_t made_length = 0;
    rp_status status;

    if (!archive || !statement)
        return rp_no_handle(err, __func__, archive ? "statement" : "archive");
    status = rp_validation_parse(&json, &type, &id, statement, length, "the statement", NULL, 0, err);
    if (status == RP_OK && strcmp(type, RP_SCORECARD_TYPE) != 0)
        status = rp_fail(err, RP_ESIGN, "the statement: expected one of a scorecard, found %.100s", type);
    if (status == RP_OK && strcmp(id, rp_archive_id(archive)) != 0)
        status = rp_fail(err, RP_EHASH, "the statement is about archive %.64s, this is %s", id, rp_archive_id(archive));
    if (status == RP_OK)
        status = make_again(&made, &made_length, archive, rp_json_object_get(json, "predicate"), job, err);
    if (status == RP_OK)
        status = rp_validation_compare(made, made_length, statement, length, json, err);
    rp_text_free(made);
    rp_json_free(json);
    return status;
}
