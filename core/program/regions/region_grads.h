/* SPDX-License-Identifier: Apache-2.0
 * A region whose gradient is built (CONTRACT 11.7): what the files of each kind of region share. Private to
 * region_grads*.c. */
#ifndef CORE_PROGRAM_REGIONS_REGION_GRADS_H
#define CORE_PROGRAM_REGIONS_REGION_GRADS_H

#include "core/program/grads.h"
#include "core/program/sweep.h"

/* One region that is visited. Operands of the same kind that are the same value are one parameter of f'. */
typedef struct visit {
    rp_sweep *s;
    rp_graph *graph;
    const rp_region *r;
    size_t n_in, n_out;
    const uint32_t *number; /* of the operands' values */
    rp_tensor *in, *out;
    rp_tensor *grad;         /* of each value, where it reaches */
    bool *need;              /* the operand reaches and can have a gradient */
    size_t *same;            /* the first operand of its kind that is the same value */
    rp_tensor *given, *made; /* operands and values of the new region */
    size_t n_given;
    rp_tensor *seed, *start; /* of f': by output, by parameter */
    bool *reaches;           /* by parameter */
} visit;

static inline void give(visit *v, rp_tensor x)
{
    v->given[v->n_given++] = x;
}

static inline bool is_first(const visit *v, size_t i)
{
    return v->same[i] == i;
}

static inline const rp_type *type_of(const visit *v, size_t operand)
{
    return &v->graph->program->value[v->number[operand]];
}

/* Parameters of f for the operands of one kind; offset: of a parameter from its operand. */
void rp_visit_declare(visit *v, rp_derived *d, size_t from, size_t to, size_t offset);
/* The operands that go with them. */
void rp_visit_give_operands(visit *v, size_t from, size_t to);
/* The whole sweep, from the seeds and starts that were declared. */
void rp_visit_sweep(visit *v, rp_derived *d);
/* No seeds, no starts, nothing reaches: for the next function. */
void rp_visit_clear(visit *v);
/* What operand i has so far, or the neutral -0. */
rp_tensor rp_visit_so_far(visit *v, size_t i);

/* Of each kind: the functions f', NULL where nothing has a gradient, with got: of which operands it gives gradients
 * (and of a scan what goes round); and the region of them. */
void rp_visit_derive_call(visit *v, rp_function **f, bool *got);
void rp_visit_emit_call(visit *v, rp_function **f, const bool *got);
void rp_visit_derive_cond(visit *v, rp_function **f, bool *got);
void rp_visit_emit_cond(visit *v, rp_function **f, const bool *got);
void rp_visit_derive_scan(visit *v, rp_function **f, bool *got);
void rp_visit_emit_scan(visit *v, rp_function **f, bool *got);
void rp_visit_derive_map(visit *v, rp_function **f, bool *got);
void rp_visit_emit_map(visit *v, rp_function **f, const bool *got);
/* Before a map's are derived: gradients of its outputs in the form that frames take. */
void rp_visit_shape_gradients(visit *v);

#endif
