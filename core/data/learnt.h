/* SPDX-License-Identifier: Apache-2.0
 * What of a column was lost between its cells and its feature, told where it would go by in silence. */
#ifndef CORE_DATA_LEARNT_H
#define CORE_DATA_LEARNT_H

#include "core/data/schema.h"

/* Warnings on columns that the recipe's bins or cap leave one value, and on numbers that differ by less than the
 * arithmetic holds; a note on the categories that rare makes one. source: of each schema column its column of the
 * table. Errors: RP_ENOMEM. */
rp_status rp_learnt_tell(const rp_cells *cells, const rp_schema *schema, const size_t *source, const int64_t *train_row,
                         size_t train_rows);
/* The warnings of preparation once more, as findings of the profile: of a table that was loaded as the schema has its
 * columns. Errors: those of rp_dataset_prepare, and nothing is told. */
rp_status rp_dataset_tell(rp_json *profile, const rp_cells *loaded, const rp_schema *schema);

#endif
