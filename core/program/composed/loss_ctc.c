/* SPDX-License-Identifier: Apache-2.0
 * Connectionist temporal classification (Graves and others, 2006): the sum over all alignments, forward in time by one
 * scan, whose gradient is the scan backward. Logarithms of 0 are held at a floor that sums of real ones never reach, so
 * that no difference of infinities comes up. */
#include <math.h>

#include "core/program/composed/composed.h"
#include "core/program/function.h"
#include "rp/composite.h"
#include "rp/indexing.h"

#define C composed_constant

static const double no_chance = -1e30; /* log 0 */

typedef struct ctc {
    const rp_ctc_options *options;
    rp_dtype dtype;
    size_t times, n, labels, places; /* places: blanks and labels in turn, 2 labels + 1 */
} ctc;

static rp_tensor filled(rp_tensor like, rp_dtype dtype, size_t rows, size_t cols, double value)
{
    return rp_fill(like.graph, dtype, 2, (size_t[]){rows, cols}, value);
}

/* What lies `by` places before, of which the first have no chance. */
static rp_tensor before(const ctc *c, rp_tensor alpha, size_t by)
{
    const size_t none = by < c->places ? by : c->places;
    rp_tensor parts[2];

    parts[0] = filled(alpha, c->dtype, c->n, none, no_chance);
    if (none == c->places)
        return parts[0];
    parts[1] = rp_slice(alpha, (size_t[]){0, 0}, (size_t[]){c->n, c->places - none});
    return rp_concat(parts, 2, 1);
}

/* log(e^a + e^b [+ e^c]); the greatest is no part of the derivative, whose weights add up to 1 as they are. */
static rp_tensor log_sum(rp_tensor a, rp_tensor b, const rp_tensor *c)
{
    rp_tensor most = rp_maximum(a, b), sum, e;

    most = rp_stop_gradient(c ? rp_maximum(most, *c) : most);
    sum = rp_exp(rp_sub(a, most));
    e = rp_exp(rp_sub(b, most));
    sum = rp_add(sum, e);
    if (c) {
        e = rp_exp(rp_sub(*c, most));
        sum = rp_add(sum, e);
    }
    sum = rp_log(sum);
    return rp_add(sum, most);
}

/* (time, alpha, log p of the places, whether two places are one step, lengths) to the next alpha. */
static void frame(rp_graph *g, const ctc *c)
{
    const rp_type places = {.dtype = c->dtype, .rank = 2, .shape = {c->n, c->places}};
    const rp_type flags = {.dtype = RP_BOOL, .rank = 2, .shape = {c->n, c->places}};
    rp_tensor time = rp_function_parameter(g, &(rp_type){.dtype = RP_I64});
    rp_tensor alpha = rp_function_parameter(g, &places), p = rp_function_parameter(g, &places);
    rp_tensor skips = rp_function_parameter(g, &flags);
    rp_tensor length = rp_function_parameter(g, &(rp_type){.dtype = RP_I64, .rank = 2, .shape = {c->n, 1}});
    rp_tensor one = before(c, alpha, 1), two = before(c, alpha, 2), next;

    two = rp_where(skips, two, C(two, no_chance));
    next = rp_add(log_sum(alpha, one, &two), p);
    rp_function_return(g, rp_where(rp_lt(time, length), next, alpha));
}

static rp_function *frame_function(rp_graph *graph, const ctc *c)
{
    rp_function *function = NULL;
    rp_graph *g;
    rp_error why = {0};
    rp_status status = rp_graph_symbolic(&g, &why);

    if (status == RP_OK) {
        frame(g, c);
        status = rp_function_finish(g, &function, &why);
    }
    if (status != RP_OK)
        rp_graph_fail(graph, status, "ctc_loss: %s", why.text);
    return function;
}

/* The places' classes [n, places]: labels behind a row's length are blanks, whatever they are. */
static rp_tensor classes_of(const ctc *c, rp_tensor labels, rp_tensor label_length)
{
    const rp_dtype dtype = composed_dtype(labels);
    rp_tensor inside = rp_lt(rp_iota(labels.graph, RP_I64, c->labels), label_length), pairs[2], line[2];

    labels = rp_where(inside, labels, C(labels, (double)c->options->blank));
    pairs[0] = rp_reshape(labels, 3, (size_t[]){c->n, c->labels, 1});
    pairs[1] = rp_fill(labels.graph, dtype, 3, (size_t[]){c->n, c->labels, 1}, (double)c->options->blank);
    line[0] = filled(labels, dtype, c->n, 1, (double)c->options->blank);
    line[1] = rp_reshape(rp_concat(pairs, 2, 2), 2, (size_t[]){c->n, 2 * c->labels});
    return rp_concat(line, 2, 1);
}

/* A label may follow the one before it without a blank between, if it is another one. */
static rp_tensor skips_of(const ctc *c, rp_tensor classes)
{
    const size_t none = c->places < 2 ? c->places : 2;
    rp_tensor parts[2], other, label;

    parts[0] = filled(classes, composed_dtype(classes), c->n, none, (double)c->options->blank);
    parts[1] = rp_slice(classes, (size_t[]){0, 0}, (size_t[]){c->n, c->places - none});
    other = rp_ne(classes, rp_concat(parts, 2, 1));
    label = rp_ne(classes, C(classes, (double)c->options->blank));
    return rp_logical_and(other, label);
}

