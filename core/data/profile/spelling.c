/* SPDX-License-Identifier: Apache-2.0
 * Categories that differ from another one as a slip of the hand or another program's export makes them differ: in case,
 * in spaces at an end, in how a number is written (CONTRACT 9.9). Each is a feature of its own, so it is told. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "core/data/profile/private.h"
#include "core/data/schema.h"
#include "determinism/decimal.h"

enum { SPELLINGS = 4096 };

/* A category without spaces and tabs at its ends; a number where it is one. */
typedef struct spelling {
    const char *at;
    size_t length;
    const rp_word *word;
    double number; /* NaN: none */
} spelling;

static spelling spelling_of(const rp_word *word)
{
    spelling s = {word->at, word->length, word, 0};
    double number;

    for (; s.length > 0 && (*s.at == ' ' || *s.at == '\t'); s.length--)
        s.at++;
    while (s.length > 0 && (s.at[s.length - 1] == ' ' || s.at[s.length - 1] == '\t'))
        s.length--;
    s.number = rp_parse_f64(&number, s.at, s.length) && number - number == 0 ? number : (double)NAN;
    return s;
}

/* In ASCII, whatever the locale. */
static unsigned char lower(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
}

static int compare_letters(const spelling *a, const spelling *b)
{
    for (size_t i = 0; i < a->length && i < b->length; i++)
        if (lower(a->at[i]) != lower(b->at[i]))
            return lower(a->at[i]) < lower(b->at[i]) ? -1 : 1;
    return (a->length > b->length) - (a->length < b->length);
}

/* 0: one differs from the other in spelling only. Numbers come before texts. */
static int compare_spellings(const spelling *a, const spelling *b)
{
    const bool x = a->number == a->number, y = b->number == b->number;

    if (x != y)
        return x ? -1 : 1;
    return x ? (a->number > b->number) - (a->number < b->number) : compare_letters(a, b);
}

/* Equal ones in the order of the file. */
static int compare_in_file(const void *p, const void *q)
{
    const spelling *a = p, *b = q;
    const int order = compare_spellings(a, b);

    return order != 0 ? order : (a->word->first > b->word->first) - (a->word->first < b->word->first);
}

static bool same_but_for_spaces(const spelling *a, const spelling *b)
{
    return a->length == b->length && memcmp(a->at, b->at, a->length) == 0;
}

typedef struct repeats {
    size_t count;                 /* categories that repeat an earlier one */
    const spelling *first, *like; /* the first of them in the file, and the one that it repeats */
    bool spaces;                  /* all of them differ in spaces alone */
} repeats;

static repeats find(const spelling *s, size_t n)
{
    repeats r = {.spaces = true};
    const spelling *like = s;

    for (size_t i = 1; i < n; i++) {
        if (compare_spellings(like, &s[i]) != 0) {
            like = &s[i];
            continue;
        }
        r.count++;
        r.spaces = r.spaces && same_but_for_spaces(like, &s[i]);
        if (r.first != NULL && r.first->word->first < s[i].word->first)
            continue;
        r.first = &s[i];
        r.like = like;
    }
    return r;
}

static rp_status tell(const rp_beside *b, const repeats *r, size_t categories)
{
    const rp_table *table = b->cells->table;
    char label[RP_LABEL_SIZE], found[RP_QUOTED_SIZE], like[RP_QUOTED_SIZE], text[RP_TEXT_SHOWN];
    rp_buffer words = {0};
    rp_finding finding = {.code = "category_spelling",
                          .column = b->view->col,
                          .row = r->first->word->first,
                          .count = r->count,
                          .text = rp_table_text(table, r->first->word->first, b->view->col, text, sizeof text)};
    rp_status status;

    rp_buffer_printf(
        &words,
        "%s, line %zu: the category \"%s\" differs from \"%s\" of line %zu only in spelling, as %zu of %zu "
        "do from an earlier one; each has a feature of its own: %s",
        rp_column_label(label, sizeof label, table, b->view->col), rp_table_line(table, finding.row),
        rp_cell_quoted(found, sizeof found, table, finding.row, b->view->col),
        rp_cell_quoted(like, sizeof like, table, r->like->word->first, b->view->col),
        rp_table_line(table, r->like->word->first), r->count, categories,
        r->spaces ? "data.strip: true takes the spaces off"
                  : "correct the cells if they are one (data.strip: true takes spaces off, no key joins "
                    "the rest)");
    rp_buffer_u8(&words, 0);
    finding.words = (const char *)words.data;
    status = words.failed ? rp_no_memory(b->cells->err) : rp_profile_add(b->profile, b->cells, &finding);
    rp_buffer_free(&words);
    return status;
}

rp_status rp_find_spellings(const rp_beside *b)
{
    const rp_dictionary *words = &b->cells->table->column[b->view->col].words;
    spelling *s;
    repeats r;
    rp_status status;

    if (b->kind != RP_COL_CATEGORICAL || words->count < 2 || words->count > SPELLINGS)
        return RP_OK;
    s = rp_reallocarray(NULL, words->count, sizeof *s);
    if (s == NULL)
        return rp_no_memory(b->cells->err);
    for (size_t i = 0; i < words->count; i++)
        s[i] = spelling_of(&words->word[i]);
    qsort(s, words->count, sizeof *s, compare_in_file);
    r = find(s, words->count);
    status = r.count > 0 ? tell(b, &r, words->count) : RP_OK;
    rp_free(s);
    return status;
}
