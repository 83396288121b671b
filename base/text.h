/* SPDX-License-Identifier: Apache-2.0
 * Small helpers for texts. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The candidate that word is most likely a slip of: at most one letter in three is wrong, missing, too many or in its
 * neighbour's place. NULL when there is none: a far-fetched word helps nobody. */
const char *rp_nearest(const char *word, const char *const *candidates, size_t count);
/* Copies text into out[size], shortened with "..." behind a whole character to fit: for quoting untrusted text in
 * errors. What is no UTF-8, and what a terminal would obey or not show (rp_unseen), is '?'. Returns out. */
char *rp_printable(char *out, size_t size, const char *text, size_t length);
/* The bytes of the first character of NUL-terminated UTF-8, if a terminal or a page would obey it rather than show it,
 * or show nothing: C0, DEL, C1, what ends a line, turns the direction of text or annotates it, and all that Unicode
 * calls default ignorable: soft hyphens, what has no width, variation selectors, tags (audit/FORMAT.md 5.3 lists them).
 * Else 0. */
size_t rp_unseen(const unsigned char *at);
/* The bytes of the well-formed UTF-8 character at `at` (Unicode 15, table 3-7: no surrogates, nothing overlong, nothing
 * beyond U+10FFFF), before end; 0 when there is none. */
size_t rp_utf8(const unsigned char *at, const unsigned char *end);
/* Whether size bytes are such characters and none is NUL. */
bool rp_is_utf8(const char *text, size_t size);
/* Bytes of the longest beginning of text that are at most `most` and end behind a character: a precision of %.*s. */
int rp_fits(const char *text, size_t most);
/* Each byte of text that is no part of a well-formed character becomes '?'. */
void rp_make_utf8(char *text);
/* Optional sign, digits only; false on overflow. */
bool rp_parse_i64(int64_t *out, const char *text, size_t length);
/* Digits, and maybe a unit right behind them: kB, MB, GB, TB, KiB, MiB, GiB, TiB; bytes, above 0. False on overflow. */
bool rp_parse_bytes(uint64_t *out, const char *text);
#define RP_BYTES_WORDS "a number of bytes above 0, such as 512MiB, 2GB or 1000000"

#endif
