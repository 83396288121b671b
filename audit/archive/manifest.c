/* SPDX-License-Identifier: Apache-2.0
 * Writing and strictly reading manifest.json (FORMAT.md 4). */
#include "audit/archive/manifest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/profile/identity.h"
#include "base/buffer.h"
#include "base/memory.h"
#include "base/text.h"
#include "determinism/pins.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

static const char *const kind_name[RP_RUN_KINDS] = {"recipe", "api", "text"};
static const char *const profile_name[] = {"portable", "pinned"};
static const char *const top_keys[] = {"contract", "format", "kind", "members", "profile", "run"};
static const char *const withheld_top_keys[] = {"contract", "format", "kind", "members", "profile", "run", "withheld"};
static const char *const member_keys[] = {"path", "sha256", "size"};
static const char *const withheld_keys[] = {"path", "salted"};
static const char *const list_keys[] = {"members", "withheld"};

const char *rp_run_kind_name(rp_run_kind kind)
{
    return kind_name[kind];
}

static rp_json *member_json(const rp_member *member, bool withheld)
{
    char hex[RP_DIGEST_HEX];

    rp_digest_hex(hex, &member->digest);
    if (withheld)
        return rp_json_pack("{s:s, s:s}", "path", member->name, "salted", hex);
    return rp_json_pack("{s:s, s:s, s:I}", "path", member->name, "sha256", hex, "size", (int64_t)member->size);
}

static rp_json *members_json(const rp_member *member, size_t members, bool withheld)
{
    rp_json *list = rp_json_array();

    for (size_t i = 0; list != NULL && i < members; i++) {
        if (rp_json_array_append_new(list, member_json(&member[i], withheld)) != 0) {
            rp_json_free(list);
            return NULL;
        }
    }
    return list;
}

rp_status rp_manifest_write(rp_buffer *out, rp_run_kind kind, const rp_json *run, const rp_member *member,
                            size_t members, const rp_member *withheld, size_t n_withheld, rp_error *err)
{
    rp_status status = RP_OK;
    rp_json *list, *json;

    if ((unsigned)kind >= RP_RUN_KINDS || !rp_json_is_object(run))
        return rp_fail(err, RP_EARG, RP_MANIFEST_NAME ": kind %d and a run object are needed", (int)kind);
    list = members_json(member, members, false);
    if (list == NULL)
        return rp_no_memory(err);
    json = rp_json_pack("{s:i, s:i, s:s, s:o, s:s, s:O}", "contract", (int)RP_CONTRACT_VERSION, "format",
                        (int)RP_ARCHIVE_FORMAT, "kind", kind_name[kind], "members", list, "profile",
                        profile_name[rp_json_object_get(run, "pinned") != NULL], "run", (rp_json *)run);
    if (json == NULL)
        return rp_no_memory(err);
    if (n_withheld > 0 && rp_json_object_set_new(json, "withheld", members_json(withheld, n_withheld, true)) != 0)
        status = rp_no_memory(err);
    if (status == RP_OK)
        status = rp_json_write(json, out, err);
    rp_json_free(json);
    if (status == RP_OK && out->size > RP_MANIFEST_LIMIT)
        return rp_fail(err, RP_EARG, RP_MANIFEST_NAME ": %zu bytes, at most %d are allowed", out->size,
                       (int)RP_MANIFEST_LIMIT);
    return status;
}

/* Exactly these keys, no other. */
static rp_status check_keys(const rp_json *object, const char *const *keys, size_t count, const char *what,
                            rp_error *err)
{
    if (!rp_json_is_object(object))
        return rp_fail(err, RP_EFORMAT, RP_MANIFEST_NAME ": %s is not an object", what);
    for (size_t i = 0; i < count; i++)
        if (rp_json_object_get(object, keys[i]) == NULL)
            return rp_fail(err, RP_EFORMAT, RP_MANIFEST_NAME ": %s has no \"%s\"", what, keys[i]);
    if (rp_json_object_size(object) != count)
        return rp_fail(err, RP_EFORMAT, RP_MANIFEST_NAME ": %s has %zu keys, expected %zu", what,
                       rp_json_object_size(object), count);
    return RP_OK;
}

