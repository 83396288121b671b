/* SPDX-License-Identifier: Apache-2.0
 * Open addressing with linear probing; cells keep the whole hash, which tells almost all different items apart. */
#include "base/index.h"

#include <string.h>
#include <time.h>

#include "base/memory.h"

enum { FIRST = 32 };

static uint64_t turn(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static void sip_round(uint64_t v[4])
{
    v[0] += v[1], v[1] = turn(v[1], 13) ^ v[0], v[0] = turn(v[0], 32);
    v[2] += v[3], v[3] = turn(v[3], 16) ^ v[2];
    v[0] += v[3], v[3] = turn(v[3], 21) ^ v[0];
    v[2] += v[1], v[1] = turn(v[1], 17) ^ v[2], v[2] = turn(v[2], 32);
}

static void sip_word(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    sip_round(v);
    sip_round(v);
    v[0] ^= word;
}

uint64_t rp_index_hash(const rp_index *index, const void *bytes, size_t size)
{
    const uint64_t k0 = index->key, k1 = ~turn(index->key, 29);
    uint64_t v[4] = {k0 ^ 0x736f6d6570736575u, k1 ^ 0x646f72616e646f6du, k0 ^ 0x6c7967656e657261u,
                     k1 ^ 0x7465646279746573u};
    const unsigned char *at = bytes;
    uint64_t word;

    for (size_t left = size; left >= sizeof word; left -= sizeof word, at += sizeof word) {
        memcpy(&word, at, sizeof word);
        sip_word(v, word);
    }
    word = 0;
    if (size % sizeof word)
        memcpy(&word, at, size % sizeof word);
    sip_word(v, word ^ (uint64_t)size << 56);
    v[2] ^= 0xff;
    for (int i = 0; i < 4; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

rp_index_walk rp_index_find(const rp_index *index, uint64_t hash)
{
    return (rp_index_walk){index, (size_t)hash, hash, 0};
}

bool rp_index_next(rp_index_walk *w)
{
    if (w->index->capacity == 0)
        return false;
    for (;;) {
        const struct rp_index_cell *cell = &w->index->cell[w->cell++ & (w->index->capacity - 1)];

        if (cell->at == 0)
            return false;
        if (cell->hash == w->hash) {
            w->at = cell->at - 1;
            return true;
        }
    }
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
