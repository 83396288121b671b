/* SPDX-License-Identifier: Apache-2.0
 * Gradients of scan: a scan of f' the other way, over what the least fixpoint says goes round. */
#include "base/memory.h"
#include "core/program/regions/region_grads.h"

/* What the least fixpoint is over: `carried` values whose gradient goes round, and the shared operands that f' adds to.
 */
typedef struct loop {
    bool *carried, *shared; /* by operand */
    size_t outs;            /* of f */
} loop;

/* f' with gradients of the carried and accumulators of the shared going round. */
static void derive_scan(visit *v, const loop *l, rp_derived *d)
{
    const rp_region *r = v->r;
    const rp_function *f = r->function[0];
    const size_t shared = r->carried + r->sliced;

    d->value[0] = rp_derived_parameter(d, rp_function_param(f, 0));
    for (size_t i = 0; i < r->carried; i++)
        if (l->carried[i])
            v->seed[i] = rp_derived_gradient_parameter(d, rp_function_out(f, i));
    for (size_t i = shared; i < v->n_in; i++)
        if (l->shared[i])
            v->start[1 + i] = rp_derived_gradient_parameter(d, rp_function_param(f, 1 + i));
    rp_visit_declare(v, d, 0, shared, 1);
    for (size_t i = r->carried; i < l->outs; i++)
        if (v->grad[i].graph)
            v->seed[i] = rp_derived_gradient_parameter(d, rp_function_out(f, i));
    for (size_t i = 0; i < r->carried && r->history; i++)
        if (v->grad[l->outs + i].graph)
            v->start[1 + i] = rp_derived_gradient_parameter(d, rp_function_param(f, 1 + i));
    rp_visit_declare(v, d, shared, v->n_in, 1);
    rp_visit_sweep(v, d);
}

/* True when the sweep gave more carried or fewer shared gradients than were assumed; these are noted. What is added to
 * the shared is known only when all carried gradients go round. */
static bool grows(visit *v, const rp_derived *d, loop *l)
{
    const size_t shared = v->r->carried + v->r->sliced;
    bool more = false, grown;

    for (size_t i = 0; i < v->r->carried && d->graph->status == RP_OK; i++)
        if (v->reaches[1 + i] && !l->carried[i] && rp_derived_gradient(d, 1 + i).graph)
            more = l->carried[i] = true;
    grown = more;
    for (size_t i = shared; i < v->n_in && !grown && d->graph->status == RP_OK; i++)
        if (l->shared[i] && rp_derived_gradient(d, 1 + i).value == v->start[1 + i].value) {
            l->shared[i] = false; /* nothing was added */
            more = true;
        }
    return more;
}

/* Which parameters reach: the carried as in 11.3's fixpoint. */
static bool reach_parameters(visit *v)
{
    bool *out = rp_calloc(v->n_out, sizeof *out),
         fine = out && rp_region_reach(v->graph->memo, v->r, v->need, v->n_in, out);

    for (size_t i = 0; i < v->n_in && fine; i++)
        v->reaches[1 + i] =
            i < v->r->carried ? out[i] && RP_D_REAL & 1u << type_of(v, i)->dtype : v->need[i] && is_first(v, i);
    rp_free(out);
    if (!fine)
        rp_graph_fail(v->graph, RP_ENOMEM, "out of memory");
    return fine;
}

/* Returns of f': what goes round, then the gradients of the rows; got: of which rows there is one. */
static void return_scan(visit *v, rp_derived *d, const loop *l, bool *got)
{
    const size_t carried = v->r->carried, shared = carried + v->r->sliced;

    for (size_t i = 0; i < carried; i++)
        if (l->carried[i]) {
            rp_tensor g = v->reaches[1 + i] ? rp_derived_gradient(d, 1 + i) : rp_no_tensor();

            rp_function_return(d->graph,
                               g.graph ? g : rp_gradient_fill(d->graph, rp_function_param(d->f, 1 + i), -0.0));
        }
    for (size_t i = shared; i < v->n_in; i++)
        if (l->shared[i])
            rp_function_return(d->graph, rp_derived_gradient(d, 1 + i));
    for (size_t i = carried; i < shared; i++) {
        rp_tensor g = v->reaches[1 + i] ? rp_derived_gradient(d, 1 + i) : rp_no_tensor();

        got[i] = g.graph != NULL;
        if (g.graph)
            rp_function_return(d->graph, g);
    }
}

