/* SPDX-License-Identifier: Apache-2.0
 * Shape rules of convolution, pooling and batch norm (CONTRACT 4.5, 7.8). Every attribute is checked here, since the
 * kernels compute with them as they are: strides divide, windows are walked, products with sizes must not overflow. */
#include "core/program/infer.h"

#include "core/program/infer_check.h"

/* Of strides, paddings, dilations and windows: times a length, itself at most 2^40, that still fits 64 bits. */
static const int64_t place_max = (int64_t)1 << 20;

static rp_status check_list(const rp_op *op, const rp_attr *attr, int index, int n, int64_t least, int64_t most,
                            rp_error *err)
{
    const rp_attr *a = &attr[index];
    bool fine = a->n == n;

    for (int i = 0; i < n && fine; i++)
        fine = a->list[i] >= least && a->list[i] <= most;
    return fine ? RP_OK
                : rp_fail(err, RP_ESHAPE, "%s: %s: expected %d integers from %lld to %lld", op->name,
                          op->attr[index].name, n, (long long)least, (long long)most);
}

/* Attributes 0 to 2 of every row here: how windows lie on an image. */
static rp_status check_placement(const rp_op *op, const rp_attr *attr, rp_error *err)
{
    rp_status status = check_list(op, attr, RP_AT_conv2d_stride, 2, 1, place_max, err);

    if (status == RP_OK)
        status = check_list(op, attr, RP_AT_conv2d_padding, 4, 0, place_max, err);
    return status == RP_OK ? check_list(op, attr, RP_AT_conv2d_dilation, 2, 1, place_max, err) : status;
}

/* Rank 4, and only axis 0 of an image may be empty: a batch of none. */
static bool is_four(const rp_type *t, bool batch)
{
    return t->rank == 4 && (batch || t->shape[0] > 0) && t->shape[1] > 0 && t->shape[2] > 0 && t->shape[3] > 0;
}

/* Pixels that a window of so many taps covers along height (d 0) or width (d 1), gaps included. */
static size_t span_of(const rp_attr *attr, int d, size_t taps)
{
    return (taps - 1) * (size_t)RP_AT(attr, conv2d, dilation).list[d] + 1;
}

/* y: the image of k channels that windows of taps give on x. Attributes 0 to 2 have been checked. */
static rp_status slide(const rp_op *op, const rp_attr *attr, const rp_type *x, const size_t taps[2], size_t k,
                       rp_type *y, rp_error *err)
{
    *y = *x;
    y->shape[3] = k;
    for (int d = 0; d < 2; d++) {
        size_t padded = x->shape[1 + d] + (size_t)RP_AT(attr, conv2d, padding).list[d] +
                        (size_t)RP_AT(attr, conv2d, padding).list[d + 2];
        size_t span = span_of(attr, d, taps[d]);

        if (span > padded)
            return rp_fail(err, RP_ESHAPE,
                           "%s: found a window of %zu over a %s of %zu with padding, expected one that fits", op->name,
                           span, d ? "width" : "height", padded);
        y->shape[1 + d] = (padded - span) / (size_t)RP_AT(attr, conv2d, stride).list[d] + 1;
    }
    return bounded(op, y, err);
}

static rp_status expect_gradient(const rp_op *op, const rp_type *g, const rp_type *y, rp_error *err)
{
    char found[192], expected[192];

    if (rp_type_equal(g, y))
        return RP_OK;
    rp_type_text(g, found, sizeof found);
    rp_type_text(y, expected, sizeof expected);
    return rp_fail(err, RP_ESHAPE, "%s: found a gradient %s, expected %s", op->name, found, expected);
}

/* ---- convolution ---- */

