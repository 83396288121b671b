/* SPDX-License-Identifier: Apache-2.0
 * Where kernels run, for those who have work done there: memory that the host may not touch, copies and launches put in
 * order on streams, and waiting for them. Whatever is put on a stream may happen as late as rp_device_synchronize. A
 * device is chosen by name; what one implements is in kernels/device_ops.h. It is circumstance: it never decides a bit.
 */
#ifndef KERNELS_DEVICE_H
#define KERNELS_DEVICE_H

#include "base/piece.h"
#include "base/pool.h"
#include "kernels/chain.h"
#include "kernels/pinned/pinned.h"

typedef struct rp_device rp_device;
/* A queue of work in order. NULL is every device's default stream. */
typedef struct rp_stream rp_stream;
/* A place in a stream. */
typedef struct rp_event rp_event;

/* The device of a name (NULL or "": "cpu") with the kernels of a level (as rp_kernel_table_get) and threads >= 1
 * threads for what runs on the host, the caller's included. One device belongs to one thread at a time, but for copies
 * and hashes on a stream of their own; a GPU tells a second thread that launches meanwhile (RP_EARG). Errors:
 * RP_EUNSUPPORTED for a name that this build does not have, or what this host cannot do; RP_EARG for no threads or an
 * unknown level; RP_EFPENV; RP_ENOMEM. */
rp_status rp_device_open(rp_device **out, const char *name, const char *level, unsigned threads, rp_error *err);
/* The names that rp_device_open knows: the first is "cpu"; NULL beyond the last. Behind "cuda" and "emulated" may stand
 * which of several is meant: "cuda:1". */
const char *rp_device_name(size_t i);
bool rp_device_known(const char *name); /* as one of them; whether it is there only opening tells */
rp_status rp_device_cpu_new(rp_device **out, const char *level, unsigned threads, rp_error *err);
void rp_device_free(rp_device *device); /* NULL is fine; all its memory has been released */

const char *rp_device_kind(const rp_device *device);     /* its name: "cpu" */
const char *rp_device_identity(const rp_device *device); /* what computes: "cpu-avx2"; a GPU adds chip and driver */
const char *rp_device_level(const rp_device *device);    /* "ref", "avx2", ... */
unsigned rp_device_threads(const rp_device *device);
rp_pool *rp_device_pool(const rp_device *device); /* for host work beside kernels, e.g. hashing; may be NULL */

/* Memory of the device, aligned to 64 bytes. The host reads and writes it by the copies below, and by nothing else. */
rp_status rp_device_allocate(rp_device *device, void **out, size_t bytes, rp_error *err);
/* Bytes that it would give now, as far as it knows; SIZE_MAX: it does not. Others may be faster. */
size_t rp_device_available(rp_device *device);
/* That it would give so many bytes for `what`, e.g. "the weights take". Errors: RP_ENOMEM, with both figures. */
rp_status rp_device_room(rp_device *device, size_t bytes, const char *what, rp_error *err);
/* NULL is fine. Waits for what was put on streams before. */
void rp_device_release(rp_device *device, void *memory);
/* Memory of the host from which and to which copies are fastest. */
rp_status rp_device_pin(rp_device *device, void **out, size_t bytes, rp_error *err);
void rp_device_unpin(rp_device *device, void *host); /* NULL is fine */

/* Copies wait for what the stream was given before. What an upload reads may be changed when it returns; what a
 * download writes is there when the stream is synchronized. */
rp_status rp_device_upload(rp_device *device, void *to, const void *host, size_t bytes, rp_stream *stream,
                           rp_error *err);
rp_status rp_device_download(rp_device *device, void *host, const void *from, size_t bytes, rp_stream *stream,
                             rp_error *err);
/* Downloads from many places into one block of the host, at most 2^31 bytes, each to a multiple of 16 there; what lies
 * between them may change too. One copy, where the device can put them together itself. The list may be changed when
 * this returns. */
rp_status rp_device_download_many(rp_device *device, void *host, const rp_piece *piece, size_t count, rp_stream *stream,
                                  rp_error *err);
rp_status rp_device_copy(rp_device *device, void *to, const void *from, size_t bytes, rp_stream *stream, rp_error *err);
/* A download that was waited for. */
rp_status rp_device_read(rp_device *device, void *host, const void *from, size_t bytes, rp_stream *stream,
                         rp_error *err);

/* The bytes of device memory for the host to read, as they are when all work on the default stream is done: the memory
 * itself where the host shares it, else a copy. */
typedef struct rp_mapping {
    const void *bytes;
    void *copy; /* NULL: the memory itself */
} rp_mapping;

rp_status rp_device_map(rp_device *device, rp_mapping *out, const void *memory, size_t bytes, rp_error *err);
void rp_device_unmap(rp_device *device, rp_mapping *mapping); /* a mapping of zeros is fine */
/* Whether mapping copies nothing. */
bool rp_device_shares_memory(const rp_device *device);

/* How many vectors' kernels were found to have the reference's bits here since the device was opened; 0: it was not
 * tested, or failed. Freeing a GPU that has passed closes nothing: it waits for whoever opens the same next, and is
 * still tested then. One that broke is closed, and the next is opened anew. */
size_t rp_device_conforming(const rp_device *device);
void rp_device_set_conforming(rp_device *device, size_t vectors);

