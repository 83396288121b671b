/* SPDX-License-Identifier: Apache-2.0
 * What other parts of this layer want of a replay. */
#ifndef AUDIT_REPLAY_REPLAY_H
#define AUDIT_REPLAY_REPLAY_H

#include "audit/drive/budget.h"
#include "audit/drive/driver.h"
#include "audit/record/recorder.h"

/* The recipe at a path, in YAML or as an archive's run/recipe.json, and where its table lies; *recipe is to be freed
 * also on failure. Errors: RP_EIO, RP_EARG, RP_ENOMEM. */
rp_status rp_recipe_load(const char *recipe_path, rp_recipe **recipe, char **csv_path, rp_error *err);
/* A table's path: relative to the recipe's folder, of a resolved recipe to the one around it, as the archive has both,
 * if there is such a file; - is standard input. NULL when memory runs out. */
char *rp_recipe_table_path(const char *recipe_path, const rp_recipe *recipe, const char *table);
/* RP_EARG where out is a file that the recipe's run is made of: the recipe, its tables, table being data.csv's path,
 * its parent. out may be NULL. */
rp_status rp_recipe_keep(const char *out, const char *recipe_path, const rp_recipe *recipe, const char *table,
                         rp_error *err);
/* A driver whose run has all states after the last step: the run's last segment is replayed and compared for them. */
rp_status rp_replay_last_states(rp_driver **out, const rp_archive *archive, const rp_run_options *options,
                                rp_error *err);
/* Opens the parent at path and gives the driver of a recipe with a parent the states to start from. */
rp_status rp_start_from_parent(rp_driver *driver, const char *path, const rp_run_options *options, rp_error *err);
/* With rolling digests the last records leave most of the last state open; the manifest has its digest, which the
 * recorder's run must have. */
rp_status rp_replay_final_state(const rp_driver *driver, const rp_recorder *recorder, const rp_archive *archive,
                                rp_error *err);
/* After a replay of a part: whatever is in the archive besides what the driver made, writer's members and run's keys,
 * must be what a recorder leaves at its place. run gets the recorder's keys. Errors: RP_EBITS names the member or key.
 */
rp_status rp_replay_compare_rest(const rp_archive *archive, const rp_driver *driver, const rp_archive_writer *writer,
                                 rp_json *run, rp_error *err);

#endif
