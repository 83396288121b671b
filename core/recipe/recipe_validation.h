/* SPDX-License-Identifier: Apache-2.0
 * Reading the validation: section of a recipe. */
#ifndef CORE_RECIPE_RECIPE_VALIDATION_H
#define CORE_RECIPE_RECIPE_VALIDATION_H

#include "base/node_read.h"
#include "core/recipe/recipe.h"

/* out->train.regression is already known. */
void rp_recipe_read_validation(rp_node_reader *reader, const rp_node *top, rp_recipe *out);

#endif
