/* SPDX-License-Identifier: Apache-2.0
 * What a profile holds: rows, one a call of a plan or an instruction of eager steps, and the clock. Between watch.c,
 * which fills it while steps run, describe.c, which says what a row is, and told.c. */
#ifndef CORE_RUN_PROFILE_PROFILE_H
#define CORE_RUN_PROFILE_PROFILE_H

#include "base/buffer.h"
#include "core/program/graph.h"
#include "core/run/profile/clock.h"
#include "core/run/plan_private.h"

/* What is timed that is no operation. */
typedef enum rp_beside_kind {
    RP_BESIDE_BETWEEN,   /* in a step, but in none of the others: launching, waiting, building a step's program */
    RP_BESIDE_RECORDING, /* observers */
    RP_BESIDE_OUTSIDE,   /* between steps: feeds, data, whatever the application does */
    RP_BESIDES
} rp_beside_kind;

typedef struct rp_profile_row {
    char *operations; /* "matmul"; of a chain "mul+add+relu", in order */
    char *place;      /* "program 1, 12": which compiled program of the run, and the instruction, or more of them */
    char *type;       /* of what it makes */
    char *source;     /* where it comes from; "" where nobody knows */
    uint64_t calls;
    uint64_t nanoseconds; /* its own: without what stands inside it */
    double bytes,
        written;       /* read and written, and written alone: of one call; in eager steps of all, which may differ */
    double arithmetic; /* likewise */
    uint64_t memory;   /* bytes of the arena that are alive while it runs; 0 in eager steps */
    bool wide;         /* binary64 */
    bool placed;       /* the source is a line */
    bool eager;
    rp_type made; /* eager: an axis that has not been the same in all calls is SIZE_MAX */
} rp_profile_row;

/* The rows of one plan, or of eager steps (plan NULL). */
typedef struct rp_profile_entry {
    const rp_plan *plan;
    uint64_t serial; /* of the compiled program, as addresses come again */
    rp_profile_row *row;
    size_t n, cap;
    const rp_op **op; /* eager: of each row */
    uint32_t *instr;  /* eager: of each row the instruction, which is its number but for what came later */
    uint32_t *other;  /* eager: the next row of the same instruction with another operation; 0: none */
} rp_profile_entry;

typedef struct rp_profile_event {
    uint64_t begin, end; /* nanoseconds since the profile began */
    uint32_t entry, row; /* entry RP_PROFILE_STEP: a step, row its number among those of the profile; or recording */
} rp_profile_event;
enum { RP_PROFILE_STEP = UINT32_MAX, RP_PROFILE_RECORDING = UINT32_MAX - 1, RP_PROFILE_EVENTS = 1 << 20 };

typedef struct rp_profile_frame {
    uint64_t begin, inside; /* inside: what those in it took */
    uint32_t entry, row;
} rp_profile_frame;

struct rp_profile {
    rp_run *run; /* NULL: it has ended */
    rp_profile_options options;
    rp_plan_watch plan_watch;
    rp_graph_watch graph_watch;
    uint64_t began, ended;                /* the clock */
    uint64_t step_began, in_step;         /* of the step under way: when, and what rows and recording of it took */
    uint64_t steps, serial, number;       /* number: the run's of the step that is timed */
    uint64_t beside[RP_BESIDES], stepped; /* stepped: nanoseconds of all steps */
    uint64_t recording_began;
    rp_profile_entry *entry;
    size_t n_entries, cap_entries, last; /* last: the one found last */
    rp_profile_frame frame[RP_CALL_DEPTH_MAX + 2];
    size_t depth;
    rp_profile_event *event;
    size_t n_events, cap_events;
    uint64_t dropped;              /* events that were too many */
    bool failed;                   /* memory ran out: what is missing is not told as if it were nothing */
    double fma, fma64, read, copy; /* a second; 0: not measured */
    uint64_t arena, held;          /* bytes: of the run's arena, and of states, data and programs beside it */
    char level[16], device[96];
    unsigned threads;
    bool stepping;
};

/* ---- describe.c ---- */
/* A row for each call of the plan. False when memory runs out. */
bool rp_profile_describe_plan(rp_profile_entry *entry, const rp_plan *plan);
/* The row of one instruction of an eager graph, of no call yet. */
bool rp_profile_describe_instr(rp_profile_row *row, const rp_graph *graph, const rp_instr *instr);
/* A call more, whose shapes need not be those of the calls before. False when memory runs out. */
bool rp_profile_add_call(rp_profile_row *row, const rp_program *program, const rp_instr *instr);
/* Once the call is over it is known where it stood. False when memory runs out. */
bool rp_profile_describe_place(rp_profile_row *row, const rp_program *program, const rp_instr *instr);
void rp_profile_row_free(rp_profile_row *row);

#endif
