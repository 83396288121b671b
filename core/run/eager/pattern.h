/* SPDX-License-Identifier: Apache-2.0
 * What is known of regions that steps execute: one pattern for all that are equal, with the plan that executes it, and,
 * of a scan, the gradient that followed it. */
#ifndef CORE_RUN_EAGER_PATTERN_H
#define CORE_RUN_EAGER_PATTERN_H

#include "core/run/plan.h"
#include "core/program/function.h"

/* A region as a function of its operands, planned. */
typedef struct planned {
    rp_function *function; /* parameters: the operands; outputs: the values */
    rp_plan *plan;
} planned;

/* Copies the region. Errors: RP_ENOMEM, or whatever a function cannot be. */
rp_status rp_planned_new(planned *out, const rp_program *p, const rp_instr *instr, rp_device *device, size_t stored,
                         rp_error *err);
void rp_planned_free(planned *p);

/* A scan f and the scan d of its gradient, as they are executed together. */
typedef struct pair {
    rp_region *gradient; /* d as the text has it */
    uint32_t
        *wiring; /* of each operand of d: what it is of f (core/run/eager/pair.c); of each of f: the first like it */
    size_t n_in, n_scan;
    planned forward, backward;
    size_t outs, stored, history; /* values of `forward`: those of f, what backward reads, what f carried */
    size_t *from;                 /* of each operand of `backward`: an operand of d, or n_in + one that is stored */
    unsigned idle;                /* times that f was executed and d did not come, in a row */
} pair;

typedef struct pattern {
    rp_region *region;
    rp_type *type; /* of each operand */
    size_t n_in;
    uint64_t turn; /* the last step that had it */
    size_t seen;
    bool unplanned; /* it has no plan, or there was no memory for it */
    planned own;
    pair *pair; /* NULL: none was seen */
} pattern;

enum { PATTERNS_MAX = 64, PAIR_IDLE_MAX = 4 };

typedef struct patterns {
    pattern *pattern[PATTERNS_MAX];
    size_t n;
    uint64_t turn;
} patterns;

/* The pattern of an instruction of the program, a new one if need be; NULL: out of memory, or too many in one step. */
pattern *rp_pattern_of(patterns *all, const rp_program *p, const rp_instr *instr);
void rp_patterns_free(patterns *all);
/* Whether two regions execute the same, by their functions' texts; no, where that takes long to find out. */
bool rp_region_equal(const rp_region *a, const rp_region *b);

/* The scan `again` is `scan` once more, with its history, and `gradient` reads that: a new pair. *out is NULL where
 * they are none. Errors: RP_ENOMEM. */
rp_status rp_pair_new(pair **out, const rp_program *p, const rp_instr *scan, const rp_instr *again,
                      const rp_instr *gradient, rp_device *device, size_t stored, rp_error *err);
/* Whether they are this pair again. */
bool rp_pair_fits(const pair *pair, const rp_instr *scan, const rp_instr *again, const rp_instr *gradient);
void rp_pair_free(pair *pair);

#endif
