/* SPDX-License-Identifier: Apache-2.0
 * Reading hand-overs. The text is a DSSE envelope like a statement's, but its subject is a key, so none can
 * pass for the other. */
#include "audit/sign/rotation.h"

#include <string.h>

#include "audit/digest/digest.h"
#include "audit/sign/dsse.h"
#include "audit/sign/utc_time.h"
#include "base/memory.h"
#include "rp/trust.h"

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
