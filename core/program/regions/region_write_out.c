/* SPDX-License-Identifier: Apache-2.0
 * Calls and maps written out: the instructions of their frames, in order, in the place of the region (CONTRACT 11.6,
 * transparency). What is recorded stays the region; only a plan sees this form, so that its passes work across frames.
 */
#include <string.h>

#include "base/handle.h"
#include "base/memory.h"
#include "core/program/function.h"

enum { OPERANDS_EACH = 32 }; /* of an instruction, on an average, beside those that the text itself has */
enum { LEVELS_MAX = 20 };    /* of a tree over the shards of a map: 2^16 at most */

typedef struct writer {
    const rp_program *from;
    const uint32_t *names; /* of its instructions; NULL: their places */
    rp_program *to;
    uint32_t *number; /* of each instruction of `to`: its number where the text has it */
    size_t cap;
    size_t budget, values;         /* instructions and values that `to` may have */
    size_t operands, operands_max; /* of its instructions, and how many they may be */
} writer;

/* ---- instructions ---- */

static rp_status add_number(writer *w, size_t number, rp_error *err)
{
    const size_t n = w->to->n_instrs;

    if (n > w->cap) {
        const size_t wanted = w->cap ? 2 * w->cap : 256;
        uint32_t *bigger = rp_reallocarray(w->number, wanted, sizeof *bigger);

        if (!bigger)
            return rp_no_memory(err);
        w->number = bigger;
        w->cap = wanted;
    }
    w->number[n - 1] = (uint32_t)number;
    w->operands += w->to->instr[n - 1].n_in;
    /* regions that stay have many values, and a concat of a function that is called often many operands */
    return n > w->budget || w->to->n_values > w->values || w->operands > w->operands_max ? RP_EUNSUPPORTED : RP_OK;
}

static rp_status add(writer *w, rp_op_id id, const rp_attr *attr, const uint32_t *in, size_t n_in, uint32_t *out,
                     size_t number, rp_error *err)
{
    uint32_t made[RP_MAX_OUT];
    rp_status status = rp_program_add_instr(w->to, rp_op_get(id), attr, in, n_in, made, err);

    *out = made[0];
    return status == RP_OK ? add_number(w, number, err) : status;
}

static rp_status add_index(writer *w, uint64_t index, uint32_t *out, size_t number, rp_error *err)
{
    rp_attr attr[RP_MAX_ATTR] = {{0}};

    RP_AT(attr, fill, value).r = (double)index; /* exact: indices are at most 2^40 + 2^16 */
    RP_AT(attr, fill, dtype).i = RP_I64;
    return add(w, RP_OP_fill, attr, NULL, 0, out, number, err);
}

/* Rows [begin, end) of a value. */
static rp_status add_rows(writer *w, uint32_t x, uint64_t begin, uint64_t end, uint32_t *out, size_t number,
                          rp_error *err)
{
    const rp_type *type = &w->to->value[x];
    rp_attr attr[RP_MAX_ATTR] = {{0}};

    RP_AT(attr, slice, begin).n = RP_AT(attr, slice, end).n = type->rank;
    for (int i = 0; i < type->rank; i++)
        RP_AT(attr, slice, end).list[i] = (int64_t)type->shape[i];
    RP_AT(attr, slice, begin).list[0] = (int64_t)begin;
    RP_AT(attr, slice, end).list[0] = (int64_t)end;
    return add(w, RP_OP_slice, attr, &x, 1, out, number, err);
}

/* A new axis of length 1 in front, or axis 0 away. */
static rp_status add_shape(writer *w, uint32_t x, int more, uint32_t *out, size_t number, rp_error *err)
{
    const rp_type type = w->to->value[x];
    rp_attr attr[RP_MAX_ATTR] = {{0}};

    RP_AT(attr, reshape, shape).n = type.rank + more;
    RP_AT(attr, reshape, shape).list[0] = 1;
    for (int i = 0; i < type.rank; i++)
        if (i + more >= 0)
            RP_AT(attr, reshape, shape).list[i + more] = (int64_t)type.shape[i];
    return add(w, RP_OP_reshape, attr, &x, 1, out, number, err);
}

