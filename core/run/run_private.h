/* SPDX-License-Identifier: Apache-2.0
 * What eager steps (core/run/step.c), compiled steps (core/run/compiled.c) and observers (core/run/observers.c) share
 * of a run. */
#ifndef CORE_RUN_RUN_PRIVATE_H
#define CORE_RUN_RUN_PRIVATE_H

#include "core/run/eager/eager.h"
#include "core/run/lacks/lacks.h"
#include "core/run/profile/clock.h"
#include "core/run/slots.h"

enum { OBSERVERS_MAX = 4 };

struct rp_run {
    rp_device *device;
    rp_slots states, data, feeds; /* feeds: of the eager step in progress */
    rp_arena arena;               /* of the compiled steps */
    size_t own;                   /* bytes that compiled programs have beside it */
    uint64_t writes;              /* to its states, counted before each */
    uint64_t max_memory, memory;  /* as in rp_run_options */
    rp_graph *graph;
    rp_eager *eager; /* its regions */
    bool in_step, repaired, quiet;
    bool given_up; /* a step failed when new states were already in place: an observer's error, or half of the states */
    rp_lacks lacks; /* of the compiled programs */
    bool pinned;    /* one of them has a product that the pinned profile's library computes */
    bool stepped;   /* a compiled program was executed */
    unsigned reads;
    uint64_t steps;
    struct rp_filling *filling; /* what rp_run_put fills; NULL: nothing is given */
    rp_observer observer[OBSERVERS_MAX];
    rp_settle *settle[OBSERVERS_MAX]; /* NULL: it does not read on */
    size_t n_observers;
    struct rp_profile *profile; /* whose clock runs; borrowed; NULL: nobody's */
};

/* The error of a step on a run that was given up. */
rp_status rp_run_given_up(rp_error *err);

/* Makes the value of a deferred update now. */
rp_status rp_run_make(rp_run *run, uint32_t value, rp_error *err);
/* The states take the values that the eager step has set. */
rp_status rp_run_commit(rp_run *run, rp_error *err);
/* Whoever writes to a state, or to all (RP_ALL_STATES), calls this first. */
rp_status rp_run_settle(rp_run *run, size_t state, rp_error *err);
/* Tells observers of a completed step. Of the event program, compiled and written are the caller's; at(arg, index,
 * is_output) gives the memory of the program's input or output. */
typedef void *rp_memory_at(const void *arg, size_t index, bool output);
rp_status rp_run_tell(rp_run *run, const rp_step_event *step, rp_memory_at *at, const void *arg, rp_error *err);

#endif
