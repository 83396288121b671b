/* SPDX-License-Identifier: Apache-2.0
 * Binding a plan: every value gets its view, every position its call or its part in a chain, and states whose new value
 * was made elsewhere get a copy at the end. */
#include <string.h>

#include "base/memory.h"
#include "core/program/regions/region_run.h"
#include "core/run/free_pieces.h"
#include "core/run/plan_private.h"
#include "kernels/chain/epilogue.h"

static void *memory_of(const rp_plan *plan, uint32_t root)
{
    const block *b = &plan->block[root];

    switch (b->place) {
    case PLACE_FIXED:
        return b->fixed;
    case PLACE_OWN:
        return plan->own + b->offset;
    case PLACE_ARENA:
    case PLACE_SHARED: /* the same offset */
        return plan->bases.at[BASE_ARENA] + b->offset;
    case PLACE_GIVEN:
        return plan->bases.at[b->shared];
    default:
        return NULL;
    }
}

static rp_view view_of_root(const rp_plan *plan, uint32_t root)
{
    rp_view view = rp_view_of(&plan->program->value[root], memory_of(plan, root));

    for (int d = 0; d < view.rank && plan->block[root].paired; d++)
        view.stride[d] *= 2;
    return view;
}

/* Roots first, then views of them in the program's order. What is in scratch gets its memory block by block: its views
 * keep the strides of the dry run. */
static void bind_views(rp_plan *plan)
{
    const rp_program *p = plan->program;

    for (size_t v = 0; v < p->n_values; v++)
        if (plan->root[v] == v)
            plan->view[v] = view_of_root(plan, (uint32_t)v);
    for (size_t k = 0; k < p->n_instrs; k++) {
        const rp_instr *instr = &p->instr[k];
        const uint32_t value = instr->out[0];
        rp_view out;

        if (plan->same[value] != value) {
            for (int i = 0; i < instr->n_out; i++)
                plan->view[instr->out[i]] = plan->view[plan->same[instr->out[i]]];
        } else if (plan->root[value] == value) {
            continue;
        } else if (plan->block[plan->root[value]].place == PLACE_SCRATCH) {
            plan->view[value].data = NULL;
        } else {
            (void)rp_plan_alias(instr, &plan->view[instr->in[0]], &p->value[value], &out);
            plan->view[value] = out;
        }
    }
}

/* The next n views of the calls. */
static rp_view *take_views(rp_view **next, size_t n)
{
    rp_view *first = *next;

    *next += n;
    return first;
}

/* What frames that are the same calls every time launch, as a sequence could; 0: the host decides or brings something
 * between them, or they are too many. */
static size_t launches_of(const region_call *c)
{
    const rp_region *r = c->region;
    const uint64_t frames = r->kind == RP_SCAN ? r->times : r->kind == RP_MAP ? rp_region_shards(r) : 1;
    size_t most = 0;

    if (r->kind == RP_COND || r->kind == RP_WHILE)
        return 0;
    for (size_t k = 0; k < r->n_functions; k++) {
        const rp_plan *body = c->body[k];
        size_t launches = r->carried + r->n_combine;

        if (r->kind != RP_CALL && r->function[k]->reads_first)
            return 0;
        for (size_t i = 0; body && i < body->n_calls; i++) {
            const region_call *inner = body->call[i].region;

            if (inner && !inner->launches)
                return 0;
            launches += inner ? inner->launches : 1;
        }
        most = launches > most ? launches : most;
    }
    return frames && most <= RP_REPEAT_MAX / frames ? most * (size_t)frames : 0;
}

