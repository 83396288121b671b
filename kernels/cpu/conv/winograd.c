/* SPDX-License-Identifier: Apache-2.0
 * 3 x 3 convolution by minimal filtering for one instruction set (CONTRACT 4.6). A thread does with one block of
 * scratch memory; where none is left it runs the reference's code. */
#include <string.h>

#include "kernels/cpu/conv/winograd_sizes.h"
#include "kernels/level.h"

#include "kernels/type_f32.h"
#include "kernels/cpu/conv/winograd_type.inc.h"
#include "kernels/type_f64.h"
#include "kernels/cpu/conv/winograd_type.inc.h"
#include "kernels/type_end.h"

/* How tiles are cut into items: strips of filters, each of all tiles, an item being one tile of one strip. */
typedef struct strips {
    size_t tiles, filters, panel, panels, n;
} strips;

static strips strips_of(const rp_conv *conv)
{
    const size_t panel = WINOGRAD_PANEL(float) * sizeof(float) / rp_dtype_size(conv->y->dtype);
    strips s = {.tiles = conv->images * rp_winograd_tiles(&conv->h) * rp_winograd_tiles(&conv->w),
                .filters = conv->k,
                .panel = panel,
                .panels = (conv->k + panel - 1) / panel};
    size_t wide = panel;

    while (wide * 2 <= 512 && wide * 2 <= s.tiles)
        wide *= 2;
    s.n = conv->k == 0 ? 1 : (conv->k + wide - 1) / wide;
    return s;
}

static size_t strip_start(const strips *s, size_t strip)
{
    const size_t filter = s->panels * strip / s->n * s->panel;

    return strip == s->n || filter > s->filters ? s->filters : filter;
}

static size_t conv2d_winograd_items(const rp_kernel_args *args)
{
    const rp_conv conv = rp_conv_forward(args);
    const strips s = strips_of(&conv);

    return s.tiles * s.n;
}

static size_t conv2d_winograd_cost(const rp_kernel_args *args)
{
    const rp_conv conv = rp_conv_forward(args);

    return 1 + POINTS * conv.c * (conv.k / strips_of(&conv).n + 1);
}

static void conv2d_winograd_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const rp_conv conv = rp_conv_forward(args);
    const strips s = strips_of(&conv);

    while (begin < end) {
        const size_t strip = begin / s.tiles, tile = begin % s.tiles, left = end - begin, room = s.tiles - tile;
        const size_t count = left < room ? left : room;
        const size_t whole = tile == 0 && left >= s.tiles ? left / s.tiles : 1;

        (args->out[0].dtype == RP_F32 ? block_f32 : block_f64)(&conv, tile, tile + count, strip_start(&s, strip),
                                                               strip_start(&s, strip + whole));
        begin += count * whole;
    }
}

RP_DEFINE_KERNEL(conv2d_winograd, conv2d_winograd_items, conv2d_winograd_run, conv2d_winograd_cost);
