/* SPDX-License-Identifier: Apache-2.0
 * What the actions of reprise log do and print. */
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "cli/signing/log.h"
#include "cli/signing/log_predictions.h"
#include "cli/signing/key_files.h"
#include "cli/print.h"
#include "cli/progress.h"

enum { TEXT_LIMIT = 1 << 17 };

static const rp_key *const *keys(const rp_trust *trust)
{
    return (const rp_key *const *)trust->key;
}

/* Whether text can only be meant as an id: a file of such a name is given as ./NAME. */
static bool is_id(const char *text)
{
    return strlen(text) == 2 * RP_DIGEST_SIZE && strspn(text, "0123456789abcdef") == 2 * RP_DIGEST_SIZE;
}

/* The id of an archive that is opened, so that its hashes are right, or the id itself. */
static rp_status find_id(char id[RP_DIGEST_HEX], const char *text, rp_error *err)
{
    rp_archive *archive;
    rp_status status;

    if (is_id(text)) {
        memcpy(id, text, RP_DIGEST_HEX);
        return RP_OK;
    }
    status = rp_archive_open_confirmed(&archive, text, err);
    if (status == RP_OK)
        memcpy(id, rp_archive_id(archive), RP_DIGEST_HEX);
    rp_archive_close(archive);
    return status;
}

static rp_status read_text(rp_buffer *out, const char *path, rp_error *err)
{
    rp_status status = rp_file_read(path, TEXT_LIMIT, out, err);

    return status == RP_EDATA ? rp_fail(err, RP_EFORMAT, "%s: too large for a checkpoint or a proof", path) : status;
}

static void put_head_json(rp_buffer *out, const rp_log_head *head)
{
    char root[RP_DIGEST_HEX];

    rp_digest_hex(root, &head->root);
    rp_put_text(out, "origin", head->origin);
    rp_put_text(out, "root", root);
    rp_put_integer(out, "size", head->size);
}

static void put_log(rp_session *session, const char *folder, const rp_log_head *head)
{
    char root[RP_DIGEST_HEX];

    rp_digest_hex(root, &head->root);
    rp_put_line(session, "log", "%s, %s: %llu entries", folder, head->origin, (unsigned long long)head->size);
    rp_put_line(session, "root", "%s", root);
}

rp_status rp_log_command_init(rp_session *session, const rp_log_request *r, rp_error *err)
{
    rp_key *key = NULL;
    rp_status status = rp_signing_key_load(&key, r->key, r->passphrase, err);

    rp_signals_hold(true);
    if (status == RP_OK)
        status = rp_log_init(r->operand[0], r->origin, key, err);
    rp_signals_hold(false);
    if (status == RP_OK && session->json) {
        rp_put_open(&session->out, NULL, '{');
        rp_put_text(&session->out, "key_id", rp_key_id(key));
        rp_put_text(&session->out, "origin", r->origin);
        rp_put_text(&session->out, "path", r->operand[0]);
        rp_put_close(&session->out, '}');
    } else if (status == RP_OK) {
        rp_put_line(session, "log", "%s, %s: begun, empty", r->operand[0], r->origin);
        rp_put_line(session, "signed", "by key %s (%s)", rp_key_id(key), rp_key_type(key));
    }
    rp_key_free(key);
    return status;
}

static void put_added(rp_session *session, const rp_log_request *r, const char *id, uint64_t index, bool added)
{
    if (session->json) {
        rp_put_open(&session->out, NULL, '{');
        rp_put_bool(&session->out, "added", added);
        rp_put_text(&session->out, "archive_id", id);
        rp_put_integer(&session->out, "index", index);
        rp_put_text(&session->out, "path", r->operand[0]);
        rp_put_close(&session->out, '}');
        return;
    }
    rp_put_line(session, added ? "added" : "there", "%s: entry %llu%s", r->operand[1], (unsigned long long)index,
                added ? "" : " since an earlier add");
    rp_put_line(session, "archive", "%s", id);
    rp_put_line(session, "log", "%s", r->operand[0]);
}

