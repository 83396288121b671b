/* SPDX-License-Identifier: Apache-2.0
 * The files of a recipe. */
#ifndef AUDIT_DRIVE_RECIPE_FILES_H
#define AUDIT_DRIVE_RECIPE_FILES_H

#include "core/recipe/recipe.h"

/* The recipe at a path, in YAML or as an archive's run/recipe.json, and where its table lies; *recipe is to be freed
 * also on failure. Errors: RP_EIO, RP_EARG, RP_ENOMEM. */
rp_status rp_recipe_load(const char *recipe_path, rp_recipe **recipe, char **csv_path, rp_error *err);
/* A table's path: relative to the recipe's folder, of a resolved recipe to the one around it, as the archive has both,
 * if there is such a file; - is standard input. NULL when memory runs out. */
char *rp_recipe_table_path(const char *recipe_path, const rp_recipe *recipe, const char *table);
/* RP_EARG where out is a file that the recipe's run is made of: the recipe, its tables, table being data.csv's path,
 * its parent. out may be NULL. */
rp_status rp_recipe_keep(const char *out, const char *recipe_path, const rp_recipe *recipe, const char *table,
                         rp_error *err);

#endif
