/* SPDX-License-Identifier: Apache-2.0
 * Verification (FORMAT.md 6). Signatures come before the manifest is parsed: once a trusted statement vouches for
 * SHA-256(manifest.json), the manifest says what every other member must be. It also puts the blame right: a manifest
 * that does not match its statement is named itself, not the members that then seem wrong. The Model Signing bundle is
 * compared last, with members that are known to be the manifest's. */
#include "audit/trust/verify.h"

#include <stdio.h>
#include <string.h>

#include "audit/archive/archive_private.h"
#include "audit/log/log_note.h"
#include "audit/trust/facts.h"
#include "audit/trust/policy_standing.h"
#include "audit/trust/figures/reference_counts.h"
#include "audit/trust/scopes.h"
#include "audit/statements/statement.h"
#include "audit/trust/timestamp.h"
#include "audit/trust/trust_view.h"
#include "base/handle.h"
#include "base/memory.h"

/* Takes what one holds, whatever the result. */
static rp_status keep(rp_verified_statement **list, size_t *count, rp_verified_statement *one, rp_error *err)
{
    rp_verified_statement *grown = rp_reallocarray(*list, *count + 1, sizeof *grown);

    if (grown == NULL) {
        rp_verified_statement_clear(one);
        return rp_no_memory(err);
    }
    *list = grown;
    grown[(*count)++] = *one;
    return RP_OK;
}

/* A signature by an unknown key could be anything, so it counts for nothing; it must not be able to forbid either, or
 * anyone could make an archive fail for those who trust its builder by adding a statement. */
static rp_status add_statement(rp_verification *result, rp_verified_statement *one, rp_error *err)
{
    if (one->key_type == NULL && one->figures != NULL) { /* strangers' figures take no memory */
        rp_json_free(one->figures->predicate);
        one->figures->predicate = NULL;
    }
    return one->key_type != NULL ? keep(&result->statement, &result->statements, one, err)
                                 : keep(&result->other, &result->others, one, err);
}

/* The first statement that a trusted key signed says what manifest.json must be; one that then disagrees is itself
 * wrong. */
static rp_status check_subject(const rp_archive *archive, const rp_member *member, const rp_statement *statement,
                               const rp_verification *result, rp_error *err)
{
    if (strcmp(statement->subject, archive->id) == 0)
        return RP_OK;
    if (statement->key != NULL && result->statements == 0)
        return rp_fail(err, RP_EHASH, RP_MANIFEST_NAME ": SHA-256 differs: %s vouches for %s, archive %s", member->name,
                       statement->subject, archive->id);
    return rp_fail(err, RP_EHASH, "%s: is about another archive, %s; this one is %s", member->name, statement->subject,
                   archive->id);
}

static rp_status check_statement(const rp_archive *archive, const rp_member *member, const rp_trust_view *view,
                                 rp_verification *result, rp_error *err)
{
    rp_buffer text = {0};
    rp_statement statement = {0};
    rp_verified_statement one = {.kind = RP_STATEMENT_OTHER};
    const rp_key *signer = NULL;
    bool taken = false;
    rp_status status;

    if (!rp_statement_name_valid(member->name))
        return rp_fail(err, RP_EUNSUPPORTED, "%s: not a kind of signature that format %d has", member->name,
                       (int)RP_ARCHIVE_FORMAT);
    status = rp_archive_member_body(archive, member, &text, err);
    if (status == RP_OK)
        status = rp_statement_read(&statement, text.data, text.size, member->name, view->key, view->keys, err);
    if (status == RP_OK) {
        signer = statement.key;
        status = rp_trust_admit(view, &statement.key, member->name, result, err);
    }
    if (status == RP_OK)
        status = rp_policy_stand(view, rp_statement_kind_of(statement.predicate_type), signer, member->name, result,
                                 &taken, err);
    if (taken)
        statement.key = signer;
    if (status == RP_OK)
        status = check_subject(archive, member, &statement, result, err);
    if (status == RP_OK)
        status = rp_statement_classify(&one, &statement, member, err);
    if (status == RP_OK)
        status = add_statement(result, &one, err);
    rp_statement_clear(&statement);
    rp_buffer_free(&text);
    return status;
}

