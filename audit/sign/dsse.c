/* SPDX-License-Identifier: Apache-2.0
 * DSSE envelopes and in-toto statements (FORMAT.md 5). Everything that has two encodings, base64, JSON and DER, is
 * decoded, encoded again and compared. */
#include "audit/sign/dsse.h"

#include <openssl/evp.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

/* DSSE v1: the bytes that are signed. */
rp_status rp_envelope_bytes(rp_buffer *out, const void *payload, size_t size, rp_error *err)
{
    rp_buffer_printf(out, "DSSEv1 %zu %s %zu ", strlen(RP_PAYLOAD_TYPE), RP_PAYLOAD_TYPE, size);
    rp_buffer_append(out, payload, size);
    return rp_buffer_status(out, err);
}

/* NUL-terminated standard base64. */
rp_status rp_base64_write(rp_buffer *out, const void *bytes, size_t size, rp_error *err)
{
    size_t length = (size + 2) / 3 * 4;

    if (size > RP_ENVELOPE_LIMIT)
        return rp_fail(err, RP_EARG, "envelope: %zu bytes, at most %d are allowed", size, (int)RP_ENVELOPE_LIMIT);
    rp_buffer_free(out);
    out->data = rp_malloc(length + 1);
    if (out->data == NULL)
        return rp_no_memory(err);
    out->size = out->capacity = length + 1;
    out->data[EVP_EncodeBlock(out->data, bytes, (int)size)] = '\0';
    return RP_OK;
}

static rp_status malformed(rp_error *err, const char *where, const char *what)
{
    return rp_fail(err, RP_ESIGN, "%s: %s", where, what);
}

rp_status rp_signed_json_parse(rp_json **out, const void *bytes, size_t size, const char *where, rp_error *err)
{
    rp_status status = rp_json_parse(out, bytes, size, true, where, err);

    if (status == RP_EFORMAT) {
        status = RP_ESIGN;
        if (err != NULL)
            err->status = status;
    }
    return status;
}

/* The text of a string member that holds no NUL; else NULL. */
static const char *text_of(const rp_json *object, const char *key)
{
    const rp_json *value = rp_json_object_get(object, key);
    const char *text = rp_json_string_value(value);

    return text != NULL && strlen(text) == rp_json_string_length(value) ? text : NULL;
}

static rp_status base64_read(rp_buffer *out, const char *text, const char *where, const char *what, rp_error *err)
{
    size_t length = strlen(text), padding = 0;
    rp_buffer again = {0};
    rp_status status = RP_OK;
    int size;

    if (length == 0 || length % 4 != 0 || length > RP_ENVELOPE_LIMIT)
        return rp_fail(err, RP_ESIGN, "%s: %s is not base64", where, what);
    while (padding < 2 && text[length - 1 - padding] == '=')
        padding++;
    out->data = rp_malloc(length / 4 * 3);
    if (out->data == NULL)
        return rp_no_memory(err);
    size = EVP_DecodeBlock(out->data, (const unsigned char *)text, (int)length);
    if (size == (int)(length / 4 * 3)) {
        out->size = out->capacity = (size_t)size - padding;
        status = rp_base64_write(&again, out->data, out->size, err);
    }
    if (status == RP_OK && (again.data == NULL || strcmp((const char *)again.data, text) != 0))
        status = rp_fail(err, RP_ESIGN, "%s: %s is not base64 in its one form", where, what);
    rp_buffer_free(&again);
    return status;
}

static const rp_key *find_key(const char *key_id, const rp_key *const *trusted, size_t n_trusted)
{
    for (size_t i = 0; i < n_trusted; i++)
        if (strcmp(rp_key_id(trusted[i]), key_id) == 0)
            return trusted[i];
    return NULL;
}

