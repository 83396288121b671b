/* SPDX-License-Identifier: Apache-2.0
 * Which values are computed again: of those that are alive where a plan holds most and are not read there, the ones
 * that give most memory for the time it takes to make them from what stays. */
#include <stdlib.h>

#include "base/memory.h"
#include "core/program/function.h"
#include "core/run/free_pieces.h"
#include "core/run/recompute/recompute.h"

enum { CLOSURE = 4096 }; /* instructions that are executed to have one value again */
enum { SMALL = 64 };     /* a value of so small a part is kept rather than made for another */
enum { LEAST = 4096 };   /* so small a part of what is alive is not looked at */

/* What a root value is to readers behind the fullest position. */
typedef enum standing {
    LATER,   /* made there */
    THERE,   /* an input, an output, or read where the plan is fullest */
    LOST,    /* a state whose new value is in its memory */
    HELD,    /* kept for them, so far */
    GONE,    /* not kept, as none reads it */
    DROPPED, /* made again for them */
    EXTENDED /* GONE, but kept since something is made from it */
} standing;

typedef struct candidate {
    uint32_t value;
    double score; /* bytes for a nanosecond */
} candidate;

typedef struct choice {
    const rp_plan *plan;
    uint32_t first, end; /* the chain of the fullest position */
    standing *is;        /* of each value */
    uint32_t *seen;      /* of each value: the last search that met it */
    uint32_t search;
    uint32_t *stack, *kept; /* of a search: what is to be looked at, and what would have to be kept */
    size_t n_kept;
    candidate *candidate;
    size_t n;
} choice;

static size_t bytes_of(const rp_plan *plan, uint32_t value)
{
    const size_t bytes = rp_type_bytes(&plan->program->value[value]);

    return (bytes + RP_FREE_PIECES_ALIGN - 1) / RP_FREE_PIECES_ALIGN * RP_FREE_PIECES_ALIGN;
}

/* ---- where it is fullest ---- */

rp_status rp_plan_fullest(const rp_plan *plan, size_t *bytes, uint32_t *position, rp_error *err)
{
    size_t *come = rp_calloc(plan->order.n + 2, sizeof *come), *go = rp_calloc(plan->order.n + 2, sizeof *go), now = 0;

    *bytes = *position = 0;
    for (size_t v = 0; v < plan->n_blocks && come && go; v++) {
        const block *b = &plan->block[v];
        const size_t taken =
            (rp_block_taken(b) + RP_FREE_PIECES_ALIGN - 1) / RP_FREE_PIECES_ALIGN * RP_FREE_PIECES_ALIGN;

        if (taken == 0)
            continue;
        come[b->first] += taken;
        go[b->last + 1] += taken;
    }
    for (uint32_t k = 0; k <= plan->order.n && come && go; k++) {
        now += come[k] - go[k];
        if (now > *bytes) {
            *bytes = now;
            *position = k;
        }
    }
    rp_free(come);
    rp_free(go);
    return come && go ? RP_OK : rp_no_memory(err);
}

/* ---- how values stand ---- */

/* States whose new value is in their memory by then have none of their own any more. */
static void find_lost(choice *c)
{
    const rp_plan *plan = c->plan;
    const rp_program *p = plan->program;

    for (size_t o = 0; o < p->n_outputs; o++) {
        const uint32_t value = plan->same[p->output[o].value];
        const rp_input *state = rp_program_state_of(p, &p->output[o]);
        const block *b = &plan->block[value];

        if (state && value != state->value && b->made && b->place == PLACE_FIXED && b->first <= c->end)
            c->is[state->value] = LOST;
    }
}

static void stand(choice *c)
{
    const rp_plan *plan = c->plan;
    const rp_program *p = plan->program;

    for (size_t v = 0; v < p->n_values; v++)
        c->is[v] = plan->kind[v] == VALUE_MADE ? LATER : THERE;
    for (uint32_t k = 0; k < plan->order.n; k++) {
        const rp_instr *instr = rp_plan_at(plan, k);

        for (int i = 0; i < instr->n_out && k <= c->end; i++)
            c->is[instr->out[i]] = k < c->first ? GONE : THERE;
        for (size_t i = 0; i < instr->n_in; i++) {
            standing *is = &c->is[plan->root[instr->in[i]]];

            if (k >= c->first && k <= c->end && *is != LATER)
                *is = THERE;
            else if (k > c->end && *is == GONE)
                *is = HELD;
        }
    }
    for (size_t o = 0; o < p->n_outputs; o++) {
        standing *is = &c->is[plan->root[p->output[o].value]];

        *is = *is == LATER ? LATER : THERE;
    }
    find_lost(c);
}

/* ---- what a value costs ---- */

static bool can_be_made_again(const choice *c, uint32_t value)
{
    const uint32_t maker = c->plan->program->maker[value];

    return maker != RP_NO_INSTR && !rp_plan_can_fail(&c->plan->program->instr[maker]);
}

/* About the nanoseconds of an instruction: 64 operations in one, 8 bytes in one, and a launch. */
static double time_of(const choice *c, const rp_instr *instr)
{
    const rp_program *p = c->plan->program;
    double bytes = 0;

    for (size_t i = 0; i < instr->n_in; i++)
        bytes += (double)rp_type_bytes(&p->value[instr->in[i]]);
    for (int i = 0; i < instr->n_out; i++)
        bytes += (double)rp_type_bytes(&p->value[instr->out[i]]);
    return (double)rp_instr_work(p, instr) / 64 + bytes / 8 + 500;
}

