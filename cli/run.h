/* SPDX-License-Identifier: Apache-2.0
 * A training as commands ask for it: what they share of options, keys and the summary. */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include "base/json.h"
#include "cli/options.h"

typedef struct rp_run_request {
    const char *out, *key, *passphrase, *cert, *level, *device, *withhold, *save_every, *memory;
    double save_seconds;
    uint64_t memory_bytes;
    unsigned threads;
    bool force, no_record, resume, nonconforming;
} rp_run_request;

#define RP_RUN_OPTIONS(r) \
    {0,         "key", RP_OPTION_TEXT, "FILE", "sign with this private key (PEM); without it the archive is unsigned", \
     &(r)->key, false}, \
        {0, \
         "passphrase-file", \
         RP_OPTION_TEXT, \
         "FILE", \
         "the key's passphrase is the first line of FILE", \
         &(r)->passphrase, \
         false}, \
        {0, \
         "cert", \
         RP_OPTION_TEXT, \
         "CHAIN.pem", \
         "the key's certificate, then its issuers': goes into the archive", \
         &(r)->cert, \
         false}, \
        RP_OPTION_THREADS(&(r)->threads), RP_OPTION_ISA(&(r)->level), RP_OPTION_DEVICE(&(r)->device), \
        RP_OPTION_MEMORY(&(r)->memory), RP_OPTION_NONCONFORMING(&(r)->nonconforming), \
        {0, \
         "withhold", \
         RP_OPTION_TEXT, \
         "DIR", \
         "leave the data out of the archive, bound by salted digests, into this folder", \
         &(r)->withhold, \
         false}, \
        {0, \
         "force", \
         RP_OPTION_FLAG, \
         NULL, \
         "replace the archive if it exists, and drop what an interrupted run left; never a file of --withhold", \
         &(r)->force, \
         false}, \
        {0, "resume", RP_OPTION_FLAG, NULL, "go on with an interrupted run, if there is one", &(r)->resume, false}, \
    { \
        0, "save-every", RP_OPTION_TEXT, "SECONDS", \
            "how often to make a point to resume from (default: 60; 0: never)", &(r)->save_every, false \
    }

/* Fills save_seconds and, from the environment, key. Errors: RP_EARG: options that do not go together. */
rp_status rp_run_request_check(rp_session *session, rp_run_request *r, const char *command, const char *synopsis,
                               rp_error *err);

/* A training that is done. */
typedef struct rp_run_done {
    rp_job *job;
    rp_key *key; /* NULL: unsigned */
    rp_json *metrics, *table;
} rp_run_done;

/* Loads the key and has train do it, under a bar; a note on resume points goes to the session. Zeros before; freed by
 * rp_run_done_clear, also after an error. */
rp_status rp_run_train(rp_run_done *out, rp_session *session, const rp_run_request *r, const char *command,
                       rp_status (*train)(const void *self, const rp_key *key, const rp_job_options *options,
                                          rp_job **job, rp_error *err),
                       const void *self, rp_error *err);
void rp_run_done_clear(rp_run_done *done);
/* The keys of an open JSON object; lines for people. */
void rp_run_put_json(rp_session *session, const rp_run_request *r, const rp_run_done *done);
void rp_run_put_lines(rp_session *session, const rp_run_request *r, const rp_run_done *done);

#endif
