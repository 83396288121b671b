/* SPDX-License-Identifier: Apache-2.0
 * Signing statements about a finished archive and adding them to it (rp/statement.h). */
#include <string.h>
#include <time.h>

#include "audit/archive/archive_private.h"
#include "audit/statements/oms.h"
#include "audit/statements/statement.h"
#include "base/handle.h"
#include "base/memory.h"
#include "rp/trust.h"

/* The member's name follows from its bytes. */
static rp_status sign(rp_added *out, rp_buffer *text, rp_statement_kind kind, const char *archive_id, const rp_key *key,
                      const rp_json *predicate, rp_error *err)
{
    rp_digest body;
    unsigned char id[RP_DIGEST_SIZE];
    rp_status status;

    if (!rp_unhex(id, sizeof id, archive_id))
        return rp_fail(err, RP_EARG, "%.64s is not an archive id: expected 64 lowercase hex digits", archive_id);
    status = rp_statement_write(text, key, archive_id, rp_statement_type(kind), predicate, err);
    if (status == RP_OK)
        status = rp_sha256(&body, text->data, text->size, err);
    if (status != RP_OK)
        return status;
    rp_statement_member(out->member.name, kind, rp_key_id(key), &body);
    out->member.size = text->size;
    out->bytes = text->data;
    return RP_OK;
}

/* The key's certificates go with what it signs. */
static size_t add_certificates(rp_added *out, const rp_key *key)
{
    const rp_buffer *text = rp_key_certificates(key);

    if (text == NULL)
        return 0;
    rp_certificate_member(out->member.name, rp_key_id(key));
    out->member.size = text->size;
    out->bytes = text->data;
    out->once = true;
    return 1;
}

rp_status rp_statement_add(const char *path, rp_statement_kind kind, const char *archive_id, const rp_key *key,
                           const rp_json *predicate, char member[RP_MEMBER_NAME], rp_error *err)
{
    rp_buffer text = {0};
    rp_added added[2] = {{.bytes = NULL}, {.bytes = NULL}};
    size_t n = add_certificates(added, key);
    rp_status status = sign(&added[n], &text, kind, archive_id, key, predicate, err);

    if (status == RP_OK)
        status = rp_archive_add_members(path, archive_id, added, n + 1, false, err);
    if (status == RP_OK && member != NULL)
        memcpy(member, added[n].member.name, RP_MEMBER_NAME);
    rp_buffer_free(&text);
    return status;
}

rp_status rp_archive_approve(const char *path, const char *archive_id, const rp_approval *approval, const rp_key *key,
                             char member[RP_MEMBER_NAME], rp_error *err)
{
    if (!key)
        return rp_no_handle(err, __func__, "key");

    rp_json *predicate;
    rp_status status = rp_approval_write(&predicate, approval, time(NULL), err);

    if (status == RP_OK)
        status = rp_statement_add(path, RP_STATEMENT_APPROVAL, archive_id, key, predicate, member, err);
    rp_json_free(predicate);
    return status;
}

rp_status rp_archive_add_finding(const char *path, const char *archive_id, const rp_stated_finding *finding,
                                 const rp_key *key, char member[RP_MEMBER_NAME], rp_error *err)
{
    if (!key)
        return rp_no_handle(err, __func__, "key");

    rp_json *predicate;
    rp_status status = rp_finding_write(&predicate, finding, time(NULL), err);

    if (status == RP_OK)
        status = rp_statement_add(path, RP_STATEMENT_FINDING, archive_id, key, predicate, member, err);
    rp_json_free(predicate);
    return status;
}

/* The bundle is over the members of the archive that is at path now: nothing is signed unless that is the one that was
 * asked for. */
