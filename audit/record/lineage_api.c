/* SPDX-License-Identifier: Apache-2.0
 * Parents of runs of the C API. Such a run takes its first states as given and holds them; of those that were another
 * run's it says so, by name, so that the claim can be checked without the parent (the digest) and with it (the bytes).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/record/lineage.h"
#include "audit/record/recorder_private.h"
#include "base/memory.h"

static const char init_member[] = RP_INIT_MEMBER;

/* ---- what the manifest says ---- */

static const char *text_of(const rp_json *object, const char *key)
{
    const char *text = rp_json_string_value(rp_json_object_get(object, key));

    return text ? text : "";
}

static bool is_digest(const char *text)
{
    return strlen(text) == RP_DIGEST_HEX - 1 && strspn(text, "0123456789abcdef") == RP_DIGEST_HEX - 1;
}

/* Names ascend, so that one set of tensors is said in one way. */
static bool well_formed(const rp_json *said)
{
    const rp_json *names = rp_json_object_get(said, "tensors"), *weights = rp_json_object_get(said, "weights");
    size_t n = rp_json_array_size(names);

    for (size_t i = 0; i < n; i++) {
        const char *name = rp_json_string_value(rp_json_array_get(names, i));

        if (!name || (i > 0 && strcmp(rp_json_string_value(rp_json_array_get(names, i - 1)), name) >= 0))
            return false;
    }
    return rp_json_object_size(said) == 4 && n > 0 && is_digest(text_of(said, "archive_id")) &&
           is_digest(text_of(said, "states")) &&
           (strcmp(text_of(said, "weights"), "final") == 0 || rp_json_integer_value(weights) > 0);
}

static rp_status said_by(const rp_json **out, const rp_archive *archive, rp_error *err)
{
    *out = rp_json_object_get(rp_archive_manifest(archive)->run, "parent");
    return !*out || well_formed(*out)
               ? RP_OK
               : rp_fail(err, RP_EFORMAT,
                         RP_MANIFEST_NAME ": run.parent: expected exactly archive_id, states, "
                                          "tensors (names, ascending) and weights (\"final\" or a number of steps)");
}

static rp_status compare_digest(const rp_json *said, const rp_digest *found, rp_error *err)
{
    char hex[RP_DIGEST_HEX];

    rp_digest_hex(hex, found);
    return strcmp(hex, text_of(said, "states")) == 0
               ? RP_OK
               : rp_fail(err, RP_EHASH,
                         RP_MANIFEST_NAME ": run.parent: digest of the states that it names: recorded %s, found %s",
                         text_of(said, "states"), hex);
}

rp_status rp_api_parent_read(rp_json **out, const rp_archive *archive, const rp_run *run, rp_error *err)
{
    const rp_json *said, *names;
    size_t n, count, found = 0;
    const rp_device_tensor *state = rp_run_states(run, &n);
    rp_device_tensor *list = NULL;
    rp_digest digest;
    rp_status status = said_by(&said, archive, err);

    *out = NULL;
    if (status != RP_OK || !said)
        return status;
    names = rp_json_object_get(said, "tensors");
    count = rp_json_array_size(names);
    list = rp_calloc(count, sizeof *list);
    if (!list)
        return rp_no_memory(err);
    for (size_t i = 0; i < count && status == RP_OK; i++) {
        const char *name = rp_json_string_value(rp_json_array_get(names, i));

        for (size_t k = 0; k < n && found == i; k++)
            if (strcmp(state[k].name, name) == 0)
                list[found++] = state[k];
        if (found == i)
            status = rp_fail(err, RP_EFORMAT, RP_MANIFEST_NAME ": run.parent: %.96s is none of the first states", name);
    }
    if (status == RP_OK)
        status = rp_device_tensors_digest(&digest, list, count, NULL, err);
    rp_free(list);
    if (status == RP_OK)
        status = compare_digest(said, &digest, err);
    if (status == RP_OK)
        *out = rp_json_share((rp_json *)said);
    return status;
}

/* ---- two archives ---- */

typedef struct tensors {
    rp_buffer bytes;
    rp_safetensors *file;
} tensors;

static void tensors_free(tensors *t)
{
    rp_safetensors_free(t->file);
    rp_buffer_free(&t->bytes);
}

static rp_status load(tensors *out, const rp_archive *archive, const char *member, rp_error *err)
{
    rp_status status = rp_archive_read_member(archive, member, SIZE_MAX / 2, &out->bytes, err);

    if (status == RP_OK)
        status = rp_safetensors_parse(&out->file, out->bytes.data, out->bytes.size, member, err);
    return status == RP_EDATA ? rp_fail_at(err, RP_EFORMAT, "parent") : status;
}

static rp_status load_origin(tensors *out, char member[RP_MEMBER_NAME], const rp_archive *parent, uint64_t checkpoint,
                             rp_error *err)
{
    if (checkpoint == 0)
        (void)snprintf(member, RP_MEMBER_NAME, RP_FINAL_MEMBER);
    else if (!rp_archive_find(parent, rp_checkpoint_name(member, checkpoint)))
        return rp_fail(err, RP_EARG, "the parent has no checkpoint after %llu steps", (unsigned long long)checkpoint);
    return load(out, parent, member, err);
}

