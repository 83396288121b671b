/* SPDX-License-Identifier: Apache-2.0
 * The validation: section of a recipe: by which columns the run's own figures are cut. It is part of the run's
 * identity, so that nobody chooses slices, groups or a threshold when the figures are known. */
#include "core/recipe/recipe_validation.h"

#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "core/recipe/recipe_read.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void read_columns(rp_node_reader *reader, const rp_node *section, const char *path, rp_texts *out)
{
    const rp_node *node = rp_node_at(reader, section, path);

    if (node == NULL)
        return;
    if (node->kind != RP_NODE_LIST || node->count > RP_SLICES_MAX) {
        rp_node_wrong(reader, node, path, "a list of at most 16 columns, e.g. [region, \"age:4\"]", NULL);
        return;
    }
    out->text = rp_calloc(node->count + 1, sizeof *out->text);
    for (size_t i = 0; i < node->count && out->text != NULL; i++) {
        const rp_node *item = &node->child[i];

        if (item->kind != RP_NODE_SCALAR || rp_node_is_null(item) || item->text[0] == '\0' ||
            strlen(item->text) > RP_RECIPE_TEXT) {
            rp_node_wrong(reader, item, path, "a column by its name, COLUMN:K for K parts of its numbers", NULL);
            return;
        }
        for (size_t k = 0; k < i; k++)
            if (strcmp(out->text[k], item->text) == 0) {
                rp_node_refuse(reader, item, path, "\"%.*s\" is there twice", rp_fits(item->text, 100), item->text);
                return;
            }
        if ((out->text[i] = rp_strdup(item->text)) == NULL)
            break;
        out->count = i + 1;
    }
    if (out->text == NULL || out->count != node->count)
        reader->status = rp_no_memory(reader->err);
}

static void read_threshold(rp_node_reader *reader, const rp_node *section, rp_recipe *out)
{
    static const rp_range range = {0, 1, false, false, "a score from 0 to 1"};
    const rp_node *node = rp_node_at(reader, section, "validation.threshold");

    if (node == NULL || rp_node_is_null(node))
        return;
    if (!rp_node_applies(reader, section, "validation.threshold", !out->train.regression, "train.task: classification"))
        return;
    rp_recipe_real(reader, section, "validation.threshold", &out->validation.threshold, 0.5, &range);
    out->validation.has_threshold = true;
}

void rp_recipe_read_validation(rp_node_reader *reader, const rp_node *top, rp_recipe *out)
{
    static const char *const keys[] = {"by", "groups", "favourable", "threshold"};
    const rp_node *section, *favourable;

    if (reader->status != RP_OK || rp_node_find(top, "validation") == NULL)
        return;
    section = rp_node_section(reader, top, "validation");
    if (section == NULL)
        return;
    rp_recipe_check_keys(reader, section, "validation", keys, COUNT(keys));
    read_columns(reader, section, "validation.by", &out->validation.by);
    read_columns(reader, section, "validation.groups", &out->validation.groups);
    favourable = rp_node_at(reader, section, "validation.favourable");
    if (favourable != NULL && !rp_node_is_null(favourable))
        (void)rp_node_applies(reader, section, "validation.favourable", !out->train.regression,
                              "train.task: classification");
    rp_node_read_text(reader, section, "validation.favourable", &out->validation.favourable, NULL, RP_RECIPE_TEXT);
    read_threshold(reader, section, out);
    out->validation.given = true;
}
