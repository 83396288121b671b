/* SPDX-License-Identifier: Apache-2.0
 * The frames of a region on both sides, in the order in which they are executed (CONTRACT 11.6). The region itself was
 * executed before, so nothing is stacked or added up here: a frame is only there to be looked into. Where rows of the
 * region's values tell what came out of a frame, only those that differ are executed. */
#include <string.h>

#include "audit/replay/diff_walk_private.h"
#include "base/memory.h"
#include "determinism/fpenv.h"

typedef struct inside {
    rp_walk *w;
    const rp_walk_body *outer;
    const rp_instr *instr[2];
    const rp_region *region;    /* A's; B's differs in its functions at most */
    rp_view *in[2], *param[2];  /* operands; inputs of the next frame */
    rp_view *set[2][2];         /* by side: two sets of carried values */
    rp_walk_body body;          /* of the function executed last */
    const rp_function *held[2]; /* which are these of A's and B's */
    void **memory[2];           /* what was allocated, by side */
    size_t n_memory;
} inside;

static bool done(const inside *s)
{
    return s->w->found->found;
}

/* ---- memory ---- */

static rp_status inside_new(inside *s, rp_error *err)
{
    const size_t n = s->instr[0]->n_in;

    for (int i = 0; i < 2; i++) {
        s->in[i] = rp_reallocarray(NULL, n, sizeof **s->in);
        s->param[i] = rp_reallocarray(NULL, n + 1, sizeof **s->param);
        s->memory[i] = rp_calloc(1 + 2 * s->region->carried, sizeof *s->memory[i]);
        if (!s->in[i] || !s->param[i] || !s->memory[i])
            return rp_no_memory(err);
        for (size_t k = 0; k < n; k++)
            s->in[i][k] = s->outer->tape[i]->view[s->instr[i]->in[k]];
    }
    return RP_OK;
}

static void inside_free(inside *s)
{
    rp_walk_close(&s->body);
    for (int i = 0; i < 2; i++) {
        for (size_t k = 0; s->memory[i] && k < s->n_memory; k++)
            rp_device_release(s->w->device[i], s->memory[i][k]);
        rp_free(s->memory[i]);
        rp_free(s->set[i][0]);
        rp_free(s->param[i]);
        rp_free(s->in[i]);
    }
}

/* The same on both sides. */
static rp_status hold(inside *s, const rp_type *type, rp_view *a, rp_view *b, rp_error *err)
{
    rp_view *const to[2] = {a, b};
    const size_t bytes = rp_type_bytes(type);
    rp_status status = RP_OK;

    for (int i = 0; i < 2 && status == RP_OK; i++) {
        void **memory = &s->memory[i][s->n_memory];

        status = rp_device_allocate(s->w->device[i], memory, bytes ? bytes : 1, err);
        *to[i] = rp_view_of(type, *memory);
    }
    s->n_memory++;
    return status;
}

static rp_status hold_index(inside *s, rp_error *err)
{
    return hold(s, &(rp_type){.dtype = RP_I64}, &s->param[0][0], &s->param[1][0], err);
}

static rp_status put_index(inside *s, uint64_t value, rp_error *err)
{
    const int64_t index = (int64_t)value;
    rp_status status = RP_OK;

    for (int i = 0; i < 2 && status == RP_OK; i++) {
        status = rp_device_upload(s->w->device[i], s->param[i][0].data, &index, sizeof index, NULL, err);
        if (status == RP_OK)
            status = rp_device_synchronize(s->w->device[i], NULL, err);
    }
    return status;
}

/* Both sides have the same there, as nothing before it differs. */
static rp_status read_scalar(inside *s, const rp_view *from, void *to, rp_error *err)
{
    return rp_device_read(s->w->device[0], to, from->data, rp_dtype_size(from->dtype), NULL, err);
}

/* ---- frames ---- */

/* Operands from..n - 1 become the inputs from `to` on. */
static void pass(inside *s, size_t to, size_t from)
{
    for (int i = 0; i < 2; i++)
        memcpy(s->param[i] + to, s->in[i] + from, (s->instr[i]->n_in - from) * sizeof **s->in);
}

