/* SPDX-License-Identifier: Apache-2.0
 * Reals in canonical JSON: texts, the shortest decimal that reads back, as it has no numbers with a fraction. */
#ifndef CORE_RECIPE_DECIMAL_JSON_H
#define CORE_RECIPE_DECIMAL_JSON_H

#include "base/json.h"
#include "determinism/decimal.h"

/* A new reference; NULL when memory runs out. */
static inline rp_json *rp_json_decimal(double x)
{
    char text[RP_DECIMAL_SIZE];

    (void)rp_print_f64(text, x);
    return rp_json_string(text);
}

#endif
