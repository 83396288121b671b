/* SPDX-License-Identifier: Apache-2.0
 * Archives, trusted keys and members, as commands load them. */
#include "cli/archive_files.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "cli/print.h"
#include "cli/second_reader.h"

rp_status rp_trust_load(rp_trust *out, const rp_text_list *paths, rp_error *err)
{
    rp_status status = RP_OK;

    out->count = 0;
    for (size_t i = 0; i < paths->count && status == RP_OK; i++) {
        status = rp_key_load_public(&out->key[i], paths->item[i], err);
        if (status == RP_OK)
            out->count++;
    }
    if (status != RP_OK)
        rp_trust_free(out);
    return status;
}

void rp_trust_free(rp_trust *trust)
{
    while (trust->count)
        rp_key_free(trust->key[--trust->count]);
}

rp_status rp_archive_open_confirmed(rp_archive **archive, const char *path, rp_error *err)
{
    rp_status status = rp_archive_open(archive, path, err);

    return status == RP_OK ? rp_second_reader(archive, path, err) : status;
}

rp_status rp_archive_open_trusted(rp_archive **archive, rp_verification **verified, const char *path,
                                  const rp_text_list *trusted, rp_error *err)
{
    rp_trust trust = {.count = 0};
    rp_status status;

    *verified = NULL;
    if (trusted->count == 0)
        return rp_archive_open_confirmed(archive, path, err);
    *archive = NULL;
    status = rp_trust_load(&trust, trusted, err);
    if (status == RP_OK)
        status = rp_verify(path, (const rp_key *const *)trust.key, trust.count, NULL, verified, archive, err);
    if (status == RP_OK)
        status = rp_second_reader(archive, path, err);
    rp_trust_free(&trust);
    return status;
}

rp_status rp_parents_verify(rp_verification **out, const rp_text_list *parents, const rp_trust *trust,
                            const rp_verify_options *options, rp_error *err)
{
    const size_t n = rp_policy_asks_parent(options->policy) ? parents->count : 0;
    rp_status status = RP_OK;

    *out = NULL;
    for (size_t i = n; i-- > 0 && status == RP_OK;) {
        rp_verify_options each = *options;
        rp_verification *one = NULL;
        rp_archive *archive = NULL;

        each.parent = *out;
        status =
            rp_verify(parents->item[i], (const rp_key *const *)trust->key, trust->count, &each, &one, &archive, err);
        if (status == RP_OK && i + 1 < n)
            status = rp_parent_check(archive, parents->item[i + 1], err);
        rp_archive_close(archive);
        rp_verification_free(*out);
        *out = one;
    }
    if (status != RP_OK) {
        rp_verification_free(*out);
        *out = NULL;
    }
    return status;
}

rp_status rp_archive_open_policy(rp_archive **archive, rp_verification **verified, const char *path,
                                 const rp_text_list *trusted, const char *policy_path, const rp_text_list *parents,
                                 rp_error *err)
{
    rp_verification *parent = NULL;
    rp_trust trust = {.count = 0};
    rp_policy *policy = NULL;
    rp_verify_options options = {.tell_unmet = true};
    rp_status status = rp_trust_load(&trust, trusted, err);

    *archive = NULL;
    *verified = NULL;
    if (status == RP_OK)
        status = rp_policy_load(&policy, policy_path, err);
    options.policy = policy;
    if (status == RP_OK)
        status = rp_parents_verify(&parent, parents, &trust, &options, err);
    options.parent = parent;
    if (status == RP_OK)
        status = rp_verify(path, (const rp_key *const *)trust.key, trust.count, &options, verified, archive, err);
    if (status == RP_OK)
        status = rp_second_reader(archive, path, err);
    rp_verification_free(parent);
    rp_policy_free(policy);
    rp_trust_free(&trust);
    return status;
}

