/* SPDX-License-Identifier: Apache-2.0
 * What an exact fit that has not converged is told to be. */
#ifndef CORE_TRAIN_EXACT_CHECK_H
#define CORE_TRAIN_EXACT_CHECK_H

#include "core/data/dataset.h"
#include "core/run/run.h"
#include "core/train/model.h"

/* Refuses targets that the family has not: RP_EDATA names the first row. */
rp_status rp_exact_targets(const rp_model *model, const rp_dataset *data, rp_error *err);
/* RP_OK where the last step's decrement is at most its limit (CONTRACT 12.8). Errors: RP_EDATA, which says where it
 * stands, and of a classification the column that tells classes apart without error, if one does. */
rp_status rp_exact_converged(const rp_model *model, const rp_dataset *data, const rp_compiled *fit, rp_error *err);
/* A result of rank 0. Errors: those of reading. */
rp_status rp_exact_number(const rp_compiled *fit, const char *name, double *out, rp_error *err);

#endif
