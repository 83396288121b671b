/* SPDX-License-Identifier: Apache-2.0
 * What a model is worth on rows that it has not seen, and whether rows have drifted from those it was trained on. Both
 * make a statement about the archive: canonical JSON, a function of archive, rows and options alone, which anyone who
 * has the three makes again to the byte (audit/FORMAT.md 15). docs/validation.md says what each figure is and how to
 * read it. */
#ifndef RP_VALIDATION_H
#define RP_VALIDATION_H

#include "rp/audit.h"

enum { RP_VALIDATION_COLUMNS_MAX = 16 };

typedef struct rp_validation_options {
    /* COLUMN: its values, or its quartiles where it holds more than 12 different numbers; COLUMN:K: K parts (2 to 20).
     * Need not be features. At most RP_VALIDATION_COLUMNS_MAX of each. */
    const char *const *by, *const *groups;
    size_t n_by, n_groups;
    const char *favourable; /* the class that it is good to get; NULL: the positive one, the last of more */
    const char *threshold;  /* of the positive class's score, a decimal from 0 to 1; NULL: 0.5 */
    const char *part;       /* "test": the archive's own rows that no step of the run has seen; "folds": those that have
                               a score out of fold, by that; csv is NULL then; NULL: the rows given */
} rp_validation_options;

/* Scores the rows of a CSV that has the target's column and takes the figures of those whose outcome is there: all of
 * them, by slice and by group. csv: borrowed, or NULL with options->part. options may be NULL. *statement:
 * NUL-terminated, freed with rp_text_free. Errors: RP_EARG (no such column or class, too many slices), RP_EDATA (a
 * class unknown in training, no row with an outcome), those of rp_predict. */
RP_API rp_status rp_validate(const rp_archive *archive, const void *csv, size_t size, const char *where,
                             const rp_validation_options *options, const rp_job_options *job, char **statement,
                             size_t *length, rp_error *err);
typedef struct rp_monitor_options {
    const char *period;   /* a name for it, a line of at most 128 bytes, or NULL */
    const void *previous; /* the text of the statement before this one, signed or not, which must be about the same
                             archive; NULL: this is the first */
    size_t previous_size;
} rp_monitor_options;

/* Holds the rows of a CSV against the training rows: scores, every feature, and outcomes where there are any. options
 * may be NULL. */
RP_API rp_status rp_monitor(const rp_archive *archive, const void *csv, size_t size, const char *where,
                            const rp_monitor_options *options, const rp_job_options *job, char **statement,
                            size_t *length, rp_error *err);
/* A signed envelope around a statement of these two, or of rp/explain.h; text freed with rp_text_free. */
RP_API rp_status rp_validation_sign(const char *statement, size_t length, const rp_key *key, char **text,
                                    size_t *text_length, rp_error *err);
/* Signs a statement of these two, or an explanation, with the time in it, and adds it to signatures/ of the archive at
 * path, as rp_archive_approve adds a decision; its name goes to member (may be NULL). What a policy may ask of it is in
 * docs/policy.md. Errors: RP_EHASH: it is about another archive; RP_EARG: a scorecard; those of rp_archive_add_finding.
 */
RP_API rp_status rp_validation_attach(const char *path, const char *archive_id, const char *statement, size_t length,
                                      const rp_key *key, char member[RP_MEMBER_NAME], rp_error *err);
/* The statement in a text that rp_validation_sign made, or the text itself where it is one. With n_trusted above 0 one
 * of these keys must have signed it; else no signature is checked. Errors: RP_ESIGN. */
RP_API rp_status rp_validation_open(const void *text, size_t size, const char *where, const rp_key *const *trusted,
                                    size_t n_trusted, char **statement, size_t *length, rp_error *err);
/* What a statement was made from, beside the archive. */
typedef struct rp_validation_inputs {
    const void *csv; /* NULL where the statement is about a part of the archive's own */
    size_t size;
    const char *where;
    const void *previous; /* of monitoring, the statement before, if it names one; else NULL */
    size_t previous_size;
} rp_validation_inputs;

/* Makes a statement (not signed: rp_validation_open) again from the archive, the rows that it names, and what it says
 * was asked for, and compares every byte. inputs: NULL for none. Errors: RP_EBITS with the first key that differs,
 * RP_EHASH where archive or rows are others. */
RP_API rp_status rp_validation_check(const rp_archive *archive, const char *statement, size_t length,
                                     const rp_validation_inputs *inputs, const rp_job_options *job, rp_error *err);

#endif