static rp_status add_concat(writer *w, const uint32_t *part, size_t n, uint32_t *out, size_t number, rp_error *err)
{
    rp_attr attr[RP_MAX_ATTR] = {{0}};

    return add(w, RP_OP_concat, attr, part, n, out, number, err);
}

/* ---- frames ---- */

static rp_status write_instr(writer *w, const rp_program *from, size_t k, uint32_t *value, rp_error *err);

/* One frame: param and out are values of what is written. */
static rp_status write_frame(writer *w, const rp_function *f, const uint32_t *param, uint32_t *out, rp_error *err)
{
    uint32_t *value = rp_reallocarray(NULL, f->body->n_values, sizeof *value);
    rp_status status = value ? RP_OK : rp_no_memory(err);

    for (size_t i = 0; i < rp_function_params(f) && status == RP_OK; i++)
        value[i] = param[i];
    for (size_t k = 0; k < f->body->n_instrs && status == RP_OK; k++)
        status = write_instr(w, f->body, k, value, err);
    for (size_t i = 0; i < rp_function_outs(f) && status == RP_OK; i++)
        out[i] = value[f->body->output[i].value];
    rp_free(value);
    return status;
}

/* Partial sums of one output, of falling levels: as region_run.c adds them, so that few are alive at a time. */
typedef struct tree {
    uint32_t sum[LEVELS_MAX];
    unsigned char level[LEVELS_MAX];
    size_t n;
} tree;

static rp_status add_last(writer *w, tree *t, size_t number, rp_error *err)
{
    t->n--;
    return add(w, RP_OP_add, NULL, &t->sum[t->n - 1], 2, &t->sum[t->n - 1], number, err);
}

static rp_status tree_grow(writer *w, tree *t, uint32_t value, size_t number, rp_error *err)
{
    rp_status status = RP_OK;

    t->sum[t->n] = value;
    t->level[t->n++] = 0;
    while (status == RP_OK && t->n > 1 && t->level[t->n - 1] == t->level[t->n - 2]) {
        status = add_last(w, t, number, err);
        t->level[t->n - 1]++;
    }
    return status;
}

static rp_status tree_end(writer *w, tree *t, size_t number, uint32_t *out, rp_error *err)
{
    rp_status status = RP_OK;

    while (status == RP_OK && t->n > 1)
        status = add_last(w, t, number, err);
    *out = t->sum[0];
    return status;
}

/* A map that is being written: its operands, one frame's parameters and outputs, what the frames gave so far. */
typedef struct mapping {
    const rp_region *region;
    size_t number, n_in, shards;
    const uint32_t *in;
    uint32_t *param, *out;
    tree *trees;    /* of each output */
    uint32_t *part; /* of each output and shard, where it is no tree */
} mapping;

/* Shard s, the j-th that is not empty. */
static rp_status write_shard(writer *w, mapping *m, size_t s, size_t j, rp_error *err)
{
    const rp_region *r = m->region;
    rp_status status = add_index(w, r->first + s, &m->param[0], m->number, err);

    for (size_t i = 0; i < r->sliced && status == RP_OK; i++)
        status = add_rows(w, m->in[i], r->cuts[s], r->cuts[s + 1], &m->param[1 + i], m->number, err);
    if (status == RP_OK)
        status = write_frame(w, r->function[rp_region_function_of(r, rp_shard_rows(r, s))], m->param, m->out, err);
    for (size_t i = 0; i < r->n_combine && status == RP_OK; i++) {
        if (r->combine[i] == RP_COMBINE_TREE)
            status = tree_grow(w, &m->trees[i], m->out[i], m->number, err);
        else
            status = add_shape(w, m->out[i], 1, &m->part[i * m->shards + j], m->number, err);
    }
    return status;
}