/* Whether the device has a kernel for elements of that type. What it lacks it does not launch either. */
bool rp_device_has(const rp_device *device, rp_kernel_id kernel, rp_dtype dtype);
bool rp_device_has_all(const rp_device *device); /* every kernel there is: nobody has to ask */
/* Runs a kernel over all its items. The views are read during the call; attributes and memory stay until the stream is
 * synchronized. */
rp_status rp_device_launch(rp_device *device, rp_kernel_id kernel, const rp_kernel_args *args, rp_stream *stream,
                           rp_error *err);
rp_status rp_device_launch_chain(rp_device *device, const rp_chain *chain, rp_stream *stream, rp_error *err);

/* Kernels cannot fail: that all indices are below a bound is looked at by a launch of its own, before. The first one
 * that is not is kept, and nothing that was launched after it is executed (copies are) until rp_device_fault has told
 * of it: no kernel ever follows a wrong index. */
typedef struct rp_index_check {
    rp_view index; /* of i32 or i64 */
    uint64_t bound;
    size_t where; /* the caller's own: which instruction this is for */
} rp_index_check;

typedef struct rp_index_fault {
    size_t where;
    uint64_t element; /* the first in row-major order, whatever the number of threads */
    int64_t value;
    uint64_t bound;
} rp_index_fault;

rp_status rp_device_check(rp_device *device, const rp_index_check *check, rp_stream *stream, rp_error *err);
/* When the streams are synchronized: whether there was a fault, which is forgotten. */
bool rp_device_fault(rp_device *device, rp_index_fault *out);

/* Work that is put on a stream as a whole, again and again: what is launched between begin and end is noted instead of
 * done, with the addresses and attributes that it has then; attributes stay as long as the sequence. Of devices that
 * say so. end: always after begin, whatever became of the launches; a sequence comes out when all is well. */
typedef struct rp_sequence rp_sequence;
bool rp_device_repeats(const rp_device *device);
rp_status rp_sequence_begin(rp_device *device, rp_stream *stream, rp_error *err);
rp_status rp_sequence_end(rp_device *device, rp_sequence **out, rp_stream *stream, rp_error *err);
/* Whether it still is what would be launched now: memory of the device's own may have moved. */
bool rp_sequence_current(const rp_device *device, const rp_sequence *sequence);
rp_status rp_sequence_launch(rp_device *device, rp_sequence *sequence, rp_stream *stream, rp_error *err);
void rp_sequence_free(rp_device *device, rp_sequence *sequence); /* NULL is fine */

/* SHA-256 (FIPS 180-4) of messages in the device's memory, by the device itself, a thread each: only digests leave it.
 * Of devices that say so. A message is its prefix, a byte (below 0: none), and the stored form of elements. */
typedef struct rp_device_message {
    const void *bytes;
    uint32_t size; /* below 2^31 */
    int16_t prefix;
    uint16_t dtype; /* an rp_dtype; RP_I32: the bytes as they are */
} rp_device_message;

bool rp_device_hashes(const rp_device *device);
/* digest: 32 bytes a message, of the host, there when the stream is synchronized. message may be changed when this
 * returns. As copies are: done after a wrong index too, and on a stream of its own from another thread. */
rp_status rp_device_hash(rp_device *device, unsigned char *digest, const rp_device_message *message, size_t count,
                         rp_stream *stream, rp_error *err);

/* Waits for a stream; its failures are told here at the latest. */
rp_status rp_device_synchronize(rp_device *device, rp_stream *stream, rp_error *err);
rp_status rp_stream_new(rp_device *device, rp_stream **out, rp_error *err);
void rp_stream_free(rp_device *device, rp_stream *stream); /* NULL is fine; synchronized before */
/* Notes the place after all that the stream was given so far; another stream then waits for that place. */
rp_status rp_event_new(rp_device *device, rp_event **out, rp_error *err);
void rp_event_free(rp_device *device, rp_event *event); /* NULL is fine */
rp_status rp_event_record(rp_device *device, rp_event *event, rp_stream *stream, rp_error *err);
rp_status rp_event_wait(rp_device *device, rp_event *event, rp_stream *stream, rp_error *err);

/* The pinned profile: */
/* From now on, before the first launch. Errors: RP_EUNSUPPORTED for a device without such a library, a host where it is
 * not installed, or a variable of the environment that would change what it computes; the text says the way out. */
rp_status rp_device_use_pinned(rp_device *device, rp_pinned_compute compute, uint64_t workspace, rp_error *err);
/* NULL: the portable profile. Borrowed until the device is used again. */
const rp_pinned *rp_device_pinned(const rp_device *device);
/* Gives the device another profile and returns the one that it was in; NULL is the portable one. For a while alone, as
 * the conformance vectors do: they are about the contract's kernels, and no product of theirs is the run's. */
rp_pinned *rp_device_exchange_pinned(rp_device *device, rp_pinned *pinned);
/* Another run's products, copied, in order: a shape that is not among them is RP_EBITS, an algorithm that the library
 * itself does not propose for its shape RP_EUNSUPPORTED, before either is computed. */
rp_status rp_device_expect_products(rp_device *device, const rp_pinned_product *product, size_t count, rp_error *err);

#endif
