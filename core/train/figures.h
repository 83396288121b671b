/* SPDX-License-Identifier: Apache-2.0
 * Figures of scored rows with outcomes as canonical JSON (CONTRACT 14, audit/FORMAT.md 9.5): the same in every run's
 * metrics and in `validate`. A real is its shortest decimal in a string, null where it is not defined or not finite. */
#ifndef CORE_TRAIN_FIGURES_H
#define CORE_TRAIN_FIGURES_H

#include "base/json.h"
#include "core/data/dataset.h"
#include "core/train/model.h"

/* What the trivial model is, and what a threshold was chosen on: the training rows. */
typedef struct rp_yardstick {
    double mean;          /* of a regression's target */
    double rate, above;   /* beside an offset o: sum of targets / sum of e^o; mean of targets less o; NaN: not so */
    double threshold;     /* Youden's of two classes, chosen on the training rows; NaN: none */
    int64_t class_rows[]; /* [classes]; their sum is at least 1 */
} rp_yardstick;

/* From outputs/reference.json (untrusted: RP_EFORMAT); freed by rp_free. classes 0: a regression. Errors: RP_ENOMEM. */
rp_status rp_yardstick_read(rp_yardstick **out, const rp_json *reference, size_t classes, rp_error *err);

typedef struct rp_scored_rows {
    size_t rows, classes, outputs; /* classes 0: a regression */
    const double *score;           /* [rows, outputs] */
    const int64_t *label;          /* [rows], of classes */
    const double *target;          /* [rows], of a regression */
    const double *offset;          /* [rows], what is added to each row's predictor; NULL: nothing */
} rp_scored_rows;

typedef struct rp_figure_options {
    bool fitted;      /* the model was fitted to these rows */
    bool brief;       /* without bands and CAP */
    double threshold; /* one more, given by the user; NaN: none */
    rp_family family; /* of poisson and gamma the mean deviance too, and what was expected beside what came */
} rp_figure_options;

/* New reference in *out. Errors: RP_EDATA (a score that is no finite number), RP_ENOMEM. */
rp_status rp_figures(rp_json **out, const rp_scored_rows *rows, const rp_yardstick *yardstick,
                     const rp_figure_options *options, rp_error *err);

/* What the trivial model of a quantity gives a row beside an offset: the rate times its exposure, or what targets were
 * above it. */
double rp_trivial_beside(const rp_yardstick *yardstick, double offset);
/* The class that the model predicts: the first largest score; for one probability, the positive class from 0.5 up. */
int64_t rp_decide(const double *score, size_t outputs, bool classes);
/* 0, or -1 when memory runs out, as the calls of base/json.h. */
int rp_put_figure(rp_json *object, const char *key, double value);
int rp_append_figure(rp_json *array, double value);

#endif
