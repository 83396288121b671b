/* SPDX-License-Identifier: Apache-2.0
 * What the recorder holds. Private to recorder.c, which watches, and recorder_members.c, which writes it down. */
#ifndef AUDIT_RECORDER_PRIVATE_H
#define AUDIT_RECORDER_PRIVATE_H

#include <time.h>

#include "audit/recorder.h"
#include "audit/rolling.h"
#include "audit/withheld.h"

typedef struct recorded_program {
    rp_buffer text;
    uint64_t compiled; /* serial of the compiled program last seen with this text */
} recorded_program;

/* A distinct feed, kept once. */
typedef struct kept_feed {
    char name[RP_DIGEST_HEX]; /* its digest in hex */
    rp_type type;
    void *data;
} kept_feed;

struct rp_recorder {
    rp_run *run;
    bool keep_feeds, comparing, failed, stateless; /* stateless: states are not compared */
    time_t started;
    recorded_program *program;
    size_t n_programs, cap_programs;
    rp_buffer journal;      /* records as bytes */
    rp_buffer init;         /* weights/init.safetensors of a run of the API */
    rp_buffer feed_order;   /* data/feeds.bin */
    kept_feed *feed;        /* by name */
    size_t n_feeds, cap_feeds;
    rp_buffer expected;     /* journal of the archive, when comparing */
    rp_buffer scratch;
    rp_rolling *rolling;    /* NULL: every step's digest is of the whole state */
    bool salted;            /* feeds' digests are salted, and inputs left out of the archive */
    rp_salt salt;
    char *withhold;         /* the folder for what rp_recorder_save leaves out */
    uint64_t checkpoint_period, total; /* 0: no checkpoints; none is made after `total` steps */
    rp_archive_writer *checkpoints;    /* where they go */
    bool own_checkpoints;              /* a spool of ours, for a run whose archive comes later; else lent */
    size_t n_checkpoints;
    uint64_t nanoseconds;
};

/* Makes the checkpoint of the run's present states when one is due after `done` steps. */
rp_status rp_recorder_checkpoint(rp_recorder *recorder, uint64_t done, rp_error *err);
/* From a spool of the recorder's own to the archive. */
rp_status rp_recorder_add_checkpoints(const rp_recorder *recorder, rp_archive_writer *writer, rp_error *err);

#endif