/* The region's own memory, then copies of operands that are not contiguous, then what frames need. */
static rp_status bind_region(rp_plan *plan, const rp_instr *instr, call *c, rp_view **next, rp_error *err)
{
    const uint32_t at = plan->region_at[instr - plan->program->instr];
    const rp_region *r = instr->region;
    size_t used = rp_region_scratch(r);
    rp_status status = RP_OK;

    c->region = rp_calloc(1, sizeof *c->region);
    if (!c->region)
        return rp_no_memory(err);
    *c->region = (region_call){.plan = plan, .region = r, .writes = UINT64_MAX, .packed = take_views(next, c->n_in)};
    c->region->body = rp_reallocarray(NULL, r->n_functions, sizeof *c->region->body);
    if (!c->region->body)
        return rp_no_memory(err);
    for (size_t i = 0; i < r->n_functions; i++)
        c->region->body[i] = rp_plan_body(plan, r->function[i]);
    c->region->scratch = memory_of(plan, at);
    for (size_t i = 0; i < c->n_in && status == RP_OK; i++) {
        rp_view *packed = &c->region->packed[i];
        const bool copied = !rp_view_contiguous(&c->in[i]);
        const rp_type *type = &plan->program->value[instr->in[i]];

        *packed = c->in[i];
        c->region->n_packed += copied;
        if (rp_plan_keeps(plan, instr, i)) {
            *packed = rp_view_of(type, plan->own + plan->kept);
            (void)rp_free_pieces_add(&plan->kept, rp_type_bytes(type));
            c->region->kept |= (uint64_t)1 << i;
            continue;
        }
        if (copied) {
            *packed = rp_view_of(type, (char *)c->region->scratch + used);
            used += (rp_type_bytes(type) + RP_FREE_PIECES_ALIGN - 1) / RP_FREE_PIECES_ALIGN * RP_FREE_PIECES_ALIGN;
        }
        status = rp_plan_follow(plan, &packed->data, copied ? at : plan->root[instr->in[i]], err);
    }
    c->region->frame = used;
    c->region->over = r->kind == RP_SCAN && c->region->body[0] ? c->region->body[0]->over : 0;
    if (r->kind == RP_SCAN && r->times && !rp_plan_only_adds(c->region->body[0], r, c->region->rows))
        c->region->rows[0] = c->region->rows[1] = 0;
    c->region->launches = launches_of(c->region);
    return status == RP_OK ? rp_plan_follow(plan, &c->region->scratch, at, err) : status;
}

/* The call of an instruction that has been bound. */
static const call *call_of(const rp_plan *plan, uint32_t instr)
{
    size_t i = plan->n_calls;

    while ((plan->call[--i].chain && !plan->call[i].op) || plan->call[i].instr != plan->numbered + instr)
        ;
    return &plan->call[i];
}

/* A concat whose operands stay where they are, and what an earlier call makes: a copy of nothing onto itself, which is
 * none. */
static void bind_none(call *c)
{
    c->in[0] = c->out[0] = (rp_view){.data = NULL};
    c->n_in = c->n_out = 1;
}

/* The concat that is operand i of one that reads what lies, and stays in pieces; NULL: the operand is anything else. */
static const rp_instr *lying(const rp_plan *plan, const rp_instr *instr, size_t i)
{
    const uint32_t maker = plan->program->maker[instr->in[i]];

    return maker != RP_NO_INSTR && plan->mark[maker] & MARK_LIES ? &plan->program->instr[maker] : NULL;
}

/* A cross entropy's second output, behind its first: the logsumexp of its rows, an element of each. */
static rp_status bind_both(rp_plan *plan, const rp_instr *instr, call *c, rp_view **next, rp_error *err)
{
    const uint32_t sum = rp_plan_made_with(plan, instr)->out[0];
    rp_view *out = take_views(next, 1);

    *out = c->out[0];
    out->data = plan->view[sum].data;
    c->n_out++;
    return rp_plan_follow(plan, &out->data, sum, err);
}