/* y from x [n, h, w, c] and weight [r, s, c / groups, k], whichever of the three are operands. */
static rp_status fit_conv(const rp_op *op, const rp_attr *attr, const rp_type *x, const rp_type *weight, rp_type *y,
                          rp_error *err)
{
    int64_t groups = RP_AT(attr, conv2d, groups).i;
    rp_status status = check_placement(op, attr, err);

    if (status != RP_OK)
        return status;
    if (!is_four(x, true) || !is_four(weight, false) || x->dtype != weight->dtype)
        return refuse(op, x, weight, "[n, h, w, c] and [r, s, c / groups, k] of one dtype, only n of length 0", err);
    if (groups < 1 || (uint64_t)groups > weight->shape[3] || weight->shape[3] % (size_t)groups ||
        x->shape[3] % (size_t)groups || x->shape[3] / (size_t)groups != weight->shape[2])
        return refuse(op, x, weight, "groups that divide c and k, and c / groups channels in the weight", err);
    return slide(op, attr, x, weight->shape, weight->shape[3], y, err);
}

rp_status infer_conv2d(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                       rp_error *err)
{
    (void)n_in;
    return fit_conv(op, attr, &in[0], &in[1], &out[0], err);
}

/* What the transforms are written for: 3 x 3 taps side by side at every pixel, all channels, padding up to 2. */
rp_status infer_conv2d_winograd(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                                rp_error *err)
{
    rp_status status = fit_conv(op, attr, &in[0], &in[1], &out[0], err);
    bool fits = status == RP_OK && in[1].shape[0] == 3 && in[1].shape[1] == 3 && RP_AT(attr, conv2d, groups).i == 1;

    (void)n_in;
    for (int i = 0; i < 4; i++)
        fits = fits && RP_AT(attr, conv2d, stride).list[i % 2] == 1 && RP_AT(attr, conv2d, dilation).list[i % 2] == 1 &&
               RP_AT(attr, conv2d, padding).list[i] <= 2;
    if (status != RP_OK || fits)
        return status;
    return refuse(op, &in[0], &in[1], "3 x 3 taps, stride, dilation and groups of 1, and padding up to 2", err);
}

/* A gradient says the size of what it is the gradient of: with a stride, several sizes give the same outputs. */
static rp_status check_size(const rp_op *op, const rp_attr *attr, rp_error *err)
{
    return check_list(op, attr, RP_AT_conv2d_grad_input_size, 2, 1, (int64_t)rp_elements_max, err);
}

rp_status infer_conv2d_grad_input(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                                  rp_error *err)
{
    const rp_type *g = &in[0], *weight = &in[1];
    rp_status status = check_size(op, attr, err);
    rp_type y = {0};

    (void)n_in;
    if (status != RP_OK)
        return status;
    if (!is_four(g, true) || !is_four(weight, false) || RP_AT(attr, conv2d, groups).i < 1 ||
        (uint64_t)RP_AT(attr, conv2d, groups).i > weight->shape[3])
        return refuse(op, g, weight, "a gradient [n, oh, ow, k], a weight [r, s, c / groups, k] and 1 to k groups",
                      err);
    out[0] = (rp_type){g->dtype,
                       4,
                       {g->shape[0], (size_t)RP_AT(attr, conv2d_grad_input, size).list[0],
                        (size_t)RP_AT(attr, conv2d_grad_input, size).list[1],
                        weight->shape[2] * (size_t)RP_AT(attr, conv2d, groups).i}};
    status = bounded(op, &out[0], err);
    if (status == RP_OK)
        status = fit_conv(op, attr, &out[0], weight, &y, err);
    return status == RP_OK ? expect_gradient(op, g, &y, err) : status;
}

rp_status infer_conv2d_grad_weight(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                                   rp_error *err)
{
    const rp_type *x = &in[0], *g = &in[1];
    rp_status status = check_size(op, attr, err);
    rp_type y = {0};

    (void)n_in;
    if (status != RP_OK)
        return status;
    if (!is_four(x, true) || !is_four(g, true) || RP_AT(attr, conv2d, groups).i < 1 ||
        x->shape[3] % (uint64_t)RP_AT(attr, conv2d, groups).i)
        return refuse(op, x, g, "an image [n, h, w, c], a gradient [n, oh, ow, k] and groups that divide c", err);
    out[0] = (rp_type){x->dtype,
                       4,
                       {(size_t)RP_AT(attr, conv2d_grad_input, size).list[0],
                        (size_t)RP_AT(attr, conv2d_grad_input, size).list[1],
                        x->shape[3] / (size_t)RP_AT(attr, conv2d, groups).i, g->shape[3]}};
    status = bounded(op, &out[0], err);
    if (status == RP_OK)
        status = fit_conv(op, attr, x, &out[0], &y, err);
    return status == RP_OK ? expect_gradient(op, g, &y, err) : status;
}

