/* SPDX-License-Identifier: Apache-2.0
 * Strict parsing on jansson and the canonical writer. */
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

enum { DEPTH_MAX = 64 };
static const json_int_t integer_max = ((json_int_t)1 << 53) - 1;

/* jansson recurses as deep as the text does; refuse before it starts. Quotes are tracked so that only structure counts. */
static bool too_deep(const char *at, size_t size)
{
    int depth = 0;
    bool quoted = false;

    for (size_t i = 0; i < size; i++) {
        if (quoted) {
            if (at[i] == '\\')
                i++;
            else if (at[i] == '"')
                quoted = false;
        } else if (at[i] == '"') {
            quoted = true;
        } else if (at[i] == '{' || at[i] == '[') {
            if (++depth > DEPTH_MAX)
                return true;
        } else if (at[i] == '}' || at[i] == ']') {
            depth--;
        }
    }
    return false;
}

static void write_string(const char *text, size_t length, rp_buffer *out)
{
    rp_buffer_u8(out, '"');
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];

        switch (c) {
        case '"':
            rp_buffer_text(out, "\\\"");
            break;
        case '\\':
            rp_buffer_text(out, "\\\\");
            break;
        case '\b':
            rp_buffer_text(out, "\\b");
            break;
        case '\f':
            rp_buffer_text(out, "\\f");
            break;
        case '\n':
            rp_buffer_text(out, "\\n");
            break;
        case '\r':
            rp_buffer_text(out, "\\r");
            break;
        case '\t':
            rp_buffer_text(out, "\\t");
            break;
        default:
            if (c < 0x20)
                rp_buffer_printf(out, "\\u%04x", c);
            else
                rp_buffer_u8(out, c);
        }
    }
    rp_buffer_u8(out, '"');
}

static int by_key(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static rp_status write_value(const json_t *value, rp_buffer *out, int depth, rp_error *err);

static rp_status write_object(const json_t *value, rp_buffer *out, int depth, rp_error *err)
{
    size_t count = json_object_size(value), n = 0;
    const char **keys = rp_malloc(count * sizeof *keys);
    const char *key;
    json_t *item;
    rp_status status = RP_OK;

    if (!keys)
        return rp_no_memory(err);
    json_object_foreach((json_t *)value, key, item)
        keys[n++] = key;
    qsort(keys, n, sizeof *keys, by_key);
    rp_buffer_u8(out, '{');
    for (size_t i = 0; i < n && status == RP_OK; i++) {
        if (i)
            rp_buffer_u8(out, ',');
        write_string(keys[i], strlen(keys[i]), out);
        rp_buffer_u8(out, ':');
        status = write_value(json_object_get(value, keys[i]), out, depth + 1, err);
    }
    rp_buffer_u8(out, '}');
    rp_free(keys);
    return status;
}

static rp_status write_value(const json_t *value, rp_buffer *out, int depth, rp_error *err)
{
    rp_status status = RP_OK;

    if (depth > DEPTH_MAX)
        return rp_fail(err, RP_EARG, "JSON nested deeper than %d", DEPTH_MAX);
    switch (value ? json_typeof(value) : JSON_REAL) {
    case JSON_OBJECT:
        return write_object(value, out, depth, err);
    case JSON_ARRAY:
        rp_buffer_u8(out, '[');
        for (size_t i = 0; i < json_array_size(value) && status == RP_OK; i++) {
            if (i)
                rp_buffer_u8(out, ',');
            status = write_value(json_array_get(value, i), out, depth + 1, err);
        }
        rp_buffer_u8(out, ']');
        return status;
    case JSON_STRING:
        write_string(json_string_value(value), json_string_length(value), out);
        return RP_OK;
    case JSON_INTEGER:
        if (json_integer_value(value) > integer_max || json_integer_value(value) < -integer_max)
            return rp_fail(err, RP_EARG, "JSON integer %lld is beyond 2^53 - 1", (long long)json_integer_value(value));
        rp_buffer_printf(out, "%lld", (long long)json_integer_value(value));
        return RP_OK;
    case JSON_TRUE:
        rp_buffer_text(out, "true");
        return RP_OK;
    case JSON_FALSE:
        rp_buffer_text(out, "false");
        return RP_OK;
    case JSON_NULL:
        rp_buffer_text(out, "null");
        return RP_OK;
    default:
        return rp_fail(err, RP_EARG, "canonical JSON has no reals: write the number as a string");
    }
}

rp_status rp_json_write(const json_t *value, rp_buffer *out, rp_error *err)
{
    rp_status status = write_value(value, out, 0, err);

    return status == RP_OK ? rp_buffer_status(out, err) : status;
}

static rp_status check_canonical(const json_t *value, const void *bytes, size_t size, const char *where, rp_error *err)
{
    rp_buffer again = {0};
    rp_status status = rp_json_write(value, &again, err);

    if (status == RP_EARG)
        status = rp_fail_at(err, RP_EFORMAT, "%s", where);
    else if (status == RP_OK && (again.size != size || memcmp(again.data, bytes, size) != 0)) {
        size_t at = 0;

        while (at < size && at < again.size && again.data[at] == ((const unsigned char *)bytes)[at])
            at++;
        status = rp_fail(err, RP_EFORMAT, "%s: JSON is not in canonical form (first difference at byte %zu)", where, at);
    }
    rp_buffer_free(&again);
    return status;
}

rp_status rp_json_parse(json_t **out, const void *bytes, size_t size, bool canonical, const char *where, rp_error *err)
{
    json_error_t detail = {0};
    char quoted[JSON_ERROR_TEXT_LENGTH];
    size_t failures = rp_memory_failures();
    json_t *value;
    rp_status status = RP_OK;

    *out = NULL;
    if (too_deep(bytes, size))
        return rp_fail(err, RP_EFORMAT, "%s: JSON nested deeper than %d", where, DEPTH_MAX);
    value = json_loadb(bytes, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &detail);
    /* jansson does not always say so: where a string's buffer cannot grow, it even returns a value with a shortened string */
    if (rp_memory_failures() != failures) {
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
