/* SPDX-License-Identifier: Apache-2.0
 * Dates in texts, and what they become (CONTRACT 9.2a). */
#include "core/recipe/date.h"

#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { DAY_SECONDS = 86400 };

const char *const rp_date_part_names[RP_DATE_PARTS] = {"days",    "year",        "quarter", "month",  "day",
                                                       "weekday", "day_of_year", "hour",    "seconds"};

static const char *const month_names[] = {"january", "february", "march",     "april",   "may",      "june",
                                          "july",    "august",   "september", "october", "november", "december"};

/* ---- the calendar ---- */

static bool is_leap(int year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static int month_days(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    return days[month - 1] + (month == 2 && is_leap(year));
}

/* Years begin in March here, so that the day that comes and goes is the last. */
int64_t rp_date_days(int year, int month, int day)
{
    const int64_t y = year - (month <= 2), m = month > 2 ? month - 3 : month + 9;

    return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 719469;
}

int64_t rp_date_seconds(const rp_moment *m)
{
    return rp_date_days(m->year, m->month, m->day) * DAY_SECONDS + m->hour * 3600 + m->minute * 60 + m->second;
}

int64_t rp_date_part_of(const rp_date_rule *rule, rp_date_part part, const rp_moment *m)
{
    const int64_t days = rp_date_days(m->year, m->month, m->day);

    switch (part) {
    case RP_DATE_YEAR:
        return m->year;
    case RP_DATE_QUARTER:
        return (m->month + 2) / 3;
    case RP_DATE_MONTH:
        return m->month;
    case RP_DATE_DAY:
        return m->day;
    case RP_DATE_WEEKDAY: /* 1970-01-01 was a Thursday; the shift makes days positive, by whole weeks */
        return (days + 719470) % 7 + 1;
    case RP_DATE_DAY_OF_YEAR:
        return days - rp_date_days(m->year, 1, 1) + 1;
    case RP_DATE_HOUR:
        return m->hour;
    case RP_DATE_SECONDS:
        return rp_date_seconds(m) - rule->since * DAY_SECONDS;
    default:
        return days - rule->since;
    }
}

char *rp_date_print(char out[RP_MOMENT_SIZE], int64_t seconds)
{
    const int64_t first = rp_date_days(1, 1, 1), days = seconds / DAY_SECONDS - (seconds % DAY_SECONDS < 0);
    const int rest = (int)(seconds - days * DAY_SECONDS);
    int year = (int)((days - first) / 366) + 1, month = 1, used;

    while (year < 9999 && rp_date_days(year + 1, 1, 1) <= days)
        year++;
    while (month < 12 && rp_date_days(year, month + 1, 1) <= days)
        month++;
    used = snprintf(out, RP_MOMENT_SIZE, "%04d-%02d-%02d", year % 10000, month,
                    (int)(days - rp_date_days(year, month, 1) + 1) % 100);
    if (rest != 0)
        (void)snprintf(out + used, (size_t)(RP_MOMENT_SIZE - used), "T%02u:%02u:%02u", (unsigned)rest / 3600 % 100,
                       (unsigned)rest / 60 % 60, (unsigned)rest % 60);
    return out;
}

static bool exists(const rp_moment *m)
{
    return m->year >= 1 && m->month >= 1 && m->month <= 12 && m->day >= 1 && m->day <= month_days(m->year, m->month) &&
           m->hour <= 23 && m->minute <= 59 && m->second <= 59;
}

/* ---- texts ---- */

typedef struct span {
    const char *at, *end;
} span;

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Digits, as many as there are up to most. */
static bool take_digits(span *s, int least, int most, int *out)
{
    int n = 0;

    *out = 0;
    for (; n < most && s->at < s->end && is_digit(*s->at); n++)
        *out = 10 * *out + (*s->at++ - '0');
    return n >= least;
}

static bool take_char(span *s, char c)
{
    if (s->at == s->end || *s->at != c)
        return false;
    s->at++;
    return true;
}

/* An English month, its first letters or all, in any case. */
static bool take_month(span *s, bool whole, int *out)
{
    for (size_t i = 0; i < COUNT(month_names); i++) {
        const size_t n = whole ? strlen(month_names[i]) : 3;
        size_t k = 0;

        while (k < n && s->at + k < s->end && (s->at[k] | 0x20) == month_names[i][k])
            k++;
        if (k < n)
            continue;
        s->at += n;
        *out = (int)i + 1;
        return true;
    }
    return false;
}

/* Behind the day: a time, with seconds and parts of them or without, and Z or an offset of 0. */
static bool take_iso_time(span *s, rp_moment *m)
{
    int dropped;

    if (s->at == s->end)
        return true;
    if (!take_char(s, 'T') && !take_char(s, ' '))
        return false;
    if (!take_digits(s, 2, 2, &m->hour) || !take_char(s, ':') || !take_digits(s, 2, 2, &m->minute))
        return false;
    if (take_char(s, ':')) {
        if (!take_digits(s, 2, 2, &m->second))
            return false;
        if (take_char(s, '.') && !take_digits(s, 1, 9, &dropped))
            return false;
    }
    if (take_char(s, 'Z'))
        return s->at == s->end;
    if (s->end - s->at == 6 && memcmp(s->at, "+00:00", 6) == 0)
        s->at += 6;
    return s->at == s->end;
}

static bool read_iso(span s, rp_moment *m)
{
    *m = (rp_moment){.day = 1};
    return take_digits(&s, 4, 4, &m->year) && take_char(&s, '-') && take_digits(&s, 2, 2, &m->month) &&
           take_char(&s, '-') && take_digits(&s, 2, 2, &m->day) && take_iso_time(&s, m) && exists(m);
}

static bool take_field(span *s, char letter, int64_t pivot, rp_moment *m)
{
    switch (letter) {
    case 'Y':
        return take_digits(s, 4, 4, &m->year);
    case 'y':
        if (!take_digits(s, 2, 2, &m->year))
            return false;
        m->year += m->year >= pivot ? 1900 : 2000;
        return true;
    case 'm':
        return take_digits(s, 1, 2, &m->month);
    case 'b':
    case 'B':
        return take_month(s, letter == 'B', &m->month);
    case 'd':
        return take_digits(s, 1, 2, &m->day);
    case 'H':
        return take_digits(s, 1, 2, &m->hour);
    case 'M':
        return take_digits(s, 1, 2, &m->minute);
    default:
        return take_digits(s, 1, 2, &m->second);
    }
}

bool rp_date_read(const char *format, int64_t pivot, const char *text, size_t length, rp_moment *out)
{
    span s = {text, text + length};

    if (strcmp(format, "iso") == 0)
        return read_iso(s, out);
    *out = (rp_moment){.month = 1, .day = 1};
    for (const char *f = format; *f != '\0'; f++) {
        const bool field = *f == '%';

        f += field;
        if (field && *f != '%' ? !take_field(&s, *f, pivot, out) : !take_char(&s, *f))
            return false;
    }
    return s.at == s.end && exists(out);
}

bool rp_date_read_iso(const char *text, rp_moment *out)
{
    return read_iso((span){text, text + strlen(text)}, out);
}

/* ---- formats ---- */

bool rp_date_format_short(const char *format)
{
    if (strcmp(format, "iso") == 0)
        return false;
    for (const char *f = strchr(format, '%'); f != NULL && f[1] != '\0'; f = strchr(f + 2, '%'))
        if (f[1] == 'y')
            return true;
    return false;
}

/* A finer unit without its coarser one has no meaning. */
static const char *check_units(const bool *has)
{
    enum { YEAR, MONTH, DAY, HOUR, MINUTE, SECOND };

    if (!has[YEAR])
        return "it has no year, %Y or %y";
    if ((has[DAY] && !has[MONTH]) || (has[HOUR] && !has[DAY]) || (has[MINUTE] && !has[HOUR]) ||
        (has[SECOND] && !has[MINUTE]))
        return "a unit stands in it without the next greater one";
    return NULL;
}

bool rp_date_format_check(const char *format, const char **wrong)
{
    static const char letters[] = "YymbBdHMS", unit[] = "001112345";
    bool has[6] = {false};

    *wrong = NULL;
    if (strcmp(format, "iso") == 0)
        return true;
    for (const char *f = format; *f != '\0' && *wrong == NULL; f++) {
        const char *letter;

        if (*f < ' ' || *f > '~')
            *wrong = "it has a character that is not printable ASCII";
        if (*f != '%' || *++f == '%')
            continue;
        letter = *f != '\0' ? strchr(letters, *f) : NULL;
        if (letter == NULL)
            *wrong = "behind % stands none of Y y m b B d H M S %";
        else if (has[unit[letter - letters] - '0'])
            *wrong = "a unit stands in it twice";
        else
            has[unit[letter - letters] - '0'] = true;
        if (letter == NULL)
            break;
    }
    if (*wrong == NULL)
        *wrong = check_units(has);
    return *wrong == NULL;
}
