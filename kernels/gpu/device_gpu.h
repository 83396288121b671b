/* SPDX-License-Identifier: Apache-2.0
 * A device behind the CUDA driver, as its files share it. All that runs on its own stream or on others goes through
 * queues; the first failure of anything that was launched is kept, and told by every call after it. */
#ifndef KERNELS_GPU_DEVICE_GPU_H
#define KERNELS_GPU_DEVICE_GPU_H

#include <pthread.h>
#include <stdatomic.h>

#include "kernels/device_ops.h"
#include "kernels/gpu/args.h"
#include "kernels/gpu/launch.h"

enum { RP_GPU_STAGES = 4, RP_GPU_STAGE = 1 << 20, RP_GPU_FUNCTIONS = 1024, RP_GPU_MODULES = 32, RP_GPU_GIVEN = 1024 };

struct rp_stream {
    rp_cu_stream handle;
    rp_stream *next; /* of the device's */
    void *workspace;
    size_t workspace_bytes;
    bool captured; /* launches are noted for a sequence: the driver then neither waits nor gives memory */
    bool repeats;  /* there are, or were, sequences with its workspace's address */
};

struct rp_event {
    rp_cu_event handle;
};

/* Captured launches. */
struct rp_sequence {
    rp_cu_graph_exec exec;
    uint64_t moves; /* of the device when it was captured */
    bool checks;    /* indices */
};

/* Pinned memory in which an upload's bytes wait; used again when the copy out of it has happened. */
typedef struct rp_gpu_stage {
    char *host;
    rp_cu_event copied;
    bool used;
} rp_gpu_stage;

/* Memory that was given back, for the next that wants as much; and what is given out, to know its size. */
typedef struct rp_gpu_block {
    struct rp_gpu_block *next;
    rp_cu_pointer memory;
    size_t bytes;
} rp_gpu_block;

struct rp_gpu_device {
    rp_device base;
    rp_driver *driver;
    int ordinal, device; /* as asked for, and as the driver has it */
    rp_cu_context context;
    int multiprocessors, shared_memory;
    rp_stream main;
    pthread_mutex_t lock;                     /* of what follows: copies come from other threads too */
    rp_stream *streams;                       /* but for main */
    rp_gpu_block *given[RP_GPU_GIVEN], *kept; /* given: by a digest of the address */
    size_t kept_bytes;
    rp_gpu_stage stage[RP_GPU_STAGES];
    size_t next_stage;
    bool busy;                           /* something was put on a stream since all were waited for */
    pthread_mutex_t breaking;            /* of broken while it is written; taken under `lock` too */
    rp_error broken;                     /* with a status other than RP_OK: what went wrong first */
    atomic_bool is_broken;               /* broken is written, and stays so */
    rp_cu_module module[RP_GPU_MODULES]; /* of each image; NULL: none of its kernels was launched yet */
    struct {
        char *name; /* NULL: free */
        rp_cu_function handle;
        unsigned shared;          /* bytes of shared memory that it may ask for so far */
    } function[RP_GPU_FUNCTIONS]; /* by a digest of the name */
    rp_gpu_fault *fault_mirror;   /* pinned; what synchronizing has read */
    rp_cu_pointer fault;          /* an rp_gpu_fault */
    struct rp_cublaslt *cublaslt; /* of the pinned profile; else NULL */
    atomic_bool checked;          /* a check was launched since fault was read */
    bool checked_before;          /* the capture that is going on */
    atomic_uint_fast64_t moves;   /* of workspaces: what was captured with their addresses is gone */
    atomic_bool launching;        /* a thread does: rp_gpu_enter_alone */
};

/* Enters the device's context on this thread. Errors: what broke it before. */
rp_status rp_gpu_enter(rp_gpu_device *d, rp_error *err);
/* The same for whoever launches, until the other: launches are one thread's at a time, and what a device has without a
 * lock belongs to it. Errors: RP_EARG for another that comes meanwhile, whose launch does not happen. */
rp_status rp_gpu_enter_alone(rp_gpu_device *d, rp_error *err);
void rp_gpu_leave_alone(rp_gpu_device *d);
/* From now on every call tells this error. What several threads may come to tell at once, and others read: the first
 * stays, and is whole before it is seen. */
