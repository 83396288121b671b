/* SPDX-License-Identifier: Apache-2.0
 * Loss and gradients of a batch (CONTRACT 12.3): whole, or a map over the shards of each micro-batch. */
#ifndef CORE_TRAIN_PARTS_H
#define CORE_TRAIN_PARTS_H

#include "core/train/model.h"

/* Appends them to g. rows: i64 [count] of train_x and train_y; rng: as rp_model_forward takes it. total: the gradients
 * of the model's parameters, then the loss. Errors: RP_ENOMEM; others are the graph's. */
rp_status rp_parts_gradients(const rp_model *model, const rp_run *run, rp_graph *g, const rp_tensor *weight,
                             rp_tensor rows, rp_tensor rng, size_t count, rp_tensor *total, rp_error *err);

#endif
