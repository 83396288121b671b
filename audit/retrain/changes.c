/* SPDX-License-Identifier: Apache-2.0
 * Columns and categories of two schemas, and texts of two cards: a child learns its categories from its own training
 * rows, so that what is new or gone is listed, never silent. */
#include "audit/retrain/changes.h"

#include <string.h>

#include "base/handle.h"
#include "base/memory.h"
#include "core/data/schema.h"
#include "rp/retraining.h"

enum { SHOWN = 20 };

static rp_status read_schema(rp_schema **out, const rp_archive *archive, rp_error *err)
{
    rp_json *json = NULL;
    rp_status status = rp_archive_read_json(archive, RP_SCHEMA_MEMBER, &json, err);

    *out = NULL;
    if (status == RP_OK)
        status = rp_schema_from_json(out, json, RP_SCHEMA_MEMBER, err);
    rp_json_free(json);
    return status;
}

/* The column of the other schema that has this one's name, or without a header its place; NULL: there is none. */
static const rp_schema_column *same_column(const rp_schema *other, const rp_schema_column *column, size_t place)
{
    if (!column->name)
        return place < other->n_columns && !other->columns[place].name ? &other->columns[place] : NULL;
    for (size_t i = 0; i < other->n_columns; i++)
        if (other->columns[i].name && strcmp(other->columns[i].name, column->name) == 0)
            return &other->columns[i];
    return NULL;
}

static rp_json *name_json(const rp_schema_column *column, size_t place)
{
    return column->name ? rp_json_string(column->name) : rp_json_integer((int64_t)place);
}

/* Names of those columns of some that other does not have. */
static rp_json *columns_beyond(const rp_schema *some, const rp_schema *other)
{
    const size_t own = rp_schema_own(some);
    rp_json *list = rp_json_array();

    for (size_t i = 0; i < own && list; i++)
        if (!same_column(other, &some->columns[i], i) &&
            rp_json_array_append_new(list, name_json(&some->columns[i], i)) != 0) {
            rp_json_free(list);
            list = NULL;
        }
    return list;
}

