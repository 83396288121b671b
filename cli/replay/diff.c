/* SPDX-License-Identifier: Apache-2.0
 * reprise diff: where two archives part. That they do is a result, not an error: exit 3, the text on stdout. */
#include "cli/limits.h"
#include "cli/print.h"
#include "cli/signing/key_files.h"
#include "cli/progress.h"

#include <string.h>

static rp_status put_json(rp_session *session, const char *const path[2], rp_archive *const archive[2],
                          const rp_comparison *found, rp_error *err)
{
    rp_buffer *out = &session->out;
    rp_json *difference;
    rp_status status = rp_json_parse(&difference, found->json, strlen(found->json), true, "difference", err);

    if (status != RP_OK)
        return status;
    rp_put_open(out, NULL, '{');
    for (int i = 0; i < 2; i++) {
        rp_put_open(out, i ? "b" : "a", '{');
        rp_put_text(out, "archive_id", rp_archive_id(archive[i]));
        rp_put_text(out, "path", path[i]);
        rp_put_close(out, '}');
    }
    rp_put_json(out, "difference", difference);
    rp_put_integer(out, "digests_compared", found->digests_compared);
    rp_put_bool(out, "same", found->same);
    rp_put_integer(out, "steps_recomputed", found->steps_recomputed);
    rp_put_open(out, "text", '[');
    for (const char *text = found->text; *text;) {
        size_t length = strcspn(text, "\n");
        rp_json *line = rp_json_stringn(text, length);

        rp_put_json(out, NULL, line);
        rp_json_free(line);
        text += length + (text[length] == '\n');
    }
    rp_put_close(out, ']');
    rp_put_close(out, '}');
    rp_json_free(difference);
    return RP_OK;
}

/* One folder serves both archives, two serve A and B. */
static rp_status disclose(rp_archive *const archive[2], const rp_text_list *folders, rp_error *err)
{
    rp_status status = RP_OK;

    for (size_t i = 0; i < 2 && folders->count > 0 && status == RP_OK; i++)
        if (rp_archive_withheld_count(archive[i]) > 0)
            status = rp_archive_disclose(archive[i], folders->item[folders->count == 1 ? 0 : i], err);
    return status;
}

static rp_status compare(rp_session *session, const char *const path[2], const rp_text_list *folders,
                         const rp_job_options *options, rp_error *err)
{
    rp_archive *archive[2] = {NULL, NULL};
    rp_comparison *found = NULL;
    rp_status status = rp_archive_open_confirmed(&archive[0], path[0], err);

    if (status == RP_OK)
        status = rp_archive_open_confirmed(&archive[1], path[1], err);
    if (status == RP_OK)
        status = disclose(archive, folders, err);
    if (status == RP_OK)
        status = rp_compare(archive[0], archive[1], options, &found, err);
    if (status == RP_OK && session->json)
        status = put_json(session, path, archive, found, err);
    else if (status == RP_OK)
        rp_put_plain(&session->out, found->text); /* keys and names come from the archives */
    if (status == RP_OK && !found->same)
        session->exit = rp_exit_code(RP_EBITS);
    rp_comparison_free(found);
    rp_archive_close(archive[0]);
    rp_archive_close(archive[1]);
    return status;
}

/* Given once, it is both sides'; given twice, A's and B's. */
static rp_status of_sides(const rp_text_list *given, const char *option, const char **both, const char **of_b,
                          rp_error *err)
{
    if (given->count > 2)
        return rp_fail(err, RP_EARG, "diff: --%s: expected once or twice, found %zu times", option, given->count);
    *both = given->count ? given->item[0] : NULL;
    *of_b = given->count > 1 ? given->item[1] : NULL;
    return RP_OK;
}

rp_status rp_command_diff(rp_session *session, int argc, char **argv, rp_error *err)
{
    static const char *const names[] = {"A", "B"};
    const char *path[2] = {NULL, NULL};
    rp_job_options job = {0};
    rp_text_list folders = {.count = 0}, levels = {.count = 0}, devices = {.count = 0};
    rp_limits limits = {NULL, NULL};
    const rp_option options[] = {
        {0, "withheld", RP_OPTION_LIST, "DIR", "the folder with the data that was left out; given twice: of A, of B",
         &folders, false},
        RP_OPTION_LIMITS(&limits),
        RP_OPTION_THREADS(&job.threads),
        {0, "isa", RP_OPTION_LIST, "LEVEL",
         "kernels: ref, sse2, avx2, avx512, neon (default: the best); given twice: of A, of B", &levels, false},
        {0, "device", RP_OPTION_LIST, "NAME", "where kernels run (default: cpu); given twice: of A, of B", &devices,
         false},
    };
    const rp_usage usage = {
        "diff A B [options]",
        "Compares two archives: recipe keys and members that differ, then the first step, how its programs\n"
        "differ, and the first value and element whose bits differ, inside an iteration, shard or branch where\n"
        "it is there, with both values and their distance (docs/diff.md). With two levels one archive is\n"
        "computed at both and compared with itself.\n"
        "Exit 0 when they have the same id and nothing differs, 3 otherwise, 5 for what costs more than it may.\n"
        "Signatures are not looked at.",
        "  reprise diff monday.reprise tuesday.reprise\n"
        "  reprise diff loans.reprise loans.reprise --isa ref --isa avx2",
        names,
        2,
        options,
        RP_COUNT(options)};
    rp_status status = rp_options_parse(session, &usage, argc, argv, path, err);

    if (status != RP_OK || session->helped)
        return status;
    status = of_sides(&levels, "isa", &job.level, &job.other_level, err);
    if (status == RP_OK)
        status = of_sides(&devices, "device", &job.device, &job.other_device, err);
    for (size_t i = 0; i < devices.count && status == RP_OK; i++)
        status = rp_device_option("diff", devices.item[i], err);
    if (status == RP_OK)
        status = rp_limits_resolve(&limits, "diff", &job, err);
    return status == RP_OK ? compare(session, path, &folders, &job, err) : status;
}
