/* SPDX-License-Identifier: Apache-2.0
 * How a model's margin answers to its features: the gradient by the product's own reverse mode (CONTRACT 11), of a
 * block of rows at a time. */
#ifndef CORE_TRAIN_SENSITIVITY_H
#define CORE_TRAIN_SENSITIVITY_H

#include "core/train/model.h"

typedef struct rp_sensitivity rp_sensitivity;

/* Of blocks of `rows` rows of a model in binary32. direction [outputs]: what each logit counts in the margin. Borrows
 * model and run, which has the model's parameters as states. */
rp_status rp_sensitivity_new(rp_sensitivity **out, const rp_model *model, rp_run *run, const float *direction,
                             size_t rows, rp_error *err);
void rp_sensitivity_free(rp_sensitivity *sensitivity);            /* before the run; NULL is fine */
rp_price rp_sensitivity_price(const rp_sensitivity *sensitivity); /* of one block */
/* x [rows, features] to logits [rows, outputs] and gradient [rows, features], that of the sum over the outputs of
 * direction * logit. */
rp_status rp_sensitivity_of(rp_sensitivity *sensitivity, const float *x, float *logits, float *gradient, rp_error *err);

#endif
