/* SPDX-License-Identifier: Apache-2.0
 * Networks on images: ResNet-18 with batch norm, and a U-Net with group norm. */
#include <math.h>
#include <stdio.h>

#include "network.h"

/* An image: its tensor [n, size, size, channels]. */
typedef struct image {
    rp_tensor x;
    size_t n, size, channels;
} image;

static image conv(net *n, const char *name, image in, size_t taps, size_t stride, size_t channels)
{
    const size_t pad = taps / 2, shape[] = {taps, taps, in.channels, channels};
    char full[NET_NAME];
    rp_tensor w;

    (void)snprintf(full, sizeof full, "%.30s.weight", name);
    w = net_parameter(n, full, NET_SPREAD, sqrt(6.0 / (double)(taps * taps * in.channels)), shape, 4);
    in.x = rp_conv2d(in.x, w, (rp_tensor){0}, 1,
                     &(rp_placement){.stride = {stride, stride}, .padding = {pad, pad, pad, pad}});
    return (image){in.x, in.n, (in.size + 2 * pad - taps) / stride + 1, channels};
}

static void scale_and_shift(net *n, const char *name, size_t channels, rp_tensor *gamma, rp_tensor *beta)
{
    char full[NET_NAME];

    (void)snprintf(full, sizeof full, "%.30s.weight", name);
    *gamma = net_parameter(n, full, NET_ONE, 0, &channels, 1);
    (void)snprintf(full, sizeof full, "%.30s.bias", name);
    *beta = net_parameter(n, full, NET_ZERO, 0, &channels, 1);
}

static image batch_norm(net *n, const char *name, image in)
{
    rp_tensor gamma, beta, mean, var;
    char full[NET_NAME];

    scale_and_shift(n, name, in.channels, &gamma, &beta);
    if (n->forward) { /* as before the first step: no mean, a variance of one */
        (void)snprintf(full, sizeof full, "%.30s.mean", name);
        mean = net_parameter(n, full, NET_ZERO, 0, &in.channels, 1);
        (void)snprintf(full, sizeof full, "%.30s.var", name);
        var = net_parameter(n, full, NET_ONE, 0, &in.channels, 1);
        in.x = rp_batch_norm(in.x, gamma, beta, mean, var, 1e-5);
        return in;
    }
    in.x = rp_batch_norm_train(in.x, gamma, beta, 1e-5, NULL, NULL);
    return in;
}

static image block(net *n, image in, size_t stride, size_t channels)
{
    image beside = in, x = conv(n, "conv1", in, 3, stride, channels);

    x = batch_norm(n, "norm1", x);
    x.x = rp_relu(x.x);
    x = batch_norm(n, "norm2", conv(n, "conv2", x, 3, 1, channels));
    if (stride != 1)
        beside = batch_norm(n, "norm3", conv(n, "beside", in, 1, stride, channels));
    x.x = rp_relu(rp_add(x.x, beside.x));
    return x;
}

rp_tensor build_resnet(net *n)
{
    image x = {.n = net_batch(n, 4), .size = 112, .channels = 3};
    rp_tensor y;

    x.x = net_data(n, "data.x", RP_F32, NET_SPREAD, 1, (size_t[]){x.n, x.size, x.size, 3}, 4);
    x = batch_norm(n, "norm", conv(n, "stem", x, 7, 2, 64));
    x.x = rp_max_pool2d(rp_relu(x.x), 3, 3, &(rp_placement){.stride = {2, 2}, .padding = {1, 1, 1, 1}});
    x.size = (x.size - 1) / 2 + 1;
    for (size_t i = 0; i < 8; i++) {
        net_enter(n, "block", i);
        x = block(n, x, i % 2 == 0 && i > 0 ? 2 : 1, (size_t)64 << i / 2);
    }
    n->scope[0] = 0;
    y = net_linear(n, "head", rp_mean(x.x, (int[]){1, 2}, 2, false), x.channels, 10);
    return net_cross_entropy(n, y, x.n, 10);
}

/* ---- U-Net ---- */

enum { GROUPS = 8, LEVELS_MAX = 6 };

static image group_norm(net *n, const char *name, image in)
{
    rp_tensor gamma, beta;

    scale_and_shift(n, name, in.channels, &gamma, &beta);
    in.x = rp_group_norm(in.x, gamma, beta, GROUPS, 1e-5);
    return in;
}

static image pair(net *n, image x, size_t channels)
{
    x = group_norm(n, "norm1", conv(n, "conv1", x, 3, 1, channels));
    x.x = rp_silu(x.x);
    x = group_norm(n, "norm2", conv(n, "conv2", x, 3, 1, channels));
    x.x = rp_silu(x.x);
    return x;
}

static image halved(image x)
{
    x.x = rp_max_pool2d(x.x, 2, 2, NULL);
    x.size /= 2;
    return x;
}

/* Each pixel four times, then the channels of the image that it came from. */
static image doubled(image x, image beside)
{
    x.size *= 2;
    x.x = rp_resize2d(x.x, x.size, x.size, &(rp_resizing){.coordinates = RP_RESIZE_ASYMMETRIC});
    x.x = rp_concat((rp_tensor[]){x.x, beside.x}, 2, 3);
    x.channels += beside.channels;
    return x;
}

/* Pairs of convolutions on the way down, and one fewer on the way up. */
static rp_tensor unet(net *n, size_t images, size_t size, size_t levels)
{
    image x = {.n = images, .size = size, .channels = 3}, kept[LEVELS_MAX];
    rp_tensor target;

    x.x = net_data(n, "data.x", RP_F32, NET_SPREAD, 1, (size_t[]){x.n, x.size, x.size, 3}, 4);
    for (size_t l = 0; l < levels; l++) {
        net_enter(n, "down", l);
        kept[l] = pair(n, x, (size_t)32 << l);
        x = l + 1 < levels ? halved(kept[l]) : kept[l];
    }
    for (size_t l = levels - 1; l-- > 0;) {
        net_enter(n, "up", l);
        x = pair(n, doubled(x, kept[l]), (size_t)32 << l);
    }
    n->scope[0] = 0;
    x = conv(n, "head", x, 1, 1, 3);
    if (n->forward)
        return x.x;
    target = net_data(n, "data.target", RP_F32, NET_SPREAD, 1, (size_t[]){x.n, x.size, x.size, 3}, 4);
    return rp_mse(x.x, target);
}

rp_tensor build_unet(net *n)
{
    return unet(n, net_batch(n, 4), 64, 3);
}

rp_tensor build_unet_512(net *n)
{
    return unet(n, 1, 512, 4);
}
