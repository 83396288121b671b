/* SPDX-License-Identifier: Apache-2.0
 * What the files that read a recipe share, beside the typed reading of keys (base/node_read.h). */
#ifndef CORE_RECIPE_RECIPE_READ_H
#define CORE_RECIPE_RECIPE_READ_H

#include "base/node_read.h"
#include "core/recipe/recipe.h"

enum { RP_RECIPE_TEXT = 255 }; /* bytes of a name, a cell or a class in a recipe */

/* An interval of reals and its words for the error. */
typedef struct rp_range {
    double low, high;
    bool low_open, high_open;
    const char *text;
} rp_range;

/* Refuses a key of the mapping that is not among keys[0..count), suggesting the nearest. section "" is the top. */
void rp_recipe_check_keys(rp_node_reader *reader, const rp_node *mapping, const char *section, const char *const *keys,
                          size_t count);
/* *out: the default when the key is absent. */
void rp_recipe_real(rp_node_reader *reader, const rp_node *mapping, const char *path, double *out, double otherwise,
                    const rp_range *range);

/* The data: section; out->train.regression is already known. */
void rp_recipe_read_data(rp_node_reader *reader, const rp_node *top, rp_recipe *out);
/* Of it, in YAML, the keys of a recipe on arrays; the table's other keys are read as their defaults. */
void rp_recipe_read_arrays(rp_node_reader *reader, const rp_node *data, rp_recipe *out);
void rp_recipe_read_images(rp_node_reader *reader, const rp_node *data, rp_recipe *out); /* likewise */
/* A column by its name or index. */
void rp_recipe_read_column(rp_node_reader *reader, const rp_node *node, const char *path, rp_column_ref *out);
/* The keys of a date, out->kind being known; rule is no mapping where it has none. */
void rp_recipe_read_date(rp_node_reader *reader, const rp_node *rule, rp_column_rule *out);
/* The keys of a column beside its kind, and data.interactions. */
void rp_recipe_read_treatment(rp_node_reader *reader, const rp_node *rule, rp_column_rule *out);
void rp_recipe_read_interactions(rp_node_reader *reader, const rp_node *data, rp_recipe *out);
/* Of the data: section the keys on how cells are written. */
void rp_recipe_read_table(rp_node_reader *reader, const rp_node *data, rp_recipe *out);
/* train.class_weights; train is the section. */
void rp_recipe_read_class_weights(rp_node_reader *reader, const rp_node *train, rp_recipe *out);
/* profile and the pinned: section; after the trials, which exclude it. */
void rp_recipe_read_profile(rp_node_reader *reader, const rp_node *top, rp_recipe *out);
/* train.optimizer and train.schedule; whether epochs were given is already known. */
void rp_recipe_read_optimizer(rp_node_reader *reader, const rp_node *train, rp_recipe *out);
void rp_recipe_read_schedule(rp_node_reader *reader, const rp_node *train, rp_recipe *out);
/* Whether a recipe trains on a text: its data: section has the key. */
bool rp_recipe_is_text(const rp_node *top);
/* The sections of such a recipe that a table's has otherwise: data:, model: and train:. */
void rp_recipe_read_text(rp_node_reader *reader, const rp_node *top, rp_recipe *out);
/* Whether a recipe's model is programs, and those keys of its section model:. */
bool rp_recipe_names_program(const rp_node *top);
void rp_recipe_read_programs(rp_node_reader *reader, const rp_node *model, rp_recipe *out);
/* The model: section. */
void rp_recipe_read_model(rp_node_reader *reader, const rp_node *top, rp_recipe *out);

#endif