static rp_status frame(inside *s, size_t k, uint64_t number, bool predicate, rp_error *err)
{
    rp_walk *w = s->w;
    rp_function *const f[2] = {s->instr[0]->region->function[k], s->instr[1]->region->function[k]};
    rp_program *const body[2] = {f[0]->body, f[1]->body};
    rp_status status = RP_OK;

    if (s->held[0] != f[0] || s->held[1] != f[1]) {
        rp_walk_close(&s->body);
        s->held[0] = f[0];
        s->held[1] = f[1];
        status = rp_walk_open(&s->body, w, body, err);
    }
    w->frame[w->depth++] = (rp_diff_frame){.instr = (size_t)(s->instr[0] - s->outer->tape[0]->program->instr),
                                           .kind = s->region->kind,
                                           .number = number,
                                           .predicate = predicate,
                                           .function = {f[0], f[1]}};
    if (status == RP_OK)
        status = rp_walk_run(w, &s->body, s->param, err);
    w->depth--;
    return status;
}

/* What value `out` of the region has of one frame: whether it differs. */
static rp_status rows_differ(const inside *s, size_t out, uint64_t first, uint64_t n, bool *differ, rp_error *err)
{
    rp_view view[2];

    for (int i = 0; i < 2; i++)
        view[i] = rp_view_range(&s->outer->tape[i]->view[s->instr[i]->out[out]], first, n);
    return rp_walk_compare(s->w, view, differ, err);
}

static rp_status enter_call(inside *s, rp_error *err)
{
    pass(s, 0, 0);
    return frame(s, 0, 0, false, err);
}

static rp_status enter_cond(inside *s, rp_error *err)
{
    const bool two = s->in[0][0].dtype == RP_BOOL;
    unsigned char flag = 0;
    int64_t branch = 0;
    rp_status status = read_scalar(s, &s->in[0][0], two ? (void *)&flag : (void *)&branch, err);

    if (two)
        branch = flag != 0;
    pass(s, 0, 1);
    return status == RP_OK ? frame(s, (size_t)branch, (uint64_t)branch, false, err) : status;
}

/* ---- carried values ---- */

static rp_status hold_carried(inside *s, rp_error *err)
{
    const size_t n = s->region->carried;
    rp_status status = RP_OK;

    for (int i = 0; i < 2; i++) {
        s->set[i][0] = rp_reallocarray(NULL, 2 * n, sizeof **s->set[i]);
        s->set[i][1] = s->set[i][0] + n;
        if (!s->set[i][0])
            return rp_no_memory(err);
    }
    for (size_t k = 0; k < 2 * n && status == RP_OK; k++)
        status = hold(s, rp_function_param(s->region->function[0], 1 + k % n), &s->set[0][0][k], &s->set[1][0][k], err);
    return status;
}

static void put_carried(inside *s, rp_view *const from[2])
{
    for (int i = 0; i < 2 && s->region->carried; i++)
        memcpy(s->param[i] + 1, from[i], s->region->carried * sizeof **from);
}

/* What the frame made becomes what the next one reads: the set that it did not read itself. */
static rp_status carry(inside *s, uint64_t t, rp_view *next[2], rp_error *err)
{
    rp_status status = RP_OK;

    for (int i = 0; i < 2 && status == RP_OK; i++) {
        const rp_graph *tape = s->body.tape[i];

        next[i] = s->set[i][t % 2];
        for (size_t k = 0; k < s->region->carried && status == RP_OK; k++)
            status = rp_execute_copy(tape->device, &tape->view[tape->program->output[k].value], &next[i][k], err);
    }
    return status;
}

/* ---- scan ---- */

/* Whether iteration t, which is number i, made something that differs, by the rows that are stacked and by what the
 * next one has read; where it has no such row, by the region's last values. */
static rp_status shows(const inside *s, uint64_t t, uint64_t i, bool *differ, rp_error *err)
{
    const rp_region *r = s->region;
    const size_t outs = rp_function_outs(r->function[0]);
    const uint64_t next = r->reverse ? i - 1 : i + 1;
    rp_status status = RP_OK;

    *differ = t + 1 == r->times; /* if no other, it is the last one */
    for (size_t k = r->carried; k < outs && status == RP_OK && !*differ; k++)
        status = rows_differ(s, k, i, 1, differ, err);
    for (size_t k = 0; k < r->carried && status == RP_OK && !*differ; k++)
        status = rows_differ(s, outs + k, next, 1, differ, err);
    return status;
}