/* by: NULL when no given key signed. */
static rp_status add_proof(rp_verification *result, const char *member, const rp_log_proof *proof, const rp_key *by,
                           rp_error *err)
{
    rp_verified_proof *grown = rp_reallocarray(result->proof, result->proofs + 1, sizeof *result->proof);

    if (grown == NULL)
        return rp_no_memory(err);
    result->proof = grown;
    rp_verified_proof *one = &grown[result->proofs];
    memset(one, 0, sizeof *one);
    memcpy(one->member, member, strlen(member) + 1);
    if (by != NULL)
        memcpy(one->key_id, rp_key_id(by), RP_DIGEST_HEX);
    one->index = proof->number;
    one->log_size = proof->note.head.size;
    one->origin = rp_strdup(proof->note.head.origin);
    if (one->origin == NULL)
        return rp_no_memory(err);
    result->proofs++;
    return RP_OK;
}

/* The path must be right whoever signed. A log whose key was not given is not an error: logs are many, and the caller
 * chooses which count; what the key of one of them does say wrongly is. */
static rp_status check_proof(const rp_archive *archive, const rp_member *member, const rp_verify_options *options,
                             rp_verification *result, rp_error *err)
{
    rp_buffer text = {0};
    rp_log_proof proof;
    const rp_key *by = NULL;
    char name[RP_MEMBER_NAME];
    rp_status status = rp_archive_member_body(archive, member, &text, err);

    if (status == RP_OK)
        status = rp_log_inclusion_check(&proof, (const char *)text.data, text.size, member->name, archive->id, err);
    if (status == RP_OK)
        status = rp_log_member(name, proof.note.head.origin, err);
    if (status == RP_OK && strcmp(name, member->name) != 0)
        status = rp_fail(err, RP_EFORMAT, "%s: is a proof of the log %s, whose name here is %s", member->name,
                         proof.note.head.origin, name);
    if (status == RP_OK && options != NULL && options->log_keys > 0)
        status = rp_log_note_find(&proof.note, options->log_key, options->log_keys, &by, member->name, err);
    if (status == RP_OK)
        status = add_proof(result, member->name, &proof, by, err);
    rp_buffer_free(&text);
    return status;
}

static rp_status check_statements(const rp_archive *archive, const rp_trust_view *view,
                                  const rp_verify_options *options, rp_verification *result, rp_error *err)
{
    const rp_member *run = rp_archive_find(archive, RP_RUN_STATEMENT);
    rp_status status = run != NULL ? check_statement(archive, run, view, result, err) : RP_OK;

    /* proofs after statements: of a manifest that was changed a statement says so, a proof only that it is of another
     */
    for (size_t i = 0, n = archive->members; status == RP_OK && i < 2 * n; i++) {
        const rp_member *member = &archive->member[i % n];
        bool proof = rp_log_member_valid(member->name);

        if (rp_member_rank_of(member->name) != RP_RANK_SIGNATURE || strcmp(member->name, RP_OMS_BUNDLE) == 0 ||
            rp_timestamp_member_valid(member->name) || rp_certificate_member_valid(member->name) || member == run ||
            proof != (i >= n))
            continue;
        status = proof ? check_proof(archive, member, options, result, err)
                       : check_statement(archive, member, view, result, err);
    }
    return status;
}

/* Whoever gives a log's key wants the archive to be in that log. */
static rp_status check_logged(const rp_verify_options *options, const rp_verification *result, rp_error *err)
{
    if (options == NULL || options->log_keys == 0)
        return RP_OK;
    for (size_t i = 0; i < result->proofs; i++)
        for (size_t k = 0; k < options->log_keys; k++)
            if (strcmp(result->proof[i].key_id, rp_key_id(options->log_key[k])) == 0)
                return RP_OK;
    if (result->proofs == 0)
        return rp_fail(err, RP_ESIGN, RP_SIGNATURES ": no log's proof: the archive does not show that it is in a log");
    return rp_fail(err, RP_ESIGN, "%s: not signed by a given log key%s", result->proof[0].member,
                   result->proofs > 1 ? ", and no other log's proof is" : "");
}

/* Statements that say "this archive is what I signed". A verdict or an approval says something about it, a rejection
 * too. */