static rp_status write_shards(writer *w, mapping *m, uint32_t *out, rp_error *err)
{
    const rp_region *r = m->region;
    rp_status status = RP_OK;

    memcpy(m->param + 1 + r->sliced, m->in + r->sliced, (m->n_in - r->sliced) * sizeof *m->in);
    for (size_t s = 0, j = 0; s + 1 < r->n_cuts && status == RP_OK; s++)
        if (rp_shard_rows(r, s))
            status = write_shard(w, m, s, j++, err);
    for (size_t i = 0; i < r->n_combine && status == RP_OK; i++)
        status = r->combine[i] == RP_COMBINE_TREE
                     ? tree_end(w, &m->trees[i], m->number, &out[i], err)
                     : add_concat(w, &m->part[i * m->shards], m->shards, &out[i], m->number, err);
    return status;
}

/* Every output of every shard is made by an instruction, so the price bounds m.part as well. */
static rp_status write_map(writer *w, const rp_region *r, size_t number, const uint32_t *in, size_t n_in, uint32_t *out,
                           rp_error *err)
{
    mapping m = {.region = r, .number = number, .n_in = n_in, .shards = rp_region_shards(r), .in = in};
    rp_status status;

    m.param = rp_reallocarray(NULL, n_in + 1, sizeof *m.param);
    m.out = rp_reallocarray(NULL, r->n_combine, sizeof *m.out);
    m.trees = rp_calloc(r->n_combine, sizeof *m.trees);
    m.part = rp_reallocarray(NULL, r->n_combine * m.shards, sizeof *m.part);
    status = m.param && m.out && m.trees && m.part ? write_shards(w, &m, out, err) : rp_no_memory(err);
    rp_free(m.param);
    rp_free(m.out);
    rp_free(m.trees);
    rp_free(m.part);
    return status;
}

/* ---- programs ---- */

/* A map's frames put rows of `concat` in their places; written out, all of them would be held twice. */
static bool has_rows(const rp_region *r)
{
    for (size_t i = 0; i < r->n_combine; i++)
        if (r->combine[i] == RP_COMBINE_CONCAT)
            return true;
    return false;
}

static bool is_written(const rp_instr *instr)
{
    const rp_region *r = instr->region;

    return r && (r->kind == RP_CALL || (r->kind == RP_MAP && !has_rows(r)));
}

/* The value of an i64 scalar that a fill makes; false: it is none. */
static bool scalar_of(const writer *w, uint32_t x, uint64_t *value)
{
    const rp_instr *instr = w->to->maker[x] == RP_NO_INSTR ? NULL : &w->to->instr[w->to->maker[x]];

    if (!instr || instr->op->role != RP_PLAYS_FILL || w->to->value[x].dtype != RP_I64 || w->to->value[x].rank)
        return false;
    *value = (uint64_t)RP_AT(instr->attr, fill, value).i;
    return true;
}

/* index * n, by which recipes number the streams of shards: known here, as the index is. Both are below 2^26, and so
 * exact as a fill's value; not negative, as a negative one is above 2^63. */
static bool is_known_product(const writer *w, const rp_instr *instr, const uint32_t *in, uint64_t *product)
{
    uint64_t a, b;

    if (instr->op->role != RP_PLAYS_MUL || !scalar_of(w, in[0], &a) || !scalar_of(w, in[1], &b) || a >> 26 || b >> 26)
        return false;
    *product = a * b;
    return true;
}

static rp_status write_on(writer *w, const rp_instr *instr, size_t number, const uint32_t *in, uint32_t *out,
                          rp_error *err)
{
    uint64_t product;
    rp_status status;

    if (is_known_product(w, instr, in, &product))
        return add_index(w, product, out, number, err);
    if (is_written(instr))
        return instr->region->kind == RP_CALL ? write_frame(w, instr->region->function[0], in, out, err)
                                              : write_map(w, instr->region, number, in, instr->n_in, out, err);
    status = rp_program_add_like(w->to, instr, in, out, err);
    return status == RP_OK ? add_number(w, number, err) : status;
}