/* ---- pooling ---- */

static rp_status fit_pool(const rp_op *op, const rp_attr *attr, const rp_type *x, rp_type *y, rp_error *err)
{
    size_t taps[2];
    rp_status status = check_placement(op, attr, err);

    if (status == RP_OK)
        status = check_list(op, attr, RP_AT_max_pool_window, 2, 1, place_max, err);
    if (status != RP_OK)
        return status;
    if (!is_four(x, true))
        return refuse(op, x, NULL, "images [n, h, w, c], only n of length 0", err);
    for (int d = 0; d < 2; d++) {
        taps[d] = (size_t)RP_AT(attr, max_pool, window).list[d];
        /* it would have outputs of nothing but padding */
        if ((size_t)RP_AT(attr, conv2d, padding).list[d] >= span_of(attr, d, taps[d]) ||
            (size_t)RP_AT(attr, conv2d, padding).list[d + 2] >= span_of(attr, d, taps[d]))
            return rp_fail(err, RP_ESHAPE, "%s: expected less padding than the window covers", op->name);
    }
    return slide(op, attr, x, taps, x->shape[3], y, err);
}

rp_status infer_pool(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out, rp_error *err)
{
    (void)n_in;
    return fit_pool(op, attr, &in[0], &out[0], err);
}

rp_status infer_max_pool_grad(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                              rp_error *err)
{
    rp_type y = {0};
    rp_status status = fit_pool(op, attr, &in[1], &y, err);

    (void)n_in;
    out[0] = in[1];
    return status == RP_OK ? expect_gradient(op, &in[0], &y, err) : status;
}

rp_status infer_avg_pool_grad(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                              rp_error *err)
{
    rp_status status = check_size(op, attr, err);
    rp_type y = {0};

    (void)n_in;
    if (status != RP_OK)
        return status;
    if (!is_four(&in[0], true))
        return refuse(op, &in[0], NULL, "a gradient [n, oh, ow, c], only n of length 0", err);
    out[0] = in[0];
    for (int d = 0; d < 2; d++)
        out[0].shape[1 + d] = (size_t)RP_AT(attr, avg_pool_grad, size).list[d];
    status = bounded(op, &out[0], err);
    if (status == RP_OK)
        status = fit_pool(op, attr, &out[0], &y, err);
    return status == RP_OK ? expect_gradient(op, &in[0], &y, err) : status;
}

/* ---- resizing ---- */

static bool within(int64_t v, int64_t least, int64_t most)
{
    return v >= least && v <= most;
}

/* resize, and its gradient, whose size is that of resize's operand. */
rp_status infer_resize(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                       rp_error *err)
{
    const int64_t axis = RP_AT(attr, resize, axis).i, size = RP_AT(attr, resize, size).i;

    (void)n_in;
    if (!axis_valid(axis, &in[0]))
        return refuse_axis(op, axis, &in[0], err);
    if (in[0].shape[axis] == 0)
        return refuse_empty_axis(op, axis, &in[0], err);
    if (in[0].shape[axis] > INT32_MAX || !within(size, 1, INT32_MAX))
        return rp_fail(err, RP_ESHAPE, "%s: found a length of %zu and a size of %lld, expected both from 1 to %d",
                       op->name, in[0].shape[axis], (long long)size, INT32_MAX);
    if (!within(RP_AT(attr, resize, mode).i, 0, 2) || !within(RP_AT(attr, resize, coordinates).i, 0, 2) ||
        !within(RP_AT(attr, resize, rounding).i, 0, 3))
        return rp_fail(err, RP_ESHAPE,
                       "%s: found mode %lld, coordinates %lld, rounding %lld, expected 0 to 2, 0 to 2, 0 to 3",
                       op->name, (long long)RP_AT(attr, resize, mode).i, (long long)RP_AT(attr, resize, coordinates).i,
                       (long long)RP_AT(attr, resize, rounding).i);
    out[0] = in[0];
    out[0].shape[axis] = (size_t)size;
    return bounded(op, &out[0], err);
}

