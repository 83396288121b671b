/* SPDX-License-Identifier: Apache-2.0
 * Scans and their gradients. A text appends a second scan where a gradient needs the history of one that has run, and
 * the function of the gradient begins with the instructions of the one that it derives: a text says what is computed,
 * not what is kept. Here equal scans become one, and what the gradient would compute again is stored by the scan that
 * computes it first (core/run/scans/keep.c). The result is a program that only the plan sees. */
#include "core/run/scans/scans.h"

#include <string.h>

#include "base/memory.h"
#include "kernels/onto.h"

/* ---- equal scans ---- */

static bool same_scan(const scans *s, const rp_instr *a, const rp_instr *b)
{
    const rp_region *x = a->region, *y = b->region;
    bool same = x->function[0] == y->function[0] && x->carried == y->carried && x->sliced == y->sliced &&
                x->times == y->times && x->reverse == y->reverse && a->n_in == b->n_in;

    for (size_t i = 0; i < a->n_in && same; i++)
        same = s->same[a->in[i]] == s->same[b->in[i]];
    return same;
}

static uint64_t hash_of(const scans *s, const rp_index *index, const rp_instr *instr)
{
    uint64_t h = rp_index_hash(index, instr->region->function, sizeof *instr->region->function);

    for (size_t i = 0; i < instr->n_in; i++)
        h = h * 0x9E3779B97F4A7C15u + rp_index_hash(index, &s->same[instr->in[i]], sizeof *s->same);
    return h;
}

/* The values of scan i are those of its leader; history, which the leader may lack, those of the first that has it. */
static void join(scans *s, size_t i)
{
    const rp_instr *instr = instr_of(s, i);
    scan *leader = &s->scan[s->scan[i].leader];
    const size_t outs = rp_function_outs(instr->region->function[0]);

    s->changes = s->changes || s->scan[i].leader != i;
    if (instr->region->history && leader->history == NO_SCAN)
        leader->history = s->scan[i].instr;
    for (size_t k = 0; k < (size_t)instr->n_out; k++)
        s->same[instr->out[k]] = s->p->instr[k < outs ? leader->instr : leader->history].out[k];
}

static rp_status join_scans(scans *s, rp_error *err)
{
    rp_index index = {0};
    rp_status status = RP_OK;

    for (size_t i = 0; i < s->n && status == RP_OK; i++) {
        uint64_t hash;

        if (!rp_index_reserve(&index)) {
            status = rp_no_memory(err);
            break;
        }
        hash = hash_of(s, &index, instr_of(s, i));
        for (rp_index_walk w = rp_index_find(&index, hash); s->scan[i].leader == i && rp_index_next(&w);)
            if (same_scan(s, instr_of(s, w.at), instr_of(s, i)))
                s->scan[i].leader = w.at;
        if (s->scan[i].leader == i)
            rp_index_add(&index, hash, (uint32_t)i);
        join(s, i);
    }
    rp_index_free(&index);
    return status;
}

/* ---- the program that is executed ---- */

typedef struct writer {
    const scans *s;
    rp_program *to;
    uint32_t *number; /* of each instruction of `to`: its place in the other */
    size_t numbered, cap;
    uint32_t *value; /* of each value of the other: what it is here */
} writer;

/* Operands in terms of `to`; those that scan i reads of another stand behind its rows. */
static size_t operands_of(const writer *w, const rp_instr *instr, const scan *of, uint32_t *in)
{
    const size_t rows = of ? instr->region->carried + instr->region->sliced : instr->n_in;
    size_t n = 0;

    for (size_t i = 0; i < rows; i++)
        in[n++] = w->value[instr->in[i]];
    for (size_t i = 0; of && i < of->n_stored; i++)
        in[n++] = of->stored[i];
    for (size_t i = rows; i < instr->n_in; i++)
        in[n++] = w->value[instr->in[i]];
    return n;
}

