/* SPDX-License-Identifier: Apache-2.0
 * Texts of validation and monitoring: written, signed, opened. */
#include "audit/validate/statement_text.h"

#include <string.h>

#include "audit/digest/digest.h"
#include "base/handle.h"
#include "base/memory.h"
#include "rp/validation.h"

rp_json *rp_text_digest(const void *text, size_t size, rp_error *err)
{
    char hex[RP_DIGEST_HEX];
    rp_digest digest;

    if (rp_sha256(&digest, text, size, err) != RP_OK)
        return NULL;
    rp_digest_hex(hex, &digest);
    return rp_json_pack("{s:I, s:s}", "bytes", (int64_t)size, "sha256", hex);
}

/* NUL-terminated, to be freed by rp_text_free. */
static rp_status hand_out(char **out, size_t *length, rp_buffer *text, rp_error *err)
{
    *length = text->size;
    return rp_buffer_finish(text, RP_OK, out, err);
}

rp_status rp_validation_text(char **out, size_t *length, const char *archive_id, const char *type, rp_json *predicate,
                             const char *advice, rp_error *err)
{
    rp_json *json =
        rp_json_pack("{s:s, s:o, s:s, s:[{s:{s:s}, s:s}]}", "_type", RP_STATEMENT_TYPE, "predicate", predicate,
                     "predicateType", type, "subject", "digest", "sha256", archive_id, "name", RP_STATEMENT_SUBJECT);
    rp_buffer text = {0};
    rp_status status = json ? rp_json_write(json, &text, err) : rp_no_memory(err);

    rp_json_free(json);
    if (status == RP_OK && text.size > RP_VALIDATION_LIMIT)
        status = rp_fail(err, RP_EARG, "the statement would have %zu bytes, at most %d are allowed: %s", text.size,
                         (int)RP_VALIDATION_LIMIT, advice);
    if (status == RP_OK)
        return hand_out(out, length, &text, err);
    rp_buffer_free(&text);
    return status;
}

rp_status rp_validation_sign(const char *statement, size_t length, const rp_key *key, char **out, size_t *out_length,
                             rp_error *err)
{
    rp_json *envelope = NULL;
    rp_buffer text = {0};
    rp_status status;

    *out = NULL;
    *out_length = 0;
    if (!key)
        return rp_no_handle(err, __func__, "key");
    if (!statement)
        return rp_no_handle(err, __func__, "statement");
    status = rp_envelope_make(&envelope, key, statement, length, err);
    if (status == RP_OK)
        status = rp_json_write(envelope, &text, err);
    rp_json_free(envelope);
    if (status == RP_OK)
        return hand_out(out, out_length, &text, err);
    rp_buffer_free(&text);
    return status;
}

/* What is inside an envelope, or the text itself. */
static rp_status unwrap(rp_buffer *out, const void *text, size_t size, const char *where, const rp_key *const *trusted,
                        size_t n_trusted, rp_error *err)
{
    rp_json *json;
    const rp_key *key;
    const char *signer;
    rp_status status = rp_signed_json_parse(&json, text, size, where, err);

    if (status != RP_OK)
        return status;
    if (rp_json_object_get(json, "payload")) {
        status = rp_envelope_read(json, out, &key, &signer, where, trusted, n_trusted, err);
        if (status == RP_OK && n_trusted && !key)
            status = rp_signer_unknown(where, signer, n_trusted, err);
    } else if (n_trusted) {
        status = rp_fail(err, RP_ESIGN, "%s: is not signed, but a trusted key was named", where);
    } else {
        rp_buffer_append(out, text, size);
        status = rp_buffer_status(out, err);
    }
    rp_json_free(json);
    return status;
}

rp_status rp_validation_open(const void *text, size_t size, const char *where, const rp_key *const *trusted,
                             size_t n_trusted, char **statement, size_t *length, rp_error *err)
{
    rp_buffer payload = {0};
    rp_status status;

    *statement = NULL;
    *length = 0;
    if (!text)
        return rp_no_handle(err, __func__, "text");
    status = unwrap(&payload, text, size, where ? where : "statement", trusted, n_trusted, err);
    if (status == RP_OK)
        return hand_out(statement, length, &payload, err);
    rp_buffer_free(&payload);
    return status;
}

static bool is_known(const char *type)
{
    static const char *const types[] = {RP_VALIDATION_TYPE, RP_MONITORING_TYPE, RP_RETRAINING_TYPE, RP_SCORECARD_TYPE,
                                        RP_EXPLANATION_TYPE};

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(type, types[i]) == 0)
            return true;
    return false;
}

static bool in_form(const rp_json *json, const char **type, const char **archive_id)
{
    const rp_json *subjects = rp_json_object_get(json, "subject"), *subject = rp_json_array_get(subjects, 0);
    const char *name = rp_json_string_value(rp_json_object_get(subject, "name"));
    const char *statement = rp_json_string_value(rp_json_object_get(json, "_type"));

    *type = rp_json_string_value(rp_json_object_get(json, "predicateType"));
    *archive_id = rp_json_string_value(rp_json_object_get(rp_json_object_get(subject, "digest"), "sha256"));
    return rp_json_array_size(subjects) == 1 && name && strcmp(name, RP_STATEMENT_SUBJECT) == 0 && statement &&
           strcmp(statement, RP_STATEMENT_TYPE) == 0 && *archive_id && *type && is_known(*type) &&
           rp_json_is_object(rp_json_object_get(json, "predicate"));
}

rp_status rp_validation_parse(rp_json **out, const char **type, const char **archive_id, const void *text, size_t size,
                              const char *where, const rp_key *const *trusted, size_t n_trusted, rp_error *err)
{
    rp_buffer payload = {0};
    rp_status status = unwrap(&payload, text, size, where, trusted, n_trusted, err);

    *out = NULL;
    if (status == RP_OK)
        status = rp_signed_json_parse(out, payload.data, payload.size, where, err);
    rp_buffer_free(&payload);
    if (status != RP_OK || in_form(*out, type, archive_id))
        return status;
    rp_json_free(*out);
    *out = NULL;
    return rp_fail(
        err, RP_ESIGN,
        "%s: expected a statement of validation, monitoring, retraining, a scorecard or an explanation about one "
        "archive",
        where);
}
