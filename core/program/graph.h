/* SPDX-License-Identifier: Apache-2.0
 * The tape: a program under construction and, when it has a device, the values computed so far. A graph without a
 * device is symbolic. Both are written through the same calls (rp/tensor.h), so a program is the same either way. */
#ifndef CORE_PROGRAM_GRAPH_H
#define CORE_PROGRAM_GRAPH_H

#include "core/program/execute.h"
#include "core/program/function.h"
#include "kernels/memory/device_cache.h"

struct rp_memo;
enum {
    RP_VALUE_RELEASED = 1, /* nobody has a handle of it any more, or says so */
    RP_VALUE_PINNED = 2,   /* an output, or what an update that waits reads: stays until the step ends */
    RP_VALUE_TAPED = 4,    /* gradients may pass through it */
    RP_VALUE_NEEDED = 8,   /* the first gradients of the step may read it */
    RP_VALUE_TURNED = 16, /* its last two axes lie exchanged, also when it is made again: views of it may have stayed */
    RP_VALUE_TRAINED = 32 /* it depends on a state's value: gradients are likely to come */
};

/* Where a value of an eager graph lies, and what keeps it there. */
typedef struct rp_value_memory {
    rp_cached *piece; /* its own; NULL for inputs and views, and where it has gone */
    uint32_t owner;   /* the value whose memory it lies in: itself, what it is a view of, or what it is a part of;
                         RP_NO_OWNER: an input's */
    uint32_t users;   /* values that lie in its piece */
    unsigned mark;
} rp_value_memory;

#define RP_NO_OWNER UINT32_MAX

/* Who executes the regions of an eager graph; run NULL: the tape, frame by frame. in may change. Errors are the
 * graph's. */
typedef struct rp_graph_regions {
    rp_status (*run)(void *self, const rp_instr *instr, rp_view *in, const rp_view *out);
    void *self;
    void (*cut)(void *self, size_t length); /* instructions from the length-th on are taken back */
} rp_graph_regions;
/* Somebody who wants to know when each instruction of an eager graph begins and ends; see rp_plan_watch. */
typedef struct rp_graph_watch {
    void *self;
    void (*begin)(void *self, const rp_graph *graph, const rp_instr *instr);
    void (*end)(void *self, const rp_graph *graph, const rp_instr *instr);
} rp_graph_watch;

/* Where what is printed goes, and which step it is of. */
typedef struct rp_print_to {
    void (*print)(void *self, const char *text); /* NULL: stderr */
    void *self;
    const uint64_t *step;
} rp_print_to;

enum { RP_MARKS_KEPT = 16 };

struct rp_graph {
    struct rp_memo *memo; /* while gradients are appended (core/program/sweep.h) */
    rp_program *program;
    rp_device *device; /* borrowed; NULL: symbolic */
    rp_view *view;     /* of each value, eager only */
    rp_value_memory *memory;
    size_t n_views, cap_views;
    rp_device_cache *cache; /* its own; of a tape that executes frames that of the one that the region stands on */
    bool defers;    /* a run's: updates of states wait until somebody reads them or the step ends, and values may go */
    bool swept;     /* gradients were asked for in this step */
    uint32_t spent; /* 1 and the value that nobody reads behind the instruction that is appended now; 0: none */
    bool lays_turned; /* products are read with their last two axes exchanged, and may lie so */
    uint32_t *late;   /* instructions of the updates, in order; those that were executed meanwhile too */
    size_t n_late, cap_late;
    unsigned calls;    /* around what is appended now that are written in others (core/program/tape_chain.c) */
    size_t call_first; /* the first instruction of the outermost of them */
    rp_graph_regions regions;
    const rp_graph_watch *watch;  /* borrowed; NULL: nobody */
    rp_mark *mark[RP_MARKS_KEPT]; /* the last, by line: a loop's calls stand where those of its turn before did */
    size_t marked;                /* instructions before it have their marks, as far as they get any */
    rp_print_to print_to;         /* of a run's: where rp_print goes */
    rp_status status;             /* the first error; everything after it is skipped */
    rp_error error;
    uint32_t epoch; /* handles of an earlier epoch are refused */
    bool placed;    /* the error says where the call stands */
    size_t faulty;  /* where a wrong index was found: an instruction and 1; 0: nowhere yet */
};

rp_graph *rp_graph_new(rp_device *device); /* NULL: out of memory */
void rp_graph_free(rp_graph *graph);
/* The caller's call that ended now stands there: a mark for what it appended. */
void rp_graph_mark(rp_graph *graph, const char *file, int line);
void rp_graph_forget_marks(rp_graph *graph);
/* Waits for the device; the error of the first wrong index that came before, in the graph's own instructions. */
rp_status rp_graph_settle(rp_graph *graph, rp_error *err);
/* Forgets program and values, and starts a new epoch. */
void rp_graph_reset(rp_graph *graph);
/* The graph that this thread works on, for rp_site; every call that may fail says so before it does. */
void rp_graph_at_work(rp_graph *graph);
/* Sets the first error; later ones are ignored. */
void rp_graph_fail(rp_graph *graph, rp_status status, const char *format, ...) RP_PRINTF(3, 4);
/* Whether an array of n entries is there; the graph, which may be NULL, fails where it is not. */
bool rp_graph_given(rp_graph *graph, const char *name, const void *array, size_t n);
/* A new input; eager: data is its memory on the device, borrowed until the reset. */
rp_tensor rp_graph_input(rp_graph *graph, rp_input_kind kind, const char *name, const rp_type *type, void *data);
void rp_graph_output(rp_graph *graph, rp_output_kind kind, const char *name, rp_tensor value);
/* The input of that kind and name; no tensor when there is none. */
rp_tensor rp_graph_known(rp_graph *graph, rp_input_kind kind, const char *name);
/* x itself when a kernel made it; else, for inputs and views, whose memory is another value's, a copy (a one-operand
 * concat). */
