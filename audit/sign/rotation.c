/* SPDX-License-Identifier: Apache-2.0
 * Writing and reading hand-overs. The text is a DSSE envelope like a statement's, but its subject is a key, so none can
 * pass for the other. */
#include "audit/sign/rotation.h"

#include <string.h>

#include "audit/digest/digest.h"
#include "audit/sign/dsse.h"
#include "audit/sign/utc_time.h"
#include "base/memory.h"
#include "rp/trust.h"

rp_status rp_key_rotation(const rp_key *old, const rp_key *successor, int64_t from, char **text, rp_error *err)
{
    char time[RP_MOMENT_TEXT];
    rp_buffer pem = {0}, payload = {0}, out = {0};
    rp_json *json = NULL, *envelope = NULL;
    rp_status status;

    *text = NULL;
    if (strcmp(rp_key_id(old), rp_key_id(successor)) == 0)
        return rp_fail(err, RP_EARG, "rotation: key %s cannot succeed itself", rp_key_id(old));
    if (*rp_moment_text(time, from) == '?')
        return rp_fail(err, RP_EARG, "rotation: a time before 1970 or after 9999");
    status = rp_key_public_text(successor, &pem, err);
    rp_buffer_u8(&pem, 0);
    if (status == RP_OK && !pem.failed)
        json = rp_json_pack("{s:s, s:{s:s, s:s}, s:s, s:[{s:{s:s}, s:s}]}", "_type", RP_STATEMENT_TYPE, "predicate",
                            "from", time, "key", (char *)pem.data, "predicateType", RP_ROTATION_TYPE, "subject",
                            "digest", "sha256", rp_key_id(successor), "name", "key");
    if (status == RP_OK)
        status = json != NULL ? rp_json_write(json, &payload, err) : rp_no_memory(err);
    if (status == RP_OK)
        status = rp_envelope_make(&envelope, old, payload.data, payload.size, err);
    if (status == RP_OK)
        status = rp_json_write(envelope, &out, err);
    rp_buffer_u8(&out, 0);
    if (status == RP_OK)
        status = rp_buffer_status(&out, err);
    if (status == RP_OK) {
        *text = (char *)out.data;
        memset(&out, 0, sizeof out);
    }
    rp_json_free(json);
    rp_json_free(envelope);
    rp_buffer_free(&pem);
    rp_buffer_free(&payload);
    rp_buffer_free(&out);
    return status;
}

static const char *text_of(const rp_json *object, const char *key)
{
    return rp_json_string_value(rp_json_object_get(object, key));
}

/* The key's text must be the one its id is of, so that a hand-over has one text. */
static rp_status read_key(rp_rotation *out, const char *pem, const char *id, const char *where, rp_error *err)
{
    rp_digest digest;
    char hex[RP_DIGEST_HEX];
    rp_status status = rp_key_public_from_pem(&out->successor, pem, strlen(pem), where, err);

    if (status == RP_OK)
        status = rp_sha256(&digest, pem, strlen(pem), err);
    if (status == RP_OK) {
        rp_digest_hex(hex, &digest);
        if (strcmp(hex, rp_key_id(out->successor)) != 0 || strcmp(hex, id) != 0)
            status = rp_fail(err, RP_ESIGN, "%s: the new key is not the one whose id it names", where);
    }
    return status == RP_EARG ? rp_fail(err, RP_ESIGN, "%s: the new key is not one that can be trusted", where) : status;
}

static rp_status read_payload(rp_rotation *out, const rp_json *payload, const char *where, rp_error *err)
{
    const rp_json *predicate = rp_json_object_get(payload, "predicate"), *list = rp_json_object_get(payload, "subject");
    const rp_json *subject = rp_json_array_get(list, 0), *digest = rp_json_object_get(subject, "digest");
    const char *type = text_of(payload, "_type"), *kind = text_of(payload, "predicateType"),
               *name = text_of(subject, "name");
    const char *from = text_of(predicate, "from"), *pem = text_of(predicate, "key"), *id = text_of(digest, "sha256");

    if (type == NULL || kind == NULL || name == NULL || id == NULL || strcmp(type, RP_STATEMENT_TYPE) != 0 ||
        strcmp(kind, RP_ROTATION_TYPE) != 0 || strcmp(name, "key") != 0 || rp_json_object_size(payload) != 4 ||
        rp_json_array_size(list) != 1 || rp_json_object_size(subject) != 2 || rp_json_object_size(digest) != 1)
        return rp_fail(err, RP_ESIGN, "%s: not a hand-over of a key (%s)", where, RP_ROTATION_TYPE);
    if (rp_json_object_size(predicate) != 2 || from == NULL || pem == NULL || !rp_moment_parse(&out->from, from))
        return rp_fail(err, RP_ESIGN, "%s: a hand-over says exactly from when, and the new key", where);
    return read_key(out, pem, id, where, err);
}

rp_status rp_rotation_read(rp_rotation *out, const rp_key **by, const void *bytes, size_t size, const char *where,
                           const rp_key *const *trusted, size_t n_trusted, rp_error *err)
{
    rp_json *json = NULL, *payload = NULL;
    rp_buffer text = {0};
    const char *signer;
    unsigned char id[RP_DIGEST_SIZE];
    rp_status status;

    memset(out, 0, sizeof *out);
    *by = NULL;
    if (size > RP_ROTATION_LIMIT)
        return rp_fail(err, RP_ESIGN, "%s: %zu bytes, at most %d are allowed", where, size, (int)RP_ROTATION_LIMIT);
    status = rp_signed_json_parse(&json, bytes, size, where, err);
    if (status == RP_OK)
        status = rp_envelope_read(json, &text, by, &signer, where, trusted, n_trusted, err);
    if (status == RP_OK && !rp_unhex(id, sizeof id, signer))
        status = rp_fail(err, RP_ESIGN, "%s: its signer's id is not one", where);
    if (status == RP_OK) {
        memcpy(out->old_id, signer, RP_DIGEST_HEX);
        status = rp_signed_json_parse(&payload, text.data, text.size, where, err);
    }
    if (status == RP_OK)
        status = read_payload(out, payload, where, err);
    if (status == RP_OK && strcmp(out->old_id, rp_key_id(out->successor)) == 0)
        status = rp_fail(err, RP_ESIGN, "%s: a key cannot succeed itself", where);
    rp_json_free(json);
    rp_json_free(payload);
    rp_buffer_free(&text);
    return status;
}

void rp_rotation_clear(rp_rotation *rotation)
{
    rp_key_free(rotation->successor);
    memset(rotation, 0, sizeof *rotation);
}
