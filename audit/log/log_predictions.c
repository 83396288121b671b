/* SPDX-License-Identifier: Apache-2.0
 * A log of predictions (docs/log.md 6): beside the entries a file with a record for each, one a line in canonical JSON;
 * entry i is the SHA-256 of line i. A record is flushed before its entry, as an entry is before its checkpoint, so what
 * lies behind the last entry's record is of an add that did not end. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/log/log_private.h"
#include "audit/sign/utc_time.h"
#include "base/file.h"
#include "base/handle.h"
#include "base/json.h"
#include "base/memory.h"

enum { RECORD_MAX = 1024, TAIL = 4 * RECORD_MAX, RECORD_VERSION = 1 };

/* ---- records as text ---- */

static rp_status write_record(rp_buffer *out, const rp_logged_prediction *p, rp_error *err)
{
    rp_json *json = rp_json_pack("{s:s, s:I, s:I, s:{s:I, s:s}, s:s?, s:{s:I, s:s}, s:s}", "archive_id", p->archive_id,
                                 "index", (int64_t)p->index, "log", (int64_t)RECORD_VERSION, "predictions", "rows",
                                 (int64_t)p->predictions_rows, "sha256", p->predictions_sha256, "previous",
                                 p->previous[0] ? p->previous : NULL, "rows", "bytes", (int64_t)p->rows_bytes, "sha256",
                                 p->rows_sha256, "time", p->time);
    rp_status status = json ? rp_json_write(json, out, err) : rp_no_memory(err);

    rp_json_free(json);
    return status;
}

static bool take_digest(char out[RP_DIGEST_HEX], const rp_json *value)
{
    const char *text = rp_json_string_value(value);
    rp_digest digest;

    if (!text || strlen(text) != RP_DIGEST_HEX - 1 || !rp_unhex(digest.bytes, sizeof digest.bytes, text))
        return false;
    memcpy(out, text, RP_DIGEST_HEX);
    return true;
}

static bool take_number(uint64_t *out, const rp_json *value)
{
    *out = (uint64_t)rp_json_integer_value(value);
    return rp_json_is_integer(value) && rp_json_integer_value(value) >= 0;
}

static bool take_fields(rp_logged_prediction *out, const rp_json *json)
{
    const rp_json *rows = rp_json_object_get(json, "rows"), *made = rp_json_object_get(json, "predictions");
    const rp_json *previous = rp_json_object_get(json, "previous");
    const char *time = rp_json_string_value(rp_json_object_get(json, "time"));
    int64_t seconds;

    out->previous[0] = '\0';
    if (!time || !rp_moment_parse(&seconds, time))
        return false;
    (void)snprintf(out->time, sizeof out->time, "%s", time);
    return take_digest(out->archive_id, rp_json_object_get(json, "archive_id")) &&
           take_number(&out->index, rp_json_object_get(json, "index")) &&
           take_digest(out->rows_sha256, rp_json_object_get(rows, "sha256")) &&
           take_number(&out->rows_bytes, rp_json_object_get(rows, "bytes")) &&
           take_digest(out->predictions_sha256, rp_json_object_get(made, "sha256")) &&
           take_number(&out->predictions_rows, rp_json_object_get(made, "rows")) &&
           (rp_json_is_null(previous) || take_digest(out->previous, previous));
}

/* What is not what would be written for its fields is no record. */
static rp_status parse_record(rp_logged_prediction *out, const char *text, size_t size, const char *where,
                              rp_error *err)
{
    rp_buffer again = {0};
    rp_json *json = NULL;
    rp_status status = rp_json_parse(&json, text, size, true, where, err);
    bool right = status == RP_OK && take_fields(out, json);

    if (right)
        status = write_record(&again, out, err);
    if (status == RP_OK && (!right || again.size != size || memcmp(again.data, text, size) != 0))
        status = rp_fail(err, RP_EFORMAT, "%s: is no record of a prediction: see docs/log.md, section 6", where);
    rp_buffer_free(&again);
    rp_json_free(json);
    return status;
}

/* ---- reading ---- */

