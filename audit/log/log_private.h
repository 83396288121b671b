/* SPDX-License-Identifier: Apache-2.0
 * A log in a folder, as the files that keep it see it. */
#ifndef AUDIT_LOG_LOG_PRIVATE_H
#define AUDIT_LOG_LOG_PRIVATE_H

#include "audit/log/log_note.h"

enum { LINE = 2 * RP_DIGEST_SIZE + 1, LINES = 256 };

struct rp_run_log {
    char *entries_path, *checkpoint_path, *predictions_path;
    int fd;         /* of entries, while adding; else -1 */
    rp_buffer text; /* of the checkpoint, with a terminator */
    rp_log_note note;
    const rp_key *signer;
    char signer_id[RP_DIGEST_HEX];
    size_t count;
    rp_digest *entry, *leaf; /* room for one more */
    uint64_t unfinished;
};

/* adding: behind the lock, which rp_log_close lets go. */
rp_status rp_log_open_to(rp_run_log **out, const char *folder, const rp_key *const *trusted, size_t n_trusted,
                         bool adding, rp_error *err);
/* rp_log_prove, with a line "extra" of the text where it is not NULL. */
rp_status rp_log_prove_with(const rp_run_log *log, uint64_t index, const char *extra, char **out, rp_error *err);
/* Of a log that was opened to add: the entry (64 hex digits) on disk, then the checkpoint that covers it. */
rp_status rp_log_append(rp_run_log *log, const char *entry, const rp_key *key, rp_error *err);

#endif
