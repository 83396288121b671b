/* SPDX-License-Identifier: Apache-2.0
 * Reading places, and holding them against a program before anything of it is computed. */
#include "audit/replay/look/place.h"

#include <inttypes.h>
#include <string.h>

enum { DIGITS = 13 }; /* no number of a place is larger than 2^40 */

static bool number(uint64_t *out, const char **text)
{
    const char *at = *text;

    for (*out = 0; *at >= '0' && *at <= '9' && at - *text < DIGITS; at++)
        *out = *out * 10 + (uint64_t)(*at - '0');
    if (at == *text || (*at >= '0' && *at <= '9'))
        return false;
    *text = at;
    return true;
}

rp_status rp_place_read(rp_place *out, const char *text, rp_error *err)
{
    const char *at = text;
    uint64_t value;

    *out = (rp_place){.depth = 0};
    while (number(&value, &at)) {
        rp_place_frame *frame = &out->frame[out->depth];

        out->instr = value;
        if (*at == '\0')
            return RP_OK;
        if (*at != '/' || out->depth == RP_CALL_DEPTH_MAX)
            break;
        at++;
        frame->instr = value;
        frame->mark = *at == 'b' || *at == 'p' ? *at++ : '\0';
        if (!number(&frame->number, &at) || *at != '/')
            break;
        at++;
        out->depth++;
    }
    return rp_fail(
        err, RP_EARG,
        "operation \"%.60s\": expected the number of an instruction, or a place inside regions as diff writes "
        "it, e.g. 12/37/5 (docs/diff.md)",
        text);
}

static const rp_function *no_frame(const rp_instr *instr, const rp_place_frame *frame, const char *what, uint64_t first,
                                   uint64_t n, rp_error *err)
{
    if (n == 0)
        (void)rp_fail(err, RP_EARG, "instruction %" PRIu64 ", %s: has no %s", frame->instr, instr->op->name, what);
    else
        (void)rp_fail(err, RP_EARG,
                      "instruction %" PRIu64 ", %s: has no %s %" PRIu64 ", expected %" PRIu64 " to %" PRIu64,
                      frame->instr, instr->op->name, what, frame->number, first, first + n - 1);
    return NULL;
}

const rp_function *rp_place_function(const rp_instr *instr, const rp_place_frame *frame, rp_error *err)
{
    static const char *const names[] = {[RP_CALL] = "frame",
                                        [RP_SCAN] = "iteration",
                                        [RP_MAP] = "shard",
                                        [RP_COND] = "branch",
                                        [RP_WHILE] = "iteration"};
    const rp_region *r = instr->region;
    const char expected = r->kind == RP_COND ? 'b' : r->kind == RP_WHILE && frame->mark == 'p' ? 'p' : '\0';
    const uint64_t first = r->kind == RP_MAP ? r->first : 0;
    const uint64_t n = r->kind == RP_CALL   ? 1
                       : r->kind == RP_MAP  ? (r->n_cuts ? r->n_cuts - 1 : 0)
                       : r->kind == RP_COND ? r->n_functions
                                            : r->times + (frame->mark == 'p' && r->kind == RP_WHILE);

    if (frame->mark != expected) {
        (void)rp_fail(err, RP_EARG, "instruction %" PRIu64 ", %s: a frame of it is written %s, e.g. %" PRIu64 "/%s0/0",
                      frame->instr, instr->op->name, expected == 'b' ? "with b for the branch" : "as a number",
                      frame->instr, expected == 'b' ? "b" : "");
        return NULL;
    }
    if (frame->number < first || frame->number - first >= n)
        return no_frame(instr, frame, names[r->kind], first, n, err);
    if (r->kind == RP_MAP) {
        const uint64_t rows = rp_shard_rows(r, (size_t)(frame->number - first));

        if (rows == 0) {
            (void)rp_fail(err, RP_EARG,
                          "instruction %" PRIu64 ", map: shard %" PRIu64 " is empty, so nothing is computed",
                          frame->instr, frame->number);
            return NULL;
        }
        return r->function[rp_region_function_of(r, rows)];
    }
    return r->function[r->kind == RP_COND ? frame->number : frame->mark == 'p' ? 1 : 0];
}

static rp_status no_instruction(uint64_t instr, const rp_program *body, bool inside, rp_error *err)
{
    return body->n_instrs ? rp_fail(err, RP_EARG,
                                    "there is no instruction %" PRIu64 "%s: expected 0 to %zu; without --op all are "
                                    "listed",
                                    instr, inside ? " in that frame" : " in the step's program", body->n_instrs - 1)
                          : rp_fail(err, RP_EARG, "the %s has no instructions", inside ? "frame" : "step's program");
}

rp_status rp_place_find(const rp_instr **out, const rp_program **body, const rp_place *place, const rp_program *program,
                        rp_error *err)
{
    *body = program;
    for (size_t i = 0; i < place->depth; i++) {
        const rp_place_frame *frame = &place->frame[i];
        const rp_function *f;

        if (frame->instr >= (*body)->n_instrs)
            return no_instruction(frame->instr, *body, i > 0, err);
        if (!(*body)->instr[frame->instr].region)
            return rp_fail(err, RP_EARG, "instruction %" PRIu64 ", %s: is no region, so it has no frames", frame->instr,
                           (*body)->instr[frame->instr].op->name);
        f = rp_place_function(&(*body)->instr[frame->instr], frame, err);
        if (!f)
            return RP_EARG;
        *body = f->body;
    }
    if (place->instr >= (*body)->n_instrs)
        return no_instruction(place->instr, *body, place->depth > 0, err);
    *out = &(*body)->instr[place->instr];
    return RP_OK;
}
