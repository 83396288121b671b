/* SPDX-License-Identifier: Apache-2.0
 * Reverse mode (CONTRACT 11): instructions are visited from last to first; where a value has several uses its
 * contributions are added in the order they arise, left to right. Gradient instructions are appended to the same graph,
 * so they can be differentiated again. */
#include <string.h>

#include "base/memory.h"
#include "core/program/grads.h"
#include "core/program/sweep.h"

rp_tensor rp_gradient_fill(rp_graph *graph, const rp_type *type, double c)
{
    size_t shape[RP_MAX_RANK];

    memcpy(shape, type->shape, sizeof shape);
    return rp_fill(graph, rp_gradient_dtype(type->dtype), type->rank, shape, c);
}

static rp_tensor zeros_like(rp_tensor x)
{
    const rp_type type = *rp_tensor_type(x);

    return rp_gradient_fill(x.graph, &type, 0);
}

/* ---- gradients that go ---- */

/* Room for all values that there are; without it none goes any more, which costs memory and nothing else. */
static void hold_uses(rp_sweep *s)
{
    const size_t wanted = s->graph->program->cap_values - s->base;
    uint32_t *bigger;

    if (!s->drops || wanted <= s->n_uses)
        return;
    bigger = rp_reallocarray(s->uses, wanted, sizeof *bigger);
    s->drops = bigger != NULL;
    if (!bigger)
        return;
    memset(bigger + s->n_uses, 0, (wanted - s->n_uses) * sizeof *bigger);
    s->uses = bigger;
    s->n_uses = wanted;
}

static void use(rp_sweep *s, rp_tensor g)
{
    hold_uses(s);
    if (s->drops && g.graph && g.value >= s->base)
        s->uses[g.value - s->base]++;
}

static void use_no_more(rp_sweep *s, rp_tensor g)
{
    if (s->drops && g.graph && g.value >= s->base && --s->uses[g.value - s->base] == 0)
        rp_graph_drop(s->graph, g.value);
}

/* Behind instruction k: what its rule made (values from `made` on) and did not give to any operand, the gradients of
 * its outputs, and those of its outputs of which nobody has a handle: nothing before it reads them. */
static void pass(rp_sweep *s, size_t k, size_t made)
{
    const rp_instr *instr = &s->graph->program->instr[k];

    hold_uses(s);
    if (!s->drops || s->graph->status != RP_OK)
        return;
    for (size_t v = made; v < s->graph->program->n_values; v++)
        if (s->uses[v - s->base] == 0)
            rp_graph_drop(s->graph, (uint32_t)v);
    for (int i = 0; i < instr->n_out; i++) {
        const uint32_t out = instr->out[i];

        if (!s->asked[out])
            use_no_more(s, s->grad[out]);
        if (s->graph->memory[out].mark & RP_VALUE_RELEASED)
            rp_graph_drop(s->graph, out);
    }
}

/* What is appended next may be made where the gradient lies, if that is no other value's too. */
static void spend(rp_sweep *s, rp_tensor g)
{
    if (s->drops && g.graph && g.value >= s->base && g.value - s->base < s->n_uses && s->uses[g.value - s->base] == 1)
        s->graph->spent = g.value + 1;
}

void rp_sweep_contribute(rp_sweep *s, uint32_t value, rp_tensor g)
{
    const rp_tensor before = s->grad[value];

    spend(s, before);
    s->grad[value] = before.graph ? rp_add(before, g) : g;
    s->graph->spent = 0;
    use(s, s->grad[value]);
    use_no_more(s, before);
}

/* ---- the sweep ---- */

/* What a region's values depend on is found in its functions. */
static bool mark_region(rp_sweep *s, const rp_instr *instr)
{
    bool *in = rp_malloc(instr->n_in + (size_t)instr->n_out), *out, fine;

    if (!in)
        return false;
    out = in + instr->n_in;
    for (size_t i = 0; i < instr->n_in; i++)
        in[i] = s->reaches[instr->in[i]];
    fine = rp_region_reach(s->graph->memo, instr->region, in, instr->n_in, out);
    for (int i = 0; i < instr->n_out && fine; i++)
        s->reaches[instr->out[i]] = s->reaches[instr->out[i]] || out[i];
    rp_free(in);
    return fine;
}

