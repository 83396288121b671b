/* SPDX-License-Identifier: Apache-2.0
 * Figures of rows by slice and by group (audit/FORMAT.md 15.1): the same in a run's metrics and in `validate`. */
#ifndef CORE_TRAIN_SLICES_SLICES_H
#define CORE_TRAIN_SLICES_SLICES_H

#include "core/data/later/written.h"
#include "core/train/figures.h"

/* What was asked for, by its words. */
typedef struct rp_slice_names {
    const char *const *by, *const *groups; /* COLUMN or COLUMN:K */
    size_t n_by, n_groups;                 /* at most RP_SLICES_MAX each */
    const char *favourable;                /* NULL: the last class */
    double threshold;                      /* of selection, and of one more confusion; NaN: 0.5, and none more */
} rp_slice_names;

/* Rows with scores and, where it is known, an outcome. */
typedef struct rp_slice_rows {
    const rp_schema *schema;
    const rp_yardstick *yardstick;
    const int64_t *row; /* [rows]: numbers in the table, ascending; NULL: all of it */
    size_t rows, outputs;
    const double *score;  /* [rows, outputs] */
    const int64_t *label; /* [rows] of classes, else NULL */
    const double *value;  /* [rows] of a regression, else NULL */
    const bool *known;    /* [rows]; NULL: of all */
    const double *offset; /* [rows] what is added to each one's predictor; NULL: nothing */
    bool fitted;          /* the model was fitted to them */
    rp_family family;     /* as of rp_figure_options */
} rp_slice_rows;

/* Where the columns that were asked for stand. */
typedef struct rp_slice_place {
    size_t col, parts;
} rp_slice_place;

typedef struct rp_slice_plan {
    rp_slice_place by[RP_SLICES_MAX], groups[RP_SLICES_MAX];
} rp_slice_plan;

/* Before texts are loaded. Errors: RP_EARG: no such column, or too many. */
rp_status rp_slices_want(rp_slice_plan *out, rp_written *texts, const rp_slice_names *names, rp_error *err);
/* The class that is favourable; of a regression -1. Errors: RP_EARG, also for a threshold of what has not two classes.
 */
rp_status rp_slices_look(int64_t *favourable, const rp_schema *schema, const rp_slice_names *names, rp_error *err);
/* Figures of the rows with an outcome whose part is the one given; part NULL: of all. *out is NULL where there is none.
 */
rp_status rp_slice_figures(rp_json **out, const rp_slice_rows *rows, const size_t *part, size_t which,
                           const rp_figure_options *options, rp_error *err);
/* Puts "slices" and "groups" into out. Errors: RP_EARG: too many values; RP_EDATA, RP_ENOMEM. */
rp_status rp_slices_put(rp_json *out, const rp_slice_plan *plan, const rp_slice_names *names, const rp_slice_rows *rows,
                        const rp_written *texts, rp_error *err);

#endif
