/* SPDX-License-Identifier: Apache-2.0
 * Small helpers for messages. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stddef.h>

/* The candidate within edit distance max(2, length / 3) nearest to word, or NULL. */
const char *rp_nearest(const char *word, const char *const *candidates, size_t count);
/* Copies text into out[size], replacing bytes outside printable ASCII by '?', shortened with "..." to fit: for
 * quoting untrusted text in errors. Returns out. */
char *rp_printable(char *out, size_t size, const char *text, size_t length);

#endif
