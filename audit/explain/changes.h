/* SPDX-License-Identifier: Apache-2.0
 * A model on rows in which one column was changed (CONTRACT 14.11). Private to audit/explain. */
#ifndef AUDIT_EXPLAIN_CHANGES_H
#define AUDIT_EXPLAIN_CHANGES_H

#include "audit/explain/margin.h"
#include "audit/validate/judged.h"
#include "core/train/evaluate.h"

/* The rows with an outcome, scored again and again. */
typedef struct rp_changes {
    const rp_judged *judged;
    rp_scorer *scorer;
    size_t *row, *judge; /* [rows]: those with an outcome, as numbers in the table and among the judged rows */
    size_t rows;
    void *x;         /* [RP_BLOCK_ROWS, features] of the model's type */
    void *own;       /* [rows, the column's width]: the features of the column */
    double *scores;  /* [rows, outputs] */
    uint64_t blocks; /* scored so far */
} rp_changes;

/* Borrows judged. */
rp_status rp_changes_new(rp_changes *out, const rp_judged *judged, rp_error *err);
void rp_changes_clear(rp_changes *changes);
/* Adds what scoring all rows so many times costs. Errors: RP_EUNSUPPORTED beyond what options allow. */
rp_status rp_changes_afford(rp_changes *changes, uint64_t times, const rp_job_options *options, rp_error *err);
/* The features of a column, to be permuted. */
rp_status rp_changes_take(rp_changes *changes, size_t column, rp_error *err);
/* Scores with row i having the column of row from[i]. */
rp_status rp_changes_permuted(rp_changes *changes, size_t column, const int64_t *from, rp_error *err);
/* Scores with all rows having this cell (core/data/later/changed.h). */
rp_status rp_changes_fixed(rp_changes *changes, size_t column, double number, size_t group, rp_error *err);

#endif