static bool vouches(const rp_verified_statement *one)
{
    return one->kind == RP_STATEMENT_PROVENANCE || one->kind == RP_STATEMENT_ENDORSEMENT;
}

/* The first one by that key, or by any for NULL. */
static const rp_verified_statement *find_voucher(const rp_verified_statement *list, size_t count, const char *key_id)
{
    for (size_t i = 0; i < count; i++)
        if (vouches(&list[i]) && (key_id == NULL || strcmp(list[i].key_id, key_id) == 0))
            return &list[i];
    return NULL;
}

/* An archive may have none: Ed25519 keys make none, and removing one leaves the statements. One by a key that is not
 * trusted must at least go with a statement by that key. */
static rp_status check_bundle(const rp_archive *archive, const rp_trust_view *view, rp_verification *result,
                              rp_error *err)
{
    const rp_member *member = rp_archive_find(archive, RP_OMS_BUNDLE);
    const rp_key *key;
    rp_verified_statement one = {.member = RP_OMS_BUNDLE, .kind = RP_STATEMENT_BUNDLE};
    rp_buffer text = {0};
    rp_status status;

    if (member == NULL)
        return RP_OK;
    status = rp_archive_member_body(archive, member, &text, err);
    if (status == RP_OK)
        status =
            rp_oms_read(&key, one.key_id, &(rp_oms_bundle){text.data, text.size, member->name},
                        &(rp_oms_subject){archive->id, archive->member, archive->members}, view->key, view->keys, err);
    /* a key that counts by a certificate or a hand-over counts here where it counts for a statement */
    if (status == RP_OK && key != NULL && (view->rotations > 0 || !rp_trust_is_direct(view, key)) &&
        find_voucher(result->statement, result->statements, one.key_id) == NULL)
        key = NULL;
    if (status == RP_OK && key == NULL && find_voucher(result->other, result->others, one.key_id) == NULL)
        status = rp_signer_unknown(member->name, one.key_id, view->direct, err);
    if (status == RP_OK && (one.predicate_type = rp_strdup(RP_OMS_TYPE)) == NULL)
        status = rp_no_memory(err);
    if (status == RP_OK) {
        one.key_type = key != NULL ? rp_key_type(key) : NULL;
        status = add_statement(result, &one, err);
    }
    rp_buffer_free(&text);
    return status;
}

/* Before the manifest is parsed: somebody signed this, but nobody who counts here. */
static rp_status check_trusted(const rp_verification *result, const rp_trust_view *view, rp_error *err)
{
    const rp_verified_statement *one = find_voucher(result->other, result->others, NULL);

    if (one == NULL || find_voucher(result->statement, result->statements, NULL) != NULL)
        return RP_OK;
    return rp_trust_refusal(view, result, one->member, one->key_id, err);
}

/* Nobody has signed: not said before the hashes are known to be right, as damage is the graver news. */
static rp_status check_signed(const rp_archive *archive, const rp_verify_options *options,
                              const rp_verification *result, rp_error *err)
{
    bool allow_unsigned = options != NULL && options->allow_unsigned;

    if (find_voucher(result->statement, result->statements, NULL) != NULL ||
        (allow_unsigned && rp_archive_find(archive, RP_OMS_BUNDLE) == NULL))
        return RP_OK;
    return rp_fail(err, RP_ESIGN, RP_RUN_STATEMENT ": missing: nobody has signed this run");
}

