/* SPDX-License-Identifier: Apache-2.0
 * Reading and writing the card of a recipe. */
#ifndef CORE_RECIPE_RECIPE_CARD_H
#define CORE_RECIPE_RECIPE_CARD_H

#include "base/node_read.h"
#include "core/recipe/recipe.h"

/* Keys of card: that are given; those from RP_CARD_DAYS on are days. */
void rp_recipe_read_card(rp_node_reader *reader, const rp_node *top, rp_recipe *out);
/* Puts the section, where there is one, into the resolved recipe. Not 0: out of memory. */
int rp_recipe_write_card(rp_json *top, const rp_recipe *recipe);

#endif
