/* SPDX-License-Identifier: Apache-2.0
 * What the first line gives away (CONTRACT 9.9): that another character divides the cells, where a table has one
 * column, and that it is no header but a row. */
#include <string.h>

#include "base/text.h"

#include "core/data/profile/private.h"
#include "core/data/text/number.h"

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

static bool is_number(const rp_cells *cells, const char *name)
{
    rp_dress dress;
    double number;
    int places;

    return rp_cell_classify(&cells->recipe->data.reading, name, strlen(name), &number, &places, &dress) ==
           RP_CELL_NUMBER;
}

/* Whether the column's name could be one of its cells. */
static bool is_like_its_cells(const rp_cells *cells, size_t col)
{
    const rp_column *column = &cells->table->column[col];
    const char *name = cells->table->names[col];

    if (!column->texts)
        return is_number(cells, name);
    for (size_t i = 0; i < column->words.count; i++)
        if (strcmp(column->words.word[i].at, name) == 0)
            return true;
    return false;
}

rp_status rp_find_header(rp_json *profile, const rp_cells *cells)
{
    const rp_table *table = cells->table;
    size_t alike = 0;

    for (size_t col = 0; table->names != NULL && col < table->own_cols; col++) {
        const rp_column *column = &table->column[col];

        if (table->names[col][0] == '\0' || column->store == RP_STORE_NONE ||
            column->sort[RP_SORT_MISSING].count == table->rows)
            continue;
        if (column->date != NULL || !is_like_its_cells(cells, col))
            return RP_OK;
        alike++;
    }
    return alike > 0 ? rp_profile_add(profile, cells,
                                      &(rp_finding){"header", false, SIZE_MAX, SIZE_MAX, alike, table->names[0], NULL})
                     : RP_OK;
}
