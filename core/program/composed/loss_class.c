/* SPDX-License-Identifier: Apache-2.0
 * Losses of rows that belong to classes: cross entropy and likelihood with weights, ignored rows and smoothing, and the
 * contrastive one that is made of it. */
#include "core/program/composed/composed.h"
#include "rp/composite.h"
#include "rp/indexing.h"
#include "rp/loss.h"

#define C composed_constant

static const int last[1] = {-1};

/* Rows on their way: labels that are classes, which rows count, and what each counts. */
typedef struct rows {
    const rp_class_options *options;
    rp_tensor labels, kept, weight; /* no tensor: all count, by 1 */
} rows;

/* One weight a class: fewer would do until a row has a class without one. */
static bool weights_fit(rp_tensor x, const rp_class_options *options)
{
    const rp_type *type, *of;
    char a[192], b[192];

    if (!options || !options->weight.graph || !rp_tensor_ok(x) || !rp_tensor_ok(options->weight))
        return true;
    type = rp_tensor_type(options->weight);
    of = rp_tensor_type(x);
    if (type->rank == 1 && of->rank > 0 && type->shape[0] == of->shape[of->rank - 1])
        return true;
    rp_type_text(type, a, sizeof a);
    rp_type_text(of, b, sizeof b);
    rp_graph_fail(x.graph, RP_ESHAPE, "loss of classes: found weights %s beside %s, expected one a class", a, b);
    return false;
}

static rows rows_of(rp_tensor x, rp_tensor labels, const rp_class_options *options)
{
    static const rp_class_options plain;
    rows r = {options ? options : &plain, labels, rp_no_tensor(), rp_no_tensor()};

    if (r.options->ignore) {
        r.kept = rp_ne(labels, C(labels, (double)r.options->ignore_index));
        r.labels = rp_where(r.kept, labels, C(labels, 0));
    }
    if (r.options->weight.graph)
        r.weight = rp_gather(r.options->weight, r.labels, 0);
    if (r.options->ignore) {
        if (r.weight.graph == NULL)
            r.weight = C(x, 1);
        r.weight = rp_where(r.kept, r.weight, C(x, 0));
    }
    return r;
}

/* Losses of rows that do not count may be anything. */
static rp_tensor counted(const rows *r, rp_tensor loss)
{
    return r->kept.graph ? rp_where(r->kept, loss, C(loss, 0)) : loss;
}

static rp_tensor weighted(const rows *r, rp_tensor loss)
{
    return r->options->weight.graph ? rp_mul(loss, r->weight) : loss;
}

/* The mean is over what the rows count. */
static rp_tensor rows_reduced(const rows *r, rp_tensor loss)
{
    rp_tensor sum;

    if (r->options->reduction != RP_REDUCE_MEAN || r->weight.graph == NULL)
        return composed_reduced(loss, r->options->reduction);
    sum = rp_sum(loss, NULL, 0, false);
    return rp_div(sum, rp_sum(r->weight, NULL, 0, false));
}

static size_t classes_of(rp_tensor x)
{
    const rp_type *type = rp_tensor_ok(x) ? rp_tensor_type(x) : NULL;

    return type && type->rank > 0 ? type->shape[type->rank - 1] : 1;
}

/* x with an axis of length one more, at its end, or with one less. */
static rp_tensor with_column(rp_tensor x, bool more)
{
    size_t shape[RP_MAX_RANK + 1] = {0};
    const rp_type *type = rp_tensor_ok(x) ? rp_tensor_type(x) : NULL;

    if (type == NULL)
        return rp_no_tensor();
    for (int d = 0; d < type->rank; d++)
        shape[d] = type->shape[d];
    shape[type->rank] = 1;
    return rp_reshape(x, more ? type->rank + 1 : type->rank - 1, shape);
}

