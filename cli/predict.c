/* SPDX-License-Identifier: Apache-2.0
 * reprise predict: scores new rows with an archive's final weights and recorded preparation. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "cli/limits.h"
#include "cli/signing/defaults.h"
#include "cli/signing/key_files.h"
#include "cli/data/input.h"
#include "cli/print.h"
#include "cli/signing/log_predictions.h"
#include "cli/progress.h"
#include "rp/log.h"
#include "rp/predict.h"

typedef struct request {
    const char *archive, *csv, *out, *level, *device, *withheld, *production, *tolerance, *log, *key, *passphrase;
    rp_text_list trust, ids;
    rp_limits limits;
    const char *reasons, *reference, *cutoff, *favourable, *steps, *points;
    unsigned threads;
    bool force, flags, contributions;
    bool to_stdout;                    /* the CSV is the result */
    char *id_text[RP_TEXT_LIST_MAX];   /* the items of ids, cut at commas */
    const char *id[RP_ID_COLUMNS_MAX]; /* into them */
    size_t n_id;
} request;

static const size_t csv_limit = (size_t)4 << 30;

/* --force is for predictions of before, not for what they are made of or held against. */
static rp_status check_places(const request *r, rp_error *err)
{
    const char *out = r->to_stdout ? NULL : r->out;
    rp_status status = rp_file_keep(out, r->csv, "--csv", err);

    if (status == RP_OK)
        status = rp_file_keep(out, r->production, "--compare", err);
    return status == RP_OK ? rp_file_keep(out, r->archive, "the archive", err) : status;
}

static rp_status check(const rp_session *session, request *r, rp_error *err)
{
    r->to_stdout = r->out && strcmp(r->out, "-") == 0;
    if (!r->out && !r->production)
        return rp_fail(err, RP_EARG, "predict: --out FILE is missing; see reprise predict --help");
    if (!r->log != !r->key || (r->passphrase && !r->key))
        return rp_fail(err, RP_EARG, "predict: a log of predictions is signed: give --log LOG and --key KEY.pem");
    if (r->log && !r->out)
        return rp_fail(err, RP_EARG, "predict: --log is of the predictions that --out FILE writes: give that too");
    if (r->tolerance && !r->production)
        return rp_fail(err, RP_EARG, "predict: --tolerance says how --compare compares, which is not given");
    if (r->to_stdout && session->json)
        return rp_fail(err, RP_EARG, "predict: --json and -o - both want stdout: name a file for the CSV");
    if (r->to_stdout && r->production)
        return rp_fail(err, RP_EARG, "predict: --compare and -o - both want stdout: name a file for the CSV");
    if (check_places(r, err) != RP_OK)
        return RP_EARG;
    return rp_device_option("predict", r->device, err);
}

static rp_status read_explanation(rp_predict_options *o, const request *r, rp_error *err)
{
    rp_status status = rp_number_option(&o->reasons, r->reasons, "predict", "--reasons", 1, RP_REASONS_MAX, err);

    if (status == RP_OK)
        status = rp_number_option(&o->steps, r->steps, "predict", "--steps", 1, RP_STEPS_MAX, err);
    if (status != RP_OK)
        return status;
    if (r->reference && strcmp(r->reference, "all") != 0 && strcmp(r->reference, "cutoff") != 0)
        return rp_fail(err, RP_EARG, "predict: --reference: expected all or cutoff, found %.40s", r->reference);
    if ((r->reference || r->cutoff || (r->favourable && !r->points) || r->steps) && !r->reasons && !r->contributions)
        return rp_fail(err, RP_EARG,
                       "predict: --reference, --cutoff, --favourable and --steps say what reasons are: "
                       "give --reasons N or --contributions too");
    o->contributions = r->contributions;
    o->cutoff_reference = r->reference && strcmp(r->reference, "cutoff") == 0;
    o->cutoff = r->cutoff;
    o->points = r->points;
    o->favourable = r->favourable;
    return RP_OK;
}

static rp_status split_ids(request *r, rp_error *err)
{
    for (size_t i = 0; i < r->ids.count; i++) {
        r->id_text[i] = rp_strdup(r->ids.item[i]);
        if (!r->id_text[i])
            return rp_no_memory(err);
        for (char *next = r->id_text[i]; next;) {
            char *comma = strchr(next, ',');

            if (r->n_id == RP_ID_COLUMNS_MAX)
                return rp_fail(err, RP_EARG, "predict: --id: expected at most %d columns", RP_ID_COLUMNS_MAX);
            r->id[r->n_id++] = next;
            if (comma)
                *comma++ = '\0';
            next = comma;
        }
    }
    return RP_OK;
}

