/* SPDX-License-Identifier: Apache-2.0
 * The files of a recipe: where its table lies, its text in YAML or as an archive resolved it, the programs that it
 * names by path, and that an archive takes the place of none of them. */
#include <string.h>

#include "audit/drive/recipe_files.h"

#include "audit/drive/arrays.h"
#include "base/memory.h"

enum { RECIPE_LIMIT = 1 << 20, RESOLVED_LIMIT = 16 << 20 }; /* of YAML; of an archive's resolved form */

char *rp_recipe_table_path(const char *recipe_path, const rp_recipe *recipe, const char *table)
{
    char *outside;

    if (strcmp(table, "-") == 0)
        return rp_strdup("-");
    if (!recipe->resolved)
        return rp_path_beside(recipe_path, table);
    outside = rp_path_beside(recipe_path, "../");
    if (outside) {
        char *path = rp_path_beside(outside, table);

        rp_free(outside);
        if (!path || rp_file_exists(path))
            return path;
        rp_free(path);
        return rp_path_beside(recipe_path, table);
    }
    return NULL;
}

/* Resolved JSON: the columns' rules are a list, and of a text a share is a string, which no recipe in YAML has. */
static bool looks_resolved(const rp_json *json)
{
    const rp_json *data = rp_json_object_get(json, "data");

    return rp_json_is_array(rp_json_object_get(data, "columns")) ||
           (rp_json_object_get(data, "text") && rp_json_is_string(rp_json_object_get(data, "validation")));
}

/* Nothing where the text is no resolved recipe: YAML has the say then. */
static rp_status read_resolved(rp_recipe **recipe, const rp_buffer *text, const char *path, rp_error *err)
{
    rp_json *json = NULL;
    rp_error found = {0};
    rp_status status = RP_OK;

    if (text->size == 0 || text->data[0] != '{' ||
        rp_json_parse(&json, text->data, text->size, false, path, NULL) != RP_OK)
        return RP_OK;
    if (looks_resolved(json))
        status = rp_recipe_from_json(recipe, json, path, &found);
    rp_json_free(json);
    if (status == RP_OK || status == RP_ENOMEM)
        return status == RP_OK ? RP_OK : rp_no_memory(err);
    return rp_fail(err, RP_EARG,
                   "%s; a recipe to be changed is best written anew in YAML: this is an archive's resolved form",
                   found.text);
}

/* The programs that a recipe in YAML names become a part of it. */
static rp_status read_programs(rp_recipe *recipe, const char *recipe_path, rp_error *err)
{
    rp_json *text[RP_ROLES] = {NULL};
    rp_error why = {0};
    rp_status status = RP_OK;

    for (size_t i = 0; i < RP_ROLES && status == RP_OK; i++) {
        char *path = recipe->program.path[i] ? rp_path_beside(recipe_path, recipe->program.path[i]) : NULL;
        rp_buffer bytes = {0};

        if (!recipe->program.path[i])
            continue;
        status = path ? rp_file_read(path, RP_PROGRAM_BYTES, &bytes, &why) : rp_no_memory(&why);
        if (status == RP_OK)
            status = rp_json_parse(&text[i], bytes.data, bytes.size, true, path, &why);
        rp_buffer_free(&bytes);
        rp_free(path);
    }
    if (status == RP_OK)
        status = rp_recipe_set_programs(recipe, text, recipe_path, &why);
    for (size_t i = 0; i < RP_ROLES; i++)
        rp_json_free(text[i]);
    if (status == RP_EFORMAT) /* nobody's archive, but a file that the caller named */
        return rp_fail(err, RP_EARG, "%s", why.text);
    if (status != RP_OK && err)
        *err = why;
    return status;
}

rp_status rp_recipe_load(const char *recipe_path, rp_recipe **recipe, char **csv_path, rp_error *err)
{
    rp_buffer text = {0};
    rp_status status = rp_file_read(recipe_path, RESOLVED_LIMIT, &text, err);

    if (status == RP_OK && text.size > RECIPE_LIMIT && text.data[0] != '{')
        status = rp_fail(err, RP_EDATA, "%s: larger than the limit of %d bytes of a recipe in YAML", recipe_path,
                         RECIPE_LIMIT);
    if (status == RP_OK)
        status = read_resolved(recipe, &text, recipe_path, err);
    if (status == RP_OK && !*recipe)
        status = rp_recipe_from_yaml(recipe, (const char *)text.data, text.size, recipe_path, err);
    rp_buffer_free(&text);
    if (status == RP_OK && (*recipe)->program.named && !(*recipe)->program.of)
        status = read_programs(*recipe, recipe_path, err);
    if (status != RP_OK)
        return status;
    *csv_path =
        rp_recipe_table_path(recipe_path, *recipe, (*recipe)->text.path ? (*recipe)->text.path : (*recipe)->data.csv);
    return *csv_path ? RP_OK : rp_no_memory(err);
}

static rp_status keep_programs(const char *out, const char *recipe_path, const rp_recipe *recipe, rp_error *err)
{
    rp_status status = RP_OK;

    for (size_t i = 0; i < RP_ROLES && status == RP_OK; i++) {
        char *path = recipe->program.path[i] ? rp_path_beside(recipe_path, recipe->program.path[i]) : NULL;

        if (recipe->program.path[i])
            status = path ? rp_file_keep(out, path, "a program of the model", err) : rp_no_memory(err);
        rp_free(path);
    }
    return status;
}

rp_status rp_recipe_keep(const char *out, const char *recipe_path, const rp_recipe *recipe, const char *table,
                         rp_error *err)
{
    const char *own_test = recipe->data.test_csv, *own_parent = recipe->parent.archive;
    char *weights = recipe->weights ? rp_path_beside(recipe_path, recipe->weights) : NULL;
    char *target = recipe->arrays.path ? rp_arrays_target_path(recipe, recipe_path) : NULL;
    char *test = own_test ? rp_recipe_table_path(recipe_path, recipe, own_test) : NULL,
         *parent = own_parent ? rp_path_beside(recipe_path, own_parent) : NULL;
    rp_status status = (own_test && !test) || (own_parent && !parent) || (recipe->arrays.path && !target) ||
                               (recipe->weights && !weights)
                           ? rp_no_memory(err)
                           : RP_OK;

    if (status == RP_OK)
        status = rp_file_keep(out, recipe_path, "the recipe", err);
    if (status == RP_OK)
        status = rp_file_keep(out, table, "the table", err);
    if (status == RP_OK)
        status = rp_file_keep(out, test, "data.test_csv", err);
    if (status == RP_OK)
        status = rp_file_keep(out, parent, "the parent", err);
    if (status == RP_OK)
        status = rp_file_keep(out, target, "data.target", err);
    if (status == RP_OK)
        status = rp_file_keep(out, weights, "weights", err);
    if (status == RP_OK)
        status = keep_programs(out, recipe_path, recipe, err);
    rp_free(weights);
    rp_free(target);
    rp_free(test);
    rp_free(parent);
    return status;
}
