/* SPDX-License-Identifier: Apache-2.0
 * Attention that a program writes in products and softmax: scores q t, a scale, an added mask, softmax, the product
 * with v, and what gradients make of it. In the plan its results come from the operations that never hold the square of
 * scores (CONTRACT 7.13 says that their bits are these); what only the square needed is dead then. Programs, their
 * texts and the numbers of their instructions stay as they are. */
#include <string.h>

#include "base/memory.h"
#include "core/run/plan_private.h"

enum { NONE = UINT32_MAX };
enum {
    SCORES_LEAST = 1 << 18, /* elements that leave the second cache: from there on not having them pays */
    WIDEST = 512 /* a head's columns; of wider ones the products are what takes the time, and blocks win nothing */
};

/* One attention. Instructions, then values of the program. */
typedef struct found {
    uint32_t y, dq, dt, dv; /* products whose results it makes; the last three may be NONE */
    uint32_t q, t, v, mask, g;
    double scale;
    uint32_t k, grad[3]; /* in the new program, once they are there: t turned, the gradients */
} found;

/* The instruction that reads a value in some way, of each value; NONE, or the last of several. */
typedef struct search {
    const rp_program *p;
    uint32_t *readers; /* how many there are, outputs too */
    uint32_t *left, *right, *turned, *scaled, *graded;
    uint32_t *of; /* of each instruction whose result an attention makes: which */
    found *found;
    size_t n;
} search;

static const rp_instr *made_by(const search *s, uint32_t value, rp_op_role role)
{
    const uint32_t k = s->p->maker[value];

    return k != RP_NO_INSTR && s->p->instr[k].op->role == role ? &s->p->instr[k] : NULL;
}

static bool is_turned(const search *s, uint32_t value, uint32_t of)
{
    const rp_instr *instr = made_by(s, value, RP_PLAYS_TRANSPOSE);

    return instr && instr->in[0] == of && rp_instr_exchanges(instr);
}

static bool constant_of(const search *s, uint32_t value, double *c)
{
    const rp_instr *instr = made_by(s, value, RP_PLAYS_FILL);

    if (!instr || s->p->value[value].rank != 0)
        return false;
    *c = RP_AT(instr->attr, fill, value).r;
    return true;
}

static void note(const rp_program *p, search *s, uint32_t k)
{
    const rp_instr *instr = &p->instr[k];

    for (size_t i = 0; i < instr->n_in; i++)
        s->readers[instr->in[i]]++;
    if (instr->op->role == RP_PLAYS_PRODUCT) {
        s->left[instr->in[0]] = k;
        s->right[instr->in[1]] = k;
    } else if (rp_instr_exchanges(instr))
        s->turned[instr->in[0]] = k;
    else if (instr->op->role == RP_PLAYS_MUL)
        s->scaled[instr->in[0]] = k;
    else if (instr->op->role == RP_PLAYS_SOFTMAX_GRAD)
        s->graded[instr->in[1]] = k;
}

/* ---- what is attention ---- */

/* Matrices of one type with the same axes in front. */
static bool beside(const rp_type *a, const rp_type *b)
{
    if (a->rank < 2 || a->rank != b->rank || a->dtype != b->dtype)
        return false;
    return memcmp(a->shape, b->shape, (size_t)(a->rank - 2) * sizeof *a->shape) == 0;
}

static size_t columns_of(const search *s, uint32_t value)
{
    const rp_type *type = &s->p->value[value];

    return type->shape[type->rank - 1];
}

/* z is q t, or its product with a constant, and nobody else reads them; all of z's type, which a product of bf16 is
 * not. */
static bool find_scores(const search *s, uint32_t z, found *f)
{
    const rp_instr *instr = made_by(s, z, RP_PLAYS_MUL);

    f->scale = 1;
    if (s->readers[z] != 1)
        return false;
    if (instr) {
        if (!constant_of(s, instr->in[1], &f->scale) || f->scale == 1 || s->readers[instr->in[0]] != 1)
            return false;
        z = instr->in[0];
    }
    instr = made_by(s, z, RP_PLAYS_PRODUCT);
    if (!instr || s->p->value[instr->in[0]].dtype != s->p->value[z].dtype ||
        !beside(&s->p->value[instr->in[0]], &s->p->value[instr->in[1]]) || columns_of(s, instr->in[0]) > WIDEST)
        return false;
    f->q = instr->in[0];
    f->t = instr->in[1];
    return true;
}