static rp_status parse(rp_session *session, int argc, char **argv, request *r, rp_error *err)
{
    static const char *const names[] = {"ARCHIVE"};
    const rp_option options[] = {
        {0, "csv", RP_OPTION_TEXT, "FILE", "the rows to score, with the columns of the training data", &r->csv, true},
        {'o', "out", RP_OPTION_TEXT, "FILE", "the CSV of predictions to write; - for stdout", &r->out, false},
        {0, "id", RP_OPTION_LIST, "COL,...", "columns of the rows to write beside the predictions", &r->ids, false},
        {0, "flags", RP_OPTION_FLAG, NULL, "add a column of warnings: what training had nothing like", &r->flags,
         false},
        {0, "reasons", RP_OPTION_TEXT, "N", "add the N columns that speak most against what is favourable", &r->reasons,
         false},
        {0, "points", RP_OPTION_TEXT, "P:O:D", "add the points of the scorecard with this scale, as 600:19:50",
         &r->points, false},
        {0, "contributions", RP_OPTION_FLAG, NULL, "add what every column contributes", &r->contributions, false},
        {0, "reference", RP_OPTION_TEXT, "REFERENCE",
         "reasons are relative to all training rows (all), or to those at and just above the cut-off (cutoff)",
         &r->reference, false},
        {0, "cutoff", RP_OPTION_TEXT, "P", "that cut-off (default: 0.5 of a class's score)", &r->cutoff, false},
        {0, "favourable", RP_OPTION_TEXT, "CLASS",
         "what it is good to get (default: the positive class); of a regression high or low", &r->favourable, false},
        {0, "steps", RP_OPTION_TEXT, "N", "of a network's integrated gradients (default: 64)", &r->steps, false},
        {0, "compare", RP_OPTION_TEXT, "CSV",
         "say whether these predictions are the model's, and where they first "
         "differ",
         &r->production, false},
        {0, "tolerance", RP_OPTION_TEXT, "D", "numbers that far apart are the same to --compare (default: 0)",
         &r->tolerance, false},
        {0, "trust", RP_OPTION_LIST, "PUB.pem",
         "verify the signature with this public key first (default: REPRISE_TRUST)", &r->trust, false},
        {0, "log", RP_OPTION_TEXT, "LOG", "append to this log of predictions (docs/log.md) before they are written",
         &r->log, false},
        {0, "key", RP_OPTION_TEXT, "KEY.pem", "the log's private key", &r->key, false},
        {0, "passphrase-file", RP_OPTION_TEXT, "FILE", "first line: the passphrase of KEY.pem", &r->passphrase, false},
        {0, "force", RP_OPTION_FLAG, NULL, "replace the CSV if it exists", &r->force, false},
        RP_OPTION_WITHHELD(&r->withheld),
        RP_OPTION_LIMITS(&r->limits),
        RP_OPTION_THREADS(&r->threads),
        RP_OPTION_ISA(&r->level),
        RP_OPTION_DEVICE(&r->device),
    };
    const rp_usage usage = {
        "predict ARCHIVE --csv NEW.csv [-o PRED.csv] [--id COL,...] [--compare PRODUCTION.csv] [options]",
        "Prepares the rows as the archive's run prepared its data and writes one line of predictions a row.\n"
        "The target column may be missing.",
        "  reprise predict loans.reprise --csv new-loans.csv -o predictions.csv --id account --flags\n"
        "  reprise predict loans.reprise --csv new-loans.csv -o reasons.csv --reasons 4 --reference cutoff\n"
        "  reprise predict loans.reprise --csv new-loans.csv --compare production.csv --id account\n"
        "  reprise predict loans.reprise --csv new-loans.csv -o predictions.csv --log scores.log --key log.pem",
        names,
        1,
        options,
        RP_COUNT(options)};
    rp_status status = rp_options_parse(session, &usage, argc, argv, &r->archive, err);

    if (status != RP_OK || session->helped)
        return status;
    status = check(session, r, err);
    if (status == RP_OK)
        status = rp_default_trust(session, &r->trust, true, err);
    return status == RP_OK ? split_ids(r, err) : status;
}

/* ---- results ---- */

