/* SPDX-License-Identifier: Apache-2.0
 * What a feature is of: its column and the part of it, and of a product those of both (CONTRACT 9.6). */
#ifndef CORE_DATA_TREAT_FEATURE_H
#define CORE_DATA_TREAT_FEATURE_H

#include "core/data/schema.h"

typedef enum rp_feature_part {
    RP_FEATURE_NUMBER,
    RP_FEATURE_CATEGORY,  /* group: of the column's categories */
    RP_FEATURE_MISSING,   /* the missing value's own category or bin */
    RP_FEATURE_OTHER,     /* pooled categories */
    RP_FEATURE_BIN,       /* group: from edge group - 1 to edge group */
    RP_FEATURE_INDICATOR, /* whether the cell is missing */
    RP_FEATURE_WEIGHT     /* weight of evidence */
} rp_feature_part;

typedef struct rp_feature {
    size_t column, group;
    rp_feature_part part;
    bool reference; /* the first of a column that has a feature a group */
} rp_feature;

/* Feature i, from 0, of the schema's; *product: it is one, and second is what it is multiplied with. */
rp_feature rp_feature_of(const rp_schema *schema, size_t i, bool *product, rp_feature *second);
/* `column "a" being "x"`, for people. Returns out. */
char *rp_feature_text(char *out, size_t size, const rp_schema *schema, size_t i);
/* Adds column and part to an object: `column`, and `category` (null: missing), `other`, `bin`, `indicator` or `woe`; of
 * a product also `times`, an object of the same. 0, or -1 when memory runs out. */
int rp_feature_put(rp_json *object, const rp_schema *schema, size_t i);

#endif
