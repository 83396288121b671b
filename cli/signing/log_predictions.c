/* SPDX-License-Identifier: Apache-2.0
 * What reprise log does with a log of predictions: its records shown, and proofs of a CSV of predictions. */
#include "cli/signing/log_predictions.h"

#include <string.h>

#include "base/file.h"
#include "cli/print.h"

static const size_t csv_limit = (size_t)4 << 30;

void rp_put_logged_json(rp_buffer *out, const char *key, const rp_logged_prediction *p)
{
    rp_put_open(out, key, '{');
    rp_put_text(out, "archive_id", p->archive_id);
    rp_put_integer(out, "index", p->index);
    rp_put_integer(out, "predictions_rows", p->predictions_rows);
    rp_put_text(out, "predictions_sha256", p->predictions_sha256);
    rp_put_text(out, "previous", p->previous[0] ? p->previous : NULL);
    rp_put_integer(out, "rows_bytes", p->rows_bytes);
    rp_put_text(out, "rows_sha256", p->rows_sha256);
    rp_put_text(out, "time", p->time);
    rp_put_close(out, '}');
}

static rp_status list_one(void *self, const rp_logged_prediction *p, rp_error *err)
{
    rp_session *session = self;

    if (session->json)
        rp_put_logged_json(&session->out, NULL, p);
    else
        rp_buffer_printf(&session->out, "%llu %s archive %s rows %s predictions %s (%llu)\n",
                         (unsigned long long)p->index, p->time, p->archive_id, p->rows_sha256, p->predictions_sha256,
                         (unsigned long long)p->predictions_rows);
    return rp_buffer_status(&session->out, err);
}

rp_status rp_log_list_predictions(rp_session *session, const rp_run_log *log, rp_error *err)
{
    return rp_log_predictions(log, list_one, session, err);
}

rp_status rp_log_prove_file(const rp_run_log *log, const char *path, char **out, rp_error *err)
{
    rp_buffer csv = {0};
    rp_status status = rp_file_read(path, csv_limit, &csv, err);

    *out = NULL;
    if (status == RP_OK)
        status = rp_log_prove_prediction(log, csv.data, csv.size, out, err);
    rp_buffer_free(&csv);
    return status;
}

bool rp_log_proves_prediction(const rp_buffer *proof)
{
    static const char extra[] = "\nextra ";
    const uint8_t *line = proof->size ? memchr(proof->data, '\n', proof->size) : NULL;

    return line && proof->size - (size_t)(line - proof->data) > sizeof extra - 1 &&
           memcmp(line, extra, sizeof extra - 1) == 0;
}

rp_status rp_log_check_file(rp_session *session, const char *path, const rp_log_text *proof, const rp_trust *trust,
                            rp_error *err)
{
    rp_buffer csv = {0};
    rp_log_inclusion found;
    rp_logged_prediction record;
    char root[RP_DIGEST_HEX];
    rp_status status = rp_file_read(path, csv_limit, &csv, err);

    if (status == RP_OK)
        status = rp_log_check_prediction(&found, &record, proof, csv.data, csv.size, (const rp_key *const *)trust->key,
                                         trust->count, err);
    rp_buffer_free(&csv);
    if (status != RP_OK)
        return status;
    if (session->json) {
        rp_digest_hex(root, &found.head.root);
        rp_put_open(&session->out, NULL, '{');
        rp_put_text(&session->out, "key_id", found.key_id);
        rp_put_text(&session->out, "kind", "prediction");
        rp_put_text(&session->out, "origin", found.head.origin);
        rp_put_logged_json(&session->out, "prediction", &record);
        rp_put_text(&session->out, "root", root);
        rp_put_integer(&session->out, "size", found.head.size);
        rp_put_bool(&session->out, "verified", true);
        rp_put_close(&session->out, '}');
        return RP_OK;
    }
    rp_put_verdict(session, true, "logged", "%s: entry %llu of %llu", path, (unsigned long long)found.index,
                   (unsigned long long)found.head.size);
    rp_put_line(session, "archive", "%s", record.archive_id);
    rp_put_line(session, "rows", "%s, %llu bytes", record.rows_sha256, (unsigned long long)record.rows_bytes);
    rp_put_line(session, "predictions", "%llu, SHA-256 %s", (unsigned long long)record.predictions_rows,
                record.predictions_sha256);
    rp_put_line(session, "time", "%s, says the host that scored", record.time);
    rp_put_line(session, "log", "%s, signed by key %s", found.head.origin, found.key_id);
    return RP_OK;
}
