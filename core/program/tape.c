/* SPDX-License-Identifier: Apache-2.0
 * Executing the instructions of a graph: updates of states that wait, the memory of values, and when it goes. A value
 * that has gone is like one that is still to be made: whoever reads it has its instruction executed. */
#include <string.h>

#include "base/memory.h"
#include "core/program/composed/dots.h"
#include "core/program/indexing/gathered.h"
#include "core/program/graph.h"
#include "determinism/fpenv.h"

void rp_graph_release_values(rp_graph *graph)
{
    for (size_t i = 0; i < graph->n_views; i++)
        if (graph->memory[i].piece)
            rp_device_cache_give(graph->cache, graph->memory[i].piece);
    graph->n_views = graph->n_late = 0;
}

/* Room for the views of all the program's values. */
rp_status rp_graph_hold_views(rp_graph *graph)
{
    size_t wanted = graph->program->cap_values;

    if (graph->cap_views < wanted) {
        rp_view *view = rp_reallocarray(graph->view, wanted, sizeof *view);
        rp_value_memory *memory;

        if (!view)
            return rp_no_memory(&graph->error);
        graph->view = view;
        memory = rp_reallocarray(graph->memory, wanted, sizeof *memory);
        if (!memory)
            return rp_no_memory(&graph->error);
        graph->memory = memory;
        graph->cap_views = wanted;
    }
    while (graph->n_views < graph->program->n_values) {
        graph->view[graph->n_views].data = NULL;
        graph->memory[graph->n_views++] = (rp_value_memory){.owner = RP_NO_OWNER};
    }
    return RP_OK;
}

/* Of outputs that are made again together some may still be there, and in a frame all are: they count already. */
void rp_graph_lie_in(rp_graph *graph, uint32_t value, uint32_t owner)
{
    if (graph->view[value].data)
        return;
    graph->memory[value].owner = owner;
    if (owner != RP_NO_OWNER)
        graph->memory[owner].users++;
}

rp_status rp_graph_allocate(rp_graph *graph, uint32_t value)
{
    const rp_type *type = &graph->program->value[value];
    rp_cached **piece = &graph->memory[value].piece;
    rp_status status = RP_OK;

    if (graph->calls > 0 && graph->view[value].data && graph->memory[value].owner != value)
        return RP_OK; /* its place is a part of another value (tape_concat.c) */
    if (!*piece)      /* a frame uses again what the one before it had */
        status = rp_device_cache_take(graph->cache, piece, rp_type_bytes(type), &graph->error);
    if (status != RP_OK)
        return status;
    rp_graph_lie_in(graph, value, value);
    graph->view[value] = rp_view_of(type, (*piece)->memory);
    return RP_OK;
}

static rp_status execute_alias(rp_graph *graph, const rp_instr *instr)
{
    const rp_view *in = &graph->view[instr->in[0]];
    const rp_type *type = &graph->program->value[instr->out[0]];
    rp_view out;
    rp_status status;

    if (instr->op->alias(instr->attr, in, type, &out)) {
        rp_graph_lie_in(graph, instr->out[0], graph->memory[instr->in[0]].owner);
        graph->view[instr->out[0]] = out;
        return RP_OK;
    }
    status = rp_graph_allocate(graph, instr->out[0]);
    if (status != RP_OK)
        return status;
    out = graph->view[instr->out[0]];
    rp_bind_copy(in, &out);
    return rp_execute_copy(graph->device, in, &out, &graph->error);
}

/* Whether the instruction copies (a concat of one operand) what a copy made already, as reshape does of what does not
 * lie in order: nobody writes to either, so they are one. */
static bool is_copied_already(const rp_graph *graph, const rp_instr *instr)
{
    const rp_program *p = graph->program;
    const uint32_t of = instr->n_in == 1 ? instr->in[0] : 0;

    return graph->defers && instr->n_in == 1 && instr->op->role == RP_PLAYS_CONCAT && graph->memory[of].piece != NULL &&
           p->maker[of] != RP_NO_INSTR && p->instr[p->maker[of]].op->alias != NULL;
}

/* Whether the value lies alone and in order in a piece: its own, or that of what it is a view of, which nobody has
 * either. */
