/* SPDX-License-Identifier: Apache-2.0
 * The model of a recipe on a text: a transformer of its keys (CONTRACT 17.4), or a saved program (17.4a). */
#ifndef CORE_TRAIN_LANGUAGE_FORWARD_H
#define CORE_TRAIN_LANGUAGE_FORWARD_H

#include "core/train/model.h"

/* Over so many tokens. Borrows recipe. Errors: RP_EARG: too many parameters; a program that does not fit the text. */
rp_status rp_language_model_init(rp_model *model, const rp_recipe *recipe, size_t tokens, rp_error *err);
/* Logits [n * times, tokens] of token, integers [n, times], times at most the context and, of a program, just that. rng
 * without a graph: no dropout. */
rp_tensor rp_language_forward(const rp_model *model, const rp_tensor *weight, rp_tensor token, rp_tensor rng);
/* Streams that a part takes of a batch of so many windows. */
int64_t rp_language_streams(const rp_model *model, size_t windows);
bool rp_language_random(const rp_recipe *recipe);
/* Tokens that it can look at. */
size_t rp_language_context(const rp_recipe *recipe);

#endif
