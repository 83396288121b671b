/* SPDX-License-Identifier: Apache-2.0
 * LSTM, GRU and a plain recurrence (CONTRACT 16.4): what comes from x is one product for all times, what comes from the
 * state before is a scan of a function that stands in the program once. */
#include <math.h>
#include <string.h>

#include "core/nn/nn_private.h"

typedef enum cell_kind { CELL_RNN, CELL_GRU, CELL_LSTM } cell_kind;
static const size_t gates_of[] = {1, 3, 4};

typedef struct cell {
    cell_kind kind;
    size_t n, times, in, hidden;
    rp_tensor weight_ih, weight_hh, bias_ih, bias_hh;
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

/* (index, h, memory of an LSTM, what comes from x, weight_hh, bias_hh) to the next ones, and h for the row of times. */
static void cell_body(rp_graph *g, const cell *c)
{
    const size_t width = gates_of[c->kind] * c->hidden;
    rp_tensor h, memory = rp_no_tensor(), from_x, weight, bias, from_h;

    (void)rp_function_parameter(g, &(rp_type){.dtype = RP_I64});
    h = parameter(g, 2, c->n, c->hidden);
    if (c->kind == CELL_LSTM)
        memory = parameter(g, 2, c->n, c->hidden);
    from_x = parameter(g, 2, c->n, width);
    weight = parameter(g, 2, c->hidden, width);
    bias = parameter(g, 1, width, 0);
    from_h = rp_linear(h, weight, bias);
    if (c->kind == CELL_GRU)
        h = gru_state(c, from_x, from_h, h);
    else if (c->kind == CELL_LSTM)
        h = lstm_state(c, rp_add(from_x, from_h), &memory);
    else
        h = rp_tanh(rp_add(from_x, from_h));
    rp_function_return(g, h);
    if (c->kind == CELL_LSTM)
        rp_function_return(g, memory);
    rp_function_return(g, h);
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

static void make_parameters(rp_nn *nn, const char *name, cell *c)
{
    const size_t width = gates_of[c->kind] * c->hidden;
    const double bound = 1 / sqrt((double)(c->hidden ? c->hidden : 1));
    const rp_nn_init init = rp_nn_uniform(-bound, bound);

    rp_nn_scope(nn, "%s", name);
    c->weight_ih = rp_nn_weight(nn, "weight_ih_l0", 2, (size_t[]){c->in, width}, init, NN_TURNED);
    c->weight_hh = rp_nn_weight(nn, "weight_hh_l0", 2, (size_t[]){c->hidden, width}, init, NN_TURNED);
    c->bias_ih = rp_nn_parameter(nn, "bias_ih_l0", 1, &width, init);
    c->bias_hh = rp_nn_parameter(nn, "bias_hh_l0", 1, &width, init);
    rp_nn_leave(nn);
}

static bool describe(rp_nn *nn, const char *name, rp_tensor x, cell *c)
{
    if (!nn || !nn->graph)
        return false;
    rp_graph_at_work(nn->graph);
    if (!x.graph)
        rp_nn_fail(nn, RP_EARG, "%s%.40s: x is no tensor", nn->scope, name);
    if (!rp_tensor_ok(x))
        return false;
    if (rp_tensor_type(x)->rank != 3) {
        rp_nn_fail(nn, RP_ESHAPE, "%s%.40s: expected x [n, times, in], found %d axes", nn->scope, name,
                   rp_tensor_type(x)->rank);
        return false;
    }
    c->n = rp_tensor_type(x)->shape[0];
    c->times = rp_tensor_type(x)->shape[1];
    c->in = rp_tensor_type(x)->shape[2];
    return true;
}

static rp_tensor recurrent(rp_nn *nn, const char *name, rp_tensor x, cell c, rp_tensor *last)
{
    static const int times_first[3] = {1, 0, 2};
    rp_tensor start, carried[2], out[3] = {{0}}, shared[2];
    rp_function *function;
    const size_t n_carried = c.kind == CELL_LSTM ? 2 : 1;

    if (last)
        *last = rp_no_tensor();
    if (!describe(nn, name, x, &c))
        return rp_no_tensor();
    make_parameters(nn, name, &c);
    x = rp_nn_apply_linear(nn, rp_transpose(x, times_first), c.weight_ih, c.bias_ih); /* [times, n, gates hidden] */
    function = cell_function(nn, &c);
    start = rp_fill(nn->graph, RP_F32, 2, (size_t[]){c.n, c.hidden}, 0);
    carried[0] = carried[1] = start;
    shared[0] = c.weight_hh;
    shared[1] = c.bias_hh;
    if (function)
        rp_scan(nn->graph,
                &(rp_scan_options){.function = function,
                                   .carried = carried,
                                   .n_carried = n_carried,
                                   .sliced = &x,
                                   .n_sliced = 1,
                                   .shared = shared,
                                   .n_shared = 2,
                                   .times = c.times},
                out);
    rp_function_free(function);
    if (last)
        *last = out[0];
    return rp_transpose(out[n_carried], times_first);
}

rp_tensor rp_nn_lstm(rp_nn *nn, const char *name, rp_tensor x, size_t hidden, rp_tensor *last)
{
    return recurrent(nn, name, x, (cell){.kind = CELL_LSTM, .hidden = hidden}, last);
}

rp_tensor rp_nn_gru(rp_nn *nn, const char *name, rp_tensor x, size_t hidden, rp_tensor *last)
{
    return recurrent(nn, name, x, (cell){.kind = CELL_GRU, .hidden = hidden}, last);
}

rp_tensor rp_nn_rnn(rp_nn *nn, const char *name, rp_tensor x, size_t hidden, rp_tensor *last)
{
    return recurrent(nn, name, x, (cell){.kind = CELL_RNN, .hidden = hidden}, last);
}
