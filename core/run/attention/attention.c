/* SPDX-License-Identifier: Apache-2.0
 * Attention that a program writes in products and softmax: scores q t, a scale, a mask that is added or that lets what
 * it hides be -inf, softmax, dropout, the product with v, and what gradients make of it. In the plan its results come
 * from the operations that never hold the square of scores (CONTRACT 7.13 says that their bits are these); what only
 * the square needed is dead then. Programs, their texts and the numbers of their instructions stay as they are. */
#include <math.h>
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
    const rp_op *scales; /* mul or div: by `constant` */
    double constant;
    int hides;                  /* of a mask of bool: where it is true, z (1) or -inf (2); 0: it is added */
    const rp_instr *dropout;    /* of the weights; NULL: none */
    uint32_t k, shown, grad[3]; /* in the new program, once they are there: t turned, where z is seen, the gradients */
} found;

/* The instruction that reads a value in some way, of each value; NONE, or the last of several. */
typedef struct search {
    const rp_program *p;
    uint32_t *readers; /* how many there are, outputs too */
    uint32_t *left, *right, *turned, *scaled, *graded, *hidden, *dropped;
    uint32_t *of; /* of each instruction whose result an attention makes: which */
    found *found;
    size_t n;
} search;

static bool is(const rp_instr *instr, rp_op_id op)
{
    return instr->op == rp_op_get(op);
}

static const rp_instr *maker_of(const search *s, uint32_t value)
{
    const uint32_t k = s->p->maker[value];

    return k == RP_NO_INSTR ? NULL : &s->p->instr[k];
}

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

static bool filled_with(const search *s, uint32_t value, double *c)
{
    const rp_instr *instr = made_by(s, value, RP_PLAYS_FILL);

    if (instr)
        *c = RP_AT(instr->attr, fill, value).r;
    return instr;
}

static bool constant_of(const search *s, uint32_t value, double *c)
{
    return s->p->value[value].rank == 0 && filled_with(s, value, c);
}

