/* SPDX-License-Identifier: Apache-2.0
 * Losses of elements: of predictions and targets, of probabilities, of pairs and triplets. */
#include "rp/loss.h"

#include "core/program/composed/composed.h"
#include "rp/composite.h"

#define C composed_constant

/* A number of a loss that is out of its range. */
static rp_tensor refused(const char *call, rp_tensor x, const char *what, double found, const char *expected)
{
    if (x.graph)
        rp_graph_fail(x.graph, RP_EARG, "%s: found %s of %g, expected %s", call, what, found, expected);
    return rp_no_tensor();
}

rp_tensor composed_reduced(rp_tensor x, rp_reduction reduction)
{
    rp_tensor sum;

    if ((unsigned)reduction > RP_REDUCE_BATCH)
        return refused("loss", x, "a reduction", (double)reduction, "one of rp_reduction's");
    if (reduction == RP_REDUCE_NONE)
        return x;
    if (reduction == RP_REDUCE_MEAN)
        return rp_mean(x, NULL, 0, false);
    sum = rp_sum(x, NULL, 0, false);
    if (reduction == RP_REDUCE_SUM || !rp_tensor_ok(x) || rp_tensor_type(x)->rank == 0)
        return sum;
    return rp_div(sum, C(sum, (double)rp_tensor_type(x)->shape[0]));
}

static rp_tensor mse_loss_written(rp_tensor x, rp_tensor target, rp_reduction reduction)
{
    if (!rp_tensor_beside("mse_loss", "a target", x, target))
        return rp_no_tensor();
    return composed_reduced(rp_square(rp_sub(x, target)), reduction);
}

rp_tensor rp_mse_loss(rp_tensor x, rp_tensor target, rp_reduction reduction)
{
    rp_graph *call = rp_graph_call_begins(x);

    return rp_graph_call_ends(call, mse_loss_written(x, target, reduction));
}

static rp_tensor l1_loss_written(rp_tensor x, rp_tensor target, rp_reduction reduction)
{
    if (!rp_tensor_beside("l1_loss", "a target", x, target))
        return rp_no_tensor();
    return composed_reduced(rp_abs(rp_sub(x, target)), reduction);
}

rp_tensor rp_l1_loss(rp_tensor x, rp_tensor target, rp_reduction reduction)
{
    rp_graph *call = rp_graph_call_begins(x);

    return rp_graph_call_ends(call, l1_loss_written(x, target, reduction));
}

/* Integers would make whole numbers of the constants, in silence. */
static bool real_losses(rp_tensor x, const char *name)
{
    if (rp_tensor_ok(x) && !composed_is_real(x))
        rp_graph_fail(x.graph, RP_ESHAPE, "%s: found %s, expected f32 or f64: rp_cast before", name,
                      rp_dtype_name(composed_dtype(x)));
    return composed_is_real(x);
}

/* d^2 `square` below the distance, d `line` - `less` from there on, of d = |x - target| */
static rp_tensor bent(rp_tensor x, rp_tensor target, double distance, double square, double line, double less)
{
    rp_tensor d, near, curve, straight;

    if (!real_losses(x, "huber_loss and smooth_l1_loss"))
        return rp_no_tensor();
    d = rp_abs(rp_sub(x, target)), near = rp_lt(d, C(d, distance)), curve = rp_scale(rp_square(d), square);
    straight = rp_add_scalar(rp_scale(d, line), -less);

    return rp_where(near, curve, straight);
}

static rp_tensor huber_loss_written(rp_tensor x, rp_tensor target, double delta, rp_reduction reduction)
{
    if (!(delta > 0 && delta <= composed_greatest(x)))
        return refused("huber_loss", x, "a delta", delta, "more than 0, and finite in the operands' type");
    if (!rp_tensor_beside("huber_loss", "a target", x, target))
        return rp_no_tensor();
    return composed_reduced(bent(x, target, delta, 0.5, delta, 0.5 * delta * delta), reduction);
}

