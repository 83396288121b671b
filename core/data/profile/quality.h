/* SPDX-License-Identifier: Apache-2.0
 * The quality of a table by the eight dimensions of the ECB's guide to internal models (2025): a pure function of the
 * profile, the schema and the recipe (CONTRACT 9.11). */
#ifndef CORE_DATA_PROFILE_QUALITY_H
#define CORE_DATA_PROFILE_QUALITY_H

#include "core/data/profile/profile.h"

/* The archive's data/quality.json. Errors: RP_ENOMEM. */
rp_status rp_quality(rp_json **out, const rp_cells *cells, const rp_json *profile, const rp_json *schema);
/* Numbers of a column beyond its quartiles by 1.5 of their distance, and its skewness, NaN where there is none.
 * sorted [n] ascending; scratch [n]. */
size_t rp_quality_outliers(const double *sorted, size_t n);
double rp_quality_skew(const double *sorted, double *scratch, size_t n);

#endif
