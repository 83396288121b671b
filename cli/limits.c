/* SPDX-License-Identifier: Apache-2.0
 * Reading --max-work and --max-memory. */
#include "cli/limits.h"

enum { DIGITS = 18 }; /* so every number fits */

static rp_status resolve(const char *command, const char *option, const char *text, uint64_t *out, rp_error *err)
{
    uint64_t value = 0;
    int digits = 0;

    if (!text)
        return RP_OK;
    for (; text[digits] >= '0' && text[digits] <= '9' && digits <= DIGITS; digits++)
        value = value * 10 + (uint64_t)(text[digits] - '0');
    if (text[digits] != '\0' || digits > DIGITS || value == 0)
        return rp_fail(err, RP_EARG, "%s: --%s: expected a number above 0 of at most %d digits, found %.60s", command,
                       option, DIGITS, text);
    *out = value;
    return RP_OK;
}

rp_status rp_limits_resolve(const rp_limits *limits, const char *command, rp_job_options *options, rp_error *err)
{
    rp_status status = resolve(command, "max-work", limits->work, &options->max_work, err);

    return status == RP_OK ? resolve(command, "max-memory", limits->memory, &options->max_memory, err) : status;
}
