/* SPDX-License-Identifier: Apache-2.0
 * A run: named state that changes from step to step, named data bound once, and steps, each of which executes one
 * program. An eager step is written between rp_step_begin and rp_step_end with the operations of rp/tensor.h and
 * ordinary C control flow; whatever branch was taken, the step's program is what ran. Observers (rp/audit.h) watch each
 * step.
 *
 * A run belongs to one thread at a time; several threads may have runs of their own, and in a child of fork a run goes
 * on. Names are [A-Za-z0-9._-], 1 to 95 bytes. */
#ifndef RP_RUN_H
#define RP_RUN_H

#include "rp/tensor.h"

typedef struct rp_run rp_run;

typedef struct rp_run_options {
    unsigned threads; /* 0: one for each CPU the process may use. Never changes a bit. */
    const char
        *level; /* kernel level; NULL: RP_ISA in the environment, else the best of the host. Never changes a bit. */
    const char *device; /* where kernels run, by name; NULL: "cpu". Never changes a bit. */
    /* Bytes. Compiled steps store values that gradients of loops would compute again, at most 2^30 bytes of them; with
     * this only where they fit beside what the program needs anyway (M of rp_price). 0: no such limit. Never changes a
     * bit. */
    uint64_t max_memory;
    /* NULL: the portable profile, whose bits are the same everywhere. Else the pinned one (docs/pinned.md), on a GPU:
     * matrix products of this kind, "f32", "f64", "tf32" or "bf16", are computed by cuBLASLt. An archive of such a run
     * says by which library, driver and chip, and is replayed by these alone. */
    const char *pinned;
    uint64_t pinned_workspace; /* bytes that the library may have, at most 2^30; 0: 2^25; with pinned alone */
    /* Bytes of the device that states, data and compiled steps may take together (rp_program_memory says what they do
     * without): values are computed again, the cheapest first, where a step would take more, and a program that cannot
     * do with it is refused when it is compiled, with the least that it could do with. 0: no such limit. What is
     * added after the last program was compiled is not held to it, nor are eager steps. Never changes a bit. */
    uint64_t memory;
    /* Takes what rp_print shows, lines with their ends, in the thread that makes the step; NULL: stderr does. */
    void (*print)(void *self, const char *text);
    void *print_self;
} rp_run_options;

/* The names that `device` may be: "cpu", then others; NULL beyond the last. */
RP_API const char *rp_run_device_name(size_t i);
/* Whether a text is one of them; behind "cuda" and "emulated" may stand which of several: "cuda:1". */
RP_API bool rp_run_device_known(const char *device);
/* options may be NULL. Enters and proves the floating-point environment of CONTRACT 2. The run is freed by rp_run_free.
 * Errors: RP_EARG; RP_EUNSUPPORTED for a device that is not here, or one without what the pinned profile needs. */
RP_API rp_status rp_run_new(rp_run **out, const rp_run_options *options, rp_error *err);
RP_API void rp_run_free(rp_run *run); /* NULL is fine */
RP_API const char *rp_run_level(const rp_run *run);
RP_API unsigned rp_run_threads(const rp_run *run);

/* Before the first step. Bytes are host-order, row-major, copied; NULL initial state means zeros. */
RP_API rp_status rp_run_add_state(rp_run *run, const char *name, rp_dtype dtype, int rank, const size_t *shape,
                                  const void *initial, rp_error *err);
RP_API rp_status rp_run_add_data(rp_run *run, const char *name, rp_dtype dtype, int rank, const size_t *shape,
                                 const void *bytes, rp_error *err);
/* The present value of a state, copied out with canonical NaNs; size must be exact. Not inside a step. */
RP_API rp_status rp_run_get_state(const rp_run *run, const char *name, void *bytes, size_t size, rp_error *err);

/* A step. After an error the step is abandoned: state keeps its value and rp_step_end returns the first error. Only an
 * observer's error (recording failed) comes when the new state is already in place: the run should then be given up. */
RP_API rp_status rp_step_begin(rp_run *run, rp_error *err);
RP_API rp_graph *rp_step_graph(rp_run *run); /* for operations that have no input tensor, such as rp_fill */
RP_API rp_tensor rp_state(rp_run *run, const char *name);
RP_API rp_tensor rp_data(rp_run *run, const char *name);
RP_API rp_tensor rp_feed(rp_run *run, const char *name, rp_dtype dtype, int rank, const size_t *shape,
                         const void *bytes);
RP_API void rp_set_state(rp_run *run, const char *name, rp_tensor value); /* takes effect when the step ends */
RP_API void rp_result(rp_run *run, const char *name, rp_tensor value); /* recorded; "loss" also goes to the journal */
/* Reads a value inside a step: the tensor is recorded as a result named "read.N", so a branch taken on it can be
 * checked by replay. size must be exact. Errors: as rp_graph_status, or RP_EARG. */
RP_API rp_status rp_read(rp_run *run, rp_tensor x, void *bytes, size_t size, rp_error *err);
RP_API rp_status rp_step_end(rp_run *run, rp_error *err);
RP_API uint64_t rp_run_steps(const rp_run *run); /* steps completed */

/* Calls say where they stand: see rp_site. Written by scripts/sites.py. */
#if !defined(RP_BUILDING) && !defined(RP_NO_SITES)
#define rp_state(...) RP_SITED(rp_state, __VA_ARGS__)
#define rp_data(...) RP_SITED(rp_data, __VA_ARGS__)
#define rp_feed(...) RP_SITED(rp_feed, __VA_ARGS__)
#define rp_set_state(...) RP_SITE(rp_set_state, __VA_ARGS__)
#define rp_result(...) RP_SITE(rp_result, __VA_ARGS__)
#endif

#endif
