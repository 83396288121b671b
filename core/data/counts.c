/* SPDX-License-Identifier: Apache-2.0
 * A target that counts the successes of the trials in a column beside (CONTRACT 9.13). What is learnt is the
 * proportion, and the trials are a part of the row's weight. */
#include <stdio.h>

#include "base/memory.h"
#include "core/data/schema.h"

static bool is_count(double x, double most)
{
    return x >= 0 && x <= most && x == __builtin_floor(x);
}

static rp_status fail_trials(const rp_cells *cells, size_t col, size_t row, bool none)
{
    char label[RP_LABEL_SIZE], quoted[RP_QUOTED_SIZE];

    return rp_fail(cells->err, RP_EDATA, "%s:%zu: denominator %s: expected %s, found \"%s\"; %s", cells->where,
                   rp_table_line(cells->table, row), rp_column_label(label, sizeof label, cells->table, col),
                   none ? "trials" : "a whole number from 0 to 2^40",
                   rp_cell_quoted(quoted, sizeof quoted, cells->table, row, col),
                   none ? "without them the row has no target: leave it out by data.missing_target: drop"
                        : "correct the cell");
}

static rp_status fail_successes(const rp_cells *cells, size_t col, size_t row, double trials)
{
    char label[RP_LABEL_SIZE], quoted[RP_QUOTED_SIZE];

    return rp_fail(cells->err, RP_EDATA,
                   "%s:%zu: target %s: expected successes, a whole number from 0 to the row's %.0f trials, found "
                   "\"%s\"; correct the cell",
                   cells->where, rp_table_line(cells->table, row),
                   rp_column_label(label, sizeof label, cells->table, col), trials,
                   rp_cell_quoted(quoted, sizeof quoted, cells->table, row, col));
}

/* Of a column that is kept as texts: the first cell that is no finite number, or, where it has another role too, any.
 */
static size_t first_text(const rp_column *column)
{
    const rp_tally *text = &column->sort[RP_SORT_TEXT], *odd = &column->sort[RP_SORT_NOT_FINITE];

    return text->count > 0 && (odd->count == 0 || text->first < odd->first) ? text->first : odd->first;
}

rp_status rp_counts_read(const rp_cells *cells, size_t target, rp_target *out)
{
    const size_t rows = cells->table->rows;
    size_t col = 0;
    rp_status status = rp_column_find(cells, &cells->recipe->data.denominator, "data.denominator", &col);

    if (status != RP_OK)
        return status;
    out->trials = rp_reallocarray(NULL, rows, sizeof *out->trials);
    if (out->trials == NULL)
        return rp_no_memory(cells->err);
    if (cells->table->column[col].texts)
        return fail_trials(cells, col, first_text(&cells->table->column[col]), false);
    rp_table_numbers(cells->table, col, 0, rows, out->trials);
    for (size_t i = 0; i < rows; i++) {
        const double n = out->trials[i], y = out->wide[i];

        if (!is_count(n, RP_TRIALS_MAX))
            return fail_trials(cells, col, i, n != n && cells->table->column[col].sort[RP_SORT_MISSING].first == i);
        if (!is_count(y, n))
            return fail_successes(cells, target, i, n);
        if (n == 0)
            return fail_trials(cells, col, i, true);
        out->wide[i] = y / n;
        out->value[i] = (float)out->wide[i];
    }
    return RP_OK;
}
