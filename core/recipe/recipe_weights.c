/* SPDX-License-Identifier: Apache-2.0
 * Weights of classes: "balanced", or a number for each class that the recipe names. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "core/recipe/recipe_read.h"

enum { CLASS_WEIGHTS_MAX = 1000 };

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const rp_class_weight *)a)->name, ((const rp_class_weight *)b)->name);
}

static void read_item(rp_node_reader *reader, const rp_node *entry, rp_class_weight *out)
{
    static const rp_range range = {0, 1e6, true, false, "a number above 0, at most 1e6"};
    rp_node named = *entry, pair = {.kind = RP_NODE_MAPPING, .child = &named, .count = 1};

    named.key = (char *)"class_weights";
    rp_recipe_real(reader, &pair, "train.class_weights", &out->weight, 1, &range);
    if (reader->status == RP_OK && (out->name = rp_strdup(entry->key)) == NULL)
        reader->status = rp_no_memory(reader->err);
}

/* A mapping has no key twice, so no class is named twice. */
static void read_items(rp_node_reader *reader, const rp_node *node, rp_recipe *out)
{
    out->train.class_weight = rp_calloc(node->count, sizeof *out->train.class_weight);
    if (out->train.class_weight == NULL) {
        reader->status = rp_no_memory(reader->err);
        return;
    }
    out->train.n_class_weights = node->count;
    for (size_t i = 0; i < node->count && reader->status == RP_OK; i++)
        read_item(reader, &node->child[i], &out->train.class_weight[i]);
    if (reader->status == RP_OK)
        qsort(out->train.class_weight, node->count, sizeof *out->train.class_weight, compare_names);
}

void rp_recipe_read_class_weights(rp_node_reader *reader, const rp_node *train, rp_recipe *out)
{
    const rp_node *node = rp_node_at(reader, train, "train.class_weights");

    if (node == NULL ||
        !rp_node_applies(reader, train, "train.class_weights", !out->train.regression, "to a classification"))
        return;
    if (node->kind == RP_NODE_SCALAR && strcmp(node->text, "balanced") == 0)
        out->train.balanced = true;
    else if (node->kind == RP_NODE_MAPPING && node->count > 0 && node->count <= CLASS_WEIGHTS_MAX)
        read_items(reader, node, out);
    else
        rp_node_wrong(reader, node, "train.class_weights", "balanced, or a mapping from class to weight, e.g. {bad: 5}",
                      NULL);
}
