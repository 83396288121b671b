/* SPDX-License-Identifier: Apache-2.0
 * The plans of the functions that regions execute, by function, and the memory that a region needs for them. */
#include "base/memory.h"
#include "core/program/regions/region_run.h"
#include "core/run/free_pieces.h"
#include "core/run/plan_private.h"

rp_plan *rp_plan_body(const rp_plan *plan, const rp_function *function)
{
    const plan_bodies *bodies = &plan->top->bodies;

    for (rp_index_walk w =
             rp_index_find(&bodies->by_function, rp_index_hash(&bodies->by_function, &function, sizeof function));
         rp_index_next(&w);)
        if (bodies->plan[w.at]->function == function)
            return bodies->plan[w.at];
    return NULL;
}

rp_status rp_plan_bodies_add(rp_plan *top, rp_plan *body, rp_error *err)
{
    plan_bodies *bodies = &top->bodies;
    uint64_t hash;

    if (!rp_index_reserve(&bodies->by_function))
        return rp_no_memory(err);
    if (bodies->n == bodies->cap) {
        const size_t cap = bodies->cap ? 2 * bodies->cap : 8;
        rp_plan **bigger = rp_reallocarray(bodies->plan, cap, sizeof *bigger);

        if (!bigger)
            return rp_no_memory(err);
        bodies->plan = bigger;
        bodies->cap = cap;
    }
    hash = rp_index_hash(&bodies->by_function, &body->function, sizeof body->function);
    rp_index_add(&bodies->by_function, hash, (uint32_t)bodies->n);
    bodies->plan[bodies->n++] = body;
    return RP_OK;
}

bool rp_plan_is_executed(const rp_region *r)
{
    return r->times || (r->kind != RP_SCAN && r->kind != RP_WHILE);
}

static size_t rounded(size_t bytes)
{
    return (bytes + RP_FREE_PIECES_ALIGN - 1) / RP_FREE_PIECES_ALIGN * RP_FREE_PIECES_ALIGN;
}

static bool is_updated(const rp_program *p, uint32_t state)
{
    for (size_t o = 0; o < p->n_outputs; o++) {
        const rp_input *of = rp_program_state_of(p, &p->output[o]);

        if (of && of->value == state)
            return true;
    }
    return false;
}

bool rp_plan_keeps(const rp_plan *plan, const rp_instr *instr, size_t i)
{
    const uint32_t root = plan->root[instr->in[i]];

    return plan->writes && i < 64 && !rp_view_contiguous(&plan->view[instr->in[i]]) &&
           plan->kind[root] == RP_INPUT_STATE && !is_updated(plan->program, root);
}

size_t rp_plan_region_bytes(const rp_plan *plan, const rp_instr *instr)
{
    const rp_region *r = instr->region;
    size_t bytes = rp_region_scratch(r), frame = 0;

    for (size_t i = 0; i < instr->n_in; i++)
        if (!rp_view_contiguous(&plan->view[instr->in[i]]) && !rp_plan_keeps(plan, instr, i))
            bytes += rounded(rp_type_bytes(&plan->program->value[instr->in[i]]));
    for (size_t i = 0; i < r->n_functions; i++) {
        const rp_plan *body = rp_plan_body(plan, r->function[i]);

        if (body && body->arena_bytes > frame)
            frame = body->arena_bytes;
    }
    return bytes + rounded(frame);
}
