/* SPDX-License-Identifier: Apache-2.0
 * Runs that start from another archive (FORMAT.md 12): which states a child takes from its parent, and the check that
 * those it holds are the parent's. */
#ifndef AUDIT_RECORD_LINEAGE_H
#define AUDIT_RECORD_LINEAGE_H

#include "audit/record/states.h"
#include "core/recipe/recipe.h"

/* Of a recipe's archive; freed by the caller. Errors: those of reading its member, RP_EFORMAT. */
rp_status rp_archive_recipe(rp_recipe **out, const rp_archive *archive, rp_error *err);
/* The set of the parent that a child's recipe names. Errors: RP_EARG: the parent does not have it. */
rp_status rp_lineage_origin(char out[RP_MEMBER_NAME], const rp_recipe *child, const rp_archive *parent, rp_error *err);
/* Updates that the states a child goes on from have seen: the parent's own, and those before the parent. */
rp_status rp_lineage_updates(uint64_t *out, const rp_archive *parent, const rp_recipe *child, rp_error *err);

/* Of a run of the C API, whose states are still those before step 0: what its manifest says of a parent
 * (FORMAT.md 12.3), checked against them. *out: a new reference; NULL: it says nothing. Errors: RP_EFORMAT, RP_EHASH.
 */
rp_status rp_api_parent_read(rp_json **out, const rp_archive *archive, const rp_run *run, rp_error *err);
/* rp_check_parent for such a run. */
rp_status rp_api_parent_check(const rp_archive *child, const rp_archive *parent, rp_error *err);

#endif
