/* SPDX-License-Identifier: Apache-2.0
 * Statements of validation, monitoring, scorecards and explanations as texts (FORMAT 15). */
#ifndef AUDIT_VALIDATE_STATEMENT_TEXT_H
#define AUDIT_VALIDATE_STATEMENT_TEXT_H

#include "audit/statements/statement.h"
#include "rp/audit.h"

#define RP_SCORECARD_TYPE "https://reprise.invalid/scorecard/v1"

/* The in-toto statement around a predicate, which is taken: canonical, at most RP_VALIDATION_LIMIT bytes; the error
 * of a longer one gives the advice what would make it shorter. */
rp_status rp_validation_text(char **out, size_t *length, const char *archive_id, const char *type, rp_json *predicate,
                             const char *advice, rp_error *err);
/* A statement's payload, signed or not, in form: type, subject and predicate are there. *type is that of a validation,
 * a monitoring, a scorecard or an explanation. */
rp_status rp_validation_parse(rp_json **out, const char **type, const char **archive_id, const void *text, size_t size,
                              const char *where, const rp_key *const *trusted, size_t n_trusted, rp_error *err);
/* A statement that was made again beside the one that is checked, which is `expected` parsed. Errors: RP_EBITS names
 * the first value that differs. */
rp_status rp_validation_compare(const char *made, size_t made_length, const char *statement, size_t length,
                                const rp_json *expected, rp_error *err);
/* Whether a predicate's data are these rows; csv NULL: those of the archive's own part that it names. Errors: RP_EARG
 * (rows where it names a part, or none where it is about a file), RP_EHASH, RP_ENOMEM. */
rp_status rp_validation_same_rows(const rp_json *predicate, const void *csv, size_t size, const char *where,
                                  rp_error *err);
/* Which rows count as seen hangs on the parents at hand. *out: job's (or none), with the parents that a statement which
 * counts them was made with: all behind archive, in any order; where it does not count them none. Errors: RP_EARG: one
 * of them is not among job's. */
rp_status rp_validation_parents(rp_job_options *out, const rp_archive *archive, const rp_job_options *job, bool counted,
                                rp_error *err);
/* The same without the time at which somebody signed the statement into an archive: all else is a function of what is
 * given. json: the statement, parsed. */
rp_status rp_validation_is_again(const char *made, size_t made_length, const char *statement, size_t length,
                                 const rp_json *json, rp_error *err);
/* {"bytes", "sha256"} of a text; NULL when memory runs out. */
rp_json *rp_text_digest(const void *text, size_t size, rp_error *err);

enum { RP_VALIDATION_LIMIT = 640 << 10 }; /* so that an envelope around it is a statement */

#endif
