/* SPDX-License-Identifier: Apache-2.0
 * Gradients of map: a map of f' of each shard, whose gradients are combined by the contract's tree. */
#include <string.h>

#include "base/memory.h"
#include "core/program/regions/region_grads.h"

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

    rp_visit_clear(v);
    for (size_t i = 0; i < v->n_in; i++)
        v->reaches[1 + i] = v->need[i] && is_first(v, i);
    d->value[0] = rp_derived_parameter(d, rp_function_param(d->f, 0));
    rp_visit_declare(v, d, 0, sliced, 1);
    declare_seeds(v, d, RP_COMBINE_CONCAT);
    rp_visit_declare(v, d, sliced, v->n_in, 1);
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
    rp_visit_give_operands(v, 0, r->sliced);
    for (size_t i = 0; i < v->n_out; i++)
        if (v->grad[i].graph && r->combine[i] == RP_COMBINE_CONCAT)
            give(v, v->made[i]);
    o->n_sliced = v->n_given;
    o->shared = v->given + v->n_given;
    rp_visit_give_operands(v, r->sliced, v->n_in);
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
void rp_visit_shape_gradients(visit *v)
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

void rp_visit_emit_map(visit *v, rp_function **f, const bool *got)
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
void rp_visit_derive_map(visit *v, rp_function **f, bool *got)
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
