/* SPDX-License-Identifier: Apache-2.0
 * From coefficients of features as they were encoded to those of the table's own units (CONTRACT 12.9). */
#ifndef CORE_TRAIN_UNITS_UNITS_H
#define CORE_TRAIN_UNITS_UNITS_H

#include "core/data/schema.h"

/* Feature 0 is the intercept, the schema's first is 1. Beside a product the coefficients of both its factors and the
 * intercept depend on its own: (a - s)(b - t) = a b - t a - s b + s t. */
typedef struct rp_units {
    size_t width;          /* 1 + the schema's features */
    double *shift, *scale; /* [width]: a feature is (value - shift) / scale; of a product 0, and both scales' product */
    size_t (*factor)[2];   /* [width]: the features that are multiplied; 0: it is no product */
    size_t *reference;     /* [width]: of a category or bin the one that its column's others differ from; else 0 */
} rp_units;

/* references: whether the first category or bin of a column is one. Errors: RP_ENOMEM. */
rp_status rp_units_of(rp_units *out, const rp_schema *schema, bool references, rp_error *err);
void rp_units_clear(rp_units *units);
/* How much of each encoded coefficient a feature's coefficient in the table's units is: by [width], mostly zeros. */
void rp_units_row(const rp_units *units, size_t feature, double *by);

#endif
