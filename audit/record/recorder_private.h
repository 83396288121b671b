/* SPDX-License-Identifier: Apache-2.0
 * What the recorder holds. Private to recorder.c, which watches, recorder_digest.c, which hashes, and
 * recorder_members.c, which writes it down. */
#ifndef AUDIT_RECORD_RECORDER_PRIVATE_H
#define AUDIT_RECORD_RECORDER_PRIVATE_H

#include <time.h>

#include "audit/record/async_digest.h"
#include "audit/record/feeds.h"
#include "audit/record/recorder.h"
#include "audit/record/rolling.h"
#include "audit/record/staging.h"
#include "audit/archive/withheld.h"
#include "base/json.h"

typedef struct recorded_program {
    rp_buffer text;
    uint64_t compiled; /* serial of the compiled program last seen with this text */
} recorded_program;

/* The digest of named tensors as the journal has it: room for n of each is the caller's. */
typedef struct digest_room {
    rp_tensor_bytes *tensor;
    rp_digest *digest;
    rp_named_digest *list;
} digest_room;

/* A step whose states are being hashed beside the next one: its record lacks nothing else. */
typedef struct pending_step {
    rp_record record;
    digest_room room;      /* in the order of hashing */
    rp_tensors_work *work; /* NULL: there is none */
} pending_step;

/* States in the order in which the last step wrote to them, the others behind: so hashed, they are free when the next
 * step of the same program writes again. */
typedef struct hash_order {
    size_t *state, *place; /* by place; by state */
    rp_device_tensor *tensor;
    size_t n;          /* 0: it is to be made */
    uint64_t compiled; /* the program whose order it is; 0: that of the states */
} hash_order;

struct rp_recorder {
    rp_run *run;
    bool comparing, failed, stateless; /* stateless: states are not compared */
    time_t started;
    recorded_program *program;
    size_t n_programs, cap_programs;
    size_t program_memory; /* what readers give a program's values; tests have less */
    rp_growing journal;    /* records as bytes */
    rp_feeds *feeds;       /* of a run of the API; else NULL */
    rp_windowed *expected; /* journal of the archive, when comparing */
    rp_buffer scratch;
    rp_rolling *rolling; /* NULL: every step's digest is of the whole state */
    bool salted;         /* feeds' digests are salted, and inputs left out of the archive */
    rp_salt salt;
    char *withhold;                    /* the folder for what rp_recorder_save leaves out */
    uint64_t checkpoint_period, total; /* 0: no checkpoints; none is made after `total` steps */
    rp_archive_writer *checkpoints;    /* where they go: lent, or store */
    rp_archive_writer *store; /* of a run whose archive comes later: its first states and checkpoints; else NULL */
    size_t n_checkpoints, checkpoints_max, checkpoint_parts; /* parts: members that each of them is */
    unsigned beside_threads;                                 /* 0: states are hashed when the step is complete */
    rp_beside *beside;                                       /* made when it is first needed */
    rp_staging *staging; /* NULL: the host reads states, feeds and results where they are */
    pending_step pending;
    rp_error why; /* with a status other than RP_OK: what became of one, told whoever asks next too */
    hash_order order;
    rp_json *parent;  /* of the manifest's run object; NULL: none */
    rp_json *pinned;  /* likewise */
    uint64_t resumes; /* 1: it goes on from an archive */
    uint64_t nanoseconds;
};

/* Makes the checkpoint of the run's present states when one is due after `done` steps. */
rp_status rp_recorder_checkpoint(rp_recorder *recorder, uint64_t done, rp_error *err);
/* First states and checkpoints, from the recorder's own store to the archive. */
rp_status rp_recorder_add_stored(const rp_recorder *recorder, rp_archive_writer *writer, rp_error *err);

rp_status rp_recorder_append(rp_recorder *r, const rp_record *record, rp_error *err);
/* Whether the step's states are to be hashed beside the next one. */
bool rp_recorder_goes_beside(rp_recorder *r, const rp_step_event *event);
/* The record's digests; those of states that go beside are left out. */
rp_status rp_recorder_digest_step(rp_recorder *r, const rp_step_event *event, bool beside, rp_record *record,
                                  rp_error *err);
/* Takes the record, which rp_recorder_settle will complete and append. */
rp_status rp_recorder_begin_beside(rp_recorder *r, const rp_step_event *event, const rp_record *record, rp_error *err);
/* Waits until a state, or all of them, may be written to. */
rp_status rp_recorder_release_state(rp_recorder *r, size_t state, rp_error *err);
void rp_recorder_drop_beside(rp_recorder *r);

#endif
