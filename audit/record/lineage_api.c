/* SPDX-License-Identifier: Apache-2.0
 * Parents of runs of the C API. Such a run takes its first states as given and holds them; of those that were another
 * run's it says so, by name, so that the claim can be checked without the parent (the digest) and with it (the bytes).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/profile/identity.h"
#include "audit/record/lineage.h"
#include "audit/record/recorder_private.h"
#include "base/handle.h"
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
    return rp_json_object_size(said) == (rp_json_object_get(said, "pinned") ? 5u : 4u) && n > 0 &&
           is_digest(text_of(said, "archive_id")) && is_digest(text_of(said, "states")) &&
           (strcmp(text_of(said, "weights"), "final") == 0 || rp_json_integer_value(weights) > 0);
}

static rp_status said_by(const rp_json **out, const rp_archive *archive, rp_error *err)
{
    *out = rp_json_object_get(rp_archive_manifest(archive)->run, "parent");
    return !*out || well_formed(*out)
               ? RP_OK
               : rp_fail(err, RP_EFORMAT,
                         RP_MANIFEST_NAME ": run.parent: expected exactly archive_id, states, "
                                          "tensors (names, ascending), weights (\"final\" or a number of steps) and, "
                                          "of states that are pinned, pinned");
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

static rp_status load(rp_tensor_set **out, const rp_archive *archive, const char *name, rp_error *err)
{
    rp_status status = rp_tensor_set_open(out, archive, name, err);

    return status == RP_EDATA ? rp_fail_at(err, RP_EFORMAT, "parent") : status;
}

static rp_status load_origin(rp_tensor_set **out, char name[RP_MEMBER_NAME], const rp_archive *parent,
                             uint64_t checkpoint, rp_error *err)
{
    (void)snprintf(name, RP_MEMBER_NAME, RP_FINAL_MEMBER);
    if (checkpoint && !rp_tensor_set_present(parent, rp_checkpoint_name(name, checkpoint)))
        return rp_fail(err, RP_EARG, "the parent has no checkpoint after %llu steps", (unsigned long long)checkpoint);
    return load(out, parent, name, err);
}

/* list: those of the child that are named. */
static rp_status compare_named(const rp_safetensor **list, const rp_json *names, const rp_tensor_set *child,
                               const rp_tensor_set *origin, const char *where, rp_error *err)
{
    for (size_t i = 0; i < rp_json_array_size(names); i++) {
        const char *name = rp_json_string_value(rp_json_array_get(names, i));
        const rp_safetensor *a = rp_tensor_set_find(child, name), *b = rp_tensor_set_find(origin, name);
        bool same;
        rp_status status;

        if (!a || !b)
            return rp_fail(err, RP_EHASH, "%s: %.96s is missing", a ? where : RP_INIT_MEMBER, name);
        status = rp_tensor_set_same(&same, child, a, origin, b, err);
        if (status != RP_OK)
            return status;
        if (!same)
            return rp_fail(err, RP_EHASH, RP_INIT_MEMBER ": %.96s has other bytes than in %s of the parent", name,
                           where);
        list[i] = a;
    }
    return RP_OK;
}

/* Those of the child's first states that it names: each the parent's, and together of the digest that it says. */
static rp_status compare_states(const rp_json *said, const rp_tensor_set *child, const rp_tensor_set *origin,
                                const char *where, rp_error *err)
{
    const rp_json *names = rp_json_object_get(said, "tensors");
    size_t n = rp_json_array_size(names);
    const rp_safetensor **list = rp_calloc(n, sizeof *list);
    rp_digest digest;
    rp_status status = list ? compare_named(list, names, child, origin, where, err) : rp_no_memory(err);

    if (status == RP_OK)
        status = rp_tensor_set_digest(&digest, child, list, n, err);
    if (status == RP_OK)
        status = compare_digest(said, &digest, err);
    rp_free(list);
    return status;
}

