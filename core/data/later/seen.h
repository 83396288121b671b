/* SPDX-License-Identifier: Apache-2.0
 * Rows that a model may have been trained on: figures of them flatter it. Rows of two tables are held against each
 * other feature by feature, each table being read by the recipe and schema of its own run. */
#ifndef CORE_DATA_LATER_SEEN_H
#define CORE_DATA_LATER_SEEN_H

#include "core/data/dataset.h"

/* Whether the features of both are the same: by name (without a header by place), kind and order. Parameters of one
 * model are those of the other by their places alone. */
bool rp_same_features(const rp_schema *a, const rp_schema *b);

/* A table, read under a schema. */
typedef struct rp_read_rows {
    const rp_schema *schema;
    const rp_rows *rows;
} rp_read_rows;

/* Some rows of a run's own table. */
typedef struct rp_own_rows {
    const int64_t *row; /* numbers in the table, by the reading that it is opened with */
    size_t rows;
    bool
        *mark; /* [n] of those that are looked for, in their order: set where one of these is like it, else as it was */
} rp_own_rows;

/* Which of row[0..n) (NULL: the first n) of `of` have, in every feature, the value of one and the same of the rows of
 * own that a list has; the features of both are the same. Errors: RP_EDATA: a row that its table has not; RP_ENOMEM. */
rp_status rp_rows_like(const rp_read_rows *of, const int64_t *row, size_t n, const rp_read_rows *own,
                       const rp_own_rows *list, size_t lists, rp_error *err);
/* How many of all rows are like one of the rows trained[0..m) of own; and the first that is. Errors: as above. */
rp_status rp_rows_seen(rp_tally *out, const rp_schema *schema, const rp_rows *rows, const rp_rows *own,
                       const int64_t *trained, size_t m, rp_error *err);
/* Rows of own in their folds. */
typedef struct rp_folded_rows {
    const int64_t *row, *fold; /* [n], row ascending */
    const bool *counted;       /* [n] */
    size_t n;
} rp_folded_rows;

/* How many of those that are counted have the features of one of trained[0..m), also rows of own and ascending, that is
 * in another fold; one that is none of theirs is in no fold of theirs. Errors: as above. */
rp_status rp_rows_seen_apart(rp_tally *out, const rp_schema *schema, const rp_rows *own, const rp_folded_rows *rows,
                             const int64_t *trained, size_t m, rp_error *err);

#endif
