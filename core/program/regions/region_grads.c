/* SPDX-License-Identifier: Apache-2.0
 * Gradients of regions (CONTRACT 11.7): regions of f'. Gradients that exist already go in as accumulators, so that sums
 * associate as they would if the frames stood here one after another. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
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

static void give(visit *v, rp_tensor x)
{
    v->given[v->n_given++] = x;
}

static bool is_first(const visit *v, size_t i)
{
    return v->same[i] == i;
}

static const rp_type *type_of(const visit *v, size_t operand)
{
    return &v->graph->program->value[v->number[operand]];
}

static int by_number(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;

    return x[0] != y[0] ? (x[0] > y[0]) - (x[0] < y[0]) : (x[1] > y[1]) - (x[1] < y[1]);
}

/* Operands [from, to) are of one kind. */
static bool find_same(visit *v, size_t from, size_t to)
{
    uint32_t(*sorted)[2] = rp_reallocarray(NULL, to - from, sizeof *sorted); /* value, operand */

    if (!sorted)
        return false;
    for (size_t i = from; i < to; i++) {
        sorted[i - from][0] = v->number[i];
        sorted[i - from][1] = (uint32_t)i;
    }
    qsort(sorted, to - from, sizeof *sorted, by_number);
    for (size_t i = 1; i < to - from; i++)
        if (sorted[i][0] == sorted[i - 1][0])
            v->same[sorted[i][1]] = v->same[sorted[i - 1][1]];
    rp_free(sorted);
    return true;
}

static bool merge_operands(visit *v)
{
    const size_t carried = v->r->carried, sliced = carried + v->r->sliced;

    for (size_t i = 0; i < v->n_in; i++)
        v->same[i] = i;
    if (v->r->kind == RP_CALL || v->r->kind == RP_COND)
        return find_same(v, v->r->kind == RP_COND, v->n_in);
    return find_same(v, carried, sliced) && find_same(v, sliced, v->n_in);
}

static bool visit_new(visit *v, rp_sweep *s, const rp_instr *instr)
{
    const size_t n_in = instr->n_in, n_out = (size_t)instr->n_out, all = 4 * (n_in + n_out) + 4;
    rp_tensor *tensors = rp_calloc(4 * all, sizeof *tensors);

    *v = (visit){.s = s,
                 .graph = s->graph,
                 .r = instr->region,
                 .n_in = n_in,
                 .n_out = n_out,
                 .number = instr->in,
                 .given = tensors};
    v->same = rp_calloc(n_in + 1, sizeof *v->same);
    v->need = rp_calloc(2 * n_in + 2, sizeof *v->need);
    if (!tensors || !v->same || !v->need || !merge_operands(v)) {
        rp_graph_fail(s->graph, RP_ENOMEM, "out of memory");
        return false;
    }
    v->made = tensors + all;
    v->in = tensors + 2 * all;
    v->out = v->in + n_in;
    v->grad = v->out + n_out;
    v->seed = tensors + 3 * all;
    v->start = v->seed + n_out;
    v->reaches = v->need + n_in;
    for (size_t i = 0; i < n_in; i++) {
        v->in[i] = rp_graph_tensor(s->graph, instr->in[i]);
        v->need[i] = s->reaches[instr->in[i]] && RP_D_REAL & 1u << type_of(v, i)->dtype;
    }
    for (size_t i = 0; i < n_out; i++) {
        v->out[i] = rp_graph_tensor(s->graph, instr->out[i]);
        if (s->reaches[instr->out[i]])
            v->grad[i] = s->grad[instr->out[i]];
    }
    return true;
}

static void visit_free(visit *v)
{
    rp_free(v->given);
    rp_free(v->same);
    rp_free(v->need);
}

/* ---- f' ---- */

/* Parameters of f for the operands of one kind; offset: of a parameter from its operand. */
static void declare(visit *v, rp_derived *d, size_t from, size_t to, size_t offset)
{
    for (size_t i = from; i < to; i++)
        d->value[i + offset] = is_first(v, i) ? rp_derived_parameter(d, rp_function_param(d->f, i + offset))
                                              : d->value[v->same[i] + offset];
}

/* The operands that go with them. */
static void give_operands(visit *v, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (is_first(v, i))
            give(v, v->in[i]);
}

/* The whole sweep, from the seeds and starts that were declared. */
static void sweep_body(visit *v, rp_derived *d)
{
    rp_derived_body(d, v->reaches);
    if (d->graph->status != RP_OK)
        return;
    for (size_t i = 0; i < rp_function_params(d->f); i++)
        if (v->start[i].graph)
            d->sweep.grad[d->value[i].value] = v->start[i];
    for (size_t i = 0; i < rp_function_outs(d->f); i++)
        if (v->seed[i].graph)
            rp_sweep_contribute(&d->sweep, d->value[d->f->body->output[i].value].value, v->seed[i]);
    rp_sweep_run(&d->sweep);
}

