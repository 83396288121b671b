/* SPDX-License-Identifier: Apache-2.0
 * The table of an exact fit's coefficients and what is said of the whole fit (CONTRACT 12.9, audit/FORMAT.md 9.7). */
#ifndef CORE_TRAIN_COEFFICIENTS_H
#define CORE_TRAIN_COEFFICIENTS_H

#include "core/train/train.h"

/* After the training step of an exact fit: outputs/coefficients.json, a new reference. NULL where the recipe does not
 * fit exactly. Errors: RP_ENOMEM, those of reading results. */
rp_status rp_trainer_coefficients(const rp_trainer *trainer, rp_json **out, rp_error *err);

#endif