rp_status rp_api_parent_check(const rp_archive *child, const rp_archive *parent, rp_error *err)
{
    const rp_json *said;
    rp_tensor_set *init = NULL, *origin = NULL;
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
        status = compare_states(said, init, origin, member, err);
    rp_tensor_set_free(init);
    rp_tensor_set_free(origin);
    return status;
}

/* ---- recording ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const rp_device_tensor *)a)->name, ((const rp_device_tensor *)b)->name);
}

/* Those of the first states that are the parent's, by name; their number. */
static rp_status pick_taken(rp_device_tensor *taken, size_t *n, const rp_run *run, const rp_tensor_set *origin,
                            rp_error *err)
{
    size_t count;
    const rp_device_tensor *state = rp_run_states(run, &count);
    rp_status status = RP_OK;

    *n = 0;
    for (size_t i = 0; i < count && status == RP_OK; i++) {
        const rp_safetensor *theirs = rp_tensor_set_find(origin, state[i].name);
        bool has = false;

        if (theirs)
            status = rp_set_has(&has, origin, theirs, &state[i], err);
        if (has)
            taken[(*n)++] = state[i];
    }
    if (status == RP_OK && *n == 0)
        return rp_fail(err, RP_EARG, "none of the run's first states is the parent's under the same name");
    qsort(taken, *n, sizeof *taken, by_name);
    return status;
}

static rp_status describe(rp_json **out, const rp_device_tensor *taken, size_t n, const char *id, uint64_t checkpoint,
                          rp_error *err)
{
    rp_json *names = rp_json_array(),
            *weights = checkpoint ? rp_json_integer((int64_t)checkpoint) : rp_json_string("final");
    char hex[RP_DIGEST_HEX] = "";
    rp_digest digest;
    rp_status status = names && weights ? rp_device_tensors_digest(&digest, taken, n, NULL, err) : rp_no_memory(err);

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
    return status;
}

static rp_status describe_parent(rp_json **out, const rp_run *run, const rp_archive *parent, uint64_t checkpoint,
                                 rp_error *err)
{
    char name[RP_MEMBER_NAME];
    rp_tensor_set *origin = NULL;
    rp_json *line = NULL;
    size_t n;
    rp_device_tensor *taken;
    rp_status status = load_origin(&origin, name, parent, checkpoint, err);

    (void)rp_run_states(run, &n);
    taken = rp_calloc(n ? n : 1, sizeof *taken);
    if (status == RP_OK && !taken)
        status = rp_no_memory(err);
    if (status == RP_OK)
        status = pick_taken(taken, &n, run, origin, err);
    if (status == RP_OK)
        status = describe(out, taken, n, rp_archive_id(parent), checkpoint, err);
    if (status == RP_OK)
        status = rp_pinned_line(&line, rp_archive_manifest(parent)->run, rp_archive_id(parent), err);
    if (line && rp_json_object_set_new(*out, "pinned", line) != 0)
        status = rp_no_memory(err);
    rp_free(taken);
    rp_tensor_set_free(origin);
    return status;
}

rp_status rp_recorder_set_parent(rp_recorder *r, const char *path, uint64_t checkpoint, rp_error *err)
{
    if (!r)
        return rp_no_handle(err, __func__, "recorder");

    rp_archive *parent = NULL;
    rp_json *made = NULL;
    rp_status status;

    if (!r->store || rp_recorder_steps(r) > 0 || r->failed)
        return rp_fail(err, RP_EARG, "a parent is named before the first step is recorded");
    status = rp_archive_open(&parent, path, err);
    if (status != RP_OK)
        return rp_fail_at(err, status, "parent");
    status = describe_parent(&made, r->run, parent, checkpoint, err);
    if (status == RP_OK) {
        rp_json_free(r->parent);
        r->parent = made;
    } else {
        rp_json_free(made);
        status = rp_fail_at(err, status, "%s", path);
    }
    rp_archive_close(parent);
    return status;
}
