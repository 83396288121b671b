/* SPDX-License-Identifier: Apache-2.0
 * What the gradients of regions are made of (CONTRACT 11.7): which outputs of a function depend on which parameters,
 * and the function f' that executes f again and sweeps over it. */
#include <string.h>

#include "base/memory.h"
#include "core/program/grads.h"
#include "core/program/sweep.h"

/* ---- reaching ---- */

/* reaches: of each value of the body; those of the parameters are given. */
static bool reach_body(rp_memo *memo, const rp_program *body, bool *reaches)
{
    for (size_t k = 0; k < body->n_instrs; k++) {
        const rp_instr *instr = &body->instr[k];
        bool *in = rp_malloc(instr->n_in + (size_t)instr->n_out), *out, any = false, fine = true;

        if (!in)
            return false;
        out = in + instr->n_in;
        for (size_t i = 0; i < instr->n_in; i++) {
            in[i] = reaches[instr->in[i]];
            any = any || (in[i] && instr->op->vjp);
        }
        if (instr->region)
            fine = rp_region_reach(memo, instr->region, in, instr->n_in, out);
        for (int i = 0; i < instr->n_out; i++)
            reaches[instr->out[i]] = instr->region ? out[i] : any;
        rp_free(in);
        if (!fine)
            return false;
    }
    return true;
}

/* found[i]: whether output i of f depends on a parameter in `param`. */
static bool reach_outputs(rp_memo *memo, const rp_function *f, const bool *param, bool *found)
{
    bool *reaches = rp_calloc(f->body->n_values, sizeof *reaches);
    bool fine = reaches != NULL;

    if (fine)
        memcpy(reaches, param, rp_function_params(f) * sizeof *param);
    fine = fine && reach_body(memo, f->body, reaches);
    for (size_t i = 0; i < rp_function_outs(f) && fine; i++)
        found[i] = reaches[f->body->output[i].value] && RP_D_REAL & 1u << rp_function_out(f, i)->dtype;
    rp_free(reaches);
    return fine;
}

/* out[i] becomes true where output i of f depends on a parameter in `param`; what is true stays. */
static bool reach_function(rp_memo *memo, rp_function *f, const bool *param, bool *out)
{
    const size_t outs = rp_function_outs(f);
    bool *found = rp_calloc(outs, sizeof *found), fine = found != NULL;
    rp_buffer key = {0};

    rp_buffer_text(&key, "reach");
    rp_buffer_append(&key, &f, sizeof(void *));
    rp_buffer_append(&key, param, rp_function_params(f) * sizeof *param);
    fine = fine && rp_buffer_status(&key, NULL) == RP_OK;
    if (fine && !rp_memo_find(memo, &key, found, outs, NULL, 0))
        fine = reach_outputs(memo, f, param, found) && rp_memo_add(memo, &key, &f, 1, found, outs, NULL, 0);
    for (size_t i = 0; i < outs && fine; i++)
        out[i] = out[i] || found[i];
    rp_buffer_free(&key);
    rp_free(found);
    return fine;
}

/* The least set of carried values that holds those of the operands and all that an iteration makes of them. */
static bool reach_loop(rp_memo *memo, const rp_region *r, const bool *in, size_t n_in, bool *out)
{
    rp_function *f = r->function[0];
    const size_t outs = rp_function_outs(f);
    bool *param = rp_calloc(1 + n_in, sizeof *param), *now = rp_calloc(outs, sizeof *now), grown = true,
         fine = param && now;

    for (size_t i = 0; i < n_in && fine; i++)
        param[1 + i] = in[i];
    while (fine && grown) {
        grown = false;
        fine = reach_function(memo, f, param, now);
        for (size_t i = 0; i < r->carried && fine; i++) {
            grown = grown || (now[i] && !param[1 + i]);
            param[1 + i] = param[1 + i] || now[i];
        }
    }
    for (size_t i = 0; i < outs && fine; i++)
        out[r->kind == RP_WHILE ? 1 + i : i] = i < r->carried ? param[1 + i] : now[i];
    for (size_t i = 0; i < r->carried && fine && r->kind == RP_SCAN && r->history; i++)
        out[outs + i] = param[1 + i];
    rp_free(param);
    rp_free(now);
    return fine;
}