static bool find_weights(const search *s, const rp_instr *softmax, found *f)
{
    const uint32_t z = softmax->in[0];
    const rp_instr *add = made_by(s, z, RP_PLAYS_ADD);

    f->mask = NONE;
    if (!add)
        return find_scores(s, z, f);
    for (int i = 0; i < 2 && s->readers[z] == 1; i++)
        if (rp_type_equal(&s->p->value[add->in[i]], &s->p->value[z]) && find_scores(s, add->in[i], f)) {
            f->mask = add->in[1 - i];
            return true;
        }
    return false;
}

/* The product that has `value` on one side. */
static const rp_instr *product(const search *s, const uint32_t *side, uint32_t value, uint32_t *at)
{
    *at = side[value];
    return *at == NONE ? NULL : &s->p->instr[*at];
}

static bool find_output(const search *s, uint32_t p, found *f)
{
    const rp_instr *y = product(s, s->left, p, &f->y);

    if (!y || !beside(&s->p->value[p], &s->p->value[y->in[1]]) || columns_of(s, y->in[1]) > WIDEST)
        return false;
    f->v = y->in[1];
    return true;
}

/* From the gradient of the scores on: nobody but the gradients of q and t reads it. */
static bool find_operand_grads(const search *s, uint32_t ds, found *f)
{
    const rp_instr *scaled = f->scale == 1 || s->scaled[ds] == NONE ? NULL : &s->p->instr[s->scaled[ds]], *dq, *dt;
    double scale;

    if (f->scale != 1) {
        if (!scaled || s->readers[ds] != 1 || !constant_of(s, scaled->in[1], &scale) ||
            memcmp(&scale, &f->scale, sizeof scale) != 0)
            return false;
        ds = scaled->out[0];
    }
    dq = product(s, s->left, ds, &f->dq);
    dt = product(s, s->right, ds, &f->dt);
    if ((dq && !is_turned(s, dq->in[1], f->t)) || (dt && !is_turned(s, dt->in[0], f->q)))
        return false;
    return s->readers[ds] > 0 && s->readers[ds] == (dq != NULL) + (uint32_t)(dt != NULL);
}

/* All that reads the weights p is the output and, if it is there, the gradient. */
static bool find_grads(const search *s, uint32_t p, found *f)
{
    const rp_instr *ds = s->graded[p] == NONE ? NULL : &s->p->instr[s->graded[p]];
    const rp_instr *turned = s->turned[p] == NONE ? NULL : &s->p->instr[s->turned[p]], *dp, *dv;

    f->dq = f->dt = f->dv = NONE;
    if (!ds)
        return s->readers[p] == 1;
    dp = made_by(s, ds->in[0], RP_PLAYS_PRODUCT);
    if (!dp || s->readers[ds->in[0]] != 1 || !is_turned(s, dp->in[1], f->v) || !find_operand_grads(s, ds->out[0], f))
        return false;
    f->g = dp->in[0];
    if (!rp_type_equal(&s->p->value[f->g], &s->p->value[s->p->instr[f->y].out[0]]))
        return false;
    if (!turned)
        return s->readers[p] == 2;
    dv = product(s, s->left, turned->out[0], &f->dv);
    /* dv may stand before v is there: of p and g alone */
    return dv && f->v < dv->out[0] && s->readers[turned->out[0]] == 1 && dv->in[1] == f->g && s->readers[p] == 3;
}

static void find_at(search *s, const rp_instr *softmax)
{
    const uint32_t p = softmax->out[0];
    found f = {.k = NONE, .grad = {NONE, NONE, NONE}};
    uint32_t made[4];

    if (rp_type_count(&s->p->value[p]) < SCORES_LEAST || !find_weights(s, softmax, &f) || !find_output(s, p, &f) ||
        !find_grads(s, p, &f))
        return;
    memcpy(made, (uint32_t[]){f.y, f.dq, f.dt, f.dv}, sizeof made);
    for (int i = 0; i < 4; i++)
        if (made[i] != NONE && s->of[made[i]] != NONE)
            return; /* of another: products of products */
    for (int i = 0; i < 4; i++)
        if (made[i] != NONE)
            s->of[made[i]] = (uint32_t)s->n;
    s->found[s->n++] = f;
}

