/* SPDX-License-Identifier: Apache-2.0
 * The public calls of other ranks and pools of other kinds (rp/image.h): volumes as images tap by tap along the depth,
 * rows as images of height 1, and pools that are told their result's size. All append what CONTRACT 11.2 says. */
#include "rp/image.h"

#include "core/program/image/flat.h"

static bool has_rank(rp_tensor x, int rank, const char *call, const char *expected)
{
    if (!rp_tensor_ok(x))
        return false;
    if (rp_tensor_type(x)->rank == rank)
        return true;
    rp_graph_fail(x.graph, RP_ESHAPE, "%s: found rank %d, expected %s", call, rp_tensor_type(x)->rank, expected);
    return false;
}

/* ---- rows ---- */

typedef rp_tensor pool2d(rp_tensor x, size_t height, size_t width, const rp_placement *place);

static rp_tensor pool_row(rp_tensor x, size_t width, const rp_placement *place, pool2d *pool, const char *call)
{
    if (!has_rank(x, 3, call, "rows [n, w, c]"))
        return rp_no_tensor();
    if (place && (place->stride[0] || place->dilation[0] || place->padding[0] || place->padding[2])) {
        rp_graph_fail(x.graph, RP_EARG, "%s: a stride, dilation or padding of the height, which a row does not have",
                      call);
        return rp_no_tensor();
    }
    return flat(pool(flat(x, 1, true), 1, width, place), 1, false);
}

rp_tensor rp_max_pool1d(rp_tensor x, size_t width, const rp_placement *place)
{
    return pool_row(x, width, place, (rp_max_pool2d), "max_pool1d");
}

rp_tensor rp_avg_pool1d(rp_tensor x, size_t width, const rp_placement *place)
{
    return pool_row(x, width, place, (rp_avg_pool2d), "avg_pool1d");
}

/* ---- pools by the size of their result ---- */

enum { PARTS_MOST = 1024 };

/* Along one axis of an image: part i of n of its length begins at floor(i length / n), and ends at
 * ceil((i + 1) length / n). */
static rp_tensor pool_parts(rp_tensor x, int axis, size_t n, bool greatest)
{
    const size_t length = rp_tensor_ok(x) ? rp_tensor_type(x)->shape[axis] : 0;
    rp_tensor parts[PARTS_MOST];

    for (size_t i = 0; i < n && rp_tensor_ok(x); i++) {
        size_t begin[4] = {0}, end[4];
        rp_tensor part;

        parts[i] = rp_no_tensor();
        for (int d = 0; d < 4; d++)
            end[d] = rp_tensor_type(x)->shape[d];
        begin[axis] = i * length / n;
        end[axis] = ((i + 1) * length + n - 1) / n;
        part = rp_slice(x, begin, end);
        parts[i] = greatest ? rp_max(part, &axis, 1, true) : rp_mean(part, &axis, 1, true);
    }
    return rp_tensor_ok(x) ? rp_concat(parts, n, axis) : rp_no_tensor();
}

static rp_tensor pool_to(rp_tensor x, size_t height, size_t width, bool greatest, const char *call)
{
    size_t size[2] = {height, width}, window[2];
    rp_type t;

    if (!has_rank(x, 4, call, "images [n, h, w, c]"))
        return rp_no_tensor();
    t = *rp_tensor_type(x);
    for (int d = 0; d < 2; d++) {
        if (size[d] == 0 || size[d] > t.shape[1 + d] || size[d] > PARTS_MOST) {
            rp_graph_fail(x.graph, RP_ESHAPE, "%s: found %s %zu of an image's %zu, expected 1 to that, at most 1024",
                          call, d ? "width" : "height", size[d], t.shape[1 + d]);
            return rp_no_tensor();
        }
        window[d] = t.shape[1 + d] / size[d];
    }
    if (window[0] * height == t.shape[1] && window[1] * width == t.shape[2])
        return greatest ? rp_max_pool2d(x, window[0], window[1], NULL) : rp_avg_pool2d(x, window[0], window[1], NULL);
    return pool_parts(pool_parts(x, 1, height, greatest), 2, width, greatest);
}

