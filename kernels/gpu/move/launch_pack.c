/* SPDX-License-Identifier: Apache-2.0
 * Many small downloads as one: a driver takes some 5 us to be asked for a copy, whatever its size, and a step's record
 * wants as many as there are states. A launch puts them together in the stream's workspace, in the order of the host's
 * block, and one copy takes that there. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/gpu/device_gpu.h"
#include "kernels/gpu/move/move_args.h"

enum { PART = 16 << 10, PARTS = 64 /* bytes of a piece for a block, and blocks that share one at most */ };

_Static_assert(sizeof(rp_piece) == sizeof(rp_gpu_piece) && offsetof(rp_piece, size) == offsetof(rp_gpu_piece, size) &&
                   offsetof(rp_piece, at) == offsetof(rp_gpu_piece, at),
               "the table is taken as it is");
_Static_assert(sizeof(rp_gpu_packing) <= 4096, "what a launch may have as parameters");

static void pack(rp_gpu_queue *queue, unsigned char *work, const rp_piece *piece, size_t count)
{
    rp_gpu_packing p;
    size_t longest = 0, parts;

    memset(&p, 0, sizeof p);
    p.to = work;
    memcpy(p.piece, piece, count * sizeof *piece);
    for (size_t i = 0; i < count; i++)
        longest = piece[i].size > longest ? piece[i].size : longest;
    parts = (longest + PART - 1) / PART;
    rp_gpu_run(queue, "rp_gpu_pack",
               (rp_gpu_grid){
                   .x = (uint32_t)count, .y = (uint32_t)(parts < PARTS ? parts : PARTS), .threads = RP_GPU_PACK_BLOCK},
               &p, sizeof p);
}

rp_status rp_gpu_download_many(rp_device *device, void *host, const rp_piece *piece, size_t count, rp_stream *stream,
                               rp_error *err)
{
    rp_gpu_device *d = (rp_gpu_device *)device;
    rp_gpu_queue queue = stream != NULL ? rp_gpu_queue_beside(d, stream, err) : rp_gpu_queue_of(d, NULL, err);
    size_t bytes = 0;
    unsigned char *work;

    for (size_t i = 0; i < count; i++)
        bytes = (size_t)piece[i].at + piece[i].size > bytes ? (size_t)piece[i].at + piece[i].size : bytes;
    work = rp_gpu_workspace(&queue, bytes);
    for (size_t i = 0; i < count && queue.status == RP_OK; i += RP_GPU_PACKED)
        pack(&queue, work, piece + i, count - i < RP_GPU_PACKED ? count - i : RP_GPU_PACKED);
    if (queue.status == RP_OK)
        queue.status = rp_gpu_download(device, host, work, bytes, stream, err);
    return rp_gpu_queue_end(&queue) == RP_OK
               ? RP_OK
               : rp_fail_at(err, queue.status, "copies from %zu places of device %s", count, device->kind);
}
