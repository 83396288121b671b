/* SPDX-License-Identifier: Apache-2.0
 * Commands that make a statement about an archive's model: options that they share, and how it is made, checked, signed
 * and shown. */
#ifndef CLI_VALIDATE_STATEMENT_H
#define CLI_VALIDATE_STATEMENT_H

#include "cli/limits.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "rp/validation.h"

typedef struct rp_statement_request {
    const char *command;
    const char *archive, *csv, *part, *out, *key, *passphrase, *check, *level, *device, *withheld;
    rp_text_list trust, parents; /* the archive that the run started from, that one's own parent, and so on */
    rp_text_list parent_withheld;
    rp_limits limits;
    unsigned threads;
    bool force, attach;
    const void *self;     /* of the calls below */
    const char *previous; /* NULL, or the statement before, which is read to before: with --attach or --trust it is
                           * signed by the signer or by a trusted key */
    rp_buffer *before;
    bool attachable; /* the command has --attach */
    bool rows;       /* it wants --csv or --part */
    bool asked;      /* for something that --check takes from the statement */
    /* csv: NULL where no file was given */
    rp_status (*make)(const void *self, const rp_archive *archive, const rp_buffer *csv, const char *where,
                      const rp_job_options *job, char **statement, size_t *length, rp_error *err);
    rp_status (*again)(const void *self, const rp_archive *archive, const rp_buffer *csv, const char *where,
                       const char *statement, size_t length, const rp_job_options *job, rp_error *err);
    void (*show)(rp_session *session, const rp_json *predicate);
} rp_statement_request;

enum { RP_STATEMENT_FILE_MAX = 1 << 20 }; /* bytes of a statement's file, which is read whole */

#define RP_STATEMENT_ATTACH(r) \
    { \
        0, "attach", RP_OPTION_FLAG, NULL, "add the statement to ARCHIVE, signed by KEY.pem and dated now", \
            &(r)->attach, false \
    }
#define RP_STATEMENT_OPTIONS(r) \
    {'o', "out", RP_OPTION_TEXT, "FILE", "write the statement here: canonical JSON", &(r)->out, false}, \
        {0, "check", RP_OPTION_TEXT, "FILE", "make this statement again and compare every byte", &(r)->check, false}, \
        {0, "key", RP_OPTION_TEXT, "KEY.pem", "sign it with this key (default: REPRISE_KEY)", &(r)->key, false}, \
        {0,    "passphrase-file", RP_OPTION_TEXT, "FILE", "first line: the passphrase of KEY.pem", &(r)->passphrase, \
         false}, \
        {0, \
         "trust", \
         RP_OPTION_LIST, \
         "PUB.pem", \
         "verify the archive's signature first, and that of --check FILE (default: REPRISE_TRUST)", \
         &(r)->trust, \
         false}, \
        {0, "force", RP_OPTION_FLAG, NULL, "replace FILE if it exists", &(r)->force, false}, \
        RP_OPTION_WITHHELD(&(r)->withheld), RP_OPTION_LIMITS(&(r)->limits), RP_OPTION_THREADS(&(r)->threads), \
        RP_OPTION_ISA(&(r)->level), RP_OPTION_DEVICE(&(r)->device)

/* Whether the options go together, before anything is read; key and trust from the environment where they have none. */
rp_status rp_statement_look(rp_session *session, rp_statement_request *request, rp_error *err);
rp_status rp_statement_run(rp_session *session, const rp_statement_request *request, rp_error *err);

/* Of a line of archives, the nearest first: folders belong, in their order, to those that left something out. *given
 * counts the folders that have found theirs; after the last archive all must have. */
rp_status rp_line_disclose(rp_archive *archive, const rp_text_list *folders, size_t *given, rp_error *err);
rp_status rp_line_disclosed(const rp_text_list *folders, size_t given, rp_error *err);

#endif