rp_tensor rp_adaptive_avg_pool2d(rp_tensor x, size_t height, size_t width)
{
    return pool_to(x, height, width, false, "adaptive_avg_pool2d");
}

rp_tensor rp_adaptive_max_pool2d(rp_tensor x, size_t height, size_t width)
{
    return pool_to(x, height, width, true, "adaptive_max_pool2d");
}

/* ---- volumes: [n, d, h, w, c] ---- */

/* An axis of depth's windows: places outside of [0, length) are padding. */
typedef struct depth {
    size_t length, taps, stride, before, after, dilation, out;
} depth;

/* False, and the graph in error, where the windows do not fit. */
static bool lay_depth(depth *d, rp_tensor x, size_t taps, const rp_placement3d *place, size_t usual, const char *call)
{
    static const size_t most = (size_t)1 << 20;
    size_t span;

    *d = (depth){rp_tensor_type(x)->shape[1],
                 taps,
                 place->stride[0] ? place->stride[0] : usual,
                 place->padding[0],
                 place->padding[3],
                 place->dilation[0] ? place->dilation[0] : 1,
                 0};
    if (taps == 0 || taps > most || d->stride > most || d->before > most || d->after > most || d->dilation > most) {
        rp_graph_fail(x.graph, RP_ESHAPE,
                      "%s: found a depth of windows of %zu, stride %zu, padding %zu and %zu, "
                      "dilation %zu, expected each up to 2^20, and a tap or more",
                      call, taps, d->stride, d->before, d->after, d->dilation);
        return false;
    }
    span = (taps - 1) * d->dilation + 1;
    if (span > d->length + d->before + d->after) {
        rp_graph_fail(x.graph, RP_ESHAPE,
                      "%s: found a window of %zu over a depth of %zu with padding, expected one "
                      "that fits",
                      call, span, d->length + d->before + d->after);
        return false;
    }
    d->out = (d->length + d->before + d->after - span) / d->stride + 1;
    return true;
}

static rp_placement flat_place(const rp_placement3d *p)
{
    return (rp_placement){.stride = {p->stride[1], p->stride[2]},
                          .padding = {p->padding[1], p->padding[2], p->padding[4], p->padding[5]},
                          .dilation = {p->dilation[1], p->dilation[2]}};
}

/* The outputs [*begin, *end) whose tap t lies in the volume. */
static void outputs_inside(const depth *d, size_t t, size_t *begin, size_t *end)
{
    const size_t at = t * d->dilation;
    const size_t last = d->before + d->length > at ? d->before + d->length - at - 1 : 0;

    *begin = at >= d->before ? 0 : (d->before - at + d->stride - 1) / d->stride;
    *end = d->before + d->length > at ? last / d->stride + 1 : 0;
    *end = *end < d->out ? *end : d->out;
    *begin = *begin < *end ? *begin : *end;
}

/* The slices of the volume that tap t of outputs [begin, end) meets, [n, end - begin, h, w, c], as images
 * [n (end - begin), h, w, c]. */
static rp_tensor met_by(rp_tensor x, const depth *d, size_t t, size_t begin, size_t end)
{
    const size_t first = begin * d->stride + t * d->dilation - d->before;
    const rp_type type = *rp_tensor_type(x);
    rp_tensor met;

    if (d->stride == 1 || end - begin == 1) {
        size_t from[5] = {0, first},
               to[5] = {type.shape[0], first + end - begin, type.shape[2], type.shape[3], type.shape[4]};

        met = rp_slice(x, from, to);
    } else {
        rp_tensor places = rp_iota(x.graph, RP_I64, end - begin);

        places = rp_scale(places, (double)d->stride);
        places = rp_add_scalar(places, (double)first);
        met = rp_gather(x, places, 1);
    }
    return rp_reshape(met, 4, (size_t[]){type.shape[0] * (end - begin), type.shape[2], type.shape[3], type.shape[4]});
}

