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

#endif
