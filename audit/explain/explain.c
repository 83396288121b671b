/* SPDX-License-Identifier: Apache-2.0
 * Permutation importance, partial dependence and individual curves of a model on rows with outcomes, as a statement
 * (CONTRACT 14.11, FORMAT 15.4); and making it again. */
#include <string.h>

#include "audit/explain/changes.h"
#include "audit/explain/grid.h"
#include "audit/validate/seen.h"
#include "audit/validate/statement_text.h"
#include "base/handle.h"
#include "base/memory.h"
#include "core/data/schema.h"
#include "determinism/decimal.h"
#include "determinism/fpenv.h"
#include "determinism/philox.h"
#include "determinism/sum.h"
#include "rp/explain.h"
#include "rp/validation.h"

enum { STREAM_PERMUTED = 0x50000000 };

/* A figure of 14.2 to 14.5 that falls, or of losses rises, when a column stops telling. The first of a kind is the one
 * that is taken unless another is asked for. */
typedef struct metric {
    const char *name, *inside; /* the object of the figures that it stands in; NULL: themselves */
    enum { TWO_CLASSES, CLASSES, QUANTITY } kind;
    bool loss;
} metric;

static const metric metrics[] = {
    {"auc", "discrimination", TWO_CLASSES, false},
    {"log_loss", "calibration", TWO_CLASSES, true},
    {"brier", "calibration", TWO_CLASSES, true},
    {"log_loss", NULL, CLASSES, true},
    {"accuracy", NULL, CLASSES, false},
    {"macro_auc", NULL, CLASSES, false},
    {"r2", NULL, QUANTITY, false},
    {"rmse", NULL, QUANTITY, true},
    {"mae", NULL, QUANTITY, true},
};

typedef struct explanation {
    rp_explain_options options; /* with the defaults in place */
    rp_judged *judged;
    rp_changes changes;
    rp_margin margin;
    const metric *metric;
    double base;    /* the metric of the rows as they are */
    int64_t *label; /* [rows] of classes, or */
    double *target; /* [rows] */
    int64_t *from;  /* [rows]: a permutation */
    rp_seen_rows seen;
    double *value;  /* [rows] */
    size_t columns; /* that are features */
} explanation;

static rp_status choose_metric(explanation *e, rp_error *err)
{
    const size_t classes = e->judged->scoring->schema->classes;
    const int kind = classes == 0 ? QUANTITY : classes == 2 ? TWO_CLASSES : CLASSES;

    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0] && !e->metric; i++)
        if ((int)metrics[i].kind == kind && (!e->options.metric || strcmp(metrics[i].name, e->options.metric) == 0))
            e->metric = &metrics[i];
    return e->metric ? RP_OK
                     : rp_fail(err, RP_EARG, "explain: metric: expected %s, found \"%.40s\"",
                               kind == QUANTITY      ? "r2, rmse or mae"
                               : kind == TWO_CLASSES ? "auc, log_loss or brier"
                                                     : "log_loss, accuracy or macro_auc",
                               e->options.metric);
}

static rp_status look(explanation *e, const rp_explain_options *given, rp_error *err)
{
    e->options = *given;
    if (given->repeats > RP_REPEATS_MAX || given->grid > RP_GRID_MAX || given->curves > RP_CURVES_MAX)
        return rp_fail(err, RP_EARG, "explain: expected at most %d repeats, %d parts of a grid and %d curves",
                       RP_REPEATS_MAX, RP_GRID_MAX, RP_CURVES_MAX);
    if (given->seed >= (uint64_t)1 << 53)
        return rp_fail(err, RP_EARG, "explain: seed: expected 0 to 2^53 - 1");
    e->options.repeats = given->repeats ? given->repeats : 5;
    e->options.grid = given->grid ? given->grid : 10;
    return RP_OK;
}

/* ---- the metric of changed rows ---- */

