/* SPDX-License-Identifier: Apache-2.0
 * The public operations on images (rp/image.h): defaults are filled in, then one instruction is appended, and around a
 * convolution what CONTRACT 11.2 says. */
#include "rp/image.h"

#include "core/program/image/flat.h"

/* What no attribute can be stays refused. */
static int64_t attribute(size_t v)
{
    return v <= (size_t)INT64_MAX ? (int64_t)v : -1;
}

/* Attributes 0 to 2; stride: what 0 stands for. */
static void set_placement(rp_attr *attr, const rp_placement *place, const size_t stride[2])
{
    static const rp_placement usual;
    const rp_placement *p = place ? place : &usual;

    RP_AT(attr, conv2d, stride).n = RP_AT(attr, conv2d, dilation).n = 2;
    RP_AT(attr, conv2d, padding).n = 4;
    for (int d = 0; d < 2; d++) {
        RP_AT(attr, conv2d, stride).list[d] = attribute(p->stride[d] ? p->stride[d] : stride[d]);
        RP_AT(attr, conv2d, dilation).list[d] = p->dilation[d] ? attribute(p->dilation[d]) : 1;
    }
    for (int i = 0; i < 4; i++)
        RP_AT(attr, conv2d, padding).list[i] = attribute(p->padding[i]);
}

static rp_tensor convolve(rp_op_id id, rp_tensor x, rp_tensor weight, size_t groups, const rp_placement *place)
{
    rp_attr attr[RP_MAX_ATTR] = {{0}};
    rp_tensor in[] = {x, weight}, out[RP_MAX_OUT];

    set_placement(attr, place, (const size_t[]){1, 1});
    RP_AT(attr, conv2d, groups).i = attribute(groups);
    rp_emit(rp_graph_of(in, 2), id, attr, in, 2, out);
    return out[0];
}

rp_tensor rp_conv2d(rp_tensor x, rp_tensor weight, rp_tensor bias, size_t groups, const rp_placement *place)
{
    rp_tensor y = convolve(RP_OP_conv2d, x, weight, groups, place);

    return bias.graph ? rp_add(y, bias) : y;
}

rp_tensor rp_conv2d_winograd(rp_tensor x, rp_tensor weight, rp_tensor bias, const rp_placement *place)
{
    rp_tensor y = convolve(RP_OP_conv2d_winograd, x, weight, 1, place);

    return bias.graph ? rp_add(y, bias) : y;
}

static bool are_rows(rp_tensor x, rp_tensor weight, const rp_placement *place, const char *call, const char *taps)
{
    if (rp_tensor_type(x)->rank != 3 || rp_tensor_type(weight)->rank != 3) {
        rp_graph_fail(x.graph, RP_ESHAPE, "%s: found ranks %d and %d, expected [n, w, c] and %s", call,
                      rp_tensor_type(x)->rank, rp_tensor_type(weight)->rank, taps);
        return false;
    }
    if (place && (place->stride[0] || place->dilation[0] || place->padding[0] || place->padding[2])) {
        rp_graph_fail(x.graph, RP_EARG, "%s: a stride, dilation or padding of the height, which a row does not have",
                      call);
        return false;
    }
    return true;
}

/* A row of pixels is an image of height 1. */
rp_tensor rp_conv1d(rp_tensor x, rp_tensor weight, rp_tensor bias, size_t groups, const rp_placement *place)
{
    rp_tensor wide, taps, y;

    if (!rp_tensor_ok(x) || !rp_tensor_ok(weight))
        return rp_no_tensor();
    if (!are_rows(x, weight, place, "conv1d", "[s, c / groups, k]"))
        return rp_no_tensor();
    wide = flat(x, 1, true);
    taps = flat(weight, 0, true);
    y = convolve(RP_OP_conv2d, wide, taps, groups, place);
    y = flat(y, 1, false);
    return bias.graph ? rp_add(y, bias) : y;
}

/* With as many as the stride the convolution back would have another pixel. */
static bool extra_fits(rp_tensor x, const rp_attr *a, const size_t extra[2])
{
    for (int d = 0; extra && d < 2; d++)
        if (extra[d] > 0 && extra[d] >= (uint64_t)RP_AT(a, conv2d, stride).list[d]) {
            rp_graph_fail(x.graph, RP_ESHAPE,
                          "conv2d_transpose: found %zu extra %s, expected fewer than the stride, %lld", extra[d],
                          d ? "columns" : "rows", (long long)RP_AT(a, conv2d, stride).list[d]);
            return false;
        }
    return true;
}

