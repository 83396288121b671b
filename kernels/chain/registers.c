/* SPDX-License-Identifier: Apache-2.0
 * Planning runs in registers. A run knows which view's value the register holds and which are in masks; a step takes
 * its operands from there, or has them loaded, and what it makes takes their place. What no later step reads from
 * memory is not stored. */
#include "kernels/chain/registers.h"

enum { NOTHING = RP_CHAIN_VIEWS, NO_SLOT = RP_CHAIN_SLOTS, NO_STEP = RP_CHAIN_STEPS, LINE = 64 };

typedef struct run {
    rp_chain_plan *plan;
    const rp_chain *chain;
    size_t n_parts;
    size_t held, masked[RP_FUSED_MASKS]; /* views; NOTHING */
    size_t load;                         /* the view that the next part loads first; NOTHING */
    unsigned next_mask;                  /* the one that is given up first */
    bool in_register[RP_CHAIN_VIEWS];    /* the operand is taken from there */
    size_t size[RP_CHAIN_SLOTS];         /* of the elements that the run has in each slot; 0: none */
} run;

typedef enum kind { NO_KIND, ONE, BOTH, COMPARISON, SELECTION, MASKS, OF_MASK } kind;

typedef struct place {
    kind kind;
    rp_fused_op op;
} place;

static const place place_of[RP_K_COUNT] = {
    [RP_K_add] = {BOTH, RP_FUSED_ADD},
    [RP_K_sub] = {BOTH, RP_FUSED_SUB},
    [RP_K_mul] = {BOTH, RP_FUSED_MUL},
    [RP_K_div] = {BOTH, RP_FUSED_DIV},
    [RP_K_maximum] = {BOTH, RP_FUSED_MAXIMUM},
    [RP_K_minimum] = {BOTH, RP_FUSED_MINIMUM},
    [RP_K_relu_grad] = {BOTH, RP_FUSED_RELU_GRAD},
    [RP_K_tanh_grad] = {BOTH, RP_FUSED_TANH_GRAD},
    [RP_K_sigmoid_grad] = {BOTH, RP_FUSED_SIGMOID_GRAD},
    [RP_K_relu] = {ONE, RP_FUSED_RELU},
    [RP_K_abs] = {ONE, RP_FUSED_ABS},
    [RP_K_neg] = {ONE, RP_FUSED_NEG},
    [RP_K_sign] = {ONE, RP_FUSED_SIGN},
    [RP_K_floor] = {ONE, RP_FUSED_FLOOR},
    [RP_K_ceil] = {ONE, RP_FUSED_CEIL},
    [RP_K_round] = {ONE, RP_FUSED_ROUND},
    [RP_K_trunc] = {ONE, RP_FUSED_TRUNC},
    [RP_K_leaky_relu] = {ONE, RP_FUSED_LEAKY_RELU},
    [RP_K_hardtanh] = {ONE, RP_FUSED_HARDTANH},
    [RP_K_eq] = {COMPARISON, RP_FUSED_EQ},
    [RP_K_ne] = {COMPARISON, RP_FUSED_NE},
    [RP_K_lt] = {COMPARISON, RP_FUSED_LT},
    [RP_K_le] = {COMPARISON, RP_FUSED_LE},
    [RP_K_gt] = {COMPARISON, RP_FUSED_GT},
    [RP_K_ge] = {COMPARISON, RP_FUSED_GE},
    [RP_K_where] = {SELECTION, RP_FUSED_SELECT},
    [RP_K_logical_not] = {MASKS, RP_FUSED_MASK_NOT},
    [RP_K_logical_and] = {MASKS, RP_FUSED_MASK_AND},
    [RP_K_logical_or] = {MASKS, RP_FUSED_MASK_OR},
    [RP_K_logical_xor] = {MASKS, RP_FUSED_MASK_XOR},
    [RP_K_cast] = {OF_MASK, RP_FUSED_OF_MASK},
};

static bool makes_mask(kind k)
{
    return k == COMPARISON || k == MASKS;
}

