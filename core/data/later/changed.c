/* SPDX-License-Identifier: Apache-2.0
 * One column's features in a row, by the encoder's own rules (CONTRACT 9.6). */
#include "core/data/later/changed.h"

#include "core/data/treat/treat.h"

bool rp_changed_cell(const rp_schema *schema, size_t column, double number, size_t group, rp_features x)
{
    const rp_schema_column *c = &schema->columns[column];

    for (size_t j = c->at; j < c->at + c->width; j++) {
        if (x.wide)
            x.wide[j] = 0;
        else
            x.narrow[j] = 0;
    }
    if (c->kind == RP_COL_NUMERIC)
        return rp_encode_number(c, c->at, number, x);
    if (group != SIZE_MAX)
        rp_encode_group(x, c, c->at, group);
    return true;
}

bool rp_changed_products(const rp_schema *schema, rp_features x)
{
    return schema->n_pairs == 0 || rp_interact(schema, x);
}