static void clear_function(visit *v)
{
    memset(v->seed, 0, v->n_out * sizeof *v->seed);
    memset(v->start, 0, (v->n_in + 1) * sizeof *v->start);
    memset(v->reaches, 0, (v->n_in + 1) * sizeof *v->reaches);
}

/* What operand i has so far, or the neutral -0. */
static rp_tensor so_far(visit *v, size_t i)
{
    const rp_tensor g = v->s->grad[v->number[i]];
    const rp_type type = *type_of(v, i);

    return g.graph ? g : rp_gradient_fill(v->graph, &type, -0.0);
}

/* ---- call and cond ---- */

/* f' of one function of the region: its parameters, the gradients of the outputs, accumulators. What each reaching
 * operand gets is returned in order; got: of which there is something. lead: operands before the arguments. */
static rp_function *derive_call(visit *v, const rp_function *f, size_t lead, bool *got)
{
    rp_derived d;
    rp_function *made = NULL;

    clear_function(v);
    if (rp_derived_begin(&d, f, v->graph)) {
        declare(v, &d, lead, v->n_in, 0 - lead);
        for (size_t i = 0; i < rp_function_outs(f); i++)
            if (v->grad[i].graph)
                v->seed[i] = rp_derived_gradient_parameter(&d, rp_function_out(f, i));
        for (size_t i = lead; i < v->n_in; i++) {
            v->reaches[i - lead] = v->need[i] && is_first(v, i);
            if (v->reaches[i - lead] && (lead || v->s->grad[v->number[i]].graph))
                v->start[i - lead] = rp_derived_gradient_parameter(&d, rp_function_param(f, i - lead));
        }
        sweep_body(v, &d);
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
    give_operands(v, lead, v->n_in);
    for (size_t i = 0; i < v->n_out; i++)
        if (v->grad[i].graph)
            give(v, v->grad[i]);
    for (size_t i = lead; i < v->n_in; i++)
        if (v->need[i] && is_first(v, i) && (lead || v->s->grad[v->number[i]].graph))
            give(v, so_far(v, i));
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
static void derive_for_call(visit *v, rp_function **f, bool *got)
{
    f[0] = derive_call(v, v->r->function[0], 0, got);
}

static void emit_call(visit *v, rp_function **f, const bool *got)
{
    give_call(v, 0);
    rp_call(v->graph, f[0], v->given, v->n_given, v->made);
    if (v->graph->status == RP_OK)
        take_results(v, got, 0, v->n_in);
}

/* Every reaching operand has an accumulator, so all branches give the same. */
static void derive_for_cond(visit *v, rp_function **f, bool *got)
{
    bool fine = true;

    for (size_t k = 0; k < v->r->n_functions && fine; k++) {
        f[k] = derive_call(v, v->r->function[k], 1, got);
        fine = f[k] != NULL;
    }
}

static void emit_cond(visit *v, rp_function **f, const bool *got)
{
    give_call(v, 1);
    rp_cond(v->graph, v->in[0], (const rp_function *const *)f, v->r->n_functions, v->given, v->n_given, v->made);
    if (v->graph->status == RP_OK)
        take_results(v, got, 1, v->n_in);
}

/* ---- scan ---- */

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
    declare(v, d, 0, shared, 1);
    for (size_t i = r->carried; i < l->outs; i++)
        if (v->grad[i].graph)
            v->seed[i] = rp_derived_gradient_parameter(d, rp_function_out(f, i));
    for (size_t i = 0; i < r->carried && r->history; i++)
        if (v->grad[l->outs + i].graph)
            v->start[1 + i] = rp_derived_gradient_parameter(d, rp_function_param(f, 1 + i));
    declare(v, d, shared, v->n_in, 1);
    sweep_body(v, d);
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

        clear_function(v);
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
    give_operands(v, r->carried, shared);
    for (size_t i = r->carried; i < v->n_out; i++)
        if (v->grad[i].graph)
            give(v, v->grad[i]);
    o->n_sliced = (size_t)(v->given + v->n_given - o->sliced);
    o->shared = v->given + v->n_given;
    give_operands(v, shared, v->n_in);
    o->n_shared = (size_t)(v->given + v->n_given - o->shared);
    o->carried = v->given + v->n_given;
    for (size_t i = 0; i < r->carried; i++)
        if (l->carried[i]) {
            const rp_type type = *type_of(v, i);

            give(v, v->grad[i].graph ? v->grad[i] : rp_gradient_fill(v->graph, &type, -0.0));
        }
    for (size_t i = shared; i < v->n_in; i++)
        if (l->shared[i])
            give(v, so_far(v, i));
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

static void derive_for_scan(visit *v, rp_function **f, bool *got)
{
    const rp_region *r = v->r;
    loop l = loop_of(v, got);

    for (size_t i = 0; i < r->carried; i++)
        l.carried[i] = v->grad[i].graph != NULL;
    for (size_t i = r->carried + r->sliced; i < v->n_in; i++)
        l.shared[i] = v->need[i] && is_first(v, i);
    f[0] = fix_scan(v, &l, got);
}

static void emit_scan(visit *v, rp_function **f, bool *got)
{
    const loop l = loop_of(v, got);
    rp_scan_options o = {.function = f[0], .times = v->r->times, .reverse = !v->r->reverse};

    give_scan(v, &l, &o);
    rp_scan(v->graph, &o, v->made);
    if (v->graph->status == RP_OK)
        take_scan(v, &l, got);
}

/* ---- map ---- */

/* The gradient of a stack at this shard: row index - first, after empty shards got rows too. */
static rp_tensor shard_row(rp_derived *d, rp_tensor g, uint64_t first, const rp_type *type)
{
    rp_tensor at = d->value[0], row;

    if (first)
        at = rp_sub(at, rp_fill(d->graph, RP_I64, 0, NULL, (double)first));
    at = rp_reshape(at, 1, (size_t[]){1});
    row = rp_gather(g, at, 0);
    return rp_reshape(row, type->rank, type->shape);
}

/* A row of zeros for each empty shard, so that rows can be found by the shard's number. */
static rp_tensor with_empty_rows(visit *v, rp_tensor g)
{
    const rp_region *r = v->r;
    const size_t shards = r->n_cuts - 1;
    const rp_type type = *rp_tensor_type(g);
    rp_tensor *run = rp_reallocarray(NULL, shards, sizeof *run), whole = g;
    size_t n = 0, taken = 0;

    if (!run)
        rp_graph_fail(v->graph, RP_ENOMEM, "out of memory");
    if (type.shape[0] == shards || !run) {
        rp_free(run);
        return g;
    }
    for (size_t s = 0, end; s < shards; s = end) {
        const bool empty = rp_shard_rows(r, s) == 0;
        size_t begin[RP_MAX_RANK] = {taken}, stop[RP_MAX_RANK];

        end = s + 1;
        while (end < shards && (rp_shard_rows(r, end) == 0) == empty)
            end++;
        memcpy(stop, type.shape, sizeof stop);
        stop[0] = empty ? end - s : taken + end - s;
        run[n++] = empty ? rp_fill(v->graph, type.dtype, type.rank, stop, 0) : rp_slice(g, begin, stop);
        taken += empty ? 0 : end - s;
    }
    whole = rp_concat(run, n, 0);
    rp_free(run);
    return whole;
}

/* Parameters of f' for the gradients of the outputs of one mode. */
static void declare_seeds(visit *v, rp_derived *d, rp_combine mode)
{
    for (size_t i = 0; i < v->n_out; i++) {
        rp_type type;

        if (!v->grad[i].graph || v->r->combine[i] != mode)
            continue;
        type = mode == RP_COMBINE_STACK ? *rp_tensor_type(v->made[i]) : *rp_function_out(d->f, i);
        v->seed[i] = rp_derived_gradient_parameter(d, &type);
    }
}

/* f' for one length of shards, before it returns anything. made: the gradients of stacks as they are given. */
static void derive_map(visit *v, rp_derived *d)
{
    const size_t sliced = v->r->sliced;

    clear_function(v);
    for (size_t i = 0; i < v->n_in; i++)
        v->reaches[1 + i] = v->need[i] && is_first(v, i);
    d->value[0] = rp_derived_parameter(d, rp_function_param(d->f, 0));
    declare(v, d, 0, sliced, 1);
    declare_seeds(v, d, RP_COMBINE_CONCAT);
    declare(v, d, sliced, v->n_in, 1);
    declare_seeds(v, d, RP_COMBINE_TREE);
    declare_seeds(v, d, RP_COMBINE_STACK);
    rp_derived_body(d, v->reaches);
    for (size_t i = 0; i < v->n_out && d->graph->status == RP_OK; i++) {
        rp_tensor g = v->seed[i];

        if (g.graph && v->r->combine[i] == RP_COMBINE_STACK)
            g = shard_row(d, g, v->r->first, rp_function_out(d->f, i));
        if (g.graph)
            rp_sweep_contribute(&d->sweep, d->value[d->f->body->output[i].value].value, g);
    }
    if (d->graph->status == RP_OK)
        rp_sweep_run(&d->sweep);
}

static void give_map(visit *v, rp_map_options *o)
{
    static const rp_combine order[] = {RP_COMBINE_TREE, RP_COMBINE_STACK};
    const rp_region *r = v->r;

    o->sliced = v->given;
    give_operands(v, 0, r->sliced);
    for (size_t i = 0; i < v->n_out; i++)
        if (v->grad[i].graph && r->combine[i] == RP_COMBINE_CONCAT)
            give(v, v->made[i]);
    o->n_sliced = v->n_given;
    o->shared = v->given + v->n_given;
    give_operands(v, r->sliced, v->n_in);
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < v->n_out; i++)
            if (v->grad[i].graph && r->combine[i] == (unsigned char)order[k])
                give(v, v->made[i]);
    o->n_shared = v->n_given - o->n_sliced;
}

/* before and after rows of +0 */
static rp_tensor padded(rp_tensor x, uint64_t before, uint64_t after)
{
    size_t low[RP_MAX_RANK] = {before}, high[RP_MAX_RANK] = {after};

    return before || after ? rp_pad(x, low, high) : x;
}

/* Gradients as the new map takes them: rows of a concat lie where the cuts say. */
static void shape_gradients(visit *v)
{
    for (size_t i = 0; i < v->n_out && v->graph->status == RP_OK; i++) {
        if (!v->grad[i].graph)
            continue;
        v->made[i] = v->r->combine[i] == RP_COMBINE_CONCAT  ? padded(v->grad[i], v->r->cuts[0], 0)
                     : v->r->combine[i] == RP_COMBINE_STACK ? with_empty_rows(v, v->grad[i])
                                                            : v->grad[i];
    }
}

/* Every function returns what any of them has something for: the others the neutral -0. */
static bool return_map(visit *v, rp_derived *d, size_t n, bool *got, rp_function **f)
{
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < v->n_in && d[k].graph->status == RP_OK; i++)
            got[i] = got[i] || (v->need[i] && is_first(v, i) && rp_derived_gradient(&d[k], 1 + i).graph);
    for (size_t k = 0; k < n; k++) {
        for (size_t i = 0; i < v->n_in && d[k].graph->status == RP_OK; i++)
            if (got[i]) {
                rp_tensor g = rp_derived_gradient(&d[k], 1 + i);

                rp_function_return(d[k].graph,
                                   g.graph ? g : rp_gradient_fill(d[k].graph, rp_function_param(d[k].f, 1 + i), -0.0));
            }
        if (d[k].graph->status == RP_OK && d[k].graph->program->n_outputs == 0)
            return false;
        f[k] = rp_derived_finish(&d[k], v->graph);
        if (!f[k])
            return false;
    }
    return true;
}

