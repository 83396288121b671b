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
} rp_retraining;

/* Trains by the parent's recipe, with its columns, their kinds and its classes, on new rows, and writes the child's
 * archive, whose recipe names the parent as its predecessor. All else is as rp_train_recipe has it. Errors: further
 * RP_EDATA: a column or a class is gone, a class is new, a number became text; RP_EUNSUPPORTED: the parent is a run of
 * the C API; RP_EARG: warm_start of an exact fit. The parent's hashes are checked, not its signature. */
RP_API rp_status rp_retrain(const rp_retraining *what, const char *path, const rp_key *key, bool force,
                            const rp_job_options *options, rp_job **out, rp_error *err);
/* What the child's table has otherwise than the parent's: {"card_left_out", "categories", "columns_gone",
 * "columns_new"}, as audit/FORMAT.md 15.5 has them. json: NUL-terminated, freed with rp_text_free. */
RP_API rp_status rp_retraining_changes(const rp_archive *parent, const rp_archive *child, char **json, rp_error *err);

#endif
