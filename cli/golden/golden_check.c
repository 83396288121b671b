/* SPDX-License-Identifier: Apache-2.0
 * reprise golden check: each golden is compared with golden.json, replayed, and, where there is a recipe, run again.
 * All are checked, whatever the first ones say. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "cli/golden/golden.h"
#include "cli/print.h"
#include "cli/progress.h"

static rp_status check_listed(const rp_golden *golden, const rp_buffer *stored, const rp_archive *archive,
                              rp_error *err)
{
    const char *sha256 = rp_json_string_value(rp_json_object_get(golden->entry, "sha256"));
    const char *id = rp_json_string_value(rp_json_object_get(golden->entry, "archive_id"));
    char found[RP_DIGEST_HEX];
    rp_status status = rp_golden_sha256(found, stored, err);

    if (status != RP_OK)
        return status;
    if (strcmp(id, rp_archive_id(archive)) != 0)
        return rp_fail(err, RP_EHASH, "%s: archive id: golden.json %.80s, file %s", golden->archive, id,
                       rp_archive_id(archive));
    if (strcmp(sha256, found) != 0)
        return rp_fail(err, RP_EHASH, "%s: SHA-256: golden.json %.80s, file %s", golden->archive, sha256, found);
    return RP_OK;
}

/* diff's lines in one, without the two ids, without the list of members (it is long and says nothing that the step does
 * not), runs of spaces shortened. */
static void join_lines(rp_buffer *out, const char *text)
{
    for (size_t line = 0; *text; line++) {
        size_t length = strcspn(text, "\n");

        if (line >= 2 && strncmp(text, "member ", 7) != 0) {
            rp_buffer_text(out, out->size ? "; " : "");
            for (size_t i = 0; i < length; i++)
                if (text[i] != ' ' || i + 1 == length || text[i + 1] != ' ')
                    rp_buffer_u8(out, (uint8_t)text[i]);
        }
        text += length + (text[length] == '\n');
    }
    rp_buffer_u8(out, 0);
}

static rp_status describe_difference(rp_golden *golden, const rp_archive *stored, const rp_buffer *bytes,
                                     const rp_job_options *options, rp_error *err)
{
    rp_archive *now = NULL;
    rp_buffer line = {0};
    rp_comparison *found = NULL;
    rp_status status = rp_archive_open_memory(&now, bytes->data, bytes->size, golden->recipe, err);

    if (status == RP_OK)
        status = rp_compare(stored, now, options, &found, err);
    if (status == RP_OK) {
        join_lines(&line, found->text);
        status = rp_buffer_status(&line, err);
    }
    if (status == RP_OK)
        status = rp_json_parse(&golden->diff, found->json, strlen(found->json), true, "difference", err);
    if (status == RP_OK)
        status = rp_fail(err, RP_EBITS, "%s: now gives archive %.16s... (B), golden %.16s... (A): %s", golden->recipe,
                         rp_archive_id(now), rp_archive_id(stored), (char *)line.data);
    else
        status = rp_fail_at(err, status, "%s: comparing with the golden", golden->recipe);
    rp_buffer_free(&line);
    rp_comparison_free(found);
    rp_archive_close(now);
    return status;
}

static rp_status run_again(const rp_golden_set *set, rp_golden *golden, const rp_buffer *stored,
                           const rp_archive *archive, const rp_job_options *options, rp_error *err)
{
    rp_buffer now = {0};
    rp_status status = rp_golden_compute(set, golden, options, &now, err);

    if (status == RP_OK && (now.size != stored->size || memcmp(now.data, stored->data, now.size) != 0))
        status = describe_difference(golden, archive, &now, options, err);
    rp_buffer_free(&now);
    return status;
}

static rp_status check_one(const rp_golden_set *set, rp_golden *golden, const rp_job_options *options, rp_error *err)
{
    rp_buffer stored = {0};
    rp_archive *archive = NULL;
    rp_status status;

    if (!golden->entry)
        return rp_fail(err, RP_EIO, "%s: has no row in golden.json: reprise golden record adds it",
                       golden->recipe ? golden->recipe : golden->archive);
    if (!golden->recipe && rp_json_is_string(rp_json_object_get(golden->entry, "recipe")))
        return rp_fail(err, RP_EIO, "%s: the recipe in golden.json is missing",
                       rp_json_string_value(rp_json_object_get(golden->entry, "recipe")));
    status = rp_golden_read(set, golden, &stored, err);
    if (status == RP_OK)
        status = rp_archive_open_memory(&archive, stored.data, stored.size, golden->archive, err);
    if (status == RP_OK)
        status = check_listed(golden, &stored, archive, err);
    if (status == RP_OK)
        status = rp_golden_replay(golden, archive, options, err);
    if (status == RP_OK && golden->recipe)
        status = run_again(set, golden, &stored, archive, options, err);
    rp_archive_close(archive);
    rp_buffer_free(&stored);
    return status;
}

