/* SPDX-License-Identifier: Apache-2.0
 * reprise scorecard: the points of a linear model of two classes, as a table and as a statement. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/validate/statement.h"
#include "rp/explain.h"

enum { NAME = 160 }; /* of categories too: who looks cells up wants the whole of them */

static rp_status make(const void *self, const rp_archive *archive, const rp_buffer *csv, const char *where,
                      const rp_job_options *job, char **statement, size_t *length, rp_error *err)
{
    (void)csv;
    (void)where;
    return rp_scorecard(archive, self, job, statement, length, err);
}

static rp_status again(const void *self, const rp_archive *archive, const rp_buffer *csv, const char *where,
                       const char *statement, size_t length, const rp_job_options *job, rp_error *err)
{
    (void)self;
    (void)csv;
    (void)where;
    return rp_scorecard_check(archive, statement, length, job, err);
}

/* Every digit, for who computes with it. */
static const char *whole(const rp_json *object, const char *key)
{
    const char *text = rp_json_string_value(rp_json_object_get(object, key));

    return text ? text : "-";
}

static const char *real(char out[RP_NUMBER_TEXT], const rp_json *object, const char *key, size_t decimals)
{
    const char *text = rp_json_string_value(rp_json_object_get(object, key));

    return text ? rp_rounded(out, text, decimals) : "-";
}

/* What a cell is, of a part of a column. */
static void part_name(char out[NAME], const rp_json *part)
{
    const char *category = rp_json_string_value(rp_json_object_get(part, "category"));
    const char *from = rp_json_string_value(rp_json_object_get(part, "from"));
    const char *to = rp_json_string_value(rp_json_object_get(part, "to"));

    if (category)
        (void)rp_printable(out, NAME, category, strlen(category));
    else if (rp_json_object_get(part, "missing"))
        (void)snprintf(out, NAME, "(missing)");
    else if (rp_json_object_get(part, "unknown"))
        (void)snprintf(out, NAME, "(any other)");
    else if (!from && !to)
        (void)snprintf(out, NAME, "any number");
    else if (!from)
        (void)snprintf(out, NAME, "below %s", to);
    else if (!to)
        (void)snprintf(out, NAME, "from %s", from);
    else
        (void)snprintf(out, NAME, "from %s below %s", from, to);
}

/* What a row's number is worth: to be computed by hand, so with every digit. */
static void put_factor(rp_session *session, const rp_json *column)
{
    const rp_json *cap = rp_json_object_get(column, "cap");
    const char *low = rp_json_string_value(rp_json_array_get(cap, 0));
    const char *high = rp_json_string_value(rp_json_array_get(cap, 1));
    char number[96] = "number";

    if (low && high)
        (void)snprintf(number, sizeof number, "number within %s and %s", low, high);
    rp_buffer_printf(&session->out, "  factor x %s x (%s%s%s - %s) / %s, rounded\n", whole(column, "weight"),
                     rp_json_is_true(rp_json_object_get(column, "log")) ? "log1p(" : "", number,
                     rp_json_is_true(rp_json_object_get(column, "log")) ? ")" : "", whole(column, "mean"),
                     whole(column, "divisor"));
}

static void put_column(rp_session *session, const rp_json *column)
{
    const rp_json *label = rp_json_object_get(column, "column");
    const char *name = rp_json_string_value(label),
               *weight = rp_json_string_value(rp_json_object_get(column, "weight"));
    char text[NAME], number[RP_NUMBER_TEXT];
    rp_json *part;
    size_t i;

    if (name)
        (void)rp_printable(text, sizeof text, name, strlen(name));
    else
        (void)snprintf(text, sizeof text, "column %lld", (long long)rp_json_integer_value(label));
    rp_buffer_printf(&session->out, "\n%s\n", text);
    if (weight)
        put_factor(session, column);
    rp_json_array_foreach (rp_json_object_get(column, "parts"), i, part) {
        part_name(text, part);
        rp_buffer_printf(&session->out, "  %-44s %8lld   %10s\n", text,
                         (long long)rp_json_integer_value(rp_json_object_get(part, "points")),
                         real(number, part, "exact", 3));
    }
}

static void show(rp_session *session, const rp_json *predicate)
{
    const rp_json *base = rp_json_object_get(predicate, "base"), *lowest = rp_json_object_get(predicate, "lowest");
    const char *favourable = rp_json_string_value(rp_json_object_get(predicate, "favourable"));
    char text[RP_NUMBER_TEXT], quoted[NAME];
    rp_json *column;
    size_t i;

    rp_put_line(session, "scale", "%s points at odds %s of \"%s\", %s double them; factor %s",
                whole(predicate, "points"), whole(predicate, "odds"),
                rp_printable(quoted, sizeof quoted, favourable ? favourable : "", favourable ? strlen(favourable) : 0),
                whole(predicate, "double"), whole(predicate, "factor"));
    rp_put_line(session, "base", "%lld points (%s)",
                (long long)rp_json_integer_value(rp_json_object_get(base, "points")), real(text, base, "exact", 3));
    if (rp_json_is_integer(lowest))
        rp_put_line(session, "range", "%lld to %lld", (long long)rp_json_integer_value(lowest),
                    (long long)rp_json_integer_value(rp_json_object_get(predicate, "highest")));
    rp_json_array_foreach (rp_json_object_get(predicate, "columns"), i, column)
        put_column(session, column);
}

rp_status rp_command_scorecard(rp_session *session, int argc, char **argv, rp_error *err)
{
    static const char *const names[] = {"ARCHIVE"};
    rp_scorecard_options card = {.scale = NULL};
    rp_statement_request r = {.command = "scorecard", .self = &card, .make = make, .again = again, .show = show};
    const rp_option options[] = {
        {0, "points", RP_OPTION_TEXT, "P:O:D",
         "P points at odds O of the favourable class, D more double them (default: 600:19:50)", &card.scale, false},
        {0, "favourable", RP_OPTION_TEXT, "CLASS", "what it is good to get (default: the positive class)",
         &card.favourable, false},
        RP_STATEMENT_OPTIONS(&r),
    };
    const rp_usage usage = {"scorecard ARCHIVE [--points P:O:D] [-o CARD.json] [options]",
                            "Shows a model of two classes without layers as a table of points, whose sums are what\n"
                            "`predict --points` gives a row. Missing and unknown values have their points too.",
                            "  reprise scorecard loans.reprise --points 600:19:50 --favourable no -o card.json",
                            names,
                            1,
                            options,
                            RP_COUNT(options)};
    rp_status status = rp_options_parse(session, &usage, argc, argv, &r.archive, err);

    r.asked = card.scale || card.favourable;
    if (status != RP_OK || session->helped)
        return status;
    status = rp_statement_look(session, &r, err);
    return status == RP_OK ? rp_statement_run(session, &r, err) : status;
}
