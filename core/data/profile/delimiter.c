/* SPDX-License-Identifier: Apache-2.0
 * A table of one column whose first line looks like several (CONTRACT 9.9): a character among the names, or words
 * between blanks, as many as in the first row. */
#include <string.h>

#include "core/data/profile/private.h"

enum { LINE_SHOWN = 4096 };

typedef struct blanks {
    size_t words;
    bool runs; /* two blanks in a row, or one at an end */
} blanks;

static blanks count_words(const char *line)
{
    blanks b = {0, line[0] == ' '};

    for (size_t i = 0; line[i] != '\0'; i++) {
        b.words += line[i] != ' ' && (i == 0 || line[i - 1] == ' ');
        b.runs = b.runs || (line[i] == ' ' && (line[i + 1] == ' ' || line[i + 1] == '\0'));
    }
    return b;
}

static rp_status find_blanks(rp_json *profile, const rp_cells *cells, const char *line)
{
    const rp_table *table = cells->table;
    const size_t second = table->names == NULL;
    char cell[LINE_SHOWN];
    blanks head = count_words(line), row;

    if (head.words < 2 || table->rows <= second)
        return RP_OK;
    row = count_words(rp_table_text(table, second, 0, cell, sizeof cell));
    if (row.words != head.words)
        return RP_OK;
    return rp_profile_add(profile, cells,
                          &(rp_finding){"delimiter", false, SIZE_MAX, SIZE_MAX, head.words - 1, " ",
                                        head.runs || row.runs
                                            ? "there is one column only, and runs of blanks divide its lines: no "
                                              "data.delimiter reads these; make each run one character (tr -s ' ' ',')"
                                            : NULL});
}

rp_status rp_find_delimiter(rp_json *profile, const rp_cells *cells)
{
    const rp_table *table = cells->table;
    char cell[LINE_SHOWN], text[2] = {0};
    const char *best = NULL, *others = ";\t|,:", *line;
    size_t most = 0;

    if (table->cols != 1)
        return RP_OK;
    line = table->names != NULL ? table->names[0] : rp_table_text(table, 0, 0, cell, sizeof cell);
    for (const char *c = others; *c != '\0'; c++) {
        size_t n = 0;

        for (const char *at = line; *at != '\0'; at++)
            n += *at == *c;
        if (n > most)
            best = c;
        most = n > most ? n : most;
    }
    if (best == NULL)
        return find_blanks(profile, cells, line);
    text[0] = *best;
    return rp_profile_add(profile, cells, &(rp_finding){"delimiter", false, SIZE_MAX, SIZE_MAX, most, text, NULL});
}
