/* SPDX-License-Identifier: Apache-2.0
 * reprise export: what other tools read of an archive. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/memory.h"
#include "cli/print.h"
#include "cli/signing/defaults.h"
#include "cli/signing/key_files.h"

typedef struct request {
    const char *archive, *tensorboard;
    rp_text_list trust;
    bool force;
} request;

static rp_status parse(rp_session *session, int argc, char **argv, request *r, rp_error *err)
{
    static const char *const names[] = {"ARCHIVE"};
    const rp_option options[] = {
        {0, "tensorboard", RP_OPTION_TEXT, "DIR", "write an event file for TensorBoard into this folder",
         &r->tensorboard, true},
        {0, "force", RP_OPTION_FLAG, NULL, "replace the file if it exists", &r->force, false},
        {0, "trust", RP_OPTION_LIST, "PUB.pem",
         "verify the signature with this public key first (default: REPRISE_TRUST)", &r->trust, false},
    };
    const rp_usage usage = {
        "export ARCHIVE --tensorboard DIR [options]",
        "Writes an archive's scalars as a TensorBoard event file: the loss of every training step, the learning rate\n"
        "of a recipe's run, metrics at the last step. Nothing is computed. Its name and bytes follow from the\n"
        "archive alone: wall times are 0 (docs/inside.md). The folder is made if it is not there.",
        "  reprise export loans.reprise --tensorboard runs/loans\n  tensorboard --logdir runs",
        names,
        1,
        options,
        RP_COUNT(options)};
    rp_status status = rp_options_parse(session, &usage, argc, argv, &r->archive, err);

    return status == RP_OK && !session->helped ? rp_default_trust(session, &r->trust, true, err) : status;
}

/* "DIR/events.out.tfevents.0." and the first digits of the id; NULL: memory ran out. TensorBoard looks for
 * "tfevents", and takes the number for a time. */
static char *path_of(const char *folder, const char *id)
{
    rp_buffer path = {0};
    char *out;

    rp_buffer_printf(&path, "%s/events.out.tfevents.0.%.16s", folder, id);
    return rp_buffer_finish(&path, RP_OK, &out, NULL) == RP_OK ? out : NULL;
}

static rp_status save(rp_session *session, const request *r, const rp_archive *archive, rp_error *err)
{
    char *path = path_of(r->tensorboard, rp_archive_id(archive));
    void *bytes = NULL;
    size_t size = 0;
    rp_status status = path ? rp_export_events(archive, &bytes, &size, err) : rp_no_memory(err);

    if (status == RP_OK && mkdir(r->tensorboard, 0777) != 0 && errno != EEXIST)
        status = rp_fail(err, RP_EIO, "%s: cannot be made: %s", r->tensorboard, strerror(errno));
    if (status == RP_OK)
        status = rp_file_save(path, bytes, size, r->force, 0644, err);
    if (status == RP_OK && session->json) {
        rp_put_open(&session->out, NULL, '{');
        rp_put_text(&session->out, "archive_id", rp_archive_id(archive));
        rp_put_integer(&session->out, "bytes", size);
        rp_put_text(&session->out, "path", path);
        rp_put_close(&session->out, '}');
    } else if (status == RP_OK) {
        rp_put_line(session, "written", "%s: %zu bytes", path, size);
    }
    rp_text_free(bytes);
    rp_free(path);
    return status;
}

rp_status rp_command_export(rp_session *session, int argc, char **argv, rp_error *err)
{
    request r = {0};
    rp_archive *archive = NULL;
    rp_verification *verified = NULL;
    rp_status status = parse(session, argc, argv, &r, err);

    if (status != RP_OK || session->helped)
        return status;
    status = rp_archive_open_trusted(&archive, &verified, r.archive, &r.trust, err);
    if (status == RP_OK)
        status = save(session, &r, archive, err);
    rp_verification_free(verified);
    rp_archive_close(archive);
    return status;
}
