/* SPDX-License-Identifier: Apache-2.0
 * The clock of a profile. Everything is timed once: a row has what it took without those inside it, a step what none of
 * its rows and no observer took, and the time between steps the rest, so that all rows together are the wall time. */
#include <string.h>

#include "base/clock.h"
#include "base/handle.h"
#include "base/memory.h"
#include "core/run/profile/profile.h"
#include "core/run/run_private.h"
#include "kernels/limits.h"

static void note_event(rp_profile *p, uint64_t begin, uint64_t end, uint32_t entry, uint32_t row)
{
    if (!p->options.trace)
        return;
    if (p->n_events == p->cap_events && p->cap_events < RP_PROFILE_EVENTS) {
        const size_t wanted = p->cap_events ? 2 * p->cap_events : 1024;
        rp_profile_event *bigger = rp_reallocarray(p->event, wanted, sizeof *bigger);

        if (bigger) {
            p->event = bigger;
            p->cap_events = wanted;
        }
    }
    if (p->n_events == p->cap_events)
        p->dropped++;
    else
        p->event[p->n_events++] = (rp_profile_event){begin - p->began, end - p->began, entry, row};
}

/* ---- entries ---- */

/* n_entries: there is no memory for it. */
static size_t entry_of(rp_profile *p, const rp_plan *plan)
{
    const uint64_t serial = plan ? p->serial : 0;

    if (p->last < p->n_entries && p->entry[p->last].plan == plan && p->entry[p->last].serial == serial)
        return p->last;
    for (size_t i = p->n_entries; i-- > 0;) /* those of the program that runs now came last, if it is new */
        if (p->entry[i].plan == plan && p->entry[i].serial == serial)
            return p->last = i;
    if (p->n_entries == p->cap_entries) {
        const size_t wanted = p->cap_entries ? 2 * p->cap_entries : 8;
        rp_profile_entry *bigger = rp_reallocarray(p->entry, wanted, sizeof *bigger);

        if (!bigger)
            return p->n_entries;
        p->entry = bigger;
        p->cap_entries = wanted;
    }
    p->entry[p->n_entries] = (rp_profile_entry){.plan = plan, .serial = serial};
    if (plan && !rp_profile_describe_plan(&p->entry[p->n_entries], plan)) {
        p->failed = true; /* what there is of it is freed with the profile */
        return p->last = p->n_entries++;
    }
    return p->last = p->n_entries++;
}

static void push(rp_profile *p, uint32_t entry, uint32_t row)
{
    if (p->depth < sizeof p->frame / sizeof *p->frame)
        p->frame[p->depth] = (rp_profile_frame){.begin = rp_clock_nanoseconds(), .entry = entry, .row = row};
    p->depth++;
}

static void pop(rp_profile *p)
{
    rp_profile_frame *f = &p->frame[--p->depth];
    uint64_t end, took;

    if (p->depth >= sizeof p->frame / sizeof *p->frame)
        return;
    end = rp_clock_nanoseconds();
    took = end - f->begin;
    if (p->depth)
        p->frame[p->depth - 1].inside += took;
    else
        p->in_step += took;
    if (f->entry >= p->n_entries || f->row >= p->entry[f->entry].n) {
        p->failed = true;
        return;
    }
    p->entry[f->entry].row[f->row].nanoseconds += took - f->inside;
    p->entry[f->entry].row[f->row].calls++;
    note_event(p, f->begin, end, f->entry, f->row);
}

static void call_begins(void *self, const rp_plan *plan, size_t at)
{
    rp_profile *p = self;

    push(p, (uint32_t)entry_of(p, plan), (uint32_t)at);
}

static void call_ends(void *self, const rp_plan *plan, size_t at)
{
    (void)plan;
    (void)at;
    pop(self);
}

/* ---- eager steps ---- */

static bool grow_rows(rp_profile_entry *e, size_t wanted)
{
    size_t cap = e->cap ? e->cap : 64;
    rp_profile_row *row;
    const rp_op **op;
    uint32_t *other, *instr;

    if (wanted <= e->cap)
        return true;
    while (cap < wanted)
        cap *= 2;
    row = rp_reallocarray(e->row, cap, sizeof *row);
    e->row = row ? row : e->row;
    op = rp_reallocarray(e->op, cap, sizeof *op);
    e->op = op ? op : e->op;
    other = rp_reallocarray(e->other, cap, sizeof *other);
    e->other = other ? other : e->other;
    instr = rp_reallocarray(e->instr, cap, sizeof *instr);
    e->instr = instr ? instr : e->instr;
    if (!row || !op || !other || !instr)
        return false;
    e->cap = cap;
    return true;
}