static rp_status verify(rp_archive *archive, const rp_key *const *trusted, size_t n_trusted,
                        const rp_verify_options *options, rp_verification *result, rp_error *err)
{
    bool by_policy = options != NULL && options->policy != NULL;
    const rp_trust_store *store = options != NULL ? options->trust : NULL;
    rp_trust_view view;
    rp_status status =
        rp_trust_view_open(&view, archive, trusted, n_trusted, store, by_policy ? options->policy : NULL, err);

    if (status == RP_OK)
        status = check_statements(archive, &view, options, result, err);
    if (status == RP_OK && !by_policy)
        status = check_trusted(result, &view, err);
    if (status == RP_OK)
        status = rp_archive_compare(archive, err);
    if (status == RP_OK)
        status = rp_scopes_check(archive, result, err);
    if (status == RP_OK)
        status = rp_reference_check(archive, err);
    if (status == RP_OK)
        status = rp_recipe_check(archive, err);
    if (status == RP_OK)
        status = check_bundle(archive, &view, result, err);
    if (status == RP_OK && !by_policy)
        status = check_signed(archive, options, result, err);
    if (status == RP_OK && !by_policy)
        status = check_logged(options, result, err);
    if (status == RP_OK)
        status = rp_trust_timestamps(store, archive, result, err);
    rp_trust_view_close(&view);
    if (status != RP_OK)
        return rp_fail_at(err, status, "%s", archive->where);
    memcpy(result->archive_id, archive->id, RP_DIGEST_HEX);
    (void)snprintf(result->kind, sizeof result->kind, "%s", rp_archive_kind(archive));
    (void)snprintf(result->profile, sizeof result->profile, "%s",
                   rp_archive_manifest(archive)->pinned ? "pinned" : "portable");
    rp_archive_pinned_to(archive, &result->pinned);
    if (rp_parent_id(archive))
        memcpy(result->parent, rp_parent_id(archive), RP_DIGEST_HEX);
    result->members = archive->members;
    result->bytes = archive->size;
    return RP_OK;
}

static const rp_key **append(const rp_key **at, const rp_key *const *keys, size_t count)
{
    for (size_t i = 0; i < count; i++)
        *at++ = keys[i];
    return at;
}

/* The first unmet clause is told; all of them to whoever asked for the result. */
static rp_status hold_against(const rp_policy *policy, bool tell, const char *where, rp_verification *result,
                              rp_error *err)
{
    const rp_policy_result *found;
    rp_status status;

    memcpy(result->judged_by, policy->digest, sizeof result->judged_by);
    status = rp_policy_check(policy, result, &result->policy, err);
    found = result->policy;
    if (status != RP_OK || tell || found->unmet == 0)
        return status;
    for (size_t i = 0; i < found->clauses; i++)
        if (!found->clause[i].met)
            return rp_fail(err, RP_ESIGN, "%s: %zu of %zu clauses of the policy %s are not met: %s: %s", where,
                           found->unmet, found->clauses, found->name, found->clause[i].clause, found->clause[i].text);
    return RP_OK;
}

/* The parent's own archive knows better what it is pinned to than the one that started from it. */
static void take_line(rp_pinned_to *child, const rp_verification *parent)
{
    const bool itself = *parent->pinned.run != '\0';

    memcpy(child->line, itself ? parent->pinned.run : parent->pinned.line, sizeof child->line);
    memcpy(child->line_id, itself ? parent->archive_id : parent->pinned.line_id, sizeof child->line_id);
}

/* What the parent's own verification says, if it is the parent's and by this policy. */
static void take_parent(rp_verification *result, const rp_verification *parent, const rp_policy *policy)
{
    result->parent_given = parent != NULL && *result->parent != '\0' &&
                           strcmp(parent->archive_id, result->parent) == 0 &&
                           memcmp(parent->judged_by, policy->digest, sizeof parent->judged_by) == 0;
    if (result->parent_given)
        take_line(&result->pinned, parent);
    result->parent_met = result->parent_given && parent->policy != NULL && parent->policy->unmet == 0;
}

/* The policy's keys count beside the caller's; what must have been signed by whom, its clauses say. */
static rp_status verify_by_policy(rp_archive *archive, const rp_key *const *trusted, size_t n_trusted,
                                  const rp_verify_options *options, rp_verification *result, rp_error *err)
{
    const rp_policy *policy = options->policy;
    rp_verify_options merged = *options;
    size_t n = n_trusted + policy->keys, logs = options->log_keys + policy->log_keys;
    const rp_key **list = rp_calloc(n + logs, sizeof(rp_key *)), **log_list;
    rp_status status;

    if (list == NULL)
        return rp_no_memory(err);
    log_list = append(append(list, trusted, n_trusted), (const rp_key *const *)policy->key, policy->keys);
    (void)append(append(log_list, options->log_key, options->log_keys), policy->log_key, policy->log_keys);
    merged.log_key = log_list;
    merged.log_keys = logs;
    status = verify(archive, list, n, &merged, result, err);
    rp_free(list);
    if (status == RP_OK && (status = check_logged(options, result, err)) != RP_OK)
        status = rp_fail_at(err, status, "%s", archive->where);
    if (status == RP_OK && rp_policy_asks_facts(policy) &&
        (status = rp_run_facts_read(&result->facts, archive, err)) != RP_OK)
        status = rp_fail_at(err, status, "%s", archive->where);
    if (status == RP_OK)
        take_parent(result, options->parent, policy);
    return status == RP_OK ? hold_against(policy, options->tell_unmet, archive->where, result, err) : status;
}

