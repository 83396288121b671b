/* SPDX-License-Identifier: Apache-2.0
 * The public calls that change an image's size (rp/image.h): resizing, axis by axis, and pixels to channels and back.
 */
#include "rp/image.h"

#include "core/program/graph.h"

rp_tensor rp_resize(rp_tensor x, int axis, size_t size, const rp_resizing *how)
{
    static const rp_resizing usual;
    const rp_resizing *h = how ? how : &usual;
    rp_attr attr[RP_MAX_ATTR] = {{0}};
    rp_tensor out[RP_MAX_OUT];

    RP_AT(attr, resize, axis).i = axis;
    RP_AT(attr, resize, size).i = size <= (size_t)INT64_MAX ? (int64_t)size : -1;
    RP_AT(attr, resize, mode).i = (int64_t)h->mode;
    RP_AT(attr, resize, coordinates).i = (int64_t)h->coordinates;
    RP_AT(attr, resize, rounding).i = (int64_t)h->rounding;
    rp_emit(x.graph, RP_OP_resize, attr, &x, 1, out);
    return out[0];
}

/* Whether x is an image; if not, the graph is in error. */
static bool is_image(rp_tensor x, const char *call)
{
    if (!rp_tensor_ok(x))
        return false;
    if (rp_tensor_type(x)->rank != 4)
        rp_graph_fail(x.graph, RP_ESHAPE, "%s: found rank %d, expected images [n, h, w, c]", call,
                      rp_tensor_type(x)->rank);
    return rp_tensor_type(x)->rank == 4;
}

rp_tensor rp_resize2d(rp_tensor x, size_t height, size_t width, const rp_resizing *how)
{
    rp_tensor y;

    if (!is_image(x, "resize2d"))
        return rp_no_tensor();
    y = rp_tensor_type(x)->shape[1] == height ? x : rp_resize(x, 1, height, how);
    return rp_tensor_ok(y) && rp_tensor_type(y)->shape[2] != width ? rp_resize(y, 2, width, how) : y;
}

/* As rows of `from` axes, in another order, and as an image again. */
static rp_tensor turned(rp_tensor x, const size_t *from, const int *order, const size_t *to)
{
    rp_tensor apart = rp_reshape(x, 6, from), moved = rp_transpose(apart, order);

    return rp_reshape(moved, 4, to);
}

enum { FACTOR_MOST = 1 << 20 }; /* its square is a length */

rp_tensor rp_pixel_shuffle(rp_tensor x, size_t factor)
{
    const size_t f = factor;
    rp_type t;

    if (!is_image(x, "pixel_shuffle"))
        return rp_no_tensor();
    t = *rp_tensor_type(x);
    if (f == 0 || f > FACTOR_MOST || f > t.shape[3] || t.shape[3] % (f * f)) {
        rp_graph_fail(x.graph, RP_ESHAPE, "pixel_shuffle: found %zu channels, expected a multiple of %zu x %zu",
                      t.shape[3], f, f);
        return rp_no_tensor();
    }
    return turned(x, (size_t[]){t.shape[0], t.shape[1], t.shape[2], t.shape[3] / (f * f), f, f},
                  (int[]){0, 1, 4, 2, 5, 3},
                  (size_t[]){t.shape[0], t.shape[1] * f, t.shape[2] * f, t.shape[3] / (f * f)});
}

rp_tensor rp_pixel_unshuffle(rp_tensor x, size_t factor)
{
    const size_t f = factor;
    rp_type t;

    if (!is_image(x, "pixel_unshuffle"))
        return rp_no_tensor();
    t = *rp_tensor_type(x);
    if (f == 0 || f > FACTOR_MOST || t.shape[1] % f || t.shape[2] % f) {
        rp_graph_fail(x.graph, RP_ESHAPE, "pixel_unshuffle: found %zu x %zu pixels, expected multiples of %zu",
                      t.shape[1], t.shape[2], f);
        return rp_no_tensor();
    }
    return turned(x, (size_t[]){t.shape[0], t.shape[1] / f, f, t.shape[2] / f, f, t.shape[3]},
                  (int[]){0, 1, 3, 5, 2, 4},
                  (size_t[]){t.shape[0], t.shape[1] / f, t.shape[2] / f, t.shape[3] * f * f});
}
