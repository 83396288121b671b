/* SPDX-License-Identifier: Apache-2.0
 * The scores of rows by the trials that were not trained on them (audit/FORMAT.md 9.8). Private to audit/validate. */
#ifndef AUDIT_VALIDATE_OUT_OF_FOLD_H
#define AUDIT_VALIDATE_OUT_OF_FOLD_H

#include "audit/archive/archive.h"
#include "core/data/dataset.h"

typedef struct rp_out_of_fold {
    int64_t *row, *fold; /* [rows]: numbers in the table, ascending; which trial scored it */
    double *score;       /* [rows, outputs] */
    bool *last;          /* [rows]: the member says that its class is the last; all false of a regression */
    size_t rows, outputs;
} rp_out_of_fold;

/* wide: scores are binary64, else binary32 and widened. out is cleared with rp_out_of_fold_clear whatever is returned.
 * Errors: RP_EFORMAT: not of the form of 9.8; RP_EIO, RP_EHASH, RP_ENOMEM. */
rp_status rp_out_of_fold_read(rp_out_of_fold *out, const rp_archive *archive, const rp_schema *schema, size_t outputs,
                              bool wide, rp_error *err);
void rp_out_of_fold_clear(rp_out_of_fold *scores);

/* A fold's rows are there, all of them, or none, as it failed: lines that were cut out would make the rest look as it
 * likes. Folds that are dealt differ by at most one row (CONTRACT 9.4); groups' do not. Errors: RP_EFORMAT, RP_ENOMEM.
 */
rp_status rp_out_of_fold_whole(const rp_out_of_fold *kept, const rp_recipe *recipe, size_t trained, rp_error *err);

#endif