/* Takes scanned, whatever the result. */
static rp_status finish(rp_archive *scanned, const rp_key *const *trusted, size_t n_trusted,
                        const rp_verify_options *options, rp_verification **result, rp_archive **archive, rp_error *err)
{
    rp_verification *made = rp_calloc(1, sizeof *made);
    rp_status status = made ? RP_OK : rp_no_memory(err);

    if (status == RP_OK)
        status = (options != NULL && options->policy != NULL ? verify_by_policy : verify)(scanned, trusted, n_trusted,
                                                                                          options, made, err);

    if (status == RP_OK && result != NULL)
        *result = made;
    else
        rp_verification_free(made);
    if (status == RP_OK && archive != NULL)
        *archive = scanned;
    else
        rp_archive_close(scanned);
    return status;
}

rp_status rp_verify_reader(rp_reader *reader, const char *where, const rp_key *const *trusted, size_t n_trusted,
                           const rp_verify_options *options, rp_verification **result, rp_archive **archive,
                           rp_error *err)
{
    rp_archive *scanned;
    rp_status status;

    if (result != NULL)
        *result = NULL;
    if (archive != NULL)
        *archive = NULL;
    status = reader ? rp_archive_scan(&scanned, reader, where ? where : "archive", err)
                    : rp_no_value(err, __func__, "reader");
    return status == RP_OK ? finish(scanned, trusted, n_trusted, options, result, archive, err) : status;
}

rp_status rp_verify(const char *path, const rp_key *const *trusted, size_t n_trusted, const rp_verify_options *options,
                    rp_verification **result, rp_archive **archive, rp_error *err)
{
    rp_reader reader;
    rp_status status = rp_reader_file(&reader, path, err);

    if (result != NULL)
        *result = NULL;
    if (archive != NULL)
        *archive = NULL;
    return status == RP_OK ? rp_verify_reader(&reader, path, trusted, n_trusted, options, result, archive, err)
                           : status;
}

rp_status rp_verify_memory(const void *bytes, size_t size, const char *where, const rp_key *const *trusted,
                           size_t n_trusted, const rp_verify_options *options, rp_verification **result,
                           rp_archive **archive, rp_error *err)
{
    rp_reader reader = rp_reader_memory(bytes, size);

    return rp_verify_reader(&reader, where, trusted, n_trusted, options, result, archive, err);
}

void rp_verification_free(rp_verification *result)
{
    if (result == NULL)
        return;
    for (size_t i = 0; i < result->statements; i++)
        rp_verified_statement_clear(&result->statement[i]);
    for (size_t i = 0; i < result->others; i++)
        rp_verified_statement_clear(&result->other[i]);
    for (size_t i = 0; i < result->proofs; i++)
        rp_free(result->proof[i].origin);
    for (size_t i = 0; i < result->timestamps; i++) {
        rp_free(result->timestamp[i].authority);
        rp_free(result->timestamp[i].anchor);
        rp_free(result->timestamp[i].note);
    }
    rp_free(result->timestamp);
    rp_policy_result_free(result->policy);
    rp_run_facts_free(result->facts);
    for (size_t i = 0; i < result->certificates; i++) {
        rp_free(result->certificate[i].subject);
        rp_free(result->certificate[i].anchor);
        rp_free(result->certificate[i].note);
    }
    for (size_t i = 0; i < result->standings; i++)
        rp_verified_standing_clear(&result->standing[i]);
    rp_free(result->standing);
    rp_free(result->certificate);
    rp_free(result->statement);
    rp_free(result->other);
    rp_free(result->proof);
    rp_free(result);
}