static rp_status measure(const explanation *e, const double *scores, double *out, rp_error *err)
{
    const rp_scoring *s = e->judged->scoring;
    const rp_scored_rows rows = {.rows = e->changes.rows,
                                 .classes = s->schema->classes,
                                 .outputs = s->model.outputs,
                                 .score = scores,
                                 .label = e->label,
                                 .target = e->target};
    rp_json *figures = NULL;
    const rp_json *object;
    const char *text;
    rp_status status = rp_figures(&figures, &rows, e->judged->yardstick,
                                  &(rp_figure_options){.brief = true, .threshold = 0.0 / 0.0}, err);

    object = e->metric->inside ? rp_json_object_get(figures, e->metric->inside) : figures;
    text = rp_json_string_value(rp_json_object_get(object, e->metric->name));
    if (status == RP_OK && (!text || !rp_parse_f64(out, text, strlen(text))))
        status = rp_fail(err, RP_EDATA, "explain: %s is not defined on these rows: have they both outcomes?",
                         e->metric->name);
    rp_json_free(figures);
    return status;
}

static rp_status start(explanation *e, rp_error *err)
{
    const rp_judged *j = e->judged;
    const size_t n = e->changes.rows, outputs = j->scoring->model.outputs;

    e->label = j->label ? rp_reallocarray(NULL, n, sizeof *e->label) : NULL;
    e->target = j->value ? rp_reallocarray(NULL, n, sizeof *e->target) : NULL;
    e->from = rp_reallocarray(NULL, n, sizeof *e->from);
    e->value = rp_reallocarray(NULL, n, sizeof *e->value);
    if ((j->label && !e->label) || (j->value && !e->target) || !e->from || !e->value)
        return rp_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        const size_t row = e->changes.judge[i];

        memcpy(e->changes.scores + i * outputs, j->scoring->scores + row * outputs,
               outputs * sizeof *e->changes.scores);
        if (e->label)
            e->label[i] = j->label[row];
        if (e->target)
            e->target[i] = j->value[row];
    }
    return measure(e, e->changes.scores, &e->base, err);
}

/* ---- one column ---- */

static rp_status add_importance(explanation *e, size_t column, rp_json *out, rp_error *err)
{
    double fall[RP_REPEATS_MAX], mean, square[RP_REPEATS_MAX];
    const size_t repeats = e->options.repeats;
    rp_json *importance = rp_json_pack("{s:[]}", "repeats");
    rp_status status = importance ? rp_changes_take(&e->changes, column, err) : rp_no_memory(err);
    int failed = rp_json_object_set_new(out, "importance", importance);

    for (size_t r = 0; r < repeats && status == RP_OK; r++) {
        double figure = 0;

        rp_permutation(e->from, e->changes.rows, e->options.seed, r, STREAM_PERMUTED + (uint32_t)column);
        status = rp_changes_permuted(&e->changes, column, e->from, err);
        if (status == RP_OK)
            status = measure(e, e->changes.scores, &figure, err);
        fall[r] = e->metric->loss ? figure - e->base : e->base - figure;
        if (status == RP_OK)
            failed |= rp_append_figure(rp_json_object_get(importance, "repeats"), fall[r]);
    }
    if (status != RP_OK)
        return status;
    mean = rp_sum_f64(fall, repeats, 1) / (double)repeats;
    for (size_t r = 0; r < repeats; r++)
        square[r] = (fall[r] - mean) * (fall[r] - mean);
    failed |= rp_put_figure(importance, "mean", mean);
    failed |= rp_put_figure(importance, "deviation", __builtin_sqrt(rp_sum_f64(square, repeats, 1) / (double)repeats));
    return failed ? rp_no_memory(err) : RP_OK;
}

/* Row i of k curves: the rows are cut into k parts, and each part's first is taken. */
static size_t curve_row(const explanation *e, size_t i)
{
    return e->changes.rows * i / e->options.curves;
}