/* Images of outputs [begin, end) as slices of a volume of d->out, the others zeros. */
static rp_tensor in_place(rp_tensor images, const depth *d, size_t n, size_t begin, size_t end)
{
    size_t before[5] = {0, begin}, after[5] = {0, d->out - end};
    rp_type type;
    rp_tensor volume;

    if (!rp_tensor_ok(images))
        return rp_no_tensor();
    type = *rp_tensor_type(images);
    volume = rp_reshape(images, 5, (size_t[]){n, end - begin, type.shape[1], type.shape[2], type.shape[3]});
    return begin == 0 && end == d->out ? volume : rp_pad(volume, before, after);
}

/* Tap t of weight [t, r, s, c / groups, k] as an image's weight. */
static rp_tensor tap_weight(rp_tensor weight, size_t t)
{
    const rp_type w = *rp_tensor_type(weight);
    size_t begin[5] = {t}, end[5] = {t + 1, w.shape[1], w.shape[2], w.shape[3], w.shape[4]};

    return flat(rp_slice(weight, begin, end), 0, false);
}

rp_tensor rp_conv3d(rp_tensor x, rp_tensor weight, rp_tensor bias, size_t groups, const rp_placement3d *place)
{
    static const rp_placement3d usual;
    const rp_placement3d *p = place ? place : &usual;
    const rp_placement flat_p = flat_place(p);
    rp_tensor y = rp_no_tensor();
    depth d;

    if (!has_rank(x, 5, "conv3d", "volumes [n, d, h, w, c]") ||
        !has_rank(weight, 5, "conv3d", "a weight [t, r, s, c / groups, k]") ||
        !lay_depth(&d, x, rp_tensor_type(weight)->shape[0], p, 1, "conv3d"))
        return rp_no_tensor();
    for (size_t t = 0; t < d.taps; t++) {
        size_t begin, end;
        rp_tensor images, part;

        outputs_inside(&d, t, &begin, &end);
        if (begin == end)
            continue;
        images = met_by(x, &d, t, begin, end);
        part = rp_conv2d(images, tap_weight(weight, t), rp_no_tensor(), groups, &flat_p);
        part = in_place(part, &d, rp_tensor_type(x)->shape[0], begin, end);
        if (!rp_tensor_ok(part))
            return rp_no_tensor();
        y = y.graph ? rp_add(y, part) : part;
    }
    if (!y.graph)
        rp_graph_fail(x.graph, RP_ESHAPE, "conv3d: no tap of any window lies in the volume, expected less padding");
    return y.graph && bias.graph ? rp_add(y, bias) : y;
}

