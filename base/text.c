/* SPDX-License-Identifier: Apache-2.0
 * Nearest-word suggestions and safe quoting for messages; integers. */
#include "base/text.h"

#include <string.h>

enum { WORD_MAX = 63 };

/* Letters that are wrong, missing, too many, or two that changed places; words longer than WORD_MAX never match. */
static size_t distance(const char *a, const char *b)
{
    size_t row[3][WORD_MAX + 1], na = strlen(a), nb = strlen(b);

    if (na > WORD_MAX || nb > WORD_MAX)
        return WORD_MAX;
    for (size_t j = 0; j <= nb; j++)
        row[0][j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];

        now[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t best = last[j - 1] + (a[i - 1] != b[j - 1]);

            best = last[j] + 1 < best ? last[j] + 1 : best;
            best = now[j - 1] + 1 < best ? now[j - 1] + 1 : best;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            now[j] = best;
        }
    }
    return row[na % 3][nb];
}

const char *rp_nearest(const char *word, const char *const *candidates, size_t count)
{
    size_t limit = strlen(word) / 3;
    const char *best = NULL;

    for (size_t i = 0; i < count; i++) {
        const size_t d = distance(word, candidates[i]);

        if (d > limit || (d == limit && best))
            continue;
        limit = d;
        best = candidates[i];
    }
    return best;
}

char *rp_printable(char *out, size_t size, const char *text, size_t length)
{
    size_t n = length < size ? length : size - 1;

    for (size_t i = 0; i < n; i++)
        out[i] = text[i] >= 0x20 && text[i] < 0x7F ? text[i] : '?';
    out[n] = '\0';
    if (n < length && size > 4)
        memcpy(out + n - 3, "...", 3);
    return out;
}

size_t rp_unseen(const unsigned char *at)
{
    if (at[0] < 0x20 || at[0] == 0x7F)
        return at[0] != 0;
    if (at[0] == 0xC2)
        return at[1] >= 0x80 && at[1] < 0xA0 ? 2 : 0;
    if (at[0] == 0xD8)
        return at[1] == 0x9C ? 2 : 0;
    if (at[0] != 0xE2 || at[1] == 0)
        return 0;
    return (at[1] == 0x80 && (at[2] == 0x8E || at[2] == 0x8F || (at[2] >= 0xA8 && at[2] <= 0xAE))) ||
                   (at[1] == 0x81 && at[2] >= 0xA6 && at[2] <= 0xA9)
               ? 3
               : 0;
}

size_t rp_utf8(const unsigned char *at, const unsigned char *end)
{
    const size_t left = (size_t)(end - at);

    if (left == 0)
        return 0;

    const unsigned char lead = at[0];
    const size_t size = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
    /* what the second byte may be is narrower behind these leads */
    const unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;

    if (size == 0 || size > left || (size > 1 && (at[1] < low || at[1] > high)))
        return 0;
    for (size_t i = 2; i < size; i++)
        if ((at[i] & 0xC0) != 0x80)
            return 0;
    return size;
}

bool rp_parse_i64(int64_t *out, const char *text, size_t length)
{
    size_t at = 0;
    bool negative = false;
    uint64_t value = 0, limit;

    if (at < length && (text[at] == '+' || text[at] == '-'))
        negative = text[at++] == '-';
    limit = (uint64_t)INT64_MAX + negative;
    if (at == length)
        return false;
    for (; at < length; at++) {
        unsigned digit = (unsigned)(text[at] - '0');

        if (text[at] < '0' || text[at] > '9' || value > (limit - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    if (negative)
        *out = value == 0 ? 0 : -(int64_t)(value - 1) - 1;
    else
        *out = (int64_t)value;
    return true;
}

bool rp_is_utf8(const char *text, size_t size)
{
    const unsigned char *at = (const unsigned char *)text, *const end = at + size;

    while (at < end) {
        const size_t bytes = rp_utf8(at, end);

        if (bytes == 0 || *at == 0)
            return false;
        at += bytes;
    }
    return true;
}
