/* SPDX-License-Identifier: Apache-2.0
 * Which tile, and whether chunks of k go to blocks of their own, by a model of the chip: its busiest multiprocessor has
 * a block more than others, a block alone is slower than its share of several, and chunks apart are written and read
 * once more. Only speed depends on it. */
#include "kernels/gpu/matmul/launch_matmul.h"
#include "kernels/ref/matmul.h"

/* Multiply-adds and bytes that a multiprocessor does in a cycle; cycles of one launch more; the room of chunks. */
enum { LANES = 128, BYTES = 12, LAUNCH = 6000, MOST_CHUNKS = 65535, ROOM = 256 << 20 };

static uint64_t parts_of(uint64_t length, uint64_t of)
{
    return (length + of - 1) / of;
}

/* Of tiles with k steps, in blocks of `length` and what is left, which come last. The busiest multiprocessor goes
 * through its blocks as many at a time as it holds. */
static uint64_t cycles_of(const rp_gpu_tile_speed *speed, uint64_t chip, uint64_t tiles, uint64_t k, uint64_t length)
{
    const uint64_t even = parts_of(tiles * k, chip), uneven = parts_of(tiles * (k / length), chip) * length;
    const uint64_t busy = even > uneven ? even : uneven, last = busy % (speed->resident * length);
    const uint64_t step = 100 * (uint64_t)(speed->rows * speed->columns / LANES), shared = busy * step / speed->full;
    const uint64_t whole = (busy - last) * step / speed->full;
    const uint64_t alone = whole + (last < length ? last : length) * step / speed->alone;

    return shared > alone ? shared : alone;
}

rp_gpu_tiling rp_gpu_tiling_of(const rp_gpu_queue *queue, const rp_gpu_tile_speed *speed, const rp_gpu_tiled_product *p,
                               size_t size)
{
    const uint64_t chip = rp_gpu_multiprocessors(queue), chunks = parts_of(p->k, RP_MATMUL_CHUNK);
    const uint64_t tiles = parts_of(p->m, speed->rows) * parts_of(p->n, speed->columns) * p->count;
    const uint64_t bytes = (uint64_t)p->count * p->m * p->n * size, k = p->k > 0 ? p->k : 1;
    const uint64_t whole = cycles_of(speed, chip, tiles, k, k);
    uint64_t apart = UINT64_MAX;

    if (chunks > 1 && chunks <= MOST_CHUNKS && bytes <= ROOM / chunks)
        apart = cycles_of(speed, chip, tiles, k, RP_MATMUL_CHUNK) + LAUNCH + 2 * chunks * bytes / (chip * BYTES);
    return apart < whole ? (rp_gpu_tiling){(size_t)tiles, (size_t)chunks, apart}
                         : (rp_gpu_tiling){(size_t)tiles, 1, whole};
}
