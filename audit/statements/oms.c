/* SPDX-License-Identifier: Apache-2.0
 * Bundles of OpenSSF Model Signing (FORMAT.md 5.1). The signed payload is a function of the members alone, so checking
 * makes it again and compares the bytes; what differs is looked for only afterwards, for the error. */
#include "audit/statements/oms.h"

#include <stdlib.h>
#include <string.h>

#include "audit/digest/digest.h"
#include "base/memory.h"
#include "base/text.h"

#define SERIALIZATION \
    "{\"allow_symlinks\":false,\"hash_type\":\"sha256\",\"ignore_paths\":[\"signatures\"],\"method\":\"files\"}"

/* The members outside signatures/ in the order of resources; borrowed. */
typedef struct listing {
    const rp_member **at;
    size_t count;
} listing;

/* As Model Signing sorts paths: component by component, so '/' comes before every other byte. */
static int by_path(const void *a, const void *b)
{
    const unsigned char *x = (const unsigned char *)(*(const rp_member *const *)a)->name;
    const unsigned char *y = (const unsigned char *)(*(const rp_member *const *)b)->name;

    while (*x != '\0' && *x == *y)
        x++, y++;
    return (*x == '/' ? 1 : *x) - (*y == '/' ? 1 : *y);
}

static rp_status list_members(listing *out, const rp_member *member, size_t members, rp_error *err)
{
    out->count = 0;
    out->at = rp_reallocarray(NULL, members ? members : 1, sizeof *out->at);
    if (out->at == NULL)
        return rp_no_memory(err);
    for (size_t i = 0; i < members; i++)
        if (rp_member_rank_of(member[i].name) != RP_RANK_SIGNATURE)
            out->at[out->count++] = &member[i];
    qsort(out->at, out->count, sizeof *out->at, by_path);
    return RP_OK;
}

/* SHA-256 of the resources' raw digests, one after another. */
static rp_status root_of(char hex[RP_DIGEST_HEX], const listing *list, rp_error *err)
{
    rp_sha256_stream *hash;
    rp_digest root;
    rp_status status = rp_sha256_stream_new(&hash, err);

    if (status != RP_OK)
        return status;
    for (size_t i = 0; i < list->count; i++)
        rp_sha256_stream_update(hash, list->at[i]->digest.bytes, RP_DIGEST_SIZE);
    status = rp_sha256_stream_finish(hash, &root, err);
    rp_sha256_stream_free(hash);
    if (status == RP_OK)
        rp_digest_hex(hex, &root);
    return status;
}

/* Canonical JSON; names of members need no escapes. */
static rp_status payload_write(rp_buffer *out, const listing *list, const char *archive_id, rp_error *err)
{
    char hex[RP_DIGEST_HEX];
    rp_status status = root_of(hex, list, err);

    if (status != RP_OK)
        return status;
    rp_buffer_text(out, "{\"_type\":\"" RP_STATEMENT_TYPE "\",\"predicate\":{\"resources\":[");
    for (size_t i = 0; i < list->count; i++) {
        char digest[RP_DIGEST_HEX];

        rp_digest_hex(digest, &list->at[i]->digest);
        rp_buffer_printf(out, "%s{\"algorithm\":\"sha256\",\"digest\":\"%s\",\"name\":\"%s\"}", i ? "," : "", digest,
                         list->at[i]->name);
    }
    rp_buffer_printf(out,
                     "],\"serialization\":" SERIALIZATION "},\"predicateType\":\"" RP_OMS_TYPE
                     "\",\"subject\":[{\"digest\":{\"sha256\":\"%s\"},\"name\":\"%s\"}]}",
                     hex, archive_id);
    return rp_buffer_status(out, err);
}

rp_status rp_oms_payload(rp_buffer *out, const char *archive_id, const rp_member *member, size_t members, rp_error *err)
{
    listing list = {0};
    rp_status status = list_members(&list, member, members, err);

    if (status == RP_OK)
        status = payload_write(out, &list, archive_id, err);
    rp_free(list.at);
    return status;
}

/* ---- checking ---- */