static bool lies_alone(const rp_graph *graph, uint32_t value)
{
    const rp_value_memory *m = &graph->memory[value], *owner;
    const rp_program *p = graph->program;

    if (m->mark & RP_VALUE_PINNED || m->owner == RP_NO_OWNER || !rp_view_contiguous(&graph->view[value]))
        return false;
    owner = &graph->memory[m->owner];
    if (m->owner == value)
        return m->piece && m->users == 1;
    return owner->piece && p->maker[value] != RP_NO_INSTR && p->instr[p->maker[value]].op->alias &&
           p->instr[p->maker[value]].in[0] == m->owner && owner->mark & RP_VALUE_RELEASED &&
           !(owner->mark & RP_VALUE_PINNED) && owner->users == 1U + (graph->view[m->owner].data != NULL) &&
           rp_type_bytes(&p->value[value]) == rp_type_bytes(&p->value[m->owner]);
}

/* Whether the output may be made in the memory of the first operand, which nobody reads behind it. */
static bool may_overwrite(const rp_graph *graph, const rp_instr *instr)
{
    const uint32_t spent = graph->spent - 1;

    return graph->spent && instr->n_out == 1 && instr->n_in == 2 && instr->in[0] == spent && instr->in[1] != spent &&
           instr->op->flags & RP_OP_INPLACE && !graph->view[instr->out[0]].data && lies_alone(graph, spent) &&
           rp_type_equal(&graph->program->value[spent], &graph->program->value[instr->out[0]]);
}

/* Its memory is the output's from now on. */
static void hand_over(rp_graph *graph, uint32_t spent, uint32_t out)
{
    const uint32_t owner = graph->memory[spent].owner;

    graph->memory[out].piece = graph->memory[owner].piece;
    graph->memory[owner].piece = NULL;
    graph->memory[owner].users = 0;
    graph->view[owner].data = graph->view[spent].data = NULL;
}

static rp_view exchanged(rp_view view)
{
    const int last = view.rank - 1;
    const size_t length = view.shape[last];
    const ptrdiff_t stride = view.stride[last];

    view.shape[last] = view.shape[last - 1];
    view.stride[last] = view.stride[last - 1];
    view.shape[last - 1] = length;
    view.stride[last - 1] = stride;
    return view;
}

/* Whether the product is to lie turned: the one that is appended now, since others that it has made again may be read
 * as they are, or one that did before. A pinned device's library has bits for a shape: there it stays as it is. */
static bool lies_turned(const rp_graph *graph, const rp_instr *instr)
{
    if (instr->op->role != RP_PLAYS_PRODUCT)
        return false;
    if (graph->memory[instr->out[0]].mark & RP_VALUE_TURNED)
        return true;
    return graph->lays_turned && graph->calls == 0 && instr == &graph->program->instr[graph->program->n_instrs - 1] &&
           !rp_device_pinned(graph->device) && rp_device_shares_memory(graph->device);
}

/* transpose(b) transpose(a), element by element the chain of a b with the same factors, into memory in its own order.
 */
static rp_status execute_turned(rp_graph *graph, const rp_instr *instr)
{
    rp_type type = graph->program->value[instr->out[0]];
    const size_t rows = type.shape[type.rank - 2];
    rp_view in[2] = {exchanged(graph->view[instr->in[1]]), exchanged(graph->view[instr->in[0]])}, out;
    rp_status status = rp_graph_allocate(graph, instr->out[0]);

    if (status != RP_OK)
        return status;
    type.shape[type.rank - 2] = type.shape[type.rank - 1];
    type.shape[type.rank - 1] = rows;
    out = rp_view_of(&type, graph->view[instr->out[0]].data);
    graph->view[instr->out[0]] = exchanged(out);
    graph->memory[instr->out[0]].mark |= RP_VALUE_TURNED;
    rp_bind_operands(instr->op, in, 2, &out);
    return rp_execute(graph->device, instr->op, &(rp_kernel_args){in, 2, &out, 1, instr->attr},
                      (size_t)(instr - graph->program->instr), &graph->error);
}

static rp_status execute_kernel(rp_graph *graph, const rp_instr *instr)
{
    rp_view few[8], *in = instr->n_in <= 8 ? few : rp_malloc(instr->n_in * sizeof *in);
    rp_view out[RP_MAX_OUT];
    rp_status status = RP_OK;

    if (!in)
        return rp_no_memory(&graph->error);
    if (is_copied_already(graph, instr)) {
        rp_graph_lie_in(graph, instr->out[0], instr->in[0]);
        graph->view[instr->out[0]] = graph->view[instr->in[0]];
        return RP_OK;
    }
    for (size_t i = 0; i < instr->n_in; i++)
        in[i] = graph->view[instr->in[i]];
    if (may_overwrite(graph, instr))
        hand_over(graph, instr->in[0], instr->out[0]);
    for (int i = 0; i < instr->n_out && status == RP_OK; i++) {
        status = rp_graph_allocate(graph, instr->out[i]);
        if (status == RP_OK)
            out[i] = graph->view[instr->out[i]];
    }
    if (status == RP_OK) {
        rp_bind_operands(instr->op, in, instr->n_in, &out[0]);
        status = rp_execute(graph->device, instr->op,
                            &(rp_kernel_args){in, instr->n_in, out, (size_t)instr->n_out, instr->attr},
                            (size_t)(instr - graph->program->instr), &graph->error);
    }
    if (in != few)
        rp_free(in);
    return status;
}