static bool is_row_of(const rp_profile_entry *e, size_t row, const rp_program *p, size_t k)
{
    const rp_type *made = &p->value[p->instr[k].out[0]];

    return e->op[row] == p->instr[k].op && e->instr[row] == k && e->row[row].made.dtype == made->dtype &&
           e->row[row].made.rank == made->rank;
}

/* Rows for the instructions up to k; behind them come those of instructions that have another operation, or make
 * another type or number of axes, in other steps. Lengths of axes make no rows, as every step may have its own. */
static size_t eager_row(rp_profile_entry *e, const rp_graph *graph, const rp_instr *instr)
{
    const rp_program *p = graph->program;
    const size_t k = (size_t)(instr - p->instr);
    size_t row = k, before = SIZE_MAX;

    for (size_t n = e->n; n <= k; n++) {
        if (!grow_rows(e, n + 1))
            return SIZE_MAX;
        e->row[n] = (rp_profile_row){.calls = 0};
        e->op[n] = NULL;
        e->other[n] = 0;
        e->instr[n] = 0;
        e->n = n + 1;
    }
    while (e->op[row] && !is_row_of(e, row, p, k) && e->other[row])
        row = e->other[before = row];
    if (is_row_of(e, row, p, k))
        return rp_profile_add_call(&e->row[row], p, instr) ? row : SIZE_MAX;
    if (e->op[row]) {
        before = row;
        row = e->n;
        if (!grow_rows(e, row + 1))
            return SIZE_MAX;
        e->row[row] = (rp_profile_row){.calls = 0};
        e->other[row] = 0;
        e->other[before] = (uint32_t)row;
        e->n++;
    }
    e->op[row] = instr->op;
    e->instr[row] = (uint32_t)k;
    return rp_profile_describe_instr(&e->row[row], graph, instr) && rp_profile_add_call(&e->row[row], p, instr)
               ? row
               : SIZE_MAX;
}

static void instr_begins(void *self, const rp_graph *graph, const rp_instr *instr)
{
    rp_profile *p = self;
    const size_t entry = entry_of(p, NULL);

    push(p, (uint32_t)entry, entry < p->n_entries ? (uint32_t)eager_row(&p->entry[entry], graph, instr) : UINT32_MAX);
}

static void instr_ends(void *self, const rp_graph *graph, const rp_instr *instr)
{
    (void)graph;
    (void)instr;
    pop(self);
}

/* An instruction's mark comes when the caller's call is over, so rows get their lines when the step is. */
static void place_rows(rp_profile *p)
{
    const rp_program *program = p->run->graph->program;
    const size_t entry = entry_of(p, NULL);
    const rp_profile_entry *e = entry < p->n_entries ? &p->entry[entry] : NULL;

    for (size_t k = 0; e && k < program->n_instrs && k < e->n; k++) {
        size_t row = k;

        while (!is_row_of(e, row, program, k) && e->other[row])
            row = e->other[row];
        if (is_row_of(e, row, program, k))
            p->failed = !rp_profile_describe_place(&e->row[row], program, &program->instr[k]) || p->failed;
    }
}

/* ---- steps ---- */

const rp_plan_watch *rp_profile_watch(const rp_profile *p)
{
    return p ? &p->plan_watch : NULL;
}

void rp_profile_step_begins(rp_profile *p, uint64_t serial, uint64_t number)
{
    if (!p)
        return;
    p->serial = serial;
    p->number = number;
    p->depth = 0;
    p->in_step = 0;
    p->stepping = true;
    p->step_began = rp_clock_nanoseconds();
}

void rp_profile_step_ends(rp_profile *p)
{
    uint64_t end;

    if (!p || !p->stepping)
        return;
    end = rp_clock_nanoseconds();
    p->stepping = false;
    if (p->serial == 0)
        place_rows(p);
    p->stepped += end - p->step_began;
    p->beside[RP_BESIDE_BETWEEN] += end - p->step_began - p->in_step;
    note_event(p, p->step_began, end, RP_PROFILE_STEP, (uint32_t)p->number);
    p->steps++;
}