/* Its place among the fused operations; of kind NO_KIND if it has none with operands of these types. */
static place find_place(const rp_chain_plan *plan, const rp_chain_step *step)
{
    const place none = {NO_KIND, RP_FUSED_ADD}, found = place_of[step->kernel];

    if (found.kind == NO_KIND || plan->view[step->out].dtype != (makes_mask(found.kind) ? RP_BOOL : RP_F32))
        return none;
    for (size_t v = step->in; v < step->in + step->n_in; v++) {
        const bool mask = found.kind == MASKS || found.kind == OF_MASK || (found.kind == SELECTION && v == step->in);

        if (plan->view[v].dtype != (mask ? RP_BOOL : RP_F32) || (mask && plan->view[v].stride[0] != 1))
            return none;
    }
    return found;
}

static bool same_place(const run *r, size_t a, size_t b)
{
    const size_t slot = r->plan->slot[a];

    return slot == r->plan->slot[b] && (slot != NO_SLOT || r->chain->view[a].data == r->chain->view[b].data);
}

/* The same elements, element by element: views of one memory may be written out, or repeat its first. */
static bool same_elements(const run *r, size_t a, size_t b)
{
    const rp_chain_plan *plan = r->plan;

    return same_place(r, a, b) && plan->spread_of[a] == plan->spread_of[b] &&
           plan->view[a].stride[0] == plan->view[b].stride[0] && plan->view[a].dtype == plan->view[b].dtype;
}

static bool repeats(const run *r, size_t v)
{
    return r->plan->view[v].stride[0] == 0;
}

/* A step of masks takes turns with others by fewer elements than a block has, so a slot has elements of one size. */
static bool slots_agree(run *r, const rp_chain_step *step)
{
    for (size_t v = step->in; v < step->out + step->n_out; v++) {
        const size_t slot = r->plan->slot[v], size = rp_dtype_size(r->plan->view[v].dtype);

        if (slot == NO_SLOT)
            continue;
        if (r->size[slot] != 0 && r->size[slot] != size)
            return false;
        r->size[slot] = size;
    }
    return true;
}

/* ---- operands ---- */

static rp_chain_part *add_part(run *r, unsigned op, size_t x)
{
    rp_chain_part *part = &r->plan->part[r->n_parts++];

    *part = (rp_chain_part){.code = 4 * op, .load = r->load, .x = x, .store = NOTHING};
    r->load = NOTHING;
    if (x != NOTHING && repeats(r, x))
        part->code += RP_FUSED_SCALAR;
    return part;
}

static bool is_held(const run *r, size_t v)
{
    return r->held != NOTHING && same_elements(r, v, r->held);
}

static void hold(run *r, size_t v)
{
    if (is_held(r, v)) {
        r->in_register[v] = true;
        return;
    }
    if (repeats(r, v))
        (void)add_part(r, RP_FUSED_LOAD, v);
    else
        r->load = v;
    r->held = v;
}

/* Has one of two operands in the register: true, if that is the second. */
static bool hold_one(run *r, size_t a, size_t b)
{
    const bool second = !is_held(r, a) && (is_held(r, b) || (repeats(r, a) && !repeats(r, b)));

    hold(r, second ? b : a);
    return second;
}

/* A mask for the elements of v, which is not `keep`. */
static unsigned take_mask(run *r, size_t v, unsigned keep)
{
    const unsigned m = r->next_mask == keep ? (keep + 1) % RP_FUSED_MASKS : r->next_mask;

    r->next_mask = (m + 1) % RP_FUSED_MASKS;
    r->masked[m] = v;
    return m;
}

/* The mask of operand v, loaded if it is in none. */
static unsigned mask_of(run *r, size_t v, unsigned keep)
{
    unsigned m;

    for (m = 0; m < RP_FUSED_MASKS; m++)
        if (r->masked[m] != NOTHING && same_elements(r, v, r->masked[m])) {
            r->in_register[v] = true;
            return m;
        }
    m = take_mask(r, v, keep);
    add_part(r, RP_FUSED_MASK_LOAD, v)->mask = (unsigned char)m;
    return m;
}

/* ---- steps ---- */

static rp_fused_op turned(rp_fused_op comparison)
{
    switch (comparison) {
    case RP_FUSED_LT:
        return RP_FUSED_GT;
    case RP_FUSED_LE:
        return RP_FUSED_GE;
    case RP_FUSED_GT:
        return RP_FUSED_LT;
    case RP_FUSED_GE:
        return RP_FUSED_LE;
    default:
        return comparison;
    }
}

