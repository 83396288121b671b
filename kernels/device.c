/* SPDX-License-Identifier: Apache-2.0
 * The callers' side of devices: choosing one by its name, and calls through its table. */
#include "kernels/device.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "kernels/device_ops.h"
#include "kernels/gpu/device_cuda.h"
#include "kernels/walk.h"

enum {
    DEVICES_MAX = 8,
    ROOM_UNASKED = 16 << 20 /* asking takes as long as filling this */
};

/* The library's own, and those that were added. */
static const char *const own[] = {"cpu", "cuda", "emulated"};
enum { OWN = sizeof own / sizeof *own };
static struct {
    const char *name;
    rp_device_opener *open;
} added[DEVICES_MAX];

static bool is_own(const char *name)
{
    size_t i = 0;

    while (i < OWN && strcmp(own[i], name) != 0)
        i++;
    return i < OWN;
}

rp_status rp_device_register(const char *name, rp_device_opener *open, rp_error *err)
{
    size_t i = 0;

    while (i < DEVICES_MAX && added[i].name != NULL && strcmp(added[i].name, name) != 0)
        i++;
    if (i == DEVICES_MAX)
        return rp_fail(err, RP_EARG, "device %s: more than %d devices", name, DEVICES_MAX);
    if (added[i].name != NULL || is_own(name))
        return rp_fail(err, RP_EARG, "device %s: the name is taken", name);
    added[i].name = name;
    added[i].open = open;
    return RP_OK;
}

const char *rp_device_name(size_t i)
{
    return i < OWN ? own[i] : i - OWN < DEVICES_MAX ? added[i - OWN].name : NULL;
}

/* What there is, for whoever asked for something else. */
static rp_status no_such_device(const char *name, rp_error *err)
{
    char known[256];
    size_t used = 0;

    for (size_t i = 0; rp_device_name(i) != NULL && used < sizeof known; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i > 0 ? ", " : "", rp_device_name(i));
    return rp_fail(err, RP_EUNSUPPORTED, "device: expected one of this build's (%s), found %.64s", known, name);
}

/* Whether the name is that of `kind`, alone or followed by which: "cuda:1". Negative: it is not. */
static int ordinal_of(const char *name, const char *kind)
{
    const size_t length = strlen(kind);
    int ordinal = 0;

    if (strncmp(name, kind, length) != 0)
        return -1;
    if (name[length] == '\0')
        return 0;
    if (name[length] != ':' || name[length + 1] == '\0' || strlen(name + length) > 4)
        return -1;
    for (const char *c = name + length + 1; *c; c++) {
        if (*c < '0' || *c > '9')
            return -1;
        ordinal = ordinal * 10 + (*c - '0');
    }
    return ordinal;
}

bool rp_device_known(const char *name)
{
    size_t i = 0;

    if (ordinal_of(name, "cuda") >= 0 || ordinal_of(name, "emulated") >= 0)
        return true;
    while (rp_device_name(i) != NULL && strcmp(rp_device_name(i), name) != 0)
        i++;
    return rp_device_name(i) != NULL;
}

rp_status rp_device_open(rp_device **out, const char *name, const char *level, unsigned threads, rp_error *err)
{
    *out = NULL;
    if (name == NULL || *name == '\0' || strcmp(name, "cpu") == 0)
        return rp_device_cpu_new(out, level, threads, err);
    for (size_t i = 1; i < OWN; i++)
        if (ordinal_of(name, own[i]) >= 0)
            return rp_device_cuda_new(out, own[i], ordinal_of(name, own[i]), level, threads, err);
    for (size_t i = 0; i < DEVICES_MAX && added[i].name != NULL; i++)
        if (strcmp(added[i].name, name) == 0)
            return added[i].open(out, level, threads, err);
    return no_such_device(name, err);
}

void rp_device_free(rp_device *device)
{
    if (device != NULL)
        device->ops->free(device);
}

const char *rp_device_kind(const rp_device *device)
{
    return device->kind;
}

const char *rp_device_identity(const rp_device *device)
{
    return device->identity;
}

