/* SPDX-License-Identifier: Apache-2.0
 * Inside a run: slots, observers, and compiled steps. The audit layer watches through rp_observer; core knows nothing
 * of it. */
#ifndef CORE_RUN_RUN_H
#define CORE_RUN_RUN_H

#include "core/program/graph.h"
#include "core/run/device_tensor.h"
#include "core/run/plan.h"
#include "rp/program.h"

/* Tensors of an event are valid during the call. */
typedef struct rp_step_event {
    uint64_t step; /* 0 for the first */
    const rp_program *program;
    uint64_t compiled; /* tells compiled programs apart without looking inside; 0 in an eager step */
    /* in program order; in program order; in order of rp_run_add_state */
    const rp_device_tensor *feed, *result, *state;
    size_t n_feeds, n_results, n_states;
    /* Which states the step wrote to, in that order, each once: as numbers of `state`. NULL in an eager step. */
    const size_t *written;
    size_t n_written;
} rp_step_event;

/* Called when a step is complete; an error ends the run's step with that error. */
typedef struct rp_observer {
    rp_status (*step)(void *self, const rp_step_event *event, rp_error *err);
    void *self;
} rp_observer;

/* At most 4; they outlive the run or are removed by rp_run_unobserve. */
rp_status rp_run_observe(rp_run *run, rp_observer observer, rp_error *err);
/* For an observer that goes on reading the states when `step` has returned: settle is called before one of them changes
 * again, within the next step, with its number in the event's `state`, or with RP_ALL_STATES, and returns when its
 * memory is free. (Feeds and results are gone when `step` returns.) */
#define RP_ALL_STATES SIZE_MAX
typedef rp_status rp_settle(void *self, size_t state, rp_error *err);
rp_status rp_run_observe_beside(rp_run *run, rp_observer observer, rp_settle *settle, rp_error *err);
void rp_run_unobserve(rp_run *run, const void *self);
rp_device *rp_run_device(const rp_run *run);
/* As rp_run_add_data, but the elements lie in memory of the run's device already, canonical, and are the run's from
 * then on; on failure they stay the caller's. */
rp_status rp_run_take_data(rp_run *run, const char *name, rp_dtype dtype, int rank, const size_t *shape, void *memory,
                           rp_error *err);
/* Present states and data; borrowed until the next step. */
const rp_device_tensor *rp_run_states(const rp_run *run, size_t *n);
const rp_device_tensor *rp_run_data(const rp_run *run, size_t *n);
/* Values for a run's states or data that are not all held in memory: give hands them over piece by piece through
 * rp_run_put, in any order of names, of each name ascending, and of each at least one piece. */
typedef struct rp_value_source {
    rp_status (*give)(void *self, rp_run *run, rp_error *err);
    void *self;
} rp_value_source;
/* Elements first to first + count - 1 of what is being given, in host form, copied. Errors: RP_EDATA (a name that is
 * not there, another type, a piece out of order). */
rp_status rp_run_put(rp_run *run, const char *name, const rp_type *type, size_t first, const void *elements,
                     size_t count, rp_error *err);
/* The run as it was after `steps` steps: every state is given, and nothing else. Between steps; observers stay. Errors:
 * RP_EDATA, RP_ENOMEM, those of the source; the run should then be given up. */
rp_status rp_run_restore(rp_run *run, uint64_t steps, const rp_value_source *from, rp_error *err);
/* Every data of the run is given. */
rp_status rp_run_fill_data(rp_run *run, const rp_value_source *from, rp_error *err);
/* While quiet, steps are not told to observers. */
void rp_run_set_quiet(rp_run *run, bool quiet);
/* Bytes of the device that states, data and compiled programs hold: what steps need that are not eager. */
size_t rp_run_memory(const rp_run *run);
/* Whether the floating-point environment had to be repaired when the run was made. */
bool rp_run_fpenv_repaired(const rp_run *run);

/* A program bound to a run's states and data, executed any number of times. The program is taken, also on failure. */
rp_status rp_run_compile(rp_compiled **out, rp_run *run, rp_program *program, rp_error *err);
/* The same of a symbolic graph, which is taken. Errors: the graph's own too. */
rp_status rp_run_compile_graph(rp_compiled **out, rp_run *run, rp_graph *graph, rp_error *err);
/* The same of one that only makes feeds states: they lie in the states' memory, and whoever writes a feed writes the
 * state, so nobody may be reading it. */
rp_status rp_run_compile_start(rp_compiled **out, rp_run *run, rp_graph *graph, rp_error *err);
/* Before the first step of a compiled program: that the device has the kernels of all that were compiled so far, or
 * looked at here since they will be. Errors: RP_EUNSUPPORTED with the names of all that it lacks; RP_ENOMEM. */
rp_status rp_run_look_at(rp_run *run, const rp_program *program, rp_error *err);
rp_status rp_run_can_execute(const rp_run *run, rp_error *err);
/* Whether one of those programs has a product that the library of the pinned profile computes. */
bool rp_run_multiplies_pinned(const rp_run *run);
const rp_program *rp_compiled_program(const rp_compiled *compiled);
/* Memory that this program holds beside the run's arena, which all programs of the run use in turn: feeds and results.
 */
size_t rp_compiled_own_bytes(const rp_compiled *compiled);
/* A feed, to be written before each step; it counts as written from now on. False when the program has no such feed. */
bool rp_compiled_feed(const rp_compiled *compiled, const char *name, rp_device_tensor *out);
/* A result, to be read after a step, until the next of this program. False when there is no such result. */
bool rp_compiled_result(const rp_compiled *compiled, const char *name, rp_device_tensor *out);

/* A result of the eager step that was ended last, until the next one begins; size must be exact. Errors: RP_EARG. */
rp_status rp_step_read_result(rp_run *run, const char *name, void *bytes, size_t size, rp_error *err);

/* A symbolic graph for a run: rp_state and rp_data work on it through these. The graph is freed by rp_graph_free or
 * given up by rp_graph_take_program. */
rp_tensor rp_graph_state(rp_graph *graph, const rp_run *run, const char *name);
rp_tensor rp_graph_data(rp_graph *graph, const rp_run *run, const char *name);

#endif