rp_tensor rp_huber_loss(rp_tensor x, rp_tensor target, double delta, rp_reduction reduction)
{
    rp_graph *call = rp_graph_call_begins(x);

    return rp_graph_call_ends(call, huber_loss_written(x, target, delta, reduction));
}

static rp_tensor smooth_l1_loss_written(rp_tensor x, rp_tensor target, double beta, rp_reduction reduction)
{
    if (!(beta >= 0 && beta <= composed_greatest(x)))
        return refused("smooth_l1_loss", x, "a beta", beta, "0 or more, and finite in the operands' type");
    if (beta == 0)
        return rp_l1_loss(x, target, reduction);
    if (!rp_tensor_beside("smooth_l1_loss", "a target", x, target))
        return rp_no_tensor();
    return composed_reduced(bent(x, target, beta, 0.5 / beta, 1, 0.5 * beta), reduction);
}

rp_tensor rp_smooth_l1_loss(rp_tensor x, rp_tensor target, double beta, rp_reduction reduction)
{
    rp_graph *call = rp_graph_call_begins(x);

    return rp_graph_call_ends(call, smooth_l1_loss_written(x, target, beta, reduction));
}

static rp_tensor bce_loss_written(rp_tensor p, rp_tensor target, rp_reduction reduction)
{
    const double none = (double)__builtin_inf();
    rp_tensor never, always, inner, least, low, log_p, log_q, yes, outer, no, first, rest;

    if (!rp_tensor_beside("bce_loss", "a target", p, target))
        return rp_no_tensor();
    /* where p is 0 or 1 the logarithm's slope is none, and there is no gradient */
    never = rp_eq(p, C(p, 0));
    always = rp_eq(p, C(p, 1));
    inner = rp_where(never, C(p, 1), p);
    least = C(p, -100);
    log_p = rp_clamp(rp_log(inner), -100, none);
    yes = rp_where(never, least, log_p);
    outer = rp_where(always, C(p, 0), p);
    low = C(p, -100);
    log_q = rp_clamp(rp_log1p(rp_neg(outer)), -100, none);
    no = rp_where(always, low, log_q);
    first = rp_mul(target, yes);
    rest = rp_add_scalar(rp_neg(target), 1);
    return composed_reduced(rp_neg(rp_add(first, rp_mul(rest, no))), reduction);
}

rp_tensor rp_bce_loss(rp_tensor p, rp_tensor target, rp_reduction reduction)
{
    rp_graph *call = rp_graph_call_begins(p);

    return rp_graph_call_ends(call, bce_loss_written(p, target, reduction));
}

/* (1 - t) x + w softplus(-x), w = 1 + (weight - 1) t */
static rp_tensor bce_with_logits_loss_written(rp_tensor logits, rp_tensor target, rp_tensor positive_weight,
                                              rp_reduction reduction)
{
    rp_tensor weight, rest, first;

    if (!rp_tensor_beside("bce_with_logits_loss", "a target", logits, target))
        return rp_no_tensor();
    if (positive_weight.graph && !rp_tensor_beside("bce_with_logits_loss", "a weight", logits, positive_weight))
        return rp_no_tensor();
    if (positive_weight.graph == NULL)
        return composed_reduced(rp_bce_logits(logits, target), reduction);
    weight = rp_add_scalar(rp_mul(rp_add_scalar(positive_weight, -1), target), 1);
    rest = rp_add_scalar(rp_neg(target), 1);
    first = rp_mul(rest, logits);
    rest = rp_neg(rp_logsigmoid(logits));
    return composed_reduced(rp_add(first, rp_mul(weight, rest)), reduction);
}

rp_tensor rp_bce_with_logits_loss(rp_tensor logits, rp_tensor target, rp_tensor positive_weight, rp_reduction reduction)
{
    rp_graph *call = rp_graph_call_begins(logits);

    return rp_graph_call_ends(call, bce_with_logits_loss_written(logits, target, positive_weight, reduction));
}

