/* SPDX-License-Identifier: Apache-2.0
 * Between diff_walk.c (bodies, values) and diff_frames.c (the frames of a region). */
#ifndef AUDIT_REPLAY_DIFF_WALK_PRIVATE_H
#define AUDIT_REPLAY_DIFF_WALK_PRIVATE_H

#include "audit/replay/diff_walk.h"
#include "core/program/graph.h"

typedef struct rp_walk rp_walk;
typedef struct rp_walk_body rp_walk_body;

struct rp_walk {
    rp_device *device[2];
    bool same; /* the programs are equal: a view of what is equal is equal */
    rp_diff_frame frame[RP_CALL_DEPTH_MAX];
    size_t depth;
    rp_diff_value *found;
    /* Executes the frames of the body's region instruction k, which was executed and whose values differ, down to the
     * first value that differs in one. */
    rp_status (*enter)(rp_walk *walk, const rp_walk_body *body, size_t k, rp_error *err);
};

/* A body on both sides, with its values; it serves any number of frames, one after another. */
struct rp_walk_body {
    rp_graph *tape[2];
};

rp_status rp_walk_open(rp_walk_body *body, const rp_walk *walk, rp_program *const program[2], rp_error *err);
void rp_walk_close(rp_walk_body *body); /* one of zeros is fine */
/* Executes it with these inputs, down to the first value that differs. */
rp_status rp_walk_run(rp_walk *walk, rp_walk_body *body, rp_view *const input[2], rp_error *err);
/* Whether the two differ in an element. */
rp_status rp_walk_compare(const rp_walk *walk, const rp_view view[2], bool *differ, rp_error *err);

/* A value's bytes, contiguous, for the host. Hidden also on failure. */
typedef struct rp_shown {
    rp_mapping mapping;
    void *copy; /* on the device */
} rp_shown;
rp_status rp_walk_show(rp_shown *shown, rp_device *device, const rp_view *view, rp_error *err);
void rp_walk_hide(rp_shown *shown, rp_device *device);

#endif