rp_tensor rp_graph_own(rp_tensor x);
/* Marks outputs as rp_set_state and rp_result do: a value that is an input or a view is copied first. */
void rp_graph_set(rp_graph *graph, rp_output_kind kind, const char *name, rp_tensor value);
/* Frees the graph and returns its program; NULL with err when the graph was in error. */
rp_program *rp_graph_take_program(rp_graph *graph, rp_error *err);
/* The handle of a value of this epoch. */
rp_tensor rp_graph_tensor(rp_graph *graph, uint32_t value);
/* Whether x is a live handle of a graph without error; a dead one puts its graph in error. */
bool rp_tensor_ok(rp_tensor x);
/* Whether the tensors that a call replaces were given, NULL else: RP_EARG. */
bool rp_moments_given(const char *call, rp_tensor p, const rp_tensor *m, const rp_tensor *v);
/* Whether `beside`, which `what` calls, stretches to x's shape, so that what is computed of both has that shape; else
 * RP_ESHAPE: of a column beside a row each would be held against each. */
bool rp_tensor_beside(const char *call, const char *what, rp_tensor x, rp_tensor beside);
/* The graph of the first operand that has one: an operand that is no tensor is then an error of that graph. */
rp_graph *rp_graph_of(const rp_tensor *in, size_t n);
/* The type of a handle that is ok. */
const rp_type *rp_tensor_type(rp_tensor x);
/* The handle that stands for "nothing". */
static inline rp_tensor rp_no_tensor(void)
{
    return (rp_tensor){NULL, 0, 0};
}

/* Appends a region, which an eager graph executes at once; out gets rp_region_values handles. As rp_emit otherwise. */
void rp_emit_region(rp_graph *graph, const rp_region *region, const rp_tensor *in, size_t n_in, rp_tensor *out);

/* Executes the instruction that was appended last, if there is a device (core/program/tape.c). */
void rp_graph_execute_last(rp_graph *graph);
/* For whoever executes a program on the tape: room for its values, one instruction whose operands have views, and the
 * values' memory back. */
rp_status rp_graph_hold_views(rp_graph *graph);
rp_status rp_graph_execute(rp_graph *graph, const rp_instr *instr);
void rp_graph_release_values(rp_graph *graph);
/* Whether the value is one that an update has still to make, or one that has gone. Such a value has no view, and is
 * made when it is read. */
static inline bool rp_graph_is_late(const rp_graph *graph, uint32_t value)
{
    return graph->defers && !graph->view[value].data;
}
/* A call that is written in others begins, on the graph of its first operand, and has come to its result: on a run's
 * graph its large elementwise instructions wait for each other in between, and run as one chain. NULL: they do not. */
rp_graph *rp_graph_call_begins(rp_tensor x);
rp_tensor rp_graph_call_ends(rp_graph *graph, rp_tensor y);
bool rp_graph_may_wait(const rp_graph *graph, const rp_instr *instr);
/* Makes the late value and what it waits for, if that is a chain. */
rp_status rp_graph_make_together(rp_graph *graph, uint32_t value, bool *made);
/* Large concats of such a call, and views of them, wait too (core/program/tape_concat.c). */
bool rp_graph_concat_waits(const rp_graph *graph, const rp_instr *instr);
/* Makes the late value and what it is put together of, if it is a concat of the call. */
rp_status rp_graph_make_concat(rp_graph *graph, uint32_t value, bool *made);
/* The value lies in the memory of the owner, which may be itself. */
void rp_graph_lie_in(rp_graph *graph, uint32_t value, uint32_t owner);
/* Memory for a value that is made now. */
rp_status rp_graph_allocate(rp_graph *graph, uint32_t value);
/* Makes it now. */
rp_status rp_graph_make(rp_graph *graph, uint32_t value);
/* Of a run's graph: the value's memory goes, with that of no other one, unless it is pinned. What reads it nevertheless
 * computes it again, so this never changes a bit. */
void rp_graph_drop(rp_graph *graph, uint32_t value);
/* The value, which has a piece of its own, lies in *piece from now on, and *piece is where it lay. */
void rp_graph_exchange(rp_graph *graph, uint32_t value, rp_cached **piece);
/* Keeps the value until the step ends, and makes it if it has gone. */
rp_status rp_graph_pin(rp_graph *graph, uint32_t value);
/* Executes a region instruction of the graph's program on views, instruction by instruction (core/program/frames.c).
 * Errors are the graph's. */
rp_status rp_frames_eager(rp_graph *graph, const rp_instr *instr, const rp_view *in, const rp_view *out);

/* Executes a program instruction by instruction, keeping every value (graph->view[value]): what plans are
 * compared with. input_memory as in rp_plan_new, but feeds included. *out is also set when an instruction fails: it
 * then holds the values before it, on the device as all values. */
rp_status rp_graph_trace(rp_graph **out, const rp_program *program, rp_device *device, void *const *input_memory,
                         rp_error *err);

/* Instructions from `first` on are differentiated; what lies before is constant (used by gradient rules to
 * differentiate an expansion of themselves). Absent gradients are zeros. */
void rp_vjp_from(rp_graph *graph, size_t first, const rp_tensor *y, const rp_tensor *seed, size_t n_y,
                 const rp_tensor *wrt, size_t n, rp_tensor *grad);

#endif
