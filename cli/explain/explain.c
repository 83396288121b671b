/* SPDX-License-Identifier: Apache-2.0
 * reprise explain: importance of columns and their effect on the score, as a table and as a statement. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "cli/validate/statement.h"
#include "rp/explain.h"

enum { NAME = 96, POINTS = 7 };

static rp_status make(const void *self, const rp_archive *archive, const rp_buffer *csv, const char *where,
                      const rp_job_options *job, char **statement, size_t *length, rp_error *err)
{
    /* an empty file has bytes too, none of them */
    return rp_explain(archive,
                      !csv        ? NULL
                      : csv->data ? (const void *)csv->data
                                  : "",
                      csv ? csv->size : 0, where, self, job, statement, length, err);
}

static rp_status again(const void *self, const rp_archive *archive, const rp_buffer *csv, const char *where,
                       const char *statement, size_t length, const rp_job_options *job, rp_error *err)
{
    (void)self;
    return rp_explain_check(archive,
                            !csv        ? NULL
                            : csv->data ? (const void *)csv->data
                                        : "",
                            csv ? csv->size : 0, where, statement, length, job, err);
}

static const char *real(char out[RP_NUMBER_TEXT], const rp_json *value, size_t decimals)
{
    const char *text = rp_json_string_value(value);

    return text ? rp_rounded(out, text, decimals) : "-";
}

static void name_of(char out[NAME], const rp_json *column)
{
    const char *name = rp_json_string_value(rp_json_object_get(column, "name"));

    if (name)
        (void)rp_printable(out, NAME, name, strlen(name));
    else
        (void)snprintf(out, NAME, "column %lld",
                       (long long)rp_json_integer_value(rp_json_object_get(column, "column")));
}

static double mean_of(const rp_json *column)
{
    const char *text = rp_json_string_value(rp_json_object_get(rp_json_object_get(column, "importance"), "mean"));

    return text ? strtod(text, NULL) : 0;
}

static void put_importance(rp_session *session, const rp_json *column)
{
    const rp_json *importance = rp_json_object_get(column, "importance");
    char name[NAME], number[2][RP_NUMBER_TEXT];

    name_of(name, column);
    rp_buffer_printf(&session->out, "  %-44s %10s %10s\n", name,
                     real(number[0], rp_json_object_get(importance, "mean"), 4),
                     real(number[1], rp_json_object_get(importance, "deviation"), 4));
}

/* Some points of the curve, the ends among them. */
static void put_dependence(rp_session *session, const rp_json *column)
{
    const rp_json *grid = rp_json_object_get(column, "grid"), *mean = rp_json_object_get(column, "dependence");
    const bool numeric = strcmp(rp_json_string_value(rp_json_object_get(column, "kind")), "numeric") == 0;
    const size_t n = rp_json_array_size(grid), shown = n < POINTS ? n : POINTS;
    char name[NAME], number[2][RP_NUMBER_TEXT];

    name_of(name, column);
    rp_buffer_printf(&session->out, "\n%s\n", name);
    for (size_t i = 0; i < shown; i++) {
        const size_t at = shown < 2 ? i : i * (n - 1) / (shown - 1);
        const char *text = rp_json_string_value(rp_json_array_get(grid, at));

        if (rp_json_is_object(rp_json_array_get(grid, at)))
            (void)snprintf(name, sizeof name, "(any other)");
        else if (!text)
            (void)snprintf(name, sizeof name, "(missing)");
        else if (numeric)
            (void)snprintf(name, sizeof name, "%s", rp_rounded(number[0], text, 4));
        else
            (void)rp_printable(name, sizeof name, text, strlen(text));
        rp_buffer_printf(&session->out, "  %-44s %10s\n", name, real(number[1], rp_json_array_get(mean, at), 4));
    }
}

