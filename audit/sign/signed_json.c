/* SPDX-License-Identifier: Apache-2.0
 * Fixed keys and bounded values of signed JSON. */
#include "audit/sign/signed_json.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/text.h"

rp_fields rp_fields_begin(const rp_json *object, const char *name, const char *where, rp_error *err)
{
    rp_fields f = {object, where, name, 0, RP_OK, err};

    if (!rp_json_is_object(object))
        f.status = rp_fail(err, RP_ESIGN, "%s: %s is not an object", where, name);
    return f;
}

void rp_fields_refuse(rp_fields *f, const char *key, const char *expected)
{
    if (f->status == RP_OK)
        f->status = rp_fail(f->err, RP_ESIGN, "%s: %s.%s: expected %s", f->where, f->name, key, expected);
}

/* NULL after a mistake, and where the key is missing, which is one. */
static const rp_json *next(rp_fields *f, const char *key)
{
    const rp_json *value = f->status == RP_OK ? rp_json_object_get(f->object, key) : NULL;

    if (value == NULL)
        rp_fields_refuse(f, key, "a value, found none");
    else
        f->read++;
    return value;
}

rp_fields rp_fields_object(rp_fields *parent, const char *key)
{
    const rp_json *value = next(parent, key);
    rp_fields f = {value, parent->where, key, 0, parent->status, parent->err};

    if (value != NULL && !rp_json_is_object(value)) {
        rp_fields_refuse(parent, key, "an object");
        f.status = parent->status;
    }
    return f;
}

bool rp_text_fits(const char *text, size_t size)
{
    size_t length = strlen(text);

    if (length == 0 || length >= size || text[0] == ' ' || text[length - 1] == ' ')
        return false;
    for (const char *c = text; *c; c++)
        if (*c < 0x20 || *c > 0x7E)
            return false;
    return true;
}

/* That the rest is UTF-8 the JSON parser sees to, or its writer. */
bool rp_line_fits(const char *text, size_t size)
{
    size_t length = strlen(text);

    if (length == 0 || length >= size)
        return false;
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (rp_unseen(c))
            return false;
    return true;
}

static void copy(rp_fields *f, const char *key, char *out, size_t size, const char *text, bool fits, const char *what)
{
    char expected[96];

    (void)snprintf(expected, sizeof expected, "%s of 1 to %zu bytes", what, size - 1);
    if (!fits)
        rp_fields_refuse(f, key, expected);
    else
        memcpy(out, text, strlen(text) + 1);
}

void rp_fields_text(rp_fields *f, const char *key, char *out, size_t size)
{
    const rp_json *value = next(f, key);
    const char *text = rp_json_string_value(value);

    if (value != NULL)
        copy(f, key, out, size, text, text != NULL && rp_text_fits(text, size), "printable ASCII");
}

bool rp_fields_null(rp_fields *f, const char *key)
{
    return rp_json_is_null(rp_json_object_get(f->object, key)) && next(f, key) != NULL;
}

void rp_fields_text_or_null(rp_fields *f, const char *key, char *out, size_t size)
{
    if (rp_fields_null(f, key))
        out[0] = '\0';
    else
        rp_fields_text(f, key, out, size);
}

void rp_fields_line(rp_fields *f, const char *key, char *out, size_t size)
{
    const rp_json *value = next(f, key);
    const char *text = rp_json_string_value(value);

    if (value != NULL)
        copy(f, key, out, size, text, text != NULL && rp_line_fits(text, size), "a line of text");
}

/* Two digits at text, or -1. */
static int pair(const char *text)
{
    return text[0] >= '0' && text[0] <= '9' && text[1] >= '0' && text[1] <= '9' ? 10 * (text[0] - '0') + text[1] - '0'
                                                                                : -1;
}

bool rp_time_valid(const char *text)
{
    static const char form[] = "dddd-dd-ddTdd:dd:ddZ";
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year, month, day;

    if (strlen(text) != sizeof form - 1)
        return false;
    for (size_t i = 0; i < sizeof form - 1; i++)
        if (form[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != form[i])
            return false;
    year = 100 * pair(text) + pair(text + 2);
    month = pair(text + 5);
    day = pair(text + 8);
    if (year < 1970 || month < 1 || month > 12 || day < 1)
        return false;
    if (day > days[month - 1] + (month == 2 && year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)))
        return false;
    return pair(text + 11) < 24 && pair(text + 14) < 60 && pair(text + 17) < 60;
}

void rp_time_write(char out[RP_TIME_TEXT], int64_t at)
{
    time_t moment = (time_t)at;
    struct tm parts;

    if (gmtime_r(&moment, &parts) == NULL || strftime(out, RP_TIME_TEXT, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0 ||
        !rp_time_valid(out))
        strcpy(out, "1970-01-01T00:00:00Z");
}

void rp_fields_time(rp_fields *f, const char *key, char out[RP_TIME_TEXT])
{
    const rp_json *value = next(f, key);
    const char *text = rp_json_string_value(value);

    if (value == NULL)
        return;
    if (text == NULL || !rp_time_valid(text))
        rp_fields_refuse(f, key, "a time such as 2026-11-21T15:04:05Z");
    else
        memcpy(out, text, RP_TIME_TEXT);
}

void rp_fields_count(rp_fields *f, const char *key, uint64_t *out, uint64_t low, uint64_t high)
{
    const rp_json *value = next(f, key);
    int64_t number = rp_json_integer_value(value);
    char expected[80];

    if (value == NULL)
        return;
    (void)snprintf(expected, sizeof expected, "an integer from %llu to %llu", (unsigned long long)low,
                   (unsigned long long)high);
    if (!rp_json_is_integer(value) || number < 0 || (uint64_t)number < low || (uint64_t)number > high)
        rp_fields_refuse(f, key, expected);
    else
        *out = (uint64_t)number;
}

void rp_fields_bool(rp_fields *f, const char *key, bool *out)
{
    const rp_json *value = next(f, key);

    if (value != NULL && !rp_json_is_boolean(value))
        rp_fields_refuse(f, key, "true or false");
    *out = rp_json_is_true(value);
}

void rp_fields_choice(rp_fields *f, const char *key, int *out, const char *const *names, size_t count)
{
    const rp_json *value = next(f, key);
    const char *text = rp_json_string_value(value);
    char expected[96] = "one of";

    if (value == NULL)
        return;
    for (size_t i = 0; i < count; i++) {
        if (text != NULL && strcmp(text, names[i]) == 0) {
            *out = (int)i;
            return;
        }
        strncat(expected, " ", sizeof expected - strlen(expected) - 1);
        strncat(expected, names[i], sizeof expected - strlen(expected) - 1);
    }
    rp_fields_refuse(f, key, expected);
}

void rp_fields_join(rp_fields *f, const rp_fields *child)
{
    if (f->status == RP_OK)
        f->status = child->status;
}

rp_status rp_fields_end(rp_fields *f)
{
    if (f->status == RP_OK && rp_json_object_size(f->object) != f->read)
        f->status = rp_fail(f->err, RP_ESIGN, "%s: %s has %zu keys, expected %zu", f->where, f->name,
                            rp_json_object_size(f->object), f->read);
    return f->status;
}
