/* SPDX-License-Identifier: Apache-2.0
 * An open hash table of texts. A table's author chooses its texts, so the hash has a seed that he does not know. */
#include "core/data/dictionary.h"

#include <string.h>

#include "base/memory.h"

enum { BLOCK = 1 << 16 };

struct rp_strings_block {
    struct rp_strings_block *before;
    size_t used, size;
    char bytes[];
};

char *rp_strings_copy(rp_strings *arena, const char *text, size_t length)
{
    struct rp_strings_block *block = arena->last;
    char *out;

    if (block == NULL || block->size - block->used < length + 1) {
        size_t size = length + 1 > BLOCK / 4 ? length + 1 : block == NULL && length < 256 ? 256 : BLOCK;

        block = rp_malloc(sizeof *block + size);
        if (block == NULL)
            return NULL;
        *block = (struct rp_strings_block){.before = arena->last, .size = size};
        arena->last = block;
    }
    out = block->bytes + block->used;
    memcpy(out, text, length);
    out[length] = '\0';
    block->used += length + 1;
    return out;
}

void rp_strings_free(rp_strings *arena)
{
    while (arena->last != NULL) {
        struct rp_strings_block *block = arena->last;

        arena->last = block->before;
        rp_free(block);
    }
}

static uint64_t mix(uint64_t h)
{
    h = (h ^ h >> 32) * UINT64_C(0xD6E8FEB86659FD93);
    return (h ^ h >> 32) * UINT64_C(0xD6E8FEB86659FD93);
}

uint64_t rp_dictionary_hash(const rp_dictionary *d, const char *text, size_t length)
{
    uint64_t h = d->seed + length, last = 0;

    for (; length >= 8; text += 8, length -= 8) {
        uint64_t eight;

        memcpy(&eight, text, 8);
        h = mix(h ^ eight);
    }
    memcpy(&last, text, length);
    h = mix(h ^ last);
    return h ^ h >> 32;
}

static void put_slot(rp_dictionary *d, uint64_t hash, size_t code)
{
    size_t at = (size_t)hash & (d->slots - 1);

    while (d->slot[at] != 0)
        at = (at + 1) & (d->slots - 1);
    d->slot[at] = (uint32_t)code + 1;
}

static bool grow(rp_dictionary *d)
{
    size_t capacity = d->capacity == 0 ? 16 : 2 * d->capacity, slots = 4 * capacity;
    rp_word *word = rp_reallocarray(d->word, capacity, sizeof *word);
    uint32_t *slot;

    if (word == NULL)
        return false;
    d->word = word;
    if (slots > d->slots) {
        slot = rp_calloc(slots, sizeof *slot);
        if (slot == NULL)
            return false;
        rp_free(d->slot);
        d->slot = slot;
        d->slots = slots;
        for (size_t i = 0; i < d->count; i++)
            put_slot(d, d->word[i].hash, i);
    }
    d->capacity = capacity;
    return true;
}

bool rp_dictionary_add(rp_dictionary *d, const rp_word *word, bool own, uint32_t *code)
{
    rp_word *to;

    if (d->count == d->capacity && !grow(d))
        return false;
    for (size_t at = (size_t)word->hash & (d->slots - 1); d->slot[at] != 0; at = (at + 1) & (d->slots - 1)) {
        to = &d->word[d->slot[at] - 1];
        if (to->hash == word->hash && to->length == word->length && memcmp(to->at, word->at, word->length) == 0) {
            to->count += word->count;
            *code = d->slot[at] - 1;
            return true;
        }
    }
    to = &d->word[d->count];
    *to = *word;
    if (own && (to->at = rp_strings_copy(&d->arena, word->at, word->length)) == NULL)
        return false;
    put_slot(d, word->hash, d->count);
    *code = (uint32_t)d->count++;
    return true;
}

void rp_dictionary_reset(rp_dictionary *d)
{
    memset(d->slot, 0, d->slots * sizeof *d->slot);
    d->word = NULL;
    d->count = d->capacity = 0;
    d->arena.last = NULL;
}

void rp_dictionary_free(rp_dictionary *d)
{
    rp_free(d->word);
    rp_free(d->slot);
    rp_strings_free(&d->arena);
    memset(d, 0, sizeof *d);
}
