/* SPDX-License-Identifier: Apache-2.0
 * A folder of goldens: recipes (NAME.yaml), their archives (NAME.reprise), archives without a recipe, and golden.json,
 * which says of each what it is and why it changed last. Computing needs a scratch file outside the folder, so that
 * nothing appears in it before everything is known. */
#ifndef CLI_GOLDEN_GOLDEN_H
#define CLI_GOLDEN_GOLDEN_H

#include "base/json.h"
#include "cli/cli.h"

typedef struct rp_golden {
    char *name;             /* without suffix */
    char *recipe, *archive; /* file names in the folder; recipe NULL: only the archive exists, say from the C API */
    bool on_disk;           /* the archive file exists */
    rp_json *entry;         /* its row of golden.json, borrowed; NULL: none */
    rp_status status;       /* of a check */
    char message[RP_ERROR_TEXT];
    rp_difference difference; /* that the replay found */
    rp_json *diff;            /* of the recipe run again: what reprise diff says of it; NULL: not that */
    double seconds;
} rp_golden;

typedef struct rp_golden_set {
    const char *folder;
    rp_json *index; /* golden.json; NULL when there is none */
    rp_golden *golden;
    size_t count; /* ascending by name */
} rp_golden_set;

/* What the folder holds and golden.json lists, together. Errors: RP_EIO, RP_EFORMAT, RP_ENOMEM. */
rp_status rp_golden_set_load(rp_golden_set *set, const char *folder, rp_error *err);
void rp_golden_set_free(rp_golden_set *set);
/* folder/file; free with rp_free. */
char *rp_golden_path(const rp_golden_set *set, const char *file);

/* Runs the golden's recipe, unsigned, and reads the archive back. Errors: as rp_train_recipe. */
rp_status rp_golden_compute(const rp_golden_set *set, const rp_golden *golden, const rp_job_options *options,
                            rp_buffer *out, rp_error *err);
/* Replays the golden's archive, with a progress bar. */
rp_status rp_golden_replay(const rp_golden *golden, const rp_archive *archive, const rp_job_options *options,
                           rp_error *err);
/* Reads the stored archive. */
rp_status rp_golden_read(const rp_golden_set *set, const rp_golden *golden, rp_buffer *out, rp_error *err);
/* 64 hex digits. */
rp_status rp_golden_sha256(char out[RP_DIGEST_HEX], const rp_buffer *bytes, rp_error *err);

/* JUnit XML: one test case a golden. */
void rp_golden_junit(const rp_golden_set *set, rp_buffer *out);
/* Of a check that could not even begin: one test case with an error, so that who reads only the file does not take
 * silence, or the file of last time, for a green one. */
void rp_golden_junit_refusal(const char *folder, const rp_error *refusal, rp_buffer *out);

/* golden record: computes all, then writes what is new, or what differs if force. Errors: RP_EEXIST without force where
 * one differs; nothing is then written. */
rp_status rp_golden_record(rp_session *session, rp_golden_set *set, const rp_job_options *options, bool force,
                           const char *reason, rp_error *err);
/* golden check: fills status, message and seconds of each, and the session's results, exit code and remark. junit may
 * be NULL. */
rp_status rp_golden_check(rp_session *session, rp_golden_set *set, const rp_job_options *options, const char *junit,
                          rp_error *err);

#endif