/* A sum's call reads the product's operands. */
static rp_status bind_dots(rp_plan *plan, const rp_instr *instr, call *c, rp_error *err)
{
    const rp_instr *product = &plan->program->instr[plan->program->maker[instr->in[0]]];
    rp_status status = RP_OK;

    c->dots = true;
    c->op = instr->op;
    c->attr = instr->attr;
    c->n_in = 2;
    for (size_t i = 0; i < c->n_in && status == RP_OK; i++) {
        const uint32_t value = product->in[i];

        c->in[i] = plan->view[value];
        status = rp_plan_follow(plan, &c->in[i].data, plan->root[value], err);
    }
    return status;
}

static rp_status bind_call(rp_plan *plan, const rp_instr *instr, call *c, rp_view **next, rp_error *err)
{
    const uint16_t mark = plan->mark[instr - plan->program->instr];
    rp_status status = RP_OK;

    c->n_in = instr->n_in;
    c->n_out = (size_t)instr->n_out;
    c->instr = plan->numbered + (size_t)(instr - plan->program->instr);
    c->in = take_views(next, mark & MARK_DOTS ? 2 : c->n_in);
    c->out = take_views(next, c->n_out);
    if (mark & (MARK_LIES | MARK_PRODUCT) || (mark & MARK_BOTH && !instr->op->also)) {
        bind_none(c);
        return RP_OK;
    }
    for (size_t i = 0; i < c->n_in && status == RP_OK && !(mark & MARK_DOTS); i++) {
        const rp_instr *concat = mark & MARK_READS_LYING ? lying(plan, instr, i) : NULL;
        const uint32_t root = concat ? concat->in[0] : plan->root[instr->in[i]];

        c->in[i] = plan->view[instr->in[i]];
        if (concat)
            c->in[i].data = plan->view[root].data;
        if (plan->block[root].place != PLACE_LOOSE)
            status = rp_plan_follow(plan, &c->in[i].data, root, err);
    }
    for (size_t i = 0; i < c->n_out && status == RP_OK; i++) {
        c->out[i] = plan->view[instr->out[i]];
        if (plan->block[instr->out[i]].place != PLACE_LOOSE)
            status = rp_plan_follow(plan, &c->out[i].data, instr->out[i], err);
    }
    if (status == RP_OK && mark & MARK_BOTH)
        status = bind_both(plan, instr, c, next, err);
    if (status != RP_OK)
        return status;
    if (mark & MARK_DOTS)
        return bind_dots(plan, instr, c, err);
    if (instr->region)
        return bind_region(plan, instr, c, next, err);
    if (instr->op->alias) {
        rp_bind_copy(&c->in[0], &c->out[0]);
    } else {
        c->looks = mark & MARK_GATHERED;
        if (mark & MARK_GATHERS)
            c->gather = call_of(plan, plan->program->maker[instr->in[0]]);
        c->op = instr->op;
        c->attr = instr->attr;
        rp_bind_operands(instr->op, c->in, c->n_in, &c->out[0]);
        for (size_t i = 0; i < c->n_in && mark & MARK_READS_LYING; i++)
            if (lying(plan, instr, i))
                rp_plan_bind_lying(plan, lying(plan, instr, i), i, c->in, c->out);
    }
    return RP_OK;
}

/* A product that the next call makes. */
static rp_status bind_later(const rp_plan *plan, size_t k, call *c, rp_view **next)
{
    c->instr = plan->numbered + plan->order.instr[k];
    c->in = take_views(next, rp_plan_at(plan, k)->n_in);
    c->out = take_views(next, 1);
    bind_none(c);
    return RP_OK;
}

/* A sum that makes the product in front of it: the product's operands, and what it is added to. */
static rp_status bind_onto(rp_plan *plan, size_t k, call *c, rp_view **next, rp_error *err)
{
    const rp_instr *sum = rp_plan_at(plan, k), *product = rp_plan_at(plan, k - 1);
    const uint32_t value[3] = {product->in[0], product->in[1], sum->in[0]};
    rp_status status = RP_OK;

    *c = (call){.op = product->op, .attr = product->attr, .instr = plan->numbered + plan->order.instr[k], .onto = true};
    c->n_in = 3;
    c->n_out = 1;
    c->in = take_views(next, c->n_in);
    c->out = take_views(next, c->n_out);
    c->out[0] = plan->view[sum->out[0]];
    for (size_t i = 0; i < c->n_in && status == RP_OK; i++) {
        c->in[i] = plan->view[value[i]];
        status = rp_plan_follow(plan, &c->in[i].data, plan->root[value[i]], err);
    }
    return status == RP_OK ? rp_plan_follow(plan, &c->out[0].data, sum->out[0], err) : status;
}