static rp_status add_point(explanation *e, size_t column, const rp_grid *grid, size_t point, rp_json *dependence,
                           rp_json *curves, rp_error *err)
{
    const rp_scoring *s = e->judged->scoring;
    const size_t n = e->changes.rows;
    rp_status status = rp_changes_fixed(&e->changes, column, grid->number[point], grid->group[point], err);
    int failed = 0;

    if (status != RP_OK)
        return status;
    for (size_t i = 0; i < n; i++)
        e->value[i] = rp_margin_score(&e->margin, s, e->changes.scores + i * s->model.outputs);
    failed |= rp_append_figure(dependence, rp_sum_f64(e->value, n, 1) / (double)n);
    for (size_t i = 0; i < rp_json_array_size(curves); i++)
        failed |= rp_append_figure(rp_json_array_get(curves, i), e->value[curve_row(e, i)]);
    return failed ? rp_no_memory(err) : RP_OK;
}

static rp_status add_dependence(explanation *e, size_t column, const rp_grid *grid, rp_json *out, rp_error *err)
{
    rp_json *dependence = rp_json_array(), *curves = rp_json_array();
    int failed = rp_json_object_set_new(out, "dependence", dependence);
    rp_status status = RP_OK;

    failed |= rp_json_object_set_new(out, "curves", curves);
    for (size_t i = 0; i < e->options.curves && i < e->changes.rows && !failed; i++)
        failed |= rp_json_array_append_new(curves, rp_json_array());
    failed |= rp_json_object_set_new(out, "grid", rp_grid_json(grid));
    if (failed)
        return rp_no_memory(err);
    for (size_t i = 0; i < grid->points && status == RP_OK; i++)
        status = add_point(e, column, grid, i, dependence, curves, err);
    return status;
}

static rp_status add_column(explanation *e, size_t column, const rp_grid *grid, rp_json *list, rp_error *err)
{
    const rp_schema_column *c = &e->judged->scoring->schema->columns[column];
    rp_json *out = rp_json_pack("{s:I, s:s?, s:s}", "column", (int64_t)column, "name", c->name, "kind",
                                c->kind == RP_COL_NUMERIC ? "numeric" : "categorical");
    rp_status status = out && rp_json_array_append(list, out) == 0 ? RP_OK : rp_no_memory(err);

    rp_json_free(out);
    if (status == RP_OK)
        status = add_importance(e, column, out, err);
    return status == RP_OK ? add_dependence(e, column, grid, out, err) : status;
}

/* ---- all columns ---- */

static rp_status find_grids(const explanation *e, rp_grid *grids, uint64_t *times, rp_error *err)
{
    const rp_scoring *s = e->judged->scoring;
    rp_status status = RP_OK;

    for (size_t c = 0; c < s->schema->n_columns && status == RP_OK; c++) {
        if (s->schema->columns[c].kind == RP_COL_IGNORE)
            continue;
        status = rp_grid_make(&grids[c], s, c, e->changes.row, e->changes.rows, e->options.grid, err);
        *times += e->options.repeats + grids[c].points;
    }
    return status;
}

static rp_status add_columns(explanation *e, const rp_job_options *job, rp_json *list, uint64_t *times, rp_error *err)
{
    const rp_schema *schema = e->judged->scoring->schema;
    rp_grid *grids = rp_calloc(schema->n_columns, sizeof *grids);
    rp_status status = grids ? find_grids(e, grids, times, err) : rp_no_memory(err);

    if (status == RP_OK)
        status = rp_changes_afford(&e->changes, *times, job, err);
    for (size_t c = 0; c < schema->n_columns && status == RP_OK; c++)
        if (schema->columns[c].kind != RP_COL_IGNORE)
            status = add_column(e, c, &grids[c], list, err);
    for (size_t c = 0; c < schema->n_columns && grids; c++)
        rp_grid_clear(&grids[c]);
    rp_free(grids);
    return status;
}

