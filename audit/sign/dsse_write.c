/* SPDX-License-Identifier: Apache-2.0
 * Making DSSE envelopes and in-toto statements (FORMAT.md 5). */
#include <string.h>

#include "audit/sign/dsse.h"
#include "base/memory.h"

static rp_status payload_write(rp_buffer *out, const char *archive_id, const char *predicate_type,
                               const rp_json *predicate, rp_error *err)
{
    rp_json *json = rp_json_pack("{s:s, s:O, s:s, s:[{s:{s:s}, s:s}]}", "_type", RP_STATEMENT_TYPE, "predicate",
                                 (rp_json *)predicate, "predicateType", predicate_type, "subject", "digest", "sha256",
                                 archive_id, "name", RP_STATEMENT_SUBJECT);
    rp_status status;

    if (json == NULL)
        return rp_no_memory(err);
    status = rp_json_write(json, out, err);
    rp_json_free(json);
    return status;
}

rp_status rp_envelope_make(rp_json **out, const rp_key *key, const void *payload, size_t size, rp_error *err)
{
    rp_buffer message = {0}, signature = {0}, payload64 = {0}, signature64 = {0};
    rp_status status;

    *out = NULL;
    if ((status = rp_base64_write(&payload64, payload, size, err)) == RP_OK &&
        (status = rp_envelope_bytes(&message, payload, size, err)) == RP_OK &&
        (status = rp_key_sign(key, message.data, message.size, &signature, err)) == RP_OK &&
        (status = rp_base64_write(&signature64, signature.data, signature.size, err)) == RP_OK) {
        *out =
            rp_json_pack("{s:s, s:s, s:[{s:s, s:s}]}", "payload", (const char *)payload64.data, "payloadType",
                         RP_PAYLOAD_TYPE, "signatures", "keyid", rp_key_id(key), "sig", (const char *)signature64.data);
        status = *out != NULL ? RP_OK : rp_no_memory(err);
    }
    rp_buffer_free(&message);
    rp_buffer_free(&signature);
    rp_buffer_free(&payload64);
    rp_buffer_free(&signature64);
    return status;
}

rp_status rp_statement_write(rp_buffer *out, const rp_key *key, const char *archive_id, const char *predicate_type,
                             const rp_json *predicate, rp_error *err)
{
    rp_buffer payload = {0};
    rp_json *envelope = NULL;
    rp_status status;

    if (!rp_json_is_object(predicate))
        return rp_fail(err, RP_EARG, "statement: the predicate must be an object");
    if ((status = payload_write(&payload, archive_id, predicate_type, predicate, err)) == RP_OK &&
        (status = rp_envelope_make(&envelope, key, payload.data, payload.size, err)) == RP_OK)
        status = rp_json_write(envelope, out, err);
    if (status == RP_OK && out->size > RP_STATEMENT_LIMIT)
        status =
            rp_fail(err, RP_EARG, "statement: %zu bytes, at most %d are allowed", out->size, (int)RP_STATEMENT_LIMIT);
    rp_json_free(envelope);
    rp_buffer_free(&payload);
    return status;
}