/* Columns by falling importance; of equal ones the first. */
static void sort_columns(size_t *order, const rp_json *columns)
{
    for (size_t i = 0; i < rp_json_array_size(columns); i++) {
        size_t at = i;

        for (; at > 0 && mean_of(rp_json_array_get(columns, i)) > mean_of(rp_json_array_get(columns, order[at - 1]));
             at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

static void put_title(rp_session *session, const char *favourable)
{
    char quoted[NAME];

    if (favourable)
        rp_buffer_printf(&session->out, "\nmean probability of \"%s\" with all rows having this value:\n",
                         rp_printable(quoted, sizeof quoted, favourable, strlen(favourable)));
    else
        rp_buffer_text(&session->out, "\nmean predicted value with all rows having this value:\n");
}

static void show(rp_session *session, const rp_json *predicate)
{
    const rp_json *columns = rp_json_object_get(predicate, "columns"), *data = rp_json_object_get(predicate, "data");
    const rp_json *options = rp_json_object_get(predicate, "options");
    const char *metric = rp_json_string_value(rp_json_object_get(predicate, "metric"));
    const char *favourable = rp_json_string_value(rp_json_object_get(predicate, "favourable"));
    const size_t n = rp_json_array_size(columns);
    size_t *order = rp_reallocarray(NULL, n + 1, sizeof *order);
    char number[RP_NUMBER_TEXT], quoted[NAME];

    if (!order)
        return;
    sort_columns(order, columns);
    rp_put_line(session, "rows", "%lld, of which %lld without an outcome",
                (long long)rp_json_integer_value(rp_json_object_get(data, "rows")),
                (long long)rp_json_integer_value(rp_json_object_get(data, "without_outcome")));
    if (rp_json_is_true(rp_json_object_get(data, "unfiltered")))
        rp_put_line(session, "where", "not applied: rows that the recipe leaves out are judged too");
    if (favourable)
        rp_put_line(session, "score", "the probability of \"%s\"",
                    rp_printable(quoted, sizeof quoted, favourable, strlen(favourable)));
    else
        rp_put_line(session, "score", "the predicted value, in the target's units");
    rp_put_line(session, "scored", "%lld times with one column changed",
                (long long)rp_json_integer_value(rp_json_object_get(predicate, "scored")));
    rp_put_line(session, metric ? metric : "", "%s; %s when a column is permuted, mean and deviation of %lld:",
                real(number, rp_json_object_get(predicate, "value"), 4),
                metric && (strstr(metric, "loss") || strcmp(metric, "brier") == 0 || strcmp(metric, "rmse") == 0 ||
                           strcmp(metric, "mae") == 0)
                    ? "its rise"
                    : "its fall",
                (long long)rp_json_integer_value(rp_json_object_get(options, "repeats")));
    for (size_t i = 0; i < n; i++)
        put_importance(session, rp_json_array_get(columns, order[i]));
    put_title(session, favourable);
    for (size_t i = 0; i < n; i++)
        put_dependence(session, rp_json_array_get(columns, order[i]));
    rp_free(order);
}

typedef struct texts {
    const char *repeats, *grid, *curves, *seed;
} texts;

static rp_status read_options(rp_explain_options *o, const texts *t, rp_error *err)
{
    size_t seed = 1;
    rp_status status = rp_number_option(&o->repeats, t->repeats, "explain", "--repeats", 1, RP_REPEATS_MAX, err);

    if (status == RP_OK)
        status = rp_number_option(&o->grid, t->grid, "explain", "--grid", 1, RP_GRID_MAX, err);
    if (status == RP_OK)
        status = rp_number_option(&o->curves, t->curves, "explain", "--curves", 0, RP_CURVES_MAX, err);
    if (status == RP_OK)
        status = rp_number_option(&seed, t->seed, "explain", "--seed", 0, ((size_t)1 << 53) - 1, err);
    o->seed = seed;
    return status;
}

rp_status rp_command_explain(rp_session *session, int argc, char **argv, rp_error *err)
{
    static const char *const names[] = {"ARCHIVE"};
    rp_explain_options how = {.curves = 5};
    texts t = {.seed = NULL};
    rp_statement_request r = {.command = "explain",
                              .self = &how,
                              .attachable = true,
                              .rows = true,
                              .make = make,
                              .again = again,
                              .show = show};
    const rp_option options[] = {
        {0, "csv", RP_OPTION_TEXT, "FILE", "rows with outcomes, with the columns of the training data", &r.csv, false},
        {0, "part", RP_OPTION_TEXT, "test", "instead: the archive's own rows that no step has seen", &r.part, false},
        {0, "metric", RP_OPTION_TEXT, "NAME",
         "what falls: auc, log_loss, brier; log_loss, accuracy, macro_auc of more classes; r2, rmse, mae", &how.metric,
         false},
        {0, "favourable", RP_OPTION_TEXT, "CLASS", "whose score is looked at (default: the positive class)",
         &how.favourable, false},
        {0, "repeats", RP_OPTION_TEXT, "N", "permutations a column (default: 5)", &t.repeats, false},
        {0, "seed", RP_OPTION_TEXT, "N", "of the permutations (default: 1)", &t.seed, false},
        {0, "grid", RP_OPTION_TEXT, "N", "parts of a number's quantiles (default: 10)", &t.grid, false},
        {0, "curves", RP_OPTION_TEXT, "N", "rows whose own curves are told (default: 5)", &t.curves, false},
        RP_STATEMENT_ATTACH(&r),
        RP_STATEMENT_OPTIONS(&r),
    };
    const rp_usage usage = {
        "explain ARCHIVE --csv ROWS.csv|--part test [-o STATEMENT.json] [options]",
        "Says which columns the archive's model needs on rows with outcomes, by permuting one at a\n"
        "time, and how its score moves with each of them: partial dependence and single rows'\n"
        "curves. The statement is bound to archive and rows, and --check makes it again.",
        "  reprise explain loans.reprise --csv new.csv --repeats 10 -o why.json",
        names,
        1,
        options,
        RP_COUNT(options)};
    rp_status status = rp_options_parse(session, &usage, argc, argv, &r.archive, err);

    if (status != RP_OK || session->helped)
        return status;
    r.asked = how.metric || how.favourable || t.repeats || t.seed || t.grid || t.curves;
    how.part = r.part;
    status = read_options(&how, &t, err);
    if (status == RP_OK)
        status = rp_statement_look(session, &r, err);
    return status == RP_OK ? rp_statement_run(session, &r, err) : status;
}
