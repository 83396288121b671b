/* SPDX-License-Identifier: Apache-2.0
 * The states that a recipe's run with a parent starts from (FORMAT.md 12.3): a set of tensors in the parent's archive,
 * in the run's own, or in a file without a name. None is held: they go to the run, and to its archive, in windows. */
#ifndef AUDIT_DRIVE_START_H
#define AUDIT_DRIVE_START_H

#include "audit/record/states.h"
#include "core/train/train.h"

typedef struct rp_start rp_start;

/* A set of an archive, which is borrowed until the start is freed, or closed with it after rp_start_keep. Errors: those
 * of rp_tensor_set_open. */
rp_status rp_start_open(rp_start **out, const rp_archive *archive, const char *set, rp_error *err);
void rp_start_keep(rp_start *start, rp_archive *archive);
/* A .safetensors file, whose SHA-256 is *digest: a copy in $TMPDIR or /tmp. Errors: RP_EIO, RP_ENOMEM; those of
 * rp_tensor_set_open_file. */
rp_status rp_start_of_file(rp_start **out, const char *path, rp_digest *digest, rp_error *err);
/* The states of a run as they are now, in a file in $TMPDIR or /tmp: the run may be freed. Errors: RP_EIO, RP_ENOMEM.
 */
rp_status rp_start_of_run(rp_start **out, const rp_run *run, rp_error *err);
/* What the line that ends in these states is pinned to (rp_pinned_line), or NULL: taken. */
void rp_start_say_line(rp_start *start, rp_json *line);
const rp_json *rp_start_line(const rp_start *start); /* NULL: nothing; borrowed */
void rp_start_free(rp_start *start);
/* Has the trainer start from these, and borrows it that long. retrain: moments are left aside. Errors: RP_EDATA names
 * what does not fit the recipe's model. */
rp_status rp_start_give(rp_start *start, rp_trainer *trainer, bool retrain, rp_error *err);
/* Given before: the set RP_START_MEMBER, and the digest of the list. Errors: RP_EHASH: they are others than then. */
rp_status rp_start_add(const rp_start *start, rp_archive_writer *writer, rp_digest *digest, rp_error *err);

#endif