static void put_json(rp_session *session, const rp_golden_set *set, size_t failed)
{
    rp_buffer *out = &session->out;

    rp_put_open(out, NULL, '{');
    rp_put_integer(out, "checked", set->count);
    rp_put_integer(out, "failed", failed);
    rp_put_open(out, "goldens", '[');
    for (size_t i = 0; i < set->count; i++) {
        const rp_golden *g = &set->golden[i];

        rp_put_open(out, NULL, '{');
        rp_put_text(out, "archive_id", rp_json_string_value(rp_json_object_get(g->entry, "archive_id")));
        rp_put_json(out, "diff", g->diff);
        rp_put_difference(out, "difference", &g->difference);
        rp_put_text(out, "message", g->status == RP_OK ? NULL : g->message);
        rp_put_text(out, "name", g->name);
        rp_put_seconds(out, "seconds", g->seconds);
        rp_put_text(out, "status", rp_status_name(g->status));
        rp_put_close(out, '}');
    }
    rp_put_close(out, ']');
    rp_put_close(out, '}');
}

static void put_lines(rp_session *session, const rp_golden_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        const rp_golden *g = &set->golden[i];
        char seconds[RP_NUMBER_TEXT];

        if (g->status == RP_OK)
            rp_put_verdict(session, true, "same bits", "%s  %s s", g->name, rp_fixed(seconds, g->seconds, 2));
        else
            rp_put_verdict(session, false, g->status == RP_EBITS ? "DIFFERS" : "FAILED", "%s  %s", g->name, g->message);
    }
}

/* Bits that differ outweigh every other verdict; else the first one counts. */
static void sum_up(rp_session *session, const rp_golden_set *set)
{
    const rp_golden *worst = NULL;
    size_t failed = 0;

    for (size_t i = 0; i < set->count; i++) {
        const rp_golden *g = &set->golden[i];

        failed += g->status != RP_OK;
        if (g->status != RP_OK && (!worst || (g->status == RP_EBITS && worst->status != RP_EBITS)))
            worst = g;
    }
    if (session->json)
        put_json(session, set, failed);
    else
        put_lines(session, set);
    if (worst) {
        session->exit = rp_exit_code(worst->status);
        rp_buffer_printf(&session->remark, "golden check: %zu of %zu failed: %s", failed, set->count, worst->message);
        rp_buffer_u8(&session->remark, 0);
    }
}

rp_status rp_golden_check(rp_session *session, rp_golden_set *set, const rp_job_options *options, const char *junit,
                          rp_error *err)
{
    rp_buffer xml = {0};
    rp_status status = RP_OK;

    if (!set->index)
        return rp_fail(err, RP_EIO, "%s/golden.json: not found: reprise golden record %s makes it", set->folder,
                       set->folder);
    if (set->count == 0)
        return rp_fail(err, RP_EIO, "%s/golden.json: lists no golden: reprise golden record %s adds them", set->folder,
                       set->folder);
    for (size_t i = 0; i < set->count; i++) {
        rp_golden *golden = &set->golden[i];
        rp_error found = {0};
        double start = rp_clock();

        golden->status = check_one(set, golden, options, &found);
        golden->seconds = rp_clock() - start;
        golden->difference = found.difference;
        (void)snprintf(golden->message, sizeof golden->message, "%s", found.text);
        if (golden->status == RP_ECANCELED || golden->status == RP_ENOMEM)
            return rp_fail(err, golden->status, "%s: %s", golden->name, found.text);
    }
    if (junit) {
        rp_golden_junit(set, &xml);
        status = rp_buffer_status(&xml, err);
        if (status == RP_OK)
            status = rp_file_save(junit, xml.data, xml.size, true, 0644, err);
        rp_buffer_free(&xml);
    }
    if (status == RP_OK)
        sum_up(session, set);
    return status;
}