rp_status rp_log_command_add(rp_session *session, const rp_log_request *r, rp_error *err)
{
    rp_key *key = NULL;
    rp_archive *archive = NULL;
    rp_verification *verified = NULL;
    uint64_t index = 0;
    bool added = false;
    rp_status status = rp_signing_key_load(&key, r->key, r->passphrase, err);

    if (status == RP_OK)
        status = rp_archive_open_trusted(&archive, &verified, r->operand[1], &r->trust, err);
    if (status == RP_OK)
        status = rp_log_add(r->operand[0], archive, key, &index, &added, err);
    if (status == RP_OK)
        put_added(session, r, rp_archive_id(archive), index, added);
    rp_verification_free(verified);
    rp_archive_close(archive);
    rp_key_free(key);
    return status;
}

static rp_status open_log(rp_run_log **log, rp_trust *trust, const rp_log_request *r, rp_error *err)
{
    rp_status status = rp_trust_load(trust, &r->trust, err);

    *log = NULL;
    return status == RP_OK ? rp_log_open(log, r->operand[0], keys(trust), trust->count, err) : status;
}

/* To -o FILE, or on stdout; a JSON object holds the text itself where there is no file. */
static rp_status put_proof(rp_session *session, const rp_log_request *r, const char *text, rp_error *err)
{
    rp_status status = r->out ? rp_file_save(r->out, text, strlen(text), r->force, 0644, err) : RP_OK;

    if (status == RP_OK && session->json) {
        rp_put_open(&session->out, NULL, '{');
        rp_put_text(&session->out, "path", r->out);
        rp_put_text(&session->out, "proof", text);
        rp_put_close(&session->out, '}');
    } else if (status == RP_OK && r->out) {
        rp_put_line(session, "written", "%s", r->out);
    } else if (status == RP_OK) {
        rp_buffer_text(&session->out, text);
    }
    return status;
}

static rp_status prove_archive(const rp_run_log *log, const rp_log_request *r, char **out, rp_error *err)
{
    char id[RP_DIGEST_HEX];
    uint64_t index;
    rp_status status = find_id(id, r->operand[1], err);

    if (status == RP_OK && !rp_log_find(log, id, &index))
        status = rp_fail(err, RP_EHASH, "%s: archive %s is not in this log of %llu entries", r->operand[0], id,
                         (unsigned long long)rp_log_state(log)->size);
    return status == RP_OK ? rp_log_prove(log, index, out, err) : status;
}

rp_status rp_log_command_prove(rp_session *session, const rp_log_request *r, rp_error *err)
{
    rp_trust trust = {.count = 0};
    rp_run_log *log = NULL;
    char *text = NULL;
    rp_status status = open_log(&log, &trust, r, err);

    if (status == RP_OK)
        status = rp_log_has_predictions(log) && !is_id(r->operand[1])
                     ? rp_log_prove_file(log, r->operand[1], &text, err)
                     : prove_archive(log, r, &text, err);
    if (status == RP_OK)
        status = put_proof(session, r, text, err);
    rp_text_free(text);
    rp_log_close(log);
    rp_trust_free(&trust);
    return status;
}

rp_status rp_log_command_consistency(rp_session *session, const rp_log_request *r, rp_error *err)
{
    rp_trust trust = {.count = 0};
    rp_run_log *log = NULL;
    rp_buffer old = {0};
    char *text = NULL;
    rp_status status = read_text(&old, r->operand[1], err);

    if (status == RP_OK)
        status = open_log(&log, &trust, r, err);
    if (status == RP_OK)
        status = rp_log_prove_consistency(log, (const char *)old.data, old.size, r->operand[1], keys(&trust),
                                          trust.count, &text, err);
    if (status == RP_OK)
        status = put_proof(session, r, text, err);
    rp_text_free(text);
    rp_buffer_free(&old);
    rp_log_close(log);
    rp_trust_free(&trust);
    return status;
}

