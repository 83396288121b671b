/* SPDX-License-Identifier: Apache-2.0
 * One side of a comparison, and the parts of it. Private to diff*.c. */
#ifndef AUDIT_REPLAY_DIFF_PRIVATE_H
#define AUDIT_REPLAY_DIFF_PRIVATE_H

#include "audit/archive/journal.h"
#include "audit/drive/driver.h"
#include "audit/record/recorder.h"
#include "audit/replay/diff_walk.h"
#include "audit/replay/replay.h"
#include "base/buffer.h"

/* One archive being compared. */
typedef struct side {
    const char *label; /* "A" or "B" */
    const rp_archive *archive;
    rp_run_options options; /* how it is computed */
    rp_windowed *journal;
    bool bound_apart; /* inputs by another salt than the other side's: digests of feeds tell nothing */
    rp_driver *driver;
    rp_status (*opened)(struct side *s, rp_error *err); /* of each driver that is opened, before its first step; NULL */
    rp_recorder *recorder;                              /* what it may make: of that driver; NULL */
    void *looker;                                       /* whose `opened` is */
    uint64_t step;                                      /* the step to look into */
    bool shared;   /* both are computed from the checkpoint at base, which they share (0: from the start); else each */
    uint64_t base; /* from its own nearest one */
    rp_program *program; /* of that step */
    void **input;        /* copies of its inputs, on the driver's device */
    size_t n_inputs;
    void **before; /* copies of the states before it, there too */
    size_t n_states;
    rp_digest states, results; /* what this host computed for the step */
    uint64_t digests_compared, steps_recomputed;
} side;

/* What is found, in words and for programs. */
typedef struct findings {
    const rp_job_options *job;
    rp_buffer text;     /* lines */
    uint64_t step;      /* the first that differs, once `stepped` */
    bool stepped;       /* there is one */
    bool searched;      /* it was found by computing both, which was paid for */
    const char *record; /* what of its record differs; NULL: nothing that is recorded */
    rp_buffer program;  /* how the step's programs differ; empty: they are equal */
    rp_json *value;     /* the first value that differs; NULL: none */
} findings;

/* Recipe keys that differ, members that differ or that one archive does not have. */
rp_status rp_diff_members(const side *a, const side *b, rp_buffer *out, rp_error *err);
/* Of runs of recipes: the first cell of the tables that differs. */
rp_status rp_diff_tables(const side *a, const side *b, rp_buffer *out, rp_error *err);
/* Writes what the journals differ in; *look says whether a->step and b->step are then to be looked into. */
rp_status rp_diff_journals(side *a, side *b, findings *found, bool *look, rp_error *err);
/* The first step of equal archives that two ways of computing give different bits for. */
rp_status rp_diff_levels(side *a, side *b, findings *found, bool *look, rp_error *err);
/* Opens the driver and brings it to the shared checkpoint, else to the nearest one at or before the side's step, if the
 * journal vouches for its states, else to the start. budget: what it will cost to go on to the step and to look into it
 * is added, before anything is executed; NULL: that was done. Errors: RP_EUNSUPPORTED beyond what the options allow. */
rp_status rp_diff_open(side *s, rp_budget *budget, const rp_job_options *options, rp_error *err);
/* Looks into a->step and b->step: programs, then values. */
rp_status rp_diff_step(side *a, side *b, findings *found, rp_error *err);
/* How the programs differ, in one line without its end; nothing when they are equal. *alike: the same operations have
 * the same operands and types, so that values can be compared one by one. */
rp_status rp_diff_programs(const rp_program *a, const rp_program *b, rp_buffer *out, bool *alike, rp_error *err);
/* Tells a value that differs. */
rp_status rp_diff_put_value(findings *found, const rp_diff_value *value, rp_program *const program[2], rp_error *err);
/* Of a told value that is an element of a table's features or targets: the cells it was made of, by column and line. */
rp_status rp_diff_put_cells(const side *a, const side *b, const rp_diff_value *value, findings *found, rp_error *err);
/* The program of the step as the archive has it. */
rp_status rp_diff_recorded_program(rp_program **out, const side *s, rp_error *err);
/* When the step of the side comes, its program and what it reads are kept. */
rp_status rp_diff_watch(side *s, rp_error *err);
/* Then computes the run, whose driver is open, up to and including the step. */
rp_status rp_diff_go_to_step(side *s, rp_error *err);
void rp_diff_side_free(side *s);

#endif
