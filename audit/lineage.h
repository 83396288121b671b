/* SPDX-License-Identifier: Apache-2.0
 * Runs that start from another archive (FORMAT.md 12): which states a child takes from its parent, and the check that those
 * it holds are the parent's. */
#ifndef AUDIT_LINEAGE_H
#define AUDIT_LINEAGE_H

#include "audit/driver.h"

#define RP_START_MEMBER "weights/start.safetensors"

/* Opens the parent at path and gives the driver of a recipe with a parent the states to start from. A run that goes on from
 * final weights needs the parent's last moments, which are in no member: the end of the parent is computed again for them. */
rp_status rp_lineage_begin(rp_driver *driver, const char *path, const rp_run_options *options, rp_error *err);

#endif
