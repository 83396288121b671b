/* SPDX-License-Identifier: Apache-2.0
 * How values lie in memory: shared by the files of canonical JSON only. */
#ifndef BASE_JSON_PRIVATE_H
#define BASE_JSON_PRIVATE_H

#include <stdatomic.h>

#include "base/json.h"

typedef enum rp_json_kind {
    JSON_OBJECT,
    JSON_ARRAY,
    JSON_STRING,
    JSON_INTEGER,
    JSON_TRUE,
    JSON_FALSE,
    JSON_NULL
} rp_json_kind;

/* The memory of one parsed text. */
typedef struct rp_json_arena rp_json_arena;

typedef struct rp_json_member {
    const char *key;
    rp_json *value;
} rp_json_member;

struct rp_json {
    rp_json_arena *arena; /* of a parsed value; NULL: built */
    union {
        atomic_size_t owners; /* of a built value */
        rp_json *next;        /* of a parsed value: the next one of its object or array */
    };
    rp_json_kind kind;
    uint32_t count; /* bytes of a string, members, elements */
    union {
        int64_t integer;
        const char *text; /* NUL-terminated */
        rp_json **element;
        rp_json_member *member; /* sorted by key when parsed; see rp_json_sorted */
    };
};

/* Members of a built object lie in two sorted runs: the first long, the second short, so that a new key moves few
 * others. How long the first is. */
uint32_t rp_json_sorted(const rp_json *object);

/* RFC 8785 orders keys by their UTF-16: that is the order of the UTF-8 bytes, but for the characters beyond U+FFFF (F0
 * and above), whose surrogates come before U+E000 to U+FFFF (EE, EF). */
static inline int rp_json_key_compare(const char *a, const char *b)
{
    const unsigned char *x = (const unsigned char *)a, *y = (const unsigned char *)b;

    while (*x && *x == *y)
        x++, y++;
    if ((*x >= 0xF0 && (*y == 0xEE || *y == 0xEF)) || (*y >= 0xF0 && (*x == 0xEE || *x == 0xEF)))
        return *x >= 0xF0 ? -1 : 1;
    return *x - *y;
}

/* The escape of a character in canonical form, into out[8]; its length, 0 where the character stands for itself. */
size_t rp_json_escape(char *out, uint32_t character);

/* Memory that values were parsed into: json_read.c fills it, json_arena.c counts its owners. */
typedef struct rp_json_block {
    struct rp_json_block *next;
    max_align_t data[];
} rp_json_block;

struct rp_json_arena {
    atomic_size_t owners;
    rp_json_block *blocks;
    char *at, *end; /* free part of the newest common block: values from the front, texts from the back */
    size_t next;    /* size of the next common block */
};

/* Gives up one owner of the arena's values. */
void rp_json_arena_free(rp_json_arena *arena);
void rp_json_arena_share(rp_json_arena *arena);

#endif
