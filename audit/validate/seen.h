/* SPDX-License-Identifier: Apache-2.0
 * Rows that the model may have been trained on, or chosen by: figures of them flatter it. */
#ifndef AUDIT_VALIDATE_SEEN_H
#define AUDIT_VALIDATE_SEEN_H

#include "audit/validate/judged.h"

/* -1: a table that had to be looked at is not at hand, or has no such columns. */
typedef struct rp_seen_rows {
    int64_t trained; /* have in every feature the value of one and the same row that trained the weights */
    int64_t other;   /* of the rest: have those of another row of the runs' own that is no new one */
    int64_t own;     /* of rp_seen_count, of what is left then: have those of a row of another part of the run itself */
} rp_seen_rows;

/* Of the rows that have an outcome: those that are like a training row of the run, of the run that it started from, of
 * that one's parent and so on, which are looked for among the n parents; other: like a row of the validation part of
 * one of them that has chosen it, by early stopping or a search; own: like any row of the run's own table, or of its
 * data.test_csv; of rows out of fold 0. Errors: RP_ENOMEM, those of reading the run's own. */
rp_status rp_seen_count(rp_seen_rows *out, const rp_archive *archive, const rp_judged *judged,
                        const rp_archive *const *parents, size_t n, rp_error *err);
/* The same of all rows, with an outcome or without, and of the run's own table alone; other: like a row of another part
 * of it. */
rp_status rp_seen_own(rp_seen_rows *out, const rp_archive *archive, const rp_judged *judged, rp_error *err);
/* "seen" of a statement, and the others under their key, null where they are not known. Not 0: out of memory. */
int rp_seen_put(rp_json *data, const rp_seen_rows *seen, const char *other);
/* "seen", "chose" and "own" of what rp_seen_count found; likewise. */
int rp_seen_put_count(rp_json *data, const rp_seen_rows *seen);

#endif
