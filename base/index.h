/* SPDX-License-Identifier: Apache-2.0
 * An index over someone else's array: positions found by hash, in constant time. The owner hashes and compares; the
 * index keeps hashes and positions, so it grows without looking at the array. It is never walked, so no order depends
 * on it. */
#ifndef BASE_INDEX_H
#define BASE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rp_index {
    struct rp_index_cell {
        uint64_t hash;
        uint32_t at; /* position + 1; 0: empty */
    } * cell;
    size_t capacity, n; /* capacity: 0 or a power of two, at most half full */
    uint64_t key;       /* of the hashes; drawn with the first memory */
} rp_index;

/* A search: for (rp_index_walk w = rp_index_find(index, hash); rp_index_next(&w);) compare the item at w.at. */
typedef struct rp_index_walk {
    const rp_index *index;
    size_t cell;
    uint64_t hash;
    uint32_t at;
} rp_index_walk;

static inline rp_index_walk rp_index_find(const rp_index *index, uint64_t hash)
{
    return (rp_index_walk){index, (size_t)hash, hash, 0};
}

static inline bool rp_index_next(rp_index_walk *w)
{
    const size_t last = w->index->capacity - 1;

    if (w->index->n == 0)
        return false;
    for (;;) {
        const struct rp_index_cell *cell = &w->index->cell[w->cell++ & last];

        if (cell->at == 0)
            return false;
        if (cell->hash == w->hash) {
            w->at = cell->at - 1;
            return true;
        }
    }
}

/* Asks the memory for where a search of this hash begins: of a large index no cache has it, and what the caller does
 * until then costs no time. */
static inline void rp_index_ask(const rp_index *index, uint64_t hash)
{
    if (index->n > 0)
        __builtin_prefetch(&index->cell[hash & (index->capacity - 1)]);
}

/* The bytes as a polynomial modulo 2^61 - 1, a coefficient every four bytes and their number in front, at a point that
 * only this index knows (Carter, Wegman, 1979): two strings of n bytes collide at n/4 + 1 of 2^61 points at most, so
 * names from an archive cannot be chosen to collide. An eager step hashes its names some hundred times. */
uint64_t rp_index_hash(const rp_index *index, const void *bytes, size_t size);
/* Makes room for one more: after true, the next rp_index_add succeeds. It may draw the key: hash afterwards. */
bool rp_index_reserve(rp_index *index);
void rp_index_add(rp_index *index, uint64_t hash, uint32_t at);
void rp_index_clear(rp_index *index); /* forgets all, keeps the memory */
void rp_index_free(rp_index *index);

#endif
