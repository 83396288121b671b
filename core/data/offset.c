/* SPDX-License-Identifier: Apache-2.0
 * A column that is added to the predictor of an exact fit (CONTRACT 9.12): a number, or the logarithm of an exposure.
 * It is a feature whose coefficient is 1, so that whatever scores rows reads it, and no row is scored without it. */
#include "base/memory.h"
#include "core/data/schema.h"

static rp_status fail_cell(const rp_cells *cells, size_t col, size_t row, rp_offset offset)
{
    char label[RP_LABEL_SIZE], quoted[RP_QUOTED_SIZE];

    return rp_fail(cells->err, RP_EDATA, "%s:%zu: %s: %s: expected a finite number%s, found \"%s\"; correct the cell%s",
                   cells->where, rp_table_line(cells->table, row),
                   rp_column_label(label, sizeof label, cells->table, col),
                   offset == RP_OFFSET_LOG ? "exposure" : "offset", offset == RP_OFFSET_LOG ? " above 0" : "",
                   rp_cell_quoted(quoted, sizeof quoted, cells->table, row, col),
                   cells->recorded ? ": the model takes none from elsewhere" : ", or leave the row out by data.where");
}

rp_status rp_offset_check(const rp_cells *cells, size_t col, rp_offset offset)
{
    static const rp_cell_sort wrong[] = {RP_SORT_MISSING, RP_SORT_NOT_FINITE, RP_SORT_TEXT};
    const rp_table *table = cells->table;
    size_t row = table->rows;
    double number[RP_ENCODED_ROWS];

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const rp_tally *sort = &table->column[col].sort[wrong[i]];

        if (sort->count > 0 && sort->first < row)
            row = sort->first;
    }
    for (size_t first = 0; first < row && offset == RP_OFFSET_LOG; first += RP_ENCODED_ROWS) {
        const size_t n = row - first < RP_ENCODED_ROWS ? row - first : RP_ENCODED_ROWS;

        rp_table_numbers(table, col, first, n, number);
        for (size_t i = 0; i < n; i++)
            if (!(number[i] > 0))
                return fail_cell(cells, col, first + i, offset);
    }
    return row == table->rows ? RP_OK : fail_cell(cells, col, row, offset);
}

size_t rp_schema_offset(const rp_schema *schema)
{
    for (size_t i = 0; i < schema->n_columns; i++)
        if (schema->columns[i].offset != RP_OFFSET_NONE)
            return schema->columns[i].at;
    return SIZE_MAX;
}

rp_status rp_dataset_offsets(double **out, const rp_dataset *d, bool validation, rp_error *err)
{
    const size_t at = rp_schema_offset(d->schema), rows = validation ? d->valid_rows : d->train_rows;
    const double *x = validation ? d->valid_wide : d->train_wide;

    *out = NULL;
    if (at == SIZE_MAX || !x)
        return RP_OK;
    *out = rp_reallocarray(NULL, rows + 1, sizeof **out);
    for (size_t i = 0; *out && i < rows; i++)
        (*out)[i] = x[i * d->schema->features + at];
    return *out ? RP_OK : rp_no_memory(err);
}