/* ---- chains ---- */

/* Which value each slot of the scratch holds. */
typedef struct slots {
    uint32_t value[RP_CHAIN_SLOTS];
    bool taken[RP_CHAIN_SLOTS];
    size_t size[RP_CHAIN_SLOTS]; /* of an element, always: steps may take turns by fewer elements than a block has */
    size_t n;
} slots;

/* An output that is too large to be found in a cache again is made in the scratch and streamed. */
static bool streamed(const rp_plan *plan, uint32_t value)
{
    const block *b = &plan->block[value];

    return b->made && b->place != PLACE_SCRATCH && b->place != PLACE_LOOSE && b->place != PLACE_FIXED &&
           b->bytes >= RP_CHAIN_STREAM;
}

/* How many operands at positions [from, to) are this value. */
static size_t readers(const rp_plan *plan, size_t from, size_t to, uint32_t value)
{
    size_t n = 0;

    for (size_t k = from; k < to; k++) {
        const rp_instr *instr = rp_plan_at(plan, k);

        for (size_t i = 0; i < instr->n_in; i++)
            n += plan->root[instr->in[i]] == value;
    }
    return n;
}

/* s->n when the value is not in the scratch. */
static size_t slot_of(const slots *s, uint32_t value)
{
    size_t i = 0;

    while (i < s->n && (!s->taken[i] || s->value[i] != value))
        i++;
    return i;
}

/* Gives output i of position k a slot: that of operand i, when the operation may work in place and nothing else reads
 * the operand from here on, else a free one. */
static void take_slot(const rp_plan *plan, slots *s, size_t k, size_t end, size_t i)
{
    const rp_instr *instr = rp_plan_at(plan, k);
    const size_t size = rp_dtype_size(plan->view[instr->out[i]].dtype);
    size_t slot = 0;

    if (instr->op->flags & RP_OP_INPLACE && i < instr->n_in) {
        const uint32_t operand = plan->root[instr->in[i]];

        if (plan->block[operand].place == PLACE_SCRATCH && readers(plan, k, end, operand) == 1 &&
            plan->view[operand].dtype == plan->view[instr->out[i]].dtype) {
            s->value[slot_of(s, operand)] = instr->out[i];
            return;
        }
    }
    while (slot < s->n && (s->taken[slot] || s->size[slot] != size))
        slot++;
    if (slot == s->n)
        s->size[s->n++] = size;
    s->taken[slot] = true;
    s->value[slot] = instr->out[i];
}

/* Appends an operand, made here or read; a value in the scratch is noted with its slot. */
static rp_status add_view(rp_plan *plan, rp_chain *chain, const slots *s, uint32_t value, bool made, rp_error *err)
{
    const uint32_t root = plan->root[value];
    void **memory = &chain->view[chain->n_views].data;

    chain->view[chain->n_views++] = plan->view[value];

    if (slot_of(s, root) < s->n) {
        const size_t size = rp_dtype_size(plan->view[value].dtype);

        chain->scratch[chain->n_scratch] = (rp_chain_scratch){chain->n_views - 1, slot_of(s, root), NULL};
        memory = &chain->scratch[chain->n_scratch++].stream;
        if (made && streamed(plan, root))
            *memory = plan->view[root].data;
        chain->size = size > chain->size ? size : chain->size;
    }
    return *memory ? rp_plan_follow(plan, memory, root, err) : RP_OK;
}

