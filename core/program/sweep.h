/* SPDX-License-Identifier: Apache-2.0
 * The sweep of CONTRACT 11.3 as its rules for regions need it: from any seeds, with gradients that exist already. */
#ifndef CORE_PROGRAM_SWEEP_H
#define CORE_PROGRAM_SWEEP_H

#include "core/program/graph.h"

typedef struct rp_sweep {
    rp_graph *graph;
    size_t first, last; /* the instructions to differentiate */
    rp_tensor *grad;    /* of each value before the sweep; graph NULL: none yet */
    bool mixed;         /* rules read bf16 where that is enough: core/program/mixed.c */
    bool *reaches;      /* the value depends on some wrt through differentiated instructions */
    uint8_t *readers;   /* how many operands of those the value is; two, too, where there are more */
    /* where values may go (core/program/tape.c): gradients of which nothing is left to be read go on the way */
    bool drops;
    bool *asked;    /* the value is one of wrt: its gradient is the caller's */
    uint32_t *uses; /* of each value since the sweep began: how many of grad are it */
    size_t base, n_uses;
} rp_sweep;

/* Marks what depends on wrt. False with the graph in error; rp_sweep_end is needed in any case. */
bool rp_sweep_begin(rp_sweep *s, rp_graph *graph, size_t first, const rp_tensor *wrt, size_t n);
void rp_sweep_contribute(rp_sweep *s, uint32_t value, rp_tensor g);
void rp_sweep_run(rp_sweep *s);
void rp_sweep_end(rp_sweep *s);
/* Operands and results of an instruction as its rule reads them in mixed precision, in place of those given. */
void rp_sweep_halve(const rp_op *op, const bool *need, rp_tensor *in, rp_tensor *out);
/* Fills value c of the type of x's gradient. */
rp_tensor rp_gradient_fill(rp_graph *graph, const rp_type *type, double c);

/* What one call for gradients has found out about functions: for a key, bits and functions. The outermost sweep makes
 * it (graph->memo), and the graphs of the functions that it derives share it. */
typedef struct rp_memo {
    struct rp_memo_entry *entry;
    size_t n, cap;
    rp_index index;
} rp_memo;
/* True: bits and made are what was added under the key; the caller releases what was made. */
bool rp_memo_find(const rp_memo *memo, const rp_buffer *key, bool *bits, size_t n_bits, rp_function **made,
                  size_t n_made);
/* about: the functions whose addresses are in the key. False: out of memory. */
bool rp_memo_add(rp_memo *memo, const rp_buffer *key, rp_function *const *about, size_t n_about, const bool *bits,
                 size_t n_bits, rp_function *const *made, size_t n_made);
void rp_memo_free(rp_memo *memo);

/* Which values of a region reach, of which operands do. False: out of memory. */
bool rp_region_reach(rp_memo *memo, const rp_region *region, const bool *in, size_t n_in, bool *out);
/* The rule of a region, instruction k of the sweep's graph. */
void rp_region_visit(rp_sweep *s, size_t k);

/* f' under construction (CONTRACT 11.7): f's instructions on parameters that the region declares, then a sweep. */
typedef struct rp_derived {
    rp_graph *graph;
    const rp_function *f;
    rp_tensor *value; /* of each of f's values; the caller sets those of the parameters */
    rp_sweep sweep;
} rp_derived;

/* False with outer in error. rp_derived_free is needed in any case. */
bool rp_derived_begin(rp_derived *d, const rp_function *f, rp_graph *outer);
rp_tensor rp_derived_parameter(rp_derived *d, const rp_type *type);
/* A parameter for a gradient of a value of this type. */
rp_tensor rp_derived_gradient_parameter(rp_derived *d, const rp_type *type);
/* Appends f's instructions and begins the sweep for the parameters that reach. */
void rp_derived_body(rp_derived *d, const bool *reaches);
/* The gradient of parameter i; without a graph: absent. */
rp_tensor rp_derived_gradient(const rp_derived *d, size_t i);
/* What was returned becomes the function; NULL with outer in error. */
rp_function *rp_derived_finish(rp_derived *d, rp_graph *outer);
void rp_derived_free(rp_derived *d);

#endif
