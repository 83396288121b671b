/* SPDX-License-Identifier: Apache-2.0
 * The cells that a column is given in turn for its partial dependence (CONTRACT 14.11). */
#ifndef AUDIT_EXPLAIN_GRID_H
#define AUDIT_EXPLAIN_GRID_H

#include "audit/replay/scoring.h"

enum { RP_GRID_CATEGORIES = 20 };

typedef struct rp_grid {
    size_t points;
    double *number;    /* [points]: of a numeric column; NaN: missing */
    size_t *group;     /* [points]: of a categorical column; SIZE_MAX: none */
    const char **text; /* [points]: its text, borrowed from the schema; NULL: missing, or pooled */
    size_t pooled;     /* the point of the categories that were pooled; SIZE_MAX: none */
    bool categorical;
} rp_grid;

/* Of the rows named: numbers at parts of their quantiles, or the most frequent categories; then the pooled ones, at
 * last a missing cell, where some row has one. Errors: RP_ENOMEM. */
rp_status rp_grid_make(rp_grid *out, const rp_scoring *scoring, size_t column, const size_t *row, size_t rows,
                       size_t parts, rp_error *err);
void rp_grid_clear(rp_grid *grid);
/* An array of reals or texts, {"other": true} for pooled categories, null for a missing cell; NULL when memory runs
 * out. */
rp_json *rp_grid_json(const rp_grid *grid);

#endif
