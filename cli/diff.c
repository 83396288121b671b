/* SPDX-License-Identifier: Apache-2.0
 * reprise diff: where two archives part. That they do is a result, not an error: exit 3, the text on stdout. */
#include "cli/options.h"
#include "cli/print.h"
#include "cli/signing/key_files.h"
#include "cli/progress.h"

#include <string.h>

static void put_json(rp_session *session, const char *const path[2], rp_archive *const archive[2], bool same,
                     const rp_diff_work *work, const char *text)
{
    rp_buffer *out = &session->out;

    rp_put_open(out, NULL, '{');
    for (int i = 0; i < 2; i++) {
        rp_put_open(out, i ? "b" : "a", '{');
        rp_put_text(out, "archive_id", rp_archive_id(archive[i]));
        rp_put_text(out, "path", path[i]);
        rp_put_close(out, '}');
    }
    rp_put_integer(out, "digests_compared", work->digests_compared);
    rp_put_bool(out, "same", same);
    rp_put_integer(out, "steps_recomputed", work->steps_recomputed);
    rp_put_open(out, "text", '[');
    while (*text) {
        size_t length = strcspn(text, "\n");
        rp_json *line = rp_json_stringn(text, length);

        rp_put_json(out, NULL, line);
        rp_json_free(line);
        text += length + (text[length] == '\n');
    }
    rp_put_close(out, ']');
    rp_put_close(out, '}');
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
    bool same = false;
    char *text = NULL;
    rp_diff_work work = {0};
    rp_status status = rp_archive_open_confirmed(&archive[0], path[0], err);

    if (status == RP_OK)
        status = rp_archive_open_confirmed(&archive[1], path[1], err);
    if (status == RP_OK)
        status = disclose(archive, folders, err);
    if (status == RP_OK)
        status = rp_diff_counted(archive[0], archive[1], options, &same, &text, &work, err);
    if (status == RP_OK && session->json)
        put_json(session, path, archive, same, &work, text);
    else if (status == RP_OK)
        rp_put_plain(&session->out, text); /* keys and names come from the archives */
    if (status == RP_OK && !same)
        session->exit = rp_exit_code(RP_EBITS);
    rp_text_free(text);
    rp_archive_close(archive[0]);
    rp_archive_close(archive[1]);
    return status;
}

rp_status rp_command_diff(rp_session *session, int argc, char **argv, rp_error *err)
{
    static const char *const names[] = {"A", "B"};
    const char *path[2] = {NULL, NULL};
    rp_job_options job = {0};
    rp_text_list folders = {.count = 0};
    const rp_option options[] = {
        {0, "withheld", RP_OPTION_LIST, "DIR", "the folder with the data that was left out; given twice: of A, of B",
         &folders, false},
        RP_OPTION_THREADS(&job.threads),
        RP_OPTION_ISA(&job.level),
        RP_OPTION_DEVICE(&job.device),
    };
    const rp_usage usage = {
        "diff A B [options]",
        "Compares two archives: recipe keys and members that differ, then the first step, the first\n"
        "operation and the first element whose bits differ, with both values and the distance in ulps.\n"
        "Exit 0 when they have the same id, 3 when they differ. Signatures are not looked at.",
        "  reprise diff monday.reprise tuesday.reprise",
        names,
        2,
        options,
        RP_COUNT(options)};
    rp_status status = rp_options_parse(session, &usage, argc, argv, path, err);

    if (status == RP_OK)
        status = rp_device_option("diff", job.device, err);
    return status == RP_OK && !session->helped ? compare(session, path, &folders, &job, err) : status;
}
