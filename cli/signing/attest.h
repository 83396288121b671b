/* SPDX-License-Identifier: Apache-2.0
 * Attesting a replay: whoever replayed signs what came of it, and the verdict goes into the archive. */
#ifndef CLI_SIGNING_ATTEST_H
#define CLI_SIGNING_ATTEST_H

#include "cli/options.h"

typedef struct rp_attestation {
    const char *key_path, *passphrase_file, *cert; /* options */
    bool wanted;
    rp_key *key; /* NULL: none wanted */
    rp_replay_outcome outcome;
    char member[RP_MEMBER_NAME]; /* that was added */
} rp_attestation;

#define RP_OPTION_ATTEST(a) \
    {0, "attest", RP_OPTION_FLAG, NULL, "sign a verdict on the replay and add it to ARCHIVE", &(a)->wanted, false}, \
        {0, \
         "key", \
         RP_OPTION_TEXT, \
         "KEY.pem", \
         "with --attest: your private key (default: REPRISE_KEY)", \
         &(a)->key_path, \
         false}, \
        {0, \
         "cert", \
         RP_OPTION_TEXT, \
         "CHAIN.pem", \
         "the key's certificate, then its issuers': goes into the archive", \
         &(a)->cert, \
         false}, \
    { \
        0, "passphrase-file", RP_OPTION_TEXT, "FILE", "first line: the passphrase of KEY.pem", &(a)->passphrase_file, \
            false \
    }

/* Before the replay, so that it is not done in vain: looks whether the archive at path can be added to, loads the key.
 * The replay then gets &a->outcome.begun. */
rp_status rp_attestation_begin(rp_attestation *a, const char *path, rp_error *err);
/* After it. job: what came of it, or NULL where err says that bits differ: a verdict says so too. A verdict that cannot
 * be added is an error where bits are the same, and told with the difference where they are not. Returns status, or the
 * error. */
rp_status rp_attestation_end(rp_attestation *a, const char *path, const rp_archive *archive, const rp_job *job,
                             rp_status status, rp_error *err);
void rp_attestation_free(rp_attestation *a);

#endif
