/* SPDX-License-Identifier: Apache-2.0
 * What the replay commands share when they attest. */
#include "cli/attest.h"

#include <string.h>
#include <time.h>

#include "cli/material.h"
#include "cli/progress.h"

rp_status rp_attestation_begin(rp_attestation *a, rp_error *err)
{
    if (a->wanted && !a->key_path)
        return rp_fail(err, RP_EARG, "replay: --attest needs --key KEY.pem: whose verdict is it?");
    if (!a->wanted && (a->key_path || a->passphrase_file))
        return rp_fail(err, RP_EARG, "replay: --key and --passphrase-file are of use only with --attest");
    a->outcome.started = (int64_t)time(NULL);
    return a->wanted ? rp_signing_key_load(&a->key, a->key_path, a->passphrase_file, err) : RP_OK;
}

rp_status rp_attestation_end(rp_attestation *a, const char *path, const rp_archive *archive, const rp_job *job,
                             rp_status status, rp_error *err)
{
    char found[RP_ERROR_TEXT];
    rp_error late = {0};
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
    if (status == RP_EBITS)
        return rp_fail(err, status, "%.700s; %s%.250s", found,
                       added == RP_OK ? "attested in " : "the verdict could not be added: ",
                       added == RP_OK ? a->member : late.text);
    if (added != RP_OK)
        *err = late;
    return added;
}

void rp_attestation_free(rp_attestation *a)
{
    rp_key_free(a->key);
    a->key = NULL;
}
