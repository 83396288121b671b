/* SPDX-License-Identifier: Apache-2.0
 * reprise validate and reprise monitor: figures of rows under an archive's model, as a statement that can be signed and
 * made again. */
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "cli/limits.h"
#include "cli/data/input.h"
#include "cli/progress.h"
#include "cli/signing/defaults.h"
#include "cli/signing/key_files.h"
#include "cli/validate/tables.h"
#include "rp/validation.h"

typedef struct request {
    const char *archive, *csv, *out, *key, *passphrase, *check, *previous, *period, *favourable, *threshold;
    const char *level, *device, *withheld, *part;
    rp_text_list trust, by, groups;
    rp_limits limits;
    unsigned threads;
    bool force, monitor, attach;
} request;

static const size_t csv_limit = (size_t)4 << 30, statement_limit = (size_t)1 << 20;

/* What both commands take. */
#define COMMON_OPTIONS(r) \
    {'o', "out", RP_OPTION_TEXT, "FILE", "write the statement here: canonical JSON", &(r)->out, false}, \
        {0, "check", RP_OPTION_TEXT, "FILE", "make this statement again and compare every byte", &(r)->check, false}, \
        {0, "key", RP_OPTION_TEXT, "KEY.pem", "sign it with this key (default: REPRISE_KEY)", &(r)->key, false}, \
        {0,    "passphrase-file", RP_OPTION_TEXT, "FILE", "first line: the passphrase of KEY.pem", &(r)->passphrase, \
         false}, \
        {0, \
         "trust", \
         RP_OPTION_LIST, \
         "PUB.pem", \
         "verify the archive's signature first, and that of --check FILE (default: REPRISE_TRUST)", \
         &(r)->trust, \
         false}, \
        {0, \
         "attach", \
         RP_OPTION_FLAG, \
         NULL, \
         "add the statement to ARCHIVE, signed by KEY.pem and dated now", \
         &(r)->attach, \
         false}, \
        {0, "force", RP_OPTION_FLAG, NULL, "replace FILE if it exists", &(r)->force, false}, \
        RP_OPTION_WITHHELD(&(r)->withheld), RP_OPTION_LIMITS(&(r)->limits), RP_OPTION_THREADS(&(r)->threads), \
        RP_OPTION_ISA(&(r)->level), RP_OPTION_DEVICE(&(r)->device)

static rp_status look(rp_session *session, request *r, const char *command, rp_error *err)
{
    rp_status status = rp_default_trust(session, &r->trust, true, err);

    if (status == RP_OK)
        status = rp_default_key(session, &r->key, !r->check && (r->out || r->attach), err);
    if (status != RP_OK)
        return status;
    if (r->check && (r->out || r->key || r->by.count || r->groups.count || r->favourable || r->threshold || r->period ||
                     r->part || r->attach))
        return rp_fail(err, RP_EARG, "%s: --check makes a statement again as it was asked for: leave out other options",
                       command);
    if (!r->monitor && !r->check && !r->csv == !r->part)
        return rp_fail(err, RP_EARG, "%s: expected either --csv FILE or --part test: whose rows?", command);
    if (r->passphrase && !r->key)
        return rp_fail(err, RP_EARG, "%s: --passphrase-file belongs to a key: give --key FILE too", command);
    if (r->key && !r->out && !r->attach)
        return rp_fail(err, RP_EARG,
                       "%s: --key signs the statement that --out FILE writes or --attach adds: give one of them too",
                       command);
    if (r->attach && !r->key)
        return rp_fail(err, RP_EARG, "%s: --attach adds a signed statement: give --key KEY.pem too", command);
    if (r->out && !r->force && rp_file_exists(r->out))
        return rp_fail(err, RP_EEXIST, "%s: already exists: choose another name, or give --force to replace it",
                       r->out);
    return rp_device_option(command, r->device, err);
}