static rp_status execute_region(rp_graph *graph, const rp_instr *instr)
{
    rp_view *view = rp_reallocarray(NULL, instr->n_in + (size_t)instr->n_out, sizeof *view), *out;
    rp_status status = RP_OK;

    if (!view)
        return rp_no_memory(&graph->error);
    out = view + instr->n_in;

    for (size_t i = 0; i < instr->n_in && status == RP_OK; i++)
        view[i] = graph->view[instr->in[i]];
    for (int i = 0; i < instr->n_out && status == RP_OK; i++) {
        status = rp_graph_allocate(graph, instr->out[i]);
        if (status == RP_OK)
            out[i] = graph->view[instr->out[i]];
    }
    if (status == RP_OK)
        status = graph->regions.run ? graph->regions.run(graph->regions.self, instr, view, out)
                                    : rp_frames_eager(graph, instr, view, out);
    rp_free(view);
    return status;
}

static rp_status execute_unwatched(rp_graph *graph, const rp_instr *instr)
{
    return instr->region               ? execute_region(graph, instr)
           : instr->op->alias          ? execute_alias(graph, instr)
           : lies_turned(graph, instr) ? execute_turned(graph, instr)
                                       : execute_kernel(graph, instr);
}

/* Of an instruction whose operands are there. */
static rp_status execute_now(rp_graph *graph, const rp_instr *instr)
{
    const rp_graph_watch *watch = graph->watch;
    rp_status status;

    if (!watch)
        return execute_unwatched(graph, instr);
    watch->begin(watch->self, graph, instr);
    status = execute_unwatched(graph, instr);
    if (status == RP_OK && !rp_device_shares_memory(graph->device))
        status = rp_device_synchronize(graph->device, NULL, &graph->error);
    watch->end(watch->self, graph, instr);
    return status;
}

/* The gather that the instruction reduces, where it has waited for that; NULL: none. */
static const rp_instr *gathered_for(const rp_graph *graph, const rp_instr *instr)
{
    const rp_program *p = graph->program;
    const uint32_t maker = instr->n_in == 1 ? p->maker[instr->in[0]] : RP_NO_INSTR;

    if (graph->calls == 0 || maker == RP_NO_INSTR || maker < graph->call_first ||
        !rp_graph_is_late(graph, instr->in[0]))
        return NULL;
    return rp_gathered_fits(p, &p->instr[maker], instr) ? &p->instr[maker] : NULL;
}

static rp_status execute_gathered(rp_graph *graph, const rp_instr *gather, const rp_instr *instr)
{
    const rp_type *type = &graph->program->value[gather->out[0]];
    rp_view in[2], none = {0};
    rp_cached *piece = NULL;
    rp_status status = RP_OK;

    for (size_t i = 0; i < 2 && status == RP_OK; i++)
        if (rp_graph_is_late(graph, gather->in[i]))
            status = rp_graph_make(graph, gather->in[i]);
    for (size_t i = 0; i < 2; i++)
        in[i] = graph->view[gather->in[i]];
    if (status == RP_OK)
        status = rp_execute_check(graph->device, gather->op, &(rp_kernel_args){in, 2, &none, 1, gather->attr},
                                  (size_t)(gather - graph->program->instr), &graph->error);
    if (status == RP_OK)
        status = rp_graph_allocate(graph, instr->out[0]);
    if (status == RP_OK)
        status = rp_device_cache_take(graph->cache, &piece, rp_gathered_bytes(type), &graph->error);
    if (status != RP_OK)
        return status;
    status = rp_gathered_launch(graph->device, gather, instr, type, in, &graph->view[instr->out[0]], piece->memory,
                                &graph->error);
    rp_device_cache_give(graph->cache, piece);
    return status;
}