void rp_profile_recording_begins(rp_profile *p)
{
    if (p)
        p->recording_began = rp_clock_nanoseconds();
}

void rp_profile_recording_ends(rp_profile *p)
{
    uint64_t end;

    if (!p)
        return;
    end = rp_clock_nanoseconds();
    p->beside[RP_BESIDE_RECORDING] += end - p->recording_began;
    if (p->depth && p->depth <= sizeof p->frame / sizeof *p->frame)
        p->frame[p->depth - 1].inside += end - p->recording_began;
    p->in_step += p->depth ? 0 : end - p->recording_began;
    note_event(p, p->recording_began, end, RP_PROFILE_RECORDING, 0);
}

/* ---- its life ---- */

rp_status rp_run_profile(rp_profile **out, rp_run *run, const rp_profile_options *options, rp_error *err)
{
    rp_profile *p;

    *out = NULL;
    if (!run)
        return rp_no_handle(err, __func__, "run");
    if (run->profile)
        return rp_fail(err, RP_EARG, "the run has a profile already: end it first");
    if (run->in_step)
        return rp_fail(err, RP_EARG, "a step is in progress: a profile begins between steps");
    p = rp_calloc(1, sizeof *p);
    if (!p)
        return rp_no_memory(err);
    p->run = run;
    p->options = options ? *options : (rp_profile_options){.trace = false};
    p->plan_watch = (rp_plan_watch){p, call_begins, call_ends};
    p->graph_watch = (rp_graph_watch){p, instr_begins, instr_ends};
    p->began = rp_clock_nanoseconds();
    run->profile = p;
    run->graph->watch = &p->graph_watch;
    *out = p;
    return RP_OK;
}

static void note_host(rp_profile *p)
{
    const rp_device *device = p->run->device;
    const char *identity = rp_device_shares_memory(device) ? NULL : rp_device_identity(device);

    strncpy(p->level, rp_run_level(p->run), sizeof p->level - 1);
    strncpy(p->device, identity ? identity : "", sizeof p->device - 1);
    p->threads = rp_run_threads(p->run);
    p->arena = p->run->arena.bytes;
    p->held = rp_run_memory(p->run) - p->arena;
}

/* Of the processor: what another device can do, nobody here measures. */
static void measure(rp_profile *p)
{
    enum { LARGE = 1 << 26 }; /* bytes: more than caches hold */
    rp_pool *pool = rp_device_pool(p->run->device);
    bool wide = false;

    if (p->options.no_limits || !rp_device_shares_memory(p->run->device))
        return;
    for (size_t i = 0; i < p->n_entries; i++)
        for (size_t k = 0; k < p->entry[i].n; k++)
            wide = wide || p->entry[i].row[k].wide;
    p->fma = rp_limit_fma(pool, 4);
    p->fma64 = wide ? rp_limit_fma(pool, 8) : 0;
    p->read = rp_limit_read(pool, LARGE);
    p->copy = rp_limit_copy(pool, LARGE);
}

rp_status rp_profile_end(rp_profile *p, rp_error *err)
{
    if (!p)
        return rp_no_handle(err, __func__, "profile");
    if (!p->run)
        return RP_OK;
    if (p->run->in_step)
        return rp_fail(err, RP_EARG, "a step is in progress: a profile ends between steps");
    p->ended = rp_clock_nanoseconds();
    p->beside[RP_BESIDE_OUTSIDE] = p->ended - p->began - p->stepped;
    p->run->profile = NULL;
    p->run->graph->watch = NULL;
    note_host(p);
    measure(p);
    p->run = NULL;
    return p->failed ? rp_no_memory(err) : RP_OK;
}

void rp_profile_free(rp_profile *p)
{
    if (!p)
        return;
    if (p->run) {
        p->run->profile = NULL;
        p->run->graph->watch = NULL;
    }
    for (size_t i = 0; i < p->n_entries; i++) {
        rp_profile_entry *e = &p->entry[i];

        for (size_t k = 0; k < e->n; k++)
            rp_profile_row_free(&e->row[k]);
        rp_free(e->row);
        rp_free(e->op);
        rp_free(e->instr);
        rp_free(e->other);
    }
    rp_free(p->entry);
    rp_free(p->event);
    rp_free(p);
}
