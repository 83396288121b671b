/* SPDX-License-Identifier: Apache-2.0
 * Strict parsing on jansson, the canonical writer, and walking a text of many parts without holding them all. */
#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_memory.h"
#include "base/memory.h"
#include "base/text.h"

enum { DEPTH_MAX = 64 };
static const json_int_t integer_max = ((json_int_t)1 << 53) - 1;

/* ---- before jansson sees a text ---- */

/* Behind the closing quote of a string whose opening quote is at `at`, or end. */
static const char *string_end(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        at += *at == '\\' && at + 1 < end;
    return at < end ? at + 1 : end;
}

/* Behind the digits at `at` and what makes a number of them not an integer. */
static const char *number_end(const char *at, const char *end, bool *real)
{
    while (at < end && ((*at >= '0' && *at <= '9') || *at == '.' || *at == 'e' || *at == 'E')) {
        *real = *real || *at < '0' || *at > '9';
        at++;
    }
    return at;
}

/* How deep the text nests, and at most how much memory jansson takes for its values: its nodes are many times as large
 * as the shortest texts for them. Strings are passed over so that only structure counts. Reals, which none of our JSON
 * has, are found here, as jansson ends the process when memory runs out inside one. */
static void survey(const char *at, size_t size, int *depth, size_t *memory, bool *real)
{
    const char *const end = at + size;
    int now = 0;

    *depth = 0;
    *memory = size;
    *real = false;
    while (at < end) {
        switch (*at) {
        case '"':
            *memory += 112;
            at = string_end(at, end);
            continue;
        case '{':
        case '[':
            *memory += *at == '{' ? 256 : 176;
            if (++now > *depth)
                *depth = now;
            break;
        case '}':
        case ']':
            now--;
            break;
        case ',':
            *memory += 56;
            break;
        case '0':
        case '1':
        case '2':
        case '3':
        case '4':
        case '5':
        case '6':
        case '7':
        case '8':
        case '9':
            at = number_end(at, end, real);
            continue;
        case ':':
            *memory += 112;
            break;
        default:
            break;
        }
        at++;
    }
}

size_t rp_json_memory(const void *text, size_t size)
{
    size_t memory;
    int depth;
    bool real;

    survey(text, size, &depth, &memory, &real);
    return memory;
}

static const char *skip_space(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
        at++;
    return at;
}

/* Behind the value at `at`: at the comma or bracket that ends it, or end. */
static const char *value_end(const char *at, const char *end)
{
    int depth = 0;

    while (at < end) {
        if (*at == '"') {
            at = string_end(at, end);
            continue;
        }
        if (depth == 0 && (*at == ',' || *at == '}' || *at == ']'))
            return at;
        depth += *at == '{' || *at == '[' ? 1 : *at == '}' || *at == ']' ? -1 : 0;
        at++;
    }
    return end;
}

bool rp_json_split(rp_json_parts *parts, const void *text, size_t size)
{
    const char *at = text, *end = at + size;

    at = skip_space(at, end);
    while (end > at && skip_space(end - 1, end) == end)
        end--;
    *parts = (rp_json_parts){.object = at < end && *at == '{', .at = at + 1, .end = end - 1};
    return end - at >= 2 && ((*at == '{' && end[-1] == '}') || (*at == '[' && end[-1] == ']'));
}

bool rp_json_next(rp_json_parts *parts)
{
    const char *at = parts->at, *end = parts->end;

    if (!parts->begun && skip_space(at, end) == end) {
        parts->at = end;
        return false;
    }
    if (parts->begun) {
        if (at == end || *at != ',')
            return false;
        at++;
    }
    parts->begun = true;
    parts->key = NULL;
    if (parts->object) {
        at = skip_space(at, end);
        parts->key = at;
        if (at == end || *at != '"')
            return false;
        at = string_end(at, end);
        parts->key_size = (size_t)(at - parts->key);
        at = skip_space(at, end);
        if (at == end || *at != ':')
            return false;
        at++;
    }
    parts->value = at;
    parts->at = value_end(at, end);
    parts->value_size = (size_t)(parts->at - at);
    return true;
}