static rp_chain_part *add_both(run *r, rp_fused_op op, size_t a)
{
    const bool second = hold_one(r, a, a + 1);
    rp_chain_part *part;

    if (op == RP_FUSED_MUL && same_elements(r, a, a + 1)) {
        r->in_register[second ? a : a + 1] = true; /* the one that is held was, or has been loaded */
        return add_part(r, RP_FUSED_SQUARE, NOTHING);
    }
    part = add_part(r, op, second ? a : a + 1);
    if (second)
        part->code += RP_FUSED_SECOND;
    return part;
}

static rp_chain_part *add_comparison(run *r, rp_fused_op op, size_t a)
{
    const bool second = hold_one(r, a, a + 1);

    return add_part(r, second ? turned(op) : op, second ? a : a + 1);
}

static rp_chain_part *add_selection(run *r, size_t condition)
{
    const unsigned m = mask_of(r, condition, RP_FUSED_MASKS);
    rp_chain_part *part = add_both(r, RP_FUSED_SELECT, condition + 1);

    part->mask = (unsigned char)m;
    return part;
}

static rp_chain_part *add_masks(run *r, rp_fused_op op, const rp_chain_step *step)
{
    const unsigned a = mask_of(r, step->in, RP_FUSED_MASKS);
    const unsigned b = step->n_in > 1 ? mask_of(r, step->in + 1, a) : a;
    rp_chain_part *part = add_part(r, op, NOTHING);

    part->a = (unsigned char)a;
    part->b = (unsigned char)b;
    return part;
}

static rp_chain_part *add_one(run *r, rp_fused_op op, const rp_chain_step *step)
{
    rp_chain_part *part;

    hold(r, step->in);
    part = add_part(r, op, NOTHING);
    for (size_t i = 0; i < sizeof part->attr / sizeof *part->attr && step->attr != NULL; i++)
        if (op == RP_FUSED_HARDTANH || (op == RP_FUSED_LEAKY_RELU && i == 0))
            part->attr[i] = (float)step->attr[i].r;
    return part;
}

static rp_chain_part *add_of_mask(run *r, size_t v)
{
    const unsigned m = mask_of(r, v, RP_FUSED_MASKS);
    rp_chain_part *part = add_part(r, RP_FUSED_OF_MASK, NOTHING);

    part->mask = (unsigned char)m;
    return part;
}

/* What lay where a step's output goes is in no register any more. */
static void overwrite(run *r, size_t out)
{
    if (r->held != NOTHING && same_place(r, out, r->held))
        r->held = NOTHING;
    for (unsigned m = 0; m < RP_FUSED_MASKS; m++)
        if (r->masked[m] != NOTHING && same_place(r, out, r->masked[m]))
            r->masked[m] = NOTHING;
}

static void add_step(run *r, place p, const rp_chain_step *step)
{
    rp_chain_part *part = p.kind == ONE          ? add_one(r, p.op, step)
                          : p.kind == BOTH       ? add_both(r, p.op, step->in)
                          : p.kind == COMPARISON ? add_comparison(r, p.op, step->in)
                          : p.kind == SELECTION  ? add_selection(r, step->in)
                          : p.kind == MASKS      ? add_masks(r, p.op, step)
                                                 : add_of_mask(r, step->in);

    overwrite(r, step->out);
    part->is_mask = makes_mask(p.kind);
    if (part->is_mask)
        part->mask = (unsigned char)take_mask(r, step->out, RP_FUSED_MASKS);
    else
        r->held = step->out;
}

/* ---- selections ---- */

/* A selection whose sides are made of one value: of that in the register, step by step, each step where its side is
 * chosen, so that neither side nor the value itself waits in memory. All steps [first, selection) are of one of the
 * two; the second may have none: it is the value as it is. */
typedef struct choice {
    size_t first, selection;
    size_t last[2];  /* of each side, from first on; or NO_STEP */
    unsigned second; /* bit k: step k is of the second */
    unsigned mask;
    bool yes_first; /* the first side is taken where the mask is set */
} choice;

