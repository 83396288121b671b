/* SPDX-License-Identifier: Apache-2.0
 * Parents. The child holds what it started from, so that it replays alone; given the parent as well, what it holds is
 * compared with what the parent recorded. */
#include "audit/record/lineage.h"

#include <stdio.h>
#include <string.h>

#include "audit/archive/journal.h"
#include "audit/archive/withheld.h"
#include "audit/profile/identity.h"
#include "base/handle.h"
#include "base/memory.h"
#include "rp/audit.h"

/* A set of states, and what errors call it. */
typedef struct states {
    char name[RP_MEMBER_NAME];
    rp_tensor_set *set;
} states;

static void states_free(states *s)
{
    rp_tensor_set_free(s->set);
}

static rp_status load_states(states *s, const rp_archive *archive, rp_error *err)
{
    rp_status status = rp_tensor_set_open(&s->set, archive, s->name, err);

    return status == RP_EDATA ? rp_fail_at(err, RP_EFORMAT, "parent") : status;
}

rp_status rp_lineage_origin(char out[RP_MEMBER_NAME], const rp_recipe *child, const rp_archive *parent, rp_error *err)
{
    if (child->parent.checkpoint == 0) {
        (void)snprintf(out, RP_MEMBER_NAME, RP_FINAL_MEMBER);
        return RP_OK;
    }
    (void)rp_checkpoint_name(out, (uint64_t)child->parent.checkpoint);
    if (!rp_tensor_set_present(parent, out))
        return rp_fail(err, RP_EARG, "parent.weights: the parent has no checkpoint after %lld steps",
                       (long long)child->parent.checkpoint);
    return RP_OK;
}

rp_status rp_archive_recipe(rp_recipe **out, const rp_archive *archive, rp_error *err)
{
    rp_json *json = NULL;
    rp_status status = rp_archive_read_json(archive, RP_RECIPE_MEMBER, &json, err);

    *out = NULL;
    if (status == RP_OK)
        status = rp_recipe_from_json(out, json, RP_RECIPE_MEMBER, err);
    rp_json_free(json);
    return status;
}

rp_status rp_lineage_updates(uint64_t *out, const rp_archive *parent, const rp_recipe *child, rp_error *err)
{
    const rp_json *training = rp_json_object_get(rp_archive_manifest(parent)->run, "training_steps");
    rp_recipe *recipe = NULL;
    rp_status status;
    int64_t own;

    *out = 0;
    if (child->parent.retrain)
        return RP_OK;
    if (rp_archive_manifest(parent)->kind != RP_RUN_RECIPE)
        return rp_fail(err, RP_EUNSUPPORTED,
                       "parent.mode: the parent is a run of kind \"%s\", which has no optimizer that a "
                       "recipe could go on with: mode retrain takes its weights alone",
                       rp_archive_kind(parent));
    status = rp_archive_recipe(&recipe, parent, err);
    if (status == RP_OK && !rp_json_is_integer(training))
        status = rp_fail(err, RP_EFORMAT, RP_MANIFEST_NAME ": run.training_steps: expected an integer");
    if (status != RP_OK)
        return status;
    own = (int64_t)rp_json_integer_value(training);
    if (child->parent.checkpoint && child->parent.checkpoint - 1 < own)
        own = child->parent.checkpoint - 1;
    *out = (uint64_t)(recipe->parent.updates + own);
    rp_recipe_free(recipe);
    return RP_OK;
}

/* ---- checking ---- */

static const char *text_of(const rp_json *object, const char *key)
{
    const char *text = rp_json_string_value(rp_json_object_get(object, key));

    return text ? text : "";
}

/* Manifest, recipe and the archive that was given must name one parent. */
static rp_status same_id(const rp_recipe *recipe, const rp_archive *child, const rp_archive *parent, rp_error *err)
{
    const rp_json *said = rp_json_object_get(rp_archive_manifest(child)->run, "parent");

    if (!rp_json_is_object(said) || !recipe->parent.archive)
        return rp_fail(err, RP_EHASH,
                       RP_MANIFEST_NAME
                       ": the run has no parent: it started from fresh weights. A retrained model is held "
                       "against its predecessor by reprise retrain PREDECESSOR --child");
    if (strcmp(text_of(said, "archive_id"), recipe->parent.archive) != 0)
        return rp_fail(err, RP_EHASH, RP_MANIFEST_NAME ": run.parent is %.64s, but the recipe says %s",
                       text_of(said, "archive_id"), recipe->parent.archive);
    if (strcmp(recipe->parent.archive, rp_archive_id(parent)) != 0)
        return rp_fail(err, RP_EHASH, "parent: recorded archive id %s, found %s", recipe->parent.archive,
                       rp_archive_id(parent));
    return RP_OK;
}

