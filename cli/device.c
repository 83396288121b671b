/* SPDX-License-Identifier: Apache-2.0
 * --device, looked at before anything else is: what this build lacks it should not find out at the end of a long job.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/options.h"
#include "rp/audit.h"
#include "rp/run.h"

rp_status rp_device_option(const char *command, const char *device, rp_error *err)
{
    char known[256] = "", word[80];
    size_t used = 0;
    const char *name;

    if (!device || rp_run_device_known(device))
        return RP_OK;
    for (size_t i = 0; (name = rp_run_device_name(i)) != NULL && used < sizeof known; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i > 0 ? ", " : "", name);
    return rp_fail(err, RP_EUNSUPPORTED,
                   "%s: --device: expected one of this build's (%s), found %s; see reprise doctor", command, known,
                   *device ? rp_printable(word, sizeof word, device, strlen(device)) : "nothing");
}

rp_status rp_conforming_option(const char *command, const char *level, const char *device, bool allowed, rp_error *err)
{
    rp_error why = {0};
    rp_status status = allowed ? RP_OK : rp_host_conforms(level, &why);

    if (status == RP_OK && !allowed)
        status = rp_device_conforms(device, false, NULL, NULL, &why);

    if (status == RP_OK)
        return RP_OK;
    if (status != RP_EUNSUPPORTED || !strstr(why.text, "do not conform"))
        return rp_fail(err, status, "%s", why.text);
    return rp_fail(
        err, status,
        "%s: %.800s: what is computed here shows nothing; reprise doctor tells more, --isa and --device name other "
        "kernels, "
        "--allow-nonconforming goes on all the same",
        command, why.text);
}