/* conv3d is linear in x: a slice of what it makes gets what the taps that met it give. */
rp_tensor rp_conv3d_transpose(rp_tensor x, rp_tensor weight, rp_tensor bias, size_t groups, const rp_placement3d *place,
                              const size_t extra[3])
{
    static const rp_placement3d usual;
    const rp_placement3d *p = place ? place : &usual;
    const rp_placement flat_p = flat_place(p);
    const size_t stride = p->stride[0] ? p->stride[0] : 1, dilation = p->dilation[0] ? p->dilation[0] : 1;
    rp_tensor y = rp_no_tensor();
    rp_type t, w;
    size_t covered;

    if (!has_rank(x, 5, "conv3d_transpose", "volumes [n, d, h, w, c]") ||
        !has_rank(weight, 5, "conv3d_transpose", "a weight [t, r, s, k / groups, c]"))
        return rp_no_tensor();
    t = *rp_tensor_type(x);
    w = *rp_tensor_type(weight);
    if (stride > 1u << 20 || dilation > 1u << 20 || p->padding[0] > 1u << 20 || p->padding[3] > 1u << 20 ||
        w.shape[0] == 0 || w.shape[0] > 1u << 20 || t.shape[1] == 0 || t.shape[1] > 1u << 20 ||
        (extra && extra[0] > 1u << 20)) {
        rp_graph_fail(x.graph, RP_ESHAPE,
                      "conv3d_transpose: expected a depth, a window, a stride, a padding and a "
                      "dilation of up to 2^20 along the depth, and a tap and a slice or more");
        return rp_no_tensor();
    }
    covered = (t.shape[1] - 1) * stride + dilation * (w.shape[0] - 1) + 1 + (extra ? extra[0] : 0);
    if (covered <= p->padding[0] + p->padding[3]) {
        rp_graph_fail(x.graph, RP_ESHAPE,
                      "conv3d_transpose: found a padding of %zu and %zu of a depth of %zu, "
                      "expected less",
                      p->padding[0], p->padding[3], covered);
        return rp_no_tensor();
    }
    const depth d = {covered - p->padding[0] - p->padding[3],
                     w.shape[0],
                     stride,
                     p->padding[0],
                     p->padding[3],
                     dilation,
                     t.shape[1]};

    for (size_t tap = 0; tap < d.taps; tap++) {
        size_t begin, end, from[5] = {0}, to[5];
        rp_tensor part, places;

        outputs_inside(&d, tap, &begin, &end);
        if (begin == end)
            continue;
        for (int i = 0; i < 5; i++)
            to[i] = t.shape[i];
        from[1] = begin;
        to[1] = end;
        part = rp_slice(x, from, to);
        part = rp_reshape(part, 4, (size_t[]){t.shape[0] * (end - begin), t.shape[2], t.shape[3], t.shape[4]});
        part = rp_conv2d_transpose(part, tap_weight(weight, tap), rp_no_tensor(), groups, &flat_p,
                                   extra ? extra + 1 : NULL);
        if (!rp_tensor_ok(part))
            return rp_no_tensor();
        part = rp_reshape(part, 5,
                          (size_t[]){t.shape[0], end - begin, rp_tensor_type(part)->shape[1],
                                     rp_tensor_type(part)->shape[2], rp_tensor_type(part)->shape[3]});
        places = rp_iota(x.graph, RP_I64, end - begin);
        places = rp_scale(places, (double)stride);
        places = rp_add_scalar(places, (double)(begin * stride + tap * dilation - d.before));
        part = rp_scatter_add(part, places, 1, d.length);
        y = y.graph ? rp_add(y, part) : part;
    }
    if (!y.graph)
        rp_graph_fail(x.graph, RP_ESHAPE,
                      "conv3d_transpose: no tap of any window lies in the result, expected less padding");
    return y.graph && bias.graph ? rp_add(y, bias) : y;
}

/* Along the depth as windows over images of h w pixels, then slice by slice. */
static rp_tensor pool_volume(rp_tensor x, const size_t window[3], const rp_placement3d *place, pool2d *pool,
                             const char *call)
{
    static const rp_placement3d usual;
    const rp_placement3d *p = place ? place : &usual;
    const rp_placement flat_p = flat_place(p);
    const rp_placement deep = {
        .stride = {p->stride[0], 1}, .padding = {p->padding[0], 0, p->padding[3], 0}, .dilation = {p->dilation[0], 1}};
    rp_tensor y;
    rp_type t, u;
    size_t out;

    if (!has_rank(x, 5, call, "volumes [n, d, h, w, c]"))
        return rp_no_tensor();
    t = *rp_tensor_type(x);
    y = rp_reshape(x, 4, (size_t[]){t.shape[0], t.shape[1], t.shape[2] * t.shape[3], t.shape[4]});
    y = pool(y, window[0], 1, &deep);
    if (!rp_tensor_ok(y))
        return rp_no_tensor();
    out = rp_tensor_type(y)->shape[1];
    y = rp_reshape(y, 4, (size_t[]){t.shape[0] * out, t.shape[2], t.shape[3], t.shape[4]});
    y = pool(y, window[1], window[2], &flat_p);
    if (!rp_tensor_ok(y))
        return rp_no_tensor();
    u = *rp_tensor_type(y);
    return rp_reshape(y, 5, (size_t[]){t.shape[0], out, u.shape[1], u.shape[2], u.shape[3]});
}

rp_tensor rp_max_pool3d(rp_tensor x, const size_t window[3], const rp_placement3d *place)
{
    return pool_volume(x, window, place, (rp_max_pool2d), "max_pool3d");
}

rp_tensor rp_avg_pool3d(rp_tensor x, const size_t window[3], const rp_placement3d *place)
{
    return pool_volume(x, window, place, (rp_avg_pool2d), "avg_pool3d");
}