bool rp_json_whole(const rp_json_parts *parts)
{
    return parts->at == parts->end;
}

/* ---- writing ---- */

/* Where canonical text goes: into a buffer, or, without one, beside the text it should be. */
typedef struct sink {
    rp_buffer *out;
    const unsigned char *expected;
    size_t size, at; /* of the expected text; how much of it is right */
    bool differs;
} sink;

static void put(sink *s, const void *text, size_t size)
{
    const unsigned char *from = text;

    if (s->out != NULL) {
        rp_buffer_append(s->out, text, size);
        return;
    }
    for (size_t i = 0; i < size && !s->differs; i++) {
        s->differs = s->at == s->size || s->expected[s->at] != from[i];
        s->at += !s->differs;
    }
}

static void put_text(sink *s, const char *text)
{
    put(s, text, strlen(text));
}

static void write_string(const char *text, size_t length, sink *out)
{
    static const char escaped[] = "\"\\\b\f\n\r\t", letter[] = "\"\\bfnrt";
    size_t plain = 0; /* begin of what is not written yet */

    put_text(out, "\"");
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        const char *known = c ? strchr(escaped, c) : NULL;
        char code[8] = {'\\', known ? letter[known - escaped] : 0};

        if (c >= 0x20 && known == NULL)
            continue;
        if (known == NULL)
            (void)snprintf(code, sizeof code, "\\u%04x", c);
        put(out, text + plain, i - plain);
        put_text(out, code);
        plain = i + 1;
    }
    put(out, text + plain, length - plain);
    put_text(out, "\"");
}

/* RFC 8785 orders keys by their UTF-16: that is the order of the UTF-8 bytes, but for the characters beyond U+FFFF (F0
 * and above), whose surrogates come before U+E000 to U+FFFF (EE, EF). */
static int by_key(const void *a, const void *b)
{
    const unsigned char *x = *(const unsigned char *const *)a, *y = *(const unsigned char *const *)b;

    while (*x && *x == *y)
        x++, y++;
    if ((*x >= 0xF0 && (*y == 0xEE || *y == 0xEF)) || (*y >= 0xF0 && (*x == 0xEE || *x == 0xEF)))
        return *x >= 0xF0 ? -1 : 1;
    return *x - *y;
}

static rp_status write_value(const json_t *value, sink *out, int depth, rp_error *err);

static rp_status write_object(const json_t *value, sink *out, int depth, rp_error *err)
{
    size_t count = json_object_size(value), n = 0;
    const char **keys = rp_malloc(count * sizeof *keys);
    const char *key;
    json_t *item;
    rp_status status = RP_OK;

    if (!keys)
        return rp_no_memory(err);
    json_object_foreach ((json_t *)value, key, item)
        keys[n++] = key;
    qsort(keys, n, sizeof *keys, by_key);
    put_text(out, "{");
    for (size_t i = 0; i < n && status == RP_OK; i++) {
        if (i)
            put_text(out, ",");
        write_string(keys[i], strlen(keys[i]), out);
        put_text(out, ":");
        status = write_value(json_object_get(value, keys[i]), out, depth + 1, err);
    }
    put_text(out, "}");
    rp_free(keys);
    return status;
}