/* Forward: which values depend on what is asked for. */
static bool mark(rp_sweep *s, const rp_tensor *wrt, size_t n)
{
    const rp_program *p = s->graph->program;

    for (size_t i = 0; i < n; i++)
        s->reaches[wrt[i].value] = true;
    for (size_t k = s->first; k < s->last; k++) {
        const rp_instr *instr = &p->instr[k];
        bool any = false;

        if (instr->region && !mark_region(s, instr))
            return false;
        for (size_t i = 0; i < instr->n_in && instr->op->vjp; i++)
            any = any || s->reaches[instr->in[i]];
        for (size_t i = 0; i < instr->n_in; i++)
            s->readers[instr->in[i]] += s->readers[instr->in[i]] < 2;
        for (int i = 0; i < instr->n_out; i++)
            s->reaches[instr->out[i]] = s->reaches[instr->out[i]] || any;
    }
    return true;
}

/* Whether the rule of the operation reads the gradient by one instruction, element by element. */
static bool reads_once(const rp_op *op)
{
    return op->kernel == RP_K_relu || op->kernel == RP_K_gelu || op->kernel == RP_K_tanh || op->kernel == RP_K_sigmoid;
}

/* Whether the value's gradient goes nowhere but into that of a transpose: then it may lie turned in memory, in the
 * order in which it is read. Of several readers, and of a matrix that several meet, gradients are added first. */
static bool is_read_turned(const rp_sweep *s, uint32_t value, uint32_t product)
{
    const rp_program *p = s->graph->program;
    const rp_type *x = &p->value[value], *y = &p->value[product];

    for (int i = 0; i + 2 < y->rank; i++)
        if (x->rank != y->rank || x->shape[i] != y->shape[i])
            return false;
    return s->graph->device && p->maker[value] != RP_NO_INSTR && p->maker[value] >= s->first && !s->asked[value] &&
           s->readers[value] == 1 && !s->grad[value].graph && rp_instr_exchanges(&p->instr[p->maker[value]]);
}

/* One instruction: its rule appends instructions, which may move the program's arrays, so everything is copied first.
 */
static void visit(rp_sweep *s, size_t k)
{
    const rp_program *p = s->graph->program;
    rp_instr instr = p->instr[k];
    size_t n = instr.n_in;
    rp_tensor *in = rp_malloc(3 * n * sizeof *in), *grad_in = in ? in + n : NULL, *read = in ? in + 2 * n : NULL;
    bool *need = rp_malloc(n * sizeof *need);
    rp_tensor out[RP_MAX_OUT], grad_out[RP_MAX_OUT];
    bool any = false, turned[2] = {false};

    for (int i = 0; i < instr.n_out; i++) {
        out[i] = rp_graph_tensor(s->graph, instr.out[i]);
        grad_out[i] = s->grad[instr.out[i]];
    }
    if (!in || !need) {
        rp_graph_fail(s->graph, RP_ENOMEM, "out of memory");
    } else {
        for (size_t i = 0; i < n; i++) {
            in[i] = read[i] = rp_graph_tensor(s->graph, instr.in[i]);
            need[i] = s->reaches[instr.in[i]];
            any = any || need[i];
            grad_in[i] = rp_no_tensor();
        }
    }
    /* what is asked for may have been computed itself: the way ends there */
    if (any) {
        if (s->mixed)
            rp_sweep_halve(instr.op, need, read, out);
        if (reads_once(instr.op) && !s->asked[instr.out[0]])
            spend(s, grad_out[0]);
        for (size_t i = 0; i < 2 && instr.op->role == RP_PLAYS_PRODUCT; i++)
            turned[i] = is_read_turned(s, instr.in[i], instr.out[0]);
        instr.op->vjp(&(rp_vjp_args){instr.attr, read, out, n, grad_out, need, grad_in, turned});
        s->graph->spent = 0;
        for (size_t i = 0; i < n; i++)
            if (need[i] && grad_in[i].graph)
                rp_sweep_contribute(s, in[i].value, grad_in[i]);
    }
    rp_free(in);
    rp_free(need);
}

/* Outputs of one operation reach together; any of them may have the gradient. */
static bool is_visited(const rp_sweep *s, const rp_instr *instr)
{
    bool any = false;

    for (int i = 0; i < instr->n_out; i++)
        any = any || s->grad[instr->out[i]].graph;
    return any && (instr->region || (instr->op->vjp && s->reaches[instr->out[0]]));
}

bool rp_sweep_begin(rp_sweep *s, rp_graph *graph, size_t first, const rp_tensor *wrt, size_t n)
{
    const size_t values = graph->program->n_values;

    *s = (rp_sweep){.graph = graph, .first = first, .last = graph->program->n_instrs, .base = values};
    s->grad = rp_calloc(values, sizeof *s->grad);
    s->reaches = rp_calloc(values, sizeof *s->reaches);
    s->asked = rp_calloc(values, sizeof *s->asked);
    s->readers = rp_calloc(values, sizeof *s->readers);
    if (!s->grad || !s->reaches || !s->asked || !s->readers || (graph->status == RP_OK && !mark(s, wrt, n)))
        rp_graph_fail(graph, RP_ENOMEM, "out of memory");
    if (graph->status != RP_OK)
        return false;
    for (size_t i = 0; i < n; i++)
        s->asked[wrt[i].value] = true;
    s->drops = graph->defers;
    for (size_t k = first; k < s->last && s->drops; k++)
        s->drops = !graph->program->instr[k].region; /* whose rules keep gradients of their own */
    return true;
}

