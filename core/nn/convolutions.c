/* SPDX-License-Identifier: Apache-2.0
 * Convolutions of rp/nn.h along one, two or three axes, and the transposed ones (CONTRACT 16.4). One description serves
 * them all: options along fewer axes are the last ones of three. */
#include <string.h>

#include "core/nn/nn_private.h"

typedef struct convolution {
    int axes;
    bool transposed, valid, no_bias;
    size_t filters, groups;
    size_t kernel[3], extra[3];
    rp_placement3d place;
} convolution;

/* Of options for two axes; along one those of the width count. */
static convolution flat(const rp_nn_conv *options, int axes, size_t filters, bool transposed)
{
    const rp_nn_conv o = options ? *options : (rp_nn_conv){0};
    const rp_placement *p = &o.place;
    convolution c = {.axes = axes,
                     .transposed = transposed,
                     .valid = o.valid,
                     .no_bias = o.no_bias,
                     .filters = filters,
                     .groups = o.groups,
                     .kernel = {1, o.kernel[0], o.kernel[1]},
                     .extra = {0, o.extra[0], o.extra[1]}};

    c.place = (rp_placement3d){.stride = {0, p->stride[0], p->stride[1]},
                               .padding = {0, p->padding[0], p->padding[1], 0, p->padding[2], p->padding[3]},
                               .dilation = {0, p->dilation[0], p->dilation[1]}};
    return c;
}

static convolution deep(const rp_nn_conv3 *options, size_t filters, bool transposed)
{
    const rp_nn_conv3 o = options ? *options : (rp_nn_conv3){0};
    convolution c = {.axes = 3,
                     .transposed = transposed,
                     .valid = o.valid,
                     .no_bias = o.no_bias,
                     .filters = filters,
                     .groups = o.groups,
                     .place = o.place};

    memcpy(c.kernel, o.kernel, sizeof c.kernel);
    memcpy(c.extra, o.extra, sizeof c.extra);
    return c;
}

static bool says_where(const rp_placement3d *p)
{
    for (int i = 0; i < 6; i++)
        if (p->padding[i] != 0)
            return true;
    return false;
}

/* The usual numbers; and where no padding is said, half of what a kernel covers on each side. */
static void complete(convolution *c)
{
    const int first = 3 - c->axes;
    const bool pads = !c->valid && !says_where(&c->place);

    if (c->groups == 0)
        c->groups = 1;
    for (int axis = first; axis < 3; axis++) {
        const size_t dilation = c->place.dilation[axis] ? c->place.dilation[axis] : 1;

        if (c->kernel[axis] == 0)
            c->kernel[axis] = 3;
        if (pads)
            c->place.padding[axis] = c->place.padding[axis + 3] = dilation * (c->kernel[axis] - 1) / 2;
    }
}

/* As torch.nn's lie the other way round: [taps.., in / groups, out], transposed [taps.., out / groups, in]. */
static void make_parameters(rp_nn *nn, const char *name, const convolution *c, size_t in, rp_tensor *weight,
                            rp_tensor *bias)
{
    size_t shape[5], fan_in = 1;

    memcpy(shape, c->kernel + 3 - c->axes, (size_t)c->axes * sizeof *shape);
    shape[c->axes] = (c->transposed ? c->filters : in) / c->groups;
    shape[c->axes + 1] = c->transposed ? in : c->filters;
    for (int i = 0; i <= c->axes; i++)
        fan_in *= shape[i];
    rp_nn_scope(nn, "%s", name);
    *weight = rp_nn_weight(nn, "weight", c->axes + 2, shape, rp_nn_within(fan_in), NN_TURNED);
    *bias = c->no_bias ? rp_no_tensor() : rp_nn_parameter(nn, "bias", 1, &c->filters, rp_nn_within(fan_in));
    rp_nn_leave(nn);
}

static rp_tensor apply(const convolution *c, rp_tensor x, rp_tensor weight, rp_tensor bias)
{
    const rp_placement3d *p = &c->place;
    const rp_placement place = {.stride = {p->stride[1], p->stride[2]},
                                .padding = {p->padding[1], p->padding[2], p->padding[4], p->padding[5]},
                                .dilation = {p->dilation[1], p->dilation[2]}};

    if (c->axes == 3)
        return c->transposed ? rp_conv3d_transpose(x, weight, bias, c->groups, p, c->extra)
                             : rp_conv3d(x, weight, bias, c->groups, p);
    if (c->axes == 2)
        return c->transposed ? rp_conv2d_transpose(x, weight, bias, c->groups, &place, c->extra + 1)
                             : rp_conv2d(x, weight, bias, c->groups, &place);
    return c->transposed ? rp_conv1d_transpose(x, weight, bias, c->groups, &place, c->extra[2])
                         : rp_conv1d(x, weight, bias, c->groups, &place);
}

static rp_tensor conv(rp_nn *nn, const char *name, rp_tensor x, convolution c)
{
    rp_tensor weight, bias;
    rp_type type;

    if (!rp_nn_type_of(nn, name, x, c.axes + 2, &type))
        return rp_no_tensor();
    complete(&c);
    if (c.transposed && c.filters % c.groups) {
        rp_nn_fail(nn, RP_ESHAPE, "%s%.40s: %zu groups do not divide %zu filters", nn->scope, name, c.groups,
                   c.filters);
        return rp_no_tensor();
    }
    make_parameters(nn, name, &c, type.shape[type.rank - 1], &weight, &bias);
    return apply(&c, x, weight, bias);
}

rp_tensor rp_nn_conv2d(rp_nn *nn, const char *name, rp_tensor x, size_t filters, const rp_nn_conv *options)
{
    return conv(nn, name, x, flat(options, 2, filters, false));
}

rp_tensor rp_nn_conv1d(rp_nn *nn, const char *name, rp_tensor x, size_t filters, const rp_nn_conv *options)
{
    return conv(nn, name, x, flat(options, 1, filters, false));
}

rp_tensor rp_nn_conv3d(rp_nn *nn, const char *name, rp_tensor x, size_t filters, const rp_nn_conv3 *options)
{
    return conv(nn, name, x, deep(options, filters, false));
}

rp_tensor rp_nn_conv2d_transpose(rp_nn *nn, const char *name, rp_tensor x, size_t filters, const rp_nn_conv *options)
{
    return conv(nn, name, x, flat(options, 2, filters, true));
}

rp_tensor rp_nn_conv1d_transpose(rp_nn *nn, const char *name, rp_tensor x, size_t filters, const rp_nn_conv *options)
{
    return conv(nn, name, x, flat(options, 1, filters, true));
}

rp_tensor rp_nn_conv3d_transpose(rp_nn *nn, const char *name, rp_tensor x, size_t filters, const rp_nn_conv3 *options)
{
    return conv(nn, name, x, deep(options, filters, true));
}
