/* SPDX-License-Identifier: Apache-2.0
 * reprise predict: scores new rows with an archive's final weights and recorded preparation. */
#include <string.h>

#include "base/file.h"
#include "cli/limits.h"
#include "cli/signing/key_files.h"
#include "cli/print.h"
#include "cli/progress.h"

typedef struct request {
    const char *archive, *csv, *out, *level, *device, *withheld;
    rp_text_list trust;
    rp_limits limits;
    unsigned threads;
    bool force;
} request;

static const size_t csv_limit = (size_t)4 << 30;

static rp_status parse(rp_session *session, int argc, char **argv, request *r, rp_error *err)
{
    static const char *const names[] = {"ARCHIVE"};
    const rp_option options[] = {
        {0, "csv", RP_OPTION_TEXT, "FILE", "the rows to score, with the columns of the training data", &r->csv, true},
        {'o', "out", RP_OPTION_TEXT, "FILE", "the CSV of predictions to write", &r->out, true},
        {0, "trust", RP_OPTION_LIST, "PUB.pem", "verify the signature with this public key first", &r->trust, false},
        {0, "force", RP_OPTION_FLAG, NULL, "replace the CSV if it exists", &r->force, false},
        RP_OPTION_WITHHELD(&r->withheld),
        RP_OPTION_LIMITS(&r->limits),
        RP_OPTION_THREADS(&r->threads),
        RP_OPTION_ISA(&r->level),
        RP_OPTION_DEVICE(&r->device),
    };
    const rp_usage usage = {
        "predict ARCHIVE --csv NEW.csv -o PRED.csv [--trust PUB.pem] [options]",
        "Prepares the rows as the archive's run prepared its data and writes one line of predictions a row.\n"
        "The target column may be missing.",
        "  reprise predict loans.reprise --csv new-loans.csv -o predictions.csv",
        names,
        1,
        options,
        RP_COUNT(options)};
    rp_status status = rp_options_parse(session, &usage, argc, argv, &r->archive, err);

    return status == RP_OK ? rp_device_option("predict", r->device, err) : status;
}

/* Lines of text less the header: no cell of a prediction holds a line break but a class name in the header might. */
static size_t count_rows(const char *text, size_t length)
{
    size_t rows = 0;
    bool quoted = false;

    for (size_t i = 0; i < length; i++) {
        quoted ^= text[i] == '"';
        rows += text[i] == '\n' && !quoted;
    }
    return rows ? rows - 1 : 0;
}

static rp_status score(rp_session *session, const request *r, rp_error *err)
{
    rp_job_options options = {.threads = r->threads, .level = r->level, .device = r->device};
    rp_archive *archive = NULL;
    rp_verification *verified = NULL;
    rp_buffer csv = {0};
    char *text = NULL;
    size_t length = 0;
    rp_status status = rp_limits_resolve(&r->limits, "predict", &options, err);

    if (status != RP_OK)
        return status;
    if (!r->force && rp_file_exists(r->out))
        return rp_fail(err, RP_EEXIST, "%s: already exists: choose another name, or give --force to replace it",
                       r->out);
    status = rp_archive_open_trusted(&archive, &verified, r->archive, &r->trust, err);
    if (status == RP_OK && r->withheld)
        status = rp_archive_disclose(archive, r->withheld, err);
    if (status == RP_OK)
        status = rp_file_read(r->csv, csv_limit, &csv, err);
    if (status == RP_OK)
        status = rp_predict(archive, csv.data, csv.size, r->csv, &options, &text, &length, err);
    if (status == RP_OK)
        status = rp_file_save(r->out, text, length, r->force, 0644, err);
    if (status == RP_OK && session->json) {
        rp_put_open(&session->out, NULL, '{');
        rp_put_text(&session->out, "archive_id", rp_archive_id(archive));
        rp_put_text(&session->out, "path", r->out);
        rp_put_integer(&session->out, "rows", count_rows(text, length));
        rp_put_bool(&session->out, "verified", verified != NULL);
        rp_put_close(&session->out, '}');
    } else if (status == RP_OK) {
        rp_put_line(session, "model", "%s", rp_archive_id(archive));
        rp_put_line(session, "written", "%s: %zu rows", r->out, count_rows(text, length));
        if (verified)
            rp_put_signers(session, verified);
        else
            rp_put_line(session, "signature", "not checked: give --trust PUB.pem");
    }
    rp_text_free(text);
    rp_buffer_free(&csv);
    rp_verification_free(verified);
    rp_archive_close(archive);
    return status;
}

rp_status rp_command_predict(rp_session *session, int argc, char **argv, rp_error *err)
{
    request r = {0};
    rp_status status = parse(session, argc, argv, &r, err);

    return status == RP_OK && !session->helped ? score(session, &r, err) : status;
}
