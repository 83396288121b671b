/* SPDX-License-Identifier: Apache-2.0
 * Resume points: what a recipe's run needs to go on after its process was killed. They lie in the folder ARCHIVE.resume
 * beside the archive to be and never enter it: they are the work of one host and one library version, and go when the
 * archive has its name. docs/resume.md says what is promised.
 *
 *   ARCHIVE.resume/spool                bodies of the members made so far (audit/archive/spool.h): it only grows
 *   ARCHIVE.resume/point-SSSSSSSSSSSS   the run after S steps, and how much of the spool belongs to it; the last two
 * are kept
 *
 * The spool is flushed before a point is, and a point takes its name when it is whole and on disk; every piece of it
 * has a digest. So a kill at any moment leaves the last point, and what is torn or rotten is seen and passed over. */
#ifndef AUDIT_RECORD_RESUME_H
#define AUDIT_RECORD_RESUME_H

#include "audit/archive/archive.h"
#include "core/run/run.h"

typedef struct rp_bytes {
    const void *data;
    size_t size;
} rp_bytes;

/* What a point belongs to, besides library version and contract. */
typedef struct rp_resume_identity {
    rp_digest recipe, data; /* SHA-256 of the resolved recipe and of the CSV */
} rp_resume_identity;

/* Borrowed when written; read, everything lies in file, member and, journal and states, behind fd, until it is freed.
 */
typedef struct rp_resume_point {
    uint64_t step, resumes; /* steps done; how often the run had been resumed by then */
    int64_t started;        /* when the run began, seconds of the epoch */
    uint64_t spooled;       /* bytes of the spool */
    rp_member *member;      /* in it */
    size_t members;
    rp_bytes *program;
    size_t programs;
    rp_byte_source journal;
    const rp_device_tensor *state; /* written: the run's states; read: they lie in a file */
    size_t n_states;
    rp_buffer file; /* read: all before the journal */
    int fd;         /* read: of the file, -1: none */
    uint64_t journal_at, states_at, states_size;
    rp_digest journal_digest, states_digest;
} rp_resume_point;

/* ---- a point as a file (resume_point.c) ---- */
/* Fills in what is to be known of the states. */
rp_status rp_resume_point_write(rp_resume_point *point, const rp_resume_identity *identity, const char *path,
                                rp_error *err);
/* Errors: RP_EHASH: it is damaged; RP_EARG: it belongs to another recipe, other data or another version; RP_EIO,
 * RP_ENOMEM. */
rp_status rp_resume_point_read(rp_resume_point *out, const rp_resume_identity *identity, const char *path,
                               rp_error *err);
void rp_resume_point_free(rp_resume_point *point);

/* ---- the folder (resume.c) ---- */
typedef struct rp_resume rp_resume;

/* The folder of the archive at path, held against other processes while open. resume: the newest point that is whole is
 * loaded, if there is any. Else points of an earlier run are an error, RP_EEXIST, that says how to go on or to start
 * again, or with force they are removed. Errors further: RP_EARG (points of another recipe, data, version), RP_EHASH
 * (there are points, and none is whole), RP_EIO (another process works here), RP_ENOMEM. */
rp_status rp_resume_open(rp_resume **out, const char *path, const rp_resume_identity *identity, bool resume, bool force,
                         rp_error *err);
/* What was loaded, until the next save; NULL: nothing. The writer is given away, once. */
const rp_resume_point *rp_resume_loaded(const rp_resume *resume);
rp_archive_writer *rp_resume_take_writer(rp_resume *resume);
/* Why newer points were passed over in loading; "" when none was. */
const char *rp_resume_passed_over(const rp_resume *resume);
/* Makes the next point. spooled and members are the writer's. On failure the point before is still good. */
rp_status rp_resume_save(rp_resume *resume, rp_resume_point *point, rp_archive_writer *writer, rp_error *err);
/* Step of the last good point; 0: none. */
uint64_t rp_resume_step(const rp_resume *resume);
/* The run is over, or can never end well: the folder goes. */
void rp_resume_remove(rp_resume *resume);
/* Points stay for later. */
void rp_resume_free(rp_resume *resume);
/* Removes a folder that has no points (any more): a process was killed while it removed them. */
void rp_resume_tidy(const char *path);
/* Whether there is a point of any kind for the archive at path, or that cannot be told. */
bool rp_resume_present(const char *path);

#endif
