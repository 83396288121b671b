/* SPDX-License-Identifier: Apache-2.0
 * The compiled form of a program: memory laid out once by lifetimes, views and kernel arguments bound once, states
 * updated in place where that is safe. Running it performs the same kernels on the same values as the eager tape. */
#ifndef CORE_RUN_PLAN_H
#define CORE_RUN_PLAN_H

#include "core/program/execute.h"
#include "core/run/arena.h"

typedef struct rp_plan rp_plan;

/* Passes that may be left out; none changes a bit of an output, or which error a step reports. */
enum {
    RP_PASS_COMMON = 1,      /* equal instructions on equal operands are executed once */
    RP_PASS_DEAD = 2,        /* what no output needs and what cannot fail is not executed */
    RP_PASS_EARLY = 4,       /* what frees as much as it takes is executed as soon as it can be: updates above all */
    RP_PASS_FUSE = 8,        /* elementwise chains */
    RP_PASS_INPLACE = 16,    /* values overwrite operands that nothing reads later */
    RP_PASS_REUSE = 32,      /* memory is used again by later values */
    RP_PASS_WRITE_OUT = 64,  /* calls and maps are their frames' instructions: the other passes see through them */
    RP_PASS_SCANS = 128,     /* equal scans are executed once, with their history; gradients' functions may be split */
    RP_PASS_PADS = 256,      /* a sum of pads that meet edge to edge is their operands side by side */
    RP_PASS_ATTENTION = 512, /* attention written in products and softmax has no square of scores */
    RP_PASS_INSIDE = 1024,   /* operands of a concat are made where they go */
    RP_PASS_PANELS = 2048,   /* with RP_PASS_SCANS: a matrix that frames multiply rows by is laid out for that first */
    RP_PASS_TURNED = 4096,   /* a product that is only read turned is made turned */
    RP_PASS_SUMS = 8192,     /* with RP_PASS_SCANS: sums of products that a scan only carries have scans of their own */
    RP_PASS_EPILOGUES = 16384, /* with RP_PASS_FUSE: a product goes on with the chain that reads it */
    RP_PASS_ROWS = 32768,      /* with RP_PASS_FUSE: norms, softmax and reductions take chains next to them along */
    RP_PASS_PROLOGUES = 65536, /* with RP_PASS_FUSE: a product of few rows takes along the chain that makes its right
                                  operand */
    RP_PASSES = 131071
};
enum { RP_PLAN_WRITTEN_MAX = 32768 }; /* executed instructions of a program whose regions are written out */

/* Memory of the program's inputs, in the order of program->input: states and data have fixed memory that outlives the
 * plan; feeds are NULL and get memory from the plan. The program is borrowed. */
rp_status rp_plan_new(rp_plan **out, const rp_program *program, rp_device *device, void *const *input_memory,
                      rp_error *err);
typedef struct rp_plan_options {
    rp_arena *arena; /* shared, outlives the plan; NULL: one of its own */
    unsigned passes;
    size_t stored;  /* bytes that scans may store of what their gradients would compute again, in the program and all
                       bodies */
    uint64_t every; /* of a history that only a gradient reads every so many rows are kept, the others made again in
                       segments of so many; 0, 1: all are kept */
    bool start; /* of a program that only makes feeds states (copies of them): they lie in the states' memory, so that
                   whoever writes a feed writes the state */
    size_t memory; /* bytes that feeds, results and the arena may take: values are computed again until they do, and
                      where they cannot the plan is refused. 0: no such limit */
    const uint64_t *writes; /* that states have seen: moved on before one is written to, whoever writes. What regions
                               have copied of states that the program leaves alone is good until then, and is kept
                               where memory has no limit; outlives the plan; NULL: it is copied in each run */
} rp_plan_options;
enum { RP_PLAN_STORED_MAX = 1 << 30 }; /* that is stored unless options say otherwise */
rp_status rp_plan_new_with(rp_plan **out, const rp_program *program, rp_device *device, void *const *input_memory,
                           const rp_plan_options *options, rp_error *err);
/* In an arena and with some passes only. */
rp_status rp_plan_new_in(rp_plan **out, const rp_program *program, rp_device *device, void *const *input_memory,
                         rp_arena *arena, unsigned passes, rp_error *err);
/* Of a function alone, which is borrowed: a region as a function of its operands, say. stored: as above. */
rp_status rp_plan_new_function(rp_plan **out, const rp_function *function, rp_device *device, size_t stored,
                               rp_error *err);
/* Executes it: arena is rp_plan_arena_bytes of memory, param and out are as a frame's (rp_frames), contiguous. number:
 * what errors call the instruction of a function that has one. Waits for the device. */
rp_status rp_plan_run_function(rp_plan *plan, void *arena, const rp_view *param, const rp_view *out, size_t number,
                               rp_error *err);
void rp_plan_free(rp_plan *plan);
/* Memory of feed input i (program->input[i]) on the device, to be filled before each run; lent: what is lent. */
void *rp_plan_feed(const rp_plan *plan, size_t input);
/* Whether feed input i or output i may lie in the caller's memory for a run: nothing else is there, nothing that is
 * read after the run follows from it, and the host's memory is the device's. Then lend puts it there, aligned to 64
 * bytes and as large, until the next lend; NULL: back into the plan's own. What is lent as a feed is only read. */
bool rp_plan_may_lend(const rp_plan *plan, bool output, size_t i);
void rp_plan_lend(rp_plan *plan, bool output, size_t i, void *memory);
/* Executes, and waits for the device; afterwards the states hold their new values. On an error (an index out of range)
 * states may hold a mixture: the caller abandons the run. */
rp_status rp_plan_run(rp_plan *plan, rp_error *err);
/* The same, with settle(arg, input, err) called for each state before the call that writes to it; its error ends the
 * run there. */
typedef rp_status rp_plan_settle(void *arg, size_t input, rp_error *err);
rp_status rp_plan_run_settling(rp_plan *plan, rp_plan_settle *settle, void *arg, rp_error *err);
/* Somebody who wants to know when each call begins and ends, those in bodies too, which stand between begin and end of
 * their region's. What was launched has ended when end is called; no bit changes by it. */
typedef struct rp_plan_watch {
    void *self;
    void (*begin)(void *self, const rp_plan *plan, size_t call);
    void (*end)(void *self, const rp_plan *plan, size_t call);
} rp_plan_watch;
/* Borrowed until the next one, or NULL. */
void rp_plan_set_watch(rp_plan *plan, const rp_plan_watch *watch);
/* Whether the last run failed when some states had their new values already. */
bool rp_plan_mixed(const rp_plan *plan);
/* Device memory of the value behind output i, valid until the next run of this plan; for a state output the state's
 * memory. Contiguous. */
void *rp_plan_output(const rp_plan *plan, size_t output);
/* Kernels and chains of kernels that a run launches. */
size_t rp_plan_launches(const rp_plan *plan);
/* Instructions that it executes again so that it fits into its memory. */
size_t rp_plan_again(const rp_plan *plan);
/* What scans left of the bytes that they may store. */
size_t rp_plan_unstored(const rp_plan *plan);
/* Memory that is the plan's own (feeds and results), and what it needs of its arena while it runs. */
size_t rp_plan_own_bytes(const rp_plan *plan);
size_t rp_plan_arena_bytes(const rp_plan *plan);

#endif
