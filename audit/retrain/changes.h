/* SPDX-License-Identifier: Apache-2.0
 * What of a table's form changed between two trainings. */
#ifndef AUDIT_RETRAIN_CHANGES_H
#define AUDIT_RETRAIN_CHANGES_H

#include "audit/archive/archive_private.h"

/* The object `changes` of audit/FORMAT.md 15.5; a new reference. Errors: those of reading both schemas. */
rp_status rp_changes_of(rp_json **out, const rp_archive *parent, const rp_archive *child, rp_error *err);

#endif