static rp_status write_value(const json_t *value, sink *out, int depth, rp_error *err)
{
    rp_status status = RP_OK;
    char number[24];

    if (depth > DEPTH_MAX)
        return rp_fail(err, RP_EARG, "JSON nested deeper than %d", DEPTH_MAX);
    switch (value ? json_typeof(value) : JSON_REAL) {
    case JSON_OBJECT:
        return write_object(value, out, depth, err);
    case JSON_ARRAY:
        put_text(out, "[");
        for (size_t i = 0; i < json_array_size(value) && status == RP_OK; i++) {
            if (i)
                put_text(out, ",");
            status = write_value(json_array_get(value, i), out, depth + 1, err);
        }
        put_text(out, "]");
        return status;
    case JSON_STRING:
        write_string(json_string_value(value), json_string_length(value), out);
        return RP_OK;
    case JSON_INTEGER:
        if (json_integer_value(value) > integer_max || json_integer_value(value) < -integer_max)
            return rp_fail(err, RP_EARG, "JSON integer %lld is beyond 2^53 - 1", (long long)json_integer_value(value));
        (void)snprintf(number, sizeof number, "%lld", (long long)json_integer_value(value));
        put_text(out, number);
        return RP_OK;
    case JSON_TRUE:
        put_text(out, "true");
        return RP_OK;
    case JSON_FALSE:
        put_text(out, "false");
        return RP_OK;
    case JSON_NULL:
        put_text(out, "null");
        return RP_OK;
    default:
        return rp_fail(err, RP_EARG, "canonical JSON has no reals: write the number as a string");
    }
}

rp_status rp_json_write(const json_t *value, rp_buffer *out, rp_error *err)
{
    rp_status status = write_value(value, &(sink){.out = out}, 0, err);

    return status == RP_OK ? rp_buffer_status(out, err) : status;
}

/* ---- reading ---- */

/* Beside the text, not into memory of its own. */
static rp_status check_canonical(const json_t *value, const void *bytes, size_t size, const char *where, rp_error *err)
{
    sink beside = {.expected = bytes, .size = size};
    rp_status status = write_value(value, &beside, 0, err);

    if (status == RP_EARG)
        return rp_fail_at(err, RP_EFORMAT, "%s", where);
    if (status == RP_OK && (beside.differs || beside.at != size))
        return rp_fail(err, RP_EFORMAT, "%s: JSON is not in canonical form (first difference at byte %zu)", where,
                       beside.at);
    return status;
}

rp_status rp_json_parse_within(json_t **out, const void *bytes, size_t size, size_t limit, bool canonical,
                               const char *where, rp_error *err)
{
    json_error_t detail = {0};
    char quoted[JSON_ERROR_TEXT_LENGTH];
    bool enough;
    json_t *value;
    size_t memory;
    int depth;
    bool real;
    rp_status status = RP_OK;

    *out = NULL;
    survey(bytes, size, &depth, &memory, &real);
    if (depth > DEPTH_MAX) /* jansson recurses as deep as the text does */
        return rp_fail(err, RP_EFORMAT, "%s: JSON nested deeper than %d", where, DEPTH_MAX);
    if (memory > limit)
        return rp_fail(err, RP_EFORMAT,
                       "%s: JSON of %zu bytes whose values take up to %zu MiB of memory, at most %zu are allowed",
                       where, size, memory >> 20, limit >> 20);
    if (real)
        return rp_fail(err, RP_EFORMAT, "%s: JSON with a number that is not an integer", where);
    rp_json_memory_begin();
    value = json_loadb(bytes, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &detail);
    enough = rp_json_memory_end();
    if (!enough) {
        json_decref(value);
        return rp_no_memory(err);
    }
    if (!value)
        return rp_fail(err, RP_EFORMAT, "%s: invalid JSON at line %d, column %d: %s", where, detail.line, detail.column,
                       rp_printable(quoted, sizeof quoted, detail.text, strlen(detail.text)));
    if (canonical)
        status = check_canonical(value, bytes, size, where, err);
    if (status != RP_OK)
        json_decref(value);
    else
        *out = value;
    return status;
}

rp_status rp_json_parse(json_t **out, const void *bytes, size_t size, bool canonical, const char *where, rp_error *err)
{
    return rp_json_parse_within(out, bytes, size, RP_JSON_MEMORY, canonical, where, err);
}
