/* SPDX-License-Identifier: Apache-2.0
 * Boxes that no better one covers (CONTRACT 7.15). in: boxes [n, m, 4], scores [n, c, m] in descending order, order
 * [n, c, m], the places of those scores' boxes; out: kept i64 [n, c, k]. An item is a class of an image. */
#include "kernels/level.h"
#include "kernels/ref/taking.h"

typedef struct non_max_class {
    const rp_view *order; /* for its type */
    const char *box, *score, *place;
    ptrdiff_t box_step, score_step, place_step; /* in bytes */
    ptrdiff_t edge_step;                        /* in elements */
    size_t m;
    double overlap, least;
    bool centred;
} non_max_class;

#include "kernels/type_f32.h"
#include "kernels/ref/order/non_max_type.inc.h"
#include "kernels/type_f64.h"
#include "kernels/ref/order/non_max_type.inc.h"
#include "kernels/type_end.h"

static size_t non_max_items(const rp_kernel_args *args)
{
    return args->out[0].shape[0] * args->out[0].shape[1];
}

static size_t non_max_cost(const rp_kernel_args *args)
{
    return 20 + 8 * args->in[1].shape[2] * (1 + args->out[0].shape[2]);
}

static void non_max_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const rp_view *boxes = &args->in[0], *scores = &args->in[1], *order = &args->in[2], *out = &args->out[0];
    const ptrdiff_t size = (ptrdiff_t)rp_dtype_size(boxes->dtype), index_size = (ptrdiff_t)rp_dtype_size(order->dtype);
    non_max_class c;

    c.order = order;
    c.box_step = boxes->stride[1] * size;
    c.edge_step = boxes->stride[2];
    c.score_step = scores->stride[2] * size;
    c.place_step = order->stride[2] * index_size;
    c.m = scores->shape[2];
    c.overlap = RP_AT(args->attr, non_max, overlap).r;
    c.least = RP_AT(args->attr, non_max, least).r;
    c.centred = RP_AT(args->attr, non_max, centred).i != 0;
    for (size_t item = begin; item < end; item++) {
        const ptrdiff_t image = (ptrdiff_t)(item / out->shape[1]), class_ = (ptrdiff_t)(item % out->shape[1]);
        int64_t *kept = (int64_t *)rp_view_at(out, image * out->stride[0] + class_ * out->stride[1]);

        c.box = (const char *)rp_view_at(boxes, image * boxes->stride[0]);
        c.score = (const char *)rp_view_at(scores, image * scores->stride[0] + class_ * scores->stride[1]);
        c.place = (const char *)rp_view_at(order, image * order->stride[0] + class_ * order->stride[1]);
        if (boxes->dtype == RP_F32)
            keep_boxes_f32(&c, kept, out->stride[2], out->shape[2]);
        else
            keep_boxes_f64(&c, kept, out->stride[2], out->shape[2]);
    }
}

RP_DEFINE_KERNEL(non_max, non_max_items, non_max_run, non_max_cost);