static rp_status add_step(rp_plan *plan, rp_chain *chain, slots *s, size_t k, size_t end, rp_error *err)
{
    const rp_instr *instr = rp_plan_at(plan, k);
    rp_chain_step *step = &chain->step[chain->n_steps++];
    rp_status status = RP_OK;

    *step =
        (rp_chain_step){.kernel = instr->op->kernel, .in = chain->n_views, .n_in = instr->n_in, .attr = instr->attr};
    for (size_t i = 0; i < instr->n_in && status == RP_OK; i++)
        status = add_view(plan, chain, s, instr->in[i], false, err);
    rp_bind_operands(instr->op, &chain->view[step->in], step->n_in, &plan->view[instr->out[0]]);
    step->out = chain->n_views;
    step->n_out = (size_t)instr->n_out;
    for (size_t i = 0; i < step->n_out && status == RP_OK; i++) {
        if (plan->block[instr->out[i]].place == PLACE_SCRATCH || streamed(plan, instr->out[i]))
            take_slot(plan, s, k, end, i);
        status = add_view(plan, chain, s, instr->out[i], true, err);
    }
    for (size_t i = 0; i < s->n; i++)
        s->taken[i] = s->taken[i] && (streamed(plan, s->value[i]) || readers(plan, k + 1, end, s->value[i]) > 0);
    return status;
}

static size_t operands_of(const rp_plan *plan, size_t first, size_t end)
{
    size_t n = 0;

    for (size_t k = first; k < end; k++)
        n += rp_plan_at(plan, k)->n_in + (size_t)rp_plan_at(plan, k)->n_out;
    return n;
}

static rp_status bind_chain(rp_plan *plan, size_t first, size_t end, rp_chain **out, rp_error *err)
{
    rp_chain *chain = *out = rp_calloc(1, rp_chain_bytes(operands_of(plan, first, end)));
    slots s = {.n = 0};
    rp_status status = chain ? RP_OK : rp_no_memory(err);

    if (status == RP_OK)
        chain->count = rp_type_count(&plan->program->value[rp_plan_at(plan, first)->out[0]]);
    for (size_t k = first; k < end && status == RP_OK; k++)
        status = add_step(plan, chain, &s, k, end, err);
    if (status == RP_OK)
        chain->slots = s.n;
    return status;
}

/* ---- all together ---- */

static rp_status allocate(rp_plan *plan, rp_error *err)
{
    const rp_program *p = plan->program;
    size_t views = 2 * p->n_outputs;

    for (size_t k = 0; k < plan->order.n; k++)
        views += rp_plan_at(plan, k)->n_in * (rp_plan_at(plan, k)->region ? 2 : 1) +
                 (size_t)rp_plan_at(plan, k)->n_out +
                 (plan->mark[plan->order.instr[k]] & (MARK_BOTH | MARK_DOTS) || rp_plan_adds_onto(plan, k) ? 1 : 0);
    plan->operands = rp_malloc(views * sizeof *plan->operands);
    plan->call = rp_calloc(plan->order.n + p->n_outputs, sizeof *plan->call);
    plan->output = rp_calloc(p->n_outputs, sizeof *plan->output);
    plan->twin = rp_malloc(p->n_outputs * sizeof *plan->twin);
    plan->write = rp_malloc(p->n_outputs * sizeof *plan->write);
    return plan->operands && plan->call && plan->output && plan->twin && plan->write ? RP_OK : rp_no_memory(err);
}

/* Of each value that is made in a state's memory: which input that state is. */
static void find_states(const rp_plan *plan, size_t *state)
{
    const rp_program *p = plan->program;

    for (size_t o = 0; o < p->n_outputs; o++) {
        const uint32_t value = plan->same[p->output[o].value];
        const rp_input *in = rp_program_state_of(p, &p->output[o]);

        if (in && plan->block[value].place == PLACE_FIXED && plan->block[value].fixed == plan->block[in->value].fixed)
            state[value] = (size_t)(in - p->input);
    }
}