static rp_tensor kl_div_loss_written(rp_tensor log_p, rp_tensor target, bool log_target, rp_reduction reduction)
{
    rp_tensor weight, own;

    if (!rp_tensor_beside("kl_div_loss", "a target", log_p, target))
        return rp_no_tensor();
    if (log_target) {
        weight = rp_exp(target);
        return composed_reduced(rp_mul(weight, rp_sub(target, log_p)), reduction);
    }
    own = rp_xlogy(target, target);
    return composed_reduced(rp_sub(own, rp_mul(target, log_p)), reduction);
}

rp_tensor rp_kl_div_loss(rp_tensor log_p, rp_tensor target, bool log_target, rp_reduction reduction)
{
    rp_graph *call = rp_graph_call_begins(log_p);

    return rp_graph_call_ends(call, kl_div_loss_written(log_p, target, log_target, reduction));
}

/* Stirling's t log(t) - t + log(2 pi t) / 2 where t > 1, else 0 */
static rp_tensor stirling(rp_tensor t)
{
    rp_tensor above = rp_gt(t, C(t, 1)), some = rp_where(above, t, C(t, 1)), own = rp_mul(some, rp_log(some));
    rp_tensor half = rp_scale(rp_log(rp_scale(some, 6.2831853071795862)), 0.5), term = rp_add(rp_sub(own, some), half);

    return rp_where(above, term, C(t, 0));
}

static rp_tensor poisson_nll_loss_written(rp_tensor x, rp_tensor target, bool log_input, bool full, double eps,
                                          rp_reduction reduction)
{
    rp_tensor rate, log_rate, loss;

    if (!rp_tensor_beside("poisson_nll_loss", "a target", x, target))
        return rp_no_tensor();
    rate = log_input ? rp_exp(x) : x;
    log_rate = log_input ? x : rp_log(rp_add_scalar(x, eps));
    loss = rp_sub(rate, rp_mul(target, log_rate));
    return composed_reduced(full ? rp_add(loss, stirling(target)) : loss, reduction);
}

rp_tensor rp_poisson_nll_loss(rp_tensor x, rp_tensor target, bool log_input, bool full, double eps,
                              rp_reduction reduction)
{
    rp_graph *call = rp_graph_call_begins(x);

    return rp_graph_call_ends(call, poisson_nll_loss_written(x, target, log_input, full, eps, reduction));
}

static rp_tensor gaussian_nll_loss_written(rp_tensor x, rp_tensor target, rp_tensor var, bool full, double eps,
                                           rp_reduction reduction)
{
    rp_tensor width, square, log_width, loss;

    if (!rp_tensor_beside("gaussian_nll_loss", "a target", x, target) ||
        !rp_tensor_beside("gaussian_nll_loss", "a variance", x, var))
        return rp_no_tensor();
    width = rp_maximum(var, C(var, eps));
    square = rp_square(rp_sub(x, target));
    log_width = rp_log(width);
    loss = rp_scale(rp_add(log_width, rp_div(square, width)), 0.5);
    return composed_reduced(full ? rp_add_scalar(loss, 0.91893853320467278) : loss, reduction);
}

rp_tensor rp_gaussian_nll_loss(rp_tensor x, rp_tensor target, rp_tensor var, bool full, double eps,
                               rp_reduction reduction)
{
    rp_graph *call = rp_graph_call_begins(x);

    return rp_graph_call_ends(call, gaussian_nll_loss_written(x, target, var, full, eps, reduction));
}

/* max(0, x) with a margin added */
static rp_tensor beyond(rp_tensor x, double margin)
{
    return rp_relu(rp_add_scalar(x, margin));
}

static rp_tensor hinge_loss_written(rp_tensor x, rp_tensor y, rp_reduction reduction)
{
    if (!rp_tensor_beside("hinge_loss", "a label", x, y))
        return rp_no_tensor();
    return composed_reduced(beyond(rp_neg(rp_mul(y, x)), 1), reduction);
}

