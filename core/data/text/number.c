/* SPDX-License-Identifier: Apache-2.0
 * What a text is by itself. A cell's number without its dress: prefix, suffix and separators are taken off, and what is
 * left is read as any decimal (CONTRACT 9.2, 9a.1). Groups of digits are checked, so that 1,5 is never 15. */
#include "core/data/text/number.h"

#include <string.h>

#include "determinism/decimal.h"

enum { DRESSED_MAX = 1024 }; /* bytes of a cell that may have a dress; longer ones are text */

typedef struct span {
    const char *at, *end;
} span;

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The longest of the texts that the span begins with (or ends with) is taken off, with the spaces behind it. Returns
 * its number from 1, or 0. */
static unsigned char take_off(span *s, const rp_texts *texts, bool front)
{
    size_t longest = 0;
    unsigned char found = 0;

    for (size_t i = 0; i < texts->count; i++) {
        size_t length = strlen(texts->text[i]);

        if (length > longest && length <= (size_t)(s->end - s->at) &&
            memcmp(front ? s->at : s->end - length, texts->text[i], length) == 0) {
            longest = length;
            found = (unsigned char)(i + 1);
        }
    }
    if (found == 0)
        return 0;
    if (front)
        for (s->at += longest; s->at < s->end && *s->at == ' ';)
            s->at++;
    else
        for (s->end -= longest; s->at < s->end && s->end[-1] == ' ';)
            s->end--;
    return found;
}

static bool take_sign(span *s, char **out)
{
    if (s->at == s->end || (*s->at != '+' && *s->at != '-'))
        return false;
    *(*out)++ = *s->at++;
    return true;
}

static size_t count_digits(const span *s)
{
    size_t n = 0;

    while (s->at + n < s->end && is_digit(s->at[n]))
        n++;
    return n;
}

static char *copy(char *out, span *s, size_t n)
{
    memcpy(out, s->at, n);
    s->at += n;
    return out + n;
}

/* The digits in front of the decimal sign. With a separator there are 1 to 3 of them, then groups of 3. */
static bool take_integer(span *s, const char *thousands, char **out)
{
    size_t n = count_digits(s), width = thousands != NULL ? strlen(thousands) : 0;
    bool grouped = false;

    *out = copy(*out, s, n);
    while (width > 0 && (size_t)(s->end - s->at) >= width && memcmp(s->at, thousands, width) == 0) {
        if (!grouped && (n == 0 || n > 3))
            return false;
        grouped = true;
        s->at += width;
        if (count_digits(s) != 3)
            return false;
        *out = copy(*out, s, 3);
    }
    return true;
}

/* The plain spelling, into out [DRESSED_MAX]; 0 when there is none. */
static size_t undress(const rp_reading *rules, const char *text, size_t length, char *out, rp_dress *dress)
{
    span s = {text, text + length};
    char *to = out;
    bool sign;

    if (length > DRESSED_MAX)
        return 0;
    sign = take_sign(&s, &to);
    dress->prefix = take_off(&s, &rules->prefix, true);
    if (!sign)
        (void)take_sign(&s, &to);
    dress->suffix = take_off(&s, &rules->suffix, false);
    if (!take_integer(&s, rules->thousands, &to))
        return 0;
    if (s.at < s.end && *s.at == rules->decimal) {
        *to++ = '.';
        s.at++;
        to = copy(to, &s, count_digits(&s));
    }
    if (s.at < s.end && *s.at != 'e' && *s.at != 'E')
        return 0;
    to = copy(to, &s, (size_t)(s.end - s.at));
    return (size_t)(to - out);
}

bool rp_number_f64(const rp_reading *rules, const char *text, size_t length, double *out, int *places, rp_dress *dress)
{
    char plain[DRESSED_MAX];

    *dress = (rp_dress){0, 0};
    if (!rules->dressed)
        return rp_parse_f64_places(out, places, text, length);
    length = undress(rules, text, length, plain, dress);
    return rp_parse_f64_places(out, places, plain, length);
}

bool rp_number_f32(const rp_reading *rules, const char *text, size_t length, float *out)
{
    char plain[DRESSED_MAX];
    rp_dress dress;

    if (!rules->dressed)
        return rp_parse_f32(out, text, length);
    length = undress(rules, text, length, plain, &dress);
    return rp_parse_f32(out, plain, length);
}

static bool same_word(const char *text, size_t length, const char *lower)
{
    if (length != strlen(lower))
        return false;
    for (size_t i = 0; i < length; i++)
        if ((text[i] >= 'A' && text[i] <= 'Z' ? text[i] + ('a' - 'A') : text[i]) != lower[i])
            return false;
    return true;
}

rp_cell_class rp_cell_classify(const rp_reading *rules, const char *text, size_t length, double *number, int *places,
                               rp_dress *dress)
{
    size_t sign = length > 0 && (text[0] == '+' || text[0] == '-');

    if (rp_number_f64(rules, text, length, number, places, dress))
        return *number - *number == 0 ? RP_CELL_NUMBER : RP_CELL_NOT_FINITE;
    text += sign;
    length -= sign;
    if (same_word(text, length, "nan") || same_word(text, length, "inf") || same_word(text, length, "infinity"))
        return RP_CELL_NOT_FINITE;
    return RP_CELL_TEXT;
}

bool rp_text_missing(const rp_recipe *recipe, const char *text)
{
    if (!recipe->data.missing_first[(unsigned char)text[0]])
        return false;
    for (size_t i = 0; i < recipe->data.n_missing; i++)
        if (strcmp(text, recipe->data.missing[i]) == 0)
            return true;
    return false;
}