static rp_status check_version(const rp_json *json, const char *key, int known, rp_error *err)
{
    const rp_json *value = rp_json_object_get(json, key);
    int64_t version = rp_json_integer_value(value);

    if (!rp_json_is_integer(value) || version < 1)
        return rp_fail(err, RP_EFORMAT, RP_MANIFEST_NAME ": \"%s\" is not a version number from 1", key);
    if (version > known)
        return rp_fail(err, RP_EUNSUPPORTED,
                       RP_MANIFEST_NAME ": archive of %s %" PRId64
                                        ", this build knows up to %s %d: use a newer reprise",
                       key, version, key, known);
    return RP_OK;
}

static rp_status parse_kind(const rp_json *json, rp_run_kind *kind, bool *pinned, rp_error *err)
{
    const char *profile = rp_json_string_value(rp_json_object_get(json, "profile"));
    const char *name = rp_json_string_value(rp_json_object_get(json, "kind"));
    char shown[64];

    if (profile == NULL || name == NULL)
        return rp_fail(err, RP_EFORMAT, RP_MANIFEST_NAME ": \"kind\" and \"profile\" must be strings");
    *pinned = strcmp(profile, profile_name[1]) == 0;
    if (!*pinned && strcmp(profile, profile_name[0]) != 0)
        return rp_fail(err, RP_EUNSUPPORTED,
                       RP_MANIFEST_NAME ": profile \"%s\", this build knows \"portable\" and \"pinned\"",
                       rp_printable(shown, sizeof shown, profile, strlen(profile)));
    for (*kind = RP_RUN_RECIPE; strcmp(name, kind_name[*kind]) != 0; ++*kind)
        if (*kind == RP_RUN_KINDS - 1)
            return rp_fail(err, RP_EFORMAT, RP_MANIFEST_NAME ": kind \"%s\", expected \"recipe\", \"api\" or \"text\"",
                           rp_printable(shown, sizeof shown, name, strlen(name)));
    return RP_OK;
}

static rp_status parse_member(const rp_json *json, size_t index, rp_member *member, rp_error *err)
{
    char what[48], shown[128];
    rp_status status;

    (void)snprintf(what, sizeof what, "members[%zu]", index);
    status = check_keys(json, member_keys, COUNT(member_keys), what, err);
    if (status != RP_OK)
        return status;
    const char *path = rp_json_string_value(rp_json_object_get(json, "path"));
    const char *hex = rp_json_string_value(rp_json_object_get(json, "sha256"));
    const rp_json *size = rp_json_object_get(json, "size");
    if (path == NULL || !rp_member_name_valid(path))
        return rp_fail(err, RP_EFORMAT, RP_MANIFEST_NAME ": %s: \"%s\" is not a member name", what,
                       path ? rp_printable(shown, sizeof shown, path, strlen(path)) : "(not a string)");
    if (rp_member_rank_of(path) <= RP_RANK_MANIFEST || rp_member_rank_of(path) == RP_RANK_SIGNATURE)
        return rp_fail(err, RP_EFORMAT, RP_MANIFEST_NAME ": %s: %s has no place in a manifest", what, path);
    if (hex == NULL || !rp_unhex(member->digest.bytes, RP_DIGEST_SIZE, hex))
        return rp_fail(err, RP_EFORMAT, RP_MANIFEST_NAME ": %s: sha256 is not 64 lowercase hex digits", path);
    if (!rp_json_is_integer(size) || rp_json_integer_value(size) < 0)
        return rp_fail(err, RP_EFORMAT, RP_MANIFEST_NAME ": %s: size is not a number of bytes", path);
    memcpy(member->name, path, strlen(path) + 1);
    member->size = (uint64_t)rp_json_integer_value(size);
    return RP_OK;
}