static void emit_map(visit *v, rp_function **f, const bool *got)
{
    const rp_region *r = v->r;
    rp_map_options o = {.function = (const rp_function *const *)f,
                        .n_function = r->n_functions,
                        .cuts = r->cuts,
                        .n_cuts = r->n_cuts,
                        .first = r->first};
    rp_combine *combine = rp_calloc(v->n_in, sizeof *combine);
    size_t n = 0;

    if (!combine) {
        rp_graph_fail(v->graph, RP_ENOMEM, "out of memory");
        return;
    }
    for (size_t i = 0; i < v->n_in; i++)
        if (got[i])
            combine[o.n_combine++] = i < r->sliced ? RP_COMBINE_CONCAT : RP_COMBINE_TREE;
    o.combine = combine;
    give_map(v, &o);
    rp_map(v->graph, &o, v->made);
    for (size_t i = 0; i < v->n_in && v->graph->status == RP_OK; i++)
        if (got[i]) {
            rp_tensor g = v->made[n++];

            if (i < r->sliced)
                g = padded(g, r->cuts[0], type_of(v, i)->shape[0] - r->cuts[r->n_cuts - 1]);
            rp_sweep_contribute(v->s, v->number[i], g);
        }
    rp_free(combine);
}

/* The functions stay NULL where nothing has a gradient. */
static void derive_for_map(visit *v, rp_function **f, bool *got)
{
    const size_t n = v->r->n_functions;
    rp_derived *d = rp_calloc(n, sizeof *d);
    size_t begun = 0;

    if (!d)
        rp_graph_fail(v->graph, RP_ENOMEM, "out of memory");
    for (; v->graph->status == RP_OK && begun < n; begun++)
        if (rp_derived_begin(&d[begun], v->r->function[begun], v->graph))
            derive_map(v, &d[begun]);
    if (v->graph->status == RP_OK)
        (void)return_map(v, d, n, got, f);
    for (size_t k = 0; k < begun; k++)
        rp_derived_free(&d[k]);
    rp_free(d);
}

