/* SPDX-License-Identifier: Apache-2.0
 * Executing the regions of eager steps: by their plans, by what a scan has kept, or, the first time and where neither
 * can be had, frame by frame on the tape (core/program/frames.c). */
#include "core/run/eager/eager.h"

#include <string.h>

#include "base/memory.h"
#include "core/run/eager/pattern.h"

/* A scan of this step that gradients may come for. */
typedef struct scanned {
    pattern *of;
    uint32_t instr;
    uint32_t again;    /* the same scan with its history; RP_NO_INSTR: it has not come */
    rp_cached **piece; /* what it kept: of each value of the pair's `forward` beyond the scan's own; NULL: nothing */
    size_t n_pieces;
} scanned;

struct rp_eager {
    rp_graph *graph;
    patterns patterns;
    size_t stored;
    scanned *scan;
    size_t n, cap;
    rp_eager_counts counts;
};

static const rp_instr *instr_at(const rp_eager *e, uint32_t k)
{
    return &e->graph->program->instr[k];
}

static uint32_t place_of(const rp_eager *e, const rp_instr *instr)
{
    return (uint32_t)(instr - e->graph->program->instr);
}

/* ---- what is kept ---- */

static void give_up(rp_eager *e, scanned *s)
{
    for (size_t i = 0; s->piece && i < s->n_pieces; i++)
        if (s->piece[i])
            rp_device_cache_give(e->graph->cache, s->piece[i]);
    rp_free(s->piece);
    s->piece = NULL;
}

/* Room for it, or none: the gradient then computes again. */
static void hold(rp_eager *e, scanned *s)
{
    const pair *x = s->of->pair;
    const rp_function *f = x->forward.function;

    s->n_pieces = x->stored + x->history;
    s->piece = rp_calloc(s->n_pieces, sizeof *s->piece);
    for (size_t i = 0; s->piece && i < s->n_pieces; i++)
        if (rp_device_cache_take(e->graph->cache, &s->piece[i], rp_type_bytes(rp_function_out(f, x->outs + i)), NULL) !=
            RP_OK) {
            s->piece[i] = NULL;
            give_up(e, s);
        }
}

static scanned *note_scan(rp_eager *e, pattern *of, const rp_instr *instr)
{
    if (e->n == e->cap) {
        const size_t cap = e->cap ? 2 * e->cap : 16;
        scanned *bigger = rp_reallocarray(e->scan, cap, sizeof *bigger);

        if (!bigger)
            return NULL;
        e->scan = bigger;
        e->cap = cap;
    }
    e->scan[e->n] = (scanned){.of = of, .instr = place_of(e, instr), .again = RP_NO_INSTR};
    return &e->scan[e->n++];
}

/* ---- plans ---- */

/* A plan takes what lies in order: other operands are copied, in[i] then is the copy. */
static rp_status pack(rp_eager *e, const rp_function *f, rp_view *in, rp_cached **copy)
{
    rp_status status = RP_OK;

    for (size_t i = 0; i < rp_function_params(f) && status == RP_OK; i++) {
        const rp_type *type = rp_function_param(f, i);
        rp_view packed;

        if (rp_view_contiguous(&in[i]))
            continue;
        status = rp_device_cache_take(e->graph->cache, &copy[i], rp_type_bytes(type), &e->graph->error);
        if (status != RP_OK)
            break;
        packed = rp_view_of(type, copy[i]->memory);
        status = rp_execute_copy(e->graph->device, &in[i], &packed, &e->graph->error);
        in[i] = packed;
    }
    return status;
}

/* in: changes. */
static rp_status run_planned(rp_eager *e, const planned *p, const rp_instr *instr, rp_view *in, const rp_view *out)
{
    rp_device_cache *cache = e->graph->cache;
    const size_t n = rp_function_params(p->function);
    rp_cached **copy = rp_calloc(n, sizeof *copy), *arena = NULL;
    rp_status status = copy ? pack(e, p->function, in, copy) : rp_no_memory(&e->graph->error);

    if (status == RP_OK)
        status = rp_device_cache_take(cache, &arena, rp_plan_arena_bytes(p->plan), &e->graph->error);
    if (status == RP_OK)
        status = rp_plan_run_function(p->plan, arena->memory, in, out, place_of(e, instr), &e->graph->error);
    if (arena)
        rp_device_cache_give(cache, arena);
    for (size_t i = 0; copy && i < n; i++)
        if (copy[i])
            rp_device_cache_give(cache, copy[i]);
    rp_free(copy);
    e->counts.planned += status == RP_OK;
    return status;
}