rp_tensor rp_hinge_loss(rp_tensor x, rp_tensor y, rp_reduction reduction)
{
    rp_graph *call = rp_graph_call_begins(x);

    return rp_graph_call_ends(call, hinge_loss_written(x, y, reduction));
}

static rp_tensor soft_margin_loss_written(rp_tensor x, rp_tensor y, rp_reduction reduction)
{
    if (!rp_tensor_beside("soft_margin_loss", "a label", x, y))
        return rp_no_tensor();
    return composed_reduced(rp_softplus(rp_neg(rp_mul(y, x)), 1, 20), reduction);
}

rp_tensor rp_soft_margin_loss(rp_tensor x, rp_tensor y, rp_reduction reduction)
{
    rp_graph *call = rp_graph_call_begins(x);

    return rp_graph_call_ends(call, soft_margin_loss_written(x, y, reduction));
}

static rp_tensor hinge_embedding_loss_written(rp_tensor x, rp_tensor y, double margin, rp_reduction reduction)
{
    rp_tensor alike, apart;

    if (!rp_tensor_beside("hinge_embedding_loss", "a label", x, y))
        return rp_no_tensor();
    alike = rp_gt(y, C(y, 0));
    apart = beyond(rp_neg(x), margin);
    return composed_reduced(rp_where(alike, x, apart), reduction);
}

rp_tensor rp_hinge_embedding_loss(rp_tensor x, rp_tensor y, double margin, rp_reduction reduction)
{
    rp_graph *call = rp_graph_call_begins(x);

    return rp_graph_call_ends(call, hinge_embedding_loss_written(x, y, margin, reduction));
}

static rp_tensor margin_ranking_loss_written(rp_tensor a, rp_tensor b, rp_tensor y, double margin,
                                             rp_reduction reduction)
{
    rp_tensor d;

    if (!rp_tensor_beside("margin_ranking_loss", "b", a, b))
        return rp_no_tensor();
    d = rp_sub(a, b);
    if (!rp_tensor_beside("margin_ranking_loss", "a label", d, y))
        return rp_no_tensor();
    return composed_reduced(beyond(rp_neg(rp_mul(y, d)), margin), reduction);
}

rp_tensor rp_margin_ranking_loss(rp_tensor a, rp_tensor b, rp_tensor y, double margin, rp_reduction reduction)
{
    rp_graph *call = rp_graph_call_begins(a);

    return rp_graph_call_ends(call, margin_ranking_loss_written(a, b, y, margin, reduction));
}

rp_tensor rp_cosine_embedding_loss(rp_tensor a, rp_tensor b, rp_tensor y, double margin, rp_reduction reduction)
{
    rp_tensor cosine = rp_cosine_similarity(a, b, -1, 1e-8), alike, near, apart;

    if (!rp_tensor_beside("cosine_embedding_loss", "a label", cosine, y))
        return rp_no_tensor();
    alike = rp_gt(y, C(y, 0));
    near = rp_add_scalar(rp_neg(cosine), 1);
    apart = beyond(cosine, -margin);
    return composed_reduced(rp_where(alike, near, apart), reduction);
}

static rp_tensor distance(rp_tensor a, rp_tensor b)
{
    return rp_norm(rp_add_scalar(rp_sub(a, b), 1e-6), 2, (const int[]){-1}, 1, false);
}

static rp_tensor triplet_margin_loss_written(rp_tensor anchor, rp_tensor positive, rp_tensor negative, double margin,
                                             rp_reduction reduction)
{
    rp_tensor near = distance(anchor, positive), far = distance(anchor, negative);

    return composed_reduced(beyond(rp_sub(near, far), margin), reduction);
}

rp_tensor rp_triplet_margin_loss(rp_tensor anchor, rp_tensor positive, rp_tensor negative, double margin,
                                 rp_reduction reduction)
{
    rp_graph *call = rp_graph_call_begins(anchor);

    return rp_graph_call_ends(call, triplet_margin_loss_written(anchor, positive, negative, margin, reduction));
}
