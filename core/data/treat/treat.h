/* SPDX-License-Identifier: Apache-2.0
 * Treatments of columns (CONTRACT 9.5a, 9.6): what is done to cells before they are features. Private to core/data, and
 * to what makes tables of cells' features. */
#ifndef CORE_DATA_TREAT_TREAT_H
#define CORE_DATA_TREAT_TREAT_H

#include "core/data/schema.h"

enum { RP_BINS_MAX = 100 };

/* The training rows that something is learnt from. */
typedef struct rp_learning {
    const rp_cells *cells;
    const rp_target *target;
    const int64_t *train_row;
    size_t train_rows;
    double *scratch; /* [train_rows] */
} rp_learning;

/* Mean and population deviation (CONTRACT 9.5); value is overwritten. */
void rp_moments(double *value, size_t n, double *mean, double *deviation);
/* What the column's treatments learn, into its object of the schema. Errors: RP_EARG names keys that the column's kind
 * or target does not have; RP_EDATA, RP_ENOMEM. */
rp_status rp_treat_fit(rp_json *out, const rp_learning *from, size_t col, rp_column_kind kind, const rp_treatment *t);

/* The recipe's interactions as pairs of table columns, into the schema. Errors: RP_EARG, RP_ENOMEM. */
rp_status rp_interactions_fit(rp_json *schema, const rp_cells *cells, const rp_column_kind *kind, size_t target);

/* The column's keys for treatments from its object; kind, mean and categories are read already. False: *what is wrong.
 * Errors other than the format: RP_ENOMEM. */
rp_status rp_treatment_read(rp_schema_column *out, const rp_json *json, const char **wrong, rp_error *err);
rp_status rp_interactions_read(rp_schema *out, const rp_json *list, const char *where, rp_error *err);

/* A number under caps and logarithm, or of an exposure its logarithm. */
double rp_treat_number(const rp_schema_column *column, double value);
/* The bin of a number, NaN for a missing cell, in a column with bins; SIZE_MAX for a missing cell that has none. */
size_t rp_group_of(const rp_schema_column *column, double number);
/* Products of encoded features, behind those of the columns; x begins with the row's first feature. False: one is not
 * finite. */
bool rp_interact(const rp_schema *schema, rp_features x);

#endif
