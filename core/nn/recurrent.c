/* SPDX-License-Identifier: Apache-2.0
 * LSTM, GRU and a plain recurrence, in layers and in both directions (CONTRACT 16.4): what comes from x is one product
 * for all times, what comes from the state before is a scan of a function that stands in the program once. */
#include <stdio.h>

#include "core/nn/nn_private.h"

static const size_t gates_of[] = {[RP_NN_LSTM] = 4, [RP_NN_GRU] = 3, [RP_NN_TANH] = 1, [RP_NN_RELU] = 1};

enum { SCANS_MAX = 32 };

/* One scan: a layer in one direction. */
typedef struct cell {
    rp_nn_cell kind;
    size_t n, times, in, hidden;
    bool no_bias, reverse;
    rp_tensor weight_ih, weight_hh, bias_ih, bias_hh;
    rp_tensor there;         /* bool [times, n, 1]: which times of a row there are; graph NULL: all */
    rp_tensor start, memory; /* graph NULL: zeros */
} cell;

/* The i-th gate's columns of [n, gates hidden]. */
static rp_tensor gate(rp_tensor all, const cell *c, size_t i)
{
    return rp_slice(all, (size_t[]){0, i * c->hidden}, (size_t[]){c->n, (i + 1) * c->hidden});
}

static rp_tensor lstm_state(const cell *c, rp_tensor all, rp_tensor *memory)
{
    rp_tensor i = rp_sigmoid(gate(all, c, 0)), f = rp_sigmoid(gate(all, c, 1)), g = rp_tanh(gate(all, c, 2));
    rp_tensor o = rp_sigmoid(gate(all, c, 3)), kept = rp_mul(f, *memory), taken = rp_mul(i, g);

    *memory = rp_add(kept, taken);
    return rp_mul(o, rp_tanh(*memory));
}

static rp_tensor gru_state(const cell *c, rp_tensor from_x, rp_tensor from_h, rp_tensor h)
{
    rp_tensor xr = gate(from_x, c, 0), hr = gate(from_h, c, 0), xz = gate(from_x, c, 1), hz = gate(from_h, c, 1);
    rp_tensor r = rp_sigmoid(rp_add(xr, hr)), z = rp_sigmoid(rp_add(xz, hz)), xn = gate(from_x, c, 2), n;

    n = rp_mul(r, gate(from_h, c, 2));
    n = rp_tanh(rp_add(xn, n));
    return rp_add(n, rp_mul(z, rp_sub(h, n)));
}

static rp_tensor parameter(rp_graph *g, int rank, size_t rows, size_t cols)
{
    return rp_function_parameter(g, &(rp_type){.dtype = RP_F32, .rank = rank, .shape = {rows, cols}});
}

static rp_tensor next_state(const cell *c, rp_tensor from_x, rp_tensor from_h, rp_tensor h, rp_tensor *memory)
{
    if (c->kind == RP_NN_GRU)
        return gru_state(c, from_x, from_h, h);
    from_x = rp_add(from_x, from_h);
    if (c->kind == RP_NN_LSTM)
        return lstm_state(c, from_x, memory);
    return c->kind == RP_NN_RELU ? rp_relu(from_x) : rp_tanh(from_x);
}

/* (index, h, memory of an LSTM, what comes from x, whether there is such a time, weight_hh, bias_hh) to the next ones,
 * and h for the row of times. */
static void cell_body(rp_graph *g, const cell *c)
{
    const size_t width = gates_of[c->kind] * c->hidden;
    const bool has_memory = c->kind == RP_NN_LSTM;
    rp_tensor h, memory = rp_no_tensor(), from_x, weight, from_h, there = rp_no_tensor(), bias = rp_no_tensor();
    rp_tensor next, remembered;

    (void)rp_function_parameter(g, &(rp_type){.dtype = RP_I64});
    h = parameter(g, 2, c->n, c->hidden);
    if (has_memory)
        memory = parameter(g, 2, c->n, c->hidden);
    from_x = parameter(g, 2, c->n, width);
    if (c->there.graph)
        there = rp_function_parameter(g, &(rp_type){.dtype = RP_BOOL, .rank = 2, .shape = {c->n, 1}});
    weight = parameter(g, 2, c->hidden, width);
    if (!c->no_bias)
        bias = parameter(g, 1, width, 0);
    from_h = rp_linear(h, weight, bias);
    remembered = memory;
    next = next_state(c, from_x, from_h, h, &remembered);
    if (there.graph) {
        next = rp_where(there, next, h);
        remembered = has_memory ? rp_where(there, remembered, memory) : remembered;
    }
    rp_function_return(g, next);
    if (has_memory)
        rp_function_return(g, remembered);
    rp_function_return(g, next);
}

static rp_function *cell_function(rp_nn *nn, const cell *c)
{
    rp_graph *g;
    rp_function *function = NULL;
    rp_error why = {0};
    rp_status status = rp_graph_symbolic(&g, &why);

    if (status == RP_OK) {
        cell_body(g, c);
        status = rp_function_finish(g, &function, &why);
    }
    if (status != RP_OK)
        rp_nn_fail(nn, status, "%s", why.text);
    return function;
}

