/* SPDX-License-Identifier: Apache-2.0
 * What verification makes of the timestamps of an archive. */
#include <string.h>

#include "audit/archive/archive_private.h"
#include "audit/trust/timestamp.h"
#include "base/memory.h"

static rp_status keep_text(char **out, const char *text, rp_error *err)
{
    *out = *text != '\0' ? rp_strdup(text) : NULL;
    return *out != NULL || *text == '\0' ? RP_OK : rp_no_memory(err);
}

/* Not by a given authority: it is shown with the reason, and counts for nothing. */
static rp_status judge(rp_verified_timestamp *one, const rp_timestamp *timestamp, const rp_trust_store *store,
                       rp_error *err)
{
    rp_chain_verdict verdict;
    rp_error why = {.text = ""};
    rp_status status;

    if (store == NULL || sk_X509_num(store->tsa) == 0)
        return keep_text(&one->note, "no timestamp authority was given", err);
    status = rp_timestamp_judge(&verdict, timestamp, store, &why);
    if (status == RP_ENOMEM)
        return rp_no_memory(err);
    if (status != RP_OK)
        return keep_text(&one->note, why.text, err);
    if ((status = keep_text(&one->anchor, verdict.anchor, err)) == RP_OK)
        status =
            keep_text(&one->note,
                      *verdict.note || verdict.revocation_checked ? verdict.note
                                                                  : "whether its authority was revoked was not checked",
                      err);
    return status;
}

static rp_status add(rp_verification *result, const rp_timestamp *timestamp, const char *member, const char *statement,
                     const rp_trust_store *store, rp_error *err)
{
    rp_verified_timestamp *grown = rp_reallocarray(result->timestamp, result->timestamps + 1, sizeof *grown);
    char name[RP_NAME_TEXT];
    rp_status status;

    if (grown == NULL)
        return rp_no_memory(err);
    result->timestamp = grown;
    grown += result->timestamps++;
    memset(grown, 0, sizeof *grown);
    memcpy(grown->member, member, strlen(member) + 1);
    memcpy(grown->statement, statement, strlen(statement) + 1);
    grown->seconds = timestamp->time;
    (void)rp_moment_text(grown->time, timestamp->time);
    status = keep_text(&grown->authority, rp_x509_name(name, X509_get_subject_name(timestamp->signer)), err);
    return status == RP_OK ? judge(grown, timestamp, store, err) : status;
}

static rp_status check_timestamp(const rp_trust_store *store, const rp_archive *archive, const rp_member *member,
                                 rp_verification *result, rp_error *err)
{
    char name[RP_MEMBER_NAME];
    rp_buffer response = {0}, dated = {0};
    rp_timestamp timestamp = {.time = 0};
    const rp_member *statement;
    rp_status status;

    rp_timestamp_statement(name, member->name);
    statement = rp_archive_find(archive, name);
    if (statement == NULL)
        return rp_fail(err, RP_ESIGN, "%s: timestamp: the statement that it dates, %s, is missing", member->name, name);
    status = rp_archive_member_body(archive, member, &response, err);
    if (status == RP_OK)
        status = rp_archive_member_body(archive, statement, &dated, err);
    if (status == RP_OK)
        status = rp_timestamp_parse(&timestamp, response.data, response.size, member->name, err);
    if (status == RP_OK)
        status = rp_timestamp_covers(&timestamp, dated.data, dated.size, member->name, err);
    if (status == RP_OK)
        status = add(result, &timestamp, member->name, name, store, err);
    rp_timestamp_clear(&timestamp);
    rp_buffer_free(&response);
    rp_buffer_free(&dated);
    return status;
}

static const rp_verified_timestamp *date_of(const rp_verification *result, const char *statement)
{
    for (size_t i = 0; i < result->timestamps; i++)
        if (strcmp(result->timestamp[i].statement, statement) == 0)
            return &result->timestamp[i];
    return NULL;
}

/* Whoever gives authorities wants to know when that was signed which counts: the provenance, or where that does not
 * count or is not there, an endorsement. What nobody trusts anyone can have dated. */
static rp_status check_dated(const rp_trust_store *store, const rp_verification *result, rp_error *err)
{
    const char *wanted = RP_RUN_STATEMENT;
    rp_statement_kind kind = RP_STATEMENT_ENDORSEMENT;

    if (store == NULL || sk_X509_num(store->tsa) == 0)
        return RP_OK;
    for (size_t i = 0; i < result->statements; i++)
        if (result->statement[i].kind == RP_STATEMENT_PROVENANCE)
            kind = RP_STATEMENT_PROVENANCE;
    for (size_t i = 0; i < result->statements; i++) {
        const rp_verified_timestamp *date;

        if (result->statement[i].kind != kind)
            continue;
        date = date_of(result, result->statement[i].member);
        if (date != NULL && date->anchor != NULL)
            return RP_OK;
        if (date != NULL)
            (void)rp_fail(err, RP_ESIGN, "%s: timestamp not accepted: %s", date->member, date->note);
        else
            (void)rp_fail(err, RP_ESIGN, RP_SIGNATURES ": no timestamp of %s", result->statement[i].member);
        wanted = NULL;
    }
    return wanted == NULL ? RP_ESIGN : rp_fail(err, RP_ESIGN, RP_SIGNATURES ": no timestamp of %s", wanted);
}

rp_status rp_trust_timestamps(const rp_trust_store *store, const rp_archive *archive, rp_verification *result,
                              rp_error *err)
{
    rp_status status = RP_OK;

    for (size_t i = 0; status == RP_OK && i < archive->members; i++)
        if (rp_timestamp_member_valid(archive->member[i].name))
            status = check_timestamp(store, archive, &archive->member[i], result, err);
    return status == RP_OK ? check_dated(store, result, err) : status;
}
