/* SPDX-License-Identifier: Apache-2.0
 * Walking a JSON text of many parts without holding them all: where each begins and ends, and no more. */
#include "base/json.h"

/* Behind the closing quote of a string whose opening quote is at `at`, or end. */
static const char *string_end(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        at += *at == '\\' && at + 1 < end;
    return at < end ? at + 1 : end;
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
    int64_t depth = 0;

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
    const char *at = text, *end;

    *parts = (rp_json_parts){0};
    if (size == 0)
        return false;
    end = at + size;
    at = skip_space(at, end);
    while (end > at && skip_space(end - 1, end) == end)
        end--;
    if (end - at < 2)
        return false;
    *parts = (rp_json_parts){.object = *at == '{', .at = at + 1, .end = end - 1};
    return ((*at == '{' && end[-1] == '}') || (*at == '[' && end[-1] == ']'));
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
