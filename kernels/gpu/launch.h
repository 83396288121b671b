/* SPDX-License-Identifier: Apache-2.0
 * From a kernel's arguments to launches: what the files launch_*.c share. A queue is a stream of a device with what is
 * needed to launch on it; its first failure is kept, and nothing is launched after it. */
#ifndef KERNELS_GPU_LAUNCH_H
#define KERNELS_GPU_LAUNCH_H

#include "kernels/chain.h"
#include "kernels/device.h"
#include "kernels/gpu/driver.h"

typedef struct rp_gpu_device rp_gpu_device;

typedef struct rp_gpu_queue {
    rp_gpu_device *device;
    rp_stream *stream;
    rp_status status;    /* RP_OK, or what went wrong first */
    rp_error *err;       /* with its text; may be NULL */
    uint64_t first, end; /* the elements of elementwise kernels that are computed; 0, 0: all */
    bool alone;          /* no other thread launches until the queue is ended */
} rp_gpu_queue;

typedef struct rp_gpu_grid {
    uint32_t x, y, z;         /* blocks; 0 is 1 */
    unsigned threads, shared; /* of a block; bytes of shared memory asked for */
} rp_gpu_grid;

/* Launches kernel `name` of the fat binaries with its one parameter, a structure that begins with an rp_gpu_head, which
 * is filled in here. */
void rp_gpu_run(rp_gpu_queue *queue, const char *name, rp_gpu_grid grid, void *parameter, size_t size);
/* Memory of the device for what is launched next on this queue: valid until it is asked for again. NULL when there is
 * none; queue->status says so. */
void *rp_gpu_workspace(rp_gpu_queue *queue, size_t bytes);
unsigned rp_gpu_multiprocessors(const rp_gpu_queue *queue);
size_t rp_gpu_shared_memory(const rp_gpu_queue *queue); /* bytes that a block may ask for */

/* Launches what computes a kernel's outputs. false: this way does not take these arguments, and nothing was launched.
 */
typedef bool rp_gpu_launcher(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args);

/* The ways of a kernel, the fastest first; the last takes everything. All NULL: the device does not have the kernel. */
enum { RP_GPU_WAYS = 3 };

typedef struct rp_gpu_row {
    rp_gpu_launcher *way[RP_GPU_WAYS];
} rp_gpu_row;

extern const rp_gpu_row rp_gpu_table[RP_K_COUNT];

/* The first of its ways that takes the arguments. */
void rp_gpu_compute(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args);

/* launch_map.c: elementwise kernels by rp_gpu_NAME_TYPE, and their parameters for other launchers. */
typedef struct rp_gpu_map rp_gpu_map;
void rp_gpu_map_of(rp_gpu_map *map, const rp_view *const *views, size_t n_views, const rp_attr *attr,
                   rp_kernel_id kernel);
/* The type whose copies and choices carry elements of this one: of its size. */
const char *rp_gpu_carrier(rp_dtype dtype);
void rp_gpu_run_map(rp_gpu_queue *queue, const char *name, rp_gpu_map *map);
rp_gpu_launcher rp_gpu_launch_map, rp_gpu_launch_cast, rp_gpu_launch_bitcast, rp_gpu_launch_where, rp_gpu_launch_random,
    rp_gpu_launch_optimizer;
/* launch_move.c */
rp_gpu_launcher rp_gpu_launch_copy, rp_gpu_launch_fill, rp_gpu_launch_iota, rp_gpu_launch_concat, rp_gpu_launch_pad,
    rp_gpu_launch_gather, rp_gpu_launch_one_hot, rp_gpu_launch_take_along;
/* pinned/products.c: by a library, where the device is in the pinned profile and the product of its kind */
rp_gpu_launcher rp_gpu_launch_pinned;
/* launch_reference.c: any kernel by rp_gpu_ref_NAME */
rp_gpu_launcher rp_gpu_launch_reference;

#endif
