/* SPDX-License-Identifier: Apache-2.0
 * What members of signatures/ claim to be, for those who look into an archive without trusting anyone. */
#include <string.h>

#include "audit/archive/archive_private.h"
#include "audit/statements/oms.h"
#include "audit/statements/statement.h"
#include "base/handle.h"

static const char *const kinds[] = {
    [RP_STATEMENT_PROVENANCE] = "provenance",
    [RP_STATEMENT_ENDORSEMENT] = "endorsement",
    [RP_STATEMENT_VERDICT] = "verdict",
    [RP_STATEMENT_APPROVAL] = "approval",
    [RP_STATEMENT_FINDING] = "finding",
    [RP_STATEMENT_BUNDLE] = "bundle",
    [RP_STATEMENT_VALIDATION] = "validation",
    [RP_STATEMENT_MONITORING] = "monitoring",
    [RP_STATEMENT_EXPLANATION] = "explanation",
    [RP_STATEMENT_RETRAINING] = "retraining",
    [RP_STATEMENT_OTHER] = "other",
};

/* NULL: a statement. */
static const char *kind_by_name(const char *member)
{
    if (strcmp(member, RP_OMS_BUNDLE) == 0)
        return kinds[RP_STATEMENT_BUNDLE];
    if (rp_timestamp_member_valid(member))
        return "timestamp";
    if (rp_certificate_member_valid(member))
        return "certificates";
    return rp_log_member_valid(member) ? "log proof" : NULL;
}

static rp_status read_statement(rp_claim *out, const rp_archive *archive, const rp_member *member, rp_error *err)
{
    rp_json *payload = NULL;
    rp_buffer text = {0};
    const char *type;
    rp_status status = rp_archive_member_body(archive, member, &text, err);

    if (status == RP_OK)
        status = rp_statement_claims(&payload, out->key_id, text.data, text.size, member->name, err);
    type = rp_json_string_value(rp_json_object_get(payload, "predicateType"));
    out->kind = status == RP_OK && type != NULL ? kinds[rp_statement_kind_of(type)] : "unreadable";
    rp_json_free(payload);
    rp_buffer_free(&text);
    if (status != RP_OK)
        (void)rp_fail_at(err, status, "%s", archive->where);
    return status == RP_ENOMEM || status == RP_EIO || status == RP_EHASH ? status : RP_OK;
}

rp_status rp_archive_claim(const rp_archive *archive, const rp_member *member, rp_claim *out, rp_error *err)
{
    if (!archive)
        return rp_no_handle(err, __func__, "archive");
    *out = (rp_claim){.kind = NULL};
    if (rp_member_rank_of(member->name) != RP_RANK_SIGNATURE)
        return RP_OK;
    out->kind = kind_by_name(member->name);
    return out->kind != NULL ? RP_OK : read_statement(out, archive, member, err);
}
