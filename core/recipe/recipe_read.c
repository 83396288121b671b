/* SPDX-License-Identifier: Apache-2.0
 * Reading of a recipe's keys that no other text has: reals, and the words for a key that nobody knows. */
#include "core/recipe/recipe_read.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "determinism/decimal.h"

enum { QUOTE = 80 };

void rp_recipe_check_keys(rp_node_reader *reader, const rp_node *mapping, const char *section, const char *const *keys,
                          size_t count)
{
    for (size_t i = 0; i < mapping->count && reader->status == RP_OK; i++) {
        const rp_node *child = &mapping->child[i];
        char quoted[QUOTE], path[QUOTE + 32];
        const char *nearest;
        size_t k = 0;

        while (k < count && strcmp(keys[k], child->key) != 0)
            k++;
        if (k < count)
            continue;
        rp_printable(quoted, sizeof quoted, child->key, strlen(child->key));
        snprintf(path, sizeof path, "%s%s%s", section, section[0] != '\0' ? "." : "", quoted);
        nearest = rp_nearest(child->key, keys, count);
        if (nearest != NULL)
            rp_node_refuse(reader, child, path, "unknown key; did you mean \"%s\"?", nearest);
        else
            rp_node_refuse(reader, child, path, "unknown key; remove it or see docs/recipe.md for the keys of %s",
                           section[0] != '\0' ? section : "a recipe");
    }
}

static bool in_range(double x, const rp_range *range)
{
    return (range->low_open ? x > range->low : x >= range->low) &&
           (range->high_open ? x < range->high : x <= range->high);
}

void rp_recipe_real(rp_node_reader *reader, const rp_node *mapping, const char *path, double *out, double otherwise,
                    const rp_range *range)
{
    const rp_node *node = rp_node_at(reader, mapping, path);
    double value;

    *out = otherwise;
    if (node == NULL)
        return;
    /* A quoted number is text in YAML; in the resolved form every real is. */
    if (node->kind == RP_NODE_SCALAR && node->plain != reader->json &&
        rp_parse_f64(&value, node->text, strlen(node->text)) && in_range(value, range))
        *out = value == 0 ? 0 : value; /* -0 is written as 0 */
    else
        rp_node_wrong(reader, node, path, range->text, NULL);
}

void rp_recipe_read_column(rp_node_reader *reader, const rp_node *node, const char *path, rp_column_ref *out)
{
    out->index = -1;
    if (reader->status != RP_OK)
        return;
    if (rp_node_int(node, &out->index)) {
        if (out->index < 0 || out->index > 4095)
            rp_node_wrong(reader, node, path, "a column index from 0 to 4095", NULL);
        return;
    }
    if (node->kind != RP_NODE_SCALAR || rp_node_is_null(node) || strlen(node->text) > RP_RECIPE_TEXT) {
        rp_node_wrong(reader, node, path, "a column: its name in the header or its index from 0", NULL);
        return;
    }
    out->name = rp_strdup(node->text);
    if (out->name == NULL)
        reader->status = rp_no_memory(reader->err);
}
