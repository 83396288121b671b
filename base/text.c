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

/* What Unicode 15 calls default ignorable (DerivedCoreProperties), with the controls, ends of lines, marks of direction
 * and annotations that it does not: in ascending order. */
static const struct {
    uint32_t first, last;
} unseen[] = {
    {0x01, 0x1F},     {0x7F, 0x9F},       {0xAD, 0xAD},       {0x34F, 0x34F},     {0x61C, 0x61C},
    {0x115F, 0x1160}, {0x17B4, 0x17B5},   {0x180B, 0x180F},   {0x200B, 0x200F},   {0x2028, 0x202E},
    {0x2060, 0x206F}, {0x3164, 0x3164},   {0xFE00, 0xFE0F},   {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0},
    {0xFFF0, 0xFFFB}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF},
};

/* Without looking behind the text's end: no byte of a character is 0. */
static uint32_t decode(const unsigned char *at, size_t *length)
{
    const size_t more = at[0] < 0x80 ? 0 : at[0] >= 0xF0 ? 3 : at[0] >= 0xE0 ? 2 : at[0] >= 0xC0 ? 1 : 0;
    uint32_t code = more ? at[0] & (0x3Fu >> more) : at[0];

    *length = 1 + more;
    for (size_t i = 1; i <= more; i++) {
        if ((at[i] & 0xC0) != 0x80)
            return 0;
        code = code << 6 | (at[i] & 0x3F);
    }
    return code;
}

size_t rp_unseen(const unsigned char *at)
{
    size_t length;
    const uint32_t code = at[0] >= 0x80 && at[0] < 0xC0 ? 0 : decode(at, &length);

    for (size_t i = 0; code && i < sizeof unseen / sizeof *unseen && unseen[i].first <= code; i++)
        if (code <= unseen[i].last)
            return length;
    return 0;
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

bool rp_parse_bytes(uint64_t *out, const char *text)
{
    static const struct {
        const char *name;
        uint64_t bytes;
    } unit[] = {{"", 1},          {"kB", 1000},     {"MB", 1000000},  {"GB", 1000000000},        {"TB", 1000000000000},
                {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", (uint64_t)1 << 40}};
    const size_t digits = strspn(text, "0123456789");
    int64_t number;

    if (digits == 0 || !rp_parse_i64(&number, text, digits) || number == 0)
        return false;
    for (size_t i = 0; i < sizeof unit / sizeof *unit; i++)
        if (strcmp(text + digits, unit[i].name) == 0) {
            *out = (uint64_t)number * unit[i].bytes;
            return (uint64_t)number <= (uint64_t)INT64_MAX / unit[i].bytes;
        }
    return false;
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

/* ---- quoting ---- */

/* Whether the character at `at` may stand as it is. *length: its bytes, 1 where it is no character. */
static bool is_shown(const unsigned char *at, const unsigned char *end, size_t *length)
{
    const size_t n = rp_utf8(at, end);

    *length = n > 0 ? n : 1;
    return n == 1 ? *at >= 0x20 && *at < 0x7F : n > 1 && rp_unseen(at) == 0;
}

char *rp_printable(char *out, size_t size, const char *text, size_t length)
{
    const unsigned char *at = (const unsigned char *)text, *end = at + length;
    size_t used = 0, fits = 0; /* fits: what leaves room for three dots */

    while (at < end) {
        size_t n;
        const bool shown = is_shown(at, end, &n);
        const size_t wide = shown ? n : 1;

        if (used + wide >= size)
            break;
        if (shown)
            memcpy(out + used, at, n);
        else
            out[used] = '?';
        used += wide;
        at += n;
        fits = used + 4 <= size ? used : fits;
    }
    if (at < end && size > 4) {
        memcpy(out + fits, "...", 3);
        used = fits + 3;
    }
    out[used] = '\0';
    return out;
}

int rp_fits(const char *text, size_t most)
{
    const unsigned char *at = (const unsigned char *)text;
    const size_t length = strlen(text);
    size_t used = 0;

    if (length <= most)
        return (int)length;
    while (used < most) {
        size_t n = rp_utf8(at + used, at + length);

        n = n > 0 ? n : 1;
        if (used + n > most)
            break;
        used += n;
    }
    return (int)used;
}

void rp_make_utf8(char *text)
{
    unsigned char *at = (unsigned char *)text, *end = at + strlen(text);

    while (at < end) {
        const size_t n = rp_utf8(at, end);

        if (n == 0)
            *at = '?';
        at += n > 0 ? n : 1;
    }
}
