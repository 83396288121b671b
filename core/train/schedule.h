/* SPDX-License-Identifier: Apache-2.0
 * What changes from step to step, as pure functions of the step number (CONTRACT 8, 12): learning rate, Adam's bias
 * corrections, the rows of a batch. */
#ifndef CORE_TRAIN_SCHEDULE_H
#define CORE_TRAIN_SCHEDULE_H

#include "core/recipe/recipe.h"

/* Philox streams of a recipe run that are not tied to a layer; layers use 0, 1, 2 ... */
enum { RP_STREAM_SHUFFLE = 0x53000000, RP_STREAM_DROPOUT = 0x44000000 };

/* Rows of a full batch of n training rows, n at least 1: never more than there are. */
int64_t rp_batch_rows(const rp_recipe *recipe, int64_t n);
/* Steps in an epoch of n training rows, and in the whole training. */
int64_t rp_steps_per_epoch(const rp_recipe *recipe, int64_t n);
/* The epochs of a recipe that leaves them to n training rows (CONTRACT 12.2). */
int64_t rp_epochs_by_rows(const rp_recipe *recipe, int64_t n);

/* Learning rate of training step t (1 .. total), in binary64. */
double rp_learning_rate(const rp_recipe *recipe, int64_t t, int64_t total);
/* 1 - beta^t in binary64, beta^t by CONTRACT 5's powi. */
double rp_bias_correction(double beta, int64_t t);

#endif
