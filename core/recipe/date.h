/* SPDX-License-Identifier: Apache-2.0
 * Dates of a table's cells (CONTRACT 9.2a): the proleptic Gregorian calendar, years 1 to 9999. Pure functions. */
#ifndef CORE_RECIPE_DATE_H
#define CORE_RECIPE_DATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a date can become, each a whole number. */
typedef enum rp_date_part {
    RP_DATE_DAYS, /* since the rule's day */
    RP_DATE_YEAR,
    RP_DATE_QUARTER,
    RP_DATE_MONTH,
    RP_DATE_DAY,
    RP_DATE_WEEKDAY, /* Monday is 1 */
    RP_DATE_DAY_OF_YEAR,
    RP_DATE_HOUR,
    RP_DATE_SECONDS, /* since the rule's day began */
    RP_DATE_PARTS
} rp_date_part;
extern const char *const rp_date_part_names[RP_DATE_PARTS];

typedef struct rp_date_rule {
    char *format;  /* "iso", or a pattern as %d.%m.%Y */
    int64_t pivot; /* of a year of two digits: from it on 19.., below 20.. */
    int64_t since; /* days from 1970-01-01 */
    rp_date_part part[RP_DATE_PARTS];
    size_t n_parts;
} rp_date_rule;

typedef struct rp_moment {
    int year, month, day;
    int hour, minute, second;
} rp_moment;

enum {
    RP_DATE_FORMAT = 64,
    RP_DAY_SIZE = 11,
    RP_MOMENT_SIZE = 20
}; /* bytes of a format; of 2024-03-31; of ...T12:00:00 */

/* Whether a cell can be read by the format; else why not. */
bool rp_date_format_check(const char *format, const char **wrong);
/* Whether the pattern has a year of two digits. */
bool rp_date_format_short(const char *format);
/* The whole text is a date that there is. */
bool rp_date_read(const char *format, int64_t pivot, const char *text, size_t length, rp_moment *out);
/* 2024-03-31, with a time or without: as the format iso. */
bool rp_date_read_iso(const char *text, rp_moment *out);
/* Days from 1970-01-01. */
int64_t rp_date_days(int year, int month, int day);
int64_t rp_date_part_of(const rp_date_rule *rule, rp_date_part part, const rp_moment *moment);
/* Seconds from 1970-01-01T00:00:00, and back as 2024-03-31, with T12:00:00 behind it where the time is not 0. */
int64_t rp_date_seconds(const rp_moment *moment);
char *rp_date_print(char out[RP_MOMENT_SIZE], int64_t seconds);

#endif