rp_status rp_signer_unknown(const char *where, const char *key_id, size_t n_trusted, rp_error *err)
{
    char shown[80];

    return rp_fail(err, RP_ESIGN,
                   "%s: signed by key %s, which is not among the %zu trusted: trust its public key, "
                   "or do not trust the archive",
                   where, rp_printable(shown, sizeof shown, key_id, strlen(key_id)), n_trusted);
}

rp_status rp_envelope_read(const rp_json *json, rp_buffer *payload, const rp_key **key, const char **signer,
                           const char *where, const rp_key *const *trusted, size_t n_trusted, rp_error *err)
{
    const rp_json *list = rp_json_object_get(json, "signatures"), *one = rp_json_array_get(list, 0);
    const char *payload64 = text_of(json, "payload"), *type = text_of(json, "payloadType");
    const char *key_id = text_of(one, "keyid"), *signature64 = text_of(one, "sig");
    rp_buffer message = {0}, signature = {0};
    rp_status status;

    if (payload64 == NULL || type == NULL || !rp_json_is_array(list) || rp_json_object_size(json) != 3)
        return malformed(err, where, "not a DSSE envelope of payload, payloadType and signatures");
    if (rp_json_array_size(list) != 1 || key_id == NULL || signature64 == NULL || rp_json_object_size(one) != 2)
        return malformed(err, where, "expected exactly one signature of keyid and sig");
    if (strcmp(type, RP_PAYLOAD_TYPE) != 0)
        return malformed(err, where, "payloadType is not " RP_PAYLOAD_TYPE);
    *signer = key_id;
    *key = find_key(key_id, trusted, n_trusted);
    if ((status = base64_read(payload, payload64, where, "payload", err)) == RP_OK &&
        (status = base64_read(&signature, signature64, where, "sig", err)) == RP_OK && *key != NULL &&
        (status = rp_envelope_bytes(&message, payload->data, payload->size, err)) == RP_OK) {
        status = rp_key_check(*key, message.data, message.size, signature.data, signature.size, err);
        if (status != RP_OK)
            status = rp_fail_at(err, status, "%s", where);
    }
    rp_buffer_free(&message);
    rp_buffer_free(&signature);
    return status;
}

rp_status rp_envelope_open(const rp_json *json, rp_buffer *payload, const rp_key **key, const char *where,
                           const rp_key *const *trusted, size_t n_trusted, rp_error *err)
{
    const char *signer;
    rp_status status = rp_envelope_read(json, payload, key, &signer, where, trusted, n_trusted, err);

    return status == RP_OK && *key == NULL ? rp_signer_unknown(where, signer, n_trusted, err) : status;
}

/* The form is strict even where a trusted key has signed it, as a later reader relies on it. */
static rp_status read_statement(rp_statement *out, const char *where, rp_error *err)
{
    const rp_json *list = rp_json_object_get(out->payload, "subject"), *subject = rp_json_array_get(list, 0);
    const rp_json *digest = rp_json_object_get(subject, "digest");
    const char *type = text_of(out->payload, "_type"), *name = text_of(subject, "name");
    unsigned char bytes[RP_DIGEST_SIZE];

    out->predicate_type = text_of(out->payload, "predicateType");
    out->subject = text_of(digest, "sha256");
    if (type == NULL || strcmp(type, RP_STATEMENT_TYPE) != 0 || out->predicate_type == NULL ||
        !rp_json_is_object(rp_json_object_get(out->payload, "predicate")) || rp_json_object_size(out->payload) != 4 ||
        strlen(out->predicate_type) > RP_PREDICATE_TYPE_LIMIT)
        return malformed(err, where, "the payload is not an in-toto Statement v1");
    if (rp_json_array_size(list) != 1 || rp_json_object_size(subject) != 2 || rp_json_object_size(digest) != 1 ||
        name == NULL || strcmp(name, RP_STATEMENT_SUBJECT) != 0 || out->subject == NULL ||
        !rp_unhex(bytes, sizeof bytes, out->subject))
        return malformed(err, where, "its one subject is not " RP_STATEMENT_SUBJECT " with a SHA-256");
    return RP_OK;
}

