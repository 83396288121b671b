/* SPDX-License-Identifier: Apache-2.0
 * 3 x 3 convolution by minimal filtering, F(4 x 4, 3 x 3) of Lavin and Gray 2016 with other points (CONTRACT 4.6). */
#include "kernels/ref/conv/winograd.h"

#include "determinism/math.h"
#include "kernels/level.h"

enum { IN = RP_WINOGRAD_IN, OUT = RP_WINOGRAD_OUT };

#include "kernels/type_f32.h"
#include "kernels/ref/conv/winograd_type.inc.h"
#include "kernels/type_f64.h"
#include "kernels/ref/conv/winograd_type.inc.h"

static size_t conv2d_winograd_items(const rp_kernel_args *args)
{
    const rp_conv conv = rp_conv_forward(args);

    return conv.images * rp_winograd_tiles(&conv.h) * rp_winograd_tiles(&conv.w);
}

static size_t conv2d_winograd_cost(const rp_kernel_args *args)
{
    return 1 + 4 * rp_view_count(&args->in[1]);
}

/* An item is a tile. */
static void conv2d_winograd_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const rp_conv conv = rp_conv_forward(args);

    if (args->out[0].dtype == RP_F32)
        rp_winograd_tiles_f32(&conv, begin, end, 0, conv.k);
    else
        rp_winograd_tiles_f64(&conv, begin, end, 0, conv.k);
}

RP_DEFINE_KERNEL(conv2d_winograd, conv2d_winograd_items, conv2d_winograd_run, conv2d_winograd_cost);
