/* SPDX-License-Identifier: Apache-2.0
 * Activations that are a few operations each. */
#include "core/program/composed/composed.h"
#include "rp/composite.h"

#define C composed_constant

rp_tensor rp_relu6(rp_tensor x)
{
    return rp_hardtanh(x, 0, 6);
}

rp_tensor rp_hardsigmoid(rp_tensor x)
{
    rp_graph *call = rp_graph_call_begins(x);

    return rp_graph_call_ends(call, rp_scale(rp_relu6(rp_add_scalar(x, 3)), 1.0 / 6));
}

rp_tensor rp_hardswish(rp_tensor x)
{
    rp_graph *call = rp_graph_call_begins(x);

    return rp_graph_call_ends(call, rp_mul(x, rp_hardsigmoid(x)));
}

rp_tensor rp_mish(rp_tensor x)
{
    rp_graph *call = rp_graph_call_begins(x);

    return rp_graph_call_ends(call, rp_mul(x, rp_tanh(rp_softplus(x, 1, 20))));
}

rp_tensor rp_selu(rp_tensor x)
{
    rp_graph *call = rp_graph_call_begins(x);

    return rp_graph_call_ends(call, rp_scale(rp_elu(x, 1.6732632423543772), 1.0507009873554805));
}

static rp_tensor celu_written(rp_tensor x, double alpha)
{
    rp_tensor above = rp_gt(x, C(x, 0)), low = rp_where(above, C(x, 0), x), part = rp_div(low, C(x, alpha));
    rp_tensor below = rp_scale(rp_expm1(part), alpha);

    return rp_where(above, x, below);
}

rp_tensor rp_celu(rp_tensor x, double alpha)
{
    rp_graph *call = rp_graph_call_begins(x);

    return rp_graph_call_ends(call, celu_written(x, alpha));
}

rp_tensor rp_softsign(rp_tensor x)
{
    rp_graph *call = rp_graph_call_begins(x);

    return rp_graph_call_ends(call, rp_div(x, rp_add_scalar(rp_abs(x), 1)));
}

rp_tensor rp_logsigmoid(rp_tensor x)
{
    rp_graph *call = rp_graph_call_begins(x);

    return rp_graph_call_ends(call, rp_neg(rp_softplus(rp_neg(x), 1, 20)));
}

rp_tensor rp_tanhshrink(rp_tensor x)
{
    rp_graph *call = rp_graph_call_begins(x);

    return rp_graph_call_ends(call, rp_sub(x, rp_tanh(x)));
}

rp_tensor rp_softshrink(rp_tensor x, double lambda)
{
    rp_graph *call = rp_graph_call_begins(x);

    return rp_graph_call_ends(call, rp_sub(x, rp_hardtanh(x, -lambda, lambda)));
}

static rp_tensor hardshrink_written(rp_tensor x, double lambda)
{
    rp_tensor size = rp_abs(x), within = rp_le(size, C(x, lambda));

    return rp_where(within, C(x, 0), x); /* a NaN is not within */
}

rp_tensor rp_hardshrink(rp_tensor x, double lambda)
{
    rp_graph *call = rp_graph_call_begins(x);

    return rp_graph_call_ends(call, hardshrink_written(x, lambda));
}

static rp_tensor threshold_written(rp_tensor x, double threshold, double value)
{
    rp_tensor below = rp_le(x, C(x, threshold));

    return rp_where(below, C(x, value), x);
}

rp_tensor rp_threshold(rp_tensor x, double threshold, double value)
{
    rp_graph *call = rp_graph_call_begins(x);

    return rp_graph_call_ends(call, threshold_written(x, threshold, value));
}

static rp_tensor prelu_written(rp_tensor x, rp_tensor slope)
{
    rp_tensor above = rp_gt(x, C(x, 0));

    return rp_where(above, x, rp_mul(x, slope));
}

rp_tensor rp_prelu(rp_tensor x, rp_tensor slope)
{
    rp_graph *call = rp_graph_call_begins(x);

    return rp_graph_call_ends(call, prelu_written(x, slope));
}

/* x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) */
static rp_tensor gelu_tanh_written(rp_tensor x)
{
    rp_tensor cube = rp_scale(rp_mul(rp_square(x), x), 0.044715);
    rp_tensor t = rp_tanh(rp_scale(rp_add(x, cube), 0.79788456080286541)), half = rp_scale(x, 0.5);

    return rp_mul(half, rp_add_scalar(t, 1));
}

rp_tensor rp_gelu_tanh(rp_tensor x)
{
    rp_graph *call = rp_graph_call_begins(x);

    return rp_graph_call_ends(call, gelu_tanh_written(x));
}

static rp_tensor glu_written(rp_tensor x, int axis)
{
    size_t zero[RP_MAX_RANK] = {0}, begin[RP_MAX_RANK] = {0}, middle[RP_MAX_RANK], end[RP_MAX_RANK];
    const rp_type *type = rp_tensor_ok(x) ? rp_tensor_type(x) : NULL;
    const int at = type && axis < 0 ? axis + type->rank : axis;
    rp_tensor first, second;

    if (type == NULL)
        return rp_no_tensor();
    if (at < 0 || at >= type->rank || type->shape[at] % 2 != 0) {
        rp_graph_fail(x.graph, RP_ESHAPE, "glu: axis %d of a tensor of rank %d: expected an axis of even length", axis,
                      type->rank);
        return rp_no_tensor();
    }
    for (int d = 0; d < type->rank; d++)
        middle[d] = end[d] = type->shape[d];
    middle[at] = begin[at] = type->shape[at] / 2;
    first = rp_slice(x, zero, middle);
    second = rp_slice(x, begin, end);
    return rp_mul(first, rp_sigmoid(second));
}

rp_tensor rp_glu(rp_tensor x, int axis)
{
    rp_graph *call = rp_graph_call_begins(x);

    return rp_graph_call_ends(call, glu_written(x, axis));
}
