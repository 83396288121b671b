/* SPDX-License-Identifier: Apache-2.0
 * reprise validate and reprise monitor: figures of rows under an archive's model, as a statement that can be signed and
 * made again. */
#include <string.h>

#include "base/file.h"
#include "cli/validate/statement.h"
#include "cli/validate/tables.h"
#include "rp/validation.h"

/* NULL where no file was given; an empty file has bytes too, none of them. */
static const void *bytes_of(const rp_buffer *buffer)
{
    return !buffer ? NULL : buffer->data ? (const void *)buffer->data : "";
}

static size_t size_of(const rp_buffer *buffer)
{
    return buffer ? buffer->size : 0;
}

/* ---- validate ---- */

typedef struct judgement {
    rp_text_list by, groups;
    const char *favourable, *threshold;
    const rp_statement_request *request; /* whose part it is */
} judgement;

static rp_status validate(const void *self, const rp_archive *archive, const rp_buffer *csv, const char *where,
                          const rp_job_options *job, char **statement, size_t *length, rp_error *err)
{
    const judgement *j = self;
    const rp_validation_options options = {.by = j->by.item,
                                           .n_by = j->by.count,
                                           .groups = j->groups.item,
                                           .n_groups = j->groups.count,
                                           .favourable = j->favourable,
                                           .threshold = j->threshold,
                                           .part = j->request->part};

    return rp_validate(archive, bytes_of(csv), size_of(csv), where, &options, job, statement, length, err);
}

static rp_status validate_again(const void *self, const rp_archive *archive, const rp_buffer *csv, const char *where,
                                const char *statement, size_t length, const rp_job_options *job, rp_error *err)
{
    const rp_validation_inputs inputs = {.csv = bytes_of(csv), .size = size_of(csv), .where = where};

    (void)self;
    return rp_validation_check(archive, statement, length, &inputs, job, err);
}

rp_status rp_command_validate(rp_session *session, int argc, char **argv, rp_error *err)
{
    static const char *const names[] = {"ARCHIVE"};
    judgement j = {.favourable = NULL};
    rp_statement_request r = {.command = "validate",
                              .self = &j,
                              .attachable = true,
                              .rows = true,
                              .make = validate,
                              .again = validate_again,
                              .show = rp_put_validation};
    const rp_option options[] = {
        {0, "csv", RP_OPTION_TEXT, "FILE", "rows with outcomes, with the columns of the training data", &r.csv, false},
        {0, "part", RP_OPTION_TEXT, "ROWS",
         "instead: the archive's own rows: those that no step has seen (test), or those of all folds, each scored by "
         "the trial that was not trained on it (folds)",
         &r.part, false},
        {0, "by", RP_OPTION_LIST, "COLUMN[:K]", "figures by slice: values, or K parts of numbers", &j.by, false},
        {0, "groups", RP_OPTION_LIST, "COLUMN[:K]", "the same with rates of selection; need be no feature", &j.groups,
         false},
        {0, "favourable", RP_OPTION_TEXT, "CLASS", "what it is good to get (default: the positive class)",
         &j.favourable, false},
        {0, "threshold", RP_OPTION_TEXT, "P", "one more confusion, and selection, at this score", &j.threshold, false},
        {0, "parent", RP_OPTION_LIST, "PARENT",
         "the run started from this archive: count rows that trained it too; then its own parent's", &r.parents, false},
        {0, "parent-withheld", RP_OPTION_LIST, "DIR",
         "what a --parent left out (written by --withhold DIR); one a parent that did, in their order",
         &r.parent_withheld, false},
        RP_STATEMENT_ATTACH(&r),
        RP_STATEMENT_OPTIONS(&r),
    };
    const rp_usage usage = {
        "validate ARCHIVE --csv ROWS.csv|--part test|folds [-o STATEMENT.json] [options]",
        "Says what the archive's model is worth on rows with outcomes: discrimination with "
        "intervals,\ncalibration, confusion, residuals, beside the trivial model; by slice and by "
        "group.\nThe statement is bound to archive and rows, and --check makes it again to the byte.",
        "  reprise validate loans.reprise --csv new.csv --by region --groups sex -o new.json",
        names,
        1,
        options,
        RP_COUNT(options)};
    rp_status status = rp_options_parse(session, &usage, argc, argv, &r.archive, err);

    if (status != RP_OK || session->helped)
        return status;
    j.request = &r;
    r.asked = j.by.count || j.groups.count || j.favourable || j.threshold;
    status = rp_statement_look(session, &r, err);
    if (status == RP_OK && r.attach && r.part && strcmp(r.part, "folds") == 0)
        status = rp_fail(err, RP_EARG,
                         "validate: --part folds is about the trials of the folds, not about the archive's model: "
                         "--out FILE writes it, --attach does not add it");
    return status == RP_OK ? rp_statement_run(session, &r, err) : status;
}