/* Opens the bundle around the envelope; its key must be the one that is hinted at. */
static rp_status open_bundle(const rp_json *bundle, rp_buffer *payload, const rp_key **key, char key_id[RP_DIGEST_HEX],
                             const char *where, const rp_key *const *trusted, size_t n_trusted, rp_error *err)
{
    const rp_json *material = rp_json_object_get(bundle, "verificationMaterial");
    const rp_json *public_key = rp_json_object_get(material, "publicKey"),
                  *log = rp_json_object_get(material, "tlogEntries");
    const char *media = rp_json_string_value(rp_json_object_get(bundle, "mediaType"));
    const char *hint = rp_json_string_value(rp_json_object_get(public_key, "hint")), *signer;
    unsigned char bytes[RP_DIGEST_SIZE];
    rp_status status;

    if (rp_json_object_size(bundle) != 3 || media == NULL || strcmp(media, RP_OMS_MEDIA_TYPE) != 0)
        return rp_fail(err, RP_ESIGN,
                       "%s: not a bundle of dsseEnvelope, verificationMaterial and mediaType " RP_OMS_MEDIA_TYPE,
                       where);
    if (rp_json_object_size(material) != 2 || rp_json_object_size(public_key) != 1 || hint == NULL ||
        !rp_json_is_array(log) || rp_json_array_size(log) != 0)
        return rp_fail(err, RP_ESIGN,
                       "%s: verificationMaterial is not the hint of a public key and an empty tlogEntries", where);
    status = rp_envelope_read(rp_json_object_get(bundle, "dsseEnvelope"), payload, key, &signer, where, trusted,
                              n_trusted, err);
    if (status == RP_OK && !rp_unhex(bytes, sizeof bytes, signer))
        status = rp_signer_unknown(where, signer, n_trusted, err);
    if (status != RP_OK)
        return status;
    if (strcmp(hint, signer) != 0)
        return rp_fail(err, RP_ESIGN, "%s: its hint is not the id of the key that signed, %s", where, signer);
    if (*key != NULL && !rp_key_is_ecdsa(*key))
        return rp_fail(err, RP_ESIGN, "%s: signed by an %s key, Model Signing knows only ECDSA", where,
                       rp_key_type(*key));
    memcpy(key_id, signer, RP_DIGEST_HEX);
    return RP_OK;
}

static bool in_list(const listing *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->at[i]->name, name) == 0)
            return true;
    return false;
}

/* Whether resource i is member i, and else how not. */
static rp_status explain_resource(const rp_json *resource, size_t i, const listing *list, const char *where,
                                  rp_error *err)
{
    const rp_json *text = rp_json_object_get(resource, "name");
    const char *name = rp_json_string_value(text),
               *digest = rp_json_string_value(rp_json_object_get(resource, "digest"));
    const char *algorithm = rp_json_string_value(rp_json_object_get(resource, "algorithm"));
    char shown[RP_MEMBER_NAME], hex[RP_DIGEST_HEX];

    if (rp_json_object_size(resource) != 3 || name == NULL || digest == NULL || algorithm == NULL ||
        strcmp(algorithm, "sha256") != 0)
        return rp_fail(err, RP_ESIGN, "%s: resource %zu is not algorithm sha256, digest and name", where, i);
    if (i < list->count && strcmp(name, list->at[i]->name) == 0) {
        rp_digest_hex(hex, &list->at[i]->digest);
        if (strcmp(digest, hex) == 0)
            return RP_OK;
        return rp_fail(err, RP_ESIGN, "%s: SHA-256 of %s differs: bundle %s, archive %s", where, name,
                       rp_printable(shown, sizeof shown, digest, strlen(digest)), hex);
    }
    rp_printable(shown, sizeof shown, name, rp_json_string_length(text));
    if (!in_list(list, name))
        return rp_fail(err, RP_ESIGN, "%s: lists %s, which is not a member it can vouch for", where, shown);
    if (i > 0 && strcmp(name, list->at[i - 1]->name) == 0)
        return rp_fail(err, RP_ESIGN, "%s: lists %s twice", where, shown);
    return rp_fail(err, RP_ESIGN, "%s: lists %s where %s belongs: missing, doubled or out of order", where, shown,
                   i < list->count ? list->at[i]->name : "the end");
}

