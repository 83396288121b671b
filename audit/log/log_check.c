/* SPDX-License-Identifier: Apache-2.0
 * Checking proofs without the log: form, then path, then signature. A path that is wrong is worse news than a key that
 * is not trusted, and is told first. */
#include <string.h>

#include "audit/log/log_note.h"
#include "base/handle.h"

rp_status rp_log_inclusion_check(rp_log_proof *out, const char *text, size_t size, const char *where,
                                 const char *archive_id, rp_error *err)
{
    char what[RP_DIGEST_HEX + 8] = "archive ";
    rp_digest leaf;
    rp_status status;

    if (!rp_unhex(leaf.bytes, sizeof leaf.bytes, archive_id))
        return rp_fail(err, RP_EARG, "%.64s is not an archive id: expected 64 lowercase hex digits", archive_id);
    strcat(what, archive_id);
    status = rp_log_inclusion_parse(out, text, size, where, err);
    if (status == RP_OK && out->note.head.predictions)
        status = rp_fail(err, RP_EHASH, "%s: is of a log of predictions, which no archive is in", where);
    return status == RP_OK ? rp_log_path_leads(out, &leaf, where, what, err) : status;
}

rp_status rp_log_path_leads(const rp_log_proof *proof, const rp_digest *entry, const char *where, const char *what,
                            rp_error *err)
{
    const rp_log_head *head = &proof->note.head;
    rp_digest leaf;
    bool right = false;
    rp_status status = rp_log_leaves(&leaf, entry, 1, err);

    if (status == RP_OK)
        status =
            rp_log_path_check(&right, proof->path, proof->length, proof->number, head->size, &leaf, &head->root, err);
    if (status == RP_OK && !right)
        status = rp_fail(err, RP_EHASH,
                         "%s: does not show %s as entry %llu of %llu: the path does not lead to the checkpoint's root",
                         where, what, (unsigned long long)proof->number, (unsigned long long)head->size);
    return status;
}

rp_status rp_log_check(rp_log_inclusion *out, const char *proof, size_t size, const char *where, const char *archive_id,
                       const rp_key *const *trusted, size_t n_trusted, rp_error *err)
{
    rp_log_proof parsed;
    const rp_key *by = NULL;
    rp_status status;

    if ((!proof && size > 0) || !archive_id)
        status = rp_no_value(err, __func__, archive_id ? "proof" : "archive_id");
    else
        status = rp_log_inclusion_check(&parsed, proof, size, where, archive_id, err);

    memset(out, 0, sizeof *out);
    if (status == RP_OK && n_trusted > 0)
        status = rp_log_note_check(&parsed.note, trusted, n_trusted, &by, where, err);
    if (status != RP_OK)
        return status;
    out->head = parsed.note.head;
    out->index = parsed.number;
    if (by != NULL)
        memcpy(out->key_id, rp_key_id(by), RP_DIGEST_HEX);
    return RP_OK;
}

static rp_status check_growth(const rp_log_proof *proof, const rp_log_note *old, const char *where,
                              const char *old_where, rp_error *err)
{
    const rp_log_head *is = &proof->note.head;
    bool right = false;
    rp_status status;

    if (strcmp(is->origin, old->head.origin) != 0)
        return rp_fail(err, RP_EHASH, "%s: is of the log %s, %s of %s", where, is->origin, old_where, old->head.origin);
    if (proof->number != old->head.size)
        return rp_fail(err, RP_EHASH, "%s: begins at %llu entries, %s has %llu", where,
                       (unsigned long long)proof->number, old_where, (unsigned long long)old->head.size);
    if (old->head.size > 0 && is->predictions != old->head.predictions)
        return rp_fail(err, RP_EHASH, "%s: is of a log of %s, %s of one of %s", where,
                       is->predictions ? "predictions" : "runs", old_where, is->predictions ? "runs" : "predictions");
    status = rp_log_growth_check(&right, proof->path, proof->length, old->head.size, is->size, &old->head.root,
                                 &is->root, err);
    if (status == RP_OK && !right)
        status = rp_fail(err, RP_EHASH,
                         "%s: does not show that the log of %llu entries begins with the %llu of %s: the log "
                         "was changed, or this is not its proof",
                         where, (unsigned long long)is->size, (unsigned long long)old->head.size, old_where);
    return status;
}

rp_status rp_log_check_consistency(rp_log_head *was, rp_log_head *is, const rp_log_text *proof, const rp_log_text *old,
                                   const rp_key *const *trusted, size_t n_trusted, rp_error *err)
{
    rp_log_proof parsed;
    rp_log_note before;
    const rp_key *by;
    rp_status status;

    if (proof == NULL || old == NULL)
        return rp_no_handle(err, __func__, proof ? "old" : "proof");
    status = rp_log_note_parse(&before, old->text, old->size, old->where, err);
    if (status == RP_OK)
        status = rp_log_consistency_parse(&parsed, proof->text, proof->size, proof->where, err);
    if (status == RP_OK)
        status = check_growth(&parsed, &before, proof->where, old->where, err);
    if (status == RP_OK)
        status = rp_log_note_check(&before, trusted, n_trusted, &by, old->where, err);
    if (status == RP_OK)
        status = rp_log_note_check(&parsed.note, trusted, n_trusted, &by, proof->where, err);
    if (status == RP_OK && was != NULL)
        *was = before.head;
    if (status == RP_OK && is != NULL)
        *is = parsed.note.head;
    return status;
}
