/* SPDX-License-Identifier: Apache-2.0
 * What the table of a report's explanation and its plots share. The predicate is a stranger's: a column may be
 * anything.
 */
#ifndef AUDIT_REPORT_REPORT_EXPLAINED_H
#define AUDIT_REPORT_REPORT_EXPLAINED_H

#include "audit/report/report.h"

/* Of an explanation's column: its name, or "column N". */
void rp_explained_name(rp_buffer *out, const rp_json *column);
/* The mean importance of a column; false: it has none. */
bool rp_explained_mean(const rp_json *column, double *mean);
/* The metric in words; true: more of it is worse. */
bool rp_explained_metric(rp_buffer *out, const rp_json *predicate);
/* The plots of how columns move the score: the first of order, [count], at most. number: of the explanation on the
 * page, for the names of its plots. */
void rp_explained_effects(rp_report_view *r, const rp_json *predicate, const size_t *order, size_t count,
                          size_t number);

#endif
