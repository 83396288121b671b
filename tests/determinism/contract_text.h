/* SPDX-License-Identifier: Apache-2.0
 * Worked examples as determinism/CONTRACT.md has them: its text, a place in it, and the hexadecimal words that follow.
 * Include after <cmocka.h>. */
#ifndef TESTS_DETERMINISM_CONTRACT_TEXT_H
#define TESTS_DETERMINISM_CONTRACT_TEXT_H

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The whole text, allocated with malloc. */
static inline char *contract_text(void)
{
    FILE *file = fopen(RP_SOURCE_DIR "/determinism/CONTRACT.md", "rb");
    char *text;
    size_t size;

    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    size = (size_t)ftell(file);
    rewind(file);
    text = malloc(size + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, size, file), size);
    text[size] = '\0';
    (void)fclose(file);
    return text;
}

/* Behind words, which must stand once between heading and the next heading. */
static inline const char *contract_at(const char *text, const char *heading, const char *words)
{
    const char *from = strstr(text, heading), *end, *at, *again;

    if (from == NULL)
        fail_msg("the contract has no \"%s\"", heading);
    end = strstr(from + 1, "\n##");
    at = strstr(from, words);
    if (at == NULL || (end != NULL && at > end))
        fail_msg("%s has no \"%s\"", heading, words);
    again = strstr(at + 1, words);
    if (again != NULL && (end == NULL || again < end))
        fail_msg("%s has \"%s\" more than once", heading, words);
    return at + strlen(words);
}

/* The next count words of exactly digits hexadecimal digits; commas, quotes and white space between them are passed
 * over, anything else ends the test. */
static inline void contract_words(const char *at, size_t count, size_t digits, uint64_t *out)
{
    for (size_t i = 0; i < count; i++) {
        char *end;

        at += strspn(at, " \n`,");
        out[i] = strtoull(at, &end, 16);
        if ((size_t)(end - at) != digits || isalnum((unsigned char)*end))
            fail_msg("word %zu of %zu: expected %zu hexadecimal digits, found \"%.24s\"", i, count, digits, at);
        at = end;
    }
}

#endif
