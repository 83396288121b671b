/* SPDX-License-Identifier: Apache-2.0
 * What other tools read of an archive (docs/inside.md). */
#ifndef RP_EXPORT_H
#define RP_EXPORT_H

#include "rp/archive.h"

/* The archive's scalars as bytes of one TensorBoard event file, TFRecords of Event protobufs: the loss of every step,
 * the learning rate as the recipe gives it, metrics at the last step. Wall times are 0: the bytes are a
 * function of the archive. *bytes is freed with rp_text_free (rp/audit.h). Errors: RP_EFORMAT, RP_EHASH, RP_EIO,
 * RP_ENOMEM. */
RP_API rp_status rp_export_events(const rp_archive *archive, void **bytes, size_t *size, rp_error *err);

#endif
