/* SPDX-License-Identifier: Apache-2.0
 * Views: strides decide whether a reshape needs a copy, and strides do not depend on where memory is, so a dry run on
 * offsets from a stand-in base tells views from copies before there is memory. A reshape of what does not lie in order
 * is a view where strides can say it and whoever reads it takes matrices at any: heads of a part of a joint projection
 * go to attention as they lie, and parts of complex numbers to their transform. */
#include <string.h>

#include "base/memory.h"
#include "core/run/plan_private.h"

/* The axes of more than one element. */
static rp_view without_ones(const rp_view *view)
{
    rp_view y = {.data = view->data, .dtype = view->dtype};

    for (int d = 0; d < view->rank; d++)
        if (view->shape[d] != 1) {
            y.shape[y.rank] = view->shape[d];
            y.stride[y.rank++] = view->stride[d];
        }
    return y;
}

/* The ends of the axes from `in` and `out` on that have as many elements, the fewest of each. */
static void next_part(const rp_view *from, const rp_view *to, int in, int out, int *in_end, int *out_end)
{
    size_t of = from->shape[in], into = to->shape[out];

    *in_end = in + 1;
    *out_end = out + 1;
    while (of != into)
        if (into < of)
            into *= to->shape[(*out_end)++];
        else
            of *= from->shape[(*in_end)++];
}

/* Axes are joined where each steps over all of the next, and cut as one likes. */
static bool reshaped(const rp_view *view, const rp_type *type, rp_view *to)
{
    const rp_view from = without_ones(view);

    *to = rp_view_of(type, view->data);
    if (rp_type_count(type) == 0)
        return false;
    for (int in = 0, out = 0, in_end, out_end; in < from.rank && out < to->rank; in = in_end, out = out_end) {
        next_part(&from, to, in, out, &in_end, &out_end);
        for (int d = in; d + 1 < in_end; d++)
            if (from.stride[d] != from.stride[d + 1] * (ptrdiff_t)from.shape[d + 1])
                return false;
        to->stride[out_end - 1] = from.stride[in_end - 1];
        for (int d = out_end - 1; d > out; d--)
            to->stride[d - 1] = to->stride[d] * (ptrdiff_t)to->shape[d];
    }
    return true;
}

bool rp_plan_alias(const rp_instr *instr, const rp_view *in, const rp_type *type, rp_view *out)
{
    return instr->op->alias(instr->attr, in, type, out) ||
           (instr->op->role == RP_PLAYS_RESHAPE && reshaped(in, type, out));
}

static bool takes_matrices(const rp_instr *instr)
{
    return instr->op->role == RP_PLAYS_PRODUCT || instr->op->work == RP_WORK_ATTENTION ||
           instr->op->work == RP_WORK_ATTENTION_GRADIENT || instr->op->work == RP_WORK_TRANSFORM;
}

/* Which values only such instructions read, or views for them do. */
static void find_matrices(const rp_program *p, bool *matrix)
{
    memset(matrix, true, p->n_values * sizeof *matrix);
    for (size_t o = 0; o < p->n_outputs; o++)
        matrix[p->output[o].value] = false;
    for (size_t k = p->n_instrs; k-- > 0;) {
        const rp_instr *instr = &p->instr[k];

        for (size_t i = 0; i < instr->n_in; i++)
            if (!takes_matrices(instr) && !(instr->op->alias && matrix[instr->out[0]]))
                matrix[instr->in[i]] = false;
    }
}

static void view_of(rp_plan *plan, const rp_instr *instr, char *base, const bool *matrix)
{
    const rp_program *p = plan->program;
    const uint32_t from = instr->in[0], to = instr->out[0];
    rp_view in = plan->view[from], out;

    in.data = base;
    if (instr->op->flags & RP_OP_PART) {
        in.data = NULL; /* strides alone: where it begins is irrelevant here, and might leave the stand-in */
        (void)instr->op->alias(instr->attr, &in, &p->value[to], &out);
        out.data = base;
    } else if (!(matrix[to] ? rp_plan_alias(instr, &in, &p->value[to], &out)
                            : instr->op->alias(instr->attr, &in, &p->value[to], &out))) {
        return;
    }
    plan->view[to] = out;
    plan->root[to] = plan->root[from];
}

rp_status rp_plan_views(rp_plan *plan, rp_error *err)
{
    const rp_program *p = plan->program;
    /* never dereferenced: it only has to be a pointer that offsets can be added to */
    char *base = (char *)plan->view;
    bool *matrix = rp_calloc(p->n_values, sizeof *matrix);

    if (!matrix && p->n_values)
        return rp_no_memory(err);
    if (plan->device && rp_device_shares_memory(plan->device) && !rp_device_pinned(plan->device))
        find_matrices(p, matrix);
    for (size_t v = 0; v < p->n_values; v++) {
        plan->same[v] = plan->root[v] = (uint32_t)v;
        plan->view[v] = rp_view_of(&p->value[v], base);
        plan->kind[v] = VALUE_MADE;
    }
    for (size_t i = 0; i < p->n_inputs; i++)
        plan->kind[p->input[i].value] = (unsigned char)p->input[i].kind;
    for (size_t k = 0; k < p->n_instrs; k++)
        if (p->instr[k].op->alias)
            view_of(plan, &p->instr[k], base, matrix);
    rp_free(matrix);
    return RP_OK;
}