/* ---- monitor ---- */

typedef struct period {
    const char *name;
    rp_buffer before; /* the statement of the period before */
    bool first;       /* there is none */
} period;

static rp_status monitor(const void *self, const rp_archive *archive, const rp_buffer *csv, const char *where,
                         const rp_job_options *job, char **statement, size_t *length, rp_error *err)
{
    const period *p = self;
    const rp_monitor_options options = {
        .period = p->name, .previous = bytes_of(p->first ? NULL : &p->before), .previous_size = p->before.size};

    return rp_monitor(archive, bytes_of(csv), size_of(csv), where, &options, job, statement, length, err);
}

static rp_status monitor_again(const void *self, const rp_archive *archive, const rp_buffer *csv, const char *where,
                               const char *statement, size_t length, const rp_job_options *job, rp_error *err)
{
    const period *p = self;
    const rp_validation_inputs inputs = {.csv = bytes_of(csv),
                                         .size = size_of(csv),
                                         .where = where,
                                         .previous = bytes_of(p->first ? NULL : &p->before),
                                         .previous_size = p->before.size};

    return rp_validation_check(archive, statement, length, &inputs, job, err);
}

rp_status rp_command_monitor(rp_session *session, int argc, char **argv, rp_error *err)
{
    static const char *const names[] = {"ARCHIVE"};
    period p = {.name = NULL};
    rp_statement_request r = {.command = "monitor",
                              .self = &p,
                              .before = &p.before,
                              .attachable = true,
                              .make = monitor,
                              .again = monitor_again,
                              .show = rp_put_monitoring};
    const rp_option options[] = {
        {0, "csv", RP_OPTION_TEXT, "FILE", "new rows, with the columns of the training data", &r.csv, true},
        {0, "period", RP_OPTION_TEXT, "TEXT", "what to call this period", &p.name, false},
        {0, "previous", RP_OPTION_TEXT, "FILE",
         "the statement of the period before, which this one names; with --attach or --trust signed", &r.previous,
         false},
        RP_STATEMENT_ATTACH(&r),
        RP_STATEMENT_OPTIONS(&r),
    };
    const rp_usage usage = {
        "monitor ARCHIVE --csv NEW.csv [--previous STATEMENT.json] [options]",
        "Says how far new rows are from those the model was trained on: scores and every feature by "
        "edges\nfrozen at training, new values, values out of range; figures where outcomes are "
        "there.",
        "  reprise monitor loans.reprise --csv may.csv --period 2026-05 --previous april.json -o "
        "may.json",
        names,
        1,
        options,
        RP_COUNT(options)};
    rp_status status = rp_options_parse(session, &usage, argc, argv, &r.archive, err);

    if (status != RP_OK || session->helped)
        return status;
    r.asked = p.name != NULL;
    p.first = r.previous == NULL;
    status = rp_statement_look(session, &r, err);
    if (status == RP_OK)
        status = rp_statement_run(session, &r, err);
    rp_buffer_free(&p.before);
    return status;
}
