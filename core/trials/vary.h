/* SPDX-License-Identifier: Apache-2.0
 * The recipe of one trial: the run's recipe with other settings (CONTRACT 12.11). Private to core/trials. */
#ifndef CORE_TRIALS_VARY_H
#define CORE_TRIALS_VARY_H

#include "core/recipe/recipe.h"

enum { RP_FOLD_AS_IS = -2 };

/* The settings of trial number i of the recipe's search, an object of the names of rp_search_keys; new reference.
 * Errors: RP_ENOMEM. */
rp_status rp_search_draw(rp_json **out, const rp_recipe *recipe, int64_t i, rp_error *err);
/* What stands in the recipe for each key that it searches. Errors: RP_EARG: a key does not apply to this recipe. */
rp_status rp_search_settings(rp_json **out, const rp_recipe *recipe, rp_error *err);
/* The recipe with these settings: names of rp_search_keys, "seed", and "linear": true for the exact linear model.
 * whole: it keeps search:, challengers:, record: and card:, else it tries nothing itself. fold: which one validates.
 * Errors: RP_EFORMAT names the key that does not fit; RP_ENOMEM. */
rp_status rp_recipe_vary(rp_recipe **out, const rp_recipe *recipe, const rp_json *set, int64_t fold, bool whole,
                         rp_error *err);

#endif
