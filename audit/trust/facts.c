/* SPDX-License-Identifier: Apache-2.0
 * Reading what is recorded of a model, and values in it by their names. */
#include "audit/trust/facts.h"

#include <string.h>

#include "audit/archive/archive_private.h"
#include "base/memory.h"
#include "determinism/decimal.h"
#include "determinism/pinned.h"

enum { NAME = 128, FACT_LIMIT = 64 << 20 };

static rp_status read_member(rp_json **out, const rp_archive *archive, const char *name, rp_error *err)
{
    const rp_member *member = rp_archive_find(archive, name);
    const bool large = strcmp(name, RP_METRICS_MEMBER) == 0 || strcmp(name, RP_TRIALS_MEMBER) == 0;
    rp_buffer text = {0};
    rp_status status;

    if (member == NULL || member->size > FACT_LIMIT)
        return RP_OK;
    status = rp_archive_member_body(archive, member, &text, err);
    if (status == RP_OK)
        status = rp_json_parse_within(out, text.data, text.size, large ? RP_JSON_METRICS_MEMORY : RP_JSON_MEMORY, true,
                                      name, err);
    rp_buffer_free(&text);
    return status == RP_EFORMAT || status == RP_EUNSUPPORTED ? RP_OK : status;
}

rp_status rp_run_facts_read(rp_run_facts **out, const rp_archive *archive, rp_error *err)
{
    const rp_json *run = rp_archive_manifest(archive)->run;
    rp_run_facts *made = rp_calloc(1, sizeof *made);
    rp_status status = made ? read_member(&made->recipe, archive, RP_RECIPE_MEMBER, err) : rp_no_memory(err);

    if (status == RP_OK)
        status = read_member(&made->schema, archive, RP_SCHEMA_MEMBER, err);
    if (status == RP_OK)
        status = read_member(&made->metrics, archive, RP_METRICS_MEMBER, err);
    if (status == RP_OK)
        status = read_member(&made->trials, archive, RP_TRIALS_MEMBER, err);
    if (status == RP_OK) {
        made->pinned = rp_json_share(rp_json_object_get(run, "pinned"));
        made->line = rp_json_share(rp_json_object_get(rp_json_object_get(run, "parent"), "pinned"));
    }
    if (status == RP_OK && rp_archive_find(archive, RP_TABLE_MEMBER) != NULL)
        rp_digest_hex(made->table, &rp_archive_find(archive, RP_TABLE_MEMBER)->digest);
    if (status == RP_OK && rp_archive_find(archive, RP_TEST_TABLE_MEMBER) != NULL)
        rp_digest_hex(made->tested, &rp_archive_find(archive, RP_TEST_TABLE_MEMBER)->digest);
    *out = made;
    if (status != RP_OK) {
        rp_run_facts_free(made);
        *out = NULL;
    }
    return status;
}

/* compute and workspace of a recipe in the pinned profile, beside the manifest's. */
static bool library_agrees(const rp_json *said, const rp_json *recorded)
{
    const char *compute = rp_json_string_value(rp_json_object_get(said, "compute"));
    const rp_json *workspace = rp_json_object_get(said, "workspace");

    return compute != NULL && strcmp(compute, rp_json_string_value(rp_json_object_get(recorded, "compute"))) == 0 &&
           (workspace != NULL ? rp_json_integer_value(workspace) : (int64_t)RP_PINNED_WORKSPACE) ==
               rp_json_integer_value(rp_json_object_get(recorded, "workspace"));
}

/* A recipe that cannot be read names no profile, and whoever made one so may have meant that: it is refused. NULL: it
 * was left out. */
static rp_status read_recipe(rp_json **out, const rp_archive *archive, rp_error *err)
{
    const rp_member *member = rp_archive_find(archive, RP_RECIPE_MEMBER);
    rp_buffer text = {0};
    rp_status status;

    if (member == NULL)
        return RP_OK;
    status = rp_archive_member_body(archive, member, &text, err);
    if (status == RP_OK)
        status = rp_json_parse_within(out, text.data, text.size, RP_JSON_MEMORY, true, RP_RECIPE_MEMBER, err);
    rp_buffer_free(&text);
    if (status == RP_EUNSUPPORTED)
        status = rp_fail_at(err, RP_EFORMAT, "no recipe");
    if (status == RP_OK && !rp_json_is_object(*out))
        status = rp_fail(err, RP_EFORMAT, RP_RECIPE_MEMBER ": expected an object, the resolved recipe");
    return status;
}