/* Of a sum whose product has waited for it: both, where the product's operands lie in order. */
static rp_status execute_dots(rp_graph *graph, const rp_instr *instr, bool *done)
{
    const rp_program *p = graph->program;
    const uint32_t maker = instr->n_in == 1 ? p->maker[instr->in[0]] : RP_NO_INSTR;
    const rp_instr *product = maker == RP_NO_INSTR ? NULL : &p->instr[maker];
    rp_status status = RP_OK;
    rp_dots dots;

    *done = false;
    if (graph->calls == 0 || !product || maker < graph->call_first || !rp_graph_is_late(graph, instr->in[0]) ||
        !rp_dots_fit(p, product, instr) || !rp_device_has_dots(graph->device))
        return RP_OK;
    for (size_t i = 0; i < product->n_in && status == RP_OK; i++)
        if (rp_graph_is_late(graph, product->in[i]))
            status = rp_graph_make(graph, product->in[i]);
    if (status == RP_OK)
        status = rp_graph_allocate(graph, instr->out[0]);
    if (status == RP_OK && rp_dots_of_views(&dots, &graph->view[product->in[0]], &graph->view[product->in[1]],
                                            &graph->view[instr->out[0]]))
        *done = rp_device_launch_dots(graph->device, &dots);
    return status;
}

rp_status rp_graph_execute(rp_graph *graph, const rp_instr *instr)
{
    const rp_instr *gather = gathered_for(graph, instr);
    bool done = false;
    rp_status status = gather ? RP_OK : execute_dots(graph, instr, &done);

    if (done || status != RP_OK)
        return status;
    if (gather)
        return execute_gathered(graph, gather, instr);
    for (size_t i = 0; i < instr->n_in && status == RP_OK; i++)
        if (rp_graph_is_late(graph, instr->in[i]))
            status = rp_graph_make(graph, instr->in[i]);
    return status == RP_OK ? execute_now(graph, instr) : status;
}

/* The first operand that is not there; n_in: all are. */
static size_t first_late(const rp_graph *graph, const rp_instr *instr)
{
    size_t i = 0;

    while (i < instr->n_in && !rp_graph_is_late(graph, instr->in[i]))
        i++;
    return i;
}

/* What is not there may need what is not there, in chains as long as the program: so without recursion. */
rp_status rp_graph_make(rp_graph *graph, uint32_t value)
{
    const rp_program *p = graph->program;
    uint32_t few[32] = {p->maker[value]}, *stack = few;
    size_t n = 1, room = sizeof few / sizeof *few;
    bool together = false;
    /* behind a wrong index nothing is computed: it would stand here as if it had been, also when that is taken back */
    rp_status status = rp_graph_settle(graph, &graph->error);

    if (status != RP_OK) {
        graph->placed = true;
        return status;
    }
    status = graph->calls > 0 ? rp_graph_make_together(graph, value, &together) : RP_OK;
    if (status == RP_OK && graph->calls > 0 && !together)
        status = rp_graph_make_concat(graph, value, &together);
    if (together)
        return status;
    while (n > 0 && status == RP_OK) {
        const rp_instr *instr = &p->instr[stack[n - 1]];
        const size_t i = first_late(graph, instr);

        if (i == instr->n_in) {
            status = execute_now(graph, instr);
            n--;
            continue;
        }
        if (n == room) {
            uint32_t *bigger = rp_reallocarray(stack == few ? NULL : stack, 2 * room, sizeof *bigger);

            if (!bigger) {
                status = rp_no_memory(&graph->error);
                break;
            }
            if (stack == few)
                memcpy(bigger, few, sizeof few);
            stack = bigger;
            room *= 2;
        }
        stack[n++] = p->maker[instr->in[i]];
    }
    if (stack != few)
        rp_free(stack);
    return status;
}

/* Whether the instruction updates states: it could be made in their memory, which only the step's end may do. */
static bool is_update(const rp_graph *graph, const rp_instr *instr)
{
    const rp_program *p = graph->program;

    if (!graph->defers || !(instr->op->flags & RP_OP_INPLACE) || (uint32_t)instr->n_out > instr->n_in)
        return false;
    for (int i = 0; i < instr->n_out; i++) {
        const rp_input *state = rp_program_input_of(p, instr->in[i]);

        if (!state || state->kind != RP_INPUT_STATE ||
            !rp_type_equal(&p->value[instr->in[i]], &p->value[instr->out[i]]))
            return false;
    }
    return true;
}

/* Whether the instruction is an update that waits: one that was made has an output that is there, or none that anybody
 * wanted. */
static bool waits(const rp_graph *graph, const rp_instr *instr)
{
    bool all = is_update(graph, instr);

    for (int i = 0; i < instr->n_out; i++)
        all = all && rp_graph_is_late(graph, instr->out[i]);
    return all;
}

/* Whether the value, which is to stay, has to be made first: an update that waits makes its own. */
static bool pin(rp_graph *graph, uint32_t value)
{
    graph->memory[value].mark |= RP_VALUE_PINNED;
    return rp_graph_is_late(graph, value) && !waits(graph, &graph->program->instr[graph->program->maker[value]]);
}

