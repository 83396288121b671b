/* SPDX-License-Identifier: Apache-2.0
 * A recipe's job and its resume points: when to make one, and how to go on from one. Zeroed, a saver makes none. */
#ifndef AUDIT_DRIVE_SAVER_H
#define AUDIT_DRIVE_SAVER_H

#include <time.h>

#include "audit/drive/driver.h"
#include "audit/record/recorder.h"
#include "audit/record/resume.h"

typedef struct rp_saver {
    rp_resume *resume;           /* NULL: no resume points */
    double every, next, seconds; /* between points, 0: never; when one is due; what they took */
    bool keeps_none;             /* a pinned run: it could not go on from one */
    uint64_t resumed_at, resumes, points;
    time_t began;   /* the run, in whichever process */
    char note[256]; /* the first thing that went wrong and was overcome */
} rp_saver;

/* Finds out what is beside path, and loads a point when options say so. recipe and the table's digest: what the run is
 * made of. Errors: those of rp_resume_open. */
rp_status rp_saver_open(rp_saver *saver, const rp_job_options *options, const char *path, const rp_recipe *recipe,
                        const rp_kept_text *table, const rp_kept_text *test, bool force, rp_error *err);
/* The writer that came with a loaded point, to be owned; NULL: none was loaded. */
rp_archive_writer *rp_saver_writer(rp_saver *saver);
/* Puts driver and recorder, which have made no step, behind the loaded point; nothing when none was loaded. */
rp_status rp_saver_go_on(rp_saver *saver, rp_driver *driver, rp_recorder *recorder, rp_error *err);
/* Between two steps: makes a point when one is due. One that cannot be made is no reason to give up a run that goes
 * well. */
void rp_saver_tick(rp_saver *saver, rp_driver *driver, rp_recorder *recorder, rp_archive_writer *writer);
/* The error of a job that was asked to stop, after a point where that can be had. */
rp_status rp_saver_interrupted(rp_saver *saver, rp_driver *driver, rp_recorder *recorder, rp_archive_writer *writer,
                               rp_error *err);
/* The points go when the job ended well, or would end the same way again (a loss that is no longer finite); else the
 * error says where to go on. */
void rp_saver_end(rp_saver *saver, rp_status status, rp_error *err);
void rp_saver_free(rp_saver *saver);

#endif