rp_status rp_parents_open(rp_archive ***out, size_t *n, const rp_archive *child, const rp_text_list *paths,
                          rp_error *err)
{
    rp_status status = RP_OK;

    *n = 0;
    *out = rp_calloc(paths->count + 1, sizeof(rp_archive *));
    if (!*out)
        return rp_no_memory(err);
    for (size_t i = 0; i < paths->count && status == RP_OK; i++) {
        const char *id = rp_parent_id(child), *path = paths->item[i];

        status = rp_archive_open_confirmed(&(*out)[i], path, err);
        if (status != RP_OK)
            break;
        child = (*out)[(*n)++];
        if (!id)
            status = rp_fail(err, RP_EARG, "%s: nothing to check: the run before it started from no other", path);
        else if (strcmp(id, rp_archive_id(child)) != 0)
            status = rp_fail(err, RP_EHASH, "%s: is archive %.64s, the run before it started from %.64s", path,
                             rp_archive_id(child), id);
    }
    return status;
}

void rp_parents_close(rp_archive **parents, size_t n)
{
    for (size_t i = 0; i < n; i++)
        rp_archive_close(parents[i]);
    rp_free(parents);
}

/* What a run started from may be pinned though the run is not; this archive alone has but its own word for that. */
static void put_line_pinned(rp_session *session, const rp_archive *child, bool checked)
{
    const char *id = rp_parent_id(child);
    rp_pinned_to to;

    rp_archive_pinned_to(child, &to);
    if (id && *to.line)
        rp_put_verdict(session, false, "pinned",
                       "what it started from is, to %s (archive %s): those states are made again there alone", to.line,
                       to.line_id);
    else if (id && !checked)
        rp_put_line(session, "profile",
                    "that of its parent is unknown from this archive alone, which names none pinned");
}

void rp_parent_put_line(rp_session *session, const rp_archive *child, const rp_lineage *lineage)
{
    const char *id = rp_parent_id(child);

    if (id && !lineage->parent)
        rp_put_verdict(session, false, "parent",
                       "%.64s, not checked here: what it was trained on is in these weights: give --parent "
                       "PARENT.reprise",
                       id);
    else if (id && lineage->replayed == 0)
        rp_put_line(session, "parent",
                    "%.64s: started from its states, which are those of %s; it was not replayed here", id,
                    lineage->parent);
    else if (id && lineage->whole)
        rp_put_line(session, "parent",
                    "%.64s: started from its states, which are those of %s; %zu %s replayed, every bit", id,
                    lineage->parent, lineage->replayed, lineage->replayed == 1 ? "run" : "runs of the line");
    else if (id)
        rp_put_verdict(session, false, "parent",
                       "%.64s: %zu %s replayed, but the last one started from %.64s, which was not given: repeat "
                       "--parent",
                       id, lineage->replayed, lineage->replayed == 1 ? "run" : "runs of the line", lineage->next);
    put_line_pinned(session, child, lineage->parent != NULL);
}

void rp_pinned_put_line(rp_session *session, const char *to)
{
    if (*to)
        rp_put_line(session, "pinned", "to %s: replayed there alone", to);
}

bool rp_door_text(const rp_archive *archive, char out[RP_DOOR_TEXT])
{
    rp_door door;
    rp_error ignored = {0};

    (void)rp_archive_door(archive, &door, &ignored);
    if (!*door.name)
        (void)strcpy(out, "C API");
    else
        (void)snprintf(out, RP_DOOR_TEXT, "%s door%s%s%s", door.name, *door.version ? " (" : "", door.version,
                       *door.version ? ")" : "");
    return *door.name != '\0';
}

void rp_kind_put_line(rp_session *session, const rp_archive *archive)
{
    rp_json *recipe = NULL;
    rp_error ignored = {0};
    char made[RP_DOOR_TEXT];
    const bool told = rp_door_text(archive, made);

    if (strcmp(rp_archive_kind(archive), "api") == 0)
        rp_put_line(session, "kind",
                    "%s run%s: initial state, data and feeds are as given, and what is computed, and called a loss, is "
                    "what its author wrote",
                    made, told ? ", by its own word" : "");
    else if (rp_member_load_json(archive, RP_RECIPE_MEMBER, &recipe, &ignored) == RP_OK &&
             rp_json_object_get(rp_json_object_get(recipe, "model"), "program"))
        rp_put_line(session, "kind",
                    "model of programs: its first states, and what its figures are computed by, are what their author "
                    "wrote, and a replay shows that they give these bits");
    if (rp_json_is_string(rp_json_object_get(recipe, "weights")))
        rp_put_line(session, "weights",
                    "its first ones are those of a file with the SHA-256 %.64s: what they were trained on is not here",
                    rp_json_string_value(rp_json_object_get(recipe, "weights")));
    rp_json_free(recipe);
}

