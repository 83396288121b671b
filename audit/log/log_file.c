/* SPDX-License-Identifier: Apache-2.0
 * A log in a folder (docs/log.md 2). Entries are appended and flushed before the checkpoint that covers them takes its
 * name, so at every moment the checkpoint on disk covers entries on disk; what lies behind it was never signed, and is
 * no entry. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/log/log_private.h"
#include "base/file.h"
#include "base/handle.h"
#include "base/memory.h"

static rp_status set_path(char **out, const char *folder, const char *name, rp_error *err)
{
    *out = rp_path_in(folder, name);
    return *out != NULL ? RP_OK : rp_no_memory(err);
}

void rp_log_close(rp_run_log *log)
{
    if (log == NULL)
        return;
    if (log->fd >= 0)
        close(log->fd); /* and lets the lock go */
    rp_buffer_free(&log->text);
    rp_free(log->entry);
    rp_free(log->leaf);
    rp_free(log->entries_path);
    rp_free(log->checkpoint_path);
    rp_free(log->predictions_path);
    rp_free(log);
}

/* ---- reading ---- */

static rp_status read_checkpoint(rp_run_log *log, const rp_key *const *trusted, size_t n_trusted, rp_error *err)
{
    rp_status status = rp_file_read(log->checkpoint_path, RP_LOG_NOTE_LIMIT, &log->text, err);

    if (status == RP_EDATA)
        status = rp_fail(err, RP_EFORMAT, "%s: too large for a checkpoint", log->checkpoint_path);
    if (status != RP_OK)
        return status;
    rp_buffer_u8(&log->text, 0);
    status = rp_buffer_status(&log->text, err);
    if (status == RP_OK)
        status =
            rp_log_note_parse(&log->note, (const char *)log->text.data, log->text.size - 1, log->checkpoint_path, err);
    if (status == RP_OK && n_trusted > 0)
        status = rp_log_note_check(&log->note, trusted, n_trusted, &log->signer, log->checkpoint_path, err);
    if (status == RP_OK && log->signer != NULL)
        memcpy(log->signer_id, rp_key_id(log->signer), RP_DIGEST_HEX);
    if (status == RP_OK && log->note.head.size > RP_LOG_ENTRIES_MAX)
        status = rp_fail(err, RP_EUNSUPPORTED, "%s: a log of %llu entries, at most %d are supported",
                         log->checkpoint_path, (unsigned long long)log->note.head.size, (int)RP_LOG_ENTRIES_MAX);
    return status;
}

static rp_status read_at(const rp_run_log *log, int fd, uint64_t offset, char *out, size_t size, rp_error *err)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = pread(fd, out + done, size - done, (off_t)(offset + done));

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return rp_fail(err, RP_EIO, "%s: cannot read: %s", log->entries_path,
                           n < 0 ? strerror(errno) : "it became shorter");
        done += (size_t)n;
    }
    return RP_OK;
}

static rp_status parse_lines(rp_run_log *log, int fd, rp_error *err)
{
    char text[LINES * LINE];

    for (size_t at = 0; at < log->count;) {
        size_t n = log->count - at < LINES ? log->count - at : LINES;
        rp_status status = read_at(log, fd, (uint64_t)at * LINE, text, n * LINE, err);

        if (status != RP_OK)
            return status;
        for (size_t i = 0; i < n; i++) {
            char *line = text + i * LINE;
            bool ends = line[LINE - 1] == '\n';

            line[LINE - 1] = '\0';
            if (!ends || !rp_unhex(log->entry[at + i].bytes, RP_DIGEST_SIZE, line))
                return rp_fail(err, RP_EFORMAT,
                               "%s: line %zu is not an archive id: 64 lowercase hex digits and a newline",
                               log->entries_path, at + i + 1);
        }
        at += n;
    }
    return RP_OK;
}

