/* SPDX-License-Identifier: Apache-2.0
 * Numbers as a table writes them: under the recipe's decimal, thousands, prefix and suffix (CONTRACT 9.2). Private to
 * core. */
#ifndef CORE_DATA_TEXT_NUMBER_H
#define CORE_DATA_TEXT_NUMBER_H

#include <stddef.h>

#include "core/recipe/recipe.h"

/* Of a number: which prefix and suffix it had, from 1 in the recipe's order; 0: none. */
typedef struct rp_dress {
    unsigned char prefix, suffix;
} rp_dress;

/* The number in a cell's text, an infinity where it is beyond binary64 or binary32; places as rp_parse_f64_places has
 * them. False: no number under these rules. */
bool rp_number_f64(const rp_reading *rules, const char *text, size_t length, double *out, int *places, rp_dress *dress);
bool rp_number_f32(const rp_reading *rules, const char *text, size_t length, float *out);

/* What a cell is by its text alone, if it is not missing. What other programs write for NaN and infinity, and numbers
 * beyond binary64, are no numbers and no categories. */
typedef enum rp_cell_class { RP_CELL_NUMBER, RP_CELL_NOT_FINITE, RP_CELL_TEXT } rp_cell_class;
rp_cell_class rp_cell_classify(const rp_reading *rules, const char *text, size_t length, double *number, int *places,
                               rp_dress *dress);

/* Whether the text is one of the recipe's words for a missing value. */
bool rp_text_missing(const rp_recipe *recipe, const char *text);

#endif
