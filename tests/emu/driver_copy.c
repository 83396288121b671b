/* SPDX-License-Identifier: Apache-2.0
 * Copies between host and device, and filling: what is looked at when they are asked for, and what happens when. */
#include <stdlib.h>
#include <string.h>

#include "tests/emu/driver_private.h"

static unsigned long to_host_bytes;

EMU_API unsigned long rp_emulated_to_host(void)
{
    return to_host_bytes;
}

/* What is wrong with a copy, or its work on the stream. From memory that is not pinned the bytes are taken now; to such
 * memory they are there when the call returns: a wait, and no part of a graph. */
static int copy(emu_stream *s, emu_work w, bool to_host, bool from_host)
{
    int result;

    if (w.bytes == 0)
        return RP_CU_SUCCESS;
    if (s == NULL)
        return EMU_CU_INVALID_HANDLE;
    if (w.to == NULL || w.from == NULL)
        return RP_CU_INVALID_VALUE;
    if (s->capture && ((from_host && !emu_is_pinned(w.from)) || (to_host && !emu_is_pinned(w.to))))
        return emu_invalidate(s->capture, EMU_CU_CAPTURE_UNSUPPORTED);
    if (from_host && !emu_is_pinned(w.from)) {
        w.staged = malloc(w.bytes);
        if (w.staged == NULL)
            return RP_CU_OUT_OF_MEMORY;
        memcpy(w.staged, w.from, w.bytes);
    }
    result = emu_put(s, w);
    to_host_bytes += result == RP_CU_SUCCESS && to_host ? w.bytes : 0;
    if (result == RP_CU_SUCCESS && to_host && !emu_is_pinned(w.to))
        result = emu_drain(s, UINT64_MAX);
    return result;
}

int cuMemcpyHtoDAsync_v2(rp_cu_pointer to, const void *from, size_t bytes, rp_cu_stream stream)
{
    int result = emu_enter("cuMemcpyHtoDAsync_v2");
    emu_device *d = emu_current();

    if (result == RP_CU_SUCCESS)
        result = copy(emu_stream_of(d, stream),
                      (emu_work){.kind = EMU_COPY, .to = emu_memory_find(d, to, bytes), .from = from, .bytes = bytes},
                      false, true);
    return emu_leave(result);
}

int cuMemcpyDtoHAsync_v2(void *to, rp_cu_pointer from, size_t bytes, rp_cu_stream stream)
{
    int result = emu_enter("cuMemcpyDtoHAsync_v2");
    emu_device *d = emu_current();

    if (result == RP_CU_SUCCESS)
        result = copy(emu_stream_of(d, stream),
                      (emu_work){.kind = EMU_COPY, .to = to, .from = emu_memory_find(d, from, bytes), .bytes = bytes},
                      true, false);
    return emu_leave(result);
}

int cuMemcpyDtoDAsync_v2(rp_cu_pointer to, rp_cu_pointer from, size_t bytes, rp_cu_stream stream)
{
    int result = emu_enter("cuMemcpyDtoDAsync_v2");
    emu_device *d = emu_current();

    if (result == RP_CU_SUCCESS)
        result = copy(emu_stream_of(d, stream),
                      (emu_work){.kind = EMU_COPY,
                                 .to = emu_memory_find(d, to, bytes),
                                 .from = emu_memory_find(d, from, bytes),
                                 .bytes = bytes},
                      false, false);
    return emu_leave(result);
}

int cuMemsetD8Async(rp_cu_pointer to, unsigned char value, size_t bytes, rp_cu_stream stream)
{
    int result = emu_enter("cuMemsetD8Async");
    emu_stream *s = result == RP_CU_SUCCESS ? emu_stream_of(emu_current(), stream) : NULL;
    emu_work w = {.kind = EMU_SET, .value = value, .bytes = bytes};

    if (result == RP_CU_SUCCESS && s == NULL)
        result = EMU_CU_INVALID_HANDLE;
    if (result != RP_CU_SUCCESS || bytes == 0)
        return emu_leave(result);
    w.to = emu_memory_find(s->device, to, bytes);
    return emu_leave(w.to ? emu_put(s, w) : RP_CU_INVALID_VALUE);
}