static rp_tensor forward(const ctc *c, rp_tensor log_p, rp_tensor classes, rp_tensor length)
{
    rp_graph *g = log_p.graph;
    rp_function *function = frame_function(g, c);
    rp_tensor index = rp_broadcast_to(classes, 3, (size_t[]){c->times, c->n, c->places}), carried, sliced, shared[2];
    rp_tensor first = rp_iota(g, RP_I64, c->places), start = rp_fill(g, c->dtype, 0, NULL, 0), out = rp_no_tensor();

    sliced = rp_take_along(log_p, index, 2);
    sliced = rp_maximum(sliced, C(sliced, no_chance));
    first = rp_eq(first, C(first, 0));
    carried = rp_where(first, start, C(log_p, no_chance));
    carried = rp_broadcast_to(carried, 2, (size_t[]){c->n, c->places});
    shared[0] = skips_of(c, classes);
    shared[1] = length;
    if (function)
        rp_scan(g,
                &(rp_scan_options){.function = function,
                                   .carried = &carried,
                                   .sliced = &sliced,
                                   .shared = shared,
                                   .n_carried = 1,
                                   .n_sliced = 1,
                                   .n_shared = 2,
                                   .times = c->times},
                &out);
    rp_function_free(function);
    return out;
}

/* [n]: alignments end with the last label or the blank behind it; infinite where there is none. */
static rp_tensor losses(const ctc *c, rp_tensor alpha, rp_tensor label_length)
{
    rp_tensor end = rp_add(label_length, label_length), one_less, blank, label, some, sum, none, loss;

    one_less = rp_add_scalar(end, -1);
    one_less = rp_maximum(one_less, C(end, 0));
    blank = rp_take_along(alpha, end, 1);
    label = rp_take_along(alpha, one_less, 1);
    some = rp_gt(label_length, C(label_length, 0));
    label = rp_where(some, label, C(label, no_chance));
    sum = log_sum(blank, label, NULL);
    none = rp_lt(sum, C(sum, 0.1 * no_chance));
    loss = rp_neg(sum);
    loss = rp_where(none, C(loss, c->options->zero_infinity ? 0 : (double)INFINITY), loss);
    return rp_reshape(loss, 1, (size_t[]){c->n});
}

static bool is_index(const rp_type *type)
{
    return type->dtype == RP_I32 || type->dtype == RP_I64;
}

static bool fits(rp_tensor log_p, rp_tensor labels, rp_tensor input_length, rp_tensor label_length, ctc *c)
{
    const rp_tensor all[4] = {log_p, labels, input_length, label_length};
    const rp_type *p, *k, *length[2];
    char text[4][192];

    for (size_t i = 0; i < 4; i++)
        if (!rp_tensor_ok(all[i]) || all[i].graph != log_p.graph) {
            if (log_p.graph && all[i].graph && all[i].graph != log_p.graph)
                rp_graph_fail(log_p.graph, RP_EARG, "ctc_loss: operands of different graphs");
            return false;
        }
    p = rp_tensor_type(log_p), k = rp_tensor_type(labels);
    length[0] = rp_tensor_type(input_length), length[1] = rp_tensor_type(label_length);
    *c = (ctc){c->options, p->dtype, p->shape[0], p->shape[1], k->shape[1], 2 * k->shape[1] + 1};
    if (composed_is_real(log_p) && p->rank == 3 && k->rank == 2 && is_index(k) && k->shape[0] == c->n &&
        is_index(length[0]) && is_index(length[1]) && length[0]->rank == 1 && length[1]->rank == 1 &&
        length[0]->shape[0] == c->n && length[1]->shape[0] == c->n && c->options->blank >= 0 &&
        (uint64_t)c->options->blank < p->shape[2])
        return true;
    for (size_t i = 0; i < 4; i++)
        rp_type_text(rp_tensor_type(all[i]), text[i], sizeof text[i]);
    rp_graph_fail(log_p.graph, RP_ESHAPE,
                  "ctc_loss: found %s, %s, %s and %s, expected f32 or f64 [times, n, classes], labels [n, s] and two "
                  "lengths [n], i32 or i64, and a blank that is a class",
                  text[0], text[1], text[2], text[3]);
    return false;
}

/* i64 [n, 1] out of 0 .. most: another length is an error of the step, as it is an index that names no place. */
static rp_tensor column(const ctc *c, rp_tensor length, size_t most)
{
    const rp_tensor allowed = rp_iota(length.graph, RP_I64, most + 1);

    return rp_reshape(rp_gather(allowed, length, 0), 2, (size_t[]){c->n, 1});
}

rp_tensor rp_ctc_loss(rp_tensor log_p, rp_tensor labels, rp_tensor input_length, rp_tensor label_length,
                      const rp_ctc_options *options)
{
    static const rp_ctc_options plain;
    ctc c = {.options = options ? options : &plain};
    rp_tensor classes, alpha, loss, weight;

    if (!fits(log_p, labels, input_length, label_length, &c))
        return rp_no_tensor();
    input_length = column(&c, input_length, c.times);
    label_length = column(&c, label_length, c.labels);
    classes = classes_of(&c, labels, label_length);
    alpha = forward(&c, log_p, classes, input_length);
    loss = losses(&c, alpha, label_length);
    if (c.options->reduction == RP_REDUCE_MEAN) {
        weight = rp_maximum(label_length, C(label_length, 1));
        weight = rp_reshape(rp_cast(weight, c.dtype), 1, (size_t[]){c.n});
        loss = rp_div(loss, weight);
    }
    return composed_reduced(loss, c.options->reduction);
}
