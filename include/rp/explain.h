/* SPDX-License-Identifier: Apache-2.0
 * What an archive's model is made of, as statements about it: a scorecard of points. Canonical JSON, a function of
 * archive and options alone, which anyone who has them makes again to the byte (audit/FORMAT.md 15.3). rp/validation.h
 * signs and opens such texts. docs/scorecard.md says how to read it. */
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

#endif