/* ---- all kinds ---- */

/* All that f' depends on, so that regions which agree in it have the same one. */
static void put_key(const visit *v, rp_buffer *key)
{
    const rp_region *r = v->r;

    rp_buffer_u8(key, (uint8_t)r->kind);
    rp_buffer_u8(key, r->history);
    rp_buffer_u64(key, r->carried);
    rp_buffer_u64(key, r->sliced);
    rp_buffer_u64(key, r->first);
    rp_buffer_u64(key, r->n_cuts);
    rp_buffer_u64(key, r->n_functions);
    rp_buffer_append(key, r->function, r->n_functions * sizeof *r->function);
    rp_buffer_append(key, r->combine, r->n_combine);
    for (size_t i = 0; i < v->n_in; i++) {
        rp_buffer_u32(key, (uint32_t)v->same[i]);
        rp_buffer_u8(key, v->need[i]);
        rp_buffer_u8(key, v->s->grad[v->number[i]].graph != NULL);
    }
    for (size_t i = 0; i < v->n_out; i++)
        rp_buffer_u8(key, v->grad[i].graph != NULL);
}

/* f': found, or derived and kept. */
static void derive(visit *v, rp_function **f, bool *got)
{
    static void (*const derive_for[])(visit *, rp_function **, bool *) = {[RP_CALL] = derive_for_call,
                                                                          [RP_SCAN] = derive_for_scan,
                                                                          [RP_MAP] = derive_for_map,
                                                                          [RP_COND] = derive_for_cond};
    const size_t n = v->r->n_functions, bits = 2 * (v->n_in + 1);
    rp_buffer key = {0};
    bool fine;

    put_key(v, &key);
    fine = rp_buffer_status(&key, NULL) == RP_OK;
    if (fine && !rp_memo_find(v->graph->memo, &key, got, bits, f, n)) {
        derive_for[v->r->kind](v, f, got);
        fine = v->graph->status != RP_OK || rp_memo_add(v->graph->memo, &key, v->r->function, n, got, bits, f, n);
    }
    if (!fine)
        rp_graph_fail(v->graph, RP_ENOMEM, "out of memory");
    rp_buffer_free(&key);
}

