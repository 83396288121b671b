/* SPDX-License-Identifier: Apache-2.0
 * Convolution in two dimensions and its two gradients, grouped, strided, dilated and padded (CONTRACT 4.5). */
#include "kernels/ref/conv/conv.h"
#include "determinism/math.h"
#include "kernels/level.h"

/* The coordinate that tap t meets on the other side: false when there is none. */
static bool input_of(const rp_conv_axis *axis, size_t o, size_t t, size_t *i)
{
    const int64_t at = (int64_t)o * axis->stride + (int64_t)t * axis->dilation - axis->pad;

    *i = (size_t)at;
    return at >= 0 && at < (int64_t)axis->in;
}

static bool output_of(const rp_conv_axis *axis, size_t i, size_t t, size_t *o)
{
    const int64_t at = (int64_t)i + axis->pad - (int64_t)t * axis->dilation;

    *o = (size_t)(at / axis->stride);
    return at >= 0 && at % axis->stride == 0 && *o < axis->out;
}

/* a / b rounded up, and down; b > 0 */
static int64_t up(int64_t a, int64_t b)
{
    return a > 0 ? (a - 1) / b + 1 : a / b;
}

static int64_t down(int64_t a, int64_t b)
{
    return -up(-a, b);
}

/* Of taps [begin, end) those that exist, evenly spaced: a filter may have as many taps as an image has pixels, so none
 * of them is looked at beyond the second that exists. */
RP_KERNEL_CALLER static rp_taps taps_of(const rp_conv_axis *axis, size_t from, int64_t begin, int64_t end,
                                        bool (*meets)(const rp_conv_axis *axis, size_t from, size_t t, size_t *to))
{
    rp_taps taps = {.step = 1};
    const int64_t most = (int64_t)axis->taps;
    int64_t t = begin > 0 ? begin : 0;
    size_t to = 0;

    end = end < most ? end : most;
    while (t < end && !meets(axis, from, (size_t)t, &to))
        t++;
    if (t >= end)
        return taps;
    taps.first = (size_t)t;
    taps.count = 1;
    taps.at = (ptrdiff_t)to;
    for (t++; t < end && !meets(axis, from, (size_t)t, &to);)
        t++;
    if (t >= end)
        return taps;
    taps.step = (size_t)t - taps.first;
    taps.move = (ptrdiff_t)to - taps.at;
    taps.count += (size_t)(end - 1 - t) / taps.step + 1;
    return taps;
}

RP_KERNEL_FN rp_taps rp_conv_taps(const rp_conv_axis *axis, size_t o)
{
    const int64_t start = axis->pad - (int64_t)o * axis->stride; /* input t dilation - start */

    return taps_of(axis, o, up(start, axis->dilation), up(start + (int64_t)axis->in, axis->dilation), input_of);
}

RP_KERNEL_FN rp_taps rp_conv_taps_back(const rp_conv_axis *axis, size_t i)
{
    const int64_t start = (int64_t)i + axis->pad; /* output (start - t dilation) / stride */

    return taps_of(axis, i, down(start - (int64_t)axis->out * axis->stride, axis->dilation) + 1,
                   down(start, axis->dilation) + 1, output_of);
}

RP_KERNEL_FN void rp_conv_outputs(const rp_conv_axis *axis, size_t t, size_t *begin, size_t *end)
{
    const int64_t shift = axis->pad - (int64_t)t * axis->dilation; /* i = o stride - shift */
    const int64_t past = (int64_t)axis->in + shift;
    const int64_t first = shift > 0 ? (shift + axis->stride - 1) / axis->stride : 0;
    const int64_t stop = past > 0 ? (past + axis->stride - 1) / axis->stride : 0;

    *end = stop < (int64_t)axis->out ? (size_t)stop : axis->out;
    *begin = first < (int64_t)*end ? (size_t)first : *end;
}

RP_KERNEL_FN rp_conv_axis rp_conv_axis_of(const rp_attr *attr, int d, size_t in, size_t out, size_t taps)
{
    return (rp_conv_axis){in,
                          out,
                          taps,
                          RP_AT(attr, conv2d, stride).list[d],
                          RP_AT(attr, conv2d, padding).list[d],
                          RP_AT(attr, conv2d, dilation).list[d]};
}

RP_KERNEL_FN rp_conv rp_conv_of(const rp_view *x, const rp_view *weight, const rp_view *y, const rp_attr *attr)
{
    const size_t groups = (size_t)RP_AT(attr, conv2d, groups).i;

    return (rp_conv){.h = rp_conv_axis_of(attr, 0, x->shape[1], y->shape[1], weight->shape[0]),
                     .w = rp_conv_axis_of(attr, 1, x->shape[2], y->shape[2], weight->shape[1]),
                     .images = x->shape[0],
                     .groups = groups,
                     .c = weight->shape[2],
                     .k = weight->shape[3] / groups,
                     .x = x,
                     .weight = weight,
                     .y = y};
}

RP_KERNEL_FN rp_conv rp_conv_forward(const rp_kernel_args *args)
{
    return rp_conv_of(&args->in[0], &args->in[1], &args->out[0], args->attr);
}

RP_KERNEL_FN rp_conv rp_conv_grad_input(const rp_kernel_args *args)
{
    return rp_conv_of(&args->out[0], &args->in[1], &args->in[0], args->attr);
}

RP_KERNEL_FN rp_conv rp_conv_grad_weight(const rp_kernel_args *args)
{
    return rp_conv_of(&args->in[0], &args->out[0], &args->in[1], args->attr);
}

RP_KERNEL_FN size_t rp_conv_forward_cost(const rp_kernel_args *args)
{
    return 1 + rp_view_count(&args->in[1]);
}

RP_KERNEL_FN size_t rp_conv_grad_input_cost(const rp_kernel_args *args)
{
    const rp_attr *stride = &RP_AT(args->attr, conv2d, stride);

    return 1 + rp_view_count(&args->in[1]) / (size_t)(stride->list[0] * stride->list[1]);
}

RP_KERNEL_FN size_t rp_conv_grad_weight_cost(const rp_kernel_args *args)
{
    const rp_view pixels = rp_view_rows(&args->in[1]);

    return 1 + rp_view_count(&pixels) * rp_view_last(&args->out[0]);
}

/* Item `item` of a rank-4 view's first three axes. */
static void coordinates(const rp_view *view, size_t item, size_t at[3])
{
    for (int d = 2; d >= 0; d--) {
        at[d] = item % view->shape[d];
        item /= view->shape[d];
    }
}

#include "kernels/type_f32.h"
#include "kernels/ref/conv/conv_type.inc.h"
#include "kernels/type_f64.h"
#include "kernels/ref/conv/conv_type.inc.h"

/* A kernel whose item is the last axis of its output at the first three coordinates. */
#define CONVOLUTION(name, operands) \
    static void name##_run(const rp_kernel_args *args, size_t begin, size_t end) \
    { \
        const rp_conv conv = operands(args); \
\
        for (size_t item = begin; item < end; item++) { \
            size_t at[3]; \
\
            coordinates(&args->out[0], item, at); \
            if (args->out[0].dtype == RP_F32) \
                name##_f32(&conv, at[0], at[1], at[2]); \
            else \
                name##_f64(&conv, at[0], at[1], at[2]); \
        } \
    } \
    RP_DEFINE_KERNEL(name, rp_items_rows, name##_run, operands##_cost)

CONVOLUTION(conv2d, rp_conv_forward);
CONVOLUTION(conv2d_grad_input, rp_conv_grad_input);
CONVOLUTION(conv2d_grad_weight, rp_conv_grad_weight);