/* A scan that stands for all its equals: their values are its own. */
static rp_status write_scan(writer *w, scan *sc, uint32_t *in, size_t n_in, uint32_t *out, rp_error *err)
{
    const rp_program *p = w->s->p;
    const rp_instr *instr = &p->instr[sc->instr];
    const size_t outs = rp_function_outs(instr->region->function[0]);
    rp_function *function = sc->function ? sc->function : instr->region->function[0];
    rp_region r = *instr->region;
    rp_status status = RP_OK;

    r.function = &function;
    r.history = sc->history != NO_SCAN;
    r.sliced += n_in - instr->n_in;
    for (size_t i = 0; i < n_in && sc->panels && status == RP_OK; i++)
        if (sc->panels[1 + i])
            status = rp_scans_lay_panels(w->to, sc->panels[1 + i], &in[i], err);
    if (status == RP_OK)
        status = sc->sums ? rp_scans_put_sums(sc->sums, w->to, &r, in, n_in, out, err)
                          : rp_program_add_region(w->to, &r, in, n_in, out, err);
    for (size_t i = 0; i < outs && status == RP_OK; i++)
        w->value[instr->out[i]] = out[i];
    for (size_t i = 0; i < sc->n_stored && status == RP_OK; i++)
        sc->stored[i] = out[outs + i];
    for (size_t i = 0; i < r.carried && r.history && status == RP_OK; i++)
        w->value[p->instr[sc->history].out[outs + i]] = out[outs + sc->n_stored + i];
    return status;
}

/* One of a pair that goes by segments: its values are those of its function, as nothing else reads the history. */
static rp_status write_segments(writer *w, uint32_t i, uint32_t *in, uint32_t *out, rp_error *err)
{
    const scans *s = w->s;
    scan *sc = &s->scan[i];
    const rp_instr *instr = instr_of(s, i);
    const size_t outs = rp_function_outs(instr->region->function[0]);
    rp_status status;

    if (sc->forward != NO_SCAN) {
        status = rp_scans_backward(s, sc->partner, i, w->to, in, out, s->scan[sc->partner].start, err);
    } else {
        sc->start = rp_reallocarray(NULL, 2 * instr->region->carried, sizeof *sc->start);
        status = sc->start ? rp_scans_forward(s, i, sc->partner, w->to, in, out, sc->start, err) : RP_ENOMEM;
    }
    for (size_t k = 0; k < outs && status == RP_OK; k++)
        w->value[instr->out[k]] = out[k];
    return status;
}

static rp_status write_any_scan(writer *w, uint32_t i, rp_error *err)
{
    const scans *s = w->s;
    scan *sc = &s->scan[i];
    const rp_instr *instr = instr_of(s, i);
    const scan *of = sc->forward != NO_SCAN && sc->partner == NO_SCAN ? &s->scan[sc->forward] : NULL;
    const size_t more = (of ? of->n_stored : 0) + sc->n_stored + instr->region->carried;
    uint32_t *in = rp_reallocarray(NULL, instr->n_in + (size_t)instr->n_out + 2 * more, sizeof *in);
    rp_status status;
    size_t n_in;

    if (!in)
        return rp_no_memory(err);
    n_in = operands_of(w, instr, of, in);
    status =
        sc->partner == NO_SCAN ? write_scan(w, sc, in, n_in, in + n_in, err) : write_segments(w, i, in, in + n_in, err);
    rp_free(in);
    return status;
}

/* All that was written for instruction k has its number. */
static rp_status number(writer *w, uint32_t k, rp_error *err)
{
    const size_t n = w->to->n_instrs;

    if (n > w->cap) {
        const size_t cap = 2 * n;
        uint32_t *bigger = rp_reallocarray(w->number, cap, sizeof *bigger);

        if (!bigger)
            return rp_no_memory(err);
        w->number = bigger;
        w->cap = cap;
    }
    while (w->numbered < n)
        w->number[w->numbered++] = k;
    return RP_OK;
}

