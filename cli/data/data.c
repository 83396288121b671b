/* SPDX-License-Identifier: Apache-2.0
 * reprise data: what a table holds and how it would be read, before anything is learnt from it. */
#include <string.h>

#include "cli/options.h"
#include "cli/print.h"
#include "cli/data/input.h"
#include "cli/data/table.h"

static void put_lines(rp_session *session, const char *path, const rp_json *table)
{
    const char *error = rp_json_string_value(rp_json_object_get(table, "error"));

    rp_put_line(session, "data", "%s: %lld rows, %zu columns", path,
                (long long)rp_json_integer_value(rp_json_object_get(table, "rows")),
                rp_json_array_size(rp_json_object_get(table, "columns")));
    rp_put_table(&session->out, table);
    rp_put_findings(session, table);
    if (error)
        rp_put_verdict(session, false, "refused", "a run of this recipe ends with: %s", error);
}

static rp_status describe(rp_session *session, const char *path, rp_error *err)
{
    char *text = NULL;
    rp_json *table = NULL;
    const rp_job_options options = {.read_table = rp_input_table};
    rp_status status = rp_describe_data(path, &options, &text, err);

    if (status == RP_OK)
        status = rp_json_parse_within(&table, text, strlen(text), RP_JSON_METRICS_MEMORY, true, "data", err);
    if (status == RP_OK && session->json)
        rp_put_json(&session->out, NULL, table);
    else if (status == RP_OK)
        put_lines(session, path, table);
    rp_json_free(table);
    rp_text_free(text);
    return status;
}

rp_status rp_command_data(rp_session *session, int argc, char **argv, rp_error *err)
{
    static const char *const names[] = {"RECIPE.yaml|TABLE.csv"};
    const char *path = NULL;
    const rp_usage usage = {
        "data RECIPE.yaml|TABLE.csv|-",
        "Shows what a table holds and how it would be read: a line a column, then what deserves a word before a model\n"
        "learns from it. Of a recipe also whether a run would be refused, and why. Nothing is trained or written. -\n"
        "is a table on standard input; gzip and zstd are unpacked.",
        "  reprise data examples/loans.yaml",
        names,
        1,
        NULL,
        0};
    rp_status status = rp_options_parse(session, &usage, argc, argv, &path, err);

    return status == RP_OK && !session->helped ? describe(session, path, err) : status;
}
