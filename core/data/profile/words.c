/* SPDX-License-Identifier: Apache-2.0
 * Findings in words: what was seen, where, and the key that settles it. */
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "core/data/profile/profile.h"

/* In a sentence %c is the column, %n the count, %t the text, %r the rows of the table, %l the line. Some findings have
 * words of their own; what stands here of these is told where no cell may be. */
static const struct {
    const char *code, *words;
} sentences[] = {
    {"batch", "the %n training rows are fewer than train.batch: each step takes all of them"},
    {"bare_number",
     "%c: %n numbers, the first on line %l, have not the prefix or suffix that others of the column have"},
    {"category_spelling",
     "%c: categories that differ from an earlier one only in spelling: %n, the first on line %l; each has a feature of "
     "its own: data.strip: true takes spaces off, the rest is to be corrected if they are one"},
    {"class", "target %c has only %n different values: if they name classes, give train: {task: classification}"},
    {"class_spelling",
     "target %c: line %l has the class \"%t\", which another class differs from only in spelling: they "
     "are two classes now; data.strip: true takes spaces off, the rest is to be corrected if they are one"},
    {"class_spellings",
     "target %c: %n classes differ from another one only in spelling, of which the first are told; is it "
     "a classification's target?"},
    {"conflicts", "%n of %r rows have another row's very features and another target: no model can have both right"},
    {"constant", "%c has the same value \"%t\" in every row: it tells nothing; data.columns: ignore leaves it out"},
    {"delimiter", "there is one column only, and its first line holds %n times \"%t\": is that the file's "
                  "data.delimiter?"},
    {"determines_target", "%c gives the target away by itself in all of %r rows: a copy of it, or known only "
                          "afterwards? data.columns: ignore leaves it out"},
    {"dressed_number", "%c: texts that look like numbers or dates, and are categories: %n, the first on line %l; "
                       "data.columns: {..: categorical} settles it"},
    {"duplicates", "%n of %r rows repeat an earlier row in every column: copies in both parts flatter the validation"},
    {"empty", "%c has no value in any row; data.columns: ignore leaves it out"},
    {"faint",
     "%c: numbers, the first of them on line %l, differ from the others by too little: give the column in another "
     "unit, or data.columns: ignore leaves it out"},
    {"header", "the first line looks like a row, not like names: each of %n could be a cell of its column, as \"%t\" "
               "could; if it is one, data.header: false, or it is in no part"},
    {"identifier",
     "%c (line %l: \"%t\") is a whole number of its own in each row, like an id, a row's number or a date: "
     "data.columns: ignore leaves it out"},
    {"imbalance",
     "target %c: the class \"%t\" has %n of %r rows only: accuracy says little, look at the confusion matrix, "
     "at the trivial model and, of two classes, at the AUC"},
    {"leading_zeros",
     "%c: %n cells, the first on line %l, are read as numbers, without their leading zeros: if they are "
     "codes, data.columns: {..: categorical}"},
    {"many_categories", "%c is text of %n different values, a feature each unless "
                        "rare or woe of the recipe joins them; data.columns: ignore leaves it out"},
    {"many_missing", "%c is missing in %n of %r rows"},
    {"missing_word", "%c: %n words, the first on line %l, are taken for missing values: if one is a category, list the "
                     "words for missing values without it under data.missing"},
    {"mixed", "%c holds numbers and text; in the smaller part are %n cells, first line %l: \"%t\". Correct the cells, "
              "list them under data.missing, or take all as text: data.columns: categorical"},
    {"near_unique", "%c (line %l: \"%t\") is text of %n different values, nearly one a row: names, ids or free text "
                    "teach nothing that holds for new rows; data.columns: ignore leaves it out"},
    {"nearly_determines",
     "%c alone is nearly the target: all but %n of %r rows follow from it; a copy of it, or known only "
     "afterwards? data.columns: ignore leaves it out"},
    {"pooled", "%c: categories of the training rows that are rare and pooled: %n"},
    {"quantity", "%n classes, all of them numbers: if the target %c is a quantity, give train: {task: regression}"},
    {"rounded",
     "%c holds whole numbers beyond 9007199254740992, up to %n digits long, which are rounded to binary64: two "
     "that differ may be equal; if they name something, data.columns: ignore or categorical"},
    {"target_missing",
     "target %c is missing in %n rows, first line %l: fill it in, remove the rows, or data.missing_target: drop"},
    {"time_cut", "%c divides the rows by time: the validation rows begin with the time of line %l"},
    {"unit", "%c: texts of a number with a word behind it, which are categories: %n, the first on line %l; if they are "
             "quantities, data.suffix takes the word off"},
};

