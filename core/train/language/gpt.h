/* SPDX-License-Identifier: Apache-2.0
 * The language model of a recipe on a text (CONTRACT 17.4): a transformer that sees what is before each token. */
#ifndef CORE_TRAIN_LANGUAGE_GPT_H
#define CORE_TRAIN_LANGUAGE_GPT_H

#include "core/train/model.h"

/* model.gpt over so many tokens. Borrows recipe. Errors: RP_EARG (over 2^31 parameters). */
rp_status rp_gpt_init(rp_model *model, const rp_recipe *recipe, size_t tokens, rp_error *err);
/* Logits [n * times, tokens] of token, integers [n, times] with times at most the context. rng without a graph: no
 * dropout. */
rp_tensor rp_gpt_forward(const rp_model *model, const rp_tensor *weight, rp_tensor token, rp_tensor rng);
/* Streams of dropout that it takes. */
int64_t rp_gpt_streams(const rp_recipe *recipe);

#endif
