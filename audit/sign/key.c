/* SPDX-License-Identifier: Apache-2.0
 * Keys on OpenSSL's EVP_PKEY: which kinds are allowed, and the id that names one. */
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <string.h>

#include "audit/digest/digest.h"
#include "audit/sign/key_private.h"
#include "base/memory.h"

static const rp_key_kind kinds[] = {
    {"ECDSA P-256", "prime256v1", "SHA256"},
    {"ECDSA P-384", "secp384r1", "SHA384"},
    {"ECDSA P-521", "secp521r1", "SHA512"},
    {"Ed25519", NULL, NULL},
};

/* Whether OpenSSL's trouble was memory: its first or its last word says so. Before ERR_pop_to_mark. */
bool rp_key_no_memory(void)
{
    return ERR_GET_REASON(ERR_peek_last_error()) == ERR_R_MALLOC_FAILURE ||
           ERR_GET_REASON(ERR_peek_error()) == ERR_R_MALLOC_FAILURE;
}

static rp_status find_kind(rp_key *key, const char *where, rp_error *err)
{
    const char *type = EVP_PKEY_get0_type_name(key->pkey);
    bool curve = EVP_PKEY_get_base_id(key->pkey) == EVP_PKEY_EC;
    char group[64] = "";
    int parameters = 0; /* written out instead of the curve's name: the same key would have another id */

    ERR_clear_error();
    if (curve)
        (void)EVP_PKEY_get_int_param(key->pkey, OSSL_PKEY_PARAM_EC_DECODED_FROM_EXPLICIT_PARAMS, &parameters);
    if (curve && EVP_PKEY_get_group_name(key->pkey, group, sizeof group, NULL) != 1)
        memcpy(group, "unnamed", sizeof "unnamed");
    ERR_clear_error();
    if (parameters)
        return rp_fail(err, RP_EARG,
                       "%s: an EC key with its curve's parameters written out, " RP_EXPECTED_KINDS
                       ", with the curve's name (openssl ec -param_enc named_curve writes it so)",
                       where);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (curve ? kinds[i].group != NULL && strcmp(group, kinds[i].group) == 0
                  : kinds[i].group == NULL && EVP_PKEY_get_base_id(key->pkey) == EVP_PKEY_ED25519)
            key->kind = &kinds[i];
    if (key->kind == NULL && curve)
        return rp_fail(err, RP_EARG, "%s: an EC key on curve %s, " RP_EXPECTED_KINDS, where, group);
    if (key->kind == NULL)
        return rp_fail(err, RP_EARG, "%s: a key of type %s, " RP_EXPECTED_KINDS, where, type ? type : "unknown");
    return RP_OK;
}

/* The id hashes one text: points uncompressed, the final newline included. */
static rp_status find_id(rp_key *key, const char *where, rp_error *err)
{
    BIO *bio = BIO_new(BIO_s_mem());
    rp_digest digest;
    rp_status status;
    char *text = NULL;

    if (bio == NULL)
        return rp_no_memory(err);
    ERR_clear_error();
    if ((key->kind->group != NULL &&
         EVP_PKEY_set_utf8_string_param(key->pkey, OSSL_PKEY_PARAM_EC_POINT_CONVERSION_FORMAT, "uncompressed") != 1) ||
        PEM_write_bio_PUBKEY(bio, key->pkey) != 1) {
        status = rp_fail(err, RP_ENOMEM, "%s: OpenSSL cannot write the public key", where);
    } else {
        long size = BIO_get_mem_data(bio, &text);
        status = rp_sha256(&digest, text, (size_t)size, err);
    }
    ERR_clear_error();
    BIO_free(bio);
    if (status == RP_OK)
        rp_digest_hex(key->id, &digest);
    return status;
}

/* Takes pkey, whatever the result. */
rp_status rp_key_wrap(rp_key **out, EVP_PKEY *pkey, bool is_private, const char *where, rp_error *err)
{
    rp_key *key = rp_calloc(1, sizeof *key);
    rp_status status;

    if (key == NULL) {
        EVP_PKEY_free(pkey);
        return rp_no_memory(err);
    }
    key->pkey = pkey;
    key->is_private = is_private;
    status = find_kind(key, where, err);
    if (status == RP_OK)
        status = find_id(key, where, err);
    if (status != RP_OK) {
        rp_key_free(key);
        return status;
    }
    *out = key;
    return RP_OK;
}

void rp_key_free(rp_key *key)
{
    if (key == NULL)
        return;
    EVP_PKEY_free(key->pkey);
    EVP_PKEY_free(key->token);
    rp_buffer_free(&key->certificates);
    rp_free(key);
}

rp_status rp_key_of_certificate(rp_key **out, X509 *certificate, const char *where, rp_error *err)
{
    EVP_PKEY *pkey = X509_get_pubkey(certificate);

    *out = NULL;
    return pkey != NULL ? rp_key_wrap(out, pkey, false, where, err) : rp_no_memory(err);
}

void rp_key_set_certificates(rp_key *key, rp_buffer *text)
{
    rp_buffer_free(&key->certificates);
    key->certificates = *text;
    memset(text, 0, sizeof *text);
}

const rp_buffer *rp_key_certificates(const rp_key *key)
{
    return key->certificates.size > 0 ? &key->certificates : NULL;
}

const char *rp_key_id(const rp_key *key)
{
    return key->id;
}

const char *rp_key_type(const rp_key *key)
{
    if (!key)
        return NULL;
    return key->kind->type;
}

bool rp_key_is_ecdsa(const rp_key *key)
{
    return key->kind->group != NULL;
}

bool rp_key_is_private(const rp_key *key)
{
    if (!key)
        return false;
    return key->is_private;
}

/* What is hashed: the ECDSA form is older than the scheme and leaves the name out. */
static rp_status note_text(rp_buffer *text, const rp_key *key, const char *name, rp_error *err)
{
    unsigned char raw[32], *der = NULL;
    size_t size = sizeof raw;
    int length;
    bool done;

    ERR_clear_error();
    if (key->kind->group == NULL) {
        done = EVP_PKEY_get_raw_public_key(key->pkey, raw, &size) == 1;
        rp_buffer_printf(text, "%s\n%c", name, 1);
        rp_buffer_append(text, raw, size);
    } else {
        length = i2d_PUBKEY(key->pkey, &der);
        done = length > 0;
        if (done)
            rp_buffer_append(text, der, (size_t)length);
        OPENSSL_free(der);
    }
    ERR_clear_error();
    return done ? rp_buffer_status(text, err) : rp_fail(err, RP_ENOMEM, "OpenSSL cannot write the public key");
}

rp_status rp_key_note_id(const rp_key *key, const char *name, unsigned char id[4], rp_error *err)
{
    rp_buffer text = {0};
    rp_digest digest;
    rp_status status = note_text(&text, key, name, err);

    if (status == RP_OK)
        status = rp_sha256(&digest, text.data, text.size, err);
    if (status == RP_OK)
        memcpy(id, digest.bytes, 4);
    rp_buffer_free(&text);
    return status;
}