void rp_gpu_break(rp_gpu_device *device, const rp_error *why);
/* As rp_driver_result; what is not out of memory breaks the device. */
rp_status rp_gpu_result(rp_gpu_device *d, int result, const char *call, rp_error *err);
/* The same for a kernel: its name stands in the error, and in what every later call tells. */
rp_status rp_gpu_result_of(rp_gpu_device *d, int result, const char *call, const char *kernel, rp_error *err);
rp_cu_stream rp_gpu_handle(rp_gpu_device *d, rp_stream *stream);
/* Marks that something is on a stream. */
void rp_gpu_busy(rp_gpu_device *d);
/* Waits for all streams, if anything is on them. */
rp_status rp_gpu_settle(rp_gpu_device *d, rp_error *err);

/* Of device_memory.c. */
rp_status rp_gpu_allocate(rp_device *device, void **out, size_t bytes, rp_error *err);
void rp_gpu_release(rp_device *device, void *memory);
size_t rp_gpu_available(rp_device *device);
rp_status rp_gpu_pin(rp_device *device, void **out, size_t bytes, rp_error *err);
void rp_gpu_unpin(rp_device *device, void *host);
rp_status rp_gpu_upload(rp_device *device, void *to, const void *host, size_t bytes, rp_stream *stream, rp_error *err);
rp_status rp_gpu_download(rp_device *device, void *host, const void *from, size_t bytes, rp_stream *stream,
                          rp_error *err);
rp_status rp_gpu_copy(rp_device *device, void *to, const void *from, size_t bytes, rp_stream *stream, rp_error *err);
/* Memory of the driver's: its result. What is kept for later goes back where there is none left. */
int rp_gpu_memory_new(rp_gpu_device *d, rp_cu_pointer *out, size_t bytes);
/* As rp_gpu_result of that call; where there is too little, with how much there is. */
rp_status rp_gpu_memory_result(rp_gpu_device *d, int result, size_t bytes, rp_error *err);
void rp_gpu_memory_drop(rp_gpu_device *d);    /* what is kept for later */
void rp_gpu_memory_reclaim(rp_gpu_device *d); /* what nobody released */
void rp_gpu_stages_free(rp_gpu_device *d);

/* Of queue.c, sequence.c and table.c. */
rp_status rp_gpu_launch(rp_device *device, rp_kernel_id kernel, const rp_kernel_args *args, rp_stream *stream,
                        rp_error *err);
rp_status rp_gpu_sequence_begin(rp_device *device, rp_stream *stream, rp_error *err);
rp_status rp_gpu_sequence_end(rp_device *device, rp_sequence **out, rp_stream *stream, rp_error *err);
bool rp_gpu_sequence_current(const rp_device *device, const rp_sequence *sequence);
rp_status rp_gpu_sequence_launch(rp_device *device, rp_sequence *sequence, rp_stream *stream, rp_error *err);
void rp_gpu_sequence_free(rp_device *device, rp_sequence *sequence);
/* A queue enters the device alone, and leaves it when it is ended. */
rp_gpu_queue rp_gpu_queue_of(rp_gpu_device *d, rp_stream *stream, rp_error *err);
/* One on a stream that is the caller's own, beside a thread that launches: for what uses nothing that has no lock. */
rp_gpu_queue rp_gpu_queue_beside(rp_gpu_device *d, rp_stream *stream, rp_error *err);
rp_status rp_gpu_queue_end(rp_gpu_queue *queue); /* its status */
bool rp_gpu_has(const rp_device *device, rp_kernel_id kernel, rp_dtype dtype);

/* Of move/launch_pack.c. */
rp_status rp_gpu_download_many(rp_device *device, void *host, const rp_piece *piece, size_t count, rp_stream *stream,
                               rp_error *err);

/* Of hash/launch_sha256.c. */
rp_status rp_gpu_hash(rp_device *device, unsigned char *digest, const rp_device_message *message, size_t count,
                      rp_stream *stream, rp_error *err);

/* Of pinned/profile.c. */
rp_status rp_gpu_use_pinned(rp_device *device, rp_pinned_compute compute, uint64_t workspace, rp_error *err);

/* Of index_check.c and chain/launch_chain.c. */
rp_status rp_gpu_clear_fault(rp_gpu_device *d, rp_error *err);
rp_status rp_gpu_check(rp_device *device, const rp_index_check *check, rp_stream *stream, rp_error *err);
bool rp_gpu_faulted(rp_device *device, rp_index_fault *out);
rp_status rp_gpu_launch_chain(rp_device *device, const rp_chain *chain, rp_stream *stream, rp_error *err);

#endif