/* Whether nobody but step `reader` reads what step k makes. */
static bool read_once(const run *r, size_t k, size_t reader)
{
    const rp_chain *chain = r->chain;
    const size_t made = chain->step[k].out;

    if (r->plan->slot[made] == NO_SLOT)
        return false;
    for (size_t i = 0; i < chain->n_scratch; i++)
        if (chain->scratch[i].view == made && chain->scratch[i].stream != NULL)
            return false;
    for (size_t j = k + 1; j < chain->n_steps; j++) {
        const rp_chain_step *step = &chain->step[j];

        for (size_t v = step->in; v < step->in + step->n_in; v++)
            if (same_place(r, v, made) && j != reader)
                return false;
        for (size_t v = step->out; v < step->out + step->n_out; v++)
            if (same_place(r, v, made))
                return true;
    }
    return true;
}

static bool reads(const run *r, const rp_chain_step *step, size_t v)
{
    return same_elements(r, step->in, v) || same_elements(r, step->in + 1, v);
}

/* What a side is so far. */
static size_t side_value(const run *r, const choice *c, int side)
{
    return c->last[side] == NO_STEP ? r->held : r->chain->step[c->last[side]].out;
}

/* Takes step k for the side whose value it works on: one that has begun, else one that the step begins. */
static bool take_side(run *r, choice *c, size_t k)
{
    const rp_chain_step *step = &r->chain->step[k];
    int side = -1;

    for (int i = 1; i >= 0; i--)
        if (c->last[i] == NO_STEP && reads(r, step, r->held))
            side = i;
    for (int i = 0; i < 2; i++)
        if (c->last[i] != NO_STEP && reads(r, step, side_value(r, c, i)))
            side = i;
    if (side < 0 || (c->last[side] != NO_STEP && !read_once(r, c->last[side], k)))
        return false;
    c->last[side] = k;
    c->second |= (unsigned)side << k;
    return slots_agree(r, step);
}

/* A square, or an addition or a multiplication of two. */
static bool makes_side(const run *r, place p, const rp_chain_step *step)
{
    return p.kind == BOTH &&
           (p.op == RP_FUSED_MUL || (p.op == RP_FUSED_ADD && !same_elements(r, step->in, step->in + 1)));
}

static bool find_choice(run *r, size_t k, const bool *flat, choice *c)
{
    const rp_chain_step *step = &r->chain->step[k];
    size_t one, other;

    *c = (choice){.first = k, .last = {NO_STEP, NO_STEP}};
    for (; r->held != NOTHING && k < r->chain->n_steps && flat[k]; step = &r->chain->step[++k])
        if (!makes_side(r, find_place(r->plan, step), step))
            break;
        else if (!take_side(r, c, k))
            return false;
    if (c->last[0] == NO_STEP || k == r->chain->n_steps || !flat[k] || find_place(r->plan, step).kind != SELECTION ||
        !slots_agree(r, step))
        return false;
    c->selection = k;
    one = side_value(r, c, 0);
    other = side_value(r, c, 1);
    for (int i = 0; i < 2; i++)
        if (c->last[i] != NO_STEP && !read_once(r, c->last[i], k))
            return false;
    c->yes_first = same_elements(r, step->in + 1, one) && same_elements(r, step->in + 2, other);
    if (same_place(r, one, other) ||
        (!c->yes_first && !(same_elements(r, step->in + 1, other) && same_elements(r, step->in + 2, one))))
        return false;
    for (c->mask = 0; c->mask < RP_FUSED_MASKS; c->mask++)
        if (r->masked[c->mask] != NOTHING && same_elements(r, step->in, r->masked[c->mask]))
            return true;
    return false;
}

/* Step k of a side, of value v. */
static void add_side(run *r, size_t k, size_t v, unsigned mask, bool yes)
{
    const rp_chain_step *step = &r->chain->step[k];
    const bool first = same_elements(r, step->in, v), both = first && same_elements(r, step->in + 1, v);
    const bool adds = find_place(r->plan, step).op == RP_FUSED_ADD;
    const rp_fused_op op = both   ? yes ? RP_FUSED_IF_SQUARE : RP_FUSED_ELSE_SQUARE
                           : adds ? yes ? RP_FUSED_IF_ADD : RP_FUSED_ELSE_ADD
                           : yes  ? RP_FUSED_IF_MUL
                                  : RP_FUSED_ELSE_MUL;
    rp_chain_part *part = add_part(r, op, both ? NOTHING : first ? step->in + 1 : step->in);

    if (!first)
        part->code += RP_FUSED_SECOND;
    part->mask = (unsigned char)mask;
    r->in_register[step->in] = r->in_register[step->in] || first;
    r->in_register[step->in + 1] = r->in_register[step->in + 1] || both || !first;
    r->plan->begin[k + 1] = r->n_parts;
}

