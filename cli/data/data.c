/* SPDX-License-Identifier: Apache-2.0
 * reprise data: what a table holds and how it would be read, before anything is learnt from it. */
#include <string.h>

#include "base/file.h"
#include "cli/options.h"
#include "cli/print.h"
#include "cli/data/image.h"
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

typedef struct request {
    const char *path, *parts;
    bool force;
} request;

static rp_status write_parts(const request *r, const rp_job_options *options, rp_error *err)
{
    char *csv = NULL;
    rp_status status = r->parts ? rp_describe_parts(r->path, options, &csv, err) : RP_OK;

    if (status == RP_OK && r->parts)
        status = rp_file_save(r->parts, csv, strlen(csv), r->force, 0644, err);
    rp_text_free(csv);
    return status;
}

static rp_status describe(rp_session *session, const request *r, rp_error *err)
{
    char *text = NULL;
    rp_json *table = NULL;
    const rp_job_options options = {.read_table = rp_input_table, .decode_image = rp_image_decode, .parts = r->parts};
    rp_status status = write_parts(r, &options, err);

    if (status == RP_OK)
        status = rp_describe_data(r->path, &options, &text, err);
    if (status == RP_OK)
        status = rp_json_parse_within(&table, text, strlen(text), RP_JSON_METRICS_MEMORY, true, "data", err);
    if (status == RP_OK && session->json)
        rp_put_json(&session->out, NULL, table);
    else if (status == RP_OK)
        put_lines(session, r->path, table);
    if (status == RP_OK && !session->json && r->parts)
        rp_put_line(session, "written", "%s", r->parts);
    rp_json_free(table);
    rp_text_free(text);
    return status;
}

rp_status rp_command_data(rp_session *session, int argc, char **argv, rp_error *err)
{
    static const char *const names[] = {"RECIPE.yaml|TABLE.csv"};
    request r = {.path = NULL};
    const rp_option options[] = {
        {0, "parts", RP_OPTION_TEXT, "FILE", "write which part each row of the recipe's table is in: row,line,part",
         &r.parts, false},
        {0, "force", RP_OPTION_FLAG, NULL, "replace FILE if it exists", &r.force, false},
    };
    const rp_usage usage = {
        "data RECIPE.yaml|TABLE.csv|- [--parts FILE]",
        "Shows what a table holds and how it would be read: a line a column, then what deserves a word before a\n"
        "model learns from it. Of a recipe also whether a run would be refused, and why. Nothing is trained.\n"
        "- is a table on standard input; gzip and zstd are unpacked.",
        "  reprise data examples/loans.yaml\n  reprise data examples/loans.yaml --parts parts.csv",
        names,
        1,
        options,
        RP_COUNT(options)};
    rp_status status = rp_options_parse(session, &usage, argc, argv, &r.path, err);

    if (status == RP_OK && !session->helped && r.force && !r.parts)
        return rp_fail(err, RP_EARG, "data: --force belongs to --parts FILE; see reprise data --help");
    return status == RP_OK && !session->helped ? describe(session, &r, err) : status;
}
