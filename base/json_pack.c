/* SPDX-License-Identifier: Apache-2.0
 * Values from a format and its arguments. A failure does not stop the walk: the arguments that are taken must all be
 * read, to be freed. */
#include <stdarg.h>
#include <string.h>

#include "base/json_private.h"

typedef struct packer {
    const char *at;
    bool failed;
    va_list arguments;
} packer;

static char peek(packer *p)
{
    while (*p->at == ' ' || *p->at == ',' || *p->at == ':')
        p->at++;
    return *p->at;
}

static bool optional(packer *p)
{
    const bool is = *p->at == '?';

    p->at += is;
    return is;
}

static rp_json *pack(packer *p);

static rp_json *pack_object(packer *p)
{
    rp_json *object = rp_json_object();

    while (peek(p) != '}' && *p->at != '\0') {
        p->at++; /* the s of the key */

        const char *key = va_arg(p->arguments, const char *);

        if (rp_json_object_set_new(object, key, pack(p)) != 0)
            p->failed = true;
    }
    p->at += *p->at != '\0';
    return object;
}

static rp_json *pack_array(packer *p)
{
    rp_json *array = rp_json_array();

    while (peek(p) != ']' && *p->at != '\0')
        if (rp_json_array_append_new(array, pack(p)) != 0)
            p->failed = true;
    p->at += *p->at != '\0';
    return array;
}

static rp_json *pack_string(packer *p)
{
    const char *text = va_arg(p->arguments, const char *);

    return optional(p) && text == NULL ? rp_json_null() : rp_json_string(text);
}

static rp_json *pack_value(packer *p, bool share)
{
    rp_json *value = va_arg(p->arguments, rp_json *);

    if (optional(p) && value == NULL)
        return rp_json_null();
    return share ? rp_json_share(value) : value;
}

static rp_json *pack(packer *p)
{
    switch (peek(p) != '\0' ? *p->at++ : '\0') {
    case '{':
        return pack_object(p);
    case '[':
        return pack_array(p);
    case 's':
        return pack_string(p);
    case 'i':
        return rp_json_integer(va_arg(p->arguments, int));
    case 'I':
        return rp_json_integer(va_arg(p->arguments, int64_t));
    case 'b':
        return rp_json_boolean(va_arg(p->arguments, int) != 0);
    case 'n':
        return rp_json_null();
    case 'o':
        return pack_value(p, false);
    case 'O':
        return pack_value(p, true);
    default:
        p->failed = true;
        return NULL;
    }
}

rp_json *rp_json_pack(const char *format, ...)
{
    packer p = {.at = format};
    rp_json *value;

    va_start(p.arguments, format);
    value = pack(&p);
    va_end(p.arguments);
    if (p.failed) {
        rp_json_free(value);
        return NULL;
    }
    return value;
}