static rp_status parse_withheld(const rp_json *json, size_t index, rp_member *member, rp_error *err)
{
    const char *path = rp_json_string_value(rp_json_object_get(json, "path"));
    const char *hex = rp_json_string_value(rp_json_object_get(json, "salted"));
    char what[48];
    rp_status status;

    (void)snprintf(what, sizeof what, "withheld[%zu]", index);
    status = check_keys(json, withheld_keys, COUNT(withheld_keys), what, err);
    if (status != RP_OK)
        return status;
    if (path == NULL || !rp_member_name_valid(path) || !rp_member_is_input(path))
        return rp_fail(err, RP_EFORMAT, RP_MANIFEST_NAME ": %s: its path is not one that may be left out", what);
    if (hex == NULL || !rp_unhex(member->digest.bytes, RP_DIGEST_SIZE, hex))
        return rp_fail(err, RP_EFORMAT, RP_MANIFEST_NAME ": %s: salted is not 64 lowercase hex digits", path);
    memcpy(member->name, path, strlen(path) + 1);
    return RP_OK;
}

/* One of the manifest's two lists, entry by entry: all of them as JSON would take much more memory than the members.
 * Versions are looked at first, though they are known last: the first flaw is kept until then. */
typedef struct entries {
    rp_status (*parse)(const rp_json *json, size_t index, rp_member *member, rp_error *err);
    rp_member *member;
    size_t count, capacity;
    rp_error flaw; /* of status RP_OK: none */
} entries;

static rp_status grow(entries *e, rp_error *err)
{
    const size_t capacity = e->capacity != 0 ? 2 * e->capacity : 64;
    rp_member *grown = e->count < e->capacity ? e->member : rp_reallocarray(e->member, capacity, sizeof *grown);

    if (grown == NULL)
        return rp_no_memory(err);
    if (e->count == e->capacity)
        e->capacity = capacity;
    e->member = grown;
    e->member[e->count] = (rp_member){.size = 0};
    return RP_OK;
}

static void look_at(entries *e, const rp_json *json)
{
    rp_member *member = &e->member[e->count];

    if (e->count == RP_MEMBER_LIMIT)
        (void)rp_fail(&e->flaw, RP_EFORMAT, RP_MANIFEST_NAME ": a list of more than %d members", (int)RP_MEMBER_LIMIT);
    else if (e->parse(json, e->count, member, &e->flaw) == RP_OK && e->count > 0 &&
             rp_member_compare(&member[-1], member) >= 0)
        (void)rp_fail(&e->flaw, RP_EFORMAT, RP_MANIFEST_NAME ": %s is listed after %s: doubled or out of order",
                      member->name, member[-1].name);
}

typedef struct lists {
    entries members, withheld;
} lists;

static rp_status take_entry(void *self, const char *key, rp_json *json, rp_error *err)
{
    lists *l = self;
    entries *e = strcmp(key, list_keys[0]) == 0 ? &l->members : &l->withheld;
    rp_status status;

    if (e->flaw.status != RP_OK)
        return RP_OK;
    if ((status = grow(e, err)) != RP_OK)
        return status;
    look_at(e, json);
    e->count++;
    return RP_OK;
}

/* What was found of a list while it was read. */
static rp_status take_list(const rp_json *list, const char *key, entries *e, rp_member **member, size_t *count,
                           rp_error *err)
{
    if (!rp_json_is_array(list))
        return rp_fail(err, RP_EFORMAT, RP_MANIFEST_NAME ": \"%s\" is not a list", key);
    if (e->flaw.status != RP_OK) {
        if (err != NULL)
            *err = e->flaw;
        return e->flaw.status;
    }
    *member = e->member;
    *count = e->count;
    e->member = NULL;
    return RP_OK;
}

/* None of what is left out is a member too: both lists are in archive order. */
static rp_status take_withheld(const rp_json *list, entries *e, rp_manifest *manifest, rp_error *err)
{
    rp_status status;

    if (list == NULL)
        return RP_OK;
    status = take_list(list, list_keys[1], e, &manifest->withheld, &manifest->n_withheld, err);
    if (status == RP_OK && manifest->n_withheld == 0)
        return rp_fail(err, RP_EFORMAT, RP_MANIFEST_NAME ": \"withheld\" is an empty list");
    for (size_t i = 0, at = 0; status == RP_OK && i < manifest->n_withheld; i++) {
        const rp_member *member = &manifest->withheld[i];

        while (at < manifest->members && rp_member_compare(&manifest->member[at], member) < 0)
            at++;
        if (at < manifest->members && rp_member_compare(&manifest->member[at], member) == 0)
            return rp_fail(err, RP_EFORMAT, RP_MANIFEST_NAME ": withheld: %s is a member too", member->name);
    }
    return status;
}

