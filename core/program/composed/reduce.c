/* SPDX-License-Identifier: Apache-2.0
 * Calls over axes that are a few operations each. */
#include <math.h>

#include "core/program/composed/composed.h"
#include "rp/composite.h"

#define C composed_constant

/* Whether each element is not 0. */
static rp_tensor truth(rp_tensor x)
{
    return composed_dtype(x) == RP_BOOL ? x : rp_ne(x, C(x, 0));
}

/* In binary32, where maximum and minimum are fast on every device. */
rp_tensor rp_any(rp_tensor x, const int *axes, int n, bool keep)
{
    return rp_cast(rp_max(rp_cast(truth(x), RP_F32), axes, n, keep), RP_BOOL);
}

rp_tensor rp_all(rp_tensor x, const int *axes, int n, bool keep)
{
    return rp_cast(rp_min(rp_cast(truth(x), RP_F32), axes, n, keep), RP_BOOL);
}

rp_tensor rp_count_nonzero(rp_tensor x, const int *axes, int n, bool keep)
{
    return rp_sum(rp_cast(truth(x), RP_I64), axes, n, keep);
}

/* The root of a sum, whose slope at 0 is infinite and passes no gradient: PyTorch's too is 0 there. */
static rp_tensor root_of(rp_tensor sum, double p)
{
    rp_tensor none = rp_eq(sum, C(sum, 0)), inner = rp_where(none, C(sum, 1), sum);
    rp_tensor root = p == 2 ? rp_sqrt(inner) : rp_pow(inner, C(sum, 1 / p));

    return rp_where(none, C(sum, 0), root);
}

rp_tensor rp_std(rp_tensor x, const int *axes, int n, int64_t correction, bool keep)
{
    return root_of(rp_var(x, axes, n, correction, keep), 2);
}

static rp_tensor norm_written(rp_tensor x, double p, const int *axes, int n, bool keep)
{
    rp_tensor size;

    if (p == 2)
        return root_of(rp_sum(rp_mul(x, x), axes, n, keep), 2);
    if (p == 0)
        return rp_sum(rp_cast(truth(x), composed_dtype(x)), axes, n, keep);
    size = rp_abs(x);
    if (p == 1)
        return rp_sum(size, axes, n, keep);
    if (p == INFINITY)
        return rp_max(size, axes, n, keep);
    if (p == -INFINITY)
        return rp_min(size, axes, n, keep);
    if (p < 0) { /* a 0 makes it 0 */
        size = rp_sum(rp_pow(size, C(x, p)), axes, n, keep);
        return rp_pow(size, C(x, 1 / p));
    }
    if (p < 1) {
        rp_tensor none = rp_eq(size, C(x, 0)), inner = rp_where(none, C(x, 1), size), power = rp_pow(inner, C(x, p));

        size = rp_where(none, C(x, 0), power);
    } else {
        size = rp_pow(size, C(x, p));
    }
    return root_of(rp_sum(size, axes, n, keep), p);
}

rp_tensor rp_norm(rp_tensor x, double p, const int *axes, int n, bool keep)
{
    rp_graph *call = rp_graph_call_begins(x);

    return rp_graph_call_ends(call, norm_written(x, p, axes, n, keep));
}

void rp_aminmax(rp_tensor x, const int *axes, int n, bool keep, rp_tensor *least, rp_tensor *most)
{
    const bool both = rp_graph_given(x.graph, "least", least, 1) && rp_graph_given(x.graph, "most", most, 1);

    if (least)
        *least = both ? rp_min(x, axes, n, keep) : rp_no_tensor();
    if (most)
        *most = both ? rp_max(x, axes, n, keep) : rp_no_tensor();
}

static rp_tensor length_of(rp_tensor x, int axis, double eps)
{
    rp_tensor square = rp_sum(rp_mul(x, x), &axis, 1, false);

    return rp_sqrt(rp_maximum(square, C(x, eps * eps))); /* the root of 0 has no slope */
}

rp_tensor rp_cosine_similarity(rp_tensor a, rp_tensor b, int axis, double eps)
{
    rp_tensor inner = rp_sum(rp_mul(a, b), &axis, 1, false), first = length_of(a, axis, eps);

    return rp_div(inner, rp_mul(first, length_of(b, axis, eps)));
}