/* ---- batch norm ---- */

/* x of at least one channel, and from operand `first` on one value a channel. */
static rp_status check_channels(const rp_op *op, const rp_type *x, const rp_type *in, size_t first, size_t n_in,
                                rp_error *err)
{
    if (x->rank == 0 || x->shape[x->rank - 1] == 0)
        return refuse(op, x, NULL, "rank 1 or more and a last axis of at least one channel", err);
    for (size_t i = first; i < n_in; i++)
        if (!is_row_of(&in[i], x))
            return refuse(op, x, &in[i], "one value a channel, as long as the last axis", err);
    return RP_OK;
}

rp_status infer_batch_norm(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                           rp_error *err)
{
    (void)attr;
    out[0] = in[0];
    return check_channels(op, &in[0], in, 1, n_in, err);
}

/* y and, one value a channel, mean and var. */
rp_status infer_batch_norm_train(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                                 rp_error *err)
{
    (void)attr;
    out[0] = in[0];
    out[1] = out[2] = in[1];
    return check_channels(op, &in[0], in, 1, n_in, err);
}

/* dx and, one value a channel, dgamma and dbeta. */
rp_status infer_batch_norm_grad(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                                rp_error *err)
{
    (void)attr;
    out[0] = in[1];
    out[1] = out[2] = in[2];
    if (!rp_type_equal(&in[0], &in[1]))
        return refuse(op, &in[0], &in[1], "a gradient like x", err);
    return check_channels(op, &in[1], in, 2, n_in, err);
}

/* ---- group norm ---- */

/* x [n, .., c], whose channels the groups divide; the moments are [n, groups]. */
static rp_status check_groups(const rp_op *op, const rp_attr *attr, const rp_type *x, rp_type *moments, rp_error *err)
{
    const int64_t groups = RP_AT(attr, group_norm, groups).i;
    bool some = x->rank >= 2;

    for (int d = 1; d < x->rank; d++)
        some = some && x->shape[d] > 0;
    if (!some)
        return refuse(op, x, NULL, "[n, .., c] of at least one position and one channel", err);
    if (groups < 1 || (uint64_t)groups > x->shape[x->rank - 1] || x->shape[x->rank - 1] % (uint64_t)groups != 0)
        return rp_fail(err, RP_ESHAPE, "%s: found groups %lld, expected a divisor of the %zu channels", op->name,
                       (long long)groups, x->shape[x->rank - 1]);
    *moments = (rp_type){.dtype = x->dtype, .rank = 2, .shape = {x->shape[0], (size_t)groups}};
    return RP_OK;
}

/* y and, one a group of a sample, mean and var. */
rp_status infer_group_norm(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                           rp_error *err)
{
    rp_status status = check_groups(op, attr, &in[0], &out[1], err);

    out[0] = in[0];
    out[2] = out[1];
    return status == RP_OK ? check_channels(op, &in[0], in, 1, n_in, err) : status;
}

/* dx and, one a channel of a sample, what its positions give dgamma and dbeta. */
rp_status infer_group_norm_grad(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                                rp_error *err)
{
    rp_type moments;
    rp_status status = check_groups(op, attr, &in[1], &moments, err);

    (void)n_in;
    out[0] = in[1];
    if (status == RP_OK && !rp_type_equal(&in[0], &in[1]))
        status = refuse(op, &in[0], &in[1], "a gradient like x", err);
    if (status == RP_OK)
        status = check_channels(op, &in[1], in, 2, 3, err);
    for (size_t i = 3; i < 5 && status == RP_OK; i++)
        if (!rp_type_equal(&in[i], &moments))
            status = refuse(op, &in[1], &in[i], "a mean and a var like x's samples and its groups", err);
    if (status != RP_OK)
        return status;
    out[1] = out[2] = (rp_type){.dtype = in[1].dtype, .rank = 2, .shape = {in[1].shape[0], in[2].shape[0]}};
    return RP_OK;
}