static rp_status changed(const rp_run_log *log, uint64_t index, const char *what, rp_error *err)
{
    return rp_fail(err, RP_EHASH, "%s: record %llu %s", log->predictions_path, (unsigned long long)index, what);
}

/* line: without its newline. */
static rp_status check_record(const rp_run_log *log, uint64_t index, rp_logged_prediction *out, const char *line,
                              size_t length, rp_error *err)
{
    char previous[RP_DIGEST_HEX] = "";
    rp_digest digest;
    rp_status status = rp_sha256(&digest, line, length, err);

    if (status == RP_OK && !rp_digest_equal(&digest, &log->entry[index]))
        status = changed(log, index, "was changed, or put elsewhere: its SHA-256 is not the entry", err);
    if (status == RP_OK)
        status = parse_record(out, line, length, log->predictions_path, err);
    if (status == RP_OK && index > 0)
        rp_digest_hex(previous, &log->entry[index - 1]);
    if (status == RP_OK && (out->index != index || strcmp(out->previous, previous) != 0))
        status = changed(log, index, "does not name its own place and the entry before it", err);
    return status;
}

rp_status rp_log_predictions(const rp_run_log *log,
                             rp_status (*see)(void *self, const rp_logged_prediction *record, rp_error *err),
                             void *self, rp_error *err)
{
    char line[RECORD_MAX + 2];
    rp_logged_prediction record;
    rp_status status = RP_OK;
    struct stat info;
    FILE *file;

    if (!log)
        return rp_no_handle(err, __func__, "log");
    if (stat(log->predictions_path, &info) == 0 && !S_ISREG(info.st_mode))
        return rp_fail(err, RP_EIO, "%s: is not a regular file", log->predictions_path);
    file = fopen(log->predictions_path, "re");
    if (!file)
        return rp_fail(err, RP_EIO, "%s: cannot open: %s", log->predictions_path, strerror(errno));
    for (size_t i = 0; i < log->count && status == RP_OK; i++) {
        size_t length;

        if (!fgets(line, sizeof line, file))
            status = ferror(file) ? rp_fail(err, RP_EIO, "%s: cannot read: %s", log->predictions_path, strerror(errno))
                                  : changed(log, i, "is missing: records were removed", err);
        if (status != RP_OK)
            break;
        length = strlen(line);
        if (length == 0 || line[length - 1] != '\n')
            status = changed(log, i, "is no line of at most 1,024 bytes", err);
        else
            status = check_record(log, i, &record, line, length - 1, err);
        if (status == RP_OK && see)
            status = see(self, &record, err);
    }
    (void)fclose(file);
    return status;
}

/* ---- adding ---- */

static rp_status digest_of(char out[RP_DIGEST_HEX], const void *bytes, size_t size, rp_error *err)
{
    rp_digest digest;
    rp_status status = rp_sha256(&digest, bytes, size, err);

    if (status == RP_OK)
        rp_digest_hex(out, &digest);
    return status;
}

static rp_status no_records(const rp_run_log *log, rp_error *err)
{
    return rp_fail(err, RP_EHASH,
                   "%s: does not end with the record of entry %zu: records were changed or removed; see reprise log "
                   "verify",
                   log->predictions_path, log->count - 1);
}

/* Where the record of the last entry ends: behind it lies at most what one add left that did not end. */
static rp_status find_end(const rp_run_log *log, int fd, off_t *end, rp_error *err)
{
    char tail[TAIL];
    struct stat info;
    rp_digest digest;
    size_t size;

    *end = 0;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
        return rp_fail(err, RP_EIO, "%s: is not a regular file", log->predictions_path);
    if (log->count == 0)
        return RP_OK;
    size = info.st_size < TAIL ? (size_t)info.st_size : TAIL;
    if (pread(fd, tail, size, info.st_size - (off_t)size) != (ssize_t)size)
        return rp_fail(err, RP_EIO, "%s: cannot read: %s", log->predictions_path, strerror(errno));
    for (size_t at = size; at-- > 0;) {
        size_t begin = at;

        if (tail[at] != '\n')
            continue;
        while (begin > 0 && tail[begin - 1] != '\n')
            begin--;
        if (rp_sha256(&digest, tail + begin, at - begin, err) != RP_OK)
            return RP_ENOMEM;
        if (rp_digest_equal(&digest, &log->entry[log->count - 1])) /* the first such line: others are copies of it */
            *end = info.st_size - (off_t)size + (off_t)at + 1;
    }
    if (*end == 0)
        return no_records(log, err);
    if (info.st_size - *end > RECORD_MAX)
        return rp_fail(err, RP_EHASH,
                       "%s: behind the last entry's record lies more than an add leaves: it was changed; "
                       "keep the first %llu lines",
                       log->predictions_path, (unsigned long long)log->count);
    return RP_OK;
}

