/* SPDX-License-Identifier: Apache-2.0
 * What a cell may hold, and what it is under the recipe's rules (CONTRACT 9.2). */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "core/data/dress.h"
#include "core/data/schema.h"

bool rp_cell_missing(const rp_recipe *recipe, const char *text)
{
    if (!recipe->data.missing_first[(unsigned char)text[0]])
        return false;
    for (size_t i = 0; i < recipe->data.n_missing; i++)
        if (strcmp(text, recipe->data.missing[i]) == 0)
            return true;
    return false;
}

char *rp_column_label(char *out, size_t size, const rp_table *table, size_t col)
{
    char name[64];

    if (table->names != NULL)
        snprintf(out, size, "column \"%s\"",
                 rp_printable(name, sizeof name, table->names[col], strlen(table->names[col])));
    else
        snprintf(out, size, "column %zu", col);
    return out;
}

static bool same_word(const char *text, const char *lower)
{
    for (; *lower != '\0'; text++, lower++) {
        char c = *text >= 'A' && *text <= 'Z' ? (char)(*text + ('a' - 'A')) : *text;

        if (c != *lower)
            return false;
    }
    return *text == '\0';
}

/* What other programs write for NaN and infinity, and numbers beyond binary64, are no numbers and no categories. */
rp_cell_class rp_cell_classify(const rp_reading *rules, const char *text, double *number, rp_dress *dress)
{
    const char *word = text + (text[0] == '+' || text[0] == '-');

    if (rp_number_f64(rules, text, strlen(text), number, dress))
        return *number - *number == 0 ? RP_CELL_NUMBER : RP_CELL_NOT_FINITE;
    if (same_word(word, "nan") || same_word(word, "inf") || same_word(word, "infinity"))
        return RP_CELL_NOT_FINITE;
    return RP_CELL_TEXT;
}

static const char *cell_at(const rp_table *table, size_t row, size_t col)
{
    return table->cell[row * table->cols + col];
}

static rp_status fail_number(const rp_cells *cells, size_t row, size_t col, rp_cell_class found)
{
    const char *text = cell_at(cells->table, row, col);
    char label[RP_LABEL_SIZE], quoted[64], keys[RP_DRESS_KEYS];
    rp_dress_seen seen = {0};

    rp_column_label(label, sizeof label, cells->table, col);
    rp_printable(quoted, sizeof quoted, text, strlen(text));
    if (!cells->recorded && found == RP_CELL_TEXT && rp_dress_look(text, &seen) == RP_LOOK_NUMBER)
        return rp_fail(cells->err, RP_EDATA, "%s:%zu: %s: expected a number, found \"%s\"; to read it as one: %s",
                       cells->where, cells->table->line[row], label, quoted, rp_dress_keys(keys, sizeof keys, &seen));
    return rp_fail(cells->err, RP_EDATA, "%s:%zu: %s: expected a %snumber, found \"%s\"; correct the cell%s",
                   cells->where, cells->table->line[row], label, found == RP_CELL_NOT_FINITE ? "finite " : "", quoted,
                   cells->recorded               ? ": the column was numeric in training"
                   : found == RP_CELL_NOT_FINITE ? " or list it under data.missing"
                                                 : ", list it under data.missing, or declare the column categorical");
}

static rp_status check_missing(const rp_cells *cells, size_t row, size_t col, rp_column_kind kind)
{
    bool numeric = kind == RP_COL_NUMERIC;
    rp_missing_rule rule = numeric ? cells->recipe->data.missing_numeric : cells->recipe->data.missing_categorical;
    const char *text = cell_at(cells->table, row, col);
    char label[RP_LABEL_SIZE], quoted[64];

    if (rule != RP_MISSING_ERROR)
        return RP_OK;
    return rp_fail(cells->err, RP_EDATA,
                   "%s:%zu: %s: expected a value, found \"%s\", which means missing; fill it in%s", cells->where,
                   cells->table->line[row], rp_column_label(label, sizeof label, cells->table, col),
                   rp_printable(quoted, sizeof quoted, text, strlen(text)),
                   cells->recorded ? ": the recipe takes none"
                   : numeric       ? " or set data.missing_numeric: mean"
                                   : " or set data.missing_categorical: category");
}

rp_status rp_cell_read(const rp_cells *cells, size_t row, size_t col, rp_column_kind kind, rp_cell *out)
{
    rp_cell_class found;

    out->text = cell_at(cells->table, row, col);
    out->number = 0;
    out->missing = rp_cell_missing(cells->recipe, out->text);
    if (out->missing)
        return check_missing(cells, row, col, kind);
    if (kind != RP_COL_NUMERIC)
        return RP_OK;
    found = rp_cell_classify(&cells->recipe->data.reading, out->text, &out->number, NULL);
    return found == RP_CELL_NUMBER ? RP_OK : fail_number(cells, row, col, found);
}
