/* SPDX-License-Identifier: Apache-2.0
 * A saved program as a recipe's model (CONTRACT 12.1a): it is written for so many rows, and is called for any number.
 */
#ifndef CORE_TRAIN_PROGRAMS_SAVED_H
#define CORE_TRAIN_PROGRAMS_SAVED_H

#include "core/train/model.h"

/* The parameters of a model whose features, outputs and loss are known. Errors: RP_EARG: its x or its logits do not fit
 * them, or it was not read. */
rp_status rp_saved_init(rp_model *model, rp_error *err);
/* As rp_model_forward. rng: i64 [2] or [3], seed, step and an offset of streams. */
rp_tensor rp_saved_forward(const rp_model *model, const rp_tensor *weight, rp_tensor x, rp_tensor rng);
int64_t rp_saved_streams(const rp_model *model, size_t rows);
/* first: the first value of each parameter; rng i64 [2]. */
void rp_saved_initial(const rp_model *model, rp_graph *g, rp_tensor rng, rp_tensor *first);

#endif