/* -x of the row's class, of which -0 is 0 */
static rp_tensor picked(rp_tensor x, rp_tensor labels)
{
    rp_tensor taken = rp_take_along(x, with_column(labels, true), -1);

    return rp_neg(rp_add_scalar(with_column(taken, false), 0));
}

rp_tensor rp_nll_loss(rp_tensor log_p, rp_tensor labels, const rp_class_options *options)
{
    rows r;

    if (!weights_fit(log_p, options))
        return rp_no_tensor();
    if (options && options->smoothing != 0) {
        if (log_p.graph)
            rp_graph_fail(log_p.graph, RP_EARG, "nll_loss: found smoothing %g, expected 0: cross_entropy_loss has it",
                          options->smoothing);
        return rp_no_tensor();
    }
    r = rows_of(log_p, labels, options);
    return rows_reduced(&r, counted(&r, weighted(&r, picked(log_p, r.labels))));
}

/* The operation cross_entropy, of rows; its public call has the mean. */
static rp_tensor entropy(rp_tensor logits, rp_tensor labels)
{
    const rp_tensor in[2] = {logits, labels};
    rp_tensor out[RP_MAX_OUT];

    rp_emit(rp_graph_of(in, 2), RP_OP_cross_entropy, NULL, in, 2, out);
    return out[0];
}

/* (1 - s) of the label's loss, and s of the mean of all classes'. */
static rp_tensor smoothed(const rows *r, rp_tensor logits, double smoothing)
{
    const double n = (double)classes_of(logits);
    rp_tensor own = rp_scale(weighted(r, entropy(logits, r->labels)), 1 - smoothing), spread;

    if (r->options->weight.graph) {
        spread = rp_mul(rp_log_softmax(logits), r->options->weight);
        spread = rp_scale(rp_sum(spread, last, 1, false), -smoothing / n);
    } else {
        spread = rp_logsumexp(logits, last, 1, false);
        spread = rp_scale(rp_sub(spread, rp_mean(logits, last, 1, false)), smoothing);
    }
    return rp_add(own, spread);
}

rp_tensor rp_cross_entropy_loss(rp_tensor logits, rp_tensor labels, const rp_class_options *options)
{
    const double s = options ? options->smoothing : 0;
    rows r;

    if (!weights_fit(logits, options))
        return rp_no_tensor();
    if (!(s >= 0 && s <= 1)) {
        if (logits.graph)
            rp_graph_fail(logits.graph, RP_EARG, "cross_entropy_loss: found smoothing %g, expected 0 to 1", s);
        return rp_no_tensor();
    }
    r = rows_of(logits, labels, options);
    if (s > 0)
        return rows_reduced(&r, counted(&r, smoothed(&r, logits, s)));
    return rows_reduced(&r, counted(&r, weighted(&r, entropy(logits, r.labels))));
}

static rp_tensor of_length_one(rp_tensor x)
{
    rp_tensor square = rp_sum(rp_mul(x, x), last, 1, true);

    return rp_div(x, rp_sqrt(rp_maximum(square, C(x, 1e-24)))); /* the root of 0 has no slope */
}

rp_tensor rp_info_nce_loss(rp_tensor query, rp_tensor key, double temperature, rp_reduction reduction)
{
    const bool there = rp_tensor_ok(query) && rp_tensor_type(query)->rank > 0;
    const size_t n = there ? rp_tensor_type(query)->shape[0] : 0;
    rp_tensor q, k, logits;

    if (!there)
        return rp_no_tensor();
    if (!(temperature > 0)) {
        rp_graph_fail(query.graph, RP_EARG, "info_nce_loss: found a temperature of %g, expected more than 0",
                      temperature);
        return rp_no_tensor();
    }
    q = of_length_one(query);
    k = rp_transpose(of_length_one(key), NULL);
    logits = rp_matmul(q, k);
    logits = rp_div(logits, C(logits, temperature));
    return rp_cross_entropy_loss(logits, rp_iota(query.graph, RP_I64, n), &(rp_class_options){.reduction = reduction});
}
