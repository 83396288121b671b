/* SPDX-License-Identifier: Apache-2.0
 * What the two tests of logs share: a proof of a small tree. */
#ifndef TESTS_AUDIT_LOG_LOG_SAMPLE_H
#define TESTS_AUDIT_LOG_LOG_SAMPLE_H

#include "tests/audit/archive/archive_sample.h"

#include "audit/log/log_note.h"

static const char origin[] = "example.com/models";

/* That entry 2 of 5 is in a log; id is its archive's. */
static inline void inclusion_text(rp_buffer *out, const rp_key *by, char id[RP_DIGEST_HEX])
{
    rp_digest entry[5], leaf[5], path[RP_LOG_PATH_MAX];
    rp_log_head head = {.size = 5};
    rp_buffer note = {0};
    size_t length;
    rp_error err;

    for (size_t i = 0; i < 5; i++)
        memset(entry[i].bytes, (int)i + 1, RP_DIGEST_SIZE);
    rp_digest_hex(id, &entry[2]);
    assert_ok(rp_log_leaves(leaf, entry, 5, &err));
    strcpy(head.origin, origin);
    assert_ok(rp_log_root(&head.root, leaf, 5, &err));
    assert_ok(rp_log_path(path, &length, leaf, 5, 2, &err));
    assert_ok(rp_log_note_write(&note, &head, by, &err));
    rp_buffer_u8(&note, 0);
    rp_log_inclusion_write(out, NULL, 2, path, length, (char *)note.data);
    rp_buffer_free(&note);
}

#endif
