/* SPDX-License-Identifier: Apache-2.0
 * What the replay commands share when they attest. */
#include "cli/signing/attest.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli/signing/key_files.h"
#include "cli/progress.h"
#include "rp/trust.h"

/* Before hours of replaying: whether the verdict can be added afterwards. */
static rp_status look_at(const char *path, rp_error *err)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? rp_strndup(path, slash == path ? 1 : (size_t)(slash - path)) : rp_strdup(".");
    rp_status status = RP_OK;
    struct stat info;

    if (!folder)
        return rp_no_memory(err);
    if (lstat(path, &info) == 0 && S_ISLNK(info.st_mode))
        status = rp_fail(err, RP_EARG,
                         "%s: is a symbolic link: give the archive itself, to which --attest adds the verdict", path);
    else if (access(folder, W_OK | X_OK) != 0)
        status = rp_fail(err, RP_EIO, "%s: cannot write here, but --attest adds the verdict to the archive: %s", folder,
                         strerror(errno));
    rp_free(folder);
    return status;
}

rp_status rp_attestation_begin(rp_attestation *a, const char *path, rp_error *err)
{
    rp_status status = a->wanted ? look_at(path, err) : RP_OK;

    if (a->wanted && !a->key_path)
        return rp_fail(err, RP_EARG, "replay: --attest needs --key KEY.pem: whose verdict is it?");
    if (!a->wanted && (a->key_path || a->passphrase_file || a->cert))
        return rp_fail(err, RP_EARG, "replay: --key, --cert and --passphrase-file are of use only with --attest");
    a->outcome.started = (int64_t)time(NULL);
    if (status == RP_OK && a->wanted)
        status = rp_signing_key_load(&a->key, a->key_path, a->passphrase_file, err);
    return status == RP_OK && a->cert ? rp_key_load_certificates(a->key, a->cert, err) : status;
}

rp_status rp_attestation_end(rp_attestation *a, const char *path, const rp_archive *archive, const rp_job *job,
                             rp_status status, rp_error *err)
{
    char found[RP_ERROR_TEXT];
    rp_error late = {0};
    const rp_difference difference = err->difference;
    rp_status added;

    if (!a->key || (status != RP_OK && status != RP_EBITS))
        return status;
    if (status == RP_EBITS)
        memcpy(found, err->text, sizeof found);
    a->outcome.difference = status == RP_EBITS ? found : NULL;
    a->outcome.members = job ? job->members : 0;
    a->outcome.finished = (int64_t)time(NULL);
    rp_signals_hold(true);
    added = rp_archive_attest(path, rp_archive_id(archive), &a->outcome, a->key, a->member, &late);
    rp_signals_hold(false);
    a->outcome.difference = NULL;
    if (status == RP_EBITS) {
        (void)rp_fail(err, status, "%.700s; %s%.250s", found,
                      added == RP_OK ? "attested in " : "the verdict could not be added: ",
                      added == RP_OK ? a->member : late.text);
        err->difference = difference;
        return status;
    }
    if (added != RP_OK)
        return rp_fail(err, added, "every bit is the same, but the verdict could not be added: %.900s", late.text);
    return RP_OK;
}

void rp_attestation_free(rp_attestation *a)
{
    rp_key_free(a->key);
    a->key = NULL;
}
