/* SPDX-License-Identifier: Apache-2.0
 * How an optimizer goes over its operands: runs of a walk, each by one of two loops. For the templates. */
#ifndef KERNELS_REF_OPTIMIZER_MAPS_H
#define KERNELS_REF_OPTIMIZER_MAPS_H

#include "kernels/walk.h"

/* One run of a walk, whose views all have steps of 1 (even) or not. */
typedef void optimizer_map(const rp_walk *walk, const rp_kernel_args *args);
typedef struct optimizer_maps {
    optimizer_map *even, *uneven;
} optimizer_maps;

static bool unit_steps(const rp_walk *walk)
{
    for (size_t v = 0; v < walk->n_views; v++)
        if (walk->step[v] != 1)
            return false;
    return true;
}

static void walk_optimizer(const rp_kernel_args *args, size_t n_in, size_t begin, size_t end, optimizer_maps maps)
{
    rp_walk walk;

    rp_walk_args(&walk, args, n_in, begin, end);
    while (rp_walk_next(&walk))
        (unit_steps(&walk) ? maps.even : maps.uneven)(&walk, args);
}

#endif
