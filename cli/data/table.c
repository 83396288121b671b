/* SPDX-License-Identifier: Apache-2.0
 * What a table holds, in aligned lines: a line a column, then what deserves a word. */
#include "cli/data/table.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/print.h"

enum { FIELDS = 10, FIELD_TEXT = 40, EXAMPLES_TEXT = 64 };
static const char *const heads[FIELDS] = {"column", "kind", "because of", "missing", "distinct",
                                          "min",    "25 %", "median",     "75 %",    "max"};

/* The fields of one line, and its example cells. */
typedef struct line {
    char field[FIELDS][FIELD_TEXT];
    char examples[EXAMPLES_TEXT];
} line;

static const char *text_at(const rp_json *object, const char *key)
{
    const char *text = rp_json_string_value(rp_json_object_get(object, key));

    return text ? text : "";
}

static void put_number(char out[FIELD_TEXT], const char *decimal)
{
    char rounded[RP_NUMBER_TEXT];

    if (strlen(decimal) > 9)
        decimal = rp_rounded(rounded, decimal, 4);
    (void)snprintf(out, FIELD_TEXT, "%.*s", FIELD_TEXT - 1, decimal);
}

static void put_examples(char out[EXAMPLES_TEXT], const rp_json *list)
{
    rp_json *item;
    size_t i, used = 0;

    out[0] = '\0';
    rp_json_array_foreach (list, i, item) {
        const char *text = rp_json_string_value(item);
        char quoted[20];

        if (text)
            used += (size_t)snprintf(out + used, EXAMPLES_TEXT - used, "%s%s", i ? ", " : "",
                                     rp_printable(quoted, sizeof quoted, text, strlen(text)));
        if (used >= EXAMPLES_TEXT)
            return;
    }
}

static void fill(line *l, const rp_json *column, size_t at)
{
    static const int places[] = {0, 2, 3, 4, 6};
    const rp_json *name = rp_json_object_get(column, "name"), *quantiles = rp_json_object_get(column, "quantiles");
    const char *text = rp_json_string_value(name);

    memset(l, 0, sizeof *l);
    if (text)
        rp_printable(l->field[0], 29, text, strlen(text));
    else
        (void)snprintf(l->field[0], FIELD_TEXT, "%zu", at);
    (void)snprintf(l->field[1], FIELD_TEXT, "%s", text_at(column, "kind"));
    (void)snprintf(l->field[2], FIELD_TEXT, "%s", text_at(column, "why"));
    (void)snprintf(l->field[3], FIELD_TEXT, "%lld",
                   (long long)rp_json_integer_value(rp_json_object_get(column, "missing")));
    (void)snprintf(l->field[4], FIELD_TEXT, "%lld",
                   (long long)rp_json_integer_value(rp_json_object_get(column, "distinct")));
    for (size_t i = 0; i < 5 && quantiles; i++)
        put_number(l->field[5 + i], rp_json_string_value(rp_json_array_get(quantiles, (size_t)places[i])));
    put_examples(l->examples, rp_json_object_get(column, "examples"));
}

static void put_field(rp_buffer *out, const char *text, size_t width, bool right)
{
    for (size_t n = rp_characters(text); right && n < width; n++)
        rp_buffer_u8(out, ' ');
    rp_put_plain_line(out, text);
    for (size_t n = rp_characters(text); !right && n < width; n++)
        rp_buffer_u8(out, ' ');
    rp_buffer_text(out, "  ");
}

void rp_put_table(rp_buffer *out, const rp_json *table)
{
    const rp_json *columns = rp_json_object_get(table, "columns");
    size_t width[FIELDS], n = rp_json_array_size(columns);
    line l;

    for (size_t k = 0; k < FIELDS; k++)
        width[k] = strlen(heads[k]);
    for (size_t i = 0; i < n; i++) {
        fill(&l, rp_json_array_get(columns, i), i);
        for (size_t k = 0; k < FIELDS; k++)
            width[k] = rp_characters(l.field[k]) > width[k] ? rp_characters(l.field[k]) : width[k];
    }
    for (size_t k = 0; k < FIELDS; k++)
        put_field(out, heads[k], width[k], k > 2);
    rp_buffer_text(out, "examples\n");
    for (size_t i = 0; i < n; i++) {
        fill(&l, rp_json_array_get(columns, i), i);
        for (size_t k = 0; k < FIELDS; k++)
            put_field(out, l.field[k], width[k], k > 2);
        rp_put_plain_line(out, l.examples);
        rp_buffer_u8(out, '\n');
    }
}

void rp_put_findings(rp_session *session, const rp_json *table)
{
    rp_json *finding;
    size_t i;

    rp_json_array_foreach (rp_json_object_get(table, "findings"), i, finding) {
        const char *level = text_at(finding, "level"), *words = text_at(finding, "words");

        if (strcmp(level, "warning") == 0)
            rp_put_verdict(session, false, "warning", "%s", words);
        else
            rp_put_line(session, level, "%s", words);
    }
}