/* Every tensor of the one that the run takes is in the other, byte for byte. */
static rp_status compare_states(const states *some, const states *other, bool moments, rp_error *err)
{
    for (size_t i = 0; i < rp_tensor_set_count(some->set); i++) {
        const rp_safetensor *a = rp_tensor_set_at(some->set, i), *b = rp_tensor_set_find(other->set, a->name);
        bool same;
        rp_status status;

        if (!moments && rp_is_moment(a->name))
            continue;
        if (!b)
            return rp_fail(err, RP_EHASH, "%s: %s of %s is missing", other->name, a->name, some->name);
        status = rp_tensor_set_same(&same, some->set, a, other->set, b, err);
        if (status != RP_OK)
            return status;
        if (!same)
            return rp_fail(err, RP_EHASH, "%s: %s has other bytes than in %s", some->name, a->name, other->name);
    }
    return RP_OK;
}

/* Moments after the last step are in no member; the journal, or the manifest, has the digest of all states. */
static rp_status compare_last_states(const states *start, const rp_archive *parent, rp_error *err)
{
    const rp_json *run = rp_archive_manifest(parent)->run;
    const char *recorded =
        rp_json_object_get(run, "state_period") ? text_of(run, "final_state") : ""; /* else no replay looks at it */
    char hex[RP_DIGEST_HEX], expected[RP_DIGEST_HEX];
    rp_windowed *journal = NULL;
    rp_digest digest;
    rp_record last;
    rp_status status = rp_tensor_set_digest(&digest, start->set, NULL, 0, err);

    (void)snprintf(expected, sizeof expected, "%s", recorded);
    if (status == RP_OK && !*recorded) {
        status = rp_journal_open(&journal, parent, err);
        if (status == RP_OK)
            status = rp_journal_record(journal, rp_journal_records(journal) - 1, &last, err);
        if (status == RP_OK)
            rp_digest_hex(expected, &last.states);
        else if (status == RP_EFORMAT)
            status = rp_fail(err, RP_EFORMAT, "parent: run/journal.bin: the last record is malformed");
    }
    rp_windowed_free(journal);
    if (status != RP_OK)
        return status;
    rp_digest_hex(hex, &digest);
    if (strcmp(hex, expected) != 0)
        return rp_fail(err, RP_EHASH, RP_START_MEMBER ": digest of the states: the parent's last step has %s, found %s",
                       expected, hex);
    return RP_OK;
}

static rp_status check_states(const rp_recipe *recipe, const rp_archive *child, const rp_archive *parent, rp_error *err)
{
    const char *recorded = text_of(rp_json_object_get(rp_archive_manifest(child)->run, "parent"), "states");
    const bool last = !recipe->parent.retrain && recipe->parent.checkpoint == 0, moments = !recipe->parent.retrain;
    states start = {.name = RP_START_MEMBER}, origin = {0};
    char hex[RP_DIGEST_HEX] = "";
    rp_digest digest;
    rp_status status = load_states(&start, child, err);

    if (status == RP_OK)
        status = rp_tensor_set_digest(&digest, start.set, NULL, 0, err);
    if (status == RP_OK) {
        rp_digest_hex(hex, &digest);
        if (strcmp(hex, recorded) != 0)
            status = rp_fail(err, RP_EHASH, RP_START_MEMBER ": digest of the states: manifest %.64s, found %s",
                             recorded, hex);
    }
    if (status == RP_OK)
        status = rp_lineage_origin(origin.name, recipe, parent, err);
    if (status == RP_OK)
        status = load_states(&origin, parent, err);
    if (status == RP_OK)
        status = compare_states(&start, &origin, moments && !last, err);
    if (status == RP_OK)
        status = compare_states(&origin, &start, moments, err);
    if (status == RP_OK && last)
        status = compare_last_states(&start, parent, err);
    states_free(&start);
    states_free(&origin);
    return status;
}

/* A portable run hides nothing of a pinned one behind it: its own word of that is the parent's. */
static rp_status check_line(const rp_archive *child, const rp_archive *parent, rp_error *err)
{
    const rp_json *said = rp_json_object_get(rp_archive_manifest(child)->run, "parent");

    return rp_pinned_line_confirm(rp_json_object_get(said, "pinned"), rp_archive_manifest(parent)->run,
                                  rp_archive_id(parent), err);
}

rp_status rp_check_parent(const rp_archive *child, const rp_archive *parent, rp_error *err)
{
    if (!child || !parent)
        return rp_no_handle(err, __func__, child ? "parent" : "child");

    rp_recipe *recipe = NULL;
    uint64_t updates;
    rp_status status;

    if (rp_archive_manifest(child)->kind != RP_RUN_RECIPE) {
        status = rp_api_parent_check(child, parent, err);
        return status == RP_OK ? check_line(child, parent, err) : status;
    }
    status = rp_archive_recipe(&recipe, child, err);
    if (status == RP_OK)
        status = same_id(recipe, child, parent, err);
    if (status == RP_OK)
        status = rp_lineage_updates(&updates, parent, recipe, err);
    if (status == RP_OK && updates != (uint64_t)recipe->parent.updates)
        status =
            rp_fail(err, RP_EHASH, RP_RECIPE_MEMBER ": parent.updates is %lld, but the parent's states have seen %llu",
                    (long long)recipe->parent.updates, (unsigned long long)updates);
    if (status == RP_OK)
        status = check_states(recipe, child, parent, err);
    if (status == RP_OK)
        status = check_line(child, parent, err);
    rp_recipe_free(recipe);
    return status;
}