const char *rp_device_level(const rp_device *device)
{
    return device->level;
}

unsigned rp_device_threads(const rp_device *device)
{
    return device->threads;
}

rp_pool *rp_device_pool(const rp_device *device)
{
    return device->pool;
}

/* ---- memory ---- */

rp_status rp_device_allocate(rp_device *device, void **out, size_t bytes, rp_error *err)
{
    rp_status status = device->ops->allocate(device, out, bytes, err);

    return status == RP_ENOMEM && bytes > ROOM_UNASKED
               ? rp_fail(err, RP_ENOMEM, "out of memory: device %s gives no %.0f MiB at once", device->kind,
                         (double)bytes / (1 << 20))
               : status;
}

size_t rp_device_available(rp_device *device)
{
    return device->ops->available != NULL ? device->ops->available(device) : SIZE_MAX;
}

rp_status rp_device_room(rp_device *device, size_t bytes, const char *what, rp_error *err)
{
    const double mib = 1 << 20;
    size_t available;

    if (bytes <= ROOM_UNASKED)
        return RP_OK;
    available = rp_device_available(device);
    return bytes <= available ? RP_OK
                              : rp_fail(err, RP_ENOMEM, "out of memory: %s %.0f MiB, and device %s has %.0f MiB left",
                                        what, (double)bytes / mib, device->kind, (double)available / mib);
}

void rp_device_release(rp_device *device, void *memory)
{
    if (memory != NULL)
        device->ops->release(device, memory);
}

rp_status rp_device_pin(rp_device *device, void **out, size_t bytes, rp_error *err)
{
    return device->ops->pin(device, out, bytes, err);
}

void rp_device_unpin(rp_device *device, void *host)
{
    if (host != NULL)
        device->ops->unpin(device, host);
}

rp_status rp_device_upload(rp_device *device, void *to, const void *host, size_t bytes, rp_stream *stream,
                           rp_error *err)
{
    return device->ops->upload(device, to, host, bytes, stream, err);
}

rp_status rp_device_download(rp_device *device, void *host, const void *from, size_t bytes, rp_stream *stream,
                             rp_error *err)
{
    return device->ops->download(device, host, from, bytes, stream, err);
}

rp_status rp_device_download_many(rp_device *device, void *host, const rp_piece *piece, size_t count, rp_stream *stream,
                                  rp_error *err)
{
    rp_status status = RP_OK;

    if (device->ops->download_many != NULL && count > 1)
        return device->ops->download_many(device, host, piece, count, stream, err);
    for (size_t i = 0; i < count && status == RP_OK; i++)
        status = device->ops->download(device, (char *)host + piece[i].at, piece[i].bytes, piece[i].size, stream, err);
    return status;
}

rp_status rp_device_copy(rp_device *device, void *to, const void *from, size_t bytes, rp_stream *stream, rp_error *err)
{
    return device->ops->copy(device, to, from, bytes, stream, err);
}

rp_status rp_device_read(rp_device *device, void *host, const void *from, size_t bytes, rp_stream *stream,
                         rp_error *err)
{
    rp_status status = device->ops->download(device, host, from, bytes, stream, err);

    return status == RP_OK ? device->ops->synchronize(device, stream, err) : status;
}

bool rp_device_shares_memory(const rp_device *device)
{
    return device->shares_memory;
}

rp_status rp_device_map(rp_device *device, rp_mapping *out, const void *memory, size_t bytes, rp_error *err)
{
    rp_status status;

    *out = (rp_mapping){NULL, NULL};
    if (device->shares_memory) {
        status = device->ops->synchronize(device, NULL, err);
        out->bytes = status == RP_OK ? memory : NULL;
        return status;
    }
    status = device->ops->pin(device, &out->copy, bytes, err);
    if (status != RP_OK)
        return status;
    status = rp_device_read(device, out->copy, memory, bytes, NULL, err);
    if (status != RP_OK)
        rp_device_unmap(device, out);
    else
        out->bytes = out->copy;
    return status;
}

