/* SPDX-License-Identifier: Apache-2.0
 * All patterns that a run knows: what has not come for longest makes room for what comes. */
#include "core/run/eager/pattern.h"

#include "base/memory.h"

static void pattern_free(pattern *x)
{
    if (!x)
        return;
    rp_planned_free(&x->own);
    rp_pair_free(x->pair);
    rp_region_free(x->region);
    rp_free(x->type);
    rp_free(x);
}

void rp_patterns_free(patterns *all)
{
    while (all->n > 0)
        pattern_free(all->pattern[--all->n]);
}

static pattern *pattern_new(const rp_program *p, const rp_instr *instr)
{
    pattern *x = rp_calloc(1, sizeof *x);

    if (!x)
        return NULL;
    x->n_in = instr->n_in;
    x->region = rp_region_copy(instr->region);
    x->type = rp_reallocarray(NULL, instr->n_in + 1, sizeof *x->type);
    if (!x->region || !x->type) {
        pattern_free(x);
        return NULL;
    }
    for (size_t i = 0; i < instr->n_in; i++)
        x->type[i] = p->value[instr->in[i]];
    return x;
}

static bool is_of(const pattern *x, const rp_program *p, const rp_instr *instr)
{
    if (x->n_in != instr->n_in)
        return false;
    for (size_t i = 0; i < x->n_in; i++)
        if (!rp_type_equal(&x->type[i], &p->value[instr->in[i]]))
            return false;
    return rp_region_equal(x->region, instr->region);
}

/* The place of a pattern that no later step is likely to want: the one that has not come for longest, and not in this
 * step; PATTERNS_MAX: none. */
static size_t least_wanted(const patterns *all)
{
    size_t at = PATTERNS_MAX;

    for (size_t i = 0; i < all->n; i++)
        if (all->pattern[i]->turn != all->turn &&
            (at == PATTERNS_MAX || all->pattern[i]->turn < all->pattern[at]->turn))
            at = i;
    return at;
}

pattern *rp_pattern_of(patterns *all, const rp_program *p, const rp_instr *instr)
{
    pattern *found = NULL;
    size_t at = all->n;

    for (size_t i = 0; i < all->n && !found; i++)
        if (is_of(all->pattern[i], p, instr))
            found = all->pattern[i];
    if (!found) {
        if (at == PATTERNS_MAX)
            at = least_wanted(all);
        found = at < PATTERNS_MAX ? pattern_new(p, instr) : NULL;
        if (!found)
            return NULL;
        if (at < all->n)
            pattern_free(all->pattern[at]);
        else
            all->n++;
        all->pattern[at] = found;
    }
    found->turn = all->turn;
    found->seen++;
    return found;
}
