/* SPDX-License-Identifier: Apache-2.0
 * Rows with scores and outcomes, and what they are held against. Private to audit/validate. */
#ifndef AUDIT_VALIDATE_JUDGED_H
#define AUDIT_VALIDATE_JUDGED_H

#include "audit/replay/scoring.h"
#include "core/data/later/written.h"
#include "core/train/figures.h"

typedef struct rp_judged {
    rp_scoring *scoring;
    rp_written *texts;  /* outcomes, and columns that were wanted */
    rp_json *reference; /* outputs/reference.json */
    rp_json *metrics;   /* outputs/metrics.json; NULL where there is none */
    rp_yardstick *yardstick;
    int64_t *label; /* [rows] of classes, else NULL */
    float *value;   /* [rows] of a regression, else NULL */
    bool *known;    /* [rows] */
    size_t rows, outcomes;
} rp_judged;

/* Borrows csv and where. want: may be NULL; wants further columns before texts are loaded. */
rp_status rp_judged_new(rp_judged **out, const rp_archive *archive, const void *csv, size_t size, const char *where,
                        const rp_job_options *options, rp_status (*want)(void *self, rp_written *texts, rp_error *err),
                        void *self, rp_error *err);
void rp_judged_free(rp_judged *judged); /* NULL is fine */
/* These figures' area beside that of the run's own validation part: {"auc", "auc_error", "p", "statistic"}, null where
 * one of the two has none (CONTRACT 14.8); NULL when memory runs out. */
rp_json *rp_judged_development(const rp_judged *judged, const rp_json *figures);
/* The names of the model's classes in their order, null of a regression; NULL when memory runs out. */
rp_json *rp_judged_classes(const rp_judged *judged);
/* Figures of the rows with an outcome whose part is the one given; part NULL: of all. *out is NULL where there is none.
 */
rp_status rp_judged_figures(rp_json **out, const rp_judged *judged, const size_t *part, size_t which,
                            const rp_figure_options *options, rp_error *err);

#endif
