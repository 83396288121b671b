/* SPDX-License-Identifier: Apache-2.0
 * The data: section of a recipe: columns, target, split. How cells are written: recipe_table.c. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "core/recipe/recipe_names.h"
#include "core/recipe/recipe_read.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { PATH_LIMIT = 4095 };

static int compare_rules(const void *a, const void *b)
{
    const rp_column_ref *x = &((const rp_column_rule *)a)->column, *y = &((const rp_column_rule *)b)->column;

    if (x->name == NULL || y->name == NULL)
        return x->name != NULL ? 1 : y->name != NULL ? -1 : (x->index > y->index) - (x->index < y->index);
    return strcmp(x->name, y->name);
}

/* YAML: a mapping column -> kind, or column -> {kind and treatments}. Resolved: a list of objects with the column among
 * the keys, as JSON keys cannot tell 3 from "3". */
static void read_rule(rp_node_reader *reader, const rp_node *entry, rp_column_rule *out)
{
    static const char *const keys[] = {"kind", "missing", "indicator", "cap",   "log",   "bins",  "woe",
                                       "rare", "format",  "parts",     "since", "pivot", "column"};
    rp_node key = {.kind = RP_NODE_SCALAR, .plain = entry->key_plain, .line = entry->line, .text = entry->key};
    rp_node named = *entry, pair = {.kind = RP_NODE_MAPPING, .child = &named, .count = 1};
    const rp_node *column = &key;
    int kind = RP_COL_AUTO;

    named.key = (char *)"columns";
    out->treatment.missing = RP_MISSING_DEFAULT;
    if (reader->json) {
        column = entry->kind == RP_NODE_MAPPING ? rp_node_find(entry, "column") : NULL;
        if (column == NULL) {
            rp_node_refuse(reader, entry, "data.columns", "expected a list of {column, kind}");
            return;
        }
    }
    if (entry->kind == RP_NODE_MAPPING) {
        rp_recipe_check_keys(reader, entry, "data.columns", keys, COUNT(keys) - !reader->json);
        rp_node_read_choice(reader, entry, "data.columns.kind", &kind, RP_COL_AUTO, rp_column_kind_names,
                            RP_COLUMN_KINDS);
    } else {
        rp_node_read_choice(reader, &pair, "data.columns", &kind, RP_COL_AUTO, rp_column_kind_names, RP_COLUMN_KINDS);
    }
    rp_recipe_read_column(reader, column, "data.columns", &out->column);
    out->kind = (rp_column_kind)kind;
    rp_recipe_read_date(reader, entry, out);
    if (entry->kind == RP_NODE_MAPPING && reader->status == RP_OK)
        rp_recipe_read_treatment(reader, entry, out);
}

static void read_rules(rp_node_reader *reader, const rp_node *data, rp_recipe *out)
{
    const rp_node *node = reader->status == RP_OK ? rp_node_find(data, "columns") : NULL;
    rp_node_kind kind = reader->json ? RP_NODE_LIST : RP_NODE_MAPPING;

    if (node == NULL || (rp_node_is_null(node) && !reader->json))
        return;
    if (node->kind != kind) {
        rp_node_wrong(reader, node, "data.columns",
                      "a mapping from column to auto, numeric, categorical, date or ignore, or to a mapping of keys",
                      NULL);
        return;
    }
    out->data.columns = rp_calloc(node->count, sizeof *out->data.columns);
    if (out->data.columns == NULL) {
        reader->status = rp_no_memory(reader->err);
        return;
    }
    out->data.n_columns = node->count;
    for (size_t i = 0; i < node->count && reader->status == RP_OK; i++)
        read_rule(reader, &node->child[i], &out->data.columns[i]);
    if (reader->status != RP_OK)
        return;
    qsort(out->data.columns, out->data.n_columns, sizeof *out->data.columns, compare_rules);
    for (size_t i = 1; i < out->data.n_columns; i++)
        if (compare_rules(&out->data.columns[i - 1], &out->data.columns[i]) == 0)
            rp_node_refuse(reader, node, "data.columns", "a column is listed twice; keep one");
}

/* A column that may be left out. */
static void read_optional(rp_node_reader *reader, const rp_node *data, const char *path, rp_column_ref *out)
{
    if (rp_node_at(reader, data, path) == NULL)
        return;
    rp_recipe_read_column(reader, rp_node_at(reader, data, path), path, out);
    out->given = true;
}

