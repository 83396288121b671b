/* SPDX-License-Identifier: Apache-2.0
 * The keys of a resolved recipe by their dotted names, for clauses that name one: a key that no recipe has is absent
 * from each, so that a clause which asks for that would be met by a slip of the pen. */
#ifndef AUDIT_TRUST_RECIPE_RECIPE_PATHS_H
#define AUDIT_TRUST_RECIPE_RECIPE_PATHS_H

#include <stdbool.h>
#include <stddef.h>

/* FORMAT 9.1, sections among them, but for what is inside of lists, whose elements no name reaches; without the names
 * of classes below train.class_weights, and what stands below a key of search.over. */
extern const char *const rp_recipe_paths[];
extern const size_t rp_recipe_path_count;
/* Whether a resolved recipe can have a value there. */
bool rp_recipe_path_known(const char *path);
/* The one that was meant, or NULL: nobody can tell. */
const char *rp_recipe_path_nearest(const char *path);

#endif
