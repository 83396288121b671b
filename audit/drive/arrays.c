/* SPDX-License-Identifier: Apache-2.0
 * Files of arrays, whole in memory while their table is written: what is left of them then are their digests. */
#include "audit/drive/arrays.h"

#include "base/memory.h"
#include "core/data/arrays/arrays.h"

typedef struct arrays {
    const rp_recipe *recipe;
    const char *where[2]; /* of features and target: the same file, or two */
    rp_buffer bytes[2];
    char *target_path;
    bool tensors;
    rp_array array[2];
} arrays;

char *rp_arrays_target_path(const rp_recipe *recipe, const char *recipe_path)
{
    return rp_path_beside(recipe_path, recipe->arrays.target);
}

static const char *features_name(const rp_recipe *recipe)
{
    return recipe->arrays.features ? recipe->arrays.features : RP_ARRAYS_FEATURE;
}

static rp_status read_tensors(arrays *a, rp_error *err)
{
    rp_status status = rp_array_from_tensors(&a->array[0], a->bytes[0].data, a->bytes[0].size, features_name(a->recipe),
                                             a->where[0], err);

    return status == RP_OK ? rp_array_from_tensors(&a->array[1], a->bytes[0].data, a->bytes[0].size,
                                                   a->recipe->arrays.target, a->where[0], err)
                           : status;
}

static rp_status read_npy(arrays *a, const char *recipe_path, const rp_job_options *options, rp_error *err)
{
    rp_status status = rp_array_from_npy(&a->array[0], a->bytes[0].data, a->bytes[0].size, a->where[0], err);

    if (status == RP_OK && a->recipe->arrays.features)
        return rp_fail(err, RP_EARG, "%s: key data.features: an .npy file holds one array without a name: leave it out",
                       recipe_path);
    a->target_path = rp_arrays_target_path(a->recipe, recipe_path);
    if (status == RP_OK && !a->target_path)
        return rp_no_memory(err);
    a->where[1] = a->target_path;
    if (status == RP_OK)
        status = rp_table_stream(options, a->target_path, rp_buffer_take, &a->bytes[1], err);
    if (status == RP_OK)
        status = rp_array_from_npy(&a->array[1], a->bytes[1].data, a->bytes[1].size, a->target_path, err);
    return status;
}

static rp_json *shape_json(const rp_array *array)
{
    rp_json *list = rp_json_array();

    for (int i = 0; list && i < array->rank; i++)
        if (rp_json_array_append_new(list, rp_json_integer((int64_t)array->shape[i])) != 0) {
            rp_json_free(list);
            return NULL;
        }
    return list;
}

/* Of a file that is left out no digest stays, which a guess of its elements could be tested with. NULL: no memory. */
static rp_json *part_json(const rp_array *array, const char *name, const rp_buffer *file, bool withheld)
{
    char hex[RP_DIGEST_HEX];
    rp_digest digest;

    if (rp_sha256(&digest, file->data, file->size, NULL) != RP_OK)
        return NULL;
    rp_digest_hex(hex, &digest);
    return rp_json_pack("{s:s, s:s?, s:s?, s:o}", "dtype", rp_array_type_names[array->type], "name", name, "sha256",
                        withheld ? NULL : hex, "shape", shape_json(array));
}

static rp_status say_origin(const arrays *a, rp_recipe *recipe, const char *recipe_path, bool withheld, rp_error *err)
{
    const bool named = a->tensors;
    rp_json *origin = rp_json_pack(
        "{s:o, s:o}", "features", part_json(&a->array[0], named ? features_name(recipe) : NULL, &a->bytes[0], withheld),
        "target", part_json(&a->array[1], named ? recipe->arrays.target : NULL, &a->bytes[named ? 0 : 1], withheld));
    rp_status status = origin ? rp_recipe_set_arrays(recipe, origin, recipe_path, err) : rp_no_memory(err);

    rp_json_free(origin);
    return status;
}

static rp_status write_table(arrays *a, const char *recipe_path, const char *path, const rp_job_options *options,
                             rp_file_taker take, void *self, rp_error *err)
{
    rp_status status = rp_table_stream(options, path, rp_buffer_take, &a->bytes[0], err);

    a->where[0] = path;
    a->tensors = !rp_array_is_npy(a->bytes[0].data, a->bytes[0].size);
    if (status == RP_OK)
        status = a->tensors ? read_tensors(a, err) : read_npy(a, recipe_path, options, err);
    return status == RP_OK ? rp_array_write(&a->array[0], &a->array[1], take, self, err) : status;
}

rp_status rp_recipe_stream(rp_recipe *recipe, const char *recipe_path, const char *path, const rp_job_options *options,
                           rp_file_taker take, void *self, rp_error *err)
{
    arrays a = {.recipe = recipe};
    rp_status status;

    if (recipe && recipe->images.path)
        return rp_images_stream(recipe, recipe_path, path, options, take, self, err);
    if (!recipe || !recipe->arrays.path)
        return rp_table_stream(options, path, take, self, err);
    status = write_table(&a, recipe_path, path, options, take, self, err);
    if (status == RP_OK)
        status = say_origin(&a, recipe, recipe_path, options && options->withhold, err);
    rp_buffer_free(&a.bytes[0]);
    rp_buffer_free(&a.bytes[1]);
    rp_free(a.target_path);
    return status;
}

/* ---- new rows ---- */

rp_status rp_arrays_rows(rp_buffer *out, const rp_recipe *recipe, const void *bytes, size_t size, const char *where,
                         rp_error *err)
{
    const bool npy = rp_array_is_npy(bytes, size), tensors = !npy && rp_array_is_tensors(bytes, size);
    const char *target = recipe->arrays.target ? recipe->arrays.target : RP_ARRAYS_TARGET;
    const bool outcome = tensors && rp_array_in_tensors(bytes, size, target);
    rp_array x, y;
    rp_status status = RP_OK;

    if (!npy && !tensors)
        return RP_OK;
    if (!recipe->arrays.known)
        return rp_fail(err, RP_EDATA,
                       "%s: expected a CSV file: the run was trained on a table, not on arrays or images", where);
    status = npy ? rp_array_from_npy(&x, bytes, size, where, err)
                 : rp_array_from_tensors(&x, bytes, size, features_name(recipe), where, err);
    if (status == RP_OK && outcome)
        status = rp_array_from_tensors(&y, bytes, size, target, where, err);
    if (status == RP_OK)
        status = rp_array_write(&x, outcome ? &y : NULL, rp_buffer_take, out, err);
    if (status == RP_OK)
        status = rp_buffer_status(out, err);
    return status;
}