/* A number, or "all". */
static void read_fold(rp_node_reader *reader, const rp_node *data, rp_recipe *out)
{
    const rp_node *node = rp_node_at(reader, data, "data.fold");
    int64_t fold;

    if (node != NULL && node->kind == RP_NODE_SCALAR && strcmp(node->text, "all") == 0)
        out->data.fold = RP_ALL_FOLDS;
    else if (node != NULL && !rp_node_int(node, &fold))
        rp_node_wrong(reader, node, "data.fold", "the number of a fold, from 0, or all", NULL);
    else
        rp_node_read_int(reader, data, "data.fold", &out->data.fold, 0, 0, out->data.folds - 1);
}

static void read_split(rp_node_reader *reader, const rp_node *data, rp_recipe *out)
{
    static const rp_range share = {0, 0.9, true, false, "a share above 0, at most 0.9"};
    bool folds, classes = !out->train.regression;

    rp_node_read_bool(reader, data, "data.train_on_all", &out->data.train_on_all, false);
    if (rp_node_applies(reader, data, "data.split", !out->data.train_on_all, "without train_on_all"))
        read_optional(reader, data, "data.split", &out->data.split);
    folds = !out->data.train_on_all && !out->data.split.given;
    if (rp_node_applies(reader, data, "data.time", folds, "without train_on_all and split"))
        read_optional(reader, data, "data.time", &out->data.time);
    if (rp_node_applies(reader, data, "data.group", folds && !out->data.time.given,
                        "without train_on_all, split and time"))
        read_optional(reader, data, "data.group", &out->data.group);
    if (rp_node_applies(reader, data, "data.folds", folds, "without train_on_all and split"))
        rp_node_read_int(reader, data, "data.folds", &out->data.folds, 5, 2, 1000);
    if (rp_node_applies(reader, data, "data.fold", folds && !out->data.time.given,
                        "without train_on_all, split and time"))
        read_fold(reader, data, out);
    if (rp_node_applies(reader, data, "data.stratify",
                        folds && classes && !out->data.time.given && !out->data.group.given,
                        "to a classification with folds, without group and time"))
        rp_node_read_bool(reader, data, "data.stratify", &out->data.stratify, true);
    if (rp_node_applies(reader, data, "data.test", folds, "without train_on_all and split") &&
        rp_node_at(reader, data, "data.test") != NULL)
        rp_recipe_real(reader, data, "data.test", &out->data.test, 0, &share);
    if (rp_node_applies(reader, data, "data.test_csv", out->data.test == 0, "without test"))
        rp_node_read_text(reader, data, "data.test_csv", &out->data.test_csv, NULL, PATH_LIMIT);
    if (reader->status == RP_OK && out->data.test_csv != NULL && strcmp(out->data.test_csv, "-") == 0 &&
        strcmp(out->data.csv, "-") == 0)
        rp_node_refuse(reader, rp_node_at(reader, data, "data.test_csv"), "data.test_csv",
                       "standard input is one table: data.csv is it already");
}

/* One of the two: both are a column that is added to the predictor. */
static void read_offset(rp_node_reader *reader, const rp_node *data, rp_recipe *out)
{
    const rp_node *exposure = rp_node_at(reader, data, "data.exposure");

    read_optional(reader, data, "data.offset", &out->data.offset);
    if (exposure == NULL || !rp_node_applies(reader, data, "data.exposure", !out->data.offset.given, "without offset"))
        return;
    read_optional(reader, data, "data.exposure", &out->data.offset);
    out->data.exposure = true;
}

static void check_name(rp_node_reader *reader, const rp_column_ref *column, const char *path)
{
    if (column->name != NULL)
        rp_node_refuse(reader, NULL, path, "expected an index from 0, as header is false, found a name");
}

static void check_names(rp_node_reader *reader, rp_recipe *out)
{
    if (out->data.header || reader->status != RP_OK)
        return;
    if (out->data.target.name != NULL)
        rp_node_refuse(reader, NULL, "data.target", "expected an index from 0, as header is false, found a name");
    for (size_t i = 0; i < out->data.n_interactions; i++)
        if (out->data.interaction[i].column[0].name != NULL || out->data.interaction[i].column[1].name != NULL)
            rp_node_refuse(reader, NULL, "data.interactions",
                           "expected indices from 0, as header is false, found a name");
    check_name(reader, &out->data.weight, "data.weight");
    check_name(reader, &out->data.offset, rp_recipe_offset_key(out));
    check_name(reader, &out->data.denominator, "data.denominator");
    check_name(reader, &out->data.group, "data.group");
    check_name(reader, &out->data.time, "data.time");
    check_name(reader, &out->data.split, "data.split");
    for (size_t i = 0; i < out->data.n_columns; i++)
        if (out->data.columns[i].column.name != NULL)
            rp_node_refuse(reader, NULL, "data.columns", "expected indices from 0, as header is false, found a name");
    for (size_t i = 0; i < out->data.reading.n_where; i++)
        if (out->data.reading.where[i].column.name != NULL)
            rp_node_refuse(reader, NULL, "data.where", "expected indices from 0, as header is false, found a name");
}