/* A run of one kind has none of the other's members (section 9): else a program's archive could be dressed as a
 * recipe's, whose recipe and metrics no replay of the program looks at. */
static rp_status check_kind(const rp_manifest *manifest, rp_error *err)
{
    bool recipe = false;

    for (size_t i = 0; i < manifest->members + manifest->n_withheld; i++) {
        const char *name =
            (i < manifest->members ? &manifest->member[i] : &manifest->withheld[i - manifest->members])->name;
        const rp_member_kind *kind = rp_member_kind_of(name);

        recipe = recipe || kind->rank == RP_RANK_RECIPE;
        if ((kind->in & (1u << manifest->kind)) == 0)
            return rp_fail(err, RP_EFORMAT, RP_MANIFEST_NAME ": %s has no place in a run of kind \"%s\"", name,
                           kind_name[manifest->kind]);
    }
    if (manifest->kind != RP_RUN_API && !recipe)
        return rp_fail(err, RP_EFORMAT, RP_MANIFEST_NAME ": a run of kind \"%s\" without " RP_RECIPE_MEMBER,
                       kind_name[manifest->kind]);
    return RP_OK;
}

static int in_order(const void *a, const void *b)
{
    return rp_member_compare(a, b);
}

/* A set of tensors is whole: its parts follow one another, from the first to the last, and its one member is not there
 * besides. In archive order nothing comes between parts, but other names do between them and the one member. */
static rp_status check_parts(const rp_member *member, size_t count, rp_error *err)
{
    rp_member_part last = {.part = 1, .parts = 1}, next;

    for (size_t i = 0; i <= count; i++) {
        char missing[RP_MEMBER_NAME];
        bool part = i < count && rp_member_part_of(&next, member[i].name);
        bool follows = i < count && strcmp(next.set, last.set) == 0 && next.parts == last.parts;

        if (last.part < last.parts && !(follows && next.part == last.part + 1))
            return rp_fail(err, RP_EFORMAT, RP_MANIFEST_NAME ": %s is missing: %s is one of %zu parts",
                           rp_part_name(missing, last.set, last.part + 1, last.parts), member[i - 1].name, last.parts);
        if (part && !follows && next.part > 1)
            return rp_fail(err, RP_EFORMAT, RP_MANIFEST_NAME ": %s is missing: %s is one of %zu parts",
                           rp_part_name(missing, next.set, 1, next.parts), member[i].name, next.parts);
        if (i < count && strcmp(next.set, last.set) == 0 && next.parts != last.parts)
            return rp_fail(err, RP_EFORMAT, RP_MANIFEST_NAME ": %s: its set of tensors is there as %s too",
                           member[i].name, member[i - 1].name);
        if (part && next.part == next.parts) {
            rp_member one = {.size = 0};
            const rp_member *both;

            (void)snprintf(one.name, sizeof one.name, "%s", next.set);
            both = bsearch(&one, member, count, sizeof *member, in_order);
            if (both)
                return rp_fail(err, RP_EFORMAT, RP_MANIFEST_NAME ": %s: its set of tensors is there as %s too",
                               both->name, member[i].name);
        }
        last = next;
    }
    return RP_OK;
}

/* Whose states the run started from is told wherever the archive is, so it must be an id; what those are pinned to too.
 */
static rp_status check_parent(const rp_json *parent, rp_error *err)
{
    const char *id = rp_json_string_value(rp_json_object_get(parent, "archive_id"));
    const rp_json *line = rp_json_object_get(parent, "pinned");
    unsigned char bytes[RP_DIGEST_SIZE];

    if (parent == NULL || (id != NULL && rp_unhex(bytes, sizeof bytes, id)))
        return line == NULL ? RP_OK : rp_pinned_line_check(line, err);
    return rp_fail(err, RP_EFORMAT, RP_MANIFEST_NAME ": run.parent: expected an object with archive_id, 64 hex digits");
}