static rp_status make_bundle(rp_added *out, rp_buffer *text, const char *path, const char *archive_id,
                             const rp_key *key, rp_error *err)
{
    rp_archive *archive;
    rp_status status = rp_archive_open(&archive, path, err);

    if (status == RP_OK && strcmp(rp_archive_id(archive), archive_id) != 0)
        status = rp_fail(err, RP_EHASH, "%s: is now the archive %.64s, not %.64s: nothing was signed", path,
                         rp_archive_id(archive), archive_id);
    if (status == RP_OK && rp_archive_find(archive, RP_OMS_BUNDLE) == NULL) {
        status = rp_oms_write(text, key, archive->id, archive->member, archive->members, err);
        memcpy(out->member.name, RP_OMS_BUNDLE, sizeof RP_OMS_BUNDLE);
        out->member.size = text->size;
        out->bytes = text->data;
        out->once = true; /* another who signs at this moment may have brought one */
    }
    rp_archive_close(archive);
    return status;
}

rp_status rp_archive_endorse(const char *path, const char *archive_id, const rp_key *key, char member[RP_MEMBER_NAME],
                             rp_error *err)
{
    if (!key)
        return rp_no_handle(err, __func__, "key");

    char now[RP_TIME_TEXT];
    rp_buffer text = {0}, bundle = {0};
    rp_added added[3] = {{.bytes = NULL}, {.bytes = NULL}, {.bytes = NULL}};
    size_t n = add_certificates(added, key);
    rp_json *predicate;
    rp_status status;

    rp_time_write(now, time(NULL));
    predicate = rp_json_pack("{s:s}", "time", now);
    status = predicate ? sign(&added[n], &text, RP_STATEMENT_ENDORSEMENT, archive_id, key, predicate, err)
                       : rp_no_memory(err);
    if (status == RP_OK && rp_key_is_ecdsa(key))
        status = make_bundle(&added[n + 1], &bundle, path, archive_id, key, err);
    if (status == RP_OK)
        status = rp_archive_add_members(path, archive_id, added, n + (added[n + 1].bytes != NULL ? 2 : 1), false, err);
    if (status == RP_OK && member != NULL)
        memcpy(member, added[n].member.name, RP_MEMBER_NAME);
    rp_json_free(predicate);
    rp_buffer_free(&text);
    rp_buffer_free(&bundle);
    return status;
}

/* ---- an archive that is being written ---- */

/* With the run's statement comes the bundle for public verifiers, where they know the kind of key. Statements of
 * others, a rejection for instance, must not look like a signature on the model. */
static rp_status attach_bundle(rp_archive_writer *writer, const rp_key *key, rp_error *err)
{
    rp_buffer text = {0};
    rp_status status = rp_oms_write(&text, key, rp_archive_writer_id(writer), rp_archive_writer_member(writer, 0),
                                    rp_archive_writer_member_count(writer), err);

    if (status == RP_OK)
        status = rp_archive_writer_attach(writer, RP_OMS_BUNDLE, text.data, text.size, err);
    rp_buffer_free(&text);
    return status;
}

static rp_status attach_certificates(rp_archive_writer *writer, const rp_key *key, rp_error *err)
{
    const rp_buffer *text = rp_key_certificates(key);
    char name[RP_MEMBER_NAME];

    if (text == NULL)
        return RP_OK;
    rp_certificate_member(name, rp_key_id(key));
    return rp_archive_writer_find(writer, name) == NULL
               ? rp_archive_writer_attach(writer, name, text->data, text->size, err)
               : RP_OK;
}

rp_status rp_archive_writer_sign(rp_archive_writer *writer, const char *member, const rp_key *key,
                                 const char *predicate_type, const rp_json *predicate, rp_error *err)
{
    rp_buffer text = {0};
    rp_status status;

    if (rp_archive_writer_id(writer) == NULL)
        return rp_fail(err, RP_EARG, "%.100s: the manifest must be finished before it is signed", member);
    if (!rp_statement_name_valid(member))
        return rp_fail(err, RP_EARG, "%.100s: a statement is called signatures/NAME.dsse.json", member);
    status = rp_statement_write(&text, key, rp_archive_writer_id(writer), predicate_type, predicate, err);
    if (status == RP_OK)
        status = rp_archive_writer_attach(writer, member, text.data, text.size, err);
    rp_buffer_free(&text);
    if (status == RP_OK)
        status = attach_certificates(writer, key, err);
    if (status == RP_OK && strcmp(member, RP_RUN_STATEMENT) == 0 && rp_key_is_ecdsa(key))
        status = attach_bundle(writer, key, err);
    return status;
}
