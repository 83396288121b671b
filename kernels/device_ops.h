/* SPDX-License-Identifier: Apache-2.0
 * What a device implements: a table of functions behind kernels/device.h, whose callers' contracts hold here. A device
 * is a file of its own, with a structure that begins with an rp_device. */
#ifndef KERNELS_DEVICE_OPS_H
#define KERNELS_DEVICE_OPS_H

#include "kernels/bags.h"
#include "kernels/chain/epilogue.h"
#include "kernels/chain/prologue.h"
#include "kernels/chain/rows.h"
#include "kernels/dots.h"
#include "kernels/onto.h"

typedef struct rp_device_ops {
    void (*free)(rp_device *device);
    rp_status (*allocate)(rp_device *device, void **out, size_t bytes, rp_error *err);
    void (*release)(rp_device *device, void *memory);
    size_t (*available)(rp_device *device); /* NULL: it does not know */
    rp_status (*pin)(rp_device *device, void **out, size_t bytes, rp_error *err);
    void (*unpin)(rp_device *device, void *host);
    rp_status (*upload)(rp_device *device, void *to, const void *host, size_t bytes, rp_stream *stream, rp_error *err);
    rp_status (*download)(rp_device *device, void *host, const void *from, size_t bytes, rp_stream *stream,
                          rp_error *err);
    rp_status (*download_many)(rp_device *device, void *host, const rp_piece *piece, size_t count, rp_stream *stream,
                               rp_error *err); /* NULL: downloads each; count is above 1 */
    rp_status (*copy)(rp_device *device, void *to, const void *from, size_t bytes, rp_stream *stream, rp_error *err);
    bool (*has)(const rp_device *device, rp_kernel_id kernel, rp_dtype dtype); /* NULL: it has every kernel */
    rp_status (*launch)(rp_device *device, rp_kernel_id kernel, const rp_kernel_args *args, rp_stream *stream,
                        rp_error *err);
    rp_status (*launch_chain)(rp_device *device, const rp_chain *chain, rp_stream *stream, rp_error *err);
    bool (*launch_bags)(rp_device *device, const rp_bags *bags); /* NULL: it has no such way */
    bool (*has_dots)(const rp_device *device);                   /* NULL: it has none */
    void (*launch_dots)(rp_device *device, const rp_dots *dots);
    bool (*has_onto)(const rp_device *device); /* NULL: it has none */
    void (*launch_onto)(rp_device *device, const rp_kernel_args *args);
    bool (*has_epilogue)(const rp_device *device, rp_kernel_id kernel); /* NULL: it has none */
    void (*launch_epilogue)(rp_device *device, rp_kernel_id kernel, const rp_kernel_args *args, const rp_chain *chain);
    void (*launch_rows)(rp_device *device, const rp_rows_call *call); /* NULL: it has none */
    bool (*has_prologue)(const rp_device *device);                    /* NULL: it has none */
    void (*launch_prologue)(rp_device *device, const rp_prologue_call *call);
    rp_status (*check)(rp_device *device, const rp_index_check *check, rp_stream *stream, rp_error *err);
    bool (*fault)(rp_device *device, rp_index_fault *out);
    rp_status (*synchronize)(rp_device *device, rp_stream *stream, rp_error *err);
    rp_status (*stream_new)(rp_device *device, rp_stream **out, rp_error *err);
    void (*stream_free)(rp_device *device, rp_stream *stream);
    rp_status (*event_new)(rp_device *device, rp_event **out, rp_error *err);
    void (*event_free)(rp_device *device, rp_event *event);
    rp_status (*event_record)(rp_device *device, rp_event *event, rp_stream *stream, rp_error *err);
    rp_status (*event_wait)(rp_device *device, rp_event *event, rp_stream *stream, rp_error *err);
    rp_status (*hash)(rp_device *device, unsigned char *digest, const rp_device_message *message, size_t count,
                      rp_stream *stream, rp_error *err); /* NULL: it does not hash; count is above 0 */
    /* NULL, all of them: it does not repeat */
    rp_status (*sequence_begin)(rp_device *device, rp_stream *stream, rp_error *err);
    rp_status (*sequence_end)(rp_device *device, rp_sequence **out, rp_stream *stream, rp_error *err);
    bool (*sequence_current)(const rp_device *device, const rp_sequence *sequence);
    rp_status (*sequence_launch)(rp_device *device, rp_sequence *sequence, rp_stream *stream, rp_error *err);
    void (*sequence_free)(rp_device *device, rp_sequence *sequence);
    /* Sets device->pinned; NULL: the portable profile alone. */
    rp_status (*use_pinned)(rp_device *device, rp_pinned_compute compute, uint64_t workspace, rp_error *err);
} rp_device_ops;

struct rp_device {
    const rp_device_ops *ops;
    const char *kind;
    char identity[96];
    const char *level;
    unsigned threads;
    rp_pool *pool;      /* NULL with one thread */
    bool shares_memory; /* the host may read device memory through rp_device_map: then it is ordinary memory */
    rp_pinned *pinned;  /* NULL: the portable profile */
    size_t conforming;  /* of rp_device_conforming */
};

typedef rp_status rp_device_opener(rp_device **out, const char *level, unsigned threads, rp_error *err);

/* Adds a device to those that rp_device_open knows; the strings and the function stay. Before any other thread uses
 * devices. Errors: RP_EARG when the name is taken or there are too many. */
rp_status rp_device_register(const char *name, rp_device_opener *open, rp_error *err);

#endif
