/* SPDX-License-Identifier: Apache-2.0
 * Encoded rows in which one column's cell is another's: what a model would say then. */
#ifndef CORE_DATA_LATER_CHANGED_H
#define CORE_DATA_LATER_CHANGED_H

#include "core/data/schema.h"

/* Features of a cell of the schema's column in x, which begins with the row's first: of a number, NaN for a missing
 * one; of a categorical column of its group, the category's place, SIZE_MAX for none. False: one is not finite. */
bool rp_changed_cell(const rp_schema *schema, size_t column, double number, size_t group, rp_features x);
/* The products of a row whose columns' features are there. False: one is not finite. */
bool rp_changed_products(const rp_schema *schema, rp_features x);

#endif