static rp_status write_instr(writer *w, uint32_t k, rp_error *err)
{
    const scans *s = w->s;
    const rp_instr *instr = &s->p->instr[k];
    const uint32_t i = s->of[k];
    rp_status status;

    if (i != NO_SCAN && s->scan[i].leader != i) {
        for (int n = 0; n < instr->n_out; n++)
            w->value[instr->out[n]] = w->value[s->same[instr->out[n]]];
        return RP_OK;
    }
    status = i == NO_SCAN ? rp_plan_copy_instr(w->to, instr, w->value, err) : write_any_scan(w, i, err);
    return status == RP_OK ? number(w, k, err) : status;
}

static rp_status write_inputs(writer *w, size_t *input, uint32_t before, rp_error *err)
{
    const rp_program *p = w->s->p;
    rp_status status = RP_OK;

    for (; *input < p->n_inputs && p->input[*input].value < before && status == RP_OK; ++*input) {
        const rp_input *in = &p->input[*input];
        const rp_type *type = &p->value[in->value];

        status = in->kind == RP_INPUT_PARAMETER
                     ? rp_program_add_parameter(w->to, type, &w->value[in->value], err)
                     : rp_program_add_input(w->to, in->kind, in->name, type, &w->value[in->value], err);
    }
    return status;
}

static rp_status write_program(writer *w, rp_error *err)
{
    const rp_program *p = w->s->p;
    rp_status status = RP_OK;
    size_t input = 0;

    for (uint32_t k = 0; k < p->n_instrs && status == RP_OK; k++) {
        status = write_inputs(w, &input, p->instr[k].out[0], err);
        if (status == RP_OK)
            status = write_instr(w, k, err);
    }
    if (status == RP_OK)
        status = write_inputs(w, &input, UINT32_MAX, err);
    for (size_t i = 0; i < p->n_outputs && status == RP_OK; i++) {
        const rp_output *o = &p->output[i];

        status = o->kind == RP_OUTPUT_VALUE ? rp_program_add_return(w->to, w->value[o->value], err)
                                            : rp_program_add_output(w->to, o->kind, o->name, w->value[o->value], err);
    }
    return status;
}

/* The plan's program is the one that was written. Limits that the text kept and this would not leave it as it is. */
static rp_status rewrite(rp_plan *plan, const scans *s, rp_error *err)
{
    writer w = {.s = s, .to = rp_program_new()};
    rp_error refused;
    rp_status status;

    w.value = rp_calloc(s->p->n_values, sizeof *w.value);
    status = w.to && w.value ? write_program(&w, &refused) : RP_ENOMEM;
    rp_free(w.value);
    if (status != RP_OK) {
        rp_program_free(w.to);
        rp_free(w.number);
        return status == RP_ENOMEM ? rp_no_memory(err) : RP_OK;
    }
    for (size_t k = 0; k < w.to->n_instrs && plan->number; k++)
        w.number[k] = plan->number[w.number[k]];
    rp_free(plan->number);
    rp_program_free(plan->written);
    plan->number = w.number;
    plan->program = plan->written = w.to;
    return RP_OK;
}

/* ---- all together ---- */

static size_t count_scans(const rp_program *p)
{
    size_t n = 0;

    for (size_t k = 0; k < p->n_instrs; k++)
        n += p->instr[k].region && p->instr[k].region->kind == RP_SCAN;
    return n;
}

static rp_status scans_new(scans *s, const rp_program *p, rp_error *err)
{
    s->scan = rp_calloc(count_scans(p), sizeof *s->scan);
    s->of = rp_reallocarray(NULL, p->n_instrs, sizeof *s->of);
    s->same = rp_reallocarray(NULL, p->n_values, sizeof *s->same);
    s->sliced = rp_reallocarray(NULL, p->n_values, sizeof *s->sliced);
    s->shared = rp_reallocarray(NULL, p->n_values, sizeof *s->shared);
    if (!s->scan || !s->of || !s->same || !s->sliced || !s->shared)
        return rp_no_memory(err);
    for (uint32_t v = 0; v < p->n_values; v++) {
        s->same[v] = v;
        s->sliced[v] = s->shared[v] = NO_SCAN;
    }
    for (uint32_t k = 0; k < p->n_instrs; k++) {
        s->of[k] = NO_SCAN;
        if (!p->instr[k].region || p->instr[k].region->kind != RP_SCAN)
            continue;
        s->of[k] = (uint32_t)s->n;
        s->scan[s->n] =
            (scan){.instr = k, .leader = (uint32_t)s->n, .history = NO_SCAN, .forward = NO_SCAN, .partner = NO_SCAN};
        s->n++;
    }
    return RP_OK;
}

