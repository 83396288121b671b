/* SPDX-License-Identifier: Apache-2.0
 * Some of the archives that tests make in memory and have verified, with a key that is trusted then, into the folder
 * $RP_KEEP_ARCHIVES: tests/cli/same_verdicts.sh asks both programs about them. Without the variable nothing is kept. */
#ifndef TESTS_AUDIT_ARCHIVE_KEPT_H
#define TESTS_AUDIT_ARCHIVE_KEPT_H

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "rp/archive.h"

/* The first ones, and then fewer and fewer: the k-th where k is below 40 or has only its first three bits set. */
static inline void keep_archive(const rp_buffer *bytes, const rp_key *trusted)
{
    static atomic_uint calls;
    const char *folder = getenv("RP_KEEP_ARCHIVES");
    unsigned k = atomic_fetch_add(&calls, 1), rest = k;
    char path[512];

    while (rest >= 8)
        rest >>= 1;
    for (unsigned shift = 0; k >= 8 && shift < 32; shift++)
        if (k == rest << shift)
            rest = 0;
    if (folder == NULL || (k >= 40 && rest != 0))
        return;
    (void)snprintf(path, sizeof path, "%s/%ld-%u.reprise", folder, (long)getpid(), k);
    (void)rp_file_save(path, bytes->data, bytes->size, true, 0644, NULL);
    (void)snprintf(path, sizeof path, "%s/%ld-%u.reprise.pem", folder, (long)getpid(), k);
    if (trusted != NULL)
        (void)rp_key_save_public(trusted, path, true, NULL);
}

#endif
