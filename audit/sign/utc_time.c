/* SPDX-License-Identifier: Apache-2.0
 * The proleptic Gregorian calendar in integers. */
#include "audit/sign/utc_time.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { DAY = 86400 };
#define LAST INT64_C(253402300799) /* 9999-12-31T23:59:59Z */

/* Days since 1970-01-01. The year is taken to begin in March, so that the leap day is its last. */
static int64_t days(int year, int month, int day)
{
    int64_t y = year - (month <= 2), era = y / 400, of_era = y - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static int month_days(int year, int month)
{
    static const int of[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    return of[month - 1] + (month == 2 && year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
}

static int number(const char *text, int digits)
{
    int value = 0;

    for (int i = 0; i < digits; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -1;
        value = value * 10 + (text[i] - '0');
    }
    return value;
}

bool rp_moment_exists(int year, int month, int day, int hour, int minute, int second)
{
    return year >= 0 && month >= 1 && month <= 12 && day >= 1 && day <= month_days(year, month) && hour >= 0 &&
           hour <= 23 && minute >= 0 && minute <= 59 && second >= 0 && second <= 59;
}

bool rp_moment_parse(int64_t *out, const char *text)
{
    int year, month, day, hour, minute, second;

    if (strlen(text) != RP_MOMENT_TEXT - 1 || text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' ||
        text[16] != ':' || text[19] != 'Z')
        return false;
    year = number(text, 4);
    month = number(text + 5, 2);
    day = number(text + 8, 2);
    hour = number(text + 11, 2);
    minute = number(text + 14, 2);
    second = number(text + 17, 2);
    if (year < 1970 || !rp_moment_exists(year, month, day, hour, minute, second))
        return false;
    *out = days(year, month, day) * DAY + hour * 3600 + minute * 60 + second;
    return true;
}

const char *rp_moment_text(char out[RP_MOMENT_TEXT], int64_t seconds)
{
    int64_t left;
    int year = 1970, month = 1;

    if (seconds < 0 || seconds > LAST)
        return strcpy(out, "?");
    left = seconds / DAY;
    year = (int)(1970 + left / 366); /* never too late; at most 22 steps short */
    while (days(year + 1, 1, 1) <= left)
        year++;
    left -= days(year, 1, 1);
    for (; left >= month_days(year, month); month++)
        left -= month_days(year, month);
    (void)snprintf(out, RP_MOMENT_TEXT, "%04u-%02u-%02uT%02u:%02u:%02uZ", (unsigned)year % 10000, (unsigned)month % 100,
                   (unsigned)(left + 1) % 100, (unsigned)(seconds / 3600 % 24), (unsigned)(seconds / 60 % 60),
                   (unsigned)(seconds % 60));
    return out;
}

bool rp_moment_of_asn1(int64_t *out, const ASN1_TIME *time)
{
    struct tm parts;

    if (time == NULL || ASN1_TIME_to_tm(time, &parts) != 1 || parts.tm_year < 0)
        return false;
    *out = days(parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday) * DAY + parts.tm_hour * 3600 +
           parts.tm_min * 60 + parts.tm_sec;
    return true;
}
