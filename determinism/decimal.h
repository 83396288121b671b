/* SPDX-License-Identifier: Apache-2.0
 * Decimal to binary and back, correctly rounded (nearest even) and blind to the locale. */
#ifndef DETERMINISM_DECIMAL_H
#define DETERMINISM_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RP_DECIMAL_SIZE = 32 }; /* enough for any shortest decimal and its terminator */

/* Reads exactly length bytes: [+-] digits [. digits] [(e|E) [+-] digits], at least one digit in the mantissa; no
 * spaces, no hex, no inf or nan. Any number of digits is rounded correctly, in memory bounded by a constant.
 * Overflow gives infinity and true; underflow gives subnormals or zero. False when the text is not a number. */
bool rp_parse_f64(double *out, const char *text, size_t length);
/* The same; places is how many decimal places the text has, when that is easily said, else -1. */
bool rp_parse_f64_places(double *out, int *places, const char *text, size_t length);
/* What rp_print_f64 writes, so "inf", "-inf" and "nan" too. */
bool rp_parse_printed_f64(double *out, const char *text, size_t length);
bool rp_parse_f32(float *out, const char *text, size_t length); /* rounded once, not through binary64 */

/* The shortest decimal that reads back as x (of several the nearest to x), written like ECMAScript Number::toString
 * (0.001, 1e-7, 123, 1e+21), "-0" for minus zero, "inf", "-inf", "nan". Returns the length. */
size_t rp_print_f64(char out[RP_DECIMAL_SIZE], double x);
size_t rp_print_f32(char out[RP_DECIMAL_SIZE], float x);

#endif