bool rp_region_reach(rp_memo *memo, const rp_region *r, const bool *in, size_t n_in, bool *out)
{
    const size_t lead = r->kind == RP_MAP ? 1 : 0, skip = r->kind == RP_COND ? 1 : 0;
    bool *param, fine;

    memset(out, 0, rp_region_values(r) * sizeof *out);
    if (r->kind == RP_SCAN || r->kind == RP_WHILE)
        return reach_loop(memo, r, in, n_in, out);
    param = rp_calloc(lead + n_in, sizeof *param);
    fine = param != NULL;
    if (fine)
        memcpy(param + lead, in + skip, (n_in - skip) * sizeof *in);
    for (size_t k = 0; k < r->n_functions && fine; k++)
        fine = reach_function(memo, r->function[k], param, out);
    rp_free(param);
    return fine;
}

/* ---- f' ---- */

bool rp_derived_begin(rp_derived *d, const rp_function *f, rp_graph *outer)
{
    *d = (rp_derived){.f = f, .graph = rp_graph_new(NULL)};
    d->value = rp_calloc(f->body->n_values, sizeof *d->value);
    if (!d->graph || !d->value)
        rp_graph_fail(outer, RP_ENOMEM, "out of memory");
    else
        d->graph->memo = outer->memo;
    return outer->status == RP_OK;
}

rp_tensor rp_derived_parameter(rp_derived *d, const rp_type *type)
{
    return rp_function_parameter(d->graph, type);
}

rp_tensor rp_derived_gradient_parameter(rp_derived *d, const rp_type *type)
{
    rp_type gradient = *type;

    gradient.dtype = rp_gradient_dtype(type->dtype);
    return rp_function_parameter(d->graph, &gradient);
}

/* f's instruction on the values that stand for its operands. */
static void append(rp_derived *d, const rp_instr *instr)
{
    rp_tensor *x = rp_reallocarray(NULL, instr->n_in + (size_t)instr->n_out, sizeof *x), *out;

    if (!x) {
        rp_graph_fail(d->graph, RP_ENOMEM, "out of memory");
        return;
    }
    out = x + instr->n_in;
    for (size_t i = 0; i < instr->n_in; i++)
        x[i] = d->value[instr->in[i]];
    if (instr->region)
        rp_emit_region(d->graph, instr->region, x, instr->n_in, out);
    else
        rp_emit(d->graph, rp_op_index(instr->op), instr->attr, x, instr->n_in, out);
    for (int i = 0; i < instr->n_out; i++)
        d->value[instr->out[i]] = out[i];
    rp_free(x);
}

void rp_derived_body(rp_derived *d, const bool *reaches)
{
    const size_t params = rp_function_params(d->f);
    rp_tensor *wrt = rp_reallocarray(NULL, params, sizeof *wrt);
    size_t n = 0;

    for (size_t k = 0; k < d->f->body->n_instrs && d->graph->status == RP_OK; k++)
        append(d, &d->f->body->instr[k]);
    if (!wrt)
        rp_graph_fail(d->graph, RP_ENOMEM, "out of memory");
    for (size_t i = 0; i < params && wrt; i++)
        if (reaches[i])
            wrt[n++] = d->value[i];
    (void)rp_sweep_begin(&d->sweep, d->graph, 0, wrt, d->graph->status == RP_OK ? n : 0);
    rp_free(wrt);
}

rp_tensor rp_derived_gradient(const rp_derived *d, size_t i)
{
    return d->graph->status == RP_OK ? d->sweep.grad[d->value[i].value] : rp_no_tensor();
}

rp_function *rp_derived_finish(rp_derived *d, rp_graph *outer)
{
    rp_function *f = NULL;
    rp_error err = {0};
    rp_status status = rp_function_finish(d->graph, &f, &err);

    d->graph = NULL;
    if (status != RP_OK)
        rp_graph_fail(outer, status, "gradients: %s", err.text);
    return f;
}

void rp_derived_free(rp_derived *d)
{
    rp_graph_free(d->graph);
    rp_sweep_end(&d->sweep);
    rp_free(d->value);
}