/* weight_ih_l0 and so on, with the layer's number and the direction. */
static const char *named(char out[40], const char *what, size_t layer, bool reverse)
{
    (void)snprintf(out, 40, "%s_l%zu%s", what, layer, reverse ? "_reverse" : "");
    return out;
}

static void make_parameters(rp_nn *nn, const char *name, cell *c, size_t layer)
{
    const size_t width = gates_of[c->kind] * c->hidden;
    const rp_nn_init init = rp_nn_within(c->hidden);
    char part[40];

    rp_nn_scope(nn, "%s", name);
    c->weight_ih =
        rp_nn_weight(nn, named(part, "weight_ih", layer, c->reverse), 2, (size_t[]){c->in, width}, init, NN_TURNED);
    c->weight_hh =
        rp_nn_weight(nn, named(part, "weight_hh", layer, c->reverse), 2, (size_t[]){c->hidden, width}, init, NN_TURNED);
    c->bias_ih = c->bias_hh = rp_no_tensor();
    if (!c->no_bias) {
        c->bias_ih = rp_nn_parameter(nn, named(part, "bias_ih", layer, c->reverse), 1, &width, init);
        c->bias_hh = rp_nn_parameter(nn, named(part, "bias_hh", layer, c->reverse), 1, &width, init);
    }
    rp_nn_leave(nn);
}

static bool describe(rp_nn *nn, const char *name, rp_tensor x, cell *c)
{
    rp_type type;

    if (!rp_nn_type_of(nn, name, x, 0, &type))
        return false;
    if (type.rank != 3) {
        rp_nn_fail(nn, RP_ESHAPE, "%s%.40s: expected x [n, times, in], found %d axes", nn->scope, name, type.rank);
        return false;
    }
    c->n = type.shape[0];
    c->times = type.shape[1];
    c->in = type.shape[2];
    return true;
}

/* Of x [times, n, in]: h of all times; *last and *memory are the last ones. */
static rp_tensor scan(rp_nn *nn, const cell *c, rp_tensor x, rp_tensor *last, rp_tensor *memory)
{
    rp_tensor carried[2] = {c->start, c->memory}, sliced[2], shared[2] = {c->weight_hh, c->bias_hh}, out[3] = {{0}};
    rp_tensor zeros = rp_no_tensor();
    const size_t n_carried = c->kind == RP_NN_LSTM ? 2 : 1;
    rp_function *function;

    sliced[0] = rp_nn_apply_linear(nn, x, c->weight_ih, c->bias_ih); /* [times, n, gates hidden] */
    sliced[1] = c->there;
    function = cell_function(nn, c);
    for (size_t i = 0; i < n_carried; i++) {
        if (!carried[i].graph && !zeros.graph)
            zeros = rp_fill(nn->graph, RP_F32, 2, (size_t[]){c->n, c->hidden}, 0);
        if (!carried[i].graph)
            carried[i] = zeros;
    }
    if (function)
        rp_scan(nn->graph,
                &(rp_scan_options){.function = function,
                                   .carried = carried,
                                   .n_carried = n_carried,
                                   .sliced = sliced,
                                   .n_sliced = c->there.graph ? 2 : 1,
                                   .shared = shared,
                                   .n_shared = c->no_bias ? 1 : 2,
                                   .times = c->times,
                                   .reverse = c->reverse},
                out);
    rp_function_free(function);
    *last = out[0];
    *memory = n_carried == 2 ? out[1] : rp_no_tensor();
    if (!c->there.graph)
        return out[n_carried];
    zeros = rp_fill(nn->graph, RP_F32, 0, NULL, 0);
    return rp_where(c->there, out[n_carried], zeros);
}

/* ---- layers of them ---- */

typedef struct stack {
    const rp_nn_recurrence *o;
    size_t layers, directions;
    rp_tensor there, last[SCANS_MAX], memory[SCANS_MAX];
} stack;

/* bool [times, n, 1]: time t of row i is there where t < lengths[i]. */
static rp_tensor times_there(rp_nn *nn, const char *name, const cell *c, rp_tensor lengths)
{
    rp_tensor t;
    rp_type type;

    if (!lengths.graph || !rp_nn_type_of(nn, name, lengths, 1, &type))
        return rp_no_tensor();
    if (type.rank != 1 || type.shape[0] != c->n || (type.dtype != RP_I32 && type.dtype != RP_I64)) {
        rp_nn_fail(nn, RP_ESHAPE, "%s%.40s: lengths: expected i32 or i64 [%zu], one of each row", nn->scope, name,
                   c->n);
        return rp_no_tensor();
    }
    t = rp_reshape(rp_iota(nn->graph, type.dtype, c->times), 3, (size_t[]){c->times, 1, 1});
    return rp_lt(t, rp_reshape(lengths, 3, (size_t[]){1, c->n, 1}));
}