static void put_unfinished(rp_session *session, const rp_run_log *log)
{
    if (rp_log_unfinished(log) > 0)
        rp_put_line(session, "unfinished",
                    "%llu bytes of an add that did not end; no entry, the next add cuts them off",
                    (unsigned long long)rp_log_unfinished(log));
}

rp_status rp_log_command_verify(rp_session *session, const rp_log_request *r, rp_error *err)
{
    rp_trust trust = {.count = 0};
    rp_run_log *log = NULL;
    rp_status status = open_log(&log, &trust, r, err);
    const bool predictions = status == RP_OK && rp_log_has_predictions(log);

    if (predictions)
        status = rp_log_predictions(log, NULL, NULL, err);
    if (status == RP_OK && session->json) {
        rp_put_open(&session->out, NULL, '{');
        rp_put_text(&session->out, "key_id", rp_log_signer(log));
        rp_put_text(&session->out, "kind", predictions ? "predictions" : "runs");
        put_head_json(&session->out, rp_log_state(log));
        rp_put_integer(&session->out, "unfinished", rp_log_unfinished(log));
        rp_put_bool(&session->out, "verified", true);
        rp_put_close(&session->out, '}');
    } else if (status == RP_OK) {
        rp_put_verdict(session, true, "verified", "every entry is under the signed root%s",
                       predictions ? ", and every record of a prediction under its entry" : "");
        put_log(session, r->operand[0], rp_log_state(log));
        rp_put_line(session, "signed", "by key %s", rp_log_signer(log));
        put_unfinished(session, log);
    }
    rp_log_close(log);
    rp_trust_free(&trust);
    return status;
}

rp_status rp_log_command_list(rp_session *session, const rp_log_request *r, rp_error *err)
{
    rp_trust trust = {.count = 0};
    rp_run_log *log = NULL;
    const rp_digest *entry;
    char id[RP_DIGEST_HEX];
    rp_status status = open_log(&log, &trust, r, err);

    if (status == RP_OK && session->json) {
        rp_put_open(&session->out, NULL, '{');
        rp_put_open(&session->out, "entries", '[');
    }
    for (uint64_t i = 0; status == RP_OK && (entry = rp_log_entry(log, i)) != NULL; i++) {
        rp_digest_hex(id, entry);
        if (session->json)
            rp_put_text(&session->out, NULL, id);
        else if (!rp_log_has_predictions(log))
            rp_buffer_printf(&session->out, "%llu %s\n", (unsigned long long)i, id);
    }
    if (status == RP_OK && !session->json && rp_log_has_predictions(log))
        status = rp_log_list_predictions(session, log, err);
    if (status == RP_OK && session->json) {
        rp_put_close(&session->out, ']');
        if (rp_log_has_predictions(log)) {
            rp_put_open(&session->out, "predictions", '[');
            status = rp_log_list_predictions(session, log, err);
            rp_put_close(&session->out, ']');
        }
        put_head_json(&session->out, rp_log_state(log));
        rp_put_close(&session->out, '}');
    }
    rp_log_close(log);
    rp_trust_free(&trust);
    return status;
}

static rp_status check_growth(rp_session *session, const rp_log_request *r, const rp_buffer *proof,
                              const rp_trust *trust, rp_error *err)
{
    rp_buffer old = {0};
    rp_log_head was, is;
    rp_status status = read_text(&old, r->operand[0], err);

    if (status == RP_OK)
        status = rp_log_check_consistency(&was, &is, &(rp_log_text){(const char *)proof->data, proof->size, r->proof},
                                          &(rp_log_text){(const char *)old.data, old.size, r->operand[0]}, keys(trust),
                                          trust->count, err);
    if (status == RP_OK && session->json) {
        rp_put_open(&session->out, NULL, '{');
        rp_put_text(&session->out, "kind", "consistency");
        rp_put_integer(&session->out, "old_size", was.size);
        put_head_json(&session->out, &is);
        rp_put_bool(&session->out, "verified", true);
        rp_put_close(&session->out, '}');
    } else if (status == RP_OK) {
        rp_put_verdict(session, true, "consistent", "the log of %llu entries begins with the %llu of %s",
                       (unsigned long long)is.size, (unsigned long long)was.size, r->operand[0]);
        rp_put_line(session, "log", "%s", is.origin);
    }
    rp_buffer_free(&old);
    return status;
}

