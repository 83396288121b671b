/* SPDX-License-Identifier: Apache-2.0
 * Features by what they are of, for tables of coefficients and for messages. */
#include "core/data/treat/feature.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "core/recipe/decimal_json.h"

enum { FEATURE_TEXT = 200 };

static rp_feature part_of(const rp_schema *schema, size_t column, size_t i)
{
    const rp_schema_column *c = &schema->columns[column];
    rp_feature f = {.column = column, .group = i, .part = RP_FEATURE_NUMBER};

    if (c->indicator && i == c->width - 1)
        f.part = RP_FEATURE_INDICATOR;
    else if (c->woe != NULL)
        f.part = RP_FEATURE_WEIGHT;
    else if (c->binned)
        f.part = i > c->edges ? RP_FEATURE_MISSING : RP_FEATURE_BIN;
    else if (c->kind == RP_COL_CATEGORICAL)
        f.part = i < c->categories                        ? RP_FEATURE_CATEGORY
                 : i == c->categories && c->null_category ? RP_FEATURE_MISSING
                                                          : RP_FEATURE_OTHER;
    f.reference = i == 0 && c->woe == NULL && (c->binned || c->kind == RP_COL_CATEGORICAL);
    return f;
}

rp_feature rp_feature_of(const rp_schema *schema, size_t i, bool *product, rp_feature *second)
{
    *product = false;
    for (size_t column = 0; column < schema->n_columns; column++) {
        size_t width = schema->columns[column].kind == RP_COL_IGNORE ? 0 : schema->columns[column].width;

        if (i < width)
            return part_of(schema, column, i);
        i -= width;
    }
    *product = true;
    for (size_t k = 0; k < schema->n_pairs; k++) {
        const size_t *pair = schema->pair[k], b = schema->columns[pair[1]].width;
        const size_t width = schema->columns[pair[0]].width * b;
        rp_feature first;

        if (i >= width) {
            i -= width;
            continue;
        }
        first = part_of(schema, pair[0], i / b);
        *second = part_of(schema, pair[1], i % b);
        first.reference = second->reference = false;
        return first;
    }
    *second = (rp_feature){0};
    return (rp_feature){0};
}

/* ---- text ---- */

static size_t put_text(char *out, size_t size, const rp_schema *schema, const rp_feature *f)
{
    static const char *const words[] = {[RP_FEATURE_MISSING] = " being missing",
                                        [RP_FEATURE_OTHER] = " being rare",
                                        [RP_FEATURE_BIN] = " in bin",
                                        [RP_FEATURE_INDICATOR] = " lacking",
                                        [RP_FEATURE_WEIGHT] = " as evidence"};
    const rp_schema_column *c = &schema->columns[f->column];
    char name[64], text[64];
    size_t used;

    used = c->name
               ? (size_t)snprintf(out, size, "column \"%s\"", rp_printable(name, sizeof name, c->name, strlen(c->name)))
               : (size_t)snprintf(out, size, "column %zu", f->column);
    if (f->part == RP_FEATURE_CATEGORY)
        used += (size_t)snprintf(out + used, size - used, " being \"%s\"",
                                 rp_printable(text, sizeof text, c->category[f->group], strlen(c->category[f->group])));
    else if (f->part == RP_FEATURE_BIN)
        used += (size_t)snprintf(out + used, size - used, " in bin %zu", f->group);
    else if (f->part != RP_FEATURE_NUMBER)
        used += (size_t)snprintf(out + used, size - used, "%s", words[f->part]);
    return used;
}

char *rp_feature_text(char *out, size_t size, const rp_schema *schema, size_t i)
{
    char first[FEATURE_TEXT], other[FEATURE_TEXT];
    bool product;
    rp_feature second, f = rp_feature_of(schema, i, &product, &second);

    (void)put_text(first, sizeof first, schema, &f);
    if (product)
        (void)put_text(other, sizeof other, schema, &second);
    (void)snprintf(out, size, "%s%s%s", first, product ? " times " : "", product ? other : "");
    return out;
}

/* ---- JSON ---- */

static rp_json *edge_json(const rp_schema_column *c, size_t i)
{
    return i < c->edges ? rp_json_decimal(c->edge[i]) : rp_json_null(); /* below the first, or beyond the last */
}

static int put_part(rp_json *object, const rp_schema *schema, const rp_feature *f)
{
    const rp_schema_column *c = &schema->columns[f->column];
    int failed = rp_json_object_set_new(object, "column",
                                        c->name ? rp_json_string(c->name) : rp_json_integer((int64_t)f->column));

    switch (f->part) {
    case RP_FEATURE_NUMBER:
        return failed;
    case RP_FEATURE_CATEGORY:
        return failed | rp_json_object_set_new(object, "category", rp_json_string(c->category[f->group]));
    case RP_FEATURE_MISSING:
        return failed | rp_json_object_set_new(object, "category", rp_json_null());
    case RP_FEATURE_OTHER:
        return failed | rp_json_object_set_new(object, "other", rp_json_boolean(true));
    case RP_FEATURE_INDICATOR:
        return failed | rp_json_object_set_new(object, "indicator", rp_json_boolean(true));
    case RP_FEATURE_WEIGHT:
        return failed | rp_json_object_set_new(object, "woe", rp_json_boolean(true));
    case RP_FEATURE_BIN:
        break;
    }
    return failed | rp_json_object_set_new(object, "bin",
                                           rp_json_pack("[o, o]", edge_json(c, f->group > 0 ? f->group - 1 : c->edges),
                                                        edge_json(c, f->group)));
}

int rp_feature_put(rp_json *object, const rp_schema *schema, size_t i)
{
    bool product;
    rp_feature second, first = rp_feature_of(schema, i, &product, &second);
    int failed = put_part(object, schema, &first);
    rp_json *times = product ? rp_json_object() : NULL;

    if (!product)
        return failed;
    if (times == NULL)
        return -1;
    failed |= put_part(times, schema, &second);
    return failed | rp_json_object_set_new(object, "times", times);
}