rp_status rp_graph_pin(rp_graph *graph, uint32_t value)
{
    rp_fpenv saved;
    rp_status status;

    if (!graph->defers || !pin(graph, value))
        return RP_OK;
    status = rp_fpenv_enter(&saved, NULL, &graph->error);
    if (status != RP_OK)
        return status;
    status = rp_graph_make(graph, value);
    rp_fpenv_leave(&saved);
    return status;
}

/* What the update reads stays until it is made. */
static rp_status defer(rp_graph *graph, const rp_instr *instr)
{
    rp_status status = RP_OK;

    for (size_t i = 0; i < instr->n_in && status == RP_OK; i++)
        if (pin(graph, instr->in[i]))
            status = rp_graph_make(graph, instr->in[i]);
    if (status != RP_OK)
        return status;
    if (graph->n_late == graph->cap_late) {
        const size_t wanted = graph->cap_late ? 2 * graph->cap_late : 16;
        uint32_t *bigger = rp_reallocarray(graph->late, wanted, sizeof *bigger);

        if (!bigger)
            return rp_no_memory(&graph->error);
        graph->late = bigger;
        graph->cap_late = wanted;
    }
    graph->late[graph->n_late++] = (uint32_t)graph->program->n_instrs - 1;
    return RP_OK;
}

/* Gradients pass where an operation has a rule, and rules read operands and outputs. Once gradients were asked for,
 * seldom is anything differentiated again: what then has gone is computed again. */
static void note_tape(rp_graph *graph, const rp_instr *instr)
{
    bool taped = false;
    unsigned trained = 0;

    for (size_t i = 0; i < instr->n_in; i++) {
        taped = taped || graph->memory[instr->in[i]].mark & RP_VALUE_TAPED;
        trained |= graph->memory[instr->in[i]].mark & RP_VALUE_TRAINED;
    }
    if (graph->swept || !taped || !(instr->region || instr->op->vjp))
        return;
    for (size_t i = 0; i < instr->n_in; i++)
        graph->memory[instr->in[i]].mark |= RP_VALUE_NEEDED;
    for (int i = 0; i < instr->n_out; i++)
        graph->memory[instr->out[i]].mark |= RP_VALUE_TAPED | RP_VALUE_NEEDED | trained;
}

void rp_graph_execute_last(rp_graph *graph)
{
    const rp_instr *instr = graph->status == RP_OK ? &graph->program->instr[graph->program->n_instrs - 1] : NULL;
    rp_fpenv saved;

    if (!instr || !graph->device)
        return;
    graph->status = rp_graph_hold_views(graph);
    /* at every call: what the application did to the environment since the last one is not known */
    if (graph->status == RP_OK)
        graph->status = rp_fpenv_enter(&saved, NULL, &graph->error);
    if (graph->status != RP_OK)
        return;
    if (graph->defers)
        note_tape(graph, instr);
    if (is_update(graph, instr))
        graph->status = defer(graph, instr);
    else if (!rp_graph_may_wait(graph, instr))
        graph->status = rp_graph_execute(graph, instr);
    rp_fpenv_leave(&saved);
}

/* ---- values that go ---- */

void rp_graph_exchange(rp_graph *graph, uint32_t value, rp_cached **piece)
{
    rp_value_memory *m = &graph->memory[value];
    rp_cached *before = m->piece;

    m->piece = *piece;
    graph->view[value] = rp_view_of(&graph->program->value[value], m->piece->memory);
    *piece = before;
}

void rp_graph_drop(rp_graph *graph, uint32_t value)
{
    rp_value_memory *m = &graph->memory[value], *owner;

    m->mark |= RP_VALUE_RELEASED;
    if (m->mark & RP_VALUE_PINNED || m->owner == RP_NO_OWNER || !graph->view[value].data)
        return;
    owner = &graph->memory[m->owner];
    graph->view[value].data = NULL;
    if (--owner->users == 0) {
        rp_device_cache_give(graph->cache, owner->piece);
        owner->piece = NULL;
    }
}

void rp_tensor_release(rp_tensor x)
{
    rp_graph *graph = x.graph;

    if (!graph || !graph->defers || x.epoch != graph->epoch || x.value >= graph->n_views)
        return;
    graph->memory[x.value].mark |= RP_VALUE_RELEASED;
    if (graph->swept || !(graph->memory[x.value].mark & RP_VALUE_NEEDED))
        rp_graph_drop(graph, x.value);
}