void rp_sweep_run(rp_sweep *s)
{
    for (size_t k = s->last; k-- > s->first && s->graph->status == RP_OK;) {
        const size_t made = s->graph->program->n_values, instrs = s->graph->program->n_instrs;

        if (is_visited(s, &s->graph->program->instr[k])) {
            if (s->graph->program->instr[k].region)
                rp_region_visit(s, k);
            else
                visit(s, k);
            rp_program_mark_like(s->graph->program, instrs, s->graph->program->instr[k].mark);
        }
        pass(s, k, made);
    }
}

void rp_sweep_end(rp_sweep *s)
{
    rp_free(s->grad);
    rp_free(s->reaches);
    rp_free(s->asked);
    rp_free(s->readers);
    rp_free(s->uses);
}

/* Steps 1 to 3: an absent gradient has no graph. */
static void sweep(rp_graph *graph, bool mixed, size_t first, const rp_tensor *y, const rp_tensor *seed, size_t n_y,
                  const rp_tensor *wrt, size_t n, rp_tensor *grad)
{
    rp_sweep s;
    rp_memo memo = {0};
    const bool outermost = !graph->memo;

    if (outermost)
        graph->memo = &memo;
    for (size_t i = 0; i < n; i++)
        grad[i] = rp_no_tensor();
    if (rp_sweep_begin(&s, graph, first, wrt, n)) {
        s.mixed = mixed;
        for (size_t i = 0; i < n_y; i++)
            rp_sweep_contribute(&s, y[i].value, seed[i]);
        rp_sweep_run(&s);
        for (size_t i = 0; i < n && graph->status == RP_OK; i++)
            grad[i] = s.grad[wrt[i].value];
    }
    rp_sweep_end(&s);
    if (outermost) {
        graph->memo = NULL;
        rp_memo_free(&memo);
    }
}

/* Step 4. */
static void fill_absent(rp_graph *graph, const rp_tensor *wrt, size_t n, rp_tensor *grad)
{
    for (size_t i = 0; i < n && graph->status == RP_OK; i++)
        if (!grad[i].graph)
            grad[i] = zeros_like(wrt[i]);
}

/* A blank behind the name of an input; "" of other values. */
static const char *named(const rp_program *p, uint32_t value, const char **blank)
{
    *blank = "";
    for (size_t i = 0; i < p->n_inputs; i++)
        if (p->input[i].value == value && p->input[i].name[0] != '\0') {
            *blank = " ";
            return p->input[i].name;
        }
    return "";
}

/* Zeros for what was forgotten, misnamed or cut off would train nothing, and say nothing. */
static void refuse_absent(rp_graph *graph, const rp_tensor *wrt, size_t n, rp_tensor *grad, const char *or_zeros)
{
    size_t first = 0;
    const char *name, *blank;
    char type[192];

    while (first < n && grad[first].graph)
        first++;
    if (graph->status != RP_OK || first == n)
        return;
    rp_type_text(rp_tensor_type(wrt[first]), type, sizeof type);
    name = named(graph->program, wrt[first].value, &blank);
    rp_graph_fail(graph, RP_EARG,
                  "gradients: wrt[%zu], %s%s%s, is unconnected: found no way from it to y that a gradient passes "
                  "(stop_gradient, casts to integers and comparisons pass none), expected y to depend on it; compute y "
                  "from it, leave it out, or ask for zeros with %s",
                  first, name, blank, type, or_zeros);
    for (size_t i = 0; i < n; i++)
        grad[i] = rp_no_tensor();
}

void rp_vjp_from(rp_graph *graph, size_t first, const rp_tensor *y, const rp_tensor *seed, size_t n_y,
                 const rp_tensor *wrt, size_t n, rp_tensor *grad)
{
    sweep(graph, false, first, y, seed, n_y, wrt, n, grad);
    fill_absent(graph, wrt, n, grad);
}