static void put_differences_json(rp_buffer *out, const request *r, const rp_prediction_diff *d)
{
    rp_put_open(out, "comparison", '{');
    rp_put_text(out, "with", r->production);
    rp_put_text(out, "tolerance", r->tolerance ? r->tolerance : "0");
    rp_put_bool(out, "same", !d->any);
    rp_put_integer(out, "rows", d->rows);
    rp_put_integer(out, "rows_found", d->rows_found);
    rp_put_integer(out, "rows_passed_over", d->rows_passed_over);
    rp_put_integer(out, "columns", d->columns);
    rp_put_integer(out, "columns_lacking", d->lacking);
    rp_put_integer(out, "columns_passed_over", d->passed_over);
    rp_put_integer(out, "cells", d->cells);
    rp_put_integer(out, "cells_differing", d->differing);
    rp_put_integer(out, "rows_differing", d->rows_differing);
    if (d->first_is_a_cell) {
        rp_put_open(out, "first", '{');
        rp_put_integer(out, "row", d->row);
        rp_put_integer(out, "line", d->line);
        rp_put_text(out, "column", d->column);
        rp_put_text(out, "expected", d->expected);
        rp_put_text(out, "found", d->found);
        rp_put_close(out, '}');
    }
    if (d->largest[0]) {
        rp_put_open(out, "largest", '{');
        rp_put_text(out, "distance", d->largest);
        rp_put_integer(out, "row", d->largest_row);
        rp_put_text(out, "column", d->largest_column);
        rp_put_close(out, '}');
    }
    rp_put_close(out, '}');
}

static void put_differences(rp_session *session, const request *r, const rp_prediction_diff *d)
{
    rp_put_verdict(session, !d->any, d->any ? "different" : "the model",
                   "%s: %llu of %llu rows, %llu columns, %llu of %llu cells differ", r->production,
                   (unsigned long long)d->rows_found, (unsigned long long)d->rows, (unsigned long long)d->columns,
                   (unsigned long long)d->differing, (unsigned long long)d->cells);
    if (d->lacking)
        rp_put_line(session, "lacking", "not in %s, so not compared: %s", r->production, d->lacking_names);
    if (d->passed_over)
        rp_put_line(session, "passed", "only in %s, so not compared: %s", r->production, d->passed_over_names);
    if (d->rows_passed_over)
        rp_put_line(session, "passed", "%llu %s only in %s, so not compared", (unsigned long long)d->rows_passed_over,
                    d->rows_passed_over == 1 ? "row" : "rows", r->production);
    if (d->rows != d->rows_found)
        rp_put_line(session, "rows", "expected %llu, found %llu", (unsigned long long)d->rows,
                    (unsigned long long)d->rows_found);
    if (d->first_is_a_cell)
        rp_put_line(session, "first", "row %llu (%s:%llu), column %s: expected %s, found %s",
                    (unsigned long long)d->row, r->production, (unsigned long long)d->line, d->column, d->expected,
                    d->found);
    if (d->largest[0])
        rp_put_line(session, "largest", "%s apart, row %llu, column %s", d->largest, (unsigned long long)d->largest_row,
                    d->largest_column);
}

static void put_warnings_json(rp_buffer *out, const rp_prediction *p)
{
    if (!p->checked) {
        rp_put_text(out, "warnings", NULL);
        return;
    }
    rp_put_open(out, "warnings", '{');
    rp_put_integer(out, "rows", p->flagged_rows);
    rp_put_integer(out, "unseen", p->unseen);
    rp_put_integer(out, "rare_or_new", p->rare_or_new);
    rp_put_integer(out, "outside", p->outside);
    rp_put_integer(out, "missing", p->missing);
    rp_put_close(out, '}');
}

static void put_reasons_json(rp_buffer *out, const rp_prediction *p, const rp_predict_options *o)
{
    if (!p->method) {
        rp_put_text(out, "reasons", NULL);
        return;
    }
    rp_put_open(out, "reasons", '{');
    rp_put_text(out, "method", p->method);
    rp_put_text(out, "favourable", p->favourable);
    rp_put_text(out, "reference", o->cutoff_reference ? "cutoff" : "all");
    rp_put_integer(out, "reference_rows", p->reference_rows);
    rp_put_text(out, "reference_margin", p->reference_margin);
    rp_put_text(out, "reference_to", p->reference_to[0] ? p->reference_to : NULL);
    rp_put_integer(out, "steps", p->steps);
    rp_put_text(out, "largest_gap", p->largest_gap);
    rp_put_close(out, '}');
}

static void remark_reasons(rp_buffer *out, const rp_prediction *p, const rp_predict_options *o)
{
    rp_buffer_printf(out, "%s against \"%s\", relative to %llu training rows%s%s; largest gap %s", p->method,
                     p->favourable, (unsigned long long)p->reference_rows,
                     o->cutoff_reference ? " from the cut-off to a score of " : "",
                     o->cutoff_reference ? p->reference_to : "", p->largest_gap);
}

