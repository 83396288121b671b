/* SPDX-License-Identifier: Apache-2.0
 * Bodies side by side, an instruction of the one and the same of the other, and the comparison of values. The frames of
 * a region are diff_frames.c's. */
#include <string.h>

#include "audit/replay/diff_walk_private.h"
#include "base/memory.h"
#include "determinism/bits.h"

rp_status rp_diff_failed(int side, rp_status status, rp_error *err)
{
    return status == RP_OK ? RP_OK : rp_fail_at(err, status, side ? "recomputing B" : "recomputing A");
}

/* ---- values ---- */

rp_status rp_walk_show(rp_shown *s, rp_device *device, const rp_view *view, rp_error *err)
{
    size_t bytes = rp_dtype_size(view->dtype);
    rp_view to;
    rp_status status = RP_OK;

    *s = (rp_shown){.copy = NULL};
    for (int i = 0; i < view->rank; i++)
        bytes *= view->shape[i];
    if (!rp_view_contiguous(view)) {
        status = rp_device_allocate(device, &s->copy, bytes ? bytes : 1, err);
        to.data = s->copy;
        if (status == RP_OK) {
            rp_bind_copy(view, &to);
            status = rp_execute_copy(device, view, &to, err);
        }
    }
    return status == RP_OK ? rp_device_map(device, &s->mapping, s->copy ? s->copy : view->data, bytes, err) : status;
}

void rp_walk_hide(rp_shown *s, rp_device *device)
{
    rp_device_unmap(device, &s->mapping);
    rp_device_release(device, s->copy);
}

/* All NaNs are one: their distance is 0. */
static size_t first_difference(const unsigned char *x, const unsigned char *y, rp_dtype dtype, size_t count)
{
    const size_t size = rp_dtype_size(dtype);
    size_t at = rp_first_difference(x, y, dtype, count);

    while (at < count && rp_ulps(x + at * size, y + at * size, dtype) == 0) {
        at++;
        at += rp_first_difference(x + at * size, y + at * size, dtype, count - at);
    }
    return at;
}

/* *at: the element, or how many there are; bits, which may be NULL: that element on both sides. */
static rp_status look(const rp_walk *w, const rp_view view[2], bool *differ, size_t *at, unsigned char bits[2][8],
                      rp_error *err)
{
    const size_t size = rp_dtype_size(view[0].dtype);
    size_t count = 1;
    rp_shown s[2] = {{.copy = NULL}, {.copy = NULL}};
    rp_status status = RP_OK;

    *differ = false;
    for (int i = 0; i < view[0].rank; i++)
        count *= view[0].shape[i];
    for (int i = 0; i < 2 && status == RP_OK; i++)
        status = rp_diff_failed(i, rp_walk_show(&s[i], w->device[i], &view[i], err), err);
    if (status == RP_OK && count) {
        *at = first_difference(s[0].mapping.bytes, s[1].mapping.bytes, view[0].dtype, count);
        *differ = *at < count;
        for (int i = 0; i < 2 && *differ && bits; i++)
            memcpy(bits[i], (const char *)s[i].mapping.bytes + *at * size, size);
    }
    for (int i = 0; i < 2; i++)
        rp_walk_hide(&s[i], w->device[i]);
    return status;
}

rp_status rp_walk_compare(const rp_walk *w, const rp_view view[2], bool *differ, rp_error *err)
{
    size_t at;

    return look(w, view, differ, &at, NULL, err);
}

static rp_status compare_value(rp_walk *w, const rp_walk_body *body, size_t value, bool *differ, rp_error *err)
{
    const rp_view view[2] = {body->tape[0]->view[value], body->tape[1]->view[value]};
    rp_diff_value *found = w->found;
    size_t at;
    unsigned char bits[2][8];
    rp_status status = look(w, view, differ, &at, bits, err);

    if (status != RP_OK || !*differ)
        return status;
    *found = (rp_diff_value){.found = true, .depth = w->depth, .value = (uint32_t)value, .element = at};
    memcpy(found->frame, w->frame, w->depth * sizeof *w->frame);
    memcpy(found->bits, bits, sizeof bits);
    for (int i = 0; i < 2; i++)
        found->body[i] = body->tape[i]->program;
    return RP_OK;
}

/* ---- bodies ---- */

/* A tape that holds a program of somebody else's. */
static rp_graph *tape_of(rp_device *device, rp_program *program)
{
    rp_graph *tape = rp_graph_new(device);

    if (tape) {
        rp_program_free(tape->program);
        tape->program = program;
    }
    return tape;
}

rp_status rp_walk_open(rp_walk_body *body, const rp_walk *w, rp_program *const program[2], rp_error *err)
{
    for (int i = 0; i < 2; i++)
        body->tape[i] = tape_of(w->device[i], program[i]);
    return body->tape[0] && body->tape[1] ? RP_OK : rp_no_memory(err);
}

void rp_walk_close(rp_walk_body *body)
{
    for (int i = 0; i < 2; i++) {
        if (body->tape[i])
            body->tape[i]->program = NULL;
        rp_graph_free(body->tape[i]);
        body->tape[i] = NULL;
    }
}

static rp_status of_tape(const rp_walk_body *body, int side, rp_status status, rp_error *err)
{
    if (status == RP_OK)
        return RP_OK;
    if (err)
        *err = body->tape[side]->error;
    return rp_diff_failed(side, status, err);
}

/* Instruction k, whose first value is number v, and what it makes. */
static rp_status step(rp_walk *w, rp_walk_body *body, size_t k, size_t v, rp_error *err)
{
    const rp_instr *instr = &body->tape[0]->program->instr[k];
    bool differ = false;
    rp_status status = RP_OK;

    for (int i = 0; i < 2 && status == RP_OK; i++)
        status = of_tape(body, i, rp_graph_execute(body->tape[i], &body->tape[i]->program->instr[k]), err);
    if (instr->op->alias && !instr->region && w->same)
        return status;
    for (int i = 0; i < instr->n_out && status == RP_OK && !differ; i++)
        status = compare_value(w, body, v + (size_t)i, &differ, err);
    if (status != RP_OK || !differ || !instr->region)
        return status;
    for (int i = 0; i < 2; i++) /* what the frames had is kept for the next region, and will be needed by each alone */
        rp_device_cache_release(body->tape[i]->cache);
    return w->enter(w, body, k, err);
}

rp_status rp_walk_run(rp_walk *w, rp_walk_body *body, rp_view *const input[2], rp_error *err)
{
    const rp_program *p = body->tape[0]->program;
    size_t inputs = 0;
    rp_status status = RP_OK;

    for (int i = 0; i < 2 && status == RP_OK; i++)
        status = of_tape(body, i, rp_graph_hold_views(body->tape[i]), err);
    for (size_t v = 0; v < p->n_values && status == RP_OK && !w->found->found;) {
        const uint32_t k = p->maker[v];
        bool differ;

        if (k == RP_NO_INSTR) {
            for (int i = 0; i < 2; i++)
                body->tape[i]->view[v] = input[i][inputs];
            inputs++;
            if (w->depth == 0) /* else it comes from what was compared outside */
                status = compare_value(w, body, v, &differ, err);
            v++;
        } else {
            status = step(w, body, k, v, err);
            v += (size_t)p->instr[k].n_out;
        }
    }
    for (int i = 0; i < 2 && status == RP_OK && !w->found->found; i++)
        status = rp_diff_failed(i, rp_execute_settle(body->tape[i]->device, body->tape[i]->program, NULL, err), err);
    return status;
}