/* The envelope's key id is copied: a hash in hex, whoever's it is. */
static rp_status read_envelope(rp_statement *out, const rp_json *json, rp_buffer *payload, const char *where,
                               const rp_key *const *trusted, size_t n_trusted, rp_error *err)
{
    unsigned char bytes[RP_DIGEST_SIZE];
    const char *signer;
    rp_status status = rp_envelope_read(json, payload, &out->key, &signer, where, trusted, n_trusted, err);

    if (status == RP_OK && !rp_unhex(bytes, sizeof bytes, signer))
        status = rp_signer_unknown(where, signer, n_trusted, err);
    if (status == RP_OK)
        memcpy(out->key_id, signer, RP_DIGEST_HEX);
    return status;
}

rp_status rp_statement_read(rp_statement *out, const void *bytes, size_t size, const char *where,
                            const rp_key *const *trusted, size_t n_trusted, rp_error *err)
{
    rp_buffer payload = {0};
    rp_json *json = NULL;
    rp_status status;

    memset(out, 0, sizeof *out);
    if (size > RP_STATEMENT_LIMIT)
        return rp_fail(err, RP_ESIGN, "%s: %zu bytes, at most %d are allowed", where, size, (int)RP_STATEMENT_LIMIT);
    if ((status = rp_signed_json_parse(&json, bytes, size, where, err)) == RP_OK &&
        (status = read_envelope(out, json, &payload, where, trusted, n_trusted, err)) == RP_OK &&
        (status = rp_signed_json_parse(&out->payload, payload.data, payload.size, where, err)) == RP_OK)
        status = read_statement(out, where, err);
    rp_json_free(json);
    rp_buffer_free(&payload);
    if (status != RP_OK)
        rp_statement_clear(out);
    return status;
}

rp_status rp_statement_check(rp_statement *out, const void *bytes, size_t size, const char *where,
                             const rp_key *const *trusted, size_t n_trusted, rp_error *err)
{
    rp_status status = rp_statement_read(out, bytes, size, where, trusted, n_trusted, err);

    if (status == RP_OK && out->key == NULL) {
        status = rp_signer_unknown(where, out->key_id, n_trusted, err);
        rp_statement_clear(out);
    }
    return status;
}

void rp_statement_clear(rp_statement *statement)
{
    rp_json_free(statement->payload);
    memset(statement, 0, sizeof *statement);
}

rp_status rp_statement_claims(rp_json **payload, char key_id[RP_DIGEST_HEX], const void *bytes, size_t size,
                              const char *where, rp_error *err)
{
    rp_json *json = NULL;
    rp_buffer text = {0};
    unsigned char raw[RP_DIGEST_SIZE];
    const char *id, *payload64;
    rp_status status;

    *payload = NULL;
    if (size > RP_STATEMENT_LIMIT)
        return rp_fail(err, RP_ESIGN, "%s: %zu bytes, at most %d are allowed", where, size, (int)RP_STATEMENT_LIMIT);
    status = rp_signed_json_parse(&json, bytes, size, where, err);
    id = text_of(rp_json_array_get(rp_json_object_get(json, "signatures"), 0), "keyid");
    payload64 = text_of(json, "payload");
    if (status == RP_OK && (id == NULL || payload64 == NULL || !rp_unhex(raw, sizeof raw, id)))
        status = malformed(err, where, "not a DSSE envelope with a payload and a key id");
    if (status == RP_OK)
        status = base64_read(&text, payload64, where, "payload", err);
    if (status == RP_OK)
        status = rp_signed_json_parse(payload, text.data, text.size, where, err);
    if (status == RP_OK)
        memcpy(key_id, id, RP_DIGEST_HEX);
    rp_json_free(json);
    rp_buffer_free(&text);
    return status;
}