static bool has_category(const rp_schema_column *column, const char *text)
{
    for (size_t low = 0, high = column->categories; low < high;) {
        const size_t middle = low + (high - low) / 2;
        const int order = strcmp(column->category[middle], text);

        if (order == 0)
            return true;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

/* {"count", "first"}: categories of some that other lacks, the first SHOWN of them by name. */
static rp_json *categories_beyond(const rp_schema_column *some, const rp_schema_column *other, int64_t *count)
{
    rp_json *first = rp_json_array();
    int failed = first == NULL;

    *count = 0;
    for (size_t i = 0; i < some->categories && !failed; i++) {
        if (has_category(other, some->category[i]))
            continue;
        if (++*count <= SHOWN)
            failed = rp_json_array_append_new(first, rp_json_string(some->category[i]));
    }
    if (!failed)
        return rp_json_pack("{s:I, s:o}", "count", *count, "first", first);
    rp_json_free(first);
    return NULL;
}

static int add_column(rp_json *list, const rp_schema_column *was, const rp_schema_column *is, size_t place)
{
    int64_t n_new, n_gone;
    rp_json *fresh = categories_beyond(is, was, &n_new), *gone = categories_beyond(was, is, &n_gone);
    int failed = !fresh || !gone;

    if (!failed && n_new + n_gone > 0)
        failed = rp_json_array_append_new(
            list, rp_json_pack("{s:o, s:O, s:O}", "column", name_json(is, place), "gone", gone, "new", fresh));
    rp_json_free(fresh);
    rp_json_free(gone);
    return failed;
}

static rp_json *categories(const rp_schema *parent, const rp_schema *child)
{
    rp_json *list = rp_json_array();
    int failed = list == NULL;

    for (size_t i = 0; i < child->n_columns && !failed; i++) {
        const rp_schema_column *is = &child->columns[i], *was = same_column(parent, is, i);

        if (is->kind == RP_COL_CATEGORICAL && was && was->kind == RP_COL_CATEGORICAL)
            failed = add_column(list, was, is, i);
    }
    if (!failed)
        return list;
    rp_json_free(list);
    return NULL;
}

/* Keys of the parent's card that the child has not. */
static rp_json *card_beyond(const rp_json *was, const rp_json *is)
{
    rp_json *list = rp_json_array(), *text;
    const char *key;
    int failed = list == NULL;

    rp_json_object_foreach (rp_json_object_get(was, "card"), key, text) {
        (void)text;
        if (!rp_json_object_get(rp_json_object_get(is, "card"), key))
            failed |= rp_json_array_append_new(list, rp_json_string(key));
    }
    if (!failed)
        return list;
    rp_json_free(list);
    return NULL;
}

static bool all_folds(const rp_json *data)
{
    const char *fold = rp_json_string_value(rp_json_object_get(data, "fold"));

    return fold && strcmp(fold, "all") == 0;
}

/* How the parent was chosen and judged beyond one training, where the child was not: a figure of the one has no
 * counterpart of the other then. */
static rp_json *recipe_beyond(const rp_json *was, const rp_json *is)
{
    const rp_json *data = rp_json_object_get(was, "data"), *now = rp_json_object_get(is, "data");
    const struct {
        const char *key;
        bool lacks;
    } left_out[] = {
        {"challengers", rp_json_object_get(was, "challengers") && !rp_json_object_get(is, "challengers")},
        {"data.fold", all_folds(data) && !all_folds(now)},
        {"data.test_csv", rp_json_object_get(data, "test_csv") && !rp_json_object_get(now, "test_csv")},
        {"search", rp_json_object_get(was, "search") && !rp_json_object_get(is, "search")},
    };
    rp_json *list = rp_json_array();
    int failed = list == NULL;

    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
        if (left_out[i].lacks)
            failed |= rp_json_array_append_new(list, rp_json_string(left_out[i].key));
    if (!failed)
        return list;
    rp_json_free(list);
    return NULL;
}

rp_status rp_changes_of(rp_json **out, const rp_archive *parent, const rp_archive *child, rp_error *err)
{
    rp_schema *was = NULL, *is = NULL;
    rp_json *recipe = NULL, *now = NULL;
    rp_status status = read_schema(&was, parent, err);

    *out = NULL;
    if (status == RP_OK)
        status = read_schema(&is, child, err);
    if (status == RP_OK)
        status = rp_archive_read_json(parent, RP_RECIPE_MEMBER, &recipe, err);
    if (status == RP_OK)
        status = rp_archive_read_json(child, RP_RECIPE_MEMBER, &now, err);
    if (status == RP_OK) {
        *out = rp_json_pack("{s:o, s:o, s:o, s:o, s:o}", "card_left_out", card_beyond(recipe, now), "categories",
                            categories(was, is), "columns_gone", columns_beyond(was, is), "columns_new",
                            columns_beyond(is, was), "recipe_left_out", recipe_beyond(recipe, now));
        status = *out ? RP_OK : rp_no_memory(err);
    }
    rp_json_free(recipe);
    rp_json_free(now);
    rp_schema_free(was);
    rp_schema_free(is);
    return status;
}

rp_status rp_retraining_changes(const rp_archive *parent, const rp_archive *child, char **json, rp_error *err)
{
    rp_json *changes = NULL;
    rp_buffer text = {0};
    rp_status status;

    *json = NULL;
    if (!parent || !child)
        return rp_no_handle(err, __func__, parent ? "child" : "parent");
    status = rp_changes_of(&changes, parent, child, err);
    if (status == RP_OK)
        status = rp_json_write(changes, &text, err);
    rp_json_free(changes);
    return rp_buffer_finish(&text, status, json, err);
}
