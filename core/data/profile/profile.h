/* SPDX-License-Identifier: Apache-2.0
 * What a table holds, column by column, and what about it deserves a word before a model learns from it (CONTRACT 9.9).
 * A pure function of (recipe, bytes), told by `reprise data`, by `reprise run` and by the report. */
#ifndef CORE_DATA_PROFILE_H
#define CORE_DATA_PROFILE_H

#include "core/data/schema.h"

/* Quantiles of a column of numbers: minimum, these, maximum. */
enum { RP_QUANTILES = 7 };
extern const double rp_quantile_at[RP_QUANTILES]; /* 0, 0.05, 0.25, 0.5, 0.75, 0.95, 1 */

/* Reads an open table's rows as a profile without kinds wants them. */
rp_status rp_profile_load(rp_table *table, const rp_recipe *recipe, size_t target, rp_error *err);
/* kind [cols]: as rp_columns_settle left them, or NULL: each column's is found here, and one of text and numbers is
 * told as mixed. target: its column, or SIZE_MAX where none is known. The result has
 *   rows, duplicates, conflicts
 *   columns   a list of {name, kind, why, missing, distinct, examples, ...}
 *   findings  a list of {code, level, ...}, by column and in the order of CONTRACT 9.9
 * With cells->warnings NULL and kind NULL, what reading a column would be refused for is a finding too.
 * Errors: RP_ENOMEM. */
rp_status rp_profile_table(rp_json **out, const rp_cells *cells, const rp_column_kind *kind, size_t target);
/* One finding more; the fields that do not apply are SIZE_MAX. */
typedef struct rp_finding {
    const char *code;
    bool note; /* not a warning */
    size_t column, row, count;
    const char *text;  /* a cell, a class or a word; NULL: none */
    const char *words; /* what is told; NULL: what rp_finding_words makes of the code */
} rp_finding;
/* And what reading saw. Errors: RP_ENOMEM. */
rp_status rp_profile_add_warnings(rp_json *profile, const rp_warnings *warnings, rp_error *err);
rp_status rp_profile_add(rp_json *profile, const rp_cells *cells, const rp_finding *finding);
/* Appends the profile as JSON text, each finding with its words. Errors: RP_ENOMEM. */
rp_status rp_profile_tell(rp_buffer *out, const rp_json *profile, rp_error *err);
/* A copy that tells no cell of the table, in examples, figures or findings. Errors: RP_ENOMEM. */
rp_status rp_profile_without_cells(rp_json **out, const rp_json *profile, rp_error *err);
/* Whether rp_finding_words knows the code; it has words that need no cell then, where the finding has none. */
bool rp_finding_has_words(const char *code);
/* A finding in words for people, with the key that settles it; names and cells are quoted and printable. */
void rp_finding_words(rp_buffer *out, const rp_json *profile, const rp_json *finding);

#endif