/* What was carried into number i, from the history. */
static void recall(inside *s, uint64_t i)
{
    const size_t outs = rp_function_outs(s->region->function[0]);

    for (int side = 0; side < 2; side++)
        for (size_t k = 0; k < s->region->carried; k++)
            s->param[side][1 + k] = rp_view_index(&s->outer->tape[side]->view[s->instr[side]->out[outs + k]], i);
}

static rp_status run_iteration(inside *s, uint64_t i, rp_error *err)
{
    const rp_region *r = s->region;
    rp_status status = put_index(s, i, err);

    for (int side = 0; side < 2; side++)
        for (size_t k = 0; k < r->sliced; k++)
            s->param[side][1 + r->carried + k] = rp_view_index(&s->in[side][r->carried + k], i);
    return status == RP_OK ? frame(s, 0, i, false, err) : status;
}

/* With a history each iteration stands alone. */
static rp_status enter_history(inside *s, rp_error *err)
{
    const rp_region *r = s->region;
    rp_status status = RP_OK;

    for (uint64_t t = 0; t < r->times && status == RP_OK && !done(s); t++) {
        const uint64_t i = r->reverse ? r->times - 1 - t : t;
        bool differ;

        status = shows(s, t, i, &differ, err);
        if (status != RP_OK || !differ)
            continue;
        recall(s, i);
        status = run_iteration(s, i, err);
    }
    return status;
}

static rp_status enter_scan(inside *s, rp_error *err)
{
    const rp_region *r = s->region;
    rp_view *from[2] = {s->in[0], s->in[1]};
    rp_status status = hold_index(s, err);

    pass(s, 1 + r->carried + r->sliced, r->carried + r->sliced);
    if (status == RP_OK && r->history)
        return enter_history(s, err);
    if (status == RP_OK && r->carried)
        status = hold_carried(s, err);
    for (uint64_t t = 0; t < r->times && status == RP_OK && !done(s); t++) {
        put_carried(s, from);
        status = run_iteration(s, r->reverse ? r->times - 1 - t : t, err);
        if (status == RP_OK && !done(s) && r->carried)
            status = carry(s, t, from, err);
    }
    return status;
}

/* ---- while ---- */

static rp_status enter_while(inside *s, rp_error *err)
{
    const rp_region *r = s->region;
    rp_view *from[2] = {s->in[0], s->in[1]};
    rp_status status = hold_index(s, err);

    pass(s, 1 + r->carried, r->carried);
    if (status == RP_OK && r->carried)
        status = hold_carried(s, err);
    for (uint64_t t = 0; t < r->times && status == RP_OK; t++) {
        unsigned char go = 0;

        put_carried(s, from);
        status = put_index(s, t, err);
        if (status == RP_OK)
            status = frame(s, 1, t, true, err);
        if (status == RP_OK && !done(s)) {
            const rp_graph *tape = s->body.tape[0];

            status = read_scalar(s, &tape->view[tape->program->output[0].value], &go, err);
        }
        if (status != RP_OK || !go || done(s))
            break;
        status = frame(s, 0, t, false, err);
        if (done(s))
            break;
        if (status == RP_OK)
            status = carry(s, t, from, err);
    }
    return status;
}

/* ---- map ---- */

/* Whether the shard made something that differs; of what is added up that cannot be seen. */
static rp_status shard_shows(const inside *s, size_t shard, size_t j, bool added, bool *differ, rp_error *err)
{
    const rp_region *r = s->region;
    rp_status status = RP_OK;

    *differ = added;
    for (size_t k = 0; k < r->n_combine && status == RP_OK && !*differ; k++) {
        if (r->combine[k] == RP_COMBINE_STACK)
            status = rows_differ(s, k, j, 1, differ, err);
        else if (r->combine[k] == RP_COMBINE_CONCAT)
            status = rows_differ(s, k, r->cuts[shard] - r->cuts[0], rp_shard_rows(r, shard), differ, err);
    }
    return status;
}

