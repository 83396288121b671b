/* SPDX-License-Identifier: Apache-2.0
 * The table of an exact fit's coefficients (outputs/coefficients.json) for people. */
#ifndef CLI_COEFFICIENTS_H
#define CLI_COEFFICIENTS_H

#include "base/buffer.h"
#include "base/json.h"

/* A line a term, aligned, of at most `most` terms. Returns how many terms were left out. What is no such
 * table gives no lines. */
size_t rp_put_coefficients(rp_buffer *out, const rp_json *table, size_t most);
/* "AIC 790.75, BIC 799.98, .." of the whole fit, in a line; nothing where there are none (with a penalty). */
void rp_put_fit_figures(rp_buffer *out, const rp_json *table);

#endif
