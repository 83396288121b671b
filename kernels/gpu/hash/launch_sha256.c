/* SPDX-License-Identifier: Apache-2.0
 * Hashing on a GPU: the table of messages goes there, 16 bytes each, and their digests come back. Both lie in the
 * stream's workspace, so hashes on one stream follow each other. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/gpu/device_gpu.h"
#include "kernels/gpu/hash/sha256_args.h"

_Static_assert(sizeof(rp_device_message) == sizeof(rp_gpu_message) &&
                   offsetof(rp_device_message, size) == offsetof(rp_gpu_message, size) &&
                   offsetof(rp_device_message, prefix) == offsetof(rp_gpu_message, prefix) &&
                   offsetof(rp_device_message, dtype) == offsetof(rp_gpu_message, dtype),
               "the table is read as it is");

rp_status rp_gpu_hash(rp_device *device, unsigned char *digest, const rp_device_message *message, size_t count,
                      rp_stream *stream, rp_error *err)
{
    rp_gpu_device *d = (rp_gpu_device *)device;
    rp_gpu_queue queue = stream != NULL ? rp_gpu_queue_beside(d, stream, err) : rp_gpu_queue_of(d, NULL, err);
    const size_t digests = count * RP_GPU_DIGEST, table = count * sizeof *message;
    const rp_gpu_grid grid = {.x = (uint32_t)((count + RP_GPU_HASH_BLOCK - 1) / RP_GPU_HASH_BLOCK),
                              .threads = RP_GPU_HASH_BLOCK};
    unsigned char *work = rp_gpu_workspace(&queue, digests + table);
    rp_gpu_sha256_args p;

    memset(&p, 0, sizeof p);
    p.digest = work;
    p.count = count;
    if (queue.status == RP_OK) {
        p.message = (const rp_gpu_message *)(const void *)(work + digests);
        queue.status = rp_gpu_upload(device, work + digests, message, table, stream, err);
    }
    rp_gpu_run(&queue, "rp_gpu_sha256", grid, &p, sizeof p);
    if (queue.status == RP_OK)
        queue.status = rp_gpu_download(device, digest, work, digests, stream, err);
    return rp_gpu_queue_end(&queue) == RP_OK
               ? RP_OK
               : rp_fail_at(err, queue.status, "SHA-256 of %zu messages on device %s", count, device->kind);
}
