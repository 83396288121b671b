/* SPDX-License-Identifier: Apache-2.0
 * Training again on new rows: which archive's recipe is taken, what changed between both trainings, and how child and
 * parent do on the same rows (docs/retrain.md). */
#ifndef RP_RETRAINING_H
#define RP_RETRAINING_H

#include "rp/audit.h"

/* Which archive's recipe, and on which new rows. */
typedef struct rp_retraining {
    const char *parent, *csv; /* paths; options->read_table may read the latter */
    bool warm_start;          /* from the parent's weights; else afresh */
    const char *withheld;     /* the folder with what the parent left out (rp_archive_disclose); NULL: none is given */
} rp_retraining;

/* Trains by the parent's recipe, with its columns, their kinds and its classes, on new rows, and writes the child's
 * archive, whose recipe names the parent as its predecessor. All else is as rp_train_recipe has it. Errors: further
 * RP_EDATA: a column or a class is gone, a class is new, a number became text; RP_EUNSUPPORTED: the parent is a run of
 * the C API; RP_EARG: warm_start of an exact fit. The parent's hashes are checked, not its signature. */
RP_API rp_status rp_retrain(const rp_retraining *what, const char *path, const rp_key *key, bool force,
                            const rp_job_options *options, rp_job **out, rp_error *err);

/* Which rows parent and child are held against each other on, and where two classes are told apart. */
typedef struct rp_retraining_options {
    const void *csv; /* rows with outcomes, borrowed; NULL: those of the child's own table in part */
    size_t size;
    const char *where;     /* names csv in errors */
    const char *part;      /* "validation" or "test"; NULL: validation. Only without csv */
    const char *threshold; /* a decimal from 0 to 1; NULL: 0.5 */
} rp_retraining_options;

/* Parent and child on the same rows: figures of both, who is better, scores that moved, decisions that changed; and the
 * drift between both trainings. A statement about the child, to be signed by rp_validation_sign. options may be NULL.
 * job->parents: where the parent started from another archive's states, that one, its own parent and so on, so that
 * rows which trained any of them are counted. *statement: NUL-terminated, freed with rp_text_free. Errors: RP_EARG (no
 * such rows in the child's recipe), RP_EDATA (they do not predict the same classes, no row with an outcome), those of
 * rp_validate. */
RP_API rp_status rp_retraining_compare(const rp_archive *parent, const rp_archive *child,
                                       const rp_retraining_options *options, const rp_job_options *job,
                                       char **statement, size_t *length, rp_error *err);
/* Makes a statement (not signed: rp_validation_open) again and compares every byte. csv: NULL where the statement is
 * about a part of the child's own rows. Errors: as rp_validation_check; RP_EHASH too where the parent is another. */
RP_API rp_status rp_retraining_check(const rp_archive *parent, const rp_archive *child, const void *csv, size_t size,
                                     const char *where, const char *statement, size_t length, const rp_job_options *job,
                                     rp_error *err);
/* What the child's table has otherwise than the parent's: {"card_left_out", "categories", "columns_gone",
 * "columns_new", "recipe_left_out"}, as audit/FORMAT.md 15.5 has them. json: NUL-terminated, freed with rp_text_free.
 */
RP_API rp_status rp_retraining_changes(const rp_archive *parent, const rp_archive *child, char **json, rp_error *err);

#endif