static rp_status compare_named(rp_safetensor *list, const rp_json *names, const rp_safetensors *child,
                               const rp_safetensors *origin, const char *member, rp_error *err)
{
    for (size_t i = 0; i < rp_json_array_size(names); i++) {
        const char *name = rp_json_string_value(rp_json_array_get(names, i));
        const rp_safetensor *a = rp_safetensors_find(child, name), *b = rp_safetensors_find(origin, name);

        if (!a || !b)
            return rp_fail(err, RP_EHASH, "%s: %.96s is missing", a ? member : init_member, name);
        if (!rp_lineage_same(a, b))
            return rp_fail(err, RP_EHASH, "%s: %.96s has other bytes than in %s of the parent", init_member, name,
                           member);
        list[i] = *a;
    }
    return RP_OK;
}

/* Those of the child's first states that it names: each the parent's, and together of the digest that it says. */
static rp_status compare_states(const rp_json *said, const rp_safetensors *child, const rp_safetensors *origin,
                                const char *member, rp_error *err)
{
    const rp_json *names = rp_json_object_get(said, "tensors");
    size_t n = rp_json_array_size(names);
    rp_safetensor *list = rp_calloc(n, sizeof *list);
    rp_digest digest;
    rp_status status = list ? compare_named(list, names, child, origin, member, err) : rp_no_memory(err);

    if (status == RP_OK)
        status = rp_lineage_digest(&digest, list, n, err);
    if (status == RP_OK)
        status = compare_digest(said, &digest, err);
    rp_free(list);
    return status;
}

rp_status rp_api_parent_check(const rp_archive *child, const rp_archive *parent, rp_error *err)
{
    const rp_json *said;
    tensors init = {.file = NULL}, origin = {.file = NULL};
    char member[RP_MEMBER_NAME];
    rp_status status = said_by(&said, child, err);

    if (status != RP_OK)
        return status;
    if (!said)
        return rp_fail(err, RP_EHASH, RP_MANIFEST_NAME ": the run names no parent");
    if (strcmp(text_of(said, "archive_id"), rp_archive_id(parent)) != 0)
        return rp_fail(err, RP_EHASH, "parent: recorded archive id %s, found %s", text_of(said, "archive_id"),
                       rp_archive_id(parent));
    status = load(&init, child, init_member, err);
    if (status == RP_OK)
        status = load_origin(&origin, member, parent,
                             (uint64_t)rp_json_integer_value(rp_json_object_get(said, "weights")), err);
    if (status == RP_OK)
        status = compare_states(said, init.file, origin.file, member, err);
    tensors_free(&init);
    tensors_free(&origin);
    return status;
}

/* ---- recording ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const rp_safetensor *)a)->name, ((const rp_safetensor *)b)->name);
}

/* Those of the first states that are the parent's, by name. */
static rp_status describe(rp_json **out, const rp_safetensors *init, const rp_safetensors *origin, const char *id,
                          uint64_t checkpoint, rp_error *err)
{
    rp_safetensor *taken = rp_calloc(init->count, sizeof *taken);
    rp_json *names = rp_json_array(),
            *weights = checkpoint ? rp_json_integer((int64_t)checkpoint) : rp_json_string("final");
    char hex[RP_DIGEST_HEX] = "";
    rp_digest digest;
    size_t n = 0;
    rp_status status = taken && names && weights ? RP_OK : rp_no_memory(err);

    for (size_t i = 0; i < init->count && status == RP_OK; i++) {
        const rp_safetensor *theirs = rp_safetensors_find(origin, init->tensor[i].name);

        if (theirs && rp_lineage_same(&init->tensor[i], theirs))
            taken[n++] = init->tensor[i];
    }
    if (status == RP_OK && n == 0)
        status = rp_fail(err, RP_EARG, "none of the run's first states is the parent's under the same name");
    if (status == RP_OK) {
        qsort(taken, n, sizeof *taken, by_name);
        status = rp_lineage_digest(&digest, taken, n, err);
    }
    for (size_t i = 0; i < n && status == RP_OK; i++)
        if (rp_json_array_append_new(names, rp_json_string(taken[i].name)) != 0)
            status = rp_no_memory(err);
    if (status == RP_OK) {
        rp_digest_hex(hex, &digest);
        *out =
            rp_json_pack("{s:s, s:s, s:O, s:O}", "archive_id", id, "states", hex, "tensors", names, "weights", weights);
        status = *out ? RP_OK : rp_no_memory(err);
    }
    rp_json_free(names);
    rp_json_free(weights);
    rp_free(taken);
    return status;
}

rp_status rp_recorder_set_parent(rp_recorder *r, const char *path, uint64_t checkpoint, rp_error *err)
{
    rp_archive *parent = NULL;
    rp_safetensors *init = NULL;
    tensors origin = {.file = NULL};
    char member[RP_MEMBER_NAME];
    rp_json *made = NULL;
    rp_status status;

    if (!r->keep_feeds || rp_recorder_steps(r) > 0 || r->failed)
        return rp_fail(err, RP_EARG, "a parent is named before the first step is recorded");
    status = rp_archive_open(&parent, path, err);
    if (status != RP_OK)
        return rp_fail_at(err, status, "parent");
    status = rp_safetensors_parse(&init, r->init.data, r->init.size, init_member, err);
    if (status == RP_OK)
        status = load_origin(&origin, member, parent, checkpoint, err);
    if (status == RP_OK)
        status = describe(&made, init, origin.file, rp_archive_id(parent), checkpoint, err);
    if (status == RP_OK) {
        rp_json_free(r->parent);
        r->parent = made;
    } else {
        status = rp_fail_at(err, status, "%s", path);
    }
    rp_safetensors_free(init);
    tensors_free(&origin);
    rp_archive_close(parent);
    return status;
}