/* ---- the new program ---- */

typedef struct rewriting {
    const search *s;
    rp_program *to;
    uint32_t *map, *number; /* of values of the old program; of instructions of the new one */
    size_t cap;
} rewriting;

/* Appends an instruction; it stands for instruction k of the old program. */
static rp_status append(rewriting *w, rp_op_id op, const rp_attr *attr, const uint32_t *in, size_t n_in, uint32_t *out,
                        uint32_t number, rp_error *err)
{
    w->number[w->to->n_instrs] = number;
    return rp_program_add_instr(w->to, rp_op_get(op), attr, in, n_in, out, err);
}

static rp_status turn(rewriting *w, uint32_t value, uint32_t *out, uint32_t number, rp_error *err)
{
    const int rank = w->to->value[value].rank;
    rp_attr attr[RP_MAX_ATTR] = {{0}}, *p = &RP_AT(attr, transpose, permutation);

    p->n = rank;
    for (int i = 0; i < rank; i++)
        p->list[i] = i;
    p->list[rank - 2] = rank - 1;
    p->list[rank - 1] = rank - 2;
    return append(w, RP_OP_transpose, attr, &value, 1, out, number, err);
}

/* The instruction in place of k, whose result is one of f's. */
static rp_status put(rewriting *w, found *f, uint32_t k, uint32_t number, rp_error *err)
{
    const uint32_t result = w->s->p->instr[k].out[0];
    const rp_attr attr[RP_MAX_ATTR] = {{.r = f->scale}};
    uint32_t in[5], n = 0;
    rp_status status = f->k == NONE ? turn(w, w->map[f->t], &f->k, number, err) : RP_OK;

    if (k != f->y)
        in[n++] = w->map[f->g];
    in[n++] = w->map[f->q];
    in[n++] = f->k;
    in[n++] = w->map[f->v];
    if (f->mask != NONE)
        in[n++] = w->map[f->mask];
    if (status != RP_OK || k == f->y)
        return status == RP_OK ? append(w, RP_OP_attention, attr, in, n, &w->map[result], number, err) : status;
    if (f->grad[0] == NONE)
        status = append(w, RP_OP_attention_grad, attr, in, n, f->grad, number, err);
    if (status == RP_OK && k == f->dt)
        return turn(w, f->grad[1], &w->map[result], number, err);
    w->map[result] = k == f->dq ? f->grad[0] : f->grad[2];
    return status;
}

static rp_status copy(rewriting *w, const rp_instr *instr, uint32_t *in, uint32_t number, rp_error *err)
{
    uint32_t out[RP_MAX_OUT];
    rp_status status;

    for (size_t i = 0; i < instr->n_in; i++)
        in[i] = w->map[instr->in[i]];
    w->number[w->to->n_instrs] = number;
    status = rp_program_add_instr(w->to, instr->op, instr->attr, in, instr->n_in, out, err);
    rp_program_mark_like(w->to, w->to->n_instrs - (status == RP_OK), instr->mark);
    for (int i = 0; i < instr->n_out && status == RP_OK; i++)
        w->map[instr->out[i]] = out[i];
    return status;
}

static rp_status rewrite(rewriting *w, const uint32_t *number, uint32_t *in, rp_error *err)
{
    const rp_program *p = w->s->p;
    size_t inputs = 0, values = 0;
    rp_status status = RP_OK;

    for (size_t k = 0; status == RP_OK && (inputs < p->n_inputs || k < p->n_instrs);) {
        if (inputs < p->n_inputs && p->input[inputs].value == values) {
            const rp_input *input = &p->input[inputs++];

            status = rp_program_add_input(w->to, input->kind, input->name, &p->value[values], &w->map[values], err);
            values++;
            continue;
        }
        values += (size_t)p->instr[k].n_out;
        status = w->s->of[k] == NONE
                     ? copy(w, &p->instr[k], in, number ? number[k] : (uint32_t)k, err)
                     : put(w, &w->s->found[w->s->of[k]], (uint32_t)k, number ? number[k] : (uint32_t)k, err);
        k++;
    }
    for (size_t o = 0; o < p->n_outputs && status == RP_OK; o++)
        status = rp_program_add_output(w->to, p->output[o].kind, p->output[o].name, w->map[p->output[o].value], err);
    return status;
}

