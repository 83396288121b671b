/* SPDX-License-Identifier: Apache-2.0
 * The child's recipe is made of the parent's as JSON, and goes through the reader of resolved recipes, so that it is
 * one that a user could have written. */
#include "audit/replay/retrain.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "core/data/schema.h"

typedef struct parent {
    const rp_archive *archive;
    rp_recipe *recipe;
    rp_schema *schema;
    size_t own; /* columns of the schema that the table holds */
} parent;

/* The new recipe on its way. */
typedef struct again {
    const parent *of;
    rp_json *recipe, *data;
    const rp_table *table; /* the new rows' header */
    rp_error *err;
} again;

static void clear(parent *p)
{
    rp_recipe_free(p->recipe);
    rp_schema_free(p->schema);
}

static rp_status load(parent *p, rp_json **copy, rp_error *err)
{
    rp_json *json = NULL, *schema = NULL;
    rp_status status;

    if (rp_archive_manifest(p->archive)->kind == RP_RUN_TEXT)
        return rp_fail(err, RP_EUNSUPPORTED, "retrain: the parent is a run on a text, which has no rows");
    if (rp_archive_manifest(p->archive)->kind != RP_RUN_RECIPE)
        return rp_fail(err, RP_EUNSUPPORTED,
                       "retrain: the parent is a run of the C API, which has no recipe to train again by");
    status = rp_archive_read_json(p->archive, RP_RECIPE_MEMBER, &json, err);
    if (status == RP_OK)
        status = rp_recipe_from_json(&p->recipe, json, RP_RECIPE_MEMBER, err);
    if (status == RP_OK && copy && !(*copy = rp_json_deep_copy(json)))
        status = rp_no_memory(err);
    if (status == RP_OK)
        status = rp_archive_read_json(p->archive, RP_SCHEMA_MEMBER, &schema, err);
    if (status == RP_OK)
        status = rp_schema_from_json(&p->schema, schema, RP_SCHEMA_MEMBER, err);
    if (status == RP_OK)
        p->own = rp_schema_own(p->schema);
    rp_json_free(json);
    rp_json_free(schema);
    return status;
}

/* ---- what is not taken over ---- */

/* The trials chose settings that the recipe has now; the card's words on the old rows are not true of the new ones. */
static rp_status leave_out(const again *a)
{
    static const char *const of_rows[] = {"data_period", "data_source", "valid_until", "version"};
    static const char *const sections[] = {"search", "challengers", "parent", "predecessor", "weights"};
    rp_json *card = rp_json_object_get(a->recipe, "card");

    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        (void)rp_json_object_del(a->recipe, sections[i]);
    for (size_t i = 0; i < sizeof of_rows / sizeof *of_rows; i++)
        (void)rp_json_object_del(card, of_rows[i]);
    (void)rp_json_object_del(a->data, "test_csv");
    (void)rp_json_object_del(a->data, "arrays");
    (void)rp_json_object_del(a->data, "images");
    if (card && rp_json_object_size(card) == 0)
        (void)rp_json_object_del(a->recipe, "card");
    if (a->of->recipe->data.fold == RP_ALL_FOLDS && rp_json_object_set_new(a->data, "fold", rp_json_integer(0)) != 0)
        return rp_no_memory(a->err);
    return RP_OK;
}

static rp_status name_parent(const again *a, bool warm)
{
    const char *id = rp_archive_id(a->of->archive);
    int failed = rp_json_object_set_new(a->recipe, "predecessor", rp_json_string(id));

    if (warm && a->of->recipe->train.exact)
        return rp_fail(a->err, RP_EARG, "retrain: what is fitted exactly starts from no weights: leave out warm start");
    if (warm)
        failed |= rp_json_object_set_new(
            a->recipe, "parent", rp_json_pack("{s:s, s:s, s:s}", "archive", id, "mode", "retrain", "weights", "final"));
    return failed ? rp_no_memory(a->err) : RP_OK;
}

