/* SPDX-License-Identifier: Apache-2.0
 * What an archive's model is made of, as statements about it: a scorecard of points; importance and effect of its
 * columns on rows. Canonical JSON, a function of archive, rows and options alone, which anyone who has them makes again
 * to the byte (audit/FORMAT.md 15.3, 15.4). rp/validation.h signs and opens such texts. docs/scorecard.md and
 * docs/explain.md say how to read them. */
#ifndef RP_EXPLAIN_H
#define RP_EXPLAIN_H

#include "rp/audit.h"

typedef struct rp_scorecard_options {
    const char *scale;      /* "POINTS:ODDS:DOUBLE", decimals above 0: so many points at those odds of the favourable
                               class, so many more double them; NULL: "600:19:50" */
    const char *favourable; /* class; NULL: the positive one */
} rp_scorecard_options;

/* The points of each bin, category and missing cell of a model of two classes without layers. options may be NULL.
 * *statement: NUL-terminated, freed with rp_text_free. Errors: RP_EUNSUPPORTED (another model, products of columns),
 * RP_EARG (scale, no such class). */
RP_API rp_status rp_scorecard(const rp_archive *archive, const rp_scorecard_options *options, const rp_job_options *job,
                              char **statement, size_t *length, rp_error *err);
/* Makes a statement again and compares every byte. Errors: RP_EHASH (about another archive), RP_EBITS (another value,
 * named), RP_ESIGN (no such statement), those of making it. */
RP_API rp_status rp_scorecard_check(const rp_archive *archive, const char *statement, size_t length,
                                    const rp_job_options *job, rp_error *err);

enum { RP_REPEATS_MAX = 100, RP_GRID_MAX = 50, RP_CURVES_MAX = 50 };

typedef struct rp_explain_options {
    const char *favourable; /* class whose score is looked at; NULL: the positive one, the last of more */
    const char *metric;     /* auc, log_loss, brier of two classes; log_loss, accuracy, macro_auc of more; r2, rmse, mae
                               of a regression; NULL: the first */
    const char *part;       /* "test": the rows of the archive's own table that no step of the run has seen, csv is NULL
                               then; NULL: the rows given */
    uint64_t seed;          /* of the permutations: below 2^53 */
    size_t repeats;         /* permutations a column; 0: 5 */
    size_t grid;            /* parts of a number's quantiles; 0: 10 */
    size_t curves;          /* rows whose own curves are told */
} rp_explain_options;

/* On rows with outcomes: how far the metric falls when a column is permuted (permutation importance), and the mean
 * score of all rows, and some rows' own, when a column has one value after another (partial dependence, individual
 * conditional expectation). options NULL: seed 1, no curves. csv: borrowed, or NULL with options->part. Costs repeats +
 * grid + 2 scorings of all rows a column (of categories repeats + 21) at most, which `job` bounds. Errors: RP_EARG (no
 * such metric or class), RP_EDATA (no row with an outcome, a metric that is not defined), those of rp_predict. */
RP_API rp_status rp_explain(const rp_archive *archive, const void *csv, size_t size, const char *where,
                            const rp_explain_options *options, const rp_job_options *job, char **statement,
                            size_t *length, rp_error *err);
/* Makes a statement again and compares every byte. Errors: RP_EHASH (about another archive or other rows), RP_EBITS,
 * RP_ESIGN, those of making it. */
RP_API rp_status rp_explain_check(const rp_archive *archive, const void *csv, size_t size, const char *where,
                                  const char *statement, size_t length, const rp_job_options *job, rp_error *err);

#endif
