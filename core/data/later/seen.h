/* SPDX-License-Identifier: Apache-2.0
 * Rows that a model may have been trained on: figures of them flatter it. */
#ifndef CORE_DATA_LATER_SEEN_H
#define CORE_DATA_LATER_SEEN_H

#include "core/data/dataset.h"

/* How many of row[0..n) (NULL: the first n) have, in every feature, the value of one and the same of the rows
 * trained[0..m) of own, the run's own table; and the first that has. mark [n], in their order: set where one has, else
 * left as it is; may be NULL. Errors: RP_ENOMEM. */
rp_status rp_rows_seen(rp_tally *out, const rp_schema *schema, const rp_rows *rows, const int64_t *row, size_t n,
                       const rp_rows *own, const int64_t *trained, size_t m, bool *mark, rp_error *err);
/* Rows of own in their folds. */
typedef struct rp_folded_rows {
    const int64_t *row, *fold; /* [n], row ascending */
    const bool *counted;       /* [n] */
    size_t n;
} rp_folded_rows;

/* How many of those that are counted have the features of one of trained[0..m), also rows of own and ascending, that is
 * in another fold; one that is none of theirs is in no fold of theirs. Errors: RP_ENOMEM. */
rp_status rp_rows_seen_apart(rp_tally *out, const rp_schema *schema, const rp_rows *own, const rp_folded_rows *rows,
                             const int64_t *trained, size_t m, rp_error *err);

#endif
