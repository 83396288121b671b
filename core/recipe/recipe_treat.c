/* SPDX-License-Identifier: Apache-2.0
 * What a recipe has done to a column before a model sees it: keys of data.columns beside its kind, and
 * data.interactions. What applies to which kind is known when the data are (core/data/treat/learn.c). */
#include <string.h>

#include "base/memory.h"
#include "core/recipe/recipe_names.h"
#include "core/recipe/recipe_read.h"
#include "determinism/decimal.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { EDGES_LIMIT = 99, BINS_LIMIT = 100, PAIRS_LIMIT = 1024 };

/* A real of the recipe: a plain scalar of YAML, a string of JSON. */
static bool read_number(const rp_node_reader *reader, const rp_node *node, double *out)
{
    if (node->kind != RP_NODE_SCALAR || node->plain == reader->json ||
        !rp_parse_f64(out, node->text, strlen(node->text)) || *out - *out != 0)
        return false;
    *out = *out == 0 ? 0 : *out;
    return true;
}

static void read_missing(rp_node_reader *reader, const rp_node *rule, rp_treatment *out)
{
    const rp_node *node = rp_node_find(rule, "missing");

    out->missing = RP_MISSING_DEFAULT;
    if (node == NULL || reader->status != RP_OK)
        return;
    for (int i = 0; i < RP_MISSING_CONSTANT && node->kind == RP_NODE_SCALAR; i++)
        if (strcmp(node->text, rp_missing_rule_names[i]) == 0) {
            out->missing = (rp_missing_rule)i;
            return;
        }
    out->missing = RP_MISSING_CONSTANT;
    if (!read_number(reader, node, &out->constant))
        rp_node_wrong(reader, node, "data.columns.missing", "error, mean, median, category or a number to put there",
                      NULL);
}

/* low and high, each from 0 to 1: a list of two. */
static void read_cap(rp_node_reader *reader, const rp_node *rule, rp_treatment *out)
{
    const rp_node *node = rp_node_find(rule, "cap");

    if (node == NULL || reader->status != RP_OK)
        return;
    out->capped = node->kind == RP_NODE_LIST && node->count == 2 &&
                  read_number(reader, &node->child[0], &out->cap[0]) &&
                  read_number(reader, &node->child[1], &out->cap[1]) && out->cap[0] >= 0 && out->cap[0] < out->cap[1] &&
                  out->cap[1] <= 1;
    if (!out->capped)
        rp_node_wrong(reader, node, "data.columns.cap", "two quantiles, e.g. [0.01, 0.99]", NULL);
}

static void read_edges(rp_node_reader *reader, const rp_node *node, rp_treatment *out)
{
    out->binning = RP_BINS_EDGES;
    out->edge = rp_calloc(node->count, sizeof *out->edge);
    if (out->edge == NULL) {
        reader->status = rp_no_memory(reader->err);
        return;
    }
    out->n_edges = node->count;
    for (size_t i = 0; i < node->count; i++)
        if (!read_number(reader, &node->child[i], &out->edge[i]) || (i > 0 && out->edge[i - 1] >= out->edge[i])) {
            rp_node_wrong(reader, &node->child[i], "data.columns.bins", "edges in ascending order", NULL);
            return;
        }
}

static void read_bins(rp_node_reader *reader, const rp_node *rule, rp_treatment *out)
{
    const rp_node *node = rp_node_find(rule, "bins");

    if (node == NULL || reader->status != RP_OK)
        return;
    if (node->kind == RP_NODE_LIST && node->count >= 1 && node->count <= EDGES_LIMIT) {
        read_edges(reader, node, out);
    } else if (node->kind == RP_NODE_SCALAR && strcmp(node->text, "monotonic") == 0) {
        out->binning = RP_BINS_MONOTONIC;
    } else if (rp_node_int(node, &out->bins) && out->bins >= 2 && out->bins <= BINS_LIMIT) {
        out->binning = RP_BINS_QUANTILE;
    } else {
        rp_node_wrong(reader, node, "data.columns.bins",
                      "a number of bins from 2 to 100, a list of 1 to 99 edges, or monotonic", NULL);
    }
}

static void read_rare(rp_node_reader *reader, const rp_node *rule, rp_treatment *out)
{
    const rp_node *node = rp_node_find(rule, "rare");

    if (node == NULL || reader->status != RP_OK)
        return;
    if (!read_number(reader, node, &out->rare) || out->rare <= 0 || out->rare > 0.5)
        rp_node_wrong(reader, node, "data.columns.rare", "a share of the training rows, above 0 and at most 0.5", NULL);
}

static bool any(const rp_treatment *t)
{
    return t->missing != RP_MISSING_DEFAULT || t->indicator || t->log || t->woe || t->capped || t->rare > 0 ||
           t->binning != RP_BINS_NONE;
}

void rp_recipe_read_treatment(rp_node_reader *reader, const rp_node *rule, rp_column_rule *out)
{
    rp_treatment *t = &out->treatment;

    read_missing(reader, rule, t);
    rp_node_read_bool(reader, rule, "data.columns.indicator", &t->indicator, false);
    read_cap(reader, rule, t);
    rp_node_read_bool(reader, rule, "data.columns.log", &t->log, false);
    read_bins(reader, rule, t);
    rp_node_read_bool(reader, rule, "data.columns.woe", &t->woe, false);
    read_rare(reader, rule, t);
    if (reader->status != RP_OK)
        return;
    out->treated = any(t);
    if (out->treated && out->kind == RP_COL_IGNORE)
        rp_node_refuse(reader, rule, "data.columns", "a column that is ignored has no other keys");
    else if (t->binning != RP_BINS_NONE && t->log)
        rp_node_refuse(reader, rule, "data.columns", "log changes nothing where there are bins; keep one of them");
    else if (t->woe && reader->status == RP_OK && t->indicator)
        rp_node_refuse(reader, rule, "data.columns",
                       "with woe a missing cell has a weight of its own; leave out indicator");
}

/* ---- interactions ---- */

void rp_recipe_read_interactions(rp_node_reader *reader, const rp_node *data, rp_recipe *out)
{
    const rp_node *node = reader->status == RP_OK ? rp_node_find(data, "interactions") : NULL;
    static const char expected[] = "a list of pairs of columns, e.g. [[age, income]]";

    if (node == NULL)
        return;
    if (node->kind != RP_NODE_LIST || node->count < 1 || node->count > PAIRS_LIMIT) {
        rp_node_wrong(reader, node, "data.interactions", expected, NULL);
        return;
    }
    out->data.interaction = rp_calloc(node->count, sizeof *out->data.interaction);
    if (out->data.interaction == NULL) {
        reader->status = rp_no_memory(reader->err);
        return;
    }
    out->data.n_interactions = node->count;
    for (size_t i = 0; i < node->count && reader->status == RP_OK; i++) {
        const rp_node *pair = &node->child[i];

        if (pair->kind != RP_NODE_LIST || pair->count != 2) {
            rp_node_wrong(reader, pair, "data.interactions", expected, NULL);
            return;
        }
        for (int k = 0; k < 2; k++)
            rp_recipe_read_column(reader, &pair->child[k], "data.interactions", &out->data.interaction[i].column[k]);
    }
}
