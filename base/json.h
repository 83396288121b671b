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
rp_status rp_json_parse(json_t **out, const void *bytes, size_t size, bool canonical, const char *where,
                        rp_error *err);
/* Appends the canonical form. Errors: RP_ENOMEM; RP_EARG for a real or an integer out of range. */
rp_status rp_json_write(const json_t *value, rp_buffer *out, rp_error *err);

#endif