static void scans_free(scans *s)
{
    for (size_t i = 0; s->scan && i < s->n; i++) {
        rp_free(s->scan[i].kept);
        rp_free(s->scan[i].stored);
        rp_free(s->scan[i].start);
        rp_free(s->scan[i].panels);
        rp_function_release(s->scan[i].function);
        rp_scan_sums_free(s->scan[i].sums);
    }
    rp_free(s->scan);
    rp_free(s->of);
    rp_free(s->same);
    rp_free(s->sliced);
    rp_free(s->shared);
    rp_free(s->reader);
}

/* Outputs read too; scans that are one read once. */
static rp_status find_readers(scans *s, rp_error *err)
{
    const rp_program *p = s->p;

    s->reader = rp_reallocarray(NULL, p->n_values, sizeof *s->reader);
    if (!s->reader)
        return rp_no_memory(err);
    memset(s->reader, 0xFF, p->n_values * sizeof *s->reader);
    for (uint32_t k = 0; k < p->n_instrs; k++)
        for (size_t i = 0; i < p->instr[k].n_in; i++) {
            uint32_t *reader = &s->reader[s->same[p->instr[k].in[i]]];
            const uint32_t by = s->of[k] == NO_SCAN ? k : s->scan[s->scan[s->of[k]].leader].instr;

            *reader = *reader == NO_SCAN || *reader == by ? by : SEVERAL;
        }
    for (size_t o = 0; o < p->n_outputs; o++)
        s->reader[s->same[p->output[o].value]] = SEVERAL;
    return RP_OK;
}

/* Whether a scan of nothing but additions of products is one launch. */
static bool adds_at_once(const rp_plan *plan)
{
    const unsigned passes = RP_PASS_SUMS | RP_PASS_FUSE | RP_PASS_INPLACE;

    return (plan->passes & passes) == passes && plan->device && rp_device_has_onto(plan->device);
}

rp_status rp_plan_scans(rp_plan *plan, rp_error *err)
{
    scans s = {.p = plan->program, .room = plan->top->stored};
    const bool made = plan->function && plan->function->number; /* a segment is not cut again */
    rp_status status;

    if (!(plan->passes & RP_PASS_SCANS) || !count_scans(plan->program))
        return RP_OK;
    status = scans_new(&s, plan->program, err);
    if (status == RP_OK)
        status = join_scans(&s, err);
    s.every = made || plan->top->every < 2 ? 0 : plan->top->every;
    if (status == RP_OK && s.every)
        status = find_readers(&s, err);
    if (status == RP_OK)
        status = rp_scans_keep(&s, err);
    if (status == RP_OK && plan->passes & RP_PASS_PANELS && plan->device && rp_device_shares_memory(plan->device))
        status = rp_scans_panels(&s, err);
    if (status == RP_OK && adds_at_once(plan))
        status = rp_scans_sums(&s, err);
    if (status == RP_OK && s.changes)
        status = rewrite(plan, &s, err);
    plan->top->stores = plan->top->stores || s.room < plan->top->stored;
    plan->top->lays = plan->top->lays || s.lays;
    plan->top->stored = s.room;
    scans_free(&s);
    return status;
}

rp_status rp_plan_scans_of(rp_program **out, const rp_program *p, size_t stored, rp_error *err)
{
    rp_plan plan = {.program = p, .passes = RP_PASS_SCANS, .stored = stored};
    rp_status status;

    plan.top = &plan;
    status = rp_plan_scans(&plan, err);
    *out = plan.written;
    rp_free(plan.number);
    return status;
}