/* Instruction k of a program or body, whose values stand for those of `value`. */
static rp_status write_instr(writer *w, const rp_program *from, size_t k, uint32_t *value, rp_error *err)
{
    const rp_instr *instr = &from->instr[k];
    const size_t n = instr->n_in + (size_t)instr->n_out;
    uint32_t few[16], *in = n <= 16 ? few : rp_reallocarray(NULL, n, sizeof *in), *out;
    rp_status status;

    if (!in)
        return rp_no_memory(err);
    out = in + instr->n_in;
    for (size_t i = 0; i < instr->n_in; i++)
        in[i] = value[instr->in[i]];
    status = write_on(w, instr, from == w->from && w->names ? w->names[k] : k, in, out, err);
    for (int i = 0; i < instr->n_out && status == RP_OK; i++)
        value[instr->out[i]] = out[i];
    if (in != few)
        rp_free(in);
    return status;
}

/* An output that is a region's value but only a view in a frame gets memory of its own, as the region gave it. */
static rp_status own(writer *w, const rp_program *p, uint32_t of, uint32_t *value, rp_error *err)
{
    const uint32_t maker = p->maker[of];
    const int rank = w->to->value[*value].rank;
    rp_status status = RP_OK;

    if (maker == RP_NO_INSTR || !is_written(&p->instr[maker]) || !w->to->instr[w->to->maker[*value]].op->alias)
        return RP_OK;
    if (rank == 0)
        status = add_shape(w, *value, 1, value, maker, err);
    if (status == RP_OK)
        status = add_concat(w, value, 1, value, maker, err);
    return status == RP_OK && rank == 0 ? add_shape(w, *value, -1, value, maker, err) : status;
}

static rp_status write_program(writer *w, const rp_program *p, uint32_t *value, rp_error *err)
{
    rp_status status = RP_OK;
    size_t inputs = 0;

    for (size_t k = 0; status == RP_OK && (inputs < p->n_inputs || k < p->n_instrs);) {
        const rp_input *in = &p->input[inputs];

        if (inputs < p->n_inputs && (k == p->n_instrs || in->value < p->instr[k].out[0])) {
            status =
                in->kind == RP_INPUT_PARAMETER
                    ? rp_program_add_parameter(w->to, &p->value[in->value], &value[in->value], err)
                    : rp_program_add_input(w->to, in->kind, in->name, &p->value[in->value], &value[in->value], err);
            inputs++;
        } else {
            status = write_instr(w, p, k++, value, err);
        }
    }
    for (size_t i = 0; i < p->n_outputs && status == RP_OK; i++) {
        const rp_output *o = &p->output[i];
        uint32_t made = value[o->value];

        if (o->kind == RP_OUTPUT_VALUE) { /* whoever executes a body puts its outputs where they go */
            status = rp_program_add_return(w->to, made, err);
            continue;
        }
        status = own(w, p, o->value, &made, err);
        if (status == RP_OK)
            status = rp_program_add_output(w->to, o->kind, o->name, made, err);
    }
    return status;
}

static bool has_written(const rp_program *p)
{
    for (size_t k = 0; k < p->n_instrs; k++)
        if (is_written(&p->instr[k]))
            return true;
    return false;
}

rp_status rp_program_write_out(const rp_program *p, const uint32_t *names, size_t budget, rp_program **out,
                               uint32_t **number, rp_error *err)
{
    writer w = {.from = p,
                .names = names,
                .budget = budget,
                .values = p->n_values + RP_MAX_OUT * budget,
                .operands_max = OPERANDS_EACH * budget};
    uint32_t *value;
    rp_error too_much; /* nobody sees it: the program stays as it is */
    rp_status status;

    *out = NULL;
    *number = NULL;
    for (size_t k = 0; k < p->n_instrs; k++)
        w.operands_max += p->instr[k].n_in;
    if (!has_written(p) || rp_program_price(p).executed > budget ||
        w.values > RP_PROGRAM_MAX_VALUES - RP_REGION_OPERANDS_MAX)
        return RP_OK;
    w.to = rp_program_new();
    value = rp_reallocarray(NULL, p->n_values, sizeof *value);
    status = w.to && value ? write_program(&w, p, value, &too_much) : RP_ENOMEM;
    rp_free(value);
    if (status == RP_OK) {
        *out = w.to;
        *number = w.number;
        return RP_OK;
    }
    rp_program_free(w.to);
    rp_free(w.number);
    return status == RP_ENOMEM ? rp_no_memory(err) : RP_OK;
}
