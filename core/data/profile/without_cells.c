/* SPDX-License-Identifier: Apache-2.0
 * A profile of a table that stays at home: counts, kinds and lines, but nothing that a cell holds, since what a run
 * prints is kept where its archive is. */
#include <string.h>

#include "base/memory.h"
#include "core/data/profile/profile.h"

#define UNTOLD "(withheld)"

/* Examples and quantiles are cells; quality has the first and the last day. */
static bool strip_columns(rp_json *profile)
{
    rp_json *column;
    size_t i;
    bool failed = false;

    rp_json_array_foreach (rp_json_object_get(profile, "columns"), i, column) {
        failed |= rp_json_object_set_new(column, "examples", rp_json_array()) != 0;
        (void)rp_json_object_del(column, "quantiles");
    }
    (void)rp_json_object_del(profile, "quality");
    return !failed;
}

/* Words of a finding's own quote cells where rp_finding_words has others for its code, or where it has a cell. */
static bool strip_finding(rp_json *finding)
{
    const char *text = rp_json_string_value(rp_json_object_get(finding, "text"));
    const bool quotes = text != NULL && *text != '\0';

    if (quotes || rp_finding_has_words(rp_json_string_value(rp_json_object_get(finding, "code"))))
        (void)rp_json_object_del(finding, "words");
    return !quotes || rp_json_object_set_new(finding, "text", rp_json_string(UNTOLD)) == 0;
}

rp_status rp_profile_without_cells(rp_json **out, const rp_json *profile, rp_error *err)
{
    rp_json *copy = rp_json_deep_copy(profile), *finding;
    bool made = copy != NULL && strip_columns(copy);
    size_t i;

    *out = NULL;
    rp_json_array_foreach (rp_json_object_get(copy, "findings"), i, finding)
        made = made && strip_finding(finding);
    if (!made) {
        rp_json_free(copy);
        return rp_no_memory(err);
    }
    *out = copy;
    return RP_OK;
}