/* Whether a value that is added up over the shards differs. */
static rp_status sums_differ(const inside *s, bool *differ, rp_error *err)
{
    rp_status status = RP_OK;

    *differ = false;
    for (size_t k = 0; k < s->region->n_combine && status == RP_OK && !*differ; k++)
        if (s->region->combine[k] == RP_COMBINE_TREE) {
            const rp_view view[2] = {s->outer->tape[0]->view[s->instr[0]->out[k]],
                                     s->outer->tape[1]->view[s->instr[1]->out[k]]};

            status = rp_walk_compare(s->w, view, differ, err);
        }
    return status;
}

static rp_status enter_map(inside *s, rp_error *err)
{
    const rp_region *r = s->region;
    bool added = false;
    rp_status status = hold_index(s, err);

    pass(s, 1 + r->sliced, r->sliced);
    if (status == RP_OK)
        status = sums_differ(s, &added, err);
    for (size_t shard = 0, j = 0; shard + 1 < r->n_cuts && status == RP_OK && !done(s); shard++) {
        const uint64_t rows = rp_shard_rows(r, shard);
        bool differ = false;

        if (rows)
            status = shard_shows(s, shard, j++, added, &differ, err);
        if (status != RP_OK || !differ)
            continue;
        for (int i = 0; i < 2; i++)
            for (size_t k = 0; k < r->sliced; k++)
                s->param[i][1 + k] = rp_view_range(&s->in[i][k], r->cuts[shard], rows);
        status = put_index(s, r->first + shard, err);
        if (status == RP_OK)
            status = frame(s, rp_region_function_of(r, rows), r->first + shard, false, err);
    }
    return status;
}

static rp_status enter_region(rp_walk *w, const rp_walk_body *body, size_t k, rp_error *err)
{
    static rp_status (*const enter[])(inside *, rp_error *) = {[RP_CALL] = enter_call,
                                                               [RP_SCAN] = enter_scan,
                                                               [RP_MAP] = enter_map,
                                                               [RP_COND] = enter_cond,
                                                               [RP_WHILE] = enter_while};
    inside s = {.w = w, .outer = body};
    const rp_diff_value outside = *w->found;
    rp_status status;

    for (int i = 0; i < 2; i++)
        s.instr[i] = &body->tape[i]->program->instr[k];
    s.region = s.instr[0]->region;
    w->found->found = false;
    status = inside_new(&s, err);
    if (status == RP_OK)
        status = enter[s.region->kind](&s, err);
    inside_free(&s);
    if (status == RP_OK && !w->found->found) {
        *w->found = outside;
        w->found->gathered = true;
    }
    return status;
}

/* ---- the whole ---- */

static rp_status walk(rp_walk *w, const rp_diff_side side[2], rp_error *err)
{
    const size_t n = side[0].program->n_inputs;
    rp_program *const program[2] = {side[0].program, side[1].program};
    rp_walk_body body = {{NULL, NULL}};
    rp_view *input[2];
    rp_status status;

    input[0] = rp_reallocarray(NULL, 2 * n, sizeof **input);
    input[1] = input[0] ? input[0] + n : NULL;
    status = input[0] ? rp_walk_open(&body, w, program, err) : rp_no_memory(err);
    for (size_t i = 0; i < 2 * n && status == RP_OK; i++) {
        const rp_program *p = program[i / n];

        input[i / n][i % n] = rp_view_of(&p->value[p->input[i % n].value], side[i / n].input[i % n]);
    }
    if (status == RP_OK)
        status = rp_walk_run(w, &body, input, err);
    rp_walk_close(&body);
    rp_free(input[0]);
    return status;
}

rp_status rp_diff_walk(rp_diff_value *out, const rp_diff_side side[2], bool same, rp_error *err)
{
    rp_walk w = {.device = {side[0].device, side[1].device}, .same = same, .found = out, .enter = enter_region};
    rp_fpenv saved;
    rp_status status;

    *out = (rp_diff_value){.found = false};
    status = rp_fpenv_enter(&saved, NULL, err);
    if (status != RP_OK)
        return status;
    status = walk(&w, side, err);
    rp_fpenv_leave(&saved);
    return status;
}
