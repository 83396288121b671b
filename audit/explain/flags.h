/* SPDX-License-Identifier: Apache-2.0
 * Which cells of new rows training had nothing like. */
#ifndef AUDIT_EXPLAIN_FLAGS_H
#define AUDIT_EXPLAIN_FLAGS_H

#include "audit/replay/scoring.h"
#include "rp/predict.h"

typedef struct rp_flags {
    const rp_schema *schema;
    size_t rows;
    unsigned char *cell; /* [n_columns, rows]: 0, or 1 + a kind of flag */
} rp_flags;

/* Against outputs/reference.json, when the archive has it, and counts in out; with `wanted` it must have it. */
rp_status rp_flags_find(rp_flags *out, const rp_archive *archive, const rp_scoring *scoring, bool wanted,
                        rp_prediction *count, rp_error *err);
void rp_flags_clear(rp_flags *flags);
/* The row's flags as one text: "unseen:kind;outside:x". */
void rp_flags_put(const rp_flags *flags, size_t row, rp_buffer *out);

#endif