static rp_status put_line(const rp_run_log *log, int fd, off_t end, const rp_buffer *line, rp_error *err)
{
    size_t done = 0;

    if (ftruncate(fd, end) != 0)
        return rp_fail(err, RP_EIO, "%s: cannot cut off what an unfinished add left: %s", log->predictions_path,
                       strerror(errno));
    while (done < line->size) {
        ssize_t n = pwrite(fd, line->data + done, line->size - done, end + (off_t)done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return rp_fail(err, RP_EIO, "%s: cannot write: %s", log->predictions_path,
                           strerror(n < 0 ? errno : ENOSPC));
        done += (size_t)n;
    }
    if (fsync(fd) != 0)
        return rp_fail(err, RP_EIO, "%s: cannot flush to disk: %s", log->predictions_path, strerror(errno));
    return RP_OK;
}

/* Behind the lock. */
static rp_status append(rp_run_log *log, rp_logged_prediction *record, const rp_key *key, rp_error *err)
{
    char entry[RP_DIGEST_HEX];
    rp_buffer line = {0};
    rp_digest digest;
    off_t end = 0;
    int fd = open(log->predictions_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644);
    rp_status status;

    if (fd < 0)
        return rp_fail(err, RP_EIO, "%s: cannot write: %s", log->predictions_path, strerror(errno));
    record->index = log->count;
    record->previous[0] = '\0';
    if (log->count > 0)
        rp_digest_hex(record->previous, &log->entry[log->count - 1]);
    status = find_end(log, fd, &end, err);
    if (status == RP_OK)
        status = write_record(&line, record, err);
    if (status == RP_OK)
        status = rp_sha256(&digest, line.data, line.size, err);
    rp_buffer_u8(&line, '\n');
    if (status == RP_OK)
        status = rp_buffer_status(&line, err);
    if (status == RP_OK)
        status = put_line(log, fd, end, &line, err);
    if (status == RP_OK) {
        rp_digest_hex(entry, &digest);
        log->note.head.predictions = true; /* from here on the checkpoint says so */
        status = rp_log_append(log, entry, key, err);
    }
    rp_buffer_free(&line);
    (void)close(fd);
    return status;
}

static rp_status record_of(rp_logged_prediction *out, const rp_prediction_event *event, rp_error *err)
{
    rp_status status = digest_of(out->rows_sha256, event->rows, event->rows_bytes, err);

    if (status == RP_OK)
        status = digest_of(out->predictions_sha256, event->predictions, event->predictions_bytes, err);
    out->rows_bytes = event->rows_bytes;
    out->predictions_rows = event->predictions_rows;
    (void)snprintf(out->archive_id, sizeof out->archive_id, "%s", rp_archive_id(event->archive));
    (void)rp_moment_text(out->time, event->time);
    return status;
}

rp_status rp_log_add_prediction(const char *folder, const rp_prediction_event *event, const rp_key *key,
                                rp_logged_prediction *record, rp_error *err)
{
    rp_logged_prediction made = {.index = 0};
    rp_run_log *log;
    rp_status status;

    if (!key || !event || !event->archive)
        return rp_no_handle(err, __func__, !key ? "key" : !event ? "event" : "event->archive");
    if (!rp_key_is_private(key))
        return rp_fail(err, RP_EARG, "a public key cannot sign: give the private key");
    status = record_of(&made, event, err);
    if (status == RP_OK)
        status = rp_log_open_to(&log, folder, &key, 1, true, err);
    if (status != RP_OK)
        return status;
    if (log->count > 0 && !rp_log_has_predictions(log))
        status = rp_fail(err, RP_EARG,
                         "%s: is a log of runs: predictions have a "
                         "log of their own: reprise log init",
                         folder);
    if (status == RP_OK)
        status = append(log, &made, key, err);
    rp_log_close(log);
    if (status == RP_OK && record)
        *record = made;
    return status;
}

/* ---- proofs ---- */

typedef struct search {
    char wanted[RP_DIGEST_HEX];
    bool found;
    rp_logged_prediction record;
} search;

static rp_status look(void *self, const rp_logged_prediction *record, rp_error *err)
{
    search *s = self;

    (void)err;
    if (strcmp(record->predictions_sha256, s->wanted) == 0) {
        s->found = true;
        s->record = *record;
    }
    return RP_OK;
}

rp_status rp_log_prove_prediction(const rp_run_log *log, const void *predictions, size_t size, char **out,
                                  rp_error *err)
{
    search s = {.found = false};
    rp_buffer text = {0};
    rp_status status = digest_of(s.wanted, predictions, size, err);

    *out = NULL;
    if (status == RP_OK)
        status = rp_log_predictions(log, look, &s, err);
    if (status == RP_OK && !s.found)
        status = rp_fail(err, RP_EHASH, "%s: no record is of predictions with the SHA-256 %s", log->predictions_path,
                         s.wanted);
    if (status == RP_OK)
        status = write_record(&text, &s.record, err);
    rp_buffer_u8(&text, '\0');
    if (status == RP_OK)
        status = rp_buffer_status(&text, err);
    if (status == RP_OK)
        status = rp_log_prove_with(log, s.record.index, (const char *)text.data, out, err);
    rp_buffer_free(&text);
    return status;
}

rp_status rp_log_check_prediction(rp_log_inclusion *out, rp_logged_prediction *record, const rp_log_text *proof,
                                  const void *predictions, size_t size, const rp_key *const *trusted, size_t n_trusted,
                                  rp_error *err)
{
    const char *where = proof ? proof->where : "";
    char sha256[RP_DIGEST_HEX];
    rp_log_proof parsed;
    rp_log_extra extra;
    rp_digest entry;
    const rp_key *by = NULL;
    rp_status status;

    memset(out, 0, sizeof *out);
    if (!proof)
        return rp_no_handle(err, __func__, "proof");
    status = rp_log_inclusion_parse_extra(&parsed, &extra, proof->text, proof->size, where, err);
    if (status == RP_OK && !parsed.note.head.predictions)
        status = rp_fail(err, RP_EHASH, "%s: its checkpoint is of a log of runs, which no prediction is in", where);
    if (status == RP_OK)
        status = parse_record(record, (const char *)extra.bytes, extra.size, where, err);
    if (status == RP_OK)
        status = rp_sha256(&entry, extra.bytes, extra.size, err);
    if (status == RP_OK)
        status = rp_log_path_leads(&parsed, &entry, where, "its record", err);
    if (status == RP_OK && record->index != parsed.number)
        status = rp_fail(err, RP_EHASH, "%s: its record says entry %llu, its path %llu", where,
                         (unsigned long long)record->index, (unsigned long long)parsed.number);
    if (status == RP_OK)
        status = digest_of(sha256, predictions, size, err);
    if (status == RP_OK && strcmp(sha256, record->predictions_sha256) != 0)
        status = rp_fail(err, RP_EHASH, "%s: is of predictions with the SHA-256 %s, these have %s", where,
                         record->predictions_sha256, sha256);
    if (status == RP_OK && n_trusted > 0)
        status = rp_log_note_check(&parsed.note, trusted, n_trusted, &by, where, err);
    if (status != RP_OK)
        return status;
    out->head = parsed.note.head;
    out->index = parsed.number;
    if (by != NULL)
        memcpy(out->key_id, rp_key_id(by), RP_DIGEST_HEX);
    return RP_OK;
}
