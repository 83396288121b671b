/* SPDX-License-Identifier: Apache-2.0
 * Gradients of regions (CONTRACT 11.7): regions of f'. Gradients that exist already go in as accumulators, so that sums
 * associate as they would if the frames stood here one after another. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "core/program/regions/region_grads.h"

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
void rp_visit_declare(visit *v, rp_derived *d, size_t from, size_t to, size_t offset)
{
    for (size_t i = from; i < to; i++)
        d->value[i + offset] = is_first(v, i) ? rp_derived_parameter(d, rp_function_param(d->f, i + offset))
                                              : d->value[v->same[i] + offset];
}

/* The operands that go with them. */
void rp_visit_give_operands(visit *v, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (is_first(v, i))
            give(v, v->in[i]);
}

/* The whole sweep, from the seeds and starts that were declared. */
void rp_visit_sweep(visit *v, rp_derived *d)
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

void rp_visit_clear(visit *v)
{
    memset(v->seed, 0, v->n_out * sizeof *v->seed);
    memset(v->start, 0, (v->n_in + 1) * sizeof *v->start);
    memset(v->reaches, 0, (v->n_in + 1) * sizeof *v->reaches);
}

/* What operand i has so far, or the neutral -0. */
rp_tensor rp_visit_so_far(visit *v, size_t i)
{
    const rp_tensor g = v->s->grad[v->number[i]];
    const rp_type type = *type_of(v, i);

    return g.graph ? g : rp_gradient_fill(v->graph, &type, -0.0);
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
    static void (*const derive_for[])(visit *, rp_function **, bool *) = {[RP_CALL] = rp_visit_derive_call,
                                                                          [RP_SCAN] = rp_visit_derive_scan,
                                                                          [RP_MAP] = rp_visit_derive_map,
                                                                          [RP_COND] = rp_visit_derive_cond};
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
        rp_visit_shape_gradients(v);
    if (v->graph->status == RP_OK)
        derive(v, f, got);
    if (v->graph->status == RP_OK && f[n - 1])
        switch (v->r->kind) {
        case RP_CALL:
            rp_visit_emit_call(v, f, got);
            break;
        case RP_SCAN:
            rp_visit_emit_scan(v, f, got);
            break;
        case RP_MAP:
            rp_visit_emit_map(v, f, got);
            break;
        default:
            rp_visit_emit_cond(v, f, got);
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
