/* SPDX-License-Identifier: Apache-2.0
 * What a text costs, before anything of it is computed (audit/FORMAT.md, "prices"): instructions executed, operations
 * on elements, bytes. A function's price is known when it is made, so a program's takes the time of reading it once. */
#include "core/program/function.h"
#include "base/handle.h"

/* Saturating: hostile texts nest loops until the numbers end. */
static uint64_t plus(uint64_t a, uint64_t b)
{
    return a >= rp_price_saturated - b || b >= rp_price_saturated ? rp_price_saturated : a + b;
}

static uint64_t times(uint64_t a, uint64_t b)
{
    return a && b >= (rp_price_saturated + a - 1) / a ? rp_price_saturated : a * b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* What an instruction, an operand or a value of one, a function or a cut that it names, a body, an input or an output
 * costs however few its elements are. */
enum { EACH = 16 };

/* Every value begins at a multiple of 64 bytes. */
static uint64_t room(const rp_type *type)
{
    return (rp_type_bytes(type) + 63) / 64 * 64;
}

/* ---- work of one instruction that is no region ---- */

static uint64_t elements(const rp_program *p, const uint32_t *value, size_t n)
{
    uint64_t count = 0;

    for (size_t i = 0; i < n; i++)
        count = plus(count, rp_type_count(&p->value[value[i]]));
    return count;
}

/* Two operations for each tap of a weight [r, s, c / groups, k], over so many sums of so many channels. */
static uint64_t taps(const rp_type *weight, uint64_t channels, const rp_type *sums)
{
    return times(times(2 * weight->shape[0], times(weight->shape[1], channels)), rp_type_count(sums));
}

static uint64_t bits(uint64_t n)
{
    uint64_t count = 0;

    while (n >> count)
        count++;
    return count;
}

/* Two for each place of a window, those in padding too, for each output. */
static uint64_t windows(const rp_instr *instr, const rp_type *outputs)
{
    const int64_t *window = RP_AT(instr->attr, max_pool, window).list;

    return times(2 * (uint64_t)window[0] * (uint64_t)window[1], rp_type_count(outputs));
}

/* Two for each multiplication of so many products with k or q and with v or g, and what the scores take, for each. */
static uint64_t attending(const rp_type *q, const rp_type *v, uint64_t of_keys, uint64_t of_values, uint64_t scores)
{
    const uint64_t keys = v->shape[v->rank - 2], d = q->shape[q->rank - 1], e = v->shape[v->rank - 1];
    uint64_t rows = 1;

    for (int axis = 0; axis < q->rank - 1; axis++)
        rows = times(rows, q->shape[axis]);
    return times(times(rows, keys), plus(scores, plus(times(2 * of_keys, d), times(2 * of_values, e))));
}

uint64_t rp_instr_work(const rp_program *p, const rp_instr *instr)
{
    const uint64_t made = elements(p, instr->out, (size_t)instr->n_out);
    const uint64_t moved = plus(made, elements(p, instr->in, instr->n_in));
    const rp_type *a = instr->n_in > 0 ? &p->value[instr->in[0]] : NULL;
    const rp_type *b = instr->n_in > 1 ? &p->value[instr->in[1]] : NULL, *y = &p->value[instr->out[0]];

    if (instr->op->alias) /* a copy, if it is not a view */
        return times(2, made);
    switch (instr->op->work) {
    case RP_WORK_ELEMENTS_TWICE:
        return times(2, moved);
    case RP_WORK_TAKEN:
        return plus(times(2, made), elements(p, instr->in + 1, 1));
    case RP_WORK_TRANSFORM:
    case RP_WORK_ORDER:
        return plus(moved, times(2 * bits(a->shape[a->rank - 1]), elements(p, instr->in + instr->n_in - 1, 1)));
    case RP_WORK_KEPT:
        return plus(moved, times(times(16, y->shape[y->rank - 1]), rp_type_count(b)));
    case RP_WORK_MATRIX:
        return plus(moved, times(2 * a->shape[a->rank - 1], rp_type_count(y)));
    case RP_WORK_TAPS:
        return plus(moved, taps(b, b->shape[2], y));
    case RP_WORK_TAPS_OF_INPUT:
        return plus(moved, taps(b, b->shape[3] / (uint64_t)RP_AT(instr->attr, conv2d, groups).i, y));
    case RP_WORK_TAPS_OF_WEIGHT:
        return plus(moved, taps(y, y->shape[2], b));
    case RP_WORK_WINDOWS:
        return plus(moved, windows(instr, y));
    case RP_WORK_WINDOWS_OF_GRADIENT:
        return plus(moved, windows(instr, a));
    case RP_WORK_ATTENTION:
        return plus(moved, attending(a, &p->value[instr->in[2]], 3, 1, 16));
    case RP_WORK_ATTENTION_GRADIENT:
        return plus(moved, attending(b, &p->value[instr->in[3]], 8, 4, 48));
    default:
        return moved;
    }
}

uint64_t rp_instr_arithmetic(const rp_program *p, const rp_instr *instr)
{
    const uint64_t made = elements(p, instr->out, (size_t)instr->n_out);
    const uint64_t moved = plus(made, elements(p, instr->in, instr->n_in));
    uint64_t work, largest = made;

    if (instr->region || instr->op->alias)
        return 0;
    work = rp_instr_work(p, instr);
    for (size_t i = 0; i < instr->n_in; i++) /* of a table that indices point into no more is touched than is made */
        if (!(instr->op->flags & RP_OP_INDEXED) || i == instr->op->indices.operand)
            largest = most(largest, rp_type_count(&p->value[instr->in[i]]));
    return work > moved ? work - moved : largest;
}

/* ---- regions ---- */

/* Partial sums of a tree over n: one for each level. */
static uint64_t partial_sums(size_t n)
{
    uint64_t levels = 1;

    for (size_t covered = 1; covered < n; covered *= 2)
        levels++;
    return levels;
}

static void add_map(const rp_program *p, const rp_instr *instr, rp_price *price)
{
    const rp_region *r = instr->region;
    const size_t shards = rp_region_shards(r);

    for (size_t s = 0; s + 1 < r->n_cuts; s++) {
        const uint64_t rows = rp_shard_rows(r, s);
        const rp_price *f = rows ? &r->function[rp_region_function_of(r, rows)]->price : NULL;

        if (!f)
            continue;
        price->executed = plus(price->executed, f->executed);
        price->work = plus(price->work, f->work);
        price->memory = most(price->memory, f->memory);
    }
    for (size_t i = 0; i < r->n_combine; i++) {
        const rp_type *type = &p->value[instr->out[i]];

        if (r->combine[i] != RP_COMBINE_TREE)
            continue;
        price->work = plus(price->work, times(3 * (shards - 1), rp_type_count(type)));
        price->memory = plus(price->memory, times(partial_sums(shards), room(type)));
    }
}

/* The frames of a region; what it moves itself is added by the caller. */
static rp_price frames(const rp_program *p, const rp_instr *instr)
{
    const rp_region *r = instr->region;
    const rp_price *f = &r->function[0]->price, *g;
    rp_price price = {0};

    switch (r->kind) {
    case RP_CALL:
        return *f;
    case RP_SCAN:
        return (rp_price){times(r->times, f->executed), times(r->times, f->work), f->memory};
    case RP_MAP:
        add_map(p, instr, &price);
        return price;
    case RP_COND:
        for (size_t k = 0; k < r->n_functions; k++) {
            f = &r->function[k]->price;
            price =
                (rp_price){most(price.executed, f->executed), most(price.work, f->work), most(price.memory, f->memory)};
        }
        return price;
    default:
        g = &r->function[1]->price;
        return (rp_price){plus(times(r->times, f->executed), times(r->times + 1, g->executed)),
                          plus(times(r->times, f->work), times(r->times + 1, g->work)), most(f->memory, g->memory)};
    }
}

/* One instruction: what it moves and computes itself, and the frames that it executes. */
static rp_price price_of(const rp_program *p, const rp_instr *instr)
{
    const rp_region *r = instr->region;
    rp_price price = {1, times(EACH, 1 + instr->n_in + (uint64_t)instr->n_out), 0}, inner;

    if (!r) {
        price.work = plus(price.work, rp_instr_work(p, instr));
        return price;
    }
    inner = frames(p, instr);
    price.work = plus(price.work, times(EACH, r->n_functions + r->n_cuts));
    price.work = plus(price.work, elements(p, instr->in, instr->n_in));
    price.work = plus(price.work, elements(p, instr->out, (size_t)instr->n_out));
    return (rp_price){plus(price.executed, inner.executed), plus(price.work, inner.work), inner.memory};
}

uint64_t rp_instr_executed(const rp_program *p, const rp_instr *instr)
{
    return instr->region ? price_of(p, instr).executed : 1;
}

/* What an output costs besides: it is copied or looked at, and takes memory again where it is an input or a view. */
static void add_output(const rp_program *p, const rp_output *output, rp_price *price)
{
    const uint32_t maker = p->maker[output->value];

    price->work = plus(price->work, elements(p, &output->value, 1));
    if (output->kind != RP_OUTPUT_VALUE && (maker == RP_NO_INSTR || p->instr[maker].op->alias))
        price->memory = plus(price->memory, room(&p->value[output->value]));
}

rp_price rp_program_price(const rp_program *p)
{
    rp_price price = {0};
    uint64_t deeper = 0;

    if (!p)
        return (rp_price){0};
    price.work = times(EACH, 1 + p->n_inputs + p->n_outputs);
    for (size_t k = 0; k < p->n_instrs; k++) {
        const rp_price one = price_of(p, &p->instr[k]);

        price.executed = plus(price.executed, one.executed);
        price.work = plus(price.work, one.work);
        deeper = most(deeper, one.memory);
    }
    for (size_t v = 0; v < p->n_values; v++)
        price.memory = plus(price.memory, room(&p->value[v]));
    for (size_t o = 0; o < p->n_outputs; o++)
        add_output(p, &p->output[o], &price);
    price.memory = plus(price.memory, deeper);
    return price;
}