static int64_t field(const rp_json *finding, const char *key)
{
    return rp_json_integer_value(rp_json_object_get(finding, key));
}

static void put_text(rp_buffer *out, const char *text)
{
    char quoted[80];

    rp_buffer_text(out, rp_printable(quoted, sizeof quoted, text != NULL ? text : "", text != NULL ? strlen(text) : 0));
}

static void put_column(rp_buffer *out, const rp_json *profile, const rp_json *finding)
{
    int64_t at = field(finding, "column");
    const rp_json *column = rp_json_array_get(rp_json_object_get(profile, "columns"), (size_t)at);
    const char *name = rp_json_string_value(rp_json_object_get(column, "name"));

    if (name == NULL) {
        rp_buffer_printf(out, "column %lld", (long long)at);
        return;
    }
    rp_buffer_text(out, "\"");
    put_text(out, name);
    rp_buffer_text(out, "\"");
}

static const char *sentence_of(const char *code)
{
    for (size_t i = 0; code != NULL && i < sizeof sentences / sizeof *sentences; i++)
        if (strcmp(code, sentences[i].code) == 0)
            return sentences[i].words;
    return NULL;
}

bool rp_finding_has_words(const char *code)
{
    return sentence_of(code) != NULL;
}

void rp_finding_words(rp_buffer *out, const rp_json *profile, const rp_json *finding)
{
    const char *code = rp_json_string_value(rp_json_object_get(finding, "code")), *at = sentence_of(code);
    const char *words = rp_json_string_value(rp_json_object_get(finding, "words"));

    if (words != NULL) {
        rp_buffer_text(out, words);
        return;
    }
    if (at == NULL)
        put_text(out, code);
    for (; at != NULL && *at != '\0'; at++) {
        if (*at != '%') {
            rp_buffer_u8(out, (uint8_t)*at);
            continue;
        }
        switch (*++at) {
        case 'c':
            put_column(out, profile, finding);
            break;
        case 'n':
            rp_buffer_printf(out, "%lld", (long long)field(finding, "count"));
            break;
        case 'r':
            rp_buffer_printf(out, "%lld", (long long)field(profile, "rows"));
            break;
        case 'l':
            rp_buffer_printf(out, "%lld", (long long)field(finding, "line"));
            break;
        default: {
            const char *text = rp_json_string_value(rp_json_object_get(finding, "text"));

            put_text(out, text != NULL && strcmp(text, "\t") == 0 ? "\\t" : text);
        }
        }
    }
}

rp_status rp_profile_tell(rp_buffer *out, const rp_json *profile, rp_error *err)
{
    rp_json *copy = rp_json_deep_copy(profile), *findings = rp_json_object_get(copy, "findings"), *finding;
    bool failed = copy == NULL;
    rp_status status;
    size_t i;

    rp_json_array_foreach (findings, i, finding) {
        rp_buffer words = {0};

        rp_finding_words(&words, profile, finding);
        failed |= words.failed ||
                  rp_json_object_set_new(finding, "words", rp_json_stringn((const char *)words.data, words.size)) != 0;
        rp_buffer_free(&words);
    }
    status = failed ? rp_no_memory(err) : rp_json_write(copy, out, err);
    rp_json_free(copy);
    return status;
}
