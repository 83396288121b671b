/* SPDX-License-Identifier: Apache-2.0
 * Distinct texts of a column, numbered in the order in which they first come. Private to core. */
#ifndef CORE_DATA_DICTIONARY_H
#define CORE_DATA_DICTIONARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rp/error.h"

typedef struct rp_word {
    const char *at; /* NUL behind it where the dictionary owns it */
    uint64_t hash;
    uint32_t length;
    uint32_t first; /* row */
    uint32_t count; /* cells */
} rp_word;

/* Texts that are kept together and freed together. */
typedef struct rp_strings {
    struct rp_strings_block *last;
} rp_strings;

char *rp_strings_copy(rp_strings *arena, const char *text, size_t length); /* with a NUL; NULL: out of memory */
void rp_strings_free(rp_strings *arena);

/* Zeroed to begin with, but for the seed, which is any number: it decides where texts lie and nothing that is seen. */
typedef struct rp_dictionary {
    rp_word *word;
    size_t count, capacity;
    uint32_t *slot; /* a number and 1, or 0 */
    size_t slots;
    uint64_t seed;
    rp_strings arena;
} rp_dictionary;

enum { RP_NO_CODE = -1 }; /* as uint32_t: a missing cell */

uint64_t rp_dictionary_hash(const rp_dictionary *d, const char *text, size_t length);
/* Counts `count` more cells of the text, the first of them in row. own: copies it if it is new. False: out of memory.
 */
bool rp_dictionary_add(rp_dictionary *d, const rp_word *word, bool own, uint32_t *code);
/* Forgets the texts; where they lay belongs to whoever took word and arena before. */
void rp_dictionary_reset(rp_dictionary *d);
void rp_dictionary_free(rp_dictionary *d);

#endif