static rp_status read_entries(rp_run_log *log, int fd, rp_error *err)
{
    struct stat info;
    uint64_t whole;

    log->count = (size_t)log->note.head.size;
    whole = (uint64_t)log->count * LINE;
    if (fstat(fd, &info) != 0)
        return rp_fail(err, RP_EIO, "%s: cannot read: %s", log->entries_path, strerror(errno));
    if (!S_ISREG(info.st_mode))
        return rp_fail(err, RP_EIO, "%s: is not a regular file", log->entries_path);
    if ((uint64_t)info.st_size < whole)
        return rp_fail(err, RP_EHASH, "%s: holds %llu entries, the checkpoint covers %zu: entries were removed",
                       log->entries_path, (unsigned long long)info.st_size / LINE, log->count);
    log->unfinished = (uint64_t)info.st_size - whole;
    log->entry = rp_reallocarray(NULL, log->count + 1, sizeof *log->entry);
    log->leaf = rp_reallocarray(NULL, log->count + 1, sizeof *log->leaf);
    if (log->entry == NULL || log->leaf == NULL)
        return rp_no_memory(err);
    return parse_lines(log, fd, err);
}

static rp_status compare_root(rp_run_log *log, rp_error *err)
{
    rp_digest root;
    char expected[RP_DIGEST_HEX], found[RP_DIGEST_HEX];
    rp_status status = rp_log_leaves(log->leaf, log->entry, log->count, err);

    if (status == RP_OK)
        status = rp_log_root(&root, log->leaf, log->count, err);
    if (status != RP_OK || rp_digest_equal(&root, &log->note.head.root))
        return status;
    rp_digest_hex(expected, &log->note.head.root);
    rp_digest_hex(found, &root);
    return rp_fail(err, RP_EHASH, "%s: entries were changed: the checkpoint's root is %s, theirs %s", log->entries_path,
                   expected, found);
}

/* Of an add that was killed at a log's first prediction, a record may lie where the checkpoint covers nothing yet. */
static rp_status compare_kind(const rp_run_log *log, rp_error *err)
{
    const bool records = rp_file_exists(log->predictions_path);

    if (log->note.head.predictions && !records)
        return rp_fail(err, RP_EHASH,
                       "%s: is not there, and the checkpoint is of a log of predictions: its records were "
                       "removed",
                       log->predictions_path);
    if (records && log->count > 0 && !log->note.head.predictions)
        return rp_fail(err, RP_EHASH, "%s: lies beside a checkpoint of a log of runs: it was put there",
                       log->predictions_path);
    return RP_OK;
}

static rp_status lock(const rp_run_log *log, rp_error *err)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    while (fcntl(log->fd, F_SETLKW, &whole) != 0)
        if (errno != EINTR)
            return rp_fail(err, RP_EIO, "%s: cannot lock: %s", log->entries_path, strerror(errno));
    return RP_OK;
}

/* The checkpoint is read before the entries, and while adding behind the lock: it then never covers more than there is.
 */