/* Planned when it comes for the second time: of what comes once only a copy of the region is held. */
static rp_status run_alone(rp_eager *e, pattern *of, const rp_instr *instr, rp_view *in, const rp_view *out)
{
    if (of && of->seen > 1 && !of->own.plan && !of->unplanned)
        of->unplanned = rp_planned_new(&of->own, e->graph->program, instr, e->graph->device, e->stored, NULL) != RP_OK;
    return of && of->own.plan ? run_planned(e, &of->own, instr, in, out) : rp_frames_eager(e->graph, instr, in, out);
}

/* ---- scans and their gradients ---- */

/* The scan, with what its gradient will read. */
static rp_status run_keeping(rp_eager *e, scanned *s, const rp_instr *instr, rp_view *in, const rp_view *out)
{
    const pair *x = s->of->pair;
    const size_t n = rp_function_outs(x->forward.function);
    rp_view *all = rp_reallocarray(NULL, n, sizeof *all);
    rp_status status;

    if (!all)
        return rp_no_memory(&e->graph->error);
    memcpy(all, out, x->outs * sizeof *all);
    for (size_t i = x->outs; i < n; i++)
        all[i] = rp_view_of(rp_function_out(x->forward.function, i), s->piece[i - x->outs]->memory);
    status = run_planned(e, &x->forward, instr, in, all);
    rp_free(all);
    if (status != RP_OK)
        give_up(e, s);
    return status;
}

static rp_status run_first(rp_eager *e, pattern *of, const rp_instr *instr, rp_view *in, const rp_view *out)
{
    scanned *s = e->graph->swept ? NULL : note_scan(e, of, instr);

    if (s && of->pair && of->pair->idle < PAIR_IDLE_MAX)
        hold(e, s);
    return s && s->piece ? run_keeping(e, s, instr, in, out) : run_alone(e, of, instr, in, out);
}

/* The scan that this one is again; NULL: none of the step. */
static scanned *first_of(rp_eager *e, const rp_instr *again)
{
    for (size_t i = e->n; i-- > 0;) {
        const rp_instr *scan = instr_at(e, e->scan[i].instr);
        rp_region r = *again->region;

        r.history = false;
        if (scan != again && scan->n_in == again->n_in &&
            memcmp(scan->in, again->in, scan->n_in * sizeof *scan->in) == 0 && rp_region_equal(scan->region, &r))
            return &e->scan[i];
    }
    return NULL;
}

/* Of f again, with history, what the first one has kept: its values, if they are all there still, and its history.
 * *done: they were. */
static rp_status take_kept(rp_eager *e, scanned *s, const rp_instr *again, const rp_view *out, bool *done)
{
    const rp_instr *scan = instr_at(e, s->instr);
    const pair *x = s->of->pair;
    rp_status status = RP_OK;

    *done = s->piece != NULL;
    for (size_t i = 0; *done && i < x->outs; i++)
        *done = e->graph->view[scan->out[i]].data != NULL;
    for (size_t i = 0; *done && i < x->history; i++)
        *done = s->piece[x->stored + i] != NULL;
    if (!*done)
        return RP_OK;
    for (size_t i = 0; i < x->outs && status == RP_OK; i++)
        status = rp_execute_copy(e->graph->device, &e->graph->view[scan->out[i]], &out[i], &e->graph->error);
    for (size_t i = 0; i < x->history && status == RP_OK; i++) {
        rp_cached **piece = &s->piece[x->stored + i];

        rp_graph_exchange(e->graph, again->out[x->outs + i], piece);
        rp_device_cache_give(e->graph->cache, *piece);
        *piece = NULL;
    }
    return status;
}

static rp_status run_again(rp_eager *e, pattern *of, const rp_instr *instr, rp_view *in, const rp_view *out)
{
    scanned *s = first_of(e, instr);
    bool done = false;
    rp_status status = RP_OK;

    if (s) {
        s->again = place_of(e, instr);
        status = take_kept(e, s, instr, out, &done);
    }
    return done || status != RP_OK ? status : run_alone(e, of, instr, in, out);
}

/* The scan whose history an operand of rows is; NULL: no operand is any's. */
static scanned *read_by(rp_eager *e, const rp_instr *instr)
{
    const rp_region *r = instr->region;

    for (size_t i = r->carried; i < r->carried + r->sliced; i++) {
        const uint32_t maker = e->graph->program->maker[instr->in[i]];

        for (size_t k = 0; k < e->n && maker != RP_NO_INSTR; k++)
            if (e->scan[k].again == maker)
                return &e->scan[k];
    }
    return NULL;
}