static rp_status replace(rp_plan *plan, const search *s, rp_error *err)
{
    const rp_program *p = plan->program;
    rewriting w = {.s = s, .to = rp_program_new()};
    size_t operands = 1;
    uint32_t *in;
    rp_status status;

    for (size_t k = 0; k < p->n_instrs; k++)
        operands = p->instr[k].n_in > operands ? p->instr[k].n_in : operands;
    w.map = rp_reallocarray(NULL, p->n_values, sizeof *w.map);
    w.number = rp_reallocarray(NULL, p->n_instrs + 3 * s->n, sizeof *w.number);
    in = rp_reallocarray(NULL, operands, sizeof *in);
    status = w.to && w.map && w.number && in ? rewrite(&w, plan->number, in, err) : rp_no_memory(err);
    rp_free(in);
    rp_free(w.map);
    if (status != RP_OK) {
        rp_program_free(w.to);
        rp_free(w.number);
        return status;
    }
    rp_program_free(plan->written);
    rp_free(plan->number);
    plan->program = plan->written = w.to;
    plan->number = w.number;
    return RP_OK;
}

/* ---- the pass ---- */

static bool worth_looking(const rp_plan *plan)
{
    const rp_program *p = plan->program;
    bool regions = false; /* operands of functions are not followed */

    if (!rp_program_has(p, RP_PLAYS_SOFTMAX))
        return false;
    for (size_t k = 0; k < p->n_instrs && !regions; k++)
        regions = p->instr[k].region;
    return !regions;
}

static rp_status look(rp_plan *plan, search *s, rp_error *err)
{
    const rp_program *p = s->p;

    memset(s->readers, 0, p->n_values * sizeof *s->readers);
    memset(s->left, 0xFF, 5 * p->n_values * sizeof *s->left);
    memset(s->of, 0xFF, p->n_instrs * sizeof *s->of);
    for (size_t k = 0; k < p->n_instrs; k++)
        note(p, s, (uint32_t)k);
    for (size_t o = 0; o < p->n_outputs; o++)
        s->readers[p->output[o].value]++;
    for (size_t k = 0; k < p->n_instrs; k++)
        if (p->instr[k].op->role == RP_PLAYS_SOFTMAX)
            find_at(s, &p->instr[k]);
    return s->n > 0 ? replace(plan, s, err) : RP_OK;
}

/* Where memory is not the host's, attention has the reference's form alone, which is slower than products. */
rp_status rp_plan_attention(rp_plan *plan, rp_error *err)
{
    const rp_program *p = plan->program;
    search s = {.p = p};
    size_t n = 0;
    rp_status status;

    if (!(plan->passes & RP_PASS_ATTENTION) || plan->function || !rp_device_shares_memory(plan->device) ||
        !worth_looking(plan))
        return RP_OK;
    for (size_t k = 0; k < p->n_instrs; k++)
        n += p->instr[k].op->role == RP_PLAYS_SOFTMAX;
    s.readers = rp_reallocarray(NULL, 6 * p->n_values, sizeof *s.readers);
    s.of = rp_reallocarray(NULL, p->n_instrs, sizeof *s.of);
    s.found = rp_reallocarray(NULL, n, sizeof *s.found);
    if (s.readers) {
        s.left = s.readers + p->n_values;
        s.right = s.left + p->n_values;
        s.turned = s.right + p->n_values;
        s.scaled = s.turned + p->n_values;
        s.graded = s.scaled + p->n_values;
    }
    status = s.readers && s.of && s.found ? look(plan, &s, err) : rp_no_memory(err);
    rp_free(s.readers);
    rp_free(s.of);
    rp_free(s.found);
    return status;
}