/* The payload, signed by a trusted key, is not the one expected: says why. Never RP_OK. */
static rp_status explain(const rp_buffer *payload, const listing *list, const char *archive_id, const char *where,
                         rp_error *err)
{
    rp_json *json, *serialization = NULL;
    rp_status status = rp_signed_json_parse(&json, payload->data, payload->size, where, err);
    const rp_json *predicate = rp_json_object_get(json, "predicate");
    const rp_json *resources = rp_json_object_get(predicate, "resources");
    const char *type = rp_json_string_value(rp_json_object_get(json, "predicateType"));
    size_t count = rp_json_array_size(resources);

    if (status == RP_OK)
        status = rp_json_parse(&serialization, SERIALIZATION, strlen(SERIALIZATION), true, "serialization", err);
    if (status == RP_OK && (type == NULL || strcmp(type, RP_OMS_TYPE) != 0))
        status = rp_fail(err, RP_ESIGN, "%s: the payload is not a statement of type " RP_OMS_TYPE, where);
    if (status == RP_OK && !rp_json_equal(rp_json_object_get(predicate, "serialization"), serialization))
        status = rp_fail(err, RP_ESIGN, "%s: serialization is not " SERIALIZATION, where);
    for (size_t i = 0; status == RP_OK && i < count; i++)
        status = explain_resource(rp_json_array_get(resources, i), i, list, where, err);
    if (status == RP_OK && count < list->count)
        status = rp_fail(err, RP_ESIGN, "%s: does not list %s", where, list->at[count]->name);
    if (status == RP_OK)
        status = rp_fail(err, RP_ESIGN,
                         "%s: the payload is not the one statement about these members, or its subject is "
                         "not their root digest under the name %s",
                         where, archive_id);
    rp_json_free(serialization);
    rp_json_free(json);
    return status;
}

static rp_status compare_payload(const rp_buffer *payload, const char *where, const rp_oms_subject *about,
                                 rp_error *err)
{
    rp_buffer expected = {0};
    listing list = {0};
    rp_status status = list_members(&list, about->member, about->members, err);

    if (status == RP_OK)
        status = payload_write(&expected, &list, about->archive_id, err);
    if (status == RP_OK && (payload->size != expected.size || memcmp(payload->data, expected.data, expected.size) != 0))
        status = explain(payload, &list, about->archive_id, where, err);
    rp_buffer_free(&expected);
    rp_free(list.at);
    return status;
}

/* The payload in base64, and more than enough for what is around it. */
static size_t size_at_most(const rp_oms_subject *about)
{
    static const char around[] = "{\"algorithm\":\"sha256\",\"digest\":\"\",\"name\":\"\"},";
    size_t payload = 1 << 10;

    for (size_t i = 0; i < about->members; i++)
        payload += sizeof around + RP_DIGEST_HEX + strlen(about->member[i].name);
    return payload / 3 * 4 + (1 << 16);
}

rp_status rp_oms_read(const rp_key **key, char key_id[RP_DIGEST_HEX], const rp_oms_bundle *bundle,
                      const rp_oms_subject *about, const rp_key *const *trusted, size_t n_trusted, rp_error *err)
{
    const char *where = bundle->where;
    rp_buffer payload = {0};
    rp_json *json = NULL;
    rp_status status;

    *key = NULL;
    /* before it takes several times its size of memory, whoever signed */
    if (bundle->size > size_at_most(about))
        return rp_fail(err, RP_ESIGN, "%s: %zu bytes, but a bundle about these members has at most %zu", where,
                       bundle->size, size_at_most(about));
    if (bundle->size > RP_OMS_LIMIT)
        return rp_fail(err, RP_ESIGN, "%s: %zu bytes, at most %d are allowed", where, bundle->size, (int)RP_OMS_LIMIT);
    if ((status = rp_signed_json_parse(&json, bundle->bytes, bundle->size, where, err)) == RP_OK &&
        (status = open_bundle(json, &payload, key, key_id, where, trusted, n_trusted, err)) == RP_OK)
        status = compare_payload(&payload, where, about, err);
    rp_json_free(json);
    rp_buffer_free(&payload);
    if (status != RP_OK)
        *key = NULL;
    return status;
}

rp_status rp_oms_check(const rp_key **key, const rp_oms_bundle *bundle, const rp_oms_subject *about,
                       const rp_key *const *trusted, size_t n_trusted, rp_error *err)
{
    char key_id[RP_DIGEST_HEX];
    rp_status status = rp_oms_read(key, key_id, bundle, about, trusted, n_trusted, err);

    return status == RP_OK && *key == NULL ? rp_signer_unknown(bundle->where, key_id, n_trusted, err) : status;
}
