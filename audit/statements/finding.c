/* SPDX-License-Identifier: Apache-2.0
 * Findings (FORMAT.md 5.8): what somebody found wrong about a model, and that it was settled. */
#include <string.h>

#include "audit/statements/statement.h"
#include "base/memory.h"
#include "base/text.h"

static const char *const severities[] = {"low", "medium", "high", "critical"};
static const char *const states[] = {"open", "closed"};

const char *rp_severity_name(rp_severity severity)
{
    return (size_t)severity < sizeof severities / sizeof *severities ? severities[severity] : "unknown";
}

rp_status rp_finding_write(rp_json **out, const rp_stated_finding *finding, int64_t now, rp_error *err)
{
    char time[RP_TIME_TEXT];
    rp_json *due;

    *out = NULL;
    if (!rp_text_fits(finding->id, sizeof finding->id) || !rp_text_fits(finding->owner, sizeof finding->owner))
        return rp_fail(err, RP_EARG,
                       "the id and the owner of a finding are 1 to %d printable ASCII characters, without a space at "
                       "either end",
                       RP_ROLE - 1);
    if (!rp_line_fits(finding->text, sizeof finding->text) || !rp_is_utf8(finding->text, strlen(finding->text)))
        return rp_fail(err, RP_EARG, "the text of a finding is one line of 1 to %d bytes of UTF-8", RP_REASON - 1);
    if ((size_t)finding->severity >= sizeof severities / sizeof *severities)
        return rp_fail(err, RP_EARG, "a severity is low, medium, high or critical");
    if (finding->due[0] != '\0' && !rp_time_valid(finding->due))
        return rp_fail(err, RP_EARG, "a finding is due at a time as 2027-03-31T00:00:00Z");
    rp_time_write(time, now);
    due = finding->due[0] ? rp_json_string(finding->due) : rp_json_null();
    *out = rp_json_pack("{s:o, s:s, s:s, s:s, s:s, s:s, s:s}", "due", due, "id", finding->id, "owner", finding->owner,
                        "severity", severities[finding->severity], "state", states[finding->closed], "text",
                        finding->text, "time", time);
    return *out ? RP_OK : rp_no_memory(err);
}

rp_status rp_finding_read(rp_stated_finding *out, const rp_json *predicate, const char *where, rp_error *err)
{
    rp_fields f = rp_fields_begin(predicate, "predicate", where, err);
    int severity = 0, state = 0;

    memset(out, 0, sizeof *out);
    if (!rp_fields_null(&f, "due"))
        rp_fields_time(&f, "due", out->due);
    rp_fields_text(&f, "id", out->id, sizeof out->id);
    rp_fields_text(&f, "owner", out->owner, sizeof out->owner);
    rp_fields_choice(&f, "severity", &severity, severities, sizeof severities / sizeof *severities);
    rp_fields_choice(&f, "state", &state, states, 2);
    rp_fields_line(&f, "text", out->text, sizeof out->text);
    rp_fields_time(&f, "time", out->time);
    out->severity = (rp_severity)severity;
    out->closed = state == 1;
    return rp_fields_end(&f);
}