static rp_status load(rp_run_log *log, const rp_key *const *trusted, size_t n_trusted, bool adding, rp_error *err)
{
    int fd = -1;
    rp_status status = adding ? RP_OK : read_checkpoint(log, trusted, n_trusted, err);

    if (status == RP_OK && (fd = open(log->entries_path, (adding ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK)) < 0)
        status = rp_fail(err, RP_EIO, "%s: cannot open: %s", log->entries_path, strerror(errno));
    log->fd = fd;
    if (adding && status == RP_OK)
        status = lock(log, err);
    if (adding && status == RP_OK)
        status = read_checkpoint(log, trusted, n_trusted, err);
    if (status == RP_OK)
        status = read_entries(log, fd, err);
    if (status == RP_OK)
        status = compare_root(log, err);
    return status == RP_OK ? compare_kind(log, err) : status;
}

rp_status rp_log_open_to(rp_run_log **out, const char *folder, const rp_key *const *trusted, size_t n_trusted,
                         bool adding, rp_error *err)
{
    rp_run_log *log = rp_calloc(1, sizeof *log);
    rp_status status;

    *out = NULL;
    if (log == NULL)
        return rp_no_memory(err);
    log->fd = -1;
    status = set_path(&log->entries_path, folder, "entries", err);
    if (status == RP_OK)
        status = set_path(&log->checkpoint_path, folder, "checkpoint", err);
    if (status == RP_OK)
        status = set_path(&log->predictions_path, folder, "predictions", err);
    if (status == RP_OK)
        status = load(log, trusted, n_trusted, adding, err);
    if (status != RP_OK) {
        rp_log_close(log);
        return status;
    }
    if (!adding) {
        close(log->fd);
        log->fd = -1;
    }
    *out = log;
    return RP_OK;
}

rp_status rp_log_open(rp_run_log **out, const char *folder, const rp_key *const *trusted, size_t n_trusted,
                      rp_error *err)
{
    if (!folder) {
        *out = NULL;
        return rp_no_value(err, __func__, "folder");
    }
    return rp_log_open_to(out, folder, trusted, n_trusted, false, err);
}

bool rp_log_has_predictions(const rp_run_log *log)
{
    return log && (log->note.head.predictions || rp_file_exists(log->predictions_path));
}

const rp_log_head *rp_log_state(const rp_run_log *log)
{
    return &log->note.head;
}

const char *rp_log_signer(const rp_run_log *log)
{
    if (!log)
        return NULL;
    return log->signer != NULL ? log->signer_id : NULL;
}

const rp_digest *rp_log_entry(const rp_run_log *log, uint64_t index)
{
    if (!log)
        return NULL;
    return index < log->count ? &log->entry[index] : NULL;
}

uint64_t rp_log_unfinished(const rp_run_log *log)
{
    if (!log)
        return 0;
    return log->unfinished;
}

bool rp_log_find(const rp_run_log *log, const char *archive_id, uint64_t *index)
{
    rp_digest wanted;

    if (!log || !archive_id || !rp_unhex(wanted.bytes, sizeof wanted.bytes, archive_id))
        return false;
    for (size_t i = 0; i < log->count; i++)
        if (rp_digest_equal(&log->entry[i], &wanted)) {
            *index = i;
            return true;
        }
    return false;
}

/* ---- writing ---- */

static rp_status write_checkpoint(const char *path, const rp_log_head *head, const rp_key *key, bool force,
                                  rp_error *err)
{
    rp_buffer text = {0};
    rp_status status = rp_log_note_write(&text, head, key, err);

    if (status == RP_OK)
        status = rp_file_save(path, text.data, text.size, force, 0644, err);
    rp_buffer_free(&text);
    return status;
}

/* The folder is made by the caller; entries first, since what makes it a log is the checkpoint. */
static rp_status init_files(const char *folder, const rp_log_head *head, const rp_key *key, rp_error *err)
{
    char *entries = NULL, *checkpoint = NULL;
    bool made = false;
    rp_status status = set_path(&entries, folder, "entries", err);

    if (status == RP_OK)
        status = set_path(&checkpoint, folder, "checkpoint", err);
    if (status == RP_OK && rp_file_exists(checkpoint))
        status = rp_fail(err, RP_EEXIST, "%s: is a log already", folder);
    if (status == RP_OK) {
        struct stat info;
        /* an empty one is what an init that was killed leaves */
        bool there = lstat(entries, &info) == 0;
        if (there && (!S_ISREG(info.st_mode) || info.st_size != 0))
            status = rp_fail(err, RP_EEXIST, "%s: already exists, and is not empty", entries);
        else if (!there)
            made = (status = rp_file_save(entries, "", 0, false, 0644, err)) == RP_OK;
    }
    if (status == RP_OK)
        status = write_checkpoint(checkpoint, head, key, false, err);
    if (status != RP_OK && made)
        (void)unlink(entries);
    rp_free(entries);
    rp_free(checkpoint);
    return status;
}

rp_status rp_log_init(const char *folder, const char *origin, const rp_key *key, rp_error *err)
{
    if (!key)
        return rp_no_handle(err, __func__, "key");

    rp_log_head head = {.size = 0};
    bool made = false;
    rp_status status = rp_log_origin_check(origin, err);

    if (status == RP_OK && !rp_key_is_private(key))
        status = rp_fail(err, RP_EARG, "a public key cannot sign: give the private key");
    if (status == RP_OK)
        status = rp_log_root(&head.root, NULL, 0, err);
    if (status != RP_OK)
        return status;
    memcpy(head.origin, origin, strlen(origin) + 1);
    made = mkdir(folder, 0755) == 0;
    if (!made && errno != EEXIST)
        return rp_fail(err, RP_EIO, "%s: cannot make the folder: %s", folder, strerror(errno));
    status = init_files(folder, &head, key, err);
    if (status != RP_OK && made)
        (void)rmdir(folder);
    return status;
}

/* The entry at its place, on disk. */
static rp_status append(const rp_run_log *log, const char *archive_id, rp_error *err)
{
    uint64_t offset = (uint64_t)log->count * LINE;
    char line[LINE + 1];

    memcpy(line, archive_id, LINE - 1);
    line[LINE - 1] = '\n';
    if (log->unfinished > 0 && ftruncate(log->fd, (off_t)offset) != 0)
        return rp_fail(err, RP_EIO, "%s: cannot cut off what an unfinished add left: %s", log->entries_path,
                       strerror(errno));
    for (size_t done = 0; done < LINE;) {
        ssize_t n = pwrite(log->fd, line + done, LINE - done, (off_t)(offset + done));

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return rp_fail(err, RP_EIO, "%s: cannot write: %s", log->entries_path, strerror(n < 0 ? errno : ENOSPC));
        done += (size_t)n;
    }
    if (fsync(log->fd) != 0)
        return rp_fail(err, RP_EIO, "%s: cannot flush to disk: %s", log->entries_path, strerror(errno));
    return RP_OK;
}

rp_status rp_log_append(rp_run_log *log, const char *archive_id, const rp_key *key, rp_error *err)
{
    rp_log_head head = log->note.head;
    rp_status status;

    if (log->count >= RP_LOG_ENTRIES_MAX)
        return rp_fail(err, RP_EUNSUPPORTED, "%s: the log is full: %d entries", log->entries_path,
                       (int)RP_LOG_ENTRIES_MAX);
    if (!rp_unhex(log->entry[log->count].bytes, RP_DIGEST_SIZE, archive_id))
        return rp_fail(err, RP_EARG, "%.64s is not an archive id", archive_id);
    status = rp_log_leaves(&log->leaf[log->count], &log->entry[log->count], 1, err);
    if (status == RP_OK)
        status = rp_log_root(&head.root, log->leaf, log->count + 1, err);
    if (status != RP_OK)
        return status;
    head.size++;
    status = append(log, archive_id, err);
    if (status == RP_OK)
        status = write_checkpoint(log->checkpoint_path, &head, key, true, err);
    if (status != RP_OK && ftruncate(log->fd, (off_t)((uint64_t)log->count * LINE)) != 0)
        return status; /* the rest stays behind the checkpoint, where nothing counts it */
    return status;
}

/* What the first prediction of all left, whose add was killed: nothing covers it. */
static rp_status drop_unfinished_record(const rp_run_log *log, rp_error *err)
{
    if (log->count > 0 || !rp_file_exists(log->predictions_path) || unlink(log->predictions_path) == 0)
        return RP_OK;
    return rp_fail(err, RP_EIO, "%s: cannot remove what an unfinished add left: %s", log->predictions_path,
                   strerror(errno));
}

rp_status rp_log_add_id(const char *folder, const char *archive_id, const rp_key *key, uint64_t *index, bool *added,
                        rp_error *err)
{
    rp_run_log *log;
    uint64_t at = 0;
    bool there;
    rp_status status;

    if (!rp_key_is_private(key))
        return rp_fail(err, RP_EARG, "a public key cannot sign: give the private key");
    status = rp_log_open_to(&log, folder, &key, 1, true, err);
    if (status != RP_OK)
        return status;
    there = rp_log_find(log, archive_id, &at);
    if (log->note.head.predictions)
        status = rp_fail(err, RP_EARG, "%s: is a log of predictions: runs have a log of their own", folder);
    else if (!there) {
        at = log->count;
        status = drop_unfinished_record(log, err);
        if (status == RP_OK)
            status = rp_log_append(log, archive_id, key, err);
    }
    if (status == RP_OK && index != NULL)
        *index = at;
    if (status == RP_OK && added != NULL)
        *added = !there;
    rp_log_close(log);
    return status;
}

/* ---- proofs ---- */

rp_status rp_log_prove(const rp_run_log *log, uint64_t index, char **out, rp_error *err)
{
    return rp_log_prove_with(log, index, NULL, out, err);
}

rp_status rp_log_prove_with(const rp_run_log *log, uint64_t index, const char *extra, char **out, rp_error *err)
{
    if (!log) {
        *out = NULL;
        return rp_no_handle(err, __func__, "log");
    }

    rp_digest path[RP_LOG_PATH_MAX];
    rp_buffer text = {0};
    size_t length;
    rp_status status;

    *out = NULL;
    if (index >= log->count)
        return rp_fail(err, RP_EARG, "entry %llu: the log has %zu entries, numbered from 0", (unsigned long long)index,
                       log->count);
    status = rp_log_path(path, &length, log->leaf, log->count, (size_t)index, err);
    if (status == RP_OK)
        rp_log_inclusion_write(&text, extra, index, path, length, (const char *)log->text.data);
    return rp_buffer_finish(&text, status, out, err);
}

/* That old is a state this log has been in. */
static rp_status compare_old(const rp_run_log *log, const rp_log_head *old, const char *where, rp_error *err)
{
    rp_digest root;
    rp_status status;

    if (strcmp(old->origin, log->note.head.origin) != 0)
        return rp_fail(err, RP_EHASH, "%s: is of the log %s, not of %s", where, old->origin, log->note.head.origin);
    if (old->size > log->count)
        return rp_fail(err, RP_EHASH, "%s: covers %llu entries, the log has %zu: entries were removed", where,
                       (unsigned long long)old->size, log->count);
    if (old->size > 0 && old->predictions != log->note.head.predictions)
        return rp_fail(err, RP_EHASH, "%s: is of a log of %s, which this is not", where,
                       old->predictions ? "predictions" : "runs");
    status = rp_log_root(&root, log->leaf, (size_t)old->size, err);
    if (status == RP_OK && !rp_digest_equal(&root, &old->root))
        status = rp_fail(err, RP_EHASH, "%s: the log's first %llu entries are not those it covers: the log was changed",
                         where, (unsigned long long)old->size);
    return status;
}

rp_status rp_log_prove_consistency(const rp_run_log *log, const char *old, size_t size, const char *where,
                                   const rp_key *const *trusted, size_t n_trusted, char **out, rp_error *err)
{
    if (!log) {
        *out = NULL;
        return rp_no_handle(err, __func__, "log");
    }

    rp_digest path[RP_LOG_PATH_MAX];
    rp_buffer text = {0};
    rp_log_note note;
    const rp_key *by;
    size_t length;
    rp_status status = rp_log_note_parse(&note, old, size, where, err);

    *out = NULL;
    if (status == RP_OK)
        status = rp_log_note_check(&note, trusted, n_trusted, &by, where, err);
    if (status == RP_OK)
        status = compare_old(log, &note.head, where, err);
    if (status == RP_OK)
        status = rp_log_growth(path, &length, log->leaf, log->count, (size_t)note.head.size, err);
    if (status == RP_OK)
        rp_log_consistency_write(&text, note.head.size, path, length, (const char *)log->text.data);
    return rp_buffer_finish(&text, status, out, err);
}