/* The profile and what it says of the run go together: neither can be dropped without the other. */
static rp_status check_profile(const rp_json *pinned, bool said, rp_error *err)
{
    if (!said && pinned != NULL)
        return rp_fail(err, RP_EFORMAT, RP_MANIFEST_NAME ": run.pinned: the profile is portable, whose runs have none");
    return said ? rp_pinned_check(pinned, err) : RP_OK;
}

static rp_status parse_manifest(const rp_json *json, lists *l, rp_manifest *manifest, rp_error *err)
{
    rp_status status = RP_OK;
    rp_json *run = rp_json_object_get(json, "run");
    bool withheld = rp_json_object_get(json, "withheld") != NULL;

    if (!rp_json_is_object(json))
        return rp_fail(err, RP_EFORMAT, RP_MANIFEST_NAME ": the manifest is not an object");
    /* Versions first: what else a newer manifest holds is not ours to judge. */
    if ((status = check_version(json, "format", RP_ARCHIVE_FORMAT, err)) != RP_OK ||
        (status = check_version(json, "contract", RP_CONTRACT_VERSION, err)) != RP_OK ||
        (status = check_keys(json, withheld ? withheld_top_keys : top_keys, COUNT(top_keys) + withheld, "the manifest",
                             err)) != RP_OK ||
        (status = parse_kind(json, &manifest->kind, &manifest->pinned, err)) != RP_OK ||
        (status = take_list(rp_json_object_get(json, list_keys[0]), list_keys[0], &l->members, &manifest->member,
                            &manifest->members, err)) != RP_OK ||
        (status = take_withheld(rp_json_object_get(json, list_keys[1]), &l->withheld, manifest, err)) != RP_OK ||
        (status = check_kind(manifest, err)) != RP_OK ||
        (status = check_parts(manifest->member, manifest->members, err)) != RP_OK ||
        (status = check_parts(manifest->withheld, manifest->n_withheld, err)) != RP_OK)
        return status;
    if (!rp_json_is_object(run))
        return rp_fail(err, RP_EFORMAT, RP_MANIFEST_NAME ": \"run\" is not an object");
    if ((status = check_parent(rp_json_object_get(run, "parent"), err)) != RP_OK ||
        (status = check_profile(rp_json_object_get(run, "pinned"), manifest->pinned, err)) != RP_OK)
        return status;
    manifest->run = rp_json_share(run);
    return RP_OK;
}

rp_status rp_manifest_parse(rp_manifest **out, const void *bytes, size_t size, rp_error *err)
{
    lists l = {{.parse = parse_member}, {.parse = parse_withheld}};
    const rp_json_taker to = {list_keys, COUNT(list_keys), take_entry, &l};
    rp_manifest *manifest = NULL;
    rp_json *json = NULL;
    rp_status status = rp_json_parse_parts(&json, bytes, size, RP_JSON_MEMORY, true, &to, RP_MANIFEST_NAME, err);

    *out = NULL;
    if (status == RP_OK && (manifest = rp_calloc(1, sizeof *manifest)) == NULL)
        status = rp_no_memory(err);
    if (status == RP_OK)
        status = parse_manifest(json, &l, manifest, err);
    rp_json_free(json);
    rp_free(l.members.member);
    rp_free(l.withheld.member);
    if (status != RP_OK) {
        rp_manifest_free(manifest);
        return status;
    }
    *out = manifest;
    return RP_OK;
}

/* Readers go by the kind, and then ask a recipe for what its kind has. */
rp_status rp_run_kind_check(rp_run_kind kind, const rp_json *recipe, rp_error *err)
{
    const bool text = rp_json_object_get(rp_json_object_get(recipe, "data"), "text") != NULL;

    if (recipe == NULL || text == (kind == RP_RUN_TEXT))
        return RP_OK;
    return rp_fail(err, RP_EFORMAT,
                   RP_RECIPE_MEMBER ": data.text: a run of kind \"text\" has it, and no other, but this one of kind "
                                    "\"%s\" has %s",
                   rp_run_kind_name(kind), text ? "it" : "none");
}

void rp_manifest_free(rp_manifest *manifest)
{
    if (manifest == NULL)
        return;
    rp_json_free(manifest->run);
    rp_free(manifest->member);
    rp_free(manifest->withheld);
    rp_free(manifest);
}
