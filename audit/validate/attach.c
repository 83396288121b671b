/* SPDX-License-Identifier: Apache-2.0
 * Putting a statement of figures into its archive: signed, dated by the signer's clock, beside approvals and findings.
 */
#include <string.h>
#include <time.h>

#include "audit/validate/statement_text.h"
#include "base/handle.h"
#include "base/memory.h"
#include "rp/validation.h"

rp_status rp_validation_attach(const char *path, const char *archive_id, const char *statement, size_t length,
                               const rp_key *key, char member[RP_MEMBER_NAME], rp_error *err)
{
    const char *type, *id;
    char now[RP_TIME_TEXT];
    rp_json *json, *predicate;
    rp_stated_figures form = {.predicate = NULL};
    rp_status status;

    if (!key || !statement)
        return rp_no_handle(err, __func__, key ? "statement" : "key");
    status = rp_validation_parse(&json, &type, &id, statement, length, "the statement", NULL, 0, err);
    if (status != RP_OK)
        return status;
    if (rp_statement_kind_of(type) == RP_STATEMENT_OTHER)
        status = rp_fail(err, RP_EARG, "a scorecard is no statement of an archive: reprise scorecard makes it from it");
    else if (strcmp(id, archive_id) != 0)
        status = rp_fail(err, RP_EHASH, "the statement is about archive %.64s, %s is %s: nothing was added", id, path,
                         archive_id);
    predicate = rp_json_deep_copy(rp_json_object_get(json, "predicate")); /* what was parsed takes no further key */
    rp_time_write(now, time(NULL));
    if (status == RP_OK && rp_json_object_set_new(predicate, "time", rp_json_string(now)) != 0)
        status = rp_no_memory(err);
    if (status ==
        RP_OK) /* what a reader of the archive would refuse makes the whole of it one that nobody can verify */
        status = rp_figures_read(&form, predicate, rp_statement_kind_of(type), "the statement", err);
    rp_json_free(form.predicate);
    if (status == RP_OK)
        status = rp_statement_add(path, rp_statement_kind_of(type), archive_id, key, predicate, member, err);
    rp_json_free(predicate);
    rp_json_free(json);
    return status;
}