/* A quotient by a power of two is the product with its inverse, to the bit. */
static bool has_inverse(double c)
{
    int exponent;

    return isfinite(c) && fabs(frexp(c, &exponent)) == 0.5 && exponent > -64 && exponent < 64;
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
    else if (instr->op->role == RP_PLAYS_MUL || is(instr, RP_OP_div))
        s->scaled[instr->in[0]] = k;
    else if (is(instr, RP_OP_where))
        s->hidden[instr->in[1]] = s->hidden[instr->in[2]] = k;
    else if (is(instr, RP_OP_dropout))
        s->dropped[instr->in[0]] = k;
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
    const rp_instr *instr = maker_of(s, z);

    f->scale = 1;
    f->scales = NULL;
    if (s->readers[z] != 1 || !instr)
        return false;
    if (instr->op->role == RP_PLAYS_MUL || is(instr, RP_OP_div)) {
        if (!constant_of(s, instr->in[1], &f->constant) || s->readers[instr->in[0]] != 1 ||
            (is(instr, RP_OP_div) && !has_inverse(f->constant)))
            return false;
        f->scales = instr->op;
        f->scale = is(instr, RP_OP_div) ? 1 / f->constant : f->constant;
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

static bool find_added(const search *s, const rp_instr *add, uint32_t z, found *f)
{
    for (int i = 0; i < 2 && s->readers[z] == 1; i++)
        if (rp_type_equal(&s->p->value[add->in[i]], &s->p->value[z]) && find_scores(s, add->in[i], f)) {
            f->mask = add->in[1 - i];
            return true;
        }
    return false;
}

/* where(mask, z, -inf), or the other way round. */
static bool find_hidden(const search *s, const rp_instr *where, uint32_t z, found *f)
{
    double c;

    for (int i = 1; i < 3 && s->readers[z] == 1; i++)
        if (filled_with(s, where->in[3 - i], &c) && c == -INFINITY &&
            rp_type_equal(&s->p->value[where->in[i]], &s->p->value[z]) && find_scores(s, where->in[i], f)) {
            f->mask = where->in[0];
            f->hides = i;
            return true;
        }
    return false;
}

static bool find_weights(const search *s, const rp_instr *softmax, found *f)
{
    const uint32_t z = softmax->in[0];
    const rp_instr *instr = maker_of(s, z);

    f->mask = NONE;
    f->hides = 0;
    if (instr && instr->op->role == RP_PLAYS_ADD)
        return find_added(s, instr, z, f);
    if (instr && is(instr, RP_OP_where))
        return find_hidden(s, instr, z, f);
    return find_scores(s, z, f);
}

/* The product that has `value` on one side. */
static const rp_instr *product(const search *s, const uint32_t *side, uint32_t value, uint32_t *at)
{
    *at = side[value];
    return *at == NONE ? NULL : &s->p->instr[*at];
}

/* What the product with v has of the weights p: these, or what dropout leaves of them. */
static uint32_t find_dropped(const search *s, uint32_t p, found *f)
{
    f->dropout = s->dropped[p] == NONE ? NULL : &s->p->instr[s->dropped[p]];
    return f->dropout ? f->dropout->out[0] : p;
}

static bool same_draws(const rp_instr *a, const rp_instr *b)
{
    return a->in[1] == b->in[1] && RP_AT(a->attr, dropout, rate).r == RP_AT(b->attr, dropout, rate).r &&
           RP_AT(a->attr, dropout, stream).i == RP_AT(b->attr, dropout, stream).i;
}

static bool find_output(const search *s, uint32_t r, found *f)
{
    const rp_instr *y = product(s, s->left, r, &f->y);

    if (!y || !beside(&s->p->value[r], &s->p->value[y->in[1]]) || columns_of(s, y->in[1]) > WIDEST)
        return false;
    if (f->dropout && RP_AT(f->dropout->attr, dropout, rate).r == 0)
        return false;
    f->v = y->in[1];
    return true;
}

/* The gradient of what the mask shows; NONE: another. */
static uint32_t find_shown(const search *s, uint32_t dz, const found *f)
{
    const rp_instr *where = s->hidden[dz] == NONE ? NULL : &s->p->instr[s->hidden[dz]];
    double c;

    if (!f->hides)
        return dz;
    if (!where || s->readers[dz] != 1 || where->in[0] != f->mask || where->in[f->hides] != dz ||
        !filled_with(s, where->in[3 - f->hides], &c) || c != 0 || signbit(c) ||
        !rp_type_equal(&s->p->value[where->out[0]], &s->p->value[dz])) /* zeros of more axes stretch it */
        return NONE;
    return where->out[0];
}

static uint32_t find_scaled(const search *s, uint32_t dz, const found *f)
{
    const rp_instr *scaled = s->scaled[dz] == NONE ? NULL : &s->p->instr[s->scaled[dz]];
    double c;

    if (!f->scales)
        return dz;
    if (!scaled || s->readers[dz] != 1 || scaled->op != f->scales || !constant_of(s, scaled->in[1], &c) ||
        c != f->constant)
        return NONE;
    return scaled->out[0];
}

/* From the gradient of the scores on: nobody but the gradients of q and t reads it. */
static bool find_operand_grads(const search *s, uint32_t dz, found *f)
{
    uint32_t ds = find_shown(s, dz, f);
    const rp_instr *dq, *dt;

    ds = ds == NONE ? NONE : find_scaled(s, ds, f);
    if (ds == NONE)
        return false;
    dq = product(s, s->left, ds, &f->dq);
    dt = product(s, s->right, ds, &f->dt);
    if ((dq && !is_turned(s, dq->in[1], f->t)) || (dt && !is_turned(s, dt->in[0], f->q)))
        return false;
    return s->readers[ds] > 0 && s->readers[ds] == (dq != NULL) + (uint32_t)(dt != NULL);
}

/* The product g v' of which ds is the softmax's gradient, through dropout where there is one. */
static const rp_instr *find_weights_grad(const search *s, const rp_instr *ds, const found *f)
{
    const rp_instr *dropout = f->dropout ? maker_of(s, ds->in[0]) : NULL;
    const uint32_t dr = dropout ? dropout->in[0] : ds->in[0];
    const rp_instr *product = made_by(s, dr, RP_PLAYS_PRODUCT);

    if (f->dropout && (!dropout || !is(dropout, RP_OP_dropout) || !same_draws(dropout, f->dropout)))
        return NULL;
    return s->readers[ds->in[0]] == 1 && s->readers[dr] == 1 ? product : NULL;
}

/* All that reads the weights p, and what dropout leaves of them, r, is the output and, if it is there, the gradient. */
static bool find_grads(const search *s, uint32_t p, uint32_t r, found *f)
{
    const rp_instr *ds = s->graded[p] == NONE ? NULL : &s->p->instr[s->graded[p]];
    const rp_instr *turned = s->turned[r] == NONE ? NULL : &s->p->instr[s->turned[r]], *dr, *dv;
    const uint32_t others = r == p ? (ds != NULL) : 0; /* that read r beside the products */

    f->dq = f->dt = f->dv = NONE;
    if (r != p && s->readers[p] != 1 + (uint32_t)(ds != NULL))
        return false;
    if (!ds)
        return s->readers[r] == 1;
    dr = find_weights_grad(s, ds, f);
    if (!dr || !is_turned(s, dr->in[1], f->v) || !find_operand_grads(s, ds->out[0], f))
        return false;
    f->g = dr->in[0];
    if (!rp_type_equal(&s->p->value[f->g], &s->p->value[s->p->instr[f->y].out[0]]))
        return false;
    if (!turned)
        return s->readers[r] == 1 + others;
    dv = product(s, s->left, turned->out[0], &f->dv);
    /* dv may stand before v is there: of p and g alone */
    return dv && f->v < dv->out[0] && s->readers[turned->out[0]] == 1 && dv->in[1] == f->g &&
           s->readers[r] == 2 + others;
}

static void find_at(search *s, const rp_instr *softmax)
{
    const uint32_t p = softmax->out[0];
    found f = {.k = NONE, .shown = NONE, .grad = {NONE, NONE, NONE}};
    const uint32_t r = find_dropped(s, p, &f);
    uint32_t made[4];

    if (rp_type_count(&s->p->value[p]) < SCORES_LEAST || !find_weights(s, softmax, &f) || !find_output(s, r, &f) ||
        !find_grads(s, p, r, &f))
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
    uint32_t *in, *out;     /* of one instruction: as many as any has */
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

/* What is in front of the first of f's instructions: k as its operation has it, and where the mask shows. */
static rp_status prepare(rewriting *w, found *f, uint32_t number, rp_error *err)
{
    rp_status status;

    if (f->k != NONE)
        return RP_OK;
    status = turn(w, w->map[f->t], &f->k, number, err);
    if (f->mask == NONE)
        return status;
    f->shown = w->map[f->mask];
    if (status == RP_OK && f->hides == 2)
        status = append(w, RP_OP_logical_not, NULL, &w->map[f->mask], 1, &f->shown, number, err);
    return status;
}

/* The instruction in place of k, whose result is one of f's. */
static rp_status put(rewriting *w, found *f, uint32_t k, uint32_t number, rp_error *err)
{
    const uint32_t result = w->s->p->instr[k].out[0];
    rp_attr attr[RP_MAX_ATTR] = {{0}};
    uint32_t in[6], n = 0;
    rp_status status = prepare(w, f, number, err);

    RP_AT(attr, attention, scale).r = f->scale;
    if (f->dropout) {
        RP_AT(attr, attention, rate).r = RP_AT(f->dropout->attr, dropout, rate).r;
        RP_AT(attr, attention, stream).i = RP_AT(f->dropout->attr, dropout, stream).i;
    }
    if (k != f->y)
        in[n++] = w->map[f->g];
    in[n++] = w->map[f->q];
    in[n++] = f->k;
    in[n++] = w->map[f->v];
    if (f->mask != NONE)
        in[n++] = f->shown;
    if (f->dropout)
        in[n++] = w->map[f->dropout->in[1]];
    if (status != RP_OK || k == f->y)
        return status == RP_OK ? append(w, RP_OP_attention, attr, in, n, &w->map[result], number, err) : status;
    if (f->grad[0] == NONE)
        status = append(w, RP_OP_attention_grad, attr, in, n, f->grad, number, err);
    if (status == RP_OK && k == f->dt)
        return turn(w, f->grad[1], &w->map[result], number, err);
    w->map[result] = k == f->dq ? f->grad[0] : f->grad[2];
    return status;
}

static rp_status copy(rewriting *w, const rp_instr *instr, uint32_t number, rp_error *err)
{
    rp_status status;

    for (size_t i = 0; i < instr->n_in; i++)
        w->in[i] = w->map[instr->in[i]];
    w->number[w->to->n_instrs] = number;
    status = rp_program_add_like(w->to, instr, w->in, w->out, err);
    for (int i = 0; i < instr->n_out && status == RP_OK; i++)
        w->map[instr->out[i]] = w->out[i];
    return status;
}

static rp_status rewrite(rewriting *w, const uint32_t *number, rp_error *err)
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
        if (w->s->of[k] == NONE) {
            status = copy(w, &p->instr[k], number ? number[k] : (uint32_t)k, err);
        } else {
            const size_t from = w->to->n_instrs;

            status = put(w, &w->s->found[w->s->of[k]], (uint32_t)k, number ? number[k] : (uint32_t)k, err);
            rp_program_mark_like(w->to, from, p->instr[k].mark);
        }
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
    size_t operands = 1, results = RP_MAX_OUT;
    rp_status status;

    for (size_t k = 0; k < p->n_instrs; k++) {
        operands = p->instr[k].n_in > operands ? p->instr[k].n_in : operands;
        results = (size_t)p->instr[k].n_out > results ? (size_t)p->instr[k].n_out : results;
    }
    w.map = rp_reallocarray(NULL, p->n_values, sizeof *w.map);
    w.number = rp_reallocarray(NULL, p->n_instrs + 4 * s->n, sizeof *w.number);
    w.in = rp_reallocarray(NULL, operands, sizeof *w.in);
    w.out = rp_reallocarray(NULL, results, sizeof *w.out);
    status = w.to && w.map && w.number && w.in && w.out ? rewrite(&w, plan->number, err) : rp_no_memory(err);
    rp_free(w.in);
    rp_free(w.out);
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

static rp_status look(rp_plan *plan, search *s, rp_error *err)
{
    const rp_program *p = s->p;

    memset(s->readers, 0, p->n_values * sizeof *s->readers);
    memset(s->left, 0xFF, 7 * p->n_values * sizeof *s->left);
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
        !rp_program_has(p, RP_PLAYS_SOFTMAX))
        return RP_OK;
    for (size_t k = 0; k < p->n_instrs; k++)
        n += p->instr[k].op->role == RP_PLAYS_SOFTMAX;
    s.readers = rp_reallocarray(NULL, 8 * p->n_values, sizeof *s.readers);
    s.of = rp_reallocarray(NULL, p->n_instrs, sizeof *s.of);
    s.found = rp_reallocarray(NULL, n, sizeof *s.found);
    if (s.readers) {
        s.left = s.readers + p->n_values;
        s.right = s.left + p->n_values;
        s.turned = s.right + p->n_values;
        s.scaled = s.turned + p->n_values;
        s.graded = s.scaled + p->n_values;
        s.hidden = s.graded + p->n_values;
        s.dropped = s.hidden + p->n_values;
    }
    status = s.readers && s.of && s.found ? look(plan, &s, err) : rp_no_memory(err);
    rp_free(s.readers);
    rp_free(s.of);
    rp_free(s.found);
    return status;
}