void rp_device_unmap(rp_device *device, rp_mapping *mapping)
{
    if (mapping->copy != NULL)
        device->ops->unpin(device, mapping->copy);
    *mapping = (rp_mapping){NULL, NULL};
}

/* ---- work ---- */

rp_status rp_device_launch(rp_device *device, rp_kernel_id kernel, const rp_kernel_args *args, rp_stream *stream,
                           rp_error *err)
{
    bool nothing = true; /* rows of no elements may be 2^40 and cost nothing (audit/FORMAT.md 9) */

    for (size_t i = 0; i < args->n_out; i++)
        nothing = nothing && rp_view_count(&args->out[i]) == 0;
    return nothing ? RP_OK : device->ops->launch(device, kernel, args, stream, err);
}

rp_status rp_device_launch_chain(rp_device *device, const rp_chain *chain, rp_stream *stream, rp_error *err)
{
    return device->ops->launch_chain(device, chain, stream, err);
}

bool rp_device_launch_bags(rp_device *device, const rp_bags *bags)
{
    return device->ops->launch_bags != NULL && device->ops->launch_bags(device, bags);
}

bool rp_device_has_dots(const rp_device *device)
{
    return device->ops->has_dots != NULL && device->ops->has_dots(device);
}

bool rp_device_launch_dots(rp_device *device, const rp_dots *dots)
{
    const bool has = rp_device_has_dots(device);

    if (has)
        device->ops->launch_dots(device, dots);
    return has;
}

bool rp_device_has_onto(const rp_device *device)
{
    return device->ops->has_onto != NULL && device->ops->has_onto(device);
}

bool rp_device_launch_onto(rp_device *device, const rp_kernel_args *args)
{
    const bool has = rp_device_has_onto(device);

    if (has)
        device->ops->launch_onto(device, args);
    return has;
}

bool rp_device_has_epilogue(const rp_device *device, rp_kernel_id kernel)
{
    return device->ops->has_epilogue != NULL && device->ops->has_epilogue(device, kernel);
}

bool rp_device_has_epilogues(const rp_device *device)
{
    return rp_device_has_epilogue(device, RP_K_matmul);
}

bool rp_device_launch_epilogue(rp_device *device, rp_kernel_id kernel, const rp_kernel_args *args,
                               const rp_chain *chain)
{
    const bool has = rp_device_has_epilogue(device, kernel);

    if (has)
        device->ops->launch_epilogue(device, kernel, args, chain);
    return has;
}

bool rp_device_has_rows(const rp_device *device)
{
    return device->ops->launch_rows != NULL;
}

bool rp_device_launch_rows(rp_device *device, const rp_rows_call *call)
{
    const bool has = rp_device_has_rows(device);

    if (has)
        device->ops->launch_rows(device, call);
    return has;
}

bool rp_device_has_prologue(const rp_device *device)
{
    return device->ops->has_prologue != NULL && device->ops->has_prologue(device);
}

bool rp_device_launch_prologue(rp_device *device, const rp_prologue_call *call)
{
    const bool has = rp_device_has_prologue(device);

    if (has)
        device->ops->launch_prologue(device, call);
    return has;
}

rp_status rp_device_check(rp_device *device, const rp_index_check *check, rp_stream *stream, rp_error *err)
{
    return device->ops->check(device, check, stream, err);
}

bool rp_device_fault(rp_device *device, rp_index_fault *out)
{
    return device->ops->fault(device, out);
}

rp_status rp_device_synchronize(rp_device *device, rp_stream *stream, rp_error *err)
{
    return device->ops->synchronize(device, stream, err);
}

rp_status rp_stream_new(rp_device *device, rp_stream **out, rp_error *err)
{
    return device->ops->stream_new(device, out, err);
}

void rp_stream_free(rp_device *device, rp_stream *stream)
{
    if (stream != NULL)
        device->ops->stream_free(device, stream);
}

rp_status rp_event_new(rp_device *device, rp_event **out, rp_error *err)
{
    return device->ops->event_new(device, out, err);
}

