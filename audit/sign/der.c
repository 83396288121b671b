/* SPDX-License-Identifier: Apache-2.0
 * Strict DER by one recursive walk; memory is a frame a level. */
#include "audit/sign/der.h"

#include <string.h>

#include "audit/sign/utc_time.h"

enum { LEVELS = 32, CONSTRUCTED = 0x20, CLASS = 0xC0, NUMBER = 0x1F };
enum {
    BOOLEAN = 1,
    INTEGER,
    BIT_STRING,
    OCTET_STRING,
    NULL_VALUE,
    OBJECT,
    ENUMERATED = 10,
    SEQUENCE = 16,
    SET,
    UTC_TIME = 23,
    GENERALIZED_TIME
};

typedef struct element {
    unsigned char tag;
    const unsigned char *body;
    size_t size;
} element;

static const char *read_element(element *out, const unsigned char **at, const unsigned char *end)
{
    size_t left = (size_t)(end - *at), size, bytes;
    const unsigned char *p = *at;

    if (left < 2)
        return "cut short";
    out->tag = p[0];
    if ((p[0] & NUMBER) == NUMBER)
        return "a tag above 30, which nothing here has";
    size = p[1];
    p += 2;
    left -= 2;
    if (size >= 0x80) {
        bytes = size & 0x7F;
        if (bytes == 0)
            return "a length of no definite form: BER, not DER";
        if (bytes > 4 || bytes > left)
            return "cut short";
        size = 0;
        for (size_t i = 0; i < bytes; i++)
            size = size << 8 | p[i];
        if (size < 0x80 || (bytes > 1 && p[0] == 0))
            return "a length that is longer than it need be: BER, not DER";
        p += bytes;
        left -= bytes;
    }
    if (size > left)
        return "cut short";
    out->body = p;
    out->size = size;
    *at = p + size;
    return NULL;
}

static const char *object_fault(const unsigned char *body, size_t size)
{
    bool first = true; /* byte of a component */

    if (size == 0 || (body[size - 1] & 0x80) != 0)
        return "a broken object identifier";
    for (size_t i = 0; i < size; i++) {
        if (first && body[i] == 0x80)
            return "an object identifier that is not the shortest";
        first = (body[i] & 0x80) == 0;
    }
    return NULL;
}

static const char *bits_fault(const unsigned char *body, size_t size)
{
    if (size == 0 || body[0] > 7 || (size == 1 && body[0] != 0))
        return "a broken bit string";
    return size > 1 && (body[size - 1] & ((1u << body[0]) - 1)) != 0 ? "a bit string with unused bits that are set"
                                                                     : NULL;
}

static int pair(const unsigned char *at)
{
    return 10 * (at[0] - '0') + at[1] - '0';
}

/* Digits as above; of two digits of a year RFC 5280 4.1.2.5.1 makes 1950 to 2049. */
static bool exists(const unsigned char *body, size_t digits)
{
    const unsigned char *rest = body + digits - 10;
    int year = digits == 14 ? 100 * pair(body) + pair(body + 2) : pair(body) + (pair(body) < 50 ? 2000 : 1900);

    return rp_moment_exists(year, pair(rest), pair(rest + 2), pair(rest + 4), pair(rest + 6), pair(rest + 8));
}

/* YYMMDDHHMMSSZ, or with four digits of the year and a fraction that does not end in 0. */
static const char *time_fault(const unsigned char *body, size_t size, size_t digits)
{
    static const char fault[] = "a time that is not in its one form";

    if (size < digits + 1 || body[size - 1] != 'Z')
        return fault;
    for (size_t i = 0; i < size - 1; i++) {
        bool point = i == digits && digits == 14;

        if (point ? body[i] != '.' : body[i] < '0' || body[i] > '9' || (i > digits && digits != 14))
            return fault;
    }
    if (!exists(body, digits))
        return "a time that does not exist";
    if (size == digits + 1)
        return NULL;
    return digits != 14 || size == digits + 2 || body[size - 2] == '0' ? fault : NULL;
}

static const char *value_fault(const element *e)
{
    const unsigned char *body = e->body;

    switch (e->tag) {
    case BOOLEAN:
        return e->size == 1 && (body[0] == 0 || body[0] == 0xFF) ? NULL : "a boolean that is neither 00 nor FF";
    case INTEGER:
    case ENUMERATED:
        if (e->size == 0 || (e->size > 1 && ((body[0] == 0 && body[1] < 0x80) || (body[0] == 0xFF && body[1] >= 0x80))))
            return "an integer that is not the shortest";
        return NULL;
    case BIT_STRING:
        return bits_fault(body, e->size);
    case NULL_VALUE:
        return e->size == 0 ? NULL : "a null with contents";
    case OBJECT:
        return object_fault(body, e->size);
    case UTC_TIME:
        return time_fault(body, e->size, 12);
    case GENERALIZED_TIME:
        return time_fault(body, e->size, 14);
    default:
        return NULL;
    }
}

static const char *walk(const unsigned char *at, const unsigned char *end, int level)
{
    while (at < end) {
        element e;
        const char *fault = read_element(&e, &at, end);
        unsigned number = e.tag & NUMBER;

        if (fault != NULL)
            return fault;
        if ((e.tag & CLASS) == 0) {
            if (number == 0)
                return "a value of tag 0";
            if (((e.tag & CONSTRUCTED) != 0) != (number == SEQUENCE || number == SET))
                return "a string in pieces, or a sequence in none: BER, not DER";
        }
        if ((e.tag & CONSTRUCTED) != 0)
            fault = level + 1 < LEVELS ? walk(e.body, e.body + e.size, level + 1) : "more than 32 levels";
        else
            fault = value_fault(&e);
        if (fault != NULL)
            return fault;
    }
    return NULL;
}

const char *rp_der_fault(const unsigned char *bytes, size_t size)
{
    const unsigned char *at = bytes;
    element e;
    const char *fault = size > 0 ? read_element(&e, &at, bytes + size) : "empty";

    if (fault != NULL)
        return fault;
    if (at != bytes + size)
        return "something follows the value";
    return walk(bytes, bytes + size, 0);
}
