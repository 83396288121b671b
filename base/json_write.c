/* SPDX-License-Identifier: Apache-2.0
 * The canonical form of values. */
#include <stdio.h>
#include <string.h>

#include "base/json_private.h"

static const int64_t integer_max = ((int64_t)1 << 53) - 1;

size_t rp_json_escape(char *out, uint32_t character)
{
    static const char escaped[] = "\"\\\b\f\n\r\t", letter[] = "\"\\bfnrt", digit[] = "0123456789abcdef";
    const char *known = character != 0 && character < 0x80 ? strchr(escaped, (int)character) : NULL;

    if (known != NULL) {
        memcpy(out, (char[]){'\\', letter[known - escaped]}, 2);
        return 2;
    }
    if (character >= 0x20)
        return 0;
    memcpy(out, (char[]){'\\', 'u', '0', '0', digit[character >> 4], digit[character & 15]}, 6);
    return 6;
}

static void write_string(const char *text, size_t length, rp_buffer *out)
{
    size_t plain = 0; /* begin of what is not written yet */

    rp_buffer_append(out, "\"", 1);
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)text[i];
        char code[8];

        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        rp_buffer_append(out, text + plain, i - plain);
        rp_buffer_append(out, code, rp_json_escape(code, c));
        plain = i + 1;
    }
    rp_buffer_append(out, text + plain, length - plain);
    rp_buffer_append(out, "\"", 1);
}

static void write_integer(int64_t integer, rp_buffer *out)
{
    char digits[24], *at = digits + sizeof digits;
    uint64_t rest = integer < 0 ? 0 - (uint64_t)integer : (uint64_t)integer;

    do
        *--at = (char)('0' + rest % 10);
    while ((rest /= 10) != 0);
    if (integer < 0)
        *--at = '-';
    rp_buffer_append(out, at, (size_t)(digits + sizeof digits - at));
}

static rp_status write_value(const rp_json *value, rp_buffer *out, int depth, rp_error *err);

static rp_status write_object(const rp_json *object, rp_buffer *out, int depth, rp_error *err)
{
    rp_status status = RP_OK;
    const char *key, *separator = "{";
    rp_json *value;

    rp_json_object_foreach (object, key, value) {
        rp_buffer_append(out, separator, 1);
        write_string(key, strlen(key), out);
        rp_buffer_append(out, ":", 1);
        if ((status = write_value(value, out, depth + 1, err)) != RP_OK)
            return status;
        separator = ",";
    }
    if (object->count == 0)
        rp_buffer_append(out, "{", 1);
    rp_buffer_append(out, "}", 1);
    return RP_OK;
}

static rp_status write_array(const rp_json *array, rp_buffer *out, int depth, rp_error *err)
{
    rp_status status = RP_OK;

    rp_buffer_append(out, "[", 1);
    for (uint32_t i = 0; i < array->count && status == RP_OK; i++) {
        if (i > 0)
            rp_buffer_append(out, ",", 1);
        status = write_value(array->element[i], out, depth + 1, err);
    }
    rp_buffer_append(out, "]", 1);
    return status;
}

static rp_status write_value(const rp_json *value, rp_buffer *out, int depth, rp_error *err)
{
    switch (value->kind) {
    case JSON_OBJECT:
    case JSON_ARRAY:
        if (depth >= RP_JSON_DEPTH)
            return rp_fail(err, RP_EARG, "JSON nested deeper than %d", RP_JSON_DEPTH);
        return value->kind == JSON_OBJECT ? write_object(value, out, depth, err) : write_array(value, out, depth, err);
    case JSON_STRING:
        write_string(value->text, value->count, out);
        return RP_OK;
    case JSON_INTEGER:
        if (value->integer > integer_max || value->integer < -integer_max)
            return rp_fail(err, RP_EARG, "JSON integer %lld is beyond 2^53 - 1", (long long)value->integer);
        write_integer(value->integer, out);
        return RP_OK;
    case JSON_TRUE:
        rp_buffer_append(out, "true", 4);
        return RP_OK;
    case JSON_FALSE:
        rp_buffer_append(out, "false", 5);
        return RP_OK;
    default:
        rp_buffer_append(out, "null", 4);
        return RP_OK;
    }
}

rp_status rp_json_write(const rp_json *value, rp_buffer *out, rp_error *err)
{
    rp_status status;

    if (value == NULL)
        return rp_fail(err, RP_EARG, "no JSON value to write");
    status = write_value(value, out, 0, err);
    return status == RP_OK ? rp_buffer_status(out, err) : status;
}

rp_status rp_json_differs(rp_error *err, const char *member, const char *value, const rp_json *recorded,
                          const rp_json *made)
{
    rp_buffer text[2] = {{0}, {0}};
    rp_status status = RP_OK;

    for (int i = 0; i < 2 && status == RP_OK; i++) {
        const rp_json *one = i ? made : recorded;

        if (one)
            status = rp_json_write(one, &text[i], err);
        else
            rp_buffer_text(&text[i], "nothing");
        rp_buffer_u8(&text[i], '\0');
        if (status == RP_OK)
            status = rp_buffer_status(&text[i], err);
    }
    if (status == RP_OK)
        status = rp_differs(err, -1, member, value, (const char *)text[0].data, (const char *)text[1].data);
    rp_buffer_free(&text[0]);
    rp_buffer_free(&text[1]);
    return status;
}
