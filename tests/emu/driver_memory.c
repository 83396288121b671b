/* SPDX-License-Identifier: Apache-2.0
 * Memory of the emulated device: an allocation has an address where the host finds nothing, which is never used again
 * while there are others; its end is flush with a page of nothing, and what lies between is looked at. In the second
 * order two and two lie side by side instead, as a chip's do: a copy that takes both is refused. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/emu/driver_private.h"

enum { PAGE = 4096, ALIGN = 256, SLACK = 0xC5 };
#define WINDOW UINT64_C(0x100000000000) /* the devices' addresses begin here */
#define EACH (UINT64_C(64) << 30)       /* of one device */
#define JUNK_AT_MOST ((size_t)64 << 20) /* of an allocation; the rest is zero */

static emu_memory *pinned;
static size_t alive;

static size_t round_up(size_t bytes, size_t to)
{
    return (bytes + to - 1) / to * to;
}

/* How pages are mapped that get junk at once: all together, since a fault a page took half of the time of short jobs.
 */
static int fresh(size_t size)
{
    return MAP_PRIVATE | MAP_ANONYMOUS | (size <= JUNK_AT_MOST ? MAP_POPULATE : 0);
}

#ifdef EMU_SOURCE
/* The host's allocator, which a sanitizer watches over. */
static bool take(emu_device *d, emu_memory *m)
{
    void *p = NULL;

    (void)d;
    if (posix_memalign(&p, ALIGN, m->bytes) != 0)
        return false;
    m->map = p;
    m->mapped = m->bytes;
    m->at = (uint64_t)(uintptr_t)p;
    memset(p, emu_junk(emu_order_chosen()), m->bytes < JUNK_AT_MOST ? m->bytes : JUNK_AT_MOST);
    return true;
}

static void give(emu_memory *m)
{
    free(m->map);
}

static bool overrun(const emu_memory *m)
{
    (void)m;
    return false;
}
#else
/* Both windows, the one that kernels use and the one that nobody may, are taken once and stay. */
static bool windows(void)
{
    static int state;

    if (state == 0) {
        const size_t size = EMU_DEVICES * EACH;
        const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
        void *far = mmap((void *)(uintptr_t)WINDOW, size, PROT_NONE, flags, -1, 0);
        void *near = mmap((void *)(uintptr_t)(WINDOW + EMU_NEAR), size, PROT_NONE, flags, -1, 0);

        state = far == MAP_FAILED || near == MAP_FAILED ? -1 : 1;
    }
    return state == 1;
}

/* The second of two that lie side by side. */
static bool beside(const emu_device *d)
{
    return emu_order_chosen() == 1 && d->taken % 2 == 1;
}

/* Where so many bytes are free: after what was given last, else the first gap. 0: nowhere. */
static uint64_t find_room(emu_device *d, size_t size)
{
    const uint64_t begin = WINDOW + (uint64_t)d->index * EACH, gap = beside(d) ? 0 : PAGE;

    for (int turn = 0; turn < 2; turn++) {
        uint64_t at = begin + (turn == 0 ? d->top + gap : 0);
        const emu_memory *m = d->memory;

        while (m != NULL && at + size <= begin + EACH) {
            const uint64_t first = m->at - m->at % PAGE;

            if (at < first + m->mapped + gap && first < at + size + PAGE) {
                at = first + m->mapped + gap;
                m = d->memory;
            } else {
                m = m->next;
            }
        }
        if (at + size <= begin + EACH) {
            d->top = at + size - begin;
            return at;
        }
    }
    return 0;
}

static bool take(emu_device *d, emu_memory *m)
{
    const size_t taken = round_up(m->bytes, ALIGN), size = round_up(m->bytes, PAGE);
    const uint64_t room = windows() ? find_room(d, size) : 0;

    if (room == 0 || mmap((void *)(uintptr_t)(room + EMU_NEAR), size, PROT_READ | PROT_WRITE, MAP_FIXED | fresh(size),
                          -1, 0) == MAP_FAILED)
        return false;
    m->at = beside(d) ? room : room + size - taken;
    d->taken++;
    m->mapped = size;
    m->map = (char *)(uintptr_t)(room + EMU_NEAR);
    memset(m->map, emu_junk(emu_order_chosen()), size < JUNK_AT_MOST ? size : JUNK_AT_MOST);
    memset((char *)(uintptr_t)(m->at + EMU_NEAR) + m->bytes, SLACK, taken - m->bytes);
    return true;
}

