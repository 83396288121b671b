/* SPDX-License-Identifier: Apache-2.0
 * The words of the recipe, in the order of the enumerations of recipe.h, and the writer of the resolved form.
 * Private to core. */
#ifndef CORE_RECIPE_RECIPE_NAMES_H
#define CORE_RECIPE_RECIPE_NAMES_H

#include "core/recipe/recipe.h"

extern const char *const rp_activation_names[4];
extern const char *const rp_loss_names[6]; /* a recipe takes the first four */
extern const char *const rp_optimizer_names[6];
extern const char *const rp_schedule_names[3];
extern const char *const rp_column_kind_names[RP_COLUMN_KINDS];
extern const char *const rp_missing_rule_names[4];        /* numeric columns take the first three */
extern const char *const rp_missing_categorical_names[2]; /* error, category */
extern const char *const rp_encoding_names[4];
extern const char *const rp_relation_names[7]; /* =, !=, <, <=, >, >=, present */
extern const char *const rp_task_names[2];
extern const char *const rp_solver_names[2]; /* exact, gradient */
extern const char *const rp_family_names[4];
extern const char *const rp_padding_names[2];
extern const char *const rp_pool_names[3];
extern const char *const rp_algorithm_names[2];
extern const char *const rp_parent_mode_names[2]; /* continue, retrain */
extern const char *const rp_decay_names[2];       /* weights, all */
extern const char *const rp_precision_names[2];   /* f32, mixed */

/* The resolved recipe; keys that do not apply are absent. NULL when out of memory. */
rp_json *rp_recipe_write(const rp_recipe *recipe);

#endif
