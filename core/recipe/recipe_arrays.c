/* SPDX-License-Identifier: Apache-2.0
 * data.arrays and data.images: a table that arrays are written as (CONTRACT 9.1a). What a recipe in YAML says of files
 * becomes, in its resolved form, what those files were: a table is all that is left of them. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "core/recipe/recipe_read.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { PATH_LIMIT = 4095, NAME_LIMIT = 255 };

const char *const rp_array_type_names[RP_ARRAY_TYPES] = {"bool", "u8",  "i8",  "u16", "i16", "u32", "i32",
                                                         "u64",  "i64", "f32", "f64", "f16", "bf16"};
static const char *const part_names[] = {"features", "target"};

/* How cells and columns are written, and columns beside features and target: an array has neither. */
static void refuse_cells(rp_node_reader *reader, const rp_node *data)
{
    static const char *const keys[] = {"csv",
                                       "header",
                                       "delimiter",
                                       "columns",
                                       "missing",
                                       "decimal",
                                       "missing_numeric",
                                       "missing_categorical",
                                       "strip",
                                       "prefix",
                                       "suffix",
                                       "encoding",
                                       "comment",
                                       "where",
                                       "skip_lines",
                                       "thousands",
                                       "missing_target",
                                       "interactions",
                                       "weight",
                                       "offset",
                                       "denominator",
                                       "exposure",
                                       "group",
                                       "time",
                                       "split",
                                       "test_csv"};
    char path[64];

    for (size_t i = 0; i < COUNT(keys); i++) {
        (void)snprintf(path, sizeof path, "data.%s", keys[i]);
        (void)rp_node_applies(reader, data, path, false, "to a table, with data.csv");
    }
}

void rp_recipe_read_arrays(rp_node_reader *reader, const rp_node *data, rp_recipe *out)
{
    refuse_cells(reader, data);
    rp_node_read_text(reader, data, "data.arrays", &out->arrays.path, NULL, PATH_LIMIT);
    rp_node_read_text(reader, data, "data.features", &out->arrays.features, NULL, NAME_LIMIT);
    rp_node_read_text(reader, data, "data.target", &out->arrays.target, NULL, PATH_LIMIT);
    if (reader->status != RP_OK)
        return;
    if (!out->arrays.path) {
        rp_node_refuse(reader, rp_node_find(data, "arrays"), "data.arrays",
                       "expected the path of an .npy or .safetensors file, relative to the recipe");
        return;
    }
    if (!out->arrays.target) {
        rp_node_refuse(reader, data, "data.target",
                       "required: beside an .npy file the path of another one, of a .safetensors file a name in it");
        return;
    }
    out->data.csv = rp_strdup(out->arrays.path);
    out->data.target.name = rp_strdup(RP_ARRAYS_TARGET);
    if (!out->data.csv || !out->data.target.name)
        reader->status = rp_no_memory(reader->err);
}

void rp_recipe_read_images(rp_node_reader *reader, const rp_node *data, rp_recipe *out)
{
    refuse_cells(reader, data);
    (void)rp_node_applies(reader, data, "data.arrays", false, "without data.images");
    (void)rp_node_applies(reader, data, "data.features", false, "beside data.arrays");
    (void)rp_node_applies(reader, data, "data.target", false,
                          "without data.images: what is predicted is the column label of data.labels");
    rp_node_read_text(reader, data, "data.images", &out->images.path, NULL, PATH_LIMIT);
    rp_node_read_text(reader, data, "data.labels", &out->images.labels, NULL, PATH_LIMIT);
    if (reader->status != RP_OK)
        return;
    if (!out->images.path) {
        rp_node_refuse(reader, rp_node_find(data, "images"), "data.images",
                       "expected the path of a folder, relative to the recipe");
        return;
    }
    if (!out->images.labels) {
        rp_node_refuse(reader, data, "data.labels",
                       "required: the path of a CSV file with the columns file and label, relative to the recipe");
        return;
    }
    out->data.csv = rp_strdup(out->images.labels);
    out->data.target.name = rp_strdup(RP_ARRAYS_TARGET);
    if (!out->data.csv || !out->data.target.name)
        reader->status = rp_no_memory(reader->err);
}

static bool is_hex_digest(const char *text)
{
    return text && strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

static bool is_shape(const rp_json *shape)
{
    rp_json *axis;
    size_t i;

    if (!rp_json_is_array(shape) || rp_json_array_size(shape) < 1 || rp_json_array_size(shape) > RP_ARRAY_RANK)
        return false;
    rp_json_array_foreach (shape, i, axis)
        if (!rp_json_is_integer(axis) || rp_json_integer_value(axis) < 1)
            return false;
    return true;
}

static bool is_type(const char *name)
{
    for (size_t i = 0; name && i < RP_ARRAY_TYPES; i++)
        if (strcmp(name, rp_array_type_names[i]) == 0)
            return true;
    return false;
}

/* name: of a tensor in a file of several; null of a file that is one. */
/* null: of what is left out no digest stays. */
static bool is_digest_or_null(const rp_json *value)
{
    return rp_json_is_null(value) || is_hex_digest(rp_json_string_value(value));
}

static bool is_part(const rp_json *part)
{
    const rp_json *name = rp_json_object_get(part, "name");

    return rp_json_object_size(part) == 4 && is_type(rp_json_string_value(rp_json_object_get(part, "dtype"))) &&
           (rp_json_is_null(name) || (rp_json_is_string(name) && rp_json_string_length(name) <= NAME_LIMIT)) &&
           is_digest_or_null(rp_json_object_get(part, "sha256")) && is_shape(rp_json_object_get(part, "shape"));
}

static bool take_name(char **out, const rp_json *part)
{
    const char *name = rp_json_string_value(rp_json_object_get(part, "name"));

    rp_free(*out);
    *out = name ? rp_strdup(name) : NULL;
    return !name || *out;
}

rp_status rp_recipe_set_arrays(rp_recipe *recipe, rp_json *origin, const char *where, rp_error *err)
{
    rp_json *part[2];
    bool right = rp_json_object_size(origin) == 2;

    for (size_t i = 0; i < 2; i++) {
        part[i] = rp_json_object_get(origin, part_names[i]);
        right = right && is_part(part[i]);
    }
    if (!right)
        return rp_fail(err, RP_EFORMAT,
                       "%s: key data.arrays: expected features and target, each {dtype, name, sha256, shape}", where);
    if (!take_name(&recipe->arrays.features, part[0]) || !take_name(&recipe->arrays.target, part[1]) ||
        rp_json_object_set(rp_json_object_get(recipe->json, "data"), "arrays", origin) != 0)
        return rp_no_memory(err);
    recipe->arrays.known = true;
    return RP_OK;
}

rp_status rp_recipe_set_images(rp_recipe *recipe, rp_json *origin, const char *where, rp_error *err)
{
    static const char *const sizes[] = {"channels", "count", "height", "width"};
    bool right = rp_json_object_size(origin) == 6 && is_digest_or_null(rp_json_object_get(origin, "labels")) &&
                 is_digest_or_null(rp_json_object_get(origin, "sha256"));

    for (size_t i = 0; i < COUNT(sizes); i++)
        right = right && rp_json_integer_value(rp_json_object_get(origin, sizes[i])) >= 1;
    if (!right)
        return rp_fail(err, RP_EFORMAT,
                       "%s: key data.images: expected {channels, count, height, labels, sha256, width}", where);
    if (rp_json_object_set(rp_json_object_get(recipe->json, "data"), "images", origin) != 0)
        return rp_no_memory(err);
    recipe->arrays.known = true;
    return RP_OK;
}
