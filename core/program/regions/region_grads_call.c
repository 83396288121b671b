/* SPDX-License-Identifier: Apache-2.0
 * Gradients of call and cond: the same with f'. */
#include "base/memory.h"
#include "core/program/regions/region_grads.h"

/* f' of one function of the region: its parameters, the gradients of the outputs, accumulators. What each reaching
 * operand gets is returned in order; got: of which there is something. lead: operands before the arguments. */
static rp_function *derive_call(visit *v, const rp_function *f, size_t lead, bool *got)
{
    rp_derived d;
    rp_function *made = NULL;

    rp_visit_clear(v);
    if (rp_derived_begin(&d, f, v->graph)) {
        rp_visit_declare(v, &d, lead, v->n_in, 0 - lead);
        for (size_t i = 0; i < rp_function_outs(f); i++)
            if (v->grad[i].graph)
                v->seed[i] = rp_derived_gradient_parameter(&d, rp_function_out(f, i));
        for (size_t i = lead; i < v->n_in; i++) {
            v->reaches[i - lead] = v->need[i] && is_first(v, i);
            if (v->reaches[i - lead] && (lead || v->s->grad[v->number[i]].graph))
                v->start[i - lead] = rp_derived_gradient_parameter(&d, rp_function_param(f, i - lead));
        }
        rp_visit_sweep(v, &d);
        for (size_t i = lead; i < v->n_in && d.graph->status == RP_OK; i++) {
            rp_tensor g = v->reaches[i - lead] ? rp_derived_gradient(&d, i - lead) : rp_no_tensor();

            got[i] = g.graph != NULL;
            if (g.graph)
                rp_function_return(d.graph, g);
        }
        if (d.graph->program->n_outputs || d.graph->status != RP_OK)
            made = rp_derived_finish(&d, v->graph);
    }
    rp_derived_free(&d);
    return made;
}

/* The new region's operands after a selector: arguments, gradients, accumulators. */
static void give_call(visit *v, size_t lead)
{
    rp_visit_give_operands(v, lead, v->n_in);
    for (size_t i = 0; i < v->n_out; i++)
        if (v->grad[i].graph)
            give(v, v->grad[i]);
    for (size_t i = lead; i < v->n_in; i++)
        if (v->need[i] && is_first(v, i) && (lead || v->s->grad[v->number[i]].graph))
            give(v, rp_visit_so_far(v, i));
}

/* What was accumulated replaces what was there. */
static void take_results(visit *v, const bool *got, size_t from, size_t to)
{
    size_t n = 0;

    for (size_t i = from; i < to; i++)
        if (got[i])
            v->s->grad[v->number[i]] = v->made[n++];
}

/* f[0] stays NULL where nothing has a gradient. */
void rp_visit_derive_call(visit *v, rp_function **f, bool *got)
{
    f[0] = derive_call(v, v->r->function[0], 0, got);
}

void rp_visit_emit_call(visit *v, rp_function **f, const bool *got)
{
    give_call(v, 0);
    rp_call(v->graph, f[0], v->given, v->n_given, v->made);
    if (v->graph->status == RP_OK)
        take_results(v, got, 0, v->n_in);
}

/* Every reaching operand has an accumulator, so all branches give the same. */
void rp_visit_derive_cond(visit *v, rp_function **f, bool *got)
{
    bool fine = true;

    for (size_t k = 0; k < v->r->n_functions && fine; k++) {
        f[k] = derive_call(v, v->r->function[k], 1, got);
        fine = f[k] != NULL;
    }
}

void rp_visit_emit_cond(visit *v, rp_function **f, const bool *got)
{
    give_call(v, 1);
    rp_cond(v->graph, v->in[0], (const rp_function *const *)f, v->r->n_functions, v->given, v->n_given, v->made);
    if (v->graph->status == RP_OK)
        take_results(v, got, 1, v->n_in);
}