void rp_event_free(rp_device *device, rp_event *event)
{
    if (event != NULL)
        device->ops->event_free(device, event);
}

rp_status rp_event_record(rp_device *device, rp_event *event, rp_stream *stream, rp_error *err)
{
    return device->ops->event_record(device, event, stream, err);
}

rp_status rp_event_wait(rp_device *device, rp_event *event, rp_stream *stream, rp_error *err)
{
    return device->ops->event_wait(device, event, stream, err);
}

/* ---- kernels that there may not be ---- */

bool rp_device_has(const rp_device *device, rp_kernel_id kernel, rp_dtype dtype)
{
    return device->ops->has == NULL || device->ops->has(device, kernel, dtype);
}

bool rp_device_has_all(const rp_device *device)
{
    return device->ops->has == NULL;
}

size_t rp_device_conforming(const rp_device *device)
{
    return device->conforming;
}

void rp_device_set_conforming(rp_device *device, size_t vectors)
{
    device->conforming = vectors;
}

/* ---- digests ---- */

bool rp_device_hashes(const rp_device *device)
{
    return device->ops->hash != NULL;
}

rp_status rp_device_hash(rp_device *device, unsigned char *digest, const rp_device_message *message, size_t count,
                         rp_stream *stream, rp_error *err)
{
    return count > 0 ? device->ops->hash(device, digest, message, count, stream, err) : RP_OK;
}

/* ---- sequences ---- */

bool rp_device_repeats(const rp_device *device)
{
    /* a library looks for algorithms and asks for memory at any launch, which a sequence does not take */
    return device->ops->sequence_begin != NULL && device->pinned == NULL;
}

rp_status rp_sequence_begin(rp_device *device, rp_stream *stream, rp_error *err)
{
    return device->ops->sequence_begin(device, stream, err);
}

rp_status rp_sequence_end(rp_device *device, rp_sequence **out, rp_stream *stream, rp_error *err)
{
    return device->ops->sequence_end(device, out, stream, err);
}

bool rp_sequence_current(const rp_device *device, const rp_sequence *sequence)
{
    return device->ops->sequence_current(device, sequence);
}

rp_status rp_sequence_launch(rp_device *device, rp_sequence *sequence, rp_stream *stream, rp_error *err)
{
    return device->ops->sequence_launch(device, sequence, stream, err);
}

void rp_sequence_free(rp_device *device, rp_sequence *sequence)
{
    if (sequence != NULL)
        device->ops->sequence_free(device, sequence);
}

/* ---- the pinned profile ---- */

rp_status rp_device_use_pinned(rp_device *device, rp_pinned_compute compute, uint64_t workspace, rp_error *err)
{
    if (device->ops->use_pinned == NULL)
        return rp_fail(err, RP_EUNSUPPORTED,
                       "profile pinned: device %s has no library of matrix products: choose a GPU (--device cuda), or "
                       "profile: portable, which runs everywhere",
                       device->kind);
    if (device->pinned != NULL)
        return rp_fail(err, RP_EARG, "profile pinned: device %s is in it already", device->kind);
    return device->ops->use_pinned(device, compute, workspace, err);
}

const rp_pinned *rp_device_pinned(const rp_device *device)
{
    return device->pinned;
}

rp_pinned *rp_device_exchange_pinned(rp_device *device, rp_pinned *pinned)
{
    rp_pinned *before = device->pinned;

    device->pinned = pinned;
    return before;
}

rp_status rp_device_expect_products(rp_device *device, const rp_pinned_product *product, size_t count, rp_error *err)
{
    rp_pinned *pinned = device->pinned;

    if (pinned == NULL || pinned->closed)
        return rp_fail(err, RP_EARG, "profile pinned: device %s expects no products", device->kind);
    pinned->expected = rp_reallocarray(NULL, count, sizeof *product);
    if (pinned->expected == NULL)
        return rp_no_memory(err);
    if (count > 0)
        memcpy(pinned->expected, product, count * sizeof *product);
    pinned->n_expected = count;
    pinned->closed = true;
    return RP_OK;
}