static rp_function *fix_scan(visit *v, loop *l, bool *got)
{
    rp_function *made = NULL;
    bool again = true;

    while (again && v->graph->status == RP_OK) {
        rp_derived d;

        rp_visit_clear(v);
        if (!reach_parameters(v))
            break;
        again = rp_derived_begin(&d, v->r->function[0], v->graph);
        if (!again) {
            rp_derived_free(&d);
            break;
        }
        derive_scan(v, l, &d);
        again = grows(v, &d, l);
        if (!again) {
            return_scan(v, &d, l, got);
            if (d.graph->program->n_outputs || d.graph->status != RP_OK)
                made = rp_derived_finish(&d, v->graph);
        }
        rp_derived_free(&d);
    }
    return made;
}

/* The carried values as each iteration got them: by the scan itself, or by the same scan once more. */
static void give_history(visit *v, size_t outs)
{
    const size_t carried = v->r->carried;
    rp_region r = *v->r;

    if (carried == 0)
        return;
    if (!r.history) {
        r.history = true;
        rp_emit_region(v->graph, &r, v->in, v->n_in, v->made);
    }
    for (size_t i = 0; i < carried; i++)
        give(v, v->r->history ? v->out[outs + i] : v->made[outs + i]);
}

static void give_scan(visit *v, const loop *l, rp_scan_options *o)
{
    const rp_region *r = v->r;
    const size_t shared = r->carried + r->sliced, history = v->n_given;

    give_history(v, l->outs);
    o->sliced = v->given + history;
    rp_visit_give_operands(v, r->carried, shared);
    for (size_t i = r->carried; i < v->n_out; i++)
        if (v->grad[i].graph)
            give(v, v->grad[i]);
    o->n_sliced = (size_t)(v->given + v->n_given - o->sliced);
    o->shared = v->given + v->n_given;
    rp_visit_give_operands(v, shared, v->n_in);
    o->n_shared = (size_t)(v->given + v->n_given - o->shared);
    o->carried = v->given + v->n_given;
    for (size_t i = 0; i < r->carried; i++)
        if (l->carried[i]) {
            const rp_type type = *type_of(v, i);

            give(v, v->grad[i].graph ? v->grad[i] : rp_gradient_fill(v->graph, &type, -0.0));
        }
    for (size_t i = shared; i < v->n_in; i++)
        if (l->shared[i])
            give(v, rp_visit_so_far(v, i));
    o->n_carried = (size_t)(v->given + v->n_given - o->carried);
}

/* Shared: what was accumulated replaces; then one contribution for each carried operand and each operand of rows. */
static void take_scan(visit *v, const loop *l, const bool *got)
{
    const size_t carried = v->r->carried, shared = carried + v->r->sliced;
    size_t first = 0, n = 0;

    for (size_t i = 0; i < carried; i++)
        first += l->carried[i];
    n = first;
    for (size_t i = shared; i < v->n_in; i++)
        if (l->shared[i])
            v->s->grad[v->number[i]] = v->made[n++];
    first = 0;
    for (size_t i = 0; i < carried; i++)
        if (l->carried[i]) {
            if (v->need[i])
                rp_sweep_contribute(v->s, v->number[i], v->made[first]);
            first++;
        }
    for (size_t i = carried; i < shared; i++)
        if (got[i])
            rp_sweep_contribute(v->s, v->number[i], v->made[n++]);
}

/* What goes round is the second half of got, by operand. */
static loop loop_of(const visit *v, bool *got)
{
    bool *round = got + v->n_in + 1;

    return (loop){.outs = rp_function_outs(v->r->function[0]), .carried = round, .shared = round};
}

void rp_visit_derive_scan(visit *v, rp_function **f, bool *got)
{
    const rp_region *r = v->r;
    loop l = loop_of(v, got);

    for (size_t i = 0; i < r->carried; i++)
        l.carried[i] = v->grad[i].graph != NULL;
    for (size_t i = r->carried + r->sliced; i < v->n_in; i++)
        l.shared[i] = v->need[i] && is_first(v, i);
    f[0] = fix_scan(v, &l, got);
}

void rp_visit_emit_scan(visit *v, rp_function **f, bool *got)
{
    const loop l = loop_of(v, got);
    rp_scan_options o = {.function = f[0], .times = v->r->times, .reverse = !v->r->reverse};

    give_scan(v, &l, &o);
    rp_scan(v->graph, &o, v->made);
    if (v->graph->status == RP_OK)
        take_scan(v, &l, got);
}
