/* SPDX-License-Identifier: Apache-2.0
 * Guesses at texts: a number with spaces, a currency, a percent sign, a decimal comma or grouped digits, or a date.
 * They serve messages only. */
#include "core/data/text/dress.h"

#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { LOOKED_AT = 64 }; /* bytes of a cell */

static const char *const currencies[] = {"$",   "\xE2\x82\xAC", "\xC2\xA3", "\xC2\xA5", "\xE2\x82\xB9", "US$", "R$",
                                         "CHF", "EUR",          "USD",      "GBP",      "JPY",          "CNY", "INR",
                                         "SEK", "NOK",          "DKK",      "AUD",      "CAD",          "PLN", "CZK",
                                         "Rs.", "Rs",           "Fr.",      "kr"};
static const char *const parts[] = {"%", "\xE2\x80\xB0"}; /* of a hundred, of a thousand */

typedef struct span {
    const char *at, *end;
} span;

static size_t left(const span *s)
{
    return (size_t)(s->end - s->at);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t digits_at(const char *at, const char *end)
{
    size_t n = 0;

    while (at + n < end && is_digit(at[n]))
        n++;
    return n;
}

/* A space, a tab, or a no-break space. */
static size_t space_at(const char *at, const char *end)
{
    if (at < end && (*at == ' ' || *at == '\t'))
        return 1;
    return end - at >= 2 && memcmp(at, "\xC2\xA0", 2) == 0 ? 2 : 0;
}

static bool trim(span *s)
{
    const span before = *s;
    size_t n;

    while ((n = space_at(s->at, s->end)) > 0)
        s->at += n;
    for (;;)
        if (s->end > s->at && space_at(s->end - 1, s->end) == 1)
            s->end--;
        else if (left(s) >= 2 && space_at(s->end - 2, s->end) == 2)
            s->end -= 2;
        else
            break;
    return s->at != before.at || s->end != before.end;
}

static const char *longest(const span *s, const char *const *texts, size_t count, bool front)
{
    const char *found = NULL;

    for (size_t i = 0; i < count; i++) {
        size_t n = strlen(texts[i]);

        if (n <= left(s) && memcmp(front ? s->at : s->end - n, texts[i], n) == 0 &&
            (found == NULL || n > strlen(found)))
            found = texts[i];
    }
    return found;
}

static void take_front(span *s, rp_dress_seen *seen)
{
    const char *found = longest(s, currencies, COUNT(currencies), true);

    if (found == NULL)
        return;
    s->at += strlen(found);
    (void)trim(s);
    snprintf(seen->prefix, sizeof seen->prefix, "%s", found);
}

static void take_back(span *s, rp_dress_seen *seen)
{
    const char *found = longest(s, parts, COUNT(parts), false);

    if (found == NULL)
        found = longest(s, currencies, COUNT(currencies), false);
    if (found == NULL)
        return;
    s->end -= strlen(found);
    (void)trim(s);
    snprintf(seen->suffix, sizeof seen->suffix, "%s", found);
}

static bool take_sign(span *s)
{
    if (left(s) == 0 || (*s->at != '-' && *s->at != '+'))
        return false;
    s->at++;
    return true;
}

/* What divides digits, or 0 bytes. */
static size_t separator_at(const span *s)
{
    static const char *const known[] = {",", ".", " ", "'", "_", "\xC2\xA0", "\xE2\x80\xAF", "\xE2\x80\x99"};

    for (size_t i = 0; i < COUNT(known); i++)
        if (strlen(known[i]) <= left(s) && memcmp(s->at, known[i], strlen(known[i])) == 0)
            return strlen(known[i]);
    return 0;
}

/* The sign of decimals and what divides groups, in digits with separators between them. False for no number. */
static bool take_digits(span *s, rp_dress_seen *seen)
{
    size_t n = digits_at(s->at, s->end), first = n, groups = 0, width;
    char sign[4] = "";

    for (s->at += n; (width = separator_at(s)) > 0; s->at += width + n) {
        n = digits_at(s->at + width, s->end);
        if (n != 3 && *s->at != '.' && *s->at != ',') /* words may follow */
            break;
        if (groups > 0 && (strlen(sign) != width || memcmp(sign, s->at, width) != 0)) {
            if (*s->at != '.' && *s->at != ',') /* the second sign is the decimal's */
                return false;
            seen->comma_decimal |= *s->at == ',';
            memcpy(seen->thousands, sign, sizeof sign);
            s->at += 1 + n;
            return first <= 3;
        }
        snprintf(sign, sizeof sign, "%.*s", (int)width, s->at);
        if (n != 3 || first == 0 || first > 3) { /* no group: a point, if it is the only one */
            if (groups > 0 || first + n == 0 || (sign[0] != '.' && sign[0] != ','))
                return false;
            seen->comma_decimal |= sign[0] == ',';
            s->at += 1 + n;
            return true;
        }
        groups++;
    }
    if (groups > 1 || (groups == 1 && sign[0] != ',' && sign[0] != '.'))
        memcpy(seen->thousands, sign, sizeof sign);
    else if (groups == 1)
        seen->group_or_point = sign[0];
    return first > 0;
}

static bool take_exponent(span *s)
{
    size_t n;

    if (left(s) == 0 || (*s->at != 'e' && *s->at != 'E'))
        return true;
    s->at++;
    (void)take_sign(s);
    n = digits_at(s->at, s->end);
    s->at += n;
    return n > 0;
}

/* One ASCII word. */
static bool is_unit(span *s)
{
    (void)trim(s);
    for (const char *c = s->at; c < s->end; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z')))
            return false;
    return left(s) > 0 && left(s) <= 12;
}

static rp_look look_number(span s, rp_dress_seen *seen)
{
    bool sign;

    seen->spaces = trim(&s);
    if (left(&s) > 2 && *s.at == '(' && s.end[-1] == ')') {
        seen->brackets = true;
        s.at++;
        s.end--;
        (void)trim(&s);
    }
    sign = take_sign(&s);
    take_front(&s, seen);
    if (!sign)
        (void)take_sign(&s);
    take_back(&s, seen);
    if (!take_digits(&s, seen) || !take_exponent(&s))
        return RP_LOOK_TEXT;
    if (left(&s) == 0)
        return RP_LOOK_NUMBER;
    if (s.at[-1] == '.') /* 2. Married: a place in a list */
        return RP_LOOK_TEXT;
    return is_unit(&s) ? RP_LOOK_UNIT : RP_LOOK_TEXT;
}

/* 2024-01-31, 31.12.2024, 12/31/24: three numbers with one sign between them, one of them a year. */
static bool look_date(span s, bool *iso)
{
    size_t width[3];
    char sign = 0;

    (void)trim(&s);
    for (int i = 0; i < 3; i++) {
        width[i] = digits_at(s.at, s.end);
        if (width[i] == 0 || width[i] > 4 || width[i] == 3)
            return false;
        s.at += width[i];
        if (i == 2)
            break;
        if (left(&s) == 0 || (*s.at != '-' && *s.at != '/' && *s.at != '.') || (i == 1 && *s.at != sign))
            return false;
        sign = *s.at++;
    }
    if (left(&s) > 0 && *s.at != ' ' && *s.at != 'T')
        return false;
    *iso = sign == '-' && width[0] == 4 && width[1] == 2 && width[2] == 2;
    if (width[1] > 2)
        return false;
    return (width[0] == 4 && width[2] <= 2) || (width[0] <= 2 && (width[2] == 4 || (width[2] == 2 && sign != '.')));
}

/* Jan, Sept or January. */
static bool is_month(const char *word, size_t n)
{
    static const char *const months[] = {"January", "February", "March",     "April",   "May",      "June",
                                         "July",    "August",   "September", "October", "November", "December"};

    for (size_t i = 0; i < COUNT(months); i++)
        if ((n == 3 || n == strlen(months[i]) || (n == 4 && i == 8)) && memcmp(word, months[i], n) == 0)
            return true;
    return false;
}

static size_t letters_at(const char *c, const char *end)
{
    size_t n = 0;

    while (c + n < end && ((c[n] >= 'a' && c[n] <= 'z') || (c[n] >= 'A' && c[n] <= 'Z')))
        n++;
    return n;
}

/* Jan 1 2000, 1-Jan-2000, 1st January 2000, Jan 2000, 1-Jan-00, Jan-00: a month and one or two numbers, a year among
 * them. */
static bool look_named_date(span s)
{
    size_t width[2] = {0}, numbers = 0, months = 0;
    bool joined = true; /* by hyphens, no blank */

    (void)trim(&s);
    for (const char *c = s.at; c < s.end;) {
        const size_t digits = digits_at(c, s.end), letters = letters_at(c, s.end);

        if (digits > 0 && (digits > 4 || digits == 3 || numbers == COUNT(width)))
            return false;
        if (digits > 0)
            width[numbers++] = digits;
        else if (letters > 0 && is_month(c, letters))
            months++;
        else if (letters > 0 && (letters != 2 || c == s.at || c[-1] < '0' || c[-1] > '9')) /* 1st */
            return false;
        else if (letters == 0 && strchr(" -/.,", *c) == NULL)
            return false;
        joined = joined && (digits > 0 || letters > 0 || *c == '-');
        c += digits > 0 ? digits : letters > 0 ? letters : 1;
    }
    if (months != 1 || numbers == 0)
        return false;
    if (numbers == 1)
        return width[0] == 4 || (width[0] == 2 && joined);
    return (width[0] == 4) != (width[1] == 4) || (width[0] <= 2 && width[1] == 2);
}

static void add(rp_dress_seen *to, const rp_dress_seen *one)
{
    to->spaces |= one->spaces;
    to->brackets |= one->brackets;
    to->comma_decimal |= one->comma_decimal;
    if (to->prefix[0] == '\0')
        memcpy(to->prefix, one->prefix, sizeof to->prefix);
    if (to->suffix[0] == '\0')
        memcpy(to->suffix, one->suffix, sizeof to->suffix);
    if (to->thousands[0] == '\0')
        memcpy(to->thousands, one->thousands, sizeof to->thousands);
    if (to->group_or_point == 0)
        to->group_or_point = one->group_or_point;
}

rp_look rp_dress_look(const char *text, rp_dress_seen *seen)
{
    const size_t length = strlen(text);
    const span all = {text, text + length};
    rp_dress_seen one = {0};
    bool iso = false;
    rp_look look;

    if (length == 0 || length > LOOKED_AT)
        return RP_LOOK_TEXT;
    if (look_date(all, &iso) || look_named_date(all)) {
        if (seen != NULL)
            seen->iso_date |= iso;
        return RP_LOOK_DATE;
    }
    look = look_number(all, &one);
    if (look == RP_LOOK_NUMBER && seen != NULL)
        add(seen, &one);
    return look;
}

/* The ambiguous sign is a decimal's where groups have another one, or where a decimal comma was seen. */
static void settle(const rp_dress_seen *seen, char *decimal, const char **thousands)
{
    static const char *const sign[2] = {",", "."};

    *decimal = seen->comma_decimal ? ',' : '.';
    *thousands = seen->thousands;
    if (seen->thousands[0] == '.')
        *decimal = ',';
    if (seen->thousands[0] == '\0' && seen->group_or_point != 0 && seen->group_or_point != *decimal)
        *thousands = sign[seen->group_or_point == '.'];
}

char *rp_dress_keys(char *out, size_t size, const rp_dress_seen *seen)
{
    const char *thousands, *comma = "";
    char decimal;
    size_t used = (size_t)snprintf(out, size, "data: {");

    settle(seen, &decimal, &thousands);
#define KEY(...) (used += (size_t)snprintf(out + used, size - used, __VA_ARGS__), comma = ", ")
    if (seen->spaces)
        KEY("strip: true");
    if (seen->prefix[0] != '\0')
        KEY("%sprefix: [\"%s\"]", comma, seen->prefix);
    if (decimal == ',')
        KEY("%sdecimal: \",\"", comma);
    if (thousands[0] != '\0')
        KEY("%sthousands: \"%s\"", comma, thousands);
    if (seen->suffix[0] != '\0')
        KEY("%ssuffix: [\"%s\"]", comma, seen->suffix);
#undef KEY
    used += (size_t)snprintf(out + used, size - used, "}");
    if (thousands[0] == ',' && seen->thousands[0] == '\0')
        (void)snprintf(out + used, size - used, " (or decimal: \",\" where 1,234 means 1.234)");
    if (used == strlen("data: {}"))
        (void)snprintf(out, size, "no key reads it so: write it as a plain number");
    return out;
}
