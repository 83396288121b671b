/* SPDX-License-Identifier: Apache-2.0
 * Whether the cells of a column are what its kind asks for (CONTRACT 9.2). */
#include <stdio.h>
#include <string.h>

#include "core/data/text/dress.h"
#include "core/data/schema.h"

/* Text, or a number that is not finite, where numbers are. */
static rp_status fail_number(const rp_cells *cells, size_t row, size_t col, bool finite)
{
    char label[RP_LABEL_SIZE], quoted[RP_QUOTED_SIZE], text[RP_QUOTED_SIZE], keys[RP_DRESS_KEYS];
    const size_t line = rp_table_line(cells->table, row);
    rp_dress_seen seen = {0};

    rp_column_label(label, sizeof label, cells->table, col);
    rp_cell_quoted(quoted, sizeof quoted, cells->table, row, col);
    rp_table_text(cells->table, row, col, text, sizeof text);
    if (!cells->recorded && finite && rp_dress_look(text, &seen) == RP_LOOK_NUMBER)
        return rp_fail(cells->err, RP_EDATA, "%s:%zu: %s: expected a number, found \"%s\"; to read it as one: %s",
                       cells->where, line, label, quoted, rp_dress_keys(keys, sizeof keys, &seen));
    return rp_fail(cells->err, RP_EDATA, "%s:%zu: %s: expected a %snumber, found \"%s\"; correct the cell%s",
                   cells->where, line, label, finite ? "" : "finite ", quoted,
                   cells->recorded ? ": the column was numeric in training"
                   : finite        ? ", list it under data.missing, or declare the column categorical"
                                   : " or list it under data.missing");
}

static rp_status fail_date(const rp_cells *cells, size_t row, size_t col)
{
    const rp_column *column = &cells->table->column[col];
    char label[RP_LABEL_SIZE], quoted[RP_QUOTED_SIZE];

    return rp_fail(cells->err, RP_EDATA,
                   "%s:%zu: %s: expected a date that there is, of format %s, found \"%s\"; correct the cell%s",
                   cells->where, rp_table_line(cells->table, row),
                   rp_column_label(label, sizeof label, cells->table, column->source), column->date->format,
                   rp_cell_quoted(quoted, sizeof quoted, cells->table, row, col),
                   cells->recorded ? ": so the column was written in training"
                                   : ", list it under data.missing, or set data.columns.format");
}

static rp_status fail_missing(const rp_cells *cells, size_t row, size_t col, bool numeric)
{
    char label[RP_LABEL_SIZE], quoted[RP_QUOTED_SIZE];

    return rp_fail(cells->err, RP_EDATA,
                   "%s:%zu: %s: expected a value, found \"%s\", which means missing; fill it in%s", cells->where,
                   rp_table_line(cells->table, row), rp_column_label(label, sizeof label, cells->table, col),
                   rp_cell_quoted(quoted, sizeof quoted, cells->table, row, col),
                   cells->recorded ? ": the recipe takes none"
                   : numeric       ? " or set data.missing_numeric: mean"
                                   : " or set data.missing_categorical: category");
}

rp_status rp_column_check(const rp_cells *cells, size_t col, rp_column_kind kind)
{
    const rp_tally *sort = cells->table->column[col].sort;
    const bool numeric = kind == RP_COL_NUMERIC;
    const rp_tally *text = &sort[RP_SORT_TEXT], *odd = &sort[RP_SORT_NOT_FINITE], *missing = &sort[RP_SORT_MISSING];
    const rp_treatment *own = cells->treatment != NULL ? cells->treatment[col] : NULL;
    rp_missing_rule rule = numeric ? cells->recipe->data.missing_numeric : cells->recipe->data.missing_categorical;
    size_t row = SIZE_MAX;

    if (own != NULL && own->missing != RP_MISSING_DEFAULT)
        rule = own->missing;
    if (kind == RP_COL_IGNORE)
        return RP_OK;
    if (cells->table->column[col].date != NULL && odd->count > 0)
        return fail_date(cells, odd->first, col);
    if (kind == RP_COL_DATE)
        return RP_OK;
    if (numeric && text->count > 0)
        row = text->first;
    if (numeric && odd->count > 0 && odd->first < row)
        row = odd->first;
    if (rule == RP_MISSING_ERROR && missing->count > 0 && missing->first < row)
        return fail_missing(cells, missing->first, col, numeric);
    return row == SIZE_MAX ? RP_OK : fail_number(cells, row, col, text->count > 0 && text->first == row);
}