static rp_status parse_validate(rp_session *session, int argc, char **argv, request *r, rp_error *err)
{
    static const char *const names[] = {"ARCHIVE"};
    const rp_option options[] = {
        {0, "csv", RP_OPTION_TEXT, "FILE", "rows with outcomes, with the columns of the training data", &r->csv, false},
        {0, "part", RP_OPTION_TEXT, "test", "instead: the archive's own rows that no step has seen", &r->part, false},
        {0, "by", RP_OPTION_LIST, "COLUMN[:K]", "figures by slice: values, or K parts of numbers", &r->by, false},
        {0, "groups", RP_OPTION_LIST, "COLUMN[:K]", "the same with rates of selection; need be no feature", &r->groups,
         false},
        {0, "favourable", RP_OPTION_TEXT, "CLASS", "what it is good to get (default: the positive class)",
         &r->favourable, false},
        {0, "threshold", RP_OPTION_TEXT, "P", "one more confusion, and selection, at this score", &r->threshold, false},
        COMMON_OPTIONS(r),
    };
    const rp_usage usage = {
        "validate ARCHIVE --csv ROWS.csv|--part test [-o STATEMENT.json] [options]",
        "Says what the archive's model is worth on rows with outcomes: discrimination with "
        "intervals,\ncalibration, confusion, residuals, beside the trivial model; by slice and by "
        "group.\nThe statement is bound to archive and rows, and --check makes it again to the byte.",
        "  reprise validate loans.reprise --csv new.csv --by region --groups sex -o new.json",
        names,
        1,
        options,
        RP_COUNT(options)};
    rp_status status = rp_options_parse(session, &usage, argc, argv, &r->archive, err);

    return status == RP_OK && !session->helped ? look(session, r, "validate", err) : status;
}

