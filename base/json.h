/* SPDX-License-Identifier: Apache-2.0
 * Canonical JSON, the only JSON Reprise writes: RFC 8785 restricted to what needs no number formatting rules.
 * Objects (keys sorted by code point, printable ASCII), arrays, strings, integers of at most 2^53 - 1 in
 * magnitude, true, false, null; no spaces; no reals: a real number is a string holding the shortest decimal that
 * reads back as the same binary64 (determinism/decimal.h). Bytes are therefore unique for a value. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <jansson.h>

#include "base/buffer.h"

/* Parses size bytes of JSON; duplicate keys, nesting over 64, trailing bytes, NUL in strings and invalid UTF-8 are
 * refused. where names the text in errors. canonical: also refuse bytes that are not the canonical form.
 * Caller owns *out (json_decref). Errors: RP_EFORMAT with line and column. */
rp_status rp_json_parse(json_t **out, const void *bytes, size_t size, bool canonical, const char *where, rp_error *err);
/* The values in memory are many times as large as the shortest texts for them, so what they may take is bounded: by
 * RP_JSON_MEMORY, or by limit. Errors as above. */
enum { RP_JSON_MEMORY = 48 << 20 };
rp_status rp_json_parse_within(json_t **out, const void *bytes, size_t size, size_t limit, bool canonical,
                               const char *where, rp_error *err);

/* The direct parts of an array or object, one after another, as texts that are to be parsed one by one: for texts with
 * so many parts that together they would take too much memory. No part is checked here, and nothing but white space is
 * skipped around keys. */
typedef struct rp_json_parts {
    const char *key;   /* with its quotes; NULL in an array */
    const char *value; /* with the white space around it */
    size_t key_size, value_size;
    bool object;
    /* private */
    bool begun;
    const char *at, *end;
} rp_json_parts;

/* False when the text does not begin and end as an array or object. */
bool rp_json_split(rp_json_parts *parts, const void *text, size_t size);
/* The next part; false at the end, or where no part can be found. */
bool rp_json_next(rp_json_parts *parts);
/* After rp_json_next said false: whether that was the end of the text. */
bool rp_json_whole(const rp_json_parts *parts);

/* Appends the canonical form. Errors: RP_ENOMEM; RP_EARG for a real or an integer out of range. */
rp_status rp_json_write(const json_t *value, rp_buffer *out, rp_error *err);

#endif