static void remark_warnings(rp_buffer *out, const rp_prediction *p)
{
    rp_buffer_printf(out,
                     "%llu of %llu rows have cells that training had nothing like: %llu unseen categories, %llu "
                     "numbers out of range, %llu missing",
                     (unsigned long long)p->flagged_rows, (unsigned long long)p->rows, (unsigned long long)p->unseen,
                     (unsigned long long)p->outside, (unsigned long long)p->missing);
    if (p->rare_or_new)
        rp_buffer_printf(out, ", %llu categories pooled as rare or new: which of the two the model does not know",
                         (unsigned long long)p->rare_or_new);
}

static rp_status put_result(rp_session *session, const request *r, const rp_archive *archive, bool verified,
                            const rp_prediction *p, const rp_predict_options *o, const rp_prediction_diff *d,
                            const rp_logged_prediction *logged, rp_error *err)
{
    rp_buffer warnings = {0}, reasons = {0};
    rp_status status;

    if (session->json) {
        rp_put_open(&session->out, NULL, '{');
        rp_put_text(&session->out, "archive_id", rp_archive_id(archive));
        rp_put_integer(&session->out, "hidden", p->hidden);
        if (r->log)
            rp_put_logged_json(&session->out, "logged", logged);
        else
            rp_put_json(&session->out, "logged", NULL);
        rp_put_text(&session->out, "path", r->out);
        rp_put_integer(&session->out, "rows", p->rows);
        put_warnings_json(&session->out, p);
        put_reasons_json(&session->out, p, o);
        if (r->production)
            put_differences_json(&session->out, r, d);
        rp_put_bool(&session->out, "verified", verified);
        rp_put_close(&session->out, '}');
        return RP_OK;
    }
    remark_warnings(&warnings, p);
    rp_buffer_u8(&warnings, '\0');
    if (p->method)
        remark_reasons(&reasons, p, o);
    rp_buffer_u8(&reasons, '\0');
    status = rp_buffer_status(&warnings, err);
    if (status == RP_OK)
        status = rp_buffer_status(&reasons, err);
    if (status == RP_OK) {
        rp_put_line(session, "model", "%s", rp_archive_id(archive));
        if (r->out)
            rp_put_line(session, "written", "%s: %llu rows", r->out, (unsigned long long)p->rows);
        if (p->hidden)
            rp_put_hidden(session, (int64_t)p->hidden, "", "");
        if (r->log)
            rp_put_line(session, "logged", "%s: entry %llu", r->log, (unsigned long long)logged->index);
        if (p->flagged_rows)
            rp_put_line(session, "warnings", "%s", (const char *)warnings.data);
        if (p->method)
            rp_put_line(session, "reasons", "%s", (const char *)reasons.data);
        if (r->production)
            put_differences(session, r, d);
    }
    rp_buffer_free(&warnings);
    rp_buffer_free(&reasons);
    return status;
}

/* ---- work ---- */

static rp_status deliver(rp_session *session, const request *r, const rp_prediction *p, rp_error *err)
{
    if (!r->to_stdout)
        return r->out ? rp_file_save(r->out, p->text, p->length, r->force, 0644, err) : RP_OK;
    rp_buffer_append(&session->out, p->text, p->length);
    if (p->hidden)
        rp_hidden_words(&session->remark, (int64_t)p->hidden, "", p->flagged_rows ? "; " : "");
    if (p->flagged_rows)
        remark_warnings(&session->remark, p);
    if (session->remark.size) {
        rp_buffer_u8(&session->remark, '\0');
        session->remark.size--;
    }
    return rp_buffer_status(&session->out, err);
}

static rp_status compare(const request *r, const rp_prediction *p, rp_prediction_diff *out, rp_error *err)
{
    rp_buffer theirs = {0};
    rp_status status = rp_file_read(r->production, csv_limit, &theirs, err);

    if (status == RP_OK)
        status = rp_predictions_compare(p->text, p->length, theirs.data, theirs.size, r->production,
                                        &(rp_compare_options){.id = r->id, .n_id = r->n_id, .tolerance = r->tolerance},
                                        out, err);
    rp_buffer_free(&theirs);
    return status;
}

/* What can be known to end without a file is found before anything is logged; and no prediction takes the place of the
 * log. */