static rp_status parse_monitor(rp_session *session, int argc, char **argv, request *r, rp_error *err)
{
    static const char *const names[] = {"ARCHIVE"};
    const rp_option options[] = {
        {0, "csv", RP_OPTION_TEXT, "FILE", "new rows, with the columns of the training data", &r->csv, true},
        {0, "period", RP_OPTION_TEXT, "TEXT", "what to call this period", &r->period, false},
        {0, "previous", RP_OPTION_TEXT, "FILE", "the statement of the period before, which this one names",
         &r->previous, false},
        COMMON_OPTIONS(r),
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
    rp_status status = rp_options_parse(session, &usage, argc, argv, &r->archive, err);

    return status == RP_OK && !session->helped ? look(session, r, "monitor", err) : status;
}

/* What is loaded before anything is computed. */
typedef struct inputs {
    rp_archive *archive;
    rp_verification *verified;
    rp_trust trust;
    rp_key *key;
    rp_buffer csv, previous, check;
} inputs;

static void release(inputs *in)
{
    rp_archive_close(in->archive);
    rp_verification_free(in->verified);
    rp_trust_free(&in->trust);
    rp_key_free(in->key);
    rp_buffer_free(&in->csv);
    rp_buffer_free(&in->previous);
    rp_buffer_free(&in->check);
}

static rp_status load(inputs *in, const request *r, rp_error *err)
{
    rp_status status = rp_archive_open_trusted(&in->archive, &in->verified, r->archive, &r->trust, err);

    if (status == RP_OK && r->withheld)
        status = rp_archive_disclose(in->archive, r->withheld, err);
    if (status == RP_OK)
        status = rp_trust_load(&in->trust, &r->trust, err);
    if (status == RP_OK && r->key)
        status = rp_signing_key_load(&in->key, r->key, r->passphrase, err);
    if (status == RP_OK && r->csv)
        status = rp_input_read(r->csv, csv_limit, &in->csv, err);
    if (status == RP_OK && r->previous)
        status = rp_file_read(r->previous, statement_limit, &in->previous, err);
    if (status == RP_OK && r->check)
        status = rp_file_read(r->check, statement_limit, &in->check, err);
    return status;
}

/* NULL where no file was given; an empty file has bytes too, none of them. */
static const void *bytes_of(const char *path, const rp_buffer *buffer)
{
    return !path ? NULL : buffer->data ? (const void *)buffer->data : "";
}

static rp_status make(const request *r, const inputs *in, const rp_job_options *job, char **statement, size_t *length,
                      rp_error *err)
{
    const rp_validation_options options = {.by = r->by.item,
                                           .n_by = r->by.count,
                                           .groups = r->groups.item,
                                           .n_groups = r->groups.count,
                                           .favourable = r->favourable,
                                           .threshold = r->threshold,
                                           .part = r->part};
    const void *csv = bytes_of(r->csv, &in->csv), *previous = bytes_of(r->previous, &in->previous);

    if (r->check) {
        rp_status status =
            rp_validation_open(bytes_of(r->check, &in->check), in->check.size, r->check,
                               (const rp_key *const *)in->trust.key, in->trust.count, statement, length, err);

        return status == RP_OK ? rp_validation_check(in->archive, csv, in->csv.size, rp_input_name(r->csv), *statement,
                                                     *length, previous, in->previous.size, job, err)
                               : status;
    }
    if (r->monitor)
        return rp_monitor(in->archive, csv, in->csv.size, rp_input_name(r->csv), r->period, previous, in->previous.size,
                          job, statement, length, err);
    return rp_validate(in->archive, csv, in->csv.size, rp_input_name(r->csv), &options, job, statement, length, err);
}

static rp_status save(const request *r, const inputs *in, const char *statement, size_t length, rp_error *err)
{
    char *signed_text = NULL;
    size_t signed_length = 0;
    rp_status status = RP_OK;

    if (!r->out)
        return RP_OK;
    if (in->key)
        status = rp_validation_sign(statement, length, in->key, &signed_text, &signed_length, err);
    if (status == RP_OK)
        status = in->key ? rp_file_save(r->out, signed_text, signed_length, r->force, 0644, err)
                         : rp_file_save(r->out, statement, length, r->force, 0644, err);
    rp_text_free(signed_text);
    return status;
}

static rp_status attach(const request *r, const inputs *in, const char *statement, size_t length,
                        char member[RP_MEMBER_NAME], rp_error *err)
{
    rp_status status;

    if (!r->attach)
        return RP_OK;
    rp_signals_hold(true);
    status = rp_validation_attach(r->archive, rp_archive_id(in->archive), statement, length, in->key, member, err);
    rp_signals_hold(false);
    return status;
}

static void show(rp_session *session, const request *r, const inputs *in, const char *member, const rp_json *json)
{
    const rp_json *predicate = rp_json_object_get(json, "predicate");
    rp_buffer *out = &session->out;

    if (session->json) {
        rp_put_open(out, NULL, '{');
        rp_put_text(out, "archive_id", rp_archive_id(in->archive));
        rp_put_bool(out, "checked", r->check != NULL);
        rp_put_text(out, "key_id", in->key ? rp_key_id(in->key) : NULL);
        rp_put_text(out, "member", *member ? member : NULL);
        rp_put_text(out, "path", r->out);
        rp_put_json(out, "statement", json);
        rp_put_bool(out, "verified", in->verified != NULL);
        rp_put_close(out, '}');
        return;
    }
    rp_put_line(session, "model", "%s", rp_archive_id(in->archive));
    if (r->monitor)
        rp_put_monitoring(session, predicate);
    else
        rp_put_validation(session, predicate);
    if (r->check || r->out || r->attach)
        rp_buffer_text(out, "\n");
    if (r->check)
        rp_put_verdict(session, true, "checked", "%s: made again from archive and rows, every byte the same", r->check);
    if (r->out)
        rp_put_line(session, "written", "%s%s", r->out, in->key ? "" : ", unsigned: no --key was given");
    if (r->attach)
        rp_put_line(session, "attached", "%s in %s", member, r->archive);
    if (in->key)
        rp_put_line(session, "signed", "by key %s", rp_key_id(in->key));
    if (in->verified)
        rp_put_signers(session, in->verified);
}

static rp_status run(rp_session *session, const request *r, rp_error *err)
{
    rp_job_options job = {.threads = r->threads, .level = r->level, .device = r->device};
    rp_status status = rp_limits_resolve(&r->limits, r->monitor ? "monitor" : "validate", &job, err);
    inputs in = {.archive = NULL};
    char *statement = NULL, member[RP_MEMBER_NAME] = "";
    size_t length = 0;
    rp_json *json = NULL;

    if (status == RP_OK)
        status = load(&in, r, err);
    if (status == RP_OK)
        status = make(r, &in, &job, &statement, &length, err);
    if (status == RP_OK)
        status = save(r, &in, statement, length, err);
    if (status == RP_OK)
        status = attach(r, &in, statement, length, member, err);
    if (status == RP_OK)
        status = rp_json_parse(&json, statement, length, true, "the statement", err);
    if (status == RP_OK)
        show(session, r, &in, member, json);
    rp_json_free(json);
    rp_text_free(statement);
    release(&in);
    return status;
}

rp_status rp_command_validate(rp_session *session, int argc, char **argv, rp_error *err)
{
    request r = {.monitor = false};
    rp_status status = parse_validate(session, argc, argv, &r, err);

    return status == RP_OK && !session->helped ? run(session, &r, err) : status;
}

rp_status rp_command_monitor(rp_session *session, int argc, char **argv, rp_error *err)
{
    request r = {.monitor = true};
    rp_status status = parse_monitor(session, argc, argv, &r, err);

    return status == RP_OK && !session->helped ? run(session, &r, err) : status;
}
