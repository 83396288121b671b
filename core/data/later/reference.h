/* SPDX-License-Identifier: Apache-2.0
 * What the training rows were like, column by column: frozen edges and counts that later rows are held against
 * (CONTRACT 14.6, audit/FORMAT.md 9.6). */
#ifndef CORE_DATA_LATER_REFERENCE_H
#define CORE_DATA_LATER_REFERENCE_H

#include "core/data/schema.h"
#include "core/stats/drift.h"

/* An array with one object for each column that is a feature, of the rows named; new reference. source [columns] as
 * rp_encoder_new has it. Errors: RP_ENOMEM. */
rp_status rp_reference_columns(rp_json **out, const rp_cells *cells, const rp_schema *schema, const size_t *source,
                               const int64_t *row, size_t rows);
/* {"counts", "edges", "maximum", "minimum"} of n numbers, whose order changes; NULL when memory runs out. */
rp_json *rp_reference_numbers(double *x, size_t n);

/* An array of them; NULL when memory runs out. */
rp_json *rp_counts_json(const uint64_t *count, size_t n);

/* A column's reference as read from JSON (untrusted). */
typedef struct rp_reference_column {
    size_t column; /* of the schema */
    size_t bins, edges;
    uint64_t *count; /* [bins]: edges + 1 of numbers, or a category each and one for others; then the missing */
    double *edge, minimum, maximum;
} rp_reference_column;

/* Of a column of the schema. Errors: RP_EFORMAT, RP_ENOMEM. */
rp_status rp_reference_read(rp_reference_column *out, const rp_json *json, const rp_schema *schema, const char *where,
                            rp_error *err);
/* Of numbers alone: no missing bin. */
rp_status rp_reference_read_numbers(rp_reference_column *out, const rp_json *json, const char *where, rp_error *err);
void rp_reference_clear(rp_reference_column *column);

/* What all rows have in a feature's column of the schema. Numeric: number [rows], NaN where it is missing. Categorical:
 * text [rows], NULL where it is missing, as long as rows lives, and category [rows]: as many as the column has
 * categories for one that training did not know. */
void rp_rows_features(const rp_rows *rows, size_t column, double *number, size_t *category, const char **text);

/* Where a category stands among those of a column, or the number of them. */
size_t rp_category_find(const rp_schema_column *column, const char *text);

#endif