static void give(emu_memory *m)
{
    (void)mmap(m->map, m->mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

static bool overrun(const emu_memory *m)
{
    const unsigned char *slack = (const unsigned char *)(uintptr_t)(m->at + EMU_NEAR) + m->bytes;

    for (size_t i = 0; i < round_up(m->bytes, ALIGN) - m->bytes; i++)
        if (slack[i] != SLACK)
            return true;
    return false;
}

#endif

static int allocate(emu_device *d, rp_cu_pointer *out, size_t bytes)
{
    emu_memory *m = calloc(1, sizeof *m);

    if (m != NULL)
        m->bytes = bytes;
    if (m == NULL || bytes > d->total - d->used || !take(d, m)) {
        free(m);
        return RP_CU_OUT_OF_MEMORY;
    }
    m->next = d->memory;
    d->memory = m;
    d->used += bytes;
    alive++;
    *out = m->at;
    return RP_CU_SUCCESS;
}

bool emu_memory_overrun(const emu_device *d)
{
    for (const emu_memory *m = d->memory; m != NULL; m = m->next)
        if (overrun(m))
            return true;
    return false;
}

static void drop(emu_device *d, emu_memory *m)
{
    give(m);
    d->used -= m->bytes;
    alive--;
    free(m);
}

void emu_memory_drop(emu_device *d)
{
    emu_memory *next;

    for (emu_memory *m = d->memory; m != NULL; m = next) {
        next = m->next;
        drop(d, m);
    }
    d->memory = NULL;
}

char *emu_memory_find(const emu_device *d, uint64_t at, size_t bytes)
{
    for (const emu_memory *m = d->memory; m != NULL; m = m->next)
        if (at >= m->at && at - m->at <= m->bytes && bytes <= m->bytes - (at - m->at))
            return (char *)(uintptr_t)(at + EMU_NEAR);
    return NULL;
}

int cuMemAlloc_v2(rp_cu_pointer *memory, size_t bytes)
{
    int result = emu_enter_unsafe("cuMemAlloc_v2");

    *memory = 0;
    if (result == RP_CU_SUCCESS)
        result = bytes == 0 ? RP_CU_INVALID_VALUE : allocate(emu_current(), memory, bytes);
    return emu_leave(result);
}

int cuMemFree_v2(rp_cu_pointer memory)
{
    int result = emu_enter_unsafe("cuMemFree_v2");
    emu_device *d = emu_current();
    emu_memory **m = d ? &d->memory : NULL, *found;

    if (result != RP_CU_SUCCESS || memory == 0)
        return emu_leave(result);
    result = emu_drain_all(d);
    while (*m != NULL && (*m)->at != memory)
        m = &(*m)->next;
    if (*m == NULL)
        return emu_leave(RP_CU_INVALID_VALUE);
    found = *m;
    *m = found->next;
    drop(d, found);
    return emu_leave(result);
}

int cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    int result = emu_enter("cuMemGetInfo_v2");
    const emu_device *d = emu_current();

    *total = result == RP_CU_SUCCESS ? d->total : 0;
    *free_bytes = result == RP_CU_SUCCESS ? d->total - d->used : 0;
    return emu_leave(result);
}

/* ---- pinned memory of the host ---- */

/* What was given back last, which nobody may touch until it is given anew: to map megabytes took half of the time of
 * short jobs, and each job has a few of one or two sizes. */
static struct {
    char *map;
    size_t mapped;
} spare[8];
enum { SPARES = sizeof spare / sizeof *spare, WORTH_KEEPING = 256 << 10 };

static char *map_pinned(size_t size)
{
    for (int i = 0; i < SPARES; i++)
        if (spare[i].map != NULL && spare[i].mapped == size &&
            mprotect(spare[i].map, size, PROT_READ | PROT_WRITE) == 0) {
            char *map = spare[i].map;

            spare[i].map = NULL;
            return map;
        }
    return mmap(NULL, size, PROT_READ | PROT_WRITE, fresh(size), -1, 0);
}

static void unmap_pinned(char *map, size_t size)
{
    static int oldest;
    int at = 0;

    if (size < WORTH_KEEPING || size > JUNK_AT_MOST || mprotect(map, size, PROT_NONE) != 0) {
        (void)munmap(map, size);
        return;
    }
    while (at < SPARES && spare[at].map != NULL)
        at++;
    if (at == SPARES) {
        at = oldest;
        oldest = (oldest + 1) % SPARES;
        (void)munmap(spare[at].map, spare[at].mapped);
    }
    spare[at].map = map;
    spare[at].mapped = size;
}

bool emu_is_pinned(const void *host)
{
    for (const emu_memory *m = pinned; m != NULL; m = m->next)
        if ((const char *)host >= m->map && (const char *)host < m->map + m->mapped)
            return true;
    return false;
}

int cuMemHostAlloc(void **host, size_t bytes, unsigned flags)
{
    int result = emu_enter_unsafe("cuMemHostAlloc");
    emu_memory *m;

    *host = NULL;
    if (result != RP_CU_SUCCESS || bytes == 0 || flags > 7)
        return emu_leave(result != RP_CU_SUCCESS ? result : RP_CU_INVALID_VALUE);
    m = calloc(1, sizeof *m);
    if (m != NULL) {
        m->mapped = round_up(bytes, PAGE);
        m->map = map_pinned(m->mapped);
    }
    if (m == NULL || m->map == MAP_FAILED) {
        free(m);
        return emu_leave(RP_CU_OUT_OF_MEMORY);
    }
    memset(m->map, emu_junk(emu_order_chosen()), m->mapped < JUNK_AT_MOST ? m->mapped : JUNK_AT_MOST);
    m->next = pinned;
    pinned = m;
    alive++;
    *host = m->map;
    return emu_leave(RP_CU_SUCCESS);
}

int cuMemFreeHost(void *host)
{
    int result = emu_enter_unsafe("cuMemFreeHost");
    emu_memory **m = &pinned, *found;

    if (result == EMU_CU_CAPTURE_UNSUPPORTED)
        return emu_leave(result);
    if (result == RP_CU_SUCCESS)
        result = emu_drain_all(emu_current());
    while (*m != NULL && (*m)->map != host)
        m = &(*m)->next;
    if (*m == NULL)
        return emu_leave(result != RP_CU_SUCCESS ? result : RP_CU_INVALID_VALUE);
    found = *m;
    *m = found->next;
    unmap_pinned(found->map, found->mapped);
    free(found);
    alive--;
    return emu_leave(result);
}

size_t emu_memory_alive(void)
{
    return alive;
}