/* The states in whose memory the instructions of positions [k, end) make their values; the call is the last one. */
static void note_writes(rp_plan *plan, size_t k, size_t end, const size_t *state)
{
    for (; k < end; k++) {
        const rp_instr *instr = rp_plan_at(plan, k);

        for (int i = 0; i < instr->n_out; i++)
            if (plan->block[instr->out[i]].place == PLACE_FIXED)
                plan->write[plan->n_writes++] = (state_write){plan->n_calls - 1, state[instr->out[i]]};
    }
}

static size_t state_input(const rp_program *p, const rp_output *output)
{
    return (size_t)(rp_program_state_of(p, output) - p->input);
}

/* Where output o has to be when all has run; false: it may stay where it is made. A result that is not alone in its
 * memory is still readable as a view. */
static bool goes_to(const rp_plan *plan, size_t o, uint32_t *base, void **to)
{
    const rp_program *p = plan->program;
    const block *b = &plan->block[plan->root[p->output[o].value]];
    const rp_input *state = rp_program_state_of(p, &p->output[o]);

    *base = (uint32_t)(BASE_PARAMETERS + p->n_inputs + o);
    if (plan->function) {
        *to = plan->bases.at[*base];
        return b->place != PLACE_GIVEN || b->shared != *base;
    }
    *to = state ? plan->block[state->value].fixed : NULL;
    return state && (b->place != PLACE_FIXED || plan->view[p->output[o].value].data != *to);
}

/* Whether a state's new value was written to its memory as a feed. */
static bool is_fed(const rp_plan *plan, size_t o)
{
    const rp_output *output = &plan->program->output[o];
    const block *b = &plan->block[plan->root[output->value]];

    return plan->start && output->kind == RP_OUTPUT_STATE && b->place == PLACE_FIXED && !b->made &&
           b->fixed == plan->block[rp_program_state_of(plan->program, output)->value].fixed;
}

/* Which output of a function a whole one is a copy of: the one whose memory its value was made in. */
static uint32_t twin_of(const rp_plan *plan, size_t o)
{
    const rp_program *p = plan->program;
    const uint32_t value = p->output[o].value, root = plan->root[value];
    const block *b = &plan->block[root];

    return plan->function && b->place == PLACE_GIVEN && b->made && rp_view_contiguous(&plan->view[value]) &&
                   rp_type_bytes(&p->value[value]) == rp_type_bytes(&p->value[root])
               ? (uint32_t)(b->shared - BASE_PARAMETERS - p->n_inputs)
               : UINT32_MAX;
}

/* Copies after everything has run, of states and outputs whose value was made elsewhere. */
static rp_status bind_outputs(rp_plan *plan, rp_view **next, rp_error *err)
{
    const rp_program *p = plan->program;
    rp_status status = RP_OK;

    for (size_t o = 0; o < p->n_outputs && status == RP_OK; o++) {
        const rp_view *from = &plan->view[p->output[o].value];
        uint32_t base;
        void *to;

        plan->output[o] = from->data;
        plan->twin[o] = twin_of(plan, o);
        if (is_fed(plan, o)) /* by nobody's call */
            plan->write[plan->n_writes++] = (state_write){plan->n_calls, state_input(p, &p->output[o])};
        if (goes_to(plan, o, &base, &to)) {
            call *c = &plan->call[plan->n_calls];

            if (!plan->function)
                plan->write[plan->n_writes++] = (state_write){plan->n_calls, state_input(p, &p->output[o])};
            plan->n_calls++;

            c->n_in = c->n_out = 1;
            c->in = take_views(next, 1);
            c->out = take_views(next, 1);
            c->in[0] = *from;
            c->out[0] = rp_view_of(&p->value[p->output[o].value], to);
            plan->output[o] = to;
            status = rp_plan_follow(plan, &c->in[0].data, plan->root[p->output[o].value], err);
            if (status == RP_OK && plan->function)
                status = rp_plan_follow_base(plan, &c->out[0].data, base, err);
        }
    }
    return status;
}

