/* SPDX-License-Identifier: Apache-2.0
 * Rows cut by a column of their table, which need not be a feature (FORMAT 15). */
#ifndef CORE_TRAIN_SLICES_PARTITION_H
#define CORE_TRAIN_SLICES_PARTITION_H

#include "base/json.h"
#include "core/data/later/written.h"

enum { RP_PARTITION_MAX = 64, RP_PARTITION_FEW = 12, RP_PARTITION_PARTS_MAX = 20 };

typedef struct rp_partition {
    size_t parts;       /* the missing last, if there are any */
    bool numbers;       /* parts lie between edges */
    bool missing;       /* whether the last part is that of missing cells */
    size_t *part;       /* [rows that are cut] */
    double *edge;       /* [parts - missing - 1] of numbers */
    const char **value; /* [parts - missing] of texts, inside the rows' table */
} rp_partition;

/* by: COLUMN or COLUMN:K; the column is wanted of texts before they are loaded. parts: 0, or K. Errors: RP_EARG. */
rp_status rp_partition_want(rp_written *texts, const char *by, size_t *col, size_t *parts, rp_error *err);
/* Of a loaded column: of the rows named by their numbers in the table, [rows]; row NULL: of all. Errors: RP_EARG: too
 * many values, with the way out. */
rp_status rp_partition_make(rp_partition *out, const rp_written *texts, const char *by, size_t col, size_t parts,
                            const int64_t *row, size_t rows, rp_error *err);
void rp_partition_clear(rp_partition *partition);
/* Puts {"value"} or {"from", "to"} of a part into object: which rows it has. 0, or -1 when memory runs out. */
int rp_partition_name(rp_json *object, const rp_partition *partition, size_t part);

#endif
