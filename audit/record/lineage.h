/* SPDX-License-Identifier: Apache-2.0
 * Runs that start from another archive (FORMAT.md 12): which states a child takes from its parent, and the check that
 * those it holds are the parent's. */
#ifndef AUDIT_RECORD_LINEAGE_H
#define AUDIT_RECORD_LINEAGE_H

#include "audit/record/driver.h"
#include "audit/archive/safetensors.h"

/* Opens the parent at path and gives the driver of a recipe with a parent the states to start from. A run that goes on
 * from final weights needs the parent's last moments, which are in no member: the end of the parent is computed again
 * for them. */
rp_status rp_lineage_begin(rp_driver *driver, const char *path, const rp_run_options *options, rp_error *err);

/* The digest of a file's tensors, or some of them, as the journal has that of states. */
rp_status rp_lineage_digest(rp_digest *out, const rp_safetensor *tensor, size_t count, rp_error *err);
bool rp_lineage_same(const rp_safetensor *a, const rp_safetensor *b);

/* Of a run of the C API, whose states are still those before step 0: what its manifest says of a parent
 * (FORMAT.md 12.3), checked against them. *out: a new reference; NULL: it says nothing. Errors: RP_EFORMAT, RP_EHASH.
 */
rp_status rp_api_parent_read(rp_json **out, const rp_archive *archive, const rp_run *run, rp_error *err);
/* rp_check_parent for such a run. */
rp_status rp_api_parent_check(const rp_archive *child, const rp_archive *parent, rp_error *err);

#endif
