/* SPDX-License-Identifier: Apache-2.0
 * Launches of scatter_add: blocks have fewer places of the axis where the chip would be idle otherwise. */
#include <stdio.h>

#include "kernels/gpu/launch_tuned.h"
#include "kernels/gpu/move/move_args.h"
#include "kernels/walk.h"

enum { NAME = 64, BLOCKS_A_MULTIPROCESSOR = 4, MOST_BLOCKS = 1 << 30 };

/* Cuts the axis into ranges. How many blocks there are work for. */
static u64 cut(rp_gpu_scatter *p, u64 size, u64 multiprocessors)
{
    const u64 blocks = (p->items.count + RP_GPU_SCATTER_ITEMS - 1) / RP_GPU_SCATTER_ITEMS;

    for (p->places = RP_GPU_SCATTER_PLACES;; p->places /= 2) {
        p->ranges = (size + p->places - 1) / p->places;
        if (p->places == 1 || blocks * p->ranges >= BLOCKS_A_MULTIPROCESSOR * multiprocessors)
            return blocks * p->ranges;
    }
}

bool rp_gpu_launch_scatter_add(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args)
{
    const size_t axis = (size_t)RP_AT(args->attr, scatter_add, axis).i;
    const rp_view *out = &args->out[0], *in = &args->in[0], *index = &args->in[1];
    const unsigned along = ((1u << index->rank) - 1) << axis; /* the axes of in that are the index's */
    const rp_view slice_out = rp_view_axes(out, 1u << axis, false), slice_in = rp_view_axes(in, along, false);
    rp_view source = rp_view_axes(in, along, true);
    const rp_view *const slices[] = {&slice_out, &slice_in}, *const indices[] = {index, &source};
    char name[NAME];
    rp_gpu_scatter p;
    u64 blocks;

    source.data = NULL;
    rp_gpu_map_of(&p.items, slices, 2, NULL, kernel);
    rp_gpu_map_of(&p.index, indices, 2, NULL, kernel);
    p.items.wide = index->dtype == RP_I64;
    p.items.own[0] = (i64)out->stride[axis] * (i64)rp_dtype_size(out->dtype);
    p.items.own[1] = (i64)out->shape[axis];
    blocks = cut(&p, out->shape[axis], rp_gpu_multiprocessors(queue));
    (void)snprintf(name, sizeof name, "rp_gpu_scatter_add_%s", rp_dtype_name(out->dtype));
    if (blocks > 0)
        rp_gpu_run(
            queue, name,
            (rp_gpu_grid){.x = (u32)(blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS), .threads = RP_GPU_SCATTER_ITEMS}, &p,
            sizeof p);
    return true;
}
