/* SPDX-License-Identifier: Apache-2.0
 * Giving a recorded archive its name: signed, with what is left out of it in its folder. */
#ifndef AUDIT_RECORD_SAVE_H
#define AUDIT_RECORD_SAVE_H

#include "audit/archive/archive.h"
#include "core/run/run.h"

/* Where an archive goes, and what its statement says. */
typedef struct rp_save_target {
    const char *path, *folder; /* folder: for what is left out; NULL: nothing is */
    const rp_key *key;         /* NULL: unsigned */
    const rp_run *run;
    double took; /* seconds */
    uint64_t resumes;
    bool force;
} rp_save_target;

/* The writer is finished. */
rp_status rp_save_archive(rp_archive_writer *writer, const rp_save_target *to, rp_error *err);
/* What is left out goes to the folder. */
rp_status rp_save_withheld(rp_archive_writer *writer, const char *folder, rp_error *err);
/* A writer whose members wait beside path; path NULL: where temporary files are. */
rp_status rp_save_writer(rp_archive_writer **out, const char *path, rp_error *err);

#endif