/* The region of f'; got: of which operands it gives gradients, and of a scan what goes round. */
static void visit_region(visit *v, bool *got)
{
    const size_t n = v->r->n_functions;
    rp_function **f = rp_calloc(n, sizeof *f);

    if (!f)
        rp_graph_fail(v->graph, RP_ENOMEM, "out of memory");
    if (f && v->r->kind == RP_MAP)
        shape_gradients(v);
    if (v->graph->status == RP_OK)
        derive(v, f, got);
    if (v->graph->status == RP_OK && f[n - 1])
        switch (v->r->kind) {
        case RP_CALL:
            emit_call(v, f, got);
            break;
        case RP_SCAN:
            emit_scan(v, f, got);
            break;
        case RP_MAP:
            emit_map(v, f, got);
            break;
        default:
            emit_cond(v, f, got);
        }
    for (size_t k = 0; f && k < n; k++)
        rp_function_free(f[k]);
    rp_free(f);
}

void rp_region_visit(rp_sweep *s, size_t k)
{
    const rp_instr instr = s->graph->program->instr[k];
    bool *got = rp_calloc(2 * (instr.n_in + 1), sizeof *got), any = false, wanted = false;
    visit v;

    if (!got) {
        rp_graph_fail(s->graph, RP_ENOMEM, "out of memory");
        return;
    }
    if (visit_new(&v, s, &instr)) {
        for (size_t i = 0; i < v.n_out; i++)
            any = any || v.grad[i].graph;
        for (size_t i = 0; i < v.n_in; i++)
            wanted = wanted || v.need[i];
        if (any && wanted && v.r->kind == RP_WHILE)
            rp_graph_fail(s->graph, RP_EUNSUPPORTED,
                          "gradients: instruction %zu, while: the number of bodies is not known before it runs, so it "
                          "has no gradient: write a bounded loop as a scan of a cond",
                          k);
        else if (any && wanted)
            visit_region(&v, got);
    }
    visit_free(&v);
    rp_free(got);
}