void rp_parent_put_json(rp_session *session, const rp_archive *child, const rp_lineage *lineage)
{
    const char *id = rp_parent_id(child);
    rp_pinned_to to;

    rp_archive_pinned_to(child, &to);
    if (!id) {
        rp_put_text(&session->out, "parent", NULL);
        return;
    }
    rp_put_open(&session->out, "parent", '{');
    rp_put_text(&session->out, "archive_id", id);
    rp_put_bool(&session->out, "checked", lineage->parent != NULL);
    rp_put_text(&session->out, "pinned_to", *to.line ? to.line : NULL);
    rp_put_integer(&session->out, "replayed", lineage->replayed);
    rp_put_close(&session->out, '}');
}

rp_json *rp_metrics_of(const rp_job *job)
{
    rp_json *metrics = NULL;

    (void)rp_json_parse_within(&metrics, job->metrics, strlen(job->metrics), RP_JSON_METRICS_MEMORY, true, "metrics",
                               NULL);
    return metrics;
}

rp_status rp_member_load(const rp_archive *archive, const rp_member *member, rp_buffer *out, rp_error *err)
{
    rp_status status;

    rp_buffer_free(out);
    out->data = rp_malloc((size_t)member->size);
    if (!out->data)
        return rp_no_memory(err);
    out->size = out->capacity = (size_t)member->size;
    status = rp_archive_read(archive, member, out->data, err);
    if (status != RP_OK)
        rp_buffer_free(out);
    return status;
}

rp_status rp_member_load_json(const rp_archive *archive, const char *name, rp_json **out, rp_error *err)
{
    const rp_member *member = rp_archive_find(archive, name);
    rp_buffer bytes = {0};
    rp_status status;

    *out = NULL;
    if (!member)
        return RP_OK;
    status = rp_member_load(archive, member, &bytes, err);
    if (status == RP_OK)
        status = rp_json_parse_within(out, bytes.data, bytes.size,
                                      strcmp(name, RP_METRICS_MEMBER) ? RP_JSON_MEMORY : RP_JSON_METRICS_MEMORY, true,
                                      name, err);
    rp_buffer_free(&bytes);
    return status;
}

static rp_status forget(void *self, const char *key, rp_json *value, rp_error *err)
{
    (void)self, (void)key, (void)value, (void)err;
    return RP_OK;
}

/* All of the manifest but its lists. */
static rp_json *head_of(rp_json *manifest)
{
    rp_json *head = rp_json_object(), *value;
    const char *key;

    rp_json_object_foreach (manifest, key, value)
        if (head != NULL && !rp_json_is_array(value) && rp_json_object_set(head, key, value) != 0) {
            rp_json_free(head);
            return NULL;
        }
    return head;
}

/* Lists of members may be long, and the archive, which has been checked, tells what is in them. */
rp_status rp_manifest_load_head(const rp_archive *archive, rp_json **out, rp_error *err)
{
    static const char *const lists[] = {"members", "withheld"};
    const rp_json_taker to = {lists, sizeof lists / sizeof *lists, forget, NULL};
    rp_buffer bytes = {0};
    rp_json *manifest = NULL;
    rp_status status = rp_member_load(archive, rp_archive_find(archive, RP_MANIFEST_NAME), &bytes, err);

    *out = NULL;
    if (status == RP_OK)
        status =
            rp_json_parse_parts(&manifest, bytes.data, bytes.size, RP_JSON_MEMORY, true, &to, RP_MANIFEST_NAME, err);
    if (status == RP_OK && (*out = head_of(manifest)) == NULL)
        status = rp_no_memory(err);
    rp_json_free(manifest);
    rp_buffer_free(&bytes);
    return status;
}
