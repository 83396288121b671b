/* SPDX-License-Identifier: Apache-2.0
 * reprise retrain: a parent's recipe and columns on new rows. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/archive_files.h"
#include "cli/print.h"
#include "cli/run.h"
#include "rp/retraining.h"

typedef struct request {
    rp_run_request run;
    rp_retraining what;
} request;

static rp_status parse(rp_session *session, int argc, char **argv, request *r, rp_error *err)
{
    static const char *const names[] = {"PARENT"};
    const rp_option options[] = {
        {0, "csv", RP_OPTION_TEXT, "FILE", "the new rows, with the columns of the parent's table", &r->what.csv, true},
        {'o', "out", RP_OPTION_TEXT, "FILE", "the child's archive", &r->run.out, true},
        {0, "warm-start", RP_OPTION_FLAG, NULL, "start from the parent's weights (default: afresh, as it did)",
         &r->what.warm_start, false},
        RP_RUN_OPTIONS(&r->run),
    };
    const rp_usage usage = {
        "retrain PARENT --csv NEW.csv -o CHILD.reprise [--key KEY.pem] [options]",
        "Trains the parent's recipe again on new rows: its columns, their kinds and its classes are kept, all that\n"
        "is learnt from rows is learnt from the new ones. Categories that are new or gone are listed; a column or\n"
        "a class that is gone, and a number that became text, are errors. The child names the parent as its\n"
        "predecessor.",
        "  reprise retrain loans.reprise --csv loans-2026.csv -o loans-2026.reprise --key me.pem",
        names,
        1,
        options,
        RP_COUNT(options)};
    rp_status status = rp_options_parse(session, &usage, argc, argv, &r->what.parent, err);

    return status == RP_OK && !session->helped ? rp_run_request_check(session, &r->run, "retrain", usage.synopsis, err)
                                               : status;
}

static rp_status train_again(const void *self, const rp_key *key, const rp_job_options *options, rp_job **job,
                             rp_error *err)
{
    const request *r = self;

    return rp_retrain(&r->what, r->run.out, key, r->run.force, options, job, err);
}

/* ---- what changed ---- */

static void put_texts(rp_session *session, const rp_json *list, int64_t count)
{
    rp_json *item;
    size_t i;
    char quoted[48];

    rp_json_array_foreach (list, i, item) {
        const char *text = rp_json_string_value(item);

        if (text)
            rp_buffer_printf(&session->out, "%s %s", i ? "," : "",
                             rp_printable(quoted, sizeof quoted, text, strlen(text)));
        else
            rp_buffer_printf(&session->out, "%s %lld", i ? "," : "", (long long)rp_json_integer_value(item));
    }
    if (count > (int64_t)i)
        rp_buffer_printf(&session->out, " and %lld more", (long long)(count - (int64_t)i));
    rp_buffer_text(&session->out, "\n");
}

static void put_list(rp_session *session, const char *label, const rp_json *changes, const char *key)
{
    const rp_json *list = rp_json_object_get(changes, key);

    if (rp_json_array_size(list) == 0)
        return;
    rp_buffer_printf(&session->out, "%s", label);
    put_texts(session, list, 0);
}

static void put_changes(rp_session *session, const rp_json *changes)
{
    static const char *const sides[] = {"new", "gone"};
    rp_json *column;
    size_t i;
    char name[40];

    put_list(session, "passed over: columns that the parent did not have:", changes, "columns_new");
    put_list(session, "not there: columns that the parent passed over:", changes, "columns_gone");
    put_list(session, "card: of the parent's rows, so left out:", changes, "card_left_out");
    rp_json_array_foreach (rp_json_object_get(changes, "categories"), i, column) {
        const rp_json *label = rp_json_object_get(column, "column");
        const char *text = rp_json_string_value(label);

        if (text)
            (void)rp_printable(name, sizeof name, text, strlen(text));
        else
            (void)snprintf(name, sizeof name, "column %lld", (long long)rp_json_integer_value(label));
        for (size_t k = 0; k < 2; k++) {
            const rp_json *side = rp_json_object_get(column, sides[k]);
            const int64_t count = rp_json_integer_value(rp_json_object_get(side, "count"));

            if (count == 0)
                continue;
            rp_buffer_printf(&session->out, "%s: %lld %s %s:", name, (long long)count,
                             count == 1 ? "category" : "categories", sides[k]);
            put_texts(session, rp_json_object_get(side, "first"), count);
        }
    }
}

static rp_status changes_of(rp_json **out, const request *r, rp_error *err)
{
    rp_archive *parent = NULL, *child = NULL;
    char *text = NULL;
    rp_status status = rp_archive_open_confirmed(&parent, r->what.parent, err);

    if (status == RP_OK)
        status = rp_archive_open_confirmed(&child, r->run.out, err);
    if (status == RP_OK)
        status = rp_retraining_changes(parent, child, &text, err);
    if (status == RP_OK)
        status = rp_json_parse(out, text, strlen(text), true, "changes", err);
    rp_text_free(text);
    rp_archive_close(parent);
    rp_archive_close(child);
    return status;
}

static void show(rp_session *session, const request *r, const rp_run_done *done, const rp_json *changes)
{
    rp_buffer *out = &session->out;

    if (!session->json) {
        rp_run_put_lines(session, &r->run, done);
        put_changes(session, changes);
        return;
    }
    rp_put_open(out, NULL, '{');
    rp_put_json(out, "changes", changes);
    rp_put_open(out, "run", '{');
    rp_run_put_json(session, &r->run, done);
    rp_put_close(out, '}');
    rp_put_close(out, '}');
}

rp_status rp_command_retrain(rp_session *session, int argc, char **argv, rp_error *err)
{
    request r = {.what = {.parent = NULL}};
    rp_run_done done = {.job = NULL};
    rp_json *changes = NULL;
    rp_status status = parse(session, argc, argv, &r, err);

    if (status != RP_OK || session->helped)
        return status;
    status = rp_run_train(&done, session, &r.run, "retrain", train_again, &r, err);
    if (status == RP_OK)
        status = changes_of(&changes, &r, err);
    if (status == RP_OK)
        show(session, &r, &done, changes);
    rp_json_free(changes);
    rp_run_done_clear(&done);
    return status;
}