/* Notes what an operand of something that is made again asks for; false: it cannot be had. */
static bool ask_for(choice *c, uint32_t operand, size_t *waiting, size_t *extended, size_t small)
{
    const uint32_t root = c->plan->root[operand];
    const standing is = c->is[root];

    if (c->seen[root] == c->search || is == THERE || is == HELD || is == EXTENDED)
        return true;
    c->seen[root] = c->search;
    if (is == DROPPED || (is == GONE && can_be_made_again(c, root) && bytes_of(c->plan, root) > small)) {
        if (*waiting < CLOSURE)
            c->stack[(*waiting)++] = root;
        return *waiting < CLOSURE;
    }
    if (is != GONE || c->n_kept == CLOSURE)
        return false;
    c->kept[c->n_kept++] = root;
    *extended += bytes_of(c->plan, root);
    return true;
}

/* Bytes for a nanosecond: what is freed at the fullest position, less what must be kept in its place, and the time of
 * all that is executed for it, of what others have made again too: a row of such would all be alive at once. 0: it
 * cannot be made. */
static double score_of(choice *c, uint32_t value)
{
    const rp_program *p = c->plan->program;
    const size_t bytes = bytes_of(c->plan, value);
    size_t waiting = 1, extended = 0, done = 0;
    double time = 0;

    c->search++;
    c->n_kept = 0;
    c->stack[0] = value;
    c->seen[value] = c->search;
    for (; waiting > 0; done++) {
        const rp_instr *instr = &p->instr[p->maker[c->stack[--waiting]]];

        if (done == CLOSURE)
            return 0;
        time += time_of(c, instr);
        for (size_t i = 0; i < instr->n_in; i++)
            if (!ask_for(c, instr->in[i], &waiting, &extended, bytes / SMALL))
                return 0;
    }
    return extended < bytes ? (double)(bytes - extended) / time : 0;
}

/* ---- the choice ---- */

static int by_score(const void *a, const void *b)
{
    const candidate *x = a, *y = b;

    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return (x->value > y->value) - (x->value < y->value);
}

static void find_candidates(choice *c, size_t alive)
{
    const rp_program *p = c->plan->program;

    for (uint32_t v = 0; v < p->n_values; v++)
        if (c->is[v] == HELD && c->plan->root[v] == v && can_be_made_again(c, v) &&
            bytes_of(c->plan, v) > alive / LEAST) {
            const double score = score_of(c, v);

            if (score > 0)
                c->candidate[c->n++] = (candidate){v, score};
        }
}

/* Takes from the best on until enough is free. What scores less than half of what it did, as others were taken, waits
 * for the next round. */
static size_t take(choice *c, size_t alive, size_t bytes)
{
    size_t taken = 0;

    do {
        size_t left = 0;

        qsort(c->candidate, c->n, sizeof *c->candidate, by_score);
        for (size_t i = 0; i < c->n; i++) {
            const uint32_t value = c->candidate[i].value;
            const double score = alive > bytes ? score_of(c, value) : 0;

            if (score > 0 && score >= c->candidate[i].score / 2) {
                c->is[value] = DROPPED;
                alive -= bytes_of(c->plan, value);
                for (size_t k = 0; k < c->n_kept; k++) {
                    c->is[c->kept[k]] = EXTENDED;
                    alive += bytes_of(c->plan, c->kept[k]);
                }
                taken++;
            } else if (score > 0) {
                c->candidate[left++] = (candidate){value, score};
            }
        }
        c->n = left;
    } while (alive > bytes && c->n);
    return taken;
}

static rp_status choose(choice *c, rp_again *again, size_t alive, size_t bytes, rp_error *err)
{
    const size_t n = c->plan->program->n_values;

    c->is = rp_calloc(n, sizeof *c->is);
    c->seen = rp_calloc(n, sizeof *c->seen);
    c->stack = rp_reallocarray(NULL, CLOSURE + 1, sizeof *c->stack);
    c->kept = rp_reallocarray(NULL, CLOSURE, sizeof *c->kept);
    c->candidate = rp_reallocarray(NULL, n, sizeof *c->candidate);
    again->made = rp_calloc(n, sizeof *again->made);
    if (!c->is || !c->seen || !c->stack || !c->kept || !c->candidate || !again->made)
        return rp_no_memory(err);
    stand(c);
    find_candidates(c, alive);
    again->n = take(c, alive, bytes);
    for (size_t v = 0; v < n; v++)
        again->made[v] = c->is[v] == DROPPED || c->is[v] == GONE;
    return RP_OK;
}

rp_status rp_again_choose(rp_again *again, const rp_plan *plan, size_t bytes, rp_error *err)
{
    choice c = {.plan = plan};
    size_t alive;
    uint32_t at;
    rp_status status = rp_plan_fullest(plan, &alive, &at, err);

    *again = (rp_again){0};
    if (status != RP_OK || plan->order.n == 0)
        return status;
    c.first = (uint32_t)rp_plan_call_first(plan, at < plan->order.n ? at : plan->order.n - 1);
    again->end = c.end = (uint32_t)rp_plan_call_end(plan, c.first) - 1;
    status = choose(&c, again, alive, bytes, err);
    rp_free(c.is);
    rp_free(c.seen);
    rp_free(c.stack);
    rp_free(c.kept);
    rp_free(c.candidate);
    return status;
}

void rp_again_free(rp_again *again)
{
    rp_free(again->made);
    again->made = NULL;
}
