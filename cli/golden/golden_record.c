/* SPDX-License-Identifier: Apache-2.0
 * reprise golden record: everything is computed before anything is written, so that a refusal changes nothing. */
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "cli/golden/golden.h"
#include "cli/signing/key_files.h"
#include "cli/print.h"

#ifndef RP_VERSION
#define RP_VERSION "unknown"
#endif

typedef enum change { SAME, NEW, CHANGED } change;

/* A golden as it is now. */
typedef struct fresh {
    rp_buffer bytes;
    char id[RP_DIGEST_HEX], sha256[RP_DIGEST_HEX];
    int64_t contract;
    change change;
} fresh;

static rp_status identify(const rp_golden *golden, fresh *f, const rp_job_options *options, rp_error *err)
{
    rp_archive *archive = NULL;
    rp_json *manifest = NULL;
    rp_status status = rp_archive_open_memory(&archive, f->bytes.data, f->bytes.size, golden->archive, err);

    /* an archive without a recipe must at least replay, or it is no golden */
    if (status == RP_OK && !golden->recipe)
        status = rp_golden_replay(golden, archive, options, err);
    if (status == RP_OK)
        status = rp_manifest_load_head(archive, &manifest, err);
    if (status == RP_OK) {
        memcpy(f->id, rp_archive_id(archive), sizeof f->id);
        f->contract = rp_json_integer_value(rp_json_object_get(manifest, "contract"));
        status = rp_golden_sha256(f->sha256, &f->bytes, err);
    }
    rp_json_free(manifest);
    rp_archive_close(archive);
    return status;
}

/* Against the stored file and against golden.json: either may have been touched alone. */
static rp_status compare(const rp_golden_set *set, const rp_golden *golden, fresh *f, rp_error *err)
{
    const char *listed = rp_json_string_value(rp_json_object_get(golden->entry, "sha256"));
    rp_buffer stored = {0};
    rp_status status = golden->on_disk ? rp_golden_read(set, golden, &stored, err) : RP_OK;
    bool same_file = golden->on_disk && status == RP_OK && stored.size == f->bytes.size &&
                     memcmp(stored.data, f->bytes.data, stored.size) == 0;

    rp_buffer_free(&stored);
    if ((golden->on_disk && !same_file) || (listed && strcmp(listed, f->sha256) != 0))
        f->change = CHANGED;
    else
        f->change = golden->on_disk && listed ? SAME : NEW;
    return status;
}

static rp_status compute(const rp_golden_set *set, const rp_golden *golden, const rp_job_options *options, bool force,
                         fresh *f, rp_error *err)
{
    const char *listed = rp_json_string_value(rp_json_object_get(golden->entry, "archive_id"));
    rp_status status = golden->recipe ? rp_golden_compute(set, golden, options, &f->bytes, err)
                                      : rp_golden_read(set, golden, &f->bytes, err);

    if (status != RP_OK && golden->recipe && !strstr(err->text, golden->recipe)) /* one of a folder: which? */
        status = rp_fail_at(err, status, "%s/%s", set->folder, golden->recipe);

    if (status == RP_OK)
        status = identify(golden, f, options, err);
    if (status == RP_OK)
        status = compare(set, golden, f, err);
    if (status == RP_OK && f->change == CHANGED && !force)
        return rp_fail(err, RP_EEXIST,
                       "%s/%s: differs from the recorded golden (archive id %.16s..., now %.16s...): if "
                       "that is meant, give --force --reason TEXT",
                       set->folder, golden->archive, listed ? listed : "not listed", f->id);
    return status;
}

static rp_json *make_row(const rp_golden *golden, const fresh *f, const char *reason)
{
    if (f->change == SAME)
        return rp_json_share(golden->entry);
    return rp_json_pack("{s:s, s:s, s:I, s:s, s:s, s:s?, s:s}", "archive", golden->archive, "archive_id", f->id,
                        "contract", f->contract, "library", RP_VERSION, "reason", reason ? reason : "first recording",
                        "recipe", golden->recipe, "sha256", f->sha256);
}

static rp_status save_file(const rp_golden_set *set, const char *name, const rp_buffer *bytes, rp_error *err)
{
    char *path = rp_golden_path(set, name);
    rp_status status = path ? rp_file_save(path, bytes->data, bytes->size, true, 0644, err) : rp_no_memory(err);

    rp_free(path);
    return status;
}