/* The gradient of a convolution by its image is this operation: conv2d from the result back to x. */
rp_tensor rp_conv2d_transpose(rp_tensor x, rp_tensor weight, rp_tensor bias, size_t groups, const rp_placement *place,
                              const size_t extra[2])
{
    rp_attr attr[RP_MAX_ATTR] = {{0}};
    rp_tensor in[] = {x, weight}, out[RP_MAX_OUT];
    int64_t *size = RP_AT(attr, conv2d_grad_input, size).list;

    if (!rp_tensor_ok(x) || !rp_tensor_ok(weight))
        return rp_no_tensor();
    if (rp_tensor_type(x)->rank != 4 || rp_tensor_type(weight)->rank != 4) {
        rp_graph_fail(x.graph, RP_ESHAPE,
                      "conv2d_transpose: found ranks %d and %d, expected [n, h, w, c] and [r, s, k / groups, c]",
                      rp_tensor_type(x)->rank, rp_tensor_type(weight)->rank);
        return rp_no_tensor();
    }
    set_placement(attr, place, (const size_t[]){1, 1});
    if (!extra_fits(x, attr, extra))
        return rp_no_tensor();
    RP_AT(attr, conv2d_grad_input, groups).i = attribute(groups);
    RP_AT(attr, conv2d_grad_input, size).n = 2;
    for (int d = 0; d < 2;
         d++) { /* modulo 2^64: what is out of bounds, or wraps, is refused with the operation's words */
        const rp_attr *a = attr;
        const uint64_t covered =
            ((uint64_t)rp_tensor_type(x)->shape[1 + d] - 1) * (uint64_t)RP_AT(a, conv2d, stride).list[d] +
            (uint64_t)RP_AT(a, conv2d, dilation).list[d] * ((uint64_t)rp_tensor_type(weight)->shape[d] - 1) + 1;

        size[d] = (int64_t)(covered - (uint64_t)RP_AT(a, conv2d, padding).list[d] -
                            (uint64_t)RP_AT(a, conv2d, padding).list[d + 2] + (extra ? extra[d] : 0));
    }
    rp_emit(rp_graph_of(in, 2), RP_OP_conv2d_grad_input, attr, in, 2, out);
    return bias.graph ? rp_add(out[0], bias) : out[0];
}

rp_tensor rp_conv1d_transpose(rp_tensor x, rp_tensor weight, rp_tensor bias, size_t groups, const rp_placement *place,
                              size_t extra)
{
    rp_tensor wide, taps, y;

    if (!rp_tensor_ok(x) || !rp_tensor_ok(weight))
        return rp_no_tensor();
    if (!are_rows(x, weight, place, "conv1d_transpose", "[s, k / groups, c]"))
        return rp_no_tensor();
    wide = flat(x, 1, true);
    taps = flat(weight, 0, true);
    y = rp_conv2d_transpose(wide, taps, rp_no_tensor(), groups, place, (const size_t[]){0, extra});
    y = flat(y, 1, false);
    return bias.graph ? rp_add(y, bias) : y;
}

static rp_tensor pool(rp_op_id id, rp_tensor x, size_t height, size_t width, const rp_placement *place)
{
    rp_attr attr[RP_MAX_ATTR] = {{0}};
    rp_tensor out[RP_MAX_OUT];

    set_placement(attr, place, (const size_t[]){height, width});
    RP_AT(attr, max_pool, window) = (rp_attr){.n = 2, .list = {attribute(height), attribute(width)}};
    rp_emit(x.graph, id, attr, &x, 1, out);
    return out[0];
}

rp_tensor rp_max_pool2d(rp_tensor x, size_t height, size_t width, const rp_placement *place)
{
    return pool(RP_OP_max_pool, x, height, width, place);
}

rp_tensor rp_avg_pool2d(rp_tensor x, size_t height, size_t width, const rp_placement *place)
{
    return pool(RP_OP_avg_pool, x, height, width, place);
}

rp_tensor rp_batch_norm(rp_tensor x, rp_tensor gamma, rp_tensor beta, rp_tensor mean, rp_tensor var, double eps)
{
    rp_attr attr[RP_MAX_ATTR] = {{.r = eps}};
    rp_tensor in[] = {x, gamma, beta, mean, var}, out[RP_MAX_OUT];

    rp_emit(rp_graph_of(in, 5), RP_OP_batch_norm, attr, in, 5, out);
    return out[0];
}

rp_tensor rp_batch_norm_train(rp_tensor x, rp_tensor gamma, rp_tensor beta, double eps, rp_tensor *mean, rp_tensor *var)
{
    rp_attr attr[RP_MAX_ATTR] = {{.r = eps}};
    rp_tensor in[] = {x, gamma, beta}, out[RP_MAX_OUT];

    rp_emit(rp_graph_of(in, 3), RP_OP_batch_norm_train, attr, in, 3, out);
    if (mean)
        *mean = out[1];
    if (var)
        *var = out[2];
    return out[0];
}

rp_tensor rp_group_norm(rp_tensor x, rp_tensor gamma, rp_tensor beta, size_t groups, double eps)
{
    rp_tensor in[] = {x, gamma, beta}, out[RP_MAX_OUT];
    rp_attr attr[RP_MAX_ATTR] = {{.r = eps}};

    RP_AT(attr, group_norm, groups).i = attribute(groups);
    rp_emit(rp_graph_of(in, 3), RP_OP_group_norm, attr, in, 3, out);
    return out[0];
}

rp_tensor rp_instance_norm(rp_tensor x, rp_tensor gamma, rp_tensor beta, double eps)
{
    const rp_type *type = rp_tensor_ok(x) ? rp_tensor_type(x) : NULL;

    return rp_group_norm(x, gamma, beta, type && type->rank > 0 ? type->shape[type->rank - 1] : 1, eps);
}
