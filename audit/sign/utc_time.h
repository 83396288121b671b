/* SPDX-License-Identifier: Apache-2.0
 * Times as seconds since 1970 in UTC, without time zones, locales or the C library's idea of either. */
#ifndef AUDIT_SIGN_UTC_TIME_H
#define AUDIT_SIGN_UTC_TIME_H

#include <openssl/asn1.h>
#include <stdbool.h>
#include <stdint.h>

enum { RP_MOMENT_TEXT = 21 };

/* "2026-11-21T15:04:05Z" exactly, years 1970 to 9999; false for anything else. */
bool rp_moment_parse(int64_t *out, const char *text);
/* Whether the calendar and the clock have such a moment; any year, no leap seconds. */
bool rp_moment_exists(int year, int month, int day, int hour, int minute, int second);
/* The same written; seconds outside those years give "?". Returns out. */
const char *rp_moment_text(char out[RP_MOMENT_TEXT], int64_t seconds);
/* Fractions of a second are cut off. */
bool rp_moment_of_asn1(int64_t *out, const ASN1_TIME *time);

#endif
