/* SPDX-License-Identifier: Apache-2.0
 * Cells and columns as errors name them. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "core/data/schema.h"

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

char *rp_cell_quoted(char *out, size_t size, const rp_table *table, size_t row, size_t col)
{
    char text[RP_QUOTED_SIZE + 1];

    rp_table_text(table, row, col, text, sizeof text);
    return rp_printable(out, size, text, strlen(text));
}