static rp_status check_inclusion(rp_session *session, const rp_log_request *r, const rp_buffer *proof,
                                 const rp_trust *trust, rp_error *err)
{
    char id[RP_DIGEST_HEX];
    rp_log_inclusion found;
    rp_status status = find_id(id, r->operand[0], err);

    if (status == RP_OK)
        status =
            rp_log_check(&found, (const char *)proof->data, proof->size, r->proof, id, keys(trust), trust->count, err);
    if (status == RP_OK && session->json) {
        rp_put_open(&session->out, NULL, '{');
        rp_put_text(&session->out, "archive_id", id);
        rp_put_integer(&session->out, "index", found.index);
        rp_put_text(&session->out, "key_id", found.key_id);
        rp_put_text(&session->out, "kind", "inclusion");
        put_head_json(&session->out, &found.head);
        rp_put_bool(&session->out, "verified", true);
        rp_put_close(&session->out, '}');
    } else if (status == RP_OK) {
        rp_put_verdict(session, true, "logged", "%s: entry %llu of %llu", r->operand[0],
                       (unsigned long long)found.index, (unsigned long long)found.head.size);
        rp_put_line(session, "archive", "%s", id);
        rp_put_line(session, "log", "%s, signed by key %s", found.head.origin, found.key_id);
    }
    return status;
}

rp_status rp_log_command_check(rp_session *session, const rp_log_request *r, rp_error *err)
{
    static const char old[] = "old ";
    rp_trust trust = {.count = 0};
    rp_buffer proof = {0};
    rp_status status = rp_trust_load(&trust, &r->trust, err);

    if (status == RP_OK)
        status = read_text(&proof, r->proof, err);
    if (status == RP_OK && proof.size >= sizeof old - 1 && memcmp(proof.data, old, sizeof old - 1) == 0)
        status = check_growth(session, r, &proof, &trust, err);
    else if (status == RP_OK && rp_log_proves_prediction(&proof))
        status = rp_log_check_file(session, r->operand[0],
                                   &(rp_log_text){(const char *)proof.data, proof.size, r->proof}, &trust, err);
    else if (status == RP_OK)
        status = check_inclusion(session, r, &proof, &trust, err);
    rp_buffer_free(&proof);
    rp_trust_free(&trust);
    return status;
}

/* Only a proof of this archive goes in; whose it is, verify asks. */
rp_status rp_log_command_attach(rp_session *session, const rp_log_request *r, rp_error *err)
{
    rp_buffer proof = {0};
    rp_log_inclusion found;
    char id[RP_DIGEST_HEX], member[RP_MEMBER_NAME];
    rp_status status = read_text(&proof, r->proof, err);

    if (status == RP_OK)
        status = find_id(id, r->operand[0], err);
    if (status == RP_OK)
        status = rp_log_check(&found, (const char *)proof.data, proof.size, r->proof, id, NULL, 0, err);
    if (status == RP_OK)
        status = rp_log_member(member, found.head.origin, err);
    if (status == RP_OK)
        status = rp_archive_add_statement(r->operand[0], member, proof.data, proof.size, r->force, err);
    if (status == RP_OK && session->json) {
        rp_put_open(&session->out, NULL, '{');
        rp_put_text(&session->out, "archive_id", id);
        rp_put_text(&session->out, "member", member);
        rp_put_text(&session->out, "path", r->operand[0]);
        rp_put_close(&session->out, '}');
    } else if (status == RP_OK) {
        rp_put_line(session, "attached", "%s: %s", r->operand[0], member);
        rp_put_line(session, "log", "%s: entry %llu of %llu; reprise verify --log-key checks who signed",
                    found.head.origin, (unsigned long long)found.index, (unsigned long long)found.head.size);
    }
    rp_buffer_free(&proof);
    return status;
}