static rp_status run_rest(rp_eager *e, scanned *s, const rp_instr *instr, const rp_view *in, const rp_view *out)
{
    const pair *x = s->of->pair;
    const rp_function *f = x->forward.function;
    const size_t n = rp_function_params(x->backward.function);
    rp_view *operand = rp_reallocarray(NULL, n, sizeof *operand);
    rp_status status;

    if (!operand)
        return rp_no_memory(&e->graph->error);
    for (size_t i = 0; i < n; i++)
        operand[i] = x->from[i] < x->n_in ? in[x->from[i]]
                                          : rp_view_of(rp_function_out(f, x->outs + x->from[i] - x->n_in),
                                                       s->piece[x->from[i] - x->n_in]->memory);
    status = run_planned(e, &x->backward, instr, operand, out);
    rp_free(operand);
    e->counts.kept += status == RP_OK;
    give_up(e, s);
    return status;
}

/* Another gradient than the last time, or the first: the next step knows. */
static void learn(rp_eager *e, scanned *s, const rp_instr *instr)
{
    const rp_instr *scan = instr_at(e, s->instr), *again = instr_at(e, s->again);
    pair *found = NULL;

    give_up(e, s);
    for (size_t i = 0; i < e->n; i++)
        if (e->scan[i].of == s->of && e->scan[i].piece) /* another one of this step has kept what the old pair says */
            return;
    (void)rp_pair_new(&found, e->graph->program, scan, again, instr, e->graph->device, e->stored, NULL);
    if (!found)
        return;
    rp_pair_free(s->of->pair);
    s->of->pair = found;
}

static rp_status run_scan(rp_eager *e, pattern *of, const rp_instr *instr, rp_view *in, const rp_view *out)
{
    scanned *s;

    if (instr->region->history)
        return run_again(e, of, instr, in, out);
    s = e->stored ? read_by(e, instr) : NULL;
    if (!s)
        return run_first(e, of, instr, in, out);
    if (s->of->pair && rp_pair_fits(s->of->pair, instr_at(e, s->instr), instr_at(e, s->again), instr)) {
        s->of->pair->idle = 0;
        if (s->piece)
            return run_rest(e, s, instr, in, out);
    } else {
        learn(e, s, instr);
    }
    return run_alone(e, of, instr, in, out);
}

/* ---- the graph's regions ---- */

static rp_status run_region(void *self, const rp_instr *instr, rp_view *in, const rp_view *out)
{
    rp_eager *e = self;
    /* what an index before the region did wrong is told before the region can be blamed for it */
    rp_status status = rp_graph_settle(e->graph, &e->graph->error);
    pattern *of = status == RP_OK ? rp_pattern_of(&e->patterns, e->graph->program, instr) : NULL;

    if (status != RP_OK)
        return status;
    return of && instr->region->kind == RP_SCAN && instr->region->times ? run_scan(e, of, instr, in, out)
                                                                        : run_alone(e, of, instr, in, out);
}

/* What came after instructions that stay is as if it had not come. */
static void forget_from(void *self, size_t length)
{
    rp_eager *e = self;

    size_t kept = 0;

    for (size_t i = 0; i < e->n; i++) { /* in the order of their execution, which may be a later one's again */
        scanned s = e->scan[i];

        if (s.instr >= length) {
            give_up(e, &s);
            continue;
        }
        if (s.again != RP_NO_INSTR && s.again >= length)
            s.again = RP_NO_INSTR;
        e->scan[kept++] = s;
    }
    e->n = kept;
}

rp_status rp_eager_new(rp_eager **out, rp_graph *graph, size_t stored, rp_error *err)
{
    rp_eager *e = *out = rp_calloc(1, sizeof *e);

    if (!e)
        return rp_no_memory(err);
    e->graph = graph;
    e->stored = stored;
    graph->regions = (rp_graph_regions){run_region, e, forget_from};
    return RP_OK;
}

void rp_eager_turn(rp_eager *e)
{
    for (size_t i = 0; i < e->n; i++) {
        pair *x = e->scan[i].of->pair;

        if (e->scan[i].piece && x && x->idle < PAIR_IDLE_MAX)
            x->idle++;
        give_up(e, &e->scan[i]);
    }
    e->n = 0;
    e->patterns.turn++;
}

rp_eager_counts rp_eager_count(const rp_eager *e)
{
    return e->counts;
}

void rp_eager_free(rp_eager *e)
{
    if (!e)
        return;
    rp_eager_turn(e);
    rp_patterns_free(&e->patterns);
    e->graph->regions = (rp_graph_regions){0};
    rp_free(e->scan);
    rp_free(e);
}
