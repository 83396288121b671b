/* SPDX-License-Identifier: Apache-2.0
 * Lists by size class. */
#include "kernels/memory/device_cache.h"

#include "base/memory.h"

enum { UNIT = 64 };

/* The class whose pieces have at least so many units, and how many they have. */
static unsigned class_for(size_t units, size_t *rounded)
{
    unsigned log = 0;
    size_t step;

    *rounded = units;
    if (units < 16)
        return (unsigned)units;
    while (units >> (log + 1))
        log++;
    step = (size_t)1 << (log - 4);
    *rounded = (units + step - 1) / step * step;
    if (*rounded >> (log + 1)) { /* rounded up to the next power of two */
        log++;
        step *= 2;
    }
    return (log - 3) * 16 + (unsigned)(*rounded / step - 16);
}

rp_status rp_device_cache_take(rp_device_cache *cache, rp_cached **out, size_t bytes, rp_error *err)
{
    size_t units;
    unsigned c;
    rp_cached *piece;
    rp_status status;

    *out = NULL;
    if (bytes > SIZE_MAX / 4)
        return rp_no_memory(err);
    c = class_for(bytes ? (bytes + UNIT - 1) / UNIT : 1, &units);
    piece = cache->free[c];
    if (piece) {
        cache->free[c] = piece->next;
    } else {
        piece = rp_malloc(sizeof *piece);
        if (!piece)
            return rp_no_memory(err);
        *piece = (rp_cached){.bytes = units * UNIT, .class_of = c};
        status = rp_device_allocate(cache->device, &piece->memory, piece->bytes, err);
        if (status != RP_OK) {
            rp_free(piece);
            return status;
        }
    }
    piece->used = cache->turn;
    *out = piece;
    return RP_OK;
}

void rp_device_cache_give(rp_device_cache *cache, rp_cached *piece)
{
    if (piece->class_of >= cache->classes)
        cache->classes = piece->class_of + 1;
    piece->next = cache->free[piece->class_of];
    cache->free[piece->class_of] = piece;
}

/* Releases what was taken last before a turn. */
static void release_before(rp_device_cache *cache, uint64_t turn)
{
    for (unsigned c = 0; c < cache->classes; c++)
        for (rp_cached **at = &cache->free[c]; *at;) {
            rp_cached *piece = *at;

            if (piece->used >= turn) {
                at = &piece->next;
                continue;
            }
            *at = piece->next;
            rp_device_release(cache->device, piece->memory);
            rp_free(piece);
        }
}

void rp_device_cache_turn(rp_device_cache *cache)
{
    release_before(cache, cache->turn);
    cache->turn++;
}

void rp_device_cache_release(rp_device_cache *cache)
{
    release_before(cache, UINT64_MAX);
}
