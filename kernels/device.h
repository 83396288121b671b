/* SPDX-License-Identifier: Apache-2.0
 * Where kernels run. Core's executor knows only this interface: memory on a device, copies and kernel launches put in
 * order on a stream, and waiting for them. The CPU device does everything at once; a GPU adds a table of functions
 * and changes no caller. The device is circumstance: it never decides a bit. */
#ifndef KERNELS_DEVICE_H
#define KERNELS_DEVICE_H

#include "base/pool.h"
#include "kernels/chain.h"

typedef struct rp_device rp_device;
/* A queue of work in order. NULL is every device's default stream. */
typedef struct rp_stream rp_stream;

typedef struct rp_device_ops {
    const char *kind; /* "cpu" */
    void (*free)(rp_device *device);
    rp_status (*allocate)(rp_device *device, void **out, size_t bytes, rp_error *err);
    void (*release)(rp_device *device, void *memory);
    rp_status (*stream_new)(rp_device *device, rp_stream **out, rp_error *err);
    void (*stream_free)(rp_device *device, rp_stream *stream);
    rp_status (*upload)(rp_device *device, void *to, const void *host, size_t bytes, rp_stream *stream, rp_error *err);
    rp_status (*download)(rp_device *device, void *host, const void *from, size_t bytes, rp_stream *stream,
                          rp_error *err);
    rp_status (*launch)(rp_device *device, rp_kernel_id kernel, const rp_kernel_args *args, rp_stream *stream,
                        rp_error *err);
    rp_status (*launch_chain)(rp_device *device, const rp_chain *chain, rp_stream *stream, rp_error *err);
    rp_status (*synchronize)(rp_device *device, rp_stream *stream, rp_error *err);
} rp_device_ops;

/* The CPU with the kernels of a level (as rp_kernel_table_get) on threads >= 1 threads, the caller's included. The
 * caller of launch has entered the floating-point environment (determinism/fpenv.h); the workers do so themselves.
 * Errors: those of the level, RP_EARG for no threads, RP_EFPENV, RP_ENOMEM. */
rp_status rp_device_cpu_new(rp_device **out, const char *level, unsigned threads, rp_error *err);
void rp_device_free(rp_device *device); /* NULL is fine; all its memory has been released */

/* Memory of the device. On the CPU it is ordinary memory, aligned to 64 bytes. */
rp_status rp_device_allocate(rp_device *device, void **out, size_t bytes, rp_error *err);
void rp_device_release(rp_device *device, void *memory); /* NULL is fine */

/* Copies wait for what the stream was given before; host memory stays untouched until the stream is synchronized. */
rp_status rp_device_upload(rp_device *device, void *to, const void *host, size_t bytes, rp_stream *stream,
                           rp_error *err);
rp_status rp_device_download(rp_device *device, void *host, const void *from, size_t bytes, rp_stream *stream,
                             rp_error *err);
/* Runs a kernel over all its items. The views and attributes are read during the call; their data must stay. */
rp_status rp_device_launch(rp_device *device, rp_kernel_id kernel, const rp_kernel_args *args, rp_stream *stream,
                           rp_error *err);
rp_status rp_device_launch_chain(rp_device *device, const rp_chain *chain, rp_stream *stream, rp_error *err);
rp_status rp_device_synchronize(rp_device *device, rp_stream *stream, rp_error *err);

rp_status rp_stream_new(rp_device *device, rp_stream **out, rp_error *err);
void rp_stream_free(rp_device *device, rp_stream *stream); /* NULL is fine; synchronized before */

const char *rp_device_kind(const rp_device *device);
const char *rp_device_level(const rp_device *device); /* "ref", "avx2", ... */
unsigned rp_device_threads(const rp_device *device);
rp_pool *rp_device_pool(const rp_device *device); /* for host work beside kernels, e.g. hashing; may be NULL */

/* The kernel's name, e.g. "add"; NULL outside the enumeration. */
const char *rp_kernel_name(rp_kernel_id kernel);

#endif