static rp_status make_index(rp_buffer *text, const rp_golden_set *set, const fresh *f, const char *reason,
                            rp_error *err)
{
    rp_json *rows = rp_json_array(), *index = rp_json_pack("{s:i, s:O?}", "reprise_golden", 1, "goldens", rows);
    rp_status status = rows && index ? RP_OK : rp_no_memory(err);

    for (size_t i = 0; i < set->count && status == RP_OK; i++)
        if (rp_json_array_append_new(rows, make_row(&set->golden[i], &f[i], reason)) != 0)
            status = rp_fail(err, RP_EARG, "golden: --reason and file names must be UTF-8");
    if (status == RP_OK)
        status = rp_json_write(index, text, err);
    rp_buffer_u8(text, '\n');
    if (status == RP_OK)
        status = rp_buffer_status(text, err);
    rp_json_free(index);
    rp_json_free(rows);
    return status;
}

static void report(rp_session *session, const rp_golden_set *set, const fresh *f)
{
    static const char *const words[] = {"unchanged", "recorded", "replaced"};
    rp_buffer *out = &session->out;

    if (!session->json) {
        for (size_t i = 0; i < set->count; i++)
            rp_put_line(session, words[f[i].change], "%s  %s", f[i].id, set->golden[i].name);
        return;
    }
    rp_put_open(out, NULL, '{');
    rp_put_open(out, "goldens", '[');
    for (size_t i = 0; i < set->count; i++) {
        rp_put_open(out, NULL, '{');
        rp_put_text(out, "archive_id", f[i].id);
        rp_put_text(out, "name", set->golden[i].name);
        rp_put_text(out, "sha256", f[i].sha256);
        rp_put_text(out, "state", words[f[i].change]);
        rp_put_close(out, '}');
    }
    rp_put_close(out, ']');
    rp_put_close(out, '}');
}

/* A row whose files are gone would drop out of golden.json unseen. */
static rp_status check_folder(rp_golden_set *set, bool force, rp_error *err)
{
    size_t kept = 0;

    for (size_t i = 0; i < set->count; i++) {
        rp_golden *golden = &set->golden[i];

        if (golden->recipe || golden->on_disk) {
            rp_golden present = *golden;

            *golden = set->golden[kept];
            set->golden[kept++] = present;
        } else if (!force) {
            return rp_fail(err, RP_EEXIST,
                           "%s/%s: in golden.json, but neither archive nor recipe is there: restore it, or "
                           "give --force --reason TEXT to drop it",
                           set->folder, golden->archive);
        }
    }
    /* what is dropped stands behind the others; free it here */
    while (set->count > kept) {
        rp_golden *gone = &set->golden[--set->count];

        rp_free(gone->name);
        rp_free(gone->archive);
    }
    if (set->count == 0)
        return rp_fail(err, RP_EARG, "%s: no recipe (*.yaml) and no archive (*.reprise) to record", set->folder);
    return RP_OK;
}

rp_status rp_golden_record(rp_session *session, rp_golden_set *set, const rp_job_options *options, bool force,
                           const char *reason, rp_error *err)
{
    rp_buffer index = {0};
    fresh *f;
    rp_status status = check_folder(set, force, err);

    if (status != RP_OK)
        return status;
    f = rp_calloc(set->count, sizeof *f);
    if (!f)
        return rp_no_memory(err);
    for (size_t i = 0; i < set->count && status == RP_OK; i++)
        status = compute(set, &set->golden[i], options, force, &f[i], err);
    if (status == RP_OK)
        status = make_index(&index, set, f, reason, err);
    for (size_t i = 0; i < set->count && status == RP_OK; i++)
        if (set->golden[i].recipe && f[i].change != SAME)
            status = save_file(set, set->golden[i].archive, &f[i].bytes, err);
    if (status == RP_OK)
        status = save_file(set, "golden.json", &index, err);
    if (status == RP_OK)
        report(session, set, f);
    for (size_t i = 0; i < set->count; i++)
        rp_buffer_free(&f[i].bytes);
    rp_buffer_free(&index);
    rp_free(f);
    return status;
}