/* ---- columns ---- */

/* A column's number in a headed table becomes its name: the new file may have its columns in another order. *out is
 * borrowed from the schema; NULL: the reference stays as it is. */
static const char *name_of(const again *a, const rp_json *ref)
{
    const int64_t index = rp_json_integer_value(ref);

    if (!rp_json_is_integer(ref) || !a->table->names || index < 0 || (size_t)index >= a->of->own)
        return NULL;
    return a->of->schema->columns[index].name;
}

static int name_key(const again *a, rp_json *holder, const char *key)
{
    const char *name = name_of(a, rp_json_object_get(holder, key));

    return name ? rp_json_object_set_new(holder, key, rp_json_string(name)) : 0;
}

static int name_pairs(const again *a)
{
    const rp_json *pairs = rp_json_object_get(a->data, "interactions");
    rp_json *named = pairs ? rp_json_array() : NULL, *pair, *ref;
    size_t i, k;
    int failed = 0;

    rp_json_array_foreach (pairs, i, pair) {
        rp_json *one = rp_json_array();

        rp_json_array_foreach (pair, k, ref) {
            const char *name = name_of(a, ref);

            failed |= name ? rp_json_array_append_new(one, rp_json_string(name)) : rp_json_array_append(one, ref);
        }
        failed |= rp_json_array_append_new(named, one);
    }
    return pairs ? failed | rp_json_object_set_new(a->data, "interactions", named) : 0;
}

static rp_status name_columns(const again *a)
{
    static const char *const keys[] = {"target",      "weight", "offset", "exposure",
                                       "denominator", "group",  "time",   "split"};
    rp_json *item;
    size_t i;
    int failed = name_pairs(a);

    for (i = 0; i < sizeof keys / sizeof *keys; i++)
        failed |= name_key(a, a->data, keys[i]);
    rp_json_array_foreach (rp_json_object_get(a->data, "columns"), i, item)
        failed |= name_key(a, item, "column");
    rp_json_array_foreach (rp_json_object_get(a->data, "where"), i, item)
        failed |= name_key(a, item, "column");
    return failed ? rp_no_memory(a->err) : RP_OK;
}

static bool refers(const again *a, const rp_json *ref, size_t column)
{
    const char *name = rp_json_string_value(ref), *own = a->of->schema->columns[column].name;

    return name ? own && strcmp(name, own) == 0
                : rp_json_is_integer(ref) && rp_json_integer_value(ref) == (int64_t)column;
}

