/* SPDX-License-Identifier: Apache-2.0
 * Canonical JSON, the only JSON Reprise writes: RFC 8785 restricted to what needs no number formatting rules.
 * Objects (keys in the order of their UTF-16), arrays, strings, integers of at most 2^53 - 1 in magnitude, true, false,
 * null; no spaces; no reals: a real number is a string holding the shortest decimal that reads back as the same
 * binary64 (determinism/decimal.h). Bytes are therefore unique for a value. The rules to the byte: audit/FORMAT.md 4.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/buffer.h"

/* A value. One that was parsed lies with all its text's values in one piece of memory, which lasts as long as anybody
 * shares any of them, and is never changed: setting and appending fail there. One that was built can be changed by
 * whoever built it. Reading the same values on several threads is fine, and so is sharing and freeing parsed ones. */
typedef struct rp_json rp_json;

/* ---- reading a text ---- */

enum {
    RP_JSON_DEPTH = 64,                 /* objects and arrays inside one another */
    RP_JSON_MEMORY = 48 << 20,          /* what rp_json_parse lets values take */
    RP_JSON_METRICS_MEMORY = 256 << 20, /* outputs/metrics.json */
    RP_JSON_PROGRAM_MEMORY = 1 << 30    /* run/programs/: some times what most programs take */
};

/* Parses size bytes of JSON in one pass. Refused are reals, integers beyond 64 bits, duplicate keys, nesting over
 * RP_JSON_DEPTH, trailing bytes, U+0000, invalid UTF-8, and, when canonical is set, all but the canonical form. Values
 * are counted as they are made (audit/FORMAT.md 4 has the prices), and the first that exceeds limit ends the parse;
 * what is allocated stays below limit, a quarter of it and 1 MiB. where names the text in errors. Caller owns *out
 * (rp_json_free). Errors: RP_EFORMAT with line, column and byte, RP_ENOMEM. */
rp_status rp_json_parse_within(rp_json **out, const void *text, size_t size, size_t limit, bool canonical,
                               const char *where, rp_error *err);
/* The same within RP_JSON_MEMORY. */
rp_status rp_json_parse(rp_json **out, const void *text, size_t size, bool canonical, const char *where, rp_error *err);
/* What a canonical text's values are counted as: whoever writes a text for others keeps to their limits, or nobody
 * could read it. */
size_t rp_json_memory(const void *text, size_t size);

/* Who takes the parts of a text that are too many to be held: each is read like any value, handed over and forgotten,
 * and what it counted is given back. */
typedef struct rp_json_taker {
    const char *const *list; /* the elements of the arrays under these keys of the text's object, in order; or, when */
    size_t lists;            /* there are none, the members of the text's object as they stand: doubles are not seen */
    /* key: of the array, or of the member. The value lasts until take returns, or as long as take shares it. What take
     * returns but RP_OK ends the parse. */
    rp_status (*take)(void *self, const char *key, rp_json *value, rp_error *err);
    void *self;
} rp_json_taker;

/* rp_json_parse_within, but for what goes to the taker: in *out those arrays, or that object, have no members. A list
 * that is no array is a value like others. Errors: RP_EARG for a canonical text without lists; what take returns. */
rp_status rp_json_parse_parts(rp_json **out, const void *text, size_t size, size_t limit, bool canonical,
                              const rp_json_taker *to, const char *where, rp_error *err);

/* ---- looking at a value; NULL is a value of no kind ---- */

bool rp_json_is_object(const rp_json *value);
bool rp_json_is_array(const rp_json *value);
bool rp_json_is_string(const rp_json *value);
bool rp_json_is_integer(const rp_json *value);
bool rp_json_is_boolean(const rp_json *value);
bool rp_json_is_true(const rp_json *value);
bool rp_json_is_false(const rp_json *value);
bool rp_json_is_null(const rp_json *value);

const char *rp_json_string_value(const rp_json *value); /* UTF-8 without NUL, lives as long as value; NULL: no string */
size_t rp_json_string_length(const rp_json *value);     /* in bytes */
int64_t rp_json_integer_value(const rp_json *value);    /* 0: no integer */
size_t rp_json_array_size(const rp_json *value);        /* 0: no array */
size_t rp_json_object_size(const rp_json *value);       /* 0: no object */
/* Borrowed from the array or object; NULL where there is none. An object is searched in logarithmic time. */
rp_json *rp_json_array_get(const rp_json *array, size_t index);
rp_json *rp_json_object_get(const rp_json *object, const char *key);
/* Same kind and content, at every level. */
bool rp_json_equal(const rp_json *a, const rp_json *b);

/* The members of an object in the order of their keys. The object is not changed meanwhile. */
typedef struct rp_json_walk {
    const rp_json *object;
    uint32_t first, second; /* private */
} rp_json_walk;

bool rp_json_walk_next(rp_json_walk *walk, const char **key, rp_json **value);
#define rp_json_object_foreach(of, key, value) \
    for (rp_json_walk key##_walk = {(of), 0, 0}; rp_json_walk_next(&key##_walk, &(key), &(value));)
#define rp_json_array_foreach(of, index, value) \
    for ((index) = 0; (index) < rp_json_array_size(of) && ((value) = rp_json_array_get(of, index)) != NULL; (index)++)

/* ---- building values; each is freed by rp_json_free ---- */

rp_json *rp_json_object(void); /* these return NULL when memory runs out */
rp_json *rp_json_array(void);
rp_json *rp_json_integer(int64_t integer);
rp_json *rp_json_boolean(bool truth); /* never NULL, as rp_json_null */
rp_json *rp_json_null(void);
rp_json *rp_json_string(const char *text); /* a copy; NULL also when text is NULL or no UTF-8 */
rp_json *rp_json_stringn(const char *text, size_t length);
/* From a format and its values, as nested as the format: {s:V, ...} an object, [V, ...] an array, and for V also s
 * (const char *), i (int), I (int64_t), b (int), n (null), o and O (rp_json *, which is taken or shared); s? and O?:
 * null for NULL. Spaces, commas and colons only serve the reader. NULL when memory runs out or an argument is NULL or
 * no UTF-8; what was to be taken is then freed. */
rp_json *rp_json_pack(const char *format, ...);

/* 0, or -1 when memory runs out, value is NULL, the key no UTF-8, or the container none that was built. A member of the
 * same key is replaced. _new takes the value, also on failure; the others share it. A container is not put into itself.
 */
int rp_json_object_set(rp_json *object, const char *key, rp_json *value);
int rp_json_object_set_new(rp_json *object, const char *key, rp_json *value);
int rp_json_object_del(rp_json *object, const char *key); /* -1 also when there is none */
int rp_json_array_append(rp_json *array, rp_json *value);
int rp_json_array_append_new(rp_json *array, rp_json *value);
/* One more owner of the value; returns it. */
rp_json *rp_json_share(rp_json *value);
/* One owner less; NULL is fine. */
void rp_json_free(rp_json *value);
/* Built, down to the last value, whatever the original is; NULL when memory runs out. */
rp_json *rp_json_deep_copy(const rp_json *value);

/* ---- writing ---- */

/* Appends the canonical form. Errors: RP_ENOMEM; RP_EARG for NULL, an integer out of range, nesting over RP_JSON_DEPTH.
 */
rp_status rp_json_write(const rp_json *value, rp_buffer *out, rp_error *err);
/* RP_EBITS by rp_differs, with both values in canonical form; NULL is "nothing". Errors: RP_ENOMEM. */
rp_status rp_json_differs(rp_error *err, const char *member, const char *value, const rp_json *recorded,
                          const rp_json *made);

#endif
