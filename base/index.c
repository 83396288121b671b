/* SPDX-License-Identifier: Apache-2.0
 * Open addressing with linear probing; cells keep the whole hash, which tells almost all different items apart. */
#include "base/index.h"

#include <string.h>
#include <time.h>

#include "base/memory.h"

enum { FIRST = 32 };

static const uint64_t prime = ((uint64_t)1 << 61) - 1;

/* a b modulo the prime, for a < 2^62 and b < 2^61: 2^61 is 1, so the high bits count as low ones. */
static uint64_t times(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    const wide product = (wide)a * b;
    const uint64_t sum = ((uint64_t)product & prime) + (uint64_t)(product >> 61);

    return sum >= prime ? sum - prime : sum;
}

uint64_t rp_index_hash(const rp_index *index, const void *bytes, size_t size)
{
    const uint64_t point = index->key & prime;
    const unsigned char *at = bytes;
    uint64_t h = size;
    uint32_t word;

    for (size_t left = size; left >= sizeof word; left -= sizeof word, at += sizeof word) {
        memcpy(&word, at, sizeof word);
        h = times(h, point) + word;
    }
    word = 0;
    for (size_t left = size % sizeof word; left > 0; left--)
        word = word << 8 | *at++;
    h = times(times(h, point) + word, point) * 0x9E3779B97F4A7C15u; /* cells are chosen by the low bits */
    return h ^ h >> 32;
}

static void put(rp_index *index, uint64_t hash, uint32_t at)
{
    size_t i = (size_t)hash & (index->capacity - 1);

    while (index->cell[i].at)
        i = (i + 1) & (index->capacity - 1);
    index->cell[i] = (struct rp_index_cell){hash, at};
}

bool rp_index_reserve(rp_index *index)
{
    rp_index bigger = *index;

    if (2 * (index->n + 1) <= index->capacity)
        return true;
    bigger.capacity = index->capacity ? 2 * index->capacity : FIRST;
    bigger.cell = rp_calloc(bigger.capacity, sizeof *bigger.cell);
    if (!bigger.cell)
        return false;
    if (index->n == 0 && index->capacity == 0) {
        struct timespec now = {0};

        /* what whoever wrote the names cannot know: where this process has its memory, and when this is */
        (void)timespec_get(&now, TIME_UTC);
        bigger.key = ((uint64_t)(uintptr_t)bigger.cell ^ (uint64_t)(uintptr_t)index << 24 ^ (uint64_t)now.tv_nsec) *
                     0x9E3779B97F4A7C15u;
    }
    for (size_t i = 0; i < index->capacity; i++)
        if (index->cell[i].at)
            put(&bigger, index->cell[i].hash, index->cell[i].at);
    rp_free(index->cell);
    *index = bigger;
    return true;
}

void rp_index_add(rp_index *index, uint64_t hash, uint32_t at)
{
    put(index, hash, at + 1);
    index->n++;
}

void rp_index_clear(rp_index *index)
{
    if (index->n)
        memset(index->cell, 0, index->capacity * sizeof *index->cell);
    index->n = 0;
}

void rp_index_free(rp_index *index)
{
    rp_free(index->cell);
    *index = (rp_index){0};
}