static rp_json *options_json(const explanation *e)
{
    const rp_explain_options *o = &e->options;

    return rp_json_pack("{s:I, s:s?, s:I, s:s?, s:s?, s:I, s:I}", "curves", (int64_t)o->curves, "favourable",
                        o->favourable, "grid", (int64_t)o->grid, "metric", o->metric, "part", o->part, "repeats",
                        (int64_t)o->repeats, "seed", (int64_t)o->seed);
}

static rp_status fill(rp_json *out, explanation *e, const void *csv, size_t size, const rp_job_options *job,
                      rp_error *err)
{
    const rp_scoring *s = e->judged->scoring;
    rp_json *data = rp_text_digest(csv, size, err), *list = rp_json_array(), *rows = rp_json_array();
    uint64_t times = 0;
    rp_status status;
    int failed = rp_json_object_set_new(data, "rows", rp_json_integer((int64_t)e->judged->rows));

    failed |=
        rp_json_object_set_new(data, "without_outcome", rp_json_integer((int64_t)(e->judged->rows - e->changes.rows)));
    failed |= rp_json_object_set_new(data, "unfiltered", rp_json_boolean(e->judged->unfiltered));
    failed |=
        rp_json_object_set_new(data, "seen", e->seen.trained < 0 ? rp_json_null() : rp_json_integer(e->seen.trained));
    failed |= rp_json_object_set_new(out, "data", data) | rp_json_object_set_new(out, "columns", list);
    failed |= rp_json_object_set_new(out, "curve_rows", rows);
    failed |= rp_json_object_set_new(out, "contract", rp_json_integer(1));
    failed |= rp_json_object_set_new(out, "favourable",
                                     s->schema->classes ? rp_json_string(s->schema->class_name[e->margin.favourable])
                                                        : rp_json_null());
    failed |= rp_json_object_set_new(out, "score", rp_json_string(s->schema->classes ? "probability" : "value"));
    failed |= rp_json_object_set_new(out, "metric", rp_json_string(e->metric->name));
    failed |= rp_put_figure(out, "value", e->base);
    failed |= rp_json_object_set_new(out, "options", options_json(e));
    for (size_t i = 0; i < e->options.curves && i < e->changes.rows && !failed; i++)
        failed |= rp_json_array_append_new(rows, rp_json_integer((int64_t)e->changes.row[curve_row(e, i)]));
    if (failed)
        return rp_no_memory(err);
    status = add_columns(e, job, list, &times, err);
    if (status == RP_OK && rp_json_object_set_new(out, "scored", rp_json_integer((int64_t)times)) != 0)
        status = rp_no_memory(err);
    return status;
}

static rp_status explain(rp_json **out, explanation *e, const void *csv, size_t size, const char *where,
                         const rp_job_options *job, rp_error *err)
{
    rp_status status;

    if (e->judged->outcomes == 0)
        return rp_fail(err, RP_EDATA,
                       "%s: expected rows with an outcome, found none: the target's column is not there or empty",
                       where);
    status = choose_metric(e, err);
    if (status == RP_OK)
        status = rp_margin_new(&e->margin, e->judged->scoring, e->options.favourable, err);
    if (status == RP_OK)
        status = rp_changes_new(&e->changes, e->judged, err);
    e->options.curves = e->options.curves < e->changes.rows ? e->options.curves : e->changes.rows;
    if (status == RP_OK)
        status = start(e, err);
    if (status == RP_OK)
        status = (*out = rp_json_object()) ? fill(*out, e, csv, size, job, err) : rp_no_memory(err);
    if (status != RP_OK) {
        rp_json_free(*out);
        *out = NULL;
    }
    return status;
}