static void unbind_call(call *c)
{
    rp_free(c->chain);
    rp_free(c->before);
    if (c->region)
        rp_free(c->region->body);
    rp_free(c->region);
}

void rp_plan_unbind(rp_plan *plan)
{
    for (size_t i = 0; i < plan->n_calls; i++)
        unbind_call(&plan->call[i]);
    rp_free(plan->call);
    rp_free(plan->operands);
    rp_free(plan->output);
    rp_free(plan->write);
    plan->write = NULL;
    plan->n_writes = 0;
    plan->call = NULL;
    plan->operands = NULL;
    plan->output = NULL;
    plan->n_calls = 0;
}

/* A product or what has rows, at position k, and the chains in front of it, from `first` on, and behind it. */
static rp_status bind_epilogue(rp_plan *plan, size_t first, size_t k, size_t end, call *c, rp_view **next,
                               rp_error *err)
{
    rp_status status = bind_call(plan, rp_plan_at(plan, k), c, next, err);

    c->rows = !rp_device_has_epilogue(plan->device, rp_plan_at(plan, k)->op->kernel);
    if (status == RP_OK && k > first)
        status = bind_chain(plan, first, k, &c->before, err);
    return status == RP_OK && end > k + 1 ? bind_chain(plan, k + 1, end, &c->chain, err) : status;
}

/* The position of what calls of several parts are for. */
static size_t middle_of(const rp_plan *plan, size_t first, size_t end)
{
    const size_t k = rp_plan_chain_end(plan, first);

    return k < end && plan->mark[plan->order.instr[k]] & MARK_LED ? k : first;
}

static rp_status bind_calls(rp_plan *plan, rp_view **next, const size_t *state, rp_error *err)
{
    rp_status status = RP_OK;

    for (size_t k = 0, end; k < plan->order.n && status == RP_OK; k = end) {
        call *c = &plan->call[plan->n_calls++];

        end = rp_plan_call_end(plan, k);
        note_writes(plan, k, end, state);
        status = rp_plan_chain_end(plan, k) < end ? bind_epilogue(plan, k, middle_of(plan, k, end), end, c, next, err)
                 : end - k > 1                    ? bind_chain(plan, k, end, &c->chain, err)
                 : rp_plan_adds_onto(plan, k)     ? bind_onto(plan, k, c, next, err)
                 : end < plan->order.n && rp_plan_adds_onto(plan, end)
                     ? bind_later(plan, k, c, next)
                     : bind_call(plan, rp_plan_at(plan, k), c, next, err);
    }
    return status;
}

/* Whether regions stand on both sides of the first write to a state. */
static void find_regions_around(rp_plan *plan)
{
    bool before = false, behind = false;

    for (size_t i = 0; i < plan->n_calls && plan->n_writes; i++) {
        before = before || (plan->call[i].region && i < plan->write[0].call);
        behind = behind || (plan->call[i].region && i >= plan->write[0].call);
    }
    plan->regions_around = before && behind;
}

rp_status rp_plan_bind(rp_plan *plan, rp_error *err)
{
    size_t *state = rp_malloc(plan->program->n_values * sizeof *state);
    rp_status status = state ? allocate(plan, err) : rp_no_memory(err);
    rp_view *next = plan->operands;

    for (size_t i = 0; i < plan->bases.n; i++) /* never dereferenced: what follows it is moved before it is used */
        plan->bases.at[i] = (char *)plan->view;
    if (status == RP_OK) {
        if (!plan->function)
            rp_plan_find_lent(plan);
        find_states(plan, state);
        bind_views(plan);
        status = bind_calls(plan, &next, state, err);
    }
    rp_free(state);
    if (status == RP_OK)
        status = bind_outputs(plan, &next, err);
    find_regions_around(plan);
    return status == RP_OK ? rp_plan_bases_ready(plan, err) : status;
}
