/* SPDX-License-Identifier: Apache-2.0
 * The sections search: and challengers: of a recipe: what is tried before the run. Private to core/recipe. */
#ifndef CORE_RECIPE_RECIPE_TRIALS_H
#define CORE_RECIPE_RECIPE_TRIALS_H

#include "core/recipe/recipe_read.h"

/* The other sections are already known. */
void rp_recipe_read_trials(rp_node_reader *reader, const rp_node *top, rp_recipe *out);
/* 0, or -1 when memory runs out. */
int rp_recipe_write_trials(rp_json *top, const rp_recipe *recipe);
void rp_recipe_free_trials(rp_recipe *recipe);

#endif