static rp_status look_at_place(const request *r, rp_error *err)
{
    char *folder = r->to_stdout ? NULL : rp_path_beside(r->out, ".");
    rp_file_writer *writer = NULL;
    struct stat log, place;
    rp_status status = RP_OK;

    if (!folder)
        return r->to_stdout ? RP_OK : rp_no_memory(err);
    if (stat(folder, &place) != 0)
        status = rp_fail(err, RP_EIO, "%s: cannot write: %s; nothing was logged", r->out, strerror(errno));
    else if (stat(r->log, &log) == 0 && log.st_dev == place.st_dev && log.st_ino == place.st_ino)
        status = rp_fail(err, RP_EARG, "predict: --out %s lies in the folder of the log: choose another", r->out);
    else if ((status = rp_file_create(&writer, r->out, r->force, 0644, err)) == RP_OK)
        rp_file_abort(writer); /* it can be written */
    rp_free(folder);
    return status;
}

/* Before they are written: who has them, has them from the log. */
static rp_status enter(const request *r, const rp_archive *archive, const rp_buffer *csv, const rp_prediction *p,
                       const rp_key *key, rp_logged_prediction *out, rp_error *err)
{
    const rp_prediction_event event = {.archive = archive,
                                       .rows = csv->data,
                                       .rows_bytes = csv->size,
                                       .predictions = p->text,
                                       .predictions_bytes = p->length,
                                       .predictions_rows = p->rows,
                                       .time = (int64_t)time(NULL)};
    rp_status status;

    rp_signals_hold(true);
    status = rp_log_add_prediction(r->log, &event, key, out, err);
    rp_signals_hold(false);
    return status;
}

static rp_status predict(rp_session *session, const request *r, const rp_archive *archive,
                         const rp_verification *verified, const rp_key *key, const rp_job_options *job, rp_error *err)
{
    rp_logged_prediction logged = {.index = 0};
    rp_predict_options options = {.id = r->id, .n_id = r->n_id, .flags = r->flags};
    rp_prediction_diff difference = {.any = false};
    rp_prediction *p = NULL;
    rp_buffer csv = {0};
    rp_status status = read_explanation(&options, r, err);

    if (status == RP_OK)
        status = rp_input_read(r->csv, csv_limit, &csv, err);

    if (status == RP_OK)
        status = rp_predict_rows(archive, csv.data, csv.size, rp_input_name(r->csv), &options, job, &p, err);
    if (status == RP_OK && r->production)
        status = compare(r, p, &difference, err);
    if (status == RP_OK && r->log)
        status = look_at_place(r, err);
    if (status == RP_OK && r->log)
        status = enter(r, archive, &csv, p, key, &logged, err);
    rp_buffer_free(&csv);
    if (status == RP_OK)
        status = deliver(session, r, p, err);
    if (status == RP_OK && !r->to_stdout)
        status = put_result(session, r, archive, verified != NULL, p, &options, &difference, &logged, err);
    if (status == RP_OK && !session->json && !r->to_stdout) {
        if (verified)
            rp_put_signers(session, verified);
        else
            rp_put_line(session, "signature", "not checked: give --trust PUB.pem");
    }
    if (status == RP_OK && difference.any)
        session->exit = rp_exit_code(RP_EBITS);
    rp_prediction_free(p);
    return status;
}

static rp_status score(rp_session *session, const request *r, rp_error *err)
{
    rp_job_options options = {.threads = r->threads, .level = r->level, .device = r->device};
    rp_archive *archive = NULL;
    rp_verification *verified = NULL;
    rp_key *key = NULL;
    rp_status status = rp_limits_resolve(&r->limits, "predict", &options, err);

    if (status != RP_OK)
        return status;
    if (r->out && !r->to_stdout && !r->force && rp_file_exists(r->out))
        return rp_fail(err, RP_EEXIST, "%s: already exists: choose another name, or give --force to replace it",
                       r->out);
    if (r->key)
        status = rp_signing_key_load(&key, r->key, r->passphrase, err);
    if (status == RP_OK)
        status = rp_archive_open_trusted(&archive, &verified, r->archive, &r->trust, err);
    if (status == RP_OK && r->withheld)
        status = rp_archive_disclose(archive, r->withheld, err);
    if (status == RP_OK)
        status = predict(session, r, archive, verified, key, &options, err);
    rp_verification_free(verified);
    rp_archive_close(archive);
    rp_key_free(key);
    return status;
}

rp_status rp_command_predict(rp_session *session, int argc, char **argv, rp_error *err)
{
    request r = {0};
    rp_status status = parse(session, argc, argv, &r, err);

    if (status == RP_OK && !session->helped)
        status = score(session, &r, err);
    for (size_t i = 0; i < r.ids.count; i++)
        rp_free(r.id_text[i]);
    return status;
}
