/* SPDX-License-Identifier: Apache-2.0
 * Numbers as a table writes them: under the recipe's decimal, thousands, prefix and suffix (CONTRACT 9.2). Private to
 * core. */
#ifndef CORE_DATA_NUMBER_H
#define CORE_DATA_NUMBER_H

#include <stddef.h>

#include "core/recipe/recipe.h"

/* Of a number: which prefix and suffix it had, from 1 in the recipe's order; 0: none. */
typedef struct rp_dress {
    unsigned char prefix, suffix;
} rp_dress;

/* The number in a cell's text, an infinity where it is beyond binary64 or binary32. dress may be NULL. False: no number
 * under these rules. */
bool rp_number_f64(const rp_reading *rules, const char *text, size_t length, double *out, rp_dress *dress);
bool rp_number_f32(const rp_reading *rules, const char *text, size_t length, float *out, rp_dress *dress);

#endif
