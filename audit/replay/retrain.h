/* SPDX-License-Identifier: Apache-2.0
 * What of an archive is kept when it is trained again on new rows (docs/retrain.md): its recipe, with the columns and
 * kinds that its table had and the classes in their order. Nothing that was learnt from its rows is. */
#ifndef AUDIT_REPLAY_RETRAIN_H
#define AUDIT_REPLAY_RETRAIN_H

#include "audit/archive/archive_private.h"
#include "core/train/train.h"

/* The child's recipe. text: the new table, whose header decides which columns are passed over. warm: the child starts
 * from the parent's weights. Errors: RP_EUNSUPPORTED (a run of the C API), RP_EDATA (a column that is gone), RP_EARG
 * (warm, and nothing to start from). */
rp_status rp_retrain_recipe(rp_recipe **out, const rp_archive *parent, bool warm, const rp_source_text *text,
                            rp_error *err);
/* Errors: RP_EDATA: the new rows do not have the parent's classes, all of them and no others. */
rp_status rp_retrain_same_classes(const rp_archive *parent, const rp_schema *child, const char *where, rp_error *err);

#endif