static void read_file(rp_node_reader *reader, const rp_node *data, rp_recipe *out)
{
    const rp_node *target = rp_node_find(data, "target");

    rp_node_read_text(reader, data, "data.csv", &out->data.csv, NULL, PATH_LIMIT);
    if (out->data.csv == NULL)
        rp_node_refuse(reader, data, "data.csv", "required: the path of the CSV file, relative to the recipe");
    if (target == NULL)
        rp_node_refuse(reader, data, "data.target", "required: the column to predict, by name or index from 0");
    else
        rp_recipe_read_column(reader, target, "data.target", &out->data.target);
}

void rp_recipe_read_data(rp_node_reader *reader, const rp_node *top, rp_recipe *out)
{
    static const char *const keys[] = {"csv",
                                       "header",
                                       "delimiter",
                                       "target",
                                       "positive",
                                       "columns",
                                       "missing",
                                       "missing_numeric",
                                       "missing_categorical",
                                       "standardize",
                                       "folds",
                                       "fold",
                                       "stratify",
                                       "train_on_all",
                                       "decimal",
                                       "thousands",
                                       "strip",
                                       "prefix",
                                       "suffix",
                                       "encoding",
                                       "comment",
                                       "skip_lines",
                                       "missing_target",
                                       "where",
                                       "standardize_target",
                                       "interactions",
                                       "weight",
                                       "offset",
                                       "exposure",
                                       "denominator",
                                       "group",
                                       "time",
                                       "split",
                                       "test",
                                       "test_csv",
                                       "arrays",
                                       "images",
                                       "features",
                                       "labels"};
    const rp_node *data = rp_node_section(reader, top, "data");
    bool arrays, images;
    int choice;

    if (data == NULL)
        return;
    rp_recipe_check_keys(reader, data, "data", keys, COUNT(keys) - (reader->json ? 2 : 0));
    arrays = reader->status == RP_OK && !reader->json && rp_node_find(data, "arrays") != NULL;
    images = reader->status == RP_OK && !reader->json && rp_node_find(data, "images") != NULL;
    (void)rp_node_applies(reader, data, "data.labels", images, "beside data.images");
    (void)rp_node_applies(reader, data, "data.features", arrays, "beside data.arrays");
    if (images)
        rp_recipe_read_images(reader, data, out);
    else if (arrays)
        rp_recipe_read_arrays(reader, data, out);
    else
        read_file(reader, data, out);
    rp_node_read_bool(reader, data, "data.header", &out->data.header, true);
    rp_recipe_read_table(reader, data, out);
    read_optional(reader, data, "data.weight", &out->data.weight);
    read_offset(reader, data, out);
    read_optional(reader, data, "data.denominator", &out->data.denominator);
    if (rp_node_applies(reader, data, "data.positive", !out->train.regression, "to a classification"))
        rp_node_read_text(reader, data, "data.positive", &out->data.positive, NULL, RP_RECIPE_TEXT);
    read_rules(reader, data, out);
    rp_node_read_choice(reader, data, "data.missing_numeric", &choice, RP_MISSING_MEAN, rp_missing_rule_names, 3);
    out->data.missing_numeric = (rp_missing_rule)choice;
    rp_node_read_choice(reader, data, "data.missing_categorical", &choice, 1, rp_missing_categorical_names, 2);
    out->data.missing_categorical = choice == 0 ? RP_MISSING_ERROR : RP_MISSING_CATEGORY;
    rp_node_read_bool(reader, data, "data.standardize", &out->data.standardize, true);
    if (rp_node_applies(reader, data, "data.standardize_target", out->train.regression, "to a regression"))
        rp_node_read_bool(reader, data, "data.standardize_target", &out->data.standardize_target, true);
    rp_recipe_read_interactions(reader, data, out);
    read_split(reader, data, out);
    check_names(reader, out);
}