/* RP_EFORMAT: neither of the two words. */
static rp_status read_profile(bool *pinned, const rp_json *recipe, rp_error *err)
{
    const rp_json *value = rp_json_object_get(recipe, "profile");
    const char *said = rp_json_string_value(value);

    *pinned = said != NULL && strcmp(said, "pinned") == 0;
    if (value == NULL || *pinned || (said != NULL && strcmp(said, "portable") == 0))
        return RP_OK;
    return rp_fail(err, RP_EFORMAT, RP_RECIPE_MEMBER ": profile: expected \"portable\" or \"pinned\"");
}

rp_status rp_recipe_check(const rp_archive *archive, rp_error *err)
{
    const rp_manifest *manifest = rp_archive_manifest(archive);
    rp_json *recipe = NULL;
    bool pinned = false;
    rp_status status = manifest->kind != RP_RUN_API ? read_recipe(&recipe, archive, err) : RP_OK;

    if (status == RP_OK)
        status = rp_run_kind_check(manifest->kind, recipe, err);
    if (status == RP_OK)
        status = read_profile(&pinned, recipe, err);
    if (status == RP_OK && recipe != NULL && pinned != manifest->pinned)
        status = rp_fail(err, RP_EFORMAT, RP_RECIPE_MEMBER ": profile: %s, but the manifest's is %s",
                         pinned ? "pinned" : "portable", manifest->pinned ? "pinned" : "portable");
    else if (status == RP_OK && recipe != NULL && !pinned && rp_json_object_get(recipe, "pinned") != NULL)
        status = rp_fail(err, RP_EFORMAT,
                         RP_RECIPE_MEMBER ": pinned: belongs to profile: pinned, but the profile is portable");
    else if (status == RP_OK && pinned &&
             !library_agrees(rp_json_object_get(recipe, "pinned"), rp_json_object_get(manifest->run, "pinned")))
        status = rp_fail(err, RP_EFORMAT, RP_MANIFEST_NAME ": run.pinned: compute or workspace is not the recipe's");
    rp_json_free(recipe);
    return status;
}

void rp_run_facts_free(rp_run_facts *facts)
{
    if (facts == NULL)
        return;
    rp_json_free(facts->recipe);
    rp_json_free(facts->schema);
    rp_json_free(facts->metrics);
    rp_json_free(facts->trials);
    rp_json_free(facts->pinned);
    rp_json_free(facts->line);
    rp_free(facts);
}

const rp_json *rp_fact_at(const rp_json *json, const char *path)
{
    char name[NAME];

    while (json != NULL && *path != '\0') {
        const size_t length = strcspn(path, ".");

        if (length >= sizeof name)
            return NULL;
        memcpy(name, path, length);
        name[length] = '\0';
        json = rp_json_object_get(json, name);
        path += length + (path[length] == '.');
    }
    return json;
}

void rp_fact_text(const rp_json *value, rp_buffer *out)
{
    if (rp_json_is_array(value)) {
        rp_buffer_text(out, "[");
        for (size_t i = 0; i < rp_json_array_size(value); i++) {
            const rp_json *one = rp_json_array_get(value, i);

            rp_buffer_text(out, i ? ", " : "");
            if (rp_json_is_object(one) && rp_json_write(one, out, NULL) != RP_OK)
                out->failed = true;
            rp_fact_text(one, out);
        }
        rp_buffer_text(out, "]");
    } else if (rp_json_is_string(value)) {
        rp_buffer_text(out, rp_json_string_value(value));
    } else if (rp_json_is_integer(value)) {
        rp_buffer_printf(out, "%lld", (long long)rp_json_integer_value(value));
    } else if (value != NULL && !rp_json_is_object(value)) {
        rp_buffer_text(out, rp_json_is_null(value) ? "null" : rp_json_is_true(value) ? "true" : "false");
    }
}

bool rp_fact_number(const rp_json *value, double *out)
{
    const char *text = rp_json_string_value(value);

    if (rp_json_is_integer(value)) {
        *out = (double)rp_json_integer_value(value);
        return true;
    }
    return text != NULL && rp_parse_f64(out, text, strlen(text));
}