rp_status rp_explain(const rp_archive *archive, const void *csv, size_t size, const char *where,
                     const rp_explain_options *options, const rp_job_options *job, char **statement, size_t *length,
                     rp_error *err)
{
    static const rp_explain_options none = {.seed = 1};
    explanation e = {.metric = NULL};
    rp_json *predicate = NULL;
    rp_buffer bytes = {0};
    rp_judged_of of = RP_JUDGED_GIVEN;
    rp_fpenv saved;
    rp_status status;

    *statement = NULL;
    *length = 0;
    if (!archive)
        return rp_no_handle(err, __func__, "archive");
    if (!where)
        where = "table";
    status = look(&e, options ? options : &none, err);
    if (status == RP_OK && e.options.part && strcmp(e.options.part, "test") != 0)
        status = rp_fail(err, RP_EARG, "part: expected test, found \"%.40s\"", e.options.part);
    if (status == RP_OK)
        status = rp_judged_own(&bytes, &of, archive, e.options.part, &csv, &size, &where, err);
    if (status == RP_OK)
        status =
            rp_judged_new(&e.judged, archive, &(rp_judged_table){.csv = csv, .size = size, .where = where, .of = of},
                          job, NULL, NULL, err);
    if (status == RP_OK)
        status = rp_seen_count(&e.seen, archive, e.judged, NULL, 0, err);
    if (status == RP_OK && (status = rp_fpenv_enter(&saved, NULL, err)) == RP_OK) {
        status = explain(&predicate, &e, csv, size, where, job, err);
        rp_fpenv_leave(&saved);
    }
    rp_changes_clear(&e.changes);
    rp_margin_clear(&e.margin);
    rp_free(e.label);
    rp_free(e.target);
    rp_free(e.from);
    rp_free(e.value);
    rp_judged_free(e.judged);
    rp_buffer_free(&bytes);
    return status == RP_OK
               ? rp_validation_text(statement, length, rp_archive_id(archive), RP_EXPLANATION_TYPE, predicate,
                                    "ask for fewer curves (--curves), or a coarser grid (--grid)", err)
               : status;
}

/* ---- again ---- */

static size_t count_at(const rp_json *said, const char *key)
{
    const int64_t value = rp_json_integer_value(rp_json_object_get(said, key));

    return value < 0 ? SIZE_MAX : (size_t)value;
}

rp_status rp_explain_check(const rp_archive *archive, const void *csv, size_t size, const char *where,
                           const char *statement, size_t length, const rp_job_options *job, rp_error *err)
{
    const char *type, *id;
    rp_json *json = NULL;
    char *made = NULL;
    size_t made_length = 0;
    rp_status status;

    if (!archive || !statement)
        return rp_no_handle(err, __func__, archive ? "statement" : "archive");
    status = rp_validation_parse(&json, &type, &id, statement, length, "the statement", NULL, 0, err);
    if (status == RP_OK && strcmp(type, RP_EXPLANATION_TYPE) != 0)
        status = rp_fail(err, RP_ESIGN, "the statement: expected one of an explanation, found %.100s", type);
    if (status == RP_OK && strcmp(id, rp_archive_id(archive)) != 0)
        status = rp_fail(err, RP_EHASH, "the statement is about archive %.64s, this is %s", id, rp_archive_id(archive));
    if (status == RP_OK)
        status = rp_validation_same_rows(rp_json_object_get(json, "predicate"), csv, size, where, err);
    if (status == RP_OK) {
        const rp_json *said = rp_json_object_get(rp_json_object_get(json, "predicate"), "options");
        const rp_explain_options options = {.favourable = rp_json_string_value(rp_json_object_get(said, "favourable")),
                                            .metric = rp_json_string_value(rp_json_object_get(said, "metric")),
                                            .part = rp_json_string_value(rp_json_object_get(said, "part")),
                                            .seed = count_at(said, "seed"),
                                            .repeats = count_at(said, "repeats"),
                                            .grid = count_at(said, "grid"),
                                            .curves = count_at(said, "curves")};

        status = rp_explain(archive, csv, size, where, &options, job, &made, &made_length, err);
    }
    if (status == RP_OK)
        status = rp_validation_is_again(made, made_length, statement, length, json, err);
    rp_text_free(made);
    rp_json_free(json);
    return status;
}
