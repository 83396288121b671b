/* SPDX-License-Identifier: Apache-2.0
 * Copies from view to view on a GPU: in the widest elements that both views are made of, in tiles where the views'
 * neighbours lie along different axes, else an element at a time. */
#include "kernels/gpu/move/launch_copy.h"

#include <stdio.h>
#include <string.h>

#include "kernels/gpu/move/move_args.h"

enum { NAME = 64, MOST_BLOCKS = 1 << 30, SHORT = 16 /* an axis that is not worth tiles */ };

/* Whether neighbours along the last axis are so in both views, and all lies in multiples of `wide` bytes. */
static bool made_of(const rp_gpu_map *map, size_t size, size_t wide)
{
    const int last = map->rank - 1;
    bool fits = map->shape[last] * size % wide == 0;

    for (int v = 0; v < 2; v++) {
        fits = fits && map->bytes[v][last] == (i64)size && (uintptr_t)map->at[v] % wide == 0;
        for (int d = 0; d < last; d++)
            fits = fits && map->bytes[v][d] % (i64)wide == 0;
    }
    return fits;
}

static bool copy_wide(rp_gpu_queue *queue, rp_gpu_map *map, size_t size)
{
    static const char *const kernels[] = {"rp_gpu_copy_16_bytes", "rp_gpu_copy_i64", "rp_gpu_copy_i32"};
    const int last = map->rank - 1;
    size_t wide = 16;

    for (int i = 0; wide > size; wide /= 2, i++) {
        if (wide < 4 || !made_of(map, size, wide))
            continue;
        map->shape[last] /= wide / size;
        map->count /= wide / size;
        map->bytes[0][last] = map->bytes[1][last] = (i64)wide;
        rp_gpu_run_map(queue, kernels[i], map);
        return true;
    }
    return false;
}

/* The axis along which the view's elements are neighbours; -1: none. */
static int neighbours(const rp_gpu_map *map, int view, size_t size)
{
    for (int d = 0; d < map->rank; d++)
        if (map->bytes[view][d] == (i64)size && map->shape[d] >= SHORT)
            return d;
    return -1;
}

static u64 tiles_of(u64 length)
{
    return (length + RP_GPU_TRANSPOSE_SIDE - 1) / RP_GPU_TRANSPOSE_SIDE;
}

static bool copy_tiles(rp_gpu_queue *queue, const rp_gpu_map *map, size_t size)
{
    const int a = neighbours(map, 0, size), b = neighbours(map, 1, size);
    rp_gpu_transpose p = {.outer = {.at = {map->at[0], map->at[1]}, .count = 1}};
    char name[NAME];

    if (size < 2 || a < 0 || b < 0 || a == b)
        return false;
    p.a = map->shape[a], p.b = map->shape[b];
    p.from_a = map->bytes[1][a], p.to_b = map->bytes[0][b];
    p.tiles_a = tiles_of(p.a), p.tiles_b = tiles_of(p.b);
    for (int d = 0; d < map->rank; d++) {
        if (d == a || d == b)
            continue;
        p.outer.shape[p.outer.rank] = map->shape[d];
        p.outer.bytes[0][p.outer.rank] = map->bytes[0][d];
        p.outer.bytes[1][p.outer.rank++] = map->bytes[1][d];
        p.outer.count *= map->shape[d];
    }
    p.tiles = p.tiles_a * p.tiles_b * p.outer.count;
    (void)snprintf(name, sizeof name, "rp_gpu_transpose_%zu", 8 * size);
    rp_gpu_run(queue, name, (rp_gpu_grid){.x = (u32)(p.tiles < MOST_BLOCKS ? p.tiles : MOST_BLOCKS), .threads = 256},
               &p, sizeof p);
    return true;
}

void rp_gpu_copy_view(rp_gpu_queue *queue, const rp_view *to, const rp_view *from)
{
    const rp_view *const views[] = {to, from};
    const size_t size = rp_dtype_size(to->dtype);
    char name[NAME];
    rp_gpu_map map;

    rp_gpu_map_of(&map, views, 2, NULL, RP_K_copy);
    if (map.count == 0)
        return;
    if (queue->end == 0 && /* pieces of a copy are counted in its own elements */
        (copy_wide(queue, &map, size) || copy_tiles(queue, &map, size)))
        return;
    (void)snprintf(name, sizeof name, "rp_gpu_copy_%s", rp_gpu_carrier(to->dtype));
    rp_gpu_run_map(queue, name, &map);
}
