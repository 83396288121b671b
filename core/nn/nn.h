/* SPDX-License-Identifier: Apache-2.0
 * What the audit layer does with a model of rp/nn.h: its run before the first step, its first error, and parameters as
 * they lie in PyTorch's files. */
#ifndef CORE_NN_NN_H
#define CORE_NN_NN_H

#include "core/run/run.h"
#include "rp/nn.h"

/* What a public call begins and ends with: the model's first error, told again; and a status that becomes it. status is
 * that of a call whose error is *rp_nn_error. */
rp_error *rp_nn_error(rp_nn *nn);
rp_status rp_nn_told(const rp_nn *nn, rp_error *err);
rp_status rp_nn_keep(rp_nn *nn, rp_status status, rp_error *err);
/* Something that watches the run, freed by `release` before it; one a model. NULL: none. */
void rp_nn_set_companion(rp_nn *nn, void *companion, void (*release)(void *companion));
void *rp_nn_companion(rp_nn *nn);
/* Builds the model, and gives its run the states. */
rp_status rp_nn_start(rp_nn *nn, rp_error *err);
/* The same, and makes the step that initialises, if no step was made yet. */
rp_status rp_nn_begin(rp_nn *nn, rp_error *err);
/* Whether PyTorch has the parameter's axes in our order; its shape there, and its elements from that order to ours, and
 * back. */
bool rp_nn_as_torch(const rp_nn *nn, size_t parameter);
rp_type rp_nn_torch_type(const rp_nn *nn, size_t parameter);
void rp_nn_from_torch(const rp_nn *nn, size_t parameter, float *here, const float *there);
void rp_nn_to_torch(const rp_nn *nn, size_t parameter, float *there, const float *here);

#endif