/* Rows are divided or weighed by it. */
static bool has_role(const again *a, size_t column)
{
    static const char *const keys[] = {"weight", "offset", "exposure", "denominator", "group", "time", "split"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (refers(a, rp_json_object_get(a->data, keys[i]), column))
            return true;
    return false;
}

static bool in_table(const again *a, const char *name)
{
    for (size_t i = 0; i < a->table->cols; i++)
        if (strcmp(a->table->names[i], name) == 0)
            return true;
    return false;
}

static bool in_schema(const again *a, const char *name)
{
    for (size_t i = 0; i < a->of->own; i++)
        if (strcmp(a->of->schema->columns[i].name, name) == 0)
            return true;
    return false;
}

static rp_json *rule_of(const again *a, size_t column)
{
    rp_json *rule;
    size_t i;

    rp_json_array_foreach (rp_json_object_get(a->data, "columns"), i, rule)
        if (refers(a, rp_json_object_get(rule, "column"), column))
            return rule;
    return NULL;
}

/* Only a column that no model saw may be gone. */
static rp_status look_for(const again *a, size_t column, bool *gone)
{
    const rp_schema_column *c = &a->of->schema->columns[column];
    char quoted[64];

    *gone = a->table->names && !in_table(a, c->name);
    if (!*gone || (c->kind == RP_COL_IGNORE && !c->target && !c->date && !has_role(a, column)))
        return RP_OK;
    return rp_fail(a->err, RP_EDATA,
                   "%s:1: expected a column \"%s\" in the header, as the parent's table has it, found none: the child "
                   "has the parent's columns; one without it is another model: give it a recipe of its own",
                   a->table->where, rp_printable(quoted, sizeof quoted, c->name, strlen(c->name)));
}

/* One of the parent's columns: what its recipe says of it, of the kind that it had. */
static int add_known(const again *a, size_t column, rp_json *rules)
{
    static const char *const kinds[] = {
        [RP_COL_NUMERIC] = "numeric", [RP_COL_CATEGORICAL] = "categorical", [RP_COL_IGNORE] = "ignore"};
    const rp_schema_column *c = &a->of->schema->columns[column];
    rp_json *rule = rule_of(a, column), *own;
    int failed = 0;

    if (c->target || (!rule && has_role(a, column)))
        return 0;
    if (rule && c->date)
        return rp_json_array_append(rules, rule);
    own = rule ? rp_json_deep_copy(rule) : rp_json_object();
    if (!rule)
        failed |=
            rp_json_object_set_new(own, "column", c->name ? rp_json_string(c->name) : rp_json_integer((int64_t)column));
    failed |= rp_json_object_set_new(own, "kind", rp_json_string(kinds[c->kind]));
    return failed | rp_json_array_append_new(rules, own);
}

/* Rules of parts of dates are of no column of the table. */
static int add_parts(const again *a, rp_json *rules)
{
    rp_json *rule;
    size_t i;
    int failed = 0;

    rp_json_array_foreach (rp_json_object_get(a->data, "columns"), i, rule) {
        bool known = false;

        for (size_t k = 0; k < a->of->own && !known; k++)
            known = refers(a, rp_json_object_get(rule, "column"), k);
        if (!known)
            failed |= rp_json_array_append(rules, rule);
    }
    return failed;
}

/* Columns that the parent did not have. */
static int add_new(const again *a, rp_json *rules)
{
    int failed = 0;

    for (size_t i = 0; a->table->names && i < a->table->cols; i++)
        if (!in_schema(a, a->table->names[i]))
            failed |= rp_json_array_append_new(
                rules, rp_json_pack("{s:s, s:s}", "column", a->table->names[i], "kind", "ignore"));
    return failed;
}

static int by_column(const void *x, const void *y)
{
    const rp_json *a = rp_json_object_get(*(rp_json *const *)x, "column");
    const rp_json *b = rp_json_object_get(*(rp_json *const *)y, "column");
    const int64_t i = rp_json_integer_value(a), k = rp_json_integer_value(b);

    if (rp_json_is_integer(a) || rp_json_is_integer(b))
        return rp_json_is_integer(a) && rp_json_is_integer(b) ? (i > k) - (i < k) : rp_json_is_integer(a) ? -1 : 1;
    return strcmp(rp_json_string_value(a), rp_json_string_value(b));
}

/* In the order that the resolved recipe has. */
static int put_rules(const again *a, const rp_json *rules)
{
    const size_t n = rp_json_array_size(rules);
    rp_json **rule = rp_calloc(n + 1, sizeof *rule), *sorted = rp_json_array();
    int failed = !rule || !sorted;

    for (size_t i = 0; i < n && !failed; i++)
        rule[i] = rp_json_array_get(rules, i);
    if (!failed)
        qsort(rule, n, sizeof(rp_json *), by_column);
    for (size_t i = 0; i < n && !failed; i++)
        failed |= rp_json_array_append(sorted, rule[i]);
    rp_free(rule);
    return failed | rp_json_object_set_new(a->data, "columns", sorted);
}

static rp_status keep_columns(const again *a)
{
    rp_json *rules = rp_json_array();
    rp_status status = rules ? RP_OK : rp_no_memory(a->err);
    int failed = 0;

    if (status == RP_OK && !a->table->names && a->table->cols != a->of->own)
        status = rp_fail(a->err, RP_EDATA, "%s:1: expected %zu cells, as the parent's table has, found %zu",
                         a->table->where, a->of->own, a->table->cols);
    for (size_t i = 0; i < a->of->own && status == RP_OK; i++) {
        bool gone;

        status = look_for(a, i, &gone);
        if (status == RP_OK && !gone)
            failed |= add_known(a, i, rules);
    }
    if (status == RP_OK)
        failed |= add_parts(a, rules) | add_new(a, rules);
    if (status == RP_OK && !failed) /* what is there is whole: rules are sorted by their column */
        failed |= put_rules(a, rules);
    rp_json_free(rules);
    return status == RP_OK && failed ? rp_no_memory(a->err) : status;
}

static rp_status make(rp_recipe **out, again *a, bool warm)
{
    rp_status status;

    a->data = rp_json_object_get(a->recipe, "data");
    status = leave_out(a);
    if (status == RP_OK)
        status = name_parent(a, warm);
    if (status == RP_OK)
        status = name_columns(a);
    if (status == RP_OK)
        status = keep_columns(a);
    if (status != RP_OK)
        return status;
    status = rp_recipe_from_json(out, a->recipe, "the parent's recipe on new rows", a->err);
    return status == RP_EFORMAT ? rp_fail_at(a->err, RP_EARG, "retrain") : status;
}

rp_status rp_retrain_recipe(rp_recipe **out, const rp_archive *archive, bool warm, const rp_source_text *text,
                            rp_error *err)
{
    parent p = {.archive = archive};
    again a = {.of = &p, .err = err};
    rp_table *table = NULL;
    rp_status status = load(&p, &a.recipe, err);

    *out = NULL;
    if (status == RP_OK && rp_archive_manifest(archive)->pinned)
        status = rp_fail(err, RP_EUNSUPPORTED,
                         "this run is pinned, and is not held against another on the same rows: reprise run with a "
                         "recipe that names it as parent (docs/pinned.md)");
    if (status == RP_OK)
        status = rp_table_open(&table, text->bytes, text->size, p.recipe, text->where, err);
    a.table = table;
    if (status == RP_OK)
        status = make(out, &a, warm);
    rp_table_free(table);
    rp_json_free(a.recipe);
    clear(&p);
    return status;
}

/* ---- classes ---- */

static bool has_class(const rp_schema *schema, const char *name)
{
    for (size_t i = 0; i < schema->classes; i++)
        if (strcmp(schema->class_name[i], name) == 0)
            return true;
    return false;
}

static rp_status all_in(const rp_schema *some, const rp_schema *other, const char *where, const char *what,
                        rp_error *err)
{
    char quoted[64];

    for (size_t i = 0; i < some->classes; i++)
        if (!has_class(other, some->class_name[i]))
            return rp_fail(err, RP_EDATA,
                           "%s: class \"%s\" %s: parent and child would not predict the same thing, and cannot be "
                           "compared; correct the cells, or give the new rows a recipe of their own",
                           where, rp_printable(quoted, sizeof quoted, some->class_name[i], strlen(some->class_name[i])),
                           what);
    return RP_OK;
}

rp_status rp_retrain_same_classes(const rp_archive *archive, const rp_schema *child, const char *where, rp_error *err)
{
    parent p = {.archive = archive};
    rp_status status = load(&p, NULL, err);

    if (status == RP_OK)
        status = all_in(child, p.schema, where, "is none of the parent's", err);
    if (status == RP_OK)
        status = all_in(p.schema, child, where, "of the parent is not among the new rows", err);
    for (size_t i = 0; i < p.schema->classes && status == RP_OK; i++)
        if (strcmp(p.schema->class_name[i], child->class_name[i]) != 0)
            status = rp_fail(err, RP_EDATA, "%s: the classes are in another order than the parent's", where);
    clear(&p);
    return status;
}