static void add_choice(run *r, const choice *c)
{
    const rp_chain_step *step = &r->chain->step[c->selection];
    size_t value[2] = {r->held, r->held};

    for (size_t k = c->first; k < c->selection; k++) {
        const unsigned side = c->second >> k & 1;

        add_side(r, k, value[side], c->mask, (side == 0) == c->yes_first);
        value[side] = r->chain->step[k].out;
    }
    for (size_t v = step->in; v < step->in + step->n_in; v++)
        r->in_register[v] = true;
    for (size_t k = c->first; k <= c->selection; k++)
        overwrite(r, r->chain->step[k].out);
    r->plan->begin[c->selection + 1] = r->n_parts;
    r->held = step->out;
}

/* ---- what is stored ---- */

/* Whether the output of step k is wanted in memory. */
static bool wanted(const run *r, size_t k)
{
    const rp_chain *chain = r->chain;
    const size_t made = chain->step[k].out;

    if (r->plan->slot[made] == NO_SLOT)
        return true;
    for (size_t i = 0; i < chain->n_scratch; i++)
        if (chain->scratch[i].view == made && chain->scratch[i].stream != NULL)
            return true;
    for (size_t j = k + 1; j < chain->n_steps; j++) {
        const rp_chain_step *step = &chain->step[j];

        for (size_t v = step->in; v < step->in + step->n_in; v++)
            if (!r->in_register[v] && same_place(r, v, made))
                return true;
        for (size_t v = step->out; v < step->out + step->n_out; v++)
            if (same_place(r, v, made))
                return false;
    }
    return false;
}

/* Where step k's output is streamed to, if that begins a line and no later step reads it; else NULL. */
static float *streamed_only(const run *r, size_t k)
{
    const rp_chain *chain = r->chain;
    const size_t made = chain->step[k].out;
    float *to = NULL;

    for (size_t i = 0; i < chain->n_scratch; i++)
        if (chain->scratch[i].view == made)
            to = chain->scratch[i].stream;
    if ((uintptr_t)to % LINE != 0)
        return NULL;
    for (size_t j = k + 1; j < chain->n_steps; j++)
        for (size_t v = chain->step[j].in; v < chain->step[j].in + chain->step[j].n_in; v++)
            if (same_place(r, v, made))
                return NULL;
    return to;
}

void rp_chain_registers_plan(rp_chain_plan *plan, size_t k, const bool *flat)
{
    const rp_chain *chain = plan->chain;
    run r = {.plan = plan, .chain = chain, .n_parts = plan->begin[k], .held = NOTHING, .load = NOTHING};
    size_t end = k;
    rp_chain_part *last;

    for (size_t m = 0; m < RP_FUSED_MASKS; m++)
        r.masked[m] = NOTHING;
    for (; end < chain->n_steps && flat[end] && slots_agree(&r, &chain->step[end]); end++) {
        const place p = find_place(plan, &chain->step[end]);
        choice c;

        if (p.kind == NO_KIND)
            break;
        if (find_choice(&r, end, flat, &c)) {
            add_choice(&r, &c);
            end = c.selection;
            continue;
        }
        add_step(&r, p, &chain->step[end]);
        plan->begin[end + 1] = r.n_parts;
    }
    if (end <= k + 1) {
        plan->begin[k + 1] = plan->begin[k];
        return;
    }
    plan->end[k] = end;
    for (size_t i = k; i < end; i++)
        if (wanted(&r, i))
            plan->part[plan->begin[i + 1] - 1].store = chain->step[i].out;
    last = &plan->part[r.n_parts - 1];
    last->past = last->is_mask ? NULL : streamed_only(&r, end - 1);
}