/* or_zeros: what to ask for zeros with, where absent gradients are refused; NULL: they are zeros. */
static void vjp(const rp_tensor *y, const rp_tensor *seed, size_t n_y, const rp_tensor *wrt, size_t n, rp_tensor *grad,
                bool mixed, const char *or_zeros)
{
    rp_graph *graph = n_y && y ? y[0].graph : NULL;

    for (size_t i = 0; i < n && grad; i++)
        grad[i] = rp_no_tensor();
    if (!graph || !rp_graph_given(graph, "seed", seed, n_y) || !rp_graph_given(graph, "wrt", wrt, n) ||
        !rp_graph_given(graph, "grad", grad, n))
        return;
    for (size_t i = 0; i < n_y; i++) {
        if (y[i].graph != graph || seed[i].graph != graph)
            rp_graph_fail(graph, RP_EARG, "gradients: operands of different graphs");
        else if (rp_tensor_ok(y[i]) && rp_gradient_dtype(rp_tensor_type(y[i])->dtype) != rp_tensor_type(y[i])->dtype)
            rp_graph_fail(graph, RP_ESHAPE, "gradients: of a %s output: cast it to f32 first",
                          rp_dtype_name(rp_tensor_type(y[i])->dtype));
        else if (rp_tensor_ok(y[i]) && rp_tensor_ok(seed[i]) &&
                 !rp_type_equal(rp_tensor_type(y[i]), rp_tensor_type(seed[i])))
            rp_graph_fail(graph, RP_ESHAPE, "gradients: a seed must have the type of its output");
    }
    for (size_t i = 0; i < n; i++) {
        if (wrt[i].graph != graph)
            rp_graph_fail(graph, RP_EARG, "gradients: operands of different graphs");
        else if (rp_tensor_ok(wrt[i]) && !(RP_D_REAL & 1u << rp_tensor_type(wrt[i])->dtype))
            rp_graph_fail(graph, RP_ESHAPE,
                          "gradients: only f32 and f64 tensors (and bf16 and f16, in f32) have gradients");
    }
    if (graph->status != RP_OK)
        return;
    graph->swept = true;
    sweep(graph, mixed, 0, y, seed, n_y, wrt, n, grad);
    if (or_zeros)
        refuse_absent(graph, wrt, n, grad, or_zeros);
    else
        fill_absent(graph, wrt, n, grad);
}

void rp_vjp(const rp_tensor *y, const rp_tensor *seed, size_t n_y, const rp_tensor *wrt, size_t n, rp_tensor *grad)
{
    vjp(y, seed, n_y, wrt, n, grad, false, "rp_vjp_or_zeros");
}

void rp_vjp_or_zeros(const rp_tensor *y, const rp_tensor *seed, size_t n_y, const rp_tensor *wrt, size_t n,
                     rp_tensor *grad)
{
    vjp(y, seed, n_y, wrt, n, grad, false, NULL);
}

static void refuse_loss(rp_tensor y)
{
    char found[192];

    rp_type_text(rp_tensor_type(y), found, sizeof found);
    rp_graph_fail(y.graph, RP_ESHAPE, "gradients: found %s, expected f32 or f64 of one element (a loss)", found);
}

static void gradients(rp_tensor y, const rp_tensor *wrt, size_t n, rp_tensor *grad, bool mixed, const char *or_zeros)
{
    size_t shape[RP_MAX_RANK];
    rp_tensor one;

    for (size_t i = 0; i < n && grad; i++)
        grad[i] = rp_no_tensor();
    if (!rp_tensor_ok(y))
        return;
    if (rp_type_count(rp_tensor_type(y)) != 1 || !(RP_D_FLOAT & 1u << rp_tensor_type(y)->dtype)) {
        refuse_loss(y);
        return;
    }
    memcpy(shape, rp_tensor_type(y)->shape, sizeof shape);
    one = rp_fill(y.graph, rp_tensor_type(y)->dtype, rp_tensor_type(y)->rank, shape, 1);
    vjp(&y, &one, 1, wrt, n, grad, mixed, or_zeros);
}

void rp_gradients(rp_tensor y, const rp_tensor *wrt, size_t n, rp_tensor *grad)
{
    gradients(y, wrt, n, grad, false, "rp_gradients_or_zeros");
}

void rp_gradients_or_zeros(rp_tensor y, const rp_tensor *wrt, size_t n, rp_tensor *grad)
{
    gradients(y, wrt, n, grad, false, NULL);
}

void rp_gradients_mixed(rp_tensor y, const rp_tensor *wrt, size_t n, rp_tensor *grad)
{
    gradients(y, wrt, n, grad, true, "rp_gradients_mixed_or_zeros");
}

void rp_gradients_mixed_or_zeros(rp_tensor y, const rp_tensor *wrt, size_t n, rp_tensor *grad)
{
    gradients(y, wrt, n, grad, true, NULL);
}