/* [n, hidden] of the index-th scan; none where all begin with zeros. */
static rp_tensor start_of(rp_tensor all, const cell *c, size_t index)
{
    if (!all.graph)
        return all;
    all = rp_slice(all, (size_t[]){index, 0, 0}, (size_t[]){index + 1, c->n, c->hidden});
    return rp_reshape(all, 2, (size_t[]){c->n, c->hidden});
}

/* One layer, in one or both directions, of x [times, n, in]; the first one is given [n, times, in]. */
static rp_tensor layer(rp_nn *nn, const char *name, rp_tensor x, const cell *common, stack *s, size_t at)
{
    cell c[2] = {*common, *common};
    rp_tensor y[2];

    for (size_t d = 0; d < s->directions; d++) {
        c[d].reverse = d == 1;
        make_parameters(nn, name, &c[d], at);
    }
    if (at == 0) {
        x = rp_transpose(x, (int[]){1, 0, 2});
        s->there = times_there(nn, name, common, s->o->lengths);
    }
    for (size_t d = 0; d < s->directions; d++) {
        const size_t index = at * s->directions + d;

        c[d].there = s->there;
        c[d].start = start_of(s->o->start, common, index);
        c[d].memory = start_of(s->o->start_memory, common, index);
        y[d] = scan(nn, &c[d], x, &s->last[index], &s->memory[index]);
    }
    return s->directions == 2 ? rp_concat(y, 2, 2) : y[0];
}

/* The states of all scans are [layers directions, n, hidden]. */
static bool starts_fit(rp_nn *nn, const char *name, const cell *c, const stack *s, rp_tensor start)
{
    const rp_type *type = start.graph && rp_tensor_ok(start) ? rp_tensor_type(start) : NULL;

    if (!type || (type->rank == 3 && type->shape[0] == s->layers * s->directions && type->shape[1] == c->n &&
                  type->shape[2] == c->hidden))
        return true;
    rp_nn_fail(nn, RP_ESHAPE, "%s%.40s: states before the first time are [%zu, %zu, %zu]", nn->scope, name,
               s->layers * s->directions, c->n, c->hidden);
    return false;
}

static rp_tensor recurrent(rp_nn *nn, const char *name, rp_tensor x, size_t hidden, stack *s)
{
    const rp_nn_recurrence *o = s->o;
    cell c = {.kind = o->cell, .hidden = hidden, .no_bias = o->no_bias};

    s->layers = o->layers ? o->layers : 1;
    s->directions = o->both ? 2 : 1;
    if (!describe(nn, name, x, &c))
        return rp_no_tensor();
    if ((unsigned)o->cell > RP_NN_RELU || s->layers > SCANS_MAX / s->directions) {
        rp_nn_fail(nn, RP_EARG, "%s%.40s: no such cell, or more than %d scans", nn->scope, name, (int)SCANS_MAX);
        return rp_no_tensor();
    }
    if (!starts_fit(nn, name, &c, s, o->start) || !starts_fit(nn, name, &c, s, o->start_memory))
        return rp_no_tensor();
    for (size_t i = 0; i < s->layers; i++) {
        if (i > 0)
            x = rp_nn_dropout(nn, x, o->dropout);
        x = layer(nn, name, x, &c, s, i);
        c.in = s->directions * hidden;
    }
    return rp_transpose(x, (int[]){1, 0, 2});
}

rp_tensor rp_nn_recurrent(rp_nn *nn, const char *name, rp_tensor x, size_t hidden, const rp_nn_recurrence *options)
{
    const rp_nn_recurrence o = options ? *options : (rp_nn_recurrence){0};
    stack s = {.o = &o};
    rp_tensor y = recurrent(nn, name, x, hidden, &s);

    if (o.last)
        *o.last = rp_tensor_ok(y) ? rp_stack(s.last, s.layers * s.directions, 0) : rp_no_tensor();
    if (o.last_memory)
        *o.last_memory =
            rp_tensor_ok(y) && o.cell == RP_NN_LSTM ? rp_stack(s.memory, s.layers * s.directions, 0) : rp_no_tensor();
    return y;
}

static rp_tensor single(rp_nn *nn, const char *name, rp_tensor x, size_t hidden, rp_nn_cell kind, rp_tensor *last)
{
    const rp_nn_recurrence o = {.cell = kind};
    stack s = {.o = &o};
    rp_tensor y = recurrent(nn, name, x, hidden, &s);

    if (last)
        *last = s.last[0];
    return y;
}

rp_tensor rp_nn_lstm(rp_nn *nn, const char *name, rp_tensor x, size_t hidden, rp_tensor *last)
{
    return single(nn, name, x, hidden, RP_NN_LSTM, last);
}

rp_tensor rp_nn_gru(rp_nn *nn, const char *name, rp_tensor x, size_t hidden, rp_tensor *last)
{
    return single(nn, name, x, hidden, RP_NN_GRU, last);
}

rp_tensor rp_nn_rnn(rp_nn *nn, const char *name, rp_tensor x, size_t hidden, rp_tensor *last)
{
    return single(nn, name, x, hidden, RP_NN_TANH, last);
}
