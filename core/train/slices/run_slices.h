/* SPDX-License-Identifier: Apache-2.0
 * The validation: section of a recipe at work (audit/FORMAT.md 9.2). */
#ifndef CORE_TRAIN_SLICES_RUN_SLICES_H
#define CORE_TRAIN_SLICES_RUN_SLICES_H

#include "core/train/slices/slices.h"
#include "core/train/train.h"

/* Before anything is trained: whether all that the section names is there. Errors: RP_EARG. */
rp_status rp_run_slices_check(const rp_trainer *trainer, const rp_source_text *table, rp_error *err);
/* The same before there is a trainer: with data that the recipe made of the table. pool may be NULL. */
rp_status rp_slices_of_recipe_check(const rp_recipe *recipe, const rp_dataset *data, const rp_source_text *table,
                                    rp_pool *pool, rp_error *err);
/* Puts slices, groups and the threshold's figures into the part that is judged, and the gap between both; nothing
 * without the section. Errors: RP_EFORMAT: something that the section names is not there, which was not looked for. */
rp_status rp_run_slices_put(rp_json *metrics, const rp_trainer *trainer, const rp_json *reference,
                            const rp_source_text *table, rp_error *err);

#endif
